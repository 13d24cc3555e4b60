"""Draw the settings of the benchmark's track `new_rules` and write their file: `python -m benchmarks.draw_new_rules`.

This runs once for a protocol; new settings need a new protocol. Games with held-out values share the settings evenly, and in a
game so do its held-out values. All other options are drawn as for training under any options (`noms train --drawn-rules`).
"""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np

from noms_env.variants import GAMES, Rules, given_options
from noms_training.benchmark.entry import write_json
from noms_training.benchmark.new_rules import FILE, held_out_in
from noms_training.learn.draw_rules import draw_mix

SETTINGS, SEED = 50, 61
"""Number of settings over all games, and seed of the draws."""


def draw(name: str, count: int) -> list[Rules]:
    """Draw distinct settings of a game with equally many for each of its held-out values."""
    rng, drawn = np.random.default_rng([SEED, GAMES[name].number]), list[Rules]()
    for option, value in islice(cycle(held_out_in(name)), count):
        rules = None
        while rules is None or rules in drawn:
            rules = draw_mix(GAMES[name], {option: value}, rng)
        drawn.append(rules)
    return drawn


def main() -> None:
    """Draw the settings and write the file."""
    names = sorted((name for name in GAMES if held_out_in(name)), key=lambda name: -len(held_out_in(name)))
    counts = {name: SETTINGS // len(names) + (place < SETTINGS % len(names)) for place, name in enumerate(names)}
    settings = {
        name: [{"seats": rules.seats, "options": given_options(rules)} for rules in draw(name, counts[name])]
        for name in GAMES
        if name in counts
    }
    write_json(FILE, settings)


if __name__ == "__main__":
    main()
