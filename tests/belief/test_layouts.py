"""Redealing is uniform: each layout of the cards that a seat cannot rule out is drawn equally often, and no other.

Where a few cards are unplayed, all layouts are tried. One is consistent with what the seat knows if the referee, who plays all
that happened again on these cards, cannot tell the two apart.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from noms_env.core.cards import CARD_WORDS, set_of
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests import referee
from tests.agreement import random_table
from tests.belief.redealt import batch_with, open_hand, play, surprise, told_again
from tests.cases import some


def dealing_places(deal: referee.Deal) -> list[list[int]]:
    """Per seat, the places of the deck that it is dealt from."""
    places = [str(place) for place in range(len(deal.deck))]
    packets = deal.variant == "noms" and deal.options["deal_mode"] != "single_shuffled"
    dealt = (
        referee.deal_packets(places, deal.dealer)
        if packets
        else referee.deal_single(places, deal.seats, deal.dealer, deal.hand_size)
    )
    return [[int(place) for place in hand] for hand in dealt]


def deck_for(deal: referee.Deal, hands: list[list[str]], stock: list[str]) -> list[str]:
    """A deck that gives these hands, the turn-up in its place if it lies where it must."""
    deck = [""] * len(deal.deck)
    for hand, places in zip(hands, dealing_places(deal), strict=True):
        for card, place in zip(sorted(hand, key=lambda card: card == deal.turn_up), places, strict=True):
            deck[place] = card
    deck[deal.seats * deal.hand_size :] = sorted(stock, key=lambda card: card != deal.turn_up)
    return deck


def played_cards(deal: referee.Deal) -> list[list[str]]:
    """Per seat, what it was dealt for sure: the cards it played, after a swap the Excuse for the up card (rules 5.2)."""
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
    """A moment of a deal, one seat's view of it, and every way in which the cards may lie."""

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
        """Cards to deal to each seat, and to the stock."""
        missing = [self.deal.hand_size - len(hand) for hand in self.base]
        return [*missing, len(self.loose) - sum(missing)]

    @property
    def size(self) -> int:
        """Number of ways to deal the loose cards."""
        ways = math.factorial(len(self.loose))
        for size in self.sizes:
            ways //= math.factorial(size)
        return ways

    def solutions(self) -> set[tuple[int, ...]]:
        """The consistent layouts: per seat, and in the stock, the unplayed cards as a set of numbers."""
        found = set()
        for parts in splits(self.loose, self.sizes):
            hands = [base + part for base, part in zip(self.base, parts, strict=False)]
            up_card = [self.deal.turn_up or ""] if self.deal.variant == "nonesuch" else []
            other = told_again(self.table, self.deal, deck_for(self.deal, hands, parts[-1] + up_card), self.seat)
            if other is not None:
                found.add(tuple(map(self.numbers, [*other.hands, [] if up_card else other.stock])))
        return found

    def numbers(self, cards: list[str]) -> int:
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


def check_puzzle(puzzle: Puzzle, seed: int) -> tuple[int, int]:
    """Compare what is drawn with what is consistent; the numbers of consistent and of all layouts."""
    solutions = puzzle.solutions()
    drawn = puzzle.draws(max(1000, 30 * len(solutions)), seed)
    where = (puzzle.deal.variant, puzzle.deal.options, puzzle.seat, puzzle.deal.steps)
    assert set(drawn) == solutions, where
    assert surprise(list(drawn.values())) < 4.5, where
    return len(solutions), puzzle.size


def different_voids(puzzle: Puzzle) -> int:
    """Number of different constraints among the other seats that still hold cards."""
    row = puzzle.table.row
    seats = [seat for seat in range(puzzle.table.seats) if seat != puzzle.seat and row.hands[seat]]
    return len({int(row.voids[seat]) for seat in seats} - {0})


def crossed_voids(puzzle: Puzzle) -> bool:
    """A suit fits two groups of places, but neither of the two largest."""
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
    return (
        puzzle.deal.indicated not in (None, puzzle.seat) and puzzle.deal.nominated in puzzle.deal.hands[puzzle.deal.indicated]
    )


def known_elsewhere(puzzle: Puzzle) -> bool:
    """With `open_partner`: the seat does not hold the nominated card, which is unplayed, and knows who does."""
    return nominated_is_unseen(puzzle) and puzzle.deal.public_place() != "stock"


def known_in_the_stock(puzzle: Puzzle) -> bool:
    return puzzle.deal.public_place() == "stock"


def first_card(puzzle: Puzzle) -> tuple[int, str] | None:
    """Who led to the first trick, and what."""
    plays = [step for step in puzzle.deal.steps if step["phase"] == "play" and step["action"] != "indicate"]
    return (plays[0]["seat"], plays[0]["action"]) if plays else None


def banned_lead(puzzle: Puzzle) -> bool:
    deal, first = puzzle.deal, first_card(puzzle)
    if first is None or deal.nominated is None or first[0] != deal.declarer or puzzle.seat == deal.declarer:
        return False
    return first[1][1] == deal.nominated[1] and bool(deal.hands[deal.declarer])


