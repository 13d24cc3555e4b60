"""Baselines of the benchmark: each file is an algorithm for `noms benchmark run`."""
