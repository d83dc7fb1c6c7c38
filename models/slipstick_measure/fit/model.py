"""A model of slipstick as a family of formulas: some of its parameters are free, all others keep
their values.

Why this shape: a method compiles a model into a form that takes arrays, so that all points of the
data, and all differences of the parameters, are one call. Closed form, mean value and the methods
of networks serve alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import inf

from slipstick.errors import NoAnswerError, Problem, SpecError, UnitError, did_you_mean
from slipstick.expression.nodes import TIME
from slipstick.late import Array, dataclass, np
from slipstick.method.answers import CompiledModel
from slipstick.method.methods import form_of
from slipstick.method.names import name_of_first_quantity
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.schema.inputs import BuiltModel, Inputs, Settings, build, resolve
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Node, Scalar, canonical, from_plain
from slipstick.units import to_base
from slipstick.vocabulary import SIMULATION
from slipstick_measure.fit.columns import sorted_with_parameters_first
from slipstick_measure.fit.formula import Family, FitParameter, LostTimes, TimeFormula, Timings

LARGEST_NUMBER_RATIO = 16.0
"""Multiples of the largest number measured that a model is asked for, where each number costs
more than a formula.
"""

MOST_GUESSED_PARAMETERS = 4
"""Free parameters up to which a start is sought among tenths and tens of all of them together."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """The options of a fit: the free parameters of a model as written, `path` or `path=low..high`.

    Parameters
    ----------
    settings : the model and everything set in it, by path
    free_scalars : the free parameters
    population_path : path of the quantity that is the number of processors; None if the model has
        only one candidate
    size_path : path of the quantity that is the size of the problem; None if the data have no sizes
    cycle_count : how many cycles the measured, shared work has; None if the model's time is the
        measured time
    """

    settings: Settings
    free_scalars: Sequence[Scalar]
    population_path: Scalar | None = None
    size_path: Scalar | None = None
    cycle_count: float | None = None


@dataclass(frozen=True)
class PreparedModel:
    """A model that is ready to be fitted.

    Parameters
    ----------
    built_model : the model
    parameters : its free parameters, called by their paths
    population_path, size_path : paths; no size where there is none
    fit_settings : the options of the fit
    library : what was read so far
    """

    built_model: BuiltModel
    parameters: tuple[FitParameter, ...]
    population_path: str
    size_path: str
    fit_settings: FitSettings
    library: Library

    @property
    def start(self) -> Array:
        """The model's own values of the free parameters."""
        return np.array(
            [self.built_model.entries[parameter.name].given.value for parameter in self.parameters]
        )

    def family(self) -> Family:
        """Return a family whose one formula is the model."""
        names = ", ".join(parameter.name for parameter in self.parameters)
        method = self.built_model.options.method or "the default method"
        title = f"the model {self.built_model.name} with {names} free"
        return Family(self.built_model.name, title, f"solved by {method}", self._formulas)

    def _formulas(self, timings: Timings) -> Sequence[TimeFormula]:
        """Return the formula of the model, after checking that the data can be compared with it."""
        self._check_timings(timings)
        time_text = (
            f"cycle of {self.built_model.name}"
            if self._customer_class
            else f"time of {self.built_model.name}"
        )
        time_text = (
            time_text
            if self.fit_settings.cycle_count is None
            else f"{self.fit_settings.cycle_count:g} {time_text} / p"
        )
        text = f"T = {time_text}, with {self.population_path} = p" + (
            f", {self.size_path} = n" if self.size_path else ""
        )
        return [
            TimeFormula(
                self.built_model.name,
                text,
                self.parameters,
                self._model_times,
                self._starting_points,
                largest_extrapolation_ratio=LARGEST_NUMBER_RATIO,
                lost_times=self._lost_times,
            )
        ]

    @cached_property
    def _compiled_model(self) -> CompiledModel:
        return _compiled_without_simulation(self.built_model)

    @cached_property
    def _customer_class(self) -> str:
        """The closed class of a network whose population is the number of processors; empty if the
        model is no network.
        """
        return (
            self.population_path.split(".")[1]
            if isinstance(self.built_model.model, QueueingNetwork)
            else ""
        )

    def _check_timings(self, timings: Timings) -> None:
        """Raise if the model cannot be compared with the data."""
        model_name = self.built_model.name
        cycle_count = self.fit_settings.cycle_count
        if timings.weak_scaling and cycle_count is not None:
            raise NoAnswerError(
                "the data are times of a cycle, so the number of cycles (cycles) says nothing;"
                " leave it out"
            )
        if self._customer_class and not timings.weak_scaling and cycle_count is None:
            raise NoAnswerError(
                f"the data are times of a whole work; say how many cycles of {model_name} it has"
                " (cycles)"
            )
        self.check_quantity()
        if timings.has_sizes and not self.size_path:
            raise NoAnswerError(
                f"the data have several sizes; say which number of {model_name} is the size (size)"
            )
        if self.size_path and (timings.n == 1).all():
            message = (
                f"the data have no sizes, so {self.size_path} would be 1; give them a column size,"
                " or"
                " leave size out"
            )
            raise NoAnswerError(message)

    def check_quantity(self) -> None:
        """Raise if the first answer of the model is not a time."""
        sample = self.built_model.sample
        method = self.built_model.options.method
        first_name = name_of_first_quantity(sample.model, method)
        if not self._customer_class and sample.answer_names(method)[first_name] != str(TIME):
            message = (
                f"{self.built_model.name} gives a {first_name}, not a time, so no time can be"
                " compared with it"
            )
            raise NoAnswerError(message)

    def _model_times(self, theta: Array, points: Timings) -> Array:
        """Return the model's times [s]; NaN where it has no answer."""
        if self._customer_class:
            throughput_name = f"throughput[{self._customer_class}]"
            (throughput,) = self._evaluate_model(
                theta,
                points,
                lambda form, values: {
                    throughput_name: _answer_columns(form, values)[throughput_name]
                },
            ).values()
            cycle_times = points.p / throughput
        else:
            cycle_times = self._evaluate_model(
                theta, points, lambda form, values: {"time": form.times(values)}
            )["time"]
        times: Array = cycle_times * self._cycles_per_processor(points)
        return times

    def _lost_times(self, theta: Array, points: Timings) -> LostTimes:
        """Return the lost time by cause [s]: all of the account but useful work or, for a queueing
        network, the waits at the stations.
        """
        column_by_name = self._evaluate_model(theta, points, _answer_columns)
        cycles_per_processor = self._cycles_per_processor(points)
        if self._customer_class:
            prefix = f"time_per_visit[{self._customer_class},"
            station_names = [
                name.removeprefix(prefix).removesuffix("]")
                for name in column_by_name
                if name.startswith(prefix)
            ]
            return {
                f"waiting for {station_name}": cycles_per_processor
                * self._waits(column_by_name, station_name)
                for station_name in station_names
            }
        model = self.built_model.model
        useful_components = model.useful if isinstance(model, Model) else ()
        times_by_component = {
            name.removeprefix("account[").removesuffix("]"): column
            for name, column in column_by_name.items()
            if name.startswith("account[")
        }
        return {
            component: cycles_per_processor * component_times
            for component, component_times in times_by_component.items()
            if component not in useful_components
        }

    def _waits(self, column_by_name: Mapping[str, Array], station_name: str) -> Array:
        """Return the time of a cycle that customers wait at a station [s], at each point."""
        suffix = f"[{self._customer_class},{station_name}]"
        waits: Array = (
            column_by_name[f"residence_time{suffix}"]
            * column_by_name[f"waiting_time{suffix}"]
            / column_by_name[f"time_per_visit{suffix}"]
        )
        return waits

    def _cycles_per_processor(self, points: Timings) -> Array:
        """Return the number of cycles of the measured work that each processor executes; 1 if the
        measured time is that of a cycle.
        """
        cycle_count = self.fit_settings.cycle_count
        return np.ones(len(points)) if cycle_count is None else cycle_count / points.p

    def _starting_points(self, points: Timings) -> Sequence[Array]:
        """Return the two best of several guesses of the parameters: the model's own values, the
        same values scaled to the data, and the scaled values divided and multiplied by ten.
        """
        parameters = self.parameters
        own_values = np.array([value or 1e-2 for value in self.start])
        time_powers = np.array(
            [
                self.built_model.entries[parameter.name].given.dimension.time_power
                for parameter in parameters
            ]
        )
        model_formula = TimeFormula("", "", parameters, self._model_times, lambda _: ())
        time_ratio = np.median(points.time / model_formula.time(own_values, points))
        scaled_values = own_values * (time_ratio if np.isfinite(time_ratio) else 1.0) ** np.sign(
            time_powers
        )
        factors_to_try = [0.1, 1.0, 10.0] if len(parameters) <= MOST_GUESSED_PARAMETERS else [1.0]
        guesses = np.array(
            [
                own_values,
                *(
                    scaled_values * np.array(factors)
                    for factors in product(factors_to_try, repeat=len(parameters))
                ),
            ]
        )
        guesses = np.clip(guesses, *model_formula.limits)
        times = model_formula.times(guesses, points)
        if not np.isfinite(times).all(axis=1).any():
            own_values_by_name = {
                parameter.name: value
                for parameter, value in zip(parameters, own_values, strict=True)
            }
            failure_reason = (
                self._compiled_model.points(
                    {**own_values_by_name, self.population_path: float(points.p[0])}
                )
                .answer(0)
                .failed
            )
            raise NoAnswerError(
                f"{self.built_model.name} has no time at the points of the data:"
                f" {failure_reason or 'not a number'}"
            )
        with np.errstate(all="ignore"):
            squared_errors = (np.log(points.time / times) ** 2).sum(axis=1)
        ascending_order = np.argsort(
            np.where(np.isfinite(squared_errors), squared_errors, np.inf), kind="stable"
        )
        return [guesses[index] for index in ascending_order[:2]]

    def _evaluate_model(
        self, theta: Array, points: Timings, evaluate: _EvaluateForm
    ) -> dict[str, Array]:
        """Return the columns that `evaluate` returns for the compiled model at all points; if a
        compiled model cannot vary the number of processors, there is one for each number.
        """
        point_count = len(points)
        values_by_path = {
            parameter.name: np.broadcast_to(value, point_count)
            for parameter, value in zip(self.parameters, theta, strict=True)
        }
        if self.size_path:
            values_by_path[self.size_path] = points.n
        if self.population_path in self._compiled_model.parameters:
            values_by_path[self.population_path] = points.p
            forms_and_masks = [(self._compiled_model, np.ones(point_count, dtype=bool))]
        else:
            forms_and_masks = [
                (self._form_at(float(p)), points.p == p) for p in np.unique(points.p)
            ]
        column_by_name: dict[str, Array] = {}
        for form, mask in forms_and_masks:
            columns_of_form = evaluate(
                form,
                {
                    path: column[mask]
                    for path, column in values_by_path.items()
                    if path in form.parameters
                },
            )
            for name, column in columns_of_form.items():
                column_by_name.setdefault(name, np.zeros(point_count))[mask] = column
        return column_by_name

    @cached_property
    def _forms(self) -> dict[float, CompiledModel]:
        return {}

    def _form_at(self, p: float) -> CompiledModel:
        """Return the model compiled with `p` processors."""
        if p not in self._forms:
            node = from_plain(int(p), Mark(f"p = {p:g}", 1, 1))
            self._forms[p] = _compiled_without_simulation(
                build(
                    resolve(
                        {**self.fit_settings.settings, self.population_path: node}, self.library
                    )
                )
            )
        return self._forms[p]


