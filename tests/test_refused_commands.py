"""Every command refuses wrong arguments with one sentence and exit status 2, and writes nothing."""

import sys
from pathlib import Path

import pytest

from tests.commands import Run, assert_refused

REFUSED = [
    (["evalute"], "'evalute'; did you mean evaluate?"),
    (["--print-completion", "cmd"], "--print-completion wants one of bash, zsh, not 'cmd'"),
    (["play", "noms", "--agianst", "thumb"], "--agianst, thumb (did you mean --against?); see noms play --help"),
    (["replay", "a", "--deal", "x"], "--deal must be an integer, not 'x'; see noms replay --help"),
    (["train", "noms", "--ppo.clip-coef", "x"], "--ppo.clip-coef must be a number, not 'x'; see noms train --help-all"),
    (["evaluate", "a", "b", "--set", "x"], "'x' for argument '--set'. Expected one of ('dev', 'test')"),
    (["record", "noms", "--out", "x", "--option", "cut"], "NAME=VALUE, such as target=50, not 'cut'"),
    (["record", "noms", "--out", "x", "--player"], "--player needs a value"),
    (["evaluate", "search:foo@0", "random"], "search:foo@0 needs a trained policy: there is no player 'foo@0'"),
    (["list", "\x1b[2J\u202e"], r"there is no variant '\x1b[2J\u202e'"),
    (["replay", "no-such-file"], "cannot read no-such-file: No such file or directory"),
    (["play", "small ships"], "'small ships'; did you mean small_ships?"),
    (["compile", "thump"], "there is no player 'thump'; did you mean thumb?"),
    (["play", "noms", "--deals", "0"], "deals must be 1 or more, not 0"),
    (["play", "noms", "--record", "no/such.jsonl"], "cannot write no/such.jsonl: there is no such folder"),
    (["play", "noms", "--record", "."], ". is there already; give --record a new name"),
    (["watch", "noms", "thumb", "--from-seat", "-1"], "--from-seat must be a seat from 0 to 3, not -1"),
    *(
        (
            ["benchmark", "score", "e", "--player", "thumb", "--tracks", track, "--games", "down_up"],
            f"down_up is played in {track}",
        )
        for track in ("strangers", "new_rules")
    ),
    (["benchmark"], "Expected one of {run, score, check, report, compare}"),
    (["evaluate", "thumb", "missing.safetensors"], "there is no file missing.safetensors"),
    (["play", "down_up", "--record", "x" * 300], f"cannot use {'x' * 300}: File name too long"),
    (["evaluate", "thumb", "random", "--matches", "2", "--line-ups", "mixed"], "--matches: matches are won alone or against"),
    (["evaluate", "thumb", "random", "--minutes", "0"], "--minutes must be above 0, not 0"),
    (["evaluate", "thumb", "random", "--tell", "1e-200"], "--tell must be 1e-09 or more, not 1e-200"),
    (["analyse", "games.jsonl", "--most", "-1"], "--most must be 0 or more, not -1"),
    (["evaluate", "thumb", "random", "--threads", "0"], "--threads must be from 1 to 1024, not 0"),
    (["evaluate", "thumb", "random", "--variant", "nonesuch", "--seats", "3", "--line-ups", "mixed"], "with 3 seats"),
    (["tournament", "thumb", "--variant", "noms"], "a tournament needs two or more different players, not thumb"),
    (["tournament", "--variant", "noms"], "a tournament needs two or more different players, not none"),
    (["crossplay", "--variant", "noms"], "cross-play needs two or more different policies, not none"),
    (["tournament", "thumb", "random", "--variant", "noms", "--limit", "0"], "--limit must be above 0, not 0"),
    (["train", "noms", "--initial-policy", "noms", "--network.width", "9"], "noms has layers of other sizes"),
    (["train", "noms", "--ppo.learning-rate", "-1"], "--ppo.learning-rate must be from 0 to 1, not -1.0"),
    (["train"], "name at least one game to train on; `noms list` shows them"),
    (["train", "down_up", "down_up"], "a game is named twice"),
    (["train", "down_up", "--seats", "4", "4"], "a number of seats is named twice"),
    (["train", "nonesuch", "--held-out", "half=floor"], "held_out needs drawn_rules above 0"),
    (["train", "nonesuch", "--drawn-rules", "9", "--held-out", "halff=floor"], "'halff'; did you mean half?"),
    (["train", "nonesuch", "--drawn-rules", "9", "--held-out", "half=flor"], "half must be"),
    (["train", "down_up", "--out", "/dev/null"], "/dev/null cannot be written: it is no folder"),
    *(
        (["train", "down_up", *words], "noms was trained for noms with 4 seats, not for down_up with 4 seats")
        for words in (
            ["--panel", "noms"],
            ["--opponents.players", "noms", "--opponents.share", "0.5"],
            ["--curriculum.expert", "noms"],
        )
    ),
    (["train", "down_up", "--tables", "1", "--threads", "2"], "tables must be at least 2"),
    (["train", "down_up", "--device", "tpu"], "device must be auto, cpu or cuda, not 'tpu'"),
    (["train", "--resume"], "--resume needs the folder of the run: --out RUN"),
    (["train", "--resume", "--out", "nowhere"], "there is no run to continue in nowhere"),
]


def test_a_terminal_shows_the_same_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert_refused(run("replay", "x", "--deel", "3"), "--deel, 3 (did you mean --deal?); see noms replay --help")


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_wrong_arguments_are_refused(
    run: Run, words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run(*words), sentence)
    assert list(tmp_path.iterdir()) == []
