"""Redealing: a seat is given a deal that it cannot tell from the true one, drawn uniformly among all such deals.

The measure is the referee. A layout of the cards is consistent with what a seat knows if the referee, who plays all that
happened again on these cards, finds every action legal and the turns the same, if the seat is offered the same actions as
it was, and if it is shown the same cards. Where a few cards are unplayed, all layouts are tried in this way, and the drawn
ones must be exactly those, equally often.
"""

import hashlib
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from noms_env.belief.layouts import draw_below, open_stream
from noms_env.belief.workspace import new_sampling_workspace
from noms_env.core.actions import SCORED
from noms_env.core.cards import CARD_WORDS, EXCUSE, cards_in, set_of
from noms_env.core.chance import DRAW_REDEAL, philox
from noms_env.core.state import HELD, get_byte, put_byte
from noms_env.envs.batch import BatchEnv, make_batch
from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS, nonesuch, small_ships
from tests import referee
from tests.agreement import deck_words, random_table, referee_at
from tests.begun import begun
from tests.envs.play import EVERY_TABLE
from tests.observation.test_leaks import public_unplayed
from tests.uncompiled import printed_uncompiled

Moment = tuple[Table, referee.Deal]


def words_of(table: Table, cards: int) -> frozenset[str]:
    return frozenset(table.card_words(cards))


def choose(table: Table, rng: random.Random, temper: str) -> str:
    """A random action; now and then one that brings rare rules about."""
    legal = table.legal_words()
    if table.phase == "call":
        if temper in legal and rng.random() < 0.5:
            return temper
        return "pass" if "pass" in legal and rng.random() < 0.6 else rng.choice(legal)
    if table.phase == "nominate":
        own = [word for word in table.card_words(int(table.row.hands[table.row.seat])) if word in legal]
        return rng.choice(own if own and rng.random() < 0.3 else legal)
    return "indicate" if "indicate" in legal and rng.random() < 0.3 else rng.choice(legal)


def play(variant: str, seats: int, options: dict[str, Any], seed: int, deals: int = 1) -> Iterator[Moment]:
    """Every decision of a few deals, on the table and at the referee's."""
    rng = random.Random(f"{variant} {seats} {seed}")
    table = Table(variant, seats, options, seed=seed)
    places = len(table.rules.schedule)
    table.start(deal=rng.randrange(places) if places else None)
    for _ in range(deals):
        temper = rng.choice(["", "", "mis", "mis_a_vis"])
        deal = referee_at(table, deck_words(table))
        while not table.is_scored:
            yield table, deal
            word = choose(table, rng, temper)
            table.act(word)
            deal.act(word)
        if table.is_over:
            return
        table.next_deal()


def open_hand(deal: referee.Deal) -> list[str]:
    """Rules 4.1: the hand that lies open."""
    exposed = deal.contract == "mis_a_vis" and deal.trick_history
    return sorted(deal.hands[deal.declarer or 0]) if exposed else []


def told_again(table: Table, deal: referee.Deal, deck: list[str], seat: int) -> referee.Deal | None:
    """The same deal played with another deck, or None if the seat or the rules can tell the two apart."""
    other = referee_at(table, deck)
    if sorted(other.initial_hands[seat]) != sorted(deal.initial_hands[seat]) or other.turn_up != deal.turn_up:
        return None
    for step in deal.steps:
        legal = other.legal()
        if (other.seat, other.phase) != (step["seat"], step["phase"]) or step["action"] not in legal:
            return None
        if step["seat"] == seat and sorted(legal) != sorted(step["legal"]):
            return None
        other.act(step["action"])
    if (other.seat, other.phase) != (deal.seat, deal.phase) or open_hand(other) != open_hand(deal):
        return None
    if other.public_place() != deal.public_place():
        return None
    return other if seat != deal.seat or sorted(other.legal()) == sorted(deal.legal()) else None


def check_redeal(table: Table, deal: referee.Deal, seat: int, rng: np.random.Generator) -> Moment:
    """Redeal, check the whole record, and return both sides' tables."""
    twin = table.sample_hidden(seat, rng)
    for part, same in zip(table.view(seat), twin.view(seat), strict=True):
        assert part.tobytes() == same.tobytes(), "the seat sees another table"
    other = told_again(table, deal, deck_words(twin), seat)
    where = (table.rules.variant.name, table.rules.options, seat, [step["action"] for step in deal.steps])
    assert other is not None, where
    row = twin.row
    assert [words_of(twin, int(hand)) for hand in row.hands[: twin.seats]] == [frozenset(hand) for hand in other.hands], where
    if row.variant != nonesuch.NUMBER:
        assert words_of(twin, int(row.stock)) == frozenset(other.stock), where
    assert (row.partner if row.partner >= 0 else None) == other.partner, where
    if row.variant == nonesuch.NUMBER:
        assert (row.excuse if row.excuse >= 0 else None) == other.holder("EX"), where
    assert sorted(twin.legal_words()) == sorted(other.legal()), where
    changed = {name for name in row.dtype.names or () if not np.array_equal(row[name], table.row[name])}
    assert changed <= HIDDEN_FIELDS, where
    return twin, other


