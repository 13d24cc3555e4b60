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
from tests.begin import begin
from tests.commands import Run, plain


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "demo")


class Falling:
    """Gives each legal action but the last half the probability of the previous one."""

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        legal = np.flatnonzero(mask)
        chances = np.zeros(NUM_ACTIONS, np.float32)
        halves = 0.5 ** np.arange(1, len(legal) + 1)
        halves[-1] *= 2
        chances[legal] = halves
        return chances


def start(variant: str, seed: int = 1, **options: Any) -> Table:
    return begin(Table(variant, seed=seed, episode="deal", options=options))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_narrated_deal_has_the_probability_of_every_decision(variant: str) -> None:
    table = start(variant)
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


def test_an_improbable_action_is_shown_if_it_was_taken() -> None:
    table = start("small_ships")
    known = [(action, 0.2) for action in table.legal_actions()[:5]] + [(table.number("13"), 0.001)]
    text = plain([probabilities_text(table, known, "13")])[0]
    assert text == "pass 20%  7 20%  8 20%  9 20%  13 0%  and 1 more"
    assert plain([probabilities_text(table, known[:1], "pass")]) == ["no choice"]
    few = [(table.number("pass"), 0.997), (table.number("7"), 0.003)]
    assert plain([probabilities_text(table, few, "pass")]) == ["pass 100%  and 1 more"]


def test_actions_are_drawn_with_their_probabilities() -> None:
    passes = 0
    for seed in range(60):
        table = start("small_ships")
        action, known = decide(Falling(), table, np.random.default_rng(seed))
        passes += table.word(action) == "pass"
        chances = [probability for _, probability in known]
        assert chances == sorted(chances, reverse=True)
    assert 18 <= passes <= 42


def test_actions_in_words() -> None:
    table = start("noms", implicit_announcements=True)
    for word in ("13", "pass", "pass", "pass"):
        table.act(word)
    assert [action_text(table, table.number(word), False) for word in ("unsaid", "NT", "H")] == ["unsaid", "NT", "♥"]
    table.act("unsaid")
    assert [action_text(table, table.number(word, "nominate"), False) for word in ("A", "QS")] == ["A", "Q♠"]
    table = start("small_ships", indication=True)
    for word in ("13", "C", "AC"):
        table.act(word)
    assert [action_text(table, table.number(word, "play"), False) for word in ("indicate", "2H")] == ["indicate", "2♥"]


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


def test_the_demo_trains_without_rule_based_players() -> None:
    config = demo_config("noms", 123, 4)
    assert (config.variants, config.decisions, config.seed) == (("noms",), 123, 4)
    assert (config.initial_policy, config.opponents.players) == ("", ())
    assert config.curriculum.expert == ()
