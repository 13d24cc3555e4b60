"""Tests of `noms_env` and `training`."""
