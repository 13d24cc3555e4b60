"""The sources of the documentation site: their code runs, their commands parse, and they name every public name and key.

`make docs` builds the site and checks its links.
"""

import functools
import re
import shlex
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import noms_env
import noms_env.players
import noms_env.policy.file
import noms_env.record
import noms_env.record.form
import noms_training
from docs import sources
from noms_training import cli
from noms_training.learn.data.decisions import COLUMNS, TARGETS
from tests.interop.learning import PAGE as LIBRARIES
from tests.interop.learning import blocks_of_page
from tests.policy.test_player import rules_of, save_small
from tests.test_readme import commands

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != sources.POLICIES)
"""All pages but those that the build of the site writes."""


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return language and text of each block of code, in order."""
    return re.findall(r"(?ms)^```(python|console|sh)\n(.*?)^```", text_of(page))


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a policy for down_up, which pages call `runs/first` and `runs/mine`."""
    folder = tmp_path_factory.mktemp("docs") / "first"
    folder.mkdir()
    save_small(folder / "policy.safetensors", rules_of("down_up"))
    return folder


PAGES_WITH_CODE = [page for page in PAGES if {language for language, _ in blocks_of(page)} & {"python", "console"}]


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs(
    page: Path, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each block of Python runs by itself, after the commands above it."""
    for name in ("first", "mine"):
        shutil.copytree(run_folder, tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    for language, block in blocks_of(page):
        if language == "python":
            exec(compile(block, name_of(page), "exec"), {"__name__": "__docs__"})
        elif language == "console":
            capsys.readouterr()
            for (name, *arguments), expected in commands(block):
                assert name == "noms"
                assert cli.main(arguments) == 0, capsys.readouterr().err
                output = capsys.readouterr().out.strip()
                assert output == expected.strip() or (not expected and output), arguments


def test_make_interop_runs_the_code_about_each_library() -> None:
    titles = [title for title in re.findall(r"(?m)^## (.+)$", text_of(LIBRARIES)) if blocks_of_page(title)]
    assert len(titles) == text_of(LIBRARIES).count("\n## ")
    for title in titles:
        tests = ROOT / "tests" / "interop" / f"test_{title.lower()}.py"
        assert f'run_page("{title}")' in text_of(tests), title
        assert tests.with_name(f"{title.lower()}.txt").is_file()


def noms_lines() -> list[str]:
    """Return the distinct lines of shell code that call `noms`."""
    pages = [*PAGES, *(ROOT / name for name in ("README.md", "examples/README.md", "checkpoints/README.md"))]
    lines = [line for page in pages for language, block in blocks_of(page) if language == "sh" for line in block.splitlines()]
    return sorted({line for line in lines if line.startswith("noms ")})


def without_effect(function: Callable[..., Any]) -> Callable[..., int]:
    """Return a function with the same signature that does nothing."""
    return functools.wraps(function)(lambda *_arguments, **_options: 0)


@pytest.mark.parametrize("line", noms_lines())
def test_a_documented_command_parses(
    line: str, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, name, *words = shlex.split(line, comments=True)
    module = import_module(f"noms_training.commands.{cli.COMMANDS[name][0]}")
    if hasattr(module, "command"):  # its defaults depend on the words
        monkeypatch.setattr(module, "saved_config", lambda _folder: module.preset_config("smoke", ("down_up",)))
        monkeypatch.setattr(module, "run", lambda config, *_rest: 0 if config.variants else 1)
    else:
        function = name if hasattr(module, name) else cli.COMMANDS[name][0]
        monkeypatch.setattr(module, function, without_effect(getattr(module, function)))
    assert cli.main([name, *words]) == 0, capsys.readouterr().err


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index"}
    for page in PAGES:
        for toctree in re.findall(r"(?s)```\{toctree\}\n(.*?)```", text_of(page)):
            listed |= {(page.parent / line).resolve() for line in toctree.splitlines() if line and not line.startswith(":")}
    assert {page.with_suffix("") for page in PAGES} == {path for path in listed if path.parent.name != sources.POLICIES}


def test_paths_on_pages_exist() -> None:
    for page in PAGES:
        for path in re.findall(r"`((?:noms_env|training|benchmarks|tests|docs|examples|checkpoints)/[\w/.]+)`", text_of(page)):
            made_by_the_reader = Path(path).name in ("seven_down.py", "lowest.py")
            assert made_by_the_reader or (ROOT / path).exists(), (page, path)
    (floors,) = re.findall(r"(?s)```text\n(.*?)```", text_of(DOCS / "development.md"))
    rows = re.findall(r"(?m)^([\w/.]+) +(.+)$", floors)
    assert {path.parent.name for path in (ROOT / "noms_env").glob("*/__init__.py")} == {
        path.split("/")[1] for path, _ in rows if path.startswith("noms_env/")
    }
    for path, holds in rows:
        for file in ["", *re.findall(r"\w+\.py", holds)]:
            assert (ROOT / path / file).exists(), (path, file)


def test_every_public_name_is_in_the_reference() -> None:
    reference = "\n".join(text_of(page) for page in PAGES if page.parent.name == "api")
    named = set(re.findall(r"(?m)^(?:\.\. (?:\w+:)?\w+::| {12}) (\S+)$", reference))
    for module in (noms_env, noms_env.players, noms_env.record, noms_training):
        for name in module.__all__:
            assert {f"{module.__name__}.{name}", name, f"noms_env.{name}"} & named, f"{module.__name__}.{name}"
    for name in named - {"noms_env"}:
        path, _, last = name.rpartition(".")
        assert hasattr(import_module(path or "noms_env"), last), name


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("Records", [*noms_env.record.form.SHAPES]),
        ("Data sets", [column.name for column in COLUMNS + TARGETS]),
        ("Policies", [*noms_env.policy.file.FIELDS]),
    ],
)
def test_the_keys_of_files_are_listed(title: str, keys: list[str]) -> None:
    rows = text_of(DOCS / "api" / "records.md").partition(f"## {title}\n")[2].partition("\n## ")[0]
    listed = [name for cell in re.findall(r"(?m)^\| (`.+?) \|", rows) for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(listed) == sorted(keys)
