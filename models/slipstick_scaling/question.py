"""Scaling: the size that each number of processors needs, and what it costs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import combinations, pairwise
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, ClassVar

from slipstick.answer import Answer, Value, Verdict
from slipstick.errors import ModelError, Problem, SpecError, did_you_mean
from slipstick.expression.nodes import BYTES, COUNT, Expr, Parameter, parameters
from slipstick.expression.tape import Tape
from slipstick.late import Array, NDArray, dataclass, field, np, replace
from slipstick.law import Law
from slipstick.method.closed_form import ClosedForm, CompiledLaw
from slipstick.method.ladder import LadderForm
from slipstick.model.system import Model
from slipstick.report.formatting import (
    NOTHING,
    Ends,
    as_number,
    as_percent,
    bracketed,
    code,
    escape,
    finite_or_none,
    join_phrases,
    markdown_table,
    percent,
    plain_decimal,
    quantity,
    setting_phrase,
    three_digits,
)
from slipstick.results.question import (
    MOST_FURTHER_CASES,
    Decision,
    QuestionResult,
    ResultColumn,
    ResultTable,
)
from slipstick.results.sweep import Axis, PointTable, Provenance, Sweep, split_name
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.inputs import BuiltModel
from slipstick.schema.kinds.quantity import Formula, read_formula
from slipstick.schema.text import canonical
from slipstick.study.cases import StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import Question
from slipstick.study.sweep import SweepPlan, check_sweep, plan_sweep
from slipstick.study.wording import words_of
from slipstick.vocabulary import REPLACED
from slipstick_papers.page import StatementRow, summary_of_statements
from slipstick_pictures.look import (
    axis_title,
    draw_intervals,
    fill_style,
    fills_of,
    make_logarithmic,
    new_figure,
    part_label,
    set_plain_ticks,
    stroke,
    with_title_and_legend,
)
from slipstick_scaling.isoefficiency import (
    EFFICIENCY_CONSERVED,
    FIXED_SIZE,
    MEMORY_BOUND,
    NO_FURTHER_VALUES,
    TIME_BOUND,
    Columns,
    Run,
    Runs,
    isoefficiency,
    run_in_symbols,
    scalability,
    size_factors,
)
from slipstick_scaling.specs import BandsSpec, GrowthPictureSpec, ScalabilityPictureSpec, ScaleSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Range of numbers of processors up to which each whole number is solved.
_MOST_SCANNED_NUMBERS = 10_000


@dataclass(frozen=True, slots=True)
class OverheadTerm:
    """A term of the total overhead T_o = N T - W t_c, in symbols.

    Parameters
    ----------
    text : the term
    order : how the work grows that pays for it; empty where none does
    since : from which number of processors on it asks for the most; None if it never does
    """

    text: str
    order: str
    since: float | None


@dataclass(frozen=True, slots=True)
class IsoefficiencyFormula:
    """The isoefficiency function in symbols.

    Parameters
    ----------
    efficiency : what is kept [1]
    overhead, work : T_o and W t_c
    terms : of the overhead
    order : how the work must grow; empty where no work is enough
    exact : the work as a formula; empty where only numbers can tell
    limit : why no work is enough
    """

    efficiency: float
    overhead: str
    work: str
    terms: tuple[OverheadTerm, ...]
    order: str
    exact: str
    limit: str


@dataclass(frozen=True, slots=True)
class BestProcessors:
    """The number of processors that is best in some respect, such as the fastest; None if there is
    none.

    Parameters
    ----------
    processors : how many [1]
    value : what is reached there
    at_the_end : it is the largest that was looked at, so a larger one may do better
    at_the_start : it is the smallest that was looked at, above 1, so a smaller one may do better
    examined : the numbers that were looked at, where whole numbers between them were not, or where
        none of them stands out and smaller ones were not
    undecided : other numbers of processors that may stand out instead, for intervals overlap or
        hold the limit
    missing : smaller numbers of processors that miss what this one reaches, or have no answer
    unknown : no number of processors has such a value
    """

    processors: float | None
    value: Value
    at_the_end: bool
    undecided: tuple[float, ...] = ()
    missing: tuple[float, ...] = ()
    at_the_start: bool = False
    examined: tuple[float, ...] = ()
    unknown: bool = False

    @property
    def among_text(self) -> str:
        """The numbers of processors that were examined, in words, if there are others between
        them.
        """
        return f" (of {_numbers_text(self.examined)})" if self.examined else ""

    @property
    def doubt(self) -> str:
        """A clause on the smaller numbers of processors that miss the criterion, and on others that
        may meet it.
        """
        missing_in_words = f", but not on {_numbers_text(self.missing)}" if self.missing else ""
        undecided_text = (
            f"; undecided against {_numbers_text(self.undecided)}" if self.undecided else ""
        )
        return missing_in_words + undecided_text


_MOST_LISTED_NUMBERS = 8


def _numbers_text(processor_counts: Sequence[float]) -> str:
    """Return numbers of processors as text; of many, only the first ones or the ends of the
    range.
    """
    further_count = len(processor_counts) - _MOST_LISTED_NUMBERS
    if further_count > 0 and all(np.diff(processor_counts) == 1):
        return f"{processor_counts[0]:g} to {processor_counts[-1]:g}"
    listed_numbers = ", ".join(f"{number:g}" for number in processor_counts[:_MOST_LISTED_NUMBERS])
    return f"{listed_numbers} and {further_count} more" if further_count > 0 else listed_numbers


@dataclass(frozen=True, slots=True)
class PublishedScalability:
    """A published cell of the scalability matrix beside the computed one.

    Parameters
    ----------
    processors, more_processors : N and N'
    way : how the size grows
    printed, computed : the latency metric; NaN where we have none
    source : where it is printed
    method, exact, bound, error, left_out, check : how the run on more processors was computed
    lacks : the mechanism that the model is known to lack, where it misses
    checked : whether the cell is a statement by itself
    """

    processors: float
    more_processors: float
    way: str
    printed: float
    computed: float
    source: str
    method: str = ""
    exact: bool = False
    bound: str = ""
    error: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    check: Verdict | None = None
    lacks: str = ""
    checked: bool = True

    @property
    def agrees(self) -> bool:
        """Whether the printed and the computed value are equal when rounded to two decimals."""
        return abs(self.computed - self.printed) <= 0.005

    def exponent(self, scalability: float) -> float:
        """Return the exponent of the isoefficiency that a scalability in this cell implies [1]; NaN
        if another way of scaling is meant.
        """
        if self.way != "efficiency-conserved" or not scalability > 0:
            return math.nan
        return 1 - math.log(scalability) / math.log(self.more_processors / self.processors)


@dataclass(frozen=True, slots=True)
class Scaling:
    """The scaling of one case.

    Parameters
    ----------
    case : what was solved
    path : the parameter that stands for the processors
    useful : components that count as useful
    ways : by name, the points of each way to scale: processors N, rising, each size parameter (not
        a number where no size keeps what is to be kept), and the run at it: time, efficiency,
        latency T (1 - E), and the account
    goals : what each way keeps; none for a fixed size
    matrix : scalability of each pair of numbers of processors, by way
    fastest : the number of processors with the least time at a fixed size
    threshold : an efficiency to stay above [1]
    largest : the most processors that do, at a fixed size
    growth : the isoefficiency in symbols, where the closed form has one
    no_growth : why it has none
    printed : published cells of the matrix
    """

    case: str
    path: str
    useful: tuple[str, ...]
    ways: Mapping[str, Sweep]
    goals: Mapping[str, Value]
    matrix: Mapping[str, Array]
    fastest: BestProcessors
    threshold: float
    largest: BestProcessors
    growth: IsoefficiencyFormula | None = None
    no_growth: str = ""
    printed: tuple[PublishedScalability, ...] = ()

    @property
    def numbers(self) -> list[float]:
        """The numbers of processors."""
        return [float(number) for number in next(iter(self.ways.values())).points[self.path]]

    def matrix_ends(self, way: str) -> tuple[Array, Array]:
        """Return the lower and the upper end of each cell of the matrix, from the intervals of the
        latencies.
        """
        low, high = self.ways[way].ends("latency")
        with np.errstate(all="ignore"):
            return low[:, None] / high[None, :], high[:, None] / low[None, :]


@dataclass(frozen=True, slots=True)
class ScaleResult(QuestionResult):
    """The scaling of all cases of a study."""

    title: ClassVar[str] = "How it scales"
    reading: ClassVar[str] = (
        "Latency is the time of a processor that is not useful. A cell of the matrix is the latency"
        " metric L(N) / L(N'), from N processors (row) to N' processors (column), with the size"
        " grown as stated: 1 is perfect scaling, a small value is poor scaling."
    )
    leading_columns: ClassVar[bool] = True
    scalings: tuple[Scaling, ...]
    words: Words = field(default=NO_WORDS, repr=False)
    counted: str = field(default="", repr=False)

    def _with_counted_members(self, words: Words) -> Words:
        """Return words in which the noun for a member of the population is the noun of what the
        study counts, such as a request, if it names one.
        """
        return replace(words, member=self.counted) if self.counted else words

    def sentences(self) -> list[str]:
        """Return sentences on the fastest number of processors of each case, the largest efficient
        one, and the growth of the work.
        """
        lines = []
        words = self._with_counted_members(self.words)
        for scaling in self.scalings:
            sentences = [
                _fastest_sentence(scaling.fastest, words),
                _largest_sentence(scaling, words),
            ]
            sentences += [] if scaling.growth is None else [_growth_sentence(scaling.growth)]
            lines += [f"{scaling.case}: {line}" for line in sentences]
        first_checked = self._first_checked
        if first_checked:
            statements_text = summary_of_statements(_published_statements(first_checked))
            lines.append(f"{first_checked.case}: {statements_text}")
        return lines

    @property
    def _first_checked(self) -> Scaling | None:
        """The first case that has a published cell which is a statement by itself; None if there is
        none.
        """
        return next(
            (scaling for scaling in self.scalings if any(cell.checked for cell in scaling.printed)),
            None,
        )

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.scalings) > 1 + MOST_FURTHER_CASES

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the fastest number of processors and on the growth of the work for
        the first cases.
        """
        words = self._with_counted_members(words)
        scalings_shown = self.scalings[: 1 + MOST_FURTHER_CASES]
        growing_scalings = [
            scaling
            for scaling in scalings_shown
            if scaling.growth is not None and not scaling.growth.limit
        ]
        other_scalings = [scaling for scaling in scalings_shown if scaling not in growing_scalings]
        headlines = []
        if other_scalings:
            range_texts = [_efficient_range_headline(scaling, words) for scaling in scalings_shown]
            headlines.append(_sentence_of_cases(scalings_shown, range_texts, words))
        if growing_scalings:
            kept_percent = percent(
                growing_scalings[0].growth.efficiency if growing_scalings[0].growth else None
            )
            beginning = (
                f"to keep {kept_percent} efficiency on N {words.members}, the work must grow "
            )
            headline = _sentence_of_cases(
                growing_scalings,
                map(_order_text, growing_scalings),
                words,
                bool(other_scalings),
                beginning,
            )
            headlines.append(headline.replace("must grow not at all", _NO_GROWTH_TEXT))
        sized_scalings = [
            (scaling, size)
            for scaling in other_scalings
            if (size := _size_headline(scaling, words))
        ]
        if sized_scalings:
            scalings, sizes = zip(*sized_scalings, strict=True)
            has_further_cases = len(scalings_shown) > len(scalings)
            headlines.append(_sentence_of_cases(scalings, sizes, words, has_further_cases))
        fastest_texts = [_fastest_headline(scaling, words) for scaling in scalings_shown]
        beginning = "fastest at a fixed size "
        # Equal numbers of processors are stated once for all cases.
        if len({scaling.fastest.among_text for scaling in scalings_shown}) == 1:
            numbers_examined = scalings_shown[0].fastest.among_text
            fastest_texts = [text.replace(numbers_examined, "") for text in fastest_texts]
            beginning = f"fastest at a fixed size{numbers_examined} "
        return [
            *headlines,
            _sentence_of_cases(scalings_shown, fastest_texts, words, beginning=beginning),
        ]

    def decision(self, words: Words) -> Decision | None:
        """Return a table of the fastest and the largest efficient number of processors of each
        case.
        """
        rows = []
        for scaling in self.scalings[:_MOST_CHOICES]:
            fastest = scaling.fastest
            largest = scaling.largest
            rows.append(
                [
                    words.case(scaling.case),
                    "none" if fastest.processors is None else f"{fastest.processors:g}",
                    quantity(fastest.value.value, "s", ends=fastest.value.ends),
                    "none" if largest.processors is None else f"{largest.processors:g}",
                ]
            )
        headings = [
            "",
            "fastest on",
            "time there",
            f"at least {percent(self.scalings[0].threshold)} efficient up to",
        ]
        return (headings, rows) if len(rows) > 1 else None

    def files(self) -> dict[str, list[dict[str, str]]]:
        """Return the published cells as statements, for the first case that has them."""
        first_checked = self._first_checked
        rows = (
            [statement._asdict() for statement in _published_statements(first_checked)]
            if first_checked
            else []
        )
        return {"statements-of-scaling.csv": rows} if rows else {}

    def named_answers(self) -> dict[str, Answer]:
        """Return the cells of each matrix, as one answer for each pair of numbers of processors, by
        name.
        """
        return {
            cell_name(scaling.case, smaller_count, larger_count): Answer(
                scaling.case,
                values={
                    _cell_value(way): Value(finite_or_none(cells[row, column]), "1")
                    for way, cells in scaling.matrix.items()
                },
                **provenance.answer_fields(column),
            )
            for scaling in self.scalings
            for provenance in [next(iter(scaling.ways.values())).provenance]
            for (row, smaller_count), (column, larger_count) in combinations(
                enumerate(scaling.numbers), 2
            )
        }

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield the runs of each way to scale, the matrix of scalability and the isoefficiency,
        case by case.
        """
        for scaling in self.scalings:
            yield f"### {escape(scaling.case)}"
            for way in scaling.ways:
                yield _runs_table(scaling, way)
            yield from map(partial(_matrix_table, scaling), scaling.matrix)
            yield _printed_table(scaling)
            yield _READING_OF_EXPONENT if scaling.printed else ""
            yield from _formula_text(scaling)

    def draw(
        self,
        spec: BandsSpec | GrowthPictureSpec | ScalabilityPictureSpec,
        order: Mapping[str, int],
        words: Words = NO_WORDS,
    ) -> Figure:
        """Draw the picture that the study describes: the processors by activity as stacked bands,
        the growth of the work, or the scalability between numbers of processors.
        """
        if isinstance(spec, GrowthPictureSpec):
            return _draw_growth(self.scalings, spec, words)
        scaling = next(scaling for scaling in self.scalings if scaling.case == spec.case)
        if isinstance(spec, ScalabilityPictureSpec):
            return _draw_triangle(scaling, spec, words)
        return _draw_bands(scaling, spec, order)


@dataclass(frozen=True)
class _ScaledCase:
    """The scaling of one case to be computed: the model at any size, ascending numbers of
    processors, and the memory of a processor [B].
    """

    case: str
    spec: ScaleSpec
    built: BuiltModel
    axis: Axis
    sizes: Mapping[str, tuple[float, float]]
    memory: Expr | None
    plan: Callable[[], SweepPlan]

    @cached_property
    def numbers(self) -> Array:
        """The numbers of processors."""
        return np.array(self.axis.values, dtype=float)

    @cached_property
    def runs(self) -> Runs:
        """The model at any size, as `slipstick_scaling.isoefficiency.Runs`."""
        forms = [(group.form, self.numbers[group.rows]) for group in self.plan().groups]
        return Runs(forms, self.axis.path, self.sizes, self.spec.against)

    def kept_value(self, way: str) -> Value | None:
        """Return the value that a way of scaling keeps constant."""
        memory = self.spec.memory
        kept_value = {
            TIME_BOUND: self.spec.time,
            EFFICIENCY_CONSERVED: self.spec.efficiency,
            MEMORY_BOUND: memory.most if memory else None,
        }.get(way)
        return None if kept_value is None else Value(kept_value.value, str(kept_value.dimension))

    def memory_function(self) -> Callable[[Array, Array, Columns], Array] | None:
        """Return the memory of a processor as a function of the factor on sizes, N, and the values
        of other parameters; None if the study gives no memory.
        """
        if self.memory is None:
            return None
        tape = Tape([self.memory])

        def memory_at(factor: Array, processor_counts: Array, others: Columns) -> Array:
            sizes = self.runs.sizes(factor, others)
            values_here = {**others, **sizes, self.runs.processors: processor_counts}
            memory_used = tape.run(
                {path: value for path, value in values_here.items() if path in tape.parameters}
            )[0]
            return np.broadcast_to(memory_used, (len(processor_counts),))

        return memory_at


def read(scale_spec: ScaleSpec, study: StudyContext) -> Question:
    """Read the scaling questions of a study and build the models; nothing is solved.

    Raises
    ------
    SpecError : a path leads nowhere, or a value is not allowed
    """
    problems = [
        study.problem(
            (*place, key),
            f"scale has no {key} {getattr(picture, key)!r}, so there is nothing to draw",
        )
        for kind in (BandsSpec, GrowthPictureSpec, ScalabilityPictureSpec)
        for place, picture in study.pictures(kind)
        for key, cell_names in (("case", scale_spec.cases), ("way", scale_spec.ways))
        if getattr(picture, key, cell_names[0]) not in cell_names
    ]
    if problems:
        raise SpecError(problems)
    cases = [_read_case(case, scale_spec, study) for case in scale_spec.cases]
    unit_by_value = {_cell_value(way): "1" for way in scale_spec.ways if way != FIXED_SIZE}
    cell_names = [
        cell_name(case.case, *processor_pair)
        for case in cases
        for processor_pair in combinations(map(float, case.axis.values), 2)
    ]

    def solve(_: object) -> ScaleResult:
        # A check builds no model: some count events of their programs for that.
        model = cases[0].built.model
        is_open = isinstance(model, Model) and model.population.open
        # The account of an open model counts processors, not its customers.
        noun = "processor" if is_open else ""
        return ScaleResult(tuple(map(_scaling_of_case, cases)), words_of(study, {}), noun)

    def solve_at(
        points: Columns, point_count: int, cells: Sequence[str]
    ) -> list[dict[str, Answer]]:
        answers_by_point: list[dict[str, Answer]] = [{} for _ in range(point_count)]
        for case in cases:
            pairs = [
                pair
                for pair in combinations(map(float, case.axis.values), 2)
                if cell_name(case.case, *pair) in cells
            ]
            if pairs:
                answers_of_case = _cells_at(case, pairs, points, point_count)
                for answers, further in zip(answers_by_point, answers_of_case, strict=True):
                    answers.update(further)
        return answers_by_point

    return Question(
        solve,
        answer_names=dict.fromkeys(cell_names, unit_by_value) if unit_by_value else {},
        solve_at=solve_at if unit_by_value else None,
    )


_PATH_OF_GOAL = {
    TIME_BOUND: "scale.time",
    EFFICIENCY_CONSERVED: "scale.efficiency",
    MEMORY_BOUND: "scale.memory.most",
}
"""Path of what each way keeps."""


def cell_name(case: str, smaller_count: float, larger_count: float) -> str:
    """Return the name of the answer that holds one cell of the matrix of scalability.

    >>> cell_name("my-program", 4, 32)
    'my-program-4-to-32'
    """
    return f"{case}-{smaller_count:g}-to-{larger_count:g}"


def _cell_value(way: str) -> str:
    """Return the name of the value that holds the scalability in one way of scaling."""
    return f"scalability[{way}]"


def _read_case(case: str, spec: ScaleSpec, study: StudyContext) -> _ScaledCase:
    """Check what a study asks of the scaling of a case, and build its models."""
    own_case = evaluator(case, study.cases[case], study.library)
    sweep = study.sweep_over_axes(("scale", "processors"), spec.processors, case)
    (axis,), (first_model, *_) = check_sweep(sweep, case, study)
    if axis.has_names:
        raise study.refusal(
            ("scale", "processors"), f"give numbers of processors, got {axis.values[0]}"
        )
    if not all(low < high for low, high in pairwise(map(float, axis.values))):
        raise study.refusal(("scale", "processors"), "the numbers of processors must rise")
    sizes = _size_parameters(own_case, spec, study, first_model.built.free_paths)
    _check_case(case, spec, study, first_model.built, axis)
    plan = partial(plan_sweep, sweep, study.cases, study.library)
    return _ScaledCase(
        case,
        spec,
        own_case.built,
        axis,
        sizes,
        _memory_formula(spec, study, own_case.built, axis, sizes),
        plan,
    )


def _size_parameters(
    own_case: Evaluator, spec: ScaleSpec, study: StudyContext, known_paths: Collection[str]
) -> dict[str, tuple[float, float]]:
    """Return the value and the power of each size parameter, by path; raise if the time does not
    depend on one of them.
    """
    sizes: dict[str, tuple[float, float]] = {}
    problems: list[Problem] = []
    for path_as_written, power in spec.size.items():
        path = canonical(own_case.inputs.tree, path_as_written)
        parameters = own_case.built.parameters
        value = parameters[path].value if path in parameters else None
        if path not in known_paths or value is None:
            message = (
                f"{own_case.case} has no quantity {path_as_written!r} that can"
                f" grow{did_you_mean(path_as_written, sorted(known_paths))}"
            )
        elif value <= 0:
            message = (
                f"{path_as_written} is {value:g}, and no factor makes it grow; give it a value"
                " above 0"
            )
        else:
            sizes[path] = (value, power)
            continue
        problems.append(study.problem(("scale", "size", path_as_written), message, is_at_key=True))
    if problems:
        raise SpecError(problems)
    return sizes


def _check_case(
    case: str, spec: ScaleSpec, study: StudyContext, first_model: BuiltModel, axis: Axis
) -> None:
    """Raise if a case cannot be scaled as the study asks: its sizes, published cells and number of
    processors.
    """
    model = first_model.sample.model
    if (
        spec.against != "useful"
        and axis.path not in first_model.free_paths
        and 1.0 not in axis.values
    ):
        message = (
            f"{case} is built anew for each number of processors, so list 1 as well, with which"
            " the others are compared"
        )
        raise study.refusal(("scale", "against"), message)
    size = model.population.size if isinstance(model, Model) else None
    # A plain parameter is the number itself; only a formula of it needs arrays.
    if (
        size is not None
        and not isinstance(size, Parameter)
        and any(parameter.name == axis.path for parameter in parameters(size))
    ):
        axis_values = np.array(axis.values, dtype=float)
        processor_counts = np.broadcast_to(
            Tape([size]).run({axis.path: axis_values})[0], axis_values.shape
        )
        for value, processors in zip(
            axis_values[processor_counts != axis_values],
            processor_counts[processor_counts != axis_values],
            strict=True,
        ):
            message = (
                f"{case} has {processors:g} processors where {axis.path} is {value:g}; name a path"
                " that is their number"
            )
            raise study.refusal(("scale", "processors"), message)
    if spec.against == "useful" and isinstance(model, Law):
        message = (
            f"{case} is a law, which does not say what is useful; write against: one-processor"
        )
        raise study.refusal(("scale",), message)
    for index, cell in enumerate(spec.printed):
        for key, number in (("from", cell.fewer), ("to", cell.more)):
            if number not in axis.values:
                message = (
                    f"the cell from {cell.fewer} to {cell.more} processors is not in the matrix;"
                    f" list {number} as well"
                )
                raise study.refusal(("scale", "printed", index, key), message)


def _memory_formula(
    spec: ScaleSpec, study: StudyContext, built: BuiltModel, axis: Axis, sizes: Collection[str]
) -> Expr | None:
    """Return the formula of the memory of a processor; None if the study gives none."""
    if spec.memory is None:
        return None
    place = ("scale", "memory", "used")
    # The number of processors may shape the model, and then is no parameter of it.
    parameter_by_name = {axis.path: Parameter(axis.path, COUNT, 1.0), **built.parameters}
    expr = read_formula(study.tree, place, Formula(spec.memory.used), parameter_by_name, BYTES)
    paths_used = [parameter.name for parameter in parameters(expr)]
    if "memory-bound" in spec.ways and not any(path in paths_used for path in sizes):
        message = (
            f"{spec.memory.used} does not depend on {', '.join(sizes)}, so no size fills the memory"
        )
        raise study.refusal(place, message)
    return expr


def _scaling_of_case(scaled_case: _ScaledCase) -> Scaling:
    """Compute the scaling of one case in every requested way.

    The efficiency is the useful share of the account, or, if the study says so, relative to one
    processor; the latency is T (1 - E). Sizes are real numbers, also if only whole ones make sense.
    """
    spec = scaled_case.spec
    runs = scaled_case.runs
    listed_numbers = scaled_case.numbers
    sweep_by_way: dict[str, Sweep] = {way: _scaled_runs(scaled_case, way) for way in spec.ways}
    processor_counts, columns = _runs_at_fixed_size(runs, listed_numbers)
    growth, reason = _growth_in_symbols(scaled_case)
    matrix = {
        way: scalability(sweep.columns["time"], sweep.columns["efficiency"])
        for way, sweep in sweep_by_way.items()
        if way != FIXED_SIZE
    }
    return Scaling(
        case=scaled_case.case,
        path=runs.processors,
        useful=scaled_case.built.model.useful if isinstance(scaled_case.built.model, Model) else (),
        ways=sweep_by_way,
        goals={way: goal for way in spec.ways if (goal := scaled_case.kept_value(way)) is not None},
        matrix=matrix,
        fastest=_fastest_number(processor_counts, columns),
        threshold=spec.threshold.value,
        largest=_largest_efficient_number(processor_counts, columns, spec.threshold.value),
        growth=growth,
        no_growth=reason,
        printed=tuple(_published_cells(scaled_case, sweep_by_way, matrix)),
    )


def _cells_at(
    scaled_case: _ScaledCase,
    pairs: Sequence[tuple[float, float]],
    points: Columns,
    point_count: int,
) -> list[dict[str, Answer]]:
    """Return, for each of several points, the cells of the matrix of one case for some pairs of
    numbers of processors. All points and numbers are solved together.

    Parameters
    ----------
    points : values of parameters of the case by path, and what a way keeps, such as
        ``scale.memory.most``; aligned
    """
    distinct_processor_counts = sorted(
        {processor_count for pair in pairs for processor_count in pair}
    )
    processor_counts = np.tile(distinct_processor_counts, point_count)
    columns = {
        path: np.repeat(column, len(distinct_processor_counts)) for path, column in points.items()
    }
    others = {path: columns[path] for path in columns if path in scaled_case.built.parameters}
    runs = scaled_case.runs.without_check()
    cells: list[dict[str, dict[str, Value]]] = [{} for _ in range(point_count)]
    provenance = Provenance([], [])
    for way in scaled_case.spec.ways:
        if way == FIXED_SIZE:
            continue
        goal = scaled_case.kept_value(way)
        goals = columns.get(
            _PATH_OF_GOAL[way], np.full(len(processor_counts), goal.value if goal else 0.0)
        )
        factors = size_factors(
            runs, way, processor_counts, goals, scaled_case.memory_function(), others
        )
        has_size = np.isfinite(factors)
        table = runs.solved(np.where(has_size, factors, 1.0), processor_counts, others)
        provenance = table.provenance
        time, efficiency = (
            np.where(has_size, table.columns[name], np.nan).reshape(
                point_count, len(distinct_processor_counts)
            )
            for name in ("time", "efficiency")
        )
        for point in range(point_count):
            matrix = scalability(time[point], efficiency[point])
            for smaller_count, larger_count in pairs:
                cell = matrix[
                    distinct_processor_counts.index(smaller_count),
                    distinct_processor_counts.index(larger_count),
                ]
                values_of_cell = cells[point].setdefault(
                    cell_name(scaled_case.case, smaller_count, larger_count), {}
                )
                values_of_cell[_cell_value(way)] = Value(finite_or_none(cell), "1")
    return [
        {
            name: Answer(
                scaled_case.case,
                provenance.methods[row * len(distinct_processor_counts)],
                values_of_cell,
            )
            for name, values_of_cell in values_by_cell.items()
        }
        for row, values_by_cell in enumerate(cells)
    ]


def _published_cells(
    scaled_case: _ScaledCase, sweep_by_way: Mapping[str, Sweep], matrix: Mapping[str, Array]
) -> Iterator[PublishedScalability]:
    """Yield the published cells with the computed ones; a cell has the method of the run on more
    processors.
    """
    index_by_number = {float(number): index for index, number in enumerate(scaled_case.numbers)}
    for cell in scaled_case.spec.printed:
        for way, value in cell.scalability.items():
            computed_value = float(
                matrix[way][index_by_number[cell.fewer], index_by_number[cell.more]]
            )
            provenance = sweep_by_way[way].provenance
            cell_values = (cell.fewer, cell.more, way, value, computed_value, cell.source)
            lacks = cell.lacks.get(way, "")
            yield PublishedScalability(
                *cell_values,
                **provenance.answer_fields(index_by_number[cell.more]),
                lacks=lacks,
                checked=cell.checked,
            )


def _latency_columns(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return the latency, T (1 - E), and the widest interval that those of T and E allow.

    >>> ends = {"low[time]": 1.0, "high[time]": 3.0, "low[efficiency]": 0.25}
    >>> known = {"time": 2.0, "efficiency": 0.5, "high[efficiency]": 0.75, **ends}
    >>> columns = _latency_columns({name: np.array([value]) for name, value in known.items()})
    >>> {name: float(column[0]) for name, column in columns.items()}
    {'latency': 1.0, 'low[latency]': 0.25, 'high[latency]': 2.25}
    """
    latency_columns = {"latency": columns["time"] * (1.0 - columns["efficiency"])}
    if {"low[time]", "low[efficiency]"} <= columns.keys():
        low_efficiency, high_efficiency = (columns[f"{end}[efficiency]"] for end in ("low", "high"))
        least_lost = np.maximum(1.0 - high_efficiency, 0.0)
        latency_columns["low[latency]"] = columns["low[time]"] * least_lost
        latency_columns["high[latency]"] = columns["high[time]"] * (1.0 - low_efficiency)
    return latency_columns


