"""The results stored in a browser: statistics, past games, and their records."""

import json
from typing import Any

import pytest

from noms_env.record import check_records
from tests.browser.playing import NewPage, axe_findings, click, download, finish_deal, sit_down, until, wait_for_turn

pytestmark = pytest.mark.browser


def open_results(page: Any) -> None:
    page.goto(f"{page.evaluate('location.origin')}/#page=results")
    page.wait_for_selector(".results")


def read_statistics(page: Any) -> list[dict[str, str]]:
    """Open the results; return the rows of the statistics."""
    open_results(page)
    return list(
        page.evaluate(
            "[...document.querySelectorAll('.statistics tbody tr')].map((row) => Object.fromEntries("
            "[['Game', row.querySelector('th').innerText], ...[...row.querySelectorAll('td')].map((cell) =>"
            "[cell.dataset.name, cell.querySelector('b').innerText])]))"
        )
    )


def test_results_count_each_deal_once_and_past_games_can_be_deleted(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "sniped_whist")
    finish_deal(page)
    until(page, "Boolean(noms.table.records)")
    points = page.evaluate("noms.table.sheet[0].points[0]")
    page.click("#judge")
    page.wait_for_selector(".analysis-page")
    lost = page.evaluate("noms.film.deals[0].lost")
    page.click(".way-back")
    page.click("#undo")
    until(page, "!noms.table.over")
    finish_deal(page)
    page.goto(address)
    page.wait_for_selector(".games")
    sit_down(page, "up_down", "thumb")
    finish_deal(page)
    moment = page.evaluate("noms.table.moment")
    page.goto(address)
    page.click(".again .go-on")
    page.wait_for_selector("#deal-next")
    assert page.evaluate("noms.table.moment") == moment
    other, row = sorted(read_statistics(page), key=lambda row: row["Game"])
    assert axe_findings(page) == []
    assert row["Game"].startswith("Sniped whist")
    assert (row["Deals"], row["Matches"], row["Bids made"]) == ("1", "1", "–"), "an undone deal counts once"
    assert float(row["Points per deal"].replace("−", "-")) == pytest.approx(points, abs=0.006)
    assert float(row["Loss per decision"].replace("−", "-")) == pytest.approx(lost["points"] / lost["decisions"], abs=0.006)
    assert (other["Deals"], other["Matches"], other["Loss per decision"]) == ("1", "0", "–")
    assert other["Bids made"] in ("0 of 1", "1 of 1")
    page.click(".replay-game")
    page.wait_for_selector(".analysis-page")
    assert page.inner_text(".own-name").startswith("You")
    assert page.inner_text(".top .facts").startswith("Deal 1 ")
    page.keyboard.press("End")
    page.wait_for_selector("#result-headline")
    page.go_back()
    page.wait_for_selector(".results")
    lines = download(page, "#export").decode().splitlines()
    assert not list(check_records(enumerate(map(json.loads, lines), 1)))
    assert [json.loads(line)["variant"] for line in lines] == ["sniped_whist"]
    page.click(".past:has(.go-on) .go-on")
    page.wait_for_selector("#result-headline")
    open_results(page)
    page.locator(".past .quiet").first.click()
    page.click(".past >> text=Really delete?")
    until(page, "document.querySelectorAll('.past').length === 1")
    page.click("#delete-all")
    page.click("#delete-sure")
    until(page, "document.querySelectorAll('.past').length === 0")
    page.reload()
    page.wait_for_selector(".results")
    assert page.query_selector(".past, .statistics") is None


def test_the_deal_of_the_day_counts_once_and_is_compared(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    page.click("[data-game=up_down] .day")
    page.wait_for_selector("#stage .own-bar")
    page.select_option("#pace", "0")
    assert wait_for_turn(page)
    click(page)
    assert wait_for_turn(page)
    assert page.query_selector("#undo, #hint") is None
    table = page.evaluate("noms.table.name")
    page.click(".way-back")
    page.click("[data-game=up_down] .day")
    page.wait_for_selector("#stage .own-bar")
    assert page.evaluate("noms.table.name") == table, "it goes on"
    finish_deal(page)
    page.wait_for_selector("#compared >> text=strong player")
    until(page, "Boolean(noms.table.compared && noms.table.records)")
    own, strong = page.evaluate("[noms.table.compared.own, noms.table.compared.strong]")
    assert own == page.evaluate("noms.table.sheet[0].points[0]")
    page.reload()
    until(page, "Boolean(noms.table && noms.table.compared && noms.table.records)")
    assert page.evaluate("noms.notice") == ""
    page.click(".way-back")
    page.wait_for_selector(f"[data-game=up_down] >> text=Today: you {own:g}, strong {strong:g}")
    page.click("[data-game=up_down] .day")
    page.wait_for_selector("#stage .own-bar")
    assert page.evaluate("noms.table.practice")
    finish_deal(page)
    (row,) = read_statistics(page)
    assert (row["Deals"], row["Matches"]) == ("1", "0")
    assert page.locator(".past").count() == 1


def test_a_match_that_is_ended_can_be_replayed(new_page: NewPage, address: str) -> None:
    page = sit_down(new_page(address), "up_down")
    finish_deal(page)
    page.click("#end-match")
    until(page, "Boolean(noms.table.records)")
    assert page.query_selector("#deal-next, #undo") is None
    (row,) = read_statistics(page)
    assert (row["Deals"], row["Matches"]) == ("1", "0"), "it is no whole match"
    page.click(".replay-game")
    page.wait_for_selector(".analysis-page")
