"""A model of slipstick as a family: some of its parameters free, the rest as they are.

Why this shape: a method compiles a model into a form that takes arrays, so that all points of the data, and all
differences of the parameters, are one call. Closed form, mean value and the methods of networks serve alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from slipstick.errors import NoAnswerError, Problem, SpecError, UnitError, did_you_mean
from slipstick.expression.dimension import TIME
from slipstick.measure.fit.formula import Array, Family, FitParameter, Lost, TimeFormula, Timings
from slipstick.method.answers import CompiledModel as Compiled
from slipstick.method.methods import form_of
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.schema.build import BuiltModel, build
from slipstick.schema.inputs import Inputs, Settings, resolve
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Mark, Node, Scalar, canonical, from_plain
from slipstick.units import to_base
from slipstick.vocabulary import SIMULATION

HORIZON = 16.0
"""Multiples of the largest number measured that a model is asked for, where each number costs more than a formula."""

MOST_GUESSED = 4
"""Free parameters up to which a start is sought among tenths and tens of all of them together."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Which parameters of a model are free, as written: `path`, or `path=low..high`.

    Parameters
    ----------
    settings : the model and everything set in it, by path
    free : the free parameters
    population : path of what is the number of processors; found where there is only one candidate
    size : path of what is the size of the problem; none if the data have none
    cycles : how many cycles the measured, shared work has; None if the model's time is the measured time
    """

    settings: Settings
    free: Sequence[Scalar]
    population: Scalar | None = None
    size: Scalar | None = None
    cycles: float | None = None


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A model made ready to be fitted.

    Parameters
    ----------
    built : the model
    parameters : its free parameters, by path
    population, size : paths; no size where there is none
    asked : what was asked for
    inputs, library : where it was read from
    """

    built: BuiltModel
    parameters: tuple[FitParameter, ...]
    population: str
    size: str
    asked: FitSettings
    inputs: Inputs
    library: Library

    @property
    def start(self) -> Array:
        """The values that the model has for the free parameters."""
        return np.array([self.built.entries[each.name].given.value for each in self.parameters])


def prepare_model(asked: FitSettings, library: Library) -> PreparedModel:
    """Check what is to be fitted: paths, limits, the number of processors.

    Parameters
    ----------
    asked : as written
    library : what was read so far

    Raises
    ------
    SpecError : everything that is wrong, each where it is written
    """
    inputs = resolve(asked.settings, library)
    built = build(inputs)
    if built.options.method == SIMULATION:
        raise _wrong(
            asked.settings["method"], "a fit needs a smooth model; simulated times jump, so take another method"
        )
    problems: list[Problem] = []
    parameters: dict[str, FitParameter] = {}
    for written in asked.free:
        try:
            parameter = _letter(written, inputs, built)
            if parameter.name in parameters:
                raise _wrong(written, f"{parameter.name} is free twice; leave one out")
            parameters[parameter.name] = parameter
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    population = _path(asked.population, inputs, built) if asked.population else _population(built, asked)
    size = _path(asked.size, inputs, built) if asked.size else ""
    for path in {population, size} & parameters.keys():
        raise _wrong(asked.free[list(parameters).index(path)], f"{path} comes from the data, so it cannot be free")
    return PreparedModel(built, tuple(parameters.values()), population, size, asked, inputs, library)


def _letter(written: Scalar, inputs: Inputs, built: BuiltModel) -> FitParameter:
    """Read `path` or `path=low..high`; either end may be left out."""
    text = str(written.value)
    name, equals, limits = text.partition("=")
    path = _path(Scalar(name.strip(), name, written.mark, quoted=True), inputs, built)
    given, meaning = built.entries[path].given, built.entries[path].meaning
    low, dots, high = limits.partition("..")
    if equals and not dots:
        raise _wrong(written, f"write {path}=low..high, such as {path}={given}..; got {text!r}")
    try:
        least, most = (to_base(each, given.dimension) if each.strip() else None for each in (low, high))
    except UnitError as error:
        raise _wrong(written, str(error)) from None
    parameter = FitParameter(path, str(given.dimension), meaning, np.inf if most is None else most, least or 0.0)
    if not 0 <= parameter.lower < parameter.upper:
        raise _wrong(
            written,
            f"{path} is free from {low.strip() or 0} to {high.strip()}: no room; the first must be less, and not negative",
        )
    return parameter


