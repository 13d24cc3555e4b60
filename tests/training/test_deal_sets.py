"""The frozen sets of deals are what they were."""

import pytest

from noms_env.variants import VARIANTS, game, make_rules
from noms_training.evaluation.deal_sets import FROZEN, describe_tables, digest
from noms_training.evaluation.duplicate import SaltedSet, deal_seed


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("deal_set", FROZEN)
def test_the_first_deals_are_those_of_the_day_on_which_the_sets_were_made(name: str, deal_set: str) -> None:
    assert digest(make_rules(game(name)), deal_set) == FROZEN[deal_set][name]


def test_a_salted_set_has_deals_that_its_name_does_not_tell() -> None:
    salted = SaltedSet("dev", b"a secret of the judge")
    assert salted == "dev, salted"
    seeds = {
        deal_seed(one)
        for one in ("dev", "dev, salted", salted, SaltedSet("dev", b"another one"), SaltedSet("test", salted.salt))
    }
    assert len(seeds) == 5
    said = describe_tables(make_rules(game("down_up")), salted)
    assert (said["set"], len(said["salt_sha256"])) == (salted, 64)
    assert "secret" not in str(said)
    assert "salt_sha256" not in describe_tables(make_rules(game("down_up")), "dev")
