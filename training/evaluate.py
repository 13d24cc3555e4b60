"""Duplicate deals: how many points a player is better than others, with the luck of the cards taken out.

Each deal (the same cards, the same dealer) is played once for each seat, with the hero there and the field everywhere else.
What counts is the mean over these games of the hero's points less the mean of the others', so that nobody gains by good
cards or a good seat. Deals are independent of each other, the games of a deal are not: a deal is the unit of all statistics.

The deals of a set are frozen: they follow from its name and their number. The players' random numbers follow from a seed and
from the number of the block of deals, so that results do not depend on how blocks are shared out among threads. Noms, whose
deals otherwise depend on the deal before, is played in single deals; in the exact-bid games hand sizes are as frequent as in
a match.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from noms_env.players import PLAYERS, load_player, make_player
from noms_env.players.policy import is_policy_name, policy_file_of
from noms_env.rules import Rules
from noms_env.state import MAX_SEATS
from training.hall import ArrayPlayer, Guest, Hall, play
from training.own_players import BLOCK as OWN_BLOCK
from training.own_players import entry_names, own_player
from training.probes import SEATS, Tally, count_deals
from training.returns import relative_points

if TYPE_CHECKING:
    from noms_env.players.policy import PolicyPlayer

DealSet = Literal["dev", "test"]
MakePlayer = Callable[[np.random.Generator], ArrayPlayer]
"""A player for a block of deals, given its stream of random numbers."""

BLOCK, SEARCH_BLOCK = 128, 8
"""Deals that are played side by side, fewer with players that search; results depend on it."""
RESAMPLES, AT_ONCE = 2000, 100
MOST_RESAMPLED = 5000
"""With more deals the mean is as good as normal, and resampling takes long."""
NORMAL_95 = 1.959964
"""The 97.5 % point of the normal distribution."""


def deal_seed(name: str) -> int:
    """The seed of a named set of deals, 0 to 2**63 - 1; never change it: figures of different days would not compare."""
    return int.from_bytes(hashlib.sha256(f"noms-env deals {name}".encode()).digest()[:8], "big") >> 1


def label(kind: Rules) -> str:
    """Rules in the names of figures: `small_ships_4`."""
    return f"{kind.variant.name}_{kind.seats}"


@dataclass(frozen=True)
class Contestant:
    """Who is measured.

    Attributes:
        name: as the user wrote it.
        make: the player for a block of deals.
        kinds: the rules of the tables that it can sit at; None for all.
        block: deals that it should be asked to play side by side.
        sha256: of a policy's file; None for other players.
    """

    name: str
    make: MakePlayer
    kinds: tuple[Rules, ...] | None = None
    block: int = BLOCK
    sha256: str | None = None

    def check(self, kind: Rules) -> None:
        """Make sure that it can sit at a table.

        Raises:
            ValueError: it was trained for others.
        """
        if self.kinds is not None and kind not in self.kinds:
            trained = ", ".join(dict.fromkeys(f"{own.variant.name} with {own.seats} seats" for own in self.kinds))
            same = any((own.variant.name, own.seats) == (kind.variant.name, kind.seats) for own in self.kinds)
            unlike = " and other options" if same else ""
            raise ValueError(
                f"{self.name} was trained for {trained}, not for {kind.variant.name} with {kind.seats} seats{unlike}"
            )


def contestant(name: str, limit: float | None = None) -> Contestant:
    """A player by its name: of the registry, a policy, or somebody else's (`own_players`).

    Args:
        name: such as `thumb`, `pimc:100`, `runs/first/policy.safetensors`, `my_agent:make`, `cmd:./my_bot`; behind a policy
            `@` and a temperature may stand: `runs/first@0` takes the most probable action everywhere, and without it actions
            are drawn as in training.
        limit: seconds that a program has for a decision (`bot.LIMIT` when None); of no effect on other players.

    Raises:
        ValueError: there is none of that name, the file holds no policy that can be used here, or somebody else's player
            cannot be loaded or started.
    """
    if name.partition(":")[0] in PLAYERS:
        player = make_player(name)
        block = SEARCH_BLOCK if hasattr(player, "worlds") else BLOCK
        return Contestant(name, lambda rng: Guest(make_player(name), rng), None, block)
    file, temperature = _split_temperature(name)
    if _is_policy(file):
        policy = load_player(file)
        return Contestant(name, lambda rng: Guest(Tempered(policy, temperature), rng), policy.kinds, sha256=file_sha256(name))
    own = own_player(name, limit)
    if own is None:
        names = ", ".join([*PLAYERS, *entry_names()])
        raise ValueError(
            f"there is no player {name!r}; the players are {names}, policies by file, folder or name, "
            "and your own as MODULE:FUNCTION or cmd:PROGRAM"
        )
    return Contestant(name, own.guest, None, OWN_BLOCK)


def file_sha256(name: str) -> str | None:
    """SHA-256 of a policy's file; None if a name is that of another player.

    Args:
        name: see `contestant`.

    Raises:
        ValueError: there is no such policy.
        OSError: its file cannot be read.
    """
    if name.partition(":")[0] in PLAYERS:
        return None
    file, _ = _split_temperature(name)
    return hashlib.sha256(policy_file_of(file).read_bytes()).hexdigest() if _is_policy(file) else None


def hashes(contestants: Iterable[Contestant]) -> dict[str, str]:
    """SHA-256 of the files of those that are policies, by name, so that figures can be told from those of other weights."""
    return {one.name: one.sha256 for one in contestants if one.sha256 is not None}


def guest(name: str) -> MakePlayer:
    """How a `contestant` is made.

    Raises:
        ValueError: see `contestant`.
    """
    return contestant(name).make


class Tempered:
    """A policy at a fixed temperature."""

    wants_tables: ClassVar[bool] = False

    def __init__(self, policy: PolicyPlayer, temperature: float) -> None:
        """Take a policy; see `PolicyPlayer.act` for the temperature."""
        self.policy, self.temperature = policy, temperature

    def act(
        self,
        observation: np.ndarray,
        mask: np.ndarray,
        rng: np.random.Generator,
        *,
        tables: np.recarray | None = None,
    ) -> Any:
        """See `PolicyPlayer.act`."""
        return self.policy.act(observation, mask, rng, temperature=self.temperature)

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """See `PolicyPlayer.probabilities`."""
        return self.policy.probabilities(observation, mask, temperature=self.temperature)


def _split_temperature(name: str) -> tuple[str, float]:
    """The file and the temperature of `file@temperature`; 1 where none is given."""
    file, sign, text = name.rpartition("@")
    if not sign or _is_policy(name):
        return name, 1.0
    try:
        temperature = float(text)
    except ValueError:
        return name, 1.0
    if not 0 <= temperature < math.inf:
        raise ValueError(f"the temperature behind @ must be a number from 0 on, not {text!r}")
    return file, temperature


def _is_policy(name: str) -> bool:
    """Whether a name can only be meant as a policy's."""
    return is_policy_name(name) or Path(name).exists() or name.endswith(".safetensors")


