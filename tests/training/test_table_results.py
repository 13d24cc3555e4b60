"""`noms table`: what a page needs for a person's results."""

import json
from pathlib import Path

from noms_training.evaluation.mistakes import Loss
from noms_training.play.browser.film import lost_by
from noms_training.play.browser.live import LiveTable, new_table, table_from
from tests.training.fakes import rules


def played(variant: str, deals: int = 1) -> LiveTable:
    """A table of players whose first deals are over."""
    table = new_table(rules(variant), ["thumb"] * rules(variant).seats, {}, "thumb", seed=3)
    for number in range(deals):
        if number:
            table.next_deal()
        while not table.session.table.is_scored:
            table.take(table.session.choose())
    return table


def test_the_sheet_says_who_made_a_bid() -> None:
    table = played("down_up", deals=2)
    for told, record in zip(table.sheet, table.session.records(), strict=True):
        bids = [
            step["action"] for seat in range(4) for step in record["steps"] if (step["phase"], step["seat"]) == ("call", seat)
        ]
        assert told["made"] == [int(bid) == tricks for bid, tricks in zip(bids, record["tricks"], strict=True)]
    table = played("small_ships")
    (record,) = table.session.records()
    made = table.sheet[0]["made"]
    assert made[record["declarer"]] is (record["points"][record["declarer"]] > 0)
    assert [seat for seat, it in enumerate(made) if it is not None] == [record["declarer"]]
    assert played("sniped_whist").sheet[0]["made"] == [None] * 4
    passed = next(deal for deal in played("noms", deals=3).sheet if deal["passed_out"])
    assert (passed["points"], passed["made"]) == ([0, 0, 0, 0], [None] * 4)


def test_a_seat_is_told_what_its_own_decisions_lost() -> None:
    losses = [
        Loss(0, 0, step, seat, "play", "AH", "2H", points, 0.1) for step, seat, points in ((0, 0, 0.5), (1, 1, 9), (4, 0, 0.25))
    ]
    assert lost_by(0, losses) == {"points": 0.75, "decisions": 2}
    assert lost_by(None, losses) == {"points": 0, "decisions": 0}


def test_a_table_for_practice_stays_one(tmp_path: Path) -> None:
    table = played("up_down")
    assert "practice" not in json.loads(table.to_json())
    table.practice = True
    table.save(tmp_path / "table.json")
    assert table_from((tmp_path / "table.json").read_text()).practice
