"""Evaluation on a GPU, in numba's simulator of one; `test_gpu_rows` runs these tests in a process of its own."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
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
from tests.begin import begin
from tests.commands import Run, assert_refused

DEVICES: tuple[Any, ...] = ("cpu", "cuda")
SHORT = make_rules(game("big_ships"), 3, {"start_cards": 2})


def test_deals_after_passed_out_ones_are_those_of_the_processor() -> None:
    rules, blocks = make_rules(game("noms"), 4, {"hand_size": 2}), []
    for device in DEVICES:
        pair = agent_spec("greedy", device=device), agent_spec("thumb:1", device=device)
        blocks.append(Pairing(rules, pair, line_ups(4, ("alone", "against"))).play(0, 2, Event()))
    cpu, gpu = blocks
    assert np.array_equal(gpu.values, cpu.values)
    assert np.array_equal(gpu.first, cpu.first)
    assert not np.array_equal(gpu.first, gpu.values)
    assert gpu.probes == cpu.probes
    for group, expected in zip(gpu.groups, cpu.groups, strict=True):
        assert group.names() == expected.names()
        assert all(np.array_equal(sums, expected.sums[key]) for key, sums in group.sums.items())


def pair_on(device: Any, *names: str) -> tuple[AgentSpec, AgentSpec]:
    """Return two players on a device."""
    first, second = agent_specs(names, device=device)
    return first, second


def with_block(players: tuple[AgentSpec, AgentSpec], block: int) -> tuple[AgentSpec, AgentSpec]:
    """Set the number of deals in a block."""
    return replace(players[0], block=block), replace(players[1], block=block)


def test_chance_follows_from_the_seed_and_not_from_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    players = pair_on("cuda", "random", "greedy")

    def values(deals: int, seed: int = 1, names: Sequence[str] = LINE_UPS, block: int = 128) -> np.ndarray:
        pairing = Pairing(SHORT, with_block(players, block), line_ups(3, names), seed)
        parts = [pairing.play_blocks(*block, Event()) for block in Blocks[None](deals, pairing.at_once)]
        sizes.append([sum(len(result.values) for result in part) for part in parts])
        return np.concatenate([result.values for part in parts for result in part])

    sizes: list[list[int]] = []
    whole = values(3)
    assert not np.array_equal(values(3, seed=2), whole)
    assert np.array_equal(values(2, names=("alone",)), whole[:2, :3])
    sizes.clear()
    for tables in (1, 12):
        monkeypatch.setattr(specs, "GPU_SEARCH_TABLES", tables)
        assert np.array_equal(values(3, block=1), whole)
    assert sizes == [[1, 1, 1], [2, 1]]


def test_figures_do_not_depend_on_the_device_or_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = []
    for device, tables in zip((*DEVICES, "cuda"), (0, 1, 6), strict=True):
        monkeypatch.setattr(specs, "GPU_SEARCH_TABLES", tables)
        players = with_block(pair_on(device, "greedy", "thumb:1"), 1)
        result = compare(SHORT, *players, 3, names=("alone",))
        assert result.device == device
        figures.append({**game_json(result, None, 0.1), "device": "", "tally": self_play(SHORT, players[0], 3)})
    assert figures[0] == figures[1] == figures[2]


def test_matches_and_cross_play_are_those_of_the_processor() -> None:
    cpu, gpu = (compare_matches(SHORT, *pair_on(device, "greedy", "thumb"), 2) for device in DEVICES)
    assert matches_json(gpu) == matches_json(cpu)
    assert gpu.deals == 2 * 6 * len(SHORT.schedule)
    pairs = [pair_on(device, "greedy", "thumb:1") for device in DEVICES]
    cpu_document, gpu_document = (cross_play(SHORT, players, 3).as_json(players) for players in pairs)
    assert gpu_document.pop("device") == "cuda"
    assert gpu_document == cpu_document


def test_a_tournament_is_that_of_the_processor_and_stays_on_its_device(tmp_path: Path, run: Run) -> None:
    words = ["tournament", "greedy", "thumb:1", "--variant", "big_ships", "--seats", 3]
    words += ["--option", "start_cards=1", "--deals", 2]
    cpu_folder, gpu_folder = tmp_path / "cpu", tmp_path / "gpu"
    assert run(*words, "--out", cpu_folder)[0] == 0
    assert run(*words, "--out", gpu_folder, "--device", "cuda")[0] == 0
    for file in ("plan.json", "results.json"):
        cpu, gpu = (json.loads((folder / file).read_text()) for folder in (cpu_folder, gpu_folder))
        assert gpu.pop("device") == "cuda"
        assert gpu == cpu
    resume = [*words[:-1], 3, "--resume"]
    assert_refused(run(*resume, "--out", gpu_folder), "was begun with device 'cuda', not 'cpu'")
    assert_refused(run(*resume, "--out", cpu_folder, "--device", "auto"), "was begun with device 'cpu', not 'cuda'")
    assert run(*resume, "--out", gpu_folder, "--device", "cuda")[0] == 0
    assert json.loads((gpu_folder / "results.json").read_text())["deals"] == 3
    plan = Plan(("greedy", "thumb"), SHORT, 4)
    players = agent_specs(plan.players, device="cuda")
    with pytest.raises(ValueError, match="the players of this plan are of cpu, not of cuda"):
        play_tournament(plan, players, Folder(tmp_path / "other"))


def test_evaluate_and_crossplay_name_the_device(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "figures.json"
    words = ["--variant", "big_ships", "--seats", 3, "--option", "start_cards=1", "--deals", 2, "--json", file]
    for device in ("cuda", "auto"):
        more = ["--device", device, "--matches", 2 * (device == "cuda")]
        status, out, _ = run("evaluate", "random", "greedy", *words, *more, "--details")
        assert status == 0
        assert "seatings of each deal" in out
        assert " on a GPU" in out
        assert json.loads(file.read_text())["games"][0].get("device") == "cuda"
    assert run("crossplay", "greedy", "random", *words, "--device", "cuda")[0] == 0
    assert json.loads(file.read_text())["device"] == "cuda"


@pytest.mark.parametrize("command", ["evaluate", "tournament", "crossplay"])
def test_players_without_a_form_for_a_gpu_are_refused(command: str, tmp_path: Path, run: Run) -> None:
    own = tmp_path / "mine.py"
    own.write_text("def act(observation, mask, rng):\n    return int(mask.argmax())\n")
    words = ["thumb", "--variant", "down_up", "--deals", 2]
    for name, named in (("solved:file", "solved"), (f"{own}:act", f"{own}:act"), ("cmd:true", "cmd:true")):
        refusal = run(command, name, *words, "--device", "cuda")
        assert_refused(refusal, f"the player {named} plays on the processor only")
        assert "on a GPU there are random, greedy, thumb" in refusal[2]
    for device in ("cuda", "auto"):
        assert_refused(run(command, "chess", *words, "--device", device), "there is no player 'chess'")
    if command != "crossplay":
        assert_refused(run(command, "greedy", *words, "--limit", 1, "--device", "cuda"), "only programs")


def test_players_on_different_devices_are_refused() -> None:
    mixed = agent_spec("thumb"), agent_spec("random", device="cuda")
    for call in (partial(compare, SHORT, *mixed), partial(compare_matches, SHORT, *mixed), partial(cross_play, SHORT, mixed)):
        with pytest.raises(ValueError, match="must be of one device, not thumb of cpu and random of cuda"):
            call(2)


def test_a_stopped_block_is_given_up() -> None:
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        Pairing(SHORT, pair_on("cuda", "random", "random"), line_ups(3)).play(0, 2, stop)


def test_each_seat_takes_the_action_of_its_player() -> None:
    gpu, cpu = (begin(make_batch("small_ships", 4, seed=4, device=device, pause_after_deal=True)) for device in ("cuda", "cpu"))
    seating = np.array([[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1]])
    seated = SeatedPlayers(gpu, [load_player(name, device="cuda") for name in ("random", "greedy")], seating, seed=5)
    random, greedy = load_player("random"), load_player("greedy")
    for decision in range(2 * LOOK):
        cpu.observe()
        expected = greedy.act(cpu.mask, cpu.mask, np.random.default_rng(0), tables=cpu.tables)
        for row in np.flatnonzero(seating[np.arange(4), cpu.seat] == 0):
            seed = np.array([decision_seed(cpu.tables[row], seating[row], decision, 5)])
            expected[row] = random.act(cpu.mask[row], cpu.mask[row], seed)
        actions: Any = seated.act()
        assert actions.to_numpy().tolist() == expected.tolist()
        gpu.step(actions)
        cpu.step(expected)


def test_an_impossible_seating_is_refused() -> None:
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
