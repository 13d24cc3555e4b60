"""Tables with many rules, and reproducible random play that reaches every rule."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import noms_env
from noms_env.core.actions import INDICATE, PASS
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.modules import EnvironmentModule
from noms_env.variants import GAMES


class Kind(NamedTuple):
    """A table to play at."""

    variant: str
    seats: int
    options: dict[str, Any]


EVERY_TABLE = [Kind(game.name, seats, {}) for game in GAMES.values() for seats in range(game.seats[0], game.seats[1] + 1)]
"""Every variant with every number of seats, by the rulebook."""

KINDS = {
    "sniped whist": Kind("sniped_whist", 4, {}),
    "sniped whist, tricks of three deals add up, stock shown": Kind(
        "sniped_whist", 5, {"n_hands": 3, "accumulate": True, "scoring": "tricks", "reveal_stock_at_end": True}
    ),
    "sniped whist, dealer names trump": Kind("sniped_whist", 3, {"trump_mode": "dealer", "n_hands": 3}),
    "sniped whist, lots": Kind("sniped_whist", 7, {"trump_mode": "random", "tie": "cut", "n_hands": 4, "hand_size": 4}),
    "sniped whist, short deck": Kind("sniped_whist", 2, {"ranks": 5, "suits": 3, "hand_size": 6, "n_hands": 5}),
    "big ships": Kind("big_ships", 4, {"start_cards": 6}),
    "big ships, seven with hook": Kind("big_ships", 7, {"hook": True, "bonus": "at_least", "direction": "up_down"}),
    "small ships": Kind("small_ships", 4, {}),
    "small ships, three": Kind("small_ships", 3, {"target": None, "max_hands": 6}),
    "small ships, five, restricted card": Kind(
        "small_ships", 5, {"first_trick_restriction": "card", "reveal_stock_at_end": True}
    ),
    "small ships, six with indication": Kind("small_ships", 6, {"indication": True, "forced_bid_numeric_only": False}),
    "small ships, refused nominations": Kind("small_ships", 5, {"stock_nomination": "redraw", "hand_size": 4}),
    "small ships, no nomination from the stock": Kind("small_ships", 3, {"stock_nomination": "illegal", "hand_size": 9}),
    "small ships, lone misere": Kind("small_ships", 4, {"misere_nominates": False, "misere_trump": "none", "indication": True}),
    "small ships, open partner": Kind("small_ships", 5, {"open_partner": True, "hand_size": 6}),
    "small ships, short deck": Kind(
        "small_ships", 2, {"ranks": 6, "suits": 3, "hand_size": 5, "min_bid": 3, "misere_above": 2}
    ),
    "noms": Kind("noms", 4, {}),
    "noms, previous deal shown": Kind("noms", 4, {"observe_previous_hand": True, "double_repeat": "quadruple"}),
    "noms, implicit announcements": Kind(
        "noms", 4, {"implicit_announcements": True, "min_bid": 7, "observe_previous_hand": True}
    ),
    "noms, eldest leads": Kind(
        "noms", 4, {"first_lead": "left_of_dealer", "mis_value": 10, "keep_mis_a_vis": True, "min_bid": 7}
    ),
    "noms, stopped early": Kind(
        "noms", 4, {"early_stop": True, "observe_previous_hand": True, "deal_mode": "packets_shuffled"}
    ),
    "noms, open partner": Kind("noms", 4, {"open_partner": True, "min_bid": 7}),
    "noms, open partner, short deck": Kind(
        "noms", 3, {"open_partner": True, "ranks": 6, "hand_size": 6, "implicit_announcements": True, "min_bid": 3}
    ),
    "noms, short deck": Kind("noms", 3, {"ranks": 7, "hand_size": 8, "implicit_announcements": True, "min_bid": 4}),
    "nonesuch": Kind("nonesuch", 4, {}),
    "nonesuch, three": Kind("nonesuch", 3, {"half": "exact", "target": None, "max_hands": 5}),
    "nonesuch, short deck": Kind("nonesuch", 3, {"ranks": 8, "suits": 3}),
    "nonesuch, shorter deck": Kind("nonesuch", 4, {"suits": 4, "ranks": 4, "half": "floor"}),
    "down up": Kind("down_up", 6, {}),
    "down up, short deck": Kind("down_up", 3, {"ranks": 4, "hook_min_cards": 2}),
    "up down": Kind("up_down", 4, {}),
    "up down, turn-up": Kind(
        "up_down", 4, {"trump_mode": "turnup", "turnup_full_deal": "dealer_last", "schedule": "up", "ranks": 5}
    ),
}
"""Tables that use every option that changes an observation."""

EPISODES = [
    (name, episode)
    for name, kind in KINDS.items()
    for episode in ("match", "deal")
    if episode == "match" or not kind.options.get("accumulate")
]
"""The tables of `KINDS` with the episodes that they allow."""

WAYS: dict[str, dict[str, Any]] = {
    "a deal": {},
    "by rule of thumb": {"opponents": "thumb", "reward": "relative", "seat": "rotate"},
    "mixed players": {"opponents": ("greedy", "random", "thumb"), "seat": "random", "skip_forced": True},
    "a match": {"episode": "match", "reward": "outcome", "seat": 2},
}
"""Arguments of `SeatEnv` and `SeatVectorEnv`."""

TEMPERS = ("any", "timid", "mis", "low", "mis_a_vis", "out")
"""Styles of calling, one per deal; with random calls alone every contract would be the highest one."""


def module_of(variant: str) -> EnvironmentModule:
    module = getattr(noms_env, f"{variant}_v0")
    assert isinstance(module, EnvironmentModule)
    return module


def make(kind: Kind, **arguments: Any) -> TrickTakingEnv:
    """Make the raw environment of a table."""
    return module_of(kind.variant).raw_env(seats=kind.seats, **{**kind.options, **arguments})


def choose(env: TrickTakingEnv, rng: random.Random) -> int:
    """Choose a random legal action; every contract and every signal comes up."""
    legal = env.legal_actions()
    if env.phase == "call":
        row = env.table.row
        return _choose_call(env, legal, TEMPERS[int(row.deal + row.seed) % len(TEMPERS)], rng)
    if INDICATE in legal and rng.random() < 0.3:
        return INDICATE
    return rng.choice(legal)


def _choose_call(env: TrickTakingEnv, legal: list[int], temper: str, rng: random.Random) -> int:
    words = [env.action_to_str(action) for action in legal]
    if temper in words and rng.random() < 0.5:
        return legal[words.index(temper)]
    if PASS in legal and (temper == "out" or (temper != "any" and rng.random() < 0.6)):
        return PASS
    bids = [action for action in legal if action != PASS]
    return bids[0] if temper in ("low", "out") and bids else rng.choice(legal)


def choose_in_rows(masks: np.ndarray, step: int) -> np.ndarray:
    """Choose a legal action in each row, by the row's mask and the number of the step alone."""
    place = (step * 7919 + 13) % np.maximum(masks.sum(axis=1, dtype=np.int64), 1)
    return np.asarray(np.argmax(np.cumsum(masks, axis=1, dtype=np.int64) > place[:, None], axis=1))


