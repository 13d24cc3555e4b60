"""What plain trick-taking games have, in which nobody bids: an objective (rules 1)."""

from __future__ import annotations

OBJECTIVES = ("least", "most")
LEAST, MOST = range(2)
