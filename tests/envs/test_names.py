"""Objects name themselves; a wrong name is answered with the nearest right one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

import noms_env
from noms_env import BatchEnv, RulesError, SeatEnv, SeatVectorEnv, Table, TableGroup, show
from noms_env.envs.aec import wrapped_env
from noms_env.variants import VARIANTS
from tests.begin import begin

MAKERS: dict[str, Callable[..., Any]] = {
    "env": partial(wrapped_env, "small_ships"),
    "raw_env": noms_env.small_ships_v0.raw_env,
    "gymnasium.make": partial(gymnasium.make, "noms/small_ships-v0", disable_env_checker=True),
    "SeatEnv": partial(SeatEnv, "small_ships"),
    "SeatVectorEnv": partial(SeatVectorEnv, 2, "small_ships"),
    "BatchEnv": partial(BatchEnv, "small_ships", 2),
    "feature_layout": partial(noms_env.feature_layout, "small_ships"),
    "Table": lambda **options: Table("small_ships", None, options),
    "TableGroup": lambda **options: BatchEnv([TableGroup("small_ships", None, options)], 2),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("wrong", "right", "makers"),
    [
        ("min_bit", "min_bid", list(MAKERS)),
        ("seatz", "seats", ["env", "raw_env", "BatchEnv", "feature_layout"]),
        ("seets", "seats", list(MAKERS)[:7]),
        ("eppisode", "episode", list(MAKERS)[:7]),
        ("rendermode", "render_mode", list(MAKERS)[:5]),
        ("oponents", "opponents", ["gymnasium.make", "SeatEnv", "SeatVectorEnv"]),
        ("autoreset", "autoreset_mode", ["SeatVectorEnv"]),
        ("skip_force", "skip_forced", ["SeatEnv", "SeatVectorEnv", "BatchEnv"]),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_right_one(maker: str, wrong: str, right: str, makers: list[str]) -> None:
    with pytest.raises(RulesError) as refusal:
        MAKERS[maker](**{wrong: 4})
    hint = f"; did you mean {right}? The options are min_bid" if maker in makers else ""
    assert str(refusal.value).startswith(f"small_ships has no option {wrong!r}{hint}")
    is_keyword = maker not in ("Table", "TableGroup")
    assert isinstance(refusal.value, TypeError) == is_keyword, "as for an unknown keyword of a function"
    assert (f"unexpected keyword argument {wrong!r}" in str(refusal.value)) == is_keyword


def test_representations_name_the_object_and_its_arguments() -> None:
    raw_env = noms_env.small_ships_v0.raw_env(episode="deal", target=None, first_trick_restriction="off")
    assert repr(raw_env) == '<small_ships_v0 raw_env: 4 seats, first_trick_restriction="off", target=None, episode="deal">'
    assert repr(noms_env.down_up_v0.env(seats=3)) == '<down_up_v0 env: 3 seats, episode="match">'
    assert repr(noms_env.noms_v0) == "<module noms_env.noms_v0: env, parallel_env and raw_env of Noms>"
    rules = Table("down_up", options={"trump_rotation": ["S", "NT"]}).rules
    assert repr(rules) == '<Rules down_up: 4 seats, trump_rotation=["S", "NT"]>'
    seat = SeatEnv("small_ships", opponents="thumb", seat="rotate")
    assert repr(seat) == str(seat) == '<SeatEnv small_ships: 4 seats, seat="rotate", opponents="thumb", episode="deal">'
    envs = SeatVectorEnv(8, "up_down", opponents=["random", "thumb", "random"])
    players = '["random", "thumb", "random"]'
    assert repr(envs) == f'<SeatVectorEnv of 8 tables, up_down: 4 seats, seat=0, opponents={players}, episode="deal">'
    assert repr(BatchEnv("noms", 64)) == '<BatchEnv: 64 tables of noms (4 seats), episode="match", seed=0>'
    mixed = BatchEnv([TableGroup("noms"), TableGroup("down_up", 3)], 4, episode="deal")
    assert repr(mixed) == '<BatchEnv: 2 tables of noms (4 seats), 2 tables of down_up (3 seats), episode="deal", seed=0>'
    assert repr(noms_env.load_player("noms@0")) == "<PolicyPlayer: noms with 4 seats; temperature=0>"
    assert repr(pickle.loads(pickle.dumps(raw_env))) == repr(raw_env)
    assert pickle.loads(pickle.dumps(noms_env.noms_v0)) is noms_env.noms_v0


def test_the_value_of_a_policy_is_refused() -> None:
    policy = noms_env.load_player("noms@0")
    assert not hasattr(policy, "value")
    with pytest.raises(AttributeError, match=r"no value.*search:POLICY"):
        policy.value  # type: ignore[attr-defined]  # noqa: B018 - the attribute is what is tested


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_notebook_shows_a_table_as_a_spectator_sees_it(variant: str) -> None:
    table = begin(Table(variant, seed=3))
    for _ in range(5):
        table.step(table.legal_actions()[-1])
    mimebundle = table._repr_mimebundle_(include=None, exclude=None)
    assert mimebundle["text/plain"] == show.text(table, None)
    assert mimebundle["image/svg+xml"] == show.svg(table, None)
    twin = table.sample_hidden(int(table.row.seat), np.random.default_rng(1))
    assert twin._repr_mimebundle_() == mimebundle, "other cards in the hands that a seat cannot see"
    assert repr(twin) == repr(table)


def test_a_notebook_shows_an_environment_as_its_render_seat_sees_it() -> None:
    env, seat = noms_env.down_up_v0.env(render_seat=2), SeatEnv("noms", seat=1)
    assert [each._repr_mimebundle_() for each in (env, seat)] == [{"text/plain": repr(each)} for each in (env, seat)]
    env.reset(seed=1)
    table = env.unwrapped.table
    assert env._repr_mimebundle_() == env.unwrapped._repr_mimebundle_() == show.for_notebook(table, 2)
    full = begin(noms_env.down_up_v0.env(render_seat=None, render_full=True), seed=1)
    assert full._repr_mimebundle_() == show.for_notebook(table, None, full=True) != show.for_notebook(table, None)
    seat.reset(seed=1)
    assert seat._repr_mimebundle_()["image/svg+xml"] == show.svg(seat.table, 1)
