"""The endgame solver equals a search of every line of play on the engine."""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from noms_env.core.cards import cards_in
from noms_env.core.partners import is_on_side
from noms_env.core.state import all_hands
from noms_env.engine.row_kernels import kernel_view
from noms_env.search.endgame.moves import clear_cache, legal_cards, new_frames, open_root
from noms_env.search.endgame.position import CACHE_BITS, new_positions, set_up, units
from noms_env.search.endgame.solver import EVERY_SEAT, action_value, position_value, prepare, solve
from noms_env.table import Table
from noms_env.variants.dispatch import common_sides
from tests.begin import begin
from tests.cases import some
from tests.variants.table_help import play, table_with

SMALL: dict[str, Any] = {"ranks": 5, "suits": 3}
Values = list[float]

# Variant, seats, options, tricks to come. Seats, suits, ranks and tricks differ; hands are not all dealt out.
GAMES: list[tuple[str, int, dict[str, Any], int]] = [
    ("down_up", 4, {"hook": False}, 3),
    ("down_up", 3, {"ranks": 7, "suits": 4}, 4),
    ("up_down", 4, {}, 2),
    ("big_ships", 3, {"bonus": "at_least"}, 3),
    ("big_ships", 5, {}, 2),
    ("big_ships", 2, {"ranks": 7, "suits": 3}, 5),
    ("sniped_whist", 3, {}, 4),
    ("sniped_whist", 4, {"tie": "cut", "trump_mode": "none"}, 2),
    ("sniped_whist", 4, {"scoring": "tricks", "objective": "most", "snip_penalty": 3}, 3),
    ("sniped_whist", 6, {"n_hands": 3}, 2),
    ("nonesuch", 3, {"half": "exact"}, 3),
    ("nonesuch", 4, {}, 2),
    ("small_ships", 4, {}, 3),
    ("small_ships", 3, {"misere_penalty": "own", "min_bid": 12, "misere_above": 17}, 4),
    ("small_ships", 4, {**SMALL, "hand_size": 3}, 3),
    ("small_ships", 3, {**SMALL, "hand_size": 4, "indication": True, "first_trick_restriction": "card"}, 4),
    ("noms", 4, {"min_bid": 7}, 3),
    ("noms", 4, {"min_bid": 7, "mis_value": 10}, 3),
    ("noms", 4, {**SMALL, "hand_size": 3, "early_stop": True, "min_bid": 2}, 3),
    ("noms", 4, {**SMALL, "hand_size": 3, "unbid_slam_loses": True, "min_bid": 1}, 3),
    ("noms", 4, {**SMALL, "hand_size": 3, "implicit_announcements": True}, 3),
]


def relative_points(table: Table) -> Values:
    """Return each seat's points minus the mean of the others'."""
    points = [float(x) for x in table.row.points[: table.seats]]
    return [own - (sum(points) - own) / (table.seats - 1) for own in points]


def max_n(table: Table) -> Values:
    """Return the values of Max^n without any shortcut: each seat takes its first best action."""
    if table.is_scored:
        return relative_points(table)
    seat = int(table.row.seat)
    best: Values = []
    for values in after_each(table, max_n).values():
        if not best or values[seat] > best[seat] + 1e-9:
            best = values
    return best


def minimax(table: Table) -> float:
    """Return the declarer's value of minimax between the declarer's side and the others."""
    if table.is_scored:
        return relative_points(table)[int(table.row.declarer)]
    values: Iterable[float] = after_each(table, minimax).values()
    return max(values) if is_on_side(table.row, int(table.row.seat)) else min(values)


def after_each(table: Table, value: Callable[[Table], Any]) -> dict[int, Any]:
    """Return the value after each legal action."""
    values = {}
    for action in table.legal_actions():
        twin = table.copy()
        twin.step(action)
        values[action] = value(twin)
    return values


def moments(name: str, seats: int, options: dict[str, Any], left: int, seeds: range) -> Iterator[Table]:
    """Yield tables with `left` tricks to come after random play, some in the middle of a trick."""
    for seed in seeds:
        rng = random.Random(seed)
        table = begin(Table(name, seats, options, seed=seed))
        play_until(table, left, rng)
        if table.phase is None:
            continue
        for _ in range(seed % seats):
            table.step(rng.choice(table.legal_actions()))
        yield table


