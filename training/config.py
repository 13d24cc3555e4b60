"""What a training run is: every choice, with its default and its reason, and the presets.

A configuration is a value: frozen, checked when it is made, written into the run's folder and into the policy's file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro


def _between(owner: object, name: str, low: float, high: float) -> None:
    """Refuse a number out of its range.

    Raises:
        ValueError: it is.
    """
    value = getattr(owner, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {value!r}")


@dataclass(frozen=True)
class NetworkConfig:
    """Size of a network.

    Attributes:
        width: units of each layer.
        blocks: residual blocks.
        card_width: length of a card's embedding.
    """

    width: int = 256
    blocks: int = 3
    card_width: int = 64

    def __post_init__(self) -> None:
        """Refuse sizes that make no network."""
        for name, least in (("width", 4), ("blocks", 0), ("card_width", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 8192:
                raise ValueError(f"{name} must be an integer from {least} to 8192, not {value!r}")


@dataclass(frozen=True)
class PPOConfig:
    """How the networks learn from a batch of decisions.

    Attributes:
        epochs: Passes over the decisions of an iteration.
        minibatch: Decisions for each step of the optimiser, at most.
        microbatch: Decisions that go through a network at once, so that all that a layer touches stays in the cache.
        learning_rate: Of Adam at the start; it falls to a tenth, as a cosine.
        clip: Of the probability ratio (Schulman et al., arXiv 1707.06347, equation 7).
        target_kl: The epochs end early once the policy has moved so far.
        gae_lambda: Of the advantage estimates; gamma is 1.
        gradient_norm: Longer gradients are shortened to this.
        entropy_call: Weight of the entropy in calls, trumps and nominations, at the start; it falls to a fifth.
        entropy_play: Weight of the entropy in play, at the start; it falls to a sixth.
        magnet: Weight of the KL to the slow average of the policy (0 switches it off).
        magnet_from: Share of the budget after which it begins.
        average: How much of the slow average is replaced in each step of the optimiser.
        auxiliary: Weight of the auxiliary heads: who holds each hidden card, who is the partner, how many tricks (0: off).
    """

    epochs: int = 3
    minibatch: int = 2048
    microbatch: int = 2048
    learning_rate: float = 3e-4
    clip: float = 0.2
    target_kl: float = 0.02
    gae_lambda: float = 0.95
    gradient_norm: float = 0.5
    entropy_call: float = 0.05
    entropy_play: float = 0.03
    magnet: float = 0.03
    magnet_from: float = 0.3
    average: float = 2e-3
    auxiliary: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        _between(self, "epochs", 1, 100)
        _between(self, "minibatch", 1, 1 << 22)
        _between(self, "microbatch", 1, 1 << 22)
        for name in ("learning_rate", "clip", "average", "gae_lambda", "magnet_from"):
            _between(self, name, 0, 1)
        for name in ("target_kl", "gradient_norm", "entropy_call", "entropy_play", "magnet", "auxiliary"):
            _between(self, name, 0, 1000)


@dataclass(frozen=True)
class LeagueConfig:
    """Who else sits at the tables.

    Attributes:
        share: Share of the tables at which some seats are taken by opponents; only the other seats learn there.
        start: Share of the budget after which opponents come; until then everybody is the present policy.
        past: Past selves that are kept, at distances that grow with their age.
        opponents: Players by name, such as `random`, `thumb`, or a policy's file, that are opponents too.
    """

    share: float = 0.2
    start: float = 0.6
    past: int = 12
    opponents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name in ("share", "start"):
            _between(self, name, 0, 1)
        _between(self, "past", 0, 1000)


@dataclass(frozen=True)
class CurriculumConfig:
    """Which deals are played.

    Attributes:
        small_hands: In the exact-bid games, the share of the budget at the beginning in which hands have at most five cards.
            Afterwards the sizes are drawn so that each gets the same number of decisions.
        random_contracts: In the auction games, the share of deals that start from a random contract, so that play is
            learnt before bidding pays: of the first third of the budget; then it falls to a fifth of that.
        teacher: A player by name whose play is imitated at the beginning, such as `thumb`; nobody's if empty. In place of
            small hands and random contracts, which it makes needless. Of a trained policy the probabilities of all actions are
            imitated (policy distillation: Rusu et al., arXiv 1511.06295), of `NAME@0` those most probable.
        lessons: Share of the budget in which that is done; none of it in a run that begins with a policy.
        advice: After the lessons, the weight of the cross entropy to what the teacher would do before the play (calls, trumps,
            nominations), so that bidding is not unlearnt while play is still poor; it falls to nothing in a straight line
            (kickstarting: Schmitt et al., arXiv 1803.03835).
        advice_until: Share of the budget at which the advice has no weight any more; beyond 1 it keeps some of it to the end,
            for one who is to call like the teacher for good.
        tryouts: Share of the budget, behind the lessons, in which the policy learns from what every legal action comes to
            when it is taken at the table as it is, and the deal is then played out by rule of thumb and solved
            (`learn.rollout_targets`); none of it in a run that begins with a policy, which would unlearn what is better.
        matches: In noms, where a deal's cards come from the deal before, the share of the tables at which whole matches are
            played; at the others each deal is the first of its match.
        critic_first: In a run that begins with a policy, the share of the budget in which the policy stays as it is, while
            the critic, which begins anew, learns what it is worth.
    """

    small_hands: float = 0.05
    random_contracts: float = 0.25
    teacher: str = ""
    lessons: float = 0.1
    advice: float = 0.0
    advice_until: float = 0.5
    tryouts: float = 0.0
    matches: float = 0.5
    critic_first: float = 0.02

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name in ("small_hands", "random_contracts", "lessons", "tryouts", "matches", "critic_first"):
            _between(self, name, 0, 1)
        for name in ("advice", "advice_until"):
            _between(self, name, 0, 1000)

    @property
    def lessons_end(self) -> float:
        """Share of the budget after which there are no lessons."""
        return self.lessons if self.teacher else 0.0


@dataclass(frozen=True)
class TrainConfig:
    """A training run.

    Attributes:
        variants: The games; several make one policy for all of them.
        seats: Numbers of seats, each for every game that it suits; the usual number of each game if none is given.
        option: Options of the games, NAME=VALUE, each for every game that has it.
        initial: A policy that the run begins with, by file, folder or name, for the same tables; `noms train` then makes the
            network as large as that policy's. An untrained one if empty.
        seed: 0 to 2**63 - 1; decides the deals, the first weights, and all else that is random.
        decisions: The budget: decisions of learning seats; moves without alternative are not counted.
        batch: Decisions that an iteration is to have, about; it has whole deals only.
        tables: Tables in an iteration; each plays one deal. If not given, as many as a batch takes when play is random.
        threads: Threads; all cores if not given.
        device: `auto` is a GPU if there is one.
        precision: `auto` is bf16 where the processor computes in it, else fp32.
        oracle: The critic also sees what is hidden.
        counts: The networks also see what a player counts at each of its cards: whether it takes the trick, and how many
            cards that are out are above and below it.
        hints: The networks also see what the player `thumb` would do, and begin by doing it more often than not.
        network: Size of the actor.
        critic: Size of the critic.
        ppo: How it learns.
        league: Against whom.
        curriculum: From which deals.
        evaluate_every: Decisions between evaluations; a twentieth of the budget if not given.
        evaluation_deals: Duplicate deals of an evaluation, for each game and opponent.
        panel: Opponents of the evaluations.
        save_every: Seconds between checkpoints; evaluations make one too.
        keep: Checkpoints that are kept.
    """

    variants: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="VARIANT ...")]
    seats: tuple[int, ...] = ()
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = ()
    initial: str = ""
    seed: int = 0
    decisions: int = 6_000_000
    batch: int = 32_768
    tables: int | None = None
    threads: int | None = None
    device: str = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    oracle: bool = True
    counts: bool = True
    hints: bool = True
    network: NetworkConfig = field(default_factory=NetworkConfig)
    critic: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    league: LeagueConfig = field(default_factory=LeagueConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    evaluate_every: int | None = None
    evaluation_deals: int = 512
    panel: tuple[str, ...] = ("random", "thumb")
    save_every: float = 120.0
    keep: int = 2

    def __post_init__(self) -> None:
        """Refuse what makes no sense; the games, seats and options are checked by `rollout.make_rule_sets`."""
        if not self.variants:
            raise ValueError("name at least one game to train on; `noms list` shows them")
        if len(set(self.variants)) < len(self.variants):
            raise ValueError("a game is named twice")
        _between(self, "seed", 0, 2**63 - 1)
        _between(self, "decisions", 1, 10**15)
        _between(self, "batch", 1, 1 << 24)
        if self.tables is not None:
            _between(self, "tables", 1, 1 << 20)
        _between(self, "evaluation_deals", 2, 1 << 20)
        _between(self, "save_every", 0, 10**9)
        _between(self, "keep", 1, 1000)
        if self.threads is not None:
            _between(self, "threads", 1, 1024)
        if self.evaluate_every is not None:
            _between(self, "evaluate_every", 1, 10**15)

    def as_dict(self) -> dict[str, Any]:
        """The configuration as plain values, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """The configuration back from JSON; one that says nothing of `counts` or `hints` is from before there was that choice.

        Raises:
            ValueError: a key is unknown or missing, or a value is not allowed.
        """
        made: TrainConfig = _from_dict(cls, {"counts": False, "hints": False, **values}, "")
        return made


