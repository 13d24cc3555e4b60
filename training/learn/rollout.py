"""Deals played for training.

A `RolloutWorker` plays a deal at each of its tables, in one thread. The learner sits on all seats, or on those that an opponent
does not have (`opponents`); a `Recorder` keeps what it saw and did (`decisions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import ClassVar

import numpy as np
import torch

from noms_env import BatchEnv
from noms_env._jit import jit
from noms_env.core.state import MAX_SEATS
from noms_env.policy.encoding import Encoding
from noms_env.variants import Rules
from noms_env.variants.families import EXACT_BID

from ..agents.registry import label
from ..agents.table_pool import Choose, TablePool, play
from ..config import TrainConfig
from ..evaluation.behaviour_stats import Tally, count_deals
from .decisions import Decisions, Recorder, Seen
from .network import Actor
from .opponents import draw_seating

FIRST_IN_MATCHES = 1 << 31
"""Number of the first table at which matches are played; the tables of single deals have lower numbers."""


class ActorPlayer:
    """A network as a `Player`: as it is when this player is made, whatever becomes of it later.

    `encoding` is what it reads, `dtype` the precision of its passes, and `device` where it is. A greedy one takes the most
    probable action instead of a draw.
    """

    wants_tables: ClassVar[bool] = False

    def __init__(
        self,
        actor: Actor,
        encoding: Encoding,
        *,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        greedy: bool = False,
    ) -> None:
        self.logits, self.encoding = actor.frozen(dtype), encoding
        self.device, self.greedy = device, greedy

    def act(
        self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        """See `noms_env.players.Player.act`; rows only."""
        features, legal, order = self.encoding.encode(observation, mask)
        choice, _ = self.draw(features, legal, rng)
        actions: np.ndarray = self.encoding.actions[order, choice].astype(np.int64)
        return actions

    def draw(self, features: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Choices, int64, shape (n,), and their log probabilities, float32, shape (n,)."""
        with torch.inference_mode():
            seen, legal = (torch.from_numpy(array).to(self.device) for array in (features, mask))
            logits = self.logits(seen, legal).cpu().numpy()
        choice, log_prob = np.empty(len(mask), np.int64), np.empty(len(mask), np.float32)
        draws = np.full(len(mask), -1.0) if self.greedy else rng.random(len(mask))
        draw_choices(logits, mask, draws, choice, log_prob)
        return choice, log_prob


