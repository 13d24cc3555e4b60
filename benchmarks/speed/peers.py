"""Speed cases of other packages, each with its game closest to ours.

Packages are imported lazily; missing ones are listed and left out. Every decision includes the legal actions. Only decisions
of players count, not deals or the steps of finished agents.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.speed.clock import Case, rate_case
from benchmarks.speed.ours import choose, random_aec
from noms_env.version import install_command

OH_HELL = ("oh_hell/compiled", "oh_hell/blind", "oh_hell/check", "oh_hell/legal", "oh_hell/view")
THIRTEEN_TRICKS = ("engine/alone", "batch/blind", "batch/check", "single/legal", "single/view")
"""Our cases for comparison: compiled, batch without and with observation, one table without and with observation."""
OPEN_SPIEL_GAMES = {
    "oh_hell(players=4,num_tricks_fixed=10)": OH_HELL,
    "spades": THIRTEEN_TRICKS,
    "hearts": THIRTEEN_TRICKS,
    "bridge(use_double_dummy_result=false)": THIRTEEN_TRICKS,
}
LENGTH_SAMPLE = 100
PGX_SCAN = 16
PGX_DEALS = 20_000


def peer_cases(tables: int) -> tuple[list[Case], dict[str, str]]:
    """Return the cases of installed peers, and missing peers with the reason; `tables` is the size of batches."""
    return build_cases(PEERS, tables)


def build_cases(builds: Mapping[str, Callable[[Any], Iterable[Case]]], size: Any) -> tuple[list[Case], dict[str, str]]:
    """Build the cases of peers by name with a size; return them, and peers that fail with the reason."""
    cases, missing = list[Case](), dict[str, str]()
    for name, build in builds.items():
        try:
            with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                warnings.simplefilter("ignore")
                cases += build(size)
        except ModuleNotFoundError as error:
            missing[name] = f"not installed ({error.name or error}): {install_command('bench')}"
        except Exception as error:  # errors of one package must not stop the others
            missing[name] = f"{type(error).__name__}: {error}"
    return cases, missing


peer_case = partial(rate_case, of_a_peer=True)
"""A case of a peer."""


def open_spiel_cases(_tables: int) -> list[Case]:
    """Return OpenSpiel's states driven from Python, without and with observation, and its own C++ loop."""
    spiel = import_module("pyspiel")
    import_module("open_spiel.python.observation")
    return [case for name, ours in OPEN_SPIEL_GAMES.items() for case in open_spiel_game(spiel, name, ours)]


def open_spiel_game(spiel: Any, name: str, ours: tuple[str, ...]) -> Iterator[Case]:
    """Yield the cases of one OpenSpiel game."""
    compiled, blind, check, legal, view = ours
    game = spiel.load_game(name)
    observer = open_spiel_observer(spiel, game)
    size = int(np.prod(observer.tensor.shape))
    key = f"open_spiel/{name.partition('(')[0]}"
    play = partial(spiel_play, game, Random(0))
    yield peer_case(f"{key}/python", f"{name}, from Python: legal_actions", play, blind, legal)
    text = f"{name}, from Python: legal_actions, observer ({size:,} numbers)"
    yield peer_case(f"{key}/observer", text, partial(play, observer), check, view)
    yield peer_case(f"{key}/compiled", f"{name}, C++ loop, no observation", spiel_bots(spiel, game), compiled)


def open_spiel_observer(spiel: Any, game: Any) -> Any:
    """Return the observer of a game: its observation tensor, or else all information of a player (perfect recall)."""
    make = import_module("open_spiel.python.observation").make_observation
    if game.get_type().provides_observation_tensor:
        return make(game)
    return make(game, spiel.IIGObservationType(perfect_recall=True))


def spiel_play(game: Any, random: Random, observer: Any = None) -> int:
    """Play one random game; deals are uniform in all these games."""
    state, decisions = game.new_initial_state(), 0
    while not state.is_terminal():
        legal = state.legal_actions()
        if not state.is_chance_node():
            decisions += 1
            if observer is not None:
                observer.set_from(state, state.current_player())
        state.apply_action(choose(random, legal))
    return decisions


def spiel_bots(spiel: Any, game: Any) -> Callable[[], int]:
    """Return the work of about 1000 decisions of uniform random bots, estimated from the mean length of a game."""
    random = Random(0)
    length = sum(spiel_play(game, random) for _ in range(LENGTH_SAMPLE)) / LENGTH_SAMPLE
    games = round(1000 / length)
    bots = [spiel.make_uniform_random_bot(seat, 1 + seat) for seat in range(game.num_players())]
    seed = 0

    def work() -> int:
        nonlocal seed
        for _ in range(games):
            seed += 1
            spiel.evaluate_bots(game.new_initial_state(), bots, seed)
        return round(games * length)

    return work


