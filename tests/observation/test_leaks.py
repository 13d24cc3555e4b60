"""No leaks (rules 0.1): what a seat is told depends on nothing that the rules hide from it.

Two tests, of which neither alone would do:

* At every step, the cards that a seat cannot see are mixed in a copy of the table. What the seat is shown must not change
  by a byte. This finds a view that looks where it must not.
* A deal is dealt again with hidden cards exchanged, and the same actions are taken. Where the rules allow all of them, the
  seat must have seen the same from the first to the last of them. This also finds a mark that the engine left at the
  wrong moment.

By nature, two options tell something about the stock: under stock_nomination "illegal" and "redraw" the stock is left
alone, and with `early_stop` a deal that goes on tells that it is not decided, so that some deals cannot be played again.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from noms_env import show
from noms_env.core.cards import EXCUSE, cards_in, set_of
from noms_env.core.state import HELD, get_byte, put_byte
from noms_env.engine.legal import find_legal
from noms_env.envs.aec import TrickTakingEnv
from noms_env.table import Table
from noms_env.variants import nonesuch
from tests.begun import begun
from tests.cases import some
from tests.envs.play import KINDS, Kind, choose, deck_in_words, make, readable, walk

DECISIONS = 110


def is_fixed_stock(table: Table) -> bool:
    """True where an option tells by its nature what lies in the stock."""
    return table.rules.options.get("stock_nomination") in ("illegal", "redraw")


def public_unplayed(table: Table) -> int:
    """The unplayed cards whose place all know."""
    row = table.row
    known = 0
    if row.turn_up >= 0:
        known |= 1 << int(row.turn_up)
    if row.exposed >= 0:
        known |= int(row.hands[row.exposed])
    if row.indicated >= 0 or (row.open_partner and row.nominated >= 0):
        known |= 1 << int(row.nominated)
    if row.variant == nonesuch.NUMBER and table.phase == "trump":
        known |= 1 << EXCUSE
    return known


def mix_hidden(table: Table, seat: int, rng: random.Random) -> Table:
    """A copy of the table in which what the seat cannot see is otherwise: cards, their consequences, the chance to come."""
    twin = table.copy()
    row = twin.row
    fixed = public_unplayed(table)
    hands, stock = [int(hand) for hand in row.hands], int(row.stock)
    mixed = [card for other, hand in enumerate(hands) if other != seat for card in cards_in(hand & ~fixed)]
    if not is_fixed_stock(table):
        mixed += cards_in(stock & ~fixed)
    rng.shuffle(mixed)
    for other, hand in enumerate(hands):
        if other != seat:
            hands[other] = hand & fixed | set_of([mixed.pop() for _ in range((hand & ~fixed).bit_count())])
    row.hands = hands
    if not is_fixed_stock(table):
        row.stock = stock & fixed | set_of(mixed)
    mix_consequences(twin)
    mix_chance(twin, rng)
    if row.observe_previous_hand:
        mix_passed_hands(row, seat, rng)
    find_legal(row)
    return twin


def mix_consequences(twin: Table) -> None:
    """Who holds the nominated card and the Excuse, after the cards have moved."""
    row = twin.row
    if row.nominated >= 0:
        holder = holder_of(twin, int(row.nominated))
        row.partner = -1 if holder == row.declarer else holder
    if row.variant == nonesuch.NUMBER and holder_of(twin, EXCUSE) >= 0:
        row.excuse = holder_of(twin, EXCUSE)


def holder_of(table: Table, card: int) -> int:
    """The seat that holds a card or has played it, -1 if none."""
    row = table.row
    return next((seat for seat in range(table.seats) if int(row.hands[seat] | row.played[seat]) >> card & 1), -1)


def mix_chance(twin: Table, rng: random.Random) -> None:
    """Another order of the deck, another seed, another number of match and table."""
    row = twin.row
    deck = row.deck[: len(twin.rules.deck)]
    deck[:] = np.roll(deck[::-1], rng.randrange(len(deck)))
    row.seed, row.table, row.match = rng.randrange(2**62), rng.randrange(2**31), rng.randrange(2**31)


def mix_passed_hands(row: Any, seat: int, rng: random.Random) -> None:
    """With `observe_previous_hand`: the other hands of a deal that was passed out."""
    seen = [get_byte(row.previous, card) for card in range(52)]
    others = [card for card in range(52) if seen[card] >= HELD and seen[card] != HELD + seat]
    holders = rng.sample([seen[card] for card in others], len(others))
    for card, holder in zip(others, holders, strict=True):
        seen[card] = holder
    row.previous[:] = 0
    for card in range(52):
        put_byte(row.previous, card, seen[card])


def shown(table: Table, seat: int) -> tuple[bytes, bytes]:
    observation, mask = table.view(seat)
    return observation.tobytes(), mask.tobytes()


def find_leaks(env: TrickTakingEnv, rng: random.Random, decisions: int) -> Iterator[str]:
    """Play at random; a line for each seat and moment at which the seat is shown what it may not see."""
    for decision in walk(env, rng, decisions):
        table = env.table
        for seat in range(table.seats):
            twin = mix_hidden(table, seat, rng)
            before, after = shown(table, seat), shown(twin, seat)
            if before != after:
                yield f"decision {decision}, seat {seat}: {'observation' if before[0] != after[0] else 'mask'}"
            if seat != table.row.seat and any(after[1]):
                yield f"decision {decision}, seat {seat}: a mask out of turn"
            if decision % 13 == seat and show.text(table, seat) != show.text(twin, seat):
                yield f"decision {decision}, seat {seat}: text"


@pytest.mark.parametrize("seeds", some([range(1), range(1, 9)], 2), ids=str)
@pytest.mark.parametrize("name", KINDS)
def test_what_a_seat_is_shown_does_not_depend_on_what_it_cannot_see(name: str, seeds: range) -> None:
    env = make(KINDS[name])
    for seed in seeds:
        env.reset(seed=seed)
        assert list(find_leaks(env, random.Random(name), DECISIONS)) == []


@pytest.mark.parametrize("name", KINDS)
def test_the_cards_that_are_mixed_are_those_that_a_seat_cannot_see(name: str) -> None:
    env = begun(make(KINDS[name]), seed=2)
    rng = random.Random(name)
    moved = Counter[bool]()
    for _ in walk(env, rng, 120):
        row = env.table.row
        for seat in range(env.table.seats):
            twin = mix_hidden(env.table, seat, rng)
            assert twin.row.hands[seat] == row.hands[seat]
            assert [int(hand).bit_count() for hand in twin.row.hands] == [int(hand).bit_count() for hand in row.hands]
            assert sum(int(hand) for hand in twin.row.hands) + int(twin.row.stock) == sum(map(int, row.hands)) + int(row.stock)
            moved[bool(np.any(twin.row.hands != row.hands) or twin.row.stock != row.stock)] += 1
            if np.any(twin.row.hands != row.hands):
                assert not np.array_equal(twin.state(seat), env.table.state(seat)), "the state tells what is hidden"
    assert moved[True] > moved[False]


@pytest.mark.parametrize("name", KINDS)
def test_a_spectator_sees_no_hand(name: str) -> None:
    env = begun(make(KINDS[name]), seed=3)
    rng = random.Random(name)
    for decision in walk(env, rng, 80):
        if decision % 8 == 0:
            twin = env.table
            for seat in range(env.table.seats):
                twin = mix_hidden(twin, seat, rng)
            # The cards of the seat to act decide what is legal, which a spectator does not see either.
            assert show.text(env.table, None) == show.text(twin, None)


LEAKS: dict[str, tuple[str, Callable[[Any, int], int]]] = {
    "the hidden partner": ("small ships, six with indication", lambda row, seat: int(row.partner) + 1),
    "the holder of the Excuse": ("nonesuch", lambda row, seat: int(row.excuse) + 1),
    "whether the nominated card is in the stock": (
        "small ships, five, restricted card",
        lambda row, seat: has_nominated(row.stock, row),
    ),
    "whether the declarer named a card of his own": ("noms", lambda row, seat: has_nominated(row.hands[row.declarer], row)),
    "the next undealt card": ("big ships", lambda row, seat: int(row.stock & -row.stock) % 251),
    "the seed": ("up down", lambda row, seat: int(row.seed) % 251),
    "the order of the deck": ("sniped whist", lambda row, seat: int(row.deck[0])),
    "the hand of the left neighbour": ("down up", lambda row, seat: int(row.hands[(seat + 1) % row.n_seats]) % 251),
    "a passed hand": ("noms, previous deal shown", lambda row, seat: int(row.previous.sum()) % 251),
    "how many cards are legal": ("nonesuch, three", lambda row, seat: int(row.legal_cards).bit_count() if row.n_table else 0),
}
"""What a careless view might show, in a byte that is else 0, and a table at which it tells something."""


def has_nominated(cards: int, row: Any) -> int:
    return int(row.nominated >= 0 and int(cards) >> int(row.nominated) & 1)


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_into_the_observation_is_found(leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, secret = LEAKS[leak]
    honest = Table.view

    def view(table: Table, seat: int) -> tuple[np.ndarray, np.ndarray]:
        observation, mask = honest(table, seat)
        assert observation[-1] == 0
        observation[-1] = secret(table.row, seat)
        return observation, mask

    monkeypatch.setattr(Table, "view", view)
    env = begun(make(KINDS[name]), seed=5)
    assert any(line.endswith("observation") for line in find_leaks(env, random.Random(name), DECISIONS))


def test_a_leak_into_the_mask_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Table.view

    def view(table: Table, seat: int) -> tuple[np.ndarray, np.ndarray]:
        return honest(table, seat)[0], honest(table, int(table.row.seat))[1]

    monkeypatch.setattr(Table, "view", view)
    env = begun(make(KINDS["nonesuch"]), seed=1)
    found = list(find_leaks(env, random.Random(1), DECISIONS))
    assert any(line.endswith(": mask") for line in found)
    assert any(line.endswith("a mask out of turn") for line in found)


AT_THE_END = 0
"""Stands for the action where none follows."""


class Moment(NamedTuple):
    """A moment of a deal: what was told to all and what each seat was shown, what was hidden from it, and what followed."""

    told: Any
    views: list[tuple[bytes, bytes]]
    texts: list[str]
    hidden: list[int]
    action: int


def moment(env: TrickTakingEnv, action: int) -> Moment:
    seats = range(env.table.seats)
    return Moment(
        (env.agent_selection, dict(env.rewards), dict(env.terminations), dict(env.truncations), readable(env.infos)),
        [shown(env.table, seat) for seat in seats],
        [show.text(env.table, seat) for seat in seats] if action % 11 == 0 else [],
        [hidden_from(env.table, seat) for seat in seats],
        action,
    )


def hidden_from(table: Table, seat: int) -> int:
    """The cards whose place a seat does not know."""
    row = table.row
    others = sum(int(row.hands[other]) for other in range(table.seats) if other != seat)
    hidden = others | (0 if is_fixed_stock(table) else int(row.stock))
    if table.is_scored:
        # The result names the partner, and by option the stock.
        hidden &= ~(1 << int(row.nominated) if row.nominated >= 0 else 0)
        hidden &= ~(int(row.stock) if row.reveal_stock_at_end else 0)
    return hidden & ~public_unplayed(table)


def play_one_deal(env: TrickTakingEnv, rng: random.Random) -> list[Moment]:
    """Moment by moment to the end of the deal; if the episode ends with it, the last one is that after the last action."""
    moments = []
    deal = env.table.row.deal
    while env.phase is not None and env.table.row.deal == deal:
        action = choose(env, rng)
        moments.append(moment(env, action))
        env.step(action)
    return moments if env.phase is not None else [*moments, moment(env, AT_THE_END)]


def exchanged(deck: list[str], words: list[str], rng: random.Random) -> list[str]:
    """The deck with two of these cards exchanged."""
    one, other = rng.sample(words, 2)
    swap = {one: other, other: one}
    return [swap.get(word, word) for word in deck]


def compare_again(env: TrickTakingEnv, moments: list[Moment], upto: int, seat: int) -> tuple[bool, list[str]]:
    """Take the same actions; whether the rules allow all of them, and where the seat saw something else."""
    differences = []
    for place, before in enumerate(moments[: upto + 1]):
        if env.agent_selection != before.told[0] or (place < upto and before.action not in env.legal_actions()):
            return False, []
        now = moment(env, before.action)
        if now.told != before.told:
            differences.append(f"decision {place}: rewards, ends or infos")
        if now.views[seat] != before.views[seat]:
            differences.append(f"decision {place}: observation or mask")
        if now.texts and now.texts[seat] != before.texts[seat]:
            differences.append(f"decision {place}: text")
        if place < upto:
            env.step(before.action)
    return True, differences


def single_deals(kind: Kind) -> Kind:
    """The same table for single deals, in which tricks cannot add up."""
    return kind._replace(options={**kind.options, "accumulate": False}) if "accumulate" in kind.options else kind


@pytest.mark.parametrize("name", KINDS)
def test_a_deal_with_hidden_cards_exchanged_looks_the_same(name: str) -> None:
    rng = random.Random(name)
    env, again = (make(single_deals(KINDS[name]), episode="deal") for _ in range(2))
    worlds = 0
    for seed in range(8):
        env.reset(seed=seed)
        start = {"dealer": int(env.table.row.dealer), "deal": int(env.table.row.deal)}
        deck = deck_in_words(env)
        moments = play_one_deal(env, rng)
        for _ in range(6):
            seat, upto = rng.randrange(env.table.seats), rng.randrange(len(moments))
            hidden = env.table.card_words(moments[upto].hidden[seat])
            if len(hidden) < 2:
                continue
            again.reset(seed=seed, options={**start, "deck": exchanged(deck, hidden, rng)})
            possible, differences = compare_again(again, moments, upto, seat)
            assert differences == [], (seed, seat, upto)
            worlds += possible
    assert worlds >= 10


def test_a_mark_left_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The partner marked as known to all at the nomination: the copy of the table keeps the mark, the deal dealt again not."""
    honest = TrickTakingEnv.step

    def step(env: TrickTakingEnv, action: int | None) -> None:
        nominates = env.phase == "nominate"
        honest(env, action)
        if nominates:
            env.table.row.revealed = env.table.row.partner

    monkeypatch.setattr(TrickTakingEnv, "step", step)
    with pytest.raises(AssertionError, match="observation or mask"):
        test_a_deal_with_hidden_cards_exchanged_looks_the_same("small ships")


@pytest.mark.parametrize("name", [name for name in KINDS if "early" not in name])
def test_every_card_is_a_step_forced_or_not(name: str) -> None:
    """Rules 0.1, point 2: a forced card that played itself would tell that it was forced."""
    env = begun(make(KINDS[name]), seed=6)
    rng = random.Random(name)
    for _ in range(6):
        row = env.table.row
        deal, size, forced = int(row.deal), int(row.deal_size), 0
        steps: Counter[str] = Counter()
        two_suited = 0
        while env.phase is not None and row.deal == deal:
            forced += len(env.legal_actions()) == 1
            action = choose(env, rng)
            phase = env.phase
            led = phase == "play" and row.n_table == 0
            two_suited += led and len(env.action_to_str(action)) == 3
            steps["indicate" if env.action_to_str(action) == "indicate" else phase] += 1
            env.step(action)
        if env.phase is None:
            break
        out = "play" not in steps
        assert out == (steps == {"call": 4}) or KINDS[name].variant != "noms"
        assert steps["play"] == (0 if out else size * env.table.seats)
        assert steps["suit"] == two_suited
        assert steps["indicate"] <= 1
        assert forced >= (0 if out else env.table.seats), "at least the last card of each seat is forced"
