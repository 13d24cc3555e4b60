"""Configuration of a training run: all settings with their defaults, and the presets.

A configuration is immutable and validated on construction. It is saved in the run's folder and in the policy file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import tyro

from noms_env.core.actions import brief
from noms_env.players.registry import FIRST, NEWEST
from noms_env.policy.file import NETWORKS, PolicyFileError, read_info
from noms_env.policy.player import policy_file_of

from ..options import by_default
from ..text import printable


class Between(NamedTuple):
    """Bounds of a field, both inclusive, as an annotation."""

    least: float
    most: float


class _Checked:
    """Base class that validates the types and bounds of its fields; raises ValueError."""

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            value, (kind, *notes) = getattr(self, name), get_args(hint) if get_origin(hint) is Annotated else (hint,)
            if not _fits(value, kind):
                allowed = kind.__name__ if isinstance(kind, type) else str(kind).removeprefix("typing.")
                raise ValueError(f"{name} must be {allowed}, not {value!r}")
            for least, most in (note for note in notes if isinstance(note, Between) and value is not None):
                if not least <= value <= most:
                    raise ValueError(f"{name} must be from {least} to {most}, not {value!r}")


def _fits(value: object, kind: Any) -> bool:
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return value in parts
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(part, parts[0]) for part in value)
    if get_origin(kind) is UnionType:
        return any(_fits(value, part) for part in parts)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


Share = Annotated[float, Between(0, 1)]
Coefficient = Annotated[float, Between(0, 1000)]


@dataclass(frozen=True)
class NetworkConfig(_Checked):
    """Kind and size of a network.

    Attributes:
        kind: `mlp`: residual layers over all features; `attention`: attention over tokens of cards, seats and calls.
        width: Units of each layer (mlp).
        blocks: Residual blocks (mlp).
        card_width: Size of the card embeddings in the head.
        token_width: Size of each token (attention).
        layers: Attention layers (attention).
        heads: Attention heads per layer, a divisor of `token_width` (attention).
    """

    kind: Literal["mlp", "attention"] = field(default="mlp", kw_only=True)
    width: Annotated[int, Between(4, 8192)] = 128
    blocks: Annotated[int, Between(0, 8192)] = 3
    card_width: Annotated[int, Between(1, 8192)] = 64
    token_width: Annotated[int, Between(4, 8192)] = field(default=64, kw_only=True)
    layers: Annotated[int, Between(1, 64)] = field(default=2, kw_only=True)
    heads: Annotated[int, Between(1, 64)] = field(default=4, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.token_width % self.heads:
            raise ValueError(f"heads must divide token_width, which is {self.token_width}; {self.heads} do not")

    def sizes(self) -> dict[str, Any]:
        """Return the settings of this kind of network, as a policy file stores them."""
        kind = {} if self.kind == "mlp" else {"kind": self.kind}
        return kind | {name: getattr(self, name) for name in NETWORKS[self.kind] if hasattr(self, name)}


@dataclass(frozen=True)
class ActorConfig(NetworkConfig):
    """Size of the actor.

    Attributes:
        scorer_width: Hidden units of the network that scores each card to play, shared by all cards (0: none; mlp).
    """

    scorer_width: Annotated[int, Between(0, 512)] = 32


SIZES, GPU_SIZES = (32_768, 2_048), (524_288, 16_384)
"""Default decisions per iteration and per minibatch, on a CPU and on a GPU."""


@dataclass(frozen=True)
class PPOConfig(_Checked):
    """Settings of the PPO update.

    Attributes:
        update_epochs: Maximum passes over the decisions of an iteration.
        minibatch_size: Maximum decisions per optimizer step.
        learning_rate: Initial Adam learning rate; cosine decay to 10 %.
        clip_coef: Clipping range of the probability ratio (Schulman et al., arXiv 1707.06347, equation 7).
        target_kl: Stop the actor's update after a minibatch whose approximate KL exceeds this (0: never).
        gae_lambda: Lambda of the advantage estimates; gamma is 1.
        max_grad_norm: Maximum norm of the gradients; larger ones are clipped.
        ent_coef_call: Initial entropy coefficient of calls, trumps and nominations; linear decay to a fifth.
        ent_coef_play: Initial entropy coefficient of card play; linear decay to a sixth.
        uniform_kl_coef: Initial coefficient of KL(uniform || policy) of calls, trumps and nominations; linear decay to a fifth.
            It keeps every call possible; otherwise the policy may pass out every auction.
        coefs_left: Share of these three coefficients left at the end, with exponential decay.
        played_out: Share of the decisions at which every legal action is played out with the current policy in the true deal.
            The actor learns from the values of all actions at these decisions only (0: off). CPU only, without opponents.
        exploration: Share of the decisions at which a random legal action is taken; needs `played_out`.
        kl_coef: Coefficient of KL(policy || policy before the iteration), with `played_out`.
    """

    update_epochs: Annotated[int, Between(1, 100)] = 1
    minibatch_size: Annotated[int | None, Between(1, 1 << 22), by_default("2,048, or 16,384 on a GPU")] = None
    learning_rate: Share = 2e-3
    clip_coef: Share = 0.2
    target_kl: Coefficient = 0.02
    gae_lambda: Share = 0.95
    max_grad_norm: Coefficient = 0.5
    ent_coef_call: Coefficient = 0.5
    ent_coef_play: Coefficient = 0.12
    uniform_kl_coef: Coefficient = 0.1
    coefs_left: Annotated[float | None, Between(1e-9, 1), by_default("the linear decay of each")] = None
    played_out: Share = 0.0
    exploration: Share = 0.0
    kl_coef: Coefficient = 0.3


@dataclass(frozen=True)
class OpponentsConfig(_Checked):
    """Opponents of the policy, which learns from its own decisions only.

    Attributes:
        share: Share of the tables that have opponents at some seats.
        start: Share of the budget after which opponents join; before, the policy plays itself.
        past: Maximum number of past policies that are opponents; their ages are spaced about geometrically.
        players: Further opponents by name, such as `random`, `thumb`, or a policy file.
        alone: Give the policy one seat at those tables. Otherwise the opponents get one to all but one of the seats.
    """

    share: Share = 0.0
    start: Share = 0.6
    past: Annotated[int, Between(0, 1000)] = 12
    players: Annotated[tuple[str, ...], by_default("none")] = ()
    alone: Annotated[bool, by_default("off")] = False


@dataclass(frozen=True)
class CurriculumConfig(_Checked):
    """Stages of learning: imitation, then PPO.

    Attributes:
        expert: Players to imitate, such as `thumb`; each table takes the first that can play there. The policy imitates all
            action probabilities of a trained policy (policy distillation: Rusu et al., arXiv 1511.06295), and the most
            probable actions of `NAME@0`.
        imitation: Share of the budget, at its start, in which the policy imitates the expert; ignored with an initial policy.
        shards: Folders of decisions to learn from as well, written by `noms export --targets`, or folders of such folders.
        distil_coef: Initial coefficient of the cross entropy to their policies; linear decay to 0.
        matches: Share of the tables that play whole matches, in games whose deals depend on the previous deal (`noms`).
        critic_warmup: With an initial policy, share of the budget, at its start, in which only the critic learns.
    """

    expert: Annotated[tuple[str, ...], by_default("none")] = ()
    imitation: Share = 0.1
    shards: Annotated[tuple[str, ...], by_default("none", "FOLDER ...")] = ()
    distil_coef: Coefficient = 1.0
    matches: Share = 0.5
    critic_warmup: Share = 0.02


@dataclass(frozen=True)
class TrainConfig(_Checked):
    """A training run.

    Attributes:
        variants: Games; one policy learns them all.
        seats: Numbers of seats, each for every game that allows it.
        option: Option of the games, NAME=VALUE, for every game that has it.
        drawn_rules: Random mixes of options per game, for a policy that plays under any options. It also learns every number
            of seats and every option alone. Evaluations use the run's own rules.
        held_out: Option values, NAME=VALUE, that are never drawn.
        initial_policy: Policy to start from, by file, folder or name, trained for the games of the run. `noms train` gives
            the network the size and features of this policy. The new policy plays the tables of both.
        seed: Random seed of the whole run, 0 to 2**63 - 1.
        decisions: Budget in decisions of the policy; forced moves do not count.
        batch_size: Approximate number of decisions per iteration; an iteration has whole deals.
        tables: Tables; each plays one deal per iteration.
        threads: CPU threads.
        device: `cpu`, `cuda`, or `auto`: a GPU if there is one.
        precision: Precision of the matrix products; `auto` is bf16 if the hardware is fast at it, else fp32.
        privileged_critic: The critic also sees the hidden cards.
        card_features: Features of each card in hand: whether it beats the trick, and how many cards still out are higher and
            lower.
        trick_features: Features of each card that may win the trick: how many cards and seats may still beat it. They
            help in `nonesuch`, whose cards have two suits, and show no gain in other games.
        network: Size of the actor.
        critic: Size of the critic.
        ppo: Settings of the PPO update.
        opponents: Opponents of the policy.
        curriculum: Stages of learning.
        evaluate_every: Decisions between evaluations.
        evaluation_deals: Duplicate deals per evaluation, game and opponent.
        panel: Opponents in the evaluations.
        thumb_version: Version of `thumb` in this run, as panel, opponent or expert; it stays the same when a run resumes.
        save_every: Seconds between checkpoints; each evaluation also writes one.
        keep: Number of checkpoints to keep.
    """

    variants: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="VARIANT ...", help_behavior_hint="")]
    seats: Annotated[tuple[int, ...], by_default("each game's usual number")] = ()
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = ()
    drawn_rules: Annotated[int, Between(0, 100), by_default("none")] = 0
    held_out: Annotated[tuple[str, ...], by_default("none", "NAME=VALUE ...")] = ()
    initial_policy: Annotated[str, by_default("start untrained")] = ""
    seed: Annotated[int, Between(0, 2**63 - 1)] = 0
    decisions: Annotated[int, Between(1, 10**15)] = 6_000_000
    batch_size: Annotated[int | None, Between(1, 1 << 24), by_default("32,768, or 524,288 on a GPU")] = None
    tables: Annotated[int | None, Between(1, 1 << 20), by_default("enough for a batch with the initial policy")] = None
    threads: Annotated[int | None, Between(1, 1024), by_default("one for each core")] = None
    device: str = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    privileged_critic: bool = True
    card_features: bool = True
    trick_features: Annotated[bool, by_default("no")] = False
    network: ActorConfig = field(default_factory=ActorConfig)
    critic: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    opponents: OpponentsConfig = field(default_factory=OpponentsConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    evaluate_every: Annotated[int | None, Between(1, 10**15), by_default("a twentieth of the budget")] = None
    evaluation_deals: Annotated[int, Between(2, 1 << 20)] = 512
    panel: tuple[str, ...] = ("random", "thumb")
    thumb_version: Annotated[int, Between(FIRST, NEWEST)] = NEWEST
    save_every: Annotated[float, Between(0, 10**9)] = 120.0
    keep: Annotated[int, Between(1, 1000)] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.variants:
            raise ValueError("name at least one game to train on; `noms list` shows them")
        if not self.panel:
            raise ValueError("the panel needs one player or more, to select the best policy")
        if self.ppo.played_out > 0 and self.opponents.share > 0:
            raise ValueError("opponents.share must be 0 with ppo.played_out, which needs pure self-play")
        if self.ppo.exploration > 0 and self.ppo.played_out == 0:
            raise ValueError("ppo.exploration needs ppo.played_out above 0: PPO learns from its own actions only")
        if self.held_out and self.drawn_rules == 0:
            raise ValueError("held_out needs drawn_rules above 0: no other options are drawn")
        for names, what in ((self.variants, "game"), (self.seats, "number of seats"), (self.panel, "player of the panel")):
            if len(set(names)) < len(names):
                raise ValueError(f"a {what} is named twice")

    def sized(self, on_gpu: bool) -> TrainConfig:
        """Return a copy with the default batch and minibatch sizes of the device filled in; a GPU needs more rows at once."""
        batch, minibatch = GPU_SIZES if on_gpu else SIZES
        ppo = dataclasses.replace(self.ppo, minibatch_size=self.ppo.minibatch_size or minibatch)
        return dataclasses.replace(self, batch_size=self.batch_size or batch, ppo=ppo)

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration as plain values, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """Restore a configuration from JSON; ValueError for an unknown or missing key, or a wrong value.

        A file without `thumb_version` predates the second version of `thumb`.
        """
        config: TrainConfig = _from_dict(cls, {"thumb_version": FIRST, **values} if isinstance(values, Mapping) else values, "")
        return config


def _from_dict(kind: type[Any], values: object, where: str) -> Any:
    if not isinstance(values, Mapping):
        raise ValueError(f"{where.rstrip('.') or 'a configuration'} must be an object with keys, not {brief(values)}")
    hints, arguments = get_type_hints(kind), {}
    for name, value in values.items():
        if name not in hints:
            keys = ", ".join(sorted(hints))
            raise ValueError(f"unknown key {where}{printable(name)}; this version has the keys {keys}")
        if dataclasses.is_dataclass(hints[name]):
            value = _from_dict(hints[name], value, f"{name}.")
        if name == "expert" and isinstance(value, str):  # older files name a single player
            value = [value] if value else []
        arguments[name] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**arguments)
    except TypeError as error:
        raise ValueError(f"the configuration is not complete: {error}") from error


PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "smoke": (
        "under a minute: shows that everything works",
        {"decisions": 400_000, "batch_size": 8_192, "evaluation_deals": 128, "evaluate_every": 100_000}
        | {"ppo": PPOConfig(minibatch_size=1024)},
    ),
    "fast": ("half an hour on two cores: a fair player", {"decisions": 100_000_000}),
    "standard": ("some hours: four times as many decisions", {"decisions": 400_000_000, "batch_size": 65_536}),
    "long": (
        "a day or longer: thirty times as many decisions",
        {"decisions": 3_000_000_000, "batch_size": 131_072, "evaluation_deals": 2048, "save_every": 600.0}
        | {"ppo": PPOConfig(minibatch_size=4096)},
    ),
}
"""Description and changed settings of each preset."""


def fitting(config: TrainConfig, policy: str | None) -> TrainConfig:
    """Return a copy whose network has the size and features of a policy; the run itself reports a missing policy."""
    if not policy:
        return config
    try:
        info = read_info(policy_file_of(policy))
    except (PolicyFileError, OSError):
        return config
    cards, tricks = config.card_features or info.card_features, config.trick_features or info.trick_features
    network = ActorConfig(**info.network)
    return dataclasses.replace(config, network=network, card_features=cards, trick_features=tricks)


def differences(before: dict[str, Any], after: dict[str, Any], where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the name and both values of each setting that differs."""
    for name, value in before.items():
        if isinstance(value, dict):
            yield from differences(value, after[name], f"{where}{name}.")
        elif value != after[name]:
            yield f"{where}{name}", value, after[name]
