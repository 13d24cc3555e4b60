"""The page on how strong the policies are: its tables, what is refused, and that the published one is up to date."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from noms_env.policy.file import read_info
from noms_env.variants import Rules, game, make_rules
from tests.training.test_outcome import POINTS, make_run
from tests.training.test_results import entry, estimate, evaluation, tournament
from training import cli
from training.evaluation.deal_sets import digest
from training.learn.log import HEADER, as_csv
from training.publish.leaderboard import (
    ABLATIONS,
    BEHAVIOUR,
    MILESTONES,
    OWNER,
    PAGE,
    PANEL,
    LadderError,
    blocks,
    read_standing,
)
from training.publish.markdown import BlockError, with_blocks
from training.publish.run_summary import BEGUN, CURVE, read_outcome

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
NONESUCH, THREE = make_rules(game("nonesuch")), make_rules(game("nonesuch"), 3)
EMPTY = "# Players\n\n<!-- noms ladder: policies -->\nold\n<!-- end of policies -->\nby hand\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a policy, a tournament, and figures of its own."""
    folder = tmp_path_factory.mktemp("ladder") / "checkpoints"
    for part in (PANEL, MILESTONES, ABLATIONS, "mine"):
        (folder / part).mkdir(parents=True)
    run = make_run(folder.parent / "run")
    shutil.copy(run / "policy.safetensors", folder / "mine")
    times = [(1000, "seconds", 60.0), (3000, "seconds", 300.0)]
    figures = {name: series for name, series in read_outcome(run).curve().items() if name != "seconds"}
    curve = [(int(at), name, float(value)) for name, series in figures.items() for at, value in zip(*series, strict=True)]
    (folder / "mine" / "curve.csv").write_bytes(as_csv([HEADER, *curve, *times]))
    points: dict[str, Any] = {"points": {"all": estimate(1), "alone": estimate(0.5), "against": estimate(0.25)}}
    few: dict[str, Any] = {"points": {name: {**estimate(7), "deals": 5} for name in ("all", "alone", "against")}}
    put(folder, PANEL, "thumb", evaluation("mine", "thumb", entry(1, NONESUCH, **points), entry(2, THREE, **points)))
    put(folder, PANEL, "few", evaluation("mine", "thumb", entry(1, NONESUCH, **few)))
    put(folder, PANEL, "back", evaluation("random", "mine@0", entry(1, NONESUCH, **points)))
    others = {"thumb": 1.0, "pimc:100": 2.0, "random": -3.0}
    put(folder, PANEL, "search", tournament(others, {("thumb", "random"): 4.0}, NONESUCH))
    put(folder, ABLATIONS, "nonesuch", tournament({"base": 1.0, "teacher": 2.0, "thumb": 0.5}, {}, NONESUCH))
    put(folder, ABLATIONS, "nonesuch-counts", evaluation("runs/x", "thumb", entry(1, NONESUCH, deals=400, **points)))
    for decisions, low in ((1000, -1.0), (2000, 0.25), (3000, 1.0)):
        found: dict[str, Any] = {"points": {name: estimate(low, 0.125) for name in ("all", "alone", "against")}}
        name = f"runs/x/past/{decisions:012}.safetensors"
        put(folder, MILESTONES, f"mine-{decisions}", evaluation(name, "pimc:100", entry(1, NONESUCH, **found)))
    (folder / PAGE).write_text(EMPTY)
    return folder


def put(folder: Path, part: str, name: str, document: object) -> None:
    (folder / part / f"{name}.json").write_text(json.dumps(document))


