"""`noms table`: what is said of decisions, and decisions that are tried again, which counts for nothing."""

import json
import random
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from starlette.testclient import TestClient

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
from tests.training.table_browsers import Browser, connected, opened, request, server, some_table, words_of


def a_loss(points: float, error: float = 0.1, **facts: Any) -> Loss:
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


def test_losses_are_graded_by_what_is_at_stake_and_only_where_they_are_sure() -> None:
    told = [grade_of(a_loss(points), 10) for points in (-0.5, 0.1, 0.5, 2.0, 5.0)]
    assert told == ["best", "even", "slip", "mistake", "blunder"]
    assert grade_of(a_loss(5.0, error=3.0), 10) == "even"
    assert grade_of(a_loss(5.0, best="pass"), 10) == "best"


def test_a_sentence_says_why_and_names_cards_as_people_do() -> None:
    tables = {str(table.phase): table.copy() for table in replay(next(record_matches("small_ships", seed=2)))}
    assert explain(tables["call"], a_loss(0.8)) == (
        "A bid of 7 would have brought 0.8 points more on average: more in 71 of 100 layouts, less in 12."
    )
    assert explain(tables["play"], a_loss(1.0, best="TH")).startswith("The 10 of Hearts would have brought 1 point more")
    assert explain(tables["nominate"], a_loss(1.26, best="QS")).startswith(
        "Nominating the Queen of Spades would have brought 1.3 "
    )
    assert explain(tables["trump"], a_loss(2.0, best="H")).startswith("Hearts as trump ")
    assert explain(tables["call"], a_loss(0.1)).startswith("A bid of 7 might have been as good or better: more in 71")
    assert explain(tables["call"], a_loss(-0.1)) == "No better action was found."


def test_a_deal_that_is_analysed_begins_at_its_biggest_sure_mistake() -> None:
    record = next(record_matches("up_down", 4, seed=3))
    losses = [a_loss(3.0, 9.0, step=0, best="1"), a_loss(1.0, step=1, best="1", spread=4.0), a_loss(0.2, step=2, best="1")]
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


def moments_of(record: Record, seat: int) -> list[int]:
    return [number for number, step in enumerate(record["steps"]) if step["seat"] == seat]


def scored_table(variant: str = "small_ships", deals: int = 1) -> LiveTable:
    table = some_table(0, variant)
    rng = random.Random(4)
    while len(table.session.records()) < deals:
        if table.session.table.is_scored:
            table.next_deal()
        table.take(rng.choice(table.session.table.legal_actions()))
    return table


def trial_at(table: LiveTable, decisions: int, deal: int = 1) -> LiveTable:
    return table_from(table.trial_json("home-table", 0, f"{deal}.{decisions}"))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trial_has_the_same_cards_and_players_and_ends_with_its_deal(variant: str) -> None:
    table = scored_table(variant)
    while not is_known(table.session.records()[-1]):
        table = scored_table(variant, len(table.session.records()) + 1)
    deal = len(table.session.records())
    record = table.session.records()[-1]
    for decisions in moments_of(record, 0)[:: max(1, len(moments_of(record, 0)) - 1)]:
        trial = trial_at(table, decisions, deal)
        assert trial.moment == f"{deal}.{decisions}"
        start, row = trial.session.deals[-1].record(trial.session.table), trial.session.table.row
        assert (start["hands"], start["stock"], start["before"]) == (record["hands"], record["stock"], record["before"])
        assert int(row.seat) == 0
        *_, last = pair_with_previous(table.session.records())
        *_, same = islice(replay(*last), decisions + 1)
        assert np.array_equal(trial.session.table.view(0)[0], same.view(0)[0])
        assert trial.trial is not None
        first = trial.trial.view(deal)
        assert (first["table"], first["moment"]) == ("home-table", f"{deal}.{decisions}")
        assert [place["points"] for place in first["first"]["places"]] == pytest.approx(record["points"])
        again = table_from(trial.to_json())
        assert again.to_json() == trial.to_json()
        while not trial.session.table.is_scored:
            trial.take(trial.session.table.legal_actions()[0])
        assert not trial.is_open, "nothing of the match is known here"
        with pytest.raises(ValueError, match="the next deal starts"):
            trial.next_deal()


def test_a_decision_is_taken_back_in_a_trial_but_none_from_before() -> None:
    table = scored_table("up_down", 3)
    decisions = moments_of(table.session.records()[-1], 0)[1]
    trial = trial_at(table, decisions, 3)
    before = trial.moment
    assert not trial.may_take_back(0)
    with pytest.raises(ValueError, match="nothing yet"):
        trial.take_back(0)
    trial.act(0, trial.session.table.legal_words()[0], before)
    assert trial.may_take_back(0)
    trial.take_back(0)
    assert trial.moment == before
    assert table_from(table.to_json()).trial is None


