"""The equations of the method that gave an answer, in LaTeX.

The closed form, laws and networks have the equations of `slipstick_equations.equations`. Mean value
adds the waits of the arrival theorem and the maxima of forks and barriers, a Markov chain is its
balance, and a simulation the estimate of a ratio of means.
`tests/study/test_method_equations.py` evaluates those of mean value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slipstick.answer import Answer
from slipstick.errors import NoAnswerError
from slipstick.law.law import Law
from slipstick.model.activity import BarrierWait, Fork, Hold, Step, Then
from slipstick.model.network import QueueingNetwork
from slipstick.model.steps import NEVER, Activity, distinct_activities
from slipstick.model.system import ClosedPopulation, Lock, Model, Station
from slipstick.vocabulary import (
    CLOSED_FORM,
    CONVOLUTION,
    EXACT,
    LINEARIZER,
    MARKOV_CHAIN,
    MEAN_VALUE,
    SCHWEITZER,
    SIMULATION,
)
from slipstick_equations.equations import Equations, latex_text, network_equations

_ESTIMATE_EQUATIONS = (
    r"\hat{x} &= \sum_b a_b \Big/ \sum_b c_b \quad \text{over the batches } b \text{ of a run}",
    (
        r"e_b &= a_b - \hat{x} c_b, \quad r = \max\left(0, \sum_b e_b e_{b+1} \Big/ \sum_b"
        r" e_b^2\right)"
    ),
    (
        r"x &= \hat{x} \pm t_{k-1} \sqrt{\frac{1 + r}{1 - r} \frac{k}{k - 1} \sum_b e_b^2} \Big/"
        r" \sum_b c_b"
    ),
)
_BALANCE_EQUATIONS = (
    r"\pi G &= 0, \quad \sum_s \pi_s = 1",
    r"\bar{x} &= \sum_s \pi_s\, x(s)",
)
_ARRIVAL_APPROXIMATIONS = {
    SCHWEITZER: r"Q_{jk}(n - e_r) &\approx Q_{jk}(n) - [j = r]\, Q_{rk}(n) / n_r",
    LINEARIZER: (
        r"Q_{jk}(n - e_r) &\approx (n - e_r)_j \left(Q_{jk}(n) / n_j + F_{rjk}\right), \quad"
        r" F_{rjk} = \frac{Q_{jk}(n - e_r)}{(n - e_r)_j} - \frac{Q_{jk}(n)}{n_j}"
    ),
}


def answer_equations_latex(answer: Answer) -> str:
    """Return the equations of the method that gave an answer, as an ``align*`` of LaTeX.

    Raises
    ------
    NoAnswerError : the answer does not know its model, or a part of the model has further rules in
        this method, of which no equations are written; the message names the part
    """
    lines = list(_lines_of_equations(answer))
    if not lines:
        raise NoAnswerError(_no_equations_message(answer, "this model"))
    equation_lines = " \\\\\n".join(lines)
    return f"\\begin{{align*}}\n{equation_lines}\n\\end{{align*}}"


def _no_equations_message(answer: Answer, part_phrase: str) -> str:
    """Return the message that there are no equations because of a part of a model."""
    return (
        f"no equations are written for {part_phrase} by {answer.method}, in {answer.model};"
        " slipstick"
        " explain prints those of the model"
    )


def model_equations_latex(model: Model) -> str:
    """Return the equations of a model's mean time in LaTeX, as a notebook shows them."""
    from slipstick.method.closed_form import whole_time

    lines = " \\\\\n".join(Equations(whole_time(model)).latex)
    return f"\\begin{{align*}}\n{lines}\n\\end{{align*}}"


