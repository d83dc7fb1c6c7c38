"""Parsing of formulas: arithmetic on known names, and comparisons of two such formulas.

::

    condition = chain ("and" chain)*               chain = sum (relation sum)+
    sum       = product (("+" | "-") product)*     product = signed (("*" | "/") signed)*
    signed    = ("+" | "-") signed | power         power = atom ["**" signed]
    atom      = number [unit] | name | function "(" sum ("," sum)* ")" | "(" sum ")"

Functions are ``max`` and ``min`` of any number of operands; ``ceil``, ``floor``, ``log2``,
``sqrt``, ``exp``, ``log`` (to the base e) and ``exprel`` of one; ``ceil_log(x, radix)``;
``select(x, limit, at_most, above)``; ``pow(base, exponent)`` of plain numbers; and what laws are
made of, with operands in this order: ``geometric_sum(ratio, terms)``, ``geometric_mean(ratio,
most)``, ``erlang_b(load, servers)``, ``engset(load, servers, sources)``, ``poisson(mean, count)``,
``palm(load, services)``, ``md1_number(load, count)``, ``md1_late(load, elapsed)``,
``drop_stages(rate, inputs, outputs, stages)`` and ``retried_rate`` of the same (see
`slipstick.expression.special`). They are what expressions are printed with, so what is printed can
be read.

Why this shape: the text of a user is never executed, and whatever it is, the answer is a tree or a
FormulaError, at once. So there is one function for each line of the grammar and no way to a name
but `known`; and how much there is of anything is counted before a node is made of it: a node that
cannot be made writes its operands into the message.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from slipstick.errors import FormulaError, ModelError, UnitError, did_you_mean, nearest_names, short
from slipstick.expression import nodes, special
from slipstick.expression.nodes import (
    COUNT,
    TIME,
    Dimension,
    Expr,
    Like,
    Number,
    as_expr,
    common_dimension,
)
from slipstick.late import Array, NDArray, dataclass, np

RELATIONS = {
    "<=": "less_equal",
    ">=": "greater_equal",
    "<": "less",
    ">": "greater",
    "==": "equal",
    "!=": "not_equal",
}
"""The relations between two formulas, each with the name of its NumPy function."""

_REDUCTION_TO_WORST = {"<=": "maximum", "<": "maximum", ">=": "minimum", ">": "minimum"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two expressions of one dimension, such as ``parts <= 8``.

    >>> compare(3, "<=", 4).holds({}).tolist()
    [True]
    """

    left: Expr
    relation: str
    right: Expr

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def holds(self, values: Mapping[str, Array | float]) -> NDArray[np.bool_]:
        """Return for each point whether the comparison holds, given the values of parameters;
        values of names that it does not use are ignored [points].
        """
        from slipstick.expression.tape import Tape, selected_values  # which need NumPy

        tape = Tape([self.left, self.right])
        left_values, right_values = tape.run(selected_values(values, tape.parameters))
        return self.is_true(left_values, right_values)

    def holds_everywhere(self, left: Array, right: Array) -> bool:
        """Return whether the comparison holds at all points, given the values of both sides
        [points].
        """
        if len(right) == 1 and self.relation in _REDUCTION_TO_WORST:
            # The worst point decides; finding it writes nothing. NaN is worse than any number.
            left = getattr(np, _REDUCTION_TO_WORST[self.relation]).reduce(left, keepdims=True)
        return bool(self.is_true(left, right).all())

    def is_true(self, left: Array, right: Array) -> NDArray[np.bool_]:
        """Return for each point whether the comparison holds, given the values of both sides
        [points].
        """

        holds_by_point: NDArray[np.bool_] = getattr(np, RELATIONS[self.relation])(left, right)
        # NaN fails every condition, also the one of being different.
        return (
            holds_by_point & ~(np.isnan(left) | np.isnan(right))
            if self.relation == "!="
            else holds_by_point
        )


