"""Rules drawn for training, and policies that play under any options."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import noms_env
from noms_env import FeatureLayout
from noms_env.observation.features import possible_actions
from noms_env.players.registry import AnyOptions, check_rules, load_players
from noms_env.policy.file import read_info, read_policy
from noms_env.policy.player import load_policy
from noms_env.variants import VARIANTS, game
from noms_training.learn import network
from noms_training.learn.checkpoint import write_policy
from noms_training.learn.config import ActorConfig, CurriculumConfig
from noms_training.learn.draw_rules import BETWEEN_DEALS, draw_rules, widest_rules
from noms_training.learn.network import Actor
from noms_training.learn.train import Trainer
from noms_training.options import parse_held_out
from noms_training.play.browser.lobby import Lobby, levels_of
from noms_training.play.browser.messages import TableRequest
from tests.policy.test_player import decisions
from tests.training.fakes import rules
from tests.training.tiny_run import make_config, run_iterations, save_policy_of

GAMES = ("nonesuch", "small_ships")


def test_drawn_rules_have_all_seats_and_words_but_nothing_held_out() -> None:
    held_out = parse_held_out(["half=floor", "hand_size=6", "hand_size=9", "direction=down_up"])
    drawn = draw_rules(VARIANTS, 10, 3, held_out)
    assert drawn == draw_rules(VARIANTS, 10, 3, held_out)
    assert len(drawn) == len(set(drawn)) > 10 * len(VARIANTS)
    for name in VARIANTS:
        variant, of_game = game(name), [kind for kind in drawn if kind.variant.name == name]
        assert {kind.seats for kind in of_game} == set(range(variant.seats[0], variant.seats[1] + 1))
        for option in variant.options:
            values = [kind.options[option.name] for kind in of_game]
            if option.name in BETWEEN_DEALS:
                assert values == [rules(name, kind.seats).options[option.name] for kind in of_game]
            else:
                assert {value for value in values if isinstance(value, str)} == set(option.words) - {"floor"}, option.name
    assert all(kind.options.get("hand_size") not in (6, 9) for kind in drawn if kind.variant.name != "sniped_whist")
    assert any(kind.options.get("direction") == "down_up" for kind in drawn), "a default is never held out"
    assert draw_rules(VARIANTS, 0, 3, held_out) == []


def test_the_widest_rules_have_the_features_of_all_drawn_rules() -> None:
    widest = FeatureLayout(widest_rules([*VARIANTS]))
    wider = FeatureLayout([*widest_rules([*VARIANTS]), *draw_rules(VARIANTS, 60, 5, {})])
    assert (wider.options, wider.column.tolist()) == (widest.options, widest.column.tolist())
    assert (widest.scale <= 1.25 * wider.scale).all()


@pytest.fixture(scope="module")
def general(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy of a run of one iteration with drawn rules."""
    path = tmp_path_factory.mktemp("general") / "policy.safetensors"
    held_out = ("half=floor", "first_trick_restriction=card")
    run, figures = run_iterations(make_config(*GAMES, drawn_rules=6, held_out=held_out, tables=1200))
    assert np.isfinite(figures["losses/approx_kl"])
    assert {name.split("/")[1] for name in figures if name.startswith("rollout/")} <= {"small_ships_4", "nonesuch_4"}
    write_policy(path, run.actor, run, None)
    return path


def test_a_policy_with_drawn_rules_plays_under_any_options(general: Path) -> None:
    info, encoding, tensors = read_policy(general)
    assert [kind.variant.name for kind in info.rule_sets] == list(GAMES)
    assert "target" not in info.options
    others = [kind for kind in draw_rules(GAMES, 20, 99, {}) if kind not in info.drawn]
    assert set().union(*map(possible_actions, others)) <= set(encoding.choices.tolist())
    player = load_policy(general)
    actor = Actor.of(encoding, ActorConfig(**info.network))
    actor.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
    observation, legal = decisions(tuple(others), 5 * len(others))
    features, mask, order = encoding.encode(observation, legal)
    with torch.inference_mode():
        logits = actor.frozen(torch.float32)(torch.from_numpy(features), torch.from_numpy(mask))
    expected = logits.where(torch.from_numpy(mask) != 0, -torch.inf).softmax(1).numpy()
    policy = np.take_along_axis(player.probabilities(observation, legal), encoding.actions[order].astype(int), 1)
    np.testing.assert_allclose(policy, expected, atol=1e-5)


def test_a_run_with_more_drawn_rules_than_its_policy_file_may_have_is_refused(
    general: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "MAX_RULES", len(read_info(general).drawn) + 1)
    config = make_config(*GAMES, initial_policy=str(general), drawn_rules=6, seed=9)
    with pytest.raises(ValueError, match=r"with those of .* the run has .* drawn rules, and a policy file at most"):
        Trainer(config)


def test_held_out_options_warn_and_other_games_are_refused(general: Path) -> None:
    player = load_policy(general)
    assert isinstance(player.rule_sets, AnyOptions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_rules("it", player.rule_sets, rules("small_ships", 5, hand_size=7))
    for name, options in (("nonesuch", {"half": "floor"}), ("small_ships", {"first_trick_restriction": "card"})):
        with pytest.warns(UserWarning, match=next(iter(options.values()))):
            load_players(general, 4, rules(name, None, **options))
    with pytest.raises(ValueError, match="not for noms with 4 seats"):
        load_players(general, 4, rules("noms"))


def test_a_run_may_start_from_a_policy_with_drawn_rules(general: Path, tmp_path: Path) -> None:
    save_policy_of(make_config(*GAMES, initial_policy=str(general), drawn_rules=6, seed=8, tables=1200), tmp_path)
    before, after = read_info(general), read_info(tmp_path / "policy.safetensors")
    assert set(before.drawn) < set(after.drawn)
    assert before.rule_sets == after.rule_sets


def test_each_table_has_its_first_suitable_expert(tmp_path: Path) -> None:
    expert = str(save_policy_of(make_config("down_up"), tmp_path))
    experts = CurriculumConfig(expert=(expert, "thumb"), imitation=1.0)
    run, figures = run_iterations(make_config("down_up", "small_ships", curriculum=experts))
    assert [run.expert_for(kind) for kind in run.rule_sets] == [expert, "thumb"]
    assert np.isfinite(figures["losses/policy_loss"])


def test_a_table_with_unusual_options_seats_the_generalist() -> None:
    lobby, levels = Lobby(()), levels_of("small_ships")
    seats = (None, levels["medium"], levels["strong"], levels["easy"])
    for options, policy in (({}, "small_ships"), ({"hand_size": "8", "min_bid": "4"}, "generalist")):
        request = TableRequest("small_ships", 4, options, seats, {0: "Ann"}, levels["strong"], 0, levels["medium"])
        table = lobby.open(request)
        assert table.session.names == [None, policy, f"search:{policy}@0", "thumb"]
        assert table.hints.name == f"search:{policy}@0"
        assert [lobby.level_of("small_ships", str(name)) for name in table.session.names[1:]] == ["medium", "strong", "easy"]
        lobby.check("small_ships", table.session.names)
        assert lobby.judge(table.rules).policy.rule_sets == noms_env.load_player(policy).rule_sets  # type: ignore[attr-defined]
