"""Tables and environments that are made and begun in one expression."""

from typing import Any, TypeVar

from noms_env.table import Table

Begun = TypeVar("Begun", bound=Any)


def begun(made: Begun, *arguments: Any, **position: Any) -> Begun:
    """A table, started; an environment, reset."""
    (made.start if isinstance(made, Table) else made.reset)(*arguments, **position)
    return made
