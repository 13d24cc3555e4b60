"""The pages of the environments are what the generator writes, list everything, and have code that runs."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from docs import deals
from docs.make_pages import FOLDER, action_groups, all_pages
from noms_env.envs.aec import TrickTakingEnv
from noms_env.record import check_records
from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS
from tests.agreement import random_table
from tests.begin import begin

GENERATED = all_pages()
PAGES = sorted(GENERATED)


def page(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def python_blocks(text: str) -> list[str]:
    return re.findall(r"(?s)```python\n(.+?)```", text)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_generator_writes(name: str) -> None:
    assert page(name) == GENERATED[name], "run `python docs/make_pages.py`"


def test_there_are_no_other_pages() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.md")) == PAGES
    assert sorted(["choices.md", "common.md", "features.md", "index.md", *(f"{variant}.md" for variant in VARIANTS)]) == PAGES


@pytest.mark.parametrize("variant", VARIANTS)
def test_infos_have_the_listed_keys(variant: str) -> None:
    reveal: dict[str, Any] = {"reveal_stock_at_end": True} if variant != "nonesuch" else {}
    env = TrickTakingEnv(variant, episode="deal", **reveal)
    env.reset(seed=1)
    while env.phase is not None:
        assert env.infos["player_0"] == {}
        env.step(env.legal_actions()[-1])
    infos = env.infos["player_0"]
    section = page("common.md").partition("## Infos\n")[2].partition("\n## ")[0]
    *keys, stock = re.findall(r"(?m)^\| `([^`]+)` \|", section)
    assert list(infos["last_deal"]) == [*keys, *([stock] if reveal else [])]
    assert list(infos) == ["last_deal", "winners", *(["sniped"] if variant == "sniped_whist" else [])]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_listed_actions_are_those_that_become_legal(variant: str) -> None:
    groups = {range(first, last + 1): False for first, last, _ in action_groups(GAMES[variant])}
    rng = random.Random(f"{variant}: docs")
    for seed in range(400):
        table = begin(Table(variant, *random_table(variant, rng), seed=seed))
        while not table.is_scored:
            legal = table.legal_actions()
            for action in legal:
                (group,) = (group for group in groups if action in group)
                groups[group] = True
            table.step(rng.choice(legal))
    assert all(groups.values()), groups


def test_the_page_of_a_game_shows_a_deal(tmp_path: Path) -> None:
    records = deals.records()
    assert [record["variant"] for record in records] == list(VARIANTS)
    assert not [fault for record in records for fault in check_records([(1, record)])]
    deals.write_pages(tmp_path)
    for variant in VARIANTS:
        assert f"```{{deal}} {variant}\n" in page(f"{variant}.md")
        assert "<title>A deal of" in (tmp_path / f"{variant}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_code_on_a_page_runs(variant: str) -> None:
    (creation,) = python_blocks(page(f"{variant}.md"))
    namespace: dict[str, Any] = {}
    exec(creation, namespace)
    assert namespace["env"].max_num_agents == GAMES[variant].default_seats