def play_until(table: Table, left: int, rng: random.Random) -> None:
    """Play at random, with few passes, until `left` tricks are to come."""
    while not table.is_over:
        if table.is_scored:
            table.next_deal()
        elif table.phase in ("play", "suit") and table.row.deal_size - table.row.trick_number <= left:
            return
        else:
            actions = table.legal_actions()
            table.step(rng.choice(actions[:4] if rng.random() < 0.7 else actions))


def cases() -> Iterator[Any]:
    """Yield games, seeds, and the least number of deals to compare: some quick, two tricks uncompiled, and all as soak."""
    for at, game in enumerate(GAMES):
        name = f"{game[0]}-{game[1]}-{'-'.join(game[2])}"
        yield pytest.param(game, range(4), 2, id=name, marks=pytest.mark.soak if at % 3 else ())
        if game[3] == 2:
            yield pytest.param(game, range(2), 1, id=f"two tricks {name}", marks=pytest.mark.uncompiled)
        yield pytest.param(game, range(4, 20), 8, id=f"more {name}", marks=pytest.mark.soak)


@pytest.mark.parametrize(("game", "seeds", "least"), [*cases()])
def test_solving_each_seat_for_itself_equals_max_n(
    game: tuple[str, int, dict[str, Any], int], seeds: range, least: int
) -> None:
    solved = 0
    for table in moments(*game, seeds):
        before = table.get_state()
        values = solve(table, "every_seat")
        assert table.get_state() == before
        expected = after_each(table, max_n)
        assert list(values) == list(expected)
        for action in expected:
            assert values[action] == pytest.approx(expected[action], abs=1e-9), table.word(action)
        solved += 1
    assert solved >= least


@pytest.mark.parametrize(
    ("name", "seats", "options", "left"),
    [
        *some([game for game in GAMES if game[0] == "noms"], 3),
        *some([("small_ships", seats, {**SMALL, "hand_size": size}, size) for seats, size in ((4, 3), (3, 4))], 2),
        pytest.param("small_ships", 4, {}, 3, marks=pytest.mark.soak),
    ],
)
def test_solving_two_sides_equals_minimax(name: str, seats: int, options: dict[str, Any], left: int) -> None:
    solved = 0
    for table in moments(name, seats, options, left, range(12)):
        if common_sides(table.row) == 0:
            continue
        values = solve(table, "two_sides")
        others = [seat for seat in range(seats) if not is_on_side(table.row, seat)]
        for action, value in after_each(table, minimax).items():
            if table.word(action) != "indicate":
                assert values[action][table.row.declarer] == pytest.approx(value), table.word(action)
                assert sum(values[action][seat] for seat in others) == pytest.approx(-value * (seats - len(others)))
        solved += 1
    assert solved >= 2


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", ["nonesuch", "sniped_whist"])
def test_legal_leads_follow_from_the_remaining_cards(name: str) -> None:
    """A position set up at the first trick knows the legal leads to every later one: no trump in nonesuch until one fell."""
    banned = lifted = 0
    for seed in range(30):
        rng = random.Random(seed)
        table = begin(Table(name, 3 if name == "nonesuch" else 4, {"hand_size": 8} if name != "nonesuch" else {}, seed=seed))
        while table.phase != "play":
            table.step(rng.choice(table.legal_actions()))
        position, frames = new_positions(), new_frames()
        set_up(position[0], kernel_view(table._rows)[0])
        while not table.is_scored:
            row = table.row
            if table.phase == "play" and row.n_table == 0:
                open_root(position[0], frames[0])
                frames["remaining"][0], frames["seat"][0] = numbers(position, all_hands(row)), row.seat
                assert legal_cards(position[0], frames[0]) == numbers(position, row.legal_cards)
                banned += row.legal_cards != row.hands[row.seat]
                lifted += row.broken == 1 and row.trump_cards & row.hands[row.seat] != 0
            actions = table.legal_actions()
            plain = [action for action in actions if table.phase != "play" or not int(row.trump_cards) >> action & 1]
            table.step(rng.choice(plain or actions))
    assert (banned > 0) == (name == "nonesuch")
    assert lifted > 0


def numbers(position: np.ndarray, cards: int) -> int:
    """Return a set of cards by their numbers in the position."""
    return sum(1 << int(position["number_of"][0, card]) for card in cards_in(cards))


def values_of_position(table: Table) -> Values:
    """Return the value of the position to each seat."""
    position, frames, row = new_positions(), new_frames(), kernel_view(table.copy()._rows)[0]
    values = [position_value(position[0], frames, row, EVERY_SEAT, seat) for seat in range(table.seats)]
    return [value / units(table.seats) for value in values]


