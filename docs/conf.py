"""How Sphinx builds the pages of the documentation as a site; `make docs` runs it."""

from __future__ import annotations

import re

from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx

from slipstick import __version__

project = "slipstick"
version = release = __version__
html_title = "slipstick"
extensions = ["myst_parser"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["focus.css"]
html_show_copyright = html_show_sourcelink = False
myst_heading_anchors = 3

_MATH = re.compile(r"^```math\n(.+?)\n```$", re.DOTALL | re.MULTILINE)


def _write_mathml(app: Sphinx, name: str, source: list[str]) -> None:
    """Write equations as MathML, which browsers draw without a script from elsewhere."""
    source[0] = _MATH.sub(_mathml, source[0])


def _mathml(block: re.Match[str]) -> str:
    return f"```{{raw}} html\n{latex2mathml.tex2mathml(block[1], as_block=True)}\n```"


def setup(app: Sphinx) -> None:
    """Register what is done before a page is read."""
    app.connect("source-read", _write_mathml)
