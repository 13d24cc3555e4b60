"""The pages of the environments: they are what the code says, they name everything, and their code runs."""

import ast
import inspect
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import noms_env
from docs import deals, make_pages
from docs.make_pages import FOLDER, action_groups, all_pages
from noms_env.envs.aec import TrickTakingEnv
from noms_env.record import check_records
from noms_env.show.rules import numbered_rules
from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS, make_rules
from noms_env.variants.rulebook import SHORT_DECK
from noms_env.variants.table_record import choice_bytes, choice_names
from tests.agreement import random_table
from tests.begun import begun

GENERATED = all_pages()
PAGES = sorted(GENERATED)


def page(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def first_cells(text: str) -> list[str]:
    """What the first cells of a page's tables name in backticks."""
    return re.findall(r"(?m)^\| `([^`]+)` \|", text)


def python_blocks(text: str) -> list[str]:
    return re.findall(r"(?s)```python\n(.+?)```", text)


def part(name: str, title: str) -> str:
    return page(name).partition(f"## {title}\n")[2].partition("\n## ")[0]


def word_options() -> list[tuple[str, str, str]]:
    """Variant, option and word, for each word that an option of a variant may be."""
    return [(game.name, option.name, word) for game in GAMES.values() for option in game.options for word in option.words]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_generator_writes(name: str) -> None:
    assert page(name) == GENERATED[name], "run `python docs/make_pages.py`"


def test_there_are_no_other_pages() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.md")) == PAGES
    assert sorted(["choices.md", "common.md", "features.md", "index.md", *(f"{variant}.md" for variant in VARIANTS)]) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_tables_have_equal_rows_and_links_lead_somewhere(name: str) -> None:
    text = page(name)
    for table in re.findall(r"(?m)(?:^\|.*\|\n)+", text):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table
    for link in re.findall(r"\]\(([^)]+)\)", text):
        file, _, section = link.partition("#")
        assert (FOLDER / file).exists(), link
        titles = re.findall(r"(?m)^#+ (.+)$", page(file)) if section else []
        assert not section or section in [title.lower().replace(" ", "-") for title in titles], link


def test_what_env_refuses_is_named_as_an_argument_of_raw_env() -> None:
    def accepts(make: Any, name: str) -> bool:
        try:
            make(**{name: make_pages.arguments()[name][0]})
        except ValueError:
            return False
        return True

    module = noms_env.down_up_v0
    names = list(make_pages.arguments())
    raw_only = [name for name in names if accepts(module.raw_env, name) and not accepts(module.env, name)]
    said = part("common.md", "Environment arguments")
    assert re.findall(r"(?m)^\| `(\w+)` \| [^|]+ \| Of `raw_env` only: ", said) == raw_only != []


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_section_of_features_has_a_row_with_its_shape_and_scale(variant: str) -> None:
    form = r"(?m)^\| `([\w.]+)` \| (.+?) \| ([\d/]+) \| .+?(?:\. Games: (.+))? \|$"
    rows = re.findall(form, part("features.md", "Sections"))
    for section in noms_env.feature_layout(variant).sections:
        found = [row for row in rows if row[0] == section.name and (not row[3] or variant in row[3].split(", "))]
        ((_, shape, scale, _),) = found
        assert str(section.shape) in shape
        assert float(Fraction(scale)) == section.scale


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_need_of_an_option_is_in_its_row(variant: str) -> None:
    text = page(f"{variant}.md").replace("`", "").replace('"', "'")
    for need in GAMES[variant].needs:
        assert re.search(rf"(?m)^\| {need.option} \|.* It has an effect only .*{re.escape(need.where)}", text), need


def test_every_argument_has_one_row() -> None:
    parameters = list(inspect.signature(TrickTakingEnv.__init__).parameters)
    assert first_cells(part("common.md", "Environment arguments")) == [
        name for name in parameters if name not in ("self", "variant", "options")
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_defaults_are_those_in_force(variant: str) -> None:
    rules = make_rules(GAMES[variant])
    cells = dict(re.findall(r"(?m)^\| `(\w+)` \| (.+?) \| .+ \|$", part(f"{variant}.md", "Options")))
    for name, cell in cells.items():
        (value,) = re.findall(rf"`([^`]+)`(?: with [\d, or]*{rules.seats}\b|$)", cell)
        assert ast.literal_eval(value) == rules.options[name], name
    assert set(rules.options) - set(cells) <= {option.name for option in SHORT_DECK}


@pytest.mark.parametrize("variant", VARIANTS)
def test_infos_hold_what_is_listed(variant: str) -> None:
    shown: dict[str, Any] = {"reveal_stock_at_end": True} if variant != "nonesuch" else {}
    env = TrickTakingEnv(variant, episode="deal", **shown)
    env.reset(seed=1)
    while env.phase is not None:
        assert env.infos["player_0"] == {}
        env.step(env.legal_actions()[-1])
    infos = env.infos["player_0"]
    *listed, stock = first_cells(part("common.md", "Infos"))
    assert list(infos["last_deal"]) == [*listed, *([stock] if shown else [])]
    assert list(infos) == ["last_deal", "winners", *(["sniped"] if variant == "sniped_whist" else [])]


@pytest.mark.parametrize("variant", VARIANTS)
def test_only_listed_actions_are_ever_legal_and_every_kind_is(variant: str) -> None:
    groups = {range(first, last + 1): False for first, last, _ in action_groups(GAMES[variant])}
    rng = random.Random(f"{variant}: docs")
    for seed in range(400):
        seats, given = random_table(variant, rng)
        table = begun(Table(variant, seats, given, seed=seed))
        while not table.is_scored:
            legal = table.legal_actions()
            for action in legal:
                (group,) = (group for group in groups if action in group)
                groups[group] = True
            table.step(rng.choice(legal))
    assert all(groups.values()), groups


def test_the_page_of_a_game_shows_a_deal_of_it(tmp_path: Path) -> None:
    records = deals.records()
    assert [record["variant"] for record in records] == list(VARIANTS)
    assert not [fault for record in records for fault in check_records([(1, record)])]
    deals.write_pages(tmp_path)
    for variant in VARIANTS:
        assert f"```{{deal}} {variant}\n" in page(f"{variant}.md")
        assert "<title>A deal of" in (tmp_path / f"{variant}.html").read_text(encoding="utf-8")


COUNTS = ("", "", "Two", "Three", "Four", "Five", "Six", "Seven")
SUITS = {"C": "clubs", "D": "diamonds", "H": "hearts", "S": "spades", "NT": "none"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_how_to_play_says_the_seats_the_hands_the_trumps_and_the_end_that_are_in_force(variant: str) -> None:
    lines = numbered_rules(f"noms_env.variants.{variant}").splitlines()
    rules, (low, high) = make_rules(GAMES[variant]), GAMES[variant].seats
    assert len(lines) <= 10
    assert re.match(rf"1\. {COUNTS[low]}( (to|or) {COUNTS[high].lower()})? players", lines[0])
    assert (low == high) == lines[0].startswith(f"1. {COUNTS[low]} players")
    if rules.schedule:
        top = max(rules.schedule)
        assert f"{rules.schedule[0]}, {rules.schedule[1]}, ..., " in lines[0]
        assert f"{top - 1}, {top}" in lines[0]
        assert lines[1].endswith(f": {', '.join(SUITS[word] for word in rules.options['trump_rotation'])}.")
    if "target" in rules.options:
        (end,) = (line for line in lines if "The match ends" in line)
        assert f" {rules.options['target']} points" in end


WHERE_IT_ACTS = {"turnup_full_deal": {"trump_mode": "turnup"}}
"""The options that must be given with one that has no effect among the defaults."""


def test_the_bytes_of_words_are_those_of_the_list() -> None:
    rows = dict(re.findall(r"(?m)^\|.*\| `(\w+)` \| (.+) \|$", page("choices.md")))
    for variant, option, word in word_options():
        (values,) = (
            said.partition(": ")[2] for said in rows[option].split("; ") if variant in said.partition(":")[0].split(", ")
        )
        listed = {entry: int(byte) for byte, entry in re.findall(r"(\d+) `(\w+)`", values)}
        found = choice_bytes(make_rules(GAMES[variant], None, {option: word} | WHERE_IT_ACTS.get(option, {})))
        assert found[choice_names().index(option)] == listed[word], (variant, option, word)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_code_on_a_page_runs(variant: str) -> None:
    (creation,) = python_blocks(page(f"{variant}.md"))
    namespace: dict[str, Any] = {}
    exec(creation, namespace)
    assert namespace["env"].max_num_agents == GAMES[variant].default_seats
