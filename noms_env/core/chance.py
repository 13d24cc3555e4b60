"""Counter-based random numbers: Philox-4x32-10.

Every draw is a pure function of (seed, table, match, deal, purpose, index). The seed is the 64-bit key, and the others are the
128-bit counter. No draw depends on earlier draws or actions, the batch, threads or library versions, so deal d of match m at
table t never changes.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; the
known-answer vectors of their Random123 library are in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import brief, is_integer

# Purposes: the chance events that draws are for.
DRAW_DEALER, DRAW_SHUFFLE, DRAW_CUT, DRAW_TRUMP, DRAW_PLACE, DRAW_SNIPED = range(6)
DRAW_TRICK_ORDER, DRAW_PILE_ORDER, DRAW_REDEAL = range(6, 9)

MAX_SEED = 2**63 - 1
MAX_TABLE = 2**32 - 1

_WORD = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85


@jit
def philox(c0, c1, c2, c3, k0, k1):
    """Return one block, four random 32-bit words, from a counter of four words and a key of two; all are held in int64.

    Compiled products wrap in 64 bits, and Python's are exact; the masks make both equal.
    """
    for _ in range(_ROUNDS):
        p0 = c0 * _MULTIPLIER_0
        p1 = c2 * _MULTIPLIER_1
        c0, c2 = ((p1 >> 32) & _WORD) ^ c1 ^ k0, ((p0 >> 32) & _WORD) ^ c3 ^ k1
        c1, c3 = p1 & _WORD, p0 & _WORD
        k0 = (k0 + _WEYL_0) & _WORD
        k1 = (k1 + _WEYL_1) & _WORD
    return c0, c1, c2, c3


@jit
def draw_block(t, purpose, index):
    """Return block `index` of a purpose in the current deal: four random 32-bit words."""
    seed = int(t.seed)
    counter = int(index) | (purpose << 24)
    return philox(counter, int(t.deal), int(t.match) & _WORD, int(t.table) & _WORD, seed & _WORD, (seed >> 32) & _WORD)


@jit
def draw_below(t, purpose, n):
    """Draw a uniform number from 0..n-1 for a purpose of the current deal (n below 2**16; bias below n / 2**32)."""
    return (draw_block(t, purpose, 0)[0] * n) >> 32


@jit
def shuffle(t, purpose, cards, count, start=0):
    """Shuffle `cards[:count]` in place (Fisher-Yates, from the front), with two draws per random word.

    `start` is the first block to draw from; one block is enough for nine cards.

    With n values left, the word times n has the draw in its upper half and a fresh word in its lower half. Two draws per
    word leave a bias below n * (n - 1) / 2**32, less than one in a million.
    """
    words = draw_block(t, purpose, start)
    for first in range(0, count - 1, 2):
        place = first // 2
        if place > 0 and place % 4 == 0:
            words = draw_block(t, purpose, start + place // 4)
        product = words[place % 4] * (count - first)
        other = first + (product >> 32)
        cards[first], cards[other] = cards[other], cards[first]
        if first + 1 < count - 1:
            product = (product & _WORD) * (count - first - 1)
            other = first + 1 + (product >> 32)
            cards[first + 1], cards[other] = cards[other], cards[first + 1]


def check_seed(seed: int) -> int:
    """Return a seed as an int; raises ValueError if it is not an integer from 0 to 2**63 - 1."""
    if not is_integer(seed) or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed must be an integer from 0 to 2**63 - 1, not {brief(seed)}")
    return int(seed)


Seeds = np.ndarray | Sequence[int] | int | np.random.Generator
"""The seed of each row's random draws, or a generator that draws the seeds (`draw_seeds`)."""


def draw_seeds(source: Seeds, rows: int) -> np.ndarray:
    """Draw one seed per row from a generator, or check seeds.

    Args:
        source: a generator, which draws one integer per row; or integers from 0 to 2**63 - 1, one per row.
        rows: number of rows.

    Returns:
        int64, shape (rows,).

    Raises:
        ValueError: the seeds are not `rows` integers in this range.
    """
    if isinstance(source, np.random.Generator):
        return source.integers(MAX_SEED, endpoint=True, size=rows)
    seeds = np.atleast_1d(np.asarray(source))
    if seeds.shape != (rows,) or seeds.dtype.kind not in "iu" or (rows > 0 and not 0 <= seeds.min() <= seeds.max() <= MAX_SEED):
        raise ValueError(f"seeds must be a generator or {rows} integers from 0 to 2**63 - 1, not {brief(source)}")
    return seeds.astype(np.int64, copy=False)


def unit_draws(seeds: np.ndarray) -> np.ndarray:
    """Map seeds to uniform numbers in [0, 1): float64, shape (n,).

    `Generator.random` returns the same numbers for the seeds that `draw_seeds` draws.
    """
    draws: np.ndarray = (seeds >> 10) / 2.0**53
    return draws


def check_streams(streams: np.ndarray) -> None:
    """Check that states of 32-bit generators (`batch_kernels.random_rows`) are from 1 to 2**32 - 1; raises ValueError."""
    if streams.min() < 1 or streams.max() > MAX_TABLE:
        raise ValueError(f"streams must be from 1 to {MAX_TABLE}, not {brief(streams)}")
