"""The games in OpenSpiel, and players of this package as its bots.

    import pyspiel
    import noms_env.envs.open_spiel  # registers noms_sniped_whist, noms_big_ships, ..., noms_up_down

    game = pyspiel.load_game("noms_small_ships(seats=3,ranks=4,suits=3,reward=relative)")

A game is one deal. Its chance events are explicit (`noms_env.envs.chosen_deal` tells which), so that tabular algorithms run on
small decks; its actions have the numbers that they have everywhere (`noms_env.actions`). Parameters:

| parameter | value |
|---|---|
| `seats` | number of seats; -1, the default, for the variant's default |
| `dealer` | seat; -1 for the last one, so that seat 0 calls or leads first |
| `reward` | `points` of the deal, or `relative`: own points minus the mean of the others, which makes the game zero-sum |
| `hand_size`, `deal` | exact-bid games: the deal of the schedule that is played, see `DealKind`; -1 for the default |
| options | those of the variant that matter within a deal; -1 or an empty word for a default that depends on the table |

`trump_rotation` is written with strokes (`H/C/NT`), `dealer_forced` is -1, 0 or 1. A deal of noms that all pass ends without
points.

* The information state is what a seat knows and has seen, in order: the cards that it was dealt, the card turned up, all
  calls, announcements and plays, and what else it was shown. The points of the deal are not in it, but in the returns.
* The observation is that of the other environments, byte by byte as float32 (`noms_env.engine.layout`); its string is the table
  as the seat sees it.
* `resample_from_infostate` draws uniformly among all layouts that the seat cannot rule out (`noms_env.engine.redeal`). Of games
  in Python OpenSpiel calls it from Python only: `open_spiel.python.algorithms.ismcts` runs, `pyspiel.ISMCTSBot` does not.
* A clone costs OpenSpiel a new state and a deep copy, a multiple of a step: algorithms that walk the tree again and again
  (`CFRSolver`) are for decks of a dozen cards.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from noms_env.actions import NUM_ACTIONS, PHASES
from noms_env.cards import CARD_WORDS, NO_TRUMP, SUIT_LETTERS, cards_in
from noms_env.engine.layout import OBSERVATION_SIZE
from noms_env.engine.observe import exposed_cards
from noms_env.engine.redeal import has_seen_stock
from noms_env.envs.chosen_deal import (
    CHANCE,
    DEALING,
    DRAWING_LOT,
    DRAWING_TRUMP,
    OVER,
    PLAYING,
    ChosenDeal,
    DealKind,
    Layout,
    deal_of,
)
from noms_env.envs.seat_players import is_random, seated_players
from noms_env.players import Player
from noms_env.rules import GAMES, Option, Rules, RulesError, Variant
from noms_env.rules.nonesuch import excuse_is_shown
from noms_env.show.lines import lines_of
from noms_env.show.view import look
from noms_env.state import MAX_CALLS

BY_RULE = -1
"""The value of a parameter whose default is worked out."""
REWARDS = ("points", "relative")
STROKE = "/"

MATCH_OPTIONS = (
    *("n_hands", "accumulate", "target", "max_hands", "max_deals", "double_repeat", "observe_previous_hand"),
    *("schedule", "direction", "repeat_one", "reveal_stock_at_end"),
    *("deal_mode", "cut", "cut_min", "trick_order", "trick_stack", "pile_order"),
)
"""Options that say how one deal follows from another or what is shown after it; `tie` of noms is another."""


def game_name(variant: str) -> str:
    """The name of a variant in OpenSpiel."""
    return f"noms_{variant}"


# ------------------------------------------------------------------------------------------------------ parameters


def options_of(variant: Variant) -> list[Option]:
    """The options of a variant that are parameters of its game."""
    return [
        option
        for option in variant.options
        if option.name not in MATCH_OPTIONS and not (option.name == "tie" and variant.name == "noms")
    ]


def default_parameters(variant: Variant) -> dict[str, Any]:
    """The parameters of a variant's game with their defaults."""
    parameters: dict[str, Any] = {"seats": BY_RULE, "dealer": BY_RULE, "reward": REWARDS[0]}
    if variant.schedule is not None:
        parameters |= {"hand_size": BY_RULE, "deal": BY_RULE}
    for option in options_of(variant):
        parameters[option.name] = _parameter(option, option.default)
    return parameters


