"""Light and dark colours of the drawing, as style sheets for the classes of its elements."""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark", "auto"]
"""`auto` follows the reader's system setting."""

FONTS = "Inter,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

SUIT_COLOURS = {
    "clubs": "#17202e",
    "diamonds": "#c8102e",
    "hearts": "#c8102e",
    "spades": "#17202e",
    "moons": "#2f3747",
    "suns": "#d55e00",
    "waves": "#0067b1",
    "leaves": "#00845f",
    "wyrms": "#a5307c",
    "knots": "#7a5a00",
}
"""Colour of each suit's mark. The Decktet uses the colour-blind-safe palette of Okabe and Ito."""

COLOURS = {
    "page": ("#f6f3ea", "#101614"),
    "felt": ("#cfe3d6", "#1b4634"),
    "rim": ("#8fb09c", "#39705a"),
    "panel": ("#fffdf8", "#0e261c"),
    "ink": ("#17211c", "#f4f0e4"),
    "faint": ("#475a50", "#b4ccbe"),
    "accent": ("#7a3d00", "#ffd166"),
    "glow": ("#ffb400", "#ffc233"),
    "primary": ("#17603f", "#7fd6a4"),
    "onprimary": ("#ffffff", "#06281a"),
    "good": ("#14663f", "#8fe0b0"),
    "bad": ("#a3201c", "#ffb0a6"),
}
"""Light and dark colour of each role."""
LIGHT, DARK = ({name: pair[place] for name, pair in COLOURS.items()} for place in (0, 1))
PALETTES = {"light": LIGHT, "dark": DARK}


def _rules(palette: dict[str, str], scope: str) -> str:
    """Return the rules that depend on the palette."""
    shapes = {
        "page": f"fill:{palette['page']}",
        "felt": f"fill:{palette['felt']};stroke:{palette['rim']}",
        "panel": f"fill:{palette['panel']};stroke:{palette['rim']}",
        "turn": f"fill:{palette['panel']};stroke:{palette['glow']}",
        "ink": f"fill:{palette['ink']}",
        "faint": f"fill:{palette['faint']}",
        "accent": f"fill:{palette['accent']}",
        "glow": f"fill:{palette['glow']}",
        "pill": f"fill:{palette['accent']}",
        "onpill": f"fill:{palette['panel']}",
    }
    return "".join(f"{scope}.noms-{name}{{{style}}}" for name, style in shapes.items())


COMMON = (
    f".noms-text{{font-family:{FONTS};font-weight:400}}.noms-bold{{font-family:{FONTS};font-weight:700}}"
    ".noms-paper{fill:#fffdf6;stroke:#8a8a80}.noms-back{fill:#2f4a8c;stroke:#f4f1e6}.noms-lattice{fill:none;stroke:#7f95cf}"
    ".noms-print{fill:#17202e}.noms-dim{fill:#3c3c36;opacity:.36}.noms-lit{fill:none;stroke:#ffb400;stroke-width:5}"
    ".noms-chip{fill:#fffdf6;stroke:#6b6b62}.noms-coin{fill:#fffdf6;stroke:#17202e}.noms-bar{fill:#0067b1;stroke:#fffdf6}.noms-onbar{fill:#fffdf6}"
    ".noms-past{opacity:.45}.noms-taken{fill:none;stroke:#0067b1;stroke-width:5;stroke-dasharray:9 5}"
    + "".join(f".noms-{name}{{color:{colour}}}" for name, colour in SUIT_COLOURS.items())
)
"""Rules of both themes: the cards look the same in light and dark."""


def style_sheet(theme: Theme) -> str:
    """Return the style sheet of a standalone drawing; raise `ValueError` for an unknown theme."""
    if theme not in (*PALETTES, "auto"):
        raise ValueError(f"theme must be {', '.join(PALETTES)} or auto, not {theme!r}")
    if theme == "auto":
        return f"{COMMON}{_rules(LIGHT, '')}@media (prefers-color-scheme:dark){{{_rules(DARK, '')}}}"
    return COMMON + _rules(PALETTES[theme], "")


def page_style_sheet() -> str:
    """Return the style sheet of a page with `data-theme` (light or dark) at its root; it also sets CSS variables."""
    sheets = [COMMON]
    for name, palette in PALETTES.items():
        colours = "".join(f"--{colour}:{code};" for colour, code in palette.items())
        sheets.append(f"[data-theme={name}]{{{colours}color-scheme:{name}}}{_rules(palette, f'[data-theme={name}] ')}")
    return "".join(sheets)
