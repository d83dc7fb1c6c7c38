"""The numbers of one file: what each is (path, meaning, unit, source), as expressions, and the way back to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from slipstick.errors import FormulaError, ModelError, Problem, SpecError
from slipstick.expression import formula as formulas
from slipstick.expression.nodes import (
    COUNT,
    Dimension,
    Expr,
    Number,
    Operation,
    Parameter,
    number_text,
    parameters,
    substitute,
    walk,
)
from slipstick.schema.kinds.quantity import Described, Formula, Given, Quantity, example_of
from slipstick.schema.text import Node, at, canonical, join, problem, value_mark
from slipstick.units import parse

if TYPE_CHECKING:
    from slipstick.model.machine import Machine, Network, SharedMemory

MACHINE = "machine."
"""What the paths of a machine's quantities begin with, in formulas as everywhere."""

_OF_MACHINE = re.compile(r"\bmachine\.[A-Za-z_.]*")

Loc = tuple[str | int, ...]
"""Where something stands in a file: keys and indices."""

read_expression = partial(formulas.read_expression, quantity=parse)
read_condition = partial(formulas.read_condition, quantity=parse)
"""The readers of formulas, with quantities such as ``4 KiB`` written out."""


def read_formula(
    tree: Node, loc: Sequence[str | int], formula: Formula, known: Mapping[str, Expr], wanted: Dimension | None
) -> Expr:
    """Read one formula of a spec.

    Parameters
    ----------
    tree, loc : where it is written
    formula : its text
    known : what its names stand for
    wanted : the dimension it must have; None takes any

    Raises
    ------
    SpecError : it is no arithmetic on known names, or of another dimension
    """
    mark = value_mark(tree, loc)
    try:
        made = read_expression(formula.text, known)
    except FormulaError as error:
        word = re.fullmatch(r"[A-Za-z_]\w*", formula.text.strip()) and "did you mean" not in str(error)
        why = f"{error}; write {example_of(wanted)}, or the name of a parameter" if word else str(error)
        raise mark.error(why, loc) from None
    if wanted is not None and made.dimension != wanted:
        for name in sorted(set(re.findall(r"\w+", formula.text)) & known.keys()):
            _refuse_without_unit(tree, loc, formula, name, known, wanted)
        why = f"{formula.text} gives a [{made.dimension}], but a [{wanted}] is wanted"
        raise mark.error(why, loc)
    return made


def _refuse_without_unit(
    tree: Node, loc: Sequence[str | int], formula: Formula, name: str, known: Mapping[str, Expr], wanted: Dimension
) -> None:
    """Refuse a parameter of the file where it is written, if the formula has its dimension once the parameter has one."""
    bare = known[name]
    if not isinstance(bare, Parameter) or bare.dimension != COUNT or bare.value is None:
        return
    try:
        whole = read_expression(formula.text, {**known, name: Parameter(name, wanted)})
    except FormulaError:
        return
    if whole.dimension == wanted:
        units = " or ".join(
            f"'{bare.value:g} {unit}'" for unit in _UNITS.get(str(wanted), (str(wanted).replace("1/", "/"),))
        )
        why = f"{bare.value:g} lacks its unit; write {units}: {join(loc)} wants a [{wanted}]"
        raise SpecError([problem(tree, ("parameters", name), why)])


_UNITS = {"s": ("s", "ms"), "B": ("B", "kB"), "1/s": ("/s",), "s/B": ("ns/B",), "B/s": ("MB/s",)}
"""Units that are written most, by dimension."""


