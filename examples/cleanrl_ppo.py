"""Masked PPO self-play in one CleanRL-style file, on the batch engine: `python examples/cleanrl_ppo.py`.

Needs torch (`pip install '.[train]'`). Four things differ from PPO for one agent:

* One network plays all seats. An iteration plays whole deals, so no trajectory is truncated, and the discount is 1.
* A deal is one trajectory for each seat. Its only reward comes at the end of the deal, and belongs to the seat's last decision,
  even if other seats acted after it (`advantages`).
* The distribution over actions is masked: in sampling, in the loss and in the entropy.
* The mean reward of self-play is always 0, so the policy is evaluated against random players (`before_and_after`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from torch import Tensor, nn
from torch.distributions import Categorical

import noms_env
from noms_training.interop.one_seat import before_and_after


@dataclass
class Args:
    """The settings; `--help` prints them."""

    variant: str = "down_up"
    """game, one of `noms_env.VARIANTS`"""
    seats: int | None = None
    """seats at the table; the game's default if None"""
    seed: int = 1
    """seed of deals, network and sampling"""
    tensorboard: Path | None = None
    """folder for TensorBoard logs; none if None"""
    total_decisions: int = 200_000
    """decisions to learn from; forced moves do not count"""
    num_tables: int = 512
    """tables played in parallel: deals per iteration"""
    width: int = 128
    """units of each of the two hidden layers"""
    learning_rate: float = 1e-3
    """initial Adam learning rate; linear decay to 0"""
    gae_lambda: float = 0.95
    """lambda of generalised advantage estimation"""
    minibatch_size: int = 1024
    """decisions per optimiser step"""
    update_epochs: int = 3
    """passes over the decisions of an iteration"""
    clip_coef: float = 0.2
    """clip range of the probability ratio"""
    ent_coef: float = 0.01
    """entropy coefficient"""
    vf_coef: float = 0.5
    """value loss coefficient"""
    max_grad_norm: float = 0.5
    """maximum gradient norm"""
    reward_scale: float = 0.1
    """scale of the rewards for learning"""
    eval_deals: int = 1000
    """evaluation deals, each played from all seats"""
    eval_seed: int = 0
    """seed of the evaluation"""


def mlp(inputs: int, width: int, outputs: int, gain: float) -> nn.Sequential:
    """Return a network of two hidden layers with orthogonal weights and zero biases; `gain` scales the last layer."""
    layers = [nn.Linear(inputs, width), nn.Linear(width, width), nn.Linear(width, outputs)]
    for layer, size in zip(layers, (math.sqrt(2), math.sqrt(2), gain), strict=True):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


class Agent(nn.Module):
    """Separate actor and critic networks.

    They read the suits of each deal in a canonical order, since side suits are equivalent under the rules.
    """

    def __init__(self, layout: noms_env.FeatureLayout, width: int) -> None:
        super().__init__()
        self.suits = noms_env.CanonicalSuits(layout)
        self.actor = mlp(layout.n_features, width, noms_env.NUM_ACTIONS, gain=0.01)
        self.critic = mlp(layout.n_features, width, 1, gain=1.0)

    def look(self, features: np.ndarray, mask: np.ndarray) -> tuple[Tensor, Tensor, np.ndarray]:
        """Put the suits of features, float32, shape (rows, n_features), and masks into canonical order.

        Returns:
            Features; legal actions, bool, shape (rows, NUM_ACTIONS); the suit order of each row, for `suits.meant`.
        """
        seen, orders = self.suits.rename({"observation": features, "action_mask": mask})
        return torch.from_numpy(seen["observation"]), torch.from_numpy(seen["action_mask"]) != 0, orders

    def policy(self, features: Tensor, legal: Tensor) -> Categorical:
        """Return the distribution over actions; illegal actions have probability 0."""
        logits = self.actor(features)
        return Categorical(logits=logits.masked_fill(~legal, torch.finfo(logits.dtype).min), validate_args=False)

    def value(self, features: Tensor) -> Tensor:
        """Return the expected reward of the deal, float32, shape (rows,)."""
        values: Tensor = self.critic(features)[:, 0]
        return values


@dataclass
class Step:
    """One decision at each table whose deal is not over; all arrays have one row per such table."""

    table: Tensor
    seat: Tensor
    features: Tensor
    legal: Tensor
    action: Tensor
    logprob: Tensor
    value: Tensor


def relative_points(batch: noms_env.BatchEnv) -> np.ndarray:
    """Return each seat's points minus the mean of the other seats: float64, shape (tables, seats)."""
    points = batch.tables.points[:, : batch.groups[0].rules.seats].astype(np.float64)
    seats = points.shape[1]
    return np.asarray((seats * points - points.sum(axis=1, keepdims=True)) / (seats - 1))


