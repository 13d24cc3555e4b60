"""Files are written whole or not at all, and JSON from elsewhere is parsed to plain values or refused with one sentence."""

import json
import os
import re
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from noms_env._files import read_file, whole_file, write_atomically
from noms_env._json import parse_json


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"old")

    def write_half() -> None:
        with whole_file(tmp_path / "file") as file:
            file.write(b"half of the ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


def test_threads_may_write_the_same_file(tmp_path: Path) -> None:
    barrier = threading.Barrier(2, timeout=20)

    def write(content: bytes) -> None:
        with whole_file(tmp_path / "file") as file:
            file.write(content)
            barrier.wait()

    threads = [threading.Thread(target=write, args=(letter * 1000,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() in (b"a" * 1000, b"b" * 1000), "whole, by the last writer"


def test_file_names_may_be_long(tmp_path: Path) -> None:
    for name in ("x" * 250, "\u5c71" * 83):
        write_atomically(tmp_path / name, b"1")
        assert (tmp_path / name).read_bytes() == b"1"


@pytest.mark.skipif(os.name != "posix", reason="there are no such permissions")
def test_a_file_keeps_its_permissions_and_a_new_one_has_the_usual_ones(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"1")
    (tmp_path / "other").write_bytes(b"2")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    path.chmod(0o664)
    write_atomically(path, b"2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be opened")
def test_the_file_is_synced_before_it_moves_and_its_folder_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "file", list[tuple[bool, bool]]()
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists())))
    write_atomically(path, b"1")
    assert synced == [(False, False), (True, True)]


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
def test_links_and_pipes_stay_links_and_pipes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    write_atomically(tmp_path / "link", b"new")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "file").read_bytes()) == (True, b"new")
    pipe, contents = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: contents.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"new")
    reader.join()
    assert (pipe.is_fifo(), contents) == (True, [b"new"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_irregular_and_large_files_are_refused_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_env._files.PATIENCE", 0.1)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    for name in ("pipe", "zero", "circle", "folder", "large", "missing"):
        with pytest.raises(OSError, match=re.escape(str(tmp_path / name))):
            read_file(tmp_path / name)
    with pytest.raises(OSError, match="pipe"):
        write_atomically(tmp_path / "pipe", b"nobody reads this")
    (tmp_path / "small").write_bytes(b"content")
    assert read_file(tmp_path / "small", most=7) == b"content"
    with pytest.raises(OSError, match="it has more than 6 bytes"):
        read_file(tmp_path / "small", most=6)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff", "not UTF-8 text"),
        (b"[1, 2", "not JSON: Expecting ',' delimiter at character 6"),
        (b"NaN", "not JSON: NaN is no number"),
        (b"[-1e999]", "not JSON: -1e999 is too large a number"),
        (b"-" + b"9" * 5000, "not JSON: -9999999999999999999... is too large a number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 120 + b"1" + b"}" * 120, "nested too deeply"),
        (b'{"a": 1, "b": 2, "a": 3}', "not JSON: an object has the key 'a' twice"),
        (b'["\\ud800"]', "half of a surrogate pair"),
        (b"\xef\xbb\xbf\xef\xbb\xbf1", "at character 1"),
    ],
)
def test_other_content_is_refused_with_one_sentence(content: bytes | str, sentence: str) -> None:
    with pytest.raises(ValueError, match=rf"^it [^\n]*{re.escape(sentence)}[^\n]*$"):
        parse_json(content)


@pytest.mark.parametrize(
    "value", [None, True, -0.5, 1e308, -(10**307), "♣ \U0001f0a1", [], {"a": [{"b": "\n"}]}, json.loads("[" * 90 + "]" * 90)]
)
def test_plain_values_are_parsed(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        for content in (text, text.encode(), text.encode("utf-8-sig")):
            assert parse_json(content) == value
