"""Game records: written, read, played again, and checked; whatever is wrong in them is found, and nothing breaks the check."""

import copy
import json
import random
import time
from collections.abc import Callable, Iterator
from itertools import islice, permutations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from noms_env.core.cards import CARD_WORDS, FRENCH
from noms_env.record import (
    Disagreement,
    Record,
    Recorder,
    RecordError,
    check_records,
    find_damage,
    is_possible_deck,
    read_records,
    record_matches,
    replay,
    write_records,
)
from noms_env.table import Table
from noms_env.variants import VARIANTS, game, make_rules
from tests import referee
from tests.agreement import random_table
from tests.begun import begun
from training.terminal.session import Seated, Session

SIXTEEN = {"ranks": 4}  # J Q K A of four suits
RECORD_KEYS = tuple(referee.random_match("up_down", 4, {"ranks": 2}, random.Random(0))[0])


def check(records: list[Any]) -> list[Disagreement]:
    """The disagreements, after a way through JSON and back."""
    return list(check_records(enumerate(json.loads(json.dumps(records)), 1)))


def named(records: list[Any]) -> list[str]:
    """What each disagreement is about."""
    return [disagreement.what for disagreement in check(records)]


def play(table: Table, seed: int = 0, *, passing: bool = False) -> Record:
    """The record of the deal on a table, played at random; passed out where that can be."""
    rng, recorder = random.Random(seed), Recorder(legal=True)
    while not table.is_scored:
        legal = table.legal_words()
        action = table.number("pass" if passing and "pass" in legal else rng.choice(legal))
        recorder.note(table, action)
        table.step(action)
    return recorder.finish(table)


def deals(table: Table, number: int = 100) -> Iterator[Record]:
    """The records of the match that begins on a table."""
    table.start()
    for deal in range(number):
        yield play(table, deal)
        if table.is_over:
            return
        table.next_deal()


@pytest.mark.parametrize("variant", VARIANTS)
def test_our_records_satisfy_the_referee_and_our_check(variant: str) -> None:
    rng = random.Random(1)
    for seats, given in [(None, {}), *(random_table(variant, rng) for _ in range(6))]:
        records = list(islice(record_matches(variant, seats, 1, rng.randrange(2**63), given, legal=True), 6))
        assert referee.check_match(json.loads(json.dumps(records))) == []
        assert check(records) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_records_of_the_referee_satisfy_our_check(variant: str) -> None:
    rng = random.Random(2)
    for number in range(12):
        seats, given = random_table(variant, rng)
        single = number % 3 == 0 and not given.get("accumulate")
        records = referee.random_match(variant, seats, given, rng, 8, match=number, single_deal=single)
        assert check(records) == [], (seats, given, single)


@pytest.mark.uncompiled
@pytest.mark.parametrize("variant", VARIANTS)
def test_keys_come_in_the_order_of_the_format_and_values_are_plain(variant: str) -> None:
    record = next(record_matches(variant, legal=True, seed=3))
    assert tuple(record) == RECORD_KEYS
    assert list(record["steps"][0]) == ["seat", "phase", "action", "legal"]
    assert json.loads(json.dumps(record)) == record
    assert all(type(points) is int for points in record["before"] + record["after"] if points == int(points))
    assert record["options"] == referee.complete_options(variant, record["seats"], {})


def test_a_record_shares_nothing_with_the_table() -> None:
    table = begun(Table("big_ships", options={"trump_rotation": ["C", "NT"]}))
    record = play(table)
    record["options"]["trump_rotation"].clear()
    assert table.rules.options["trump_rotation"] == ["C", "NT"]


def test_legal_actions_are_stored_only_when_asked_for() -> None:
    assert all("legal" not in step for record in record_matches("noms") for step in record["steps"])


