"""Play with people: sessions, narration and score sheets, on a terminal and in a browser."""
