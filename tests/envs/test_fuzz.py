"""Odd values in public calls: each is refused with one sentence and changes nothing, or is accepted and play continues."""

import copy
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from hypothesis import strategies as st

from noms_env import SeatEnv, SeatVectorEnv, Table, load_player, make_batch
from noms_env.envs.aec import TrickTakingEnv
from noms_env.variants import GAMES, VARIANTS
from tests.agreement import deck_words
from tests.begin import begin
from tests.envs.play import KINDS, make, walk
from tests.envs.seats import seat_env
from tests.fuzz import ODD, fuzzed, is_refused, near

Draw = Callable[[Any], Any]


def position(draw: Draw, deck: list[str]) -> dict[str, Any]:
    """A start position with mostly good parts."""
    card = draw(near(*deck))
    parts = {
        "deck": near(deck, deck[::-1], [card, *deck[1:]], deck[1:], np.array(deck)),
        "dealer": near(0, 1, 6),
        "totals": near([0, 0, 0, 0], [0.5] * 4, np.zeros(4), [[1], 2, 3, 4]),
        "deal": near(0, 1, 3),
        "multiplier": near(1, 2),
    }
    return {name: draw(values) for name, values in parts.items() if draw(st.integers(0, 2)) == 0}


@cache
def tables_in_play(name: str) -> list[Table]:
    """A table at each decision of a play, and at its end."""
    env = begin(make(KINDS[name]), seed=1)
    return [*(env.table.copy() for _ in walk(env, random.Random(1), 100)), env.table]


@fuzzed(300, 15_000)
def test_calls_of_a_table(data: st.DataObject) -> None:
    draw: Draw = data.draw
    table = draw(st.sampled_from(tables_in_play(draw(st.sampled_from(sorted(KINDS)))))).copy()
    state = table.get_state()
    value, other = draw(near(0, 1)), draw(near(np.random.default_rng(0)))
    calls: dict[str, Callable[[], object]] = {
        "start": lambda: table.start(draw(near(1)), **position(draw, deck_words(table))),
        "step": lambda: table.step(draw(near(*range(150)))),
        "act": lambda: table.act(value),
        "word": lambda: table.word(value),
        "number": lambda: table.number(value, other),
        "set_state": lambda: table.set_state(draw(near(state, state[:-1], bytearray(state)))),
        "sample_hidden": lambda: table.sample_hidden(value, other),
        "determinize": lambda: table.determinize(other),
    }
    call = draw(st.sampled_from(sorted(calls)))
    if is_refused(calls[call], ValueError):
        assert table.get_state() == state, call
    table.legal_words()


@fuzzed(150, 15_000)
def test_calls_of_an_environment(data: st.DataObject) -> None:
    draw: Draw = data.draw
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    alone = draw(st.booleans())
    env: Any = begin(seat_env(kind, episode="match") if alone else make(kind), seed=1)
    state, deck = env.table.get_state(), deck_words(env.table)
    seat = {"seat": near(0)} if alone else {}
    calls: dict[str, Callable[[], object]] = {
        "step": lambda: env.step(draw(near(*range(150)))),
        "seed": lambda: env.reset(seed=draw(ODD)),
        "options": lambda: env.reset(seed=draw(near(1)), options=draw(ODD)),
        "position": lambda: env.reset(
            seed=draw(near(1)), options=position(draw, deck) | {key: draw(value) for key, value in seat.items()}
        ),
    }
    if not alone:
        spoilt = copy.deepcopy(env.get_state())
        for _ in range(draw(st.integers(0, 2))):
            spoil(draw, spoilt)
        calls |= {
            "set_state": lambda: env.set_state(draw(ODD)),
            "set part": lambda: env.set_state(spoilt),
            "word": lambda: env.action_to_str(draw(ODD)),
            "number": lambda: env.str_to_action(draw(ODD), draw(near("call"))),
        }
    call = draw(st.sampled_from(sorted(calls)))
    if is_refused(calls[call], ValueError, ResetNeeded):
        assert env.table.get_state() == state, call
    if alone:
        env.action_masks()
        return
    env.last()
    for _ in range(3):
        if env.agents:
            env.step(env.legal_actions()[0] if env.legal_actions() else None)
            env.observe(env.possible_agents[0])
            env.render()


def spoil(draw: Draw, state: dict[str, Any]) -> None:
    """Change, remove or exchange an entry of a state or of one of its parts."""
    key = draw(st.sampled_from(sorted(state, key=repr)))
    inner = state[key]
    if isinstance(inner, dict) and inner and draw(st.integers(0, 3)):
        spoil(draw, inner)
        return
    match draw(st.integers(0, 3)):
        case 0:
            del state[key]
        case 1:
            other = draw(st.sampled_from(sorted(state, key=repr)))
            state[key], state[other] = state[other], state[key]
        case _:
            state[key] = draw(near(0.0, True, [], {}, "player_1", *([inner[:-1]] if isinstance(inner, bytes) else [])))


def rows(*values: Any) -> st.SearchStrategy[Any]:
    """Selections of rows, or a number for each of three."""
    good = [0, 2, -1, [0, 2], [True, False, True], np.array([1]), np.zeros(3, bool), slice(0, 2), [], [3]]
    return near(*good, np.zeros((1, 3), int), *values)


