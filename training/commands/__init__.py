"""The subcommands of `noms`, one module each.

Each is a function whose arguments `tyro` turns into those of the command line, and which returns the exit status. The
modules import `noms_env` inside the functions: it takes a second, and `noms --help` needs none of it.
"""

from __future__ import annotations
