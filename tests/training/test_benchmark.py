"""The benchmark: the protocols, scores by hand, and scoring in several runs."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from noms_env.variants import VARIANTS
from noms_training.agents.registry import file_sha256
from noms_training.benchmark.cells import cells_of_entry, play_by_name, play_cells
from noms_training.benchmark.entry import Entry, EntryError, write_entry
from noms_training.benchmark.protocol import GAMES, PROTOCOLS, V1, Budget, Field, Place, References, budget_of
from noms_training.benchmark.scores import (
    add_times,
    cross_play,
    interquartile_mean,
    means_drawn,
    read_scores,
    read_times,
    replicates_of,
    scored,
    summary,
)
from tests.commands import Run, assert_refused
from tests.training.entries import DEALS, SMALL, make_small, score_entry, set_references

CORE = PROTOCOLS[V1].parts["core"]

# ---------------------------------------------------------------------------------------------------- the protocol


def test_the_protocols_have_all_games_and_the_published_policies() -> None:
    assert tuple(GAMES) == tuple(VARIANTS)
    for protocol in PROTOCOLS.values():
        for name, (policy, sha256) in protocol.policies.items():
            assert file_sha256(policy) == sha256, name


def test_protocol_1_has_the_first_version_of_thumb(tmp_path: Path) -> None:
    assert PROTOCOLS[V1].players_of(Place(CORE, "noms", 0, Field("thumb", 1))) == ("thumb:1",)
    for name, full_name in (("thumb", "thumb:1"), ("thumb:2", "thumb:2"), ("pimc:20", "pimc:20")):
        assert Entry("entry", "fixed", name, protocol=V1).player_name(tmp_path, "noms", 0) == full_name


def test_the_references_of_protocol_1_are_the_published_points_of_random_and_thumb() -> None:
    for end, player in (("zero", "random"), ("one", "thumb")):
        cells = read_scores(Path("benchmarks/entries/1") / player)["cells"]
        for part in ("core", "search"):
            for game, fields in PROTOCOLS[V1].parts[part].references.items():
                points = {field: cell["points"] for field, cell in cells[part][game]["0"].items()}
                assert {field: getattr(pair, end) for field, pair in fields.items()} == pytest.approx(points, abs=1e-9)


def test_every_game_and_field_has_references_that_differ() -> None:
    for protocol in PROTOCOLS.values():
        for part in protocol.parts.values():
            assert tuple(part.references) in (part.games, ())
            for game, fields in part.references.items():
                assert set(fields) == {field.name for field in part.fields}
                for field, pair in fields.items():
                    assert pair.one - pair.zero > 0.05, (part.name, game, field)
                    assert [pair.score(pair.zero), pair.score(pair.one)] == pytest.approx([0, protocol.unit])
                is_one_scale = len({round(pair.one - pair.zero, 9) for pair in fields.values()}) == 1
                assert is_one_scale or protocol is PROTOCOLS[V1], (part.name, game)
    assert all(PROTOCOLS[V1].parts[name].references for name in ("core", "search"))


@pytest.mark.parametrize(
    ("text", "decisions", "hours"),
    [
        ("10M", 10_000_000, None),
        ("500k", 500_000, None),
        ("0.5h", None, 0.5),
        ("10M,0.5h", 10_000_000, 0.5),
        ("7", 7, None),
        ("1000000h", None, 1e6),
    ],
)
def test_budgets_are_read_and_written(text: str, decisions: int | None, hours: float | None) -> None:
    assert budget_of(text) == Budget(decisions, hours)
    assert str(budget_of(text)) == text


@pytest.mark.parametrize("text", ["", "10 M", "-1", "0", "0.4", "10M,20M", "1h,2h", "many"])
def test_a_wrong_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a budget is such as|one decision or more"):
        budget_of(text)


def test_a_budget_ends_with_decisions_or_time() -> None:
    budget = Budget(100, 0.5)
    assert [budget.share(50, 900), budget.share(10, 1800), budget.share(150, 0)] == [0.5, 1, 1.5]


def test_the_cells_are_each_seed_in_each_field_and_among_each_other_seed() -> None:
    places = list(PROTOCOLS[V1].places(("noms",), (1, 2, 3), ("core", "cross")))
    assert len(places) == 3 * 4 + 3 * 2
    assert {(place.seed, place.field.seed) for place in places if place.part.name == "cross"} == {
        (a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b
    }


# ---------------------------------------------------------------------------------------------------------- scores


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end() -> None:
    assert interquartile_mean(np.array([[-100.0, 1.0], [2.0, 100.0]])) == pytest.approx(1.5)
    assert interquartile_mean(np.array([[[0.0, 4.0], [2.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])).tolist() == [2.0, 1.0]


def test_a_summary_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"noms": {"random": np.array([[1.0, 3.0], [3.0, 5.0]]), "thumb": np.array([[-1.0, -1.0], [0.0, 0.0]])}}
    set_references(monkeypatch, {(V1, "core"): {"noms": {"random": References(0, 4), "thumb": References(-2, 0)}}})
    document = summary(CORE, values, count=100)
    assert document["games"]["noms"]["fields"] == {"random": 0.75, "thumb": 0.75}
    assert document["games"]["noms"]["seeds"] == [0.5, 1.0]
    assert document["games"]["noms"]["score"]["value"] == 0.75
    assert document["all"]["mean"]["value"] == 0.75
    values["noms"]["thumb"] -= 1
    assert summary(CORE, values, count=100)["games"]["noms"]["robustness"]["value"] == 0.25


def test_the_bootstrap_has_the_spread_of_seeds_and_deals() -> None:
    rng = np.random.default_rng(0)
    seeds, deals = 10, 400
    seed_effects, deal_effects = rng.normal(0, 0.3, (seeds, 1)), rng.normal(0, 2, (1, deals))
    values = {"a": 0.5 + seed_effects + deal_effects + rng.normal(0, 1, (seeds, deals))}
    means, least = replicates_of(values, {"a": References(0, 1)}, 4000, rng)
    assert means.shape == (4000, seeds)
    deviation = (seed_effects.var() / seeds + 2**2 / deals + 1 / seeds / deals) ** 0.5
    assert means.mean(axis=1).std() == pytest.approx(deviation, rel=0.15)
    assert least.mean() == pytest.approx(values["a"].mean(), abs=0.02)


def test_a_field_without_a_drawn_deal_has_the_mean_of_all_deals() -> None:
    times = np.array([[0.0, 0.0, 3.0], [3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert means_drawn(np.array([[1.0, 5.0], [2.0, 2.0]]), times).tolist() == [[3.0, 2.0], [1.0, 2.0], [3.0, 2.0]]


def test_cross_play_by_hand() -> None:
    figures = cross_play([("noms", 1, 2, 1.0), ("noms", 2, 1, -3.0), ("noms", 1, None, 5.0)], (1, 2))
    assert figures == {"noms": {"points": [[0, 1.0], [-3.0, 0]], "gap": -1.0}}


# --------------------------------------------------------------------------------------------------------- scoring


@pytest.fixture
def few_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch, DEALS)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file with a player that plays the lowest action, and another that never answers legally."""
    file = tmp_path / "mine.py"
    bodies = {"lowest": "int(mask.argmax())", "bad": "-1"}
    file.write_text("".join(f"def {name}(observation, mask, rng):\n    return {body}\n" for name, body in bodies.items()))
    return file


