"""The dispatch names every variant in every hook, and no table is set up for a variant that it does not know."""

import ast
import inspect
import re
from dataclasses import replace

import pytest

from noms_env.variants import GAMES, RulesError, dispatch, make_rules
from noms_env.variants.families import FAMILIES
from noms_env.variants.table_record import new_tables, write_rules

FUNCTIONS = [node for node in ast.parse(inspect.getsource(dispatch)).body if isinstance(node, ast.FunctionDef)]
HOOKS = [function for function in FUNCTIONS if function.args.args[0].arg == "t"]


def covered(word: str) -> set[str]:
    """The variants that a name of a variant or of a family stands for."""
    if word in FAMILIES:
        return {name for name, game in GAMES.items() if FAMILIES[game.family] == word}
    return {word} & set(GAMES)


def named(hook: ast.FunctionDef) -> set[str]:
    """The variants whose files (or families) a hook's code mentions."""
    words = {node.id.removesuffix("_deck") for node in ast.walk(hook) if isinstance(node, ast.Name)}
    return set().union(*(covered(word.lower()) for word in words if word.lower() != "auction" or word.isupper()))


def excepted() -> dict[str, set[str]]:
    """By hook, the variants that the table of hooks names as having no such rule."""
    rows = re.findall(r"(?m)^\| (`.*?) \| .* \|(.*)\|$", inspect.getdoc(dispatch) or "")
    told = [(hooks, set().union(*map(covered, re.findall(r"\w+", words)))) for hooks, words in rows]
    return {hook: variants for hooks, variants in told for hook in re.findall(r"\w+", hooks)}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.name)
def test_a_hook_names_every_variant(hook: ast.FunctionDef) -> None:
    """A variant answers, or the table of hooks says that it has no such rule or is never asked."""
    without = excepted()[hook.name]
    assert named(hook) | without == set(GAMES)
    assert named(hook) & without == set()


def test_every_hook_is_in_the_table_of_hooks() -> None:
    assert sorted(excepted()) == sorted(hook.name for hook in HOOKS)


def test_the_dispatch_knows_every_variant_and_refuses_others() -> None:
    assert sorted(dispatch.IMPLEMENTED) == [game.number for game in GAMES.values()] == list(range(len(GAMES)))
    rules = make_rules(replace(GAMES["down_up"], name="eighth", number=7))
    with pytest.raises(RulesError, match="eighth"):
        write_rules(new_tables(1)[0], rules)
