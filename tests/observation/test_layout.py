"""Every byte of an observation means what its documentation says, checked against the referee's account of the deal."""

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import noms_env
from noms_env.core.cards import NO_TRUMP, SUIT_LETTERS
from noms_env.envs.aec import TrickTakingEnv
from noms_env.observation.layout import HIDDEN, OBSERVATION, Section
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import choice_names
from tests import referee
from tests.agreement import deck_words
from tests.begin import begin
from tests.envs.play import EPISODES, KINDS, Kind, choose, make
from tests.observation.expected import Sight, state_sections


def follow(env: TrickTakingEnv, rng: random.Random, decisions: int) -> Iterator[tuple[referee.Match, referee.Deal]]:
    """Play at random beside the referee; yield the referee's match and deal before each decision."""
    rules, row = env.table.rules, env.table.row
    match = referee.Match(
        rules.variant.name,
        rules.seats,
        referee.complete_options(rules.variant.name, rules.seats, rules.options),
        dealer=int(row.dealer),
        deal=int(row.deal),
        single_deal=bool(row.episode),
    )
    deal = start(env, match)
    for _ in range(decisions):
        yield match, deal
        action = choose(env, rng)
        word = env.action_to_str(action)
        env.step(action)
        deal.act(word)
        if deal.over:
            if deal.seats_to_cut():
                # By lot: the points tell which seat it was.
                points = next(iter(env.infos.values()))["last_deal"]["points"]
                deal.sniped = next(seat for seat in deal.seats_to_cut() if points[seat] < 0)
            match.finish(deal)
            if env.phase is None:
                return
            deal = start(env, match)


def start(env: TrickTakingEnv, match: referee.Match) -> referee.Deal:
    """Start the referee's deal with the deck on the table."""
    trump = int(env.table.row.trump)
    drawn = SUIT_LETTERS[0][trump] if match.options.get("trump_mode") == "random" and 0 <= trump < NO_TRUMP else None
    return match.start(deck_words(env.table), random_trump=drawn)


def read(vector: np.ndarray, section: Section) -> np.ndarray:
    return vector[section.slice].reshape(section.shape)


def read_seat_0(env: TrickTakingEnv, name: str) -> np.ndarray:
    """Read a section of the observation of seat 0."""
    return read(env.table.view(0)[0], next(section for section in OBSERVATION if section.name == name))


@pytest.mark.parametrize(("name", "episode"), EPISODES)
def test_every_section_has_its_documented_meaning(name: str, episode: str) -> None:
    env = make(KINDS[name], episode=episode)
    rng = random.Random(name)
    for seed in (0, 2, 4, 5) if episode == "match" else (7, 8):
        env.reset(seed=seed)
        for place, (match, deal) in enumerate(follow(env, rng, 150)):
            if deal.phase == "play" and place % 2:
                continue
            seat = place // 4 % env.table.seats if place % 3 else deal.seat
            vector, _ = env.table.view(seat)
            sight = Sight(match, deal, seat)
            for section in OBSERVATION:
                expected = np.array(getattr(sight, section.name)(), np.int64).reshape(section.shape)
                assert np.array_equal(read(vector, section), expected), (section.name, seed, place, seat, section.meaning)


@pytest.mark.parametrize("name", KINDS)
def test_the_state_is_what_seat_0_sees_and_what_is_hidden(name: str) -> None:
    env = begin(make(KINDS[name]), seed=3)
    layout = {section.name: section for section in env.state_layout()}
    assert [*layout] == [section.name for section in (*OBSERVATION, *HIDDEN)]
    for place, (match, deal) in enumerate(follow(env, random.Random(name), 80)):
        if place % 5 == 0:
            state = env.state()
            assert np.array_equal(state[: noms_env.OBSERVATION_SIZE], env.table.view(0)[0])
            for section, expected in state_sections(Sight(match, deal, 0)).items():
                shape = layout[section].shape
                assert np.array_equal(read(state, layout[section]), np.array(expected).reshape(shape)), (section, place)


