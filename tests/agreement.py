"""The engine and the referee play the same match side by side, and must agree at every decision.

The engine draws the chance (decks, first dealer, cuts, lots); the referee takes nothing else from it, and is asked
whether such a deck is possible.
"""

import random
from typing import Any

from noms_env.core.cards import CARD_WORDS, NO_TRUMP, SUIT_LETTERS
from noms_env.table import Table
from noms_env.variants import RulesError
from tests import referee

SENSELESS = " has an effect only "
"""Combinations that the engine refuses as senseless, and that the referee plays: the option has no effect there."""

PASSING = (0.0, 0.5, 0.9, 1.0)


def random_table(variant: str, rng: random.Random) -> tuple[int, dict[str, Any]]:
    """Seats and options that both sides allow."""
    while True:
        seats, given = referee.random_options(variant, rng)
        try:
            Table(variant, seats, given)
        except RulesError as refusal:
            if SENSELESS in str(refusal):
                continue
            raise AssertionError(f"{variant}, {seats} seats, {given}: refused by the engine only: {refusal}") from refusal
        return seats, given


def play_together(
    variant: str, seats: int, given: dict[str, Any], seed: int, *, episode: str = "match", most_deals: int = 1000
) -> int:
    """Play one match of random actions on both sides; the number of deals.

    Raises:
        AssertionError: the two sides disagree.
    """
    rng = random.Random(seed)
    if episode == "deal":
        given = {**given, "accumulate": False} if "accumulate" in given else given
    table = Table(variant, seats, given, seed=seed, episode=episode)
    options = referee.complete_options(variant, seats, given)
    assert table.rules.options == options
    table.start()
    row = table.row
    match = referee.Match(variant, seats, options, dealer=int(row.dealer), deal=int(row.deal), single_deal=episode == "deal")
    for deals in range(1, most_deals + 1):
        play_deal_together(table, match, rng)
        assert table.is_over == match.over
        if match.over:
            return deals
        table.next_deal()
    return most_deals


def deck_words(table: Table) -> list[str]:
    return [CARD_WORDS[table.deck_kind][card] for card in table.row.deck[: len(table.rules.deck)]]


def referee_at(table: Table, deck: list[str]) -> referee.Deal:
    """The referee at the start of the deal on the table, with a deck."""
    rules, row = table.rules, table.row
    return referee.Deal(
        rules.variant.name,
        table.seats,
        dict(rules.options),
        deal=int(row.deal),
        dealer=int(row.dealer),
        deck=deck,
        multiplier=int(row.multiplier),
        carried_tricks=[int(tricks) for tricks in row.carried_tricks[: table.seats]],
        random_trump=table.trump_word() if rules.options.get("trump_mode") == "random" else None,
    )


def play_deal_together(table: Table, match: referee.Match, rng: random.Random) -> None:
    row, seats = table.row, table.seats
    deck = deck_words(table)
    where = (table.rules.variant.name, seats, match.options, int(row.seed), match.deal)
    assert (row.dealer, row.deal, row.multiplier, row.deal_size) == (
        match.dealer,
        match.deal,
        match.multiplier,
        match.hand_size,
    ), where
    assert match.possible_next_deck(deck), where
    drawn = SUIT_LETTERS[0][row.trump] if 0 <= row.trump < NO_TRUMP and match.options.get("trump_mode") == "random" else None
    deal = match.start(deck, random_trump=drawn)
    assert [sorted(table.card_words(hand)) for hand in row.hands[:seats]] == [sorted(hand) for hand in deal.hands], where
    passing = rng.choice(PASSING)
    while not deal.over:
        here = (*where, deal.steps)
        assert (table.phase, row.seat) == (deal.phase, deal.seat), here
        legal = deal.legal()
        assert sorted(table.legal_words()) == sorted(legal), here
        assert public_place(table) == deal.public_place(), here
        word = "pass" if "pass" in legal and rng.random() < passing else rng.choice(legal)
        table.act(word)
        deal.act(word)
    check_end(table, deal, where)
    match.finish(deal)
    same_numbers(row.totals[:seats], match.totals, where)
    assert (bool(row.over), bool(row.truncated)) == (match.over, match.truncated), where
    winners = [seat for seat in range(seats) if row.winners >> seat & 1]
    assert winners == sorted(match.winners), where


def public_place(table: Table) -> int | str | None:
    """Where all know that the nominated card was dealt, as the table's record has it."""
    row = table.row
    if row.nominated >= 0 and row.alone:
        return "stock"
    return int(row.revealed) if row.revealed >= 0 else None


def check_end(table: Table, deal: referee.Deal, where: Any) -> None:
    """Both sides agree on how a deal has ended. The seat that was cut is told to the referee."""
    row, seats = table.row, table.seats
    assert table.is_scored, (*where, deal.steps)
    assert [int(w) for w in row.trick_winners[: row.trick_number]] == deal.trick_winners, where
    assert list(row.tricks[:seats]) == deal.tricks, where
    if deal.seats_to_cut():
        sniped = [seat for seat in range(seats) if row.sniped >> seat & 1]
        assert len(sniped) == 1, where
        assert sniped[0] in deal.seats_to_cut(), where
        deal.sniped = sniped[0]
    same_numbers(row.points[:seats], deal.points, where)
    assert (table.trump_word() if not row.passed_out else None) == deal.trump, where
    assert (row.declarer if row.declarer >= 0 else None) == deal.declarer, where
    assert (row.partner if row.partner >= 0 else None) == deal.partner, where
    assert (table.word(row.nominated) if row.nominated >= 0 else None) == deal.nominated, where


def same_numbers(found: Any, expected: Any, where: Any) -> None:
    """Points are equal but for rounding."""
    assert len(found) == len(expected), where
    assert all(abs(a - b) < 1e-9 for a, b in zip(found, expected, strict=True)), (*where, list(found), list(expected))
