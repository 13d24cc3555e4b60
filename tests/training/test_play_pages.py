"""`noms play` and `noms watch` besides the table: results in words, the score sheet, help and rules."""

import re
from dataclasses import replace
from typing import Any

import pytest
from rich.text import Text

from noms_env import show
from noms_env.show.view import View, look
from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS
from noms_training.commands.watch import narrate_session
from noms_training.console import broken
from noms_training.play.score_sheet import result_lines, score_sheet
from noms_training.play.terminal import help_lines, own_lines, prompt, rules_lines, screen_lines
from tests.begin import begin
from tests.commands import plain
from tests.envs.play import KINDS
from tests.training.fakes import rules
from tests.training.test_play import Person, first_legal, make_session, rules_of

NARROW = 60


def scored(variant: str, *seats: dict[str, Any], **facts: Any) -> View:
    """Return the view of a scored deal with these facts of each seat."""
    view = show.look(begin(Table(variant, len(seats), {"ranks": 3} if variant == "small_ships" else None)), 0)
    places = [replace(place, **{"tricks": 0} | own) for place, own in zip(view.places, seats, strict=True)]
    return replace(view, phase=None, places=tuple(places), **facts)


@pytest.mark.parametrize(
    ("view", "lines"),
    [
        (
            scored(
                "down_up",
                {"calls": ("3",), "called": 3, "tricks": 3, "points": 13},
                {"calls": ("0",), "called": 0, "tricks": 1, "points": 1},
                {"calls": ("0",), "called": 0, "points": 10},
            ),
            [
                "You bid 3 and took 3 tricks: made, 13 points",
                "Seat 1 thumb bid 0 and took 1 trick: failed, 1 point",
                "Seat 2 greedy bid 0 and took 0 tricks: made, 10 points",
            ],
        ),
        (
            scored(
                "small_ships",
                {"tricks": 3, "points": 4},
                {"points": 0},
                {"tricks": 1, "points": 4},
                declarer=2,
                revealed=0,
                contract="4",
            ),
            ["Seat 2 greedy with you bid 4 and took 4 tricks: made, 4 points each", "Seat 1 thumb took 0 tricks: 0 points"],
        ),
        (
            scored(
                "nonesuch",
                {"calls": ("Most",), "tricks": 5, "points": -1},
                {"calls": ("None",), "points": 12},
                {"calls": ("Some",), "tricks": 7, "points": 7},
            ),
            [
                "You bid Most and took 5 tricks: failed, -1 point",
                "Seat 1 thumb bid None and took 0 tricks: made, 12 points",
                "Seat 2 greedy bid Some and took 7 tricks: 7 points",
            ],
        ),
        (
            scored(
                "sniped_whist",
                {"tricks": 9, "points": -1, "marks": ("dealer", "sniped")},
                {"tricks": 4, "points": 0.5},
                {"tricks": 4, "points": 0.5},
            ),
            [
                "You took 9 tricks, sniped: -1 point",
                "Seat 1 thumb took 4 tricks: 0.5 points",
                "Seat 2 greedy took 4 tricks: 0.5 points",
            ],
        ),
        (scored("noms", {}, {}, {}, {}, passed_out=True), []),
    ],
    ids=["exact", "side", "shares", "plain", "passed out"],
)
def test_the_result_shows_who_has_made_what(view: View, lines: list[str]) -> None:
    assert list(result_lines(view, [None, "thumb", "greedy", "thumb"])) == lines


def test_the_result_names_a_partner_who_never_played_the_nominated_card() -> None:
    session = make_session(rules("noms", early_stop=True, min_bid=7), None, ("thumb",), seed=64, deals=1)
    session.let_others_act()
    row = session.table.row
    assert (row.revealed, row.partner, row.declarer) == (-1, 2, 3), "a deal that ends before the card is played"
    first, *_ = result_lines(look(session.table, None), ["Ann", "Bo", "Cy", "Di"])
    assert first == "Seat 3 Di with seat 2 Cy bid 9 and took 9 tricks: made, 9 points each"


