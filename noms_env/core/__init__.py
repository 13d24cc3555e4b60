"""Building blocks of the rules: cards, actions, chance, the table's record, tricks, bids and partners."""
