"""The file of a policy: tensors as safetensors, and a JSON document in their metadata that says what they are.

Nothing in a file is trusted: one that is damaged, foreign, or made for another environment is refused with a sentence,
before it takes much memory. Nothing here needs torch.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from noms_env._files import open_file, write_atomically
from noms_env._json import parse_json
from noms_env.observation.features import differing_options
from noms_env.observation.layout import layout_digest
from noms_env.players.registry import AnyOptions
from noms_env.policy import attention
from noms_env.policy.encoding import Encoding, make_encoding
from noms_env.policy.inference import shapes_of
from noms_env.variants import Rules, RulesError, game, given_options, make_rules
from noms_env.variants.table_record import choice_names
from noms_env.version import ENV_VERSION

FORMAT = "noms-policy/2"
KEY = "noms-policy"
"""The key of the document in the metadata."""
MAX_HEADER = 1 << 20
MAX_FILE = 1 << 30
MAX_RULES = 1000
PACKAGES = ("noms-env", "numpy", "numba", "safetensors", "torch")
NETWORKS = {
    "mlp": {"width": (4, 8192), "blocks": (0, 8192), "card_width": (1, 8192), "scorer_width": (0, 512)},
    "attention": {"token_width": (4, 8192), "layers": (1, 64), "heads": (1, 64), "card_width": (1, 8192)},
}
"""The sizes of each kind of network, and the least and the most that each may be; a file names a kind other than `mlp`."""
TYPES = {
    **{"training": dict, "seed": int, "decisions": int, "score": float | None, "packages": dict, "revision": str | None},
    **{"card_features": bool, "trick_features": bool, "options": list},
}
"""The entries of the document that stand in a `PolicyInfo` as they are (options as a tuple)."""
FIELDS = {*TYPES, "format", "rules", "drawn", "environment", "layout", "encoding", "network", "sha256"}
ADDED: dict[str, Any] = {"trick_features": False, "drawn": []}
"""Entries that older files lack, and what they then are."""
FORMER = "rule_based_prior"
"""An entry of older files: false, or the network had an input that is there no more."""


class PolicyFileError(ValueError):
    """A file without a policy that can be used here; the message says why."""


@dataclass(frozen=True)
class PolicyInfo:
    """What a policy file says of its policy.

    Attributes:
        rule_sets: the rules of the tables on which it was trained.
        drawn: further rules, drawn at random for its training; with some it plays its games under any options.
        network: its sizes, see `NETWORKS` (`scorer_width` is 0 of older files), and its `kind` if that is not `mlp`.
        training: the configuration of the training run, plain values.
        seed: of the training run.
        decisions: number of decisions that it was trained on.
        score: of the training run, None if it had none.
        packages: versions of the packages that made the file.
        revision: of the code, as `git describe` names it; None if it is not known.
        card_features: whether its network sees what a player counts at each of its cards.
        trick_features: whether it sees what a player works out about the trick.
        options: the options that its network sees, see `make_encoding`; those in which the tables differ if none are given.
    """

    rule_sets: tuple[Rules, ...]
    network: dict[str, Any]
    training: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    decisions: int = 0
    score: float | None = None
    packages: dict[str, str] = field(default_factory=lambda: package_versions())
    revision: str | None = None
    card_features: bool = False
    trick_features: bool = False
    options: tuple[str, ...] = None  # type: ignore[assignment]
    drawn: tuple[Rules, ...] = ()

    def __post_init__(self) -> None:
        if self.options is None:
            object.__setattr__(self, "options", differing_options(self.rule_sets + self.drawn))

    @property
    def encoding(self) -> Encoding:
        """What its network sees."""
        return make_encoding(self.rule_sets, self.card_features, self.options, self.trick_features, self.drawn)

    @property
    def playable(self) -> tuple[Rules, ...]:
        """The rules of the tables that it can sit at: `AnyOptions` where they were drawn."""
        return AnyOptions.of(self.rule_sets, self.drawn, self.options) if self.drawn else self.rule_sets


def parameter_shapes(encoding: Encoding, network: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the parameters of an actor that sees what an encoding gives; `network` as in `PolicyInfo`."""
    return attention.shapes_of(encoding, network) if kind_of(network) == "attention" else shapes_of(encoding, network)


def kind_of(network: Mapping[str, Any]) -> str:
    """The kind of a network: `mlp` or `attention`."""
    return str(network.get("kind", "mlp"))


