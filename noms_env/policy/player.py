"""A trained policy as a player, without torch.

player = load_policy("runs/down_up/policy.safetensors")
action = player.act(observation, mask, seed)                     # one row: an int
actions = player.act(batch.observation, batch.mask, seeds, temperature=0)
chances = player.probabilities(batch.observation, batch.mask)    # float32, shape (n, NUM_ACTIONS)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from noms_env._jit import PACKAGE
from noms_env.core.actions import NUM_ACTIONS, span
from noms_env.core.chance import Seeds, draw_seeds
from noms_env.observation.features import hand_sizes
from noms_env.observation.layout import OBSERVATION_SIZE, START
from noms_env.policy.attention import AttentionForward
from noms_env.policy.attention_kernels import infer_with_attention
from noms_env.policy.encoding import Encoding
from noms_env.policy.file import PolicyFileError, PolicyInfo, kind_of, read_info, read_policy
from noms_env.policy.inference import Forward
from noms_env.policy.inference_kernels import FINE, OTHER_RULES, infer_rows
from noms_env.variants import VARIANTS, Rules
from noms_env.variants.table_record import choice_bytes, choice_names

POLICY_NAME = "policy.safetensors"


class PolicyPlayer:
    """A trained policy: draws actions with the probabilities of its network.

    A row's answer depends only on its observation, mask and seed, bit for bit, whatever the other rows are.

    Attributes:
        info: description in the policy's file.
        encoding: encoding of the network's inputs.
        forward: parameters for the compiled functions.
        temperature: default of `act` and `probabilities`.
        reward: objective of its training, the only one of `noms train`: points less the mean of the others'.
    """

    wants_tables: ClassVar[bool] = False
    reward: ClassVar[str] = "relative"

    def __init__(self, info: PolicyInfo, encoding: Encoding, tensors: dict[str, np.ndarray], temperature: float = 1.0) -> None:
        """Set up a player from the result of `file.read_policy`.

        Raises:
            PolicyFileError: the parameters are too large for float32.
            ValueError: the temperature is below 0 or infinite.
        """
        self.info, self.encoding, self.temperature = info, encoding, _check_temperature(temperature)
        self._playable = info.playable
        with np.errstate(over="ignore", invalid="ignore"):
            self.forward: Forward | AttentionForward
            if kind_of(info.network) == "attention":
                self.forward = AttentionForward.folded(encoding, tensors, info.network["heads"])
            else:
                self.forward = Forward.folded(encoding, tensors)
        if not all(np.isfinite(part).all() for part in _flatten(self.forward.parameters) if part.dtype == np.float32):
            raise PolicyFileError("the policy holds numbers that are too large for float32")

    def __repr__(self) -> str:
        return f"<PolicyPlayer: {', '.join(_describe_games(self.rule_sets))}; temperature={self.temperature:g}>"

    @property
    def value(self) -> NoReturn:
        """Not available (AttributeError): a policy file holds only the actor.

        The critic usually saw all hands in training, so its output would tell a seat what it may not know.
        `SearchPlayer.values` and `SearchPlayer.targets` estimate what a seat may expect of a deal.
        """
        raise AttributeError(
            "a policy file holds no value, since the critic saw all hands in training; values and targets of the player "
            "search:POLICY estimate what a seat may expect"
        )

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """Rules of the tables that it can play at; a policy for any options is evaluated with these."""
        return self._playable

    def act(
        self,
        observation: np.ndarray,
        mask: np.ndarray,
        seeds: Seeds,
        *,
        tables: np.recarray | None = None,
        temperature: float | None = None,
    ) -> Any:
        """Choose an action in each row; see `Player.act`.

        Args:
            observation: uint8, shape (n, OBSERVATION_SIZE), or (OBSERVATION_SIZE,) for one row.
            mask: 1 for each legal action, int8, shape (n, NUM_ACTIONS) or (NUM_ACTIONS,).
            seeds: seed of each row's draw, int64, shape (n,), or one for one row; or a generator that draws them.
            tables: ignored.
            temperature: divisor of the logits: 1 plays as trained, below 1 is greedier, 0 takes the most probable action, the
                lowest of equals. Defaults to the player's own.

        Returns:
            int64, shape (n,), or an int for one row; `NOBODY` if nothing is legal.

        Raises:
            ValueError: arrays of another shape or dtype, a temperature below 0, or an observation of a table with rules that
                the policy was not trained for.
        """
        rows, masks = _check_rows(observation, mask)
        heat = self.temperature if temperature is None else _check_temperature(temperature)
        actions = self._infer(rows, masks, draw_seeds(seeds, len(rows)), heat, probabilities=False)
        return int(actions[0]) if np.ndim(mask) == 1 else actions

    def probabilities(self, observation: np.ndarray, mask: np.ndarray, *, temperature: float | None = None) -> np.ndarray:
        """Return the probabilities of all actions, float32, shape (n, NUM_ACTIONS), or (NUM_ACTIONS,) for one row.

        Arguments and errors are those of `act`. At temperature 0 the action that `act` takes has probability 1.
        """
        rows, masks = _check_rows(observation, mask)
        heat = self.temperature if temperature is None else _check_temperature(temperature)
        out = self._infer(rows, masks, np.zeros(len(rows), np.int64), heat, probabilities=True)
        return out[0] if np.ndim(mask) == 1 else out

    def drawn(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, temperature: float) -> np.ndarray:
        """Return the actions of `act` for rows from compiled code: contiguous arrays, and int64 seeds, 0 to 2**63 - 1."""
        return self._infer(observation, mask, seeds, temperature, probabilities=False)

    def _infer(self, rows: np.ndarray, masks: np.ndarray, seeds: np.ndarray, heat: float, *, probabilities: bool) -> np.ndarray:
        """Run the network; refuse rows that it was not trained for."""
        n = len(rows)
        kernel: Any = infer_rows if isinstance(self.forward, Forward) else infer_with_attention
        verdict, actions = np.empty(n, np.int64), np.empty(0 if probabilities else n, np.int64)
        shares = np.zeros((n if probabilities else 0, NUM_ACTIONS), np.float32)
        kernel(rows, masks, seeds, heat, self.forward.parameters, (verdict, actions, shares))
        if (verdict != FINE).any():
            row = int(np.flatnonzero(verdict != FINE)[0])
            prefix = f"row {row} of {n}: " if n > 1 else ""
            raise ValueError(prefix + self._explain_refusal(int(verdict[row]), rows[row], masks[row]))
        return shares if probabilities else actions

    def _explain_refusal(self, verdict: int, observation: np.ndarray, mask: np.ndarray) -> str:
        if verdict == OTHER_RULES:
            trained = ", ".join(sorted({_name_table(rules.variant.name, rules.seats) for rules in self.rule_sets}))
            return f"this policy was trained for {trained}; the observation is of {self._describe_difference(observation)}"
        strange = set(np.flatnonzero(mask).tolist()) - set(self.encoding.choices.tolist())
        return f"the mask allows action {min(strange)}, which is never legal at the tables that this policy was trained for"

    def _describe_difference(self, observation: np.ndarray) -> str:
        """Describe the observation's rules by their difference from the policy's."""
        marks = np.flatnonzero(observation[START["variant"] :][: len(VARIANTS)])
        seats = int(observation[START["numbers"] + 6])
        if len(marks) != 1:
            return "no game: no variant is marked in it"
        name = VARIANTS[marks[0]]
        rule_sets = [rules for rules in self.rule_sets if rules.variant.name == name and rules.seats == seats]
        if not rule_sets:
            return _name_table(name, seats)
        options = observation[START["choices"] :]
        names = choice_names()
        differences = [[names[place] for place in np.flatnonzero(options != choice_bytes(rules))] for rules in rule_sets]
        fewest = min(differences, key=len)
        if fewest:
            return f"{_name_table(name, seats)} with other options: {', '.join(fewest)}"
        sizes = ", ".join(str(size) for size in sorted(set().union(*map(hand_sizes, rule_sets))))
        return f"{_name_table(name, seats)} with hands of {int(observation[START['numbers']])} cards instead of {sizes}"


def _flatten(part: Any) -> list[np.ndarray]:
    if isinstance(part, tuple):
        return [array for inner in part for array in _flatten(inner)]
    return [part] if isinstance(part, np.ndarray) else []


def _describe_games(rule_sets: Sequence[Rules]) -> list[str]:
    """Return the tables of a policy: `noms with 3 to 5 seats`, and options that differ from their defaults."""
    seats: dict[tuple[str, str], list[int]] = {}
    for rules in rule_sets:
        _, *chosen = rules.summary.split(", ", 1)
        seats.setdefault((rules.variant.name, "".join(f", {options}" for options in chosen)), []).append(rules.seats)
    return [f"{variant} with {_format({*numbers})} seats{options}" for (variant, options), numbers in seats.items()]


def _format(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return span(low, high) if len(numbers) == high - low + 1 else ", ".join(map(str, sorted(numbers)))


def _name_table(variant: str, seats: int) -> str:
    return f"{variant} with {seats} seats"


def _check_rows(observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and masks as rows for compiled code: contiguous, with fixed dtypes."""
    seen, legal = np.asarray(observation), np.asarray(mask)
    if seen.dtype != np.uint8 or legal.dtype.kind not in "bui":
        hint = ": players read bytes, as with observation='bytes'" if seen.dtype.kind == "f" else ""
        raise ValueError(f"observation must be uint8 and mask int8, not {seen.dtype} and {legal.dtype}{hint}")
    if seen.shape[-1:] != (OBSERVATION_SIZE,) or legal.shape[-1:] != (NUM_ACTIONS,) or legal.ndim not in (1, 2):
        raise ValueError(
            f"observation and mask must have shapes (n, {OBSERVATION_SIZE}) and (n, {NUM_ACTIONS}), or one row of each, "
            f"not {seen.shape} and {legal.shape}"
        )
    if seen.shape[:-1] != legal.shape[:-1]:
        raise ValueError(f"observation and mask must have the same number of rows, not {seen.shape} and {legal.shape}")
    if legal.dtype.kind == "b" or legal.dtype.itemsize > 1:
        legal = legal != 0
    rows = (seen.reshape(-1, OBSERVATION_SIZE), legal.view(np.int8).reshape(-1, NUM_ACTIONS))
    seen, legal = (array if array.flags.carray else np.require(array, requirements=("C", "W")) for array in rows)
    return seen, legal


