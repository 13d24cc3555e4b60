"""What the rule tests share: stacked decks, play in words, and scoring without playing."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from noms_env.core.actions import PASS, action_number
from noms_env.core.cards import CARD_WORDS
from noms_env.core.partners import known_role
from noms_env.table import Table
from noms_env.variants import Rules, dispatch, game, make_rules
from tests import referee
from tests.agreement import check_end, deck_words, public_place, referee_at, same_numbers
from tests.observation.expected import Sight

Options = Mapping[str, Any]
Words = str | Sequence[str]
"""Words separated by spaces, or a list of them."""


NO_MATCH: Any = None
"""What a seat knows of its role does not depend on the match."""


class WatchedTable(Table):
    """A table that the referee watches: every example of the rule tests is one for both, and they must agree."""

    def start(self, *arguments: Any, **position: Any) -> None:
        super().start(*arguments, **position)
        self.watch()

    def next_deal(self) -> int:
        status = super().next_deal()
        if not self.is_over:
            self.watch()
        return status

    def watch(self) -> None:
        """The referee at the start of the deal, who must deal the same hands."""
        self.deal = deal = referee_at(self, deck_words(self))
        assert [set(hand) for hand in deal.hands] == dealt(self)
        assert set(self.card_words(self.row.stock)) == set(deal.stock if deal.variant != "nonesuch" else [])
        assert (self.trump_word(), self.row.seat) == (deal.trump, deal.seat)

    def step(self, action: int) -> int:
        deal = self.deal
        where = (self.rules.variant.name, self.rules.options, deal.steps)
        assert (self.phase, self.row.seat if self.phase else deal.seat) == (deal.phase, deal.seat), where
        assert sorted(self.legal_words()) == sorted(deal.legal()), where
        assert public_place(self) == deal.public_place(), where
        assert (self.row.exposed == deal.declarer) == (deal.contract == "mis_a_vis" and len(deal.trick_history) > 0), where
        for seat in range(self.seats):
            assert Sight(NO_MATCH, deal, seat).role().index(1) == known_role(self.row, seat), where
        status = super().step(action)
        deal.act(self.word(action))
        assert self.is_scored == deal.over, where
        if deal.over:
            check_end(self, deal, where)
        return status


def words_of(words: Words) -> list[str]:
    return words.split() if isinstance(words, str) else list(words)


def hand_size_of(rules: Rules, deal: int = 0) -> int:
    """Cards that each seat is dealt in a deal of the match."""
    if rules.schedule:
        return rules.schedule[deal]
    return len(rules.deck) // rules.seats if rules.variant.name == "nonesuch" else int(rules.options["hand_size"])


def seats_dealt_to(rules: Rules, dealer: int, deal: int = 0) -> list[int]:
    """The seat that each card of the deck goes to, in dealing order (the stock left out)."""
    turns = [turn for _ in range(hand_size_of(rules, deal)) for turn in range(rules.seats)]
    if rules.options.get("deal_mode", "single_shuffled") != "single_shuffled":
        # Rules 4.3: four rounds of packets of three; in round r the r-th seat from eldest gets four.
        turns = [turn for round_ in range(4) for turn in range(4) for _ in range(4 if turn == round_ else 3)]
    return [(dealer + 1 + turn) % rules.seats for turn in turns]


def deck_for(
    variant: str,
    seats: int,
    hands: Sequence[Words],
    dealer: int,
    stock: Words = "",
    options: Options | None = None,
    deal: int = 0,
) -> list[str]:
    """A deck in dealing order from which the seats are dealt the hands wanted.

    Cards not named go, in the order of the deck, to wherever there is room: a hand or a stock that is named in part has
    its named cards first.

    Args:
        variant: name of the game.
        seats: number of seats.
        hands: cards wanted by seat, seat 0 first, in the order in which they are dealt to the seat; fewer hands than
            seats and fewer cards than a hand are filled up.
        dealer: seat.
        stock: undealt cards in order; the first may be the turn-up. In nonesuch the up card.
        options: as given to the table.
        deal: running number of the deal, where the hand size depends on it.

    Raises:
        ValueError: more cards are named for a hand or the stock than it has room for, or a card is named twice.
    """
    rules = make_rules(game(variant), seats, options)
    order = seats_dealt_to(rules, dealer, deal)
    cards = [CARD_WORDS[rules.variant.deck_kind][card] for card in rules.deck]
    wanted = [words_of(hand) for hand in hands] + [[] for _ in range(seats - len(hands))]
    rest = words_of(stock)
    named = [card for part in (*wanted, rest) for card in part]
    if len(named) != len(set(named)) or not set(named) <= set(cards):
        raise ValueError(f"named twice, or not cards of this deck: {' '.join(sorted(named))}")
    if any(len(hand) > hand_size_of(rules, deal) for hand in wanted) or len(rest) > len(cards) - len(order):
        raise ValueError("more cards are named for a hand or the stock than it has room for")
    free = iter([card for card in cards if card not in named])
    queues = [iter(hand) for hand in wanted]
    dealt = [_next(queues[seat], free) for seat in order]
    queue = iter(rest)
    return dealt + [_next(queue, free) for _ in range(len(cards) - len(order))]


def _next(wanted: Iterator[str], free: Iterator[str]) -> str:
    card = next(wanted, None)
    return next(free) if card is None else card


def table_with(
    variant: str,
    hands: Sequence[Words],
    *,
    seats: int | None = None,
    dealer: int = 0,
    stock: Words = "",
    options: Options | None = None,
    deal: int = 0,
    **start: Any,
) -> Table:
    """A table that is dealt these hands (see `deck_for`); `start` takes `totals` and `multiplier`.

    The number of seats is that of the hands, unless it is given.
    """
    seats = seats or len(hands)
    deck = deck_for(variant, seats, hands, dealer, stock, options, deal)
    table = WatchedTable(variant, seats, dict(options or {}))
    table.start(deck=deck, dealer=dealer, deal=deal, **start)
    return table


def started(
    variant: str,
    seats: int = 4,
    calls: str = "",
    *,
    seed: int = 0,
    dealer: int | None = None,
    deal: int | None = None,
    **options: Any,
) -> Table:
    """A deal of any cards in which seat 0 is eldest, unless the dealer is given, and these calls are made."""
    table = WatchedTable(variant, seats, options, seed=seed)
    table.start(dealer=seats - 1 if dealer is None else dealer, deal=deal)
    return play(table, calls)


def dealt(table: Table) -> list[set[str]]:
    """The cards that each seat holds now."""
    return [set(table.card_words(table.row.hands[seat])) for seat in range(table.seats)]


def legal(table: Table) -> set[str]:
    return set(table.legal_words())


def play(table: Table, words: Words) -> Table:
    """Take the actions that the words mean, one after the other; returns the same table."""
    for word in words_of(words):
        table.act(word)
    return table


def play_out(table: Table, rng: random.Random) -> list[str]:
    """Random legal actions to the end of the deal; returns their words (`next_deal` is left to the caller)."""
    taken = []
    while table.phase is not None:
        action = rng.choice(table.legal_actions())
        taken.append(table.word(action))
        table.step(action)
    return taken


class Played(NamedTuple):
    """One deal of a match as `play_match` saw it."""

    dealer: int
    hand_size: int
    trump: str | None
    first: int
    decisions: int
    tricks: list[int]
    points: list[float]
    totals: list[float]


def play_match(table: Table, rng: random.Random) -> list[Played]:
    """Random legal actions from a started deal to the end of the match, deal by deal.

    `first` is the first seat to act; `trump` the trump at the end of the deal; `decisions` leaves out Decktet suits.
    """
    deals = []
    while True:
        first = int(table.row.seat)
        words = play_out(table, rng)
        decisions = len(words) - sum(word in "MSWLYK" for word in words)
        shown = (int(table.row.dealer), int(table.row.deal_size), table.trump_word(), first, decisions)
        deals.append(Played(*shown, tricks(table), points(table), totals(table)))
        if table.is_over:
            return deals
        table.next_deal()


def points(table: Table) -> list[float]:
    return [float(number) for number in table.row.points[: table.seats]]


def totals(table: Table) -> list[float]:
    return [float(number) for number in table.row.totals[: table.seats]]


def tricks(table: Table) -> list[int]:
    return [int(number) for number in table.row.tricks[: table.seats]]


def members(seats: int) -> list[int]:
    """The seats of a bit set (`row.winners`, `row.sniped`)."""
    return [seat for seat in range(7) if int(seats) >> seat & 1]


def set_tricks_and_settle(
    table: Table,
    tricks: Sequence[int],
    calls: Sequence[str] | None = None,
    *,
    contract: str | None = None,
    declarer: int = -1,
    partner: int = -1,
    indicated: int = -1,
    multiplier: int = 1,
) -> list[float]:
    """Points of a deal with these tricks, without playing it, from the engine; the referee must score the same.

    The record of a started table is filled and settled.

    Args:
        table: a started table; its record is changed.
        tricks: by seat.
        calls: words by seat (the exact-bid games and nonesuch).
        contract: word of the bid that was declared (small_ships, noms).
        declarer: seat.
        partner: seat, -1 for a declarer who is alone.
        indicated: seat that indicated (small_ships).
        multiplier: of the deal (noms).

    Returns:
        Points by seat.
    """
    row = table.row
    assert sum(tricks) == row.deal_size, "somebody takes every trick"
    row.points[:] = 0
    row.tricks[: table.seats] = tricks
    row.trick_number = sum(tricks)
    if calls is not None:
        row.call[: table.seats] = [action_number(word, "call") - PASS for word in calls]
    if contract is not None:
        row.contract = action_number(contract, "call") - PASS
        row.alone = int(contract == "mis_a_vis" or (contract == "mis" and table.rules.variant.name == "noms"))
    row.declarer, row.partner, row.indicated = declarer, partner, indicated
    row.multiplier = multiplier
    dispatch.settle(row)
    options, taken = table.rules.options, list(tricks)
    match table.rules.variant.name:
        case "sniped_whist":
            cut = members(row.sniped)[0] if options["tie"] == "cut" and row.sniped else None
            expected = referee.settle_sniped_whist(options, taken, cut)
        case "nonesuch":
            expected = referee.settle_nonesuch(options, list(calls or ()), taken)
        case "small_ships":
            ally, teller = (seat if seat >= 0 else None for seat in (partner, indicated))
            expected = referee.settle_small_ships(options, str(contract), declarer, ally, taken, teller)
        case "noms":
            ally = partner if partner >= 0 else None
            expected = referee.settle_noms(options, str(contract), declarer, ally, taken, multiplier)
        case _:
            expected = referee.settle_exact_bid([int(call) for call in calls or ()], taken, options.get("bonus", "exact"))
    same_numbers(points(table), expected, (options, contract, taken))
    return points(table)
