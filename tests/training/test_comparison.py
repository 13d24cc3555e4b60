"""Two players on duplicate deals: seatings, values, roles, threads, and what a lost table counts."""

from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noms_env.players import ask, load_player
from noms_env.table import Table
from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import BLOCK, AgentSpec
from noms_training.agents.table_pool import AtTables, TablePool, play, play_deal_by_deal
from noms_training.evaluation import duplicate as module
from noms_training.evaluation.behaviour_stats import roles
from noms_training.evaluation.block_store import NothingPlayedError
from noms_training.evaluation.comparison import Comparison, compare, size_features
from noms_training.evaluation.duplicate import (
    FIRST_OTHER,
    Block,
    Pairing,
    deal_seed,
    dealt,
    drawn_others,
    game_values,
    line_ups,
)
from noms_training.evaluation.statistics import estimate
from tests.training.fakes import FIRST, LOWEST, STUBBORN, rules

Seen = list[tuple[TablePool, np.ndarray]]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The pools that are played, at the end of their deals, and who sat where."""
    found: Seen = []

    def watching(pool: TablePool, players: Any, seating: np.ndarray) -> Iterator[np.ndarray]:
        yield from play_deal_by_deal(pool, players, seating)
        found.append((pool, seating))

    monkeypatch.setattr(module, "play_deal_by_deal", watching)
    return found


@pytest.mark.parametrize("seats", range(3, 8))
def test_each_player_has_each_seat_equally_often(seats: int) -> None:
    found = {line_up.name: line_up.seatings for line_up in line_ups(seats)}
    assert list(found) == (["alone", "against"] if seats < 4 else ["alone", "against", "mixed"])
    assert (found["alone"].sum(axis=1) == 1).all()
    assert (found["against"].sum(axis=1) == seats - 1).all()
    for name in found:
        assert len(set(found[name].sum(axis=0))) == 1, name
        assert len({row.tobytes() for row in found[name]}) == len(found[name])
    if "mixed" in found:
        mixed = found["mixed"]
        assert set(mixed.sum(axis=1)) == {seats // 2, seats - seats // 2}
        assert {row.tobytes() for row in ~mixed} == {row.tobytes() for row in mixed}  # what A has once, B has once
    assert "mixed" not in {line_up.name for line_up in line_ups(seats, names=("alone", "against"))}


def test_line_ups_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no line-up 'both'; they are alone, against, mixed"):
        line_ups(4, ["both"])
    with pytest.raises(ValueError, match="with 3 seats there are only the line-ups alone and against"):
        line_ups(3, ["mixed"])


@pytest.mark.parametrize(("name", "seats"), [("down_up", 3), ("noms", 4), ("sniped_whist", 5)])
def test_all_seatings_of_a_deal_have_its_cards(name: str, seats: int, watched: Seen) -> None:
    compare(rules(name, seats), agent_spec("greedy"), FIRST, 5)
    pool, seating = watched[0]
    tables = pool.batch.tables
    seatings = np.concatenate([line_up.seatings for line_up in line_ups(seats)])
    assert np.array_equal(seating[:, :seats] == 0, np.tile(seatings, (5, 1)))
    assert np.array_equal(tables.table, np.arange(len(pool)) // len(seatings))
    dealt_cards = [(t.hands | t.played).tobytes() + t.dealer.tobytes() + t.deal_size.tobytes() for t in tables]
    numbers = {(int(t.table), int(t.deal)) for t in tables}  # where all pass, the seatings come to one deal or to another
    assert len({table for table, _ in numbers}) == 5
    assert len(set(dealt_cards)) == len(numbers)
    assert len({(cards, int(t.table)) for cards, t in zip(dealt_cards, tables, strict=True)}) == len(numbers)


def test_a_deal_is_an_episode_of_the_environment(watched: Seen) -> None:
    """Where all pass it goes on until a deal is scored; the cut and the cards do not depend on who sits where."""
    found = compare(rules("noms"), agent_spec("thumb"), agent_spec("greedy"), 12, names=("alone",))
    tables = watched[0][0].batch.tables
    assert (tables.deal > 0).sum() > 12
    assert not tables.passed_out.any()
    assert (found.played.first.reshape(-1)[tables.deal > 0] == 0).all()
    assert (found.played.first.reshape(-1) == found.played.values.reshape(-1))[tables.deal == 0].all()
    player, hero = load_player("thumb"), load_player("greedy")
    for row, t in enumerate(tables):
        table = Table("noms", seed=deal_seed("dev"), table=row // 4, episode="deal")
        table.start(match=0)
        while not table.row.over:
            while not table.is_scored:
                who = player if table.row.seat == row % 4 else hero
                table.step(ask(who, table, np.random.default_rng(0)))
            table.next_deal()
        assert (table.row.points == t.points).all()


@pytest.mark.parametrize("name", ["noms", "nonesuch", "sniped_whist"])
def test_a_player_is_no_better_than_itself(name: str) -> None:
    found = compare(rules(name), agent_spec("thumb"), agent_spec("thumb"), 20)
    assert found.played.values.any()
    for line_up in ("alone", "against", "mixed", None):
        assert np.abs(found.per_deal(line_up)).max() < 1e-12
    assert found.variance_ratio < 1e-20
    assert (found.estimate().p_value, found.needed(0.1)) == (1.0, 2)


def test_values_by_hand(watched: Seen) -> None:
    kind = rules("sniped_whist", 3, scoring="tricks")
    players = (agent_spec("greedy"), agent_spec("random"))
    block = Pairing(kind, players, line_ups(3)).play(0, 4, Event())
    pool, seating = watched[0]
    points = pool.batch.tables.points[:, :3]
    for row, is_a in enumerate(seating[:, :3] == 0):
        expected = points[row, is_a].mean() - points[row, ~is_a].mean()
        assert block.values[row // 6, row % 6] == pytest.approx(expected)


def test_the_sides_change_with_the_order_of_the_players() -> None:
    kind = rules("up_down")
    one = compare(kind, agent_spec("thumb"), agent_spec("greedy"), 40)
    other = compare(kind, agent_spec("greedy"), agent_spec("thumb"), 40)
    assert one.per_deal("alone") == pytest.approx(-other.per_deal("against"))
    assert one.per_deal() == pytest.approx(-other.per_deal())
    assert one.played.probes[0] == other.played.probes[1]
    assert one.played.groups[0].sums.keys() == other.played.groups[1].sums.keys()
    means = [one.per_deal(line_up) for line_up in ("alone", "against", "mixed")]
    assert one.per_deal() == pytest.approx(sum(means) / 3)


def test_the_variance_is_less_than_that_of_independent_deals() -> None:
    found = compare(rules("sniped_whist", scoring="tricks"), agent_spec("thumb"), agent_spec("greedy"), 100)
    assert 0 < found.variance_ratio < 0.2
    assert found.game_ratio == pytest.approx(14 * found.variance_ratio)
    assert found.detectable == pytest.approx(2.8 * found.estimate().standard_error)
    assert found.needed(found.detectable) == pytest.approx(100, abs=1)


def test_the_variance_ratio_by_hand() -> None:
    found = compare(rules("sniped_whist", 3), agent_spec("greedy"), agent_spec("random"), 2)
    values = np.array([[1.0, 2, 3, 0, 0, 0], [1, 2, 3, 2, 2, 2]])
    block = Block(**{**vars(found.played), "values": values})
    made = Comparison(**{**{name: getattr(found, name) for name in found.__dataclass_fields__}, "played": block})
    assert list(made.per_deal()) == [1.0, 2.0]
    assert made.variance_ratio == pytest.approx(0.25 / (40 / 12 - 1.5**2))


@pytest.mark.parametrize("name", ["noms"])
def test_results_do_not_depend_on_threads(name: str) -> None:
    a, b = agent_spec("random"), agent_spec("greedy")
    small = AgentSpec(a.name, a.make, None, 16)
    found = [compare(rules(name), small, b, 70, seed=3, threads=threads) for threads in (1, 3)]
    assert np.array_equal(found[0].played.values, found[1].played.values)
    assert np.array_equal(found[0].played.features, found[1].played.features)
    assert found[0].estimate() == found[1].estimate()
    assert found[0].controlled == found[1].controlled
    assert found[0].played.probes == found[1].played.probes
    different = compare(rules(name), small, b, 70, seed=4)
    assert not np.array_equal(found[0].played.values, different.played.values)


def test_fewer_deals_are_the_first_of_more() -> None:
    a, b = agent_spec("thumb"), agent_spec("greedy")
    few, many = (compare(rules("big_ships"), a, b, deals) for deals in (10, BLOCK + 3))
    assert np.array_equal(few.played.values, many.played.values[:10])
    assert len(many.played.values) == BLOCK + 3
    test = compare(rules("big_ships"), a, b, 10, deal_set="test")
    assert not np.array_equal(few.played.values, test.played.values)


def test_the_features_of_the_control_variate_are_those_of_thumb_on_the_same_cards() -> None:
    kind = rules("down_up")
    found = compare(kind, agent_spec("random"), agent_spec("greedy"), 6)
    pool = dealt(kind, np.arange(6), "dev")
    play(pool, [AtTables(agent_spec("thumb:1").make(), np.random.default_rng(0))], np.zeros((6, 7), np.int64))
    points = pool.batch.tables.points[:, :4]
    assert found.played.features == pytest.approx(np.stack([points.sum(axis=1), points.std(axis=1)], axis=1))
    assert found.played.others.shape == (24, 2)
    other = dealt(kind, FIRST_OTHER + np.arange(24), "dev")
    play(other, [AtTables(agent_spec("thumb:1").make(), np.random.default_rng(0))], np.zeros((24, 7), np.int64))
    assert found.played.others[:, 0] == pytest.approx(other.batch.tables.points[:, :4].sum(axis=1))


def test_each_block_has_other_deals_of_its_own() -> None:
    small = AgentSpec("small", agent_spec("greedy").make, None, 8)
    others = compare(rules("down_up"), small, small, 24).played.others
    assert len(others) == 96
    assert len({features.tobytes() for features in others}) > 60  # deals of different cards seldom end alike


def test_hand_sizes_less_their_probabilities() -> None:
    kind = rules("big_ships", start_cards=3)
    assert kind.schedule == [3, 2, 1, 2, 3]
    features = size_features(kind, np.array([1, 2, 3]))
    assert features == pytest.approx(np.array([[-0.4, -0.4], [0.6, -0.4], [-0.4, 0.6]]))
    assert size_features(kind, np.array(kind.schedule)).sum(axis=0) == pytest.approx([0, 0])
    assert size_features(rules("noms"), np.array([13, 13])).shape == (2, 0)


def test_the_control_variate_agrees_with_the_raw_figure() -> None:
    found = compare(rules("nonesuch"), agent_spec("greedy"), agent_spec("thumb"), 400)
    assert found.controlled is not None
    raw = found.estimate()
    assert found.controlled.standard_error < 0.97 * raw.standard_error
    assert found.controlled.mean == pytest.approx(raw.mean, abs=2.5 * raw.standard_error)


def test_roles_by_hand() -> None:
    kind = rules("small_ships")
    pool = dealt(kind, np.arange(6), "dev")
    tables = pool.batch.tables
    tables.dealer[:] = [0, 0, 1, 2, 3, 3]
    tables.declarer[:] = [1, 0, 2, -1, 3, 3]
    tables.partner[:] = [3, -1, 0, -1, 1, 1]
    found = {
        grouping: [names[code] for code in codes]
        for grouping, names, codes in roles(kind, tables, np.array([1, 3, 0, 0, 0, 1]))
    }
    assert found["role"] == ["declarer", "defender", "partner", "passed out", "defender", "partner"]
    assert found["caller"] == ["first", "third", "third", "second", "first", "second"]


@pytest.mark.parametrize(("name", "grouping"), [("noms", "role"), ("noms", "deal"), ("up_down", "cards"), ("nonesuch", "call")])
def test_the_groups_of_a_grouping_hold_all_games(name: str, grouping: str) -> None:
    found = compare(rules(name), agent_spec("thumb"), agent_spec("random"), 30)
    for side, line_up, sign in ((0, "alone", 1), (1, "against", -1)):
        groups = found.played.groups[side]
        names = groups.names()[grouping]
        assert sum(groups.games(grouping, group) for group in names) == 30 * 4
        total = sum(groups.sums[grouping, group][1] for group in names)
        assert total == pytest.approx(sign * 4 * found.per_deal(line_up).sum())


def test_the_value_of_a_lost_table_is_the_distance_from_its_best_points_to_its_worst() -> None:
    pool = dealt(rules("down_up"), np.arange(3), "dev")
    pool.batch.tables.points[:, :4] = [5, -2, 1, 0]
    is_a = np.tile([True, False, False, False], (3, 1))
    guards: Any = SimpleNamespace(lost={0: "late"}), SimpleNamespace(lost={1: "late"})
    assert game_values(pool, is_a, guards) == pytest.approx([-7, 7, 5 + 1 / 3])


def test_a_lost_table_counts_as_the_worst_of_its_points() -> None:
    kind = rules("big_ships", start_cards=3)
    block = Pairing(kind, (STUBBORN, agent_spec("greedy")), line_ups(4)).play(0, 6, Event())
    is_lost = dealt(kind, np.arange(6), "dev").batch.tables.dealer == 0
    assert 0 < is_lost.sum() < 4
    assert block.lost[0].tables == 14 * is_lost.sum()
    assert block.lost[1].tables == 0
    assert block.lost[0].why == ["chose action -1, which was not legal"]
    lost = block.values[is_lost]
    assert (lost <= 0).all()
    assert (lost < 0).any()
    fine = compare(kind, FIRST, agent_spec("greedy"), 6).played.values
    assert np.array_equal(block.values[~is_lost], fine[~is_lost])
    assert (lost <= fine[is_lost]).all()
    assert block.groups[0].games("caller", "first") == 6 - is_lost.sum()
    swapped = Pairing(kind, (agent_spec("greedy"), STUBBORN), line_ups(4)).play(0, 6, Event())
    assert (swapped.values[is_lost] >= 0).all()
    both = Pairing(kind, (STUBBORN, STUBBORN), line_ups(4)).play(0, 6, Event())
    assert not both.values[is_lost].any()


def test_who_of_several_others_has_a_seat_follows_from_the_set_the_deal_and_the_seat(watched: Seen) -> None:
    others = drawn_others(range(3000), 4, 3, "test")
    assert others[:3].tolist() == [[1, 2, 3, 2], [2, 3, 1, 2], [3, 1, 3, 3]]
    assert np.allclose([[(others[:, seat] == who).mean() for seat in range(4)] for who in (1, 2, 3)], 1 / 3, atol=0.03)
    assert (drawn_others(range(3000), 4, 3, "dev") != others).any()
    kind = rules("big_ships", start_cards=3)
    Pairing(kind, (FIRST, LOWEST, FIRST, STUBBORN), line_ups(4, ("alone",)), deal_set="test").play(2, 4, Event())
    (_, seating), alone = watched[0], np.eye(4, dtype=np.bool_)
    for deal, seats in enumerate(others[2:6]):
        assert seating[4 * deal : 4 * deal + 4, :4].tolist() == np.where(alone, 0, seats).tolist()


def test_several_others_who_are_alike_are_as_one_and_each_may_lose_its_tables(watched: Seen) -> None:
    kind = rules("big_ships", start_cards=3)
    one, alike = (Pairing(kind, (FIRST, *others), line_ups(4)).play(0, 6, Event()) for others in ([LOWEST], [LOWEST] * 3))
    assert np.array_equal(one.values, alike.values)
    block = Pairing(kind, (FIRST, LOWEST, STUBBORN), line_ups(4)).play(0, 6, Event())
    is_lost = (watched[-1][0].tables.dealer == 0) & (watched[-1][1][:, :4] == 2).any(axis=1)
    assert 0 < is_lost.sum() < (watched[-1][0].tables.dealer == 0).sum()
    assert (block.lost[0].tables, block.lost[1].tables) == (0, is_lost.sum())
    assert (block.values.reshape(-1)[is_lost] >= 0).all()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "player", "options", "deals"),
    [("noms", "random", {}, 10), ("noms", "random", {}, 30), ("big_ships", "pimc:2", {"start_cards": 3}, 10)],
)
def test_a_player_is_no_better_than_itself_in_95_of_100_evaluations(
    name: str, player: str, options: dict[str, Any], deals: int
) -> None:
    """An A/A test of 1,000 evaluations: how often the interval holds 0, which is the truth."""
    one = agent_spec(player)
    found = compare(rules(name, **options), one, one, 1000 * deals, names=("alone",), threads=2).per_deal()
    held = sum(run.low <= 0 <= run.high for run in map(estimate, found.reshape(1000, deals)))
    assert 925 <= held <= 975


def test_what_cannot_be_played_is_refused() -> None:
    kind = rules("noms")
    thumb = agent_spec("thumb")
    with pytest.raises(ValueError, match="the number of deals must be from 2 to 268,435,456, not 1"):
        compare(kind, thumb, thumb, 1)
    trained = AgentSpec("mine", thumb.make, (rules("down_up"), rules("noms", target=60)))
    with pytest.raises(
        ValueError, match=r"mine was trained for down_up with 4 seats, noms with 4 seats, not for nonesuch with 4 seats"
    ):
        compare(rules("nonesuch"), trained, thumb, 2)
    with pytest.raises(ValueError, match=r"not for noms with 4 seats and other options"):
        compare(kind, thumb, trained, 2)
    compare(rules("down_up"), trained, thumb, 2)


def test_stopped_before_there_is_anything_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt  # Ctrl-C comes while the main thread waits for the others

    monkeypatch.setattr("noms_training.thread_pool.wait", interrupted)
    with pytest.raises(NothingPlayedError) as nothing:
        compare(rules("down_up"), agent_spec("random"), agent_spec("random"), 5)
    assert nothing.value.ending == "ctrl-c"
