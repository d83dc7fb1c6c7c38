"""Answers at the points of a grid, for a page that interpolates between them.

The axes are the input that matters most and the number of processors, servers or permits that
matters most. A number that the model is built with, such as servers, takes a model for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scipy.interpolate import RegularGridInterpolator

from slipstick.answer import Answer
from slipstick.expression.nodes import COUNT, Parameter
from slipstick.late import Array, dataclass, field, np, replace
from slipstick.limits import Progress, announcing_progress, ignore_progress
from slipstick.method.answers import CompiledModel
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model, Permits, Station
from slipstick.report.formatting import quantity
from slipstick.results.sweep import join_columns
from slipstick.schema.inputs import BuiltModel
from slipstick.vocabulary import DISCIPLINES, MARKOV_CHAIN
from slipstick_pages.model import Slider

__all__ = ["AnswerGrid", "GridForm", "structure_parameters"]

_NODES_PER_AXIS = (13, 25)
_TEST_POINTS, _TEST_NUMBERS = 100, 10
"""Random points at which a grid is tested, and different whole numbers among those of a chain."""
_LARGEST_ERROR = 3e-3
"""Relative error of interpolation above which a grid gets more nodes [1]."""
_MOST_HALVINGS = 20
_MOST_STRUCTURES = 12
"""Values of a number that the model is built with: each takes a model of its own."""


def structure_parameters(built_model: BuiltModel) -> dict[str, Parameter]:
    """Return the numbers of servers and permits with which a model is built, by their paths."""
    model = built_model.model
    if isinstance(model, QueueingNetwork):
        count_by_path = {
            f"stations.{name}.servers": station.servers
            for name, station in model.stations.items()
            if not station.rates and not DISCIPLINES[station.discipline].delay
        }
    elif isinstance(model, Model):
        servers_by_path = {
            f"resources.{name}.servers": resource.servers
            for name, resource in model.resources.items()
            if isinstance(resource, Station)
            if not resource.rates and not DISCIPLINES[resource.discipline].delay
        }
        permits_by_path = {
            f"resources.{name}.permits": resource.number
            for name, resource in model.resources.items()
            if isinstance(resource, Permits)
        }
        count_by_path = {**servers_by_path, **permits_by_path}
    else:
        count_by_path = {}
    return {name: Parameter(name, COUNT, float(count)) for name, count in count_by_path.items()}


@dataclass(slots=True)
class GridForm:
    """A model that can be solved at any values, with a compiled model for each combination of the
    numbers, such as servers, that shape it.

    Parameters
    ----------
    form : compiled at the values given
    structures : numbers with which the model is built, by path
    compile_with : compiles the model with other such numbers; returns None if it refuses them
    """

    form: CompiledModel
    structures: Mapping[str, Parameter]
    compile_with: Callable[[Mapping[str, int]], CompiledModel | None]
    compiled_by_counts: dict[tuple[tuple[str, int], ...], CompiledModel | None] = field(
        default_factory=dict
    )

    def columns(
        self, columns_by_input: Mapping[str, Array], report_solved: Progress = ignore_progress
    ) -> dict[str, Array]:
        """Return the answers at aligned points by column; NaN at points without an answer.

        Each number of points that is solved is reported.
        """
        structure_names = [name for name in columns_by_input if name in self.structures]
        if not structure_names:
            return _answer_columns(self.form, columns_by_input, report_solved)
        point_count = len(next(iter(columns_by_input.values())))
        # A model is compiled for each combination, since these numbers shape it.
        counts_by_point = np.array([columns_by_input[name] for name in structure_names]).T.astype(
            int
        )
        indices_and_columns = []
        for structure_counts in {tuple(point_row) for point_row in counts_by_point.tolist()}:
            row_indices = np.flatnonzero((counts_by_point == structure_counts).all(axis=1))
            form = self._compiled_model(structure_names, structure_counts)
            if form is None:
                report_solved(len(row_indices))
                continue
            columns_of_other_inputs = {
                name: column[row_indices]
                for name, column in columns_by_input.items()
                if name not in structure_names
            }
            indices_and_columns.append(
                (
                    row_indices,
                    _answer_columns(
                        form,
                        columns_of_other_inputs or {"": np.zeros(len(row_indices))},
                        report_solved,
                    ),
                )
            )
        return join_columns(point_count, indices_and_columns)

    def _compiled_model(
        self, structure_names: Sequence[str], structure_counts: tuple[int, ...]
    ) -> CompiledModel | None:
        """Return the model compiled with numbers of servers and permits, from a cache; None if it
        refuses them.
        """
        counts_by_name = tuple(zip(structure_names, structure_counts, strict=True))
        if counts_by_name not in self.compiled_by_counts:
            self.compiled_by_counts[counts_by_name] = self.compile_with(dict(counts_by_name))
        return self.compiled_by_counts[counts_by_name]

    def failure_reason(self, name: str, value: float) -> str:
        """Return the reason why there is no answer if one input is changed to a value; empty if
        there is one.
        """
        if name in self.structures:
            form = self._compiled_model([name], (int(value),))
            return form.points({}).answer(0, shares=False).refusal if form else "refused"
        return self.form.points({name: np.array([value])}).answer(0, shares=False).refusal


def _answer_columns(
    form: CompiledModel, columns_by_input: Mapping[str, Array], report_solved: Progress
) -> dict[str, Array]:
    """Return the columns of a compiled model at aligned points, solved in blocks."""
    point_count = len(next(iter(columns_by_input.values())))
    columns_of_known_inputs = {name: column for name, column in columns_by_input.items() if name}
    if not columns_of_known_inputs:
        answer_columns = form.points({}).columns()
        report_solved(point_count)
        return {
            name: np.broadcast_to(column, (point_count,)) for name, column in answer_columns.items()
        }
    indices_and_columns = []
    for block in form.blocks(columns_of_known_inputs, point_count):
        block_columns = {name: column[block] for name, column in columns_of_known_inputs.items()}
        indices_and_columns.append((block, form.points(block_columns).columns()))
        report_solved(len(next(iter(block_columns.values()))))
    return join_columns(point_count, indices_and_columns)


@dataclass(frozen=True, slots=True)
class AnswerGrid:
    """The builder of a grid of answers, between whose points a page interpolates.

    Parameters
    ----------
    form : answers at any point
    answer : at the values given
    quantity : the first value that the page shows
    outputs : names of all values that it shows
    is_costly : whether a point takes so long that few nodes have to suffice
    """

    form: GridForm
    answer: Answer
    quantity: str
    outputs: Sequence[str]
    is_costly: bool

    def data(self, sliders: Sequence[Slider]) -> dict[str, Any]:
        """Return the data of `LiveModel.grid`, with the fewest nodes at which interpolation is
        accurate enough; empty if a node has no answer.
        """
        test_points = self._test_points(sliders)
        exact_columns: dict[str, Array] = {}
        node_counts = _NODES_PER_AXIS[:1] if self.is_costly else _NODES_PER_AXIS
        most_points = _TEST_POINTS + sum(node_count ** len(sliders) for node_count in node_counts)
        report_solved = announcing_progress(
            most_points, f"the grid of the page has at most {most_points:,} points"
        )
        for node_count in node_counts:
            log_nodes = [
                np.log(_axis_nodes(slider, node_count, self.form.structures)) for slider in sliders
            ]
            node_values = [np.exp(axis.ravel()) for axis in np.meshgrid(*log_nodes, indexing="ij")]
            columns_at_nodes = self._columns_at(sliders, node_values, report_solved)
            if not np.isfinite(columns_at_nodes.get(self.quantity, np.full(1, np.nan))).all():
                return {}
            exact_columns = exact_columns or self._columns_at(sliders, test_points, report_solved)
            output_names = [
                name for name in self.outputs if np.isfinite(columns_at_nodes[name]).all()
            ]
            error_by_output = {
                name: _interpolation_error(
                    log_nodes,
                    columns_at_nodes[name],
                    np.log(np.array(test_points).T),
                    exact_columns[name],
                )
                for name in output_names
            }
            if error_by_output[self.quantity] <= _LARGEST_ERROR:
                break
        account_columns = {
            name: columns_at_nodes[f"account[{name}]"]
            for name in self.answer.account
            if f"account[{name}]" in columns_at_nodes
        }
        account_sum = sum(account_columns.values(), np.zeros(1))
        if not np.isfinite(account_sum).all():  # a method that answered some points has none
            account_columns = {}
        return {
            "axes": [
                {"name": slider.name, "nodes": nodes.tolist()}
                for slider, nodes in zip(sliders, log_nodes, strict=True)
            ],
            "outputs": {
                name: _stored_column(columns_at_nodes[name], 9 if name == self.quantity else 6)
                for name in output_names
            },
            "shares": {
                name: _rounded_values(column / account_sum, 4)
                for name, column in account_columns.items()
            },
            "accounted": _stored_column(account_sum, 6) if account_columns else None,
            "error": error_by_output[self.quantity],
            "errors": {name: float(f"{error:.2g}") for name, error in error_by_output.items()},
            "tried": _TEST_POINTS,
        }

    def _columns_at(
        self,
        sliders: Sequence[Slider],
        slider_columns: Sequence[Array],
        report_solved: Progress,
    ) -> dict[str, Array]:
        """Return the answers at points, given by the value of each slider."""
        columns_by_input = {
            slider.name: column.round() if slider.whole else column
            for slider, column in zip(sliders, slider_columns, strict=True)
        }
        return self.form.columns(columns_by_input, report_solved)

    def _test_points(self, sliders: Sequence[Slider]) -> list[Array]:
        """Return random points between the ends of the sliders, with a fixed seed, at which
        interpolation is compared with answers.
        """
        uniform_numbers = np.random.default_rng(0).random((_TEST_POINTS, len(sliders))).T
        if self.answer.method == MARKOV_CHAIN:
            # Each number of processors, servers or permits has a chain of its own to explore.
            whole_flags = [slider.whole for slider in sliders]
            number_indices = np.arange(_TEST_POINTS) % _TEST_NUMBERS
            uniform_numbers[whole_flags] = uniform_numbers[whole_flags][:, number_indices]
        columns_of_sliders = [
            slider.low * (slider.high / slider.low) ** fraction
            for slider, fraction in zip(sliders, uniform_numbers, strict=True)
        ]
        return [
            coordinates.round() if slider.whole else coordinates
            for slider, coordinates in zip(sliders, columns_of_sliders, strict=True)
        ]

    def sliders_with_answers(
        self, sliders: Sequence[Slider], slopes: Mapping[str, float]
    ) -> list[Slider]:
        """Return the sliders with ranges so narrow that the model has an answer when all of them
        are at the end that lengthens the time: an open network has none beyond saturation.
        """
        narrowed_sliders = list(sliders)
        for _ in range(_MOST_HALVINGS):
            slowest_values = {
                slider.name: np.array(
                    [slider.high if _lengthens_time(slider, slopes) else slider.low]
                )
                for slider in narrowed_sliders
            }
            answer_column = self.form.columns(slowest_values).get(self.quantity, np.full(1, np.nan))
            if np.isfinite(answer_column).all():
                return narrowed_sliders
            narrowed_sliders = [
                _with_nearer_end(slider, is_upper=_lengthens_time(slider, slopes))
                for slider in narrowed_sliders
            ]
        return list(sliders)

    def reason_without_answer(self, sliders: Sequence[Slider]) -> str:
        """Return a message on where the grid has no answer, and why: at an end of one input, or at
        the ends of several inputs together.
        """
        for slider in sliders:
            for slider_end in (slider.low, slider.high):
                reason = self.form.failure_reason(slider.name, slider_end)
                if reason:
                    setting_text = f"{slider.name} = {quantity(slider_end, slider.unit)}"
                    return f"at {setting_text} there is no answer: {reason}"
        names_text = " and ".join(slider.name for slider in sliders)
        return f"where {names_text} are all changed there is no answer at some points"


def _lengthens_time(slider: Slider, slopes: Mapping[str, float]) -> bool:
    """Return whether a larger value of the input of a slider lengthens the time."""
    return slopes.get(slider.name, 0.0) > 0


def _with_nearer_end(slider: Slider, *, is_upper: bool) -> Slider:
    """Return a slider of which one end is moved half-way to its value, by ratio."""
    nearer_end = float(np.sqrt((slider.high if is_upper else slider.low) * slider.value))
    if slider.whole:
        nearer_end = float(np.floor(nearer_end) if is_upper else np.ceil(nearer_end))
    return replace(slider, high=nearer_end) if is_upper else replace(slider, low=nearer_end)


def _interpolation_error(
    log_nodes: Sequence[Array], column: Array, points: Array, exact_column: Array
) -> float:
    """Return the largest relative error of interpolation at points with known answers."""
    stored_column = _stored_column(column)
    node_values = np.array(stored_column["column"]).reshape(tuple(map(len, log_nodes)))
    lowest_nodes, highest_nodes = (
        np.array([axis_log_nodes[end_index] for axis_log_nodes in log_nodes])
        for end_index in (0, -1)
    )
    clipped_points = np.clip(points, lowest_nodes, highest_nodes)  # but for rounding
    interpolated_values = RegularGridInterpolator(log_nodes, node_values)(clipped_points)
    interpolated_values = (
        np.exp(interpolated_values) if stored_column["logs"] else interpolated_values
    )
    # A value of less than a thousandth of the largest is measured against that: a bar does not show
    # its digits.
    compared_magnitudes = np.maximum(
        np.abs(exact_column), 1e-3 * np.nanmax(np.abs(exact_column), initial=1e-300)
    )
    return float(
        np.nanmax(np.abs(interpolated_values - exact_column) / compared_magnitudes, initial=0.0)
    )


def _stored_column(column: Array, digits: int = 6) -> dict[str, Any]:
    """Return a column of the grid as the page stores it: as logarithms if all values are above
    0.
    """
    are_logs = bool((column > 0).all())
    return {
        "logs": are_logs,
        "column": _rounded_values(np.log(column) if are_logs else column, digits),
    }


def _axis_nodes(slider: Slider, node_count: int, structures: Mapping[str, Parameter]) -> Array:
    """Return the nodes of an axis: at equal ratios and at the present value; all whole numbers if
    these are few.
    """
    if slider.whole and slider.high - slider.low < max(node_count, 16):
        return np.arange(slider.low, slider.high + 1)
    if slider.name in structures:
        node_count = _MOST_STRUCTURES
    half_ends = ((slider.low, slider.value), (slider.value, slider.high))
    halves = [
        np.geomspace(*low_and_high, node_count // 2 + 1)
        for low_and_high in half_ends
        if low_and_high[0] < low_and_high[1]
    ]
    nodes = np.concatenate([*halves, [slider.value]])
    return np.unique(nodes.round() if slider.whole else np.unique(nodes.round(15)))


def _rounded_values(column: Array, digits: int) -> list[float]:
    """Return the values of a column, rounded to significant digits."""
    return [float(f"{value:.{digits}g}") for value in column.tolist()]
