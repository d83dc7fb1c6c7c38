"""Quantities of specs: how they are written, which values a field accepts, and the expression of
each, with its meaning and source.

A quantity is text with a unit in a file, a float in base units here. The module also has what all
specs share: strict, frozen, every key documented; and classes of cost.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, field, fields, replace
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from slipstick.errors import (
    Fault,
    FormulaError,
    KeyMeaning,
    ModelError,
    Problem,
    SpecError,
    UnitError,
    did_you_mean,
    nearest_names,
    short,
)
from slipstick.expression import formula as formulas
from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    RATE,
    TIME,
    TIME_PER_BYTE,
    Dimension,
    Expr,
    Number,
    Operation,
    Parameter,
    number_text,
    parameters,
    substitute,
    walk,
    with_usual_units,
)
from slipstick.late import dataclass, late_pattern
from slipstick.model.amounts import is_answer_value
from slipstick.schema.kinds.constraints import Name, Note, Sources, broken_rule
from slipstick.schema.text import (
    Node,
    Table,
    canonical,
    join_path,
    leaves,
    node_at,
    plain_data,
    problem,
    value_mark,
)
from slipstick.units import InBaseUnits, parse, show, to_base
from slipstick.vocabulary import TECHNOLOGIES, Technology

if TYPE_CHECKING:
    from slipstick.model.machine import Machine, Network, SharedMemory

_INTERVAL_KEYS = ("low", "high")
QUANTITY_KEYS = ("value", *_INTERVAL_KEYS, "source", "assumed", "meaning")
"""The keys of a quantity that is written as a table."""

_OPERATORS = late_pattern(r"[(*+]|\A\s*-|\s[-/]\s|\A[0-9.]+\s*/")


@dataclass(frozen=True, slots=True)
class Given:
    """A quantity as it is written in a spec: its value in base units, its dimension, its text and
    its source.

    Parameters
    ----------
    value : in base units
    dimension : what it counts
    text : as written
    source : where the value comes from, if stated beside it
    assumed : stated to be a guess
    meaning : what it is, if its author says so
    low, high : the interval in which it lies, in base units, if its author tells one
    technology : of a parameter: the series of a trend, or the class of cost, that it follows over
        the years
    """

    value: float
    dimension: Dimension
    text: str
    source: str = ""
    assumed: bool = False
    meaning: str = ""
    low: float | None = None
    high: float | None = None
    technology: str = ""

    def __str__(self) -> str:
        return show(self.value, self.dimension)


ONE = Given(1.0, COUNT, "1")

FOLLOWS_NOTHING = "none"
"""The technology of a parameter that keeps its value in every year."""


@dataclass(frozen=True, slots=True)
class Formula:
    """Arithmetic on parameters as text, which is parsed once the parameters are known."""

    text: str


@dataclass(frozen=True, slots=True)
class WholeFormula(Formula):
    """Arithmetic whose result must be a whole number. It determines the structure of the model and
    is therefore evaluated while the model is built.

    Parameters
    ----------
    least, most : limits of the number
    """

    least: float
    most: float


def whole_or_formula(largest_number: int) -> GetPydanticSchema:
    """Return the constraint of a field that holds a whole number from 1 on, or arithmetic on
    parameters, such as a number of servers.
    """
    number_schema = core_schema.int_schema(ge=1, le=largest_number, strict=True)

    def read_value(raw_value: object, read_number: Callable[[object], int]) -> int | WholeFormula:
        if isinstance(raw_value, WholeFormula):
            return raw_value
        return (
            WholeFormula(raw_value, 1, largest_number)
            if isinstance(raw_value, str)
            else read_number(raw_value)
        )

    number_limits = {"type": "integer", "minimum": 1, "maximum": largest_number}
    text_schema = {"type": "string", "description": "arithmetic on parameters"}
    return GetPydanticSchema(
        lambda _source, _handler: core_schema.no_info_wrap_validator_function(
            read_value, number_schema
        ),
        lambda _schema, _handler: {"anyOf": [number_limits, text_schema]},
    )


@dataclass(frozen=True, slots=True)
class Quantity:
    """The constraint of a field that holds a quantity: its dimension, limits and forms.

    Parameters
    ----------
    dimension : wanted; None takes any
    least, above, most : limits in base units; `above` excludes its own value
    whole : a count, so a whole number
    formula : arithmetic on parameters will do as well
    shapes : the structure of a model depends on it, so that arithmetic is evaluated while the model
        is built
    advice : what to write instead of a quantity with a unit
    operations : a count of operations, so ``2 GFlop`` will do as well
    follows : it may state what it follows over the years
    """

    dimension: Dimension | None
    least: float | None = 0.0
    above: float | None = None
    most: float | None = None
    whole: bool = False
    formula: bool = False
    shapes: bool = False
    advice: str = ""
    operations: bool = False
    follows: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that a quantity may have as a table."""
        return (*QUANTITY_KEYS, "technology") if self.follows else QUANTITY_KEYS

    def read(self, value: Any) -> Given | Formula:
        """Parse ``25 us``, a plain number, ``{value: 25 us, source: ...}`` or, where allowed, a
        formula.
        """
        if isinstance(value, Given | Formula):
            return value
        if isinstance(value, dict):
            return self._read_table(value)
        # Quantities begin with a digit or a sign, so that a letter begins a formula.
        if self.formula and isinstance(value, str) and value.strip()[:1].isalpha():
            return self._formula_of_text(value)
        try:
            return self._checked_value(value)
        except UnitError as error:
            if self.formula and _OPERATORS.search(value):
                return self._formula_of_text(value)
            raise _quantity_error(str(error)) from None

    def _formula_of_text(self, text: str) -> Formula:
        if not self.shapes:
            return Formula(text)
        most_value = math.inf if self.most is None else self.most
        return WholeFormula(text, self.least or 0.0, most_value)

    def _read_table(self, table: dict[str, Any]) -> Given:
        for key in table:
            if key not in self.keys:
                raise _quantity_error(
                    f"a quantity has no key {str(key)!r}{did_you_mean(str(key), self.keys)}",
                    key,
                    is_at_key=True,
                )
        if "value" not in table:
            raise _quantity_error("a quantity written as keys needs 'value'")
        # A value with a source is measured or assumed: arithmetic has the sources of its
        # parameters.
        constraint_without_formula = replace(self, formula=False)
        try:
            quantity = constraint_without_formula.read(table["value"])
        except PydanticCustomError:
            if self.formula and _OPERATORS.search(str(table["value"])):
                raise _quantity_error(
                    f"{short(str(table['value']))} is a formula, which has no meaning, source or"
                    " interval; write it without braces, with what it means in a comment",
                    "value",
                ) from None
            raise
        assert isinstance(quantity, Given)
        low, high = (
            constraint_without_formula._interval_end(table[key]) if key in table else None
            for key in _INTERVAL_KEYS
        )
        if (
            not (quantity.value if low is None else low)
            <= quantity.value
            <= (quantity.value if high is None else high)
        ):
            raise _quantity_error("the value lies outside of its interval, from low to high")
        assumed = table.get("assumed", False)
        source, meaning, technology = (
            self._text_under_key(table, key) for key in ("source", "meaning", "technology")
        )
        if not isinstance(assumed, bool):
            raise _quantity_error(
                f"'assumed' is true or false; got {_value_text(assumed)}", "assumed"
            )
        return replace(
            quantity,
            source=source,
            assumed=assumed,
            meaning=meaning,
            low=low,
            high=high,
            technology="" if technology == FOLLOWS_NOTHING else technology,
        )

    def _interval_end(self, raw_end: Any) -> float:
        """Parse one end of an interval [base units]; it may be a fraction even where the value must
        be whole.
        """
        quantity = replace(self, whole=False).read(raw_end)
        assert isinstance(quantity, Given)
        return quantity.value

    @staticmethod
    def _text_under_key(table: dict[str, Any], key: str) -> str:
        text = table.get(key, "")
        if not isinstance(text, str):
            raise _quantity_error(f"{key!r} is text; got {_value_text(text)}", key)
        return text

    def _checked_value(self, raw_value: Any) -> Given:
        value, dimension = self._parse_value(raw_value)
        # Of any dimension, times and rates still cannot be negative; differences of plain numbers
        # can.
        least_value = 0.0 if self.dimension is None and dimension.time_power else self.least
        requirement = share_advice = ""
        if least_value is not None and not value >= least_value:
            requirement = f"at least {_number_text(least_value, dimension)}"
        elif self.above is not None and not value > self.above:
            requirement = f"more than {_number_text(self.above, dimension)}"
        elif self.most is not None and not value <= self.most:
            requirement = f"at most {_number_text(self.most, dimension)}"
            if self.most == 1.0 and dimension == COUNT and value <= 100.0:
                share_advice = f"; write {value:g} % if this is a share"
        elif not math.isfinite(value):
            requirement = "a finite number"
        elif self.whole and value != int(value):
            requirement = "a whole number"
        if requirement:
            raise _quantity_error(
                f"must be {requirement}, got {_number_text(value, dimension)}{share_advice}"
            )
        return Given(value, dimension, "" if isinstance(raw_value, InBaseUnits) else str(raw_value))

    def _parse_value(self, raw_value: Any) -> tuple[float, Dimension]:
        if isinstance(raw_value, str):
            if self.dimension is None:
                return parse(raw_value)
            if self.dimension == TIME_PER_BYTE and (
                rate_match := _BYTE_RATE.fullmatch(raw_value.strip())
            ):
                return _time_per_byte(raw_value, rate_match), TIME_PER_BYTE
            count_pattern = (
                _OPERATION if self.operations else _OPERATIONS if self.dimension == RATE else None
            )
            if count_pattern and (rate_match := count_pattern.fullmatch(raw_value.strip())):
                return parse(f"{rate_match[1]} {rate_match[2]}op")[0], self.dimension
            if self.advice and not _is_plain_number(raw_value):
                raise UnitError(f"{raw_value!r} is no plain number; {self.advice}")
            return to_base(raw_value, self.dimension), self.dimension
        # In Python true and false are whole numbers too.
        if isinstance(raw_value, bool) or not isinstance(raw_value, int | float):
            raise _quantity_error(
                f"write {example_of(self.dimension)}; got {_value_text(raw_value)}"
            )
        if self.dimension not in (None, COUNT):
            if isinstance(raw_value, InBaseUnits):
                return float(raw_value), self.dimension
            raise _quantity_error(
                f"write a number with a unit, such as {example_of(self.dimension)}; got"
                f" {raw_value!r}"
            )
        return float(raw_value), COUNT

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON Schema of the quantity, for editors."""
        unit_text = (
            "a plain number"
            if self.dimension == COUNT
            else f"a quantity such as {example_of(self.dimension)}"
        )
        value_forms: list[JsonSchemaValue] = [{"type": "string", "description": unit_text}]
        if self.dimension in (None, COUNT):
            limits = {"minimum": self.least, "exclusiveMinimum": self.above, "maximum": self.most}
            number_form = {"type": "integer" if self.whole else "number"}
            value_forms.append(
                {
                    **number_form,
                    **{key: limit for key, limit in limits.items() if limit is not None},
                }
            )
        table_form = {
            "type": "object",
            "properties": {
                **{key: {"anyOf": list(value_forms)} for key in ("value", *_INTERVAL_KEYS)},
                "source": {"type": "string"},
                "assumed": {"type": "boolean"},
                "meaning": {"type": "string"},
                **({"technology": {"type": "string"}} if self.follows else {}),
            },
            "required": ["value"],
            "additionalProperties": False,
        }
        return {"anyOf": [*value_forms, table_form]}


def example_of(dimension: Dimension | None) -> str:
    """Return an example of a quantity of some dimension."""
    if dimension in (None, COUNT):
        return "a number" if dimension else "a number or a quantity such as '5 us'"
    return repr(_EXAMPLES.get(str(dimension), f"3 {dimension}"))


_BYTE_RATE = late_pattern(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kMGT]i?|)(B|bit|b)\s*/\s*s")
"""A rate of bytes or bits; of a network, `Gb/s` can only mean bits."""

_OPERATION, _OPERATIONS = (
    late_pattern(rf"([-+0-9.eE]+)\s*([kMGTPE]?)(?i:{unit})")
    for unit in ("op|flop", "op/s|flops?/s|flops")
)
"""Operations, and operations a second, which counts and rates count without a unit."""


def _time_per_byte(text: str, rate_match: re.Match[str]) -> float:
    """Parse a rate of bytes as the time of a byte, its inverse [s/B]."""
    unit = {"b": "bit"}.get(rate_match[3], rate_match[3])
    value, _ = parse(f"{rate_match[1]} {rate_match[2]}{unit}/s")
    if not value > 0:
        raise UnitError(
            f"{text!r}: a rate of 0 B/s transfers nothing; write a larger rate, or the time of"
            " a byte"
        )
    return 1 / value


def _is_plain_number(text: str) -> bool:
    try:
        return parse(text)[1] == COUNT
    except UnitError:
        return True  # what is wrong with it is said elsewhere


_EXAMPLES = {"s": "5 us", "B": "4 KiB", "s/B": "0.08 us/B", "1/s": "0.3 /s", "B/s": "100 Mbit/s"}
Time = Annotated[Given, Quantity(TIME)]
Bytes = Annotated[Given, Quantity(BYTES)]
PerByte = Annotated[Given, Quantity(TIME_PER_BYTE)]
Rate = Annotated[Given, Quantity(RATE, least=None, above=0.0)]
ByteRate = Annotated[Given, Quantity(Dimension.of("B/s"), least=None, above=0.0)]
Count = Annotated[Given, Quantity(COUNT)]
Whole = Annotated[Given, Quantity(COUNT, least=1.0, whole=True)]
MOST_SERVERS = 1_000_000
"""Servers of one station; solvers keep a number for each."""

Servers = Annotated[
    Given | Formula,
    Quantity(COUNT, least=1.0, most=MOST_SERVERS, whole=True, formula=True, shapes=True),
]
Capacity = Annotated[
    Given | Formula, Quantity(COUNT, least=1.0, whole=True, formula=True, shapes=True)
]
Factor = Annotated[Given, Quantity(COUNT, least=None, above=0.0)]
_SPEED_ADVICE = (
    "a speed is how many times as fast as the machine that the costs were measured on, such as 1.5"
)
Speed = Annotated[Given, Quantity(COUNT, least=None, above=0.0, advice=_SPEED_ADVICE)]
AnyQuantity = Annotated[Given | Formula, Quantity(None, least=None, formula=True, follows=True)]
"""The value of a parameter."""

PARAMETERS_IN_WORDS = (
    "named quantities, or arithmetic on earlier ones. Times and counts can use them. With the key"
    " technology, a parameter follows a series of a trend over the years, such as node_price, or a"
    " class of cost; none keeps it constant"
)
"""The description of the key `parameters`, in the formats that have it."""
Rates = list[Annotated[Given | Formula, Quantity(COUNT, least=None, above=0.0, formula=True)]]
RATES_IN_WORDS = KeyMeaning.of(
    "speed with 1, 2, 3 ... customers present, in place of servers",
    "the last number also applies to more customers",
)
Weight = Annotated[Given | Formula, Quantity(COUNT, least=None, above=0.0, formula=True)]
WEIGHT_IN_WORDS = KeyMeaning.of(
    "relative speed at a station with the discipline ps: if more customers than servers are"
    " present, speeds are proportional to weights, up to that of one server",
    "1 by default",
)
TimeOrFormula = Annotated[Given | Formula, Quantity(TIME, formula=True)]
CountFormula = Annotated[Given | Formula, Quantity(COUNT, formula=True)]

Year = Annotated[float, Field(ge=1900, le=2200)]


def _quantity_error(message: str, *location: str, is_at_key: bool = False) -> PydanticCustomError:
    """Return the error of a quantity, or of a value or key at a place inside of it."""
    return PydanticCustomError(
        "quantity", "{why}", {"why": message, "at": location, "is_at_key": is_at_key}
    )


def _number_text(value: float, dimension: Dimension) -> str:
    return f"{value:g}" if dimension == COUNT else show(value, dimension)


def _value_text(value: Any) -> str:
    if value is None:
        return "nothing"
    return {bool: repr(value).lower(), list: "a list"}.get(type(value), repr(value)[:60])


class Spec(BaseModel):
    """A part of a spec file: unknown keys, wrong types, NaN and infinity are refused."""

    # Checkers are built when they are first used (`defer_build`): a command needs few of them.
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        frozen=True,
        validate_default=True,
        defer_build=True,
    )

    hints: ClassVar[Mapping[str, str]] = {}
    """What to write in the place of keys that people try here, by key."""

    def model_post_init(self, _context: object) -> None:
        self.check_rules()

    def check_rules(self) -> None:
        """Check the rules between keys of this part; raises `broken_rule` where keys contradict
        each other.
        """

    @property
    def default_variations(self) -> list[str]:
        """List how the times of this part vary by default, without the times of nested parts. The
        text is empty for a time with a stated distribution or scv.
        """
        return []


class ReadInPlace(Spec):
    """Base of the parts of a file that may stand in place of a quantity."""

    @abstractmethod
    def expr(self, quantity_reader: QuantityReader, location: Location) -> Expr:
        """Return the expression of the quantity."""


class Described(Spec):
    """Keys that every file may have to describe itself."""

    @classmethod
    def undefined_names(cls, data: object) -> list[Fault]:
        """List the names that a file uses but does not define; the file may have other faults.
        Empty unless a kind of file overrides the method.
        """
        return []

    def summary(self) -> str:
        """Return a description of the content of a file apart from its quantities; empty by
        default.
        """
        return ""

    title: Note = Field("", description="a title of one line, for tables and catalogues")
    source: Note = Field(
        "",
        description="source of the values that have none of their own: a key of sources, or a text",
    )
    sources: Sources = Field(
        {}, description=("full texts of sources, by the short keys that values use")
    )
    extends: Note = Field(
        "", description="another file of the same kind; its values apply where this file has none"
    )


SpecType = TypeVar("SpecType", bound=BaseModel)
HardwarePart = TypeVar("HardwarePart", bound=NamedTuple)


Once = Callable[[Hashable, Callable[[], Any], object], Any]
"""A function that returns the value computed under a key, such as
`slipstick.schema.library.Library.compute_once`: the value is computed at the first call only.
"""


def validate(model: type[SpecType], node: Node, compute_once: Once | None = None) -> SpecType:
    """Check a tree against the pydantic model of a spec, and return the object.

    Parameters
    ----------
    model, node : the spec model, and the tree
    compute_once : keeps the parts that were checked, so that a part of several trees, such as their
        machine, is checked once

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    if compute_once and isinstance(node, Table):
        with suppress(ValidationError):  # what is wrong in a part is told as that of the whole
            return _validate_parts(model, node, compute_once)
    data = plain_data(node)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        # The words of messages take time to import, and nothing is wrong with most files.
        from slipstick.schema.messages import problems_in

        name_faults = model.undefined_names(data) if issubclass(model, Described) else []
        name_problems = [
            problem(node, fault.path, fault.message, fault.is_at_key) for fault in name_faults
        ]
        raise SpecError([*problems_in(model, node, error), *name_problems]) from None


