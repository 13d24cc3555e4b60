"""Speed benchmark of the engine, the environments and the trainer, and of other packages.

`clock` measures cases in turns; `ours`, `peers`, `train` and `train_peers` define the cases; `report` writes tables and JSON;
`plot` draws a picture.
"""
