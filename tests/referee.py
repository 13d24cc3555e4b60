"""A slow referee for seven card games of the nomination-whist family.

It is an independent check of the fast engine, written from the rulebook alone, and shares no code with the engine. Section
numbers in the comments are those of the rulebook. Cards and actions are the words of the record format noms-record/1.
It uses only the standard library and plain code, so that readers who know the rules can check it by eye.

    complete_options   every option of a table with its value
    Deal               one deal: seat to act, legal actions, points
    Match              from deal to deal: dealer, hand size, multiplier, totals, the end
    check_match        replays the records of a match and lists every disagreement
    random_match       plays a match of random legal actions and records it
    random_options     draws seats and options
"""

import random
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

Options = dict[str, Any]
Number = int | float
Record = dict[str, Any]

FORMAT = "noms-record/1"
TOLERANCE = 1e-9
NT = "NT"
PASS, MIS, MIS_A_VIS = "pass", "mis", "mis_a_vis"
UNSAID, INDICATE = "unsaid", "indicate"

EXACT_BID = ("big_ships", "down_up", "up_down")
AUCTION = ("small_ships", "noms")
VARIANTS = ("sniped_whist", *EXACT_BID, *AUCTION, "nonesuch")


# Cards (sections 0 and 5.1)

FRENCH_RANKS = "23456789TJQKA"  # low to high
FRENCH_SUITS = "CDHS"
DECKTET_RANKS = "A23456789C"  # the ace is low, C is the Crown
DECKTET_SUITS = "MSWLYK"
EXCUSE = "EX"

DECKTET_PAIRS = {
    "2": ("MK", "SY", "WL"),
    "3": ("MW", "SK", "LY"),
    "4": ("MS", "WL", "YK"),
    "5": ("ML", "SW", "YK"),
    "6": ("MW", "SY", "LK"),
    "7": ("ML", "SK", "WY"),
    "8": ("MS", "WL", "YK"),
    "9": ("MS", "WY", "LK"),
}


def decktet(ranks: int = 10, suits: int = 6) -> list[str]:
    """The basic cards of the top `ranks` ranks and the first `suits` suits, 36 in the whole deck, and the Excuse."""
    singles = [rank + suit for rank in "AC" for suit in DECKTET_SUITS]
    pairs = [rank + pair for rank, pairs in DECKTET_PAIRS.items() for pair in pairs]
    missing = {*DECKTET_RANKS[: len(DECKTET_RANKS) - ranks], *DECKTET_SUITS[suits:]}
    return [*(card for card in singles + pairs if missing.isdisjoint(card)), EXCUSE]


def french_deck(ranks: int = 13, suits: int = 4) -> list[str]:
    """The top `ranks` ranks of the first `suits` suits, in hand order: by suit, low to high."""
    return [rank + suit for suit in FRENCH_SUITS[:suits] for rank in FRENCH_RANKS[-ranks:]]


def deck_of(variant: str, options: Options) -> list[str]:
    """All cards of the deck, in hand order."""
    deck = decktet if variant == "nonesuch" else french_deck
    return deck(options["ranks"], options["suits"])


def suits_in(variant: str, options: Options) -> list[str]:
    return list((DECKTET_SUITS if variant == "nonesuch" else FRENCH_SUITS)[: options["suits"]])


def suits_of(card: str) -> str:
    """The suit or suits on a card; none for the Excuse."""
    return "" if card == EXCUSE else card[1:]


def height(variant: str, card: str) -> int:
    """The card's rank, counted from the lowest. No two cards of one suit are equally high."""
    return (DECKTET_RANKS if variant == "nonesuch" else FRENCH_RANKS).index(card[0])


def hand_order(variant: str, options: Options, cards: Iterable[str]) -> list[str]:
    """Clubs, diamonds, hearts, spades, each low to high."""
    return sorted(cards, key=deck_of(variant, options).index)


def cards_to_follow(hand: Sequence[str], led: str) -> list[str]:
    """0, Trick: a hand with the led suit must follow it; otherwise any card is legal."""
    return [card for card in hand if led in suits_of(card)] or list(hand)


def trick_winner(variant: str, plays: Sequence[tuple[int, str]], led: str, trump: str) -> int:
    """0 and 5.2, Trick: the highest card of the trump suit, else the highest card of the led suit."""
    trumps = [play for play in plays if trump in suits_of(play[1])]
    contenders = trumps or [play for play in plays if led in suits_of(play[1])]
    return max(contenders, key=lambda play: height(variant, play[1]))[0]


def cards_to_lead_with_trump_ban(hand: Sequence[str], trump: str, broken: bool) -> list[str]:
    """5.2 Lead restriction: no card of the trump suit until one has been played, unless the hand has no other."""
    if broken:
        return list(hand)
    return [card for card in hand if trump not in suits_of(card)] or list(hand)


# Options


@dataclass(frozen=True)
class Option:
    """One option: its default (None may mean that it depends on the table), allowed values, and values of random tables."""

    default: Any
    allowed: Container[Any]
    drawn: Sequence[Any]


def choice(default: str, *others: str) -> Option:
    return Option(default, (default, *others), (default, *others))


def switch(default: bool) -> Option:
    return Option(default, (False, True), (False, True))


def number(default: int | None, low: int, high: int, drawn: Sequence[int]) -> Option:
    return Option(default, range(low, high + 1), drawn)


def limit(default: int, high: int, drawn: Sequence[int]) -> Option:
    """A number or None, which means no limit."""
    return Option(default, (None, *range(1, high + 1)), (None, *drawn))


def table_switch() -> Option:
    """A switch with a default that depends on the table."""
    return Option(None, (False, True), (False, True))


def rotation(default: str) -> Option:
    names = tuple(default.split())
    return Option(names, (), (names, names[::-1], names[1:3] + names[4:] + names[:1]))


SHORT_DECK = {
    "ranks": number(13, 2, 13, range(2, 14)),
    "suits": number(4, 1, 4, range(1, 5)),
    "reveal_stock_at_end": switch(False),
}
DEAL_MODES = ("packets", "packets_shuffled", "single_shuffled")
HAND_SIZE = {"hand_size": number(None, 1, 52, range(1, 18))}