def _scaled_runs(scaled_case: _ScaledCase, way: str) -> Sweep:
    """Return the runs at the sizes that a way of scaling requires."""
    runs = scaled_case.runs
    processor_counts = scaled_case.numbers
    factors, table = _solved_sizes(scaled_case, runs.without_check(), way)
    check_verdicts = [verdict.word for verdict in table.provenance.checks.values()]
    # A short simulation that checks each trial size costs more than the answers, and agrees in most
    # models. The final sizes are checked; the trials are checked only if one of these is rejected.
    if REPLACED in check_verdicts:
        factors, table = _solved_sizes(scaled_case, runs, way)
    has_size = np.isfinite(factors)
    columns_at_sizes = table.columns
    provenance = table.provenance
    kept_columns = [
        name
        for name in columns_at_sizes
        if _value_of_end(name) in ("time", "efficiency")
        or _value_of_end(name).startswith("account[")
    ]
    columns = {name: np.where(has_size, columns_at_sizes[name], np.nan) for name in kept_columns}
    columns.update(_latency_columns(columns))
    sizes = {path: str(scaled_case.built.parameters[path].dimension) for path in runs.size}
    return Sweep(
        name=f"scale/{way}",
        axes=(Axis(runs.processors, "1", tuple(processor_counts.tolist())),),
        cases=[scaled_case.case] * len(processor_counts),
        points={runs.processors: processor_counts},
        columns={**runs.sizes(factors), **columns},
        units={
            **sizes,
            **{name: "1" if _value_of_end(name) == "efficiency" else "s" for name in columns},
        },
        limits={},
        failed={
            int(index): _reason_without_size(scaled_case, way, float(processor_counts[index]))
            for index in np.flatnonzero(~has_size)
        },
        provenance=provenance,
    )


