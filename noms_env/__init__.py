"""Nomination whist for reinforcement learning."""
