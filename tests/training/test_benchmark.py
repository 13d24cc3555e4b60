"""The benchmark: the protocol, scores by hand, scoring that goes on, and what the checker refuses."""

import json
import re
import shutil
import sys
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from benchmarks import references as bench_references
from benchmarks import same_policy as bench_same_policy
from noms_env.variants import VARIANTS
from tests.commands import Run, assert_refused
from training.agents.registry import file_sha256
from training.benchmark import checking, protocol, scores
from training.benchmark.cells import Cell, cells_of_entry, play_block, play_by_name, play_cells
from training.benchmark.checking import complaints, replayed, sampled_cells
from training.benchmark.entry import Entry, EntryError, read_entry, runs_code, write_entry
from training.benchmark.protocol import (
    GAMES,
    POLICIES,
    Budget,
    Field,
    References,
    budget_of,
    cells_of,
    references,
)
from training.benchmark.scores import cross_play, interquartile_mean, read_scores, replicates_of, scored, summary, write_scores
from training.benchmark.timing import add_times, read_times
from training.evaluation.deal_sets import FROZEN

DEALS = 6
SMALL = ("down_up", "nonesuch")


@pytest.fixture
def few_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol with few deals and without the fields that search, in which all else is as it is."""
    fields = tuple(Field(field.name, DEALS, field.part) for field in protocol.FIELDS if field.part == "core")
    monkeypatch.setattr(protocol, "FIELDS", fields)
    monkeypatch.setattr(protocol, "CROSS_DEALS", DEALS)
    monkeypatch.setattr(scores, "REPLICATES", 50)
    monkeypatch.setattr(scores.summary, "__defaults__", (50,))


def scored_entry(folder: Path, run: Run, *words: object) -> dict[str, Any]:
    status, out, err = run("benchmark", "score", folder, *words, "--threads", 1)
    assert status == 0, err
    assert "these games" in out or "all games" in out
    return read_scores(folder)


# ---------------------------------------------------------------------------------------------------- the protocol


def test_the_protocol_has_all_games_and_the_published_policies_as_they_are() -> None:
    assert tuple(GAMES) == tuple(VARIANTS)
    for name, (policy, sha256) in POLICIES.items():
        assert file_sha256(policy) == sha256, name


def test_the_references_are_what_the_two_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "FIELDS", (Field("greedy", 4, "core"),))
    before = json.loads(bench_references.FILE.read_text())["points"]
    bench_references.main(bench_references.Args(tmp_path, parts=("core",), threads=1, file=tmp_path / "references.json"))
    found = json.loads((tmp_path / "references.json").read_text())["points"]
    for name in GAMES:
        assert found[name]["greedy"] != before[name]["greedy"], "of fewer deals"
        assert found[name]["greedy"][0] < found[name]["greedy"][1]
        assert {field: pair for field, pair in found[name].items() if field != "greedy"} == {
            field: pair for field, pair in before[name].items() if field != "greedy"
        }


def test_every_game_and_field_has_references_that_tell_the_two_apart() -> None:
    core, search = ({field.name for field in protocol.fields_of(part)} for part in ("core", "search"))
    measured = set(references()["noms"]) - core
    assert measured in (set(), search), "the fields that search have all their references, or none so far"
    for name in GAMES:
        assert set(references()[name]) == core | measured
        for field, pair in references()[name].items():
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


@pytest.mark.parametrize("text", ["", "10 M", "-1", "0", "10M,20M", "1h,2h", "many"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a budget is such as"):
        budget_of(text)


def test_a_budget_of_less_than_a_decision_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one decision or more, not '0\.4'"):
        budget_of("0.4")


def test_a_budget_ends_with_whichever_comes_first() -> None:
    budget = Budget(100, 0.5)
    assert budget.share(50, 900) == 0.5
    assert budget.share(10, 1800) == 1
    assert budget.share(150, 0) == 1.5


def test_cells_are_each_seed_in_each_field_and_among_each_other_seed() -> None:
    cells = list(cells_of(("noms",), (1, 2, 3), ("core", "cross")))
    assert len(cells) == 3 * 4 + 3 * 2
    assert {(seed, field.seed) for _, seed, field in cells if field.part == "cross"} == {
        (a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b
    }


# ---------------------------------------------------------------------------------------------------------- scores


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end() -> None:
    assert interquartile_mean(np.array([[-100.0, 1.0], [2.0, 100.0]])) == pytest.approx(1.5)
    assert interquartile_mean(np.array([[[0.0, 4.0], [2.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])).tolist() == [2.0, 1.0]


def test_a_summary_by_hand() -> None:
    values = {"noms": {"random": np.array([[1.0, 3.0], [3.0, 5.0]]), "thumb": np.array([[-1.0, -1.0], [0.0, 0.0]])}}
    anchors = {"noms": {"random": References(0, 4), "thumb": References(-2, 0)}}
    found = summary(values, anchors, count=100)
    assert found["games"]["noms"]["fields"] == {"random": 0.75, "thumb": 0.75}
    assert found["games"]["noms"]["seeds"] == [0.5, 1.0]
    assert found["games"]["noms"]["score"]["value"] == 0.75
    assert found["all"]["mean"]["value"] == 0.75
    values["noms"]["thumb"] -= 1
    found = summary(values, anchors, count=100)
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


def test_two_entries_of_the_same_policy_differ_by_no_more_than_the_intervals_say() -> None:
    """A/A: the same player on independent deals, with seeds that differ; intervals of the difference hold 0 in about 95 %."""
    rng, held, tries = np.random.default_rng(1), 0, 100
    for _ in range(tries):
        sides = [rng.normal(0, 0.2, (20, 1)) + rng.normal(0, 2, (20, 300)) for _ in "ab"]
        drawn = [replicates_of({"a": side}, {"a": References(0, 1)}, 400, rng)[0].mean(axis=1) for side in sides]
        low, high = np.quantile(drawn[0] - drawn[1], (0.025, 0.975))
        held += bool(low <= 0 <= high)
    assert held >= 88  # fewer have a probability below 0.2 % at 95 %


def test_the_same_policy_is_entered_on_deals_that_the_two_do_not_share(capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = [
        one
        for one in cells_of_entry(Entry("greedy", "fixed", "greedy", ("down_up",)), Path(), ["core"], most=4)
        if one.cell.field.name == "random"
    ]
    sides = [bench_same_policy.apart(one, number).pairing.play(0, 4, Event()).values for number in (1, 2, 1)]
    assert np.array_equal(sides[0], sides[2])
    assert not np.array_equal(sides[0], sides[1])
    bench_same_policy.main(bench_same_policy.Args("random", ("down_up",), pairs=2, deals=4, threads=1))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        *(f"all games, {name}" for name in ("score", "mean", "median", "robustness")),
        "down_up",
    ]
    assert all(re.search(r": [012] of 2 pairs of random differ by no more than the intervals say$", line) for line in lines)


def test_two_figures_agree_within_the_root_of_the_squares_of_their_half_widths() -> None:
    one, other = {"value": 1.0, "low": 0.7, "high": 1.3}, {"low": 0.0, "high": 0.8}
    assert bench_same_policy.agree(one, {**other, "value": 1.499})
    assert not bench_same_policy.agree(one, {**other, "value": 0.499})


@pytest.mark.soak
def test_the_same_policy_on_other_deals_differs_by_no_more_than_the_intervals_say() -> None:
    held = bench_same_policy.measure(bench_same_policy.Args(games=("down_up", "noms"), threads=2))
    assert min(held.values()) >= 88  # fewer have a probability below 0.2 % at 95 %


def test_cross_play_by_hand() -> None:
    def cell(seed: int, other: int, points: int) -> Cell:
        return Cell("noms", seed, Field(f"seed-{other}", 2, "cross"), None, None, {0: [points, points + 20_000]})

    found = cross_play([cell(1, 2, 0), cell(2, 1, -40_000)], (1, 2))
    assert found == {"noms": {"points": [[0, 1.0], [-3.0, 0]], "gap": -1.0}}


# --------------------------------------------------------------------------------------------------------- scoring


@pytest.mark.usefixtures("few_deals")
def test_the_references_score_nought_and_one_to_the_last_digit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points: dict[str, Any] = {}
    for name in ("random", "thumb"):
        points[name] = scored_entry(tmp_path / name, run, "--player", name, "--games", *SMALL)["cells"]
    anchors = {
        game: {
            field: References(points["random"][game]["0"][field]["points"], points["thumb"][game]["0"][field]["points"])
            for field in ("random", "greedy", "thumb", "policy")
        }
        for game in SMALL
    }
    for module in (scores, checking):
        monkeypatch.setattr(module, "references", lambda: anchors)
    for name, score in (("random", 0.0), ("thumb", 1.0)):
        found = scored_entry(tmp_path / name, run)["core"]
        assert [game["score"]["value"] for game in found["games"].values()] == [score] * 2
        assert found["all"]["robustness"]["value"] == score


@pytest.mark.usefixtures("few_deals")
def test_a_scoring_that_was_stopped_goes_on_and_ends_alike(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scored_entry(tmp_path / "whole", run, "--player", "greedy", "--games", *SMALL)
    folder = tmp_path / "stopped"
    entry = Entry("stopped", "fixed", "greedy", SMALL)
    write_entry(folder, entry)
    playing = cells_of_entry(entry, folder, ["core"], kept=folder)
    play_cells(playing[:3], folder)
    with pytest.raises(EntryError, match=f"0 of {DEALS} deals are played"):
        scored(entry, [one.cell for one in cells_of_entry(entry, folder, ["core"], kept=folder)])
    playing[2].cell.path(folder).write_text("{damaged")
    again = cells_of_entry(entry, folder, ["core"], kept=folder)
    assert [one.cell.is_complete for one in again] == [True, True, *[False] * 6]
    assert scored_entry(folder, run)["cells"] == whole["cells"]


@pytest.mark.usefixtures("few_deals")
def test_deals_of_another_policy_are_not_gone_on_with(tmp_path: Path) -> None:
    field = Field("thumb", DEALS, "core")
    Cell("noms", 0, field, "one", None, {0: [1] * DEALS}).save(tmp_path)
    for sha256, is_there in (("one", True), ("other", False)):
        cell = Cell("noms", 0, field, sha256, None)
        cell.load(tmp_path)
        assert cell.is_complete == is_there


def test_a_block_that_is_played_again_with_more_deals_loses_no_table_twice(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def bad(observation, mask, rng):\n    return -1\n")
    entry = Entry("bad", "fixed", f"{file}:bad", ("down_up",))
    for deals in (4, 6):
        playing = cells_of_entry(entry, tmp_path, ["core"], kept=tmp_path, most=deals)
        play_cells(playing, tmp_path)
        found = scored(entry, [one.cell for one in playing])["cells"]["down_up"]["0"]["thumb"]
        assert (found["deals"], found["lost"]) == (deals, 4 * deals)


@pytest.mark.usefixtures("few_deals")
def test_a_function_in_a_file_is_scored_and_its_failures_lose_tables(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    lowest = "def lowest(observation, mask, rng):\n    return int(mask.argmax())\n"
    file.write_text(f"{lowest}\n\ndef bad(observation, mask, rng):\n    return -1\n")
    for function, lost in (("lowest", 0), ("bad", 4 * DEALS)):
        folder = tmp_path / function
        found = scored_entry(folder, run, "--player", f"{file}:{function}", "--games", "down_up")
        assert found["cells"]["down_up"]["0"]["thumb"].get("lost", 0) == lost
        assert found["cells"]["down_up"]["0"]["thumb"]["player_sha256"] is not None
        _, out, _ = run("benchmark", "score", folder, "--allow-programs", "--threads", 1)
        assert (" tables: it " in out) == (lost > 0)
        assert_refused(run("benchmark", "score", folder), "it is run with --allow-programs only")
        assert_refused(run("benchmark", "score", folder, "--player", "thumb"), "there is another entry in")


def test_a_part_without_references_has_points_and_no_scores(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = (Field("thumb", 2, "core"), Field("pimc:1", 2, "search"))
    monkeypatch.setattr(protocol, "FIELDS", fields)
    words = ("--player", "greedy", "--games", "down_up", "--threads", 1)
    status, out, _ = run("benchmark", "score", tmp_path, *words, "--parts", "core", "search")
    assert (status, "the part search has no references so far" in out) == (0, True)
    found = read_scores(tmp_path)
    assert found["search"] is None
    assert found["cells"]["down_up"]["0"]["pimc:1"]["deals"] == 2
    assert found["core"]["games"]["down_up"]["fields"].keys() == {"thumb"}


@pytest.mark.usefixtures("few_deals")
def test_what_scoring_took_is_kept_by_part_and_stands_apart_from_the_scores(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "greedy"
    entry = Entry("greedy", "fixed", "greedy", ("down_up",))
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
    entry = Entry("lowest", "fixed", f"{file}:lowest", ("down_up",))
    for one in cells_of_entry(entry, tmp_path, ["core"], most=6):
        shas = one.cell.player_sha256, one.cell.field_sha256
        by_name = play_by_name(one.cell.game, one.names, shas, 2, 4)
        assert by_name[:2] == play_block(one.pairing, 2, 4, Event())[:2]
        with pytest.raises(EntryError, match="another player on a machine of the cluster than here"):
            play_by_name(one.cell.game, one.names, ("other", shas[1]), 2, 4)


def test_without_ray_the_cluster_is_refused_with_a_sentence(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("--player", "greedy", "--games", "down_up", "--deals", 4)
    assert_refused(run("benchmark", "score", tmp_path, *words, "--ray"), "--ray needs ray, which is not installed")


def test_a_trial_is_kept_apart(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "greedy"
    status, _, _ = run("benchmark", "score", folder, "--player", "greedy", "--games", "down_up", "--deals", 4, "--threads", 1)
    assert status == 0
    assert read_scores(folder / "trial")["trial"]
    assert not (folder / "scores.json").exists()
    assert_refused(run("benchmark", "check", folder), "is not scored")


# -------------------------------------------------------------------------------------------------------- the check


@pytest.fixture
def complete(few_deals: None, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete entry of a player that does not learn, on two games."""
    del few_deals
    for module in (protocol, checking):
        monkeypatch.setattr(module, "GAMES", dict.fromkeys(SMALL, 4))
    folder = tmp_path / "entry"
    scored_entry(folder, run, "--player", "{game}@0", "--games", *SMALL)
    return folder


