"""`noms play` and `noms watch`: scripted persons, what they are shown and what not, taking back, advice, records."""

import copy
import io
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from noms_env import show
from noms_env.record import Record, check_records, read_records, record_matches
from noms_env.table import Table
from noms_env.variants import VARIANTS, Rules, game, make_rules
from noms_training.commands.play import RecordFile, converse
from noms_training.commands.watch import narrate_session
from noms_training.play.narrate import Narrator
from noms_training.play.session import Deal, Seated, Session, rank_actions, seat_players
from noms_training.play.terminal.parse_action import UnclearError, parse_action
from noms_training.play.terminal.screen import advice_lines, own_lines, prompt, screen_lines, tricks_lines
from tests.begun import begun
from tests.commands import Run, plain
from tests.envs.play import KINDS
from tests.observation.test_leaks import mix_hidden
from tests.policy.test_player import save_small

ROOT = Path(__file__).parent.parent.parent

Answer = Callable[[Table], str]
"""What a scripted person types, given the table."""


def sitting_of(kind: Rules, seat: int | None = 0, names: tuple[str, ...] = ("random",), **arguments: Any) -> Session:
    players: list[Seated | None] = list(seat_players(names, kind.seats, kind))
    if seat is not None:
        players[seat] = None
    return Session(kind, players, **arguments)


def usual(variant: str, seats: int | None = None, **options: Any) -> Rules:
    return make_rules(game(variant), seats, options)


class Person:
    """Types what a function says, or the next of some texts; keeps all that is shown and saved."""

    def __init__(self, session: Session, texts: Iterable[str] | None = None, answer: Answer | None = None) -> None:
        self.session, self.answer = session, answer
        self.texts = iter(texts or ())
        self.shown: list[str] = []
        self.saved: list[list[Record]] = []

    def ask(self, question: str) -> str:
        self.shown.append(question)
        if self.answer is not None:
            return "" if self.session.table.is_scored else self.answer(self.session.table)
        text = next(self.texts, None)
        if text is None:
            raise EOFError
        return text

    def play(self) -> Self:
        converse(self.session, self.ask, lambda lines: self.shown.extend(plain(lines)), self.saved.append)
        return self


def first_legal(table: Table) -> str:
    return table.legal_words()[0]


@pytest.mark.parametrize("name", KINDS)
def test_everything_that_may_be_said_can_be_typed(name: str) -> None:
    variant, seats, options = KINDS[name]
    rng = random.Random(name)
    typed: list[str] = []

    def any_legal(table: Table) -> str:
        typed.append(rng.choice(table.legal_words()))
        return typed[-1]

    person = Person(sitting_of(usual(variant, seats, **options), seed=7, deals=3), answer=any_legal).play()
    records = person.session.records()
    assert len(records) == 3
    assert [step["action"] for record in records for step in record["steps"] if step["seat"] == 0] == typed
    assert list(check_records(enumerate(records, 1))) == []


def test_deals_go_on_into_the_next_match() -> None:
    person = Person(sitting_of(usual("sniped_whist"), seed=2, deals=3), answer=first_legal).play()
    records = person.session.records()
    assert [(record["match"], record["deal"], record["over"]) for record in records] == [(match, 0, True) for match in range(3)]
    assert records[0]["deck"] == next(record_matches("sniped_whist", seed=2))["deck"]
    with pytest.raises(ValueError, match="deals are left"):
        person.session.next_deal()


def test_a_sitting_refuses_what_makes_no_table() -> None:
    kind = usual("noms")
    player = seat_players(["random"], 1, kind)[0]
    with pytest.raises(ValueError, match=r"players must be 4, one for each seat, not 3"):
        Session(kind, [player] * 3)
    with pytest.raises(ValueError, match="deals must be 1 or more, not 0"):
        Session(kind, [player] * 4, deals=0)
    session = sitting_of(kind, int(Session(kind, [player] * 4).table.row.seat))
    with pytest.raises(ValueError, match="it is a person's turn"):
        session.choose()
    with pytest.raises(ValueError, match="deals are left"):
        session.next_deal()
    alone = Session(kind, [player] * 4)
    with pytest.raises(ValueError, match="when it is a person's turn"):
        alone.advice()
    assert not alone.take_back()
    alone.let_others_act()
    with pytest.raises(ValueError, match="the deal is over"):
        alone.choose()


