"""Types of arguments follow from the declarations."""

from __future__ import annotations

from typing import get_args

import pytest

from docs import make_types
from noms_env.core.state import EPISODES
from noms_env.envs.validation import Episode
from tests import typed_calls


@pytest.mark.parametrize(("name", "text"), make_types.all_files().items(), ids=list(make_types.all_files()))
def test_a_file_of_types_is_what_the_script_writes(name: str, text: str) -> None:
    assert (make_types.FOLDER / name).read_text(encoding="utf-8") == text, "run `python docs/make_types.py`"


def test_right_calls_run_and_every_episode_has_a_type() -> None:
    typed_calls.right("big_ships")
    assert get_args(Episode) == EPISODES
