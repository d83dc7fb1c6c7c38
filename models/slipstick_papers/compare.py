"""Comparisons: published tables beside what the program computes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar

from slipstick.answer import Answer
from slipstick.errors import Problem, SpecError, UnitError
from slipstick.expression.nodes import Dimension
from slipstick.late import Array, dataclass, np
from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    Ends,
    Notes,
    bracketed,
    do_overlap,
    escape,
    join_phrases,
    markdown_table,
    percent,
    prose,
    with_noun,
)
from slipstick.results.question import QuestionResult
from slipstick.results.sweep import Provenance
from slipstick.results.words import NO_WORDS, Words
from slipstick.study.cases import StudyContext
from slipstick.study.questions import BaseAnswers, Question, ValueNames
from slipstick.units import parse_unit
from slipstick_papers.specs import ComparisonPictureSpec, RowSpec, TableSpec
from slipstick_pictures.look import (
    axis_title,
    make_logarithmic,
    new_figure,
    stroke,
    with_title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class TableCell:
    """A computed value beside a published value or beside a computed value of another case, in the
    unit of the table.

    Parameters
    ----------
    case : its name
    computed, printed : the values; None where there is none
    within : how far they may be apart, to agree
    slip : why the printed value is taken for a misprint
    ends, printed_ends : of the interval of each where it is simulated
    """

    case: str
    computed: float | None
    printed: float | None
    within: float
    slip: str = ""
    ends: Ends = NO_ENDS
    printed_ends: Ends = NO_ENDS

    @property
    def difference(self) -> float | None:
        """The computed value minus the printed one; None if one of them is missing."""
        return (
            None if self.computed is None or self.printed is None else self.computed - self.printed
        )

    @property
    def is_inside_interval(self) -> bool | None:
        """Whether the interval of the computed value overlaps the published value or its interval;
        None if neither has an interval.
        """
        values_with_ends = ((self.computed, self.ends), (self.printed, self.printed_ends))
        if self.difference is None or all(
            interval_ends == NO_ENDS for _, interval_ends in values_with_ends
        ):
            return None
        computed_range, published_range = (
            (value if low is None else low, value if high is None else high)
            for value, (low, high) in values_with_ends
        )
        return do_overlap(computed_range, published_range)

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the allowance for rounding; True if no value is
        printed.
        """
        # Slightly more than the allowance, for decimal fractions have no exact double.
        return self.difference is None or abs(self.difference) <= self.within * (1 + 1e-9)

    @property
    def allows_more_than_rounding(self) -> bool:
        """Whether the allowance is larger than a unit of the last digit of the printed value.

        >>> [TableCell("", 1.0, 1012.0, within).allows_more_than_rounding for within in (0.5, 152)]
        [False, True]
        """
        decimal_count = len(f"{self.printed or 0.0:.10g}".partition(".")[2])
        return self.within > 10.0**-decimal_count * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a comparison: computed cells beside predictions, measured or exact values, inputs,
    or another case.

    A row that is not `counted` shows its errors, but they do not enter the mean over all tables.
    """

    label: str
    cells: tuple[TableCell, ...]
    measured: bool = False
    input: bool = False
    against: tuple[str, ...] = ()
    counted: bool = True
    exact: bool = False

    @property
    def reference(self) -> str:
        """The kind of value that the computed values are compared with: a measured or an exact
        value gives an error, a printed prediction a difference.
        """
        return "measured" if self.measured else "exact" if self.exact else "printed"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table with the values that the program computes; `provenance` says how each
    column was computed.
    """

    title: str
    source: str
    text: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True)
