"""The random stream: published test vectors, uniform deals, and deals that depend on their numbers only."""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from noms_env.core import chance
from noms_env.engine.deal import begin_match, shuffle_deck
from noms_env.table import Table
from noms_env.variants import VARIANTS, game, make_rules
from noms_env.variants.table_record import new_tables, write_rules
from tests.agreement import deck_words
from tests.begin import begin
from tests.variants.table_help import play_out

FRENCH_DECK = (
    "2D 8D QH 6D 7H 9C TD 6H 2S 2H 7C 4D QD 5H KS 6C 5S 5D QC 3H JD TC KD 9S KH QS "
    "AD 3D AH KC 2C 4C 6S AS 7S 3S 4H TS 7D 3C 5C JS JC AC TH JH 8S 9H 4S 8H 9D 8C"
)
CUT = 8
"""The place at which noms cuts the French deck."""
DECKTET = (
    "3MW 6SY 8YK AL 7SK 7WY 5SW 6LK 9WY 2WL AY CK AS 2MK EX 4WL CS AM 8MS CY 7ML 9MS AK 5YK CM 6MW "
    "4YK 3SK 5ML 3LY 8WL CL 4MS AW 9LK 2SY CW"
)

FAR_DECK = (
    "7H JS 4S 3C 5H 7C 3S KD TC QD 7S AD AS TD 9C 4D KH TH 8S 2D QS 8H AH 6S 4C 3H "
    "8C 9D KS TS 7D 5S JH QC 2H 6D QH 2C 5C 6C 4H 9H 6H KC 2S JD JC 3D 9S 8D AC 5D"
)


def row_of(variant: str, seats: int | None = None, **options: Any) -> np.record:
    """Make the record of a table, for many draws."""
    row: np.record = new_tables(1)[0]
    write_rules(row, make_rules(game(variant), seats, options))
    return row


def deviation(counts: np.ndarray) -> float:
    """Return chi-square of counts that should be equal, in standard deviations from its mean."""
    expected = counts.sum() / counts.size
    freedom = counts.size - 1
    return float((((counts - expected) ** 2).sum() / expected - freedom) / np.sqrt(2 * freedom))


def assert_uniform(values: Iterable[int], cells: range) -> None:
    counts = np.bincount(list(values), minlength=cells.stop)
    assert set(np.flatnonzero(counts)) == set(cells)
    assert abs(deviation(counts[cells.start :])) < 4


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_has_the_known_answers_of_random123(counter: str, key: str, expected: str) -> None:
    words = [int(word, 16) for word in (counter + " " + key).split()]
    assert [int(word) for word in chance.philox(*words)] == [int(word, 16) for word in expected.split()]


@pytest.mark.uncompiled
def test_the_counter_consists_of_index_purpose_deal_match_and_table() -> None:
    row = row_of("big_ships")
    row.seed, row.table, row.match, row.deal = 0x0123456789ABCDEF, 0xFEDCBA98, 5, 7
    expected = chance.philox(3 | (2 << 24), 7, 5, 0xFEDCBA98, 0x89ABCDEF, 0x01234567)
    assert tuple(map(int, chance.draw_block(row, 2, 3))) == tuple(map(int, expected))


@pytest.mark.uncompiled
@pytest.mark.parametrize("variant", VARIANTS)
def test_first_deals_never_change(variant: str) -> None:
    table = begin(Table(variant, 4, seed=0))
    deck = (DECKTET if variant == "nonesuch" else FRENCH_DECK).split()
    cut = CUT if variant == "noms" else 0
    assert deck_words(table) == deck[cut:] + deck[:cut]
    assert table.row.dealer == 1


@pytest.mark.uncompiled
def test_the_deal_of_the_largest_seed_and_table_never_changes() -> None:
    table = begin(Table("big_ships", seed=chance.MAX_SEED, table=chance.MAX_TABLE), match=9, deal=11, dealer=0)
    assert deck_words(table) == FAR_DECK.split()


@pytest.mark.uncompiled
def test_a_short_deck_has_its_own_cards_only() -> None:
    table = begin(Table("big_ships", 2, {"ranks": 2, "suits": 3}, seed=4))
    assert sorted(deck_words(table)) == ["AC", "AD", "AH", "KC", "KD", "KH"]


@pytest.mark.parametrize("counter", ["seed", "table", "match", "deal"])
@pytest.mark.parametrize(("variant", "cards"), [("big_ships", 52), ("nonesuch", 37)])
def test_every_card_is_equally_frequent_at_every_place(variant: str, cards: int, counter: str) -> None:
    row, places, deals = row_of(variant), np.arange(cards), 3_000
    counts = np.zeros((cards, cards), np.int64)
    for number in range(deals):
        row[counter] = number
        shuffle_deck(row)
        np.add.at(counts, (places, row.deck[:cards]), 1)
    assert (counts.sum(axis=0) == deals).all()
    assert (counts.sum(axis=1) == deals).all()
    assert abs(deviation(counts)) < 4


@pytest.mark.parametrize("first", [0, 7, 50])
def test_neighbouring_places_are_independent(first: int) -> None:
    """Two places are drawn from one random word, and four words from one block: no pair of cards may be favoured."""
    row = row_of("big_ships")
    counts = np.zeros((52, 52), np.int64)
    for number in range(20_000):
        row.table = number
        shuffle_deck(row)
        counts[row.deck[first], row.deck[first + 1]] += 1
    assert not counts.diagonal().any()
    assert abs(deviation(counts[~np.eye(52, dtype=bool)])) < 4