def parameters_of(rules: Rules, **others: Any) -> dict[str, Any]:
    """The parameters of the game with given rules, as `pyspiel.load_game` takes them.

    Args:
        rules: of a table.
        **others: parameters that are not options.
    """
    return {
        "seats": rules.seats,
        **{option.name: _parameter(option, rules.options[option.name]) for option in options_of(rules.variant)},
        **others,
    }


def _parameter(option: Option, value: Any) -> Any:
    """The value of an option as a parameter: OpenSpiel knows no lists, no None, and one type for each parameter."""
    if option.rotation:
        return STROKE.join(value or ())
    if value is None:
        return "" if option.words else BY_RULE
    return int(value) if option.flag and option.default is None else value


def _option_value(option: Option, parameter: Any) -> Any:
    """The value of an option from a parameter; None for the default."""
    if option.rotation:
        return parameter.split(STROKE) if parameter else None
    if parameter in (BY_RULE, "") and option.default is None and not isinstance(parameter, bool):
        return None
    return bool(parameter) if option.flag and parameter in (0, 1) else parameter


def _kind_of(variant: Variant, parameters: dict[str, Any]) -> DealKind:
    """The deals of a game.

    Raises:
        ValueError: a parameter is not allowed.
    """
    values = {option.name: _option_value(option, parameters[option.name]) for option in options_of(variant)}
    places = {name: parameters.get(name, BY_RULE) for name in ("seats", "dealer", "hand_size", "deal")}
    if "hand_size" in values:
        del places["hand_size"]
    return DealKind(
        variant.name,
        options={name: value for name, value in values.items() if value is not None},
        **{name: None if place == BY_RULE else place for name, place in places.items()},
    )


# ------------------------------------------------------------------------------------------------------ the game


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
        self.kind = _kind_of(self.variant, values)
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


def point_range(kind: DealKind) -> tuple[float, float]:
    """Bounds of the points that a seat can get in a deal (the scoring of each game in the rulebook)."""
    options, tricks = kind.rules.options, float(kind.table.row.hand_size)
    match kind.rules.variant.name:
        case "sniped_whist":
            if options["scoring"] == "place":
                return -1.0, 1.0
            return (0.0 if options["objective"] == "most" else -tricks) - options["snip_penalty"], tricks
        case "small_ships":
            value = options["misere_value"]
            price = 2 * max(tricks, value) if options["indication"] else 0
            return -(value + tricks) - price, max(tricks, 2 * value)
        case "noms":
            return (0.0 if options["mis_value"] == tricks else -(options["mis_value"] + tricks)), 2 * tricks
        case "nonesuch":
            return -tricks, 2 * tricks
        case _:
            return 0.0, tricks + 10


def most_decisions(kind: DealKind) -> int:
    """A bound of the decisions in a deal: calls (rules 0.3), announcements, cards."""
    seats, tricks, options = kind.rules.seats, int(kind.table.row.hand_size), kind.rules.options
    cards = seats * tricks
    match kind.rules.variant.name:
        case "sniped_whist":
            return cards + 1
        case "small_ships" | "noms":
            bids = tricks - options["min_bid"] + 1 + (1 if kind.rules.variant.name == "small_ships" else 2)
            calls = min(max(bids * (seats - 1) + 1, seats), MAX_CALLS)
            refused = kind.rooms[-1] if options.get("stock_nomination") == "redraw" else 0
            return int(calls + 2 + refused + (1 if options.get("indication") else 0) + cards)
        case "nonesuch":
            return seats + 1 + tricks + cards
        case _:
            return seats + cards


# ------------------------------------------------------------------------------------------------------ the state


