"""Text and pictures of a table show everything that a seat may see, and nothing else (rules 0.1)."""

import random
import re
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from noms_env import show
from noms_env.core.cards import CARD_NUMBERS, DECKTET, FRENCH, cards_in
from noms_env.table import Table
from tests.begin import begin
from tests.cases import some
from tests.envs.play import KINDS
from tests.observation.test_leaks import mix_hidden
from tests.variants.table_help import play

some_tables = pytest.mark.parametrize(("variant", "seats", "options"), some(KINDS.values(), 6), ids=KINDS)


def moments(variant: str, seats: int, options: dict[str, Any], count: int, length: int = 160) -> list[Table]:
    """Copy a table at random moments of random play: up to `count` times in each phase, and at as many scored deals."""
    rng = random.Random(f"{variant} {seats} {options}")
    copies: dict[str | None, list[Table]] = {}
    for match in range(4):
        table = begin(Table(variant, seats, options, seed=11), match)
        for _ in range(length):
            copies.setdefault(table.phase, []).append(table.copy())
            if table.is_over:
                break
            if table.is_scored:
                table.next_deal()
            else:
                table.step(rng.choice(table.legal_actions()))
    return [table for tables in copies.values() for table in rng.sample(tables, min(count, len(tables)))]


@pytest.mark.uncompiled
@pytest.mark.parametrize(("variant", "seats", "options"), KINDS.values(), ids=KINDS)
def test_text_shows_the_hand_and_in_turn_the_legal_actions(variant: str, seats: int, options: dict[str, Any]) -> None:
    for table in moments(variant, seats, options, 2, 60):
        for seat in (None, *range(seats)):
            text = show.text(table, seat)
            assert table.rules.variant.title in text
            assert max(map(len, text.splitlines())) <= 160
            assert "\x1b" not in text
            assert ("\nLegal" in text) == (not table.is_scored and table.row.seat == seat)
            assert ("\nHand" in text) == (seat is not None)
            coloured = show.text(table, seat, colour=True)
            assert coloured != text
            assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text


@some_tables
def test_each_seat_has_its_own_image(variant: str, seats: int, options: dict[str, Any]) -> None:
    table = moments(variant, seats, options, 1)[0]
    images = [show.image(table, seat) for seat in (None, *range(seats))]
    assert all(image.shape == (920, 720, 3) and image.dtype == np.uint8 for image in images)
    assert all(not np.array_equal(image, following) for image, following in pairwise(images[1:]))
    assert np.array_equal(images[0], show.image(table, None)), "an image is deterministic"


DECK_OF_TWELVE = ["QC", "QD", "KS", "AC", "KC", "AD", "KD", "QS", "AS", "QH", "KH", "AH"]
"""Dealt to three seats from seat 0: QC AC KD QH, QD KC QS KH, KS AD AS AH."""


@pytest.mark.uncompiled
def test_the_text_of_a_small_deal() -> None:
    table = begin(Table("small_ships", 3, {"ranks": 3}), deck=DECK_OF_TWELVE, dealer=2, totals=[12.5, 0, -7], deal=2)
    play(table, "3 4 H AH QC KC KS QD AD")
    lines = show.text(table, 0).splitlines()
    assert lines[:2] == ["Small Ships · deal 3 · 4 cards each · dealer seat 2 · to 100 points", "Seat 0 (you) to play"]
    assert "Bid       4 by seat 1 · nominated A♥ · partner not shown · you are an opponent" in lines
    assert "Trick 2   seat 1 Q♦ · seat 2 A♦" in lines
    assert "Last      seat 0 Q♣ · seat 1 K♣ · seat 2 K♠ · taken by seat 1" in lines
    rows = [" ".join(line.split()) for line in lines if line.startswith(("> ", "  1", "  2"))]
    assert rows == ["> 0 you 3 3 0 12.5", "1 declarer 4 2 1 0", "2 dealer 2 0 -7"]
    assert lines[-2:] == ["Hand      ♣ A  ♦ K  ♥ Q", "Legal     KD"]
    assert "partner seat 2, hidden" in show.text(table, 0, full=True)
    assert "you are the partner" in show.text(table, 2)
    assert "you are the declarer" in show.text(table, 1)


