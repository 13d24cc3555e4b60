"""Solutions as files and players, runs that are resumed, and the commands."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from noms_env import down_up_v0, load_player
from noms_env.micro import solving
from noms_env.micro.cfr import REWARDS, Passes, Solver, rewards_of
from noms_env.micro.measures import exploitability, reward_of, strategy_of
from noms_env.micro.settings import MicroGame, micro_game
from noms_env.micro.solution import KEY, SolutionFileError, SolvedPlayer
from noms_env.micro.solving import Progress, StateError, solve
from noms_env.micro.tree import Tree, build_tree
from noms_env.table import Table
from noms_training.commands import exploit as command
from tests.begin import begin
from tests.commands import Run, assert_refused

NAME = "down-up-1"


@pytest.fixture(scope="module")
def tree() -> Tree:
    return build_tree(micro_game(NAME).setup())


@pytest.fixture(scope="module")
def solution(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("micro") / "solved.safetensors"
    solve(tree, path, share=0.001)
    return path


@pytest.fixture(scope="module")
def player(solution: Path) -> SolvedPlayer:
    return SolvedPlayer(str(solution))


def test_a_solution_is_a_player_with_its_strategy(tree: Tree, solution: Path) -> None:
    player = load_player(f"solved:{solution}")
    assert isinstance(player, SolvedPlayer)
    measures = exploitability(Passes(tree, tree.points), strategy_of(player, tree))
    assert measures.nash_conv == pytest.approx(player.info.nash_conv, abs=1e-5)
    assert player.info.nash_conv <= 0.001 * player.info.uniform_nash_conv
    assert player.info.values == pytest.approx(measures.values.tolist(), abs=1e-5)
    assert repr(player) == "<SolvedPlayer: down_up with 2 seats, 712 information sets>"


def test_it_plays_single_deals_whoever_deals(player: SolvedPlayer) -> None:
    rng, dealers = np.random.default_rng(0), set()
    for seed in range(20):
        env: Any = down_up_v0.raw_env(seats=2, ranks=4, suits=2, trump_rotation=["D"], episode="deal", hand_size=2)
        env.reset(seed=seed)
        dealers.add(int(env.table.row.dealer))
        for _ in env.agent_iter():
            observation, _, over, truncated, _ = env.last()
            env.step(None if over or truncated else player.act(observation["observation"], observation["action_mask"], rng))
    assert dealers == {0, 1}


def test_it_draws_by_its_probabilities(tree: Tree, player: SolvedPlayer) -> None:
    rng = np.random.default_rng(1)
    for _numbers, observation, mask, _tables in tree.decisions():
        probabilities = player.probabilities(observation, mask)
        shares = np.zeros(mask.shape)
        for _ in range(100):
            shares[np.arange(len(mask)), player.act(observation, mask, rng)] += 0.01
        assert (shares[mask == 0] == 0).all()
        assert np.abs(shares - probabilities).max() < 0.25
        assert np.abs((shares - probabilities).sum(axis=0)).max() < 4


def test_deals_that_it_has_not_solved_are_refused(player: SolvedPlayer) -> None:
    table = begin(Table("down_up", 2, {"ranks": 4, "suits": 2, "trump_rotation": ["D"]}, seed=1))
    with pytest.raises(ValueError, match="single deals of down_up with 2 cards per seat"):
        player.act(*table.view(int(table.row.seat)), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda arrays, info: info.update(format="noms-solution/9"), "its format is not noms-solution/1"),
        (lambda arrays, info: info.update(layout="0"), "other observations"),
        (lambda arrays, info: info["options"].update(ranks=99), "ranks must be"),
        (lambda arrays, info: arrays.update(key=arrays["key"][::-1].copy()), "not in order"),
        (lambda arrays, info: arrays.update(strategy=arrays["strategy"] * 2), "do not sum to 1"),
        (lambda arrays, info: arrays.update(action=arrays["action"] + 500), "its actions are missing or unknown"),
        (lambda arrays, info: info.update(nash_conv=float("nan")), "NaN is no number"),
        (lambda arrays, info: info.update(extra="\x1b"), "lacks the key 'extra' or must not have it"),
    ],
)
def test_a_damaged_solution_is_refused(solution: Path, tmp_path: Path, damage: Any, sentence: str) -> None:
    header = solution.read_bytes()
    info = json.loads(json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])["__metadata__"][KEY])
    arrays = load_file(str(solution))
    damage(arrays, info)
    path = tmp_path / "damaged.safetensors"
    save_file(arrays, str(path), {KEY: json.dumps(info)})
    with pytest.raises(SolutionFileError, match=re.escape(sentence)):
        SolvedPlayer(str(path))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no solution")
    for name in ("text", "missing"):
        with pytest.raises(SolutionFileError, match=f"{name} holds no solution"):
            SolvedPlayer(str(tmp_path / name))


class StopError(Exception):
    pass


def stop_at(iteration: int, tree: Tree, path: Path, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> None:
    """Stop a run at an iteration; it saves its state after each."""
    monkeypatch.setattr(solving, "SAVE_SECONDS", -1.0)

    def stop(progress: Progress) -> None:
        if progress.iterations == iteration:
            raise StopError

    with pytest.raises(StopError):
        solve(tree, path, tick=stop, **arguments)


def test_a_resumed_run_writes_the_same_solution(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, path, state = (tmp_path / name for name in ("whole", "parts", "parts.state.npz"))
    solve(tree, whole, iterations=40, share=0)
    stop_at(23, tree, path, monkeypatch, iterations=40, share=0)
    assert state.exists()
    assert not path.exists()
    iterations: list[int] = []
    solve(tree, path, iterations=40, share=0, tick=lambda progress: iterations.append(progress.iterations))
    assert iterations[0] == 23
    assert path.read_bytes() == whole.read_bytes()
    assert not state.exists()


def test_the_state_of_another_deal_or_half_a_state_is_refused(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, state = tmp_path / "solved", tmp_path / "solved.state.npz"
    stop_at(3, tree, path, monkeypatch)
    with pytest.raises(StateError, match="belongs to another deal or reward"):
        solve(tree, path, reward="relative")
    state.write_bytes(state.read_bytes()[:300])
    with pytest.raises(StateError, match="is damaged"):
        solve(tree, path)


@pytest.mark.parametrize(
    "changes",
    [
        *({name: np.nan} for name in ("regrets", "totals", "strategy", "nash_conv")),
        *({name: -1.0} for name in ("regrets", "totals", "strategy", "nash_conv")),
        {"strategy": 0.25},
        {"regrets": np.zeros(3)},
        {"numbers": np.array([-1, 16])},
        {"digest": np.zeros(2)},
    ],
    ids=str,
)
def test_a_damaged_state_is_refused(tree: Tree, tmp_path: Path, changes: dict[str, Any]) -> None:
    path, state = tmp_path / "solved", tmp_path / "solved.state.npz"
    solving._save(Solver(tree), state, "points", 16, 1.0)
    with np.load(state) as file:
        arrays = dict(file)
    for name, value in changes.items():
        if isinstance(value, float):
            arrays[name][() if arrays[name].ndim == 0 else 3] = value
        else:
            arrays[name] = value
    np.savez(state, **arrays)
    with pytest.raises(StateError, match=r"is damaged \([^\n]+\): remove it to start the run again$"):
        solve(tree, path)


def test_noms_solve_and_noms_exploit(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    _, out, _ = run("solve", NAME, "--percent", "9", "--reward", "relative")
    assert "written to micro/down-up-1-reward=relative.safetensors" in out
    status, out, _ = run("solve", NAME, "--percent", "1")
    assert status == 0
    assert "420 layouts, 13,560 nodes, 712 information sets" in out
    assert re.search(r"NashConv 0\.0\d+ points after 16 iterations, 0\.\d+% of the 6\.0008", out)
    assert "written to micro/down-up-1.safetensors" in out
    _, out, _ = run("exploit", f"solved:micro/{NAME}.safetensors", "--micro", NAME, "--pairs", "--json", "figures.json")
    assert re.search(r"down-up-1: NashConv 0\.0\d+ points, 0\.\d+% of that", out)
    assert "by seat from eldest: 0." in " ".join(out.split())
    assert "seats 0 and 1 gain" in out
    figures = json.loads(Path("figures.json").read_text())["games"][0]
    assert figures["nash_conv"] == pytest.approx(sum(figures["best_responses"]) - sum(figures["values"]))
    _, out, _ = run("exploit", "random", "--micro", "down-up-1", "sniped-whist-1", "--samples", 1)
    assert (out.count(": NashConv "), "by seat" in out) == (2, False)
    _, out, _ = run("solve", "noms", "--seats", "2", "--option", "ranks=3", "--option", "suits=1", "--option", "min_bid=1")
    assert "written to micro/noms-seats=2-min_bid=1-ranks=3-suits=1.safetensors" in out
    assert len(list(Path("micro").glob("*.safetensors"))) == 3
    assert "small-ships-3" in run("list", "micro")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("solve noms-9", "there is no micro-game 'noms-9'; did you mean noms-2 or noms-1? The micro-games are sniped-whist-1"),
        (f"solve {NAME} --out .", ". is a folder, and no file for a solution"),
        ("solve small_ships", "the cards can be dealt in 5.4e+28 ways, but at most 2,000,000 can be explored"),
        ("solve noms --hand-size 2", "--hand-size goes with exact-bid games; in noms give --option hand_size=2"),
        (f"solve {NAME} --seats 3", "--seats, --option and --hand-size go with a variant"),
        ("exploit thumb --deals 9", "--deals: only with --variant, on a full game"),
        ("exploit thumb --seats 4 --initial-policy noms", "--seats, --initial-policy: only with --variant, on a full game"),
        ("exploit thumb --variant noms --pairs --reward points", "--reward, --pairs: only without --variant, on micro-games"),
        ("exploit noms@0", "noms@0 was trained for none of the micro-games"),
    ],
)
def test_wrong_words_of_the_commands_are_refused(run: Run, words: str, sentence: str) -> None:
    assert_refused(run(*words.split()), sentence)


def test_all_stands_for_the_games_that_a_player_can_play(solution: Path) -> None:
    games = command.games_of(f"solved:{solution}", ("all",))[1]
    assert [(type(game), game.name) for game in games] == [(MicroGame, NAME)]
    assert len(command.games_of("thumb", ("all",))[1]) > 10


def test_exploit_measures_a_player_by_the_reward_that_it_plays_for(run: Run, tmp_path: Path, tree: Tree) -> None:
    paths = {reward: tmp_path / f"{reward}.safetensors" for reward in REWARDS}
    for reward, path in paths.items():
        solve(tree, path, reward=reward)
    uniform = {reward: exploitability(Passes(tree, rewards_of(tree, reward)), tree.uniform()).nash_conv for reward in REWARDS}

    def measure(player: str, *words: str) -> dict[str, Any]:
        status, out, _ = run("exploit", player, "--micro", NAME, "--samples", "1", *words, "--json", tmp_path / "figures.json")
        assert status == 0
        (figures,) = json.loads((tmp_path / "figures.json").read_text())["games"]
        assert figures["uniform_nash_conv"] == pytest.approx(uniform[figures["reward"]])
        assert f"{figures['share']:.2%} of" in out
        return dict(figures)

    for reward, path in paths.items():
        figures = measure(f"solved:{path}")
        assert (figures["reward"], figures["plays_for"]) == (reward, reward)
        assert figures["share"] < 0.005
    figures = measure(f"solved:{paths['relative']}", "--reward", "points")
    assert (figures["reward"], figures["plays_for"]) == ("points", "relative")
    assert [measure(name)["reward"] for name in ("pimc:1", "thumb")] == ["relative", "points"]


def test_policies_and_searches_play_for_relative_points() -> None:
    names = ("small_ships@0", "search:small_ships,worlds=2", "pimc:20", "flat_mc", "thumb", "greedy", "random")
    assert [reward_of(load_player(name)) for name in names] == ["relative"] * 4 + [None] * 3
    player = load_player("random")
    for strange in ("score", 3, np.zeros(2), None):
        player.reward = strange  # type: ignore[attr-defined]
        assert reward_of(player) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_stopped_exploit_writes_the_figures_that_it_has(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    measure = command.measure

    def fail_later(game: MicroGame, *rest: Any) -> dict[str, Any]:
        if game.name != NAME:
            raise error
        return measure(game, *rest)

    monkeypatch.setattr(command, "measure", fail_later)
    status, _, err = run("exploit", "thumb", "--micro", NAME, "noms-2", "--json", tmp_path / "figures.json")
    assert status == (130 if error is KeyboardInterrupt else 2)
    assert ("noms-2 does not fit into the memory" in err) == (error is MemoryError)
    assert [figures["game"] for figures in json.loads((tmp_path / "figures.json").read_text())["games"]] == [NAME]


def test_evaluate_refuses_a_solution_if_hands_vary_in_size(run: Run, solution: Path) -> None:
    options = ("--option", "ranks=4", "--option", "suits=2", "--option", 'trump_rotation=["D"]')
    result = run("evaluate", f"solved:{solution}", "thumb", "--variant", "down_up", "--seats", 2, *options)
    assert_refused(result, "is a solution for deals of 2 cards, and in down_up hands have 1 to 4 cards: it plays in Python")
