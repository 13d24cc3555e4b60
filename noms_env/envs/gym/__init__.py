"""Gymnasium environments for one learner among players: one table, or a vector environment of thousands."""
