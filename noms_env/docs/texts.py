"""What the code does not say: introductions, common words, and what the values of options mean."""

from __future__ import annotations

from dataclasses import dataclass

from noms_env.core.actions import (
    INDICATE,
    MIS,
    MIS_A_VIS,
    MOST,
    NO_TRUMP_ACTION,
    NOMINATE,
    NONE,
    NUMBER,
    PASS,
    RANK,
    SUIT,
    UNSAID_ACTION,
)

BACK = "One of the pages of [noms-env](../../README.md)."
NOTICE = "<!-- Written by `python -m noms_env.docs`: change the code, not this file. -->"

EXACT_BID = ("big_ships", "down_up", "up_down")
AUCTION = ("small_ships", "noms")

INTRODUCTIONS = {
    "sniped_whist": "Whist for those who want no tricks: nobody bids, everybody plays alone, and whoever takes the fewest "
    "tricks wins. Whoever takes the most is sniped: at a table with cards, the others flick a few against that player's "
    "nose.",
    "big_ships": "Call how many tricks you will take, then take exactly as many. The hands get smaller from deal to deal, down "
    "to a single card, and grow again. In substance this is Oh Hell, with nothing to bind the last caller.",
    "small_ships": "An auction, and a hidden partner: the declarer names trump and then any card of the deck, and whoever "
    "holds that card is the partner. Nobody else knows who it is until the card is played, not even the declarer.",
    "noms": "Bid at least ten of thirteen tricks together with a hidden partner, or none at all alone. The deck is cut, but "
    "never shuffled during a match, so hands are wild and the tricks of the last deal tell something about this one.",
    "nonesuch": "A game by P. D. Magnus for the Decktet, a deck in which most cards bear two suits. Each seat bids to take no "
    "trick, some tricks, or at least half of them.",
    "down_up": "Call how many tricks you will take, then take exactly as many. Hands go from ten cards down to one and up "
    "again, and the last caller may not make the calls add up, so that somebody always fails.",
    "up_down": "Call how many tricks you will take, then take exactly as many. Hands go from one card up to thirteen and down "
    "again; from four cards on the last caller may not make the calls add up.",
}
"""What a game is about, in two sentences."""

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

RAW_ONLY = ("illegal_action",)
"""Arguments that `raw_env` takes and `env` refuses."""

SEATS = (
    "Seats are numbered clockwise from 0, so the seat at your left has the next number. The first dealer is drawn by lot, "
    "and the deal passes to the left. *Eldest* is the seat at the dealer's left: it is dealt to first, and where there are "
    "calls it calls first."
)
TRICKS_FRENCH = (
    "In a *trick* each seat plays one card, clockwise. The others must play a card of the suit led if they have one, and "
    "may play any card if they have none; nobody has to trump or to play high. The highest trump wins the trick, or without "
    "a trump the highest card of the suit led, and its winner leads to the next trick. Aces are high."
)
TRICKS_DECKTET = (
    "The Decktet has six suits, Moons (M), Suns (S), Waves (W), Leaves (L), Wyrms (Y) and Knots (K), and ten ranks: ace "
    "(low), 2 to 9, and crown (high). Aces and crowns bear one suit, the others two; the Excuse bears none. In a *trick* "
    "each seat plays one card, clockwise. The others must play a card that bears the suit to follow if they have one, and "
    "may play any card if they have none. The winner of a trick leads to the next."
)
HOOK = (
    "A *call* says how many tricks the seat will take, from 0 to all; there is one round of calls, and no pass. The *hook* "
    "binds the last caller: the calls may not add up to the number of tricks. In a deal of ten cards after calls of 3, 0 "
    "and 3, for instance, the last caller may not call 4."
)
AUCTION_TEXT = (
    "In the *auction* a turn is a pass or a bid above the high bid. Jumps are allowed, and a seat that has passed may bid "
    "again when its turn comes again. The auction is over when all other seats have passed, one after another, behind the "
    "high bid, or when no higher bid is left. The high bidder becomes the *declarer* (in Noms the *bidder*). *Misere* (in "
    "Noms *Mis*) is a bid to take no trick."
)


def common_rules(variant: str) -> list[str]:
    """Paragraphs on seats, tricks and bids, as far as the variant has them."""
    paragraphs = [SEATS, TRICKS_DECKTET if variant == "nonesuch" else TRICKS_FRENCH]
    if variant in EXACT_BID:
        paragraphs.append(HOOK)
    if variant in AUCTION:
        paragraphs.append(AUCTION_TEXT)
    return paragraphs


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


