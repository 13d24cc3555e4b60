"""The variants as RLlib environments (new API stack): every seat is an agent; each step is an action of the agent to act.

    from ray.rllib.algorithms.ppo import PPOConfig

    config = PPOConfig().environment(RLlibEnv, env_config={"variant": "down_up", "episode": "deal"})

`noms_training.interop.rllib` has a torch module with action masks; `examples/rllib_self_play.py` trains a league.
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
from noms_env.variants import GAMES, RulesError

Seen = dict[str, np.ndarray]
"""`{"observations": uint8 (OBSERVATION_SIZE,), "action_mask": int8 (NUM_ACTIONS,)}`, as in RLlib's masking example."""
Step = tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]
"""Observations, rewards, terminateds, truncateds and infos, each a dictionary by agent."""


class RLlibEnv(MultiAgentEnv):
    """One table as an RLlib `MultiAgentEnv`.

    `reset` and `step` return the observation of the agent to act. At the end of an episode `step` returns the observations of
    all agents, with masks of zeros. In the step that scores a deal all agents get their rewards; in any other step the agent
    that acted gets 0. Infos, as in `TrickTakingEnv`, come in the steps with rewards.

    Runners with the same seed get different deals: `EnvContext.worker_index` is the number of the table. Runner 0, or a plain
    dictionary as config, has the deals of `raw_env().reset(seed=...)`. `reset()` starts the next match of the current seed.
    Beware: with `env_runners(batch_mode="complete_episodes")` and `debugging(seed=...)` RLlib sets the seed again for each
    sample, so the same few deals repeat.

    Args:
        config: `variant`, and the other arguments of `TrickTakingEnv` except `mask_in`. The default of `illegal_action` is
            `terminate`, since RLlib tries random actions. `skip_forced` (default False): take forced actions for the agents,
            except the first one of a deal. An agent without a choice in a whole episode does not appear in it, and RLlib does
            not count its rewards.

    Attributes:
        env: the AEC environment inside; `env.table` has all cards, hidden ones too.

    Raises:
        ValueError: an argument is not allowed; the message lists the allowed values.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        arguments = dict(config)
        if "variant" not in arguments:
            raise RulesError(f'env_config must name a game: {{"variant": ...}}, one of {", ".join(GAMES)}')
        if "mask_in" in arguments:
            raise RulesError("mask_in is not an argument here: the mask is always part of the observation")
        self._skips_forced = checked_flag("skip_forced", arguments.pop("skip_forced", False))
        self.env = TrickTakingEnv(**{"illegal_action": "terminate", **arguments})
        self.env.table.row.table = min(getattr(config, "worker_index", None) or 0, MAX_TABLE)
        self.possible_agents = self.env.possible_agents
        self.agents = self.possible_agents[:]
        space: Any = self.env.observation_space(self.agents[0])
        renamed = spaces.Dict({"observations": space["observation"], "action_mask": space["action_mask"]})
        self.observation_spaces = dict.fromkeys(self.agents, renamed)
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.agents}
        self.metadata, self.render_mode = dict(self.env.metadata), self.env.render_mode
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begin an episode (`TrickTakingEnv.reset`), and return observations and infos of the agent to act."""
        self.env.reset(seed=seed, options=options)
        agent = self.env.agent_selection
        return {agent: self._observe(agent)}, {agent: {}}

    def step(self, action_dict: Mapping[str, int]) -> Step:
        """Take the action of the agent to act.

        Returns:
            Observations, rewards, terminateds, truncateds (the match was cut short), infos, each by agent.

        Raises:
            ValueError: there is no episode, or `action_dict` has other entries than the action of the agent to act.
            IllegalActionError: the action is not legal, with `illegal_action="raise"`; the table is unchanged.
        """
        env = self.env
        if env.phase is None:
            raise ValueError("there is no episode, or it is over: call reset first")
        agent = str(env.agent_selection)
        if len(action_dict) != 1 or agent not in action_dict:
            raise ValueError(f"actions must be of {agent} alone, the agent to act, not of {', '.join(action_dict) or 'nobody'}")
        env.step(action_dict[agent])
        while self._skips_forced and not env._rewarded and len(legal := env.legal_actions()) == 1:
            env.step(legal[0])
        is_over = env.terminations[agent] or env.truncations[agent]
        if not is_over and not env._rewarded:
            to_act = env.agent_selection
            return {to_act: self._observe(to_act)}, {agent: 0.0}, {"__all__": False}, {"__all__": False}, {}
        return self._report_score(is_over)

    def render(self) -> Any:
        """See `TrickTakingEnv.render`."""
        return self.env.render()

    def _report_score(self, is_over: bool) -> Step:
        """Return the result of a step that scores a deal or ends the episode."""
        env = self.env
        agents = self.agents if is_over else [env.agent_selection]
        terminated = is_over and env.terminations[agents[0]]  # a forfeit is also marked as truncated
        return (
            {agent: self._observe(agent) for agent in agents},
            dict(env.rewards),
            {"__all__": terminated},
            {"__all__": is_over and not terminated},
            {agent: dict(env.infos[agent]) for agent in agents},
        )

    def _observe(self, agent: str) -> Seen:
        seen: Any = self.env.observe(agent)
        return {"observations": seen["observation"], "action_mask": seen["action_mask"]}
