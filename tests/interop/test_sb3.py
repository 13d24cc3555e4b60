"""Stable-Baselines3 and MaskablePPO of sb3-contrib: `SeatVecEnv` meets their interface, and the example learns."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import data_equivalence
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from noms_env import NUM_ACTIONS, IllegalActionError, SeatEnv
from noms_env.envs.validation import MaskPlace
from noms_env.interop.sb3 import SeatVecEnv
from noms_training.agents.registry import agent_spec
from noms_training.benchmark import protocol, running, task
from noms_training.evaluation.comparison import alone_in_field
from tests.begin import begin
from tests.envs.play import WAYS, choose_in_rows
from tests.interop.learning import assert_it_learns

EXAMPLE = Path(__file__).parents[2] / "examples" / "sb3_maskable_ppo.py"
ROWS = 4
SMALL: dict[str, Any] = {"n_steps": 8, "batch_size": 32, "n_epochs": 1, "seed": 1, "device": "cpu", "gamma": 1.0}


def without_mask(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in info.items() if key != "action_mask"} for info in infos]


def assert_same(expected: Any, actual: Any) -> None:
    assert data_equivalence(plain(expected), plain(actual), exact=True), (expected, actual)


def plain(result: Any) -> Any:
    """Return a result with plain dictionaries in place of the ordered ones of `DummyVecEnv`."""
    if isinstance(result, tuple):
        return tuple(map(plain, result))
    return dict(result) if isinstance(result, dict) else result


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", ["down_up", "noms"])
def test_a_vector_equals_separate_environments(variant: str, way: str) -> None:
    arguments = WAYS[way] | {"mask_in": "observation" if way == "by rule of thumb" else "info"}
    separate = DummyVecEnv([lambda: SeatEnv(variant, **arguments)] * ROWS)
    envs = SeatVecEnv(ROWS, variant, **arguments)
    spaces = (separate.observation_space, separate.action_space)
    assert (envs.num_envs, envs.observation_space, envs.action_space) == (ROWS, *spaces)
    ended = 0
    for seed, steps in ((3, 80), (None, 20)):
        if seed is not None:
            assert separate.seed(seed) == envs.seed(seed)
        assert_same(separate.reset(), envs.reset())
        for step in range(steps):
            masks = get_action_masks(envs)
            np.testing.assert_array_equal(get_action_masks(separate), masks)
            actions = choose_in_rows(masks, step)
            seen, rewards, dones, infos = separate.step(actions)
            assert_same((seen, rewards, dones, without_mask(infos)), envs.step(actions))
            assert_same(without_mask(separate.reset_infos), envs.reset_infos)
            ended += dones.sum()
    assert ended > 0 or way == "a match"


def test_the_last_info_of_a_deal_has_its_points() -> None:
    envs = SeatVecEnv(32, "small_ships", seat="rotate", reward="relative")
    envs.seed(1)
    envs.reset()
    deals = 0
    for step in range(60):
        seen, rewards, dones, infos = envs.step(choose_in_rows(get_action_masks(envs), step))
        assert seen.dtype == np.float32
        assert rewards.dtype == np.float32
        for reward, is_done, info in zip(rewards, dones, infos, strict=True):
            if not is_done:
                assert reward == 0
                assert info.keys() == {"seat", "TimeLimit.truncated"}
                continue
            deals += 1
            own, others = info["points"][info["seat"]], np.delete(info["points"], info["seat"])
            assert reward == pytest.approx(own - others.mean())
            assert info["terminal_observation"].shape == seen.shape[1:]
    assert deals > 32


def test_seats_are_options_of_a_reset() -> None:
    envs = SeatVecEnv(3, "down_up")
    envs.set_options([{"seat": 2}, {"seat": 0}, {"seat": 1}])
    envs.reset()
    assert [info["seat"] for info in envs.reset_infos] == [2, 0, 1]
    envs.set_options({"seat": 3})
    envs.reset()
    assert [info["seat"] for info in envs.reset_infos] == [3, 3, 3]
    envs.reset()
    assert [info["seat"] for info in envs.reset_infos] == [0, 0, 0], "they hold once"
    envs.set_options([{"seat": 2}, {}, {}])
    with pytest.raises(ValueError, match="in every row or in none, not in 1 of 3"):
        envs.reset()
    envs.set_options({"dealer": 2})
    with pytest.raises(ValueError, match="not 'dealer'; SeatEnv takes more"):
        envs.reset()


def test_an_illegal_action_is_refused_or_ends_the_episode() -> None:
    envs = begin(SeatVecEnv(2, "down_up"))
    before = get_action_masks(envs)
    with pytest.raises(IllegalActionError):
        envs.step(np.full(2, NUM_ACTIONS))
    np.testing.assert_array_equal(get_action_masks(envs), before)
    envs = begin(SeatVecEnv(2, "down_up", illegal_action="terminate"))
    actions = choose_in_rows(get_action_masks(envs), 0)
    actions[1] = NUM_ACTIONS - 1
    _, rewards, dones, infos = envs.step(actions)
    assert (rewards[1], dones[1]) == (-1, True)
    assert infos[1]["illegal_action"]
    assert "illegal_action" not in infos[0]
    assert get_action_masks(envs).any(axis=1).all(), "the next episode has begun"


def parameters_after(steps: int, seed: int, **arguments: Any) -> torch.Tensor:
    envs = SeatVecEnv(16, "down_up", seat="rotate", reward="relative", **arguments)
    model = MaskablePPO("MlpPolicy", envs, **SMALL | {"seed": seed}).learn(steps)
    return torch.cat([parameter.detach().flatten() for parameter in model.policy.parameters()])


def test_training_is_deterministic_by_seed() -> None:
    first = parameters_after(256, 1)
    assert torch.isfinite(first).all()
    assert torch.equal(first, parameters_after(256, 1, threads=2))
    assert not torch.equal(first, parameters_after(256, 2))


@pytest.mark.parametrize(("policy", "mask_in"), [("MlpPolicy", "info"), ("MultiInputPolicy", "observation")])
def test_a_model_trains_on_one_table_and_obeys_masks(policy: str, mask_in: MaskPlace, tmp_path: Path) -> None:
    env = SeatEnv("small_ships", mask_in=mask_in)  # an illegal action raises
    assert is_masking_supported(env)
    model = MaskablePPO(policy, env, **SMALL | {"n_steps": 64}).learn(128)
    assert model.num_timesteps == 128
    model.save(tmp_path / "model")
    loaded = MaskablePPO.load(tmp_path / "model", device="cpu")
    envs = SeatVecEnv(8, "small_ships", mask_in=mask_in)
    seen = envs.reset()
    for _ in range(20):
        masks = get_action_masks(envs)
        actions, _ = loaded.predict(seen, action_masks=masks)
        assert masks[np.arange(8), actions].all()
        seen, _, _, _ = envs.step(actions)


def test_the_error_of_plain_ppo_names_the_option_to_set() -> None:
    message = r'choose where the action mask is 1 .* or set illegal_action="terminate"$'
    one_table = SMALL | {"n_steps": 64}
    with pytest.raises(IllegalActionError, match=message):
        PPO("MultiInputPolicy", SeatEnv("down_up"), **one_table).learn(64)
    with pytest.raises(IllegalActionError, match=message):
        PPO("MlpPolicy", SeatVecEnv(4, "down_up"), **SMALL).learn(64)
    assert PPO("MultiInputPolicy", SeatEnv("down_up", illegal_action="terminate"), **one_table).learn(64).num_timesteps == 64


def test_the_example_learns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = assert_it_learns(capsys, runpy.run_path(str(EXAMPLE))["main"], tables=128, decisions=20_000, deals=100)
    assert lines[-1] == "It beats random players."


def test_the_baseline_of_the_benchmark_learns_and_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (task, protocol):
        monkeypatch.setattr(module, "CURVE_DEALS", 16)
    monkeypatch.setattr(task, "CURVE_AT", (0.0, 1.0))
    entry = running.begin(tmp_path, running.algorithm_file("maskable_ppo"), ("down_up",), (1,), "12k")
    running.train_all(entry, tmp_path)
    run = tmp_path / "trained" / "down_up" / "1"
    rows = [line.split(",") for line in (run / "curve.csv").read_text().splitlines()[1:]]
    assert float(rows[-1][3]) > float(rows[0][3])
    player = agent_spec(f"{run / 'player.py'}:player")
    assert alone_in_field(protocol.rules_of_game("down_up"), player, agent_spec("random"), 8).deals == 8
