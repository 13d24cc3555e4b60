"""A player that reads and writes lines of JSON: `noms evaluate 'cmd:python examples/jsonl_bot.py' random`.

It bids its number of high cards, passes in auctions, and plays its lowest legal card. It needs only the standard library. A
player in any other language works in the same way; `README.md` in this folder describes the protocol.
"""

from __future__ import annotations

import json
import sys
from typing import Any

RANKS = "A23456789TJQKA"
"""Ranks from low to high. The first A is the ace of the Decktet, which is low; the last A is the French ace."""


def height(card: str, is_french: bool) -> int:
    """Return the height of a card in its suit. In the Decktet, crowns (C) are highest and the Excuse (EX) is lowest."""
    if card[0] in "CE" and not is_french:
        return 13 if card[0] == "C" else -1
    return RANKS.rindex(card[0]) if is_french else RANKS.index(card[0])


def choose(seen: dict[str, Any]) -> str:
    """Return one of the words in `seen["legal"]`."""
    legal: list[str] = seen["legal"]
    is_french = seen["variant"] != "nonesuch"
    if seen["phase"] == "call":
        return choose_call(seen, legal, is_french)
    if seen["phase"] in ("trump", "suit"):  # name the longest suit
        return max(legal, key=lambda suit: sum(suit in card[1:] for card in seen["hand"]))
    if seen["phase"] == "nominate":  # nominate the highest card outside the own hand: its holder becomes the partner
        return max(legal, key=lambda word: (len(word) > 1, height(word, is_french), word not in seen["hand"]))
    cards = [word for word in legal if word in seen["hand"]]
    return min(cards, key=lambda card: height(card, is_french))


def choose_call(seen: dict[str, Any], legal: list[str], is_french: bool) -> str:
    """Return the legal bid nearest to the number of high cards; pass in an auction if that is legal."""
    if "pass" in legal:
        return "pass"
    if "none" in legal:
        return "none"
    high = sum(height(card, is_french) >= RANKS.index("Q") for card in seen["hand"])
    numbers = [word for word in legal if word.isdigit()]
    return min(numbers, key=lambda word: abs(int(word) - high)) if numbers else legal[0]


def main() -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            answer = {"protocol": message["protocol"]}
        else:
            answer = {"action": choose(message)}
        print(json.dumps(answer), flush=True)  # without the flush, the command would wait forever


if __name__ == "__main__":
    main()