def test_a_complete_entry_is_accepted_also_without_its_cells(run: Run, complete: Path) -> None:
    for words in ([], ["--all"], ["--cells", 0]):
        status, out, _ = run("benchmark", "check", complete, *words, "--threads", 1)
        assert (status, "accepted" in out) == (0, True), out
    shutil.rmtree(complete / "cells")
    status, out, _ = run("benchmark", "check", complete, "--all", "--threads", 1)
    assert (status, "accepted as far as can be checked here, 8 cells played again" in out) == (0, True), out
    assert "the points of the deals are not here" in out


@pytest.mark.usefixtures("complete")
def test_a_published_player_that_does_not_learn_is_played_again_to_the_last_digit(run: Run, tmp_path: Path) -> None:
    whole, folder = tmp_path / "thumb", tmp_path / "published"
    scored_entry(whole, run, "--player", "thumb", "--games", *SMALL)
    folder.mkdir()
    for name in ("entry.json", "scores.json"):
        shutil.copyfile(whole / name, folder / name)
    status, out, _ = run("benchmark", "check", folder, "--cells", 5, "--threads", 1)
    assert (status, "5 cells played again" in out) == (0, True), out
    cell = read_scores(folder)["cells"]["nonesuch"]["0"]["greedy"]
    changed(folder, "scores.json", cell["sha256"], "0" * 64)
    status, out, _ = run("benchmark", "check", folder, "--all", "--threads", 1)
    assert (status, "nonesuch, seed 0, field greedy: " in out, out.count("when played again")) == (1, True, 1), out