def _solved_sizes(scaled_case: _ScaledCase, trial_runs: Runs, way: str) -> tuple[Array, PointTable]:
    """Return the factors on the sizes that a way of scaling requires, solved with the runs
    `trial_runs`, and the answers at these sizes.
    """
    processor_counts = scaled_case.numbers
    goal = scaled_case.kept_value(way)
    target = goal.value or 0.0 if goal else 0.0
    factors = size_factors(trial_runs, way, processor_counts, target, scaled_case.memory_function())
    return factors, scaled_case.runs.solved(
        np.where(np.isfinite(factors), factors, 1.0), processor_counts
    )


def _value_of_end(name: str) -> str:
    """Return the name of the value that a column of interval ends belongs to."""
    kind, inside = split_name(name)
    return inside if kind in ("low", "high") else name


def _account_by_component(sweep: Sweep) -> dict[str, Array]:
    """Return the time of a processor by component [s]."""
    return {
        name[8:-1]: column for name, column in sweep.columns.items() if name.startswith("account[")
    }


def _reason_without_size(scaled_case: _ScaledCase, way: str, count: float) -> str:
    """Return the reason why no size was found, with the value at the case's own size."""
    factors = np.ones(1)
    processor_count = np.array([count])
    memory_used = scaled_case.memory_function()
    if way == "memory-bound" and memory_used is not None:
        own_value = float(memory_used(factors, processor_count, NO_FURTHER_VALUES)[0])
    else:
        own_value = float(
            scaled_case.runs.columns(factors, processor_count)[
                "time" if way == TIME_BOUND else "efficiency"
            ][0]
        )
    trial_text = "" if scaled_case.runs.exact else ", of those that were tried,"
    return (
        f"no size within a factor of 2^64{trial_text} keeps {scaled_case.kept_value(way)}; the"
        " case's"
        f" own gives {own_value:.4g}"
    )


