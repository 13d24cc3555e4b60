"""A check of records finds every fault, and no record breaks it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noms_env.record import Record, RecordError, check_records, find_damage, read_records, record_matches, replay
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests import referee
from tests.begin import begin
from tests.records import RECORD_KEYS, SIXTEEN, WHOLE, changed, check, play, play_match, wrong_keys


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"", "the line is empty"),
        (json.dumps(WHOLE).encode()[:-9], "the line is not JSON: "),
        (b"\xff\xfe", "the line is not UTF-8 text"),
        (b"[1, 2]", "the line is not an object but [1, 2]"),
        (json.dumps({**WHOLE, "extra": "\ud800"}).encode(), "half of a surrogate pair"),
        (b'{"format": "noms-record/1"}', "variant, seats, options, "),
    ],
)
def test_the_check_names_a_damaged_line_and_goes_on(tmp_path: Path, line: bytes, sentence: str) -> None:
    path = tmp_path / "games.jsonl"
    whole = json.dumps(WHOLE).encode()
    path.write_bytes(whole + b"\n" + line + b"\n" + json.dumps(changed(WHOLE, match=1, trump="X")).encode())
    damaged, wrong = check_records(read_records(path))
    assert str(damaged).startswith("line 2: ")
    assert sentence in str(damaged)
    assert (damaged.match, damaged.deal, damaged.what) == (None, None, "line")
    assert (wrong.line, wrong.match, wrong.what) == (3, 1, "trump")


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"format": "noms-record/2"}, "format must be 'noms-record/1'"),
        ({"variant": "bridge"}, "variant must be a variant"),
        ({"seats": 8}, "seats must be a number from 2 to 7, not 8"),
        ({"match": -1}, "match must be a whole number from 0 to 9007199254740992, not -1"),
        ({"dealer": 4}, "dealer must be a seat, not 4"),
        ({"deck": "all"}, "deck must be a list of cards"),
        ({"turn_up": 7}, "turn_up must be a word or null"),
        ({"steps": {}}, "steps must be a list of objects"),
        ({"steps__1": 3}, "step 1 is not an object"),
        ({"steps__1": {"seat": 0, "phase": "call"}}, "step 1: action is missing"),
        ({"steps__2__seat": 4}, "step 2: seat must be a seat, not 4"),
        ({"steps__0__legal": "pass"}, "step 0: legal must be a list of words"),
        ({"over": 1}, "over must be true or false"),
        ({"winners": [4]}, "winners must be a list of seats"),
    ],
)
def test_a_value_of_the_wrong_kind_is_damage(values: dict[str, Any], sentence: str) -> None:
    assert (find_damage(changed(WHOLE, **values)) or "").startswith(sentence)


def test_a_long_deck_is_refused_quickly() -> None:
    record = next(record_matches("up_down"))
    started = time.process_time()
    for deck in (["2C"] * 200_000, [f"{number}" for number in range(200_000)]):
        assert "deck" in [disagreement.what for disagreement in check_records([(1, {**record, "deck": deck})])]
        with pytest.raises(RecordError, match=r"^deck holds .{1,400}$"):
            next(replay({**record, "deck": deck}))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("number", ["-" + "9" * 4300, "1e999", str(10**307)], ids=len)
@pytest.mark.parametrize("key", ["match", "seats", "tricks", "options", "multiplier"])
def test_a_huge_number_is_damage(key: str, number: str, tmp_path: Path) -> None:
    nested = {"tricks": [0, 0, 0, "N"], "options": {**WHOLE["options"], "target": "N"}}
    line = json.dumps({**WHOLE, key: nested.get(key, "N")}).replace('"N"', number)
    (tmp_path / "records.jsonl").write_text(line)
    [(_, damage)] = read_records(tmp_path / "records.jsonl")
    assert isinstance(damage, str)
    assert len(damage) < 300
    assert [str(disagreement) for disagreement in check_records([(1, damage)])] == [f"line 1: {damage}"]


@pytest.mark.parametrize("key", RECORD_KEYS)
def test_a_missing_key_is_damage(key: str) -> None:
    assert find_damage({name: value for name, value in WHOLE.items() if name != key}) == f"{key} is missing"


def test_a_disagreement_names_its_place_and_key() -> None:
    (fault,) = check([changed(WHOLE, match=7, trump="X")])
    assert (fault.line, fault.match, fault.deal, fault.step, fault.what) == (1, 7, 0, None, "trump")
    assert (fault.expected, fault.found) == (WHOLE["trump"], "X")
    assert str(fault) == f'line 1, match 7, deal 0: trump is "X", but should be "{WHOLE["trump"]}"'
    (fault,) = check([changed(WHOLE, steps__0__action="99")])
    assert str(fault).startswith('line 1, match 0, deal 0, step 0: action: "99" is not legal for seat ')


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"options": {**WHOLE["options"], "target": 0}}, ["options"]),
        ({"options": {**WHOLE["options"], "bogus": 0}}, ["options"]),
        ({"options": {name: value for name, value in WHOLE["options"].items() if name != "target"}}, ["options"]),
        ({"options": {**WHOLE["options"], "accumulate": True}, "deal": 1}, ["options"]),
        ({"deal": 20}, ["deal"]),
        ({"deck__0": WHOLE["deck"][1]}, ["deck"]),
        ({"hand_size": 5}, ["hand_size"]),
        ({"hands": WHOLE["hands"][1:] + WHOLE["hands"][:1]}, ["hands"]),
        ({"hands__0__0": "2C"}, ["hands"]),
        ({"stock": ["2C"]}, ["stock"]),
        ({"turn_up": "AS"}, ["turn_up"]),
        ({"multiplier": 2}, ["multiplier"]),
        ({"before": [1, 0, 0, 0]}, ["after"]),
        ({"before": [100, 0, 0, 0]}, ["before", "after", "over", "winners"]),
        ({"steps__1__seat": (WHOLE["steps"][1]["seat"] + 1) % 4}, ["seat"]),
        ({"steps__1__phase": "play"}, ["phase"]),
        ({"steps__1__action": "nonsense"}, ["action"]),
        ({"steps__1__legal": ["pass"]}, ["legal"]),
        ({"steps__1__legal": [*WHOLE["steps"][1]["legal"], "99"]}, ["legal"]),
        ({"steps": WHOLE["steps"][:-1]}, ["steps"]),
        ({"steps": WHOLE["steps"] + WHOLE["steps"][-1:]}, ["steps"]),
        ({"steps__0__why": "because"}, ["why"]),
        ({"trump": None}, ["trump"]),
        ({"declarer": (WHOLE["declarer"] + 1) % 4}, ["declarer"]),
        ({"nominated": "2C"}, ["nominated"]),
        ({"partner": WHOLE["declarer"]}, ["partner"]),
        ({"tricks": [4, 4, 4, 4]}, ["tricks"]),
        ({"points": [9, 9, 9, 9]}, ["points"]),
        ({"after": [9, 9, 9, 9]}, ["after"]),
        ({"over": True}, ["winners"]),
        ({"truncated": True}, ["truncated"]),
        ({"winners": [0]}, ["winners"]),
        ({"author": "somebody"}, ["author"]),
        ({"two\nlines": 1}, ["two\nlines"]),
    ],
)
def test_each_fault_of_a_deal_is_found(values: dict[str, Any], what: list[str]) -> None:
    faults = check([changed(WHOLE, **values)])
    assert [fault.what for fault in faults] == what
    assert all("\n" not in str(fault) for fault in faults)


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert check([changed(WHOLE, after=[float(points) for points in WHOLE["after"]])]) == []


@pytest.mark.parametrize("variant", ["sniped_whist", "up_down"])
def test_every_suit_is_a_possible_random_trump(variant: str) -> None:
    trumps = set()
    for seed in range(12):
        options = {**SIXTEEN, "suits": 3, "trump_mode": "random"}
        record = next(record_matches(variant, 4, seed=seed, options=options))
        trumps.add(record["trump"])
        assert check([record]) == []
        for impossible in ("S", "NT", None, "", "CD"):
            assert wrong_keys([{**record, "trump": impossible}]) == ["trump"]
    assert trumps == {"C", "D", "H"}


@pytest.mark.parametrize("scoring", ["place", "tricks"])
def test_a_lot_may_snipe_each_tied_seat_and_no_other(scoring: str) -> None:
    options = {"tie": "cut", "scoring": scoring, "snip_penalty": 5 if scoring == "tricks" else 0, **SIXTEEN}
    ties = 0
    for record in record_matches("sniped_whist", matches=100, options=options):
        most = [seat for seat in range(4) if record["tricks"][seat] == max(record["tricks"])]
        if len(most) < 2 or len(most) == 4:
            continue
        ties += 1
        (sniped,) = [seat for seat in most if record["points"][seat] == min(record["points"])]
        for seat in range(4):
            points = list(record["points"])
            points[seat], points[sniped] = points[sniped], points[seat]
            expected = [] if seat in most else ["points", "after"]
            assert wrong_keys([{**record, "points": points, "after": points}]) == expected
    assert ties > 5


@pytest.fixture(scope="module")
def match() -> list[Record]:
    return list(play_match(Table("down_up", options=SIXTEEN)))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda match: match, []),
        (lambda match: match[3:], []),
        (lambda match: match[:3], []),
        (lambda match: match + [{**record, "match": 1} for record in match], []),
        (lambda match: [record for deal in match for record in (deal, {**deal, "match": 1})], []),
        (lambda match: [*match[:2], *match[3:]], ["deal"]),
        (lambda match: [*match[:3], *match[2:]], ["deal"]),
        (lambda match: [*match[:2], changed(match[2], before=[50, 0, 0, 0]), *match[3:]], ["before"]),
        (lambda match: [*match[:2], changed(match[2], after=[50, 0, 0, 0]), *match[3:]], ["after"]),
        (lambda match: [*match[:2], changed(match[2], options__hook_min_cards=2), *match[3:]], ["options", "options"]),
        (lambda match: [*match[:-1], changed(match[-1], over=False)], ["over"]),
        (lambda match: [*match[:-1], changed(match[-1], winners=[])], ["winners"]),
        (lambda match: [*match[:2], changed(match[2], steps__4__action="x"), *match[3:]], ["action"]),
        (lambda match: [*match[:2], "torn", *match[3:]], ["line"]),
        (lambda match: [*match[:2], "torn", changed(match[3], deal=1), *match[4:]], ["line", "deal", ...]),
        (lambda match: [match[0], changed(match[2], over=True)], ["deal", "over", ...]),
        (lambda match: [match[0], changed(match[1], over=True)], ["over", ...]),
    ],
)
def test_each_deal_of_a_match_follows_from_the_one_before(
    match: list[Record], change: Callable[[list[Record]], list[Any]], what: list[Any]
) -> None:
    keys = wrong_keys(change(match))
    assert keys == what or (what[-1:] == [...] and keys[: len(what) - 1] == what[:-1])


def test_no_deal_follows_the_end_of_a_match(match: list[Record]) -> None:
    (fault,) = check([*match, match[-1]])
    assert str(fault) == "line 8, match 0, deal 6: deal: the match was over with deal 6"


def test_the_dealer_moves_on() -> None:
    table = Table("nonesuch")
    first = next(play_match(table))
    table.start(deal=1, dealer=(first["dealer"] + 2) % 4, totals=first["after"])
    assert wrong_keys([first, {**play(table), "match": 0}]) == ["dealer"]


def test_accumulated_tricks_follow_from_the_deals_before() -> None:
    options = {"n_hands": 3, "accumulate": True, "scoring": "tricks", **SIXTEEN}
    match = list(record_matches("sniped_whist", options=options))
    assert match[2]["points"] == [-sum(record["tricks"][seat] for record in match) for seat in range(4)]
    assert check(match) == []
    assert wrong_keys([*match[:2], changed(match[2], points=[0] * 4)]) == ["points"]
    assert check(match[2:]) == []
    assert wrong_keys([changed(match[2], after=[1] * 4)]) == ["after"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_match_of_one_scored_deal_is_checked(variant: str) -> None:
    for seed in range(3):
        table = begin(Table(variant, seed=seed, episode="deal"))
        records = [play(table, seed, passing=True)]
        while not table.is_over:
            table.next_deal()
            records.append(play(table, seed + len(records)))
        assert check(records) == []
        assert referee.check_match(records, single_deal=True) == []
        losers = [seat for seat in range(table.seats) if seat not in records[-1]["winners"]]
        assert wrong_keys([*records[:-1], {**records[-1], "winners": losers}]) == ["winners"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_match_of_one_scored_deal_may_begin_anywhere(variant: str) -> None:
    table = Table(variant, episode="deal")
    for totals, deal in [([10] + [0] * (table.seats - 1), 1 if table.rules.schedule else 0), ([3] * table.seats, 0)]:
        table.start(totals=totals, deal=deal)
        record = play(table)
        assert (record["before"], record["deal"], record["over"]) == (totals, deal, True)
        assert check([record]) == []
        losers = [seat for seat in range(table.seats) if seat not in record["winners"]]
        assert wrong_keys([{**record, "winners": losers}]) == ["winners"]
        assert "deal" in wrong_keys([record, {**record, "deal": deal + 1}])


def test_an_endless_line_is_read_only_in_part(tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    endless.symlink_to("/dev/zero")
    assert list(read_records(endless)) == [(1, "the line has more than 1,048,576 bytes; nothing after it is read")]
