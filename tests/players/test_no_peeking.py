"""Built-in players at thousands of decisions: legal, blind to hidden cards, the same alone and in a batch."""

import hashlib
import json

import numpy as np
import pytest

from noms_env.belief.determinize import sampled_tables
from noms_env.engine.row_kernels import kernel_view
from noms_env.envs.batch import TableGroup, make_batch
from noms_env.players import NOBODY, Player, load_player
from noms_env.players.greedy import greedy_rows
from noms_env.players.registry import FIRST, NEWEST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_rows
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.begin import begin
from tests.players.positions import answer, decisions, tables_of
from tests.uncompiled import printed_uncompiled

NAMES = ("random", "greedy", "thumb")


def check_legal(player: Player, tables: list[Table]) -> None:
    rows = np.concatenate([np.atleast_1d(table._rows) for table in tables]).view(np.recarray)
    views = [table.view(int(table.row.seat)) for table in tables]
    observation, mask = (np.array([view[part] for view in views]) for part in (0, 1))
    rng = np.random.default_rng(0)
    worlds = sampled_tables(rows, None, rng)
    before = worlds.tobytes()
    actions = player.act(observation, mask, rng, tables=worlds)
    assert worlds.tobytes() == before, "the tables are left alone"
    for row in np.flatnonzero(mask[np.arange(len(actions)), actions] == 0):
        table = tables[row]
        pytest.fail(f"{table.rules.variant.name} {table.rules.options}, {table.phase}: {table.word(int(actions[row]))}")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal_and_the_tables_are_left_alone(name: str, variant: str) -> None:
    player, phases = load_player(name), set()
    for seed, (seats, options) in enumerate(tables_of(variant, 6)):
        for others in (None, player):
            tables = [table.copy() for table in decisions(variant, seats, options, seed, others)]
            check_legal(player, tables)
            phases |= {table.phase for table in tables}
    phases_of = {
        "sniped_whist": {"trump", "play"},
        "small_ships": {"call", "trump", "nominate", "play"},
        "noms": {"call", "trump", "nominate", "play"},
        "nonesuch": {"call", "trump", "play", "suit"},
    }
    assert phases == phases_of.get(variant, {"call", "play"}), "decisions of every kind"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["greedy", "thumb:1", "thumb"])
def test_hidden_cards_have_no_influence(name: str, variant: str) -> None:
    """The player must not tell the true table from two redeals."""
    compared, different = 0, 0
    for seed, (seats, options) in enumerate(tables_of(variant, 6, seed=1)):
        tables = [table.copy() for table in decisions(variant, seats, options, seed)]
        true = np.concatenate([table._rows for table in tables]).view(np.recarray)
        answers = []
        for world in range(3):
            tables_now = true.copy() if world == 0 else sampled_tables(true, None, np.random.default_rng(world))
            different += int((tables_now.hands != true.hands).any(axis=1).sum())
            actions = np.empty(len(true), np.int64)
            if name == "greedy":
                greedy_rows(kernel_view(tables_now), actions)
            else:
                thumb_rows(kernel_view(tables_now), new_workspaces(FIRST if name == "thumb:1" else NEWEST), actions)
            answers.append(actions.tolist())
        assert answers[0] == answers[1] == answers[2], (variant, seats, options)
        compared += len(true)
    assert compared > 100
    assert different > compared / 2


@pytest.mark.parametrize("name", NAMES)
def test_a_row_has_the_same_answer_alone_and_in_a_batch(name: str) -> None:
    player = load_player(name)
    batch = begin(make_batch([TableGroup("noms"), TableGroup("nonesuch", 3), TableGroup("big_ships", 5)], 30, seed=2))
    streams, actions = np.arange(1, 31) * 31, np.zeros(30, np.int64)
    for step in range(25):
        batch.observe()
        tables = sampled_tables(batch.tables, None, np.random.default_rng(step))
        rng = np.random.default_rng(9)
        alone = [player.act(batch.observation[i], batch.mask[i], rng, tables=tables[i]) for i in range(30)]
        for _ in range(2):
            together = player.act(batch.observation, batch.mask, np.random.default_rng(9), tables=tables)
            assert together.tolist() == alone
        batch.random_actions(streams, actions)
        batch.step(actions)


@pytest.mark.parametrize("name", ["greedy", "thumb"])
def test_nobody_acts_after_the_deal(name: str) -> None:
    table = begin(Table("down_up", seed=1), deal=9)
    world = table.determinize(np.random.default_rng(0))
    while not table.is_scored:
        table.step(table.legal_actions()[0])
    world[0] = table.row
    assert load_player(name).act(*table.view(0), np.random.default_rng(0), tables=world) == NOBODY


def fingerprint() -> str:
    """Return a hash of the players' actions in every variant."""
    digest = hashlib.sha256()
    for name in NAMES:
        player = load_player(name)
        for variant in VARIANTS:
            for seed, (seats, options) in enumerate(tables_of(variant, 1, seed=2)):
                for number, table in enumerate(decisions(variant, seats, options, seed, deals=1)):
                    if number % 5 == 0:
                        digest.update(bytes([answer(player, table, np.random.default_rng(number))]))
    return digest.hexdigest()


def test_the_compiler_changes_no_answer() -> None:
    assert printed_uncompiled("tests.players.test_no_peeking") == fingerprint()


if __name__ == "__main__":
    print(json.dumps(fingerprint()))
