"""Tests of the PettingZoo environments and of what they show."""
