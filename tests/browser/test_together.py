"""People at one table in Chromium: the lobby, spectators, links to moments, and undo by agreement."""

import time
from typing import Any

import pytest

from noms_training.play.browser.messages import Limits
from tests.browser.conftest import SIZES
from tests.browser.playing import (
    CHOICES,
    CORNER,
    NewPage,
    axe_findings,
    click,
    finish_deal,
    moment_of,
    page_width,
    sit_down,
    until,
    wait_for_turn,
)

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}
LINK = "#lobby .seats .copy-link input"
HANDS = ".playing-card.hand, .playing-card.open"


def open_lobby(page: Any, variant: str, guests: int = 1, player: str = "random") -> str:
    """Open a table for guests; return the link for the first."""
    page.fill("#name", "Ann")
    page.click(f"[data-game={variant}] .set-up")
    for place, select in enumerate(page.query_selector_all("#setup .who select")[1:]):
        select.select_option("-person" if place < guests else player)
    page.click("#start")
    page.wait_for_selector("#lobby")
    return str(page.locator(LINK).first.input_value())


def join(page: Any, name: str) -> None:
    """Enter a name in the lobby by keys."""
    page.wait_for_selector("#own-name")
    page.fill("#own-name", name)
    page.keyboard.press("Enter")
    page.wait_for_selector("#own-name", state="detached")


def seat_two(new_page: NewPage, address: str, variant: str = "up_down") -> tuple[Any, Any]:
    """Start the first deal of two people."""
    host = new_page(address)
    guest = new_page(open_lobby(host, variant))
    join(guest, "Bo")
    for page in (host, guest):
        page.wait_for_selector("#stage .own-bar")
    host.select_option("#pace", "0")
    return host, guest


def play_until(script: str, *pages: Any) -> None:
    """Let people act at their turns until a script returns true in the first page."""
    for _ in range(1200):
        for page in pages:
            if pages[0].evaluate(script):
                return
            if page.query_selector(CHOICES) is not None:
                before = moment_of(page)
                page.locator(CHOICES).first.click(position=CORNER)
                for other in pages:
                    until(other, "(before) => noms.table.moment !== before", before)
        pages[0].wait_for_timeout(50)
    pytest.fail(f"it never came to {script}")


def test_the_deal_waits_in_the_lobby_for_the_names_of_the_guests(new_page: NewPage, address: str) -> None:
    host = new_page(address, permissions=["clipboard-read", "clipboard-write"])
    link = open_lobby(host, "small_ships", guests=2)
    assert "2 guests are missing" in host.inner_text("#lobby-status")
    host.click(".seats .copy-link button >> nth=0")
    host.wait_for_selector(".seats >> text=Copied")
    assert host.evaluate("navigator.clipboard.readText()") == link
    spectator = new_page(host.input_value("#lobby section:last-of-type input"))
    spectator.wait_for_selector("#lobby >> text=You watch")
    assert spectator.query_selector(f"{LINK}, #begin, #own-name") is None
    second = str(host.locator(LINK).nth(1).input_value())
    guest = new_page(link)
    guest.set_viewport_size(PHONE)
    guest.wait_for_selector("#own-name")
    guest.reload()
    join(guest, "Bo")
    guest.reload()
    guest.wait_for_selector("#lobby")
    assert guest.query_selector("#own-name") is None, "the seat is kept"
    assert "You\nhere" in guest.inner_text(".seats li[data-seat='1']")
    for page in (host, guest, spectator):
        until(page, "noms.table.names[1] === 'Bo'")
        assert axe_findings(page) == []
        assert page_width(page) <= page.evaluate("innerWidth")
    assert "1 guest is missing" in host.inner_text("#lobby-status")
    assert host.locator(LINK).count() == 1, "no used link"
    last = new_page(second)
    join(last, "Cy")
    for page in (host, guest, spectator, last):
        page.wait_for_selector("#stage .own-bar")
    until(spectator, "noms.table.names.slice(0, 3).join() === 'Ann,Bo,Cy'")
    assert guest.locator(".playing-card.hand").count() == guest.evaluate("noms.table.view.size")
    assert spectator.locator(HANDS).count() == 0


def test_the_host_starts_without_a_late_guest(new_page: NewPage, address: str) -> None:
    host = new_page(address)
    link = open_lobby(host, "up_down")
    host.reload()
    host.wait_for_selector(LINK)
    assert host.locator(LINK).input_value() == link, "the link is still there"
    host.click("#begin")
    host.wait_for_selector("#stage .own-bar")
    assert host.evaluate("noms.table.levels[1]") == "medium"
    guest = new_page(link)
    join(guest, "Bo")
    until(host, "noms.table.names[1] === 'Bo' && noms.table.levels[1] === null")


def test_a_person_without_a_name_is_the_host_for_others(new_page: NewPage, address: str) -> None:
    alone = sit_down(new_page(address), "up_down")
    spectator = new_page(alone.evaluate("`${location.origin}/#table=${noms.table.name}`"))
    until(spectator, "Boolean(noms.table && noms.table.names)")
    assert spectator.evaluate("[noms.table.names[0], noms.table.people[0].name]") == ["Host", "Host"]
    host = new_page(address)
    host.click("[data-game=up_down] .set-up")
    host.query_selector_all("#setup .who select")[1].select_option("-person")
    host.click("#start")
    join(host, "Ann")
    key = host.evaluate("noms.table.key")
    guest = host.context.new_page()
    guest.goto(host.locator(LINK).input_value())
    join(guest, "Bo")
    until(guest, "noms.table.names.slice(0, 2).join() === 'Ann,Bo'")
    guest.goto(f"{address}#page=results")
    assert key in guest.get_attribute(".go-on", "href"), "the first seat of this browser"


