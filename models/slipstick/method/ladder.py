"""The ladder of methods: which method answers where none is named, for activities and networks
alike.

A `Method` says of a model whether it accepts it, or why not, and compiles it for many points. The
ladder of a kind of model is its methods in the order of their ranks. At each point the first
answers that accepts the model, can be compiled for it, and takes the point. A refusal, an exception
of the kind "cannot" (`NoAnswerError`) and a point that a method refuses while it solves
(`Solution.refused_points`) go on to the next; the last is simulation, which leaves nothing out. So
does a method that fails, such as by a matrix that is singular; the answer notes it.

Other packages add methods through the entry points of the group ``slipstick.methods``, under the
kind of model and a name, such as ``activity/quick``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from slipstick.errors import (
    NoAnswerError,
    NothingToEstimate,
    Saturated,
    SlipstickError,
    Unsolvable,
    with_kind_of,
)
from slipstick.expression.nodes import Parameter
from slipstick.expression.tape import Values, count_of_points, entries_at_rows, selected_values
from slipstick.late import Array, NDArray, dataclass, np, replace
from slipstick.law import Law
from slipstick.method.answers import BLOCK, CompiledModel, Remarks, Solution, join_solutions
from slipstick.model.added import AddedModel
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import (
    CHECK_OFF,
    KNOWN,
    KNOWN_OF_NETWORKS,
    SIMULATION,
    refuse_unknown,
)

Subject = Model | QueueingNetwork | AddedModel | Law
"""What a method answers for."""

Parameters = Mapping[str, Parameter]

PointIndexes: TypeAlias = "NDArray[np.intp]"

EXACT_RANK, CHAIN_RANK, APPROXIMATE_RANK, SIMULATION_RANK = 10.0, 20.0, 30.0, 100.0
"""Places on the ladder: of what is exact, of Markov chains where they are small, of an
approximation with a promised error, and of simulation, which is the last."""


class Acceptance(NamedTuple):
    """Whether a method answers for a model when no method is named; if not, the reason. `form` is
    the compiled model, where it was needed to decide.
    """

    yes: bool
    why_not: str = ""
    form: CompiledModel | None = None


def accept_every_model(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept every model."""
    return Acceptance(True)


@dataclass(frozen=True)
class Method:
    """One method for one kind of model.

    Parameters
    ----------
    name : in files and on the command line
    kind : of models: ``activity``, ``law``, ``queueing-network``, or that of an `AddedModel`
    compile : makes a compiled model of a model, a parameter with a value for each symbol of a law,
        and the settings of a simulation; raises `NoAnswerError` if it has no rule for a part of the
        model. Libraries are imported only then
    rank : its place on the ladder, lower ones first; None for a method that answers only by name
    accepts : whether it answers for a model where no method is named. The second argument says that
        derivatives or thousands of points are asked for, so that nothing is simulated
    partial : it takes some points of a model only; see `CompiledModel.takes`
    estimates : its values are estimates, each with an interval
    knows : the constructs of `slipstick.vocabulary.CONSTRUCTS` that it has rules for; a model with
        any other is refused
    """

    name: str
    kind: str
    compile: Callable[[Subject, Parameters, Simulation], CompiledModel]
    rank: float | None = None
    accepts: Callable[[Subject, bool], Acceptance] = accept_every_model
    partial: bool = False
    estimates: bool = False
    knows: frozenset[str] = frozenset()

    def check(self, model: Subject) -> None:
        """Raise a NoAnswerError for a model with a construct that the method does not know."""
        if isinstance(model, Model | QueueingNetwork):
            known_by_method = KNOWN if isinstance(model, Model) else KNOWN_OF_NETWORKS
            refuse_unknown(model.constructs, self.name, self.knows, known_by_method)

    def compiled(
        self, model: Subject, parameters: Parameters, simulation: Simulation
    ) -> CompiledModel:
        """Compile a model; raise for a construct that the method does not know.

        Raises
        ------
        NoAnswerError : the method has no rule for a part of the model
        """
        self.check(model)
        return self.compile(model, parameters, simulation)