PARTS: dict[str, type[Any]] = {
    "network": NetworkConfig,
    "critic": NetworkConfig,
    "ppo": PPOConfig,
    "league": LeagueConfig,
    "curriculum": CurriculumConfig,
}
"""The fields that are configurations themselves."""


def _from_dict(kind: type[Any], values: Mapping[str, Any], where: str) -> Any:
    """A configuration from plain values, with unknown keys refused."""
    names = {part.name for part in dataclasses.fields(kind)}
    unknown = sorted(set(values) - names)
    if unknown:
        raise ValueError(f"unknown key {where}{unknown[0]}; the keys are {', '.join(sorted(names))}")
    made = {}
    for name, value in values.items():
        if kind is TrainConfig and name in PARTS:
            value = _from_dict(PARTS[name], value, f"{name}.")
        made[name] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**made)
    except TypeError as error:
        raise ValueError(f"the configuration is not complete: {error}") from error


def _preset(decisions: int, batch: int, minibatch: int, **changes: Any) -> dict[str, Any]:
    """What a preset changes."""
    ppo = PPOConfig(minibatch=minibatch, **changes)
    curriculum = CurriculumConfig(teacher="thumb", lessons=0.0, tryouts=0.25)
    return {"decisions": decisions, "batch": batch, "ppo": ppo, "curriculum": curriculum}


PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "smoke": (
        "under a minute: shows that all works",
        _preset(400_000, 8_192, 1024, learning_rate=1e-3, magnet=0.0) | {"evaluation_deals": 128, "evaluate_every": 100_000},
    ),
    "fast": ("minutes: beats random players", _preset(4_000_000, 16_384, 2048, learning_rate=5e-4)),
    "standard": ("an hour on two cores: a fair player", _preset(60_000_000, 32_768, 2048)),
    "long": (
        "overnight or longer: the strongest player",
        _preset(600_000_000, 65_536, 4096) | {"evaluation_deals": 2048, "save_every": 600.0},
    ),
}
"""The presets: what each is for, and what it changes."""


def differences(one: dict[str, Any], other: dict[str, Any], where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two configurations differ: name, and both values."""
    for name, value in one.items():
        if isinstance(value, dict):
            yield from differences(value, other[name], f"{where}{name}.")
        elif value != other[name]:
            yield f"{where}{name}", value, other[name]
