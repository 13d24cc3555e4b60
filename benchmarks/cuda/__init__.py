"""Tables on a GPU, held against the processor: the same bytes, and how fast."""