def _validate_parts(model: type[SpecType], node: Table, compute_once: Once) -> SpecType:
    """Return the object of a table, checked part by part: parts that were checked before are not
    checked again.
    """
    data: dict[str, Any] = {}
    for key, entry in node.entries.items():
        part_type = model.model_fields[key].annotation if key in model.model_fields else None
        if isinstance(part_type, UnionType):  # a part that may be left out
            part_type = (
                next(iter({*get_args(part_type)} - {NoneType}))
                if len(get_args(part_type)) == 2
                else None
            )
        if (
            isinstance(entry.node, Table)
            and isinstance(part_type, type)
            and issubclass(part_type, Spec)
        ):
            check_part = partial(_validate_parts, part_type, entry.node, compute_once)
            data[key] = compute_once((part_type, id(entry.node)), check_part, entry.node)
        else:
            data[key] = plain_data(entry.node)
    return model.model_validate(data)


def problems_of(model: type[BaseModel], node: Node, is_partial: bool = False) -> list[Problem]:
    """List the problems of a tree, found by its pydantic model; empty if it has none.

    Parameters
    ----------
    model, node : as for `validate`
    is_partial : whether the tree leaves to another what it does not say; then nothing is missing
    """
    try:
        model.model_validate(plain_data(node))
    except ValidationError as error:
        from slipstick.schema.messages import problems_in

        return problems_in(model, node, error, is_partial)
    return []


