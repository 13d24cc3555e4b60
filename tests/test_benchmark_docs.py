"""The pages on the benchmark agree with the protocol, and the algorithm of a reader becomes an entry."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from noms_training.benchmark import protocol, task
from noms_training.benchmark.checking import complaints
from noms_training.benchmark.entry import BASELINES, read_entry
from noms_training.benchmark.new_rules import HELD_OUT
from noms_training.benchmark.protocol import DIVISIONS, PROTOCOLS, V1, V2, Budget, Part, References
from noms_training.benchmark.running import baselines
from noms_training.benchmark.task import division_of, load_algorithm
from tests.commands import Run
from tests.test_docs import python_blocks
from tests.training.entries import make_small, set_references

GAME, DEALS = "nonesuch", 8
"""A game without strangers, and a number of deals that its new rules can share."""
DOCS = Path(__file__).parent.parent / "docs"
PROTOCOL, ENTRY = ((DOCS / name).read_text(encoding="utf-8") for name in ("benchmark.md", "how_to/own_entry.md"))


def rows(section: str) -> list[tuple[str, ...]]:
    """The rows of all tables in a section of the protocol's page, without backticks."""
    text = PROTOCOL.partition(f"## {section}\n")[2].partition("\n## ")[0].replace("`", "")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


def test_the_page_agrees_with_the_protocol() -> None:
    protocol_1, protocol_2 = PROTOCOLS[V1], PROTOCOLS[V2]
    names = {"seed": "each other seed of the algorithm"}

    def fields(parts: Mapping[str, Part]) -> list[tuple[Part, str, str]]:
        return [
            (part, names.get(field.name, field.name), f"{field.deals:,}") for part in parts.values() for field in part.fields
        ]

    documented = [row[:3] for row in rows("The tracks") if re.fullmatch(r"[\d,]+", row[2])]
    assert documented == [(part.name, *field) for part, *field in fields(protocol_2.parts)]
    assert {row[0] for row in rows("The tracks")} >= {*protocol_2.tracks}
    assert rows("Protocol 1")[2:] == [(part.track, *field) for part, *field in fields(protocol_1.parts)]
    assert rows("Divisions")[2:] == [*DIVISIONS.items()]
    budgets = {name: (f"{budget.decisions:,}", f"{budget.cpu_hours:g}") for name, budget in protocol_2.budgets.items()}
    assert {name: tuple(more) for name, *more in rows("Budgets and seeds")[2:]} == budgets
    for option, values in HELD_OUT.items():
        assert f"`{option}={values[0]}`" in PROTOCOL
    assert f"each of {protocol.REPLICATES:,} replicates" in PROTOCOL
    assert f"`{V1}`" in PROTOCOL
    assert f"`{V2}`" in PROTOCOL


def test_the_page_names_every_baseline_and_its_division() -> None:
    divisions = {row[0]: row[2].partition(":")[0] for row in rows("The baselines")[2:]}
    assert set(divisions) == set(baselines())
    for name in set(divisions) - {"maskable_ppo"}:  # needs a library of its own
        assert division_of(load_algorithm(BASELINES / f"{name}.py")) == divisions[name], name
    assert re.search(r'(?m)^DIVISION = "best-response"$', (BASELINES / "maskable_ppo.py").read_text())


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol with few deals, a small budget, a short curve, and arbitrary references."""
    make_small(monkeypatch, DEALS, None, PROTOCOLS[V2].tracks, V2)
    monkeypatch.setitem(PROTOCOLS, V2, replace(PROTOCOLS[V2], budgets={"6k": Budget(6_000)}))
    parts = [PROTOCOLS[V2].parts[name] for name in ("generalist", "new_rules")]  # whose fields have the same deals
    names = {part.name: [field.name for field in part.fields] for part in parts}
    set_references(monkeypatch, {(V2, part): {GAME: dict.fromkeys(fields, References(0, 1))} for part, fields in names.items()})
    monkeypatch.setattr(task, "CURVE_DEALS", 4)
    monkeypatch.setattr(task, "CURVE_AT", (0.0, 1.0))


@pytest.mark.usefixtures("tiny")
def test_the_commands_of_the_page_make_an_entry(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (algorithm,) = python_blocks(ENTRY)
    assert len(algorithm.splitlines()) <= 60
    Path("my_algorithm.py").write_text(algorithm.replace("= 256,", "= 16,"))
    block = next(block for block in re.findall(r"(?s)```sh\n(.*?)```", ENTRY) if "my_algorithm.py" in block)
    small = {"10M": "6k", "2": "1"}
    for line in block.splitlines():
        words = [small.get(word, word) for word in shlex.split(line)[1:]]
        more = {"run": ["--games", GAME], "score": ["--threads", "1"], "check": ["--threads", "1"]}.get(words[1], [])
        status, out, err = run(*words, *more)
        only_missing = words[1] == "check" and "games" in out and "are missing" in out  # of the seven games one was trained
        assert status == 0 or only_missing, (line, out, err)
    entry = read_entry(Path("entries/mine"))
    assert (entry.name, entry.seeds, entry.games) == ("my_algorithm", (1, 2, 3), (GAME,))
    assert len(complaints(Path("entries/mine"))) == 1
    make_small(monkeypatch, DEALS, {GAME}, PROTOCOLS[V2].tracks, V2)
    status, out, _ = run("benchmark", "check", "entries/mine", "--all", "--threads", 1, "--allow-programs")
    cells = 3 * sum(len(part.fields) for part in PROTOCOLS[V2].parts.values() if GAME in part.games)
    cells -= 0 if entry.other_player else 3
    assert (status, f"accepted, {cells} cells played again" in out) == (0, True), out
    assert "data:image/png" in Path("report/report.html").read_text()