def _runs_at_fixed_size(runs: Runs, listed_numbers: Array) -> tuple[Array, dict[str, Array]]:
    """Return the numbers of processors and the runs at the fixed size: on every whole number of
    processors if that is cheap, else on the listed ones.
    """
    processor_counts = listed_numbers
    solves_all_numbers = (
        runs.varies_processors
        and runs.forms[0][0].block_size > 1
        and float(listed_numbers[-1] - listed_numbers[0]) < _MOST_SCANNED_NUMBERS
    )
    if solves_all_numbers:
        processor_counts = np.arange(np.ceil(listed_numbers[0]), np.floor(listed_numbers[-1]) + 1.0)
    return processor_counts, runs.columns(np.ones(len(processor_counts)), processor_counts)


def _fastest_number(processor_counts: Array, columns: Mapping[str, Array]) -> BestProcessors:
    """Return the number of processors with the least time; it is undecided against those whose
    intervals overlap.
    """
    time, low, high = _column_with_ends(columns, "time")
    is_best = np.isfinite(time) & (time == np.nanmin(time, initial=np.inf))
    index = int(np.argmax(is_best))
    return _distinguished_number(
        processor_counts,
        columns,
        "time",
        index if is_best.any() else None,
        (low <= high[index]) & (low < high),
    )