# ----------------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class Result:
    """What a hero did against a field.

    Attributes:
        differences: float64, shape (deals, seats): own points less the mean of the others', with the hero on each seat.
        sizes: int16, shape (deals,): cards dealt to each seat.
        probes: of the hero's calls and contracts.
        seed: of the resampling.
    """

    differences: np.ndarray
    sizes: np.ndarray
    probes: Tally = field(compare=False)
    seed: int = 0

    @property
    def per_deal(self) -> np.ndarray:
        """The mean over the games of each deal, float64, shape (deals,)."""
        means: np.ndarray = self.differences.mean(axis=1)
        return means

    @property
    def mean(self) -> float:
        """Points per deal that the hero is better."""
        return float(self.differences.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return float(self.per_deal.std(ddof=1)) / math.sqrt(len(self.differences))

    @property
    def method(self) -> str:
        """How the interval is found: `bootstrap` over deals, or with many deals `normal`."""
        return "bootstrap" if len(self.differences) <= MOST_RESAMPLED else "normal"

    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean."""
        if self.method == "normal":
            margin = NORMAL_95 * self.standard_error
            return self.mean - margin, self.mean + margin
        return bootstrap_interval(self.per_deal, self.seed)

    @property
    def variance_ratio(self) -> float:
        """Variance of the mean over that of as many games on independent deals; NaN where all games end alike."""
        alone = float(self.differences.var(ddof=1))
        together = float(self.per_deal.var(ddof=1)) * self.differences.shape[1]
        return together / alone if alone > 0 else math.nan


def bootstrap_interval(values: np.ndarray, seed: int) -> tuple[float, float]:
    """95 % percentile interval of a mean, by resampling (Efron 1979).

    Args:
        values: float64, shape (n,), independent.
        seed: of the resampling.
    """
    rng = np.random.default_rng(seed)
    means = [values[rng.integers(len(values), size=(AT_ONCE, len(values)))].mean(axis=1) for _ in range(RESAMPLES // AT_ONCE)]
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return float(low), float(high)


# ------------------------------------------------------------------------------------------------------------ playing


def one_after_another(jobs: Sequence[Callable[[], Block]]) -> Sequence[Block]:
    """The results of jobs, without threads."""
    return [job() for job in jobs]


@dataclass(frozen=True)
class Block:
    """What came of some deals: see `Result`; without differences in self-play."""

    differences: np.ndarray
    sizes: np.ndarray
    probes: Tally


Runner = Callable[[Sequence[Callable[[], Block]]], Sequence[Block]]
"""Does jobs, in threads or not, and gives their results in their order."""


def duplicate(
    kind: Rules,
    hero: MakePlayer,
    field: MakePlayer | Sequence[MakePlayer],
    deals: int,
    *,
    seed: int = 0,
    deal_set: DealSet = "dev",
    hand_size: int | None = None,
    runner: Runner = one_after_another,
) -> Result:
    """Play duplicate deals.

    Args:
        kind: the rules.
        hero: who is measured.
        field: who sits on the other seats: one player on all, or one for each, clockwise from the hero.
        deals: how many; at least 2.
        seed: of what is random in the players, 0 to 2**63 - 1.
        deal_set: the first deals of this set are played.
        hand_size: only deals of so many cards (in the exact-bid games).
        runner: does the blocks, side by side if it likes: the result is the same.

    Raises:
        ValueError: too few deals, a hand size that the game does not have, or a field of another size.
    """
    others = [field] if callable(field) else list(field)
    if not callable(field) and len(others) != kind.seats - 1:
        raise ValueError(f"the field must be one player, or {kind.seats - 1}: one for each other seat; not {len(others)}")
    blocks = _in_blocks(
        lambda first, count: _play_duplicates(kind, [hero, *others], first, count, seed, deal_seed(deal_set), hand_size),
        deals,
        kind,
        hand_size,
        runner,
    )
    differences = np.concatenate([block.differences for block in blocks])
    sizes = np.concatenate([block.sizes for block in blocks])
    return Result(differences, sizes, sum((block.probes for block in blocks), Tally()), seed)


def self_play(
    kind: Rules,
    player: MakePlayer,
    deals: int,
    *,
    seed: int = 0,
    deal_set: DealSet = "dev",
    hand_size: int | None = None,
    runner: Runner = one_after_another,
) -> Tally:
    """What a player does at tables with nobody else, each deal once. The arguments are those of `duplicate`."""
    blocks = _in_blocks(
        lambda first, count: _play_alone(kind, player, first, count, seed, deal_seed(deal_set), hand_size),
        deals,
        kind,
        hand_size,
        runner,
    )
    return sum((block.probes for block in blocks), Tally())


def _in_blocks(
    play_some: Callable[[int, int], Block], deals: int, kind: Rules, hand_size: int | None, runner: Runner
) -> Sequence[Block]:
    """Play deals in blocks of a fixed size: each is told its first deal and how many it has."""
    if deals < 2:
        raise ValueError(f"deals must be 2 or more, not {deals}")
    if hand_size is not None and hand_size not in kind.schedule:
        allowed = f"one of {', '.join(map(str, sorted(set(kind.schedule))))}" if kind.schedule else "left out"
        raise ValueError(f"hand_size must be {allowed} in {kind.variant.name} with {kind.seats} seats, not {hand_size}")

    def job(first: int) -> Callable[[], Block]:
        return lambda: play_some(first, min(BLOCK, deals - first))

    return runner([job(first) for first in range(0, deals, BLOCK)])


def _play_duplicates(
    kind: Rules, players: Sequence[MakePlayer], first: int, count: int, seed: int, cards: int, hand_size: int | None
) -> Block:
    """One block: the games of a deal lie side by side, with the hero, player 0, one seat further on in each."""
    seats = kind.seats
    rows = np.arange(count * seats)
    hero_seat = rows % seats
    hall = dealt(kind, first + rows // seats, cards, hand_size)
    seating = np.minimum((SEATS - hero_seat[:, None]) % seats, len(players) - 1)
    play(hall, seated(players, seed, first), seating)
    points = relative_points(hall.batch.points, hall.seats)[rows, hero_seat]
    tables = hall.batch.tables
    probes = count_deals(tables, kind, hero_seat[:, None] == SEATS)
    return Block(points.astype(np.float64).reshape(count, seats), tables.hand_size[::seats].copy(), probes)


def _play_alone(kind: Rules, player: MakePlayer, first: int, count: int, seed: int, cards: int, hand_size: int | None) -> Block:
    """One block of self-play."""
    hall = dealt(kind, first + np.arange(count), cards, hand_size)
    play(hall, seated([player], seed, first), np.zeros((count, MAX_SEATS), np.int64))
    tables = hall.batch.tables
    return Block(np.empty((0, kind.seats)), tables.hand_size.copy(), count_deals(tables, kind))


def dealt(kind: Rules, numbers: np.ndarray, cards: int, hand_size: int | None = None) -> Hall:
    """A table for each number of a deal, dealt.

    Args:
        kind: the rules.
        numbers: int64, shape (n,), 0 to 2**32 - 1: of the deals; equal numbers are the same deal.
        cards: the seed of the set (`deal_seed`).
        hand_size: only deals of so many cards (in the exact-bid games).
    """
    hall = Hall([kind], [0], len(numbers), seed=cards)
    hall.table_numbers = numbers
    hall.deal(0, np.full(len(numbers), -1 if hand_size is None else hand_size))
    return hall


def seated(players: Sequence[MakePlayer], seed: int, first: int) -> list[ArrayPlayer]:
    """The players of the block of deals that begins with the deal `first`, each with a stream of its own."""
    return [make(np.random.default_rng([seed, first, place])) for place, make in enumerate(players)]


# ----------------------------------------------------------------------------------------------------------- figures


def figures(
    kinds: Sequence[Rules],
    hero: MakePlayer,
    panel: Mapping[str, MakePlayer],
    deals: int,
    *,
    seed: int = 0,
    deal_set: DealSet = "dev",
    probes: bool = True,
    runner: Runner = one_after_another,
) -> dict[str, float]:
    """What the log of a training run says of its policy.

    Args:
        kinds: the rules of the run.
        hero: the policy.
        panel: opponents by name.
        deals: duplicate deals for each of the kinds and opponents, and deals of self-play for each of the kinds.
        seed: see `duplicate`.
        deal_set: see `duplicate`.
        probes: play against itself too, and tell what it does there.
        runner: see `duplicate`.

    Returns:
        `points/<kind>/<opponent>` with `.../low` and `.../high`, and `probe/<kind>/<probe>` of self-play. A slash in the
        name of an opponent becomes a colon.
    """
    found: dict[str, float] = {}
    for kind in kinds:
        for name, opponent in panel.items():
            result = duplicate(kind, hero, opponent, deals, seed=seed, deal_set=deal_set, runner=runner)
            key = f"points/{label(kind)}/{name.replace('/', ':')}"
            found[key] = result.mean
            found[f"{key}/low"], found[f"{key}/high"] = result.interval()
        if probes:
            alone = self_play(kind, hero, deals, seed=seed, deal_set=deal_set, runner=runner)
            found |= {f"probe/{label(kind)}/{probe}": value for probe, value in alone.means().items()}
    return found