def _path(written: Scalar, inputs: Inputs, built: BuiltModel) -> str:
    path = canonical(inputs.tree, str(written.value))
    if path not in built.parameters:
        hint = did_you_mean(path, list(built.parameters))
        raise _wrong(written, f"{built.name} has no number at {path!r}{hint}")
    return path


def _population(built: BuiltModel, asked: FitSettings) -> str:
    """Find the one number of the model that can be the number of processors."""
    closed = [path for path in built.parameters if path.startswith("classes.") and path.endswith(".population")]
    found = [path for path in ("population.processors", "processors") if path in built.parameters] or closed
    if len(found) == 1:
        return found[0]
    mark = asked.settings["model"] if "model" in asked.settings else next(iter(asked.settings.values()))
    several = f"; there are {', '.join(found)}" if found else ""
    raise _wrong(mark, f"say which number of {built.name} is the number of processors (population){several}")


def _wrong(node: Node, message: str) -> SpecError:
    return SpecError([Problem(node.mark.file, node.mark.line, node.mark.column, "free", message)])


def model_family(model: PreparedModel) -> Family:
    """Make a family of a model.

    Parameters
    ----------
    model : as `prepare_model` gives it
    """
    names = ", ".join(each.name for each in model.parameters)
    title = f"the model {model.built.name} with {names} free"
    return Family(model.built.name, title, _Evaluated(model).method, lambda timings: list(_forms(model, timings)))


def _forms(model: PreparedModel, timings: Timings) -> Iterator[TimeFormula]:
    evaluated = _Evaluated(model)
    evaluated.check(timings)

    def starts(at: Timings) -> Sequence[Array]:
        return evaluated.starts(at)

    text = f"T = {evaluated.says}, with {model.population} = p" + (f", {model.size} = n" if model.size else "")
    yield TimeFormula(
        model.built.name, text, model.parameters, evaluated.time, starts, horizon=HORIZON, lost=evaluated.lost
    )


