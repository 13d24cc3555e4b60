"""The settings of the track `new_rules`."""

import hashlib
from threading import Event

from noms_env.variants import VARIANTS
from noms_training.agents.registry import agent_spec
from noms_training.benchmark.new_rules import FILE, HELD_OUT, held_out_in, new_rules
from noms_training.evaluation.deal_sets import digest
from noms_training.evaluation.duplicate import ALONE, Pairing, line_ups
from noms_training.learn.draw_rules import is_held_out

SETTINGS = [rules for name in VARIANTS for rules in new_rules(name)]


def test_the_new_rules_are_frozen_and_each_has_a_held_out_value() -> None:
    digests = "".join(digest(rules, "test") for rules in SETTINGS).encode()
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == "3e18b648a894498ed0b84510303ff0096d66f5bb050977706b537d5aa9159196"
    assert hashlib.sha256(digests).hexdigest() == "5a476aa9a4b116a4fcaf0ede61a2fc42cf9fbbae1b054c26ecd6b8f865782116"
    assert len(set(SETTINGS)) == 50
    assert [len(new_rules(name)) for name in VARIANTS] == [9, 8, 9, 8, 8, 0, 8]
    for rules in SETTINGS:
        name = rules.variant.name
        assert is_held_out(rules, {option: HELD_OUT[option] for option, _ in held_out_in(name)}), rules
    for option, values in HELD_OUT.items():
        assert set(values) <= {rules.options.get(option) for rules in SETTINGS}


def test_thumb_and_the_generalist_play_all_new_rules() -> None:
    players = agent_spec("generalist@0"), agent_spec("thumb")
    for rules in SETTINGS:
        pairing = Pairing(rules, players, line_ups(rules.seats, (ALONE,)), strict=True)
        assert pairing.play(0, 2, Event()).values.shape == (2, rules.seats)