def rows(text: str) -> list[list[str]]:
    """The rows of the tables of a text, with neither heads nor rules."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    rules = [number for number, line in enumerate(lines) if set(line[0]) == {"-"}]
    return [line for number, line in enumerate(lines) if number not in rules and number + 1 not in rules]


# -------------------------------------------------------------------------------------------------------------- tables


def test_a_policy_stands_with_its_best_known_figures(made: Path) -> None:
    found = blocks(read_standing(made))
    assert rows(found["policies"]) == [
        ["`nonesuch`", "`mine`", "", "+0.500 (+0.250 to +0.750), 400 deals", ""],
        ["`nonesuch`", "`mine@0`", "-0.250 (-0.500 to -0.000), 400 deals", "", ""],
    ]
    assert rows(found["seats"]) == [["`nonesuch`", "3", "`mine`", "+0.500 (+0.250 to +0.750), 400 deals"]]


def test_strength_is_reached_when_the_interval_is_clear_of_zero(made: Path) -> None:
    shown = rows(blocks(read_standing(made))["time"])
    lows = {kind: POINTS[kind][1][1] + (3000 - 2000) / 1000 for kind in ("nonesuch_4", "down_up_4")}
    assert lows == {"nonesuch_4": 0.8, "down_up_4": 0.5}  # and not above 0 after 2,000 decisions
    assert shown == [
        ["`nonesuch`", "`mine`", "3,000 decisions, 5 min", "2,000 decisions, 3 min"],
        ["`down_up`", "`mine`", "3,000 decisions, 5 min", "not shown"],
    ]


def test_milestones_of_the_last_of_several_runs_count_from_its_beginning(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    with (folder / "mine" / CURVE).open("a") as curve:
        curve.write(f"0,{BEGUN},1\n500,{BEGUN},2\n")
    assert rows(blocks(read_standing(folder))["time"])[0][-1].startswith("2,500 decisions, ")


def test_the_policy_itself_is_the_last_milestone(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    for file in (folder / MILESTONES).iterdir():
        file.unlink()
    assert rows(blocks(read_standing(folder))["time"])[0][-1] == "not shown"
    points: dict[str, Any] = {"points": {"alone": estimate(0.5), "all": estimate(-1)}}
    seen = read_info(folder / "mine" / "policy.safetensors").decisions
    put(folder, PANEL, "alone", evaluation("mine@0", "pimc:100", entry(1, NONESUCH, **points)))
    assert rows(blocks(read_standing(folder))["time"])[0][-1].startswith(f"{seen:,} decisions, ")
    more: dict[str, Any] = {"points": {name: {**estimate(-0.5), "deals": 401} for name in ("alone", "all")}}
    put(folder, PANEL, "more", evaluation("mine@0", "pimc:100", entry(1, NONESUCH, **more)))
    assert rows(blocks(read_standing(folder))["time"])[0][-1] == "not shown"


def test_everybody_against_everybody(made: Path) -> None:
    found = blocks(read_standing(made))
    assert [row[0] for row in rows(found["panel"])] == ["`pimc:100`", "`thumb`", "`random`"]
    assert rows(found["panel"])[0][1:] == ["", "+1.000 ±0.250", "+5.000 ±0.250", "+2.000 (0.125)"]
    assert "### Nonesuch (`nonesuch`), 4 seats\n\n400 deals for each pair" in found["panel"]
    assert rows(found["search"]) == [
        ["`nonesuch`", "400", "+1.000 (+0.750 to +1.250)", "", "", "+4.000 (+3.750 to +4.250), 400 deals"]
    ]
    assert rows(found["ablations"]) == [
        ["`base`", "", "+0.500 (+0.250 to +0.750)"],
        ["`teacher`", "+1.000 (+0.750 to +1.250)", "+1.500 (+1.250 to +1.750)"],
        ["`counts`", "", "+0.500 (+0.250 to +0.750)"],
    ]


def among_themselves(player: str, kind: Rules, probes: dict[str, float], sha256: str = "") -> dict[str, Any]:
    """What a player did at tables with nobody else."""
    policies = {player: sha256} if sha256 else {}
    return evaluation(player, player, entry(0, kind, deals=400, probes={"a": probes, "b": probes})) | {"policies": policies}


def test_what_players_do_among_themselves(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    assert blocks(read_standing(folder))["behaviour"] == "Not measured yet."
    (folder / BEHAVIOUR).mkdir()
    own = hashlib.sha256((folder / "mine" / "policy.safetensors").read_bytes()).hexdigest()
    noms, exact = make_rules(game("noms")), make_rules(game("down_up"))
    put(folder, BEHAVIOUR, "b", among_themselves("mine@0", noms, {"passed_out": 0.2, "partner/trick": 3.25, "solo": 0.0}, own))
    put(folder, BEHAVIOUR, "a", among_themselves("pimc:20", noms, {"passed_out": 0.5, "numbers/made": 0.625}))
    put(folder, BEHAVIOUR, "c", among_themselves("thumb", exact, {"bid/hit": 0.5, "bid/hit/10": 0.375, "bid/hit/9": 1.0}))
    found = blocks(read_standing(folder))["behaviour"]
    heads = [line for line in found.splitlines() if "deals" in line]
    assert heads == [
        "| `noms`, 4 seats | deals | passed out | contracts made | own card nominated | partner seen in trick |",
        "| `down_up`, 4 seats | deals | bids hit exactly | bids of ten cards hit |",
    ]
    assert rows(found) == [
        ["`mine@0`", "400", "20.0% ±3.9", "", "0.0%", "3.25"],
        ["`pimc:20`", "400", "50.0% ±4.9", "62.5%", "", ""],
        ["`thumb`", "400", "50.0%", "37.5%"],
    ]


def test_what_another_policy_of_the_name_did_is_refused(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    (folder / BEHAVIOUR).mkdir()
    for sha256 in ("0" * 64, ""):
        put(folder, BEHAVIOUR, "old", among_themselves("mine", NONESUCH, {}, sha256))
        with pytest.raises(LadderError, match="has figures of another policy than the one that is called mine now"):
            read_standing(folder)


def test_an_empty_folder_has_a_page_too(tmp_path: Path) -> None:
    found = blocks(read_standing(tmp_path))
    assert found["policies"] == "No policy has been measured yet."
    assert found["seats"] == found["time"] == found["behaviour"] == found["ablations"] == "Not measured yet."


# --------------------------------------------------------------------------------------------------------------- command


def test_only_the_blocks_change(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = made / PAGE
    assert cli.main(["ladder", str(made)]) == 0
    text = page.read_text()
    assert text.startswith("# Players\n\n<!-- noms ladder: policies -->\n\n| game | policy |")
    assert text.endswith("400 deals |  |  |\n\n<!-- end of policies -->\nby hand\n")
    assert "old" not in text
    assert cli.main(["ladder", str(made)]) == 0
    assert page.read_text() == text
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().out.splitlines()] == ["written", "as it was"]
    page.write_text(EMPTY)


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("panel/x.json", "{", "is no JSON"),
        ("panel/x.json", "[]", "is not of the format noms-evaluate/1 or noms-tournament/1"),
        ("panel/x.json", '{"format": "noms-evaluate/1", "environment": 9}', "is of version 9 of the environments, not 0"),
        ("ablations/x.json", json.dumps({"format": "x"}), "is not of the format noms-evaluate/1 or noms-tournament/1"),
        ("ablations/x-y.json", json.dumps(evaluation("a", "thumb")), "is not of a recipe against thumb on the deals of other"),
        ("ablations/nonesuch-y.json", json.dumps(evaluation("a", "thumb")), "is not of a recipe against thumb on the deals"),
        ("ablations/x.json", json.dumps(tournament({"a": 1.0, "b": 0.0}, {})), "has no player 'base'"),
        ("milestones/mine-x.json", json.dumps(evaluation("thumb", "b")), "is not of a policy from RUN/past"),
        (
            "behaviour/x.json",
            json.dumps(evaluation("thumb", "b")),
            "must be of a player against itself, not of thumb",
        ),
        ("behaviour/x.json", json.dumps(evaluation("thumb", "thumb", entry(1))), "is damaged: KeyError('deals')"),
        ("mine/policy.safetensors", "no", "policy.safetensors"),
        ("mine/curve.csv", "no", "is not the log of a run"),
        ("README.md", "<!-- noms ladder: policies -->", "no comment <!-- end of policies -->"),
        ("README.md", "<!-- noms ladder: wit -->\n<!-- end of wit -->", "has a block 'wit'; the blocks of noms ladder are"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_written(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, content: str, sentence: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    (folder / BEHAVIOUR).mkdir()
    (folder / file).write_text(content)
    before = (folder / PAGE).read_bytes()
    assert cli.main(["ladder", str(folder)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("noms: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert (folder / PAGE).read_bytes() == before


def test_figures_of_another_policy_of_the_name_are_refused(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    own = hashlib.sha256((folder / "mine" / "policy.safetensors").read_bytes()).hexdigest()
    before = len(read_standing(folder).policies[0].duels)
    put(folder, PANEL, "new", evaluation("mine@0", "thumb", entry(1, NONESUCH)) | {"policies": {"mine@0": own}})
    assert len(read_standing(folder).policies[0].duels) == before + 1
    put(folder, PANEL, "old", evaluation("mine@0", "thumb", entry(1, NONESUCH)) | {"policies": {"mine@0": "0" * 64}})
    with pytest.raises(LadderError, match="has figures of mine@0, but of another policy than this one"):
        read_standing(folder)


def test_no_folder_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ladder", str(tmp_path / "none")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_blocks_of_others_stay() -> None:
    page = "<!-- another: a -->\nx\n<!-- end of a -->\n<!-- noms ladder: b -->\ny\n<!-- end of b -->\n"
    assert with_blocks(page, OWNER, {"b": "new"}, "page") == page.replace("y\n", "\nnew\n\n")
    with pytest.raises(BlockError, match="page has a block 'b'"):
        with_blocks(page, OWNER, {"a": "new"}, "page")


# ------------------------------------------------------------------------------------------------------ what is published


def test_the_published_page_is_up_to_date() -> None:
    """So all its figures are those of the files beside it."""
    page = (CHECKPOINTS / PAGE).read_text()
    standing = read_standing(CHECKPOINTS)
    assert with_blocks(page, OWNER, blocks(standing), PAGE) == page
    assert {f"<!-- noms ladder: {name} -->" in page for name in blocks(standing)} == {True}


PUBLISHED = [path for part in (PANEL, BEHAVIOUR) for path in sorted((CHECKPOINTS / part).glob("*.json"))]


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_the_published_figures_are_of_the_frozen_test_deals(path: Path) -> None:
    saved = json.loads(path.read_text())
    for one in saved.get("games", [saved]):
        kind: Rules = make_rules(game(one["variant"]), one["seats"], one["options"])
        assert (one["set"], one["set_sha256"]) == ("test", digest(kind, "test"))
        assert all(lost["tables"] == 0 for lost in one["lost"].values())


def test_every_game_has_its_panel() -> None:
    searched = [one for one in read_standing(CHECKPOINTS).tournaments if "pimc:100" in one["players"]]
    assert [one["variant"] for one in searched] == [
        *("sniped_whist", "big_ships", "small_ships", "noms", "nonesuch", "down_up", "up_down")
    ]
    for one in searched:
        assert one["table"]["pimc:100"]["thumb"]["low"] > 0, "the search is better than the rules of thumb"
