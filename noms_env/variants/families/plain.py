"""The objective of plain trick-taking games, which have no bidding (rules 1)."""

from __future__ import annotations

OBJECTIVES = ("least", "most")
LEAST, MOST = range(2)