def _check_temperature(temperature: Any) -> float:
    if not isinstance(temperature, int | float | np.number) or not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be a number from 0 on, not {temperature!r}")
    return float(temperature)


def load_policy(path_or_name: Path | str, temperature: float = 1.0) -> PolicyPlayer:
    """Load the player of a policy file, or raise PolicyFileError; `noms_env.load_player` knows other players too.

    Args:
        path_or_name: a policy file, a folder with a `policy.safetensors`, or the name of a policy that comes with the package,
            or of a game: `noms` is the policy that comes with the package for noms. Names take precedence over folders.
        temperature: see `PolicyPlayer.act`.
    """
    info, encoding, tensors = read_policy(policy_file_of(path_or_name))
    return PolicyPlayer(info, encoding, tensors, temperature)


def shipped_policies() -> dict[str, Path]:
    """Return the policies that come with the package, by name: next to it in a checkout, inside it if installed."""
    folders = [PACKAGE / "checkpoints"]
    if (PACKAGE.parent / "pyproject.toml").is_file():
        folders.append(PACKAGE.parent / "checkpoints")
    files = [file for folder in folders for file in sorted(folder.glob(f"*/{POLICY_NAME}"))]
    return {file.parent.name: file for file in files}


def policy_of_game(variant: str) -> Path | None:
    """Return the file of the policy that comes with the package for a game; None if there is none."""
    names = _find_policies(variant)
    return shipped_policies()[next(iter(names))] if names else None