class CompareResult(QuestionResult):
    """Published tables with the values that the program computes."""

    title: ClassVar[str] = "Comparisons"
    compared: tuple[PublishedTable, ...]

    def sentences(self) -> list[str]:
        """Return a sentence with the numbers of printed cells that agree with the computed ones,
        that are misprints of the source (slips), and that are missed.
        """
        return [sentence for sentence in (summary_of_tables(self.compared),) if sentence]

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the differences of computed values from published ones."""
        if small_table_sentences := list(_small_table_sentences(self.compared, words)):
            return small_table_sentences
        count_by_verdict, errors_by_kind = _verdict_counts_and_errors(self.compared)
        clauses = []
        if cell_count := sum(count_by_verdict[kind] for kind in ("agrees", "slip", "miss")):
            agreement_text = (
                f"{count_by_verdict['agrees']} of {cell_count} printed values are reproduced to"
                " rounding"
            )
            if count_by_verdict["agrees"] == cell_count:
                agreement_text = (
                    f"all {cell_count} printed values are reproduced to rounding"
                    if cell_count > 1
                    else ("the printed value is reproduced to rounding")
                )
            other_errors = [
                f"{count_by_verdict[kind]} {clause}"
                for kind, clause in (("slip", "are slips of the source"), ("miss", "are missed"))
                if count_by_verdict[kind]
            ]
            clauses.append(join_phrases([agreement_text, *other_errors], "and"))
        clauses += [
            f"{with_noun(len(errors_of_kind), f'{kind} value')}"
            f" {'is' if len(errors_of_kind) == 1 else 'are'} predicted with a mean error of"
            f" {percent(fmean(map(abs, errors_of_kind)))}"
            f"{_extreme_tables_clause(self.compared, kind)}"
            for kind, errors_of_kind in errors_by_kind.items()
        ]
        return ["; ".join(clauses)] if clauses else []

    def parts(self) -> Iterator[str]:
        """Yield each comparison as text: its table, slips, misses and errors."""
        return map(comparison_text, self.compared)

    def draw(
        self, spec: ComparisonPictureSpec, order: Mapping[str, int], words: Words = NO_WORDS
    ) -> Figure:
        """Draw each computed value against the published one, a panel for each unit."""
        pairs_by_unit_and_label = published_and_computed(self.compared)
        units = list(dict.fromkeys(unit for unit, _ in pairs_by_unit_and_label)) or [""]
        figure = new_figure(2.0 + (5.2 if len(units) == 1 else 2.8 * len(units)), 3.6)
        drawn_lines = {}
        for axes, unit in zip(figure.subplots(1, len(units), squeeze=False)[0], units, strict=True):
            drawn_points = {
                label: point_pairs
                for (unit_of_points, label), point_pairs in pairs_by_unit_and_label.items()
                if unit_of_points == unit
            }
            all_numbers = np.concatenate(
                [np.zeros(0), *(points.ravel() for points in drawn_points.values())]
            )
            for index, (label, (published_values, computed_values)) in enumerate(
                drawn_points.items()
            ):
                drawn_lines[label] = axes.plot(
                    published_values, computed_values, **{**stroke(index), "linestyle": "none"}
                )[0]
            axis_ends = [all_numbers.min(initial=math.inf), all_numbers.max(initial=-math.inf)]
            if axis_ends[0] > 0 and len(all_numbers):
                for axis in (axes.xaxis, axes.yaxis):
                    make_logarithmic(axis, all_numbers)
            drawn_lines["equal"] = axes.plot(
                *[axis_ends if len(all_numbers) else []] * 2, color="#999999", linewidth=0.8
            )[0]
            axes.set_xlabel(axis_title("published", unit))
            axes.set_ylabel(axis_title("computed", unit))
        return with_title_and_legend(
            figure, spec.title, None, [*drawn_lines.values()], [*drawn_lines]
        )


MOST_DISTINCT_TABLES = 6
"""The most tables of one unit that have points of their own in a picture."""


def published_and_computed(tables: Sequence[PublishedTable]) -> dict[tuple[str, str], Array]:
    """Return the pairs of published and computed values by unit and entry of the legend, as an
    array of two rows.

    Each table has its own entry if few have its unit; else all measured and all printed values have
    one entry each. Rows of inputs or of other cases are left out.

    Parameters
    ----------
    tables : of a study
    """
    pairs_by_label: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for table in tables:
        has_many_tables = (
            sum(table_of_unit.unit == table.unit for table_of_unit in tables) > MOST_DISTINCT_TABLES
        )
        for row in table.rows:
            if row.input or row.against:
                continue
            label = ("measured" if row.measured else "printed") if has_many_tables else table.title
            value_pairs = [(cell.printed, cell.computed) for cell in row.cells]
            complete_pairs = [
                (published, computed)
                for published, computed in value_pairs
                if published is not None and computed is not None
            ]
            pairs_by_label.setdefault((table.unit, label), []).extend(complete_pairs)
    return {
        unit_and_label: np.array(value_pairs).T
        for unit_and_label, value_pairs in pairs_by_label.items()
        if value_pairs
    }


def read(tables: Sequence[TableSpec], study: StudyContext) -> Question:
    """Check the units of published tables. Return the question that compares them; their names of
    values can be checked only when the answers are known.

    Raises
    ------
    SpecError : a unit is none
    """
    problems = []
    for index, table in enumerate(tables):
        try:
            parse_unit(table.unit)
        except UnitError as error:
            problems.append(study.problem(("compare", index, "unit"), str(error)))
    if problems:
        raise SpecError(problems)

    def solve(answers: BaseAnswers) -> CompareResult:
        return CompareResult(tuple(_compared_table(table, answers.named) for table in tables))

    return Question(
        solve, name_problems=lambda names_by_case: _unit_problems(tables, study, names_by_case)
    )


def _unit_problems(
    tables: Sequence[TableSpec], study: StudyContext, names_by_case: Mapping[str, ValueNames]
) -> Iterator[Problem]:
    """Yield a problem for each value of a row that has another dimension than the unit of its
    table.
    """
    for index, table in enumerate(tables):
        names_of_cases = [names_by_case[case] for case in table.columns]
        for row_index, row_spec in enumerate(table.rows):
            for term_index, name in enumerate(row_spec.sum):
                if reason := _unit_mismatch_reason(name, table.unit, names_of_cases):
                    yield study.problem(
                        ("compare", index, "rows", row_index, "sum", term_index), reason
                    )
            if row_spec.per and (
                reason := _unit_mismatch_reason(row_spec.per, "1", names_of_cases)
            ):
                yield study.problem(("compare", index, "rows", row_index, "per"), reason)


def _compared_table(spec: TableSpec, answers: Mapping[str, Answer]) -> PublishedTable:
    """Return a published table with the computed values."""
    unit_size = float(parse_unit(spec.unit)[0])
    rows = tuple(_compared_row(row, spec, answers, unit_size) for row in spec.rows)
    provenance = Provenance.of([answers[case] for case in spec.columns])
    return PublishedTable(
        spec.title, spec.source, spec.text, spec.unit, tuple(spec.columns), rows, provenance
    )


def _unit_mismatch_reason(name: str, wanted_unit: str, names_by_case: Sequence[ValueNames]) -> str:
    """Return the reason why a value cannot be written in a table's unit; an empty text if it
    can.
    """
    units = dict.fromkeys(names[name] or "1" for names in names_by_case if name in names)
    wrong_units = [unit for unit in units if Dimension.of(unit) != parse_unit(wanted_unit)[1]]
    return f"{name} is a [{wrong_units[0]}]; a [{wanted_unit}] is needed" if wrong_units else ""


def _compared_row(
    row_spec: RowSpec, table: TableSpec, answers: Mapping[str, Answer], unit_size: float
) -> TableRow:
    """Return a row of a published table with the computed values."""
    reference_values = [
        _sum_of_values(row_spec, answers[case], unit_size, None) for case in row_spec.against
    ] or [(None if cell is None else float(cell), NO_ENDS) for cell in row_spec.printed]
    allowances = (
        row_spec.within
        if isinstance(row_spec.within, list)
        else [row_spec.within] * len(table.columns)
    )
    measured_parts = row_spec.plus or [None] * len(table.columns)
    cells = tuple(
        TableCell(
            case,
            computed_value,
            printed_value,
            float(allowed_error or 0),
            row_spec.slips.get(case, ""),
            interval_ends,
            printed_ends,
        )
        for case, (printed_value, printed_ends), allowed_error, measured_part in zip(
            table.columns, reference_values, allowances, measured_parts, strict=True
        )
        for computed_value, interval_ends in [
            _value_over_cases(
                row_spec, [case, *row_spec.ranging.get(case, ())], answers, unit_size, measured_part
            )
        ]
    )
    return TableRow(
        row_spec.row,
        cells,
        row_spec.measured,
        row_spec.input,
        tuple(row_spec.against),
        row_spec.counted,
        row_spec.exact,
    )


def _value_over_cases(
    row_spec: RowSpec,
    cases: Sequence[str],
    answers: Mapping[str, Answer],
    unit_size: float,
    measured_value: float | None,
) -> tuple[float | None, Ends]:
    """Return the computed value and interval of a cell. If the cell has several cases, the interval
    reaches from their smallest to their greatest value.
    """
    values_and_ends = [
        _sum_of_values(row_spec, answers[case], unit_size, measured_value) for case in cases
    ]
    known_values = [value for value, _ in values_and_ends if value is not None]
    return (
        values_and_ends[0]
        if len(values_and_ends) == 1 or not known_values
        else (values_and_ends[0][0], (min(known_values), max(known_values)))
    )


def _sum_of_values(
    row_spec: RowSpec, answer: Answer, divisor: float, measured_value: float | None
) -> tuple[float | None, Ends]:
    """Return the sum of the values of a row, and the sum of their intervals, which is the largest
    interval that the sum can have.
    """
    terms: list[tuple[float, Ends]] = (
        [] if measured_value is None else [(float(measured_value), NO_ENDS)]
    )
    divisor *= (answer.find(row_spec.per) or 1.0) if row_spec.per else 1.0
    divisor /= row_spec.times
    for name in row_spec.sum:
        if (value := answer.find(name)) is not None:
            low, high = answer.ends(name)
            terms.append(
                (
                    value / divisor,
                    (
                        None if low is None else low / divisor,
                        None if high is None else high / divisor,
                    ),
                )
            )
    if not terms:
        return None, NO_ENDS
    value = math.fsum(value for value, _ in terms)
    if all(interval_ends == NO_ENDS for _, interval_ends in terms):
        return value, NO_ENDS
    low, high = (
        math.fsum(
            value if interval_ends[end_index] is None else interval_ends[end_index] or 0.0
            for value, interval_ends in terms
        )
        for end_index in (0, 1)
    )
    return value, (min(low, value), max(high, value))


def verdict(cell: TableCell) -> str:
    """Return whether a computed cell agrees with its printed one or misses it, or whether the
    printed one is a misprint of the source.

    >>> (
    ...     verdict(TableCell("base", 730.5, 469.0, 0.5, slip="one side only")),
    ...     verdict(TableCell("base", 104.2, 104.0, 0.5)),
    ... )
    ('slip', 'agrees')
    """
    if cell.difference is None:
        return "nothing printed" if cell.printed is None else "nothing computed"
    if cell.agrees:
        return "agrees"
    return "slip" if cell.slip else "miss"


def comparison_text(table: PublishedTable) -> str:
    """Return one comparison as Markdown: the table, and then its misprints, misses and errors.

    Parameters
    ----------
    table : published values beside computed ones
    """
    slips = Notes()
    misses = Notes()
    marked_differences = [
        [_difference_with_mark(row, cell, slips, misses) for cell in row.cells]
        for row in table.rows
    ]
    source_text = f"Source: {escape(table.source)}" if table.source else ""
    paragraphs = [
        f"### {escape(table.title)}",
        prose(table.text),
        source_text,
        _table_text(table, marked_differences),
        _list_under_title("Slips of the source, by our reading:", slips, "slip"),
        _list_under_title("Misses:", misses, "miss"),
        "\n".join(
            f"- {error_sentence}"
            for error_sentence in map(_row_error_sentence, table.rows)
            if error_sentence
        ),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


_FEW_VALUES = 8


def _small_table_sentences(tables: Sequence[PublishedTable], words: Words) -> Iterator[str]:
    """Yield a sentence for each row of a single small table, with computed and published values;
    nothing for larger or several tables.
    """
    cells = [cell for table in tables for row in table.rows for cell in row.cells]
    if len(tables) != 1 or len(cells) > _FEW_VALUES or len(tables[0].columns) < 2:
        return
    (table,) = tables
    columns_with_values = [
        cell.case for row in table.rows for cell in row.cells if cell.printed is not None
    ]
    # Rows that share the columns of a table among them are one answer.
    is_one_row = len(columns_with_values) == len(set(columns_with_values))
    if is_one_row and not any(row.against for row in table.rows):
        yield from _one_row_sentence(table, words)
        return
    for row in table.rows:
        reference_names = [words.case(case) for case in row.against] or [row.reference] * len(
            row.cells
        )
        comparisons = [
            f"{words.case(cell.case)} {_number_with_unit(cell.computed, table.unit)}"
            f" ({reference} {_number_with_unit(cell.printed, table.unit)})"
            for reference, cell in zip(reference_names, row.cells, strict=True)
            if cell.computed is not None and cell.printed is not None
        ]
        if len(comparisons) > 1:
            yield f"{row.label}: {join_phrases(comparisons)}"


def _one_row_sentence(table: PublishedTable, words: Words) -> Iterator[str]:
    """Yield a sentence on all values of a table that has one value for each column: each beside the
    published value, in the order of the columns, and which of them were fitted to the published
    values.
    """
    rows_and_cells = [
        (row, cell)
        for cells_of_column in zip(*(row.cells for row in table.rows), strict=True)
        for row, cell in zip(table.rows, cells_of_column, strict=True)
        if cell.computed is not None and cell.printed is not None
    ]
    if len(rows_and_cells) < 2:
        return
    computed_phrases, published_amounts = (
        [
            f"{_number_with_unit(cell.computed, table.unit)} for {words.case(cell.case)}"
            for _, cell in rows_and_cells
        ],
        [_number_with_unit(cell.printed, table.unit) for _, cell in rows_and_cells],
    )
    references = [
        "in the source" if row.reference == "printed" else row.reference
        for row, _ in rows_and_cells
    ]
    if len({*references}) == 1:
        values_text = (
            f"{join_phrases(computed_phrases)} ({references[0]} {join_phrases(published_amounts)})"
        )
    else:
        values_text = join_phrases(
            [
                f"{computed} ({reference} {published})"
                for computed, reference, published in zip(
                    computed_phrases, references, published_amounts, strict=True
                )
            ]
        )
    fitted_cases = [words.case(cell.case) for row, cell in rows_and_cells if row.input]
    predicted_cases = [cell.case for row, cell in rows_and_cells if not row.input]
    subject = table.title if len(table.rows) > 1 else table.rows[0].label
    sentence = f"{subject}: {values_text}"
    if fitted_cases:
        predicted_clause = ", and predicts the others" if predicted_cases else ""
        fitted_text = join_phrases(fitted_cases)
        sentence += f"; the model was fitted to the values of {fitted_text}{predicted_clause}"
    yield sentence


def _number_with_unit(value: float | None, unit: str) -> str:
    """Return a number of a table as text with its unit."""
    number_text = f"{value or 0.0:.4g}"
    return number_text if unit == "1" else f"{number_text} {unit}"


def _verdict_counts_and_errors(
    comparisons: Sequence[PublishedTable],
) -> tuple[Counter[str], dict[str, list[float]]]:
    """Return the numbers of computed cells that agree with printed ones, that miss them, and that
    meet a misprint, and the relative errors against measured and exact values; rows of inputs do
    not count.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    printed_rows = [
        row for row in rows if row.reference == "printed" and not (row.input or row.against)
    ]
    count_by_verdict = Counter(verdict(cell) for row in printed_rows for cell in row.cells)
    errors_by_kind = {}
    for kind in ("measured", "exact"):
        counted_rows = [row for row in rows if row.reference == kind and row.counted]
        if errors_of_kind := _relative_errors([cell for row in counted_rows for cell in row.cells]):
            errors_by_kind[kind] = errors_of_kind
    return count_by_verdict, errors_by_kind


