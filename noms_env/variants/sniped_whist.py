"""Sniped whist (rules 1; source text 000, first item).

1. Three to seven players; four is usual. Everybody plays alone. The cards are dealt out as far as they go round.
2. Trump is turned up: the next undealt card, or the dealer's last card if all are dealt.
3. Nobody bids. The player at the dealer's left leads. Follow suit if you can; otherwise play any card. The highest trump
   wins the trick, or the highest card of the suit led if there is no trump in it. The winner leads next. Aces are high.
4. The aim is to take few tricks. The fewest tricks share +1; the most tricks are sniped, and share -1.
5. A match is one deal, unless the table agrees on more.

Deviations and decisions: three seats, the spare cards out of play, the turning up of trump and the place scoring are
decisions of this project. The source text mentions four or more players, and only the flicked nose. Here seven players are
the maximum. Each further seat would add 88 bytes (8 %) to the observations of all games, and the published policies could
not read them.

>>> from noms_env import Table
>>> table = Table("sniped_whist", seats=7, seed=1)
>>> table.start()
>>> table.legal_words()  # no bids: eldest leads
['7C', 'JH', 'QH', '5S', '7S', '9S', 'AS']
"""

from __future__ import annotations

from noms_env._jit import jit, size
from noms_env.core.actions import NAMING_TRUMP
from noms_env.core.cards import bit, has
from noms_env.core.chance import DRAW_SNIPED, draw_below
from noms_env.core.state import SINGLE_DEAL, eldest
from noms_env.core.tricks import name_trump, open_play
from noms_env.variants.families import PLAIN
from noms_env.variants.families.plain import LEAST, MOST, OBJECTIVES
from noms_env.variants.match import highest_totals
from noms_env.variants.rulebook import (
    HAND_SIZE,
    SHORT_DECK,
    TRUMP_ROTATION,
    Need,
    Option,
    Values,
    Variant,
    complete_hand_size,
    complete_rotation,
)
from noms_env.variants.trumps import DEALER_CHOOSES, TRUMP_MODES, set_trump

SCORINGS = ("place", "tricks")
PLACE, TRICKS = range(2)
TIES = ("share", "none", "cut")
SHARE, NOBODY, CUT = range(3)


def complete(values: Values, seats: int) -> None:
    """Fill in the defaults that depend on the table."""
    complete_hand_size(values, seats)
    complete_rotation(values, ("H", "C", "D", "S", "NT"))


def point_range(values: Values, tricks: int) -> tuple[float, float]:
    """Return bounds of a seat's points (rule 4)."""
    if values["scoring"] == "place":
        return -1.0, 1.0
    return (0.0 if values["objective"] == "most" else -tricks) - values["snip_penalty"], tricks


def total_scale(values: Values) -> tuple[int, int]:
    """Return scale and offset of totals: points by place are multiples of 1/12 (or of 1/5 and 1/7, rounded)."""
    return (12, 128) if values["scoring"] == "place" and not values["accumulate"] else (1, 64)


NUMBER = 0

GAME = Variant(
    name="sniped_whist",
    number=NUMBER,
    title="Sniped whist",
    intro="Whist in which nobody wants tricks. Nobody bids and everybody plays alone. The seats with the fewest tricks "
    "win; those with the most are sniped: at a table with cards, the others flick a few against that player's "
    "nose.",
    source="myweb.tiscali.co.uk/navysong, first item of the page on noms and whist",
    family=PLAIN,
    seats=(3, 7),
    complete=complete,
    simple_rollout=True,
    total_scale=total_scale,
    point_range=point_range,
    max_decisions=lambda _values, seats, tricks, _undealt: seats * tricks + 1,
    needs=(
        Need("snip_penalty", "with scoring='tricks'", lambda values: bool(values["scoring"] == "tricks")),
        Need("trump_rotation", "with trump_mode='rotation'", lambda values: bool(values["trump_mode"] == "rotation")),
        Need("accumulate", "with n_hands above 1", lambda values: bool(values["n_hands"] > 1)),
    ),
    options=(
        Option("n_hands", 1, "deals in a match", numbers=(1, 100), byte=4),
        Option("trump_mode", "turnup", "how trump is chosen", words=TRUMP_MODES, byte=2),
        TRUMP_ROTATION,
        Option("scoring", "place", "points by place, or one for each trick", words=SCORINGS, byte=5),
        Option("snip_penalty", 0, "points taken off each sniped seat with scoring='tricks'", numbers=(0, 100), byte=6),
        Option("tie", "share", "of seats tied for the most tricks, all are sniped, none, or one by lot", words=TIES, byte=7),
        Option("accumulate", False, "tricks add up over the deals and are scored in the last", flag=True, byte=8),
        Option("objective", "least", "the fewest tricks win, or the most (plain whist)", words=OBJECTIVES, byte=9),
        HAND_SIZE,
        *SHORT_DECK,
    ),
    details={
        "trump_mode": "`rotation`: `trump_rotation`, deal by deal; `turnup`: the next undealt card is turned up, or the "
        "dealer's last card if all are dealt; `random`: a suit by lot, known to all; `none`: no trump; "
        "`dealer`: the dealer names it before the first lead",
        "scoring": "`place`: the fewest tricks share +1, the most share -1, all 0 if everybody has the same number; `tricks`:"
        ' each trick counts -1 (+1 with `objective="most"`)',
        "tie": "`share`: all of them are sniped; `none`: nobody is; `cut`: one of them, by lot",
        "accumulate": "The deals before the last then score nothing",
        "objective": "`least`: the fewest tricks win; `most`: the most tricks win, and the fewest are sniped",
    },
)


