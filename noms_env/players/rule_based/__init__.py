"""The rule-of-thumb player, `thumb`: sensible play in every variant and at every decision, without search.

| module | content |
|---|---|
| `heuristics` | building blocks: unseen cards, who takes this trick |
| `later_tricks` | what a card, and a hand, may take later |
| `endings` | the last two or three tricks, from version 2 on |
| `weights` | fitted weights for the chances of cards in later tricks |
| `plain`, `exact_bid`, `auction`, `shares` | the rules of each family of games (`variants.families`) |
| `player` | which family answers for a table, and the player itself |

All families choose a card by one rule: it maximises the value of this trick plus the value of the cards kept. The value of this
trick is each seat's chance to take it, times the player's payoff if that seat does. The value of the cards kept is the number
of tricks that they are likely to take, times the payoff of those. The families differ in the payoffs, and in a few rules that
come first. Each module opens with its rules in numbered prose. The player is deterministic.

The versions of the rules never change: `thumb:1` plays as it always did, `thumb` by the newest rules. Searches play their
worlds out by the first version, and all measurements with them use it (docs/players.md).
"""