def package_versions() -> dict[str, str]:
    """Versions of the packages that have to do with a policy, as far as they are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def save_policy(path: Path | str, tensors: Mapping[str, np.ndarray], info: PolicyInfo) -> None:
    """Write a policy file; an older one is replaced once the new one is safe on the disk.

    Args:
        path: where.
        tensors: the actor's parameters, float32, named and shaped as `parameter_shapes` says.
        info: what they are.

    Raises:
        PolicyFileError: the tensors do not fit the network, or hold numbers that are not finite.
        OSError: the file cannot be written; an older one is unharmed.
    """
    encoding = info.encoding
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    _check_tensors(arrays, parameter_shapes(encoding, info.network), "the policy")
    document = {
        "format": FORMAT,
        "rules": _entries(info.rule_sets),
        **({"drawn": _entries(info.drawn)} if info.drawn else {}),
        **{name: getattr(info, name) for name in TYPES},
        "score": None if info.score is None else float(info.score),
        "options": list(info.options),
        "environment": ENV_VERSION,
        "layout": layout_digest(),
        "encoding": encoding.digest,
        "network": info.network,
    }
    document["sha256"] = _digest(document, arrays)
    write_atomically(Path(path), save(arrays, {KEY: _text(document)}))


def _entries(rule_sets: Sequence[Rules]) -> list[dict[str, Any]]:
    return [{"variant": rules.variant.name, "seats": rules.seats, "options": given_options(rules)} for rules in rule_sets]


def _text(document: Mapping[str, Any]) -> str:
    """JSON, always the same text for the same document."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _digest(document: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the document but for its own entry, and the tensors: names, types, shapes, bytes."""
    digest = hashlib.sha256(_text({name: value for name, value in document.items() if name != "sha256"}).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(_text({"name": name, "type": str(tensor.dtype), "shape": tensor.shape}).encode())
        digest.update(np.ascontiguousarray(tensor).view(np.uint8).data)
    return digest.hexdigest()


def read_policy(path: Path | str) -> tuple[PolicyInfo, Encoding, dict[str, np.ndarray]]:
    """Read a policy file.

    Returns:
        What it says, the encoding of its rules, and the tensors.

    Raises:
        PolicyFileError: there is no such file, or it holds no policy that can be used here.
    """
    file = Path(path)
    with _opened(file) as opened:
        document = _document(file, opened.metadata())
        tensors = _tensors(file, opened)
    if document["sha256"] != _digest(document, tensors):
        raise PolicyFileError(f"{file} is damaged: its content does not have the SHA-256 that it was written with")
    info = _info(file, document)
    encoding = info.encoding
    if document["encoding"] != encoding.digest:
        raise PolicyFileError(f"{file} was made for another encoding of observations than this version of noms-env has")
    _check_tensors(tensors, parameter_shapes(encoding, info.network), str(file))
    return info, encoding, tensors


def read_info(path: Path | str) -> PolicyInfo:
    """What a policy file says of its policy; its tensors are not read and not checked.

    Raises:
        PolicyFileError: there is no such file, or what it says is of no policy that can be used here.
    """
    file = Path(path)
    with _opened(file) as opened:
        document = _document(file, opened.metadata())
    return _info(file, document)


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """A policy file, opened: its header is read, its tensors when they are asked for.

    What cannot be a policy by its size, or by its first eight bytes, which say how long the header is, is not opened.
    """
    try:
        size = file.stat().st_size
        with open_file(file) as start:
            header = int.from_bytes(start.read(8), "little")
    except FileNotFoundError as error:
        raise PolicyFileError(f"there is no file {file}") from error
    except OSError as error:
        raise PolicyFileError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:  # a null byte or half a surrogate pair
        raise PolicyFileError(f"{str(file)!r} cannot be the name of a file") from error
    if size > MAX_FILE:
        raise PolicyFileError(f"{file} is larger than any policy: {size} bytes, where {MAX_FILE} are the most")
    if size < 8 or header > min(size - 8, MAX_HEADER):
        raise PolicyFileError(f"{file} is no safetensors file with a policy, or it was cut off")
    try:
        with safe_open(file, framework="numpy") as opened:
            yield opened
    except PolicyFileError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise PolicyFileError(f"{file} is no safetensors file, or it is damaged: {error}") from error


def _document(file: Path, entries: Mapping[str, str] | None) -> dict[str, Any]:
    text = (entries or {}).get(KEY)
    if text is None:
        raise PolicyFileError(f"{file} is a safetensors file without {KEY!r} in its metadata: not a policy of noms-env")
    try:
        document = parse_json(text)
        is_as_written = isinstance(document, dict) and _text(document) == text
    except ValueError as error:
        raise PolicyFileError(f"what {file} says of its policy is damaged: {error}") from error
    if is_as_written and document.get("format") != FORMAT:
        stated = str(document.get("format"))[:40]
        raise PolicyFileError(f"{file} has the format {stated!r}; this version of noms-env reads {FORMAT!r}")
    if not is_as_written or {*ADDED, *document} - {FORMER} != FIELDS or document.get(FORMER, False) not in (True, False):
        raise PolicyFileError(f"what {file} says of its policy is damaged")
    if document.get(FORMER):
        raise PolicyFileError(f"{file} was trained with an input that this version of noms-env no longer has: {FORMER}")
    return dict(document)


def _tensors(file: Path, opened: Any) -> dict[str, np.ndarray]:
    tensors = {}
    for name in opened.keys():  # noqa: SIM118 - not a dictionary
        dtype = opened.get_slice(name).get_dtype()
        if dtype != "F32":
            raise PolicyFileError(f"{file} holds {name!r} as {dtype}; a policy's tensors are F32")
        tensors[name] = opened.get_tensor(name)
    return tensors


def _info(file: Path, document: Mapping[str, Any]) -> PolicyInfo:
    """What the document says, checked."""
    document = {**ADDED, **document}
    version, layout = document["environment"], document["layout"]
    if version != ENV_VERSION:
        raise PolicyFileError(f"{file} was made for version {version!r} of the environments; this is version {ENV_VERSION}")
    if layout != layout_digest():
        raise PolicyFileError(f"{file} was made for another layout of observations or actions than this noms-env has")
    for name, allowed in TYPES.items():
        if not isinstance(document[name], allowed):
            raise PolicyFileError(f"{file} says {document[name]!r} for {name}, which makes no sense")
    values = {name: document[name] for name in TYPES}
    values["options"] = tuple(map(str, values["options"]))
    unknown = sorted(set(values["options"]) - set(choice_names()))
    if unknown:
        raise PolicyFileError(f"{file} names the option {unknown[0]!r}, which this version of noms-env does not have")
    rule_sets, drawn = _rule_sets(file, document["rules"], 1), _rule_sets(file, document["drawn"], 0)
    return PolicyInfo(rule_sets, _network(file, document["network"]), **values, drawn=drawn)


def _rule_sets(file: Path, entries: Any, least: int) -> tuple[Rules, ...]:
    keys = {"variant", "seats", "options"}
    is_list = (
        isinstance(entries, list) and least <= len(entries) <= MAX_RULES and all(isinstance(entry, dict) for entry in entries)
    )
    if not is_list or not all(set(entry) == keys and isinstance(entry["options"], dict) for entry in entries):
        raise PolicyFileError(f"{file} does not say for which games its policy was trained")
    try:
        return tuple(make_rules(game(entry["variant"]), entry["seats"], entry["options"]) for entry in entries)
    except RulesError as error:
        raise PolicyFileError(f"{file} names rules that there are not: {error}") from error


def _network(file: Path, network: Any) -> dict[str, Any]:
    sizes: dict[str, Any] = dict(network) if isinstance(network, dict) else {}
    kind = sizes.pop("kind", "mlp")
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise PolicyFileError(f"{file} has a network of the kind {str(kind)[:40]!r}; there are {', '.join(NETWORKS)}")
    keys = NETWORKS[kind]
    sizes = {"scorer_width": 0, **sizes} if kind == "mlp" else sizes
    is_known = set(sizes) == set(keys) and all(type(size) is int for size in sizes.values())
    if not is_known or not all(least <= sizes[name] <= most for name, (least, most) in keys.items()):
        raise PolicyFileError(f"{file} gives no size of a network: {', '.join(keys)}")
    if kind == "mlp":
        return sizes
    if sizes["token_width"] % sizes["heads"]:
        raise PolicyFileError(f"{file} has {sizes['heads']} heads, which do not divide its token_width, {sizes['token_width']}")
    return {"kind": kind, **sizes}


def _check_tensors(tensors: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]], what: str) -> None:
    """Refuse tensors that are not the parameters of the network: names, types, shapes, infinities and NaN."""
    for name in sorted(set(shapes) ^ set(tensors)):
        raise PolicyFileError(f"{what} {'lacks the' if name in shapes else 'has an unknown'} tensor {name!r}")
    for name, shape in shapes.items():
        tensor = tensors[name]
        if tensor.shape != shape or tensor.dtype != np.float32:
            shown = f"{tensor.dtype} of shape {tensor.shape}"
            raise PolicyFileError(f"{what} has {name!r} as {shown}; it must be float32 of shape {shape}")
        if not math.isfinite(float(np.abs(tensor).max(initial=0))):
            raise PolicyFileError(f"{what} holds numbers in {name!r} that are not finite")