class LadderForm(CompiledModel):
    """A model compiled for the methods of its ladder. Each point is solved by the first method that
    takes it, and a method is compiled when a point needs it.

    One sweep may have several methods, and every row says which it is by. Where an exact method
    takes over from another they agree.

    Parameters
    ----------
    model : the system or the network
    parameters : of a law
    simulation : settings of a simulation
    must_be_smooth : nothing is simulated
    methods : the ladder, in the order of ranks

    Attributes
    ----------
    refusal_by_method : by method that was asked and does not answer for the model, why not
    """

    def __init__(
        self,
        model: Model | QueueingNetwork | AddedModel,
        parameters: Parameters,
        simulation: Simulation,
        must_be_smooth: bool,
        methods: Sequence[Method],
    ) -> None:
        self.model = model
        self._arguments = (model, parameters, simulation)
        self._must_be_smooth = must_be_smooth
        self._methods = tuple(methods)
        self._forms: dict[str, CompiledModel | None] = {}
        self.refusal_by_method: dict[str, str] = {}
        self._failure_by_method: dict[str, str] = {}
        # The first method alone is compiled now: a later one may cost seconds, and no point may
        # need it.
        forms = [form for form in map(self.form, self._methods[:1]) if form is not None]
        own_parameters = list(model.parameters) if isinstance(model, Model) else []
        first_forms = forms or [self._first_method_of_all_points[1]]
        self.quantity = first_forms[0].quantity
        self.parameters = tuple(dict.fromkeys([*first_forms[0].parameters, *own_parameters]))

    def without_check(self) -> LadderForm:
        """Return the same ladder, whose answers are not checked by a short simulation; compiled
        methods are shared.
        """
        unchecked_form = copy(self)
        model, parameters, simulation = self._arguments
        unchecked_form._arguments = (model, parameters, replace(simulation, check=CHECK_OFF))
        return unchecked_form

    def form(self, method: Method) -> CompiledModel | None:
        """Return the model compiled for a method; None if the method does not answer for the
        model.
        """
        if method.name not in self._forms:
            self._forms[method.name] = self._form_or_refusal(method)
        return self._forms[method.name]

    def _form_or_refusal(self, method: Method) -> CompiledModel | None:
        """Compile the model for a method, or record why the method does not answer for it and
        return None.
        """
        try:
            method.check(self.model)
            acceptance = method.accepts(self.model, self._must_be_smooth)
            if acceptance.yes:
                return acceptance.form or method.compiled(*self._arguments)
            self.refusal_by_method[method.name] = acceptance.why_not
        except NoAnswerError as error:
            self.refusal_by_method[method.name] = str(error)
        except SlipstickError:
            raise
        except Exception as error:  # noqa: BLE001  # also of packages outside; it is noted
            self.refusal_by_method[method.name] = self._failure_by_method[method.name] = (
                _failure_sentence(method, error)
            )
        return None

    @property
    def closed(self) -> CompiledModel | None:
        """The form of the first method of the ladder, which is exact at the points that it
        takes.
        """
        return self.form(self._methods[0])

    @cached_property
    def _first_method_of_all_points(self) -> tuple[Method, CompiledModel]:
        """The first method of the ladder that takes every point, with the model compiled by it; it
        solves the points that earlier methods do not take.
        """
        for method in self._methods:
            if not method.partial and (form := self.form(method)) is not None:
                return method, form
        reasons_in_words = "; ".join(
            f"{name}: {reason}" for name, reason in self.refusal_by_method.items()
        )
        raise NoAnswerError(f"no method answers for {self.model.name}: {reasons_in_words}")

    @property
    def method(self) -> str:
        """Name of the first method that takes every point."""
        return self._first_method_of_all_points[0].name

    @property
    def block_size(self) -> int:
        """The number of points that are solved together by the first method that takes every
        point.
        """
        return 1 if self.is_estimated else BLOCK

    @property
    def is_estimated(self) -> bool:
        """Whether the first method that takes every point gives estimates; exact values then have
        intervals of width 0.
        """
        return self._first_method_of_all_points[0].estimates

    def blocks(self, values: Values, point_count: int) -> Iterator[PointIndexes]:
        """Divide points by method, then into blocks that are solved together."""
        for point_indexes, _, form in self._assigned_points(values, point_count):
            yield from (
                point_indexes[block_indexes]
                for block_indexes in form.blocks({}, len(point_indexes))
            )

    def simulated_point_count(self, values: Values, point_count: int) -> int:
        """Return the number of points that are simulated."""
        assigned_points = self._assigned_points(values, point_count)
        return sum(
            len(point_indexes) for point_indexes, method, _ in assigned_points if method.estimates
        )

    def brief(self, values: Values) -> Solution:
        """Solve for the first quantity alone, each point by its method."""
        return self._solved_points(values, lambda form, known_values: form.brief(known_values))

    def solution(self, values: Values) -> Solution:
        """Solve each point by its method, and check answers that may not be exact by a short
        simulation.
        """
        solution = self._solved_points(
            values, lambda form, known_values: form.solution(known_values)
        )
        simulation = self._arguments[2]
        if (
            self._must_be_smooth
            or simulation.check == CHECK_OFF
            or isinstance(self.model, AddedModel)
        ):
            return solution  # what is not exact is simulated by default
        from slipstick.method.second_road import check_solution

        return check_solution(
            self.model, values, solution, simulation, self._solution_by_simulation
        )

    def _solution_by_simulation(self, values: Values) -> Solution:
        """Solve by the last method of the ladder, simulation, which neglects nothing."""
        form = self.form(self._methods[-1])
        if form is None:
            raise NoAnswerError(self.refusal_by_method[self._methods[-1].name])
        return form.solution(values)

    def slopes(
        self, values: Values, parameter_names: Sequence[str], wanted_column_names: Sequence[str]
    ) -> dict[str, tuple[Array, dict[str, Array]]]:
        """Return values with their derivatives: from the method itself if one method solves all
        points and no value is an amount, else by differences.
        """
        assigned_points = self._assigned_points(values, count_of_points(values))
        has_amounts = self.amounts is not None and any(
            name.startswith("amount[") for name in wanted_column_names
        )
        # Amounts are computed from the solution, as are the values of customers beside servers that
        # are away, and methods may take over from each other between two points: differences
        # contain all of this.
        if has_amounts or self.remove_absent_servers is not None or len(assigned_points) > 1:
            return super().slopes(values, parameter_names, wanted_column_names)
        ((_, _, form),) = assigned_points
        try:
            return form.slopes(
                selected_values(values, form.parameters), parameter_names, wanted_column_names
            )
        except SlipstickError:
            raise
        except Exception:  # noqa: BLE001  # differences climb the ladder, which notes it
            return super().slopes(values, parameter_names, wanted_column_names)

    def unit(self, column_name: str) -> str:
        return self._first_method_of_all_points[1].unit(column_name)

    def _assigned_points(
        self, values: Values, point_count: int
    ) -> list[tuple[PointIndexes, Method, CompiledModel]]:
        """Assign each point to the first method of the ladder that takes it."""
        assigned_points: list[tuple[PointIndexes, Method, CompiledModel]] = []
        values = self.values_for_solution(values)
        is_unsolved = np.ones(point_count, dtype=bool)
        for method in self._methods:
            if not is_unsolved.any():
                return assigned_points
            if (form := self.form(method)) is not None:
                is_taken = is_unsolved & np.broadcast_to(_is_taken(form, values), (point_count,))
                assigned_points += (
                    [(np.flatnonzero(is_taken), method, form)] if is_taken.any() else []
                )
                is_unsolved &= ~is_taken
        if is_unsolved.any():
            assert self._first_method_of_all_points  # raises if there is none
        return assigned_points

    def _solved_points(
        self, values: Values, solve: Callable[[CompiledModel, Values], Solution]
    ) -> Solution:
        """Solve each point by the first method that takes it, and by the next where that method
        refuses it.
        """
        # Unknown names are refused here: each form is given only the values that it knows.
        if isinstance(self.model, Model) and not values.keys() <= set(self.parameters):
            from slipstick.expression.tape import Tape

            Tape(self.model.expressions()).check_names(values)
        all_parts = []
        for point_indexes, method, form in self._assigned_points(values, count_of_points(values)):
            solved_parts = self._solved_in_parts(values, point_indexes, method, form, solve)
            earlier_methods = self._methods[: self._methods.index(method)]
            for earlier_method in earlier_methods:
                if failure_sentence := self._failure_by_method.get(earlier_method.name):
                    reason_of = dict.fromkeys(point_indexes, failure_sentence).get
                    solved_parts = _parts_with_reasons(solved_parts, reason_of)
            all_parts += solved_parts
        return all_parts[0][1] if len(all_parts) == 1 else join_solutions(all_parts)

    def _solved_in_parts(
        self,
        values: Values,
        point_indexes: PointIndexes,
        method: Method,
        form: CompiledModel,
        solve: Callable[[CompiledModel, Values], Solution],
    ) -> list[tuple[PointIndexes, Solution]]:
        """Solve some points by a method, and the points at which it refuses or fails by the next
        method that accepts the model.
        """
        point_values = (
            values
            if len(point_indexes) == count_of_points(values)
            else {name: entries_at_rows(value, point_indexes) for name, value in values.items()}
        )
        known_values = (
            selected_values(point_values, form.parameters)
            if isinstance(self.model, Model)
            else point_values
        )
        try:
            solution = self._with_intervals(solve(form, known_values))
        except SlipstickError:
            raise
        # Any fault of a method is one of its own code: the next method may still know the answer.
        except Exception as error:
            if len(point_indexes) > 1:  # only the points at which it fails go on
                return [
                    solved_part
                    for half_indexes in np.array_split(point_indexes, 2)
                    for solved_part in self._solved_in_parts(
                        values, half_indexes, method, form, solve
                    )
                ]
            failure_sentence = _failure_sentence(method, error)
            if not (next_method := self._next_accepting_method(method)):
                raise NoAnswerError(failure_sentence) from error
            solved_parts = self._solved_in_parts(values, point_indexes, *next_method, solve)
            return _parts_with_reasons(solved_parts, lambda _: failure_sentence)
        # A solution that breaks an identity is refused at that point, and the next method is asked.
        if self.identities is not None:
            solution = self.identities(solution, point_values)
        refused_positions = sorted(solution.refused_points)
        if not refused_positions or not (next_method := self._next_accepting_method(method)):
            return [(point_indexes, solution)]
        reason_by_index = {
            point_indexes[position]: solution.remarks_at(position).failed
            for position in refused_positions
        }
        solved_parts = self._solved_in_parts(
            values, point_indexes[refused_positions], *next_method, solve
        )
        has_answers = len(refused_positions) < len(point_indexes)
        answered_part = [(point_indexes, solution)] if has_answers else []
        return answered_part + _parts_with_reasons(solved_parts, reason_by_index.get)

    def _next_accepting_method(self, method: Method) -> tuple[Method, CompiledModel] | None:
        """Return the next method on the ladder that answers for the model, with the model compiled
        by it; None after the last.
        """
        for later_method in self._methods[self._methods.index(method) + 1 :]:
            if (form := self.form(later_method)) is not None:
                return later_method, form
        return None

    def _with_intervals(self, solution: Solution) -> Solution:
        """Return a solution with intervals of width 0 around exact values, where other points have
        estimates.
        """
        if not self.is_estimated or solution.low:
            return solution
        columns_by_table = {
            "account": solution.account,
            "technology": solution.technology,
            "step": solution.steps,
        }
        booked_columns = {
            f"{table_name}[{name}]": column
            for table_name, columns in columns_by_table.items()
            for name, column in columns.items()
        }
        exact_values = {**solution.values, **booked_columns}
        return replace(solution, low=exact_values, high=exact_values)