def shown_at(session: Session, table: Table, deal: Deal) -> list[str]:
    """All that the person can be shown before the next decision, were this the table."""
    true_table, true_deal = session.table, session.deals[-1]
    session.table, session.deals[-1] = table, deal
    shown = Person(session, ["?", "t"]).play().shown
    session.table, session.deals[-1] = true_table, true_deal
    return shown


def screens(name: str) -> Iterator[tuple[list[str], list[str], bool]]:
    """At each decision of a person: what is shown, what is shown with other hidden cards, and whether cards have moved."""
    variant, seats, options = KINDS[name]
    rng = random.Random(name)
    kind = usual(variant, seats, **options)
    session = sitting_of(kind, kind.seats - 1, ("thumb",), seed=5, deals=2)
    while not session.is_over:
        if session.table.is_scored:
            session.next_deal()
        session.let_others_act()
        if not session.is_persons_turn:
            continue
        table, person = session.table, kind.seats - 1
        twin = mix_hidden(table, person, rng)
        twin.row.match = table.row.match  # the streams of the players' random numbers go by it
        blind = copy.copy(session.deals[-1])
        blind._head = blind._head | dict.fromkeys(("deck", "hands", "stock"))
        moved = bool(np.any(table.row.hands != twin.row.hands))
        yield shown_at(session, table, session.deals[-1]), shown_at(session, twin, blind), moved
        session.take(rng.choice(table.legal_actions()))


@pytest.mark.parametrize("name", KINDS)
def test_nothing_that_is_shown_depends_on_hidden_cards(name: str) -> None:
    moves = 0
    for shown, other, moved in screens(name):
        assert len(shown) > 10
        assert shown == other
        moves += moved
    assert moves >= 2


def test_a_screen_that_shows_hidden_cards_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = show.look
    monkeypatch.setattr("noms_training.commands.play.look", lambda table, seat: honest(table, seat, True))
    for name in ("sniped whist", "small ships", "noms", "nonesuch", "up down, turn-up"):
        assert any(shown != other for shown, other, _ in screens(name))


@pytest.mark.parametrize("name", ["small ships, six with indication", "noms", "nonesuch", "up down"])
def test_a_watcher_on_a_seat_is_told_what_the_seat_sees(name: str) -> None:
    variant, seats, options = KINDS[name]
    kind = usual(variant, seats, **options)
    rng = random.Random(name)
    session = sitting_of(kind, None, ("random",), seed=4, deals=3)
    differing = 0

    def stories(seat: int | None, twin: Table) -> Iterator[list[str]]:
        """The decision at hand from the view of a seat, told of both tables."""
        action = session.choose()
        for table in (session.table, twin):
            own = rank_actions(np.ones(150), table.view(int(table.row.seat))[1])
            narrator = Narrator(session.deals[-1], table, seat, hands=True)
            opening = Narrator(Deal(table), table, seat).opening() if not session.deals[-1].actions else iter(())
            yield [*opening, *narrator.decision(action, own)]

    while not session.is_over:
        if session.table.is_scored:
            session.next_deal()
        for seat in range(kind.seats):
            twin = mix_hidden(session.table, seat, rng)
            twin.row.match = session.table.row.match
            one, other = stories(seat, twin)
            assert one == other
            differing += len({str(lines) for lines in stories(None, twin)}) > 1
        session.take(session.choose())
    assert differing > 10, "who sees all hands is told something else"


def test_the_screen_of_a_deal_made_by_hand() -> None:
    table = Table("small_ships", 3, {"ranks": 3})
    deck = ["QC", "QD", "KS", "AC", "KC", "AD", "KD", "QS", "AS", "QH", "KH", "AH"]
    table.start(deck=deck, dealer=2, deal=2)
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


def test_what_is_legal_beside_cards_is_named() -> None:
    table = begun(Table("small_ships", options={"indication": True}))
    for word in ("13", "C", "AC"):
        table.act(word)
    while "indicate" not in table.legal_words():
        table.step(table.legal_actions()[0])
    view = show.look(table, int(table.row.seat))
    assert plain(own_lines(view))[-1] == "Legal     indicate"
    assert parse_action(view, "Indicate") == table.number("indicate")


def view_after(variant: str, words: str, **options: Any) -> show.view.View:
    """What the seat to act sees after some actions of a deal; `-` is the first legal action."""
    table = begun(Table(variant, options=options, seed=1), dealer=0)
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
def test_words_can_be_written_in_many_ways(variant: str, words: str, texts: tuple[str, ...], word: str) -> None:
    view = view_after(variant, words)
    table = Table(variant)
    assert view.phase is not None
    for text in texts:
        assert parse_action(view, text) == table.number(word, view.phase), text


