"""The benchmark: what the checker accepts and refuses."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from noms_training.benchmark import checking
from noms_training.benchmark.cells import cells_of_entry
from noms_training.benchmark.checking import complaints, replayed, sampled_cells
from noms_training.benchmark.entry import read_entry
from noms_training.benchmark.protocol import PROTOCOLS, V1
from noms_training.benchmark.scores import read_scores, scored, summary, write_scores
from noms_training.evaluation.deal_sets import FROZEN
from tests.commands import Run, assert_refused
from tests.training.entries import DEALS, SMALL, make_small, scored_entry


@pytest.fixture
def complete(few_deals: None, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete entry of a player that does not learn, on two games."""
    del few_deals
    make_small(monkeypatch, DEALS, SMALL)
    folder = tmp_path / "entry"
    scored_entry(folder, run, "--player", "{game}@0", "--games", *SMALL)
    return folder


def test_a_complete_entry_is_accepted_also_without_its_cells(run: Run, complete: Path) -> None:
    for words in ([], ["--all"], ["--cells", 0]):
        status, out, _ = run("benchmark", "check", complete, *words, "--threads", 1)
        assert (status, "accepted" in out) == (0, True), out
        assert ("accepted, 8 cells played again" in out) == (words == ["--all"]), out
    assert "accepted as far as can be checked here, 0 cells" in out
    assert "no cell was played again: the points are those that the files say" in out
    shutil.rmtree(complete / "cells")
    status, out, _ = run("benchmark", "check", complete, "--cells", 7, "--threads", 1)
    assert (status, "accepted as far as can be checked here, 7 cells played again" in out) == (0, True), out
    assert "the points of the deals are not here" in out
    assert "1 of 8 cells were not played again: their points are what the files say" in out
    status, out, _ = run("benchmark", "check", complete, "--all", "--threads", 1)
    assert (status, f"{complete}: accepted, 8 cells played again" in out) == (0, True), out


@pytest.mark.usefixtures("complete")
def test_a_published_player_that_does_not_learn_is_played_again_to_the_last_digit(run: Run, tmp_path: Path) -> None:
    whole, folder = tmp_path / "thumb", tmp_path / "published"
    scored_entry(whole, run, "--player", "thumb", "--games", *SMALL)
    folder.mkdir()
    for name in ("entry.json", "scores.json"):
        shutil.copyfile(whole / name, folder / name)
    status, out, _ = run("benchmark", "check", folder, "--cells", 5, "--threads", 1)
    assert (status, "5 cells played again" in out) == (0, True), out
    cell = read_scores(folder)["cells"]["core"]["nonesuch"]["0"]["greedy"]
    changed(folder, "scores.json", cell["sha256"], "0" * 64)
    status, out, _ = run("benchmark", "check", folder, "--all", "--threads", 1)
    assert (status, "nonesuch, seed 0, field greedy: " in out, out.count("when played again")) == (1, True, 1), out


def test_a_score_among_another_policy_than_that_of_the_protocol_is_refused(run: Run, complete: Path) -> None:
    changed(
        complete, "scores.json", f'"field_sha256": "{PROTOCOLS[V1].policies["nonesuch"][1]}"', f'"field_sha256": "{"0" * 64}"'
    )
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
        ('"value": 1', '"value": 2', "do not follow from their points"),
        (r'("seeds": \[\s+)[01]\.', r"\g<1>2.", "the figures of nonesuch (core) do not follow from their points"),
        (r'"low": [^,]*', '"low": 0.0', "is not what the deals in"),
        (FROZEN["test"]["nonesuch"], "0" * 64, "other deals than those of the set test"),
        (f'"deals": {DEALS}', f'"deals": {DEALS - 1}', f"is not scored on {DEALS} deals"),
    ],
)
def test_scores_that_are_wrong_are_refused(run: Run, complete: Path, old: str, new: str, sentence: str) -> None:
    changed(complete, "scores.json", old, new)
    status, out, _ = run("benchmark", "check", complete, "--threads", 1)
    assert (status, sentence in out, "refused" in out) == (1, True, True), out


