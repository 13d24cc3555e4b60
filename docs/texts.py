"""What the pages of the games say and the code does not: introductions, sources, and what the values of options mean."""

from __future__ import annotations

INTRODUCTIONS = {
    "sniped_whist": "Whist in which nobody wants tricks. Nobody bids and everybody plays alone. The seats with the fewest "
    "tricks win; those with the most are sniped: at a table with cards, the others flick a few against that player's nose.",
    "big_ships": "You call how many tricks you will win, and get a bonus for winning exactly that many. Hands shrink from deal "
    "to deal down to one card, then grow again. This is Oh Hell without a rule that binds the last caller.",
    "small_ships": "An auction with a hidden partner. The declarer names trump, then any card of the deck, and whoever holds "
    "that card is the partner. Nobody else knows who it is until the card is played, not even the declarer.",
    "noms": "You bid to win at least ten of thirteen tricks with a hidden partner, or no trick at all alone. The deck is cut "
    "but never shuffled during a match, so suits are split unevenly, and the tricks of one deal tell something about the next.",
    "nonesuch": "A game by P. D. Magnus for the Decktet, a deck in which most cards have two suits. Each seat bids to win no "
    "trick, some tricks, or at least half of them.",
    "down_up": "You call how many tricks you will win, and get a bonus for winning exactly that many. Hands go from ten cards "
    "down to one and up again. The calls may not add up to the number of tricks, so somebody always fails.",
    "up_down": "You call how many tricks you will win, and get a bonus for winning exactly that many. Hands go from one card "
    "up to thirteen and down again. From four cards on, the calls may not add up to the number of tricks.",
}
"""What a game is about."""

SOURCES = {
    "sniped_whist": "myweb.tiscali.co.uk/navysong, first item of the page on noms and whist",
    "big_ships": "myweb.tiscali.co.uk/navysong, Big Ships Rules",
    "small_ships": "myweb.tiscali.co.uk/navysong, Small Ships Rules",
    "noms": "catsatcards.com/Games/Noms.html",
    "nonesuch": "wiki.decktet.com/game:nonesuch",
    "down_up": "nommy.co.uk/nommyrules.htm",
    "up_down": "willwybrow.com/pages/nomwhist",
}
"""Where the source text of a game was published."""

WORD_MEANINGS = {
    "sniped_whist.trump_mode": {
        "rotation": "`trump_rotation`, deal by deal",
        "turnup": "the next undealt card is turned up; if all are dealt, the dealer's last card",
        "random": "a suit by lot, known to all",
        "none": "no trump",
        "dealer": "the dealer names it before the first lead",
    },
    "up_down.trump_mode": {
        "rotation": "`trump_rotation`, deal by deal",
        "turnup": "the next undealt card is turned up; if all are dealt, see `turnup_full_deal`",
        "random": "a suit by lot, known to all",
        "none": "no trump",
    },
    "turnup_full_deal": {"none": "no trump", "dealer_last": "the dealer's last card is turned up"},
    "scoring": {
        "place": "the fewest tricks share +1, the most share -1; all 0 if everybody has the same number",
        "tricks": 'each trick counts -1 (+1 with `objective="most"`)',
    },
    "sniped_whist.tie": {
        "share": "all of them are sniped",
        "none": "nobody is sniped",
        "cut": "one of them, by lot",
    },
    "objective": {"least": "the fewest tricks win", "most": "the most tricks win, the fewest are sniped"},
    "bonus": {"exact": "for exactly the tricks called", "at_least": "for at least the tricks called"},
    "direction": {
        "down_up": "from the first hand down to one card and up again",
        "down": "down to one card",
        "up_down": "from one card up to `start_cards` and down again",
    },
    "schedule": {
        "up_down": "up to the largest hand and down again",
        "up": "up to the largest hand",
        "up_down_repeat_top": "up and down again, the largest hand twice",
    },
    "misere_trump": {"choice": "the declarer names trump as for any bid", "none": "Misere is played without trumps"},
    "misere_penalty": {
        "team": "the tricks of both are taken off each",
        "own": "only the own tricks are taken off",
    },
    "first_trick_restriction": {
        "suit": "no card of the nominated card's suit, unless there is nothing else",
        "card": "not the nominated card itself",
        "off": "no restriction",
    },
    "stock_nomination": {
        "alone": "the declarer is alone without knowing it",
        "illegal": "such a card may not be nominated",
        "redraw": "it is refused, and the declarer nominates another",
    },
    "first_lead": {"bidder": "the bidder", "left_of_dealer": "eldest"},
    "noms.tie": {"joint": "they win together", "play_on": "the match goes on until one seat leads alone"},
    "trick_order": {
        "play": "as played, the card led on top",
        "reverse": "the card led at the bottom",
        "random": "shuffled",
    },
    "trick_stack": {"on_top": "on top of the earlier tricks", "underneath": "under them"},
    "pile_order": {
        "left_first": "the pile of the seat at the left of the new dealer on top, then clockwise, the dealer's own last",
        "right_first": "the other way round, the dealer's own last",
        "random": "by lot",
    },
    "deal_mode": {
        "packets": "the deck is gathered and cut, never shuffled, and dealt in packets of three and four",
        "packets_shuffled": "every deal is shuffled, then dealt in packets",
        "single_shuffled": "every deal is shuffled and dealt one card at a time",
    },
    "double_repeat": {
        "double": "the next deal still counts double",
        "quadruple": "it doubles again, up to 64 times the points",
        "single": "the next deal counts once",
    },
    "half": {
        "ceil": "from 5",
        "exact": "from 4.5",
        "floor": "from 4; made only with 5 all the same",
    },
}
"""By option, or by variant and option where two variants differ: what each word means."""

NOTES = {
    "ranks": "With a deck shortened by `ranks` or `suits`, fewer seats may play, from two on",
    "trump_rotation": "With fewer `suits` the default leaves out those that are not in the deck",
    "accumulate": "The deals before the last then score nothing",
    "small_ships.min_bid": "That is `floor(2 * hand_size / seats) + 1`",
    "small_ships.misere_value": "Each of a pair scores twice that",
    "small_ships.misere_above": "`min_bid - 1` makes Misere the lowest bid, the hand size the highest",
    "small_ships.target": "None: only `max_hands` ends the match",
    "small_ships.max_hands": "None: only `target` ends the match",
    "stock_nomination": "`illegal` and `redraw` tell something about the stock",
    "indication": "It costs twice the bid, and only the one who shows himself",
    "noms.min_bid": "With hands of other than 13 cards: any number up to the hand size, by default about ten thirteenths of it",
    "noms.mis_value": "With hands of other than 13 cards the hand size stands for 13",
    "noms.target": "None: only `max_deals` ends the match",
    "nonesuch.target": "None: only `max_hands` ends the match",
    "deal_mode": "With a shortened deck or hand the default is `single_shuffled`",
    "early_stop": "The cards still held are gathered as if they were a last trick of each seat",
    "observe_previous_hand": "It fills the section `previous_deal` of the observation",
}
"""By option, or by variant and option: what to add to an option's own line."""


def meaning_of(variant: str, option: str, word: str) -> str:
    """What a word means as the value of an option."""
    meanings = WORD_MEANINGS.get(f"{variant}.{option}") or WORD_MEANINGS[option]
    return meanings[word]


def note_on(variant: str, option: str) -> str:
    """What to add to an option's own line; often nothing."""
    return NOTES.get(f"{variant}.{option}", NOTES.get(option, ""))
