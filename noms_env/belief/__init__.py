"""Deals that a seat cannot tell from the true one: what a search plays on instead of cards that it may not see.

`sample_hidden_rows` gives the cards that a seat has not seen new places, uniformly among all layouts with which the deal would
have come to where it is: the same calls, announcements and plays were legal, the deal did not stop before, and all that the
seat was shown is the same. Calls and announcements are taken as they came; that a seat would hardly have called so on
other cards is no constraint. Nothing of the true layout has an influence, nor has an earlier deal of the match.

1. What the seat knows comes as, for each place (the other seats, the stock): cards that lie there, the number of unseen
   cards there, and the cards that it may hold (`survey`, which lists the rules that tell something).
2. Places with the same constraints make a group; cards that fit the same groups make a class. Cards that fit only one group
   belong to it. Usually this leaves one group, and no question.
3. Else the number of cards of each class in each group is drawn, group by group, weighted with the number of layouts that
   each choice leaves; then the cards of each class, and of each place in a group, are drawn. The last two groups need no
   weights: what fits both is dealt out to them.

Every layout has the same probability, up to rounding: numbers of layouts are float64, which adds a relative error below
1e-13, and random numbers below n are taken from 56 bits, which adds less than 1e-9 in a draw.
"""

from __future__ import annotations

from noms_env.belief.sampling import sample_hidden_rows as sample_hidden_rows
from noms_env.belief.workspace import new_sampling_workspace as new_sampling_workspace
