"""Trials: a decision of a finished deal, tried again at a separate practice table.

A trial is an ordinary table with its own file and the match up to that decision. The hands are the same, and the players act
as before while the person does. It ends after its deal, since later deals would reveal those of the match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noms_env.record import Record
from noms_env.show.data import view_data
from noms_env.show.view import look

from ..session import Session


@dataclass(frozen=True)
class Trial:
    """A decision that is tried again.

    Attributes:
        table: name of the table of the match.
        decisions: number of decisions before it in the deal.
        actions: actions of the match from there on.
        first: public result of the deal in the match: `results`, `declarer`, `passed_out` and `places` of
            `noms_env.show.data.view_data`.
    """

    table: str
    decisions: int
    actions: tuple[int, ...]
    first: Mapping[str, Any]

    def state(self) -> dict[str, Any]:
        """Return the state for the file of a table; see `trial_of`."""
        return {"table": self.table, "decisions": self.decisions, "actions": self.actions}

    def view(self, deal: int) -> dict[str, Any]:
        """Return the data for a page: table of the match, moment, and its result."""
        return {"table": self.table, "moment": f"{deal}.{self.decisions}", "first": self.first}


def trial_of(session: Session, state: Mapping[str, Any]) -> Trial:
    """Make a session a trial of its last deal: end it there, and block undo of earlier decisions.

    Args:
        session: session of the trial.
        state: `table`, `decisions` and `actions`; see `Trial`.

    Raises:
        ValueError: the state is invalid, or the deal is unfinished.
    """
    name, decisions, actions = state["table"], state["decisions"], tuple(state["actions"])
    deal = session.deals[-1]
    if not isinstance(name, str) or type(decisions) is not int or not 0 <= decisions <= len(deal.actions):
        raise ValueError("a trial must have a table and a number of decisions")
    table = deal.table_at(session.table, decisions)
    for action in actions:
        table.step(action)
    if not table.is_scored:
        raise ValueError("the deal of a trial must be over")
    for earlier in session.deals[:-1]:
        earlier.undo_floor = len(earlier.actions)
    deal.undo_floor = decisions
    session.end()
    view = view_data(look(table, None))
    return Trial(name, decisions, actions, {key: view[key] for key in ("results", "declarer", "passed_out", "places")})


def is_known(record: Record) -> bool:
    """Return whether every dealt card was played, which makes the hands public."""
    played = sum(step["phase"] == "play" and step["action"] != "indicate" for step in record["steps"])
    return bool(played == record["seats"] * record["hand_size"])
