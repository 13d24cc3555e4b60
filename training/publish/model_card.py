"""The card of a policy, as Markdown: what it is, how it was trained, how it plays, where it is weak.

The same run and the same results give the same bytes; nothing in a card depends on the clock or on the machine that writes
it. What people have written between `NOTES_BEGIN` and `NOTES_END` is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from noms_env.policy.file import PolicyInfo, given_options
from noms_env.variants import Rules
from training.agents.registry import label
from training.evaluation.behaviour_stats import MAIN, as_read
from training.evaluation.duplicate import NORMAL_95
from training.evaluation.report import percent, plus_minus
from training.evaluation.statistics import Estimate
from training.publish.markdown import Cell, bullets, code, table
from training.publish.result_files import Duel, Results, Standings
from training.publish.run_summary import (
    CURVE,
    Outcome,
    chained,
    learns_from,
    nearest_preset,
    policies_at_tables,
    preset_differences,
    train_command,
)
from training.text import count, duration, kind_text

CARD, PICTURE = "README.md", "curve.png"
NOTES_BEGIN = "<!-- Written by hand from here on; kept when the card is made again. -->"
NOTES_END = "<!-- Written by hand to here. -->"
NO_NOTES = "\n"
HEAD = "<!-- Written by `noms publish`. Made again, all of it changes but what stands between the two comments below. -->"


class CardError(ValueError):
    """A card that cannot be made again without loss; the message says why."""


def notes_of(card: str, where: str) -> str:
    """What people have written into a card: all between the two comments, with the ends of the lines around it.

    Args:
        card: the text of an older card.
        where: its file, for the message.

    Raises:
        CardError: one of the comments is missing or there twice, so that it is not known what is to be kept.
    """
    if (card.count(NOTES_BEGIN), card.count(NOTES_END)) == (1, 1):
        notes, sign, _ = card.partition(NOTES_BEGIN)[2].partition(NOTES_END)
        if sign:
            return notes
    raise CardError(
        f"{where} does not have the comments {NOTES_BEGIN} and {NOTES_END} once each, so it is not known what in it is to be "
        "kept: put them back, or move the file away"
    )


def card(name: str, outcome: Outcome, results: Results, notes: str = NO_NOTES) -> str:
    """The whole card.

    Args:
        name: of the policy.
        outcome: of the run that made it.
        results: what is known of it from evaluations and tournaments.
        notes: what people have written (`notes_of`).
    """
    blocks = [
        HEAD,
        f"# {name}",
        opening(name, outcome),
        facts(outcome),
        *section("How to use it", use(name, outcome)),
        *section("How it was trained", training(outcome)),
        *section("Learning curve", learning_curve(name, outcome)),
        *section("Against others", against_others(outcome, results)),
        *section("What it does", behaviour(outcome)),
        *section("Known weaknesses", weaknesses(name, outcome, results)),
        f"{NOTES_BEGIN}{notes}{NOTES_END}",
        *section("How to make it again", again(name, outcome)),
    ]
    return "\n\n".join(blocks) + "\n"


def section(title: str, blocks: Iterable[str]) -> Iterator[str]:
    """A heading and what stands below it."""
    yield f"## {title}"
    yield from blocks


# --------------------------------------------------------------------------------------------------------- what it is


def opening(name: str, outcome: Outcome) -> str:
    """The first sentences."""
    config = outcome.runs[0].config
    start = f"the policy `{config.initial}`" if config.initial else "nothing"
    if config.curriculum.lessons_end > 0 and not config.initial:
        start += f", with lessons of `{config.curriculum.teacher}` at the beginning"
    if config.curriculum.tryouts > 0 and not config.initial:
        start += f", with tryouts of all actions in the first {100 * config.curriculum.tryouts:.0f} % of the decisions"
    if outcome.earlier:
        start += f", in {len(outcome.runs)} runs, each of which began with the policy of the one before{but_for(outcome)}"
    return (
        f"A policy for {', '.join(game_texts(outcome.info.rule_sets))}, trained by self-play from {start}. It draws its "
        f"actions with the probabilities that it has learnt; `{name}@0` always takes the most probable one."
    )


def but_for(outcome: Outcome) -> str:
    """Which of several runs began with lessons of the policy before instead of with that policy."""
    taught = [str(number) for number, run in enumerate(outcome.runs, 1) if number > 1 and not run.config.initial]
    return f", but for run {' and '.join(taught)}, which began untrained, with lessons of that policy" if taught else ""


def game_texts(rule_sets: Sequence[Rules]) -> Iterator[str]:
    """The games with their seats and options: `small_ships` with 3 to 6 seats."""
    for (variant, options), group in groupby(rule_sets, key=lambda kind: (kind.variant.name, options_text(kind))):
        yield f"`{variant}` with {seats_text([kind.seats for kind in group])}{f' ({options})' if options else ''}"


def seats_text(seats: Sequence[int]) -> str:
    """Numbers of seats in words: 3 to 6 seats."""
    found = sorted(set(seats))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]} to {found[-1]} seats"
    *others, last = map(str, found)
    return f"{', '.join(others)} and {last} seats" if others else f"{last} seats"


def options_text(kind: Rules) -> str:
    """The options that are not as usual: `hook=true`."""
    return ", ".join(f"`{name}={json.dumps(value)}`" for name, value in given_options(kind).items())


def sees_text(info: PolicyInfo) -> str:
    """What the network reads."""
    behind = [("what a player counts at each own card", info.card_features), ("what `thumb` would do", info.rule_based_prior)]
    return "; ".join(["the observation", *(text for text, is_seen in behind if is_seen)])


def facts(outcome: Outcome) -> str:
    """The figures of the policy itself."""
    info, network = outcome.info, outcome.info.network
    size = f"{network['width']} units, {count(network['blocks'], 'residual block')}, card embeddings of {network['card_width']}"
    rows = [
        ("games", ", ".join(game_texts(info.rule_sets))),
        ("options", "as above; all others as usual" if any(map(options_text, info.rule_sets)) else "as usual"),
        ("network", f"{size}; {outcome.parameters:,} parameters"),
        ("sees", sees_text(info)),
        ("decisions seen", decisions_text(outcome)),
        ("training time", time_text(outcome)),
        ("score in training", None if info.score is None else f"{info.score:.4f}"),
        ("file", f"`policy.safetensors`, {len(outcome.content) / 1e6:.2f} MB, SHA-256 `{outcome.sha256}`"),
        ("made with", ", ".join(f"{package} {version}" for package, version in sorted(info.packages.items()))),
        ("revision of the code", f"`{info.revision}`" if info.revision else None),
    ]
    return table(("", ""), [row for row in rows if row[1] is not None])


def decisions_text(outcome: Outcome) -> str:
    """Decisions, iterations and passes."""
    seen = f"{outcome.info.decisions:,} in {outcome.iterations:,} iterations"
    at, epochs = outcome.series.get("epochs", ((), ()))
    before = [float(one) for done, one in zip(at, epochs, strict=True) if done <= outcome.info.decisions]
    passes = f", each learnt from {sum(before) / len(before):.2f} times" if before else ""
    whole = f"{outcome.seen:,} in {len(outcome.runs)} runs, the last of which saw " if outcome.earlier else ""
    made = f"the run made {outcome.decisions:,} of {outcome.budget:,}; moves without alternative not counted"
    return f"{whole}{seen}{passes} ({made})"


def time_text(outcome: Outcome) -> str | None:
    """How long it took, evaluations included."""
    until, whole = outcome.seconds(outcome.info.decisions), outcome.seconds(outcome.decisions)
    if not until or whole is None:
        return None
    speed = f"{outcome.info.decisions / until:,.0f} decisions/s, evaluations included"
    before = sum(run.seconds(run.info.decisions) or 0.0 for run in outcome.earlier)
    start = f"{duration(before)} of the runs before, and in the last " if outcome.earlier else ""
    return f"{start}{duration(until)} until then, {duration(whole)} in all, which depends on the machine: {speed}"


# ------------------------------------------------------------------------------------------------------- how to use it


def use(name: str, outcome: Outcome) -> Iterator[str]:
    """Code and commands."""
    kind = outcome.info.rule_sets[0]
    variant, seats, options = kind.variant.name, kind.seats, given_options(kind)
    given = "".join(f", {option}={value!r}" for option, value in options.items())
    yield f"""\
