"""Players that are asked for whole batches on a GPU."""
