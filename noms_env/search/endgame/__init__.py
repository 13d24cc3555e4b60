"""The endgame solver: values of actions if all cards lie open and all seats play best."""
