"""A tiny run in a folder, from its last checkpoint if there is one: what `test_train.py` starts, interrupts and kills."""

import sys
from collections.abc import Mapping

from noms_training.learn.checkpoint import RunFolder
from noms_training.learn.config import OpponentsConfig, TrainConfig
from noms_training.learn.log import Watcher
from noms_training.learn.loop import train
from tests.training.test_self_play import tiny


def config() -> TrainConfig:
    """With evaluations, past selves, and a checkpoint after every iteration."""
    return tiny(
        "noms",
        "down_up",
        decisions=9_000,
        evaluate_every=2_500,
        evaluation_deals=8,
        save_every=0.0,
        opponents=OpponentsConfig(share=0.3, start=0.2, past=2),
    )


class Telling(Watcher):
    """Prints a line after each iteration."""

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        print(decisions, flush=True)


if __name__ == "__main__":
    given = RunFolder(sys.argv[1])
    with RunFolder.open(given.path) if given.has_run() else RunFolder.create(given.path, config().as_dict()) as folder:
        try:
            train(config(), folder, Telling())
        except KeyboardInterrupt:
            sys.exit(130)
