"""Adapters: the engine in the form that other libraries expect. They translate names and types, and know no card."""
