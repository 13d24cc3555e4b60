"""`noms analyse`: losses by search are unbiased, have standard errors, and lead to their moments."""

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
    return list(islice(record_matches("up_down", 4, 1, 3, None, player), count))


def make_loss(**facts: object) -> Loss:
    usual = {"match": 0, "deal": 0, "step": 0, "seat": 0, "phase": "play", "taken": "2C", "best": "3C", "points": 1.0}
    return Loss(**{"error": 0.1, **usual, **facts})  # type: ignore[arg-type]


def test_the_loss_of_the_best_action_in_both_halves_is_0() -> None:
    values = np.tile([3.0, 1.0, 2.0], (8, 1))
    assert [loss_of(values, action) for action in range(3)] == [(0.0, 0.0), (2.0, 0.0), (1.0, 0.0)]


def test_the_search_remembers_the_earlier_deals_of_the_match() -> None:
    judge = search_of(load_player(JUDGE))
    records = deals(5, "thumb")
    by_deal = dict(enumerate(each for _, each in find_losses(records, judge, 16)))
    memory = None
    for number, (record, before) in enumerate(pair_with_previous(records)):
        if before is not None:
            memory = recalled(judge, before.row, memory)
        assert by_deal[number] == [*losses(record, search_of(with_memory(judge, memory)), 16, before=before)]
    assert memory is not None
    assert memory.any()
    assert by_deal[4] != [*losses(records[4], judge, 16)], "the memory matters"
    last = [each for _, each in find_losses(records, judge, 16, wanted=lambda record: record["deal"] == 4)]
    assert last == [by_deal[4]]
    two_matches = [{**records[3], "match": 0}, {**records[4], "match": 1}]
    assert [each for _, each in find_losses(two_matches, judge, 16)][1] == [*losses(two_matches[1], judge, 16)]


def test_the_deal_after_a_pass_out_is_not_judged(tmp_path: Path, run: Run) -> None:
    records = list(islice(record_matches("noms", 4, 1, 3, None, "noms@0"), 9))
    judge = search_of(load_player("search:noms@0"))
    doubled = [record["multiplier"] > 1 for record in records]
    assert set(doubled) == {True, False}
    first = doubled.index(True)
    results = [each for _, each in find_losses(records, judge, 8, wanted=lambda record: record["deal"] in (first - 1, first))]
    assert [each is None for each in results] == [False, True]
    write_records(tmp_path / "noms.jsonl", records)
    page = tmp_path / "page.html"
    status, out, _ = run("analyse", tmp_path / "noms.jsonl", "--deal", first, "--worlds", 8, "--html", page)
    assert status == 0
    assert f"deal {first}: the deal after a pass-out is not judged" in out
    assert page.is_file()


def test_losses_and_their_errors_are_unbiased() -> None:
    rng = np.random.default_rng(1)
    equal = np.array([loss_of(rng.normal(0, 1, (40, 6)), 0) for _ in range(2000)])
    assert abs(equal[:, 0].mean()) < 4 * equal[:, 0].std() / np.sqrt(2000)
    naive = np.mean([rng.normal(0, 1, (40, 6)).mean(axis=0).max() for _ in range(500)])
    assert naive > 0.15, "the best of the means is biased"
    worse = np.array([loss_of(rng.normal([0, 2, 0], 1, (40, 3)), 0) for _ in range(2000)])
    assert worse[:, 0].mean() == pytest.approx(2, abs=0.02)
    assert worse[:, 1].mean() == pytest.approx(worse[:, 0].std(), rel=0.06)


@pytest.mark.parametrize(("taken", "actions", "place"), [(5, [5, 9], 0), (6, [6, 9], 0), (9, [5, 9], 1), (7, [5, 9, 7], 2)])
def test_the_action_taken_is_among_the_compared_ones(taken: int, actions: list[int], place: int) -> None:
    compared, at = with_taken(np.array([5, 9]), np.array([6, 9]), taken)
    assert (compared.tolist(), at) == (actions, place)


