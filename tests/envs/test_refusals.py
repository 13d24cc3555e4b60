"""Each refusal says why in one sentence, and changes nothing."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from noms_env import make_batch
from noms_env.core.actions import brief
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.gym.seat import SeatEnv
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.table import IllegalActionError, Table
from noms_env.variants import VARIANTS
from tests.begin import begin
from tests.envs.play import module_of, snapshot

ODD: list[Any] = [2**63, 10**5000, True, 1.0, float("nan"), 1j, "\ud800", b"1", None, object()]
ODD += [np.ma.masked, [np.ma.masked] * 3, [], [1], [10**5000], {1: 2}, np.zeros((40, 40)), np.full((2, 3), "x")]
"""Neither an action, nor a seat, a seed, or a number of anything."""
ODD += [np.ma.masked, [np.ma.masked] * 3, [], [1], [10**5000], {1: 2}, np.zeros((40, 40)), np.full((2, 3), "x")]
"""What is neither an action, nor a seat, a seed, or a number of anything."""


odd = pytest.mark.parametrize("value", ODD, ids=lambda value: f"{type(value).__name__} {brief(value)[:20]!a}")


def assert_refused(call: Callable[[], object], *errors: type[Exception], words: str = "") -> None:
    """Check that the call raises ValueError (or one of `errors`) with one sentence that has these words."""
    with pytest.raises(errors or ValueError) as refusal:
        call()
    message = str(refusal.value)
    assert message.isprintable()
    assert 10 < len(message) < 500
    assert words in message


def env_in_play() -> TrickTakingEnv:
    env = begin(module_of("up_down").raw_env(record=True), seed=3)
    for _ in range(6):
        env.step(env.legal_actions()[0])
    return env


@odd
def test_an_odd_action_is_refused_everywhere_and_recorded_nowhere(value: Any) -> None:
    env, twin, wrapped = env_in_play(), env_in_play(), begin(module_of("up_down").env(), seed=3)
    seat, seats = begin(SeatEnv("up_down"), seed=3), begin(SeatVectorEnv(2, "up_down"), seed=3)
    batch = begin(make_batch("up_down", 2))

    def snapshots() -> list[Any]:
        tables = seats._runner.batch.tables, batch.tables
        return [snapshot(env), snapshot(wrapped.unwrapped), seat.table.get_state(), *(rows.tobytes() for rows in tables)]

    before = snapshots()
    assert_refused(partial(env.step, value), IllegalActionError)
    assert_refused(partial(wrapped.step, value), AssertionError)
    assert_refused(partial(seat.step, value))
    calls: tuple[Any, ...] = (seats.step, batch.step)
    for call in calls:
        assert_refused(partial(call, [value, value]))
    assert snapshots() == before
    wrapped.step(wrapped.unwrapped.legal_actions()[0])
    assert not wrapped.terminations["player_0"]
    while env.agents and not env.terminations[env.agent_selection]:
        assert env.legal_actions() == twin.legal_actions()
        for each in (env, twin):
            each.step(each.legal_actions()[0])
    assert env.records == twin.records


@odd
def test_a_refused_reset_leaves_seed_match_and_deal_as_they_are(value: Any) -> None:
    env, wrapped, seat = module_of("small_ships").raw_env(), module_of("small_ships").env(), SeatEnv("small_ships")
    seats, batch = SeatVectorEnv(2, "small_ships"), begin(make_batch("small_ships", 2))
    for each in (env, wrapped, seat, seats):
        each.reset(seed=3)
    wrapped.step(0)  # illegal: the wrappers remember that the episode is over

    def snapshots() -> list[Any]:
        chance, terminated = seat.np_random.bit_generator.state, wrapped.get_state()["wrappers"][2]["_terminated"]
        tables = seat.table.get_state(), seats._runner.batch.tables.tobytes(), batch.tables.tobytes()
        return [snapshot(env), snapshot(wrapped.unwrapped), *tables, chance, terminated]

    before = snapshots()
    assert before[-1] is True
    if value is not None:
        for each in (env, wrapped, seat):
            for key, seed in product(("deck", "dealer", "totals", "deal", "multiplier"), (None, 5)):
                assert_refused(partial(each.reset, seed=seed, options={key: value}))
        for each in (env, wrapped, seat, seats):
            assert_refused(partial(each.reset, seed=value))
        for key in ("seed", "match", "table", "dealer"):
            assert_refused(partial(batch.reset, **{key: value}))
        assert_refused(partial(seats.reset, options={"reset_mask": value}), ValueError, TypeError)
        assert_refused(partial(seats.reset, options={"seat": value}))
    assert_refused(partial(seat.reset, options={"seat": value}))
    assert snapshots() == before


@pytest.mark.parametrize(
    ("makers", "options", "words"),
    [
        ("seats", {"seats": 1}, "reset has no option 'seats'; did you mean seat? The options are reset_mask, seat"),
        ("seats", {"dealer": 1}, "dealer sets up a position: use SeatEnv"),
        ("seat", {"reset_mask": np.ones(1, np.bool_)}, "reset has no option 'reset_mask'; the options are seat, deck"),
        ("table", {"deler": 1}, "reset has no option 'deler'; did you mean dealer? The options are deck"),
        ("table seat seats", {7: 1}, "reset has no option 7; the options are"),
        ("table seat seats", [1], "options must be a dictionary or None, not [1]"),
    ],
)
def test_an_unknown_option_of_reset_is_refused(makers: str, options: Any, words: str) -> None:
    for maker in makers.split():
        env: Any = begin(MAKERS[maker](), seed=1)
        save = env._runner.batch.save if maker == "seats" else env.table.get_state
        before = save()
        assert_refused(partial(env.reset, seed=2, options=options), words=words)
        assert np.array_equal(save(), before)


MAKERS: dict[str, Callable[..., Any]] = {
    "table": module_of("small_ships").raw_env,
    "seat": partial(SeatEnv, "small_ships"),
    "seats": partial(SeatVectorEnv, 2, "small_ships"),
}


@pytest.mark.parametrize(
    ("makers", "arguments", "words"),
    [
        ("table seat seats", {"episode": "hand"}, "episode must be 'match' or 'deal', not 'hand'"),
        ("table seat seats", {"reward": "score"}, "reward must be 'points' or 'relative' or 'outcome', not 'score'"),
        ("table seat seats", {"seats": 7}, "small_ships is played with 3 to 6 seats"),
        ("table seat", {"render_mode": "svg"}, "render_mode must be 'ansi' or 'human' or 'rgb_array', not 'svg'"),
        ("table", {"render_seat": 4}, "render_seat must be a seat from 0 to 3, or None, not 4"),
        ("table", {"render_full": "yes"}, "render_full must be True or False, not 'yes'"),
        ("seat seats", {"opponents": "thumbs"}, "no player 'thumbs'; did you mean thumb? The players are random, greedy"),
        ("seat seats", {"opponents": ["thumb"]}, "opponents must be one player for all 3 seats, or 3 of them, clockwise"),
        ("seat seats", {"seat": 4}, "seat must be a seat from 0 to 3, 'rotate' or 'random', not 4"),
        ("seats", {"autoreset_mode": "never"}, "autoreset_mode must be 'NextStep' or 'SameStep' or 'Disabled', not 'never'"),
        ("seats", {"threads": 0}, "threads must be an integer from 1 to 1024"),
    ],
)
def test_an_argument_that_is_not_allowed_is_refused(makers: str, arguments: dict[str, Any], words: str) -> None:
    for maker in makers.split():
        assert_refused(partial(MAKERS[maker], **arguments), words=words)


def test_nothing_can_be_done_before_the_first_reset() -> None:
    env: Any = MAKERS["table"]()
    seat, seats = (MAKERS[maker](render_mode="ansi") for maker in ("seat", "seats"))
    batch = make_batch("up_down", 2)
    assert (env.phase, env.legal_actions()) == (None, [])
    calls: dict[Callable[[], object], type[Exception]] = {
        **dict.fromkeys((partial(env.step, 74), env.last, env.get_state), ValueError),
        **dict.fromkeys((partial(seat.step, 74), seat.render), ResetNeeded),
        **dict.fromkeys((partial(seats.step, np.zeros(2, int)), seats.render), ResetNeeded),
        partial(seats.reset, options={"reset_mask": np.array([True, False])}): ResetNeeded,
        partial(batch.step, np.zeros(2, np.int64)): RuntimeError,
    }
    for call, error in calls.items():
        with pytest.raises(error, match=r"call reset first|the first reset must select all rows"):
            call()
    assert seats.reset(seed=0, options={"reset_mask": np.ones(2, bool)})[1]["_seat"].all()
    batch.restore(None, begin(make_batch("up_down", 2)).save())
    batch.observe()
    batch.step(batch.mask.argmax(axis=1))


@pytest.mark.parametrize("rows", [[], np.zeros(0), [False, False]], ids=repr)
def test_an_empty_selection_of_rows_changes_nothing(rows: Any) -> None:
    batch = begin(make_batch("up_down", 2))
    before = batch.tables.tobytes()
    batch.reset(rows, seed=9)
    batch.observe(rows)
    batch.clone(0, rows)
    assert len(batch.save(rows)) == 0
    assert batch.tables.tobytes() == before
    assert not batch.mask.any()


@pytest.mark.parametrize(
    ("streams", "actions"),
    [
        (np.arange(4), np.zeros(4, np.int64)),
        (np.array([1, 1, 1, 2**32]), np.zeros(4, np.int64)),
        (np.ones(3, np.int64), np.zeros(4, np.int64)),
        (np.ones(4, np.int64), np.zeros(4)),
        (np.ones(8, np.int64)[::2], np.zeros(4, np.int64)),
        (np.broadcast_to(np.int64(1), 4), np.zeros(4, np.int64)),
    ],
)
def test_random_actions_refuse_arrays_that_do_not_fit(streams: Any, actions: Any) -> None:
    assert_refused(partial(begin(make_batch("up_down", 4)).random_actions, streams, actions))


def play_on(table: Table, rng: random.Random, decisions: int) -> None:
    """Play at random; every seat looks at each position."""
    for _ in range(decisions):
        if table.is_scored:
            if table.is_over:
                return
            table.next_deal()
            continue
        for seat in range(table.seats):
            table.view(seat)
            table.state(seat)
        table.step(rng.choice(table.legal_actions()))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_damaged_state_is_refused_or_can_be_played_on(variant: str) -> None:
    rng, refusals = random.Random(variant), 0
    table = Table(variant, seed=5)
    for case in range(120):
        table.start(case)
        play_on(table, rng, rng.randrange(90))
        before = table.get_state()
        state, bit = bytearray(before), rng.randrange(8 * len(before))
        state[bit // 8] ^= 1 << bit % 8
        try:
            table.set_state(bytes(state))
        except ValueError:
            refusals += 1
            assert table.get_state() == before
            continue
        play_on(table, rng, 30)
    assert 60 < refusals < 120


INDEXED = "phase seat leader best_card trump n_calls call n_table trick_number trick_winners order deck"
SETS = "cards hands played stock cards_played legal_cards legal_words trick_of calls voids"


@pytest.mark.parametrize("name", f"{INDEXED} {SETS} n_seats sizes deal deal_size contract partner revealed totals over".split())
def test_an_impossible_record_is_not_restored(name: str) -> None:
    batch = begin(make_batch("up_down", 3))
    for _ in range(6):
        batch.observe()
        batch.step(batch.mask.argmax(axis=1))
    record, before = batch.save([1]), batch.tables.tobytes()
    record[name] = np.nan if name == "totals" else 99
    assert_refused(partial(batch.restore, [2], record))
    assert_refused(partial(batch.table(1).set_state, record.tobytes()))
    assert batch.tables.tobytes() == before


def test_the_state_can_be_restored_before_the_first_deal_and_at_every_decision() -> None:
    for variant in VARIANTS:
        table = Table(variant)
        table.set_state(table.get_state())
        table.start()
        while not table.is_over:
            table.set_state(table.get_state())
            if table.is_scored:
                table.next_deal()
            else:
                table.step(table.legal_actions()[-1])
        table.set_state(table.get_state())
    batch = make_batch("noms", 4)
    batch.restore(None, batch.save())


@pytest.mark.parametrize(
    "make", [partial(make_batch, "up_down", 4096), partial(SeatVectorEnv, 4096, "up_down")], ids=["batch", "seats"]
)
def test_a_second_thread_is_refused(make: Callable[[], Any]) -> None:
    tables, stop = make(), time.monotonic() + 20
    refusals: list[str] = []
    errors: list[Exception] = []

    def work() -> None:
        while not refusals and not errors and time.monotonic() < stop:
            try:
                tables.reset()
            except RuntimeError as refusal:
                refusals.append(str(refusal))
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert refusals[0].startswith("another thread is in a method of this ")
    tables.reset()


def test_masked_values_are_refused() -> None:
    """Numpy would take the number behind a mask."""
    batch: Any = begin(make_batch("noms", 3))
    envs: Any = begin(SeatVectorEnv(3, "noms"), seed=1)
    batch.observe()
    legal = batch.mask.argmax(axis=1)
    masked = np.ma.array(legal, mask=[False, True, False])
    for values in (masked, list(masked), masked[1], np.ma.array([True, False, True], mask=[True, False, False])):
        for call in (batch.step, batch.observe, envs.step):
            assert_refused(partial(call, values))
        assert_refused(partial(batch.reset, seed=values))
        assert_refused(partial(envs.reset, seed=values))
        assert_refused(partial(envs.reset, options={"seat": values}))
    batch.step(np.ma.array(legal))