def _lines_of_equations(answer: Answer) -> Iterator[str]:
    """Yield the lines of the equations of the method that gave an answer."""
    model = answer.subject
    method = answer.method
    if model is None:
        raise NoAnswerError(
            f"the answer for {answer.model} does not keep its model; take the answer of solve(...)"
        )
    if method == SIMULATION:
        yield from _ESTIMATE_EQUATIONS
    elif method == MARKOV_CHAIN:
        yield from _BALANCE_EQUATIONS
    elif isinstance(model, Law):
        yield model.latex.replace(" = ", " &= ", 1)
    elif isinstance(model, QueueingNetwork):
        if method in (EXACT, CONVOLUTION, SCHWEITZER, LINEARIZER):
            yield from network_equations(model)
            yield from (line for name, line in _ARRIVAL_APPROXIMATIONS.items() if name == method)
    elif isinstance(model, Model) and method in (CLOSED_FORM, MEAN_VALUE):
        from slipstick.method.closed_form import whole_time

        equations = Equations(whole_time(model)).latex
        if method == CLOSED_FORM:
            yield from equations
        elif part_without_equations := _part_without_equations_phrase(model):
            raise NoAnswerError(_no_equations_message(answer, part_without_equations))
        elif any(isinstance(node, BarrierWait) for node in distinct_activities(model.bodies)):
            yield from _section_equations(model, equations)
        else:
            yield from _wait_equations(model, equations)


def _part_without_equations_phrase(model: Model) -> str:
    """Return a phrase for the first part of a model whose rules in mean value go beyond a sequence
    of queues, so that no equations are written; empty if there is no such part.
    """
    if not isinstance(model.population, ClosedPopulation):
        return "arrivals from outside"
    if len(model.population.groups) > 1:
        return "several groups of customers"
    nodes = list(distinct_activities(model.bodies))
    for node in nodes:
        if not _has_equations(node):
            return _part_name(model, node)
        if isinstance(node, Hold) and not _is_plain(node):
            return f"what is done while {node.resource} is held"
    resource_names = _used_resource_names(nodes)
    if repeated_name := next(
        (name for name in resource_names if resource_names.count(name) > 1), ""
    ):
        return f"several visits to {repeated_name}"
    for name in resource_names:
        if _discipline_of_queue(model, name) not in ("fcfs", "ps", "is"):
            return f"{model.resources[name].noun} {name}"
    return "times that are all constant" if all(node.variation == NEVER for node in nodes) else ""


def _has_equations(node: Activity) -> bool:
    """Return whether the method has equations for a node: for a step, a sequence, a hold, a barrier
    of all processors, and a fork that waits for all its branches if no branch meets a barrier.
    """
    if isinstance(node, Fork):
        inner_nodes = distinct_activities(node.branches)
        return node.join is None and not any(
            isinstance(inner_node, BarrierWait) for inner_node in inner_nodes
        )
    if isinstance(node, BarrierWait):
        return node.parties is None
    return isinstance(node, Step | Then | Hold)


def _part_name(model: Model, node: Activity) -> str:
    """Return the kind of a step, or its resource with the noun, such as ``a barrier meet``."""
    if isinstance(node, BarrierWait):
        return f"{model.resources[node.name].noun} {node.name}"
    return f"a {type(node).__name__.lower()}"


def _used_resource_names(nodes: Sequence[Activity]) -> list[str]:
    """Return the resource of each visit and hold, in the order in which they are written."""
    return [
        str(node.resource)
        for node in nodes
        if isinstance(node, Step | Hold) and node.resource is not None
    ]


