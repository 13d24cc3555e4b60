"""Micro-games: deals on short decks that can be solved exactly, their solutions, and the exploitability of players."""
