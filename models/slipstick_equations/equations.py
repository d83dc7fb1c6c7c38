"""Models and laws as equations, with every symbol's unit, meaning and source.

The time of a model is an equation over the times of its steps, followed by the time of each step
over the paths of the spec. A queueing network has the equations that hold for all networks like it,
and its demands over the paths of its file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from slipstick.expression.nodes import (
    TIME,
    Booked,
    Expr,
    Number,
    Operation,
    Parameter,
    operands,
    parameters,
    text,
    walk,
    zero,
)
from slipstick.expression.symbolic import latex
from slipstick.late import dataclass, field, replace
from slipstick.law import network
from slipstick.law.law import Law
from slipstick.law.pipeline import FLOW_LINE
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.model.activity import Pipeline
from slipstick.model.added import AddedModel
from slipstick.model.network import ClosedClass, NetworkStation, QueueingNetwork
from slipstick.model.steps import steps
from slipstick.model.system import (
    ClosedPopulation,
    Group,
    Model,
    OpenPopulation,
    StreamsPopulation,
    SuperstepPopulation,
)
from slipstick.report.formatting import NOTHING, Notes, ascii_only, plain_table, quantity, wrapped
from slipstick.vocabulary import DISCIPLINES, LOSS

if TYPE_CHECKING:
    from slipstick.schema.kinds.quantity import DescribedValue


_LONGEST_LINE = (
    150  # a structure of more nodes than this gets names for the parts that come up more than once
)
_LEAST_NODES_OF_SYMBOL = 8
_TERMS_IN_LINE = 4
_LEAST_LETTERS_SHARED = 80
"""Letters of a right side from which on several symbols share it."""

MOST_LINES = 100
"""Lines of an explanation from which on its summary is printed instead."""

_MOST_LINES_OF_TIME = 20
_MOST_SYMBOLS = 40
_INDENT = "    "
Entries = Mapping[str, "DescribedValue"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The content of an explanation of a model, a network or a law.

    Parameters
    ----------
    name, title, source : what it is in the catalogue, and where it is published
    subject : the model, the network, or the law
    entries : the description of each quantity in the specs, if known
    time_expression : the time of a model, its steps labelled (`Booked`), as the closed form adds it
        up
    solved_equations : equations of a network that was solved in symbols, in plain text and in LaTeX
    left_out : phrases on the parts that the time of a model leaves out at its own values
    """

    name: str
    title: str
    source: str
    subject: Model | QueueingNetwork | AddedModel | Law
    entries: Entries = field(default_factory=dict)
    time_expression: Expr | None = None
    solved_equations: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation: a symbol in plain text and in LaTeX, and the expression over parameters that it
    equals.
    """

    name: str
    latex_symbol: str
    right_side: Expr


class Equations:
    """The equations of a model, read from an expression of its time whose steps are labelled.

    Parameters
    ----------
    structure : the time, as the closed form adds it up, with `Booked` steps

    >>> work = Booked("work", Parameter("grain") / Parameter("speed"))
    >>> for line in Equations(Parameter("n") * work).texts:
    ...     print(line)
    T = n * t[work]
    t[work] = grain / speed
    """

    def __init__(self, structure: Expr) -> None:
        self._symbol_by_token: dict[str, tuple[str, str]] = {}
        self._tokens: dict[str, str] = {}
        self.steps: dict[str, Expr] = {}
        self.equations: list[Equation] = []
        full_time = self._without_steps(structure)
        time_with_symbols = self._with_shared_symbols(full_time)
        self.equations.insert(0, Equation("T", "T", time_with_symbols))
        self.equations += [
            Equation(*self._symbol_by_token[self._tokens[name]], right)
            for name, right in self.steps.items()
        ]

    @property
    def texts(self) -> list[str]:
        """Every equation in plain text; symbols of the same long right side share one."""
        names_by_side: dict[tuple[str, str], list[str]] = {}
        for equation in self.equations:
            side = self._text_with_symbols(text(equation.right_side))
            # A short right side is repeated, so that each symbol has a line of its own.
            own_name = equation.name if len(side) < _LEAST_LETTERS_SHARED else ""
            names_by_side.setdefault((side, own_name), []).append(equation.name)
        return [f"{' = '.join(names)} = {side}" for (side, _), names in names_by_side.items()]

    @property
    def latex(self) -> list[str]:
        r"""Every equation as a line of ``align*``; a long sum continues in the next line."""
        latex_by_token = {
            token: symbol_latex for token, (_, symbol_latex) in self._symbol_by_token.items()
        }
        return [
            f"{equation.latex_symbol} &= {_broken_line(equation.right_side, latex_by_token)}"
            for equation in self.equations
        ]

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters of the equations except the times of steps, in the order of their first
        use.
        """
        nodes = (node for equation in self.equations for node in walk(equation.right_side))
        parameter_by_name = {
            node.name: node
            for node in nodes
            if isinstance(node, Parameter) and node.name not in self._symbol_by_token
        }
        return list(parameter_by_name.values())

    def _text_with_symbols(self, equation_text: str) -> str:
        """Return the text of an equation in which symbols replace their placeholder names."""
        for token, (symbol_text, _) in self._symbol_by_token.items():
            equation_text = equation_text.replace(token, symbol_text)
        return equation_text

    def _placeholder_name(self, symbol_text: str, symbol_latex: str) -> str:
        """Return a placeholder name for a symbol such as `t[x]`, which cannot be the name of a
        parameter.
        """
        token = f"SYMBOL{len(self._symbol_by_token):06d}"
        self._symbol_by_token[token] = (symbol_text, symbol_latex)
        return token

    def _without_steps(self, expr: Expr) -> Expr:
        """Return an expression in which a symbol replaces each step, and record the expression of
        the step.
        """
        new_nodes: dict[int, Expr] = {}
        for node in walk(expr):
            if isinstance(node, Booked):
                if node.label not in self.steps:
                    self.steps[node.label] = new_nodes[id(node.inner_expr)]
                    self._tokens[node.label] = self._placeholder_name(
                        f"t[{node.label}]", f"t_{{{latex_text(node.label)}}}"
                    )
                new_nodes[id(node)] = Parameter(self._tokens[node.label], node.dimension)
            else:
                new_nodes[id(node)] = _rebuild_expression(node, new_nodes)
        return new_nodes[id(expr)]

    def _with_shared_symbols(self, expr: Expr) -> Expr:
        """Return an expression in which symbols replace long parts that occur more than once, to
        keep equations short.
        """
        use_count_by_id = Counter(id(operand) for node in walk(expr) for operand in operands(node))
        size_by_id: dict[int, int] = {}
        for node in walk(expr):
            size_by_id[id(node)] = 1 + sum(size_by_id[id(operand)] for operand in operands(node))
        if size_by_id[id(expr)] <= _LONGEST_LINE:
            return expr
        new_nodes: dict[int, Expr] = {}
        for node in walk(expr):
            new_nodes[id(node)] = _rebuild_expression(node, new_nodes)
            if use_count_by_id[id(node)] > 1 and size_by_id[id(node)] >= _LEAST_NODES_OF_SYMBOL:
                symbol_number = len(self.equations) + 1
                token = self._placeholder_name(f"x{symbol_number}", f"x_{{{symbol_number}}}")
                self.equations.append(Equation(*self._symbol_by_token[token], new_nodes[id(node)]))
                new_nodes[id(node)] = Parameter(token, node.dimension)
        return new_nodes[id(expr)]


