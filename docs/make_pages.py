"""The pages of the games, written from the code: `python docs/make_pages.py`.

A page is a template in `docs/templates`, filled with what the code says: docstrings and options of a variant, arguments of the
environment, sections of an observation, numbers of actions. The pages are kept in git, and a test holds them current.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2

from benchmarks.normal import divisor, read_rewards
from docs.glossary_links import with_links
from noms_env.core.actions import (
    INDICATE,
    MIS,
    MIS_A_VIS,
    MOST,
    NO_TRUMP_ACTION,
    NOMINATE,
    NONE,
    NUM_ACTIONS,
    NUMBER,
    PASS,
    RANK,
    SUIT,
    UNSAID_ACTION,
    action_word,
    span,
)
from noms_env.core.cards import DECK_NAMES, FRENCH
from noms_env.core.messages import literal
from noms_env.core.state import MAX_TRICKS, NUM_CHOICES
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.common import ILLEGAL_REWARD, feature_layout
from noms_env.envs.modules import environment_id
from noms_env.envs.validation import Episode
from noms_env.observation.feature_layout import OMITTED_FIELDS
from noms_env.observation.layout import FIELDS, HIDDEN, OBSERVATION, OBSERVATION_SIZE, STATE_SIZE, Section
from noms_env.show.rules import numbered_rules, paragraphs
from noms_env.variants import GAMES, Rules, Variant, make_rules
from noms_env.variants.families import AUCTION, EXACT_BID
from noms_env.variants.rulebook import SHORT_DECK, Option
from noms_env.variants.table_record import OPTIONS
from noms_env.version import ENV_VERSION
from noms_training.benchmark.protocol import PROTOCOLS, V1
from noms_training.text import markdown_table

DOCS = Path(__file__).parent
FOLDER = DOCS / "environments"
WIDTH = 120
EPISODES: tuple[Episode, ...] = ("match", "deal")
TERMS = ("declarer", "double hand", "hook", "Misere", "partner", "trump")
"""Words of the rules that a page links to the glossary."""
RAW_ONLY = ("illegal_action",)
"""Arguments that `raw_env` takes and `env` refuses."""


def main() -> None:
    """Write every page."""
    for name, text in all_pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)


def all_pages() -> dict[str, str]:
    """File name and text of every page."""
    pages = {name: _rendered(name, **shared()) for name in ("index.md", "common.md", "features.md", "choices.md")}
    pages |= {f"{name}.md": _rendered("game.md", **game_facts(game)) for name, game in GAMES.items()}
    return {name: with_links(text, FOLDER / name) for name, text in pages.items()}


def _rendered(template: str, **facts: Any) -> str:
    """The text of a page: one empty line between blocks, long lines of prose broken."""
    loader = jinja2.FileSystemLoader(DOCS / "templates")
    environment = jinja2.Environment(
        loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    environment.filters |= {"table": markdown_table, "literal": literal, "sentence": sentence}
    text = environment.get_template(f"{template}.jinja").render(facts)
    blocks = re.split(r"(?s)(```.*?```|\n{2,})", text)
    return "\n\n".join(_wrapped(block.strip("\n")) for block in blocks if block.strip()) + "\n"


def _wrapped(block: str) -> str:
    """A block of Markdown with its paragraphs and list items in lines of bounded width; tables and code stay as they are."""
    if block.startswith(("|", "```", "#", "<!--", ":")):
        return block
    filled = []
    for item in re.split(r"\n(?=- |\d+\. )", block):
        mark = re.match(r"- |\d+\. |", item)
        wrapping = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
        wrapping.subsequent_indent = " " * len(mark[0]) if mark else ""
        filled.append(wrapping.fill(" ".join(item.split())))
    return "\n".join(filled)


# ------------------------------------------------------------------------------------------------- words of Markdown


def sentence(text: str) -> str:
    """A sentence in a table's cell: with a capital letter, without a full stop."""
    return text[:1].upper() + text[1:].removesuffix(".")


# -------------------------------------------------------------------------------------------------- what docstrings say


def deviations(variant: str) -> str:
    """What the rulebook decided where the source text is silent or says otherwise, as a list."""
    start = "Deviations and decisions: "
    (text,) = (part for part in paragraphs(f"noms_env.variants.{variant}") if part.startswith(start))
    parts = re.split(r"(?<=\.) (?=[A-Z\"])", f"{sentence(text.removeprefix(start))}.")
    return "\n".join(f"- {part}" for part in parts)


