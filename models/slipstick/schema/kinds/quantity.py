"""What all specs share: strict, frozen, every key documented; quantities with their text and source; classes of cost.

A quantity is text with a unit in a file, a float in base units here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from slipstick.errors import Fault, Problem, SpecError, UnitError, did_you_mean
from slipstick.expression.nodes import BYTES, COUNT, RATE, TIME, TIME_PER_BYTE, Dimension
from slipstick.schema.text import Node, plain, problem
from slipstick.units import InBaseUnits, parse, show, to_base

if TYPE_CHECKING:
    from slipstick.expression.nodes import Expr, Parameter

_ENDS = ("low", "high")
_KEYS = ("value", *_ENDS, "source", "assumed", "meaning")
_OPERATORS = re.compile(r"[(*+]|\A\s*-|\s[-/]\s|\A[0-9.]+\s*/")


@dataclass(frozen=True, slots=True)
class Given:
    """A quantity as a spec gives it.

    Parameters
    ----------
    value : in base units
    dimension : what it counts
    text : as written
    source : where the value comes from, if stated beside it
    assumed : stated to be a guess
    meaning : what it is, if its author says so
    low, high : the interval in which it lies, in base units, if its author tells one
    """

    value: float
    dimension: Dimension
    text: str
    source: str = ""
    assumed: bool = False
    meaning: str = ""
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        return show(self.value, self.dimension)


ONE = Given(1.0, COUNT, "1")


@dataclass(frozen=True, slots=True)
class Formula:
    """Arithmetic on parameters, still as text; it is read once the parameters are known."""

    text: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a field accepts.

    Parameters
    ----------
    dimension : wanted; None takes any
    least, above, most : limits in base units; `above` excludes its own value
    whole : a count, so a whole number
    formula : arithmetic on parameters will do as well
    advice : what to write instead of a quantity with a unit
    """

    dimension: Dimension | None
    least: float | None = 0.0
    above: float | None = None
    most: float | None = None
    whole: bool = False
    formula: bool = False
    advice: str = ""

    def read(self, written: Any) -> Given | Formula:
        """Take ``25 us``, a bare count, ``{value: 25 us, source: ...}`` or, where allowed, a formula."""
        if isinstance(written, Given | Formula):
            return written
        if isinstance(written, dict):
            return self._read_sourced(written)
        if self.formula and isinstance(written, str) and written.strip()[:1].isalpha():
            return Formula(written)
        try:
            return self._checked(written)
        except UnitError as error:
            if self.formula and _OPERATORS.search(written):
                return Formula(written)
            raise _refused(str(error)) from None

    def _read_sourced(self, written: dict[str, Any]) -> Given:
        for key in written:
            if key not in _KEYS:
                raise _refused(f"a quantity has no key {str(key)!r}{did_you_mean(str(key), _KEYS)}", key, key=True)
        if "value" not in written:
            raise _refused("a quantity written as keys needs 'value'")
        plain = replace(self, formula=False)
        inner = plain.read(written["value"])
        assert isinstance(inner, Given)
        low, high = (plain._end(written[key]) if key in written else None for key in _ENDS)
        if not (inner.value if low is None else low) <= inner.value <= (inner.value if high is None else high):
            raise _refused("the value lies outside of its interval, from low to high")
        assumed = written.get("assumed", False)
        source, meaning = (self._text(written, key) for key in ("source", "meaning"))
        if not isinstance(assumed, bool):
            raise _refused(f"'assumed' is true or false; got {_kind(assumed)}", "assumed")
        return Given(inner.value, inner.dimension, inner.text, source, assumed, meaning, low, high)

    def _end(self, written: Any) -> float:
        """Read an end of an interval, which need not be whole."""
        found = replace(self, whole=False).read(written)
        assert isinstance(found, Given)
        return found.value

    @staticmethod
    def _text(written: dict[str, Any], key: str) -> str:
        text = written.get(key, "")
        if not isinstance(text, str):
            raise _refused(f"{key!r} is text; got {_kind(text)}", key)
        return text

    def _checked(self, written: Any) -> Given:
        value, dimension = self._value(written)
        # Of any dimension, times and rates still cannot be negative; differences of plain numbers can.
        least = 0.0 if self.dimension is None and dimension.time_power else self.least
        wanted = ""
        if least is not None and not value >= least:
            wanted = f"at least {_number(least, dimension)}"
        elif self.above is not None and not value > self.above:
            wanted = f"more than {_number(self.above, dimension)}"
        elif self.most is not None and not value <= self.most:
            wanted = f"at most {_number(self.most, dimension)}"
        elif self.whole and value != int(value):
            wanted = "a whole number"
        if wanted:
            raise _refused(f"must be {wanted}, got {_number(value, dimension)}")
        return Given(value, dimension, "" if isinstance(written, InBaseUnits) else str(written))

    def _value(self, written: Any) -> tuple[float, Dimension]:
        if isinstance(written, str):
            if self.dimension is None:
                return parse(written)
            if self.dimension == TIME_PER_BYTE and (found := _RATE.fullmatch(written.strip())):
                return _per_byte(written, found), TIME_PER_BYTE
            if self.advice and not _is_plain(written):
                raise UnitError(f"{written!r} is no plain number; {self.advice}")
            return to_base(written, self.dimension), self.dimension
        if isinstance(written, bool) or not isinstance(written, int | float):
            raise _refused(f"write {example_of(self.dimension)}; got {_kind(written)}")
        if self.dimension not in (None, COUNT):
            if isinstance(written, InBaseUnits):
                return float(written), self.dimension
            raise _refused(f"write a number with a unit, such as {example_of(self.dimension)}; got {written!r}")
        return float(written), COUNT

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe what an editor may complete and check."""
        unit = "a plain number" if self.dimension == COUNT else f"a quantity such as {example_of(self.dimension)}"
        plain: list[JsonSchemaValue] = [{"type": "string", "description": unit}]
        if self.dimension in (None, COUNT):
            limits = {"minimum": self.least, "exclusiveMinimum": self.above, "maximum": self.most}
            number = {"type": "integer" if self.whole else "number"}
            plain.append({**number, **{key: limit for key, limit in limits.items() if limit is not None}})
        sourced = {
            "type": "object",
            "properties": {
                **{key: {"anyOf": list(plain)} for key in ("value", *_ENDS)},
                "source": {"type": "string"},
                "assumed": {"type": "boolean"},
                "meaning": {"type": "string"},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
        return {"anyOf": [*plain, sourced]}


def example_of(dimension: Dimension | None) -> str:
    """Show how a quantity is written, one of any dimension by default."""
    if dimension in (None, COUNT):
        return "a number" if dimension else "a number or a quantity such as '5 us'"
    return repr(_EXAMPLES.get(str(dimension), f"3 {dimension}"))


_RATE = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kMGT]i?|)(B|bit|b)\s*/\s*s")
"""A rate of bytes or bits; of a network, `Gb/s` can only mean bits."""


def _per_byte(written: str, rate: re.Match[str]) -> float:
    """Read a rate of bytes where the time of a byte is wanted: its inverse [s/B]."""
    unit = {"b": "bit"}.get(rate[3], rate[3])
    value, _ = parse(f"{rate[1]} {rate[2]}{unit}/s")
    if not value > 0:
        raise UnitError(
            f"{written!r}: a byte never arrives at a rate of 0; write more than that, or the time of a byte"
        )
    return 1 / value


def _is_plain(written: str) -> bool:
    try:
        return parse(written)[1] == COUNT
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

Servers = Annotated[Given, Quantity(COUNT, least=1.0, most=MOST_SERVERS, whole=True)]
Factor = Annotated[Given, Quantity(COUNT, least=None, above=0.0)]
Speed = Annotated[
    Given,
    Quantity(
        COUNT,
        least=None,
        above=0.0,
        advice="a speed is how many times as fast as the machine that the costs were measured on, such as 1.5",
    ),
]
AnyQuantity = Annotated[Given | Formula, Quantity(None, least=None, formula=True)]
TimeOrFormula = Annotated[Given | Formula, Quantity(TIME, formula=True)]
CountFormula = Annotated[Given | Formula, Quantity(COUNT, formula=True)]

Year = Annotated[float, Field(ge=1900, le=2200)]


def _refused(why: str, *at: str, key: bool = False) -> PydanticCustomError:
    """Refuse a quantity, or the value or key at a place inside it."""
    return PydanticCustomError("quantity", "{why}", {"why": why, "at": at, "key": key})


def _number(value: float, dimension: Dimension) -> str:
    return f"{value:g}" if dimension == COUNT else show(value, dimension)


def _kind(written: Any) -> str:
    if written is None:
        return "nothing"
    return {bool: repr(written).lower(), list: "a list"}.get(type(written), repr(written)[:60])


_NAME = r"^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*$"
SPELT = {_NAME: "write a name: letters, digits and _, with a single - between them, starting with a letter"}
"""What may be written, in words, by the pattern that it must match."""

Name = Annotated[str, StringConstraints(pattern=_NAME, max_length=64)]
"""A name without spaces, so that it can stand in a path."""

Note = Annotated[str, StringConstraints(max_length=8000)]
Sources = dict[Name, Note]
"""Short keys for sources, spelt out once."""


def one_of(words: Iterable[str]) -> GetPydanticSchema:
    """Give the constraint of a text that must be one of some words, as `Literal` does for words written out."""
    return GetPydanticSchema(lambda _source, _handler: core_schema.literal_schema(list(words)))


class Spec(BaseModel):
    """A part of a spec file: unknown keys, wrong types, NaN and infinity are refused."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, frozen=True, validate_default=True, defer_build=True
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.check_rules()
        return self

    def check_rules(self) -> None:
        """Refuse keys that are at odds with one another, with `broken_rule`; a part says its own rules here."""


