"""Learning from another player: an expert at the learner's tables, or recorded decisions.

*Imitation.* An expert plays in place of the learner, which minimises the cross entropy to it. The target is the expert's policy
if the expert has probabilities (policy distillation: Rusu et al., arXiv 1511.06295), else its action with probability 1.

*Recorded decisions.* `noms export --targets` records decisions with probabilities. A search on the policy is stronger than the
policy, so repeated recording and learning improves it (expert iteration: T. Anthony et al., arXiv 1705.08439).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from noms_env import BatchEnv
from noms_env.core.actions import brief
from noms_env.players import Player, TellsProbabilities
from noms_env.policy.encoding import Encoding
from noms_env.policy.rules_lookup import shows
from noms_env.variants import Rules, RulesError, game, make_rules

from ..agents.table_pool import AtTables
from .collect import Learner, Step
from .data.shards import MAX_ROWS_OF_RUN, read_shards, shard_folders
from .network import masked

SHARE = 0.5  # ratio of recorded to own decisions in a minibatch
_Part = tuple[np.ndarray, np.ndarray, np.ndarray]


class Recorded(NamedTuple):
    """Recorded decisions of another player: `features` and `mask` as in `Rollout`.

    `probs`, float32, shape (n, n_choices), is its policy; `coef` is the coefficient of the loss.
    """

    features: Tensor
    mask: Tensor
    probs: Tensor
    coef: float


def distance_from(recorded: Recorded, logits: Tensor) -> Tensor:
    """Return the mean KL(recorded policy || policy), from unmasked logits, shape (n, n_choices)."""
    log_policy = functional.log_softmax(masked(logits, recorded.mask), -1)
    return (torch.xlogy(recorded.probs, recorded.probs) - recorded.probs * log_policy).sum(-1).mean()


class RecordedDecisions:
    """Encoded decisions with two or more legal actions, from folders of `noms export --targets`.

    `features` and `mask` are as in `Rollout`; `probs`, float16, shape (n, n_choices), is the policy of the player that decided.

    ValueError if the folders have no decisions with a policy, decisions of other tables, or more than `MAX_ROWS_OF_RUN` of them
    in all; for other errors see `read_shards`.
    """

    def __init__(self, folders: Sequence[str], encoding: Encoding, rule_sets: Sequence[Rules]) -> None:
        parts, rows, names = list[_Part](), 0, ", ".join(folders)
        places = [place for folder in folders for place in shard_folders(Path(folder))]
        for part in (part for place in places for part in _encode_shards(place, encoding, rule_sets)):
            parts.append(part)
            rows += len(part[0])
            if rows > MAX_ROWS_OF_RUN:
                raise ValueError(f"{names} hold more than {MAX_ROWS_OF_RUN:,} decisions with a choice: name fewer folders")
        if rows == 0:
            raise ValueError(f"no decision in {names} has a policy: name policies or searches on them to `noms export`")
        self.features, self.mask, self.probs = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))

    def __len__(self) -> int:
        return len(self.features)

    def batches(self, rows: int, coef: float, rng: np.random.Generator, device: str) -> Iterator[Recorded]:
        """Yield batches of `rows` decisions, drawn with replacement, without end."""
        arrays = self.features, self.mask, self.probs
        while True:
            drawn = rng.integers(len(self), size=rows)
            features, mask, probs = (torch.from_numpy(array[drawn]).to(device) for array in arrays)
            yield Recorded(features, mask, probs.float(), coef)


def _encode_shards(folder: Path, encoding: Encoding, rule_sets: Sequence[Rules]) -> Iterator[_Part]:
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
    """Return the rules of exported play; None if the source is a file of records, or invalid."""
    try:
        return make_rules(game(source["variant"]), source["seats"], source["options"])
    except (KeyError, RulesError):
        return None


class ImitatedExperts(Learner):
    """Experts in place of the learner; `at_tables`, int64, shape (tables,), is the number of the expert at each table."""

    def __init__(
        self, experts: Sequence[Player], at_tables: np.ndarray, encoding: Encoding, rng: np.random.Generator, privileged: bool
    ) -> None:
        super().__init__(encoding, privileged)
        self.experts, self._at_tables = [(expert, AtTables(expert, rng)) for expert in experts], at_tables

    def decide(self, batch: BatchEnv, rows: np.ndarray, features: np.ndarray, mask: np.ndarray, order: np.ndarray) -> Step:
        """Return the columns of `Learner.decide`, and `expert_probs` (see `Rollout`)."""
        names, numbers = self.encoding.actions[order], self._at_tables[rows]
        choice, probs = np.empty(len(rows), np.int64), np.empty((len(rows), self.encoding.n_choices), np.float32)
        for number in np.unique(numbers):
            (expert, act), part = self.experts[number], np.flatnonzero(numbers == number)
            own, of_part = rows[part], names[part]
            choice[part] = np.argmax(of_part == act(batch, own)[:, None], axis=1)
            if isinstance(expert, TellsProbabilities):
                of_actions = expert.probabilities(batch.observation[own], batch.mask[own])
                probs[part] = np.take_along_axis(of_actions, of_part.astype(np.int64), axis=1)
            else:
                probs[part] = np.eye(self.encoding.n_choices, dtype=np.float32)[choice[part]]
        return {"choice": choice, "log_prob": np.zeros(len(rows), np.float32), "expert_probs": probs}
