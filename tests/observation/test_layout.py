"""Every byte of an observation says what its documentation says, held against the referee's account of the same deal."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import noms_env
from noms_env.core.cards import NO_TRUMP, SUIT_LETTERS
from noms_env.envs.aec import TrickTakingEnv
from noms_env.observation.layout import HIDDEN, OBSERVATION, Section
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import choice_names
from tests import referee
from tests.begun import begun
from tests.envs.play import KINDS, Kind, choose, deck_in_words, make
from tests.observation.expected import SECTIONS, Sight, state_sections


def follow(env: TrickTakingEnv, rng: random.Random, decisions: int) -> Iterator[tuple[referee.Match, referee.Deal]]:
    """Play at random with the referee beside; yields his account before each decision."""
    table = env.table
    match = referee.Match(
        table.rules.variant.name,
        table.seats,
        referee.complete_options(table.rules.variant.name, table.seats, table.rules.options),
        dealer=int(table.row.dealer),
        deal=int(table.row.deal),
        single_deal=bool(table.row.episode),
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
                # By lot: the points tell who it was.
                points = next(iter(env.infos.values()))["last_deal"]["points"]
                deal.sniped = next(seat for seat in deal.seats_to_cut() if points[seat] < 0)
            match.finish(deal)
            if env.phase is None:
                return
            deal = start(env, match)


def start(env: TrickTakingEnv, match: referee.Match) -> referee.Deal:
    """The deal on the table, as the referee starts it."""
    trump = int(env.table.row.trump)
    drawn = SUIT_LETTERS[0][trump] if match.options.get("trump_mode") == "random" and 0 <= trump < NO_TRUMP else None
    return match.start(deck_in_words(env), random_trump=drawn)


def read(vector: np.ndarray, section: Section) -> np.ndarray:
    return vector[section.slice].reshape(section.shape)


@pytest.mark.parametrize("episode", ["match", "deal"])
@pytest.mark.parametrize("name", KINDS)
def test_every_section_says_what_its_meaning_says(name: str, episode: str) -> None:
    kind = KINDS[name]
    if episode == "deal" and kind.options.get("accumulate"):
        return
    env = make(kind, episode=episode)
    rng = random.Random(name)
    for seed in (0, 2, 4, 5) if episode == "match" else (7, 8):
        env.reset(seed=seed)
        for place, (match, deal) in enumerate(follow(env, rng, 150)):
            if deal.phase == "play" and place % 2:
                continue
            seat = place // 4 % kind.seats if place % 3 else deal.seat
            vector, _ = env.table.view(seat)
            sight = Sight(match, deal, seat)
            for section in OBSERVATION:
                expected = np.array(SECTIONS[section.name](sight), np.int64).reshape(section.shape)
                assert np.array_equal(read(vector, section), expected), (section.name, seed, place, seat, section.meaning)


@pytest.mark.parametrize("name", KINDS)
def test_the_state_is_what_seat_0_sees_and_what_is_hidden(name: str) -> None:
    env = begun(make(KINDS[name]), seed=3)
    layout = env.state_layout()
    assert [section.name for section in layout] == [section.name for section in (*OBSERVATION, *HIDDEN)]
    for place, (match, deal) in enumerate(follow(env, random.Random(name), 80)):
        if place % 5 == 0:
            state = env.state()
            assert np.array_equal(state[: noms_env.OBSERVATION_SIZE], env.table.view(0)[0])
            for section_name, expected in state_sections(Sight(match, deal, 0)).items():
                section = next(section for section in layout if section.name == section_name)
                assert np.array_equal(read(state, section), np.array(expected).reshape(section.shape)), (section_name, place)


def test_the_play_reaches_every_byte_that_means_something() -> None:
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
    present = [[seat, byte] for seat in range(6) for byte in range(8)]
    assert not [byte for name in ("on_table", "tricks", "seats") for byte in idle[name] if byte in present and byte[0] < 3]


@pytest.mark.parametrize("sections", [OBSERVATION, HIDDEN], ids=["observation", "hidden"])
def test_sections_lie_one_behind_the_other_in_words_of_eight_bytes(sections: tuple[Section, ...]) -> None:
    end = 0
    for section in sections:
        assert section.slice == slice(end, end + int(np.prod(section.shape)))
        assert section.start % 8 == 0
        assert section.meaning
        end = section.slice.stop
    assert end % 8 == 0
    assert len({section.name for section in sections}) == len(sections)
    assert end == {OBSERVATION: noms_env.OBSERVATION_SIZE, HIDDEN: noms_env.STATE_SIZE - noms_env.OBSERVATION_SIZE}[sections]


@pytest.mark.parametrize("name", KINDS)
def test_turning_the_table_round_turns_the_views(name: str) -> None:
    """Seat s sees at one table what seat s + 1 sees at a table where everybody has moved on by one chair."""
    env, turned = make(KINDS[name]), make(KINDS[name])
    env.reset(seed=4)
    seats, row = env.table.seats, env.table.row
    totals = [0 if KINDS[name].options.get("accumulate") else 4 * seat for seat in range(seats)]
    start = {"deck": deck_in_words(env), "dealer": int(row.dealer), "totals": totals}
    env.reset(seed=4, options=start)
    turned.reset(seed=4, options={**start, "dealer": (row.dealer + 1) % seats, "totals": totals[-1:] + totals[:-1]})
    rng = random.Random(name)
    deal = row.deal
    differ: Counter[int] = Counter()
    while env.phase is not None and row.deal == deal:
        for seat in range(seats):
            one, other = env.table.view(seat), turned.table.view((seat + 1) % seats)
            assert np.array_equal(one[0], other[0])
            assert np.array_equal(one[1], other[1])
            differ[seat] += not np.array_equal(one[0], turned.table.view(seat)[0])
        action = choose(env, rng)
        env.step(action)
        turned.step(action)
    assert all(differ[seat] for seat in range(seats))


def test_totals_are_cut_off_at_the_ends_of_a_byte() -> None:
    env = begun(make(Kind("up_down", 4, {})), seed=0, options={"totals": [-1000, -64, 191, 1000], "dealer": 0})
    section = next(section for section in OBSERVATION if section.name == "seats")
    assert read(env.table.view(0)[0], section)[:4, :2].tolist() == [[0, 0], [0, 48], [255, 112], [255, 255]]


def test_fractions_of_a_point_are_told_apart() -> None:
    env = make(Kind("sniped_whist", 4, {"n_hands": 2}))
    env.reset(seed=0, options={"totals": [1 / 3, 0.5, -0.5, -2 / 3], "dealer": 0})
    section = next(section for section in OBSERVATION if section.name == "seats")
    assert read(env.table.view(0)[0], section)[:4, 0].tolist() == [132, 134, 122, 120]
    env = begun(make(Kind("nonesuch", 3, {"half": "exact"})), seed=0, options={"totals": [0.5, -0.5, 4], "dealer": 0})
    assert read(env.table.view(0)[0], section)[:3, 0].tolist() == [65, 63, 72]


def test_no_number_in_an_option_reads_as_none() -> None:
    options: list[dict[str, Any]] = [{"target": None}, {"target": 252}, {"target": 253}, {"target": 5000}]
    section = next(section for section in OBSERVATION if section.name == "choices")
    found = []
    for given in options:
        env = begun(make(Kind("nonesuch", 4, given)), seed=0)
        found.append(int(read(env.table.view(0)[0], section).max()))
    assert found == [255, 253, 254, 254]
