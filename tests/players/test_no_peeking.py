"""Players by name, at thousands of decisions: legal, blind to what they may not see, the same alone and among others."""

import hashlib
import json

import numpy as np
import pytest

from noms_env.belief.determinize import sampled_tables
from noms_env.engine.row_kernels import kernel_view
from noms_env.envs.batch import make_batch
from noms_env.envs.table_groups import TableGroup
from noms_env.players import NOBODY, Player, make_player
from noms_env.players.greedy import greedy_rows
from noms_env.players.registry import FIRST, NEWEST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_rows
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.begun import begun
from tests.players.positions import answer, decisions, tables_of
from tests.uncompiled import printed_uncompiled

NAMES = ("random", "greedy", "thumb")


def check_legal(player: Player, tables: list[Table]) -> None:
    rows = np.concatenate([np.atleast_1d(table._rows) for table in tables]).view(np.recarray)
    views = [table.view(int(table.row.seat)) for table in tables]
    seen, mask = (np.array([view[part] for view in views]) for part in (0, 1))
    rng = np.random.default_rng(0)
    actions = player.act(seen, mask, rng, tables=sampled_tables(rows, None, rng))
    wrong = np.flatnonzero(mask[np.arange(len(actions)), actions] == 0)
    for row in wrong:
        table = tables[row]
        pytest.fail(f"{table.rules.variant.name} {table.rules.options}, {table.phase}: {table.word(int(actions[row]))}")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal(name: str, variant: str) -> None:
    player, phases = make_player(name), set()
    for seed, (seats, options) in enumerate(tables_of(variant, 6)):
        for company in (None, player):
            tables = [table.copy() for table in decisions(variant, seats, options, seed, company)]
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
def test_cards_that_a_seat_cannot_see_have_no_influence(name: str, variant: str) -> None:
    """The player is given the true table, and one with other hidden cards: it must not tell them apart."""
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


@pytest.mark.parametrize("name", ["greedy", "thumb"])
def test_the_tables_are_left_as_they_are(name: str) -> None:
    for variant in ("sniped_whist", "small_ships", "nonesuch"):
        for seats, options in tables_of(variant, 2):
            for table in decisions(variant, seats, options, 5, deals=1):
                rng = np.random.default_rng(0)
                one = table.determinize(rng)
                before = one.tobytes()
                make_player(name).act(*table.view(int(table.row.seat)), rng, tables=one)
                assert one.tobytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_answered_alike_alone_and_among_others(name: str) -> None:
    player = make_player(name)
    batch = begun(make_batch([TableGroup("noms"), TableGroup("nonesuch", 3), TableGroup("big_ships", 5)], 30, seed=2))
    streams, actions = np.arange(1, 31) * 31, np.zeros(30, np.int64)
    for step in range(25):
        batch.observe()
        tables = sampled_tables(batch.tables, None, np.random.default_rng(step))
        many = player.act(batch.observation, batch.mask, np.random.default_rng(9), tables=tables)
        rng = np.random.default_rng(9)
        one = [player.act(batch.observation[i], batch.mask[i], rng, tables=tables[i]) for i in range(30)]
        assert many.tolist() == one
        assert player.act(batch.observation, batch.mask, np.random.default_rng(9), tables=tables).tolist() == one
        batch.random_actions(streams, actions)
        batch.step(actions)


@pytest.mark.parametrize("name", ["greedy", "thumb"])
def test_nobody_answers_where_the_deal_is_over(name: str) -> None:
    table = begun(Table("down_up", seed=1), deal=9)
    one = table.determinize(np.random.default_rng(0))
    while not table.is_scored:
        table.step(table.legal_actions()[0])
    one[0] = table.row
    assert make_player(name).act(*table.view(0), np.random.default_rng(0), tables=one) == NOBODY


def test_thumb_and_greedy_leave_nothing_to_chance() -> None:
    for name in ("greedy", "thumb"):
        table = begun(Table("big_ships", seed=1))
        seen, one = table.view(int(table.row.seat)), table.determinize(0)
        assert len({make_player(name).act(*seen, seed, tables=one) for seed in range(20)}) == 1


def fingerprint() -> str:
    """Hash of what the players do at moments of every variant."""
    digest = hashlib.sha256()
    for name in NAMES:
        player = make_player(name)
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
