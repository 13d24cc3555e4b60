"""The variants as OpenSpiel games, and players of this package as OpenSpiel bots.

    import pyspiel
    import noms_env.interop.open_spiel  # registers noms_sniped_whist, noms_big_ships, ..., noms_up_down

    game = pyspiel.load_game("noms_small_ships(seats=3,ranks=4,suits=3,reward=relative)")

A game is one deal. Chance is explicit (see `explicit_chance`), so that tabular algorithms run on small decks. Actions have the
numbers of `noms_env.core.actions`. Parameters:

| parameter | value |
|---|---|
| `seats` | number of seats; -1 (default) for the variant's default |
| `dealer` | seat; -1 for the last one, so that seat 0 calls or leads first |
| `reward` | `points` of the deal, or `relative`: own points minus the mean of the others, which makes the game zero-sum |
| `hand_size`, `deal` | exact-bid games: the deal of the schedule, see `DealSetup`; -1 for the default |
| options | options of the variant with an effect within a deal; -1 or an empty string for a default that depends on the table |

`trump_rotation` has slashes (`H/C/NT`); `dealer_forced` is -1, 0 or 1. A passed-out deal ends without points.

* The information state has all information of a seat, in order: the cards dealt to it, the card turned up, all calls,
  announcements and plays, and any other cards shown to it. The points of the deal are only in the returns.
* The observation has the bytes of the other environments as float32 (`noms_env.observation.layout`). As a string it is the
  seat's view of the table.
* `resample_from_infostate` draws uniformly from all layouts that are consistent with the seat's information
  (`noms_env.belief`). OpenSpiel's C++ code cannot call it for a game in Python: `open_spiel.python.algorithms.ismcts` works,
  `pyspiel.ISMCTSBot` does not.
* A clone takes several times as long as a step, since OpenSpiel makes a new state and a deep copy. Algorithms that traverse the
  tree many times (`CFRSolver`) need decks of at most a dozen cards.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from noms_env.core.actions import (
    CALLING,
    INDICATE,
    NAMING_SUIT,
    NAMING_TRUMP,
    NOMINATE,
    NOMINATING,
    NUM_ACTIONS,
    PASS,
    PHASES,
    RANK,
    SUIT,
    UNSAID_ACTION,
    brief,
    is_integer,
)
from noms_env.core.cards import CARD_SUITS, CARD_WORDS, FRENCH, NO_TRUMP, SUIT_LETTERS, cards_in
from noms_env.core.state import get_byte
from noms_env.envs.gym.seat_config import is_random
from noms_env.micro.deal_setup import DealSetup, Layout
from noms_env.micro.explicit_chance import (
    CHANCE,
    DEALING,
    DRAWING_LOT,
    DRAWING_TRUMP,
    OVER,
    PLAYING,
    ExplicitChanceDeal,
    replay_history,
)
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.observation.writer import exposed_cards
from noms_env.players import Player, draw_seeds, load_players
from noms_env.show.lines import lines_of
from noms_env.show.view import look
from noms_env.variants import GAMES, Option, Rules, RulesError, Variant
from noms_env.variants.dispatch import excuse_is_shown, knows_stock

DEFAULT = -1
"""The value of a parameter whose default depends on the rules."""
REWARDS = ("points", "relative")
SEPARATOR = "/"

MATCH_OPTIONS = (
    *("n_hands", "accumulate", "target", "max_hands", "max_deals", "double_repeat", "observe_previous_hand"),
    *("schedule", "direction", "repeat_one", "reveal_stock_at_end"),
    *("deal_mode", "cut", "cut_min", "trick_order", "trick_stack", "pile_order"),
)
"""Options with no effect within a deal; a `tie` that may be `play_on` has none either."""


def game_name(variant: str) -> str:
    """Return the name of a variant in OpenSpiel."""
    return f"noms_{variant}"


def options_of(variant: Variant) -> list[Option]:
    """Return the options of a variant that are parameters of its game."""
    return [option for option in variant.options if option.name not in MATCH_OPTIONS and "play_on" not in option.words]


def default_parameters(variant: Variant) -> dict[str, Any]:
    """Return the parameters of a variant's game with their defaults."""
    parameters: dict[str, Any] = {"seats": DEFAULT, "dealer": DEFAULT, "reward": REWARDS[0]}
    if variant.schedule is not None:
        parameters |= {"hand_size": DEFAULT, "deal": DEFAULT}
    return parameters | {option.name: _parameter(option, option.default) for option in options_of(variant)}