def test_a_passed_out_deal_has_no_trump_and_the_next_is_double() -> None:
    table = begun(Table("noms"))
    first = play(table, passing=True)
    table.next_deal()
    second = play(table, passing=True)
    assert (first["trump"], first["declarer"], first["points"], len(first["steps"])) == (None, None, [0] * 4, 4)
    assert [first["multiplier"], second["multiplier"]] == [1, 2]
    assert check([first, second]) == []
    assert named([first, {**second, "multiplier": 1}]) == ["multiplier"]


def test_a_deal_behind_many_pass_outs_is_recorded_and_checked_like_any_other() -> None:
    table = begun(Table("noms", options={"double_repeat": "quadruple", "mis_value": 10, "target": None}))
    records = []
    for deal in range(102):
        records.append(play(table, seed=deal, passing=deal != 100))
        table.next_deal()
    assert (records[100]["multiplier"], records[101]["multiplier"]) == (2**100, 1)
    assert any(abs(points) >= 7 * 2**100 for points in records[100]["points"])
    assert check(records) == check(records[100:]) == []
    assert referee.check_match(json.loads(json.dumps(records))) == []


def test_nonesuch_hands_are_those_before_the_swap_and_the_stock_is_the_up_card() -> None:
    for record in islice(record_matches("nonesuch", seed=5), 10):
        assert [record["turn_up"]] == record["stock"] == record["deck"][-1:]
        assert sorted(card for hand in record["hands"] for card in hand) == sorted(record["deck"][:-1])


def test_implicit_announcements_are_recorded_as_the_lead_resolved_them() -> None:
    table = begun(Table("noms", options={"implicit_announcements": True}))
    recorder = Recorder()
    for word in ["13", "pass", "pass", "pass", "unsaid", "A"]:
        recorder.note(table, table.number(word, table.phase if word != "13" else None))
        table.act(word)
    lead = table.legal_words()[0]
    while not table.is_scored:
        recorder.note(table, table.legal_actions()[0])
        table.step(table.legal_actions()[0])
    record = recorder.finish(table)
    assert record["trump"] == lead[1]
    assert record["nominated"] == "A" + lead[1]
    assert check([record]) == []


def test_a_recorder_wants_a_deal_that_is_scored_and_was_noted() -> None:
    table = begun(Table("sniped_whist", options=SIXTEEN))
    with pytest.raises(ValueError, match="is scored"):
        Recorder().finish(table)
    play(table)
    with pytest.raises(ValueError, match="noted from its first decision"):
        Recorder().finish(table)


def test_matches_do_not_depend_on_how_many_are_played() -> None:
    def play_some(matches: int, **given: Any) -> list[Record]:
        return list(record_matches("up_down", matches=matches, options=SIXTEEN, **given))

    three = play_some(3, seed=9)
    assert [record["match"] for record in three] == [match for match in range(3) for _ in range(7)]
    assert three[:7] == play_some(1, seed=9)
    assert three[:7] == play_some(1, seed=9, players=["random"] * 4)
    assert three[:7] != play_some(1, seed=10)
    assert three[7]["steps"] != three[0]["steps"]