def test_the_play_reaches_every_byte_with_a_meaning() -> None:
    """The tests above would not notice a byte that their play leaves at 0."""
    reached = np.zeros(noms_env.OBSERVATION_SIZE, bool)
    for name, kind in KINDS.items():
        env = make(kind)
        rng = random.Random(name)
        for seed in (0, 2, 4, 5):
            env.reset(seed=seed)
            for _ in follow(env, rng, 150):
                reached |= env.table.view(int(env.table.row.seat))[0] != 0
    idle = {section.name: np.argwhere(~read(reached, section)).tolist() for section in OBSERVATION}
    cards = [[card] for card in range(52, 56)]
    assert idle["hand"] == idle["trick_of"] == cards
    assert all(card[1:] in cards for card in idle["played"])
    assert idle["led_suit"] == [[6], [7]]
    assert idle["role"] == [[7]]
    assert idle["numbers"] == [[14], [15]], "1 in single deals, which are not played here; a zero"
    assert idle["variant"] == [[place] for place in range(len(VARIANTS), 16)]
    unused = {choice_names()[place].partition("[")[0] for (place,) in idle["choices"]}
    assert unused == {"", "trump_rotation"}, "no rotation is longer than that of the rulebook here"
    assert idle["nominated"] == [[4], [5]], "the French deck has four suits"
    assert not any(idle[name] for name in ("phase", "trump", "contract", "turn_up"))
    assert not any(seat < 3 for name in ("on_table", "tricks", "seats") for seat, _ in idle[name])


@pytest.mark.parametrize(
    ("sections", "size"),
    [(OBSERVATION, noms_env.OBSERVATION_SIZE), (HIDDEN, noms_env.STATE_SIZE - noms_env.OBSERVATION_SIZE)],
    ids=["observation", "hidden"],
)
def test_sections_follow_one_another_in_words_of_eight_bytes(sections: tuple[Section, ...], size: int) -> None:
    end = 0
    for section in sections:
        assert section.slice == slice(end, end + int(np.prod(section.shape)))
        assert section.start % 8 == 0
        assert section.meaning
        end = section.slice.stop
    assert (end, end % 8) == (size, 0)
    assert len({section.name for section in sections}) == len(sections)


@pytest.mark.parametrize("name", KINDS)
def test_turning_the_table_round_turns_the_views(name: str) -> None:
    """Seat s sees at one table what seat s + 1 sees at a table where everybody has moved on by one chair."""
    env, turned = begin(make(KINDS[name]), seed=4), make(KINDS[name])
    seats, row = env.table.seats, env.table.row
    totals = [0 if KINDS[name].options.get("accumulate") else 4 * seat for seat in range(seats)]
    start = {"deck": deck_words(env.table), "dealer": int(row.dealer), "totals": totals}
    env.reset(seed=4, options=start)
    turned.reset(seed=4, options={**start, "dealer": (row.dealer + 1) % seats, "totals": totals[-1:] + totals[:-1]})
    rng = random.Random(name)
    deal = row.deal
    differ: Counter[int] = Counter()
    while env.phase is not None and row.deal == deal:
        for seat in range(seats):
            view, expected = turned.table.view((seat + 1) % seats), env.table.view(seat)
            assert np.array_equal(view[0], expected[0])
            assert np.array_equal(view[1], expected[1])
            differ[seat] += not np.array_equal(turned.table.view(seat)[0], expected[0])
        action = choose(env, rng)
        env.step(action)
        turned.step(action)
    assert all(differ[seat] for seat in range(seats))


@pytest.mark.parametrize(
    ("kind", "totals", "expected"),
    [
        (Kind("up_down", 4, {}), [-1000, -64, 191, 1000], [[0, 0], [0, 48], [255, 112], [255, 255]]),
        (Kind("sniped_whist", 4, {"n_hands": 2}), [1 / 3, 0.5, -0.5, -2 / 3], [[132], [134], [122], [120]]),
        (Kind("nonesuch", 3, {"half": "exact"}), [0.5, -0.5, 4], [[65], [63], [72]]),
    ],
    ids=["clipped to a byte", "twelfths of a point", "halves of a point"],
)
def test_totals_are_scaled_to_bytes(kind: Kind, totals: list[float], expected: list[list[int]]) -> None:
    env = begin(make(kind), seed=0, options={"totals": totals, "dealer": 0})
    assert read_seat_0(env, "seats")[: kind.seats, : len(expected[0])].tolist() == expected


def test_no_number_of_an_option_has_the_byte_of_none() -> None:
    targets = (None, 252, 253, 5000)
    envs = [begin(make(Kind("nonesuch", 4, {"target": target})), seed=0) for target in targets]
    assert [int(read_seat_0(env, "choices").max()) for env in envs] == [255, 253, 254, 254]
