"""The pages in a real Chromium: what a table says and does, two people at a table, a phone, and what axe finds."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from noms_env.record import record_matches, write_records
from noms_training.play.browser.film import Shown, film_of
from noms_training.play.browser.page import page_of
from tests.browser.playing import CHOICES, CORNER, click, sit_down, state, until, wait_for_turn

pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]


def test_what_is_not_legal_does_nothing_and_says_why(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "down_up")
    dimmed = "#stage [data-why]"
    while wait_for_turn(page) and page.query_selector(dimmed) is None:
        click(page)
    before = state(page)
    page.locator(dimmed).first.click(position=CORNER)
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert state(page) == before
    assert page.is_hidden("#notice")
    assert page.inner_text("#table-status").startswith("You must follow ")


def test_a_decision_is_taken_back_and_a_hint_is_shown(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "up_down")
    assert wait_for_turn(page)
    before = state(page)
    click(page)
    page.keyboard.press("u")
    until(page, "(before) => noms.table.moment === before", before)
    ask_for_a_hint(page)
    assert page.query_selector("#stage .hinted") is not None


def ask_for_a_hint(page: Any) -> None:
    page.keyboard.press("h")
    page.wait_for_selector("#advice-list li")


def test_a_double_click_takes_one_action(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "small_ships", "thumb")
    assert wait_for_turn(page)
    page.dblclick("#stage [data-word='13']", delay=60)
    until(page, "noms.table.view.phase !== 'call'")
    page.wait_for_timeout(300)
    assert page.evaluate("noms.table.view.phase") == "trump", "no trump was chosen by what lay under the pointer then"


def test_what_is_said_of_compiling_moves_nothing(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    top = page.locator(".play").first.bounding_box()
    page.route("**/api/ready", lambda route: route.fulfill(json={"ready": False}))
    page.reload()
    page.wait_for_selector(".waiting")
    assert page.locator(".play").first.bounding_box() == top


def test_a_reload_in_the_middle_goes_on(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "down_up")
    for _ in range(3):
        assert wait_for_turn(page)
        click(page)
    assert wait_for_turn(page)
    page.wait_for_timeout(1500)  # until the last trick is gone
    before, drawn = state(page), drawn_at(page)
    page.reload()
    page.wait_for_selector(CHOICES)
    page.wait_for_timeout(500)
    assert (state(page), drawn_at(page)) == (before, drawn)


def drawn_at(page: Any) -> Any:
    """The text on a table, and where each card lies."""
    return page.evaluate(
        "[document.getElementById('stage').innerText, [...document.querySelectorAll('.playing-card:not(.gone)')]"
        ".map((card) => [card.dataset.card, card.className, Math.round(card.getBoundingClientRect().x)])]"
    )


def test_who_comes_and_goes_moves_no_focus_and_hides_no_hint(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "up_down")
    assert wait_for_turn(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    chosen = page.evaluate("document.activeElement.dataset.word")
    ask_for_a_hint(page)
    assert page.evaluate("document.activeElement.dataset.word") == chosen
    other = new_page(f"{page.evaluate('location.origin')}/#table={page.evaluate('noms.table.name')}")
    other.wait_for_selector("#stage .own-bar")
    other.close()
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement.dataset.word") == chosen
    assert page.is_visible("#advice-list")
    assert page.query_selector("#stage .hinted") is not None


def test_a_player_that_fails_can_be_replaced(new_page: NewPage, tmp_path: Path) -> None:
    from noms_training.play.browser.hall import Hall
    from noms_training.play.browser.lobby import Lobby
    from noms_training.play.browser.messages import Limits
    from tests.served import served

    (tmp_path / "bad.py").write_text("def act(observation, mask, rng):\n    raise RuntimeError('tired')\n")
    bad = f"{tmp_path / 'bad.py'}:act"
    with served(Hall(tmp_path, Lobby([bad]), Limits(pace=0))) as address:
        page = new_page(address)
        page.click("[data-game=up_down] .set-up")
        assert page.locator("#hints option").last.inner_text() == bad, "a file keeps its name"
        page.keyboard.press("Escape")
        sit_down(page, "up_down", bad)
        until(page, "noms.table.turn !== 0 || Boolean(document.querySelector('#stage [data-word]'))")
        if page.evaluate("noms.table.turn") == 0:
            click(page)
        page.wait_for_selector("#failed >> text=has failed")
        assert "tired" in page.inner_text("#notice")
        seat = page.evaluate("noms.table.failed")
        page.click("#failed button")
        until(page, "(seat) => noms.table.failed !== seat", seat)


def test_on_a_phone_nothing_sticks_out(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(".games")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("[data-game=small_ships] .set-up")
    page.click(".options-of-game summary")
    assert page.evaluate("(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.getElementById('setup'))") <= 0
    page.click("#setup footer button:not(.primary)")
    sit_down(page, "small_ships")
    assert wait_for_turn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [place.bounding_box() for place in page.query_selector_all(CHOICES)]
    assert all(box["width"] >= 24 and box["height"] >= 24 for box in boxes), "large enough for a finger"
    page.set_viewport_size({"width": 844, "height": 390})
    page.wait_for_timeout(400)
    stage = page.locator("#stage").bounding_box()
    assert stage["y"] < 60, "the table comes first"
    assert stage["y"] + stage["height"] <= 390


@pytest.fixture
def film_page(tmp_path: Path) -> Path:
    """A page with two recorded deals."""
    records = list(islice(record_matches("nonesuch", seed=2), 2))
    (tmp_path / "deals.html").write_text(page_of(film_of(records, Shown(names=["<b>Ann", "Bo", "Cy", "Di"])), "Two deals"))
    return tmp_path / "deals.html"


def test_a_page_of_recorded_deals_opens_without_a_server(new_page: NewPage, film_page: Path) -> None:
    page = new_page(film_page.as_uri())
    page.wait_for_selector("#replay:not([hidden])")
    assert page.is_visible("#linked")
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    assert page.url.endswith("#0,2,2")
    shown = page.inner_html("#board")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.inner_text("#result-lines")
    page.goto(f"{film_page.as_uri()}#0,2,2")
    until(page, "(shown) => document.getElementById('board').innerHTML === shown", shown)
    assert "&lt;b&gt;Ann" in shown
    assert saved(page, "#png")[:4] == b"\x89PNG"
    assert page.is_hidden("#gif"), "only a server draws it"
    assert all(url.startswith(("file:", "blob:", "data:")) for url in asked)


def test_a_file_of_records_is_shown_by_the_server(new_page: NewPage, address: str, tmp_path: Path) -> None:
    write_records(tmp_path / "games.jsonl", islice(record_matches("up_down", seed=2), 2))
    page = new_page(address)
    page.check("#thinker")
    page.set_input_files("#file", tmp_path / "games.jsonl")
    page.wait_for_selector(".analysis-page")
    assert page.locator(".thoughts li").count() > 1
    page.select_option("#deal", "1")
    page.select_option("#seat", "2")
    assert page.inner_text(".own-bar .own-name").startswith("Seat 2")
    page.keyboard.press("End")
    page.wait_for_selector("#result-headline")
    assert page.query_selector("#graph") is None, "nothing was analysed"
    assert saved(page, "#gif")[:4] == b"GIF8"
    page.click(".way-back")
    page.wait_for_selector(".games")


def saved(page: Any, button: str) -> bytes:
    """What a button saves."""
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_bytes()


def test_a_game_is_played_with_one_click_and_an_error_stands_at_its_field(
    new_page: NewPage, address: str, chromium: Any
) -> None:
    page = new_page(address)
    page.click("#level >> text=easy")
    page.fill("#name", "Ann")
    page.click("[data-game=up_down] .play")
    page.wait_for_selector("#stage .plate")
    assert page.evaluate("noms.table.levels") == [None, "easy", "easy", "easy"]
    assert page.evaluate("noms.table.people[0].name") == "Ann"
    page.click(".way-back")
    page.wait_for_selector("#again")
    assert page.is_checked("#level input[value=easy]"), "it is remembered"
    assert page.input_value("#name") == "Ann"
    page.click("#again")
    page.wait_for_selector("#stage .plate")
    assert page.evaluate("noms.table.variant") == "up_down"
    with chromium.new_context() as context:  # in whose console the answer 400 is a complaint
        wrong = context.new_page()
        wrong.goto(address)
        wrong.click("[data-game=small_ships] .set-up")
        wrong.click(".options-of-game summary")
        wrong.fill("#option-target", "0")
        wrong.click("#start")
        wrong.wait_for_selector("#field-target .error >> text=Target must be an integer from 1 to 10000")
        assert wrong.get_attribute("#option-target", "aria-invalid") == "true"


def test_a_card_keeps_its_element_on_its_way_to_the_trick(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "sniped_whist")
    assert wait_for_turn(page)
    page.evaluate(
        f"""() => {{
          globalThis.moves = [];
          globalThis.moved = document.querySelector("{CHOICES}");
          globalThis.moved.addEventListener("transitionrun", (event) => globalThis.moves.push(event.propertyName));
        }}"""
    )
    click(page)
    until(page, "globalThis.moved.isConnected && !globalThis.moved.classList.contains('hand')")
    until(page, "globalThis.moves.includes('transform')")
    duration = page.evaluate("Number.parseFloat(getComputedStyle(globalThis.moved).transitionDuration)")
    assert 0.2 <= duration <= 0.3, "seconds"
    still = new_page(address, reduced_motion="reduce")
    assert still.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--move').trim()") == "0ms"


def test_axe_finds_nothing(new_page: NewPage, address: str, film_page: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def found(page: Any) -> list[str]:
        page.wait_for_timeout(400)  # until nothing moves
        violations = Axe().run(page).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html']}" for one in violations]

    page = new_page(address)
    page.wait_for_selector(".games")
    assert found(page) == []
    page.click("[data-game=small_ships] .set-up")
    page.click(".options-of-game summary")
    assert found(page) == []
    page.keyboard.press("Escape")
    sit_down(page, "small_ships")
    assert wait_for_turn(page)
    assert found(page) == []
    page.click("#theme")
    assert found(page) == []
    while wait_for_turn(page):
        click(page)
    page.wait_for_selector(".result")
    assert found(page) == []
    film = new_page(film_page.as_uri())
    film.wait_for_selector("#replay:not([hidden])")
    assert found(film) == []
