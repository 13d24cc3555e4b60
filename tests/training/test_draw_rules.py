"""Rules drawn for training, and policies that play under any options."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import noms_env
from noms_env import FeatureLayout, TableGroup, make_batch
from noms_env.observation.features import possible_actions
from noms_env.players.registry import AnyOptions, check_rules
from noms_env.policy.file import read_info, read_policy
from noms_env.policy.player import load_policy
from noms_env.variants import VARIANTS, given_options, make_rules
from noms_env.variants import game as game_of
from noms_training.learn.checkpoint import write_policy
from noms_training.learn.config import ActorConfig, CurriculumConfig
from noms_training.learn.draw_rules import BETWEEN_DEALS, draw_rules, widest_rules
from noms_training.learn.network import Actor
from noms_training.learn.train import Trainer
from noms_training.options import parse_held_out
from noms_training.play.browser.lobby import Lobby, levels_of
from noms_training.play.browser.messages import TableRequest
from tests.training.test_self_play import TINY, tiny

GAMES = ("nonesuch", "small_ships")


def rules_of(game: str, seats: int | None = None, **options: Any) -> noms_env.variants.Rules:
    return make_rules(game_of(game), seats, options)


def test_every_game_is_drawn_with_all_seats_and_words_and_nothing_that_is_held_out() -> None:
    held_out = parse_held_out(["half=floor", "hand_size=6", "hand_size=9", "direction=down_up"])
    drawn = draw_rules(VARIANTS, 10, 3, held_out)
    assert drawn == draw_rules(VARIANTS, 10, 3, held_out)
    assert len(drawn) == len(set(drawn)) > 10 * len(VARIANTS)
    for name in VARIANTS:
        variant, of_game = game_of(name), [rules for rules in drawn if rules.variant.name == name]
        assert {rules.seats for rules in of_game} == set(range(variant.seats[0], variant.seats[1] + 1))
        for option in variant.options:
            values = [rules.options[option.name] for rules in of_game]
            if option.name in BETWEEN_DEALS:
                assert values == [make_rules(variant, rules.seats).options[option.name] for rules in of_game]
            else:
                assert {value for value in values if isinstance(value, str)} == set(option.words) - {"floor"}, option.name
    assert all(rules.options.get("hand_size") not in (6, 9) for rules in drawn if rules.variant.name != "sniped_whist")
    assert any(rules.options.get("direction") == "down_up" for rules in drawn), "what is usual is not held out"
    assert draw_rules(VARIANTS, 0, 3, held_out) == []


def test_the_widest_rules_have_every_feature_of_any_that_are_drawn() -> None:
    widest = FeatureLayout(widest_rules([*VARIANTS]))
    wider = FeatureLayout([*widest_rules([*VARIANTS]), *draw_rules(VARIANTS, 60, 5, {})])
    assert (wider.options, wider.column.tolist()) == (widest.options, widest.column.tolist())
    assert (widest.scale <= 1.25 * wider.scale).all()


@pytest.fixture(scope="module")
def general(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy of a run of one iteration with drawn rules."""
    path = tmp_path_factory.mktemp("general") / "policy.safetensors"
    run = Trainer(tiny(*GAMES, drawn_rules=6, held_out=("half=floor", "first_trick_restriction=card"), tables=1200))
    figures = run.iterate()
    run.close()
    assert np.isfinite(figures["losses/approx_kl"])
    assert {name.split("/")[1] for name in figures if name.startswith("rollout/")} <= {"small_ships_4", "nonesuch_4"}
    write_policy(path, run.actor, run, None)
    return path


def test_a_policy_with_drawn_rules_plays_under_any_options(general: Path) -> None:
    info, encoding, tensors = read_policy(general)
    assert [rules.variant.name for rules in info.rule_sets] == list(GAMES)
    assert "target" not in info.options
    others = [rules for rules in draw_rules(GAMES, 20, 99, {}) if rules not in info.drawn]
    assert set().union(*map(possible_actions, others)) <= set(encoding.choices.tolist())
    player = load_policy(general)
    actor = Actor.of(encoding, ActorConfig(**info.network))
    actor.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
    groups = [TableGroup(rules.variant.name, rules.seats, given_options(rules)) for rules in others]
    batch = make_batch(groups, len(groups), seed=5)
    batch.reset()
    batch.observe()
    for step in range(12):
        features, mask, order = encoding.encode(batch.observation, batch.mask)
        with torch.inference_mode():
            logits = actor.frozen(torch.float32)(torch.from_numpy(features), torch.from_numpy(mask))
        expected = logits.where(torch.from_numpy(mask) != 0, -torch.inf).softmax(1).numpy()
        told = np.take_along_axis(player.probabilities(batch.observation, batch.mask), encoding.actions[order].astype(int), 1)
        np.testing.assert_allclose(told, expected, atol=1e-5)
        batch.step(player.act(batch.observation, batch.mask, np.full(len(batch), step)), observe=True)


def test_unknown_options_are_told_once_and_other_games_are_refused(general: Path) -> None:
    player = load_policy(general)
    assert isinstance(player.rule_sets, AnyOptions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_rules("it", player.rule_sets, rules_of("small_ships", 5, hand_size=7))
    for game, options in (("nonesuch", {"half": "floor"}), ("small_ships", {"first_trick_restriction": "card"})):
        with pytest.warns(UserWarning, match=next(iter(options.values()))):
            noms_env.players.registry.load_players(general, 4, rules_of(game, None, **options))
    with pytest.raises(ValueError, match="not for noms with 4 seats"):
        noms_env.players.registry.load_players(general, 4, rules_of("noms"))


def test_a_run_can_go_on_from_such_a_policy(general: Path) -> None:
    run = Trainer(tiny(*GAMES, initial_policy=str(general), drawn_rules=6, seed=8, tables=1200))
    run.iterate()
    write_policy(general.parent / "next.safetensors", run.actor, run, None)
    run.close()
    before, after = read_info(general), read_info(general.parent / "next.safetensors")
    assert set(before.drawn) < set(after.drawn)
    assert before.rule_sets == after.rule_sets


def test_at_each_table_the_first_expert_that_plays_there_is_imitated(tmp_path: Path) -> None:
    run = Trainer(tiny("down_up"))
    write_policy(tmp_path / "policy.safetensors", run.actor, run, None)
    run.close()
    experts = CurriculumConfig(expert=(str(tmp_path), "thumb"), imitation=1.0)
    run = Trainer(tiny("down_up", "small_ships", curriculum=experts, network=TINY))
    assert [run.expert_for(rules) for rules in run.rule_sets] == [str(tmp_path), "thumb"]
    assert np.isfinite(run.iterate()["losses/policy_loss"])
    run.close()


def test_the_usual_players_of_a_game_sit_at_tables_with_unusual_options() -> None:
    lobby, levels = Lobby(()), levels_of("small_ships")
    seats = (None, levels["medium"], levels["strong"], levels["easy"])
    for options, policy in (({}, "small_ships"), ({"hand_size": "8", "min_bid": "4"}, "generalist")):
        names = levels["strong"], 0, levels["medium"]
        table = lobby.open(TableRequest("small_ships", 4, options, seats, {0: "Ann"}, *names))
        assert table.seated == [None, policy, f"search:{policy}@0", "thumb"]
        assert table.hints.name == f"search:{policy}@0"
        assert [lobby.level_of("small_ships", str(name)) for name in table.seated[1:]] == ["medium", "strong", "easy"]
        lobby.check("small_ships", table.seated)
        assert lobby.judge(table.rules).policy.rule_sets == noms_env.load_player(policy).rule_sets  # type: ignore[attr-defined]
