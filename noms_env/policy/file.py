"""Policy files: tensors in the safetensors format, described by a JSON document in the metadata.

A file is untrusted input. A damaged, foreign or incompatible file is refused with one sentence before it takes much memory.
Nothing here needs torch.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
"""Metadata key of the document."""
MAX_HEADER = 1 << 20
MAX_FILE = 1 << 30
MAX_RULES = 5000
"""The most tables of a policy; so many fit into the header."""
PACKAGES = ("noms-env", "numpy", "numba", "safetensors", "torch")
NETWORKS = {
    "mlp": {"width": (4, 8192), "blocks": (0, 8192), "card_width": (1, 8192), "scorer_width": (0, 512)},
    "attention": {"token_width": (4, 8192), "layers": (1, 64), "heads": (1, 64), "card_width": (1, 8192)},
}
"""Minimum and maximum of each size, by kind of network. A file names its kind unless it is `mlp`."""
TYPES = {
    **{"training": dict, "seed": int, "decisions": int, "score": float | None, "packages": dict, "revision": str | None},
    **{"card_features": bool, "trick_features": bool, "options": list},
}
"""Entries of the document that become fields of `PolicyInfo` unchanged; `options` becomes a tuple."""
FIELDS = {*TYPES, "format", "rules", "drawn", "environment", "layout", "encoding", "network", "sha256"}
ADDED: dict[str, Any] = {"trick_features": False, "drawn": []}
"""Entries that older files lack, with their defaults."""
FORMER = "rule_based_prior"
"""An entry of older files. If it is true, the network has an input that no longer exists."""


class PolicyFileError(ValueError):
    """A file without a usable policy; the message says why."""


@dataclass(frozen=True)
class PolicyInfo:
    """Description of the policy in a policy file.

    Attributes:
        rule_sets: rules of the tables that it was trained on.
        drawn: further rules, sampled for training. A policy with drawn rules plays its games under any options.
        network: sizes, see `NETWORKS` (`scorer_width` is 0 in older files), and `kind` unless it is `mlp`.
        training: configuration of the training run, plain values.
        seed: seed of the training run.
        decisions: number of decisions that it was trained on.
        score: score of the training run, or None.
        packages: versions of the packages that wrote the file.
        revision: revision of the code, from `git describe`; None if unknown.
        card_features: whether its network reads card features (`extra_features`).
        trick_features: whether it reads trick features.
        options: options that its network sees, see `make_encoding`. Defaults to those in which the tables differ.
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
        """Encoding of the network's inputs."""
        return make_encoding(self.rule_sets, self.card_features, self.options, self.trick_features, self.drawn)

    @property
    def playable(self) -> tuple[Rules, ...]:
        """Rules of the tables that it can play at: `AnyOptions` if it was trained with drawn rules."""
        return AnyOptions.of(self.rule_sets, self.drawn, self.options) if self.drawn else self.rule_sets