def parameters_of(rules: Rules, **others: Any) -> dict[str, Any]:
    """Return the parameters of the game with some rules, for `pyspiel.load_game`; `others` are no options, such as `dealer`."""
    options = {option.name: _parameter(option, rules.options[option.name]) for option in options_of(rules.variant)}
    return {"seats": rules.seats, **options, **others}


def _parameter(option: Option, value: Any) -> Any:
    """Convert a value of an option to a parameter: OpenSpiel has no lists, no None, and one type per parameter."""
    if option.rotation:
        return SEPARATOR.join(value or ())
    if value is None:
        return "" if option.words else DEFAULT
    return int(value) if option.flag and option.default is None else value


def _option_value(option: Option, parameter: Any) -> Any:
    """Convert a parameter to a value of an option; None for the default."""
    if option.rotation:
        return parameter.split(SEPARATOR) if parameter else None
    if parameter in (DEFAULT, "") and option.default is None and not isinstance(parameter, bool):
        return None
    return bool(parameter) if option.flag and parameter in (0, 1) else parameter


def setup_of(variant: Variant, parameters: dict[str, Any]) -> DealSetup:
    """Return the deal setup of a game; ValueError if a parameter is not allowed."""
    values = {option.name: _option_value(option, parameters[option.name]) for option in options_of(variant)}
    places = {name: parameters.get(name, DEFAULT) for name in ("seats", "dealer", "hand_size", "deal")}
    if "hand_size" in values:
        del places["hand_size"]
    return DealSetup(
        variant.name,
        options={name: value for name, value in values.items() if value is not None},
        **{name: None if place == DEFAULT else place for name, place in places.items()},
    )


class DealGame(pyspiel.Game):
    """One deal of a variant as an OpenSpiel game; each variant has its own subclass (`GAME_CLASSES`)."""

    variant: ClassVar[Variant]

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        """Set up the game; ValueError if a parameter (see the module) is not allowed."""
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
        return DealState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return the maximum: one node for each card, one for the trump and one for the lot."""
        return len(self.setup.deck) + 2

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Observer:
        """Return the observer of observations or, with `perfect_recall`, of information states.

        Raises:
            ValueError: there are `params`, or only the public or only the private part is requested.
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
    low, high = map(float, setup.rules.variant.point_range(setup.rules.options, setup.capacities[0]))
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
    """A state of a deal; `deal` is read only."""

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
        """Draw a state with the same information state of a seat, uniformly among all layouts, from one call of `sampler`.

        Raises:
            ValueError: the cards are not dealt yet, or the deal is over.
        """
        if self.deal.stage != PLAYING:
            raise ValueError("a state can be resampled only while a seat is to act")
        twin = self.deal.dealt_table.sample_hidden(player, np.random.default_rng(int(sampler() * 2**53)))
        return _with_layout(self.get_game(), self.deal, Layout.of(self.deal.setup, twin.row))


