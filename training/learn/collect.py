"""Rollouts: the deals of an iteration, and the learner's decisions in them.

Each `Worker` plays a deal at each of its tables, in one thread, or on a GPU (`collect_cuda`). The learner has all seats without
an opponent, and records its decisions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from noms_env import BatchEnv
from noms_env._jit import jit
from noms_env.core.actions import PHASES
from noms_env.core.state import MAX_SEATS
from noms_env.envs.validation import Device
from noms_env.players import unit_draws
from noms_env.policy.encoding import Encoding
from noms_env.policy.inference_kernels import draw_choice
from noms_env.variants import Rules
from noms_env.variants.families import EXACT_BID

from ..agents.registry import label
from ..agents.table_pool import Choose, TablePool, play, relative_points
from ..evaluation.behaviour_stats import Tally, count_deals
from .config import TrainConfig
from .log import Profile
from .network import Actor

FIRST_IN_MATCHES = 1 << 31  # number of the first table with matches; tables with single deals have lower numbers
TRIAL_TABLES, MAX_TRIAL_TABLES = 64, 4096
"""Tables per rule set, and maximum in all, of the trial that estimates the number of tables."""
DRAWN_SHARE = 0.7  # share of each game's tables with drawn rules


Step = Mapping[str, Any]
"""Decisions of one step at several tables: an array or tensor for each of some columns of `Rollout`."""


@dataclass
class Rollout:
    """The learner's decisions in an iteration, each with at least two legal actions. All tensors are on one device.

    The decisions of each table are in order of time. A choice is an output of the network, which stands for an action.

    Attributes:
        seen: uint8, shape (n, n_features + n_hidden): input of the critic; without hidden state if it is not privileged.
        features: uint8, shape (n, n_features): input of the actor, the first columns of `seen`.
        mask: int8, shape (n, n_choices): 1 for legal choices.
        choice: int64, shape (n,): choice taken.
        log_prob: float32, shape (n,): its log-probability under the behaviour policy.
        table, seat, phase, rule_set: int64, shape (n,); `table` is the row among all tables of this process.
        reward: float32, shape (tables, MAX_SEATS): reward of each seat for the deal.
        expert_probs: float32, shape (n, n_choices): policy of the imitated expert; None without one.
        values: float32, shape (n, n_choices): relative points after each action (`all_actions`), NaN for decisions not played
            out; None if no decision was.
        log_policy: float32, shape (n, n_choices): log-probabilities of all actions before the update; None if not needed.
        value, target: float32, shape (n,): the critic's values before the update, and their targets.
        advantage: float32, shape (n,): advantages.
    """

    seen: Tensor
    features: Tensor
    mask: Tensor
    choice: Tensor
    log_prob: Tensor
    table: Tensor
    seat: Tensor
    phase: Tensor
    rule_set: Tensor
    reward: Tensor
    expert_probs: Tensor | None = None
    values: Tensor | None = None
    log_policy: Tensor | None = None
    value: Tensor = field(default_factory=lambda: torch.empty(0))
    target: Tensor = field(default_factory=lambda: torch.empty(0))
    advantage: Tensor = field(default_factory=lambda: torch.empty(0))

    def __len__(self) -> int:
        return len(self.choice)

    def select(self, rows: Tensor, *names: str) -> Rollout:
        """Return a copy with the named columns reduced to some rows, int64, shape (k,); other columns stay whole."""
        columns = {name: column.index_select(0, rows) for name in names if (column := getattr(self, name)) is not None}
        return replace(self, **columns)


class Played(NamedTuple):
    """Result of an iteration at the tables of one worker."""

    steps: Sequence[Step]  # decisions of the learner, in order of time
    reward: np.ndarray  # float32, shape (tables, MAX_SEATS): points of each seat less the mean of the others'
    behaviour: dict[str, Tally]  # of the learner's calls and contracts, by the label of the rules
    seconds: float  # inference time


class ActorPlayer:
    """A `Player` with a snapshot of a network; if `greedy` it takes the most probable action."""

    wants_tables: ClassVar[bool] = False

    def __init__(
        self, actor: Actor, encoding: Encoding, *, dtype: torch.dtype = torch.float32, device: str = "cpu", greedy: bool = False
    ) -> None:
        self.logits, self.encoding = actor.frozen(dtype), encoding
        self.device, self.greedy = device, greedy

    def act(
        self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        features, legal, order = self.encoding.encode(observation, mask)
        choice, _ = self.draw(features, legal, unit_draws(seeds))
        return np.asarray(self.encoding.actions[order, choice], np.int64)

    def draw(self, features: np.ndarray, mask: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw choices, int64, shape (n,), with their log-probabilities, float32, shape (n,); for `draws` see `draw_choice`."""
        with torch.inference_mode():
            seen, legal = (torch.from_numpy(array).to(self.device) for array in (features, mask))
            logits = self.logits(seen, legal).cpu().numpy()
        choice, log_prob = np.empty(len(mask), np.int64), np.empty(len(mask), np.float32)
        draw_choices(logits, mask, np.full(len(mask), -1.0) if self.greedy else draws, choice, log_prob)
        return choice, log_prob


