"""The measures of the search: what they write, that they go on where they stopped, and their figures by hand."""

import csv
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.search import beliefs, regret, strength, timing
from noms_env.search import opponent_models as beliefs_of_search
from noms_env.search.policy_search import USUAL_TEMPERATURE
from noms_training.agents.registry import agent_spec


@pytest.mark.soak
def test_strength_over_time_is_measured_written_and_not_measured_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def args(worlds: tuple[int, ...]) -> strength.Args:
        return strength.Args(tmp_path, games=("nonesuch",), fields=("policy", "thumb"), worlds=worlds, deals=2)

    strength.main(args((1,)))
    first = capsys.readouterr().out.splitlines()
    heroes = ["pimc:1", "search:nonesuch@0,worlds=1"]
    assert [line.split()[:3] for line in first] == [
        *(["nonesuch", "policy", hero] for hero in heroes),
        *(["nonesuch", "thumb", hero] for hero in ["nonesuch@0", *heroes]),
    ]
    kept = json.loads((tmp_path / "nonesuch-thumb.json").read_text())
    sha256 = kept.pop("policy_sha256")
    assert set(kept) == {"nonesuch@0", *heroes}
    assert all(len(one["values"]) == 2 and one["ms"] > 0 for one in kept.values())
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["field"], row["player"]) for row in rows].count(("thumb", "nonesuch@0")) == 1
    assert float(rows[0]["points low"]) <= float(rows[0]["points mean"]) <= float(rows[0]["points high"])
    assert f"{kept['nonesuch@0']['ms']:.3g}" in (tmp_path / "search.md").read_text()
    assert (tmp_path / "search.png").stat().st_size > 10_000
    strength.main(args((1, 2)))
    again = [line.split()[2] for line in capsys.readouterr().out.splitlines()]
    assert again == 2 * ["pimc:2", "search:nonesuch@0,worlds=2"]
    text = (tmp_path / "nonesuch-thumb.json").read_text()
    (tmp_path / "nonesuch-thumb.json").write_text(text.replace(sha256, "0" * 64))
    with pytest.raises(ValueError, match="is of another policy nonesuch@0: take a new folder, or remove the file"):
        strength.main(args((1, 2)))


def test_ctrl_c_keeps_what_was_measured_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "nonesuch-thumb.json"
    sha256 = agent_spec("nonesuch@0").sha256
    kept.write_text(f'{{"policy_sha256": "{sha256}", "nonesuch@0": {{"ms": 1, "values": [1, 2]}}}}')
    before = kept.read_bytes()
    monkeypatch.setattr(strength, "compare", lambda *_, **__: SimpleNamespace(ending="ctrl-c"))
    with pytest.raises(KeyboardInterrupt):
        strength.main(strength.Args(tmp_path, games=("nonesuch",), fields=("thumb",), deals=3))
    assert kept.read_bytes() == before


def test_heroes_are_compared_on_the_same_deals() -> None:
    results = strength.Results(
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
    (row,) = (row for row in strength.rows([results]) if row["player"].startswith("search:"))
    assert (row["policy"].mean, row["pimc"].mean) == (3.8, 1)


def test_each_model_of_the_others_has_a_column_of_its_own() -> None:
    heroes = {f"search:nonesuch@0{model},worlds=8": {"ms": 1.0, "values": [1, 0]} for model in ("", ",opponents=uniform")}
    points, times = strength.tables([strength.Results("nonesuch", "policy", "nonesuch@0", heroes)]).split("\n\n")
    assert points.splitlines()[0] == "| game | field | search 8 | search uniform 8 |"
    assert times.splitlines()[0] == "| game | search 8 | search uniform 8 |"


@pytest.mark.soak
def test_beliefs_are_measured_written_and_not_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = beliefs.Args(tmp_path, games=("nonesuch",), fields=("policy", "thumb"), deals=3, worlds=30)
    beliefs.main(args)
    assert capsys.readouterr().out == "nonesuch policy\nnonesuch thumb\n"
    with (tmp_path / "beliefs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["field"], row["model"]) for row in rows} >= {("policy", "uniform"), ("thumb", "mixture")}
    assert all(0 <= float(row["loss"]) < 5 for row in rows)
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


@pytest.mark.soak
def test_time_is_measured_and_written(tmp_path: Path) -> None:
    timing.main(timing.Args(tmp_path, games=("nonesuch",), worlds=2, decisions=5, repeats=1))
    with (tmp_path / "timing.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["opponents"], row["threads"]) for row in rows] == [(of, n) for of in ("uniform", "mixture") for n in "12"]
    for row in rows:
        assert float(row["one"]) > 0
        assert 0 < float(row["inference"]) < 1
        assert 1000 < float(row["rate"]) < float(row["bound"])


@pytest.mark.soak
def test_regret_is_measured_written_and_not_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = regret.Args(tmp_path, games=("nonesuch",), worlds=(2,), temperatures=(0.0, 1.0), decisions=9, reference=512)
    regret.main(args)
    assert len(capsys.readouterr().out.splitlines()) == 3
    with (tmp_path / "regret.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["temperature"], row["pool"]) for row in rows] == [("0.0", "1"), ("1.0", "1"), (str(USUAL_TEMPERATURE), "2")]
    assert all(float(row["regret"]) >= 0 <= float(row["policy"]) for row in rows)
    assert beliefs_of_search.POOL == 1
    regret.main(args)
    assert capsys.readouterr().out == ""


def test_the_regret_is_what_the_reference_would_have_gained() -> None:
    found: Any = [SimpleNamespace(row=row, logits=lambda: np.array([0.0, 2.0, 1.0])) for row in (3, 5)]
    assert regret.regret(found, {3: np.array([4.0, 1.5, 0.0]), 5: np.array([1.0, 2.0, 0.0])}) == 1.25
    rows = [
        {"worlds": "8", "temperature": "0.5", "pool": "1", "policy": bare, "regret": own, "spread": "0.1", "ms": ms}
        for bare, own, ms in (("1", "0.5", "2"), ("0.5", "0.1", "4"))
    ]
    assert "| 8 | 0.5 | 1 | 35.0% ±11.2% | 3.0 |" in regret.table(rows)
