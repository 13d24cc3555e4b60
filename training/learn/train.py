"""PPO by self-play. `Trainer.iterate` is the algorithm, as in CleanRL's `ppo.py`.

    collect -> critic values -> advantages (gae) -> ppo_update

`loop` repeats it until the budget is spent, with evaluations and checkpoints. All random streams derive from (seed, iteration):
on one machine with the same number of threads, a resumed run and an uninterrupted one end with the same parameters. On a GPU
networks, deals and seeds are restored, but sums may round differently.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from noms_env.envs.validation import Device
from noms_env.players.registry import add_thumb_version
from noms_env.variants import Rules

from ..agents.registry import agent_spec, label
from ..agents.spec import AgentSpec
from ..agents.table_pool import AtTables, make_rule_sets
from ..options import parse_held_out, parse_options
from ..thread_pool import InOrder, ThreadPool
from . import collect, schedule
from .all_actions import AllActionsLearner, decisions_with_values
from .collect import ActorPlayer, Learner, Played, PolicyLearner, Worker
from .config import SIZES, TrainConfig
from .distributed import SIMULATED, Processes, compile_network, device_of, precision_of
from .draw_rules import draw_rules
from .gae import RewardScale, critic_figures, gae, standardise
from .imitation import SHARE, ImitatedExperts, Recorded, RecordedDecisions
from .log import Profile
from .network import GRAIN, Actor, Critic, encoding_of, initial_parameters
from .ppo import Shuffle, Trainable, check_optimizer_state, critic_values, ppo_update
from .schedule import Now, Stage

if TYPE_CHECKING:
    from .collect_cuda import GpuCollector

COMPILED_FROM = 300_000_000  # smallest budget for which the networks are compiled for a GPU, which takes up to a minute
DEALS, LEARNING, OPPONENTS, TRIAL, RECORDED, VALUES = range(6)
"""Purposes of random streams; the key of a stream is (seed, iteration, purpose, number)."""


class Trainer:
    """State of a training run: networks, tables, opponents and reward scale; ValueError if the configuration is invalid.

    Attributes:
        iteration, decisions: completed so far.
        actor, critic: the networks.
        rule_sets: the run's own rules, used in evaluations.
        all_rules: `rule_sets`, then the drawn rules.
        tables_on: device of the tables: "cuda" if training and all opponents run on a GPU, else "cpu".
        workers: the tables, one worker or two per thread.
        past: past policies that are opponents, by name.
        players: other opponents and the experts, by name.
        notes: notices for the user.
    """

    def __init__(self, config: TrainConfig, processes: Processes | None = None) -> None:
        self.device, self.processes = device_of(config.device), processes or Processes()
        self.config = config = config.sized(self.device == "cuda")
        self.notes: list[str] = []
        self.iteration = self.decisions = 0
        self.rule_sets: list[Rules] = make_rule_sets(config.variants, config.seats, parse_options(config.option))
        self.labels = [label(rules) for rules in self.rule_sets]
        drawn = draw_rules(config.variants, config.drawn_rules, config.seed, parse_held_out(config.held_out))
        self.encoding = encoding_of(config, self.rule_sets, drawn)
        self.all_rules = [*self.rule_sets, *drawn]
        self.dtype = precision_of(config.precision, self.device)
        self.players, self.tables_on = self._players()
        on_gpu = self.tables_on == "cuda"
        self.threads = InOrder() if on_gpu else ThreadPool(config.threads or os.cpu_count() or 1)
        shards = config.curriculum.shards
        self.recorded = RecordedDecisions(shards, self.encoding, self.all_rules) if shards else None
        torch.manual_seed(config.seed % 2**63)
        self.actor = self.new_actor()
        if config.initial_policy:
            self.actor.load_state_dict(initial_parameters(config.initial_policy, self.encoding, self.actor))
        self.critic = Critic.of(self.encoding, config.critic, config.privileged_critic).to(self.device)
        self.trainable = self._trainable(self.actor, 0), self._trainable(self.critic, 1)
        self.weights = collect.weights_of(self.all_rules, len(drawn))
        tables, where = config.tables or self._tables_of_a_batch(), (config, self.processes.rank, self.tables_on)
        self.workers = list(collect.make_workers(self.all_rules, len(drawn), tables, self.threads.threads, *where))
        of_tables = zip(*((worker.pool.rule_set, worker.pool.seats) for worker in self.workers), strict=True)
        self.rule_set, self.seats = (torch.from_numpy(np.concatenate(parts)).to(self.device) for parts in of_tables)
        self.reward_scale = RewardScale(len(self.all_rules), self.device)
        self.past: dict[str, Actor] = {}
        self.collector: GpuCollector | None = None
        if on_gpu:
            from .collect_cuda import GpuCollector  # here, since it takes time to import

            parts = self.actor, self.encoding, self.workers, self.dtype
            self.collector = GpuCollector(*parts, config.privileged_critic, self.notes)
        self._is_compiled = self.device == "cpu" or config.decisions < COMPILED_FROM

    def new_actor(self) -> Actor:
        """Return an untrained actor of the configured size."""
        return Actor.of(self.encoding, self.config.network).to(self.device)

    def _trainable(self, network: Actor | Critic, group: int) -> Trainable:
        module = self.processes.wrap(network, group)
        optimizer = torch.optim.Adam(module.parameters(), lr=self.config.ppo.learning_rate, eps=1e-5, fused=True)
        return Trainable(module, optimizer, self.dtype, partial(self.processes.all_sum, group=group))

    def _players(self) -> tuple[dict[str, AgentSpec], Device]:
        """Load the opponents and experts, and choose the device of the tables."""
        experts, names = self.config.curriculum.expert, self.config.opponents.players
        if self.device == "cuda" or (SIMULATED and self.config.device == "cuda"):
            try:
                if schedule.stage(0.0, self.config) is Stage.IMITATION:
                    raise ValueError(f"{' and '.join(experts)} can be imitated on the processor only")
                if self.config.ppo.played_out > 0:
                    raise ValueError("all actions can be played out on the processor only")
                from noms_env.cuda.rows import check_gpu  # here, since it takes time to import

                check_gpu()
                return {name: self.spec(name, "cuda") for name in names}, "cuda"
            except (ImportError, RuntimeError, ValueError) as error:
                self.notes.append(f"the tables are on the processor, which is slower: {error}")
        return {name: self.spec(name) for name in [*names, *experts]}, "cpu"

    def _compile(self) -> None:
        self._is_compiled = True
        rows = torch.zeros((GRAIN, self.critic.trunk.scale.numel()), dtype=torch.uint8, device=self.device)
        mask = torch.ones((GRAIN, self.encoding.n_choices), dtype=torch.int8, device=self.device)
        seen = rows[:, : self.encoding.n_features].contiguous()
        failures = [compile_network(self.critic, rows, self.dtype), compile_network(self.actor, seen, mask, self.dtype)]
        self.notes += [f"learning is slower, since torch cannot compile the networks: {why}" for why in failures if why][:1]

    def spec(self, name: str, device: Device = "cpu") -> AgentSpec:
        """Load another player of the run, with the run's version of `thumb`."""
        return replace(agent_spec(add_thumb_version(name, self.config.thumb_version), device=device), name=name)

    def panel(self) -> list[AgentSpec]:
        """Load the opponents of evaluations, on a GPU if the tables are there and all of them can play there."""
        if self.tables_on == "cuda":
            with suppress(ValueError):
                return [self.spec(name, "cuda") for name in self.config.panel]
        return [self.spec(name) for name in self.config.panel]

    def hero(self, device: Device, greedy: bool) -> AgentSpec:
        """Return the current policy as a player of evaluations."""
        if device == "cpu" or self.collector is None:
            player = self.player(self.actor, greedy)
            return AgentSpec("policy", lambda: player)
        hero: Any = self.collector.hero(greedy)
        return AgentSpec("policy", lambda: hero, device=device)

    def player(self, actor: Actor, greedy: bool = False) -> ActorPlayer:
        return ActorPlayer(actor, self.encoding, dtype=self.dtype, device=self.device, greedy=greedy)

    def expert_for(self, rules: Rules) -> str:
        """Return the name of the first expert that can play under these rules; ValueError if none can."""
        for name in self.config.curriculum.expert:
            try:
                self.players[name].check(rules)
                return name
            except ValueError as error:
                refusal = error
        raise refusal

    def _tables_of_a_batch(self) -> int:
        """Estimate how many tables yield a batch per iteration; at least one for each rule set and thread."""
        player = ActorPlayer(self.actor, self.encoding, device=self.device)
        learner = PolicyLearner(player, self._stream(TRIAL), privileged=False)
        batch_size = (self.config.batch_size or SIZES[0]) / self.processes.world
        tables = batch_size / collect.decisions_per_table(self.all_rules, self.config.seed, learner)
        return max(round(tables), collect.least_tables(self.weights, self.threads.threads))

    def _stream(self, purpose: int, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, self.iteration, purpose, number])

    def iterate(self) -> dict[str, float]:
        """Run one iteration, and return its figures (see `Watcher`)."""
        now, profile, all_sum = schedule.at(self.progress, self.config), Profile(), self.processes.all_sum
        if not self._is_compiled:
            self._compile()
        with profile("play"):
            played = self.threads.all([partial(self.collect, worker, now) for worker in self.workers])
            batch = collect.make_rollout(played, self.rule_set, self.encoding, self.config.privileged_critic, self.device)
        with profile("learn"):
            self.reward_scale.update(batch.reward, self.rule_set, self.seats, all_sum)
            batch.reward = self.reward_scale.divide(batch.reward, self.rule_set)
            batch.value = critic_values(self.critic, batch.seen, self.dtype, self.threads)
            batch.advantage = gae(batch.table, batch.seat, batch.value, batch.reward, self.config.ppo.gae_lambda)
            batch.target = batch.value + batch.advantage
            batch.advantage = standardise(batch.advantage, batch.rule_set, len(self.all_rules), all_sum)
            actor_batch, shuffle = None, self._shuffle(len(batch), now)
            if batch.values is not None:  # the actor learns from the decisions with values of all actions only
                part = decisions_with_values(batch, self.actor, self.dtype, self.reward_scale, self.threads)
                actor_batch = part, self._shuffle(len(part), now)
            metrics = ppo_update(*self.trainable, batch, shuffle, now, self.threads, self._recorded(now), actor_batch)
        metrics |= critic_figures(batch.value, batch.reward[batch.table, batch.seat]) | collect.behaviour_figures(played)
        if now.stage is not Stage.IMITATION:  # the expert's actions have no log-probabilities
            metrics |= collect.entropies(batch)
        self.iteration += 1
        self.decisions += shuffle.total
        return metrics | profile.figures(shuffle.total, network=sum(part.seconds for part in played) / self.threads.threads)

    def _shuffle(self, rows: int, now: Now) -> Shuffle:
        total = int(self.processes.all_sum(torch.tensor(rows)))
        seed = int(self._stream(LEARNING, self.processes.rank).integers(2**62))
        return Shuffle(rows, total, now.ppo.minibatch_size or SIZES[1], seed, self.processes.world, self.device)

    @property
    def progress(self) -> float:
        """Share of the budget that is spent, 0 to 1."""
        return min(1.0, self.decisions / self.config.decisions)

    def collect(self, worker: Worker, now: Now) -> Played:
        """Play the deals of one worker, with an opponent at some tables."""
        rng, name = self._stream(DEALS, worker.number), self.draw_opponent(worker, now)
        past, seating = self.past.get(name or ""), (now.opponent_share, self.config.opponents.alone)
        if self.collector is not None:
            opponent = past or (self.players[name].make() if name else None)
            return self.collector.play(worker, self.iteration, rng, opponent, *seating)
        player = self.player(past) if past else self.players[name].make() if name else None
        choose = None if player is None else AtTables(player, rng)
        return worker.play(self.iteration, self._learner(worker, now, rng), rng, choose, *seating)

    def draw_opponent(self, worker: Worker, now: Now) -> str | None:
        """Draw the name of a worker's opponent, a past policy or another player; None without opponents."""
        names = [*self.past, *self.config.opponents.players] if now.opponent_share > 0 else []
        return names[int(self._stream(OPPONENTS, worker.number).integers(len(names)))] if names else None

    def _learner(self, worker: Worker, now: Now, rng: np.random.Generator) -> Learner:
        privileged = self.config.privileged_critic
        if now.stage is Stage.IMITATION:
            names = self.config.curriculum.expert
            by_rules = np.array([names.index(self.expert_for(rules)) for rules in self.all_rules])
            experts = [self.players[expert].make() for expert in names]
            return ImitatedExperts(experts, by_rules[worker.pool.rule_set], self.encoding, rng, privileged)
        if now.ppo.played_out > 0 and now.stage is Stage.SELF_PLAY:
            own = self._stream(VALUES, worker.number)
            return AllActionsLearner(self.player(self.actor), rng, privileged, now.ppo, own)
        return PolicyLearner(self.player(self.actor), rng, privileged)

    def _recorded(self, now: Now) -> Iterator[Recorded] | None:
        """Return batches of recorded decisions, one per minibatch; None if their coefficient is 0."""
        if self.recorded is None or now.distil_coef == 0:
            return None
        rows = max(1, round(SHARE * (now.ppo.minibatch_size or SIZES[1]) / self.processes.world))
        return self.recorded.batches(rows, now.distil_coef, self._stream(RECORDED, self.processes.rank), self.device)

    def _parts(self) -> dict[str, Any]:
        actor, critic = self.trainable
        optimizers = {"actor_optimizer": actor.optimizer, "critic_optimizer": critic.optimizer}
        return {"actor": self.actor, "critic": self.critic, **optimizers, "reward_scale": self.reward_scale}

    def state(self) -> dict[str, Any]:
        """Return the state of the run for a checkpoint: tensors and plain values."""
        tables: dict[str, torch.Tensor] = {}  # tables in matches, of all processes, by worker number
        all_gather = self.processes.all_gather
        for worker in (worker for worker in self.workers if worker.pool.in_matches):
            numbers, pools = all_gather(torch.tensor([worker.number])), all_gather(torch.from_numpy(worker.pool.save()))
            tables |= {str(int(number)): saved for number, saved in zip(numbers, pools, strict=True)}
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return {"iteration": self.iteration, "decisions": self.decisions, "tables": tables} | parts

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state; ValueError, KeyError, TypeError, AttributeError or RuntimeError if it does not fit this run."""
        self.iteration, self.decisions = int(state["iteration"]), int(state["decisions"])
        if min(self.iteration, self.decisions) < 0:
            raise ValueError("counts must not be negative")
        for trainable, name in zip(self.trainable, ("actor_optimizer", "critic_optimizer"), strict=True):
            check_optimizer_state(trainable.optimizer, state[name])
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        for worker in self.workers:
            if worker.pool.in_matches:
                worker.pool.restore(state["tables"][str(worker.number)].numpy())

    def close(self) -> None:
        self.threads.close()