@pytest.mark.parametrize("name", ["score", "mean", "median", "robustness"])
def test_a_figure_over_all_games_follows_from_the_points_where_the_deals_are_not_here(complete: Path, name: str) -> None:
    shutil.rmtree(complete / "cells")
    assert complaints(complete) == []
    scores = json.loads((complete / "scores.json").read_text())
    scores["scores"]["core"]["all"][name]["value"] += 0.5
    (complete / "scores.json").write_text(json.dumps(scores))
    assert complaints(complete) == ["the figures over all games (core) do not follow from their points"]


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
    cell = document["cells"]["core"]["nonesuch"]["0"]["thumb"]
    cell["sha256"], points = "0" * 64, cell["points"]
    for shift, is_refused in ((0.5, False), (3.0, True)):
        cell["points"] = points + shift * cell["error"]
        (complete / "scores.json").write_text(json.dumps(document))
        assert bool(replayed(complete, sampled_cells(complete, None, seed=0), threads=1)) == is_refused


def forged(complete: Path, points: float, error: float, sha256: str | None, is_elsewhere: bool) -> None:
    """Other points in all cells, and scores that follow from them."""
    shutil.rmtree(complete / "cells")
    file = complete / "scores.json"
    document = json.loads(file.read_text())
    if is_elsewhere:
        document["machine"]["processor"] = "another"
    for by_seed in document["cells"]["core"].values():
        for cell in by_seed["0"].values():
            cell["points"] += points * cell["error"]
            cell["error"] += error
            cell["sha256"] = sha256 or cell["sha256"]
    values = {
        game: {name: [[cell["points"]]] for name, cell in of["0"].items()} for game, of in document["cells"]["core"].items()
    }
    arrays = {game: {name: np.array(rows) for name, rows in of.items()} for game, of in values.items()}
    document["scores"]["core"] = summary(PROTOCOLS[V1].parts["core"], arrays, 1)
    file.write_text(json.dumps(document))
    assert complaints(complete) == [], "it hangs together"


@pytest.mark.parametrize("is_elsewhere", [True, False])
@pytest.mark.parametrize(
    ("points", "error", "sha256"),
    [
        (1.0, 0.0, None),  # with the SHA-256 of the true points
        (100.0, 1e6, "0" * 64),  # with errors within which anything lies
        (0.0, 1e6, "0" * 64),
        (0.0, 1e-3, None),
        (1.9, 0.0, "0" * 64),  # each cell within its interval, all on the better side
    ],
)
def test_forged_points_are_refused(
    run: Run, complete: Path, points: float, error: float, sha256: str | None, is_elsewhere: bool
) -> None:
    forged(complete, points, error, sha256, is_elsewhere)
    status, out, _ = run("benchmark", "check", complete, "--all", "--threads", 1)
    assert (status, "refused" in out) == (1, True), out


def test_points_that_differ_within_what_chance_allows_are_named(run: Run, complete: Path) -> None:
    forged(complete, 0.0, 0.0, "0" * 64, True)
    status, out, _ = run("benchmark", "check", complete, "--cells", 3, "--threads", 1)
    assert (status, "accepted as far as can be checked here, 3 cells played again" in out) == (0, True), out
    assert "3 of 3 cells came to other points here" in out


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize("has_cells", [True, False])
def test_a_player_without_a_network_comes_to_the_same_points_on_any_machine(run: Run, tmp_path: Path, has_cells: bool) -> None:
    folder = tmp_path / "greedy"
    scored_entry(folder, run, "--player", "greedy", "--games", *SMALL)
    shutil.copytree(folder / "cells", tmp_path / "cells")
    forged(folder, 0.0, 0.0, "0" * 64, True)
    if has_cells:
        raise_deals(folder, tmp_path / "cells", lambda number: number == 0, 1)
    status, out, _ = run("benchmark", "check", folder, "--all", "--threads", 1)
    refused = 4 if has_cells else 6  # its own field has no deal that is not 0, and is not changed
    assert (status, out.count("points a deal when played again")) == (1, refused), out


def raise_deals(folder: Path, cells: Path, which: Callable[[int], bool], by: int) -> None:
    """Add ten-thousandths of a point to some deals of every cell, and score the entry anew, as if on another machine."""
    shutil.rmtree(folder / "cells", ignore_errors=True)
    shutil.copytree(cells, folder / "cells")
    entry = read_entry(folder)
    playing = cells_of_entry(entry, folder, ["core"], kept=folder)
    for one in playing:
        if not one.cell.numbers.any():  # a policy among copies of itself, where all deals come to 0
            continue
        one.cell.blocks = {
            first: [point + by * which(first + at) for at, point in enumerate(points)]
            for first, points in one.cell.blocks.items()
        }
        one.cell.save(folder)
    write_scores(folder, scored(entry, [one.cell for one in playing]))
    changed(folder, "scores.json", '"processor": "[^"]*"', '"processor": "another"')
    assert complaints(folder) == [], "it hangs together"


