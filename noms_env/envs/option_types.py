"""The options of all games, for type checkers. Written by `python docs/make_types.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """Options that some game has, and what they may be; which game has which is checked when it is set up."""

    accumulate: bool
    bonus: Literal["exact", "at_least"]
    cut: int | None
    cut_min: int
    deal_mode: Literal["packets", "packets_shuffled", "single_shuffled"] | None
    dealer_forced: bool | None
    direction: Literal["down_up", "down", "up_down"]
    double_repeat: Literal["double", "quadruple", "single"]
    early_stop: bool
    first_lead: Literal["bidder", "left_of_dealer"]
    first_trick_restriction: Literal["suit", "card", "off"]
    forced_bid_closes: bool
    forced_bid_numeric_only: bool
    half: Literal["ceil", "exact", "floor"]
    hand_size: int | None
    hook: bool
    hook_min_cards: int
    implicit_announcements: bool
    indication: bool
    keep_mis_a_vis: bool
    max_deals: int
    max_hands: int | None
    min_bid: int | None
    mis_value: int | None
    misere_above: int | None
    misere_nominates: bool
    misere_opponents_score: bool
    misere_penalty: Literal["team", "own"]
    misere_trump: Literal["choice", "none"]
    misere_value: int | None
    n_hands: int
    objective: Literal["least", "most"]
    observe_previous_hand: bool
    open_partner: bool
    pile_order: Literal["left_first", "right_first", "random"]
    ranks: int
    repeat_one: bool
    reveal_stock_at_end: bool
    schedule: Literal["up_down", "up", "up_down_repeat_top", "up_up"]
    scoring: Literal["place", "tricks"]
    snip_penalty: int
    start_cards: int | None
    stock_nomination: Literal["alone", "illegal", "redraw"]
    suits: int
    target: int | None
    tie: Literal["share", "none", "cut", "joint", "play_on"]
    trick_order: Literal["play", "reverse", "random"]
    trick_stack: Literal["on_top", "underneath"]
    trump_mode: Literal["rotation", "turnup", "random", "none", "dealer"]
    trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None
    turnup_full_deal: Literal["none", "dealer_last"]
    unbid_slam_loses: bool
