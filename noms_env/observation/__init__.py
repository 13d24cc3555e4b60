"""What a seat sees, as bytes: the layout, and the compiled functions that write it."""
