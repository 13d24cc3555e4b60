"""Versions of the rule-of-thumb player are frozen, and searches still play by the first."""

import hashlib
from typing import Any

import numpy as np
import pytest

from noms_env import load_player, make_batch
from noms_env.players import Player
from noms_env.search.pimc import new_work
from noms_env.variants import GAMES
from tests.players.positions import SPECIAL, answer_word
from tests.players.test_rule_based import LAST_TWO

DECISIONS = {
    ("thumb:1", "sniped_whist"): (5168, "206b947f0d08a769"),
    ("thumb:1", "big_ships"): (3409, "d86822f96ec895d6"),
    ("thumb:1", "small_ships"): (7909, "0eea75bd7745ff81"),
    ("thumb:1", "noms"): (6616, "f4fe8a9364db24de"),
    ("thumb:1", "nonesuch"): (4093, "2497fc6492a7bd13"),
    ("thumb:1", "down_up"): (2371, "94a013a0ca3d37d5"),
    ("thumb:1", "up_down"): (2024, "c424d223c7937baa"),
    ("thumb:2", "sniped_whist"): (5168, "206b947f0d08a769"),
    ("thumb:2", "big_ships"): (3409, "467ef389e98fe401"),
    ("thumb:2", "small_ships"): (7909, "d33489e28a9dde44"),
    ("thumb:2", "noms"): (6616, "cfa2bbf6afbb074d"),
    ("thumb:2", "nonesuch"): (4082, "c025b9649d2e0fb6"),
    ("thumb:2", "down_up"): (2371, "ed5770ed558b16d6"),
    ("thumb:2", "up_down"): (2024, "b88c15ccb735caee"),
}
"""Number and hash of the decisions of a version in some deals. Never to be changed, since published figures name the version:
a change of the rules is a new version."""


def actions_of(player: Player, variant: str, seats: int, options: dict[str, Any], deals: int) -> np.ndarray:
    """Return the actions of a player at all seats of some deals, int16."""
    batch, rng, steps = make_batch(variant, deals, seats=seats, seed=5, episode="deal", **options), np.random.default_rng(0), []
    batch.reset(table=np.arange(deals))
    while not batch.over.all():
        batch.observe()
        rows, actions = np.flatnonzero(~batch.over), np.zeros(deals, np.int64)
        actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng, tables=batch.save(rows))
        steps.append(actions[rows].astype("<i2"))
        batch.step(actions)
    return np.concatenate(steps)


@pytest.mark.parametrize(("name", "variant"), DECISIONS)
def test_a_version_never_changes_its_decisions(name: str, variant: str) -> None:
    places = [(GAMES[variant].default_seats, {}, 48), *((seats, options, 16) for seats, options in SPECIAL[variant])]
    actions = np.concatenate([actions_of(load_player(name), variant, *place) for place in places])
    assert (len(actions), hashlib.sha256(actions.tobytes()).hexdigest()[:16]) == DECISIONS[name, variant]


def test_the_name_without_a_number_is_the_newest() -> None:
    words = {name: answer_word(load_player(name), LAST_TWO()) for name in ("thumb", "thumb:1", "thumb:2")}
    assert words == {"thumb": "4D", "thumb:1": "AS", "thumb:2": "4D"}, "two left, one trick needed, void of the suit led"


def test_searches_roll_out_with_the_first_version() -> None:
    assert new_work(1).workspaces["version"].tolist() == [1]


@pytest.mark.parametrize("version", [0, 3])
def test_an_unknown_version_is_refused(version: int) -> None:
    with pytest.raises(ValueError, match=f"thumb .*1 to 2, not {version}"):
        load_player(f"thumb:{version}")
