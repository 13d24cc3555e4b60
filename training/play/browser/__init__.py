"""Tables in a browser: live play, and recorded deals as a page or as pictures."""
