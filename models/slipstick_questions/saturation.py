"""Times at points where a resource is saturated: they exceed every limit.

A saturated resource has no steady state: the longer it runs, the more customers wait, so that the
mean time of the customers that come to it is infinite. A condition such as ``response_time[buyers]
<= 200 ms`` is then false, and its opposite true, instead of undecided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from slipstick.errors import Saturated
from slipstick.late import Array, dataclass, np, replace
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.model.network import QueueingNetwork
from slipstick.report.formatting import join_phrases
from slipstick.results.sweep import PointTable, split_name
from slipstick.study.evaluator import Evaluator

SATURATED_AMOUNT = "beyond any limit (a resource is saturated)"
"""How the amount of an infinite time is written."""

_MEANS_AT_STATION = ("waiting_time", "residence_time", "time_per_visit", "queue_length")
"""Kinds of values that are infinite for a class at the saturated station itself."""

_DISCIPLINES_THAT_DELAY_ALL = ("fcfs", "ps", "random")
"""Disciplines at which every customer waits ever longer; at others some pass."""


@dataclass(frozen=True)
class UnboundedEvaluator(Evaluator):
    """A case whose times are infinite, instead of missing, where a resource is saturated.

    Only values that are certain to be infinite are: means of classes that come to the saturated
    station, and quantiles of classes that come to it in every cycle. Throughputs, utilizations and
    the times of other classes stay without a value.
    """

    def point_table(
        self,
        values: Mapping[str, Array],
        wanted_names: Collection[str] | None = None,
        *,
        with_reasons: bool = False,
    ) -> PointTable:
        """Compute the answers at many points; see `Evaluator.point_table`. The reason of each
        point without an answer is computed.
        """
        table = Evaluator.point_table(self, values, wanted_names, with_reasons=True)
        reason_by_point = saturated_points(table)
        if not reason_by_point:
            return table
        point_count = max((len(array) for array in values.values()), default=1)
        columns = dict(table.columns)
        names = {*columns} if wanted_names is None else {*wanted_names}
        rows = list(reason_by_point)
        values_of_points = {
            path: array[rows] for path, array in values.items() if path in self.form.parameters
        }
        names_of_points = self._infinite_names(
            [reason.resource_name for reason in reason_by_point.values()], values_of_points, names
        )
        for row, infinite_names in zip(rows, names_of_points, strict=True):
            for name in infinite_names:
                # The column of a table may be shared by several names.
                column = columns.get(name, np.full(point_count, np.nan)).copy()
                column[row] = np.inf
                columns[name] = column
        return replace(table, columns=columns)

    @cached_property
    def _layout(self) -> NetworkLayout | None:
        """The arrays of the network; None for other models."""
        model = self.built.model
        return NetworkLayout(model) if isinstance(model, QueueingNetwork) else None

    def _infinite_names(
        self, resource_names: Sequence[str], values: Mapping[str, Array], names: Collection[str]
    ) -> Iterator[list[str]]:
        """Yield for each of some points those names whose values are infinite there.

        Parameters
        ----------
        resource_names : the saturated resource of each point
        values : by path [points]
        names : to choose from
        """
        layout = self._layout
        if layout is None:
            times = [name for name in names if name in ("time", "low[time]", "high[time]")]
            yield from (times for _ in resource_names)
            return
        parameter_values = {
            path: array for path, array in values.items() if path in layout.tape.parameters
        }
        points = layout.network_points(layout.columns(parameter_values))
        for index, station in enumerate(resource_names):
            if station not in layout.stations:
                yield []
                continue
            # What is varied may change no array, which then has the row of all points.
            row = min(index, len(points.visits) - 1)
            classes = _delayed_classes(points, row, layout.stations.index(station))
            discipline = layout.model.stations[station].discipline
            sure_classes = classes if discipline in _DISCIPLINES_THAT_DELAY_ALL else {}
            yield [name for name in names if _is_infinite(name, station, classes, sure_classes)]


def _delayed_classes(points: NetworkPoints, row: int, station_index: int) -> dict[str, bool]:
    """Return the classes whose mean time at a saturated station is infinite, each with whether all
    its customers come there: all classes that visit it, or none if some are served before others.
    """
    visits = points.visits[row, :, station_index].real
    if len(np.unique(points.ranks[visits > 0, station_index])) > 1:
        return {}
    # With routes by chance, one visit on average may be two in every second cycle.
    has_fixed_routes = points.routes is None or bool(
        np.isin(
            np.round(
                points.routes.probability[min(row, len(points.routes.probability) - 1)].real, 12
            ),
            (0.0, 1.0),
        ).all()
    )
    return {
        name: has_fixed_routes and bool(visit_count >= 1)
        for name, visit_count in zip(points.classes, visits, strict=True)
        if visit_count > 0
    }


def _is_infinite(
    name: str, station: str, classes: Collection[str], sure_classes: Mapping[str, bool]
) -> bool:
    """Return whether a value is infinite where a station is saturated."""
    kind, label = split_name(name)
    if kind in ("low", "high"):
        kind, label = split_name(label)
    class_name, _, rest = label.partition(",")
    if kind == "response_time":
        return label in classes
    if kind in _MEANS_AT_STATION:
        return class_name in classes and rest == station
    return kind == "response_time_quantile" and sure_classes.get(class_name, False)


def unbounded(case: Evaluator) -> UnboundedEvaluator:
    """Return a case whose times are infinite where a resource is saturated."""
    return UnboundedEvaluator(case.case, case.inputs, case.built, case.must_be_smooth)


def saturated_points(table: PointTable) -> dict[int, Saturated]:
    """Return the points at which a resource is saturated, each with the reason."""
    return {row: reason for row, reason in table.failed.items() if isinstance(reason, Saturated)}


def saturated_resources(reasons: Sequence[Saturated]) -> str:
    """Return what is saturated at some points as the subject of a clause.

    >>> saturated_resources([Saturated("", resource_name="db"), Saturated("", resource_name="app")])
    'app or db'
    >>> saturated_resources([Saturated("it is")])
    'a server'
    """
    names = sorted({reason.resource_name for reason in reasons})
    return join_phrases(names, "or") if all(names) else "a server"
