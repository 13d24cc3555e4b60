"""`noms play` and `noms watch`: scripted persons, their screens, undo, advice and records."""

import copy
import io
import itertools
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self
from unittest.mock import Mock

import numpy as np
import pytest

from noms_env import show
from noms_env.record import Record, check_records, read_records, record_matches
from noms_env.table import Table
from noms_env.variants import VARIANTS, Rules
from noms_training.commands.play import RecordFile, converse
from noms_training.commands.watch import narrate_session
from noms_training.play.narrate import Narrator
from noms_training.play.session import Deal, Seated, Session, rank_actions, seat_players
from noms_training.play.terminal import (
    UnclearError,
    advice_lines,
    own_lines,
    parse_action,
    prompt,
    screen_lines,
    tricks_lines,
)
from tests.begin import begin
from tests.commands import Run, plain
from tests.envs.play import KINDS
from tests.observation.test_leaks import mix_hidden
from tests.policy.test_player import save_small
from tests.training.fakes import rules

ROOT = Path(__file__).parent.parent.parent

Answer = Callable[[Table], str]
"""What a scripted person types, given the table."""


def make_session(kind: Rules, seat: int | None = 0, names: tuple[str, ...] = ("random",), **arguments: Any) -> Session:
    """Make a session with a person on a seat, or with None without one."""
    players: list[Seated | None] = list(seat_players(names, kind.seats, kind))
    if seat is not None:
        players[seat] = None
    return Session(kind, players, **arguments)


def rules_of(name: str) -> Rules:
    """Return the rules of one of `KINDS`."""
    variant, seats, options = KINDS[name]
    return rules(variant, seats, **options)


class Person:
    """Types texts, or the result of a function; `shown` and `saved` are what the command shows and saves."""

    def __init__(self, session: Session, texts: Iterable[str] | None = None, answer: Answer | None = None) -> None:
        self.session, self.answer = session, answer
        self.texts = iter(texts or ())
        self.shown: list[str] = []
        self.saved: list[list[Record]] = []

    def ask(self, question: str) -> str:
        self.shown.append(question)
        if self.answer is not None:
            return "" if self.session.table.is_scored else self.answer(self.session.table)
        try:
            return next(self.texts)
        except StopIteration:
            raise EOFError from None

    def play(self) -> Self:
        converse(self.session, self.ask, lambda lines: self.shown.extend(plain(lines)), self.saved.append)
        return self


def first_legal(table: Table) -> str:
    return table.legal_words()[0]


@pytest.mark.parametrize("name", KINDS)
def test_every_legal_action_can_be_typed(name: str) -> None:
    rng = random.Random(name)
    typed: list[str] = []

    def any_legal(table: Table) -> str:
        typed.append(rng.choice(table.legal_words()))
        return typed[-1]

    person = Person(make_session(rules_of(name), seed=7, deals=3), answer=any_legal).play()
    records = person.session.records()
    assert len(records) == 3
    assert [step["action"] for record in records for step in record["steps"] if step["seat"] == 0] == typed
    assert list(check_records(enumerate(records, 1))) == []


def test_a_session_continues_with_the_next_match() -> None:
    person = Person(make_session(rules("sniped_whist"), seed=2, deals=3), answer=first_legal).play()
    records = person.session.records()
    assert [(record["match"], record["deal"], record["over"]) for record in records] == [(match, 0, True) for match in range(3)]
    assert records[0]["deck"] == next(record_matches("sniped_whist", seed=2))["deck"]
    with pytest.raises(ValueError, match="deals are left"):
        person.session.next_deal()


