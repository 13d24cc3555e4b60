"""What `test_processes.py` runs on each of two processes: an update on half of the data each, or a run of two iterations."""

import sys
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from tests.training.test_ppo import make_actor, make_batches, make_critic
from tests.training.test_self_play import tiny
from training.config import PPOConfig
from training.learn.distributed import Processes, join_processes, leave_processes
from training.learn.ppo import ActorBatch, CriticBatch, MinibatchPlan, select, update_actor, update_critic
from training.learn.rollout import Rollout, RolloutWorker
from training.learn.self_play import SelfPlay

SIZE, CUT = 60, 23


def learn(actor: nn.Module, critic: nn.Module, batches: tuple[ActorBatch, CriticBatch], plans: list[MinibatchPlan]) -> None:
    """One step of each optimizer on all decisions."""
    settings = PPOConfig(update_epochs=1)
    optimizers = [torch.optim.SGD(module.parameters(), lr=0.5) for module in (actor, critic)]
    update_actor(actor, optimizers[0], batches[0], plans[0], settings)
    update_critic(critic, optimizers[1], batches[1], plans[1], settings)


def named(prefix: str, *modules: nn.Module) -> dict[str, np.ndarray]:
    return {
        f"{prefix}/{place}/{name.removeprefix('module.')}": parameter.detach().numpy().copy()
        for place, module in enumerate(modules)
        for name, parameter in module.named_parameters()
    }


def update(processes: Processes) -> dict[str, np.ndarray]:
    """Parameters at the start, after an update on half of the data on each process, and after one on all of it."""
    whole = make_batches(SIZE)
    rows = torch.arange(CUT) if processes.rank == 0 else torch.arange(CUT, SIZE)
    modules = [make_actor(seed=processes.rank), make_critic(seed=processes.rank)]
    found = named("start", make_actor(), make_critic())
    wrapped = [processes.wrapped(module, place) for place, module in enumerate(modules)]
    sizes = processes.sizes(len(rows))
    plans = [MinibatchPlan(sizes, SIZE, 0, processes.rank, group) for group in processes.groups]
    learn(wrapped[0], wrapped[1], (select(whole[0], rows), select(whole[1], rows)), plans)
    alone = [make_actor(), make_critic()]
    learn(alone[0], alone[1], whole, [MinibatchPlan((SIZE,), SIZE, 0)] * 2)
    return found | named("together", *wrapped) | named("alone", *alone)


def run(processes: Processes) -> dict[str, np.ndarray]:
    self_play = SelfPlay(tiny("noms", threads=1), processes)
    own: list[int] = []

    def collect(worker: RolloutWorker) -> Rollout:
        rollout = SelfPlay.collect(self_play, worker)
        own.append(len(rollout.decisions))
        return rollout

    with patch.object(self_play, "collect", collect):
        for _ in range(2):
            self_play.iterate()
    hands = self_play.workers[0].pool.batch.tables.played.copy()
    self_play.close()
    assert len(self_play.state()["tables"]) == 2
    return {
        "decisions": np.array(self_play.decisions),
        "own": np.array(sum(own)),
        "hands": hands,
        **named("parameters", self_play.actor, self_play.critic),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    together = join_processes("cpu")
    found = update(together) if sys.argv[1] == "update" else run(together)
    np.savez(sys.argv[2], allow_pickle=False, **found)
    leave_processes(together)
