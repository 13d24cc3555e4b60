"""Blocks of deals: which remain, which count as done, and their files."""

import os
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from noms_training.evaluation.block_store import (
    Blocks,
    NothingPlayedError,
    blocks_left,
    play_left,
    read_results,
    write_results,
)
from noms_training.evaluation.tournament import read_saved


def test_blocks_cover_the_deals_and_count_up_to_the_first_gap() -> None:
    blocks = Blocks[str](10, 4)
    assert list(blocks) == blocks.left == [(0, 4), (4, 4), (8, 2)]
    blocks.results = {0: "a", 8: "c"}
    assert (blocks.left, blocks.done, blocks.deals_done, blocks.joined("all")) == ([(4, 4)], [(0, 4)], 4, ["a"])
    with pytest.raises(NothingPlayedError) as nothing:
        Blocks(10, 1, {0: "a"}).joined("time")
    assert nothing.value.ending == "time"


@pytest.mark.parametrize("threads", [1, 3])
def test_series_advance_together_and_finished_blocks_are_not_played_again(threads: int) -> None:
    def play(first: int, count: int, stop: Event) -> range:
        return range(first, first + count)

    series = [Blocks[range](6, 2), Blocks[range](5, 3, {0: range(3)})]
    saved, ticks = list[tuple[int, int]](), list[int]()
    ending = play_left(
        [(blocks, play) for blocks in series],
        threads,
        keep=lambda number, first, _: saved.append((first, number)),
        tick=ticks.append,
    )
    assert ending == "all"
    assert sorted(saved) == [(0, 0), (2, 0), (3, 1), (4, 0)]
    assert (ticks[0], sum(ticks)) == (3, 11)
    assert [[deal for part in blocks.joined("all") for deal in part] for blocks in series] == [[*range(6)], [*range(5)]]


def test_series_of_different_lengths_end_together() -> None:
    short, long = Blocks[str](4, 2), Blocks[str](8, 2)
    assert blocks_left([short, long]) == [(0, 0, 2), (1, 0, 2), (1, 2, 2), (0, 2, 2), (1, 4, 2), (1, 6, 2)]


def test_a_damaged_file_is_reported_and_a_missing_one_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deep" / "0.json"
    assert read_results(file, list) is None
    write_results(file, [1, 2])
    assert read_results(file, list) == [1, 2]
    assert capsys.readouterr().err == ""
    for content in (b"[1, 2", b"7", b"\xff", b"[1e999]", b"[" * 100_000):
        file.write_bytes(content)
        assert read_results(file, lambda values: [*map(float, values)]) is None
        assert str(file) in capsys.readouterr().err
    file.unlink()
    os.mkfifo(file)
    assert read_results(file, list) is None
    assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize("points", [([1.0], [float("nan")]), ([1.0], [1.0, 2.0]), (1.0, 2.0), ("a", "b"), (None, None)])
def test_points_of_another_shape_are_refused(points: tuple[object, object]) -> None:
    document = {"alone": points[0], "against": points[1], "lost": [{}, {}]}
    with pytest.raises((ValueError, TypeError)):
        read_saved(document)
    np.testing.assert_array_equal(read_saved(document | {"alone": [1], "against": [2.5]}).points, [[1.0], [2.5]])