class Learner:
    """The policy that is being trained: it draws its actions from `rng`, and its decisions are recorded."""

    def __init__(self, player: ActorPlayer, rng: np.random.Generator, recorder: Recorder) -> None:
        self.player, self.rng, self.recorder = player, rng, recorder

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `Choose`."""
        encoding = self.player.encoding
        seen = Seen.at(encoding, batch, rows)
        choice, log_prob = self.player.draw(seen.features, seen.mask, self.rng)
        self.recorder.record(batch, seen, choice, log_prob)
        actions: np.ndarray = encoding.actions[seen.order, choice].astype(np.int64)
        return actions


@jit
def draw_choices(logits, mask, draws, choice, log_prob):
    """Draw from the softmax of the legal logits, by the inverse of its distribution function.

    Args:
        logits: float32, shape (n, choices).
        mask: int8, shape (n, choices).
        draws: float64, shape (n,): uniform on 0..1; below 0 takes the most probable choice, the first of equal ones.
        choice: int64, shape (n,): is written.
        log_prob: float32, shape (n,): of that choice; is written.
    """
    for i in range(len(draws)):
        best = -1
        for k in range(logits.shape[1]):
            if mask[i, k] != 0 and (best < 0 or logits[i, k] > logits[i, best]):
                best = k
        total = 0.0
        for k in range(logits.shape[1]):
            if mask[i, k] != 0:
                total += np.exp(np.float64(logits[i, k] - logits[i, best]))
        chosen = best
        if draws[i] >= 0:
            left = draws[i] * total
            for k in range(logits.shape[1]):
                if mask[i, k] != 0:
                    chosen = k
                    left -= np.exp(np.float64(logits[i, k] - logits[i, best]))
                    if left < 0:
                        break
        choice[i] = chosen
        log_prob[i] = logits[i, chosen] - logits[i, best] - np.log(total)


# ------------------------------------------------------------------------------------------------------- the workers


@dataclass(frozen=True)
class Rollout:
    """The deals of an iteration at the tables of one worker.

    Attributes:
        decisions: of the learner.
        points: float32, shape (tables, MAX_SEATS): of each seat in its deal.
        behaviour: of the learner's calls and contracts, by the label of the rules.
        engine_seconds: that the tables took.
    """

    decisions: Decisions
    points: np.ndarray
    behaviour: dict[str, Tally]
    engine_seconds: float


def joined(rollouts: Sequence[Rollout]) -> Decisions:
    """The decisions of all workers, with tables counted through."""
    first = accumulate((len(part.points) for part in rollouts), initial=0)
    decisions = [part.decisions for part in rollouts]
    return Decisions.concatenate(replace(part, table=part.table + start) for part, start in zip(decisions, first, strict=False))


@dataclass
class RolloutWorker:
    """Tables at which one thread plays.

    Attributes:
        pool: the tables.
        rule_sets: all rules of the run.
        number: unlike those of all other workers of the run, in all processes.
    """

    pool: TablePool
    rule_sets: Sequence[Rules]
    number: int

    def play(
        self,
        iteration: int,
        learner: Choose,
        recorder: Recorder,
        opponent: Choose | None,
        share: float,
        rng: np.random.Generator,
        alone: bool = False,
    ) -> Rollout:
        """Play a deal at each table.

        Args:
            iteration: its number decides the cards.
            learner: whose decisions are learnt from.
            recorder: of the learner.
            opponent: takes some of the seats, if there is one.
            share: of the tables at which it does.
            rng: of the hand sizes and the seating.
            alone: there it takes all seats but one.
        """
        pool = self.pool
        before = pool.engine_seconds
        pool.deal(iteration, None if pool.in_matches else draw_sizes(pool, self.rule_sets, rng))
        seating = np.zeros((len(pool), MAX_SEATS), np.int64)
        if opponent is not None:
            seating = draw_seating(pool.seats, share, rng, alone)
        play(pool, [learner, opponent or learner], seating)
        return Rollout(
            decisions=recorder.decisions(pool),
            points=pool.batch.points.copy(),
            behaviour=self._behaviour(seating == 0),
            engine_seconds=pool.engine_seconds - before,
        )

    def _behaviour(self, learns: np.ndarray) -> dict[str, Tally]:
        """What the learner did, by the label of the rules; `learns`: bool, shape (tables, MAX_SEATS)."""
        found = {}
        for number in np.unique(self.pool.rule_set):
            own, rules = np.flatnonzero(self.pool.rule_set == number), self.rule_sets[number]
            found[label(rules)] = count_deals(self.pool.batch.tables[own].view(np.recarray), rules, learns[own])
        return found


def draw_sizes(pool: TablePool, rule_sets: Sequence[Rules], rng: np.random.Generator) -> np.ndarray:
    """Hand sizes for the exact-bid games, so that each size gets as many decisions; -1 for the other games."""
    sizes = np.full(len(pool), -1, np.int64)
    for number, rules in enumerate(rule_sets):
        rows = np.flatnonzero(pool.rule_set == number)
        if rules.variant.family != EXACT_BID or len(rows) == 0:
            continue
        allowed = np.array(sorted(set(rules.schedule)))
        weight = 1 / (allowed + 1)  # a call, and about as many choices as cards
        sizes[rows] = rng.choice(allowed, len(rows), p=weight / weight.sum())
    return sizes


def make_workers(
    rule_sets: Sequence[Rules], tables: int, threads: int, config: TrainConfig, rank: int
) -> Iterator[RolloutWorker]:
    """For each thread one worker with single deals and one with matches, as far as there are such.

    Args:
        rule_sets: the rules of the tables; each gets as many.
        tables: of each process.
        threads: of each process.
        config: of the run.
        rank: of this process.

    Raises:
        ValueError: there are too few tables.
    """
    least = threads * len(rule_sets)
    if tables < least:
        raise ValueError(f"tables must be at least {least}: one for each game and number of seats in each of {threads} threads")
    in_matches = [config.curriculum.matches if rules.variant.deals_depend else 0.0 for rules in rule_sets]
    first = rank * tables
    for thread in range(threads):
        own = tables // threads + (thread < tables % threads)
        for kind, shares in enumerate(([1 - share for share in in_matches], in_matches)):
            numbers = [number for number, share in enumerate(shares) if share > 0]
            if not numbers:
                continue
            wanted = [shares[number] for number in numbers]
            pool = TablePool(
                [rule_sets[number] for number in numbers],
                numbers,
                max(round(own * sum(wanted) / len(rule_sets)), len(numbers)),
                seed=config.seed,
                first_table=first + kind * FIRST_IN_MATCHES,
                in_matches=bool(kind),
                state=config.privileged_critic,
                shares=wanted,
            )
            yield RolloutWorker(pool, rule_sets, (rank * threads + thread) * 2 + kind)
        first += own
