"""Forty named states of the page look as approved, without findings of axe.

Differences are saved in `build/pictures`. To approve them:
`python -m pytest -m browser tests/browser/test_pictures.py --approve`.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from tests.browser.playing import NewPage, axe_findings, until

pytestmark = pytest.mark.browser
APPROVED = Path(__file__).parent / "approved"
DIFFERENT = Path(__file__).parents[2] / "build" / "pictures"
SIZES = {"desk": (1440, 900), "tablet": (1024, 768), "wide": (844, 390), "high": (390, 844)}
NAMES = """
start desk, start high dark, setup tablet, setup high, lesson desk, results high,
sniped_whist-3-all desk, sniped_whist-4-play high, sniped_whist-7-all high,
big_ships-2-play desk dark, big_ships-3-call hinted wide, big_ships-4-over high, big_ships-6-call high,
big_ships-7-call hinted tablet, big_ships-7-over desk,
small_ships-3-nominate high, small_ships-4-nominate desk, small_ships-4-trump tablet, small_ships-4-play hinted high,
small_ships-4-play hinted desk, small_ships-5-over tablet, small_ships-6-nominate wide, small_ships-6-play hinted wide,
small_ships-6-all tablet, small_ships-4-play analysed desk, small_ships-4-call analysed high, small_ships-4-moment tablet,
noms-4-call desk, noms-4-play hinted tablet dark, noms-4-spectator wide,
nonesuch-3-suit hinted high, nonesuch-4-suit desk, nonesuch-4-play tablet,
down_up-3-play wide, down_up-5-over high, up_down-4-call high dark, up_down-4-over desk,
4-lobby desk, 4-lobby-guest high, 6-undo-asked tablet
"""
PAGES = {"lesson": "#lesson=small_ships", "results": "#page=results"}
STATES = [tuple(name.split()) for name in NAMES.replace("\n", " ").split(",")]
"""The state, modifiers, and the size of the screen."""
SHADES, PIXELS = 40, 4
"""Of the means of four by four pixels at most `PIXELS` may differ by more than `SHADES` of 255."""


def show_state(page: Any, state: tuple[str, ...]) -> None:
    name, *more = state
    page.evaluate("(theme) => document.documentElement.dataset.theme = theme", "dark" if "dark" in more else "light")
    if "-" in name:
        page.evaluate("([name, hinted]) => gallery.show(name, hinted)", [name, "hinted" in more])
        if "analysed" in more:
            page.evaluate("(name) => gallery.analyse(name)", name)
    elif name == "setup":
        page.click("[data-game=small_ships] .set-up")
        page.click(".options-of-game summary")
    page.evaluate("document.querySelectorAll('input[readonly]').forEach((link) => { link.value = 'http://localhost/#table=' })")
    page.evaluate("document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 80)))")


def picture(page: Any) -> bytes:
    """Return the screen in half its size, as WebP."""
    file = BytesIO()
    Image.open(BytesIO(page.screenshot())).convert("RGB").reduce(2).save(file, "WEBP", quality=70, method=6)
    return file.getvalue()


def differ(picture: Image.Image, other: Image.Image) -> bool:
    """Return whether two pictures differ by more than the drawing of letters."""
    if picture.size != other.size:
        return True
    bands = ImageChops.difference(picture.reduce(2), other.reduce(2)).split()
    most = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return sum(most.histogram()[SHADES + 1 :]) > PIXELS


def is_approved(name: str, content: bytes, approve: bool) -> bool:
    """Compare a picture with the approved one; with `approve` it becomes that, otherwise differences are saved."""
    file = APPROVED / f"{name}.webp"
    now = Image.open(BytesIO(content)).convert("RGB")
    approved = Image.open(file).convert("RGB") if file.exists() else Image.new("RGB", now.size)
    if not differ(approved, now):
        return True
    if approve:
        file.write_bytes(content)
        return True
    DIFFERENT.mkdir(parents=True, exist_ok=True)
    now.save(DIFFERENT / f"{name}-now.png")
    approved.save(DIFFERENT / f"{name}-approved.png")
    ImageChops.difference(approved.resize(now.size), now).save(DIFFERENT / f"{name}-difference.png")
    return False


@pytest.mark.parametrize("state", STATES, ids=["-".join(state) for state in STATES])
def test_a_state_looks_as_approved(
    state: tuple[str, ...], new_page: NewPage, address: str, request: pytest.FixtureRequest
) -> None:
    size = next(SIZES[word] for word in state if word in SIZES)
    path = f"gallery.html#{state[0]}" if "-" in state[0] else PAGES.get(state[0], "")
    page = new_page(f"{address}{path}", size, reduced_motion="reduce")
    until(page, "Boolean(noms.states || (noms.lesson ? noms.table : noms.page === 'start') || noms.results)")
    show_state(page, state)
    name = "-".join(state)
    assert is_approved(name, picture(page), request.config.getoption("--approve")), f"{name} differs: see {DIFFERENT}"
    assert axe_findings(page, delay=0) == []


def test_each_approved_picture_is_of_a_state() -> None:
    assert sorted(file.stem for file in APPROVED.iterdir()) == sorted("-".join(state) for state in STATES)
