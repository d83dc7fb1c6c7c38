"""What a question of a study found: data, sentences, and tables from which the page, results.csv
and JSON are written.

Why this shape: a question declares the columns of its tables once. That every row says how it was
computed is no task of a question: a table with a name has a `Provenance`, and whatever is written
of it has method, exact and bound in each row. Below stands how answers, and what questions find,
are written as plain data, which is the JSON contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from math import isfinite, isnan
from typing import Any, ClassVar, NamedTuple

from slipstick.answer import ANSWERED, Answer, Value
from slipstick.late import Array, dataclass
from slipstick.results.sweep import Provenance, Sweep
from slipstick.results.words import NO_WORDS, Words

Cell = float | str | None
"""A number in its base unit, or words; NaN and None say that there is none."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of a table of results.

    Parameters
    ----------
    name : in results.csv, where the base unit stands behind it, and in JSON
    cells : row by row
    unit : base unit of numbers; empty for words; several if each row has its own
    ends : both ends of intervals or bands, row by row; a row without one has None or NaN
    title : on the page and in the terminal; the name by default
    written : function that writes a number with its unit and its interval for the page; by default
        as a quantity
    place : whether the column identifies the row, such as by a case or a path, and is no result
    on_page, in_file : where it is shown
    """

    name: str
    cells: Sequence[Cell] | Array
    unit: str | Sequence[str] = ""
    ends: tuple[Sequence[float | None] | Array, Sequence[float | None] | Array] | None = None
    title: str = ""
    written: Callable[[float | None, str, tuple[float | None, float | None]], str] | None = None
    place: bool = False
    on_page: bool = True
    in_file: bool = True

    @classmethod
    def from_values(
        cls, name: str, values: Iterable[Value | None], unit: str, **column_fields: Any
    ) -> ResultColumn:
        """Build a column from values with their intervals; a missing value leaves an empty cell,
        and `column_fields` are further fields of the column.
        """
        cells = [value or Value(None, unit) for value in values]
        low_and_high = [cell.low for cell in cells], [cell.high for cell in cells]
        return cls(name, [cell.value for cell in cells], unit, low_and_high, **column_fields)

    @property
    def head(self) -> str:
        """Return the column's heading in results.csv."""
        return (
            f"{self.name} [{self.unit}]" if self.unit and isinstance(self.unit, str) else self.name
        )

    def value(self, row: int) -> Value:
        """Return the value in a row with its unit and interval; the number is None where the cell
        is empty.
        """
        low, high = (_finite_or_none(end[row]) for end in self.ends) if self.ends else (None, None)
        unit = self.unit if isinstance(self.unit, str) else self.unit[row]
        return Value(_finite_or_none(self.cells[row]), unit, low, high)

    def file_columns(self) -> Iterator[tuple[str, Sequence[Cell] | Array]]:
        """Yield the columns of results.csv for this column: the cells, and the ends of intervals if
        any row has an interval.
        """
        yield self.head, self.cells
        if not isinstance(self.unit, str):
            yield "unit", self.unit
        # Two columns of empty ends for each value would treble the width of the file.
        for end_name, cells in zip(("low", "high"), self.ends or (), strict=False):
            end_cells = [_finite_or_none(cell) for cell in cells]
            if any(end_cell is not None for end_cell in end_cells):
                yield f"{end_name} {self.head}", end_cells