def _extreme_tables_clause(comparisons: Sequence[PublishedTable], kind: str) -> str:
    """Return the tables with the least and the largest mean error in words, if there are
    several.
    """
    errors_and_titles = sorted(
        (fmean(map(abs, errors_by_kind[kind])), comparison.title)
        for comparison in comparisons
        for _, errors_by_kind in [_verdict_counts_and_errors([comparison])]
        if kind in errors_by_kind
    )
    if len(errors_and_titles) < 3:
        return ""
    (least_error, least_title), *_, (largest_error, largest_title) = errors_and_titles
    return (
        f", from {percent(least_error)} ({least_title}) to {percent(largest_error)}"
        f" ({largest_title})"
        " in individual tables"
    )


def summary_of_tables(comparisons: Sequence[PublishedTable]) -> str:
    """Return a sentence on the number of computed cells that agree with the printed ones, and the
    mean errors against measured and exact values.
    """
    count_by_verdict, errors_by_kind = _verdict_counts_and_errors(comparisons)
    compared_count = sum(count_by_verdict[kind] for kind in ("agrees", "slip", "miss"))
    rows = [row for comparison in comparisons for row in comparison.rows]
    allows_more = any(
        cell.allows_more_than_rounding
        for row in rows
        for cell in row.cells
        if row.reference == "printed"
        and not (row.input or row.against)
        and cell.printed is not None
    )
    allowance = "the difference that the study allows" if allows_more else "rounding"
    text = (
        f"{with_noun(compared_count, 'printed cell is', 'printed cells are')} compared:"
        f" {with_noun(count_by_verdict['agrees'], 'agrees', 'agree')} within {allowance},"
        f" {with_noun(count_by_verdict['slip'], 'is a slip', 'are slips')} of the source,"
        f" {with_noun(count_by_verdict['miss'], 'is a miss', 'are misses')}."
    )
    input_count = sum(cell.printed is not None for row in rows if row.input for cell in row.cells)
    if input_count and count_by_verdict:
        text += (
            f" {with_noun(input_count, 'further printed cell is', 'further printed cells are')}"
            " inputs of the model, and not compared."
        )
    if not count_by_verdict:
        text = ""
    if uncomputed_count := count_by_verdict["nothing computed"]:
        text += f" {with_noun(uncomputed_count, 'printed cell')} without a computed value."
    for kind, errors_of_kind in errors_by_kind.items():
        mean_text = percent(fmean(map(abs, errors_of_kind)))
        text += (
            f" Against {with_noun(len(errors_of_kind), f'{kind} value')} the mean absolute"
            f" error is {mean_text}."
        )
    return text.strip()


