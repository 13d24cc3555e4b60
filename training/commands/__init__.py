"""The subcommands of `noms`, one module each.

Each is a function whose arguments `tyro` turns into those of the command line, and which returns the exit status. `cli` imports
a module when its subcommand is asked for. Modules that need torch are imported in the functions that use them.
"""

from __future__ import annotations
