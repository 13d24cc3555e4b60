"""Nomination whist for reinforcement learning: seven card games on one compiled engine.

    import noms_env
    env = noms_env.small_ships_v0.env(seats=4)                    # PettingZoo: one agent at a time
    batch = noms_env.make_batch("small_ships", tables=1024)       # arrays: thousands of tables at once
    seat = noms_env.SeatEnv("small_ships", opponents="thumb")     # Gymnasium: one learner, players in the other seats
    policy = noms_env.load_player("small_ships")                  # a published policy

`noms_env.VARIANTS` names the games. The import also registers them: `pettingzoo.make("aec", "noms/small_ships-v0")` and
`gymnasium.make("noms/small_ships-v0", opponents="thumb")`.
"""

from __future__ import annotations

from noms_env.core.actions import NUM_ACTIONS
from noms_env.envs.batch import BatchEnv, TableGroup, make_batch
from noms_env.envs.canonical_suits import CanonicalSuits, canonical_suits
from noms_env.envs.common import feature_layout
from noms_env.envs.first_use import compile
from noms_env.envs.games import (
    big_ships_v0,
    down_up_v0,
    noms_v0,
    nonesuch_v0,
    small_ships_v0,
    sniped_whist_v0,
    up_down_v0,
)
from noms_env.envs.gym.seat import SeatEnv, register_seats
from noms_env.envs.gym.seat_vector import SeatVectorEnv
from noms_env.envs.modules import register_environments
from noms_env.observation.feature_layout import FeatureLayout, FeatureSection
from noms_env.observation.layout import OBSERVATION_SIZE, STATE_SIZE
from noms_env.players import load_player
from noms_env.table import IllegalActionError, PositionError, Table
from noms_env.variants import VARIANTS, RulesError
from noms_env.version import ENV_VERSION, __version__

register_environments()
register_seats()

__all__ = [
    "ENV_VERSION",
    "NUM_ACTIONS",
    "OBSERVATION_SIZE",
    "STATE_SIZE",
    "VARIANTS",
    "BatchEnv",
    "CanonicalSuits",
    "FeatureLayout",
    "FeatureSection",
    "IllegalActionError",
    "PositionError",
    "RulesError",
    "SeatEnv",
    "SeatVectorEnv",
    "Table",
    "TableGroup",
    "__version__",
    "big_ships_v0",
    "canonical_suits",
    "compile",
    "down_up_v0",
    "feature_layout",
    "load_player",
    "make_batch",
    "noms_v0",
    "nonesuch_v0",
    "register_environments",
    "register_seats",
    "small_ships_v0",
    "sniped_whist_v0",
    "up_down_v0",
]