def test_a_policy_loses_less_than_chance() -> None:
    judge, means = search_of(load_player(JUDGE)), {}
    for player in ("random", "up_down@0"):
        player_losses = [loss for record in deals(4, player) for loss in losses(record, judge, 16)]
        assert all(loss.error >= 0 for loss in player_losses)
        means[player] = np.mean([loss.points for loss in player_losses])
    assert means["random"] > means["up_down@0"] + 0.3


def test_losses_are_deterministic_and_of_decisions_with_a_choice() -> None:
    judge, record = search_of(load_player(JUDGE)), deals(3)[2]
    all_losses = list(losses(record, judge, 8))
    assert all_losses == list(losses(record, judge, 8))
    assert all_losses != list(losses(record, judge, 8, seed=1))
    assert 3 <= len(all_losses) < len(record["steps"])
    for loss in all_losses:
        step = record["steps"][loss.step]
        assert (loss.seat, loss.phase, loss.taken) == (step["seat"], step["phase"], step["action"])
        assert (loss.points, loss.error) == (0, 0) or loss.points < 100
        assert loss.points <= loss.error or loss.best != loss.taken
    assert any(loss.points > loss.error for loss in all_losses)
    with pytest.raises(ValueError, match="worlds must be 8 or more, not 7"):
        next(losses(record, judge, 7))


def test_the_biggest_losses_come_first() -> None:
    all_losses = [make_loss(points=points, step=step) for step, points in enumerate((0.5, 2.0, -0.1, 1.0))]
    assert [loss.step for loss in biggest([*all_losses, make_loss(points=9.0, best="2C")], 2)] == [1, 3]
    assert [loss.is_sure for loss in (make_loss(error=0.4), make_loss(error=0.6))] == [True, False]


def test_a_summary_has_deals_as_units() -> None:
    by_deal = [[make_loss(points=1.0 + deal), make_loss(phase="call", points=0.5), make_loss(seat=1)] for deal in range(4)]
    means = by_seat_and_phase(by_deal, 2)
    assert {place: mean.mean for place, mean in means.items()} == {
        **{(0, ""): 3.0, (0, "call"): 0.5, (0, "play"): 2.5},
        **{(1, ""): 1.0, (1, "call"): 0.0, (1, "play"): 1.0},
    }
    assert means[0, "play"].deals == 4
    assert means[0, "play"].standard_error == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2)


def test_the_command_prints_the_losses_and_writes_a_page(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "games.jsonl", tmp_path / "games.html"
    records = deals(3)[1:]
    write_records(path, records)
    status, text, _ = run("analyse", path, "--worlds", "8", "--most", "2", "--html", out)
    assert status == 0
    heads = re.findall(r"Match 0, deal (\d): \d+ decisions with a choice, -?\d+\.\d\d points lost", text)
    assert heads == ["1", "2"]
    assert re.search(r"^ +\d+\.\d\d ±\d\.\d\d  step \d+ +seat \d (call|play) \S+, better \S+", text, re.M)
    assert "seat 2" in text
    assert "2 deals are few" in text
    packed = re.search(r'id="film">([^<]+)<', out.read_text())
    assert packed
    film = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    for deal, record in zip(film["deals"], records, strict=True):
        assert deal["losses"] == sorted(deal["losses"], key=lambda loss: -loss["points"])
        assert all(0 <= loss["moment"] < len(record["steps"]) for loss in deal["losses"])
    only = run("analyse", path, "--worlds", "8", "--deal", "1", "--seat", "1")[1]
    assert set(re.findall(r"step \d+ +(seat \d)", only)) <= {"seat 1"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--worlds", "7"], "--worlds must be from 8 to 10000, not 7"),
        (["--seed", "-1"], "--seed must be from 0"),
        (["--player", "thumb"], "a search on a policy"),
        (["--html", "."], "cannot write .: it is a folder"),
    ],
)
def test_wrong_requests_are_refused(run: Run, tmp_path: Path, words: list[str], sentence: str) -> None:
    write_records(tmp_path / "games.jsonl", deals(1))
    assert_refused(run("analyse", tmp_path / "games.jsonl", *words), sentence)