def _finite_or_none(cell: Cell) -> float | None:
    """Return a finite number as a Python float; None for text, missing values and infinite ends of
    intervals.
    """
    return (
        # NumPy's numbers become Python's, which JSON can write.
        float(cell) if cell is not None and not isinstance(cell, str) and isfinite(cell) else None
    )


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of the results of a question, with the method that computed each row.

    Parameters
    ----------
    name : of its rows in results.csv, where it is the column ``sweep``; none: the page alone shows
        it
    columns : of equal length
    provenance : how each row was computed; None for a table of words, sources or inputs
    failed : why a row has no answer, by its number
    title : heading on the page
    rows : the rows that the page shows; all by default
    """

    name: str
    columns: Sequence[ResultColumn]
    provenance: Provenance | None
    failed: Mapping[int, str] = field(default_factory=dict)
    title: str = ""
    rows: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.columns[0].cells)

    def file_columns(self) -> dict[str, Any]:
        """Return the columns of this table in results.csv, with the name of the table, the methods
        and the failures.
        """
        columns: dict[str, Any] = {"sweep": [self.name] * len(self)}
        for column in self.columns:
            if column.in_file:
                columns |= dict(column.file_columns())
        provenance_columns = self.provenance.columns(self.failed) if self.provenance else {}
        return {
            **columns,
            **provenance_columns,
            "failed": [self.failed.get(row) for row in range(len(self))],
        }

    def answers(self) -> Iterator[Answer]:
        """Yield each row as an answer, for JSON."""
        assert self.provenance is not None
        for row in range(len(self)):
            point: dict[str, float | str] = {}
            values: dict[str, Value] = {}
            for column in self.columns:
                cell = column.cells[row]
                if column.place or isinstance(cell, str):
                    if cell is not None:
                        point[column.name] = cell if isinstance(cell, str) else float(cell)
                elif (value := column.value(row)) != Value(None, value.unit):
                    values[column.name] = value
            failure_reason = self.failed.get(row)
            provenance_fields = self.provenance.answer_fields(row)
            # A row without an answer is not exact, whatever its method would have been.
            provenance_fields["exact"] &= not failure_reason
            yield Answer(
                self.name, values=values, point=point, failed=failure_reason, **provenance_fields
            )


def sweep_table(sweep: Sweep, names: Sequence[str]) -> ResultTable:
    """Build the table of the points of a sweep, with the values of its axes and the named values
    that the sweep has.
    """
    columns = [ResultColumn("case", sweep.cases, place=True)]
    columns += [
        ResultColumn(
            axis.path, sweep.points[axis.path], "" if axis.has_names else axis.unit, place=True
        )
        for axis in sweep.axes
    ]
    columns += [
        ResultColumn(name, sweep.columns[name], sweep.units[name], sweep.ends(name))
        for name in names
        if name in sweep.columns
    ]
    columns += [
        ResultColumn(f"limit[{name}]", [stage or None for stage in stages])
        for name, stages in sweep.limits.items()
    ]
    return ResultTable(sweep.name, columns, sweep.provenance, sweep.failed)


TidyColumn = list[float | str | None]
"""A column of the table of all results, typed; None where there is no value."""


def tidy_cells(values: Iterable[Any]) -> TidyColumn:
    """Convert the cells of a column to text if any is text, else to numbers; NaN becomes None, no
    value.
    """
    # Tables of other libraries want one type in a column.
    cell_type = str if any(isinstance(value, str) for value in values) else float
    return [
        None if value is None or (isinstance(value, float) and isnan(value)) else cell_type(value)
        for value in values
    ]


Decision = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Titles of the columns of a table of texts, and its rows."""

MOST_FURTHER_CASES = 3
"""Further cases in the sentence of a question at the head of a report."""


class TitleAnswer(NamedTuple):
    """The answer of a question to a title that asks yes or no.

    Parameters
    ----------
    word : Yes, No, Undecided or In part
    sentence : what the answers say, in a reader's words
    replaces_headline : the sentence says all that the headline says
    stands_alone : the sentence answers the title without the word, also one that may ask for the
        opposite of the condition
    condition : the condition that the word is about, as written; empty if it is none alone
    answers_opposite : the word is right for a title that asks for the opposite, too
    """

    word: str
    sentence: str
    replaces_headline: bool = True
    stands_alone: bool = False
    condition: str = ""
    answers_opposite: bool = False


YES, NO, UNDECIDED, IN_PART = "Yes", "No", "Undecided", "In part"


