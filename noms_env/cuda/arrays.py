"""Arrays on a GPU, and zero-copy exchange with other libraries."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import config, cuda

from noms_env.cuda import streams

SIMULATED = bool(config.ENABLE_CUDASIM)
"""Whether numba's simulator replaces the GPU: its arrays are numpy arrays."""


class GpuArray:
    """An array on the GPU; torch, CuPy and JAX read and write the same memory.

    `torch.as_tensor(array, device="cuda")` and `cupy.asarray(array)` use `__cuda_array_interface__`,
    `jax.dlpack.from_dlpack(array)` uses DLPack. All work of the batch is ordered on the stream `streams.current`, which is
    torch's current stream if torch uses the GPU. A reader on another stream must wait for that stream itself.

    Attributes:
        shape: the shape.
        dtype: numpy dtype.
        strides: in bytes.
        native: the numba array that owns the memory.
        padded: the array with all columns: contiguous rows, as JAX requires. The added columns have no meaning.
    """

    def __init__(self, native: Any, dtype: Any = None, columns: int | None = None) -> None:
        """Wrap a numba array. `dtype` reinterprets its rows, and `columns` limits them to the first columns."""
        self.native = native
        self.dtype = np.dtype(native.dtype if dtype is None else dtype)
        shape, self.strides = tuple(native.shape), tuple(native.strides)
        if self.dtype != native.dtype:
            shape = (*shape[:-1], shape[-1] * native.dtype.itemsize // self.dtype.itemsize)
            self.strides = (*self.strides[:-1], self.dtype.itemsize)
        self.shape: tuple[int, ...] = shape if columns is None else (*shape[:-1], columns)
        self.padded = self if self.shape == shape else GpuArray(native, dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<GpuArray: {self.dtype} of shape {self.shape}>"

    def to_numpy(self) -> np.ndarray:
        """Return a copy in host memory. Synchronizes with the GPU."""
        host = streams.to_host(self.native)
        same: np.ndarray = host if self.dtype == host.dtype else host.view(self.dtype)
        return same if self.padded is self else np.ascontiguousarray(same[..., : self.shape[-1]])

    @property
    def address(self) -> int:
        """Address of the first byte."""
        if SIMULATED:
            return int(self.native._ary.ctypes.data)
        return int(self.native.__cuda_array_interface__["data"][0])

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, without a stream, so that the reader does not synchronize."""
        if SIMULATED:
            raise AttributeError("the simulator has no memory of a GPU")
        gaps = self.padded is not self
        return {
            "shape": self.shape,
            "strides": self.strides if gaps else None,
            "data": (self.address, False),
            "typestr": self.dtype.str,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0) if SIMULATED else (_CUDA, int(cuda.get_current_device().id))

    def __dlpack__(
        self, *, stream: int | None = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Return a DLPack capsule. The reader's stream waits for the work launched so far; -1 for no wait.

        Raises:
            BufferError: the reader requests a copy or another device.
        """
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("a GpuArray can be shared only on its own device and without a copy")
        if stream != -1:
            streams.let_wait(stream)
        return _capsule(self)


def to_gpu(array: np.ndarray) -> GpuArray:
    """Copy an array to the GPU."""
    return GpuArray(streams.to_device(np.asarray(array)))


_CPU, _CUDA = 1, 2
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _Tensor(ctypes.Structure):
    """DLPack's `DLManagedTensor`, flattened."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_NAME = b"dltensor"
_lent: dict[int, tuple[Any, ...]] = {}
"""Objects that must outlive the readers' tensors, by the address of the `_Tensor`."""


def _give_back(address: int) -> None:
    _lent.pop(address, None)


def _drop_capsule(capsule: int) -> None:
    """Release a capsule that no reader has consumed; a reader renames the capsule."""
    if _python.PyCapsule_IsValid(capsule, _NAME):
        _lent.pop(_python.PyCapsule_GetPointer(capsule, _NAME), None)


_python = ctypes.PyDLL(None)
_python.PyCapsule_IsValid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_python.PyCapsule_GetPointer.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_python.PyCapsule_New.restype = ctypes.py_object
_DELETER, _DESTRUCTOR = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function) for function in (_give_back, _drop_capsule))
for _kept in (_DELETER, _DESTRUCTOR):  # readers may call them during the shutdown of the interpreter
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


def _capsule(array: GpuArray) -> Any:
    ndim, itemsize = len(array.shape), array.dtype.itemsize
    numbers = ctypes.c_int64 * ndim
    shape, strides = numbers(*array.shape), numbers(*(stride // itemsize for stride in array.strides))
    kind, number = array.__dlpack_device__()
    deleter = ctypes.cast(_DELETER, ctypes.c_void_p)
    code = _CODES[array.dtype.kind]
    tensor = _Tensor(array.address, kind, number, ndim, code, 8 * itemsize, 1, shape, strides, 0, None, deleter)
    address = ctypes.addressof(tensor)
    _lent[address] = (array, tensor, shape, strides)
    return _python.PyCapsule_New(address, _NAME, ctypes.cast(_DESTRUCTOR, ctypes.c_void_p))
