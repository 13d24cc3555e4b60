"""Human play: sessions, narration and score sheets, on a terminal and in a browser."""
