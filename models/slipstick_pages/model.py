"""A page in HTML in which a model runs.

The tape of a closed form is data in the page, and `live.js` runs it: forwards for the value,
backwards for account and elasticities. For other methods the page has answers at the points of a
grid and interpolates between them, or has fixed answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from html import escape
from math import isclose, log, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.answer import Answer, exactness_words
from slipstick.expression.nodes import Dimension
from slipstick.late import dataclass
from slipstick.report.answer import stated_rate_unit
from slipstick.report.formatting import (
    capitalized,
    losses_sentence,
    percent,
    quantity,
)
from slipstick.report.html import MOST_PAGE_BYTES, PageSection, html_page
from slipstick.results.words import Words
from slipstick.study.wording import meanings_of
from slipstick.units import choose_unit, units_by_size, with_rates_in

if TYPE_CHECKING:
    from slipstick.results.study import Results
    from slipstick.schema.inputs import Settings
    from slipstick.schema.library import Library

PAGE_OPERATORS = frozenset(
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

_SLIDER_STEPS = 1000  # of a slider
_MOST_WHOLE_POSITIONS = 400
_MOST_VALUES_SHOWN_FIRST = 20  # values of an answer
_MOST_LINES = 300  # values or components of an answer, and lines of what was given or noted


@dataclass(frozen=True, slots=True)
class Slider:
    """An input of a page with the range in which it can be moved; its positions have equal ratios,
    or are whole numbers. Where saturation ends the range, the end follows the other inputs, up to
    the farthest one.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    whole: bool
    meaning: str = ""
    farthest: float = 0.0

    @property
    def has_position_per_value(self) -> bool:
        """Whether the slider has a position for each whole number in its range, because there are
        few.
        """
        return self.whole and self.high - self.low <= _MOST_WHOLE_POSITIONS


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model that a page evaluates in the browser, with the contents of the page.

    Parameters
    ----------
    title : of the page
    answer : at the values given
    quantity : name of the value that is shown first
    tape : the result of `Tape.listing` for the value, the account, and the stages of pipelines;
        None if it does not run
    grid : in the place of a tape, answers at the points of a grid: its axes with the logarithms of
        their nodes, each value and the shares of the account along the axes in order, the largest
        error that was seen between the points, and the names of inputs that do not move (`still`)
    register_by_shown_value : of a tape, the register of each value that the page shows, the first
        one first
    utilization_registers : of a tape, the register of the utilization of each station, which is 1
        at saturation
    values : of all inputs, in base units
    component_by_label : component of the account for each label of the tape
    pipelines : names of the stages of each, in the order of the outputs
    sliders : what can be moved, the most important first
    reason_fixed : why nothing runs
    drawn_factors : factors between draws of each input with a range and its given value
    noise_by_value : standard deviation of the logarithm of each value, from a fit
    """

    title: str
    answer: Answer
    quantity: str
    tape: Mapping[str, Any] | None = None
    grid: Mapping[str, Any] | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    component_by_label: Mapping[str, str] = field(default_factory=dict)
    pipelines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sliders: Sequence[Slider] = ()
    register_by_shown_value: Mapping[str, int] = field(default_factory=dict)
    utilization_registers: Mapping[str, int] = field(default_factory=dict)
    reason_fixed: str = ""
    drawn_factors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    noise_by_value: Mapping[str, float] = field(default_factory=dict)

    @property
    def outputs(self) -> list[str]:
        """The names of the values that the page shows, in their order."""
        return list(self.grid["outputs"]) if self.grid else list(self.register_by_shown_value)

    @property
    def words(self) -> Words:
        """The phrases by which the page calls inputs and outputs."""
        return Words(meanings=meanings_of([self.answer]))


def live_page(model: LiveModel) -> str:
    """Return a model as a page of HTML in which it runs.

    Parameters
    ----------
    model : with a tape, it runs in the page; a page of more than `MOST_PAGE_BYTES` bytes is written
        without

    >>> from slipstick.answer import Value
    >>> page = live_page(
    ...     LiveModel("<script>", Answer("m", "mean-value", {"time": Value(2.0, "s")}), "time")
    ... )
    >>> "&lt;script&gt;" in page, "default-src 'none'" in page, len(page) < MOST_PAGE_BYTES
    (True, True, True)
    """
    with with_rates_in(stated_rate_unit(model.answer)):
        return html_page(model.title, *_html_and_script(model))


def page_section(model: LiveModel) -> PageSection:
    """Return a model as a section of a larger page in which it runs."""
    return PageSection(model.title, *_html_and_script(model))


def _html_and_script(model: LiveModel) -> tuple[str, str]:
    """Return the HTML and the script of a model; without sliders and script if the model cannot run
    in a page or would make it too large.
    """
    unknown_operators = (
        {instruction[0] for instruction in model.tape["code"]} - PAGE_OPERATORS
        if model.tape
        else set()
    )
    reason_fixed = model.reason_fixed or (
        f"{', '.join(sorted(unknown_operators))} does not run in a page"
        if unknown_operators
        else ""
    )
    if not reason_fixed and (model.tape or model.grid):
        html_and_script = _live_html(model), (Path(__file__).parent / "live.js").read_text("utf-8")
        if len(html_page(model.title, *html_and_script).encode()) <= MOST_PAGE_BYTES:
            return html_and_script
        reason_fixed = f"the page would have more than {MOST_PAGE_BYTES // 1024} KiB"
    note_html = (
        f"<p>This page shows fixed answers: {escape(reason_fixed)}.</p>" if reason_fixed else ""
    )
    words = model.words
    seconds_by_phrase = {
        words.component_phrase(label): seconds for label, seconds in model.answer.account.items()
    }
    account_html = (
        f"<h2>Account of the time</h2>{_account_bars_html(seconds_by_phrase)}"
        if seconds_by_phrase
        else ""
    )
    values_html = _values_table_html(model.answer, words)
    return _method_html(model.answer) + note_html + values_html + account_html + _notes_html(
        model.answer
    ), ""


def _live_html(model: LiveModel) -> str:
    """Return the HTML of a page in which a model runs: the answer, the controls and the tables."""
    answer = model.answer
    tape = dict(model.tape or {})
    tape["labels"] = [
        (register, model.component_by_label.get(label, label))
        for register, label in tape.get("labels", ())
    ]
    component_names = [
        name for name in answer.account if model.grid is None or name in model.grid["shares"]
    ]
    unit_by_output = {name: answer.unit(name) for name in model.outputs}
    dimensions = sorted({"s", *unit_by_output.values(), *(slider.unit for slider in model.sliders)})
    page_data = {
        "tape": tape,
        "grid": model.grid,
        "values": model.values,
        "draws": {} if model.grid else model.drawn_factors,
        "noise": model.noise_by_value,
        "outputs": [
            {"name": name, "unit": unit, "label": model.words.value(name)}
            for name, unit in unit_by_output.items()
        ],
        "shown": model.register_by_shown_value,
        "busy": model.utilization_registers,
        "components": component_names,
        "pipelines": [
            {"name": name, "stages": list(stages)} for name, stages in model.pipelines.items()
        ],
        "sliders": [
            {
                **asdict(slider),
                "counted": slider.has_position_per_value,
                "label": model.words.quantity(slider.name),
            }
            for slider in model.sliders
        ],
        "steps": _SLIDER_STEPS,
        "ladders": {unit: _shown_units(Dimension.of(unit)) for unit in dimensions},
        "units": {unit: typed_unit_factors(unit) for unit in dimensions},
    }
    # A text may not end the element that it is in, nor begin a comment.
    data_json = json.dumps(page_data, allow_nan=False).replace("<", "\\u003c")
    noscript_html = "<noscript><p>Without JavaScript the numbers stay as given.</p></noscript>"
    account_html = ""
    if component_names:
        bars_html = _account_bars_html(
            {model.words.component_phrase(name): answer.account[name] for name in component_names}
        )
        account_html = f"<h2>Account of {escape(_accounted_title(model))}</h2>{bars_html}"
    body_html = (
        f'{_method_html(answer)}{noscript_html}<div class="live"><div>{_answer_html(model)}</div>'
        f"<div>{_input_controls_html(model)}</div></div>{_comparison_table_html(model)}{account_html}"
        f'<h2>What matters</h2><ol id="ranking"></ol>{_notes_html(answer)}'
        f"{_values_table_html(answer, model.words)}"
    )
    return f'{body_html}<script type="application/json" id="model">{data_json}</script>'


def _answer_html(model: LiveModel) -> str:
    """Return the HTML of the chosen value, its curve, and the fields that choose value and
    input.
    """
    present_value = escape(_value_text_with_interval(model.answer, model.quantity))
    limits_html = "".join(f'<p id="limit-{index}"></p>' for index in range(len(model.pipelines)))
    note_html = ""
    if model.grid:
        note_text = _interpolation_note(model.grid) + _unmoved_inputs_note(
            model.grid.get("still", ()), model.words
        )
        note_html = f"<p><small>{escape(note_text)}</small></p>"
    if model.drawn_factors:
        condition_in_words = "at the values given" if model.grid else "of what is not moved"
        note_html += (
            "<p><small>Intervals hold 9 of 10 draws of the ranges"
            f" {condition_in_words}.</small></p>"
        )
    words = model.words
    input_phrases = {slider.name: words.quantity(slider.name) for slider in model.sliders}
    output_phrases = {name: words.value(name) for name in model.outputs}
    return (
        '<section aria-live="polite"><h2'
        f' id="shown">{escape(capitalized(words.value(model.quantity)))}</h2>'
        f'<p><output id="value">{present_value}</output> <span id="ratio">as given</span></p>'
        f'<p id="saturated"></p>{limits_html}</section>'
        f'<p class="choices">{_select_html("output", "Output", output_phrases)} '
        f"{_select_html('against', 'Against', input_phrases)} "
        '<label for="wanted">Limit</label> <input id="wanted" size="9"></p>'
        f'<figure><svg id="curve" role="img" aria-labelledby="caption"></svg>'
        f'<figcaption id="caption"></figcaption></figure>{note_html}'
    )


def _input_controls_html(model: LiveModel) -> str:
    """Return the HTML of a slider and a field for each input, and of a link to the page with these
    values.
    """
    sliders_html = "".join(
        _slider_html(index, slider, model.words.quantity(slider.name))
        for index, slider in enumerate(model.sliders)
    )
    return (
        f'<form><h2>Inputs</h2>{sliders_html}<p id="problem" role="alert"></p>'
        '<p><button type="button" id="reset">As given</button> '
        '<a id="link" href="#">Link to this state</a></p></form>'
    )


def _comparison_table_html(model: LiveModel) -> str:
    """Return the HTML table of all values, as given and as changed by the sliders."""
    rows_html = "".join(
        f'<tr><th scope="row">{escape(model.words.value(name))}</th>'
        f"<td>{escape(_value_text_with_interval(model.answer, name))}</td>"
        f'<td id="changed-{index}"></td><td id="change-{index}"></td></tr>'
        for index, name in enumerate(model.outputs)
    )
    return (
        '<h2>As given and as changed</h2><table class="numbers"><thead>'
        "<tr><th>value</th><th>as given</th>"
        f"<th>as changed</th><th>change</th></tr></thead><tbody>{rows_html}</tbody></table>"
    )


def _value_text_with_interval(answer: Answer, name: str) -> str:
    """Return a value with its interval as text, with four digits as the script writes it."""
    low, high = answer.ends(name)
    value = answer.find(name)
    if value is not None and low == high:
        value = low = high = float(f"{value:.4g}")
    return quantity(value, answer.unit(name), ends=(low, high))


def _select_html(field_id: str, label: str, title_by_option: Mapping[str, str]) -> str:
    """Return the HTML of a field that chooses one of some options."""
    options_html = "".join(
        f'<option value="{escape(option)}">{escape(option_title)}</option>'
        for option, option_title in title_by_option.items()
    )
    return (
        f'<label for="{field_id}">{label}</label> <select id="{field_id}">{options_html}</select>'
    )


def _shown_units(dimension: Dimension) -> list[tuple[str, float, float]]:
    """Return the units in which the script shows amounts, smallest first, as `units_by_size`; rates
    have one unit where the text of the page has one for all.
    """
    smallest_unit_name, largest_unit_name = (
        choose_unit([size], dimension)[0] for size in (1e-9, 1e9)
    )
    units = units_by_size(dimension)
    if smallest_unit_name != largest_unit_name:
        return units
    return [unit_entry for unit_entry in units if unit_entry[0] == smallest_unit_name]


def typed_unit_factors(unit: str) -> dict[str, float]:
    """Return the units in which a reader can type a value of a dimension, with their factors to
    base units.

    >>> typed_unit_factors("1/s")["/min"]
    0.016666666666666666
    """
    dimension = Dimension.of(unit)
    if dimension == Dimension.of("1/s"):
        return {
            f"/{name}": 1 / unit_factor for name, unit_factor, _ in units_by_size(Dimension.of("s"))
        }
    return {name: unit_factor for name, unit_factor, _ in units_by_size(dimension)}


def _interpolation_note(grid: Mapping[str, Any]) -> str:
    """Return a note on the grid of answers and the error of interpolation."""
    point_count = prod(len(axis["nodes"]) for axis in grid["axes"])
    return (
        f"Computed at {point_count} points, and interpolated between them: at {grid['tried']} other"
        f" points the value is at most {percent(grid['error'], 2)} off."
    )


def _unmoved_inputs_note(names: Sequence[str], words: Words) -> str:
    """Return a note on why some inputs have no sliders in a page with a grid, and how they can be
    changed; empty if all have sliders.
    """
    if not names:
        return ""
    input_phrases = [words.quantity(name) for name in names[:_MOST_NAMED_FIXED_INPUTS]]
    further_in_words = (
        f" and {len(names) - _MOST_NAMED_FIXED_INPUTS} more"
        if len(names) > _MOST_NAMED_FIXED_INPUTS
        else ""
    )
    return (
        " A grid has room for two inputs, so the others stay as given:"
        f" {', '.join(input_phrases)}{further_in_words}. Make a page in which another one moves"
        f" with: slipstick page --slider {names[0]}"
    )


_MOST_NAMED_FIXED_INPUTS = 6
"""Inputs that do not move and are named."""


def _method_html(answer: Answer) -> str:
    """Return the HTML of the method that answered, and of the settings beside the model."""
    settings_in_words = [
        f"{path} = {value if isinstance(value, str) else f'{value:g}'}"
        for path, value in answer.given.items()
    ]
    details_html = f"<p>Method: {escape(answer.method)}, {exactness_words(answer)}.</p>"
    return details_html + _html_list(settings_in_words)


def _notes_html(answer: Answer) -> str:
    """Return the HTML of the notes on what the method and an import left out or assumed."""
    loss_sentences = [losses_sentence(answer.left_out)] if answer.left_out else []
    notes_html = _html_list([*loss_sentences, *answer.notes])
    return f"<h2>Notes</h2>{notes_html}" if notes_html else ""


def _html_list(lines: Sequence[str]) -> str:
    """Return lines as an HTML list, of which only the first are shown at once."""
    shown_html, further_html = _html_of_first_lines([f"<li>{escape(line)}</li>" for line in lines])
    return f"<ul>{shown_html}</ul>{further_html}" if shown_html else ""


def _html_of_first_lines(lines: Sequence[str]) -> tuple[str, str]:
    """Return the first of many lines as HTML, and a line on how many more there are."""
    hidden_count = len(lines) - _MOST_LINES
    return "".join(lines[:_MOST_LINES]), (
        f"<p>and {hidden_count} more: slipstick solve --all</p>" if hidden_count > 0 else ""
    )


def _slider_html(index: int, slider: Slider, label: str) -> str:
    """Return the HTML of the slider of an input with its field."""
    if slider.has_position_per_value:
        low = int(slider.low)
        high = int(slider.high)
        position = int(slider.value)
    else:
        low = 0
        high = _SLIDER_STEPS
        position = round(
            _SLIDER_STEPS * log(slider.value / slider.low) / log(slider.high / slider.low)
        )
    label_html = escape(label)
    path_html = escape(f"{slider.name}: {slider.meaning}" if slider.meaning else slider.name)
    present_value = escape(quantity(slider.value, slider.unit))
    return (
        f'<p class="input" title="{path_html}"><label for="slider-{index}">{label_html}</label>'
        f'<input type="text" class="typed" id="now-{index}" value="{present_value}" size="9"'
        f' aria-label="{label_html}, a number with its unit">'
        f'<input type="range" id="slider-{index}" min="{low}" max="{high}" value="{position}"'
        f' aria-label="{label_html}"></p>'
    )


def _accounted_title(model: LiveModel) -> str:
    """Return the title of the value that the account divides: the value that the page shows if the
    components add up to it, else the time.
    """
    total_time = sum(model.answer.account.values())
    is_shown = isclose(model.answer.find(model.quantity) or 0.0, total_time, rel_tol=1e-6)
    return model.words.value(model.quantity) if is_shown else "the time"


def _account_bars_html(account: Mapping[str, float]) -> str:
    """Return the HTML of a bar for each component of an account."""
    total_time = sum(account.values())
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td><svg class="bar" id="bar-{index}"'
        f' width="{100 * seconds / total_time if total_time else 0:.2f}%"></svg></td><td'
        f' id="part-{index}">{escape(quantity(seconds, "s"))},'
        f" {percent(seconds / total_time if total_time else None)}</td></tr>"
        for index, (name, seconds) in enumerate(account.items())
    ]
    shown_html, further_html = _html_of_first_lines(rows)
    return f'<table class="bars">{shown_html}</table>{further_html}'


def _values_table_html(answer: Answer, words: Words) -> str:
    """Return the HTML table of the values of an answer."""
    rows = [
        f'<tr><th scope="row">{escape(words.value(name))}</th>'
        f"<td>{escape(quantity(value.value, value.unit, ends=(value.low, value.high)))}</td></tr>"
        for name, value in answer.values.items()
        # Probabilities of each number present are for programs.
        if not name.startswith("probability[") or name in answer.asked
    ]
    shown_html, further_html = _html_of_first_lines(rows)
    if len(rows) <= _MOST_VALUES_SHOWN_FIRST:
        return f"<h2>Answer as given</h2><table>{shown_html}</table>{further_html}"
    heading = f"<h2>All {len(rows)} values as given</h2>"
    return (
        f"<details><summary>{heading}</summary><table>{shown_html}</table>{further_html}</details>"
    )


def section(
    results: Results, cases: Mapping[str, Settings], library: Library
) -> PageSection | None:
    """Return the section of a report's page in which the first case of the study runs; None if it
    cannot run.
    """
    from slipstick_pages.solve import live_model_of_study

    live = live_model_of_study(results, cases, library)
    return page_section(live) if live else None
