"""`noms publish`: the folder of a policy, its card, RESULTS.md, and refusals."""

import dataclasses
import json
import re
import shlex
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from noms_env.policy import player as policies
from noms_env.policy.player import load_policy
from noms_env.variants import VARIANTS, Rules, game, make_rules
from noms_env.version import ENV_VERSION
from noms_training.cli import main
from noms_training.evaluation.deal_sets import digest
from noms_training.evaluation.duplicate import unit_of
from noms_training.evaluation.report import EXPLOIT
from noms_training.evaluation.report import FORMAT as EVALUATION
from noms_training.evaluation.tournament import FORMAT as TOURNAMENT
from noms_training.learn.config import TrainConfig
from noms_training.publish.pages import CARD, NOTES_BEGIN, RESULTS, pages, seats_text, training_methods
from noms_training.publish.results import BEHAVIOUR, PANEL, Results, ResultsError, read_results
from noms_training.publish.runs import Trained, read_trained
from tests.commands import Run, assert_refused
from tests.training.test_publish_runs import COMMAND, CONFIG, KEPT, make_run

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
FILES = ["README.md", "curve.csv", "curve.png", "policy.safetensors", "runs.json"]
NONESUCH, THREE, NOMS = make_rules(game("nonesuch")), make_rules(game("nonesuch"), 3), make_rules(game("noms"))
DOWN_UP = [make_rules(game("down_up"), seats) for seats in (3, 4)]
NOTHING_LOST = {"tables": 0, "why": []}


def estimate(mean: float, margin: float = 0.25, deals: int = 400) -> dict[str, Any]:
    ends = {"low": mean - margin, "high": mean + margin}
    return {"mean": mean, "standard_error": margin / 2, **ends, "deals": deals, "method": "bootstrap"}


def entry(mean: float, rules: Rules = NONESUCH, **changes: Any) -> dict[str, Any]:
    """A game of `noms evaluate`, with the keys that publishing reads."""
    points = {"all": estimate(mean), "alone": estimate(0.5), "against": estimate(0.25)}
    lost = {"a": NOTHING_LOST, "b": NOTHING_LOST}
    return {**tables_of(rules), "points": points, "matches": None, "lost": lost, **unit_of(rules)} | changes


def tables_of(rules: Rules) -> dict[str, Any]:
    return {"variant": rules.variant.name, "seats": rules.seats, "options": {}, "set": "test", "deals": 400}


def evaluation(a: str, b: str, *games: dict[str, Any], **policies: str) -> dict[str, Any]:
    return {"format": EVALUATION, "environment": ENV_VERSION, "a": a, "b": b, "policies": policies, "games": list(games)}


def tournament(ratings: dict[str, float], pairs: dict[tuple[str, str], float], rules: Rules = NONESUCH) -> dict[str, Any]:
    points = {a: {b: estimate(ratings[a] - ratings[b]) for b in ratings if b != a} for a in ratings}
    return {
        **{"format": TOURNAMENT, "environment": ENV_VERSION, "players": list(ratings), **tables_of(rules), "table": points},
        "pairs": [{"a": a, "b": b, **estimate(mean), "p_value": 0.5, "p_value_holm": 1.0} for (a, b), mean in pairs.items()],
        "ratings": {name: estimate(mean) for name, mean in ratings.items()},
        "lost": dict.fromkeys(ratings, NOTHING_LOST),
    }


def best_response(player: str, *games: dict[str, Any], **policies: str) -> dict[str, Any]:
    return {"format": EXPLOIT, "environment": ENV_VERSION, "player": player, "policies": policies, "games": list(games)}


def write_document(folder: Path, part: str, name: str, document: object) -> None:
    (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / part / f"{name}.json").write_text(json.dumps(document))


@pytest.fixture
def publish(run: Run) -> Run:
    return partial(run, "publish")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("publish") / "run")


@pytest.fixture(scope="module")
def policy(folder: Path) -> Trained:
    return read_trained(folder)


