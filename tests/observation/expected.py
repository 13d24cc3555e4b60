"""The expected observation, computed in plain Python from the referee's account of the deal.

`Sight` has a method for each section of `noms_env.observation.layout`, written from its meaning and from the rulebook. Nothing
here reads the record of the table.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from noms_env.core.actions import action_number
from noms_env.core.cards import CARD_NUMBERS, DECKTET, FRENCH, RANK_LETTERS, SUIT_LETTERS
from noms_env.variants import game, make_rules
from noms_env.variants.table_record import choice_names
from tests import referee

EXACT_BID = ("big_ships", "down_up", "up_down")
CALL_PLACES = {"pass": 1, "mis": 3, "mis_a_vis": 4, "none": 5, "some": 6, "most": 7}
NOBODY = -1


class Sight:
    """A deal that the referee follows, as one seat sees it."""

    def __init__(self, match: referee.Match, deal: referee.Deal, seat: int) -> None:
        self.match, self.deal, self.seat = match, deal, seat
        self.n_seats = deal.seats
        self.kind = DECKTET if deal.variant == "nonesuch" else FRENCH
        self.card_numbers = CARD_NUMBERS[self.kind]

    def relative(self, seat: int) -> int:
        return (seat - self.seat) % self.n_seats

    def card_bytes(self, word: str) -> list[int]:
        """Return six bytes of suits, 1 + place of the rank, 1 + number."""
        suits = [int(letter in word[1:] and word != "EX") for letter in SUIT_LETTERS[self.kind].ljust(6)]
        rank = 0 if word == "EX" else 1 + RANK_LETTERS[self.kind].index(word[0])
        return [*suits, rank, 1 + self.card_numbers[word]]

    def cards(self, words: Iterable[str]) -> np.ndarray:
        out = np.zeros(56, np.int64)
        out[[self.card_numbers[word] for word in words]] = 1
        return out

    def plays(self) -> list[tuple[int, str]]:
        """Return seat and card of every play, in order."""
        steps = self.deal.steps
        return [(step["seat"], step["action"]) for step in steps if step["phase"] == "play" and step["action"] != "indicate"]

    def led_suits(self) -> list[str]:
        """Return the suit to follow in every trick whose leader has named it."""
        named = iter([step["action"] for step in self.deal.steps if step["phase"] == "suit"])
        leads = [card for _, card in self.plays()[:: self.n_seats]]
        return [suit for suit in (card[1] if len(card) == 2 else next(named, "") for card in leads) if suit]

    def leader(self) -> int:
        if self.deal.phase not in ("play", "suit"):
            return NOBODY
        return self.deal.table[0][0] if self.deal.table else self.deal.seat

    def latest_calls(self) -> dict[int, str]:
        return {(self.deal.eldest + turn) % self.n_seats: word for turn, word in enumerate(self.deal.calls)}

    def is_publicly_alone(self) -> bool:
        """Return whether the contract has no nomination, or all know that nobody was dealt the nominated card."""
        deal = self.deal
        if deal.nominated is not None:
            return bool(deal.options["open_partner"]) and deal.holder(deal.nominated) is None
        if deal.contract not in ("mis", "mis_a_vis"):
            return False
        return deal.variant == "noms" or not deal.options["misere_nominates"]

    def known_holder(self) -> int:
        """Return the seat that, as all know, was dealt the nominated card."""
        deal = self.deal
        if deal.nominated is not None and deal.options["open_partner"]:
            holder = deal.holder(deal.nominated)
            return NOBODY if holder is None else holder
        players = [seat for seat, card in self.plays() if card == deal.nominated]
        return players[0] if players else NOBODY if deal.indicated is None else deal.indicated

    def excuse_holder(self) -> int:
        """Return the holder of the Excuse, who shows it after the bids (rules 5.2)."""
        if self.deal.variant != "nonesuch" or self.deal.phase == "call":
            return NOBODY
        holder = self.deal.holder("EX")
        return NOBODY if holder is None else holder

    def known_side(self) -> list[int]:
        """Return the declarer's side as far as the seat knows it."""
        deal = self.deal
        assert deal.declarer is not None
        known = {deal.declarer, *([self.seat] if self.seat == deal.partner else [])}
        return sorted(known | ({self.known_holder()} - {NOBODY}))

    def bid_bytes(self, word: str | None) -> list[int]:
        """Return 1 + number, mis, mis_a_vis."""
        if word is None:
            return [0, 0, 0]
        return [0 if word in CALL_PLACES else 1 + int(word), int(word == "mis"), int(word == "mis_a_vis")]

    # The sections.

    def hand(self) -> np.ndarray:
        return self.cards(self.deal.hands[self.seat])

    def played(self) -> np.ndarray:
        out = np.zeros((7, 56), np.int64)
        for seat, card in self.plays():
            out[self.relative(seat), self.card_numbers[card]] = 1
        return out

    def trick_of(self) -> np.ndarray:
        out = np.zeros(56, np.int64)
        for place, (_, card) in enumerate(self.plays()):
            out[self.card_numbers[card]] = 1 + place // self.n_seats
        return out

    def exposed(self) -> np.ndarray:
        deal = self.deal
        is_open = deal.contract == "mis_a_vis" and len(deal.trick_history) > 0
        return self.cards([*(deal.hands[deal.declarer] if is_open and deal.declarer is not None else []), *deal.refused])

    def previous_deal(self) -> np.ndarray:
        out = np.zeros(56, np.int64)
        previous = self.match.previous
        if previous is None or not self.deal.options.get("observe_previous_hand"):
            return out
        before = Sight(self.match, previous, self.seat)
        for place, (seat, card) in enumerate(before.plays()):
            out[self.card_numbers[card]] = 1 + 4 * (place // self.n_seats) + self.relative(seat)
        for card in previous.hands[self.seat]:
            out[self.card_numbers[card]] = 101
        return out

    def on_table(self) -> np.ndarray:
        out = np.zeros((7, 8), np.int64)
        for seat, card in self.deal.table:
            out[self.relative(seat)] = self.card_bytes(card)
        return out

    def call_of(self) -> np.ndarray:
        out = np.zeros((7, 8), np.int64)
        for seat, word in self.latest_calls().items():
            row = out[self.relative(seat)]
            row[0] = 1
            if word in CALL_PLACES:
                row[CALL_PLACES[word]] = 1
            else:
                row[2] = 1 + int(word)
        return out

    def tricks(self) -> np.ndarray:
        out = np.zeros((7, 8), np.int64)
        led = self.led_suits()
        for place, (seat, card) in enumerate(self.plays()):
            trick = place // self.n_seats
            if trick < len(led) and led[trick] not in card[1:]:
                out[self.relative(seat), SUIT_LETTERS[self.kind].index(led[trick])] = 1
        for seat in range(self.n_seats):
            out[self.relative(seat), 6] = self.deal.tricks[seat]
            out[self.relative(seat), 7] = self.tricks_needed(seat)
        return out

    def tricks_needed(self, seat: int) -> int:
        """Return 64 + tricks that the call or the contract still needs."""
        deal = self.deal
        taken = deal.tricks[seat]
        if deal.declarer is not None:
            if seat not in self.known_side():
                return 0
            needed = 0 if deal.contract in CALL_PLACES else int(deal.contract or 0)
            return 64 + needed - sum(deal.tricks[other] for other in self.known_side())
        call = self.latest_calls().get(seat)
        if deal.variant in EXACT_BID and call is not None:
            return 64 + int(call) - taken
        if deal.variant == "nonesuch" and call in ("most", "none"):
            return 64 + (math.ceil(deal.hand_size / 2) if call == "most" else 0) - taken
        return 0

    def seats(self) -> np.ndarray:
        out = np.zeros((7, 8), np.int64)
        deal, match = self.deal, self.match
        standing = match.carried_tricks if deal.options.get("accumulate") else match.totals
        winning = NOBODY
        if deal.table and deal.led is None:
            winning = deal.table[0][0]
        elif deal.table:
            winning = referee.trick_winner(deal.variant, deal.table, deal.led or "", deal.trump or "NT")
        for seat in range(self.n_seats):
            total = float(standing[seat])
            fine = total + 64
            if deal.variant == "nonesuch":
                fine = 2 * total + 64
            elif deal.options.get("scoring") == "place" and not deal.options["accumulate"]:
                fine = 12 * total + 128
            out[self.relative(seat)] = [
                min(max(math.floor(fine + 0.5), 0), 255),
                min(max(math.floor(total / 4 + 64.5), 0), 255),
                1,
                seat == deal.dealer,
                seat == self.leader(),
                seat == deal.declarer,
                seat in (self.known_holder(), self.excuse_holder()),
                seat == winning,
            ]
        return out

    def calls(self) -> np.ndarray:
        out = np.zeros(48, np.int64)
        out[: len(self.deal.calls)] = [1 + action_number(word, "call") - 74 for word in self.deal.calls]
        return out

    def nominated(self) -> list[int]:
        deal = self.deal
        if deal.nominated is not None:
            return self.card_bytes(deal.nominated)
        if deal.unsuited_rank is not None:
            return [0] * 6 + [1 + RANK_LETTERS[FRENCH].index(deal.unsuited_rank), 0]
        return [0] * 8

    def turn_up(self) -> list[int]:
        return [0] * 8 if self.deal.turn_up is None else self.card_bytes(self.deal.turn_up)

    def phase(self) -> list[int]:
        deal = self.deal
        is_open = deal.contract == "mis_a_vis" and len(deal.trick_history) > 0
        return [
            *(int(deal.phase == phase) for phase in ("call", "trump", "nominate", "play", "suit")),
            int(deal.seat == self.seat and deal.phase is not None),
            int(deal.trump_played),
            int(is_open),
        ]

    def trump(self) -> list[int]:
        deal = self.deal
        unsaid = any(step["action"] == "unsaid" for step in deal.steps) and not self.plays()
        letters = [*SUIT_LETTERS[self.kind].ljust(6), "NT"]
        return [*(int(letter == deal.trump) for letter in letters), int(unsaid)]

    def led_suit(self) -> list[int]:
        return [*(int(letter == self.deal.led) for letter in SUIT_LETTERS[self.kind].ljust(6)), 0, 0]

    def role(self) -> list[int]:
        deal = self.deal
        names = ["none", "declarer", "alone", "partner", "opponent"]
        own = "none"
        if deal.declarer is not None:
            named = deal.nominated is not None
            if self.seat == deal.declarer:
                holds = named and deal.nominated in deal.initial_hands[self.seat]
                own = "alone" if self.is_publicly_alone() or holds else "declarer"
            elif self.is_publicly_alone() or named:
                own = "partner" if self.seat == deal.partner else "opponent"
        known = self.known_holder()
        alone = deal.declarer is not None and (self.is_publicly_alone() or known == deal.declarer)
        return [*(int(own == name) for name in names), int(alone), int(known != NOBODY), 0]

    def contract(self) -> list[int]:
        deal = self.deal
        is_auction = deal.variant in referee.AUCTION
        bids = [word for word in deal.calls if word != "pass"] if is_auction else []
        passes = 0
        for word in reversed(deal.calls if is_auction else []):
            if word != "pass":
                break
            passes += 1
        doubled = deal.multiplier if deal.multiplier <= 64 else min(57 + deal.multiplier.bit_length(), 255)
        return [*self.bid_bytes(deal.contract), doubled, *self.bid_bytes(bids[-1] if bids else None), passes]

    def numbers(self) -> list[int]:
        deal = self.deal
        length = len(referee.schedule(deal.variant, self.n_seats, deal.options)) if deal.variant in EXACT_BID else 0
        length = deal.options.get("n_hands", length)
        return [
            deal.hand_size,
            len(deal.hands[self.seat]),
            len(deal.trick_history),
            len(deal.table),
            min(1 + deal.deal, 255),
            min(length - deal.deal, 255) if length else 0,
            self.n_seats,
            (self.seat - deal.eldest) % self.n_seats,
            *self.call_numbers(),
            len(deal.stock) if deal.variant != "nonesuch" else 0,
            self.unseen(),
            0 if self.excuse_holder() == NOBODY else 1 + self.relative(self.excuse_holder()),
            int(self.match.single_deal),
            0,
        ]

    def call_numbers(self) -> list[int]:
        """Return 1 + forbidden number, sum of the calls, 64 + its difference from the tricks."""
        deal = self.deal
        if deal.variant not in EXACT_BID:
            return [0, 0, 0]
        total = sum(int(word) for word in deal.calls)
        forbidden = deal.hand_size - total
        last_turn = len(deal.calls) == self.n_seats - 1
        hooked = last_turn and deal.options["hook"] and deal.hand_size >= deal.options["hook_min_cards"] and forbidden >= 0
        return [1 + forbidden if hooked else 0, total, 64 + total - deal.hand_size]

    def unseen(self) -> int:
        """Return the number of cards that this seat has not known in this deal."""
        deal = self.deal
        known = {card for _, card in self.plays()} | set(deal.hands[self.seat])
        known |= {word for word, number in self.card_numbers.items() if self.exposed()[number]}
        known |= {deal.turn_up} if deal.turn_up is not None else set()
        known |= {"EX"} if self.excuse_holder() != NOBODY else set()
        return len(set(deal.deck) - known)

    def variant(self) -> list[int]:
        names = ["sniped_whist", "big_ships", "small_ships", "noms", "nonesuch", "down_up", "up_down"]
        return [*(int(name == self.deal.variant) for name in names), *([0] * 9)]

    def choices(self) -> list[int]:
        values = make_rules(game(self.deal.variant), self.n_seats, self.deal.options).options
        return [self.choice(name, values) for name in choice_names()]

    def choice(self, name: str, values: dict[str, Any]) -> int:
        """Return an option as a byte."""
        if name.startswith("trump_rotation"):
            rotation = values.get("trump_rotation", [])
            place = int(name[len("trump_rotation[") : -1])
            return 1 + ["C", "D", "H", "S", "NT"].index(rotation[place]) if place < len(rotation) else 0
        if name not in values:
            return 0
        value, option = values[name], game(self.deal.variant).option(name)
        if option.late and value == option.default:
            return 0
        if value is None:
            return 255
        if isinstance(value, str):
            value = option.words.index(value)
        return min(1 + int(value), 254)


def state_sections(sight: Sight) -> dict[str, Any]:
    """Return the hidden sections of the state, seats relative to the looking seat."""
    deal = sight.deal
    hands = np.zeros((7, 56), np.int64)
    for seat in range(sight.n_seats):
        hands[sight.relative(seat)] = sight.cards(deal.hands[seat])
    holder = deal.holder("EX") if deal.variant == "nonesuch" else None
    return {
        "hands": hands,
        "stock": sight.cards(deal.stock if deal.variant != "nonesuch" else []),
        "partner": [int(deal.partner is not None and place == sight.relative(deal.partner)) for place in range(8)],
        "excuse": [int(holder is not None and place == sight.relative(holder)) for place in range(8)],
    }