def test_a_session_refuses_wrong_arguments_and_calls() -> None:
    kind = rules("noms")
    players = seat_players(["random"], 4, kind)
    with pytest.raises(ValueError, match=r"players must be 4, one for each seat, not 3"):
        Session(kind, players[:3])
    with pytest.raises(ValueError, match="deals must be 1 or more, not 0"):
        Session(kind, players, deals=0)
    alone = Session(kind, players)
    session = make_session(kind, int(alone.table.row.seat))
    with pytest.raises(ValueError, match="it is a person's turn"):
        session.choose()
    with pytest.raises(ValueError, match="deals are left"):
        session.next_deal()
    with pytest.raises(ValueError, match="when it is a person's turn"):
        alone.advice()
    assert not alone.take_back()
    alone.let_others_act()
    with pytest.raises(ValueError, match="the deal is over"):
        alone.choose()


def lines_at(session: Session, table: Table, deal: Deal) -> list[str]:
    """Return all that the person can be shown before the next decision if this were the table."""
    true_table, true_deal = session.table, session.deals[-1]
    session.table, session.deals[-1] = table, deal
    lines = Person(session, ["?", "tricks"]).play().shown
    session.table, session.deals[-1] = true_table, true_deal
    return lines


def screens(name: str) -> Iterator[tuple[list[str], list[str], bool]]:
    """Yield for each decision of a person the screen, the screen with other hidden cards, and whether cards differ."""
    rng, kind = random.Random(name), rules_of(name)
    person = kind.seats - 1
    session = make_session(kind, person, ("thumb",), seed=5, deals=2)
    while not session.is_over:
        if session.table.is_scored:
            session.next_deal()
        session.let_others_act()
        if not session.is_persons_turn:
            continue
        table = session.table
        twin = mix_hidden(table, person, rng)
        twin.row.match = table.row.match  # part of the seeds of the players
        blind = copy.copy(session.deals[-1])
        blind._head = blind._head | dict.fromkeys(("deck", "hands", "stock"))
        differ = bool(np.any(table.row.hands != twin.row.hands))
        yield lines_at(session, table, session.deals[-1]), lines_at(session, twin, blind), differ
        session.take(rng.choice(table.legal_actions()))


@pytest.mark.parametrize("name", KINDS)
def test_a_screen_does_not_depend_on_hidden_cards(name: str) -> None:
    different = 0
    for lines, other, differ in screens(name):
        assert len(lines) > 10
        assert lines == other
        different += differ
    assert different >= 2


def test_a_screen_that_shows_hidden_cards_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    look = show.look
    monkeypatch.setattr("noms_training.commands.play.look", lambda table, seat: look(table, seat, True))
    for name in ("sniped whist", "small ships", "noms", "nonesuch", "up down, turn-up"):
        assert any(lines != other for lines, other, _ in screens(name))


@pytest.mark.parametrize("name", ["small ships, six with indication", "noms", "nonesuch", "up down"])
def test_the_story_of_a_seat_does_not_depend_on_hidden_cards(name: str) -> None:
    rng = random.Random(name)
    session = make_session(rules_of(name), None, seed=4, deals=3)
    differing = 0

    def stories(seat: int | None, twin: Table) -> Iterator[list[str]]:
        """Tell the next decision from the view of a seat, at both tables."""
        action = session.choose()
        for table in (session.table, twin):
            own = rank_actions(np.ones(150), table.view(int(table.row.seat))[1])
            narrator = Narrator(session.deals[-1], table, seat, hands=True)
            opening = Narrator(Deal(table), table, seat).opening() if not session.deals[-1].actions else iter(())
            yield [*opening, *narrator.decision(action, own)]

    while not session.is_over:
        if session.table.is_scored:
            session.next_deal()
        for seat in range(session.table.seats):
            twin = mix_hidden(session.table, seat, rng)
            twin.row.match = session.table.row.match
            story, other = stories(seat, twin)
            assert story == other
            differing += len({str(lines) for lines in stories(None, twin)}) > 1
        session.take(session.choose())
    assert differing > 10, "the story with all hands differs"


DECK = ["QC", "QD", "KS", "AC", "KC", "AD", "KD", "QS", "AS", "QH", "KH", "AH"]
"""The cards of three seats that hold three each, in the order of dealing."""


