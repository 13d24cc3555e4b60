"""Two players on duplicate deals: seatings, values, roles, threads, and lost tables."""

from collections.abc import Iterator
from dataclasses import replace
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
from noms_training.evaluation.comparison import compare, size_features
from noms_training.evaluation.duplicate import FIRST_OTHER, Pairing, deal_seed, dealt, drawn_others, game_values, line_ups
from noms_training.evaluation.statistics import estimate
from tests.training.fakes import FIRST, LOWEST, STUBBORN, rules

THUMB, GREEDY, RANDOM = map(agent_spec, ("thumb", "greedy", "random"))
Pools = list[tuple[TablePool, np.ndarray]]


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> Pools:
    """The table pools after play, each with its seating."""
    pools: Pools = []

    def play_and_note(pool: TablePool, players: Any, seating: np.ndarray) -> Iterator[np.ndarray]:
        yield from play_deal_by_deal(pool, players, seating)
        pools.append((pool, seating))

    monkeypatch.setattr(module, "play_deal_by_deal", play_and_note)
    return pools


@pytest.mark.parametrize("seats", range(3, 8))
def test_each_player_has_each_seat_equally_often(seats: int) -> None:
    seatings = {line_up.name: line_up.seatings for line_up in line_ups(seats)}
    assert list(seatings) == (["alone", "against"] if seats < 4 else ["alone", "against", "mixed"])
    assert (seatings["alone"].sum(axis=1) == 1).all()
    assert (seatings["against"].sum(axis=1) == seats - 1).all()
    for name in seatings:
        assert len(set(seatings[name].sum(axis=0))) == 1, name
        assert len({row.tobytes() for row in seatings[name]}) == len(seatings[name])
    if "mixed" in seatings:
        mixed = seatings["mixed"]
        assert set(mixed.sum(axis=1)) == {seats // 2, seats - seats // 2}
        assert {row.tobytes() for row in ~mixed} == {row.tobytes() for row in mixed}  # symmetric in A and B
    assert "mixed" not in {line_up.name for line_up in line_ups(seats, names=("alone", "against"))}


def test_unknown_line_ups_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no line-up 'both'; they are alone, against, mixed"):
        line_ups(4, ["both"])
    with pytest.raises(ValueError, match="with 3 seats there are only the line-ups alone and against"):
        line_ups(3, ["mixed"])


@pytest.mark.parametrize(("name", "seats"), [("down_up", 3), ("noms", 4), ("sniped_whist", 5)])
def test_all_seatings_of_a_deal_have_its_cards(name: str, seats: int, pools: Pools) -> None:
    compare(rules(name, seats), GREEDY, FIRST, 5)
    pool, seating = pools[0]
    tables = pool.batch.tables
    seatings = np.concatenate([line_up.seatings for line_up in line_ups(seats)])
    assert np.array_equal(seating[:, :seats] == 0, np.tile(seatings, (5, 1)))
    assert np.array_equal(tables.table, np.arange(len(pool)) // len(seatings))
    dealt_cards = [(t.hands | t.played).tobytes() + t.dealer.tobytes() + t.deal_size.tobytes() for t in tables]
    numbers = {(int(t.table), int(t.deal)) for t in tables}  # after a pass-out, the seatings may end at different deals
    assert len({table for table, _ in numbers}) == 5
    assert len(set(dealt_cards)) == len(numbers)
    assert len({(cards, int(t.table)) for cards, t in zip(dealt_cards, tables, strict=True)}) == len(numbers)


def test_a_deal_is_an_episode_of_the_environment(pools: Pools) -> None:
    """After a pass-out it continues until a deal is scored; cut and cards do not depend on the seating."""
    comparison = compare(rules("noms"), THUMB, GREEDY, 12, names=("alone",))
    tables = pools[0][0].batch.tables
    assert (tables.deal > 0).sum() > 12
    assert not tables.passed_out.any()
    assert (comparison.played.first.reshape(-1)[tables.deal > 0] == 0).all()
    assert (comparison.played.first.reshape(-1) == comparison.played.values.reshape(-1))[tables.deal == 0].all()
    player, hero = load_player("thumb"), load_player("greedy")
    for row, t in enumerate(tables):
        table = Table("noms", seed=deal_seed("dev"), table=row // 4, episode="deal")
        table.start(match=0)
        while not table.row.over:
            while not table.is_scored:
                actor = player if table.row.seat == row % 4 else hero
                table.step(ask(actor, table, np.random.default_rng(0)))
            table.next_deal()
        assert (table.row.points == t.points).all()


@pytest.mark.parametrize("name", ["noms", "nonesuch", "sniped_whist"])
def test_a_player_is_no_better_than_itself(name: str) -> None:
    comparison = compare(rules(name), THUMB, THUMB, 20)
    assert comparison.played.values.any()
    for line_up in ("alone", "against", "mixed", None):
        assert np.abs(comparison.per_deal(line_up)).max() < 1e-12
    assert comparison.variance_ratio < 1e-20
    assert (comparison.estimate().p_value, comparison.needed(0.1)) == (1.0, 2)


def test_values_by_hand(pools: Pools) -> None:
    kind = rules("sniped_whist", 3, scoring="tricks")
    players = (GREEDY, RANDOM)
    block = Pairing(kind, players, line_ups(3)).play(0, 4, Event())
    pool, seating = pools[0]
    points = pool.batch.tables.points[:, :3]
    for row, is_a in enumerate(seating[:, :3] == 0):
        expected = points[row, is_a].mean() - points[row, ~is_a].mean()
        assert block.values[row // 6, row % 6] == pytest.approx(expected)


def test_a_block_has_the_deals_of_the_slower_player() -> None:
    slow = agent_spec("pimc:20")
    assert slow.block < THUMB.block
    for players in ((slow, THUMB), (THUMB, slow)):
        assert Pairing(rules("nonesuch"), players, line_ups(4)).block == slow.block


def test_swapped_players_swap_the_results() -> None:
    kind = rules("up_down")
    first = compare(kind, THUMB, GREEDY, 40)
    second = compare(kind, GREEDY, THUMB, 40)
    assert first.per_deal("alone") == pytest.approx(-second.per_deal("against"))
    assert first.per_deal() == pytest.approx(-second.per_deal())
    assert first.played.probes[0] == second.played.probes[1]
    assert first.played.groups[0].sums.keys() == second.played.groups[1].sums.keys()
    means = [first.per_deal(line_up) for line_up in ("alone", "against", "mixed")]
    assert first.per_deal() == pytest.approx(sum(means) / 3)


def test_the_variance_is_less_than_that_of_independent_deals() -> None:
    comparison = compare(rules("sniped_whist", scoring="tricks"), THUMB, GREEDY, 100)
    assert 0 < comparison.variance_ratio < 0.2
    assert comparison.game_ratio == pytest.approx(14 * comparison.variance_ratio)
    assert comparison.detectable == pytest.approx(2.8 * comparison.estimate().standard_error)
    assert comparison.needed(comparison.detectable) == pytest.approx(100, abs=1)


def test_the_variance_ratio_by_hand() -> None:
    comparison = compare(rules("sniped_whist", 3), GREEDY, RANDOM, 2)
    values = np.array([[1.0, 2, 3, 0, 0, 0], [1, 2, 3, 2, 2, 2]])
    comparison = replace(comparison, played=replace(comparison.played, values=values))
    assert list(comparison.per_deal()) == [1.0, 2.0]
    assert comparison.variance_ratio == pytest.approx(0.25 / (40 / 12 - 1.5**2))


def test_results_do_not_depend_on_threads() -> None:
    random = AgentSpec("random", RANDOM.make, None, 16)
    one, three = (compare(rules("noms"), random, GREEDY, 70, seed=3, threads=threads) for threads in (1, 3))
    assert np.array_equal(one.played.values, three.played.values)
    assert np.array_equal(one.played.features, three.played.features)
    assert (one.estimate(), one.controlled, one.played.probes) == (three.estimate(), three.controlled, three.played.probes)
    assert not np.array_equal(one.played.values, compare(rules("noms"), random, GREEDY, 70, seed=4).played.values)


def test_fewer_deals_are_the_first_of_more() -> None:
    few, many = (compare(rules("big_ships"), THUMB, GREEDY, deals) for deals in (10, BLOCK + 3))
    assert np.array_equal(few.played.values, many.played.values[:10])
    assert len(many.played.values) == BLOCK + 3
    test = compare(rules("big_ships"), THUMB, GREEDY, 10, deal_set="test")
    assert not np.array_equal(few.played.values, test.played.values)


def test_the_control_variate_has_the_points_of_thumb_on_the_same_cards() -> None:
    kind = rules("down_up")
    comparison = compare(kind, RANDOM, GREEDY, 6)
    pool = dealt(kind, np.arange(6), "dev")
    play(pool, [AtTables(agent_spec("thumb:1").make(), np.random.default_rng(0))], np.zeros((6, 7), np.int64))
    points = pool.batch.tables.points[:, :4]
    assert comparison.played.features == pytest.approx(np.stack([points.sum(axis=1), points.std(axis=1)], axis=1))
    assert comparison.played.others.shape == (24, 2)
    other = dealt(kind, FIRST_OTHER + np.arange(24), "dev")
    play(other, [AtTables(agent_spec("thumb:1").make(), np.random.default_rng(0))], np.zeros((24, 7), np.int64))
    assert comparison.played.others[:, 0] == pytest.approx(other.batch.tables.points[:, :4].sum(axis=1))


def test_no_two_blocks_share_the_deals_of_the_control_variate() -> None:
    small = AgentSpec("small", GREEDY.make, None, 8)
    others = compare(rules("down_up"), small, small, 24).played.others
    assert len(others) == 96
    assert len({features.tobytes() for features in others}) > 60  # deals of different cards seldom end alike


def test_size_features_have_mean_0() -> None:
    kind = rules("big_ships", start_cards=3)
    assert kind.schedule == [3, 2, 1, 2, 3]
    features = size_features(kind, np.array([1, 2, 3]))
    assert features == pytest.approx(np.array([[-0.4, -0.4], [0.6, -0.4], [-0.4, 0.6]]))
    assert size_features(kind, np.array(kind.schedule)).sum(axis=0) == pytest.approx([0, 0])
    assert size_features(rules("noms"), np.array([13, 13])).shape == (2, 0)


def test_the_control_variate_agrees_with_the_raw_figure() -> None:
    comparison = compare(rules("nonesuch"), GREEDY, THUMB, 400)
    assert comparison.controlled is not None
    raw = comparison.estimate()
    assert comparison.controlled.standard_error < 0.97 * raw.standard_error
    assert comparison.controlled.mean == pytest.approx(raw.mean, abs=2.5 * raw.standard_error)


def test_roles_by_hand() -> None:
    kind = rules("small_ships")
    pool = dealt(kind, np.arange(6), "dev")
    tables = pool.batch.tables
    tables.dealer[:] = [0, 0, 1, 2, 3, 3]
    tables.declarer[:] = [1, 0, 2, -1, 3, 3]
    tables.partner[:] = [3, -1, 0, -1, 1, 1]
    groupings = roles(kind, tables, np.array([1, 3, 0, 0, 0, 1]))
    labels = {grouping: [names[code] for code in codes] for grouping, names, codes in groupings}
    assert labels["role"] == ["declarer", "defender", "partner", "passed out", "defender", "partner"]
    assert labels["caller"] == ["first", "third", "third", "second", "first", "second"]


@pytest.mark.parametrize(("name", "grouping"), [("noms", "role"), ("noms", "deal"), ("up_down", "cards"), ("nonesuch", "call")])
def test_the_groups_of_a_grouping_hold_all_games(name: str, grouping: str) -> None:
    comparison = compare(rules(name), THUMB, RANDOM, 30)
    for side, line_up, sign in ((0, "alone", 1), (1, "against", -1)):
        groups = comparison.played.groups[side]
        names = groups.names()[grouping]
        assert sum(groups.games(grouping, group) for group in names) == 30 * 4
        total = sum(groups.sums[grouping, group][1] for group in names)
        assert total == pytest.approx(sign * 4 * comparison.per_deal(line_up).sum())


def test_a_lost_table_is_worth_the_distance_from_best_to_worst_points() -> None:
    pool = dealt(rules("down_up"), np.arange(3), "dev")
    pool.batch.tables.points[:, :4] = [5, -2, 1, 0]
    is_a = np.tile([True, False, False, False], (3, 1))
    guards: Any = SimpleNamespace(lost={0: "late"}), SimpleNamespace(lost={1: "late"})
    assert game_values(pool, is_a, guards) == pytest.approx([-7, 7, 5 + 1 / 3])


def test_a_lost_table_counts_as_the_worst_of_its_points() -> None:
    kind = rules("big_ships", start_cards=3)
    block = Pairing(kind, (STUBBORN, GREEDY), line_ups(4)).play(0, 6, Event())
    is_lost = dealt(kind, np.arange(6), "dev").batch.tables.dealer == 0
    assert 0 < is_lost.sum() < 4
    assert block.lost[0].tables == 14 * is_lost.sum()
    assert block.lost[1].tables == 0
    assert block.lost[0].why == ["chose action -1, which was not legal"]
    lost = block.values[is_lost]
    assert (lost <= 0).all()
    assert (lost < 0).any()
    legal = compare(kind, FIRST, GREEDY, 6).played.values
    assert np.array_equal(block.values[~is_lost], legal[~is_lost])
    assert (lost <= legal[is_lost]).all()
    assert block.groups[0].games("caller", "first") == 6 - is_lost.sum()
    swapped = Pairing(kind, (GREEDY, STUBBORN), line_ups(4)).play(0, 6, Event())
    assert (swapped.values[is_lost] >= 0).all()
    both = Pairing(kind, (STUBBORN, STUBBORN), line_ups(4)).play(0, 6, Event())
    assert not both.values[is_lost].any()


def test_the_set_deal_and_seat_choose_among_several_opponents(pools: Pools) -> None:
    opponents = drawn_others(range(3000), 4, 3, "test")
    assert opponents[:3].tolist() == [[1, 2, 3, 2], [2, 3, 1, 2], [3, 1, 3, 3]]
    assert np.allclose([[(opponents[:, seat] == number).mean() for seat in range(4)] for number in (1, 2, 3)], 1 / 3, atol=0.03)
    assert (drawn_others(range(3000), 4, 3, "dev") != opponents).any()
    kind = rules("big_ships", start_cards=3)
    Pairing(kind, (FIRST, LOWEST, FIRST, STUBBORN), line_ups(4, ("alone",)), deal_set="test").play(2, 4, Event())
    (_, seating), alone = pools[0], np.eye(4, dtype=np.bool_)
    for deal, seats in enumerate(opponents[2:6]):
        assert seating[4 * deal : 4 * deal + 4, :4].tolist() == np.where(alone, 0, seats).tolist()


def test_equal_opponents_count_as_one_and_each_may_lose_tables(pools: Pools) -> None:
    kind = rules("big_ships", start_cards=3)
    single, triple = (Pairing(kind, (FIRST, *[LOWEST] * count), line_ups(4)).play(0, 6, Event()) for count in (1, 3))
    assert np.array_equal(single.values, triple.values)
    block = Pairing(kind, (FIRST, LOWEST, STUBBORN), line_ups(4)).play(0, 6, Event())
    is_lost = (pools[-1][0].tables.dealer == 0) & (pools[-1][1][:, :4] == 2).any(axis=1)
    assert 0 < is_lost.sum() < (pools[-1][0].tables.dealer == 0).sum()
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
    spec = agent_spec(player)
    values = compare(rules(name, **options), spec, spec, 1000 * deals, names=("alone",), threads=2).per_deal()
    hits = sum(interval.low <= 0 <= interval.high for interval in map(estimate, values.reshape(1000, deals)))
    assert 925 <= hits <= 975


def test_too_few_deals_and_unknown_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="the number of deals must be from 2 to 268,435,456, not 1"):
        compare(rules("noms"), THUMB, THUMB, 1)
    trained = AgentSpec("mine", THUMB.make, (rules("down_up"), rules("noms", target=60)))
    with pytest.raises(ValueError, match=r"for down_up with 4 seats, noms with 4 seats, not for nonesuch with 4 seats"):
        compare(rules("nonesuch"), trained, THUMB, 2)
    with pytest.raises(ValueError, match=r"not for noms with 4 seats and other options"):
        compare(rules("noms"), THUMB, trained, 2)
    compare(rules("down_up"), trained, THUMB, 2)


def test_ctrl_c_before_two_deals_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("noms_training.thread_pool.wait", interrupt)
    with pytest.raises(NothingPlayedError) as nothing:
        compare(rules("down_up"), RANDOM, RANDOM, 5)
    assert nothing.value.ending == "ctrl-c"
