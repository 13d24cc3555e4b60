"""The rule-of-thumb player, `thumb`: sensible play in every variant and at every decision, without search.

| file | what it holds |
|---|---|
| `heuristics` | what the rules are made of: cards not seen, who takes this trick, what a card may take later |
| `later_tricks` | what a card, and a hand, may take later |
| `endings` | the last two or three tricks, from version 2 on |
| `weights` | the measured figures behind "what a card may take later" |
| `plain`, `exact_bid`, `auction`, `shares` | the rules of each family of games (`variants.families`) |
| `player` | which family answers for a table, and the player itself |

All families share one rule for the play of a card: of all cards that it may play the player takes the one for which the
worth of this trick (who is likely to take it, times what it is worth to the player that this seat takes it) and the worth
of the cards kept (how many tricks they are likely to take, times what those are worth) are together the most. The
families differ in what tricks are worth to them, and in a few rules that come first. Each file opens with its rules in
numbered prose. The player leaves nothing to chance.

The rules have versions, and each stays as it is: `thumb:1` plays as it always did, `thumb` by the newest rules. Searches play
their worlds out by the first, and so does all that was measured with it (docs/players.md).
"""