def _table_text(table: PublishedTable, difference_texts: list[list[str]]) -> str:
    """Return a table, for a page, of the computed values, the published values and their
    differences below each other, for each row of a published table. Its first rows say how each
    column was computed.
    """
    headings = ["row", f"[{table.unit}]", *map(escape, table.columns)]
    provenance = table.provenance
    rows = [
        [name, "", *(cell or NOTHING for cell in cells)]
        for name, cells in (provenance.columns() if provenance else {}).items()
    ]
    if provenance and provenance.common:
        rows = []
    for row, row_difference_texts in zip(table.rows, difference_texts, strict=True):
        if row.input and not any(cell.slip for cell in row.cells):
            rows.append(
                [
                    escape(row.label),
                    "input",
                    *(_computed_and_printed(cell)[1] for cell in row.cells),
                ]
            )
            continue
        computed_texts, printed_texts = zip(
            *(_computed_and_printed(cell, row.measured) for cell in row.cells), strict=True
        )
        rows.append([escape(row.label), "computed", *computed_texts])
        if row.against:
            value_texts = [
                _value_text(cell.printed, cell.printed_ends, _decimal_count(cell))
                for cell in row.cells
            ]
            against_cells = (
                f"{value_text} ({escape(case)})"
                for value_text, case in zip(value_texts, row.against, strict=True)
            )
            rows.append(["", "against", *against_cells])
        else:
            rows.append(["", row.reference, *printed_texts])
        rows.append(
            ["", "difference" if row.reference == "printed" else "error", *row_difference_texts]
        )
    common_sentences = (
        [f"Computed {provenance.common}."] if provenance and provenance.common else []
    )
    return "\n\n".join([*common_sentences, markdown_table(headings, rows, range(2, len(headings)))])


