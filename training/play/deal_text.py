"""A recorded deal as lines of text: hands, calls, contract, every trick, points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from noms_env.core.actions import CALL_WORDS
from noms_env.core.cards import CARD_NUMBERS, cards_in
from noms_env.record import Record, RecordError, replay
from noms_env.show import call_text, card_text, hand_text, points_text, suit_text
from noms_env.table import Table


def deal_lines(record: Record, seat: int | None = None, most_tricks: int | None = None) -> Iterator[str]:
    """Describe a recorded deal, as lines with ANSI colours.

    Args:
        record: the deal.
        seat: seat whose hand is shown; all hands and the stock when None.
        most_tricks: number of tricks shown; all when None.

    Raises:
        RecordError: the record cannot be replayed; the lines of its valid part come first.
    """
    tables = replay(record)
    table = next(tables)
    yield from head_lines(record, table, seat)
    fault, played = None, 1
    try:
        for _ in tables:  # the same table each time: play to the end
            played += 1
    except RecordError as error:
        fault = error
    record = {**record, "steps": record["steps"][:played]}
    yield from talk_lines(record, table, seat)
    yield from trick_lines(record, table, most_tricks)
    if fault is not None:
        raise fault
    yield from result_lines(record)


def head_lines(record: Record, table: Table, seat: int | None) -> Iterator[str]:
    """Describe the deal and the hands."""
    size = table.row.deal_size
    parts = [
        f"{table.rules.variant.title}, match {record['match']}, deal {record['deal']}",
        "1 card each" if size == 1 else f"{size} cards each",
        f"dealer seat {record['dealer']}",
        f"totals {numbers(record['before'])}",
    ]
    if record["multiplier"] != 1:
        parts.append(f"points ×{record['multiplier']}")
    yield f"\x1b[1m{' · '.join(parts)}\x1b[0m"
    for holder in range(table.seats) if seat is None else [seat]:
        yield f"  seat {holder}   {hand_text(cards_in(table.row.hands[holder]), table.deck_kind, True)}"
    if table.row.stock and seat is None:
        yield f"  stock    {hand_text(cards_in(table.row.stock), table.deck_kind, True)}"
    if record["turn_up"] is not None and record["turn_up"] in CARD_NUMBERS[table.deck_kind]:
        yield f"  turn-up  {card_text(CARD_NUMBERS[table.deck_kind][record['turn_up']], table.deck_kind, True)}"


def talk_lines(record: Record, table: Table, seat: int | None) -> Iterator[str]:
    """Describe the calls and the contract."""
    steps = [step for step in record["steps"] if step["phase"] == "call"]
    variant = table.rules.variant
    words = {word: call_text(call, variant) for call, word in enumerate(CALL_WORDS)}
    calls = [f"seat {step['seat']} {words.get(step['action'], step['action'])}" for step in steps]
    if calls:
        yield f"  calls    {' · '.join(calls)}"
    yield f"  contract {' · '.join(contract_parts(record, table, seat))}"


def contract_parts(record: Record, table: Table, seat: int | None) -> Iterator[str]:
    """Name declarer, trump, nominated card and, with `seat` None, the partner."""
    row, kind = table.row, table.deck_kind
    if row.passed_out:
        yield "all passed, no play"
        return
    if row.declarer >= 0:
        yield f"seat {row.declarer} declares {call_text(int(row.contract), table.rules.variant)}"
    if table.trump_word() is not None:
        yield "no trumps" if table.trump_word() == "NT" else f"trump {suit_text(int(row.trump), kind, True)}"
    said = [step["action"] for step in record["steps"] if step["phase"] in ("trump", "nominate")]
    if "unsaid" in said or (said and said[-1] != record["nominated"] and row.nominated >= 0):
        yield f"announced as {', '.join(said)}"
    if row.nominated >= 0:
        yield f"nominated {card_text(int(row.nominated), kind, True)}"
        if seat is None:
            yield "alone" if row.partner < 0 else f"partner seat {row.partner}"
    if row.excuse >= 0:
        yield f"the Excuse with seat {row.excuse}"


def trick_lines(record: Record, table: Table, most_tricks: int | None) -> Iterator[str]:
    """Return one line per trick: leader, cards in order, winner, and tricks so far."""
    row, seats = table.row, table.seats
    plays, named, indicated = _plays(record)
    if not plays:
        return
    leader, taken = plays[0], [0] * seats
    tricks = int(row.trick_number)
    shown = tricks if most_tricks is None else min(tricks, most_tricks)
    for trick in range(shown + (row.n_table > 0)):
        cards = [int(card) for card in row.order[trick * seats : (trick + 1) * seats] if card >= 0]
        text = " ".join(card_text(card, table.deck_kind, True) for card in cards)
        led_as = f" as {named[trick]}" if trick in named else ""
        signs = f" · seat {indicated[trick]} indicates" if trick in indicated else ""
        line = f"  trick {trick + 1:<2} seat {leader} leads{led_as} {text}{signs}"
        if trick < tricks:
            leader = int(row.trick_winners[trick])
            taken[leader] += 1
            line += f" · seat {leader} wins · tricks {numbers(taken)}"
        yield line
    if shown < tricks:
        yield f"  ...      {tricks - shown} more"


def _plays(record: Record) -> tuple[list[int], dict[int, str], dict[int, int]]:
    """Return the seat of each card played; by trick, the suit named for its lead and the seat that indicated."""
    plays: list[int] = []
    named: dict[int, str] = {}
    indicated: dict[int, int] = {}
    for step in record["steps"]:
        if step["phase"] == "suit":
            named[(len(plays) - 1) // record["seats"]] = step["action"]
        elif step["action"] == "indicate":
            indicated[len(plays) // record["seats"]] = step["seat"]
        elif step["phase"] == "play":
            plays.append(step["seat"])
    return plays, named, indicated


def result_lines(record: Record) -> Iterator[str]:
    """Give tricks, points and totals, and the winners of a finished match."""
    yield f"  tricks   {numbers(record['tricks'])}"
    yield f"  points   {numbers(record['points'])}"
    yield f"  totals   {numbers(record['after'])}"
    if record["over"]:
        winners = " and ".join(f"seat {seat}" for seat in record["winners"])
        cut_off = ", cut off before its end" if record["truncated"] else ""
        yield f"\x1b[1m  The match is over{cut_off}: {winners} {'wins' if len(record['winners']) == 1 else 'win'}\x1b[0m"
    yield ""


def numbers(values: list[Any]) -> str:
    """Return one number per seat, side by side."""
    return " ".join(points_text(value) for value in values)
