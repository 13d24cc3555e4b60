"""Players by name, and table pools."""
