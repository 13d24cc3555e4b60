"""Tables on a GPU: the launches, and the arrays that stay there.

No rule, no feature and no player is written here. The kernels (`kernels`) call the package's own compiled functions, one thread
for each table; numba-cuda compiles them for the GPU when it meets them. `BatchEnv(..., device="cuda")` is the way in.
"""