class QuantityReader:
    """Reads the quantities of one checked file as expressions.

    Parameters
    ----------
    tree : where everything is written
    named : the file's own ``parameters``; a formula may use those before it
    parameters : every quantity of the file, by path (``cycle.work.delay``)

    Attributes
    ----------
    problems : found so far; those found while the model is built are added
    """

    def __init__(self, tree: Node, named: Mapping[str, Given | Formula], parameters: Mapping[str, Parameter]) -> None:
        self._tree, self._parameters = tree, parameters
        self.problems: list[Problem] = []
        self._unread: list[str] = []
        self._machine = {path: each for path, each in parameters.items() if path.startswith(MACHINE)}
        self._known = self._read(named)

    def expr(self, value: Given | Formula | None, loc: Loc, dimension: Dimension) -> Expr:
        """Give the expression that a quantity stands for; a parameter without a value for a formula that is wrong."""
        if isinstance(value, Formula):
            made = self._formula(value, loc, self._known, dimension)
            return Parameter("unread", dimension) if made is None else made
        path = canonical(self._tree, loc)
        if path in self._parameters:
            return self._parameters[path]
        # A default that the file does not mention is a plain number.
        assert value is not None
        return Number(value.value, dimension)

    def keys(
        self, spec: BaseModel, loc: Loc, listed: Callable[[list[Any], Loc], object] | None = None
    ) -> dict[str, Any]:
        """Read what a part of a file says, key by key: quantities as expressions, tables and lists of them alike.

        What is left open is left out, so that a model has its own default. A quantity that can be no formula is a number.

        Parameters
        ----------
        spec, loc : the part, and where it stands
        listed : reads a list of anything else; such a list is taken as it is by default
        """

        def read(value: Any, place: Loc, wanted: Quantity | None) -> Any:
            if isinstance(value, Given | Formula) and wanted is not None:
                if wanted.formula and wanted.dimension is not None:
                    return self.expr(value, place, wanted.dimension)
                assert isinstance(value, Given)
                return int(value.value) if wanted.whole else value.value
            if isinstance(value, dict):
                return {key: read(each, (*place, key), wanted) for key, each in value.items()}
            if isinstance(value, list) and wanted is not None:
                return tuple(read(each, (*place, index), wanted) for index, each in enumerate(value))
            return listed(value, place) if isinstance(value, list) and listed else value

        kind = type(spec)
        given = {key: getattr(spec, key) for key in kind.model_fields}
        return {k: read(each, (*loc, k), _wanted(kind, k)) for k, each in given.items() if each is not None}

    def refuse(self, loc: Loc, message: str, key: bool = False) -> None:
        """Note a problem at a place of the file."""
        self.problems.append(problem(self._tree, loc, message, key))

    def _read(self, named: Mapping[str, Given | Formula]) -> dict[str, Expr]:
        known: dict[str, Expr] = dict(self._machine)
        for name, value in named.items():
            loc = ("parameters", name)
            if not isinstance(value, Formula):
                known[name] = self._parameters[canonical(self._tree, loc)]
                continue
            made = self._formula(value, loc, known, None)
            if made is None:
                self._unread.append(name)
            else:
                known[name] = made
        return known

    def _formula(
        self, formula: Formula, loc: Loc, known: Mapping[str, Expr], dimension: Dimension | None
    ) -> Expr | None:
        try:
            if not self._machine and (asked := _OF_MACHINE.search(formula.text)):
                why = f"{asked[0]} needs a machine; write machine: NAME in the file, or give one with --machine"
                raise SpecError([problem(self._tree, loc, why)])
            return read_formula(self._tree, loc, formula, known, dimension)
        except SpecError as error:
            # A formula over a parameter that could not be read is not a second problem.
            if not set(re.findall(r"\w+", formula.text)).intersection(self._unread):
                self.problems += error.problems
            return None


@cache
def _wanted(spec: type[BaseModel], key: str) -> Quantity | None:
    """Find what quantity a key is of, or what quantities a table or list under it has."""

    def inside(annotation: Any) -> Iterator[Quantity]:
        if isinstance(annotation, Quantity):
            yield annotation
        for each in get_args(annotation):
            yield from inside(each)

    found = spec.model_fields[key]
    return next((each for part in (*found.metadata, found.annotation) for each in inside(part)), None)


_SECTION = "parameters."
_PLACES = ("cycle", "groups", "population", "phases", "resources", "classes", "chains", "stations", "routing")


_LONGEST_PART = 1000
"""Characters of a part of a formula; an operation on two such parts is well within what a reader takes."""


class QuantityWriter:
    """Writes the expressions of one model as the quantities of a file.

    Attributes
    ----------
    parameters : the named quantities written so far, as a file has them
    """

    def __init__(self) -> None:
        self.parameters: dict[str, str | float] = {}
        self._sources: dict[str, str] = {}
        self._parts: dict[str, str] = {}

    def written(self, value: Expr) -> str | float:
        """Write a number, a quantity in its place, or a formula over named parameters."""
        if isinstance(value, Number):
            return _quantity(value, value.value)
        if isinstance(value, Parameter) and _stands_here(value.name):
            return _quantity(value, _known(value))
        renamed = {each.name: replace(each, name=self._named(each)) for each in parameters(value)}
        return repr(self._in_parts(substitute(value, renamed)))

    def _in_parts(self, value: Expr) -> Expr:
        """Name the long parts of a formula, the inner ones first, for a reader takes no text that is too long."""
        if len(repr(value)) <= _LONGEST_PART:
            return value
        made: dict[int, Expr] = {}
        for node in walk(value):
            new = node
            if isinstance(node, Operation):
                new = replace(node, operands=tuple(made[id(each)] for each in node.operands))
            words = repr(new)
            if node is not value and len(words) > _LONGEST_PART:
                name = self._parts.setdefault(words, f"part_{len(self._parts) + 1}")
                self.parameters[name] = words
                new = Parameter(name, node.dimension)
            made[id(node)] = new
        return made[id(value)]

    def keys(self, node: Any, inner: Callable[[Any], object] = lambda each: each) -> dict[str, Any]:
        """Write what a part of a model says, field by field, without what holds by default.

        Parameters
        ----------
        node : the part
        inner : writes what is no quantity, and no table or list of quantities
        """

        def written(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: written(each) for key, each in value.items()}
            if isinstance(value, tuple):
                return [written(each) for each in value]
            return self.written(value) if isinstance(value, Expr) else inner(value)

        defaults = {
            each.name: each.default if each.default_factory is MISSING else each.default_factory()
            for each in fields(node)
        }
        given = {name: getattr(node, name) for name in defaults}
        return {name: written(value) for name, value in given.items() if value != defaults[name]}

    def _named(self, parameter: Parameter) -> str:
        """Enter a parameter under a name that can stand in arithmetic."""
        name = plain_name(parameter.name.removeprefix(_SECTION)).replace("-", "_")
        self.parameters[name] = _quantity(parameter, _known(parameter))
        if self._sources.setdefault(name, parameter.name) != parameter.name:
            raise ModelError(
                f"parameters {self._sources[name]} and {parameter.name} would have one name in a file: {name}"
            )
        return name


