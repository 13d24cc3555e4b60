"""Features depend on the bytes alone, lie in named sections, and leave nothing out that is not listed."""

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from noms_env import Table, feature_layout
from noms_env.core.actions import MOST, NO_TRUMP_ACTION, NONE, PASS, SOME, SUIT
from noms_env.core.state import NUM_CHOICES
from noms_env.observation import features as inputs
from noms_env.observation.feature_layout import OMITTED_FIELDS, FeatureLayout
from noms_env.observation.features import COPY, possible_actions, row_start
from noms_env.observation.layout import FIELDS, OBSERVATION, OBSERVATION_SIZE
from noms_env.variants import game, make_rules
from tests.begin import begin
from tests.envs.play import KINDS, make, walk
from tests.observation.test_leaks import single_deals
from tests.policy.test_encoding import few, rules_of

EPISODES = ("match", "deal")


@cache
def views(name: str, episode: str) -> np.ndarray:
    """Return what every seat sees in random play: uint8, shape (n, OBSERVATION_SIZE)."""
    kind, rng = KINDS[name], random.Random(name)
    env = make(kind if episode == "match" else single_deals(kind))
    rows = []
    for seed in range(3):
        env.reset(seed=seed)
        for decision in walk(env, rng, 150):
            if decision % 3 == seed:
                rows += [env.table.view(seat)[0] for seat in range(kind.seats)]
    return np.stack(rows)


def expected_features(layout: FeatureLayout, observations: np.ndarray) -> np.ndarray:
    """A feature copies a byte, or is 1 where the byte has a value; both are scaled."""
    columns = observations[:, layout.column]
    return np.where(layout.value == COPY, columns, columns == layout.value).astype(np.float32) * layout.scale


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", KINDS)
def test_a_feature_is_a_byte_or_whether_it_has_a_value(name: str) -> None:
    layout, (observations, _, _) = FeatureLayout([rules_of(KINDS[name])]), few(name)
    expected = expected_features(layout, observations)
    features = layout.encode(observations)
    assert features.dtype == np.float32
    assert np.array_equal(features, expected)
    assert np.array_equal(layout.encode(observations[0]), expected[0])
    assert np.array_equal(layout.encode(observations[:6].reshape(2, 3, -1)), expected[:6].reshape(2, 3, -1))
    assert (features <= layout.high).all()