def verdict_word(condition_values: Iterable[bool | None]) -> str:
    """Return the word of a verdict on one or several conditions; None is an undecided one.

    >>> verdict_word([True, True]), verdict_word([False]), verdict_word([True, None])
    ('Yes', 'No', 'Undecided')
    >>> verdict_word([True, False])
    'In part'
    """
    distinct_values = {*condition_values}
    if {True, False} <= distinct_values:
        return IN_PART
    if None in distinct_values or not distinct_values:
        return UNDECIDED
    return YES if True in distinct_values else NO


class QuestionResult:
    """The result of one question of a study. All of its fields are written as JSON, except those
    with ``repr=False``.

    Every question has a class of its own, which says its sentences and declares its tables. The
    page shows them under `title`, the terminal the sentences, results.csv and JSON the tables that
    have a name.
    """

    __slots__ = ()
    title: ClassVar[str] = ""
    """Heading of its section."""

    reading: ClassVar[str] = ""
    """What a reader needs to know to understand its tables."""

    leading_columns: ClassVar[bool] = False
    """The columns of this question in results.csv come before those of the sweeps."""

    estimates: ClassVar[bool] = False
    """Its numbers are estimated from data, so that no answer that follows from them is exact."""

    states_the_title: ClassVar[bool] = False
    """The author of the question states in words what should be true, as a title that asks yes or
    no does.
    """

    is_at_given_values: ClassVar[bool] = False
    """It answers for the values that cases have as given, which the head states where other
    questions vary them.
    """

    asked_by: ClassVar[str] = ""
    """Words by which a title asks the question, as a regular expression; empty if there are none.
    """

    @property
    def heading(self) -> str:
        """The heading of its section in this study; `title` by default."""
        return self.title

    @property
    def has_own_cases(self) -> bool:
        """Whether the cases are models of different subjects, which only the question itself
        compares, so that the head of a report does not.
        """
        return False

    def sentences(self) -> Sequence[str]:
        """Return the results in sentences, the most important first; at least one."""
        raise NotImplementedError

    def sentences_beside_tables(self) -> Sequence[str]:
        """Return the sentences whose content the tables do not show."""
        return self.sentences()

    def parts(self) -> Iterable[str | ResultTable]:
        """Return the blocks below the sentences on the page: tables, and text in Markdown."""
        return ()

    def headline(self, words: Words) -> Sequence[str]:
        """Return sentences for the head of the report, in a reader's words, the answer first; by
        default the first of `sentences`. Empty if there is nothing to state.
        """
        return [*self.sentences()][:1]

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer that `text` has."""
        return False

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer | None:
        """Return the answer to a title that asks yes or no; None if the question gives none.

        Parameters
        ----------
        words : of the study
        answers : of its cases, with the values that they have as given
        """
        return None

    def answers_amount_in(self, title: str) -> bool:
        """Return whether the question answers for an amount or a year that a title names."""
        return False

    def decision(self, words: Words) -> Decision | None:
        """Return the table of alternatives to choose from, as titles and rows of texts; None by
        default.
        """
        return None

    def columns_by_case(self, words: Words) -> Mapping[str, Mapping[str, str]]:
        """Return texts for each case, by the title of a column, which the table of the alternatives
        of another question takes as well; none by default.
        """
        return {}

    def best(self, words: Words) -> tuple[str, str] | None:
        """Return the case that is certainly best by this question, and the reason in words; None if
        there is none, or if the question compares no cases.
        """
        return None

    def examined_cases(self) -> Sequence[str]:
        """List the cases that a search examined, if it left out some that a reader may expect; none
        by default.
        """
        return ()

    def searched_paths(self) -> Sequence[str]:
        """List the quantities for which a search finds values; none by default."""
        return ()

    @property
    def member(self) -> str:
        """What measured runs call a processor, such as a core; empty if there are none."""
        return ""

    def year_as_given(self, case: str) -> str:
        """Return the year of the values of a case as given; empty if the question has no years."""
        return ""

    def doubt(self, words: Words = NO_WORDS) -> str:
        """Return a phrase on uncertain or neglected effects, in a reader's words for the head of
        the report; empty by default.
        """
        return ""

    def text(self) -> str:
        """Return the sentences of the result as text for the terminal."""
        return "\n".join(self.sentences())

    def tables(self) -> list[ResultTable]:
        """Return the tables whose rows go into results.csv and JSON."""
        return [
            part_table
            for part_table in self.parts()
            if isinstance(part_table, ResultTable) and part_table.name and len(part_table)
        ]

    def answers(self) -> list[Answer]:
        """Return the answers that the JSON document lists for this question."""
        return [answer for table in self.tables() for answer in table.answers()]

    def files(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return further tables to write, each as rows by the name of its file; none by default."""
        return {}

    def named_answers(self) -> Mapping[str, Answer]:
        """Return the answers, by name, that tables and pictures may use like the answers of cases;
        none by default.
        """
        return {}

    def draw(self, spec: Any, order: Mapping[str, int], words: Words = NO_WORDS) -> Any:
        """Draw a picture of the result as a Matplotlib figure, by the picture's spec.

        Parameters
        ----------
        spec : of the picture
        order : the fill of each component, which is the same in all pictures of a study
        words : titles of the cases
        """
        raise NotImplementedError


