"""First lessons: prepared deals of each game, with an explanation before each decision of the learner.

A lesson is a TOML file in the folder `lessons`, named after its game:

| key | meaning |
|---|---|
| `deal` | list of deals, in order |
| `deal.seed`, `seats`, `options` | arguments of `noms_env.Table` |
| `deal.hand_size` | hand size of a single deal; without it the deal is the first of a match |
| `deal.actions` | words of all decisions of the deal, in order, as in a record |
| `deal.step` | list of steps, in order |
| `step.say` | text; `{tricks[2]}`, `{points[0]}`, `{called[1]}` for seats; `{sum}` of the calls, `{size}` of the hands |
| `step.rules` | rules to show: `intro`, and numbers of `noms_env.show.rules.rules_in_brief` |
| `step.otherwise` | answer to a legal action that differs from the lesson's |
| `step.at` | `do` (default): the learner's next decision; `look`: the moment before it; `end`: the end of the deal |
| `step.skip` | number of the learner's decisions that the lesson takes first |

The learner has seat 0. The engine plays the deals when a lesson is opened, so a lesson that breaks the rules cannot be opened.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from noms_env.show.data import view_data
from noms_env.show.rules import rules_in_brief
from noms_env.show.view import look
from noms_env.table import Table
from noms_env.variants import Variant

from .film import describe_action
from .live import PLAYERS_NAMES

FOLDER = Path(__file__).parent / "lessons"
LEARNER = 0
"""Seat of the learner."""


@cache
def lesson(variant: Variant) -> dict[str, Any]:
    """Return the lesson of a game as data for a page.

    Returns:
        `title`, `variant` and `steps`. Each step has its `text`, `rules`, `names` of the seats, the learner's `views` since the
        previous step, `wants` (word of the decision to take, or None), `said` (the same in words), and `otherwise`.

    Raises:
        ValueError: the game has no lesson, or its file has an illegal decision or an unfinished deal.
    """
    path = FOLDER / f"{variant.name}.toml"
    if not path.is_file():
        raise ValueError(f"there is no lesson for {variant.title}")
    deals = tomllib.loads(path.read_text(encoding="utf-8"))["deal"]
    steps = [{**step, "deal": number} for number, deal in enumerate(deals) for step in _steps(variant, deal)]
    return {"title": variant.title, "variant": variant.name, "steps": steps}


def deal_table(variant: Variant, deal: dict[str, Any]) -> Table:
    """Deal the table of a lesson's deal."""
    size = deal.get("hand_size")
    kind = "match" if size is None else "deal"
    table = Table(variant.name, deal.get("seats"), deal.get("options"), seed=deal["seed"], episode=kind, deal_size=size)
    table.start()
    return table


def _steps(variant: Variant, deal: dict[str, Any]) -> Iterator[dict[str, Any]]:
    table, words = deal_table(variant, deal), deal["actions"].split()
    rules = _numbered([*rules_in_brief(table.rules)])
    names = ["You", *PLAYERS_NAMES[1 : table.seats]]
    moments = []
    for word in [*words, None]:
        view = view_data(look(table, LEARNER))
        moments.append((view, None if word is None else describe_action(table, word)))
        if word is not None:
            table.act(word)
    if not table.is_scored:
        raise ValueError(f"a deal of the lesson for {variant.title} is unfinished")
    own = [place for place, (view, _) in enumerate(moments) if view["turn"] == LEARNER]
    taken, shown = 0, 0
    for step in deal["step"]:
        taken += step.get("skip", 0)
        at = step.get("at", "do")
        place = len(words) if at == "end" else own[taken]
        view, said = moments[place]
        yield {
            "text": step["say"].strip().format(**_figures(view)),
            "rules": [rules[rule] for rule in step.get("rules", [])],
            "names": names,
            "views": [other for other, _ in moments[shown : place + 1]],
            "wants": words[place] if at == "do" else None,
            "said": said if at == "do" else None,
            "otherwise": step.get("otherwise", "").strip(),
        }
        taken += at == "do"
        shown = place + (at == "do")


def _figures(view: dict[str, Any]) -> dict[str, Any]:
    """Return the figures that a step's text may refer to."""
    figures: dict[str, Any] = {
        name: [_plain(place[name]) for place in view["places"]] for name in ("tricks", "points", "called")
    }
    return figures | {"sum": sum(place["called"] or 0 for place in view["places"]), "size": view["size"]}


def _plain(figure: float | None) -> str:
    return "–" if figure is None else f"{round(figure, 2):g}".replace("-", "−")


def _numbered(rules: list[str]) -> dict[str, str]:
    """Return the rules of a table by number; the first is the `intro`."""
    return {"intro": rules[0], **{rule.split(".")[0]: rule.split(".", 1)[1].strip() for rule in rules[1:] if rule[0].isdigit()}}