def draws(variant: str, seats: int, count: int, read: Callable[[np.record], int], **options: Any) -> Iterator[int]:
    """Read a draw from the first deal of many tables."""
    row = row_of(variant, seats, **options)
    for number in range(count):
        row.table = number
        begin_match(row)
        shuffle_deck(row)
        yield read(row)


@pytest.mark.parametrize("seats", [3, 7])
def test_the_first_dealer_is_uniform(seats: int) -> None:
    assert_uniform(draws("big_ships", seats, 4_000, lambda row: int(row.dealer)), range(seats))


def test_the_first_dealer_reveals_nothing_about_the_cards() -> None:
    """Each purpose draws from blocks of its own."""
    pairs = draws("big_ships", 4, 52 * 400, lambda row: 52 * int(row.dealer) + int(row.deck[0]))
    assert_uniform(pairs, range(208))


def cut_of(row: np.record) -> int:
    """Return the place at which the shuffled deck of noms was cut."""
    uncut = row_of("big_ships")
    uncut.table, uncut.seed = row.table, row.seed
    shuffle_deck(uncut)
    place = list(uncut.deck).index(row.deck[0])
    assert list(row.deck) == [*uncut.deck[place:], *uncut.deck[:place]]
    return place


@pytest.mark.parametrize("least", [1, 5, 25])
def test_4_3_the_cut_is_uniform_and_leaves_as_much_as_it_takes(least: int) -> None:
    assert_uniform(draws("noms", 4, 2_000, cut_of, cut_min=least), range(least, 53 - least))


@pytest.mark.parametrize(
    ("options", "cut"),
    [
        *(({"cut": cut}, cut) for cut in (0, 1, 26, 51)),
        ({"cut_min": 26}, 26),
        *(({"deal_mode": mode}, 0) for mode in ("packets_shuffled", "single_shuffled")),
    ],
)
def test_4_3_cuts_that_are_fixed(options: dict[str, Any], cut: int) -> None:
    assert set(draws("noms", 4, 20, cut_of, **options)) == {cut}


def test_every_seed_table_match_and_deal_has_its_own_deck() -> None:
    row = row_of("big_ships")
    decks = set()
    for numbers in [*np.ndindex(3, 3, 3, 3), (2**32, 0, 0, 0)]:  # the upper half of the seed counts too
        row.seed, row.table, row.match, row.deal = numbers
        shuffle_deck(row)
        decks.add(row.deck.tobytes())
    assert len(decks) == 82


def deals_of_two_matches(variant: str, play_seed: int, **options: Any) -> list[list[str | None]]:
    """Return dealer, trump and deck, deal by deal, of two matches of random play."""
    table, rng = Table(variant, seed=3, options=options), random.Random(play_seed)
    deals = []
    for _ in range(2):
        table.start()
        for _ in range(4):
            deals.append([str(table.row.dealer), table.trump_word(), *deck_words(table)])
            play_out(table, rng)
            table.next_deal()
    return deals


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("sniped_whist", {"n_hands": 4}),
        ("big_ships", {}),
        ("small_ships", {}),
        ("noms", {"deal_mode": "packets_shuffled", "target": None}),
        ("noms", {"deal_mode": "single_shuffled", "target": None}),
        ("nonesuch", {"target": None}),
        ("down_up", {}),
        ("up_down", {"trump_mode": "random", "ranks": 5}),
    ],
)
def test_deals_do_not_depend_on_what_was_played(variant: str, options: dict[str, Any]) -> None:
    deals = deals_of_two_matches(variant, 1, **options)
    assert deals == deals_of_two_matches(variant, 2, **options)
    assert len({tuple(deal) for deal in deals}) == 8
    assert len({trump for _, trump, *_ in deals}) > 1 or options.get("trump_mode") != "random"


def test_4_3_packets_of_noms_do_depend_on_what_was_played() -> None:
    deals, others = (deals_of_two_matches("noms", play_seed, target=None) for play_seed in (1, 2))
    assert [deals[0], deals[4]] == [others[0], others[4]]  # the first deal of a match is shuffled
    assert all(deal != other for deal, other in zip(deals[1:4], others[1:4], strict=True))


@pytest.mark.uncompiled
def test_start_deals_the_next_match_or_the_match_of_a_number() -> None:
    table, other = Table("up_down", seed=5), Table("up_down", seed=5)
    for match in range(3):
        table.start()
        other.start(match=match)
        assert table.row.match == match
        assert table.get_state() == other.get_state()


@pytest.mark.uncompiled
@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.0, "7", None])
def test_a_seed_must_be_an_integer_from_0_to_2_63(seed: Any) -> None:
    for call in (chance.check_seed, lambda seed: Table("noms", seed=seed)):
        with pytest.raises(ValueError, match=r"seed must be .* to 2\*\*63 - 1"):
            call(seed)


@pytest.mark.uncompiled
@pytest.mark.parametrize("seed", [0, 2**63 - 1, np.uint8(200)])
def test_check_seed_returns_an_int(seed: Any) -> None:
    assert (chance.check_seed(seed), type(chance.check_seed(seed))) == (int(seed), int)


@pytest.mark.uncompiled
@pytest.mark.parametrize("stream", [0, 2**32])
def test_a_stream_must_be_from_1_to_2_32(stream: int) -> None:
    chance.check_streams(np.array([1, 2**32 - 1]))
    with pytest.raises(ValueError, match=f"from 1 to {2**32 - 1}, not array"):
        chance.check_streams(np.array([1, stream, 7]))
