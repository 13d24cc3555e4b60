"""Search on a trained policy, with its estimates: `python examples/search_on_policy.py nonesuch runs/first`.

The program plays one deal. Seat 0 is a search on a policy, and the policy itself plays all other seats. For each decision of
the search it prints the estimates of the actions: own points less the mean of the other seats.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import noms_env
from noms_env.players import ask

SEED = 2


def main(variant: str = "nonesuch", policy: str = "", options: str = "worlds=24") -> None:
    """Play a deal; `policy` is a name, file or folder of a policy, empty for the published one of the game."""
    others = noms_env.load_player(policy or variant)
    search: Any = noms_env.load_player(f"search:{policy or variant}@0,{options}")
    env = getattr(noms_env, f"{variant}_v0").raw_env(episode="deal")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    while env.phase is not None:
        if env.agent_selection != "player_0":
            env.step(ask(others, env.table, rng))
            continue
        seen, tables = env.observe("player_0"), env.table.determinize(rng)
        row = (seen["observation"], seen["action_mask"])
        values = search.values(*row, SEED, tables=tables)
        action = search.act(*row, SEED, tables=tables)  # the same search as `values`, since the seed is the same
        estimates = "  ".join(f"{env.action_to_str(value.action)} {value.mean:+.2f} ±{value.error:.2f}" for value in values)
        print(f"{env.action_to_str(action):8} {estimates or 'no choice'}")
        env.step(action)
    print("points", env.infos["player_0"]["last_deal"]["points"])


if __name__ == "__main__":
    main(*sys.argv[1:])
