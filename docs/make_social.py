"""What other sites show beside a link to the documentation: `python docs/make_social.py` writes `docs/_static/social.png`."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from noms_env.show.pixels import png

TABLE = Path(__file__).parent / "table.png"
PICTURE = Path(__file__).parent / "_static" / "social.png"
LINES = (
    "Seven trick-taking card games",
    "with hidden partners, exact bids",
    "and bluff",
    "",
    "Train agents, play cards",
)


def main() -> None:
    """Draw the name of the project beside the picture of a table."""
    lines = "".join(f'<text x="70" y="{250 + 50 * place}" font-size="36">{line}</text>' for place, line in enumerate(LINES))
    table = b64encode(TABLE.read_bytes()).decode()
    PICTURE.write_bytes(
        png(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630">'
            '<rect width="1200" height="630" fill="#f4f1e6"/><g font-family="Inter" fill="#17202e">'
            f'<text x="70" y="160" font-size="84" font-weight="700">noms-env</text>{lines}</g>'
            f'<image x="700" y="25" width="470" height="580" href="data:image/png;base64,{table}"/></svg>'
        )
    )
    print(PICTURE, PICTURE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
