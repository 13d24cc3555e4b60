"""What is refused, wherever it is tried: one sentence says why, and everything stays as it was."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noms_env
from noms_env import make_batch
from noms_env.core.actions import brief
from noms_env.envs.gym.seat import SeatEnv
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.table import IllegalActionError, Table
from noms_env.variants import VARIANTS
from tests.begun import begun
from tests.envs.play import everything, module_of

ODD: list[Any] = [2**63, 10**5000, True, 1.0, float("nan"), 1j, "\ud800", b"1", None, object()]
ODD += [np.ma.masked, [np.ma.masked] * 3, [], [1], [10**5000], {1: 2}, np.zeros((40, 40)), np.full((2, 3), "x")]
"""What is neither an action, nor a seat, a seed, or a number of anything."""


def names(values: list[Any]) -> list[str]:
    return [f"{type(value).__name__} {brief(value)[:20]!a}" for value in values]


odd = pytest.mark.parametrize("value", ODD, ids=names(ODD))


def refused(call: Callable[[], object], *errors: type[Exception]) -> None:
    """The call raises ValueError (or one of some errors) with a sentence of one line."""
    with pytest.raises(errors or ValueError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert 10 < len(message) < 500
    message.encode()


def started(**arguments: Any) -> Any:
    """An environment in the middle of a deal, with the illegal action of a float noted nowhere."""
    env = begun(module_of("up_down").raw_env(record=True, **arguments), seed=3)
    for _ in range(6):
        env.step(env.legal_actions()[0])
    return env


@odd
def test_an_odd_action_is_refused_everywhere_and_noted_nowhere(value: Any) -> None:
    env, twin, wrapped = started(), started(), begun(module_of("up_down").env(), seed=3)
    seat, seats = begun(SeatEnv("up_down"), seed=3), begun(SeatVectorEnv(2, "up_down"), seed=3)
    batch = begun(noms_env.make_batch("up_down", 2))

    def now() -> list[Any]:
        tables = seats._runner.batch.tables, batch.tables
        return [everything(env), everything(wrapped.unwrapped), seat.table.get_state(), *(rows.tobytes() for rows in tables)]

    before = now()
    refused(lambda: env.step(value), IllegalActionError)
    refused(lambda: wrapped.step(value), AssertionError)
    refused(lambda: seat.step(value))
    for many in (seats, batch):
        refused(lambda many=many: many.step([value, value]))  # type: ignore[misc]
    assert now() == before
    wrapped.step(wrapped.unwrapped.legal_actions()[0])
    assert not wrapped.terminations["player_0"]
    while env.agents and not env.terminations[env.agent_selection]:
        assert env.legal_actions() == twin.legal_actions()
        for one in (env, twin):
            one.step(one.legal_actions()[0])
    assert env.records == twin.records


POSITIONS = ("deck", "dealer", "totals", "deal", "multiplier")


@odd
def test_a_refused_reset_leaves_seed_match_and_deal_as_they_are(value: Any) -> None:
    env, wrapped, seat = module_of("small_ships").raw_env(), module_of("small_ships").env(), SeatEnv("small_ships")
    seats, batch = SeatVectorEnv(2, "small_ships"), noms_env.make_batch("small_ships", 2)
    for one in (env, wrapped, seat, seats):
        one.reset(seed=3)
    batch.reset()
    wrapped.step(0)  # illegal: the wrappers remember that the episode is over
    shown = wrapped.get_state()["wrappers"][2]["_terminated"]
    before = everything(env), everything(wrapped.unwrapped), seat.table.get_state(), batch.tables.tobytes()
    generator = seat.np_random.bit_generator.state
    for key in POSITIONS if value is not None else ():
        for one in (env, wrapped, seat):
            for seed in (None, 5):
                refused(lambda one=one, seed=seed, key=key: one.reset(seed=seed, options={key: value}))  # type: ignore[misc]
    if value is not None:
        for one in (env, wrapped, seat, seats):
            refused(lambda one=one: one.reset(seed=value))  # type: ignore[misc]
        for key in ("seed", "match", "table", "dealer"):
            refused(lambda key=key: batch.reset(**{key: value}))  # type: ignore[misc]
        refused(lambda: seats.reset(options={"reset_mask": value}), ValueError, TypeError)
        refused(lambda: seats.reset(options={"seat": value}))
    refused(lambda: seat.reset(options={"seat": value}))
    assert (everything(env), everything(wrapped.unwrapped), seat.table.get_state(), batch.tables.tobytes()) == before
    assert seat.np_random.bit_generator.state == generator
    assert wrapped.get_state()["wrappers"][2]["_terminated"] is shown is True


@pytest.mark.parametrize(
    ("makers", "options", "says"),
    [
        ("seats", {"seats": 1}, "reset has no option 'seats'; did you mean seat? The options are reset_mask, seat"),
        ("seats", {"dealer": 1}, "dealer sets up a position: use SeatEnv"),
        ("seat", {"reset_mask": np.ones(1, np.bool_)}, "reset has no option 'reset_mask'; the options are seat, deck"),
        ("table", {"deler": 1}, "reset has no option 'deler'; did you mean dealer? The options are deck"),
        ("table seat seats", {7: 1}, "reset has no option 7; the options are"),
    ],
)
def test_an_option_of_a_reset_that_means_nothing_is_refused(makers: str, options: dict[Any, Any], says: str) -> None:
    for maker in makers.split():
        env: Any = MAKERS[maker]()
        env.reset(seed=1)
        table = env._runner.batch if maker == "seats" else env.table
        before = table.save() if maker == "seats" else table.get_state()
        refused(lambda env=env: env.reset(seed=2, options=options))  # type: ignore[misc]
        with pytest.raises(ValueError, match=re.escape(says)):
            env.reset(seed=2, options=options)
        assert np.array_equal(table.save() if maker == "seats" else table.get_state(), before)


MAKERS: dict[str, Callable[..., object]] = {
    "table": lambda **given: module_of("small_ships").raw_env(**given),
    "seat": lambda **given: SeatEnv("small_ships", **given),
    "seats": lambda **given: SeatVectorEnv(2, "small_ships", **given),
}


@pytest.mark.parametrize(
    ("makers", "arguments", "says"),
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
def test_arguments_that_are_not_allowed(makers: str, arguments: dict[str, Any], says: str) -> None:
    for maker in makers.split():
        with pytest.raises(ValueError, match=re.escape(says)) as refusal:
            MAKERS[maker](**arguments)
        assert "\n" not in str(refusal.value)


def test_a_batch_deals_before_it_plays() -> None:
    batch = noms_env.make_batch("up_down", 2)
    with pytest.raises(RuntimeError, match="nothing has been dealt yet: call reset first"):
        batch.step(np.zeros(2, np.int64))
    saved = begun(noms_env.make_batch("up_down", 2)).save()
    batch.restore(None, saved)
    batch.observe()
    batch.step(batch.mask.argmax(axis=1))


@pytest.mark.parametrize("rows", [[], np.zeros(0), [False, False]], ids=repr)
def test_no_rows_are_no_rows(rows: Any) -> None:
    batch = begun(noms_env.make_batch("up_down", 2))
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
        (np.zeros(4, np.int64), np.zeros(4, np.int64)),
        (np.full(4, 2**32), np.zeros(4, np.int64)),
        (np.ones(3, np.int64), np.zeros(4, np.int64)),
        (np.ones(4, np.int64), np.zeros(4)),
        (np.ones(8, np.int64)[::2], np.zeros(4, np.int64)),
        (np.broadcast_to(np.int64(1), 4), np.zeros(4, np.int64)),
    ],
)
def test_random_actions_want_arrays_that_fit(streams: Any, actions: Any) -> None:
    batch = begun(noms_env.make_batch("up_down", 4))
    refused(lambda: batch.random_actions(streams, actions))


def play_on(table: Table, rng: random.Random, decisions: int) -> None:
    """Random play from a table, in which every seat looks at each position."""
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
def test_records_that_play_cannot_lead_to_are_not_restored(name: str) -> None:
    batch = begun(noms_env.make_batch("up_down", 3))
    for _ in range(6):
        batch.observe()
        batch.step(batch.mask.argmax(axis=1))
    saved, before = batch.save([1]), batch.tables.tobytes()
    saved[name] = np.nan if name == "totals" else 99
    refused(lambda: batch.restore([2], saved))
    table = batch.table(1)
    refused(lambda: table.set_state(saved.tobytes()))
    assert batch.tables.tobytes() == before


def test_a_table_before_the_first_deal_and_at_every_decision_has_a_state_that_can_be_restored() -> None:
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
    batch = noms_env.make_batch("noms", 4)
    batch.restore(None, batch.save())


@pytest.mark.parametrize(
    "make",
    [lambda: noms_env.make_batch("up_down", 4096), lambda: SeatVectorEnv(4096, "up_down")],
    ids=["batch", "seats"],
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


def test_what_is_masked_is_no_number() -> None:
    """Behind a mask there is a number all the same, which numpy would take."""
    batch, envs = begun(make_batch("noms", 3)), begun(SeatVectorEnv(3, "noms"), seed=1)
    batch.observe()
    legal = batch.mask.argmax(axis=1)
    masked = np.ma.array(legal, mask=[False, True, False])
    for values in (masked, list(masked), masked[1], np.ma.array([True, False, True], mask=[True, False, False])):
        refused(lambda values=values: batch.step(values))  # type: ignore[misc]
        refused(lambda values=values: batch.reset(seed=values))  # type: ignore[misc]
        refused(lambda values=values: batch.observe(values))  # type: ignore[misc]
        refused(lambda values=values: envs.step(values))  # type: ignore[misc]
        refused(lambda values=values: envs.reset(seed=values))  # type: ignore[misc]
        refused(lambda values=values: envs.reset(options={"seat": values}))  # type: ignore[misc]
    batch.step(np.ma.array(legal))
