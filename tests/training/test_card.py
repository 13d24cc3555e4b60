"""`noms publish`: the folder of a policy, what its card says, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from noms_env import load_player
from noms_env.policy import player as policies
from noms_env.variants import game, make_rules
from tests.training.test_outcome import CONFIG, DONE, KEPT, make_run
from tests.training.test_outcome import parsed as parsed_command
from tests.training.test_results import entry, evaluation, saved, tournament
from training import extras
from training.cli import main
from training.config import CurriculumConfig, NetworkConfig, TrainConfig
from training.learn.log import read_series
from training.publish.markdown import table
from training.publish.model_card import NOTES_BEGIN, NOTES_END, CardError, card, notes_of, seats_text
from training.publish.result_files import Names, Results, read_results
from training.publish.run_summary import Outcome, read_outcome

Run = Callable[..., tuple[int, str, str]]
FILES = ["README.md", "curve.csv", "curve.png", "policy.safetensors", "runs.json"]
DOWN_UP = [make_rules(game("down_up"), seats) for seats in (3, 4)]


@pytest.fixture
def publish(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_main(*words: str | Path) -> tuple[int, str, str]:
        status = main(["publish", *map(str, words)])
        return status, *capsys.readouterr()

    return run_main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("card") / "run")


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return read_outcome(folder)


@pytest.fixture
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word in place of the picture, which takes a second to draw."""
    monkeypatch.setattr("training.commands.publish.picture_of", lambda name, curve: b"picture")


def measured(tmp_path: Path, document: dict[str, Any]) -> Results:
    """What a result file holds of the policy `mine`."""
    return read_results(saved(tmp_path, document), Names("mine", []), kinds_in(document))


def kinds_in(document: dict[str, Any]) -> list[Any]:
    """The rules in a result file."""
    games = document.get("games", [document])
    return [make_rules(game(one["variant"]), one["seats"], one["options"]) for one in games]


def part(text: str, title: str) -> str:
    """A section of a card."""
    (found,) = re.findall(rf"(?ms)^## {title}\n\n(.*?)(?=^## |\Z)", text)
    return str(found)


def is_one_sentence(text: str) -> bool:
    return text.startswith("noms: ") and text.count("\n") == 1 and "Traceback" not in text


# ---------------------------------------------------------------------------------------------------------- the command


def test_the_same_run_gives_the_same_bytes(publish: Run, folder: Path, tmp_path: Path) -> None:
    made = [tmp_path / name / "mine" for name in ("a", "b")]
    for path in made:
        status, out, err = publish(folder, "--name", "mine", "--out", path.parent)
        assert (status, err) == (0, "")
        assert out == f"{path}: a policy of 2,000 decisions, 0.03 MB · {path / 'README.md'}\n"
        assert sorted(file.name for file in path.iterdir()) == FILES
    for file in FILES:
        assert (made[0] / file).read_bytes() == (made[1] / file).read_bytes(), file
    assert (made[0] / "policy.safetensors").read_bytes() == (folder / "policy.safetensors").read_bytes()
    with Image.open(made[0] / "curve.png") as image:
        assert image.format == "PNG"
    lines = (made[0] / "curve.csv").read_text().splitlines()
    assert lines[0] == "decisions,name,value"
    assert "2000,points/nonesuch_3/thumb,0.5" in lines
    assert not [line for line in lines if "played/" in line]