def compare(left: Like, relation: str, right: Like) -> Comparison:
    """Return a comparison of two expressions; raises ModelError if their dimensions differ."""
    left_expr = as_expr(left)
    right_expr = as_expr(right)
    if relation not in RELATIONS:
        raise ModelError(f"there is no relation {relation!r}; write one of {' '.join(RELATIONS)}")
    common_dimension("compare", (left_expr, right_expr))
    return Comparison(left_expr, relation, right_expr)


# What there may not be too much of: how much, what, and the way out.
_LENGTH = (4096, "characters", "give parts of it names")
_OPERATIONS = (1000, "operations", "give parts of it names")
_NESTING = (60, "levels of brackets, signs and powers", "give the inner part a name")
# Hashing, comparing, pickling and SymPy go down a tree by recursion.
_HEIGHT = (150, "operations that wait for each other", "form groups, as in (a * b) * (c * d)")
# A name may stand for a formula of such names, and thirty of them can double thirty times.
_SIZE = (20_000, "operations with its names written out", "make the formulas that it names shorter")
_EXPONENTS = range(-64, 65)

_KEYWORDS = ("and", "or", "not")
_NAME = r"(?>[A-Za-z][A-Za-z0-9_]*+(?:\.[A-Za-z0-9_]++)*+)"
# A number is cut out generously: what is wrong with 017 or 1_000 is for `units` to say.
_NUMBER = (
    r"(?:[0-9]|\.[0-9])[0-9_.]*(?:[eE][+-]?[0-9]+)?(?:["
    rf" \t\n]*+(?!(?:{'|'.join(_KEYWORDS)})\b)[A-Za-z]\w*)?"
)


def _token_pattern(name_pattern: str) -> re.Pattern[str]:
    """Return the pattern of one token of a formula whose names match `name_pattern`."""
    return re.compile(
        rf"[ \t\n]*+(?:(?P<number>{_NUMBER})|(?P<call>{_NAME}(?=[ \t\n]*+\())"
        f"|(?P<name>{name_pattern})"
        r"|(?P<bracket>[(),])|(?P<sign>\*\*|[<>=!]=|[-+*/<>])|(?P<end>\Z)|(?P<stray>.))",
        re.DOTALL,
    )


_TOKEN = _token_pattern(_NAME)
_ANSWER_NAME = rf"{_NAME}(?:\[[A-Za-z0-9_.:,-]++(?: [a-z]{{1,3}})?\])?+"
_ANSWER_TOKEN = _token_pattern(_ANSWER_NAME)
_MISPLACED_REASONS = {
    ")": "closes nothing; take it away, or write a '(' before it",
    ",": "stands only between what a function takes; a thousand is 1000",
    **dict.fromkeys(RELATIONS, "compares; that is for conditions, and not within brackets"),
    **dict.fromkeys(
        _KEYWORDS, "cannot stand here; only comparisons are joined, and only with 'and'"
    ),
    "=": "does not compare; write ==, >= or <= in a condition",
    "^": "is no operator; write ** for a power",
    "%": "is no operator; write 50 % as 0.5",
}
_FIXED_ARITY_FUNCTIONS: tuple[Callable[..., Expr], ...] = (
    *(nodes.ceil, nodes.floor, nodes.log2, nodes.sqrt, nodes.ceil_log, nodes.select),
    *(
        special.exp,
        special.exprel,
        special.log,
        special.real_power,
        special.erlang_b,
        special.engset,
        special.poisson,
    ),
    special.palm,
    *(special.geometric_mean, special.geometric_sum, special.md1_late, special.md1_number),
    *(special.drop_stages, special.retried_rate),
)
_FUNCTIONS: dict[
    str, tuple[Callable[..., Expr], int]
] = {  # and how many operands it takes; 0: any number
    "max": (nodes.maximum, 0),
    "min": (nodes.minimum, 0),
    **{
        function.__name__.replace("real_power", "pow"): (function, function.__code__.co_argcount)
        for function in _FIXED_ARITY_FUNCTIONS
    },
}
Outcome = TypeVar("Outcome")
Quantities = Callable[[str], tuple[float, Dimension]]


def plain_number(text: str) -> tuple[float, Dimension]:
    """Read a number without a unit."""
    return float(text), COUNT


