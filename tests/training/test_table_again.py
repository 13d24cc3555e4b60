"""`noms table`: the analysis of decisions, and trials: decisions tried again, which do not count."""

import json
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from noms_env.core.cards import CARD_NUMBERS
from noms_env.record import Record, record_matches, replay
from noms_env.record.replaying import pair_with_previous
from noms_env.show.data import deck_data, view_data
from noms_env.show.view import card_name, look
from noms_env.variants import VARIANTS
from noms_training.evaluation.mistakes import Loss
from noms_training.play.browser.again import is_known
from noms_training.play.browser.analysis import deal_data, explain, grade_of, moment_of
from noms_training.play.browser.film import Shown, describe_action
from noms_training.play.browser.live import LiveTable, table_from
from noms_training.play.browser.messages import Limits
from tests.training.table_browsers import Browser, finish_deal, pass_out, request, run_server, some_table


def make_loss(points: float, error: float = 0.1, **facts: Any) -> Loss:
    usual: dict[str, Any] = {"step": 0, "phase": "call", "taken": "pass", "best": "7", "better": 71, "worse": 12, "worlds": 100}
    return Loss(match=0, deal=0, seat=0, points=points, error=error, **usual | facts)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_page_can_put_together_each_view(variant: str) -> None:
    record = next(record_matches(variant, seed=2))
    for shown, names in ((Shown(0), {"own"}), (Shown(), {"own", "all"})):
        data = deal_data(record, shown, seat=0)
        merged = {name: dict[str, Any]() for name in names}
        for moment, table in zip(data["moments"], replay(record), strict=True):
            assert {*moment["views"]} == names
            for name in names:
                merged[name] |= moment["views"][name]
                assert merged[name] == view_data(look(table, 0, full=name == "all"))
            assert table.is_scored or moment["taken"] in table.legal_words()
    assert deal_data(record, Shown())["seat"] is None


def test_a_grade_depends_on_the_scale_and_on_the_error() -> None:
    grades = [grade_of(make_loss(points), 10) for points in (-0.5, 0.1, 0.5, 2.0, 5.0)]
    assert grades == ["best", "even", "slip", "mistake", "blunder"]
    assert grade_of(make_loss(5.0, error=3.0), 10) == "even"
    assert grade_of(make_loss(5.0, best="pass"), 10) == "best"


def test_an_explanation_names_actions_and_figures() -> None:
    tables = {str(table.phase): table.copy() for table in replay(next(record_matches("small_ships", seed=2)))}
    for phase, loss, beginning in (
        (
            "call",
            make_loss(0.8),
            "A bid of 7 would have brought 0.8 points more on average: more in 71 of 100 layouts, less in 12.",
        ),
        ("play", make_loss(1.0, best="TH"), "The 10 of Hearts would have brought 1 point more"),
        ("nominate", make_loss(1.26, best="QS"), "Nominating the Queen of Spades would have brought 1.3 "),
        ("trump", make_loss(2.0, best="H"), "Hearts as trump "),
        ("call", make_loss(0.1), "A bid of 7 might have been as good or better: more in 71"),
        ("call", make_loss(-0.1), "No better action was found."),
    ):
        assert explain(tables[phase], loss).startswith(beginning)


def test_an_analysis_starts_at_the_biggest_sure_mistake() -> None:
    record = next(record_matches("up_down", 4, seed=3))
    losses = [
        make_loss(3.0, 9.0, step=0, best="1"),
        make_loss(1.0, step=1, best="1", spread=4.0),
        make_loss(0.2, step=2, best="1"),
    ]
    data = deal_data(record, Shown(), losses=losses, analysed=True)
    assert (data["worst"], data["scale"]) == (1, 4.0)
    assert [moment["judged"]["grade"] for moment in data["moments"][:3]] == ["even", "mistake", "even"]
    points = record["points"]
    assert data["final"] == [round(own - (sum(points) - own) / 3, 2) for own in points]
    assert deal_data(record, Shown(), losses=[], analysed=True)["worst"] is None
    assert "not_judged" in deal_data(record, Shown(), losses=None, analysed=True)


def test_a_moment_is_a_deal_and_a_number_of_decisions() -> None:
    assert [moment_of(text) for text in ("3.17", "1.0")] == [(2, 17), (0, 0)]
    assert {moment_of(text) for text in ("0.1", "3", "3.", "-1.2", "3.17x", "\u0663.1", "")} == {None}


def moments_of(record: Record, seat: int = 0) -> list[int]:
    """Return the numbers of decisions before each decision of a seat."""
    return [number for number, step in enumerate(record["steps"]) if step["seat"] == seat]


def scored_table(variant: str = "small_ships", deals: int = 1) -> LiveTable:
    live = some_table(0, variant)
    finish_deal(live)
    for seed in range(1, deals):
        live.next_deal()
        finish_deal(live, seed)
    return live


def trial_at(live: LiveTable, decisions: int, deal: int = 1) -> LiveTable:
    return table_from(live.trial_json("home-table", 0, f"{deal}.{decisions}"))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trial_has_the_same_cards_and_ends_with_its_deal(variant: str) -> None:
    live = scored_table(variant)
    while not is_known(live.session.records()[-1]):
        live.next_deal()
        finish_deal(live)
    deal, record = len(live.session.records()), live.session.records()[-1]
    for decisions in (moments_of(record)[0], moments_of(record)[-1]):
        trial = trial_at(live, decisions, deal)
        assert trial.moment == f"{deal}.{decisions}"
        start = trial.session.deals[-1].record(trial.session.table)
        assert (start["hands"], start["stock"], start["before"]) == (record["hands"], record["stock"], record["before"])
        assert int(trial.session.table.row.seat) == 0
        *_, last = pair_with_previous(live.session.records())
        *_, same = islice(replay(*last), decisions + 1)
        assert np.array_equal(trial.session.table.view(0)[0], same.view(0)[0])
        assert trial.trial is not None
        view = trial.trial.view(deal)
        assert (view["table"], view["moment"]) == ("home-table", f"{deal}.{decisions}")
        assert [place["points"] for place in view["first"]["places"]] == pytest.approx(record["points"])
        assert table_from(trial.to_json()).to_json() == trial.to_json()
        finish_deal(trial)
        assert not trial.is_open, "nothing of the match is known here"
        with pytest.raises(ValueError, match="the next deal starts"):
            trial.next_deal()


