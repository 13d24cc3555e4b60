"""What learners of other libraries need: RLlib, and any learner on one seat."""
