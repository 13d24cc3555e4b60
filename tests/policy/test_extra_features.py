"""Card and trick features: counts against words, and networks that see them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env._jit import COMPILED
from noms_env.core.actions import PLAYING
from noms_env.core.cards import CARD_WORDS, DECKTET, NO_TRUMP, RANK_LETTERS, SUIT_LETTERS
from noms_env.observation.layout import CARD_BYTES, OBSERVATION_SIZE
from noms_env.policy.encoding import make_encoding
from noms_env.policy.extra_features import (
    BEATEN_BY,
    BEATS,
    BOTTOM,
    CARD_FEATURES_SIZE,
    CARD_SECTIONS,
    IS_TRUMP,
    LEAD_SECTIONS,
    RIVAL_SEATS,
    RIVALS,
    SAFE,
    SEAT_FEATURES,
    SEAT_HAS_NONE,
    SEAT_IS_VOID,
    SEAT_TRUMPS,
    SECTIONS,
    SUIT_SECTIONS,
    TAKES,
    TOP,
    TRICK_FEATURES_SIZE,
    write_card_features,
    write_trick_features,
)
from noms_env.policy.file import PolicyInfo, read_policy, save_policy
from noms_env.policy.player import PolicyPlayer
from noms_env.variants import game, make_rules
from noms_training.learn.network import initial_parameters
from tests.cases import some
from tests.policy.test_encoding import TABLES, decisions, rules_of, tables_in_play
from tests.policy.test_player import NETWORK, SMALL, by_torch, make_actor, tensors_of
from tests.policy.test_player import decisions as policy_decisions


def cards_in(words: list[str], cards: int) -> list[str]:
    return [words[card] for card in range(len(words)) if int(cards) >> card & 1]


def is_higher(one: str, other: str, suit: str, trump: str, ranks: str) -> bool:
    """Whether a card beats another that bears the suit, where that suit is to be followed."""
    if (trump in one[1:]) != (trump in other[1:]):
        return trump in one[1:]
    bears = trump if trump in one[1:] else suit
    return bears in one[1:] and ranks.index(one[0]) > ranks.index(other[0])


def expected(t: Any, seat: int) -> dict[tuple[int, str], int]:
    """The counts by section and card, without zeros: from the words of the cards, and from where the cards lie in truth."""
    kind = int(t.deck_kind)
    words, ranks, letters = list(CARD_WORDS[kind]), RANK_LETTERS[kind], SUIT_LETTERS[kind]
    trump = letters[t.trump] if 0 <= t.trump < NO_TRUMP else "-"
    hand = cards_in(words, t.hands[seat])
    known = t.cards_played | t.hands[seat] | t.refused
    out = [word for word in cards_in(words, t.cards & ~known) if word != "EX"]

    def beats(one: str, other: str, suit: str) -> bool:
        return is_higher(one, other, suit, trump, ranks)

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
            found |= {(section + place * SUIT_SECTIONS, card): number for section, number in counts.items() if number}
    return found


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", some(TABLES, 2))
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


def expected_of_trick(t: Any, seat: int) -> tuple[dict[tuple[int, str], int], dict[tuple[int, int], int]]:
    """The trick features without zeros: by section and card, and by place and seat; from the words, as `expected`."""
    kind, n = int(t.deck_kind), int(t.n_seats)
    words, ranks, letters = list(CARD_WORDS[kind]), RANK_LETTERS[kind], SUIT_LETTERS[kind]
    trump = letters[t.trump] if 0 <= t.trump < NO_TRUMP else "-"
    hand = [card for card in cards_in(words, t.hands[seat]) if card != "EX"]
    out = [card for card in cards_in(words, t.cards & ~(t.cards_played | t.hands[seat] | t.refused)) if card != "EX"]
    table = {place: words[card] for place, card in enumerate(t.on_table[:n]) if card >= 0}
    led = letters[t.led_suit] if t.led_suit >= 0 else "-"
    by_card = {(IS_TRUMP, card): 1 for card in hand if trump in card[1:]}
    by_seat, may = dict[tuple[int, int], int](), dict[int, list[str]]()
    for place in range(1, n):
        other = (seat + place) % n
        void = [letter for suit, letter in enumerate(letters) if int(t.voids[other]) >> suit & 1]
        may[other] = [card for card in out if not any(letter in card[1:] for letter in void)]
        trumps = sum(trump in card[1:] for card in may[other])
        found = {SEAT_TRUMPS: trumps, SEAT_HAS_NONE: int(trump != "-" and trumps == 0), SEAT_IS_VOID: int(led in void)}
        by_seat |= {(at, place): number for at, number in found.items() if number}
    later = [may[other] for other in may if other not in table]
    tried = hand if int(t.phase) == PLAYING else []
    if table:
        best = words[t.best_card]
        tried = [card for card in tried if is_higher(card, best, led, trump, ranks)]
    for card in tried:
        for lead, suit in enumerate([led] if table else [suit for suit in letters if suit in card[1:]]):
            rivals = [{one for one in held if is_higher(one, card, suit, trump, ranks)} for held in later]
            counts = {RIVALS: len(set().union(*rivals)), RIVAL_SEATS: sum(map(bool, rivals)), SAFE: int(not any(rivals))}
            by_card |= {(section + lead * LEAD_SECTIONS, card): number for section, number in counts.items() if number}
    return by_card, by_seat


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", some(TABLES, 2))
def test_trick_features_are_those_of_the_words(name: str) -> None:
    features = np.full(TRICK_FEATURES_SIZE, 77, np.uint8)
    seen_sections: set[int] = set()
    for table in tables_in_play(name, 400 if COMPILED else 60):
        row = table.row
        seat, words = int(row.seat), CARD_WORDS[int(row.deck_kind)]
        write_trick_features(table.view(seat)[0], features)
        cards, seats = np.split(features, [(SECTIONS - CARD_SECTIONS) * CARD_BYTES])
        places = np.argwhere(cards.reshape(-1, CARD_BYTES))
        by_card = {(int(CARD_SECTIONS + at), words[card]): int(cards[at * CARD_BYTES + card]) for at, card in places}
        rows = seats.reshape(-1, SEAT_FEATURES)
        by_seat = {(int(at), int(place)): int(rows[place, at]) for place, at in np.argwhere(rows)}
        assert (by_card, by_seat) == expected_of_trick(row, seat)
        seen_sections |= {section for section, _ in by_card}
    assert seen_sections >= {RIVALS, RIVAL_SEATS, SAFE}


@pytest.mark.parametrize("name", ["down up", "nonesuch", "noms, short deck"])
def test_counts_stand_behind_the_other_features(name: str) -> None:
    rule_sets = [rules_of(TABLES[name])]
    plain, cards, counting = (make_encoding(rule_sets, *more) for more in ((), (True,), (True, None, True)))
    assert [(one.card_features, one.trick_features) for one in (plain, cards, counting)] == [(0, 0), (1, 0), (1, 1)]
    assert len({one.digest for one in (plain, cards, counting)}) == 3
    assert (counting.index[:, : cards.n_features] == cards.index).all()
    assert [one.card_sections for one in (plain, cards)] == [(), counting.card_sections[: len(cards.card_sections)]]
    seen, legal, _ = decisions(name)
    (features, _, _), (more, _, order) = plain.encode(seen, legal), counting.encode(seen, legal)
    assert (more[:, : plain.n_features] == features).all()
    counts, of_trick = np.zeros(CARD_FEATURES_SIZE, np.uint8), np.zeros(TRICK_FEATURES_SIZE, np.uint8)
    for row in range(0, len(seen), 7):
        write_card_features(seen[row], counts)
        write_trick_features(seen[row], of_trick)
        both = np.concatenate([seen[row], counts, of_trick])
        assert (more[row, plain.n_features :] == both[counting.index[order[row], plain.n_features :]]).all()
    assert (counting.index[:, plain.n_features :] >= OBSERVATION_SIZE).all()
    assert (counting.index[:, : plain.n_features] < OBSERVATION_SIZE).all()


@pytest.mark.parametrize("tables", [[("down_up", 4)], [("nonesuch", 4)], [("small_ships", 4), ("noms", 4)]])
def test_a_policy_that_counts_plays_as_in_torch(tables: list[tuple[str, int]], tmp_path: Path) -> None:
    rule_sets = tuple(make_rules(game(name), seats) for name, seats in tables)
    sees: Any = {"card_features": True, "trick_features": True}
    encoding, info = make_encoding(rule_sets, **sees), PolicyInfo(rule_sets, NETWORK, **sees)
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


@pytest.mark.parametrize("card_features", [False, True])
def test_a_run_may_begin_with_a_policy_that_sees_less(tmp_path: Path, card_features: bool) -> None:
    rule_sets = (make_rules(game("nonesuch"), 4),)
    plain, counting = make_encoding(rule_sets, card_features), make_encoding(rule_sets, True, trick_features=True)
    file, network = tmp_path / "policy.safetensors", SMALL | {"scorer_width": 3}
    tensors = tensors_of(make_actor(rule_sets, network, encoding=plain))
    save_policy(file, tensors, PolicyInfo(rule_sets, network, card_features=card_features))
    actor = make_actor(rule_sets, network, seed=1, encoding=counting)
    actor.load_state_dict(initial_parameters(str(file), counting, actor))
    seen, legal = policy_decisions(rule_sets, 100)
    before, after = (
        PolicyPlayer(PolicyInfo(rule_sets, network), encoding, numbers)
        for encoding, numbers in ((plain, tensors), (counting, tensors_of(actor)))
    )
    np.testing.assert_allclose(after.probabilities(seen, legal), before.probabilities(seen, legal), atol=3e-5)


def test_a_run_may_not_begin_with_a_policy_that_sees_more(tmp_path: Path) -> None:
    rule_sets = (make_rules(game("down_up"), 3),)
    sees: Any = {"card_features": True, "trick_features": True}
    file, counting = tmp_path / "policy.safetensors", make_encoding(rule_sets, **sees)
    info = PolicyInfo(rule_sets, SMALL, **sees)
    save_policy(file, tensors_of(make_actor(rule_sets, SMALL, encoding=counting)), info)
    plain = make_encoding(rule_sets)
    with pytest.raises(ValueError, match="these features are missing: card_features, trick_features"):
        initial_parameters(str(file), plain, make_actor(rule_sets, SMALL, encoding=plain))