```python
import numpy as np
import noms_env

player = noms_env.load_player("{name}")
batch = noms_env.make_batch("{variant}", tables=64, seats={seats}, seed=1, episode="deal"{given})
rng = np.random.default_rng(0)
batch.reset()
while not batch.over.all():
    batch.observe()
    batch.step(player.act(batch.observation, batch.mask, rng))
print(batch.tables.points[:, :{seats}].mean(axis=0))
```"""
    words = "".join(f" --option '{option}={json.dumps(value)}'" for option, value in options.items())
    yield f"""\
```sh
noms play {variant} --seats {seats}{words} --against {name}
noms evaluate {name} thumb --variant {variant} --seats {seats}{words}
```"""
    yield "It needs no torch. Tables with other rules than those above are refused with a sentence."


# -------------------------------------------------------------------------------------------------- how it was trained


def training(outcome: Outcome) -> Iterator[str]:
    """The configuration, as far as it differs from a preset, and what the evaluations of the run say."""
    preset = nearest_preset(outcome.config)
    found = preset_differences(outcome.config, preset)
    if outcome.earlier:
        yield f"The last of its {len(outcome.runs)} runs; the commands of all of them stand at the end of this page."
    if not found:
        yield f"Preset `{preset}` of `noms train`, without a change."
    else:
        yield f"Preset `{preset}` of `noms train`, but for"
        yield table(
            ("option", f"preset `{preset}`", "this run"),
            [(f"`{name}`", value_text(usual), value_text(own)) for name, usual, own in found],
        )
    if outcome.budget != outcome.config.decisions:
        yield (
            f"The run was begun with {outcome.config.decisions:,} decisions, which became {outcome.budget:,}, with the "
            "schedules of the new budget from then on; the policy is from before."
        )


def value_text(value: object) -> str:
    """A value of the configuration in a table."""
    return code(json.dumps(value))


def learning_curve(name: str, outcome: Outcome) -> Iterator[str]:
    """The picture, and the figures of the evaluation that chose the policy."""
    yield f"![Points per deal against the panel, and entropy, by decisions]({PICTURE})"
    yield f"All figures of the evaluations, and of the iterations those that matter: [{CURVE}]({CURVE})."
    duels = list(training_duels(name, outcome))
    if not duels:
        yield "The policy was kept before the first evaluation."
        return
    kept = "the slow average" if outcome.is_average else "the policy"
    yield (
        f"The evaluation after {outcome.seen:,} decisions, of which {kept} was kept: points per deal above the "
        f"others on {outcome.config.evaluation_deals:,} duplicate deals of the set `dev`, of the policy with the 95 % "
        "interval, of its slow average, and of the most probable actions. The evaluations of a run choose its policy, which "
        "makes them somewhat too good."
    )
    yield table(
        ("game", "against", "policy", "average", "most probable"), [training_row(duel, outcome.evaluation()) for duel in duels]
    )


def training_duels(name: str, outcome: Outcome) -> Iterator[Duel]:
    """What the evaluation that chose the policy says of it: of the run's policy, also where its slow average was kept."""
    found = outcome.evaluation()
    for kind in outcome.info.rule_sets:
        start = f"points/{label(kind)}/"
        for figure in [figure for figure in found if figure.startswith(start) and figure.count("/") == 2]:
            mean, low, high = (found[figure + end] for end in ("", "/low", "/high"))
            error = (high - low) / (2 * NORMAL_95)
            points = Estimate(mean, error, low, high, outcome.config.evaluation_deals, "bootstrap")
            yield Duel(kind, "dev", name, figure.removeprefix(start), points)


