"""The numbers of a server that works in rounds at one point, and answers made of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NoReturn, cast

from slipstick.answer import DeferredShares
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr, Operation, Parameter, operands, walk, with_operands
from slipstick.expression.nodes import parameters as parameters_of
from slipstick.expression.tape import Columns, Tape, Values, count_of_points, selected_values
from slipstick.late import Array, NDArray, dataclass, field, np, replace
from slipstick.method.amounts import amounts_and_half_widths
from slipstick.method.answers import CompiledModel, Gradient, Remarks, Solution
from slipstick.sim.estimate import Estimate
from slipstick_rounds.model import (
    HELD,
    PRESENT,
    STATE,
    THROUGHPUT,
    UNIT_RATE,
    BatchServer,
    OpenCustomers,
)
from slipstick_rounds.round_run import RoundContents, RoundServer


@dataclass(frozen=True)
class PhaseNumbers:
    """The numbers that describe one phase of the customers at a point.

    Parameters
    ----------
    work : largest number of units [1]
    least : smallest number of units; `work` where it is constant [1]
    piece : units in one round at most [1]
    samples : numbers of units that are equally likely; none: all from least to work are [1]
    """

    work: float
    least: float
    piece: float
    samples: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """Mean number of units of work in the phase."""
        return (
            math.fsum(self.samples) / len(self.samples) if self.samples else self._mean_of_uniform
        )

    @property
    def _mean_of_uniform(self) -> float:
        """The mean number of units where it is uniform between the least and the largest."""
        return (self.work + self.least) / 2

    @property
    def variance(self) -> float:
        """Variance of the number of units; uniform numbers are taken as continuous."""
        return float(np.var(self.samples)) if self.samples else (self.work - self.least) ** 2 / 12

    def groups(self, count: int) -> Array:
        """Divide the customers into `count` equally large groups by their number of units, and
        return the mean of each group.

        >>> PhaseNumbers(4.0, 1.0, 1.0, (1.0, 2.0, 4.0)).groups(2).tolist()
        [1.333333, 3.333333]
        """
        if not self.samples:
            group_centres = (np.arange(count) + 0.5) / count
            return np.asarray(self.least + (self.work - self.least) * group_centres)
        cumulated_samples = np.cumsum([0.0, *sorted(self.samples)]) / len(self.samples)
        group_ends = np.linspace(0, 1, count + 1)
        return (
            np.diff(
                np.interp(group_ends, np.linspace(0, 1, len(cumulated_samples)), cumulated_samples)
            )
            * count
        )


@dataclass(frozen=True)
class PointNumbers:
    """The numbers that describe a server, its customers and their phases at one point.

    Parameters
    ----------
    server : limits of a round, and its time by what is in it
    phases : in their order
    rate : of arrivals; 0 for a closed population [1/s]
    population, think_time : of a closed population [1, s]
    visits : of each customer in a finite run; 0: without end [1]
    delay, delay_scv : of each visit before it arrives at the server: mean, and squared coefficient
        of variation [s, 1]
    reason_invalid : why the numbers describe no server, so that no method has an answer
    own_values : parameters that differ from the model's own
    """

    server: RoundServer
    phases: tuple[PhaseNumbers, ...]
    rate: float = 0.0
    population: int = 0
    think_time: float = 0.0
    visits: int = 0
    delay: float = 0.0
    delay_scv: float = 0.0
    reason_invalid: str = ""
    own_values: Mapping[str, float] = field(default_factory=dict)

    @property
    def work(self) -> float:
        """Mean number of units of a customer in all its phases."""
        return sum(phase.mean for phase in self.phases)

    def round_time(
        self,
        customers: Sequence[Array | float],
        units: Sequence[Array | float],
        units_held: Array | float,
        products: Sequence[Array | float],
    ) -> Array:
        """Return the time of each round [rounds; s], computed from its contents as `RoundContents`
        lists them.
        """
        times: Array = self.server.duration(
            RoundContents(customers, units, units_held, products)
        ).sum(axis=0)
        return times


@dataclass(frozen=True)
class PointAnswer:
    """The answer at one point: estimates of its values, its account and the remarks on it.

    Parameters
    ----------
    values : by name, with intervals where they are estimated
    account : time of a visit by part [s]
    exact : whether the values are the model's expectation
    remarks : notes, seed, convergence
    """

    values: Mapping[str, Estimate]
    account: Mapping[str, float] = field(default_factory=dict)
    exact: bool = False
    remarks: Remarks = field(default_factory=Remarks)


class BatchServerForm(CompiledModel):
    """A server that works in rounds, compiled for one method. It reads the numbers of points, and
    makes solutions of the answers that the method computes.

    Parameters
    ----------
    model : the server with its customers
    """

    quantity = "response_time"
    method: str
    whole = True
    """Whether works that differ are rounded to whole numbers; not where they are differentiated."""

    def __init__(self, model: BatchServer) -> None:
        self.model = model
        self.parameters = tuple(model.parameters)
        self._expressions_by_name = _expressions_by_name(model)
        self._numbers = Tape(list(self._expressions_by_name.values()))
        self._round_time = SplitRoundTime([*model.round_time.values()], [*model.phases])
        self._amounts = Tape(list(model.amounts.values())) if model.amounts else None

    @abstractmethod
    def answer_at(self, point: PointNumbers) -> PointAnswer:
        """Compute the answer at one point; raise if the method has none.

        Raises
        ------
        NoAnswerError : the method has no answer there
        """

    def answers_at(self, points: Sequence[PointNumbers]) -> list[PointAnswer]:
        """Compute the answers at several points, one after the other; a point without an answer has
        the reason.
        """
        answers = []
        for point in points:
            try:
                if point.reason_invalid:
                    raise NoAnswerError(point.reason_invalid)
                answers.append(self.answer_at(point))
            except NoAnswerError as error:
                answers.append(PointAnswer({}, remarks=Remarks(failed=str(error))))
        return answers

    def solution(self, values: Values) -> Solution:
        """Compute the answers at aligned points, as columns."""
        points = self.points_at(values)
        answers = self.answers_at(points)
        refused_rows = {index for index, answer in enumerate(answers) if answer.remarks.failed}
        rows_answered = [index for index in range(len(points)) if index not in refused_rows]
        if self._amounts is not None and rows_answered:
            amounts = self._amounts_of(
                [answers[index] for index in rows_answered],
                [points[index] for index in rows_answered],
            )
            for index, amounts_of_row in zip(rows_answered, amounts, strict=True):
                answer_of_row = answers[index]
                answers[index] = replace(
                    answer_of_row, values={**answer_of_row.values, **amounts_of_row}
                )
        value_columns, account, low, high = self._columns_of_answers(answers)
        return Solution(
            model=self.model.name,
            method=self.method,
            count=len(answers),
            exact=np.array([answer.exact for answer in answers]),
            refused_points=frozenset(refused_rows),
            remarks=lambda index: answers[index].remarks,
            values=value_columns,
            account=account,
            low=low,
            high=high,
            gradient=None
            if self.is_estimated
            else lambda index: self._gradient(points[index].own_values),
        )

    def _gradient(self, changed_numbers: Mapping[str, float]) -> Gradient:
        """Return the derivatives of mean values by parameters, as differences that are computed
        only when they are read.

        Parameters
        ----------
        changed_numbers : parameters that differ from the model's own
        """
        parameters = self.model.parameters
        own_values = {name: parameter.value for name, parameter in parameters.items()}
        timeless_names = {
            name
            for name, own_parameter in parameters.items()
            if not own_parameter.dimension.time_power
        }
        customers = self.model.customers
        if not isinstance(customers, OpenCustomers):
            population_and_visits = [
                customers.population,
                *([customers.visits] if customers.visits else []),
            ]
            timeless_names -= {
                parameter.name for parameter in parameters_of(*population_and_visits)
            }
        values_at_point = {
            name: value
            for name, value in {**own_values, **changed_numbers}.items()
            if value
            and (
                parameters[name].dimension.time_power
                or (name in timeless_names and not _is_small_whole_number(value))
            )
        }

        def slopes() -> dict[str, dict[str, float]]:
            """Compute the derivatives, as differences of answers, by the name of the value and of
            the parameter.
            """
            values = {**changed_numbers, **values_at_point}
            smooth_form = copy(self)
            smooth_form.whole = False
            slopes_by_column = smooth_form.slopes(
                values, list(values_at_point), self._names_with_derivatives()
            )
            return {
                column: {
                    name: float(slope[0])
                    for name, slope in slopes_by_name.items()
                    if np.isfinite(slope[0])
                }
                for column, (_, slopes_by_name) in slopes_by_column.items()
            }

        rate_names = {THROUGHPUT, *(f"{UNIT_RATE}[{phase}]" for phase in self.model.phases)}
        amount_names = frozenset(f"amount[{name}]" for name in self.model.amounts)
        deferred_slopes = DeferredShares(slopes, 0.0)
        return Gradient(
            deferred_slopes,
            values_at_point,
            parameters,
            frozenset(rate_names),
            amount_names,
            frozenset(timeless_names),
        )

    def _names_with_derivatives(self) -> list[str]:
        """List the means and amounts that have derivatives."""
        phases = list(self.model.phases)
        time_names = ["response_time", *(f"phase_time[{phase}]" for phase in phases)]
        unit_time_names = (f"time_per_unit[{phase}]" for phase in phases[1:])
        return [
            *time_names,
            *unit_time_names,
            THROUGHPUT,
            *(f"amount[{name}]" for name in self.model.amounts),
        ]

    def _amounts_of(
        self, answers: Sequence[PointAnswer], points: Sequence[PointNumbers]
    ) -> list[dict[str, Estimate]]:
        """Compute the amounts, such as costs, that follow from mean values of answers."""
        assert self._amounts is not None
        value_name_by_rate = {THROUGHPUT: THROUGHPUT} | {
            f"{UNIT_RATE}.{phase}": f"{UNIT_RATE}[{phase}]" for phase in self.model.phases
        }
        means, half_widths_by_name = (
            {
                name: np.array([getattr(answer.values[value], attribute) for answer in answers])
                for name, value in value_name_by_rate.items()
            }
            for attribute in ("mean", "half_width")
        )
        times_at_server = [
            answer.values["response_time"].mean - point.delay
            for answer, point in zip(answers, points, strict=True)
        ]
        means[PRESENT] = means[THROUGHPUT] * np.array(times_at_server)
        has_half_widths = np.isfinite(np.array([*half_widths_by_name.values()])).all(axis=0)
        finite_half_widths = {
            name: np.where(has_half_widths, half_width, 0.0)
            for name, half_width in half_widths_by_name.items()
        }
        amounts, half_widths = amounts_and_half_widths(
            self._amounts,
            own_columns(points),
            means,
            finite_half_widths if has_half_widths.any() else {},
        )
        intervals = {
            f"amount[{name}]": (
                np.broadcast_to(amount, len(points)),
                np.where(has_half_widths, half_width, math.inf),
            )
            for name, amount, half_width in zip(
                self.model.amounts, amounts, half_widths, strict=True
            )
        }
        return [
            {
                name: _estimate_with_interval(float(amount[index]), float(half_width[index]))
                for name, (amount, half_width) in intervals.items()
            }
            for index in range(len(points))
        ]

    def _columns_of_answers(
        self, answers: list[PointAnswer]
    ) -> tuple[Columns, Columns, Columns, Columns]:
        """Gather values, the ends of their intervals and accounts into columns."""
        value_names = dict.fromkeys(name for answer in answers for name in answer.values)
        account_names = dict.fromkeys(name for answer in answers for name in answer.account)
        missing_estimate = Estimate(math.nan)
        values_by_name = {
            name: [answer.values.get(name, missing_estimate) for answer in answers]
            for name in value_names
        }
        account_columns = {
            name: np.array([answer.account.get(name, math.nan) for answer in answers])
            for name in account_names
        }
        value_columns = {
            name: np.array([estimate.mean for estimate in estimates])
            for name, estimates in values_by_name.items()
            if not name.startswith("account[")
        }
        if not self.is_estimated:
            return value_columns, account_columns, {}, {}
        low_ends = {
            name: _column_of_ends([estimate.low for estimate in estimates])
            for name, estimates in values_by_name.items()
        }
        high_ends = {
            name: _column_of_ends([estimate.high for estimate in estimates])
            for name, estimates in values_by_name.items()
        }
        return value_columns, account_columns, low_ends, high_ends

    def points_at(self, values: Values) -> list[PointNumbers]:
        """Return the numbers of the model at aligned points."""
        known_values = selected_values(values, self.parameters)
        number_columns = self._numbers.run(selected_values(known_values, self._numbers.parameters))
        number_arrays = [np.atleast_1d(column) for column in number_columns]
        points = []
        for index in range(count_of_points(known_values)):
            value_by_name = {
                name: float(column[index if len(column) > 1 else 0])
                for name, column in zip(self._expressions_by_name, number_arrays, strict=True)
            }
            own_values = {
                name: float(np.atleast_1d(value)[index if np.size(value) > 1 else 0])
                for name, value in known_values.items()
            }
            points.append(self._point_numbers(value_by_name, own_values))
        return points

    def _point_numbers(
        self, value_by_name: Mapping[str, float], own_values: Mapping[str, float]
    ) -> PointNumbers:
        """Return the numbers of the model at one point, from its parameters by name."""
        model = self.model
        uniform_phases = {name for name, phase in model.phases.items() if not phase.samples}
        if reason := _reason_invalid(value_by_name, tuple(model.phases), uniform_phases):
            return PointNumbers(RoundServer(self._duration(own_values)), (), reason_invalid=reason)
        phases = tuple(
            PhaseNumbers(
                *_largest_and_least_work(value_by_name, name, self.whole and not phase.samples),
                value_by_name.get(f"{name}.piece", math.inf),
                phase.samples,
            )
            for name, phase in model.phases.items()
        )
        limit_by_name = {
            key: value_by_name.get(key, math.inf) for key in ("budget", "places", "memory")
        }
        server = RoundServer(
            self._duration(own_values),
            tuple(phase.piece for phase in phases),
            **limit_by_name,
            reserved=model.reserved,
            batching_delay=value_by_name["batching_delay"],
            interval=value_by_name["interval"],
            earlier_first=model.earlier_first,
        )
        customer_numbers: dict[str, Any]
        if isinstance(model.customers, OpenCustomers):
            customer_numbers = {"rate": value_by_name["arrivals"]}
        else:
            customer_numbers = {
                "population": int(value_by_name["population"]),
                "think_time": value_by_name["think_time"],
                "visits": int(value_by_name.get("visits", 0)),
            }
        return PointNumbers(
            server,
            phases,
            delay=value_by_name["delay"],
            delay_scv=value_by_name["delay_scv"],
            own_values=own_values,
            **customer_numbers,
        )

    def _duration(self, own_values: Mapping[str, float]) -> RoundTime:
        """Return the function for the time of a round at one point."""
        return RoundTime(
            self._round_time.tape, own_values, tuple(self.model.phases), self._round_time
        )


def state_names(phases: Sequence[str]) -> list[str]:
    """List the names of the contents of a round, in the order of tables.

    Parameters
    ----------
    phases : names

    >>> state_names(["commit"])
    ['served.commit', 'units.commit', 'products.commit', 'held']
    """
    return [*(f"{kind}.{phase}" for kind in STATE for phase in phases), HELD]


class SplitRoundTime:
    """The time of a round by component, split into expressions that do not depend on the contents
    of a round and the function of these and of the contents.

    Parameters
    ----------
    parts : expressions of the time, by component
    phases : names
    """

    def __init__(self, parts: Sequence[Expr], phases: Sequence[str]) -> None:
        self.tape = Tape(parts)
        self._state = state_names(phases)
        self._parts = parts

    @cached_property
    def fixed_and_varying(self) -> tuple[dict[str, Expr], Tape]:
        """The largest expressions that do not depend on the contents of a round, by the names of
        new parameters, and the tape that computes the time from these parameters and the contents.
        """
        varying_by_id: dict[int, Expr] = {}
        parameter_by_id: dict[int, Parameter] = {}
        expression_by_name: dict[str, Expr] = {}

        def as_operand(node: Expr) -> Expr:
            """Return a parameter in the place of an expression that does not depend on the
            contents.
            """
            if id(node) in varying_by_id or not operands(node):
                return varying_by_id.get(id(node), node)
            if id(node) not in parameter_by_id:
                name = f"round.fixed.{len(parameter_by_id)}"
                parameter_by_id[id(node)] = Parameter(name, node.dimension)
                expression_by_name[name] = node
            return parameter_by_id[id(node)]

        for node in walk(*self._parts):
            if isinstance(node, Parameter) and node.name in self._state:
                varying_by_id[id(node)] = node
            elif any(id(operand) in varying_by_id for operand in operands(node)):
                new_operands = tuple(as_operand(operand) for operand in operands(node))
                varying_by_id[id(node)] = with_operands(cast(Operation, node), new_operands)
        return expression_by_name, Tape([as_operand(expression) for expression in self._parts])

    @cached_property
    def fixed_tape(self) -> Tape:
        """The tape that computes the expressions that do not depend on the contents of a round."""
        return Tape([*self.fixed_and_varying[0].values()])


@dataclass(frozen=True)
class RoundTime:
    """The function for the time of a round by its contents: the expressions of a model with the
    values of its parameters at some points.

    Parameters
    ----------
    tape : the parts of the time
    own_values : parameters that differ from the model's own; of several points arrays along them,
        and as many rounds of each
    phases : names
    split : what of the time does not depend on the contents of a round; None: not known
    """

    tape: Tape
    own_values: Values
    phases: tuple[str, ...]
    split: SplitRoundTime | None = None

    def at_points(self, own_values: Values) -> RoundTime:
        """Return the function for several points, for each of which the expressions that do not
        depend on the contents of a round are computed once.

        Parameters
        ----------
        own_values : parameters that differ from the model's own, as arrays along the points
        """
        if self.split is None or not self.split.fixed_and_varying[0]:
            return replace(self, own_values=own_values)
        fixed_expressions, tape = self.split.fixed_and_varying
        fixed_tape = self.split.fixed_tape
        fixed_values = fixed_tape.run(selected_values(own_values, fixed_tape.parameters))
        return replace(
            self,
            tape=tape,
            own_values={**own_values, **dict(zip(fixed_expressions, fixed_values, strict=True))},
        )

    def at_rows(self, rows: NDArray[np.intp]) -> RoundTime:
        """Return the function at some of the points."""
        own_values = {
            name: np.asarray(value)[rows] if np.size(value) > 1 else value
            for name, value in self.own_values.items()
        }
        return replace(self, own_values=own_values)

    def __call__(self, rounds: RoundContents) -> Array:
        """Return the time of each round by component [components, rounds; s]; raise a NoAnswerError
        if a time is not above 0 and finite.
        """
        contents_by_name: dict[str, Array | float] = {
            f"{kind}.{phase}": column
            for kind, columns_by_phase in zip(
                STATE, (rounds.customers, rounds.units, rounds.products), strict=True
            )
            for phase, column in zip(self.phases, columns_by_phase, strict=True)
        }
        contents_by_name[HELD] = rounds.units_held
        round_count = max(map(np.size, contents_by_name.values()))
        own_values = {
            name: np.repeat(value, round_count // np.size(value)) if np.size(value) > 1 else value
            for name, value in selected_values(self.own_values, self.tape.parameters).items()
        }
        parameter_values = selected_values({**own_values, **contents_by_name}, self.tape.parameters)
        component_times = np.array(np.broadcast_arrays(*self.tape.run(parameter_values)))
        times = np.atleast_1d(component_times.sum(axis=0))
        # Written so that a time that is no number is refused as well.
        if not (times > 0).all() or not np.isfinite(times).all():
            self.refuse(times, contents_by_name)
        return component_times

    def refuse(self, times: Array, contents_by_name: Mapping[str, Array | float]) -> NoReturn:
        """Raise an error on the first round whose computed time is negative or not finite.

        Parameters
        ----------
        times : of rounds, of which at least one is not above 0 and finite [s]
        contents_by_name : what each round has, by name

        Raises
        ------
        NoAnswerError : always
        """
        round_index = int(np.flatnonzero(~((times > 0) & np.isfinite(times)))[0])
        customer_counts = [
            np.broadcast_to(contents_by_name[f"{STATE[0]}.{phase}"], times.shape)[round_index]
            for phase in self.phases
        ]
        customers_text = ", ".join(
            f"{customer_count:.4g} in {phase}"
            for customer_count, phase in zip(customer_counts, self.phases, strict=True)
        )
        raise NoAnswerError(
            f"a round that serves {customers_text} takes {float(times[round_index]):.4g} s by the"
            " parts of its time; the time of every round must be above 0 and finite: mend the"
            " parts of 'round'"
        )


def own_columns(points: Sequence[PointNumbers]) -> Columns:
    """Return, by name, the values of the parameters of several points that differ from the model's
    own values.
    """
    return {
        name: np.array([point.own_values[name] for point in points])
        for name in points[0].own_values
    }


def round_time_at(points: Sequence[PointNumbers]) -> RoundTime:
    """Return the function for the time of rounds at several points; it takes equally many rounds of
    each point, one point after the other.
    """
    duration = points[0].server.duration
    assert isinstance(duration, RoundTime)
    return duration.at_points(own_columns(points))


_WHOLE = "a whole number of at least 1"
_ABOVE = "more than 0"
_LEAST = "at least 0"

_RULES = {
    "population": ("the number of customers", _WHOLE),
    "visits": ("the number of visits of a customer", _WHOLE),
    "places": ("the number of places", _WHOLE),
    "arrivals": ("the rate of arrivals", _ABOVE),
    "budget": ("the budget of a round", _ABOVE),
    "memory": ("the memory of the server for customers", _ABOVE),
    "work": ("the work", _ABOVE),
    "least": ("the least work", _ABOVE),
    "piece": ("the piece of a round", _ABOVE),
    "think_time": ("the think time", _LEAST),
    "delay": ("the delay of a visit", _LEAST),
    "delay_scv": ("the squared coefficient of variation of the delay", _LEAST),
    "batching_delay": ("the batching delay", _LEAST),
    "interval": ("the interval of rounds", _LEAST),
}
"""The meaning of each number of a point, and the rule that it must meet."""


def _is_allowed_value(value: float, number_rule: str) -> bool:
    """Return whether a number meets a rule, such as to be a whole number of at least 1."""
    if number_rule == _WHOLE:
        return value >= 1 and value.is_integer()
    return value > 0 or (number_rule == _LEAST and value == 0)


def _reason_invalid(
    value_by_name: Mapping[str, float], phases: Collection[str], uniform_phases: Collection[str]
) -> str:
    """Return why the numbers describe no server, and the way to correct them; empty if they do."""
    for name, value in value_by_name.items():
        phase, _, key = name.rpartition(".")
        meaning, number_rule = _RULES[key]
        if key == "memory" and value <= 0:
            return (
                "the server has no memory left for customers: what else it holds needs"
                f" {abs(value):,.6g} units more than its memory; give it more memory"
            )
        phase_suffix = f" of phase {phase}" if phase else ""
        if not math.isfinite(value):
            return (
                f"{meaning}{phase_suffix} is no finite number: its formula divides by 0, or an"
                " input of it is far too large"
            )
        if not _is_allowed_value(value, number_rule):
            return f"{meaning}{phase_suffix} is {value:,.6g}: give {number_rule}"
    for phase in uniform_phases:
        work = value_by_name[f"{phase}.work"]
        least_work = value_by_name.get(f"{phase}.least")
        if (
            least_work is not None
            and least_work != work
            and math.ceil(least_work) > math.floor(work)
        ):
            return (
                f"no whole number lies from {least_work:,.6g}, the least work of phase {phase}, to"
                f" {work:,.6g}, its largest: give a least work below the largest"
            )
    largest_work = sum(value_by_name[f"{phase}.work"] for phase in phases)
    memory = value_by_name.get("memory", math.inf)
    if largest_work > memory:
        return (
            f"a customer holds up to {largest_work:,.0f} units, more than the {memory:,.0f} that"
            " memory"
            " has room for: give more memory or less work"
        )
    return ""


def _largest_and_least_work(
    value_by_name: Mapping[str, float], phase: str, are_whole: bool
) -> tuple[float, float]:
    """Return the largest and the smallest number of units of a phase; if they differ and
    `are_whole`, whole numbers.
    """
    work = value_by_name[f"{phase}.work"]
    least_work = value_by_name.get(f"{phase}.least", work)
    return (
        (work, least_work)
        if least_work == work or not are_whole
        else (math.floor(work), math.ceil(least_work))
    )


SMALLEST_SHARED_NUMBER = 16.0
"""Whole numbers below this have no shares: one percent of so few is no possible change, and models
test whether they are 1; chosen, not fitted.
"""


def _is_small_whole_number(value: float) -> bool:
    """Return whether a number is whole and below `SMALLEST_SHARED_NUMBER`."""
    return value < SMALLEST_SHARED_NUMBER and value == round(value)


def _expressions_by_name(model: BatchServer) -> dict[str, Expr]:
    """Return the expressions that have one number at a point, by name."""
    expressions_found: dict[str, Expr | None] = {
        "budget": model.budget,
        "places": model.places,
        "memory": model.memory,
        "batching_delay": model.batching_delay,
        "interval": model.interval,
    }
    for name, phase in model.phases.items():
        expressions_found |= {
            f"{name}.work": phase.work,
            f"{name}.least": phase.least,
            f"{name}.piece": phase.piece,
        }
    customers = model.customers
    expressions_found |= {"delay": customers.delay, "delay_scv": customers.delay_scv}
    if isinstance(customers, OpenCustomers):
        expressions_found["arrivals"] = customers.arrivals
    else:
        expressions_found |= {
            "population": customers.population,
            "think_time": customers.think_time,
            "visits": customers.visits,
        }
    return {
        name: expression for name, expression in expressions_found.items() if expression is not None
    }


def _column_of_ends(ends: Sequence[float | None]) -> Array:
    """Return the ends of intervals as a column, with NaN for an interval without an end."""
    return np.array([math.nan if end is None else end for end in ends])


def exact_estimates(values: Mapping[str, float]) -> dict[str, Estimate]:
    """Return values as estimates without intervals, by name."""
    return {name: Estimate(value) for name, value in values.items()}


def _estimate_with_interval(mean: float, half_width: float) -> Estimate:
    """Return an estimate with its interval; without one if the half-width is not known."""
    if not math.isfinite(half_width):
        return Estimate(mean)
    return Estimate(mean, mean - half_width, mean + half_width)