@pytest.mark.uncompiled
def test_the_ban_on_leading_the_nominated_suit_is_solved() -> None:
    options = {**SMALL, "hand_size": 2, "min_bid": 1}
    differs = 0
    for seed in range(8):
        table = begin(Table("small_ships", 3, options, seed=seed), dealer=2)
        play(table, "2 C")
        held = table.card_words(table.row.hands[0])
        table.act(next(word for word in table.legal_words() if word[1] == held[-1][1] and word not in held))
        differs += len(table.legal_actions()) < len(held)
        assert values_of_position(table) == pytest.approx(max_n(table))
    assert differs >= 2


@pytest.mark.uncompiled
def test_the_choice_of_a_suit_is_solved() -> None:
    named = 0
    for table in moments("nonesuch", 4, {}, 2, range(0, 160, 4)):
        two_suited = [action for action in table.legal_actions() if len(table.word(action)) == 3]
        if table.row.n_table == 0 and two_suited and named < 3:
            table.step(two_suited[0])
            assert table.phase == "suit"
            assert values_of_position(table) == pytest.approx(max_n(table))
            named += 1
    assert named == 3


@pytest.mark.parametrize(
    ("left", "seeds", "options"),
    [
        pytest.param(2, 6, {}, marks=pytest.mark.uncompiled),
        (4, 12, {"double_repeat": "double", "dealer_forced": False}),
        (6, 5, {}),
    ],
)
def test_both_kinds_of_solving_agree_in_noms(left: int, seeds: int, options: dict[str, Any]) -> None:
    """Six tricks are too many for every line, but the two kinds share no search."""
    for table in moments("noms", 4, {"min_bid": 7, **options}, left, range(seeds)):
        by_seat, by_side = solve(table, "every_seat"), solve(table, "two_sides")
        assert {action: pytest.approx(values) for action, values in by_seat.items()} == by_side


def test_the_size_of_the_cache_changes_no_value() -> None:
    position, frames = new_positions(), new_frames()
    for table in moments("down_up", 4, {}, 5, range(3)):
        row, n_cached, values = kernel_view(table.copy()._rows)[0], [], []
        for bits in (6, CACHE_BITS):
            prepare(position[0], row, EVERY_SEAT)
            clear_cache(position[0], bits)
            pairs = [(action, seat) for action in table.legal_actions() for seat in range(4)]
            values.append([action_value(position[0], frames, row, EVERY_SEAT, *pair) for pair in pairs])
            n_cached.append(int(position[0]["n_cached"]))
        assert values[0] == values[1]
        assert n_cached[0] > n_cached[1], "entries of the small cache were overwritten"


def test_a_needed_trick_is_taken_in_time() -> None:
    """Seat 0 has called one trick: its king wins now, and would fall to the ace later."""
    table = table_with("big_ships", ["KD 2D", "3D 5D", "4D AD"], dealer=0, options={"start_cards": 2}).play("0 1 1 3D 4D")
    values = {table.word(action): value for action, value in solve(table).items()}
    assert values == {"KD": [0.5, -1.0, 0.5], "2D": [-6.0, 9.0, -3.0]}


def test_the_lowest_of_equally_good_cards_is_played() -> None:
    """Seat 2 makes its call with the first trick, then gives the others to seat 0 (by clubs) or seat 1; clubs are lower."""
    options = {"start_cards": 3, "trump_rotation": ["NT"]}
    table = table_with("big_ships", ["2H 3C 4C", "3H 3D 4D", "4H 2C 2D"], dealer=2, options=options).play("1 1 1")
    assert solve(table)[table.number("2H")] == [2 - 11 / 2, 0 - 13 / 2, 11 - 2 / 2]


def test_an_unsolvable_position_is_refused() -> None:
    calls, long = begin(Table("small_ships")), play(begin(Table("small_ships")), "13 C 2D")
    refused: list[tuple[Table, Any, str]] = [
        (calls, "every_seat", "not the phase call"),
        (long, "every_seat", "13 tricks by 4 seats"),
        (long, "alone", "every_seat.*two_sides.*not 'alone'"),
        (begin(Table("sniped_whist")), "two_sides", "two_sides does not fit"),
    ]
    for table, kind, sentence in refused:
        with pytest.raises(ValueError, match=sentence):
            solve(table, kind)
