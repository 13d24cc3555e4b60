"""The picture of a table at the top of the README: `python docs/make_picture.py` writes `docs/table.png`."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

import noms_env
from noms_env import show
from noms_env.players import load_player
from noms_env.show.pixels import png

FILE = Path(__file__).parent / "table.png"


def main() -> None:
    """Play a part of a deal of Small Ships by rules of thumb, and save the view of seat 0."""
    env = noms_env.small_ships_v0.raw_env(seats=4, episode="deal")
    thumb, rng = load_player("thumb"), np.random.default_rng(0)
    env.reset(seed=5)
    for _ in range(22):
        seen = env.observe(env.agent_selection)
        tables = env.table.determinize(rng)
        env.step(thumb.act(seen["observation"], seen["action_mask"], rng, tables=tables))
    drawn = show.svg(env.table, 0, names=("you", "Ann", "Bo", "Cy"), theme="light")
    picture = Image.open(BytesIO(png(drawn))).convert("RGB")
    picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(FILE, optimize=True)
    print(FILE, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