def _computed_and_printed(cell: TableCell, is_measured: bool = False) -> tuple[str, str]:
    """Return the computed and the printed value of a cell as texts."""
    computed_text = _value_text(cell.computed, cell.ends, _decimal_count(cell, is_measured))
    return computed_text, NOTHING if cell.printed is None else f"{cell.printed:.10g}"


def _value_text(value: float | None, ends: Ends, decimal_count: int) -> str:
    """Return a value with its interval as text."""
    return bracketed(
        *(NOTHING if number is None else f"{number:.{decimal_count}f}" for number in (value, *ends))
    )


def _decimal_count(cell: TableCell, is_measured: bool = False) -> int:
    """Return the number of decimals of a computed value as it is written: one more than the printed
    value has, judged by the allowed rounding; one for a measured row.
    """
    if is_measured:
        return 1
    return max(0, 1 - math.floor(math.log10(2 * cell.within) + 1e-9)) if cell.within > 0 else 4


def _difference_with_mark(row: TableRow, cell: TableCell, slips: Notes, misses: Notes) -> str:
    """Return the difference of a cell, or its error against a measured value, with a mark if it is
    inside the interval, a miss, or a misprint.
    """
    has_error = row.reference != "printed" or row.against
    difference_text = _error_text(cell) if has_error else _difference_text(cell)
    if cell.is_inside_interval is not None:
        difference_text += (
            (", undecided" if cell.is_inside_interval else "")
            if row.against
            else f", {'in' if cell.is_inside_interval else 'out'}side the interval"
        )
    if verdict(cell) == "miss" and not has_error:
        computed_text, printed_text = _computed_and_printed(cell)[:2]
        cell_text = f"{row.label}, {cell.case}: computed {computed_text}, printed {printed_text}"
        allowance_source = "the study" if cell.allows_more_than_rounding else "rounding"
        miss_text = f"{cell_text}; {allowance_source} allows {cell.within:g}"
        return f"{difference_text} (miss {misses.number(miss_text)})"
    return (
        f"{difference_text} (slip {slips.number(f'{row.label}: {cell.slip}')})"
        if cell.slip
        else difference_text
    )