@pytest.mark.usefixtures("no_picture")
def test_what_is_there_is_replaced_and_handwriting_kept(publish: Run, folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "mine"
    assert publish(folder, "--name", "mine", "--out", tmp_path)[0] == 0
    first = (made / "README.md").read_text()
    notes = "\r\nNever underleads an ace.\n\n* “quoted” \x1f\n"
    (made / "README.md").write_bytes(first.replace(f"{NOTES_BEGIN}\n", NOTES_BEGIN + notes).replace("# mine", "# x").encode())
    (made / "policy.safetensors").write_bytes(b"old")
    (made / "more.txt").write_text("kept")
    assert publish(folder, "--name", "mine", "--out", tmp_path)[0] == 0
    assert (made / "README.md").read_bytes() == first.replace(f"{NOTES_BEGIN}\n", NOTES_BEGIN + notes).encode()
    assert sorted(file.name for file in made.iterdir()) == sorted([*FILES, "more.txt"])
    assert load_player(made).info.decisions == KEPT


@pytest.mark.usefixtures("no_picture")
def test_results_stand_in_the_card_and_old_ones_give_a_warning(
    publish: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = saved(tmp_path, evaluation("thumb", "runs/mine@0", entry(-0.75, DOWN_UP[1])), "one.json")
    two = saved(tmp_path, tournament({"mine": 1, "thumb": -1}, {("mine", "thumb"): 0.5}, DOWN_UP[0]), "two.json")
    os.utime(two, (0, 0))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    status, _, err = publish("runs/mine", "--name", "mine", "--out", "out", "--panel", one, two)
    assert (status, is_one_sentence(err)) == (0, True)
    assert f"{two} is older than the policy of runs/mine: its figures may be those of an earlier one" in err
    text = part((tmp_path / "out" / "mine" / "README.md").read_text(), "Against others")
    assert "| down_up, 4 seats | `mine@0` | `thumb` | 400 of `test` | +8.000 ±0.250 | +0.750 ±0.250 |  |" in text
    assert "| `thumb` | -1.000 ±0.250 | +0.500 ±0.250 |" in text


@pytest.mark.usefixtures("no_picture")
def test_a_path_of_this_machine_gives_a_warning(publish: Run, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", dataclasses.replace(CONFIG, panel=("random", "/only/here")))
    status, _, err = publish(run, "--name", "mine", "--out", tmp_path)
    assert status == 0
    assert err == "noms: the run names /only/here, a path of this machine: the card and the policy's file name it too\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere", "--name", "mine"], "there is no run in nowhere: config.json cannot be read"),
        (["RUN", "--name", "My policy"], "--name must be of lower-case letters, digits, _ and -, such as small_ships, not"),
        (["RUN", "--name", "../mine"], "--name must be of lower-case letters"),
        (["RUN", "--name", "thumb"], "--name thumb is the name of a player; those are random, greedy, thumb"),
        (["RUN", "--name", "noms"], "--name noms is the name of a game; the policy was trained for nonesuch, down_up"),
        (["RUN", "--name", "mine", "--panel", "no.json"], "cannot read no.json: No such file or directory"),
        (["RUN", "--name", "mine", "--panel", "RUN/config.json"], "is neither what `noms evaluate --json` writes nor"),
        (["RUN", "--name", "mine", "--out", "RUN/log.csv"], "cannot write in"),
    ],
)
def test_what_is_refused(publish: Run, folder: Path, tmp_path: Path, words: list[str], sentence: str) -> None:
    out = [] if "--out" in words else ["--out", str(tmp_path)]
    status, printed, err = publish(*(word.replace("RUN", str(folder)) for word in words), *out)
    assert (status, printed) == (2, "")
    assert is_one_sentence(err)
    assert sentence in err
    assert list(tmp_path.iterdir()) == []


def test_a_card_whose_comments_are_gone_is_left_alone(publish: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("# Mine\n")
    status, _, err = publish(folder, "--name", "mine", "--out", tmp_path)
    assert (status, is_one_sentence(err)) == (2, True)
    assert "put them back, or move the file away" in err
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["README.md"]
    assert (tmp_path / "mine" / "README.md").read_text() == "# Mine\n"


@pytest.mark.usefixtures("no_picture")
def test_a_failed_write_leaves_whole_files(publish: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert publish(folder, "--name", "mine", "--out", tmp_path)[0] == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "mine").iterdir()}

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, _, err = publish(folder, "--name", "mine", "--out", tmp_path)
    assert (status, err) == (2, f"noms: cannot write in {tmp_path / 'mine'}: No space left on device\n")
    assert {file.name: file.read_bytes() for file in (tmp_path / "mine").iterdir()} == before


def test_without_matplotlib_a_sentence_says_so(
    publish: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str, extra: str, wanted_by: str) -> Any:
        raise extras.MissingExtraError(f"{wanted_by} needs {module}: {extra}")

    monkeypatch.setattr("training.commands.publish.require", missing)
    assert publish(folder, "--name", "mine", "--out", tmp_path) == (2, "", "noms: noms publish needs matplotlib: plot\n")


# ------------------------------------------------------------------------------------------------------------- the card


