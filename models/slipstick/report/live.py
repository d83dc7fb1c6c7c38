"""Pages in HTML: a model that runs in the page, and the report of a study. One file, nothing from
outside, no code from texts: the policy of a page allows its own style and script by their hashes
and pictures inside, and nothing else.

The tape of a closed form is data in the page, and `live.js` runs it: forwards for the value,
backwards for account and elasticities. Of other methods the page has answers at the points of a
grid, and interpolates; some stand as they are.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from html import escape
from math import log, prod
from pathlib import Path
from string import Template
from typing import Any

from slipstick.answer import Answer
from slipstick.expression.nodes import Dimension
from slipstick.report.formatting import losses_sentence, percent, quantity
from slipstick.report.shorten import ABOUT, INPUTS, PAGE_LINES, first_page, printed_lines
from slipstick.units import rungs, show

LARGEST = 100 * 1024
"""Bytes of a page without pictures; a model that makes it larger stands with fixed answers."""

RUNS = frozenset(
    (
        *(
            "booked",
            "sum",
            "difference",
            "product",
            "quotient",
            "max",
            "min",
            "ceil",
            "floor",
            "log2",
        ),
        *("sqrt", "ceil_log", "power", "select", "exp", "log", "pow", "erlang_b", "drop_stages"),
    )
)
"""The operators that `live.js` knows."""

_STEPS = 1000  # of a slider
_MOST_SHOWN = 300  # values or components of an answer, and lines of what was given or noted


@dataclass(frozen=True, slots=True)
class Slider:
    """An input that can be moved, by equal ratios between two ends; whole numbers stay whole."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    whole: bool
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model for a page.

    Parameters
    ----------
    title : of the page
    answer : at the values given
    quantity : name of the value that is shown first
    tape : what `Tape.listing` gives for the value, the account, and the stages of pipelines; None
        where it does not run
    grid : in the place of a tape, answers at the points of a grid: its axes with the logarithms of
        their nodes, logarithms of the value and shares of the account along the axes in order, and
        the largest error that was seen between the points
    values : of all inputs, in base units
    components : of the labels of the account
    pipelines : names of the stages of each, in the order of the outputs
    sliders : what can be moved, the most important first
    fixed : why nothing runs
    """

    title: str
    answer: Answer
    quantity: str
    tape: Mapping[str, Any] | None = None
    grid: Mapping[str, Any] | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    components: Mapping[str, str] = field(default_factory=dict)
    pipelines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sliders: Sequence[Slider] = ()
    fixed: str = ""


def live_page(model: LiveModel) -> str:
    """Write a model as one page of HTML.

    Parameters
    ----------
    model : with a tape, it runs in the page; a page of more than `LARGEST` bytes is written without

    >>> from slipstick.answer import Value
    >>> page = live_page(LiveModel("<script>", Answer("m", "mean-value", {"time": Value(2.0, "s")}), "time"))
    >>> "&lt;script&gt;" in page, "default-src 'none'" in page, len(page) < LARGEST
    (True, True, True)
    """
    return _page(model.title, *_section(model))


def _section(model: LiveModel) -> tuple[str, str]:
    """Return the body of a page, and the script that moves it; nothing moves where it cannot, or
    where it would be too large.
    """
    unknown = {instruction[0] for instruction in model.tape["code"]} - RUNS if model.tape else set()
    why = model.fixed or (f"{', '.join(sorted(unknown))} does not run in a page" if unknown else "")
    if not why and (model.tape or model.grid):
        document = _live(model), (Path(__file__).parent / "live.js").read_text("utf-8")
        if len(_page(model.title, *document).encode()) <= LARGEST:
            return document
        why = f"the page would have more than {LARGEST // 1024} KiB"
    note = f"<p>This page shows fixed answers: {escape(why)}.</p>" if why else ""
    account = f"<h2>Account</h2>{_bars(model.answer.account)}" if model.answer.account else ""
    return _told(model.answer) + note + _values(model.answer) + account, ""


def _live(model: LiveModel) -> str:
    answer, tape = model.answer, dict(model.tape or {})
    tape["labels"] = [
        (register, model.components.get(label, label)) for register, label in tape.get("labels", ())
    ]
    components = [
        name for name in answer.account if model.grid is None or name in model.grid["shares"]
    ]
    unit = answer.unit(model.quantity)
    data = {
        "tape": tape,
        "grid": model.grid,
        "values": model.values,
        "unit": unit,
        "components": components,
        "pipelines": [
            {"name": name, "stages": list(stages)} for name, stages in model.pipelines.items()
        ],
        "sliders": [asdict(slider) for slider in model.sliders],
        "ladders": {
            unit_name: rungs(Dimension.of(unit_name))
            for unit_name in {unit, "s", *(slider.unit for slider in model.sliders)}
        },
    }
    first = (
        f'<section aria-live="polite"><h2>{escape(model.quantity)}</h2>'
        f'<p><output id="value">{escape(quantity(answer.find(model.quantity), unit))}</output> '
        '<span id="ratio">as given</span></p>'
        + "".join(f'<p id="limit-{index}"></p>' for index in range(len(model.pipelines)))
        + (f"<p>{escape(_interpolated(model.grid))}</p>" if model.grid else "")
        + "</section>"
    )
    controls = "".join(_slider(index, slider) for index, slider in enumerate(model.sliders))
    controls = (
        f'<form><h2>Inputs</h2>{controls}<button type="button" id="reset">As given</button></form>'
    )
    bars = (
        f"<h2>Account</h2>{_bars({name: answer.account[name] for name in components})}"
        if components
        else ""
    )
    ranking = '<h2>What matters</h2><ol id="ranking"></ol>'
    none = "<noscript><p>Without JavaScript the numbers stay as given.</p></noscript>"
    # A text may not end the element that it is in, nor begin a comment.
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    body = f"{_told(answer)}{none}{first}{controls}{bars}{ranking}{_values(answer)}"
    return f'{body}<script type="application/json" id="model">{text}</script>'


def _interpolated(grid: Mapping[str, Any]) -> str:
    count = prod(len(axis["nodes"]) for axis in grid["axes"])
    return (
        f"Computed at {count} points, and interpolated between them: at {grid['tried']} other"
        f" points the value is at most {percent(grid['error'], 2)} off."
    )


def _told(answer: Answer) -> str:
    how = "exact" if answer.exact else "not exact"
    values_in_words = [
        f"{path} = {value if isinstance(value, str) else f'{value:g}'}"
        for path, value in answer.given.items()
    ]
    losses = [losses_sentence(answer.left_out)] if answer.left_out else []
    lines, more = _first(
        [f"<li>{escape(line)}</li>" for line in (*values_in_words, *losses, *answer.notes)]
    )
    return f"<p>{escape(answer.model)} by {escape(answer.method)}: {how}.</p><ul>{lines}</ul>{more}".replace(
        "<ul></ul>", ""
    )


def _first(lines: Sequence[str]) -> tuple[str, str]:
    """Return the first lines of many, and a paragraph on how many there are besides."""
    hidden = len(lines) - _MOST_SHOWN
    return "".join(lines[:_MOST_SHOWN]), (
        f"<p>and {hidden} more: slipstick solve --all</p>" if hidden > 0 else ""
    )


def _slider(index: int, slider: Slider) -> str:
    at = round(_STEPS * log(slider.value / slider.low) / log(slider.high / slider.low))
    label = escape(slider.name) + (
        f" <small>{escape(slider.meaning)}</small>" if slider.meaning else ""
    )
    now = escape(show(slider.value, Dimension.of(slider.unit)))
    return (
        f'<p><label for="slider-{index}">{label}</label> <output id="now-{index}"'
        f' for="slider-{index}">{now}</output><input type="range" id="slider-{index}" min="0"'
        f' max="{_STEPS}" value="{at}"></p>'
    )


def _bars(account: Mapping[str, float]) -> str:
    total = sum(account.values())
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td><svg class="bar" id="bar-{index}"'
        f' width="{100 * seconds / total if total else 0:.2f}%"></svg></td><td'
        f' id="part-{index}">{escape(quantity(seconds, "s"))},'
        f" {percent(seconds / total if total else None)}</td></tr>"
        for index, (name, seconds) in enumerate(account.items())
    ]
    shown, more = _first(rows)
    return f'<table class="bars">{shown}</table>{more}'


def _values(answer: Answer) -> str:
    rows = [
        "<tr><th"
        f' scope="row">{escape(name)}</th><td>{escape(quantity(value.value, value.unit, ends=(value.low, value.high)))}</td></tr>'
        for name, value in answer.values.items()
    ]
    shown, more = _first(rows)
    return f"<h2>Answer as given</h2><table>{shown}</table>{more}"


def report_page(title: str, markdown: str, folder: Path, live: LiveModel | None = None) -> str:
    """Write a report as one page of HTML, with the same words and tables, its pictures inside.

    Parameters
    ----------
    title : of the study
    markdown : the whole report; of one that is longer than a page the sections are folded
    folder : where its pictures are
    live : a model of the study that runs below the report
    """
    body, script = _section(live) if live else ("", "")
    model = (
        f"<h2>A model of this study that runs here: {escape(live.title)}</h2>{body}" if live else ""
    )
    for text, below in (
        (markdown, model),
        (first_page(markdown), model),
        (first_page(markdown), _TOO_LARGE if live else ""),
    ):
        page = _page(title, _rendered(text, folder) + below, script if below == model else "")
        if len(re.sub('"data:image/[^"]*"', "", page).encode()) <= LARGEST:
            break
    return page


_TOO_LARGE = (
    "<p>The model of this study is too large to run in this page; slipstick page writes a page of a"
    " model alone.</p>"
)


def _rendered(markdown: str, folder: Path) -> str:
    """Write a report in HTML, with its pictures inside."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("image", _picture)
    tokens = reader.parse(markdown)
    for token in _inner(tokens):
        if token.attrs.pop("style", "") == "text-align:right":
            token.attrs["class"] = "r"  # of thousands of cells
        source = str(token.attrs.get("src", ""))
        ours = token.type == "image" and source.endswith(".png") and Path(source).name == source
        if ours and (folder / source).is_file():
            token.attrs["src"] = (
                "data:image/png;base64," + b64encode((folder / source).read_bytes()).decode()
            )
    report = _END_TAG.sub("", reader.renderer.render(tokens, reader.options, {}))
    if printed_lines(markdown) <= PAGE_LINES:
        return report
    return "".join(_folded(section) for section in re.split("(?=<h2>)", report))


