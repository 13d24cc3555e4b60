"""A film as one HTML file that needs no server and no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from functools import cache
from pathlib import Path

from noms_env.show.elements import escape_text
from noms_env.show.pixels import FONTS
from noms_env.show.theme import page_style_sheet

from .film import Film

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("board.js", "replay.js", "replay_start.js")


@cache
def asset(name: str) -> str:
    """Return the text of an asset file."""
    return (ASSETS / name).read_text(encoding="utf-8")


def font_faces(address: str | None = None) -> str:
    """Return the font faces of a style sheet, loaded from `address`, or embedded if it is None."""
    faces = []
    for file in map(Path, FONTS):
        source = f"{address}{file.name}" if address else f"data:font/ttf;base64,{base64.b64encode(file.read_bytes()).decode()}"
        weight = re.sub(r"\D", "", file.stem)
        faces.append(f'@font-face{{font-family:Inter;font-weight:{weight};src:url("{source}")}}')
    return "".join(faces)


def page_of(film: Film, title: str) -> str:
    """Return the page with the film, which has at least one deal, and any text as title.

    Its Content-Security-Policy allows only the embedded scripts and loads nothing.
    """
    packed = base64.b64encode(zlib.compress(json.dumps(film.data(), separators=(",", ":")).encode(), 9)).decode()
    sheets = {"fonts": font_faces(), "drawing": page_style_sheet(), "tokens": asset("tokens.css"), "page": asset("page.css")}
    script = "\n".join(asset(name).replace('"use strict";', "") for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {digest(script)}; style-src {' '.join(map(digest, sheets.values()))}; "
        "img-src blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    fills = {"policy": policy, "title": escape_text(title), "controls": asset("replay_controls.html"), **sheets}
    fills |= {"script": script, "film": packed}
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: fills[mark[1]], asset("replay.html"))


def digest(text: str) -> str:
    """Return the hash of a text for a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
