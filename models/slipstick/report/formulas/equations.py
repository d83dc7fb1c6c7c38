"""A model's time as equations: its structure over step times, then each step's time over the spec's paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from slipstick.expression.nodes import Booked, Expr, Number, Operation, Parameter, operands, walk
from slipstick.expression.symbolic import latex
from slipstick.expression.text import text
from slipstick.law import network
from slipstick.law.law import Law

__all__ = ["Equation", "Equations", "laws_in", "spelt"]

_LONGEST = 150  # a structure of more nodes than this gets names for the parts that come up more than once
_WORTH_A_NAME = 8
_TERMS_IN_LINE = 4


@dataclass(frozen=True, slots=True)
class Equation:
    """A symbol and what it is equal to.

    Parameters
    ----------
    name : in plain text
    latex : on paper
    right : over parameters
    """

    name: str
    latex: str
    right: Expr


class Equations:
    """The equations of a model, read off a time whose steps are labelled.

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
        self._symbols: dict[str, tuple[str, str]] = {}
        self._tokens: dict[str, str] = {}
        self.steps: dict[str, Expr] = {}
        self.all: list[Equation] = []
        whole = self._without_steps(structure)
        shared = self._shared(whole)
        self.all.insert(0, Equation("T", "T", shared))
        self.all += [Equation(*self._symbols[self._tokens[name]], right) for name, right in self.steps.items()]

    @property
    def texts(self) -> list[str]:
        """Every equation in plain text."""
        return [f"{each.name} = {self._spelt(text(each.right))}" for each in self.all]

    @property
    def latex(self) -> list[str]:
        r"""Every equation as a line of ``align*``; long sums go on in the next line."""
        names = {token: on_paper for token, (_, on_paper) in self._symbols.items()}
        return [f"{each.latex} &= {_broken(each.right, names)}" for each in self.all]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Everything the equations are written in, but for step times, in the order of appearance."""
        found: dict[str, Parameter] = {}
        for each in self.all:
            for node in walk(each.right):
                if isinstance(node, Parameter) and node.name not in self._symbols:
                    found.setdefault(node.name, node)
        return found

    def _spelt(self, words: str) -> str:
        for token, (plain, _) in self._symbols.items():
            words = words.replace(token, plain)
        return words

    def _symbol(self, plain: str, on_paper: str) -> str:
        """Give a stand-in that can name a parameter, which `t[x]` cannot."""
        token = f"SYMBOL{len(self._symbols):06d}"
        self._symbols[token] = (plain, on_paper)
        return token

    def _without_steps(self, expr: Expr) -> Expr:
        """Put a symbol in the place of each step, and keep what the step is."""
        made: dict[int, Expr] = {}
        for node in walk(expr):
            if isinstance(node, Booked):
                if node.label not in self.steps:
                    self.steps[node.label] = made[id(node.inner)]
                    self._tokens[node.label] = self._symbol(f"t[{node.label}]", f"t_{{{spelt(node.label)}}}")
                made[id(node)] = Parameter(self._tokens[node.label], node.dimension)
            else:
                made[id(node)] = _rebuilt(node, made)
        return made[id(expr)]

    def _shared(self, expr: Expr) -> Expr:
        """Name the parts of a long structure that come up more than once; written out, they would fill pages."""
        uses = Counter(id(inner) for node in walk(expr) for inner in operands(node))
        sizes: dict[int, int] = {}
        for node in walk(expr):
            sizes[id(node)] = 1 + sum(sizes[id(inner)] for inner in operands(node))
        if sizes[id(expr)] <= _LONGEST:
            return expr
        made: dict[int, Expr] = {}
        for node in walk(expr):
            made[id(node)] = _rebuilt(node, made)
            if uses[id(node)] > 1 and sizes[id(node)] >= _WORTH_A_NAME:
                number = len(self.all) + 1
                token = self._symbol(f"x{number}", f"x_{{{number}}}")
                self.all.append(Equation(*self._symbols[token], made[id(node)]))
                made[id(node)] = Parameter(token, node.dimension)
        return made[id(expr)]


def _rebuilt(node: Expr, made: Mapping[int, Expr]) -> Expr:
    if not isinstance(node, Operation):
        return node
    inner = tuple(made[id(operand)] for operand in node.operands)
    same = all(new is old for new, old in zip(inner, node.operands, strict=True))
    return node if same else replace(node, operands=inner)


def _broken(right: Expr, names: Mapping[str, str]) -> str:
    terms = list(_terms(right))
    if len(terms) <= _TERMS_IN_LINE:
        return latex(right, names)
    lines = [terms[at : at + _TERMS_IN_LINE] for at in range(0, len(terms), _TERMS_IN_LINE)]
    return " \\\\\n&\\quad {} + ".join(" + ".join(latex(term, names) for term in line) for line in lines)


def _terms(expr: Expr) -> Iterator[Expr]:
    """Yield what a sum adds, sums within it taken apart."""
    if isinstance(expr, Operation) and expr.operator == "sum":
        for operand in expr.operands:
            yield from _terms(operand)
    else:
        yield expr


def spelt(text: str) -> str:
    r"""Write a text as upright LaTeX, its special signs escaped.

    >>> print(spelt("send_call & 50%"))
    \text{send\_call \& 50\%}
    """
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    escaped = "".join(signs.get(sign, f"\\{sign}" if sign in "_&%#${}" else sign) for sign in text)
    return rf"\text{{{escaped}}}"


def laws_in(*expressions: Expr) -> list[Law]:
    """List the laws that expressions were composed from, by their form.

    Parameters
    ----------
    expressions : times of steps

    >>> fixed, rate = Parameter("a", network.TIME), Parameter("b", network.TIME_PER_BYTE)
    >>> size, added = Parameter("s", network.BYTES), Parameter("h", network.BYTES)
    >>> [law.name for law in laws_in(network.PROTOCOL_TIME(fixed=fixed, per_byte=rate, size=size, added=added))]
    ['protocol-time']
    """
    laws = [getattr(network, name) for name in network.__all__]
    found = [law for expr in expressions for law in _laws_in(expr, laws)]
    return [law for law in laws if law in found]


def _laws_in(expr: Expr, laws: list[Law]) -> Iterator[Law]:
    """Look from the outside in, and not inside what is recognised already."""
    stack, seen = [expr], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        law = next((law for law in laws if _matches(law.right, node, {})), None)
        if law is None:
            stack.extend(operands(node))
        else:
            yield law


def _matches(pattern: Expr, node: Expr, bound: dict[str, Expr]) -> bool:
    if isinstance(pattern, Parameter):
        return pattern.dimension == node.dimension and bound.setdefault(pattern.name, node) == node
    if isinstance(pattern, Number):
        return pattern == node
    if not (isinstance(pattern, Operation) and isinstance(node, Operation) and pattern.operator == node.operator):
        return False
    pairs = zip(pattern.operands, node.operands, strict=False)
    return len(pattern.operands) == len(node.operands) and all(_matches(*pair, bound) for pair in pairs)
