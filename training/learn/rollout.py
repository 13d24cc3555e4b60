"""Players in training, at the tables of `pool`.

Self-play and evaluation use the same `play`. A `Learner` is the policy that is being trained: it keeps what it saw and did, so
that it can learn from it; nobody else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import torch

from noms_env import BatchEnv
from noms_env._jit import jit
from noms_env.core.actions import PASS
from noms_env.players import Player, TellsProbabilities
from noms_env.policy.encoding import Encoding
from noms_env.variants import Rules
from noms_env.variants.families import AUCTION, EXACT_BID
from training.agents.table_pool import CALLING as CALLING
from training.agents.table_pool import PHASE_NAMES as PHASE_NAMES
from training.agents.table_pool import PLAYING as PLAYING
from training.agents.table_pool import Choose as Choose
from training.agents.table_pool import TablePool as TablePool
from training.agents.table_pool import at_tables as at_tables
from training.agents.table_pool import make_rule_sets as make_rule_sets
from training.agents.table_pool import play as play
from training.learn.network import Actor
from training.learn.rollout_targets import RolloutTargets

SMALL_HAND = 5
NO_ADVICE = -1


# ---------------------------------------------------------------------------------------------------------- players


@dataclass
class Decisions:
    """Decisions of the learner, in the order in which they were taken at each table.

    Attributes:
        features: uint8, shape (n, n_features).
        hidden: uint8, shape (n, n_hidden): what the critic sees besides; no columns without oracle.
        mask: int8, shape (n, n_choices).
        choice: int64, shape (n,): the output of the network that was taken.
        log_probability: float32, shape (n,): of it, under the policy that took it.
        table: int64, shape (n,).
        seat: int64, shape (n,).
        rule_set: int64, shape (n,): number of the rules.
        phase: int64, shape (n,).
        tricks: int64, shape (n,): that the seat has taken at the end of the deal.
        advice: int64, shape (n,): what an adviser would have chosen; `NO_ADVICE` where he was not asked.
        worth: float32, shape (n, n_choices): what each action would have come to (`tryouts`); no columns where none was tried.
        told: float32, shape (n, n_choices): how probable a teacher finds each action; no columns where none told it.
    """

    features: np.ndarray
    hidden: np.ndarray
    mask: np.ndarray
    choice: np.ndarray
    log_probability: np.ndarray
    table: np.ndarray
    seat: np.ndarray
    rule_set: np.ndarray
    phase: np.ndarray
    tricks: np.ndarray
    advice: np.ndarray
    worth: np.ndarray
    told: np.ndarray

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.choice)

    @classmethod
    def joined(cls, parts: Iterable[Decisions]) -> Decisions:
        """All decisions in one."""
        chosen = list(parts)
        return cls(**{part.name: np.concatenate([getattr(one, part.name) for one in chosen]) for part in fields(cls)})

    def moved(self, tables: int) -> Decisions:
        """The same with `table` counted from another number."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return Decisions(**values | {"table": self.table + tables})


