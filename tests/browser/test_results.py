"""The results that a browser keeps: by game, past games, and the records of all."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from noms_env.record import check_records
from tests.browser.playing import click, sit_down, until, wait_for_turn
from tests.browser.test_pages import saved

pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]


def play_out(page: Any) -> None:
    """Play the deal to its end."""
    while wait_for_turn(page):
        click(page)
    page.wait_for_selector("#result-headline")


def results(page: Any) -> Any:
    page.goto(f"{page.evaluate('location.origin')}/#page=results")
    page.wait_for_selector(".results")
    return page


def cells(page: Any) -> list[dict[str, str]]:
    """The rows of the statistics."""
    return list(
        page.evaluate(
            "[...document.querySelectorAll('.statistics tbody tr')].map((row) => Object.fromEntries("
            "[['Game', row.querySelector('th').innerText], ...[...row.querySelectorAll('td')].map((cell) =>"
            "[cell.dataset.name, cell.querySelector('b').innerText])]))"
        )
    )


def test_results_count_each_deal_once_and_past_games_are_replayed_saved_and_deleted(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "sniped_whist")
    play_out(page)
    until(page, "Boolean(noms.table.records)")
    points = page.evaluate("noms.table.sheet[0].points[0]")
    page.click("#judge")
    page.wait_for_selector(".analysis-page")
    lost = page.evaluate("noms.film.deals[0].lost")
    page.click(".way-back")
    page.click("#undo")
    until(page, "!noms.table.over")
    play_out(page)
    page.goto(address)
    page.wait_for_selector(".games")
    sit_down(page, "up_down", "thumb")
    play_out(page)
    moment = page.evaluate("noms.table.moment")
    page.goto(address)
    page.click(".again .go-on")
    page.wait_for_selector("#deal-next")
    assert page.evaluate("noms.table.moment") == moment
    (other, row) = sorted(cells(results(page)), key=lambda one: one["Game"])
    assert row["Game"].startswith("Sniped whist")
    assert (row["Deals"], row["Matches"], row["Bids made"]) == ("1", "1", "–"), "what was taken back counts once"
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
    lines = saved(page, "#export").decode().splitlines()
    assert not list(check_records(enumerate(map(json.loads, lines), 1)))
    assert [json.loads(line)["variant"] for line in lines] == ["sniped_whist"]
    page.click(".past:has(.go-on) .go-on")
    page.wait_for_selector("#result-headline")
    page = results(page)
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
    play_out(page)
    page.wait_for_selector("#compared >> text=strong player")
    until(page, "Boolean(noms.table.compared && noms.table.records)")
    own, strong = page.evaluate("[noms.table.compared.own, noms.table.compared.strong]")
    assert own == page.evaluate("noms.table.sheet[0].points[0]")
    page.reload()
    until(page, "Boolean(noms.table && noms.table.compared && noms.table.records)")
    assert page.evaluate("noms.notice") == ""
    page.click(".way-back")
    said = f"Today: you {own:g}, strong {strong:g}"
    page.wait_for_selector(f"[data-game=up_down] >> text={said}")
    page.click("[data-game=up_down] .day")
    page.wait_for_selector("#stage .own-bar")
    assert page.evaluate("noms.table.practice")
    play_out(page)
    (row,) = cells(results(page))
    assert (row["Deals"], row["Matches"]) == ("1", "0")
    assert page.locator(".past").count() == 1


def test_a_match_that_is_ended_can_be_replayed(new_page: NewPage, address: str) -> None:
    page = new_page(address)
    sit_down(page, "up_down")
    play_out(page)
    page.click("#end-match")
    until(page, "Boolean(noms.table.records)")
    assert page.query_selector("#deal-next, #undo") is None
    (row,) = cells(results(page))
    assert (row["Deals"], row["Matches"]) == ("1", "0"), "it is no whole match"
    page.click(".replay-game")
    page.wait_for_selector(".analysis-page")