def state_of(game: DealGame, row: np.record) -> DealState:
    """Return the state of a table (`table_record.TABLE`) in the middle of a deal; ValueError if there is none.

    The game has the rules, dealer and hand size of the table. `reconstruct_history` fills in what a table does not store.
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


class Observer:
    """Base class of observers, in OpenSpiel's form: the tensor of one seat's view of a state.

    Attributes:
        tensor: float32, flat: all sections in order.
        dict: the sections by name, as views of the tensor in their own shapes.
    """

    def __init__(self, sections: dict[str, tuple[int, ...]]) -> None:
        sizes = [int(np.prod(shape)) for shape in sections.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(sections.items(), parts, strict=True)}


class InformationStateObserver(Observer):
    """Observer of the information state: all information that a seat has received in the deal.

    | section | shape | 1 for |
    |---|---|---|
    | `seat` | (seats,) | the seat itself |
    | `hand` | (cards,) | each card dealt to it, by position in the deck |
    | `turn_up` | (cards,) | the card turned up |
    | `trump` | (8,) | the trump: six suits, no trump, unsaid |
    | `to_act` | (seats,) | the seat to act |
    | `phase` | (5,) | the phase (`actions.PHASES`) |
    | `open` | (cards,) | each unplayed card whose holder is public: an open hand, refused nominations |
    | `stock` | (cards,) | each undealt card, for a declarer who has seen them (`stock_nomination="illegal"`) |
    | `excuse` | (seats,) | the seat that has shown the Excuse |
    | `holder` | (seats + 1,) | the seat that was dealt the nominated card, last the stock; only with `open_partner` |
    | `decisions` | (maximum of decisions, seats + 150) | the seat and the action of each decision, in order |
    """

    def __init__(self, setup: DealSetup) -> None:
        seats, cards = setup.rules.seats, len(setup.deck)
        self._position_of = {card: position for position, card in enumerate(setup.deck)}
        super().__init__(
            {
                "seat": (seats,),
                "hand": (cards,),
                "turn_up": (cards,),
                "trump": (NO_TRUMP + 2,),
                "to_act": (seats,),
                "phase": (len(PHASES),),
                "open": (cards,),
                "stock": (cards,),
                "excuse": (seats,),
                **({"holder": (seats + 1,)} if setup.has_open_partner else {}),
                "decisions": (setup.max_decisions(), seats + NUM_ACTIONS),
            }
        )

    def set_from(self, state: DealState, player: int) -> None:
        """Write the tensor; until the cards are dealt, all except `seat` is 0."""
        self.tensor[:] = 0
        self.dict["seat"][player] = 1
        deal = state.deal
        if deal.table is None:
            return
        row, setup = deal.table.row, deal.setup
        seats, turn_up, trump = setup.rules.seats, int(row["turn_up"]), int(row["trump"])
        self._mark("hand", deal.dealt[player])
        if turn_up >= 0:
            self._mark("turn_up", 1 << turn_up)
        if trump >= 0:
            self.dict["trump"][trump] = 1
        if deal.stage == PLAYING:
            self.dict["to_act"][deal.actor] = 1
            self.dict["phase"][row["phase"]] = 1
        if setup.has_open_cards:
            self._mark("open", exposed_cards(row))
        if setup.has_open_stock and knows_stock(row, player):
            self._mark("stock", row["stock"])
        if setup.has_excuse and excuse_is_shown(row):
            self.dict["excuse"][row["excuse"]] = 1
        if setup.has_open_partner and row["nominated"] >= 0:
            self.dict["holder"][row["revealed"]] = 1  # -1, the last place, if the card is in the stock
        decisions = self.dict["decisions"]
        for number, (seat, action) in enumerate(deal.decisions):
            decisions[number, seat] = decisions[number, seats + action] = 1

    def _mark(self, section: str, cards: int) -> None:
        self.dict[section][[self._position_of[card] for card in cards_in(cards)]] = 1

    def string_from(self, state: DealState, player: int) -> str:
        """Return the information state as text: two states have equal texts if and only if they have equal tensors."""
        deal = state.deal
        if deal.table is None:
            return f"seat {player}"
        table, deck_kind = deal.table, deal.table.deck_kind
        known = [f"seat {player}", f"hand {words_of(deal.dealt[player], deck_kind)}", *public_words(deal)]
        if deal.setup.has_open_stock and knows_stock(table.row, player):
            known.append(f"stock {words_of(table.row.stock, deck_kind)}")
        return " ".join(known)


class ObservationObserver(Observer):
    """Observer of the bytes of the other environments (`observation.layout`): zeros until the cards are dealt."""

    def __init__(self) -> None:
        super().__init__({"observation": (OBSERVATION_SIZE,)})

    def set_from(self, state: DealState, player: int) -> None:
        table = state.deal.table
        self.tensor[:] = 0 if table is None else table.view(player)[0]

    def string_from(self, state: DealState, player: int) -> str:
        """Return the seat's view of the table as text, as in `noms watch`."""
        table = state.deal.table
        return f"seat {player}" if table is None else "\n".join(lines_of(look(table, player)))