def _largest_efficient_number(
    processor_counts: Array, columns: Mapping[str, Array], threshold: float
) -> BestProcessors:
    """Return the largest number of processors whose efficiency is above a threshold; it is
    undecided if the threshold lies in an interval.
    """
    efficiency, low, high = _column_with_ends(columns, "efficiency")
    efficient_rows = np.flatnonzero(efficiency >= threshold)
    index = int(efficient_rows[-1]) if len(efficient_rows) else None
    is_undecided = (low < threshold) & (threshold < high)
    largest_processors = _distinguished_number(
        processor_counts, columns, "efficiency", index, is_undecided
    )
    is_missing = (
        ~(efficiency >= threshold)
        & ~is_undecided
        & (np.arange(len(processor_counts)) < (index or 0))
    )
    has_no_values = not np.isfinite(efficiency).any()
    return replace(
        largest_processors,
        missing=tuple(map(float, processor_counts[is_missing])),
        unknown=has_no_values,
    )


def _column_with_ends(columns: Mapping[str, Array], name: str) -> tuple[Array, Array, Array]:
    """Return a column with the lower and the upper ends of its intervals; for exact columns the
    ends are the values.
    """
    return (
        columns[name],
        columns.get(f"low[{name}]", columns[name]),
        columns.get(f"high[{name}]", columns[name]),
    )


def _distinguished_number(
    processor_counts: Array,
    columns: Mapping[str, Array],
    name: str,
    row: int | None,
    is_undecided: NDArray[np.bool_],
) -> BestProcessors:
    """Return the number of processors in a row with its value, and the numbers that may be meant
    instead because intervals overlap.
    """
    unit = "s" if name == "time" else "1"
    rivals = tuple(
        float(processor_counts[index]) for index in np.flatnonzero(is_undecided) if index != row
    )
    has_gaps = bool(np.any(np.diff(processor_counts) > 1))
    processors_examined = (
        tuple(map(float, processor_counts)) if has_gaps or processor_counts[0] > 1 else ()
    )
    if row is None:
        return BestProcessors(
            None,
            Value(None, unit),
            at_the_end=False,
            undecided=rivals,
            examined=processors_examined,
        )
    value, low, high = (float(bound[row]) for bound in _column_with_ends(columns, name))
    interval_ends = (None, None) if low == high else (finite_or_none(low), finite_or_none(high))
    return BestProcessors(
        float(processor_counts[row]),
        Value(value, unit, *interval_ends),
        row == len(processor_counts) - 1,
        rivals,
        at_the_start=name == "time" and row == 0 and float(processor_counts[0]) > 1,
        examined=processors_examined if has_gaps else (),
    )


