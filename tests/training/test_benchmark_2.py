"""Protocol 2 of the benchmark: its tracks, its cells, and an entry of it that tries to fool the checker."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from noms_training.agents.registry import file_sha256
from noms_training.benchmark import scores
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
from noms_training.benchmark.scores import read_scores, replicates_of, scored, write_scores
from noms_training.benchmark.task import PLAYER_FILE
from tests.commands import Run, assert_refused
from tests.training.entries import FIRST, make_small

GAME, DEALS = "small_ships", 9
"""A game of all tracks, and deals that all its settings can share: there are 9 in `new_rules`, and 3 in `generalist`."""
ALGORITHM = f'''"""Takes the first: learns nothing."""
{FIRST}

def train(task):
    task.log(100, First)
'''

# -------------------------------------------------------------------------------------------------------- the protocol


def test_the_policies_of_the_protocol_are_those_of_the_repository() -> None:
    for name, (policy, sha256) in PROTOCOLS[V2].policies.items():
        assert file_sha256(policy) == sha256, name


def test_the_settings_of_a_part_share_its_deals_evenly() -> None:
    for part in PROTOCOLS[V2].parts.values():
        for game in part.games:
            settings = part.settings(game)
            assert len({*settings}) == len(settings) > 0
            assert all(field.deals % len(settings) == 0 for field in part.fields), (part.name, game)
            assert len(settings) == 1 or len({field.deals for field in part.fields}) == 1, "all fields have the same deals"
    new = PROTOCOLS[V2].parts["new_rules"]
    assert sum(len(new.settings(game)) for game in new.games) == 50


def test_a_track_has_the_players_that_its_runs_meet() -> None:
    parts = PROTOCOLS[V2].parts

    def players(part: Part, field: int, game: str) -> tuple[str, ...]:
        return PROTOCOLS[V2].players_of(Place(part, game, 0, part.fields[field]))

    assert players(parts["single_game"], 0, "noms") == ("thumb:2",)
    assert players(parts["single_game"], 3, "noms") == ("thumb:2", "noms@0", "pimc:20")
    assert players(parts["new_rules"], 1, "noms") == ("generalist@0",)
    strangers = players(parts["strangers"], 0, "small_ships")
    assert strangers[1:3] == ("small_ships@0", "generalist@0")
    assert strangers[3] == PROTOCOLS[V1].policies["small_ships"][0]
    entry = Entry("best", "search", PROTOCOLS[V2].one, (GAME,))
    assert [entry.player_name(Path(), run, 0) for run, _ in entry.runs] == [
        f"search:{name}@0,worlds=24" for name in (GAME, GENERALIST)
    ]


def test_a_run_on_all_games_has_the_budget_of_seven() -> None:
    protocol = PROTOCOLS[V2]
    assert str(protocol.budget_of_run("10M", "noms")) == "10M,1h"
    assert str(protocol.budget_of_run("10M", GENERALIST)) == "70M,7h"
    assert str(protocol.budget_of_run("400", GENERALIST)) == "2800"


@pytest.mark.parametrize(
    ("player", "name", "other"),
    [("{game}@0", "noms@0", "{game}"), ("noms", "noms", "noms@0"), ("thumb", "thumb:2", ""), ("noms@0.5", "noms@0.5", "")],
)
def test_a_policy_has_another_convention(player: str, name: str, other: str) -> None:
    assert other_convention(player, name) == other


def test_the_reference_of_a_score_has_the_unit() -> None:
    pair = References(-1.0, 3.0, PROTOCOLS[V2].unit)
    assert [pair.score(points) for points in (-1.0, 1.0, 3.0)] == [0.0, 50.0, 100.0]


# ---------------------------------------------------------------------------------------------------------- the cells


def test_blocks_lie_in_one_setting_and_are_the_first_deals_of_its_rules(tmp_path: Path) -> None:
    entry = Entry("greedy", "fixed", "greedy", (GAME,), tracks=("generalist",))
    first, second = (cells_of_entry(entry, tmp_path, ["generalist"], most=9, second=second)[0] for second in (False, True))
    assert [*first.blocks] == [(0, 3), (3, 3), (6, 3)]
    play_cells([first, second], None)
    assert first.cell.blocks[3] == first.pairings[1].play(0, 3, Event()).values.mean(axis=1).__mul__(1e4).round().tolist()
    assert second.cell.blocks[3] == first.pairings[1].play(160, 3, Event()).values.mean(axis=1).__mul__(1e4).round().tolist()
    assert [pairing.rules.seats for pairing in first.pairings] == [3, 5, 6]


def test_deals_are_drawn_anew_within_each_setting() -> None:
    """What differs between settings alone is no chance."""
    values, rng = {"thumb": np.repeat([[0.0, 10.0, 20.0]], 50, axis=1)}, np.random.default_rng(0)
    for settings, has_spread in ((3, False), (1, True)):
        drawn, _ = replicates_of(values, {"thumb": References(0, 1)}, 50, rng, settings)
        assert (drawn.std() > 0.01) == has_spread


def test_a_cell_of_another_place_is_not_gone_on_with(tmp_path: Path) -> None:
    parts, blocks = PROTOCOLS[V2].parts, {0: [1] * 480}
    place = Place(parts["generalist"], GAME, 0, parts["generalist"].fields[0])
    kept = Cell(*place, None, None, blocks)
    kept.save(tmp_path)
    others: list[dict[str, Any]] = [
        {"part": parts["single_game"], "field": replace(place.field, deals=2048)},
        *({"game": "noms"}, {"seed": 1}, {"field": parts["generalist"].fields[1]}, {"first": 160}),
        *({"part": replace(place.part, protocol=V1)}, {"player_sha256": "0" * 64}),
    ]
    for change in (dict[str, Any](), *others):
        cell = replace(kept, **{"blocks": {}, **change})
        file = cell.path(tmp_path)
        if file != kept.path(tmp_path):
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept.path(tmp_path), file)
        cell.load(tmp_path)
        assert bool(cell.blocks) == (not change), change


# ------------------------------------------------------------------------------------------------- an entry, and cheats


def write_run(run: Path, game: str, seed: int, decisions: int) -> None:
    """What `noms benchmark run` leaves of a run."""
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
def small() -> Iterator[None]:
    """The protocol with one game and few deals."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch, DEALS, (GAME,), PROTOCOLS[V2].tracks, V2)
        patch.setattr(scores.summary, "__defaults__", (50,))
        yield


