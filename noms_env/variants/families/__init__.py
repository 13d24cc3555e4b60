"""What the variants of one family share: the exact-bid games, and the auction games."""
