"""Imitation: an expert plays in the learner's place, and the learner makes its decisions more probable.

An expert that is a policy gives the probabilities of all actions, which say more of it than what it drew (policy distillation:
Rusu et al., arXiv 1511.06295). Of any other expert the action that it takes has probability 1.
"""

from __future__ import annotations

import numpy as np

from noms_env import BatchEnv
from noms_env.players import Player, TellsProbabilities
from noms_env.policy.encoding import Encoding

from ..agents.table_pool import AtTables
from .decisions import Recorder, Seen, choices_of


class ImitatedExpert:
    """An expert whose decisions are recorded as if they were the learner's own."""

    def __init__(self, expert: Player, encoding: Encoding, rng: np.random.Generator, recorder: Recorder) -> None:
        """Let an expert play for a learner that has this encoding; `rng` is the expert's stream."""
        self.expert, self.encoding, self.recorder = expert, encoding, recorder
        self._act = AtTables(expert, rng)

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `Choose`."""
        seen = Seen.at(self.encoding, batch, rows)
        actions = self._act(batch, rows)
        choice = choices_of(actions, self.encoding, seen.order)
        probs = self._probs(batch, seen, choice)
        self.recorder.record(batch, seen, choice, np.zeros(len(rows), np.float32), probs)
        return actions

    def _probs(self, batch: BatchEnv, seen: Seen, choice: np.ndarray) -> np.ndarray:
        """The expert's policy over the outputs of the network, float32, shape (n, n_choices)."""
        if isinstance(self.expert, TellsProbabilities):
            of_actions = self.expert.probabilities(batch.observation[seen.rows], batch.mask[seen.rows])
            probs: np.ndarray = np.take_along_axis(of_actions, self.encoding.actions[seen.order].astype(np.int64), axis=1)
        else:
            probs = np.eye(self.encoding.n_choices, dtype=np.float32)[choice]
        return probs
