"""A model for a page in which it runs: its closed form as a tape, or a grid of answers, and the
inputs that matter most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil, isclose

from slipstick.answer import Answer
from slipstick.errors import ModelError, NoAnswerError, SlipstickError, UnknownNameError
from slipstick.expression.nodes import Parameter, parameters
from slipstick.expression.tape import Tape
from slipstick.late import np
from slipstick.law import Law
from slipstick.limits import announcing_progress, with_summed_costs
from slipstick.method.answers import CompiledModel
from slipstick.method.closed_form import ClosedForm, CompiledLaw
from slipstick.method.methods import form_of
from slipstick.model.network import QueueingNetwork
from slipstick.model.steps import distinct_activities, list_parallel_nodes
from slipstick.model.system import Labels, Model
from slipstick.report.formatting import with_noun
from slipstick.results.study import Results
from slipstick.schema.inputs import BuiltModel, Settings, build, resolve, solve_settings
from slipstick.schema.library import Library
from slipstick.schema.text import read_value
from slipstick.study.evaluator import evaluator
from slipstick.study.uncertain import BAND_DRAWS, drawn_settings, with_intervals
from slipstick.vocabulary import (
    BOUNDS,
    CLOSED_FORM,
    EXACT,
    MARKOV_CHAIN,
    MEAN_VALUE,
    METHODS,
    NETWORK,
    SIMULATION,
)
from slipstick_pages.grid import AnswerGrid, GridForm, structure_parameters
from slipstick_pages.model import LiveModel, Slider
from slipstick_pages.open_form import OpenForm, open_form

_MAIN_VALUES = ("time", "response_time")  # what a page shows, where there is one
_MOST_SLIDERS = 8
_SLIDER_REACH = 10.0  # a slider goes from a tenth of the value given to ten times as much
_LEAST_UPPER_END = 16.0  # a whole number goes up to so much at least
_GRID_AXES = 2
_MOST_SHOWN_VALUES = 8
_VALUES_IN_DISPLAY_ORDER = (
    *("time", "response_time", "throughput", "efficiency", "speedup", "processors_lost"),
    *("utilization", "queue_length"),
)
"""The values of an answer that a page shows, in this order."""
_GRID_REACHES = (4.0, 2.0, 1.25)
"""Factors by which a grid extends around the given values; a smaller one if points have no answer.
"""
_FACTOR_BEYOND_SATURATION = 1.1  # a slider of an open network goes a little beyond saturation
_METHODS_WITH_GRID = (
    MEAN_VALUE,
    *(name for name in METHODS[NETWORK] if name not in (SIMULATION, BOUNDS)),
)


def live_model(
    settings: Settings,
    method: str | None = None,
    library: Library | None = None,
    wanted_inputs: Sequence[str] = (),
    wanted_values: Sequence[str] = (),
) -> LiveModel:
    """Solve a model. Return the data with which a page evaluates it at other values.

    A closed form runs in the page; where it is exact, it is so wherever the sliders stand. Answers
    by mean value and of networks are computed at the points of a grid. Estimates, bounds, and
    answers of laws with conditions stay as they are.

    Settings with ranges give intervals: the page solves a closed form at draws of those that are
    not moved, and elsewhere has the intervals at the values given.

    Parameters
    ----------
    settings : values by path, as for `slipstick.schema.inputs.solve_settings`
    method : by name; None is the best that applies
    library : what was read so far
    wanted_inputs : inputs that get a slider before those that matter most
    wanted_values : values of which a page with a grid shows the first one that it can

    Raises
    ------
    UnknownNameError : the answer does not depend on such an input
    NoAnswerError : the model has none at these values
    SpecError : something is wrong with the settings
    """
    library = library or Library()
    (answer, *_), built_model = solve_settings(settings, library, [method])
    if answer.failed:
        raise NoAnswerError(answer.failed, answer.other_method)
    model = _live_model_of(answer, built_model, settings, library, wanted_inputs, wanted_values)
    uncertain_settings = built_model.uncertain_values
    if not uncertain_settings.paths:
        return model
    factors_by_input = {
        path: np.round(draws / np.exp(centre), 6).tolist()
        for (path, draws), centre in zip(
            drawn_settings(uncertain_settings, BAND_DRAWS).items(),
            uncertain_settings.log_middles,
            strict=True,
        )
    }
    case = evaluator(built_model.name, settings, library)
    return replace(
        model,
        answer=with_intervals(answer, case),
        drawn_factors=factors_by_input,
        noise_by_value=dict(uncertain_settings.noise),
    )


def _live_model_of(
    answer: Answer,
    built_model: BuiltModel,
    settings: Settings,
    library: Library,
    wanted_inputs: Sequence[str],
    wanted_values: Sequence[str],
) -> LiveModel:
    """Return the data of the page of a solved model, with uncertain settings at the middle of their
    ranges.
    """
    model = built_model.model
    title = f"law/{model.name}: {model.title}" if isinstance(model, Law) else ""
    title = title or resolve(settings, library).title or built_model.name
    # The value that a reader wants first; among those a value with derivatives, which rank the
    # inputs.
    quantity = min(
        answer.values,
        key=lambda name: (name.partition("[")[0] not in _MAIN_VALUES, name not in answer.gradient),
    )
    live = LiveModel(title, answer, quantity)
    if isinstance(model, QueueingNetwork) and answer.method == EXACT and answer.exact:
        formulas = open_form(model)
        if formulas is not None and _formulas_agree(formulas, answer):
            return _live_open_network(live, built_model, formulas, wanted_inputs)
    if answer.method != CLOSED_FORM:
        possible_values = [name for name in wanted_values if name in answer.values]
        live = replace(live, quantity=next(iter(possible_values), quantity))
        return _with_grid(live, built_model, wanted_inputs, settings, library)
    if isinstance(model, Law):
        return _live_law(live, model, built_model, wanted_inputs)
    assert isinstance(model, Model)
    return _live_closed_form(live, model, built_model, wanted_inputs)


def _live_law(
    live: LiveModel, law: Law, built_model: BuiltModel, wanted_inputs: Sequence[str]
) -> LiveModel:
    """Return the data of a page that evaluates a law; without sliders if the law holds under
    conditions.
    """
    if law.conditions:
        return replace(
            live, reason_fixed="the law holds under conditions, which are not checked in a page"
        )
    law_tape = CompiledLaw(law, built_model.parameters).tape
    tape_listing = law_tape.listing()
    # The page wants a time and an account; a law has one value, which stands for both.
    output_registers = 2 * tape_listing["outputs"]
    return _with_sliders(
        replace(
            live,
            tape={**tape_listing, "outputs": output_registers},
            register_by_shown_value={live.quantity: output_registers[0]},
        ),
        law_tape,
        built_model,
        None,
        wanted_inputs,
    )


def _live_closed_form(
    live: LiveModel, model: Model, built_model: BuiltModel, wanted_inputs: Sequence[str]
) -> LiveModel:
    """Return the data of a page that evaluates the closed form of an activity; without sliders for
    a stream of arrivals.
    """
    if model.population.open:
        return replace(
            live, reason_fixed="a stream of arrivals saturates, which is not checked in a page"
        )
    form = ClosedForm(model)
    stages = [time for group in form.stages.values() for time in group.values()]
    throughput = model.population.size / form.time
    tape = Tape([form.time, form.account, *stages, throughput])
    tape_listing = tape.listing()
    labels = Labels.from_model(model, "memory")
    components = {label: labels.component(label) for _, label in tape_listing["labels"]}
    pipelines = {name: tuple(group) for name, group in form.stages.items()}
    outputs_shown = {live.quantity: tape_listing["outputs"][0]}
    if "throughput" in live.answer.values:
        outputs_shown["throughput"] = tape_listing["outputs"].pop()
    return _with_sliders(
        replace(
            live,
            tape=tape_listing,
            component_by_label=components,
            pipelines=pipelines,
            register_by_shown_value=outputs_shown,
        ),
        tape,
        built_model,
        form,
        wanted_inputs,
    )


def live_model_of_study(
    results: Results, cases: Mapping[str, Settings], library: Library
) -> LiveModel | None:
    """Return the data of a page of the first case of a study; None if a page cannot evaluate it,
    for example because it is simulated.

    Parameters
    ----------
    results, cases, library : of the study: its answers, the settings of each case, and what was
        read
    """
    case, answer = next(iter(results.cases.items()), ("", None))
    if answer is None or answer.failed or answer.method not in (CLOSED_FORM, *_METHODS_WITH_GRID):
        return None
    for wanted_values in (results.answer, ()):
        model = live_model(cases[case], answer.method, library, wanted_values=wanted_values)
        if model.sliders:
            return model
    return None


def _with_sliders(
    model: LiveModel,
    tape: Tape,
    built_model: BuiltModel,
    form: ClosedForm | None,
    wanted_inputs: Sequence[str],
) -> LiveModel:
    """Return the data of a page with its values, and with sliders for the inputs that change the
    answer most.
    """
    slopes = model.answer.gradient[model.quantity]
    probability_names = _probability_names(built_model)
    value_by_input = {
        name: float(parameter.value)
        for name, parameter in tape.parameters.items()
        if parameter.value is not None
    }
    movable_values = {
        name: value
        for name, value in value_by_input.items()
        if value > 0 and name not in probability_names
    }
    slider_by_name = {
        name: _slider(tape.parameters[name], value, built_model)
        for name, value in movable_values.items()
    }
    effect_by_input = {
        name: abs(slopes.get(name, 0.0) * value) or _change_when_doubled(tape, slider_by_name[name])
        for name, value in movable_values.items()
    }
    sliders: list[Slider] = []
    for name in _inputs_by_effect(effect_by_input, wanted_inputs):
        parameter = slider_by_name[name]
        largest_values = {slider.name: np.array([slider.high]) for slider in (*sliders, parameter)}
        # A processor or an item more may be the first that waits.
        if form is None or not model.answer.exact or form.exact(largest_values).all():
            sliders.append(parameter)
        elif name in wanted_inputs:
            raise ModelError(
                f"with more {name} the closed form is not exact any more; choose --with"
                f" {MEAN_VALUE}"
            )
    return replace(model, values=value_by_input, sliders=sliders[:_MOST_SLIDERS])


def _live_open_network(
    live: LiveModel, built_model: BuiltModel, form: OpenForm, wanted_inputs: Sequence[str]
) -> LiveModel:
    """Return the data of a page of an open network of product form, evaluated by its formulas up to
    saturation.
    """
    expression_by_value = {
        name: value for name, value in form.values.items() if name in live.answer.values
    }
    shown_names = [live.quantity, *_names_shown_first(expression_by_value, live.quantity)]
    tape = Tape(
        [
            expression_by_value[live.quantity],
            form.accounted_time,
            *expression_by_value.values(),
            *form.utilizations.values(),
        ]
    )
    tape_listing = tape.listing()
    register_by_value = dict(zip(expression_by_value, tape_listing["outputs"][2:], strict=False))
    registers_of_utilizations = tape_listing["outputs"][2 + len(expression_by_value) :]
    given_values = {
        name: float(parameter.value)
        for name, parameter in tape.parameters.items()
        if parameter.value is not None
    }
    positive_value_by_input = {name: value for name, value in given_values.items() if value > 0}
    slider_by_name = {
        name: _open_slider(
            _slider(tape.parameters[name], value, built_model), tape, 2 + len(expression_by_value)
        )
        for name, value in positive_value_by_input.items()
    }
    slopes = live.answer.gradient.get(live.quantity, {})
    effect_by_input = {
        name: abs(slopes.get(name, 0.0) * value) or _change_when_doubled(tape, slider_by_name[name])
        for name, value in positive_value_by_input.items()
    }
    inputs_by_effect = _inputs_by_effect(effect_by_input, wanted_inputs)
    # Arrivals and servers first: they are what one can change.
    changeable_inputs = [
        name for name in inputs_by_effect if name.endswith((".arrivals", ".servers"))
    ]
    slider_names = list(dict.fromkeys((*wanted_inputs, *changeable_inputs, *inputs_by_effect)))[
        :_MOST_SLIDERS
    ]
    return replace(
        live,
        tape={**tape_listing, "outputs": tape_listing["outputs"][:2]},
        values=given_values,
        component_by_label={label: label for _, label in tape_listing["labels"]},
        sliders=[slider_by_name[name] for name in slider_names],
        register_by_shown_value={name: register_by_value[name] for name in shown_names},
        utilization_registers=dict(zip(form.utilizations, registers_of_utilizations, strict=True)),
    )


def _formulas_agree(formulas: OpenForm, answer: Answer) -> bool:
    """Return whether the formulas give the values that the exact method gave."""
    names = [name for name in formulas.values if name in answer.values]
    columns = Tape([formulas.values[name] for name in names]).run({})
    return all(
        isclose(
            float(column[0]),
            answer.find(name) or 0.0,
            rel_tol=_AGREEMENT_TOLERANCE,
            abs_tol=_AGREEMENT_TOLERANCE,
        )
        for name, column in zip(names, columns, strict=True)
    )


_AGREEMENT_TOLERANCE = 1e-9


def _open_slider(slider: Slider, tape: Tape, first_utilization_index: int) -> Slider:
    """Return the slider of an input with an upper end somewhat beyond the saturation of the first
    station.

    Parameters
    ----------
    slider : with its ends by ratios
    tape : of the network
    first_utilization_index : the first output that is a utilization
    """

    def largest_utilization(value: float) -> float:
        outputs = tape.run({slider.name: np.array([value, value])})[first_utilization_index:]
        return max((float(output[0]) for output in outputs), default=0.0)

    if slider.whole:
        return slider
    slider = replace(slider, farthest=slider.high)
    if largest_utilization(slider.high) < 1:
        return slider
    stable_value = slider.value
    saturated_value = slider.high
    for _ in range(_BISECTIONS):
        middle_value = (stable_value * saturated_value) ** 0.5
        stable_value, saturated_value = (
            (stable_value, middle_value)
            if largest_utilization(middle_value) >= 1
            else (middle_value, saturated_value)
        )
    return replace(slider, high=min(slider.high, _FACTOR_BEYOND_SATURATION * saturated_value))


_BISECTIONS = 40


def _names_shown_first(names: Iterable[str], quantity: str) -> list[str]:
    """Return the names of the values that a page shows beside its first one, in the order of their
    interest.
    """
    other_names = [name for name in names if name != quantity]
    rank_by_name = {name: rank for rank, name in enumerate(_VALUES_IN_DISPLAY_ORDER)}
    ranked_names = [name for name in other_names if name.partition("[")[0] in rank_by_name]
    ranked_names.sort(key=lambda name: rank_by_name[name.partition("[")[0]])
    return ranked_names[: _MOST_SHOWN_VALUES - 1]


def _with_grid(
    live: LiveModel,
    built_model: BuiltModel,
    wanted_inputs: Sequence[str],
    settings: Settings,
    library: Library,
) -> LiveModel:
    """Return the data of a page with the answers on a grid of the inputs that change the answer
    most, and the error of interpolation.
    """
    method = live.answer.method
    if method not in _METHODS_WITH_GRID:
        reason_fixed = f"answers by {method} do not run in a page"
        if method == SIMULATION:
            reason_fixed += "; with mean value analysis (--with mean-value) most models do"
        return replace(live, reason_fixed=reason_fixed)
    form, known_parameters = _grid_form(built_model, method, settings, library)
    value_by_input = {
        name: float(parameter.value)
        for name, parameter in known_parameters.items()
        if parameter.value is not None and parameter.value > 0
    }
    slopes = _slopes_of_grid(live)
    input_names = _grid_inputs(live, form, known_parameters, value_by_input, wanted_inputs)
    if not input_names:
        return replace(live, reason_fixed=f"no input changes the answer by {method} smoothly")
    is_costly = _is_costly(built_model.model, method)
    output_names = [live.quantity, *_names_shown_first(live.answer.values, live.quantity)]
    grid = AnswerGrid(form, live.answer, live.quantity, output_names, is_costly)
    given_values = {name: value_by_input[name] for name in input_names}
    with with_summed_costs() as costs:
        for range_factor in _GRID_REACHES:
            wide_sliders = [
                _slider(known_parameters[name], value_by_input[name], built_model, range_factor)
                for name in input_names
            ]
            for sliders in (wide_sliders, grid.sliders_with_answers(wide_sliders, slopes)):
                grid_data = grid.data(sliders)
                if grid_data:
                    fixed_inputs = sorted(
                        set(value_by_input) - set(input_names),
                        key=lambda name: (not _is_count(name), name),
                    )
                    grid_with_fixed_inputs = {**grid_data, "still": fixed_inputs}
                    return replace(
                        live, grid=grid_with_fixed_inputs, values=given_values, sliders=sliders
                    )
            if sum(costs) > 1:
                return replace(
                    live,
                    reason_fixed="the points of a grid take more than the limits of one answer"
                    " allow",
                )
    return replace(live, reason_fixed=grid.reason_without_answer(sliders))


def _slopes_of_grid(live: LiveModel) -> Mapping[str, float]:
    """Return the derivatives by which the inputs of a grid are ranked: of the value shown, or of
    the main value if only that has derivatives.
    """
    gradient = live.answer.gradient
    return gradient.get(live.quantity) or next(iter(gradient.values()), {})


def _grid_form(
    built_model: BuiltModel, method: str, settings: Settings, library: Library
) -> tuple[GridForm, dict[str, Parameter]]:
    """Return a model that can be compiled for a method with any numbers of servers and permits, and
    its parameters that a grid may vary, by path.
    """

    def compiled_form(model: BuiltModel) -> CompiledModel:
        return form_of(model.model, model.parameters, method, model.options.simulation)

    def compile_with_counts(counts: Mapping[str, int]) -> CompiledModel | None:
        """Compile the model with other numbers of servers and permits; return None if it refuses
        them.
        """
        # Also of costs over the limits, which reading a number may be the last of.
        with suppress(SlipstickError):
            count_nodes = {name: read_value(str(count), name) for name, count in counts.items()}
            return compiled_form(build(resolve({**settings, **count_nodes}, library)))
        return None

    method_form = compiled_form(built_model)
    probability_names = _probability_names(built_model)
    structure_parameter_by_name = {
        name: parameter
        for name, parameter in structure_parameters(built_model).items()
        if name not in method_form.parameters
    }
    known_parameters = {
        name: built_model.parameters[name]
        for name in method_form.parameters
        if name in built_model.parameters and name not in probability_names
    } | structure_parameter_by_name
    return GridForm(method_form, structure_parameter_by_name, compile_with_counts), known_parameters


def _grid_inputs(
    live: LiveModel,
    form: GridForm,
    known_parameters: Mapping[str, Parameter],
    value_by_input: Mapping[str, float],
    wanted_inputs: Sequence[str],
) -> list[str]:
    """Return the inputs of the grid: the requested ones, then the one that changes the answer most,
    and the number of processors, servers or permits that changes it most.
    """
    slopes = _slopes_of_grid(live)
    effect_by_input = {
        name: abs(slopes.get(name, 0.0) * value) for name, value in value_by_input.items()
    }
    count_names = [
        name
        for name, value in value_by_input.items()
        if str(known_parameters[name].dimension) == "1" and value == int(value) and _is_count(name)
    ]
    report_solved = announcing_progress(
        len(count_names),
        f"the page compares what {with_noun(len(count_names), 'number')} of processors, customers,"
        " servers or permits would change",
    )
    for name in count_names:
        # A count has no derivative in the answer: what doubling it changes takes that place.
        answer_pair = form.columns(
            {name: np.array([value_by_input[name], 2 * value_by_input[name]])}
        ).get(live.quantity, np.full(2, np.nan))
        effect_by_input[name] = float(np.nan_to_num(abs(answer_pair[1] - answer_pair[0]), nan=0.0))
        report_solved(1)
    inputs_by_effect = _inputs_by_effect(effect_by_input, wanted_inputs)
    other_inputs = [name for name in inputs_by_effect if name not in wanted_inputs]
    best_inputs = [name for name in other_inputs if name not in count_names][:1]
    best_counts = [name for name in other_inputs if name in count_names][:1]
    return list(dict.fromkeys((*wanted_inputs, *best_inputs, *best_counts, *other_inputs)))[
        :_GRID_AXES
    ]


def _is_count(path: str) -> bool:
    """Return whether a path ends in a number of processors, customers, servers or permits."""
    return path.rpartition(".")[2] in ("processors", "population", "servers", "permits")


def _inputs_by_effect(
    effect_by_input: Mapping[str, float], wanted_inputs: Sequence[str]
) -> list[str]:
    """Return the inputs in the order of their sliders: first the requested ones, then all others by
    how much each changes the answer.
    """
    for name in wanted_inputs:
        if name not in effect_by_input:
            raise UnknownNameError("input to move", name, list(effect_by_input))
    further_names = sorted(
        (name for name in effect_by_input if effect_by_input[name] and name not in wanted_inputs),
        key=lambda name: -effect_by_input[name],
    )
    return [*dict.fromkeys(wanted_inputs), *further_names]


def _probability_names(built_model: BuiltModel) -> set[str]:
    """Return the names of probabilities. They have no sliders, because those of one choice must add
    up to 1.
    """
    if isinstance(built_model.model, Model):
        probabilities = [
            expr
            for node in distinct_activities(built_model.model.bodies)
            for expr in node.probabilities
        ]
        return {parameter.name for parameter in parameters(*probabilities)}
    routes = built_model.model.routing if isinstance(built_model.model, QueueingNetwork) else ()
    return {parameter.name for parameter in parameters(*(route.probability for route in routes))}


def _change_when_doubled(tape: Tape, slider: Slider) -> float:
    """Return the change of the value if a whole number is doubled, for formulas with steps that
    have no derivative, such as the stages of a tree; 0 for other inputs.
    """
    values_before_and_after = (
        tape.run({slider.name: np.array([slider.value, 2 * slider.value])})[0]
        if slider.whole
        else np.zeros(1)
    )
    return float(abs(values_before_and_after[-1] - values_before_and_after[0]))


def _slider(
    parameter: Parameter, value: float, built_model: BuiltModel, range_factor: float = _SLIDER_REACH
) -> Slider:
    """Return the slider of a parameter around its value."""
    described_value = built_model.entries.get(parameter.name)
    unit = str(parameter.dimension)
    meaning = described_value.meaning if described_value else ""
    low, high = (
        value / range_factor,
        min(value * range_factor, max(value, 1e308)),
    )  # JSON has no number beyond
    is_whole = unit == "1" and value == int(value) and (value >= 2 or _is_count(parameter.name))
    if is_whole:
        low = 1.0 if _is_count(parameter.name) else float(max(1, ceil(low)))
        high = max(high, _LEAST_UPPER_END)
    return Slider(parameter.name, value, low, high, unit, is_whole, meaning)


def _is_costly(model: object, method: str) -> bool:
    """Return whether solving a point takes about 10 ms or more: with a Markov chain, or with
    branches or items that are joined.
    """
    if method == MARKOV_CHAIN or not isinstance(model, Model):
        return method == MARKOV_CHAIN
    return bool(list_parallel_nodes(model.bodies))
