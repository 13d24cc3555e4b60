"""The SVG drawing of a table is well-formed, legible and accessible, and outside text stays text."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from noms_env import show
from noms_env.core.cards import CARD_WORDS, DECKTET, FRENCH
from noms_env.show import cards, picture, theme
from noms_env.show.elements import WIDTHS, escape_text, text, text_width
from noms_env.show.pixels import FONTS, png
from noms_env.show.view import Notes, View, look
from noms_env.table import Table
from tests.begin import begin
from tests.envs.play import EVERY_TABLE, KINDS, Kind
from tests.test_show import moments

SVG = "{http://www.w3.org/2000/svg}"
EVIL = """</text><script>alert("1")</script>&'\x00\ud800"""
NAMES = ["Ann", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"]


def views(kind: Kind, count: int = 2) -> list[View]:
    """Return views of the seat to act, of a spectator, and of everything, at random moments of every phase."""
    tables = moments(kind.variant, kind.seats, kind.options, count, 100)
    return [
        look(table, seat, full) for table in tables for seat, full in ((int(table.row.seat), False), (None, False), (0, True))
    ]


def parse(view: View, notes: Notes | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(picture.drawing(view, notes or Notes()))


@pytest.mark.parametrize("kind", [*EVERY_TABLE, *KINDS.values()], ids=str)
def test_the_drawing_of_every_table_is_complete_and_legible(kind: Kind) -> None:
    for view in views(kind, 1):
        root = parse(view)
        symbols = {element.get("id") for element in root.iter(f"{SVG}symbol")}
        assert {(element.get("href") or "")[1:] for element in root.iter(f"{SVG}use")} == symbols
        assert {element.get("data-part") for element in root.iter()} - {None} == set(picture.parts(view, Notes()))
        sizes = [float(element.get("font-size") or 0) for element in root.iter(f"{SVG}text")]
        assert min(sizes) >= 18, "9 pixels at a width of 360 pixels"


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_every_card_has_a_label(kind: Kind) -> None:
    for view in views(kind, 1):
        root = parse(view, Notes(NAMES))
        labelled = {use for group in root.iter(f"{SVG}g") if group.get("aria-label") for use in group.iter(f"{SVG}use")}
        faces = {use for use in root.iter(f"{SVG}use") if re.match("#noms-[ct]-", use.get("href") or "")}
        assert faces <= labelled
        labels = {group.get("aria-label") for group in root.iter(f"{SVG}g")}
        for seat, card in view.trick:
            assert f"{cards.card_title(card, view.deck_kind)} by {NAMES[seat]}" in labels


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_nothing_leaves_the_sheet(kind: Kind) -> None:
    for view in views(kind):
        for element in parse(view, Notes(["A name that is longer than any plate has room for"] * kind.seats)):
            for inside in element.iter():
                if inside.tag in (f"{SVG}use", f"{SVG}rect") and element.get("data-part"):
                    x, y, width, height = (float(inside.get(side) or 0) for side in ("x", "y", "width", "height"))
                    assert min(x, y) >= 0, ElementTree.tostring(inside)
                    assert x + width <= picture.WIDTH, ElementTree.tostring(inside)
                    assert y + height <= picture.HEIGHT, ElementTree.tostring(inside)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_exactly_the_legal_actions_can_be_chosen(kind: Kind) -> None:
    phases = set()
    for view in views(kind):
        choices = [element for element in parse(view).iter() if element.get("data-word")]
        assert sorted(str(choice.get("data-word")) for choice in choices) == sorted(view.legal)
        assert all(choice.get("aria-label") for choice in choices)
        phases |= {view.phase} if view.legal else set()
    assert "play" in phases


def test_choices_show_probabilities_values_and_the_action_taken() -> None:
    table = begin(Table("small_ships", seed=2))
    table.act("pass")
    parts = picture.parts(look(table, int(table.row.seat)), Notes())
    assert 'data-word="7"' in parts["choices"]
    assert "Your call" in parts["choices"]
    chances = dict.fromkeys(("pass", "7", "mis"), 1 / 3)
    noted = picture.parts(look(table, int(table.row.seat)), Notes(probabilities=chances, taken="7"))
    assert noted["choices"].count("33%") == 3
    assert noted["choices"].count("noms-taken") == 1
    assert picture.parts(look(table, int(table.row.seat)), Notes(values={"7": -1.25}))["choices"].count("-1.2<") == 1
    assert "noms-bar" not in parts["choices"]


def test_names_from_outside_are_escaped() -> None:
    table = begin(Table("noms", seed=2))
    for seat in (None, 0):
        svg = show.svg(table, seat, names=[EVIL] * 4)
        assert not list(ElementTree.fromstring(svg).iter(f"{SVG}script"))
        assert "script>" not in svg.replace("&lt;/text&gt;&lt;script&gt;", "")
    assert escape_text(EVIL) == "&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#x27;��"
    assert "onerror" not in re.sub(r">[^<]*<", "><", text(0, 0, '" onerror="x', 20))


def test_a_long_name_is_compressed_or_cut() -> None:
    assert "textLength" not in text(0, 0, "Ann", 20, room=100)
    pressed = text(0, 0, "Ann and Bo", 20, room=text_width("Ann and Bo", 20) * 0.9)
    assert 'lengthAdjust="spacingAndGlyphs">Ann and Bo<' in pressed.replace(' class="noms-text noms-ink"', "")
    cut = text(0, 0, "runs/a-very-long-name", 20, room=80)
    assert ">runs/a-…<" in cut


def test_text_widths_match_the_fonts() -> None:
    fonts = pytest.importorskip("fontTools.ttLib", reason="fonttools comes with matplotlib")
    loaded = [fonts.TTFont(file) for file in FONTS]
    assert len(loaded) == 2
    for number, width in enumerate(WIDTHS):
        wide = max(font["hmtx"][font.getBestCmap()[32 + number]][0] / font["head"].unitsPerEm for font in loaded)
        assert abs(100 * wide - width) <= 0.5


@pytest.mark.parametrize("deck", [FRENCH, DECKTET])
def test_every_card_has_its_own_face_and_name(deck: int) -> None:
    symbols, numbers = cards.symbols(deck), range(len(CARD_WORDS[deck]))
    for kind in "ct":
        faces = {symbols[cards.card_symbol(card, deck, kind)].partition(">")[2] for card in numbers}
        assert len(faces) == len(numbers)
    assert len({cards.card_title(card, deck) for card in numbers}) == len(numbers)
    assert cards.card_title(CARD_WORDS[DECKTET].index("2MK"), DECKTET) == "2 of Moons and Knots"
    assert cards.card_title(CARD_WORDS[FRENCH].index("TH"), FRENCH) == "10 of Hearts"


def luminance(code: str) -> float:
    """Return the relative luminance of `#rrggbb`, by WCAG 2."""
    parts = np.array([int(code[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(colour: str, background: str) -> float:
    low, high = sorted(map(luminance, (colour, background)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", theme.PALETTES)
def test_text_has_enough_contrast(palette: str) -> None:
    colours = theme.PALETTES[palette]
    for ink in ("ink", "faint", "accent"):
        for ground in ("page", "panel", "felt"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, f"{ink} on {ground}"
    assert min(contrast(code, "#fffdf6") for code in theme.SUIT_COLOURS.values()) >= 3.5


def test_a_drawing_is_light_dark_or_as_the_reader_prefers() -> None:
    table = begin(Table("noms", seed=2))
    light, dark, auto = (show.svg(table, 0, theme=name) for name in ("light", "dark", "auto"))
    assert theme.LIGHT["felt"] in light
    assert theme.DARK["felt"] not in light
    assert theme.DARK["felt"] in dark
    assert "@media (prefers-color-scheme:dark)" in auto
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", light + dark + auto), "nothing is loaded from elsewhere"
    assert png(light)[:4] == b"\x89PNG"
    assert len({png(light), png(dark)}) == 2


def test_a_scored_deal_shows_its_points() -> None:
    view = look(begin(Table("down_up", 3, seed=1)), 0)
    places = tuple(replace(place, points=points) for place, points in zip(view.places, (13.0, -2.0, 0.5), strict=True))
    parts = picture.parts(replace(view, phase=None, to_act=None, legal=(), places=places), Notes())
    for seat, points in enumerate(("+13", "-2", "+0.5")):
        assert f">{points}<" in parts[f"seat{seat}"]
    assert "The deal is over" in parts["centre"]
