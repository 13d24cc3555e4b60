"""Game records are written, read and replayed."""

import json
import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from noms_env.record import Record, Recorder, RecordError, check_records, read_records, record_matches, replay, write_records
from noms_env.record.recorder import player_key
from noms_env.table import Table
from noms_env.variants import VARIANTS, game, make_rules
from noms_training.play.session import Seated, Session
from tests import referee
from tests.agreement import random_table
from tests.begin import begin
from tests.records import RECORD_KEYS, SIXTEEN, WHOLE, changed, check, play, wrong_keys


@pytest.mark.parametrize("variant", VARIANTS)
def test_our_records_satisfy_the_referee_and_our_check(variant: str) -> None:
    rng = random.Random(1)
    for seats, options in [(None, {}), *(random_table(variant, rng) for _ in range(6))]:
        records = list(islice(record_matches(variant, seats, 1, rng.randrange(2**63), options, legal=True), 6))
        assert referee.check_match(json.loads(json.dumps(records))) == []
        assert check(records) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_records_of_the_referee_satisfy_our_check(variant: str) -> None:
    rng = random.Random(2)
    for number in range(12):
        seats, options = random_table(variant, rng)
        single = number % 3 == 0 and not options.get("accumulate")
        records = referee.random_match(variant, seats, options, rng, 8, match=number, single_deal=single)
        assert check(records) == [], (seats, options, single)


@pytest.mark.uncompiled
@pytest.mark.parametrize("variant", VARIANTS)
def test_keys_have_the_order_of_the_format_and_values_are_plain(variant: str) -> None:
    record = next(record_matches(variant, legal=True, seed=3))
    assert tuple(record) == RECORD_KEYS
    assert list(record["steps"][0]) == ["seat", "phase", "action", "legal"]
    assert json.loads(json.dumps(record)) == record
    assert all(type(points) is int for points in record["before"] + record["after"] if points == int(points))
    assert record["options"] == referee.complete_options(variant, record["seats"], {})


def test_a_record_shares_nothing_with_the_table() -> None:
    table = begin(Table("big_ships", options={"trump_rotation": ["C", "NT"]}))
    record = play(table)
    record["options"]["trump_rotation"].clear()
    assert table.rules.options["trump_rotation"] == ["C", "NT"]


def test_a_passed_out_deal_has_no_trump_and_the_next_is_double() -> None:
    table = begin(Table("noms"))
    first = play(table, passing=True)
    table.next_deal()
    second = play(table, passing=True)
    assert (first["trump"], first["declarer"], first["points"], len(first["steps"])) == (None, None, [0] * 4, 4)
    assert [first["multiplier"], second["multiplier"]] == [1, 2]
    assert check([first, second]) == []
    assert wrong_keys([first, {**second, "multiplier": 1}]) == ["multiplier"]


def test_a_deal_after_many_pass_outs_is_recorded_and_checked() -> None:
    table = begin(Table("noms", options={"double_repeat": "quadruple", "mis_value": 10, "target": None}))
    records = []
    for deal in range(102):
        records.append(play(table, seed=deal, passing=deal != 100))
        table.next_deal()
    assert (records[100]["multiplier"], records[101]["multiplier"]) == (2**100, 1)
    assert any(abs(points) >= 7 * 2**100 for points in records[100]["points"])
    assert check(records) == check(records[100:]) == []
    assert referee.check_match(json.loads(json.dumps(records))) == []


def test_the_lead_resolves_implicit_announcements_in_the_record() -> None:
    record = play(begin(Table("noms", options={"implicit_announcements": True})), words="13 pass pass pass unsaid A")
    suit = record["steps"][6]["action"][1]
    assert (record["trump"], record["nominated"]) == (suit, f"A{suit}")
    assert check([record]) == []


def test_a_recorder_refuses_an_unscored_deal_and_missing_decisions() -> None:
    table = begin(Table("sniped_whist", options=SIXTEEN))
    with pytest.raises(ValueError, match="needs a scored deal"):
        Recorder().finish(table)
    play(table)
    with pytest.raises(ValueError, match="every decision noted"):
        Recorder().finish(table)


