"""A redeal is consistent with all that a seat knows; `test_layouts.py` tests that redeals are uniform.

The referee replays the deal with the cards of the redeal. Every action must be legal, the turns must be the same, and the seat
must see the same cards and legal actions.
"""

import hashlib
import json
import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest

from noms_env.belief.layouts import draw_below, open_stream
from noms_env.belief.sampling import sample_hidden_rows
from noms_env.belief.workspace import MAX_CLASSES, MAX_WAYS, new_sampling_workspace
from noms_env.core.actions import SCORED
from noms_env.core.cards import EXCUSE, FRENCH, cards_in, set_of
from noms_env.core.chance import DRAW_REDEAL, philox
from noms_env.core.state import HELD, get_byte, put_byte
from noms_env.engine.row_kernels import kernel_view
from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS, nonesuch, small_ships
from tests import referee
from tests.agreement import deck_words, random_table
from tests.begin import begin
from tests.belief.redealt import Moment, batch_with, choose, play, replay, surprise
from tests.envs.play import EVERY_TABLE
from tests.observation.test_leaks import public_unplayed
from tests.uncompiled import printed_uncompiled
from tests.variants.table_help import hands_of


def check_redeal(table: Table, deal: referee.Deal, seat: int, rng: np.random.Generator) -> Moment:
    """Redeal, check the whole record, and return the redealt table and referee."""
    twin = table.sample_hidden(seat, rng)
    for part, same in zip(table.view(seat), twin.view(seat), strict=True):
        assert part.tobytes() == same.tobytes(), "the seat sees another table"
    other = replay(table, deal, deck_words(twin), seat)
    where = (table.rules.variant.name, table.rules.options, seat, [step["action"] for step in deal.steps])
    assert other is not None, where
    row = twin.row
    assert hands_of(twin) == [set(hand) for hand in other.hands], where
    assert (row.partner if row.partner >= 0 else None) == other.partner, where
    if row.variant == nonesuch.NUMBER:
        assert (row.excuse if row.excuse >= 0 else None) == other.holder("EX"), where
    else:
        assert set(twin.card_words(row.stock)) == set(other.stock), where
    assert sorted(twin.legal_words()) == sorted(other.legal()), where
    changed = {name for name in row.dtype.names or () if not np.array_equal(row[name], table.row[name])}
    assert changed <= HIDDEN_FIELDS, where
    return twin, other


HIDDEN_FIELDS = {"hands", "stock", "partner", "excuse", "deck", "legal_cards", "legal_words", "previous"}
HIDDEN_FIELDS |= {"seed", "table", "match"}
"""Fields that may differ in a redealt record."""


def play_out(twin: Table, other: referee.Deal, rng: random.Random) -> None:
    """Play a redealt table to the end of the deal, and begin the next."""
    while not other.over:
        word = choose(twin, rng, "")
        twin.act(word)
        other.act(word)
        assert sorted(twin.legal_words()) == sorted(other.legal())
    if not other.seats_to_cut():
        assert other.points is not None
        assert np.allclose(twin.row.points[: twin.seats], other.points)
    twin.next_deal()
    assert twin.is_over or twin.legal_words()


def check_moments(variant: str, seats: int, options: dict[str, Any], seed: int, every: int) -> int:
    """Redeal at some moments of two deals. Return the number of redeals."""
    rng, play_rng, checked = np.random.default_rng(seed), random.Random(seed), 0
    for number, (table, deal) in enumerate(play(variant, seats, options, seed, deals=2)):
        if number % every == seed % every:
            for seat in {number % seats, int(table.row.seat)}:
                twin, other = check_redeal(table, deal, seat, rng)
                checked += 1
            if number % (4 * every) == seed % every:
                play_out(twin, other, play_rng)
    return checked


@pytest.mark.parametrize(("variant", "seats", "options"), EVERY_TABLE)
def test_redeals_are_consistent(variant: str, seats: int, options: dict[str, Any]) -> None:
    assert sum(check_moments(variant, seats, options, seed, every=5) for seed in range(2)) > 0