def test_the_screen_of_a_stacked_deck() -> None:
    table = begin(Table("small_ships", 3, {"ranks": 3}), deck=DECK, dealer=2, deal=2)
    deal = Deal(table)
    assert tricks_lines(deal.record(table), table) == ["  nothing has been said or played yet"]
    for word in ("3", "4", "H", "AH", "QC", "KC", "KS", "QD", "AD"):
        deal.take(table, table.number(word))
    view = show.look(table, 0)
    lines = plain(screen_lines(view, [None, "thumb", "greedy"]))
    assert "Bid       4 by seat 1 · nominated A♥ · partner not shown · you are an opponent" in lines
    assert lines[-1].index("^") == lines[-2].index("K"), "the only legal card is marked"
    assert prompt(view, False) == "Your card, Enter for KD [help ? t u q]: "
    assert plain(tricks_lines(deal.record(table), table)) == [
        "  calls    seat 0 3 · seat 1 4",
        "  trick 1  seat 0 leads Q♣ K♣ K♠ · seat 1 wins · tricks 0 1 0",
        "  trick 2  seat 1 leads Q♦ A♦",
    ]


def test_legal_actions_besides_cards_are_named() -> None:
    table = begin(Table("small_ships", options={"indication": True}))
    for word in ("13", "C", "AC"):
        table.act(word)
    while "indicate" not in table.legal_words():
        table.step(table.legal_actions()[0])
    view = show.look(table, int(table.row.seat))
    assert plain(own_lines(view))[-1] == "Legal     indicate"
    assert parse_action(view, "Indicate") == table.number("indicate")


def view_after(variant: str, words: str, **options: Any) -> show.view.View:
    """Return the view of the seat to act after some actions; `-` is the first legal action."""
    table = begin(Table(variant, options=options, seed=1), dealer=0)
    for word in words.split():
        table.act(table.legal_words()[0] if word == "-" else word)
    return show.look(table, int(table.row.seat))


@pytest.mark.parametrize(
    ("variant", "words", "texts", "word"),
    [
        ("small_ships", "", ("pass", "PASS", " Pass ", "p"), "pass"),
        ("small_ships", "", ("mis", "Misere", "misere", "misère", "m", "mise"), "mis"),
        ("small_ships", "", ("10",), "10"),
        ("noms", "", ("mis a vis", "Mis_a_Vis", "misavis", "mis-a-vis", "open misere"), "mis_a_vis"),
        ("noms", "", ("mis", "Misere"), "mis"),
        ("nonesuch", "", ("none", "n", "NONE"), "none"),
        ("nonesuch", "", ("mo", "most", "m"), "most"),
        ("small_ships", "13", ("h", "H", "♥", "hearts"), "H"),
        ("small_ships", "13", ("nt", "NT", "no trump", "no trumps", "none"), "NT"),
        ("small_ships", "13 H", ("10s", "TS", "ts", "♠10", "10 ♠", "st"), "TS"),
        ("small_ships", "13 H", ("qh", "Q♥", "♥q"), "QH"),
    ],
)
def test_an_action_has_many_spellings(variant: str, words: str, texts: tuple[str, ...], word: str) -> None:
    view = view_after(variant, words)
    table = Table(variant)
    assert view.phase is not None
    for text in texts:
        assert parse_action(view, text) == table.number(word, view.phase), text


@pytest.mark.parametrize(
    ("variant", "words", "text", "sentence"),
    [
        ("small_ships", "", "QH", "'QH' is no call. Legal: pass, 7, 8, 9, 10, Misere, 11, 12, 13"),
        ("small_ships", "", "", "There is a choice. Legal: pass, 7, .*"),
        ("small_ships", "9", "8", "8 is not allowed now. Legal: pass, 10, Misere, 11, 12, 13"),
        ("noms", "", "m", "'m' is no call. Legal: pass, 10, 11, 12, 13, Mis, Mis a Vis"),
        ("small_ships", "13", "x", "'x' is no trump. Legal: C D H S NT"),
        ("small_ships", "13 H", "1H", "'1H' is no card to nominate. Legal: any card"),
        ("down_up", "- - - -", "11H", r"'11H' is no card. Legal: (\w\w ?){10}"),
    ],
)
def test_a_refusal_names_the_legal_actions(variant: str, words: str, text: str, sentence: str) -> None:
    with pytest.raises(UnclearError, match=f"^{sentence}$"):
        parse_action(view_after(variant, words), text)


