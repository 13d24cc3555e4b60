"""The only loops over tables: start, observe and step many tables at once.

Every function works on some rows of an array of tables, and on arrays with a row per table. Rows are independent: results do
not depend on their number, their order or threads. Each loop calls a function for one row; GPU kernels call the same function
with one thread per row (`cuda.kernels`). Shared arguments:

| argument | meaning |
|---|---|
| `tables` | structured array, shape (tables,) |
| `first`, `last` | the first row, and the row after the last |
| `rows` | int64, shape (n,): the rows |
| `actions` | int64, shape (tables,): legal actions; ignored in rows that are over or wait |
| `skip_forced` | take forced actions at once, up to the end of the deal |
| `observation`, `mask` | output, int64, shapes (tables, OBSERVATION_SIZE // 8) and (tables, PADDED_MASK_SIZE // 8) |
| `hidden` | output, int64, shape (tables, HIDDEN_SIZE // 8): the hidden state, relative to the seat to act |
| `outputs` | the arrays to write: a sum of `WRITE_OBSERVATION`, `WRITE_MASK` and `WRITE_HIDDEN`; the others are ignored |
| `features` | None, or output instead of observations: int64, shape (tables, words), followed by `FeatureLayout.parts` |
| `points`, `scored` | output, float32 (tables, seats) and bool (tables,): points if the step ended a deal, else 0 |
| `seat`, `over` | output, int16 and bool, shape (tables,): the seat to act, and whether the match is over |
| `streams` | int64, shape (tables,): state of a 32-bit xorshift generator per row, not 0; advanced in place |
"""

from __future__ import annotations

from noms_env._jit import jit, jit_inline, lowest, size
from noms_env.core.actions import INDICATE, NOMINATE, PLAYING, SCORED
from noms_env.core.chance import MAX_TABLE
from noms_env.core.state import steps_to
from noms_env.engine.deal import begin_match, hand_out, shuffle_deck, start_match
from noms_env.engine.legal import is_legal
from noms_env.engine.step import continue_match, step
from noms_env.observation.feature_layout import write_features
from noms_env.observation.writer import write_hidden, write_mask, write_observation

WRITE_MASK, WRITE_OBSERVATION, WRITE_HIDDEN = 1, 2, 4
"""Outputs for the seat to act; add them for several."""

HOLD, ACT, NEXT_DEAL, NEW_MATCH, ASK, SCORE = range(6)
"""The next step in a row of `play_on_rows`: none, since the learner must decide or the episode is over; take an action; deal
the next hand; start a match; ask a player; record the result of a deal."""


@jit
def start_rows(tables, rows, dealers):
    """Start the match of each row's seed, table and match. `dealers`: int64, shape (n,), -1 to draw the dealer."""
    for i in range(len(rows)):
        start(tables[rows[i]], dealers[i])


@jit
def start(t, dealer):
    """Start a match with a dealer, -1 to draw the dealer."""
    begin_match(t)
    if dealer >= 0:
        t.dealer = dealer
    shuffle_deck(t)
    hand_out(t)


@jit
def observe_rows(tables, first, last, observation, mask, hidden, outputs, features=None):
    """Write observation and mask of the seat to act in each row; the mask of a row that is over is all zeros."""
    for row in range(first, last):
        write(tables[row], row, observation, mask, hidden, outputs, features, first)


@jit
def observe_some(tables, rows, observation, mask, hidden, outputs, features=None):
    """Write the same for `rows` only."""
    for row in rows:
        write(tables[row], row, observation, mask, hidden, outputs, features, row)


