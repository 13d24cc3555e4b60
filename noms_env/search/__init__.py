"""Search: players that try their actions in sampled worlds, and the endgame solver. Modules are loaded on demand."""
