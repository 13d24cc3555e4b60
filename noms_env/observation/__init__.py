"""Observations as bytes and as features: their layouts, and the compiled functions that write them."""
