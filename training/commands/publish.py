"""`noms publish`: write the folder of a trained policy, and the pages on all policies."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import tyro

from noms_env._files import write_atomically
from noms_env.players import PLAYERS
from noms_env.variants import VARIANTS

from ..extras import require
from ..learn.log import Series
from ..options import by_default
from ..publish.pages import CARD, pages
from ..publish.plots import draw
from ..publish.results import RESERVED, read_results
from ..publish.runs import CONFIG, Trained, read_trained
from .common import OK, CommandError, file_errors, wrong_arguments

CHECKPOINTS, PICTURE = "checkpoints", "curve.png"
PICTURED = ("eval/points/", "losses/entropy/")
"""Prefixes of the metrics in the card's picture."""


def publish(
    run: Annotated[tyro.conf.Positional[str | None], by_default("none: write the pages only", "RUN")] = None,
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="(goes with RUN)")] = None,
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER")] = CHECKPOINTS,
    before: Annotated[tuple[str, ...], by_default("none", "RUN ...")] = (),
) -> int:
    """Publish the policy of a run: make FOLDER/NAME with its weights, a model card and its learning curve.

    Then all pages in FOLDER are rewritten from the results there: RESULTS.md, and the card of each policy, README.md. Without
    RUN only the pages are written. A card describes the policy, its strength, behaviour and weaknesses, and how to reproduce
    it. Your text between the two comments below "Known weaknesses" is preserved.

    Measure the policy by its name, and put the JSON files into folders of FOLDER. The folder panel takes its strength, from
    noms evaluate or noms tournament; behaviour takes its behaviour, from noms evaluate NAME NAME. The folder exploit takes its
    weakness, from noms exploit; crossplay takes its loss among policies of other seeds, from noms crossplay. Results of an
    older policy of the same name are refused.

    Policies in the folder `checkpoints` of a checkout, or of the installed package, have names for all commands and functions:
    noms play, noms evaluate, noms_env.load_player.

    For example:
      noms publish runs/small_ships-long --name auctions
      noms evaluate auctions thumb --set test --json checkpoints/panel/auctions-vs-thumb.json
      noms publish
      noms publish runs/second --name mine --before runs/first
      noms publish runs/third --name mine --before checkpoints/mine

    Args:
        run: The folder of the run, as `noms train` makes it; its best policy so far is published.
        name: Name of the policy: lower-case letters, digits, _ and -.
        out: The folder of the policies. Existing files are replaced.
        before: If the run started from the policy of another run, or imitated it: the folders of the earlier runs, the first
            one first. The folder of a published policy stands for all its runs.
    """
    if (run is None) != (name is None):
        raise CommandError("RUN and --name go together")
    require("jinja2", "publish", "noms publish")
    folder, new, content = Path(out), dict[str, Trained](), dict[Path, bytes]()
    if run is not None and name is not None:
        require("matplotlib", "publish", "noms publish")
        with wrong_arguments(), file_errors(f"cannot read the run in {run}"):
            new[name] = policy_of(run, name, before, folder)
            content = {Path(name) / file: data for file, data in new[name].files().items()}
            content[Path(name) / PICTURE] = picture_of(name, new[name].curve)
    elif not folder.is_dir():
        raise CommandError(f"there is no folder {out}")
    with wrong_arguments(), file_errors(f"cannot read {out}"):
        results = read_results(folder, new)
        cards = {card: folder / card / CARD for card in results.policies}
        written = {card: file.read_bytes().decode(errors="surrogateescape") for card, file in cards.items() if file.exists()}
        content |= {path: text.encode(errors="surrogateescape") for path, text in pages(results, written).items()}
    for policy in new.values():
        for line in doubts([*before, str(run)], policy):
            print(f"noms: {line}", file=sys.stderr)
    for path in write(folder, content):
        print(path)
    return OK


def policy_of(run: str, name: str, before: Sequence[str], folder: Path) -> Trained:
    """Return the policy of a run (`read_trained`), to be published under a name in a folder; CommandError for a bad name."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise CommandError(f"--name must be of lower-case letters, digits, _ and -, such as small_ships, not {name!r}")
    if name in RESERVED:
        raise CommandError(f"--name {name} is the name of a folder of results; those are {', '.join(RESERVED)}")
    if name in PLAYERS:
        raise CommandError(f"--name {name} is the name of a player; those are {', '.join(PLAYERS)}")
    if (folder / name / CONFIG).exists():
        raise CommandError(f"{folder / name} is the folder of a run, which would be overwritten: give another --name or --out")
    policy = read_trained(run, before)
    games = list(dict.fromkeys(rules.variant.name for rules in policy.info.rule_sets))
    if name in VARIANTS and name not in games:
        raise CommandError(f"--name {name} is the name of a game; the policy was trained for {', '.join(games)}")
    return policy


def doubts(places: Sequence[str], policy: Trained) -> Iterator[str]:
    """Yield warnings about the runs of a policy."""
    run = policy.runs[-1]
    for word in run.command.split():
        if Path(word).is_absolute():
            yield f"the run names {word}, a path of this machine: the card and the policy's file name it too"
    if not run.command:
        yield f"the command that started {run.folder} is not known; its configuration is in runs.json"
    if policy.runs[0].source:
        yield f"{places[0]} learnt from the policy {policy.runs[0].source}; --before names the runs before it"


def picture_of(name: str, curve: Series) -> bytes:
    """Return the PNG for the card; ValueError if there is nothing to draw yet."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "curve.png"
        draw({name: {figure: values for figure, values in curve.items() if figure.startswith(PICTURED)}}, file)
        return file.read_bytes()


def write(folder: Path, content: dict[Path, bytes]) -> Iterator[Path]:
    """Write the changed files, each whole or not at all, and yield their paths; CommandError if one fails."""
    with file_errors(f"cannot write in {folder}"):
        for name, data in content.items():
            path = folder / name
            if not path.exists() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, data)
                yield path