def test_a_score_among_another_policy_than_that_of_the_protocol_is_refused(run: Run, complete: Path) -> None:
    changed(complete, "scores.json", f'"field_sha256": "{POLICIES["nonesuch"][1]}"', f'"field_sha256": "{"0" * 64}"')
    status, out, _ = run("benchmark", "check", complete, "--cells", 0)
    assert (status, "nonesuch, seed 0, are among another policy" in out) == (1, True), out


def changed(folder: Path, name: str, old: str, new: str) -> None:
    """Change a file of an entry, wherever the text stands."""
    text = (folder / name).read_text()
    found, count = re.subn(old, new, text)
    assert count, old
    (folder / name).write_text(found)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"value": 1', '"value": 2', "does not follow from its points"),
        (r'"low": [^,]*', '"low": 0.0', "is not what the deals in"),
        (FROZEN["test"]["nonesuch"], "0" * 64, "other deals than those of the set test"),
        (f'"deals": {DEALS}', f'"deals": {DEALS - 1}', f"is not scored on {DEALS} deals"),
        (r'"core"\s+\]', '"search"]', "the part core is not scored"),
    ],
)
def test_scores_that_are_wrong_are_refused(run: Run, complete: Path, old: str, new: str, sentence: str) -> None:
    changed(complete, "scores.json", old, new)
    status, out, _ = run("benchmark", "check", complete, "--threads", 1)
    assert (status, sentence in out, "refused" in out) == (1, True, True), out


