"""The report of a study, in Markdown: what was found in a few sentences, questions, sweeps,
pictures, cases, inputs.

The head is in `slipstick.report.head`. A small sweep is written point by point, a large one by its
ends and extremes. A gallery lists reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.late import dataclass, np, replace
from slipstick.report.formatting import (
    INTERVALS,
    NOTHING,
    NOTHING_SAID,
    Notes,
    axis_value,
    code,
    escape,
    markdown_blocks,
    markdown_table,
    prose,
    quantity,
    question_section,
    result_table,
    section,
    with_noun,
)
from slipstick.report.head import computed_by, decision_table, head_lines
from slipstick.report.shorten import ABOUT, with_needed_explanation
from slipstick.results.question import ResultColumn, sweep_table
from slipstick.results.study import Results, case_table
from slipstick.results.sweep import Axis, Sweep

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import Drawn, StudySpec


MOST_POINTS = 40
"""The largest number of points of a sweep that are written one by one."""

_MOST_COLUMNS = 8
_MOST_CHANGES = 12
_MOST_GROUPS = 12


def sweep_text(
    sweep: Sweep, value_names: Sequence[str], common_words: Mapping[str, str] = NOTHING_SAID
) -> str:
    """Write the section of a sweep: its table or, of many points, what was varied, the extremes,
    where the limiting stage changes, and failed points.

    Parameters
    ----------
    sweep : its points
    value_names : the values to show
    common_words : of how they were computed, see `slipstick.report.formatting.table_texts`
    """
    column_names = [name for name in dict.fromkeys(value_names) if name in sweep.columns][
        :_MOST_COLUMNS
    ]
    is_short = len(sweep) <= MOST_POINTS
    size_text = f"{with_noun(len(sweep), 'point')} in {with_noun(len(set(sweep.cases)), 'case')}"
    blocks = [
        f"### {escape(sweep.name)}",
        "" if is_short else f"{'; '.join(map(_axis_text, sweep.axes))}; {size_text}.",
        "" if is_short else _outside_text(sweep),
        result_table(sweep_table(sweep, column_names), common_words)
        if is_short
        else _extremes_table(sweep, column_names),
        _stages_text(sweep),
        f"Without effect: {', '.join(map(code, sweep.idle))}." if sweep.idle else "",
        # Tables of few points name failures in their rows.
        "" if is_short else _failures_text(sweep),
    ]
    return "\n\n".join(block for block in blocks if block)


def _outside_text(sweep: Sweep) -> str:
    """Write how many points lie outside of their bounds by more than their intervals allow, and
    where the first of them is. Write also how many exceed a bound by less than two half-widths.
    """
    sentence_by_row = sweep.provenance.contradictions
    within_count = len(sweep.provenance.outside) - len(sentence_by_row)
    sentences = []
    if sentence_by_row:
        first_row = min(sentence_by_row)
        count_text = with_noun(len(sentence_by_row), "point lies", "points lie")
        place_text = _point_text(sweep, sweep.axes, first_row)
        sentences.append(
            f"{count_text} outside of the bounds, the first at {place_text}:"
            f" {sentence_by_row[first_row]}."
        )
    if within_count:
        sentences.append(
            f"At {with_noun(within_count, 'point')} the estimate is beyond a bound by less than"
            " twice the half-width of its interval, which is not counted as a contradiction."
        )
    return escape(" ".join(sentences))


def _axis_text(axis: Axis) -> str:
    if len(axis.values) <= 4 or axis.has_names:
        return (
            f"{code(axis.path)}:"
            f" {', '.join(escape(axis_value(value, axis.unit)) for value in axis.values)}"
        )
    first_value = axis_value(axis.values[0], axis.unit)
    last_value = axis_value(axis.values[-1], axis.unit)
    return f"{code(axis.path)}: {len(axis.values)} values from {first_value} to {last_value}"


@dataclass(frozen=True, slots=True)
class _SweepPart:
    """A part of the points of a sweep: the points of one case or, if these are few, the points that
    differ in the last axis only.
    """

    tags: tuple[str, ...]  # the case and the places
    axes: tuple[Axis, ...]  # what varies within
    indices: tuple[int, ...]


def _sweep_parts(sweep: Sweep) -> list[_SweepPart]:
    part_count = prod(len(axis.values) for axis in sweep.axes[:-1])
    # Where values are varied side by side, every place has one point only.
    fixed_axes = (
        sweep.axes[:-1]
        if part_count <= min(_MOST_GROUPS, len(sweep) // (2 * len(set(sweep.cases))))
        else ()
    )
    rows_by_tags: dict[tuple[str, ...], list[int]] = {}
    for index, case in enumerate(sweep.cases):
        axis_values = (axis_value(sweep.points[axis.path][index], axis.unit) for axis in fixed_axes)
        rows_by_tags.setdefault((case, *axis_values), []).append(index)
    return [
        _SweepPart(tags, sweep.axes[len(fixed_axes) :], tuple(indices))
        for tags, indices in rows_by_tags.items()
    ]


def _extremes_table(sweep: Sweep, names: Sequence[str]) -> str:
    """Write a table of each part of a sweep: a value at its first and last point, and the smallest
    and the greatest value with their points.
    """
    rows = []
    sweep_parts = _sweep_parts(sweep)
    for sweep_part in sweep_parts:
        for name in names:
            values = sweep.columns[name][list(sweep_part.indices)]
            # Points without an answer are no extremes.
            finite_positions = np.flatnonzero(np.isfinite(values))
            shown_positions = []
            if len(finite_positions):
                least_position = finite_positions[values[finite_positions].argmin()]
                greatest_position = finite_positions[values[finite_positions].argmax()]
                shown_positions = [
                    finite_positions[0],
                    finite_positions[-1],
                    least_position,
                    greatest_position,
                ]
            value_texts = [
                _value_at(sweep, sweep_part, name, sweep_part.indices[position])
                for position in shown_positions
            ]
            methods = dict.fromkeys(sweep.provenance.methods[index] for index in sweep_part.indices)
            are_exact = all(sweep.provenance.exact[index] for index in sweep_part.indices)
            provenance_cells = [escape(" and ".join(methods)), "yes" if are_exact else "no"]
            rows.append(
                [
                    *map(escape, sweep_part.tags),
                    escape(name),
                    *(value_texts or [NOTHING] * 4),
                    *provenance_cells,
                ]
            )
    fixed_axes = sweep.axes[: len(sweep.axes) - len(sweep_parts[0].axes)]
    axis_titles = [code(axis.path) for axis in fixed_axes]
    return markdown_table(
        ["case", *axis_titles, "value", "first", "last", "least", "greatest", "method", "exact"],
        rows,
    )


def _value_at(sweep: Sweep, sweep_part: _SweepPart, name: str, index: int) -> str:
    """Write a value of a sweep at one point, with the values of the axes that vary in the part of
    the sweep.
    """
    value, low, high = (float(column[index]) for column in (sweep.columns[name], *sweep.ends(name)))
    bound_remark = ", outside of its bounds" if index in sweep.provenance.contradictions else ""
    return (
        f"{quantity(value, sweep.units[name], ends=(low, high))} at"
        f" {_point_text(sweep, sweep_part.axes, index)}{bound_remark}"
    )


def _point_text(sweep: Sweep, axes: Sequence[Axis], index: int) -> str:
    axis_values = [escape(axis_value(sweep.points[axis.path][index], axis.unit)) for axis in axes]
    return axis_values[0] if len(axis_values) == 1 else f"({', '.join(axis_values)})"


def _stages_text(sweep: Sweep) -> str:
    """Write which stage limits each pipeline: in order along the last axis, or by number of
    points.
    """
    if not len(sweep):
        return ""
    sweep_parts = _sweep_parts(sweep)
    paragraphs = []
    direction_text = f", along {code(sweep.axes[-1].path)}" if len(sweep_parts[0].axes) == 1 else ""
    for pipeline, stages in sweep.limits.items():
        stage_lines = []
        for sweep_part in sweep_parts:
            row_indices = [index for index in sweep_part.indices if stages[index]]
            run_texts = _run_texts(sweep, stages, row_indices) if len(sweep_part.axes) == 1 else []
            counts_by_stage = Counter(stages[index] for index in row_indices).most_common()
            counts_in_words = ", ".join(
                f"{escape(stage)} at {with_noun(count, 'point')}"
                for stage, count in counts_by_stage
            )
            stages_in_words = (
                "; then ".join(run_texts)
                if 0 < len(run_texts) <= _MOST_CHANGES
                else counts_in_words
            )
            if stages_in_words:
                stage_lines.append(f"- {escape(', '.join(sweep_part.tags))}: {stages_in_words}")
        if stage_lines:
            paragraphs.append(
                "\n".join(
                    [f"Limiting stage of {escape(pipeline)}{direction_text}:\n", *stage_lines]
                )
            )
    return "\n\n".join(paragraphs)


def _run_texts(sweep: Sweep, stages: Sequence[str], rows: Sequence[int]) -> list[str]:
    """Return a phrase for each run of neighbouring rows with the same limiting stage."""
    run_texts = []
    axis = sweep.axes[-1]
    for stage, run_rows in groupby(rows, key=lambda index: stages[index]):
        axis_values = [sweep.points[axis.path][index] for index in run_rows]
        first_value, last_value = (
            escape(axis_value(value, axis.unit)) for value in (axis_values[0], axis_values[-1])
        )
        run_texts.append(
            f"{escape(stage)} at {first_value}"
            if len(axis_values) == 1
            else f"{escape(stage)} from {first_value} to {last_value}"
        )
    return run_texts


def _failures_text(sweep: Sweep) -> str:
    """Write how many points have no answer, and why the first of them has none."""
    if not sweep.failed:
        return ""
    index, reason = next(iter(sweep.failed.items()))
    return (
        f"{with_noun(len(sweep.failed), 'point has', 'points have')} no answer; the first, "
        f"{escape(sweep.cases[index])} at {_point_text(sweep, sweep.axes, index)}: {escape(reason)}"
    )


_MOST_NAMES = 4
_FEW_VALUES = 6
_MOST_SETTINGS = 4
_OTHER_FILES_SENTENCE = (
    "Every point is in [results.csv](results.csv), every input with its hash in"
    " [inputs.yaml](inputs.yaml)."
)

_MOST_TAKEOVERS = 4
_MOST_PIPELINES = 60

_TAKEOVERS = (
    f"The {_MOST_TAKEOVERS} smallest changes of a single parameter after which another stage is the"
    " slowest. `slipstick solve --json` gives all."
)


def report_in_markdown(
    results: Results,
    study: StudySpec,
    pictures: Mapping[str, Sequence[str]],
    command: str,
    missing_reason: str = "",
) -> str:
    """Write the whole report in Markdown: all words and tables, pictures by the names of their
    files, and how to repeat it.

    Parameters
    ----------
    results : of a study
    study : what was asked
    pictures : names of the files of each picture, by the picture's name
    command : what was typed
    missing_reason : why no picture is drawn, to stand in their place
    """
    # None stands for the first picture of a study without any.
    first_picture, *further_pictures = [*study.pictures, None]
    common_words = _common_method(results)
    sentences = head_lines(results, study.answer)
    alternatives = decision_table(results, study.answer)
    source_text = f"Source: {escape(results.source)}" if results.source else ""
    blocks = [
        f"# {escape(results.title or results.name)}",
        "\n".join(f"- {escape(sentence)}" for sentence in sentences),
        "\n\n".join(markdown_blocks([alternatives])) if alternatives else "",
        prose(INTERVALS) if results.simulated else "",
        prose(missing_reason) or _picture_markdown(first_picture, pictures),
        section(ABOUT, [prose(results.text), source_text]) if results.text or source_text else "",
        *(question_section(question, common_words) for question in results.questions.values()),
        (
            section(
                "Sweeps",
                [sweep_text(sweep, study.answer, common_words) for sweep in results.sweeps],
            )
            if results.sweeps
            else ""
        ),
        (
            section(
                "Pictures", [_picture_markdown(picture, pictures) for picture in further_pictures]
            )
            if further_pictures[:-1] and pictures
            else ""
        ),
        _limits_section(results),
        _cases_section(results, study.answer, common_words) if results.cases else "",
        "\n- ".join(["## Notes\n", *map(escape, results.notes)]) if results.notes else "",
        _inputs_section(results, study.answer, command),
    ]
    # A section calls members of a population processors where the head has their noun.
    doubts = (question.doubt() for question in results.questions.values())
    known_claims = escape(" ".join((*sentences, *doubts))).casefold()
    new_blocks = (
        _without_claims(block, known_claims) if block.startswith("## ") else block
        for block in blocks
    )
    return with_needed_explanation("\n\n".join(filter(None, new_blocks)) + "\n")


def _without_claims(block_text: str, known_claims_text: str) -> str:
    """Remove from the lists of a section the claims that the head already makes in the same
    words.
    """
    blocks = []
    for block in block_text.split("\n\n"):
        lines = block.split("\n")
        other_lines = [
            line
            for line in lines
            if not line.startswith("- ") or _claim_of_item(line) not in known_claims_text
        ]
        blocks += ["\n".join(other_lines)] * bool(other_lines)
    return "\n\n".join(blocks)


def _claim_of_item(line: str) -> str:
    """Return the claim of a list item without its marks and in lower case.

    >>> _claim_of_item("- warning: It is full.")
    'it is full'
    """
    return line.removeprefix("- ").removeprefix("warning: ").rstrip(".").casefold()


def _common_method(results: Results) -> Mapping[str, str]:
    """Return the method and the exactness that all cases and points have in common, which the head
    states once; an empty mapping if they differ.
    """
    if len(methods_and_exactness := computed_by(results)) != 1:
        return NOTHING_SAID
    ((method, exact),) = methods_and_exactness
    return {"method": method, "exact": "yes" if exact else "no"}


def _cases_section(
    results: Results, value_names: Sequence[str], common_words: Mapping[str, str]
) -> str:
    value_names_of_table = [
        name for name in dict.fromkeys(value_names) if "[" not in name
    ] or _names_for_cases(results, value_names)
    answers = list(results.cases.values())
    notes = Notes()
    table = case_table(results, value_names_of_table)
    note_numbers = [
        ", ".join(str(notes.number(note)) for note in answer.notes) for answer in answers
    ]
    has_several_models = len({answer.model for answer in answers}) > 1  # else the head has it
    model_columns = [
        ResultColumn("model", [answer.model for answer in answers])
    ] * has_several_models
    difference_column = ResultColumn(
        "differs from the base in",
        [_settings_text(results, case) or None for case in results.cases],
    )
    note_columns = [ResultColumn("notes", note_numbers)] * (len(set(note_numbers)) > 1)
    page_table = replace(
        table,
        columns=[
            table.columns[0],
            *model_columns,
            difference_column,
            *table.columns[1:],
            *note_columns,
        ],
    )
    note_list = "\n".join(
        f"{f'{number}.' if note_columns else '-'} {escape(text)}"
        for number, text in notes.text_by_number.items()
    )
    return section("Cases", [result_table(page_table, common_words), note_list])


def _names_for_cases(results: Results, value_names: Sequence[str]) -> list[str]:
    """Return few requested values, or of many as few as needed for every case to have one."""
    if len(value_names) <= _FEW_VALUES:
        return list(value_names)
    chosen_names: list[str] = []
    for answer in results.cases.values():
        if not any(answer.find(name) is not None for name in chosen_names):
            chosen_names += [name for name in value_names if answer.find(name) is not None][:1]
    return chosen_names or list(value_names[:1])


def _settings_text(results: Results, case: str) -> str:
    """List the settings in which a case differs, those that few other cases share first."""
    count_by_setting = Counter(
        item for settings in results.settings.values() for item in settings.items()
    )
    # A setting that few cases have tells this case from the others.
    settings_rarest_first = sorted(
        results.settings.get(case, {}).items(), key=lambda item: count_by_setting[item]
    )
    # The model has a column of its own.
    setting_texts = [f"{path} {text}" for path, text in settings_rarest_first if path != "model"]
    remainder_texts = (
        [f"and {len(setting_texts) - _MOST_SETTINGS} more"]
        if len(setting_texts) > _MOST_SETTINGS
        else []
    )
    return ", ".join([*setting_texts[:_MOST_SETTINGS], *remainder_texts])


def _limits_section(results: Results) -> str:
    """Write which stage limits each pipeline in each case, and which changes of one parameter move
    the limit to another stage.
    """
    cases_and_limits = [
        (escape(case), limit) for case, answer in results.cases.items() for limit in answer.limits
    ]
    if not cases_and_limits:
        return ""
    if len(cases_and_limits) > _MOST_PIPELINES:
        return (
            f"## What limits\n\n{len(cases_and_limits)} pipelines; `slipstick solve --json` says"
            " what limits each of them."
        )
    stage_texts = [
        ", ".join(f"{escape(name)} {quantity(time, 's')}" for name, time in limit.stages.items())
        for _, limit in cases_and_limits
    ]
    rows = [
        [case, escape(limit.pipeline), escape(limit.stage), stage_times]
        for (case, limit), stage_times in zip(cases_and_limits, stage_texts, strict=True)
    ]
    paragraphs = [
        markdown_table(
            ["case", "pipeline", "limiting stage", "one item at each serial stage"], rows
        )
    ]
    if takeover_rows := [
        [
            case,
            escape(limit.pipeline),
            "; ".join(
                f"{code(takeover.path)} from {quantity(takeover.now, takeover.unit)} to"
                f" {quantity(takeover.value, takeover.unit)}: {escape(takeover.stage)}"
                for takeover in limit.takeovers[:_MOST_TAKEOVERS]
            ),
        ]
        for case, limit in cases_and_limits
        if limit.takeovers
    ]:
        paragraphs += [
            _TAKEOVERS,
            markdown_table(["case", "pipeline", "nearest takeovers"], takeover_rows),
        ]
    return "\n\n".join(["## What limits", *paragraphs])


def _picture_markdown(spec: Drawn | None, pictures: Mapping[str, Sequence[str]]) -> str:
    """Write the Markdown of a picture with its caption below it."""
    picture_files = pictures.get(spec.name, ()) if spec else ()
    if spec is None or not picture_files:
        return ""
    file_by_ending = {file_name.rpartition(".")[2]: file_name for file_name in picture_files}
    title = escape(spec.title, in_brackets=True)
    picture = f"[![{title}]({file_by_ending['png']})]({file_by_ending['svg']})"
    return "\n\n".join(filter(None, [picture, " ".join(prose(spec.text).split())]))


def _inputs_section(results: Results, value_names: Sequence[str], command: str) -> str:
    """Write the section on inputs: what was asked, the command that repeats it, and the files of
    the report.
    """
    file_links = [
        f"[{file_name}]({file_name})"
        for question in results.questions.values()
        for file_name in question.files()
    ]
    further_sentence = f" More values are in {', '.join(file_links)}." if file_links else ""
    return section(
        "Inputs",
        [
            (
                f"{_request_text(results, value_names)}. Repeat with {code(command)}."
                f" {_OTHER_FILES_SENTENCE}{further_sentence}"
            )
        ],
    )


def _request_text(results: Results, value_names: Sequence[str]) -> str:
    phrases = []
    if results.cases:
        models_text = ", ".join(
            list(dict.fromkeys(answer.model for answer in results.cases.values()))[:_MOST_NAMES]
        )
        names_text = ", ".join(
            [*value_names[:_MOST_NAMES], *(["more"] if len(value_names) > _MOST_NAMES else [])]
        )
        phrases.append(f"{names_text} of {with_noun(len(results.cases), 'case')} of {models_text}")
    if results.sweeps:
        points_text = with_noun(sum(map(len, results.sweeps)), "point")
        phrases.append(f"{with_noun(len(results.sweeps), 'sweep')} of {points_text}")
    phrases += [
        question.heading[:1].lower() + question.heading[1:]
        for question in results.questions.values()
    ]
    return escape(f"Asked: {'; '.join(phrases)}")


def gallery(folders: Sequence[Path]) -> str:
    """Write one page on several reports: for each report its first picture, the question, the
    answer and a link.

    Parameters
    ----------
    folders : of reports, as `slipstick.report.write.write` made them; one without a report is left
        out
    """
    blocks = [
        "# Studies",
        "For people who look for a study like theirs: questions with links, answers and pictures.",
    ]
    for folder in folders:
        path = folder / "report.md"
        if path.is_file():
            # A report begins with its title and its findings, see `report_in_markdown`.
            title, findings, *paragraphs = path.read_text("utf-8").split("\n\n")
            picture_markdown = next(
                (paragraph for paragraph in paragraphs if paragraph.startswith("[![")), ""
            ).replace("](", f"]({folder.name}/")
            blocks += [
                f"## [{title.removeprefix('# ')}]({folder.name}/report.md)",
                findings.partition("\n")[0].removeprefix("- "),
                picture_markdown,
            ]
    return "\n\n".join(block for block in blocks if block) + "\n"