@jit
def draw_choices(logits, mask, draws, choice, log_prob):
    """Write a choice, int64, and its log-probability, float32, for each row; see `draw_choice`."""
    for i in range(len(draws)):
        choice[i], log_prob[i] = draw_choice(logits[i], mask[i], draws[i])


class Learner:
    """Base class of learners. Records its decisions in `steps`, with the hidden state if `privileged`."""

    def __init__(self, encoding: Encoding, privileged: bool = True) -> None:
        self.encoding, self.privileged = encoding, privileged
        self.steps: list[dict[str, np.ndarray]] = []
        self.profile = Profile()

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        features, mask, order = self.encoding.encode(batch.observation, batch.mask, rows)
        step = {"features": features, "mask": mask, "table": rows, "seat": batch.seat[rows], "phase": batch.tables.phase[rows]}
        if self.privileged:
            assert batch.hidden_state is not None
            step["hidden"] = self.encoding.encode_hidden(batch.hidden_state, rows, order)
        step |= self.decide(batch, rows, features, mask, order)
        self.steps.append(step)
        return np.asarray(self.encoding.actions[order, step["choice"]], np.int64)

    def finish(self) -> None:
        """Called when all deals are over."""

    def decide(self, batch: BatchEnv, rows: np.ndarray, features: np.ndarray, mask: np.ndarray, order: np.ndarray) -> Step:
        """Return columns `choice` and `log_prob` for some rows; the last three arguments come from `Encoding.encode`."""
        raise NotImplementedError


class PolicyLearner(Learner):
    """The policy in training; it draws its actions from `rng`."""

    def __init__(self, player: ActorPlayer, rng: np.random.Generator, privileged: bool = True) -> None:
        super().__init__(player.encoding, privileged)
        self.player, self.rng = player, rng

    def decide(self, batch: BatchEnv, rows: np.ndarray, features: np.ndarray, mask: np.ndarray, order: np.ndarray) -> Step:
        with self.profile("network"):
            choice, log_prob = self.player.draw(features, mask, self.rng.random(len(mask)))
        return {"choice": choice, "log_prob": log_prob}


@dataclass
class Worker:
    """Tables of one thread; `number` is unique among all processes. The first `watched` rule sets have behaviour figures."""

    pool: TablePool
    rule_sets: Sequence[Rules]
    watched: int
    number: int

    def play(
        self,
        iteration: int,
        learner: Learner,
        rng: np.random.Generator,
        opponent: Choose | None = None,
        share: float = 0.0,
        alone: bool = False,
    ) -> Played:
        """Play a deal at each table: the iteration determines the cards, `rng` draws hand sizes and `draw_seating`."""
        pool = self.pool
        pool.deal(iteration, None if pool.in_matches else draw_sizes(pool, self.rule_sets, rng))
        seating = draw_seating(pool.seats, share if opponent else None, rng, alone)
        play(pool, [learner.choose, opponent or learner.choose], seating)
        learner.finish()
        reward = relative_points(pool.batch.points, pool.seats)
        return Played(learner.steps, reward, self.behaviour(seating == 0), learner.profile.seconds["network"])

    def behaviour(self, learns: np.ndarray, most: int | None = None) -> dict[str, Tally]:
        """Count the learner's behaviour at the first `most` tables of each rule set, by the label of the rules.

        `learns`: the learner's seats, bool, shape (tables, MAX_SEATS).
        """
        by_label = {}
        for number in np.unique(self.pool.rule_set[self.pool.rule_set < self.watched]):
            own, rules = np.flatnonzero(self.pool.rule_set == number)[:most], self.rule_sets[number]
            by_label[label(rules)] = count_deals(self.pool.batch.save(own), rules, learns[own])
        return by_label


