"""The picture of a table at the top of the README: `python docs/make_picture.py` writes `docs/table.png`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import noms_env
from noms_env.players import load_player

FILE = Path(__file__).parent / "table.png"


def main() -> None:
    """Play a part of a deal of Small Ships by rules of thumb, and save the view of seat 0."""
    env = noms_env.small_ships_v0.raw_env(seats=4, episode="deal", render_mode="rgb_array")
    thumb, rng = load_player("thumb"), np.random.default_rng(0)
    env.reset(seed=5)
    for _ in range(22):
        seen = env.observe(env.agent_selection)
        tables = env.table.determinize(rng)
        env.step(thumb.act(seen["observation"], seen["action_mask"], rng, tables=tables))
    picture = Image.fromarray(env.render()).quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    picture.save(FILE, optimize=True)
    print(FILE, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
