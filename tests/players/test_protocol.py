"""Players by name, and the protocol of `act`: rows, one row, tables, seeds."""

import pickle
import sys
from typing import Any, ClassVar
from unittest.mock import Mock

import numpy as np
import pytest

from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import NUM_ACTIONS, SCORED
from noms_env.engine.row_kernels import kernel_view
from noms_env.envs.batch import make_batch
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.players import (
    NOBODY,
    PLAYERS,
    Entry,
    as_batch,
    ask,
    draw_seeds,
    load_player,
    load_players,
    unit_draws,
)
from noms_env.players.protocol import check_player, decision_seed
from noms_env.players.registry import POLICY
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.begin import begin
from tests.players.positions import some_rows

OBSERVATIONS = np.zeros((3, OBSERVATION_SIZE), np.uint8)
LEGAL = np.zeros((3, NUM_ACTIONS), np.int8)
LEGAL[0, [3, 60, 149]] = LEGAL[1, 0] = 1


class Lowest:
    """Takes the lowest legal action, and logs its arguments."""

    wants_tables: ClassVar[bool] = True

    def __init__(self, start: int = 0, step: int = 1) -> None:
        self.numbers = (start, step)

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> np.ndarray:
        assert tables is not None
        self.received = (observation.shape, mask.shape, tables.shape, int(tables[0].seat))
        actions: np.ndarray = np.argmax(mask, axis=1)
        return actions


def some_tables(n: int = 3) -> np.recarray:
    """Return tables of small ships in the middle of a deal."""
    return some_rows([Table("small_ships").rules], n, 30)[2]


def test_every_name_makes_a_player() -> None:
    for name, entry in PLAYERS.items():
        if "file" in entry.parameters:
            with pytest.raises(ValueError, match=f"{name} .* {name}:FILE"):
                load_player(name)
        else:
            assert load_player(f"{name}:noms" if POLICY in entry.parameters else name).wants_tables in (True, False)


def test_a_name_carries_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "noms_env.players.lowest", module)
    monkeypatch.setitem(PLAYERS, "lowest", Entry("noms_env.players.lowest:Lowest", "", "", {"start": int, "step": int}))
    players: list[Any] = [load_player(name) for name in ("lowest", "lowest:7", "lowest:7,3")]
    assert [player.numbers for player in players] == [(0, 1), (7, 1), (7, 3)]
    for parameters, sentence in (("x", "start .* lowest .* whole number, not 'x'"), ("1,2,3", "2 parameters .*START,STEP")):
        with pytest.raises(ValueError, match=sentence):
            load_player(f"lowest:{parameters}")


def test_a_policy_is_a_player_with_a_temperature() -> None:
    table, rng = begin(Table("noms", seed=1)), np.random.default_rng(0)
    view = table.view(int(table.row.seat))
    for name, temperature in (("noms", 1.0), ("noms@0", 0.0), ("noms@0.5", 0.5)):
        policy: Any = load_player(name)
        assert policy.temperature == temperature
        assert ask(policy, table, rng) in table.legal_actions()
        assert (np.count_nonzero(policy.probabilities(*view)) == 1) == (temperature == 0)
    with pytest.raises(ValueError, match=r"temperature .* from 0 .*, not '-1'"):
        load_player("noms@-1")


def test_players_of_several_seats() -> None:
    rules = Table("noms").rules
    first, second, third = load_players(["thumb", "noms", "thumb"], 3, rules)
    assert first is third
    assert second is not first
    assert load_players(second, 2, rules) == [second, second]
    with pytest.raises(ValueError, match=r"players must be .* 3 of them, .*not 2"):
        load_players(["thumb", "noms"], 3, rules)
    with pytest.raises(ValueError, match="noms with 4 seats, not for small_ships with 4 seats"):
        load_players("noms", 3, Table("small_ships").rules)
    with pytest.raises(ValueError, match="int lacks act"):
        load_players([5], 1, rules)  # type: ignore[list-item]


def test_an_unknown_name_is_refused_with_the_most_similar_one() -> None:
    refused = {"chess": "random", "": "random", "x" * 5000: "xxx...", "random:5": "0 parameters"}
    similar = {"thum": "thumb", "pimk:20": "pimc", "bigships": "big_ships", "nomms@0": "noms"}
    for name, sentence in (refused | {wrong: f"did you mean {right}" for wrong, right in similar.items()}).items():
        with pytest.raises(ValueError, match=sentence) as refusal:
            load_player(name)
        assert len(str(refusal.value)) < 1000


def test_the_answer_to_one_row_is_an_integer() -> None:
    tables, rng = some_tables(), np.random.default_rng(0)
    player: Any = Lowest()
    tables.seat = [2, 0, 1]
    assert player.act(OBSERVATIONS, LEGAL, rng, tables=tables).tolist() == [3, 0, 0]
    assert player.received == ((3, OBSERVATION_SIZE), (3, NUM_ACTIONS), (3,), 2)
    for table in (tables[:1], tables[0]):
        action = player.act(OBSERVATIONS[0], LEGAL[0], rng, tables=table)
        assert type(action) is int
        assert action == 3
        assert player.received == ((1, OBSERVATION_SIZE), (1, NUM_ACTIONS), (1,), 2)


