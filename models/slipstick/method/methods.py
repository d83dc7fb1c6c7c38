"""The methods by the kind of model that each solves, and the functions that call them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import cast

from slipstick.answer import Answer
from slipstick.errors import Definition, UnknownNameError
from slipstick.extensions import FUNCTIONS
from slipstick.law import Law
from slipstick.method.amounts import Amounts
from slipstick.method.answers import CompiledModel
from slipstick.method.identities import Identities
from slipstick.method.ladder import (
    APPROXIMATE_RANK,
    CHAIN_RANK,
    EXACT_RANK,
    SIMULATION_RANK,
    Acceptance,
    LadderForm,
    Method,
    Parameters,
    Subject,
    compile_named,
)
from slipstick.method.names import is_transient
from slipstick.model.added import AddedModel
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model, group_names
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import (
    ACTIVITY,
    BEST,
    BOUNDS,
    CLOSED_FORM,
    EXACT,
    KNOWN,
    KNOWN_OF_NETWORKS,
    LAW,
    LINEARIZER,
    LOWERED,
    MARKOV_CHAIN,
    MEAN_VALUE,
    METHODS,
    METHODS_ADDED,
    NETWORK,
    SIMULATION,
    known_methods,
    model_kinds,
)

_SUBJECTS_BY_KIND = {
    ACTIVITY: "activities and programs",
    LAW: "laws",
    NETWORK: "queueing networks",
}
_KIND_BY_TYPE: dict[type, str] = {
    Model: ACTIVITY,
    Law: LAW,
    QueueingNetwork: NETWORK,
}

# Takeovers are searched one by one, and a longer list of them is not read.
_MOST_TAKEOVERS = 20
"""The largest number of pipelines whose takeovers are searched."""

SIMULATED = (
    "simulated by default, because no faster method has a known error here. 'method: closed-form'"
    " ignores waiting, 'method: mean-value' approximates it; both are faster and give shares"
)

NOT_SIMULATED = "not simulated, because derivatives or thousands of points were requested"

_DEFAULT_SIMULATION = Simulation()


def _compile_closed_form(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    # A queueing network is solved without the modules of activities: a tenth of its start.
    from slipstick.method.closed_form import ClosedForm

    return ClosedForm(cast(Model, model))


def _compile_law(model: Subject, parameters: Parameters, simulation: Simulation) -> CompiledModel:
    from slipstick.method.closed_form import CompiledLaw

    return CompiledLaw(cast(Law, model), parameters)


def _compile_bounds(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    from slipstick.method.bounds import CompiledBounds

    return CompiledBounds(cast(Model, model))


def _accept_unless_smooth(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept every model, unless derivatives or thousands of points are requested."""
    return Acceptance(False, NOT_SIMULATED) if must_be_smooth else Acceptance(True)