def walk(env: TrickTakingEnv, rng: random.Random, decisions: int) -> Iterator[int]:
    """Play at random, at most to the end of the episode; yield the number of each decision before it."""
    for decision in range(decisions):
        if env.phase is None:
            return
        yield decision
        env.step(choose(env, rng))


def walk_on(env: TrickTakingEnv, rng: random.Random, decisions: int) -> None:
    for _ in walk(env, rng, decisions):
        pass


def play_out(env: Any, rng: random.Random) -> dict[str, float]:
    """Play an episode to its end through `last` and `step`; return the sum of each agent's rewards."""
    returns = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter(max_iter=200_000):
        _, reward, termination, truncation, _ = env.last(observe=False)
        returns[agent] += reward
        env.step(None if termination or truncation else choose(env.unwrapped, rng))
    return returns


def snapshot(env: TrickTakingEnv) -> tuple[Any, ...]:
    """Return everything that an environment shows now, in a form that compares."""
    views: Any = [env.observe(agent) for agent in env.possible_agents]
    arrays = [(view["observation"].tobytes(), view["action_mask"].tobytes()) for view in views]
    public = (env.agents, env.agent_selection, env.rewards, env._cumulative_rewards, env.terminations, env.truncations)
    return (arrays, env.state().tobytes(), *(repr(part) for part in public), as_lists(env.infos), env.table.get_state())


def as_lists(info: Any) -> Any:
    """Turn the arrays in infos into lists, which compare."""
    if isinstance(info, dict):
        return {key: as_lists(value) for key, value in info.items()}
    return info.tolist() if isinstance(info, np.ndarray) else info
