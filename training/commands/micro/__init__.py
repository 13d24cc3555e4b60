"""The subcommands about micro-games: games small enough to be solved exactly."""
