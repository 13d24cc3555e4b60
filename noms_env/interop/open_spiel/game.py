"""The game and its states, as OpenSpiel asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pyspiel

from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.cards import CARD_WORDS, SUIT_LETTERS, cards_in
from noms_env.interop.open_spiel.bounds import most_decisions, point_range
from noms_env.interop.open_spiel.explicit_chance import (
    CHANCE,
    DEALING,
    DRAWING_LOT,
    DRAWING_TRUMP,
    OVER,
    PLAYING,
    DealKind,
    ExplicitChanceDeal,
    Layout,
)
from noms_env.interop.open_spiel.observers import (
    InformationStateObserver,
    ObservationObserver,
    Observer,
    public_words,
    words_of,
)
from noms_env.interop.open_spiel.parameters import REWARDS, default_parameters, game_name, kind_of
from noms_env.interop.open_spiel.reconstruct_history import reconstruct_history
from noms_env.variants import RulesError, Variant


class DealGame(pyspiel.Game):
    """One deal of a variant as a game of OpenSpiel; each variant has a class of its own (`GAME_CLASSES`).

    Attributes:
        variant: the game.
        kind: what is the same in all its deals.
        reward: a word of `REWARDS`.
    """

    variant: ClassVar[Variant]

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        """Take the parameters; those that are missing have their defaults.

        Raises:
            ValueError: a parameter is not allowed.
        """
        defaults = default_parameters(self.variant)
        values = defaults | (params or {})
        if values["reward"] not in REWARDS:
            raise RulesError(f"reward must be {' or '.join(map(repr, REWARDS))}, not {values['reward']!r}")
        self.kind = kind_of(self.variant, values)
        self.reward: str = values["reward"]
        given = {name: value for name, value in values.items() if value != defaults.get(name, value)}
        super().__init__(game_type(self.variant, self.reward), _game_info(self.kind, self.reward), given)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: loaded again by its name."""
        return _loaded, (str(self),)

    def new_initial_state(self) -> DealState:
        """A state before the first card is dealt."""
        return DealState(self)

    def max_chance_nodes_in_history(self) -> int:
        """A node for each card at most; one for the trump, one for the lot."""
        return len(self.kind.deck) + 2

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Observer:
        """What writes observations, or with `perfect_recall` information states.

        Raises:
            ValueError: parameters, or only the public or the private part, are asked for.
        """
        wanted = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if params:
            raise ValueError(f"the observers take no parameters, not {params}")
        if not wanted.public_info or wanted.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError(
                "the observers give what one seat may know as a whole: public_info, and private_info of one player"
            )
        return InformationStateObserver(self.kind) if wanted.perfect_recall else ObservationObserver()


def _loaded(name: str) -> DealGame:
    """A game by its name with parameters."""
    game: DealGame = pyspiel.load_game(name)
    return game


def game_type(variant: Variant, reward: str = REWARDS[0]) -> Any:
    """What OpenSpiel wants to know of a variant's game (`pyspiel.GameType`)."""
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
        min_num_players=variant.seats[0] if variant.name == "nonesuch" else 2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=default_parameters(variant),
    )


def _game_info(kind: DealKind, reward: str) -> Any:
    """The sizes of a game (`pyspiel.GameInfo`)."""
    low, high = point_range(kind)
    if reward == "relative":
        low, high = low - high, high - low
    info = {
        "num_distinct_actions": NUM_ACTIONS,
        "max_chance_outcomes": max(len(kind.deck) if kind.turn_up_from is not None else 0, len(kind.rooms)),
        "num_players": kind.rules.seats,
        "min_utility": low,
        "max_utility": high,
        "max_game_length": most_decisions(kind),
    }
    return pyspiel.GameInfo(**info, utility_sum=0.0) if reward == "relative" else pyspiel.GameInfo(**info)


# ------------------------------------------------------------------------------------------------------ the state


class DealState(pyspiel.State):
    """A moment of a deal.

    Attributes:
        deal: the deal; to be looked at only.
    """

    def __init__(self, game: DealGame) -> None:
        """Begin; called by `new_initial_state`."""
        super().__init__(game)
        self.deal = ExplicitChanceDeal(game.kind)

    def current_player(self) -> int:
        return self.deal.actor

    def _legal_actions(self, player: int) -> list[int]:
        """The actions of the seat to act, ascending."""
        table = self.deal.table
        return [] if table is None else table.legal_actions()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self.deal.outcomes()

    def _apply_action(self, action: int) -> None:
        """An outcome of chance, or an action of the seat to act."""
        if self.deal.actor == CHANCE:
            self.deal.apply_outcome(action)
        else:
            self.deal.decide(action)

    def _action_to_string(self, player: int, action: int) -> str:
        """The word of an action; what happens, of an outcome."""
        return outcome_text(self.deal, action) if player == CHANCE else self.deal.kind.texts[action]

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
            return f"dealing {' '.join(map(str, deal.happened))}"
        kind = deal.table.deck_kind
        hands = [f"{seat}={words_of(cards, kind)}" for seat, cards in enumerate(deal.dealt)]
        sniped = f"sniped {cards_in(deal.table.row.sniped)}" if deal.stage == OVER else ""
        return " ".join([*hands, *public_words(deal), sniped]).rstrip()

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> DealState:
        """A state that a seat cannot tell from this one, drawn uniformly among all layouts.

        Args:
            player: the seat.
            sampler: gives numbers from 0 to below 1; one of them is asked for.

        Raises:
            ValueError: no cards are dealt yet, or the deal is over.
        """
        if self.deal.stage != PLAYING:
            raise ValueError("only a deal that is dealt and goes on has layouts to draw from")
        twin = self.deal.begun.sample_hidden(player, np.random.default_rng(int(sampler() * 2**53)))
        return _with_layout(self.get_game(), self.deal, Layout.of(self.deal.kind, twin.row))


def state_of(game: DealGame, row: np.record) -> DealState:
    """The state of which a table is the present moment.

    Args:
        game: of such deals: the same rules, dealer and hand size.
        row: the table (`state.TABLE`), in a deal that goes on. What it does not keep of earlier decisions is filled in:
            see `reconstruct_history`.

    Raises:
        ValueError: there is no such state.
    """
    return _with_layout(game, reconstruct_history(game.kind, row), Layout.of(game.kind, row))


def _with_layout(game: DealGame, deal: ExplicitChanceDeal, layout: Layout) -> DealState:
    """The state with the decisions of a deal and a certain layout."""
    state = game.new_initial_state()
    for outcome in game.kind.outcomes_of(layout):
        state.apply_action(outcome)
    for _, action in deal.decisions:
        state.apply_action(action)
    return state


def outcome_text(deal: ExplicitChanceDeal, outcome: int) -> str:
    """What an outcome of the present chance event means."""
    kind = deal.kind
    words = CARD_WORDS[kind.table.deck_kind]
    if deal.stage == DEALING:
        place = f"seat {outcome}" if outcome < kind.rules.seats else "the stock"
        return f"{words[deal.next_card]} to {place}"
    if deal.stage == DRAWING_TRUMP:
        return f"trump {SUIT_LETTERS[kind.table.deck_kind][outcome]}"
    return f"seat {outcome} sniped" if deal.stage == DRAWING_LOT else f"{words[kind.deck[outcome]]} turned up"
