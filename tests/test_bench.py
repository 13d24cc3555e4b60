"""The speed benchmark: its counts, the order of its cases, and its files. No test depends on a speed."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import noms_env
from benchmarks.speed import clock, ours
from benchmarks.speed.__main__ import main
from benchmarks.speed.clock import Case, by_turns
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import HIDDEN_SIZE, OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.variants.table_record import TABLE
from tests.begin import begin


@pytest.mark.uncompiled
@pytest.mark.parametrize(("variant", "steps"), [("big_ships", 60), ("noms", 90), ("nonesuch", 60)])
def test_random_play_in_one_call_equals_single_calls(variant: str, steps: int) -> None:
    fused, stepped = (noms_env.make_batch(variant, 2, seed=3, episode="deal", hidden_state=True) for _ in range(2))
    streams = np.array([5, 2**31])
    words = [np.zeros((2, size // 8), np.int64) for size in (OBSERVATION_SIZE, PADDED_MASK_SIZE, HIDDEN_SIZE)]
    fused.reset()
    observation, mask, hidden = words
    batch_kernels.play_random(kernel_view(fused.tables), 0, 2, steps, streams.copy(), observation, mask, hidden, ours.ALL)
    stepped.reset()
    actions = np.zeros(2, np.int64)
    for _ in range(steps):
        stepped.observe()
        stepped.random_actions(streams, actions)
        stepped.step(actions)
        if stepped.over.any():
            stepped.reset(stepped.over)
    assert (stepped.tables.match > 0).all()
    assert fused.tables.tobytes() == stepped.tables.tobytes()
    assert stepped.hidden_state is not None
    for written, array in zip(words, (stepped.observation, stepped.mask, stepped.hidden_state), strict=True):
        assert written.view(np.uint8)[:, : array.shape[1]].tobytes() == array.tobytes()


@pytest.mark.parametrize("outputs", range(8))
def test_only_the_chosen_outputs_are_written(outputs: int) -> None:
    batch = begin(noms_env.make_batch("up_down", 3, seed=1))
    words = [np.full((3, size // 8), -1) for size in (PADDED_MASK_SIZE, OBSERVATION_SIZE, HIDDEN_SIZE)]
    mask, observation, hidden = words
    batch_kernels.play_random(kernel_view(batch.tables), 1, 2, 4, np.full(3, 9), observation, mask, hidden, outputs)
    for bit, array in enumerate(words):
        assert (array[[0, 2]] == -1).all()
        assert (array[1] != -1).all() == bool(outputs >> bit & 1)


def test_a_rate_is_decisions_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(1000))
    monkeypatch.setattr(clock, "perf_counter", lambda: next(times))
    pieces = iter([10, 20, 60, 1000])
    assert clock.rate(lambda: next(pieces))(3) == 30
    assert next(pieces) == 1000


def test_cases_take_turns_and_the_control_runs_before_each() -> None:
    runs: list[str] = []

    def case(key: str) -> Case:
        def run(seconds: float) -> float:
            runs.append(f"{key} {seconds}")
            return float(len(runs))

        return Case(key, key, run)

    def control() -> float:
        runs.append("control")
        return 0.5

    measured, failed = by_turns([case("a"), case("b")], 2, 0.25, control)
    turn = ["control", "a 0.25", "control", "b 0.25"]
    assert runs == ["a 0.0", "b 0.0", *turn, *turn]
    assert measured["a"].values == [4.0, 8.0]
    assert measured["b"].control == [0.5, 0.5]
    assert failed == {}


def failing_after(runs: int) -> Callable[[float], float]:
    """A measurement that fails after its first runs."""
    rates = [1.0] * runs

    def run(_: float) -> float:
        if not rates:
            raise RuntimeError("broken")
        return rates.pop()

    return run


@pytest.mark.parametrize("runs", [0, 1, 2])
def test_a_peer_that_fails_is_left_out_and_named(runs: int) -> None:
    cases = [Case("peer/x", "", failing_after(runs), of_a_peer=True), Case("ours/y", "", lambda _: 2.0)]
    measured, failed = by_turns(cases, 2, 0.0, lambda: 1.0)
    assert list(measured) == ["ours/y"]
    assert measured["ours/y"].values == [2.0, 2.0]
    assert failed == {"peer/x": "RuntimeError: broken"}


def test_a_quick_run_measures_every_kind_of_case_and_compares_peers_with_ours(tmp_path: Path) -> None:
    words = ["--quick", "--repetitions", "1", "--json", tmp_path / "b.json", "--plot", tmp_path / "b.png"]
    assert main([str(word) for word in words]) == 0
    assert (tmp_path / "b.png").stat().st_size > 10_000
    run = json.loads((tmp_path / "b.json").read_text())
    keys = ("form", "date", "machine", "versions", "settings", "control", "cases", "bytes_per_table", "missing")
    assert (tuple(run), run["form"]) == (keys, "noms-bench/1")
    expected = {f"engine/{name}{cores}" for name in ("alone", "mask", "observation", "state") for cores in ("", "/two")}
    expected |= {f"{group}/{variant}" for variant in noms_env.VARIANTS for group in ("games", "copies/redeal")}
    expected |= {f"games/{variant}/features" for variant in noms_env.VARIANTS}
    expected |= {"batch/check", "batch/trusted", "batch/calls", "threads/1", "threads/2", "single/raw_env", "single/env"}
    expected |= {"seats/random", "seats/random/two", "seats/thumb", "policies/one", "policies/batch"}
    expected |= {"copies/clone", "start/import", "start/first_step", "growth/compiled/16", "growth/batch/16"}
    assert expected <= set(run["cases"])
    assert run["bytes_per_table"]["record"] == TABLE.itemsize
    assert sum(run["bytes_per_table"].values()) == 2 * run["bytes_per_table"]["all"]
    assert {"numba", "numpy"} <= set(run["versions"])
    assert run["settings"]["repetitions"] == 1
    cases = run["cases"]
    for key, case in cases.items():
        for other, ratio in case["faster"].items():
            assert not cases[other]["peer"]
            assert cases[other]["unit"] == case["unit"]
            assert ratio == pytest.approx(cases[other]["median"] / case["median"]), key
        assert case["faster"] or not case["peer"], key


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--repetitions", "0"], "--repetitions must be 1 or more, not 0"),
        (["--json", "nowhere/b.json"], "cannot write nowhere/b.json: there is no such folder"),
        (["--plot", "nowhere/b.png"], "cannot write nowhere/b.png: there is no such folder"),
    ],
)
def test_a_wrong_request_is_refused_before_measuring(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words]) == 2
    assert capsys.readouterr() == ("", f"benchmarks.speed: {sentence}\n")
