"""An iteration of self-play: deals played, advantages linked, networks improved.

    deal -> play (against oneself, or the league) -> values -> advantages -> update of actor and critic

All that is random follows from (seed, iteration), so a run that is resumed at an iteration ends with the same parameters as
one that was never stopped, on one machine with the same number of threads.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from noms_env.core.state import MAX_SEATS
from noms_env.policy.encoding import Encoding, make_encoding
from noms_env.policy.file import read_policy
from noms_env.policy.player import policy_file_of
from noms_env.variants import Rules
from training.agents.registry import agent_spec, label
from training.agents.spec import AgentSpec
from training.agents.table_pool import relative_points
from training.config import TrainConfig
from training.evaluation.behaviour_stats import Tally, count_deals
from training.learn import schedule
from training.learn.distributed import Processes
from training.learn.gae import advantages
from training.learn.network import Actor, Critic, Guesses
from training.learn.opponents import draw_opponent, draw_seating
from training.learn.ppo import (
    MinibatchPlan,
    Sample,
    Student,
    bare_module,
    log_policy_of,
    update_actor,
    update_critic,
    values_of,
)
from training.learn.reward_norm import PassOutGuard, RewardNorm
from training.learn.rollout import (
    NO_ADVICE,
    PHASE_NAMES,
    PLAYING,
    ActorPlayer,
    Choose,
    Decisions,
    Learner,
    Pupil,
    RandomContract,
    TablePool,
    at_tables,
    draw_sizes,
    has_auction,
    make_rule_sets,
    play,
)
from training.learn.rollout_targets import ENTROPY, OTHERS, SHARE, RolloutTargets
from training.options import parse_options
from training.thread_pool import ThreadPool

DEALS, LEARNING, OPPONENTS, TRIAL, ADVICE = range(5)
"""Purposes of random streams; a stream follows from (seed, iteration, purpose, number)."""


FIRST_IN_MATCHES = 1 << 31
"""Number of the first table at which matches are played; single deals are played at those below."""
TRIED = 64
"""Deals of each kind by which the number of tables is found."""


def stream(config: TrainConfig, iteration: int, purpose: int, number: int = 0) -> np.random.Generator:
    """A random stream that follows from its arguments."""
    return np.random.default_rng([config.seed, iteration, purpose, number])


@dataclass
class Place:
    """A pool in which one thread plays, and what it takes to play there.

    Attributes:
        pool: the tables.
        number: unlike those of all other places of the run, in all processes.
    """

    pool: TablePool
    number: int


@dataclass
class Played:
    """What came of the deals of an iteration in one place.

    Attributes:
        decisions: of the learner.
        points: float32, shape (tables, MAX_SEATS).
        rule_set: int64, shape (tables,).
        seats: int64, shape (tables,).
        passed_out: deals that were, of those with an auction, as two numbers.
        probes: of the learner's calls and contracts, for each kind of table, by its label.
        engine_seconds: that the tables took.
    """

    decisions: Decisions
    points: np.ndarray
    rule_set: np.ndarray
    seats: np.ndarray
    passed_out: tuple[int, int]
    probes: dict[str, Tally]
    engine_seconds: float


class SelfPlay:
    """A run: networks, tables, and what it has seen."""

    def __init__(self, config: TrainConfig, processes: Processes | None = None) -> None:
        """Set everything up.

        Raises:
            ValueError: the configuration asks for what cannot be had.
        """
        self.config = config
        self.curriculum = replace(config.curriculum, lessons=0.0, tryouts=0.0) if config.initial else config.curriculum
        self.processes = processes or Processes()
        self.rule_sets: list[Rules] = make_rule_sets(config.variants, config.seats, parse_options(config.option))
        self.encoding: Encoding = make_encoding(self.rule_sets, config.counts, config.hints)
        self.device = chosen_device(config.device)
        self.dtype = chosen_precision(config.precision, self.device)
        self.thread_pool = ThreadPool(config.threads or os.cpu_count() or 1)
        self.iteration = 0
        self.decisions = 0
        self._make_networks()
        self.places = self._make_places()
        self.scale = RewardNorm(len(self.rule_sets))
        self.pass_out_guard = PassOutGuard()
        self.past: dict[str, Actor] = {}
        others = [name for name in (self.curriculum.teacher, OTHERS if self.curriculum.tryouts > 0 else "") if name]
        self.guests: dict[str, AgentSpec] = {name: agent_spec(name) for name in (*config.league.opponents, *others)}

    # ------------------------------------------------------------------------------------------------- setting up

    def _make_networks(self) -> None:
        """Actor, its slow average, critic, optimisers."""
        config, encoding = self.config, self.encoding
        torch.manual_seed(config.seed % 2**63)
        self.actor = self.new_actor()
        if config.initial:
            self.actor.load_state_dict(initial_parameters(config.initial, encoding, self.actor))
        hidden = encoding.n_hidden if config.oracle else 0
        scale = torch.cat([torch.from_numpy(encoding.scale), torch.ones(hidden)])
        self.critic = Critic(scale, config.critic).to(self.device)
        self.slow = copy.deepcopy(self.actor)
        student = Student(self.actor, self._make_guesses()).to(self.device)
        self.student = self.processes.wrapped(student, 0)
        self.student_critic = self.processes.wrapped(self.critic, 1)
        settings: dict[str, Any] = {"lr": config.ppo.learning_rate, "eps": 1e-5, "fused": True}
        self.optimiser = torch.optim.Adam(self.student.parameters(), **settings)
        self.critic_optimiser = torch.optim.Adam(self.student_critic.parameters(), **settings)

    def new_actor(self) -> Actor:
        """An actor of the run's shape."""
        encoding = self.encoding
        choices = torch.from_numpy(encoding.choices.astype(np.int64))
        return Actor(torch.from_numpy(encoding.scale), choices, self.config.network, encoding.rule_based_prior).to(self.device)

    def _make_guesses(self) -> Guesses | None:
        """The auxiliary heads, where they are wanted."""
        if self.config.ppo.auxiliary == 0:
            return None
        encoding = self.encoding
        most = max(max(kind.schedule, default=0) or int(kind.options.get("hand_size") or 17) for kind in self.rule_sets)
        return Guesses(self.config.network.width, encoding.holders, encoding.cards, encoding.partners, most)

    def _make_places(self) -> list[Place]:
        """The tables of this process: for each thread, a pool of single deals and one of matches, as far as there are such."""
        config, workers = self.config, self.thread_pool.threads
        tables = config.tables or self._tables_of_a_batch()
        least = workers * len(self.rule_sets)
        if tables < least:
            raise ValueError(f"tables must be at least {least}: one for each kind of table in each of {workers} threads")
        own = [tables // workers + (worker < tables % workers) for worker in range(workers)]
        places: list[Place] = []
        for worker, share in enumerate(own):
            first = self.processes.rank * tables + sum(own[:worker])
            places.extend(self._places_of(worker, share, first))
        return places

    def _places_of(self, worker: int, tables: int, first: int) -> Iterator[Place]:
        """The pools of one thread."""
        share = [self.curriculum.matches if kind.variant.deals_depend else 0.0 for kind in self.rule_sets]
        for in_matches in (False, True):
            wanted = share if in_matches else [1 - part for part in share]
            numbers = [number for number, part in enumerate(wanted) if part > 0]
            if not numbers:
                continue
            shares = [wanted[number] for number in numbers]
            pool = TablePool(
                [self.rule_sets[number] for number in numbers],
                numbers,
                max(round(tables * sum(shares) / len(self.rule_sets)), len(numbers)),
                seed=self.config.seed,
                first_table=first + in_matches * FIRST_IN_MATCHES,
                in_matches=in_matches,
                state=self.config.oracle or self.config.ppo.auxiliary > 0,
                shares=shares,
            )
            yield Place(pool, (self.processes.rank * self.thread_pool.threads + worker) * 2 + in_matches)

    def _tables_of_a_batch(self) -> int:
        """Tables whose deals make a batch of decisions, going by some deals of the first policy, which is nearly random."""
        tables = TRIED * len(self.rule_sets)
        pool = TablePool(self.rule_sets, range(len(self.rule_sets)), tables, seed=self.config.seed)
        rng = stream(self.config, 0, TRIAL)
        pool.deal(0, draw_sizes(pool, self.rule_sets, rng, small=False))
        learner = Learner(self.actor, self.encoding, rng, device=self.device, oracle=False)
        play(pool, [learner.choose], np.zeros((tables, MAX_SEATS), np.int64))
        decisions = len(learner.decisions(pool)) / tables
        wanted = self.config.batch / max(decisions, 1) / self.processes.world
        return max(round(wanted), self.thread_pool.threads * len(self.rule_sets))

    @property
    def labels(self) -> list[str]:
        """The rule_sets of tables in the names of figures."""
        return [label(kind) for kind in self.rule_sets]

    # ------------------------------------------------------------------------------------------------- an iteration

    @property
    def progress(self) -> float:
        """Share of the budget that is spent."""
        return min(1.0, self.decisions / self.config.decisions)

    def iterate(self) -> dict[str, float]:
        """One iteration.

        Returns:
            Its figures (see `Watcher`).
        """
        started = time.perf_counter()
        played = self.thread_pool.all([partial(self._play, place) for place in self.places])
        rolled_out = time.perf_counter()
        figures = self._learn(played)
        ended = time.perf_counter()
        together = self.processes.summed(np.array([sum(len(part.decisions) for part in played)]))
        self.iteration += 1
        self.decisions += int(together[0])
        figures |= {
            "decisions_per_second": float(together[0]) / (ended - started),
            "rollout_seconds": rolled_out - started,
            "engine_seconds": sum(part.engine_seconds for part in played) / self.thread_pool.threads,
            "learn_seconds": ended - rolled_out,
        }
        return figures | probe_figures(played)

    def _draw_opponent(self, place: Place) -> str | None:
        """Who else sits at some tables of a place in this iteration, a past self or a player by name; None if nobody does."""
        if self._has_tryouts:
            return OTHERS
        if self._has_lesson or schedule.league_share(self.progress, self.config.league) == 0:
            return None
        names = [*self.past, *self.config.league.opponents]
        return draw_opponent(names, stream(self.config, self.iteration, OPPONENTS, place.number))

    def _play(self, place: Place) -> Played:
        """The deals of one place."""
        pool, config = place.pool, self.config
        rng = stream(config, self.iteration, DEALS, place.number)
        before = pool.engine_seconds
        small = schedule.has_small_hands(self.progress, self.curriculum)
        pool.deal(self.iteration, None if pool.in_matches else draw_sizes(pool, self.rule_sets, rng, small))
        auction = has_auction(pool, self.rule_sets)
        opened = auction & (rng.random(len(pool)) < schedule.random_contract_share(self.progress, self.curriculum))
        learner = self._learner(place, rng)
        players: list[Choose] = [learner.choose]
        seating = np.zeros((len(pool), MAX_SEATS), np.int64)
        opponent = self._draw_opponent(place)
        if opponent is not None:
            players.append(self._opponent(opponent, rng))
            share = SHARE if self._has_tryouts else schedule.league_share(self.progress, config.league)
            seating = draw_seating(pool.seats, share, rng)
        play(pool, players, seating, opened, RandomContract(rng).choose)
        passed_out = pool.batch.tables.passed_out[auction & ~opened]
        return Played(
            learner.decisions(pool),
            pool.batch.points.copy(),
            pool.rule_set,
            pool.seats,
            (int(passed_out.sum()), len(passed_out)),
            self._probes(pool, seating == 0, ~opened),
            pool.engine_seconds - before,
        )

    @property
    def _has_lesson(self) -> bool:
        """Whether the teacher plays in this iteration."""
        return schedule.has_lesson(self.progress, self.curriculum)

    @property
    def _has_tryouts(self) -> bool:
        """Whether all actions are tried in this iteration."""
        return schedule.has_tryouts(self.progress, self.curriculum)

    @property
    def _advice_weight(self) -> float:
        """Weight of the teacher's advice in this iteration."""
        return schedule.advice_weight(self.progress, self.curriculum)

    def _learner(self, place: Place, rng: np.random.Generator) -> Learner:
        """Who learns at the tables: the policy, from its own play, with or without advice, or from the teacher's."""
        oracle = place.pool.batch.hidden_state is not None
        if self._has_lesson:
            teacher = self.guests[self.curriculum.teacher].make()
            return Pupil(teacher, self.actor, self.encoding, rng, oracle=oracle)
        adviser = None
        if self._advice_weight > 0:
            of_adviser = stream(self.config, self.iteration, ADVICE, place.number)
            adviser = self.guests[self.curriculum.teacher].at_tables(of_adviser)
        tryouts = RolloutTargets(self.encoding) if self._has_tryouts else None
        how: dict[str, Any] = {"dtype": self.dtype, "device": self.device, "oracle": oracle, "adviser": adviser}
        return Learner(self.actor, self.encoding, rng, **how, tryouts=tryouts)

    def _probes(self, pool: TablePool, learners: np.ndarray, rows: np.ndarray) -> dict[str, Tally]:
        """What the learner did at some of the tables, for each kind."""
        of_kind = {number: np.flatnonzero(rows & (pool.rule_set == number)) for number in np.unique(pool.rule_set)}
        tables = pool.batch.tables
        return {
            self.labels[number]: count_deals(tables[chosen].view(np.recarray), self.rule_sets[number], learners[chosen])
            for number, chosen in of_kind.items()
        }

    def _opponent(self, name: str, rng: np.random.Generator) -> Choose:
        """An opponent at the tables."""
        if name not in self.past:
            return self.guests[name].at_tables(rng)
        return at_tables(ActorPlayer(self.past[name], self.encoding, dtype=self.dtype, device=self.device), rng)

    def _learn(self, played: Sequence[Played]) -> dict[str, float]:
        """Values, advantages, and the updates of both networks."""
        config = self.config
        first = np.cumsum([0, *(len(part.points) for part in played)])
        decisions = Decisions.joined(part.decisions.moved(int(start)) for part, start in zip(played, first, strict=False))
        reward = self._rewards(played)
        everything = self._everything(decisions)
        value = self._values(everything)
        advantage = advantages(decisions.table, decisions.seat, value, reward, config.ppo.gae_lambda)
        sample = self._sample(decisions, everything, value, advantage)
        rate = schedule.learning_rate(self.progress, config.ppo)
        for optimiser in (self.optimiser, self.critic_optimiser):
            for group in optimiser.param_groups:
                group["lr"] = rate
        of_actor, of_critic = self._update(sample)
        explained = explained_variance(value, reward[decisions.table, decisions.seat])
        return of_actor | of_critic | {"explained_variance": explained, "learning_rate": rate} | entropies(decisions)

    def _everything(self, decisions: Decisions) -> torch.Tensor:
        """What the critic sees, uint8, shape (n, columns)."""
        seen = decisions.features
        if self.config.oracle:
            seen = np.concatenate([seen, decisions.hidden], axis=1)
        return torch.from_numpy(seen).to(self.device)

    @property
    def _magnet(self) -> float:
        """Weight of the KL to the slow average in this iteration."""
        if self._has_lesson or self._has_tryouts:
            return 0.0
        return schedule.magnet_weight(self.progress, self.config.ppo)

    def _slow_log_policy(self, features: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Log probabilities of the slow average, float32, shape (n, n_choices); no columns where the magnet is off."""
        if self._magnet == 0:
            return torch.zeros((len(mask), 0), device=self.device)
        size = self.config.ppo.microbatch
        parts = zip(features.tensor_split(self.thread_pool.threads), mask.tensor_split(self.thread_pool.threads), strict=True)
        jobs = [partial(log_policy_of, self.slow, seen, legal, self.dtype, size) for seen, legal in parts]
        return torch.cat(self.thread_pool.all(jobs))

    def _update(self, sample: Sample) -> tuple[dict[str, float], dict[str, float]]:
        """Improve actor and critic, side by side; the figures of each."""
        settings = self.config.ppo
        seed = int(stream(self.config, self.iteration, LEARNING, self.processes.rank).integers(2**62))
        sizes = self.processes.sizes(len(sample))
        shares = [MinibatchPlan(sizes, self.processes.rank, group) for group in self.processes.groups]
        together: dict[str, Any] = {"seed": seed, "dtype": self.dtype}
        actor = (self.student, self.slow, self.optimiser, sample, shares[0], settings)
        critic = (self.student_critic, self.critic_optimiser, sample, shares[1], settings)
        improve_critic = partial(update_critic, *critic, **together)
        if self.config.initial and schedule.learns_critic_only(self.progress, self.curriculum):
            (of_critic,) = self.thread_pool.all([improve_critic])
            return {}, of_critic
        improve_actor = partial(update_actor, *actor, magnet=self._magnet, lesson=self._has_lesson, **together)
        of_actor, of_critic = self.thread_pool.all([improve_actor, improve_critic])
        return of_actor, of_critic

    def _rewards(self, played: Sequence[Played]) -> np.ndarray:
        """What each deal paid to each seat, normalised, float32, shape (tables, MAX_SEATS)."""
        points = np.concatenate([part.points for part in played])
        seats = np.concatenate([part.seats for part in played])
        kind = np.concatenate([part.rule_set for part in played])
        reward = relative_points(points, seats)
        sums = np.bincount(kind, (reward.astype(np.float64) ** 2).sum(1), len(self.rule_sets))
        counts = np.bincount(kind, seats, len(self.rule_sets))
        passed_out = np.array([part.passed_out for part in played], np.float64).sum(0)
        together = self.processes.summed(np.concatenate([sums, counts, passed_out]))
        number = len(self.rule_sets)
        self.scale.update(together[:number], together[number : 2 * number])
        self.pass_out_guard.update(together[-2], together[-1])
        return self.scale.normalised(reward, kind)

    def _values(self, everything: torch.Tensor) -> np.ndarray:
        """What the critic says about the decisions, float32, shape (n,)."""
        parts = everything.tensor_split(self.thread_pool.threads)
        size = self.config.ppo.microbatch
        values = self.thread_pool.all([partial(values_of, self.critic, part, self.dtype, size) for part in parts])
        return np.asarray(torch.cat(values).cpu().numpy())

    def _sample(self, decisions: Decisions, everything: torch.Tensor, value: np.ndarray, advantage: np.ndarray) -> Sample:
        """Everything as tensors."""
        call, in_play = (0.0, 0.0) if self._has_lesson else schedule.entropy_weights(self.progress, self.config.ppo)
        if self._has_tryouts:
            call = in_play = ENTROPY
        weight = np.where(decisions.phase < PLAYING, call * self.pass_out_guard.factor, in_play).astype(np.float32)
        device = self.device

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array).to(device)

        return Sample(
            tensor(decisions.features),
            everything,
            tensor(decisions.mask),
            tensor(decisions.choice),
            tensor(decisions.log_probability),
            tensor(self._normalised(advantage, decisions.rule_set)),
            tensor(value + advantage),
            tensor(weight),
            tensor(decisions.hidden),
            tensor(decisions.tricks),
            self._slow_log_policy(tensor(decisions.features), tensor(decisions.mask)),
            tensor(decisions.advice),
            tensor(np.where(decisions.advice == NO_ADVICE, 0, self._advice_weight).astype(np.float32)),
            tensor(self.scale.normalised(decisions.worth, decisions.rule_set)),
            tensor(decisions.told),
        )

    def _normalised(self, advantage: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """Advantages with mean 0 and variance 1 within each kind of table, over all processes; float32, shape (n,)."""
        number = len(self.rule_sets)
        exact = advantage.astype(np.float64)
        sums = [np.bincount(kind, exact**power, number) for power in range(3)]
        count, total, square = self.processes.summed(np.stack(sums))
        mean = total / np.maximum(count, 1)
        deviation = np.sqrt(np.maximum(square / np.maximum(count, 1) - mean**2, 0)) + 1e-8
        return np.asarray((exact - mean[kind]) / deviation[kind], np.float32)

    # --------------------------------------------------------------------------------------------------- the state

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs: tensors and plain values."""
        tables = {str(place.number): torch.from_numpy(place.pool.save()) for place in self.places if place.pool.in_matches}
        return {
            "iteration": self.iteration,
            "decisions": self.decisions,
            "student": bare_module(self.student).state_dict(),
            "slow": self.slow.state_dict(),
            "critic": self.critic.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "critic_optimiser": self.critic_optimiser.state_dict(),
            "scale": self.scale.state(),
            "pass_out_guard": self.pass_out_guard.state(),
            "tables": self._gathered(tables),
        }

    def _gathered(self, tables: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The tables of all processes."""
        workers = self.thread_pool.threads
        everywhere = {}
        for name, saved in tables.items():
            for rank, part in enumerate(self.processes.gathered(saved)):
                everywhere[str(int(name) + 2 * workers * (rank - self.processes.rank))] = part
        return everywhere

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.iteration, self.decisions = int(state["iteration"]), int(state["decisions"])
        bare_module(self.student).load_state_dict(state["student"])
        self.slow.load_state_dict(state["slow"])
        self.critic.load_state_dict(state["critic"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.critic_optimiser.load_state_dict(state["critic_optimiser"])
        self.scale.restore(state["scale"])
        self.pass_out_guard.restore(state["pass_out_guard"])
        for place in self.places:
            if place.pool.in_matches:
                place.pool.restore(state["tables"][str(place.number)].numpy())

    def close(self) -> None:
        """End the threads."""
        self.thread_pool.close()


def initial_parameters(name: str, encoding: Encoding, actor: Actor) -> dict[str, torch.Tensor]:
    """The parameters of the policy that a run begins with; what it did not see before has no weight at first.

    Raises:
        PolicyFileError: there is no such policy, or it holds none that can be used here.
        ValueError: it is for other tables, or of another size.
    """
    _, of_policy, tensors = read_policy(policy_file_of(name))
    if make_encoding(of_policy.rule_sets, encoding.card_features, encoding.rule_based_prior).digest != encoding.digest:
        trained = ", ".join(label(kind) for kind in of_policy.rule_sets)
        raise ValueError(f"a run can begin with a policy for the same tables only; {name} is for {trained}")
    try:
        places = encoding.places_of(of_policy)
    except ValueError as error:
        raise ValueError(f"a run can begin with a policy only if it sees what the policy sees; of {name}, {error}") from error
    old = tensors["trunk.first.weight"]
    tensors["trunk.first.weight"] = np.zeros((len(old), encoding.n_features), np.float32)
    tensors["trunk.first.weight"][:, places] = old
    state = actor.state_dict()
    if encoding.rule_based_prior and not of_policy.rule_based_prior:
        tensors["head.prior"] = np.zeros(tuple(state["head.prior"].shape), np.float32)
    if any(tensor.shape != state[key].shape for key, tensor in tensors.items() if key in state) or len(state) != len(tensors):
        raise ValueError(f"a run can begin with a policy of the same size only; {name} has layers of other sizes")
    return {key: torch.from_numpy(tensor) for key, tensor in tensors.items()}


# ------------------------------------------------------------------------------------------------------- figures


def explained_variance(value: np.ndarray, reward: np.ndarray) -> float:
    """1 - Var(reward - value) / Var(reward): 1 for a perfect critic, 0 for one that says always the same."""
    variance = float(np.var(reward)) if len(reward) else 0.0
    return 1 - float(np.var(reward - value)) / variance if variance > 0 else math.nan


def entropies(decisions: Decisions) -> dict[str, float]:
    """For each phase, the mean of -log probability over log(legal actions) of the actions taken: an estimate of the entropy."""
    legal = decisions.mask.sum(axis=1, dtype=np.float64)
    surprise = -decisions.log_probability / np.log(np.maximum(legal, 2))
    counts = np.bincount(decisions.phase, minlength=len(PHASE_NAMES))
    sums = np.bincount(decisions.phase, surprise, len(PHASE_NAMES))
    return {f"entropy/{name}": sums[k] / counts[k] for k, name in enumerate(PHASE_NAMES) if counts[k] > 0}


def probe_figures(played: Sequence[Played]) -> dict[str, float]:
    """The probes of an iteration: `played/<kind>/<probe>`."""
    together: dict[str, Tally] = {}
    for part in played:
        for kind, tally in part.probes.items():
            together[kind] = together.get(kind, Tally()) + tally
    return {f"played/{kind}/{name}": mean for kind, tally in together.items() for name, mean in tally.means().items()}


# ------------------------------------------------------------------------------------------------ where it computes


def chosen_device(name: str) -> str:
    """The device that a configuration names.

    Raises:
        ValueError: it is not there.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda is not there: torch finds no GPU; use cpu or auto")
    if name not in ("cpu", "cuda"):
        raise ValueError(f"device must be auto, cpu or cuda, not {name!r}")
    return name


def chosen_precision(name: str, device: str) -> torch.dtype:
    """The precision of the passes through the networks; parameters are float32 always."""
    if name == "auto":
        if device == "cuda":
            return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
        return torch.bfloat16 if bool(torch.cpu.get_capabilities().get("avx512_bf16")) else torch.float32
    return torch.bfloat16 if name == "bf16" else torch.float32
