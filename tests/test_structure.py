"""The shape of the code: where a game may be named, and how long modules and functions may be."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from noms_env.variants import GAMES

ROOT = Path(__file__).parent.parent
PACKAGES = ("noms_env", "training", "benchmarks")
MODULES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

MOST_LINES = 800
MOST_FUNCTION_LINES = 60

MAY_NAME = {
    *("noms_env/variants/__init__.py", "noms_env/variants/dispatch.py", "noms_env/variants/noms_deck.py"),
    *(f"noms_env/variants/{name}.py" for name in GAMES),
    *("noms_env/__init__.py", "noms_env/micro/settings.py"),
    "noms_env/envs/option_types.py",
}
"""The modules that may name a game: the list of all, the dispatch, a game's own, the public face, the list of micro-games, and
the types of options, of which one has a word that is also the name of a game."""

GAME = re.compile(
    r"(?<![^\W_])(?:sniped_whist|big_ships|small_ships|nonesuch|down_up|up_down)(?![^\W_])|(?<![\w/])noms(?!\w*_env|[-/\w])",
    re.I,
)
"""A name of a game; `noms-env`, `noms/...` and `noms-record/1` are names of other things."""


def named_games(source: str) -> list[str]:
    """Lines in which code names a game, as an identifier or in a string that is no docstring."""
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    spans = {(text.lineno, text.col_offset) for text in texts if isinstance(text, ast.Constant)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    kinds = (tokenize.NAME, tokenize.STRING)
    told = [token for token in tokens if token.type in kinds and token.start not in spans]
    return [f"{token.start[0]}: {token.string}" for token in told if GAME.search(token.string)]


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Name and lines of each function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_games_are_found_where_they_are_named() -> None:
    """The search finds identifiers and strings, and neither prose nor the names of other things."""
    assert named_games("if t.variant == SMALL_SHIPS: pass") == ["1: SMALL_SHIPS"]
    assert named_games("from noms_env.variants import noms") == ["1: noms"]
    assert named_games('x = {"noms": 1, "the game down_up": 2}') == ['1: "noms"', '1: "the game down_up"']
    assert named_games('"""Prose on nonesuch."""\nimport noms_env\nx = f"noms/{y}", "noms-record/1"  # noms') == []


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[0] == "noms_env"], ids=str)
def test_only_the_dispatch_and_the_lists_name_a_game(path: Path) -> None:
    """The rest of `noms_env` asks the dispatch or looks at traits."""
    if str(path) in MAY_NAME:
        return
    assert [*named_games((ROOT / path).read_text()), *GAME.findall(path.stem)] == []


def test_modules_are_short() -> None:
    long = [str(path) for path in MODULES if len((ROOT / path).read_text().splitlines()) > MOST_LINES]
    assert long == [], f"more than {MOST_LINES} lines"


def test_functions_are_short() -> None:
    lengths = {f"{path}:{name}": lines for path in MODULES for name, lines in functions((ROOT / path).read_text())}
    long = [name for name, lines in lengths.items() if lines > MOST_FUNCTION_LINES]
    assert long == [], f"more than {MOST_FUNCTION_LINES} lines"
