"""Masked PPO self-play with RLlib, in a small league: `python examples/rllib_self_play.py`.

Needs `pip install '.[rllib]'`. One network, the module `main`, plays all seats in half of the deals. In the other half it plays
one seat against past selves: frozen copies that join the league at regular intervals. Before and after training the network
plays duplicate deals on one seat against random players.

To train on a cluster, run `ray start --head` on one machine and `ray start --address=HEAD:6379` on the others, then

    python examples/rllib_self_play.py --address auto --runners 64 --decisions 100000000

The checkpoint contains the modules, and the commands accept it as a player:

    NOMS_RLLIB_CHECKPOINT=runs/rllib noms evaluate noms_training.interop.rllib:player random --variant down_up --seats 3
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from pathlib import Path
from typing import Any

import ray
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from noms_env.interop.rllib import RLlibEnv
from noms_env.players import Player
from noms_env.variants import game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.evaluation.comparison import alone_in_field
from noms_training.interop.rllib import LEARNER, MaskedModule, ModulePlayer, add_past_self
from noms_training.interop.rllib import player as checkpoint_player

VARIANT, SEATS = "down_up", 3
GAME = {"variant": VARIANT, "seats": SEATS, "episode": "deal", "reward": "relative", "skip_forced": True}
LEAGUE = 4
"""Number of past selves."""


def module_for(agent: str, episode: Any, *, past: int, **_: Any) -> str:
    """Return the module that plays for an agent (`player_0`, ...) in a `MultiAgentEpisode`, if there are `past` past selves."""
    number, seat = int(episode.id_, 16), int(agent.removeprefix("player_"))
    if past == 0 or number % 2 == 0 or number // 2 % SEATS == seat:
        return LEARNER
    return f"past_{number // (2 * SEATS) % past}"


def module_spec(hidden: tuple[int, ...] = (256, 256)) -> RLModuleSpec:
    """Return the network of the learner and of its past selves."""
    env = RLlibEnv(GAME)
    agent = env.possible_agents[0]
    return RLModuleSpec(
        module_class=MaskedModule,
        observation_space=env.observation_spaces[agent],
        action_space=env.action_spaces[agent],
        model_config={"hidden": hidden},
    )


def make_config(runners: int, envs: int = 32, batch: int = 4096, seed: int = 0) -> PPOConfig:
    """Return the configuration of PPO, with the learner at all seats and no past selves.

    Without runners the learner's process plays. Each runner has `envs` tables; an update uses `batch` decisions.
    """
    return (
        PPOConfig()
        .environment(RLlibEnv, env_config=GAME)
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=envs)
        .multi_agent(policies={LEARNER}, policy_mapping_fn=partial(module_for, past=0), policies_to_train=[LEARNER])
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={LEARNER: module_spec()}))
        .training(
            train_batch_size_per_learner=batch,
            minibatch_size=batch // 4,
            num_epochs=4,
            lr=1e-3,
            gamma=1.0,  # the only reward comes at the end of the deal
            lambda_=0.95,
            entropy_coeff=0.01,
            use_kl_loss=False,
            vf_clip_param=math.inf,  # value errors in points are too large for RLlib's default
        )
        .debugging(seed=seed, log_level="ERROR")
    )


def train(algorithm: PPO, decisions: int, league: int = LEAGUE) -> None:
    """Train for a number of decisions of all modules, and add past selves to the league at regular intervals."""
    started, sampled, past = time.perf_counter(), 0, 0
    while sampled < decisions:
        result = algorithm.train()
        sampled = int(result["env_runners"]["num_env_steps_sampled_lifetime"])
        seconds = time.perf_counter() - started
        returns = result["env_runners"].get("module_episode_returns_mean", {})
        points = ", ".join(f"{name} {mean:+.2f}" for name, mean in sorted(returns.items()))
        print(f"{sampled:8} decisions, {sampled / seconds:5.0f} a second; points relative to the others: {points}")
        if past < league and sampled >= decisions * (past + 1) / (league + 1):
            past += 1
            add_past_self(algorithm, f"past_{past - 1}", module_spec(), partial(module_for, past=past))


def report(player: Player, deals: int) -> str:
    """Return a sentence with the points per deal of a player alone among random ones, and their 95 % interval."""
    rules = make_rules(game(VARIANT), SEATS)
    gain = alone_in_field(rules, AgentSpec("learner", lambda: player), agent_spec("random"), deals)
    return f"{gain.mean:+.2f} ({gain.low:+.2f} to {gain.high:+.2f}) points per deal against random players ({deals} deals)"


def main() -> None:
    """Train, evaluate, and write a checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="address of a Ray cluster, or `auto` for that of this machine; default: none")
    parser.add_argument("--runners", type=int, default=0, help="number of environment runners in the cluster")
    parser.add_argument("--decisions", type=int, default=60_000, help="number of training decisions")
    parser.add_argument("--deals", type=int, default=2000, help="number of evaluation deals")
    parser.add_argument("--out", type=Path, default=Path("runs", "rllib"), help="folder of the checkpoint")
    arguments = parser.parse_args()
    ray.init(address=arguments.address, include_dashboard=None if arguments.address else False, log_to_driver=False)
    algorithm = make_config(arguments.runners).build_algo()
    print("before:", report(ModulePlayer(algorithm.get_module(LEARNER)), arguments.deals))
    train(algorithm, arguments.decisions)
    checkpoint = algorithm.save_to_path(arguments.out.resolve())
    print("after: ", report(checkpoint_player(checkpoint), arguments.deals))
    print(
        f"NOMS_RLLIB_CHECKPOINT={checkpoint} noms evaluate noms_training.interop.rllib:player random "
        f"--variant {VARIANT} --seats {SEATS}"
    )
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
