"""The same bytes everywhere: with the compiler and without, in every run, and from version to version."""

import pytest

from noms_env import ENV_VERSION, VARIANTS
from tests.envs.fingerprint import PLAYS, all_fingerprints, fingerprint
from tests.uncompiled import printed_uncompiled

PINNED = {
    "version": 0,
    "sniped_whist": "8731bd1a933a4bec",
    "big_ships": "f1327100fe4ede14",
    "small_ships": "e474782913c089e1",
    "noms": "9a65c4cefde82b51",
    "nonesuch": "517c0f6ed90b5e23",
    "down_up": "585a12a2eac20628",
    "up_down": "9c789ce83efb663f",
}
"""Hashes of a short play by the rulebook. If one changes, learning results may change: raise `ENV_VERSION`, say why in the
change log, and enter the new values, which the failing test prints."""


def test_the_compiler_and_another_process_change_no_byte() -> None:
    assert printed_uncompiled("tests.envs.fingerprint", "100") == all_fingerprints(100)


@pytest.mark.uncompiled
def test_the_bytes_of_this_version_stay() -> None:
    fingerprints = {variant: fingerprint(PLAYS[variant][0], decisions=130)["shown"] for variant in VARIANTS}
    assert {"version": ENV_VERSION, **fingerprints} == PINNED
