"""An iteration of self-play, to be read as CleanRL's `ppo.py`: collect -> advantages -> update.

All that is random follows from (seed, iteration), so a run that is resumed at an iteration ends with the same parameters as one
that was never stopped, on one machine with the same number of threads.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import torch

from noms_env.core.actions import PLAYING
from noms_env.core.state import MAX_SEATS
from noms_env.players.registry import versioned
from noms_env.policy.encoding import Encoding
from noms_env.variants import Rules

from ..agents.registry import agent_spec, label
from ..agents.spec import AgentSpec
from ..agents.table_pool import AtTables, Choose, TablePool, make_rule_sets, play, relative_points
from ..config import TrainConfig
from ..evaluation.behaviour_stats import Tally
from ..options import parse_options
from ..thread_pool import ThreadPool
from . import distillation, ppo, schedule
from .decisions import Decisions, Recorder, entropies
from .distillation import Distillation, ImitatedExpert
from .distributed import Processes, device_of, precision_of
from .gae import advantages, calibration, explained_variance
from .network import Actor, Critic, encoding_of, initial_parameters
from .opponents import draw_opponent
from .ppo import ActorBatch, CriticBatch, DistilledBatch, MinibatchPlan
from .reward_norm import RewardNorm
from .rollout import ActorPlayer, Learner, Rollout, RolloutWorker, draw_sizes, joined, make_workers
from .schedule import Stage

DEALS, LEARNING, OPPONENTS, TRIAL, DISTILLATION = range(5)
"""Purposes of random streams; a stream follows from (seed, iteration, purpose, number)."""
TRIAL_TABLES = 64
"""Tables for each of the rules, from whose deals the number of tables is found."""


class SelfPlay:
    """A training run: networks, tables, and statistics.

    Attributes:
        iteration, decisions: done so far.
        actor, critic: the networks.
        workers: the tables, each with its thread.
        past: past policies that are opponents, by name.
    """

    def __init__(self, config: TrainConfig, processes: Processes | None = None) -> None:
        """Set everything up.

        Raises:
            ValueError: the configuration asks for what cannot be had.
        """
        self.config = config
        self.curriculum = schedule.curriculum_of(config)
        self.processes = processes or Processes()
        self.rule_sets: list[Rules] = make_rule_sets(config.variants, config.seats, parse_options(config.option))
        self.labels = [label(rules) for rules in self.rule_sets]
        self.encoding: Encoding = encoding_of(config, self.rule_sets)
        self.device = device_of(config.device)
        self.dtype = precision_of(config.precision, self.device)
        self.thread_pool = ThreadPool(config.threads or os.cpu_count() or 1)
        self.iteration = 0
        self.decisions = 0
        shards = self.curriculum.shards
        self.distillation = Distillation(shards, self.encoding, self.rule_sets) if shards else None
        self._make_networks()
        tables = config.tables or self._tables_of_a_batch()
        workers = make_workers(self.rule_sets, tables, self.thread_pool.threads, config, self.processes.rank)
        self.workers: list[RolloutWorker] = list(workers)
        self.reward_norm = RewardNorm(len(self.rule_sets))
        self.past: dict[str, Actor] = {}
        names = [*config.opponents.players, self.curriculum.expert]
        self.players: dict[str, AgentSpec] = {name: self.spec(name) for name in names if name}

    def spec(self, name: str) -> AgentSpec:
        """Another player of the run, by its name there."""
        return replace(agent_spec(versioned(name, self.config.thumb_version)), name=name)

    def _make_networks(self) -> None:
        config, encoding = self.config, self.encoding
        torch.manual_seed(config.seed % 2**63)
        self.actor = self.new_actor()
        if config.initial_policy:
            self.actor.load_state_dict(initial_parameters(config.initial_policy, encoding, self.actor))
        hidden = encoding.n_hidden if config.privileged_critic else 0
        scale = torch.cat([torch.from_numpy(encoding.scale), torch.ones(hidden)])
        self.critic = Critic(scale, config.critic).to(self.device)
        self.shared_actor = self.processes.wrapped(self.actor, 0)
        self.shared_critic = self.processes.wrapped(self.critic, 1)
        settings: dict[str, Any] = {"lr": config.ppo.learning_rate, "eps": 1e-5, "fused": True}
        self.actor_optimizer = torch.optim.Adam(self.shared_actor.parameters(), **settings)
        self.critic_optimizer = torch.optim.Adam(self.shared_critic.parameters(), **settings)

    def new_actor(self) -> Actor:
        """An actor of the run's shape."""
        return Actor.of(self.encoding, self.config.network).to(self.device)

    def _tables_of_a_batch(self) -> int:
        """Tables whose deals make a batch of decisions, estimated from some deals of the first policy."""
        tables = TRIAL_TABLES * len(self.rule_sets)
        pool = TablePool(self.rule_sets, range(len(self.rule_sets)), tables, seed=self.config.seed)
        rng = self._stream(TRIAL)
        pool.deal(0, draw_sizes(pool, self.rule_sets, rng))
        recorder = Recorder(self.encoding, privileged=False)
        learner = Learner(ActorPlayer(self.actor, self.encoding, device=self.device), rng, recorder)
        play(pool, [learner.choose], np.zeros((tables, MAX_SEATS), np.int64))
        decisions = len(recorder.decisions(pool)) / tables
        wanted = self.config.batch_size / max(decisions, 1) / self.processes.world
        return max(round(wanted), self.thread_pool.threads * len(self.rule_sets))

    def _stream(self, purpose: int, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, self.iteration, purpose, number])

    # ------------------------------------------------------------------------------------------------- an iteration

    @property
    def progress(self) -> float:
        """Share of the budget that is spent."""
        return min(1.0, self.decisions / self.config.decisions)

    @property
    def stage(self) -> Stage:
        """What the policy learns from in this iteration."""
        return schedule.stage(self.progress, self.curriculum)

    def iterate(self) -> dict[str, float]:
        """One iteration.

        Returns:
            Its figures (see `Watcher`).
        """
        started, of = perf_counter(), self.stage
        rollouts = self.thread_pool.all([partial(self.collect, worker) for worker in self.workers])
        collected = perf_counter()
        decisions, reward = joined(rollouts), self._rewards(rollouts)
        seen = np.concatenate([decisions.features, decisions.hidden], axis=1)
        critic_features = torch.from_numpy(seen).to(self.device)
        value = self._values(critic_features)
        advantage = advantages(decisions.table, decisions.seat, value, reward, self.config.ppo.gae_lambda)
        critic_batch = CriticBatch(critic_features, target=torch.from_numpy(value + advantage).to(self.device))
        figures = self._update(self._actor_batch(decisions, advantage), critic_batch)
        ended = perf_counter()
        paid = reward[decisions.table, decisions.seat]
        figures |= {"explained_variance": explained_variance(value, paid)} | calibration(value, paid)
        figures |= behaviour_figures(rollouts)
        if of is not Stage.IMITATION:  # where the expert acts, nobody has drawn the actions with the policy's probabilities
            figures |= entropies(decisions)
        done = int(self.processes.summed(np.array([len(decisions)]))[0])
        self.iteration += 1
        self.decisions += done
        return figures | {
            "decisions_per_second": done / (ended - started),
            "rollout_seconds": collected - started,
            "engine_seconds": sum(part.engine_seconds for part in rollouts) / self.thread_pool.threads,
            "learn_seconds": ended - collected,
        }

    # ------------------------------------------------------------------------------------------------------ collect

    def collect(self, worker: RolloutWorker) -> Rollout:
        """The deals of one worker."""
        rng = self._stream(DEALS, worker.number)
        recorder = Recorder(self.encoding, self.config.privileged_critic)
        learner = self._learner(recorder, rng)
        name, opponent = self.draw_opponent(worker), None
        if name is not None:
            opponent = AtTables(self.player(self.past[name]) if name in self.past else self.players[name].make(), rng)
        share = schedule.opponent_share(self.progress, self.config.opponents, self.stage)
        return worker.play(self.iteration, learner, recorder, opponent, share, rng, self.config.opponents.alone)

    def _learner(self, recorder: Recorder, rng: np.random.Generator) -> Choose:
        if self.stage is Stage.IMITATION:
            return ImitatedExpert(self.players[self.curriculum.expert].make(), self.encoding, rng, recorder).choose
        return Learner(self.player(self.actor), rng, recorder).choose

    def player(self, actor: Actor, greedy: bool = False) -> ActorPlayer:
        """An actor of this run as a player."""
        return ActorPlayer(actor, self.encoding, dtype=self.dtype, device=self.device, greedy=greedy)

    def draw_opponent(self, worker: RolloutWorker) -> str | None:
        """A past policy, or a player by name, that sits at some tables of a worker; None if nobody does."""
        if schedule.opponent_share(self.progress, self.config.opponents, self.stage) == 0:
            return None
        return draw_opponent([*self.past, *self.config.opponents.players], self._stream(OPPONENTS, worker.number))

    # --------------------------------------------------------------------------------------------------- advantages

    def _rewards(self, rollouts: Sequence[Rollout]) -> np.ndarray:
        """What each deal paid to each seat, normalised, float32, shape (tables, MAX_SEATS)."""
        points = np.concatenate([part.points for part in rollouts])
        seats = np.concatenate([worker.pool.seats for worker in self.workers])
        rule_set = np.concatenate([worker.pool.rule_set for worker in self.workers])
        number = len(self.rule_sets)
        reward = relative_points(points, seats)
        squares = np.bincount(rule_set, (reward.astype(np.float64) ** 2).sum(1), number)
        counts = np.bincount(rule_set, seats, number)
        self.reward_norm.update(*self.processes.summed(np.stack([squares, counts])))
        return self.reward_norm.normalised(reward, rule_set)

    def _values(self, critic_features: torch.Tensor) -> np.ndarray:
        """The critic's values, float32, shape (n,)."""
        parts = critic_features.tensor_split(self.thread_pool.threads)
        values = self.thread_pool.all([partial(ppo.values_of, self.critic, part, self.dtype) for part in parts])
        return np.asarray(torch.cat(values).cpu().numpy())

    def _normalised(self, advantage: np.ndarray, rule_set: np.ndarray) -> np.ndarray:
        """Advantages with mean 0 and variance 1 under each of the rules, over all processes; float32, shape (n,)."""
        number = len(self.rule_sets)
        exact = advantage.astype(np.float64)
        sums = [np.bincount(rule_set, exact**power, number) for power in range(3)]
        count, total, square = self.processes.summed(np.stack(sums))
        mean = total / np.maximum(count, 1)
        deviation = np.sqrt(np.maximum(square / np.maximum(count, 1) - mean**2, 0)) + 1e-8
        return np.asarray((exact - mean[rule_set]) / deviation[rule_set], np.float32)

    # ------------------------------------------------------------------------------------------------------- update

    def _actor_batch(self, decisions: Decisions, advantage: np.ndarray) -> ActorBatch:

        def tensor(array: np.ndarray | None) -> Any:
            return None if array is None else torch.from_numpy(array).to(self.device)

        def by_phase(call: float, play: float) -> Any:
            return tensor(np.where(decisions.phase < PLAYING, call, play).astype(np.float32))

        now = schedule.settings_at(self.progress, self.config.ppo, self.stage)
        features, mask = tensor(decisions.features), tensor(decisions.mask)
        return ActorBatch(
            features=features,
            mask=mask,
            choice=tensor(decisions.choice),
            log_prob=tensor(decisions.log_prob),
            advantage=tensor(self._normalised(advantage, decisions.rule_set)),
            ent_coef=by_phase(now.ent_coef_call, now.ent_coef_play),
            uniform_kl_coef=by_phase(now.uniform_kl_coef, 0),
            expert_probs=tensor(decisions.expert_probs),
        )

    def _update(self, actor_batch: ActorBatch, critic_batch: CriticBatch) -> dict[str, float]:
        now = schedule.settings_at(self.progress, self.config.ppo, self.stage)
        for optimizer in (self.actor_optimizer, self.critic_optimizer):
            for group in optimizer.param_groups:
                group["lr"] = now.learning_rate
        seed = int(self._stream(LEARNING, self.processes.rank).integers(2**62))
        sizes = self.processes.sizes(len(actor_batch.choice))
        actor_plan, critic_plan = (
            MinibatchPlan(sizes, now.minibatch_size, seed, self.processes.rank, group) for group in self.processes.groups
        )
        critic = (self.shared_critic, self.critic_optimizer, critic_batch, critic_plan, now, self.dtype)
        jobs = [partial(ppo.update_critic, *critic)]
        if self.stage is not Stage.CRITIC_WARMUP:
            actor = (self.shared_actor, self.actor_optimizer, actor_batch, actor_plan, now, self.dtype)
            jobs.append(partial(ppo.update_actor, *actor, self._distilled(now.minibatch_size)))
        figures = {"learning_rate": now.learning_rate}
        for found in self.thread_pool.all(jobs):
            figures |= found
        return figures

    def _distilled(self, minibatch_size: int) -> Iterator[DistilledBatch] | None:
        """Recorded decisions for each minibatch, if they count at the moment."""
        coef = schedule.distil_coef(self.progress, self.curriculum, self.stage)
        if self.distillation is None or coef == 0:
            return None
        rows = max(1, round(distillation.SHARE * minibatch_size / self.processes.world))
        rng, recorded = self._stream(DISTILLATION, self.processes.rank), self.distillation
        return (recorded.batch(rows, coef, rng, self.device) for _ in itertools.count())

    # --------------------------------------------------------------------------------------------------- the state

    def _parts(self) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "critic": self.critic,
            "actor_optimizer": self.actor_optimizer,
            "critic_optimizer": self.critic_optimizer,
            "reward_norm": self.reward_norm,
        }

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs: tensors and plain values."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return {"iteration": self.iteration, "decisions": self.decisions, "tables": self._tables()} | parts

    def _tables(self) -> dict[str, torch.Tensor]:
        """The tables of all processes at which matches go on, by the number of the worker."""
        found = {}
        for worker in self.workers:
            if worker.pool.in_matches:
                own = torch.from_numpy(worker.pool.save())
                for rank, saved in enumerate(self.processes.gathered(own)):
                    found[str(worker.number + 2 * self.thread_pool.threads * (rank - self.processes.rank))] = saved
        return found

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ValueError, KeyError, TypeError, AttributeError or RuntimeError: it is no state, or that of another run.
        """
        self.iteration, self.decisions = int(state["iteration"]), int(state["decisions"])
        if min(self.iteration, self.decisions) < 0:
            raise ValueError("nothing can be done less than never")
        for optimizer, name in ((self.actor_optimizer, "actor_optimizer"), (self.critic_optimizer, "critic_optimizer")):
            check_optimizer_state(optimizer, state[name])
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        for worker in self.workers:
            if worker.pool.in_matches:
                worker.pool.restore(state["tables"][str(worker.number)].numpy())

    def close(self) -> None:
        """End the threads."""
        self.thread_pool.close()


def check_optimizer_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Make sure that a state can be that of an optimizer, which torch takes as it comes.

    Raises:
        ValueError: its settings, but for the learning rate, or its tensors are others.
    """
    groups = optimizer.state_dict()["param_groups"], state["param_groups"]
    now, then = ([group | {"lr": 0} for group in one] for one in groups)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    tensors = [(parameters[place].shape, tensor) for place, kept in state["state"].items() for tensor in kept.values()]
    if now != then or any(tensor.shape not in ((), shape) or tensor.dtype != torch.float32 for shape, tensor in tensors):
        raise ValueError("the optimizer was another")


# ------------------------------------------------------------------------------------------------------- figures


def behaviour_figures(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """The learner's behaviour in an iteration: `played/<rules>/<figure>`."""
    together: dict[str, Tally] = {}
    for part in rollouts:
        for rules, tally in part.behaviour.items():
            together[rules] = together.get(rules, Tally()) + tally
    return {f"played/{rules}/{name}": mean for rules, tally in together.items() for name, mean in tally.means().items()}
