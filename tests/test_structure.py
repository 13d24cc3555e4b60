"""Only some modules name a game, and modules and functions are short."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from noms_env.variants import GAMES

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path.relative_to(ROOT) for room in ("noms_env", "training", "benchmarks") for path in (ROOT / room).rglob("*.py")
)

MAY_NAME = {
    *("noms_env/variants/__init__.py", "noms_env/variants/dispatch.py", "noms_env/variants/noms_deck.py"),
    *(f"noms_env/variants/{name}.py" for name in GAMES),
    *("noms_env/__init__.py", "noms_env/micro/settings.py"),
    "noms_env/envs/option_types.py",
}
"""The modules that may name a game. One word among the types of options is also the name of a game."""

GAME = re.compile(
    r"(?<![^\W_])(?:sniped_whist|big_ships|small_ships|nonesuch|down_up|up_down)(?![^\W_])|(?<![\w/])noms(?!\w*_env|[-/\w])",
    re.I,
)
"""A name of a game; `noms-env`, `noms/...` and `noms-record/1` name other things."""


def named_games(source: str) -> list[str]:
    """Return each place where code names a game, in an identifier or in a string that is no docstring."""
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    spans = {(text.lineno, text.col_offset) for text in texts if isinstance(text, ast.Constant)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        f"{token.start[0]}: {token.string}"
        for token in tokens
        if token.type in (tokenize.NAME, tokenize.STRING) and token.start not in spans and GAME.search(token.string)
    ]


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of lines of each function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_the_search_finds_games_in_identifiers_and_strings_only() -> None:
    assert named_games("if t.variant == SMALL_SHIPS: pass") == ["1: SMALL_SHIPS"]
    assert named_games("from noms_env.variants import noms") == ["1: noms"]
    assert named_games('x = {"noms": 1, "the game down_up": 2}') == ['1: "noms"', '1: "the game down_up"']
    assert named_games('"""Prose on nonesuch."""\nimport noms_env\nx = f"noms/{y}", "noms-record/1"  # noms') == []


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[0] == "noms_env"], ids=str)
def test_only_the_dispatch_and_the_lists_name_a_game(path: Path) -> None:
    if str(path) not in MAY_NAME:
        assert [*named_games((ROOT / path).read_text()), *GAME.findall(path.stem)] == []


def test_modules_and_functions_are_short() -> None:
    sources = {path: (ROOT / path).read_text() for path in MODULES}
    assert [path for path, text in sources.items() if len(text.splitlines()) > 800] == []
    assert [(path, name) for path, text in sources.items() for name, lines in functions(text) if lines > 60] == []
