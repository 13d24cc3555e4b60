"""Right calls, which `tests/test_types.py` runs, and wrong ones: mypy reports every ignored error that does not occur."""

import noms_env
from noms_env import BatchEnv, SeatEnv, SeatVectorEnv, TableGroup, make_batch, noms_v0, small_ships_v0
from noms_env.envs.aec import TrickTakingEnv


def right(variant: str) -> None:
    env: TrickTakingEnv = small_ships_v0.raw_env(seats=4, episode="deal", stock_nomination="redraw", target=None)
    env.reset(seed=1)
    noms_env.sniped_whist_v0.env(scoring="tricks", render_mode="ansi")
    noms_env.down_up_v0.env(episode="deal", hand_size=5, trump_rotation=["S", "NT"])
    noms_env.up_down_v0.raw_env(illegal_action="terminate")
    noms_env.up_down_v0.parallel_env(seats=4, mask_in="info")
    SeatEnv(variant, opponents=["thumb", "random", "greedy"], seat="rotate", hook=False)
    SeatVectorEnv(64, variant, autoreset_mode="SameStep", seats=3, reward="relative", hook=True)
    noms_env.feature_layout(variant, 4, episode="deal", hook=True)
    batch: BatchEnv = make_batch([TableGroup("small_ships", seats=5), TableGroup("down_up", options={"hook": False})], tables=8)
    batch.reset()
    batch.observe()
    batch.step(batch.mask.argmax(axis=1))


def wrong() -> None:
    small_ships_v0.env(seatz=4)  # type: ignore[call-arg]
    small_ships_v0.env(scoring="tricks")  # type: ignore[call-arg]
    small_ships_v0.raw_env(stock_nomination="nonsense")  # type: ignore[arg-type]
    small_ships_v0.raw_env(indication=1)  # type: ignore[arg-type]
    small_ships_v0.raw_env(min_bid="5")  # type: ignore[arg-type]
    noms_v0.env(illegal_action="raise")  # type: ignore[call-arg]
    noms_env.sniped_whist_v0.env(scoring="nonsense")  # type: ignore[arg-type]
    noms_env.down_up_v0.env(trump_rotation=["X"])  # type: ignore[list-item]
    noms_env.down_up_v0.env(episode="hand")  # type: ignore[arg-type]
    small_ships_v0.env(observation="pixels")  # type: ignore[arg-type]
    SeatEnv("small_ships", seatz=4)  # type: ignore[call-arg]
    SeatEnv("small_ships", seat="first")  # type: ignore[arg-type]
    SeatEnv("sniped_whist", scoring="nonsense")  # type: ignore[arg-type]
    SeatVectorEnv(64, "small_ships", seatz=4)  # type: ignore[call-arg]
    SeatVectorEnv(64, "small_ships", reward="money")  # type: ignore[arg-type]
    make_batch("small_ships", seatz=4)  # type: ignore[call-arg]
    make_batch("sniped_whist", scoring="nonsense")  # type: ignore[arg-type]
