"""Statements of papers that were checked: counted in words, and those of several reports on one
page.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from slipstick.cli.console import folders_argument, out_option, write_text
from slipstick.errors import InputError
from slipstick.report.formatting import (
    NOTHING,
    escape,
    join_phrases,
    markdown_table,
    percent,
    prose,
    with_noun,
)

STATEMENTS = "statements.csv"
"""The statements of a study, one a row."""


RANGES = "ranges.csv"
"""The table of verdicts for all values of the inputs that a paper does not print, one a row."""


class RangedRow(NamedTuple):
    """A row of the table `RANGES`: whether a statement holds for all values of the inputs that its
    paper does not print.
    """

    statement: str
    verdict: str
    says: str
    source: str
    kept: str
    holds: str = ""
    decided_by: str = ""
    turns: str = ""
    apart: str = ""
    repeats: str = ""
    complete: str = ""


class StatementRow(NamedTuple):
    """A row of the table `STATEMENTS` of a run: a statement, its verdict and its values."""

    name: str
    verdict: str
    source: str
    says: str
    wanted: str
    computed: str
    method: str
    exact: str
    part_of: str = ""
    reading: str = ""
    missed: str = ""
    apart: str = ""
    repeats: str = ""
    lacks: str = ""
    excluded: str = ""


class _Report(NamedTuple):
    """The statements of one report: `rows` has the verdicts with the inputs of the study,
    `statements` those for all values of the inputs that are not printed.
    """

    folder: Path
    title: str
    rows: Sequence[StatementRow]
    statements: Sequence[RangedRow]


@click.command()
@folders_argument
@click.option(
    "--before",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="CSV file with earlier verdicts, for comparison.",
)
@click.option(
    "--together",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="CSV file of sentences that were checked for contradictions.",
)
@out_option
def statements(
    folders: Sequence[Path],
    before: Path | None,
    together: Path | None,
    out: Path | None,
) -> int:
    """Write one page with the checked statements of all sources.

    FOLDERS are reports. The page counts the statements that are true always, sometimes and never,
    over the inputs that the sources do not print.

    \b
    Examples:
      slipstick statements reports/*/ --before reports/papers-before.csv --out reports/papers.md
    """
    return write_text(statements_page(folders, before, together), out)


def statements_page(
    folders: Sequence[Path], earlier_file: Path | None = None, exclusions_file: Path | None = None
) -> str:
    """Return the statements of several reports as one page in Markdown, from the files that their
    runs wrote.

    Parameters
    ----------
    folders : of reports; one without statements is left out
    earlier_file : a table of earlier verdicts, with the columns study, statement, verdict and
        commit, to show beside those of today
    exclusions_file : a table of sentences that were checked for whether they can hold together,
        with the columns name, program, sentences, wanted, least, greatest and together

    Raises
    ------
    InputError : none of the reports has a file of statements, or a table has other columns
    """
    reports = [_read_report(folder, rows) for folder in folders if (rows := _read_rows(folder))]
    if not reports:
        raise InputError(
            f"none of {', '.join(map(str, folders))} has a file {STATEMENTS}; run a study with"
            " statements"
        )
    paragraphs = [
        "# Statements of the papers, checked",
        prose(_READING_OF_PAGE),
        _counts_table(reports),
    ]
    paragraphs += [
        _distinct_statements_sentence(reports),
        _few_draws_sentence(reports),
        _deciding_inputs_list(reports),
        _failing_statements_list(reports, exclusions_file),
    ]
    if exclusions_file is not None:
        paragraphs.append(_exclusions_list(exclusions_file))
    if earlier_file is not None:
        paragraphs.append(_earlier_verdicts_list(earlier_file, reports))
    paragraphs += map(_statements_of_source, reports)
    return "\n\n".join(filter(None, paragraphs)) + "\n"


_READING_OF_PAGE = """
For readers of the papers: find which of their sentences that numbers can check are true. A study
states the condition for each sentence, and its report has the values. `slipstick statements` writes
this page from the results of the studies.

A paper does not print all its inputs. If a study gives ranges for the missing inputs, values are
drawn within these ranges; of inputs with few values, every combination is taken once (of all).
Draws that agree with the printed numbers are kept. A statement is true in all kept draws (always),
in some of them (depends), or in none (never). Without ranges, the study itself is the only draw.

A statement in several parts is true if all its parts are true. A statement that can be read in
several ways is undecided if the readings differ. Both count once. Inputs are not counted: they are
numbers that were put in or fitted, or that follow from such numbers by arithmetic.
"""

VERDICTS = ("always", "depends", "never", "undecided", "input")
"""The verdicts on a statement over all values of the inputs that are not printed."""

_VERDICT_WITHOUT_RANGES = {"hit": "always", "miss": "never"}


def _read_rows(folder: Path) -> list[StatementRow]:
    """Read the statements of the report in a folder; none if it has no such file."""
    rows = []
    for path in sorted(folder.glob("statements*.csv")):
        rows += [StatementRow(**row) for row in _read_table(path)]
    return rows


def _read_report(folder: Path, rows: Sequence[StatementRow]) -> _Report:
    """Read the statements of a report; a statement without ranges has the verdict with the inputs
    of the study.
    """
    title = (folder / "report.md").read_text("utf-8").partition("\n")[0].lstrip("# ")
    ranged_rows = {}
    if (folder / RANGES).exists():
        ranged_rows = {row["statement"]: RangedRow(**row) for row in _read_table(folder / RANGES)}
    statements = []
    for name, verdict in verdicts_of(rows).items():
        first_row = next(row for row in rows if name in (row.name, row.part_of))
        row_without_ranges = RangedRow(
            name,
            _VERDICT_WITHOUT_RANGES.get(verdict, verdict),
            first_row.says,
            first_row.source,
            "",
            apart=first_row.apart,
            repeats=first_row.repeats,
        )
        statements.append(ranged_rows.get(name, row_without_ranges))
    return _Report(folder, title, rows, statements)


def _counts_table(reports: Sequence[_Report]) -> str:
    """Return a table of the statements of each report by verdict, without those that are counted
    elsewhere or apart.
    """
    rows = []
    for report in reports:
        own_statements = [row for row in report.statements if not (row.apart or row.repeats)]
        kept_draws_texts = {
            f"{row.kept} of all" if row.complete else row.kept
            for row in report.statements
            if row.kept
        }
        rows.append(
            [
                f"[{report.folder.name}]({report.folder.name}/report.md)",
                *(
                    str(sum(row.verdict == verdict for row in own_statements))
                    for verdict in VERDICTS
                ),
                str(sum(bool(row.repeats) for row in report.statements)),
                str(sum(bool(row.apart) for row in report.statements)),
                kept_draws_texts.pop() if kept_draws_texts else NOTHING,
            ]
        )
    totals = [str(sum(int(row[column_index]) for row in rows)) for column_index in range(1, 8)]
    headings = ["study", "always", "depends", "never", "undecided", "inputs"]
    headings += ["counted elsewhere", "apart", "draws kept"]
    return markdown_table(headings, [*rows, ["all", *totals, ""]], range(1, len(headings)))


def _distinct_statements_sentence(reports: Sequence[_Report]) -> str:
    """Return a sentence with the number of statements of the papers, without inputs, repetitions
    and statements of other sources.
    """
    counted_rows = [
        row
        for report in reports
        for row in report.statements
        if row.verdict != "input" and not (row.apart or row.repeats)
    ]
    return (
        f"{with_noun(len(counted_rows), 'statement')} of the papers, each counted once,"
        " without inputs,"
        " repetitions and statements of other sources."
    )


_LEAST_PROBABILITY = 0.05
"""Probability of a result as good as the draws', below which a share of failures is excluded."""


def _few_draws_sentence(reports: Sequence[_Report]) -> str:
    """Return a sentence on the shares of failures that the fewest and the most kept draws exclude;
    empty without draws.

    If a share x of the draws that agree contradicts a statement, none of n does with probability
    (1 - x)^n, so with 95 % confidence x is at most 1 - 0.05^(1 / n) (Clopper and Pearson, 1934). A
    share has a standard deviation of at most 0.5 / sqrt(n).
    """
    kept_counts = {
        int(row.kept)
        for report in reports
        for row in report.statements
        if row.kept and not row.complete
    }
    kept_counts = {count for count in kept_counts if count}
    if not kept_counts:
        return ""
    share_phrases = [
        f"{percent(1 - _LEAST_PROBABILITY ** (1 / count))} where {count} are kept"
        for count in sorted({min(kept_counts), max(kept_counts)})
    ]
    widest_text = percent(0.98 / math.sqrt(min(kept_counts)))
    return (
        "A statement that is true in all kept draws, or in none, may differ in further draws: with"
        f" 95 % confidence, in at most {join_phrases(share_phrases, 'and')}. A share of draws is"
        f" known to within {widest_text} of them, or better. A share of all combinations is exact."
    )


def _deciding_inputs_list(reports: Sequence[_Report]) -> str:
    """Return a list of the unprinted inputs on which verdicts depend, each with the statements that
    it decides.
    """
    statements_by_input: dict[str, list[str]] = {}
    for report in reports:
        for row in report.statements:
            if row.decided_by:
                statement_with_study = f"{row.statement} ({report.folder.name})"
                statements_by_input.setdefault(row.decided_by, []).append(statement_with_study)
    if not statements_by_input:
        return ""
    items = "\n".join(
        f"- **{escape(title)}**: {escape(', '.join(statement_names))}"
        for title, statement_names in statements_by_input.items()
    )
    return (
        "## Inputs that decide, but that no paper prints\n\nEach input, with the statements (and"
        f" their studies) whose verdicts depend on it.\n\n{items}"
    )


def _failing_statements_list(reports: Sequence[_Report], exclusions_file: Path | None) -> str:
    """Return a list of the statements that are never true, each with the reason: the model lacks a
    mechanism, the source contradicts itself, or the reason is unknown.
    """
    exclusion_row_by_name = (
        {row["name"]: row for row in _read_table(exclusions_file, _EXCLUSION_COLUMNS)}
        if exclusions_file
        else {}
    )
    counts_by_cause: Counter[str] = Counter()
    items = []
    for report in reports:
        for row in report.statements:
            if row.verdict != "never" or row.apart or row.repeats:
                continue
            failing_parts = [
                statement_part
                for statement_part in _parts_of(row, report)
                if statement_part.verdict != "hit"
            ]
            cell_texts = {
                cause: "; ".join(
                    dict.fromkeys(
                        filter(
                            None, (getattr(statement_part, key) for statement_part in failing_parts)
                        )
                    )
                )
                for key, cause in _CAUSES_OF_NEVER.items()
            }
            texts_by_cause = {cause: text for cause, text in cell_texts.items() if text} or {
                _UNKNOWN_CAUSE: ""
            }
            study_statement = f"{row.statement} ({report.folder.name})"
            counts_by_cause.update(list(texts_by_cause))
            causes_text = "; ".join(
                f"{cause}: {_with_figures(text, exclusion_row_by_name, study_statement)}".rstrip(
                    ": "
                )
                for cause, text in texts_by_cause.items()
            )
            items.append(
                f"- **{escape(row.statement)}** ({escape(report.folder.name)}):"
                f" {escape(row.says)}. {escape(causes_text[:1].upper() + causes_text[1:])}"
            )
    if not items:
        return ""
    counts_text = ", ".join(
        f"{counts_by_cause[cause]} {cause}"
        for cause in (*_CAUSES_OF_NEVER.values(), _UNKNOWN_CAUSE)
        if counts_by_cause[cause]
    )
    items_text = "\n".join(items)
    return (
        "## Why statements are never true\n\nThe model is known to lack a mechanism of the source,"
        " or the source contradicts the statement in another place, or both. In all:"
        f" {counts_text}.\n\n{items_text}"
    )


def _with_figures(
    text: str, exclusion_row_by_name: Mapping[str, Mapping[str, str]], statement: str
) -> str:
    """Replace each name in braces, such as {NAME least}, by its number from the table of sentences
    that were checked for contradictions.
    """

    def figure_text(match: re.Match[str]) -> str:
        name, column = match.groups()
        if name not in exclusion_row_by_name:
            raise InputError(
                f"statement {statement} names the row {name} of a table of sentences that were"
                " checked"
                " for whether they can hold together; give a table with that row by --together"
            )
        return exclusion_row_by_name[name][column]

    return re.sub(r"\{([a-z0-9-]{1,40}) (wanted|least|greatest)\}", figure_text, text)


_CAUSES_OF_NEVER = {"lacks": "mechanism missing", "excluded": "excluded by the source"}
_UNKNOWN_CAUSE = "cause not known"


def _parts_of(row: RangedRow, report: _Report) -> list[StatementRow]:
    """Return the rows of a statement: its own row, or the rows of its parts and readings."""
    return [
        statement_row
        for statement_row in report.rows
        if row.statement in (statement_row.name, statement_row.part_of)
    ]


def _readings_text(statement_rows: Sequence[StatementRow]) -> str:
    """Return a text on the readings with which a statement holds and those with which it does not,
    at the inputs of the study.
    """
    verdicts_by_reading: dict[str, set[str]] = {}
    for statement_row in statement_rows:
        if statement_row.reading and statement_row.verdict != "input":
            verdicts_by_reading.setdefault(statement_row.reading, set()).add(statement_row.verdict)
    readings_that_hold = [
        reading for reading, verdicts in verdicts_by_reading.items() if verdicts == {"hit"}
    ]
    readings_that_miss = [
        reading for reading, verdicts in verdicts_by_reading.items() if "miss" in verdicts
    ]
    names_by_verdict = [
        (verdict_text, names)
        for verdict_text, names in (("holds", readings_that_hold), ("not", readings_that_miss))
        if names
    ]
    return ", ".join(
        f"{verdict_text} as '{' and '.join(names)}'" for verdict_text, names in names_by_verdict
    )


_EXCLUSION_COLUMNS = ("name", "program", "sentences", "wanted", "least", "greatest", "together")


def _exclusions_list(path: Path) -> str:
    """Return a list of sentences of papers, with whether they can hold together."""
    items = []
    for row in _read_table(path, _EXCLUSION_COLUMNS):
        possible_text = (
            "none is possible" if row["least"] == "-" else f"{row['least']} to {row['greatest']}"
        )
        verdict = "can be true together" if row["together"] == "yes" else "contradict each other"
        items.append(
            f"- **{escape(row['program'])}**, {verdict}: {escape(row['sentences'])}. Wanted:"
            f" {escape(row['wanted'])}; possible: {possible_text}."
        )
    items_text = "\n".join(items)
    return (
        "## Sentences that contradict each other\n\nThe papers print the costs of operations, but"
        " not how often a program executes each of them. Each item gives the range of the value in"
        " its last sentence, over all mixes of operations with which its other sentences are true."
        f"\n\n{items_text}"
    )


def _read_table(path: Path, columns: Sequence[str] = ()) -> list[dict[str, str]]:
    """Read a CSV file, and check that it has the expected columns, if any are given."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        try:
            if columns and list(reader.fieldnames or ()) != list(columns):
                raise InputError(f"the columns of {path} have to be {', '.join(columns)}")
            return list(reader)
        except csv.Error as error:
            raise InputError(
                f"{path}: line {reader.reader.line_num} is not a line of a table: {error}; check"
                " the quotes and the length of the cells"
            ) from None


_EARLIER_COLUMNS = ("study", "statement", "verdict", "commit", "changed")


def _earlier_verdicts_list(path: Path, reports: Sequence[_Report]) -> str:
    """Return a list of earlier verdicts and of the verdicts of today."""
    earlier_rows = _read_table(path, _EARLIER_COLUMNS)
    present_row_by_statement = {
        (report.folder.name, row.statement): row for report in reports for row in report.statements
    }
    count_by_verdict: Counter[str] = Counter()
    items = []
    for row in earlier_rows:
        present_row = present_row_by_statement.get((row["study"], row["statement"]))
        verdict = "gone" if present_row is None else present_row.verdict
        count_by_verdict[verdict] += 1
        holds_text = f" (holds in {present_row.holds})" if present_row and present_row.holds else ""
        decided_by_text = (
            f", decided by {present_row.decided_by}"
            if present_row and present_row.decided_by
            else ""
        )
        changed_text = (
            f". {row['changed'][:1].upper()}{row['changed'][1:]}" if row["changed"] else ""
        )
        items.append(
            f"- **{escape(row['statement'])}** ({escape(row['study'])}): {escape(row['verdict'])}"
            f" before, now {verdict}{holds_text}{escape(decided_by_text + changed_text)}"
        )
    counts_text = ", ".join(
        f"{count_by_verdict[verdict_kind]} {verdict_kind}"
        for verdict_kind in (*VERDICTS, "gone")
        if count_by_verdict[verdict_kind]
    )
    commits = ", ".join(dict.fromkeys(row["commit"] for row in earlier_rows))
    items_text = "\n".join(items)
    return (
        f"## Before and after\n\nThe {len(items)} statements below had these verdicts at {commits};"
        f" of them are now: {counts_text}.\n\n{items_text}"
    )


def _statements_of_source(report: _Report) -> str:
    """Return the statements of one report as a section of the page."""
    items = "\n".join(_statement_item(row, _parts_of(row, report)) for row in report.statements)
    return f"## {report.title}\n\n{items}"


def _statement_item(row: RangedRow, part_rows: Sequence[StatementRow]) -> str:
    """Return an item of a list: a statement with its verdict, its source, and what decides the
    verdict, or the cause of a miss.
    """
    readings_text = _readings_text(part_rows) if row.verdict == "undecided" else ""
    cause_texts = [readings_text, *(part_row.missed for part_row in part_rows)]
    cause_text = "; ".join(filter(None, dict.fromkeys(cause_texts)))
    if row.verdict in ("always", "input"):
        cause_text = ""
    details = [f"holds in {row.holds}" if row.holds else "", row.apart]
    if row.repeats:
        details.append(f"repeats {row.repeats}")
    details_text = ", ".join(filter(None, details))
    verdict_text = f"{row.verdict} ({details_text})" if details_text else row.verdict
    source_text = f" ({row.source})" if row.source else ""
    sentences = filter(None, (row.says + source_text, row.turns or cause_text))
    sentences_text = ". ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences)
    return f"- **{escape(row.statement)}**: {escape(verdict_text)}. {escape(sentences_text)}"


def verdicts_of(rows: Sequence[StatementRow]) -> dict[str, str]:
    """Return one verdict for each statement: a reading holds if all of its parts do, and a
    statement is undecided if its readings differ.

    Parts and readings that are inputs do not count beside others.
    """
    verdicts_by_reading_and_name: dict[str, dict[str, str]] = {}
    for row in rows:
        verdict_by_reading = verdicts_by_reading_and_name.setdefault(row.part_of or row.name, {})
        verdict_by_reading[row.reading] = min(
            verdict_by_reading.get(row.reading, _VERDICTS_IN_ORDER[-1]),
            row.verdict,
            key=_VERDICTS_IN_ORDER.index,
        )
    verdicts_by_name = {
        name: {*verdicts.values()} - {"input"} or {"input"}
        for name, verdicts in verdicts_by_reading_and_name.items()
    }
    return {
        name: verdict_set.pop() if len(verdict_set) == 1 else "undecided"
        for name, verdict_set in verdicts_by_name.items()
    }


_VERDICTS_IN_ORDER = ("miss", "undecided", "hit", "input")
"""Verdicts; of the parts of a reading the first of these counts."""


def summary_of_statements(statements: Sequence[StatementRow], most: int | None = None) -> str:
    """Return a sentence that counts the statements that hold and names the others; parts and
    readings of a statement count once, and inputs are not checked.

    Parameters
    ----------
    statements : by name
    most : number of statements of each verdict that are named, without inputs; all by default

    >>> summary_of_statements(
    ...     [StatementRow("faults", "miss", "", "", "", "", "closed-form", "yes")]
    ... )
    '1 statement checked: 0 hits, 1 miss (faults)'
    """
    verdict_by_name = verdicts_of(statements)
    missed_names, undecided_names, hit_names, input_names = (
        [name for name, verdict in verdict_by_name.items() if verdict == verdict_kind]
        for verdict_kind in _VERDICTS_IN_ORDER
    )
    summary = (
        f"{with_noun(len(verdict_by_name) - len(input_names), 'statement')} checked:"
        f" {with_noun(len(hit_names), 'hit')}"
    )
    summary += f", {with_noun(len(missed_names), 'miss', 'misses')}" + (
        f" ({_names_text(missed_names, most)})" if missed_names else ""
    )
    summary += (
        f", {len(undecided_names)} undecided ({_names_text(undecided_names, most)})"
        if undecided_names
        else ""
    )
    input_names = input_names if most is None else []
    return summary + (
        f"; {with_noun(len(input_names), 'input')} beside them ({', '.join(input_names)})"
        if input_names
        else ""
    )


def _names_text(names: Sequence[str], most: int | None) -> str:
    """Return the names of statements in words, at most `most` of them."""
    remainder_texts = (
        [] if most is None or len(names) <= most else [f"and {len(names) - most} more"]
    )
    return ", ".join([*names[:most], *remainder_texts])