def test_a_match_does_not_depend_on_the_number_of_matches() -> None:
    def play_matches(matches: int, **arguments: Any) -> list[Record]:
        return list(record_matches("up_down", matches=matches, options=SIXTEEN, **arguments))

    three = play_matches(3, seed=9)
    assert [record["match"] for record in three] == [match for match in range(3) for _ in range(7)]
    assert three[:7] == play_matches(1, seed=9)
    assert three[:7] == play_matches(1, seed=9, players=["random"] * 4)
    assert three[:7] != play_matches(1, seed=10)
    assert three[7]["steps"] != three[0]["steps"]


def test_the_seeds_of_players_follow_from_the_seed_of_the_record() -> None:
    seeds_used: list[int] = []

    class Spy:
        wants_tables: ClassVar[bool] = False

        def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
            seeds_used.append(int(seeds))
            return mask.argmax(axis=-1)

    seed = 2**40 + 12345
    list(record_matches("sniped_whist", matches=2, seed=seed, players=Spy()))
    session = Session(make_rules(game("sniped_whist")), [Seated("spy", Spy())] * 4, seed=seed)
    session.choose()
    assert len(set(seeds_used)) == len(seeds_used), "each decision has its own seed, also in a session"
    rng = np.random.Generator(np.random.Philox(key=player_key(seed, 0), counter=[0, 0, 0, 0]))
    assert int(rng.integers(2**63)) in seeds_used


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"matches": 0}, "matches must be an integer from 1, not 0"),
        ({"seats": 9}, "3 to 6 seats"),
        ({"options": {"hook": True}}, "no option 'hook'"),
        ({"players": "chess"}, "no player 'chess'"),
        ({"players": ["random"] * 3}, "players must be .* 4 seats"),
    ],
)
def test_wrong_arguments_are_refused_before_play(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        record_matches("small_ships", **arguments)


def test_written_records_are_read_back(tmp_path: Path) -> None:
    records = list(record_matches("nonesuch", seats=3))
    path = tmp_path / "games.jsonl"
    assert write_records(path, records) == len(records)
    assert list(read_records(path)) == list(enumerate(records, 1))
    with path.open("a") as file:
        write_records(file, records[:2])
    assert [record for _, record in read_records(path)] == records + records[:2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, error: type[BaseException]) -> None:
    def fail_after_a_match() -> Iterator[Record]:
        yield from record_matches("sniped_whist", options=SIXTEEN)
        raise error

    path = tmp_path / "games.jsonl"
    with pytest.raises(error):
        write_records(path, fail_after_a_match())
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    with pytest.raises(error):
        write_records(path, fail_after_a_match())
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


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
        ({"options__target": "many"}, "target must be"),
        ({"steps__0__action": "99"}, "step 0: '99' means nothing"),
        ({"steps__0__action": "17"}, "step 0: seat 2 may not take action 92 (17)"),
        ({"steps__1__seat": 0}, "step 1 is by seat 0 (call), but seat 3 is to act (call)"),
        ({"steps": WHOLE["steps"][:3]}, "the steps end while seat"),
    ],
)
def test_a_replay_names_the_fault_of_a_record(values: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=re.escape(message)):
        list(replay(changed(WHOLE, **values)))


def test_a_replay_refuses_an_impossible_random_trump() -> None:
    record = next(record_matches("up_down", options={"trump_mode": "random"}))
    with pytest.raises(RecordError, match="cannot have been drawn"):
        list(replay({**record, "trump": "NT"}))


@pytest.mark.parametrize("variant", VARIANTS)
def test_players_that_see_tables_can_be_recorded(variant: str) -> None:
    records = [list(record_matches(variant, seed=6, players="thumb")) for _ in range(2)]
    assert records[0] == records[1]
    assert not list(check_records(enumerate(records[0], 1)))
    assert records[0] != list(record_matches(variant, seed=6, players="random"))
