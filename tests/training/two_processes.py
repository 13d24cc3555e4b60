"""What `test_processes.py` runs on each of two processes: an update on half of the data each, or a run of two iterations."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from dataclasses import fields
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from tests.training.test_ppo import make_actor, make_critic, make_sample
from tests.training.test_self_play import tiny
from training.config import PPOConfig
from training.learn.distributed import Processes, join_processes, leave_processes
from training.learn.ppo import MinibatchPlan, Sample, Student, update_actor, update_critic
from training.learn.self_play import Played, SelfPlay

SIZE, CUT = 60, 23


def part_of(sample: Sample, rows: slice) -> Sample:
    return Sample(**{field.name: getattr(sample, field.name)[rows] for field in fields(Sample)})


def learn(student: nn.Module, critic: nn.Module, sample: Sample, shares: list[MinibatchPlan]) -> None:
    """One step of each optimiser on all decisions."""
    settings = PPOConfig(epochs=1, minibatch=SIZE, microbatch=10)
    bare = student.module if isinstance(student, nn.parallel.DistributedDataParallel) else student
    assert isinstance(bare, Student)
    slow = copy.deepcopy(bare.actor)
    optimisers = [torch.optim.SGD(module.parameters(), lr=0.5) for module in (student, critic)]
    update_actor(student, slow, optimisers[0], sample, shares[0], settings, magnet=0.1, seed=0)
    update_critic(critic, optimisers[1], sample, shares[1], settings, seed=0)


def named(prefix: str, *modules: nn.Module) -> dict[str, np.ndarray]:
    return {
        f"{prefix}/{place}/{name.removeprefix('module.')}": parameter.detach().numpy().copy()
        for place, module in enumerate(modules)
        for name, parameter in module.named_parameters()
    }


def update(processes: Processes) -> dict[str, np.ndarray]:
    """Parameters at the start, after an update on half of the data on each process, and after one on all of it."""
    sample = make_sample(SIZE)
    mine = part_of(sample, slice(CUT) if processes.rank == 0 else slice(CUT, None))
    modules = [Student(make_actor(seed=processes.rank)), make_critic(seed=processes.rank)]
    found = named("start", Student(make_actor()), make_critic())
    wrapped = [processes.wrapped(module, place) for place, module in enumerate(modules)]
    shares = [MinibatchPlan(processes.sizes(len(mine)), processes.rank, group) for group in processes.groups]
    learn(wrapped[0], wrapped[1], mine, shares)
    alone = [Student(make_actor()), make_critic()]
    learn(alone[0], alone[1], sample, [MinibatchPlan((SIZE,))] * 2)
    return found | named("together", *wrapped) | named("alone", *alone)


def run(processes: Processes) -> dict[str, np.ndarray]:
    """Two iterations."""
    self_play = SelfPlay(tiny("noms", threads=1), processes)
    own: list[int] = []
    learn = self_play._learn

    def counted(played: Sequence[Played]) -> dict[str, float]:
        own.append(sum(len(part.decisions) for part in played))
        return learn(played)

    with patch.object(self_play, "_learn", counted):
        for _ in range(2):
            self_play.iterate()
    hands = self_play.places[0].pool.batch.tables.played.copy()
    self_play.close()
    assert len(self_play.state()["tables"]) == 2
    return {
        "decisions": np.array(self_play.decisions),
        "own": np.array(sum(own)),
        "hands": hands,
        **named("parameters", self_play.actor, self_play.slow, self_play.critic),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    together = join_processes("cpu")
    found = update(together) if sys.argv[1] == "update" else run(together)
    np.savez(sys.argv[2], allow_pickle=False, **found)
    leave_processes(together)