def _compile_simulation(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    from slipstick.method.simulation.form import simulation_of

    return simulation_of(cast(Model, model), simulation)


def _compile_network(
    method_name: str, model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    from slipstick.method.networks.form import CompiledNetwork

    network = cast(QueueingNetwork, model)
    if network.constructs & LOWERED:
        form: CompiledModel = FUNCTIONS["chain of a lowered network"](network)
        return form
    return CompiledNetwork(network, method_name)


def _accept_solved_network(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept a network that a solver answers at its own values: exactly, by a small Markov chain,
    or by an approximation whose measured error is at most a tenth.
    """
    network = cast(QueueingNetwork, model)
    if must_be_smooth:
        return Acceptance(True)
    from slipstick.method.networks.form import CompiledNetwork

    form = CompiledNetwork(network, BEST)
    solution = form.solution({})
    if not solution.refused_points:
        return Acceptance(True, form=form)
    return Acceptance(False, solution.remarks_at(0).failed or "no solver answers")


def _accept_lowered_network(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept a network that a Markov chain solves as an activity."""
    return Acceptance(
        not must_be_smooth and bool(cast(QueueingNetwork, model).constructs & LOWERED)
    )


def _accept_large_error(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept an approximation with a large error only where nothing may be simulated."""
    return Acceptance(
        must_be_smooth, "" if must_be_smooth else "its measured error is over a tenth"
    )


def _compile_network_simulation(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    from slipstick.method.networks.simulation import simulation_of

    return simulation_of(cast(QueueingNetwork, model), simulation)


def _compile_network_bounds(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    from slipstick.method.networks.bounds import CompiledNetworkBounds

    return CompiledNetworkBounds(cast(QueueingNetwork, model))


_METHODS_OF_ACTIVITIES = (
    Method(
        CLOSED_FORM,
        ACTIVITY,
        _compile_closed_form,
        EXACT_RANK,
        partial=True,
    ),
    Method(
        SIMULATION,
        ACTIVITY,
        _compile_simulation,
        SIMULATION_RANK,
        _accept_unless_smooth,
        estimates=True,
    ),
    Method(BOUNDS, ACTIVITY, _compile_bounds),
)

_OWN_METHODS = (
    *(replace(method, knows=KNOWN[method.name]) for method in _METHODS_OF_ACTIVITIES),
    Method(
        CLOSED_FORM,
        LAW,
        _compile_law,
        EXACT_RANK,
    ),
    Method(
        BEST,
        NETWORK,
        partial(_compile_network, BEST),
        EXACT_RANK,
        _accept_solved_network,
        knows=KNOWN_OF_NETWORKS[BEST],
    ),
    Method(
        LINEARIZER,
        NETWORK,
        partial(_compile_network, LINEARIZER),
        APPROXIMATE_RANK,
        _accept_large_error,
    ),
    *(
        Method(
            name,
            NETWORK,
            partial(_compile_network, name),
            CHAIN_RANK if name == MARKOV_CHAIN else None,
            _accept_lowered_network,
            partial=True,
            knows=KNOWN_OF_NETWORKS.get(name, frozenset()),
        )
        for name in METHODS[NETWORK]
        if name not in (BEST, LINEARIZER, SIMULATION, BOUNDS)
    ),
    Method(
        SIMULATION,
        NETWORK,
        _compile_network_simulation,
        SIMULATION_RANK,
        _accept_unless_smooth,
        estimates=True,
        knows=KNOWN[SIMULATION],
    ),
    Method(BOUNDS, NETWORK, _compile_network_bounds),
)


def method_named(model_kind: str, name: str) -> Method:
    """Return a method by its name for a kind of model; a method of another package, such as
    mean value, is imported only now.
    """
    own_methods = {method.name: method for method in _OWN_METHODS if method.kind == model_kind}
    return own_methods[name] if name in own_methods else METHODS_ADDED[f"{model_kind}/{name}"]


def ladder(model_kind: str) -> list[Method]:
    """List the methods that answer for a kind of model if none is named, in the order in which they
    are tried.
    """
    methods = [method_named(model_kind, name) for name in known_methods(model_kind)]
    return sorted((method for method in methods if method.rank is not None), key=attrgetter("rank"))


def default_method(model: Subject, must_be_smooth: bool = False) -> str:
    """Return the name of the method that answers if none is named and the closed form is not exact.

    Of an activity it is mean value, where that is exact or an error is promised, and the Markov
    chain before it at points where that is small; else simulation,
    which leaves nothing out: above all where all times are constant, so that processors may fall
    into step. Of a network it is the most exact solver that its size allows, chosen for each point;
    simulation where nothing is left but an approximation whose measured error is over a tenth.

    Parameters
    ----------
    model : the system, the network, or the law
    must_be_smooth : derivatives, or thousands of points, are asked for, so nothing is simulated

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> [
    ...     default_method(closed_model(delay(9.0) >> service("bus", 3.0, scv=scv), processors=4))
    ...     for scv in (0.0, 1.0)
    ... ]
    ['simulation', 'mean-value']
    """
    form = form_of(model, {}, must_be_smooth=must_be_smooth)
    return form.method if isinstance(form, LadderForm) else known_methods(kind_of(model))[0]


def kind_of(model: Subject) -> str:
    """Name the kind of a model."""
    return model.kind if isinstance(model, AddedModel) else _KIND_BY_TYPE[type(model)]


def form_of(
    model: Subject,
    parameters: Parameters,
    method: str | None = None,
    simulation: Simulation | None = None,
    must_be_smooth: bool = False,
) -> CompiledModel:
    """Compile a model by a method, or by the ladder of methods, for many points.

    Parameters
    ----------
    model : the system, the network, or the law
    parameters : a parameter with a value for each symbol of a law
    method : by name; None is the ladder of the model: at each point the first method that takes it
    simulation : settings of a simulation: seed, precision, budget
    must_be_smooth : nothing is simulated, unless it is named

    Raises
    ------
    UnknownNameError : there is no such method for such a model
    NoAnswerError : the method has no rule for a part of the model

    >>> from slipstick.late import np
    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    >>> form = form_of(closed_model(cycle, processors=10), {})
    >>> form.points({"population.processors": np.array([1.0, 10.0])}).provenance().methods
    ['closed-form', 'mean-value']
    """
    simulation_settings = simulation or _DEFAULT_SIMULATION
    model_kind = kind_of(model)
    known_name = _known_method(model_kind, method)
    if isinstance(model, Law) or known_name:
        method_name = known_name or METHODS[LAW][0]
        # Bounds give no values, so that they are no way out.
        other_methods = {
            other_name: partial(method_named, model_kind, other_name)
            for other_name in known_methods(model_kind)
            if other_name not in (method_name, BOUNDS, BEST)
        }
        form = compile_named(
            method_named(model_kind, method_name),
            model,
            parameters,
            simulation_settings,
            other_methods,
        )
    else:
        form = LadderForm(
            model, parameters, simulation_settings, must_be_smooth, ladder(model_kind)
        )
    if not isinstance(model, Law):  # a law is never imported
        form.left_out = model.left_out
    if isinstance(model, Model):
        form.estimates = model.estimates
    if isinstance(model, Model | AddedModel):
        form.requires = model.requires
    if isinstance(model, Model | QueueingNetwork):
        form.identities = Identities(model).without_contradictions
        if model.absences:
            form.remove_absent_servers = FUNCTIONS["solutions of customers"](model)
        # An amount is computed from values, of which bounds have none.
        if model.amounts and method != BOUNDS:
            form.amounts = Amounts(model, form.quantity, form.slopes)
            form.parameters = tuple(dict.fromkeys([*form.parameters, *form.amounts.parameters]))
    if method != BOUNDS and isinstance(model, Model | QueueingNetwork):
        bounds_method = method_named(model_kind, BOUNDS)
        # Compiled only if an answer is compared: exact answers at many points are not.
        form.bounds = lambda: bounds_method.compiled(model, parameters, simulation_settings)
    return form


def default_answer(
    model: Subject,
    parameters: Parameters,
    simulation: Simulation | None = None,
    must_be_smooth: bool = False,
) -> Answer:
    """Return the answer for a model at its own values if no method is named.

    This is the one place in which a default answer at one point is made; of many points
    `LadderForm` makes it.

    Parameters
    ----------
    model, parameters, simulation, must_be_smooth : as for `form_of`
    """
    form = form_of(model, parameters, None, simulation, must_be_smooth)
    answer = form.points({}).answer(0)
    if not isinstance(form, LadderForm) or answer.failed or isinstance(model, AddedModel):
        return answer
    if isinstance(model, QueueingNetwork):
        is_plain_simulation = answer.method == SIMULATION and answer.check is None
        refusal_reason = form.refusal_by_method.get(BEST) if is_plain_simulation else None
        simulation_notes = (f"simulated by default: {refusal_reason}",) if refusal_reason else ()
        return replace(answer, notes=(*simulation_notes, *answer.notes))
    if answer.method == SIMULATION and answer.check is None:
        refusal_reason = form.refusal_by_method.get(CLOSED_FORM)
        simulation_note = f"simulated by default: {refusal_reason}" if refusal_reason else SIMULATED
        return replace(answer, notes=(*answer.notes, simulation_note))
    return _with_stage_takeovers(form.closed, answer)


def _with_stage_takeovers(form: CompiledModel | None, answer: Answer) -> Answer:
    """Add to an answer by closed form the values of parameters at which another stage of a pipeline
    becomes the slowest. Each pipeline is searched by itself, so this is left out if more than
    `_MOST_TAKEOVERS` pipelines have a limit.
    """
    # Only a pipeline limits an activity, so that other answers need no import.
    if answer.failed or not 0 < len(answer.limits) <= _MOST_TAKEOVERS:
        return answer
    from slipstick.method.closed_form import ClosedForm, with_takeovers

    if not isinstance(form, ClosedForm):
        return answer
    return replace(answer, limits=with_takeovers(form, answer.limits, {}))


def compute_answers(
    model: Subject,
    parameters: Parameters,
    method: str | None = None,
    simulation: Simulation | None = None,
    must_be_smooth: bool = False,
    values: Collection[str] = (),
) -> tuple[Answer, ...]:
    """Return the answers for a model by one method, at the model's own values; bounds may be
    several answers.

    Parameters
    ----------
    model, parameters, method, simulation, must_be_smooth : as for `form_of`
    values : that are asked for: each has its state in `slipstick.answer.Answer.asked`; those before
        the steady state of a network, such as ``time_until[door,2]``, are computed as well. Where
        no method is named, one is taken that has them, such as a simulation for quantiles

    Raises
    ------
    UnknownNameError : there is no such method for such a model
    """
    answers = _steady_state_answers(model, parameters, method, simulation, must_be_smooth)
    if not values:
        return answers
    from slipstick.method.asked import method_needed, value_states

    answers = _with_transient_values(answers, model, parameters, values, simulation)
    first_answer = answers[0]
    if method is None and not first_answer.failed and not must_be_smooth:
        needed_method = method_needed(
            model, value_states(model, first_answer, values), first_answer
        )
        needed_answers = (
            _steady_state_answers(model, parameters, needed_method, simulation, must_be_smooth)
            if needed_method
            else ()
        )
        if needed_answers and not needed_answers[0].failed:
            missing_values = [
                name
                for name, state in value_states(model, first_answer, values).items()
                if state.way_to_value
            ]
            method_note = f"by {needed_method}, because {', '.join(missing_values)} was asked for"
            answers = tuple(
                replace(answer, notes=(method_note, *answer.notes)) for answer in needed_answers
            )
            answers = _with_transient_values(answers, model, parameters, values, simulation)
    return tuple(
        answer if answer.failed else replace(answer, asked=value_states(model, answer, values))
        for answer in answers
    )


THROUGHPUT_OF_PROGRAM = Definition(
    "throughput is that of processors that end the program: their number divided by its time"
)


def note_on_groups(model: Model, further_values: str = "") -> str:
    """Return the note on which values belong to the first of several groups.

    Parameters
    ----------
    model : with the groups; streams may stand before its processors in a file, but come last in it
    further_values : further values of the first group, as the beginning of a list
    """
    names_of_groups = group_names(model)
    has_both = 0 < len(model.population.streams) < len(names_of_groups)
    first_group = "first group of processors" if has_both else "first group"
    return Definition(
        f"{further_values}account, shares, speed-up and processors lost are those of the"
        f" {first_group}, {names_of_groups[0]}"
    )


def _with_groups(answer: Answer, model: Model) -> Answer:
    """Add the names of the groups to an answer, and a note on which values belong to the first."""
    notes = answer.notes if answer.failed else (*answer.notes, note_on_groups(model))
    return replace(answer, groups=tuple(group_names(model)), notes=notes)


def _with_transient_values(
    answers: tuple[Answer, ...],
    model: Subject,
    parameters: Parameters,
    value_names: Collection[str],
    simulation: Simulation | None,
) -> tuple[Answer, ...]:
    """Add the transient values of a network or an activity that are asked for."""
    if not isinstance(model, QueueingNetwork | Model) or not any(map(is_transient, value_names)):
        return answers
    parameter_values = {
        path: parameter.value
        for path, parameter in parameters.items()
        if parameter.value is not None
    }
    return tuple(
        answer
        if answer.failed
        else FUNCTIONS["answer with transient values"](
            answer, model, value_names, parameter_values, simulation
        )
        for answer in answers
    )


def _steady_state_answers(
    model: Subject,
    parameters: Parameters,
    method: str | None,
    simulation: Simulation | None,
    must_be_smooth: bool,
) -> tuple[Answer, ...]:
    """Return the answers in steady state, with a note on groups where there are several, and on the
    throughput of a program.
    """
    answers = _answers_without_note(model, parameters, method, simulation, must_be_smooth)
    if isinstance(model, Model) and model.population.finite:
        return tuple(
            replace(answer, notes=(*answer.notes, THROUGHPUT_OF_PROGRAM))
            if "throughput" in answer.values
            else answer
            for answer in answers
        )
    if isinstance(model, Model) and len(group_names(model)) > 1:
        return tuple(_with_groups(answer, model) for answer in answers)
    return answers


def _answers_without_note(
    model: Subject,
    parameters: Parameters,
    method: str | None,
    simulation: Simulation | None,
    must_be_smooth: bool,
) -> tuple[Answer, ...]:
    """Return the answers in steady state, without the note on groups."""
    if method is None:
        return (default_answer(model, parameters, simulation, must_be_smooth),)
    if method == BOUNDS and isinstance(model, QueueingNetwork):
        from slipstick.method.networks.bounds import network_bounds

        return tuple(replace(answer, left_out=model.left_out) for answer in network_bounds(model))
    form = form_of(model, parameters, method, simulation)
    return (_with_stage_takeovers(form, form.points({}).answer(0)),)


def _known_method(model_kind: str, method_name: str | None) -> str | None:
    """Return the name of the method, after a check that it exists for the kind of model; None if
    the ladder of methods answers.
    """
    if method_name is None or (model_kind, method_name) == (NETWORK, BEST):
        return None
    method_names = known_methods(model_kind)
    if method_name not in method_names:
        other_subjects = [
            _SUBJECTS_BY_KIND.get(other_kind, f"files of the kind {other_kind}")
            for other_kind in model_kinds()
            if method_name in known_methods(other_kind)
        ]
        hint = (
            f" for it: it is for {other_subjects[0]}; known: {', '.join(method_names)}"
            if other_subjects
            else ""
        )
        meant_method = _METHODS_MEANT.get(method_name, {}).get(model_kind)
        hint = f"; write {meant_method}" if meant_method else hint
        raise UnknownNameError("method", str(method_name)[:100], method_names, hint)
    return method_name


_METHODS_MEANT = {"mva": {ACTIVITY: MEAN_VALUE, NETWORK: EXACT}}
"""Methods by what the field calls them, by the kind of model."""