@pytest.mark.parametrize(
    ("matches", "every"),
    [(12, 4), pytest.param(250, 1, marks=pytest.mark.soak), pytest.param(2, 7, marks=pytest.mark.uncompiled)],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_redeals_with_random_options_are_consistent(variant: str, matches: int, every: int) -> None:
    rng = random.Random(f"{variant}: redeal")
    for seed in range(matches):
        check_moments(variant, *random_table(variant, rng), seed, every)


def plain_draws(seed: int, stream: int, ranges: list[int]) -> list[int]:
    """Return draws from 56 bits at a time, used while the product of the ranges is at most 2**24."""
    bits: list[int] = []
    for block in range(len(ranges)):
        words = philox(block | DRAW_REDEAL << 24, stream, 0, 0, seed & 0xFFFFFFFF, seed >> 32)
        bits += [words[0] << 24 | words[1] >> 8, words[2] << 24 | words[3] >> 8]
    drawn, fraction, product = [], Fraction(0), 2**24
    for n in ranges:
        product *= n
        if product > 2**24:
            fraction, product = Fraction(bits.pop(0), 2**56), n
        drawn.append(math.floor(fraction * n))
        fraction = fraction * n % 1
    return drawn


@pytest.mark.uncompiled
def test_draws_have_enough_random_bits() -> None:
    plans = new_sampling_workspace()
    plan = plans.view(np.recarray)[0]
    rng = random.Random(3)
    for stream in range(20):
        ranges = [rng.choice([2, 13, 39, 52]) for _ in range(40)]
        plan.seed = rng.randrange(2**63)
        open_stream(plan, stream)
        assert [int(draw_below(plan, n)) for n in ranges] == plain_draws(int(plan.seed), stream, ranges)


@pytest.mark.parametrize("seats", [3, 4])
def test_the_excuse_is_dealt_to_any_other_seat_during_the_calls(seats: int) -> None:
    for seed in range(8):
        table, _ = next(play("nonesuch", seats, {}, seed))
        for seat in range(seats):
            if table.row.excuse in (-1, seat):
                continue
            batch = batch_with(table, 3000)
            batch.sample_hidden(0, seat, np.random.default_rng(seed), slice(None))
            holders = [int((batch.tables.hands[:, other] >> EXCUSE & 1).sum()) for other in range(seats) if other != seat]
            assert sum(holders) == 3000
            assert surprise(holders) < 4.5


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_redeal_spreads_every_card_evenly(variant: str) -> None:
    table, _ = next(play(variant, GAMES[variant].default_seats, {}, seed=5))
    seat, draws = int(table.row.seat), 4000
    batch = batch_with(table, draws)
    batch.sample_hidden(0, seat, np.random.default_rng(1), slice(None))
    unseen = int(table.row.cards & ~table.row.hands[seat])
    if table.row.turn_up >= 0:
        unseen &= ~(1 << int(table.row.turn_up))
    for card in cards_in(unseen):
        for other in set(range(table.seats)) - {seat}:
            count = int((batch.tables.hands[:, other] >> card & 1).sum())
            share = (int(table.row.hands[other]) & unseen).bit_count() / unseen.bit_count()
            assert abs(count - draws * share) < 5 * math.sqrt(draws * share * (1 - share)) + 1e-9


def hide(table: Table, seat: int, rng: random.Random) -> Table:
    """Return a copy with all different that the seat does not know, against the rules if need be."""
    twin = table.copy()
    row = twin.row
    known = int(row.refused) | public_unplayed(table)
    saw_stock = (
        row.variant == small_ships.NUMBER and table.rules.options["stock_nomination"] == "illegal" and row.declarer == seat
    )
    if saw_stock and (row.nominated >= 0 or table.phase == "nominate"):
        known |= int(row.stock)
    places = [int(hand) for hand in row.hands] + [int(row.stock)]
    loose = [card for place, cards in enumerate(places) if place != seat for card in cards_in(cards & ~known)]
    rng.shuffle(loose)
    for place, cards in enumerate(places):
        if place != seat:
            places[place] = cards & known | set_of([loose.pop() for _ in cards_in(cards & ~known)])
    row.hands, row.stock = places[:-1], places[-1]
    row.partner = rng.randrange(-1, table.seats)
    if row.variant == nonesuch.NUMBER and table.phase == "call":
        row.excuse = rng.randrange(table.seats) if row.turn_up != EXCUSE else -1
    row.deck[: len(table.rules.deck)] = rng.sample(list(table.rules.deck), len(table.rules.deck))
    row.seed, row.table, row.match = rng.randrange(2**62), rng.randrange(2**31), rng.randrange(2**31)
    row.legal_cards = row.legal_words = rng.randrange(2**40)
    seen = [get_byte(row.previous, card) for card in range(52)]
    row.previous[:] = 0
    for card in range(52):
        hidden = seen[card] >= HELD and seen[card] != HELD + seat
        put_byte(row.previous, card, HELD + (seat + rng.randrange(1, table.seats)) % table.seats if hidden else seen[card])
    return twin


def compare_redeals(variant: str, seats: int, options: dict[str, Any], seed: int) -> int:
    """Compare redeals of a table and of one that looks the same to the seat. Return the number of comparisons."""
    rng, compared = random.Random(seed), 0
    for number, (table, _) in enumerate(play(variant, seats, options, seed, deals=3)):
        seat = rng.randrange(seats)
        if rng.random() < 0.6:
            continue
        true = table.sample_hidden(seat, np.random.default_rng(number))
        false = hide(table, seat, rng).sample_hidden(seat, np.random.default_rng(number))
        assert true.get_state() == false.get_state(), (variant, options, seat, table.phase)
        compared += 1
    return compared


@pytest.mark.parametrize("matches", [15, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_redeal_depends_only_on_what_the_seat_knows(variant: str, matches: int) -> None:
    rng, options = random.Random(f"{variant}: hidden"), {"observe_previous_hand": True} if variant == "noms" else {}
    compared = compare_redeals(variant, GAMES[variant].default_seats, options, seed=1)
    for seed in range(matches):
        compared += compare_redeals(variant, *random_table(variant, rng), seed)
    assert compared > 100


def test_a_redeal_hides_the_cards_of_the_previous_deal() -> None:
    table = begin(Table("noms", options={"observe_previous_hand": True}, seed=2))
    for _ in range(4):
        table.act("pass")
    table.next_deal()
    twin = table.sample_hidden(1, np.random.default_rng(0))
    true, redealt = ([get_byte(each.row.previous, card) for card in range(52)] for each in (table, twin))
    assert sorted(true) == sorted(13 * [HELD + seat for seat in range(4)])
    assert redealt == [place if place == HELD + 1 else 0 for place in true]


def middle_of_a_deal(variant: str, decisions: int = 25) -> Table:
    return next(islice(play(variant, GAMES[variant].default_seats, {}, seed=3, deals=5), decisions, None))[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_redeal_follows_from_the_generator_and_its_place_among_the_rows(variant: str) -> None:
    table = middle_of_a_deal(variant)
    seat, batch = int(table.row.seat), batch_with(table, 40)
    batch.sample_hidden(0, seat, np.random.default_rng(7), range(1, 31))
    many = batch.save(range(1, 31)).tobytes()
    assert batch.save(0).tobytes() == table.get_state(), "the source is not changed"
    batch.sample_hidden(0, seat, np.random.default_rng(7), np.array([35, 2, 9], np.uint64))
    few = batch.save([35, 2, 9]).tobytes()
    assert many.startswith(few)
    assert many.startswith(table.sample_hidden(seat, np.random.default_rng(7)).get_state())
    batch.sample_hidden(0, seat, np.random.default_rng(7), [3, 0, 1])
    assert batch.save([3, 0, 1]).tobytes() == few, "the source may be one of the rows"
    batch.restore(0, np.array([table.row]))
    batch.sample_hidden(0, seat, np.random.default_rng(7))
    assert many.startswith(batch.save(0).tobytes())
    assert batch.seat[0] == seat
    batch.sample_hidden(0, seat, np.random.default_rng(7), [])
    assert many.startswith(batch.save(0).tobytes())


@pytest.mark.parametrize("variant", VARIANTS)
def test_redeals_have_different_cards_and_seeds(variant: str) -> None:
    table = middle_of_a_deal(variant, decisions=0)
    rng = np.random.default_rng(8)
    first, second = table.sample_hidden(0, rng), table.sample_hidden(0, rng)
    assert len({int(each.row.seed) for each in (table, first, second)}) == 3
    assert (first.row.hands != second.row.hands).any()
    batch = batch_with(table, 100)
    batch.sample_hidden(0, 0, rng, slice(None))
    assert len(np.unique(batch.tables.seed)) == 100


def fingerprint() -> str:
    """Return a hash of redeals in every variant."""
    digest = hashlib.sha256()
    for variant in VARIANTS:
        rng = random.Random(f"{variant}: bytes")
        for seed in range(4):
            for number, (table, _) in enumerate(play(variant, *random_table(variant, rng), seed)):
                if number % 4 == 0:
                    digest.update(table.sample_hidden(number % table.seats, np.random.default_rng(number)).get_state())
    return digest.hexdigest()


def test_the_compiler_changes_no_redeal() -> None:
    assert printed_uncompiled("tests.belief.test_sampling") == fingerprint()


def test_wrong_arguments_are_refused() -> None:
    table = middle_of_a_deal("small_ships")
    batch = batch_with(table, 3)
    rng = np.random.default_rng(0)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("seat must be .* 0 to 3, not 4", lambda: table.sample_hidden(4, rng)),
        ("seat must be .* 0 to 3, not True", lambda: batch.sample_hidden(0, True, rng, [1])),
        ("rng must be", lambda: batch.sample_hidden(0, 0, 5, [1])),  # type: ignore[arg-type]
        ("rows must be .* 0 to 2", lambda: batch.sample_hidden(0, 0, rng, [3])),
        ("rows must be .* 3 booleans", lambda: batch.sample_hidden(0, 0, rng, [True, False])),
        ("rows must be .* 0 to 2", lambda: batch.sample_hidden(0, 0, rng, np.array([2**63], np.uint64))),
        ("row must be .* 0 to 2", lambda: batch.sample_hidden(3, 0, rng)),
    ]
    for sentence, call in calls:
        with pytest.raises(ValueError, match=sentence):
            call()
    while table.row.phase != SCORED:
        table.step(table.legal_actions()[0])
    with pytest.raises(ValueError, match="the deal is over"):
        table.sample_hidden(0, rng)


def most_ways(variant: str) -> int:
    """Return the largest number of layout counts that a game needs: see `MAX_WAYS`."""
    game = GAMES[variant]
    other_places = game.seats[1] - 1 + (game.deck_kind == FRENCH)  # with the Decktet nothing is left over
    states = 14 * 14 * 13 * 2 if variant in ("noms", "small_ships") else 14**3
    return max(0, other_places - 3) * (states if game.deck_kind == FRENCH else MAX_WAYS)


@pytest.mark.parametrize(("matches", "every"), [(30, 3), pytest.param(400, 1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_layout_counts_fit_their_memory(variant: str, matches: int, every: int) -> None:
    assert max(map(most_ways, VARIANTS)) == MAX_WAYS
    rng, workspace = random.Random(f"{variant}: memory"), new_sampling_workspace()
    p, needed = workspace[0], 0
    for seed in range(matches):
        for moment, (table, _) in enumerate(play(variant, *random_table(variant, rng), seed)):
            if moment % every > 0:
                continue
            for seat in range(table.seats):
                rows = kernel_view(table.copy()._rows)
                sample_hidden_rows(rows, np.zeros(1, np.int64), seat, seed, workspace)
                assert p["n_classes"] <= MAX_CLASSES
                needed = max(needed, (p["n_open"] - 3) * p["n_states"] if p["n_open"] > 3 else 0)
    assert needed <= most_ways(variant)


if __name__ == "__main__":
    print(json.dumps(fingerprint()))
