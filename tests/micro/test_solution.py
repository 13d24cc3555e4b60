"""Solutions as files and players, runs that go on, and the commands."""

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
from tests.begun import begun
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


def test_a_solution_is_a_player_with_its_strategy(tree: Tree, solution: Path) -> None:
    player = load_player(f"solved:{solution}")
    assert isinstance(player, SolvedPlayer)
    strategy = strategy_of(player, tree)
    found = exploitability(Passes(tree, tree.points), strategy)
    assert found.nash_conv == pytest.approx(player.info.nash_conv, abs=1e-5)
    assert player.info.nash_conv <= 0.001 * player.info.uniform_nash_conv
    assert player.info.values == pytest.approx(found.values.tolist(), abs=1e-5)
    assert repr(player) == "<SolvedPlayer: down_up with 2 seats, 712 information sets>"


def test_it_plays_single_deals_whoever_deals(solution: Path) -> None:
    player, rng, played = SolvedPlayer(str(solution)), np.random.default_rng(0), 0
    for seed in range(20):
        env: Any = down_up_v0.raw_env(seats=2, ranks=4, suits=2, trump_rotation=["D"], episode="deal", hand_size=2)
        env.reset(seed=seed)
        while env.agents:
            seen, _, over, cut, _ = env.last()
            action = None if over or cut else player.act(seen["observation"], seen["action_mask"], rng)
            played += action is not None
            env.step(action)
    assert played > 100


def test_it_draws_by_its_probabilities(tree: Tree, solution: Path) -> None:
    player, rng = SolvedPlayer(str(solution)), np.random.default_rng(1)
    for _numbers, observation, mask, _tables in tree.decisions():
        chances = player.probabilities(observation, mask)
        drawn = np.zeros(mask.shape)
        for _ in range(100):
            drawn[np.arange(len(mask)), player.act(observation, mask, rng)] += 0.01
        assert (drawn[mask == 0] == 0).all()
        assert np.abs(drawn - chances).max() < 0.25
        assert np.abs((drawn - chances).sum(axis=0)).max() < 4


def test_what_it_has_not_solved_is_refused(solution: Path) -> None:
    table = begun(Table("down_up", 2, {"ranks": 4, "suits": 2, "trump_rotation": ["D"]}, seed=1))
    with pytest.raises(ValueError, match="single deals of down_up with 2 cards per seat"):
        SolvedPlayer(str(solution)).act(*table.view(int(table.row.seat)), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda arrays, about: about.update(format="noms-solution/9"), "its format is not noms-solution/1"),
        (lambda arrays, about: about.update(layout="0"), "other observations"),
        (lambda arrays, about: about["options"].update(ranks=99), "ranks must be"),
        (lambda arrays, about: arrays.update(key=arrays["key"][::-1].copy()), "not in order"),
        (lambda arrays, about: arrays.update(strategy=arrays["strategy"] * 2), "do not sum to 1"),
        (lambda arrays, about: arrays.update(action=arrays["action"] + 500), "its actions are missing or unknown"),
        (lambda arrays, about: about.update(nash_conv=float("nan")), "NaN is no number"),
        (lambda arrays, about: about.update(extra="\x1b"), "lacks the key 'extra' or must not have it"),
    ],
)
def test_files_that_are_refused(solution: Path, tmp_path: Path, spoil: Any, sentence: str) -> None:
    header = solution.read_bytes()
    document = json.loads(json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])["__metadata__"][KEY])
    arrays = load_file(str(solution))
    spoil(arrays, document)
    path = tmp_path / "spoilt.safetensors"
    save_file(arrays, str(path), {KEY: json.dumps(document)})
    with pytest.raises(SolutionFileError, match=re.escape(sentence)):
        SolvedPlayer(str(path))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no solution")
    for name in ("text", "missing"):
        with pytest.raises(SolutionFileError, match=f"{name} holds no solution"):
            SolvedPlayer(str(tmp_path / name))


class StopError(Exception):
    pass


