"""Determinization: sampled deals that a seat cannot tell from the true one, for searches that may not see the hidden cards.

`sample_hidden_rows` deals anew the cards that a seat has not seen, uniformly among all layouts that are consistent with the
deal so far. In a consistent layout every call, announcement and play was legal, the deal did not end earlier, and the seat saw
the same. How likely a player was to make a call with other cards does not count. Neither the true layout nor earlier deals have
an influence.

1. `survey` finds for each place (the other seats, the stock) the known cards there, the number of unseen cards there, and the
   cards that it may hold.
2. Places with the same constraints form a group; cards that fit the same groups form a class. Cards that fit only one group
   belong to it. Usually one group is left, and nothing remains to be counted.
3. Otherwise the number of cards of each class in each group is drawn, group by group, weighted by the number of layouts that
   remain. Then the cards of each class are drawn, and those of each place in a group. The last two groups need no weights:
   cards that fit both are dealt at random.

Every layout has the same probability, up to rounding. Numbers of layouts are float64, with a relative error below 1e-13. Random
numbers below n use 56 bits, with an error below 1e-9 in a draw.
"""

from __future__ import annotations

from noms_env.belief.sampling import sample_hidden_rows as sample_hidden_rows
from noms_env.belief.workspace import new_sampling_workspace as new_sampling_workspace
