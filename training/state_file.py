"""Tensors and plain values in containers as bytes, and back: a file of safetensors whose metadata say what lies where.

Nothing in such bytes can run code: tensors are numbers with a type and a shape, and all else is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

KEY = "state"
"""Of the metadata. Tensors are `{"tensor": "0"}` there, containers `{"dict": [[name, value], ...]}`, `{"list": [...]}` and
`{"tuple": [...]}`, plain values themselves."""


def to_bytes(state: Mapping[str, Any]) -> bytes:
    """A state as bytes: tensors (without what else shares their memory), None, booleans, numbers, texts, and containers.

    Raises:
        TypeError: there is something else in it.
    """
    tensors: dict[str, Tensor] = {}
    document = json.dumps(_packed(state, "state", tensors))
    return bytes(save(tensors, {KEY: document}))


def from_bytes(content: bytes) -> dict[str, Any]:
    """The state that `to_bytes` was given; tensors are on the CPU.

    Raises:
        ValueError: it was given none for these bytes.
    """
    try:
        tensors = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        state = _unpacked(json.loads(header["__metadata__"][KEY]), tensors)
    except (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(state, dict):
        raise ValueError(f"it holds a {type(state).__name__}")
    return state


def _packed(value: Any, where: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().clone().contiguous()
        return {"tensor": name}
    if isinstance(value, Mapping):
        for name in value:
            if type(name) not in (int, str):
                raise TypeError(f"{where} has the key {name!r}; only numbers and texts can be keys")
        return {"dict": [[name, _packed(part, f"{where}[{name!r}]", tensors)] for name, part in value.items()]}
    if isinstance(value, list | tuple):
        parts = [_packed(part, f"{where}[{place}]", tensors) for place, part in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError(f"{where} is a {type(value).__name__}; only tensors, numbers, texts and containers can be kept")


def _unpacked(document: Any, tensors: Mapping[str, Tensor]) -> Any:
    if not isinstance(document, dict):
        return document
    ((kind, content),) = document.items()
    if kind == "tensor":
        return tensors[content].clone()
    if kind == "dict":
        return {name: _unpacked(part, tensors) for name, part in content}
    parts = [_unpacked(part, tensors) for part in content]
    return {"list": parts, "tuple": tuple(parts)}[kind]