@pytest.mark.parametrize(
    ("which", "sentence"),
    [
        (lambda number: True, "deals came to other points when played again, more than rounding changes"),
        (lambda number: number < 2, "better than those played again in more deals than chance allows"),
    ],
)
def test_deals_of_a_network_that_differ_are_few_and_on_both_sides(
    run: Run, complete: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: Callable[[int], bool], sentence: str
) -> None:
    monkeypatch.setattr(checking, "MOST_OTHER", 2.5 / DEALS)
    shutil.copytree(complete / "cells", tmp_path / "cells")
    raise_deals(complete, tmp_path / "cells", which, 10)
    status, out, _ = run("benchmark", "check", complete, "--all", "--threads", 1)
    assert (status, sentence in out) == (1, True), out


def test_cells_of_a_network_do_not_all_differ_to_one_side(run: Run, complete: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "ONE_SIDED", 1.5)  # six cells are too few for 1 %
    forged(complete, 0.1, 0.0, "0" * 64, True)
    status, out, _ = run("benchmark", "check", complete, "--all", "--threads", 1)
    assert (status, "better than those played again in more cells than chance allows" in out) == (1, True), out


@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("has_cells", [True, False])
def test_forged_intervals_are_refused(run: Run, complete: Path, end: str, has_cells: bool) -> None:
    scores = json.loads((complete / "scores.json").read_text())
    scores["scores"]["core"]["all"]["score"][end] += 0.01
    (complete / "scores.json").write_text(json.dumps(scores))
    if not has_cells:
        shutil.rmtree(complete / "cells")
    status, out, _ = run("benchmark", "check", complete, "--all", "--threads", 1)
    assert (status, "scores in the scores is not what the deals" in out) == (1, True), out


@pytest.mark.parametrize("what", ["name", "division", "budget", "seeds"])
def test_scores_of_another_entry_are_refused(complete: Path, what: str) -> None:
    shutil.rmtree(complete / "cells")
    scores = json.loads((complete / "scores.json").read_text())
    (complete / "scores.json").write_text(json.dumps(scores | {what: [1] if what == "seeds" else "other"}))
    assert complaints(complete) == [f"the scores are of another {what} than the entry"]


@pytest.mark.usefixtures("few_deals")
def test_a_trial_is_told_from_an_entry_that_is_not_scored(run: Run, tmp_path: Path) -> None:
    words = ("--protocol", 1, "--player", "thumb", "--games", "down_up", "--tracks", "core", "--deals", 2, "--threads", 1)
    assert run("benchmark", "score", tmp_path, *words)[0] == 0
    for command in ("check", "report"):
        assert_refused(
            run("benchmark", command, tmp_path), f"{tmp_path} is not scored: only a trial with fewer deals was; noms"
        )


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
    (tmp_path / "noms.py").write_text("raise SystemExit('it ran')\n")
    hidden = {"player": f"{tmp_path}/{{game}}.py:make", "games": ["noms"], "seeds": [0]}
    (tmp_path / "entry.json").write_text(json.dumps(document | hidden))
    assert_refused(run("benchmark", "score", tmp_path), f"game noms: a file names the program '{tmp_path}/noms.py:make'")


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
        (["score", "x", "--player", "thumb", "--tracks", "core"], "the tracks must be of single_game, generalist, new_rules"),
        (["score", "x", "--player", "thumb", "--deals", "9", "--second-deals"], "give --deals or --second-deals"),
        (["score", "x", "--ray", "--threads", "2"], "give --threads or --ray, and not both"),
        (["check", "x", "--cells", "-1"], "--cells must be 0 or more"),
        (["run", "nobody"], "there is no algorithm 'nobody'"),
        (["run", "nobody.py"], "there is no file nobody.py"),
        (["run", "ppo", "--budget", "much"], "a budget is such as"),
        (["run", "ppo", "--seeds", "0"], "--seeds and --workers must be 1 or more"),
        (["run"], "ALGORITHM"),
        (["dance"], "dance"),
    ],
)
def test_wrong_requests_are_refused(
    run: Run, words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run("benchmark", *words), sentence)
    assert list(tmp_path.iterdir()) == []
