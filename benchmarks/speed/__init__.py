"""Measured speed: of the engine, the environments and the trainer, beside what other packages offer for the same work.

`clock` measures cases by turns, `ours` and `peers` say what is measured, `start` measures imports and compilation, `train`
and `train_peers` measure trainers; `report` writes tables and JSON, `plot` a picture.
"""
