"""OpenSpiel plays the games by the rulebook and without leaks; players become its bots, and its bots players."""

import pickle
import random
import runpy
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from noms_env.core.cards import CARD_WORDS, SUIT_LETTERS
from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS, RulesError, make_rules
from tests import referee
from tests.agreement import random_table, same_numbers
from tests.begin import begin
from tests.cases import some

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")

from open_spiel.python.algorithms.exploitability import exploitability  # noqa: E402
from open_spiel.python.bots.uniform_random import UniformRandomBot  # noqa: E402

from noms_env.interop.open_spiel import (  # noqa: E402
    MATCH_OPTIONS,
    DealGame,
    DealState,
    InformationStateObserver,
    PlayerBot,
    PlayerPolicy,
    game_name,
    options_of,
    parameters_of,
    reconstruct_history,
    state_of,
)
from noms_env.micro.explicit_chance import CHANCE, OVER, PLAYING, ExplicitChanceDeal  # noqa: E402
from noms_env.players import Player, load_player  # noqa: E402
from noms_env.record import record_matches  # noqa: E402
from noms_training.agents.open_spiel_players import OpenSpielPlayer, game_of, ismcts_bot, uniform_random  # noqa: E402

pytestmark = pytest.mark.interop

EXAMPLE = Path(__file__).parents[2] / "examples" / "open_spiel_cfr.py"
PERFECT_RECALL = pyspiel.IIGObservationType(perfect_recall=True)
TINY = "noms_down_up(seats=2,ranks=2,suits=2,reward=relative)"

SMALL_TREES = [
    "noms_down_up(seats=3,ranks=4,suits=1,hand_size=1)",
    "noms_up_down(seats=2,ranks=2,suits=2,hand_size=1,trump_mode=turnup)",
    "noms_big_ships(seats=2,ranks=2,suits=2)",
    "noms_sniped_whist(seats=3,ranks=2,suits=2,tie=cut,scoring=tricks)",
    "noms_sniped_whist(seats=2,ranks=2,suits=2,trump_mode=random)",
    "noms_small_ships(seats=3,ranks=3,suits=1,min_bid=1)",
    "noms_small_ships(seats=2,ranks=3,suits=1,hand_size=1,min_bid=1,stock_nomination=illegal,misere_nominates=False)",
    "noms_small_ships(seats=2,ranks=3,suits=1,hand_size=1,min_bid=1,misere_trump=none,stock_nomination=redraw,indication=True)",
    "noms_small_ships(seats=3,ranks=4,suits=1,hand_size=1,min_bid=1,open_partner=True)",
    "noms_noms(seats=2,ranks=3,suits=1,hand_size=1,min_bid=1)",
    "noms_noms(seats=3,ranks=3,suits=1,min_bid=1,early_stop=True)",
    "noms_noms(seats=2,ranks=3,suits=1,hand_size=1,min_bid=1,early_stop=True,implicit_announcements=True)",
    "noms_noms(seats=2,ranks=3,suits=1,hand_size=1,min_bid=1,implicit_announcements=True,open_partner=True)",
    "noms_nonesuch(seats=3,ranks=2,suits=2)",
]


def load(name: str, parameters: dict[str, Any] | None = None) -> DealGame:
    game: DealGame = pyspiel.load_game(name, parameters) if parameters else pyspiel.load_game(name)
    return game


def random_game(variant: str, rng: random.Random) -> DealGame:
    """Load a game with random seats, options, dealer and, if the hand size changes, deal."""
    seats, options = random_table(variant, rng)
    rules = make_rules(GAMES[variant], seats, {name: value for name, value in options.items() if name not in MATCH_OPTIONS})
    position = {"dealer": rng.randrange(seats)}
    if rules.schedule:
        position["deal"] = rng.randrange(len(rules.schedule))
    return load(game_name(variant), parameters_of(rules, **position))


def deal_cards(game: DealGame, rng: random.Random) -> DealState:
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(outcomes, weights)[0])
    return state


