"""PPO by self-play. `Trainer.iterate` is the algorithm.

    collect -> critic values -> advantages (gae) -> ppo_update

`loop` repeats it to the end of the budget, with evaluations and checkpoints in between. All that is random follows from
(seed, iteration), so a run that is resumed at an iteration ends with the same parameters as one that was never stopped, on one
machine with the same number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from noms_env.players.registry import versioned
from noms_env.variants import Rules

from ..agents.registry import agent_spec, label
from ..agents.spec import AgentSpec
from ..agents.table_pool import AtTables, make_rule_sets
from ..options import parse_options
from ..thread_pool import ThreadPool
from . import schedule
from .checkpoint import check_optimizer_state
from .collect import (
    ActorPlayer,
    Learner,
    Played,
    PolicyLearner,
    Worker,
    behaviour_figures,
    entropies,
    joined,
    make_workers,
    tables_for,
)
from .config import TrainConfig
from .distributed import Processes, device_of, precision_of
from .gae import RewardScale, critic_figures, gae, normalised
from .imitation import SHARE, ImitatedExpert, Recorded, RecordedDecisions
from .log import Profile
from .network import Actor, Critic, encoding_of, initial_parameters
from .opponents import draw_opponent
from .ppo import Shuffle, Trainable, critic_values, ppo_update
from .schedule import Now, Stage

DEALS, LEARNING, OPPONENTS, TRIAL, RECORDED = range(5)
"""Purposes of random streams; a stream follows from (seed, iteration, purpose, number)."""


class Trainer:
    """What a run is made of: networks, tables, opponents, and the scale of the rewards.

    Attributes:
        iteration, decisions: done so far.
        actor, critic: the networks.
        workers: the tables, each with its thread.
        past: past policies that are opponents, by name.
        players: other players by name: opponents, and the expert.
    """

    def __init__(self, config: TrainConfig, processes: Processes | None = None) -> None:
        """Set everything up.

        Raises:
            ValueError: the configuration is invalid.
        """
        self.config, self.processes = config, processes or Processes()
        self.iteration = self.decisions = 0
        self.rule_sets: list[Rules] = make_rule_sets(config.variants, config.seats, parse_options(config.option))
        self.labels = [label(rules) for rules in self.rule_sets]
        self.encoding = encoding_of(config, self.rule_sets)
        self.device = device_of(config.device)
        self.dtype = precision_of(config.precision, self.device)
        self.threads = ThreadPool(config.threads or os.cpu_count() or 1)
        shards = config.curriculum.shards
        self.recorded = RecordedDecisions(shards, self.encoding, self.rule_sets) if shards else None
        torch.manual_seed(config.seed % 2**63)
        self.actor = self.new_actor()
        if config.initial_policy:
            self.actor.load_state_dict(initial_parameters(config.initial_policy, self.encoding, self.actor))
        hidden = torch.ones(self.encoding.n_hidden if config.privileged_critic else 0)
        scale = torch.cat([torch.from_numpy(self.encoding.scale), hidden])
        self.critic = Critic(scale, config.critic).to(self.device)
        self.trainable = self._trainable(self.actor, 0), self._trainable(self.critic, 1)
        self.actor_optimizer, self.critic_optimizer = (network.optimizer for network in self.trainable)
        tables = config.tables or self._tables_of_a_batch()
        self.workers = list(make_workers(self.rule_sets, tables, self.threads.threads, config, self.processes.rank))
        pools = [worker.pool for worker in self.workers]
        self.rule_set = torch.from_numpy(np.concatenate([pool.rule_set for pool in pools])).to(self.device)
        self.seats = torch.from_numpy(np.concatenate([pool.seats for pool in pools])).to(self.device)
        self.reward_scale = RewardScale(len(self.rule_sets), self.device)
        self.past: dict[str, Actor] = {}
        names = [*config.opponents.players, config.curriculum.expert]
        self.players: dict[str, AgentSpec] = {name: self.spec(name) for name in names if name}

    def new_actor(self) -> Actor:
        """An actor of the run's shape."""
        return Actor.of(self.encoding, self.config.network).to(self.device)

    def _trainable(self, network: Actor | Critic, group: int) -> Trainable:
        module = self.processes.wrapped(network, group)
        optimizer = torch.optim.Adam(module.parameters(), lr=self.config.ppo.learning_rate, eps=1e-5, fused=True)
        return Trainable(module, optimizer, self.dtype, partial(self.processes.summed, group=group))

    def spec(self, name: str) -> AgentSpec:
        """Another player of the run, by its name there."""
        return replace(agent_spec(versioned(name, self.config.thumb_version)), name=name)

    def player(self, actor: Actor, greedy: bool = False) -> ActorPlayer:
        """An actor of this run as a player."""
        return ActorPlayer(actor, self.encoding, dtype=self.dtype, device=self.device, greedy=greedy)

    def _tables_of_a_batch(self) -> int:
        """Tables whose deals make a batch of decisions, estimated from some deals of the first policy."""
        player = ActorPlayer(self.actor, self.encoding, device=self.device)
        learner = PolicyLearner(player, self._stream(TRIAL), privileged=False)
        tables = tables_for(self.config.batch_size / self.processes.world, self.rule_sets, self.config.seed, learner)
        return max(tables, self.threads.threads * len(self.rule_sets))

    def _stream(self, purpose: int, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, self.iteration, purpose, number])

    # ------------------------------------------------------------------------------------------------- an iteration

    def iterate(self) -> dict[str, float]:
        """One iteration; returns its figures (see `Watcher`)."""
        now, profile, summed = schedule.at(self.progress, self.config), Profile(), self.processes.summed
        with profile("play"):
            played = self.threads.all([partial(self.collect, worker, now) for worker in self.workers])
            batch = joined(played, self.rule_set, self.encoding, self.config.privileged_critic, self.device)
        with profile("learn"):
            self.reward_scale.update(batch.reward, self.rule_set, self.seats, summed)
            batch.reward = self.reward_scale.normalised(batch.reward, self.rule_set)
            batch.value = critic_values(self.critic, batch.seen, self.dtype, self.threads)
            batch.advantage = gae(batch.table, batch.seat, batch.value, batch.reward, self.config.ppo.gae_lambda)
            batch.target = batch.value + batch.advantage
            batch.advantage = normalised(batch.advantage, batch.rule_set, len(self.rule_sets), summed)
            done = int(summed(torch.tensor(len(batch))))
            seed = int(self._stream(LEARNING, self.processes.rank).integers(2**62))
            shuffle = Shuffle(len(batch), done, now.ppo.minibatch_size, seed, self.processes.world)
            metrics = ppo_update(*self.trainable, batch, shuffle, now, self.threads, self._recorded(now))
        metrics |= critic_figures(batch.value, batch.reward[batch.table, batch.seat]) | behaviour_figures(played)
        if now.stage is not Stage.IMITATION:  # where the expert acts, nobody has drawn the actions with these probabilities
            metrics |= entropies(batch)
        self.iteration += 1
        self.decisions += done
        return metrics | profile.figures(done, network=sum(part.seconds for part in played) / self.threads.threads)

    @property
    def progress(self) -> float:
        """Share of the budget that is spent."""
        return min(1.0, self.decisions / self.config.decisions)

    def collect(self, worker: Worker, now: Now) -> Played:
        """The deals of one worker."""
        rng, privileged, alone = self._stream(DEALS, worker.number), self.config.privileged_critic, self.config.opponents.alone
        if now.stage is Stage.IMITATION:
            expert = self.players[self.config.curriculum.expert].make()
            learner: Learner = ImitatedExpert(expert, self.encoding, rng, privileged)
        else:
            learner = PolicyLearner(self.player(self.actor), rng, privileged)
        name = self.draw_opponent(worker, now)
        if name is None:
            return worker.play(self.iteration, learner, rng)
        player = self.player(self.past[name]) if name in self.past else self.players[name].make()
        return worker.play(self.iteration, learner, rng, AtTables(player, rng), now.opponent_share, alone)

    def draw_opponent(self, worker: Worker, now: Now) -> str | None:
        """A past policy, or a player by name, that sits at some tables of a worker; None if nobody does."""
        names = [*self.past, *self.config.opponents.players] if now.opponent_share > 0 else []
        return draw_opponent(names, self._stream(OPPONENTS, worker.number))

    def _recorded(self, now: Now) -> Iterator[Recorded] | None:
        """Recorded decisions for each minibatch, if they count at the moment."""
        if self.recorded is None or now.distil_coef == 0:
            return None
        rows = max(1, round(SHARE * now.ppo.minibatch_size / self.processes.world))
        return self.recorded.batches(rows, now.distil_coef, self._stream(RECORDED, self.processes.rank), self.device)

    # --------------------------------------------------------------------------------------------------- the state

    def _parts(self) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "critic": self.critic,
            "actor_optimizer": self.actor_optimizer,
            "critic_optimizer": self.critic_optimizer,
            "reward_scale": self.reward_scale,
        }

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs: tensors and plain values."""
        tables = {}  # those of all processes at which matches go on, by the number of the worker
        for worker in (worker for worker in self.workers if worker.pool.in_matches):
            for rank, saved in enumerate(self.processes.gathered(torch.from_numpy(worker.pool.save()))):
                tables[str(worker.number + 2 * self.threads.threads * (rank - self.processes.rank))] = saved
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return {"iteration": self.iteration, "decisions": self.decisions, "tables": tables} | parts

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ValueError, KeyError, TypeError, AttributeError or RuntimeError: it is no state, or that of another run.
        """
        self.iteration, self.decisions = int(state["iteration"]), int(state["decisions"])
        if min(self.iteration, self.decisions) < 0:
            raise ValueError("counts must not be negative")
        for optimizer, name in ((self.actor_optimizer, "actor_optimizer"), (self.critic_optimizer, "critic_optimizer")):
            check_optimizer_state(optimizer, state[name])
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        for worker in self.workers:
            if worker.pool.in_matches:
                worker.pool.restore(state["tables"][str(worker.number)].numpy())

    def close(self) -> None:
        """End the threads."""
        self.threads.close()
