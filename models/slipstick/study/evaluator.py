"""One case as a function of its parameters: built once, answered at many points."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from slipstick.answer import OVERHEAD, REDUCTION, Answer, Value, zero_if_rounding
from slipstick.errors import did_you_mean
from slipstick.late import Array, dataclass, np, replace
from slipstick.law.account import OVERHEAD_REDUCTION
from slipstick.limits import Progress, ignore_progress
from slipstick.method.names import AnswerNames
from slipstick.results.sweep import PointTable
from slipstick.schema.inputs import BuiltModel, Inputs, Settings, build_once
from slipstick.schema.library import Library
from slipstick.schema.text import canonical
from slipstick.study.points import (
    WHOLE,
    PointBlock,
    SolvableModel,
    SolvedBlock,
    overhead,
)

if TYPE_CHECKING:
    from slipstick.method.answers import CompiledModel

ALL_SHARES = 10**6
"""The number of shares that a ranking requests of a simulation: more than there are parameters."""


def solve(blocks: Iterable[PointBlock], progress: Progress = ignore_progress) -> list[SolvedBlock]:
    """Solve blocks by the engine of the running study; without one, in this process, one after the
    other.

    Parameters
    ----------
    blocks, progress : as for `slipstick.study.engine.Engine.solve`
    """
    from slipstick.study.engine import ENGINE, Engine  # a study that is only checked needs none

    return (ENGINE.get() or Engine()).solve(blocks, progress)


@dataclass(frozen=True)
class Evaluator:
    """A case that can be answered at any values of its parameters; its model is compiled when it is
    first solved.

    Parameters
    ----------
    case : its name
    inputs, built : the case, and its model
    must_be_smooth : mean value replaces simulation where simulation is the default
    """

    case: str
    inputs: Inputs
    built: BuiltModel
    must_be_smooth: bool = False

    @cached_property
    def solvable(self) -> SolvableModel:
        """The model with its method, to be solved here or in another process."""
        built_model = self.built
        return SolvableModel(
            built_model.model,
            built_model.parameters,
            built_model.options.method,
            built_model.options.simulation,
            self.must_be_smooth,
        )

    @property
    def form(self) -> CompiledModel:
        """Return the compiled model of the method."""
        return self.solvable.form

    @property
    def with_mean_value_default(self) -> Evaluator:
        """Return the same case, solved by mean value if simulation is its default: for derivatives,
        and for thousands of points.
        """
        return replace(self, must_be_smooth=True) if self.built.options.method is None else self

    @property
    def names(self) -> CaseNames:
        """The names of the values that answers can have, without compiling or solving the model."""
        return CaseNames(self.built)

    def with_longer_simulations(self, factor: float) -> Evaluator:
        """Return the same case with simulations that are `factor` times as long."""
        if factor == 1:
            return self
        options = replace(
            self.built.options, simulation=self.built.options.simulation.longer(factor)
        )
        return replace(self, built=replace(self.built, options=options))

    @property
    def method(self) -> str:
        """The name of the method that answers."""
        return self.point_table({}, ()).provenance.methods[0]

    def columns(
        self, values: Mapping[str, Array], wanted_names: Collection[str] | None = None
    ) -> dict[str, Array]:
        """Return the columns of answers at many points, without their provenance; see
        `point_table`.
        """
        return self.point_table(values, wanted_names).columns

    def point_table(
        self,
        values: Mapping[str, Array],
        wanted_names: Collection[str] | None = None,
        *,
        with_reasons: bool = False,
    ) -> PointTable:
        """Compute the answers at many points, as columns with the method of each point.

        Parameters
        ----------
        values : by path, in base units; those that no time is computed from are passed over
            [points]
        wanted_names : the columns to give; all by default
        with_reasons : whether the reasons of points without an answer are computed also for several
            points

        Returns
        -------
        the columns, not a number where there is no answer, and how each point was computed
        """
        point_count = max((len(array) for array in values.values()), default=1)
        # A value that the model does not read leaves its points equal.
        model_values = {
            path: array for path, array in values.items() if path in self.form.parameters
        }
        row_blocks = list(self.form.blocks(model_values, point_count))
        # In order, since the names are part of the key of a stored point.
        sorted_names = None if wanted_names is None else tuple(sorted(wanted_names))
        solved_blocks = solve(
            PointBlock(
                self.solvable,
                {path: array[rows] for path, array in model_values.items()},
                len(rows),
                value_names=sorted_names,
                with_reasons=with_reasons,
            )
            for rows in row_blocks
        )
        table = PointTable.join(point_count, zip(row_blocks, solved_blocks, strict=True))
        nan_column = np.full(point_count, np.nan)
        has_answer = np.isfinite(table.columns.get(self.form.quantity, nan_column))
        columns = {
            # Some methods have parts of an answer, such as a utilization, where they have no time.
            name: np.where(has_answer, column, np.nan)
            for name, column in table.columns.items()
            if wanted_names is None or name in wanted_names
        }
        if table.failed:
            # A point that could not be solved has no columns, and those of the others may not be
            # all.
            for name in wanted_names or (self.form.quantity,):
                columns.setdefault(name, nan_column)
        return replace(table, columns=columns)

    def unit(self, column_name: str) -> str:
        """Return the base unit of a column."""
        return "s" if OVERHEAD in column_name else self.form.unit(column_name)

    @cached_property
    def own_columns(self) -> dict[str, Array]:
        """The answers at the case's own values, as columns of one point."""
        return self.columns({})

    def reason_without_answer(self, values: Mapping[str, Array], point_index: int) -> str:
        """Return the reason why a point has no answer."""
        point_values = {
            path: array[point_index : point_index + 1] for path, array in values.items()
        }
        return self.point_table(point_values, ()).failed.get(0, "no answer")

    def answer(self, share_count: int = 0, wanted_names: Collection[str] = ()) -> Answer:
        """Compute the answer at the case's own values, with the notes of the model. A simulation
        computes at least `share_count` shares.

        Values that are not of the long run, such as ``time_until[door,2]``, are computed only if
        they are among the wanted names.

        Raises
        ------
        KeyboardInterrupt : a simulation was interrupted, so that nothing is written of it
        """
        available_names = tuple(name for name in wanted_names if name in self.names)
        own_answer, *other_answers = self.answers(
            self.solvable.method, share_count, available_names
        )
        if other_answers:  # as points of a sweep: joined, each end from the tightest
            own_answer = self.solvable.form.points({}).answer(0)
        return replace(own_answer, notes=(*self.built.notes_at({}), *own_answer.notes))

    def answers(
        self, method: str | None, share_count: int = 0, wanted_names: tuple[str, ...] = ()
    ) -> tuple[Answer, ...]:
        """Compute the answers at the case's own values by a given method; a method of bounds may
        give several.
        """
        simulation = replace(
            self.solvable.simulation, shares=max(share_count, self.solvable.simulation.shares)
        )
        solvable = replace(self.solvable, method=method, simulation=simulation)
        (solved_block,) = solve([PointBlock(solvable, {}, 1, WHOLE, wanted_names)])
        return solved_block.answers


