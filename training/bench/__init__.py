"""Measured speed: of the engine and the environments, beside what other packages offer for the same work.

`clock` measures cases by turns, `ours` and `peers` say what is measured, `start` measures imports and compilation,
`report` writes tables and JSON, `plot` a picture.
"""
