"""Features keep every legal action and all that matters, do not depend on the names of suits, and stay small."""

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from noms_env import Table
from noms_env._jit import COMPILED
from noms_env.core.actions import NOMINATE, SUIT
from noms_env.core.cards import CARD_WORDS, FRENCH, SUIT_LETTERS
from noms_env.observation.features import COPY, ORDERS, moved_card
from noms_env.observation.layout import HIDDEN, HIDDEN_SIZE, OBSERVATION, OBSERVATION_SIZE
from noms_env.observation.suit_order import suit_orders
from noms_env.policy.encoding import Encoding, make_encoding
from noms_env.variants import GAMES, Rules, game, make_rules
from tests.begin import begin
from tests.cases import some_uncompiled
from tests.envs.play import EVERY_TABLE, KINDS, Kind, choose, make, walk

TABLES = {**KINDS, **{f"{kind.variant}, {kind.seats} seats, usual options": kind for kind in EVERY_TABLE}}
SECTIONS = {section.name: section for section in OBSERVATION}
HAND, PLAYED, TRUMP = (SECTIONS[name].start for name in ("hand", "played", "trump"))


def rules_of(kind: Kind) -> Rules:
    return make_rules(game(kind.variant), kind.seats, kind.options)


class Decisions(NamedTuple):
    """Observations, masks and hidden states at the decisions of some matches.

    Attributes:
        observation: uint8, shape (n, OBSERVATION_SIZE).
        legal: int8, shape (n, NUM_ACTIONS).
        hidden: uint8, shape (n, HIDDEN_SIZE).
    """

    observation: np.ndarray
    legal: np.ndarray
    hidden: np.ndarray


def tables_in_play(name: str, n: int) -> Iterator[Table]:
    """Yield a table of `TABLES` before each of n decisions of random play in one match."""
    rng, env = random.Random(name), make(TABLES[name])
    env.reset(seed=rng.randrange(2**32))
    for _ in walk(env, rng, n):
        yield env.table