def test_what_the_card_says_of_the_policy(outcome: Outcome) -> None:
    text = card("mine", outcome, Results())
    assert (
        "# mine\n\nA policy for `nonesuch` with 3 and 4 seats, `down_up` with 3 and 4 seats, trained by self-play from" in text
    )
    assert f"5 units, 1 residual block, card embeddings of 2; {outcome.parameters:,} parameters |" in text
    assert "| decisions seen | 2,000 in 200 iterations, each learnt from 3.00 times (the run made 3,000 of 4,000; " in text
    assert "| made with | noms-env 1.2, numpy 3.4 |\n| revision of the code | `v1-2-gabc` |" in text
    assert f"SHA-256 `{outcome.sha256}`" in text
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [
        "How to use it",
        "How it was trained",
        "Learning curve",
        "Against others",
        "What it does",
        "Known weaknesses",
        "How to make it again",
    ]


def test_the_configuration_is_that_of_a_preset_but_for_differences(outcome: Outcome) -> None:
    text = part(card("mine", outcome, Results()), "How it was trained")
    assert text.startswith("Preset `standard` of `noms train`, but for\n\n| option | preset `standard` | this run |\n")
    assert "| `seed` | `0` | `3` |" in text
    assert "| `seats` | `[]` | `[3, 4]` |" in text
    assert "| `network.width` | `256` | `5` |" in text
    assert "critic" not in text
    taught = dataclasses.replace(CONFIG, curriculum=CurriculumConfig(teacher="thumb"))
    beginning = card("mine", dataclasses.replace(outcome, config=taught), Results())
    assert "trained by self-play from nothing, with lessons of `thumb` at the beginning. It draws" in beginning
    extended = part(card("mine", dataclasses.replace(outcome, budget=9000), Results()), "How it was trained")
    assert "begun with 4,000 decisions, which became 9,000" in extended


def test_the_evaluation_of_the_policy_is_shown(outcome: Outcome) -> None:
    text = card("mine", outcome, Results())
    curve = part(text, "Learning curve")
    assert "](curve.png)" in curve
    assert "](curve.csv)" in curve
    assert "The evaluation after 2,000 decisions, of which the policy was kept" in curve
    assert "| nonesuch, 4 seats | `thumb` | +0.100 ±0.300 | +0.225 | -0.025 |" in curve
    does = part(text, "What it does")
    assert "64 deals of each game after 2,000 decisions of training: the policy.\n" in does
    assert "| game | bids hit exactly | bid None |" in does
    assert "| nonesuch, 3 seats |  | 37.5% |" in does
    assert "| down_up, 3 seats | 37.5% |  |" in does
    earlier = dataclasses.replace(outcome, info=dataclasses.replace(outcome.info, decisions=1000))
    assert "the policy, of which the file holds the slow average" in card("mine", earlier, Results())
    assert "figures yet, of the policy of which the file holds the slow average)" in card("mine", earlier, Results())
    before = dataclasses.replace(outcome, info=dataclasses.replace(outcome.info, decisions=10))
    assert "kept before the first evaluation" in card("mine", before, Results())


def test_runs_one_after_the_other_are_all_told(publish: Run, folder: Path, tmp_path: Path, no_picture: None) -> None:
    taught = dataclasses.replace(CONFIG, curriculum=CurriculumConfig(teacher="thumb"))
    first = make_run(tmp_path / "first", taught)
    second = make_run(tmp_path / "second", dataclasses.replace(CONFIG, initial="checkpoints/mine", seed=4))
    status, out, err = publish(second, "--name", "mine", "--out", tmp_path, "--before", first)
    assert (status, err) == (0, "")
    assert "a policy of 4,000 decisions" in out
    text = (tmp_path / "mine" / "README.md").read_text()
    assert "from nothing, with lessons of `thumb` at the beginning, in 2 runs, each of which began with the policy of" in text
    assert "| decisions seen | 4,000 in 2 runs, the last of which saw 2,000 in 200 iterations, each" in text
    assert re.search(r"\| training time \| \S+ of the runs before, and in the last \S+ until then", text)
    assert part(text, "How it was trained").startswith("The last of its 2 runs;")
    assert "The evaluation after 4,000 decisions" in part(text, "Learning curve")
    last = part(text, "How to make it again")
    commands = re.findall(r"noms train(?:.*\\\n)*.*", last.partition("```\n")[0])
    assert [parsed_command(one) for one in commands] == [
        taught,
        dataclasses.replace(CONFIG, initial="runs/mine-1", seed=4),
    ]
    assert ["--out runs/mine-1" in one for one in commands] == [True, False]
    assert "`runs/mine-1` was stopped after 3,000 decisions." in last
    assert "`noms publish runs/mine --name mine --before runs/mine-1` writes this folder" in last
    status, _, err = publish(second, "--name", "mine", "--out", tmp_path)
    assert status == 0
    assert "second began with the policy checkpoints/mine; --before tells of the runs before it" in err
    assert publish(folder, "--name", "mine", "--out", tmp_path, "--before", first)[0] == 2


