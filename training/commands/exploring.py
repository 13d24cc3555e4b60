"""Game trees with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..progress_bar import progress_bar

if TYPE_CHECKING:
    from noms_env.micro.deal_setup import DealSetup
    from noms_env.micro.tree import Tree


def explored(name: str, setup: DealSetup) -> Tree:
    """The tree of a deal; see `noms_env.micro.tree.build_tree` for what is raised."""
    from noms_env.micro.tree import build_tree

    before = 0
    with progress_bar(f"{name}: explore", "layouts", None) as tick:

        def told(done: int, total: int) -> None:
            nonlocal before
            tick(done - before)
            before = done

        return build_tree(setup, told)
