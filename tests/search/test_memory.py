"""A search learns from earlier deals of the match how the others play, from what all have seen."""

from typing import Any

import numpy as np
import pytest

from noms_env.belief.determinize import copy_shown_tables, is_played_out
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.players import Player, ask, load_player, recalled
from noms_env.record import record_matches
from noms_env.search.opponent_models import draw_worlds
from noms_env.table import Table
from noms_env.variants import VARIANTS, game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.agents.table_pool import AtTables, TablePool, play_deal_by_deal
from noms_training.evaluation.matches import compare_matches
from noms_training.play.session import Seated, Session
from tests.begin import begin
from tests.policy.test_player import rules_of
from tests.search.test_policy_search import small_player


def ends_of_deals(table: Table, players: list[Player], deals: int) -> list[np.record]:
    """Play some deals, in one match or more, and return the tables at their ends."""
    ends, rng = list[np.record](), np.random.default_rng(1)
    table.start()
    while len(ends) < deals:
        while not table.is_scored:
            table.step(ask(players[int(table.row.seat)], table, rng))
        ends.append(table.row.copy())
        if table.is_over:
            table.start()
        else:
            table.next_deal()
    return ends


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_search_learns_which_model_each_seat_plays_like(variant: str) -> None:
    """Seats 0 and 2 play by rules of thumb, the others like the policy; the own seat is included."""
    (rules,) = rules_of(variant)
    player = small_player(rules)
    memory, players = None, [load_player("thumb"), player.policy] * 2
    for end in ends_of_deals(Table(variant, seed=3), players, 6):
        memory = recalled(player, end, memory)
    assert memory is not None
    assert memory.shape == (1, 2, MAX_SEATS)
    like_policy = memory[0, 0] - memory[0, 1]
    assert (like_policy[[0, 2]] < -3).all()
    assert (like_policy[[1, 3]] > 3).all()
    assert (like_policy[4:] == 0).all()


def test_a_single_model_and_a_deal_that_is_passed_out_teach_nothing() -> None:
    (rules,) = rules_of("noms")
    passed = begin(Table("noms", seed=1))
    while not passed.is_scored:
        passed.act("pass")
    assert not is_played_out(passed._rows).any()
    (end,) = ends_of_deals(Table("noms", seed=8), [load_player("thumb")] * 4, 1)
    for opponents, models, row in (("thumb", 1, end), ("uniform", 0, end), ("mixture", 2, passed.row)):
        memory = recalled(small_player(rules, opponents=opponents), row)
        assert memory is not None
        assert memory.shape == (1, models, MAX_SEATS)
        assert not memory.any()
    assert recalled(load_player("thumb"), end) is None


def test_the_seed_and_the_order_of_undealt_cards_have_no_influence() -> None:
    table = Table("up_down", 4, seed=5)
    (end,) = ends_of_deals(table, [load_player("thumb")] * 4, 1)
    rows = np.zeros(2, table._rows.dtype).view(np.recarray)
    rows[0] = rows[1] = end
    rows[1].seed, rows[1].table, rows[1].match = 12345, 7, 9
    undealt = slice(4 * int(end.deal_size) + 1, len(table.rules.deck))
    rows[1].deck[undealt] = rows[1].deck[undealt][::-1].copy()
    assert rows[0].deck.tolist() != rows[1].deck.tolist()
    shown = copy_shown_tables(rows, np.arange(2))
    assert shown[:1].tobytes() == shown[1:].tobytes()
    assert rows[0].tobytes() == end.tobytes(), "the tables are left alone"
    assert shown.seed[0] == shown.match[0] == 0


def test_the_memory_decides_which_model_the_others_play_like() -> None:
    (rules,) = rules_of("small_ships")
    player, table = small_player(rules, worlds=40), begin(Table("small_ships", seed=4))
    view, memory = kernel_view(table._rows), np.zeros((2, MAX_SEATS))
    for model in (0, 1):
        shown = memory.copy()
        shown[model] = 50
        styles = draw_worlds(view, 0, 3, player.models, 40, memory=shown).styles
        assert (np.delete(styles, int(table.row.seat), axis=1)[:, :3] == 1 + model).all()
    without = draw_worlds(view, 0, 3, player.models, 40)
    empty = draw_worlds(view, 0, 3, player.models, 40, memory=memory)
    assert all((part == same).all() for part, same in zip(without, empty, strict=True))