def link_terms(text: str) -> str:
    """The text with a link to the glossary at the first use of each of `TERMS`."""
    for term in TERMS:
        link = rf"[\g<0>](../glossary.md#{term.lower().replace(' ', '-')})"
        text = re.sub(rf"(?i)\b{term}\b(?![^[]*\])", link, text, count=1)
    return text


def arguments() -> dict[str, tuple[Any, str]]:
    """The arguments that all variants have: their defaults, and what the docstring of the environment says of them."""
    docstring = inspect.cleandoc(TrickTakingEnv.__doc__ or "")
    block = textwrap.dedent(docstring.partition("Args:\n")[2].partition("\n\n")[0])
    said = re.findall(r"(?m)^(\w+): (.+(?:\n .+)*)", block)
    parameters = inspect.signature(TrickTakingEnv.__init__).parameters
    by_name = {name: (parameters[name].default, " ".join(text.split())) for name, text in said if name in parameters}
    return {name: by_name[name] for name in by_name if name != "variant"}


# ------------------------------------------------------------------------------------------------------- facts of a game


def game_facts(game: Variant) -> dict[str, Any]:
    """What the template of a game's page shows."""
    low, high = game.seats
    own = [option for option in game.options if option not in SHORT_DECK]
    usual, groups, rewards = make_rules(game), sorted(action_groups(game)), read_rewards(DOCS.parent).get(game.name, [])
    return {
        "game": game,
        "version": ENV_VERSION,
        "environment_id": environment_id(game.name),
        "seats": f"{span(low, high)}" + ("" if low == high else f" (default {game.default_seats})"),
        "deck": f"{DECK_NAMES[game.deck_kind]}, {len(usual.deck)} cards",
        "hand_sizes": hand_sizes(game),
        "rules": link_terms(numbered_rules(f"noms_env.variants.{game.name}")),
        "exact_bid": game.family == EXACT_BID,
        "deck_rules": paragraphs("noms_env.variants.noms_deck")[1],
        "deviations": deviations(game.name),
        "example": f"{own[0].name}={literal(usual.options[own[0].name])}",
        "observation": f"`({OBSERVATION_SIZE},)` bytes, or `({feature_layout(game.name).n_features},)` features with "
        '`observation="features"`',
        "num_actions": NUM_ACTIONS,
        "legal_actions": sum(last + 1 - first for first, last, _ in groups),
        "points": points_by_rules(usual),
        "divisor": str(divisor(rewards)) if rewards else "not measured",
        "measured": measured_rows(rewards),
        "measured_deals": f"{int(rewards[0]['deals']):,}" if rewards else "",
        "deal_player": PROTOCOLS[V1].players["thumb"],
        "options": [(f"`{o.name}`", default_of(game, o), meaning(game, o)) for o in own],
        "short_deck": len(own) < len(game.options),
        "actions": [(span(*numbers), words(game, *numbers), sentence(said)) for *numbers, said in groups],
    }


def points_by_rules(rules: Rules) -> str:
    """Bounds of a seat's points in a deal."""
    game, options = rules.variant, rules.options
    size = max(rules.schedule or [game.deal_size(options, rules.seats)])
    times = 2 ** game.most_doublings(options)
    return " to ".join(f"{times * end:g}" for end in game.point_range(options, size))


def measured_rows(rewards: Sequence[dict[str, str]]) -> list[tuple[str, ...]]:
    """What was counted in deals of two players (docs/rewards.csv): a name, and a figure of each."""
    forms = {
        "Decisions in a deal": "{fewest_decisions} to {most_decisions}, mean {decisions}",
        "Forced decisions": "{forced:.0%}",
        "Legal actions of a decision": "mean {legal:.1f}, most {most_legal}",
        "Points of a deal": "{lowest_points} to {highest_points}",
        '`reward="relative"`': "{lowest} to {highest}, root mean square {root_mean_square:.1f}",
    }
    numbers = [{**row, **{name: float(row[name]) for name in ("forced", "legal", "root_mean_square")}} for row in rewards]
    return [(name, *(form.format(**row).replace("%", " %") for row in numbers)) for name, form in forms.items()]


def _per_seats(values: dict[int, str]) -> str:
    """One value for each number of seats; one alone if they are all the same."""
    numbers: dict[str, list[str]] = {}
    for seats, value in values.items():
        numbers.setdefault(value, []).append(str(seats))
    if len(numbers) == 1:
        return next(iter(numbers))
    each = (f"{value} with {' or '.join(', '.join(seats).rsplit(', ', 1))}" for value, seats in numbers.items())
    return f"{'; '.join(each)} seats"


