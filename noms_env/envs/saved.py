"""States of an environment that are given back to it: what stands beside the table is held against the table."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noms_env.core.actions import NUM_ACTIONS
from noms_env.table import Table

PER_AGENT = ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos")
"""Parts that have an entry for each agent of the episode."""
NAMES = ("agents", "agent_selection", *PER_AGENT, "_rewarded", "_is_seeded", "_recorder", "records")
"""The state of an episode, without the table."""


def checked_parts(state: Mapping[str, Any], table: Table, possible: Sequence[str], recorder: Any) -> dict[str, Any]:
    """Copies of the parts `NAMES` of a state.

    Args:
        state: with all of them.
        table: of the state.
        possible: the agents of the environment, by seat.
        recorder: the one of the environment; None where it keeps no records.

    Raises:
        ValueError: they are not those of an episode at this table.
    """
    try:
        parts = copy.deepcopy({name: state[name] for name in NAMES})
    except Exception as error:  # whatever somebody's object raises
        raise _unlike("it cannot be copied") from error
    agents, chosen = parts["agents"], parts["agent_selection"]
    if type(agents) is not list or not all(type(agent) is str for agent in (*agents, chosen)):
        raise _unlike("its agents are no names")
    if len(set(agents)) < len(agents) or not {*agents, chosen} <= set(possible):
        raise _unlike("its agents are not those of this environment")
    for name in PER_AGENT:
        if type(parts[name]) is not dict or set(parts[name]) != set(agents):
            raise _unlike(f"its {name} are not those of its agents")
    for name, fits in (
        ("rewards", _is_number),
        ("_cumulative_rewards", _is_number),
        ("terminations", _is_flag),
        ("truncations", _is_flag),
        ("infos", _is_info),
    ):
        if not all(map(fits, parts[name].values())):
            raise _unlike(f"its {name} make no sense")
    records = parts["records"]
    if type(records) is not list or not all(type(record) is dict for record in records) or (records and recorder is None):
        raise _unlike("its records are none")
    if type(parts["_recorder"]) is not type(recorder):
        raise _unlike("its records are not kept as here")
    if parts["_is_seeded"] is not True or not _is_flag(parts["_rewarded"]):
        raise _unlike("it is not of an episode")
    _check_turn(agents, chosen, [*parts["terminations"].values(), *parts["truncations"].values()], table, possible)
    return parts


def _check_turn(agents: list[str], chosen: str, ends: list[bool], table: Table, possible: Sequence[str]) -> None:
    """Refuse a state in which it is another's turn than at the table, or whose episode has not ended with the match."""
    if any(ends) or not agents:
        is_sound = not agents or chosen in agents
    else:
        is_sound = agents == list(possible) and table.row.match >= 0 and not table.is_over and not table.is_scored
        is_sound = is_sound and chosen == possible[int(table.row.seat)]
    if not is_sound:
        raise _unlike("it is not the turn of its agent at its table")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(-np.inf < value < np.inf)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_info(info: Any) -> bool:
    if type(info) is not dict or not all(type(name) is str for name in info):
        return False
    mask = info.get("action_mask", np.zeros(NUM_ACTIONS, np.int8))
    return isinstance(mask, np.ndarray) and mask.dtype == np.int8 and mask.shape == (NUM_ACTIONS,)


def _unlike(why: str) -> ValueError:
    return ValueError(f"the state must come from get_state: {why}")