@pytest.fixture
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the picture, which takes a second to draw."""
    monkeypatch.setattr("noms_training.commands.publish.picture_of", lambda name, curve: b"picture")


@pytest.fixture
def checkpoints(policy: Trained, tmp_path: Path) -> Path:
    """A folder with the policy `mine`, its figures, and a tournament of other players."""
    folder = tmp_path / "checkpoints"
    (folder / "mine").mkdir(parents=True)
    for name, content in policy.files().items():
        (folder / "mine" / name).write_bytes(content)
    points = {name: estimate(7, deals=5) for name in ("all", "alone", "against")}
    write_document(folder, PANEL, "thumb", evaluation("mine", "thumb", entry(1), entry(2, THREE), mine=policy.sha256))
    write_document(folder, PANEL, "few", evaluation("mine", "thumb", entry(1, points=points), mine=policy.sha256))
    write_document(folder, PANEL, "back", evaluation("random", "runs/x@0", entry(1), **{"runs/x@0": policy.sha256}))
    others = {"thumb": 1.0, "pimc:100": 2.0, "random": -3.0}
    write_document(folder, PANEL, "search", tournament(others, {("thumb", "random"): 4.0}))
    return folder


def card_of(policy: Trained, folder: Path | None = None, name: str = "mine") -> str:
    nothing = Results({name: policy}, {name: []}, [], [], [], [])
    results = nothing if folder is None else read_results(folder, {name: policy})
    return pages(results, {})[Path(name) / CARD]


def results_page(folder: Path) -> str:
    return pages(read_results(folder), {})[Path(RESULTS)]


def part(text: str, title: str) -> str:
    (body,) = re.findall(rf"(?ms)^## {title}\n\n(.*?)(?=^## |\Z)", text)
    return str(body)


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without headers and rules."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    rules = [number for number, line in enumerate(lines) if line[0].startswith("---")]
    return [line for number, line in enumerate(lines) if number not in rules and number + 1 not in rules]


def test_the_same_run_gives_the_same_bytes(publish: Run, folder: Path, tmp_path: Path) -> None:
    places = [tmp_path / name / "mine" for name in ("a", "b")]
    for path in places:
        status, out, err = publish(folder, "--name", "mine", "--out", path.parent)
        assert (status, err) == (0, "")
        assert sorted(out.splitlines()) == sorted([*(str(path / name) for name in FILES), str(path.parent / RESULTS)])
        assert sorted(file.name for file in path.iterdir()) == FILES
    for file in (*FILES, "../RESULTS.md"):
        assert (places[0] / file).read_bytes() == (places[1] / file).read_bytes(), file
    assert (places[0] / "policy.safetensors").read_bytes() == (folder / "policy.safetensors").read_bytes()
    with Image.open(places[0] / "curve.png") as image:
        assert image.format == "PNG"
    lines = (places[0] / "curve.csv").read_text().splitlines()
    assert lines[0] == "decisions,name,value"
    assert "2000,eval/points/nonesuch_3/thumb,0.5" in lines
    assert not [line for line in lines if "played/" in line]
    assert publish("--out", places[0].parent) == (0, "", ""), "nothing has changed"


@pytest.mark.usefixtures("no_picture")
def test_files_are_replaced_and_handwritten_notes_are_kept(publish: Run, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    assert publish(folder, "--name", "mine", "--out", tmp_path)[0] == 0
    card = (mine / CARD).read_text()
    notes = "\r\nNever underleads an ace.\n\n* “quoted” \x1f\n"
    (mine / CARD).write_bytes(card.replace(f"{NOTES_BEGIN}\n", NOTES_BEGIN + notes).replace("# mine", "# x").encode())
    (mine / "policy.safetensors").write_bytes(b"old")
    (mine / "more.txt").write_text("kept")
    assert publish(folder, "--name", "mine", "--out", tmp_path)[0] == 0
    assert (mine / CARD).read_bytes() == card.replace(f"{NOTES_BEGIN}\n", NOTES_BEGIN + notes).encode()
    assert sorted(file.name for file in mine.iterdir()) == sorted([*FILES, "more.txt"])
    assert load_policy(mine).info.decisions == KEPT


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere", "--name", "mine"], "there is no run in nowhere"),
        (["RUN"], "RUN and --name go together"),
        (["RUN", "--name", "../mine"], "--name must be of lower-case letters"),
        (["RUN", "--name", "panel"], "--name panel is the name of a folder of results"),
        (["RUN", "--name", "thumb"], "--name thumb is the name of a player"),
        (["RUN", "--name", "noms"], "--name noms is the name of a game; the policy was trained for nonesuch, down_up"),
        (["RUN", "--name", "mine", "--out", "RUN/log.csv"], "cannot write in"),
        (["--out", "no/such/folder"], "there is no folder no/such/folder"),
    ],
)
@pytest.mark.usefixtures("no_picture")
def test_wrong_requests_are_refused(publish: Run, folder: Path, tmp_path: Path, words: list[str], sentence: str) -> None:
    out = [] if "--out" in words else ["--out", str(tmp_path)]
    run = [str(folder) + word.removeprefix("RUN") if word.startswith("RUN") else word for word in words]
    assert_refused(publish(*run, *out), sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_picture")
def test_a_card_without_its_comments_is_not_replaced(publish: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / CARD).write_text("# Mine\n")
    assert_refused(publish(folder, "--name", "mine", "--out", tmp_path), "put them back, or move the file away")
    assert {file.name: file.read_text() for file in (tmp_path / "mine").iterdir()} == {CARD: "# Mine\n"}


def test_the_card_of_a_policy_without_results(policy: Trained) -> None:
    text = card_of(policy)
    assert "`nonesuch` with 3 and 4 seats, `down_up` with 3 and 4 seats, trained by self-play." in text
    for fact in (f"{policy.parameters:,} parameters", "2,000; the last run made 3,000", policy.sha256, "`v1-2-gabc`"):
        assert fact in text
    assert ["nonesuch, 4 seats", "`mine`", "`thumb:1`", "+0.100 ±0.300"] in rows(part(text, "Against others"))
    assert rows(part(text, "What it does")) == [["`mine`", "64", "37.5%"]] * 3
    assert f"```sh\n{COMMAND}\n```" in part(text, "How to make it again")
    old = dataclasses.replace(policy, runs=(dataclasses.replace(policy.runs[0], kept=10, command=""),))
    assert "[runs.json](runs.json) has the configuration" in card_of(old)
    assert part(card_of(old), "Against others") == part(card_of(old), "What it does") == "Not measured.\n\n"


def test_the_card_has_the_results_of_its_policy(checkpoints: Path, policy: Trained) -> None:
    matches = {"fair": 0.25, "a_alone": estimate(0.3), "b_alone": estimate(0.2)}
    write_document(
        checkpoints, PANEL, "matches", evaluation("thumb", "mine", entry(2, DOWN_UP[0], matches=matches), mine=policy.sha256)
    )
    own = tournament({"mine": 3.0, "mine@0": 1.0}, {("mine", "mine@0"): 0.5})
    write_document(checkpoints, PANEL, "own", own | {"policies": {"mine": policy.sha256, "mine@0": policy.sha256}})
    text = card_of(policy, checkpoints)
    cells = [[row[0], *row[2:]] for row in rows(part(text, "Against others"))]
    assert ["nonesuch, 4 seats", "`random`", "400 of `test`", "-0.250 ±0.250", "", "-1.000 ±0.250"] in cells
    assert ["nonesuch, 4 seats", "`mine@0`", "400 of `test`", "+2.000 ±0.250", "", "+0.500 ±0.250"] in cells
    wins = "20.0 % ±25.0 (equals: 25.0 %)"
    assert ["down_up, 3 seats", "`thumb:1`", "400 of `test`", "-0.250 ±0.250", wins, "-2.000 ±0.250"] in cells
    weaknesses = part(text, "Known weaknesses").partition("\n\n")[0].splitlines()
    for start, figures in (
        ("It is behind `random`", "-1.000"),
        ("It is not clearly better than `thumb:1`", "+0.000 ±0.500"),
        ("It was not measured in `down_up` with 4 seats", ""),
        ("Its last run has not come to its end", "3,000 of 4,000"),
        ("How much a player gains", "not known"),
    ):
        assert any(line.startswith(f"- {start}") and figures in line for line in weaknesses), start


@pytest.mark.usefixtures("no_picture")
def test_the_card_has_the_commands_of_successive_runs(publish: Run, tmp_path: Path) -> None:
    first = make_run(tmp_path / "first")
    second = make_run(tmp_path / "second", dataclasses.replace(CONFIG, initial_policy="runs/first"))
    assert "second learnt from the policy runs/first; --before" in publish(second, "--name", "mine", "--out", tmp_path)[2]
    long = f"noms train nonesuch --initial-policy runs/first --out {'x' * 90}"
    for folder, command in ((first, "noms train nonesuch --option 'a b=1'"), (second, long)):
        (folder / "command.txt").write_text(f"{command}\n")
    assert publish(second, "--name", "mine", "--out", tmp_path, "--before", first)[::2] == (0, "")
    text = (tmp_path / "mine" / CARD).read_text()
    last = part(text, "How to make it again")
    lines = last.partition("```sh\n")[2].partition("```")[0].replace("\\\n ", "").splitlines()
    assert [shlex.split(line) for line in lines] == [["noms", "train", "nonesuch", "--option", "a b=1"], shlex.split(long)]
    assert f"noms publish {second} --name mine --before {first}\n" in last
    absolute = tmp_path / "command.txt"
    (second / "command.txt").write_text(f"noms train nonesuch --out {absolute}\n")
    assert str(absolute) in publish(second, "--name", "mine", "--out", tmp_path, "--before", first)[2]


def test_the_card_of_a_game_with_options(tmp_path: Path) -> None:
    config = TrainConfig(("noms",), option=("target=20", 'tie="play_on"'), network=CONFIG.network)
    text = card_of(read_trained(make_run(tmp_path / "run", config)))
    assert 'A policy for `noms` with 4 seats (`tie="play_on"`, `target=20`), trained by self-play.' in text
    assert "tie='play_on', target=20)" in text
    (play, _) = re.findall(r"(?m)^noms (?:play|evaluate) .*$", text)
    assert shlex.split(play)[-6:-2] == ["--option", 'tie="play_on"', "--option", "target=20"]
    assert seats_text([3, 5, 6]) == "3, 5 and 6 seats"


def test_strength_is_reached_when_the_interval_excludes_0(checkpoints: Path, policy: Trained) -> None:
    curve = checkpoints / "mine" / "curve.csv"
    lines = [line for line in curve.read_text().splitlines() if ",seconds," not in line]
    curve.write_text("\n".join([*lines, "1000,seconds,60", "3000,seconds,300"]) + "\n")

    def first_row() -> list[str]:
        return rows(part(results_page(checkpoints), "Time to strength"))[0][2:]

    assert first_row() == ["3,000 decisions, 5 min", "not shown"]
    for deals, mean, cell in ((400, 0.5, "2,000 decisions, 1 min"), (401, -0.5, "not shown")):
        points = {name: estimate(mean, deals=deals) for name in ("all", "alone")}
        document = evaluation("mine@0", "pimc:100", entry(1, points=points), **{"mine@0": policy.sha256})
        write_document(checkpoints, PANEL, f"pimc-{deals}", document)
        assert first_row()[-1] == cell


def test_the_card_says_what_the_policy_has_learnt_from() -> None:
    def methods(*curricula: tuple[list[str], list[str]]) -> str:
        runs = [SimpleNamespace(training={"curriculum": {"expert": expert, "shards": shards}}) for expert, shards in curricula]
        policy: Any = SimpleNamespace(runs=runs)
        return training_methods(policy)

    assert methods(([], [])) == "self-play"
    assert methods((["thumb"], []), ([], [])) == "self-play and imitation of other players"
    assert methods((["thumb"], []), ([], ["a"])) == "self-play, imitation of other players and recorded decisions"


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("panel/x.json", "{", "is damaged: it is not JSON"),
        ("panel/x.json", "[]", "is not from `noms evaluate --json` or results.json of `noms tournament`"),
        ("panel/x.json", '{"format": "noms-evaluate/1", "environment": 9}', "is of version 9 of the environments, not 0"),
        ("panel/x.json", json.dumps(evaluation("a", "b", entry(1)) | {"policies": [1]}), "is damaged: AttributeError"),
        ("panel/x.json", json.dumps(evaluation("mine", "thumb", entry(1))), "another policy than the one that is called mine"),
        ("behaviour/x.json", json.dumps(evaluation("a", "b")), "must be of a player against itself, not of a"),
        ("behaviour/x.json", json.dumps(evaluation("a", "a", entry(1))), "is damaged: KeyError('probes')"),
        ("behaviour/x.json", json.dumps(tournament({"a": 1.0, "b": 0.0}, {}, NOMS)), "is not from `noms evaluate --json`"),
        ("exploit/x.json", json.dumps(evaluation("a", "b")), "is not from `noms exploit --variant --json`"),
        ("exploit/x.json", json.dumps(best_response("a", {"micro": 1})), "is not from `noms exploit --variant --json`"),
        ("crossplay/x.json", json.dumps(best_response("a")), "is not from `noms crossplay --json`"),
        (
            "panel/x.json",
            json.dumps(tournament({"a": 1.0, "b": 0.0}, {}, NOMS) | {"unit": None}),
            "noms that is passed out as 0",
        ),
        ("panel/x.json", json.dumps(evaluation("a", "b", entry(1, NOMS, unit=None))), "noms that is passed out as 0"),
        ("mine/policy.safetensors", "no", "policy.safetensors"),
        ("mine/curve.csv", "no", "is not the log of a run"),
    ],
)
def test_a_damaged_file_is_refused_and_nothing_is_written(
    checkpoints: Path, publish: Run, file: str, content: str, sentence: str
) -> None:
    (checkpoints / file).parent.mkdir(exist_ok=True)
    (checkpoints / file).write_text(content)
    assert_refused(publish("--out", checkpoints), sentence)
    assert not (checkpoints / RESULTS).exists()


def test_results_at_tables_without_training_are_refused(checkpoints: Path, policy: Trained) -> None:
    write_document(checkpoints, PANEL, "x", evaluation("mine", "thumb", entry(1, NOMS), mine=policy.sha256))
    with pytest.raises(ResultsError, match="noms with 4 seats and options for which mine was not trained"):
        read_results(checkpoints)


def test_the_published_pages_are_up_to_date() -> None:
    results = read_results(CHECKPOINTS)
    cards = {name: (CHECKPOINTS / name / CARD).read_text() for name in results.policies}
    for path, text in pages(results, cards).items():
        assert (CHECKPOINTS / path).read_text() == text, f"run `noms publish`: {path} is not up to date"


@pytest.mark.parametrize(
    "path",
    [path for part in (PANEL, BEHAVIOUR) for path in sorted((CHECKPOINTS / part).glob("*.json"))],
    ids=lambda path: path.stem,
)
def test_the_published_figures_are_of_the_frozen_test_deals(path: Path) -> None:
    document = json.loads(path.read_text())
    for each in document.get("games", [document]):
        rules = make_rules(game(each["variant"]), each["seats"], each["options"])
        assert (each["set"], each["set_sha256"]) == ("test", digest(rules, "test"))
        assert all(lost["tables"] == 0 for lost in each["lost"].values())


def test_search_beats_thumb_in_every_game() -> None:
    panels = [each for each in read_results(CHECKPOINTS).tournaments if "pimc:100" in each["players"]]
    assert [panel["variant"] for panel in panels] == list(VARIANTS)
    assert all(panel["table"]["pimc:100"]["thumb:1"]["low"] > 0 for panel in panels)


def test_a_trained_policy_is_published_evaluated_and_loaded_by_name(
    publish: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(policies, "PACKAGE", tmp_path / "noms_env")
    (tmp_path / "pyproject.toml").touch()
    sizes = [word for part in ("network", "critic") for word in (f"--{part}.width", "8", f"--{part}.blocks", "0")]
    words = [*sizes, "--network.card-width", "4", "--tables", "8", "--threads", "1", "--evaluation-deals", "4"]
    train = ["train", "noms", "--preset", "smoke", *words, "--decisions", "300", "--opponents.share", "0", "--out", "run"]
    assert main(train) == 0
    assert publish("run", "--name", "mine")[0] == 0
    assert load_policy("mine").info == load_policy("noms").info == load_policy("run").info
    text = Path("checkpoints/mine/README.md").read_text()
    (python,) = re.findall(r"(?s)```python\n(.*?)```", text)
    exec(compile(python, "README.md", "exec"), {})
    (evaluate,) = re.findall(r"(?m)^noms evaluate .*$", text)
    Path("checkpoints/panel").mkdir()
    result = Path("checkpoints/panel/result.json")
    few = ["--deals", "4", "--threads", "1", "--matches", "2"]
    assert main([*shlex.split(evaluate)[1:], *few, "--json", str(result)]) == 0
    capsys.readouterr()
    assert publish() == (0, "checkpoints/mine/README.md\n", "")
    text = part(Path("checkpoints/mine/README.md").read_text(), "Against others")
    points = json.loads(result.read_text())["games"][0]["points"]
    assert f"| noms, 4 seats | `mine` | `thumb:1` | 4 of `dev` | {points['alone']['mean']:+.3f} ±" in text
    assert f" | {points['all']['mean']:+.3f} ±" in text
