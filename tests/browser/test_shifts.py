"""Nothing on the page shifts during a deal: what moves glides, and what grows has room."""

from typing import Any

import pytest

from tests.browser.conftest import SIZES
from tests.browser.playing import CHOICES, NewPage, moment_of, wait_for_turn, wait_until_moved

pytestmark = pytest.mark.browser
MOST = 0.001
"""Maximum layout shift as Chromium measures it: the share of the screen that moved, times the distance."""
WATCH = """
globalThis.shifts = [];
const spot = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
const describe = ({ node, previousRect, currentRect }) =>
  `${node?.parentElement?.className} > ${node?.className || node?.nodeName}: ${spot(previousRect)}, then ${spot(currentRect)}`;
new PerformanceObserver((list) => {
  const moment = globalThis.noms?.table?.moment;
  const entries = list.getEntries().filter((entry) => !entry.hadRecentInput);
  for (const { value, sources } of entries) globalThis.shifts.push([value, moment, sources.map(describe)]);
}).observe({ type: "layout-shift", buffered: true });
"""


def press_button(page: Any, selector: str) -> None:
    """Click by a script, since Chromium ignores shifts within half a second of a real click."""
    page.wait_for_selector(selector, state="attached")
    page.eval_on_selector(selector, "(button) => button.click()")


def play_on(page: Any, decisions: int) -> None:
    """Take decisions until the deal is over, with hints for the first and the third."""
    for number in range(decisions):
        if not wait_for_turn(page):
            return
        if number in (0, 2) and page.query_selector("#hint"):
            press_button(page, "#hint")
            page.wait_for_selector("#advice-list li", state="attached")
        page.wait_for_timeout(100)  # so that it is drawn
        before = moment_of(page)
        press_button(page, CHOICES)
        wait_until_moved(page, before)


@pytest.mark.parametrize(
    ("variant", "size"),
    [*zip(("noms", "small_ships", "down_up", "nonesuch", "small_ships"), (*SIZES, SIZES[-1]), strict=True)],
)
def test_nothing_shifts_in_a_deal(variant: str, size: tuple[int, int], new_page: NewPage, address: str) -> None:
    page = new_page("about:blank", size, has_touch=size[0] < 900)
    page.add_init_script(WATCH)
    page.goto(address)
    press_button(page, "#level input[value=medium]")
    press_button(page, f"[data-game={variant}] .play")
    page.wait_for_selector("#stage .own-bar")
    page.eval_on_selector("#pace", "(pace) => { pace.value = '0.3'; pace.dispatchEvent(new Event('change')); }")
    play_on(page, 100)
    page.wait_for_selector("#result-headline")
    page.wait_for_timeout(300)
    page.click("#deal-next")
    play_on(page, 4)
    shifts = page.evaluate("globalThis.shifts")
    assert sum(value for value, *_ in shifts) < MOST, shifts
