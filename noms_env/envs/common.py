"""Shared parts of the environments: table setup, observation spaces and rendering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium import spaces

from noms_env.core.actions import NUM_ACTIONS
from noms_env.envs.option_types import Options
from noms_env.envs.validation import Episode, ObservationKind, checked_choice, checked_names
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.table import Table
from noms_env.variants import Rules, game

POSITION_KEYS = ("deck", "dealer", "totals", "deal", "multiplier")
"""Options of `reset` that set up a position: the arguments of `Table.start`."""
ILLEGAL_REWARD = -1.0
"""The reward of an illegal action that ends the episode."""
ILLEGAL_HINT = (
    'choose where the action mask is 1 (MaskablePPO of sb3-contrib does, PPO does not), or set illegal_action="terminate"'
)
"""The end of the message that refuses a learner's illegal action."""

Observation = dict[str, np.ndarray] | np.ndarray
"""`{"observation": vector, "action_mask": int8 (NUM_ACTIONS,)}`, or the vector alone: bytes, uint8 (OBSERVATION_SIZE,), or
features, float32 (n_features,)."""


def make_table(variant: str, seats: int | None, options: Mapping[str, Any], episode: str, seed: int = 0) -> Table:
    """Return the table of an environment; in an exact-bid game the option `hand_size` fixes the size of the deals."""
    table_options, deal_size = dict(options), None
    if "hand_size" in table_options and "hand_size" not in [option.name for option in game(variant).options]:
        deal_size = table_options.pop("hand_size")
    return Table(variant, seats, table_options, seed=seed, episode=episode, deal_size=deal_size)


def feature_layout(
    variant: str, seats: int | None = None, *, episode: Episode = "match", **options: Unpack[Options]
) -> FeatureLayout:
    """Return the layout of a table's features: `sections` with names, shapes, meanings and scales, and `encode`.

    The arguments are those of the environments; the features of a match include the totals.
    """
    checked_names(variant, options, feature_layout)
    return FeatureLayout([make_table(variant, seats, options, episode).rules], episode)


def checked_layout(observation: str | FeatureLayout, rule_sets: Sequence[Rules], episode: str) -> FeatureLayout | None:
    """Return the layout of the features, None for `bytes`; raise RulesError for another word than `features`."""
    if isinstance(observation, FeatureLayout):
        return observation
    if checked_choice("observation", observation, ObservationKind) == "bytes":
        return None
    return FeatureLayout(rule_sets, episode)


def observation_space(mask_in: str, layout: FeatureLayout | None) -> spaces.Space[Any]:
    """Return the space of one agent's `Observation`: features with a layout, else bytes."""
    vector: spaces.Box[Any] = spaces.Box(0, 255, (OBSERVATION_SIZE,), np.uint8)
    if layout is not None:
        vector = spaces.Box(np.zeros_like(layout.high), layout.high, dtype=np.float32)
    if mask_in == "info":
        return vector
    return spaces.Dict({"observation": vector, "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)})


def frame(table: Table, seat: int | None, render_mode: str, *, full: bool = False) -> str | np.ndarray | None:
    """Return a seat's view of the table (None: a spectator's): text, or uint8 (height, width, 3); `human` prints the text."""
    from noms_env import show  # imported late: drawing is slow to import and not needed in training

    if render_mode == "rgb_array":
        return show.image(table, seat, full=full)
    if render_mode == "ansi":
        return show.text(table, seat, full=full)
    print(show.text(table, seat, full=full, colour=True))
    return None


def notebook(env: Any, seat: int | None, full: bool = False) -> dict[str, str]:
    """Return the notebook view of an environment by MIME type: a seat's view of the table; before the first deal the repr."""
    from noms_env import show  # imported late as in `frame`

    table: Table = env.unwrapped.table
    return show.for_notebook(table, seat, full) if table.row.match >= 0 else {"text/plain": repr(env)}
