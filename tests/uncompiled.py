"""Run modules of the tests with the compiler off."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def printed_uncompiled(module: str, *words: str) -> Any:
    """Run a module with the compiler off and return the JSON that it prints."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-m", module, *words]
    root = Path(__file__).parents[1]
    result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
