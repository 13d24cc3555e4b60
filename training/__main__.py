"""`python -m training` is the console command `noms`."""

from __future__ import annotations

import sys

from training.cli import main

sys.exit(main())