def make_rollout(parts: Sequence[Played], rule_set: Tensor, encoding: Encoding, privileged: bool, device: str) -> Rollout:
    """Join the decisions of all workers on a device; `rule_set`: int64, by table, in the order of the workers."""
    seats = max(part.reward.shape[1] for part in parts)
    starts = np.cumsum([0, *(len(part.reward) for part in parts)]).tolist()
    steps: list[Step] = []
    for part, start in zip(parts, starts, strict=False):
        steps += [{**step, "table": step["table"] + start} for step in part.steps]

    def column(name: str, dtype: torch.dtype, *width: int) -> Tensor:
        columns = [torch.as_tensor(step[name]) for step in steps]
        return torch.cat(columns or [torch.empty(0, *width)]).to(device, dtype)

    own, hidden = encoding.n_features, encoding.n_hidden if privileged else 0
    seen = torch.empty((sum(len(step["choice"]) for step in steps), own + hidden), dtype=torch.uint8, device=device)
    end = 0
    for step in steps:
        start, end = end, end + len(step["choice"])
        seen[start:end, :own] = torch.as_tensor(step["features"])
        if privileged:
            seen[start:end, own:] = torch.as_tensor(step["hidden"])
    table = column("table", torch.int64)
    others = {name for step in steps for name in ("expert_probs", "values") if name in step}
    return Rollout(
        seen=seen,
        features=seen[:, :own],
        mask=column("mask", torch.int8, encoding.n_choices),
        choice=column("choice", torch.int64),
        log_prob=column("log_prob", torch.float32),
        table=table,
        seat=column("seat", torch.int64),
        phase=column("phase", torch.int64),
        rule_set=rule_set[table],
        reward=torch.cat([pad(torch.as_tensor(part.reward), (0, seats - part.reward.shape[1])) for part in parts]).to(device),
        **{name: column(name, torch.float32, encoding.n_choices) for name in others},
    )


def draw_sizes(pool: TablePool, rule_sets: Sequence[Rules], rng: np.random.Generator) -> np.ndarray:
    """Draw hand sizes for the exact-bid games, with about equally many decisions for each size; -1 for the other games."""
    sizes = np.full(len(pool), -1, np.int64)
    for number, rules in enumerate(rule_sets):
        rows = np.flatnonzero(pool.rule_set == number)
        if rules.variant.family == EXACT_BID and len(rows) > 0:
            allowed = np.array(sorted(set(rules.schedule)))
            weight = 1 / (allowed + 1)  # a deal has one call and about one decision per card
            sizes[rows] = rng.choice(allowed, len(rows), p=weight / weight.sum())
    return sizes


def draw_seating(seats: np.ndarray, share: float | None, rng: np.random.Generator, alone: bool = False) -> np.ndarray:
    """Draw the seating of deals: at a share of the tables (None: no opponent) an opponent has one to all but one of the seats.

    If the learner is `alone`, the opponent has all seats but one there. `seats` is int64, shape (n,). Returns int64, shape
    (n, MAX_SEATS): 0 for the learner, 1 for the opponent.
    """
    if share is None:
        return np.zeros((len(seats), MAX_SEATS), np.int64)
    order = np.argsort(rng.random((len(seats), MAX_SEATS)) + (np.arange(MAX_SEATS) >= seats[:, None]), axis=1)
    place = np.argsort(order, axis=1)  # rank of each seat in a random order of the table's seats
    taken = np.where(alone, seats - 1, rng.integers(1, np.maximum(seats, 2)))
    chosen = rng.random(len(seats)) < share
    return np.where(chosen[:, None] & (place < taken[:, None]), 1, 0)


