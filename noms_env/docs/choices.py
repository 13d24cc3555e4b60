"""The page on the options as bytes of an observation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noms_env.core.state import NUM_CHOICES
from noms_env.docs.markdown import joined, span, table_of, wrapped
from noms_env.docs.texts import BACK, NOTICE
from noms_env.observation.layout import OBSERVATION
from noms_env.variants import GAMES
from noms_env.variants.rulebook import Option, choice_names


def choices_page() -> str:
    """The page on the section `choices` of an observation."""
    start = next(part.start for part in OBSERVATION if part.name == "choices")
    names = choice_names()
    return joined(
        (
            NOTICE,
            "# The options as bytes",
            BACK,
            wrapped(
                "The section `choices` of an observation tells a network which rules it plays by, so that one network can "
                f"learn several variants or options. It has {NUM_CHOICES} bytes, from byte {start} of the observation on; "
                "those behind the last one listed are 0."
            ),
            wrapped(
                "A byte is 0 where the variant has no such option. A flag is 1 for False and 2 for True, a number is 1 + "
                "the number (at most 254), None is 255, and words count from 1 in the order of the table. Options that say "
                "what is shown and not how it is played are left out, and so is `hand_size`, which stands in the section "
                "`numbers`."
            ),
            table_of(("Byte", "Byte of the observation", "Name", "Values"), _choice_rows(names, start)),
        )
    )


def _choice_rows(names: Sequence[str], start: int) -> Iterator[Sequence[str]]:
    """One row for each option."""
    options = [name.partition("[")[0] for name in names]
    for option in dict.fromkeys(options):
        first, last = options.index(option), len(options) - 1 - options[::-1].index(option)
        yield span(first, last), span(start + first, start + last), f"`{option}`", _choice_values(option)


def _choice_values(name: str) -> str:
    """What an option's byte can be, for the variants that have it."""
    kinds: dict[str, list[str]] = {}
    for game in GAMES.values():
        for option in game.options:
            if option.name == name:
                kinds.setdefault(_byte_values(option), []).append(game.name)
    return "; ".join(f"{', '.join(variants)}: {values}" for values, variants in kinds.items())


def _byte_values(option: Option) -> str:
    """What the byte of an option can be."""
    if option.flag:
        return "flag"
    if option.words:
        return ", ".join(f"{place} `{word}`" for place, word in enumerate(option.words, 1))
    if option.rotation:
        return "1 `C`, 2 `D`, 3 `H`, 4 `S`, 5 `NT`, one byte for each place of the list, 0 behind its end"
    return "1 + number" + (", 255 None" if option.none else "")