def _difference_text(cell: TableCell) -> str:
    """Return the difference of a cell as text."""
    if cell.difference is None:
        return NOTHING
    text = f"{cell.difference:+.{_decimal_count(cell)}f}"
    return text[1:] if float(text) == 0 else text


def _list_under_title(title: str, notes: Notes, kind: str) -> str:
    """Return a numbered list of notes under a title."""
    lines = [f"- {kind} {number}: {escape(text)}" for number, text in notes.text_by_number.items()]
    return "\n".join([title, "", *lines]) if lines else ""


def _row_error_sentence(row: TableRow) -> str:
    """Return the mean of the relative errors of a row as text."""
    errors = [] if row.reference == "printed" else _relative_errors(row.cells)
    if not errors:
        return ""
    mean_text = percent(fmean(map(abs, errors)))
    return (
        f"{escape(row.label)}: mean absolute error {mean_text} over"
        f" {with_noun(len(errors), f'{row.reference} value')}"
    )


def _relative_errors(cells: Sequence[TableCell]) -> list[float]:
    """Return the relative errors of cells against their measured or exact values."""
    return [
        cell.difference / cell.printed
        for cell in cells
        if cell.difference is not None and cell.printed
    ]


def _error_text(cell: TableCell) -> str:
    """Return the relative error of a cell as text."""
    return (
        percent(cell.difference / cell.printed, with_sign=True)
        if cell.difference is not None and cell.printed
        else NOTHING
    )