PlainFormula = Annotated[Given | Formula, Quantity(COUNT, formula=True)]


MACHINE_IN_A_YEAR: Mapping[str, dict[str, Any]] = {
    "base": {
        "type": ["string", "object"],
        "description": "the machine that a trend takes to another year; it tells its own year",
    },
    "year": {
        "type": "number",
        "minimum": 1900,
        "maximum": 2200,
        "description": "the year that the machine is taken to",
    },
    "trend": {"type": "string", "description": "the trend: its name in the catalogue, or a file"},
}
"""JSON Schemas of the keys of a machine in another year, which come together."""

INLINE_MACHINE: Mapping[str, Any] = {
    "type": ["string", "object"],
    "properties": MACHINE_IN_A_YEAR,
    "dependentRequired": {"base": ["year", "trend"]},
}
"""The JSON Schema of a machine where a model or a case names one."""


class ModelFileSpec(Described):
    """Keys that the file of any model may have in addition to the keys of its kind."""

    machine: Any = Field(
        None,
        description=(
            "the machine that the model runs on: a name in the catalogue, a file, or its keys."
            " Formulas use its quantities, such as machine.network.adapter"
        ),
        json_schema_extra=dict(INLINE_MACHINE),
    )
    amounts: dict[Name, PlainFormula] = Field(
        {},
        description=(
            "plain numbers computed from an answer, such as a cost or an energy: arithmetic on"
            " parameters and values, such as throughput[clients] or utilization[cpu]. For a server"
            " that works in rounds the values are throughput, unit_rate[PHASE] (units per second)"
            " and present (mean number of customers at the server, including those that wait)"
        ),
    )
    measured_error: Note = Field(
        "",
        description=(
            "how far predictions of the model were from measurements, such as: 5 to 16 % too fast;"
            " answers and reports repeat it"
        ),
    )
    left_out: dict[Name, Note] = Field(
        {},
        description=(
            "features that an import left out or changed, each with its effect; answers repeat them"
            " and are never exact"
        ),
    )

    @property
    def losses(self) -> dict[str, str]:
        """The features that imports left out or changed in the machine and in the model, by
        name.
        """
        return {**getattr(self.machine, "left_out", {}), **self.left_out}


