"""Adapters for libraries that are extras: OpenSpiel, RLlib and Stable-Baselines3."""
