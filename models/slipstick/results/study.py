"""What a study found: answers by case, sweeps as columns, rankings, comparisons."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from slipstick.answer import Answer, Value
from slipstick.arguments import TEXT, checked
from slipstick.display import ShownAsTables, TableShown
from slipstick.errors import UnknownNameError, look_up
from slipstick.extensions import FUNCTIONS
from slipstick.late import dataclass, field
from slipstick.results.question import (
    QuestionResult,
    ResultColumn,
    ResultTable,
    TidyColumn,
    sweep_table,
    tidy_cells,
)
from slipstick.results.sweep import Labelled, Provenance, Sweep, split_name
from slipstick.results.words import Words
from slipstick.vocabulary import LEFT_OUT, SIMULATION

_KINDS_IN_SECONDS = ("account", "technology", "step", "once", "overhead")
"""Kinds of values that are times."""


@dataclass(frozen=True, slots=True)
class TimelineInterval:
    """An interval of time of one member, or of one of its branches, spent on one step or wait.

    Parameters
    ----------
    member, branch : what the span belongs to
    label : the step, or what was waited for
    start, end : [s]
    cause : the member whose action ended a wait, if it is known
    """

    member: int
    branch: int
    label: str
    start: float
    end: float
    cause: int | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """All events of the beginning of a simulation.

    Parameters
    ----------
    spans : in the order in which they ended
    levels : by resource, (time, present, busy) from each change on
    until : time at which the recording ended [s]
    path : spans that held up the end, one after the other, from member to member: the critical path
        of this run
    components : component of the account to which each label is booked, by label
    places : of each step, the resource at which it takes place: ``network`` for a delay in
        adapters, switches and wires, ``own``, the processor itself, for another
    phase : time at which all processors first continued together, when the slowest had arrived;
        None if they never did [s]
    useful : components that count as useful work
    ended : the program ended, so that all its spans are there; else those that went on at the end
        are not
    visits : (member, station, when) of each request to a station, those to the words of locks among
        them
    """

    spans: tuple[TimelineInterval, ...]
    levels: Mapping[str, tuple[tuple[float, int, int], ...]]
    until: float
    path: tuple[TimelineInterval, ...] = ()
    components: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    phase: float | None = None
    useful: tuple[str, ...] = ("busy",)
    ended: bool = False
    visits: tuple[tuple[int, str, float], ...] = ()

    @property
    def complete_until(self) -> float:
        """The time up to which the timeline is complete for every member [s]."""
        end_by_member: dict[int, float] = {}
        for span in self.spans:
            end_by_member[span.member] = max(end_by_member.get(span.member, 0.0), span.end)
        # A step is known only when it has ended, so a member's last step may reach beyond what was
        # recorded; up to the earliest of the last ends nothing is missing.
        return self.until if self.ended else min(end_by_member.values(), default=self.until)

    def component(self, span: TimelineInterval) -> str:
        """Return the component to which the account books a span."""
        return self.components.get(span.label, span.label)

    def active_counts(self) -> list[tuple[float, int]]:
        """Return the number of members at useful work over time: a list of pairs of a time [s] and
        the number from this time on.

        >>> both = (
        ...     TimelineInterval(0, 0, "busy", 0.0, 2.0),
        ...     TimelineInterval(1, 0, "busy", 1.0, 3.0),
        ... )
        >>> Timeline(both, {}, 3.0).active_counts()
        [(0.0, 1), (1.0, 2), (2.0, 1), (3.0, 0)]
        """
        change_by_time: dict[float, int] = {}
        for span in self.spans:
            if self.component(span) in self.useful:
                change_by_time[span.start] = change_by_time.get(span.start, 0) + 1
                # Ends and starts at one instant add up in one entry, so that a step followed by the
                # next is not counted as a pause.
                change_by_time[span.end] = change_by_time.get(span.end, 0) - 1
        times_and_counts = []
        member_count = 0
        for time in sorted(change_by_time):
            member_count += change_by_time[time]
            times_and_counts.append((time, member_count))
        return times_and_counts


@dataclass(frozen=True, slots=True)
class MethodValues:
    """One value by several methods; None where a method does not have it."""

    name: str
    unit: str
    values: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The answers of several methods for one model, side by side.

    Parameters
    ----------
    case : what was solved
    methods : in order
    rows : the values that at least two of them have
    verdicts : how each method stands to the most trusted, in words
    findings : where methods contradict each other by more than they promise
    failed : why a method has no answer, by method
    exact : the methods whose answers are the expectation to rounding
    unjudged : by method without a stated error, the relative difference [1] from a method, and that
        method; nan where that one cannot tell
    """

    case: str
    methods: tuple[str, ...]
    rows: tuple[MethodValues, ...]
    verdicts: tuple[str, ...]
    findings: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    exact: tuple[str, ...] = ()
    unjudged: Mapping[str, tuple[float, str]] = field(default_factory=dict)


class NamedAnswers(dict[str, Answer]):
    """The answers by the names of their cases; an unknown name is refused with a similar one."""

    def __missing__(self, name: str) -> Answer:
        raise UnknownNameError("case", name, list(self))