def _is_taken(form: CompiledModel, values: Values) -> NDArray[np.bool_]:
    """Return at which points a compiled model answers by default. If its code fails here, return
    all points: solving them fails too, and passes them on to the next method with a note.
    """
    try:
        return np.asarray(form.takes(values))
    except SlipstickError:
        raise
    except Exception:  # noqa: BLE001  # noted where it solves
        return np.ones(1, dtype=bool)


def _failure_sentence(method: Method, error: Exception) -> str:
    """Return the sentence which says that a method failed by an error in its code."""
    return f"{method.name} failed, a fault of slipstick ({type(error).__name__}: {error})"


_SOLVING_METHODS = ("solution", "brief")
"""What a compiled model solves points by."""

_TRIAL_EVENTS = 1_000
"""Events of a simulation that is tried; one that has ended no cycle by then may do so later."""


Refusal: TypeAlias = Callable[[str], str]
"""A function that returns, for the name of a method, why that method has no answer; an empty text
where it has one.
"""


def reason_and_answering_method(
    reason: str, other_names: Collection[str], refusal_of: Refusal
) -> tuple[str, str]:
    """Return the reason of a refusal, and the name of another method that has an answer; empty if
    none has. If simulation, which leaves nothing out, has no answer either, its reason is added. No
    other method is tried where the model is at fault.

    Parameters
    ----------
    reason : of the refusal
    other_names : names of the other methods for such a model
    refusal_of : returns why another method has no answer, by its name; empty if it has one
    """
    if isinstance(reason, Unsolvable | NothingToEstimate) or not other_names:
        return reason, ""
    refusal = ""
    if SIMULATION in other_names and not (refusal := refusal_of(SIMULATION)):
        return reason, SIMULATION
    if refusal == reason:
        return reason, ""
    ending = _further_reason(SIMULATION, refusal) if refusal else ""
    if isinstance(refusal, Unsolvable):
        return with_kind_of(f"{reason}{ending}", reason, refusal), ""
    # The last methods leave out least: the closed form, which is the first, leaves out waiting.
    answering_method = next(
        (name for name in reversed([*other_names]) if name != SIMULATION and not refusal_of(name)),
        "",
    )
    if not answering_method:
        ending = f"; no other method has an answer here{ending}"
    return with_kind_of(f"{reason}{ending}", reason, refusal), answering_method