def rlcard_cases(_tables: int) -> list[Case]:
    """Return RLCard's bridge, with and without observation."""
    env = import_module("rlcard").make("bridge", config={"seed": 1})
    with_observation, without = partial(rlcard_env, env, Random(0)), partial(rlcard_game, env.game, Random(0))
    return [
        peer_case("rlcard/bridge/env", "bridge, env.step", with_observation, "batch/check", "single/view"),
        peer_case("rlcard/bridge/game", "bridge, game.step, no observation", without, "batch/blind", "single/legal"),
    ]


def rlcard_env(env: Any, random: Random) -> int:
    """Play one deal in the environment, whose `step` returns the observation."""
    state, _ = env.reset()
    decisions = 0
    while not env.is_over():
        state, _ = env.step(choose(random, list(state["legal_actions"])))
        decisions += 1
    return decisions


def rlcard_game(game: Any, random: Random) -> int:
    """Play one deal in the game below the environment."""
    game.init_game()
    decisions = 0
    while not game.is_over():
        legal = game.judger.get_legal_actions()
        game.step(legal[int(random.random() * len(legal))])
        decisions += 1
    return decisions


def pettingzoo_cases(_tables: int) -> list[Case]:
    """Return PettingZoo's limit hold'em, as PettingZoo has no trick-taking game."""
    game = import_module("pettingzoo.classic.texas_holdem_v4")
    return [
        peer_case(
            f"pettingzoo/texas_holdem/{maker}",
            f"texas_holdem, {maker}: last, choice from the mask, step",
            partial(random_aec, getattr(game, maker)(), Random(0)),
            f"single/{maker}/random",
        )
        for maker in ("raw_env", "env")
    ]


def pgx_cases(tables: int) -> list[Case]:
    """Return pgx's batches on the CPU: the auction of bridge, as pgx has no game with tricks, and Kuhn poker."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    pgx = import_module("pgx")
    cases = []
    for name, make in (("bridge_bidding", bridge_bidding), ("kuhn_poker", lambda: pgx.make("kuhn_poker"))):
        scan, step = pgx_programs(make(), tables)
        text = f"{name}, {tables:,} tables, {PGX_SCAN} steps compiled, observation, all cores"
        cases.append(peer_case(f"pgx/{name}/scan", text, scan, "engine/observation", "engine/observation/two"))
        text = f"{name}, {tables:,} tables, a call from Python a step, observation, all cores"
        cases.append(peer_case(f"pgx/{name}/step", text, step, "batch/check"))
    return cases


def bridge_bidding() -> Any:
    """Return the auction of bridge with random deals instead of pgx's table of results, a download of some hundred MB."""
    owners = np.random.default_rng(0).permuted(np.tile(np.repeat(np.arange(4), 13), (PGX_DEALS, 1)), axis=1)
    keys = owners.reshape(PGX_DEALS, 4, 13) @ 4 ** np.arange(12, -1, -1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.npy"
        np.save(path, np.stack([keys, np.zeros_like(keys)]).astype(np.int32))
        return import_module("pgx.bridge_bidding").BridgeBidding(str(path))


def pgx_programs(env: Any, tables: int) -> tuple[Callable[[], int], Callable[[], int]]:
    """Return random play of a batch: several steps per compiled call, and one step per call."""
    jax, numbers = import_module("jax"), import_module("jax.numpy")
    once = import_module("pgx.experimental").auto_reset(env.step, env.init)

    def act(state: Any, key: Any) -> Any:
        for_choice, for_chance = jax.random.split(key)
        weights = numbers.where(state.legal_action_mask, 0.0, -1e9)
        actions = jax.random.categorical(for_choice, weights, axis=-1)
        return jax.vmap(once)(state, actions, jax.random.split(for_chance, tables))

    def observe(state: Any, key: Any) -> tuple[Any, Any]:
        after = act(state, key)
        return after, after.observation.sum()  # otherwise the compiler removes the observation

    step = jax.jit(act)
    scan = jax.jit(lambda state, key: jax.lax.scan(observe, state, jax.random.split(key, PGX_SCAN)))
    key = jax.random.PRNGKey(0)
    first = jax.jit(jax.vmap(env.init))(jax.random.split(key, tables))
    return pgx_work(jax, lambda state, key: scan(state, key)[0], first, tables * PGX_SCAN), pgx_work(jax, step, first, tables)


def pgx_work(jax: Any, play: Callable[[Any, Any], Any], state: Any, decisions: int) -> Callable[[], int]:
    """Return the work of one call of a program, from the state that the previous call returned."""
    key = jax.random.PRNGKey(1)

    def work() -> int:
        nonlocal state, key
        key, now = jax.random.split(key)
        state = jax.block_until_ready(play(state, now))
        return decisions

    return work


PEERS: dict[str, Callable[[int], list[Case]]] = {
    "open_spiel": open_spiel_cases,
    "rlcard": rlcard_cases,
    "pettingzoo classic": pettingzoo_cases,
    "pgx": pgx_cases,
}
"""Peers by name."""
