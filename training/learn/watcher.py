"""Who is told what a run does: the progress on the screen, the log, both, or nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Watcher(Protocol):
    """What the training loop tells.

    The figures of an iteration: `decisions_per_second`, `rollout_seconds`, `engine_seconds`, `learn_seconds`, `learning_rate`,
    `entropy/<phase>` (0 to 1: divided by the logarithm of the number of legal actions), `kl`, `clip_fraction`,
    `explained_variance`, `policy_loss`, `value_loss`, `magnet_kl`, and `played/<kind>/<probe>`, probes of the learner in the
    deals that it learns from (whose hand sizes and opponents are not those of a match).

    The figures of an evaluation: `points/<kind>/<opponent>` (own points less the mean of the others', per duplicate deal)
    with its 95 % interval `.../low` and `.../high`, and `probe/<kind>/<probe>` of the policy against itself.
    """

    def started(self, done: int, total: int) -> None:
        """The run begins, or goes on: so many decisions are done, of so many."""
        ...

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """An iteration is over, and so many decisions are done."""
        ...

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """The policy was evaluated."""
        ...

    def note(self, text: str) -> None:
        """Something has happened that the user may want to know: a sentence."""
        ...


class Silent:
    """Watches nothing: for processes that do not talk to the user."""

    def started(self, done: int, total: int) -> None:
        """See `Watcher`."""

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""

    def note(self, text: str) -> None:
        """See `Watcher`."""


class Several:
    """Passes on everything to several watchers, in their order."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        """Watch for all of these."""
        self.watchers = watchers

    def started(self, done: int, total: int) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.started(done, total)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.iteration(decisions, metrics)

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.evaluation(decisions, metrics)

    def note(self, text: str) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.note(text)