def test_a_trial_within_a_trial_is_done_once_more_from_its_own_moment() -> None:
    def play_on(table: LiveTable, choice: int) -> None:
        while not table.session.table.is_scored:
            table.take(table.session.table.legal_actions()[choice])

    trial = trial_at(scored_table(), 0)
    play_on(trial, -1)
    later = trial_at(trial, moments_of(trial.session.records()[0], 0)[3])
    play_on(later, 0)
    assert later.trial is not None
    more = trial_at(later, later.trial.decisions)
    assert (more.trial, more.session.deals[0].actions) == (later.trial, later.session.deals[0].actions[: later.trial.decisions])
    assert later.trial.first["places"][0]["points"] == trial.session.records()[0]["points"][0]


def test_what_cannot_be_tried_again_is_refused() -> None:
    table = scored_table()
    record = table.session.records()[0]
    other = next(number for number, step in enumerate(record["steps"]) if step["seat"] != 0)
    for moment, sentence in (
        ("2.0", "until the deal is over"),
        (f"1.{other}", "your own decisions"),
        ("1.99999", "your own decisions"),
        ("x", "such as 3.17"),
    ):
        with pytest.raises(ValueError, match=sentence):
            table.trial_json("home-table", 0, moment)
    passed = some_table(0, "noms")
    while not passed.session.table.is_scored:
        passed.take(passed.session.table.number("pass"))
    (own,) = moments_of(passed.session.records()[0], 0)
    with pytest.raises(ValueError, match="still secret"):
        passed.trial_json("home-table", 0, f"1.{own}")
    state = json.loads(trial_json(table))
    damage: list[dict[str, Any]] = [
        {"decisions": 999},
        {"table": 3},
        {"actions": []},
        {"actions": [0, 0]},
        {"decisions": "1"},
    ]
    for wrong in damage:
        with pytest.raises(ValueError, match="not a table"):
            table_from(json.dumps(state | {"trial": state["trial"] | wrong}))


def trial_json(table: LiveTable) -> str:
    return table.trial_json("home-table", 0, f"1.{moments_of(table.session.records()[0], 0)[0]}")


def play_a_trial(client: TestClient, told: dict[str, Any]) -> Browser:
    with connected(client) as socket:
        browser = Browser(socket, told["table"], told["key"])
        browser.send(do="speed", seconds=0)
        browser.until("table")
        sent = [browser.state["view"]]
        while not browser.state["scored"]:
            if browser.state["turn"] == 0:
                browser.send(do="act", word=words_of(browser.state["view"])[0], moment=browser.state["moment"])
            browser.until("table")
            sent.append(browser.state["view"])
        hands = [place["hand"] for view in sent for place in view["places"] if place["seat"] != 0]
        assert {*map(str, hands)} <= {"None", "[]"}, "no hand is shown"
        for job, sentence in (("next", "the next deal"), ("records", "until the match is over")):
            browser.send(do=job)
            assert sentence in browser.until("refused")["text"]
        browser.send(do="film", deal=1, analyse=False)
        assert {*browser.until("film")["film"]["deals"][0]["moments"][0]["views"]} == {"own"}
    return browser


def test_a_trial_is_played_over_the_network_and_the_match_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(tmp_path, Limits(rate=1e9, pace=0, tables=2)) as client:
        told = opened(client, variant="up_down", seats=4)
        key = told["keys"]["0"]
        wish = {"table": told["table"], "key": key, "moment": "1.1"}
        assert "until the deal is over" in client.post("/api/again", json=wish).json()["error"]
        with connected(client) as socket:
            browser = Browser(socket, told["table"], key)
            browser.send(do="speed", seconds=0)
            browser.play_a_deal(random.Random(1))
            record = client.hall.rooms[told["table"]].table.session.records()[0]  # type: ignore[attr-defined]
            kept = (tmp_path / f"{told['table']}.json").read_bytes()
            wish["moment"] = f"1.{moments_of(record, 0)[0]}"
            assert "no seat" in client.post("/api/again", json=wish | {"key": "x"}).json()["error"]
            for lacking in ({}, {**wish, "moment": 3}):
                assert client.post("/api/again", json=lacking).status_code == 400
            for _ in range(2):  # a newer one takes the place of the older
                trial = client.post("/api/again", json=wish).json()
                tried = play_a_trial(client, {**trial, "key": key})
            assert tried.state["trial"]["first"]["places"][0]["points"] == record["points"][0]
            assert (tmp_path / f"{told['table']}.json").read_bytes() == kept
            with connected(client) as same, monkeypatch.context() as broken:
                tried = Browser(same, trial["table"], key)
                broken.setattr(LiveTable, "save", Mock(side_effect=OSError(28, "No space left on device")))
                assert "No space left" in client.post("/api/again", json=wish).json()["error"]
                tried.send(do="sit")
                assert tried.until("refused")["text"].startswith("the table could not be saved"), "the older trial goes on"
            assert len([*islice(tmp_path.glob("*.json"), 5)]) == 2
            assert "2 tables and no room for more" in client.post("/api/tables", json=request()).json()["error"]
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
