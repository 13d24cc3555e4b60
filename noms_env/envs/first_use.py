"""Compilation ahead of time. Otherwise each part of the engine is compiled when it is first used.

Each function here runs one part once, on small inputs, with the argument types of real calls. That compiles the part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np

from noms_env._jit import COMPILED, PROGRESS
from noms_env.belief.determinize import copy_shown_tables, sampled_tables
from noms_env.envs.batch import BatchEnv, TableGroup
from noms_env.envs.canonical_suits import CanonicalSuits
from noms_env.envs.gym.seat import SeatEnv
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.envs.validation import ObservationKind
from noms_env.players import ask, load_player
from noms_env.table import Table
from noms_env.variants import VARIANTS, game, given_options

ANY_GAME = VARIANTS[0]
"""Any game: Python calls the same functions for all of them."""
DECISIONS_BEFORE = 10
"""Decisions before a player is asked: a search infers from the actions of others."""
Parts = dict[str, Callable[[], object]]
"""Functions that compile a part by using it, by the name shown in the progress line."""
KINDS = ("random", "greedy", "thumb", "flat_mc:1", "pimc:1")
"""One player of each kind other than policies."""


def compile(*players: str) -> int:
    """Compile the engine now instead of on first use, cache the result, and return the number of functions compiled.

    A line on standard error shows the progress, unless everything is already compiled.

    Args:
        *players: names as for `load_player`: compile only what tables and these players need. Without names, compile
            everything.
    """
    return PROGRESS.use(parts(players)) if COMPILED else 0


def parts(players: Sequence[str] = (), batches: bool = True) -> Parts:
    """Return the parts that tables, batches and some players need, or without players all parts of the package."""
    from noms_env.policy.player import shipped_policies  # imported late, so that the package imports no policy

    tables: Parts = {"tables": use_table, **({"batches": use_batch} if batches else {})}
    if players:
        return {**tables, **{name: partial(use_player, name) for name in dict.fromkeys(players)}}
    kinds = {name.partition(":")[0]: name for name in KINDS}
    for policy in list(shipped_policies())[:1]:
        kinds |= {"policies": policy, "search": f"search:{policy}"}
    player_parts: Parts = {kind: partial(use_player, name) for kind, name in kinds.items()} | {"attention": use_attention}
    return {**tables, "environments": use_environments, **player_parts, "micro-games": use_micro_games}


def use_table() -> None:
    """Play a deal at a table, and deal the next."""
    table = Table(ANY_GAME)
    table.start(seed=0)
    while not table.is_scored:
        table.view(int(table.row.seat))
        table.step(table.legal_actions()[0])
    table.next_deal()


def use_batch() -> None:
    """Take a decision at a batch of tables."""
    batch = BatchEnv(ANY_GAME, 2, pause_after_deal=True)
    batch.reset()
    batch.observe()
    batch.step(batch.mask.argmax(axis=1), observe=True)
    batch.next_deal()
    sampled_tables(batch.tables, np.arange(2), np.random.default_rng(0))


def use_environments() -> None:
    """Use everything else that tables offer: copies, hidden cards, features, learners' seats, drawings, records."""
    from noms_env import show  # imported late, as above
    from noms_env.record import check_records, record_matches, replay

    rng = np.random.default_rng(0)
    table = Table(ANY_GAME)
    table.start(seed=0)
    table.state()
    table.set_state(table.get_state())
    table.sample_hidden(0, rng)
    for variant in VARIANTS:
        deal_table = Table(variant, episode="deal")
        deal_table.start(seed=0)
        while not deal_table.is_scored:
            show.text(deal_table, int(deal_table.row.seat))
            deal_table.step(deal_table.legal_actions()[-1])
        copy_shown_tables(deal_table._rows, np.zeros(1, np.int64))
    for kind in get_args(ObservationKind):
        use_all_of_a_batch(kind, rng)
        use_seats(kind)
    for name, (option, word) in product(VARIANTS, (("trump_mode", "random"), ("tie", "cut"))):  # chance besides the cards
        if any(choice.name == option and word in choice.words for choice in game(name).options):
            records = list(islice(record_matches(name, options={option: word}), 2))
            list(check_records(enumerate(records, 1)))
            list(replay(records[0]))


