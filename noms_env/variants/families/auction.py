"""What the declarer of an auction game announces: trump, then a card (rules 3.1, 4.1, 4.2). Shared by two variants."""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_ZERO, INDICATE, NAMING_TRUMP, NO_TRUMP_ACTION, NOMINATING, SUIT
from noms_env.core.cards import NO_TRUMP, bit
from noms_env.core.tricks import name_trump


@jit
def declare(t):
    """The high bidder becomes declarer, and it is his turn."""
    t.declarer = t.high_bidder
    t.contract = t.high_call
    t.seat = t.high_bidder


@jit
def is_misere(call):
    """True for Misere and Mis a Vis."""
    return call == CALL_MIS or call == CALL_MIS_A_VIS


@jit
def bid_number(t):
    """The tricks that the contract names; 0 for Misere and Mis a Vis."""
    return 0 if is_misere(t.contract) else t.contract - CALL_ZERO


@jit
def ask_trump(t):
    """The declarer names trump."""
    t.phase = NAMING_TRUMP


@jit
def ask_nomination(t):
    """The declarer nominates a card."""
    t.phase = NOMINATING


@jit
def without_trump(t):
    """The contract is played without trumps."""
    name_trump(t, NO_TRUMP)


@jit
def all_trumps(t):
    """The words for the suits of the French deck in use, and for no trump."""
    return ((bit(t.suits) - 1) << (SUIT - INDICATE)) | bit(NO_TRUMP_ACTION - INDICATE)