@jit_inline
def write(t, row, observation, mask, hidden, outputs, features, scratch):
    """Write the `outputs` of one table into a row; features are built from the observation in row `scratch`."""
    if outputs & WRITE_OBSERVATION:
        write_observation(t, t.seat, observation[row if features is None else scratch])
    if outputs & WRITE_MASK:
        write_mask(t, t.seat, mask[row])
    if outputs & WRITE_HIDDEN:
        write_hidden(t, t.seat, hidden[row])
    if features is not None and outputs & WRITE_OBSERVATION:
        # Features come last, since bytes just written are slow to read.
        write_features(observation[scratch], features[1], features[2], features[0][row])


@jit
def first_illegal(tables, actions):
    """Return the first row with an unfinished deal and an illegal action, -1 if there is none."""
    for row in range(len(tables)):
        if is_refused(tables[row], actions[row]):
            return row
    return -1


@jit
def is_refused(t, action):
    """Return whether the deal is unfinished and the action is illegal."""
    return t.over == 0 and t.phase != SCORED and not is_legal(t, action)


@jit
def step_rows(
    tables,
    first,
    last,
    actions,
    skip_forced,
    pause,
    points,
    scored,
    seat,
    over,
    observation,
    mask,
    hidden,
    outputs,
    features=None,
):
    """Take an action in each row that is not over; after a scored deal, deal the next hand of the match.

    With `pause`, a row with a scored deal stays unchanged until `next_deal_rows`. Outputs are written right after the step,
    while the row is in the L1 cache.
    """
    for row in range(first, last):
        t = tables[row]
        step_table(t, row, actions[row], skip_forced, pause, points, scored, seat, over)
        write(t, row, observation, mask, hidden, outputs, features, first)


@jit_inline
def step_table(t, row, action, skip_forced, pause, points, scored, seat, over):
    """Step one row of `step_rows`, without writing observations."""
    if pause and scored[row]:
        return
    if scored[row]:
        points[row, :] = 0
        scored[row] = False
    if t.over == 0:
        act(t, action, skip_forced)
        if t.phase == SCORED:
            for k in range(t.n_seats):
                points[row, k] = t.points[k]
            scored[row] = True
            if not pause:
                continue_match(t)
        write_turn(t, row, seat, over)


@jit_inline
def write_turn(t, row, seat, over):
    """Write the seat to act, and whether the match is over."""
    seat[row] = t.seat
    over[row] = t.over != 0


@jit
def act(t, action, skip_forced):
    """Take an action, and with `skip_forced` the forced actions after it."""
    step(t, action)
    if skip_forced:
        while t.phase != SCORED and count_legal(t) == 1:
            step(t, nth_legal(t, 0))


@jit
def next_deal_rows(tables, first, last, points, scored):
    """Deal the next hand of the match in each row that waits at the end of a deal (`pause` of `step_rows`)."""
    for row in range(first, last):
        deal_next(tables[row], row, points, scored)


@jit_inline
def deal_next(t, row, points, scored):
    """Deal the next hand in one row, if it waits."""
    if scored[row]:
        points[row, :] = 0
        scored[row] = False
        continue_match(t)


@jit
def settle_rows(tables, rows, pause, points, scored):
    """Update rows with replaced tables: after a scored deal, wait with its points (`pause`) or deal the next hand."""
    for row in rows:
        settle(tables[row], row, pause, points, scored)


@jit_inline
def settle(t, row, pause, points, scored):
    """Update one row with a replaced table."""
    points[row, :] = 0
    scored[row] = pause and t.phase == SCORED
    if scored[row]:
        for k in range(t.n_seats):
            points[row, k] = t.points[k]
    elif t.phase == SCORED:
        continue_match(t)


@jit
def count_legal(t):
    """Return the number of legal actions."""
    return size(t.legal_cards) + size(t.legal_words)


@jit
def nth_legal(t, n):
    """Return the n-th legal action: cards first, then words, each in ascending order."""
    n_cards = size(t.legal_cards)
    if n < n_cards:
        card = nth_member(t.legal_cards, n)
        return card if t.phase == PLAYING else NOMINATE + card
    return INDICATE + nth_member(t.legal_words, n - n_cards)


