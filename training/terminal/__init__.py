"""What a person sees and types: progress bars, tables, the screen of a game."""
