"""The `Law` object: a formula that can be evaluated, composed, printed and checked."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from slipstick.arguments import LARGEST, value_in_message
from slipstick.display import html_table
from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.formula import Comparison, read_condition
from slipstick.expression.nodes import (
    Dimension,
    Expr,
    Parameter,
    parameters,
    substitute_in_walk,
    walk,
)
from slipstick.extensions import Registry
from slipstick.late import Array, dataclass, np

if TYPE_CHECKING:
    from slipstick.expression.tape import Tape


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of a formula: its name, its dimension, its meaning and its LaTeX.

    Parameters
    ----------
    name : in code and on the command line
    dimension : of its values
    meaning : in words
    latex : in LaTeX
    """

    name: str
    dimension: Dimension
    meaning: str
    latex: str


@dataclass(frozen=True, slots=True)
class Check:
    """A published or hand-worked value of a law, with which tests compare it.

    Parameters
    ----------
    given : values of the symbols, in their order and in base units
    value : what the law gives, in base units
    within : error that the printed digits allow, in base units
    source : where it is printed
    """

    given: tuple[float, ...]
    value: float
    within: float
    source: str


@dataclass(frozen=True, eq=False)
class Law:
    """A closed form with its conditions, source and published values.

    Parameters
    ----------
    name : in the catalogue
    title : one line
    gives : the symbol on the left
    equation : the right-hand side, from the symbols by name; where it is plain arithmetic it takes
        arrays too
    source : author, year, page or equation
    checks : values that the law must give
    holds : the conditions under which the law holds, such as ``time > 0 and time >= useful``
    note : what it neglects, if anything; of an approximation, its usual error
    exact : false for an approximation
    symbols : the symbols on the right; unless given, the defaults of the equation's parameters
    words : other words that people search it by

    A law called with numbers or arrays gives numbers or arrays; called with expressions it gives an
    expression, so that models are built from laws.

    >>> from slipstick.law.pipeline import FLOW_LINE
    >>> FLOW_LINE(once=10.0, longest=3.0, items=4)
    19.0
    >>> print(FLOW_LINE.text)
    time = once + (items - 1) * longest
    """

    name: str
    title: str
    gives: Symbol
    equation: Callable[..., Any]
    source: str
    checks: tuple[Check, ...]
    holds: str = ""
    note: str = ""
    exact: bool = True
    symbols: tuple[Symbol, ...] = ()
    words: str = ""

    def __post_init__(self) -> None:
        if not self.symbols:
            # An equation as a function has its symbols as the defaults of its parameters, so that
            # each is named once.
            object.__setattr__(self, "symbols", getattr(self.equation, "__defaults__", None) or ())

    @property
    def search_text(self) -> str:
        """The text that a search for laws is matched with: the words of the law, and its queue in
        Kendall's notation.
        """
        kendall_notation = _KENDALL.get(self.name.partition("-")[0], "")
        naming_text = f"{self.name} {self.title} {self.gives.meaning}"
        return f"{naming_text} {self.source} {kendall_notation} {self.words}"

    def given(self, check: Check) -> dict[str, float]:
        """Return the numbers at which a check evaluates the law, by the names of the symbols."""
        return {symbol.name: value for symbol, value in zip(self.symbols, check.given, strict=True)}

    @cached_property
    def right_side(self) -> Expr:
        """The right-hand side as an expression of the symbols; raises ModelError if the two sides
        of the equation differ in dimension.
        """
        right_side: Expr = self.equation(**self.parameters)
        # A wrong dimension shows most mistakes in a formula.
        if right_side.dimension != self.gives.dimension:
            raise ModelError(
                f"law {self.name} gives a [{right_side.dimension}], not a [{self.gives.dimension}]"
            )
        return right_side

    @cached_property
    def _right_side_nodes(self) -> tuple[Expr, ...]:
        return tuple(walk(self.right_side))

    @cached_property
    def conditions(self) -> tuple[Comparison, ...]:
        """The conditions under which the law holds."""
        return read_condition(self.holds, self.parameters) if self.holds else ()

    @cached_property
    def whole_symbols(self) -> frozenset[str]:
        """The symbols that the conditions of the law restrict to whole numbers, such as
        ``servers``.
        """
        conditions = set(self.holds.split(" and "))
        return frozenset(
            symbol.name
            for symbol in self.symbols
            if f"{symbol.name} == floor({symbol.name})" in conditions
        )

    @property
    def parameters(self) -> dict[str, Parameter]:
        """A parameter for each symbol on the right, by name."""
        return {symbol.name: Parameter(symbol.name, symbol.dimension) for symbol in self.symbols}

    def __call__(self, **values: Any) -> Any:
        """Evaluate for numbers or arrays in base units, or build an expression from expressions or
        from SymPy's. Conditions that depend on them are not checked.

        Raises
        ------
        ModelError : a symbol is missing or unknown, or the law does not hold there
        """
        self._check_names(values)
        if any(isinstance(value, Expr) for value in values.values()):
            self._check_known_conditions(values)
            return substitute_in_walk(self._right_side_nodes, values)
        if any(map(_is_sympy_expression, values.values())):
            from slipstick.expression.symbolic import sympy, to_sympy

            self._check_known_conditions(values)
            return to_sympy(
                self.right_side,
                {
                    name: value if _is_sympy_expression(value) else sympy.Number(value)
                    for name, value in values.items()
                },
            )

        try:
            # Conditions are checked chunk by chunk, while their two sides are in the cache.
            value_by_point = _compiled_tape(self).run_with(
                values, lambda sides: self._check_conditions(sides, values)
            )
        except ModelError:
            # A part of the equation may be refused before a condition can say why.
            self._check_known_conditions(values)
            raise
        if any(np.ndim(value) for value in values.values()):
            return value_by_point
        for name, value in values.items():
            if not math.isfinite(value):
                raise ModelError(f"law {self.name}: {name} must be a finite number, got {value!r}")
        return float(value_by_point[0])

    def __reduce__(self) -> tuple[Any, ...]:
        # An equation is code, so a law travels between processes by its name.
        return _law_named, (self.name,)

    @property
    def text(self) -> str:
        """The equation in plain text."""
        return f"{self.gives.name} = {self.right_side}"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Law {self.name}: {self.text}>"

    def _repr_html_(self) -> str:
        """Return the equation, the meanings of its symbols and the conditions of the law as HTML,
        for a notebook.
        """
        symbol_rows = [
            [symbol.name, symbol.dimension, symbol.meaning]
            for symbol in (self.gives, *self.symbols)
        ]
        condition_rows = [["holds for", "", condition] for condition in self.conditions]
        return html_table(
            f"{self.title}: {self.text}",
            ["symbol", "unit", "meaning"],
            [*symbol_rows, *condition_rows],
        )

    def _repr_latex_(self) -> str:
        """Return the equation as LaTeX, for a notebook."""
        return f"$\\displaystyle {self.latex}$"

    @property
    def latex(self) -> str:
        """The equation in LaTeX."""
        from slipstick.expression.symbolic import latex

        return (
            f"{self.gives.latex} ="
            f" {latex(self.right_side, {symbol.name: symbol.latex for symbol in self.symbols})}"
        )

    def _check_names(self, values: Mapping[str, Any]) -> None:
        """Raise for a missing or unknown symbol, and for a value that is neither a number nor an
        expression.
        """
        symbol_names = [symbol.name for symbol in self.symbols]
        for name in values:
            if name not in symbol_names:
                raise ModelError(
                    f"law {self.name} has no symbol {name!r}{did_you_mean(name, symbol_names)}"
                )
        missing_symbols = [symbol for symbol in self.symbols if symbol.name not in values]
        for name, value in values.items():
            if not (isinstance(value, Expr) or _is_numeric(value) or _is_sympy_expression(value)):
                raise ModelError(
                    f"law {self.name}: {name} must be a number, an array of numbers or an"
                    f" expression, got {value_in_message(value)}"
                )
        if missing_symbols:
            missing_in_words = "; ".join(
                f"{symbol.name} [{symbol.dimension}]: {symbol.meaning}"
                for symbol in missing_symbols
            )
            raise ModelError(f"law {self.name} needs {missing_in_words}")

    def _check_known_conditions(self, values: Mapping[str, Any]) -> None:
        """Raise if a condition fails whose symbols all have numbers as values."""
        numbers = {name: value for name, value in values.items() if _is_numeric(value)}
        for condition in self.conditions if numbers else ():
            symbols = parameters(condition.left, condition.right)
            if all(symbol.name in numbers for symbol in symbols):
                self._check_condition(condition, bool(condition.holds(numbers).all()), numbers)

    def _check_conditions(
        self, side_values: Sequence[Array], values: Mapping[str, Array | float]
    ) -> None:
        """Raise if a condition fails at any point, from the values of the sides of all
        conditions.
        """
        for condition, left, right in zip(
            # The tape has the sides of each condition in turn, see `_compiled_tape`.
            self.conditions,
            side_values[::2],
            side_values[1::2],
            strict=True,
        ):
            self._check_condition(condition, condition.holds_everywhere(left, right), values)

    def _check_condition(
        self, condition: Comparison, holds: bool, values: Mapping[str, Array | float]
    ) -> None:
        """Raise if a condition does not hold; the message states the values of the symbols."""
        if not holds:
            number_by_symbol = {
                name: value for name, value in values.items() if isinstance(value, float | int)
            }
            values_in_words = ", ".join(
                f"{name} = {value:g}" for name, value in number_by_symbol.items()
            )
            raise ModelError(
                f"law {self.name} holds for {condition}; got"
                f" {values_in_words or 'an array outside that'}"
            )