@jit
def open_deal(t):
    """Set the trump, and let eldest lead (rules 2, 3); with trump_mode="dealer" the dealer names trump first."""
    if t.trump_mode == DEALER_CHOOSES:
        t.phase = NAMING_TRUMP
        t.seat = t.dealer
        return
    set_trump(t, True)
    open_play(t, eldest(t))


@jit
def make_trump(t, trump):
    """Name the dealer's trump (rules 2, 3); eldest leads."""
    name_trump(t, trump)
    open_play(t, eldest(t))


@jit
def settle(t):
    """Score the deal (rule 4); with `accumulate` only the last deal scores, for all tricks of the match."""
    if t.accumulate != 0 and t.deal < t.n_deals - 1:
        return
    winners, losers = find_first_and_last(t)
    if winners == losers:
        losers = 0 if t.scoring == PLACE or t.tie == NOBODY else losers
        winners = 0
    t.sniped = choose_sniped(t, losers)
    for seat in range(t.n_seats):
        t.points[seat] = place_points(t, seat, winners) if t.scoring == PLACE else trick_points(t, seat)


@jit
def counted_tricks(t, seat):
    """Return the tricks of a seat that count: in this deal, and with `accumulate` in the earlier ones."""
    return t.tricks[seat] + (t.carried_tricks[seat] if t.accumulate != 0 else 0)


@jit
def find_first_and_last(t):
    """Return the seats that win and the seats that may be sniped, as bit sets."""
    least = most = counted_tricks(t, 0)
    for seat in range(1, t.n_seats):
        tricks = counted_tricks(t, seat)
        least = min(least, tricks)
        most = max(most, tricks)
    fewest = seats_with(t, least)
    highest = seats_with(t, most)
    return (fewest, highest) if t.objective == LEAST else (highest, fewest)


@jit
def seats_with(t, tricks):
    """Return the seats with a number of tricks, as a bit set."""
    seats = bit(0) - 1
    for seat in range(t.n_seats):
        if counted_tricks(t, seat) == tricks:
            seats |= bit(seat)
    return seats


@jit
def choose_sniped(t, losers):
    """Return the sniped among tied seats by the option `tie` (rules 8b): all, none, or one drawn by lot."""
    if size(losers) <= 1 or t.tie == SHARE:
        return losers
    if t.tie == NOBODY:
        return losers - losers
    skips = draw_below(t, DRAW_SNIPED, size(losers))
    for seat in range(t.n_seats):
        if has(losers, seat):
            if skips == 0:
                return bit(seat)
            skips -= 1
    return losers


@jit
def place_points(t, seat, winners):
    """Return a seat's points by place: the winners share +1, the sniped share -1."""
    points = 0.0
    if has(winners, seat):
        points += 1.0 / size(winners)
    if has(t.sniped, seat):
        points -= 1.0 / size(t.sniped)
    return points


@jit
def trick_points(t, seat):
    """Return a seat's points by tricks: -1 each (+1 if the most tricks win), less the penalty of a sniped seat."""
    tricks = float(counted_tricks(t, seat))
    points = tricks if t.objective == MOST else 0.0 - tricks
    return points - t.snip_penalty if has(t.sniped, seat) else points


@jit
def find_winners(t):
    """Return the winners: after a single deal the seats with the fewest (or most) tricks, else those with the best totals."""
    return find_first_and_last(t)[0] if t.n_deals == 1 or t.episode == SINGLE_DEAL else highest_totals(t)


@jit
def carry_tricks(t):
    """With `accumulate`, add the tricks of the deal to the carried ones."""
    if t.accumulate != 0:
        for seat in range(t.n_seats):
            t.carried_tricks[seat] += t.tricks[seat]


@jit
def standing(t, seat):
    """Return a seat's total; with `accumulate` its tricks in the earlier deals."""
    return t.carried_tricks[seat] if t.accumulate != 0 else t.totals[seat]
