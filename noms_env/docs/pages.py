"""The pages: one for each variant, and one for the options as bytes of an observation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from noms_env.core.actions import NUM_ACTIONS, action_word
from noms_env.core.cards import DECK_NAMES
from noms_env.docs import source, texts
from noms_env.docs.choices import choices_page
from noms_env.docs.markdown import bullets, code, joined, literal, numbered, sentence, span, table_of, wrapped
from noms_env.docs.texts import BACK, NOTICE
from noms_env.envs.aec import ILLEGAL_REWARD
from noms_env.envs.modules import environment_id
from noms_env.observation.layout import HIDDEN, OBSERVATION, OBSERVATION_SIZE, STATE_SIZE, Section
from noms_env.variants import GAMES, Variant, make_rules
from noms_env.variants.rulebook import Option
from noms_env.version import ENV_VERSION

FOLDER = Path(__file__).parent
CHOICES = "choices.md"


def all_pages() -> dict[str, str]:
    """File name and text of every page."""
    return {**{page_name(name): variant_page(game) for name, game in GAMES.items()}, CHOICES: choices_page()}


def page_name(variant: str) -> str:
    """The file of a variant's page."""
    return f"{variant}.md"


def variant_page(game: Variant) -> str:
    """The page of a variant."""
    return joined(
        (
            NOTICE,
            f"# {game.title}",
            BACK,
            wrapped(texts.INTRODUCTIONS[game.name]),
            _facts(game),
            *_rules(game),
            *_arguments(game),
            *_observation(game),
            *_mask(),
            *_actions(game),
            *_rewards(),
            *_rendering(),
            *_reset_and_infos(game),
            *_deviations(game),
            *_usage(game),
            *_versions(),
        )
    )


# --------------------------------------------------------------------------------------------------- the game in brief


def _seat_counts(game: Variant) -> list[int]:
    """The numbers of seats of the rulebook."""
    low, high = game.seats
    return list(range(low, high + 1))


