"""Speed cases of this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import noms_env
from benchmarks.speed.clock import MICROSECONDS, NANOSECONDS, SECONDS, Case, rate_case, time_case
from noms_env import BatchEnv, SeatVectorEnv, Table, load_player, make_batch
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import IS_SCORED, kernel_view
from noms_env.observation.layout import PADDED_MASK_SIZE
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import TABLE

GAME = "small_ships"
"""Representative game: four seats, a round of calls, trump, a nomination, thirteen tricks."""
LIKE_OH_HELL: dict[str, Any] = {"variant": "down_up", "seats": 4, "episode": "deal"}
OH_HELL_CARDS = 10
"""Four seats, a round of calls, ten tricks: like OpenSpiel's `oh_hell(players=4,num_tricks_fixed=10)`."""

SEAT_GAME = "down_up"
"""Game of `SeatVectorEnv`."""

ALONE, MASK = 0, batch_kernels.WRITE_MASK
VIEW = batch_kernels.WRITE_MASK | batch_kernels.WRITE_OBSERVATION
ALL = VIEW | batch_kernels.WRITE_HIDDEN
WRITTEN = {
    "alone": (ALONE, "nothing written"),
    "mask": (MASK, "mask written"),
    "observation": (VIEW, "mask and observation written"),
    "state": (ALL, "mask, observation and hidden state written"),
}
DECISIONS_A_CALL = 1 << 16
"""Approximate decisions in one call of a compiled loop, for some milliseconds."""
OUT_OF_STEP = 61
"""Table `n` starts `n % OUT_OF_STEP` decisions into a match, so that neighbours differ in phase."""
CLONES = 1000
REDEAL_AFTER = 30
"""Decisions before a redeal."""
EPISODES = 2

START = """
from time import perf_counter
start = perf_counter()
import noms_env
imported = perf_counter()
env = noms_env.small_ships_v0.raw_env()
env.reset(seed=0)
env.step(int(env.last()[0]["action_mask"].argmax()))
stepped = perf_counter()
env.last(), env.state()
import numpy as np
batch = noms_env.make_batch("noms", tables=2, hidden_state=True)
batch.reset()
batch.observe()
actions, streams = np.zeros(2, np.int64), np.ones(2, np.int64)
batch.random_actions(streams, actions)
batch.step(actions)
batch.restore(0, batch.save(1))
batch.clone(0, 1)
ready = perf_counter()
import json
print(json.dumps({"import": imported - start, "first_step": stepped - imported, "all": ready - start}))
"""
PARTS = {
    "import": "import noms_env",
    "first_step": "first environment, reset and step after the import",
    "all": "import, environment, batch and every compiled function of theirs",
}
"""What `START` measures in a new process."""


