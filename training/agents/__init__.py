"""Players by name, and the tables at which they play."""