def read_expression(
    text: str,
    expr_by_name: Mapping[str, Expr],
    parse_quantity: Quantities = plain_number,
    *,
    allow_answers: bool = False,
) -> Expr:
    """Parse an arithmetic expression over known names.

    Bytes and plain numbers may be written out; a time may not, because its share could not be told.
    Raises FormulaError, whose `column` says where, for anything else.

    Parameters
    ----------
    text : such as ``ceil(bytes / 4096 B) * per_page``
    expr_by_name : what the names stand for
    parse_quantity : reads what begins with a digit, such as `slipstick.units.parse`; by default
        plain numbers
    allow_answers : names are those of answers, such as ``account[lock]``, and times may be written
        out

    >>> known = {"bytes": nodes.Parameter("bytes"), "parts": nodes.Parameter("parts")}
    >>> read_expression("max(bytes, 20) / (parts - 1)", known)
    max(bytes, 20) / (parts - 1)
    >>> read_expression("2 * part", known)
    Traceback (most recent call last):
    slipstick.errors.FormulaError: there is no name 'part'; did you mean 'parts'?
    """
    reader = _FormulaReader(
        text, expr_by_name, parse_quantity, allow_times=allow_answers, allow_answers=allow_answers
    )
    parsed_part = reader.parse_sum(0)
    reader.close(None)
    return parsed_part.expr


def read_condition(
    text: str,
    expr_by_name: Mapping[str, Expr],
    parse_quantity: Quantities = plain_number,
    *,
    allow_answers: bool = False,
) -> tuple[Comparison, ...]:
    """Parse comparisons joined with ``and``, which must all hold; ``1 <= parts < 8`` counts as two
    comparisons.

    Raises FormulaError, whose `column` says where, for anything else.

    Parameters
    ----------
    text : such as ``bytes <= 4 KiB and parts > 1``; times, too, may be written out
    expr_by_name, parse_quantity : as for `read_expression`
    allow_answers : names are those of answers, such as ``account[lock]``

    >>> from slipstick.units import parse
    >>> str(
    ...     read_condition("rate >= 3 /min", {"rate": nodes.Parameter("rate", nodes.RATE)}, parse)[
    ...         0
    ...     ]
    ... )
    'rate >= 0.05 1/s'
    >>> [
    ...     str(condition)
    ...     for condition in read_condition("1 <= parts < 8", {"parts": nodes.Parameter("parts")})
    ... ]
    ['1 <= parts', 'parts < 8']
    """
    reader = _FormulaReader(
        text, expr_by_name, parse_quantity, allow_times=True, allow_answers=allow_answers
    )
    comparisons = reader.parse_comparisons()
    while reader.accept("and"):
        comparisons += reader.parse_comparisons()
    reader.close(None)
    return tuple(comparisons)


class _FormulaToken(NamedTuple):
    """A token of a formula: its kind, its text, and the column where it begins, from 1."""

    kind: str
    text: str
    column: int


class _ParsedPart(NamedTuple):
    """A parsed part of a formula: its tree, the height of the tree, and the number of its nodes
    that are written in the text.
    """

    expr: Expr
    height: int = 1
    size: int = 1