def plain_name(name: str) -> str:
    """Write a name without the dots that a path would take for steps down."""
    return name.replace(".", "_")


def _stands_here(name: str) -> bool:
    """Say whether a parameter is named after a place of the file rather than by its author."""
    return name.split(".")[0] in _PLACES


def _known(parameter: Parameter) -> float:
    if parameter.value is None:
        raise ModelError(f"parameter {parameter.name} has no value; a file needs one")
    return parameter.value


def _quantity(value: Expr, number: float) -> str | float:
    if value.dimension == COUNT:
        return int(number) if number == int(number) and abs(number) < 1e15 else number
    return f"{number_text(number)} {value.dimension}"


@dataclass(frozen=True, slots=True)
class DescribedValue:
    """A value of a spec, with what is known of it."""

    path: str
    given: Given
    meaning: str
    source: str


@dataclass(frozen=True, slots=True)
class _Context:
    """What holds for values that say nothing themselves, and how source keys are spelt out."""

    source: str = ""
    spelt_out: Mapping[str, str] = field(default_factory=dict)

    def inside(self, spec: BaseModel) -> _Context:
        if not isinstance(spec, Described):
            return self
        known = {**self.spelt_out, **spec.sources}
        return _Context(known.get(spec.source, spec.source) or self.source, known)


def entries(spec: BaseModel, prefix: str = "") -> Iterator[DescribedValue]:
    """Yield every quantity of a checked spec, with its path under `prefix`, in the order of the format."""
    yield from _entries(spec, prefix, "", _Context())


def with_sources(found: Iterable[DescribedValue], tree: Node, sources: Mapping[str, str]) -> Iterator[DescribedValue]:
    """Let each value that names no source have that of the file it is written in, not of one that extends it.

    Parameters
    ----------
    found : as `entries` gives them
    tree : where everything is written
    sources : what each file says of itself
    """
    for each in found:
        file = value_mark(tree, each.path).file
        if each.given.source:
            yield each
        elif at(tree, each.path) is None:
            yield replace(each, source="default of the format")
        elif file.startswith("--set"):
            yield replace(each, source="set on the command line")
        else:
            yield replace(each, source=sources.get(file, each.source))


def parameters_of(found: Mapping[str, DescribedValue]) -> dict[str, Parameter]:
    """Make a parameter of each quantity."""
    return {path: Parameter(path, each.given.dimension, each.given.value) for path, each in found.items()}


def hardware_of(spec: Any, name: str = "", prefix: str = "machine") -> Machine | SharedMemory | Network:
    """Build the machine, or the network, of a checked file, as expressions over its paths."""
    at = parameters_of({each.path: each for each in entries(spec, prefix)})
    built: Machine | SharedMemory | Network = spec.build(name, at, prefix)
    return built


def _entries(value: object, path: str, meaning: str, context: _Context) -> Iterator[DescribedValue]:
    if isinstance(value, Given):
        yield DescribedValue(
            path, value, value.meaning or meaning, context.spelt_out.get(value.source, value.source) or context.source
        )
    elif isinstance(value, BaseModel):
        inside = context.inside(value)
        for name, info in type(value).model_fields.items():
            inner = getattr(value, name)
            if not isinstance(inner, str | int | float | None):  # most fields are, and hold no quantity
                yield from _entries(inner, _joined(path, name), info.description or meaning, inside)
    elif isinstance(value, dict):
        for key, inner in value.items():
            # What a table says of itself says nothing of a quantity that its author named.
            named = "a parameter of the file" if path == "parameters" else meaning
            yield from _entries(inner, _joined(path, str(key)), named, context)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _entries(inner, _joined(path, str(index)), meaning, context)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{join([name])}" if prefix else join([name])