def _rebuild_expression(node: Expr, new_nodes: Mapping[int, Expr]) -> Expr:
    """Return an expression in which new nodes replace its operands; the expression itself if all
    operands are unchanged.
    """
    if not isinstance(node, Operation):
        return node
    new_operands = tuple(new_nodes[id(operand)] for operand in node.operands)
    is_same = all(
        new_operand is old_operand
        for new_operand, old_operand in zip(new_operands, node.operands, strict=True)
    )
    return node if is_same else replace(node, operands=new_operands)


def _broken_line(right_side: Expr, latex_by_symbol: Mapping[str, str]) -> str:
    """Return a sum in LaTeX, broken into several lines if it is long."""
    terms = list(_flat_terms(right_side))
    if len(terms) <= _TERMS_IN_LINE:
        return latex(right_side, latex_by_symbol)
    lines = [
        terms[first_term_index : first_term_index + _TERMS_IN_LINE]
        for first_term_index in range(0, len(terms), _TERMS_IN_LINE)
    ]
    return " \\\\\n&\\quad {} + ".join(
        " + ".join(latex(term, latex_by_symbol) for term in line) for line in lines
    )


def _flat_terms(expr: Expr) -> Iterator[Expr]:
    """Yield the terms of a sum; the terms of nested sums are included."""
    if isinstance(expr, Operation) and expr.operator == "sum":
        for operand in expr.operands:
            yield from _flat_terms(operand)
    else:
        yield expr