@pytest.mark.parametrize(
    ("variant", "words", "text", "sentence"),
    [
        ("small_ships", "", "QH", "'QH' is no call. Legal: pass, 7, 8, 9, 10, Misere, 11, 12, 13"),
        ("small_ships", "", "", "There is a choice. Legal: pass, 7, 8, 9, 10, Misere, 11, 12, 13"),
        ("small_ships", "9", "8", "8 is not allowed now. Legal: pass, 10, Misere, 11, 12, 13"),
        ("noms", "", "m", "'m' is no call. Legal: pass, 10, 11, 12, 13, Mis, Mis a Vis"),
        ("small_ships", "13", "x", "'x' is no trump. Legal: C D H S NT"),
        ("small_ships", "13 H", "1H", "'1H' is no card to nominate. Legal: any card"),
        ("down_up", "- - - -", "11H", r"'11H' is no card. Legal: (\w\w ?){10}"),
    ],
)
def test_what_is_not_clear_or_not_legal_is_refused_with_what_is(variant: str, words: str, text: str, sentence: str) -> None:
    with pytest.raises(UnclearError, match=f"^{sentence}$"):
        parse_action(view_after(variant, words), text)


def test_cards_are_refused_with_the_reason() -> None:
    table = Table("small_ships", 3, {"ranks": 3})
    deck = ["QC", "QD", "KS", "AC", "KC", "AD", "KD", "QS", "AS", "QH", "KH", "AH"]
    table.start(deck=deck, dealer=0)
    for word in ("4", "C", "QS"):
        table.act(word)
    eldest = show.look(table, 1)
    with pytest.raises(UnclearError, match=r"^You do not hold A♠. Legal: QC AC KD QH$"):
        parse_action(eldest, "as")
    alone = begun(Table("small_ships", 3, {"ranks": 3}), deck=deck, dealer=2)
    for word in ("4", "H", "AC"):
        alone.act(word)
    with pytest.raises(UnclearError, match=r"^A♣ may not be led now. Legal: KD QH$"):
        parse_action(show.look(alone, 0), "ca")
    for word in ("KD",):
        alone.act(word)
    with pytest.raises(UnclearError, match=r"^You must follow ♦. Legal: QD$"):
        parse_action(show.look(alone, 1), "kc")


def test_a_refusal_changes_nothing_and_is_followed_by_the_same_question() -> None:
    session = sitting_of(usual("small_ships"), seed=5)
    session.let_others_act()
    before = session.table.get_state()
    person = Person(session, ["zz", "2", "", "?!"]).play()
    assert session.table.get_state() == before
    questions = [line for line in person.shown if line.startswith("Your call")]
    assert len(questions) == 5
    assert len(set(questions)) == 1
    assert [line for line in person.shown if "Legal: pass" in line][1].startswith("2 is not allowed now")


def test_ranks_in_capitals_come_before_commands_where_ranks_are_named() -> None:
    kind = usual("noms", implicit_announcements=True)
    for text, word in (("Q", "Q"), ("T", "T"), ("10", "T")):
        session = sitting_of(kind, 1, seed=1)
        while not session.is_persons_turn:
            session.take(session.table.number("pass"))
        session.take(session.table.number("13"))
        while not session.is_persons_turn:
            session.take(session.table.number("pass"))
        Person(session, ["unsaid", text, "q"]).play()
        assert session.deals[-1].record(session.table)["steps"][-1]["action"] != "unsaid"
        said = [step["action"] for step in session.deals[-1].record(session.table)["steps"] if step["phase"] == "nominate"]
        assert said == [word]


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_taken_back_and_done_again_goes_on_the_same_way(variant: str) -> None:
    session = sitting_of(usual(variant), 1, ("thumb",), seed=11, deals=2)
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
    whole = session.records()
    for state, word in reversed(moments):
        assert session.take_back()
        assert session.table.get_state() == state
        assert session.is_persons_turn
        assert word in session.table.legal_words()
    assert not session.take_back()
    assert (session.records(), len(session.deals)) == ([], 1)
    words = iter([word for _, word in moments])
    Person(session, answer=lambda table: next(words)).play()
    assert session.records() == whole