@dataclass(frozen=True)
class _Evaluated:
    """A model at points of the data."""

    model: PreparedModel

    @cached_property
    def compiled(self) -> Compiled:
        """The model by its method."""
        return _compiled(self.model.built)

    @property
    def method(self) -> str:
        """How it is solved, in words."""
        return f"solved by {self.model.built.options.method or 'the default method'}"

    @property
    def says(self) -> str:
        """What is held against the measured time."""
        cycle = f"cycle of {self.model.built.name}" if self._class else f"time of {self.model.built.name}"
        return cycle if self.model.asked.cycles is None else f"{self.model.asked.cycles:g} {cycle} / p"

    @cached_property
    def _class(self) -> str:
        """The closed class of a network whose population is the number of processors."""
        network = isinstance(self.model.built.model, QueueingNetwork)
        return self.model.population.split(".")[1] if network else ""

    @cached_property
    def _built(self) -> dict[float, Compiled]:
        return {}

    def check(self, timings: Timings) -> None:
        """Refuse data that the model cannot be held against."""
        name, cycles = self.model.built.name, self.model.asked.cycles
        if timings.weak_scaling and cycles is not None:
            raise NoAnswerError(
                "the data are times of a cycle, so the number of cycles (cycles) says nothing; leave it out"
            )
        if self._class and not timings.weak_scaling and cycles is None:
            raise NoAnswerError(f"the data are times of a whole work; say how many cycles of {name} it has (cycles)")
        if not self._class and self.compiled.unit(self.compiled.quantity) != str(TIME):
            raise NoAnswerError(
                f"{name} gives a {self.compiled.quantity}, not a time, so no time can be held against it"
            )
        if timings.has_sizes and not self.model.size:
            raise NoAnswerError(f"the data have several sizes; say which number of {name} is the size (size)")

    def time(self, theta: Array, at: Timings) -> Array:
        """Give the times [s]; NaN where the model has no answer."""
        if self._class:
            columns = self._columns(theta, at, (f"throughput[{self._class}]",))
            cycle = at.p / next(iter(columns.values()))
        else:
            cycle = self._by_form(theta, at, lambda form, values: {"time": form.times(values)})["time"]
        found: Array = cycle * self._factor(at)
        return found

    def lost(self, theta: Array, at: Timings) -> Lost:
        """Book what is lost: what the account does not call useful, or the waits at the stations."""
        columns = self._columns(theta, at)
        factor = self._factor(at)
        if self._class:
            visit = f"time_per_visit[{self._class},"
            stations = [name.removeprefix(visit).removesuffix("]") for name in columns if name.startswith(visit)]
            return {f"waiting for {name}": factor * self._waits(columns, name) for name in stations}
        system = self.model.built.model
        useful = system.useful if isinstance(system, Model) else ()
        booked = {name[8:-1]: each for name, each in columns.items() if name.startswith("account[")}
        return {name: factor * each for name, each in booked.items() if name not in useful}

    def _waits(self, columns: Mapping[str, Array], station: str) -> Array:
        at = f"[{self._class},{station}]"
        found: Array = columns[f"residence_time{at}"] * columns[f"waiting_time{at}"] / columns[f"time_per_visit{at}"]
        return found

    def _factor(self, at: Timings) -> Array:
        cycles = self.model.asked.cycles
        return np.ones(len(at)) if cycles is None else cycles / at.p

    def starts(self, at: Timings) -> Sequence[Array]:
        """Begin at the model's own values, those brought to the size of the data, and tenths and tens of them."""
        parameters = self.model.parameters
        own = np.array([value or 1e-2 for value in self.model.start])
        powers = np.array([self.model.built.entries[each.name].given.dimension.time_power for each in parameters])
        base = TimeFormula("", "", parameters, self.time, lambda _: ())
        ratio = np.median(at.time / base.time(own, at))
        near = own * (ratio if np.isfinite(ratio) else 1.0) ** np.sign(powers)
        steps = [0.1, 1.0, 10.0] if len(parameters) <= MOST_GUESSED else [1.0]
        guesses = np.array([own, *(near * np.array(each) for each in product(steps, repeat=len(parameters)))])
        guesses = np.clip(guesses, base.lower, base.upper)
        times = base.times(guesses, at)
        if not np.isfinite(times).all(axis=1).any():
            alone = {each.name: value for each, value in zip(parameters, own, strict=True)}
            failed = self.compiled.points({**alone, self.model.population: float(at.p[0])}).answer(0).failed
            raise NoAnswerError(
                f"{self.model.built.name} has no time at the points of the data: {failed or 'not a number'}"
            )
        with np.errstate(all="ignore"):
            squares = (np.log(at.time / times) ** 2).sum(axis=1)
        order = np.argsort(np.where(np.isfinite(squares), squares, np.inf), kind="stable")
        return [guesses[index] for index in order[:2]]

    def _columns(self, theta: Array, at: Timings, wanted: Sequence[str] = ()) -> dict[str, Array]:
        def every(form: Compiled, values: Mapping[str, Array]) -> dict[str, Array]:
            found = form.points(values).columns()
            return {name: found[name] for name in wanted or found}

        return self._by_form(theta, at, every)

    def _by_form(
        self, theta: Array, at: Timings, ask: Callable[[Compiled, Mapping[str, Array]], dict[str, Array]]
    ) -> dict[str, Array]:
        """Ask the compiled model; one for each number of processors where that shapes the model."""
        count = len(at)
        values = {
            each.name: np.broadcast_to(value, (count,))
            for each, value in zip(self.model.parameters, theta, strict=True)
        }
        if self.model.size:
            values[self.model.size] = at.n
        if self.model.population in self.compiled.parameters:
            return _broadcast(ask(self.compiled, _read(self.compiled, {**values, self.model.population: at.p})), count)
        found: dict[str, Array] = {}
        for p in np.unique(at.p):
            here = at.p == p
            form = self._form_at(float(p))
            part = ask(form, _read(form, {name: each[here] for name, each in values.items()}))
            for name, column in part.items():
                found.setdefault(name, np.zeros(count))[here] = column
        return found

    def _form_at(self, p: float) -> Compiled:
        if p not in self._built:
            node = from_plain(int(p), Mark(f"p = {p:g}", 1, 1))
            inputs = resolve({**self.model.asked.settings, self.model.population: node}, self.model.library)
            self._built[p] = _compiled(build(inputs))
        return self._built[p]


def _compiled(built: BuiltModel) -> Compiled:
    return form_of(built.model, built.parameters, built.options.method, built.options.simulation, smooth=True)


def _read(form: Compiled, values: Mapping[str, Array]) -> dict[str, Array]:
    return {path: each for path, each in values.items() if path in form.parameters}


def _broadcast(columns: Mapping[str, Array], count: int) -> dict[str, Array]:
    return {name: np.broadcast_to(each, (count,)) for name, each in columns.items()}
