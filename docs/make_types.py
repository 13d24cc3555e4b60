"""The types of arguments, written from the declarations of the options: `python docs/make_types.py`.

`noms_env/envs/games.pyi` tells editors and type checkers what the functions of each game take, and
`noms_env/envs/option_types.py` what the classes for any game take. Both are kept in git, and a test holds them current.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import replace
from pathlib import Path

from docs.make_pages import RAW_ONLY, arguments
from noms_env.core.messages import literal
from noms_env.envs import validation
from noms_env.envs.aec import TrickTakingEnv
from noms_env.variants import GAMES, Option, Variant
from noms_env.variants.rulebook import HAND_SIZE, ROTATION_WORDS
from noms_env.version import ENV_VERSION

FOLDER = Path(__file__).parent.parent / "noms_env" / "envs"
WIDTH = 120
DEALS = replace(HAND_SIZE, doc='with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule')
"""What `hand_size` is in games with a schedule."""
OPTION_TYPES = '''"""The options of all games, for type checkers. Written by `python docs/make_types.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """Options that some game has, and what they may be; which game has which is checked when it is set up."""

{fields}
'''
GAME_TYPES = '''"""The modules of the games, for type checkers. Written by `python docs/make_types.py`."""

from collections.abc import Sequence
from types import ModuleType
from typing import Literal

from pettingzoo import AECEnv, ParallelEnv

from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.validation import {types}

{games}
'''
GAME = """class _{title}(ModuleType):
    variant: str
{functions}

{name}: _{title}"""
FUNCTION = '''    def {name}(
        self,
        *,
{parameters}
    ) -> {result}:
        """{says}

        Args:
{said}
        """'''


def main() -> None:
    """Write every file."""
    for name, text in all_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)


def all_files() -> dict[str, str]:
    """The files, by their names."""
    return {"games.pyi": game_types(), "option_types.py": option_types()}


def game_types() -> str:
    """The modules of the games."""
    games = "\n\n".join(map(game_type, GAMES.values()))
    types = sorted(name for name in vars(validation) if re.search(rf": {name} ", games))
    return GAME_TYPES.format(types=", ".join(types), games=games)


def game_type(game: Variant) -> str:
    """The module of a game."""
    env = function(game, "env", "AECEnv", "The environment in PettingZoo's usual wrappers: an illegal action ends the episode.")
    raw_env = function(game, "raw_env", "TrickTakingEnv", "The bare environment: an illegal action raises an error.")
    parallel = function(game, "parallel_env", "ParallelEnv", "`env` in PettingZoo's parallel form; it stays turn-based.")
    title = "".join(word.title() for word in game.name.split("_"))
    return GAME.format(title=title, functions=f"{env}\n\n{parallel}\n\n{raw_env}", name=f"{game.name}_v{ENV_VERSION}")


def option_types() -> str:
    """The types of the options of all games."""
    declared: dict[str, list[Option]] = {}
    for game in GAMES.values():
        for option in options_of(game):
            declared.setdefault(option.name, []).append(option)
    return OPTION_TYPES.format(fields="\n".join(f"    {name}: {type_of(*declared[name])}" for name in sorted(declared)))


def options_of(game: Variant) -> list[Option]:
    """The options of a game, with `hand_size` in every game."""
    return [*game.options, *([DEALS] if game.schedule else [])]


def type_of(*options: Option) -> str:
    """The type of an option that one or several games declare."""
    words = list(dict.fromkeys(word for option in options for word in option.words))
    kinds = {
        "bool": any(option.flag for option in options),
        f"Literal[{', '.join(map(literal, words))}]": bool(words),
        "int": any(option.numbers or option.range for option in options),
        f"Sequence[Literal[{', '.join(map(literal, ROTATION_WORDS))}]]": any(option.rotation for option in options),
        "None": any(option.none or option.default is None for option in options),
    }
    return " | ".join(kind for kind, is_one in kinds.items() if is_one)


def function(game: Variant, name: str, result: str, says: str) -> str:
    """A function of the module of a game."""
    usual = inspect.signature(TrickTakingEnv.__init__).parameters
    common = {key: text for key, (_, text) in arguments().items() if name == "raw_env" or key not in RAW_ONLY}
    options = options_of(game)
    parameters = [f"        {key}: {usual[key].annotation} = {literal(usual[key].default)}," for key in common]
    parameters += [f"        {option.name}: {type_of(option)} = {literal(option.default)}," for option in options]
    said = [f"{key}: {text}" for key, text in common.items()] + [f"{option.name}: {option.doc}." for option in options]
    lines = [textwrap.fill(line, WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 16) for line in said]
    return FUNCTION.format(name=name, parameters="\n".join(parameters), result=result, says=says, said="\n".join(lines))


if __name__ == "__main__":
    main()
