"""One learner among players: the Gymnasium environment, and thousands of tables of it side by side."""
