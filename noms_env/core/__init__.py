"""The words that rules are made of: cards, actions, chance, the table's record, tricks, bids and partners."""