class _FormulaReader:
    """Recursive-descent reader of formulas, with one method for each rule of the grammar; `depth`
    is the current nesting.
    """

    def __init__(
        self,
        text: str,
        expr_by_name: Mapping[str, Expr],
        parse_quantity: Quantities,
        *,
        allow_times: bool,
        allow_answers: bool = False,
    ) -> None:
        self._tokens = _split_into_tokens(text, _ANSWER_TOKEN if allow_answers else _TOKEN)
        self._name_pattern = _ANSWER_NAME if allow_answers else _NAME
        self._current_token = next(self._tokens)
        self._expr_by_name = expr_by_name
        self._quantity = parse_quantity
        self._allows_times = allow_times
        self._parsed_by_name: dict[str, _ParsedPart] = {}

    def parse_comparisons(self) -> list[Comparison]:
        """Parse comparisons that follow one another, such as ``1 <= parts < 8``."""
        comparisons = []
        left_part = self.parse_sum(0)
        while relation := self.accept(*RELATIONS):
            right_part = self.parse_sum(0)
            comparisons.append(
                self._result_at(relation, compare, left_part.expr, relation.text, right_part.expr)
            )
            left_part = right_part
        if not comparisons and self._current_token.text in ("", "and"):
            raise FormulaError(
                "a condition compares two sides, as in 'parts <= 8'", self._current_token.column
            )
        return comparisons

    def parse_sum(self, depth: int) -> _ParsedPart:
        """Parse terms joined by plus and minus."""
        term_parts = [self._parse_product(depth)]
        while sign := self.accept("+", "-"):
            next_token = self._current_token
            if (sign.text, next_token.text) == ("+", "-") and next_token.column == sign.column + 1:
                raise FormulaError("a range is written LOW..HIGH, not with '+-'", sign.column)
            next_term = self._parse_product(depth)
            if sign.text == "-":
                term_parts = [
                    self._applied_part(
                        sign, operator.sub, self._sum_of_terms(sign, term_parts), next_term
                    )
                ]
                continue
            # Refused at the sign of this term; a zero has every dimension.
            if next_term.expr.dimension != term_parts[0].expr.dimension:
                self._applied_part(sign, operator.add, term_parts[0], next_term)
            term_parts.append(next_term)
        return self._sum_of_terms(self._current_token, term_parts)

    def _parse_product(self, depth: int) -> _ParsedPart:
        """Parse factors joined by multiplication and division."""
        product_part = self._parse_signed(depth)
        while sign := self.accept("*", "/"):
            product_part = self._applied_part(
                sign,
                operator.mul if sign.text == "*" else operator.truediv,
                product_part,
                self._parse_unit_below(sign, product_part) or self._parse_signed(depth),
            )
        return product_part

    def _parse_unit_below(self, sign: _FormulaToken, dividend: _ParsedPart) -> _ParsedPart | None:
        """Parse a unit of time after a slash, as in ``4000 /s``, unless a parameter has that name;
        return None if no such unit follows.
        """
        unit_token = self._current_token
        may_be_rate = (
            sign.text == "/" and unit_token.kind == "name" and isinstance(dividend.expr, Number)
        )
        if not (self._allows_times and may_be_rate) or unit_token.text in self._expr_by_name:
            return None
        try:
            # A name behind a slash may be a parameter; only a unit of time makes a rate of it.
            value, dimension = self._quantity(f"1 {unit_token.text}")
        except (UnitError, ValueError):
            return None
        if dimension != TIME:
            return None
        self._take_token()
        return _ParsedPart(Number(value, dimension))

    def _parse_signed(self, depth: int) -> _ParsedPart:
        """Parse a factor with an optional sign."""
        sign = self.accept("+", "-")
        if not sign:
            return self._parse_power(depth)
        operand = self._parse_signed(_checked_count(_NESTING, depth + 1, sign))
        return operand if sign.text == "+" else self._applied_part(sign, operator.neg, operand)

    def _parse_power(self, depth: int) -> _ParsedPart:
        """Parse an operand with an optional exponent."""
        base_part = self._parse_atom(depth)
        operator_token = self.accept("**")
        if not operator_token:
            return base_part
        exponent_token = self._current_token
        exponent = self._parse_signed(_checked_count(_NESTING, depth + 1, operator_token)).expr
        # A power with a parameter in it would have no dimension.
        if not (
            isinstance(exponent, Number)
            and exponent.dimension == COUNT
            and exponent.value in _EXPONENTS
        ):
            exponents_text = (
                f"a whole number from {_EXPONENTS[0]} to {_EXPONENTS[-1]}, written out (others by"
                " pow(x, y) of plain numbers, in quotes)"
            )
            raise FormulaError(
                f"an exponent must be {exponents_text}; got {short(repr(exponent))}",
                exponent_token.column,
            )
        return self._applied_part(
            operator_token, lambda expr: expr ** int(exponent.value), base_part
        )

    def _parse_atom(self, depth: int) -> _ParsedPart:
        """Parse a number, a name, a call or a formula in parentheses."""
        token = self._take_token()
        if token.kind == "number":
            return self._part_of_number(token)
        if token.kind == "name" or (token.kind == "call" and token.text not in _FUNCTIONS):
            return self._part_of_name(token)
        if token.kind == "call":
            return self._parse_call(token, depth)
        if token.text != "(":
            found_text = short(token.text) if token.text else "the end"
            raise FormulaError(
                f"a number, a name or '(' is wanted here, got {found_text}", token.column
            )
        inner_part = self.parse_sum(_checked_count(_NESTING, depth + 1, token))
        self.close(token)
        return inner_part

    def _parse_call(self, function_token: _FormulaToken, depth: int) -> _ParsedPart:
        """Parse the arguments of a function, and apply the function."""
        opening_bracket = self._take_token()
        inner_depth = _checked_count(_NESTING, depth + 1, function_token)
        operands = [self.parse_sum(inner_depth)] if self._current_token.text != ")" else []
        while operands and self.accept(","):
            operands.append(self.parse_sum(inner_depth))
        self.close(opening_bracket)
        function, operand_count = _FUNCTIONS[function_token.text]
        if len(operands) != (operand_count or max(1, len(operands))):
            allowed_count = f"{operand_count or 'at least 1'} operand{'s' * (operand_count > 1)}"
            raise FormulaError(
                f"{function_token.text} takes {allowed_count}, got {len(operands)}",
                function_token.column,
            )
        return self._applied_part(function_token, function, *operands)

    def _part_of_name(self, token: _FormulaToken) -> _ParsedPart:
        """Return the expression that a name stands for; raise for an unknown name."""
        if token.text not in self._parsed_by_name:
            expr = self._expr_by_name.get(token.text)
            if expr is None:
                noun, candidates = (
                    ("function", _FUNCTIONS)
                    if token.kind == "call"
                    else ("name", self._expr_by_name)
                )
                written_names = [
                    candidate
                    for candidate in candidates
                    if re.fullmatch(self._name_pattern, candidate)
                ]
                suggestion = did_you_mean(token.text, written_names)
                if not nearest_names(token.text, written_names):
                    suggestion = self._unit_suggestion(token.text) or suggestion
                raise FormulaError(
                    f"there is no {noun} {short(token.text)}{suggestion}", token.column, token.text
                )
            self._parsed_by_name[token.text] = _within_limits(token, _part_of_expr(expr))
        return self._parsed_by_name[token.text]

    def _unit_suggestion(self, name: str) -> str:
        """Return the correct spelling of the unit that a name may stand for, or where a unit may
        stand, as the end of a message; empty if it stands for none.
        """
        try:
            _, dimension = self._quantity(f"1 {name}")
        except UnitError as error:
            unit = error.spelling
            return f"; the unit is written {unit}" if unit and " " not in unit else ""
        advice = (
            "a unit follows one number, not a formula: compute the number, or make it a parameter"
            " with its unit and write the parameter's name"
        )
        return f"; {advice}" if dimension.time_power else ""

    def _part_of_number(self, token: _FormulaToken) -> _ParsedPart:
        """Return the constant of a number."""
        value, dimension = self._result_at(token, self._quantity, token.text)
        if dimension.time_power and not self._allows_times:
            advice = f"name it under parameters, such as extra: {token.text}, and write extra here"
            message = f"{short(token.text)} holds time; {advice}, so that its share can be computed"
            raise FormulaError(message, token.column)
        return _ParsedPart(Number(value, dimension))

    def close(self, opening_bracket: _FormulaToken | None) -> None:
        """Consume a closing bracket; raise if another token follows."""
        if self.accept(")" if opening_bracket else ""):
            return
        token = self._current_token
        if opening_bracket and token.kind == "end":
            raise FormulaError(
                f"the '(' at column {opening_bracket.column} is not closed; write a ')'",
                token.column,
            )
        default_reason = (
            "is no part of arithmetic" if token.kind == "stray" else "has no operator before it"
        )
        reason = _MISPLACED_REASONS.get(token.text, f"{default_reason}; operators are + - * / **")
        raise FormulaError(f"{short(token.text)} {reason}", token.column)

    def accept(self, *texts: str) -> _FormulaToken | None:
        """Consume the next token if it is one of the given texts; return it, else None."""
        return self._take_token() if self._current_token.text in texts else None

    def _take_token(self) -> _FormulaToken:
        """Return the current token, and move on to the next one."""
        token = self._current_token
        self._current_token = next(self._tokens, token)  # the end is followed by itself
        return token

    def _sum_of_terms(self, sign: _FormulaToken, terms: list[_ParsedPart]) -> _ParsedPart:
        """Return the sum of some terms; an error is reported at the sign."""
        # One sum of many terms, not a tower of pairs: the value is the same and the tree stays low.
        return (
            terms[0]
            if len(terms) == 1
            else self._applied_part(sign, lambda *operands: nodes.total(operands), *terms)
        )

    def _applied_part(
        self, sign: _FormulaToken, build: Callable[..., Expr], *operands: _ParsedPart
    ) -> _ParsedPart:
        """Return the part that applies `build` to the operands; an error is reported at the
        sign.
        """
        parsed_part = _within_limits(sign, _parent_part(operands[0].expr, *operands))
        return parsed_part._replace(
            expr=self._result_at(sign, build, *(operand.expr for operand in operands))
        )

    def _result_at(
        self, operator_token: _FormulaToken, function: Callable[..., Outcome], *arguments: object
    ) -> Outcome:
        """Return the result of a function that builds an expression; an error of the function gets
        the place of the operator.
        """
        try:
            return function(*arguments)
        except (ModelError, UnitError) as error:
            raise FormulaError(str(error), operator_token.column) from None