def _is_numeric(value: object) -> bool:
    """Return whether a value is a number, or a list or an array of numbers in one dimension."""
    if isinstance(value, float):
        return True
    if isinstance(value, int) and not isinstance(value, bool):
        # Larger whole numbers have no double.
        return -LARGEST <= value <= LARGEST
    if isinstance(value, Expr):  # an array of it would load NumPy, which `check` does not need
        return False
    try:
        value_array = np.asarray(value)
    except ValueError:  # a list of unlike lists
        return False
    return value_array.dtype.kind in "iuf" and value_array.ndim < 2 and value_array.size > 0


_KENDALL = {
    "mm1": "M/M/1",
    "mm1k": "M/M/1/K",
    "mmc": "M/M/c",
    "mmck": "M/M/c/K",
    "mminf": "M/M/inf",
    "md1": "M/D/1",
    "mg1": "M/G/1",
    "gg1": "G/G/1 GI/G/1",
    "ggc": "G/G/c GI/G/c",
    "erlang": "M/M/c",
    "machine": "M/M/1//N",
    "engset": "M/M/c/c/N",
}
"""Kendall's notation by the first part of the name of a law."""


@cache
def _compiled_tape(law: Law) -> Tape:
    """Return the compiled right-hand side of a law with the two sides of each condition, because
    they often share parts.
    """
    from slipstick.expression.tape import Tape

    return Tape(
        [
            law.right_side,
            *(
                condition_side
                for condition in law.conditions
                for condition_side in (condition.left, condition.right)
            ),
        ]
    )


