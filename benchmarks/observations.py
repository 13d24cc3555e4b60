"""What a plain network learns from which observation: `python -m benchmarks.observations OUT`.

Three ordinary trainers (PPO in CleanRL's style, MaskablePPO of sb3-contrib, and a masked DQN in CleanRL's style) learn one seat
against `thumb` on the others, from `bytes` (each divided by the largest that it is in random play), from `features`, and from
features with `canonical` suits. The network, the settings and the deals of the measurement are the same for all observations.

OUT/curves.csv gets a row at each measurement; OUT/observations.png and OUT/table.md are written anew behind each run. Started
again, it keeps the runs that were finished and begins with the next. Needs `pip install '.[plot,sb3]'`.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from torch import Tensor, nn
from torch.distributions import Categorical

from noms_env import NUM_ACTIONS, SeatVectorEnv, canonical_suits
from noms_env.envs.validation import ObservationKind
from noms_training.pictures import COLOURS, GREY, panels, plain, png
from noms_training.text import markdown_table

GAME = "down_up"
WAY: dict[str, Any] = {"opponents": "thumb", "reward": "relative", "skip_forced": True, "autoreset_mode": "SameStep"}
"""Own points less the mean of the others' in the deal: 0 is as good as `thumb`. Forced moves are taken for the learner."""
OBSERVATIONS = ("bytes", "features", "canonical")
FIRST_TEST_SEED = 1_000_000_000
TABLES, WIDTH, LEARNING_RATE, REWARD_SCALE = 64, 128, 1e-3, 0.1
STEPS, EPOCHS, MINIBATCH, CLIP, ENTROPY, LAMBDA = 32, 4, 512, 0.2, 0.01, 0.95
"""Of PPO: decisions at each table in an iteration, passes over them, decisions in an optimiser step, and coefficients."""
MEMORY, BATCH, BATCHES, SYNC, EXPLORING = 50_000, 256, 2, 500, 0.5
"""Of DQN: transitions kept, how many are drawn, draws per step of all tables, optimiser steps between copies to the target
network, and the share of the training in which the rate of random actions falls from 1 to 0.05."""

Choose = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From scaled observations, float32 (n, size), and masks (n, NUM_ACTIONS), to actions, integers (n,)."""
Trainer = Callable[["Task", int], Iterator[tuple[int, Choose]]]


@dataclass
class Args:
    """The settings; `--help` prints them."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the results"""
    decisions: int = 300_000
    """decisions that a run learns from"""
    seeds: int = 3
    """runs of each trainer with each observation"""
    measurements: int = 10
    """measurements in a run, besides the one before it"""
    deals: int = 400
    """deals of a measurement, each played from every seat with the same cards"""


@dataclass
class Task:
    """What is learnt from: an observation, how it is scaled, and for how many decisions."""

    observation: str
    scale: np.ndarray
    decisions: int

    def tables(self, number: int) -> Any:
        """So many tables with one learner each."""
        kind: ObservationKind = "bytes" if self.observation == "bytes" else "features"
        envs = SeatVectorEnv(number, GAME, observation=kind, seat="rotate", **WAY)
        return canonical_suits(envs) if self.observation == "canonical" else envs

    def seen(self, seen: dict[str, np.ndarray]) -> tuple[Tensor, Tensor]:
        """What a network reads: scaled observations, and which actions are legal."""
        return torch.from_numpy(seen["observation"] * self.scale), torch.from_numpy(seen["action_mask"] != 0)