@dataclass(frozen=True, slots=True)
class CaseNames(Mapping[str, str]):
    """The names and units of the values of a model's answers. A large model is built only for a
    name that is not in its sample.
    """

    built: BuiltModel

    def __getitem__(self, name: str) -> str:
        return (
            self.sample_answer_names[name]
            if name in self.sample_answer_names
            else self._all_names[name]
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._all_names)

    def __len__(self) -> int:
        return len(self._all_names)

    @property
    def sample_answer_names(self) -> AnswerNames:
        """Return the names of the answers of a sample of the model; a sample of a large model is
        built faster.
        """
        return self.built.sample.answer_names(self.built.options.method)

    @property
    def _all_names(self) -> AnswerNames:
        return self.built.shape.answer_names(self.built.options.method)


def unknown_value_message(
    name: str, names_by_case: Sequence[Mapping[str, str]], message_start: str
) -> str:
    """Return the message that no case has a value of this name, with the nearest name; empty if a
    case has the value.

    The samples of the models are searched first, because a large model is built only for a name
    that no sample has.
    """
    names_by_sample = (
        case_names.sample_answer_names if isinstance(case_names, CaseNames) else case_names
        for case_names in names_by_case
    )
    if any(name in names_of_case for names_of_case in names_by_sample) or any(
        name in names_of_case for names_of_case in names_by_case
    ):
        return ""
    known_names = list(dict.fromkeys(name for case_names in names_by_case for name in case_names))
    if name in ("efficiency", "speedup") and OVERHEAD in known_names:
        return (
            f"{message_start} the value {name}: no component is useful; write useful:"
            " [COMPONENT] in the activity"
        )
    return f"{message_start} the value {name}{did_you_mean(name, known_names)}"


