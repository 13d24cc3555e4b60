"""Helpers of the rule tests: stacked decks, play in words, and scoring without play."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Self

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
"""Words separated by spaces, or a list of words."""
NO_MATCH: Any = None  # roles do not depend on the match


class WatchedTable(Table):
    """A table that must agree with the referee at every decision."""

    def start(self, *arguments: Any, **position: Any) -> None:
        super().start(*arguments, **position)
        self.watch()

    @property
    def points(self) -> list[float]:
        return [float(number) for number in self.row.points[: self.seats]]

    @property
    def totals(self) -> list[float]:
        return [float(number) for number in self.row.totals[: self.seats]]

    @property
    def tricks(self) -> list[int]:
        return [int(number) for number in self.row.tricks[: self.seats]]

    def play(self, words: Words) -> Self:
        """Take actions in words."""
        play(self, words)
        return self

    def next_deal(self) -> int:
        status = super().next_deal()
        if not self.is_over:
            self.watch()
        return status

    def watch(self) -> None:
        """Set up the referee, which must deal the same hands."""
        self.deal = deal = referee_at(self, deck_words(self))
        assert [set(hand) for hand in deal.hands] == hands_of(self)
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
    """Return the number of cards that each seat is dealt."""
    if rules.schedule:
        return rules.schedule[deal]
    return len(rules.deck) // rules.seats if rules.variant.name == "nonesuch" else int(rules.options["hand_size"])


def seats_dealt_to(rules: Rules, dealer: int, deal: int = 0) -> list[int]:
    """Return the seat of each card of the deck, in dealing order, without the stock."""
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
    """Return a deck in dealing order that deals these hands to seats 0, 1, ..., each in dealing order.

    Missing hands and cards are filled up in the order of the deck. The first card of the stock may be the turn-up, in nonesuch
    the up card. `deal` is the number of the deal, if the hand size depends on it.

    Raises:
        ValueError: too many cards for a hand or the stock, a card twice, or a card that is not in the deck.
    """
    rules = make_rules(game(variant), seats, options)
    order = seats_dealt_to(rules, dealer, deal)
    cards = [CARD_WORDS[rules.variant.deck_kind][card] for card in rules.deck]
    parts = [words_of(hand) for hand in hands] + [[] for _ in range(seats - len(hands))] + [words_of(stock)]
    named = [card for part in parts for card in part]
    if len(named) != len(set(named)) or not set(named) <= set(cards):
        raise ValueError(f"named twice, or not cards of this deck: {' '.join(sorted(named))}")
    free = [card for card in cards if card not in named]
    order += [seats] * (len(cards) - len(order))
    deck = [parts[seat].pop(0) if parts[seat] else free.pop(0) for seat in order]
    if any(parts):
        raise ValueError("too many cards are named for a hand or the stock")
    return deck


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
) -> WatchedTable:
    """Return a table with these hands (see `deck_for`), by default one for each seat; `start`: `totals` and `multiplier`."""
    seats = seats or len(hands)
    deck = deck_for(variant, seats, hands, dealer, stock, options, deal)
    table = WatchedTable(variant, seats, dict(options or {}))
    table.start(deck=deck, dealer=dealer, deal=deal, **start)
    return table


def new_deal(
    variant: str,
    seats: int = 4,
    calls: str = "",
    *,
    seed: int = 0,
    dealer: int | None = None,
    deal: int | None = None,
    **options: Any,
) -> WatchedTable:
    """Return a random deal after these calls; by default seat 0 is eldest."""
    table = WatchedTable(variant, seats, options, seed=seed)
    table.start(dealer=seats - 1 if dealer is None else dealer, deal=deal)
    return table.play(calls)


def hands_of(table: Table) -> list[set[str]]:
    """Return the cards that each seat holds now."""
    return [set(table.card_words(table.row.hands[seat])) for seat in range(table.seats)]


def legal(table: Table) -> set[str]:
    return set(table.legal_words())


def play(table: Table, words: Words) -> Table:
    """Take actions in words. Return the same table."""
    for word in words_of(words):
        table.act(word)
    return table


def play_out(table: Table, rng: random.Random) -> list[str]:
    """Take random actions to the end of the deal. Return their words."""
    words = []
    while table.phase is not None:
        action = rng.choice(table.legal_actions())
        words.append(table.word(action))
        table.step(action)
    return words


def trumps_of_match(table: Table, rng: random.Random) -> list[str | None]:
    """Play a match at random. Return the trump at the end of each deal."""
    trumps = []
    while True:
        play_out(table, rng)
        trumps.append(table.trump_word())
        if table.is_over:
            return trumps
        table.next_deal()


def members(seats: int) -> list[int]:
    """Return the seats of a bit set (`row.winners`, `row.sniped`)."""
    return [seat for seat in range(7) if int(seats) >> seat & 1]


def set_tricks_and_settle(
    table: WatchedTable,
    tricks: Sequence[int],
    calls: Sequence[str] | None = None,
    *,
    contract: str | None = None,
    declarer: int = -1,
    partner: int = -1,
    indicated: int = -1,
    multiplier: int = 1,
) -> list[float]:
    """Settle a deal with these tricks without play. Return the points by seat, which the referee must score too.

    Calls are words by seat (exact-bid games and nonesuch), the contract is a bid in words (small_ships and noms). Partner,
    declarer and the seat that indicated are -1 if there is none.
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
    low, high = table.rules.variant.point_range(table.rules.options, row.deal_size)
    assert all(low <= points / multiplier <= high for points in table.points)
    options, by_seat = table.rules.options, list(tricks)
    match table.rules.variant.name:
        case "sniped_whist":
            cut = members(row.sniped)[0] if options["tie"] == "cut" and row.sniped else None
            expected = referee.settle_sniped_whist(options, by_seat, cut)
        case "nonesuch":
            expected = referee.settle_nonesuch(options, list(calls or ()), by_seat)
        case "small_ships":
            ally, teller = (seat if seat >= 0 else None for seat in (partner, indicated))
            expected = referee.settle_small_ships(options, str(contract), declarer, ally, by_seat, teller)
        case "noms":
            ally = partner if partner >= 0 else None
            expected = referee.settle_noms(options, str(contract), declarer, ally, by_seat, multiplier)
        case _:
            expected = referee.settle_exact_bid([int(call) for call in calls or ()], by_seat, options.get("bonus", "exact"))
    same_numbers(table.points, expected, (options, contract, by_seat))
    return table.points
