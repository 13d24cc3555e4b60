"""Each of many tables plays exactly as a single table, for any number of rows, threads and kinds."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

import noms_env
from noms_env import TableGroup, make_batch
from noms_env.table import IllegalActionError, Table
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import TABLE
from tests.begin import begin
from tests.cases import some
from tests.envs.play import EVERY_TABLE, choose_in_rows


def play(batch: noms_env.BatchEnv, steps: int) -> np.ndarray:
    """Play; return what every row saw at every step, as bytes, shape (steps, rows, bytes)."""
    views = []
    for step in range(steps):
        batch.observe()
        views.append(np.concatenate([batch.observation, batch.mask.view(np.uint8)], axis=1))
        batch.step(choose_in_rows(batch.mask, step))
    return np.stack(views)


@pytest.mark.parametrize(("variant", "seats", "options"), EVERY_TABLE)
def test_a_row_plays_as_a_single_table(variant: str, seats: int, options: dict[str, Any]) -> None:
    batch = begin(make_batch(variant, tables=3, seats=seats, seed=5, hidden_state=True, **options))
    tables = [begin(Table(variant, seats, options, seed=5, table=row)) for row in range(3)]
    for step in range(150):
        batch.observe()
        actions = choose_in_rows(batch.mask, step)
        before = batch.over.copy()
        assert batch.hidden_state is not None
        for row, table in enumerate(tables):
            seat = int(table.row.seat)
            assert (batch.seat[row], batch.over[row]) == (seat, table.is_over)
            observation, mask = table.view(seat)
            assert np.array_equal(batch.observation[row], observation)
            assert np.array_equal(batch.mask[row], mask)
            assert np.array_equal(np.concatenate([batch.observation[row], batch.hidden_state[row]]), table.state(seat))
        batch.step(actions)
        for row, table in enumerate(tables):
            points = np.zeros(seats)
            if not before[row]:
                table.step(int(actions[row]))
                assert batch.scored[row] == table.is_scored
                if table.is_scored:
                    points = table.row.points[:seats].copy()
                table.next_deal()
            assert np.allclose(batch.points[row, :seats], points)


@pytest.mark.parametrize("variant", some(["noms", "down_up"], 2))
def test_rows_do_not_depend_on_their_number_or_on_threads(variant: str) -> None:
    few = begin(make_batch(variant, tables=3, seed=1))
    many, one_thread = (begin(make_batch(variant, tables=4100, seed=1, threads=threads)) for threads in (2, 1))
    assert np.array_equal(play(few, 120), play(many, 120)[:, :3])
    assert few.tables.tobytes() == many.tables[:3].tobytes()
    play(one_thread, 120)
    assert one_thread.tables.tobytes() == many.tables.tobytes()


def outputs_of(batch: noms_env.BatchEnv) -> list[np.ndarray]:
    assert batch.hidden_state is not None
    return [batch.observation, batch.mask, batch.hidden_state, batch.seat, batch.over, batch.scored, batch.points]


THREE_GROUPS = [TableGroup("small_ships"), TableGroup("down_up", 6), TableGroup("nonesuch", 3)]


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize(("groups", "tables"), [*((variant, 5) for variant in VARIANTS), (THREE_GROUPS, 2100)], ids=str)
def test_step_with_observe_equals_step_and_observe(groups: Any, tables: int, skip_forced: bool) -> None:
    arguments: dict[str, Any] = {"seed": 3, "episode": "deal", "skip_forced": skip_forced, "hidden_state": True}
    joint, apart = (begin(make_batch(groups, tables, threads=threads, **arguments)) for threads in (2, 1))
    for batch in (joint, apart):
        batch.observe()
    for step in range(80):
        actions = choose_in_rows(joint.mask, step)
        joint.step(actions, observe=True)
        apart.step(actions)
        apart.observe()
        assert data_equivalence(outputs_of(joint), outputs_of(apart), exact=True)
    assert joint.over.any()
    assert joint.tables.tobytes() == apart.tables.tobytes()


def test_observe_writes_the_selected_rows() -> None:
    batch = begin(make_batch("down_up", tables=4, seed=1, hidden_state=True))
    batch.observe([1, 3])
    partly = [array.copy() for array in outputs_of(batch)[:3]]
    batch.observe()
    for few, whole in zip(partly, outputs_of(batch)[:3], strict=True):
        assert np.array_equal(few[[1, 3]], whole[[1, 3]])
        assert whole[[0, 2]].any()
        assert not few[[0, 2]].any()
    with pytest.raises(ValueError, match="rows must be numbers from 0 to 3"):
        batch.observe([4])


def test_a_batch_with_tables_of_several_seeds_shows_their_range() -> None:
    batch, other = (begin(make_batch("down_up", tables=2, seed=seed)) for seed in (3, 7))
    batch.restore([0], other.save([1]))
    batch.restore([], other.save([]))
    assert "seed=3..7" in repr(batch)


def test_a_mixed_batch_plays_each_group_by_its_rules() -> None:
    groups = [TableGroup("noms", None, {"min_bid": 7}), TableGroup("nonesuch", 3, share=2.0), TableGroup("down_up", 5)]
    mixed = begin(make_batch(groups, tables=8, seed=2))
    assert [group.rows for group in mixed.groups] == [slice(0, 2), slice(2, 6), slice(6, 8)]
    assert mixed.points.shape == (8, 5)
    views = play(mixed, 100)
    for (variant, seats, options, _), group in zip(groups, mixed.groups, strict=True):
        alone = begin(make_batch(variant, tables=8, seats=seats, seed=2, **(options or {})))
        assert np.array_equal(play(alone, 100)[:, group.rows], views[:, group.rows])


@pytest.mark.parametrize("variant", VARIANTS)
def test_skipping_forced_moves_changes_nothing_else(variant: str) -> None:
    def play(batch: noms_env.BatchEnv) -> list[tuple[int, bytes, bytes]]:
        views = []
        while not batch.over[0]:
            batch.observe()
            legal = int(batch.mask.sum())
            views.append((legal, batch.observation.tobytes(), batch.mask.tobytes()))
            batch.step(choose_in_rows(batch.mask, legal))
        return views

    skipping, plain = (begin(make_batch(variant, tables=1, seed=4, skip_forced=skip, episode="deal")) for skip in (True, False))
    views, all_views = play(skipping), play(plain)
    assert views == [view for decision, view in enumerate(all_views) if decision == 0 or view[0] > 1]
    assert np.array_equal(skipping.points, plain.points)
    assert skipping.tables.tobytes() == plain.tables.tobytes()


def test_restored_and_cloned_rows_play_alike() -> None:
    batch = begin(make_batch("small_ships", tables=6, seed=9))
    play(batch, 20)
    records = batch.save([1, 4])
    play(batch, 30)
    batch.restore([1, 4], records)
    assert batch.tables[[1, 4]].tobytes() == records.tobytes()
    batch.clone(1, [0, 2, 3])
    for row in (0, 2, 3):
        assert batch.tables[row].tobytes() == batch.tables[1].tobytes()
    batch.restore(None, records[:1])
    views = play(batch, 30)
    assert (views == views[:, :1]).all()


@pytest.mark.parametrize("make_copy", [copy.deepcopy, copy.copy, pickle.dumps])
def test_a_batch_cannot_be_copied_but_its_tables_can(make_copy: Callable[[noms_env.BatchEnv], object]) -> None:
    batch, other = (make_batch("noms", tables=6, seed=seed) for seed in (4, 5))
    play(begin(batch), 20)
    with pytest.raises(TypeError, match=r"make another, and copy the tables with other\.restore\(None, batch\.save\(\)\)"):
        make_copy(batch)
    other.restore(None, batch.save())
    assert np.array_equal(play(other, 30), play(batch, 30))


def test_reset_takes_numbers_of_tables_matches_seeds_and_dealers() -> None:
    batch = begin(make_batch("big_ships", tables=4, seed=0), table=7, match=3, dealer=np.array([0, 1, 2, 3]))
    hands = batch.tables.hands[:, :4]
    for row in range(4):
        assert np.array_equal(np.roll(hands[row], -row), hands[0])
    batch.reset([True, False, False, False], seed=1)
    assert batch.tables.match.tolist() == [0, 3, 3, 3], "a seed begins with its first match"
    assert batch.tables.seed.tolist() == [1, 0, 0, 0]
    batch.reset()
    assert batch.tables.match.tolist() == [1, 4, 4, 4]
    last = last_match()
    last.reset(seed=3)
    assert last.tables.match.tolist() == [0]


def test_a_restored_deal_that_is_scored_waits_or_is_followed() -> None:
    batch = begin(make_batch("down_up", tables=4, seed=2, seats=3, pause_after_deal=True))
    root = batch.save()
    first = play(batch, 40)
    assert batch.scored.all()
    ends, points = batch.save(), batch.points.copy()
    batch.restore(None, root)
    assert not batch.scored.any()
    assert not batch.points.any()
    assert np.array_equal(play(batch, 40), first)
    assert np.array_equal(batch.points, points)
    batch.next_deal()
    batch.restore([2, 3], ends[2:])
    batch.clone(2, [0])
    assert batch.scored.tolist() == [True, False, True, True]
    assert np.array_equal(batch.points, [points[2], np.zeros(3), points[2], points[3]])
    batch.next_deal()
    assert (batch.tables.deal == 1).all()
    other = make_batch("down_up", tables=4, seed=2, seats=3)
    other.restore(None, ends)
    assert not other.scored.any()
    assert (other.tables.deal == 1).all(), "without a pause the next hand is dealt"
    other.observe()
    assert other.mask.any(axis=1).all()
    other.step(other.mask.argmax(axis=1))


def test_an_illegal_action_in_one_row_stops_the_whole_step() -> None:
    batch = begin(make_batch("down_up", tables=4, seed=0))
    batch.observe()
    actions = choose_in_rows(batch.mask, 0)
    actions[3] = 0
    before = batch.tables.tobytes()
    with pytest.raises(IllegalActionError, match="table 3: "):
        batch.step(actions)
    assert batch.tables.tobytes() == before


def test_rows_before_their_first_reset_ignore_actions() -> None:
    batch = begin(make_batch("down_up", tables=2), [0])
    batch.observe()
    batch.step(np.array([batch.mask[0].argmax(), 149]))
    assert batch.over.tolist() == [False, True]
    assert batch.why_illegal(1, 149) == "nothing has been dealt yet: start a match first"
    for sample in (batch.table(1).determinize, lambda rng: batch.table(1).sample_hidden(0, rng)):
        with pytest.raises(ValueError, match=r"has not begun|nothing has been dealt yet"):
            sample(np.random.default_rng(0))


TWO_GROUPS = [TableGroup("noms"), TableGroup("big_ships", 6)]


def last_match() -> noms_env.BatchEnv:
    return begin(make_batch("noms", tables=1), match=2**32 - 1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_batch([TableGroup("noms", share=0.0)], tables=2), "share above 0"),
        (lambda: make_batch([TableGroup("noms")] * 3, tables=2), "too few for 3 groups"),
        (lambda: make_batch([TableGroup("noms")], tables=2, seats=4), "each TableGroup has its own seats"),
        (
            lambda: begin(make_batch(TWO_GROUPS, tables=4)).clone(0, [1, 3]),
            "row 3 has other rules than row 0: 2 tables of big_",
        ),
        (lambda: last_match().reset([0]), "there is no match after number 4294967295"),
    ],
)
def test_what_a_batch_cannot_do_is_refused(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_record_has_no_padding() -> None:
    fields = TABLE.fields
    assert fields is not None
    assert TABLE.itemsize == sum(dtype.itemsize for dtype, *_ in fields.values()) <= 1088


def test_random_actions_take_each_legal_action_equally_often() -> None:
    rows = np.arange(512)
    batch = begin(make_batch("small_ships", tables=len(rows), seed=3, episode="deal", indication=True))
    streams, actions = np.random.default_rng(0).integers(1, 2**32, len(rows)), np.zeros(len(rows), np.int64)
    decisions: list[np.ndarray] = []
    while not batch.over.all():
        batch.observe()
        batch.random_actions(streams, actions)
        active = rows[~batch.over]
        assert batch.mask[active, actions[active]].all()
        place = batch.mask.cumsum(axis=1)[active, actions[active]]
        cards_and_words = batch.mask[active, :52].any(axis=1) & batch.mask[active, 52:].any(axis=1)
        decisions.append(np.stack([place, batch.mask[active].sum(axis=1), cards_and_words]).astype(float))
        batch.step(actions)
    place, legal, mixed = np.concatenate(decisions, axis=1)
    for chosen in (legal > 0, mixed > 0):
        expected, variance = (legal + 1) / 2, (legal**2 - 1) / 12
        assert chosen.sum() > 100
        assert abs((place - expected)[chosen].sum()) < 4 * variance[chosen].sum() ** 0.5


def test_random_actions_are_drawn_by_xorshift32() -> None:
    batch = begin(make_batch("down_up", tables=2, seed=1))
    streams, actions = np.array([1, 2463534242]), np.zeros(2, np.int64)
    batch.random_actions(streams, actions)
    assert streams.tolist() == [270369, 723471715]  # Marsaglia, "Xorshift RNGs" (2003), shifts 13, 17, 5