def public_words(deal: ExplicitChanceDeal) -> list[str]:
    """Return the public events since the cards were dealt, as words."""
    table, setup = deal.dealt_table, deal.setup
    row, deck_kind = table.row, table.deck_kind
    words = [f"{seat}:{setup.action_texts[action]}" for seat, action in deal.decisions]
    if setup.random_trumps:
        words.insert(0, f"trump {table.trump_word()}")
    if setup.turn_up_from is not None or setup.has_excuse:
        words.insert(0, f"up {CARD_WORDS[deck_kind][row['turn_up']]}")
    if setup.has_excuse and excuse_is_shown(row):
        words.append(f"excuse {row['excuse']}")
    if setup.has_open_partner and row["nominated"] >= 0:
        words.append(f"holder {row['revealed'] if row['revealed'] >= 0 else 'stock'}")
    if setup.has_open_cards and row["exposed"] >= 0:
        words.append(f"open {words_of(row['hands'][row['exposed']], deck_kind)}")
    return [*words, f"{PHASES[row['phase']]} {deal.actor}" if deal.stage == PLAYING else "over"]


def words_of(cards: int, deck_kind: int) -> str:
    """Return the words of a set of cards, joined by commas."""
    return ",".join(CARD_WORDS[deck_kind][card] for card in cards_in(cards))


PUBLIC_FIELDS = (
    *("calls", "trump", "nominated", "nominated_rank", "revealed", "indicated", "refused", "order", "trick_winners"),
    *("alone", "tricks", "voids", "n_table", "led_suit", "phase", "seat"),
)
"""The fields of a record that can differ between two histories with the same cards."""


def reconstruct_history(setup: DealSetup, row: np.record) -> ExplicitChanceDeal:
    """Return a deal whose history leads to a table, with the same information for every seat; ValueError if none does.

    A table does not store three things: the suit named for a two-suited lead to an earlier trick (nonesuch), the moment at
    which the partner indicated (small ships), and the order of refused nominations. The history has any consistent choice.
    """
    deal = replay_history(setup, Layout.of(setup, row).outcomes(setup), ())
    history = _play_to_table(deal, row)
    if history is None:
        raise ValueError(f"no history of {setup.rules.variant.name} with these cards leads to this table")
    return history


def _play_to_table(deal: ExplicitChanceDeal, row: np.record) -> ExplicitChanceDeal | None:
    """Play until the deal's table matches; None if it never does. If several actions fit, search depth first."""
    while deal.stage == PLAYING:
        legal = deal.dealt_table.legal_actions()
        fitting = [action for action in _next_actions(deal.dealt_table.row, row) if action in legal]
        if len(fitting) != 1:
            for action in fitting:
                twin = deal.copy()
                twin.apply_action(action)
                if (history := _play_to_table(twin, row)) is not None:
                    return history
            break
        deal.apply_action(fitting[0])
    return deal if _matches(deal.dealt_table.row, row) else None


def _matches(table: np.record, other: np.record) -> bool:
    """Return whether two tables with the same cards have the same history, in all fields that tables store."""
    return all(np.array_equal(table[name], other[name]) for name in PUBLIC_FIELDS)


def _next_actions(t: np.record, row: np.record) -> list[int]:
    """Return the actions that may lead from table `t` towards table `row`; empty at the end or if none does."""
    if t.phase == CALLING:
        return [PASS - 1 + get_byte(row.calls, t.n_calls)] if t.n_calls < row.n_calls else []
    if t.phase == NAMING_TRUMP:
        unsaid = row.nominated_rank >= 0
        return [UNSAID_ACTION] if unsaid else [SUIT + int(row.trump)] if row.trump >= 0 else []
    if t.phase == NOMINATING:
        return _next_nominations(t, row)
    if t.phase == NAMING_SUIT:
        return _next_suits(t, row)
    card = int(row.order[t.trick_number * t.n_seats + t.n_table])
    indicates = row.indicated == t.seat and t.indicated < 0
    return [*([INDICATE] if indicates else []), *([card] if card >= 0 else [])]


def _next_nominations(t: np.record, row: np.record) -> list[int]:
    """Return the next nominations: first the refused ones, by card number."""
    refused = cards_in(row.refused & ~t.refused)
    if refused:
        return [NOMINATE + refused[0]]
    if row.nominated_rank >= 0:
        return [RANK + int(row.nominated_rank)]
    return [NOMINATE + int(row.nominated)] if row.nominated >= 0 else []


