"""A deal of each game by touch in Firefox, on a phone in both orientations; `test_deals` has Chromium."""

from collections.abc import Iterator

import pytest

from noms_env.variants import VARIANTS
from tests.browser.conftest import KINDS, SIZES, find_browser
from tests.browser.fingers import Firefox, touched_firefox
from tests.browser.playing import CHOICES

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def firefox_by_touch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with touched_firefox(str(find_browser("firefox")), tmp_path_factory.mktemp("profile")) as firefox:
        yield firefox


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind == "firefox"])
@pytest.mark.parametrize("size", SIZES[2:], ids=[str(width) for width, _ in SIZES[2:]])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_deal_is_played_by_touch(
    variant: str, size: tuple[int, int], kind: str, firefox_by_touch: Firefox, address: str
) -> None:
    page = firefox_by_touch
    page.open(address, size)
    page.until("Boolean(document.querySelector('.play'))")
    page.evaluate("document.addEventListener('pointerup', (event) => { sessionStorage.by = event.pointerType; }, true)")
    page.tap("#level label")
    page.until("Boolean(document.querySelector('#level .on input[value=easy]'))")
    page.tap(f"[data-game={variant}] .play")
    page.until("Boolean(document.querySelector('#stage .own-bar'))")
    assert page.evaluate("sessionStorage.by") == "touch"
    page.evaluate("((pace) => { pace.value = '0'; pace.dispatchEvent(new Event('change')); })(document.getElementById('pace'))")
    while page.until(f"document.querySelector('.result') ? 'over' : document.querySelector({CHOICES!r}) && 'turn'") == "turn":
        before = page.evaluate("noms.table.moment")
        page.tap(CHOICES)
        page.until(f"noms.table.moment !== {before!r}")
    page.until("Boolean(document.querySelector('#result-headline'))")
    assert page.evaluate("document.querySelectorAll('.result tbody tr').length === noms.table.names.length")
    assert page.evaluate("noms.table.sheet.length") == 1
