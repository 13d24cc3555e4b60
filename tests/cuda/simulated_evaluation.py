"""Tests of evaluation on a GPU that run in numba's simulator of one: `test_gpu_rows` starts them, in a process of its own."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from noms_env import load_player, make_batch
from noms_env.cuda.players.seats import SeatedPlayers
from noms_env.players.protocol import decision_seed
from noms_env.variants import game, make_rules
from noms_training.agents import spec as specs
from noms_training.agents.registry import agent_spec, agent_specs
from noms_training.agents.spec import AgentSpec
from noms_training.agents.table_pool import LOOK
from noms_training.evaluation.block_store import Blocks
from noms_training.evaluation.comparison import compare, self_play
from noms_training.evaluation.cross_play import cross_play
from noms_training.evaluation.duplicate import LINE_UPS, Pairing, line_ups
from noms_training.evaluation.matches import compare_matches
from noms_training.evaluation.report import game_json, matches_json
from noms_training.evaluation.tournament import Folder, Plan, play_tournament
from noms_training.thread_pool import Stopped
from tests.commands import Run, assert_refused

DEVICES: tuple[Any, ...] = ("cpu", "cuda")
SHORT = make_rules(game("big_ships"), 3, {"start_cards": 2})


def test_deals_that_are_passed_out_are_followed_by_those_of_the_processor() -> None:
    rules, found = make_rules(game("noms"), 4, {"hand_size": 2}), []
    for device in DEVICES:
        pair = agent_spec("greedy", device=device), agent_spec("thumb:1", device=device)
        found.append(Pairing(rules, pair, line_ups(4, ("alone", "against"))).play(0, 2, Event()))
    cpu, gpu = found
    assert np.array_equal(gpu.values, cpu.values)
    assert np.array_equal(gpu.first, cpu.first)
    assert not np.array_equal(gpu.first, gpu.values)
    assert gpu.probes == cpu.probes
    for of_gpu, of_cpu in zip(gpu.groups, cpu.groups, strict=True):
        assert of_gpu.names() == of_cpu.names()
        assert all(np.array_equal(sums, of_cpu.sums[key]) for key, sums in of_gpu.sums.items())


def test_all_figures_are_those_of_the_processor() -> None:
    cpu, gpu = (
        compare(SHORT, agent_spec("thumb", device=one), agent_spec("greedy", device=one), 6, names=("alone",))
        for one in DEVICES
    )
    document = game_json(gpu, None, 0.1)
    assert (gpu.device, document.pop("device")) == ("cuda", "cuda")
    assert document == game_json(cpu, None, 0.1)


def few(players: tuple[AgentSpec, AgentSpec], block: int) -> tuple[AgentSpec, AgentSpec]:
    """The players, with so many deals in a block."""
    return replace(players[0], block=block), replace(players[1], block=block)


def test_what_is_random_follows_from_the_seed_and_not_from_what_is_played_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    players = agent_spec("random", device="cuda"), agent_spec("greedy", device="cuda")

    def values(deals: int, seed: int = 1, names: Sequence[str] = LINE_UPS, block: int = 128) -> np.ndarray:
        pairing = Pairing(SHORT, few(players, block), line_ups(3, names), seed)
        parts = [pairing.play_blocks(*block, Event()) for block in Blocks[None](deals, pairing.at_once)]
        sizes.append([sum(len(one.values) for one in part) for part in parts])
        return np.concatenate([one.values for part in parts for one in part])

    sizes: list[list[int]] = []
    whole = values(3)
    assert not np.array_equal(values(3, seed=2), whole)
    assert np.array_equal(values(2, names=("alone",)), whole[:2, :3])
    sizes.clear()
    for tables in (1, 12):
        monkeypatch.setattr(specs, "GPU_SEARCH_TABLES", tables)
        assert np.array_equal(values(3, block=1), whole)
    assert sizes == [[1, 1, 1], [2, 1]]


def test_sums_do_not_depend_on_the_tables_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = []
    for device, tables in zip((*DEVICES, "cuda"), (0, 1, 6), strict=True):
        monkeypatch.setattr(specs, "GPU_SEARCH_TABLES", tables)
        players = few((agent_spec("greedy", device=device), agent_spec("thumb:1", device=device)), 1)
        found = compare(SHORT, *players, 3, names=("alone",))
        figures.append({**game_json(found, None, 0.1), "device": "", "tally": self_play(SHORT, players[0], 3)})
    assert figures[0] == figures[1] == figures[2]


def test_matches() -> None:
    cpu, gpu = (compare_matches(SHORT, agent_spec("greedy", device=one), agent_spec("thumb", device=one), 2) for one in DEVICES)
    assert matches_json(gpu) == matches_json(cpu)
    assert gpu.deals == 2 * 6 * len(SHORT.schedule)


def test_cross_play() -> None:
    names = ("greedy", "thumb:1")
    cpu, gpu = (
        (players, cross_play(SHORT, players, 3))
        for players in ([agent_spec(name, device=one) for name in names] for one in DEVICES)
    )
    document = gpu[1].as_json(gpu[0])
    assert document.pop("device") == "cuda"
    assert document == cpu[1].as_json(cpu[0])


def test_tournament(tmp_path: Path, run: Run) -> None:
    words = ["tournament", "greedy", "thumb:1", "--variant", "big_ships", "--seats", 3]
    words += ["--option", "start_cards=1", "--deals", 2]
    assert run(*words, "--out", tmp_path / "cpu")[0] == 0
    assert run(*words, "--out", tmp_path / "gpu", "--device", "cuda")[0] == 0
    plans, results = (
        [json.loads((tmp_path / folder / file).read_text()) for folder in ("cpu", "gpu")]
        for file in ("plan.json", "results.json")
    )
    for cpu, gpu in (plans, results):
        assert gpu.pop("device") == "cuda"
        assert gpu == cpu
    again = [*words[:-1], 3, "--resume"]
    assert_refused(run(*again, "--out", tmp_path / "gpu"), "was begun with device 'cuda', not 'cpu'")
    assert_refused(run(*again, "--out", tmp_path / "cpu", "--device", "auto"), "was begun with device 'cpu', not 'cuda'")
    assert run(*again, "--out", tmp_path / "gpu", "--device", "cuda")[0] == 0
    assert json.loads((tmp_path / "gpu" / "results.json").read_text())["deals"] == 3
    plan = Plan(("greedy", "thumb"), SHORT, 4)
    players = agent_specs(plan.players, device="cuda")
    with pytest.raises(ValueError, match="the players of this plan are of cpu, not of cuda"):
        play_tournament(plan, players, Folder(tmp_path / "other"))


def test_the_commands(tmp_path: Path, run: Run) -> None:
    words = ["--variant", "big_ships", "--seats", 3, "--option", "start_cards=1", "--json", tmp_path / "found.json"]
    for device in ("cuda", "auto"):
        more = ["--device", device, "--deals", 2, "--matches", 2 * (device == "cuda")]
        status, out, _ = run("evaluate", "random", "greedy", *words, *more, "--details")
        assert status == 0
        assert ("seatings of each deal" in out, " on a GPU" in out) == (True, True)
        assert json.loads((tmp_path / "found.json").read_text())["games"][0].get("device") == "cuda"
    assert run("crossplay", "greedy", "random", *words, "--deals", 2, "--device", "cuda")[0] == 0
    assert json.loads((tmp_path / "found.json").read_text())["device"] == "cuda"


@pytest.mark.parametrize("command", ["evaluate", "tournament", "crossplay"])
def test_players_that_have_no_form_for_a_gpu(command: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "mine.py").write_text("def act(observation, mask, rng):\n    return int(mask.argmax())\n")
    game_words = ["thumb", "--variant", "down_up", "--deals", 2]
    for name in ("solved:file", f"{tmp_path / 'mine.py'}:act", "cmd:true"):
        said = run(command, name, *game_words, "--device", "cuda")
        assert_refused(
            said, f"the player {name.partition(':')[0] if name == 'solved:file' else name} plays on the processor only"
        )
        assert "on a GPU there are random, greedy, thumb" in said[2]
    assert_refused(run(command, "chess", *game_words, "--device", "cuda"), "there is no player 'chess'")
    assert_refused(run(command, "chess", *game_words, "--device", "auto"), "there is no player 'chess'")
    if command != "crossplay":
        assert_refused(run(command, "greedy", *game_words, "--limit", 1, "--device", "cuda"), "only programs")


def test_what_does_not_go_together() -> None:
    mixed = agent_spec("thumb"), agent_spec("random", device="cuda")
    for refused in (
        lambda: compare(SHORT, *mixed, 2),
        lambda: compare_matches(SHORT, *mixed, 2),
        lambda: cross_play(SHORT, mixed, 2),
    ):
        with pytest.raises(ValueError, match="must be of one device, not thumb of cpu and random of cuda"):
            refused()


def test_a_block_that_is_stopped_is_given_up() -> None:
    stop, player = Event(), agent_spec("random", device="cuda")
    stop.set()
    with pytest.raises(Stopped):
        Pairing(SHORT, (player, player), line_ups(3)).play(0, 2, stop)


def test_seats_decide_whose_action_is_taken() -> None:
    batch = make_batch("small_ships", 4, seed=4, device="cuda", pause_after_deal=True)
    twin = make_batch("small_ships", 4, seed=4, pause_after_deal=True)
    seating = np.array([[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1]])
    for rows in (batch, twin):
        rows.reset()
    players = [load_player(name, device="cuda") for name in ("random", "greedy")]
    seated, greedy = SeatedPlayers(batch, players, seating, seed=5), load_player("greedy")
    uniform = load_player("random")
    for decision in range(2 * LOOK):
        twin.observe()
        expected = greedy.act(twin.mask, twin.mask, np.random.default_rng(0), tables=twin.tables)
        for row in np.flatnonzero(seating[np.arange(4), twin.seat] == 0):
            drawn = np.array([decision_seed(twin.tables[row], seating[row], decision, 5)])
            expected[row] = uniform.act(twin.mask[row], twin.mask[row], drawn)
        actions = seated.act()
        assert actions.to_numpy().tolist() == expected.tolist()
        batch.step(actions)  # type: ignore[arg-type]
        twin.step(expected)


def test_seatings_that_cannot_be() -> None:
    batch = make_batch("small_ships", 2, device="cuda")
    players = [load_player("random", device="cuda")]
    for wrong in (np.zeros((3, 4), np.int64), np.zeros((2, 4)), np.zeros(2, np.int64)):
        with pytest.raises(ValueError, match="seating must be integers of shape \\(2, seats\\), not"):
            SeatedPlayers(batch, players, wrong, seed=0)
    with pytest.raises(ValueError, match="seating must name players from 0 to 0, not 0 to 1"):
        SeatedPlayers(batch, players, np.array([[0, 1, 0, 0]] * 2), seed=0)
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        SeatedPlayers(batch, players, np.zeros((2, 4), np.int64), seed=-1)
    with pytest.raises(ValueError, match="not on a GPU"):
        SeatedPlayers(make_batch("small_ships", 2), players, np.zeros((2, 4), np.int64), seed=0)