def decisions_per_table(rule_sets: Sequence[Rules], seed: int, learner: PolicyLearner) -> float:
    """Estimate the mean number of decisions per deal, at least 1, from a trial of a few deals."""
    tables = max(min(TRIAL_TABLES * len(rule_sets), MAX_TRIAL_TABLES), len(rule_sets))
    pool = TablePool(rule_sets, range(len(rule_sets)), tables, seed=seed)
    pool.deal(0, draw_sizes(pool, rule_sets, learner.rng))
    play(pool, [learner.choose], np.zeros((tables, MAX_SEATS), np.int64))
    return max(1.0, sum(len(step["choice"]) for step in learner.steps) / tables)


def weights_of(rule_sets: Sequence[Rules], drawn: int) -> list[float]:
    """Return the relative number of tables of each rule set; the last `drawn` ones share `DRAWN_SHARE` of a game's tables."""
    if not drawn:
        return [1.0] * len(rule_sets)
    own = len(rule_sets) - drawn
    kinds = [(rules.variant.name, number >= own) for number, rules in enumerate(rule_sets)]
    return [(DRAWN_SHARE if kind[1] else 1 - DRAWN_SHARE) / kinds.count(kind) for kind in kinds]


def least_tables(weights: Sequence[float], threads: int = 1) -> int:
    """Return the smallest number of tables that gives each rule set at least one in each thread."""
    return threads * ceil(sum(weights) / min(weights))


def make_workers(
    rule_sets: Sequence[Rules], drawn: int, tables: int, threads: int, config: TrainConfig, rank: int, device: Device = "cpu"
) -> Iterator[Worker]:
    """Make a worker for single deals and one for matches, if there are any, in each thread; ValueError for too few tables.

    The last `drawn` rule sets were drawn (`weights_of`). `tables` and `threads` are those of process `rank`.
    """
    weights = weights_of(rule_sets, drawn)
    if tables < (least := least_tables(weights, threads)):
        raise ValueError(f"tables must be at least {least}: one for each game and number of seats in each of {threads} threads")
    in_matches = [config.curriculum.matches if rules.variant.deals_depend else 0.0 for rules in rule_sets]
    first = rank * tables
    for thread in range(threads):
        own = tables // threads + (thread < tables % threads)
        for kind, shares in enumerate(([1 - share for share in in_matches], in_matches)):
            numbers = [number for number, share in enumerate(shares) if share > 0]
            if not numbers:
                continue
            pool_weights = [weights[number] * shares[number] for number in numbers]
            pool = TablePool(
                [rule_sets[number] for number in numbers],
                numbers,
                max(round(own * sum(pool_weights) / sum(weights)), least_tables(pool_weights)),
                seed=config.seed,
                first_table=first + kind * FIRST_IN_MATCHES,
                in_matches=bool(kind),
                state=config.privileged_critic and device == "cpu",
                shares=pool_weights,
                device=device,
            )
            yield Worker(pool, rule_sets, len(rule_sets) - drawn, (rank * threads + thread) * 2 + kind)
        first += own


def behaviour_figures(parts: Sequence[Played]) -> dict[str, float]:
    """Return the learner's behaviour in an iteration: `rollout/<rules>/<figure>`."""
    together = defaultdict[str, Tally](Tally)
    for rules, tally in (item for part in parts for item in part.behaviour.items()):
        together[rules] += tally
    return {f"rollout/{rules}/{name}": mean for rules, tally in together.items() for name, mean in tally.means().items()}


def entropies(batch: Rollout) -> dict[str, float]:
    """Estimate the normalised entropy of each phase: the mean of -log_prob / log(legal actions) over the actions taken."""
    legal = batch.mask.sum(1, dtype=torch.float64)
    surprise = -batch.log_prob / legal.clamp(min=2).log()
    counts = torch.bincount(batch.phase, minlength=len(PHASES)).tolist()
    sums = torch.bincount(batch.phase, surprise, len(PHASES)).tolist()
    return {f"losses/entropy/{name}": sums[k] / counts[k] for k, name in enumerate(PHASES) if counts[k] > 0}