def trump_lead(puzzle: Puzzle) -> bool:
    """Nonesuch: the first trump was led, by another seat that still holds cards."""
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
    """Noms, `early_stop`: with some holder of the nominated card the deal would be over."""
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
    other_hands = [hand for seat, hand in enumerate(puzzle.deal.hands) if seat != puzzle.seat]
    return any(puzzle.deal.turn_up in hand for hand in other_hands)


Wanted = Callable[[Puzzle], bool]
SHIPS = {"ranks": 5, "suits": 3, "hand_size": 3, "min_bid": 1}
SMALL_NOMS = {"ranks": 4, "suits": 4, "hand_size": 3, "min_bid": 1, "early_stop": True}
PUZZLES: dict[str, tuple[str, int, dict[str, Any], Wanted]] = {
    "voids, three seats": (
        "sniped_whist",
        3,
        {"ranks": 5, "suits": 3, "hand_size": 4},
        lambda puzzle: different_voids(puzzle) >= 2,
    ),
    "voids, five seats": ("down_up", 5, {"ranks": 5, "suits": 4}, lambda puzzle: different_voids(puzzle) >= 3),
    "voids, six seats": ("big_ships", 6, {"ranks": 5, "suits": 4}, lambda puzzle: different_voids(puzzle) >= 3),
    "voids and stock": (
        "big_ships",
        5,
        {"ranks": 4, "suits": 4, "start_cards": 3},
        lambda puzzle: different_voids(puzzle) >= 3,
    ),
    "voids that cross": ("big_ships", 6, {"ranks": 6, "suits": 4}, crossed_voids),
    "turn-up in the stock": ("sniped_whist", 3, {"ranks": 4, "suits": 3, "hand_size": 3}, turn_up_unplayed),
    "turn-up in the dealer's hand": ("sniped_whist", 4, {"ranks": 3, "suits": 4}, turn_up_unplayed),
    "turn-up, one to three to one": (
        "up_down",
        4,
        {"ranks": 3, "suits": 4, "trump_mode": "turnup", "turnup_full_deal": "dealer_last"},
        turn_up_unplayed,
    ),
    "nominated card anywhere": ("small_ships", 4, {**SHIPS, "ranks": 4, "suits": 4}, nominated_is_unseen),
    "nominated card not in the stock": ("small_ships", 3, {**SHIPS, "stock_nomination": "illegal"}, nominated_is_unseen),
    "declarer who saw the stock": ("small_ships", 3, {**SHIPS, "stock_nomination": "illegal"}, declarer_with_stock),
    "declarer who has yet to see the stock": (
        "small_ships",
        3,
        {**SHIPS, "suits": 2, "hand_size": 2, "stock_nomination": "illegal"},
        lambda puzzle: puzzle.seat == puzzle.deal.declarer and puzzle.deal.phase == "trump",
    ),
    "declarer who never sees the stock": (
        "small_ships",
        3,
        {**SHIPS, "suits": 2, "hand_size": 2, "stock_nomination": "illegal", "misere_nominates": False},
        lambda puzzle: puzzle.seat == puzzle.deal.declarer and puzzle.deal.contract == "mis",
    ),
    "refused nominations": (
        "small_ships",
        3,
        {**SHIPS, "stock_nomination": "redraw"},
        lambda puzzle: bool(puzzle.deal.refused),
    ),
    "accepted nomination": ("small_ships", 3, {**SHIPS, "stock_nomination": "redraw"}, nominated_is_unseen),
    "indication": ("small_ships", 4, {**SHIPS, "indication": True}, indicated),
    "open partner": ("small_ships", 4, {**SHIPS, "open_partner": True}, known_elsewhere),
    "open partner, of four suits": ("small_ships", 4, {**SHIPS, "ranks": 4, "suits": 4, "open_partner": True}, known_elsewhere),
    "open partner, card of the declarer": (
        "small_ships",
        3,
        {**SHIPS, "open_partner": True},
        lambda puzzle: known_elsewhere(puzzle) and puzzle.deal.public_place() == puzzle.deal.declarer,
    ),
    "open partner, card in the stock": ("small_ships", 3, {**SHIPS, "open_partner": True}, known_in_the_stock),
    "open partner, no nomination from the stock": (
        "small_ships",
        3,
        {**SHIPS, "open_partner": True, "stock_nomination": "illegal"},
        known_elsewhere,
    ),
    "open partner, refused nominations": (
        "small_ships",
        3,
        {**SHIPS, "open_partner": True, "stock_nomination": "redraw"},
        lambda puzzle: known_elsewhere(puzzle) and bool(puzzle.deal.refused),
    ),
    "lead of the nominated suit": ("small_ships", 3, {**SHIPS, "suits": 2, "ranks": 6}, banned_lead),
    "lead of the nominated suit, by card": (
        "small_ships",
        3,
        {**SHIPS, "suits": 2, "ranks": 6, "first_trick_restriction": "card"},
        banned_lead,
    ),
    "lead of the nominated suit, no ban": (
        "small_ships",
        3,
        {**SHIPS, "suits": 2, "ranks": 6, "first_trick_restriction": "off"},
        banned_lead,
    ),
    "deal not stopped": ("noms", 4, SMALL_NOMS, half_decided),
    "deal not stopped, all cards dealt": ("noms", 4, {**SMALL_NOMS, "ranks": 3}, half_decided),
    "deal not stopped, slam": ("noms", 4, {**SMALL_NOMS, "ranks": 3, "unbid_slam_loses": True}, half_decided),
    "deal not stopped, implicit": ("noms", 4, {**SMALL_NOMS, "ranks": 3, "implicit_announcements": True}, half_decided),
    "a rank without a suit": (
        "noms",
        4,
        {**SMALL_NOMS, "ranks": 3, "implicit_announcements": True},
        lambda puzzle: puzzle.size > 0,
    ),
    "open partner, noms": ("noms", 4, {**SMALL_NOMS, "open_partner": True}, known_elsewhere),
    "open partner, noms, card in the stock": ("noms", 4, {**SMALL_NOMS, "open_partner": True}, known_in_the_stock),
    "open partner, implicit": (
        "noms",
        4,
        {**SMALL_NOMS, "ranks": 3, "implicit_announcements": True, "open_partner": True},
        known_elsewhere,
    ),
    "open hand": (
        "noms",
        4,
        {**SMALL_NOMS, "ranks": 4},
        lambda puzzle: bool(open_hand(puzzle.deal)) and puzzle.seat != puzzle.deal.declarer,
    ),
    "packets": ("noms", 4, {}, lambda puzzle: puzzle.size > 0),
    "nonesuch, three": ("nonesuch", 3, {}, up_card_in_hand),
    "nonesuch, four": ("nonesuch", 4, {}, lambda puzzle: different_voids(puzzle) >= 2),
    "nonesuch, trump led": ("nonesuch", 3, {}, trump_lead),
    "nonesuch, eight cards": ("nonesuch", 4, {"ranks": 4, "suits": 4}, lambda puzzle: different_voids(puzzle) >= 1),
    "nonesuch, nine cards, trump led": ("nonesuch", 3, {"ranks": 8, "suits": 3}, trump_lead),
}


