"""The frozen sets of deals."""

import pytest

from noms_env.variants import VARIANTS, game, make_rules
from noms_training.evaluation.deal_sets import FROZEN, describe_tables, digest
from noms_training.evaluation.duplicate import SaltedSet, deal_seed


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("deal_set", FROZEN)
def test_the_first_deals_are_those_of_the_frozen_set(name: str, deal_set: str) -> None:
    assert digest(make_rules(game(name)), deal_set) == FROZEN[deal_set][name]


def test_the_name_of_a_salted_set_does_not_reveal_its_deals() -> None:
    salted, kind = SaltedSet("dev", b"a secret of the judge"), make_rules(game("down_up"))
    assert salted == "dev, salted"
    others = ("dev", "dev, salted", SaltedSet("dev", b"another one"), SaltedSet("test", salted.salt))
    assert len({deal_seed(deal_set) for deal_set in (salted, *others)}) == 5
    description = describe_tables(kind, salted)
    assert (description["set"], len(description["salt_sha256"])) == (salted, 64)
    assert "secret" not in str(description)
    assert "salt_sha256" not in describe_tables(kind, "dev")
