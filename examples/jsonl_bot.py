"""A player that speaks lines of JSON, standard library only: `noms evaluate 'cmd:python examples/jsonl_bot.py' random`.

It calls about as many tricks as it has high cards, passes in auctions, and plays its lowest legal card. Any language that reads
and writes lines of JSON will do; `README.md` in this folder describes the protocol.
"""

from __future__ import annotations

import json
import sys
from typing import Any

RANKS = "A23456789TJQKA"
"""From low to high: in the Decktet aces are low, so the first A is theirs; the French one is the last."""


def height(card: str, is_french: bool) -> int:
    """How high a card stands in its suit; the Decktet's crowns (C) and Excuse (EX) are told apart by hand."""
    if card[0] in "CE" and not is_french:
        return 13 if card[0] == "C" else -1
    return RANKS.rindex(card[0]) if is_french else RANKS.index(card[0])


def choose(seen: dict[str, Any]) -> str:
    """One of the words in `seen["legal"]`."""
    legal: list[str] = seen["legal"]
    is_french = seen["variant"] != "nonesuch"
    if seen["phase"] == "call":
        return choose_call(seen, legal, is_french)
    if seen["phase"] in ("trump", "suit"):  # of the suits that may be named, the one of which it holds the most cards
        return max(legal, key=lambda suit: sum(suit in card[1:] for card in seen["hand"]))
    if seen["phase"] == "nominate":  # its partner is who holds the highest card that it lacks
        return max(legal, key=lambda word: (len(word) > 1, height(word, is_french), word not in seen["hand"]))
    cards = [word for word in legal if word in seen["hand"]]
    return min(cards, key=lambda card: height(card, is_french))


def choose_call(seen: dict[str, Any], legal: list[str], is_french: bool) -> str:
    """The number of its high cards, or the legal call that comes closest; in an auction a pass, if that is legal."""
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
        print(json.dumps(answer), flush=True)  # at once: whoever asked waits for it


if __name__ == "__main__":
    main()
