"""The Python interface: `load`, `solve`, `sweep`, `run` and `dump`, which take what the command
line takes.

A model is named as `slipstick solve` names it (a program, an activity, a queueing network,
``law/NAME``, a file), or is a dict of what a file would hold, or an object. Values go by path; each
is text with its unit, as on the command line, or a number in base units (s, B, 1/s). Where values
are arrays, `solve` answers at all points at once.

Why this shape: what a call does not use is not imported. A model that is built already needs no
specs, and no study.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from slipstick.arguments import (
    LARGEST,
    REFERENCE,
    TEXT,
    Kind,
    UnfitError,
    checked,
    either_kind,
    instance_of,
    mapped_by_name,
    optional_kind,
    plain_number,
    real_number,
    value_in_message,
)
from slipstick.errors import ModelError, NoAnswerError, did_you_mean
from slipstick.limits import with_limits
from slipstick.units import in_base_units, to_base

if TYPE_CHECKING:
    from slipstick.answer import Answer
    from slipstick.expression.nodes import Parameter
    from slipstick.law import Law
    from slipstick.model.added import AddedModel
    from slipstick.model.machine import Machine, Network, SharedMemory
    from slipstick.model.network import QueueingNetwork
    from slipstick.model.system import Model
    from slipstick.results.study import Results
    from slipstick.results.sweep import Sweep
    from slipstick.schema.inputs import Settings
    from slipstick.schema.library import Library
    from slipstick.schema.text import Mark, Node
    from slipstick.sim.settings import Simulation
    from slipstick.study.cases import SweepDefinition
    from slipstick.study.points import SolvableModel
    from slipstick.study.stream import StreamedSweep
    from slipstick.study.sweep import SweepPlan

Array: TypeAlias = np.ndarray[Any, Any]
Reference: TypeAlias = "str | os.PathLike[str]"
Spec: TypeAlias = "Reference | Mapping[str, Any]"
"""A spec by its name, its file, or in place."""
Value: TypeAlias = "float | str"
"""A number in base units, or text as on the command line: ``32``, ``4120 B``, ``round-robin``."""
Values: TypeAlias = "Sequence[float] | Sequence[str] | Array"
Object: TypeAlias = "Model | QueueingNetwork | AddedModel | Law"

HARDWARE = ("machine", "network")
"""Kinds of spec that load as hardware."""

MOST_WHOLE = 1000
"""The largest number of points for which `solve` keeps whole answers beside the columns."""


_SPEC = either_kind(
    "a name, a file, or a dict with the content of the file",
    REFERENCE,
    instance_of(Mapping, "a dict"),
)
_MACHINE = {
    "machine": optional_kind(_SPEC),
    "workload": optional_kind(_SPEC),
    "technology": optional_kind(_SPEC),
}
_LIMITS = optional_kind(mapped_by_name(real_number(0)))


def _read_values(values: Any) -> Any:
    """Check a mapping of values by path and return it unchanged, because `Axes` carries more than a
    dict.
    """
    if not isinstance(values, Mapping):
        raise UnfitError(_VALUES.expected, values)
    for path in values:
        if not isinstance(path, str):
            raise UnfitError(f"{_VALUES.expected}; a path is text", path)
    return values


_VALUES = Kind("a dict of values by path, or sweep(...) of one", _read_values)


def _read_simulation(value: Any) -> Any:
    """Check the settings of a simulation; their class is imported only if they are given."""
    from slipstick.sim.settings import Simulation

    if not isinstance(value, Simulation):
        raise UnfitError(_SIMULATION.expected, value)
    return value


_SIMULATION = Kind("settings, such as Simulation(seed=1)", _read_simulation)


class Axes(Mapping[str, "Values"]):
    """Values by path that `solve` varies in every combination, as `sweep` returns them."""

    def __init__(self, axes: Mapping[str, Any]) -> None:
        self._axes = dict(axes)

    def __getitem__(self, path: str) -> Any:
        return self._axes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def __repr__(self) -> str:
        return f"sweep({value_in_message(self._axes)})"


class AxesToFile(Axes):
    """Axes whose points are written into a file."""

    def __init__(self, axes: Mapping[str, Any], out: Reference) -> None:
        super().__init__(axes)
        self.out = Path(out)


@overload
def sweep(axes: Mapping[str, Value | Values]) -> Axes: ...
@overload
def sweep(axes: Mapping[str, Value | Values], out: Reference) -> AxesToFile: ...
@checked(axes=_VALUES, out=optional_kind(REFERENCE))
def sweep(axes: Mapping[str, Value | Values], out: Reference | None = None) -> Axes:
    """Return axes of values for `solve`, which solves the model at every combination of the values.

    Parameters
    ----------
    axes : arrays or lists of values by path; a single value applies to every point
    out : path of a Parquet file. The points are then written block by block, so that the memory
        does not grow with their number, and `solve` returns a `StreamedSweep`. The axes must be
        numbers, and the method must not simulate. Each row of the file has the first value of an
        answer, such as ``time``, the method, and whether the value is exact

    >>> from slipstick import solve, sweep
    >>> axes = sweep({"population.processors": [1, 2, 4], "parameters.critical": ["1 ms", "2 ms"]})
    >>> answers = solve("lock-and-bus", axes)
    >>> answers.dims, answers["time"].shape
    (('population.processors', 'parameters.critical'), (3, 2))

    A hundred million points take 23 s of processor time, 160 MB of memory and a file of 840 MB::

        axes = {
            "parameters.critical": np.geomspace(1e-6, 1e-3, 10_000),
            "parameters.work": np.geomspace(1e-3, 1, 10_000),
        }
        solve("lock-and-bus", sweep(axes, out="points.parquet"), method="closed-form").scan()
    """
    return Axes(axes) if out is None else AxesToFile(axes, out)


@checked(reference=_SPEC, set=optional_kind(_VALUES), **_MACHINE)
def load(
    reference: Spec,
    *,
    machine: Spec | None = None,
    workload: Reference | None = None,
    technology: Spec | None = None,
    set: Mapping[str, Value] | None = None,
) -> Machine | SharedMemory | Network | Model | QueueingNetwork | AddedModel | Law:
    """Load a model, a machine or a network in order to inspect it, extend it or solve it.

    Parameters
    ----------
    reference : name of a model, such as ``lock-and-bus`` or ``law/flow-line``; a file;
        ``KIND/NAME``, such as ``machine/gpu-node-h100``; or a dict with the content of a file
    machine, workload, technology : the machine that a program runs on, its inputs, and the
        technology. Each is a name, a file, or a dict with the content of a file
    set : values by path, which replace those of the files: text with a unit, or numbers in base
        units

    Returns
    -------
    Machine, SharedMemory or Network : for a machine or a network
    Model, QueueingNetwork or Law : for a program or an activity, a queueing network, or a law
    object : for a kind of model that another package adds

    Raises
    ------
    SpecError : a name is unknown, a file is wrong, or a path leads nowhere
    ModelError : the reference names another kind of file, such as a study

    >>> from slipstick import load
    >>> load("machine/rs6000-43p-atm").network.medium
    'switched'
    >>> load("lock-and-bus", set={"population.processors": 32}).name
    'lock-and-bus'
    """
    from slipstick.law import LAWS
    from slipstick.schema.inputs import build, resolve
    from slipstick.schema.library import KINDS, Library, model_description

    library = Library()
    reference_name = (
        str(next(iter(reference), "")) if isinstance(reference, Mapping) else os.fspath(reference)
    )
    kind_prefix, _, name_in_kind = reference_name.partition("/")
    kind = (
        reference_name
        if isinstance(reference, Mapping)
        else _kind_to_load(reference_name, kind_prefix, library)
    )
    if kind in HARDWARE:
        _refuse_program_inputs(kind, machine=machine, workload=workload, technology=technology)
        spec_tree = (
            _node_of_value(reference, "load")
            if isinstance(reference, Mapping)
            else library.load(kind, reference_name, _mark_of_argument("load"))
        )
        return _built_hardware(kind, Path(reference_name).stem, spec_tree, set or {}, library)
    if kind == "study":
        raise ModelError(f"a study is run, not loaded: slipstick.run({reference_name!r})")
    if kind in KINDS and not model_description(kind):
        raise ModelError(
            f"a {kind} cannot be loaded by itself; load takes a model, a machine or a network"
        )
    # A law without settings is the object itself, which can be called and composed.
    if kind_prefix == "law" and not set and name_in_kind in LAWS:
        return LAWS[name_in_kind]
    reference_by_key = {
        "model": reference,
        "machine": machine,
        "workload": workload,
        "technology": technology,
    }
    return build(resolve(_settings_by_path(reference_by_key, set or {}), library)).model


def _kind_to_load(reference_name: str, kind_prefix: str, library: Library) -> str:
    """Return the kind of a file, or of a name in the catalogue; empty for an unknown name."""
    from slipstick.schema.library import KINDS, is_file_name, kinds_with_name, model_description

    candidate_kinds = (
        [library.kind(reference_name, _mark_of_argument("load"))]
        if is_file_name(reference_name)
        else kinds_with_name(reference_name)
    )
    # The look-up of a name that its kind does not have says so.
    if kind_prefix in KINDS and not candidate_kinds:
        return kind_prefix
    # A name may stand for a model and for other specs: models and hardware can be loaded.
    return next(
        (kind for kind in candidate_kinds if model_description(kind) or kind in HARDWARE),
        candidate_kinds[0] if candidate_kinds else "",
    )


class SolveOptions(TypedDict, total=False):
    """Keyword arguments of `solve`, for one point and for many."""

    machine: Spec | None
    workload: Reference | None
    technology: Spec | None
    method: str | None
    simulation: Simulation | None
    limits: Mapping[str, float] | None


# A mapping of single values is one of values or arrays as well; the first signature that fits is
# meant.
@overload
def solve(  # type: ignore[overload-overlap]
    model: Spec | Object, set: AxesToFile, **options: Unpack[SolveOptions]
) -> StreamedSweep: ...
@overload
def solve(  # type: ignore[overload-overlap]
    model: Spec | Object, set: Mapping[str, Value] | None = None, **options: Unpack[SolveOptions]
) -> Answer: ...
@overload
def solve(
    model: Spec | Object, set: Axes | Mapping[str, Value | Values], **options: Unpack[SolveOptions]
) -> Sweep: ...
@checked(
    set=optional_kind(_VALUES),
    method=optional_kind(TEXT),
    simulation=optional_kind(_SIMULATION),
    limits=_LIMITS,
    **_MACHINE,
)
def solve(
    model: Spec | Object,
    set: Mapping[str, Any] | None = None,
    *,
    machine: Spec | None = None,
    workload: Reference | None = None,
    technology: Spec | None = None,
    method: str | None = None,
    simulation: Simulation | None = None,
    limits: Mapping[str, float] | None = None,
) -> Answer | Sweep | StreamedSweep:
    """Solve a model at one point or at many points.

    Parameters
    ----------
    model : name or file of a model, a dict with the content of a file, or an object
    set : new values by path: text with a unit, or numbers in base units. Lists or arrays of n
        values give n points; a single value applies to all points. Use `sweep` for all combinations
    machine, workload, technology : the machine that a program runs on, its inputs, and the
        technology. Each is a name, a file, or a dict with the content of a file
    method : name of the method; by default the most accurate one that is fast enough, see
        methods.md. ``answer.method`` and ``answers.provenance`` name the method that was used
    simulation : settings of a simulation: seed, precision and budget
    limits : higher or lower limits of costs, such as ``{"states": 1e6}``; `slipstick limits` lists
        the defaults

    Returns
    -------
    Answer : for one point; see ``answer["time"]``, ``answer.account`` and ``print(answer)``
    Sweep : for many points; ``answers["time"]`` is an array with a dimension for each axis
    StreamedSweep : for the points of a `sweep` with a file. It has the path of the file, the number
        of points, and the number of points without an answer

    Raises
    ------
    SpecError : a name is unknown, a file is wrong, a path leads nowhere, or a value is not allowed
    ModelError : a model that was given as an object has no such parameter, or lacks a value
    UnknownNameError : the method does not exist, or does not solve this kind of model
    NoAnswerError : the single point has no answer, because a time overflows or a station is
        saturated. If there are many points, those without an answer hold NaN, and ``Sweep.failed``
        gives the reasons

    >>> from slipstick import solve
    >>> answer = solve("lock-and-bus", {"population.processors": 32}, method="mean-value")
    >>> answer["efficiency"]
    0.228
    >>> solve("dvsm/diff-request", machine="rs6000-43p-fast-ethernet", set={"reply": "4120 B"})[
    ...     "time"
    ... ]
    0.00121
    >>> answers = solve("lock-and-bus", {"population.processors": [1, 2, 4, 8]})
    >>> answers["speedup"].round(1).tolist()
    [0.9, 1.2, 1.8, 2.8]
    """
    with with_limits(limits or {}):
        if not isinstance(model, str | os.PathLike | Mapping):
            _refuse_program_inputs(
                "a model that is built already",
                machine=machine,
                workload=workload,
                technology=technology,
            )
            return _solve_object(model, set or {}, method, simulation)
        reference_by_key = {
            "model": model,
            "machine": machine,
            "workload": workload,
            "technology": technology,
        }
        return _solve_named(reference_by_key, set or {}, method, simulation)


@checked(study=_SPEC, limits=_LIMITS)
def run(
    study: Reference | Mapping[str, Any], *, limits: Mapping[str, float] | None = None
) -> Results:
    """Run a study and return all its results.

    Parameters
    ----------
    study : the name of the study in the catalogue, its file, or a dict with the content of the
        file. A dict may have numbers in base units
    limits : limits of costs, as for `solve`; they take precedence over those of the study

    Raises
    ------
    SpecError : the study is wrong, or a file that it names is wrong or missing

    >>> from slipstick import run
    >>> study = {
    ...     "study": 1,
    ...     "base": {"model": "lock-and-bus"},
    ...     "vary": {"population.processors": [1, 2, 4]},
    ... }
    >>> run(study).sweeps[0]["time"].round(4).tolist()
    [0.01, 0.0145, 0.0198]
    """
    from slipstick.schema.text import Table
    from slipstick.study.run import prepare
    from slipstick.study.run import run as run_prepared

    study_tree = _node_of_value(study, "study") if isinstance(study, Mapping) else os.fspath(study)
    assert isinstance(study_tree, str | Table)
    with with_limits(limits or {}):
        return run_prepared(prepare(study_tree))


@checked(model=instance_of(object, "a model"))
def dump(model: Model | QueueingNetwork) -> str:
    """Return the text of an activity or queueing-network file that describes a model.

    Parameters
    ----------
    model : a model that was built in Python or loaded
    """
    import yaml

    from slipstick.model.network import QueueingNetwork
    from slipstick.model.system import need_model
    from slipstick.schema.kinds.activity import activity_data
    from slipstick.schema.kinds.queueing import network_data

    file_data = (
        network_data(model)
        if isinstance(model, QueueingNetwork)
        else activity_data(need_model(model, "dump"))
    )
    return str(yaml.safe_dump(file_data, sort_keys=False, width=100, default_flow_style=None))


def _solve_named(
    reference_by_key: Mapping[str, Spec | None],
    values_given: Mapping[str, Any],
    method: str | None,
    simulation: Simulation | None,
) -> Answer | Sweep | StreamedSweep:
    """Solve a model from the catalogue or a file, at one point or at many."""
    from slipstick.schema.inputs import REFERENCES
    from slipstick.schema.library import Library
    from slipstick.study.cases import BASE
    from slipstick.study.sweep import plan_sweep

    fixed_values = {path: value for path, value in values_given.items() if _is_single(value)}
    settings_by_path = _settings_by_path(reference_by_key, fixed_values, simulation)
    values_by_axis = {
        path: _axis_values(path, value)
        for path, value in values_given.items()
        if path not in fixed_values
    }
    # A sweep of single values is a sweep of one point.
    if not values_by_axis and not isinstance(values_given, Axes):
        return _solve_point(settings_by_path, method)
    _check_lengths(values_by_axis, isinstance(values_given, Axes))
    if method is not None:
        settings_by_path["method"] = _node_of_reference(method, "method")
    # A program needs a machine before anything can be varied; the first will do.
    settings_by_path |= {
        path: _node_of_reference(values_by_axis[path][0], path)
        for path in REFERENCES
        if path in values_by_axis
    }
    definition = _sweep_definition(
        values_by_axis, "grid" if isinstance(values_given, Axes) else "zip"
    )
    if isinstance(values_given, AxesToFile):
        from slipstick.study.stream import StreamedPoints, write_points
        from slipstick.study.sweep import sweep_as_arrays

        case_evaluator, axes = sweep_as_arrays(definition, BASE, settings_by_path, Library())
        return write_points([StreamedPoints(case_evaluator.solvable, axes)], values_given.out)
    return _solve_plan(plan_sweep(definition, {BASE: settings_by_path}, Library()))


def _solve_point(settings_by_path: Settings, method: str | None) -> Answer:
    """Solve a named model at one point; of several kinds of bounds the tightest is returned."""
    from slipstick.method.methods import form_of
    from slipstick.schema.inputs import solve_settings
    from slipstick.schema.library import Library

    library = Library()
    (answer, *other_answers), built_model = solve_settings(settings_by_path, library, [method])
    if other_answers:
        compiled_model = form_of(
            built_model.model,
            built_model.parameters,
            answer.method.partition("/")[0],
            built_model.options.simulation,
        )
        # As points of a sweep: several bounds joined, each end from the tightest.
        answer = compiled_model.points({}).answer(0)
    if answer.failed:
        raise NoAnswerError(answer.failed, answer.other_method)
    if built_model.uncertain_values.paths:
        from slipstick.study.evaluator import evaluator
        from slipstick.study.uncertain import with_intervals

        return with_intervals(answer, evaluator(built_model.name, settings_by_path, library))
    return answer


def _solve_object(
    model: Object,
    values_given: Mapping[str, Any],
    method: str | None,
    simulation: Simulation | None,
) -> Answer | Sweep | StreamedSweep:
    """Solve a model that is built already, at one point or at many."""
    from slipstick.method.methods import form_of, note_on_groups
    from slipstick.model.system import Model, group_names

    parameter_by_path = _parameters_of_model(model)
    fixed_values = {
        path: _number_of_parameter(path, value, parameter_by_path)
        for path, value in values_given.items()
        if _is_single(value)
    }
    values_by_axis = {
        path: _axis_values(path, values)
        for path, values in values_given.items()
        if path not in fixed_values
    }
    numbers_by_axis = {
        path: np.array([_number_of_parameter(path, value, parameter_by_path) for value in values])
        for path, values in values_by_axis.items()
    }
    if isinstance(model, Model):
        from slipstick.method.activity_numbers import check_values

        check_values(model, {**fixed_values, **numbers_by_axis})
    if not numbers_by_axis and not isinstance(values_given, Axes):
        answer = (
            form_of(model, parameter_by_path, method, simulation).points(fixed_values).answer(0)
        )
        if answer.failed:
            raise NoAnswerError(answer.failed, answer.other_method)
        notes = answer.notes
        if isinstance(model, Model) and len(group_names(model)) > 1:
            notes += (note_on_groups(model, "time, throughput, "),)
        return replace(answer, subject=model, notes=notes)
    _check_lengths(numbers_by_axis, isinstance(values_given, Axes))
    from slipstick.sim.settings import Simulation
    from slipstick.study.points import SolvableModel

    solvable = SolvableModel(model, parameter_by_path, method, simulation or Simulation())
    if isinstance(values_given, AxesToFile):
        from slipstick.study.stream import StreamedPoints, write_points

        streamed_points = StreamedPoints(solvable, numbers_by_axis, fixed_values)
        return write_points([streamed_points], values_given.out)
    return _solve_plan(
        _sweep_plan(solvable, fixed_values, numbers_by_axis, isinstance(values_given, Axes))
    )


def _sweep_plan(
    solvable: SolvableModel,
    fixed_values: Mapping[str, float],
    numbers_by_axis: Mapping[str, Array],
    is_grid: bool,
) -> SweepPlan:
    """Build the sweep plan of a model that is built already."""
    from slipstick.results.sweep import Axis
    from slipstick.study.cases import BASE
    from slipstick.study.sweep import PointGroup, SweepPlan

    indices_by_axis = np.indices(tuple(map(len, numbers_by_axis.values()))).reshape(
        len(numbers_by_axis), -1
    )
    column_by_axis = {
        path: values[indices] if is_grid else values
        for indices, (path, values) in zip(indices_by_axis, numbers_by_axis.items(), strict=True)
    }
    point_count = len(next(iter(column_by_axis.values())))
    column_by_path = {
        **{path: np.full(point_count, value) for path, value in fixed_values.items()},
        **column_by_axis,
    }
    axes = tuple(
        Axis(path, str(solvable.parameters[path].dimension), tuple(values.tolist()))
        for path, values in numbers_by_axis.items()
    )
    group = PointGroup(solvable, column_by_path, np.arange(point_count))
    return SweepPlan(axes, column_by_axis, (BASE,) * point_count, (group,), not is_grid)


def _check_lengths(values_by_axis: Mapping[str, Sized], is_grid: bool) -> None:
    """Raise ModelError if an array is empty, or if arrays that are not combined have unequal
    lengths.
    """
    length_by_axis = {path: len(values) for path, values in values_by_axis.items()}
    if not length_by_axis or 0 in length_by_axis.values():
        empty_axis = next((path for path, length in length_by_axis.items() if not length), "")
        raise ModelError(
            f"{empty_axis} has no values; give at least one"
            if empty_axis
            else "sweep(...) needs a list or an array"
        )
    if not is_grid and len(set(length_by_axis.values())) > 1:
        lengths_in_words = ", ".join(
            f"{path} has {length}" for path, length in length_by_axis.items()
        )
        raise ModelError(
            f"arrays need equally many values: {lengths_in_words}; sweep(...) makes every"
            " combination"
        )


def _solve_plan(plan: SweepPlan) -> Sweep:
    """Solve every point of a sweep, and return the sweep."""
    from slipstick.study.sweep import solve_plan

    return solve_plan("solve", plan, (), as_answers=len(plan.case_by_point) <= MOST_WHOLE)


def _sweep_definition(values_by_axis: Mapping[str, Sequence[Any]], combine: str) -> SweepDefinition:
    """Build the definition of a sweep over some axes, as in a study."""
    from slipstick.schema.kinds.quantity import validate
    from slipstick.schema.kinds.study import SweepSpec
    from slipstick.study.cases import SweepDefinition

    node = _node_of_value({"axes": values_by_axis, "combine": combine}, "set")
    return SweepDefinition("solve", validate(SweepSpec, node), node, ("vary",))


def _parameters_of_model(model: Object) -> Mapping[str, Parameter]:
    """Return the parameters of a model object that can be set, by path."""
    from slipstick.law import Law
    from slipstick.model.added import AddedModel
    from slipstick.model.network import QueueingNetwork
    from slipstick.model.system import need_model

    if not isinstance(model, AddedModel | QueueingNetwork | Law):
        need_model(model, "solve")
    return model.parameters


def _number_of_parameter(
    path: str, value: Any, parameter_by_path: Mapping[str, Parameter]
) -> float:
    """Parse one value of a parameter: a number in base units, or text with its unit."""
    if path not in parameter_by_path:
        raise ModelError(
            f"no parameter is named {path!r}{did_you_mean(path, list(parameter_by_path))}"
        )
    number = (
        to_base(value, parameter_by_path[path].dimension)
        if isinstance(value, str)
        else plain_number(value.item() if isinstance(value, np.ndarray) else value)
    )
    # The comparison refuses NaN as well, and whole numbers that have no double.
    if number is None or not -LARGEST <= number <= LARGEST:
        raise ModelError(
            f"{path} must be a finite number in base units, or text with a unit, got"
            f" {value_in_message(value)}"
        )
    return float(number)


def _is_single(value: Any) -> bool:
    """Return whether a value is a single number or text, not a list or an array."""
    # Text and data of a spec have members, but are one value.
    return isinstance(value, str | Mapping) or _dimension_count(value) == 0


def _dimension_count(value: Any) -> int:
    """Count the dimensions of a list or an array; nested lists of unequal lengths count as two."""
    try:
        return int(np.ndim(value))
    except ValueError:
        return 2


def _axis_values(path: str, values: Any) -> list[Any]:
    """Return the values of an axis as a list."""
    if (dimension_count := _dimension_count(values)) > 1:
        raise ModelError(
            f"the values of {path} are a list or an array of one dimension; got {dimension_count}"
        )
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _settings_by_path(
    reference_by_key: Mapping[str, Spec | None],
    values_by_path: Mapping[str, Any],
    simulation: Simulation | None = None,
) -> dict[str, Node]:
    """Return the settings of a model from the catalogue or a file, by path."""
    from slipstick.schema.inputs import SIMULATION_PREFIX

    settings_by_path = {
        path: _node_of_reference(reference, path)
        for path, reference in reference_by_key.items()
        if reference is not None
    }
    for path, value in values_by_path.items():
        settings_by_path[path] = (
            _parsed_text(value) if isinstance(value, str) else _node_of_value(value, "set")
        )
    for settings_field in fields(simulation) if simulation is not None else ():
        # Only what differs from the defaults, which a spec of the model may set otherwise.
        if (value := getattr(simulation, settings_field.name)) != settings_field.default:
            settings_by_path[f"{SIMULATION_PREFIX}{settings_field.name}"] = _node_of_value(
                value, "simulation="
            )
    return settings_by_path


def _node_of_reference(value: Any, argument: str) -> Node:
    """Return the node of a spec that is given by name, by path or as data."""
    return _node_of_value(
        os.fspath(value) if isinstance(value, os.PathLike) else value, f"{argument}="
    )


def _parsed_text(text: str) -> Node:
    """Parse text as on the command line."""
    from slipstick.schema.text import Scalar, read_value

    node = read_value(text.strip(), "set")
    return node._replace(mark=_mark_of_argument("set")) if isinstance(node, Scalar) else node


def _node_of_value(value: Any, argument: str) -> Node:
    """Return the node of a Python value; its numbers are in base units."""
    from slipstick.schema.text import from_plain

    return from_plain(_plain_data(value), _mark_of_argument(argument))


def _file_data(value: object) -> Mapping[str, Any] | None:
    """Return a model object as the data of its file; None for other objects."""
    from slipstick.model.network import QueueingNetwork
    from slipstick.model.system import Model

    if isinstance(value, Model):
        from slipstick.schema.kinds.activity import activity_data

        return activity_data(value)
    if isinstance(value, QueueingNetwork):
        from slipstick.schema.kinds.queueing import network_data

        return network_data(value)
    return None


def _plain_data(value: Any) -> Any:
    """Return a Python value as data of a spec: models as their files, arrays as lists, numbers in
    base units.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain_data(member) for key, member in value.items()}
    if (file_data := _file_data(value)) is not None:
        return _plain_data(file_data)
    if isinstance(value, list | tuple | range):
        return [_plain_data(member) for member in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not -LARGEST <= value <= LARGEST:
        raise ModelError(f"a number must be finite, got {value_in_message(value)}")
    # Marked, so that a number from Python needs no unit, which a file has to write.
    return in_base_units(value)


def _mark_of_argument(argument: str) -> Mark:
    """Return the place that messages name for the value of an argument."""
    from slipstick.schema.text import Mark

    return Mark(argument, 0, 0)


def _built_hardware(
    kind: str, name: str, spec_tree: Node, values: Mapping[str, Any], library: Library
) -> Machine | SharedMemory | Network:
    """Build a machine or a network from its spec, with values set in it."""
    from slipstick.schema.kinds.quantity import build_hardware, validate
    from slipstick.schema.library import spec_model
    from slipstick.schema.text import Table
    from slipstick.schema.text import replace as replaced

    for path, value in values.items():
        spec_tree = replaced(
            spec_tree,
            path,
            _parsed_text(value) if isinstance(value, str) else _node_of_value(value, "set"),
        )
    assert isinstance(spec_tree, Table)
    spec_tree = library.resolve(kind, spec_tree)
    path_prefix = "machine" if kind == "machine" else "machine.network"
    return build_hardware(validate(spec_model(kind, spec_tree), spec_tree), name, path_prefix)


def _refuse_program_inputs(subject: str, **references: object) -> None:
    """Raise if machine, workload or technology is given for a model that is not a program."""
    for input_name, reference in references.items():
        if reference is not None:
            raise ModelError(
                f"{subject} takes no {input_name}=; it goes with the name of a program"
            )
