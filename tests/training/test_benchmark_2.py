"""Protocol 2 of the benchmark: its tracks, its cells, and attempts to fool the checker."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from noms_training.benchmark.cells import Cell, Players, cells_of_entry, play_cells
from noms_training.benchmark.checking import complaints
from noms_training.benchmark.entry import (
    OF_A_RUN,
    Entry,
    files_sha256,
    machine,
    other_convention,
    read_entry,
    sha256_of,
    versions,
    write_entry,
)
from noms_training.benchmark.protocol import GENERALIST, PROTOCOLS, V1, V2, Part, Place, References
from noms_training.benchmark.report import read_scored, runs_of
from noms_training.benchmark.scores import read_scores, replicates_of, scored, write_scores
from noms_training.benchmark.task import PLAYER_FILE
from tests.commands import Run, assert_refused
from tests.training.entries import FIRST, edit_json, make_small, play_and_score, update_json

GAME, DEALS = "small_ships", 9
"""A game of all tracks, and a number of deals that its 9 settings in `new_rules` and 3 in `generalist` can share."""
ALGORITHM = f'''"""Takes the first legal action: learns nothing."""
{FIRST}

def train(task):
    task.log(100, First)
'''

# -------------------------------------------------------------------------------------------------------- the protocol


def test_the_settings_of_a_part_share_its_deals_evenly() -> None:
    for part in PROTOCOLS[V2].parts.values():
        for game in part.games:
            settings = part.settings(game)
            assert len({*settings}) == len(settings) > 0
            assert all(field.deals % len(settings) == 0 for field in part.fields), (part.name, game)
            assert len(settings) == 1 or len({field.deals for field in part.fields}) == 1, "all fields have the same deals"
    new = PROTOCOLS[V2].parts["new_rules"]
    assert sum(len(new.settings(game)) for game in new.games) == 50


def test_each_field_has_its_players() -> None:
    parts = PROTOCOLS[V2].parts

    def players(part: Part, field: int, game: str) -> tuple[str, ...]:
        return PROTOCOLS[V2].players_of(Place(part, game, 0, part.fields[field]))

    assert players(parts["single_game"], 0, "noms") == ("thumb:2",)
    assert players(parts["single_game"], 3, "noms") == ("thumb:2", "noms@0", "pimc:20")
    generalist = PROTOCOLS[V2].policies["generalist"][0]
    assert players(parts["new_rules"], 1, "noms") == (generalist,)
    strangers = players(parts["strangers"], 0, "small_ships")
    assert strangers[1:3] == ("small_ships@0", generalist)
    assert strangers[3] == PROTOCOLS[V1].policies["small_ships"][0]
    entry = Entry("best", "search", PROTOCOLS[V2].one, (GAME,))
    assert [entry.player_name(Path(), run, 0) for run, _ in entry.runs] == [
        f"search:{policy},worlds=24" for policy in (f"{GAME}@0", generalist)
    ]


def test_a_run_on_all_games_has_the_budget_of_seven_runs() -> None:
    protocol = PROTOCOLS[V2]
    assert str(protocol.budget_of_run("10M", "noms")) == "10M,1h"
    assert str(protocol.budget_of_run("10M", GENERALIST)) == "70M,7h"
    assert str(protocol.budget_of_run("400", GENERALIST)) == "2800"


@pytest.mark.parametrize(
    ("player", "name", "other"),
    [
        ("{game}@0", "noms@0", "{game}"),
        ("noms", "noms", "noms@0"),
        ("noms@1.0", "noms@1.0", "noms@0"),
        ("{policy}", "noms@0", ""),
        ("thumb", "thumb:2", ""),
        ("noms@0.5", "noms@0.5", ""),
    ],
)
def test_the_policy_of_the_other_convention_has_another_name(player: str, name: str, other: str) -> None:
    assert other_convention(player, name) == other


@pytest.mark.parametrize(
    ("player", "other", "convention"),
    [
        ("noms@0", "noms", "greedy"),
        ("noms@0.0", "noms", "greedy"),
        ("noms@1", "noms@0", "sampled"),
        ("noms", "noms@0", "sampled"),
        ("{policy}", "", ""),
        ("pimc:20", "", ""),
        ("search:noms@0,worlds=4", "", ""),
    ],
)
def test_the_players_of_an_entry_tell_its_convention(player: str, other: str, convention: str) -> None:
    assert Entry("mine", "fixed", player, other_player=other).convention == convention


# ---------------------------------------------------------------------------------------------------------- the cells


def test_each_block_has_the_next_deals_of_one_setting(tmp_path: Path) -> None:
    entry = Entry("greedy", "fixed", "greedy", (GAME,), tracks=("generalist",))
    first, second = (cells_of_entry(entry, tmp_path, ["generalist"], most=9, second=second)[0] for second in (False, True))
    assert [*first.blocks] == [(0, 3), (3, 3), (6, 3)]
    play_cells([first, second], None)
    for playing, deal in ((first, 0), (second, 160)):
        points = first.pairings[1].play(deal, 3, Event()).values.mean(axis=1)
        assert playing.cell.blocks[3] == (points * 1e4).round().tolist()
    assert [pairing.rules.seats for pairing in first.pairings] == [3, 5, 6]


def test_replicates_draw_deals_within_each_setting() -> None:
    """Differences between settings are not chance."""
    values, rng = {"thumb": np.repeat([[0.0, 10.0, 20.0]], 50, axis=1)}, np.random.default_rng(0)
    for settings, has_spread in ((3, False), (1, True)):
        means, _ = replicates_of(values, {"thumb": References(0, 1)}, 50, rng, settings)
        assert (means.std() > 0.01) == has_spread


def test_more_settings_of_the_same_cards_do_not_narrow_an_interval() -> None:
    """Settings that deal the same pack alike have the same cards in deals of one number, so they share the luck."""
    luck, rng, place = np.random.default_rng(0).normal(size=100), np.random.default_rng(1), PROTOCOLS[V2].parts["generalist"]
    spread = [
        replicates_of({"thumb": np.tile(luck, settings)[None]}, {"thumb": References(0, 1)}, 2000, rng, settings)[0].std()
        for settings in (1, 4)
    ]
    assert spread[1] == pytest.approx(spread[0], rel=0.1)
    field = replace(place.fields[0], deals=300)
    numbers = np.tile(luck * 1e4, 3).round().astype(int)
    cell = Cell(place, GAME, 0, field, None, None, {first: numbers[first : first + 100].tolist() for first in (0, 100, 200)})
    assert cell.figures()["error"] == pytest.approx(luck.std(ddof=1) / 10, rel=1e-3)


def test_the_file_of_another_cell_is_ignored(tmp_path: Path) -> None:
    parts, blocks = PROTOCOLS[V2].parts, {0: [1] * 480}
    place = Place(parts["generalist"], GAME, 0, parts["generalist"].fields[0])
    saved = Cell(*place, None, None, blocks)
    saved.save(tmp_path)
    changes: list[dict[str, Any]] = [
        {},
        {"part": parts["single_game"], "field": replace(place.field, deals=2048)},
        *({"game": "noms"}, {"seed": 1}, {"field": parts["generalist"].fields[1]}, {"first": 160}),
        *({"part": replace(place.part, protocol=V1)}, {"player_sha256": "0" * 64}),
    ]
    for change in changes:
        cell = replace(saved, **{"blocks": {}, **change})
        file = cell.path(tmp_path)
        if file != saved.path(tmp_path):
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(saved.path(tmp_path), file)
        cell.load(tmp_path)
        assert bool(cell.blocks) == (not change), change


# ------------------------------------------------------------------------------------------------- an entry, and cheats


def write_run(run: Path, game: str, seed: int, decisions: int) -> None:
    """Write the files that `noms benchmark run` leaves of a run."""
    run.mkdir(parents=True)
    (run / "weights.txt").write_text(f"{game} {seed}")
    (run / "player.py").write_text(PLAYER_FILE)
    (run / "curve.csv").write_text(f"decisions,points\n0,-1\n{decisions},0\n")
    document = {
        **{"game": game, "seed": seed, "budget": str(PROTOCOLS[V2].budget_of_run("10M", game)), "decisions": decisions},
        **{"wall_seconds": 1.0, "cpu_seconds": 1.0, "decisions_per_second": decisions, "files": ["weights.txt"]},
        **{"files_sha256": files_sha256(run, ["weights.txt"]), "curve_sha256": sha256_of(run / "curve.csv")},
        **{"versions": versions(), "machine": machine()},
    }
    (run / "run.json").write_text(json.dumps(document))


@pytest.fixture(scope="module")
def small_protocol() -> Iterator[None]:
    """The protocol with one game and few deals."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch, DEALS, (GAME,), PROTOCOLS[V2].tracks, V2)
        yield