OPTIONS: dict[str, dict[str, Option]] = {
    "sniped_whist": {
        "n_hands": number(1, 1, 100, range(1, 5)),
        "trump_mode": choice("turnup", "rotation", "random", "none", "dealer"),
        "trump_rotation": rotation("H C D S NT"),
        "scoring": choice("place", "tricks"),
        "snip_penalty": number(0, 0, 100, range(6)),
        "tie": choice("share", "none", "cut"),
        "accumulate": switch(False),
        "objective": choice("least", "most"),
        **HAND_SIZE,
        **SHORT_DECK,
    },
    "big_ships": {
        "start_cards": number(None, 1, 52, range(1, 18)),
        "hook": switch(False),
        "hook_min_cards": number(1, 1, 17, range(1, 18)),
        "bonus": choice("exact", "at_least"),
        "repeat_one": switch(False),
        "direction": choice("down_up", "down", "up_down"),
        "trump_rotation": rotation("H C D S NT"),
        **SHORT_DECK,
    },
    "down_up": {
        "hook": switch(True),
        "hook_min_cards": number(1, 1, 17, range(1, 18)),
        "trump_rotation": rotation("S H C D NT"),
        **SHORT_DECK,
    },
    "up_down": {
        "schedule": choice("up_down", "up", "up_down_repeat_top", "up_up"),
        "trump_mode": choice("rotation", "turnup", "random", "none"),
        "turnup_full_deal": choice("none", "dealer_last"),
        "hook": switch(True),
        "hook_min_cards": number(4, 1, 17, range(1, 18)),
        "trump_rotation": rotation("S H D C NT"),
        **SHORT_DECK,
    },
    "small_ships": {
        "min_bid": number(None, 1, 52, range(1, 18)),
        "misere_value": number(None, 1, 1000, range(1, 16)),
        "misere_above": number(None, 0, 52, range(18)),
        "misere_trump": choice("choice", "none"),
        "misere_nominates": switch(True),
        "misere_penalty": choice("team", "own"),
        "misere_opponents_score": switch(True),
        "forced_bid_numeric_only": switch(True),
        "forced_bid_closes": switch(False),
        "first_trick_restriction": choice("suit", "card", "off"),
        "stock_nomination": choice("alone", "illegal", "redraw"),
        "target": limit(100, 100_000, range(5, 40)),
        "max_hands": limit(20, 100_000, range(1, 12)),
        "indication": switch(False),
        "open_partner": switch(False),
        **HAND_SIZE,
        **SHORT_DECK,
    },
    "noms": {
        "min_bid": number(None, 1, 52, range(1, 18)),
        "dealer_forced": table_switch(),
        "unbid_slam_loses": switch(False),
        "mis_value": number(None, 1, 52, (10,)),
        "keep_mis_a_vis": switch(False),
        "forced_bid_closes": switch(False),
        "first_lead": choice("bidder", "left_of_dealer"),
        "implicit_announcements": switch(False),
        "open_partner": switch(False),
        "tie": choice("joint", "play_on"),
        "cut": Option(None, (None, *range(52)), (None, *range(52))),
        "cut_min": number(1, 1, 26, range(1, 27)),
        "trick_order": choice("play", "reverse", "random"),
        "trick_stack": choice("on_top", "underneath"),
        "pile_order": choice("left_first", "right_first", "random"),
        "deal_mode": Option(None, DEAL_MODES, DEAL_MODES),
        "double_repeat": choice("double", "quadruple", "single"),
        "max_deals": number(200, 1, 1000, range(1, 15)),
        "early_stop": switch(False),
        "target": limit(101, 100_000, range(20, 120)),
        "observe_previous_hand": switch(False),
        **HAND_SIZE,
        **SHORT_DECK,
    },
    "nonesuch": {
        "half": choice("ceil", "exact", "floor"),
        "target": limit(31, 100_000, range(10, 50)),
        "max_hands": number(100, 1, 1000, range(1, 15)),
        "ranks": number(10, 2, 10, range(2, 11)),
        "suits": number(6, 2, 6, range(2, 7)),
    },
}

SEATS = {
    "sniped_whist": (3, 7),
    "big_ships": (2, 7),
    "small_ships": (3, 6),
    "noms": (4, 4),
    "nonesuch": (3, 4),
    "down_up": (3, 6),
    "up_down": (4, 4),
}


def complete_options(variant: str, seats: int, partial: Options) -> Options:
    """Return every option of the variant with its value. ValueError if the rules do not allow the table."""
    if variant not in OPTIONS:
        raise ValueError(f"there is no variant {variant!r}")
    unknown = sorted(set(partial) - set(OPTIONS[variant]))
    if unknown:
        raise ValueError(f"{variant} has no option {', '.join(unknown)}")
    options = {name: partial.get(name, option.default) for name, option in OPTIONS[variant].items()}
    _settle_deck_and_seats(variant, seats, options)
    if "hand_size" in options:
        most = len(deck_of(variant, options)) // seats
        _default(options, "hand_size", most)
        _require(options["hand_size"] in range(1, most + 1), "hand_size")
    if variant == "big_ships":
        most = len(deck_of(variant, options)) // seats
        _default(options, "start_cards", min(13, most))
        _require(options["start_cards"] in range(1, most + 1), "start_cards")
    if "trump_rotation" in options:
        _settle_rotation(variant, options, partial)
    if variant == "small_ships":
        _settle_small_ships_bids(seats, options)
    if variant == "noms":
        _settle_noms_table(seats, options)
    for name, option in OPTIONS[variant].items():
        if name != "trump_rotation":
            _require(_is_allowed(options[name], option.allowed), name)
    return options


def _default(options: Options, name: str, value: Any) -> None:
    if options[name] is None:
        options[name] = value


def _require(condition: bool, name: str) -> None:
    if not condition:
        raise ValueError(f"this table does not allow that {name}")


def _is_allowed(value: Any, allowed: Container[Any]) -> bool:
    """Membership that distinguishes True from 1: switches are true or false, numbers are whole numbers."""
    is_switch = allowed == (False, True)
    return isinstance(value, bool) == is_switch and not isinstance(value, float) and value in allowed


def _settle_deck_and_seats(variant: str, seats: int, options: Options) -> None:
    lowest, highest = SEATS[variant]
    for name in ("ranks", "suits"):
        _require(_is_allowed(options[name], OPTIONS[variant][name].allowed), name)
    if variant != "nonesuch" and (options["ranks"] < 13 or options["suits"] < 4):
        lowest = 2
    _require(lowest <= seats <= highest, "number of seats")
    cards = len(deck_of(variant, options))
    _require(cards >= seats, "number of seats with so few cards")
    _require(variant != "nonesuch" or cards % seats == 1, "number of seats: one card must be left over")


def _settle_rotation(variant: str, options: Options, partial: Options) -> None:
    """The default list omits suits that are not in the deck; another list may not name them."""
    names = [*suits_in(variant, options), NT]
    if partial.get("trump_rotation") is None:
        options["trump_rotation"] = [name for name in OPTIONS[variant]["trump_rotation"].default if name in names]
    options["trump_rotation"] = list(options["trump_rotation"])
    _require(1 <= len(options["trump_rotation"]) <= 10, "trump_rotation")
    _require(all(name in names for name in options["trump_rotation"]), "trump_rotation")