def choose(state: DealState, rng: random.Random) -> int:
    """Draw a random action, with a preference for rare ones."""
    legal = state.legal_actions()
    rare = [action for action in legal if action in (52, 60, 93, 94) or 61 <= action <= 73]
    return int(rng.choice(rare if rare and rng.random() < 0.3 else legal))


def decisions(game: DealGame, rng: random.Random) -> Iterator[DealState]:
    """Yield the state at every decision of a random deal."""
    state = deal_cards(game, rng)
    while state.deal.stage == PLAYING:
        yield state
        state.apply_action(choose(state, rng))


@pytest.mark.parametrize("name", [*map(game_name, VARIANTS), *SMALL_TREES], ids=lambda name: name)
def test_openspiels_random_simulation_passes(name: str) -> None:
    pyspiel.random_sim_test(load(name), num_sims=1, serialize=True, verbose=False)


def play_with_referee(game: DealGame, rng: random.Random) -> None:
    """Play a random deal in OpenSpiel and with the referee.

    Raises:
        AssertionError: the two disagree.
    """
    setup, state = game.setup, deal_cards(game, rng)
    table = state.deal.dealt_table
    row, words = table.row, CARD_WORDS[table.deck_kind]
    options, where = setup.rules.options, (str(game), str(state))
    variant = setup.rules.variant.name
    match = referee.Match(variant, table.seats, options, dealer=setup.dealer, deal=int(row.deal), single_deal=True)
    trump = SUIT_LETTERS[0][row.trump] if options.get("trump_mode") == "random" else None
    deal = match.start([words[card] for card in row.deck[: len(setup.deck)]], random_trump=trump)
    while not deal.over:
        assert (state.current_player(), table.phase) == (deal.seat, deal.phase), where
        assert sorted(map(table.word, state.legal_actions())) == sorted(deal.legal()), where
        action = choose(state, rng)
        state.apply_action(action)
        deal.act(table.word(action))
    tied = deal.seats_to_cut()
    assert state.is_chance_node() == (len(tied) > 1), where
    if tied:
        assert state.legal_actions() == tied, where
        deal.sniped = rng.choice(tied)
        state.apply_action(deal.sniped)
    assert state.is_terminal(), where
    same_numbers(state.returns(), deal.points, where)


@pytest.mark.parametrize("variant", VARIANTS)
def test_deals_with_random_options_follow_the_rulebook(variant: str) -> None:
    rng = random.Random(f"{variant}: OpenSpiel")
    for _ in range(8):
        play_with_referee(random_game(variant, rng), rng)


def test_a_lot_decides_who_is_sniped() -> None:
    rng = random.Random("lot")
    game = load("noms_sniped_whist(seats=5,ranks=5,tie=cut,scoring=tricks,snip_penalty=3)")
    for _ in range(6):
        play_with_referee(game, rng)


def test_relative_points_sum_to_zero() -> None:
    rng = random.Random(2)
    for variant in VARIANTS:
        plain, relative = (load(f"{game_name(variant)}(reward={reward})") for reward in ("points", "relative"))
        state = deal_cards(plain, rng)
        other = relative.new_initial_state()
        while not state.is_terminal():
            state.apply_action(choose(state, rng))
        for action in state.history():
            other.apply_action(action)
        points, seats = state.returns(), plain.num_players()
        expected = [points[seat] - (sum(points) - points[seat]) / (seats - 1) for seat in range(seats)]
        assert np.allclose(other.returns(), expected)
        assert abs(sum(other.returns())) < 1e-9
        assert relative.utility_sum() == 0
        assert plain.utility_sum() is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_hidden_cards_do_not_change_what_a_seat_sees(variant: str) -> None:
    rng, others = random.Random(f"{variant}: leak"), 0
    sampler = pyspiel.UniformProbabilitySampler(1, 0.0, 1.0)
    for number in range(3):
        game = load(game_name(variant)) if number == 0 else random_game(variant, rng)
        for decision, state in enumerate(decisions(game, rng)):
            if decision % 9 != number:
                continue
            for seat in range(game.num_players()):
                twin = state.resample_from_infostate(seat, sampler)
                others += twin.deal.dealt != state.deal.dealt
                assert twin.information_state_string(seat) == state.information_state_string(seat)
                assert twin.information_state_tensor(seat) == state.information_state_tensor(seat)
                assert twin.observation_string(seat) == state.observation_string(seat)
                assert twin.observation_tensor(seat) == state.observation_tensor(seat)
                assert (twin.current_player(), twin.move_number()) == (state.current_player(), state.move_number())
    assert others > 20


