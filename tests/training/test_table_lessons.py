"""`noms table`: every first lesson is played to its end by the engine, and says what is on the table."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noms_env.core.cards import CARD_NUMBERS
from noms_env.show.cards import card_title
from noms_env.show.rules import rules_in_brief
from noms_env.table import IllegalActionError
from noms_env.variants import VARIANTS, game, make_rules
from noms_training.play.browser import lessons
from noms_training.play.browser.lessons import lesson
from tests.training.table_browsers import server

NAMES = ("You", "Ben", "Cleo", "Dan")
PHASES = {
    "sniped_whist": {"play"},
    "small_ships": {"call", "trump", "nominate", "play"},
    "noms": {"call", "trump", "nominate", "play"},
    "nonesuch": {"call", "trump", "play", "suit"},
}
READING, DECIDING, GOING_ON = 130, 8, 3
"""Words a minute, and seconds for a decision and for a step without one."""


def steps(variant: str) -> list[dict[str, Any]]:
    return list(lesson(game(variant))["steps"])


def words_of(view: dict[str, Any]) -> list[str]:
    """The legal actions."""
    return [*view["legal"], *(choice["word"] for choice in view["choices"])]


def named_cards(view: dict[str, Any]) -> set[str]:
    """The titles of the cards that the learner sees or may nominate."""
    seen = [*(view["places"][0]["hand"] or []), view["turn_up"], view["nominated"], *words_of(view)]
    seen += [word for trick in [view["trick"], *view["tricks"]] for _, word in trick]
    numbers = CARD_NUMBERS[view["deck"]]
    return {card_title(numbers[word], view["deck"]).lower() for word in seen if word in numbers}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_lesson_runs_to_its_end_and_has_all_kinds_of_decisions(variant: str) -> None:
    told, phases, grey = steps(variant), set[str](), 0
    for step in told:
        view = step["views"][-1]
        assert (step["wants"] is None) or step["wants"] in words_of(view)
        if step["wants"] is not None:
            assert view["turn"] == 0
            phases.add(view["phase"])
            grey += bool(view["why"])
            assert step["otherwise"] or len(words_of(view)) == 1 or view["phase"] == "suit", "another choice is answered"
        for seen in step["views"]:
            assert seen["phase"] is None or all(place["hand"] is None for place in seen["places"][1:]), "no hand is shown"
    assert phases == PHASES.get(variant, {"call", "play"})
    assert grey, "somewhere the rules forbid a card"
    for number in {step["deal"] for step in told}:
        *_, last = (step for step in told if step["deal"] == number)
        assert last["views"][-1]["phase"] is None, "each deal is scored"


LEFT_OUT = "With the option of indication", "If a double hand is passed out"
"""Beginnings of the rules that no first lesson shows."""


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_lesson_shows_every_rule_and_takes_about_ten_minutes(variant: str) -> None:
    told, rules = steps(variant), [*rules_in_brief(make_rules(game(variant)))]
    shown = {rule for step in told for rule in step["rules"]}
    for rule in rules[:-1]:  # the last one says that all options are as usual
        text = rule.split(".", 1)[1].strip() if rule[0].isdigit() else rule
        assert text in shown or text.startswith(LEFT_OUT), text
    words = sum(len(text.split()) for step in told for text in [step["text"], *step["rules"]])
    decisions = sum(step["wants"] is not None for step in told)
    minutes = words / READING + (DECIDING * decisions + GOING_ON * (len(told) - decisions)) / 60
    assert 7 < minutes < 12


def stated(pattern: str, text: str) -> Iterator[tuple[str, ...]]:
    for found in re.finditer(pattern, text):
        yield found.groups()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_text_speaks_of_cards_and_calls_that_are_there(variant: str) -> None:
    suits = "clubs|diamonds|hearts|spades|Moons|Suns|Waves|Leaves|Wyrms|Knots"
    cards = calls = 0
    for step in steps(variant):
        view = step["views"][-1]
        known = named_cards(view)
        for rank, first, second in stated(rf"(ace|king|queen|jack|crown|\d+) of ({suits})(?: and ({suits}))?", step["text"]):
            title = f"{rank} of {first}" + (f" and {second}" if second else "")
            assert any(title.lower() in other for other in known) or view["phase"] is None, (title, step["text"])
            cards += 1
        for name, call in stated(r"\b(Ben|Cleo|Dan) (?:called|bid) (\d+|Mis|None|Some|Most)\b", step["text"]):
            said = [str(other).lower() for other in view["places"][NAMES.index(name)]["calls"]]
            assert call.lower() in said, step["text"]
            calls += 1
    assert cards > 3
    assert calls or variant == "sniped_whist"


def test_a_lesson_that_the_rules_do_not_allow_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (lessons.FOLDER / "up_down.toml").read_text()
    assert 'actions = "0 1 0 0 TC JS 8S 9C"' in text
    monkeypatch.setattr(lessons, "FOLDER", tmp_path)
    for actions, error in (("0 1 0 0 TC JS 8S 9D", IllegalActionError), ("0 1 0 0 TC JS 8S", ValueError)):
        (tmp_path / "up_down.toml").write_text(text.replace("0 1 0 0 TC JS 8S 9C", actions))
        with pytest.raises(error):
            lesson.__wrapped__(game("up_down"))


def test_the_server_gives_lessons(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        told = client.get("/api/lesson?game=nonesuch").json()
        assert (told["title"], len(told["steps"])) == ("Nonesuch", len(steps("nonesuch")))
        assert client.get("/api/lesson?game=../x").status_code == 400
