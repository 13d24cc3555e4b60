"""Run Python in another process, if need be with the compiler off."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def run_python(*words: object, cwd: Path = ROOT, **variables: str) -> str:
    """Run Python with further environment variables and return its output; it must succeed."""
    command = [sys.executable, *map(str, words)]
    environment = os.environ | variables
    result = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def printed_uncompiled(module: str, *words: str) -> Any:
    """Run a module with the compiler off and return the JSON that it prints."""
    return json.loads(run_python("-W", "error", "-m", module, *words, NUMBA_DISABLE_JIT="1"))