class Nodes:
    """All decisions in the tree of a game, by the information state of the seat to act."""

    def __init__(self, game: DealGame) -> None:
        self.observer, self.state = InformationStateObserver(game.setup), game.new_initial_state()
        self.by_text: dict[str, list[ExplicitChanceDeal]] = defaultdict(list)
        self.memories: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.chances: list[float] = []
        self._visit(ExplicitChanceDeal(game.setup), 1.0, [()] * game.num_players())

    def _visit(self, deal: ExplicitChanceDeal, chance: float, memory: list[tuple[str, ...]]) -> None:
        if deal.actor == CHANCE:
            for outcome, probability in deal.outcomes():
                twin = deal.copy()
                twin.apply_outcome(outcome)
                if twin.table is not None and deal.table is None:
                    self.chances.append(chance * probability)
                self._visit(twin, chance * probability, memory)
            return
        if deal.stage == OVER:
            return
        self.state.deal = deal
        text = self.observer.string_from(self.state, deal.actor)
        self.by_text[text].append(deal)
        self.memories[text].add(memory[deal.actor])
        for action in deal.dealt_table.legal_actions():
            twin = deal.copy()
            twin.apply_action(action)
            own = (*memory[deal.actor], text, str(action))
            self._visit(twin, chance, [own if seat == deal.actor else other for seat, other in enumerate(memory)])


@pytest.mark.parametrize("name", some(SMALL_TREES, 3), ids=lambda name: name)
def test_information_states_of_a_whole_tree(name: str) -> None:
    game = load(name)
    nodes, rng = Nodes(game), np.random.default_rng(1)
    assert np.isclose(sum(nodes.chances), 1), "every deal once"
    assert np.allclose(nodes.chances, nodes.chances[0]), "all equally likely"
    assert len(nodes.by_text) > 10
    tensors = set()
    for number, (text, deals) in enumerate(nodes.by_text.items()):
        seat = deals[0].actor
        assert len(nodes.memories[text]) == 1, "perfect recall"
        views = {b"".join(part.tobytes() for part in deal.dealt_table.view(seat)) for deal in deals}
        assert len(views) == 1, "observation and mask follow from the information state"
        for deal in deals:
            nodes.state.deal = deal
            nodes.observer.set_from(nodes.state, seat)
            tensors.add(nodes.observer.tensor.tobytes())
            assert nodes.observer.dict["seat"].tolist() == np.eye(game.setup.rules.seats)[seat].tolist()
            assert np.flatnonzero(nodes.observer.dict["to_act"]).tolist() == [deal.actor]
        assert len(tensors) == number + 1, "as many tensors as texts"
        if number % 9 == 0:
            layouts = {deal.dealt for deal in deals}
            samples = [deals[0].dealt_table.sample_hidden(seat, rng) for _ in range(12 * len(layouts))]
            assert {reconstruct_history(game.setup, sample.row).dealt for sample in samples} == layouts


def test_a_table_that_no_history_leads_to_is_refused() -> None:
    game = load(TINY)
    row = list(decisions(game, random.Random(1)))[-1].deal.dealt_table.row.copy()
    row.tricks[0] += 1
    with pytest.raises(ValueError, match=r"no history of .* leads to this table"):
        reconstruct_history(game.setup, row)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_state_can_be_rebuilt_from_its_table(variant: str) -> None:
    rng = random.Random(f"{variant}: found again")
    for number in range(4):
        game = load(game_name(variant)) if number == 0 else random_game(variant, rng)
        # A table does not store named suits, the time of an indication, the order of refusals, or that trump was unsaid.
        options = game.setup.rules.options
        exact = not (
            variant == "nonesuch"
            or options.get("indication")
            or options.get("implicit_announcements")
            or options.get("stock_nomination") == "redraw"
        )
        for decision, state in enumerate(decisions(game, rng)):
            if decision % 5 == number:
                rebuilt, seat = state_of(game, state.deal.dealt_table.row), state.current_player()
                assert rebuilt.observation_tensor(seat) == state.observation_tensor(seat)
                assert rebuilt.legal_actions() == state.legal_actions()
                assert not exact or (str(rebuilt), rebuilt.history()) == (str(state), state.history())