HIDDEN_FIELDS = {"hands", "stock", "partner", "excuse", "deck", "legal_cards", "legal_words", "previous"} | {
    "seed",
    "table",
    "match",
}
"""What may differ in a redealt record."""


def play_out(twin: Table, other: referee.Deal, rng: random.Random) -> None:
    """Play a redealt table to the end of the deal, and one step into the next."""
    while not other.over:
        word = choose(twin, rng, "")
        twin.act(word)
        other.act(word)
        assert sorted(twin.legal_words()) == sorted(other.legal())
    assert twin.is_scored
    if not other.seats_to_cut():
        assert other.points is not None
        assert np.allclose(twin.row.points[: twin.seats], other.points)
    twin.next_deal()
    assert twin.is_over or twin.legal_words()


def check_moments(variant: str, seats: int, options: dict[str, Any], seed: int, every: int) -> int:
    """Redeal at some moments of two deals, for one seat in turn; the number of redeals."""
    rng, play_rng, checked = np.random.default_rng(seed), random.Random(seed), 0
    for number, (table, deal) in enumerate(play(variant, seats, options, seed, deals=2)):
        if number % every == seed % every:
            for seat in {number % seats, int(table.row.seat)}:
                twin, other = check_redeal(table, deal, seat, rng)
                checked += 1
            if number % (4 * every) == seed % every:
                play_out(twin, other, play_rng)
    return checked


@pytest.mark.parametrize(("variant", "seats", "options"), EVERY_TABLE)
def test_by_the_rulebook_every_redeal_is_consistent(variant: str, seats: int, options: dict[str, Any]) -> None:
    checked = sum(check_moments(variant, seats, options, seed, every=5) for seed in range(2))
    assert checked > 0


