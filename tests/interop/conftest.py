"""The tests of a library are collected where it is installed; `make interop` has an environment for each."""

from importlib.util import find_spec
from pathlib import Path

LIBRARIES = {
    "agilerl": "agilerl",
    "pufferlib": "pufferlib",
    "rllib": "ray",
    "sb3": "sb3_contrib",
    "supersuit": "supersuit",
    "tianshou": "tianshou",
    "torchrl": "torchrl",
}
"""The name of each library here, and of what it is imported as."""

HERE = Path(__file__).parent

collect_ignore = [str(HERE / f"test_{name}.py") for name, module in LIBRARIES.items() if find_spec(module) is None]
