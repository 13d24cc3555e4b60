"""Tests with other libraries, each in its own environment (`make interop`)."""
