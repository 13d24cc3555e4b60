"""Support for learners of other libraries: RLlib, and any learner on one seat."""
