"""OpenSpiel games and states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pyspiel

from noms_env.core.actions import NUM_ACTIONS, brief
from noms_env.core.cards import CARD_WORDS, FRENCH, SUIT_LETTERS, cards_in
from noms_env.interop.open_spiel.observers import (
    InformationStateObserver,
    ObservationObserver,
    Observer,
    public_words,
    words_of,
)
from noms_env.interop.open_spiel.parameters import REWARDS, default_parameters, game_name, setup_of
from noms_env.interop.open_spiel.reconstruct_history import reconstruct_history
from noms_env.micro.deal_setup import DealSetup, Layout
from noms_env.micro.explicit_chance import (
    CHANCE,
    DEALING,
    DRAWING_LOT,
    DRAWING_TRUMP,
    OVER,
    PLAYING,
    ExplicitChanceDeal,
)
from noms_env.variants import RulesError, Variant


class DealGame(pyspiel.Game):
    """One deal of a variant as an OpenSpiel game; each variant has its own subclass (`GAME_CLASSES`).

    Attributes:
        variant: the variant.
        setup: the deal setup of the game.
        reward: `points` or `relative`.
    """

    variant: ClassVar[Variant]

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        """Set up the game.

        Args:
            params: parameters by name (see the package docstring); all others have their defaults.

        Raises:
            ValueError: a parameter is not allowed.
        """
        defaults = default_parameters(self.variant)
        values = defaults | (params or {})
        if values["reward"] not in REWARDS:
            raise RulesError(f"reward must be {' or '.join(map(repr, REWARDS))}, not {brief(values['reward'])}")
        self.setup = setup_of(self.variant, values)
        self.reward: str = values["reward"]
        chosen = {name: value for name, value in values.items() if value != defaults.get(name, value)}
        super().__init__(game_type(self.variant, self.reward), _game_info(self.setup, self.reward), chosen)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the game by its name with parameters."""
        return _load_open_spiel_game, (str(self),)

    def new_initial_state(self) -> DealState:
        """Return the state before the first card is dealt."""
        return DealState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return the maximum: one node for each card, one for the trump and one for the lot."""
        return len(self.setup.deck) + 2

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Observer:
        """Return the observer of observations or, with `perfect_recall`, of information states.

        Raises:
            ValueError: `params` is not empty, or `iig_obs_type` requests only the public or only the private part.
        """
        wanted = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if params:
            raise ValueError(f"the observers take no parameters, not {params}")
        if not wanted.public_info or wanted.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError("observers need public_info=True and private_info=PrivateInfoType.SINGLE_PLAYER")
        return InformationStateObserver(self.setup) if wanted.perfect_recall else ObservationObserver()


def _load_open_spiel_game(name: str) -> DealGame:
    game: DealGame = pyspiel.load_game(name)
    return game


def game_type(variant: Variant, reward: str = REWARDS[0]) -> Any:
    """Return the `pyspiel.GameType` of a variant's game."""
    zero_sum = reward == "relative"
    return pyspiel.GameType(
        short_name=game_name(variant.name),
        long_name=variant.title,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM if zero_sum else pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=variant.seats[1],
        min_num_players=2 if variant.deck_kind == FRENCH else variant.seats[0],
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=default_parameters(variant),
    )


def _game_info(setup: DealSetup, reward: str) -> Any:
    low, high = setup.point_range()
    if reward == "relative":
        low, high = low - high, high - low
    info = {
        "num_distinct_actions": NUM_ACTIONS,
        "max_chance_outcomes": max(
            len(setup.deck) if setup.turn_up_from is not None else 0, len(setup.capacities), setup.random_trumps
        ),
        "num_players": setup.rules.seats,
        "min_utility": low,
        "max_utility": high,
        "max_game_length": setup.max_decisions(),
    }
    return pyspiel.GameInfo(**info, utility_sum=0.0) if reward == "relative" else pyspiel.GameInfo(**info)


class DealState(pyspiel.State):
    """A state of a deal.

    Attributes:
        deal: the deal. Read only.
    """

    def __init__(self, game: DealGame) -> None:
        super().__init__(game)
        self.deal = ExplicitChanceDeal(game.setup)

    def current_player(self) -> int:
        return self.deal.actor

    def _legal_actions(self, player: int) -> list[int]:
        table = self.deal.table
        return [] if table is None else table.legal_actions()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self.deal.outcomes()

    def _apply_action(self, action: int) -> None:
        self.deal.apply(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return outcome_text(self.deal, action) if player == CHANCE else self.deal.setup.action_texts[action]

    def is_terminal(self) -> bool:
        return self.deal.stage == OVER

    def returns(self) -> list[float]:
        points = self.deal.points()
        if self.get_game().reward == "points":
            return points
        others, total = len(points) - 1, sum(points)
        return [own - (total - own) / others for own in points]

    def __str__(self) -> str:
        deal = self.deal
        if deal.table is None:
            return f"dealing {' '.join(map(str, deal.chance_history))}"
        deck_kind = deal.table.deck_kind
        hands = [f"{seat}={words_of(cards, deck_kind)}" for seat, cards in enumerate(deal.dealt)]
        sniped = f"sniped {cards_in(deal.table.row.sniped)}" if deal.stage == OVER else ""
        return " ".join([*hands, *public_words(deal), sniped]).rstrip()

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> DealState:
        """Draw a state with the same information state of a seat, uniformly among all layouts.

        Args:
            player: the seat.
            sampler: returns a random number in [0, 1); it is called once.

        Raises:
            ValueError: the cards are not dealt yet, or the deal is over.
        """
        if self.deal.stage != PLAYING:
            raise ValueError("a state can be resampled only while a seat is to act")
        twin = self.deal.dealt_table.sample_hidden(player, np.random.default_rng(int(sampler() * 2**53)))
        return _with_layout(self.get_game(), self.deal, Layout.of(self.deal.setup, twin.row))


def state_of(game: DealGame, row: np.record) -> DealState:
    """Return a state with a given table.

    Args:
        game: a game with the rules, dealer and hand size of the table.
        row: the table (`table_record.TABLE`), in the middle of a deal. `reconstruct_history` fills in the earlier decisions
            that a table does not store.

    Raises:
        ValueError: no state has this table.
    """
    return _with_layout(game, reconstruct_history(game.setup, row), Layout.of(game.setup, row))


def _with_layout(game: DealGame, deal: ExplicitChanceDeal, layout: Layout) -> DealState:
    """Return the state with a given layout, after the decisions of a deal."""
    state = game.new_initial_state()
    for outcome in layout.outcomes(game.setup):
        state.apply_action(outcome)
    for _, action in deal.decisions:
        state.apply_action(action)
    return state


def outcome_text(deal: ExplicitChanceDeal, outcome: int) -> str:
    """Return an outcome of the current chance event as text."""
    setup, deck_kind = deal.setup, deal.setup.table.deck_kind
    words = CARD_WORDS[deck_kind]
    if deal.stage == DEALING:
        place = f"seat {outcome}" if outcome < setup.rules.seats else "the stock"
        return f"{words[deal.next_card]} to {place}"
    if deal.stage == DRAWING_TRUMP:
        return f"trump {SUIT_LETTERS[deck_kind][outcome]}"
    return f"seat {outcome} sniped" if deal.stage == DRAWING_LOT else f"{words[setup.deck[outcome]]} turned up"
