"""The equations of the method that gave an answer, in LaTeX.

The closed form, laws and networks have the equations of `slipstick_equations.equations`. Mean value
adds the waits of the arrival theorem, a Markov chain is its balance, and a simulation the estimate
of a ratio of means. `tests/study/test_method_equations.py` evaluates those of mean value.
"""

from __future__ import annotations

from collections.abc import Iterator

from slipstick.answer import Answer
from slipstick.errors import NoAnswerError
from slipstick.law.law import Law
from slipstick.model.activity import Step, Then
from slipstick.model.network import QueueingNetwork
from slipstick.model.steps import NEVER, each_once
from slipstick.model.system import ClosedPopulation, Model, Station
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
from slipstick_equations.equations import Equations, network_equations, spelt

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


def model_equations(model: Model) -> str:
    """Write the equations of a model's mean time in LaTeX, as a notebook shows them."""
    from slipstick.method.closed_form import whole_time

    lines = " \\\\\n".join(Equations(whole_time(model)).latex)
    return f"\\begin{{align*}}\n{lines}\n\\end{{align*}}"


def _lines(answer: Answer) -> Iterator[str]:
    model = answer.subject
    method = answer.method
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
    """Yield the equations of a cycle with n processors, then those of its waits.

    A wait follows from what the same cycle has with one processor fewer: the number present Q and
    the utilization U. None are written where mean value has further rules: for locks, barriers,
    forks, repetitions, several steps at one station, several servers, other orders than first come
    first served, and times that are all constant.
    """
    closed = isinstance(model.population, ClosedPopulation) and len(model.population.groups) == 1
    nodes = list(each_once(model.bodies))
    used = [step.resource for step in model.steps if step.resource is not None]
    if (
        not closed
        or not all(isinstance(node, Step | Then) for node in nodes)
        or len(used) != len(set(used))
        or not all(_is_plain(model.resources.get(name)) for name in used)
        or all(node.variation == NEVER for node in nodes)
    ):
        return
    first, *rest = equations
    for step in model.steps:
        if step.resource is not None:
            label = f"t_{{{spelt(step.name)}}}"
            first = first.replace(label, f"R_{{{spelt(step.name)}}}(n)")
    yield first.replace("T &=", "T(n) &=", 1)
    for step in model.steps:
        if step.resource is not None:
            name = spelt(step.name)
            place = spelt(step.resource)
            yield f"R_{{{name}}}(n) &= t_{{{name}}} + W_{{{place}}}(n)"
    yield from rest
    yield from _WAITS


def _is_plain(resource: object) -> bool:
    return isinstance(resource, Station) and resource.discipline == "fcfs" and resource.servers == 1


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
        r" z_k \text{: scv of the time between visits, at most 1}"
    ),
)
