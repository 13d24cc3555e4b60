"""No leaks (rules 0.1): what a seat sees depends on nothing that the rules hide from it.

Two tests complement each other:

* At every step, the cards that a seat cannot see are mixed in a copy of the table. What the seat sees must not change by a
  byte. This finds a view that looks where it must not.
* A deal is dealt again with hidden cards exchanged, and the same actions are taken. If the rules allow them all, the seat must
  see the same from the first to the last. This also finds a mark that the engine sets at the wrong moment.

Two options reveal something about the stock by their nature: under stock_nomination "illegal" and "redraw" the tests leave the
stock alone, and with `early_stop` a deal that continues is not decided, so that some deals cannot be played again.
"""

import random
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
from tests.agreement import deck_words
from tests.begin import begin
from tests.cases import some
from tests.envs.play import KINDS, Kind, as_lists, choose, make, walk

DECISIONS = 110


def is_fixed_stock(table: Table) -> bool:
    """Return whether an option reveals something about the stock."""
    return table.rules.options.get("stock_nomination") in ("illegal", "redraw")


def public_unplayed(table: Table) -> int:
    """Return the unplayed cards whose place everybody knows."""
    row = table.row
    public = 0
    if row.turn_up >= 0:
        public |= 1 << int(row.turn_up)
    if row.exposed >= 0:
        public |= int(row.hands[row.exposed])
    if row.indicated >= 0 or (row.open_partner and row.nominated >= 0):
        public |= 1 << int(row.nominated)
    if row.variant == nonesuch.NUMBER and table.phase == "trump":
        public |= 1 << EXCUSE
    return public


def mix_hidden(table: Table, seat: int, rng: random.Random) -> Table:
    """Copy the table, and change what the seat cannot see: cards, their consequences, the chance to come."""
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
    update_consequences(twin)
    mix_chance(twin, rng)
    if row.observe_previous_hand:
        mix_passed_hands(row, seat, rng)
    find_legal(row)
    return twin


def update_consequences(twin: Table) -> None:
    """Set the holders of the nominated card and of the Excuse, after the cards have moved."""
    row = twin.row
    if row.nominated >= 0:
        holder = holder_of(twin, int(row.nominated))
        row.partner = -1 if holder == row.declarer else holder
    if row.variant == nonesuch.NUMBER and holder_of(twin, EXCUSE) >= 0:
        row.excuse = holder_of(twin, EXCUSE)


def holder_of(table: Table, card: int) -> int:
    """Return the seat that holds a card or has played it, -1 if none."""
    row = table.row
    return next((seat for seat in range(table.seats) if int(row.hands[seat] | row.played[seat]) >> card & 1), -1)


def mix_chance(twin: Table, rng: random.Random) -> None:
    """Change the order of the deck, the seed, and the numbers of match and table."""
    row = twin.row
    deck = row.deck[: len(twin.rules.deck)]
    deck[:] = np.roll(deck[::-1], rng.randrange(len(deck)))
    row.seed, row.table, row.match = rng.randrange(2**62), rng.randrange(2**31), rng.randrange(2**31)


def mix_passed_hands(row: Any, seat: int, rng: random.Random) -> None:
    """Mix the other hands of the previous deal, if it was passed out (`observe_previous_hand`)."""
    places = [get_byte(row.previous, card) for card in range(52)]
    others = [card for card in range(52) if places[card] >= HELD and places[card] != HELD + seat]
    holders = rng.sample([places[card] for card in others], len(others))
    for card, holder in zip(others, holders, strict=True):
        places[card] = holder
    row.previous[:] = 0
    for card in range(52):
        put_byte(row.previous, card, places[card])


def view_bytes(table: Table, seat: int) -> tuple[bytes, bytes]:
    observation, mask = table.view(seat)
    return observation.tobytes(), mask.tobytes()


def find_leaks(env: TrickTakingEnv, rng: random.Random, decisions: int) -> Iterator[str]:
    """Play at random; yield a line for each seat and moment at which the seat sees what it may not see."""
    for decision in walk(env, rng, decisions):
        table = env.table
        for seat in range(table.seats):
            twin = mix_hidden(table, seat, rng)
            before, after = view_bytes(table, seat), view_bytes(twin, seat)
            if before != after:
                yield f"decision {decision}, seat {seat}: {'observation' if before[0] != after[0] else 'mask'}"
            if seat != table.row.seat and any(after[1]):
                yield f"decision {decision}, seat {seat}: a mask out of turn"
            if decision % 13 == seat and show.text(table, seat) != show.text(twin, seat):
                yield f"decision {decision}, seat {seat}: text"


@pytest.mark.parametrize("seeds", some([range(1), range(1, 9)], 2), ids=str)
@pytest.mark.parametrize("name", KINDS)
def test_hidden_cards_do_not_change_what_a_seat_sees(name: str, seeds: range) -> None:
    env = make(KINDS[name])
    for seed in seeds:
        env.reset(seed=seed)
        assert list(find_leaks(env, random.Random(name), DECISIONS)) == []


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
"""What a careless view might show in a byte that is otherwise 0, and a table at which it reveals something."""


