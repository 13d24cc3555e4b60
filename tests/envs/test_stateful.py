"""Anything that a user may do with an environment, in any order: what must always be true stays true."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from noms_env import NUM_ACTIONS, IllegalActionError, PositionError
from noms_env.core.cards import set_of
from tests.envs.play import KINDS, choose, everything, make


class User(RuleBasedStateMachine):
    """A user of one environment, who now and then keeps a copy and compares it later."""

    def __init__(self) -> None:
        super().__init__()
        self.env: Any = None
        self.kept: tuple[Any, list[int]] | None = None

    @initialize(name=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 2**63 - 1))
    def sit_down(self, name: str, seed: int) -> None:
        self.env = make(KINDS[name])
        self.env.reset(seed=seed)

    def is_over(self) -> bool:
        return self.env is None or self.env.phase is None

    def act(self, action: int) -> None:
        """Take an action, and note it for the copy."""
        self.env.step(action)
        if self.kept is not None:
            self.kept[1].append(action)

    # ------------------------------------------------------------------------------------------- what a user may do

    @precondition(lambda self: not self.is_over())
    @rule(choice=st.integers(0, 149), times=st.integers(1, 12))
    def play_legally(self, choice: int, times: int) -> None:
        rng = random.Random(choice)
        for _ in range(times):
            if not self.is_over():
                self.act(choose(self.env, rng))

    @precondition(lambda self: not self.is_over())
    @rule(action=st.one_of(st.integers(-1000, 1000), st.none(), st.floats(), st.text(max_size=3), st.booleans()))
    def play_illegally(self, action: Any) -> None:
        if not isinstance(action, bool) and isinstance(action, int) and action in self.env.legal_actions():
            return
        before = everything(self.env)
        with pytest.raises(IllegalActionError):
            self.env.step(action)
        assert everything(self.env) == before

    @precondition(lambda self: self.env is not None)
    @rule()
    def look(self) -> None:
        before = everything(self.env)
        for agent in self.env.possible_agents:
            assert self.env.observation_space(agent).contains(self.env.observe(agent))
        assert self.env.state_space.contains(self.env.state())
        assert everything(self.env) == before

    @precondition(lambda self: self.env is not None)
    @rule()
    def keep_a_copy(self) -> None:
        self.kept = (self.env.clone(), [])

    @precondition(lambda self: self.kept is not None)
    @rule()
    def compare_with_the_copy(self) -> None:
        assert self.kept is not None
        twin, actions = self.kept
        for action in actions:
            twin.step(action)
        actions.clear()
        assert everything(twin) == everything(self.env)

    @precondition(lambda self: self.env is not None)
    @rule(data=st.data())
    def reset_in_the_middle(self, data: st.DataObject) -> None:
        seats = self.env.table.seats
        dealer = data.draw(st.none() | st.integers(0, seats - 1))
        seed = data.draw(st.none() | st.integers(0, 9))
        self.env.reset(seed=seed, options={"dealer": dealer})
        assert dealer in (None, self.env.table.row.dealer)
        assert set(self.env.rewards.values()) == {0.0}
        self.kept = None

    @precondition(lambda self: self.env is not None)
    @rule(dealer=st.integers(7, 99))
    def reset_to_what_is_impossible(self, dealer: int) -> None:
        before = everything(self.env)
        with pytest.raises(PositionError):
            self.env.reset(seed=1, options={"dealer": dealer})
        assert everything(self.env) == before

    @precondition(lambda self: self.env is not None and self.is_over() and self.env.agents)
    @rule()
    def leave_after_the_end(self) -> None:
        while self.env.agents:
            self.env.last()
            self.env.step(None)
        self.env.reset()
        self.kept = None

    # --------------------------------------------------------------------------------------- what is true all the time

    @precondition(lambda self: self.env is not None)
    @invariant()
    def every_card_is_in_one_place(self) -> None:
        row, seats = self.env.table.row, self.env.table.seats
        places = [*row.hands[:seats], *row.played[:seats], row.stock]
        together = sum(int(cards) for cards in places)
        deck = set_of(self.env.table.rules.deck)
        if self.env.table.rules.variant.name == "nonesuch":
            out = deck & ~together
            assert out.bit_count() == 1, "the up card, and later the Excuse, is in nobody's hand"
            together |= out
        assert together == deck
        in_places = len(self.env.table.rules.deck) - (self.env.table.rules.variant.name == "nonesuch")
        assert sum(int(cards).bit_count() for cards in places) == in_places

    @precondition(lambda self: self.env is not None)
    @invariant()
    def hands_and_tricks_add_up(self) -> None:
        row, seats = self.env.table.row, self.env.table.seats
        assert sum(row.tricks[:seats]) == row.trick_number
        for seat in range(seats):
            on_table = row.on_table[seat] >= 0
            assert int(row.hands[seat]).bit_count() + row.trick_number + on_table == row.deal_size
        assert sum(row.on_table[seat] >= 0 for seat in range(seats)) == row.n_table < seats

    @precondition(lambda self: self.env is not None)
    @invariant()
    def only_the_agent_to_act_has_a_mask(self) -> None:
        for agent in self.env.possible_agents:
            mask = self.env.observe(agent)["action_mask"]
            on_turn = agent == self.env.agent_selection and not self.is_over()
            assert np.flatnonzero(mask).tolist() == (self.env.legal_actions() if on_turn else [])
            assert mask.any() == on_turn
            assert len(mask) == NUM_ACTIONS

    @precondition(lambda self: self.env is not None)
    @invariant()
    def the_dead_are_dead_together(self) -> None:
        flags = {(self.env.terminations[agent] or self.env.truncations[agent]) for agent in self.env.agents}
        assert flags <= {self.is_over()}


TestUser = User.TestCase
TestUser.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