def latex_text(text: str) -> str:
    r"""Return a text as upright LaTeX, with its special characters escaped.

    >>> print(latex_text("send_call & 50%"))
    \text{send\_call \& 50\%}
    """
    latex_by_sign = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
    escaped_text = "".join(
        latex_by_sign.get(letter, f"\\{letter}" if letter in "_&%#${}" else letter)
        for letter in text
    )
    return rf"\text{{{escaped_text}}}"


def laws_in_expressions(*expressions: Expr) -> list[Law]:
    """Return the laws whose form occurs in the expressions.

    Parameters
    ----------
    expressions : times of steps

    >>> fixed, rate = Parameter("a", network.TIME), Parameter("b", network.TIME_PER_BYTE)
    >>> size, added = Parameter("s", network.BYTES), Parameter("h", network.BYTES)
    >>> [
    ...     law.name
    ...     for law in laws_in_expressions(
    ...         network.PROTOCOL_TIME(fixed=fixed, per_byte=rate, size=size, added=added)
    ...     )
    ... ]
    ['protocol-time']
    """
    laws = [value for value in vars(network).values() if isinstance(value, Law)]
    laws_used = [law for expr in expressions for law in _laws_in(expr, laws)]
    return [law for law in laws if law in laws_used]


def _laws_in(expr: Expr, laws: list[Law]) -> Iterator[Law]:
    """Yield the laws that match a part of an expression, outermost first; the operands of a match
    are not searched.
    """
    stack = [expr]
    visited_ids = set[int]()
    while stack:
        node = stack.pop()
        if id(node) in visited_ids:
            continue
        visited_ids.add(id(node))
        law = next((law for law in laws if _matches_equation(law.right_side, node, {})), None)
        if law is None:
            stack.extend(operands(node))
        else:
            yield law


def _matches_equation(pattern: Expr, node: Expr, bindings: dict[str, Expr]) -> bool:
    """Return whether an expression has the form of the equation of a law, and record what its
    symbols stand for.
    """
    if isinstance(pattern, Parameter):
        return (
            pattern.dimension == node.dimension and bindings.setdefault(pattern.name, node) == node
        )
    if isinstance(pattern, Number):
        return pattern == node
    if not (
        isinstance(pattern, Operation)
        and isinstance(node, Operation)
        and pattern.operator == node.operator
    ):
        return False
    operand_pairs = zip(pattern.operands, node.operands, strict=False)
    return len(pattern.operands) == len(node.operands) and all(
        _matches_equation(*operand_pair, bindings) for operand_pair in operand_pairs
    )


_LAWS_OF_NETWORKS = {
    "closed": (
        "X[r] = N[r] / (Z[r] + R[r]), R[r] = sum over k of R[r,k]",
        r"X_r &= N_r / (Z_r + \sum_k R_{rk})",
    ),
    "queue": (
        "R[r,k](n) = D[r,k] * (1 + Q[k](n less one of r)), at a queue of one server",
        r"R_{rk}(n) &= D_{rk} (1 + Q_k(n - e_r))",
    ),
    "several": (
        (
            "R[r,k](n) = D[r,k] * sum over j of j / a[k](j) * P[k](j - 1, n less one of r), speed a"
            " with j present"
        ),
        r"R_{rk}(n) &= D_{rk} \sum_j \frac{j}{a_k(j)} p_k(j - 1, n - e_r)",
    ),
    "delay": ("R[r,k] = D[r,k], at a station without a queue", r"R_{rk} &= D_{rk}"),
    "little": ("Q[r,k] = X[r] * R[r,k]", r"Q_{rk} &= X_r R_{rk}"),
    "open": (
        "R[r,k] = D[r,k] * (1 + Q[k] of closed classes) / (1 - U[k] of open ones), for arrivals",
        r"R_{rk} &= D_{rk} (1 + Q_k) / (1 - U_k)",
    ),
    "losses": (
        "X[r] = A[r] * (1 - L[r]), arrivals without the share that is not served",
        r"X_r &= A_r (1 - L_r)",
    ),
    "regions": (
        "R[r] = sum over k of R[r,k] + sum over g of W[r,g], the wait of a cycle before region g",
        r"R_r &= \sum_k R_{rk} + \sum_g W_{rg}",
    ),
}
"""The equations on which the methods are based, in plain text and in LaTeX, by the kind of class or
station for which they hold.
"""


