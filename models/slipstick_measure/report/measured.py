"""Measured runs: where the processors went, for each number of them; for pages and for the
terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from slipstick.answer import Answer, Value
from slipstick.errors import Problem
from slipstick.late import late_pattern
from slipstick.report.formatting import (
    NOTHING,
    Ends,
    as_percent,
    ascii_only,
    bracketed,
    escape,
    finite_or_none,
    percent,
    plain_decimal,
    plain_table,
    quantity,
    table_texts,
    three_digits,
    wrapped,
)
from slipstick.results.question import ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.results.words import NO_WORDS, Words

LOST = "processors_lost["
INDENT = "  "
_NEGLIGIBLE_LOSS = 0.05
"""Processors; a cause that loses no more than this anywhere is named, not shown."""

_ZERO_LOSS = 1e-9
_DIGITS_OF_RATES = 15
_DIGITS_OF_VALUES = 6
_MOST_CAUSES = 12
_MOST_COLUMNS = 7
_LONGEST_CAUSE = 32
_STATISTICS = {"median": "median", "mean": "mean", "min": "least"}

_TITLES = {
    "time": "time",
    "throughput": "throughput",
    "speedup": "speed-up",
    "concurrency": "at work",
    "relative_speedup": "speed-up over the smallest",
    "efficiency": "efficiency",
    "latency": "latency",
    "load_balance": "load balance",
    "communication_efficiency": "communication",
    "one_processor_estimate": "T_1 = N T_N - W_N",
    "one_processor_drift": "beside the measured T_1",
}
"""What tables show of measured runs, beside processors lost, and how it is called there."""

_SHARE_NAMES = ("efficiency", "load_balance", "communication_efficiency", "one_processor_drift")


def measured_table(
    table_name: str,
    answers: Sequence[Answer],
    hidden_prefixes: Sequence[str] = (),
    throughput_unit: tuple[str, float] | None = None,
) -> ResultTable:
    """Return the table of measured runs: a row for each number of processors, a column for each
    value.

    Parameters
    ----------
    table_name : of the rows in results.csv
    answers : one for each size and number of processors
    hidden_prefixes : beginnings of values that are not shown
    throughput_unit : unit of throughputs as their file writes it, and its size in base units
    """
    has_extra_work = any(f"{LOST}extra work]" in answer.values for answer in answers)
    hidden_prefixes = (
        tuple(hidden_prefixes) if has_extra_work else (*hidden_prefixes, "concurrency")
    )
    columns = [
        ResultColumn("case", [None] * len(answers), on_page=False),
        ResultColumn(
            "p", [answer.point["p"] for answer in answers], "1", written=_size_text, place=True
        ),
        ResultColumn(
            "n", [answer.point.get("n") for answer in answers], "1", written=_size_text, place=True
        ),
    ]
    for value_name, unit in {
        value_name: value.unit for answer in answers for value_name, value in answer.values.items()
    }.items():
        cause = value_name[len(LOST) : -1] if value_name.startswith(LOST) else ""
        column_title = "processors lost" if cause == "lost" else f"lost to {escape(cause)}"
        title = _TITLES.get(value_name, column_title)
        format_value = as_percent if value_name in _SHARE_NAMES else _value_cell
        if value_name == "throughput" and throughput_unit:
            title = f"throughput [{throughput_unit[0]}]" if throughput_unit[0] else title
            format_value = partial(_throughput_text, throughput_unit[1])
        columns.append(
            ResultColumn.from_values(
                value_name,
                [answer.values.get(value_name) for answer in answers],
                unit,
                title=title,
                written=format_value,
                on_page=(value_name in _TITLES or bool(cause))
                and not value_name.startswith(hidden_prefixes),
            )
        )
    reason_by_row = {
        row_index: answer.failed for row_index, answer in enumerate(answers) if answer.failed
    }
    return ResultTable(table_name, columns, Provenance.of(answers), reason_by_row)


def _size_text(value: float | None, unit: str, ends: Ends) -> str:
    """Return the size of a run as text."""
    return NOTHING if value is None else plain_decimal(value, _DIGITS_OF_RATES)


def _throughput_text(unit_size: float, value: float | None, unit: str, ends: Ends) -> str:
    """Return a throughput in the unit of its file, with all significant digits."""
    value_and_ends = (
        NOTHING if number is None else plain_decimal(number / unit_size, _DIGITS_OF_VALUES)
        for number in (value, *ends)
    )
    return bracketed(*value_and_ends)


def _value_cell(value: float | None, unit: str, ends: Ends) -> str:
    """Return the cell of a value with its unit."""
    return bracketed(
        *(amount_text(Value(finite_or_none(number), unit)) or NOTHING for number in (value, *ends))
    )


def measured_text(
    answers: Sequence[Answer],
    title: str = "",
    source: str = "",
    statistic: str = "median",
    throughput_unit: tuple[str, float] | None = None,
    member: str = "processor",
) -> str:
    """Return the account of measured runs as text: times and speed-up, processors lost by cause,
    and checks of the assumptions.

    Parameters
    ----------
    answers : one for each size and number of processors
    title, source : what the data say of themselves
    statistic : how repetitions became one value
    throughput_unit : as for `measured_table`
    member : what one of the processors is called
    """
    words = Words(member=member)
    head_lines = [wrapped(title)] if title else []
    head_lines += [wrapped(f"source: {source}", INDENT)] if source else []
    failure_lines = [
        f"p = {answer.point['p']:g}: no answer: {answer.failed}"
        for answer in answers
        if answer.failed
    ]
    notes = dict.fromkeys(note for answer in answers for note in answer.notes)
    blocks = [
        "\n".join(head_lines),
        _times_table(answers, statistic, throughput_unit, words),
        _losses_table(answers, words),
        wrapped(largest_loss_sentence(answers, words)),
        _comparison_with_one_processor(answers),
        "\n".join(failure_lines),
        "\n".join(wrapped(f"note: {note}", INDENT) for note in notes),
    ]
    return ascii_only("\n\n".join(block for block in blocks if block) + "\n")


def notes_text(notes: Iterable[Problem]) -> str:
    """Return the notes on unusual data, one on a line."""
    return "".join(f"note: {note}\n" for note in notes)


def _times_table(
    answers: Sequence[Answer],
    statistic: str,
    throughput_unit: tuple[str, float] | None,
    words: Words,
) -> str:
    """Return, as text, the table of times and derived values of measured runs; the range of
    repetitions is in brackets.
    """
    solved_answers = [answer for answer in answers if not answer.failed]
    if not solved_answers:
        return ""
    has_spread = any(
        "time" in answer.values and answer.values["time"].low is not None
        for answer in solved_answers
    )
    repetitions_text = (
        f"times are the {_STATISTICS.get(statistic, statistic)} of all repetitions, in brackets the"
        " least and the largest\n\n"
    )
    table = measured_table("", solved_answers, (LOST, "one_processor"), throughput_unit)
    headings, rows, _ = table_texts(replace(table, provenance=None), is_markdown=False)
    used_column_indices = [
        column_index
        for column_index in range(len(headings))
        if any(row[column_index] != NOTHING for row in rows)
    ]
    used_cells = [[row[column_index] for column_index in used_column_indices] for row in rows]
    titles = [headings[column_index] for column_index in used_column_indices]
    if titles[0] == "p" and words.member != "processor":
        titles[0] = words.members
    return (repetitions_text if has_spread else "") + plain_table(
        titles, used_cells, range(len(used_column_indices))
    )


def _losses_table(answers: Sequence[Answer], words: Words) -> str:
    """Return the table of processors lost, with a row for each cause, the largest first; if there
    are many points, in several blocks that fit the width.
    """
    accounted_answers = [answer for answer in answers if _loss_by_cause(answer)]
    largest_loss_by_cause: dict[str, float] = {}
    for answer in accounted_answers:
        for cause, lost_processors in _loss_by_cause(answer).items():
            largest_loss_by_cause[cause] = max(
                largest_loss_by_cause.get(cause, 0.0), abs(lost_processors)
            )
    causes_by_loss = sorted(
        (cause for cause in largest_loss_by_cause if largest_loss_by_cause[cause] > _ZERO_LOSS),
        key=lambda cause: -largest_loss_by_cause[cause],
    )
    if not causes_by_loss:
        return ""
    shown_causes = [
        cause for cause in causes_by_loss if largest_loss_by_cause[cause] > _NEGLIGIBLE_LOSS
    ][:_MOST_CAUSES] or causes_by_loss[:1]
    other_causes = [cause for cause in causes_by_loss if cause not in shown_causes]
    paragraphs = [f"where the {words.members} go"]
    block_count = -(-len(accounted_answers) // _MOST_COLUMNS)
    columns_in_block = -(-len(accounted_answers) // block_count)
    paragraphs += [
        _processors_table(
            accounted_answers[first_column : first_column + columns_in_block],
            shown_causes,
            other_causes,
            words,
        )
        for first_column in range(0, len(accounted_answers), columns_in_block)
    ]
    if other_causes:
        names_text = ", ".join(map(_shortened_cause, other_causes[:_MOST_CAUSES]))
        paragraphs.append(
            wrapped(f"others: {names_text}{', ...' if len(other_causes) > _MOST_CAUSES else ''}")
        )
    return "\n\n".join(paragraphs)


def _processors_table(
    accounted_answers: Sequence[Answer],
    shown_causes: Sequence[str],
    other_causes: Sequence[str],
    words: Words,
) -> str:
    """Return the table of the useful and the lost processors of several points, with a column for
    each point.
    """
    losses_of_points = [_loss_by_cause(answer) for answer in accounted_answers]
    useful_counts = [
        float(answer.point["p"]) - sum(losses.values())
        for answer, losses in zip(accounted_answers, losses_of_points, strict=True)
    ]
    rows = [["useful", *(plain_decimal(useful_count) for useful_count in useful_counts)]]
    rows += [
        [_shortened_cause(cause), *(three_digits(losses.get(cause)) for losses in losses_of_points)]
        for cause in shown_causes
    ]
    if other_causes:
        rows.append(
            [
                "others",
                *(
                    three_digits(sum(losses.get(cause, 0.0) for cause in other_causes))
                    for losses in losses_of_points
                ),
            ]
        )
    headings = [
        words.members,
        *(f"p = {_coordinates_text(answer)}" for answer in accounted_answers),
    ]
    return plain_table(headings, rows, range(1, len(headings)))


def _shortened_cause(name: str) -> str:
    """Shorten the name of a cause for a table."""
    return name if len(name) <= _LONGEST_CAUSE else f"{name[: _LONGEST_CAUSE - 3]}..."


def largest_loss_sentence(answers: Sequence[Answer], words: Words = NO_WORDS) -> str:
    """Return a sentence on the largest loss at the largest number of processors; empty if losses
    are small.

    Parameters
    ----------
    answers : one for each size and number of processors
    words : what one of the processors is called
    """
    accounted_answers = [answer for answer in answers if _loss_by_cause(answer)]
    if not accounted_answers:
        return ""
    answer = max(
        accounted_answers,
        key=lambda accounted_answer: (
            float(accounted_answer.point["p"]),
            float(accounted_answer.point.get("n", 0.0)),
        ),
    )
    cause, lost_processors = max(
        _loss_by_cause(answer).items(), key=lambda cause_and_loss: cause_and_loss[1]
    )
    if lost_processors <= _NEGLIGIBLE_LOSS:
        return ""
    beginning = with_noun_for_processors(f"Of p = {_coordinates_text(answer)}", words)
    if cause == "lost":
        lost_text = three_digits(lost_processors)
        return f"{beginning}, {lost_text} are lost; the data do not say to what."
    return (
        f"{beginning}, {three_digits(lost_processors)} are lost to {_shortened_cause(cause)},"
        " more than to anything else."
    )


def with_noun_for_processors(text: str, words: Words) -> str:
    """Return a text in which numbers of processors have the reader's noun.

    >>> with_noun_for_processors("falls between p = 16 and p = 32", Words(member="thread"))
    'falls between 16 threads and 32 threads'
    >>> with_noun_for_processors(
    ...     "64 processors are 2 times the largest measured", Words(member="thread")
    ... )
    '64 threads are 2 times the largest measured'
    """
    counted_text = _PLACE_PATTERN.sub(lambda match: words.member_count(float(match[1])), text)
    return _PROCESSORS_WORD.sub(words.members, counted_text)


_PROCESSORS_WORD = late_pattern(r"(?<![.\w])processors\b")
_PLACE_PATTERN = late_pattern(r"(?<= )p = (\d+(?:\.\d+)?(?:e\+\d+)?)")


def loss_headline(answers: Sequence[Answer], words: Words) -> str:
    """Return a sentence on the largest loss at the largest number of processors, with the reader's
    nouns; empty if losses are small.

    Parameters
    ----------
    answers : one for each size and number of processors
    words : of the study
    """
    accounted_answers = [answer for answer in answers if _loss_by_cause(answer)]
    if not accounted_answers:
        return ""
    answer = max(accounted_answers, key=lambda accounted_answer: float(accounted_answer.point["p"]))
    cause, lost_processors = max(
        _loss_by_cause(answer).items(), key=lambda cause_and_loss: cause_and_loss[1]
    )
    if lost_processors <= _NEGLIGIBLE_LOSS:
        return ""
    processors_text = words.member_count(float(answer.point["p"]))
    if cause == "lost":
        return (
            f"of {processors_text}, {three_digits(lost_processors)} are lost; the data do"
            " not say to what"
        )
    return (
        f"of {processors_text}, {three_digits(lost_processors)} are lost to"
        f" {quoted_name(cause)}, more than"
        " to"
        " anything else"
    )


def quoted_name(name: str) -> str:
    """Return the name of a part of a program, in quotes unless it is plain words.

    >>> quoted_name("locks"), quoted_name("SemLock.__exit__")
    ('locks', '"SemLock.__exit__"')
    """
    return (
        name
        if re.fullmatch(r"[\w -]+", name) and "_" not in name
        else f'"{_shortened_cause(name)}"'
    )


def _comparison_with_one_processor(answers: Sequence[Answer]) -> str:
    """Return, as text, the comparison of the time on one processor that waits imply, N T_N - W_N,
    with the measured one, which tests the assumptions.
    """
    answers_with_drift = [answer for answer in answers if "one_processor_drift" in answer.values]
    if all(answer.point["p"] == 1 for answer in answers_with_drift):
        return ""
    drifts = [answer["one_processor_drift"] or 0.0 for answer in answers_with_drift]
    rows = [
        [
            f"{answer.point['p']:g}",
            amount_text(answer.values["one_processor_estimate"]),
            percent(drift, 2, with_sign=True),
        ]
        for answer, drift in zip(answers_with_drift, drifts, strict=True)
    ]
    table = plain_table(["p", "N T_N - W_N", "against T_1"], rows, range(3))
    largest_drift = max(drifts, key=abs)
    if abs(largest_drift) <= 0.05:
        explanation = (
            "the same work is done with N processors as with one, and little is lost that was not"
            " measured"
        )
    elif largest_drift > 0:
        explanation = (
            "more work is done with N processors than with one, or something is lost that was not"
            " measured"
        )
    else:
        explanation = (
            "less work is done with N processors than with one, or waits are counted twice"
        )
    single_time = amount_text(answers_with_drift[0].values["one_processor_time"])
    sentence_start = "Within" if abs(largest_drift) <= 0.05 else "The account misses it by up to"
    sentence = f"{sentence_start} {percent(abs(largest_drift), 2)}: {explanation}."
    return f"the assumptions: T_1 = {single_time} measured\n\n{table}\n\n{wrapped(sentence)}"


def _loss_by_cause(answer: Answer) -> dict[str, float]:
    """Return the processors lost in an answer, by cause."""
    loss_by_name = {
        name: value.value for name, value in answer.values.items() if name.startswith(LOST)
    }
    return {name[len(LOST) : -1]: loss for name, loss in loss_by_name.items() if loss is not None}


def _coordinates_text(answer: Answer) -> str:
    """Return the number of processors of an answer, and its size if it has one, as text."""
    processors_text = plain_decimal(float(answer.point["p"]), _DIGITS_OF_RATES)
    size_text = (
        plain_decimal(float(answer.point["n"]), _DIGITS_OF_RATES) if "n" in answer.point else ""
    )
    return f"{processors_text}, n = {size_text}" if size_text else processors_text


def amount_text(value: Value | None) -> str:
    """Return a quantity as text; times between a second and a day stay in seconds, so that they can
    be compared.
    """
    if value is None or value.value is None:
        return ""
    stays_in_seconds = value.unit == "s" and 1 <= abs(value.value) < 86_400
    return f"{value.value:.4g} s" if stays_in_seconds else quantity(value.value, value.unit)
