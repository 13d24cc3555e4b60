"""Every hook of the dispatch names every variant, and no table is made for an unknown variant."""

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


def variants_of(word: str) -> set[str]:
    """Return the variants with the name of a variant or family."""
    if word in FAMILIES:
        return {name for name, game in GAMES.items() if FAMILIES[game.family] == word}
    return {word} & set(GAMES)


def variants_in(hook: ast.FunctionDef) -> set[str]:
    """Return the variants whose modules or families the code of a hook names."""
    words = {node.id.removesuffix("_deck") for node in ast.walk(hook) if isinstance(node, ast.Name)}
    return set().union(*(variants_of(word.lower()) for word in words if word.lower() != "auction" or word.isupper()))


def exceptions() -> dict[str, set[str]]:
    """Return the variants without such a rule by the table of hooks, per hook."""
    rows = re.findall(r"(?m)^\| (`.*?) \| .* \|(.*)\|$", inspect.getdoc(dispatch) or "")
    pairs = [(hooks, set().union(*map(variants_of, re.findall(r"\w+", words)))) for hooks, words in rows]
    return {hook: variants for hooks, variants in pairs for hook in re.findall(r"\w+", hooks)}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.name)
def test_a_hook_names_every_variant(hook: ast.FunctionDef) -> None:
    """A variant is in the code or an exception in the table of hooks."""
    without = exceptions()[hook.name]
    assert variants_in(hook) | without == set(GAMES)
    assert variants_in(hook) & without == set()


def test_every_hook_is_in_the_table_of_hooks() -> None:
    assert sorted(exceptions()) == sorted(hook.name for hook in HOOKS)


def test_an_unknown_variant_is_refused() -> None:
    assert sorted(dispatch.IMPLEMENTED) == [game.number for game in GAMES.values()] == list(range(len(GAMES)))
    rules = make_rules(replace(GAMES["down_up"], name="eighth", number=7))
    with pytest.raises(RulesError, match="eighth"):
        write_rules(new_tables(1)[0], rules)
