"""A decision of a deal that is over, tried again: a table of its own with the same cards, which counts for nothing.

It is a table like any other, kept in a file, with the match up to that decision. So the hands are the same, and the players act
as they did as long as the person does. It ends with its deal: the deals after it would be those of the match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noms_env.record import Record
from noms_env.show.data import view_data
from noms_env.show.view import look

from ..session import Session
from .analysis import moment_of


@dataclass(frozen=True)
class Trial:
    """What is tried again.

    Attributes:
        table: name of the table of the match.
        decisions: how many of the deal had been taken.
        actions: those that were taken from there on.
        first: how the deal ended with them, as everybody knows: `results`, `declarer`, `passed_out` and `places` of
            `noms_env.show.data.view_data`.
    """

    table: str
    decisions: int
    actions: tuple[int, ...]
    first: Mapping[str, Any]

    def state(self) -> dict[str, Any]:
        """For the file of a table; see `trial_of`."""
        return {"table": self.table, "decisions": self.decisions, "actions": self.actions}

    def view(self, deal: int) -> dict[str, Any]:
        """For a page: the table of the match, the moment, and how the deal ended there."""
        return {"table": self.table, "moment": f"{deal}.{self.decisions}", "first": self.first}


def trial_of(session: Session, state: Mapping[str, Any]) -> Trial:
    """The trial of a session's last deal, which ends there and takes nothing back from before.

    Args:
        session: where it is tried.
        state: `table`, `decisions` and `actions`; see `Trial`.

    Raises:
        ValueError: the deal cannot have been played so.
    """
    name, decisions, actions = state["table"], state["decisions"], tuple(state["actions"])
    deal, table = session.deals[-1], session.table.copy()
    if not isinstance(name, str) or type(decisions) is not int or not 0 <= decisions <= len(deal.actions):
        raise ValueError("a trial has a table and a number of decisions")
    table.set_state(deal.start)
    for action in (*deal.actions[:decisions], *actions):
        table.step(action)
    if not table.is_scored:
        raise ValueError("a trial is of a deal that is over")
    for earlier in session.deals[:-1]:
        earlier.kept = len(earlier.actions)
    deal.kept = decisions
    session.end()
    view = view_data(look(table, None))
    return Trial(name, decisions, actions, {key: view[key] for key in ("results", "declarer", "passed_out", "places")})


def is_known(record: Record) -> bool:
    """Whether every card that was dealt has been played, so that the hands are no secret."""
    played = sum(step["phase"] == "play" and step["action"] != "indicate" for step in record["steps"])
    return bool(played == record["seats"] * record["hand_size"])


def trial_state(session: Session, state: Mapping[str, Any], seat: int, moment: str, *, is_open: bool) -> dict[str, Any]:
    """What changes in the state of a table (`LiveTable.to_json`) where a seat's decision is tried again.

    Args:
        session: of the table of the match.
        state: of that table.
        seat: of the person who decided.
        moment: before the decision; see `analysis.moment_of`.
        is_open: whether all hands may be shown.

    Returns:
        `deals`, and `trial` without its table; see `trial_of`.

    Raises:
        ValueError: there is no such decision of that seat, its deal is not over, or hands of it are still secret.
    """
    place = moment_of(moment)
    if place is None:
        raise ValueError("a moment was expected, such as 3.17: deal 3 after 17 decisions")
    deal, decisions = place
    records = session.records()
    if deal not in range(len(records)):
        raise ValueError("wait until the deal is over")
    steps = records[deal]["steps"]
    if decisions >= len(steps) or steps[decisions]["seat"] != seat:
        raise ValueError("what you decided yourself can be tried again, and nothing else")
    if not is_open and not is_known(records[deal]):
        raise ValueError("cards of this deal were never shown; try it again when the match is over")
    actions = state["deals"][deal]
    return {
        "deals": [*state["deals"][:deal], actions[:decisions]],
        "trial": {"decisions": decisions, "actions": actions[decisions:]},
    }
