"""The protocol `noms-bot/1` for programs that play: lines of JSON.

`examples/README.md` describes it for authors of programs. Words of cards and actions are those of the game record
(`noms_env.core.actions`).

The line of a decision is made from a table's record alone. Players only get tables with sampled hidden cards
(`noms_env.belief.determinize`), so a line cannot contain the true ones. It contains no sampled ones either: only the own hand
and public information.
"""

from __future__ import annotations

import json
from base64 import b64encode
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from noms_env._json import parse_json
from noms_env.core.actions import CALL_WORDS, PHASES, UNSAID, action_word, is_integer
from noms_env.core.cards import CARD_WORDS, DECKTET, NO_TRUMP, RANK_LETTERS, SUIT_LETTERS, cards_in
from noms_env.core.partners import ROLES, known_role
from noms_env.core.state import EPISODES, HELD
from noms_env.variants import GAMES, VARIANTS, Option, Rules
from noms_env.variants.rulebook import ROTATION_WORDS
from noms_env.variants.table_record import RECORD, TABLE
from noms_env.version import ENV_VERSION

PROTOCOL = "noms-bot/1"
LONGEST = 1 << 20  # maximum bytes of an answer
SHOWN = 60  # characters of a wrong answer that errors quote

Document = dict[str, Any]

_FIELDS: Any = TABLE.fields
_RULES_START, _RULES_END = _FIELDS["variant"][1], _FIELDS["usual_deal_size"][1] + 2
"""Range of a table record's bytes that hold its rules and the kind of episode."""


class ProgramError(Exception):
    """A failure of a program, such as an invalid answer; the message completes a sentence."""


def hello(limit: float) -> bytes:
    """Return the first line; `limit` is in seconds per decision."""
    return _line({"type": "hello", "protocol": PROTOCOL, "environment": ENV_VERSION, "limit": limit})


def wants_observation(answer: bytes) -> bool:
    """Return whether the answer to the first line asks for observations; ProgramError if it is not of this protocol."""
    document = _parse_json(answer)
    if not isinstance(document, dict) or document.get("protocol") != PROTOCOL:
        raise ProgramError(f'answered the first line with {_brief(answer)}, not with {{"protocol": "{PROTOCOL}"}}')
    wanted = document.get("observation", False)
    if not isinstance(wanted, bool):
        raise ProgramError(f"answered the first line with {_brief(answer)}, whose observation must be true or false")
    return wanted


def decision(row: np.record, mask: np.ndarray, seed: int, observation: np.ndarray | None = None) -> bytes:
    """Return the line of a decision: the view and the legal actions of the seat to act at a table (`table_record.TABLE`).

    `mask` is int8, shape (NUM_ACTIONS,); `observation`, uint8, shape (OBSERVATION_SIZE,), is for a program that asks for it.
    """
    fixed = _write_rules(row.tobytes()[_RULES_START:_RULES_END])
    table = _unpack(row)
    role = ROLES[known_role(row, table.seat)]
    document = {**_read_phase(table, mask), "seed": seed, **_read_view(table, role)}
    if observation is not None:
        document["observation"] = b64encode(observation.tobytes()).decode()
    return fixed + _line(document)[1:]


def find_action(answer: bytes, row: np.record, mask: np.ndarray) -> int:
    """Return the legal action that an answer names, or raise ProgramError; `row` and `mask` as in `decision`."""
    document = _parse_json(answer)
    action = document.get("action") if isinstance(document, dict) else document
    actions = np.flatnonzero(mask).tolist()
    if isinstance(action, str):
        words = [action_word(number, int(row.deck_kind)) for number in actions]
        if action not in words:
            legal = " ".join(words[:8]) + (" ..." if len(words) > 8 else "")
            raise ProgramError(f"answered {_brief(answer)}, which was not legal: legal were {legal}")
        return int(actions[words.index(action)])
    if not is_integer(action):
        raise ProgramError(f"answered {_brief(answer)}, which names no action")
    if action not in actions:
        raise ProgramError(f"chose action {action}, which was not legal")
    return int(action)


def _unpack(row: np.record) -> SimpleNamespace:
    """Return the fields of a table's record as plain numbers and lists, which are faster to read one by one."""
    values = zip(TABLE.names or (), row.item(), strict=True)
    return SimpleNamespace(**{name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values})


def _read_phase(t: SimpleNamespace, mask: np.ndarray) -> Document:
    actions = np.flatnonzero(mask).tolist()
    return {
        "seat": t.seat,
        "phase": PHASES[t.phase],
        "hand": _cards(t.hands[t.seat], t.deck_kind),
        "legal": [action_word(action, t.deck_kind) for action in actions],
        "actions": actions,
    }


def _read_view(t: SimpleNamespace, role: str) -> Document:
    seats, deck = t.n_seats, t.deck_kind
    return {
        # --- the match
        "episode": EPISODES[t.episode],
        "deal": t.deal,
        "deals": _or_none(t.n_deals),
        "before": [int(total) if total.is_integer() else total for total in t.totals[:seats]],
        "piled": t.carried_tricks[:seats] if t.accumulate else None,
        "previous": _previous(t) if t.observe_previous_hand else None,
        # --- the deal
        "dealer": t.dealer,
        "hand_size": t.deal_size,
        "multiplier": int(t.multiplier),
        "turn_up": _card(t.turn_up, deck),
        # --- the contract
        "calls": _calls(t),
        "contract": CALL_WORDS[t.contract] if t.contract >= 0 else None,
        "declarer": _or_none(t.declarer),
        "trump": _trump(t),
        "nominated": _nominated(t),
        "refused": _cards(t.refused, deck),
        "indicated": t.indicated >= 0,
        "revealed": _or_none(t.revealed),
        **({"alone": bool(t.alone)} if t.open_partner else {}),
        "role": role,
        "open": None if t.exposed < 0 else {"seat": t.exposed, "hand": _cards(t.hands[t.exposed], deck)},
        "excuse": _or_none(t.excuse) if t.deck_kind == DECKTET and PHASES[t.phase] != "call" else None,
        "broken": bool(t.broken) if t.breaks_trumps else None,
        # --- the play
        "tricks": t.tricks[:seats],
        "played": [_trick(t, number) for number in range(t.trick_number)],
        "trick": _present_trick(t),
        "voids": [[SUIT_LETTERS[deck][suit] for suit in cards_in(voids)] for voids in t.voids[:seats]],
    }


