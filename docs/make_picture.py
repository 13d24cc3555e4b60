"""The pictures of a table in the README and the documentation: `python docs/make_picture.py` writes `docs/table.*`.

It also writes `docs/_static/social.png`, which other sites show beside a link to the documentation.

It needs the extra `browser` and Chromium, and draws with the page of `noms table` itself.
"""

from __future__ import annotations

import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent)]

from noms_env.record import record_matches  # noqa: E402
from noms_env.show.data import view_data  # noqa: E402
from noms_env.show.pixels import png  # noqa: E402
from noms_env.show.view import look  # noqa: E402
from noms_env.variants import GAMES  # noqa: E402
from noms_training.play.browser.film import Shown, moments  # noqa: E402
from noms_training.play.browser.gallery import table_around  # noqa: E402
from noms_training.play.browser.hall import Hall  # noqa: E402
from noms_training.play.browser.lobby import Lobby  # noqa: E402
from noms_training.play.browser.messages import Limits  # noqa: E402
from tests.browser.conftest import find_browser  # noqa: E402
from tests.served import served  # noqa: E402

PICTURE, ANIMATION, SOCIAL = DOCS / "table.png", DOCS / "table.gif", DOCS / "_static" / "social.png"
LINES = ("Seven trick-taking card games", "with hidden partners, exact bids", "and bluff", "", "Train agents, play cards")
NAMES = ("You", "Ann", "Bo", "Cy")
SHOWN_AT = 22
"""Decisions before the picture."""
MOVING, STANDING, END = 80, 720, 4000
"""Milliseconds of a frame: while cards move, after a move, after the deal."""
COLOURS = 24
SHOW = """([table, word]) => {
  noms.states = [{ name: "shown", table }];
  gallery.show("shown");
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
MOVE = """(share) => {
  const moving = document.getAnimations();
  for (const one of moving) {
    one.pause();
    one.currentTime = share * one.effect.getComputedTiming().endTime;
  }
  if (share === 1) for (const one of moving) one.finish();
  return moving.length > 0;
}"""


def tables() -> Iterator[dict[str, Any]]:
    """A deal of Small Ships by rules of thumb, decision by decision, as a page is told of it at seat 0."""
    record = next(record_matches("small_ships", seed=5, players="thumb"))
    for moment in moments(record, Shown()):
        view = view_data(look(moment.table, 0))
        told = {"names": NAMES, "levels": [None, *["easy"] * 3], "back": False, "over": view["over"]}
        yield table_around(GAMES["small_ships"], view) | told


def frames(page: Any, deal: list[dict[str, Any]]) -> Iterator[tuple[Image.Image, int]]:
    """Pictures of a deal and their milliseconds."""
    for table in deal:
        page.evaluate(SHOW, [table])
        if page.evaluate(MOVE, 0.4):
            yield shot(page), MOVING
        page.evaluate(MOVE, 1)
        yield shot(page), END if table["scored"] else STANDING


def open_page(browser: Any, address: str, size: tuple[int, int], scale: float) -> Any:
    """A page that shows a table."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, device_scale_factor=scale)
    page.goto(f"{address}gallery.html#small_ships-4-play")
    page.wait_for_selector("#stage .own-bar")
    return page


def shot(page: Any) -> Image.Image:
    """What is on the screen."""
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def social() -> bytes:
    """The name of the project beside the picture of a table, as PNG."""
    lines = "".join(f'<text x="70" y="{250 + 50 * place}" font-size="36">{line}</text>' for place, line in enumerate(LINES))
    table = b64encode(PICTURE.read_bytes()).decode()
    return png(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630">'
        '<rect width="1200" height="630" fill="#f4f1e6"/><g font-family="Inter" fill="#17202e">'
        f'<text x="70" y="160" font-size="84" font-weight="700">noms-env</text>{lines}</g>'
        f'<image x="700" y="25" width="470" height="580" href="data:image/png;base64,{table}"/></svg>'
    )


def main() -> None:
    """Save a moment of the deal, the whole deal, and the picture for other sites."""
    from playwright.sync_api import sync_playwright

    deal = list(tables())
    hall = Hall(Path(tempfile.mkdtemp()), Lobby(), Limits())
    with served(hall) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser("chromium"), args=["--no-sandbox"])
        page = open_page(browser, address, (540, 688), 1.4)
        page.evaluate(SHOW, [deal[SHOWN_AT]])
        page.evaluate(MOVE, 1)
        palette = shot(page).quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        palette.save(PICTURE, optimize=True)
        drawn = list(frames(open_page(browser, address, (680, 520), 0.7), deal))
        both = Image.new("RGB", (drawn[0][0].width, 2 * drawn[0][0].height))  # for the colours of the play and of the result
        both.paste(drawn[len(drawn) // 2][0])
        both.paste(drawn[-1][0], (0, drawn[0][0].height))
        colours = both.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=4)
        flat = [image.quantize(palette=colours, dither=Image.Dither.NONE) for image, _ in drawn]
        times = [time for _, time in drawn]
        flat[0].save(ANIMATION, save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=True)
        browser.close()
    SOCIAL.write_bytes(social())
    for file in (PICTURE, ANIMATION, SOCIAL):
        print(file, file.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
