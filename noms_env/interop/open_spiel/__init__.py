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

import pyspiel

from noms_env.interop.open_spiel.game import DealGame as DealGame
from noms_env.interop.open_spiel.game import DealState as DealState
from noms_env.interop.open_spiel.game import game_type as game_type
from noms_env.interop.open_spiel.game import state_of as state_of
from noms_env.interop.open_spiel.observers import InformationStateObserver as InformationStateObserver
from noms_env.interop.open_spiel.observers import ObservationObserver as ObservationObserver
from noms_env.interop.open_spiel.parameters import game_name as game_name
from noms_env.interop.open_spiel.parameters import options_of as options_of
from noms_env.interop.open_spiel.parameters import parameters_of as parameters_of
from noms_env.interop.open_spiel.players import PlayerBot as PlayerBot
from noms_env.interop.open_spiel.players import PlayerPolicy as PlayerPolicy
from noms_env.variants import GAMES

GAME_CLASSES: dict[str, type[DealGame]] = {
    name: type(f"DealGameOf_{name}", (DealGame,), {"variant": variant}) for name, variant in GAMES.items()
}
"""The class of each variant. OpenSpiel holds the factory of a game until the process ends; only a class is then released
safely."""

for _name, _class in GAME_CLASSES.items():
    pyspiel.register_game(game_type(GAMES[_name]), _class)