def training_row(duel: Duel, found: Mapping[str, float]) -> tuple[Cell, ...]:
    """A row of the table of that evaluation, with the means of the slow average and of the most probable actions."""
    figure = f"points/{label(duel.kind)}/{duel.opponent}"
    others = [found.get(f"{variety}/{figure}") for variety in ("average", "greedy")]
    means = [None if mean is None else f"{mean:+.3f}" for mean in others]
    return kind_text(label(duel.kind)), code(duel.opponent), plus_minus(duel.points), *means


# ------------------------------------------------------------------------------------------------------ against others


def against_others(outcome: Outcome, results: Results) -> Iterator[str]:
    """The figures of evaluations and tournaments."""
    if not results.all_duels:
        yield "Not measured but in training."
        return
    if results.duels:
        yield (
            "Points per deal above the opponent on duplicate deals, on one seat with the opponent on all others and in all "
            "line-ups that were played together (`noms evaluate`), and the part of the matches won on one seat, with 95 % "
            "intervals."
        )
        duels = in_order(results.duels, outcome.info.rule_sets)
        yield table(
            ("game", "policy", "against", "deals", "alone", "all line-ups", "matches won"), [duel_row(one) for one in duels]
        )
    for one in sorted(results.standings, key=lambda one: outcome.info.rule_sets.index(one.kind)):
        yield from standings_text(one)


