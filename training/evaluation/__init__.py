"""Strength and behaviour of players: duplicate deals, tournaments, statistics."""
