"""`noms ladder`: the tables of the page on how strong the policies are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from training.commands.common import OK, CommandError, file_errors, wrong_arguments

CHECKPOINTS = "checkpoints"


def ladder(folder: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FOLDER")] = CHECKPOINTS) -> int:
    """Write the tables of FOLDER/README.md anew from the results that lie in FOLDER.

    The page is written by hand but for blocks between two comments, of which it may have any:

      <!-- noms ladder: policies -->
      <!-- end of policies -->

    policies: each policy alone against random, thumb and pimc:100, at the usual number of seats; seats: against thumb at
    other numbers of seats; search: what the players that search are worth; panel: everybody against everybody; time: when
    in its training a policy became better than thumb and than pimc:100; curves: the pictures; behaviour: what players do at
    tables with nobody else; ablations: what each recipe of training is worth.

    The figures are those of the files in FOLDER: panel/*.json from noms evaluate --json and noms tournament (its
    results.json), milestones/NAME-*.json from noms evaluate with a policy from RUN/past, ablations/*.json from tournaments
    in which one player is called base, behaviour/*.json from noms evaluate NAME NAME, and NAME/ from noms publish.
    Results of an older policy of the same name are refused.

    For example:
      noms evaluate auctions thumb --set test --json checkpoints/panel/auctions-thumb.json
      noms evaluate auctions auctions --line-ups alone --matches 0 --set test --json checkpoints/behaviour/auctions.json
      noms ladder

    Args:
        folder: Where the policies are.
    """
    from noms_env.policy.file import write_atomically
    from training.publish.leaderboard import OWNER, PAGE, blocks, read_standing
    from training.publish.markdown import with_blocks

    page = Path(folder) / PAGE
    with wrong_arguments(), file_errors(f"cannot read {folder}"):
        if not Path(folder).is_dir():
            raise CommandError(f"there is no folder {folder}")
        before = page.read_text(encoding="utf-8")
        after = with_blocks(before, OWNER, blocks(read_standing(Path(folder))), str(page))
    with file_errors(f"cannot write {page}"):
        write_atomically(page, after.encode())
    print(f"{page}: {'written' if after != before else 'as it was'}")
    return OK
