"""The benchmark: the protocol, scores by hand, and scoring that goes on."""

import sys
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from noms_env.variants import VARIANTS
from noms_training.agents.registry import file_sha256
from noms_training.benchmark import protocol
from noms_training.benchmark.cells import Cell, cells_of_entry, play_by_name, play_cells
from noms_training.benchmark.entry import Entry, EntryError, write_entry
from noms_training.benchmark.protocol import (
    CURVE_FIELD,
    GAMES,
    PROTOCOLS,
    V1,
    Budget,
    Field,
    Place,
    References,
    budget_of,
)
from noms_training.benchmark.scores import (
    cross_play,
    interquartile_mean,
    means_drawn,
    read_scores,
    replicates_of,
    scored,
    summary,
)
from noms_training.benchmark.timing import add_times, read_times
from tests.commands import Run, assert_refused
from tests.training.entries import DEALS, SMALL, scored_entry

# ---------------------------------------------------------------------------------------------------- the protocol


def test_the_protocol_has_all_games_and_the_published_policies_as_they_are() -> None:
    assert tuple(GAMES) == tuple(VARIANTS)
    for name, (policy, sha256) in PROTOCOLS[V1].policies.items():
        assert file_sha256(policy) == sha256, name


def test_thumb_is_in_the_protocol_what_it_was_when_that_was_frozen(tmp_path: Path) -> None:
    part = PROTOCOLS[V1].parts["core"]
    assert PROTOCOLS[V1].players_of(Place(part, "noms", 0, Field("thumb", 1))) == ("thumb:1",)
    assert CURVE_FIELD == "thumb:1"
    for name, meant in (("thumb", "thumb:1"), ("thumb:2", "thumb:2"), ("pimc:20", "pimc:20")):
        assert Entry("it", "fixed", name, protocol=V1).player_name(tmp_path, "noms", 0) == meant


def test_the_references_of_protocol_1_are_what_the_two_have_played() -> None:
    for place, name in enumerate(("zero", "one")):
        cells = read_scores(Path("benchmarks/entries/1") / ("random", "thumb")[place])["cells"]
        for part in ("core", "search"):
            for game, fields in PROTOCOLS[V1].parts[part].references.items():
                played = {field: cell["points"] for field, cell in cells[part][game]["0"].items()}
                assert {field: getattr(pair, name) for field, pair in fields.items()} == pytest.approx(played, abs=1e-9)


def test_every_game_and_field_has_references_that_tell_the_two_apart() -> None:
    for part in (PROTOCOLS[V1].parts[name] for name in ("core", "search")):
        assert tuple(part.references) == part.games
        for name, fields in part.references.items():
            assert set(fields) == {field.name for field in part.fields}
            for field, pair in fields.items():
                assert pair.one - pair.zero > 0.4, (name, field)
                assert pair.score(pair.zero) == 0
                assert pair.score(pair.one) == 1


@pytest.mark.parametrize(
    ("text", "decisions", "hours"),
    [("10M", 10_000_000, None), ("500k", 500_000, None), ("0.5h", None, 0.5), ("10M,0.5h", 10_000_000, 0.5), ("7", 7, None)],
)
def test_budgets_are_read_and_written(text: str, decisions: int | None, hours: float | None) -> None:
    assert budget_of(text) == Budget(decisions, hours)
    assert str(budget_of(text)) == text


