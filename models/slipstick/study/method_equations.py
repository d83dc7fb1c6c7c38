"""The equations of the method that gave an answer, in LaTeX.

The closed form, laws and networks have the equations of `slipstick.report.equations`. Mean value
adds the waits of the arrival theorem, a Markov chain is its balance, and a simulation the estimate
of a ratio of means. `tests/study/test_method_equations.py` evaluates those of mean value.
"""

from __future__ import annotations

from collections.abc import Iterator

from slipstick.answer import Answer
from slipstick.errors import NoAnswerError
from slipstick.law.law import Law
from slipstick.model.network import QueueingNetwork
from slipstick.model.steps import HELD, MET, Activity, each_once
from slipstick.model.system import Barrier, ClosedPopulation, Lock, Model, Station
from slipstick.report.equations import Equations, network_equations, spelt
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

_ESTIMATE = (
    r"\hat{x} &= \sum_b a_b \Big/ \sum_b c_b \quad \text{over the batches } b \text{ of a run}",
    r"e_b &= a_b - \hat{x} c_b, \quad r = \max\left(0, \sum_b e_b e_{b+1} \Big/ \sum_b e_b^2\right)",
    r"x &= \hat{x} \pm t_{k-1} \sqrt{\frac{1 + r}{1 - r} \frac{k}{k - 1} \sum_b e_b^2} \Big/ \sum_b c_b",
)
_BALANCE = (
    r"\pi G &= 0, \quad \sum_s \pi_s = 1",
    r"\bar{x} &= \sum_s \pi_s\, x(s)",
)
_FOUND_BY_ARRIVALS = {
    SCHWEITZER: r"Q_{jk}(n - e_r) &\approx Q_{jk}(n) - [j = r]\, Q_{rk}(n) / n_r",
    LINEARIZER: (
        r"Q_{jk}(n - e_r) &\approx (n - e_r)_j \left(Q_{jk}(n) / n_j + F_{rjk}\right), \quad"
        r" F_{rjk} = \frac{Q_{jk}(n - e_r)}{(n - e_r)_j} - \frac{Q_{jk}(n)}{n_j}"
    ),
}


def answer_equations(answer: Answer) -> str:
    """Write the equations of the method that gave an answer, an ``align*`` of LaTeX.

    Raises
    ------
    NoAnswerError : the answer does not know its model, or the method has no equations here
    """
    lines = list(_lines(answer))
    if not lines:
        raise NoAnswerError(
            f"no equations are written for {answer.model} by {answer.method}; slipstick explain"
            " prints those of the model"
        )
    body = " \\\\\n".join(lines)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _lines(answer: Answer) -> Iterator[str]:
    model, method = answer.subject, answer.method
    if model is None:
        raise NoAnswerError(
            f"the answer for {answer.model} does not keep its model; take the answer of solve(...)"
        )
    if method == SIMULATION:
        yield from _ESTIMATE
    elif method == MARKOV_CHAIN:
        yield from _BALANCE
    elif isinstance(model, Law):
        yield model.latex.replace(" = ", " &= ", 1)
    elif isinstance(model, QueueingNetwork):
        if method in (EXACT, CONVOLUTION, SCHWEITZER, LINEARIZER):
            yield from network_equations(model)
            yield from (line for name, line in _FOUND_BY_ARRIVALS.items() if name == method)
    elif isinstance(model, Model) and method in (CLOSED_FORM, MEAN_VALUE):
        from slipstick.method.closed_form import whole_time

        equations = Equations(whole_time(model)).latex
        yield from equations if method == CLOSED_FORM else _with_waits(model, equations)


def _with_waits(model: Model, equations: list[str]) -> Iterator[str]:
    """Yield the equations of a cycle among n processors, and those of its waits.

    A wait follows from what the same cycle has with one processor fewer: the number present Q and
    the utilization U. None are written where a resource has another rule than a first-come station
    of one server, a fifo lock or a barrier.
    """
    resources = model.resources.values()
    closed = isinstance(model.population, ClosedPopulation) and len(model.population.groups) == 1
    if not closed or not all(map(_is_plain, resources)):
        return
    queues = {name for name, resource in model.resources.items() if isinstance(resource, Station)}
    nodes = list(each_once(model.bodies))
    held = dict.fromkeys(_held(node) for node in nodes if node.use == HELD)
    met = dict.fromkeys(_held(node) for node in nodes if node.use == MET)
    first, *rest = equations
    for step in model.steps:
        if step.resource in queues:
            label = f"t_{{{spelt(step.name)}}}"
            first = first.replace(label, f"R_{{{spelt(step.name)}}}(n)")
    first += "".join(f" + V_{{{spelt(name)}}} W_{{{spelt(name)}}}(n)" for name in held)
    first += "".join(f" + B_{{{spelt(name)}}}(n)" for name in met)
    yield first.replace("T &=", "T(n) &=", 1)
    for step in model.steps:
        if step.resource in queues:
            name, place = spelt(step.name), spelt(step.resource or "")
            yield f"R_{{{name}}}(n) &= t_{{{name}}} + W_{{{place}}}(n)"
    yield from rest
    yield from _WAITS
    if held:
        yield r"S_k(n) &= \text{mean time for which } k \text{ is held, waits included, for a lock}"
    if met:
        yield (
            r"B_k(n) &= \mathrm{E} \max_{i \le n} A_i - \mathrm{E} A, \quad A \text{ the time between"
            r" two barriers}"
        )


def _is_plain(resource: object) -> bool:
    match resource:
        case Station():
            return resource.discipline == "fcfs" and resource.servers == 1
        case Lock():
            return resource.kind == "fifo"
        case _:
            return isinstance(resource, Barrier)


def _held(node: Activity) -> str:
    return str(getattr(node, node.named))


_WAITS = (
    (
        r"W_k(n) &= S_k \left(Q_k(n - 1) - U_k(n - 1)\right) + \hat{S}_k\,"
        r" U_k(n - 1)"
    ),
    (
        r"\hat{S}_k &= (1 - w_k) \frac{1 + c_k^2}{2} S_k + w_k S_k, \quad w_k = U_k(n -"
        r" 1)^{n (2 - z_k) / 2} \quad (c_k^2 \le 1)"
    ),
    r"\hat{S}_k &= \text{the residual service of machine repair with two phases} \quad (c_k^2 > 1)",
    r"Q_k(n) &= n V_k \left(S_k + W_k(n)\right) / T(n), \quad U_k(n) = n V_k S_k / T(n)",
    (
        r"V_k, S_k, c_k^2 &\text{: visits in a cycle, mean service and its scv at } k;"
        r" z_k \text{: scv of the time between visits}"
    ),
)
