"""Card features: counts against words, and networks that see them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env._jit import COMPILED
from noms_env.core.cards import CARD_WORDS, DECKTET, NO_TRUMP, RANK_LETTERS, SUIT_LETTERS
from noms_env.observation.layout import CARD_BYTES, OBSERVATION_SIZE
from noms_env.policy.encoding import make_encoding
from noms_env.policy.extra_features import (
    BEATEN_BY,
    BEATS,
    BOTTOM,
    CARD_FEATURES_SIZE,
    OF_SUIT,
    TAKES,
    TOP,
    write_card_features,
)
from noms_env.policy.file import PolicyInfo, read_policy, save_policy
from noms_env.policy.player import PolicyPlayer
from noms_env.variants import game, make_rules
from tests.policy.test_encoding import TABLES, decisions, rules_of, tables_in_play
from tests.policy.test_player import NETWORK, SMALL, by_torch, make_actor, tensors_of
from tests.policy.test_player import decisions as policy_decisions
from training.learn.network import initial_parameters


def cards_in(words: list[str], cards: int) -> list[str]:
    return [words[card] for card in range(len(words)) if int(cards) >> card & 1]


def expected(t: Any, seat: int) -> dict[tuple[int, str], int]:
    """The counts by section and card, without zeros: from the words of the cards, and from where the cards lie in truth."""
    kind = int(t.deck_kind)
    words, ranks, letters = list(CARD_WORDS[kind]), RANK_LETTERS[kind], SUIT_LETTERS[kind]
    trump = letters[t.trump] if 0 <= t.trump < NO_TRUMP else "-"
    hand = cards_in(words, t.hands[seat])
    known = t.cards_played | t.hands[seat] | t.refused
    out = [word for word in cards_in(words, t.cards & ~known) if word != "EX"]

    def beats(one: str, other: str, suit: str) -> bool:
        """Whether a card beats another that bears the suit, where that suit is to be followed."""
        if (trump in one[1:]) != (trump in other[1:]):
            return trump in one[1:]
        bears = trump if trump in one[1:] else suit
        return bears in one[1:] and ranks.index(one[0]) > ranks.index(other[0])

    found: dict[tuple[int, str], int] = {}
    table = [words[card] for card in t.on_table[: t.n_seats] if card >= 0]
    if table and t.best_seat >= 0:
        best, led = words[t.best_card], letters[t.led_suit] if t.led_suit >= 0 else "-"
        for card in hand:
            if card != "EX" and beats(card, best, led):
                found[TAKES, card] = 1
    for card in hand:
        suits = [trump] if trump in card[1:] else [suit for suit in letters if suit in card[1:] and card != "EX"]
        for place, suit in enumerate(suits):
            of_suit = [one for one in out if suit in one[1:]]
            higher = sum(beats(one, card, suit) for one in of_suit)
            lower = len(of_suit) - higher
            counts = {BEATEN_BY: higher, BEATS: lower, TOP: int(higher == 0), BOTTOM: int(lower == 0)}
            found |= {(section + place * OF_SUIT, card): number for section, number in counts.items() if number}
    return found


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", TABLES)
def test_counts_are_those_of_the_words(name: str) -> None:
    counts = np.full(CARD_FEATURES_SIZE, 77, np.uint8)
    seen_sections: set[int] = set()
    for table in tables_in_play(name, 400 if COMPILED else 60):
        row = table.row
        seat = int(row.seat)
        write_card_features(table.view(seat)[0], counts)
        words = CARD_WORDS[int(row.deck_kind)]
        places = np.argwhere(counts.reshape(-1, CARD_BYTES))
        found = {(int(section), words[card]): int(counts[section * CARD_BYTES + card]) for section, card in places}
        assert found == expected(row, seat)
        seen_sections |= {section for section, _ in found}
    assert seen_sections >= {TAKES, BEATEN_BY, BEATS, TOP, BOTTOM}
    assert (max(seen_sections) > BOTTOM) == (rules_of(TABLES[name]).variant.deck_kind == DECKTET), "two suits"


@pytest.mark.parametrize("name", ["down up", "nonesuch", "noms, short deck"])
def test_counts_stand_behind_the_other_features(name: str) -> None:
    plain, counting = (make_encoding([rules_of(TABLES[name])], counts) for counts in (False, True))
    assert (plain.card_features, counting.card_features) == (False, True)
    assert plain.digest != counting.digest
    seen, legal, _ = decisions(name)
    (features, _, _), (more, _, order) = plain.encode(seen, legal), counting.encode(seen, legal)
    assert (more[:, : plain.n_features] == features).all()
    counts = np.zeros(CARD_FEATURES_SIZE, np.uint8)
    for row in range(0, len(seen), 7):
        write_card_features(seen[row], counts)
        both = np.concatenate([seen[row], counts])
        assert (more[row, plain.n_features :] == both[counting.index[order[row], plain.n_features :]]).all()
    assert (counting.index[:, plain.n_features :] >= OBSERVATION_SIZE).all()
    assert (counting.index[:, : plain.n_features] < OBSERVATION_SIZE).all()


@pytest.mark.parametrize("tables", [[("down_up", 4)], [("nonesuch", 4)], [("small_ships", 4), ("noms", 4)]])
def test_a_policy_that_counts_plays_as_in_torch(tables: list[tuple[str, int]], tmp_path: Path) -> None:
    rule_sets = tuple(make_rules(game(name), seats) for name, seats in tables)
    encoding, info = make_encoding(rule_sets, card_features=True), PolicyInfo(rule_sets, NETWORK, card_features=True)
    actor = make_actor(rule_sets, NETWORK, encoding=encoding)
    save_policy(tmp_path / "policy.safetensors", tensors_of(actor), info)
    found, read, tensors = read_policy(tmp_path / "policy.safetensors")
    assert found == info
    assert read.digest == encoding.digest
    player = PolicyPlayer(found, read, tensors)
    seen, legal = policy_decisions(rule_sets, 200)
    answers = player.probabilities(seen, legal)
    assert np.abs(answers - by_torch(actor, player, seen, legal)).max() < 1e-5
    assert (player.probabilities(seen[5], legal[5]) == answers[5]).all(), "a row's answer depends on the row alone"
    for part, columns in (("trunk.first.weight", make_encoding(rule_sets).n_features), ("scorer.card", 0)):
        blind = {name: tensor.copy() for name, tensor in tensors.items()}
        blind[part][:, columns:] = 0
        assert np.abs(answers - PolicyPlayer(found, read, blind).probabilities(seen, legal)).max() > 0.01, part


def test_a_run_may_begin_with_a_policy_that_sees_less(tmp_path: Path) -> None:
    rule_sets = (make_rules(game("nonesuch"), 4),)
    plain, counting = (make_encoding(rule_sets, counts) for counts in (False, True))
    file, network = tmp_path / "policy.safetensors", SMALL | {"scorer_width": 3}
    tensors = tensors_of(make_actor(rule_sets, network, encoding=plain))
    save_policy(file, tensors, PolicyInfo(rule_sets, network))
    actor = make_actor(rule_sets, network, seed=1, encoding=counting)
    actor.load_state_dict(initial_parameters(str(file), counting, actor))
    seen, legal = policy_decisions(rule_sets, 100)
    before = PolicyPlayer(PolicyInfo(rule_sets, network), plain, tensors)
    after = PolicyPlayer(PolicyInfo(rule_sets, network), counting, tensors_of(actor))
    np.testing.assert_allclose(after.probabilities(seen, legal), before.probabilities(seen, legal), atol=3e-5)


def test_a_run_may_not_begin_with_a_policy_that_sees_more(tmp_path: Path) -> None:
    rule_sets = (make_rules(game("down_up"), 3),)
    file, counting = tmp_path / "policy.safetensors", make_encoding(rule_sets, card_features=True)
    info = PolicyInfo(rule_sets, SMALL, card_features=True)
    save_policy(file, tensors_of(make_actor(rule_sets, SMALL, encoding=counting)), info)
    plain = make_encoding(rule_sets)
    with pytest.raises(ValueError, match="these features are missing: card_features"):
        initial_parameters(str(file), plain, make_actor(rule_sets, SMALL, encoding=plain))