ProcessorKind = Literal[
    "core",
    "socket",
    "gpu-fp64",
    "gpu-fp32",
    "gpu-tf32",
    "gpu-bf16",
    "gpu-fp16",
    "gpu-fp8",
    "gpu-int8",
    "gpu-fp4",
]
"""What a processor of a machine is, for trends: a core, all cores of a socket, or a GPU whose rate
is that of a format of numbers.
"""

Fraction = Annotated[Given, Quantity(COUNT, most=1.0)]


class Gain(Spec):
    """The gain of classes of cost from faster processors."""

    processors: Factor | None = Field(
        None, description=("factor by which the processors become faster")
    )
    benefit: Fraction | None = Field(
        None,
        description=KeyMeaning.of(
            ("fraction of each doubling of the processor speed that the classes under partly gain"),
            "1 by default",
        ),
    )
    fully: list[Technology] = Field(
        ["application", "software"],
        description=("classes whose times are divided by the factor of the processors"),
    )
    partly: list[Technology] = Field(
        ["system", "protocol", "signal"],
        description=(
            "classes that become faster by the factor 1 + benefit for each doubling of the"
            " processor speed"
        ),
    )

    def check_rules(self) -> None:
        for index, class_name in enumerate(self.partly):
            if class_name in self.fully:
                raise broken_rule(
                    f"{class_name} is also under fully; name each class once", "partly", index
                )


class Factors(Gain):
    """Factors by which a technology multiplies the times of classes of cost. The factor 1 changes
    nothing.
    """

    application: Factor | None = Field(None, description="factor on the time of the application")
    software: Factor | None = Field(None, description="factor on the time of run-time software")
    system: Factor | None = Field(None, description="factor on extra system-call time")
    protocol: Factor | None = Field(None, description="factor on the time of protocol software")
    signal: Factor | None = Field(None, description="factor on the time of signals")
    adapter: Factor | None = Field(None, description="factor on the latency of adapters")
    switch: Factor | None = Field(None, description="factor on the latency of switches")
    wire: Factor | None = Field(None, description="factor on the time on the wire")
    memory: Factor | None = Field(None, description="factor on the time of memory traffic")
    memory_latency: Factor | None = Field(
        None, description="factor on the time of dependent memory accesses"
    )
    storage: Factor | None = Field(None, description="factor on the time of storage traffic")
    storage_latency: Factor | None = Field(
        None, description="factor on the time of dependent storage accesses"
    )