class Playground:
    """A batch of tables within their matches, with the buffers for random play."""

    def __init__(self, tables: int, variant: str = GAME, cards: int | None = None, **arguments: Any) -> None:
        """Start the tables and play some decisions at each; `cards` fixes the deal size with `episode="deal"`."""
        self.batch: BatchEnv = make_batch(variant, tables, seed=1, **arguments)
        if cards is not None:
            self.batch.tables.wanted_deal_size = cards
        self.batch.reset()
        self.streams = np.random.default_rng(0).integers(1, 2**32, tables)
        self.actions = np.zeros(tables, np.int64)
        self._mask = np.zeros((tables, PADDED_MASK_SIZE // 8), np.int64)
        for row in range(tables):
            self.play(row, row + 1, row % OUT_OF_STEP, ALONE)

    def play(self, first: int, last: int, steps: int, wanted: int) -> None:
        """Play `steps` random decisions at the tables `first` to `last - 1` in compiled code."""
        rows, tables = self.batch._rows, kernel_view(self.batch.tables)
        (observation, _, hidden), features = rows.seen, rows.features
        seen = (observation, self._mask, hidden, wanted, features)
        batch_kernels.play_random(tables, first, last, steps, self.streams, *seen)

    def compiled(self, wanted: int) -> int:
        """Play random decisions at all tables in one compiled call; return their number."""
        steps = max(1, DECISIONS_A_CALL // len(self.batch))
        self.play(0, len(self.batch), steps, wanted)
        return steps * len(self.batch)

    def on_two_cores(self, wanted: int, pool: ThreadPoolExecutor) -> int:
        """Run the compiled loop in two threads, each for half of the tables."""
        steps, half = max(1, 2 * DECISIONS_A_CALL // len(self.batch)), len(self.batch) // 2
        other = pool.submit(self.play, half, len(self.batch), steps, wanted)
        self.play(0, half, steps, wanted)
        other.result()
        return steps * len(self.batch)

    def public(self, observe: bool = True, check: bool = True) -> int:
        """Play one decision at each table through `BatchEnv`; finished matches restart."""
        self.batch.check_actions = check
        self.batch.random_actions(self.streams, self.actions)
        self.batch.step(self.actions, observe=observe)
        ended = np.flatnonzero(self.batch.over)
        if len(ended) > 0:
            self.batch.reset(ended)
            if observe:
                self.batch.observe(ended)
        return len(self.batch)

    def in_two_calls(self) -> int:
        """Play one checked decision at each table with a separate call of `observe`."""
        self.batch.observe()
        return self.public(observe=False)

    def observing(self) -> int:
        self.batch.observe()
        return len(self.batch)


def choose(random: Random, legal: Sequence[int] | np.ndarray) -> int:
    """Draw a legal action."""
    return int(legal[int(random.random() * len(legal))])


def aec_episode(env: Any, random: Random, **reset: Any) -> Iterator[int]:
    """Play an episode of any AEC environment with masks by random legal actions; yield each action after its step."""
    env.reset(**reset)
    while env.agents:
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        action = choose(random, np.flatnonzero(observation["action_mask"]))
        env.step(action)
        yield action


def random_aec(env: Any, random: Random) -> int:
    """Play an episode, including the choice of actions."""
    return sum(1 for _ in aec_episode(env, random))


def prepared_aec(env: Any, scripts: Sequence[Sequence[int]]) -> int:
    """Play episodes with prepared actions, seeds from 0: only `last` and `step`."""
    for seed, script in enumerate(scripts):
        env.reset(seed=seed)
        for action in script:
            env.last()
            env.step(action)
    return sum(map(len, scripts))


def table_alone(table: Table, look: bool, random: Random) -> int:
    """Play a match at a `Table`: the legal actions, the view of the seat to act if `look`, and the action."""
    table.start()
    status, decisions = int(table.row.seat), 0
    while not (status & IS_SCORED):
        if look:
            table.view(status)
        status = table.step(choose(random, table.legal_actions()))
        decisions += 1
        if status & IS_SCORED:
            status = table.next_deal()
    return decisions


def our_cases(tables: int, many_tables: int) -> list[Case]:
    """Return all cases except growth and starts; the thread cases use `many_tables`."""
    main = Playground(tables, hidden_state=True)
    cases = [*engine_cases(main), *game_cases(tables), *batch_cases(tables), *thread_cases(many_tables)]
    cases += [*seat_cases(2 * tables), *policy_cases(tables), *single_cases(), *oh_hell_cases(tables)]
    return [*cases, *copy_cases(max(tables, CLONES + 1))]


def engine_cases(ground: Playground) -> Iterator[Case]:
    """Yield compiled random play."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="noms-bench")
    for name, (wanted, text) in WRITTEN.items():
        yield rate_case(f"engine/{name}", text, partial(ground.compiled, wanted), f"engine/{name}/two")
        yield rate_case(f"engine/{name}/two", f"{text}, two cores", partial(ground.on_two_cores, wanted, pool))


def game_cases(tables: int) -> Iterator[Case]:
    """Yield compiled random play of each game."""
    for variant in VARIANTS:
        for key, written in (("", "bytes"), ("/features", "features")):
            work = partial(Playground(tables, variant, observation=written).compiled, VIEW)
            yield rate_case(f"games/{variant}{key}", f"mask and {written} written", work)


def batch_cases(tables: int) -> Iterator[Case]:
    """Yield the calls of `BatchEnv`."""
    ground = Playground(tables)
    text = "random_actions, step and observe"
    yield rate_case("batch/observe", "observe alone", ground.observing)
    yield rate_case("batch/check", text, ground.public, "batch/trusted", "batch/calls")
    yield rate_case("batch/trusted", f"{text}; check_actions=False", partial(ground.public, check=False))
    yield rate_case("batch/calls", "observe, random_actions, step", ground.in_two_calls)
    yield rate_case("batch/blind", "random_actions, step", partial(ground.public, observe=False))


def thread_cases(tables: int) -> Iterator[Case]:
    """Yield `BatchEnv` with one thread and with two."""
    for threads in (1, 2):
        text = f"{tables:,} tables, check_actions=False, threads={threads}"
        work = partial(Playground(tables, threads=threads).public, check=False)
        yield rate_case(f"threads/{threads}", text, work, *["threads/2"] * (threads == 1))


def seat_cases(tables: int) -> Iterator[Case]:
    """Yield steps of `SeatVectorEnv` in its default autoreset mode."""
    for key, opponents, observation, threads, compared in (
        ("random", "random", "bytes", 1, ("seats/random/two", "seats/random/features")),
        ("random/two", "random", "bytes", 2, ()),
        ("random/features", "random", "features", 1, ()),
        ("thumb", "thumb", "bytes", 1, ("seats/random",)),
    ):
        text = f"first legal action, step; {tables:,} tables, opponents={opponents!r}, {observation}, threads={threads}"
        work = learner_steps(tables, opponents=opponents, observation=observation, threads=threads)
        yield rate_case(f"seats/{key}", text, work, *compared)


def learner_steps(tables: int, **arguments: Any) -> Callable[[], int]:
    """Return the work of a step of `SeatVectorEnv`. Only the learners' decisions count."""
    envs = SeatVectorEnv(tables, SEAT_GAME, **arguments)
    envs.reset(seed=1)
    masks = envs.action_masks()

    def work() -> int:
        nonlocal masks
        deciding = masks.any(axis=1)  # in the other rows the next episode begins
        envs.step(masks.argmax(axis=1))
        masks = envs.action_masks()
        return int(deciding.sum())

    return work


def policy_cases(tables: int) -> Iterator[Case]:
    """Yield unforced decisions of the published policy on one thread."""
    policy, batch, random = load_player(GAME), Playground(tables).batch, np.random.default_rng(0)
    batch.observe()
    free = np.flatnonzero(batch.mask.sum(axis=1, dtype=np.int64) > 1)
    seen, legal = batch.observation[free], batch.mask[free]
    numbers = cycle(range(len(free)))

    def act_alone() -> int:
        number = next(numbers)
        policy.act(seen[number], legal[number], random)
        return 1

    def all_at_once() -> int:
        policy.act(seen, legal, random)
        return len(free)

    yield time_case("policies/one", "load_player: act, one observation", act_alone, MICROSECONDS)
    yield rate_case("policies/batch", f"load_player: act, {len(free):,} observations at once", all_at_once)


def single_cases() -> Iterator[Case]:
    """Yield one table, driven from Python."""
    module = getattr(noms_env, f"{GAME}_v{noms_env.ENV_VERSION}")
    for maker in ("raw_env", "env"):
        env, other = (getattr(module, maker)() for _ in range(2))
        scripts = [list(aec_episode(env, Random(0), seed=seed)) for seed in range(EPISODES)]
        work = partial(prepared_aec, env, scripts)
        yield rate_case(f"single/{maker}", f"{maker}: last, step; actions chosen beforehand", work)
        work = partial(random_aec, other, Random(0))
        yield rate_case(f"single/{maker}/random", f"{maker}: last, choice from the mask, step", work)
    yield from table_cases("single", lambda: Table(GAME))


def table_cases(group: str, make: Callable[[], Table]) -> Iterator[Case]:
    """Yield a `Table` without and with views."""
    for name, look in (("legal", False), ("view", True)):
        text = f"Table: legal_actions, {'view, ' if look else ''}step"
        yield rate_case(f"{group}/{name}", text, partial(table_alone, make(), look, Random(0)))


def oh_hell_cases(tables: int) -> Iterator[Case]:
    """Yield the cases for comparison with OpenSpiel's `oh_hell`."""
    ground = Playground(tables, cards=OH_HELL_CARDS, **LIKE_OH_HELL)
    yield rate_case("oh_hell/compiled", "compiled, nothing written", partial(ground.compiled, ALONE))
    yield rate_case("oh_hell/check", "BatchEnv: random_actions, step and observe", ground.public)
    yield rate_case("oh_hell/blind", "BatchEnv: random_actions, step", partial(ground.public, observe=False))
    yield from table_cases("oh_hell", lambda: Table(**LIKE_OH_HELL, deal_size=OH_HELL_CARDS))


def copy_cases(tables: int) -> Iterator[Case]:
    """Yield copies of one table into a thousand others: exact ones, and ones with resampled hidden cards."""
    batch = Playground(tables).batch
    rows = np.arange(1, CLONES + 1)
    words = batch.tables.view(np.ndarray).view(np.int64).reshape(tables, -1)

    def case(key: str, text: str, function: Callable[..., object], *arguments: Any) -> Case:
        def work() -> int:
            function(*arguments)
            return 1

        return time_case(f"copies/{key}", text, work, MICROSECONDS)

    yield case("clone", f"BatchEnv.clone of a table into {CLONES:,} rows", batch.clone, 0, rows)
    yield case("clone/compiled", "the same, its compiled loop alone", batch_kernels.clone_row, words, 0, rows)
    for variant in VARIANTS:
        ground = Playground(CLONES + 1, variant)
        ground.play(0, 1, REDEAL_AFTER, ALONE)  # into the middle of a deal
        call = (ground.batch.sample_hidden, 0, int(ground.batch.tables.seat[0]), np.random.default_rng(0), rows)
        yield case(f"redeal/{variant}", f"BatchEnv.redeal of a table of {variant} into {CLONES:,} rows", *call)


def growth_cases(sizes: Sequence[int]) -> Iterator[Case]:
    """Yield the time per decision with mask and observation, for growing numbers of tables."""
    for tables in sizes:
        ground = Playground(tables)
        compiled, public = partial(ground.compiled, VIEW), partial(ground.public, check=False)
        yield time_case(f"growth/compiled/{tables}", f"{tables:,} tables, compiled", compiled, NANOSECONDS)
        yield time_case(f"growth/batch/{tables}", f"{tables:,} tables, BatchEnv", public, NANOSECONDS)


def measure_start(cache: Path | None) -> dict[str, float]:
    """Return the wall seconds of `PARTS` in a new process; `cache` is the folder of compiled code, None for the default."""
    place = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", START]
    done = subprocess.run(command, env=os.environ | place, check=True, capture_output=True, text=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def start_cases(cache: Path | None) -> Iterator[Case]:
    """Yield the starts with compiled code; the first run fills the cache."""

    def seconds_of(part: str, _seconds: float) -> float:
        return measure_start(cache)[part]

    for part, text in PARTS.items():
        yield Case(f"start/{part}", text, partial(seconds_of, part), SECONDS)


def bytes_per_table() -> dict[str, float]:
    """Return the memory of a table in a batch, in bytes by part."""
    rows = 1024
    batch = make_batch(GAME, rows, hidden_state=True)
    assert batch.hidden_state is not None
    rest = (batch.seat, batch.over, batch.scored, batch.points)
    arrays = {"observation": (batch.observation,), "state": (batch.hidden_state,), "other": rest}
    sizes: dict[str, float] = {"record": TABLE.itemsize, "mask": PADDED_MASK_SIZE}
    sizes |= {name: sum(array.nbytes for array in group) / rows for name, group in arrays.items()}
    return sizes | {"all": sum(sizes.values())}