def test_players_cannot_read_the_seed_from_their_generators() -> None:
    """The cards follow from the seed."""
    keys: list[np.ndarray] = []

    class Spy:
        wants_tables: ClassVar[bool] = False

        def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: Any = None) -> Any:
            keys.append(rng.bit_generator.state["state"]["key"])
            return mask.argmax(axis=-1)

    seed = 2**40 + 12345
    list(record_matches("sniped_whist", matches=2, seed=seed, players=Spy()))
    session = Session(make_rules(game("sniped_whist")), [Seated("spy", Spy())] * 4, seed=seed)
    session.choose()
    assert len({key.tobytes() for key in keys}) == 2, "the same in the session as in match 0 of the record"
    for key in keys:
        assert not {seed, 0, 1} & set(key.tolist())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"matches": 0}, "matches must be an integer from 1, not 0"),
        ({"matches": 1.5}, "matches must be an integer from 1, not 1.5"),
        ({"seats": 9}, "3 to 6 seats"),
        ({"seed": -1}, "seed must be"),
        ({"options": {"hook": True}}, "no option 'hook'"),
        ({"players": "chess"}, "no player 'chess'"),
        ({"players": ["random"] * 3}, "players must be one player for all 4 seats, or 4 of them, clockwise"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_played(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        record_matches("small_ships", **given)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    records = list(record_matches("nonesuch", seats=3))
    path = tmp_path / "games.jsonl"
    assert write_records(path, records) == len(records)
    assert list(read_records(path)) == list(enumerate(records, 1))
    with path.open("a") as file:
        write_records(file, records[:2])
    assert [record for _, record in read_records(path)] == records + records[:2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, error: type[BaseException]) -> None:
    def broken() -> Iterator[Record]:
        yield from record_matches("sniped_whist", options=SIXTEEN)
        raise error

    path = tmp_path / "games.jsonl"
    with pytest.raises(error):
        write_records(path, broken())
    assert list(tmp_path.iterdir()) == []
    path.write_text("what was there")
    with pytest.raises(error):
        write_records(path, broken())
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "what was there"


WHOLE = next(record_matches("small_ships", options=SIXTEEN, legal=True))


def changed(record: Record, **values: Any) -> Record:
    """A copy with other values; `steps__0__seat` is what lies deeper."""
    record = copy.deepcopy(record)
    for path, value in values.items():
        *way, last = [int(word) if word.isdigit() else word for word in path.split("__")]
        place: Any = record
        for key in way:
            place = place[key]
        place[last] = value
    return record


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"", "the line is empty"),
        (b"{", "the line is not JSON: "),
        (json.dumps(WHOLE).encode()[:-9], "the line is not JSON: "),
        (b"\xff\xfe", "the line is not UTF-8 text"),
        (b"[1, 2]", "the line is not an object but [1, 2]"),
        (b"null", "the line is not an object but null"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"format": NaN}', "NaN is no number"),
        (b"9" * 5000, "the line is not JSON: "),
        (b'{"format": "noms-record/1"}', "variant, seats, options, "),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes, sentence: str) -> None:
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
        ({"format": "noms-record/2"}, "format must be 'noms-record/1', not \"noms-record/2\""),
        ({"variant": "bridge"}, 'variant must be a variant, not "bridge"'),
        ({"variant": ["noms"]}, "variant must be"),
        ({"seats": 8}, "seats must be a number from 2 to 7, not 8"),
        ({"seats": True}, "seats must be"),
        ({"options": []}, "options must be"),
        ({"options__target": [[1]]}, "options must be"),
        ({"match": -1}, "match must be a whole number from 0 to 9007199254740992, not -1"),
        ({"deal": 0.5}, "deal must be"),
        ({"dealer": 4}, "dealer must be a seat, not 4"),
        ({"deck": "all"}, "deck must be a list of cards"),
        ({"hands": [[]]}, "hands must be"),
        ({"hands__0__0": 7}, "hands must be"),
        ({"stock": None}, "stock must be"),
        ({"turn_up": 7}, "turn_up must be a word or null"),
        ({"multiplier": "2"}, "multiplier must be"),
        ({"before": [0, 0, 0]}, "before must be a list of numbers, one for each seat"),
        ({"points": [0, 0, 0, 1e307]}, "points must be"),
        ({"after": [0, 0, 0, False]}, "after must be"),
        ({"steps": {}}, "steps must be a list of objects"),
        ({"steps__1": 3}, "step 1 is not an object but 3"),
        ({"steps__1": {"seat": 0, "phase": "call"}}, "step 1: action is missing"),
        ({"steps__2__seat": 4}, "step 2: seat must be a seat, not 4"),
        ({"steps__2__action": 7}, "step 2: action must be a word, not 7"),
        ({"steps__0__legal": "pass"}, "step 0: legal must be a list of words"),
        ({"trump": 3}, "trump must be"),
        ({"partner": "2"}, "partner must be a seat or null"),
        ({"tricks": [1, 1, 1, 1.5]}, "tricks must be"),
        ({"over": 1}, "over must be true or false, not 1"),
        ({"winners": [4]}, "winners must be a list of seats"),
    ],
)
def test_a_value_of_the_wrong_kind_is_damage(values: dict[str, Any], sentence: str) -> None:
    damage = find_damage(changed(WHOLE, **values))
    assert damage is not None
    assert damage.startswith(sentence)


