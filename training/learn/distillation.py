"""Learning from another player: from its decisions at the learner's own tables, or from recorded ones.

*Imitation.* An expert plays in the learner's place, and the learner makes its decisions more probable. An expert that is a
policy gives the probabilities of all actions, which say more of it than what it drew (policy distillation: Rusu et al., arXiv
1511.06295). Of any other expert the action that it takes has probability 1.

*Recorded decisions.* `noms export --targets` records them with probabilities. Those of a search on the policy are a step
better than the policy, so playing, recording and learning in turns goes on improving it (expert iteration: T. Anthony et al.,
arXiv 1705.08439).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from noms_env import BatchEnv
from noms_env.core.actions import brief
from noms_env.players import Player, TellsProbabilities
from noms_env.policy.encoding import Encoding
from noms_env.policy.rules_lookup import shows
from noms_env.variants import Rules, RulesError, game, make_rules

from ..agents.table_pool import AtTables
from ..data.checking import MOST_IN_ALL
from ..data.shards import read_shards, shard_folders
from .decisions import Recorder, Seen, choices_of
from .ppo import DistilledBatch

SHARE = 0.5
"""Recorded decisions in a minibatch, as a share of its own decisions."""
_Part = tuple[np.ndarray, np.ndarray, np.ndarray]


class Distillation:
    """Recorded decisions with a choice, as a network sees them.

    Attributes:
        features: uint8, shape (n, n_features).
        mask: int8, shape (n, n_choices): 1 for legal choices.
        probs: float16, shape (n, n_choices): the policy of the player that decided.
    """

    def __init__(self, folders: Sequence[str], encoding: Encoding, rule_sets: Sequence[Rules]) -> None:
        """Read folders that `noms export --targets` has written, or folders of such folders.

        Raises:
            ValueError: a folder holds no such decisions, or those of other tables, or the folders hold more than `MOST_IN_ALL`
                decisions with a choice together; see also `read_shards`.
            OSError: a file cannot be read.
        """
        places = [place for folder in folders for place in shard_folders(Path(folder))]
        parts, rows = [], 0
        for part in (part for place in places for part in _encoded(place, encoding, rule_sets)):
            parts.append(part)
            rows += len(part[0])
            if rows > MOST_IN_ALL:
                raise ValueError(
                    f"{', '.join(folders)} hold more than {MOST_IN_ALL:,} decisions with a choice: name fewer folders"
                )
        self.features, self.mask, self.probs = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if len(self) == 0:
            raise ValueError(f"nobody tells a policy in {', '.join(folders)}: name players that do to `noms export`")

    def __len__(self) -> int:
        return len(self.features)

    def batch(self, rows: int, coef: float, rng: np.random.Generator, device: str) -> DistilledBatch:
        """Some decisions, drawn with replacement."""
        drawn = rng.integers(len(self), size=rows)
        features, mask = (torch.from_numpy(array[drawn]).to(device) for array in (self.features, self.mask))
        return DistilledBatch(features, mask, torch.from_numpy(self.probs[drawn].astype(np.float32)).to(device), coef)


def _encoded(folder: Path, encoding: Encoding, rule_sets: Sequence[Rules]) -> Iterator[_Part]:
    """Features, masks and policies of each shard of a folder."""
    for about, rows in read_shards(folder, ("observation", "action_mask", "policy")):
        rules = _rules(about["source"])
        if rules is None or rules not in rule_sets:
            raise ValueError(f"the decisions in {folder} are of tables that this run does not play: {brief(about['source'])}")
        if not shows(rules, rows["observation"]).all():
            raise ValueError(f"observations in {folder} are of other tables than it says")
        chosen = np.flatnonzero((np.count_nonzero(rows["action_mask"], axis=1) > 1) & (rows["policy"].sum(axis=1) > 0))
        features, mask, order = encoding.encode(rows["observation"], rows["action_mask"], chosen)
        if np.count_nonzero(mask) != np.count_nonzero(rows["action_mask"][chosen]):
            raise ValueError(f"in {folder} actions are legal that never are at its tables")
        probs = np.take_along_axis(rows["policy"][chosen], encoding.actions[order].astype(np.int64), axis=1)
        yield features, mask, probs.astype(np.float16)


def _rules(source: dict[str, Any]) -> Rules | None:
    """The rules of exported play; None of records, or where there are no such rules."""
    try:
        return make_rules(game(source["variant"]), source["seats"], source["options"])
    except (KeyError, RulesError):
        return None


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