def unplayed(deal: referee.Deal) -> list[str]:
    return [card for cards in (*deal.hands, deal.stock) for card in cards]


def puzzles(name: str, wanted: int, most: int) -> Iterator[tuple[int, Puzzle]]:
    """Moments of that name with at most so many layouts, not two of one deal; fewer than wanted where they are rare."""
    variant, seats, options, fits = PUZZLES[name]
    rng = random.Random(name)
    found = 0
    for seed in range(3000):
        fitting = []
        for table, deal in play(variant, seats, options, seed):
            for seat in range(seats) if len(unplayed(deal)) <= 14 else ():
                puzzle = Puzzle(table, deal, seat)
                if 1 < puzzle.size <= most and fits(puzzle):
                    fitting.append((len(deal.steps), seat))
        if fitting:
            found += 1
            steps, seat = rng.choice(fitting)
            for number, (table, deal) in enumerate(play(variant, seats, options, seed)):
                if number == steps:
                    yield seed, Puzzle(table, deal, seat)
                    break
        if found == wanted:
            return


FREE = (
    *("lead of the nominated suit, no ban", "lead of the nominated suit, by card"),
    *("declarer who has yet to see the stock", "declarer who never sees the stock"),
    *("a rank without a suit", "packets", "nominated card anywhere"),
)
"""Names of moments at which the rules need not rule anything out."""


@pytest.mark.parametrize(("wanted", "least", "most"), [(3, 3, 900), pytest.param(60, 10, 2600, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", some(PUZZLES, 3))
def test_every_consistent_layout_is_drawn_equally_often_and_no_other(name: str, wanted: int, least: int, most: int) -> None:
    found = [check_puzzle(puzzle, seed) for seed, puzzle in puzzles(name, wanted, most)]
    assert len(found) >= least
    assert name in FREE or any(solutions < ways for solutions, ways in found)


def test_all_layouts_of_nonesuch_with_six_cards() -> None:
    """Every moment of some deals, for every seat: 6MW 8MS 9MS CM CS CW and the Excuse."""
    found = set()
    for seed in range(20):
        for table, deal in play("nonesuch", 3, {"ranks": 5, "suits": 3}, seed):
            for seat in range(3):
                puzzle = Puzzle(table, deal, seat)
                found.add(check_puzzle(puzzle, seed))
    assert {(1, 1), (6, 6)} <= found, "all is known, or two cards each are in two hands"
    assert any(solutions < ways for solutions, ways in found)


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_layouts_with_random_options(variant: str) -> None:
    rng = random.Random(f"{variant}: layouts")
    for seed in range(400):
        seats, options = random_table(variant, rng)
        for number, (table, deal) in enumerate(play(variant, seats, options, seed)):
            puzzle = Puzzle(table, deal, rng.randrange(seats))
            if number % 3 == 0 and 1 < puzzle.size <= 300:
                check_puzzle(puzzle, seed)
