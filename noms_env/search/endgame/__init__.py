"""The solver of endings: what actions are worth when all cards lie open and everybody plays best."""