def _growth_in_symbols(scaled_case: _ScaledCase) -> tuple[IsoefficiencyFormula | None, str]:
    """Return the isoefficiency in symbols, or the reason why there is none."""
    model = scaled_case.built.model
    spec = scaled_case.spec
    form = scaled_case.runs.forms[0][0]
    numbers_of_processors = (
        {scaled_case.runs.processors: scaled_case.numbers}
        if scaled_case.runs.varies_processors
        else {}
    )
    closed_form = form.closed if isinstance(form, LadderForm) else None
    if closed_form is not None and closed_form.takes(numbers_of_processors).all():
        form = closed_form
    if spec.efficiency is None or not spec.size:
        return None, ""
    if not isinstance(model, Model | Law) or not isinstance(form, ClosedForm | CompiledLaw):
        return None, "only a closed form has one"
    if not scaled_case.runs.varies_processors:
        return None, "the model is built anew for each number of processors"
    powers = {path: power for path, (_, power) in scaled_case.runs.size.items()}
    value_by_name = {
        path: parameter.value
        for path, parameter in scaled_case.built.parameters.items()
        if parameter.value is not None
    }
    size = next(iter(powers)) if len(powers) == 1 else powers
    try:
        run = run_in_symbols(
            model, size, scaled_case.runs.processors, against=spec.against, values=value_by_name
        )
        formula = isoefficiency(run, spec.efficiency.value)
    except ModelError as error:
        return None, str(error)
    short_symbols = _short_symbols(run, formula.ratio_symbol)

    def short_text(expression: object) -> str:
        return str(expression.xreplace(short_symbols))  # type: ignore[attr-defined]

    since_by_term = {term.term: term.since for term in formula.dominant_terms}
    terms = [
        OverheadTerm(
            short_text(need.term.expression),
            "" if need.never else short_text(formula.order_of(need)),
            since_by_term.get(need.term.expression),
        )
        for need in formula.needs
    ]
    terms += [OverheadTerm(short_text(gain.expression), "", None) for gain in formula.gains]
    return (
        IsoefficiencyFormula(
            efficiency=formula.efficiency,
            overhead=short_text(run.overhead),
            work=short_text(run.work),
            terms=tuple(terms),
            order="" if formula.order is None else short_text(formula.order),
            exact="" if formula.exact is None else short_text(formula.exact),
            limit=formula.limit,
        ),
        "",
    )


def _short_symbols(run: Run, ratio: Any) -> dict[Any, Any]:
    """Return a short name for each symbol: the last key of its path if that is unique, and K for E
    / (1 - E).
    """
    import sympy

    paths = [str(symbol) for symbol in (run.size, run.processors, *run.values)]
    last_keys = [path.rpartition(".")[2] for path in paths]
    short_by_path = {
        path: short_name
        for path, short_name in zip(paths, last_keys, strict=True)
        if last_keys.count(short_name) == 1
    }
    symbols = {
        sympy.Symbol(path, positive=True): sympy.Symbol(short_name, positive=True)
        for path, short_name in short_by_path.items()
    }
    return {**symbols, ratio: sympy.Symbol("K", positive=True)}


_READING_OF_SYMBOLS = (
    "In the closed form, with K = E / (1 - E), the work must grow as below. Each term of the"
    " overhead requires its own growth; for large N, the fastest growth decides. Rounding is"
    " ignored."
)


_MOST_CHOICES = 6
_NO_GROWTH_TEXT = "need not grow"


def _sentence_of_cases(
    scalings: Sequence[Scaling],
    texts: Iterable[str],
    words: Words,
    has_further_cases: bool = False,
    beginning: str = "",
) -> str:
    """Return one sentence for all cases; cases with equal texts share one part, and the first part
    begins with `beginning`.
    """
    cases_by_text: dict[str, list[str]] = {}
    for scaling, text in zip(scalings, texts, strict=True):
        if text:
            cases_by_text.setdefault(text, []).append(words.case(scaling.case))
    if len(cases_by_text) < 2 and not has_further_cases:
        return f"{beginning}{next(iter(cases_by_text), '')}"
    return "; ".join(
        f"{join_phrases(cases)}: {beginning if index == 0 else ''}{text}"
        for index, (text, cases) in enumerate(cases_by_text.items())
    )


def _order_text(scaling: Scaling) -> str:
    """Return the growth of the work with N processors as text."""
    order = scaling.growth.order if scaling.growth else ""
    symbols = re.sub(r"\bprocessors\b|\bp\b", "N", order).replace("**", "^")
    return f"as {symbols.replace('*', ' ')}" if order != "1" else "not at all"


def _size_headline(scaling: Scaling, words: Words) -> str:
    """Return a clause on the size that keeps the efficiency on the most processors, and on its
    ratio to the size on the fewest; empty if no size was sought, or if a formula states it.
    """
    sweep = scaling.ways.get(EFFICIENCY_CONSERVED)
    if sweep is None or scaling.growth is not None:
        return ""
    goal_text = percent(scaling.goals[EFFICIENCY_CONSERVED].value)
    paths = [name for name in sweep.columns if split_name(name)[0] not in _KINDS_OF_RUN_COLUMNS]
    sizes = {path: np.asarray(sweep.columns[path], dtype=float) for path in paths}
    rows = np.flatnonzero(np.all(np.isfinite([*sizes.values()]), axis=0))
    if not len(rows):
        return f"no size keeps {goal_text} efficiency{scaling.largest.among_text}"
    first_row, last_row = rows[0], rows[-1]
    limit_clause = ", the most with such a size," if last_row < len(sweep) - 1 else ""
    phrases = [
        f"{setting_phrase(path, float(f'{column[last_row]:.4g}'), sweep.units[path], words)}"
        f" ({plain_decimal(column[last_row] / column[first_row], 3)} times that on"
        f" {scaling.numbers[first_row]:g})"
        for path, column in sizes.items()
    ]
    return (
        f"{goal_text} efficiency on"
        f" {words.member_count(scaling.numbers[last_row])}{limit_clause} needs"
        f" {join_phrases(phrases)}"
    )


def _fastest_headline(scaling: Scaling, words: Words) -> str:
    """Return the number of processors on which a case is fastest at a fixed size, in words."""
    best_processors = scaling.fastest
    if best_processors.processors is None:
        return f"on no number of {words.members}, because none has an answer"
    least_time = quantity(best_processors.value.value, "s", ends=best_processors.value.ends)
    end_clause = ", the largest number examined" if best_processors.at_the_end else ""
    end_clause = ", the smallest number examined" if best_processors.at_the_start else end_clause
    return (
        "on"
        f" {words.member_count(best_processors.processors)}{end_clause}"
        f"{best_processors.among_text},"
        f" in {least_time}{best_processors.doubt}"
    )


def _reason_without_efficiency(scaling: Scaling, words: Words) -> str:
    """Return the reason why a case has no efficiency: it has no answer, or none is defined for its
    answers.
    """
    if scaling.fastest.processors is None:
        return f"it has no efficiency, because no number of {words.members} has an answer"
    return "its efficiency is not defined"


def _efficient_range_headline(scaling: Scaling, words: Words) -> str:
    """Return a clause on the range in which a case is efficient: that no size suffices, or, without
    a formula, the number of processors up to which it is.
    """
    if scaling.growth is not None and scaling.growth.limit:
        return f"no size keeps {percent(scaling.growth.efficiency)} efficiency"
    best_processors = scaling.largest
    goal_text = percent(scaling.threshold)
    if best_processors.unknown:
        return _reason_without_efficiency(scaling, words)
    if best_processors.processors is None:
        return (
            f"less than {goal_text} efficient on every number of"
            f" {words.members}{best_processors.among_text}{best_processors.doubt}"
        )
    end_clause = ", the largest number examined" if best_processors.at_the_end else ""
    return (
        f"at least {goal_text} efficient on up to"
        f" {words.member_count(best_processors.processors)}{end_clause}{best_processors.among_text}"
        f"{best_processors.doubt}"
    )


def _fastest_sentence(best_processors: BestProcessors, words: Words) -> str:
    """Return a sentence on the number of processors on which a case is fastest."""
    if best_processors.processors is None:
        return f"At a fixed size no number of {words.members} has an answer"
    end_clause = ", the largest number examined" if best_processors.at_the_end else ""
    end_clause = ", the smallest number examined" if best_processors.at_the_start else end_clause
    least_time = quantity(best_processors.value.value, "s", ends=best_processors.value.ends)
    return (
        "At a fixed size it is fastest on"
        f" {words.member_count(best_processors.processors)}{end_clause}"
        f"{best_processors.among_text}:"
        f" {least_time}{best_processors.doubt}"
    )


