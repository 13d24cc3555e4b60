"""The pictures of a table in the README and the documentation: `python docs/make_picture.py` writes `docs/table.*`."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

import noms_env
from noms_env import show
from noms_env.players import ask, load_player
from noms_env.record import record_matches
from noms_env.show.pixels import png
from noms_training.play.browser.film import Shown
from noms_training.play.browser.pictures import animation, drawings

PICTURE = Path(__file__).parent / "table.png"
ANIMATION = PICTURE.with_suffix(".gif")
NAMES = ("you", "Ann", "Bo", "Cy")


def main() -> None:
    """Play a part of a deal of Small Ships by rules of thumb, and a whole one, and save the view of seat 0."""
    env = noms_env.small_ships_v0.raw_env(seats=4, episode="deal")
    thumb, rng = load_player("thumb"), np.random.default_rng(0)
    env.reset(seed=5)
    for _ in range(22):
        env.step(ask(thumb, env.table, rng))
    picture = Image.open(BytesIO(png(show.svg(env.table, 0, names=NAMES, theme="light")))).convert("RGB")
    picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    record = next(record_matches("small_ships", seed=5, players="thumb"))
    shown = Shown(0, NAMES, [load_player("small_ships")])
    ANIMATION.write_bytes(animation(drawings(record, shown, "light")))
    for file in (PICTURE, ANIMATION):
        print(file, file.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
