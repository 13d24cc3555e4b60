"""Objects say what they are, and a name that is wrong is answered with the nearest right one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import noms_env
from noms_env import BatchEnv, RulesError, SeatEnv, SeatVectorEnv, Table, TableGroup, show
from noms_env.envs.wrappers import wrapped_env
from noms_env.variants import VARIANTS
from tests.begun import begun

MAKERS: dict[str, Callable[..., Any]] = {
    "env": lambda **given: wrapped_env("small_ships", **given),
    "raw_env": noms_env.small_ships_v0.raw_env,
    "gymnasium.make": lambda **given: gymnasium.make("noms/small_ships-v0", disable_env_checker=True, **given),
    "SeatEnv": lambda **given: SeatEnv("small_ships", **given),
    "SeatVectorEnv": lambda **given: SeatVectorEnv(2, "small_ships", **given),
    "BatchEnv": lambda **given: BatchEnv("small_ships", 2, **given),
    "feature_layout": lambda **given: noms_env.feature_layout("small_ships", **given),
    "Table": lambda **given: Table("small_ships", None, given),
    "TableGroup": lambda **given: BatchEnv([TableGroup("small_ships", None, given)], 2),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("wrong", "meant", "of"),
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
def test_a_wrong_name_is_answered_with_the_nearest_argument_or_option(
    maker: str, wrong: str, meant: str, of: list[str]
) -> None:
    with pytest.raises(RulesError) as caught:
        MAKERS[maker](**{wrong: 4})
    asked = f"; did you mean {meant}? The options are min_bid" if maker in of else ""
    assert str(caught.value).startswith(f"small_ships has no option {wrong!r}{asked}")
    is_keyword = maker not in ("Table", "TableGroup")
    assert isinstance(caught.value, TypeError) == is_keyword, "as a function that does not know a keyword"
    assert (f"unexpected keyword argument {wrong!r}" in str(caught.value)) == is_keyword


def test_objects_say_what_they_are() -> None:
    raw_env = noms_env.small_ships_v0.raw_env(episode="deal", target=None, first_trick_restriction="off")
    assert repr(raw_env) == '<small_ships_v0 raw_env: 4 seats, first_trick_restriction="off", target=None, episode="deal">'
    assert repr(noms_env.down_up_v0.env(seats=3)) == '<down_up_v0 env: 3 seats, episode="match">'
    assert str(raw_env) == "small_ships_v0"
    assert repr(noms_env.noms_v0) == "<module noms_env.noms_v0: env, parallel_env and raw_env of Noms>"
    assert repr(Table("down_up", options={"trump_rotation": ["S", "NT"]}).rules) == (
        '<Rules down_up: 4 seats, trump_rotation=["S", "NT"]>'
    )
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


def test_a_policy_says_that_it_has_no_value() -> None:
    policy = noms_env.load_player("noms@0")
    assert not hasattr(policy, "value")
    with pytest.raises(AttributeError, match=r"no value.*search:POLICY"):
        policy.value  # type: ignore[attr-defined]  # noqa: B018 - that is the test


def rows_of(shown: dict[str, str]) -> dict[str, str]:
    """The rows of a table in Markdown, below its head."""
    cells = [line.strip("| ").split(" | ") for line in shown["text/markdown"].splitlines()[2:]]
    return dict(cells)


def test_a_notebook_shows_what_many_tables_and_policies_are() -> None:
    batch = BatchEnv("noms", 1024, seed=7, hidden_state=True)
    shown = batch._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == repr(batch)
    rows = rows_of(shown)
    assert (rows["seed"], rows["observation"], rows["mask"]) == ("7", "uint8 (1024, 1072)", "int8 (1024, 150)")
    assert rows["episodes"] != rows_of(begun(batch)._repr_mimebundle_())["episodes"] == "0 of 1,024 over"
    envs = SeatVectorEnv(8, "up_down", opponents="thumb", observation="bytes", mask_in="info")
    rows = rows_of(envs._repr_mimebundle_())
    assert rows["opponents"] == '"thumb"'
    assert rows["observation"].endswith("uint8 (8, 1072)")
    rows = rows_of(noms_env.load_player("noms@0")._repr_mimebundle_())  # type: ignore[attr-defined]  # it is a policy
    assert (rows["plays"], rows["temperature"], rows["value"]) == ("noms with 4 seats", "0", "none")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_notebook_shows_a_table_as_a_spectator_sees_it(variant: str) -> None:
    table = Table(variant, seed=3)
    table.start()
    for _ in range(5):
        table.step(table.legal_actions()[-1])
    shown = table._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == show.text(table, None)
    assert shown["image/svg+xml"] == show.svg(table, None)
    other = table.sample_hidden(int(table.row.seat), np.random.default_rng(1))
    assert other._repr_mimebundle_() == shown, "other cards in the hands that a seat cannot see"
    assert repr(other) == repr(table)


def test_a_notebook_shows_an_environment_as_its_render_seat_sees_it() -> None:
    env = noms_env.down_up_v0.env(render_seat=2)
    assert env._repr_mimebundle_() == {"text/plain": repr(env)}
    env.reset(seed=1)
    table = env.unwrapped.table
    assert env._repr_mimebundle_() == env.unwrapped._repr_mimebundle_() == show.for_notebook(table, 2)
    opened = noms_env.down_up_v0.env(render_seat=None, render_full=True)
    opened.reset(seed=1)
    assert opened._repr_mimebundle_() == show.for_notebook(table, None, full=True) != show.for_notebook(table, None)
    seat = SeatEnv("noms", seat=1)
    assert seat._repr_mimebundle_() == {"text/plain": repr(seat)}
    seat.reset(seed=1)
    assert seat._repr_mimebundle_()["image/svg+xml"] == show.svg(seat.table, 1)