def _largest_sentence(scaling: Scaling, words: Words) -> str:
    """Return a sentence on the largest number of processors on which a case is efficient."""
    best_processors = scaling.largest
    goal_in_words = f"an efficiency of at least {percent(scaling.threshold)}"
    if best_processors.unknown:
        return f"At a fixed size {_reason_without_efficiency(scaling, words)}"
    if best_processors.processors is None:
        return (
            f"At a fixed size no number of {words.members}{best_processors.among_text} has"
            f" {goal_in_words}"
            f"{best_processors.doubt}"
        )
    end_clause = ", the largest number examined" if best_processors.at_the_end else ""
    efficiency_in_words = percent(best_processors.value.value, ends=best_processors.value.ends)
    return (
        f"At a fixed size it has {goal_in_words} on up to"
        f" {words.member_count(best_processors.processors)}"
        f"{end_clause}{best_processors.among_text}: {efficiency_in_words}{best_processors.doubt}"
    )


def _runs_table(scaling: Scaling, way: str) -> ResultTable:
    """Return the table of one way of scaling, with a row for each number of processors; the sources
    of latency are shown on the page only.
    """
    sweep = scaling.ways[way]
    goal = scaling.goals.get(way)
    processor_counts = scaling.ways[way].points[scaling.path]
    account = _account_by_component(sweep)
    causes = [
        name
        for name in account
        if name not in scaling.useful and np.nanmax(account[name], initial=0.0) > 0
    ]
    size_names = [
        name for name in sweep.columns if split_name(name)[0] not in _KINDS_OF_RUN_COLUMNS
    ]

    def column(name: str, **column_fields: Any) -> ResultColumn:
        return ResultColumn(
            name, sweep.columns[name], sweep.units[name], sweep.ends(name), **column_fields
        )

    columns = [
        ResultColumn("case", sweep.cases, place=True, on_page=False),
        ResultColumn(scaling.path, processor_counts, "1", title="N", written=as_number, place=True),
        *(column(path, on_page=goal is not None) for path in size_names),
        *(column("time"), column("efficiency", written=as_percent), column("latency")),
        *(
            column(f"account[{name}]", title=escape(name), on_page=name in causes)
            for name in account
        ),
    ]
    # A row of the matrix is from one number of processors; here it is a column.
    if way in scaling.matrix:
        rows = zip(
            processor_counts[:-1], scaling.matrix[way], *scaling.matrix_ends(way), strict=False
        )
        columns += [
            ResultColumn(f"scalability[{processor_count:g}]", row, "1", (low, high), on_page=False)
            for processor_count, row, low, high in rows
        ]
    goal_text = goal and (
        percent(goal.value) if goal.unit == "1" else quantity(goal.value, goal.unit)
    )
    title = f"#### {way}" + escape(f", keeping {goal_text}" if goal_text else "")
    return ResultTable(sweep.name, columns, sweep.provenance, sweep.failed, title)


_KINDS_OF_RUN_COLUMNS = ("time", "efficiency", "latency", "account", "low", "high")
"""Kinds of columns of runs; the others are sizes."""


def _matrix_table(scaling: Scaling, way: str) -> ResultTable:
    """Return the table of the upper triangle of the scalability matrix of one way of scaling
    (Scale-Graph, IEEE TSE 1997, Figure 14).
    """
    processor_counts = scaling.ways[way].points[scaling.path]
    provenance = scaling.ways[way].provenance
    rows = range(len(processor_counts) - 1)
    columns = [ResultColumn("N \\ N'", processor_counts[:-1], written=as_number, place=True)]
    low, high = scaling.matrix_ends(way)
    for column in range(1, len(processor_counts)):
        interval_columns = (low[:-1, column], high[:-1, column])
        title = f"{processor_counts[column]:g}"
        columns.append(
            ResultColumn(
                title, scaling.matrix[way][:-1, column], "1", interval_columns, written=_as_ratio
            )
        )
    violations_by_row = {row: text for row, text in provenance.outside.items() if row in rows}
    errors = {row: text for row, text in provenance.errors.items() if row in rows}
    left_out = {row: losses for row, losses in provenance.left_out.items() if row in rows}
    provenance_of_rows = Provenance(
        provenance.methods[:-1], provenance.exact[:-1], violations_by_row, errors, left_out
    )
    return ResultTable("", columns, provenance_of_rows, title=f"#### Matrix of scalability: {way}")


_READING_OF_EXPONENT = (
    "The exponent is that of the isoefficiency, W as a power of N. It follows from a cell at"
    " constant efficiency: L = T (1 - E) is proportional to W / N, so W'/W = (N'/N) / scalability."
)


def _published_statements(scaling: Scaling) -> list[StatementRow]:
    """Return the published cells as statements; a miss is explained by the growth that the cell
    implies for a constant efficiency.
    """
    exponents = {
        (cell.processors, cell.more_processors): (
            cell.exponent(cell.printed),
            cell.exponent(cell.computed),
        )
        for cell in scaling.printed
        if cell.way == "efficiency-conserved"
    }
    cause_template = (
        "for a constant efficiency work must grow with the processors to the power of {:.2f} by the"
        " printed cell, of {:.2f} here"
    )
    rows = []
    for cell in (cell for cell in scaling.printed if cell.checked):
        smaller_count = cell.processors
        larger_count = cell.more_processors
        verdict = "hit" if cell.agrees else "miss"
        cause = (
            cause_template.format(*exponents[smaller_count, larger_count])
            if verdict == "miss" and (smaller_count, larger_count) in exponents
            else ""
        )
        sentence = (
            f"the scalability from {smaller_count:g} to {larger_count:g} processors, {cell.way}, is"
            f" {cell.printed:.2f}"
        )
        computed_text = (
            f"{scaling.case} {quantity(cell.computed, '1')}{'' if cell.agrees else ' (miss)'}"
        )
        cell_texts = (
            f"{cell.printed:.2f}, within 0.005",
            computed_text,
            cell.method,
            "yes" if cell.exact else "no",
        )
        name = f"{scaling.case}-{smaller_count:g}-to-{larger_count:g}-{cell.way}"
        lacks = "" if cell.agrees else cell.lacks
        row = StatementRow(
            name, verdict, cell.source, sentence, *cell_texts, missed=cause, lacks=lacks
        )
        rows.append(row)
    return rows


def _printed_table(scaling: Scaling) -> ResultTable:
    """Return the table of the published cells with the computed ones."""
    cells = scaling.printed

    def ratios(name: str, values: Iterable[float]) -> ResultColumn:
        return ResultColumn(name, list(values), "1", written=_as_ratio)

    columns = [
        ResultColumn(
            "cell",
            [f"{cell.processors:g} to {cell.more_processors:g}" for cell in cells],
            place=True,
        ),
        ResultColumn("way", [cell.way for cell in cells], place=True),
        ratios("printed", (cell.printed for cell in cells)),
        ratios("here", (cell.computed for cell in cells)),
        ratios("exponent as printed", (cell.exponent(cell.printed) for cell in cells)),
        ratios("exponent here", (cell.exponent(cell.computed) for cell in cells)),
        ResultColumn("source", [cell.source for cell in cells]),
    ]
    return ResultTable("", columns, Provenance.of(cells))


def _formula_text(scaling: Scaling) -> Iterator[str]:
    """Yield the paragraphs on the isoefficiency in symbols, or on the reason why there is none."""
    growth = scaling.growth
    if growth is None:
        yield (
            f"No isoefficiency in symbols: {escape(scaling.no_growth)}."
            if scaling.no_growth
            else ""
        )
        return
    rows = [
        [code(term.text), code(term.order) if term.order else NOTHING, three_digits(term.since)]
        for term in growth.terms
    ]
    exact = f"Exactly, W = {code(growth.exact)}." if growth.exact else ""
    yield f"#### Isoefficiency at {percent(growth.efficiency)}"
    yield _READING_OF_SYMBOLS
    yield f"Work {code(growth.work)}, overhead {code(growth.overhead)}."
    yield markdown_table(
        ["term of the overhead", "work grows as", "asks for the most from N"], rows, [2]
    )
    sentence = (
        escape(_growth_sentence(growth))
        if growth.limit
        else _growth_sentence(growth, code(growth.order))
    )
    yield f"{sentence}. {exact}".strip()


