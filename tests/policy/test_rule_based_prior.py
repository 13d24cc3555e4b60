"""The hint: what `thumb` does, from an observation alone, against `thumb` at the table itself; and networks that see it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noms_env._jit import COMPILED
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_rows
from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyInfo, read_policy, save_policy
from noms_env.policy.player import PolicyPlayer
from noms_env.policy.rule_based_prior import prior_action
from noms_env.policy.rules_lookup import number_of_rules, rules_rows, rules_tables
from noms_env.variants import game, make_rules
from tests.policy.test_encoding import TABLES, decisions, rules_of, tables_in_play
from tests.policy.test_player import NETWORK, SMALL, by_torch, make_actor, tensors_of
from tests.policy.test_player import decisions as policy_decisions
from training.learn.network import initial_parameters


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", TABLES)
def test_the_hint_is_what_thumb_does_at_the_table(name: str) -> None:
    rules, workspaces = rules_of(TABLES[name]), new_workspaces()
    tables, known = rules_tables([rules]), rules_rows([rules])
    phases, at_table = set(), np.empty(1, np.int64)
    for table in tables_in_play(name, 2000 if COMPILED else 100):
        seen, mask = table.view(int(table.row.seat))
        assert number_of_rules(seen, known) == 0
        hint = prior_action(seen, mask, tables[0], workspaces[0])
        thumb_rows(kernel_view(table.determinize(np.random.default_rng(0))), new_workspaces(), at_table)
        assert hint == at_table[0], table.phase
        phases.add(table.phase)
    assert "play" in phases


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("name", ["noms", "nonesuch", "up down, turn-up"])
def test_features_mark_what_thumb_does_and_are_otherwise_the_same(name: str, counts: bool) -> None:
    plain, hinting = (make_encoding([rules_of(TABLES[name])], counts, hints) for hints in (False, True))
    assert hinting.n_features == plain.n_features + plain.n_choices
    assert hinting.digest != plain.digest
    seen, legal, _ = decisions(name, 300)
    without, _, _ = plain.encode(seen, legal)
    features, mask, order = hinting.encode(seen, legal)
    assert (features[:, : plain.n_features] == without).all()
    hint = features[:, plain.n_features :]
    assert (hint.sum(axis=1) == 1).all()
    assert (hint <= mask).all(), "what thumb does is legal"
    tables = rules_tables([rules_of(TABLES[name])])
    workspaces = new_workspaces()
    for row in range(0, len(seen), 7):
        action = prior_action(seen[row], legal[row], tables[0], workspaces[0])
        assert hinting.actions[order[row], hint[row].argmax()] == action


def test_where_nobody_is_to_act_there_is_no_hint() -> None:
    encoding = make_encoding([rules_of(TABLES["noms"])], rule_based_prior=True)
    seen, legal, _ = decisions("noms", 30)
    features, _, _ = encoding.encode(seen, np.zeros_like(legal))
    assert not features[:, -encoding.n_choices :].any()


@pytest.mark.parametrize("counts", [False, True])
def test_a_policy_that_sees_the_hint_does_what_its_network_says(counts: bool, tmp_path: Path) -> None:
    rule_sets = (make_rules(game("noms")), make_rules(game("small_ships"), 3))
    encoding = make_encoding(rule_sets, counts, rule_based_prior=True)
    actor = make_actor(rule_sets, NETWORK, encoding=encoding)
    info = PolicyInfo(rule_sets, NETWORK, card_features=counts, rule_based_prior=True)
    save_policy(tmp_path / "policy.safetensors", tensors_of(actor), info)
    read, of_file, tensors = read_policy(tmp_path / "policy.safetensors")
    assert (read.rule_based_prior, read.card_features, of_file.digest) == (True, counts, encoding.digest)
    player = PolicyPlayer(read, of_file, tensors)
    seen, legal = policy_decisions(rule_sets, 200)
    expected = by_torch(actor, player, seen, legal)
    np.testing.assert_allclose(player.probabilities(seen, legal), expected, atol=2e-5)
    deaf = PolicyPlayer(read, of_file, tensors | {"head.prior": np.zeros_like(tensors["head.prior"])})
    assert np.abs(deaf.probabilities(seen, legal) - expected).max() > 0.1
    one = player.probabilities(seen[5], legal[5])
    assert (one == player.probabilities(seen, legal)[5]).all(), "a row's answer depends on the row alone"


@pytest.mark.parametrize(("counts", "hints"), [(False, False), (True, False), (False, True)])
def test_a_run_may_begin_with_a_policy_that_sees_less(counts: bool, hints: bool, tmp_path: Path) -> None:
    rule_sets = (make_rules(game("down_up"), 3),)
    plain, hinting = make_encoding(rule_sets, counts, hints), make_encoding(rule_sets, True, True)
    file = tmp_path / "policy.safetensors"
    tensors = tensors_of(make_actor(rule_sets, SMALL, encoding=plain))
    save_policy(file, tensors, PolicyInfo(rule_sets, SMALL, card_features=counts, rule_based_prior=hints))
    actor = make_actor(rule_sets, SMALL, encoding=hinting)
    actor.load_state_dict(initial_parameters(str(file), hinting, actor))
    seen, legal = policy_decisions(rule_sets, 100)
    before = PolicyPlayer(PolicyInfo(rule_sets, SMALL), plain, tensors)
    after = PolicyPlayer(PolicyInfo(rule_sets, SMALL), hinting, tensors_of(actor))
    np.testing.assert_allclose(after.probabilities(seen, legal), before.probabilities(seen, legal), atol=3e-5)


def test_a_run_may_not_begin_with_a_policy_that_sees_more(tmp_path: Path) -> None:
    rule_sets = (make_rules(game("down_up"), 3),)
    hinting = make_encoding(rule_sets, rule_based_prior=True)
    file = tmp_path / "policy.safetensors"
    save_policy(
        file, tensors_of(make_actor(rule_sets, SMALL, encoding=hinting)), PolicyInfo(rule_sets, SMALL, rule_based_prior=True)
    )
    for encoding in (make_encoding(rule_sets), make_encoding(rule_sets, card_features=True)):
        with pytest.raises(ValueError, match="these features are missing: rule_based_prior"):
            initial_parameters(str(file), encoding, make_actor(rule_sets, SMALL, encoding=encoding))