def test_a_run_with_lessons_of_a_policy_is_told_behind_the_runs_that_made_it(
    publish: Run, tmp_path: Path, no_picture: None
) -> None:
    teacher = make_run(tmp_path / "teacher")
    lessons = CurriculumConfig(teacher="runs/before/mine@1", lessons=0.2)
    config = dataclasses.replace(CONFIG, network=NetworkConfig(8, 0, 2), curriculum=lessons)
    student = make_run(tmp_path / "student", config)
    assert publish(student, "--name", "mine", "--out", tmp_path, "--before", teacher)[::2] == (0, "")
    text = (tmp_path / "mine" / "README.md").read_text()
    assert (
        "in 2 runs, each of which began with the policy of the one before, but for run 2, which began untrained, with" in text
    )
    last = part(text, "How to make it again")
    commands = re.findall(r"noms train(?:.*\\\n)*.*", last.partition("```\n")[0])
    lessons = dataclasses.replace(lessons, teacher="runs/mine-1@1")
    assert [parsed_command(one) for one in commands] == [CONFIG, dataclasses.replace(config, curriculum=lessons)]
    status, _, err = publish(student, "--name", "mine", "--out", tmp_path)
    assert status == 0
    assert "student had lessons of the policy runs/before/mine; --before tells of the runs before it" in err
    text = (tmp_path / "mine" / "README.md").read_text()
    assert "The policy `runs/before/mine`, its teacher, has to be there." in part(text, "How to make it again")


def test_a_policy_at_the_tables_that_none_of_the_runs_made_has_to_be_there(
    publish: Run, tmp_path: Path, no_picture: None
) -> None:
    first = make_run(tmp_path / "first")
    league = dataclasses.replace(CONFIG.league, opponents=("thumb", "runs/first", "runs/friend@0"))
    second = make_run(tmp_path / "second", dataclasses.replace(CONFIG, initial="runs/first", league=league))
    assert publish(second, "--name", "mine", "--out", tmp_path, "--before", first)[0] == 0
    last = part((tmp_path / "mine" / "README.md").read_text(), "How to make it again")
    assert "--league.opponents thumb runs/mine-1 runs/friend@0" in " ".join(last.replace("\\\n", " ").split())
    assert "The policy `runs/friend`, which sits at tables, has to be there." in last
    assert last.count("has to be there") == 1


def test_a_published_policy_stands_for_the_runs_that_made_it(publish: Run, tmp_path: Path, no_picture: None) -> None:
    first = make_run(tmp_path / "first")
    runs = [make_run(tmp_path / name, dataclasses.replace(CONFIG, initial="checkpoints/mine")) for name in ("second", "third")]
    assert publish(first, "--name", "mine", "--out", tmp_path / "stepwise")[0] == 0
    for number, run in enumerate(runs, 1):
        before = [first, *runs[: number - 1]]
        assert publish(run, "--name", "mine", "--out", tmp_path / str(number), "--before", *before)[0] == 0
        stepwise = tmp_path / "stepwise"
        assert publish(run, "--name", "mine", "--out", stepwise, "--before", stepwise / "mine")[::2] == (0, "")
        assert read_outcome(run, [stepwise / "mine"]).seen == (number + 2) * KEPT
        for file in ("README.md", "runs.json", "policy.safetensors"):
            assert (stepwise / "mine" / file).read_bytes() == (tmp_path / str(number) / "mine" / file).read_bytes(), file
        found, expected = (read_series(place / "mine" / "curve.csv") for place in (stepwise, tmp_path / str(number)))
        assert list(found) == list(expected)
        for name, (at, values) in found.items():
            assert at.tolist() == expected[name][0].tolist()
            assert values == pytest.approx(
                expected[name][1], rel=0.1 if name == "seconds" else 1e-12
            )  # from means of neighbours