def test_undo_in_a_trial_ends_at_its_first_decision() -> None:
    live = scored_table("up_down", 3)
    trial = trial_at(live, moments_of(live.session.records()[-1])[1], 3)
    start = trial.moment
    assert not trial.may_take_back(0)
    with pytest.raises(ValueError, match="nothing yet"):
        trial.take_back(0)
    trial.act(0, trial.session.table.legal_words()[0], start)
    assert trial.may_take_back(0)
    trial.take_back(0)
    assert trial.moment == start
    assert table_from(live.to_json()).trial is None


def test_a_trial_within_a_trial_is_repeated_from_its_own_moment() -> None:
    trial = trial_at(scored_table(), 0)
    finish_deal(trial, 1)
    inner = trial_at(trial, moments_of(trial.session.records()[0])[3])
    finish_deal(inner, 2)
    assert inner.trial is not None
    decisions = inner.trial.decisions
    repeated = trial_at(inner, decisions)
    assert (repeated.trial, repeated.session.deals[0].actions) == (inner.trial, inner.session.deals[0].actions[:decisions])
    assert inner.trial.first["places"][0]["points"] == trial.session.records()[0]["points"][0]


def test_only_own_decisions_of_known_deals_can_be_tried_again() -> None:
    live = scored_table()
    record = live.session.records()[0]
    for moment, sentence in (
        ("2.0", "until the deal is over"),
        (f"1.{moments_of(record, 1)[0]}", "your own decisions"),
        ("1.99999", "your own decisions"),
        ("x", "such as 3.17"),
    ):
        with pytest.raises(ValueError, match=sentence):
            live.trial_json("home-table", 0, moment)
    passed = some_table(0, "noms")
    pass_out(passed)
    with pytest.raises(ValueError, match="still secret"):
        passed.trial_json("home-table", 0, f"1.{moments_of(passed.session.records()[0])[0]}")


@pytest.mark.parametrize(
    "change", [{"decisions": 999}, {"decisions": "1"}, {"table": 3}, {"actions": []}, {"actions": [0, 0]}], ids=str
)
def test_a_damaged_trial_is_refused(change: dict[str, Any]) -> None:
    live = scored_table()
    state = json.loads(live.trial_json("home-table", 0, f"1.{moments_of(live.session.records()[0])[0]}"))
    with pytest.raises(ValueError, match="not a table"):
        table_from(json.dumps(state | {"trial": state["trial"] | change}))


def play_a_trial(browser: Browser) -> None:
    views = [browser.state["view"]]
    while not browser.state["scored"]:
        if browser.state["turn"] == 0:
            browser.send_action(browser.words[0])
        browser.until("table")
        views.append(browser.state["view"])
    assert not [place for view in views for place in view["places"] if place["seat"] != 0 and place["hand"]], "no hand is shown"
    assert "the next deal" in browser.refusal(do="next")
    assert "until the match is over" in browser.refusal(do="records")
    assert {*browser.film()["deals"][0]["moments"][0]["views"]} == {"own"}


def test_a_trial_on_a_server_leaves_the_match_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server(tmp_path, Limits(rate=1e9, pace=0, tables=2)) as server:
        match = server.open(variant="up_down", seats=4)
        body = {"table": match.name, "key": match.keys[0], "moment": "1.1"}
        assert "until the deal is over" in server.refusal("again", body)
        browser = match.browser()
        browser.play_a_deal()
        record, saved = match.live.session.records()[0], match.path.read_bytes()
        body["moment"] = f"1.{moments_of(record)[0]}"
        assert "no seat" in server.refusal("again", body | {"key": "x"})
        for wrong in ({}, {**body, "moment": 3}):
            server.refusal("again", wrong)
        for _ in range(2):  # a new one replaces the old one
            name = server.post("again", body)["table"]
            trial = server.browser(name, match.keys[0])
            play_a_trial(trial)
        assert trial.state["trial"]["first"]["places"][0]["points"] == record["points"][0]
        assert match.path.read_bytes() == saved
        with monkeypatch.context() as broken:
            broken.setattr(LiveTable, "save", Mock(side_effect=OSError(28, "No space left on device")))
            assert "No space left" in server.refusal("again", body, 500)
            assert trial.refusal(do="sit").startswith("the table could not be saved"), "the older trial continues"
        assert len([*tmp_path.glob("*.json")]) == 2
        assert "2 tables and no room for more" in server.refusal("tables", request())
        browser.send(do="next")
        browser.until("table")
        assert browser.state["moment"].startswith("2.")
        assert len(browser.state["sheet"]) == 1


def test_pages_print_10_and_records_say_t() -> None:
    table = next(replay(next(record_matches("up_down", seed=2))))
    while table.phase == "call":
        table.step(table.legal_actions()[0])
    assert describe_action(table, "TH") == "10♥"
    assert deck_data(0)["cards"]["TH"]["rank"] == "10"
    assert card_name(CARD_NUMBERS[0]["TH"], 0) == "T♥", "in the terminal, where ranks stand side by side"
