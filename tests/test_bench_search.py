"""The strength of search over time is measured once per cell."""

import csv
import json
from pathlib import Path

import pytest

from benchmarks import search_strength as strength


@pytest.mark.soak
def test_strength_is_measured_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def args(worlds: tuple[int, ...]) -> strength.Args:
        return strength.Args(tmp_path, games=("nonesuch",), fields=("policy", "thumb"), worlds=worlds, deals=2)

    strength.main(args((1,)))
    first = capsys.readouterr().out.splitlines()
    heroes = ["pimc:1", "search:nonesuch@0,worlds=1"]
    assert [line.split()[:3] for line in first] == [
        *(["nonesuch", "policy", hero] for hero in heroes),
        *(["nonesuch", "thumb", hero] for hero in ["nonesuch@0", *heroes]),
    ]
    sha256 = json.loads((tmp_path / "nonesuch-thumb.json").read_text())["policy_sha256"]
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["field"], row["player"]) for row in rows].count(("thumb", "nonesuch@0")) == 1
    assert (tmp_path / "search.png").stat().st_size > 10_000
    strength.main(args((1, 2)))
    again = [line.split()[2] for line in capsys.readouterr().out.splitlines()]
    assert again == 2 * ["pimc:2", "search:nonesuch@0,worlds=2"]
    text = (tmp_path / "nonesuch-thumb.json").read_text()
    (tmp_path / "nonesuch-thumb.json").write_text(text.replace(sha256, "0" * 64))
    with pytest.raises(ValueError, match="is of another policy nonesuch@0"):
        strength.main(args((1, 2)))