def technology_factors(spec: Factors, parameters: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return the factor of each technology class that the section ``technology`` of a model sets.

    Parameters
    ----------
    spec : the section, checked
    parameters : every quantity of the model, by path
    """
    # Of a machine there is no model to import.
    from slipstick.model.system import factors_with_faster_processors

    factor_by_class: dict[str, Expr] = {
        name: parameters[f"technology.{name}"]
        for name in TECHNOLOGIES
        if getattr(spec, name) is not None
    }
    if spec.processors is None:
        return factor_by_class
    benefit = parameters.get("technology.benefit")
    return factors_with_faster_processors(
        factor_by_class, parameters["technology.processors"], spec.fully, spec.partly, benefit
    )


MACHINE = "machine."
"""The beginning of the paths of a machine's quantities."""

_MACHINE_PATH = late_pattern(r"\bmachine\.[A-Za-z_.]*")

Location = tuple[str | int, ...]
"""A place in a file, as the keys and indices that lead to it."""

read_expression = partial(formulas.read_expression, parse_quantity=parse)
read_condition = partial(formulas.read_condition, parse_quantity=parse)
"""The readers of formulas, with quantities such as ``4 KiB`` written out."""


def read_formula(
    tree: Node,
    location: Sequence[str | int],
    formula: Formula,
    expr_by_name: Mapping[str, Expr],
    dimension: Dimension | None,
    *,
    allow_answers: bool = False,
) -> Expr:
    """Parse one formula of a spec, and check its dimension.

    Parameters
    ----------
    tree, location : where it is written
    formula : its text
    expr_by_name : what its names stand for
    dimension : the dimension it must have; None takes any
    allow_answers : whether names of values of answers may occur, such as ``utilization[cpu]``

    Raises
    ------
    SpecError : it is no arithmetic on known names, or of another dimension
    """
    mark = value_mark(tree, location)
    try:
        expr = read_expression(formula.text, expr_by_name, allow_answers=allow_answers)
    except FormulaError as error:
        word = formula.text.strip()
        is_word = re.fullmatch(r"[A-Za-z_]\w*", word) and not nearest_names(word, expr_by_name)
        name = error.name.removeprefix("parameters.")
        if location[0] == "parameters" and node_at(tree, ("parameters", name)):
            message = f"{error}; {name} stands below: write it above {join_path(location[1:])}"
            raise mark.error(message, location) from None
        unit_message = (
            f"{error}; write {example_of(dimension)}, or the name of a parameter"
            if is_word
            else str(error)
        )
        raise mark.error(unit_message, location) from None
    if dimension is not None and expr.dimension != dimension:
        _refuse_without_unit(tree, location, formula, expr.dimension, expr_by_name, dimension)
        unit_message = f"{formula.text} gives a [{expr.dimension}], but a [{dimension}] is wanted"
        raise mark.error(unit_message + _UNIT_ADVICE.get((expr.dimension, dimension), ""), location)
    return expr


_UNIT_ADVICE = {
    (RATE, COUNT): "; multiply by a time, as in '* 1 s'",
    (TIME, COUNT): "; divide by a time, as in '/ 1 s'",
}
"""How a formula of the first dimension can be given the second one, for messages."""


def _refuse_without_unit(
    tree: Node,
    location: Sequence[str | int],
    formula: Formula,
    found_dimension: Dimension,
    expr_by_name: Mapping[str, Expr],
    dimension: Dimension,
) -> None:
    """Raise if the formula would have the right dimension with a unit at one of its plain numbers,
    or at one of its parameters that have none: at the place of this parameter if it is the only
    way.
    """
    formula_text = _with_unit_at_number(formula.text, found_dimension, expr_by_name, dimension)
    units_by_name = {}
    for name in dict.fromkeys(re.findall(r"\w+", formula.text)):
        parameter = expr_by_name.get(name)
        # What a parameter with a meaning counts is known.
        is_known_count = formula_text and node_at(tree, ["parameters", name, "meaning"])
        if is_known_count or not isinstance(parameter, Parameter) or parameter.dimension != COUNT:
            continue
        # A parameter may be a factor or a divisor.
        for missing_dimension in (dimension / found_dimension, found_dimension / dimension):
            if not _may_be_missing(missing_dimension):
                continue
            changed_expr_by_name = {**expr_by_name, name: Parameter(name, missing_dimension)}
            with suppress(FormulaError):
                if read_expression(formula.text, changed_expr_by_name).dimension != dimension:
                    continue
                # With the unit, formulas of other keys would be wrong in their turn.
                keys_changed = _keys_changed(tree, name, expr_by_name, changed_expr_by_name) - {
                    str(location[-1])
                }
                if "population" in keys_changed or (formula_text and keys_changed):
                    continue
                value = 1.0 if parameter.value is None else parameter.value
                units_by_name[name] = (value, with_usual_units(value, missing_dimension))
    if len(units_by_name) == 1 and not formula_text:
        [(name, (value, units_text))] = units_by_name.items()
        message = (
            f"{value:g} lacks its unit; write {units_text}:"
            f" {join_path(location)} wants a [{dimension}]"
        )
        raise SpecError([problem(tree, ("parameters", name), message)])
    suggestions = [f"'{formula_text}'"] * bool(formula_text)
    suggestions += [f"{name}: {text}" for name, (_, text) in units_by_name.items()]
    if suggestions:
        subject = "numbers" if formula_text else "parameters"
        message = (
            f"{formula.text} gives a [{found_dimension}], but a [{dimension}] is wanted; one of its"
            f" {subject} lacks its unit: write {'; or '.join(suggestions)}"
        )
        raise value_mark(tree, location).error(message, location)


_PLAIN_NUMBER = late_pattern(r"(?<![\w.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.]|\s*[A-Za-z%])")


def _with_unit_at_number(
    text: str, found_dimension: Dimension, expr_by_name: Mapping[str, Expr], dimension: Dimension
) -> str:
    """Return a formula with a unit at its first plain number that gives it the right dimension;
    empty if there is no such number.
    """
    missing_dimension = dimension / found_dimension
    if not _may_be_missing(missing_dimension):
        return ""
    unit = with_usual_units(1.0, missing_dimension).split("'")[1].removeprefix("1 ")
    for number_match in _PLAIN_NUMBER.finditer(text):
        changed_text = f"{text[: number_match.end()]} {unit}{text[number_match.end() :]}"
        with suppress(FormulaError):
            if read_expression(changed_text, expr_by_name).dimension == dimension:
                return changed_text
    return ""


def _may_be_missing(dimension: Dimension) -> bool:
    """Return whether a number may have been meant in a dimension: not in squares of units, nor in
    1/B, as only rates of events are told without their unit.
    """
    powers = dimension.powers
    return max(map(abs, powers)) <= 1 and (max(powers) > 0 or dimension == RATE)


def _keys_changed(
    tree: Node,
    name: str,
    expr_by_name: Mapping[str, Expr],
    changed_expr_by_name: Mapping[str, Expr],
) -> set[str]:
    """Return the keys of the formulas of a file whose dimension changes with that of a parameter;
    of the population, that key.
    """
    keys = set()
    for path, leaf in leaves(tree):
        if name not in re.findall(r"\w+", leaf.text):
            continue
        # A title is no formula, and a name that stands below is read later.
        with suppress(FormulaError):
            dimension = read_expression(leaf.text, expr_by_name).dimension
            first_key, last_key = path.partition(".")[0], path.rpartition(".")[2]
            key = first_key if first_key == "population" else last_key
            try:
                if read_expression(leaf.text, changed_expr_by_name).dimension == dimension:
                    continue
            except FormulaError:
                pass
            keys.add(key)
    return keys


class QuantityReader:
    """Reads the quantities of one checked file as expressions.

    Parameters
    ----------
    tree : where everything is written
    named_quantities : the file's own ``parameters``; a formula may use those before it
    parameters : every quantity of the file, by path (``cycle.work.delay``)

    Attributes
    ----------
    problems : found so far; those found while the model is built are added
    shaping_values : values of the quantities that whole numbers of the structure were computed
        from, by path
    """

    def __init__(
        self,
        tree: Node,
        named_quantities: Mapping[str, Given | Formula],
        parameters: Mapping[str, Expr],
    ) -> None:
        self._tree = tree
        self._parameters = parameters
        self.problems: list[Problem] = []
        self.shaping_values: dict[str, Number] = {}
        self._unread_names: list[str] = []
        self._machine_parameters = {
            path: parameter for path, parameter in parameters.items() if path.startswith(MACHINE)
        }
        self._expr_by_name = self._expressions_of(named_quantities)

    def expr(self, value: Given | Formula | None, location: Location, dimension: Dimension) -> Expr:
        """Return the expression of a quantity. A wrong formula is reported, and becomes a parameter
        without a value.
        """
        if isinstance(value, Formula):
            expr = self._parse_formula(value, location, self._expr_by_name, dimension)
            return Parameter("unread", dimension) if expr is None else expr
        path = canonical(self._tree, location)
        if path in self._parameters:
            return self._parameters[path]
        # A default that the file does not mention is a plain number.
        assert value is not None
        return Number(value.value, dimension)

    def add_names(self, names: Mapping[str, Expr]) -> None:
        """Add names that later formulas may use."""
        self._expr_by_name |= names

    def amount_expressions(
        self, amounts: Mapping[str, Given | Formula], values: Mapping[str, Expr]
    ) -> dict[str, Expr]:
        """Build the amounts of a model; their formulas may name values of its answers.

        Parameters
        ----------
        amounts : by name
        values : what stands for those of answers, by name
        """
        expr_by_name = {**self._expr_by_name, **values}
        expressions: dict[str, Expr] = {}
        for amount_name, amount in amounts.items():
            location = ("amounts", amount_name)
            expr = (
                self._parse_formula(amount, location, expr_by_name, COUNT, allow_answers=True)
                if isinstance(amount, Formula)
                else self.expr(amount, location, COUNT)
            )
            expressions |= {} if expr is None else {amount_name: expr}
        return expressions

    def whole_number(self, formula: WholeFormula, location: Location) -> int:
        """Evaluate a formula whose result is a whole number that shapes the model; a wrong formula
        is reported, and counts as 1.
        """
        expr = self._parse_formula(formula, location, self._expr_by_name, COUNT)
        if expr is None:
            return 1
        value = _value_of_expression(expr)
        # These parameters become numbers: the structure of the model cannot follow them in a sweep.
        self.shaping_values |= {
            parameter.name: Number(_value_of(parameter), parameter.dimension)
            for parameter in parameters(expr)
        }
        is_finite = math.isfinite(value)  # a division by 0 is not
        if is_finite and value == math.floor(value) and formula.least <= value <= formula.most:
            return int(value)
        upper_limit_text = "" if formula.most == math.inf else f" to {formula.most:,.0f}"
        self.report_problem(
            location,
            f"{formula.text} is {value:g}; it must be a whole number from"
            f" {formula.least:g}{upper_limit_text or ' on'}",
        )
        return 1

    def missing_machine_path(self, text: str) -> str:
        """Return the first machine quantity that a formula names but the machine does not have;
        empty if there is none.
        """
        return next(
            (path for path in _MACHINE_PATH.findall(text) if path not in self._expr_by_name), ""
        )

    def parse_condition(self, text: str, location: Location) -> tuple[Comparison, ...]:
        """Parse comparisons joined by ``and``; a wrong condition is reported, and none is
        returned.
        """
        try:
            return read_condition(text, self._expr_by_name)
        except FormulaError as error:
            self.report_problem(location, str(error))
            return ()

    def field_values(
        self,
        spec: BaseModel,
        location: Location,
        read_list: Callable[[list[Any], Location], object] | None = None,
    ) -> dict[str, Any]:
        """Return the fields of a part of a file by key. Quantities are returned as expressions,
        also those inside tables and lists.

        Keys that the file does not have are left out, so that the model uses its own default. A
        quantity that cannot be a formula is returned as a number.

        Parameters
        ----------
        spec, location : the part, and where it stands
        read_list : reads a list of anything else; such a list is taken as it is by default
        """

        def field_value(value: Any, field_location: Location, quantity: Quantity | None) -> Any:
            if isinstance(value, WholeFormula):
                return self.whole_number(value, field_location)
            if isinstance(value, ReadInPlace):
                return value.expr(self, field_location)
            if isinstance(value, Given | Formula) and quantity is not None:
                if quantity.formula and not quantity.shapes and quantity.dimension is not None:
                    return self.expr(value, field_location, quantity.dimension)
                assert isinstance(value, Given)
                return int(value.value) if quantity.whole else value.value
            if isinstance(value, dict):
                return {
                    key: field_value(item, (*field_location, key), quantity)
                    for key, item in value.items()
                }
            if isinstance(value, list) and quantity is not None:
                return tuple(
                    field_value(item, (*field_location, index), quantity)
                    for index, item in enumerate(value)
                )
            return (
                read_list(value, field_location) if isinstance(value, list) and read_list else value
            )

        spec_type = type(spec)
        value_by_key = {key: getattr(spec, key) for key in spec_type.model_fields}
        return {
            field_key: field_value(
                value, (*location, field_key), _quantity_of_field(spec_type, field_key)
            )
            for field_key, value in value_by_key.items()
            if value is not None
        }

    def report_problem(self, location: Location, message: str, is_at_key: bool = False) -> None:
        """Report a problem at a place of the file."""
        self.problems.append(problem(self._tree, location, message, is_at_key))

    def _expressions_of(self, named_quantities: Mapping[str, Given | Formula]) -> dict[str, Expr]:
        expr_by_name: dict[str, Expr] = dict(self._machine_parameters)
        for name, quantity in named_quantities.items():
            location = ("parameters", name)
            if not isinstance(quantity, Formula):
                expr_by_name[name] = self._parameters[canonical(self._tree, location)]
                continue
            expr = self._parse_formula(quantity, location, expr_by_name, None)
            if expr is None:
                self._unread_names.append(name)
            else:
                expr_by_name[name] = expr
        return expr_by_name

    def _parse_formula(
        self,
        formula: Formula,
        location: Location,
        expr_by_name: Mapping[str, Expr],
        dimension: Dimension | None,
        *,
        allow_answers: bool = False,
    ) -> Expr | None:
        try:
            if not self._machine_parameters and (
                machine_path := _MACHINE_PATH.search(formula.text)
            ):
                message = (
                    f"{machine_path[0]} needs a machine; write machine: NAME in the file, or give"
                    " one with --machine"
                )
                raise SpecError([problem(self._tree, location, message)])
            return read_formula(
                self._tree, location, formula, expr_by_name, dimension, allow_answers=allow_answers
            )
        except SpecError as error:
            # A formula over a parameter that could not be read is not a second problem.
            if not set(re.findall(r"\w+", formula.text)).intersection(self._unread_names):
                self.problems += error.problems
            return None


@cache
def _quantity_of_field(spec: type[BaseModel], key: str) -> Quantity | None:
    """Return the constraint of the quantity that a field holds, directly or inside a table or list;
    None if it holds no quantity.
    """

    def quantities_in(annotation: Any) -> Iterator[Quantity]:
        if isinstance(annotation, Quantity):
            yield annotation
        for argument in get_args(annotation):
            yield from quantities_in(argument)

    field_info = spec.model_fields[key]
    return next(
        (
            argument
            for annotation in (*field_info.metadata, field_info.annotation)
            for argument in quantities_in(annotation)
        ),
        None,
    )


_PARAMETERS_PREFIX = "parameters."
_MODEL_SECTIONS = (
    "cycle",
    "groups",
    "population",
    "phases",
    "resources",
    "classes",
    "chains",
    "stations",
    "routing",
)
"""The first keys of the paths in models, which are no parameters."""


_LONGEST_FORMULA_PART = 1000
"""Characters of a part of a formula; an operation on two such parts is well within what a reader
takes.
"""


class QuantityWriter:
    """Writes the expressions of one model as the quantities of a file.

    Attributes
    ----------
    parameters : the named quantities written so far, as a file has them
    """

    def __init__(self) -> None:
        self.parameters: dict[str, str | float] = {}
        self._sources: dict[str, str] = {}
        self._name_by_text: dict[str, str] = {}

    def expr_as_data(self, value: Expr) -> str | float:
        """Write an expression as a number, a quantity, or a formula over named parameters."""
        if isinstance(value, Number):
            return _quantity_text(value, value.value)
        # A parameter at a path of the model has no name by its author, so that its value is
        # written.
        if isinstance(value, Parameter) and value.name.split(".")[0] in _MODEL_SECTIONS:
            return _quantity_text(value, _value_of(value))
        registered_parameters = {
            parameter.name: replace(parameter, name=self._registered_name(parameter))
            for parameter in parameters(value)
        }
        return repr(self._with_named_parts(substitute(value, registered_parameters)))

    def amount_formulas(
        self, amounts: Mapping[str, Expr], answer_parameters: Mapping[str, Parameter]
    ) -> dict[str, str]:
        """Write amounts as formulas, in which values of the answer have the names of answers.

        Parameters
        ----------
        amounts : by name
        answer_parameters : what stands in formulas for the values of an answer, by their names

        Raises
        ------
        ModelError : an amount is computed from another value
        """
        name_by_parameter = {parameter.name: name for name, parameter in answer_parameters.items()}
        # A name may be the beginning of a longer one.
        patterns_longest_first = sorted(map(re.escape, name_by_parameter), key=len, reverse=True)
        value_pattern = re.compile(rf"(?:{'|'.join(patterns_longest_first)})(?![\w.-])")

        def amount_text(name: str, amount: Expr) -> str:
            registered_parameters = {}
            for parameter in parameters(amount):
                if is_answer_value(parameter.name) and parameter.name not in name_by_parameter:
                    raise ModelError(
                        f"the amount {name} is computed from {parameter.name.partition('.')[2]},"
                        " which no file can name; leave it out"
                    )
                if parameter.name not in name_by_parameter:
                    registered_parameters[parameter.name] = replace(
                        parameter, name=self._registered_name(parameter)
                    )
            formula_text = repr(substitute(amount, registered_parameters))
            return (
                value_pattern.sub(lambda match: name_by_parameter[match[0]], formula_text)
                if name_by_parameter
                else formula_text
            )

        return {name: amount_text(name, amount) for name, amount in amounts.items()}

    def _with_named_parts(self, value: Expr) -> Expr:
        """Name the long parts of a formula, innermost first, because the parser limits the length
        of a formula.
        """
        if len(node_text := repr(value)) <= _LONGEST_FORMULA_PART and "..." not in node_text:
            return value  # nothing of it is cut
        new_node_by_id: dict[int, Expr] = {}
        for node in walk(value):
            new_node = node
            if isinstance(node, Operation):
                operands = tuple(new_node_by_id[id(operand)] for operand in node.operands)
                new_node = replace(node, operands=operands)
            node_text = repr(new_node)
            if node is not value and len(node_text) > _LONGEST_FORMULA_PART:
                name = self._name_by_text.setdefault(
                    node_text, f"part_{len(self._name_by_text) + 1}"
                )
                self.parameters[name] = node_text
                new_node = Parameter(name, node.dimension)
            new_node_by_id[id(node)] = new_node
        return new_node_by_id[id(value)]

    def fields_as_data(
        self, node: Any, write_other: Callable[[Any], object] = lambda unchanged: unchanged
    ) -> dict[str, Any]:
        """Return the fields of a part of a model as plain data; fields that have their default
        value are left out.

        Parameters
        ----------
        node : the part
        write_other : writes what is no quantity, and no table or list of quantities
        """

        def as_plain_data(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: as_plain_data(item) for key, item in value.items()}
            if isinstance(value, tuple):
                return [as_plain_data(item) for item in value]
            return self.expr_as_data(value) if isinstance(value, Expr) else write_other(value)

        default_by_field = {
            field.name: field.default
            if field.default_factory is MISSING
            else field.default_factory()
            for field in fields(node)
        }
        value_by_field = {field_name: getattr(node, field_name) for field_name in default_by_field}
        return {
            field_name: as_plain_data(value)
            for field_name, value in value_by_field.items()
            if value != default_by_field[field_name]
        }

    def _registered_name(self, parameter: Parameter) -> str:
        """Register a parameter under a name that formulas can contain, and return the name."""
        # In a formula a hyphen would be a minus.
        name = plain_name(parameter.name.removeprefix(_PARAMETERS_PREFIX)).replace("-", "_")
        self.parameters[name] = _quantity_text(parameter, _value_of(parameter))
        if self._sources.setdefault(name, parameter.name) != parameter.name:
            raise ModelError(
                f"parameters {self._sources[name]} and {parameter.name} would have one name in a"
                f" file: {name}"
            )
        return name


def plain_name(name: str) -> str:
    """Return a name without dots, which would read as a path into nested tables."""
    return name.replace(".", "_")


def _value_of(parameter: Parameter) -> float:
    if parameter.value is None:
        raise ModelError(f"parameter {parameter.name} has no value; a file needs one")
    return parameter.value


def _value_of_expression(value: Expr) -> float:
    """Evaluate an expression at the values of its parameters."""
    if isinstance(value, Number | Parameter):
        return value.value if isinstance(value, Number) else _value_of(value)
    from slipstick.expression.tape import Tape  # NumPy, which a bare parameter does not need

    value_by_name = {parameter.name: _value_of(parameter) for parameter in parameters(value)}
    return float(Tape([value]).run(value_by_name)[0][0])


def _quantity_text(value: Expr, number: float) -> str | float:
    if value.dimension == COUNT:
        # A larger whole number would be written with digits that a double does not hold.
        return int(number) if number == int(number) and abs(number) < 1e15 else number
    return f"{number_text(number)} {value.dimension}"


@dataclass(frozen=True, slots=True)
class DescribedValue:
    """A value of a spec, with its path, its meaning and its source."""

    path: str
    given: Given
    meaning: str
    source: str


@dataclass(frozen=True, slots=True)
class _SourceContext:
    """What a value of a file inherits at its place: the source of values that name none, and the
    full texts of the keys of sources.
    """

    source: str = ""
    text_by_source_key: Mapping[str, str] = field(default_factory=dict)

    def for_part(self, spec: BaseModel) -> _SourceContext:
        """Return the context inside a part of a file, which may state sources of its own."""
        if not isinstance(spec, Described):
            return self
        sources = {**self.text_by_source_key, **spec.sources}
        return _SourceContext(sources.get(spec.source, spec.source) or self.source, sources)


def described_values(spec: object, prefix: str = "", meaning: str = "") -> Iterator[DescribedValue]:
    """Yield every quantity of a checked spec or a part of it, with its path under `prefix`, in the
    order of the format.
    """
    yield from _described_values(spec, prefix, meaning, _SourceContext())


def with_sources(
    values: Iterable[DescribedValue], tree: Node, sources: Mapping[str, str]
) -> Iterator[DescribedValue]:
    """Add a source to each value that names none: the source of the file in which the value is
    written, and not the source of a file that extends it.

    Parameters
    ----------
    values : as `described_values` gives them
    tree : where everything is written
    sources : what each file says of itself
    """
    for described_value in values:
        if described_value.given.source:
            yield described_value
        elif (node := node_at(tree, described_value.path)) is None:
            yield replace(described_value, source="default of the format")
        elif node.mark.file.startswith("--set"):
            yield replace(described_value, source="set on the command line")
        else:
            source = sources.get(node.mark.file, described_value.source)
            yield replace(described_value, source=source)


def parameters_of(values: Mapping[str, DescribedValue]) -> dict[str, Parameter]:
    """Build a parameter for each quantity."""
    return {
        path: Parameter(path, described_value.given.dimension, described_value.given.value)
        for path, described_value in values.items()
    }


def build_part(
    part_class: type[HardwarePart],
    spec: Spec,
    parameter_by_path: Mapping[str, Parameter],
    path: str,
    **values_without_key: Any,
) -> HardwarePart:
    """Build a part of a machine whose fields are the keys of its spec: quantities become
    parameters, other values stay.

    Parameters
    ----------
    part_class : the part
    spec, path : the checked keys, and where they stand
    parameter_by_path : every quantity of the file, by path
    values_without_key : values of the fields that are no keys
    """
    field_names = [name for name in part_class._fields if name not in values_without_key]
    value_by_key = {key: getattr(spec, key) for key in field_names}
    value_by_field = {
        key: parameter_by_path[f"{path}.{key}"] if isinstance(value, Given) else value
        for key, value in value_by_key.items()
    } | values_without_key
    return part_class._make(value_by_field[name] for name in part_class._fields)


def build_hardware(
    spec: Any, name: str = "", prefix: str = "machine"
) -> Machine | SharedMemory | Network:
    """Build the machine or the network of a checked file, with its quantities as parameters."""
    parameter_by_path = parameters_of(
        {
            described_value.path: described_value
            for described_value in described_values(spec, prefix)
        }
    )
    hardware: Machine | SharedMemory | Network = spec.build(name, parameter_by_path, prefix)
    return hardware


def _described_values(
    spec_part: object, path: str, meaning: str, context: _SourceContext
) -> Iterator[DescribedValue]:
    if isinstance(spec_part, Given):
        yield DescribedValue(
            path,
            spec_part,
            spec_part.meaning or meaning,
            context.text_by_source_key.get(spec_part.source, spec_part.source) or context.source,
        )
    elif isinstance(spec_part, BaseModel):
        inner_context = context.for_part(spec_part)
        for name, field_info in type(spec_part).model_fields.items():
            field_value = getattr(spec_part, name)
            # Most fields hold nothing or plain values, which are no quantities.
            if field_value and not isinstance(field_value, str | int | float):
                field_quantity = (
                    _with_source_of_part(field_value, spec_part)
                    if isinstance(field_value, Given)
                    else field_value
                )
                yield from _described_values(
                    field_quantity,
                    _join_path(path, field_info.alias or name),
                    field_info.description or meaning,
                    inner_context,
                )
    elif isinstance(spec_part, dict):
        for key, item in spec_part.items():
            # What a table says of itself says nothing of a quantity that its author named.
            item_meaning = "" if path == "parameters" else meaning
            yield from _described_values(item, _join_path(path, str(key)), item_meaning, context)
    elif isinstance(spec_part, list):
        for index, item in enumerate(spec_part):
            yield from _described_values(item, _join_path(path, str(index)), meaning, context)


def _with_source_of_part(quantity: Given, spec: BaseModel) -> Given:
    """Return a quantity with the source that it states, or else with the source of the part that
    contains it, such as a distribution.
    """
    source = getattr(spec, "source", None)
    if quantity.source or isinstance(spec, Described) or not isinstance(source, str) or not source:
        return quantity
    return replace(
        quantity, source=source, assumed=quantity.assumed or getattr(spec, "assumed", False)
    )


def _join_path(prefix: str, name: str) -> str:
    return f"{prefix}.{join_path([name])}" if prefix else join_path([name])