@dataclass(frozen=True)
class ActionGroup:
    """Actions of one kind: their numbers, what they do, and the variants that have them."""

    first: int
    last: int
    meaning: str
    variants: tuple[str, ...]


_FRENCH = ("sniped_whist", "big_ships", "small_ships", "noms", "down_up", "up_down")
_DECKTET = ("nonesuch",)

ACTION_GROUPS = (
    ActionGroup(0, 51, "play that card", _FRENCH),
    ActionGroup(0, 35, "play that card", _DECKTET),
    ActionGroup(INDICATE, INDICATE, "show that one holds the nominated card (with `indication`)", ("small_ships",)),
    ActionGroup(SUIT, SUIT + 3, 'name that suit as trump (with `trump_mode="dealer"`)', ("sniped_whist",)),
    ActionGroup(SUIT, SUIT + 3, "name that suit as trump", AUCTION),
    ActionGroup(SUIT, SUIT + 5, "name that suit: as trump, or as the suit to follow after leading a two-suited card", _DECKTET),
    ActionGroup(NO_TRUMP_ACTION, NO_TRUMP_ACTION, 'name no trump (with `trump_mode="dealer"`)', ("sniped_whist",)),
    ActionGroup(NO_TRUMP_ACTION, NO_TRUMP_ACTION, "name no trump", AUCTION),
    ActionGroup(UNSAID_ACTION, UNSAID_ACTION, "leave the trump to the first lead (with `implicit_announcements`)", ("noms",)),
    ActionGroup(RANK, RANK + 12, "nominate that rank of the trump suit (with `implicit_announcements`)", ("noms",)),
    ActionGroup(PASS, PASS, "pass", AUCTION),
    ActionGroup(NUMBER, NUMBER + 17, "call that number of tricks", ("big_ships",)),
    ActionGroup(NUMBER, NUMBER + 10, "call that number of tricks", ("down_up",)),
    ActionGroup(NUMBER, NUMBER + 13, "call that number of tricks", ("up_down",)),
    ActionGroup(NUMBER + 1, NUMBER + 17, "bid that number of tricks", AUCTION),
    ActionGroup(MIS, MIS, "bid Misere: no trick", ("small_ships",)),
    ActionGroup(MIS, MIS, "bid Mis: no trick", ("noms",)),
    ActionGroup(MIS_A_VIS, MIS_A_VIS, "bid Mis a Vis: no trick, with an open hand", ("noms",)),
    ActionGroup(NONE, MOST, "bid to take no trick, some, or at least half", _DECKTET),
    ActionGroup(NOMINATE, NOMINATE + 51, "nominate that card", AUCTION),
)
"""Every kind of action that can ever be legal, by ascending number."""

DECKS = (
    "cards are numbered `13 * suit + rank`, suits in the order clubs, diamonds, hearts, spades, ranks from 2 (0) to ace (12).",
    "cards are numbered by rank: 0 to 5 the aces (Moons, Suns, Waves, Leaves, Wyrms, Knots), then three cards of each rank "
    "from 2 to 9, then 30 to 35 the crowns; 36 is the Excuse, which is never played.",
)
"""By deck: which card has which number."""

REWARDS = {
    "points": "the points of the deal",
    "relative": "the points of the deal, less the mean of the other seats' points",
    "outcome": "nothing, until the last deal of the episode: then 1 for the winner, shared equally if there are several, and 0 "
    "for the others",
}
"""By the argument `reward`: what an agent gets when a deal is scored."""

POSITIONS = {
    "deck": 'the cards in dealing order, all of them, as words: `["QS", "7H", ...]` (Noms: as the deck lies after the cut)',
    "dealer": "seat that deals",
    "totals": "points of the match so far, a list with a number for each seat",
    "deal": "number of the deal in the match, from 0; it decides hand size and trump where they go in turn",
    "multiplier": "2 for a double hand of Noms, otherwise 1",
}
"""The keys of `reset(options=...)`."""

RESULTS = {
    "deal": "number of the deal in the match, from 0",
    "dealer": "seat",
    "hand_size": "cards dealt to each seat",
    "multiplier": "1; in a double hand of Noms 2",
    "contract": "the bid that was played, as a word; None without an auction",
    "declarer": "seat, or None",
    "trump": "letter of the suit, `NT`, or None if nothing was played",
    "nominated": "the nominated card, or None",
    "partner": "seat that was dealt the nominated card; None if the declarer was alone",
    "calls": "latest call of each seat, as a word, or None",
    "last_trick": "the cards of the last trick in the order in which they were played",
    "tricks": "tricks of each seat",
    "points": "points of each seat in this deal",
    "totals": "points of each seat in the match",
}
"""The keys of `infos[agent]["last_deal"]`."""
