"""Models fitted to measured times: what to believe first, then what to expect; for pages and for
the terminal.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slipstick.answer import Answer, Value
from slipstick.late import Array, np
from slipstick.report.formatting import (
    TextBlock,
    TextTable,
    join_phrases,
    percent,
    plain_decimal,
    terminal_blocks,
    uncapitalized,
    value_amount,
    with_article,
)
from slipstick.results.question import TitleAnswer, verdict_word
from slipstick.results.words import Words, is_plural
from slipstick_measure.report.measured import INDENT, LOST, amount_text, with_noun_for_processors
from slipstick_measure.results import Fitting
from slipstick_pictures.look import (
    STROKES,
    axis_title,
    make_logarithmic,
    new_figure,
    with_title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SIZE_NAME_PREFIX = "size_needed["
_TIME_NAME_PREFIX = "time["
_EFFICIENCY_NAME_PREFIX = "efficiency["

_NAMES_OF_DERIVED_VALUES = (
    "behind",
    "scatter",
    "missed",
    "fastest_processors",
    "fastest_time",
    "largest_speedup",
    "largest_speedup_processors",
    "efficient_processors",
    "most_processors",
    "base_processors",
)


def fits_text(fitting: Fitting) -> str:
    """Return fits as text for the terminal."""
    return terminal_blocks(fit_blocks(fitting), INDENT)


def fit_blocks(fitting: Fitting) -> Iterator[TextBlock]:
    """Yield the blocks on fits: the main findings, a table of all families, and the families that
    the data support.

    Parameters
    ----------
    fitting : the fits
    """
    words = Words(member=fitting.member)
    fitted_answers = [answer for answer in fitting.answers if not answer.failed]
    yield f"Fitted to {fitting.source}." if fitting.source else ""
    yield main_findings(fitting)
    yield [f"warning: {with_noun_for_processors(warning, words)}" for warning in fitting.warnings]
    yield _families_table(fitting, fitted_answers)
    yield [
        f"{answer.model}: no fit: {answer.failed}" for answer in fitting.answers if answer.failed
    ]
    for answer in fitted_answers:
        if answer is fitted_answers[0] or has_interval(answer) or answer.model == fitting.laid:
            rows = [
                [name, amount_text(value), ends_in_words(value) if value.low is not None else ""]
                for name, value in fitted_values(answer).items()
            ]
            rows += [
                [name.replace("time", "throughput") if fitting.rate else name, *prediction_text]
                for name, value in answer.values.items()
                if name.startswith(_TIME_NAME_PREFIX)
                for prediction_text in [_amount_and_ends(fitting, name, value, "to")]
            ]
            yield f"{answer.model}: {answer.notes[0]}"
            yield TextTable([answer.model, "value", "between"], rows, [1, 2]) if rows else ""
            limits = _limits_sentence(answer, fitting)
            yield "" if answer is fitting.answers[0] else with_noun_for_processors(limits, words)
            yield [f"note: {note}" for note in answer.notes[1:]]


def main_findings(fitting: Fitting) -> list[str]:
    """Return the main findings: first those on the rows, then how far the preferred model scales,
    what limits it and what is lost; or that no law describes the rows.

    Parameters
    ----------
    fitting : as for `fits_text`
    """
    best_answer = fitting.answers[0]
    lost_processors = {
        name: value for name, value in best_answer.values.items() if name.startswith(LOST)
    }
    words = Words(member=fitting.member)
    verdict = f"{fitting.verdict[:1].upper()}{fitting.verdict[1:]}."
    limits = _limits_sentence(best_answer, fitting)
    rows = [with_noun_for_processors(row, words) for row in fitting.findings]
    bounds = [with_noun_for_processors(line, words) for line in _bound_sentences(fitting)]
    if not fitting.has_law:
        return [*rows, *bounds, with_noun_for_processors(verdict, words)]
    lines = [*rows, *([f"By {_name_with_title(best_answer)}: {limits}"] if limits else [])]
    if lost_processors:
        cause, lost_to_cause = next(iter(lost_processors.items()))
        processors = float(best_answer.point["p"])
        lines.append(
            f"Most is lost to {cause[len(LOST) : -1]}:"
            f" {plain_decimal(lost_to_cause.value or 0.0, 3)} of"
            f" {words.member_count(processors)}."
        )
    for name, value in best_answer.values.items():
        if name.startswith(_TIME_NAME_PREFIX) and float(name[5:-1]) not in fitting.bounded:
            prediction, ends = _amount_and_ends(fitting, name, value, "and")
            lines.append(f"On p = {name[5:-1]}: {prediction}{ends and f', between {ends}'}.")
        if name.startswith(_SIZE_NAME_PREFIX):
            lines.append(_size_text(value, _goal_of_size(fitting, name)))
    return [
        *(with_noun_for_processors(line, words) for line in lines),
        *bounds,
        with_noun_for_processors(verdict, words),
    ]


def _goal_of_size(fitting: Fitting, name: str) -> str:
    """Return the goal of a needed size in words: the efficiency, and over how many processors
    unless over one.
    """
    base = fitting.answers[0].values.get("base_processors")
    base_in_words = f" over {base.value:g}" if base and base.value else ""
    processors_text = name.removeprefix(_SIZE_NAME_PREFIX)[:-1]
    return f"efficiency of {percent(fitting.efficiency)}{base_in_words} at p = {processors_text}"


def _bound_sentences(fitting: Fitting) -> list[str]:
    """Return sentences on the intervals that need no law, their assumptions, and the numbers of
    processors to measure next.
    """
    best_answer = fitting.answers[0]
    lines = [
        f"On p = {p:g}: between {ends}{_prediction_by_law(fitting, best_answer, p)}."
        for p, (low, high) in fitting.bounded.items()
        for _, ends in [
            _amount_and_ends(
                fitting, f"{_TIME_NAME_PREFIX}{p:g}]", Value(low, "s", low, high), "and"
            )
        ]
    ]
    if not lines:
        return []
    count_before, last_count = sorted({*fitting.p})[-2:]
    reason = (
        f"This interval uses no law. It assumes that from p = {last_count:g} on, throughput grows"
        f" at most as it did from p = {count_before:g}, and falls at most by a cost for each pair."
        f" Measure on {fitting.next_runs} next."
    )
    return [*lines, reason]


def _prediction_by_law(fitting: Fitting, best: Answer, p: float) -> str:
    """Return the prediction of the best law in words, to be written after an interval that needs no
    law; empty if no law describes the rows.
    """
    name = f"{_TIME_NAME_PREFIX}{p:g}]"
    if not fitting.has_law or name not in best.values:
        return ""
    return f"; by {best.model} {_amount_and_ends(fitting, name, best.values[name], '')[0]}"


def _amount_and_ends(
    fitting: Fitting, name: str, time: Value, word_between_ends: str
) -> tuple[str, str]:
    """Return a predicted time and the ends of its interval in words, or the throughput p / T where
    throughputs were measured; the ends are empty without an interval.
    """
    if fitting.rate is None:
        return amount_text(time), ends_in_words(
            time, word_between_ends
        ) if time.low is not None else ""
    unit, size = fitting.rate
    processors = float(name[len(_TIME_NAME_PREFIX) : -1])

    def throughput(seconds: float | None) -> str:
        return f"{plain_decimal(processors / seconds / size)} {unit}" if seconds else ""

    if time.low is None:
        return throughput(time.value), ""
    return throughput(
        time.value
    ), f"{throughput(time.high)} {word_between_ends} {throughput(time.low)}"


def _name_with_title(answer: Answer) -> str:
    """Return the name of a fit, with the title of its law; a model has its name only."""
    title = answer.notes[0].partition(":")[0] if answer.notes else ""
    return answer.model if title.startswith("the model ") else f"{answer.model} ({title})"


def fit_headline(fitting: Fitting, words: Words) -> list[str]:
    """Return sentences on the measured rows and on the preferred model's efficiency, speed-up and
    needed size, with the reader's nouns.

    Parameters
    ----------
    fitting : as for `fits_text`
    words : of the study
    """
    best_answer = fitting.answers[0]
    lines = [finding.removeprefix("Measured: ").rstrip(".") for finding in fitting.findings]
    lines = [f"measured {line}" for line in lines]
    if fitting.has_law and (limits := _limits_sentence(best_answer, fitting)):
        # What the law leaves out stands before what it says.
        place = bool(fitting.growing_causes)
        lines.insert(place, f"by the fitted model, {uncapitalized(limits)}")
    if fitting.has_law:
        lines[1:1] = [
            f"on p = {processors:g}: {_prediction_text(best_answer, processors)}"
            for processors in predicted_counts_in_title(words.title, best_answer)
        ][:1]
    sizes = [
        name
        for name in best_answer.values
        if name.startswith(_SIZE_NAME_PREFIX) and fitting.has_law
    ]
    noun = words.meanings.get(fitting.size_path, "")
    for name in sizes[-1:]:
        size_text = _size_text(best_answer.values[name], _goal_of_size(fitting, name))
        if is_plural(noun.partition(" ")[0]):
            lines.append(re.sub(r"n = (\S+?)(?=[,.]( |$))", rf"\1 {noun}", size_text))
        else:
            lines.append(size_text.replace("n = ", f"{with_article(noun or 'size')} of "))
    if not fitting.has_law:
        lines.append(fitting.verdict)
    return [with_noun_for_processors(line.rstrip("."), words) for line in lines]


def predicted_counts_in_title(title: str, answer: Answer) -> list[float]:
    """Return the predicted numbers of processors that a title names.

    >>> fit = Answer("fit", "fit", {"time[64]": Value(2.0, "s"), "time[128]": Value(1.5, "s")})
    >>> predicted_counts_in_title("How long does it take on 64 processors?", fit)
    [64.0]
    """
    numbers_in_title = {float(number) for number in re.findall(r"\d+", title)}
    predicted_counts = [
        float(name[5:-1]) for name in answer.values if name.startswith(_TIME_NAME_PREFIX)
    ]
    return [number for number in predicted_counts if number in numbers_in_title]


def _prediction_text(answer: Answer, processors: float) -> str:
    """Return the time and the efficiency that a fit predicts for a number of processors, in
    words.
    """
    names = [f"{kind}{processors:g}]" for kind in (_TIME_NAME_PREFIX, _EFFICIENCY_NAME_PREFIX)]
    return " and ".join(
        f"{name.partition('[')[0]} {value_amount(name, value.value, value.unit, value.ends)}"
        for name in names
        if (value := answer.values.get(name))
    )


def fit_verdict(fitting: Fitting, words: Words) -> TitleAnswer | None:
    """Return whether the target efficiency is reached at the number of processors that a title
    names; None if the title has another question.
    """
    best_answer = fitting.answers[0]
    processors_in_title = predicted_counts_in_title(words.title, best_answer)
    target = percent(fitting.efficiency).replace(" ", " ?")
    asks_for_target = re.search(rf"{target}|efficien", words.title)
    if not (fitting.has_law and len(processors_in_title) == 1 and asks_for_target):
        return None
    efficiency = best_answer.values.get(f"{_EFFICIENCY_NAME_PREFIX}{processors_in_title[0]:g}]")
    if efficiency is None or efficiency.value is None:
        return None
    low, high = efficiency.ends
    low, high = (efficiency.value if end is None else end for end in (low, high))
    is_undecided = low < fitting.efficiency <= high
    truth = None if is_undecided else efficiency.value >= fitting.efficiency
    reason = f" ({percent(fitting.efficiency)} lies within the interval)" if is_undecided else ""
    word_and_place = with_noun_for_processors(
        f"{verdict_word([truth])}, on p = {processors_in_title[0]:g}{reason}", words
    )
    # The same words as in the headline, which is left out then.
    sentence = _prediction_text(best_answer, processors_in_title[0])
    return TitleAnswer(word_and_place, sentence, replaces_headline=False)


def _size_text(size: Value, goal: str) -> str:
    """Return a needed size in words, with its interval and the goal that it is needed for."""
    if not size.value:
        return f"No size has an {goal}."
    phrase = f"An {goal} needs n = {_size_with_separators(size.value)}"
    if size.low is None:
        return f"{phrase}."
    low_size = _size_with_separators(size.low)
    if size.high is None:
        return f"{phrase}, at least {low_size}; the data give no upper limit."
    return f"{phrase}, between {low_size} and {_size_with_separators(size.high)}."


def _size_with_separators(number: float) -> str:
    """Write a size with separated thousands."""
    text = plain_decimal(number)
    return f"{int(text):,}" if text.isdigit() else text


def _families_table(fitting: Fitting, answers: Sequence[Answer]) -> TextTable:
    """Build the table of all families that have a fit; for generated data with their errors against
    the known truth.
    """
    truth = fitting.truth
    time_names = [name for name in answers[0].values if name.startswith(_TIME_NAME_PREFIX)]
    true_times = {name: truth[float(name[5:-1])] for name in time_names if truth}
    headings = [
        "model",
        "AICc difference",
        "scatter",
        "error at the largest",
        *(f"p = {name[5:-1]}" for name in time_names),
    ]
    headings += [f"misses p = {name[5:-1]}" for name in true_times]
    rows = [
        [
            answer.model,
            f"{answer['behind']:.1f}",
            percent(answer["scatter"], 2),
            percent(answer["missed"] if "missed" in answer.values else None, 2),
            *(_amount_and_ends(fitting, name, answer.values[name], "")[0] for name in time_names),
            *(
                percent((answer[name] or 0.0) / true_time - 1, 2)
                for name, true_time in true_times.items()
            ),
        ]
        for answer in answers
    ]
    return TextTable(headings, rows, range(1, len(headings)))


def fitted_values(answer: Answer) -> dict[str, Value]:
    """Return the parameters of a fit, without derived values.

    Parameters
    ----------
    answer : a fit
    """
    prefixes_of_derived = (LOST, _SIZE_NAME_PREFIX, _TIME_NAME_PREFIX, _EFFICIENCY_NAME_PREFIX)
    return {
        name: value
        for name, value in answer.values.items()
        if name not in _NAMES_OF_DERIVED_VALUES and not name.startswith(prefixes_of_derived)
    }


def ends_in_words(value: Value, word_between: str = "to") -> str:
    """Return the ends of an interval in words."""
    low, high = (amount_text(Value(end, value.unit)) for end in (value.low, value.high))
    return f"{low} {word_between} {high}"


UNKNOWN_COUNT = Value(None, "1")


def _limits_sentence(answer: Answer, fitting: Fitting) -> str:
    """Return a sentence on the number of processors up to which a fit is efficient, its largest
    speed-up, and its least time. Speed-up is said to rise still only if it does by all laws that
    the data support, and if the law has a term for each measured cause that grows.
    """

    def number(name: str) -> float:
        return answer[name] or 0.0

    def place_text(processors: float) -> str:
        largest_speedup = processors == number("most_processors")
        return f"p = {processors:g}{', the largest number examined' if largest_speedup else ''}"

    sentence = ""
    base = answer.values.get("base_processors", UNKNOWN_COUNT).value
    over_base = "" if base is None else f" over p = {base:g}"
    if "efficient_processors" in answer.values:
        efficient_processors = place_text(number("efficient_processors"))
        sentence = (
            f"Efficiency{over_base} is at least {percent(fitting.efficiency)} up to"
            f" {efficient_processors}."
        )
    if "largest_speedup" in answer.values:
        speedup_processors = number("largest_speedup_processors")
        doubt = ""
        rises = "is at most"
        if speedup_processors == number("most_processors"):
            doubt = _doubt_on_rise(answer, fitting)
            rises = "would be" if doubt else "still rises, to"
        largest_speedup = plain_decimal(number("largest_speedup"), 3)
        sentence += (
            f" Speed-up{over_base} {rises} {largest_speedup}, at"
            f" {place_text(speedup_processors)}{doubt}."
        )
    sentence = sentence.strip()
    if "fastest_processors" in answer.values:
        time = amount_text(answer.values["fastest_time"])
        fastest = number("fastest_processors")
        if fastest == answer.values.get("largest_speedup_processors", UNKNOWN_COUNT).value:
            return f"{sentence.removesuffix('.')}, in {time}, the least time."
        sentence = f"{sentence} Fastest at p = {fastest:g}, in {time}.".strip()
    return sentence


def _doubt_on_rise(answer: Answer, fitting: Fitting) -> str:
    """Return the reason why the speed-up may stop rising although it still rises by a fit; empty if
    there is none.
    """
    doubts = []
    if fitting.growing_causes and answer is fitting.answers[0]:
        doubts.append(f", without the growth of {join_phrases([*fitting.growing_causes])}")
    places_by_rival = {
        rival.model: rival["largest_speedup_processors"]
        for rival in fitting.answers
        if rival is not answer
        and has_interval(rival)
        and "largest_speedup" in rival.values
        and rival["largest_speedup_processors"] != rival["most_processors"]
    }
    doubts += [
        f"; by {model} it is highest at p = {processors:g}"
        for model, processors in places_by_rival.items()
    ]
    return "".join(doubts)


def has_interval(answer: Answer) -> bool:
    """Return whether the data support a fit, so that its values have intervals."""
    return any(value.low is not None for value in answer.values.values())


MOST_CURVES = 6
_LEGEND_WIDTH = 26  # letters in a line of a legend


def draw_fits(fitting: Fitting, title: str) -> Figure:
    """Draw measured times and the fits over the number of processors, on logarithmic axes; a second
    panel below shows the efficiencies and the requested one.

    Where nothing was measured the ground is grey: there the curves are extrapolations.

    Parameters
    ----------
    fitting : the fits, with curves
    title : heading
    """

    figure = new_figure(7.5, 6.6)
    axes, axes_of_efficiency = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for curve, (colour, _, dashes) in zip(fitting.curves[:MOST_CURVES], STROKES[1:], strict=False):
        curve_title = textwrap.fill(curve.title, _LEGEND_WIDTH)
        axes.plot(curve.p, curve.time, color=colour, linestyle=dashes, label=curve_title)
        if curve.low:
            axes.fill_between(
                curve.at,
                curve.low,
                curve.high,
                color=colour,
                alpha=0.2,
                linewidth=0,
                label=f"interval of {curve_title}",
            )
    axes.plot(
        fitting.p,
        fitting.time,
        linestyle="",
        marker="o",
        color=STROKES[0][0],
        markersize=4,
        label="measured",
        zorder=5,
    )
    axes.set_xscale("log", base=2)
    make_logarithmic(
        axes.yaxis,
        np.array([*fitting.time, *(time for curve in fitting.curves for time in curve.time)]),
    )
    last_processors = max([max(fitting.p), *(max(curve.p) for curve in fitting.curves)])
    for panel in (axes, axes_of_efficiency):
        panel.axvspan(
            max(fitting.p),
            last_processors,
            color="#000000",
            alpha=0.07,
            linewidth=0,
            label="beyond the data",
        )
    ticks = [
        2.0**power
        for power in range(int(last_processors).bit_length())
        if 2.0**power <= last_processors
    ]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(1 / 1.1, last_processors)
    members = Words(member=fitting.member).members
    axes_of_efficiency.set_xlabel(
        members
        if fitting.size is None
        else f"{members}; size n = {_size_with_separators(fitting.size)}"
    )
    axes.set_ylabel(axis_title("time", "s"))
    _draw_efficiencies(axes_of_efficiency, fitting)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", alignment="left")
    return with_title_and_legend(figure, title)


def _draw_efficiencies(axes: Axes, fitting: Fitting) -> None:
    """Draw the efficiency of each curve and of the measured times, over the smallest number of
    processors, with the requested efficiency as a limit.
    """
    from slipstick_pictures.pictures import LIMIT_COLOUR, write_limit

    measured_p, measured_times = np.array(fitting.p), np.array(fitting.time)
    base = float(measured_p.min())

    def efficiencies(p: Array, time: Array, base_time: float) -> Array:
        """Return the efficiencies at numbers of processors in percent."""
        ratios: Array = base_time / time * (1.0 if fitting.weak_scaling else base / p)
        return ratios / 0.01

    for curve, (colour, _, dashes) in zip(fitting.curves[:MOST_CURVES], STROKES[1:], strict=False):
        p, time = np.array(curve.p), np.array(curve.time)
        base_time = float(np.interp(base, p, time))
        axes.plot(p, efficiencies(p, time, base_time), color=colour, linestyle=dashes)
    base_time = float(np.median(measured_times[measured_p == base]))
    points = efficiencies(measured_p, measured_times, base_time)
    axes.plot(measured_p, points, linestyle="", marker="o", color=STROKES[0][0], markersize=4)
    lines_drawn = [*axes.lines]
    goal = fitting.efficiency / 0.01
    axes.axhline(goal, color=LIMIT_COLOUR, linewidth=1.0, linestyle=(0, (6, 3)))
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel(axis_title("efficiency" if base == 1 else f"efficiency over {base:g}", "%"))
    write_limit(axes, goal, f"limit {percent(fitting.efficiency)}", lines_drawn)