def _picture(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    """Write a picture that is in the page; of another, a link in its place, for a page loads
    nothing from elsewhere.
    """
    image = tokens[index]
    source = str(image.attrs.get("src", ""))
    if source.startswith("data:"):
        return str(renderer.image(tokens, index, options, env))
    text = escape(image.content or source)
    before = [token.type for token in tokens[:index]]
    inside = before.count("link_open") > before.count("link_close")
    return text if inside else f'<a href="{escape(source)}">{text}</a>'


_END_TAG = re.compile(r"</t[rdh]>\n?|(?<=<tr>)\n")  # of rows and cells: HTML needs none


def _folded(section: str) -> str:
    """Fold a section of a long report, but for what it is about and what it was made from."""
    heading, end, rest = section.partition("</h2>")
    if not end or heading[4:] in (ABOUT, INPUTS):
        return section
    return f"<details><summary>{heading}{end}</summary>{rest}</details>"


def _inner(tokens: Iterable[Any]) -> Iterable[Any]:
    for token in tokens:
        yield token
        yield from _inner(token.children or ())


def _page(title: str, body: str, script: str = "") -> str:
    script_element = f"<script>{script}</script>" if script else ""
    heading = "" if "<h1" in body else f"<h1>{escape(title)}</h1>"
    return _PAGE.substitute(
        title=escape(title),
        body=heading + body,
        script=script_element,
        style=_STYLE,
        policy=_policy(script),
    )


def _policy(script: str) -> str:
    """Return what a page may do: show pictures that are in it, and use its own style and script."""
    run = _hash(script) if script else "'none'"
    return (
        f"default-src 'none'; img-src data:; style-src {_hash(_STYLE)}; script-src {run};"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --ground: #ffffff; --line: #c9d1d9; --fill: #4477aa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --ground: #0d1117; --line: #444c56; --fill: #7aa7d9; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 62rem;
 margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; }
summary > h2 { display: inline-block; margin: .5rem 0; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; font-weight: normal; }
.r { text-align: right; }
img { max-width: 100%; background: #ffffff; }
code { font-size: .9em; overflow-wrap: anywhere; }
label small { opacity: .75; }
main { overflow-wrap: break-word; }
.bars th { overflow-wrap: anywhere; }
input[type=range] { display: block; width: 100%; accent-color: var(--fill); }
#value { font-size: 2rem; font-weight: 600; }
.bars { display: table; width: 100%; }
.bars td:nth-child(2) { width: 60%; }
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
