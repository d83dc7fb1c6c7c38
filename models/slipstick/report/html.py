"""The report of a study as a page in HTML. One file, nothing from outside, no code from texts: the
policy of a page allows its own style and script by their hashes and pictures inside, and nothing
else.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from slipstick.extensions import Registry
from slipstick.late import late_pattern
from slipstick.report.shorten import ABOUT, INPUTS, PAGE_LINES, first_page, printed_lines


class PageSection(NamedTuple):
    """A section of a page in which a model runs.

    Parameters
    ----------
    title : of the model
    body : content of the section, as HTML
    script : JavaScript that computes the model in the browser
    """

    title: str
    body: str
    script: str


PAGE_SECTIONS: Registry[Callable[..., PageSection | None]] = Registry("slipstick.page_sections")
"""What other packages put below a report: made of its results, the settings of each case, and the
library; None where there is none.
"""

MOST_PAGE_BYTES = 160 * 1024
"""Bytes of a page without pictures; a model that makes it larger stands with fixed answers."""


def report_page(title: str, markdown: str, folder: Path, section: PageSection | None = None) -> str:
    """Write a report as one page of HTML, with the same words and tables, its pictures inside.

    Parameters
    ----------
    title : of the study
    markdown : the whole report; of one that is longer than a page the sections are folded
    folder : where its pictures are
    section : of a model of the study, which runs below the report
    """
    title_of_model, body, script = section or PageSection("", "", "")
    model_html = (
        f"<h2>A model of this study that runs here: {escape(title_of_model)}</h2>{body}"
        if section
        else ""
    )
    # The first of these that is not too large: all of it, the first page of the report, and that
    # without the model.
    for shown_markdown, html_below in (
        (markdown, model_html),
        (first_page(markdown), model_html),
        (first_page(markdown), _TOO_LARGE if section else ""),
    ):
        page = html_page(
            title,
            _rendered_html(shown_markdown, folder) + html_below,
            script if html_below == model_html else "",
        )
        # The limit is for text and tables, not for the bytes of embedded pictures.
        if len(re.sub('"data:image/[^"]*"', "", page).encode()) <= MOST_PAGE_BYTES:
            break
    return page


_TOO_LARGE = (
    "<p>The model of this study is too large to run in this page; slipstick page writes a page of a"
    " model alone.</p>"
)


def _rendered_html(markdown: str, folder: Path) -> str:
    """Return a report in Markdown as HTML, with its pictures embedded."""
    from markdown_it import MarkdownIt

    markdown_reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown_reader.add_render_rule("image", _picture_html)
    tokens = markdown_reader.parse(markdown)
    for token in _all_tokens(tokens):
        if token.attrs.pop("style", "") == "text-align:right":
            token.attrs["class"] = "r"  # of thousands of cells
        source = str(token.attrs.get("src", ""))
        is_own_picture = (
            token.type == "image" and source.endswith(".png") and Path(source).name == source
        )
        if is_own_picture and (folder / source).is_file():
            token.attrs["src"] = _embedded_picture(folder / source)
            narrow_path = (folder / source).with_suffix(NARROW)
            if narrow_path.is_file():
                token.meta["narrow"] = _embedded_picture(narrow_path)
    report_html = _END_TAG.sub(
        "", markdown_reader.renderer.render(tokens, markdown_reader.options, {})
    )
    if printed_lines(markdown) <= PAGE_LINES:
        return report_html
    return "".join(_foldable_section(section) for section in re.split("(?=<h2>)", report_html))


NARROW = ".narrow.png"
"""The ending of a picture at the width of a telephone, which stands in a page only."""


def _embedded_picture(path: Path) -> str:
    return "data:image/png;base64," + b64encode(path.read_bytes()).decode()


def _picture_html(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    """Return an embedded image as HTML, and any other as a link, since the page loads nothing from
    outside.
    """
    image = tokens[index]
    source = str(image.attrs.get("src", ""))
    if source.startswith("data:"):
        image_html = str(renderer.image(tokens, index, options, env))
        narrow_source = image.meta.get("narrow")
        if not narrow_source:
            return image_html
        return (
            f'<picture><source media="(max-width: 40rem)" srcset="{narrow_source}">{image_html}'
            "</picture>"
        )
    link_text = escape(image.content or source)
    token_types_before = [token.type for token in tokens[:index]]
    # A link inside a link is not allowed in HTML.
    is_in_link = token_types_before.count("link_open") > token_types_before.count("link_close")
    return link_text if is_in_link else f'<a href="{escape(source)}">{link_text}</a>'


def _foldable_section(section: str) -> str:
    """Return a section as HTML that unfolds on a click; the sections on the study and its inputs
    stay open.
    """
    heading, end_tag, section_body = section.partition("</h2>")
    if not end_tag or heading[4:] in (ABOUT, INPUTS):
        return section
    return f"<details><summary>{heading}{end_tag}</summary>{section_body}</details>"


def _all_tokens(tokens: Iterable[Any]) -> Iterable[Any]:
    for token in tokens:
        yield token
        yield from _all_tokens(token.children or ())


def html_page(title: str, body: str, script: str = "") -> str:
    """Write an HTML page whose content policy allows only its own style and script."""
    script_element = f"<script>{script}</script>" if script else ""
    # A report has its own heading, a page of a model has none.
    heading = "" if "<h1" in body else f"<h1>{escape(title)}</h1>"
    return _PAGE.substitute(
        title=escape(title),
        body=heading + body,
        script=script_element,
        style=_STYLE,
        policy=_content_policy(script),
    )


def _content_policy(script: str) -> str:
    """Return the content policy of a page: embedded pictures and its own style and script."""
    # The page may hold texts of others: whatever these contain, a browser runs only the script with
    # this hash.
    script_source = _hash_source(script) if script else "'none'"
    return (
        f"default-src 'none'; img-src data:; style-src {_hash_source(_STYLE)}; script-src"
        f" {script_source}; base-uri 'none'; form-action 'none'"
    )


def _hash_source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --ground: #ffffff; --line: #c9d1d9; --fill: #4477aa;
 --limit: #b3261e; --faint: #57606a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --ground: #0d1117; --line: #444c56; --fill: #7aa7d9;
 --limit: #ff9d94; --faint: #9da7b3; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 68rem;
 margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; }
summary { margin: .5rem 0; }
summary > h2 { display: inline; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
table + table { margin-top: 1em; }
th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; font-weight: normal; }
thead th, .numbers td { white-space: nowrap; }
.r { text-align: right; white-space: nowrap; }
img { max-width: 100%; background: #ffffff; }
@media (max-width: 40rem) { p:has(img) { overflow-x: auto; } img { max-width: none; width: 44rem; }
 picture img { width: 100%; } }
code { font-size: .9em; overflow-wrap: anywhere; }
th code, td code { overflow-wrap: normal; white-space: nowrap; }
label small, small { color: var(--faint); }
main { overflow-wrap: break-word; }
.bars th { overflow-wrap: anywhere; }
a { color: var(--fill); }
.live { display: grid; gap: 0 2rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) { .live { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); } }
.choices { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem .6rem; align-items: center; justify-items: start; }
.choices select { max-width: 100%; }
.input { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; margin: .8rem 0; }
.input label { flex: 1 1 10rem; min-width: 0; overflow-wrap: anywhere; }
input, select, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--faint);
 border-radius: 3px; padding: .15rem .4rem; max-width: 100%; }
:focus-visible { outline: 3px solid var(--fill); outline-offset: 2px; }
input[type=range] { display: block; flex: 1 1 100%; width: 100%; padding: 0; accent-color: var(--fill); }
#value { font-size: 2rem; font-weight: 600; }
#problem:empty, #saturated:empty { display: none; }
#problem, #saturated { color: var(--limit); }
figure { margin: 0; }
#curve { display: block; width: 100%; height: 280px; }
#curve text { font-size: 13px; fill: var(--ink); }
#curve .axis { stroke: var(--faint); fill: none; }
#curve .rule { stroke: var(--line); }
#curve .line { stroke: var(--fill); stroke-width: 2.5; fill: none; }
#curve .band { fill: var(--fill); opacity: 0.2; }
#curve .given { stroke: var(--faint); stroke-width: 1.5; stroke-dasharray: 5 4; fill: none; }
#curve .limit { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 8 4; }
#curve .mark { fill: var(--limit); }
#curve circle { fill: var(--fill); stroke: var(--ground); stroke-width: 2; }
.bars { display: table; width: 100%; }
.bars td:nth-child(2) { width: 50%; }
@media (max-width: 40rem) { th, td { padding: .2rem .35rem; } .numbers { font-size: .9em; }
 .bars tr { display: grid; grid-template-columns: 1fr 1fr; }
 .bars th, .bars td { border: 0; } .bars td:nth-child(2) { width: auto; grid-column: 1 / 3; grid-row: 2; } }
.bar { display: block; height: 1.1rem; min-width: 1px; background: var(--fill); }
@media print { form, noscript { display: none; } body { margin: 0; max-width: none; font-size: 11px; }
 img { max-height: 12rem; } .bar { print-color-adjust: exact; } }
"""


_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main>
$body
</main>
$script
</body>
</html>
""")

_END_TAG = late_pattern(r"</t[rdh]>\n?|(?<=<tr>)\n")  # of rows and cells: HTML needs none