@pytest.mark.parametrize(
    ("file", "damage", "sentence"),
    [
        ("runs.json", lambda text: text[:-20], "what .*mine tells of the runs of its policy is damaged"),
        ("runs.json", lambda text: "[]", "runs.json, curve.csv and policy.safetensors in .*mine are not of the same runs"),
        ("runs.json", lambda text: text.replace(f'"decisions": {KEPT}', '"decisions": 7'), "are not of the same runs"),
        ("runs.json", lambda text: text.replace('"seed"', '"seeds"'), "is damaged: unknown key seeds"),
        ("curve.csv", lambda text: text.replace("decisions", "deals"), "is damaged: .*is not the log of a run"),
    ],
)
def test_a_damaged_folder_before_is_refused(
    publish: Run, tmp_path: Path, no_picture: None, file: str, damage: Callable[[str], str], sentence: str
) -> None:
    first = make_run(tmp_path / "first")
    second = make_run(tmp_path / "second", dataclasses.replace(CONFIG, initial="checkpoints/mine"))
    assert publish(first, "--name", "mine", "--out", tmp_path)[0] == 0
    place = tmp_path / "mine" / file
    place.write_text(damage(place.read_text()))
    status, _, err = publish(second, "--name", "mine", "--out", tmp_path, "--before", tmp_path / "mine")
    assert status == 2
    assert re.search(sentence, err.replace("\n", " "))


def test_weaknesses_follow_from_the_figures(outcome: Outcome, tmp_path: Path) -> None:
    games = [entry(mean, kind, lost=lost) for mean, kind, lost in (
        (-1.0, DOWN_UP[0], {"a": {"tables": 3, "why": ["failed"]}, "b": {"tables": 0, "why": []}}),
        (0.25, DOWN_UP[1], {"a": {"tables": 0, "why": []}, "b": {"tables": 5, "why": ["failed"]}}),
    )]  # fmt: skip
    found = measured(tmp_path, evaluation("mine", "thumb", *games))
    assert (
        part(card("mine", outcome, found), "Known weaknesses").partition(NOTES_BEGIN)[0]
        == """\
In the comparisons above it is behind (95 % intervals, each for itself):

- down_up, 3 seats, `mine` against `thumb`: -1.000 ±0.250

In the comparisons above the interval is not clear of zero (95 %, each for itself):

- down_up, 4 seats, `mine` against `thumb`: +0.250 ±0.250

In training (no other figures yet) the interval is not clear of zero (95 %, each for itself):

- nonesuch, 4 seats, `mine` against `thumb`: +0.100 ±0.300

Besides:

- down_up, 3 seats, `mine` against `thumb`: it lost 3 tables, since it failed.
- Not measured but in training: `nonesuch` with 3 and 4 seats.
- The run has not come to its end: 3,000 of 4,000 decisions.
- It knows no other options than those above, and no other numbers of seats.
- How much a player gains that was trained to beat `mine` is not known.

"""
    )


def test_where_all_is_well_the_card_says_so(outcome: Outcome, tmp_path: Path) -> None:
    rule_sets = [*DOWN_UP, make_rules(game("nonesuch"), 3), make_rules(game("nonesuch"), 4)]
    found = measured(tmp_path, evaluation("mine", "thumb", *(entry(1.0, kind) for kind in rule_sets)))
    done = dataclasses.replace(outcome, budget=DONE)
    text = part(card("mine", done, found), "Known weaknesses")
    assert text.startswith("In the comparisons above all intervals lie above zero (4 of 4).\n")
    assert "In training (no other figures yet) all intervals lie above zero (4 of 4)." in text  # against random
    assert "Not measured" not in text
    assert "come to its end" not in text


def test_a_policy_against_itself_is_no_weakness(outcome: Outcome, tmp_path: Path) -> None:
    pairs = {("mine", "mine@0"): -0.5, ("mine", "thumb"): 1.0, ("mine@0", "thumb"): 1.5}
    found = measured(tmp_path, tournament({"mine": 0.0, "mine@0": 1.0, "thumb": -1.0}, pairs, DOWN_UP[0]))
    text = card("mine", outcome, found)
    assert "| player | rating | `mine` better by | `mine@0` better by |" in text
    assert "| `mine@0` | +1.000 ±0.250 | -0.500 ±0.250 |  |" in text
    assert "In the comparisons above all intervals lie above zero (2 of 2)." in part(text, "Known weaknesses")


