"""Speed benchmark of the engine, the environments and the trainer against other packages.

`clock` measures cases in turns, `ours` and `peers` define the cases, `start` measures imports and compilation, `train` and
`train_peers` measure trainers, `report` writes tables and JSON, `plot` draws a picture.
"""
