"""The measures of the search: what they write, that they go on where they stopped, and their figures by hand."""

import csv
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import beliefs, search


@pytest.mark.soak
def test_strength_over_time_is_measured_written_and_not_measured_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def args(worlds: tuple[int, ...]) -> search.Args:
        return search.Args(tmp_path, games=("nonesuch",), fields=("policy", "thumb"), worlds=worlds, deals=2)

    search.main(args((1,)))
    first = capsys.readouterr().out.splitlines()
    heroes = ["pimc:1", "search:nonesuch@0,worlds=1"]
    assert [line.split()[:3] for line in first] == [
        *(["nonesuch", "policy", hero] for hero in heroes),
        *(["nonesuch", "thumb", hero] for hero in ["nonesuch@0", *heroes]),
    ]
    kept = json.loads((tmp_path / "nonesuch-thumb.json").read_text())
    assert set(kept) == {"nonesuch@0", *heroes}
    assert all(len(one["values"]) == 2 and one["ms"] > 0 for one in kept.values())
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["field"], row["player"]) for row in rows].count(("thumb", "nonesuch@0")) == 1
    assert float(rows[0]["points low"]) <= float(rows[0]["points mean"]) <= float(rows[0]["points high"])
    assert "| game | field | pimc 1 | policy | search 1 |" in (tmp_path / "search.md").read_text()
    assert (tmp_path / "search.png").stat().st_size > 10_000
    search.main(args((1, 2)))
    again = [line.split()[2] for line in capsys.readouterr().out.splitlines()]
    assert again == 2 * ["pimc:2", "search:nonesuch@0,worlds=2"]
    monkeypatch.setattr(search, "measure", lambda *_: pytest.fail("there was no time"))
    search.main(search.Args(tmp_path, games=("down_up",), minutes=0))


def test_heroes_are_compared_on_the_same_deals() -> None:
    results = search.Results(
        "nonesuch",
        "policy",
        "nonesuch@0",
        {
            "pimc:8": {"ms": 1.0, "values": [1, 0, 1, 0]},
            "pimc:24": {"ms": 3.0, "values": [2, 1, 2, 1]},
            "search:nonesuch@0,worlds=8": {"ms": 2.5, "values": [3, 2, 3, 2, 9]},
        },
    )
    assert results.pimc_in_time("search:nonesuch@0,worlds=8") == "pimc:24"
    above = results.above("search:nonesuch@0,worlds=8", "pimc:24")
    assert above is not None
    assert (above.mean, above.deals) == (1, 4)
    own = results.above("pimc:8", "nonesuch@0")
    assert own is not None
    assert own.mean == 0.5
    assert results.above("pimc:8", "pimc:800") is None
    (row,) = (row for row in search.rows([results]) if row["player"].startswith("search:"))
    assert (row["policy"].mean, row["pimc"].mean) == (3.8, 1)


@pytest.mark.soak
def test_beliefs_are_measured_written_and_not_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = beliefs.Args(tmp_path, games=("nonesuch",), fields=("policy", "thumb"), deals=3, worlds=30)
    beliefs.main(args)
    assert capsys.readouterr().out == "nonesuch policy\nnonesuch thumb\n"
    with (tmp_path / "beliefs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["field"], row["model"]) for row in rows} >= {("policy", "uniform"), ("thumb", "mixture")}
    assert all(0 <= float(row["loss"]) < 5 for row in rows)
    assert len((tmp_path / "beliefs.md").read_text().splitlines()) == 4
    assert (tmp_path / "beliefs.png").stat().st_size > 10_000
    beliefs.main(args)
    assert capsys.readouterr().out == ""


def test_the_loss_of_a_card_is_that_of_its_holder() -> None:
    """Card 0 may lie with seat 1 or 2, card 1 is certain; seat 2 holds card 0."""
    worlds: Any = SimpleNamespace(hands=np.array([[0, 3, 0], [0, 3, 0], [0, 2, 1], [0, 3, 0]]), stock=np.zeros(4, np.int64))
    true: Any = SimpleNamespace(n_seats=3, hands=np.array([0, 2, 1, 0]), stock=0)
    weights = np.array([[0.25] * 4, [0.1, 0.1, 0.7, 0.1]])
    *found, cards = beliefs.losses(true, worlds, weights)
    assert cards == 1
    assert found == pytest.approx([-math.log(1.5 / 5), -math.log((4 * 0.7 + 0.5) / 5)])