@pytest.fixture(scope="module")
def scored_entry(small_protocol: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete entry of an algorithm."""
    del small_protocol
    folder = tmp_path_factory.mktemp("benchmark") / "entry"
    folder.mkdir()
    (folder / "algorithm.py").write_text(ALGORITHM)
    sha256 = sha256_of(folder / "algorithm.py")
    write_entry(folder, Entry("first", "self-play", OF_A_RUN, (GAME,), (1, 2, 3), "10M", sha256))
    for seed in (1, 2, 3):
        for game in (GAME, GENERALIST):
            write_run(folder / "trained" / game / str(seed), game, seed, 9_700_000)
    play_and_score(folder)
    return folder


@pytest.fixture
def entry(scored_entry: Path, tmp_path: Path) -> Path:
    return shutil.copytree(scored_entry, tmp_path / "entry", ignore=shutil.ignore_patterns("__pycache__"))


def test_a_report_gives_the_decisions_of_a_run_on_one_game(entry: Path) -> None:
    for seed in (1, 2, 3):
        update_json(entry / "trained" / GENERALIST / str(seed) / "run.json", decisions=67_900_000)
    assert {run["decisions"] for run in runs_of(read_scored([entry])[0])} == {9_700_000}


def test_an_entry_of_all_tracks_is_complete_and_played_again(run: Run, entry: Path) -> None:
    assert complaints(entry) == []
    document = read_scores(entry)
    assert document["parts"] == [name for name in PROTOCOLS[V2].parts if name != "other_convention"]
    counts = Counter[str]()
    for part, games in document["cells"].items():
        counts[part] = sum(len(fields) for seeds in games.values() for fields in seeds.values())
    assert counts == {**{"single_game": 12, "reported": 6, "generalist": 6, "new_rules": 6, "strangers": 3, "cross": 6}}
    status, out, _ = run("benchmark", "check", entry, "--cells", 3, "--seed", 1, "--threads", 1, "--allow-programs")
    assert (status, "3 cells played again" in out) == (0, True), out


def swap_policy_of_a_run(entry: Path) -> None:
    shutil.rmtree(entry / "trained" / GAME / "1")
    shutil.copytree(entry / "trained" / GAME / "2", entry / "trained" / GAME / "1")


def play_by_other_files(entry: Path) -> None:
    """Keep the runs and let other policies play."""
    shutil.copytree(entry / "trained", entry / "better")
    for run in (entry / "better").glob("*/*"):
        (run / "weights.txt").write_text(f"better {run}")
        (run / "run.json").unlink()
    update_json(entry / "entry.json", player=OF_A_RUN.replace("trained", "better"))
    rescore(entry)


def rescore(entry: Path) -> None:
    """Write scores with the former points and the present hashes, without playing."""
    shutil.rmtree(entry / "cells")
    claim, document = read_entry(entry), read_scores(entry)
    players, cells = Players(claim, entry.resolve(), ()), list[Cell]()
    for place in PROTOCOLS[V2].places(claim.games, claim.seeds, document["parts"]):
        if place.part.kind != "other" or claim.other_player:
            seats = players.of(place)
            assert seats is not None
            figures = document["cells"][place.part.name][GAME][str(place.seed)][place.field.name]
            points = [round(1e4 * figures["points"])] * place.field.deals
            cells.append(Cell(*place, seats[0].sha256, figures["field_sha256"], {0: points}))
    write_scores(entry, scored(claim, cells))


def share_a_policy_among_seeds(entry: Path) -> None:
    for seed in (2, 3):
        run = entry / "trained" / GAME / str(seed)
        (run / "weights.txt").write_text(f"{GAME} 1")
        update_json(run / "run.json", files_sha256=files_sha256(run, ["weights.txt"]))
    rescore(entry)


def specialise_the_generalist(entry: Path) -> None:
    shutil.rmtree(entry / "cells")
    cell = ("cells", "new_rules", GAME, "1", "thumb")
    edit_json(entry / "scores.json", lambda scores: reduce(getitem, cell, scores).update(player_sha256="0" * 64))


def change_the_budget(entry: Path) -> None:
    for name in ("entry", "scores"):
        update_json(entry / f"{name}.json", budget="20M")


def add_a_cell(scores: dict[str, Any]) -> None:
    cells = scores["cells"]["cross"][GAME]["1"]
    cells["thumb"] = cells["seed-2"]


def leave_out_a_track(scores: dict[str, Any]) -> None:
    scores["parts"].remove("new_rules")
    del scores["scores"]["new_rules"]


Cheat = Callable[[Path], object]
OF_RUN, OF_GENERALIST = (f"trained/{run}/1" for run in (GAME, GENERALIST))


def changing(file: str, **values: object) -> Cheat:
    return lambda entry: update_json(entry / file, **values)


def editing(file: str, change: Callable[[dict[str, Any]], object]) -> Cheat:
    return lambda entry: edit_json(entry / file, change)


def writing(file: str, text: str) -> Cheat:
    return lambda entry: (entry / file).write_text(text)


CHEATS: dict[str, tuple[Cheat, str]] = {
    "the policy of another run": (swap_policy_of_a_run, "1/run.json is that of another run"),
    "one policy for several seeds": (share_a_policy_among_seeds, f"the seeds 1, 2, 3 of {GAME} have the same policy"),
    "players other than the trained ones": (play_by_other_files, "are of another policy than the run has made"),
    "a generalist of several policies": (specialise_the_generalist, "generalist, seed 1, are of another policy than the run"),
    "a changed policy": (writing(f"{OF_RUN}/weights.txt", "7"), "not those that the run has made"),
    "a missing curve": (lambda entry: (entry / OF_RUN / "curve.csv").unlink(), "no learning curve"),
    "a player file of its own": (writing(f"{OF_RUN}/player.py", "player = 'pimc:100'"), "not the file that every run has"),
    "the curve of another run": (
        writing(f"{OF_RUN}/curve.csv", "decisions,points\n0,1\n9700000,2\n"),
        "not the learning curve",
    ),
    "a run of another budget": (changing(f"{OF_RUN}/run.json", budget="100M,10h"), "budget '100M,10h', not 10M,1h"),
    "too many decisions": (changing(f"{OF_GENERALIST}/run.json", decisions=10**8), "1.43 times the budget 10M"),
    "a curve that ends early": (
        changing(f"{OF_GENERALIST}/run.json", decisions=6 * 10**7),
        "does not end with the run, after 60,000,000",
    ),
    "a budget outside the protocol": (change_the_budget, "the budget must be one of 1M, 10M, 100M, not 20M"),
    "an algorithm that is not named": (changing("entry.json", algorithm=""), "not the file that the runs were made with"),
    "other deals": (changing("scores.json", second=True), "other deals than those of the protocol"),
    "a trial": (changing("scores.json", trial=True), "the scores are of a trial"),
    "cells outside the entry": (editing("scores.json", add_a_cell), "the scores have cells that the entry has not"),
    "the scores of protocol 2": (changing("entry.json", protocol=V1, tracks=[]), "another protocol than the entry"),
    "a track that is not scored": (editing("scores.json", leave_out_a_track), "the part new_rules is not scored"),
    "edited points": (
        editing(f"cells/single_game/{GAME}/1/thumb.json", lambda cell: cell["points"].update({"0": [9] * DEALS})),
        "cells in the scores is not what the deals in",
    ),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_refused(entry: Path, cheat: str) -> None:
    change, sentence = CHEATS[cheat]
    change(entry)
    assert sentence in "\n".join(complaints(entry)), cheat


def test_the_player_of_the_other_convention_must_be_a_policy(run: Run, small_protocol: None, tmp_path: Path) -> None:
    del small_protocol
    entry = Entry("noms", "fixed", "thumb", (GAME,), other_player="greedy", tracks=("single_game",))
    write_entry(tmp_path, entry)
    assert [each.names[0] for each in cells_of_entry(entry, tmp_path, ["other_convention"])] == ["greedy"]
    assert run("benchmark", "score", tmp_path, "--threads", 1)[0] == 0
    assert complaints(tmp_path) == [f"the player of the other convention in {GAME}, seed 0, is no policy"]


def test_second_deals_differ_and_have_a_folder_of_their_own(run: Run, small_protocol: None, tmp_path: Path) -> None:
    del small_protocol
    words = ("benchmark", "score", tmp_path / "greedy", "--threads", 1)
    assert run(*words, "--player", "greedy", "--games", GAME, "--tracks", "generalist")[0] == 0
    status, out, _ = run(*words, "--second-deals")
    assert (status, "second/scores.json" in out) == (0, True), out
    first, second = (read_scores(tmp_path / "greedy" / folder) for folder in ("", "second"))
    assert (first.get("second"), second["second"]) == (None, True)
    cells = [document["cells"]["generalist"][GAME]["0"]["thumb"] for document in (first, second)]
    assert cells[0]["deals"] == cells[1]["deals"] == DEALS
    assert cells[0]["points"] != cells[1]["points"]
    assert_refused(run(*words, "--player", "greedy", "--games", GAME, "--name", "other"), "another entry")
