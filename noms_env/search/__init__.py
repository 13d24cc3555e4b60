"""Search: players that try their actions in sampled worlds, and the solver of endings. Modules are loaded when one is made."""