class DealState(pyspiel.State):
    """A moment of a deal.

    Attributes:
        deal: the deal; to be looked at only.
    """

    def __init__(self, game: DealGame) -> None:
        """Begin; called by `new_initial_state`."""
        super().__init__(game)
        self.deal = ChosenDeal(game.kind)

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
            self.deal.happen(action)
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
        hands = [f"{seat}={_words(cards, kind)}" for seat, cards in enumerate(deal.dealt)]
        sniped = f"sniped {cards_in(deal.table.row.sniped)}" if deal.stage == OVER else ""
        return " ".join([*hands, *_public_words(deal), sniped]).rstrip()

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
        twin = self.deal.begun.redeal(player, np.random.default_rng(int(sampler() * 2**53)))
        return _with_layout(self.get_game(), self.deal, Layout.of(self.deal.kind, twin.row))


def state_of(game: DealGame, row: np.record) -> DealState:
    """The state of which a table is the present moment.

    Args:
        game: of such deals: the same rules, dealer and hand size.
        row: the table (`state.TABLE`), in a deal that goes on. What it does not keep of earlier decisions is filled in:
            see `chosen_deal.deal_of`.

    Raises:
        ValueError: there is no such state.
    """
    return _with_layout(game, deal_of(game.kind, row), Layout.of(game.kind, row))


def _with_layout(game: DealGame, deal: ChosenDeal, layout: Layout) -> DealState:
    """The state with the decisions of a deal and a certain layout."""
    state = game.new_initial_state()
    for outcome in game.kind.outcomes_of(layout):
        state.apply_action(outcome)
    for _, action in deal.decisions:
        state.apply_action(action)
    return state


def outcome_text(deal: ChosenDeal, outcome: int) -> str:
    """What an outcome of the present chance event means."""
    kind = deal.kind
    words = CARD_WORDS[kind.table.deck_kind]
    if deal.stage == DEALING:
        place = f"seat {outcome}" if outcome < kind.rules.seats else "the stock"
        return f"{words[deal.next_card]} to {place}"
    if deal.stage == DRAWING_TRUMP:
        return f"trump {SUIT_LETTERS[kind.table.deck_kind][outcome]}"
    return f"seat {outcome} sniped" if deal.stage == DRAWING_LOT else f"{words[kind.deck[outcome]]} turned up"


# ------------------------------------------------------------------------------------------------------ what a seat knows


class Observer:
    """What writes a state as a seat sees it, in OpenSpiel's form.

    Attributes:
        tensor: float32, flat: all sections one behind the other.
        dict: the sections by name, views of the tensor in their own shapes.
    """

    def __init__(self, sections: dict[str, tuple[int, ...]]) -> None:
        """Make the tensor for sections of these shapes."""
        sizes = [int(np.prod(shape)) for shape in sections.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(sections.items(), parts, strict=True)}

    def set_from(self, state: DealState, player: int) -> None:
        """Fill the tensor."""
        raise NotImplementedError

    def string_from(self, state: DealState, player: int) -> str:
        """The same as text."""
        raise NotImplementedError