def _network_paragraphs(model: QueueingNetwork, explanation: Explanation) -> list[str]:
    """Return the paragraphs that explain a network in a terminal: equations, demands, symbols,
    stations.
    """
    law_texts = [equation_text for equation_text, _ in _laws_that_hold(model)]
    lines = [
        _indented_line(equation_text)
        for equation_text in filter(None, [*law_texts, _without_formula_sentence(model)])
    ]
    lines += [
        "",
        *(
            _indented_line(f"{equation.name} = {text(equation.right_side)}")
            for equation in _definition_equations(model)
        ),
    ]
    station_rows = [_station_row(*station_item) for station_item in model.stations.items()]
    return [
        "\n".join(lines),
        "\n".join(
            _indented_line(equation_text) for equation_text, _ in explanation.solved_equations
        ),
        *_symbol_table(_network_parameters(model), explanation.entries),
        plain_table(["station", "discipline", "servers", "visited by"], station_rows),
    ]


def _network_parameters(model: QueueingNetwork) -> Iterable[Parameter]:
    """Return the parameters in the definitions of a network."""
    return parameters(*model.quantities.values())


def _network_laws(model: QueueingNetwork) -> Iterator[tuple[str, str]]:
    """Yield the laws that hold for the classes and stations of a network, in plain text and in
    LaTeX.
    """
    members_of_classes = [
        *model.classes.values(),
        *(chain.members for chain in model.chains.values()),
    ]
    stations = list(model.stations.values())
    holds_by_key = {
        "closed": any(isinstance(member, ClosedClass) for member in members_of_classes),
        "queue": any(_is_single_server(station) for station in stations),
        "several": any(
            not DISCIPLINES[station.discipline].delay and not _is_single_server(station)
            for station in stations
        ),
        "delay": any(DISCIPLINES[station.discipline].delay for station in stations),
        "little": True,
        "open": not all(isinstance(member, ClosedClass) for member in members_of_classes),
        "losses": _loses_arrivals(model),
        "regions": bool(model.regions),
    }
    if model.regions:  # of queues inside a region no equation is known
        holds_by_key |= dict.fromkeys(("closed", "queue", "several", "open"), False)
    yield from (_LAWS_OF_NETWORKS[law_key] for law_key, holds in holds_by_key.items() if holds)


def _laws_that_hold(model: QueueingNetwork) -> Iterator[tuple[str, str]]:
    """Yield the laws of a network at its own values; without a product form only those that hold
    for every network.
    """
    if not reasons_without_formula(model):
        yield from _network_laws(model)
        return
    laws = list(_network_laws(model))
    may_wait_for_places = all(
        station.capacity is None or station.blocking != LOSS for station in model.stations.values()
    )
    has_cycles_of_all = not _has_failing_visits(model) and may_wait_for_places
    law_keys = ("little", "losses", "regions")
    for law_key in ("closed", *law_keys) if has_cycles_of_all else law_keys:
        if _LAWS_OF_NETWORKS[law_key] in laws:
            yield _LAWS_OF_NETWORKS[law_key]


def _has_failing_visits(model: QueueingNetwork) -> bool:
    """Return whether customers may leave a queue or a region, or may be refused by a circuit
    breaker.
    """
    return (
        any(
            station.patience or station.timeout or station.balking
            for station in model.stations.values()
        )
        or any(region.loses_customers for region in model.regions.values())
        or bool(model.breakers)
    )


