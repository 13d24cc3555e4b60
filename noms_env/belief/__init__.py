"""Determinization: deals that a seat cannot tell from the true one, for searches that may not see the hidden cards.

`sample_hidden_rows` deals the cards that a seat has not seen anew, uniformly among all layouts that are consistent with the
deal so far: every call, announcement and play was legal, the deal did not end earlier, and the seat saw the same. How likely
a player was to make a call with other cards does not count. The true layout has no influence, nor have earlier deals.

1. `survey` finds, for each place (the other seats, the stock): the known cards there, the number of unseen cards there, and
   the cards that it may hold.
2. Places with the same constraints make a group; cards that fit the same groups make a class. Cards that fit only one group
   belong to it. Usually one group is left, and nothing remains to be counted.
3. Otherwise the number of cards of each class in each group is drawn, group by group, weighted by the number of layouts that
   the choice leaves; then the cards of each class, and of each place in a group, are drawn. The last two groups need no
   weights: cards that fit both are dealt at random.

Every layout has the same probability, up to rounding: numbers of layouts are float64, which adds a relative error below
1e-13, and random numbers below n are taken from 56 bits, which adds less than 1e-9 in a draw.
"""

from __future__ import annotations

from noms_env.belief.sampling import sample_hidden_rows as sample_hidden_rows
from noms_env.belief.workspace import new_sampling_workspace as new_sampling_workspace