def _calls(t: SimpleNamespace) -> list[Document]:
    """Return the calls in order; seats call in turn, from the dealer's left."""
    calls = _bytes(t.calls)[: t.n_calls]
    return [{"seat": (t.dealer + 1 + turn) % t.n_seats, "call": CALL_WORDS[call - 1]} for turn, call in enumerate(calls)]


def _trump(t: SimpleNamespace) -> str | None:
    """Return the trump as in the record; `unsaid` until the first lead shows it."""
    if t.trump == UNSAID:
        return "unsaid"
    if not 0 <= t.trump <= NO_TRUMP:
        return None
    return "NT" if t.trump == NO_TRUMP else SUIT_LETTERS[t.deck_kind][t.trump]


def _nominated(t: SimpleNamespace) -> str | None:
    """Return the nominated card, or a bare rank."""
    if t.nominated < 0 and t.nominated_rank >= 0:
        return RANK_LETTERS[t.deck_kind][t.nominated_rank]
    return _card(t.nominated, t.deck_kind)


def _trick(t: SimpleNamespace, number: int) -> Document:
    """Return a complete trick: its cards clockwise from the leader."""
    cards = t.order[number * t.n_seats : (number + 1) * t.n_seats]
    leader = next(seat for seat in range(t.n_seats) if t.played[seat] >> cards[0] & 1)
    return {"leader": leader, "cards": [CARD_WORDS[t.deck_kind][card] for card in cards], "winner": t.trick_winners[number]}


def _present_trick(t: SimpleNamespace) -> Document | None:
    """Return the trick on the table, and the suit to follow; None before the play."""
    if t.leader < 0:
        return None
    cards = [t.on_table[(t.leader + turn) % t.n_seats] for turn in range(t.n_table)]
    suit = SUIT_LETTERS[t.deck_kind][t.led_suit] if t.led_suit >= 0 else None
    return {"leader": t.leader, "cards": [CARD_WORDS[t.deck_kind][card] for card in cards], "suit": suit}


def _previous(t: SimpleNamespace) -> Document:
    """Return the seat's memory of the deal before (`observe_previous_hand`)."""
    words = CARD_WORDS[t.deck_kind]
    seen = _bytes(t.previous)[: len(words)]
    places = sorted((*divmod(byte - 1, 4), words[card]) for card, byte in enumerate(seen) if 0 < byte < HELD)
    return {
        "played": [{"trick": trick, "seat": seat, "card": word} for trick, seat, word in places],
        "held": [words[card] for card, byte in enumerate(seen) if byte == HELD + t.seat],
    }


def _bytes(words: list[int]) -> bytes:
    """Unpack bytes from 64-bit words (`noms_env.core.state`)."""
    return b"".join(word.to_bytes(8, "little", signed=True) for word in words)


def _card(card: int, deck: int) -> str | None:
    return CARD_WORDS[deck][card] if card >= 0 else None


def _cards(cards: int, deck: int) -> list[str]:
    return [CARD_WORDS[deck][card] for card in cards_in(cards)]


def _or_none(number: int) -> int | None:
    """Return a field of the table; None for -1."""
    return None if number < 0 else int(number)


@lru_cache(maxsize=64)
def _write_rules(rules: bytes) -> bytes:
    """Return the beginning of a line, up to a comma: the rules in these bytes of a table's record."""
    record = bytearray(TABLE.itemsize)
    record[_RULES_START:_RULES_END] = rules
    table_rules = rules_of(np.frombuffer(bytes(record), RECORD)[0])
    words = CARD_WORDS[table_rules.variant.deck_kind]
    document = {
        "type": "decision",
        "variant": table_rules.variant.name,
        "seats": table_rules.seats,
        "options": table_rules.options,
        "cards": [words[card] for card in table_rules.deck],
    }
    return _line(document)[:-2] + b","


def rules_of(row: np.record) -> Rules:
    """Return the rules in a table's record: the inverse of `noms_env.variants.write_rules`."""
    variant = GAMES[VARIANTS[row.variant]]
    return Rules(variant, int(row.n_seats), {option.name: _value(row, option) for option in variant.options})


def _value(row: np.record, option: Option) -> Any:
    if option.rotation:
        return [ROTATION_WORDS[-1 if suit == NO_TRUMP else suit] for suit in row.trump_rotation[: row.rotation_length]]
    code = int(row.usual_deal_size if option.name == "hand_size" else row[option.name])
    if code < 0 and option.none:
        return None
    if option.late and code == 0:
        return option.default
    if option.flag:
        return bool(code)
    return option.words[code] if option.words else code


def _line(document: Document) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _parse_json(answer: bytes) -> Any:
    try:
        return parse_json(answer)
    except ValueError as error:
        raise ProgramError(f"answered {_brief(answer)}, which is no JSON") from error


def _brief(answer: bytes) -> str:
    text = answer.decode(errors="replace").strip()
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
