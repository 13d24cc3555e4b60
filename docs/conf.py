"""How Sphinx makes the site: `make docs`."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import textwrap
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent)]
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # nothing is played here
os.environ["COLUMNS"] = "88"  # the width of the commands' help

from docs import deals, sources  # noqa: E402 - found by the path above
from noms_env.variants import GAMES  # noqa: E402 - likewise
from noms_env.version import __version__  # noqa: E402 - likewise
from noms_training import cli  # noqa: E402 - likewise

project = "noms-env"
author = "The noms-env authors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]

# --- Markdown
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
highlight_language = "none"

# --- docstrings: single backticks are code there, as everywhere in the project
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autoclass_content = "both"  # arguments are described in the class or in `__init__`
autodoc_inherit_docstrings = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 90

# --- links: all that is ours must be found; other projects' names are not looked up, so that no network is needed
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!noms_env|noms_training).*|.*\.ActT|.*\.Encoding|.*\.option_types\.Options")]

# --- looks
URLS = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
html_theme = "furo"
html_title = f"noms-env {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_search_scorer = str(DOCS / "_static" / "scorer.js")
html_context = {"urls": URLS}
templates_path = ["_templates"]
myst_html_meta = {
    "property=og:title": "noms-env",
    "property=og:description": "Seven trick-taking card games for reinforcement learning",
    "property=og:image": f"{URLS['Source']}/raw/main/docs/_static/social.png",
    "name=twitter:card": "summary_large_image",
}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True


class CommandHelp(SphinxDirective):
    """`{noms-commands}`: what `noms --help` prints, and a section for each command with its help."""

    def run(self) -> list[nodes.Node]:
        return [_help_block(), *(self._section(name) for name in cli.COMMANDS)]

    def _section(self, name: str) -> nodes.section:
        title = f"noms {name}"
        section = nodes.section("", nodes.title("", title), _help_block(name), names=[nodes.make_id(title)])
        self.set_source_info(section)
        self.state.document.note_explicit_target(section)
        return section


def _help_block(*words: str) -> nodes.literal_block:
    """What `noms ... --help` prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = cli.main([*words, "--help"])
    if status != 0:
        raise ExtensionError(f"noms {' '.join(words)} --help ended with status {status}")
    text = "\n\n".join(_paragraph(part) for part in printed.getvalue().strip().split("\n\n"))
    return nodes.literal_block(text, text, language="text")


def _paragraph(part: str) -> str:
    """A part of a command's help: prose in lines of the usual width, lists and examples as they are."""
    lines = [line.rstrip() for line in part.splitlines()]
    is_prose = not any(line.startswith(" ") for line in lines)
    return textwrap.fill(" ".join(lines), int(os.environ["COLUMNS"])) if is_prose else "\n".join(lines)


class DealFrame(SphinxDirective):
    """`{deal} GAME`: the page of a game's deal in a frame, and a link to it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        page = f"{'../' * self.env.docname.count('/')}{deals.FOLDER}/{self.arguments[0]}.html"
        title = f"A deal of {GAMES[self.arguments[0]].title}, step by step"
        html = (
            f'<iframe src="{page}" title="{title}" loading="lazy" style="width: 100%; height: 40rem; border: 0"></iframe>'
            f'<p><a href="{page}">The same on a page of its own</a></p>'
        )
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> None:
    """Tell Sphinx what is made here."""
    sources.write_policy_pages()
    pages = sources.pages_of_files()

    def fit_links(_app: Sphinx, file: Path, _page: str, content: list[str]) -> None:
        content[0] = sources.with_links_of_the_site(content[0], (DOCS / file).resolve(), pages)

    def fit_links_of_page(app: Sphinx, page: str, content: list[str]) -> None:
        fit_links(app, Path(app.env.doc2path(page)), page, content)

    app.add_directive("noms-commands", CommandHelp)
    app.add_directive("deal", DealFrame)
    app.connect("builder-inited", lambda app: deals.write_pages(Path(app.outdir) / deals.FOLDER))
    app.connect("include-read", fit_links)
    app.connect("source-read", fit_links_of_page)
