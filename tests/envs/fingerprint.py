"""Fingerprints of plays: hashes over all that an environment shows and over the record of its table.

`python -m tests.envs.fingerprint` prints those of all variants as JSON (`test_same_bytes` runs it with the compiler off).
"""

import hashlib
import json
import sys

import numpy as np

from noms_env.envs.aec import TrickTakingEnv
from noms_env.variants import GAMES, VARIANTS
from tests.envs.play import KINDS, Kind, make

DECISIONS = 130

PLAYS = {variant: [Kind(variant, GAMES[variant].default_seats, {})] for variant in VARIANTS}
"""Per variant, the tables played at: the defaults, and those of `KINDS`."""
for _kind in KINDS.values():
    PLAYS[_kind.variant].append(_kind)


def action_by_rule(env: TrickTakingEnv, decision: int) -> int:
    """A legal action by a fixed rule, which no random generator can change; mostly the lowest call, so that auctions go on."""
    legal = env.legal_actions()
    return legal[0 if env.phase == "call" and decision % 3 else (decision * decision + 7 * decision) % len(legal)]


def fingerprint(kind: Kind, decisions: int = DECISIONS, seed: int = 20) -> dict[str, str]:
    """Hashes of what was shown (observations, masks, states, rewards) and of the table's records.

    Args:
        kind: the table.
        decisions: how many are played; an episode that is over is followed by the next one.
        seed: of the first episode.
    """
    env = make(kind)
    env.reset(seed=seed)
    shown, table = hashlib.sha256(), hashlib.sha256()
    for decision in range(decisions):
        if env.phase is None:
            env.reset()
        seat = int(env.table.row.seat)
        for looking in {seat, decision % kind.seats}:
            for part in env.table.view(looking):
                shown.update(part.tobytes())
        shown.update(env.state().tobytes())
        shown.update(np.array(list(env.rewards.values()), np.float64).tobytes())
        table.update(env.table.get_state())
        env.step(action_by_rule(env, decision))
    return {"shown": shown.hexdigest()[:16], "table": table.hexdigest()[:16]}


def all_fingerprints(decisions: int) -> dict[str, list[dict[str, str]]]:
    return {variant: [fingerprint(kind, decisions) for kind in rule_sets] for variant, rule_sets in PLAYS.items()}


if __name__ == "__main__":
    print(json.dumps(all_fingerprints(int(sys.argv[1]))))
