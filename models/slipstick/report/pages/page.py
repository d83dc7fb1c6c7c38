"""The page of a study, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slipstick.answer import Answer, Takeover
from slipstick.report.findings.choices import choices_section
from slipstick.report.findings.compare import comparison_section
from slipstick.report.findings.projection import projection_section
from slipstick.report.findings.sampling import sampling_section
from slipstick.report.findings.scale import scaling_section
from slipstick.report.findings.side_by_side import agreement_section
from slipstick.report.findings.sought import sought_section
from slipstick.report.pages.measured import fits_section, measured_section
from slipstick.report.pages.points import sweep_section
from slipstick.report.values import unit_of
from slipstick.report.words import NOTHING, Notes, code, escape, fraction, markdown_table, percent, prose, quantity
from slipstick.results.study import Ranking, Results

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import StudySpec

__all__ = ["page"]

_MOST_SETTINGS = 4
_ELSEWHERE = "Every point is in [results.csv](results.csv), every input in [inputs.yaml](inputs.yaml)."
_FITS_ELSEWHERE = "All values of all fits are in [fits.csv](fits.csv)."
_READING = (
    "Share: one percent less of the quantity saves this much of one percent of the time; the shares of all quantities "
    "add up to 100 %. Elasticity: relative change of the time for a relative change of the quantity. Time saved: solved "
    "anew with the quantity changed, where the change is allowed."
)

_NEAREST = 4
_MOST_PIPELINES = 60
_TAKEOVERS = (
    f"Where another stage takes over, each parameter changed alone: the {_NEAREST} smallest changes. "
    "`slipstick solve --json` gives all."
)


def page(results: Results, study: StudySpec, pictures: Mapping[str, Sequence[str]], command: str) -> str:
    """Write report.md: everything in words and tables, pictures by name, and how to repeat it.

    Parameters
    ----------
    results : of a study
    study : what was asked
    pictures : names of the files of each picture, by the picture's name
    command : what was typed
    """
    sections = [
        _head(results, command),
        measured_section(results.measured),
        fits_section(results.fits),
        _cases(results, study.answer) if results.cases else "",
        comparison_section(results.comparisons),
        agreement_section(results.agreements),
        _limits(results),
        _rankings(results),
        choices_section(results.choices),
        projection_section(results.projection, command),
        sought_section(results.sought),
        sampling_section(results.samplings),
        sweep_section(results, study.answer),
        scaling_section(results.scalings),
        _pictures(study, pictures),
        _notes(results),
        _inputs(results),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _head(results: Results, command: str) -> str:
    parts = [
        f"# {escape(results.title or results.name)}",
        prose(results.text),
        f"Source: {escape(results.source)}" if results.source else "",
        f"Repeat with {code(command)}. {_ELSEWHERE}{f' {_FITS_ELSEWHERE}' if results.fits else ''}",
    ]
    return "\n\n".join(part for part in parts if part)


def _cases(results: Results, answer: Sequence[str]) -> str:
    names = [name for name in dict.fromkeys(answer) if "[" not in name] or _first_wanted(results, answer)
    notes = Notes()
    rows = [_case(results, case, names, notes) for case in results.cases]
    head = ["case", "model", "differs from the base in", *map(escape, names), "method", "exact", "notes"]
    listed = [f"{number}. {escape(text)}" for number, text in notes.listed.items()]
    table = markdown_table(head, rows, range(3, 3 + len(names)))
    return "\n\n".join(part for part in ("## Cases", table, "\n".join(listed)) if part)


def _first_wanted(results: Results, answer: Sequence[str]) -> list[str]:
    """Choose what the cases have of what is wanted, as few values as speak for all of them."""
    chosen: list[str] = []
    for each in results.cases.values():
        if not any(each.find(name) is not None for name in chosen):
            chosen += [name for name in answer if each.find(name) is not None][:1]
    return chosen or list(answer[:1])


def _case(results: Results, case: str, names: Sequence[str], notes: Notes) -> list[str]:
    answer = results.cases[case]
    values = [quantity(answer.find(name), unit_of(results, name)) for name in names]
    said = [f"no answer: {answer.failed}"] if answer.failed else answer.notes
    numbers = ", ".join(str(notes.number(note)) for note in said)
    exact = NOTHING if answer.failed else "yes" if answer.exact else "no"
    return [escape(case), code(answer.model), _settings(results, case), *values, escape(answer.method), exact, numbers]


def _settings(results: Results, case: str) -> str:
    # The model has a column of its own.
    settings = {path: text for path, text in results.settings.get(case, {}).items() if path != "model"}
    shown = [f"{code(path)} {escape(text)}" for path, text in list(settings.items())[:_MOST_SETTINGS]]
    more = len(settings) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])])


def _limits(results: Results) -> str:
    limiting = [row for case, answer in results.cases.items() for row in _limit_rows(case, answer)]
    if not limiting:
        return ""
    table = markdown_table(["case", "pipeline", "limiting stage", "one item at each serial stage"], limiting)
    if len(limiting) > _MOST_PIPELINES:
        return f"## What limits\n\n{len(limiting)} pipelines; `slipstick solve --json` says what limits each of them."
    others = [row for case, answer in results.cases.items() for row in _takeover_rows(case, answer)]
    takeovers = markdown_table(["case", "pipeline", "nearest takeovers"], others) if others else ""
    return "\n\n".join(part for part in ("## What limits", table, _TAKEOVERS if others else "", takeovers) if part)


def _limit_rows(case: str, answer: Answer) -> list[list[str]]:
    return [
        [
            escape(case),
            escape(each.pipeline),
            escape(each.stage),
            ", ".join(f"{escape(stage)} {quantity(seconds, 's')}" for stage, seconds in each.stages.items()),
        ]
        for each in answer.limits
    ]


def _takeover_rows(case: str, answer: Answer) -> list[list[str]]:
    return [
        [escape(case), escape(each.pipeline), "; ".join(map(_takeover, each.takeovers[:_NEAREST]))]
        for each in answer.limits
        if each.takeovers
    ]


def _takeover(to: Takeover) -> str:
    return f"{code(to.path)} from {quantity(to.now, to.unit)} to {quantity(to.value, to.unit)}: {escape(to.stage)}"


def _rankings(results: Results) -> str:
    if not results.rankings:
        return ""
    return "\n\n".join(["## What would help most", _READING, *map(_ranking, results.rankings)])


def _ranking(ranking: Ranking) -> str:
    head = ["parameter", "meaning", "value", "share", "elasticity", "change", "time saved"]
    rows = [
        [
            code(each.path),
            escape(each.meaning),
            quantity(each.value, each.unit),
            percent(each.share),
            fraction(each.elasticity),
            f"{percent(ranking.change)} {'more' if each.more else 'less'}",
            percent(each.effect),
        ]
        for each in ranking.rows
    ]
    parts = [
        f"### Case {escape(ranking.case)}" + (f" under {escape(ranking.under)}" if ranking.under else ""),
        markdown_table(head, rows, [2, 3, 4, 6]) if rows else "",
        f"Without effect here: {', '.join(map(code, ranking.idle))}." if ranking.idle else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _pictures(study: StudySpec, pictures: Mapping[str, Sequence[str]]) -> str:
    parts = ["## Pictures"]
    for spec in study.pictures:
        files = pictures.get(spec.name, ())
        shown = [f"![{escape(spec.title)}]({file})" for file in files if file.endswith(".png")]
        others = [f"[{file}]({file})" for file in files if not file.endswith(".png")]
        caption = " ".join([f"{escape(spec.title)}.", prose(spec.text), *others])
        parts += [*shown, " ".join(caption.split())]
    return "\n\n".join(parts) if study.pictures else ""


def _notes(results: Results) -> str:
    lines = [f"- {escape(note)}" for note in results.notes]
    return "\n".join(["## Notes", "", *lines]) if lines else ""


def _inputs(results: Results) -> str:
    """List the files by hash; the versions of what computed stand in inputs.yaml, for they change no number."""
    hashes = [[code(name), code(digest)] for name, digest in results.hashes.items()]
    table = markdown_table(["file", "SHA-256"], hashes) if hashes else ""
    return "\n\n".join(part for part in ("## Inputs", table) if part)
