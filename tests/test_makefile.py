"""`make interop` tries every library."""

import os
import subprocess
from pathlib import Path


def test_make_interop_continues_after_a_failing_library() -> None:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "interop", "LIBRARIES=no_such_library neither"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], env=outer, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    for library in ("no_such_library", "neither"):
        assert f"interop-{library}" in done.stderr
