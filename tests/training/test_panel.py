"""The published tables of `checkpoints/README.md`, against the figures that they were made from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from noms_env.rules import game, make_rules
from training.deal_sets import digest
from training.statistics import Estimate
from training.tournament import cell

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
TEXT = (CHECKPOINTS / "README.md").read_text()
PANEL = sorted((CHECKPOINTS / "panel").glob("*.json"))
Rows = dict[str, dict[str, str]]


def tables(text: str) -> list[Rows]:
    """The tables of a text: by row and column, their names without ticks."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [
            [part.strip().replace("`", "") for part in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        found.append({row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows})
    return found


def section(variant: str) -> list[Rows]:
    """The two tables of a game: with search, and of the players without."""
    (text,) = re.findall(rf"^### [^\n]*\(`{variant}`\).*?(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return tables(text)


def interval(one: dict[str, Any]) -> str:
    """As the tables that sum up have it."""
    return f"{one['mean']:+.3f} ({one['low']:+.3f} to {one['high']:+.3f})"


def test_every_game_has_its_tables() -> None:
    games = {path.stem for path in PANEL if not path.stem.endswith("-rules") and not path.stem.startswith("ablations")}
    assert games == {"sniped_whist", "big_ships", "small_ships", "noms", "nonesuch", "down_up", "up_down"}
    assert all(len(section(game)) == 2 for game in games)


@pytest.mark.parametrize("path", PANEL, ids=lambda path: path.stem)
def test_the_published_tables_hold_the_saved_figures(path: Path) -> None:
    saved = json.loads(path.read_text())
    name = path.stem.removesuffix("-rules")
    if name.startswith("ablations"):
        recipes = [rows for rows in tables(TEXT) if "base: as the preset has it" in rows]
        shown = recipes[["ablations-down_up", "ablations-small_ships"].index(name)]
        assert len(shown) == len(saved["players"]) - 1
        for title, row in shown.items():
            for opponent in ("base", "thumb"):
                one = saved["table"][title.partition(":")[0]].get(opponent)
                assert row[f"against {opponent}"] == ("" if one is None else interval(one))
        return
    assert (saved["variant"], saved["set"]) == (name, "test")
    assert all(lost["tables"] == 0 for lost in saved["lost"].values())
    assert saved["set_sha256"] == digest(make_rules(game(name), saved["seats"], saved["options"]), "test")
    shown = section(name)[path.stem.endswith("-rules")]
    assert shown.keys() == set(saved["players"])
    for player, row in saved["table"].items():
        for opponent, one in row.items():
            assert shown[player][opponent] == cell(Estimate(**one))


def test_the_sum_of_them_says_that_the_search_is_better_than_the_rules() -> None:
    shown = next(rows for rows in tables(TEXT) if "Noms" in rows)
    titles = dict(re.findall(r"^### (.*?) \(`(\w+)`\)", TEXT, re.MULTILINE))
    assert shown.keys() == titles.keys()
    for title, variant in titles.items():
        searched, rules = (json.loads((CHECKPOINTS / "panel" / f"{variant}{end}.json").read_text()) for end in ("", "-rules"))
        best = searched["table"]["pimc:100"]["thumb"]
        assert best["low"] > 0
        assert shown[title]["pimc:100 above thumb"] == interval(best)
        assert shown[title]["thumb above random (2,000 deals)"] == interval(rules["table"]["thumb"]["random"])
        assert shown[title]["deals"] == str(searched["deals"])
