"""Nothing on a table overlaps, measured from boxes, with all numbers of seats and in four sizes."""

from itertools import combinations, product
from typing import Any

import pytest

from tests.browser.conftest import SIZES
from tests.browser.playing import NewPage

pytestmark = pytest.mark.browser
MIN_STRIP = 22
"""Pixels of a card of the hand that its neighbour must not cover."""
MEASURE = """() => {
  const all = (kind, selector) => [...document.querySelectorAll(selector)].map((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const name = element.dataset.card || element.dataset.seat || element.textContent.slice(0, 20);
    return { kind, name, left, top, right, bottom };
  });
  const texts = ".plate, .tally, #table-status, .own-name, .choice, .facts-strip, .fact, .top h1, .scroll, .result h2," +
    " .seats li, .stepper";
  const cut = [...document.querySelectorAll(texts)]
    .filter((part) => part.clientWidth && part.scrollWidth > part.clientWidth + 1)
    .filter((part) => getComputedStyle(part).display !== "inline");
  const out = [...document.querySelectorAll(".plate, .facts-strip, .own-bar")].flatMap((plate) => {
    const outer = plate.getBoundingClientRect();
    const parts = "b, .tally, .total, .tag, .coin, .level, .label, .card-word, p, button";
    return [...plate.querySelectorAll(parts)].filter((part) => {
      const inner = part.getBoundingClientRect();
      return inner.width && (inner.right > outer.right + 1 || inner.bottom > outer.bottom + 2 || inner.top < outer.top - 2);
    });
  });
  const stage = (document.getElementById("stage") || document.getElementById("lobby")).getBoundingClientRect();
  return {
    boxes: [
      ...all("plate", ".plate"), ...all("own", ".own-bar"), ...all("card", ".playing-card.trick, .playing-card.open"),
      ...all("choices", ".choices, .row-choices .choice"), ...all("result", ".result"),
    ],
    cells: all("cell", ".choice"),
    own: [
      ...all("text", ".table-page .title"), ...all("text", ".facts-strip"), ...all("text", ".switches"),
      ...all("text", ".own-name"), ...all("text", "#table-status"), ...all("tool", ".tool"),
      ...all("seat", ".seats b, .presence, .seat-number, .seats button, .seats input"), ...all("step", ".stepper > *"),
    ],
    hand: all("hand", ".playing-card.hand"),
    cut: [...cut, ...out].map((part) => `${part.className || part.tagName}: ${part.textContent}`),
    stage: { left: stage.left, top: stage.top, right: stage.right, bottom: stage.bottom },
    wide: document.documentElement.scrollWidth,
  };
}"""


def overlap(box: dict[str, Any], other: dict[str, Any]) -> bool:
    width = min(box["right"], other["right"]) - max(box["left"], other["left"])
    height = min(box["bottom"], other["bottom"]) - max(box["top"], other["top"])
    return bool(width > 1 and height > 1)


def faults(measured: dict[str, Any], width: int) -> list[str]:
    """Return what overlaps, is cut, or sticks out of a page of a width."""
    faults = [f"cut {text}" for text in measured["cut"]]
    pairs = [pair for group in ("boxes", "cells", "own") for pair in combinations(measured[group], 2)]
    pairs += product(measured["hand"], measured["boxes"])
    faults += [
        f"{box['kind']} {box['name']} over {other['kind']} {other['name']}" for box, other in pairs if overlap(box, other)
    ]
    stage = measured["stage"]
    for box in [*measured["boxes"], *measured["hand"]]:
        if box["left"] < stage["left"] - 1 or box["right"] > stage["right"] + 1 or box["top"] < stage["top"] - 1:
            faults.append(f"{box['kind']} {box['name']} is out of the table")
        if box["bottom"] > stage["bottom"] + 1:
            faults.append(f"{box['kind']} {box['name']} is below the table")
    for card in measured["hand"]:
        row = [other for other in measured["hand"] if abs(other["top"] - card["top"]) < 40 and other["left"] > card["left"]]
        if row and min(other["left"] for other in row) - card["left"] < MIN_STRIP:
            faults.append(f"too little is left of {card['name']}")
    if measured["wide"] > width:
        faults.append("the page is wider than the screen")
    return faults


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_overlaps(width: int, height: int, new_page: NewPage, address: str) -> None:
    page = new_page(f"{address}gallery.html", (width, height), reduced_motion="reduce")
    page.wait_for_selector(".gallery h2 >> text=up_down")
    problems = {}
    for name in page.evaluate("noms.states.map((state) => state.name)"):
        for hinted in (False, True):
            page.evaluate("([name, hinted]) => gallery.show(name, hinted)", [name, hinted])
            page.wait_for_timeout(60)
            problems[name, hinted] = faults(page.evaluate(MEASURE), width)
    assert problems
    assert not any(problems.values()), {state: texts for state, texts in problems.items() if texts}
