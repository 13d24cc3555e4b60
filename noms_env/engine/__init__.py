"""The engine: deals, finds the legal actions, takes them, and shows a seat what it may see. It knows phases, not variants."""
