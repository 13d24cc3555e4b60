"""Micro-games: deals on short decks, small enough to be solved exactly; solutions, and how far a player is from one."""