def policy_name_for(rules: Rules) -> str | None:
    """Return the name of the policy that comes with the package for a table: the game's name if that policy plays there.

    A table with unusual options gets a policy for any options; None if there is no policy.
    """
    infos = _find_policies(rules.variant.name)
    name = next((name for name, info in infos.items() if rules in info.playable), None)
    return rules.variant.name if name is not None and name == next(iter(infos)) else name


def _find_policies(variant: str) -> dict[str, PolicyInfo]:
    """Return the usable policies that come with the package for a game, the first choice first.

    The one named after the game comes first, then those for fixed options before those for any, then those trained on most
    decisions, then those first by name.
    """
    infos = {name: info for name, info in _read_shipped().items() if info and variant in _variants(info)}
    return dict(sorted(infos.items(), key=lambda item: (item[0] != variant, bool(item[1].drawn), -item[1].decisions, item[0])))


def policies_for_any_options() -> list[str]:
    """Return the names of the policies that come with the package and play under any options."""
    return [name for name, info in _read_shipped().items() if info and info.drawn]


def is_policy_name(name: str) -> bool:
    """Return whether a word names a policy that comes with the package, or a game, which may have one."""
    return name in VARIANTS or name in shipped_policies()


def policy_file_of(path_or_name: Path | str) -> Path:
    """Return the policy file of a path or name, see `load_policy`; PolicyFileError if there is no policy of that name."""
    if isinstance(path_or_name, str):
        shipped = shipped_policies().get(path_or_name)
        if shipped is None and path_or_name in VARIANTS:
            shipped = policy_of_game(path_or_name)
        if shipped is not None:
            return shipped
    path = Path(path_or_name)
    if is_there(path) and path.is_dir():
        return path / POLICY_NAME
    is_name = isinstance(path_or_name, str) and path.name == path_or_name and not path.suffix
    if is_name and not is_there(path):
        names = ", ".join(names_and_games()) or "none yet"
        raise PolicyFileError(f"there is no policy {path_or_name!r}; the policies that come with the package: {names}")
    return path


def is_there(path: Path | str) -> bool:
    """Return whether a file or folder exists; False for an impossible name, empty or too long."""
    try:
        return str(path) != "" and Path(path).exists()
    except OSError:
        return False


def _read_shipped() -> dict[str, PolicyInfo | None]:
    """Return the descriptions of the policies that come with the package, by name; None for an unusable one."""
    infos: dict[str, PolicyInfo | None] = {}
    for name, file in shipped_policies().items():
        try:
            infos[name] = read_info(file)
        except PolicyFileError:
            infos[name] = None
    return infos


def _variants(info: PolicyInfo) -> list[str]:
    return list(dict.fromkeys(rules.variant.name for rules in info.rule_sets))


def names_and_games() -> Iterator[str]:
    """Yield the policies that come with the package: `auctions (small_ships, noms)`, or the name alone for its only game."""
    for name, info in _read_shipped().items():
        games = _variants(info) if info else []
        yield name if games in ([], [name]) else f"{name} ({', '.join(games)})"