def _wait_equations(model: Model, equations: list[str]) -> Iterator[str]:
    """Yield the equations of a cycle with n processors, and then the equations of its waits.

    A wait follows from what the same cycle has with one processor fewer: the number present Q and
    the utilization U. A lock is a queue whose service is all that is done while it is held. Models
    with `_part_without_equations_phrase` have none.
    """
    steps_by_queue = _steps_by_queue(model, list(distinct_activities(model.bodies)))
    first_equation, *further_equations = equations
    residence_equations = []
    for name, service_steps in steps_by_queue.items():
        time_symbol = f"t_{{{latex_text(service_steps[0].name)}}}"
        wait_symbol = f"W_{{{latex_text(name)}}}(n)"
        if name == service_steps[0].resource:
            residence_symbol = f"R_{{{latex_text(service_steps[0].name)}}}(n)"
            first_equation = first_equation.replace(time_symbol, residence_symbol)
            residence_equations.append(f"{residence_symbol} &= {time_symbol} + {wait_symbol}")
        else:
            first_equation = first_equation.replace(time_symbol, f"{wait_symbol} + {time_symbol}")
            service_times = " + ".join(f"t_{{{latex_text(step.name)}}}" for step in service_steps)
            residence_equations.append(f"S_{{{latex_text(name)}}} &= {service_times}")
    has_forks = r"\max" in first_equation
    yield first_equation.replace("T &=", "T(n) &=", 1).replace(r"\max", r"\mathrm{E} \max")
    if has_forks:
        yield from _MAXIMUM_EQUATIONS
    yield from residence_equations
    yield from further_equations
    shared_stations = [name for name in steps_by_queue if _discipline_of_queue(model, name) == "ps"]
    if shared_stations:
        station_names = ", ".join(map(latex_text, shared_stations))
        yield rf"W_k(n) &= S_k Q_k(n - 1) \quad \text{{at }} {station_names}"
    if len(shared_stations) < len(steps_by_queue):
        yield from _WAIT_EQUATIONS
    yield from _NUMBER_EQUATIONS


def _section_equations(model: Model, equations: list[str]) -> Iterator[str]:
    """Yield the equations of a cycle that barriers divide into sections, each of which takes as
    long as the slowest of n processors. The waits after a common start are described in words.
    """
    (cycle,) = model.bodies
    sections: list[list[Activity]] = [[]]
    for part in _successive_parts(cycle):
        if isinstance(part, BarrierWait):
            sections.append([])
        else:
            sections[-1].append(part)
    # What follows the last barrier goes on in the next cycle up to the first one.
    sections[0] = [*sections.pop(), *sections[0]]
    steps_by_queue = _steps_by_queue(model, list(distinct_activities(model.bodies)))
    section_sums = [
        " + ".join(_part_time_latex(part, steps_by_queue) for part in section)
        for section in sections
    ]
    barrier_names = [
        part.name for part in _successive_parts(cycle) if isinstance(part, BarrierWait)
    ]
    terms = [
        f"M_{{{section_number}}}(n)"
        for section_number, section_sum in enumerate(section_sums, start=1)
        if section_sum
    ]
    terms += [f"t_{{{latex_text(f'barrier:{name}')}}}" for name in barrier_names]
    yield f"T(n) &= {' + '.join(terms)}"
    for section_number, section_sum in enumerate(section_sums, start=1):
        if section_sum:
            processor_time = f"X_{{{section_number},i}}"
            yield rf"M_{{{section_number}}}(n) &= \mathrm{{E}} \max_{{i \le n}} {processor_time}"
            yield rf"{processor_time} &= {section_sum} \quad \text{{of processor }} i"
    yield from _MAXIMUM_EQUATIONS
    yield from equations[1:]
    if steps_by_queue:
        yield _EQUATION_AFTER_BARRIER


def _successive_parts(body: Activity) -> Iterator[Activity]:
    """Yield the parts of a body that follow each other."""
    if isinstance(body, Then):
        for inner_activity in body.parts:
            yield from _successive_parts(inner_activity)
    else:
        yield body