class InformationStateObserver(Observer):
    """What a seat knows, with all that it has seen on the way.

    | section | shape | 1 for |
    |---|---|---|
    | `seat` | (seats,) | the seat itself |
    | `hand` | (cards,) | each card that it was dealt, by its place in the deck |
    | `turn_up` | (cards,) | the card turned up |
    | `trump` | (8,) | the trump: six suits, no trump, unsaid |
    | `to_act` | (seats,) | the seat to act |
    | `phase` | (5,) | the phase (`actions.PHASES`) |
    | `open` | (cards,) | each unplayed card whose place all know: an open hand, refused nominations |
    | `stock` | (cards,) | each undealt card, for a declarer who has seen them (`stock_nomination="illegal"`) |
    | `excuse` | (seats,) | the seat that has shown the Excuse |
    | `decisions` | (most decisions, seats + 150) | per decision, in order: who has done what |
    """

    def __init__(self, kind: DealKind) -> None:
        """Lay out the sections."""
        seats, cards = kind.rules.seats, len(kind.deck)
        self._place_of = {card: place for place, card in enumerate(kind.deck)}
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
                "decisions": (most_decisions(kind), seats + NUM_ACTIONS),
            }
        )

    def set_from(self, state: DealState, player: int) -> None:
        """Fill the tensor; but for the seat it is 0 while the cards are dealt."""
        self.tensor.fill(0)
        self.dict["seat"][player] = 1
        deal = state.deal
        if deal.table is None:
            return
        row, kind = deal.table.row, deal.kind
        seats, turn_up, trump = kind.rules.seats, int(row["turn_up"]), int(row["trump"])
        self._mark("hand", deal.dealt[player])
        if turn_up >= 0:
            self._mark("turn_up", 1 << turn_up)
        if trump >= 0:
            self.dict["trump"][trump] = 1
        if deal.stage == PLAYING:
            self.dict["to_act"][deal.actor] = 1
            self.dict["phase"][row["phase"]] = 1
        if kind.has_open_cards:
            self._mark("open", exposed_cards(row))
        if kind.has_open_stock and has_seen_stock(row, player):
            self._mark("stock", row["stock"])
        if kind.has_excuse and excuse_is_shown(row):
            self.dict["excuse"][row["excuse"]] = 1
        decisions = self.dict["decisions"]
        for place, (seat, action) in enumerate(deal.decisions):
            decisions[place, seat] = decisions[place, seats + action] = 1

    def _mark(self, section: str, cards: int) -> None:
        """Set the cards of a set to 1."""
        self.dict[section][[self._place_of[card] for card in cards_in(cards)]] = 1

    def string_from(self, state: DealState, player: int) -> str:
        """The same in words: two states have the same string where they have the same tensor, and only there."""
        deal = state.deal
        if deal.table is None:
            return f"seat {player}"
        table, kind = deal.table, deal.table.deck_kind
        known = [f"seat {player}", f"hand {_words(deal.dealt[player], kind)}", *_public_words(deal)]
        if deal.kind.has_open_stock and has_seen_stock(table.row, player):
            known.append(f"stock {_words(table.row.stock, kind)}")
        return " ".join(known)


class ObservationObserver(Observer):
    """What a seat sees at this moment: the bytes of `noms_env.engine.layout` as they are, float32, shape (1024,).

    All zeros while the cards are dealt.
    """

    def __init__(self) -> None:
        """One section."""
        super().__init__({"observation": (OBSERVATION_SIZE,)})

    def set_from(self, state: DealState, player: int) -> None:
        """Fill the tensor."""
        table = state.deal.table
        self.tensor[:] = 0 if table is None else table.view(player)[0]

    def string_from(self, state: DealState, player: int) -> str:
        """The table in words, as `noms watch` shows it to the seat."""
        table = state.deal.table
        return f"seat {player}" if table is None else "\n".join(lines_of(look(table, player)))


def _public_words(deal: ChosenDeal) -> list[str]:
    """What all seats have seen since the cards were dealt."""
    table = deal.table
    assert table is not None
    row, kind, deck_kind = table.row, deal.kind, deal.kind.table.deck_kind
    words = [f"{seat}:{kind.texts[action]}" for seat, action in deal.decisions]
    if kind.drawn_trumps:
        words.insert(0, f"trump {table.trump_word()}")
    if kind.turn_up_from is not None or kind.has_excuse:
        words.insert(0, f"up {CARD_WORDS[deck_kind][row['turn_up']]}")
    if kind.has_excuse and excuse_is_shown(row):
        words.append(f"excuse {row['excuse']}")
    if kind.has_open_cards and row["exposed"] >= 0:
        words.append(f"open {_words(row['hands'][row['exposed']], deck_kind)}")
    return [*words, f"{PHASES[row['phase']]} {deal.actor}" if deal.stage == PLAYING else "over"]


def _words(cards: int, deck_kind: int) -> str:
    """The words of a set of cards."""
    return ",".join(CARD_WORDS[deck_kind][card] for card in cards_in(cards))


# ------------------------------------------------------------------------------------------------------ players as bots