@pytest.mark.usefixtures("few_deals")
def test_the_references_score_exactly_0_and_1(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points: dict[str, Any] = {}
    for name in ("random", "thumb"):
        points[name] = score_entry(tmp_path / name, run, "--player", name, "--games", *SMALL)["cells"]["core"]
    references = {
        game: {
            field: References(*(points[name][game]["0"][field]["points"] for name in points))
            for field in ("random", "greedy", "thumb", "policy")
        }
        for game in SMALL
    }
    set_references(monkeypatch, {(V1, "core"): references})
    for name, score in (("random", 0.0), ("thumb", 1.0)):
        scores = score_entry(tmp_path / name, run)["scores"]["core"]
        assert [game["score"]["value"] for game in scores["games"].values()] == [score] * 2
        assert scores["all"]["robustness"]["value"] == score


@pytest.mark.usefixtures("few_deals")
def test_an_interrupted_scoring_continues_to_the_same_result(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = score_entry(tmp_path / "whole", run, "--player", "greedy", "--games", *SMALL)
    folder = tmp_path / "stopped"
    entry = Entry("stopped", "fixed", "greedy", SMALL, protocol=V1)
    write_entry(folder, entry)
    playing = cells_of_entry(entry, folder, ["core"], kept=folder)
    play_cells(playing[:3], folder)
    with pytest.raises(EntryError, match=f"0 of {DEALS} deals are played"):
        scored(entry, [each.cell for each in cells_of_entry(entry, folder, ["core"], kept=folder)])
    damaged = playing[2].cell.path(folder)
    content = json.loads(damaged.read_text())
    for text in ("{damaged", json.dumps(content | {"game": "chess"})):
        damaged.write_text(text)
        again = cells_of_entry(entry, folder, ["core"], kept=folder)
        assert capsys.readouterr().err == f"noms: {damaged} is damaged: its deals count as not played\n"
    assert [each.cell.is_complete for each in again] == [True, True, *[False] * 6]
    assert score_entry(folder, run)["cells"] == whole["cells"]


def test_a_block_that_is_played_again_with_more_deals_loses_no_table_twice(program: Path, tmp_path: Path) -> None:
    entry = Entry("bad", "fixed", f"{program}:bad", ("down_up",), protocol=V1)
    for deals in (4, 6):
        playing = cells_of_entry(entry, tmp_path, ["core"], kept=tmp_path, most=deals)
        play_cells(playing, tmp_path)
        figures = scored(entry, [each.cell for each in playing])["cells"]["core"]["down_up"]["0"]["thumb"]
        assert (figures["deals"], figures["lost"]) == (deals, 4 * deals)


@pytest.mark.usefixtures("few_deals")
@pytest.mark.parametrize(("function", "lost"), [("lowest", 0), ("bad", 4 * DEALS)])
def test_a_function_in_a_file_is_scored_and_loses_the_tables_where_it_fails(
    run: Run, program: Path, tmp_path: Path, function: str, lost: int
) -> None:
    folder = tmp_path / function
    scores = score_entry(folder, run, "--player", f"{program}:{function}", "--games", "down_up")
    cell = scores["cells"]["core"]["down_up"]["0"]["thumb"]
    assert cell.get("lost", 0) == lost
    assert cell["player_sha256"] is not None
    _, out, _ = run("benchmark", "score", folder, "--allow-programs", "--threads", 1)
    assert (" tables: it " in out) == (lost > 0)
    assert_refused(run("benchmark", "score", folder), "--allow-programs")
    assert_refused(run("benchmark", "score", folder, "--protocol", 1, "--player", "thumb"), "another entry")
    assert_refused(run("benchmark", "score", folder, "--seeds", 1, 2), "--seeds: only with --player")


def test_a_part_without_references_has_points_and_no_scores(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"core": Field("thumb", 2), "search": Field("pimc:1", 2)}
    parts = {name: replace(PROTOCOLS[V1].parts[name], fields=(field,)) for name, field in fields.items()}
    monkeypatch.setitem(PROTOCOLS, V1, replace(PROTOCOLS[V1], parts=parts))
    words = ("--protocol", 1, "--player", "greedy", "--games", "down_up", "--threads", 1)
    status, out, _ = run("benchmark", "score", tmp_path, *words, "--tracks", "core", "search")
    assert (status, "the part search has no references" in out) == (0, True)
    document = read_scores(tmp_path)
    assert document["scores"]["search"] is None
    assert document["cells"]["search"]["down_up"]["0"]["pimc:1"]["deals"] == 2
    assert document["scores"]["core"]["games"]["down_up"]["fields"].keys() == {"thumb"}


@pytest.mark.usefixtures("few_deals")
def test_the_times_of_scoring_are_kept_by_part_and_outside_the_scores(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "greedy"
    entry = Entry("greedy", "fixed", "greedy", ("down_up",), protocol=V1)
    write_entry(folder, entry)
    playing = cells_of_entry(entry, folder, ["core"], kept=folder)
    ending, cpu = play_cells(playing[:1], folder)
    assert (ending, cpu > 0) == ("all", True)
    add_times(folder, "core", before=0, deals=DEALS, wall=60, cpu=50)
    status, out, _ = run("benchmark", "score", folder, "--threads", 1)
    assert (status, f"core: {4 * DEALS} deals · 1:0" in out) == (0, True), out
    times = read_times(folder)["core"]
    assert (times["deals"], 50 < times["cpu_seconds"] < 60) == (4 * DEALS, True)
    run("benchmark", "score", folder, "--threads", 1)
    assert read_times(folder)["core"] == times, "no deal was played"
    add_times(folder, "core", before=0, deals=DEALS, wall=1, cpu=1)
    assert read_times(folder)["core"]["deals"] == DEALS, "the earlier deals are gone"
    assert not {"wall_seconds", "cpu_seconds"} & set(read_scores(folder))


def test_the_cluster_plays_a_block_by_the_names_of_its_players(program: Path, tmp_path: Path) -> None:
    entry = Entry("lowest", "fixed", f"{program}:lowest", ("down_up",), protocol=V1)
    for playing in cells_of_entry(entry, tmp_path, ["core"], most=6):
        hashes = playing.cell.player_sha256, playing.cell.field_sha256
        place = (V1, "core", playing.cell.game, 0, playing.names)
        assert play_by_name(*place, hashes, 2, 4)[:2] == playing.play(2, 4, Event())[:2]
        with pytest.raises(EntryError, match="another player on a machine of the cluster"):
            play_by_name(*place, ("other", hashes[1]), 2, 4)


def test_a_cluster_needs_ray(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("--protocol", 1, "--player", "greedy", "--games", "down_up", "--deals", 4)
    assert_refused(run("benchmark", "score", tmp_path, *words, "--ray"), "--ray needs ray, which is not installed")


def test_a_trial_has_a_folder_of_its_own(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "greedy"
    words = ("--protocol", 1, "--player", "greedy", "--games", "down_up", "--deals", 4, "--threads", 1)
    assert run("benchmark", "score", folder, *words)[0] == 0
    assert read_scores(folder / "trial")["trial"]
    assert not (folder / "scores.json").exists()
    for command in ("check", "report"):
        assert_refused(run("benchmark", command, folder), f"{folder} is not scored: only a trial")