def hand_sizes(game: Variant) -> str:
    """How many cards are dealt to each seat."""
    sizes = {}
    for seats in range(game.seats[0], game.seats[1] + 1):
        rules = make_rules(game, seats)
        schedule = rules.schedule
        if schedule:
            turns = " ... ".join(str(schedule[place]) for place in (0, len(schedule) // 2, -1))
            sizes[seats] = f"{turns} in {len(schedule)} deals"
        else:
            sizes[seats] = str(game.deal_size(rules.options, seats))
    return _per_seats(sizes)


def default_of(game: Variant, option: Option) -> str:
    """The value of an option that is not given, for each number of seats if it depends on them."""
    seats = range(game.seats[0], game.seats[1] + 1)
    return _per_seats({number: f"`{literal(make_rules(game, number).options[option.name])}`" for number in seats})


def allowed(option: Option) -> str:
    """What an option may be."""
    if option.words:
        return ", ".join(f'`"{word}"`' for word in option.words)
    text = option.allowed().removeprefix("an integer ").removeprefix("from ")
    return re.sub(r"True|False|None", r"`\g<0>`", text)


def meaning(game: Variant, option: Option) -> str:
    """What an option does, what it may be, what each of its words means, and where it has an effect."""
    details = game.details.get(option.name, "")
    is_said = option.flag or (option.words and all(f"`{word}`: " in details for word in option.words))
    values = "" if is_said else f"Allowed: {allowed(option)}"
    return ". ".join(filter(None, (sentence(option.doc), details, values, _needs(game, option))))


def _needs(game: Variant, option: Option) -> str:
    """Where an option has an effect, if that depends on others."""
    places = [need.where.replace("'", '"') for need in game.needs if need.option == option.name]
    said = ", and ".join(reversed(places))  # a reason may stand behind the first
    return re.sub(r'(\w+=[\w"]+|\w+_\w+)', r"`\1`", f"It has an effect only {said}") if places else ""


# -------------------------------------------------------------------------------------------------------------- actions


def action_groups(game: Variant) -> Iterator[tuple[int, int, str]]:
    """First and last number of the actions of each kind that can be legal in a variant, and what they do."""
    named = {option.name: option for option in game.options}
    yield 0, 51 if game.deck_kind == FRENCH else 35, "play that card"
    if "indication" in named:
        yield INDICATE, INDICATE, "show that one holds the nominated card (with `indication`)"
    if "trump_mode" in named and "dealer" in named["trump_mode"].words:
        yield SUIT, SUIT + 3, 'name that suit as trump (with `trump_mode="dealer"`)'
        yield NO_TRUMP_ACTION, NO_TRUMP_ACTION, 'name no trump (with `trump_mode="dealer"`)'
    if "implicit_announcements" in named:
        yield UNSAID_ACTION, UNSAID_ACTION, "leave the trump to the first lead (with `implicit_announcements`)"
        yield RANK, RANK + 12, "nominate that rank of the trump suit (with `implicit_announcements`)"
    if game.deck_kind != FRENCH:
        yield SUIT, SUIT + 5, "name that suit: as trump, or as the suit to follow after leading a two-suited card"
        yield NONE, MOST, "bid to take no trick, some, or at least half"
    if game.family == EXACT_BID:
        schedules = (make_rules(game, seats).schedule for seats in range(game.seats[0], game.seats[1] + 1))
        most = MAX_TRICKS if "start_cards" in named else max(map(max, schedules))
        yield NUMBER, NUMBER + most, "call that number of tricks"
    if game.family == AUCTION:
        yield SUIT, SUIT + 3, "name that suit as trump"
        yield NO_TRUMP_ACTION, NO_TRUMP_ACTION, "name no trump"
        yield PASS, PASS, "pass"
        yield NUMBER + 1, NUMBER + MAX_TRICKS, "bid that number of tricks"
        yield MIS, MIS, f"bid {game.misere}: no trick"
        yield NOMINATE, NOMINATE + 51, "nominate that card"
    if game.opens_hand:
        yield MIS_A_VIS, MIS_A_VIS, f"bid {game.misere} a Vis: no trick, with an open hand"


def words(game: Variant, first: int, last: int) -> str:
    """The words of a group of actions, the middle of a long one left out."""
    action_words = [f"`{action_word(action, game.deck_kind)}`" for action in range(first, last + 1)]
    return ", ".join(action_words if len(action_words) <= 6 else [*action_words[:2], "...", action_words[-1]])


# ------------------------------------------------------------------------------------------- facts that all games share


def shared() -> dict[str, Any]:
    """What the templates of the common pages show."""
    start = next(part.start for part in OBSERVATION if part.name == "choices")
    return {
        "games": [(game, span(*game.seats)) for game in GAMES.values()],
        "arguments": [(f"`{name}`", f"`{literal(default)}`", argument(name)) for name, (default, _) in arguments().items()],
        "short_deck": [(f"`{o.name}`", f"`{literal(o.default)}`", allowed(o), sentence(o.doc)) for o in SHORT_DECK],
        "sections": list(section_rows(OBSERVATION)),
        "hidden": list(section_rows(HIDDEN, OBSERVATION_SIZE)),
        "features": list(feature_rows()),
        "feature_counts": [
            (name, *(feature_layout(name, episode=episode).n_features for episode in EPISODES)) for name in GAMES
        ],
        "left_out": [(f"`{name}`", sentence(why)) for name, why in OMITTED_FIELDS.items()],
        "num_actions": NUM_ACTIONS,
        "observation_size": OBSERVATION_SIZE,
        "state_size": STATE_SIZE,
        "illegal_reward": f"{ILLEGAL_REWARD:g}",
        "version": ENV_VERSION,
        "num_choices": NUM_CHOICES,
        "choices_start": start,
        "choices": list(choice_rows()),
    }


def argument(name: str) -> str:
    """What an argument does."""
    text = arguments()[name][1]
    return f"Of `raw_env` only: {text.removesuffix('.')}" if name in RAW_ONLY else sentence(text)


def section_rows(sections: Iterable[Section], start: int = 0) -> Iterator[Sequence[str]]:
    """One row for each section of a vector that begins at some byte."""
    for part in sections:
        first, stop = start + part.slice.start, start + part.slice.stop
        yield span(first, stop - 1), f"`{part.name}` `{part.shape}`", sentence(part.meaning)


def feature_rows() -> Iterator[Sequence[str]]:
    """One row for each section of features that some game has at its default table, in the order of the bytes."""
    by_meaning: dict[tuple[str, float, str], dict[str, str]] = {}
    for game in GAMES:
        for part in feature_layout(game).sections:
            by_meaning.setdefault((part.name, part.scale, part.meaning), {})[game] = f"`{part.shape}`"
    for (name, scale, meaning), shapes in sorted(by_meaning.items(), key=lambda row: _feature_place(row[0][0])):
        games = "" if len(shapes) == len(GAMES) else f". Games: {', '.join(shapes)}"
        words = " or ".join(dict.fromkeys(shapes.values()))
        yield f"`{name}`", words, "1" if scale == 1 else f"1/{1 / scale:g}", sentence(meaning) + games


def _feature_place(name: str) -> tuple[bool, int, int]:
    """Where a section of features stands among those of all games."""
    section, _, rest = name.removesuffix(".one_hot").partition(".")
    names = [part.name for part in OBSERVATION]
    fields = [field.name for field in FIELDS[section]]
    return name.endswith(".one_hot"), names.index(section), fields.index(rest)


def choice_rows() -> Iterator[Sequence[str]]:
    """One row for each option that has bytes in an observation."""
    bytes_of = {option.byte: option for option in OPTIONS.values() if option.byte is not None}
    for first, option in sorted(bytes_of.items()):
        last = first + option.width - 1
        yield span(first, last), f"`{option.name}`", _choice_values(option.name)


def _choice_values(name: str) -> str:
    """What an option's byte can be, for the variants that have it."""
    values: dict[str, list[str]] = {}
    for game in GAMES.values():
        for option in game.options:
            if option.name == name:
                values.setdefault(_byte_values(option), []).append(game.name)
    return "; ".join(f"{', '.join(variants)}: {text}" for text, variants in values.items())


def _byte_values(option: Option) -> str:
    """What the byte of an option can be."""
    if option.flag:
        return "flag" + (", 0 for False" if option.late else "")
    if option.words:
        return ", ".join(f"{place} `{word}`" for place, word in enumerate(option.words, 1))
    if option.rotation:
        return "1 `C`, 2 `D`, 3 `H`, 4 `S`, 5 `NT`, one byte for each place of the list, 0 behind its end"
    late = f", 0 for {option.default}" if option.late else ""
    return "1 + number" + late + (", 255 None" if option.none else "")


if __name__ == "__main__":
    main()