def test_intervals_may_be_rounded_otherwise(complete: Path) -> None:
    """By another library of linear algebra."""
    scores = json.loads((complete / "scores.json").read_text())
    scores["core"]["all"]["score"]["low"] += 1e-15
    (complete / "scores.json").write_text(json.dumps(scores))
    assert complaints(complete) == []


def test_scores_that_cannot_be_played_again_are_refused(complete: Path) -> None:
    """Points that were made better everywhere, in the scores and in what they follow from."""
    entry = read_entry(complete)
    playing = cells_of_entry(entry, complete, ["core"], kept=complete)
    for one in playing:
        one.cell.blocks = {first: [point + 10_000 for point in points] for first, points in one.cell.blocks.items()}
        one.cell.save(complete)
    write_scores(complete, scored(entry, [one.cell for one in playing]))
    assert complaints(complete) == []
    found = replayed(complete, sampled_cells(complete, 3, seed=0), threads=1)
    assert len(found) == 3
    assert all("points a deal when played again" in sentence for sentence in found)


def test_elsewhere_the_mean_must_lie_within_the_interval(complete: Path) -> None:
    document = json.loads((complete / "scores.json").read_text())
    document["machine"]["processor"] = "another"
    cell = document["cells"]["nonesuch"]["0"]["thumb"]
    cell["sha256"], points = "0" * 64, cell["points"]
    for shift, is_refused in ((0.5, False), (3.0, True)):
        cell["points"] = points + shift * cell["error"]
        (complete / "scores.json").write_text(json.dumps(document))
        assert bool(replayed(complete, sampled_cells(complete, None, seed=0), threads=1)) == is_refused


