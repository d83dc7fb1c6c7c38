"""The report of a study, in Markdown: what was found in a few sentences, questions, sweeps,
pictures, cases, inputs.

The head is in `slipstick.report.head`. A small sweep is written point by point, a large one by its ends and extremes. A gallery
lists reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.answer import Takeover
from slipstick.late import np
from slipstick.report.formatting import (
    INTERVALS,
    NOTHING,
    NOTHING_SAID,
    Notes,
    axis_value,
    code,
    counted,
    escape,
    markdown_blocks,
    markdown_table,
    prose,
    quantity,
    question_section,
    result_table,
    section,
)
from slipstick.report.head import computed_by, decision, head_lines
from slipstick.report.shorten import ABOUT
from slipstick.results.question import ResultColumn, sweep_table
from slipstick.results.study import Results, case_table
from slipstick.results.sweep import Axis, Sweep

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import Drawn, StudySpec


MOST_POINTS = 40
_MOST_COLUMNS = 8
_MOST_CHANGES = 12
_MOST_GROUPS = 12


def sweep_text(
    sweep: Sweep, answer: Sequence[str], words_said: Mapping[str, str] = NOTHING_SAID
) -> str:
    """Write the section of a sweep: its table or, of many points, what was varied, the extremes,
    where the limiting stage changes, and failed points.

    Parameters
    ----------
    sweep : its points
    answer : the values to show
    words_said : of how they were computed, see `slipstick.report.formatting.table_texts`
    """
    names = [name for name in dict.fromkeys(answer) if name in sweep.columns][:_MOST_COLUMNS]
    few = len(sweep) <= MOST_POINTS
    size = f"{counted(len(sweep), 'point')} in {counted(len(set(sweep.cases)), 'case')}"
    blocks = [
        f"### {escape(sweep.name)}",
        "" if few else f"{'; '.join(map(_axis_text, sweep.axes))}; {size}.",
        "" if few else _outside(sweep),
        result_table(sweep_table(sweep, names), words_said) if few else _extremes(sweep, names),
        _stages(sweep),
        f"Without effect: {', '.join(map(code, sweep.idle))}." if sweep.idle else "",
        # Tables of few points name failures in their rows.
        "" if few else _failures(sweep),
    ]
    return "\n\n".join(block for block in blocks if block)


def _outside(sweep: Sweep) -> str:
    """Write how many points lie outside of their bounds, and where the first of them is."""
    outside = sweep.provenance.outside
    if not outside:
        return ""
    first = min(outside)
    count = counted(len(outside), "point lies", "points lie")
    return escape(
        f"{count} outside of the bounds, the first at {_point(sweep, sweep.axes, first)}:"
        f" {outside[first]}."
    )


def _axis_text(axis: Axis) -> str:
    if len(axis.values) <= 4 or axis.named:
        return (
            f"{code(axis.path)}:"
            f" {', '.join(escape(axis_value(value, axis.unit)) for value in axis.values)}"
        )
    first = axis_value(axis.values[0], axis.unit)
    last = axis_value(axis.values[-1], axis.unit)
    return f"{code(axis.path)}: {len(axis.values)} values from {first} to {last}"


@dataclass(frozen=True, slots=True)
class _SweepPart:
    """Part of a sweep's points: those of one case, or those with the same values of all axes but
    the last, if these are few.
    """

    tags: tuple[str, ...]  # the case and the places
    axes: tuple[Axis, ...]  # what varies within
    indices: tuple[int, ...]


def _groups(sweep: Sweep) -> list[_SweepPart]:
    several = prod(len(axis.values) for axis in sweep.axes[:-1])
    # Where values are varied side by side, every place has one point only.
    fixed = (
        sweep.axes[:-1]
        if several <= min(_MOST_GROUPS, len(sweep) // (2 * len(set(sweep.cases))))
        else ()
    )
    rows_by_place: dict[tuple[str, ...], list[int]] = {}
    for index, case in enumerate(sweep.cases):
        places = (axis_value(sweep.points[axis.path][index], axis.unit) for axis in fixed)
        rows_by_place.setdefault((case, *places), []).append(index)
    return [
        _SweepPart(tags, sweep.axes[len(fixed) :], tuple(indices))
        for tags, indices in rows_by_place.items()
    ]


def _extremes(sweep: Sweep, names: Sequence[str]) -> str:
    """Write a table of the first and the last point of each part of a sweep, and where each value
    is least and greatest.
    """
    rows = []
    groups = _groups(sweep)
    for group in groups:
        for name in names:
            values = sweep.columns[name][list(group.indices)]
            # Points without an answer are no extremes.
            finite = np.flatnonzero(np.isfinite(values))
            spots = []
            if len(finite):
                least = finite[values[finite].argmin()]
                most = finite[values[finite].argmax()]
                spots = [finite[0], finite[-1], least, most]
            texts = [_value_at(sweep, group, name, group.indices[spot]) for spot in spots]
            methods = dict.fromkeys(sweep.provenance.methods[index] for index in group.indices)
            exact = all(sweep.provenance.exact[index] for index in group.indices)
            how = [escape(" and ".join(methods)), "yes" if exact else "no"]
            rows.append([*map(escape, group.tags), escape(name), *(texts or [NOTHING] * 4), *how])
    fixed = sweep.axes[: len(sweep.axes) - len(groups[0].axes)]
    places = [code(axis.path) for axis in fixed]
    return markdown_table(
        ["case", *places, "value", "first", "last", "least", "greatest", "method", "exact"], rows
    )


def _value_at(sweep: Sweep, group: _SweepPart, name: str, index: int) -> str:
    value, low, high = (float(column[index]) for column in (sweep.columns[name], *sweep.ends(name)))
    mark = ", outside of its bounds" if index in sweep.provenance.outside else ""
    return (
        f"{quantity(value, sweep.units[name], ends=(low, high))} at"
        f" {_point(sweep, group.axes, index)}{mark}"
    )


def _point(sweep: Sweep, axes: Sequence[Axis], index: int) -> str:
    words = [escape(axis_value(sweep.points[axis.path][index], axis.unit)) for axis in axes]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _stages(sweep: Sweep) -> str:
    """Write which stage limits each pipeline: in order along the last axis, or by number of
    points.
    """
    if not len(sweep):
        return ""
    groups = _groups(sweep)
    paragraphs = []
    along = f", along {code(sweep.axes[-1].path)}" if len(groups[0].axes) == 1 else ""
    for pipeline, stages in sweep.limits.items():
        lines = []
        for group in groups:
            places = [index for index in group.indices if stages[index]]
            runs = _runs(sweep, stages, places) if len(group.axes) == 1 else []
            counts = Counter(stages[index] for index in places).most_common()
            numbers = ", ".join(
                f"{escape(stage)} at {counted(count, 'point')}" for stage, count in counts
            )
            words = "; then ".join(runs) if 0 < len(runs) <= _MOST_CHANGES else numbers
            if words:
                lines.append(f"- {escape(', '.join(group.tags))}: {words}")
        if lines:
            paragraphs.append(
                "\n".join([f"Limiting stage of {escape(pipeline)}{along}:\n", *lines])
            )
    return "\n\n".join(paragraphs)


def _runs(sweep: Sweep, stages: Sequence[str], places: Sequence[int]) -> list[str]:
    runs = []
    axis = sweep.axes[-1]
    for stage, run in groupby(places, key=lambda index: stages[index]):
        inside = [sweep.points[axis.path][index] for index in run]
        first, last = (escape(axis_value(value, axis.unit)) for value in (inside[0], inside[-1]))
        runs.append(
            f"{escape(stage)} at {first}"
            if len(inside) == 1
            else f"{escape(stage)} from {first} to {last}"
        )
    return runs


def _failures(sweep: Sweep) -> str:
    if not sweep.failed:
        return ""
    index, why = next(iter(sweep.failed.items()))
    return (
        f"{counted(len(sweep.failed), 'point has', 'points have')} no answer; the first, "
        f"{escape(sweep.cases[index])} at {_point(sweep, sweep.axes, index)}: {escape(why)}"
    )


_MOST_NAMES = 4
_MOST_SETTINGS = 4
_ELSEWHERE = (
    "Every point is in [results.csv](results.csv), every input with its hash in"
    " [inputs.yaml](inputs.yaml)."
)

_NEAREST = 4
_MOST_PIPELINES = 60

_TAKEOVERS = (
    f"Where another stage takes over, each parameter changed alone: the {_NEAREST} smallest"
    " changes. `slipstick solve --json` gives all."
)


def page(
    results: Results,
    study: StudySpec,
    pictures: Mapping[str, Sequence[str]],
    command: str,
    missing: str = "",
) -> str:
    """Write the whole report in Markdown: all words and tables, pictures by the names of their
    files, and how to repeat it.

    Parameters
    ----------
    results : of a study
    study : what was asked
    pictures : names of the files of each picture, by the picture's name
    command : what was typed
    missing : why no picture is drawn, to stand in their place
    """
    # None stands for the first picture of a study without any.
    first, *further_pictures = [*study.pictures, None]
    words_said = _how(results)
    sentences = head_lines(results, study.answer)
    choices = decision(results, study.answer)
    source = f"Source: {escape(results.source)}" if results.source else ""
    blocks = [
        f"# {escape(results.title or results.name)}",
        "\n".join(f"- {escape(sentence)}" for sentence in sentences),
        "\n\n".join(markdown_blocks([choices])) if choices else "",
        prose(INTERVALS) if results.simulated else "",
        prose(missing) or _picture(first, pictures),
        section(ABOUT, [prose(results.text), source]) if results.text or source else "",
        *(question_section(question, words_said) for question in results.questions.values()),
        (
            section(
                "Sweeps", [sweep_text(sweep, study.answer, words_said) for sweep in results.sweeps]
            )
            if results.sweeps
            else ""
        ),
        (
            section("Pictures", [_picture(picture, pictures) for picture in further_pictures])
            if further_pictures[:-1] and pictures
            else ""
        ),
        _limits(results),
        _cases(results, study.answer, words_said) if results.cases else "",
        "\n- ".join(["## Notes\n", *map(escape, results.notes)]) if results.notes else "",
        _inputs(results, study.answer, command),
    ]
    # A section calls members of a population processors where the head has their noun.
    doubts = (question.doubt() for question in results.questions.values())
    known_claims = escape(" ".join((*sentences, *doubts))).casefold()
    unsaid_blocks = (
        _unsaid(block, known_claims) if block.startswith("## ") else block for block in blocks
    )
    return "\n\n".join(filter(None, unsaid_blocks)) + "\n"


def _unsaid(block_text: str, known_claims: str) -> str:
    """Remove from the lists of a section the claims that the head already makes in the same
    words.
    """
    blocks = []
    for block in block_text.split("\n\n"):
        lines = block.split("\n")
        new_lines = [
            line for line in lines if not line.startswith("- ") or _claim(line) not in known_claims
        ]
        blocks += ["\n".join(new_lines)] * bool(new_lines)
    return "\n\n".join(blocks)


def _claim(line: str) -> str:
    """Return the claim of a list item without its marks and in lower case.

    >>> _claim("- warning: It is full.")
    'it is full'
    """
    return line.removeprefix("- ").removeprefix("warning: ").rstrip(".").casefold()


def _how(results: Results) -> Mapping[str, str]:
    """Return method and exactness of all cases and points if they are the same, since the head then
    says them once; else nothing.
    """
    if len(how := computed_by(results)) != 1:
        return NOTHING_SAID
    ((method, exact),) = how
    return {"method": method, "exact": "yes" if exact else "no"}


def _cases(results: Results, answer: Sequence[str], words_said: Mapping[str, str]) -> str:
    names = [name for name in dict.fromkeys(answer) if "[" not in name] or _first_wanted(
        results, answer
    )
    answers = list(results.cases.values())
    notes = Notes()
    table = case_table(results, names)
    numbers = [", ".join(str(notes.number(note)) for note in answer.notes) for answer in answers]
    several = len({answer.model for answer in answers}) > 1  # else the head has it
    models = [ResultColumn("model", [answer.model for answer in answers])] * several
    differs = ResultColumn(
        "differs from the base in", [_settings(results, case) or None for case in results.cases]
    )
    note_columns = [ResultColumn("notes", numbers)] * (len(set(numbers)) > 1)
    shown = replace(
        table, columns=[table.columns[0], *models, differs, *table.columns[1:], *note_columns]
    )
    listed = "\n".join(
        f"{f'{number}.' if note_columns else '-'} {escape(text)}"
        for number, text in notes.listed.items()
    )
    return section("Cases", [result_table(shown, words_said), listed])


def _first_wanted(results: Results, answer: Sequence[str]) -> list[str]:
    """Choose as few of the requested values as needed for every case to have one of them."""
    chosen: list[str] = []
    for case in results.cases.values():
        if not any(case.find(name) is not None for name in chosen):
            chosen += [name for name in answer if case.find(name) is not None][:1]
    return chosen or list(answer[:1])


def _settings(results: Results, case: str) -> str:
    """List the settings in which a case differs, those that few other cases share first."""
    counts = Counter(item for settings in results.settings.values() for item in settings.items())
    # A setting that few cases have tells this case from the others.
    own = sorted(results.settings.get(case, {}).items(), key=lambda item: counts[item])
    # The model has a column of its own.
    shown = [f"{path} {text}" for path, text in own if path != "model"]
    more = [f"and {len(shown) - _MOST_SETTINGS} more"] if len(shown) > _MOST_SETTINGS else []
    return ", ".join([*shown[:_MOST_SETTINGS], *more])


def _limits(results: Results) -> str:
    """Write which stage limits each pipeline in each case, and which changes of one parameter move
    the limit to another stage.
    """
    limits = [
        (escape(case), limit) for case, answer in results.cases.items() for limit in answer.limits
    ]
    if not limits:
        return ""
    if len(limits) > _MOST_PIPELINES:
        return (
            f"## What limits\n\n{len(limits)} pipelines; `slipstick solve --json` says what limits"
            " each of them."
        )
    stages = [
        ", ".join(f"{escape(name)} {quantity(time, 's')}" for name, time in limit.stages.items())
        for _, limit in limits
    ]
    rows = [
        [case, escape(limit.pipeline), escape(limit.stage), stage_times]
        for (case, limit), stage_times in zip(limits, stages, strict=True)
    ]
    paragraphs = [
        markdown_table(
            ["case", "pipeline", "limiting stage", "one item at each serial stage"], rows
        )
    ]
    if near := [
        [case, escape(limit.pipeline), "; ".join(map(_takeover, limit.takeovers[:_NEAREST]))]
        for case, limit in limits
        if limit.takeovers
    ]:
        paragraphs += [_TAKEOVERS, markdown_table(["case", "pipeline", "nearest takeovers"], near)]
    return "\n\n".join(["## What limits", *paragraphs])


def _takeover(to: Takeover) -> str:
    return (
        f"{code(to.path)} from {quantity(to.now, to.unit)} to {quantity(to.value, to.unit)}:"
        f" {escape(to.stage)}"
    )


def _picture(spec: Drawn | None, pictures: Mapping[str, Sequence[str]]) -> str:
    """Write the Markdown of a picture with its caption below it."""
    files = pictures.get(spec.name, ()) if spec else ()
    if spec is None or not files:
        return ""
    shown = {file.rpartition(".")[2]: file for file in files}
    picture = f"[![{escape(spec.title, inside=True)}]({shown['png']})]({shown['svg']})"
    return "\n\n".join(filter(None, [picture, " ".join(prose(spec.text).split())]))


def _inputs(results: Results, answer: Sequence[str], command: str) -> str:
    """Write the section on inputs: what was asked, the command that repeats it, and the files of
    the report.
    """
    files = [
        f"[{file}]({file})" for question in results.questions.values() for file in question.files()
    ]
    further_words = f" More values are in {', '.join(files)}." if files else ""
    return section(
        "Inputs",
        [f"{_asked(results, answer)}. Repeat with {code(command)}. {_ELSEWHERE}{further_words}"],
    )


def _asked(results: Results, answer: Sequence[str]) -> str:
    phrases = []
    if results.cases:
        models = ", ".join(
            list(dict.fromkeys(case.model for case in results.cases.values()))[:_MOST_NAMES]
        )
        names = ", ".join([*answer[:_MOST_NAMES], *(["more"] if len(answer) > _MOST_NAMES else [])])
        phrases.append(f"{names} of {counted(len(results.cases), 'case')} of {models}")
    if results.sweeps:
        points = counted(sum(map(len, results.sweeps)), "point")
        phrases.append(f"{counted(len(results.sweeps), 'sweep')} of {points}")
    phrases += [
        question.title[:1].lower() + question.title[1:] for question in results.questions.values()
    ]
    return escape(f"Asked: {'; '.join(phrases)}")


def gallery(folders: Sequence[Path]) -> str:
    """Write one page on several reports: of each the first picture, the question, the answer and a
    link.

    Parameters
    ----------
    folders : of reports, as `slipstick.report.write.write` made them; one without a report is left
        out
    """
    blocks = [
        "# Studies",
        "Each study with its question and what was found; made by `slipstick gallery`.",
    ]
    for folder in folders:
        path = folder / "report.md"
        if path.is_file():
            # A report begins with its title and its findings, see `page`.
            head, findings, *rest = path.read_text("utf-8").split("\n\n")
            picture = next(
                (paragraph for paragraph in rest if paragraph.startswith("[![")), ""
            ).replace("](", f"]({folder.name}/")
            about = rest[rest.index(f"## {ABOUT}") + 1 :] if f"## {ABOUT}" in rest else [""]
            question_text = "" if about[0].startswith("Source: ") else about[0]
            shown_findings = "\n".join(findings.splitlines()[:_MOST_NAMES])
            blocks += [
                f"## [{head.removeprefix('# ')}]({folder.name}/report.md)",
                picture,
                question_text,
                shown_findings,
            ]
    return "\n\n".join(block for block in blocks if block) + "\n"
