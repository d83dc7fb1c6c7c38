"""A model for a page in which it runs: its closed form as a tape, and the inputs that matter most."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Parameter, parameters
from slipstick.expression.tape import Tape
from slipstick.law import Law
from slipstick.method.closed_form.form import ClosedForm, CompiledLaw
from slipstick.method.names import Labels
from slipstick.model.activity import Choice, each_once
from slipstick.model.system import Model
from slipstick.report.live import LiveModel, Slider
from slipstick.schema.inputs import BuiltModel, Settings, resolve
from slipstick.schema.library import Library
from slipstick.study.catalogue import title_and_source
from slipstick.study.solve import solve_settings
from slipstick.vocabulary import CLOSED_FORM

_MOST_SLIDERS = 8
_REACH = 10.0  # a slider goes from a tenth of the value given to ten times as much
_FEWEST = 16.0  # a whole number goes up to so much at least


def live_model(settings: Settings, method: str | None = None) -> LiveModel:
    """Solve a model, and take what a page needs to solve it again.

    A closed form runs in the page; where it is exact, it is so wherever the sliders stand. Answers of other methods, of
    streams of arrivals and of laws with conditions stay as they are.

    Parameters
    ----------
    settings : values by path, as for `slipstick.study.solve.solve_settings`
    method : by name; None is the best that applies

    Raises
    ------
    NoAnswerError : the model has none at these values
    SpecError : something is wrong with the settings
    """
    (answer, *_), built = solve_settings(settings, Library(), [method])
    if answer.failed:
        raise NoAnswerError(answer.failed)
    model = built.model
    title = f"law/{model.name}: {model.title}" if isinstance(model, Law) else ""
    title = title or title_and_source(resolve(settings, Library()))[0] or built.name
    found = LiveModel(title, answer, model.gives.name if isinstance(model, Law) else next(iter(answer.values), ""))
    if answer.method != CLOSED_FORM:
        return replace(found, fixed=f"answers by {answer.method} do not run in a page")
    if isinstance(model, Law):
        if model.conditions:
            return replace(found, fixed="the law holds under conditions, which are not checked in a page")
        tape = CompiledLaw(model, built.parameters).tape
        listing = tape.listing()
        return _moved(replace(found, tape={**listing, "outputs": 2 * listing["outputs"]}), tape, built, None)
    assert isinstance(model, Model)
    if model.population.open:
        return replace(found, fixed="a stream of arrivals saturates, which is not checked in a page")
    form = ClosedForm(model)
    tape = Tape([form.time, form.account, *(each for group in form.stages.values() for each in group.values())])
    listing, labels = tape.listing(), Labels.of(model, "memory")
    components = {label: labels.component(label) for _, label in listing["labels"]}
    pipelines = {name: tuple(group) for name, group in form.stages.items()}
    return _moved(replace(found, tape=listing, components=components, pipelines=pipelines), tape, built, form)


def _moved(found: LiveModel, tape: Tape, built: BuiltModel, form: ClosedForm | None) -> LiveModel:
    """Add the values, and a slider for each of the inputs that change the answer most."""
    slopes, model = found.answer.gradient[found.quantity], built.model
    # The probabilities of a choice add up to 1, so none of them moves alone.
    bodies = model.bodies if isinstance(model, Model) else ()
    chances = [expr for node in each_once(bodies) if isinstance(node, Choice) for expr in node.expressions]
    still = {each.name for each in parameters(*chances)}
    values = {name: float(each.value) for name, each in tape.parameters.items() if each.value is not None}
    known = {name: value for name, value in values.items() if value > 0 and name not in still}
    makes = {name: _slider(tape.parameters[name], value, built) for name, value in known.items()}
    effects = {name: abs(slopes.get(name, 0.0) * value) or _step(tape, makes[name]) for name, value in known.items()}
    names = sorted((name for name in known if effects[name]), key=lambda name: -effects[name])
    sliders: list[Slider] = []
    for name in names:
        each = makes[name]
        ends = {other.name: np.array([other.high]) for other in (*sliders, each)}
        # A processor or an item more may be the first that waits.
        if form is None or not found.answer.exact or form.exact(ends).all():
            sliders.append(each)
    return replace(found, values=values, sliders=sliders[:_MOST_SLIDERS])


def _step(tape: Tape, slider: Slider) -> float:
    """Give what twice as many change where the formula has steps, such as stages of a tree, and so no derivative."""
    both = tape.run({slider.name: np.array([slider.value, 2 * slider.value])})[0] if slider.whole else np.zeros(1)
    return float(abs(both[-1] - both[0]))


def _slider(parameter: Parameter, value: float, built: BuiltModel) -> Slider:
    entry = built.entries.get(parameter.name)
    unit, meaning = str(parameter.dimension), entry.meaning if entry else ""
    if unit == "1" and value >= 2 and value == int(value):
        low, high = float(max(1, ceil(value / _REACH))), max(value * _REACH, _FEWEST)
        return Slider(parameter.name, value, low, high, unit, True, meaning)
    return Slider(parameter.name, value, value / _REACH, value * _REACH, unit, False, meaning)