def _loses_arrivals(model: QueueingNetwork) -> bool:
    """Return whether some arriving customers of an open network may not be served, because a
    station has a capacity or visits may fail.
    """
    members_of_classes = (
        *model.classes.values(),
        *(chain.members for chain in model.chains.values()),
    )
    is_open = not all(isinstance(member, ClosedClass) for member in members_of_classes)
    has_capacity = any(station.capacity is not None for station in model.stations.values())
    return is_open and (has_capacity or _has_failing_visits(model))


def _without_formula_sentence(model: QueueingNetwork) -> str:
    """Return a sentence on why residence times have no formula; empty if they have one."""
    reasons = reasons_without_formula(model)
    return (
        f"{'; '.join(reasons)}: residence times have no formula here; they are approximated,"
        " computed by a Markov chain, or simulated"
        if reasons
        else ""
    )


def reasons_without_formula(model: QueueingNetwork) -> list[str]:
    """Return the reasons why a network has no product form, by station and class; none if it has
    one.

    Parameters
    ----------
    model : the network at its own values

    >>> from slipstick.model.network import closed_class, network, station
    >>> desk = station(service={"jobs": 1.0}, discipline="fcfs", scv={"jobs": 4.0})
    >>> reasons_without_formula(network({"jobs": closed_class(2)}, {"desk": desk}))
    ['desk is first come first served and its scv is not 1']
    """
    if model.regions:
        return []  # their laws leave out what a region changes
    layout = NetworkLayout(model)
    if any(parameter.value is None for parameter in layout.tape.parameters.values()):
        return []
    network = layout.network_points(layout.columns({})).network
    reasons = [
        f"{name} {reason}"
        for name, reason in zip(network.stations, network.reasons_against_product_form, strict=True)
        if reason
    ]
    for name, station in model.stations.items():
        if station.capacity is not None:
            reasons.append(f"{name} has a capacity")
        if station.patience or station.timeout:
            reasons.append(f"customers abandon the queue of {name}")
        if station.balking:
            reasons.append(f"customers balk at {name}")
    return [*reasons, *(["arrivals are no Poisson streams"] if network.non_poisson_reason else [])]


def _is_single_server(station: NetworkStation) -> bool:
    """Return whether a station has one server of constant speed."""
    return not DISCIPLINES[station.discipline].delay and station.servers == 1 and not station.rates


def _definition_equations(model: QueueingNetwork) -> Iterator[Equation]:
    """Yield the definitions of the demands and rates of a network."""
    for class_name, customer_class in {
        **model.classes,
        **{class_name: chain.members for class_name, chain in model.chains.items()},
    }.items():
        if isinstance(customer_class, ClosedClass):
            yield _definition("N", class_name, customer_class.population)
            if customer_class.think_time != zero(TIME):
                yield _definition("Z", class_name, customer_class.think_time)
        else:
            letter = "A" if _loses_arrivals(model) else "X"
            yield _definition(letter, class_name, customer_class.arrivals)
    routed_classes = {class_name for chain in model.chains.values() for class_name in chain.classes}
    for station_name, station in model.stations.items():
        for class_name in station.visitors():
            visit_ratio = (
                Parameter(f"V.{class_name}.{station_name}")
                if class_name in routed_classes
                else station.visits.get(class_name)
            )
            demand = station.demand.get(class_name) or station.service[class_name]
            if class_name not in station.demand and visit_ratio is not None:
                demand = demand * visit_ratio
            yield _definition("D", f"{class_name},{station_name}", demand)


def _added_definitions(model: AddedModel) -> list[Equation]:
    """Return the equations of a model that another package defines."""
    return [_definition(*symbol, right_side) for symbol, right_side in model.definitions().items()]


def _definition(letter: str, index: str, right_side: Expr) -> Equation:
    """Return the equation of a symbol with an index."""
    return Equation(f"{letter}[{index}]", f"{letter}_{{{latex_text(index)}}}", right_side)


def _station_row(name: str, station: NetworkStation) -> list[str]:
    """Return the row of a station in the table of stations."""
    rates_or_servers = f"rates of {len(station.rates)}" if station.rates else str(station.servers)
    return [
        name,
        station.discipline,
        NOTHING if DISCIPLINES[station.discipline].delay else rates_or_servers,
        ", ".join(station.visitors()),
    ]


