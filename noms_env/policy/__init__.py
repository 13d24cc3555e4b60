"""Trained policies without torch: what a network reads, its compiled inference, its file, and the player."""
