"""The analysis of a deal in Chromium: its graph and marks, by clicks, keys and touch, and a decision tried again."""

from typing import Any

import pytest

from tests.browser.conftest import SIZES
from tests.browser.playing import NewPage, axe_findings, download, finish_deal, sit_down, until
from tests.browser.test_boxes import MEASURE, faults

pytestmark = pytest.mark.browser
AT = "noms.analysis.at"


def open_analysis(new_page: NewPage, address: str, variant: str = "up_down", **settings: Any) -> Any:
    """Play a deal and open its analysis."""
    page = sit_down(new_page(address, reduced_motion="reduce", **settings), variant)
    finish_deal(page)
    page.click("#judge")
    page.wait_for_selector(".analysis-page #graph")
    return page


def own_decisions(page: Any) -> list[dict[str, Any]]:
    """Return the judged decisions of the person, each with its number `at`."""
    decisions: list[dict[str, Any]] = page.evaluate(
        "noms.analysis.deals[0].moments.map((moment, at) => ({ at, ...moment }))"
        ".filter(({ judged, seat }) => judged && seat === 0)"
    )
    return decisions


def test_an_analysis_opens_at_the_biggest_mistake_and_follows_keys(new_page: NewPage, address: str) -> None:
    page = open_analysis(new_page, address, "down_up")
    link, own = page.url, own_decisions(page)
    for _ in ("light", "dark"):
        assert axe_findings(page) == []
        page.click("#theme")
    assert page.locator("#decisions tbody tr").count() == page.locator(".plot .dot:not(.end)").count() == len(own)
    worst = page.evaluate("noms.analysis.deals[0].worst")
    assert worst is not None, "random play loses something"
    assert page.evaluate(AT) == worst
    moment = next(decision for decision in own if decision["at"] == worst)
    assert page.locator(".marked").count() == 2, "what was taken and what is better, both on the board"
    better = page.locator(".marked.better").first
    assert better.get_attribute("data-word") or better.get_attribute("data-card") == moment["judged"]["best"]
    assert "would have been better" in better.get_attribute("aria-label")
    assert "more in" in page.inner_text(".verdict")
    page.click(".error-sign")
    assert "give or take" in page.inner_text(".verdict").lower()
    page.keyboard.press("Home")
    assert page.evaluate(AT) == 0
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#graph", "aria-valuenow") == "1"
    page.keyboard.press("End")
    page.wait_for_selector("#result-headline")
    page.locator("#decisions tbody button").first.click()
    assert page.evaluate(AT) == own[0]["at"]
    box = page.locator("#graph").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 10)
    assert page.evaluate(AT) == page.evaluate("noms.analysis.deals[0].moments.length") - 1
    assert download(page, "#png")[:4] == b"\x89PNG"
    assert b"<svg" in download(page, "#svg")
    page.keyboard.press("Escape")
    assert page.is_visible("#result-headline")
    assert page.url == link
    page.click("#watch")
    page.wait_for_selector(".analysis-page")
    assert page.query_selector("#graph") is None
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    until(page, "noms.table.moment.startsWith('2.')")
    page.wait_for_timeout(1100)  # the least time between two films
    page.click("#sheet [aria-label='Replay deal 1']")
    page.wait_for_selector(".analysis-page")
    page.wait_for_selector(".top >> text=Deal 1")


def test_a_trial_is_compared_and_the_match_continues(new_page: NewPage, address: str) -> None:
    page = open_analysis(new_page, address)
    sheet, link = page.evaluate("noms.table.sheet"), page.url
    page.locator("#decisions tbody button").first.click()
    at = page.evaluate(AT)
    page.keyboard.press("t")
    page.wait_for_selector(".top >> text=it does not count")
    assert page.evaluate("noms.table.moment") == f"1.{at}"
    finish_deal(page)
    page.wait_for_selector(".compared")
    assert "the first time" in page.inner_text(".compared")
    page.click("#once-more")
    page.wait_for_selector(f'#stage[data-moment="1.{at}"]')
    page.click(".way-back")
    page.wait_for_selector(".analysis-page #graph")
    assert page.evaluate(AT) == at
    page.keyboard.press("Escape")
    page.wait_for_selector("#deal-next")
    assert page.url == link
    assert page.evaluate("noms.table.sheet") == sheet
    page.click("#deal-next")
    until(page, "noms.table.moment.startsWith('2.')")


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_overlaps_in_an_analysis(width: int, height: int, new_page: NewPage, address: str) -> None:
    page = new_page(f"{address}gallery.html", (width, height), reduced_motion="reduce")
    page.wait_for_selector(".gallery h2 >> text=up_down")
    problems = {}
    for name in page.evaluate("noms.states.filter(({ table }) => table.view.turn === table.yours).map((state) => state.name)"):
        page.evaluate("(name) => gallery.analyse(name)", name)
        page.wait_for_timeout(60)
        problems[name] = faults(page.evaluate(MEASURE), width)
    assert problems
    assert not any(problems.values()), {state: texts for state, texts in problems.items() if texts}


def test_a_phone_shows_a_graph_that_follows_a_finger(new_page: NewPage, address: str) -> None:
    page = open_analysis(new_page, address, "down_up", has_touch=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    graph = page.locator("#graph").bounding_box()
    assert graph["y"] + graph["height"] <= 844, "without scrolling"
    assert all(box["height"] >= 24 for box in (button.bounding_box() for button in page.locator(".steps button:visible").all()))
    page.touchscreen.tap(graph["x"] + 2, graph["y"] + 10)
    assert page.evaluate(AT) == own_decisions(page)[0]["at"]