def evaluator(case: str, settings: Settings, library: Library) -> Evaluator:
    """Return the evaluator of a case; equal settings share one.

    Raises
    ------
    SpecError : something is wrong with its settings
    """
    inputs, built_model = build_once(settings, library)
    return library.compute_once(
        ("evaluator", case, id(inputs)), lambda: Evaluator(case, inputs, built_model), inputs
    )


def with_values(case: str, settings: Settings, values: Settings, library: Library) -> Evaluator:
    """Return the evaluator of a case in which the given values, already checked at their places,
    can be varied. The case is built again only if a value is not yet a parameter of its model.

    Raises
    ------
    SpecError : something is wrong with its settings
    """
    case_evaluator = evaluator(case, settings, library)
    canonical_paths = {canonical(case_evaluator.inputs.tree, path) for path in values}
    # A parameter of a file may be written in any unit, so whether its new one fits is known only
    # once it is built.
    sets_parameter_of_file = any(path.startswith("parameters.") for path in canonical_paths)
    if (
        not sets_parameter_of_file
        and canonical_paths <= case_evaluator.built.parameters.keys()
        and case_evaluator.built.are_free(canonical_paths)
    ):
        return case_evaluator
    return evaluator(case, {**settings, **values}, library)


def with_overheads(
    cases: Mapping[str, Answer], base_name: str, wanted_values: Sequence[str]
) -> dict[str, Answer]:
    """Return the answers of cases, with the overhead and the overhead reduction if requested.

    Parameters
    ----------
    cases : answers by case
    base_name : the case that the others are compared with
    wanted_values : values that a study asks for
    """
    if not {OVERHEAD, REDUCTION} & set(wanted_values):
        return dict(cases)
    overhead_of_base = _overhead_with_interval(cases[base_name]) if base_name in cases else None
    return {
        # The base is not compared with itself.
        name: _with_overhead(answer, overhead_of_base if name != base_name else None)
        for name, answer in cases.items()
    }


def _overhead_with_interval(answer: Answer) -> Value | None:
    """Return the overhead of an answer with its interval, computed as `overhead` does; None without
    an account.
    """
    time = answer.find("time")
    if time is None or not answer.account:
        return None
    columns = {
        "time": np.array([time]),
        **{f"account[{name}]": np.array([seconds]) for name, seconds in answer.account.items()},
    }
    for name, interval in answer.intervals.items():
        columns |= {
            f"{end}[{name}]": np.array([end_value])
            for end, end_value in zip(("low", "high"), interval, strict=True)
        }
    overhead_by_name = {
        name: float(array[0]) for name, array in overhead(columns, answer.useful).items()
    }
    return Value(
        overhead_by_name[OVERHEAD],
        "s",
        overhead_by_name.get(f"low[{OVERHEAD}]"),
        overhead_by_name.get(f"high[{OVERHEAD}]"),
    )


def _with_overhead(answer: Answer, base_overhead: Value | None) -> Answer:
    own_overhead = _overhead_with_interval(answer)
    if own_overhead is None:
        return answer
    values = {**answer.values, OVERHEAD: own_overhead}
    if base_overhead is not None and base_overhead.value:
        values[REDUCTION] = reduction(own_overhead, base_overhead)
    return replace(answer, values=values)


def reduction(value_after: Value, value_before: Value) -> Value:
    """Return 1 - value_after / value_before [1], with the widest interval that any correlation of
    the two values allows.

    >>> reduction(Value(1.0, "s", 0.75, 1.25), Value(2.0, "s", 1.75, 2.5))
    Value(value=0.5, unit='1', low=0.2857142857142857, high=0.7)
    """
    assert value_after.value is not None
    assert value_before.value
    reduction_value = float(OVERHEAD_REDUCTION.equation(value_before.value, value_after.value))
    # Without intervals a reduction of rounding size is 0.
    if {value_after.low, value_after.high} | {value_before.low, value_before.high} == {None}:
        return Value(zero_if_rounding(reduction_value), "1")
    (after_low, after_high), (before_low, before_high) = (
        _ends_of_interval(value_after),
        _ends_of_interval(value_before),
    )
    return Value(
        reduction_value,
        "1",
        1.0 - after_high / before_low if before_low > 0 else None,
        1.0 - after_low / before_high,
    )


def _ends_of_interval(value: Value) -> tuple[float, float]:
    assert value.value is not None
    return (
        value.value if value.low is None else value.low,
        value.value if value.high is None else value.high,
    )
