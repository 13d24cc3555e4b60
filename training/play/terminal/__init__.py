"""What a person sees and types on a terminal."""
