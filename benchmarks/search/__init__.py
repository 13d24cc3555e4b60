"""Measures of the players that search: strength over time, beliefs, time, regret."""