def make_task(observation: str, decisions: int) -> Task:
    """A task; bytes are scaled by what they are in 20,000 decisions of random play."""
    task = Task(observation, np.ones(1, np.float32), decisions)
    envs, rng = task.tables(TABLES), np.random.default_rng(0)
    seen, _ = envs.reset(seed=0)
    largest = seen["observation"].max(axis=0)
    for _ in range(20_000 // TABLES):
        seen, *_ = envs.step((rng.random((TABLES, NUM_ACTIONS)) * seen["action_mask"]).argmax(axis=1))
        largest = np.maximum(largest, seen["observation"].max(axis=0))
    if observation == "bytes":
        task.scale = (1 / np.maximum(largest, 1)).astype(np.float32)
    task.scale = np.broadcast_to(task.scale, largest.shape)
    return task


def mlp(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Two hidden layers; weights are orthogonal, those of the last layer by `gain`, and biases 0."""
    layers = [nn.Linear(inputs, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, outputs)]
    for layer, size in zip(layers, (math.sqrt(2), math.sqrt(2), gain), strict=True):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def masked(values: Tensor, legal: Tensor) -> Tensor:
    """The values, with those of illegal actions as low as can be."""
    return values.masked_fill(~legal, torch.finfo(values.dtype).min)


def greedy(network: nn.Module) -> Choose:
    """Chooses the legal action with the highest output."""

    @torch.no_grad()
    def choose(seen: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return masked(network(torch.from_numpy(seen)), torch.from_numpy(mask != 0)).argmax(dim=1).numpy()

    return choose


def ppo(task: Task, seed: int) -> Iterator[tuple[int, Choose]]:
    """PPO in CleanRL's style, with the mask in the distribution."""
    torch.manual_seed(seed)
    envs, size = task.tables(TABLES), len(task.scale)
    actor, critic = mlp(size, NUM_ACTIONS, 0.01), mlp(size, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE, eps=1e-5)
    shape = (STEPS, TABLES)
    obs, legal = torch.zeros(*shape, size), torch.zeros(*shape, NUM_ACTIONS, dtype=torch.bool)
    actions, logprobs, values = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape), torch.zeros(STEPS + 1, TABLES)
    rewards, dones = torch.zeros(shape), torch.zeros(shape)
    seen, _ = envs.reset(seed=seed * TABLES)
    yield 0, greedy(actor)
    for done in range(STEPS * TABLES, task.decisions + 1, STEPS * TABLES):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - done / (task.decisions + 1))
        with torch.no_grad():
            for step in range(STEPS):
                obs[step], legal[step] = task.seen(seen)
                policy = Categorical(logits=masked(actor(obs[step]), legal[step]), validate_args=False)
                actions[step] = policy.sample()
                logprobs[step], values[step] = policy.log_prob(actions[step]), critic(obs[step])[:, 0]
                seen, reward, ended, _, _ = envs.step(actions[step].numpy())
                rewards[step], dones[step] = torch.from_numpy(reward * REWARD_SCALE), torch.from_numpy(ended)
            values[STEPS] = critic(task.seen(seen)[0])[:, 0]
            gains, gain = torch.zeros(shape), torch.zeros(TABLES)
            for step in reversed(range(STEPS)):
                gain = rewards[step] + (1 - dones[step]) * (values[step + 1] + LAMBDA * gain) - values[step]
                gains[step] = gain
        flat = [part.flatten(0, 1) for part in (obs, legal, actions, logprobs, gains, gains + values[:STEPS])]
        for _ in range(EPOCHS):
            for rows in torch.randperm(STEPS * TABLES).split(MINIBATCH):
                loss = ppo_loss(actor, critic, *(part[rows] for part in flat))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
        yield done, greedy(actor)


def ppo_loss(
    actor: nn.Module,
    critic: nn.Module,
    obs: Tensor,
    legal: Tensor,
    actions: Tensor,
    logprobs: Tensor,
    gains: Tensor,
    returns: Tensor,
) -> Tensor:
    """The loss of a minibatch."""
    policy = Categorical(logits=masked(actor(obs), legal), validate_args=False)
    ratio = (policy.log_prob(actions) - logprobs).exp()
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    gain = torch.min(ratio * gains, ratio.clamp(1 - CLIP, 1 + CLIP) * gains).mean()
    value_loss = 0.25 * (critic(obs)[:, 0] - returns).square().mean()
    loss: Tensor = value_loss - gain - ENTROPY * policy.entropy().mean()
    return loss


