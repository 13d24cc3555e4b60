"""The variants as PettingZoo AEC environments: names and types translated, no card known.

`TrickTakingEnv` is the raw environment, `wrapped` puts PettingZoo's usual wrappers around it.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from noms_env.core.actions import CALL_WORDS, NUM_ACTIONS, is_integer
from noms_env.core.cards import CARD_WORDS
from noms_env.core.chance import checked_seed
from noms_env.engine.row_kernels import IS_SCORED
from noms_env.envs.validation import ILLEGAL_ACTIONS, MASK_PLACES, RENDER_MODES, REWARDS, checked_choice, checked_flag
from noms_env.observation.layout import OBSERVATION, OBSERVATION_SIZE, STATE_SIZE, Section, state_layout
from noms_env.table import Table
from noms_env.variants import RulesError, game
from noms_env.variants.families import PLAIN
from noms_env.version import ENV_VERSION

POSITION_KEYS = ("deck", "dealer", "totals", "deal", "multiplier")
ILLEGAL_REWARD = -1.0

Observation = dict[str, np.ndarray] | np.ndarray


class TrickTakingEnv(AECEnv):
    """One table of a variant as a PettingZoo AEC environment.

    Observation of an agent: `{"observation": uint8 (OBSERVATION_SIZE,), "action_mask": int8 (NUM_ACTIONS,)}`, from its own
    seat; `observation_layout()` tells what each byte says. The mask is all zeros for an agent that is not to act. Actions
    are numbered as in `noms_env.core.actions`, the same for all variants. Every card is a step, forced or not.

    Attributes:
        table: the table that is played at (`noms_env.table.Table`); it knows all cards.
        records: with `record=True`, the records (`noms-record/1`) of the deals of the present episode that are over.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        variant: str,
        *,
        seats: int | None = None,
        episode: str = "match",
        reward: str = "points",
        illegal_action: str = "raise",
        mask_in: str = "observation",
        render_mode: str | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        **options: Any,
    ) -> None:
        """Set up the table; `reset` deals.

        Args:
            variant: name of the game.
            seats: number of seats, the variant's default when None.
            episode: `match`, or `deal` for one scored deal (exact-bid games: its place in the schedule is drawn, with
                `hand_size` among the deals of that size; noms: the first deal that is not passed out).
            reward: `points` at the end of each deal, `relative` (own minus the mean of the others), or `outcome` (at the
                end of the episode, the winners share 1).
            illegal_action: `raise` an error that leaves the table unharmed, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: where the action mask is: `observation`, `info` (the observation is then a bare array) or `both`.
            render_mode: `ansi`, `human` or `rgb_array`.
            render_seat: whose view `render` shows; None for a spectator, who sees what is public.
            render_full: show all cards.
            record: keep records of the deals in `records`, with the legal actions.
            **options: options of the variant; `hand_size` in an exact-bid game picks the deals of that size.

        Raises:
            ValueError: an argument is not allowed; the message says what is.
        """
        super().__init__()
        self._reward = checked_choice("reward", reward, REWARDS)
        self._illegal_action = checked_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS)
        self._mask_in = checked_choice("mask_in", mask_in, MASK_PLACES)
        self.render_mode = None if render_mode is None else checked_choice("render_mode", render_mode, RENDER_MODES)
        deal_size = None
        if "hand_size" in options and "hand_size" not in [option.name for option in game(variant).options]:
            deal_size = options.pop("hand_size")
        self.table = Table(variant, seats, options, episode=episode, deal_size=deal_size)
        self.metadata = {
            "name": f"{variant}_v{ENV_VERSION}",
            "render_modes": list(RENDER_MODES),
            "is_parallelizable": False,
            "render_fps": 2,
        }
        seat_numbers = range(self.table.seats)
        if render_seat is not None and (not is_integer(render_seat) or render_seat not in seat_numbers):
            raise RulesError(f"render_seat must be a seat from 0 to {self.table.seats - 1}, or None, not {render_seat!r}")
        self.render_seat = render_seat
        self.render_full = checked_flag("render_full", render_full)
        self.possible_agents = [f"player_{seat}" for seat in seat_numbers]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        self._observation_spaces = {agent: self._make_observation_space() for agent in self.possible_agents}
        self._action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 255, (STATE_SIZE,), np.uint8)
        self._seen: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._is_seeded = False
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self._keeps_records = checked_flag("record", record)
        self._recorder = self._new_recorder()
        self.records: list[dict[str, Any]] = []

    def _make_observation_space(self) -> spaces.Space[Any]:
        """The space of one agent's observations."""
        vector = spaces.Box(0, 255, (OBSERVATION_SIZE,), np.uint8)
        if self._mask_in == "info":
            return vector
        return spaces.Dict({"observation": vector, "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)})

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of an agent's actions."""
        return self._action_spaces[agent]

    # ------------------------------------------------------------------------------------------------ the interface

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode.

        Args:
            seed: 0 to 2**63 - 1; the same seed gives the same deals for ever. None goes on to the next match of the seed
                in force (at first, of one drawn by chance).
            options: may set up a position: `deck` (words of all cards in dealing order; noms: after the cut), `dealer`,
                `totals` (points before the deal), `deal` (running number), `multiplier` (2 in a double hand of noms).
                Other keys are ignored.

        Raises:
            ValueError: the seed or the position is not possible; the environment is unharmed.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(f"options must be a dictionary or None, not {options!r}")
        position = {key: value for key, value in (options or {}).items() if key in POSITION_KEYS}
        if seed is None and not self._is_seeded:
            seed = secrets.randbits(63)
        before = self.table.get_state()
        try:
            if seed is not None:
                self.table.row.seed = checked_seed(seed)
                self.table.row.match = -1
            self.table.start(**position)
        except ValueError:
            self.table.set_state(before)
            raise
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
        """Take the action of the agent `agent_selection`; a finished agent takes None.

        Raises:
            IllegalActionError: the action is not legal, with `illegal_action="raise"`; the table is unharmed.
        """
        if not self._is_seeded:
            raise _no_episode()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        table = self.table
        if self._recorder is not None and action in table.legal_actions():
            self._recorder.note(table, int(action))
        try:
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
        """What an agent sees now; its mask is all zeros unless it is to act."""
        is_over = self.terminations.get(agent, True) or self.truncations.get(agent, True)
        view = self._seen.get(agent)
        vector, mask = self._view(agent) if view is None else view
        if is_over:  # ended by a wrapper, perhaps, of which the table knows nothing
            mask = np.zeros_like(mask)
        if self._mask_in == "info":
            return vector
        return {"observation": vector, "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last action, termination, truncation and info of the agent to act.

        Raises:
            ValueError: there was no reset yet.
        """
        if not self._is_seeded:
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
        """Everything: what seat 0 sees, all hands, the stock, the hidden partner; uint8, shape (STATE_SIZE,).

        Not for players: `state_layout()` tells what each byte says.
        """
        return self.table.state()

    def render(self) -> str | np.ndarray | None:
        """The table from the view of `render_seat`: text, or an image of uint8 (height, width, 3)."""
        if self.render_mode is None:
            return None
        from noms_env import show  # here, since drawing is not wanted where training is

        if self.render_mode == "rgb_array":
            return show.image(self.table, self.render_seat, full=self.render_full)
        text = show.text(self.table, self.render_seat, full=self.render_full, colour=self.render_mode == "human")
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """Nothing is held open."""

    # --------------------------------------------------------------------------------------------- what happens inside

    def _turn(self, status: int) -> None:
        """Point to the agent to act, and put its mask into its info where it is wanted there."""
        self.agent_selection = self.possible_agents[status & ~IS_SCORED]
        self._seen = {}
        if self._mask_in != "observation":
            for agent in self.agents:
                self.infos[agent] = {**self.infos[agent], "action_mask": self._view(agent)[1]}

    def _view(self, agent: str) -> tuple[np.ndarray, np.ndarray]:
        """Observation and mask of an agent at this moment, computed once."""
        view = self._seen.get(agent)
        if view is None:
            view = self.table.view(self._seat_of[agent])
            self._seen[agent] = view
        return view

    @property
    def _is_over(self) -> bool:
        """True before and after an episode; also when a wrapper has ended it."""
        if not self.agents:
            return True
        return self.terminations[self.agents[0]] or self.truncations[self.agents[0]]

    def _new_recorder(self) -> Any:
        """What notes the decisions of an episode, where records are wanted."""
        if not self._keeps_records:
            return None
        from noms_env.record import Recorder  # here, since few want records

        return Recorder(legal=True)

    def _end_deal(self) -> None:
        """Rewards, public result and record of a scored deal; then the next deal, or the end."""
        row = self.table.row
        self._give_rewards()
        result = self._public_result()
        for agent in self.agents:  # a copy for each, so that none can write to another
            self.infos[agent] = {**self.infos[agent], "last_deal": copy.deepcopy(result)}
        if self._recorder is not None:
            self.records.append(self._recorder.finish(self.table))
        if row.over:
            ends = self.truncations if row.truncated else self.terminations
            ends.update(dict.fromkeys(self.agents, True))
            for agent in self.agents:
                self.infos[agent].update(self._public_end())

    def _give_rewards(self) -> None:
        """The rewards of this step, and into the cumulative ones."""
        values = self._reward_values()
        for seat, agent in enumerate(self.possible_agents):
            self.rewards[agent] = values[seat]
        self._accumulate_rewards()
        self._rewarded = True

    def _reward_values(self) -> list[float]:
        """Per seat, the reward of the deal just scored."""
        row, n = self.table.row, self.table.seats
        points = [float(row.points[seat]) for seat in range(n)]
        if self._reward == "points":
            return points
        if self._reward == "relative":
            return [own - (sum(points) - own) / (n - 1) for own in points]
        if not row.over:
            return [0.0] * n
        winners = _members(row.winners)
        return [1.0 / len(winners) if seat in winners else 0.0 for seat in range(n)]

    def _public_result(self) -> dict[str, Any]:
        """What all know of the deal just scored."""
        table, row = self.table, self.table.row
        words = CARD_WORDS[table.deck_kind]
        first = (int(row.trick_number) - 1) * table.seats
        last_trick = [words[card] for card in row.order[max(first, 0) : first + table.seats]] if first >= 0 else []
        result = {
            "deal": int(row.deal),
            "dealer": int(row.dealer),
            "hand_size": int(row.hand_size),
            "multiplier": int(row.multiplier),
            "contract": CALL_WORDS[row.contract] if row.contract >= 0 else None,
            "declarer": _seat_or_none(row.declarer),
            "trump": table.trump_word(),
            "nominated": words[row.nominated] if row.nominated >= 0 else None,
            "partner": _seat_or_none(row.partner),
            "calls": [CALL_WORDS[call] if call >= 0 else None for call in row.call[: table.seats]],
            "last_trick": last_trick,
            "tricks": [int(tricks) for tricks in row.tricks[: table.seats]],
            "points": [float(points) for points in row.points[: table.seats]],
            "totals": [float(total) for total in row.totals[: table.seats]],
        }
        if row.reveal_stock_at_end:
            result["stock"] = table.card_words(row.stock)
        return result

    def _public_end(self) -> dict[str, Any]:
        """What all know at the end of an episode."""
        row = self.table.row
        end: dict[str, Any] = {"winners": _members(row.winners)}
        if self.table.rules.variant.family == PLAIN:
            end["sniped"] = _members(row.sniped)
        return end

    def _forfeit(self, agent: str) -> None:
        """End the episode because of an illegal action."""
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

    # ------------------------------------------------------------------------------------------------- words and numbers

    @property
    def phase(self) -> str | None:
        """`call`, `trump`, `nominate`, `play` or `suit`; None when the episode is over."""
        return None if self._is_over else self.table.phase

    def legal_actions(self) -> list[int]:
        """Numbers of the legal actions of the agent to act, ascending."""
        return [] if self._is_over else self.table.legal_actions()

    def action_to_str(self, action: int) -> str:
        """The word of an action as in the game record.

        Raises:
            ValueError: it is not the number of an action.
        """
        return self.table.word(action)

    def str_to_action(self, word: str, phase: str | None = None) -> int:
        """The number of the action that a word means in a phase, the present one when None.

        Raises:
            ValueError: the word means nothing in that phase.
        """
        return self.table.number(word, phase)

    def observation_layout(self) -> tuple[Section, ...]:
        """The sections of an observation: name, slice, shape, meaning."""
        return OBSERVATION

    def state_layout(self) -> tuple[Section, ...]:
        """The sections of the state: name, slice, shape, meaning."""
        return state_layout()

    # ------------------------------------------------------------------------------------------------------------ copies

    def get_state(self) -> dict[str, Any]:
        """The whole state of the episode, for `set_state` of an environment with the same arguments.

        Raises:
            ValueError: there was no reset yet.
        """
        if not self._is_seeded:
            raise _no_episode()
        return copy.deepcopy({name: getattr(self, name) for name in _STATE_NAMES} | {"table": self.table.get_state()})

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: the state is of another kind of table; the environment is unharmed.
        """
        missing = [name for name in (*_STATE_NAMES, "table") if not isinstance(state, Mapping) or name not in state]
        if missing:
            raise ValueError(f"the state lacks {', '.join(missing)}; it must come from get_state")
        self.table.set_state(state["table"])
        for name, value in copy.deepcopy({name: state[name] for name in _STATE_NAMES}).items():
            setattr(self, name, value)
        self._seen = {}

    def clone(self) -> TrickTakingEnv:
        """An independent environment in the same state."""
        return copy.deepcopy(self)


_STATE_NAMES = (
    *("agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos"),
    *("_rewarded", "_is_seeded", "_recorder", "records"),
)
"""What makes the state of an episode, beside the table."""


def _no_episode() -> ValueError:
    """The refusal of what needs an episode."""
    return ValueError("there is no episode yet: call reset first")


def _members(seats: int) -> list[int]:
    """Seats of a bit set."""
    return [seat for seat in range(int(seats).bit_length()) if int(seats) >> seat & 1]


def _seat_or_none(seat: int) -> int | None:
    """A seat, None for -1."""
    return int(seat) if seat >= 0 else None