def use_all_of_a_batch(kind: ObservationKind, rng: np.random.Generator) -> None:
    """Call every method of a batch, with one kind of observation."""
    groups = [TableGroup(ANY_GAME), TableGroup(VARIANTS[-1])]
    batch = BatchEnv(groups, 4, observation=kind, hidden_state=True, pause_after_deal=True)
    batch.reset()
    batch.observe()
    batch.observe([0])
    actions = np.zeros(4, np.int64)
    batch.random_actions(np.ones(4, np.int64), actions)
    batch.step(actions, observe=True)
    batch.next_deal()
    batch.restore([0], batch.save([0]))
    batch.clone(0, [1])
    batch.sample_hidden(0, 0, rng)
    if batch.feature_layout is not None:
        batch.feature_layout.encode(BatchEnv(groups, 4).observation)
    french = BatchEnv(ANY_GAME, 1, observation=kind)
    if french.feature_layout is not None:
        for features in (french.observation, french.observation * np.float32(1)):
            CanonicalSuits(french.feature_layout).orders(features)


def use_seats(kind: ObservationKind) -> None:
    """Play a learner's seat at one table and at many, with one kind of observation."""
    opponents = ["random", *["greedy"] * (game(ANY_GAME).default_seats - 2)]
    seat = SeatEnv(ANY_GAME, opponents=opponents, observation=kind)
    observation, _ = seat.reset(seed=0)
    seat.step(int(observation["action_mask"].argmax()))
    seats = SeatVectorEnv(2, ANY_GAME, opponents=opponents, observation=kind)
    observation, _ = seats.reset(seed=0)
    seats.step(observation["action_mask"].argmax(axis=1))


def use_player(name: str) -> None:
    """Ask a player for one action; a search samples one world."""
    player, table = load_player(name), Table(ANY_GAME)
    if getattr(player, "hand_size", None) is not None:
        return  # a solution compiles nothing of its own
    for rules in getattr(player, "rule_sets", ())[:1]:
        table = Table(rules.variant.name, rules.seats, given_options(rules))
    if hasattr(player, "worlds"):
        player.worlds = 1
    table.start(seed=0)
    for _ in range(DECISIONS_BEFORE):
        table.step(table.legal_actions()[0])
        if table.is_scored:
            table.start()
    ask(player, table, np.random.default_rng(0))


def use_attention() -> None:
    """Ask a policy with attention for one action. Its parameters are zeros, since the package contains no such policy."""
    from noms_env.policy.file import PolicyInfo, parameter_shapes  # imported late, as above
    from noms_env.policy.player import PolicyPlayer

    table = Table(ANY_GAME)
    sizes = {"kind": "attention", "token_width": 4, "layers": 1, "heads": 1, "card_width": 1}
    info = PolicyInfo((table.rules,), sizes)
    zeros = {name: np.zeros(shape, np.float32) for name, shape in parameter_shapes(info.encoding, sizes).items()}
    table.start(seed=0)
    ask(PolicyPlayer(info, info.encoding, zeros), table, np.random.default_rng(0))


def use_micro_games() -> None:
    """Build, solve and play a micro-game, and solve an ending."""
    from noms_env.micro.deal_setup import Layout  # imported late, as above
    from noms_env.micro.measures import strategy_of
    from noms_env.micro.settings import micro_game
    from noms_env.micro.solving import solve
    from noms_env.micro.tree import build_tree
    from noms_env.search.endgame.solver import solve as solve_ending

    tree = build_tree(micro_game("down-up-1").setup())
    with TemporaryDirectory() as folder:
        file = Path(folder) / "solution.safetensors"
        solve(tree, file, iterations=1)
        strategy_of(load_player(f"solved:{file}"), tree)
    Layout.of(tree.setup, tree.layouts[0])
    table = Table(ANY_GAME, episode="deal")
    table.start(seed=0)
    while not table.is_scored:
        if table.phase == "play" and table.row.deal_size - table.row.trick_number == 1:
            solve_ending(table)
        table.step(table.legal_actions()[0])
