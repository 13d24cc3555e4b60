"""A linked moment of a deal."""

from __future__ import annotations

from typing import Any

from noms_env.show.data import view_data
from noms_env.show.view import look

from ..session import Session
from .again import is_known
from .live import RefusedError


def moment_data(session: Session, number: int, decision: int, *, is_open: bool) -> dict[str, Any]:
    """Return a moment of a deal for JSON, as a spectator saw it, or with all hands once they are public.

    The hands of a passed-out deal stay secret, since the next deal may use the same cards.

    Args:
        session: the session.
        number: number of the deal, from 1.
        decision: number of decisions before that moment.
        is_open: whether all hands may be shown because the match is over.

    Raises:
        RefusedError: no such moment.
    """
    if not 1 <= number <= len(session.deals) or decision > len(session.deals[number - 1].actions):
        raise RefusedError("there is no such moment: the deal has not got that far, or decisions were taken back")
    deal, table = session.deals[number - 1], session.table.copy()
    table.set_state(deal.start)
    for action in deal.actions[:decision]:
        table.step(action)
    shows_all = is_open or (deal.finished is not None and is_known(deal.finished))
    view = view_data(look(table, None, full=shows_all)) | {"legal": [], "choices": [], "barred": []}
    counts = {"deals": len(session.deals), "decisions": len(deal.actions)}
    return {"deal": number, "decision": decision, **counts, "all": shows_all, "view": view}
