"""Create and start a table or an environment in one expression."""

from typing import Any, TypeVar

from noms_env.table import Table

TableOrEnv = TypeVar("TableOrEnv", bound=Any)


def begin(table: TableOrEnv, /, *arguments: Any, **position: Any) -> TableOrEnv:
    """Start a table, or reset an environment, and return it."""
    (table.start if isinstance(table, Table) else table.reset)(*arguments, **position)
    return table