def explain_text(explanation: Explanation) -> str:
    """Return the explanation of a law or a model as text: equations, symbols, units, sources."""
    title_text = wrapped(
        f"{explanation.name}: {explanation.title}" if explanation.title else explanation.name,
        _INDENT,
    )
    source_text = wrapped(f"source: {explanation.source}", _INDENT) if explanation.source else ""
    if isinstance(explanation.subject, Law):
        paragraphs = _law_paragraphs(explanation.subject)
    elif isinstance(explanation.subject, QueueingNetwork):
        paragraphs = _network_paragraphs(explanation.subject, explanation)
    elif isinstance(explanation.subject, AddedModel):
        definitions = _added_definitions(explanation.subject)
        lines = "\n".join(
            _indented_line(f"{definition.name} = {text(definition.right_side)}")
            for definition in definitions
        )
        parameters_used = parameters(*(definition.right_side for definition in definitions))
        paragraphs = [lines, *_symbol_table(parameters_used, explanation.entries)]
    else:
        paragraphs = _model_paragraphs(explanation.subject, explanation)
    absences_text = _absences_text(explanation.subject)
    return ascii_only(
        "\n\n".join(
            paragraph
            for paragraph in (title_text, source_text, absences_text, *paragraphs)
            if paragraph
        )
        + "\n"
    )


def explain_shortly(explanation: Explanation) -> str:
    """Return the explanation as text; if it is long and of an activity, its summary: the time
    of the model, the values of the symbols, and how much more there is.
    """
    full_text = explain_text(explanation)
    model = explanation.subject
    if (
        full_text.count("\n") <= MOST_LINES
        or not isinstance(model, Model)
        or explanation.time_expression is None
    ):
        return full_text
    equations = Equations(explanation.time_expression)
    first_text, *further_texts = equations.texts
    time_lines = _indented_line(first_text).splitlines()
    if len(time_lines) > _MOST_LINES_OF_TIME:
        hidden_count = len(time_lines) - _MOST_LINES_OF_TIME
        time_lines[_MOST_LINES_OF_TIME:] = [f"{2 * _INDENT}... and {hidden_count} more lines"]
    rows = list(_symbol_rows(equations.parameters, explanation.entries, Notes()))
    symbol_table = plain_table(["symbol", "value"], [row[:2] for row in rows[:_MOST_SYMBOLS]], [1])
    hidden_symbols = f"{len(rows) - _MOST_SYMBOLS} more symbols, " * (len(rows) > _MOST_SYMBOLS)
    further_text = (
        f"slipstick explain --all adds: {hidden_symbols}{len(further_texts)} equations of steps and"
        " of parts of the time, meanings and sources of the symbols, the laws, and"
        f" {len(list(model.steps))} steps"
    )
    paragraphs = [
        full_text.partition("\n\n    T = ")[0],
        "\n".join(time_lines),
        wrapped(_STEP_TIMES.removesuffix(":") + ".", _INDENT) if equations.steps else "",
        _left_out_text(explanation.left_out),
        symbol_table,
        wrapped(further_text, _INDENT),
    ]
    return ascii_only("\n\n".join(filter(None, paragraphs)) + "\n")


def _absences_text(model: Model | QueueingNetwork | AddedModel | Law) -> str:
    """Return a sentence on the groups or classes of the equations that stand for servers that are
    away; empty if there are none.
    """
    if not isinstance(model, Model | QueueingNetwork) or not model.absences:
        return ""
    labels_by_station: dict[str, list[str]] = {}
    for label, absence in model.absences.items():
        labels_by_station.setdefault(absence.station, []).append(label)
    sentences = [
        f"{', '.join(labels)}: servers of {station} that are broken or off duty, in the equations"
        " customers of the highest priority"
        for station, labels in labels_by_station.items()
    ]
    return wrapped("; ".join(sentences), _INDENT)


def network_equations(model: QueueingNetwork) -> list[str]:
    """Return the equations that hold for networks with such stations and classes, and the demands
    of this network, as lines of ``align*``.
    """
    return [
        *(latex_line for _, latex_line in _network_laws(model)),
        *_definition_latex_lines(model),
    ]


