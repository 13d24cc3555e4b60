"""Play the same match with the engine and the referee, and compare them at every decision.

The referee takes only chance (decks, first dealer, cuts, lots) from the engine, and checks that each deck is possible.
"""

import random
from typing import Any

from noms_env.core.cards import CARD_WORDS, NO_TRUMP, SUIT_LETTERS
from noms_env.table import Table
from noms_env.variants import RulesError
from tests import referee

SENSELESS = " has an effect only "
"""Marks options that the engine refuses as senseless. The referee plays them; they have no effect there."""


def random_table(variant: str, rng: random.Random) -> tuple[int, dict[str, Any]]:
    """Draw seats and options that both sides allow."""
    while True:
        seats, options = referee.random_options(variant, rng)
        try:
            Table(variant, seats, options)
        except RulesError as refusal:
            if SENSELESS in str(refusal):
                continue
            raise AssertionError(f"{variant}, {seats} seats, {options}: only the engine refuses: {refusal}") from refusal
        return seats, options


def play_together(
    variant: str, seats: int, options: dict[str, Any], seed: int, *, episode: str = "match", most_deals: int = 1000
) -> int:
    """Play one match of random actions on both sides and return the number of deals.

    Raises:
        AssertionError: the two sides disagree.
    """
    rng = random.Random(seed)
    if episode == "deal" and "accumulate" in options:
        options = {**options, "accumulate": False}
    table = Table(variant, seats, options, seed=seed, episode=episode)
    options = referee.complete_options(variant, seats, options)
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
    """Return the referee at the start of the table's deal, with the given deck."""
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
    expected = (match.dealer, match.deal, match.multiplier, match.hand_size)
    assert (row.dealer, row.deal, row.multiplier, row.deal_size) == expected, where
    assert match.possible_next_deck(deck), where
    trump = SUIT_LETTERS[0][row.trump] if 0 <= row.trump < NO_TRUMP and match.options.get("trump_mode") == "random" else None
    deal = match.start(deck, random_trump=trump)
    assert [sorted(table.card_words(hand)) for hand in row.hands[:seats]] == [sorted(hand) for hand in deal.hands], where
    pass_rate = rng.choice((0.0, 0.5, 0.9, 1.0))
    while not deal.over:
        here = (*where, deal.steps)
        assert (table.phase, row.seat) == (deal.phase, deal.seat), here
        legal = deal.legal()
        assert sorted(table.legal_words()) == sorted(legal), here
        assert public_place(table) == deal.public_place(), here
        word = "pass" if "pass" in legal and rng.random() < pass_rate else rng.choice(legal)
        table.act(word)
        deal.act(word)
    check_end(table, deal, where)
    match.finish(deal)
    same_numbers(row.totals[:seats], match.totals, where)
    assert (bool(row.over), bool(row.truncated)) == (match.over, match.truncated), where
    winners = [seat for seat in range(seats) if row.winners >> seat & 1]
    assert winners == sorted(match.winners), where


def public_place(table: Table) -> int | str | None:
    """Return the publicly known place of the nominated card, as the engine's row has it."""
    row = table.row
    if row.nominated >= 0 and row.alone:
        return "stock"
    return int(row.revealed) if row.revealed >= 0 else None


def check_end(table: Table, deal: referee.Deal, where: Any) -> None:
    """Check that both sides agree on the end of a deal. The referee takes the cut seat from the engine."""
    row, seats = table.row, table.seats
    assert table.is_scored, (*where, deal.steps)
    assert [int(w) for w in row.trick_winners[: row.trick_number]] == deal.trick_winners, where
    assert list(row.tricks[:seats]) == deal.tricks, where
    if deal.seats_to_cut():
        (deal.sniped,) = [seat for seat in range(seats) if row.sniped >> seat & 1]
        assert deal.sniped in deal.seats_to_cut(), where
    same_numbers(row.points[:seats], deal.points, where)
    assert (table.trump_word() if not row.passed_out else None) == deal.trump, where
    assert (row.declarer if row.declarer >= 0 else None) == deal.declarer, where
    assert (row.partner if row.partner >= 0 else None) == deal.partner, where
    assert (table.word(row.nominated) if row.nominated >= 0 else None) == deal.nominated, where


def same_numbers(actual: Any, expected: Any, where: Any) -> None:
    """Check that points are equal but for rounding."""
    assert len(actual) == len(expected), where
    assert all(abs(a - b) < 1e-9 for a, b in zip(actual, expected, strict=True)), (*where, list(actual), list(expected))
