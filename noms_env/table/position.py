"""Checks of a user's position for `Table.start`; each raises PositionError."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from noms_env.core.actions import brief, is_integer
from noms_env.core.cards import CARD_NUMBERS, CARD_WORDS, DECK_NAMES
from noms_env.core.state import MAX_POINTS
from noms_env.variants import Rules
from noms_env.variants.match import SAME

MAX_DEAL_NUMBER = 10_000


class PositionError(ValueError):
    """A position that the rules do not allow; the message says what was wrong and what is allowed."""


def check_deck(rules: Rules, deck: Sequence[str]) -> list[int]:
    """Check a deck in words, and return its card numbers."""
    if isinstance(deck, str) or not isinstance(deck, Sequence):
        raise PositionError(f"deck must be a list of cards in dealing order, not {brief(deck)}")
    names = dict.fromkeys(CARD_WORDS[rules.variant.deck_kind][card] for card in rules.deck)
    wrong = [word for word in deck if not isinstance(word, str) or word not in names]
    if wrong:
        deck_name = DECK_NAMES[rules.variant.deck_kind]
        raise PositionError(f"deck holds {brief(wrong[0])}, which is not a card of this deck ({deck_name}: {' '.join(names)})")
    counts = Counter(deck)
    twice = sorted(word for word, count in counts.items() if count > 1)
    if twice:
        raise PositionError(f"deck holds {twice[0]} more than once; every card must be there once")
    missing = [word for word in names if word not in counts]
    if missing:
        raise PositionError(f"deck lacks {' '.join(missing)}; all {len(names)} cards must be there, dealt or not")
    return [CARD_NUMBERS[rules.variant.deck_kind][word] for word in deck]


def check_dealer(rules: Rules, dealer: int) -> int:
    """Check and return the dealer's seat."""
    if not is_integer(dealer) or not 0 <= dealer < rules.seats:
        raise PositionError(f"dealer must be a seat from 0 to {rules.seats - 1}, not {brief(dealer)}")
    return int(dealer)


def check_totals(rules: Rules, totals: Sequence[float], in_match: bool) -> list[float]:
    """Check and return the totals before the deal; in a match (`in_match`) they must be below the target."""
    listed = totals.tolist() if isinstance(totals, np.ndarray) else totals
    entries = list(listed) if isinstance(listed, Sequence) and not isinstance(listed, str) else []
    numbers = [total for total in entries if is_integer(total) or isinstance(total, float | np.floating)]
    points = [float(total) for total in numbers if abs(total) <= MAX_POINTS]
    if len(points) != rules.seats or len(entries) != rules.seats:
        raise PositionError(
            f"totals must be {rules.seats} numbers from -{MAX_POINTS} to {MAX_POINTS}, one for each seat, not {brief(totals)}"
        )
    if rules.options.get("accumulate") and any(points):
        raise PositionError(f"totals must be zeros with accumulate, which scores in the last deal only; not {brief(totals)}")
    target = rules.options.get("target")
    playing_on = rules.options.get("tie") == "play_on" and sum(max(points) - total <= SAME for total in points) > 1
    if target is not None and max(points) >= target and not playing_on and in_match:
        raise PositionError(f"totals must be below the target of {target}, or the match would be over; not {brief(totals)}")
    return points


def check_deal(rules: Rules, deal: int, wanted_size: int) -> int:
    """Check and return the index of the deal in the match; `wanted_size` is the deal size of the episode, -1 for any."""
    options, schedule = rules.options, rules.schedule
    lengths = [options.get(name) for name in ("n_hands", "max_hands", "max_deals")]
    most = min([MAX_DEAL_NUMBER, *(n for n in lengths if n is not None), *([len(schedule)] if schedule else [])])
    if not is_integer(deal) or not 0 <= deal < most:
        raise PositionError(f"deal must be an integer from 0 to {most - 1}, not {brief(deal)}")
    if wanted_size > 0 and schedule[deal] != wanted_size:
        raise PositionError(f"deal {deal} has {schedule[deal]} cards, but the episode asks for hand_size={wanted_size}")
    return int(deal)


def check_multiplier(rules: Rules, multiplier: int) -> int:
    """Check and return the multiplier: 1, or a power of 2 that pass-outs allow."""
    most = rules.variant.most_doublings(rules.options)
    if not is_integer(multiplier) or int(multiplier) not in [2**doublings for doublings in range(most + 1)]:
        allowed = ("1", "1 or 2")[most] if most < 2 else f"a power of 2 from 1 to 2**{most}"
        raise PositionError(f"multiplier must be {allowed} here, not {brief(multiplier)}")
    return int(multiplier)