def in_order(duels: Iterable[Duel], rule_sets: Sequence[Rules]) -> list[Duel]:
    """By game, in the order of the policy's; otherwise as they are."""
    return sorted(duels, key=lambda duel: rule_sets.index(duel.kind))


def duel_row(duel: Duel) -> tuple[Cell, ...]:
    """A row of the table of duels."""
    wins = None if duel.wins is None else f"{percent(duel.wins)} (equals: {100 * duel.fair:.1f} %)"
    deals = f"{duel.points.deals:,} of `{duel.deal_set}`"
    alone = None if duel.alone is None else plus_minus(duel.alone)
    return kind_text(label(duel.kind)), code(duel.policy), code(duel.opponent), deals, alone, plus_minus(duel.points), wins


def standings_text(standings: Standings) -> Iterator[str]:
    """The ratings of a tournament, and how much better the policy is than each."""
    yield (
        f"A tournament in {kind_text(label(standings.kind))}, {standings.deals:,} deals of the set `{standings.deal_set}` for "
        "each pair (`noms tournament`): ratings in points per deal, and by how much the policy is better than each player, "
        "with 95 % intervals."
    )
    own = list(dict.fromkeys(duel.policy for duel in standings.duels))
    better = {(duel.policy, duel.opponent): plus_minus(duel.points) for duel in standings.duels}
    yield table(
        ("player", "rating", *(f"{code(policy)} better by" for policy in own)),
        [
            (code(player), plus_minus(rating), *(better.get((policy, player)) for policy in own))
            for player, rating in standings.ratings.items()
        ],
    )


# ----------------------------------------------------------------------------------------------------------- behaviour


def behaviour(outcome: Outcome) -> Iterator[str]:
    """The main probes of the evaluation that chose the policy."""
    found = outcome.evaluation()
    rule_sets = list(dict.fromkeys(label(kind) for kind in outcome.info.rule_sets))
    probes = [probe for probe in MAIN if any(f"probe/{kind}/{probe}" in found for kind in rule_sets)]
    if not probes:
        yield "Not measured."
        return
    average = ", of which the file holds the slow average" if outcome.is_average else ""
    yield (
        f"At tables with nobody else, {outcome.config.evaluation_deals:,} deals of each game after {outcome.seen:,} "
        f"decisions of training: the policy{average}."
    )
    yield table(
        ("game", *(MAIN[probe] for probe in probes)),
        [(kind_text(kind), *(as_cell(probe, found.get(f"probe/{kind}/{probe}")) for probe in probes)) for kind in rule_sets],
    )


def as_cell(probe: str, value: float | None) -> Cell:
    """A probe; empty where there was nothing to count."""
    return None if value is None else as_read(probe, value)


# ---------------------------------------------------------------------------------------------------------- weaknesses


