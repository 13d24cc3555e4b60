"""`noms table`: the engine plays every first lesson to its end, and its texts fit the table."""

import re
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
from tests.training.table_browsers import TableServer, legal_words

NAMES = ("You", "Ben", "Cleo", "Dan")
PHASES = {
    "sniped_whist": {"play"},
    "small_ships": {"call", "trump", "nominate", "play"},
    "noms": {"call", "trump", "nominate", "play"},
    "nonesuch": {"call", "trump", "play", "suit"},
}
READING, DECIDING, CONTINUING = 130, 8, 3
"""Words a minute, and seconds for a decision and for a step without one."""
LEFT_OUT = "With the option of indication", "If a double hand is passed out"
"""Beginnings of the rules that no first lesson shows."""


def steps_of(variant: str) -> list[dict[str, Any]]:
    return list(lesson(game(variant))["steps"])


def named_cards(view: dict[str, Any]) -> set[str]:
    """Return the titles of the cards that the learner sees or may nominate."""
    words = [*(view["places"][0]["hand"] or []), view["turn_up"], view["nominated"], *legal_words(view)]
    words += [word for trick in [view["trick"], *view["tricks"]] for _, word in trick]
    numbers = CARD_NUMBERS[view["deck"]]
    return {card_title(numbers[word], view["deck"]).lower() for word in words if word in numbers}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_lesson_runs_to_its_end_and_has_all_kinds_of_decisions(variant: str) -> None:
    steps, phases, forbidden = steps_of(variant), set[str](), 0
    for step in steps:
        view = step["views"][-1]
        if step["wants"] is not None:
            words = legal_words(view)
            assert (view["turn"], step["wants"] in words) == (0, True)
            phases.add(view["phase"])
            forbidden += bool(view["why"])
            assert step["otherwise"] or len(words) == 1 or view["phase"] == "suit", "another choice is answered"
        for shown in step["views"]:
            assert shown["phase"] is None or all(place["hand"] is None for place in shown["places"][1:]), "no hand is shown"
    assert phases == PHASES.get(variant, {"call", "play"})
    assert forbidden, "somewhere the rules forbid a card"
    last = {step["deal"]: step for step in steps}
    assert {step["views"][-1]["phase"] for step in last.values()} == {None}, "each deal is scored"


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_lesson_shows_every_rule_and_takes_about_ten_minutes(variant: str) -> None:
    steps, rules = steps_of(variant), [*rules_in_brief(make_rules(game(variant)))]
    shown = {rule for step in steps for rule in step["rules"]}
    for rule in rules[:-1]:  # the last one says that all options are as usual
        text = rule.split(".", 1)[1].strip() if rule[0].isdigit() else rule
        assert text in shown or text.startswith(LEFT_OUT), text
    words = sum(len(text.split()) for step in steps for text in [step["text"], *step["rules"]])
    decisions = sum(step["wants"] is not None for step in steps)
    minutes = words / READING + (DECIDING * decisions + CONTINUING * (len(steps) - decisions)) / 60
    assert 7 < minutes < 12


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_text_names_cards_and_calls_of_the_table(variant: str) -> None:
    suits = "clubs|diamonds|hearts|spades|Moons|Suns|Waves|Leaves|Wyrms|Knots"
    cards = calls = 0
    for step in steps_of(variant):
        view, text = step["views"][-1], step["text"]
        for rank, first, second in re.findall(rf"(ace|king|queen|jack|crown|\d+) of ({suits})(?: and ({suits}))?", text):
            title = f"{rank} of {first}{second and ' and '}{second}".lower()
            assert any(title in other for other in named_cards(view)) or view["phase"] is None, (title, text)
            cards += 1
        for name, call in re.findall(r"\b(Ben|Cleo|Dan) (?:called|bid) (\d+|Mis|None|Some|Most)\b", text):
            assert call.lower() in [str(word).lower() for word in view["places"][NAMES.index(name)]["calls"]], text
            calls += 1
    assert cards > 3
    assert calls or variant == "sniped_whist"


def test_a_lesson_that_the_rules_do_not_allow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (lessons.FOLDER / "up_down.toml").read_text()
    assert 'actions = "0 1 0 0 TC JS 8S 9C"' in text
    monkeypatch.setattr(lessons, "FOLDER", tmp_path)
    for actions, error in (("0 1 0 0 TC JS 8S 9D", IllegalActionError), ("0 1 0 0 TC JS 8S", ValueError)):
        (tmp_path / "up_down.toml").write_text(text.replace("0 1 0 0 TC JS 8S 9C", actions))
        with pytest.raises(error):
            lesson.__wrapped__(game("up_down"))


def test_the_server_sends_lessons(server: TableServer) -> None:
    answer = server.client.get("/api/lesson?game=nonesuch").json()
    assert (answer["title"], len(answer["steps"])) == ("Nonesuch", len(steps_of("nonesuch")))
    assert server.client.get("/api/lesson?game=../x").status_code == 400
