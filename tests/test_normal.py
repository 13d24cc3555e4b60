"""The page on normal results: its figures are those of the entries and of the measured rewards."""

from benchmarks import normal
from benchmarks.publish import ROOT
from noms_training.benchmark.protocol import GAMES


def table_of(title: str) -> list[list[str]]:
    text = (ROOT / normal.PAGE).read_text(encoding="utf-8").partition(f"# {title}\n")[2]
    rows = [line for line in text.partition("\n#")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_page_agrees_with_the_entries_and_the_rewards() -> None:
    again = f"run `{normal.COMMAND}`"
    assert (ROOT / normal.PAGE).read_text(encoding="utf-8") == normal.page(ROOT), again
    assert (ROOT / normal.CSV).read_text(encoding="utf-8") == normal.points_text(normal.learners(ROOT)[1]), again


def test_every_game_has_a_divisor_that_scales_its_rewards_to_1() -> None:
    rows = {row[0].strip("`"): row for row in table_of("How large a reward is")[1:] if row[0].startswith("`")}
    assert set(rows) == set(GAMES)
    for name, (*_, random, thumb, divisor) in rows.items():
        assert 0.6 < float(random) / int(divisor) < 1.5, name
        assert 0.6 < float(thumb) / int(divisor) < 1.5, name
