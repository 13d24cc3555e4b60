"""`python -m noms_training` is the console command `noms`."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
