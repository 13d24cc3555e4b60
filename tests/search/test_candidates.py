"""Candidates: one of several equivalent actions is tried, by hand and in random positions."""

import random

import numpy as np
import pytest

from noms_env.core.actions import NOMINATE, NUM_ACTIONS
from noms_env.core.cards import CARD_WORDS, cards_in
from noms_env.engine.row_kernels import kernel_view
from noms_env.players import load_player
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.search.candidates import MAX_CANDIDATES, candidate_index, only_candidate, policy_candidates, write_candidates
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.agreement import random_table
from tests.belief.redealt import play as moments
from tests.players import positions
from tests.variants.table_help import new_deal, table_with

NONE = np.zeros(NUM_ACTIONS, np.float32)


def candidates(table: Table) -> list[int]:
    """Return the candidates, which must differ."""
    actions = np.zeros(NUM_ACTIONS, np.int64)
    count = write_candidates(kernel_view(table._rows)[0], np.int64(0), actions)
    assert len(set(actions[:count])) == count
    return [int(action) for action in actions[:count]]


def words(table: Table) -> set[str]:
    return {table.word(action) for action in candidates(table)}


@pytest.mark.parametrize("led", ["7C", "4C"])
def test_the_lowest_of_equivalent_cards_is_tried(led: str) -> None:
    """5 6 and 8 9 are equivalent; the 7 counts while it is on the table. The queen may lie between the jack and the king."""
    table = table_with("sniped_whist", [f"{led} 2D", "5C 6C 8C 9C JC KC AC"], seats=4, dealer=3).play(led)
    assert words(table) == {"5C", "8C", "JC", "KC"}


def test_cards_are_equivalent_if_all_cards_between_them_were_played() -> None:
    """The 7 was played to the first trick."""
    table = table_with("sniped_whist", ["7C", "6C 8C AC", "2C", "3C"], dealer=3).play("7C AC 2C 3C")
    assert {"6C", "8C"} & words(table) == {"6C"}


def test_the_nominated_card_is_equivalent_to_no_other() -> None:
    """Seat 0, the partner, would reveal itself with the 4."""
    table = table_with("noms", ["2C 3C 4C 5C 6C", "AC"], seats=4, dealer=0, options={"deal_mode": "packets_shuffled"})
    table.play("10 pass pass pass D 4C AC")
    while table.row.seat != 0:
        table.step(table.legal_actions()[0])
    assert words(table) == {"2C", "4C", "5C"}


def nomination() -> Table:
    return table_with("small_ships", ["AC KC JC 2C 2D 5H 3S"], seats=5, dealer=4).play("8 pass pass pass pass C")


def test_few_nominations_are_tried_among_them_the_highest_missing_cards() -> None:
    table = nomination()
    held, tried = set(table.card_words(table.row.hands[0])), words(table)
    assert {"QC", "TC", "3C", "2C"} <= tried, "the two highest missing, the lowest missing, the lowest own"
    assert not {"AC", "KC", "JC"} & tried
    for suit in "CDHS":
        assert len([word for word in tried if word[1] == suit]) <= 4
        missing = [rank + suit for rank in "AKQJT98765432" if rank + suit not in held]
        assert {missing[0], missing[1], missing[-1]} <= tried
    small = new_deal("small_ships", 3, "4 C", ranks=5, suits=3, hand_size=4)
    assert {action - NOMINATE for action in candidates(small)} <= set(cards_in(small.row.cards))


def test_nominations_of_the_policy_are_tried_too() -> None:
    table, probabilities = nomination(), NONE.copy()
    few = policy_candidates(kernel_view(table._rows), 0, NONE)[0].tolist()
    assert few == candidates(table)
    added = next(action for action in table.legal_actions() if action not in few)
    probabilities[added] = 0.01
    assert sorted([*few, added]) == policy_candidates(kernel_view(table._rows), 0, probabilities)[0].tolist()


def test_equivalent_cards_add_up_and_the_most_probable_is_played() -> None:
    table = table_with("sniped_whist", ["7C 2D", "5C 6C 8C 9C JC KC AC"], seats=4, dealer=3).play("7C")
    probabilities = NONE.copy()
    hand = [CARD_WORDS[0].index(word) for word in ["5C", "6C", "8C", "9C", "JC", "KC", "AC"]]
    probabilities[hand] = [0.1, 0.2, 0.15, 0.05, 0.3, 0.05, 0.15]
    actions, weights, members = policy_candidates(kernel_view(table._rows), 0, probabilities)
    assert [table.word(int(action)) for action in actions] == ["5C", "8C", "JC", "KC"]
    assert weights == pytest.approx([0.3, 0.2, 0.3, 0.2])
    assert [table.word(int(action)) for action in members] == ["6C", "8C", "JC", "AC"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_action_of_thumb_or_an_equivalent_card_is_tried(variant: str) -> None:
    workspaces, replaced = new_workspaces(FIRST), 0
    for seed, (seats, options) in enumerate(positions.tables_of(variant, 4, seed=3)):
        for table in positions.decisions(variant, seats, options, seed, load_player("thumb:1")):
            t = kernel_view(table._rows)[0]
            favourite, tried = thumb_action(t, workspaces[0]), np.array(candidates(table))
            action = tried[candidate_index(tried, len(tried), favourite)]
            if action != favourite:
                replaced += 1
                between = set(range(action + 1, favourite)) & set(cards_in(int(t.cards & ~t.cards_played)))
                assert between <= set(cards_in(t.hands[t.seat])), (table.word(int(action)), table.word(int(favourite)))
    assert replaced > 0 or variant == "nonesuch"


@pytest.mark.parametrize("variant", VARIANTS)
def test_only_candidate_is_the_only_one_if_there_is_one(variant: str) -> None:
    rng, single = random.Random(f"{variant}: single"), 0
    for seed in range(8):
        seats, options = random_table(variant, rng)
        for table, _ in moments(variant, seats, options, seed):
            tried = candidates(table)
            assert 1 <= len(tried) <= MAX_CANDIDATES
            assert only_candidate(table.row) == (tried[0] if len(tried) == 1 else -1)
            single += len(tried) == 1
    assert single > 20
