"""`noms demo`: a tiny run from end to end, and a deal shown with the probabilities of its decisions."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noms_env import Table
from noms_env.core.actions import NUM_ACTIONS
from noms_env.variants import VARIANTS
from noms_training.commands.demo import demo_config, free_folder
from noms_training.learn.log import read_log
from noms_training.play.narrate import action_text, decide, narrate_deal, probabilities_text
from tests.begun import begun
from tests.commands import Run, plain


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "demo")


class Falling:
    """Gives each legal action half of the probability of the one before it, the last as much as the one before."""

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        legal = np.flatnonzero(mask)
        chances = np.zeros(NUM_ACTIONS, np.float32)
        halves = 0.5 ** np.arange(1, len(legal) + 1)
        halves[-1] *= 2
        chances[legal] = halves
        return chances


def started(variant: str, seed: int = 1, **options: Any) -> Table:
    return begun(Table(variant, seed=seed, episode="deal", options=options))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_decision_is_shown_with_its_probability(variant: str) -> None:
    table = started(variant)
    lines = plain(narrate_deal(Falling(), table, np.random.default_rng(3)))
    assert table.is_scored
    steps = [line for line in lines if re.match(r"  seat \d (?!  )", line)]
    hands = [line for line in lines if re.match(r"  seat \d   ", line)]
    assert len(hands) == table.seats
    assert len(steps) >= int(table.row.n_calls) + (0 if table.row.passed_out else int(table.row.deal_size) * table.seats)
    for line in steps:
        share = re.search(r" (\d+)%", line)
        assert share or line.endswith("no choice"), line
    assert sum("  trick " in line for line in lines) == table.row.trick_number
    assert any(line.startswith("  points ") for line in lines)


def test_the_action_taken_is_shown_even_if_improbable() -> None:
    table = started("small_ships")
    known = [(action, 0.2) for action in table.legal_actions()[:5]] + [(table.number("13"), 0.001)]
    text = plain([probabilities_text(table, known, "13")])[0]
    assert text == "pass 20%  7 20%  8 20%  9 20%  13 0%  and 1 more"
    assert plain([probabilities_text(table, known[:1], "pass")]) == ["no choice"]
    few = [(table.number("pass"), 0.997), (table.number("7"), 0.003)]
    assert plain([probabilities_text(table, few, "pass")]) == ["pass 100%  and 1 more"]


def test_what_is_drawn_has_the_probabilities_that_are_shown() -> None:
    passes = 0
    for seed in range(60):
        table = started("small_ships")
        action, known = decide(Falling(), table, np.random.default_rng(seed))
        passes += table.word(action) == "pass"
        assert [probability for _, probability in known] == sorted((probability for _, probability in known), reverse=True)
    assert 18 <= passes <= 42


def test_actions_in_words() -> None:
    table = started("noms", implicit_announcements=True)
    for word in ("13", "pass", "pass", "pass"):
        table.act(word)
    assert action_text(table, table.number("unsaid"), False) == "unsaid"
    assert action_text(table, table.number("NT"), False) == "NT"
    assert action_text(table, table.number("H"), False) == "♥"
    table.act("unsaid")
    assert action_text(table, table.number("A", "nominate"), False) == "A"
    assert action_text(table, table.number("QS", "nominate"), False) == "Q♠"
    shown = started("small_ships", indication=True)
    for word in ("13", "C", "AC"):
        shown.act(word)
    assert action_text(shown, shown.number("indicate", "play"), False) == "indicate"
    assert action_text(shown, shown.number("2H", "play"), False) == "2♥"


def test_a_tiny_demo_from_end_to_end(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run("down_up", "--quick")
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("policy: runs/demo/policy.safetensors")
    assert re.match(r"down_up, 8 duplicate deals against random players: [+-]\d+\.\d\d points per deal \(95 %: ", lines[1])
    assert lines[2] == "learning curves: runs/demo/curves.png"
    assert Path("runs/demo/curves.png").stat().st_size > 10_000
    assert any(line.startswith("  points ") for line in lines)
    assert "after 0 decisions: v random " in err
    assert len(lines) < 40
    assert read_log("runs/demo")["eval/points/down_up_4/random"][0][0] == 0
    assert free_folder(Path("runs/demo")) == Path("runs/demo-2")


def test_the_run_takes_nothing_from_a_player_by_rule() -> None:
    config = demo_config("noms", 123, 4)
    assert (config.variants, config.decisions, config.seed) == (("noms",), 123, 4)
    assert (config.initial_policy, config.opponents.players) == ("", ())
    assert config.curriculum.expert == ()