def test_a_link_and_the_way_back_work_in_one_tab(new_page: NewPage, address: str) -> None:
    page, guest = new_page(address), new_page(address)
    link = open_lobby(page, "up_down")
    guest.wait_for_selector(".games")
    guest.goto(link)
    guest.wait_for_selector("#lobby")
    guest.go_back()
    guest.wait_for_selector(".games")


def test_two_people_play_at_one_table(new_page: NewPage, address: str) -> None:
    host, guest = seat_two(new_page, address)
    play_until("noms.table.scored", host, guest)
    until(guest, "noms.table.scored")
    assert guest.evaluate("noms.table.sheet") == host.evaluate("noms.table.sheet")


def test_a_link_is_good_once_and_a_seat_is_open_in_one_window(new_page: NewPage, chromium: Any, address: str) -> None:
    host = new_page(address)
    link = open_lobby(host, "up_down")
    guest = new_page(link)
    guest.wait_for_selector("#lobby")
    assert "key=" in guest.url
    assert link not in guest.url
    until(host, "!noms.table.people[1].invited")
    assert host.query_selector(LINK) is None, "the link has been used"
    with chromium.new_context() as context:  # whose console has an error, the answer 400
        thief = context.new_page()
        thief.goto(link)
        thief.wait_for_selector("#notice >> text=somebody has used this link already")
    twin = new_page(guest.url)
    twin.wait_for_selector("#own-name")
    guest.wait_for_selector("#lobby #rejoin")
    join(twin, "Bo")
    twin.wait_for_selector("#stage .own-bar")
    assert "another window" in guest.inner_text(".failed")
    guest.click("#rejoin")
    guest.wait_for_selector("#stage .own-bar")
    twin.wait_for_selector("#rejoin")
    assert twin.query_selector("#notice") is None, "only one sentence says where the seat is open"
    guest.reload()
    guest.wait_for_selector("#stage .own-bar")


def test_a_decision_is_undone_when_the_other_agrees(new_page: NewPage, address: str) -> None:
    asker, other = seat_two(new_page, address, "down_up")
    other.set_viewport_size(PHONE)
    spectator = new_page(f"{address}#table={asker.evaluate('noms.table.name')}")
    spectator.wait_for_selector("#stage .own-bar")
    play_until("noms.table.back && noms.table.turn === 1", asker, other)
    before = moment_of(asker)
    asker.click("#undo")
    other.wait_for_selector("#table-status >> text=Ann asks to take back a decision")
    spectator.wait_for_selector("#table-status >> text=Bo has to agree")
    assert spectator.query_selector("#agree, #refuse, #withdraw") is None
    assert axe_findings(other) == []
    other.click("#refuse")
    asker.wait_for_selector("#notice >> text=Bo does not agree")
    assert moment_of(asker) == before
    asker.wait_for_timeout(1000)  # until the server allows another request
    asker.keyboard.press("u")
    other.wait_for_selector("#agree")
    other.reload()
    other.focus("#agree")
    other.keyboard.press("Enter")
    for page in (asker, other, spectator):
        until(page, "noms.table.turn === 0 && noms.table.undo === null")
    assert asker.query_selector(CHOICES) is not None


def test_a_link_to_a_moment_takes_no_seat(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "down_up")
    for _ in range(4):
        assert wait_for_turn(page)
        click(page)
    page.click("#part-people h2 button")
    link = str(page.get_by_label("Link to this moment", exact=True).input_value())
    deal, decision = link.rpartition("moment=")[2].split(".")
    assert page.evaluate("noms.table.key") not in link
    wrong = new_page(f"{address}#table=a-missing-table&moment=1.2")
    wrong.wait_for_selector("#notice")
    wrong.wait_for_timeout(300)
    assert wrong.inner_text("#notice") == "There is no such table"
    other = new_page(link)
    other.wait_for_selector("#moment .stepper")
    assert other.inner_text(".stepper .number").startswith(f"{decision} of ")
    assert other.locator(HANDS).count() == 0
    assert axe_findings(other) == []
    other.keyboard.press("ArrowLeft")
    other.wait_for_selector(f".stepper .number >> text={int(decision) - 1} of")
    assert other.url.endswith(f"moment={deal}.{int(decision) - 1}")
    messages = list[str]()
    other.on("websocket", lambda socket: socket.on("framesent", lambda text: messages.append(str(text))))
    other.reload()
    other.wait_for_selector("#moment .stepper")
    start = time.monotonic()
    for _ in range(60):
        other.keyboard.press("ArrowLeft")
        other.keyboard.press("ArrowRight")
    other.keyboard.press("Home")
    other.wait_for_selector(".stepper .number >> text=0 of")
    assert 2 < len(messages) < 4 + Limits().rate * (time.monotonic() - start), "as many as a server allows"
    finish_deal(page)
    for size in SIZES:
        late = new_page(link, size)
        late.wait_for_selector("#moment .stepper")
        assert late.locator(HANDS).count() > 0
        late.keyboard.press("Home")
        dealt = page.evaluate("noms.table.view.size * noms.table.names.length")
        until(late, "([hands, dealt]) => document.querySelectorAll(hands).length === dealt", [HANDS, dealt])
        late.keyboard.press("End")
        late.wait_for_selector("#result-headline")
        assert late.query_selector(".result button") is None, "it only shows"
        steps = late.locator(".stepper").bounding_box()
        assert steps["y"] + steps["height"] <= size[1]
    late.click("text=Watch the table")
    late.wait_for_selector("#play-panel")
    assert late.evaluate("noms.table.yours") is None