def test_a_deck_of_any_length_is_refused_in_a_moment() -> None:
    record = next(record_matches("up_down"))
    started = time.process_time()
    for deck in (["2C"] * 200_000, [f"{number}" for number in range(200_000)]):
        assert "deck" in [disagreement.what for disagreement in check_records([(1, {**record, "deck": deck})])]
        with pytest.raises(RecordError, match=r"^deck holds .{1,400}$"):
            next(replay({**record, "deck": deck}))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("number", ["9" * 4300, "-" + "9" * 4300, "9" * 5000, "1e999", str(10**307)], ids=len)
@pytest.mark.parametrize("key", ["match", "deal", "seats", "tricks", "points", "options", "multiplier"])
def test_a_number_of_any_length_is_damage(key: str, number: str, tmp_path: Path) -> None:
    record = next(record_matches("noms"))
    wrong = {"tricks": [0, 0, 0, "N"], "points": [0, 0, 0, "N"], "options": {**record["options"], "target": "N"}}
    line = json.dumps({**record, key: wrong.get(key, "N")}).replace('"N"', number)
    (tmp_path / "records.jsonl").write_text(line)
    [(_, damage)] = read_records(tmp_path / "records.jsonl")
    assert isinstance(damage, str)
    assert len(damage) < 300
    assert [str(disagreement) for disagreement in check_records([(1, damage)])] == [f"line 1: {damage}"]


@pytest.mark.parametrize("key", ["variant", "deck", "steps", "options", "extra"])
def test_half_a_surrogate_pair_is_damage(key: str, tmp_path: Path) -> None:
    record = next(record_matches("noms"))
    record.get("steps", [])[0]["action"] = "\ud800" if key == "steps" else record["steps"][0]["action"]
    wrong = {"deck": ["\ud800"], "options": {"\udfff": 1}, "steps": record["steps"]}
    (tmp_path / "records.jsonl").write_text(json.dumps({**record, key: wrong.get(key, "\ud800")}))
    assert list(read_records(tmp_path / "records.jsonl")) == [
        (1, "the line has half of a surrogate pair, which is no character")
    ]


@pytest.mark.parametrize("key", RECORD_KEYS)
def test_a_missing_key_is_damage(key: str) -> None:
    assert find_damage({name: value for name, value in WHOLE.items() if name != key}) == f"{key} is missing"


def test_a_disagreement_says_where_and_what() -> None:
    (found,) = check([changed(WHOLE, match=7, trump="X")])
    assert (found.line, found.match, found.deal, found.step, found.what) == (1, 7, 0, None, "trump")
    assert (found.expected, found.found) == (WHOLE["trump"], "X")
    assert str(found) == f'line 1, match 7, deal 0: trump is "X", but should be "{WHOLE["trump"]}"'
    (found,) = check([changed(WHOLE, steps__0__action="99")])
    assert str(found).startswith('line 1, match 0, deal 0, step 0: action: "99" is not legal for seat ')