@cache
def decisions(name: str, n: int = 360) -> Decisions:
    """Return decisions of random play in some matches at a table of `TABLES`."""
    kind, rng = TABLES[name], random.Random(name)
    env = make(kind)
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    while len(rows) < n:
        env.reset(seed=rng.randrange(2**32))
        for _ in walk(env, rng, min(n - len(rows), n // 3)):
            seat = int(env.table.row.seat)
            rows.append((*env.table.view(seat), env.table.state(seat)[OBSERVATION_SIZE:]))
    return Decisions(*(np.stack(part) for part in zip(*rows, strict=True)))


def few(name: str) -> Decisions:
    """Return `decisions`, fewer of them if the compiler is off."""
    all_rows = decisions(name, 360 if COMPILED else 60)
    return Decisions(*(part[:: 1 if COMPILED else 3] for part in all_rows))


@cache
def encoding_of(name: str) -> Encoding:
    """Return the encoding of a table of `TABLES`."""
    return make_encoding([rules_of(TABLES[name])])


@pytest.mark.parametrize("name", some_uncompiled(TABLES, 4))
def test_no_legal_action_is_lost(name: str) -> None:
    encoding = encoding_of(name)
    observation, legal, _ = few(name)
    _, mask, order = encoding.encode(observation, legal)
    for row in range(len(observation)):
        actions = encoding.actions[order[row], mask[row] != 0]
        assert sorted(actions) == np.flatnonzero(legal[row]).tolist()


@pytest.mark.parametrize("name", TABLES)
def test_no_choice_and_no_feature_appears_twice(name: str) -> None:
    encoding = encoding_of(name)
    assert (encoding.actions[0] == encoding.choices).all()
    assert (np.diff(encoding.choices) > 0).all()
    for actions in encoding.actions:
        assert len(set(actions)) == encoding.n_choices
    for order in (0, 23):
        assert len(set(zip(encoding.index[order], encoding.value[order], strict=True))) == encoding.n_features
        assert len(set(encoding.hidden_index[order])) == encoding.n_hidden


def permuted(words: list[str], suits: tuple[int, ...]) -> list[str]:
    """Rename the suits of a deck: suit s becomes `suits[s]`."""
    letters = SUIT_LETTERS[FRENCH]
    return [word[0] + letters[suits[letters.index(word[1])]] for word in words]


def permuted_action(action: int, suits: tuple[int, ...]) -> int:
    """Rename the suit of an action."""
    if action < 52:
        return moved_card(action, suits)
    if SUIT <= action < SUIT + 4:
        return SUIT + suits[action - SUIT]
    return NOMINATE + moved_card(action - NOMINATE, suits) if action >= NOMINATE else action


def permuted_options(rules: Rules, suits: tuple[int, ...]) -> dict[str, Any]:
    """Rename the trumps of a rotation in the options."""
    options = dict(rules.options)
    letters = SUIT_LETTERS[FRENCH]
    if options.get("trump_rotation") and options.get("trump_mode", "rotation") == "rotation":
        options["trump_rotation"] = [
            word if word == "NT" else letters[suits[letters.index(word)]] for word in options["trump_rotation"]
        ]
    return options


def tied_suits(observation: np.ndarray) -> bool:
    """Return whether the hand dealt has the same ranks in two side suits, so that they have no order."""
    dealt = (observation[HAND : HAND + 52] | observation[PLAYED : PLAYED + 52]).reshape(4, 13)
    ranks = [dealt[suit].tobytes() for suit in range(4) if observation[TRUMP + suit] == 0]
    return len(set(ranks)) < len(ranks)


@pytest.mark.parametrize(
    "name",
    some_uncompiled((name for name, kind in KINDS.items() if kind.variant != "nonesuch" and "lots" not in name), 4),
)
def test_a_table_with_renamed_suits_has_the_same_features(name: str) -> None:
    rules, encoding, rng = rules_of(KINDS[name]), encoding_of(name), random.Random(name)
    compared = 0
    for suits in rng.sample(list(itertools.permutations(range(rules.options["suits"]))), 5 if COMPILED else 2):
        names = (*suits, *range(len(suits), 4))
        env = make(KINDS[name], episode="match")
        renamed_env = make(KINDS[name]._replace(options=permuted_options(rules, names)), episode="match")
        largest = rules.schedule.index(max(rules.schedule)) if rules.schedule else 0  # in small hands many suits are void
        env.reset(seed=rng.randrange(2**32), options={"deal": largest})
        table = env.table
        deck = [CARD_WORDS[FRENCH][card] for card in table.row.deck[: len(rules.deck)]]
        position = {"deal": int(table.row.deal), "dealer": int(table.row.dealer)}
        renamed_env.reset(seed=3, options=position | {"deck": permuted(deck, names)})
        deal = int(table.row.deal)
        while env.phase is not None and table.row.deal == deal:
            seat = int(table.row.seat)
            views = [(*side.table.view(seat), side.table.state(seat)[OBSERVATION_SIZE:]) for side in (env, renamed_env)]
            if not tied_suits(views[0][0]):
                check_same_features(encoding, views, names)
                compared += 1
            action = choose(env, rng)
            env.step(action)
            renamed_env.step(permuted_action(action, names))
    assert compared > (30 if COMPILED else 8)


def check_same_features(encoding: Encoding, views: Sequence[tuple[np.ndarray, ...]], suits: tuple[int, ...]) -> None:
    """Check that two views have the same features, masks and hidden features, and differ in the order of suits only."""
    orders, parts = [], []
    for observation, legal, unseen in views:
        features, mask, order = encoding.encode(observation[np.newaxis], legal[np.newaxis])
        orders.append(ORDERS[order[0]])
        parts.append((features, mask, encoding.encode_hidden(unseen[np.newaxis], np.zeros(1, np.int64), order)))
    assert orders[1] == tuple(suits[suit] for suit in orders[0])
    assert all((part == renamed_part).all() for part, renamed_part in zip(*parts, strict=True))


@pytest.mark.uncompiled
def test_the_order_of_suits() -> None:
    observation = np.zeros((5, OBSERVATION_SIZE), np.uint8)
    observation[:, HAND + np.array([0, 1, 13 + 5, 13 + 6, 26 + 12])] = 1  # two low clubs, two middle diamonds, a high heart
    observation[1, TRUMP + 3] = 1  # spades are trump, of which there is none
    observation[2, HAND + 13 + 5] = 0  # a diamond was played
    observation[2, PLAYED + 13 + 5] = 1
    observation[3, PLAYED + 56 + 39] = 1  # another seat played a spade
    observation[4, SECTIONS["variant"].start + GAMES["nonesuch"].number] = 1  # the last one has the Decktet
    order = np.zeros(5, np.int64)
    suit_orders(observation, np.arange(5), order)
    assert [ORDERS[number] for number in order] == [(1, 0, 2, 3), (3, 1, 0, 2), (1, 0, 2, 3), (1, 0, 2, 3), (0, 1, 2, 3)]


@pytest.mark.parametrize("name", some_uncompiled(KINDS, 4))
def test_features_are_bytes_of_the_renamed_observation_or_tests_of_them(name: str) -> None:
    """Compares `index` and `value` of each order with those of the first, at an observation renamed as a whole."""
    encoding = encoding_of(name)
    observation, legal, hidden = few(name)
    features, _, order = encoding.encode(observation, legal)
    unseen = encoding.encode_hidden(hidden, np.arange(len(observation)), order)
    first, value = encoding.index[0], encoding.value[0]
    for row in range(0, len(observation), 7):
        read = renamed(observation[row], ORDERS[order[row]])[first]
        assert (features[row] == np.where(value == COPY, read, read == value)).all()
        assert (unseen[row] == renamed_hidden(hidden[row], ORDERS[order[row]])[encoding.hidden_index[0]]).all()


def renamed(observation: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """Rename the suits of an observation of the French deck, section by section: suit `order[s]` becomes s."""
    out = observation.copy()
    if order == ORDERS[0]:
        return out
    for section in OBSERVATION:
        old = observation[section.slice].reshape(section.shape if len(section.shape) == 2 else (1, -1))
        new = out[section.slice].reshape(old.shape)
        for before, after in zip(old, new, strict=True):
            if section.name in ("hand", "played", "trick_of", "exposed", "previous_deal"):
                after[:52] = before[:52].reshape(4, 13)[list(order)].reshape(-1)
            elif section.name in ("on_table", "tricks", "nominated", "turn_up", "trump", "led_suit"):
                after[:4] = before[:4][list(order)]
            if section.name in ("on_table", "nominated", "turn_up") and before[7] > 0:
                suit, rank = divmod(int(before[7]) - 1, 13)
                after[7] = 1 + 13 * order.index(suit) + rank
    return out


def renamed_hidden(hidden: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """Rename the suits of a hidden state."""
    out = hidden.copy()
    if order == ORDERS[0]:
        return out
    for section in HIDDEN[:2]:
        for start in range(section.start, section.slice.stop, 56):
            out[start : start + 52] = hidden[start : start + 52].reshape(4, 13)[list(order)].reshape(-1)
    return out


def test_a_row_has_the_same_features_alone_and_in_a_batch() -> None:
    observation, legal, hidden = decisions("noms")
    encoding, rows = encoding_of("noms"), np.array([200, 3, 3, 77])
    of_all, of_rows = encoding.encode(observation, legal), encoding.encode(observation, legal, rows)
    unseen = encoding.encode_hidden(hidden, rows, of_rows[2])
    for place, row in enumerate(rows):
        alone = encoding.encode(observation[row : row + 1], legal[row : row + 1])
        for part, rows_part, whole_part in zip(alone, of_rows, of_all, strict=True):
            assert (part[0] == rows_part[place]).all()
            assert (part[0] == whole_part[row]).all()
        assert (encoding.encode_hidden(hidden[row : row + 1], np.zeros(1, np.int64), alone[2])[0] == unseen[place]).all()
    assert [part.dtype for part in (*of_all, unseen)] == [np.uint8, np.int8, np.int64, np.uint8]


NEEDLESS: dict[str, dict[int, str]] = {
    "seats": {
        0: "total: a network learns to play for the points of the deal",
        1: "total; with `accumulate` the tricks of the earlier deals, which the last deal's points add up",
    },
    "numbers": {4: "number of the deal", 5: "deals left"},
    "on_table": {7: "number of the card, which follows from suit and rank"},
    "turn_up": {7: "number of the card, which follows from suit and rank"},
    "call_of": {0: "whether the seat called, which follows from the other bytes of the row"},
    "calls": dict.fromkeys(range(24, 48), "calls of auctions that never end"),
}
"""Per section, the bytes (of each row) that may vary without a feature, and why."""


def is_needless(kind: Kind, section: str, row: int, place: int) -> bool:
    """Return whether a byte needs no feature in this game or row."""
    own_voids = section == "tricks" and row == 0 and place < 6  # they follow from the own hand
    one_round = section == "calls" and kind.variant not in ("small_ships", "noms")  # each seat's only call is in `call_of`
    return own_voids or one_round


@pytest.mark.parametrize("name", TABLES)
def test_only_bytes_that_do_not_matter_are_left_out(name: str) -> None:
    kind, observation = TABLES[name], decisions(name).observation
    used = set(encoding_of(name).index.ravel().tolist())
    varies = np.flatnonzero((observation != observation[0]).any(axis=0))
    left_out = []
    for column in set(varies.tolist()) - used:
        section = next(section for section in OBSERVATION if section.slice.start <= column < section.slice.stop)
        place = (column - section.start) % section.shape[-1]
        where = (section.name, (column - section.start) // section.shape[-1], place)
        if place not in NEEDLESS.get(section.name, {}) and not is_needless(kind, *where):
            left_out.append(where)
    assert left_out == []
    if kind.options.get("observe_previous_hand"):
        assert used & set(range(SECTIONS["previous_deal"].start, SECTIONS["previous_deal"].start + 52))


def test_features_tell_the_rules_of_several_tables_apart() -> None:
    plain = make_rules(game("small_ships"), 4)
    for rule_sets, section in [
        ([plain, make_rules(game("noms"), 4)], "variant"),
        ([plain, make_rules(game("small_ships"), 4, {"misere_nominates": False})], "choices"),
        ([plain, make_rules(game("small_ships"), 5)], "numbers"),
    ]:
        encoding = make_encoding(rule_sets)
        observations = [first_observation(rules) for rules in rule_sets]
        columns = {column for column in encoding.index[0] if section_of(column) == section}
        assert any(observations[0][column] != observations[1][column] for column in columns), section
        assert encoding.digest != make_encoding(rule_sets[:1]).digest
    alone = make_encoding([plain])
    assert not {section_of(column) for column in alone.index[0]} & {"variant", "choices"}
    with pytest.raises(ValueError, match="at least one table"):
        make_encoding([])


def first_observation(rules: Rules) -> np.ndarray:
    """Return the first observation of a match."""
    table = begin(make(Kind(rules.variant.name, rules.seats, rules.options)), seed=1).table
    observation: np.ndarray = table.view(int(table.row.seat))[0]
    return observation


def section_of(column: int) -> str:
    return next(section.name for section in OBSERVATION if section.slice.start <= column < section.slice.stop)


def test_an_encoding_of_several_games_has_the_features_of_each() -> None:
    names = ("down_up", "small_ships", "noms")
    together = make_encoding([make_rules(game(name)) for name in names])
    for name in names:
        alone = make_encoding([make_rules(game(name))])
        pairs = set(zip(together.index[5], together.value[5], strict=True))
        assert set(zip(alone.index[5], alone.value[5], strict=True)) <= pairs
        assert set(alone.choices) <= set(together.choices)
        assert set(alone.hidden_index[5]) <= set(together.hidden_index[5])


@pytest.mark.parametrize("name", TABLES)
def test_features_and_hidden_features_contain_all_hands(name: str) -> None:
    encoding = encoding_of(name)
    observation, legal, hidden = decisions(name)
    features, _, order = encoding.encode(observation, legal)
    unseen = encoding.encode_hidden(hidden, np.arange(len(observation)), order)
    copied = np.flatnonzero(encoding.value[0] == COPY)
    for row in range(len(observation)):
        decoded = np.zeros(HIDDEN_SIZE, np.uint8)
        decoded[encoding.hidden_index[order[row]]] = unseen[row]
        shown = np.zeros(OBSERVATION_SIZE, np.uint8)
        shown[encoding.index[order[row], copied]] = features[row, copied]
        decoded[:56] = shown[HAND : HAND + 56]
        for section in (slice(7 * 56), HIDDEN[2].slice) if TABLES[name].variant == "nonesuch" else (slice(None),):
            assert (decoded[section] == hidden[row, section]).all()


@pytest.mark.parametrize("name", TABLES)
def test_hidden_features_begin_with_the_places_of_the_cards(name: str) -> None:
    encoding, hidden = encoding_of(name), decisions(name).hidden
    unseen = encoding.encode_hidden(hidden, np.arange(len(hidden)), np.zeros(len(hidden), np.int64))
    holders = unseen[:, : encoding.holders * encoding.cards].reshape(-1, encoding.holders, encoding.cards)
    assert holders.sum(axis=1).max() == 1, "a card is in one place"
    by_place = hidden[:, : 8 * 56].reshape(-1, 8, 56)[:, 1:].sum(axis=2)
    seats = TABLES[name].seats
    assert (holders.sum(axis=2)[:, : seats - 1] == by_place[:, : seats - 1]).all()
    partners = unseen[:, encoding.holders * encoding.cards :][:, : encoding.partners]
    assert (partners == hidden[:, HIDDEN[2].start :][:, : encoding.partners]).all()


@pytest.mark.parametrize("name", TABLES)
def test_inputs_stay_small(name: str) -> None:
    encoding, (observation, legal, _) = encoding_of(name), decisions(name)
    inputs = encoding.encode(observation, legal)[0] * encoding.scale
    assert inputs.max() <= 6.5
    assert np.quantile(inputs, 0.97) <= 1
