"""Forty named states of the page look as they were approved, axe finds nothing in them, and nothing complains.

What differs is left in `build/pictures` beside what was approved. After a look at it, approve anew:
`python -m pytest -m browser tests/browser/test_pictures.py --approve`.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from tests.browser.playing import until

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
"""A state, what is turned on in it, and the size of the screen."""
SHADES, PIXELS = 40, 4
"""So many pixels, each the mean of four by four, may differ by more than so many shades of 255."""


def show_state(page: Any, state: tuple[str, ...]) -> None:
    """Bring a page to a state."""
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
    """What is on the screen in half its size, as WebP."""
    file = BytesIO()
    Image.open(BytesIO(page.screenshot())).convert("RGB").reduce(2).save(file, "WEBP", quality=70, method=6)
    return file.getvalue()


def differs(one: Image.Image, other: Image.Image) -> bool:
    """Whether two pictures differ by more than the drawing of letters does."""
    if one.size != other.size:
        return True
    bands = ImageChops.difference(one.reduce(2), other.reduce(2)).split()
    most = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return sum(most.histogram()[SHADES + 1 :]) > PIXELS


def check(name: str, now: bytes, approve: bool) -> bool:
    """Whether a picture is as approved; if not, it becomes the approved one or is left to be looked at."""
    file = APPROVED / f"{name}.webp"
    seen = Image.open(BytesIO(now)).convert("RGB")
    approved = Image.open(file).convert("RGB") if file.exists() else Image.new("RGB", seen.size)
    if not differs(approved, seen):
        return True
    if approve:
        file.write_bytes(now)
        return True
    DIFFERENT.mkdir(parents=True, exist_ok=True)
    seen.save(DIFFERENT / f"{name}-now.png")
    approved.save(DIFFERENT / f"{name}-approved.png")
    ImageChops.difference(approved.resize(seen.size), seen).save(DIFFERENT / f"{name}-difference.png")
    return False


@pytest.mark.parametrize("state", STATES, ids=["-".join(state) for state in STATES])
def test_a_state_looks_as_approved(
    state: tuple[str, ...], new_page: Callable[..., Any], address: str, request: pytest.FixtureRequest
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    size = next(SIZES[word] for word in state if word in SIZES)
    where = f"gallery.html#{state[0]}" if "-" in state[0] else PAGES.get(state[0], "")
    page = new_page(f"{address}{where}", size, reduced_motion="reduce")
    until(page, "Boolean(noms.states || (noms.lesson ? noms.table : noms.page === 'start') || noms.results)")
    show_state(page, state)
    name = "-".join(state)
    assert check(name, picture(page), request.config.getoption("--approve")), f"{name} differs: see {DIFFERENT}"
    violations = Axe().run(page).response["violations"]
    assert [f"{one['id']}: {one['nodes'][0]['html']}" for one in violations] == []


def test_each_approved_picture_is_of_a_state() -> None:
    """A picture of a state that is no more is to be deleted."""
    assert sorted(file.stem for file in APPROVED.iterdir()) == sorted("-".join(state) for state in STATES)