def test_games_with_options(tmp_path: Path) -> None:
    config = TrainConfig(("noms",), option=("target=20", 'tie="play_on"'), network=CONFIG.network, initial="some where")
    outcome = read_outcome(make_run(tmp_path / "run", config))
    text = card("mine", outcome, Results())
    assert 'A policy for `noms` with 4 seats (`tie="play_on"`, `target=20`), trained by self-play from the policy' in text
    assert "| options | as above; all others as usual |" in text
    assert parsed_command(re.findall(r"```sh\n(noms train.*?)\n```", text, re.DOTALL)[0]) == config
    assert "The policy `some where`, with which it begins, has to be there." in text
    (python,) = re.findall(r"(?s)```python\n(.*?)```", text)
    assert "seats=4, seed=1, episode=\"deal\", tie='play_on', target=20)" in python
    (play, _) = re.findall(r"(?m)^noms (?:play|evaluate) .*$", text)
    assert shlex.split(play)[-6:-2] == ["--option", 'tie="play_on"', "--option", "target=20"]


@pytest.mark.parametrize(
    "text", ["", NOTES_BEGIN, NOTES_END + NOTES_BEGIN, NOTES_BEGIN + NOTES_BEGIN + NOTES_END, NOTES_BEGIN + 2 * NOTES_END]
)
def test_notes_that_cannot_be_told_are_refused(text: str) -> None:
    with pytest.raises(CardError, match=r"x\.md does not have the comments .* once each"):
        notes_of(text, "x.md")


def test_notes_are_what_stands_between_the_comments(outcome: Outcome) -> None:
    notes = "\n\nA note.\n"
    assert notes_of(card("mine", outcome, Results(), notes), "x.md") == notes
    assert notes_of(card("mine", outcome, Results()), "x.md") == "\n"


@pytest.mark.parametrize(
    ("seats", "words"),
    [([4], "4 seats"), ([3, 4], "3 and 4 seats"), ([5, 3, 4], "3 to 5 seats"), ([3, 5, 6], "3, 5 and 6 seats")],
)
def test_seats_in_words(seats: list[int], words: str) -> None:
    assert seats_text(seats) == words


def test_tables_have_numbers_to_the_right() -> None:
    assert table(("a", "b"), [("1", "+2 ±1"), ("x", None)]) == "| a | b |\n| --- | ---: |\n| 1 | +2 ±1 |\n| x |  |"


# ------------------------------------------------------------------------------------------------- from end to end


def test_a_trained_policy_is_published_measured_and_found_by_name(
    publish: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(policies, "PACKAGE", tmp_path / "noms_env")
    (tmp_path / "pyproject.toml").touch()
    sizes = [word for part in ("network", "critic") for word in (f"--{part}.width", "8", f"--{part}.blocks", "0")]
    words = [*sizes, "--network.card-width", "4", "--tables", "8", "--threads", "1", "--evaluation-deals", "4"]
    assert (
        main(["train", "noms", "--preset", "smoke", *words, "--decisions", "300", "--league.share", "0", "--out", "run"]) == 0
    )
    assert publish("run", "--name", "mine")[0] == 0
    assert load_player("mine").info == load_player("noms").info == load_player("run").info
    text = (tmp_path / "checkpoints" / "mine" / "README.md").read_text()
    assert read_outcome("run").is_average or "the policy was kept" in text
    assert parsed_command(re.findall(r"```sh\n(noms train.*?)\n```", text, re.DOTALL)[0]) == read_outcome("run").config
    (python,) = re.findall(r"(?s)```python\n(.*?)```", text)
    exec(compile(python, "README.md", "exec"), {})
    (evaluate,) = re.findall(r"(?m)^noms evaluate .*$", text)
    few = ["--deals", "4", "--threads", "1"]
    assert main([*shlex.split(evaluate)[1:], *few, "--matches", "2", "--json", "one.json"]) == 0
    assert main(["tournament", "noms@0", "random", "--variant", "noms", *few, "--out", "two"]) == 0
    capsys.readouterr()
    assert publish("run", "--name", "mine", "--panel", "one.json", "two/results.json")[::2] == (0, "")
    text = part((tmp_path / "checkpoints" / "mine" / "README.md").read_text(), "Against others")
    points = json.loads(Path("one.json").read_text())["games"][0]["points"]
    assert f"| noms, 4 seats | `mine` | `thumb` | 4 of `dev` | {points['alone']['mean']:+.3f} ±" in text
    assert f" | {points['all']['mean']:+.3f} ±" in text
    assert "| player | rating | `mine@0` better by |" in text
