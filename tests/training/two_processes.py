"""What `test_processes.py` runs on each of two processes: an update on half of the data each, and a run of two iterations."""

import sys
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from noms_training.learn.collect import Played, Rollout, Worker
from noms_training.learn.config import PPOConfig
from noms_training.learn.distributed import Processes, join_processes
from noms_training.learn.ppo import ACTOR_COLUMNS, Shuffle, Trainable, update_actor, update_critic
from noms_training.learn.schedule import Now
from noms_training.learn.train import Trainer
from tests.training.test_ppo import make_actor, make_batch, make_critic
from tests.training.tiny_run import make_config

SIZE, CUT = 60, 23


def take_step(actor: nn.Module, critic: nn.Module, batch: Rollout, shuffle: Shuffle) -> None:
    """Take one step of each optimizer on all decisions."""
    settings = PPOConfig(update_epochs=1)
    trainable = [Trainable(module, torch.optim.SGD(module.parameters(), lr=0.5)) for module in (actor, critic)]
    update_actor(trainable[0], batch, shuffle, settings)
    update_critic(trainable[1], batch, shuffle, settings)


def copy_parameters(prefix: str, *modules: nn.Module) -> dict[str, np.ndarray]:
    return {
        f"{prefix}/{place}/{name.removeprefix('module.')}": parameter.detach().numpy().copy()
        for place, module in enumerate(modules)
        for name, parameter in module.named_parameters()
    }


def update(processes: Processes) -> dict[str, np.ndarray]:
    """Parameters at the start, after an update on half of the data on each process, and after one on all of it."""
    whole = make_batch(SIZE)
    rows = torch.arange(CUT) if processes.rank == 0 else torch.arange(CUT, SIZE)
    modules = [make_actor(seed=processes.rank), make_critic(seed=processes.rank)]
    start = copy_parameters("start", make_actor(), make_critic())
    wrapped = [processes.wrap(module, place) for place, module in enumerate(modules)]
    own = whole.select(rows, *(name for name in ACTOR_COLUMNS if name != "expert_probs"), "seen", "target")
    total = int(processes.all_sum(torch.tensor(len(rows))))
    take_step(wrapped[0], wrapped[1], own, Shuffle(len(rows), total, SIZE, 0, processes.world))
    alone = [make_actor(), make_critic()]
    take_step(alone[0], alone[1], whole, Shuffle(SIZE, SIZE, SIZE, 0))
    return start | copy_parameters("together", *wrapped) | copy_parameters("alone", *alone)


def run(processes: Processes) -> dict[str, np.ndarray]:
    """Decisions of all processes and of this one, hands and parameters after two iterations."""
    trainer = Trainer(make_config("noms", threads=1), processes)
    own: list[int] = []

    def collect(worker: Worker, now: Now) -> Played:
        part = Trainer.collect(trainer, worker, now)
        own.append(sum(len(step["choice"]) for step in part.steps))
        return part

    with patch.object(trainer, "collect", collect):
        for _ in range(2):
            trainer.iterate()
    hands = trainer.workers[0].pool.batch.tables.played.copy()
    trainer.close()
    assert len(trainer.state()["tables"]) == 2
    return {
        "decisions": np.array(trainer.decisions),
        "own": np.array(sum(own)),
        "hands": hands,
        **copy_parameters("parameters", trainer.actor, trainer.critic),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    with join_processes("cpu") as processes:
        np.savez(sys.argv[1], allow_pickle=False, **update(processes), **run(processes))