def _definition_latex_lines(model: QueueingNetwork) -> list[str]:
    """Return the definitions of a network as lines of ``align*``."""
    return [
        f"{equation.latex_symbol} &= {latex(equation.right_side, {})}"
        for equation in _definition_equations(model)
    ]


def explain_latex(explanation: Explanation) -> str:
    """Return the explanation of a law or a model in LaTeX: an ``align*`` of equations, and then the
    symbols; it needs amsmath.
    """
    subject = explanation.subject
    if isinstance(subject, Law):
        lines = [subject.latex.replace(" = ", " &= ", 1)]
        symbol_rows = [
            (f"${symbol.latex}$", str(symbol.dimension), symbol.meaning)
            for symbol in (subject.gives, *subject.symbols)
        ]
    else:
        parameters_used: Iterable[Parameter] = ()
        lines = []
        if isinstance(subject, QueueingNetwork):
            lines = [latex_line for _, latex_line in _laws_that_hold(subject)]
            lines += _definition_latex_lines(subject)
            lines += [latex_line for _, latex_line in explanation.solved_equations]
            parameters_used = _network_parameters(subject)
        elif isinstance(subject, AddedModel):
            definitions = _added_definitions(subject)
            lines = [
                f"{definition.latex_symbol} &= {latex(definition.right_side, {})}"
                for definition in definitions
            ]
            parameters_used = parameters(*(definition.right_side for definition in definitions))
        elif explanation.time_expression is not None:
            equations = Equations(explanation.time_expression)
            lines = equations.latex
            parameters_used = equations.parameters
        rows = _symbol_rows(parameters_used, explanation.entries, Notes())
        symbol_rows = [(latex_text(path), value, meaning) for path, value, meaning, _ in rows]
    reason_without_formula = (
        _without_formula_sentence(subject) if isinstance(subject, QueueingNetwork) else ""
    )
    comment_lines = (
        f"{explanation.name}: {explanation.title}",
        explanation.source,
        reason_without_formula,
    )
    comment_texts = [f"% {' '.join(line.split())}" for line in comment_lines if line.strip()]
    align_environment = [r"\begin{align*}", " \\\\\n".join(lines), r"\end{align*}"] if lines else []
    return ascii_only(
        "\n".join([*comment_texts, *align_environment, *_tabular(symbol_rows)]) + "\n"
    )


