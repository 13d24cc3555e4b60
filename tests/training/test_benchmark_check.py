"""The benchmark: what the checker accepts and refuses."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from noms_training.benchmark import checking
from noms_training.benchmark.cells import cells_of_entry
from noms_training.benchmark.checking import complaints, replayed, sampled_cells
from noms_training.benchmark.entry import Entry, read_entry, write_entry
from noms_training.benchmark.protocol import PROTOCOLS, V1
from noms_training.benchmark.scores import read_scores, scored, summary, write_scores
from noms_training.evaluation.deal_sets import FROZEN
from tests.commands import Run, assert_refused
from tests.training.entries import DEALS, SMALL, edit_json, make_small, play_and_score, score_entry, update_json

NO_SHA256 = "0" * 64


@pytest.fixture(scope="module")
def scored_entry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A complete entry of the published policies in a short protocol of two games, which all tests here have."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch, DEALS, SMALL)
        folder = tmp_path_factory.mktemp("benchmark") / "entry"
        write_entry(folder, Entry("published", "fixed", "{game}@0", SMALL, protocol=V1))
        play_and_score(folder)
        yield folder


@pytest.fixture(autouse=True)
def complete(scored_entry: Path, tmp_path: Path) -> Path:
    return shutil.copytree(scored_entry, tmp_path / "entry")


def check(run: Run, folder: Path, *words: object, status: int = 0) -> str:
    """Check an entry by the command; return the output."""
    actual, out, err = run("benchmark", "check", folder, *words, "--threads", 1)
    assert actual == status, (out, err)
    return out


def substitute(file: Path, old: str, new: str) -> None:
    """Replace a pattern wherever it occurs in a file."""
    text, count = re.subn(old, new, file.read_text())
    assert count, old
    file.write_text(text)


def test_a_complete_entry_is_accepted_also_without_its_cells(run: Run, complete: Path) -> None:
    assert "accepted" in check(run, complete)
    assert f"{complete}: accepted, 8 cells played again" in check(run, complete, "--all")
    out = check(run, complete, "--cells", 0)
    assert "accepted as far as can be checked here, 0 cells" in out
    assert "no cell was played again" in out
    shutil.rmtree(complete / "cells")
    out = check(run, complete, "--cells", 7)
    assert "accepted as far as can be checked here, 7 cells played again" in out
    assert "the points of the deals are not here" in out
    assert "1 of 8 cells were not played again" in out
    assert f"{complete}: accepted, 8 cells played again" in check(run, complete, "--all")


def test_a_published_player_that_does_not_learn_is_played_again_exactly(run: Run, tmp_path: Path) -> None:
    whole, folder = tmp_path / "thumb", tmp_path / "published"
    score_entry(whole, run, "--player", "thumb", "--games", *SMALL)
    folder.mkdir()
    for name in ("entry.json", "scores.json"):
        shutil.copyfile(whole / name, folder / name)
    assert "5 cells played again" in check(run, folder, "--cells", 5)
    cell = read_scores(folder)["cells"]["core"]["nonesuch"]["0"]["greedy"]
    substitute(folder / "scores.json", cell["sha256"], NO_SHA256)
    out = check(run, folder, "--all", status=1)
    assert ("nonesuch, seed 0, field greedy: " in out, out.count("when played again")) == (True, 1), out


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"value": 1', '"value": 2', "do not follow from their points"),
        (r'("seeds": \[\s+)[01]\.', r"\g<1>2.", "the figures of nonesuch (core) do not follow from their points"),
        (r'"low": [^,]*', '"low": 0.0', "is not what the deals in"),
        (FROZEN["test"]["nonesuch"], NO_SHA256, "other deals than those of the set test"),
        (f'"deals": {DEALS}', f'"deals": {DEALS - 1}', f"is not scored on {DEALS} deals"),
        (PROTOCOLS[V1].policies["nonesuch"][1], NO_SHA256, "nonesuch, seed 0, are among another policy"),
    ],
)
def test_wrong_scores_are_refused(run: Run, complete: Path, old: str, new: str, sentence: str) -> None:
    substitute(complete / "scores.json", old, new)
    out = check(run, complete, status=1)
    assert sentence in out
    assert "refused" in out


@pytest.mark.parametrize("name", ["score", "mean", "median", "robustness"])
def test_figures_over_all_games_follow_from_the_points_even_without_deals(complete: Path, name: str) -> None:
    shutil.rmtree(complete / "cells")
    assert complaints(complete) == []
    value = read_scores(complete)["scores"]["core"]["all"][name]["value"]
    edit_json(complete / "scores.json", lambda scores: scores["scores"]["core"]["all"][name].update(value=value + 0.5))
    assert complaints(complete) == ["the figures over all games (core) do not follow from their points"]


def test_the_mean_of_another_machine_must_lie_within_the_interval(complete: Path) -> None:
    document = json.loads((complete / "scores.json").read_text())
    document["machine"]["processor"] = "another"
    cell = document["cells"]["core"]["nonesuch"]["0"]["thumb"]
    cell["sha256"], points = NO_SHA256, cell["points"]
    for shift, is_refused in ((0.5, False), (3.0, True)):
        cell["points"] = points + shift * cell["error"]
        (complete / "scores.json").write_text(json.dumps(document))
        assert bool(replayed(complete, sampled_cells(complete, None, seed=0), threads=1)) == is_refused


def forge(entry: Path, points: float, error: float, sha256: str | None, is_elsewhere: bool) -> None:
    """Change all cells, and make the scores follow from them."""
    shutil.rmtree(entry / "cells")
    document = json.loads((entry / "scores.json").read_text())
    if is_elsewhere:
        document["machine"]["processor"] = "another"
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for game, by_seed in document["cells"]["core"].items():
        for cell in by_seed["0"].values():
            cell["points"] += points * cell["error"]
            cell["error"] += error
            cell["sha256"] = sha256 or cell["sha256"]
        arrays[game] = {name: np.array([[cell["points"]]]) for name, cell in by_seed["0"].items()}
    document["scores"]["core"] = summary(PROTOCOLS[V1].parts["core"], arrays, 1)
    (entry / "scores.json").write_text(json.dumps(document))
    assert complaints(entry) == [], "the files agree"


@pytest.mark.parametrize("is_elsewhere", [True, False])
@pytest.mark.parametrize(
    ("points", "error", "sha256"),
    [
        (1.0, 0.0, None),  # with the SHA-256 of the true points
        (100.0, 1e6, NO_SHA256),  # with errors within which anything lies
        (0.0, 1e6, NO_SHA256),
        (0.0, 1e-3, None),
        (1.9, 0.0, NO_SHA256),  # each cell within its interval, all on the better side
    ],
)
def test_forged_points_are_refused(
    run: Run, complete: Path, points: float, error: float, sha256: str | None, is_elsewhere: bool
) -> None:
    forge(complete, points, error, sha256, is_elsewhere)
    assert "refused" in check(run, complete, "--all", status=1)


def test_points_that_differ_by_chance_are_accepted_and_named(run: Run, complete: Path) -> None:
    forge(complete, 0.0, 0.0, NO_SHA256, True)
    out = check(run, complete, "--cells", 3)
    assert "accepted as far as can be checked here, 3 cells played again" in out
    assert "3 of 3 cells came to other points here" in out


@pytest.mark.parametrize("has_cells", [True, False])
def test_a_player_without_a_network_scores_the_same_on_any_machine(run: Run, tmp_path: Path, has_cells: bool) -> None:
    folder = tmp_path / "greedy"
    score_entry(folder, run, "--player", "greedy", "--games", *SMALL)
    shutil.copytree(folder / "cells", tmp_path / "cells")
    forge(folder, 0.0, 0.0, NO_SHA256, True)
    if has_cells:
        raise_deals(folder, tmp_path / "cells", lambda number: number == 0, 1)
    refused = 4 if has_cells else 6  # its own field has no deal that is not 0, and is not changed
    assert check(run, folder, "--all", status=1).count("points a deal when played again") == refused


def raise_deals(folder: Path, cells: Path, chooses: Callable[[int], bool], by: int) -> None:
    """Add ten-thousandths of a point to some deals of every cell, and score the entry again, as if on another machine."""
    shutil.rmtree(folder / "cells", ignore_errors=True)
    shutil.copytree(cells, folder / "cells")
    entry = read_entry(folder)
    playing = cells_of_entry(entry, folder, ["core"], kept=folder)
    for each in playing:
        if not each.cell.numbers.any():  # a policy among copies of itself scores 0 in all deals
            continue
        each.cell.blocks = {
            first: [point + by * chooses(first + at) for at, point in enumerate(points)]
            for first, points in each.cell.blocks.items()
        }
        each.cell.save(folder)
    write_scores(folder, scored(entry, [each.cell for each in playing]))
    edit_json(folder / "scores.json", lambda scores: scores["machine"].update(processor="another"))
    assert complaints(folder) == [], "the files agree"


@pytest.mark.parametrize(
    ("chooses", "sentence"),
    [
        (lambda number: True, "deals came to other points when played again, more than rounding changes"),
        (lambda number: number < 2, "better than those played again in more deals than chance allows"),
    ],
)
def test_few_deals_of_a_network_may_differ_and_not_all_to_one_side(
    run: Run, complete: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chooses: Callable[[int], bool], sentence: str
) -> None:
    monkeypatch.setattr(checking, "MAX_DIFFERENT", 2.5 / DEALS)
    shutil.copytree(complete / "cells", tmp_path / "cells")
    raise_deals(complete, tmp_path / "cells", chooses, 10)
    assert sentence in check(run, complete, "--all", status=1)


def test_the_cells_of_a_network_may_not_all_differ_to_one_side(
    run: Run, complete: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "ONE_SIDED", 1.5)  # six cells are too few for 1 %
    forge(complete, 0.1, 0.0, NO_SHA256, True)
    assert "better than those played again in more cells than chance allows" in check(run, complete, "--all", status=1)


@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("has_cells", [True, False])
def test_a_forged_interval_is_refused(run: Run, complete: Path, end: str, has_cells: bool) -> None:
    score = read_scores(complete)["scores"]["core"]["all"]["score"]
    edit_json(
        complete / "scores.json", lambda scores: scores["scores"]["core"]["all"]["score"].update({end: score[end] + 0.01})
    )
    if not has_cells:
        shutil.rmtree(complete / "cells")
    assert "scores in the scores is not what the deals" in check(run, complete, "--all", status=1)


@pytest.mark.parametrize("key", ["name", "division", "budget", "seeds"])
def test_the_scores_of_another_entry_are_refused(complete: Path, key: str) -> None:
    shutil.rmtree(complete / "cells")
    update_json(complete / "scores.json", **{key: [1] if key == "seeds" else "other"})
    assert complaints(complete) == [f"the scores are of another {key} than the entry"]


def test_an_incomplete_entry_is_refused(complete: Path) -> None:
    substitute(complete / "entry.json", '"nonesuch"', '"noms"')
    assert "nonesuch are missing" in " ".join(complaints(complete))
    substitute(complete / "entry.json", '"fixed"', '"self-play"')
    sentences = " ".join(complaints(complete))
    assert "needs 3 seeds or more, not 1" in sentences
    assert "does not say with which budget" in sentences


def test_a_seed_or_a_game_of_an_entry_runs_no_code(run: Run, tmp_path: Path) -> None:
    """Seeds must be whole numbers, and the players of all games and seeds are checked."""
    for name in ("mine.py", "noms.py"):
        (tmp_path / name).write_text("raise SystemExit('it ran')\n")
    document = {"format": "noms-benchmark-entry/1", "name": "x", "track": "fixed", "player": "{seed}", "games": ["down_up"]}
    (tmp_path / "entry.json").write_text(json.dumps(document | {"seeds": ["thumb", f"{tmp_path}/mine.py:make"]}))
    for command in ("score", "check"):
        assert_refused(run("benchmark", command, tmp_path), "its seeds, which must be whole numbers")
    update_json(tmp_path / "entry.json", player=f"{tmp_path}/{{game}}.py:make", games=["noms"], seeds=[0])
    assert_refused(run("benchmark", "score", tmp_path), f"game noms: a file names the program '{tmp_path}/noms.py:make'")


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("entry.json", '{"format": "noms-benchmark-entry/1", "name": 5, "track": "fixed", "player": "thumb"}', "must be text"),
        ("entry.json", "[" * 100_000, "entry.json is damaged"),
        ("scores.json", '{"format": "noms-benchmark-scores/1", "protocol": "noms-benchmark/1"}', "scores.json is damaged"),
    ],
)
def test_a_damaged_entry_is_refused(run: Run, complete: Path, file: str, content: str, sentence: str) -> None:
    (complete / file).write_text(content)
    assert_refused(run("benchmark", "check", complete), sentence)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["score", "nowhere"], "no entry in nowhere"),
        (["report"], "at least one entry"),
        (["score", "x", "--player", "nobody"], "nobody"),
        (["score", "x", "--player", "thumb", "--games", "bridge"], "no game 'bridge'"),
        (["score", "x", "--player", "thumb", "--deals", "1"], "--deals must be 2 or more"),
        (["score", "x", "--player", "noms@0", "--games", "down_up"], "down_up: "),
        (["score", "x", "--player", "thumb", "--tracks", "core"], "the tracks must be of single_game, generalist, new_rules"),
        (["score", "x", "--player", "thumb", "--deals", "9", "--second-deals"], "--deals or --second-deals"),
        (["score", "x", "--ray", "--threads", "2"], "--threads or --ray"),
        (["check", "x", "--cells", "-1"], "--cells must be 0 or more"),
        (["run", "nobody"], "no algorithm 'nobody'"),
        (["run", "nobody.py"], "no file nobody.py"),
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
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]
