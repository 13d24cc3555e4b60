"""Wrong requests of every command: one sentence that says what was wrong, exit status 2, and nothing left behind."""

import sys
from pathlib import Path

import pytest

from tests.commands import Run, assert_refused

REFUSED = [
    (["deal"], "there is no command 'deal'; the commands are list, play, watch"),
    (["evalute"], "there is no command 'evalute'; did you mean evaluate? The commands are list"),
    (["--hepl"], "there is no command '--hepl'; did you mean --help?"),
    (["--print-completion"], "--print-completion wants one of bash, zsh, not ''"),
    (["--print-completion", "cmd"], "--print-completion wants one of bash, zsh, not 'cmd'"),
    (["play", "noms", "--agianst", "thumb"], "--agianst, thumb (did you mean --against?); see noms play --help"),
    (["train", "noms", "--ppo.clip", "0"], "--ppo.clip, 0 (did you mean --ppo.clip-coef?); see noms train"),
    (["check", "a", "b"], "Unrecognized options: b; see noms check --help"),
    (["record"], "Missing from noms record: VARIANT --out FILE; see noms record --help"),
    (["watch", "noms"], "name one player for all 4 seats, or 4 of them, not 0"),
    (["replay", "a", "--deal", "x"], "--deal must be an integer, not 'x'; see noms replay --help"),
    (["play", "noms", "--seat", "None"], "--seat must be an integer, not 'None'; see noms play --help"),
    (["play", "noms", "--deals"], "Missing value for argument '--deals'"),
    (["train", "noms", "--seats", "3", "x"], "--seats must be an integer, not 'x'; see noms train --help-all"),
    (["train", "noms", "--ppo.clip-coef", "x"], "--ppo.clip-coef must be a number, not 'x'; see noms train --help-all"),
    (["evaluate", "a", "b", "--set", "x"], "'x' for argument '--set'. Expected one of ('dev', 'test'); see noms evaluate"),
    (["evaluate", "a", "b", "--line-ups", "x"], "--line-ups must be one of 'alone', 'against', 'mixed', not 'x'; see noms"),
    (["record", "bridge", "--out", "x"], "there is no variant 'bridge'; the variants are sniped_whist"),
    (["record", "noms", "--out", "x", "--seats", "7"], "noms is played with 4 seats"),
    (["record", "noms", "--out", "x", "--seed", "-1"], "seed must be an integer"),
    (["record", "noms", "--out", "x", "--matches", "0"], "matches must be an integer from 1, not 0"),
    (["record", "noms", "--out", "x", "--player", "chess"], "there is no player 'chess'"),
    (["record", "noms", "--out", "x", "--option", "hook=true"], "noms has no option 'hook'"),
    (["record", "noms", "--out", "x", "--option", "cut=99"], "cut must be an integer from 0 to 51 or None, not 99"),
    (["record", "noms", "--out", "x", "--option", "cut"], "--option wants NAME=VALUE, such as target=50, not 'cut'"),
    (["record", "noms", "--out", "no/such/x"], "cannot write no/such/x: No such file or directory"),
    (["record", "noms", "--out", "."], "cannot write .: Is a directory"),
    (["record", "noms", "--out", "x", "--player"], "--player needs a value"),
    (["record", "noms", "--out", "x", "--player", "thumb", "thumb"], "name one player for all 4 seats, or 4 of them, not 2"),
    (["evaluate", "search:foo@0", "random"], "search:foo@0 needs a trained policy: there is no player 'foo@0'"),
    (["watch", "noms", "foo@0"], "there is no player 'foo@0'"),
    (["list", "\x1b[2J\u202e"], r"there is no variant '\x1b[2J\u202e'"),
    (["check", "\x1b[2J\u202e"], r"cannot read \x1b[2J\u202e: No such file or directory"),
    (["check", "no-such-file"], "cannot read no-such-file: No such file or directory"),
    (["replay", "no-such-file"], "cannot read no-such-file: No such file or directory"),
    (["list", "nonsuch"], "there is no variant 'nonsuch'; did you mean nonesuch? The variants are sniped_whist"),
    (["play", "small ships"], "there is no variant 'small ships'; did you mean small_ships? The variants are"),
    (["watch", "noms", "thum"], "there is no player 'thum'; did you mean thumb? The players are"),
    (["play", "noms", "--option", "min_bit=7"], "noms has no option 'min_bit'; did you mean min_bid? The options are"),
    (["play", "noms", "--seat", "4"], "--seat must be a seat from 0 to 3, not 4"),
    (["play", "noms", "--against", "thumb", "thumb"], "name one player for all 3 seats, or 3 of them, not 2"),
    (["play", "noms", "--against", "no.safetensors"], "there is no file no.safetensors"),
    (["play", "noms", "--deals", "0"], "deals must be 1 or more, not 0"),
    (["play", "noms", "--seed", "-1"], "seed must be an integer from 0 to 2**63 - 1, not -1"),
    (["play", "noms", "--record", "no/such.jsonl"], "cannot write no/such.jsonl: there is no such folder"),
    (["play", "noms", "--record", "."], ". is there already; give --record a new name"),
    (["watch", "noms", "thumb", "random"], "name one player for all 4 seats, or 4 of them, not 2"),
    (["watch", "noms", "thumb", "--from-seat", "-1"], "--from-seat must be a seat from 0 to 3, not -1"),
    (["watch", "noms", "thumb", "--delay", "-1"], "--delay must be from 0 to 86400, not -1"),
    (["watch", "noms", "thumb", "--deals", "0"], "deals must be 1 or more, not 0"),
    (["evaluate", "thumb@0", "random"], "there is no player 'thumb@0'"),
    (["evaluate", "thumb", "runs/missing"], "there is no file or folder 'runs/missing'"),
    (["evaluate", "thumb", "random", "--variant"], "--variant needs a value"),
    (["benchmark"], "Expected one of {run, score, check, report}"),
    (["plot", "."], ". is not the folder of a run: it has no log.csv"),
    (["evaluate", "thumb", "missing.safetensors"], "there is no file missing.safetensors"),
    (["evaluate", "thumb", "pimc:none"], "worlds of the player pimc must be a whole number, not 'none'"),
    (["evaluate", "two\nlines.safetensors", "random"], "there is no file two lines.safetensors"),
    (
        ["evaluate", "thumb", "random", "--variant", "noms", "--seats", "5"],
        "no game of this run is played with 5 seats: noms 4\n",
    ),
    (["evaluate", "thumb", "random", "--deals", "1"], "--deals must be from 2 to 10000000, not 1"),
    (["play", "down_up", "--record", "x" * 300], f"cannot use {'x' * 300}: File name too long"),
    (["evaluate", "x" * 300, "random"], f"there is no player '{'x' * 116}..."),
    (["evaluate", "thumb", "random", "--matches", "1"], "--matches must be 0, or from 2 to 10000000, not 1"),
    (["evaluate", "thumb", "random", "--matches", "9" * 20], "--matches must be 0, or from 2 to 10000000, not 9999"),
    (
        ["evaluate", "thumb", "random", "--matches", "2", "--line-ups", "mixed"],
        "--matches: matches are won alone or against, and --line-ups names neither",
    ),
    (["evaluate", "thumb", "random", "--minutes", "0"], "--minutes must be above 0, not 0"),
    (["evaluate", "thumb", "random", "--tell", "nan"], "--tell must be above 0, not nan"),
    (["evaluate", "thumb", "random", "--seed", "-1"], "--seed must be from 0 to 2**63 - 1, not -1"),
    (["evaluate", "thumb", "random", "--threads", "0"], "--threads must be from 1 to 1024, not 0"),
    (["evaluate", "thumb", "random", "--json", "/nowhere/x.json"], "cannot write /nowhere/x.json"),
    (
        ["evaluate", "thumb", "random", "--variant", "nonesuch", "--seats", "3", "--line-ups", "mixed"],
        "with 3 seats there are only",
    ),
    (["tournament", "thumb", "--variant", "noms"], "a tournament needs two or more different players, not thumb"),
    (
        ["tournament", "thumb", "random", "--variant", "noms", "--deals", "1"],
        "the number of deals must be from 2 to 1,000,000, not 1",
    ),
    (
        ["tournament", "thumb", "random", "--variant", "noms", "--deals", "9" * 9],
        "the number of deals must be from 2 to 1,000,000, not 999,999,999",
    ),
    (["tournament", "thumb", "random", "--variant", "noms", "--limit", "0"], "--limit must be above 0, not 0"),
    (["tournament", "thumb", "random", "--variant", "noms", "--resume"], "there is no tournament to go on with in"),
    (["demo", "--decisions", "0"], "decisions must be from 1 to"),
    (["demo", "--seed", "-1"], "seed must be an integer from 0 to 2**63 - 1, not -1"),
    (
        ["train", "noms", "--initial-policy", "noms", "--network.width", "9"],
        "an initial policy must have the run's network size; noms has",
    ),
    (["train", "noms", "--ppo.learning-rate", "-1"], "--ppo.learning-rate must be from 0 to 1, not -1.0"),
    (["train", "noms", "--initial-policy", "nobody"], "there is no policy 'nobody'"),
    (["train"], "name at least one game to train on; `noms list` shows them"),
    (["train", "down_up", "down_up"], "a game is named twice"),
    (["train", "down_up", "--panel", "thumb", "thumb"], "a player of the panel is named twice"),
    (
        ["train", "down_up", "--preset", "quick"],
        "'quick' for argument '--preset'. Expected one of ('smoke',",
    ),
    (["train", "down_up", "--out", "/dev/null"], "/dev/null cannot be written: it is no folder"),
    (["train", "bridge"], "there is no variant 'bridge'; the variants are sniped_whist"),
    (["train", "down_up", "--seats", "9"], "no game of this run is played with 9 seats: down_up 3 to 6"),
    (["train", "down_up", "--panel", "chess"], "there is no player 'chess'"),
    *(
        (["train", "down_up", *words], "noms was trained for noms with 4 seats, not for down_up with 4 seats")
        for words in (
            ["--panel", "noms"],
            ["--opponents.players", "noms", "--opponents.share", "0.5"],
            ["--curriculum.expert", "noms"],
        )
    ),
    (["train", "down_up", "--option", "hok=true"], "down_up has no option 'hok'; did you mean hook? The options are "),
    (
        ["train", "down_up", "up_down", "--option", "hok=true"],
        "no game of this run has an option 'hok'; did you mean hook?",
    ),
    (["train", "down_up", "--tables", "1", "--threads", "2"], "tables must be at least 2"),
    (["train", "down_up", "--device", "tpu"], "device must be auto, cpu or cuda, not 'tpu'"),
    (["train", "--resume"], "--resume needs the folder of the run: --out RUN"),
    (["train", "--resume", "--out", "nowhere"], "there is no run to continue in nowhere"),
    (["train", "down_up", "--resume"], "there is no run to continue in runs/down_up-fast"),
]


def test_on_a_terminal_a_refusal_is_the_same_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert_refused(run("replay", "x", "--deel", "3"), "--deel, 3 (did you mean --deal?); see noms replay --help")


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_wrong_request_is_refused(
    run: Run, words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run(*words), sentence)
    assert list(tmp_path.iterdir()) == []
