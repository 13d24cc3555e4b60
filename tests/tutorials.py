"""Copy the package with the changes of a tutorial on adding."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOW_TO = ROOT / "docs" / "how_to"
NEW_FILES = {"variant": (("seven_down.py", "noms_env/variants"),), "option": (), "player": (("lowest.py", "noms_env/players"),)}
"""Per tutorial: files of `docs/how_to`, and their destination folders."""


def page(name: str) -> str:
    return (HOW_TO / f"add_{name}.md").read_text(encoding="utf-8")


def apply(diff: str, root: Path) -> list[str]:
    """Apply a diff to files in a folder and return their names.

    Raises:
        AssertionError: the old lines are missing, or occur more than once.
    """
    names = []
    for name, hunks in re.findall(r"(?ms)^--- a/(\S+)\n\+\+\+ b/\S+\n(.*?)(?=^--- |\Z)", diff):
        text = (root / name).read_text(encoding="utf-8")
        for hunk in filter(None, re.split(r"(?m)^@@\n", hunks)):
            lines = hunk.splitlines(keepends=True)
            old, new = ("".join(line[1:] for line in lines if line[0] in f" {sign}") for sign in "-+")
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        (root / name).write_text(text, encoding="utf-8")
        names.append(name)
    return names


def changed_copy(root: Path, name: str) -> list[str]:
    """Copy the packages into an empty folder, apply the changes of a tutorial, and return the changed and new files."""
    for folder in ("noms_env", "training", "docs"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "checkpoints", root / "noms_env" / "checkpoints")
    for file, folder in NEW_FILES[name]:
        shutil.copy(HOW_TO / file, root / folder)
    changed = [file for diff in re.findall(r"(?s)```diff\n(.*?)```", page(name)) for file in apply(diff, root)]
    assert len(changed) == len(set(changed)) == page(name).count("+++ b/") > 0
    return [*changed, *(f"{folder}/{file}" for file, folder in NEW_FILES[name])]