@pytest.mark.parametrize(
    ("dealer", "words", "text", "sentence"),
    [
        (0, "4 C QS", "as", "You do not hold A♠. Legal: QC AC KD QH"),
        (
            2,
            "4 H AC",
            "ca",
            "You may not lead Clubs, the suit of the card that you nominated, to the first trick. Legal: KD QH",
        ),
        (2, "4 H AC KD", "kc", "You must follow Diamonds. Legal: QD"),
    ],
)
def test_a_card_is_refused_with_the_reason(dealer: int, words: str, text: str, sentence: str) -> None:
    table = begin(Table("small_ships", 3, {"ranks": 3}), deck=DECK, dealer=dealer)
    for word in words.split():
        table.act(word)
    with pytest.raises(UnclearError, match=f"^{sentence}$"):
        parse_action(show.look(table, int(table.row.seat)), text)


def test_after_a_refusal_the_same_question_comes_again() -> None:
    session = make_session(rules("small_ships"), seed=5)
    session.let_others_act()
    before = session.table.get_state()
    person = Person(session, ["zz", "2", "", "?!"]).play()
    assert session.table.get_state() == before
    questions = [line for line in person.shown if line.startswith("Your call")]
    assert len(questions) == 5
    assert len(set(questions)) == 1
    assert [line for line in person.shown if "Legal: pass" in line][1].startswith("2 is not allowed now")


@pytest.mark.parametrize(("text", "word"), [("Q", "Q"), ("q", "Q"), ("T", "T"), ("t", "T"), ("10", "T")])
def test_a_rank_is_no_command_in_a_nomination(text: str, word: str) -> None:
    session = make_session(rules("noms", implicit_announcements=True), 1, seed=1)
    for bid in ("13", None):
        while not session.is_persons_turn:
            session.take(session.table.number("pass"))
        if bid:
            session.take(session.table.number(bid))
    Person(session, ["unsaid", text, "q"]).play()
    steps = session.deals[-1].record(session.table)["steps"]
    assert steps[-1]["action"] != "unsaid"
    assert [step["action"] for step in steps if step["phase"] == "nominate"] == [word]


@pytest.mark.parametrize("variant", VARIANTS)
def test_undone_decisions_that_are_repeated_give_the_same_records(variant: str) -> None:
    session = make_session(rules(variant), 1, ("thumb",), seed=11, deals=2)
    rng = random.Random(variant)
    moments: list[tuple[bytes, str]] = []
    while not session.is_over:
        session.let_others_act()
        if session.table.is_scored:
            if not session.is_over:
                session.next_deal()
            continue
        word = rng.choice(session.table.legal_words())
        moments.append((session.table.get_state(), word))
        session.take(session.table.number(word))
    records = session.records()
    for state, word in reversed(moments):
        assert session.take_back()
        assert session.table.get_state() == state
        assert session.is_persons_turn
        assert word in session.table.legal_words()
    assert not session.take_back()
    assert (session.records(), len(session.deals)) == ([], 1)
    words = (word for _, word in moments)
    Person(session, answer=lambda table: next(words)).play()
    assert session.records() == records


