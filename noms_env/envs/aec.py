"""The variants as PettingZoo AEC environments.

`TrickTakingEnv` is the raw environment; `wrapped_env` adds PettingZoo's usual wrappers, which copies and states include.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.env import AECIterable

from noms_env.core.actions import NUM_ACTIONS, brief, is_integer
from noms_env.core.messages import literal
from noms_env.core.state import EPISODES
from noms_env.engine.row_kernels import IS_SCORED
from noms_env.envs import saved
from noms_env.envs.common import (
    ILLEGAL_REWARD,
    POSITION_KEYS,
    Observation,
    checked_layout,
    frame,
    make_table,
    notebook,
    observation_space,
)
from noms_env.envs.option_types import Options
from noms_env.envs.results import copy_result, deal_rewards, public_end, public_result
from noms_env.envs.validation import (
    RENDER_MODES,
    Episode,
    IllegalAction,
    MaskPlace,
    ObservationKind,
    RenderMode,
    Reward,
    checked_choice,
    checked_flag,
    checked_names,
    checked_options,
    checked_render_mode,
)
from noms_env.observation.layout import OBSERVATION, STATE_SIZE, Section, state_layout
from noms_env.variants import RulesError
from noms_env.version import ENV_VERSION


class TrickTakingEnv(AECEnv):
    """One table of a variant as a PettingZoo AEC environment.

    An agent observes from its own seat: `{"observation": uint8 (OBSERVATION_SIZE,), "action_mask": int8 (NUM_ACTIONS,)}`.
    With `observation="features"` the vector is float32 (n_features,). `observation_layout()` describes its sections. The mask
    is all zeros unless the agent is to act. Actions have the same numbers in all variants (`noms_env.core.actions`). Every
    card is a step, even a forced one.

    Args:
        variant: name of the game.
        seats: number of seats; None for the variant's default.
        episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule, with
            `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
        observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
        reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome` (at the
            end of the episode, the winners share 1).
        illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of -1 for the
            agent.
        mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
        render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
        render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
        render_full: show all cards.
        record: write records of the deals to `records`, with the legal actions.
        **options: options of the variant; in an exact-bid game also `hand_size`, see `episode`.

    Attributes:
        table: the table (`noms_env.table.Table`), with all cards, hidden ones too.
        feature_layout: layout of the features (`FeatureLayout`); None with `observation="bytes"`.
        records: with `record=True`, records (`noms-record/1`) of the finished deals of the episode. Their `match` counts the
            matches of the current seed.

    Raises:
        ValueError: an argument is not allowed; the message lists the allowed values. An unknown keyword is also a TypeError.
        gymnasium.error.DependencyNotInstalled: `render_mode` is `rgb_array`, and the extra `render` is not installed.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        variant: str,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__()
        self._reward = checked_choice("reward", reward, Reward)
        self._illegal_action = checked_choice("illegal_action", illegal_action, IllegalAction)
        self._may_forfeit = illegal_action == "terminate"
        self._mask_in = checked_choice("mask_in", mask_in, MaskPlace)
        self.render_mode = checked_render_mode(render_mode, RENDER_MODES)
        checked_names(variant, options, TrickTakingEnv.__init__)
        self.table = make_table(variant, seats, options, episode)
        self.feature_layout = checked_layout(observation, [self.table.rules], episode)
        self.metadata = {
            "name": f"{variant}_v{ENV_VERSION}",
            "render_modes": list(RENDER_MODES),
            "is_parallelizable": False,
            "render_fps": 2,
        }
        seat_numbers = range(self.table.seats)
        if render_seat is not None and (not is_integer(render_seat) or render_seat not in seat_numbers):
            raise RulesError(f"render_seat must be a seat from 0 to {self.table.seats - 1}, or None, not {brief(render_seat)}")
        self.render_seat = render_seat
        self.render_full = checked_flag("render_full", render_full)
        self.possible_agents = [f"player_{seat}" for seat in seat_numbers]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        self._observation_spaces = {agent: observation_space(mask_in, self.feature_layout) for agent in self.possible_agents}
        self._action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 255, (STATE_SIZE,), np.uint8)
        self._seen: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._is_seeded = False
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self._keeps_records = checked_flag("record", record)
        self._recorder = self._new_recorder()
        self.records: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        return describe(self, "raw_env")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return notebook(self, self.render_seat, self.render_full)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of an agent's actions."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode.

        Args:
            seed: 0 to 2**63 - 1; the same seed always gives the same deals. None starts the next match of the current seed;
                if there is none yet, a seed is drawn at random.
            options: may set up a position. `deck`: words of all cards in dealing order (noms: after the cut). `dealer`: a
                seat. `totals`: points before the deal. `deal`: number of the deal in the match, from 0. `multiplier`: 2 in a
                double hand of noms, with `double_repeat="quadruple"` a power of 2. The key `options`, which PettingZoo's
                tests pass, is ignored.

        Raises:
            ValueError: an option is unknown, or the seed or the position is not possible; the environment is unchanged.
        """
        if isinstance(options, Mapping):
            options = {key: value for key, value in options.items() if key != "options"}
        position = checked_options(options, POSITION_KEYS)
        if seed is None and not self._is_seeded:
            seed = secrets.randbits(63)
        self.table.start(seed=seed, **position)
        self._is_seeded = True
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._rewarded = False
        self.records = []
        self._recorder = self._new_recorder()
        self._turn(int(self.table.row.seat))
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | np.integer | None) -> None:
        """Take the action of the agent `agent_selection`; None for an agent whose episode is over.

        Raises:
            IllegalActionError: the action is not legal, with `illegal_action="raise"`; the table is unchanged.
        """
        if not self._is_seeded or not self.agents:
            raise _no_episode()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        table = self.table
        try:
            if self._recorder is not None:
                self._recorder.note(table, action)
            status = table.step(action)  # type: ignore[arg-type]  # the table refuses what is no number
        except ValueError:
            if self._illegal_action == "raise":
                raise
            self._forfeit(agent)
            return
        self._cumulative_rewards[agent] = 0.0
        if self._rewarded:
            self._clear_rewards()
            self._rewarded = False
        if status & IS_SCORED:
            self._end_deal()
            status = table.next_deal()
        self._turn(status)
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        """Return the observation of an agent; its mask is all zeros unless it is to act."""
        is_over = self.terminations.get(agent, True) or self.truncations.get(agent, True)
        view = self._seen.get(agent)
        vector, mask = self._view(agent) if view is None else view
        if is_over:  # a wrapper may have ended the episode without the table
            mask = np.zeros_like(mask)
        if self._mask_in == "info":
            return vector.copy()
        return {"observation": vector.copy(), "action_mask": mask.copy()}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, reward since its last action, terminated, truncated and info of the agent to act.

        Before `reset` it raises ValueError.
        """
        if not self._is_seeded or not self.agents:
            raise _no_episode()
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def state(self) -> np.ndarray:
        """Return the whole state: the observation of seat 0, then the hidden state; uint8, shape (STATE_SIZE,).

        Not for players. `state_layout()` describes each byte.
        """
        return self.table.state()

    def render(self) -> str | np.ndarray | None:
        """Return the view of `render_seat`: text, or uint8 (height, width, 3); with `human` print the text."""
        mode = self.render_mode
        return None if mode is None else frame(self.table, self.render_seat, mode, full=self.render_full)

    def close(self) -> None:
        """Do nothing. PettingZoo's tests require the method."""

    def _turn(self, status: int) -> None:
        """Select the agent to act, and write the masks to the infos if `mask_in` says so."""
        self.agent_selection = self.possible_agents[status & ~IS_SCORED]
        self._seen = {}
        if self._mask_in != "observation":
            for agent in self.agents:
                self.infos[agent] = {**self.infos[agent], "action_mask": self._view(agent)[1].copy()}

    def _view(self, agent: str) -> tuple[np.ndarray, np.ndarray]:
        """Return observation and mask of an agent, computed once a step."""
        view = self._seen.get(agent)
        if view is None:
            vector, mask = self.table.view(self._seat_of[agent])
            view = self._seen[agent] = (vector if self.feature_layout is None else self.feature_layout.encode(vector), mask)
        return view

    @property
    def _is_over(self) -> bool:
        """Whether there is no episode, or the table or a wrapper has ended it."""
        if not self.agents:
            return True
        return self.terminations[self.agents[0]] or self.truncations[self.agents[0]]

    def _new_recorder(self) -> Any:
        if not self._keeps_records:
            return None
        from noms_env.record import Recorder  # imported late, since few users keep records

        return Recorder(legal=True)

    def _end_deal(self) -> None:
        row, rows = self.table.row, self.table._kernel_rows
        values = deal_rewards(self._reward, rows["points"][:, : self.table.seats], rows["over"] != 0, rows["winners"])
        self.rewards.update(zip(self.possible_agents, values[0].tolist(), strict=True))
        self._accumulate_rewards()
        self._rewarded = True
        result = public_result(self.table)
        for agent in self.agents:  # one copy each, so that no agent can write to another's info
            self.infos[agent] = {**self.infos[agent], "last_deal": copy_result(result)}
        if self._recorder is not None:
            self.records.append(self._recorder.finish(self.table))
        if row.over:
            ends = self.truncations if row.truncated else self.terminations
            ends.update(dict.fromkeys(self.agents, True))
            for agent in self.agents:
                self.infos[agent].update(public_end(self.table))

    def _forfeit(self, agent: str) -> None:
        self._clear_rewards()
        self._cumulative_rewards[agent] = 0.0
        self.rewards[agent] = ILLEGAL_REWARD
        self._accumulate_rewards()
        self._rewarded = True
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        if self._mask_in != "observation":
            for other in self.agents:
                self.infos[other] = {**self.infos[other], "action_mask": np.zeros(NUM_ACTIONS, np.int8)}

    @property
    def phase(self) -> str | None:
        """`call`, `trump`, `nominate`, `play` or `suit`; None when the episode is over."""
        return None if self._is_over else self.table.phase

    def legal_actions(self) -> list[int]:
        """Return the legal actions of the agent to act, ascending."""
        return [] if self._is_over else self.table.legal_actions()

    def action_to_str(self, action: int) -> str:
        """Return the word of an action, as in records; ValueError if no action has this number."""
        return self.table.word(action)

    def str_to_action(self, word: str, phase: str | None = None) -> int:
        """Return the action of a word in a phase, None for the current phase; ValueError if no action there has this word."""
        return self.table.number(word, phase)

    def observation_layout(self) -> tuple[Section, ...]:
        """Return the sections of an observation: name, slice, shape, meaning; for features the scale, too."""
        return OBSERVATION if self.feature_layout is None else self.feature_layout.sections

    def state_layout(self) -> tuple[Section, ...]:
        """Return the sections of the state: name, slice, shape, meaning."""
        return state_layout()

    def get_state(self) -> dict[str, Any]:
        """Return a copy of the whole state of the episode, for `set_state` of an environment with the same arguments.

        Before `reset` it raises ValueError.
        """
        if not self._is_seeded:
            raise _no_episode()
        return copy.deepcopy({name: getattr(self, name) for name in saved.NAMES} | {"table": self.table.get_state()})

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`.

        Raises:
            ValueError: the state is from a table with other rules, or its parts contradict each other; the environment is
                unchanged.
        """
        missing = [name for name in (*saved.NAMES, "table") if not isinstance(state, Mapping) or name not in state]
        if missing:
            raise ValueError(f"the state lacks {', '.join(missing)}; it must come from get_state")
        table = self.table.copy()
        table.set_state(state["table"])
        parts = saved.checked_parts(state, table, self.possible_agents, self._recorder, self._may_forfeit)
        self.table.set_row(table.row)
        self.__dict__.update(parts, _seen={})
        if not self._is_over:
            self._turn(int(table.row.seat))  # also rewrites the masks in the infos

    def clone(self) -> TrickTakingEnv:
        """Return an independent environment in the same state."""
        return copy.deepcopy(self)


def describe(env: TrickTakingEnv, function: str) -> str:
    """Return the repr of an environment that `function` made: `<small_ships_v0 raw_env: 4 seats, episode="deal">`."""
    rules, episode = env.table.rules, EPISODES[env.table.row.episode]
    return f"<{env.metadata['name']} {function}: {rules.summary}, episode={literal(episode)}>"


def _no_episode() -> ValueError:
    return ValueError("there is no episode, or it is over: call reset first")


def wrapped_env(variant: str, **arguments: Any) -> AECEnv:
    """Return the environment in PettingZoo's usual wrappers, with the arguments of `TrickTakingEnv` except `illegal_action`."""
    if "illegal_action" in arguments:
        raise RulesError("illegal_action is an argument of raw_env; env ends the episode with a reward of -1")
    env: Any = TrickTakingEnv(variant, **arguments)
    env._may_forfeit = True
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=ILLEGAL_REWARD)
    env = wrappers.AssertOutOfBoundsWrapper(env)
    return CopyableWrapper(env)


FLAGS = {"_has_reset", "_has_updated", "_has_rendered", "_terminated"}
"""Attributes of wrappers with flags on the episode."""
SEEN = {"_prev_obs", "_prev_info"}
"""Attributes of a wrapper with the last observation; it observes again if they are None."""


class CopyableWrapper(wrappers.OrderEnforcingWrapper):
    """PettingZoo's outermost wrapper, with copies and states that include the wrappers' own state."""

    def __str__(self) -> str:
        return str(self.unwrapped)

    def __repr__(self) -> str:
        return describe(self.unwrapped, "env")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return notebook(self, self.unwrapped.render_seat, self.unwrapped.render_full)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        memory = self._memory()
        try:
            super().reset(seed=seed, options=options)
        except ValueError:
            self._remember(memory)
            raise

    def observe(self, agent: str) -> Observation:
        """Return the observation of an agent in new arrays, since the wrappers check actions against their own mask."""
        seen: Observation = copy.deepcopy(super().observe(agent))
        return seen

    def step(self, action: int | np.integer | None) -> None:
        if action is not None and not (is_integer(action) and 0 <= action < NUM_ACTIONS):
            raise AssertionError(f"action must be an integer from 0 to {NUM_ACTIONS - 1}, not {brief(action)}")
        super().step(action)

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable:
        """Iterate over the agents in turn. A loop may begin in mid-episode, as with a copy made within another loop."""
        agents = super().agent_iter(max_iter)
        self._has_updated = True
        return agents

    def get_state(self) -> dict[str, Any]:
        """Return a copy of the whole state of the episode, see `TrickTakingEnv.get_state`."""
        return {"environment": self.unwrapped.get_state(), "wrappers": copy.deepcopy(self._memory())}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`; ValueError if it is from another environment or damaged."""
        names = [set(memory) for memory in self._memory()]
        wrappers = state.get("wrappers") if isinstance(state, Mapping) and "environment" in state else None
        if not isinstance(wrappers, list) or [isinstance(memory, Mapping) and set(memory) for memory in wrappers] != names:
            raise ValueError("the state must come from get_state of an environment with the same wrappers")
        flags = [{name: value for name, value in memory.items() if isinstance(value, bool)} for memory in wrappers]
        if [set(memory) for memory in flags] != [{name for name in memory if name in FLAGS} for memory in wrappers]:
            raise ValueError("the state must come from get_state: the flags of its wrappers make no sense")
        self.unwrapped.set_state(state["environment"])
        self._remember([memory | dict.fromkeys(SEEN & set(own)) for memory, own in zip(flags, wrappers, strict=True)])

    def clone(self) -> CopyableWrapper:
        """Return an independent environment in the same state, with its own wrappers."""
        return copy.deepcopy(self)

    def _memory(self) -> list[dict[str, Any]]:
        """Return the attributes of each wrapper, in the order of `_layers`."""
        return [{name: value for name, value in vars(layer).items() if name != "env"} for layer in self._layers()]

    def _remember(self, memory: list[dict[str, Any]]) -> None:
        for layer, attributes in zip(self._layers(), memory, strict=True):
            vars(layer).update(attributes)

    def _layers(self) -> list[Any]:
        """Return the wrappers, outermost first."""
        layers: list[Any] = [self]
        while isinstance(layers[-1].env, wrappers.BaseWrapper):
            layers.append(layers[-1].env)
        return layers