@pytest.mark.uncompiled
def test_hands_are_sorted_by_suit_and_points_are_short() -> None:
    french = [CARD_NUMBERS[FRENCH][word] for word in ("2H", "AC", "TS", "KC", "3H")]
    decktet = [CARD_NUMBERS[DECKTET][word] for word in ("EX", "AM", "9WY", "2MK")]
    assert show.hand_text(french, FRENCH) == "♣ AK  ♠ T  ♥ 32"
    assert show.hand_text(decktet, DECKTET) == "2MK AM  9WY  EX"
    assert show.hand_text([], FRENCH) == ""
    assert show.trick_text([(2, french[0]), (0, french[1])], FRENCH) == "seat 2 2♥ · seat 0 A♣"
    texts = [show.points_text(points) for points in (10.0, -0.5, 1 / 3, -0.0, 0.0, -1e-9)]
    assert texts == ["10", "-0.5", "0.33", "0", "0", "0"]


@pytest.mark.uncompiled
def test_wrong_seats_early_calls_and_missing_libraries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("noms", seed=3)
    with pytest.raises(ValueError, match="nothing has been dealt"):
        show.text(table, 0)
    table.start()
    for seat in (4, -1, True, "0"):
        with pytest.raises(ValueError, match="seat must be None or an integer from 0 to 3"):
            show.text(table, seat)  # type: ignore[arg-type]
    for module, library in (("PIL.Image", "Pillow"), ("resvg_py", "resvg-py")):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, module, None)
            with pytest.raises(ModuleNotFoundError, match=rf"need {library}, .*pip install '\.\[render\]'"):
                show.image(table, 0)


@some_tables
def test_rules_0_1_hidden_cards_change_nothing(variant: str, seats: int, options: dict[str, Any]) -> None:
    rng = random.Random(5)
    differing = 0
    for table in moments(variant, seats, options, 4):
        for seat in (None, *range(seats)):
            twin = table
            for viewer in range(table.seats) if seat is None else [seat]:
                twin = mix_hidden(twin, viewer, rng)
            assert show.look(table, seat) == show.look(twin, seat)
            assert show.text(table, seat) == show.text(twin, seat)
            assert show.text(table, seat, colour=True) == show.text(twin, seat, colour=True)
            assert show.svg(table, seat) == show.svg(twin, seat)
            differing += show.text(table, seat, full=True) != show.text(twin, seat, full=True)
            assert show.svg(table, seat) != show.svg(table, seat, full=True)
    assert differing >= 8, "hidden cards changed places, as the full view shows"


@pytest.mark.uncompiled
@pytest.mark.parametrize("reveal", [False, True])
def test_rules_3_3_a_nominated_card_in_the_stock_stays_secret_during_the_deal(reveal: bool) -> None:
    table = Table("small_ships", 3, {"ranks": 3, "hand_size": 3, "reveal_stock_at_end": reveal})
    table.start(deck=DECK_OF_TWELVE, dealer=2)
    play(table, "3 NT QH QC")
    for seat in (None, 0, 1, 2):
        assert "nominated Q♥ · partner not shown" in show.text(table, seat)
        assert "alone" not in show.text(table, seat)
        assert "Stock" not in show.text(table, seat)
    assert "alone, hidden" in show.text(table, 1, full=True)
    assert "Stock     ♥ AKQ" in show.text(table, 1, full=True)
    while not table.is_scored:
        table.step(table.legal_actions()[0])
    assert ("Stock     ♥ AKQ" in show.text(table, None)) == reveal


@pytest.mark.uncompiled
def test_rules_4_1_the_hand_of_mis_a_vis_is_open_after_the_first_trick() -> None:
    table = begin(Table("noms", seed=2), dealer=3)
    table.act("mis_a_vis")
    for _ in range(4):
        assert "Seat 0   " not in show.text(table, 1)
        table.step(table.legal_actions()[0])
    open_hand = show.hand_text(cards_in(table.row.hands[0]), FRENCH)
    assert all(f"Seat 0    {open_hand}" in show.text(table, seat) for seat in (None, 1, 2, 3))
    assert "exposed" in show.text(table, 2)


@pytest.mark.uncompiled
def test_rules_5_3_the_excuse_is_shown_to_all_only_after_the_bids() -> None:
    tables = (begin(Table("nonesuch", 3, seed=1), match) for match in range(50))
    table = next(table for table in tables if table.row.trump < 0)  # the card turned up has two suits
    holder = int(table.row.excuse)
    for seat in (None, *range(3)):
        assert ("EX" in show.text(table, seat)) == (seat == holder)
    play(table, "none some most")
    assert all(f"EX shown by seat {holder}" in show.text(table, seat) for seat in (None, 0, 1, 2))
    assert " or " in show.text(table, None)