@jit
def nth_member(members, n):
    """Return the member of a set with n smaller members."""
    while n > 0:
        for _ in range(4):  # fewer branches, since they cannot be predicted
            members = members & (members - 1) if n > 0 else members
            n -= 1
    return lowest(members)


@jit
def random_rows(tables, first, last, streams, actions):
    """Write a random legal action for each row into `actions`, for tests and benchmarks."""
    for row in range(first, last):
        actions[row] = random_legal(tables[row], streams, row)


@jit_inline
def random_legal(t, streams, row):
    """Draw a random legal action; advances the generator of the row."""
    state = streams[row]
    state ^= (state << 13) & 0xFFFFFFFF
    state ^= state >> 17
    state ^= (state << 5) & 0xFFFFFFFF
    streams[row] = state
    return nth_legal(t, (state * count_legal(t)) >> 32)


@jit
def play_random(tables, first, last, steps, streams, observation, mask, hidden, outputs, features=None):
    """Play `steps` random decisions in each row in one call, to measure the speed of the engine alone.

    All tables must be started. The outputs are written before each decision. A finished match is followed by the next.
    """
    for _ in range(steps):
        for row in range(first, last):
            t = tables[row]
            write(t, row, observation, mask, hidden, outputs, features, first)
            step_randomly(t, row, streams)


@jit_inline
def step_randomly(t, row, streams):
    """Take a random action; if it ends a deal or match, start the next one."""
    step(t, random_legal(t, streams, row))
    if t.phase == SCORED:
        continue_match(t)
        if t.over != 0:
            start_next(t)


@jit
def start_next(t):
    """Start the next match of a table; match numbers wrap around to 0."""
    t.match = 0 if t.match == MAX_TABLE else t.match + 1
    start_match(t)


@jit
def play_on_rows(tables, first, last, next_steps, actions, learners, is_random, streams, skip_forced, observation, mask):
    """Let random players play in each row until another player must decide or the deal is scored.

    The learner's observation is written when it must decide, and when the match is over.

    * `next_steps`: int8, shape (tables,). Rows with `ACT`, `NEXT_DEAL` or `NEW_MATCH` (of the row's seed, table and match) are
      played, and their entry becomes `HOLD`, `ASK` or `SCORE`.
    * `learners`: int64, shape (tables,): the learner's seat.
    * `is_random`: bool, shape (seats,): whether a player is random, clockwise from the learner.
    """
    for row in range(first, last):
        t = tables[row]
        if next_steps[row] == ACT:
            act(t, actions[row], skip_forced)
        elif next_steps[row] == NEXT_DEAL:
            continue_match(t)
        elif next_steps[row] == NEW_MATCH:
            start_match(t)
        else:
            continue
        next_steps[row] = play_to_decision(t, row, learners[row], is_random, streams, skip_forced)
        if next_steps[row] == HOLD or t.over != 0:
            t.seat = learners[row]  # after a match, no seat is to act
            write(t, row, observation, mask, mask, WRITE_OBSERVATION + WRITE_MASK, None, row)


@jit_inline
def play_to_decision(t, row, learner, is_random, streams, skip_forced):
    """Let random players play until another player must decide or the deal is scored; return the row's next step."""
    while t.phase != SCORED:
        place = steps_to(t, learner, t.seat)
        if not is_random[place]:
            return HOLD if place == 0 else ASK
        act(t, random_legal(t, streams, row), skip_forced)
    return SCORE


@jit
def write_turns(tables, first, last, seat, over):
    """Write the seat to act in each row, and whether its match is over."""
    for row in range(first, last):
        write_turn(tables[row], row, seat, over)


@jit
def clone_row(words, source, rows):
    """Copy a table into other rows. `words` are the tables as int64, shape (tables, words of a table)."""
    for i in range(len(rows)):
        row = rows[i]
        for k in range(words.shape[1]):
            words[row, k] = words[source, k]
