"""Names as others see them."""

import pytest

from noms_env.core.messages import clean_name


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("Ann", "Ann"),
        (" Ann\n of\t\tCleves\u2028", "Ann of Cleves"),
        ("\x1b[2J\x07Bo\x9b", "[2JBo"),
        ("\u202eoB\u202c \u2066Cy\u2069\u200f", "oB Cy"),
        ("\ud800Di\ufeff\x00", "Di"),
        ("\u202e", ""),
        ("Zoë ♣ 张伟 \U0001f469\u200d\U0001f680", "Zoë ♣ 张伟 \U0001f469\u200d\U0001f680"),
    ],
)
def test_clean_name_keeps_printable_characters(name: str, clean: str) -> None:
    assert clean_name(name) == clean
