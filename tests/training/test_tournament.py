"""Tournaments: the payoff table, ratings, going on after a stop, and refusals."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.evaluation import tournament
from noms_training.evaluation.comparison import compare
from noms_training.evaluation.duplicate import Lost, dealt
from noms_training.evaluation.tournament import (
    Folder,
    Plan,
    Results,
    TournamentError,
    dump,
    markdown,
    play_tournament,
    results_of,
)
from tests.training.fakes import Stubborn, rules

NAMES = ("thumb", "random", "greedy")


def plan(deals: int = 40, names: tuple[str, ...] = NAMES, **changes: Any) -> Plan:
    return Plan(names, **{"rules": rules("nonesuch"), "deals": deals, **changes})


def small(name: str, block: int = 16) -> AgentSpec:
    """A player that is asked for few deals at once, so that there are several blocks."""
    return AgentSpec(name, agent_spec(name).make, None, block)


def played(folder: Folder, of: Plan, **arguments: Any) -> Results:
    players = [small(name) for name in of.players]
    assert play_tournament(of, players, folder, **arguments) == "all"
    results = results_of(of, players, folder)
    assert results is not None
    return results


def begun(path: Path, of: Plan) -> Folder:
    made = Folder(path)
    made.begin(of)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return begun(tmp_path / "deep" / "tournament", plan())


def fake_results(values: np.ndarray, names: tuple[str, ...] = ("a", "b", "c")) -> Results:
    return Results(plan(values.shape[2], names), values, tuple(Lost() for _ in names))


def test_ratings_by_hand() -> None:
    values = np.zeros((3, 3, 2))
    values[0, 1], values[1, 0] = [3.0, 5.0], [-1.0, -1.0]  # a is 2, 3 better than b
    values[0, 2], values[2, 0] = [2.0, 2.0], [-2.0, -2.0]  # and 2, 2 better than c
    values[1, 2], values[2, 1] = [0.0, 0.0], [0.0, 2.0]  # b is 0, -1 better than c
    results = fake_results(values)
    assert results.differences[0, 1].tolist() == [2.0, 3.0]
    assert results.differences[1, 0].tolist() == [-2.0, -3.0]
    ratings = results.ratings()
    assert [one.mean for one in ratings] == pytest.approx([(4 + 5) / 6, (-2 - 4) / 6, (-2 - 1) / 6])
    assert ratings[1].standard_error == pytest.approx(abs(-2 / 3 + 4 / 3) / 2)  # of two values: half their difference
    assert results.order() == [0, 2, 1]
    assert results.alone(0, 1).mean == 4.0


def test_the_table_is_that_of_the_comparisons(folder: Folder) -> None:
    results = played(folder, plan())
    pair = compare(rules("nonesuch"), small("random"), small("greedy"), 40, names=("alone", "against"))
    assert results.values[1, 2] == pytest.approx(pair.per_deal("alone"))
    assert results.values[2, 1] == pytest.approx(-pair.per_deal("against"))
    assert not results.values[1, 1].any()
    assert [NAMES[player] for player in results.order()] == ["thumb", "greedy", "random"]


def test_json_and_markdown_say_the_same(folder: Folder) -> None:
    results = played(folder, plan())
    document = json.loads(dump(results.as_json()))
    cell = document["table"]["thumb"]["random"]
    assert cell["mean"] == results.alone(0, 1).mean
    assert (document["deals"], document["set"], len(document["set_sha256"])) == (40, "dev", 64)
    assert "unit" not in document
    by_hand = sorted(one["p_value"] for one in document["pairs"])
    assert min(one["p_value_holm"] for one in document["pairs"]) == min(1.0, 3 * by_hand[0])
    head, _, first = markdown(results.as_json()).splitlines()[2:5]
    assert head == "| alone \\ field | `thumb` | `greedy` | `random` | rating |"
    assert first.startswith("| `thumb` |  | ")
    assert f"{cell['mean']:+.3f} ±{(cell['high'] - cell['low']) / 2:.3f}" in first
    rating = document["ratings"]["thumb"]
    assert first.endswith(f"{rating['mean']:+.3f} ({rating['standard_error']:.3f}) |")


def test_a_tournament_that_goes_on_ends_as_if_it_had_never_been_stopped(
    folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = dump(played(begun(tmp_path / "straight", plan()), plan()).as_json())
    blocks = 0

    def interrupt(_: int) -> None:
        nonlocal blocks
        blocks += 1
        if blocks == 4:
            raise KeyboardInterrupt

    players = [small(name) for name in NAMES]
    assert play_tournament(plan(), players, folder, tick=interrupt) == "ctrl-c"
    files = sorted(folder.path.glob("blocks/*/*.json"))
    assert len(files) == 4
    half = results_of(plan(), players, folder)
    assert half is not None
    assert half.deals == 16  # the pairs keep pace
    before = {file: file.stat().st_mtime_ns for file in files}
    damaged = files[0]
    damaged.write_text(damaged.read_text()[:50])
    told: list[int] = []
    folder.go_on(plan())
    assert dump(played(folder, plan(), threads=2, tick=told.append).as_json()) == expected
    assert sum(told) == 3 * 40
    assert f"{damaged} is damaged: its deals are played again" in capsys.readouterr().err
    assert {file for file, at in before.items() if file.stat().st_mtime_ns != at} == {damaged}


def test_a_tournament_can_grow_by_deals_and_by_players(folder: Folder, tmp_path: Path) -> None:
    played(folder, plan())
    before = {file: file.stat().st_mtime_ns for file in folder.path.glob("blocks/*/*.json")}
    larger = plan(48, (*NAMES, "flat_mc:2"), policies={"thumb@0": "a"})
    folder.go_on(larger)
    assert played(folder, larger).as_json() == played(begun(tmp_path / "straight", larger), larger).as_json()
    again = [file for file, at in before.items() if file.stat().st_mtime_ns != at]
    assert {int(file.stem) for file in again} == {32}, "only the last blocks, which had fewer deals, are played again"
    changes: list[dict[str, Any]] = [{"players": NAMES}, {"deals": 40}, {"policies": {}}, {"policies": {"thumb@0": "b"}}]
    for change in changes:
        with pytest.raises(TournamentError, match="was begun with"):
            folder.go_on(replace(larger, **change))


def test_a_tournament_of_earlier_rules_of_thumb_goes_on_with_them_by_their_name(folder: Folder) -> None:
    saved = json.loads((folder.path / "plan.json").read_text())
    assert saved.pop("thumb_version") == 2
    (folder.path / "plan.json").write_text(json.dumps(saved))
    with pytest.raises(TournamentError, match=r"was begun with players \[.*'thumb:1'.*\], not \[.*'thumb'.*\]"):
        folder.go_on(plan())
    same = tuple("thumb:1" if name == "thumb" else name for name in NAMES)
    folder.go_on(plan(names=same))
    assert json.loads((folder.path / "plan.json").read_text())["players"] == list(same)


def test_results_end_before_the_first_gap(folder: Folder) -> None:
    played(folder, plan())
    players = [small(name) for name in NAMES]
    folder.file_of((0, 2), 16).unlink()
    half = results_of(plan(), players, folder)
    assert half is not None
    assert half.deals == 16
    last = json.loads(folder.file_of((1, 2), 0).read_text())
    last["alone"].pop()
    last["against"].pop()
    folder.file_of((1, 2), 0).write_text(json.dumps(last))
    assert results_of(plan(), players, folder) is None  # a block of another length is none


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"deals": 39}, "was begun with deals 40, not 39"),
        ({"seed": 1}, "was begun with seed 0, not 1"),
        ({"names": ("thumb", "greedy", "random")}, "was begun with players"),
        ({"rules": rules("nonesuch", 3)}, "was begun with seats 4, not 3"),
        ({"rules": rules("nonesuch", max_hands=9)}, "was begun with options"),
        ({"deal_set": "test"}, "was begun with set 'dev', not 'test'"),
    ],
)
def test_another_tournament_does_not_go_on(folder: Folder, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TournamentError, match=sentence):
        folder.go_on(plan(**change))


def test_folders_that_cannot_be_used(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(TournamentError, match="there is a tournament in"):
        folder.begin(plan())
    with pytest.raises(TournamentError, match="there is no tournament to go on with in"):
        Folder(tmp_path / "nowhere").go_on(plan())


def test_plans_that_cannot_be_played() -> None:
    for names in (("thumb",), ("thumb", "greedy", "thumb")):
        with pytest.raises(ValueError, match="a tournament needs two or more different players, not"):
            plan(names=names)
    with pytest.raises(ValueError, match="the number of deals must be from 2 to 1,000,000, not 1"):
        plan(1)


def test_who_fails_loses_its_tables_and_the_others_play_on(folder: Folder) -> None:
    names = ("greedy", "fails", "thumb")
    players = [small("greedy"), AgentSpec("fails", lambda: Stubborn(raises=True), None, 16), small("thumb")]
    of = plan(20, names)
    assert play_tournament(of, players, folder, threads=2) == "all"
    results = results_of(of, players, folder)
    assert results is not None
    lost = np.flatnonzero(dealt(of.rules, np.arange(20), "dev").batch.tables.dealer == 0)
    tables = 16 * len(lost)  # eight seatings, two pairs
    assert [one.tables for one in results.lost] == [0, tables, 0]
    (why,) = results.as_json()["lost"]["fails"]["why"]
    assert why.startswith("raised RuntimeError: no idea (fakes.py, line ")
    assert f"`fails` lost {tables} tables: it {why}." in markdown(results.as_json())
    assert (results.values[1, 0, lost] <= 0).all()
    assert results.values[0, 2] == pytest.approx(
        compare(of.rules, players[0], players[2], 20, names=("alone", "against")).per_deal("alone")
    )


def test_who_fails_loses_no_tables_of_deals_that_are_left_out(folder: Folder) -> None:
    names, failing = ("greedy", "fails", "thumb"), AgentSpec("fails", lambda: Stubborn(raises=True), None, 16)
    players = [small("greedy"), failing, small("thumb")]
    of = plan(32, names)
    assert play_tournament(of, players, folder, threads=2) == "all"
    folder.file_of((0, 2), 16).unlink()
    stopped = results_of(of, players, folder)
    assert stopped is not None
    assert stopped.values.shape[2] == 16
    lost = np.count_nonzero(dealt(of.rules, np.arange(16), "dev").batch.tables.dealer == 0)
    assert [one.tables for one in stopped.lost] == [0, 16 * lost, 0]


def test_a_player_that_cannot_sit_there_is_refused_before_anything_is_played(folder: Folder) -> None:
    trained = AgentSpec("mine", agent_spec("thumb").make, (rules("down_up"),))
    with pytest.raises(ValueError, match="mine was trained for down_up with 4 seats, not for nonesuch with 4 seats"):
        play_tournament(plan(20, ("thumb", "mine")), [agent_spec("thumb"), trained], folder)
    assert not (folder.path / tournament.BLOCKS).exists()