@torch.no_grad()
def play_deals(agent: Agent, batch: noms_env.BatchEnv) -> list[Step]:
    """Play the next deal at each table to its end; the agent sits on all seats."""
    steps, actions, layout = [], np.zeros(len(batch), np.int64), batch.feature_layout
    assert layout is not None
    batch.reset()
    batch.observe()
    while not batch.over.all():
        rows = np.flatnonzero(~batch.over)
        features, legal, orders = agent.look(batch.observation[rows] * layout.scale, batch.mask[rows])
        policy = agent.policy(features, legal)
        action = policy.sample()
        table, seat = torch.from_numpy(rows), torch.from_numpy(batch.seat[rows].astype(np.int64))
        steps.append(Step(table, seat, features, legal, action, policy.log_prob(action), agent.value(features)))
        actions[rows] = agent.suits.meant(action.numpy(), orders)
        batch.step(actions, observe=True)
    return steps


def advantages(steps: list[Step], reward: Tensor, gae_lambda: float) -> Tensor:
    """Return generalized advantage estimates (Schulman et al., arXiv 1506.02438) of all decisions, float32, in play order.

    Other seats act between two decisions of a seat. So the loop goes backwards and stores the next value and advantage of each
    table and seat. The value after a seat's last decision is its `reward` for the deal, float32, shape (tables, seats).
    """
    next_value, next_advantage, estimates = reward.clone(), torch.zeros_like(reward), []
    for step in reversed(steps):
        trajectory = (step.table, step.seat)
        advantage = next_value[trajectory] - step.value + gae_lambda * next_advantage[trajectory]
        next_value[trajectory], next_advantage[trajectory] = step.value, advantage
        estimates.append(advantage)
    return torch.cat(estimates[::-1])


def update(agent: Agent, optimizer: torch.optim.Optimizer, steps: list[Step], reward: Tensor, args: Args) -> dict[str, float]:
    """Update the agent from one iteration; return the metrics for TensorBoard."""
    features, legal, action, logprob, value = (
        torch.cat([getattr(step, name) for step in steps]) for name in ("features", "legal", "action", "logprob", "value")
    )
    advantage = advantages(steps, reward, args.gae_lambda)
    returns = advantage + value
    for _ in range(args.update_epochs):
        for rows in torch.randperm(len(value)).split(args.minibatch_size):
            policy = agent.policy(features[rows], legal[rows])
            logratio = policy.log_prob(action[rows]) - logprob[rows]
            ratio, gain = logratio.exp(), advantage[rows]
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
            pg_loss = -torch.min(ratio * gain, ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef) * gain).mean()
            v_loss = 0.5 * (agent.value(features[rows]) - returns[rows]).square().mean()
            entropy = policy.entropy().mean()
            loss = pg_loss - args.ent_coef * entropy + args.vf_coef * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimizer.step()
    return {
        "losses/policy_loss": pg_loss.item(),
        "losses/value_loss": v_loss.item(),
        "losses/entropy": entropy.item(),
        "losses/approx_kl": (ratio - 1 - logratio).mean().item(),
        "losses/clipfrac": ((ratio - 1).abs() > args.clip_coef).float().mean().item(),
        "losses/explained_variance": 1 - ((returns - value).var() / returns.var()).item(),
    }


def train(agent: Agent, args: Args) -> None:
    """Train for the decisions of `args`; print metrics every 20 iterations, and log them to TensorBoard if asked to."""
    options: dict[str, Any] = {"episode": "deal", "observation": "features", "skip_forced": True, "check_actions": False}
    batch = noms_env.make_batch(args.variant, args.num_tables, seed=args.seed, seats=args.seats, **options)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    writer = None
    if args.tensorboard is not None:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(args.tensorboard)
        writer.add_text("args", f"```\n{args}\n```")

    started, decisions, iteration = time.perf_counter(), 0, 0
    while decisions < args.total_decisions:
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - decisions / args.total_decisions)
        steps = play_deals(agent, batch)
        reward = torch.from_numpy(relative_points(batch) * args.reward_scale).float()
        metrics = update(agent, optimizer, steps, reward, args)
        iteration, decisions = iteration + 1, decisions + sum(len(step.table) for step in steps)
        metrics["charts/SPS"] = decisions / (time.perf_counter() - started)
        if writer is not None:
            for name, value in metrics.items():
                writer.add_scalar(name, value, decisions)
        if iteration % 20 == 0:
            summary = "  ".join(f"{name.partition('/')[2]} {value:.3g}" for name, value in metrics.items())
            print(f"{decisions:>9,} decisions  {summary}", flush=True)
    if writer is not None:
        writer.close()


def main(args: Args) -> None:
    """Train, and print the policy's points before and after, each deal played from every seat (duplicate)."""
    torch.set_num_threads(1)  # these networks are too small to gain from more threads
    torch.manual_seed(args.seed)
    agent = Agent(noms_env.feature_layout(args.variant, args.seats, episode="deal"), args.width)

    @torch.no_grad()
    def choose(features: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen, legal, orders = agent.look(features, mask)
        return np.asarray(agent.suits.meant(agent.policy(seen, legal).sample().numpy(), orders))

    sizes = {"decisions": args.total_decisions, "deals": args.eval_deals}
    before_and_after(choose, lambda: train(agent, args), args.variant, **sizes, seats=args.seats, seed=args.eval_seed)


if __name__ == "__main__":
    main(tyro.cli(Args))
