"""Who may sit at a table: players by name, external programs, and the tables they play at."""