def test_undealt_states_show_nothing() -> None:
    game = load(TINY)
    state = game.new_initial_state()
    before = [(state.information_state_string(seat), state.observation_string(seat)) for seat in range(2)]
    state.apply_action(0)
    assert state.is_chance_node()
    assert [(state.information_state_string(seat), state.observation_string(seat)) for seat in range(2)] == before
    assert not np.any(state.observation_tensor(0))
    with pytest.raises(ValueError, match="only while a seat is to act"):
        state.resample_from_infostate(0, lambda: 0.5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_copies_and_pickles(variant: str) -> None:
    rng = random.Random(variant)
    game = random_game(variant, rng)
    assert str(pickle.loads(pickle.dumps(game))) == str(game)
    for decision, state in enumerate(decisions(game, rng)):
        if decision % 6 == 0:
            unpickled, clone = pickle.loads(pickle.dumps(state)), state.clone()
            action, before = choose(state, rng), str(state)
            for other in (unpickled, clone):
                assert (str(other), other.history()) == (before, state.history())
                other.apply_action(action)
                assert str(state) == before, "the copy is independent"
            assert str(unpickled) == str(clone) != before


def test_parameters_are_applied() -> None:
    setup = load("noms_down_up(trump_rotation=H/NT,hand_size=4,dealer=1)").setup
    row = setup.table.row
    assert (row.deal, row.deal_size, row.dealer, setup.rules.options["trump_rotation"]) == (6, 4, 1, ["H", "NT"])
    assert load("noms_noms(dealer_forced=1)").setup.rules.options["dealer_forced"] is True
    assert str(load("noms_small_ships(seats=4,ranks=5)")) == "noms_small_ships(ranks=5,seats=4)"
    for variant in GAMES.values():
        assert {"ranks", "suits"} <= {option.name for option in options_of(variant)}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("noms_noms(reward=chips)", "reward must be 'points' or 'relative', not 'chips'"),
        ("noms_down_up(hand_size=11)", "hand_size must be .* 1 to 10, not 11"),
        ("noms_down_up(ranks=1)", "ranks must be an integer from 2 to 13"),
        ("noms_noms(target=50)", "target"),
    ],
)
def test_wrong_parameters_are_refused(name: str, message: str) -> None:
    with pytest.raises((RulesError, pyspiel.SpielError), match=message):
        load(name)


def test_wrong_observers_and_outcomes_are_refused() -> None:
    game = load(TINY)
    with pytest.raises(ValueError, match="observers need public_info=True"):
        game.make_py_observer(pyspiel.IIGObservationType(public_info=False, perfect_recall=True))
    with pytest.raises(ValueError, match="has the outcomes"):
        ExplicitChanceDeal(game.setup).apply_outcome(9)


def test_players_are_policies() -> None:
    game = load("noms_down_up(seats=2,ranks=2,suits=2,hand_size=1,reward=relative)")
    uniform = pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game))
    assert np.isclose(exploitability(game, PlayerPolicy(game, "random")), uniform)
    thumb, greedy = (PlayerPolicy(game, name).to_tabular() for name in ("thumb", "greedy"))
    assert set(np.unique(thumb.action_probability_array)) == {0, 1}
    assert exploitability(game, thumb) < 0.6 * uniform
    assert (PlayerPolicy(game, "greedy").to_tabular().action_probability_array == greedy.action_probability_array).all()