def _split_into_tokens(text: str, pattern: re.Pattern[str]) -> Iterator[_FormulaToken]:
    """Split a formula into tokens; raise for a character outside of ASCII."""
    _checked_count(_LENGTH, len(text), _FormulaToken("", "", _LENGTH[0] + 1))
    if foreign_character := re.search(r"[^\t\n -~]", text):
        character_name = (
            f"U+{ord(foreign_character[0]):04X}"
            f" {unicodedata.name(foreign_character[0], 'without a name')}"
        )
        raise FormulaError(
            f"the character {character_name} cannot stand here; write ASCII: * / - <=",
            foreign_character.start() + 1,
        )
    operation_count = 0
    for token_match in pattern.finditer(text):
        token_kind = token_match.lastgroup or ""
        token = _FormulaToken(
            token_kind, token_match[token_kind], token_match.start(token_kind) + 1
        )
        operation_count += token_kind in ("call", "sign")
        _checked_count(_OPERATIONS, operation_count, token)
        yield token


def _checked_count(limit_and_advice: tuple[int, str, str], count: int, token: _FormulaToken) -> int:
    """Return a count, such as the depth of nesting; raise at a token if it exceeds its limit."""
    largest_count, quantity_limited, way_out = limit_and_advice
    if count > largest_count:
        raise FormulaError(
            f"this has over {largest_count} {quantity_limited}; {way_out}", token.column
        )
    return count


def _within_limits(sign: _FormulaToken, parsed_part: _ParsedPart) -> _ParsedPart:
    """Return a parsed part; raise at the sign if its tree is too high or too large."""
    _checked_count(_HEIGHT, parsed_part.height, sign)
    _checked_count(_SIZE, parsed_part.size, sign)
    return parsed_part


def _part_of_expr(expr: Expr) -> _ParsedPart:
    """Return an expression as a parsed part, with the height and the size of its tree."""
    part_by_node: dict[int, _ParsedPart] = {}
    for node in nodes.walk(expr):
        # By identity: equal nodes at two places of a text are two parts.
        part_by_node[id(node)] = _parent_part(
            node, *(part_by_node[id(operand)] for operand in nodes.operands(node))
        )
    return part_by_node[id(expr)]


def _parent_part(expr: Expr, *operands: _ParsedPart) -> _ParsedPart:
    """Return an operation as a parsed part, with its height and size from those of its operands."""
    return _ParsedPart(
        expr,
        1 + max((operand.height for operand in operands), default=0),
        1 + sum(operand.size for operand in operands),
    )