def _growth_sentence(growth: IsoefficiencyFormula, order: str = "") -> str:
    """Return a sentence on the growth of the work, and on the terms that need the most of it."""
    if growth.limit:
        return f"Not scalable at {percent(growth.efficiency)}: {growth.limit}"
    sentence = f"To keep {percent(growth.efficiency)} the work "
    sentence += f"must grow as {order or growth.order}" if growth.order != "1" else _NO_GROWTH_TEXT
    dominant_terms = [term for term in growth.terms if term.since is not None]
    if not dominant_terms:
        return sentence
    last_term = max(dominant_terms, key=lambda dominant_term: dominant_term.since or 0.0)
    term_text = code(last_term.text) if order else last_term.text
    since_text = three_digits(last_term.since)
    return f"{sentence}; the term that asks for the most from N = {since_text} on is {term_text}"


def _draw_bands(scaling: Scaling, spec: BandsSpec, order: Mapping[str, int]) -> Figure:
    """Draw the number of processors by activity as stacked bands over the number of processors."""
    bands = bands_of(scaling, spec.way)
    sweep = scaling.ways[spec.way]
    figure = new_figure(6.8, 4.4)
    axes = figure.subplots()
    processor_counts = np.asarray(sweep.points[scaling.path], dtype=float)
    band_bottom = np.zeros(len(processor_counts))
    fills = {**fills_of(bands), **order}
    for label, heights in bands.items():
        band_top = band_bottom + heights
        axes.fill_between(
            processor_counts,
            band_bottom,
            band_top,
            label=part_label(label),
            **fill_style(fills[label]),
        )
        low, high = (
            band_bottom + processor_counts * end / sweep.columns["time"]
            for end in sweep.ends(f"account[{label}]")
        )
        draw_intervals(axes, processor_counts, band_top, low, high)
        band_bottom = band_top
    axes.plot(
        processor_counts, processor_counts, color="black", linewidth=1.2, label="all processors"
    )
    axes.set_xlim(processor_counts[0], processor_counts[-1])
    axes.set_ylim(0, processor_counts[-1])
    set_plain_ticks(axes.xaxis, processor_counts)
    axes.set_xlabel(axis_title(scaling.path, "1"))
    axes.set_ylabel(axis_title("processors", "1"))
    handles, labels = axes.get_legend_handles_labels()
    return with_title_and_legend(figure, spec.title, "component", handles[::-1], labels[::-1])


def work_of(scaling: Scaling, way: str) -> Array:
    """Return the useful work on each number of processors, relative to the work on the first one
    for which a size was found [1].

    The useful work of all processors is N T E, with the time T [s] and the efficiency E [1].

    Parameters
    ----------
    scaling : how a case scales
    way : how the size goes with N
    """
    sweep = scaling.ways[way]
    work = sweep[scaling.path] * sweep.columns["time"] * sweep.columns["efficiency"]
    finite_work = work[np.isfinite(work)]
    return np.asarray(work / finite_work[0] if len(finite_work) else work)


def _draw_growth(scalings: Sequence[Scaling], spec: GrowthPictureSpec, words: Words) -> Figure:
    """Draw the work of each case over the number of processors."""
    figure = new_figure(6.8, 4.4)
    axes = figure.subplots()
    processor_counts = np.concatenate(
        [np.asarray(scaling.ways[spec.way][scaling.path], dtype=float) for scaling in scalings]
    )
    works = [work_of(scaling, spec.way) for scaling in scalings]
    for index, (scaling, work) in enumerate(zip(scalings, works, strict=True)):
        label = words.case(scaling.case)
        axes.plot(scaling.ways[spec.way][scaling.path], work, label=label, **stroke(index))
    smallest_count = min(processor_counts)
    axes.plot(
        [smallest_count, max(processor_counts)],
        [1.0, max(processor_counts) / smallest_count],
        color="#999999",
        linewidth=0.8,
        label=f"in proportion to the {words.members}",
    )
    make_logarithmic(axes.xaxis, processor_counts)
    make_logarithmic(axes.yaxis, np.concatenate(works))
    axes.set_xlabel(axis_title(scalings[0].path, "1"))
    axes.set_ylabel("work / work at the first point")
    return with_title_and_legend(figure, spec.title, "case", *axes.get_legend_handles_labels())


_LIGHTEST_SHADE = (
    -1.5
)  # shade of a scalability that would be black, so that all cells can be read on


def _draw_triangle(scaling: Scaling, spec: ScalabilityPictureSpec, words: Words) -> Figure:
    """Draw a cell for each pair of numbers of processors, with the scalability of each way."""
    processor_counts = next(iter(scaling.ways.values())).points[scaling.path]
    labels = [f"{number:g}" for number in np.asarray(processor_counts)]
    row_count = len(labels) - 1
    matrix_by_way = scaling.matrix
    figure = new_figure(
        max(5.0, 1.5 + 1.15 * row_count),
        1.6 + 0.3 * len(matrix_by_way) + 0.24 * row_count * len(matrix_by_way),
    )
    axes = figure.subplots()
    axes.grid(visible=False)
    least_values = np.full((row_count, row_count), np.nan)
    for row, column in combinations(range(len(labels)), 2):
        cells = [matrix[row, column] for matrix in matrix_by_way.values()]
        least_values[row, column - 1] = min(1.0, np.nanmin([*cells, 1.0]))
        printed = {
            cell.way: f" ({cell.printed:.2f})"
            for cell in scaling.printed
            if (f"{cell.processors:g}", f"{cell.more_processors:g}")
            == (labels[row], labels[column])
        }
        cell_lines = [
            f"{letter}  {'-' if math.isnan(cell) else f'{cell:.2f}'}{printed.get(way, '')}"
            for letter, way, cell in zip(ascii_lowercase, matrix_by_way, cells, strict=False)
        ]
        axes.text(column - 1, row, "\n".join(cell_lines), ha="center", va="center")
    axes.imshow(least_values, cmap="Greys_r", vmin=_LIGHTEST_SHADE, vmax=1.0, aspect="auto")
    axes.set_xticks(range(row_count), labels[1:])
    axes.set_yticks(range(row_count), labels[:-1])
    meanings = [
        f"{letter} {way}" for letter, way in zip(ascii_lowercase, matrix_by_way, strict=False)
    ]
    printed_text = "\nin brackets as printed" if scaling.printed else ""
    axes.set_xlabel(f"to this number of {words.members}\n{', '.join(meanings)}{printed_text}")
    axes.set_ylabel(f"from this number of {words.members}")
    return with_title_and_legend(figure, spec.title)


def bands_of(scaling: Scaling, way: str) -> dict[str, Array]:
    """Return the number of processors by activity on each number N of processors: useful first,
    then each cause of loss; their sum is N.

    A model without an account has two bands: the efficiency's, and the rest.

    Parameters
    ----------
    scaling : how a case scales
    way : how the size goes with N
    """
    sweep = scaling.ways[way]
    processor_counts = sweep[scaling.path]
    efficiency = sweep.columns["efficiency"]
    account = _account_by_component(sweep)
    if not account:
        return {
            "useful": processor_counts * efficiency,
            "lost": processor_counts * (1.0 - efficiency),
        }
    names = sorted(account, key=lambda name: name not in scaling.useful)
    with np.errstate(all="ignore"):
        bands = {name: processor_counts * account[name] / sweep.columns["time"] for name in names}
    return {name: heights for name, heights in bands.items() if np.nanmax(heights, initial=0.0) > 0}


def _as_ratio(value: float | None, unit: str, ends: Ends) -> str:
    """Write a value as a cell of a column of ratios."""
    return bracketed(
        *(
            NOTHING if number is None or math.isnan(number) else f"{number:.2f}"
            for number in (value, *ends)
        )
    )