SEAT = WHOLE["steps"][1]["seat"]
OTHER = (SEAT + 1) % 4


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"options": {**WHOLE["options"], "target": 0}}, ["options"]),
        ({"options": {**WHOLE["options"], "bogus": 0}}, ["options"]),
        ({"options": {**WHOLE["options"], "misere_value": None}}, ["options"]),
        ({"options": {**WHOLE["options"], "indication": 0}}, ["options"]),
        ({"options": {name: value for name, value in WHOLE["options"].items() if name != "target"}}, ["options"]),
        ({"deal": 20}, ["deal"]),
        ({"deck__0": WHOLE["deck"][1]}, ["deck"]),
        ({"deck__0": "2C"}, ["deck"]),
        ({"hand_size": 5}, ["hand_size"]),
        ({"hands": WHOLE["hands"][1:] + WHOLE["hands"][:1]}, ["hands"]),
        ({"hands__0__0": "2C"}, ["hands"]),
        ({"stock": ["2C"]}, ["stock"]),
        ({"turn_up": "AS"}, ["turn_up"]),
        ({"multiplier": 2}, ["multiplier"]),
        ({"before": [1, 0, 0, 0]}, ["after"]),
        ({"before": [100, 0, 0, 0]}, ["before", "after", "over", "winners"]),
        ({"steps__1__seat": OTHER}, ["seat"]),
        ({"steps__1__phase": "play"}, ["phase"]),
        ({"steps__1__action": "nonsense"}, ["action"]),
        ({"steps__1__legal": ["pass"]}, ["legal"]),
        ({"steps__1__legal": [*WHOLE["steps"][1]["legal"], "99"]}, ["legal"]),
        ({"steps__1__legal": [*WHOLE["steps"][1]["legal"], "pass"]}, ["legal"]),
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
    assert check([WHOLE]) == []
    found = check([changed(WHOLE, **values)])
    assert [disagreement.what for disagreement in found] == what
    assert all("\n" not in str(disagreement) for disagreement in found)


def test_a_wrong_dealer_is_found() -> None:
    assert {"hands", "seat"} <= set(named([changed(WHOLE, dealer=(WHOLE["dealer"] + 1) % 4)]))


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert check([changed(WHOLE, after=[float(points) for points in WHOLE["after"]])]) == []


@pytest.mark.parametrize(("variant", "seats"), [("sniped_whist", 4), ("up_down", 4)])
def test_a_trump_drawn_by_chance_is_taken_as_given(variant: str, seats: int) -> None:
    found = set()
    for seed in range(12):
        options = {**SIXTEEN, "suits": 3, "trump_mode": "random"}
        record = next(record_matches(variant, seats, seed=seed, options=options))
        found.add(record["trump"])
        assert check([record]) == []
        for impossible in ("S", "NT", None, "", "CD"):
            assert named([{**record, "trump": impossible}]) == ["trump"]
    assert found == {"C", "D", "H"}


@pytest.mark.parametrize("scoring", ["place", "tricks"])
def test_a_seat_sniped_by_lot_may_be_any_of_those_tied(scoring: str) -> None:
    options = {"tie": "cut", "scoring": scoring, "snip_penalty": 5 if scoring == "tricks" else 0, **SIXTEEN}
    seen = 0
    for record in record_matches("sniped_whist", matches=100, options=options):
        most = [seat for seat in range(4) if record["tricks"][seat] == max(record["tricks"])]
        if len(most) < 2 or len(most) == 4:
            continue
        seen += 1
        (sniped,) = [seat for seat in most if record["points"][seat] == min(record["points"])]
        for seat in range(4):
            points = list(record["points"])
            points[seat], points[sniped] = points[sniped], points[seat]
            expected = [] if seat in most else ["points", "after"]
            assert named([{**record, "points": points, "after": points}]) == expected
    assert seen > 5


@pytest.fixture(scope="module")
def match() -> list[Record]:
    return list(deals(Table("down_up", options=SIXTEEN)))


def without(records: list[Record], place: int) -> list[Record]:
    return records[:place] + records[place + 1 :]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda match: match, []),
        (lambda match: match[3:], []),
        (lambda match: match[:3], []),
        (lambda match: match + [{**record, "match": 1} for record in match], []),
        (lambda match: [record for one in match for record in (one, {**one, "match": 1})], []),
        (lambda match: without(match, 2), ["deal"]),
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
def test_the_deals_of_a_match_lead_on_to_each_other(
    match: list[Record], change: Callable[[list[Record]], list[Any]], what: list[Any]
) -> None:
    found = named(change(match))
    assert found == what or (what[-1:] == [...] and found[: len(what) - 1] == what[:-1])


