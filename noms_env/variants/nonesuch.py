"""Nonesuch (rules 5; source text 002), by P. D. Magnus, for the Decktet.

1. Three or four players. The basic Decktet and the Excuse are dealt, 12 or 9 cards each; the last card is turned up.
2. An ace or crown turned up: its suit is trump. A number card: one of its two suits will be. The Excuse: no trump.
3. From the dealer's left, each player bids once: None, Some or Most.
4. Then the holder of the Excuse shows it, lays it aside and takes the card turned up. Of a number card the holder first
   names one of the suits as trump.
5. The player at the dealer's left leads. The leader of a two-suited card names the suit to follow. Play a card that has it
   if you can; otherwise any card. No trump may be led until one has been played, unless the leader has nothing else.
6. The highest card that bears the trump wins the trick, else the highest of the suit named (`tricks`). The winner leads
   next. Crowns are high, aces low.
7. Some: +1 a trick. Most: +2 a trick with at least half of them, else minus what is missing. None: + all tricks if none was
   taken, else -1 a trick.
8. The match ends when a player has 31 points.

Deviations and decisions: half of nine tricks is five (`half`); ties are joint wins.

>>> from noms_env import Table
>>> table = Table("nonesuch", seats=3, seed=1)
>>> table.start()
>>> for word in ("some", "none"):
...     table.act(word)
>>> table.legal_words()  # any of the three, whatever the others bid
['none', 'some', 'most']
"""

from __future__ import annotations

from noms_env._jit import jit, lowest, size
from noms_env.core.actions import CALL_MOST, CALL_NONE, CALL_SOME, CALLING, INDICATE, NAMING_TRUMP, SUIT
from noms_env.core.bids import half_up, record_call
from noms_env.core.cards import CARD_SUITS, DECKTET, EXCUSE, NO_TRUMP, bit, decktet_deck, has
from noms_env.core.partners import holder_of
from noms_env.core.state import eldest
from noms_env.core.tricks import name_trump, open_play
from noms_env.variants.families import SHARES
from noms_env.variants.rulebook import Option, RulesError, Values, Variant

HALVES = ("ceil", "exact", "floor")
UP, EXACTLY, DOWN = range(3)

NUMBER = 4


def basic_cards(values: Values) -> int:
    """Return the number of cards dealt: those of the deck in use without the Excuse."""
    return len(decktet_deck(values["ranks"], values["suits"])) - 1


def refuse_uneven_deck(values: Values, seats: int) -> None:
    """Check that the number of basic cards is a multiple of the seats; raises RulesError."""
    cards = basic_cards(values)
    if cards % seats:
        raise RulesError(
            f"ranks={values['ranks']} and suits={values['suits']} leave {cards} basic cards, but with {seats} seats "
            f"their number must be a multiple of {seats}"
        )


GAME = Variant(
    name="nonesuch",
    number=NUMBER,
    title="Nonesuch",
    intro="A game by P. D. Magnus for the Decktet, a deck in which most cards have two suits. Each seat bids to win no "
    "trick, some tricks, or at least half of them.",
    source="wiki.decktet.com/game:nonesuch",
    family=SHARES,
    seats=(3, 4),
    deck_kind=DECKTET,
    complete=refuse_uneven_deck,
    deal_size=lambda values, seats: basic_cards(values) // seats,
    breaks_trumps=True,
    point_range=lambda _values, tricks: (-tricks, 2 * tricks),
    max_decisions=lambda _values, seats, tricks, _undealt: seats + 1 + tricks + seats * tricks,
    total_scale=lambda _values: (2, 64),
    options=(
        Option("half", "ceil", "half of nine tricks, from which a failed Most counts: 5, 4.5 or 4", words=HALVES, byte=45),
        Option("target", 31, "points that end the match", numbers=(1, 10000), none=True, byte=18),
        Option("max_hands", 100, "deals after which the match is truncated", numbers=(1, 1000), byte=44),
        Option("ranks", 10, "the top ranks that are in the deck (not in the source texts)", numbers=(2, 10), late=True, byte=0),
        Option(
            "suits",
            6,
            "only cards of the first suits, of M S W L Y K, are in the deck (not in the source texts)",
            numbers=(2, 6),
            late=True,
            byte=1,
        ),
    ),
    details={
        "half": "`ceil`: from 5; `exact`: from 4.5; `floor`: from 4, but made only with 5",
        "target": "None: only `max_hands` ends the match",
        "ranks": "The Excuse is always in the deck. The number of the other cards must be a multiple of the seats: "
        "`ranks=5` and `suits=3` leave 6MW, 8MS, 9MS, CM, CS and CW for three seats",
        "suits": "A card with a suit that is not in the deck is not in it either",
    },
)


