"""Device, precision and processes of a run (`torchrun --nproc_per_node=K -m noms_training train ...`).

Each process has its own tables and its own share of the decisions. DistributedDataParallel averages the gradients (gloo on
CPUs, nccl on GPUs). Without torchrun there is a single process, and all collective operations are identities.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numba
import torch
from torch import Tensor, distributed, nn

SIMULATED = bool(numba.config.ENABLE_CUDASIM)
"""Whether numba simulates the GPU: then the tables of a run on `cuda` are simulated, and torch runs on the CPU."""


@dataclass(frozen=True)
class Processes:
    """Processes of a run; this one has number `rank` of `world`. Actor and critic update in parallel, each in a group."""

    rank: int = 0
    world: int = 1
    groups: tuple[Any, Any] = (None, None)

    @property
    def leads(self) -> bool:
        """Whether this process writes the files and the output."""
        return self.rank == 0

    def wrap(self, module: nn.Module, group: int) -> nn.Module:
        """Wrap a module to average gradients over the processes of a group; parameters start as those of rank 0."""
        if self.world == 1:
            return module
        return nn.parallel.DistributedDataParallel(module, process_group=self.groups[group])

    def all_sum(self, values: Tensor, group: int | None = None) -> Tensor:
        """Return the sum over the processes, float64; `group` as in `wrap`."""
        total = values.double()
        if self.world == 1:
            return total
        sent = total.to(self._device(), copy=True)
        distributed.all_reduce(sent, group=None if group is None else self.groups[group])
        return sent.to(values.device)

    def broadcast(self, wish: bool) -> bool:
        """Return the first process's `wish` in all processes."""
        return bool(self.all_sum(torch.tensor(float(wish and self.leads))) > 0)

    def all_gather(self, own: Tensor) -> list[Tensor]:
        """Return the tensors of all processes; they must have one shape."""
        if self.world == 1:
            return [own]
        sent = own.contiguous().to(self._device())
        parts = [torch.empty_like(sent) for _ in range(self.world)]
        distributed.all_gather(parts, sent)
        return [part.to(own.device) for part in parts]

    def _device(self) -> str:
        return "cuda" if distributed.get_backend() == "nccl" else "cpu"


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Join the processes that torchrun started, if any, until the context ends; `device`: `cpu` or `cuda`."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Processes()
        return
    distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        groups = (distributed.new_group(), distributed.new_group())
        yield Processes(distributed.get_rank(), distributed.get_world_size(), groups)
    finally:
        distributed.destroy_process_group()


def device_of(name: str) -> str:
    """Resolve the device of a configuration, and select the GPU of this process; ValueError if there is none."""
    if name == "cuda" and SIMULATED:
        return "cpu"
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda is not available: torch finds no GPU; use cpu or auto")
    if name not in ("cpu", "cuda"):
        raise ValueError(f"device must be auto, cpu or cuda, not {name!r}")
    if name == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        torch.zeros(1, device="cuda")  # creates the context that numba uses
    return name


def compile_network(network: nn.Module, *example: Any) -> str:
    """Compile a network for calls like `example` with any number of rows; return why torch cannot, or ""."""
    try:
        network.compile(dynamic=True)
        network(*example).sum().backward()
    except Exception as error:  # compilers raise many types
        network._compiled_call_impl = None
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    finally:
        network.zero_grad(set_to_none=True)
    return ""


def precision_of(name: str, device: str) -> torch.dtype:
    """Resolve the precision of passes through the networks; parameters are always float32."""
    if name == "auto":
        fast = torch.cuda.is_bf16_supported() if device == "cuda" else bf16_is_fast(torch.cpu.get_capabilities())
        return torch.bfloat16 if fast else torch.float32
    return torch.bfloat16 if name == "bf16" else torch.float32


def bf16_is_fast(cpu: Mapping[str, Any]) -> bool:
    """Return whether bf16 is faster than fp32: with AMX and AMD's AVX-512; with Intel's AVX-512 it takes twice as long."""
    return bool(cpu.get("amx_bf16")) or (bool(cpu.get("avx512_bf16")) and "Intel" not in str(cpu.get("cpu_name")))