FAMILIES = (
    "account",
    "collectives",
    "network",
    "pipeline",
)
"""The modules of the laws that methods are made of, one for each family."""


def laws_of(package: str, families: Sequence[str]) -> dict[str, Law]:
    """Return the laws of some modules by their names in the catalogue.

    Parameters
    ----------
    package : that holds the modules
    families : names of the modules, which hold laws and tuples of laws

    >>> list(laws_of("slipstick.law", ["pipeline"]))
    ['flow-line']
    """
    modules = [import_module(f"{package}.{family}") for family in families]
    module_values = [value for module in modules for value in vars(module).values()]
    # A module may hold a family of laws that it builds as one tuple.
    laws_or_tuples = [value if isinstance(value, tuple) else (value,) for value in module_values]
    laws = [law for law_or_tuple in laws_or_tuples for law in law_or_tuple if isinstance(law, Law)]
    return {law.name: law for law in laws}


LAWS: Mapping[str, Law] = Registry("slipstick.laws", lambda: laws_of("slipstick.law", FAMILIES))
"""Every law by its name in the catalogue, those of other packages included."""


def _law_named(name: str) -> Law:
    """Return the law of the catalogue with a given name."""
    return LAWS[name]


def _is_sympy_expression(value: object) -> bool:
    """Return whether a value is an expression of SymPy, which need not be installed."""
    # An expression of SymPy can exist only after SymPy was imported, so it is not imported here.
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)
