"""The strength of search over time: what is written, that it goes on where it stopped, and its figures by hand."""

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import search_strength as strength
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