def maskable_ppo(task: Task, seed: int) -> Iterator[tuple[int, Choose]]:
    """MaskablePPO of sb3-contrib with the same settings."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecEnvWrapper

    from noms_env.interop.sb3 import SeatVecEnv

    class Scaled(VecEnvWrapper):  # type: ignore[misc]  # the library has no types
        def reset(self) -> np.ndarray:
            return np.asarray(self.venv.reset() * task.scale)

        def step_wait(self) -> Any:
            seen, reward, done, infos = self.venv.step_wait()
            return seen * task.scale, reward * REWARD_SCALE, done, infos

    way = {name: value for name, value in WAY.items() if name != "autoreset_mode"}
    envs = SeatVecEnv(TABLES, GAME, observation="bytes" if task.observation == "bytes" else "features", seat="rotate", **way)
    if task.observation == "canonical":
        envs.envs = canonical_suits(envs.envs)
    envs.seed(seed * TABLES)
    box: Any = envs.observation_space
    space = type(box)(0.0, 255.0, box.shape, np.float32)
    model = MaskablePPO(
        "MlpPolicy",
        Scaled(envs, observation_space=space),
        n_steps=STEPS,
        batch_size=MINIBATCH,
        n_epochs=EPOCHS,
        gamma=1.0,
        gae_lambda=LAMBDA,
        ent_coef=ENTROPY,
        learning_rate=lambda left: LEARNING_RATE * left,
        policy_kwargs={"net_arch": [WIDTH, WIDTH]},
        seed=seed,
        device="cpu",
    )

    def choose(seen: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict(seen, action_masks=mask != 0, deterministic=True)[0])

    yield 0, choose
    for done in range(STEPS * TABLES, task.decisions + 1, STEPS * TABLES):
        model.lr_schedule = lambda _, done=done: LEARNING_RATE * (1 - done / (task.decisions + 1))
        model.learn(STEPS * TABLES, reset_num_timesteps=done == STEPS * TABLES)
        yield done, choose


def dqn(task: Task, seed: int) -> Iterator[tuple[int, Choose]]:
    """DQN in CleanRL's style: actions are drawn from the legal ones, and the target is the best of the next legal ones."""
    torch.manual_seed(seed)
    rng, envs, size = np.random.default_rng(seed), task.tables(TABLES), len(task.scale)
    network, target = mlp(size, NUM_ACTIONS, 0.01), mlp(size, NUM_ACTIONS, 0.01)
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    kept = [torch.zeros(MEMORY, size, dtype=torch.float16) for _ in range(2)]
    legal = torch.zeros(MEMORY, NUM_ACTIONS, dtype=torch.bool)
    actions, rewards, dones = torch.zeros(MEMORY, 1, dtype=torch.int64), torch.zeros(MEMORY), torch.zeros(MEMORY)
    (seen, _), choose, updates = envs.reset(seed=seed * TABLES), greedy(network), 0
    yield 0, choose
    for done in range(TABLES, task.decisions + 1, TABLES):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - done / (task.decisions + 1))
        obs, mask = task.seen(seen)
        action = choose(obs.numpy(), seen["action_mask"])
        explores = rng.random(TABLES) < max(0.05, 1 - 0.95 * done / (EXPLORING * task.decisions))
        action = np.where(explores, (rng.random(mask.shape) * seen["action_mask"]).argmax(axis=1), action)
        seen, reward, ended, _, _ = envs.step(action)
        at = torch.arange(done - TABLES, done) % MEMORY
        kept[0][at], (after, legal[at]) = obs.half(), task.seen(seen)
        kept[1][at], actions[at, 0], dones[at] = after.half(), torch.from_numpy(action), torch.from_numpy(ended).float()
        rewards[at] = torch.from_numpy(reward * REWARD_SCALE).float()
        for _ in range(BATCHES if done >= 20 * BATCH else 0):
            rows = torch.from_numpy(rng.integers(min(done, MEMORY), size=BATCH))
            with torch.no_grad():
                best = masked(target(kept[1][rows].float()), legal[rows]).max(dim=1).values
                goal = rewards[rows] + (1 - dones[rows]) * torch.where(dones[rows] > 0, 0.0, best)
            loss = nn.functional.mse_loss(network(kept[0][rows].float()).gather(1, actions[rows])[:, 0], goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            updates += 1
            if updates % SYNC == 0:
                target.load_state_dict(network.state_dict())
        yield done, choose


TRAINERS: dict[str, Trainer] = {"PPO": ppo, "MaskablePPO": maskable_ppo, "DQN": dqn}


class Measurement:
    """Plays the same deals from every seat with whatever chooses."""

    def __init__(self, task: Task, deals: int) -> None:
        """Set up the tables."""
        self._task, self._deals = task, deals
        self._seats = 4
        self._envs = task.tables(deals * self._seats)

    def __call__(self, choose: Choose) -> tuple[float, float]:
        """Points per deal less the mean of the others', and the margin of the 95 % interval over deals."""
        seeds, places = np.divmod(np.arange(self._envs.num_envs), self._seats)
        seen, _ = self._envs.reset(seed=(FIRST_TEST_SEED + seeds).tolist(), options={"seat": places})
        scores = np.full(len(seeds), np.nan)
        while np.isnan(scores).any():
            actions = choose(seen["observation"] * self._task.scale, seen["action_mask"])
            seen, rewards, ended, _, _ = self._envs.step(actions)
            first = ended & np.isnan(scores)  # of the deals after the first in each row nothing is kept
            scores[first] = rewards[first]
        means = scores.reshape(self._deals, self._seats).mean(axis=1)
        return float(means.mean()), float(1.96 * means.std(ddof=1) / math.sqrt(self._deals))


COLUMNS = ("trainer", "observation", "seed", "decisions", "seconds", "points", "margin")
Row = dict[str, str]


def read(file: Path) -> list[Row]:
    """The rows that are there."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def run(task: Task, trainer: str, seed: int, args: Args) -> Iterator[Row]:
    """The measurements of one run."""
    measure, started, spent = Measurement(task, args.deals), time.perf_counter(), 0.0
    for number, (done, choose) in enumerate(_at_measurements(TRAINERS[trainer](task, seed), args)):
        paused = time.perf_counter()
        points, margin = measure(choose)
        seconds = paused - started - spent
        spent += time.perf_counter() - paused
        figures = (trainer, task.observation, seed, done, f"{seconds:.1f}", f"{points:.3f}", f"{margin:.3f}")
        print(f"  {number:>2}  {done:>9,} decisions  {seconds:>6.0f} s  {points:+.2f} ± {margin:.2f}", flush=True)
        yield dict(zip(COLUMNS, map(str, figures), strict=True))


def _at_measurements(learning: Iterator[tuple[int, Choose]], args: Args) -> Iterator[tuple[int, Choose]]:
    """What is to be measured of a training: its beginning, equal steps, and its end."""
    due, last = 0.0, None
    for done, choose in learning:
        last = (done, choose)
        if done >= due:
            due += args.decisions / args.measurements
            last = None
            yield done, choose
    if last is not None:
        yield last


def report(rows: list[Row], out: Path) -> None:
    """Write the picture and the table."""
    picture, grid = panels(len(TRAINERS), "python -m benchmarks.observations")
    table: list[tuple[str, ...]] = []
    for axes, trainer in zip(grid, TRAINERS, strict=True):
        axes.sharey(grid[0])
        axes.axhline(0, color=GREY, linewidth=0.8)
        plain(axes, trainer)
        for colour, observation in zip(COLOURS, OBSERVATIONS, strict=False):
            own = [row for row in rows if (row["trainer"], row["observation"]) == (trainer, observation)]
            ends: list[float] = []
            for seed in sorted({row["seed"] for row in own}):
                curve = [(int(row["decisions"]) / 1000, float(row["points"])) for row in own if row["seed"] == seed]
                label = observation if not ends else None
                axes.plot(*zip(*curve, strict=True), color=colour, linewidth=1.2, alpha=0.8, label=label)
                ends.append(curve[-1][1])
            shown = ", ".join(f"{end:+.2f}" for end in ends)
            table.append((trainer, observation, f"{np.mean(ends):+.2f}" if ends else "", shown))
    grid[0].legend(fontsize=8, frameon=False)
    picture.supxlabel("thousand decisions", fontsize=9)
    picture.supylabel("points a deal against thumb", fontsize=9)
    (out / "observations.png").write_bytes(png(picture))
    (out / "table.md").write_text(markdown_table(table, "Trainer", "Observation", "Mean", "Each seed") + "\n")


def main(args: Args) -> None:
    """Run what is missing."""
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "curves.csv"
    rows = read(file)
    tasks = {observation: make_task(observation, args.decisions) for observation in OBSERVATIONS}
    runs = list(product(range(1, args.seeds + 1), TRAINERS, OBSERVATIONS))
    for number, (seed, trainer, observation) in enumerate(runs, 1):
        name = {"trainer": trainer, "observation": observation, "seed": str(seed)}
        if any(name.items() <= row.items() for row in rows):
            continue
        print(f"{time.strftime('%H:%M')}  run {number} of {len(runs)}: {trainer}, {observation}, seed {seed}", flush=True)
        rows += run(tasks[observation], trainer, seed, args)
        part = file.with_suffix(".part")
        with part.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        part.replace(file)  # a run is there as a whole or not at all
        report(rows, args.out)


if __name__ == "__main__":
    main(tyro.cli(Args))
