"""`noms table`: what a page needs for a person's results."""

import json
from pathlib import Path

from noms_training.evaluation.mistakes import Loss
from noms_training.play.browser.film import lost_by
from noms_training.play.browser.live import LiveTable, new_table, table_from
from tests.training.fakes import rules


def scored_table(variant: str, deals: int = 1) -> LiveTable:
    """Make a table of players, and play some deals."""
    live = new_table(rules(variant), ["thumb"] * rules(variant).seats, {}, "thumb", seed=3)
    for number in range(deals):
        if number:
            live.next_deal()
        while not live.session.table.is_scored:
            live.take(live.session.choose())
    return live


def test_the_score_sheet_shows_who_made_a_bid() -> None:
    live = scored_table("down_up", deals=2)
    for deal, record in zip(live.sheet, live.session.records(), strict=True):
        bids = {step["seat"]: int(step["action"]) for step in record["steps"] if step["phase"] == "call"}
        assert deal["made"] == [bids[seat] == tricks for seat, tricks in enumerate(record["tricks"])]
    live = scored_table("small_ships")
    (record,) = live.session.records()
    declarer, made = record["declarer"], live.sheet[0]["made"]
    assert made[declarer] is (record["points"][declarer] > 0)
    assert [seat for seat, success in enumerate(made) if success is not None] == [declarer]
    assert scored_table("sniped_whist").sheet[0]["made"] == [None] * 4
    passed = next(deal for deal in scored_table("noms", deals=3).sheet if deal["passed_out"])
    assert (passed["points"], passed["made"]) == ([0, 0, 0, 0], [None] * 4)


def test_a_seat_gets_the_sum_of_its_own_losses() -> None:
    losses = [
        Loss(0, 0, step, seat, "play", "AH", "2H", points, 0.1) for step, seat, points in ((0, 0, 0.5), (1, 1, 9), (4, 0, 0.25))
    ]
    assert lost_by(0, losses) == {"points": 0.75, "decisions": 2}
    assert lost_by(None, losses) == {"points": 0, "decisions": 0}


def test_a_practice_table_stays_one(tmp_path: Path) -> None:
    live = scored_table("up_down")
    assert "practice" not in json.loads(live.to_json())
    live.practice = True
    live.save(tmp_path / "table.json")
    assert table_from((tmp_path / "table.json").read_text()).practice
