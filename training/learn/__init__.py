"""The learner: self-play, PPO, the networks, checkpoints."""
