"""Behaviour of players: readable rates and means ("probes"), and roles, from tables at the end of a deal.

| games | probe | mean over | of |
|---|---|---|---|
| exact-bid | `bid/hit` `bid/over` `bid/under` | calls | 1 if the seat took exactly the tricks it called, more, fewer |
| | `bid/hit/K` | calls with K cards | as `bid/hit` |
| | `bid/excess` | calls | tricks called less tricks taken |
| | `bid/zero` | calls | 1 for a call of 0 |
| | `bid/zero/hit` | calls of 0 | 1 if the seat took no trick |
| auction | `passed_out` | deals | 1 if all passed, in games that allow it; for single deals, if all passed first |
| | `contract/W` | seats | 1 if the seat declares the contract W: a number, `mis`, `mis_a_vis` |
| | `contract/W/made` | contracts W | 1 if made |
| | `numbers/made` | contracts of a number | 1 if made |
| | `misere` | seats | 1 if the seat declares `mis` or `mis_a_vis` |
| | `misere/made` | misères | 1 if made |
| | `solo` | nominations | 1 for a card in the declarer's own hand |
| | `solo/made` | solos | 1 if made |
| | `stock` | nominations | 1 for an undealt card, if the deck has any |
| | `partner/trick` | deals with a partner | trick, from 1, in which the nominated card was played |
| | `partner/overtakes` `defender/overtakes` | chances (`overtakes`) | 1 if the seat took a trick from the declarer |
| | `partner/indicated` | deals with a partner | 1 if the partner identified himself (an option) |
| nonesuch | `call/none` `call/some` `call/most` | calls | 1 for that call |
| | `none/made` `most/made` | calls of none, most | 1 if made |
| sniped whist | `sniped` | seats | 1 if sniped |
| | `sniped/shared` | deals | 1 if several seats were sniped |
| | `tricks/spread` | deals | the most tricks of a seat less the fewest |

With the option `open_partner`, everybody knows the partner, so `partner/trick` and the overtakes are not counted. A contract is
made if the declarer scored points, under any scoring options. Single deals are scored deals (`duplicate`): all probes but
`passed_out` describe the scored deal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_MOST, CALL_NONE, CALL_SOME, CALL_WORDS, CALL_ZERO
from noms_env.core.cards import SUIT_CARDS, has, suit_of
from noms_env.core.state import MAX_SEATS, SINGLE_DEAL
from noms_env.core.tricks import beats, follow
from noms_env.variants import Rules
from noms_env.variants.families import AUCTION, EXACT_BID, PLAIN, SHARES

SEATS = np.arange(MAX_SEATS)
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
PARTNER, DEFENDER = range(2)
COULD, DID = range(2)

MAIN = {
    "bid/hit": "bids hit exactly",
    "bid/over": "took more than bid",
    "bid/under": "took fewer than bid",
    "bid/zero": "bids of none",
    "passed_out": "first deals passed out",
    "numbers/made": "contracts made",
    "misere": "misere declared, per seat",
    "misere/made": "misere made",
    "solo": "own card nominated",
    "partner/trick": "partner seen in trick",
    "partner/overtakes": "partner overtakes",
    "defender/overtakes": "defender overtakes",
    "call/none": "bid None",
    "none/made": "None made",
    "call/most": "bid Most",
    "most/made": "Most made",
    "sniped": "seats sniped",
    "tricks/spread": "most less fewest tricks",
}
"""The most important probes, in words."""
NUMBERS = ("bid/excess", "partner/trick", "tricks/spread")
"""Probes that are numbers; all others are rates from 0 to 1."""


def as_read(probe: str, value: float) -> str:
    """Format a probe as a percentage or a number."""
    return f"{value:.2f}" if probe in NUMBERS else f"{value:.1%}"


@dataclass
class Tally:
    """Sums and counts of values by probe; tallies of batches add up."""

    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, name: str, values: np.ndarray) -> None:
        """Add values of a probe: numbers or booleans, any shape."""
        self.sums[name] += float(values.sum())
        self.counts[name] += values.size

    def __add__(self, other: Tally) -> Tally:
        together = Tally(self.sums.copy(), self.counts.copy())
        for name, count in other.counts.items():
            together.sums[name] += other.sums[name]
            together.counts[name] += count
        return together

    def means(self) -> dict[str, float]:
        """Return the mean of each probe that has values."""
        return {name: self.sums[name] / count for name, count in self.counts.items() if count > 0}


def count_deals(tables: np.recarray, rules: Rules, seats: np.ndarray | None = None) -> Tally:
    """Count the probes of some deals, from records of their tables at the end (`table_record.TABLE`), shape (n,).

    `seats`, bool, shape (n, MAX_SEATS), are those whose calls and contracts count; None for all. Columns beyond the table's
    seats are ignored.
    """
    there = tables.n_seats[:, None] > SEATS
    watched = there if seats is None else there & seats
    tally = Tally()
    family = rules.variant.family
    if family == EXACT_BID:
        _count_exact_bids(tally, tables, watched)
    elif family == AUCTION:
        _count_auction(tally, tables, watched, rules)
    elif family == SHARES:
        _count_nonesuch(tally, tables, watched)
    else:
        _count_sniped(tally, tables, watched)
    return tally


def _count_exact_bids(tally: Tally, tables: np.recarray, watched: np.ndarray) -> None:
    excess = (tables.call - CALL_ZERO - tables.tricks)[watched]
    none = (tables.call == CALL_ZERO)[watched]
    size = np.broadcast_to(tables.deal_size[:, None], watched.shape)[watched]
    tally.add("bid/hit", excess == 0)
    tally.add("bid/over", excess < 0)
    tally.add("bid/under", excess > 0)
    tally.add("bid/excess", excess)
    tally.add("bid/zero", none)
    tally.add("bid/zero/hit", excess[none] == 0)
    for cards in np.unique(size):
        tally.add(f"bid/hit/{cards}", excess[size == cards] == 0)


def _count_auction(tally: Tally, tables: np.recarray, watched: np.ndarray, rules: Rules) -> None:
    rows = np.arange(len(tables))
    declares = tables.declarer[:, None] == SEATS
    declared = (declares & watched).any(axis=1)
    made = tables.points[rows, tables.declarer] > 0
    if rules.variant.passes_out:
        tally.add("passed_out", (tables.passed_out != 0) | ((tables.episode == SINGLE_DEAL) & (tables.deal > 0)))
    misere = (tables.contract == CALL_MIS) | (tables.contract == CALL_MIS_A_VIS)
    for call in possible_contracts(rules):
        these = tables.contract == call
        tally.add(f"contract/{CALL_WORDS[call]}", (declares & these[:, None])[watched])
        tally.add(f"contract/{CALL_WORDS[call]}/made", made[declared & these])
    tally.add("numbers/made", made[declared & ~misere])
    tally.add("misere", (declares & misere[:, None])[watched])
    tally.add("misere/made", made[declared & misere])
    _count_nominations(tally, tables, declared & (tables.nominated >= 0), made, rules)
    if rules.options["open_partner"]:
        return  # nobody has to guess who the partner is
    for name, (possible, done) in zip(("partner/overtakes", "defender/overtakes"), overtakes(tables, watched), strict=True):
        tally.sums[name] += int(done)
        tally.counts[name] += int(possible)


def possible_contracts(rules: Rules) -> Iterable[int]:
    """Yield the calls that can become the contract, as `action - PASS`."""
    options = rules.options
    yield from range(CALL_ZERO + options["min_bid"], CALL_ZERO + options["hand_size"] + 1)
    yield CALL_MIS
    if rules.variant.opens_hand and options["mis_value"] == options["hand_size"]:
        yield CALL_MIS_A_VIS


def _count_nominations(tally: Tally, tables: np.recarray, named: np.ndarray, made: np.ndarray, rules: Rules) -> None:
    """Count nominations and the trick in which the card was played; `named`, bool, shape (n,), selects the deals."""
    rows, card = np.arange(len(tables)), np.maximum(tables.nominated, 0).astype(np.int64)
    own = (tables.hands | tables.played)[rows, tables.declarer]
    solo = named & ((own >> card) & 1 != 0)
    with_partner = named & (tables.partner >= 0)
    tally.add("solo", solo[named])
    tally.add("solo/made", made[solo])
    if rules.seats * rules.options["hand_size"] < len(rules.deck):
        tally.add("stock", (~solo & ~with_partner)[named])
    shown = tables.indicated >= 0
    if rules.options.get("indication"):
        tally.add("partner/indicated", shown[with_partner])
    if rules.options["open_partner"]:
        return
    trick = tables.trick_of[rows, card >> 3] >> (8 * (card & 7)) & 255
    tally.add("partner/trick", trick[with_partner & ~shown & (trick > 0)])


def _count_nonesuch(tally: Tally, tables: np.recarray, watched: np.ndarray) -> None:
    call, tricks = tables.call[watched], tables.tricks[watched]
    size = np.broadcast_to(tables.deal_size[:, None], watched.shape)[watched]
    for word, number in (("none", CALL_NONE), ("some", CALL_SOME), ("most", CALL_MOST)):
        tally.add(f"call/{word}", call == number)
    tally.add("none/made", tricks[call == CALL_NONE] == 0)
    tally.add("most/made", (2 * tricks >= size)[call == CALL_MOST])


def _count_sniped(tally: Tally, tables: np.recarray, watched: np.ndarray) -> None:
    sniped = tables.sniped[:, None] >> SEATS & 1
    there = tables.n_seats[:, None] > SEATS
    most = np.where(there, tables.tricks, 0).max(axis=1)
    fewest = np.where(there, tables.tricks, most[:, None]).min(axis=1)
    tally.add("sniped", sniped[watched])
    tally.add("sniped/shared", sniped.sum(axis=1) > 1)
    tally.add("tricks/spread", most - fewest)


def overtakes(tables: np.recarray, watched: np.ndarray) -> np.ndarray:
    """Count how often seats take tricks from the declarer when they need not; deals without a hidden partner count nothing.

    Only the holder of the nominated card knows his own side. A decision counts until that card is played, if the declarer is
    winning the trick, and if the seat may play a higher and a lower card. Misère is excluded: there the declarer avoids tricks.

    `tables` are as for `count_deals`, of the auction games; `watched`, bool, shape (n, MAX_SEATS), are the seats whose
    decisions count. Returns int64, shape (2, 2): for `PARTNER` and `DEFENDER`, the number of chances (`COULD`) and of overtakes
    (`DID`).
    """
    counts = np.zeros((2, 2), np.int64)
    misere = (tables.contract == CALL_MIS) | (tables.contract == CALL_MIS_A_VIS)
    for row in np.flatnonzero((tables.declarer >= 0) & (tables.partner >= 0) & (tables.nominated >= 0) & ~misere):
        t = tables[row]
        sets = (t.order.astype(np.int64), t.played.astype(np.int64), SUIT_CARDS[t.deck_kind] & t.cards, int(t.trump_cards))
        numbers = (int(t.n_seats), int(t.trick_number), int(t.declarer), int(t.partner), int(t.nominated))
        count_overtakes(*sets, *numbers, watched[row], counts)
    return counts


@jit
def count_overtakes(order, hands, suits, trump_cards, seats, tricks, declarer, partner, nominated, watched, counts):
    """Add the overtakes of one deal to `counts`, int64, shape (2, 2).

    `order` holds the cards in the order of play, `hands` the cards dealt to each seat, `suits` the cards of each suit (int64);
    `trump_cards` is a set of cards, `declarer` and `partner` are seats, `nominated` is a card, `watched` a bool for each seat.
    """
    gone = 0
    for trick in range(tricks):
        best, best_seat, led = -1, -1, 0
        for place in range(seats):
            card = order[trick * seats + place]
            seat = 0
            while not has(hands[seat], card):
                seat += 1
            if place == 0:
                led = suits[suit_of(card)]
            elif best_seat == declarer and watched[seat]:
                higher, lower = False, False
                legal = follow(hands[seat] & ~gone, led)
                for other in range(64):
                    if legal >> other & 1:
                        if beats(other, best, led, trump_cards):
                            higher = True
                        else:
                            lower = True
                if higher and lower:
                    role = PARTNER if seat == partner else DEFENDER
                    counts[role, COULD] += 1
                    if beats(card, best, led, trump_cards):
                        counts[role, DID] += 1
            if place == 0 or beats(card, best, led, trump_cards):
                best, best_seat = card, seat
            gone |= 1 << card
            if card == nominated:
                return


def roles(rules: Rules, tables: np.recarray, hero: np.ndarray) -> list[tuple[str, list[str], np.ndarray]]:
    """Return groupings of games: name, names of the groups, and each game's group index, shape (n,)."""
    family = rules.variant.family
    place = (hero - tables.dealer - 1) % rules.seats
    groupings = [("caller" if family != PLAIN else "seat after the dealer", list(PLACES[: rules.seats]), place)]
    if family == AUCTION:
        role = np.where(tables.declarer == hero, 0, np.where(tables.partner == hero, 1, 2))
        role = np.where(tables.declarer < 0, 3, role)
        groupings.insert(0, ("role", ["declarer", "partner", "defender", "passed out"], role))
    if rules.variant.passes_out:
        groupings.append(("deal", ["first", "after pass-out"], (tables.deal > 0).astype(np.int64)))
    if family == EXACT_BID:
        sizes = sorted(set(rules.schedule))
        groupings.append(("cards", [str(size) for size in sizes], np.searchsorted(sizes, tables.deal_size)))
    if family == SHARES:
        call = tables.call[np.arange(len(tables)), hero]
        calls = np.unique(call)
        groupings.insert(0, ("call", [CALL_WORDS[number] for number in calls], np.searchsorted(calls, call)))
    return groupings