def test_an_entry_that_is_not_complete_is_refused(complete: Path) -> None:
    changed(complete, "entry.json", '"nonesuch"', '"noms"')
    assert any("nonesuch are missing" in sentence for sentence in complaints(complete))
    changed(complete, "entry.json", '"fixed"', '"self-play"')
    found = complaints(complete)
    assert any("needs 3 seeds or more, not 1" in sentence for sentence in found)
    assert any("does not say with which budget" in sentence for sentence in found)


def test_an_entry_runs_no_code_that_hides_behind_a_seed(run: Run, tmp_path: Path) -> None:
    """Only whole numbers are seeds, and every player of an entry counts, not only the first."""
    (tmp_path / "mine.py").write_text("raise SystemExit('it ran')\n")
    document = {"format": "noms-benchmark-entry/1", "name": "x", "track": "fixed", "player": "{seed}", "games": ["down_up"]}
    (tmp_path / "entry.json").write_text(json.dumps(document | {"seeds": ["thumb", f"{tmp_path}/mine.py:make"]}))
    for command in ("score", "check"):
        assert_refused(run("benchmark", command, tmp_path), "its seeds, which must be whole numbers")
    runs = Entry("x", "fixed", "{game}.py:make", ("down_up",))
    assert runs_code(runs, tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("entry.json", '{"format": "noms-benchmark-entry/1", "name": 5, "track": "fixed", "player": "thumb"}', "must be text"),
        ("entry.json", "[" * 100_000, "entry.json is damaged"),
        ("scores.json", '{"format": "noms-benchmark-scores/1", "protocol": "noms-benchmark/1"}', "scores.json is damaged"),
    ],
)
def test_a_damaged_entry_is_refused_with_a_sentence(run: Run, complete: Path, file: str, content: str, sentence: str) -> None:
    (complete / file).write_text(content)
    assert_refused(run("benchmark", "check", complete), sentence)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["score", "nowhere"], "there is no entry in nowhere"),
        (["check", "nowhere"], "there is no entry in nowhere"),
        (["report", "nowhere"], "there is no entry in nowhere"),
        (["report"], "name the folder of at least one entry"),
        (["score", "x", "--player", "nobody"], "nobody"),
        (["score", "x", "--player", "thumb", "--games", "bridge"], "there is no game 'bridge'"),
        (["score", "x", "--player", "thumb", "--deals", "1"], "--deals must be 2 or more"),
        (["score", "x", "--player", "noms@0", "--games", "down_up"], "down_up: "),
        (["score", "x", "--ray", "--threads", "2"], "give --threads or --ray, and not both"),
        (["check", "x", "--cells", "-1"], "--cells must be 0 or more"),
        (["run", "nobody"], "there is no algorithm 'nobody'"),
        (["run", "nobody.py"], "there is no file nobody.py"),
        (["run", "ppo", "--budget", "much"], "a budget is such as"),
        (["run", "ppo", "--seeds", "0"], "--seeds and --workers must be 1 or more"),
        (["run"], "needs ALGORITHM"),
        (["dance"], "does not take dance"),
    ],
)
def test_wrong_requests_are_refused(
    run: Run, words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run("benchmark", *words), sentence)
    assert list(tmp_path.iterdir()) == []
