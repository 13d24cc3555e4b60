"""`noms analyse`: losses by search are right on the mean, say how sure they are, and lead to their moments."""

import base64
import json
import re
import zlib
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from noms_env.players import load_player, recalled, with_memory
from noms_env.record import Record, record_matches, write_records
from noms_env.record.replaying import pair_with_previous
from noms_training.evaluation.mistakes import (
    Loss,
    biggest,
    by_seat_and_phase,
    find_losses,
    loss_of,
    losses,
    search_of,
    with_taken,
)
from tests.commands import Run, assert_refused

JUDGE = "search:up_down@0"


def deals(count: int, player: str = "random") -> list[Record]:
    """Deals of one card, two cards, and so on."""
    records = record_matches("up_down", 4, 1, 3, None, player)
    return [record for _, record in zip(range(count), records, strict=False)]


def a_loss(**facts: object) -> Loss:
    usual = {
        "match": 0,
        "deal": 0,
        "step": 0,
        "seat": 0,
        "phase": "play",
        "taken": "2C",
        "best": "3C",
        "points": 1.0,
        "error": 0.1,
    }
    return Loss(**usual | facts)  # type: ignore[arg-type]  # the facts are of these types


def test_the_loss_of_what_is_best_in_both_halves_is_0() -> None:
    values = np.tile([3.0, 1.0, 2.0], (8, 1))
    assert loss_of(values, 0) == (0.0, 0.0)
    assert loss_of(values, 1) == (2.0, 0.0)
    assert loss_of(values, 2) == (1.0, 0.0)


def test_the_search_remembers_the_deals_before_of_the_same_match() -> None:
    judge = search_of(load_player(JUDGE))
    records = deals(5, "thumb")
    told = dict(enumerate(found for _, found in find_losses(records, judge, 16)))
    memory = None
    for number, (record, before) in enumerate(pair_with_previous(records)):
        if before is not None:
            memory = recalled(judge, before.row, memory)
        assert told[number] == [*losses(record, search_of(with_memory(judge, memory)), 16, before=before)]
    assert memory is not None
    assert memory.any()
    assert told[4] != [*losses(records[4], judge, 16)], "what was remembered matters"
    alone = [found for _, found in find_losses(records, judge, 16, wanted=lambda record: record["deal"] == 4)]
    assert alone == [told[4]]
    apart = [{**records[3], "match": 0}, {**records[4], "match": 1}]
    assert [found for _, found in find_losses(apart, judge, 16)][1] == [*losses(apart[1], judge, 16)], "another match"


def test_the_deal_after_a_pass_out_is_not_judged(tmp_path: Path, run: Run) -> None:
    records = list(islice(record_matches("noms", 4, 1, 3, None, "noms@0"), 9))
    judge = search_of(load_player("search:noms@0"))
    doubled = [record["multiplier"] > 1 for record in records]
    assert set(doubled) == {True, False}
    first = doubled.index(True)
    wanted = [first - 1, first]
    told = [found for _, found in find_losses(records, judge, 8, wanted=lambda record: record["deal"] in wanted)]
    assert [found is None for found in told] == [False, True]
    write_records(tmp_path / "noms.jsonl", records)
    page = tmp_path / "page.html"
    status, out, _ = run("analyse", tmp_path / "noms.jsonl", "--deal", first, "--worlds", 8, "--html", page)
    assert status == 0
    assert f"deal {first}: the deal after a pass-out is not judged" in out
    assert page.is_file()


def test_losses_are_right_on_the_mean_and_so_are_their_errors() -> None:
    rng = np.random.default_rng(1)
    equal = np.array([loss_of(rng.normal(0, 1, (40, 6)), 0) for _ in range(2000)])
    assert abs(equal[:, 0].mean()) < 4 * equal[:, 0].std() / np.sqrt(2000), "the best of equals is not better"
    naive = np.mean([rng.normal(0, 1, (40, 6)).mean(axis=0).max() for _ in range(500)])
    assert naive > 0.15, "which the best of their means seems to be"
    worse = np.array([loss_of(rng.normal([0, 2, 0], 1, (40, 3)), 0) for _ in range(2000)])
    assert worse[:, 0].mean() == pytest.approx(2, abs=0.02)
    assert worse[:, 1].mean() == pytest.approx(worse[:, 0].std(), rel=0.06)