@dataclass(frozen=True, slots=True)
class Results(Labelled, ShownAsTables):
    """All results of a study.

    Parameters
    ----------
    name, title, text, source : of the study
    cases : answer of each case, in order
    settings : what each case differs in from the base, as written
    sweeps : in order
    questions : what each question found, by its key in the study
    timelines : by the name of the picture that shows it
    hashes : SHA-256 of every file that was read
    resolved : the specs with every reference followed and every default filled in, as plain data,
        by case
    versions : of slipstick and the libraries that computed
    notes : what the reader should know
    answer : the values that were asked for
    words : what a reader calls cases, quantities and values
    spec : what was asked, of which the report is written
    cases_first : the author writes the cases before the questions, none of which compares them
    """

    name: str
    title: str
    text: str
    source: str
    cases: Mapping[str, Answer]
    settings: Mapping[str, Mapping[str, str]]
    sweeps: tuple[Sweep, ...]
    hashes: Mapping[str, str]
    resolved: Mapping[str, object]
    versions: Mapping[str, str]
    notes: tuple[str, ...] = ()
    questions: Mapping[str, QuestionResult] = field(default_factory=dict)
    timelines: Mapping[str, Timeline] = field(default_factory=dict)
    answer: Sequence[str] = ()
    words: Words = field(default_factory=Words)
    cases_first: bool = False
    spec: Any = field(default=None, repr=False, compare=False)

    def report(self, folder: str | PathLike[str], *, html: bool = True) -> list[Path]:
        """Write the report of the study into a folder, as `slipstick run` does.

        Parameters
        ----------
        folder : where to; it is made if it is not there, and other files in it stay
        html : write report.html as well: one file, pictures inside

        Returns
        -------
        the files that were written

        Raises
        ------
        InputError : a file of another origin has the name of one of the report
        """
        return list(FUNCTIONS["report of a study"](self, Path(folder), html))

    def figure(self, name: str | None = None) -> Any:
        """Draw one of the pictures of the study, by its name in the study, as a Matplotlib figure;
        the first one without a name.

        Raises
        ------
        UnknownNameError : the study has no such picture
        MissingExtraError : matplotlib is not installed
        """
        return FUNCTIONS["figure of a study"](self, name)

    def cite(self) -> str:
        """Return a paragraph of citations for the numbers: slipstick, the methods used, and the
        source of the study.
        """
        return str(FUNCTIONS["citation of a study"](self))

    def __repr__(self) -> str:
        return f"<Results of {self.name}: {len(self.cases)} cases and {len(self.sweeps)} sweeps>"

    def __str__(self) -> str:
        """Write the title, the sentences at the head of the report, and a line for each case."""
        head = FUNCTIONS["head of a study"](self, self.spec.answer)
        answers = [f"{case}: {answer!r}" for case, answer in self.cases.items()]
        return "\n".join([self.title, *head, *answers])

    def shown_tables(self) -> Iterator[TableShown]:
        """Yield the tables of cases and sweeps, and the notes."""
        first_value_by_case = {
            case: next(iter(answer.values.items()), ("", "")) for case, answer in self.cases.items()
        }
        rows = [
            [case, answer.model, *first_value_by_case[case], answer.method]
            for case, answer in self.cases.items()
        ]
        yield self.title or self.name, ["case", "model", "value", "amount", "method"], rows
        for sweep in self.sweeps:
            yield from sweep.shown_tables()
        if self.notes:
            yield "", ["notes"], [[note] for note in self.notes]

    def to_dict(self) -> dict[str, list[float | str | None]]:
        """Return the table of results.csv: a row for each case, each point of a sweep, and each
        row of a question's table.
        """

        return tidy_columns(self, self.answer)

    def named_answers(self) -> dict[str, Answer]:
        """Return every answer that a table or a picture may name: the answers of cases, and answers
        that questions add.
        """
        answers_of_questions = (question.named_answers() for question in self.questions.values())
        return {
            **self.cases,
            **{
                name: answer for answers in answers_of_questions for name, answer in answers.items()
            },
        }

    @checked(name=TEXT)
    def named_answer(self, name: str) -> Answer:
        """Find a case, or an answer that a question adds, by its name; raises UnknownNameError."""
        return look_up("case", name, self.named_answers())

    @checked(name=TEXT)
    def sweep(self, name: str) -> Sweep:
        """Find a sweep by its name; raises UnknownNameError."""
        return look_up("sweep", name, {sweep.name: sweep for sweep in self.sweeps})

    @checked(name=TEXT)
    def unit(self, name: str) -> str:
        """Return the base unit of a value, as in the sweeps or the cases that have it."""
        for sweep in self.sweeps:
            if name in sweep.units:
                return sweep.units[name]
        for answer in self.cases.values():
            if name in answer.values:
                return answer.values[name].unit
        return "s" if split_name(name)[0] in _KINDS_IN_SECONDS else "1"

    @property
    def simulated(self) -> bool:
        """Return whether any case or point is an estimate with an interval."""
        simulated_answers = (
            answer for answer in self.cases.values() if answer.converged is not None
        )
        intervals = (answer.ends(name) for answer in simulated_answers for name in answer.values)
        simulated_sweeps = (
            sweep for sweep in self.sweeps if SIMULATION in sweep.provenance.methods
        )
        sweep_has_interval = any(
            name.startswith("low[") for sweep in simulated_sweeps for name in sweep.columns
        )
        # Exact values of a simulation, such as those of a run without chance, have equal ends.
        return sweep_has_interval or any(low != high for low, high in intervals)

    @property
    def pipelines(self) -> list[str]:
        """Every pipeline with a limiting stage, in the order of cases and sweeps."""
        case_pipelines = (
            limit.pipeline for answer in self.cases.values() for limit in answer.limits
        )
        return list(
            dict.fromkeys(
                [*case_pipelines, *(pipeline for sweep in self.sweeps for pipeline in sweep.limits)]
            )
        )