def test_a_finished_deal_that_is_taken_back_is_not_kept(run: Run, typing: Callable[..., None]) -> None:
    words = ("play", "up_down", "--against", "random", "--seed", 1, "--record")
    typing("0", "", "q")  # a deal of one card
    assert run(*words, "kept.jsonl")[1].endswith("1 deal written to kept.jsonl\n")
    typing("0", "", "u", "q")
    assert run(*words, "none.jsonl")[1].endswith("no deal was finished, so nothing is written\n")
    assert [path.name for path in Path().iterdir()] == ["kept.jsonl"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rule_sets = (usual("small_ships"),)
    path = tmp_path_factory.mktemp("run") / "policy.safetensors"
    save_small(path, rule_sets)
    return path


def test_advice_has_the_probabilities_of_policies_and_the_choices_of_others(policy: Path) -> None:
    names = ("thumb", str(policy), "thumb", f"{policy}@0")
    session = sitting_of(usual("small_ships"), 0, names, seed=5)
    session.let_others_act()
    other, drawn, sure = session.advice()[0], *session.advice()[1:]
    legal = session.table.legal_actions()
    assert [one.name for one in (other, drawn, sure)] == [str(policy), "thumb", f"{policy}@0"]
    assert drawn.probabilities is None
    assert other.probabilities is not None
    assert sure.probabilities is not None
    assert sorted(action for action, _ in other.probabilities) == legal
    assert sum(probability for _, probability in other.probabilities) == pytest.approx(1, abs=1e-5)
    assert sure.probabilities[0] == (other.probabilities[0][0], 1.0)
    assert sure.action == sure.probabilities[0][0]
    lines = plain(advice_lines(session.table, [other, drawn, sure]))
    shares = [int(share) for line in lines[1 : 1 + len(legal)] for share in re.findall(r" (\d+)%", line)]
    assert shares == [round(100 * probability) for _, probability in other.probabilities]
    assert lines[1 + len(legal)].startswith("  thumb would call ")


def test_advice_and_watching_tell_what_a_search_expects(policy: Path) -> None:
    """The same as it finds when it decides, the best first, without the cards that come to the same."""
    name = f"search:{policy}@0,worlds=3,temperature=0"
    session = sitting_of(usual("small_ships"), 0, (name,), seed=5)
    session.let_others_act()
    (advice,) = session.advice()
    assert sorted(value.action for value in advice.values) == session.table.legal_actions()
    assert [value.mean for value in advice.values] == sorted((value.mean for value in advice.values), reverse=True)
    assert advice.action in [value.action for value in advice.values if value.mean == advice.values[0].mean]
    first, *lines = plain(advice_lines(session.table, [advice]))
    assert first.endswith("; it expects, in points above the others' mean,")
    best = advice.values[0]
    assert lines[0].strip().startswith(f"{session.table.word(best.action)}  {best.mean:+.2f}")
    assert len(lines) == min(len(advice.values), 13)
    watched = Session(usual("small_ships"), seat_players((name,), 4, usual("small_ships")), seed=5, deals=1)
    values = watched.values()
    assert values
    told_first = next(line for block in narrate_session(watched, None) for line in plain(block) if " calls " in line)
    assert f"{values[0].mean:+.2f}" in told_first


def test_asking_for_advice_changes_nothing(policy: Path) -> None:
    records = []
    for asks in (False, True):
        session = sitting_of(usual("small_ships"), 2, ("random", "thumb", "random", str(policy)), seed=6, deals=1)
        asked: list[bool] = []

        def answer(table: Table, session: Session = session, asks: bool = asks, asked: list[bool] = asked) -> str:
            if asks and (not asked or not asked[-1]):
                asked.append(True)
                return "?"
            asked.append(False)
            return first_legal(table)

        person = Person(session, answer=answer).play()
        records.append(person.session.records())
        assert any("plays, with probability" in line for line in person.shown) == asks
    assert records[0] == records[1]


@pytest.fixture
def run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives the lines of standard input."""

    def type_lines(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_lines


def test_the_finished_deals_are_kept_when_the_person_ends_it(run: Run, typing: Callable[..., None]) -> None:
    for last in (["q"], []):
        typing("0", "", "", "1", *last)
        status, out, err = run("play", "up_down", "--against", "random", "--seed", 1, "--seat", 2)
        (file,) = Path("played").glob("up_down-*.jsonl")
        assert (status, err) == (0, "")
        assert out.startswith("Nomination whist, one to thirteen to one, --seed 1: you are seat 2\n")
        assert out.endswith(f"1 deal written to {file}; the deal under way is not, as records are of whole deals\n")
        assert run("check", file)[0] == 0
        assert run("replay", file)[0] == 0
        file.unlink()


def test_the_finished_deals_are_kept_after_ctrl_c(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(["0", "", ""])

    def typed(prompt: str) -> str:
        text = next(texts, None)
        if text is None:
            raise KeyboardInterrupt
        return text

    monkeypatch.setattr("builtins.input", typed)
    status, _, err = run("play", "up_down", "--against", "random", "thumb", "greedy", "--record", "kept.jsonl", "--seed", 1)
    assert status == 130
    assert err.startswith("noms: stopped by Ctrl-C; 1 deal written to kept.jsonl; ")
    assert err.count("\n") == 1
    assert run("check", "kept.jsonl")[0] == 0


def test_two_games_at_a_time_have_a_file_each(run: Run) -> None:
    records = list(islice(record_matches("up_down", seed=1), 2))
    one, other = RecordFile("up_down"), RecordFile("up_down")
    one.write(records[:1])
    other.write(records[1:])
    one.write([])
    RecordFile("up_down").write(records)
    one.write(records[1:])
    kept = {path.stem: [record for _, record in read_records(path)] for path in Path("played").iterdir()}
    assert kept == {"up_down-1": records, "up_down-2": records[1:], "up_down-3": records[1:]}


def test_players_sit_clockwise_from_the_left_of_the_person(run: Run, typing: Callable[..., None]) -> None:
    typing("q")
    _, out, _ = run("play", "small_ships", "--seat", 2, "--against", "thumb", "random", "greedy", "--seed", 1)
    seats = re.findall(r"(?m)^[ >] (\d)     (?:dealer, )?(\w+)", out)
    assert seats == [("0", "random"), ("1", "greedy"), ("2", "you"), ("3", "thumb")]


def test_watch_tells_every_decision_with_the_probabilities_of_policies(run: Run, policy: Path) -> None:
    words = ("watch", "small_ships", policy, "thumb", policy, "thumb", "--seed", 3, "--deals", 2)
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"seat 0 {policy} · seat 1 thumb · seat 2 {policy} · seat 3 thumb · --seed 3"
    assert out.count("Small Ships, match 0, deal ") == 2
    assert out.count("  points  ") == 2
    steps = [line for line in lines[1:] if re.match(r"  seat \d (?!  )", line)]
    kind = usual("small_ships")
    session = sitting_of(kind, None, (str(policy), "thumb", str(policy), "thumb"), seed=3, deals=2)
    assert sum(map(len, narrate_session(session, None))) == len(lines) - 1
    records = session.records()
    assert len(steps) == sum(len(record["steps"]) for record in records)
    for line in steps:
        assert (re.search(r" \d+%|no choice$", line) is not None) == (line[7] in "02"), line
    hands = [line for line in lines if line.startswith("    seat ")]
    assert len(hands) == 2 * 12 * 4
    assert run(*words)[1] == out


def test_watch_waits_for_enter_or_for_a_while(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    words = ("watch", "up_down", "random", "--deals", 1, "--seed", 1)
    _, at_once, _ = run(*words)
    _, delayed, _ = run(*words, "--delay", 0.5)
    assert delayed == at_once
    assert waits == [0.5] * (1 + 8 + 1)  # the deal, four calls, four cards, the end
    enters = iter(["", "", ""])

    def press_enter() -> str:
        text = next(enters, None)
        if text is None:
            raise EOFError
        print()  # as the terminal shows it
        return text

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", press_enter)
    status, out, _ = run(*words)
    assert status == 0
    hint = "Enter shows the next decision, Ctrl-D quits; --delay SECONDS goes on by itself.\n"
    assert hint not in at_once
    assert at_once.startswith(out.replace(hint, "", 1).rstrip("\n"))
    assert out.count(" calls ") == 3


def test_the_screen_in_the_tutorial_is_real(run: Run, typing: Callable[..., None]) -> None:
    text = (ROOT / "docs" / "how_to" / "play.md").read_text(encoding="utf-8")
    (excerpt,) = re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", text)
    command, *screen = [line.removeprefix("    ") for line in excerpt.strip("\n").splitlines()]
    typing("pass", "pass", "?", "q")
    _, out, _ = run(*command.removeprefix("$ noms ").split())
    assert "\n".join(screen) in out
