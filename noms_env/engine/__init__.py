"""The engine: deals, legal actions, steps and observations. It knows phases, not variants."""