class ActorPlayer:
    """An actor as a player: how it is now is how this plays, whatever becomes of it."""

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
        """Take a policy.

        Args:
            actor: the network.
            encoding: what it reads.
            dtype: precision of the forward pass.
            device: where the network is.
            greedy: the most probable action instead of a draw.
        """
        self.actor, self.policy, self.encoding = actor, actor.frozen(dtype), encoding
        self.device, self.greedy = device, greedy

    def act(
        self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        """See `noms_env.players.Player.act`; rows only."""
        features, legal, order = self.encoding.encode_rows(observation, mask, np.arange(len(mask)))
        choice, _ = self.draw(features, legal, rng)
        actions: np.ndarray = self.encoding.actions[order, choice].astype(np.int64)
        return actions

    def draw(self, features: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Choices, int64, shape (n,), and the logarithms of their probabilities, float32, shape (n,)."""
        with torch.inference_mode():
            logits = self.policy(torch.from_numpy(features).to(self.device)).cpu().numpy()
        choice, log_probability = np.empty(len(mask), np.int64), np.empty(len(mask), np.float32)
        draws = np.full(len(mask), -1.0) if self.greedy else rng.random(len(mask))
        draw_choices(logits, mask, draws, choice, log_probability)
        return choice, log_probability


class Learner:
    """The policy, sampled from; it keeps its decisions.

    A decision without alternative is taken but not kept, since there is nothing to learn from it.

    Attributes:
        is_told: whether somebody says how probable he finds each action.
    """

    is_told = False

    def __init__(
        self,
        actor: Actor,
        encoding: Encoding,
        rng: np.random.Generator,
        *,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        oracle: bool = True,
        adviser: Choose | None = None,
        tryouts: RolloutTargets | None = None,
    ) -> None:
        """Take a place.

        Args:
            actor: the network; how it is now is how this plays, whatever becomes of it.
            encoding: what it reads.
            rng: of the draws.
            dtype: precision of the forward pass.
            device: where the network is.
            oracle: keep the hidden state too.
            adviser: is asked before the play what he would do; that is kept beside what is done.
            tryouts: finds what every action comes to; that is kept too.
        """
        self.player = ActorPlayer(actor, encoding, dtype=dtype, device=device)
        self.encoding, self.rng = encoding, rng
        self.oracle, self.adviser, self.tryouts = oracle, adviser, tryouts
        self._kept: list[Decisions] = []

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `Choose`."""
        features, mask, order = self.encoding.encode_rows(batch.observation, batch.mask, rows)
        choice, log_probability = self.player.draw(features, mask, self.rng)
        self._note(batch, rows, features, mask, order, choice, log_probability)
        actions: np.ndarray = self.encoding.actions[order, choice].astype(np.int64)
        return actions

    def _note(
        self,
        batch: BatchEnv,
        rows: np.ndarray,
        features: np.ndarray,
        mask: np.ndarray,
        order: np.ndarray,
        choice: np.ndarray,
        log_probability: np.ndarray,
        told: np.ndarray | None = None,
    ) -> None:
        """Keep the decisions that had an alternative."""
        if self.oracle:
            assert batch.hidden_state is not None
            hidden = self.encoding.encode_hidden(batch.hidden_state, rows, order)
        else:
            hidden = np.empty((len(rows), 0), np.uint8)
        zeros = np.zeros(len(rows), np.int64)
        seat, phase = batch.seat[rows].astype(np.int64), batch.tables.phase[rows].astype(np.int64)
        advice = self._advice(batch, rows, phase, order)
        none = np.empty((len(rows), 0), np.float32)
        told = none if told is None else told
        taken = Decisions(features, hidden, mask, choice, log_probability, rows, seat, zeros, phase, zeros, advice, none, told)
        free = mask.sum(axis=1, dtype=np.int64) > 1
        if not free.all():
            taken = Decisions(**{part.name: getattr(taken, part.name)[free] for part in fields(taken)})
        if self.tryouts is not None:
            taken.worth = self.tryouts.worths(batch, taken.table, order[free])
        self._kept.append(taken)

    def _advice(self, batch: BatchEnv, rows: np.ndarray, phase: np.ndarray, order: np.ndarray) -> np.ndarray:
        """What the adviser would choose, int64, shape (n,)."""
        advice = np.full(len(rows), NO_ADVICE, np.int64)
        asked = np.flatnonzero(phase < PLAYING)
        if self.adviser is not None and len(asked) > 0:
            advice[asked] = self._choices(self.adviser(batch, rows[asked]), order[asked])
        return advice

    def _choices(self, actions: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The outputs of the network that stand for actions, int64, shape (n,)."""
        choices: np.ndarray = np.argmax(self.encoding.actions[order] == np.asarray(actions)[:, None], axis=1)
        return choices

    def decisions(self, pool: TablePool) -> Decisions:
        """All decisions since the last call, once their deals are over."""
        kept = Decisions.joined(self._kept) if self._kept else self._nothing()
        self._kept = []
        kept.rule_set = pool.rule_set[kept.table]
        kept.tricks = pool.batch.tables.tricks[kept.table, kept.seat].astype(np.int64)
        return kept

    def _nothing(self) -> Decisions:
        """No decisions."""
        none = np.empty(0, np.int64)
        features = np.empty((0, self.encoding.n_features), np.uint8)
        hidden = np.empty((0, self.encoding.n_hidden if self.oracle else 0), np.uint8)
        mask = np.empty((0, self.encoding.n_choices), np.int8)
        worth = np.empty((0, self.encoding.n_choices if self.tryouts else 0), np.float32)
        told = np.empty((0, self.encoding.n_choices if self.is_told else 0), np.float32)
        chance = np.empty(0, np.float32)
        return Decisions(features, hidden, mask, none, chance, none, none, none, none, none, none, worth, told)


class Pupil(Learner):
    """The policy in a lesson: a teacher decides, and his decisions are kept as if they were its own.

    A teacher that is a policy also tells how probable he finds each action, which says more of him than what he did (policy
    distillation: Rusu et al., arXiv 1511.06295).
    """

    def __init__(
        self, teacher: Player, actor: Actor, encoding: Encoding, rng: np.random.Generator, *, oracle: bool = True
    ) -> None:
        """Take a place behind the teacher; the other arguments are those of `Learner`."""
        super().__init__(actor, encoding, rng, oracle=oracle)
        self.teacher = teacher
        self.is_told = isinstance(teacher, TellsProbabilities)

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `Choose`."""
        features, mask, order = self.encoding.encode_rows(batch.observation, batch.mask, rows)
        actions = at_tables(self.teacher, self.rng)(batch, rows)
        choice = self._choices(actions, order)
        self._note(batch, rows, features, mask, order, choice, np.zeros(len(rows), np.float32), self._told(batch, rows, order))
        return actions

    def _told(self, batch: BatchEnv, rows: np.ndarray, order: np.ndarray) -> np.ndarray | None:
        """How probable the teacher finds the outputs of the network, float32, shape (n, n_choices), if he tells it."""
        if not isinstance(self.teacher, TellsProbabilities):
            return None
        chances = self.teacher.probabilities(batch.observation[rows], batch.mask[rows])
        told: np.ndarray = np.take_along_axis(chances, self.encoding.actions[order].astype(np.int64), axis=1)
        return told


@jit
def draw_choices(logits, mask, draws, choice, log_probability):
    """Draw from the softmax of the legal logits, by the inverse of its distribution function.

    Args:
        logits: float32, shape (n, choices).
        mask: int8, shape (n, choices).
        draws: float64, shape (n,): uniform on 0..1; below 0 takes the most probable choice, the first of equal ones.
        choice: int64, shape (n,): is written.
        log_probability: float32, shape (n,): of that choice; is written.
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
        log_probability[i] = logits[i, chosen] - logits[i, best] - np.log(total)


class RandomContract:
    """Decisions before the play, drawn so that contracts of all heights come about: for the deals that teach play first.

    Where that is legal it passes, with probability 3/4 over a bid and 1/4 before the first; else it takes the lowest bid, and
    with probability 1/2 each the next higher one. Trumps and nominations are uniform.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        """Take a place."""
        self.rng = rng

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """See `Choose`."""
        actions = np.empty(len(rows), np.int64)
        bidding = batch.tables.phase[rows] == CALLING
        uniform = self.rng.random(len(rows))
        steps = self.rng.geometric(0.5, len(rows)) - 1
        passing = np.where(batch.tables.high_bidder[rows] >= 0, 3 / 4, 1 / 4)
        for i, row in enumerate(rows):
            legal = np.flatnonzero(batch.mask[row])
            if bidding[i]:
                may_pass = legal[0] == PASS
                if may_pass and (uniform[i] < passing[i] or len(legal) == 1):
                    actions[i] = legal[0]
                    continue
                bids = legal[1:] if may_pass else legal
                actions[i] = bids[min(steps[i], len(bids) - 1)]
            else:
                actions[i] = legal[int(uniform[i] * len(legal))]
        return actions


# ------------------------------------------------------------------------------------------------------ hand sizes


def draw_sizes(pool: TablePool, rule_sets: Sequence[Rules], rng: np.random.Generator, small: bool) -> np.ndarray:
    """Hand sizes for the exact-bid games, so that each gets the same number of decisions; -1 for the other games.

    Args:
        pool: the tables.
        rule_sets: all rules of the run.
        rng: of the draws.
        small: at most five cards.
    """
    sizes = np.full(len(pool), -1, np.int64)
    for number, kind in enumerate(rule_sets):
        rows = np.flatnonzero(pool.rule_set == number)
        if kind.variant.family != EXACT_BID or len(rows) == 0:
            continue
        allowed = np.array(sorted(set(kind.schedule)))
        fitting = allowed[allowed <= max(SMALL_HAND, allowed[0])] if small else allowed
        weight = 1 / (fitting + 1)  # a call, and about as many choices as cards
        sizes[rows] = rng.choice(fitting, len(rows), p=weight / weight.sum())
    return sizes


def has_auction(pool: TablePool, rule_sets: Sequence[Rules]) -> np.ndarray:
    """Which tables play a game with an auction, bool, shape (n,)."""
    auction = np.array([kind.variant.family == AUCTION for kind in rule_sets])
    return auction[pool.rule_set]