@pytest.mark.parametrize(
    ("matches", "every"),
    [(25, 4), pytest.param(250, 1, marks=pytest.mark.soak), pytest.param(2, 7, marks=pytest.mark.uncompiled)],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_with_random_options_every_redeal_is_consistent(variant: str, matches: int, every: int) -> None:
    rng = random.Random(f"{variant}: redeal")
    for seed in range(matches):
        check_moments(variant, *random_table(variant, rng), seed, every)


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


def batch_with(table: Table, count: int) -> BatchEnv:
    batch = make_batch(table.rules.variant.name, count, seats=table.seats, **table.rules.options)
    batch.restore(0, np.array([table.row]))
    return batch


def surprise(counts: list[int]) -> float:
    """Standard deviations by which the counts of equally likely things are too uneven (chi-square, Wilson and Hilferty)."""
    mean, free = sum(counts) / len(counts), len(counts) - 1
    if free == 0:
        return 0.0
    chi_square = sum((count - mean) ** 2 for count in counts) / mean
    return float(((chi_square / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free)))


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
@pytest.mark.parametrize("name", PUZZLES)
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


def plain_draws(seed: int, stream: int, ranges: list[int]) -> list[int]:
    """Draws from 56 bits at a time, which serve as long as the product of the ranges is at most 2**24."""
    bits: list[int] = []
    for block in range(len(ranges)):
        words = philox(block | DRAW_REDEAL << 24, stream, 0, 0, seed & 0xFFFFFFFF, seed >> 32)
        bits += [words[0] << 24 | words[1] >> 8, words[2] << 24 | words[3] >> 8]
    drawn, fraction, product = [], Fraction(0), 2**24
    for n in ranges:
        product *= n
        if product > 2**24:
            fraction, product = Fraction(bits.pop(0), 2**56), n
        drawn.append(math.floor(fraction * n))
        fraction = fraction * n % 1
    return drawn


@pytest.mark.uncompiled
def test_draws_have_enough_random_bits() -> None:
    plans = new_sampling_workspace()
    plan = plans.view(np.recarray)[0]
    rng = random.Random(3)
    for stream in range(20):
        ranges = [rng.choice([2, 13, 39, 52]) for _ in range(40)]
        plan.seed = rng.randrange(2**63)
        open_stream(plan, stream)
        assert [int(draw_below(plan, n)) for n in ranges] == plain_draws(int(plan.seed), stream, ranges)


@pytest.mark.parametrize("seats", [3, 4])
def test_the_excuse_is_in_any_other_hand_during_the_calls(seats: int) -> None:
    for seed in range(8):
        table, _ = next(play("nonesuch", seats, {}, seed))
        for seat in range(seats):
            if table.row.excuse in (-1, seat):
                continue
            batch = batch_with(table, 3000)
            batch.sample_hidden(0, seat, np.random.default_rng(seed), slice(None))
            holders = [int((batch.tables.hands[:, other] >> EXCUSE & 1).sum()) for other in range(seats) if other != seat]
            assert sum(holders) == 3000
            assert surprise(holders) < 4.5


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_whole_deal_spreads_every_card_evenly(variant: str) -> None:
    table, _ = next(play(variant, GAMES[variant].default_seats, {}, seed=5))
    seat, draws = int(table.row.seat), 4000
    batch = batch_with(table, draws)
    batch.sample_hidden(0, seat, np.random.default_rng(1), slice(None))
    unseen = int(table.row.cards & ~table.row.hands[seat])
    if table.row.turn_up >= 0:
        unseen &= ~(1 << int(table.row.turn_up))
    for card in cards_in(unseen):
        others = [other for other in range(table.seats) if other != seat]
        counts = [int((batch.tables.hands[:, other] >> card & 1).sum()) for other in others]
        sizes = [(int(table.row.hands[other]) & unseen).bit_count() for other in others]
        for count, size in zip(counts, sizes, strict=True):
            share = size / unseen.bit_count()
            assert abs(count - draws * share) < 5 * math.sqrt(draws * share * (1 - share)) + 1e-9


def hide(table: Table, seat: int, rng: random.Random) -> Table:
    """A copy in which all that the seat does not know is otherwise, by the rules or not."""
    twin = table.copy()
    row = twin.row
    known = int(row.refused) | public_unplayed(table)
    saw_stock = (
        row.variant == small_ships.NUMBER and table.rules.options["stock_nomination"] == "illegal" and row.declarer == seat
    )
    if saw_stock and (row.nominated >= 0 or table.phase == "nominate"):
        known |= int(row.stock)
    places = [int(hand) for hand in row.hands] + [int(row.stock)]
    loose = [card for place, cards in enumerate(places) if place != seat for card in cards_in(cards & ~known)]
    rng.shuffle(loose)
    for place, cards in enumerate(places):
        if place != seat:
            places[place] = cards & known | set_of([loose.pop() for _ in cards_in(cards & ~known)])
    row.hands, row.stock = places[:-1], places[-1]
    row.partner = rng.randrange(-1, table.seats)
    if row.variant == nonesuch.NUMBER and table.phase == "call":
        row.excuse = rng.randrange(table.seats) if row.turn_up != EXCUSE else -1
    row.deck[: len(table.rules.deck)] = rng.sample(list(table.rules.deck), len(table.rules.deck))
    row.seed, row.table, row.match = rng.randrange(2**62), rng.randrange(2**31), rng.randrange(2**31)
    row.legal_cards = row.legal_words = rng.randrange(2**40)
    seen = [get_byte(row.previous, card) for card in range(52)]
    row.previous[:] = 0
    for card in range(52):
        hidden = seen[card] >= HELD and seen[card] != HELD + seat
        put_byte(row.previous, card, HELD + (seat + rng.randrange(1, table.seats)) % table.seats if hidden else seen[card])
    return twin


def dependences(variant: str, seats: int, options: dict[str, Any], seed: int) -> int:
    """Compare redeals of a table and of another that the seat cannot tell from it; the number of comparisons."""
    rng, compared = random.Random(seed), 0
    for number, (table, _) in enumerate(play(variant, seats, options, seed, deals=3)):
        seat = rng.randrange(seats)
        if rng.random() < 0.6:
            continue
        true = table.sample_hidden(seat, np.random.default_rng(number))
        false = hide(table, seat, rng).sample_hidden(seat, np.random.default_rng(number))
        assert true.get_state() == false.get_state(), (variant, options, seat, table.phase)
        compared += 1
    return compared


MEMORY = {"observe_previous_hand": True, "min_bid": 10}


@pytest.mark.parametrize("matches", [15, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_that_the_seat_does_not_know_has_an_influence(variant: str, matches: int) -> None:
    rng = random.Random(f"{variant}: hidden")
    compared = dependences(variant, GAMES[variant].default_seats, MEMORY if variant == "noms" else {}, seed=1)
    for seed in range(matches):
        compared += dependences(variant, *random_table(variant, rng), seed)
    assert compared > 100


def test_the_previous_deal_is_as_the_seat_saw_it() -> None:
    table = begun(Table("noms", options={"observe_previous_hand": True}, seed=2))
    for _ in range(4):
        table.act("pass")
    table.next_deal()
    twin = table.sample_hidden(1, np.random.default_rng(0))
    assert sorted(get_byte(table.row.previous, card) for card in range(52)) == sorted(13 * [HELD + seat for seat in range(4)])
    assert [get_byte(twin.row.previous, card) for card in range(52)] == [
        seen if seen == HELD + 1 else 0 for seen in (get_byte(table.row.previous, card) for card in range(52))
    ]


def middle_of_a_deal(variant: str, decisions: int = 25) -> Table:
    moments = play(variant, GAMES[variant].default_seats, {}, seed=3, deals=5)
    table, _ = next(moment for number, moment in enumerate(moments) if number == decisions)
    return table


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_row_follows_from_the_generator_and_its_place_among_the_rows(variant: str) -> None:
    table = middle_of_a_deal(variant)
    seat = int(table.row.seat)
    batch = batch_with(table, 40)
    batch.sample_hidden(0, seat, np.random.default_rng(7), range(1, 31))
    many = batch.save(range(1, 31)).tobytes()
    assert batch.save(0).tobytes() == table.get_state(), "the source is left alone"
    batch.sample_hidden(0, seat, np.random.default_rng(7), [35, 2, 9])
    few = batch.save([35, 2, 9]).tobytes()
    assert many.startswith(few)
    assert many.startswith(table.sample_hidden(seat, np.random.default_rng(7)).get_state())
    batch.sample_hidden(0, seat, np.random.default_rng(7), [3, 0, 1])
    assert batch.save([3, 0, 1]).tobytes() == few, "the source may be one of the rows"
    batch.restore(0, np.array([table.row]))
    batch.sample_hidden(0, seat, np.random.default_rng(7))
    assert many.startswith(batch.save(0).tobytes())
    assert batch.seat[0] == seat
    batch.sample_hidden(0, seat, np.random.default_rng(7), [])
    assert many.startswith(batch.save(0).tobytes())


@pytest.mark.parametrize("variant", VARIANTS)
def test_two_redeals_have_other_cards_and_another_future(variant: str) -> None:
    table = middle_of_a_deal(variant, decisions=0)
    rng = np.random.default_rng(8)
    first, second = table.sample_hidden(0, rng), table.sample_hidden(0, rng)
    assert len({int(each.row.seed) for each in (table, first, second)}) == 3
    assert (first.row.hands != second.row.hands).any()
    batch = batch_with(table, 100)
    batch.sample_hidden(0, 0, rng, slice(None))
    assert len(np.unique(batch.tables.seed)) == 100


def fingerprint() -> str:
    """Hash of redeals at moments of every variant."""
    digest = hashlib.sha256()
    for variant in VARIANTS:
        rng = random.Random(f"{variant}: bytes")
        for seed in range(4):
            for number, (table, _) in enumerate(play(variant, *random_table(variant, rng), seed)):
                if number % 4 == 0:
                    digest.update(table.sample_hidden(number % table.seats, np.random.default_rng(number)).get_state())
    return digest.hexdigest()


def test_the_compiler_changes_no_byte() -> None:
    assert printed_uncompiled("tests.belief.test_sampling") == fingerprint()


def test_sentences() -> None:
    table = middle_of_a_deal("small_ships")
    batch = batch_with(table, 3)
    rng = np.random.default_rng(0)
    for refuse in (table.sample_hidden, lambda seat, rng: batch.sample_hidden(0, seat, rng, [1])):
        with pytest.raises(ValueError, match="seat must be a seat from 0 to 3, not 4"):
            refuse(4, rng)
        with pytest.raises(ValueError, match="seat must be a seat from 0 to 3, not True"):
            refuse(True, rng)
        with pytest.raises(ValueError, match=r"rng must be a numpy.random.Generator, not 5"):
            refuse(0, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rows must be numbers from 0 to 2"):
        batch.sample_hidden(0, 0, rng, [3])
    with pytest.raises(ValueError, match="row must be an integer from 0 to 2"):
        batch.sample_hidden(3, 0, rng)
    while table.row.phase != SCORED:
        table.step(table.legal_actions()[0])
    with pytest.raises(ValueError, match="the deal is over"):
        table.sample_hidden(0, rng)


if __name__ == "__main__":
    print(json.dumps(fingerprint()))
