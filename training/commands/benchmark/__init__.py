"""`noms benchmark`: run, score, check, report."""
