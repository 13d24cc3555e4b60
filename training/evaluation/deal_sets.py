"""The frozen sets of deals, and the hashes that guard them.

A set is a seed (`duplicate.deal_seed`): deal number n of a game follows from the seed and n alone, on every machine. `FROZEN`
holds the SHA-256 of the first deals of each set. A change of shuffling, dealing or default options would make old and new
figures incomparable; the hashes reveal it.

`dev` is for choosing among players; `test` is for published figures, and never for a choice. Anybody with this code can look
the deals up. To judge untrusted players, use a salted set (`duplicate.SaltedSet`).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from noms_env.variants import Rules, given_options

from .duplicate import SaltedSet, dealt, unit_of

HASHED = 64
"""Number of deals in a hash."""

FROZEN: dict[str, dict[str, str]] = {
    "dev": {
        "sniped_whist": "f7f6c9c3c509e0d1a9f3a535aa58bd930f845712f80c227fd09b17f08312ac3b",
        "big_ships": "e389d50f9be453ef054d0e3006c1f313617259a45efc4c62d4ba7ac9d9b16560",
        "small_ships": "d45c9d944532920cef20bc3bb0ac8bfbb2efe702223d32604ef64f1040a813dd",
        "noms": "233d8066a55b5abee733d97e6d88fb57aa190fc9983d97f70183426ec6cfa9ff",
        "nonesuch": "781508c8e14dfb27ffbe41bbe08e7a648320239a3c803535c842a273cbe70d54",
        "down_up": "334035c2fad3163bbd003a9c631516dfe8aee636338ac15954731a639aec235f",
        "up_down": "b5fbb2724337baeeb35b5151fe2f857d4447340f9b205e012e08e1bdd4448e88",
    },
    "test": {
        "sniped_whist": "299b7c60e58e0bbb5e578ef577614b164c9581ab53c2619d81d8102225da781e",
        "big_ships": "c153d0ff94732f6630f35aa1ddaddba5f10fc391cf106a28c4daa7908158a0ff",
        "small_ships": "dd0f290e6d795fb0c4e755d93ad8123e07b6beb1ea8cb5a1be42d9e27f8cbc17",
        "noms": "482183d57b74d77a8c1af04cef38f89cff95fc0c93ed1bee98bdb3182c3c33bf",
        "nonesuch": "f85012c73d829b39d6b67e4389f226f41928035d5cacddecde407edbfdebf300",
        "down_up": "8f21065696fd12580adb89c30a54f7932f008d2903a89b9aa94d3990582a7a35",
        "up_down": "78e34295df38ca87810ddfaba98eb62497c8ceef63ef96aa367d5db99457ba11",
    },
}
"""By set and game: `digest` of the first deals with the default number of seats and default options."""


def digest(rules: Rules, deal_set: str) -> str:
    """Return the SHA-256 of the first 64 deals of a set: dealer, hand size, turn-up, hands and stock, in hexadecimal digits."""
    tables = dealt(rules, np.arange(HASHED), deal_set).batch.tables
    sha = hashlib.sha256()
    for name in ("dealer", "deal_size", "turn_up", "hands", "stock"):
        sha.update(np.ascontiguousarray(tables[name]).astype("<i8").tobytes())
    return sha.hexdigest()


def describe_tables(rules: Rules, deal_set: str) -> dict[str, Any]:
    """Describe tables in files of results: the rules, and the name and `digest` of the set of deals.

    The SHA-256 of a set's salt proves the salt later.
    """
    salt = {"salt_sha256": hashlib.sha256(deal_set.salt).hexdigest()} if isinstance(deal_set, SaltedSet) else {}
    return {
        "variant": rules.variant.name,
        "seats": rules.seats,
        "options": json.loads(json.dumps(given_options(rules))),
        "set": str(deal_set),
        "set_sha256": digest(rules, deal_set),
        **salt,
        **unit_of(rules),
    }
