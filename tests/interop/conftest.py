"""Collect the tests of installed libraries only; `make interop` has an environment for each library."""

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
"""The name in our files, and the name to import."""

HERE = Path(__file__).parent

collect_ignore = [str(HERE / f"test_{name}.py") for name, module in LIBRARIES.items() if find_spec(module) is None]
