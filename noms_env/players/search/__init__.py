"""Search: players that try their actions on imagined cards, and the solver that they use. Loaded when one is made."""
