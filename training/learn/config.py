"""The configuration of a training run: every setting with its default, and the presets.

A configuration is a value: frozen, checked when it is made, and written into the run's folder and the policy's file.
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
    """The least and the greatest value of a field, in its annotation."""

    least: float
    most: float


class _Checked:
    """A configuration whose values have the types of their fields, and lie between their limits; ValueError if not."""

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
        kind: `mlp`: layers on all features; `attention`: over tokens of the cards, the seats and the calls.
        width: Units of each layer (mlp).
        blocks: Residual blocks (mlp).
        card_width: Length of a card's embedding in the last layer.
        token_width: Numbers of each token (attention).
        layers: Layers of attention (attention).
        heads: Heads of each layer, a divisor of `token_width` (attention).
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
        """What matters for this kind of network, as a policy's file says it."""
        kind = {} if self.kind == "mlp" else {"kind": self.kind}
        return kind | {name: getattr(self, name) for name in NETWORKS[self.kind] if hasattr(self, name)}


@dataclass(frozen=True)
class ActorConfig(NetworkConfig):
    """Size of the actor.

    Attributes:
        scorer_width: Hidden units of the small network that scores each card to play, the same for all cards (0: none; mlp).
    """

    scorer_width: Annotated[int, Between(0, 512)] = 32


SIZES, GPU_SIZES = (32_768, 2_048), (524_288, 16_384)
"""Decisions of an iteration, and of a minibatch, where they are not set: on a processor, and on a GPU."""


