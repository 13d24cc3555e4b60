"""The engine: deals, legal actions and steps. It depends on phases, not on variants."""