def test_a_run_that_is_stopped_comes_to_the_same(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve(tree, tmp_path / "whole", iterations=40, share=0)
    monkeypatch.setattr(solving, "SAVE_SECONDS", -1.0)

    def stopping(progress: Progress) -> None:
        if progress.iterations == 23:
            raise StopError

    with pytest.raises(StopError):
        solve(tree, tmp_path / "parts", iterations=40, share=0, tick=stopping)
    state = tmp_path / "parts.state.npz"
    assert state.exists()
    assert not (tmp_path / "parts").exists()
    seen: list[int] = []
    solve(tree, tmp_path / "parts", iterations=40, share=0, tick=lambda progress: seen.append(progress.iterations))
    assert seen[0] == 23
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not state.exists()


def test_states_that_are_refused(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, state = tmp_path / "solved", tmp_path / "solved.state.npz"
    monkeypatch.setattr(solving, "SAVE_SECONDS", -1.0)

    def stop(progress: Progress) -> None:
        if progress.iterations == 3:
            raise StopError

    with pytest.raises(StopError):
        solve(tree, path, tick=stop)
    with pytest.raises(StateError, match="belongs to another deal"):
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
def test_damaged_states_are_refused(tree: Tree, tmp_path: Path, changes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path, state = tmp_path / "solved", tmp_path / "solved.state.npz"
    solving._save(Solver(tree), state, "points", 16, 1.0)
    with np.load(state) as kept:
        arrays = dict(kept)
    for name, value in changes.items():
        if isinstance(value, float):
            arrays[name] = arrays[name].copy()
            arrays[name][() if arrays[name].ndim == 0 else 3] = value
        else:
            arrays[name] = value
    np.savez(state, **arrays)
    with pytest.raises(StateError, match=r"is damaged \([^\n]+\): remove it to start the run again$"):
        solve(tree, path)


def test_the_commands(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = run("solve", NAME, "--percent", "1")
    assert status == 0
    assert "420 layouts, 13,560 nodes, 712 information sets" in out
    assert re.search(r"NashConv 0\.0\d+ points after 16 iterations, 0\.\d+% of the 6\.0008", out)
    assert "written to micro/down-up-1.safetensors" in out
    _, out, _ = run("exploit", f"solved:micro/{NAME}.safetensors", "--micro", NAME, "--pairs", "--json", "found.json")
    assert re.search(r"down-up-1: NashConv 0\.0\d+ points, 0\.\d+% of that", out)
    assert "by seat from eldest: 0." in " ".join(out.split())
    several = run("exploit", "random", "--micro", "down-up-1", "sniped-whist-1", "--samples", 1)[1]
    assert (several.count(": NashConv "), "by seat" in several) == (2, False)
    assert "seats 0 and 1 gain" in out
    found = json.loads(Path("found.json").read_text())["games"][0]
    assert found["nash_conv"] == pytest.approx(sum(found["best_responses"]) - sum(found["values"]))
    _, out, _ = run("solve", "noms", "--seats", "2", "--option", "ranks=3", "--option", "suits=1", "--option", "min_bid=1")
    assert "written to micro/noms-seats=2-min_bid=1-ranks=3-suits=1.safetensors" in out
    assert len(list(Path("micro").glob("*.safetensors"))) == 2
    assert "small-ships-3" in run("list", "micro")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["solve", "noms-9"],
            "there is no micro-game 'noms-9'; did you mean noms-2 or noms-1? The micro-games are sniped-whist-1",
        ),
        (["solve", NAME, "--out", "."], ". is a folder, and no file for a solution"),
        (["solve", "small_ships"], "the cards can be dealt in 5.4e+28 ways, but at most 2,000,000 can be explored: make"),
        (["solve", "noms", "--hand-size", "2"], "--hand-size goes with exact-bid games; in noms give --option hand_size=2"),
        (["solve", NAME, "--seats", "3"], "--seats, --option and --hand-size go with a variant"),
        (["exploit", "thumb", "--deals", "9"], "--deals: only with --variant, on a full game"),
        (
            ["exploit", "thumb", "--seats", "4", "--initial-policy", "noms"],
            "--seats, --initial-policy: only with --variant, on a full game",
        ),
        (
            ["exploit", "thumb", "--variant", "noms", "--pairs", "--reward", "points"],
            "--reward, --pairs: only without --variant, on micro-games",
        ),
        (["exploit", "noms@0"], "noms@0 was trained for none of the micro-games"),
    ],
)
def test_what_is_refused(run: Run, words: list[str], sentence: str) -> None:
    assert_refused(run(*words), sentence)


def test_all_are_those_at_which_a_player_can_sit(monkeypatch: pytest.MonkeyPatch, solution: Path) -> None:
    _, games = command.games_of(f"solved:{solution}", ("all",))
    assert [one.name for one in games] == [NAME]
    assert isinstance(games[0], MicroGame)
    assert len(command.games_of("thumb", ("all",))[1]) > 10


def test_a_player_is_measured_by_the_reward_that_it_plays_for(run: Run, tmp_path: Path, tree: Tree) -> None:
    plain, relative = (tmp_path / f"{reward}.safetensors" for reward in REWARDS)
    for path, reward in ((plain, "points"), (relative, "relative")):
        solve(tree, path, reward=reward)
    uniform = {reward: exploitability(Passes(tree, rewards_of(tree, reward)), tree.uniform()).nash_conv for reward in REWARDS}

    def measured(player: str, *words: str) -> dict[str, Any]:
        status, out, _ = run("exploit", player, "--micro", NAME, "--samples", "1", *words, "--json", tmp_path / "found.json")
        assert status == 0
        (found,) = json.loads((tmp_path / "found.json").read_text())["games"]
        assert found["uniform_nash_conv"] == pytest.approx(uniform[found["reward"]])
        assert f"{found['share']:.2%} of" in out
        return dict(found)

    for path, reward in ((plain, "points"), (relative, "relative")):
        found = measured(f"solved:{path}")
        assert (found["reward"], found["plays_for"]) == (reward, reward)
        assert found["share"] < 0.005
    found = measured(f"solved:{relative}", "--reward", "points")
    assert (found["reward"], found["plays_for"]) == ("points", "relative")
    assert [measured(name)["reward"] for name in ("pimc:1", "thumb")] == ["relative", "points"]


def test_policies_and_searches_play_for_relative_points() -> None:
    for name in ("small_ships@0", "search:small_ships,worlds=2", "pimc:20", "flat_mc"):
        assert reward_of(load_player(name)) == "relative"
    assert [reward_of(load_player(name)) for name in ("thumb", "greedy", "random")] == [None] * 3
    own = load_player("random")
    for strange in ("score", 3, np.zeros(2), None):
        own.reward = strange  # type: ignore[attr-defined]
        assert reward_of(own) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_the_figures_of_the_games_that_are_done_are_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    measured = command.measure

    def failing(one: MicroGame, *rest: Any) -> dict[str, Any]:
        if one.name != NAME:
            raise error
        return measured(one, *rest)

    monkeypatch.setattr(command, "measure", failing)
    status, _, err = run("exploit", "thumb", "--micro", NAME, "noms-2", "--json", tmp_path / "found.json")
    assert status == (130 if error is KeyboardInterrupt else 2)
    assert ("noms-2 does not fit into the memory" in err) == (error is MemoryError)
    assert [one["game"] for one in json.loads((tmp_path / "found.json").read_text())["games"]] == [NAME]


def test_a_solution_is_refused_where_hands_have_other_sizes_too(run: Run, solution: Path) -> None:
    options = ("--option", "ranks=4", "--option", "suits=2", "--option", 'trump_rotation=["D"]')
    done = run("evaluate", f"solved:{solution}", "thumb", "--variant", "down_up", "--seats", 2, *options)
    assert_refused(done, "is a solution for deals of 2 cards, and in down_up hands have 1 to 4 cards: it plays in Python")
