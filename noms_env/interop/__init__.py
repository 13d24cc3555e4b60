"""Adapters for optional libraries: OpenSpiel, RLlib and Stable-Baselines3."""
