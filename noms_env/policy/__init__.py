"""Trained policies without torch: inputs, compiled inference, files, and the player."""
