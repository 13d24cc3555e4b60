"""The families of games, and the rules that the variants of a family share."""

FAMILIES = ("plain", "exact_bid", "auction", "shares")
"""`plain`: nobody bids. `exact_bid`: each seat calls a number of tricks, once. `auction`: the high bidder plays with a hidden
partner. `shares`: each seat bids to take none, some or most of the tricks."""
PLAIN, EXACT_BID, AUCTION, SHARES = range(len(FAMILIES))
