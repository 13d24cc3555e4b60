"""The record of the learner's decisions: what it saw and did, or what an expert did that it imitates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from noms_env import BatchEnv
from noms_env.core.actions import PHASES
from noms_env.policy.encoding import Encoding

from ..agents.table_pool import TablePool


@dataclass(frozen=True)
class Decisions:
    """Decisions of the learner, in the order in which they were taken at each table.

    Attributes:
        features: uint8, shape (n, n_features): what the seat saw.
        hidden: uint8, shape (n, n_hidden): the hidden state, for a privileged critic; no columns without one.
        mask: int8, shape (n, n_choices): 1 for legal choices.
        choice: int64, shape (n,): the output of the network that was taken.
        log_prob: float32, shape (n,): its log probability under the policy that took it.
        table: int64, shape (n,).
        seat: int64, shape (n,).
        rule_set: int64, shape (n,): number of the rules.
        phase: int64, shape (n,).
        expert_probs: float32, shape (n, n_choices): the policy of an imitated expert; None without one.
    """

    features: np.ndarray
    hidden: np.ndarray
    mask: np.ndarray
    choice: np.ndarray
    log_prob: np.ndarray
    table: np.ndarray
    seat: np.ndarray
    rule_set: np.ndarray
    phase: np.ndarray
    expert_probs: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.choice)

    def select(self, rows: np.ndarray) -> Decisions:
        """Some of the decisions; `rows` are numbers or a mask."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return replace(self, **{name: value[rows] for name, value in values.items() if value is not None})

    @classmethod
    def concatenate(cls, parts: Iterable[Decisions]) -> Decisions:
        """All decisions in one record."""
        given = list(parts)
        chosen = [part for part in given if len(part) > 0] or given[:1]
        columns = {part.name: [getattr(one, part.name) for one in chosen] for part in fields(cls)}
        return replace(chosen[0], **{name: np.concatenate(arrays) for name, arrays in columns.items() if arrays[0] is not None})


class Seen(NamedTuple):
    """What an agent sees at some rows of a batch: `Encoding.encode` with its rows."""

    rows: np.ndarray
    features: np.ndarray
    mask: np.ndarray
    order: np.ndarray

    @classmethod
    def at(cls, encoding: Encoding, batch: BatchEnv, rows: np.ndarray) -> Seen:
        """Encode the observations of some rows."""
        return cls(rows, *encoding.encode(batch.observation, batch.mask, rows))


def choices_of(actions: np.ndarray, encoding: Encoding, order: np.ndarray) -> np.ndarray:
    """The outputs of a network that stand for actions, int64, shape (n,)."""
    choices: np.ndarray = np.argmax(encoding.actions[order] == np.asarray(actions)[:, None], axis=1)
    return choices


class Recorder:
    """Keeps the learner's decisions; a decision without alternative is dropped, since there is nothing to learn from it."""

    def __init__(self, encoding: Encoding, privileged: bool = True) -> None:
        """Create an empty record.

        Args:
            encoding: of the observations.
            privileged: record the hidden state too.
        """
        self.encoding, self.privileged = encoding, privileged
        self._kept: list[Decisions] = []

    def record(
        self, batch: BatchEnv, seen: Seen, choice: np.ndarray, log_prob: np.ndarray, expert_probs: np.ndarray | None = None
    ) -> None:
        """Keep some decisions; the arguments are as in `Decisions`."""
        rows = seen.rows
        taken = Decisions(
            features=seen.features,
            hidden=self._hidden(batch, seen),
            mask=seen.mask,
            choice=choice,
            log_prob=log_prob,
            table=rows,
            seat=batch.seat[rows].astype(np.int64),
            rule_set=np.zeros(len(rows), np.int64),
            phase=batch.tables.phase[rows].astype(np.int64),
            expert_probs=expert_probs,
        )
        has_alternative = seen.mask.sum(axis=1, dtype=np.int64) > 1
        if not has_alternative.all():
            taken = taken.select(has_alternative)
        self._kept.append(taken)

    def _hidden(self, batch: BatchEnv, seen: Seen) -> np.ndarray:
        if not self.privileged:
            return np.empty((len(seen.rows), 0), np.uint8)
        assert batch.hidden_state is not None
        return self.encoding.encode_hidden(batch.hidden_state, seen.rows, seen.order)

    def decisions(self, pool: TablePool) -> Decisions:
        """All decisions since the last call, once their deals are over."""
        kept = Decisions.concatenate([self._nothing(), *self._kept])
        self._kept = []
        return replace(kept, rule_set=pool.rule_set[kept.table])

    def _nothing(self) -> Decisions:
        encoding, none = self.encoding, np.empty(0, np.int64)
        return Decisions(
            features=np.empty((0, encoding.n_features), np.uint8),
            hidden=np.empty((0, encoding.n_hidden if self.privileged else 0), np.uint8),
            mask=np.empty((0, encoding.n_choices), np.int8),
            choice=none,
            log_prob=np.empty(0, np.float32),
            table=none,
            seat=none,
            rule_set=none,
            phase=none,
        )


def entropies(decisions: Decisions) -> dict[str, float]:
    """For each phase, the mean of -log probability over log(legal actions) of the actions taken: an estimate of the entropy."""
    legal = decisions.mask.sum(axis=1, dtype=np.float64)
    surprise = -decisions.log_prob / np.log(np.maximum(legal, 2))
    counts = np.bincount(decisions.phase, minlength=len(PHASES))
    sums = np.bincount(decisions.phase, surprise, len(PHASES))
    return {f"entropy/{name}": sums[k] / counts[k] for k, name in enumerate(PHASES) if counts[k] > 0}
