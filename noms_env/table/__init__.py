"""One table in Python: the compiled engine with rules, checks and words."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from noms_env.belief import new_sampling_workspace, sample_hidden_rows
from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import NUM_ACTIONS, SCORED, action_number, action_word, brief, is_integer, span
from noms_env.core.cards import CARD_WORDS, NO_TRUMP, SUIT_LETTERS, cards_in
from noms_env.core.chance import MAX_SEED, MAX_TABLE, check_seed
from noms_env.core.state import EPISODES, MATCH, phase_word
from noms_env.engine.deal import begin_match, hand_out, shuffle_deck
from noms_env.engine.row_kernels import ILLEGAL, continue_row, kernel_view, legal_row, state_row, step_row, view_row
from noms_env.engine.soundness import check_states
from noms_env.observation.layout import STATE_SIZE
from noms_env.observation.writer import MASK_WORDS, OBSERVATION_WORDS
from noms_env.table import position
from noms_env.table.position import PositionError as PositionError
from noms_env.table.wording import NOTHING_DEALT, about, why_illegal
from noms_env.variants import Rules, RulesError, game, make_rules
from noms_env.variants.table_record import TABLE, new_tables, write_rules

_WORD, _BYTE, _FLAG = np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.int8)
"""Cached dtypes: numpy creates arrays faster from them than from plain types."""


class IllegalActionError(ValueError):
    """An illegal action; the message names the seat, the action, the reason and the legal actions."""


class Table:
    """One table of any variant; one thread at a time may use it.

    Attributes:
        rules: the variant, the seats and the value of every option.
        row: the record of the table (`table_record.TABLE`), shape ().
    """

    def __init__(
        self,
        variant: str,
        seats: int | None = None,
        options: dict[str, Any] | None = None,
        *,
        seed: int = 0,
        table: int = 0,
        episode: str = "match",
        deal_size: int | None = None,
    ) -> None:
        """Set up a table; `start` deals.

        Args:
            variant: name of the game.
            seats: number of seats; None for the variant's default.
            options: options of the variant that differ from their defaults.
            seed: 0 to 2**63 - 1.
            table: 0 to 2**32 - 1; tables with the same seed have independent deals.
            episode: `match`, or `deal` for one scored deal.
            deal_size: exact-bid games with episode `deal`: only deals with this hand size.

        Raises:
            ValueError: an argument is not allowed (`RulesError` for seats and options).
        """
        self.rules: Rules = make_rules(game(variant), seats, options)
        self._take_rows(new_tables(1))
        write_rules(self.row, self.rules)
        self.row.seed = check_seed(seed)
        self.row.table = _check_counter("table", table)
        self.row.match = -1
        self._set_episode(episode, deal_size)

    def __repr__(self) -> str:
        return f"<Table {self.rules.variant.name}: {self.rules.summary}; {about(self)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the notebook display: the table from a spectator's view, as text and as a picture."""
        if self.row.match < 0:
            return {"text/plain": repr(self)}
        shown: dict[str, Any] = import_module("noms_env.show").for_notebook(self)  # a higher layer, not imported at the top
        return shown

    def _take_rows(self, rows: np.recarray) -> None:
        self._rows = rows
        self._kernel_rows = kernel_view(rows)
        self.row: np.record = rows[0]

    def _set_episode(self, episode: str, deal_size: int | None) -> None:
        if not isinstance(episode, str) or episode not in EPISODES:
            raise RulesError(f"episode must be 'match' or 'deal', not {brief(episode)}")
        self.row.episode = EPISODES.index(episode)
        self.row.wanted_deal_size = -1
        if episode == "deal" and self.rules.options.get("accumulate"):
            raise RulesError("accumulate adds up the deals of a match; with episode='deal' it must be False")
        if deal_size is None:
            return
        sizes = sorted(set(self.rules.schedule))
        if not sizes or episode != "deal":
            raise RulesError("hand_size picks a deal of the schedule: only for the exact-bid games, with episode='deal'")
        if not is_integer(deal_size) or deal_size not in sizes:
            raise RulesError(f"hand_size must be one of the schedule's, {span(sizes[0], sizes[-1])}, not {brief(deal_size)}")
        self.row.wanted_deal_size = int(deal_size)

    def start(
        self,
        match: int | None = None,
        *,
        seed: int | None = None,
        deck: Sequence[str] | None = None,
        dealer: int | None = None,
        totals: Sequence[float] | None = None,
        deal: int | None = None,
        multiplier: int | None = None,
    ) -> None:
        """Start a match, or set up a position at the start of one of its deals.

        Args:
            match: number of the match; None for the next one, or for match 0 if `seed` is set.
            seed: 0 to 2**63 - 1; None for the current seed.
            deck: words of all cards in dealing order, after the cut if there is one; None to draw the deck.
            dealer: seat; None to draw the dealer.
            totals: points of each seat in the match before this deal; None for zeros.
            deal: index of the deal in the match, from 0; None for the first, or a drawn one with episode `deal`.
            multiplier: multiplier of the deal's points, a power of 2 (2 for a double hand); None for 1.

        Raises:
            PositionError: the position is impossible; the table is unchanged.
            ValueError: no such match or seed; the table is unchanged.
        """
        rules, row = self.rules, self.row
        cards = None if deck is None else position.check_deck(rules, deck)
        dealer = None if dealer is None else position.check_dealer(rules, dealer)
        points = None if totals is None else position.check_totals(rules, totals, bool(row.episode == MATCH))
        number = None if deal is None else position.check_deal(rules, deal, int(row.wanted_deal_size))
        factor = 1 if multiplier is None else position.check_multiplier(rules, multiplier)
        if match is None:
            match = 0 if seed is not None else int(row.match) + 1
        checked_match = _check_counter("match", match)
        if seed is not None:
            row.seed = check_seed(seed)
        row.match = checked_match
        begin_match(row)
        if dealer is not None:
            row.dealer = dealer
        if points is not None:
            row.totals[: self.seats] = points
        if number is not None:
            row.deal = number
        row.multiplier = factor
        if cards is None:
            shuffle_deck(row)
        else:
            row.deck[: len(cards)] = cards
        hand_out(row)

    def step(self, action: int) -> int:
        """Take a legal action. The last action of a deal scores it; `next_deal` then deals the next hand.

        Returns:
            The status: the seat to act, plus `row_kernels.IS_SCORED` if the deal is scored.

        Raises:
            IllegalActionError: the action is not legal; the table is unchanged.
        """
        number = action if type(action) is int else int(action) if is_integer(action) else ILLEGAL
        # The compiled function takes no integers of more than 64 bits.
        status: int = step_row(self._kernel_rows, 0, number) if 0 <= number < NUM_ACTIONS else ILLEGAL
        if status == ILLEGAL:
            raise IllegalActionError(why_illegal(self, action))
        return status

    def check_action(self, action: int) -> int:
        """Check that `step` would take an action, and return it as an int.

        Raises:
            IllegalActionError: the action is not legal.
        """
        if not is_integer(action) or int(action) not in self.legal_actions():
            raise IllegalActionError(why_illegal(self, action))
        return int(action)

    def act(self, word: str) -> None:
        """Take the action that a word means in the current phase.

        Raises:
            ValueError: the word means nothing in this phase, or the action is not legal; the table is unchanged.
        """
        self.step(self.number(word))

    def next_deal(self) -> int:
        """Deal the next hand after a scored deal, unless the match is over; return the new status, see `step`."""
        status: int = continue_row(self._kernel_rows, 0)
        return status

    def view(self, seat: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a seat's observation, uint8 (OBSERVATION_SIZE,), and legal-action mask, int8 (NUM_ACTIONS,), as new arrays.

        Raises:
            ValueError: the table has no such seat.
        """
        seat = seat if type(seat) is int and 0 <= seat < self.rules.seats else _check_seat(seat, self.seats)
        observation = np.empty(OBSERVATION_WORDS, _WORD)
        mask = np.empty(MASK_WORDS, _WORD)
        view_row(self._kernel_rows, 0, seat, observation, mask)
        return observation.view(_BYTE), np.ndarray(NUM_ACTIONS, _FLAG, mask)

    def state(self, seat: int = 0) -> np.ndarray:
        """Return a seat's observation and the hidden state, uint8 (STATE_SIZE,), as a new array.

        Raises:
            ValueError: the table has no such seat.
        """
        seat = _check_seat(seat, self.seats)
        words = np.empty(STATE_SIZE // 8, np.int64)
        state_row(self._kernel_rows, 0, seat, words[:OBSERVATION_WORDS], words[OBSERVATION_WORDS:])
        return words.view(np.uint8)

    @property
    def seats(self) -> int:
        """Number of seats."""
        return self.rules.seats

    @property
    def deck_kind(self) -> int:
        """`cards.FRENCH` or `cards.DECKTET`."""
        return self.rules.variant.deck_kind

    @property
    def phase(self) -> str | None:
        """`call`, `trump`, `nominate`, `play` or `suit`; None when the deal is scored and no seat is to act."""
        return phase_word(self.row["phase"])  # six times as fast as `row.phase`

    @property
    def is_scored(self) -> bool:
        """True between the last action of a deal and `next_deal`."""
        return bool(self.row["phase"] == SCORED)

    @property
    def is_over(self) -> bool:
        """True if the match is over."""
        return bool(self.row["over"])

    def legal_actions(self) -> list[int]:
        """Return the legal actions, ascending."""
        actions = np.empty(NUM_ACTIONS, np.int64)
        count = legal_row(self._kernel_rows, 0, actions)
        legal: list[int] = actions[:count].tolist()
        return legal

    def legal_words(self) -> list[str]:
        """Return the words of the legal actions."""
        return [self.word(action) for action in self.legal_actions()]

    def word(self, action: int) -> str:
        """Return the word of an action."""
        return action_word(action, self.deck_kind)

    def number(self, word: str, phase: str | None = None) -> int:
        """Return the action that a word means in a phase; None for the current phase.

        Raises:
            ValueError: the word means nothing in the phase, or no seat is to act.
        """
        phase = self.phase if phase is None else phase
        if phase is None:
            raise ValueError(f"{brief(word)} means nothing now: the deal is over and nobody is to act")
        return action_number(word, phase, self.deck_kind)

    def card_words(self, cards: int) -> list[str]:
        """Return the words of a set of cards, ascending by card number."""
        return [CARD_WORDS[self.deck_kind][card] for card in cards_in(cards)]

    def trump_word(self) -> str | None:
        """Return the letter of the trump suit, `NT`, or None if trump is not fixed yet."""
        trump = int(self.row.trump)
        if not 0 <= trump <= NO_TRUMP:
            return None
        return "NT" if trump == NO_TRUMP else SUIT_LETTERS[self.deck_kind][trump]

    def copy(self) -> Table:
        """Return an independent copy in the same state."""
        twin = object.__new__(Table)
        twin.rules = self.rules
        twin._take_rows(self._rows.copy())
        return twin

    def sample_hidden(self, seat: int, rng: np.random.Generator) -> Table:
        """Return a copy in which the cards hidden from a seat are redealt, uniformly among the layouts it cannot rule out.

        See `belief` for the seat's knowledge. Later chance events of the copy differ, too.

        Args:
            seat: any seat, not only the seat to act.
            rng: draws one integer.

        Raises:
            ValueError: the seat or the generator is invalid, or the deal is over.
        """
        seed = redeal_seed(self.row, seat, rng)
        twin = self.copy()
        sample_hidden_rows(twin._kernel_rows, np.zeros(1, np.int64), int(seat), seed, new_sampling_workspace())
        return twin

    def determinize(self, seed: int | np.random.Generator) -> np.recarray:
        """Sample the cards hidden from the seat to act, for players that take tables.

        Args:
            seed: an integer from 0 to 2**63 - 1, or a generator that draws it.

        Returns:
            The record (`table_record.TABLE`) of `sample_hidden(seat to act, ...)`, in an array of shape (1,).

        Raises:
            ValueError: the seed is invalid, or the deal is over.
        """
        return sampled_tables(self._rows, None, seed)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "variant": self.rules.variant.name,
            "seats": self.seats,
            "options": dict(self.rules.options),
            "row": self.get_state(),
        }

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.rules = make_rules(game(saved["variant"]), saved["seats"], saved["options"])
        self._take_rows(new_tables(1))
        write_rules(self.row, self.rules)
        row = np.frombuffer(saved["row"], TABLE)[0]
        self.row.episode, self.row.wanted_deal_size = row["episode"], row["wanted_deal_size"]
        self.set_state(saved["row"])

    def set_row(self, row: np.record) -> None:
        """Copy the record of a table with the same rules."""
        self._rows[0] = row

    def get_state(self) -> bytes:
        """Return the whole state of the table as bytes."""
        return self._rows.tobytes()

    def set_state(self, state: bytes) -> None:
        """Restore a state that `get_state` returned for a table with the same rules.

        Raises:
            ValueError: the bytes are not the state of such a table; the table is unchanged.
        """
        if not isinstance(state, bytes | bytearray) or len(state) != TABLE.itemsize:
            raise ValueError(f"the state must be the {TABLE.itemsize} bytes that get_state returned")
        rows = np.frombuffer(state, TABLE)
        check_states(rows, self._rows)
        self._rows[0] = rows[0]


def redeal_seed(row: np.record, seat: int, rng: np.random.Generator) -> int:
    """Check the arguments of `Table.sample_hidden`, and draw the seed of the redeal.

    Raises:
        ValueError: the seat or the generator is invalid, or the deal is over.
    """
    _check_seat(seat, int(row.n_seats))
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator, not {brief(rng)}")
    if row.phase == SCORED:
        raise ValueError("the deal is over and its points are known; only an unfinished deal can be redealt")
    if row.over:
        raise ValueError(NOTHING_DEALT)
    return int(rng.integers(MAX_SEED, endpoint=True))


def _check_seat(seat: Any, seats: int) -> int:
    if not is_integer(seat) or not 0 <= seat < seats:
        raise ValueError(f"seat must be a seat from 0 to {seats - 1}, not {brief(seat)}")
    return int(seat)


def _check_counter(name: str, number: Any) -> int:
    """Check and return the number of a table or match, at most 32 bits as in `chance`."""
    if not is_integer(number) or not 0 <= number <= MAX_TABLE:
        raise ValueError(f"{name} must be an integer from 0 to {MAX_TABLE}, not {brief(number)}")
    return int(number)
