"""Tournaments: the payoff table, ratings, resuming, and refusals."""

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


def with_small_blocks(name: str) -> AgentSpec:
    """A player with small blocks, so that a few deals make several."""
    return AgentSpec(name, agent_spec(name).make, None, 16)


def play(folder: Folder, plan: Plan, players: list[AgentSpec] | None = None, **arguments: Any) -> Results:
    players = players or [with_small_blocks(name) for name in plan.players]
    assert play_tournament(plan, players, folder, **arguments) == "all"
    return read(folder, plan, players)


def read(folder: Folder, plan: Plan, players: list[AgentSpec] | None = None) -> Results:
    results = results_of(plan, players or [with_small_blocks(name) for name in plan.players], folder)
    assert results is not None
    return results


def begin(path: Path, plan: Plan) -> Folder:
    folder = Folder(path)
    folder.begin(plan)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return begin(tmp_path / "deep" / "tournament", plan())


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
    assert [rating.mean for rating in ratings] == pytest.approx([(4 + 5) / 6, (-2 - 4) / 6, (-2 - 1) / 6])
    assert ratings[1].standard_error == pytest.approx(abs(-2 / 3 + 4 / 3) / 2)  # of two values: half their difference
    assert results.order() == [0, 2, 1]
    assert results.alone(0, 1).mean == 4.0


def test_the_table_has_the_points_of_the_comparisons(folder: Folder) -> None:
    results = play(folder, plan())
    pair = compare(rules("nonesuch"), with_small_blocks("random"), with_small_blocks("greedy"), 40, names=("alone", "against"))
    assert results.values[1, 2] == pytest.approx(pair.per_deal("alone"))
    assert results.values[2, 1] == pytest.approx(-pair.per_deal("against"))
    assert not results.values[1, 1].any()
    assert [NAMES[player] for player in results.order()] == ["thumb", "greedy", "random"]


def test_json_and_markdown_have_the_same_figures(folder: Folder) -> None:
    results = play(folder, plan())
    document = json.loads(dump(results.as_json()))
    cell = document["table"]["thumb"]["random"]
    assert cell["mean"] == results.alone(0, 1).mean
    assert (document["deals"], document["set"], len(document["set_sha256"])) == (40, "dev", 64)
    assert "unit" not in document
    p_value, corrected = (min(pair[key] for pair in document["pairs"]) for key in ("p_value", "p_value_holm"))
    assert corrected == min(1.0, 3 * p_value)
    head, _, first = markdown(results.as_json()).splitlines()[2:5]
    assert head == "| alone \\ field | `thumb` | `greedy` | `random` | rating |"
    assert first.startswith("| `thumb` |  | ")
    assert f"{cell['mean']:+.3f} ±{(cell['high'] - cell['low']) / 2:.3f}" in first
    rating = document["ratings"]["thumb"]
    assert first.endswith(f"{rating['mean']:+.3f} ({rating['standard_error']:.3f}) |")