@pytest.mark.parametrize(
    ("observations", "tables", "sentence"),
    [(OBSERVATIONS, 0, "determinize"), (OBSERVATIONS[:2], 3, "not 2, 3 and 3"), (OBSERVATIONS, 2, "not 3, 3 and 2")],
)
def test_missing_tables_and_different_numbers_of_rows_are_refused(observations: np.ndarray, tables: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Lowest().act(observations, LEGAL, np.random.default_rng(0), tables=some_tables(tables) if tables else None)


def test_each_row_takes_one_number_of_the_stream() -> None:
    rng, twin = np.random.default_rng(4), np.random.default_rng(4)
    assert draw_seeds(rng, 3).tolist() == [int(twin.integers(2**63)) for _ in range(3)]
    load_player("random").act(OBSERVATIONS, LEGAL, rng)
    assert rng.integers(2**63) == twin.integers(2**63, size=4)[3]


def test_a_draw_from_a_seed_is_that_of_the_generator() -> None:
    rng, twin = np.random.default_rng(5), np.random.default_rng(5)
    assert unit_draws(draw_seeds(rng, 9)).tolist() == twin.random(9).tolist()


@pytest.mark.parametrize("seeds", [[1, 2], [0.5, 1.0, 2.0], [1, -1, 2], 5, None])
def test_other_seeds_are_refused(seeds: Any) -> None:
    with pytest.raises(ValueError, match="generator or 3 integers"):
        load_player("random").act(OBSERVATIONS, LEGAL, seeds)


class Older:
    wants_tables: ClassVar[bool] = False

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: Any = None) -> Any:
        return [int(rng.choice(legal.nonzero()[0])) if legal.any() else NOBODY for legal in mask]


def test_a_player_of_the_older_form_gets_a_generator_from_the_seeds() -> None:
    older: Any = Older()
    player = load_players([older], 1, Table("noms").rules)[0]
    seeds = np.array([7, 8, 9])
    assert player.act(OBSERVATIONS, LEGAL, seeds) == older.act(OBSERVATIONS, LEGAL, np.random.default_rng(seeds))


def test_a_player_of_the_older_form_is_pickled_and_closed() -> None:
    twin: Any = pickle.loads(pickle.dumps(check_player(Older())))
    twin.close()
    twin.player.close = Mock()
    twin.close()
    twin.player.close.assert_called_once_with()


@pytest.mark.uncompiled
def test_random_is_uniform_and_legal() -> None:
    rows, rng = 3000, np.random.default_rng(1)
    mask = np.zeros((rows, NUM_ACTIONS), np.int8)
    mask[:, [0, 52, 149]] = 1
    actions, counts = np.unique(load_player("random").act(np.zeros((rows, 1), np.uint8), mask, rng), return_counts=True)
    assert actions.tolist() == [0, 52, 149]
    assert (np.abs(counts - 1000) < 4 * np.sqrt(rows * 2 / 9)).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sampled_table_is_the_redeal_of_the_seat_to_act(variant: str) -> None:
    batch = begin(make_batch(variant, 12, seed=3))
    streams, actions = np.arange(1, 13) * 77, np.zeros(12, np.int64)
    model = Table(variant)
    for moment in range(24):
        rows = [11, 0, moment % 12]
        before = batch.tables.tobytes()
        copies = sampled_tables(batch.tables, np.array(rows), np.random.default_rng(moment))
        assert batch.tables.tobytes() == before, "the tables are left alone"
        rng = np.random.default_rng(moment)
        for row, copy in zip(rows, copies, strict=True):
            model.set_row(batch.tables[row])
            assert copy.tobytes() == model.sample_hidden(int(model.row.seat), rng).get_state()
        batch.random_actions(streams, actions)
        batch.step(actions)
        if batch.over.any():
            break


def test_all_rows_or_chosen_rows_are_sampled() -> None:
    tables, rng = some_tables(), np.random.default_rng(2)
    orders = tables.order.tolist()
    for rows, expected in (
        (None, orders),
        (np.array([False, True, True]), orders[1:]),
        (-1, orders[2:]),
        (slice(0, 2), orders[:2]),
    ):
        assert sampled_tables(tables, rows, rng).order.tolist() == expected


def test_unknown_rows_other_seeds_and_deals_that_are_over_are_refused() -> None:
    tables, rng = some_tables(), np.random.default_rng(0)
    tables.phase[1] = SCORED
    refused: list[tuple[Any, Any, str]] = [
        (np.array([3]), rng, "rows .* 0 to 2, or 3 booleans"),
        ([0, 2], 5, "generator or 2 integers .* not 5"),
        (None, rng, "row 1 of 3 is over"),
    ]
    for rows, seeds, sentence in refused:
        with pytest.raises(ValueError, match=sentence):
            sampled_tables(tables, rows, seeds)
    assert len(sampled_tables(tables, [0, 2], rng)) == 2


def test_a_decision_seed_depends_on_all_of_the_decision_and_on_nothing_else() -> None:
    tables = some_tables(1)
    changes: list[tuple[str, int]] = [("seed", 6), ("table", 7), ("match", 8), ("deal", 9)]
    seatings = [np.array(seating) for seating in ([0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 2])]

    def decision_seeds() -> list[int]:
        row = kernel_view(tables)[0]
        numbers = [decision_seed(row, seatings[0], decision, seed) for decision in range(40) for seed in (0, 1, 2**63 - 1)]
        return numbers + [decision_seed(row, seating, 3, 0) for seating in seatings[1:]]

    seeds = decision_seeds()
    assert decision_seeds() == seeds
    for name, value in changes:
        tables[name][0] = value
        seeds += decision_seeds()
    assert len(set(seeds)) == len(seeds) == 5 * 123
    assert 0 <= min(seeds) < 2**56
    assert 2**63 - 2**56 < max(seeds) < 2**63
    assert abs(np.mean(seeds) / 2**63 - 0.5) < 4 / np.sqrt(12 * len(seeds))