_DOCUMENT_KEYS = (
    *(
        "model",
        "method",
        "point",
        "given",
        "values",
        "account",
        "technology",
        "steps",
        "intervals",
        "useful",
        "share",
    ),
    *(
        "gradient",
        "exact",
        "promise",
        "bound",
        "error",
        "failed",
        "notes",
        "seed",
        "converged",
        "limits",
        "left_out",
    ),
)


def answer_document(answer: Answer) -> dict[str, Any]:
    """Convert an answer to a dictionary for JSON: every key is present, numbers are in base units,
    none is NaN.
    """
    document = {key: as_data(getattr(answer, key)) for key in _DOCUMENT_KEYS}
    intervals = {
        name: {"low": low, "high": high} for name, (low, high) in document["intervals"].items()
    }
    return {
        **document,
        "intervals": intervals,
        "bound": answer.bound or None,
        "error": answer.error or None,
        "other_method": answer.other_method or None,
        "asked": {
            name: {
                "state": asked_value.state,
                "method": asked_value.method or None,
                "why": asked_value.why,
            }
            for name, asked_value in answer.asked.items()
            if asked_value.state != ANSWERED
        },
        "check": str(answer.check) if answer.check else None,
        "check_of": dict(answer.check.parts) if answer.check else {},
        "rejected": as_data(answer.check.rejected) if answer.check else None,
    }


def question_document(result: QuestionResult) -> dict[str, Any]:
    """Convert the result of a question to a dictionary for JSON, by the names of its fields."""
    field_names = [field.name for field in fields(result) if field.repr]  # type: ignore[arg-type]
    return {name: as_data(getattr(result, name)) for name in field_names}


def as_data(value: Any) -> Any:
    """Convert results to plain JSON data: numbers in base units, null instead of None, NaN and
    infinity.

    >>> as_data({"low": float("nan"), 2: (1.5, "a")})
    {'low': None, '2': [1.5, 'a']}
    """
    # Truth values are whole numbers to Python, so they are asked for first.
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        # JSON has no NaN and no infinity.
        return float(value) if isfinite(value) else None
    if isinstance(value, Answer):
        return answer_document(value)
    if is_dataclass(value):
        return {
            field.name: as_data(getattr(value, field.name)) for field in fields(value) if field.repr
        }
    if hasattr(value, "model_dump"):  # a part of a spec that a question keeps: what was written
        return as_data(value.model_dump(mode="json", exclude_unset=True))
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return list(map(as_data, value))
    # What is left is an array or a number of NumPy.
    return as_data(value.tolist())
