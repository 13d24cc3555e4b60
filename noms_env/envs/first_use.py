"""Compiled code before it is needed: each part of the engine is compiled when it is first used, unless `compile` has done so.

It uses everything once, in small: whatever is then called from Python, with the same types of arguments, is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from noms_env._jit import COMPILED, PROGRESS
from noms_env.belief.determinize import copy_shown_tables, sampled_tables
from noms_env.envs.batch import BatchEnv
from noms_env.envs.canonical_suits import CanonicalSuits
from noms_env.envs.gym.seat import SeatEnv
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.envs.table_groups import TableGroup
from noms_env.envs.validation import ObservationKind
from noms_env.players import ask, load_player
from noms_env.table import Table
from noms_env.variants import VARIANTS, game, given_options

ANY = VARIANTS[0]
"""A game: what is called from Python is the same for all."""
EARLIER = 10
"""Decisions before a player is asked: a search thinks about what others did."""
Parts = dict[str, Callable[[], object]]
"""What is used to compile it, by the name that is shown."""
KINDS = ("random", "greedy", "thumb", "flat_mc:1", "pimc:1")
"""A player of each kind that is no policy."""


def compile(*players: str) -> int:
    """Compile at once what would otherwise be compiled when it is first used, and keep it for later processes.

    A line on standard error says how far it is; nothing is said where all was compiled before.

    Args:
        *players: what tables and these players need, by name as for `load_player`; everything, without any.

    Returns:
        How many functions were compiled.

    Raises:
        ValueError: there is no such player.
    """
    return PROGRESS.use(parts(players)) if COMPILED else 0


def parts(players: Sequence[str] = (), batches: bool = True) -> Parts:
    """What tables, batches of them and some players need, or everything that is in the package."""
    from noms_env.policy.player import shipped_policies  # here, since no policy is imported with the package

    tables: Parts = {"tables": use_table, **({"batches": use_batch} if batches else {})}
    if players:
        return {**tables, **{name: partial(use_player, name) for name in dict.fromkeys(players)}}
    kinds = {name.partition(":")[0]: name for name in KINDS}
    for policy in list(shipped_policies())[:1]:
        kinds |= {"policies": policy, "search": f"search:{policy}"}
    of_players: Parts = {kind: partial(use_player, name) for kind, name in kinds.items()} | {"attention": use_attention}
    return {**tables, "environments": use_environments, **of_players, "micro-games": use_micro_games}


def use_table() -> None:
    """Play a deal at a table, and deal the next."""
    table = Table(ANY)
    table.start(seed=0)
    while not table.is_scored:
        table.view(int(table.row.seat))
        table.step(table.legal_actions()[0])
    table.next_deal()


def use_batch() -> None:
    """Take a decision at a batch of tables."""
    batch = BatchEnv(ANY, 2, pause_after_deal=True)
    batch.reset()
    batch.observe()
    batch.step(batch.mask.argmax(axis=1), observe=True)
    batch.next_deal()
    sampled_tables(batch.tables, np.arange(2), np.random.default_rng(0))


def use_environments() -> None:
    """What else can be done with tables: copies, hidden cards, features, learners' seats, drawings, records."""
    from noms_env import show  # likewise
    from noms_env.record import check_records, record_matches, replay

    rng = np.random.default_rng(0)
    kinds: tuple[ObservationKind, ...] = ("bytes", "features")
    table = Table(ANY)
    table.start(seed=0)
    table.state()
    table.set_state(table.get_state())
    table.sample_hidden(0, rng)
    for variant in VARIANTS:
        shown = Table(variant, episode="deal")
        shown.start(seed=0)
        while not shown.is_scored:
            show.text(shown, int(shown.row.seat))
            shown.step(shown.legal_actions()[-1])
        copy_shown_tables(shown._rows, np.zeros(1, np.int64))
    for kind in kinds:
        use_all_of_a_batch(kind, rng)
        use_seats(kind)
    for name, (option, word) in product(VARIANTS, (("trump_mode", "random"), ("tie", "cut"))):  # chance besides the cards
        if any(known.name == option and word in known.words for known in game(name).options):
            records = list(islice(record_matches(name, options={option: word}), 2))
            list(check_records(enumerate(records, 1)))
            list(replay(records[0]))


def use_all_of_a_batch(kind: ObservationKind, rng: np.random.Generator) -> None:
    """All that a batch does, with one kind of observation."""
    groups = [TableGroup(ANY), TableGroup(VARIANTS[-1])]
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
    french = BatchEnv(ANY, 1, observation=kind)
    if french.feature_layout is not None:
        for features in (french.observation, french.observation * np.float32(1)):
            CanonicalSuits(french.feature_layout).orders(features)


def use_seats(kind: ObservationKind) -> None:
    """A learner's seat, alone and at many tables, with one kind of observation."""
    opponents = ["random", *["greedy"] * (game(ANY).default_seats - 2)]
    seat = SeatEnv(ANY, opponents=opponents, observation=kind)
    observation, _ = seat.reset(seed=0)
    seat.step(int(observation["action_mask"].argmax()))
    seats = SeatVectorEnv(2, ANY, opponents=opponents, observation=kind)
    observation, _ = seats.reset(seed=0)
    seats.step(observation["action_mask"].argmax(axis=1))


def use_player(name: str) -> None:
    """Ask a player once, as `thumb`, a policy or a search; one that searches looks at one world."""
    player, table = load_player(name), Table(ANY)
    if getattr(player, "hand_size", None) is not None:
        return  # a solution compiles nothing of its own
    for rules in getattr(player, "rule_sets", ())[:1]:
        table = Table(rules.variant.name, rules.seats, given_options(rules))
    if hasattr(player, "worlds"):
        player.worlds = 1
    table.start(seed=0)
    for _ in range(EARLIER):
        table.step(table.legal_actions()[0])
        if table.is_scored:
            table.start()
    ask(player, table, np.random.default_rng(0))


def use_attention() -> None:
    """Ask a policy with attention once, whose numbers are all 0: none is in the package."""
    from noms_env.policy.file import PolicyInfo, parameter_shapes  # likewise
    from noms_env.policy.player import PolicyPlayer

    table = Table(ANY)
    sizes = {"kind": "attention", "token_width": 4, "layers": 1, "heads": 1, "card_width": 1}
    info = PolicyInfo((table.rules,), sizes)
    zeros = {name: np.zeros(shape, np.float32) for name, shape in parameter_shapes(info.encoding, sizes).items()}
    table.start(seed=0)
    ask(PolicyPlayer(info, info.encoding, zeros), table, np.random.default_rng(0))


def use_micro_games() -> None:
    """Explore, solve and play a micro-game, and solve an ending."""
    from noms_env.micro.deal_setup import Layout  # likewise
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
    table = Table(ANY, episode="deal")
    table.start(seed=0)
    while not table.is_scored:
        if table.phase == "play" and table.row.deal_size - table.row.trick_number == 1:
            solve_ending(table)
        table.step(table.legal_actions()[0])
