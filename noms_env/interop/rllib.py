"""The variants for RLlib (new API stack): every seat an agent, and only the seat to act is asked.

    from ray.rllib.algorithms.ppo import PPOConfig

    config = PPOConfig().environment(RLlibEnv, env_config={"variant": "down_up", "episode": "deal"})

`training.interop.rllib` has a module of torch that obeys the masks, and `examples/rllib_self_play.py` a league.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.chance import MAX_TABLE
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.validation import checked_flag
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.variants import GAMES, RulesError

Seen = dict[str, np.ndarray]
"""`{"observations": uint8 (OBSERVATION_SIZE,), "action_mask": int8 (NUM_ACTIONS,)}`: the keys of RLlib's masking example."""
Step = tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]
"""Observations, rewards, terminateds, truncateds and infos, each by agent."""


class RLlibEnv(MultiAgentEnv):
    """One table as a `MultiAgentEnv`, for `AlgorithmConfig.environment(RLlibEnv, env_config={...})`.

    `reset` and `step` give the observation of the agent to act, and at the end of an episode those of all agents, with masks of
    zeros. When a deal is scored, all agents get their rewards in that step, so that the returns of an episode are complete; in
    any other step the agent that acted gets 0. Infos are given with rewards and at the end; they are those of `TrickTakingEnv`.

    Several runners with one seed are dealt different cards: `EnvContext.worker_index` counts as the number of the table. Runner
    0, or a plain dictionary as config, has the deals of `raw_env().reset(seed=...)`. `reset()` goes on to the next match of the
    seed in force. RLlib gives its seed anew with each sample of whole episodes, so that with
    `env_runners(batch_mode="complete_episodes")` and `debugging(seed=...)` the same few deals come again and again.

    Attributes:
        env: the AEC environment inside; `env.table` knows all cards.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Set up the table; `reset` deals.

        Args:
            config: `variant`, and any other argument of `TrickTakingEnv` by its name, but for `mask_in`. `illegal_action` is
                `terminate` if not given, since RLlib tries an environment out with any actions. `skip_forced` (False if not
                given): actions without alternative are taken for the agents, but for the first one of a deal. An agent that
                is left no choice in a whole episode takes no part in it, for RLlib, and its rewards are not counted.

        Raises:
            ValueError: an argument is not allowed; the message says what is.
        """
        arguments = dict(config)
        if "variant" not in arguments:
            raise RulesError(f'env_config must name a game: {{"variant": ...}}, one of {", ".join(GAMES)}')
        if "mask_in" in arguments:
            raise RulesError("mask_in is not an argument here: the mask is a part of the observation")
        self._skips_forced = checked_flag("skip_forced", arguments.pop("skip_forced", False))
        self.env = TrickTakingEnv(**{"illegal_action": "terminate", **arguments})
        self.env.table.row.table = min(getattr(config, "worker_index", None) or 0, MAX_TABLE)
        self.possible_agents = self.env.possible_agents
        self.agents = self.possible_agents[:]
        self.observation_spaces = {agent: _observation_space() for agent in self.agents}
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.agents}
        self.metadata, self.render_mode = dict(self.env.metadata), self.env.render_mode
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begin an episode; see `TrickTakingEnv.reset` for the arguments and what is refused.

        Returns:
            Observations and infos of the agent to act.
        """
        self.env.reset(seed=seed, options=options)
        agent = self.env.agent_selection
        return {agent: self._seen(agent)}, {agent: {}}

    def step(self, action_dict: Mapping[str, int]) -> Step:
        """Take the action of the agent to act.

        Returns:
            Observations, rewards, terminateds, truncateds (a match that was cut short), infos, each by agent.

        Raises:
            ValueError: the actions are not of the agent to act and no other, or there is no episode.
            IllegalActionError: the action is not legal, with `illegal_action="raise"`; the table is unharmed.
        """
        env = self.env
        agent = self._agent_to_act()
        if len(action_dict) != 1 or agent not in action_dict:
            raise ValueError(f"{agent} is to act, and no other; there are actions of {', '.join(action_dict) or 'nobody'}")
        env.step(action_dict[agent])
        rewards = env.rewards
        while self._skips_forced and not any(rewards.values()) and len(legal := env.legal_actions()) == 1:
            env.step(legal[0])
        is_over = env.terminations[agent] or env.truncations[agent]
        if not is_over and not any(rewards.values()):
            to_act = env.agent_selection
            return {to_act: self._seen(to_act)}, {agent: 0.0}, {"__all__": False}, {"__all__": False}, {}
        return self._scored(is_over)

    def render(self) -> Any:
        """See `TrickTakingEnv.render`."""
        return self.env.render()

    # --------------------------------------------------------------------------------------------- what happens inside

    def _agent_to_act(self) -> str:
        """Who is to act.

        Raises:
            ValueError: nobody, since there is no episode.
        """
        if self.env.phase is None:
            raise ValueError("there is no episode, or it is over: call reset first")
        return str(self.env.agent_selection)

    def _scored(self, is_over: bool) -> Step:
        """What `step` returns with rewards or at the end."""
        env = self.env
        agents = self.agents if is_over else [env.agent_selection]
        terminated = is_over and env.terminations[agents[0]]  # a forfeit is also marked as truncated
        return (
            {agent: self._seen(agent) for agent in agents},
            dict(env.rewards),
            {"__all__": terminated},
            {"__all__": is_over and not terminated},
            {agent: dict(env.infos[agent]) for agent in agents},
        )

    def _seen(self, agent: str) -> Seen:
        """What an agent sees, under the names that RLlib's masking example has for it."""
        seen: Any = self.env.observe(agent)
        return {"observations": seen["observation"], "action_mask": seen["action_mask"]}


def _observation_space() -> spaces.Dict:
    """The space of one agent's observations."""
    return spaces.Dict(
        {
            "observations": spaces.Box(0, 255, (OBSERVATION_SIZE,), np.uint8),
            "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
        }
    )
