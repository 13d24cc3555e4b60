"""Redeals are uniform over the layouts that a seat cannot rule out.

If few cards are unplayed, all layouts are tried. A layout is consistent with the seat's knowledge if the referee can replay the
deal on it without a difference that the seat notices.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

import numpy as np
import pytest

from noms_env.core.cards import CARD_WORDS, set_of
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests import referee
from tests.agreement import random_table
from tests.belief.redealt import batch_with, open_hand, play, replay, surprise
from tests.cases import some


def deck_for(deal: referee.Deal, hands: list[list[str]], stock: list[str]) -> list[str]:
    """Return a deck that deals these hands, with the turn-up in its place."""
    deck, places = [""] * len(deal.deck), [str(place) for place in range(len(deal.deck))]
    if deal.variant == "noms" and deal.options["deal_mode"] != "single_shuffled":
        places_of = referee.deal_packets(places, deal.dealer)
    else:
        places_of = referee.deal_single(places, deal.seats, deal.dealer, deal.hand_size)
    for hand, hand_places in zip(hands, places_of, strict=True):
        for card, place in zip(sorted(hand, key=lambda card: card == deal.turn_up), hand_places, strict=True):
            deck[int(place)] = card
    deck[deal.seats * deal.hand_size :] = sorted(stock, key=lambda card: card != deal.turn_up)
    return deck


def played_cards(deal: referee.Deal) -> list[list[str]]:
    """Return the cards that each seat was surely dealt: those it played, and the Excuse instead of the up card (rules 5.2)."""
    cards: list[list[str]] = [[] for _ in range(deal.seats)]
    for step in deal.steps:
        if step["phase"] == "play" and step["action"] != "indicate":
            cards[step["seat"]].append(step["action"])
    if deal.variant == "nonesuch":
        cards = [[card for card in hand if card != deal.turn_up] for hand in cards]
        if len(deal.calls) == deal.seats and deal.turn_up != "EX":
            cards[deal.holder("EX") or 0].append("EX")
    return cards


@dataclass
class Puzzle:
    """A moment of a deal, a seat, and all layouts of the cards."""

    table: Table
    deal: referee.Deal
    seat: int
    base: list[list[str]] = field(init=False)
    loose: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.base = played_cards(self.deal)
        self.base[self.seat] = list(self.deal.initial_hands[self.seat])
        fixed = {card for hand in self.base for card in hand}
        if self.deal.variant == "nonesuch":
            fixed.add(self.deal.turn_up or "")
        self.loose = [card for card in sorted(self.deal.deck) if card not in fixed]

    @property
    def sizes(self) -> list[int]:
        """Numbers of loose cards for each seat and the stock."""
        missing = [self.deal.hand_size - len(hand) for hand in self.base]
        return [*missing, len(self.loose) - sum(missing)]

    @property
    def size(self) -> int:
        """Number of layouts of the loose cards."""
        return math.factorial(len(self.loose)) // math.prod(map(math.factorial, self.sizes))

    def solutions(self) -> set[tuple[int, ...]]:
        """Return the consistent layouts: the unplayed cards of each seat and the stock, as bit sets."""
        layouts = set()
        for parts in splits(self.loose, self.sizes):
            hands = [base + part for base, part in zip(self.base, parts, strict=False)]
            up_card = [self.deal.turn_up or ""] if self.deal.variant == "nonesuch" else []
            other = replay(self.table, self.deal, deck_for(self.deal, hands, parts[-1] + up_card), self.seat)
            if other is not None:
                layouts.add(tuple(map(self.bits, [*other.hands, [] if up_card else other.stock])))
        return layouts

    def bits(self, cards: list[str]) -> int:
        return set_of([CARD_WORDS[self.table.deck_kind].index(card) for card in cards])

    def draws(self, count: int, seed: int) -> dict[tuple[int, ...], int]:
        batch = batch_with(self.table, count)
        batch.sample_hidden(0, self.seat, np.random.default_rng(seed), slice(None))
        layouts = np.column_stack([batch.tables.hands[:, : self.table.seats], batch.tables.stock])
        distinct, counts = np.unique(layouts, axis=0, return_counts=True)
        return {tuple(map(int, layout)): int(n) for layout, n in zip(distinct, counts, strict=True)}


def splits(cards: list[str], sizes: list[int]) -> Iterator[list[list[str]]]:
    if not sizes:
        yield []
        return
    for part in combinations(cards, sizes[0]):
        rest = [card for card in cards if card not in part]
        for parts in splits(rest, sizes[1:]):
            yield [list(part), *parts]


Condition = Callable[[Puzzle], bool]


def check_puzzle(puzzle: Puzzle, seed: int) -> tuple[int, int]:
    """Check that the draws are uniform over the consistent layouts. Return the numbers of consistent and of all layouts."""
    solutions = puzzle.solutions()
    draws = puzzle.draws(max(1000, 30 * len(solutions)), seed)
    where = (puzzle.deal.variant, puzzle.deal.options, puzzle.seat, puzzle.deal.steps)
    assert set(draws) == solutions, where
    assert surprise(list(draws.values())) < 4.5, where
    return len(solutions), puzzle.size


def voids(least: int) -> Condition:
    """Return the condition of `least` different constraints among the other seats with cards."""

    def is_wanted(puzzle: Puzzle) -> bool:
        row = puzzle.table.row
        seats = [seat for seat in range(puzzle.table.seats) if seat != puzzle.seat and row.hands[seat]]
        return len({int(row.voids[seat]) for seat in seats} - {0}) >= least

    return is_wanted


def crossed_voids(puzzle: Puzzle) -> bool:
    """Return whether a suit fits two groups of places, but neither of the two largest."""
    row, rooms = puzzle.table.row, Counter[int]()
    for seat in range(puzzle.table.seats):
        if seat != puzzle.seat:
            rooms[int(row.voids[seat])] += int(row.hands[seat]).bit_count()
    rooms[0] += len(puzzle.deal.stock)
    groups = sorted((voids for voids in rooms if rooms[voids]), key=lambda voids: rooms[voids])
    crossed = [suit for suit in range(4) if sum(not voids >> suit & 1 for voids in groups[:-2]) >= 2]
    loose = {"CDHS".index(card[1]) for card in puzzle.loose}
    return any(suit in loose and groups[-1] & groups[-2] & 1 << suit for suit in crossed)


def nominated_is_unseen(puzzle: Puzzle) -> bool:
    return puzzle.deal.nominated in puzzle.loose


def declarer_with_stock(puzzle: Puzzle) -> bool:
    deal = puzzle.deal
    return puzzle.seat == deal.declarer and (deal.nominated is not None or deal.phase == "nominate") and bool(deal.stock)


def indicated(puzzle: Puzzle) -> bool:
    deal = puzzle.deal
    return deal.indicated is not None and deal.indicated != puzzle.seat and deal.nominated in deal.hands[deal.indicated]


def known_elsewhere(puzzle: Puzzle) -> bool:
    """Return whether another seat is known to hold the nominated card (`open_partner`)."""
    return nominated_is_unseen(puzzle) and puzzle.deal.public_place() != "stock"


def known_in_the_stock(puzzle: Puzzle) -> bool:
    return puzzle.deal.public_place() == "stock"


def banned_lead(puzzle: Puzzle) -> bool:
    """Return whether another seat, the declarer, led the nominated suit to the first trick."""
    deal, declarer = puzzle.deal, puzzle.deal.declarer
    plays = [step for step in deal.steps if step["phase"] == "play" and step["action"] != "indicate"]
    if not plays or declarer is None or deal.nominated is None or plays[0]["seat"] != declarer or puzzle.seat == declarer:
        return False
    return plays[0]["action"][1] == deal.nominated[1] and bool(deal.hands[declarer])


def trump_lead(puzzle: Puzzle) -> bool:
    """Return whether the first trump of nonesuch was led by another seat that still has cards."""
    deal, plays = puzzle.deal, 0
    if deal.trump in (None, "NT"):
        return False
    for step in deal.steps:
        if step["phase"] == "play":
            if str(deal.trump) in referee.suits_of(step["action"]):
                return plays % deal.seats == 0 and step["seat"] != puzzle.seat and bool(deal.hands[step["seat"]])
            plays += 1
    return False


def half_decided(puzzle: Puzzle) -> bool:
    """Return whether the deal would be over with another holder of the nominated card (`early_stop`)."""
    deal = puzzle.deal
    if not nominated_is_unseen(puzzle) or not deal.trick_history:
        return False
    holders = [None, *(seat for seat in range(deal.seats) if seat != deal.declarer)]
    assert deal.contract is not None
    assert deal.declarer is not None
    return any(referee.noms_is_decided(deal.options, deal.contract, deal.declarer, who, deal.tricks) for who in holders)


def turn_up_unplayed(puzzle: Puzzle) -> bool:
    return puzzle.deal.turn_up in puzzle.loose


def up_card_in_hand(puzzle: Puzzle) -> bool:
    return any(puzzle.deal.turn_up in hand for seat, hand in enumerate(puzzle.deal.hands) if seat != puzzle.seat)


def any_layout(puzzle: Puzzle) -> bool:
    return True


Place = tuple[str, int, dict[str, Any]]


def ships(seats: int = 3, **options: Any) -> Place:
    return "small_ships", seats, {"ranks": 5, "suits": 3, "hand_size": 3, "min_bid": 1, **options}


def noms(**options: Any) -> Place:
    return "noms", 4, {"ranks": 4, "suits": 4, "hand_size": 3, "min_bid": 1, "early_stop": True, **options}


Options = dict[str, Any]
ILLEGAL, REDRAW, OPEN = Options(stock_nomination="illegal"), Options(stock_nomination="redraw"), Options(open_partner=True)
TWO_SUITS, IMPLICIT = Options(suits=2, ranks=6), Options(ranks=3, implicit_announcements=True)
TINY = Options(suits=2, hand_size=2, **ILLEGAL)
PUZZLES: dict[str, tuple[Place, Condition]] = {
    "voids, three seats": (("sniped_whist", 3, {"ranks": 5, "suits": 3, "hand_size": 4}), voids(2)),
    "voids, five seats": (("down_up", 5, {"ranks": 5, "suits": 4}), voids(3)),
    "voids, six seats": (("big_ships", 6, {"ranks": 5, "suits": 4}), voids(3)),
    "voids and stock": (("big_ships", 5, {"ranks": 4, "suits": 4, "start_cards": 3}), voids(3)),
    "voids that cross": (("big_ships", 6, {"ranks": 6, "suits": 4}), crossed_voids),
    "turn-up in the stock": (("sniped_whist", 3, {"ranks": 4, "suits": 3, "hand_size": 3}), turn_up_unplayed),
    "turn-up in the dealer's hand": (("sniped_whist", 4, {"ranks": 3, "suits": 4}), turn_up_unplayed),
    "turn-up, one to three to one": (
        ("up_down", 4, {"ranks": 3, "suits": 4, "trump_mode": "turnup", "turnup_full_deal": "dealer_last"}),
        turn_up_unplayed,
    ),
    "nominated card anywhere": (ships(4, ranks=4, suits=4), nominated_is_unseen),
    "nominated card not in the stock": (ships(**ILLEGAL), nominated_is_unseen),
    "declarer who saw the stock": (ships(**ILLEGAL), declarer_with_stock),
    "declarer who has yet to see the stock": (
        ships(**TINY),
        lambda puzzle: puzzle.seat == puzzle.deal.declarer and puzzle.deal.phase == "trump",
    ),
    "declarer who never sees the stock": (
        ships(**TINY, misere_nominates=False),
        lambda puzzle: puzzle.seat == puzzle.deal.declarer and puzzle.deal.contract == "mis",
    ),
    "refused nominations": (ships(**REDRAW), lambda puzzle: bool(puzzle.deal.refused)),
    "accepted nomination": (ships(**REDRAW), nominated_is_unseen),
    "indication": (ships(4, indication=True), indicated),
    "open partner": (ships(4, **OPEN), known_elsewhere),
    "open partner, of four suits": (ships(4, ranks=4, suits=4, **OPEN), known_elsewhere),
    "open partner, card of the declarer": (
        ships(**OPEN),
        lambda puzzle: known_elsewhere(puzzle) and puzzle.deal.public_place() == puzzle.deal.declarer,
    ),
    "open partner, card in the stock": (ships(**OPEN), known_in_the_stock),
    "open partner, no nomination from the stock": (ships(**OPEN, **ILLEGAL), known_elsewhere),
    "open partner, refused nominations": (
        ships(**OPEN, **REDRAW),
        lambda puzzle: known_elsewhere(puzzle) and bool(puzzle.deal.refused),
    ),
    "lead of the nominated suit": (ships(**TWO_SUITS), banned_lead),
    "lead of the nominated suit, by card": (ships(**TWO_SUITS, first_trick_restriction="card"), banned_lead),
    "lead of the nominated suit, no ban": (ships(**TWO_SUITS, first_trick_restriction="off"), banned_lead),
    "deal not stopped": (noms(), half_decided),
    "deal not stopped, all cards dealt": (noms(ranks=3), half_decided),
    "deal not stopped, slam": (noms(ranks=3, unbid_slam_loses=True), half_decided),
    "deal not stopped, implicit": (noms(**IMPLICIT), half_decided),
    "a rank without a suit": (noms(**IMPLICIT), any_layout),
    "open partner, noms": (noms(**OPEN), known_elsewhere),
    "open partner, noms, card in the stock": (noms(**OPEN), known_in_the_stock),
    "open partner, implicit": (noms(**IMPLICIT, **OPEN), known_elsewhere),
    "open hand": (noms(), lambda puzzle: bool(open_hand(puzzle.deal)) and puzzle.seat != puzzle.deal.declarer),
    "packets": (("noms", 4, {}), any_layout),
    "nonesuch, three": (("nonesuch", 3, {}), up_card_in_hand),
    "nonesuch, four": (("nonesuch", 4, {}), voids(2)),
    "nonesuch, trump led": (("nonesuch", 3, {}), trump_lead),
    "nonesuch, eight cards": (("nonesuch", 4, {"ranks": 4, "suits": 4}), voids(1)),
    "nonesuch, nine cards, trump led": (("nonesuch", 3, {"ranks": 8, "suits": 3}), trump_lead),
}


def puzzles(name: str, wanted: int, most: int) -> Iterator[tuple[int, Puzzle]]:
    """Yield up to `wanted` moments of that name with at most `most` layouts, each with its seed, from different deals."""
    (variant, seats, options), is_wanted = PUZZLES[name]
    rng, count = random.Random(name), 0
    for seed in range(3000):
        fitting = []
        for table, deal in play(variant, seats, options, seed):
            unplayed = sum(map(len, deal.hands)) + len(deal.stock)
            for seat in range(seats) if unplayed <= 14 else ():
                puzzle = Puzzle(table, deal, seat)
                if 1 < puzzle.size <= most and is_wanted(puzzle):
                    fitting.append((len(deal.steps), seat))
        if fitting:
            count += 1
            steps, seat = rng.choice(fitting)
            table, deal = next(islice(play(variant, seats, options, seed), steps, None))
            yield seed, Puzzle(table, deal, seat)
        if count == wanted:
            return


FREE = (
    *("lead of the nominated suit, no ban", "lead of the nominated suit, by card"),
    *("declarer who has yet to see the stock", "declarer who never sees the stock"),
    *("a rank without a suit", "packets", "nominated card anywhere"),
)
"""Moments at which the rules may rule out nothing."""


@pytest.mark.parametrize(("wanted", "least", "most"), [(3, 3, 900), pytest.param(60, 10, 2600, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", some(PUZZLES, 3))
def test_draws_are_uniform_over_the_consistent_layouts(name: str, wanted: int, least: int, most: int) -> None:
    counts = [check_puzzle(puzzle, seed) for seed, puzzle in puzzles(name, wanted, most)]
    assert len(counts) >= least
    assert name in FREE or any(consistent < layouts for consistent, layouts in counts)


def test_draws_are_uniform_in_all_of_nonesuch_with_six_cards() -> None:
    """Every moment of some deals, for every seat: 6MW 8MS 9MS CM CS CW and the Excuse."""
    counts = set()
    for seed in range(20):
        for table, deal in play("nonesuch", 3, {"ranks": 5, "suits": 3}, seed):
            counts |= {check_puzzle(Puzzle(table, deal, seat), seed) for seat in range(3)}
    assert {(1, 1), (6, 6)} <= counts, "all is known, or two cards each are in two hands"
    assert any(consistent < layouts for consistent, layouts in counts)


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_draws_are_uniform_with_random_options(variant: str) -> None:
    rng = random.Random(f"{variant}: layouts")
    for seed in range(400):
        seats, options = random_table(variant, rng)
        for number, (table, deal) in enumerate(play(variant, seats, options, seed)):
            puzzle = Puzzle(table, deal, rng.randrange(seats))
            if number % 3 == 0 and 1 < puzzle.size <= 300:
                check_puzzle(puzzle, seed)