@pytest.mark.parametrize("variant", VARIANTS)
def test_results_and_score_sheet_agree_with_the_records(variant: str) -> None:
    session = make_session(rules(variant), 1, ("thumb",), seed=3, deals=3)
    person = Person(session, answer=first_legal).play()
    records = session.records()
    played = [record for record in records if any(record["tricks"])]
    results = [line for line in person.shown if re.search(r" took \d+ trick", line)]
    assert len(results) >= sum(1 if record["declarer"] is not None else record["seats"] for record in played)
    table = score_sheet(records, session.table.rules.variant, ["thumb", None, "thumb", "thumb"])
    columns = table.columns[-4:]
    assert [str(column.header) for column in columns] == ["0 thumb", "1 you", "2 thumb", "3 thumb"]
    for seat, column in enumerate(columns):
        figures = [[float(word) for word in str(cell).split()[-2:]] for cell in column.cells]
        assert figures == [[record["points"][seat], record["after"][seat]] for record in records]


@pytest.mark.parametrize("name", KINDS)
def test_the_rules_of_a_table_fit_a_page_and_name_unusual_options(name: str) -> None:
    kind = rules_of(name)
    lines = [part.plain for line in rules_lines(kind) for part in broken(Text.from_ansi(line), 80)]
    text = " ".join(" ".join(lines).split())
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert not re.search(r"rules \d|`", text)
    usual = rules(kind.variant.name).options
    for option, value in kind.options.items():
        assert (f"{option} is {value}, usually " in text) == (value != usual[option]), option


@pytest.mark.parametrize("variant", VARIANTS)
def test_help_names_commands_and_suits(variant: str) -> None:
    text = "\n".join(plain(help_lines(rules(variant))))
    assert all(f"\n{word} " in text for word in ("?", "t", "u", "q", "score", "rules", "help", "card"))
    assert ("Moons" in text) == (variant == "nonesuch")
    assert ("spades" in text) == (variant != "nonesuch")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_page_changes_nothing(variant: str) -> None:
    session = make_session(rules(variant), seed=5)
    session.let_others_act()
    before = session.table.get_state()
    person = Person(session, ["help", "rules", "score", "HELP"]).play()
    assert session.table.get_state() == before
    shown = "\n".join(person.shown)
    assert shown.count("the score sheet") == 2
    assert GAMES[variant].intro in shown
    assert "No deal is finished yet." in shown


@pytest.mark.parametrize("name", KINDS)
def test_a_narrow_terminal_cuts_no_line(name: str) -> None:
    session = make_session(rules_of(name), 0, ("thumb",), seed=7, deals=2)
    seats = session.table.seats
    names = [None, *["runs/small_ships-with-a-long-name"] * (seats - 1)]
    while True:
        session.let_others_act()
        view = show.look(session.table, 0)
        lines = screen_lines(view, names, NARROW)
        for line in lines:
            assert max(len(part) for part in broken(Text.from_ansi(line), NARROW)) <= NARROW, line
        rows = [line for line in plain(lines) if re.match(r"[> ] (seat|\d) ", line)]
        assert len(rows) == seats + 1
        assert all(len(row) <= NARROW for row in rows), rows
        assert all("name" in row for row in rows[2:]), "the end of a long name"
        if view.phase is None:
            if session.is_over:
                return
            session.next_deal()
            continue
        assert len(prompt(view, False)) < NARROW
        marked = [line for line in plain(own_lines(view)) if "^" in line or line.startswith("Hand")]
        assert all(len(line) <= NARROW for line in marked)
        session.take(session.table.legal_actions()[0])


@pytest.mark.parametrize("variant", VARIANTS)
def test_watch_names_the_winner_of_each_trick(variant: str) -> None:
    session = make_session(rules(variant), None, ("thumb",), seed=3, deals=2)
    lines = plain(line for block in narrate_session(session, None) for line in block)
    winners = [int(seat) for line in lines for seat in re.findall(r"^  won by seat (\d) with \S+ · tricks so far ", line)]
    records = session.records()
    assert [winners.count(seat) for seat in range(4)] == [
        sum(record["tricks"][seat] for record in records) for seat in range(4)
    ]