def _per_seats(values: dict[int, str]) -> str:
    """One value for each number of seats; one alone if they are all the same."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return f"{', '.join(values.values())} with {', '.join(map(str, values))} seats"


def _hand_sizes(game: Variant) -> str:
    """How many cards are dealt to each seat."""
    rules = {seats: make_rules(game, seats) for seats in _seat_counts(game)}
    if game.schedule is None:
        return _per_seats({seats: str(rules[seats].options.get("hand_size", 36 // seats)) for seats in rules})
    runs = {seats: f"{_run(rules[seats].schedule)} in {len(rules[seats].schedule)} deals" for seats in rules}
    if len(set(runs.values())) == 1:
        return next(iter(runs.values()))
    seats_of = {run: [str(seats) for seats in runs if runs[seats] == run] for run in runs.values()}
    return "; ".join(f"{run} with {_either(seats)} seats" for run, seats in seats_of.items())


def _either(words: Sequence[str]) -> str:
    """3, 4 or 5."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _run(sizes: Sequence[int]) -> str:
    """A schedule by its turning points: 10 ... 1 ... 10."""
    turns = [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
    return " ... ".join(map(str, turns))


def _facts(game: Variant) -> str:
    """The table that opens a page."""
    low, high = game.seats
    seats = str(low) if low == high else f"{low} to {high} (default {game.default_seats})"
    name = f"{game.name}_v{ENV_VERSION}"
    rows = (
        ("Creation", f'`noms_env.{name}.env()`, or `pettingzoo.make("aec", "{environment_id(game.name)}")`'),
        ("Agents", seats),
        ("Agent names", "`player_0`, `player_1`, ..., one for each seat"),
        ("Deck", f"{DECK_NAMES[game.deck_kind]}, {len(make_rules(game).deck)} cards"),
        ("Cards for each seat", _hand_sizes(game)),
        ("Actions", f"discrete, `Discrete({NUM_ACTIONS})`, with an action mask"),
        ("Observation shape", f"`({OBSERVATION_SIZE},)`, uint8"),
        ("Observation values", "0 to 255"),
        ("State shape", f"`({STATE_SIZE},)`, uint8"),
        ("Parallel API", "no, seats act one after another"),
        ("Source of the rules", texts.SOURCES[game.name]),
    )
    return table_of(("", ""), rows)


def _rules(game: Variant) -> Iterator[str]:
    """The rules in brief, with the words that they are made of."""
    yield "## Rules in brief"
    yield numbered(source.prose(game.name).rules)
    if game.name in texts.EXACT_BID:
        yield "The three exact-bid games of this package have in common:"
        yield numbered(source.family_rules("families.exact_bid"))
    if game.name == "noms":
        yield "### The deck from deal to deal"
        yield wrapped(source.second_paragraph("noms_deck"))
    yield "### Words and common rules"
    yield from map(wrapped, texts.common_rules(game.name))


def _deviations(game: Variant) -> Iterator[str]:
    """What the source text leaves open or says differently."""
    yield "## Deviations from the source text"
    yield wrapped(source.prose(game.name).deviations)


# ----------------------------------------------------------------------------------------------------------- arguments


def _arguments(game: Variant) -> Iterator[str]:
    """The arguments of the environment: those of all variants, and the options of this one."""
    common = source.arguments()
    yield "## Environment arguments"
    given = {name: default for name, (default, _) in common.items() if name != "variant"}
    values = {**given, "seats": game.default_seats, **make_rules(game).options}
    lines = [f"    {name}={literal(value)}," for name, value in values.items() if name not in texts.RAW_ONLY]
    yield code("\n".join((f"env = noms_env.{game.name}_v{ENV_VERSION}.env(", *lines, ")")))
    yield "These are the defaults; give only what differs. All variants have the first ones:"
    yield table_of(
        ("Argument", "Default", "Meaning"),
        [(f"`{name}`", f"`{literal(default)}`", _argument(name, common[name][1])) for name, default in given.items()],
    )
    yield "The options of this variant follow. A value or a combination that is not allowed is refused with a sentence."
    yield table_of(
        ("Option", "Default", "Allowed", "Meaning"),
        [(f"`{option.name}`", _default(game, option), _allowed(option), _meaning(game, option)) for option in game.options],
    )


def _argument(name: str, text: str) -> str:
    """What an argument does."""
    return f"Of `raw_env` only: {text.removesuffix('.')}" if name in texts.RAW_ONLY else sentence(text)


def _default(game: Variant, option: Option) -> str:
    """The value in force when an option is not given."""
    return _per_seats({seats: f"`{literal(value)}`" for seats, value in source.defaults(game, option).items()})


def _allowed(option: Option) -> str:
    """What an option may be."""
    if option.words:
        return ", ".join(f'`"{word}"`' for word in option.words)
    text = option.allowed().removeprefix("an integer ").removeprefix("from ")
    for word in ("True", "False", "None"):
        text = text.replace(word, f"`{word}`")
    return text


def _meaning(game: Variant, option: Option) -> str:
    """What an option does, and what each of its words means."""
    parts = [sentence(option.doc)]
    if option.words:
        said = [f"`{word}`: {texts.meaning_of(game.name, option.name, word)}" for word in option.words]
        parts = [f"{parts[0]}. {'; '.join(said)}"]
    notes = [texts.note_on(game.name, option.name), _needs(game, option)]
    return ". ".join([*parts, *filter(None, notes)])


def _needs(game: Variant, option: Option) -> str:
    """Where an option has an effect, if that depends on others."""
    places = [need.where.replace("'", '"') for need in game.needs if need.option == option.name]
    said = ", and ".join(reversed(places))  # a reason may stand behind the first
    return re.sub(r'(\w+=[\w"]+|\w+_\w+)', r"`\1`", f"It has an effect only {said}") if places else ""


# -------------------------------------------------------------------------------------------- observations and actions


def _observation(game: Variant) -> Iterator[str]:
    """What an agent sees, byte by byte."""
    yield "## Observation space"
    yield wrapped(
        'An observation is a dictionary of two arrays, `"observation"` and `"action_mask"`. The first holds what the seat '
        "knows at this moment, and nothing else: its own cards, and all that has been public. Seats are relative in it: 0 "
        "is the seat that looks, 1 its left neighbour, and so on; rows of seats that are not there are 0. Sections over "
        'cards have one byte for each card number. A byte of 0 stands for "none" or "not yet". All variants have the same '
        "sections; what a variant does not have stays 0."
    )
    yield table_of(("Bytes", "Name", "Shape", "Meaning"), _section_rows(OBSERVATION))
    yield wrapped(
        f"The section `choices` is listed byte by byte in [{CHOICES}]({CHOICES}). `env.unwrapped.observation_layout()` gives "
        "this table to programs: `section = observation[part.slice].reshape(part.shape)`."
    )
    yield wrapped(
        f"`env.state()` holds what seat 0 sees and behind it, from byte {OBSERVATION_SIZE} on, what is hidden. It is for "
        "training and for debugging, never for a player:"
    )
    yield table_of(("Bytes", "Name", "Shape", "Meaning"), _section_rows(HIDDEN, OBSERVATION_SIZE))
    yield f"{DECK_NAMES[game.deck_kind]}: {texts.DECKS[game.deck_kind]}"


def _section_rows(sections: Iterable[Section], start: int = 0) -> Iterator[Sequence[str]]:
    """One row for each section of a vector that begins at some byte."""
    for part in sections:
        first, stop = start + part.slice.start, start + part.slice.stop
        shape = ", ".join(map(str, part.shape)) + ("," if len(part.shape) == 1 else "")
        yield f"{first} to {stop - 1}", f"`{part.name}`", f"`({shape})`", sentence(part.meaning)


def _mask() -> Iterator[str]:
    """The paragraph that PettingZoo's pages have."""
    yield "### Legal actions mask"
    yield wrapped(
        "The legal moves available to the current agent are found in the `action_mask` element of the dictionary "
        "observation. The `action_mask` is a binary vector (int8) where each index of the vector represents whether the "
        "action is legal or not. The `action_mask` will be all zeros for any agent except the one whose turn it is. Taking "
        f"an illegal move ends the game with a reward of {ILLEGAL_REWARD:g} for the illegally moving agent and a reward of 0 "
        "for all other agents."
    )
    yield wrapped(
        "That is `env()`. The bare `raw_env()` raises an error that names the legal actions and leaves the table as it was; "
        'with `illegal_action="terminate"` it ends the game likewise. With `mask_in="info"` or `"both"` the mask is (also) '
        'in `infos[agent]["action_mask"]`. A card that is forced is a step like any other, since skipping it would tell the '
        "others that there was no choice."
    )


def action_groups(game: Variant) -> list[texts.ActionGroup]:
    """The actions that can be legal in a variant."""
    return [group for group in texts.ACTION_GROUPS if game.name in group.variants]


def _actions(game: Variant) -> Iterator[str]:
    """The numbers of the actions."""
    yield "## Action space"
    yield wrapped(
        f"All variants number their actions alike, from 0 to {NUM_ACTIONS - 1}. These can be legal in this variant; "
        "`env.unwrapped.action_to_str(action)` and `str_to_action(word)` translate."
    )
    yield table_of(
        ("Actions", "Words", "Meaning"),
        [(span(group.first, group.last), _words(game, group), sentence(group.meaning)) for group in action_groups(game)],
    )


def _words(game: Variant, group: texts.ActionGroup) -> str:
    """The words of a group of actions, the middle of a long one left out."""
    words = [f"`{action_word(action, game.deck_kind)}`" for action in range(group.first, group.last + 1)]
    return ", ".join(words if len(words) <= 6 else [*words[:2], "...", words[-1]])


def _rewards() -> Iterator[str]:
    """The three kinds of reward."""
    yield "## Rewards"
    yield wrapped(
        "Rewards are 0 until a deal is scored; with its last card every agent gets one, according to the argument `reward`. "
        "Nothing is paid for a trick, since that would tell who plays with whom."
    )
    yield table_of(("`reward`", "An agent gets"), [(f'`"{name}"`', sentence(text)) for name, text in texts.REWARDS.items()])


def _rendering() -> Iterator[str]:
    """What `render` gives."""
    yield "## Rendering"
    yield bullets(
        (
            '`render_mode="ansi"`: `render()` returns the table as text.',
            '`render_mode="human"`: the text is printed in colours after every step.',
            '`render_mode="rgb_array"`: `render()` returns a picture, uint8 of shape (720, 960, 3). It is drawn with Pillow, '
            "which the extra `render` brings: `pip install 'noms-env[render]'`.",
        )
    )
    yield wrapped(
        "The view is that of `render_seat`, by default seat 0; with `render_seat=None` that of a spectator, who sees what "
        "is public. `render_full=True` shows all cards."
    )


def _reset_and_infos(game: Variant) -> Iterator[str]:
    """Seeds and positions, and what the infos hold."""
    yield "## Reset options"
    made = " as far as chance goes: the first deck and every cut (the tricks played make the decks that follow)"
    played = made if game.name == "noms" else ", whatever is played"
    yield wrapped(
        f"`env.reset(seed=7)` gives the same deals always and on every machine{played}. `env.reset()` without a seed goes on "
        "to the next match of the seed in force. `options` may set up a position at the start of a deal; what is not given "
        "is drawn:"
    )
    yield table_of(("Key", "Meaning"), [(f"`{key}`", sentence(text)) for key, text in texts.POSITIONS.items()])
    yield "## Infos"
    yield wrapped(
        "`infos` are the same for all agents and hold only what is public, apart from the mask if it is wanted there. From the "
        'first scored deal on, `infos[agent]["last_deal"]` is the result of the deal scored last:'
    )
    yield table_of(("Key", "Meaning"), [(f"`{key}`", sentence(text)) for key, text in texts.RESULTS.items()])
    revealed = (
        "With `reveal_stock_at_end=True` it also has `stock`, the cards that were not dealt. " if game.deck_kind == 0 else ""
    )
    sniped = ", and `sniped`, those that were sniped" if game.name == "sniped_whist" else ""
    yield wrapped(f"{revealed}At the end of an episode the infos also hold `winners`, a list of seats{sniped}.")


def _usage(game: Variant) -> Iterator[str]:
    """A loop to start from."""
    yield "## Usage"
    yield code(
        textwrap.dedent(
            f"""\
            import noms_env

            env = noms_env.{game.name}_v{ENV_VERSION}.env(episode="deal")
            env.reset(seed=42)
            for agent in env.agent_iter():
                observation, reward, termination, truncation, info = env.last()
                if termination or truncation:
                    action = None
                else:
                    action = env.action_space(agent).sample(observation["action_mask"])  # your policy here
                env.step(action)
            env.close()"""
        )
    )


def _versions() -> Iterator[str]:
    """What changed when."""
    yield "## Version history"
    yield "- v0: initial version (0.1.0)"
