"""Fitted weights: how likely a card is to take a trick later on, from a few counts.

The chance of a card is 1 / (1 + exp(-sum)), where the sum adds up the counts of `COUNTS`, each times its weight. The weights
were fitted by logistic regression (ridge 3) to the tricks of cards in self-play: 0.6 to 1.5 million cards for each mood (90,000
for `DECKTET_DUCKING`). There were three or more rounds: play, fit, play with the new weights, and so on. The tables had 3 to 7
seats and 1 to 17 cards, so one set of weights serves all hand sizes and numbers of seats.

A mood is the goal of the game. In the exact-bid games seats compete for tricks until their call is made; in ducking and taking
games every trick is bad, or good. The Decktet has its own weights, since most of its cards bear two suits.
"""

from __future__ import annotations

import numpy as np

COUNTS = (
    "1",
    "higher cards of its suit that others are expected to hold",
    "chance that nobody holds a higher one, as if each lay there by itself",
    "own higher cards of the suit",
    "own lower cards of the suit",
    "cards of the suit that each other seat is expected to hold",
    "trumps that each other seat is expected to hold (for a card that is no trump)",
    "own trumps",
    "tricks that the others still want, per trick left (exact-bid games only)",
    "own cards",
)
"""Columns of `WEIGHTS`, counted over the cards left after the present trick."""

TRUMP, SIDE, PLAIN = range(3)  # kinds of cards: trumps; other cards, if there are trumps; cards without trumps

CONTRACT, DUCKING, TAKING, DECKTET_TAKING, DECKTET_DUCKING = range(5)  # moods

WEIGHTS = np.array(
    [
        [  # CONTRACT: the exact-bid games
            [-0.89, -0.43, 3.15, 0.26, 0.76, 0.79, 0.00, 0.12, -2.04, 0.04],
            [-1.88, -0.70, 0.91, -0.12, -0.31, 1.04, -0.18, 0.01, -2.21, 0.20],
            [-2.06, -0.66, 1.73, 0.11, 0.16, 1.06, 0.00, 0.00, -1.18, 0.09],
        ],
        [  # DUCKING: the fewest tricks win; Misere
            [0.28, -0.59, 1.69, -0.09, 0.08, 0.63, 0.00, 0.26, 0.00, -0.11],
            [-1.22, -0.60, -0.22, -0.09, -0.73, 0.72, -0.34, 0.15, 0.00, 0.13],
            [-0.81, -0.59, 0.10, -0.18, -0.67, 0.79, 0.00, 0.00, 0.00, 0.06],
        ],
        [  # TAKING: the auction games; the most tricks win
            [-0.31, -0.45, 3.52, 0.03, 0.72, 0.27, 0.00, 0.44, 0.00, -0.17],
            [-2.70, -0.80, 1.28, 0.04, 0.15, 0.58, -0.40, 0.12, 0.00, 0.15],
            [-2.83, -0.62, 1.98, 0.23, 0.47, 0.20, 0.00, 0.00, 0.00, 0.14],
        ],
        [  # DECKTET_TAKING: Some and Most
            [-0.26, -0.33, 2.58, 0.11, 0.26, 0.02, 0.00, 0.11, 0.00, 0.13],
            [-2.70, -0.70, 1.08, -0.07, 0.10, 0.70, -0.45, 0.15, 0.00, 0.11],
            [-2.06, -0.62, 1.17, 0.10, 0.04, 0.33, 0.00, 0.00, 0.00, 0.10],
        ],
        [  # DECKTET_DUCKING: None
            [-1.35, -0.38, 1.80, 0.56, 0.55, 0.48, 0.00, -0.25, 0.00, 0.07],
            [-3.69, -0.67, -0.58, -0.14, -0.29, 0.82, -0.29, 0.13, 0.00, 0.24],
            [2.00, -1.30, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00],
        ],
    ]
)
"""[mood, kind, count]. The last row is a guess: None without trumps is too rare to measure."""
