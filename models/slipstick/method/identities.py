"""Identities that every answer obeys, whatever its method; an answer that breaks one is not shown.

A closed group of N has N = X (Z + R), Little's law relates what is present, passes and stays at a
station, throughput times demand are busy servers, no server is busy for more than all the time, and
a value lies between its ends. Where an answer breaks one of these, the method has failed: by
default the next method of the ladder answers, and a method that was named has no answer.

Why this shape: an identity needs no second solution, so that every answer can be held against it.
It reads the values of a solution by name, as users see them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from slipstick.answer import SURE_HALF_WIDTHS
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Expr, Number, zero
from slipstick.expression.tape import Flags, Tape, Values, selected_values
from slipstick.late import Array, NDArray, dataclass, np, replace
from slipstick.method.answers import Remarks, Solution
from slipstick.model.activity import Attempt
from slipstick.model.network import ClosedClass, NetworkStation, QueueingNetwork
from slipstick.model.steps import HELD, SERVED, Activity, distinct_activities
from slipstick.model.system import (
    ClosedPopulation,
    Model,
    OpenPopulation,
    PhasedPopulation,
)
from slipstick.structure.work import demands, total_work
from slipstick.vocabulary import SECOND_PHASES, SEVERAL_PERMITS, SIMULATION

ROUNDING = 1e-6
"""Relative difference that rounding, and the end of an iteration, explain."""

SIMULATION_DIFFERENCE = 0.02
"""Relative difference that a simulation is allowed beside its intervals: cycles and visits that the
ends of a run cut off are in one estimate and not in another, also where nothing is random."""

REPORT = "this is a defect of slipstick; please report it with the model"


@dataclass(frozen=True, slots=True)
class Product:
    """An identity rate x time = total. The total is a number of the model or another value of the
    answer.

    Parameters
    ----------
    rate_name, time_name : names of the values
    total_name : the name of the value that the product is; empty where it is a number
    population, think_time : of a closed group, where the product and X Z are that number
    """

    rate_name: str
    time_name: str
    total_name: str = ""
    population: Expr | None = None
    think_time: Expr | None = None


@dataclass(frozen=True, slots=True)
class ResourceLoad:
    """The demand and the visits of one pass of an activity at a station, a lock or permits.

    Parameters
    ----------
    name : of the resource
    servers : number of its servers, or of its permits
    demand : service of one pass [s]; None of a lock, for how long it is held is a result
    visits : of one pass [1]
    speed_alone : of a station that has rates, for a customer alone [1]
    """

    name: str
    servers: int
    demand: Expr | None
    visits: Expr
    speed_alone: Expr | None = None

    @property
    def numbers(self) -> tuple[Expr, Expr, Expr]:
        """The demand, the visits and the speed for a customer alone."""
        return self.demand or zero(TIME), self.visits, self.speed_alone or Number(1.0)


class Identities:
    """The identities that each solution of a model must meet, such as Little's law, compiled for
    many points.

    Parameters
    ----------
    model : the activity or the network

    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> identities = Identities(closed_model(delay(2.0), processors=4))
    >>> wrong = {"time": np.array([2.0]), "throughput": np.array([3.0])}
    >>> identities.contradictions(Solution(model="m", method="exact", values=wrong), {})[0][:61]
    'throughput x time is 6, but the number of its processors is 4'
    """

    def __init__(self, model: Model | QueueingNetwork) -> None:
        self._products: list[Product]
        self._resource_loads_of_model = (
            [] if isinstance(model, QueueingNetwork) else _resource_loads(model)
        )
        expressions = [
            expression for load in self._resource_loads_of_model for expression in load.numbers
        ]
        self._load_tape = Tape(expressions) if expressions else None
        if isinstance(model, QueueingNetwork):
            self._products = list(_products_of_network(model))
            self._member_noun = "customers"
        else:
            self._products = list(_products_of_activity(model))
            self._member_noun = "processors"

    def without_contradictions(self, solution: Solution, values: Values) -> Solution:
        """Remove the answers of the points at which a solution breaks an identity.

        Parameters
        ----------
        solution : of any method
        values : of the model's parameters [points]
        """
        contradictions = self.contradictions(solution, values)
        return _without_answers(solution, contradictions) if contradictions else solution

    def contradictions(self, solution: Solution, values: Values) -> dict[int, str]:
        """Return, by point, the first identity that a solution breaks, with both numbers.

        Parameters
        ----------
        solution : of any method
        values : of the model's parameters [points]
        """
        contradiction_by_point: dict[int, str] = {}
        if solution.interrupted:  # what was counted until then need not fit together
            return contradiction_by_point
        with np.errstate(all="ignore"):
            checks = [*_checks_of_intervals(solution), *_checks_of_ranges(solution)]
            checks += self._checks_of_products(solution, values)
            checks += self._checks_of_resources(solution, values)
        for is_broken, message_form, left_side, right_side in checks:
            # Nearly all hold, and are thousands in a large network.
            if not is_broken.any():
                continue
            for point_index in np.flatnonzero(np.broadcast_to(is_broken, (solution.count,))):
                side_intervals = (
                    np.broadcast_to(side, (solution.count,))[point_index]
                    for side in (left_side, right_side)
                )
                contradiction_by_point.setdefault(
                    int(point_index), message_form.format(*side_intervals)
                )
        return contradiction_by_point

    def _checks_of_products(self, solution: Solution, values: Values) -> Iterator[IdentityCheck]:
        """Yield the check rate x time = total of each product whose values a solution has."""
        for product in self._products:
            columns = solution.values
            if product.rate_name not in columns or product.time_name not in columns:
                continue
            think_time = np.zeros(1)
            message_form = f"{product.rate_name} x {product.time_name} is {{:.6g}}, but "
            half_width = np.zeros(1)
            if product.population is not None and product.think_time is not None:
                tape = Tape([product.population, product.think_time])
                expected_total, think_time = tape.run(selected_values(values, tape.parameters))
                if np.any(think_time):
                    message_form = (
                        f"{product.rate_name} x ({product.time_name} + think time) is {{:.6g}},"
                        " but "
                    )
                message_form += f"the number of its {self._member_noun} is {{:.6g}}"
            elif product.total_name in columns:
                expected_total = columns[product.total_name]
                half_width = _half_width(solution, product.total_name)
                message_form += f"{product.total_name} is {{:.6g}}"
            else:
                continue
            rate_column = columns[product.rate_name]
            time_column = columns[product.time_name] + think_time
            half_width = half_width + rate_column * _half_width(solution, product.time_name)
            half_width = half_width + time_column * _half_width(solution, product.rate_name)
            product_value = rate_column * time_column
            allowed_difference = SURE_HALF_WIDTHS * half_width + _allowed_relative_difference(
                solution
            ) * np.maximum(product_value, expected_total)
            yield (
                np.abs(product_value - expected_total) > allowed_difference,
                message_form,
                product_value,
                expected_total,
            )

    def _checks_of_resources(self, solution: Solution, values: Values) -> Iterator[IdentityCheck]:
        """Yield checks of the utilization law and Little's law at the stations of an activity, and
        of Little's law for the waits at its locks and permits.

        A simulation draws services and visits, so that both hold for what it drew by definition.
        """
        columns = solution.values
        is_computed = ~_is_simulated(solution)
        if self._load_tape is None or "throughput" not in columns or not np.any(is_computed):
            return
        load_values = iter(self._load_tape.run(selected_values(values, self._load_tape.parameters)))
        for load in self._resource_loads_of_model:
            # In the order of `ResourceLoad.numbers`.
            demand = next(load_values)
            visits_of_pass = next(load_values)
            speed_alone = next(load_values)
            resource_name = load.name
            number_present, mean_wait = (
                columns.get(f"{value_kind}[{resource_name}]")
                for value_kind in ("queue_length", "wait")
            )
            utilization = columns.get(f"utilization[{resource_name}]")
            throughput = columns["throughput"]
            if (
                number_present is None
                or mean_wait is None
                or (utilization is None and load.demand is None)
            ):
                continue
            counts_busy = load.speed_alone is None and utilization is not None
            if utilization is None or not counts_busy:
                # Who waits where speed depends on the number present is beyond those that the same
                # visits would make alone; with infinite servers none waits.
                busy_servers = throughput * demand / speed_alone
            else:
                busy_servers = load.servers * utilization
            waiting_check = (
                (
                    f"throughput x visits x wait at {resource_name} is {{:.6g}}, but {{:.6g}} wait"
                    " there"
                ),
                throughput * visits_of_pass * mean_wait,
                number_present - busy_servers,
            )
            service_check = (
                (
                    f"throughput x demand at {resource_name} is {{:.6g}}, but {{:.6g}} of its"
                    " servers are busy"
                ),
                throughput * demand,
                busy_servers,
            )
            checks = (
                [service_check, waiting_check]
                if counts_busy and load.demand is not None
                else [waiting_check]
            )
            for message_form, expected_value, reported_value in checks:
                # The absolute part is for numbers that are 0 but for rounding.
                is_different = (
                    np.abs(expected_value - reported_value)
                    > ROUNDING * np.maximum(number_present, busy_servers) + 1e-12
                )
                yield is_different & is_computed, message_form, expected_value, reported_value


IdentityCheck = tuple[Flags, str, Array, Array]
"""A check of one identity: a mask of the points at which it is broken, a sentence with places for
two numbers, and the two numbers [points].
"""


def _without_answers(solution: Solution, contradiction_by_point: Mapping[int, str]) -> Solution:
    """Remove the answers of some points and mark the points as refused, so that the ladder tries
    its next method.
    """
    method_by_point = solution.methods or [solution.method] * solution.count
    remarks_by_point = {
        point_index: Remarks(
            failed=f"{method_by_point[point_index]} contradicts itself: {contradiction}; {REPORT}"
        )
        for point_index, contradiction in contradiction_by_point.items()
    }
    earlier_remarks = solution.remarks
    original_detail = solution.detail
    is_removed = np.isin(np.arange(solution.count), list(contradiction_by_point))

    def remarks_of(point_index: int) -> Remarks:
        return remarks_by_point.get(point_index) or earlier_remarks(point_index)

    def detail_without_answers(point_index: int) -> tuple[Solution, int]:
        """Return the solution that holds the whole answer of a point, without the removed answers,
        and the index of the point there.
        """
        if point_index in remarks_by_point or original_detail is None:
            return replace(remaining_solution, detail=None), point_index
        return original_detail(point_index)

    remaining_tables: dict[str, Any] = {
        table_name: {
            name: np.where(is_removed, np.nan, column)
            for name, column in getattr(solution, table_name).items()
        }
        for table_name in ("values", "low", "high", "account", "technology", "steps", "once")
    }
    remaining_solution = replace(
        solution,
        exact=np.broadcast_to(solution.exact, (solution.count,)) & ~is_removed,
        refused_points=solution.refused_points | contradiction_by_point.keys(),
        remarks=remarks_of,
        **remaining_tables,
    )
    return (
        remaining_solution
        if original_detail is None
        else replace(remaining_solution, detail=detail_without_answers)
    )


def _products_of_activity(model: Model) -> Iterator[Product]:
    """List the identities of an activity: Little's law for the first group, and for each group that
    has a name.

    Arrivals and programs that end are left out: the throughput of a stream is given, and that of
    the phases of a program is of the whole program by definition.
    """
    population = model.population
    if not isinstance(population, ClosedPopulation):
        return
    # The time of a cycle has the think time in it.
    think_time = zero(TIME)
    yield Product("throughput", "time", population=population.size, think_time=think_time)
    for group in population.groups:
        if group.name and group.arrivals is None:
            value_names = f"throughput[{group.name}]", f"time[{group.name}]"
            yield Product(*value_names, population=group.processors, think_time=think_time)


def _resource_loads(model: Model) -> list[ResourceLoad]:
    """List the demand and the visits of one pass, for resources at which a visit waits once. The
    list is empty unless the model is one closed group, one stream, or phases, whose rounds are
    divided among the processors.
    """
    bodies_with_passes = _bodies_with_passes(model)
    if any(isinstance(node, Attempt) for node in distinct_activities(model.bodies)):
        return []  # how often it is tried depends on the state
    demand_by_resource = defaultdict[str, Expr](lambda: zero(TIME))
    visits_by_resource = defaultdict[str, Expr](lambda: Number(0.0))
    try:
        for body, passes_of_processor in bodies_with_passes:
            for resource_name, demand in demands(body, model).items():
                demand_by_resource[resource_name] = (
                    demand_by_resource[resource_name] + passes_of_processor * demand
                )
            for resource_name, visits_of_pass in total_work(body, _visits_of_node).items():
                visits_by_resource[resource_name] = (
                    visits_by_resource[resource_name] + passes_of_processor * visits_of_pass
                )
    except NoAnswerError:  # what is asked depends on the state
        return []
    # Who waits for a lock may access its word again and again, as often as the state says.
    excluded_names = {resource.word for resource in model.resources.values()}
    excluded_names |= {
        resource_name
        for node in distinct_activities(model.bodies)
        if not _takes_one_server(node)
        for resource_name in node.uses
    }
    return [
        ResourceLoad(
            resource_name,
            resource.capacity,
            demand_by_resource[resource_name] if resource.use == SERVED else None,
            visits_by_resource[resource_name],
            resource.speed_alone,
        )
        for resource_name, resource in model.resources.items()
        if resource_name in visits_by_resource
        and resource_name not in excluded_names
        and resource.waits_once
    ]


def _bodies_with_passes(model: Model) -> list[tuple[Activity, Expr]]:
    """List the bodies of a model, each with how often a processor passes through it; empty where
    groups have different bodies.
    """
    population = model.population
    if isinstance(population, PhasedPopulation):
        return [
            (phase.cycle, phase.repeat * phase.processors / population.size)
            for phase in population.phases
        ]
    has_one_body = len(model.bodies) == 1 and len(population.groups) <= 1
    if has_one_body and isinstance(population, ClosedPopulation | OpenPopulation):
        return [(model.bodies[0], Number(1.0))]
    return []


def _visits_of_node(node: Activity) -> dict[str, Expr]:
    return dict.fromkeys(node.uses, Number(1.0)) if _takes_one_server(node) else {}


def _takes_one_server(node: Activity) -> bool:
    """Return whether a node is a visit that waits once and holds one server or permit until its
    processor continues.
    """
    excluded_constructs = {SECOND_PHASES, SEVERAL_PERMITS} & node.constructs
    return node.use in (SERVED, HELD) and not excluded_constructs


def _products_of_network(model: QueueingNetwork) -> Iterator[Product]:
    """List the identities of a network: Little's law of each closed class or chain, and of each
    class at each station.

    Networks that lose customers are left out: throughput is of those that are served, and times are
    of all that enter.
    """
    if (
        model.breakers
        or any(region.loses_customers for region in model.regions.values())
        or any(map(_loses_customers, model.stations.values()))
    ):
        return
    chain_by_class = {
        class_name: chain_name
        for chain_name, chain in model.chains.items()
        for class_name in chain.classes
    }
    population_by_name = {
        **model.classes,
        **{chain_name: chain.members for chain_name, chain in model.chains.items()},
    }
    for chain_name, population in population_by_name.items():
        if isinstance(population, ClosedClass):
            yield Product(
                f"throughput[{chain_name}]",
                f"response_time[{chain_name}]",
                population=population.population,
                think_time=population.think_time,
            )
    for station_name, station in model.stations.items():
        for class_name in station.visitors():
            class_and_station = f"[{class_name},{station_name}]"
            throughput_name = f"throughput[{chain_by_class.get(class_name, class_name)}]"
            yield Product(
                throughput_name,
                f"residence_time{class_and_station}",
                f"queue_length{class_and_station}",
            )


def _loses_customers(station: NetworkStation) -> bool:
    """Return whether customers may be turned away, or leave before they are served."""
    return any(map(station.loses, station.visitors()))


_VALUES_WITHOUT_ORDER = ("time_alone", "grain_efficiency", "grain_interference", "overlap")
"""Values whose ends are not held against them: they compare two runs, and a simulation cuts either
the value or an end to what is possible (no competitor makes a processor faster)."""


def _checks_of_intervals(solution: Solution) -> Iterator[IdentityCheck]:
    """Yield checks that each lower end is at most the upper end and the value, and each value at
    most the upper end.
    """
    for value_name, lower_end in solution.low.items():
        if value_name.partition("[")[0] in _VALUES_WITHOUT_ORDER:
            continue
        for larger_name, larger_value in (
            ("its upper end", solution.high.get(value_name)),
            ("its value", solution.values.get(value_name)),
        ):
            yield from _checks_of_order(
                f"the lower end of {value_name}", lower_end, larger_name, larger_value
            )
    for value_name, upper_end in solution.high.items():
        value_column = solution.values.get(value_name)
        if value_column is not None and value_name.partition("[")[0] not in _VALUES_WITHOUT_ORDER:
            yield from _checks_of_order(value_name, value_column, "its upper end", upper_end)


def _checks_of_order(
    smaller_name: str, smaller_value: Array, larger_name: str, larger_value: Array | None
) -> Iterator[IdentityCheck]:
    """Yield the check that one value is at most another one."""
    if larger_value is not None:
        # 1e-12 [s, or customers]: both values may be 0 but for rounding.
        allowed_difference = (
            ROUNDING * np.maximum(np.abs(smaller_value), np.abs(larger_value)) + 1e-12
        )
        yield (
            smaller_value - larger_value > allowed_difference,
            f"{smaller_name} is {{:.6g}}, but {larger_name} {{:.6g}}",
            smaller_value,
            larger_value,
        )


_NOT_NEGATIVE = ("time", "throughput", "response_time", "residence_time", "queue_length")


def _checks_of_ranges(solution: Solution) -> Iterator[IdentityCheck]:
    """Yield checks that no utilization is above 1, and that times, rates and numbers are not
    negative.
    """
    largest_utilization = 1 + _allowed_relative_difference(solution)
    computes_waiting = _computes_waiting(solution)
    for value_name, column in solution.values.items():
        value_kind, name_in_brackets = value_name.partition("[")[::2]
        if value_kind == "utilization":
            message_form = (
                f"throughput x demand over servers of {name_in_brackets[:-1]} is {{:.6g}}, but"
                f" at most {{:g}}"
            )
            is_above_one = (column > largest_utilization) & computes_waiting
            yield is_above_one, message_form, column, np.ones(1)
        elif value_kind in _NOT_NEGATIVE:
            yield (
                # Differences of large times miss 0 by rounding; a real fault is a whole wait or
                # customer.
                column < -1e-9,
                f"{value_name} is {{:.6g}}, but at least {{:g}}",
                column,
                np.zeros(1),
            )


def _computes_waiting(solution: Solution) -> NDArray[np.bool_]:
    """Return at which points the method neglects no waiting. Only there a utilization above 1 is a
    contradiction: approximations may neglect that a processor waits for itself.
    """
    neglects_nothing: NDArray[np.bool_] = np.asarray(solution.exact) | _is_simulated(solution)
    return neglects_nothing


def _is_simulated(solution: Solution) -> NDArray[np.bool_]:
    """Return at which points simulation answered."""
    return np.array(
        [method_name == SIMULATION for method_name in solution.methods or [solution.method]]
    )


def _half_width(solution: Solution, value_name: str) -> Array:
    """Return half the width of the interval of a value; 0 where it is no estimate.

    It is NaN, and so nothing is contradicted, where an estimate has no interval.
    """
    if value_name in solution.low and value_name in solution.high:
        return (solution.high[value_name] - solution.low[value_name]) / 2
    return np.zeros(1)


def _allowed_relative_difference(solution: Solution) -> Array:
    """Return the relative difference that an identity may have at each point."""
    methods = solution.methods or [solution.method]
    return np.array(
        [SIMULATION_DIFFERENCE if method == SIMULATION else ROUNDING for method in methods]
    )
