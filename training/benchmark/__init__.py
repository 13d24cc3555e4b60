"""The benchmark: its protocols, training, scoring, checks and reports."""