def test_a_match_goes_on_only_if_it_is_not_over(match: list[Record]) -> None:
    found = check([*match, match[-1]])
    assert [str(one) for one in found] == ["line 8, match 0, deal 6: deal: the match was over with deal 6"]


def test_the_dealer_moves_on() -> None:
    table = Table("nonesuch")
    first = next(deals(table))
    table.start(deal=1, dealer=(first["dealer"] + 2) % 4, totals=first["after"])
    assert named([first, {**play(table), "match": 0}]) == ["dealer"]


def test_tricks_that_accumulate_are_known_from_the_deals_before() -> None:
    options = {"n_hands": 3, "accumulate": True, "scoring": "tricks", **SIXTEEN}
    match = list(record_matches("sniped_whist", options=options))
    assert match[2]["points"] == [-sum(record["tricks"][seat] for record in match) for seat in range(4)]
    assert check(match) == []
    assert named([*match[:2], changed(match[2], points=[0] * 4)]) == ["points"]
    assert check(match[2:]) == []
    assert named([changed(match[2], after=[1] * 4)]) == ["after"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_match_of_one_scored_deal_is_recognised(variant: str) -> None:
    for seed in range(3):
        table = begun(Table(variant, seed=seed, episode="deal"))
        records = [play(table, seed, passing=True)]
        while not table.is_over:
            table.next_deal()
            records.append(play(table, seed + len(records)))
        assert check(records) == []
        assert referee.check_match(records, single_deal=True) == []
        losers = [seat for seat in range(table.seats) if seat not in records[-1]["winners"]]
        assert named([*records[:-1], {**records[-1], "winners": losers}]) == ["winners"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_match_of_one_scored_deal_may_begin_anywhere(variant: str) -> None:
    table = Table(variant, episode="deal")
    for totals, deal in [([10] + [0] * (table.seats - 1), 1 if table.rules.schedule else 0), ([3] * table.seats, 0)]:
        table.start(totals=totals, deal=deal)
        record = play(table)
        assert (record["before"], record["deal"], record["over"]) == (totals, deal, True)
        assert check([record]) == []
        losers = [seat for seat in range(table.seats) if seat not in record["winners"]]
        assert named([{**record, "winners": losers}]) == ["winners"]
        assert "deal" in named([record, {**record, "deal": deal + 1}])


def test_a_single_deal_is_over_even_where_a_match_would_be_truncated() -> None:
    options = {"max_hands": 1}
    table = Table("nonesuch", options=options, episode="deal")
    (single,) = deals(table)
    (whole,) = deals(Table("nonesuch", options=options))
    assert (single["truncated"], whole["truncated"]) == (False, True)
    assert check([single, {**whole, "match": 1}]) == []


def scored(passing: bool = False, **options: Any) -> Table:
    """A table of noms with the first deal scored."""
    table = begun(Table("noms", options=options))
    play(table, passing=passing)
    return table


def gathered(table: Table) -> list[str]:
    """The deck that the engine gathers, before the cut."""
    after = table.copy()
    after.row.cut = 0
    after.next_deal()
    return [CARD_WORDS[FRENCH][card] for card in after.row.deck]


def rotated(deck: list[str], number: int) -> list[str]:
    return deck[number:] + deck[:number]


DECK_OPTIONS = [
    {},
    {"trick_order": "reverse"},
    {"trick_stack": "underneath"},
    {"pile_order": "right_first"},
    {"early_stop": True},
    {"early_stop": True, "trick_stack": "underneath", "trick_order": "reverse", "pile_order": "right_first"},
]


@pytest.mark.parametrize("options", DECK_OPTIONS)
def test_a_gathered_deck_may_be_any_cut_of_itself_and_nothing_else(options: dict[str, Any]) -> None:
    table = scored(**options)
    deck = gathered(table)

    def possible() -> list[int]:
        return [number for number in range(52) if is_possible_deck(table, rotated(deck, number))]

    assert possible() == list(range(1, 52))
    assert not is_possible_deck(table, [deck[2], deck[1], *deck[3:], deck[0]])
    assert not is_possible_deck(table, rotated(deck, 5)[::-1])
    table.row.cut_min = 20
    assert possible() == list(range(20, 33))
    table.row.cut = 7
    assert possible() == [7]


@pytest.mark.parametrize("pile_order", ["left_first", "random"])
def test_of_a_shuffled_trick_the_cards_lie_together(pile_order: str) -> None:
    table = scored(trick_order="random", pile_order=pile_order, cut=0)
    deck = gathered(table)
    assert is_possible_deck(table, deck)
    assert is_possible_deck(table, [deck[1], deck[0], deck[3], deck[2], *deck[4:]])
    assert not is_possible_deck(table, [*deck[:3], deck[4], deck[3], *deck[5:]])


def test_piles_may_lie_in_any_order_where_chance_stacks_them() -> None:
    table, by_chance = scored(), scored(pile_order="random")
    table.row.cut = by_chance.row.cut = 0
    deck, piles = gathered(table), []
    for turn in (2, 3, 4, 1):  # the new dealer sits left of the old one, and his pile is the last
        size = 4 * int(table.row.tricks[(table.row.dealer + turn) % 4])
        piles.append(deck[:size])
        deck = deck[size:]
    for order in permutations(piles):
        stacked = [card for pile in order for card in pile]
        assert is_possible_deck(by_chance, stacked)
        assert is_possible_deck(table, stacked) == (list(order) == piles)


def test_a_passed_out_deck_is_gathered_sorted_whatever_the_orders_are() -> None:
    table = scored(passing=True, trick_order="random", pile_order="random", cut=0)
    deck = gathered(table)
    assert is_possible_deck(table, deck)
    assert not is_possible_deck(table, [deck[1], deck[0], *deck[2:]])


def test_a_deck_that_was_not_gathered_is_found_in_the_record() -> None:
    table = Table("noms")
    first = next(deals(table))
    after = table.copy()
    after.next_deal()
    good = play(after)
    table.start(deal=1, dealer=good["dealer"], totals=first["after"])
    bad = {**play(table), "match": 0}
    assert check([first, good]) == []
    assert named([first, bad]) == ["deck"]


@pytest.mark.parametrize("mode", ["packets_shuffled", "single_shuffled"])
def test_a_shuffled_deck_may_be_anything(mode: str) -> None:
    assert is_possible_deck(scored(deal_mode=mode), gathered(scored()))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_replay_shows_the_table_before_each_step_and_at_the_end(variant: str) -> None:
    for record in islice(record_matches(variant, legal=True), 3):
        tables = replay(record)
        for step in record["steps"]:
            table = next(tables)
            assert (table.row.seat, table.phase, table.legal_words()) == (step["seat"], step["phase"], step["legal"])
        table = next(tables)
        assert table.is_scored
        assert list(table.row.points[: table.seats]) == record["points"]
        assert list(tables) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"deck": []}, "deck lacks"),
        ({"deal": -1}, "deal must be"),
        ({"options__target": "many"}, "target must be"),
        ({"steps__0__action": "99"}, "step 0: '99' means nothing"),
        ({"steps": WHOLE["steps"][:3]}, "the steps end while seat"),
    ],
)
def test_what_cannot_be_replayed_is_said(values: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        list(replay(changed(WHOLE, **values)))


def test_a_replay_wants_a_trump_that_can_have_been_drawn() -> None:
    record = next(record_matches("up_down", options={"trump_mode": "random"}))
    with pytest.raises(RecordError, match="cannot have been drawn"):
        list(replay({**record, "trump": "NT"}))


@pytest.mark.parametrize("variant", VARIANTS)
def test_players_that_look_at_tables_can_be_recorded(variant: str) -> None:
    records = [list(record_matches(variant, matches=1, seed=6, players="thumb")) for _ in range(2)]
    assert records[0] == records[1]
    assert not list(check_records(enumerate(records[0], 1)))
    assert records[0] != list(record_matches(variant, matches=1, seed=6, players="random"))
