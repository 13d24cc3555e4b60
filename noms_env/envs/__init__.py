"""Adapters from the engine to other libraries. They translate names and types, and contain no rules of play."""
