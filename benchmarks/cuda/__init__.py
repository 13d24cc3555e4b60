"""Comparison of tables on a GPU with the CPU: equal bytes, and speed."""