class Described(Spec):
    """What every file may say of itself."""

    @classmethod
    def astray(cls, data: object) -> list[Fault]:
        """Find names that lead nowhere in a file that is wrong otherwise; here, where no kind of file is known, none."""
        return []

    def summary(self) -> str:
        """Say what the file holds that is no quantity; by default nothing."""
        return ""

    title: Note = Field("", description="one line for tables and catalogues")
    source: Note = Field(
        "", description="where the values come from, unless one says otherwise; a key of sources, or text"
    )
    sources: Sources = Field(default_factory=dict, description="short keys for sources, spelt out")
    extends: Note = Field("", description="another spec of the same kind whose values hold where this one is silent")


SpecType = TypeVar("SpecType", bound=BaseModel)


def validate(model: type[SpecType], node: Node) -> SpecType:
    """Check a tree against a spec model.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    data = plain(node)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        # The words of messages take time to import, and nothing is wrong with most files.
        from slipstick.schema.messages import problems_in

        astray = model.astray(data) if issubclass(model, Described) else []
        names = [problem(node, each.path, each.message, each.key) for each in astray]
        raise SpecError([*problems_in(model, node, error), *names]) from None


def problems_of(model: type[BaseModel], node: Node, partial: bool = False) -> list[Problem]:
    """List what is wrong with a tree; nothing if it is a spec of that model.

    Parameters
    ----------
    model, node : as for `validate`
    partial : the tree leaves to another what it does not say, so that nothing is missing
    """
    try:
        model.model_validate(plain(node))
    except ValidationError as error:
        from slipstick.schema.messages import problems_in

        return problems_in(model, node, error, partial)
    return []


class ModelFileSpec(Described):
    """What every file of a model may say beside the model."""

    machine: Any = Field(
        None,
        description="the machine that the model runs on, which formulas name as machine.network.adapter: its name in the catalogue, a file, or in place",
        json_schema_extra={"type": ["string", "object"]},
    )


RULE = "rule"
"""The type of error about several keys together, as pydantic has types of errors."""


def broken_rule(why: str, *at: str | int) -> PydanticCustomError:
    """Refuse keys that are at odds with one another, at a place inside what they are keys of."""
    return PydanticCustomError(RULE, "{why}", {"why": why, "at": at})


Technology = Literal["application", "software", "system", "protocol", "signal", "adapter", "switch", "wire", "memory"]
"""A class of cost, as `slipstick.model.activity.TECHNOLOGIES` lists them."""

Part = Annotated[Given, Quantity(COUNT, most=1.0)]


class Gain(Spec):
    """Which classes of cost gain by faster processors, and how much."""

    processors: Factor | None = Field(None, description="how many times faster the processors are")
    benefit: Part | None = Field(
        None, description="part of each doubling of the processors that classes under partly realize; all by default"
    )
    fully: list[Technology] = Field(
        ["application", "software"], description="classes whose time is divided by processors"
    )
    partly: list[Technology] = Field(
        ["system", "protocol", "signal"],
        description="classes that each doubling of processors makes faster by 1 + benefit only",
    )

    def check_rules(self) -> None:
        for index, each in enumerate(self.partly):
            if each in self.fully:
                raise broken_rule(f"{each} stands under fully, too; a class gains in one way", "partly", index)


class Factors(Gain):
    """How a technology scales classes of cost; 1 leaves a class as it is."""

    application: Factor | None = Field(None, description="factor on application time")
    software: Factor | None = Field(None, description="factor on run-time software")
    system: Factor | None = Field(None, description="factor on extra system-call time")
    protocol: Factor | None = Field(None, description="factor on protocol software")
    signal: Factor | None = Field(None, description="factor on signals")
    adapter: Factor | None = Field(None, description="factor on adapter latency")
    switch: Factor | None = Field(None, description="factor on switch latency")
    wire: Factor | None = Field(None, description="factor on time on the wire")
    memory: Factor | None = Field(None, description="factor on memory time")


def factors(spec: Factors, parameters: Mapping[str, Parameter]) -> dict[str, Expr]:
    """Give the factor of each technology class that the section ``technology`` of a model sets.

    Parameters
    ----------
    spec : the section, checked
    parameters : every quantity of the model, by path
    """
    # Of a machine there is no model to import.
    from slipstick.model.activity import TECHNOLOGIES
    from slipstick.model.system import faster

    own: dict[str, Expr] = {
        name: parameters[f"technology.{name}"] for name in TECHNOLOGIES if getattr(spec, name) is not None
    }
    if spec.processors is None:
        return own
    benefit = parameters.get("technology.benefit")
    return faster(own, parameters["technology.processors"], spec.fully, spec.partly, benefit)
