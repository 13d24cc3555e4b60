"""The subcommands of `noms`, one module each.

A subcommand is a function that returns the exit status; `tyro` derives its options from the signature. `cli` imports a module
only when its subcommand runs. Modules that need torch are imported inside functions.
"""

from __future__ import annotations