@pytest.mark.uncompiled
@pytest.mark.parametrize("bytes_", [range(56, 66), range(60, 96), range(0, 96, 5), (94, 95)], ids=str)
def test_options_may_fill_their_section_to_its_end(bytes_: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    rule_sets = [make_rules(game("down_up"), seats) for seats in (3, 4)]
    choices = {id(rules): np.zeros(NUM_CHOICES, np.uint8) for rules in rule_sets}
    choices[id(rule_sets[1])][list(bytes_)] = 255
    monkeypatch.setattr(inputs, "choice_names", lambda: [f"option {byte}" for byte in range(NUM_CHOICES)])
    monkeypatch.setattr(inputs, "choice_bytes", lambda rules: choices[id(rules)])
    layout = FeatureLayout(rule_sets)
    start = row_start("choices")
    assert {column - start for column in layout.column if column >= start} == set(bytes_)
    observations = np.random.default_rng(1).integers(256, size=(50, OBSERVATION_SIZE), dtype=np.uint8)
    assert np.array_equal(layout.encode(observations), expected_features(layout, observations))


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("name", KINDS)
def test_a_byte_that_varies_is_a_feature_or_listed_as_left_out(name: str, episode: str) -> None:
    observations, layout = views(name, episode), FeatureLayout([rules_of(KINDS[name])], episode)
    encoded: dict[int, set[int]] = defaultdict(set)
    for column, value in zip(layout.column.tolist(), layout.value.tolist(), strict=True):
        encoded[column].add(value)
    for column in np.flatnonzero((observations != observations[0]).any(axis=0)).tolist():
        values = set(np.unique(observations[:, column]).tolist())
        if COPY not in encoded[column] and len(values - encoded[column]) > 1:
            assert field_of(column) in OMITTED_FIELDS, (column, values)
    assert (layout.encode(observations) <= layout.high).all()


def field_of(column: int) -> str:
    """Return section and field of a byte, as in `OMITTED_FIELDS`."""
    section = next(part for part in OBSERVATION if part.slice.start <= column < part.slice.stop)
    place = (column - section.start) % section.shape[-1]
    names = [field.name for field in FIELDS[section.name] for _ in range(field.size)]
    return ".".join(filter(None, (section.name, names[place])))


def test_fields_fill_their_sections_and_those_left_out_exist() -> None:
    assert set(OMITTED_FIELDS) <= {field_of(column) for column in range(OBSERVATION_SIZE)}
    for part in OBSERVATION:
        assert sum(field.size for field in FIELDS[part.name]) == part.shape[-1], part.name


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("name", KINDS)
def test_sections_follow_one_another_and_describe_their_features(name: str, episode: str) -> None:
    layout, rules = FeatureLayout([rules_of(KINDS[name])], episode), rules_of(KINDS[name])
    start = 0
    for part in layout.sections:
        assert (part.start, part.slice.stop) == (start, start + math.prod(part.shape))
        assert part.meaning
        columns, values = layout.column[part.slice], layout.value[part.slice]
        assert (layout.scale[part.slice] == np.float32(part.scale)).all()
        assert {field_of(column) for column in columns} == {part.name.removesuffix(".one_hot")}
        assert ((values != COPY) == part.name.endswith(".one_hot")).all()
        if len(next(section for section in OBSERVATION if section.name == part.name.partition(".")[0]).shape) == 2:
            assert part.shape[0] == rules.seats
            step = np.diff(columns.reshape(rules.seats, -1), axis=0)
            assert (step == step[0, 0]).all(), "each row is that of the seat before, some bytes on"
        start = part.slice.stop
    names = [part.name for part in layout.sections]
    assert len(set(names)) == len(names)
    assert start == layout.n_features
    assert ("seats.total" in names) == (episode == "match")


def test_tables_of_several_rules_share_one_vector() -> None:
    rule_sets = [make_rules(game("small_ships"), 5), make_rules(game("small_ships"), 4, {"indication": True})]
    layout = FeatureLayout(rule_sets)
    rows = [begin(Table("small_ships", rules.seats, rules.options)).view(0)[0] for rules in rule_sets]
    first, second = layout.encode(np.stack(rows))
    differ = {part.name for part in layout.sections if (first[part.slice] != second[part.slice]).any()}
    assert {"choices.indication", "seats.present", "numbers.seats"} <= differ


def test_choices_are_scaled_by_the_largest_of_all_tables() -> None:
    rule_sets = [make_rules(game("noms"), 4, {"min_bid": bid}) for bid in (9, 8)]
    layout = FeatureLayout(rule_sets)
    encoded = layout.encode(np.stack([begin(Table("noms", 4, rules.options)).view(0)[0] for rules in rule_sets]))
    part = next(part for part in layout.sections if part.name == "choices.min_bid")
    first, second = encoded[:, part.slice][:, 0]
    assert first == 1
    assert 0 < second < 1


def test_feature_layout_takes_the_arguments_of_an_environment() -> None:
    layout = feature_layout("up_down", 3, episode="deal", trump_mode="turnup", ranks=5)
    rules = make_rules(game("up_down"), 3, {"trump_mode": "turnup", "ranks": 5})
    assert layout.sections == FeatureLayout([rules], "deal").sections
    sections = {part.name: part for part in layout.sections}
    hand = sections["hand"]
    assert (hand.slice, hand.shape, hand.scale, hand.high) == (slice(0, 20), (20,), 1, 1)
    assert hand.meaning == "1 for each card in the own hand"
    assert sections["played"].shape == (3, 20)
    with pytest.raises(ValueError, match="there is no variant 'up'; the variants are "):
        feature_layout("up")


def test_a_short_decktet_has_features_for_its_cards_and_suits_alone() -> None:
    layout = feature_layout("nonesuch", 3, episode="deal", ranks=5, suits=3)
    shapes = {part.name: part.shape for part in layout.sections}
    assert (shapes["hand"], shapes["played"], shapes["trick_of"]) == ((7,), (3, 7), (7,))
    assert (shapes["trump"], shapes["led_suit"], shapes["turn_up.suits"]) == ((5,), (3,), (3,)), "M S W; no trump, unsaid"
    assert (shapes["on_table.suits"], shapes["tricks.voids"]) == ((3, 3), (3, 3))
    whole = {part.name: part.shape for part in feature_layout("nonesuch", 3, episode="deal").sections}
    assert (whole["hand"], whole["trump"], whole["tricks.voids"]) == ((37,), (8,), (3, 6))
    rules = make_rules(game("nonesuch"), 3, {"ranks": 5, "suits": 3})
    suits = {SUIT, SUIT + 1, SUIT + 2, NO_TRUMP_ACTION}
    assert possible_actions(rules) == {18, 24, 27, 30, 31, 32, 36, *suits, PASS, NONE, SOME, MOST}


@pytest.mark.parametrize("observation", [np.zeros(OBSERVATION_SIZE), np.zeros((2, 9), np.uint8), np.zeros((), np.uint8)])
def test_encode_refuses_other_dtypes_and_shapes(observation: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"observation must be uint8 of shape \(\.\.\., 1072\), not "):
        feature_layout("noms").encode(observation)