class PlayerBot(pyspiel.Bot):
    """A player of this package as a bot: it sees what `noms_env.players.Player` describes, and so cannot cheat."""

    def __init__(self, game: DealGame, player_id: int, player: str | Path | Player, seed: int = 0) -> None:
        """Take a seat.

        Args:
            game: that is played.
            player_id: the seat.
            player: a name (`thumb`, `pimc:20`), the name, file or folder of a policy, or a player.
            seed: 0 or more: what its random choices follow from.

        Raises:
            ValueError: there is no such player, or it cannot sit at this table.
        """
        super().__init__()
        self._player = _seated(game, player)
        self._player_id = player_id
        self._rng = np.random.default_rng(seed)

    def player_id(self) -> int:
        """The seat."""
        return self._player_id

    def restart_at(self, state: DealState) -> None:
        """Nothing: it remembers nothing."""

    def step(self, state: DealState) -> int:
        """The action that it takes."""
        return _chosen(self._player, state, self._rng)

    def provides_policy(self) -> bool:
        """Whether it knows with which probability it takes each action."""
        return has_probabilities(self._player)

    def get_policy(self, state: DealState) -> list[tuple[int, float]]:
        """The legal actions with their probabilities.

        Raises:
            ValueError: it does not know them.
        """
        return list(_probabilities(self._player, state).items())

    def step_with_policy(self, state: DealState) -> tuple[list[tuple[int, float]], int]:
        """The probabilities, and an action that is drawn by them.

        Raises:
            ValueError: it does not know them.
        """
        policy = self.get_policy(state)
        weights = np.array([weight for _, weight in policy])
        return policy, int(self._rng.choice([action for action, _ in policy], p=weights / weights.sum()))


class PlayerPolicy(Policy):
    """A player of this package as a policy, for instance to measure how exploitable it is.

    For a player that leaves choices to chance, and knows no probabilities, it is one of the pure strategies that the player may
    be said to draw: what is random follows from the seed and the information state.
    """

    def __init__(self, game: DealGame, player: str | Path | Player, seed: int = 0) -> None:
        """Take all seats.

        Args:
            game: that is played.
            player: see `PlayerBot`.
            seed: 0 or more.

        Raises:
            ValueError: see `PlayerBot`.
        """
        super().__init__(game, list(range(game.num_players())))
        self._player = _seated(game, player)
        self._seed = seed

    def action_probabilities(self, state: DealState, player_id: int | None = None) -> dict[int, float]:
        """The legal actions of the seat to act with their probabilities."""
        if has_probabilities(self._player):
            return _probabilities(self._player, state)
        digest = blake2b(state.information_state_string().encode(), digest_size=8).digest()
        rng = np.random.default_rng([self._seed, int.from_bytes(digest)])
        return {_chosen(self._player, state, rng): 1.0}


def _seated(game: DealGame, player: str | Path | Player) -> Player:
    """A player at the game's table."""
    rules = game.kind.rules
    return seated_players([player] * (rules.seats - 1), rules)[0]


def has_probabilities(player: Player) -> bool:
    """Whether a player can say with which probability it takes each action."""
    return is_random(player) or hasattr(player, "probabilities")


def _chosen(player: Player, state: DealState, rng: np.random.Generator) -> int:
    """The action that a player takes for the seat to act."""
    table = state.deal.begun
    tables = table.imagine(rng) if player.wants_tables else None
    return int(player.act(*table.view(state.deal.actor), rng, tables=tables))


def _probabilities(player: Any, state: DealState) -> dict[int, float]:
    """The probabilities of the legal actions."""
    legal = state.deal.begun.legal_actions()
    if is_random(player):
        return dict.fromkeys(legal, 1 / len(legal))
    if not has_probabilities(player):
        raise ValueError(f"{type(player).__name__} does not say with which probability it takes an action; use step")
    weights = player.probabilities(*state.deal.begun.view(state.deal.actor))[legal].astype(float)
    return dict(zip(legal, (weights / weights.sum()).tolist(), strict=True))


# ------------------------------------------------------------------------------------------------------ registration

GAME_CLASSES: dict[str, type[DealGame]] = {
    name: type(f"DealGameOf_{name}", (DealGame,), {"variant": variant}) for name, variant in GAMES.items()
}
"""The class of each variant. OpenSpiel holds on to what makes a game until the process has ended, when only a class is safe to
let go of."""

for _name, _class in GAME_CLASSES.items():
    pyspiel.register_game(game_type(GAMES[_name]), _class)