@fuzzed(300, 10_000)
def test_calls_of_a_batch(data: st.DataObject) -> None:
    draw: Draw = data.draw
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    batch = begin(make_batch(kind.variant, 3, seats=kind.seats, hidden_state=draw(st.booleans()), **kind.options))
    batch.observe()
    legal = batch.mask.argmax(axis=1)
    before, records = batch.tables.tobytes(), batch.save()
    generators = near(np.random.default_rng(0))
    calls: dict[str, Callable[[], object]] = {
        "step": lambda: batch.step(draw(near(legal, legal.tolist(), legal.astype(np.uint64), legal[:2], legal + 2**40))),
        "reset": lambda: batch.reset(draw(rows()), **{key: draw(rows(5, [1, 2, 3])) for key in NUMBERS if draw(st.booleans())}),
        "observe": lambda: batch.observe(draw(rows())),
        "save": lambda: batch.save(draw(rows())),
        "restore": lambda: batch.restore(draw(rows()), draw(near(records, records[:1], records[0], records[:2]))),
        "clone": lambda: batch.clone(draw(rows()), draw(rows())),
        "sample_hidden": lambda: batch.sample_hidden(draw(rows()), draw(near(0, 1)), draw(generators), draw(rows())),
    }
    call = draw(st.sampled_from(sorted(calls)))
    if is_refused(calls[call], ValueError):
        assert batch.tables.tobytes() == before, call
    batch.observe()


@fuzzed(100, 5_000)
def test_calls_of_a_vector_environment(data: st.DataObject) -> None:
    draw: Draw = data.draw
    envs = begin(SeatVectorEnv(3, draw(st.sampled_from(VARIANTS)), autoreset_mode=draw(st.sampled_from(MODES))), seed=1)
    legal = envs.action_masks().argmax(axis=1)
    before = envs._runner.batch.tables.tobytes()
    options = {"seat": rows(), "reset_mask": rows(np.ones(3, bool)), "deck": ODD}
    calls: dict[str, Callable[[], object]] = {
        "step": lambda: envs.step(draw(near(legal, legal.tolist(), legal[:2], legal * 1.0, legal - 300))),
        "seed": lambda: envs.reset(seed=draw(rows([1, None, 2], [1, 2, 3]))),
        "options": lambda: envs.reset(seed=1, options=draw(ODD)),
        "position": lambda: envs.reset(options={key: draw(value) for key, value in options.items() if draw(st.booleans())}),
    }
    call = draw(st.sampled_from(sorted(calls)))
    if is_refused(calls[call], ValueError, TypeError, ResetNeeded):
        assert envs._runner.batch.tables.tobytes() == before, call
    envs.action_masks()


NUMBERS = ("match", "seed", "table", "dealer")
MODES = ("NextStep", "SameStep", "Disabled")
MAKERS: dict[str, Callable[..., Any]] = {
    "table": Table,
    "aec": TrickTakingEnv,
    "seat": SeatEnv,
    "vector": lambda *arguments, **named: SeatVectorEnv(2, *arguments, **named),
    "batch": lambda *arguments, **named: make_batch(*arguments, **{"tables": 2, **named}),
}
NAMED = {
    "table": ("seats", "options", "seed", "table", "episode", "deal_size"),
    "aec": ("seats", "episode", "reward", "illegal_action", "mask_in", "render_mode", "render_seat", "render_full", "record"),
    "seat": ("seats", "opponents", "seat", "episode", "reward", "illegal_action", "mask_in", "skip_forced", "render_mode"),
    "vector": ("seats", "opponents", "seat", "episode", "reward", "mask_in", "autoreset_mode", "copy", "threads"),
    "batch": ("tables", "seed", "seats", "episode", "skip_forced", "pause_after_deal", "hidden_state", "threads"),
}
"""Arguments of each maker that are not options of the game."""


@fuzzed(150, 9_000)
def test_arguments(data: st.DataObject) -> None:
    draw: Draw = data.draw
    maker = draw(st.sampled_from(sorted(NAMED)))
    variant = draw(st.sampled_from(VARIANTS))
    named = {draw(st.sampled_from(NAMED[maker])): draw(near("deal", "random", 4, 3)) for _ in range(draw(st.integers(0, 2)))}
    if isinstance(named.get("tables"), int | np.integer) and named["tables"] > 10**6:
        return
    options = {option.name: draw(ODD) for option in GAMES[variant].options if draw(st.integers(0, 9)) == 0}
    named = {"options": options, **named} if maker == "table" else named | options
    first = variant if draw(st.booleans()) else draw(near(variant))
    if not is_refused(lambda: MAKERS[maker](first, **named), ValueError) and maker == "aec":
        MAKERS[maker](first, **named).reset(seed=1)


NAMES = ["thumb", "noms@0", "pimc:2", "pimc:0", "noms@", ":", "@", "x" * 300, "\0", "\0.safetensors", "noms@" + 400 * "9"]


@fuzzed(100, 1_000)
def test_names_of_players(data: st.DataObject) -> None:
    is_refused(lambda: load_player(data.draw(near(*NAMES))), ValueError)