def test_an_undone_deal_is_not_saved(run: Run, type_lines: Callable[..., None]) -> None:
    words = ("play", "up_down", "--against", "random", "--seed", 1, "--record")
    type_lines("0", "", "q")  # a deal of one card
    assert run(*words, "games.jsonl")[1].endswith("1 deal written to games.jsonl\n")
    type_lines("0", "", "u", "q")
    assert run(*words, "none.jsonl")[1].endswith("no deal was finished, so nothing is written\n")
    assert [path.name for path in Path().iterdir()] == ["games.jsonl"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "policy.safetensors"
    save_small(path, (rules("small_ships"),))
    return path


def test_advice_has_the_probabilities_of_policies_and_the_choices_of_others(policy: Path) -> None:
    session = make_session(rules("small_ships"), 0, ("thumb", str(policy), "thumb", f"{policy}@0"), seed=5)
    session.let_others_act()
    random_policy, thumb, greedy_policy = session.advice()
    legal = session.table.legal_actions()
    assert [advice.name for advice in session.advice()] == [str(policy), "thumb", f"{policy}@0"]
    assert thumb.probabilities is None
    assert random_policy.probabilities is not None
    assert greedy_policy.probabilities is not None
    assert sorted(action for action, _ in random_policy.probabilities) == legal
    assert sum(probability for _, probability in random_policy.probabilities) == pytest.approx(1, abs=1e-5)
    assert greedy_policy.probabilities[0] == (random_policy.probabilities[0][0], 1.0)
    assert greedy_policy.action == greedy_policy.probabilities[0][0]
    lines = plain(advice_lines(session.table, [random_policy, thumb, greedy_policy]))
    shares = [int(share) for line in lines[1 : 1 + len(legal)] for share in re.findall(r" (\d+)%", line)]
    assert shares == [round(100 * probability) for _, probability in random_policy.probabilities]
    assert lines[1 + len(legal)].startswith("  thumb would call ")


def test_advice_and_watching_show_the_values_of_a_search(policy: Path) -> None:
    """They are those of its decision, the best first, without equivalent cards."""
    kind, names = rules("small_ships"), (f"search:{policy}@0,worlds=3,temperature=0",)
    session = make_session(kind, 0, names, seed=5)
    session.let_others_act()
    (advice,) = session.advice()
    means = [value.mean for value in advice.values]
    assert sorted(value.action for value in advice.values) == session.table.legal_actions()
    assert means == sorted(means, reverse=True)
    assert advice.action in [value.action for value in advice.values if value.mean == means[0]]
    title, *lines = plain(advice_lines(session.table, [advice]))
    assert title.endswith("; it expects, in points above the others' mean,")
    assert lines[0].strip().startswith(f"{session.table.word(advice.values[0].action)}  {means[0]:+.2f}")
    assert len(lines) == min(len(means), 13)
    watched = make_session(kind, None, names, seed=5, deals=1)
    best = watched.values()[0]
    line = next(line for block in narrate_session(watched, None) for line in plain(block) if " calls " in line)
    assert f"{best.mean:+.2f}" in line


def test_advice_does_not_change_the_game(policy: Path) -> None:
    records = []
    for asks in (False, True):
        session = make_session(rules("small_ships"), 2, ("random", "thumb", "random", str(policy)), seed=6, deals=1)
        questions = itertools.cycle([True, False] if asks else [False])

        def answer(table: Table, questions: Iterator[bool] = questions) -> str:
            return "?" if next(questions) else first_legal(table)

        person = Person(session, answer=answer).play()
        records.append(person.session.records())
        assert any("plays, with probability" in line for line in person.shown) == asks
    assert records[0] == records[1]


@pytest.fixture
def run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def type_lines(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the lines of standard input."""
    return lambda *lines: monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


@pytest.mark.parametrize("last", [["q"], []], ids=["q", "end of input"])
def test_the_finished_deals_are_saved_at_the_end(last: list[str], run: Run, type_lines: Callable[..., None]) -> None:
    type_lines("0", "", "", "1", *last)
    status, out, err = run("play", "up_down", "--against", "random", "--seed", 1, "--seat", 2)
    (file,) = Path("played").glob("up_down-*.jsonl")
    assert (status, err) == (0, "")
    assert out.startswith("Nomination whist, one to thirteen to one, --seed 1: you are seat 2\n")
    assert f"1 deal written to {file}; the deal under way is not" in out
    assert run("check", file)[0] == 0
    assert run("replay", file)[0] == 0


def test_the_finished_deals_are_saved_after_ctrl_c(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", Mock(side_effect=["0", "", "", KeyboardInterrupt]))
    status, _, err = run("play", "up_down", "--against", "random", "thumb", "greedy", "--record", "games.jsonl", "--seed", 1)
    assert status == 130
    assert err.startswith("noms: stopped by Ctrl-C; 1 deal written to games.jsonl; ")
    assert err.count("\n") == 1
    assert run("check", "games.jsonl")[0] == 0


def test_two_games_at_a_time_have_separate_files(run: Run) -> None:
    records = list(itertools.islice(record_matches("up_down", seed=1), 2))
    file, other = RecordFile("up_down"), RecordFile("up_down")
    file.write(records[:1])
    other.write(records[1:])
    file.write([])
    RecordFile("up_down").write(records)
    file.write(records[1:])
    saved = {path.stem: [record for _, record in read_records(path)] for path in Path("played").iterdir()}
    assert saved == {"up_down-1": records, "up_down-2": records[1:], "up_down-3": records[1:]}


def test_players_sit_clockwise_from_the_left_of_the_person(run: Run, type_lines: Callable[..., None]) -> None:
    type_lines("q")
    _, out, _ = run("play", "small_ships", "--seat", 2, "--against", "thumb", "random", "greedy", "--seed", 1)
    seats = re.findall(r"(?m)^[ >] (\d)     (?:dealer, )?(\w+)", out)
    assert seats == [("0", "random"), ("1", "greedy"), ("2", "you"), ("3", "thumb")]


def test_watch_shows_every_decision_with_the_probabilities_of_policies(run: Run, policy: Path) -> None:
    words = ("watch", "small_ships", policy, "thumb", policy, "thumb", "--seed", 3, "--deals", 2)
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"seat 0 {policy} · seat 1 thumb · seat 2 {policy} · seat 3 thumb · --seed 3"
    assert out.count("Small Ships, match 0, deal ") == 2
    assert out.count("  points  ") == 2
    steps = [line for line in lines[1:] if re.match(r"  seat \d (?!  )", line)]
    session = make_session(rules("small_ships"), None, (str(policy), "thumb", str(policy), "thumb"), seed=3, deals=2)
    assert sum(map(len, narrate_session(session, None))) == len(lines) - 1
    records = session.records()
    assert len(steps) == sum(len(record["steps"]) for record in records)
    for line in steps:
        assert (re.search(r" \d+%|no choice$", line) is not None) == (line[7] in "02"), line
    hands = [line for line in lines if line.startswith("    seat ")]
    assert len(hands) == 2 * 12 * 4
    assert run(*words)[1] == out


def test_watch_waits_for_enter_or_for_a_delay(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    words = ("watch", "up_down", "random", "--deals", 1, "--seed", 1)
    _, at_once, _ = run(*words)
    _, delayed, _ = run(*words, "--delay", 0.5)
    assert delayed == at_once
    assert waits == [0.5] * (1 + 8 + 1)  # the deal, four calls, four cards, the end
    enters = iter(range(3))

    def press_enter() -> str:
        if next(enters, None) is None:
            raise EOFError
        print()  # as the terminal shows it
        return ""

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", press_enter)
    status, out, _ = run(*words)
    assert status == 0
    hint = "Enter shows the next decision, Ctrl-D quits; --delay SECONDS goes on by itself.\n"
    assert hint not in at_once
    assert at_once.startswith(out.replace(hint, "", 1).rstrip("\n"))
    assert out.count(" calls ") == 3


def test_the_screen_in_the_tutorial_is_real(run: Run, type_lines: Callable[..., None]) -> None:
    text = (ROOT / "docs" / "how_to" / "play.md").read_text(encoding="utf-8")
    (excerpt,) = re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", text)
    command, *screen = [line.removeprefix("    ") for line in excerpt.strip("\n").splitlines()]
    type_lines("pass", "pass", "?", "q")
    _, out, _ = run(*command.removeprefix("$ noms ").split())
    assert "\n".join(screen) in out