def parameter_shapes(encoding: Encoding, network: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of an actor's parameters; `network` as in `PolicyInfo`."""
    return attention.shapes_of(encoding, network) if kind_of(network) == "attention" else shapes_of(encoding, network)


def kind_of(network: Mapping[str, Any]) -> str:
    """Return the kind of a network: `mlp` or `attention`."""
    return str(network.get("kind", "mlp"))


def package_versions() -> dict[str, str]:
    """Return the versions of the installed packages that affect a policy."""
    versions = {}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def save_policy(path: Path | str, tensors: Mapping[str, np.ndarray], info: PolicyInfo) -> None:
    """Write a policy file, with the names and shapes of `parameter_shapes`; an older file is unharmed until it is replaced.

    Raises:
        PolicyFileError: the tensors do not fit the network, are not float32 or not finite, or there are more than `MAX_RULES`
            rules or drawn rules.
        OSError: the file cannot be written.
    """
    encoding = info.encoding
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    _check_tensors(arrays, parameter_shapes(encoding, info.network), "the policy")
    if max(len(info.rule_sets), len(info.drawn)) > MAX_RULES:
        raise PolicyFileError(f"a policy file has at most {MAX_RULES:,} rules, and as many drawn ones")
    document = {
        "format": FORMAT,
        "rules": _list_rules(info.rule_sets),
        **({"drawn": _list_rules(info.drawn)} if info.drawn else {}),
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


def _list_rules(rule_sets: Sequence[Rules]) -> list[dict[str, Any]]:
    return [{"variant": rules.variant.name, "seats": rules.seats, "options": given_options(rules)} for rules in rule_sets]


def _text(document: Mapping[str, Any]) -> str:
    """Return canonical JSON: equal documents give equal text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _digest(document: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of the document without its own entry, and of each tensor's name, dtype, shape and bytes."""
    digest = hashlib.sha256(_text({name: value for name, value in document.items() if name != "sha256"}).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(_text({"name": name, "type": str(tensor.dtype), "shape": tensor.shape}).encode())
        digest.update(np.ascontiguousarray(tensor).view(np.uint8).data)
    return digest.hexdigest()


def read_policy(path: Path | str) -> tuple[PolicyInfo, Encoding, dict[str, np.ndarray]]:
    """Return the description, the encoding and the tensors in a policy file; PolicyFileError if it holds no usable policy."""
    file = Path(path)
    with _open_policy(file) as policy:
        document = _read_document(file, policy.metadata())
        tensors = _read_tensors(file, policy)
    if document["sha256"] != _digest(document, tensors):
        raise PolicyFileError(f"{file} is damaged: its content does not have the SHA-256 that it was written with")
    info = _parse_info(file, document)
    encoding = info.encoding
    if document["encoding"] != encoding.digest:
        raise PolicyFileError(f"{file} was made for another encoding of observations than that of this version of noms-env")
    _check_tensors(tensors, parameter_shapes(encoding, info.network), str(file))
    return info, encoding, tensors


def read_info(path: Path | str) -> PolicyInfo:
    """Read the description in a policy file; errors as in `read_policy`. The tensors are neither read nor checked."""
    file = Path(path)
    with _open_policy(file) as policy:
        document = _read_document(file, policy.metadata())
    return _parse_info(file, document)


@contextmanager
def _open_policy(file: Path) -> Iterator[Any]:
    """Open a policy file: its header is read at once, tensors on demand.

    A file is not opened if its size, or the header length in its first eight bytes, is impossible for a policy.
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
        raise PolicyFileError(f"{file} is larger than any policy: {size} bytes, where {MAX_FILE} are allowed")
    if size < 8 or header > min(size - 8, MAX_HEADER):
        raise PolicyFileError(f"{file} is not a safetensors file with a policy, or it was cut off")
    try:
        with safe_open(file, framework="numpy") as policy:
            yield policy
    except PolicyFileError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise PolicyFileError(f"{file} is not a safetensors file, or it is damaged: {error}") from error


def _read_document(file: Path, entries: Mapping[str, str] | None) -> dict[str, Any]:
    text = (entries or {}).get(KEY)
    if text is None:
        raise PolicyFileError(f"{file} is a safetensors file without {KEY!r} in its metadata: not a policy of noms-env")
    try:
        document = parse_json(text)
        is_as_written = isinstance(document, dict) and _text(document) == text
    except ValueError as error:
        raise PolicyFileError(f"the description of the policy in {file} is damaged: {error}") from error
    if is_as_written and document.get("format") != FORMAT:
        stated = str(document.get("format"))[:40]
        raise PolicyFileError(f"{file} has the format {stated!r}; this version of noms-env reads {FORMAT!r}")
    if not is_as_written or {*ADDED, *document} - {FORMER} != FIELDS or document.get(FORMER, False) not in (True, False):
        raise PolicyFileError(f"the description of the policy in {file} is damaged")
    if document.get(FORMER):
        raise PolicyFileError(f"{file} was trained with an input that this version of noms-env no longer has: {FORMER}")
    return dict(document)


def _read_tensors(file: Path, policy: Any) -> dict[str, np.ndarray]:
    tensors = {}
    for name in policy.keys():  # noqa: SIM118 - not a dictionary
        dtype = policy.get_slice(name).get_dtype()
        if dtype != "F32":
            raise PolicyFileError(f"{file} holds {name!r} as {dtype}; a policy's tensors are F32")
        tensors[name] = policy.get_tensor(name)
    return tensors


def _parse_info(file: Path, document: Mapping[str, Any]) -> PolicyInfo:
    """Check the document, and return it as a `PolicyInfo`."""
    document = {**ADDED, **document}
    version, layout = document["environment"], document["layout"]
    if version != ENV_VERSION:
        raise PolicyFileError(f"{file} was made for version {version!r} of the environments; this is version {ENV_VERSION}")
    if layout != layout_digest():
        raise PolicyFileError(f"{file} was made for another layout of observations or actions than that of this noms-env")
    for name, allowed in TYPES.items():
        if not isinstance(document[name], allowed):
            expected = getattr(allowed, "__name__", allowed)
            raise PolicyFileError(f"{file} says {document[name]!r} for {name}, which must be {expected}")
    values = {name: document[name] for name in TYPES}
    values["options"] = tuple(map(str, values["options"]))
    unknown = sorted(set(values["options"]) - set(choice_names()))
    if unknown:
        raise PolicyFileError(f"{file} names the option {unknown[0]!r}, which this version of noms-env does not have")
    rule_sets, drawn = _parse_rules(file, document["rules"], 1), _parse_rules(file, document["drawn"], 0)
    return PolicyInfo(rule_sets, _parse_network(file, document["network"]), **values, drawn=drawn)


def _parse_rules(file: Path, entries: Any, least: int) -> tuple[Rules, ...]:
    keys = {"variant", "seats", "options"}
    is_list = (
        isinstance(entries, list) and least <= len(entries) <= MAX_RULES and all(isinstance(entry, dict) for entry in entries)
    )
    if not is_list or not all(set(entry) == keys and isinstance(entry["options"], dict) for entry in entries):
        raise PolicyFileError(f"{file} does not say for which games its policy was trained")
    try:
        return tuple(make_rules(game(entry["variant"]), entry["seats"], entry["options"]) for entry in entries)
    except RulesError as error:
        raise PolicyFileError(f"{file} names invalid rules: {error}") from error


def _parse_network(file: Path, network: Any) -> dict[str, Any]:
    sizes: dict[str, Any] = dict(network) if isinstance(network, dict) else {}
    kind = sizes.pop("kind", "mlp")
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise PolicyFileError(f"{file} has a network of the kind {str(kind)[:40]!r}; there are {', '.join(NETWORKS)}")
    keys = NETWORKS[kind]
    sizes = {"scorer_width": 0, **sizes} if kind == "mlp" else sizes
    is_known = set(sizes) == set(keys) and all(type(size) is int for size in sizes.values())
    if not is_known or not all(least <= sizes[name] <= most for name, (least, most) in keys.items()):
        allowed = ", ".join(f"{name} from {least} to {most}" for name, (least, most) in keys.items())
        raise PolicyFileError(f"{file} must give the sizes of its network: {allowed}")
    if kind == "mlp":
        return sizes
    if sizes["token_width"] % sizes["heads"]:
        raise PolicyFileError(f"{file} has {sizes['heads']} heads, which do not divide its token_width, {sizes['token_width']}")
    return {"kind": kind, **sizes}


def _check_tensors(tensors: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]], what: str) -> None:
    """Refuse tensors with names, dtypes or shapes that do not fit the network, or with infinities or NaN."""
    for name in sorted(set(shapes) ^ set(tensors)):
        raise PolicyFileError(f"{what} {'lacks the' if name in shapes else 'has an unknown'} tensor {name!r}")
    for name, shape in shapes.items():
        tensor = tensors[name]
        if tensor.shape != shape or tensor.dtype != np.float32:
            shown = f"{tensor.dtype} of shape {tensor.shape}"
            raise PolicyFileError(f"{what} has {name!r} as {shown}; it must be float32 of shape {shape}")
        if not math.isfinite(float(np.abs(tensor).max(initial=0))):
            raise PolicyFileError(f"{what} holds numbers in {name!r} that are not finite")
