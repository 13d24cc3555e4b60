"""Nothing on a table lies over anything else: measured from boxes, with all numbers of seats and in four sizes."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from tests.browser.conftest import SIZES

pytestmark = pytest.mark.browser
LEAST_STRIP = 22
"""Pixels of a card of the hand that its neighbour leaves."""
MEASURE = """() => {
  const all = (kind, selector) => [...document.querySelectorAll(selector)].map((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const name = element.dataset.card || element.dataset.seat || element.textContent.slice(0, 20);
    return { kind, name, left, top, right, bottom };
  });
  const texts = ".plate, .tally, #table-status, .own-name, .choice, .facts-strip, .fact, .top h1, .scroll, .result h2," +
    " .seats li, .stepper";
  const cut = [...document.querySelectorAll(texts)]
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth && getComputedStyle(one).display !== "inline");
  const out = [...document.querySelectorAll(".plate, .facts-strip, .own-bar")].flatMap((plate) => {
    const outer = plate.getBoundingClientRect();
    const parts = "b, .tally, .total, .tag, .coin, .level, .label, .card-word, p, button";
    return [...plate.querySelectorAll(parts)].filter((one) => {
      const inner = one.getBoundingClientRect();
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
    cut: [...cut, ...out].map((one) => `${one.className || one.tagName}: ${one.textContent}`),
    stage: { left: stage.left, top: stage.top, right: stage.right, bottom: stage.bottom },
    wide: document.documentElement.scrollWidth,
  };
}"""


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two boxes have a pixel in common."""
    wide = min(one["right"], other["right"]) - max(one["left"], other["left"])
    high = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return bool(wide > 1 and high > 1)


def faults(told: dict[str, Any], width: int) -> list[str]:
    """What lies over something else, is cut, or sticks out."""
    found = [f"cut {text}" for text in told["cut"]]
    hand_and_bar = [(card, box) for card in told["hand"] for box in told["boxes"]]
    pairs = [pair for group in (told["boxes"], told["cells"], told["own"]) for pair in combinations(group, 2)]
    both = [(one, other) for one, other in [*pairs, *hand_and_bar] if overlap(one, other)]
    found += [f"{one['kind']} {one['name']} over {other['kind']} {other['name']}" for one, other in both]
    stage = told["stage"]
    for box in [*told["boxes"], *told["hand"]]:
        if box["left"] < stage["left"] - 1 or box["right"] > stage["right"] + 1 or box["top"] < stage["top"] - 1:
            found.append(f"{box['kind']} {box['name']} is out of the table")
        if box["bottom"] > stage["bottom"] + 1:
            found.append(f"{box['kind']} {box['name']} is below the table")
    for one in told["hand"]:
        row = [other for other in told["hand"] if abs(other["top"] - one["top"]) < 40 and other["left"] > one["left"]]
        if row and min(other["left"] for other in row) - one["left"] < LEAST_STRIP:
            found.append(f"too little is left of {one['name']}")
    if told["wide"] > width:
        found.append("the page is wider than the screen")
    return found


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_lies_over_anything_else(width: int, height: int, new_page: Callable[..., Any], address: str) -> None:
    page = new_page(f"{address}gallery.html", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_selector(".gallery h2 >> text=up_down")
    wrong = {}
    for name in page.evaluate("noms.states.map((state) => state.name)"):
        for hinted in (False, True):
            page.evaluate("([name, hinted]) => gallery.show(name, hinted)", [name, hinted])
            page.wait_for_timeout(60)
            if found := faults(page.evaluate(MEASURE), width):
                wrong[f"{name}{' hinted' if hinted else ''}"] = found
    assert wrong == {}
