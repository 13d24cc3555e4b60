"""Tests with each library of other people, in an environment that has it (`make interop`)."""