_EvaluateForm = Callable[[CompiledModel, Mapping[str, Array]], Mapping[str, Array]]


def _answer_columns(form: CompiledModel, values: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return the values of the answers of a compiled model at points, by name."""
    return form.points(values).columns()


def _compiled_without_simulation(built_model: BuiltModel) -> CompiledModel:
    """Compile a model without simulation, because simulated times jump and a fit needs slopes."""
    return form_of(
        built_model.model,
        built_model.parameters,
        built_model.options.method,
        built_model.options.simulation,
        must_be_smooth=True,
    )


def prepare_model(fit_settings: FitSettings, library: Library) -> PreparedModel:
    """Read the model of a fit, and check its free parameters, their limits, and the paths of the
    population and the size.

    Parameters
    ----------
    fit_settings : as written
    library : what was read so far

    Raises
    ------
    SpecError : everything that is wrong, each where it is written
    """
    inputs = resolve(fit_settings.settings, library)
    built_model = build(inputs)
    if built_model.options.method == SIMULATION:
        raise _free_parameter_error(
            fit_settings.settings["method"],
            "a fit needs a smooth model; simulated times jump, so take another method",
        )
    problems: list[Problem] = []
    parameter_by_path: dict[str, FitParameter] = {}
    for free_scalar in fit_settings.free_scalars:
        try:
            parameter = _parse_parameter(free_scalar, inputs, built_model)
            if parameter.name in parameter_by_path:
                raise _free_parameter_error(
                    free_scalar, f"{parameter.name} is free twice; leave one out"
                )
            parameter_by_path[parameter.name] = parameter
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    population_path = (
        _checked_path(fit_settings.population_path, inputs, built_model)
        if fit_settings.population_path
        else _population_path(built_model, fit_settings)
    )
    size_path = (
        _checked_path(fit_settings.size_path, inputs, built_model) if fit_settings.size_path else ""
    )
    if population_path.endswith(".arrivals"):
        raise _free_parameter_error(
            fit_settings.population_path or fit_settings.free_scalars[0],
            f"{population_path} is a rate of arrivals, and times are divided by processors; hold"
            " the"
            f" model against rows: --column '{population_path}=p [1/s]' --measured"
            " 'response_time[...]=time [ms]'",
        )
    for path in {population_path, size_path} & parameter_by_path.keys():
        raise _free_parameter_error(
            fit_settings.free_scalars[list(parameter_by_path).index(path)],
            f"{path} comes from the data, so it cannot be free",
        )
    return PreparedModel(
        built_model,
        tuple(parameter_by_path.values()),
        population_path,
        size_path,
        fit_settings,
        library,
    )


def _parse_parameter(free_scalar: Scalar, inputs: Inputs, built_model: BuiltModel) -> FitParameter:
    """Parse a free parameter, written `path` or `path=low..high`; either end may be left out."""
    parameter_text = str(free_scalar.value)
    path_text, separator, limits_text = parameter_text.partition("=")
    path = _checked_path(
        Scalar(path_text.strip(), path_text, free_scalar.mark, quoted=True), inputs, built_model
    )
    given_value = built_model.entries[path].given
    meaning = built_model.entries[path].meaning
    low_text, range_sign, high_text = limits_text.partition("..")
    if separator and not range_sign:
        raise _free_parameter_error(
            free_scalar,
            f"write {path}=low..high, such as {path}={given_value}..; got {parameter_text!r}",
        )
    try:
        lower_limit, upper_limit = (
            to_base(end_text, given_value.dimension) if end_text.strip() else None
            for end_text in (low_text, high_text)
        )
    except UnitError as error:
        raise _free_parameter_error(free_scalar, str(error)) from None
    parameter = FitParameter(
        path,
        str(given_value.dimension),
        meaning,
        inf if upper_limit is None else upper_limit,
        lower_limit or 0.0,
    )
    if not 0 <= parameter.lower < parameter.upper:
        range_in_words = f"from {low_text.strip() or 0} to {high_text.strip()}"
        raise _free_parameter_error(
            free_scalar,
            f"{path} is free {range_in_words}: the first value must be less than the second, and"
            " not negative",
        )
    return parameter


def _checked_path(path_scalar: Scalar, inputs: Inputs, built_model: BuiltModel) -> str:
    """Return the full path of a number of the model; raise if the model has no such number."""
    path = canonical(inputs.tree, str(path_scalar.value))
    if path not in built_model.parameters and f"parameters.{path}" in built_model.parameters:
        path = f"parameters.{path}"
    if path not in built_model.parameters:
        hint = did_you_mean(path, sorted_with_parameters_first(built_model.parameters))
        raise _free_parameter_error(
            path_scalar, f"{built_model.name} has no number at {path!r}{hint}"
        )
    return path


def _population_path(built_model: BuiltModel, fit_settings: FitSettings) -> str:
    """Return the path of the model's population that stands for the number of processors."""
    class_paths = [
        path
        for path in built_model.parameters
        if path.startswith("classes.") and path.endswith(".population")
    ]
    population_paths = [
        path for path in ("population.processors", "processors") if path in built_model.parameters
    ] or class_paths
    if len(population_paths) == 1:
        return population_paths[0]
    first_setting = (
        fit_settings.settings["model"]
        if "model" in fit_settings.settings
        else next(iter(fit_settings.settings.values()))
    )
    populations_in_words = f"; there are {', '.join(population_paths)}" if population_paths else ""
    raise _free_parameter_error(
        first_setting,
        f"say which number of {built_model.name} is the number of processors"
        f" (population){populations_in_words}; if the columns are other numbers of it, say which:"
        " --column parameters.size=COLUMN --measured time=COLUMN",
    )


def _free_parameter_error(node: Node, message: str) -> SpecError:
    """Return an error with a message, at the place of a free parameter."""
    return node.mark.error(message, "free")