def weaknesses(name: str, outcome: Outcome, results: Results) -> Iterator[str]:
    """What follows from the figures, and what is not known."""
    measured = [duel for duel in in_order(results.all_duels, outcome.info.rule_sets) if not duel.is_against_itself]
    known = {(duel.kind, duel.opponent) for duel in measured}
    unmeasured = [duel for duel in training_duels(name, outcome) if (duel.kind, duel.opponent) not in known]
    yield from verdicts(measured, "In the comparisons above")
    whose = ", of the policy of which the file holds the slow average" if outcome.is_average else ""
    yield from verdicts(unmeasured, f"In training (no other figures yet{whose})")
    yield "Besides:"
    yield bullets(gaps(name, outcome, measured))


def verdicts(duels: Sequence[Duel], where: str) -> Iterator[str]:
    """Against whom the policy is not better."""
    behind = [duel for duel in duels if duel.points.high < 0]
    unclear = [duel for duel in duels if duel.points.low <= 0 <= duel.points.high]
    if behind:
        yield f"{where} it is behind (95 % intervals, each for itself):"
        yield bullets(map(duel_text, behind))
    if unclear:
        yield f"{where} the interval is not clear of zero (95 %, each for itself):"
        yield bullets(map(duel_text, unclear))
    if duels and not (behind or unclear):
        yield f"{where} all intervals lie above zero ({len(duels)} of {len(duels)})."


def duel_text(duel: Duel) -> str:
    """A comparison in a list."""
    return f"{kind_text(label(duel.kind))}, {code(duel.policy)} against {code(duel.opponent)}: {plus_minus(duel.points)}"


def gaps(name: str, outcome: Outcome, measured: Sequence[Duel]) -> Iterator[str]:
    """What has failed, and what is not known."""
    for duel in measured:
        if duel.lost.tables:
            where = f"{kind_text(label(duel.kind))}, {code(duel.policy)} against {code(duel.opponent)}"
            yield f"{where}: it lost {duel.lost.tables:,} tables, since it {'; '.join(duel.lost.why)}."
    missing = [kind for kind in outcome.info.rule_sets if all(duel.kind != kind for duel in measured)]
    if missing:
        yield f"Not measured but in training: {', '.join(game_texts(missing))}."
    if outcome.decisions < outcome.budget:
        yield f"The run has not come to its end: {outcome.decisions:,} of {outcome.budget:,} decisions."
    yield "It knows no other options than those above, and no other numbers of seats."
    yield f"How much a player gains that was trained to beat `{name}` is not known."


# --------------------------------------------------------------------------------------------------- how to make it again


def again(name: str, outcome: Outcome) -> Iterator[str]:
    """The commands, and what they take."""
    places, out = [f"runs/{name}-{number}" for number in range(1, len(outcome.runs))], f"runs/{name}"
    configs = chained([run.config for run in outcome.runs], places)
    commands = [train_command(config, place) for config, place in zip(configs, [*places, out], strict=True)]
    yield "```sh\n" + "\n".join(commands) + "\n```"
    if learns_from(configs[0]):
        role = "with which it begins" if configs[0].initial else "its teacher"
        yield f"The policy `{learns_from(configs[0])}`, {role}, has to be there."
    strangers = {policy for config in configs for policy in policies_at_tables(config)} - {*places}
    for policy in sorted(strangers - {learns_from(configs[0])}):
        yield f"The policy `{policy}`, which sits at tables, has to be there."
    for run, place in zip(outcome.runs, [*places, out], strict=True):
        if run is not outcome and run.decisions < run.budget:
            yield f"`{place}` was stopped after {run.decisions:,} decisions."
    before = f" --before {' '.join(places)}" if places else ""
    yield (
        f"`{out}/policy.safetensors` is the best policy of the run by its evaluations. On the same kind of machine, with as "
        "many threads and the versions above, the parameters are the same to the bit; elsewhere sums are rounded otherwise, "
        f"and the run takes another course. `noms publish {out} --name {name}{before}` writes this folder."
    )
