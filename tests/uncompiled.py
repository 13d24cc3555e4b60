"""Python modules of the tests, run with the compiler off."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def printed_uncompiled(module: str, *words: str) -> Any:
    """The JSON that a module prints when it runs with the compiler off."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-m", module, *words]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