def _settle_small_ships_bids(seats: int, options: Options) -> None:
    """3.3: the formulas that give the numbers of the source text with four seats."""
    h = options["hand_size"]
    _default(options, "min_bid", 2 * h // seats + 1)
    _require(options["min_bid"] in range(1, h + 1), "min_bid")
    _default(options, "misere_value", max(1, h - 3))
    _default(options, "misere_above", max(options["min_bid"] - 1, h - 3))
    _require(options["misere_above"] in range(options["min_bid"] - 1, h + 1), "misere_above")
    _require(options["target"] is not None or options["max_hands"] is not None, "target and max_hands: one must be set")


def _settle_noms_table(seats: int, options: Options) -> None:
    h = options["hand_size"]
    usual_minimum = min(10, -(-10 * h // 13))  # 10 with 13 cards a seat; -(-a // b) rounds up
    _default(options, "min_bid", usual_minimum)
    _require(options["min_bid"] in (range(7, 11) if h == 13 else range(1, h + 1)), "min_bid")
    _default(options, "dealer_forced", options["min_bid"] < usual_minimum)
    _default(options, "mis_value", h)
    _require(options["mis_value"] == h or (options["mis_value"] == 10 and h > 10 and options["min_bid"] <= 10), "mis_value")
    _require(options["mis_value"] != h or not options["keep_mis_a_vis"], "keep_mis_a_vis")
    _require(options["dealer_forced"] or not options["forced_bid_closes"], "forced_bid_closes")
    table_for_packets = options["ranks"] == 13 and options["suits"] == 4 and seats == 4 and h == 13
    _default(options, "deal_mode", "packets" if table_for_packets else "single_shuffled")
    _require(table_for_packets or options["deal_mode"] == "single_shuffled", "deal_mode")


# Hand sizes and the deal


def schedule(variant: str, seats: int, options: Options) -> list[int]:
    """The hand sizes of an exact-bid match, deal by deal (sections 2, 6, 7)."""
    most = len(deck_of(variant, options)) // seats
    if variant == "big_ships":
        return _big_ships_schedule(options["start_cards"], options["direction"], options["repeat_one"])
    if variant == "down_up":
        top = min(8 if seats == 6 else 10, most)
        return [*range(top, 0, -1), *range(2, top + 1)]
    top = min(13, most)
    up = list(range(1, top + 1))
    schedules = {"up_down": up + up[-2::-1], "up": up, "up_down_repeat_top": up + up[::-1], "up_up": up + up}
    return schedules[options["schedule"]]


def _big_ships_schedule(start: int, direction: str, repeat_one: bool) -> list[int]:
    down = list(range(start, 0, -1))
    up = down[::-1]
    if direction == "down":
        return down
    if direction == "up_down":
        return up + down[1:]
    return down + (up if repeat_one else up[1:])


def hand_size_of(variant: str, seats: int, options: Options, deal: int) -> int:
    """The number of cards per seat in deal number `deal`, counted from 0."""
    if variant in EXACT_BID:
        return schedule(variant, seats, options)[deal]
    return len(deck_of(variant, options)) // seats if variant == "nonesuch" else options["hand_size"]


def seats_in_turn(first: int, seats: int) -> list[int]:
    return [(first + step) % seats for step in range(seats)]


def deal_single(deck: Sequence[str], seats: int, dealer: int, hand_size: int) -> list[list[str]]:
    """0: one card at a time, beginning with eldest."""
    hands: list[list[str]] = [[] for _ in range(seats)]
    for place, card in enumerate(deck[: seats * hand_size]):
        hands[(dealer + 1 + place) % seats].append(card)
    return hands


def deal_packets(deck: Sequence[str], dealer: int) -> list[list[str]]:
    """4.3 Packet deal: four rounds of packets of 3, the r-th seat's packet in round r being one of 4."""
    hands: list[list[str]] = [[] for _ in range(4)]
    top = 0
    for round_number in range(4):
        for place, seat in enumerate(seats_in_turn((dealer + 1) % 4, 4)):
            size = 4 if place == round_number else 3
            hands[seat].extend(deck[top : top + size])
            top += size
    return hands


# Gathering without a shuffle (section 4.3)


@dataclass(frozen=True)
class Trick:
    """A completed trick in playing order, or the cards left in a hand when the deal stopped early."""

    winner: int
    cards: list[str]


def cut_deck(deck: Sequence[str], cut: int) -> list[str]:
    return [*deck[cut:], *deck[:cut]]


def possible_cuts(options: Options) -> list[int]:
    if options["cut"] is not None:
        return [options["cut"]]
    return list(range(options["cut_min"], 52 - options["cut_min"] + 1))


def possible_pile_orders(options: Options, new_dealer: int) -> list[list[int]]:
    """Gathering, point 3: the seats of the piles from the top; the new dealer's own pile is the last."""
    if options["pile_order"] == "random":
        return [list(order) for order in permutations(range(4))]
    step = 1 if options["pile_order"] == "left_first" else -1
    return [[(new_dealer + step * place) % 4 for place in (1, 2, 3, 4)]]


def trick_packets(options: Options, tricks: Sequence[Trick], pile_order: Sequence[int]) -> list[list[str]]:
    """Gathering, points 1 to 3: the packets of the gathered deck from the top."""
    packets: list[list[str]] = []
    for seat in pile_order:
        pile = [trick.cards for trick in tricks if trick.winner == seat]  # oldest trick first
        packets += pile[::-1] if options["trick_stack"] == "on_top" else pile
    if options["trick_order"] == "reverse":
        packets = [packet[::-1] for packet in packets]
    return packets


def gather_played(options: Options, tricks: Sequence[Trick], new_dealer: int, rng: random.Random) -> list[str]:
    """The deck before the cut after a played deal; chance only where an order is "random"."""
    packets = trick_packets(options, tricks, rng.choice(possible_pile_orders(options, new_dealer)))
    if options["trick_order"] == "random":
        packets = [rng.sample(packet, len(packet)) for packet in packets]
    return [card for packet in packets for card in packet]


def could_be_gathered(options: Options, tricks: Sequence[Trick], new_dealer: int, deck: Sequence[str]) -> bool:
    """Whether the new dealer may have gathered `deck`, before the cut."""
    return any(
        _lies_in_packets(deck, trick_packets(options, tricks, order), exactly=options["trick_order"] != "random")
        for order in possible_pile_orders(options, new_dealer)
    )


def _lies_in_packets(deck: Sequence[str], packets: Sequence[Sequence[str]], exactly: bool) -> bool:
    top = 0
    for packet in packets:
        part = list(deck[top : top + len(packet)])
        if part != list(packet) if exactly else sorted(part) != sorted(packet):
            return False
        top += len(packet)
    return top == len(deck)


def sort_passed_hand(hand: Iterable[str]) -> list[str]:
    """4.3 After four passes: hearts, clubs, diamonds, spades, each high to low."""
    return sorted(hand, key=lambda card: ("HCDS".index(card[1]), -FRENCH_RANKS.index(card[0])))


def gather_passed(hands: Sequence[Sequence[str]], passed_dealer: int) -> list[str]:
    """4.3 After four passes: sorted packets from the seat left of the dealer of the passed deal on, first on top."""
    return [card for seat in seats_in_turn((passed_dealer + 1) % 4, 4) for card in sort_passed_hand(hands[seat])]


# Bidding


def exact_bids(hand_size: int, earlier: Sequence[int], seats: int, options: Options) -> list[str]:
    """0.2: 0 to h for everybody; under the hook the last seat may not make the sum h."""
    forbidden = hand_size - sum(earlier)
    hooked = options["hook"] and hand_size >= options["hook_min_cards"] and len(earlier) == seats - 1
    return [str(bid) for bid in range(hand_size + 1) if not (hooked and bid == forbidden)]


def auction_ladder(variant: str, options: Options) -> list[str]:
    """All bids of the competitive auction, low to high (3.1, 3.3, 4.1, 4.4)."""
    h, lowest = options["hand_size"], options["min_bid"]
    if variant == "noms" and options["mis_value"] == h:
        return [*_numbers(lowest, h), MIS, MIS_A_VIS]
    directly_below_mis = 10 if variant == "noms" else options["misere_above"]
    ladder = [*_numbers(lowest, directly_below_mis), MIS, *_numbers(directly_below_mis + 1, h)]
    return [*ladder, MIS_A_VIS] if variant == "noms" and options["keep_mis_a_vis"] else ladder


def _numbers(low: int, high: int) -> list[str]:
    return [str(bid) for bid in range(low, high + 1)]


@dataclass(frozen=True)
class Auction:
    """0.3: the competitive auction after `calls`, in turn from eldest (place 0) to the dealer (last place)."""

    variant: str
    seats: int
    options: Options
    calls: Sequence[str]

    @property
    def ladder(self) -> list[str]:
        return auction_ladder(self.variant, self.options)

    @property
    def bids(self) -> list[tuple[int, str]]:
        """Every bid, with its place in the sequence of calls."""
        return [(place, word) for place, word in enumerate(self.calls) if word != PASS]

    @property
    def passed_out(self) -> bool:
        """4.1 Four opening passes."""
        return not self.bids and len(self.calls) == self.seats

    @property
    def dealer_is_forced(self) -> bool:
        """n-1 passes and no bid: the dealer of Small Ships must bid, in Noms only under `dealer_forced`."""
        must_bid = self.variant == "small_ships" or self.options["dealer_forced"]
        return must_bid and not self.bids and len(self.calls) == self.seats - 1

    @property
    def over(self) -> bool:
        if not self.bids:
            return self.passed_out
        place, highest = self.bids[-1]
        passes_since = len(self.calls) - 1 - place
        return passes_since == self.seats - 1 or highest == self.ladder[-1] or self._closed_by_forced_bid()

    def _closed_by_forced_bid(self) -> bool:
        only_the_dealer_bid = [place for place, _ in self.bids] == [self.seats - 1]
        return self.options["forced_bid_closes"] and only_the_dealer_bid

    def winner(self) -> tuple[int, str]:
        """Place of the high bidder, counted from eldest = 0, and the bid."""
        place, highest = self.bids[-1]
        return place % self.seats, highest

    def legal(self) -> list[str]:
        if self.over:
            return []
        if self.dealer_is_forced:
            no_misere = self.variant == "small_ships" and self.options["forced_bid_numeric_only"]
            return [bid for bid in self.ladder if not (no_misere and bid == MIS)]
        above = self.ladder.index(self.bids[-1][1]) + 1 if self.bids else 0
        return [PASS, *self.ladder[above:]]


# Settlement: points of one deal


def seats_with(tricks: Sequence[Number], count: Number) -> list[int]:
    return [seat for seat, taken in enumerate(tricks) if taken == count]


def fewest_and_most(options: Options, tricks: Sequence[int]) -> tuple[list[int], list[int]]:
    """Section 1, Result: the seats W and X; `objective="most"` exchanges them."""
    low, high = seats_with(tricks, min(tricks)), seats_with(tricks, max(tricks))
    return (low, high) if options["objective"] == "least" else (high, low)


def seats_sniped(options: Options, tricks: Sequence[int], cut_seat: int | None) -> list[int]:
    """8b `tie`: the sniped seats among those tied in the sniped place; a cut chooses `cut_seat`."""
    _, tied = fewest_and_most(options, tricks)
    if len(tied) == 1 or options["tie"] == "share":
        return tied
    if options["tie"] == "none":
        return []
    if cut_seat not in tied:
        raise ValueError(f"one of the tied seats {tied} must be drawn, not {cut_seat}")
    return [cut_seat]


def settle_sniped_whist(options: Options, tricks: Sequence[int], cut_seat: int | None = None) -> list[Number]:
    """Section 1, Result."""
    if options["scoring"] == "place" and min(tricks) == max(tricks):
        return [0] * len(tricks)
    best, _ = fewest_and_most(options, tricks)
    sniped = seats_sniped(options, tricks, cut_seat)
    if options["scoring"] == "tricks":
        sign = -1 if options["objective"] == "least" else 1
        return [sign * taken - (options["snip_penalty"] if seat in sniped else 0) for seat, taken in enumerate(tricks)]
    points: list[Number] = [0] * len(tricks)
    for seat in best:
        points[seat] += 1 / len(best)
    for seat in sniped:
        points[seat] -= 1 / len(sniped)
    return points


def settle_exact_bid(bids: Sequence[int], tricks: Sequence[int], bonus: str = "exact") -> list[Number]:
    """Sections 2, 6, 7, Score: 1 per trick, 10 more for the made call."""
    return [
        taken + (10 if taken == bid or (bonus == "at_least" and taken > bid) else 0)
        for bid, taken in zip(bids, tricks, strict=True)
    ]


def side_of(declarer: int, partner: int | None) -> list[int]:
    return [declarer] if partner is None else [declarer, partner]


def settle_small_ships(
    options: Options, contract: str, declarer: int, partner: int | None, tricks: Sequence[int], indicated: int | None = None
) -> list[Number]:
    """3.1 Scoring; `indicated` is the seat that indicated (3.4), or None."""
    team = side_of(declarer, partner)
    taken = sum(tricks[seat] for seat in team)
    value = options["misere_value"] if contract == MIS else int(contract)
    outsiders_score = contract != MIS or options["misere_opponents_score"]
    points: list[Number] = [own if outsiders_score else 0 for own in tricks]
    for seat in team:
        if contract != MIS:
            points[seat] = value if taken >= value else 0
        elif taken == 0:
            points[seat] = value * len(team)  # alone v, with a partner 2v each
        else:
            counted = taken if options["misere_penalty"] == "team" else tricks[seat]
            points[seat] = -(value + counted)
    if indicated is not None:
        points[indicated] -= 2 * value
    return points


def settle_noms(
    options: Options, contract: str, declarer: int, partner: int | None, tricks: Sequence[int], multiplier: int = 1
) -> list[Number]:
    """4.1 Score made, Score failed; 4.4 slam not bid, value of Mis."""
    h = options["hand_size"]
    side = side_of(declarer, partner)
    taken = sum(tricks[seat] for seat in side)
    if contract == MIS and options["mis_value"] != h and taken > 0:  # 4.4 Mis at 10, failed
        return [-(10 + taken) * multiplier if seat == declarer else 0 for seat in range(len(tricks))]
    if contract in (MIS, MIS_A_VIS):
        made = taken == 0
        amount = options["mis_value"] if contract == MIS else 2 * h
    else:
        amount = int(contract)
        made = taken >= amount
        if options["unbid_slam_loses"] and amount < h and taken == h:
            made, amount = False, 2 * h
    return [amount * multiplier if (seat in side) == made else 0 for seat in range(len(tricks))]


def noms_is_decided(options: Options, contract: str, declarer: int, partner: int | None, tricks: Sequence[int]) -> bool:
    """8b `early_stop`: no later trick can change the points."""
    h = options["hand_size"]
    taken = sum(tricks[seat] for seat in side_of(declarer, partner))
    against = sum(tricks) - taken
    if contract in (MIS, MIS_A_VIS):
        return taken > 0 and (contract == MIS_A_VIS or options["mis_value"] == h)
    bid = int(contract)
    slam_matters = options["unbid_slam_loses"] and bid < h
    return against > h - bid or (taken >= bid and not (slam_matters and against == 0))


def settle_nonesuch(options: Options, bids: Sequence[str], tricks: Sequence[int]) -> list[Number]:
    """5.2 Scoring. The tricks of the whole deal are 12 or 9 with the whole deck."""
    total = sum(tricks)
    return [nonesuch_points(options, bid, taken, total) for bid, taken in zip(bids, tricks, strict=True)]


def nonesuch_points(options: Options, bid: str, taken: int, total: int) -> Number:
    if bid == "some":
        return taken
    if bid == "none":
        return total if taken == 0 else -taken
    if 2 * taken >= total:  # at least half: 6 of 12, 5 of 9, whatever `half` says
        return 2 * taken
    counted_from = {"ceil": (total + 1) // 2, "exact": total / 2, "floor": total // 2}[options["half"]]
    return taken - counted_from


# One deal


class Deal:
    """One deal.

    `options` are complete; `deck` is in dealing order (noms: after the cut). Chance draws the suit `random_trump` under
    trump_mode="random", and the seat `sniped` under tie="cut". `carried_tricks` are the tricks of earlier deals under
    `accumulate`. Accumulated tricks are scored in the `last` deal, by default deal n_hands-1.
    """

    def __init__(
        self,
        variant: str,
        seats: int,
        options: Options,
        *,
        deal: int,
        dealer: int,
        deck: Sequence[str],
        multiplier: int = 1,
        before: Sequence[Number] | None = None,
        random_trump: str | None = None,
        sniped: int | None = None,
        carried_tricks: Sequence[int] | None = None,
        last: bool | None = None,
    ) -> None:
        if sorted(deck) != sorted(deck_of(variant, options)):
            raise ValueError("the deck is not a permutation of the cards of the game")
        if dealer not in range(seats):
            raise ValueError("there is no such dealer")
        self.variant, self.seats, self.options = variant, seats, options
        self.deal, self.dealer, self.multiplier = deal, dealer, multiplier
        self.deck = list(deck)
        self.before: list[Number] = list(before) if before is not None else [0] * seats
        self.random_trump, self.sniped = random_trump, sniped
        self.carried_tricks = list(carried_tricks) if carried_tricks is not None else [0] * seats
        self.last = last if last is not None else deal == options.get("n_hands", 0) - 1
        self.eldest = (dealer + 1) % seats
        self.hand_size = hand_size_of(variant, seats, options, deal)

        packets = variant == "noms" and options["deal_mode"] != "single_shuffled"
        self.initial_hands = deal_packets(deck, dealer) if packets else deal_single(deck, seats, dealer, self.hand_size)
        self.hands = [list(hand) for hand in self.initial_hands]
        self.stock = self.deck[seats * self.hand_size :]
        self.turn_up = self._turn_up()
        self.trump = self._trump_of_the_deal()

        self.steps: list[dict[str, Any]] = []
        self.calls: list[str] = []  # in turn, beginning with eldest
        self.contract: str | None = None
        self.declarer: int | None = None
        self.nominated: str | None = None
        self.partner: int | None = None
        self.refused: list[str] = []  # 3.3: nominated cards that lay in the stock under stock_nomination="redraw"
        self.unsuited_rank: str | None = None  # 4.2: a rank nominated before there is a trump suit
        self.indicated: int | None = None  # 3.4: the seat that indicated
        self.passed_out = False
        self.trump_played = False  # 5.2: whether a card of the trump suit has been played
        self.trick_history: list[Trick] = []
        self.table: list[tuple[int, str]] = []  # the trick being played
        self.led: str | None = None  # the suit to follow

        self.phase: str | None = "call"
        self.seat = self.eldest
        if variant == "sniped_whist":
            dealer_names_trump = options["trump_mode"] == "dealer"
            self.phase, self.seat = ("trump", dealer) if dealer_names_trump else ("play", self.eldest)

    # -- the deal ------------------------------------------------------------------------------------------------------

    def _turn_up(self) -> str | None:
        """Sections 1 and 7: the next undealt card, else the dealer's last one. Section 5: the card left over."""
        if self.variant == "nonesuch":
            return self.stock[0]
        if self.options.get("trump_mode") != "turnup":
            return None
        if self.stock:
            return self.stock[0]
        if self.variant == "up_down" and self.options["turnup_full_deal"] == "none":
            return None
        return self.initial_hands[self.dealer][-1]

    def _trump_of_the_deal(self) -> str | None:
        """The trump before the first action; None if a seat has yet to name it."""
        if self.variant in AUCTION:
            return None
        if self.variant == "nonesuch":
            return self._trump_of_the_up_card()
        mode = self.options.get("trump_mode", "rotation")
        if mode == "dealer":
            return None
        if mode == "rotation":
            names: list[str] = self.options["trump_rotation"]
            return names[self.deal % len(names)]
        if mode == "random":
            if self.random_trump not in suits_in(self.variant, self.options):
                raise ValueError("random trump must be a suit of the deck")
            return self.random_trump
        return suits_of(self.turn_up) if self.turn_up is not None else NT

    def _trump_of_the_up_card(self) -> str | None:
        """5.2: the suit of an Ace or Crown; no trump under the Excuse; the holder of the Excuse chooses under a number card."""
        assert self.turn_up is not None
        if self.turn_up == EXCUSE:
            return NT
        return suits_of(self.turn_up) if len(suits_of(self.turn_up)) == 1 else None

    def holder(self, card: str) -> int | None:
        """The seat that was dealt the card; None for a card of the stock."""
        return next((seat for seat, hand in enumerate(self.initial_hands) if card in hand), None)

    def public_place(self) -> int | str | None:
        """The publicly known place of the nominated card: the seat that was dealt it, the "stock", or None while it is secret.

        The play of the card shows its holder, and so does an indication. Under `open_partner` the announcement shows the place.
        """
        if self.nominated is None:
            return None
        if self.options["open_partner"]:
            holder = self.holder(self.nominated)
            return "stock" if holder is None else holder
        played = {card for trick in self.trick_history for card in trick.cards} | {card for _, card in self.table}
        return self.holder(self.nominated) if self.nominated in played else self.indicated

    # -- legal actions -------------------------------------------------------------------------------------------------

    def legal(self) -> list[str]:
        """Every legal action of the seat to act; none after the deal."""
        if self.phase is None:
            return []
        words: dict[str, Callable[[], list[str]]] = {
            "call": self._legal_calls,
            "trump": self._legal_trumps,
            "nominate": self._legal_nominations,
            "play": self._legal_plays,
            "suit": lambda: list(suits_of(self.table[0][1])),
        }
        return words[self.phase]()

    def _auction(self) -> Auction:
        return Auction(self.variant, self.seats, self.options, self.calls)

    def _legal_calls(self) -> list[str]:
        if self.variant == "nonesuch":
            return ["none", "some", "most"]
        if self.variant in EXACT_BID:
            return exact_bids(self.hand_size, [int(bid) for bid in self.calls], self.seats, self.options)
        return self._auction().legal()

    def _legal_trumps(self) -> list[str]:
        if self.variant == "nonesuch":  # 5.2: one of the suits of the up card
            assert self.turn_up is not None
            return list(suits_of(self.turn_up))
        names = [*suits_in(self.variant, self.options), NT]
        bidder_leads = self.variant == "noms" and self.options["first_lead"] == "bidder"
        if bidder_leads and self.options["implicit_announcements"]:  # 4.2
            names.append(UNSAID)
        return names

    def _legal_nominations(self) -> list[str]:
        cards = deck_of(self.variant, self.options)
        if self.variant == "small_ships":
            barred = self.stock if self.options["stock_nomination"] == "illegal" else self.refused
            return [card for card in cards if card not in barred]
        if self.options["implicit_announcements"] and self.trump != NT:  # 4.2: a bare rank, of the trump suit
            cards += list(FRENCH_RANKS[-self.options["ranks"] :])
        return cards

    def _legal_plays(self) -> list[str]:
        hand = self.hands[self.seat]
        cards = cards_to_follow(hand, self.led) if self.led is not None else self._cards_to_lead(hand)
        return [*cards, INDICATE] if self._may_indicate() else cards

    def _cards_to_lead(self, hand: list[str]) -> list[str]:
        if self.variant == "nonesuch":
            assert self.trump is not None
            return cards_to_lead_with_trump_ban(hand, self.trump, self.trump_played)
        if self.variant == "small_ships" and not self.trick_history and self.seat == self.declarer:
            return self._cards_outside_the_nomination(hand)
        return list(hand)

    def _cards_outside_the_nomination(self, hand: list[str]) -> list[str]:
        """3.1 First-trick restriction: the declarer on lead avoids the nominated suit (or card), if possible."""
        restriction = self.options["first_trick_restriction"]
        if self.nominated is None or restriction == "off":
            return list(hand)
        if restriction == "card":
            allowed = [card for card in hand if card != self.nominated]
        else:
            allowed = [card for card in hand if suits_of(card) != suits_of(self.nominated)]
        return allowed or list(hand)

    def _may_indicate(self) -> bool:
        """3.4: the hidden partner, once per deal, while the card is still in the hand."""
        return (
            self.variant == "small_ships"
            and self.options["indication"]
            and self.indicated is None
            and self.seat == self.partner
            and self.nominated in self.hands[self.seat]
        )

    # -- effects of actions --------------------------------------------------------------------------------------------

    def act(self, word: str) -> None:
        """Take the action `word` for the seat to act. ValueError if it is illegal."""
        legal = self.legal()
        if word not in legal:
            raise ValueError(f"seat {self.seat} may not {self.phase} {word!r}")
        self.steps.append({"seat": self.seat, "phase": self.phase, "action": word, "legal": legal})
        actions: dict[str | None, Callable[[str], None]] = {
            "call": self._call,
            "trump": self._name_trump,
            "nominate": self._nominate,
            "play": self._play,
            "suit": self._name_suit,
        }
        actions[self.phase](word)

    def _call(self, word: str) -> None:
        self.calls.append(word)
        self.seat = (self.seat + 1) % self.seats
        if self.variant in AUCTION:
            if self._auction().over:
                self._end_auction()
        elif len(self.calls) == self.seats:
            self._end_bidding()

    def _end_bidding(self) -> None:
        if self.variant == "nonesuch" and self.turn_up != EXCUSE:
            holder = self.holder(EXCUSE)
            assert holder is not None
            if self.trump is None:
                self.phase, self.seat = "trump", holder
                return
            self._swap_excuse(holder)
        self._first_lead(self.eldest)

    def _swap_excuse(self, holder: int) -> None:
        """5.2 After the bids: the Excuse is discarded for the up card."""
        assert self.turn_up is not None
        self.hands[holder].remove(EXCUSE)
        self.hands[holder].append(self.turn_up)

    def _end_auction(self) -> None:
        auction = self._auction()
        if auction.passed_out:
            self.passed_out = True
            self.phase = None
            return
        place, self.contract = auction.winner()
        self.declarer = self.seat = (self.eldest + place) % self.seats
        if self._contract_has_a_trump_choice():
            self.phase = "trump"
        else:
            self.trump = NT
            self._after_trump()

    def _contract_has_a_trump_choice(self) -> bool:
        """Mis and Mis a Vis of Noms have no trump; `misere_trump` decides for Misere of Small Ships."""
        if self.contract not in (MIS, MIS_A_VIS):
            return True
        return self.variant == "small_ships" and self.options["misere_trump"] == "choice"

    def _contract_has_a_nomination(self) -> bool:
        if self.contract not in (MIS, MIS_A_VIS):
            return True
        return self.variant == "small_ships" and self.options["misere_nominates"]

    def _name_trump(self, word: str) -> None:
        self.trump = None if word == UNSAID else word
        if self.variant == "nonesuch":
            self._swap_excuse(self.seat)
            self._first_lead(self.eldest)
        elif self.variant == "sniped_whist":
            self._first_lead(self.eldest)
        else:
            self._after_trump()

    def _after_trump(self) -> None:
        if self._contract_has_a_nomination():
            self.phase = "nominate"
        else:
            self._lead_to_the_contract()

    def _nominate(self, word: str) -> None:
        if self.variant == "small_ships" and self.options["stock_nomination"] == "redraw" and word in self.stock:
            self.refused.append(word)  # 3.3: the declarer names another card
            return
        if len(word) > 1:
            self._set_nominated(word)
        elif self.trump is not None:
            self._set_nominated(word + self.trump)  # 4.2: a bare rank is of the trump suit
        else:
            self.unsuited_rank = word
        self._lead_to_the_contract()

    def _set_nominated(self, card: str) -> None:
        """The seat that was dealt the card is the partner. There is none if the declarer or the stock has it."""
        self.nominated = card
        holder = self.holder(card)
        self.partner = holder if holder != self.declarer else None

    def _lead_to_the_contract(self) -> None:
        assert self.declarer is not None
        bidder_leads = self.variant == "noms" and self.options["first_lead"] == "bidder"
        self._first_lead(self.declarer if bidder_leads else self.eldest)

    def _first_lead(self, leader: int) -> None:
        self.phase, self.seat = "play", leader

    def _play(self, word: str) -> None:
        if word == INDICATE:
            self.indicated = self.seat  # the same seat then plays a card
            return
        self.hands[self.seat].remove(word)
        self.table.append((self.seat, word))
        if self.led is None:
            self._lead(word)
        if self.trump is not None and self.trump in suits_of(word):
            self.trump_played = True
        if self.phase == "play":
            self._next_card()

    def _lead(self, card: str) -> None:
        if self.trump is None:  # 4.2: a trump left unsaid is the suit of the first lead
            self.trump = suits_of(card)
            if self.unsuited_rank is not None:
                self._set_nominated(self.unsuited_rank + self.trump)
        if len(suits_of(card)) == 1:
            self.led = suits_of(card)
        else:
            self.phase = "suit"  # 5.2 Leading: a two-suited card; the same seat names the suit

    def _name_suit(self, word: str) -> None:
        self.led = word
        self.phase = "play"
        self._next_card()

    def _next_card(self) -> None:
        self.seat = (self.seat + 1) % self.seats
        if len(self.table) == self.seats:
            self._end_trick()

    def _end_trick(self) -> None:
        assert self.led is not None
        assert self.trump is not None
        self.seat = trick_winner(self.variant, self.table, self.led, self.trump)
        self.trick_history.append(Trick(self.seat, [card for _, card in self.table]))
        self.table, self.led = [], None
        if not self.hands[self.seat] or self._stops_early():
            self.phase = None

    def _stops_early(self) -> bool:
        if self.variant != "noms" or not self.options["early_stop"]:
            return False
        assert self.contract is not None
        assert self.declarer is not None
        return noms_is_decided(self.options, self.contract, self.declarer, self.partner, self.tricks)

    # -- results -------------------------------------------------------------------------------------------------------

    @property
    def trick_winners(self) -> list[int]:
        return [trick.winner for trick in self.trick_history]

    @property
    def tricks(self) -> list[int]:
        return [self.trick_winners.count(seat) for seat in range(self.seats)]

    @property
    def over(self) -> bool:
        return self.phase is None

    @property
    def counted_tricks(self) -> list[int]:
        """Sniped whist: the tricks that count; under `accumulate` those of all deals so far."""
        if not self.options["accumulate"]:
            return self.tricks
        return [earlier + now for earlier, now in zip(self.carried_tricks, self.tricks, strict=True)]

    @property
    def scores_nothing(self) -> bool:
        """A passed-out deal; every deal but the last under `accumulate`."""
        return self.passed_out or (self.options.get("accumulate", False) and not self.last)

    def seats_to_cut(self) -> list[int]:
        """Sniped whist, tie="cut": the tied seats, of which chance draws one; empty without a draw."""
        if self.variant != "sniped_whist" or self.options["tie"] != "cut" or self.scores_nothing:
            return []
        tricks = self.counted_tricks
        if self.options["scoring"] == "place" and min(tricks) == max(tricks):
            return []
        _, tied = fewest_and_most(self.options, tricks)
        return tied if len(tied) > 1 else []

    @property
    def points(self) -> list[Number] | None:
        """Points of this deal, per seat; None before its end."""
        if not self.over:
            return None
        if self.scores_nothing:
            return [0] * self.seats
        if self.variant == "sniped_whist":
            return settle_sniped_whist(self.options, self.counted_tricks, self.sniped)
        if self.variant == "nonesuch":
            return settle_nonesuch(self.options, self._by_seat(self.calls), self.tricks)
        if self.variant in EXACT_BID:
            bids = [int(bid) for bid in self._by_seat(self.calls)]
            return settle_exact_bid(bids, self.tricks, self.options.get("bonus", "exact"))
        assert self.contract is not None
        assert self.declarer is not None
        outcome = (self.options, self.contract, self.declarer, self.partner, self.tricks)
        if self.variant == "small_ships":
            return settle_small_ships(*outcome, self.indicated)
        return settle_noms(*outcome, self.multiplier)

    def _by_seat(self, calls: Sequence[str]) -> list[str]:
        """Calls in turn from eldest, in the order of the seats."""
        return [calls[(seat - self.eldest) % self.seats] for seat in range(self.seats)]

    @property
    def after(self) -> list[Number] | None:
        """Totals after this deal; None before its end."""
        points = self.points
        return None if points is None else [old + new for old, new in zip(self.before, points, strict=True)]

    def packets_to_gather(self) -> list[Trick]:
        """4.3: the tricks, and after an early stop the rest of each hand as one last trick."""
        held = [Trick(seat, hand_order(self.variant, self.options, hand)) for seat, hand in enumerate(self.hands) if hand]
        return [*self.trick_history, *held]

    def record(self, *, match: int = 0, over: bool, truncated: bool, winners: Sequence[int], with_legal: bool = True) -> Record:
        """The deal as noms-record/1; the caller adds the state of the match."""
        return {
            "format": FORMAT,
            "variant": self.variant,
            "seats": self.seats,
            "options": dict(self.options),
            "match": match,
            "deal": self.deal,
            "dealer": self.dealer,
            "hand_size": self.hand_size,
            "deck": list(self.deck),
            "hands": [hand_order(self.variant, self.options, hand) for hand in self.initial_hands],
            "stock": list(self.stock),
            "turn_up": self.turn_up,
            "multiplier": self.multiplier,
            "before": list(self.before),
            "steps": [{key: value for key, value in step.items() if with_legal or key != "legal"} for step in self.steps],
            "trump": self.trump,
            "declarer": self.declarer,
            "nominated": self.nominated,
            "partner": self.partner,
            "tricks": self.tricks,
            "points": self.points,
            "after": self.after,
            "over": over,
            "truncated": truncated,
            "winners": list(winners),
        }


# The match: from deal to deal


def leaders(totals: Sequence[Number]) -> list[int]:
    """0: all seats with the maximum; ties are joint winners."""
    return [seat for seat, total in enumerate(totals) if max(totals) - total <= TOLERANCE]


def next_multiplier(options: Options, multiplier: int) -> int:
    """4.3 and `double_repeat`: the multiplier of the deal after a passed-out one."""
    if multiplier == 1:
        return 2
    return {"double": multiplier, "quadruple": 2 * multiplier, "single": 1}[options["double_repeat"]]


class Match:
    """State of a match: `deal`, `dealer`, `multiplier` and `totals` belong to the next deal.

    `finish` updates them, and `over`, `truncated` and `winners`.
    With `single_deal` the match is one scored deal (noms: after its passed-out deals).
    """

    def __init__(
        self,
        variant: str,
        seats: int,
        options: Options,
        *,
        dealer: int,
        deal: int = 0,
        multiplier: int = 1,
        totals: Sequence[Number] | None = None,
        carried_tricks: Sequence[int] | None = None,
        single_deal: bool = False,
    ) -> None:
        self.variant, self.seats, self.options = variant, seats, options
        self.dealer, self.deal, self.multiplier = dealer, deal, multiplier
        self.totals: list[Number] = list(totals) if totals is not None else [0] * seats
        self.carried_tricks = list(carried_tricks) if carried_tricks is not None else [0] * seats
        self.single_deal = single_deal
        self.over = self.truncated = False
        self.winners: list[int] = []
        self.previous: Deal | None = None

    @property
    def hand_size(self) -> int:
        """Cards per seat in the next deal."""
        return hand_size_of(self.variant, self.seats, self.options, self.deal)

    # -- the deck of the next deal -------------------------------------------------------------------------------------

    @property
    def deck_is_gathered(self) -> bool:
        """4.3: Noms is not shuffled between deals."""
        return self.variant == "noms" and self.options["deal_mode"] == "packets" and self.previous is not None

    def possible_next_deck(self, deck: Sequence[str]) -> bool:
        """Whether the next deal may be dealt from `deck` (noms: a legal cut of a legal gathering)."""
        if sorted(deck) != sorted(deck_of(self.variant, self.options)):
            return False
        if not self.deck_is_gathered:
            return True
        return any(self._could_be_uncut_deck(cut_deck(deck, len(deck) - cut)) for cut in possible_cuts(self.options))

    def _could_be_uncut_deck(self, deck: list[str]) -> bool:
        assert self.previous is not None
        if self.previous.passed_out:
            return deck == gather_passed(self.previous.initial_hands, self.previous.dealer)
        return could_be_gathered(self.options, self.previous.packets_to_gather(), self.dealer, deck)

    def draw_next_deck(self, rng: random.Random) -> list[str]:
        """Shuffle, or gather and cut, a deck for the next deal."""
        if not self.deck_is_gathered:
            return rng.sample(deck_of(self.variant, self.options), len(deck_of(self.variant, self.options)))
        assert self.previous is not None
        if self.previous.passed_out:
            deck = gather_passed(self.previous.initial_hands, self.previous.dealer)
        else:
            deck = gather_played(self.options, self.previous.packets_to_gather(), self.dealer, rng)
        return cut_deck(deck, rng.choice(possible_cuts(self.options)))

    # -- from deal to deal ---------------------------------------------------------------------------------------------

    def start(self, deck: Sequence[str], *, random_trump: str | None = None, sniped: int | None = None) -> Deal:
        return Deal(
            self.variant,
            self.seats,
            self.options,
            deal=self.deal,
            dealer=self.dealer,
            deck=deck,
            multiplier=self.multiplier,
            before=self.totals,
            random_trump=random_trump,
            sniped=sniped,
            carried_tricks=self.carried_tricks,
            last=True if self.single_deal else None,
        )

    def finish(self, deal: Deal) -> None:
        """Add a finished deal and move on to the next."""
        assert deal.after is not None
        self.totals = deal.after
        self.over, self.truncated = self._ended(deal)
        self.winners = self._winners(deal) if self.over else []
        self.carried_tricks = [earlier + now for earlier, now in zip(self.carried_tricks, deal.tricks, strict=True)]
        self.dealer = (self.dealer + 1) % self.seats
        self.deal += 1
        self.multiplier = next_multiplier(self.options, self.multiplier) if deal.passed_out else 1
        self.previous = deal

    def _ended(self, deal: Deal) -> tuple[bool, bool]:
        """Whether the match is over, and whether only because of the limit of deals."""
        deals_done = deal.deal + 1
        if self.single_deal and not deal.passed_out:
            return True, False
        if self.variant == "sniped_whist":
            return deals_done >= self.options["n_hands"], False
        if self.variant in EXACT_BID:
            return deals_done >= len(schedule(self.variant, self.seats, self.options)), False
        most_deals = self.options["max_deals" if self.variant == "noms" else "max_hands"]
        out_of_deals = most_deals is not None and deals_done >= most_deals
        if self._target_reached():
            return True, False
        return out_of_deals, out_of_deals and self.variant != "small_ships"

    def _target_reached(self) -> bool:
        target = self.options["target"]
        if target is None or max(self.totals) < target - TOLERANCE:
            return False
        plays_on = self.variant == "noms" and self.options["tie"] == "play_on" and len(leaders(self.totals)) > 1
        return not plays_on

    def _winners(self, deal: Deal) -> list[int]:
        one_deal = self.single_deal or self.options.get("n_hands") == 1
        if self.variant == "sniped_whist" and one_deal:  # section 1: the fewest tricks (objective="most": the most)
            return fewest_and_most(self.options, deal.counted_tricks)[0]
        return leaders(self.totals)

    def record(self, deal: Deal, *, match: int = 0, with_legal: bool = True) -> Record:
        """The record of the deal that was finished last."""
        return deal.record(match=match, over=self.over, truncated=self.truncated, winners=self.winners, with_legal=with_legal)


# Checking records


ABSENT = object()


def check_match(records: Sequence[Record], *, single_deal: bool = False) -> list[str]:
    """Replay the deals of one match and return every disagreement as a sentence.

    Only chance comes from the records: the deck, the first dealer, a random trump, the cut among tied seats. The first
    record may be any deal of a match, so its number, multiplier and totals before it are not checked. With `single_deal`
    every record is a match of one scored deal (noms: after its passed-out deals).
    """
    faults: list[str] = []
    match: Match | None = None
    number = 0
    for place, record in enumerate(records):
        where = f"record {place}, deal {record.get('deal')}"
        try:
            if match is None or (match.over and single_deal):
                match, number = _match_from(record, single_deal), record["match"]
            if not match.possible_next_deck(record["deck"]):
                faults.append(f"{where}: deck: it is no legal cut of a legal gathering of the cards of the deal before")
            expected = _comparable(_replay(match, record, number), record)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            return [*faults, f"{where}: {error}; the check stops here"]
        actual = _comparable(record, record)
        wrong = [key for key in {**expected, **actual} if not _same(expected.get(key, ABSENT), actual.get(key, ABSENT))]
        faults += [f"{where}: {key}: expected {expected.get(key)!r}, found {actual.get(key)!r}" for key in wrong]
    return faults


def _match_from(record: Record, single_deal: bool) -> Match:
    options = complete_options(record["variant"], record["seats"], record["options"])
    start = {key: record[key] for key in ("dealer", "deal", "multiplier")}
    match = Match(record["variant"], record["seats"], options, **start, single_deal=single_deal)
    if not single_deal:
        match.totals = list(record["before"])
    return match


def _replay(match: Match, record: Record, number: int) -> Record:
    """Play the deal again and return its record. ValueError if it cannot be played."""
    if match.over:
        raise ValueError("the match was over before this deal")
    trump = record["trump"] if match.options.get("trump_mode") == "random" else None
    deal = match.start(record["deck"], random_trump=trump)
    for step in record["steps"]:
        deal.act(step["action"])
    if not deal.over:
        raise ValueError(f"steps: they end while seat {deal.seat} still has to {deal.phase}")
    for seat in deal.seats_to_cut():
        deal.sniped = seat
        if _same(deal.points, record["points"]):
            break
    match.finish(deal)
    return match.record(deal, match=number)


def _comparable(record: Record, original: Record) -> Record:
    """The record with sorted hands and legal actions, without the legal actions that the original record omits."""
    has_legal = ["legal" in step for step in original["steps"]]
    steps = [
        {key: sorted(value) if key == "legal" else value for key, value in step.items() if key != "legal" or includes_legal}
        for step, includes_legal in zip(record["steps"], has_legal, strict=True)
    ]
    return {**record, "steps": steps, "hands": [sorted(hand) for hand in record["hands"]]}


def _same(a: Any, b: Any) -> bool:
    """Equality that distinguishes true from 1, and ignores rounding of numbers."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return isinstance(a, bool) == isinstance(b, bool) and abs(a - b) <= TOLERANCE
    return bool(a == b)


# Random tables and matches


def random_match(
    variant: str,
    seats: int,
    options: Options,
    rng: random.Random,
    max_deals: int | None = None,
    *,
    match: int = 0,
    single_deal: bool = False,
) -> list[Record]:
    """Play a match of random legal actions, at most `max_deals` deals, and return its records.

    `options` may omit options. Each deal draws a rate of passes, so that passed-out deals are common enough.
    """
    options = complete_options(variant, seats, options)
    state = Match(variant, seats, options, dealer=rng.randrange(seats), single_deal=single_deal)
    records: list[Record] = []
    while not state.over and len(records) != max_deals:
        trump = rng.choice(suits_in(variant, options)) if options.get("trump_mode") == "random" else None
        deal = state.start(state.draw_next_deck(rng), random_trump=trump)
        pass_rate = rng.choice((0.0, 0.5, 0.9, 1.0))
        while not deal.over:
            legal = deal.legal()
            deal.act(PASS if PASS in legal and rng.random() < pass_rate else rng.choice(legal))
        if deal.seats_to_cut():
            deal.sniped = rng.choice(deal.seats_to_cut())
        state.finish(deal)
        records.append(state.record(deal, match=match))
    return records


LARGEST_HAND = 17  # the record format has no larger calls


def random_options(variant: str, rng: random.Random) -> tuple[int, Options]:
    """Draw a number of seats and some options of an allowed table."""
    while True:
        seats, partial = _draw_table(variant, rng)
        try:
            options = complete_options(variant, seats, partial)
        except ValueError:
            continue
        sizes = schedule(variant, seats, options) if variant in EXACT_BID else [hand_size_of(variant, seats, options, 0)]
        if max(sizes) <= LARGEST_HAND:
            return seats, partial


def _draw_table(variant: str, rng: random.Random) -> tuple[int, Options]:
    """Draw seats and options, which the rules may not allow."""
    partial: Options = {}
    full_deck = rng.random() < 0.5
    seats = rng.randint(SEATS[variant][0] if full_deck else 2, SEATS[variant][1])
    chance = rng.choice((0.2, 0.5, 0.8))
    for name, option in OPTIONS[variant].items():
        if full_deck and name in ("ranks", "suits"):
            continue
        if rng.random() < chance:
            value = rng.choice(list(option.drawn))
            partial[name] = list(value) if name == "trump_rotation" else value
    if variant == "small_ships" and partial.get("max_hands", 20) is None:
        # Only the target ends such a match, and random play must reach it.
        partial |= {"target": rng.randint(5, 10), "misere_value": 1, "misere_opponents_score": True, "indication": False}
    return seats, partial