@jit
def open_deal(t):
    """Turn up the last card (rules 1 to 3); trump is known if it bears one suit, or is the Excuse."""
    t.turn_up = t.deck[t.n_seats * t.deal_size]
    t.stock = 0
    find_holders(t)
    suits = CARD_SUITS[t.deck_kind, t.turn_up]
    if t.excuse < 0:
        name_trump(t, NO_TRUMP)
    elif size(suits) == 1:
        name_trump(t, lowest(suits))
    t.phase = CALLING
    t.seat = eldest(t)


@jit
def find_holders(t):
    """Find the seat that was dealt the Excuse (rule 4); -1 if it was turned up."""
    if not excuse_is_shown(t):
        t.excuse = holder_of(t, EXCUSE)


@jit
def legal_calls(t):
    """Return the legal calls (rule 3): any of the three, whatever the others bid."""
    return bit(CALL_NONE) | bit(CALL_SOME) | bit(CALL_MOST)


@jit
def make_call(t, call):
    """Record a bid (rules 3 to 5); after the last one, the holder of the Excuse names trump if it is open, or swaps."""
    record_call(t, call)
    if t.n_calls < t.n_seats:
        return
    if t.trump < 0:
        t.phase = NAMING_TRUMP
        t.seat = t.excuse
        return
    if t.excuse >= 0:
        swap(t)
    open_play(t, eldest(t))


@jit
def excuse_is_shown(t):
    """Return whether the holder of the Excuse has shown it, to name trump or to swap it (rule 4)."""
    return t.excuse >= 0 and (t.phase == NAMING_TRUMP or t.leader >= 0)


@jit
def swap(t):
    """Lay the Excuse aside, and give its holder the up card (rule 4)."""
    t.hands[t.excuse] = (t.hands[t.excuse] & ~bit(EXCUSE)) | bit(t.turn_up)


@jit
def legal_trumps(t):
    """Return the legal trumps: the suits of the up card (rule 4)."""
    return CARD_SUITS[t.deck_kind, t.turn_up] << (SUIT - INDICATE)


@jit
def make_trump(t, trump):
    """Name trump and swap the Excuse for its holder (rules 4, 5); eldest leads."""
    name_trump(t, trump)
    swap(t)
    open_play(t, eldest(t))


@jit
def legal_leads(t, hand):
    """Return the cards that may be led (rule 5): no trump until one has been played, unless the hand has nothing else."""
    others = hand & ~t.trump_cards
    return hand if t.broken != 0 or others == 0 else others


@jit
def settle(t):
    """Score the deal (rule 7)."""
    for seat in range(t.n_seats):
        tricks = int(t.tricks[seat])
        if t.call[seat] == CALL_SOME:
            t.points[seat] = tricks
        elif t.call[seat] == CALL_MOST:
            t.points[seat] = most_points(t, tricks)
        else:
            t.points[seat] = t.deal_size if tricks == 0 else -tricks


@jit
def most_points(t, tricks):
    """Return the points of Most (rule 7): twice the tricks with at least half of them, else minus the missing tricks."""
    if 2 * tricks >= t.deal_size:
        return 2.0 * tricks
    return tricks - half(t)


@jit
def half(t):
    """Return half of the tricks, from which the option `half` counts a shortfall (rule 7)."""
    if t.half == EXACTLY:
        return t.deal_size / 2
    return float(t.deal_size // 2 if t.half == DOWN else half_up(t))


@jit
def has_run_out(t):
    """Return whether `max_hands` truncates the match (rule 8)."""
    return t.deal == t.max_hands - 1


@jit
def dealt_hand(t, seat):
    """Return the hand that a seat was dealt, before the swap (rule 4)."""
    cards = t.hands[seat] | t.played[seat]
    return (cards & ~bit(t.turn_up)) | bit(EXCUSE) if seat == t.excuse and t.leader >= 0 else cards


@jit
def cards_out_of_play(t):
    """Return the card that is out of play (rule 4): the up card before the swap, the Excuse after it."""
    return bit(EXCUSE) if t.leader >= 0 else bit(t.turn_up)


@jit
def note_open_cards(t, known):
    """Add to `known` the Excuse once it is shown, and after the swap the up card (rule 4)."""
    if t.excuse < 0:
        return
    if t.leader >= 0:
        known[t.excuse] |= bit(t.turn_up) & ~t.cards_played
    elif excuse_is_shown(t):
        known[t.excuse] |= bit(EXCUSE)


@jit
def rule_out(t, allowed):
    """Rule out all but trumps for a seat that led the first trump: it had nothing else (rule 5)."""
    if t.broken == 0:
        return
    place = 0
    while not has(t.trump_cards, t.order[place]):
        place += 1
    if place % t.n_seats == 0:
        allowed[t.trick_winners[place // t.n_seats - 1] if place > 0 else eldest(t)] &= t.trump_cards