class Remembering:
    """Plays at random, and logs the number of rows and the memory of each decision."""

    wants_tables = False

    def __init__(self, log: list[Any], memory: np.ndarray | None = None, fails: int = -1) -> None:
        self.log, self.memory, self.fails = log, memory, fails

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        self.log.append((len(np.atleast_2d(mask)), self.memory))
        return load_player("random").act(observation, mask, seeds)

    def recall(self, tables: np.recarray) -> np.ndarray:
        if self.fails in tables.dealer:
            raise RuntimeError("forgotten")
        return np.stack([np.ones(len(tables)), tables.dealer], axis=1)

    def with_memory(self, memory: np.ndarray) -> Player:
        return Remembering(self.log, memory)


ALL_SEATS = np.zeros((8, MAX_SEATS), np.int64)
"""Eight tables with the first player at all seats."""


DOWN_UP = make_rules(game("down_up"))


def at_tables(player: Player) -> AtTables:
    return AtTables(player, np.random.default_rng(0))


def pool_of(tables: int) -> TablePool:
    """Return tables of a match, dealt."""
    pool = TablePool([DOWN_UP], [0], tables, seed=4, in_matches=True)
    pool.deal(0)
    return pool


def test_each_table_of_a_batch_has_its_own_memory() -> None:
    log, pool = list[Any](), pool_of(3)
    dealers, after = np.zeros(3), list[np.ndarray]()
    for _ in play_deal_by_deal(pool, [at_tables(Remembering(log))], ALL_SEATS[:3]):
        assert all(memory is None if not after else memory.shape == (rows, 2) for rows, memory in log)
        if after:
            assert {float(number) for _, memory in log for number in memory[:, 1]} == set(dealers.tolist())
        dealers += pool.batch.tables.dealer
        after.append(dealers.copy())
        log.clear()
    assert len(after) > 3


def test_a_player_that_fails_to_recall_loses_the_table() -> None:
    pool, spec = pool_of(8), agent_spec("random")
    next(play_deal_by_deal(pool, [at_tables(load_player("random"))], ALL_SEATS))
    pool.batch.tables.dealer[3] = 2
    failing: Any = type(spec)("failing", lambda: Remembering([], fails=2))
    with pytest.raises(RuntimeError, match="forgotten"):
        at_tables(failing.make()).deal_over(pool.batch, np.arange(8))
    assert compare_matches(DOWN_UP, failing, spec, 4).estimate("alone").mean == 0.0


def test_records_and_sessions_remember_the_match() -> None:
    """Memory grows from deal to deal; the next match begins without it."""
    log = list[Any]()
    records = list(record_matches("down_up", matches=2, players=[Remembering(log), "thumb", "thumb", "thumb"], seed=2))
    deals = len(records) // 2

    def remembered_deals() -> list[float | None]:
        """Return the numbers of deals that were remembered, in order."""
        return list(dict.fromkeys(None if memory is None else float(memory[0, 0]) for _, memory in log))

    assert remembered_deals() == [None, *range(1, deals)]
    log.clear()
    others = [Seated("remembering", Remembering(log)), *(Seated("thumb", load_player("thumb")) for _ in range(3))]
    session = Session(DOWN_UP, others, seed=2, deals=deals + 2)
    session.let_others_act()
    for _ in range(deals + 1):
        session.next_deal()
        session.let_others_act()
    assert remembered_deals() == [None, *range(1, deals)]


def test_a_deal_that_is_taken_back_is_forgotten() -> None:
    log = list[Any]()
    others = [Seated("remembering", Remembering(log)), *(Seated("thumb", load_player("thumb")) for _ in range(2))]
    session = Session(DOWN_UP, [None, *others], seed=2)

    def play_deal() -> list[Any]:
        log.clear()
        while not session.table.is_scored:
            session.let_others_act()
            if session.is_persons_turn:
                session.take(session.table.legal_actions()[0])
        return [None if memory is None else memory.tolist() for _, memory in log]

    assert set(play_deal()) == {None}
    session.next_deal()
    memories = play_deal()
    assert session.take_back()
    play_deal()
    while len(session.deals) > 1:
        assert session.take_back()
    assert set(play_deal()) == {None}
    session.next_deal()
    assert play_deal() == memories
    scored = session.deals[0].scored
    assert scored is not None
    assert memories[0] == [[1.0, float(scored.dealer)]]


def test_a_player_never_gets_the_memory_of_a_deleted_player() -> None:
    """A new object may have the address, so the `id`, of a deleted one."""
    session, log = Session(DOWN_UP, [Seated("thumb", load_player("thumb"))] * 4, seed=2), list[Any]()
    while not session.table.is_scored:
        session.take(session.choose())
    session.next_deal()
    for _ in range(40):
        adviser: Player = Remembering(log)
        assert session._memory(adviser) is not None
        del adviser
        assert session._memory(load_player("thumb")) is None