def test_an_interrupted_tournament_continues_to_the_same_result(
    folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = dump(play(begin(tmp_path / "straight", plan()), plan()).as_json())
    blocks = 0

    def interrupt(_: int) -> None:
        nonlocal blocks
        blocks += 1
        if blocks == 4:
            raise KeyboardInterrupt

    players = [with_small_blocks(name) for name in NAMES]
    assert play_tournament(plan(), players, folder, tick=interrupt) == "ctrl-c"
    files = sorted(folder.path.glob("blocks/*/*.json"))
    assert len(files) == 4
    assert read(folder, plan()).deals == 16, "the pairs advance together"
    before = {file: file.stat().st_mtime_ns for file in files}
    damaged = files[0]
    damaged.write_text(damaged.read_text()[:50])
    ticks: list[int] = []
    folder.go_on(plan())
    assert dump(play(folder, plan(), threads=2, tick=ticks.append).as_json()) == expected
    assert sum(ticks) == 3 * 40
    assert f"{damaged} is damaged: its deals count as not played" in capsys.readouterr().err
    assert {file for file, at in before.items() if file.stat().st_mtime_ns != at} == {damaged}


def test_a_tournament_can_grow_by_deals_and_by_players(folder: Folder, tmp_path: Path) -> None:
    play(folder, plan())
    before = {file: file.stat().st_mtime_ns for file in folder.path.glob("blocks/*/*.json")}
    larger = plan(48, (*NAMES, "flat_mc:2"), policies={"thumb@0": "a"})
    folder.go_on(larger)
    assert play(folder, larger).as_json() == play(begin(tmp_path / "straight", larger), larger).as_json()
    rewritten = [file for file, at in before.items() if file.stat().st_mtime_ns != at]
    assert {int(file.stem) for file in rewritten} == {32}, "only the short last blocks are played again"
    changes: list[dict[str, Any]] = [{"players": NAMES}, {"deals": 40}, {"policies": {}}, {"policies": {"thumb@0": "b"}}]
    for change in changes:
        with pytest.raises(TournamentError, match="was begun with"):
            folder.go_on(replace(larger, **change))


def test_a_tournament_of_an_earlier_thumb_needs_its_version(folder: Folder) -> None:
    saved = json.loads((folder.path / "plan.json").read_text())
    assert saved.pop("thumb_version") == 2
    (folder.path / "plan.json").write_text(json.dumps(saved))
    with pytest.raises(TournamentError, match=r"was begun with players \[.*'thumb:1'.*\], not \[.*'thumb'.*\]"):
        folder.go_on(plan())
    same = tuple("thumb:1" if name == "thumb" else name for name in NAMES)
    folder.go_on(plan(names=same))
    assert json.loads((folder.path / "plan.json").read_text())["players"] == list(same)


def test_a_block_of_another_length_is_ignored(folder: Folder) -> None:
    play(folder, plan())
    last = json.loads(folder.file_of((1, 2), 0).read_text())
    last["alone"].pop()
    last["against"].pop()
    folder.file_of((1, 2), 0).write_text(json.dumps(last))
    assert results_of(plan(), [with_small_blocks(name) for name in NAMES], folder) is None


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
def test_another_plan_is_refused(folder: Folder, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TournamentError, match=sentence):
        folder.go_on(plan(**change))


def test_a_tournament_begins_once_and_continues_afterwards(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(TournamentError, match="there is a tournament in"):
        folder.begin(plan())
    with pytest.raises(TournamentError, match="there is no tournament to go on with in"):
        Folder(tmp_path / "nowhere").go_on(plan())


def test_a_plan_needs_two_players_and_two_deals() -> None:
    for names in (("thumb",), ("thumb", "greedy", "thumb")):
        with pytest.raises(ValueError, match="a tournament needs two or more different players, not"):
            plan(names=names)
    with pytest.raises(ValueError, match="the number of deals must be from 2 to 1,000,000, not 1"):
        plan(1)


def test_a_player_that_fails_loses_its_tables_of_the_finished_deals(folder: Folder) -> None:
    players = [
        with_small_blocks("greedy"),
        AgentSpec("fails", lambda: Stubborn(raises=True), None, 16),
        with_small_blocks("thumb"),
    ]
    failing = plan(32, ("greedy", "fails", "thumb"))
    results = play(folder, failing, players, threads=2)
    lost = np.flatnonzero(dealt(failing.rules, np.arange(32), "dev").batch.tables.dealer == 0)
    tables = 16 * len(lost)  # eight seatings, two pairs
    assert [each.tables for each in results.lost] == [0, tables, 0]
    (why,) = results.as_json()["lost"]["fails"]["why"]
    assert why.startswith("raised RuntimeError: no idea (fakes.py, line ")
    assert f"`fails` lost {tables} tables: it {why}." in markdown(results.as_json())
    assert (results.values[1, 0, lost] <= 0).all()
    pair = compare(failing.rules, players[0], players[2], 32, names=("alone", "against"))
    assert results.values[0, 2] == pytest.approx(pair.per_deal("alone"))
    folder.file_of((0, 2), 16).unlink()
    stopped = read(folder, failing, players)
    assert stopped.values.shape[2] == 16
    assert [each.tables for each in stopped.lost] == [0, 16 * np.count_nonzero(lost < 16), 0]


def test_a_player_of_other_tables_is_refused_before_play(folder: Folder) -> None:
    trained = AgentSpec("mine", agent_spec("thumb").make, (rules("down_up"),))
    with pytest.raises(ValueError, match="for down_up with 4 seats, not for nonesuch with 4 seats"):
        play_tournament(plan(20, ("thumb", "mine")), [agent_spec("thumb"), trained], folder)
    assert not (folder.path / tournament.BLOCKS).exists()
