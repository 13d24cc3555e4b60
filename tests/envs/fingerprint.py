"""Hashes of everything that an environment shows in a play, and of the table's records.

`python -m tests.envs.fingerprint DECISIONS` prints those of all variants as JSON.
"""

import hashlib
import json
import sys

import numpy as np

from noms_env.envs.aec import TrickTakingEnv
from noms_env.variants import GAMES, VARIANTS
from tests.begin import begin
from tests.envs.play import KINDS, Kind, make

PLAYS = {
    variant: [Kind(variant, GAMES[variant].default_seats, {}), *(kind for kind in KINDS.values() if kind.variant == variant)]
    for variant in VARIANTS
}


def choose_by_rule(env: TrickTakingEnv, decision: int) -> int:
    """Choose a legal action without a random generator; mostly the lowest call, so that auctions go on."""
    legal = env.legal_actions()
    return legal[0 if env.phase == "call" and decision % 3 else (decision * decision + 7 * decision) % len(legal)]


def fingerprint(kind: Kind, decisions: int) -> dict[str, str]:
    """Hash observations, masks, states and rewards ("shown"), and the records ("table"), of one episode after another."""
    env = begin(make(kind), seed=20)
    shown, table = hashlib.sha256(), hashlib.sha256()
    for decision in range(decisions):
        if env.phase is None:
            env.reset()
        for seat in {int(env.table.row.seat), decision % kind.seats}:
            for part in env.table.view(seat):
                shown.update(part.tobytes())
        shown.update(env.state().tobytes())
        shown.update(np.array(list(env.rewards.values()), np.float64).tobytes())
        table.update(env.table.get_state())
        env.step(choose_by_rule(env, decision))
    return {"shown": shown.hexdigest()[:16], "table": table.hexdigest()[:16]}


def all_fingerprints(decisions: int) -> dict[str, list[dict[str, str]]]:
    return {variant: [fingerprint(kind, decisions) for kind in kinds] for variant, kinds in PLAYS.items()}


if __name__ == "__main__":
    print(json.dumps(all_fingerprints(int(sys.argv[1]))))