def case_table(results: Results, names: Sequence[str]) -> ResultTable:
    """Build the table of all cases: some of their values, and the stage that limits each
    pipeline.
    """
    answers = list(results.cases.values())
    columns = [ResultColumn("case", list(results.cases), place=True)]
    for name in names:
        low, high = (
            zip(*(answer.ends(name) for answer in answers), strict=True) if answers else ((), ())
        )
        columns.append(
            ResultColumn(
                name, [answer.find(name) for answer in answers], results.unit(name), (low, high)
            )
        )
    for name in results.pipelines:
        stages = [
            next((limit.stage for limit in answer.limits if limit.pipeline == name), None)
            for answer in answers
        ]
        # The page has a section of its own on limiting stages.
        columns.append(ResultColumn(f"limit[{name}]", stages, on_page=False))
    reason_by_row = {row: answer.failed for row, answer in enumerate(answers) if answer.failed}
    return ResultTable("", columns, Provenance.of(answers), reason_by_row)


def tidy_columns(results: Results, value_names: Sequence[str]) -> dict[str, TidyColumn]:
    """Build one tidy table of all results: the cases first, then each sweep, then the tables of
    each question.

    Columns are ``sweep`` (empty for cases, else the sweep or the question), ``case``, one for each
    varied path with its base unit (names have none), one for each value with its base unit, ``low
    VALUE`` and ``high VALUE`` behind a value that has an interval or a band anywhere,
    ``limit[pipeline]``, ``method``, ``exact`` and ``bound``, ``failed``, and those of the
    questions, see `slipstick.results.question`.

    Parameters
    ----------
    results : of a study
    value_names : the values to give, such as ``time`` or ``account[lock]``
    """
    has_answers = bool(results.cases or results.sweeps)
    # Without cases and sweeps the values asked for would be columns without a cell.
    names = [
        name
        for name in dict.fromkeys(value_names)
        if has_answers and split_name(name)[0] != "limit"
    ]
    cases_table = case_table(results, names)
    blocks: list[Mapping[str, Any]] = [
        {**cases_table.file_columns(), "sweep": [None] * len(cases_table)}
    ]
    blocks += [sweep_table(sweep, names).file_columns() for sweep in results.sweeps]
    leading_names: dict[str, None] = {}
    added_names: dict[str, None] = {}
    for question in results.questions.values():
        for block in (table.file_columns() for table in question.tables()):
            blocks.append(block)
            for name in block:
                (leading_names if question.leading_columns and name.endswith("]") else added_names)[
                    name
                ] = None
    names_present = {name for block in blocks for name in block}
    ordered_names = _ordered_columns(results, names, names_present, leading_names, added_names)
    return {
        name: tidy_cells(
            [cell for block in blocks for cell in block.get(name, [None] * len(block["case"]))]
        )
        for name in ordered_names
    }


def _ordered_columns(
    results: Results,
    names: Sequence[str],
    names_present: Collection[str],
    leading_names: Iterable[str],
    added_names: Iterable[str],
) -> list[str]:
    """List the columns of the tidy table in their order, each once.

    Parameters
    ----------
    results : of a study
    names : the values asked for
    names_present : the columns that any block of rows has
    leading_names, added_names : columns of questions that stand before the axes, and at the end
    """
    sweep_axes = (axis for sweep in results.sweeps for axis in sweep.axes)
    axis_columns = (
        axis.path if axis.has_names else f"{axis.path} [{axis.unit}]" for axis in sweep_axes
    )
    ends_and_columns = (
        (end, f"{end}{name} [{results.unit(name)}]")
        for name in names
        for end in ("", "low ", "high ")
    )
    value_columns = (
        column_name
        for end, column_name in ends_and_columns
        if not end or column_name in names_present
    )
    limit_columns = (f"limit[{name}]" for name in results.pipelines)
    provenance_columns = [*Provenance([], []).columns()]
    provenance_columns += [name for name in ("error", LEFT_OUT) if name in names_present]
    ordered_names = [
        "sweep",
        "case",
        *leading_names,
        *axis_columns,
        *value_columns,
        *limit_columns,
        *provenance_columns,
        "failed",
        *added_names,
    ]
    return list(dict.fromkeys(ordered_names))