@dataclass(frozen=True)
class PPOConfig(_Checked):
    """How the networks learn from the decisions of an iteration.

    Attributes:
        update_epochs: Passes over the decisions of an iteration, at most.
        minibatch_size: Decisions per optimizer step, at most.
        learning_rate: Initial Adam learning rate; cosine decay to 10 %.
        clip_coef: Clipping range of the probability ratio (Schulman et al., arXiv 1707.06347, equation 7).
        target_kl: End the actor's update after a minibatch whose approximate KL exceeds this (0: never).
        gae_lambda: Lambda of the advantage estimates; gamma is 1.
        max_grad_norm: Gradients are clipped to this norm.
        ent_coef_call: Initial entropy coefficient of calls, trumps and nominations; linear decay to a fifth.
        ent_coef_play: Initial entropy coefficient of card play; linear decay to a sixth.
        uniform_kl_coef: Initial coefficient of KL(uniform || policy) of calls, trumps and nominations; linear decay to a fifth.
            It keeps every call possible, so that auctions are not passed out for ever.
        coefs_left: Share of these three coefficients that is left at the end, by exponential decay.
        played_out: Share of the decisions at which every legal action is played out with the present policy in the true deal.
            The actor learns from the values of all actions of these decisions, and from nothing else (0: off). On the
            processor only, and without opponents.
        exploration: Share of the decisions at which a random legal action is taken; with `played_out` only.
        kl_coef: Coefficient of KL(policy || policy before the iteration) in learning from decisions that are played out.
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
    coefs_left: Annotated[float | None, Between(1e-9, 1), by_default("linear decay, as each says")] = None
    played_out: Share = 0.0
    exploration: Share = 0.0
    kl_coef: Coefficient = 0.3


@dataclass(frozen=True)
class OpponentsConfig(_Checked):
    """Who else sits at the tables. Only the learner's own decisions are learnt from.

    Attributes:
        share: Share of the tables at which opponents take some of the seats.
        start: Share of the budget after which opponents come; until then the policy plays itself.
        past: Past policies that are kept as opponents, their ages spaced about geometrically.
        players: Players by name that are opponents too, such as `random`, `thumb`, or a policy's file.
        alone: At those tables the policy has one seat, and the opponents all others; otherwise they have one to all but one.
    """

    share: Share = 0.0
    start: Share = 0.6
    past: Annotated[int, Between(0, 1000)] = 12
    players: Annotated[tuple[str, ...], by_default("none")] = ()
    alone: Annotated[bool, by_default("off")] = False


@dataclass(frozen=True)
class CurriculumConfig(_Checked):
    """What is learnt when: imitation, then PPO.

    Attributes:
        expert: Players by name to imitate, such as `thumb`; at each table it is the first that plays there. Of a trained
            policy, the probabilities of all actions are imitated (policy distillation: Rusu et al., arXiv 1511.06295); of
            `NAME@0`, its most probable actions.
        imitation: Share of the budget, at its start, in which the policy imitates the expert; ignored with an initial policy.
        shards: Folders of decisions that the policy also learns from, written by `noms export --targets`, or folders of those.
        distil_coef: Initial coefficient of the cross entropy to their policies; linear decay to 0.
        matches: Share of the tables that play whole matches in games whose deals depend on the deal before (`noms`).
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
        variants: The games; several make one policy for all of them.
        seats: Numbers of seats, each for every game that allows it.
        option: An option of the games, NAME=VALUE, for every game that has it; may be given several times.
        drawn_rules: For a policy that plays under any options. Besides the run's own rules it learns from every number of
            seats, every option alone, and so many random mixes of options a game. It is measured on the run's own rules.
        held_out: Values of options, NAME=VALUE, that are never drawn.
        initial_policy: Policy to start from, by file, folder or name, trained for the games of the run; `noms train` gives
            the network that policy's size and features. The new policy is for all tables of the initial one and of the run.
        seed: Random seed, 0 to 2**63 - 1, of the deals, the initial weights and everything else.
        decisions: Budget: decisions of the learner. Forced moves do not count.
        batch_size: Decisions per iteration, about; an iteration has whole deals.
        tables: Tables, each of which plays one deal per iteration.
        threads: Threads.
        device: `cpu`, `cuda`, or `auto`: a GPU if there is one.
        precision: Precision of the matrix products; `auto` is bf16 where the hardware supports it, else fp32.
        privileged_critic: The critic also sees the hidden cards.
        card_features: The networks also see, for each card in hand, whether it beats the trick and how many of the cards that
            are still out are higher and lower.
        trick_features: The networks also see, for each card that may win the trick, how many cards and seats may still beat it.
            Meant for `nonesuch`, whose cards have two suits; no gain is seen in games whose cards have one.
        network: Size of the actor.
        critic: Size of the critic.
        ppo: The update.
        opponents: Who else sits at the tables.
        curriculum: What is learnt when.
        evaluate_every: Decisions between evaluations.
        evaluation_deals: Duplicate deals per evaluation, game and opponent.
        panel: Opponents in the evaluations.
        thumb_version: Rules that `thumb` means in this run, as a panel, opponent or expert; a run keeps them to its end.
        save_every: Seconds between checkpoints; each evaluation writes one too.
        keep: Checkpoints that are kept.
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
    tables: Annotated[int | None, Between(1, 1 << 20), by_default("as many as make a batch under random play")] = None
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
            raise ValueError("the panel needs one player or more: by it the policy is chosen that is kept")
        if self.ppo.played_out > 0 and self.opponents.share > 0:
            raise ValueError("ppo.played_out needs self-play alone: opponents.share must be 0 with it")
        if self.ppo.exploration > 0 and self.ppo.played_out == 0:
            raise ValueError("ppo.exploration needs ppo.played_out above 0: PPO learns from its own actions only")
        for names, what in ((self.variants, "game"), (self.panel, "player of the panel")):
            if len(set(names)) < len(names):
                raise ValueError(f"a {what} is named twice")

    def sized(self, on_gpu: bool) -> TrainConfig:
        """The same with a batch and minibatches that suit the device, where they are not set: a GPU wants many rows at once."""
        batch, minibatch = GPU_SIZES if on_gpu else SIZES
        ppo = dataclasses.replace(self.ppo, minibatch_size=self.ppo.minibatch_size or minibatch)
        return dataclasses.replace(self, batch_size=self.batch_size or batch, ppo=ppo)

    def as_dict(self) -> dict[str, Any]:
        """The configuration as plain values, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """The configuration back from JSON; without a `thumb_version` it is of a time when there was only the first.

        Raises:
            ValueError: a key is unknown (as in a file of an older version) or missing, or a value is not allowed.
        """
        made: TrainConfig = _from_dict(cls, {"thumb_version": FIRST, **values} if isinstance(values, Mapping) else values, "")
        return made


def _from_dict(kind: type[Any], values: object, where: str) -> Any:
    if not isinstance(values, Mapping):
        raise ValueError(f"{where.rstrip('.') or 'a configuration'} must be an object with keys, not {brief(values)}")
    hints = get_type_hints(kind)
    made = {}
    for name, value in values.items():
        if name not in hints:
            keys = ", ".join(sorted(hints))
            raise ValueError(f"unknown key {where}{printable(name)}; this version has the keys {keys}")
        if dataclasses.is_dataclass(hints[name]):
            value = _from_dict(hints[name], value, f"{name}.")
        if name == "expert" and isinstance(value, str):  # in older files it is the name of a single player
            value = [value] if value else []
        made[name] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**made)
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
"""The presets: what each is for, and what it changes."""


def fitting(config: TrainConfig, policy: str | None) -> TrainConfig:
    """The same run with a network that can begin as a policy does: of its size, and with all that it sees.

    If there is no such policy, the run says so later.
    """
    if not policy:
        return config
    try:
        info = read_info(policy_file_of(policy))
    except (PolicyFileError, OSError):
        return config
    return dataclasses.replace(
        config,
        network=ActorConfig(**info.network),
        card_features=config.card_features or info.card_features,
        trick_features=config.trick_features or info.trick_features,
    )


def differences(before: dict[str, Any], after: dict[str, Any], where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two configurations differ: name, and both values."""
    for name, value in before.items():
        if isinstance(value, dict):
            yield from differences(value, after[name], f"{where}{name}.")
        elif value != after[name]:
            yield f"{where}{name}", value, after[name]