def has_nominated(cards: int, row: Any) -> int:
    return int(row.nominated >= 0 and int(cards) >> int(row.nominated) & 1)


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_into_the_observation_is_found(leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, secret = LEAKS[leak]
    honest_method = Table.view

    def view(table: Table, seat: int) -> tuple[np.ndarray, np.ndarray]:
        observation, mask = honest_method(table, seat)
        assert observation[-1] == 0
        observation[-1] = secret(table.row, seat)
        return observation, mask

    monkeypatch.setattr(Table, "view", view)
    env = begin(make(KINDS[name]), seed=5)
    assert any(line.endswith("observation") for line in find_leaks(env, random.Random(name), DECISIONS))


def test_a_leak_into_the_mask_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest_method = Table.view

    def view(table: Table, seat: int) -> tuple[np.ndarray, np.ndarray]:
        return honest_method(table, seat)[0], honest_method(table, int(table.row.seat))[1]

    monkeypatch.setattr(Table, "view", view)
    env = begin(make(KINDS["nonesuch"]), seed=1)
    leaks = list(find_leaks(env, random.Random(1), DECISIONS))
    assert any(line.endswith(": mask") for line in leaks)
    assert any(line.endswith("a mask out of turn") for line in leaks)


class Moment(NamedTuple):
    """A moment of a deal: what is public, what each seat sees, what is hidden from it, and the action that follows."""

    public: Any
    views: list[tuple[bytes, bytes]]
    texts: list[str]
    hidden: list[int]
    action: int


def record_moment(env: TrickTakingEnv, action: int) -> Moment:
    seats = range(env.table.seats)
    return Moment(
        (env.agent_selection, dict(env.rewards), dict(env.terminations), dict(env.truncations), as_lists(env.infos)),
        [view_bytes(env.table, seat) for seat in seats],
        [show.text(env.table, seat) for seat in seats] if action % 11 == 0 else [],
        [hidden_from(env.table, seat) for seat in seats],
        action,
    )


def hidden_from(table: Table, seat: int) -> int:
    """Return the cards whose place a seat does not know."""
    row = table.row
    others = sum(int(row.hands[other]) for other in range(table.seats) if other != seat)
    hidden = others | (0 if is_fixed_stock(table) else int(row.stock))
    if table.is_scored:
        # The result names the partner, and by option the stock.
        hidden &= ~(1 << int(row.nominated) if row.nominated >= 0 else 0)
        hidden &= ~(int(row.stock) if row.reveal_stock_at_end else 0)
    return hidden & ~public_unplayed(table)


def play_one_deal(env: TrickTakingEnv, rng: random.Random) -> list[Moment]:
    """Play a deal to its end; return its moments, with one after the last action if the episode ends with it."""
    moments = []
    deal = env.table.row.deal
    while env.phase is not None and env.table.row.deal == deal:
        action = choose(env, rng)
        moments.append(record_moment(env, action))
        env.step(action)
    return moments if env.phase is not None else [*moments, record_moment(env, 0)]


def exchange(deck: list[str], words: list[str], rng: random.Random) -> list[str]:
    """Exchange two of these cards in a deck."""
    card, other = rng.sample(words, 2)
    swap = {card: other, other: card}
    return [swap.get(word, word) for word in deck]


def compare_again(env: TrickTakingEnv, moments: list[Moment], upto: int, seat: int) -> tuple[bool, list[str]]:
    """Take the same actions; return whether the rules allow them all, and where the seat sees something else."""
    differences = []
    for place, before in enumerate(moments[: upto + 1]):
        if env.agent_selection != before.public[0] or (place < upto and before.action not in env.legal_actions()):
            return False, []
        now = record_moment(env, before.action)
        if now.public != before.public:
            differences.append(f"decision {place}: rewards, ends or infos")
        if now.views[seat] != before.views[seat]:
            differences.append(f"decision {place}: observation or mask")
        if now.texts and now.texts[seat] != before.texts[seat]:
            differences.append(f"decision {place}: text")
        if place < upto:
            env.step(before.action)
    return True, differences


def single_deals(kind: Kind) -> Kind:
    """Return the same table for single deals, in which tricks cannot add up."""
    return kind._replace(options={**kind.options, "accumulate": False}) if "accumulate" in kind.options else kind


@pytest.mark.parametrize("name", KINDS)
def test_a_deal_with_hidden_cards_exchanged_looks_the_same(name: str) -> None:
    rng = random.Random(name)
    env, twin = (make(single_deals(KINDS[name]), episode="deal") for _ in range(2))
    n_worlds = 0
    for seed in range(8):
        env.reset(seed=seed)
        start = {"dealer": int(env.table.row.dealer), "deal": int(env.table.row.deal)}
        deck = deck_words(env.table)
        moments = play_one_deal(env, rng)
        for _ in range(6):
            seat, upto = rng.randrange(env.table.seats), rng.randrange(len(moments))
            hidden = env.table.card_words(moments[upto].hidden[seat])
            if len(hidden) < 2:
                continue
            twin.reset(seed=seed, options={**start, "deck": exchange(deck, hidden, rng)})
            is_possible, differences = compare_again(twin, moments, upto, seat)
            assert differences == [], (seed, seat, upto)
            n_worlds += is_possible
    assert n_worlds >= 10


def test_a_mark_that_is_set_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The partner becomes public at the nomination; a copy of the table has the same mark, a deal dealt again another."""
    honest_method = TrickTakingEnv.step

    def step(env: TrickTakingEnv, action: int | None) -> None:
        nominates = env.phase == "nominate"
        honest_method(env, action)
        if nominates:
            env.table.row.revealed = env.table.row.partner

    monkeypatch.setattr(TrickTakingEnv, "step", step)
    with pytest.raises(AssertionError, match="observation or mask"):
        test_a_deal_with_hidden_cards_exchanged_looks_the_same("small ships")
