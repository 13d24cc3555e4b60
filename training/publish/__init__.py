"""Model cards, leaderboards and plots, from the files of runs and evaluations."""