@pytest.fixture(scope="module")
def scored_once(small: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete entry of an algorithm."""
    del small
    folder = tmp_path_factory.mktemp("benchmark") / "entry"
    folder.mkdir()
    (folder / "algorithm.py").write_text(ALGORITHM)
    sha256 = sha256_of(folder / "algorithm.py")
    write_entry(folder, Entry("first", "self-play", OF_A_RUN, (GAME,), (1, 2, 3), "10M", sha256))
    for seed in (1, 2, 3):
        for game in (GAME, GENERALIST):
            write_run(folder / "trained" / game / str(seed), game, seed, 9_700_000)
    entry = read_entry(folder)
    playing = cells_of_entry(entry, folder, PROTOCOLS[V2].parts, kept=folder)
    assert play_cells(playing, folder)[0] == "all"
    write_scores(folder, scored(entry, [of.cell for of in playing]))
    return folder


@pytest.fixture
def entry(scored_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(scored_once, tmp_path / "entry", ignore=shutil.ignore_patterns("__pycache__"))


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


def edited(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def update(file: Path, **values: Any) -> bool:
    edited(file, lambda said: said.update(values))
    return True


def swap_policy_of_a_run(entry: Path) -> None:
    shutil.rmtree(entry / "trained" / GAME / "1")
    shutil.copytree(entry / "trained" / GAME / "2", entry / "trained" / GAME / "1")


def play_by_other_files(entry: Path) -> None:
    """The runs are as they were, and others play."""
    shutil.copytree(entry / "trained", entry / "better")
    for run in (entry / "better").glob("*/*"):
        (run / "weights.txt").write_text(f"better {run}")
        (run / "run.json").unlink()
    update(entry / "entry.json", player=OF_A_RUN.replace("trained", "better"))
    rescore(entry)


def rescore(entry: Path) -> None:
    """Score again what the folder has, with as little play as can be: the points of before, by the hashes of now."""
    shutil.rmtree(entry / "cells")
    said, document = read_entry(entry), read_scores(entry)
    players, cells = Players(said, entry.resolve(), ()), list[Cell]()
    for place in PROTOCOLS[V2].places(said.games, said.seeds, document["parts"]):
        if place.part.kind != "other" or said.other_player:
            seats = players.of(place)
            assert seats is not None
            (figures, n) = (document["cells"][place.part.name][GAME][str(place.seed)][place.field.name], place.field.deals)
            cells.append(Cell(*place, seats[0].sha256, figures["field_sha256"], {0: [round(1e4 * figures["points"])] * n}))
    write_scores(entry, scored(said, cells))


def share_a_policy_among_seeds(entry: Path) -> None:
    for seed in (2, 3):
        run = entry / "trained" / GAME / str(seed)
        (run / "weights.txt").write_text(f"{GAME} 1")
        update(run / "run.json", files_sha256=files_sha256(run, ["weights.txt"]))
    rescore(entry)


def specialise_the_generalist(entry: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["cells"]["new_rules"][GAME]["1"]["thumb"]["player_sha256"] = "0" * 64

    shutil.rmtree(entry / "cells")
    edited(entry / "scores.json", change)


def add_a_cell(entry: Path) -> None:
    cells = "cells"
    edited(
        entry / "scores.json",
        lambda said: said[cells]["cross"][GAME]["1"].update(thumb=said[cells]["cross"][GAME]["1"]["seed-2"]),
    )


CHEATS: dict[str, tuple[Callable[[Path], object], str]] = {
    "the policy of another run": (swap_policy_of_a_run, "1/run.json is that of another run"),
    "one policy for several seeds": (share_a_policy_among_seeds, f"the seeds 1, 2, 3 of {GAME} have the same policy"),
    "others play than the runs have made": (play_by_other_files, "are of another policy than the run has made"),
    "a generalist of several policies": (specialise_the_generalist, "generalist, seed 1, are of another policy than the run"),
    "a player file of its own": (
        lambda entry: (entry / "trained" / GAME / "1" / "player.py").write_text("player = 'pimc:100'\n"),
        "player.py is not the file that every run has",
    ),
    "the curve of another run": (
        lambda entry: (entry / "trained" / GAME / "1" / "curve.csv").write_text("decisions,points\n0,1\n9700000,2\n"),
        "curve.csv is not the learning curve of the run",
    ),
    "a run of another budget": (
        lambda entry: update(entry / "trained" / GAME / "1" / "run.json", budget="100M,10h"),
        "had the budget '100M,10h', not 10M,1h",
    ),
    "more decisions than the budget": (
        lambda entry: update(entry / "trained" / GENERALIST / "1" / "run.json", decisions=100 * 10**6),
        "has used 1.43 times the budget 10M",
    ),
    "a curve that ends early": (
        lambda entry: update(entry / "trained" / GENERALIST / "1" / "run.json", decisions=60 * 10**6),
        "curve.csv does not end with the run, after 60,000,000 decisions",
    ),
    "a budget that the protocol has not": (
        lambda entry: [update(entry / f"{name}.json", budget="20M") for name in ("entry", "scores")],
        "the budget must be one of 1M, 10M, 100M, not 20M",
    ),
    "an algorithm that is not named": (
        lambda entry: update(entry / "entry.json", algorithm=""),
        "algorithm.py is not the file that the runs were made with",
    ),
    "other deals": (
        lambda entry: update(entry / "scores.json", second=True),
        "the scores are of other deals than those of the protocol",
    ),
    "a trial": (
        lambda entry: update(entry / "scores.json", trial=True),
        "the scores are of a trial",
    ),
    "cells that the entry has not": (add_a_cell, "the scores have cells that the entry has not"),
    "the scores of the other protocol": (
        lambda entry: update(entry / "entry.json", protocol=V1, tracks=[]),
        "the scores are of another protocol than the entry",
    ),
    "a track that is not scored": (
        lambda entry: edited(
            entry / "scores.json", lambda said: [said["parts"].remove("new_rules"), said["scores"].pop("new_rules")]
        ),
        "the part new_rules is not scored",
    ),
    "edited points": (
        lambda entry: edited(
            entry / "cells" / "single_game" / GAME / "1" / "thumb.json", lambda said: said["points"].update({"0": [9] * DEALS})
        ),
        "cells in the scores is not what the deals in",
    ),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_who_cheats_is_refused(entry: Path, cheat: str) -> None:
    change, sentence = CHEATS[cheat]
    change(entry)
    assert sentence in "\n".join(complaints(entry)), cheat


def test_a_player_of_the_other_convention_is_the_same_policy(run: Run, small: None, tmp_path: Path) -> None:
    del small
    entry = Entry("noms", "fixed", "thumb", (GAME,), other_player="greedy", tracks=("single_game",))
    write_entry(tmp_path, entry)
    play = cells_of_entry(entry, tmp_path, ["other_convention"])
    assert [one.names[0] for one in play] == ["greedy"]
    assert run("benchmark", "score", tmp_path, "--threads", 1)[0] == 0
    assert complaints(tmp_path) == [f"the player of the other convention in {GAME}, seed 0, is no policy"]


def test_second_deals_are_kept_apart_and_are_others(run: Run, small: None, tmp_path: Path) -> None:
    del small
    words = ("benchmark", "score", tmp_path / "greedy", "--threads", 1)
    assert run(*words, "--player", "greedy", "--games", GAME, "--tracks", "generalist")[0] == 0
    status, out, _ = run(*words, "--second-deals")
    assert (status, "second/scores.json" in out) == (0, True), out
    first, second = (read_scores(tmp_path / "greedy" / folder) for folder in ("", "second"))
    assert (first.get("second"), second["second"]) == (None, True)
    cells = [document["cells"]["generalist"][GAME]["0"]["thumb"] for document in (first, second)]
    assert cells[0]["deals"] == cells[1]["deals"] == DEALS
    assert cells[0]["points"] != cells[1]["points"]
    assert_refused(run(*words, "--player", "greedy", "--games", GAME, "--name", "other"), "there is another entry in")
