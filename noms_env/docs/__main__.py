"""Write the pages: `python -m noms_env.docs`."""

from __future__ import annotations

from noms_env.docs.pages import FOLDER, all_pages


def main() -> None:
    """Write every page into the folder of this package."""
    for name, text in all_pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