def test_players_are_bots() -> None:
    game = load("noms_down_up(ranks=4)")
    rng = np.random.RandomState(1)
    bots = [PlayerBot(game, 0, "thumb"), PlayerBot(game, 1, load_player("pimc:3")), PlayerBot(game, 2, "random", seed=3)]
    bots.append(UniformRandomBot(3, rng))
    returns = np.array([pyspiel.evaluate_bots(game.new_initial_state(), bots, seed) for seed in range(6)])
    assert returns[:, :2].mean() > returns[:, 2:].mean()
    state = deal_cards(game, random.Random(1))
    assert [bot.provides_policy() for bot in bots[:3]] == [False, False, True]
    policy, action = bots[2].step_with_policy(state)
    assert dict(policy) == dict.fromkeys(state.legal_actions(), 1 / len(state.legal_actions()))
    assert action in state.legal_actions()
    with pytest.raises(ValueError, match="does not know the probabilities"):
        bots[0].get_policy(state)
    with pytest.raises(ValueError, match="there is no player 'nobody'"):
        PlayerBot(game, 0, "nobody")
    with pytest.raises(ValueError, match="player_id must be a seat from 0 to"):
        PlayerBot(game, 9, "thumb")


class WeightedPlayer:
    """A player with known probabilities, like a policy."""

    wants_tables: ClassVar[bool] = False

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> int:
        return int(np.random.default_rng(seeds).choice(150, p=self.probabilities(observation, mask)))

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        weights = mask * np.arange(1.0, 151.0)
        return np.asarray(weights / weights.sum())


def test_a_bot_gives_the_probabilities_of_its_player() -> None:
    game = load("noms_down_up")
    state, bot = deal_cards(game, random.Random(1)), PlayerBot(game, 0, WeightedPlayer())
    policy, legal = dict(bot.get_policy(state)), state.legal_actions()
    assert policy == pytest.approx({action: (action + 1) / sum(other + 1 for other in legal) for action in legal})
    assert PlayerPolicy(game, WeightedPlayer()).action_probabilities(state) == policy
    assert bot.step(state) in legal


@pytest.mark.parametrize("variant", VARIANTS)
def test_bots_of_openspiel_play_at_our_tables(variant: str) -> None:
    short = {"ranks": 4, "suits": 4}
    search = OpenSpielPlayer(lambda game, seat, seed: ismcts_bot(game, seat, seed, simulations=2))
    seats = make_rules(GAMES[variant], None, short).seats
    players = [cast(Player, search if seat == 0 else uniform_random()) for seat in range(seats)]
    records = [next(record_matches(variant, None, 1, 5, short, players)) for _ in range(2)]
    assert records[0] == records[1], "the same seed gives the same deal"
    assert {step["seat"] for step in records[0]["steps"]} == set(range(seats))


def test_the_game_of_a_table_has_its_trump_and_hand_size() -> None:
    for variant, options in (("sniped_whist", {"trump_mode": "rotation", "n_hands": 4}), ("up_down", {"ranks": 4})):
        rules = make_rules(GAMES[variant], 4, options)
        table = begin(Table(variant, 4, rules.options), 0, deal=3, dealer=2)
        game = game_of(table.row)
        state = state_of(game, table.row)
        assert state.deal.dealt_table.trump_word() == table.trump_word()
        assert state.deal.dealt_table.row.deal_size == table.row.deal_size
        assert game is game_of(table.row), "loaded once"


def test_the_example_solves_a_tiny_game(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(EXAMPLE))
    example["two_seats"](TINY, (2, 8))
    example["hidden_partner"]("noms_sniped_whist(seats=3,ranks=2,suits=2,reward=relative)", (2, 8))
    lines = capsys.readouterr().out.splitlines()
    by_policy = {line[:12].strip(): [float(word) for word in line[12:].split()] for line in lines[2:6]}
    assert list(by_policy) == ["random", "thumb", "CFR+ 2", "CFR+ 8"]
    exploitable, against_random, against_thumb = by_policy["CFR+ 8"]
    assert exploitable < 0.2 * by_policy["random"][0]
    assert against_random > 0
    assert against_thumb > -exploitable
    assert len(lines) == 12