def _tabular(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return rows as a ``tabular`` in LaTeX."""
    if not rows:
        return []
    lines = [
        f"{symbol} & {latex_text(unit)} & {latex_text(meaning)} \\\\"
        for symbol, unit, meaning in rows
    ]
    return [r"\begin{tabular}{lll}", *lines, r"\end{tabular}"]


def _law_paragraphs(law: Law) -> list[str]:
    """Return the paragraphs that explain a law in a terminal."""
    symbols = [
        [symbol.name, str(symbol.dimension), symbol.meaning] for symbol in (law.gives, *law.symbols)
    ]
    return [
        _indented_line(law.text),
        plain_table(["symbol", "unit", "meaning"], symbols),
        "\n".join(wrapped(f"holds for {condition}", _INDENT) for condition in law.conditions),
        (
            wrapped(f"{'note' if law.exact else 'approximation'}: {law.note}", _INDENT)
            if law.note
            else ""
        ),
        _checks_table(law),
    ]


def _checks_table(law: Law) -> str:
    """Return the table of published values that a law is compared with."""
    unit_by_symbol = {symbol.name: str(symbol.dimension) for symbol in law.symbols}
    rows = [
        [
            ", ".join(
                f"{name} {quantity(value, unit_by_symbol[name])}"
                for name, value in law.given(check).items()
            ),
            quantity(check.value, str(law.gives.dimension)),
            quantity(check.within, str(law.gives.dimension)) if check.within else "exact",
            check.source,
        ]
        for check in law.checks
    ]
    return plain_table(["for", law.gives.name, "within", "source"], rows, [1, 2]) if rows else ""


def _indented_line(equation_text: str) -> str:
    """Return an equation as an indented line of its own."""
    return wrapped(_INDENT + equation_text, 2 * _INDENT)


def _model_paragraphs(model: Model, explanation: Explanation) -> list[str]:
    """Return the paragraphs that explain an activity in a terminal."""
    paragraphs = [_population_text(model)]
    if explanation.time_expression is not None:
        equations = Equations(explanation.time_expression)
        first_line, *further_lines = map(_indented_line, equations.texts)
        paragraphs += [
            first_line,
            wrapped(_STEP_TIMES, _INDENT) if equations.steps else "",
            "\n".join(further_lines),
            _left_out_text(explanation.left_out),
            *_symbol_table(equations.parameters, explanation.entries),
            _laws_text(model, equations),
        ]
    rows = [
        [step.name, step.resource or NOTHING, step.component, step.technology]
        for step in model.steps
    ]
    return [
        *paragraphs,
        plain_table(["step", "resource", "component", "technology class"], rows) if rows else "",
    ]


def _left_out_text(clauses: Sequence[str]) -> str:
    """Return a sentence on the waits that the equation of a time leaves out and the command that
    computes them; empty if it leaves out nothing.
    """
    sentence = f"This time {'; it '.join(clauses)}; solve computes it by another method."
    return wrapped(sentence, _INDENT) if clauses else ""


_STEP_TIMES = "t[x] is the time of one execution of step x, once[x] in answers:"


def _population_text(model: Model) -> str:
    """Return a sentence on the population or the arrivals of a model."""
    useful_components = (
        f"; useful: {', '.join(model.useful)}"
        if model.useful
        else "; nothing of it counts as useful work"
    )
    match model.population:
        case ClosedPopulation((Group("", processors),)):
            clause = f"processors that repeat a cycle: {processors}"
        case ClosedPopulation(groups):
            sizes_text = ", ".join(
                f"{group.name} ({group.processors if group.rate is None else group.rate})"
                for group in groups
            )
            clause = f"groups of processors; the equations are of the first: {sizes_text}"
        case StreamsPopulation(groups):
            rates_text = ", ".join(f"{group.name} ({group.rate})" for group in groups)
            clause = f"streams of customers; the equations are of the first: {rates_text}"
        case OpenPopulation(rate):
            clause = f"customers arrive at a rate of {rate}, execute the steps once and leave"
        case SuperstepPopulation(supersteps):
            clause = (
                f"{len(model.population.supersteps[0].bodies)} processors, each with work of its"
                f" own in {len(supersteps)} supersteps"
            )
        case _:
            clause = f"a program of {len(model.bodies)} phases, one after the other"
    return wrapped(clause + useful_components, _INDENT)


def _symbol_rows(
    parameters_listed: Iterable[Parameter], entry_by_path: Entries, sources: Notes
) -> Iterator[list[str]]:
    """Yield for every symbol of the equations its path, value, meaning and the number of its
    source.
    """
    for parameter in parameters_listed:
        described_value = entry_by_path.get(parameter.name)
        if described_value is None:
            value = (
                NOTHING
                if parameter.value is None
                else quantity(parameter.value, str(parameter.dimension))
            )
            yield [parameter.name, value, "", ""]
        else:
            source_marks = (
                [f"[{sources.number(described_value.source)}]"] if described_value.source else []
            )
            yield [
                parameter.name,
                str(described_value.given),
                described_value.meaning,
                " ".join([*source_marks, *["assumed"] * described_value.given.assumed]),
            ]


def _symbol_table(parameters_used: Iterable[Parameter], entry_by_path: Entries) -> list[str]:
    """Return the table of symbols with the list of their sources."""
    sources = Notes()
    rows = list(_symbol_rows(parameters_used, entry_by_path, sources))
    return [
        plain_table(["symbol", "value", "meaning", "source"], rows, [1]) if rows else "",
        sources.text,
    ]


def _laws_text(model: Model, equations: Equations) -> str:
    """Return the laws that occur in the equations of a model, as text."""
    pipelines = [
        node for body in model.bodies for node in steps(body) if isinstance(node, Pipeline)
    ]
    laws = [FLOW_LINE] if any(node.identical for node in pipelines) else []
    laws += laws_in_expressions(*equations.steps.values())
    lines = [wrapped(f"law/{law.name}: {law.text}", _INDENT) for law in laws]
    return "\n".join(["Made from:", *lines]) if lines else ""
