"""A model for a page in which it runs: its closed form as a tape, or a grid of answers, and the
inputs that matter most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from scipy.interpolate import RegularGridInterpolator

from slipstick.errors import ModelError, NoAnswerError, UnknownNameError
from slipstick.expression.nodes import Parameter, parameters
from slipstick.expression.tape import Tape
from slipstick.late import Array, np
from slipstick.law import Law
from slipstick.limits import added_up
from slipstick.method.answers import CompiledModel
from slipstick.method.closed_form import ClosedForm, CompiledLaw
from slipstick.method.methods import form_of
from slipstick.model.activity import Choice, Fork, Pipeline
from slipstick.model.network import QueueingNetwork
from slipstick.model.steps import each_once
from slipstick.model.system import Labels, Model
from slipstick.report.formatting import quantity
from slipstick.report.live import LiveModel, Slider
from slipstick.results.study import Results
from slipstick.schema.inputs import BuiltModel, Settings, resolve, solve_settings
from slipstick.schema.library import Library
from slipstick.study.points import gathered
from slipstick.vocabulary import (
    BOUNDS,
    CLOSED_FORM,
    MARKOV_CHAIN,
    MEAN_VALUE,
    METHODS,
    NETWORK,
    SIMULATION,
)

_FIRST = ("time", "response_time")  # what a page shows, where there is one
_MOST_SLIDERS = 8
_REACH = 10.0  # a slider goes from a tenth of the value given to ten times as much
_FEWEST = 16.0  # a whole number goes up to so much at least
_AXES, _NODES = 2, (13, 25)
_CLOSE, _CLOSE_IF_COSTLY = (
    3e-3,
    2e-2,
)  # more nodes are taken where interpolation between fewer is further off
_GRID_REACHES = (
    4.0,
    2.0,
    1.25,
)  # of a grid around the values given, less far where points have no answer
_TRIED = 100
_GRIDDED = (MEAN_VALUE, *(name for name in METHODS[NETWORK] if name not in (SIMULATION, BOUNDS)))


def live_model(
    settings: Settings,
    method: str | None = None,
    library: Library | None = None,
    over: Sequence[str] = (),
) -> LiveModel:
    """Solve a model, and take what a page needs to solve it again.

    A closed form runs in the page; where it is exact, it is so wherever the sliders stand. Answers
    by mean value and of networks are computed at the points of a grid. Estimates, bounds, and
    answers of laws with conditions stay as they are.

    Parameters
    ----------
    settings : values by path, as for `slipstick.schema.inputs.solve_settings`
    method : by name; None is the best that applies
    library : what was read so far
    over : inputs that get a slider before those that matter most

    Raises
    ------
    UnknownNameError : the answer does not depend on such an input
    NoAnswerError : the model has none at these values
    SpecError : something is wrong with the settings
    """
    library = library or Library()
    (answer, *_), built = solve_settings(settings, library, [method])
    if answer.failed:
        raise NoAnswerError(answer.failed)
    model = built.model
    title = f"law/{model.name}: {model.title}" if isinstance(model, Law) else ""
    title = title or resolve(settings, library).title or built.name
    quantity = min(
        answer.values,
        key=lambda name: (name.partition("[")[0] not in _FIRST, name not in answer.gradient),
    )
    found = LiveModel(title, answer, quantity)
    if answer.method != CLOSED_FORM:
        return _gridded(found, built, over)
    if isinstance(model, Law):
        if model.conditions:
            return replace(
                found, fixed="the law holds under conditions, which are not checked in a page"
            )
        tape = CompiledLaw(model, built.parameters).tape
        listing = tape.listing()
        return _moved(
            replace(found, tape={**listing, "outputs": 2 * listing["outputs"]}),
            tape,
            built,
            None,
            over,
        )
    assert isinstance(model, Model)
    if model.population.open:
        return replace(
            found, fixed="a stream of arrivals saturates, which is not checked in a page"
        )
    form = ClosedForm(model)
    tape = Tape(
        [
            form.time,
            form.account,
            *(stage for group in form.stages.values() for stage in group.values()),
        ]
    )
    listing, labels = tape.listing(), Labels.of(model, "memory")
    components = {label: labels.component(label) for _, label in listing["labels"]}
    pipelines = {name: tuple(group) for name, group in form.stages.items()}
    return _moved(
        replace(found, tape=listing, components=components, pipelines=pipelines),
        tape,
        built,
        form,
        over,
    )


def live_base(
    results: Results, cases: Mapping[str, Settings], library: Library
) -> LiveModel | None:
    """Take the first case of a study for a page, if it is one that moves; what was simulated is not
    simulated again.

    Parameters
    ----------
    results, cases, library : of the study: its answers, the settings of each case, and what was
        read
    """
    case, answer = next(iter(results.cases.items()), ("", None))
    if answer is None or answer.failed or answer.method not in (CLOSED_FORM, *_GRIDDED):
        return None
    model = live_model(cases[case], answer.method, library)
    return model if model.sliders else None


def _moved(
    model: LiveModel, tape: Tape, built: BuiltModel, form: ClosedForm | None, over: Sequence[str]
) -> LiveModel:
    """Add the values, and a slider for each of the inputs that change the answer most."""
    slopes, still = model.answer.gradient[model.quantity], _chances(built)
    values = {
        name: float(parameter.value)
        for name, parameter in tape.parameters.items()
        if parameter.value is not None
    }
    movable = {name: value for name, value in values.items() if value > 0 and name not in still}
    makes = {name: _slider(tape.parameters[name], value, built) for name, value in movable.items()}
    effects = {
        name: abs(slopes.get(name, 0.0) * value) or _step(tape, makes[name])
        for name, value in movable.items()
    }
    sliders: list[Slider] = []
    for name in _ranked(effects, over):
        parameter = makes[name]
        ends = {slider.name: np.array([slider.high]) for slider in (*sliders, parameter)}
        # A processor or an item more may be the first that waits.
        if form is None or not model.answer.exact or form.exact(ends).all():
            sliders.append(parameter)
        elif name in over:
            raise ModelError(
                f"with more {name} the closed form is not exact any more; choose --with"
                f" {MEAN_VALUE}"
            )
    return replace(model, values=values, sliders=sliders[:_MOST_SLIDERS])


def _ranked(effects: Mapping[str, float], over: Sequence[str]) -> list[str]:
    """Put the inputs that are asked for first, then the others by what they change."""
    for name in over:
        if name not in effects:
            raise UnknownNameError("input to move", name, list(effects))
    further_names = sorted(
        (name for name in effects if effects[name] and name not in over),
        key=lambda name: -effects[name],
    )
    return [*dict.fromkeys(over), *further_names]


def _gridded(model: LiveModel, built: BuiltModel, over: Sequence[str]) -> LiveModel:
    """Answer at the points of a grid over the inputs that matter most, and see how far off
    interpolation is between them.
    """
    method = model.answer.method
    form = (
        form_of(built.model, built.parameters, method, built.options.simulation)
        if method in _GRIDDED
        else None
    )
    slopes = model.answer.gradient.get(model.quantity, {})
    among = form.parameters if form else ()
    known_values = {
        name: built.parameters[name]
        for name in among
        if name in built.parameters and name not in _chances(built)
    }
    values = {
        name: float(parameter.value)
        for name, parameter in known_values.items()
        if parameter.value is not None and parameter.value > 0
    }
    names = _ranked(
        {name: abs(slopes.get(name, 0.0) * value) for name, value in values.items()}, over
    )[:_AXES]
    if form is None or not names:
        return replace(model, fixed=f"answers by {method} do not run in a page")
    with added_up() as spent:
        for reach in _GRID_REACHES:
            sliders = [_slider(known_values[name], values[name], built, reach) for name in names]
            if grid := _grid(
                form, sliders, model, _CLOSE_IF_COSTLY if _costly(built.model, method) else _CLOSE
            ):
                return replace(
                    model, grid=grid, values={name: values[name] for name in names}, sliders=sliders
                )
            sliders = _within_answers(form, sliders, slopes)
            if grid := _grid(
                form, sliders, model, _CLOSE_IF_COSTLY if _costly(built.model, method) else _CLOSE
            ):
                return replace(
                    model, grid=grid, values={name: values[name] for name in names}, sliders=sliders
                )
            if sum(spent) > 1:
                return replace(
                    model,
                    fixed="the points of a grid take more than the limits of one answer allow",
                )
    return replace(model, fixed=_missing(form, sliders))


_MOST_HALVINGS = 20


def _within_answers(
    form: CompiledModel, sliders: Sequence[Slider], slopes: Mapping[str, float]
) -> list[Slider]:
    """Draw in the ends that lengthen the time, all together, until there is an answer where all
    sliders stand at them: an open network has none beyond saturation.
    """
    limited = list(sliders)
    for _ in range(_MOST_HALVINGS):
        longer = {
            slider.name: slider.high if slopes.get(slider.name, 0.0) > 0 else slider.low
            for slider in limited
        }
        if np.isfinite(form.times({name: np.array([end]) for name, end in longer.items()})).all():
            return limited
        limited = [_drawn_in(slider, high=slopes.get(slider.name, 0.0) > 0) for slider in limited]
    return list(sliders)


def _drawn_in(slider: Slider, *, high: bool) -> Slider:
    """Draw in one end of a slider by half, on a scale of ratios."""
    end = float(np.sqrt((slider.high if high else slider.low) * slider.value))
    if slider.whole:
        end = float(np.floor(end) if high else np.ceil(end))
    return replace(slider, high=end) if high else replace(slider, low=end)


def _missing(form: CompiledModel, sliders: Sequence[Slider]) -> str:
    """Return where a grid has no answer, and why: at an end of one input, or of several together."""
    for slider in sliders:
        for end in (slider.low, slider.high):
            answer = form.points({slider.name: np.array([end])}).answer(0, shares=False)
            if answer.failed:
                place = f"{slider.name} = {quantity(end, slider.unit)}"
                return f"at {place} there is no answer: {answer.failed}"
    names = " and ".join(slider.name for slider in sliders)
    return f"where {names} are all changed there is no answer at some points"


def _costly(model: object, method: str) -> bool:
    """Return whether a point takes about 10 ms: a network's Markov chain, or branches or items that
    are joined.
    """
    if not isinstance(model, Model):
        return method == MARKOV_CHAIN
    return any(isinstance(node, Fork | Pipeline) for node in each_once(model.bodies))


def _grid(
    form: CompiledModel, sliders: Sequence[Slider], model: LiveModel, close: float
) -> dict[str, Any]:
    """Return the data of `LiveModel.grid`, with few nodes where they are enough; nothing where a
    point has no answer.
    """
    unit_points = np.random.default_rng(0).random((_TRIED, len(sliders))).T
    places = [
        slider.low * (slider.high / slider.low) ** fraction
        for slider, fraction in zip(sliders, unit_points, strict=True)
    ]
    places = [
        place.round() if slider.whole else place
        for slider, place in zip(sliders, places, strict=True)
    ]
    exact: Array | None = None
    for count in _NODES:
        logs = [np.log(_nodes(slider, count)) for slider in sliders]
        at_nodes = _columns(
            form, sliders, [np.exp(places.ravel()) for places in np.meshgrid(*logs, indexing="ij")]
        )
        with np.errstate(all="ignore"):
            column = np.log(at_nodes[model.quantity])
        if not np.isfinite(column).all():
            return {}
        exact = _columns(form, sliders, places)[model.quantity] if exact is None else exact
        guess = RegularGridInterpolator(logs, column.reshape(tuple(map(len, logs))))
        low, high = (np.array([log[end] for log in logs]) for end in (0, -1))
        inside = np.clip(np.log(np.array(places).T), low, high)  # but for rounding
        error = float(np.nanmax(np.abs(np.exp(guess(inside)) / exact - 1), initial=0.0))
        if error <= close:
            break
    account = {
        name: at_nodes[f"account[{name}]"]
        for name in model.answer.account
        if f"account[{name}]" in at_nodes
    }
    total = sum(account.values(), np.zeros(1))
    return {
        "axes": [
            {"name": slider.name, "nodes": nodes.tolist()}
            for slider, nodes in zip(sliders, logs, strict=True)
        ],
        "logs": _short(column, 9),
        "shares": {name: _short(seconds / total, 4) for name, seconds in account.items()},
        "error": error,
        "tried": _TRIED,
    }


def _columns(
    form: CompiledModel, sliders: Sequence[Slider], points: Sequence[Array]
) -> dict[str, Array]:
    values, count = (
        {slider.name: column for slider, column in zip(sliders, points, strict=True)},
        len(points[0]),
    )
    return gathered(
        count,
        (
            (cut, form.points({name: value[cut] for name, value in values.items()}).columns())
            for cut in form.blocks(values, count)
        ),
    )


def _nodes(slider: Slider, count: int) -> Array:
    """Place nodes by equal ratios, one at the value itself."""
    halves = (
        np.geomspace(*ends, count // 2 + 1)
        for ends in ((slider.low, slider.value), (slider.value, slider.high))
    )
    nodes = np.concatenate(
        [half[:-1] if first else half for first, half in zip((True, False), halves, strict=True)]
    )
    return np.unique(nodes.round() if slider.whole else nodes)


def _short(column: Array, digits: int) -> list[float]:
    return [float(f"{number:.{digits}g}") for number in column.tolist()]


def _chances(built: BuiltModel) -> set[str]:
    """Name the probabilities, which add up to 1, so that none of them moves alone."""
    if isinstance(built.model, Model):
        nodes = (node for node in each_once(built.model.bodies) if isinstance(node, Choice))
        return {
            parameter.name
            for parameter in parameters(*(expr for node in nodes for expr in node.expressions))
        }
    routes = built.model.routing if isinstance(built.model, QueueingNetwork) else ()
    return {parameter.name for parameter in parameters(*(route.probability for route in routes))}


def _step(tape: Tape, slider: Slider) -> float:
    """Return what twice as many change where the formula has steps, such as stages of a tree, and
    so no derivative.
    """
    both = (
        tape.run({slider.name: np.array([slider.value, 2 * slider.value])})[0]
        if slider.whole
        else np.zeros(1)
    )
    return float(abs(both[-1] - both[0]))


def _slider(parameter: Parameter, value: float, built: BuiltModel, reach: float = _REACH) -> Slider:
    entry = built.entries.get(parameter.name)
    unit, meaning = str(parameter.dimension), entry.meaning if entry else ""
    low, high = value / reach, min(value * reach, max(value, 1e308))  # JSON has no number beyond
    if integral := unit == "1" and value >= 2 and value == int(value):
        low, high = float(max(1, ceil(low))), max(high, _FEWEST)
    return Slider(parameter.name, value, low, high, unit, integral, meaning)
