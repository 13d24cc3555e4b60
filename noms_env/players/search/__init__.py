"""Search: players that try their actions on sampled cards, and the solver that they use. Loaded when one is made."""
