"""Tables in a browser: recorded deals as a page and as pictures."""
