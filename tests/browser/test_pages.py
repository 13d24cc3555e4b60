"""The pages in Chromium: a table, a phone, recorded deals, and the start page."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from noms_env.record import record_matches, write_records
from noms_training.play.browser.film import Shown, film_of, page_of
from tests.browser.playing import (
    CHOICES,
    CORNER,
    NewPage,
    axe_findings,
    click,
    download,
    moment_of,
    page_width,
    sit_down,
    until,
    wait_for_turn,
)

pytestmark = pytest.mark.browser


def test_an_illegal_card_says_why_and_does_nothing(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "down_up")
    illegal = "#stage [data-why]"
    while wait_for_turn(page) and page.query_selector(illegal) is None:
        click(page)
    before = moment_of(page)
    page.locator(illegal).first.click(position=CORNER)
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert moment_of(page) == before
    assert page.is_hidden("#notice")
    assert page.inner_text("#table-status").startswith("You must follow ")


def test_undo_and_hint_by_keys_leave_the_focus_where_it_is(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "up_down")
    assert wait_for_turn(page)
    before = moment_of(page)
    click(page)
    page.keyboard.press("u")
    until(page, "(before) => noms.table.moment === before", before)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.dataset.word")
    page.keyboard.press("h")
    page.wait_for_selector("#advice-list li")
    assert page.evaluate("document.activeElement.dataset.word") == focused
    other = new_page(f"{page.evaluate('location.origin')}/#table={page.evaluate('noms.table.name')}")
    other.wait_for_selector("#stage .own-bar")
    other.close()
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement.dataset.word") == focused, "nor does a spectator move it"
    assert page.is_visible("#advice-list")
    assert page.query_selector("#stage .hinted") is not None


def test_a_double_click_takes_one_action(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "small_ships", "thumb")
    assert wait_for_turn(page)
    page.dblclick("#stage [data-word='13']", delay=60)
    until(page, "noms.table.view.phase !== 'call'")
    page.wait_for_timeout(300)
    assert page.evaluate("noms.table.view.phase") == "trump", "the second click chose no trump"


def test_the_notice_of_compiling_moves_nothing(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    top = page.locator(".play").first.bounding_box()
    page.route("**/api/ready", lambda route: route.fulfill(json={"ready": False}))
    page.reload()
    page.wait_for_selector(".waiting")
    assert page.locator(".play").first.bounding_box() == top


def test_a_reload_shows_the_same_table(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "down_up")
    for _ in range(3):
        assert wait_for_turn(page)
        click(page)
    assert wait_for_turn(page)
    page.wait_for_timeout(1500)  # until the last trick has left
    drawing = (
        "[noms.table.moment, document.getElementById('stage').innerText, ..."
        "[...document.querySelectorAll('.playing-card:not(.gone)')]"
        ".map((card) => [card.dataset.card, card.className, Math.round(card.getBoundingClientRect().x)])]"
    )
    before = page.evaluate(drawing)
    page.reload()
    page.wait_for_selector(CHOICES)
    page.wait_for_timeout(500)
    assert page.evaluate(drawing) == before


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
    page = new_page(address, (390, 844))
    page.wait_for_selector(".games")
    assert page_width(page) <= 390
    page.click("[data-game=small_ships] .set-up")
    page.click(".options-of-game summary")
    assert page.evaluate("(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.getElementById('setup'))") <= 0
    page.click("#setup footer button:not(.primary)")
    sit_down(page, "small_ships")
    assert wait_for_turn(page)
    assert page_width(page) <= 390
    boxes = [place.bounding_box() for place in page.query_selector_all(CHOICES)]
    assert all(box["width"] >= 24 and box["height"] >= 24 for box in boxes), "large enough for a finger"
    page.set_viewport_size({"width": 844, "height": 390})
    page.wait_for_timeout(400)
    stage = page.locator("#stage").bounding_box()
    assert stage["y"] < 60, "the table comes first"
    assert stage["y"] + stage["height"] <= 390


def test_a_page_of_recorded_deals_needs_no_server(new_page: NewPage, tmp_path: Path) -> None:
    records = list(islice(record_matches("nonesuch", seed=2), 2))
    file = tmp_path / "deals.html"
    file.write_text(page_of(film_of(records, Shown(names=["<b>Ann", "Bo", "Cy", "Di"])), "Two deals"))
    page = new_page(file.as_uri())
    page.wait_for_selector("#replay:not([hidden])")
    assert axe_findings(page) == []
    assert page.is_visible("#linked")
    requests = list[str]()
    page.on("request", lambda request: requests.append(request.url))
    for key in ("ArrowRight", "ArrowRight", "2"):
        page.keyboard.press(key)
    assert page.url.endswith("#0,2,2")
    board = page.inner_html("#board")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.inner_text("#result-lines")
    page.goto(f"{file.as_uri()}#0,2,2")
    until(page, "(board) => document.getElementById('board').innerHTML === board", board)
    assert "&lt;b&gt;Ann" in board
    assert download(page, "#png")[:4] == b"\x89PNG"
    assert page.is_hidden("#gif"), "only a server draws it"
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests)


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
    assert download(page, "#gif")[:4] == b"GIF8"
    page.click(".way-back")
    page.wait_for_selector(".games")


def test_a_game_starts_with_one_click(new_page: NewPage, address: str) -> None:
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


def test_an_error_is_shown_at_its_field(address: str, chromium: Any) -> None:
    with chromium.new_context() as context:  # whose console has an error, the answer 400
        page = context.new_page()
        page.goto(address)
        page.click("[data-game=small_ships] .set-up")
        page.click(".options-of-game summary")
        page.fill("#option-target", "0")
        page.click("#start")
        page.wait_for_selector("#field-target .error >> text=Target must be an integer from 1 to 10000")
        assert page.get_attribute("#option-target", "aria-invalid") == "true"


def test_a_card_keeps_its_element_on_its_way_to_the_trick(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "sniped_whist")
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
