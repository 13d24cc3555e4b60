"""Screen and typed input of a person on a terminal."""
