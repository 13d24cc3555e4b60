"""Checks of states passed to `set_state`: all other parts of a state must agree with its table."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noms_env.core.actions import NUM_ACTIONS
from noms_env.engine.deal import hand_out
from noms_env.table import Table


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(-np.inf < value < np.inf)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_info(info: Any) -> bool:
    if type(info) is not dict or not all(type(name) is str for name in info):
        return False
    mask = info.get("action_mask", np.zeros(NUM_ACTIONS, np.int8))
    return isinstance(mask, np.ndarray) and mask.dtype == np.int8 and mask.shape == (NUM_ACTIONS,)


PER_AGENT = {
    "rewards": _is_number,
    "_cumulative_rewards": _is_number,
    "terminations": _is_flag,
    "truncations": _is_flag,
    "infos": _is_info,
}
"""Parts with an entry for each agent of the episode, and the checks of an entry."""
NAMES = ("agents", "agent_selection", *PER_AGENT, "_rewarded", "_is_seeded", "_recorder", "records")
"""All parts of the state of an episode except the table."""


def checked_parts(
    state: Mapping[str, Any], table: Table, possible: Sequence[str], recorder: Any, may_forfeit: bool
) -> dict[str, Any]:
    """Return copies of the parts `NAMES` of a state; ValueError if they do not belong to an episode at its table.

    Args:
        state: has all of these parts.
        table: the table of the state.
        possible: the agents of the environment, by seat.
        recorder: the environment's recorder; None if it writes no records.
        may_forfeit: whether an illegal action ends an episode.
    """
    try:
        parts = copy.deepcopy({name: state[name] for name in NAMES})
    except Exception as error:  # whatever somebody's object raises
        raise _state_error("it cannot be copied") from error
    agents, chosen = parts["agents"], parts["agent_selection"]
    if type(agents) is not list or not all(type(agent) is str for agent in (*agents, chosen)):
        raise _state_error("its agents are not all names")
    if len(set(agents)) < len(agents) or not {*agents, chosen} <= set(possible):
        raise _state_error("its agents are not those of this environment")
    for name, is_valid in PER_AGENT.items():
        if type(parts[name]) is not dict or set(parts[name]) != set(agents):
            raise _state_error(f"its {name} are not those of its agents")
        if not all(map(is_valid, parts[name].values())):
            raise _state_error(f"its {name} make no sense")
    if type(parts["records"]) is not list or (parts["records"] and recorder is None):
        raise _state_error("its records are no list, or this environment writes none")
    if type(parts["_recorder"]) is not type(recorder):
        raise _state_error("its argument `record` differs from this environment's")
    if parts["_is_seeded"] is not True or not _is_flag(parts["_rewarded"]):
        raise _state_error("it has no episode")
    _check_turn(parts, table, possible, may_forfeit)
    if recorder is not None:
        _check_records(parts["records"], parts["_recorder"], table)
    return parts


def _check_turn(parts: Mapping[str, Any], table: Table, possible: Sequence[str], may_forfeit: bool) -> None:
    """Refuse a state whose agent to act or whose end of the episode differs from the table's.

    After the end of an episode the agents leave one after another. An illegal action terminates and truncates all of them.
    """
    agents, chosen = parts["agents"], parts["agent_selection"]
    ends = {(bool(parts["terminations"][agent]), bool(parts["truncations"][agent])) for agent in agents}
    is_left = agents == [agent for agent in possible if agent in agents] and (not agents or chosen in agents)
    if table.is_over:
        is_sound = is_left and ends <= {(not table.row.truncated, bool(table.row.truncated))}
    elif table.row.match < 0 or table.is_scored:
        is_sound = False
    elif ends == {(False, False)}:
        is_sound = agents == list(possible) and chosen == possible[int(table.row.seat)]
    else:
        is_sound = may_forfeit and is_left and ends <= {(True, True)}
    if not is_sound:
        raise _state_error("it is not the turn of its agent at its table")


def _check_records(records: list[Any], recorder: Any, table: Table) -> None:
    """Refuse records that do not match the earlier deals, and a recorder that does not match the current deal."""
    from noms_env.record.form import find_damage  # imported late, since few users keep records

    row = table.row
    first = int(row.deal) + table.is_over - len(records)
    places = [(int(row.match), deal, table.rules.variant.name, table.seats) for deal in range(first, first + len(records))]
    if any(map(find_damage, records)) or places != [
        tuple(record[key] for key in ("match", "deal", "variant", "seats")) for record in records
    ]:
        raise _state_error("its records are not those of the earlier deals")
    try:
        again, twin = type(recorder)(legal=True), table.copy()
        if not table.is_over:
            hand_out(twin.row)
            for step in recorder._steps:
                action = twin.number(step["action"])
                again.note(twin, action)
                twin.step(action)
        is_sound = vars(again) == vars(recorder) and twin.get_state() == table.get_state()
    except Exception as error:  # whatever somebody's object raises
        raise _state_error("its recorder is damaged") from error
    if not is_sound:
        raise _state_error("its recorder does not have the decisions at its table")


def _state_error(why: str) -> ValueError:
    return ValueError(f"the state must come from get_state: {why}")
