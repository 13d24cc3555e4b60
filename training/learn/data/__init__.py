"""Data sets of decisions."""