def test_the_action_taken_is_among_those_that_are_compared() -> None:
    tried, members = np.array([5, 9]), np.array([6, 9])
    assert [(actions.tolist(), place) for actions, place in (with_taken(tried, members, taken) for taken in (5, 6, 9, 7))] == [
        ([5, 9], 0),
        ([6, 9], 0),
        ([5, 9], 1),
        ([5, 9, 7], 2),
    ]


def test_a_policy_loses_less_than_chance() -> None:
    judge = search_of(load_player(JUDGE))
    lost = {}
    for player in ("random", "up_down@0"):
        found = [one for record in deals(4, player) for one in losses(record, judge, 16)]
        assert all(one.error >= 0 for one in found)
        lost[player] = np.mean([one.points for one in found])
    assert lost["random"] > lost["up_down@0"] + 0.3


def test_losses_are_of_the_decisions_with_a_choice_and_the_same_each_time() -> None:
    judge, record = search_of(load_player(JUDGE)), deals(3)[2]
    found = list(losses(record, judge, 8))
    assert found == list(losses(record, judge, 8))
    assert found != list(losses(record, judge, 8, seed=1))
    assert 3 <= len(found) < len(record["steps"])
    for one in found:
        step = record["steps"][one.step]
        assert (one.seat, one.phase, one.taken) == (step["seat"], step["phase"], step["action"])
        assert (one.points, one.error) == (0, 0) or one.points < 100
        assert one.points <= one.error or one.best != one.taken
    assert any(one.points > one.error for one in found)
    with pytest.raises(ValueError, match="worlds must be 8 or more, not 7"):
        next(losses(record, judge, 7))


def test_the_biggest_come_first_and_what_is_no_loss_does_not_come() -> None:
    found = [a_loss(points=points, step=step) for step, points in enumerate((0.5, 2.0, -0.1, 1.0))]
    assert [one.step for one in biggest([*found, a_loss(points=9.0, best="2C")], 2)] == [1, 3]
    assert [one.is_sure for one in (a_loss(error=0.4), a_loss(error=0.6))] == [True, False]


def test_a_summary_has_deals_as_units() -> None:
    found = [[a_loss(points=1.0 + deal), a_loss(phase="call", points=0.5), a_loss(seat=1)] for deal in range(4)]
    summed = by_seat_and_phase(found, 2)
    assert {place: one.mean for place, one in summed.items()} == {
        **{(0, ""): 3.0, (0, "call"): 0.5, (0, "play"): 2.5},
        **{(1, ""): 1.0, (1, "call"): 0.0, (1, "play"): 1.0},
    }
    assert summed[0, "play"].deals == 4
    assert summed[0, "play"].standard_error == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2)


def test_the_command_tells_the_mistakes_and_makes_a_page_of_them(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "games.jsonl", tmp_path / "games.html"
    records = deals(3)[1:]
    write_records(path, records)
    status, said, _ = run("analyse", path, "--worlds", "8", "--most", "2", "--html", out)
    assert status == 0
    heads = re.findall(r"Match 0, deal (\d): \d+ decisions with a choice, -?\d+\.\d\d points lost", said)
    assert heads == ["1", "2"]
    assert re.search(r"^ +\d+\.\d\d ±\d\.\d\d  step \d+ +seat \d (call|play) \S+, better \S+", said, re.M)
    assert "seat 2" in said
    assert "2 deals are few" in said
    packed = re.search(r'id="film">([^<]+)<', out.read_text())
    assert packed
    film = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    for deal, record in zip(film["deals"], records, strict=True):
        assert deal["losses"] == sorted(deal["losses"], key=lambda one: -one["points"])
        assert all(0 <= one["moment"] < len(record["steps"]) for one in deal["losses"])
    only = run("analyse", path, "--worlds", "8", "--deal", "1", "--seat", "1")[1]
    assert set(re.findall(r"step \d+ +(seat \d)", only)) <= {"seat 1"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--worlds", "7"], "--worlds must be from 8 to 10000, not 7"),
        (["--seed", "-1"], "--seed must be from 0"),
        (["--player", "thumb"], "decisions are judged by a search on a policy"),
        (["--html", "."], "cannot write .: it is a folder"),
    ],
)
def test_what_cannot_be_analysed_is_refused(run: Run, tmp_path: Path, words: list[str], sentence: str) -> None:
    write_records(tmp_path / "games.jsonl", deals(1))
    assert_refused(run("analyse", tmp_path / "games.jsonl", *words), sentence)
