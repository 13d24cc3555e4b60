"""Card and trick features are right counts, and networks read them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env._jit import COMPILED
from noms_env.core.actions import PLAYING
from noms_env.core.cards import CARD_WORDS, DECKTET, NO_TRUMP, RANK_LETTERS, SUIT_LETTERS
from noms_env.observation.layout import CARD_BYTES, OBSERVATION_SIZE
from noms_env.policy import extra_features as extra
from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyInfo, read_policy, save_policy
from noms_env.policy.player import PolicyPlayer
from noms_env.variants import game, make_rules
from noms_training.learn.network import initial_parameters
from tests.cases import some
from tests.policy.test_encoding import TABLES, decisions, rules_of, tables_in_play
from tests.policy.test_player import NETWORK, SMALL, by_torch, make_actor, tensors_of
from tests.policy.test_player import decisions as policy_decisions

BOTH: Any = {"card_features": True, "trick_features": True}
Counts = dict[tuple[int, str], int]
"""Features of cards by section and card, without zeros."""


class Position:
    """A position in the words of the cards, from the table itself."""

    def __init__(self, t: Any, seat: int) -> None:
        kind = int(t.deck_kind)
        self.words, self.ranks, self.letters = CARD_WORDS[kind], RANK_LETTERS[kind], SUIT_LETTERS[kind]
        self.trump = self.letters[t.trump] if 0 <= t.trump < NO_TRUMP else "-"
        self.led = self.letters[t.led_suit] if t.led_suit >= 0 else "-"
        self.on_table = {place: self.words[card] for place, card in enumerate(t.on_table[: t.n_seats]) if card >= 0}
        self.best = self.words[t.best_card] if self.on_table and t.best_seat >= 0 else ""
        self.hand = self.cards_of(t.hands[seat])
        self.out = self.cards_of(t.cards & ~(t.cards_played | t.hands[seat] | t.refused))

    def cards_of(self, cards: int) -> list[str]:
        return [word for card, word in enumerate(self.words) if int(cards) >> card & 1 and word != "EX"]

    def beats(self, card: str, other: str, suit: str) -> bool:
        """Return whether a card beats another that bears the suit, if that suit is to be followed."""
        if (self.trump in card[1:]) != (self.trump in other[1:]):
            return self.trump in card[1:]
        followed = self.trump if self.trump in card[1:] else suit
        return followed in card[1:] and self.ranks.index(card[0]) > self.ranks.index(other[0])


def card_counts(p: Position) -> Counts:
    counts = {(extra.TAKES, card): 1 for card in p.hand if p.best and p.beats(card, p.best, p.led)}
    for card in p.hand:
        suits = [p.trump] if p.trump in card[1:] else [suit for suit in p.letters if suit in card[1:]]
        for place, suit in enumerate(suits):
            of_suit = [other for other in p.out if suit in other[1:]]
            higher = sum(p.beats(other, card, suit) for other in of_suit)
            lower = len(of_suit) - higher
            numbers = {extra.BEATEN_BY: higher, extra.BEATS: lower, extra.TOP: not higher, extra.BOTTOM: not lower}
            counts |= {
                (section + place * extra.SUIT_SECTIONS, card): int(number) for section, number in numbers.items() if number
            }
    return counts


def trick_counts(p: Position, t: Any, seat: int) -> tuple[Counts, dict[tuple[int, int], int]]:
    """Return the trick features without zeros: by section and card, and by place and seat."""
    by_card = {(extra.IS_TRUMP, card): 1 for card in p.hand if p.trump in card[1:]}
    by_seat, possible = dict[tuple[int, int], int](), dict[int, list[str]]()
    for place in range(1, int(t.n_seats)):
        other = (seat + place) % int(t.n_seats)
        void = [letter for suit, letter in enumerate(p.letters) if int(t.voids[other]) >> suit & 1]
        possible[other] = [card for card in p.out if not any(letter in card[1:] for letter in void)]
        trumps = sum(p.trump in card[1:] for card in possible[other])
        has_none = p.trump != "-" and trumps == 0
        numbers = {extra.SEAT_TRUMPS: trumps, extra.SEAT_HAS_NONE: has_none, extra.SEAT_IS_VOID: p.led in void}
        by_seat |= {(at, place): int(number) for at, number in numbers.items() if number}
    later = [possible[other] for other in possible if other not in p.on_table]
    for card in p.hand if int(t.phase) == PLAYING else []:
        if p.on_table and not p.beats(card, p.best, p.led):
            continue
        for lead, suit in enumerate([p.led] if p.on_table else [suit for suit in p.letters if suit in card[1:]]):
            rivals = [{other for other in cards if p.beats(other, card, suit)} for cards in later]
            numbers = {
                extra.RIVALS: len(set().union(*rivals)),
                extra.RIVAL_SEATS: sum(map(bool, rivals)),
                extra.SAFE: not any(rivals),
            }
            by_card |= {
                (section + lead * extra.LEAD_SECTIONS, card): int(number) for section, number in numbers.items() if number
            }
    return by_card, by_seat


def extra_features(observation: np.ndarray) -> np.ndarray:
    """Return the card features, then the trick features."""
    out = np.full(extra.CARD_FEATURES_SIZE + extra.TRICK_FEATURES_SIZE, 77, np.uint8)
    extra.write_card_features(observation, out[: extra.CARD_FEATURES_SIZE])
    extra.write_trick_features(observation, out[extra.CARD_FEATURES_SIZE :])
    return out


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", some(TABLES, 2))
def test_card_and_trick_features_are_counts_of_the_cards(name: str) -> None:
    sections: set[int] = set()
    for table in tables_in_play(name, 400 if COMPILED else 60):
        seat = int(table.row.seat)
        position = Position(table.row, seat)
        of_cards, of_seats = np.split(extra_features(table.view(seat)[0]), [extra.SECTIONS * CARD_BYTES])
        of_cards, of_seats = of_cards.reshape(-1, CARD_BYTES), of_seats.reshape(-1, extra.SEAT_FEATURES)
        by_card = {
            (int(section), position.words[card]): int(of_cards[section, card]) for section, card in np.argwhere(of_cards)
        }
        by_seat = {(int(at), int(place)): int(of_seats[place, at]) for place, at in np.argwhere(of_seats)}
        trick_by_card, expected_by_seat = trick_counts(position, table.row, seat)
        assert by_card == card_counts(position) | trick_by_card
        assert by_seat == expected_by_seat
        sections |= {section for section, _ in by_card}
    assert sections >= {extra.TAKES, extra.BEATEN_BY, extra.BEATS, extra.TOP, extra.BOTTOM}
    assert sections >= {extra.RIVALS, extra.RIVAL_SEATS, extra.SAFE}
    has_two_suits = bool(sections & set(range(extra.SECOND, extra.CARD_SECTIONS)))
    assert has_two_suits == (rules_of(TABLES[name]).variant.deck_kind == DECKTET)


@pytest.mark.parametrize("name", ["down up", "nonesuch", "noms, short deck"])
def test_extra_features_follow_the_other_features(name: str) -> None:
    rule_sets = [rules_of(TABLES[name])]
    plain, cards, counting = (make_encoding(rule_sets, *more) for more in ((), (True,), (True, None, True)))
    assert [(each.card_features, each.trick_features) for each in (plain, cards, counting)] == [(0, 0), (1, 0), (1, 1)]
    assert len({each.digest for each in (plain, cards, counting)}) == 3
    assert (counting.index[:, : cards.n_features] == cards.index).all()
    assert [each.card_sections for each in (plain, cards)] == [(), counting.card_sections[: len(cards.card_sections)]]
    observation, legal, _ = decisions(name)
    (features, _, _), (more, _, order) = plain.encode(observation, legal), counting.encode(observation, legal)
    assert (more[:, : plain.n_features] == features).all()
    for row in range(0, len(observation), 7):
        extended = np.concatenate([observation[row], extra_features(observation[row])])
        assert (more[row, plain.n_features :] == extended[counting.index[order[row], plain.n_features :]]).all()
    assert (counting.index[:, plain.n_features :] >= OBSERVATION_SIZE).all()
    assert (counting.index[:, : plain.n_features] < OBSERVATION_SIZE).all()


@pytest.mark.parametrize("tables", [[("down_up", 4)], [("nonesuch", 4)], [("small_ships", 4), ("noms", 4)]])
def test_a_policy_with_extra_features_plays_as_in_torch(tables: list[tuple[str, int]], tmp_path: Path) -> None:
    rule_sets = tuple(make_rules(game(name), seats) for name, seats in tables)
    encoding, info = make_encoding(rule_sets, **BOTH), PolicyInfo(rule_sets, NETWORK, **BOTH)
    actor = make_actor(rule_sets, NETWORK, encoding=encoding)
    save_policy(tmp_path / "policy.safetensors", tensors_of(actor), info)
    info_read, encoding_read, tensors = read_policy(tmp_path / "policy.safetensors")
    assert info_read == info
    assert encoding_read.digest == encoding.digest
    player = PolicyPlayer(info, encoding, tensors)
    observation, legal = policy_decisions(rule_sets, 200)
    answers = player.probabilities(observation, legal)
    assert np.abs(answers - by_torch(actor, player, observation, legal)).max() < 1e-5
    assert (player.probabilities(observation[5], legal[5]) == answers[5]).all(), "a row's answer depends on the row alone"
    for part, columns in (("trunk.first.weight", make_encoding(rule_sets).n_features), ("scorer.card", 0)):
        blind = {name: tensor.copy() for name, tensor in tensors.items()}
        blind[part][:, columns:] = 0
        assert np.abs(answers - PolicyPlayer(info, encoding, blind).probabilities(observation, legal)).max() > 0.01, part


@pytest.mark.parametrize("card_features", [False, True])
def test_a_run_may_start_from_a_policy_with_fewer_features(tmp_path: Path, card_features: bool) -> None:
    rule_sets = (make_rules(game("nonesuch"), 4),)
    plain, counting = make_encoding(rule_sets, card_features), make_encoding(rule_sets, True, trick_features=True)
    file, network = tmp_path / "policy.safetensors", SMALL | {"scorer_width": 3}
    tensors = tensors_of(make_actor(rule_sets, network, encoding=plain))
    save_policy(file, tensors, PolicyInfo(rule_sets, network, card_features=card_features))
    actor = make_actor(rule_sets, network, seed=1, encoding=counting)
    actor.load_state_dict(initial_parameters(str(file), counting, actor))
    observation, legal = policy_decisions(rule_sets, 100)
    before, after = (
        PolicyPlayer(PolicyInfo(rule_sets, network), encoding, numbers)
        for encoding, numbers in ((plain, tensors), (counting, tensors_of(actor)))
    )
    np.testing.assert_allclose(after.probabilities(observation, legal), before.probabilities(observation, legal), atol=3e-5)


def test_a_run_may_not_start_from_a_policy_with_more_features(tmp_path: Path) -> None:
    rule_sets = (make_rules(game("down_up"), 3),)
    file, plain, counting = tmp_path / "policy.safetensors", make_encoding(rule_sets), make_encoding(rule_sets, **BOTH)
    save_policy(file, tensors_of(make_actor(rule_sets, SMALL, encoding=counting)), PolicyInfo(rule_sets, SMALL, **BOTH))
    with pytest.raises(ValueError, match="missing: card_features, trick_features"):
        initial_parameters(str(file), plain, make_actor(rule_sets, SMALL, encoding=plain))
