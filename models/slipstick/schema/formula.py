"""Text to expressions: arithmetic on known names, and comparisons of it.

::

    condition   = chain ("and" chain)*            chain   = sum (relation sum)+
    sum         = product (("+" | "-") product)*  product = signed (("*" | "/") signed)*
    signed      = ("+" | "-") signed | power      power   = atom ["**" signed]
    atom        = number [unit] | name | function "(" sum ("," sum)* ")" | "(" sum ")"

Why this shape: what somebody wrote is never executed, and whatever it is, the answer is a tree or a
FormulaError, at once. So there is one function for each line of the grammar and no other way to reach
a name than `known`; what bounds the work (length, nesting, number and height of operations) is counted
while reading, because a tree that is too high for others to walk is too high wherever it stops.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, NoReturn, TypeVar

from slipstick.errors import FormulaError, ModelError, UnitError, did_you_mean
from slipstick.expression import nodes
from slipstick.expression.condition import RELATIONS, Comparison, compare
from slipstick.expression.dimension import COUNT
from slipstick.expression.nodes import Expr, Number
from slipstick.schema.scalars import short
from slipstick.units import UNITS, parse

__all__ = ["read_condition", "read_expression"]

LONGEST_TEXT = 4096
DEEPEST_NESTING = 60
MOST_OPERATIONS = 1000
HIGHEST_TREE = 150  # others walk trees recursively, at up to three Python frames an operation
LARGEST_EXPONENT = 64

_WORDS = ("and", "or", "not")
_NAME = r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*"
_UNIT = rf"[ \t\n]*(?!(?:{'|'.join(_WORDS)})\b)[A-Za-z][A-Za-z0-9_]*"
# A number is cut out generously: what is wrong with 017 or 1_000 is known to `units`.
_NUMBER = rf"(?:[0-9]|\.[0-9])[0-9_.]*(?:[eE][+-]?[0-9]+)?(?:{_UNIT})?"
_SIGN = r"\*\*|[<>=!]=|[-+*/(),<>]"
_TOKEN = re.compile(
    rf"[ \t\n]*(?:(?P<number>{_NUMBER})|(?P<name>{_NAME})|(?P<sign>{_SIGN})|(?P<end>\Z)|(?P<stray>.))", re.DOTALL
)
_PLAIN = re.compile(r"[\t\n -~]*")
_HINTS = {"^": "write ** for a power", "=": "write == to compare", "%": "write 50 % as 0.5"}
_MANY = LONGEST_TEXT
_FUNCTIONS: dict[str, tuple[Callable[..., Expr], int, int]] = {  # function, fewest and most arguments
    "max": (nodes.maximum, 1, _MANY),
    "min": (nodes.minimum, 1, _MANY),
    "ceil": (nodes.ceil, 1, 1),
    "floor": (nodes.floor, 1, 1),
    "log2": (nodes.log2, 1, 1),
    "sqrt": (nodes.sqrt, 1, 1),
    "ceil_log": (nodes.ceil_log, 2, 2),
    "select": (nodes.select, 4, 4),
}

Made = TypeVar("Made")


def read_expression(text: str, known: Mapping[str, Expr]) -> Expr:
    """Read arithmetic on known names.

    Bytes and plain numbers may be written out; a time may not, because its share could not be told.

    Parameters
    ----------
    text : such as ``ceil(bytes / 4096 B) * per_page``
    known : what the names stand for

    Raises
    ------
    FormulaError : it is not arithmetic on known names; its `column` says where [1]

    >>> known = {"bytes": nodes.Parameter("bytes"), "parts": nodes.Parameter("parts")}
    >>> read_expression("max(bytes, 20) / (parts - 1)", known)
    max(bytes, 20) / (parts - 1)
    >>> read_expression("2 * part", known)
    Traceback (most recent call last):
    slipstick.errors.FormulaError: there is no name 'part'; did you mean 'parts'?
    """
    reader = _Reader(text, known, times=False)
    part = reader.sum(0)
    reader.finish()
    return part.expr


def read_condition(text: str, known: Mapping[str, Expr]) -> tuple[Comparison, ...]:
    """Read comparisons joined with ``and``, all of which must hold; ``1 <= parts < 8`` is two of them.

    Parameters
    ----------
    text : such as ``bytes <= 4 KiB and parts > 1``; quantities of every dimension may be written out
    known : what the names stand for

    Raises
    ------
    FormulaError : it is not such a condition; its `column` says where [1]

    >>> read_condition("1 <= parts < 8", {"parts": nodes.Parameter("parts")})[1].holds({"parts": 8.0}).tolist()
    [False]
    """
    reader = _Reader(text, known, times=True)
    found = reader.chain()
    while reader.joined():
        found += reader.chain()
    reader.finish()
    return tuple(found)


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


class _Part(NamedTuple):
    """A tree and how many operations it is high, so that nobody has to walk it to find out."""

    expr: Expr
    height: int


class _Reader:
    """One function for each line of the grammar; `depth` is the nesting they are called in."""

    def __init__(self, text: str, known: Mapping[str, Expr], *, times: bool) -> None:
        _check_characters(text)
        self._tokens = _tokens(text)
        self._here = next(self._tokens)
        self._known = known
        self._times = times
        self._named: dict[str, _Part] = {}
        self._operations = 0

    def joined(self) -> bool:
        return self._accept("and") is not None

    def finish(self) -> None:
        if self._here.kind != "end":
            self._refuse_here(None)

    def chain(self) -> list[Comparison]:
        found, left = [], self.sum(0)
        while relation := self._operator(*RELATIONS):
            right = self.sum(0)
            found.append(_made(relation.column, compare, left.expr, relation.text, right.expr))
            left = right
        if not found and (self._here.kind == "end" or self._here.text == "and"):
            raise FormulaError("a condition compares two sides, as in 'parts <= 8'", self._here.column)
        return found

    def sum(self, depth: int) -> _Part:
        terms = [self._product(depth)]
        while sign := self._operator("+", "-"):
            right = self._product(depth)
            if sign.text == "-":
                terms = [self._built(sign, operator.sub, self._added(sign, terms), right)]
                continue
            # What does not fit the first term is refused here, where its sign is; a leading zero fits anything.
            pair = self._built(sign, operator.add, terms[0], right)
            terms = [right] if pair.expr is right.expr else [*terms, right]
        return self._added(self._here, terms)

    def _added(self, sign: _Token, terms: list[_Part]) -> _Part:
        # One sum of many terms, not a tower of pairs: the value is the same and the tree stays low.
        return terms[0] if len(terms) == 1 else self._built(sign, lambda *each: nodes.total(each), *terms)

    def _product(self, depth: int) -> _Part:
        left = self._signed(depth)
        while sign := self._operator("*", "/"):
            left = self._built(sign, operator.mul if sign.text == "*" else operator.truediv, left, self._signed(depth))
        return left

    def _signed(self, depth: int) -> _Part:
        sign = self._operator("+", "-")
        if not sign:
            return self._power(depth)
        operand = self._signed(_deeper(depth, sign))
        return operand if sign.text == "+" else self._built(sign, operator.neg, operand)

    def _power(self, depth: int) -> _Part:
        base = self._atom(depth)
        sign = self._operator("**")
        if not sign:
            return base
        column = self._here.column
        exponent = _whole(self._signed(_deeper(depth, sign)).expr, column)
        return self._built(sign, lambda expr: expr**exponent, base)

    def _atom(self, depth: int) -> _Part:
        token = self._next()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            calls = self._here.text == "(" and (token.text in _FUNCTIONS or token.text not in self._known)
            return self._call(token, depth) if calls else self._name(token)
        if token.text != "(":
            got = short(token.text) if token.text else "the end"
            raise FormulaError(f"a number, a name or '(' is wanted here, got {got}", token.column)
        inner = self.sum(_deeper(depth, token))
        self._close(token)
        return inner

    def _call(self, name: _Token, depth: int) -> _Part:
        if name.text not in _FUNCTIONS:
            raise FormulaError(f"there is no function {short(name.text)}{_near(name.text, _FUNCTIONS)}", name.column)
        opened, inner = self._next(), _deeper(depth, name)
        parts = [self.sum(inner)] if self._here.text != ")" else []
        while parts and self._accept(","):
            parts.append(self.sum(inner))
        self._close(opened)
        self._count(name)
        function, fewest, most = _FUNCTIONS[name.text]
        if not fewest <= len(parts) <= most:
            wanted = "at least 1" if most == _MANY else fewest
            raise FormulaError(f"{name.text} takes {wanted} between its brackets, got {len(parts)}", name.column)
        return self._built(name, function, *parts)

    def _name(self, name: _Token) -> _Part:
        if name.text not in self._named:
            expr = self._known.get(name.text)
            if expr is None:
                raise FormulaError(f"there is no name {short(name.text)}{_near(name.text, self._known)}", name.column)
            self._named[name.text] = _Part(expr, _height(expr))
        return self._named[name.text]

    def _number(self, token: _Token) -> _Part:
        try:
            value, dimension = parse(token.text)
        except UnitError as error:
            word = re.search(rf"{_NAME}\Z", token.text)
            if word and word[0] in self._known and word[0] not in UNITS:
                self._refuse(_Token("name", word[0], token.column + word.start()), None)
            raise FormulaError(str(error), token.column) from None
        if dimension.time_power and not self._times:
            reason = "a time must be a named parameter, so that its share can be told; give it a name"
            raise FormulaError(f"{short(token.text)} is written out, but {reason}", token.column)
        return _Part(Number(value, dimension), 0)

    def _close(self, opened: _Token) -> None:
        if not self._accept(")"):
            self._refuse_here(opened)

    def _refuse_here(self, opened: _Token | None) -> NoReturn:
        self._refuse(self._here, opened)

    def _refuse(self, token: _Token, opened: _Token | None) -> NoReturn:
        """Say why something complete may not be followed by this."""
        text = token.text
        if token.kind == "end":
            assert opened is not None
            message = f"the '(' at column {opened.column} is not closed; write a ')'"
        elif text == ")":
            message = "this ')' closes nothing; take it away, or write a '(' before it"
        elif text == ",":
            message = "a comma stands only between what a function takes; write 1000 for a thousand, 1.5 for 3 / 2"
        elif text in RELATIONS:
            message = f"{text!r} compares; that is for conditions, and not within brackets"
        elif text in _WORDS:
            message = f"{text!r} cannot stand here; only comparisons are joined, and only with 'and'"
        else:
            message = f"an operator is missing before {short(text)}; write one of + - * / **"
        raise FormulaError(message, token.column)

    def _built(self, sign: _Token, make: Callable[..., Expr], *parts: _Part) -> _Part:
        height = 1 + max(part.height for part in parts)
        if height > HIGHEST_TREE:
            way_out = "give parts of it names, or set brackets"
            raise FormulaError(f"more than {HIGHEST_TREE} operations wait for each other; {way_out}", sign.column)
        return _Part(_made(sign.column, make, *(part.expr for part in parts)), height)

    def _operator(self, *signs: str) -> _Token | None:
        sign = self._accept(*signs)
        if sign:
            self._count(sign)
        return sign

    def _count(self, sign: _Token) -> None:
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise FormulaError(f"there are over {MOST_OPERATIONS} operations; give parts of it names", sign.column)

    def _accept(self, *signs: str) -> _Token | None:
        return self._next() if self._here.text in signs else None

    def _next(self) -> _Token:
        token = self._here
        self._here = next(self._tokens, token)
        return token


def _check_characters(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise FormulaError(f"this has {len(text)} characters, over {LONGEST_TEXT}; give parts of it names", 1)
    plain = _PLAIN.match(text)
    assert plain is not None
    if (end := plain.end()) < len(text):
        name = f"U+{ord(text[end]):04X} {unicodedata.name(text[end], 'without a name')}"
        raise FormulaError(f"the character {name} is not allowed; write plain ASCII, such as * / - <=", end + 1)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "end"
        token = _Token(kind, match[kind], match.start(kind) + 1)
        if kind == "stray":
            hint = _HINTS.get(token.text, "write numbers, names, + - * / ** ( ) and functions")
            raise FormulaError(f"{token.text!r} is no part of arithmetic; {hint}", token.column)
        yield token


def _deeper(depth: int, token: _Token) -> int:
    if depth >= DEEPEST_NESTING:
        raise FormulaError(f"this is nested more than {DEEPEST_NESTING} deep; give parts of it names", token.column)
    return depth + 1


def _whole(exponent: Expr, column: int) -> int:
    """Insist on a constant: a power with a parameter in it would have no dimension."""
    plain = isinstance(exponent, Number) and exponent.dimension == COUNT
    if not (plain and exponent.value.is_integer() and abs(exponent.value) <= LARGEST_EXPONENT):
        wanted = f"a whole number from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}"
        raise FormulaError(f"an exponent must be {wanted}, written out; got {short(repr(exponent))}", column)
    return int(exponent.value)


def _made(column: int, make: Callable[..., Made], *args: object) -> Made:
    """Build, and give what is wrong with it a place in the text."""
    try:
        return make(*args)
    except (ModelError, UnitError) as error:
        raise FormulaError(str(error), column) from None


def _near(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, [each for each in known if re.fullmatch(_NAME, each)])
