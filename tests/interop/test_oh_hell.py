"""The exact-bid games play the same deals, card by card, as the independent `oh_hell` of OpenSpiel.

OpenSpiel plays one deal of Oh Hell: a round of calls with the hook, tricks with a trump turned up from the undealt
cards, a point for each trick and ten more for an exact call. `up_down` plays the same with `trump_mode="turnup"` and a
hook from one card on. Each decision compares the seat to act and its legal actions, the end compares the points.

Differences, and their translation:

* Cards. OpenSpiel numbers them `num_suits * rank + suit` with the suits in the order C D S H; its short decks have the lowest
  ranks, ours the top ones. Suits and ranks are translated one to one, in the order of the ranks, so the game is the same.
* Dealing. OpenSpiel deals its first card to player 0, we to the dealer's left. In both, calls and leads begin there.
* Trump. OpenSpiel always turns up one more card, so four seats have hands of 1 to 12 cards. (With 13 it accepts the
  parameters and stops in the middle of the deal.)
* Seats. `up_down` has four (two to four with a short deck), OpenSpiel three to seven. So `big_ships` and `down_up` play
  the other numbers of seats, with the trump that OpenSpiel turns up as their only one.
"""

import random
from typing import Any, NamedTuple

import pytest

from noms_env.core.actions import NUMBER
from noms_env.core.cards import RANK_LETTERS, SUIT_LETTERS
from noms_env.table import Table

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")

pytestmark = pytest.mark.interop

SPIEL_SUITS = "CDSH"


class Setting(NamedTuple):
    """One of our games with its numbers of seats, suits and ranks."""

    variant: str
    seats: int
    suits: int = 4
    ranks: int = 13

    @property
    def largest_hand(self) -> int:
        """Cards for each seat when one is left to turn up."""
        return (self.suits * self.ranks - 1) // self.seats

    def spiel_game(self) -> Any:
        parameters = {"players": self.seats, "num_suits": self.suits, "num_cards_per_suit": self.ranks}
        return pyspiel.load_game("oh_hell", parameters)

    def card_words(self) -> list[str]:
        """Return our word for each card number of OpenSpiel."""
        suits = [letter for letter in SUIT_LETTERS[0] if letter in SPIEL_SUITS[: self.suits]]
        our_suit = dict(zip(suits, SUIT_LETTERS[0], strict=False))
        ranks = RANK_LETTERS[0][-self.ranks :]
        return [rank + our_suit[suit] for rank in ranks for suit in SPIEL_SUITS[: self.suits]]

    def table(self, hand_size: int, trump: str) -> tuple[Table, int]:
        """Return one of our tables, and the deal of its match with this hand size."""
        options: dict[str, Any] = {"hook": True, "hook_min_cards": 1, "suits": self.suits, "ranks": self.ranks}
        if self.variant == "up_down":
            options["trump_mode"] = "turnup"
        else:
            options["trump_rotation"] = [trump]
        if self.variant == "big_ships":
            options["start_cards"] = hand_size
        table = Table(self.variant, self.seats, options, episode="deal")
        return table, table.rules.schedule.index(hand_size)


class Deal(NamedTuple):
    """One deal in the numbers of OpenSpiel."""

    hand_size: int
    dealer: int
    cards: list[int]

    def spiel_state(self, game: Any) -> Any:
        """Deal in OpenSpiel: number of tricks, dealer, cards to player 0, 1, ... in turn, the card turned up."""
        state = game.new_initial_state()
        dealt = self.hand_size * game.num_players()
        for action in (self.hand_size, self.dealer, *self.cards[: dealt + 1]):
            state.apply_action(action)
        return state

    def deck(self, words: list[str], seats: int) -> list[str]:
        """Return our deck: in each round of dealing the dealer's left comes first, not player 0."""
        first = self.dealer + 1
        rounds = [seats * round_ for round_ in range(self.hand_size)]
        dealt = [self.cards[start + (first + turn) % seats] for start in rounds for turn in range(seats)]
        return [words[card] for card in dealt + self.cards[len(dealt) :]]


def random_deal(setting: Setting, hand_size: int, rng: random.Random) -> Deal:
    cards = list(range(setting.suits * setting.ranks))
    rng.shuffle(cards)
    return Deal(hand_size, rng.randrange(setting.seats), cards)


def play_both(setting: Setting, deal: Deal, game: Any, words: list[str], rng: random.Random) -> list[int]:
    """Play a deal with random actions on both sides and return the calls in order.

    Raises:
        AssertionError: the two sides disagree.
    """
    n_cards = len(words)
    state = deal.spiel_state(game)
    table, number = setting.table(deal.hand_size, words[deal.cards[deal.hand_size * setting.seats]][-1])
    table.start(deck=deal.deck(words, setting.seats), dealer=deal.dealer, deal=number)
    calls = []
    while not state.is_terminal():
        theirs = state.legal_actions()
        translated = {action: words[action] if action < n_cards else str(action - n_cards) for action in theirs}
        where = (setting, deal, str(state))
        assert table.row.seat == state.current_player(), where
        assert sorted(table.legal_words()) == sorted(translated.values()), where
        action = rng.choice(theirs)
        if action >= n_cards:
            calls.append(action - n_cards)
            assert table.number(translated[action]) == NUMBER + calls[-1]
        state.apply_action(action)
        table.act(translated[action])
    assert table.is_scored
    assert list(table.row.points[: setting.seats]) == state.returns(), (setting, deal, str(state))
    return calls


def play_many(setting: Setting, hand_sizes: list[int], seed: str) -> int:
    """Play a deal of each hand size and return in how many the hook forbade a call."""
    rng = random.Random(seed)
    game, words = setting.spiel_game(), setting.card_words()
    hooked = 0
    for hand_size in hand_sizes:
        calls = play_both(setting, random_deal(setting, hand_size, rng), game, words, rng)
        assert sum(calls) != hand_size
        hooked += sum(calls[:-1]) <= hand_size
    return hooked


def test_a_thousand_deals_of_up_down_agree() -> None:
    setting = Setting("up_down", 4)
    assert setting.largest_hand == 12
    hand_sizes = [1 + number % 12 for number in range(1000)]
    assert play_many(setting, hand_sizes, "a thousand deals") > 100


SETTINGS = [
    *(Setting("up_down", 3, suits, ranks) for suits, ranks in ((4, 7), (3, 13), (2, 5), (1, 13))),
    *(Setting("up_down", 4, suits, ranks) for suits, ranks in ((4, 8), (3, 6), (1, 9))),
    *(Setting("big_ships", seats) for seats in range(3, 8)),
    Setting("big_ships", 5, 3, 11),
    *(Setting("down_up", seats) for seats in (3, 5, 6)),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: "-".join(map(str, setting)))
def test_other_seats_decks_and_variants_agree(setting: Setting) -> None:
    table, _ = setting.table(1, "C")
    largest = setting.largest_hand if setting.variant == "big_ships" else min(setting.largest_hand, max(table.rules.schedule))
    hand_sizes = [1 + number % largest for number in range(60)]
    assert play_many(setting, hand_sizes, repr(setting)) > 0
