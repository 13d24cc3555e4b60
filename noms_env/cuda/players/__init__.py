"""Players of whole batches on a GPU."""