def _part_time_latex(node: Activity, steps_by_queue: Mapping[str, list[Step]]) -> str:
    """Return the time of a part of a section in LaTeX, including its waits."""
    if isinstance(node, Fork):
        branch_times = ", ".join(
            _part_time_latex(branch, steps_by_queue) for branch in node.branches
        )
        return rf"\max\left({branch_times}\right)"
    if isinstance(node, Hold):
        return (
            f"W_{{{latex_text(node.resource)}}}(n) + {_part_time_latex(node.body, steps_by_queue)}"
        )
    if not isinstance(node, Step):
        return " + ".join(
            _part_time_latex(part, steps_by_queue) for part in _successive_parts(node)
        )
    time_symbol = f"t_{{{latex_text(node.name)}}}"
    has_wait = node.resource is not None and node in steps_by_queue.get(str(node.resource), [])
    return f"W_{{{latex_text(str(node.resource))}}}(n) + {time_symbol}" if has_wait else time_symbol


def _steps_by_queue(model: Model, nodes: Sequence[Activity]) -> dict[str, list[Step]]:
    """Return the steps of the service at each resource where processors wait, by the name of the
    resource.
    """
    steps_of_holds = {
        node.resource: [*steps_in(node.body)] for node in nodes if isinstance(node, Hold)
    }
    held_steps = {step.name for service_steps in steps_of_holds.values() for step in service_steps}
    steps_by_resource = {
        str(node.resource): [node]
        for node in nodes
        if isinstance(node, Step)
        and node.resource is not None
        and node.name not in held_steps
        and _discipline_of_queue(model, str(node.resource)) != "is"
    }
    return steps_by_resource | steps_of_holds


def steps_in(body: Activity) -> Iterator[Step]:
    """Yield the steps of a body, in the order in which they are written."""
    return (node for node in distinct_activities([body]) if isinstance(node, Step))


def _is_plain(hold: Hold) -> bool:
    """Return whether a hold has one phase, one permit, and a body that is a sequence of steps."""
    inner_nodes = distinct_activities([hold.body])
    return (
        hold.after is None
        and not hold.mode
        and hold.permits is None
        and all(isinstance(node, Step | Then) for node in inner_nodes)
    )


def _discipline_of_queue(model: Model, name: str) -> str:
    """Return the discipline of a station of one server, or of a lock in the order of requests;
    empty for any other resource.
    """
    resource = model.resources.get(name)
    if isinstance(resource, Station) and resource.servers == 1 and not resource.rates:
        return resource.discipline
    return "fcfs" if isinstance(resource, Lock) and resource == Lock() else ""


_WAIT_EQUATIONS = (
    (
        r"W_k(n) &= S_k \left(Q_k(n - 1) - U_k(n - 1)\right) + \hat{S}_k\,"
        r" U_k(n - 1)"
    ),
    (
        r"\hat{S}_k &= (1 - w_k) \frac{1 + c_k^2}{2} S_k + w_k S_k, \quad w_k = U_k(n -"
        r" 1)^{n (2 - z_k) / 2} \quad (c_k^2 \le 1)"
    ),
    r"\hat{S}_k &= \text{the residual service of machine repair with two phases} \quad (c_k^2 > 1)",
    r"z_k &\text{: scv of the time between visits to } k \text{, at most 1}",
)

_MAXIMUM_EQUATIONS = (
    r"\mathrm{E} \max_i X_i &= \int_0^\infty 1 - \prod_i F_i(x)\, dx",
    (
        r"F_i &\text{: distribution of } X_i \text{, exact for one constant or exponential time,}"
        r" \text{ else fitted to its mean and variance}"
    ),
)

_EQUATION_AFTER_BARRIER = (
    r"W_k(n) &\text{: mean wait at } k \text{ of processors that start together; it follows from"
    " the"
    r" gaps between their arrivals, whose equations are left out}"
)

_NUMBER_EQUATIONS = (
    r"Q_k(n) &= n V_k \left(S_k + W_k(n)\right) / T(n), \quad U_k(n) = n V_k S_k / T(n)",
    (
        r"V_k, S_k, c_k^2 &\text{: visits in a cycle, mean service and its scv at } k;"
        r" \text{ of a lock, of all that is done while it is held}"
    ),
)