def _next_suits(t: np.record, row: np.record) -> list[int]:
    """Return the next suits of a two-suited lead: the named suit in the current trick, either suit in an earlier one."""
    if t.trick_number == row.trick_number and row.n_table > 0:
        return [SUIT + int(row.led_suit)] if row.led_suit >= 0 else []
    return [SUIT + suit for suit in cards_in(CARD_SUITS[t.deck_kind, t.best_card])]


class PlayerBot(pyspiel.Bot):
    """A player of this package as a bot, with only the information in `noms_env.players.Player`.

    Args:
        game: the game.
        player_id: the seat of the bot.
        player: a name (`thumb`, `pimc:20`), the name, file or folder of a policy, or a player.
        seed: of the random choices, 0 or more.

    Raises:
        ValueError: the player or the seat is unknown, or the player cannot sit at this table.
    """

    def __init__(self, game: DealGame, player_id: int, player: str | Path | Player, seed: int = 0) -> None:
        super().__init__()
        if not is_integer(player_id) or player_id not in range(game.num_players()):
            raise ValueError(f"player_id must be a seat from 0 to {game.num_players() - 1}, not {brief(player_id)}")
        self._player = _load_player(game, player)
        self._player_id = player_id
        self._rng = np.random.default_rng(seed)

    def player_id(self) -> int:
        return self._player_id

    def restart_at(self, state: DealState) -> None:
        """Do nothing: the bot is stateless."""

    def step(self, state: DealState) -> int:
        return _choose(self._player, state, self._rng)

    def provides_policy(self) -> bool:
        return has_probabilities(self._player)

    def get_policy(self, state: DealState) -> list[tuple[int, float]]:
        """Return the legal actions with their probabilities; ValueError if the player has none."""
        return list(_probabilities(self._player, state).items())

    def step_with_policy(self, state: DealState) -> tuple[list[tuple[int, float]], int]:
        """Return the result of `get_policy`, and an action drawn from it."""
        policy = self.get_policy(state)
        weights = np.array([weight for _, weight in policy])
        return policy, int(self._rng.choice([action for action, _ in policy], p=weights / weights.sum()))


class PlayerPolicy(Policy):
    """A player of this package as a policy, for example to measure its exploitability.

    A randomized player without action probabilities becomes one of the pure strategies that it mixes: its random choices are a
    function of the seed and the information state.

    Arguments and errors are those of `PlayerBot`.
    """

    def __init__(self, game: DealGame, player: str | Path | Player, seed: int = 0) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._player = _load_player(game, player)
        self._seed = seed

    def action_probabilities(self, state: DealState, player_id: int | None = None) -> dict[int, float]:
        """Return the legal actions of the seat to act with their probabilities."""
        if has_probabilities(self._player):
            return _probabilities(self._player, state)
        digest = blake2b(state.information_state_string().encode(), digest_size=8).digest()
        rng = np.random.default_rng([self._seed, int.from_bytes(digest)])
        return {_choose(self._player, state, rng): 1.0}


def has_probabilities(player: Player) -> bool:
    """Return whether a player has action probabilities."""
    return is_random(player) or hasattr(player, "probabilities")


def _load_player(game: DealGame, player: str | Path | Player) -> Player:
    return load_players([player], 1, game.setup.rules)[0]


def _choose(player: Player, state: DealState, rng: np.random.Generator) -> int:
    table = state.deal.dealt_table
    tables = table.determinize(rng) if player.wants_tables else None
    return int(player.act(*table.view(state.deal.actor), draw_seeds(rng, 1)[0], tables=tables))


def _probabilities(player: Any, state: DealState) -> dict[int, float]:
    legal = state.deal.dealt_table.legal_actions()
    if is_random(player):
        return dict.fromkeys(legal, 1 / len(legal))
    if not has_probabilities(player):
        raise ValueError(f"{type(player).__name__} does not know the probabilities of its actions; use step")
    weights = player.probabilities(*state.deal.dealt_table.view(state.deal.actor))[legal].astype(float)
    return dict(zip(legal, (weights / weights.sum()).tolist(), strict=True))


GAME_CLASSES: dict[str, type[DealGame]] = {
    name: type(f"DealGameOf_{name}", (DealGame,), {"variant": variant}) for name, variant in GAMES.items()
}
"""The class of each variant. OpenSpiel holds the factory of a game until the process ends; only a class is then released
safely."""

for _name, _class in GAME_CLASSES.items():
    pyspiel.register_game(game_type(GAMES[_name]), _class)