def _further_reason(method_name: str, reason: str) -> str:
    """Return the reason why a further method has no answer, as the ending of a sentence."""
    return f"; {method_name} has no answer either: {reason}"


@dataclass(frozen=True)
class _NamedMethod:
    """A method that the user named for a model, with the other methods for such a model; see
    `compile_named`.
    """

    method: Method
    model: Subject
    parameters: Parameters
    simulation: Simulation
    other_methods: Mapping[str, Callable[[], Method]]

    def compiled(self) -> CompiledModel:
        """Compile the model so that each point without an answer names a method that has one."""
        try:
            compile_safely = self._with_refusals(self.method.compiled)
            form: CompiledModel = compile_safely(self.model, self.parameters, self.simulation)
        except NoAnswerError as error:
            reason, other_method = self._extended_reason(str(error), {})
            if reason == str(error):
                error.other_method = other_method
                raise
            raise NoAnswerError(reason, other_method) from error
        # A compiled model calls these of itself, so that a wrapper around it would not be called.
        for attribute_name in _SOLVING_METHODS:
            setattr(
                form,
                attribute_name,
                self._point_by_point_solver(getattr(form, attribute_name), form.quantity),
            )
        return form

    def _extended_reason(self, reason: str, values: Values) -> tuple[str, str]:
        """Return the reason of a refusal at some values, and a method that has an answer there; see
        `reason_and_answering_method`.
        """
        return reason_and_answering_method(
            reason, self.other_methods, lambda name: self._refusal(name, values)
        )

    def _refusal(self, method_name: str, values: Values) -> str:
        """Return why another method has no answer at some values; empty if it has one."""
        # A short run tells whether there is an answer; its values are never shown.
        short_simulation = replace(
            self.simulation, events=_TRIAL_EVENTS, cycles=None, replications=1
        )
        try:
            other_method = self.other_methods[method_name]()
            solution = other_method.compiled(
                self.model, self.parameters, short_simulation
            ).solution(values)
            reason = solution.remarks_at(0).failed or ""
            # A longer run may end cycles where this one ended none.
            return "" if isinstance(reason, NothingToEstimate) else reason
        except Exception as error:  # noqa: BLE001  # a method that fails has no answer
            return str(error)

    def _fault_sentence(self, error: Exception) -> str:
        """Return the sentence which says that the method failed by an error in its code, and names
        the other methods.
        """
        way_out = (
            f", or name another method: {', '.join(self.other_methods)}"
            if self.other_methods
            else ""
        )
        return f"{_failure_sentence(self.method, error)}; please report it with the model{way_out}"

    def _with_refusals(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that errors in its code become refusals in words."""

        def guarded_call(*arguments: Any) -> Any:
            """Call the function; an error in its code becomes a refusal."""
            try:
                return function(*arguments)
            except (SlipstickError, MemoryError):
                raise
            except Exception as error:
                raise NoAnswerError(self._fault_sentence(error)) from error

        return guarded_call

    def _point_by_point_solver(
        self, solve: Callable[[Values], Solution], quantity: str
    ) -> Callable[[Values], Solution]:
        """Wrap a function that solves points, so that an error in its code leaves only the points
        that cause it without an answer.
        """

        def solve_points(values: Values) -> Solution:
            """Solve points together, or each half alone where that fails."""
            try:
                solution = solve(values)
            except (SlipstickError, MemoryError):
                raise
            except Exception as error:  # noqa: BLE001  # also of packages outside
                if count_of_points(values) == 1:
                    return self._without_answer(quantity, self._fault_sentence(error))
                return solve_halves(values)
            return self._with_ways_out(solution, values)

        def solve_halves(values: Values) -> Solution:
            indexes_of_halves = np.array_split(np.arange(count_of_points(values)), 2)
            values_of_halves = [
                {
                    parameter_name: entries_at_rows(value, half_indexes)
                    for parameter_name, value in values.items()
                }
                for half_indexes in indexes_of_halves
            ]
            return join_solutions(
                list(zip(indexes_of_halves, map(solve_points, values_of_halves), strict=True))
            )

        return solve_points

    def _without_answer(self, quantity: str, reason: str) -> Solution:
        """Return the solution of a point that has no answer."""
        remarks = Remarks(failed=reason)
        return Solution(
            model=self.model.name,
            method=self.method.name,
            values={quantity: np.full(1, np.nan)},
            remarks=lambda _: remarks,
        )

    def _with_ways_out(self, solution: Solution, values: Values) -> Solution:
        """Add a way out to the reason of a refused single point, and replace errors in deferred
        code by refusals.
        """
        gradient = None if solution.gradient is None else self._with_refusals(solution.gradient)
        if count_of_points(values) > 1:  # of many points no other method is tried
            return replace(solution, gradient=gradient)

        def remarks(index: int) -> Remarks:
            """Return the remarks on a point, with a way out where it has no answer."""
            point_remarks = solution.remarks(index)
            if not point_remarks.failed:
                return point_remarks
            reason, other_method = self._extended_reason(point_remarks.failed, values)
            return replace(point_remarks, failed=reason, other_method=other_method)

        def detail_with_way_out(index: int) -> tuple[Solution, int]:
            assert solution.detail is not None
            inner_solution, inner_index = self._with_refusals(solution.detail)(index)
            return self._with_ways_out(inner_solution, values), inner_index

        wrapped_detail = None if solution.detail is None else detail_with_way_out
        return replace(solution, gradient=gradient, remarks=remarks, detail=wrapped_detail)


def compile_named(
    method: Method,
    model: Subject,
    parameters: Parameters,
    simulation: Simulation,
    other_methods: Mapping[str, Callable[[], Method]],
) -> CompiledModel:
    """Compile a model for a method that the user named. A point at which the method refuses, or
    fails in its code, has no answer; the reason names another method.

    Parameters
    ----------
    method, model, parameters, simulation : what is compiled
    other_methods : of other methods for such a model, by name, what loads each

    Raises
    ------
    NoAnswerError : the method has no rule for a part of the model, or fails as it compiles it
    """
    return _NamedMethod(method, model, parameters, simulation, other_methods).compiled()


def _parts_with_reasons(
    solved_parts: Sequence[tuple[PointIndexes, Solution]], reason_of: Callable[[int], str | None]
) -> list[tuple[PointIndexes, Solution]]:
    """Return solved parts of the points, with a note at each point on why earlier methods did not
    answer there. `reason_of` returns the reason by the index of the point.
    """
    return [
        (part_indexes, _with_reasons(part_solution, list(map(reason_of, part_indexes))))
        for part_indexes, part_solution in solved_parts
    ]


def _with_reasons(solution: Solution, reasons: Sequence[str | None]) -> Solution:
    """Add to each point a note that says why the earlier methods did not answer. Where this method
    has no answer either, its reason follows theirs, unless both are saturation.
    """

    # Details are nested, one level for each method that passed the point on.
    def detail_with_reason(index: int) -> tuple[Solution, int]:
        """Return the solution that has the answer in detail, with a note on why the earlier methods
        did not answer, and the index of the point in that solution.
        """
        inner_solution, inner_index = solution.detail_at(index)
        remarks = inner_solution.remarks(inner_index)
        reason = reasons[index]
        note = f"{solution.method} answers by default: {reason}"
        combined_reason = reason or ""
        are_both_saturated = isinstance(reason, Saturated) and isinstance(remarks.failed, Saturated)
        if remarks.failed and remarks.failed != reason and not are_both_saturated:
            further_reason = _further_reason(solution.method, remarks.failed)
            combined_reason = with_kind_of(
                f"{combined_reason}{further_reason}", combined_reason, remarks.failed
            )
        noted_remarks = (
            replace(remarks, failed=combined_reason)
            if remarks.failed
            else replace(remarks, notes=(*remarks.notes, note))
        )
        return replace(inner_solution, detail=None, remarks=lambda _: noted_remarks), inner_index

    return replace(solution, detail=detail_with_reason)
