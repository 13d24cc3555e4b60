"""Tables on a GPU: kernel launches and device arrays. `BatchEnv(..., device="cuda")` is the entry point.

This package contains no rules, features or players. The kernels (`kernels`) call the compiled functions of the CPU engine, one
thread per table; numba-cuda compiles them for the GPU.
"""
