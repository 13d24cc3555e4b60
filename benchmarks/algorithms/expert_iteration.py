"""Expert iteration: a search on the present policy plays all seats, and the policy learns what the search has chosen.

Anthony et al., Thinking Fast and Slow with Deep Learning and Tree Search, NeurIPS 2017, arXiv 1705.08439. The search is that of
`search:POLICY`: each action is tried in sampled worlds, which the policy plays out. The player searches as it did to learn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from noms_env.belief.determinize import sampled_tables
from noms_env.players import Player, draw_seeds
from noms_env.policy.encoding import Encoding, make_encoding
from noms_env.policy.file import PolicyInfo
from noms_env.policy.player import PolicyPlayer
from noms_env.search.policy_search import SearchPlayer
from noms_training.benchmark.generalist import rules_of_run
from noms_training.benchmark.learning import read_network, save_network
from noms_training.benchmark.task import Task
from noms_training.learn.config import ActorConfig
from noms_training.learn.network import Actor, seen_options

DIVISION = "search"
TABLES, WORLDS = 64, 4
MEMORY, MINIBATCH, UPDATES, LEARNING_RATE = 100_000, 512, 1 / 64, 1e-3
NETWORK = ActorConfig(width=128, blocks=1)


def encoding_of(game: str, options: tuple[str, ...] | None = None) -> Encoding:
    """What the policy sees."""
    own, drawn = rules_of_run(game)
    seen = seen_options(own, drawn) if options is None else options
    return make_encoding(own, card_features=True, options=seen, trick_features=True, drawn=drawn)


def search_player(encoding: Encoding, state: dict[str, Tensor], temperature: float = 0.0) -> SearchPlayer:
    """The search on a policy; with temperature 1 it draws its actions."""
    info = PolicyInfo(
        encoding.rule_sets,
        NETWORK.sizes(),
        card_features=True,
        trick_features=True,
        options=encoding.options,
        drawn=encoding.drawn,
    )
    policy = PolicyPlayer(info, encoding, {name: tensor.numpy() for name, tensor in state.items()}, temperature)
    return SearchPlayer(policy, WORLDS, opponents="uniform")


def train(task: Task) -> None:
    """Play a deal at each table by search, and learn from what it has chosen there and in former deals."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    encoding, chance = encoding_of(task.game), np.random.default_rng(task.seed)
    actor = Actor.of(encoding, NETWORK)
    optimizer = torch.optim.Adam(actor.parameters(), lr=LEARNING_RATE)
    memory, decisions = list[tuple[Tensor, ...]](), 0

    def search(temperature: float = 0.0) -> SearchPlayer:
        return search_player(
            encoding, {name: tensor.detach().clone() for name, tensor in actor.state_dict().items()}, temperature
        )

    while (share := task.log(decisions, search)) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - share)
        played = play_deals(task, search(temperature=1.0), encoding, chance)
        memory.append(played)
        decisions += len(played[0])
        while sum(len(rows[0]) for rows in memory) > MEMORY:
            memory.pop(0)
        features, legal, wanted = (torch.cat(column) for column in zip(*memory, strict=True))
        for _ in range(max(1, round(UPDATES * len(played[0])))):
            rows = torch.randint(len(features), (MINIBATCH,))
            logits = actor(features[rows], legal[rows]).masked_fill(legal[rows] == 0, -1e9)
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, wanted[rows]).backward()
            optimizer.step()
    save_network(task, actor, encoding.options)


def play_deals(task: Task, search: SearchPlayer, encoding: Encoding, chance: np.random.Generator) -> tuple[Tensor, ...]:
    """A deal at each table: features and masks of all decisions, and how probable the search has made each action."""
    batch, parts = (
        task.make_batch(TABLES, observation="bytes", seed=int(chance.integers(2**63))),
        list[tuple[np.ndarray, ...]](),
    )
    batch.reset()
    while len(rows := np.flatnonzero(~batch.over)):
        batch.observe()
        tables, seeds = sampled_tables(batch.tables, rows, chance), draw_seeds(chance, len(rows))
        output = search.targets(batch.observation[rows], batch.mask[rows], seeds, tables=tables)
        features, legal, order = encoding.encode(batch.observation, batch.mask, rows)
        parts.append((features, legal, np.take_along_axis(output.action_weights, encoding.actions[order].astype(np.int64), 1)))
        actions = np.zeros(len(batch), np.int64)
        actions[rows] = output.action
        batch.step(actions)
    return tuple(torch.from_numpy(np.concatenate(column)) for column in zip(*parts, strict=True))


def player(folder: Path) -> Player:
    """The search on the trained policy, which takes the best action."""
    game, options, state = read_network(folder)
    return search_player(encoding_of(game, options), state)