@pytest.mark.parametrize("text", ["", "10 M", "-1", "0", "0.4", "10M,20M", "1h,2h", "many"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a budget is such as|one decision or more"):
        budget_of(text)


def test_a_budget_ends_with_whichever_comes_first() -> None:
    budget = Budget(100, 0.5)
    assert budget.share(50, 900) == 0.5
    assert budget.share(10, 1800) == 1
    assert budget.share(150, 0) == 1.5


def test_cells_are_each_seed_in_each_field_and_among_each_other_seed() -> None:
    places = list(PROTOCOLS[V1].places(("noms",), (1, 2, 3), ("core", "cross")))
    assert len(places) == 3 * 4 + 3 * 2
    assert {(place.seed, place.field.seed) for place in places if place.part.name == "cross"} == {
        (a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b
    }


# ---------------------------------------------------------------------------------------------------------- scores


def anchor(monkeypatch: pytest.MonkeyPatch, anchors: dict[str, dict[str, References]]) -> None:
    """Give the part `core` other references."""
    monkeypatch.setattr(protocol, "_references", lambda: {(V1, "core"): anchors})


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end() -> None:
    assert interquartile_mean(np.array([[-100.0, 1.0], [2.0, 100.0]])) == pytest.approx(1.5)
    assert interquartile_mean(np.array([[[0.0, 4.0], [2.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])).tolist() == [2.0, 1.0]


def test_a_summary_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"noms": {"random": np.array([[1.0, 3.0], [3.0, 5.0]]), "thumb": np.array([[-1.0, -1.0], [0.0, 0.0]])}}
    anchor(monkeypatch, {"noms": {"random": References(0, 4), "thumb": References(-2, 0)}})
    part = PROTOCOLS[V1].parts["core"]
    found = summary(part, values, count=100)
    assert found["games"]["noms"]["fields"] == {"random": 0.75, "thumb": 0.75}
    assert found["games"]["noms"]["seeds"] == [0.5, 1.0]
    assert found["games"]["noms"]["score"]["value"] == 0.75
    assert found["all"]["mean"]["value"] == 0.75
    values["noms"]["thumb"] -= 1
    found = summary(part, values, count=100)
    assert found["games"]["noms"]["robustness"]["value"] == 0.25


def test_the_bootstrap_has_the_spread_of_seeds_and_deals() -> None:
    rng = np.random.default_rng(0)
    seeds, deals = 10, 400
    of_seed, of_deal = rng.normal(0, 0.3, (seeds, 1)), rng.normal(0, 2, (1, deals))
    values = {"a": 0.5 + of_seed + of_deal + rng.normal(0, 1, (seeds, deals))}
    drawn, least = replicates_of(values, {"a": References(0, 1)}, 4000, rng)
    assert drawn.shape == (4000, seeds)
    wanted = (of_seed.var() / seeds + 2**2 / deals + 1 / seeds / deals) ** 0.5
    assert drawn.mean(axis=1).std() == pytest.approx(wanted, rel=0.15)
    assert least.mean() == pytest.approx(values["a"].mean(), abs=0.02)


def test_a_field_none_of_whose_deals_was_drawn_has_the_mean_of_all() -> None:
    times = np.array([[0.0, 0.0, 3.0], [3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert means_drawn(np.array([[1.0, 5.0], [2.0, 2.0]]), times).tolist() == [[3.0, 2.0], [1.0, 2.0], [3.0, 2.0]]


def test_two_entries_of_the_same_policy_differ_by_no_more_than_the_intervals_say() -> None:
    """A/A: the same player on independent deals, with seeds that differ; intervals of the difference hold 0 in about 95 %."""
    rng, held, tries = np.random.default_rng(1), 0, 100
    for _ in range(tries):
        sides = [rng.normal(0, 0.2, (20, 1)) + rng.normal(0, 2, (20, 300)) for _ in "ab"]
        drawn = [replicates_of({"a": side}, {"a": References(0, 1)}, 400, rng)[0].mean(axis=1) for side in sides]
        low, high = np.quantile(drawn[0] - drawn[1], (0.025, 0.975))
        held += bool(low <= 0 <= high)
    assert held >= 88  # fewer have a probability below 0.2 % at 95 %


def test_cross_play_by_hand() -> None:
    found = cross_play([("noms", 1, 2, 1.0), ("noms", 2, 1, -3.0), ("noms", 1, None, 5.0)], (1, 2))
    assert found == {"noms": {"points": [[0, 1.0], [-3.0, 0]], "gap": -1.0}}


# --------------------------------------------------------------------------------------------------------- scoring


@pytest.mark.usefixtures("few_deals")
def test_the_references_score_nought_and_one_to_the_last_digit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points: dict[str, Any] = {}
    for name in ("random", "thumb"):
        points[name] = scored_entry(tmp_path / name, run, "--player", name, "--games", *SMALL)["cells"]["core"]
    anchors = {
        game: {
            field: References(points["random"][game]["0"][field]["points"], points["thumb"][game]["0"][field]["points"])
            for field in ("random", "greedy", "thumb", "policy")
        }
        for game in SMALL
    }
    anchor(monkeypatch, anchors)
    for name, score in (("random", 0.0), ("thumb", 1.0)):
        found = scored_entry(tmp_path / name, run)["scores"]["core"]
        assert [game["score"]["value"] for game in found["games"].values()] == [score] * 2
        assert found["all"]["robustness"]["value"] == score


@pytest.mark.usefixtures("few_deals")
def test_a_scoring_that_was_stopped_goes_on_and_ends_alike(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = scored_entry(tmp_path / "whole", run, "--player", "greedy", "--games", *SMALL)
    folder = tmp_path / "stopped"
    entry = Entry("stopped", "fixed", "greedy", SMALL, protocol=V1)
    write_entry(folder, entry)
    playing = cells_of_entry(entry, folder, ["core"], kept=folder)
    play_cells(playing[:3], folder)
    with pytest.raises(EntryError, match=f"0 of {DEALS} deals are played"):
        scored(entry, [one.cell for one in cells_of_entry(entry, folder, ["core"], kept=folder)])
    damaged = playing[2].cell.path(folder)
    damaged.write_text("{damaged")
    again = cells_of_entry(entry, folder, ["core"], kept=folder)
    assert capsys.readouterr().err == f"noms: {damaged} is damaged: its deals are played again\n"
    assert [one.cell.is_complete for one in again] == [True, True, *[False] * 6]
    assert scored_entry(folder, run)["cells"] == whole["cells"]


@pytest.mark.usefixtures("few_deals")
def test_deals_of_another_policy_are_not_gone_on_with(tmp_path: Path) -> None:
    place = Place(PROTOCOLS[V1].parts["core"], "noms", 0, Field("thumb", DEALS))
    Cell(*place, "one", None, {0: [1] * DEALS}).save(tmp_path)
    for sha256, is_there in (("one", True), ("other", False)):
        cell = Cell(*place, sha256, None)
        cell.load(tmp_path)
        assert cell.is_complete == is_there


def test_a_block_that_is_played_again_with_more_deals_loses_no_table_twice(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def bad(observation, mask, rng):\n    return -1\n")
    entry = Entry("bad", "fixed", f"{file}:bad", ("down_up",), protocol=V1)
    for deals in (4, 6):
        playing = cells_of_entry(entry, tmp_path, ["core"], kept=tmp_path, most=deals)
        play_cells(playing, tmp_path)
        found = scored(entry, [one.cell for one in playing])["cells"]["core"]["down_up"]["0"]["thumb"]
        assert (found["deals"], found["lost"]) == (deals, 4 * deals)


@pytest.mark.usefixtures("few_deals")
def test_a_function_in_a_file_is_scored_and_its_failures_lose_tables(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    lowest = "def lowest(observation, mask, rng):\n    return int(mask.argmax())\n"
    file.write_text(f"{lowest}\n\ndef bad(observation, mask, rng):\n    return -1\n")
    for function, lost in (("lowest", 0), ("bad", 4 * DEALS)):
        folder = tmp_path / function
        found = scored_entry(folder, run, "--player", f"{file}:{function}", "--games", "down_up")
        cell = found["cells"]["core"]["down_up"]["0"]["thumb"]
        assert cell.get("lost", 0) == lost
        assert cell["player_sha256"] is not None
        _, out, _ = run("benchmark", "score", folder, "--allow-programs", "--threads", 1)
        assert (" tables: it " in out) == (lost > 0)
        assert_refused(run("benchmark", "score", folder), "it is run with --allow-programs only")
        assert_refused(run("benchmark", "score", folder, "--protocol", 1, "--player", "thumb"), "there is another entry in")
        assert_refused(run("benchmark", "score", folder, "--seeds", 1, 2), "--seeds: only with --player; the entry in")


def test_a_part_without_references_has_points_and_no_scores(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"core": Field("thumb", 2), "search": Field("pimc:1", 2)}
    parts = {name: replace(PROTOCOLS[V1].parts[name], fields=(field,)) for name, field in fields.items()}
    monkeypatch.setitem(PROTOCOLS, V1, replace(PROTOCOLS[V1], parts=parts))
    words = ("--protocol", 1, "--player", "greedy", "--games", "down_up", "--threads", 1)
    status, out, _ = run("benchmark", "score", tmp_path, *words, "--tracks", "core", "search")
    assert (status, "the part search has no references so far" in out) == (0, True)
    found = read_scores(tmp_path)
    assert found["scores"]["search"] is None
    assert found["cells"]["search"]["down_up"]["0"]["pimc:1"]["deals"] == 2
    assert found["scores"]["core"]["games"]["down_up"]["fields"].keys() == {"thumb"}


@pytest.mark.usefixtures("few_deals")
def test_what_scoring_took_is_kept_by_part_and_stands_apart_from_the_scores(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "greedy"
    entry = Entry("greedy", "fixed", "greedy", ("down_up",), protocol=V1)
    write_entry(folder, entry)
    playing = cells_of_entry(entry, folder, ["core"], kept=folder)
    ending, cpu = play_cells(playing[:1], folder)
    assert (ending, cpu > 0) == ("all", True)
    add_times(folder, "core", before=0, deals=DEALS, wall=60, cpu=50)
    status, out, _ = run("benchmark", "score", folder, "--threads", 1)
    assert (status, f"core: {4 * DEALS} deals · 1:0" in out) == (0, True), out
    took = read_times(folder)["core"]
    assert (took["deals"], 50 < took["cpu_seconds"] < 60) == (4 * DEALS, True)
    run("benchmark", "score", folder, "--threads", 1)
    assert read_times(folder)["core"] == took, "nothing was played"
    add_times(folder, "core", before=0, deals=DEALS, wall=1, cpu=1)
    assert read_times(folder)["core"]["deals"] == DEALS, "the deals from before are no more"
    assert not {"wall_seconds", "cpu_seconds"} & set(read_scores(folder))


def test_a_block_by_the_names_of_its_players_is_the_block(tmp_path: Path) -> None:
    """What a machine of a cluster plays."""
    file = tmp_path / "mine.py"
    file.write_text("def lowest(observation, mask, rng):\n    return int(mask.argmax())\n")
    entry = Entry("lowest", "fixed", f"{file}:lowest", ("down_up",), protocol=V1)
    for one in cells_of_entry(entry, tmp_path, ["core"], most=6):
        shas = one.cell.player_sha256, one.cell.field_sha256
        where = (V1, "core", one.cell.game, 0, one.names)
        assert play_by_name(*where, shas, 2, 4)[:2] == one.play(2, 4, Event())[:2]
        with pytest.raises(EntryError, match="another player on a machine of the cluster than here"):
            play_by_name(*where, ("other", shas[1]), 2, 4)


def test_without_ray_the_cluster_is_refused_with_a_sentence(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("--protocol", 1, "--player", "greedy", "--games", "down_up", "--deals", 4)
    assert_refused(run("benchmark", "score", tmp_path, *words, "--ray"), "--ray needs ray, which is not installed")


def test_a_trial_is_kept_apart(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "greedy"
    words = ("--protocol", 1, "--player", "greedy", "--games", "down_up", "--deals", 4, "--threads", 1)
    status, _, _ = run("benchmark", "score", folder, *words)
    assert status == 0
    assert read_scores(folder / "trial")["trial"]
    assert not (folder / "scores.json").exists()
    assert_refused(run("benchmark", "check", folder), "is not scored")
