"""Configurations: presets, checks, and JSON."""

import json
from typing import Any

import pytest

from noms_training.learn.config import PRESETS, TrainConfig


@pytest.mark.parametrize("preset", PRESETS)
def test_a_configuration_survives_json(preset: str) -> None:
    config = TrainConfig(variants=("noms", "small_ships"), seats=(4,), option=("min_bid=8",), **PRESETS[preset][1])
    assert TrainConfig.from_dict(json.loads(json.dumps(config.as_dict()))) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ppo": {"gamma": 1}}, r"unknown key ppo\.gamma; .* keys .*clip_coef"),
        ({"ppo": {"clip_coef": 7}}, "clip_coef must be from 0 to 1"),
        ({"variants": []}, "name at least one game"),
        ({"seed": "1"}, "seed must be int, not '1'"),
        ({"tables": True}, r"tables must be int \| None, not True"),
        ({"save_every": float("nan")}, "save_every must be from 0"),
        ({"privileged_critic": 1}, "privileged_critic must be bool, not 1"),
        ({"seats": 4}, r"seats must be tuple.*, not 4"),
        ({"panel": ["thumb", None]}, "panel must be"),
        ({"thumb_version": 3}, "thumb_version must be from 1 to 2, not 3"),
        ({"panel": []}, "the panel needs one player or more"),
        ({"network": None}, "network must be an object with keys, not None"),
        ({"ppo": {"exploration": 0.1}}, r"exploration needs ppo\.played_out above 0"),
        ({"ppo": {"played_out": 0.5}, "opponents": {"share": 0.1}}, r"opponents\.share must be 0 with ppo\.played_out"),
    ],
)
def test_a_wrong_key_or_value_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig.from_dict({"variants": ["noms"], **changes})


def test_a_configuration_needs_games() -> None:
    with pytest.raises(ValueError, match="variants"):
        TrainConfig.from_dict({"seed": 3})


def test_a_configuration_without_thumb_version_has_the_first() -> None:
    assert TrainConfig(variants=("noms",)).thumb_version == 2
    assert TrainConfig.from_dict({"variants": ["noms"]}).thumb_version == 1
