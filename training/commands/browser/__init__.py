"""`noms table` and what else is shown in a browser."""
