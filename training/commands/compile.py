"""`noms compile`: compile everything before its first use."""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import tyro

from noms_env._jit import CACHE_FOLDER, COMPILED, PROGRESS
from noms_env.envs.first_use import parts
from noms_env.variants import game, make_rules

from ..agents.registry import agent_spec
from ..console import print_lines
from ..evaluation.comparison import compare
from .common import OK, CommandError, wrong_arguments
from .demo import quick_config


def compile(
    player: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER ...", help_behavior_hint="")] = (),
) -> int:
    """Compile all code in advance and keep it on disk.

    The engine is Python that is compiled on your machine, each part when it is first needed. Each part takes from seconds to
    half a minute, once after an installation or an update. This command compiles all parts at once and shows its progress.
    Commands and programs then start without delay. In Python, noms_env.compile() does the same without the trainer.

    For example:
      noms compile
      noms compile thumb small_ships@0

    Args:
        player: Compile only what tables and these players need.
    """
    if not COMPILED:
        raise CommandError("nothing is compiled while NUMBA_DISABLE_JIT is set")
    start = time.monotonic()
    with wrong_arguments():
        uses = parts(player)
        if not player:
            small_ships = make_rules(game("small_ships"))
            uses["evaluation"] = partial(compare, small_ships, agent_spec("thumb"), agent_spec("greedy"), 2)
            if find_spec("torch") is not None:
                uses["training"] = use_trainer
        functions = PROGRESS.use(uses)
    seconds = time.monotonic() - start
    where = f"kept in {CACHE_FOLDER}" if CACHE_FOLDER else "not kept, since no folder can be written"
    print_lines([f"{functions:,} functions compiled in {seconds:.0f} s, {where}" if functions else f"all is compiled, {where}"])
    return OK


def use_trainer() -> None:
    """Train a minimal run with default settings, with and without card features."""
    from ..learn.checkpoint import RunFolder
    from ..learn.loop import train

    with TemporaryDirectory() as folder:
        for sees_cards in (True, False):
            config = quick_config("small_ships", 0)
            config = dataclasses.replace(config, panel=("random",), precision="fp32", card_features=sees_cards)
            with RunFolder.create(Path(folder) / str(sees_cards), config.as_dict()) as run:
                train(config, run)
