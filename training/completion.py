"""What completes the words of `noms` in a shell: the script of tyro, with games, players and files in it."""

from __future__ import annotations

from collections.abc import Mapping

from noms_env.players.registry import PLAYERS
from noms_env.policy.player import shipped_policies
from noms_env.variants import GAMES

MAIN = 'if __name__ == "__main__":'
"""Where the Python in the script begins to run."""

MORE = """\
FILES = ["__TYRO_COMPLETE_FILES__"]
for name, says in COMMANDS.items():
    command = COMPLETION_SPEC["subcommands"][name]
    command["description"] = says
    for option in command["options"]:
        known = [names for start, names in OF_OPTIONS.items() if option["description"].startswith(start)]
        if option["type"] != "choice" and known:
            option.update(type="choice", choices=list(known[0]))
    known = command["subcommands"] = {}
    known.update({word: {**command, "description": says} for word, says in WORDS.get(name, {}).items()})


def get_completions(words, index, spec, of_tyro=get_completions):
    found, word = of_tyro(words, index, spec), words[index] if index < len(words) else ""
    if word.startswith("-"):
        return found
    values = [one for one in found if not one.startswith("-")]
    is_command = index > 1 and words[1] in COMMANDS
    return values or (FILES if is_command and (word or words[1] in OF_FILES) else found)


"""
"""Runs before it: the words that a command takes become its subcommands, where other words are files."""

FILES_IN_BASH = (
    'COMPREPLY=($(compgen -f -- "$cur"))',
    "local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))",
)
"""In tyro's `cur` stand the words before it too, and names of files are broken at spaces."""


def with_values(script: str, commands: Mapping[str, str]) -> str:
    """The script of a shell, which knows the values too.

    Args:
        script: what tyro has written.
        commands: the subcommands, and what each does.
    """
    games = {name: variant.title for name, variant in GAMES.items()}
    players = {
        **dict.fromkeys(shipped_policies(), "published policy"),
        **{name: player.says for name, player in PLAYERS.items()},
    }
    both = {**games, **players}
    words = {**dict.fromkeys(("list", "play", "record", "train"), games), "watch": both, "evaluate": both, "tournament": both}
    known = {
        "COMMANDS": dict(commands),
        "WORDS": words,
        "OF_OPTIONS": {"VARIANT": list(games), "NAME • A player": list(both), "NAME ... • The players": list(both)},
        "OF_FILES": ["check", "export", "plot", "publish", "replay"],
    }
    lines = "".join(f"{name} = {value!r}\n" for name, value in known.items())
    return script.replace(MAIN, lines + MORE + MAIN).replace(*FILES_IN_BASH)
