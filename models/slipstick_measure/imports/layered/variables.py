"""Variables of model files: assignments of numbers and formulas, ranges of values, and values that
are set beside the file.

Formulas are read by the reader of formulas of specs, so that text is never executed; a variable
becomes a parameter of the spec under its own name.
"""

from __future__ import annotations

import re
from math import inf, isfinite

from slipstick.errors import FormulaError, ModelError, SpecError, short
from slipstick.expression.formula import read_expression
from slipstick.expression.nodes import Expr, Number, Parameter, parameters
from slipstick.expression.tape import Tape
from slipstick.late import dataclass, field, late_pattern
from slipstick_measure.imports.layered.model import ModelAmount
from slipstick_measure.readers.reading import NUMBER, Reading

INFINITE = ("inf", "infinite", "infinity", "@infinity", "*")
MOST_RANGE_VALUES = 1000
"""Values of a range."""
_RANGE = late_pattern(r"(?:\[|array_create\s*\()(.*)[\])]", re.DOTALL)


@dataclass
class Variables:
    """The variables of one file.

    Attributes
    ----------
    input_file : the file, whose hints hold values that are set beside it
    formula_by_name : of each variable with a value, in parameters of a spec; a number for a
        plain one
    value_by_name, line_by_name : of each variable
    range_values_by_name : the values of a variable that has several; the first of them holds
    """

    input_file: Reading
    formula_by_name: dict[str, str] = field(default_factory=dict)
    value_by_name: dict[str, float] = field(default_factory=dict)
    line_by_name: dict[str, int] = field(default_factory=dict)
    range_values_by_name: dict[str, list[float]] = field(default_factory=dict)
    used_names: set[str] = field(default_factory=set)

    def assign(self, variable: str, text: str, line: int) -> None:
        """Set a variable to a number, a formula of earlier variables, or a list or range of
        numbers.
        """
        name = parameter_name(variable)
        self.line_by_name[name] = line
        if name in self.input_file.hints.settings:
            # As text, so that what a range varies stays a parameter.
            text = self.input_file.hints.settings[name]
        if range_match := _RANGE.fullmatch(text.strip()):
            self.range_values_by_name[name] = values = self._parse_list(
                range_match[1], variable, line
            )
            text = repr(values[0])
        amount = self.parse_amount(text, line, variable)
        self.value_by_name[name] = amount.value
        self.formula_by_name[name] = amount.formula or repr(amount.value)

    def _parse_list(self, text: str, variable: str, line: int) -> list[float]:
        """Parse a list of numbers, or a range `first : last, step`."""
        first_text, colon, text_after_colon = text.partition(":")
        if colon:
            last_text, _, step_text = text_after_colon.partition(",")
            first_value, last_value, increment = (
                self.parse_amount(bound_text, line, variable).value
                for bound_text in (first_text, last_text, step_text or "1")
            )
            value_count = (
                int((last_value - first_value) / increment + 1.5e-9) + 1
                if increment > 0 and last_value >= first_value
                else 0
            )
            values = [
                first_value + increment * index
                for index in range(min(value_count, MOST_RANGE_VALUES + 1))
            ]
        else:
            values = [
                self.parse_amount(value_text, line, variable).value
                for value_text in text.split(",")
            ]
        if not 0 < len(values) <= MOST_RANGE_VALUES:
            message = f"{short(variable)} needs 1 to {MOST_RANGE_VALUES} values; got {short(text)}"
            self.input_file.refuse(line, "parameter", message)
        return values

    def parse_amount(
        self, text: str, line: int, subject: str, least: float | None = None
    ) -> ModelAmount:
        """Parse a number, a variable, or a formula; raise for other texts, and for values below
        `least`.
        """
        stripped_text = text.strip().removeprefix("{").removesuffix("}").strip()
        if stripped_text.casefold() in INFINITE:
            return ModelAmount(inf)
        if NUMBER.fullmatch(stripped_text) and isfinite(float(stripped_text)):
            amount = ModelAmount(float(stripped_text))
        elif not re.search(r"[$()*/+]|[A-Za-z_]{2}", stripped_text):
            self.input_file.number(line, subject, stripped_text)
            self.input_file.finished()
        else:
            amount = self._evaluate_formula(stripped_text, line, subject)
        if least is not None and amount.value < least:
            message = f"{short(stripped_text)} is not a number of at least {least:g}"
            self.input_file.refuse(line, subject, message)
        return amount

    def _evaluate_formula(self, text: str, line: int, subject: str) -> ModelAmount:
        """Return the value of a formula in variables of the file, with the formula in parameters of
        a spec.
        """
        formula = re.sub(r"\$([A-Za-z0-9_]+)", lambda match: parameter_name(match[0]), text)
        for variable in re.findall(r"\$[A-Za-z0-9_]+", text):
            self._set_given_value(variable, line)
        symbols: dict[str, Expr] = {
            name: Parameter(name, value=value) for name, value in self.value_by_name.items()
        }
        try:
            expression = read_expression(formula, symbols)
            # As parameters are written in a spec, whole numbers and signs included.
            (values,) = Tape([expression]).run({})
            number = float(values[0] if getattr(values, "ndim", 0) else values)
        except (FormulaError, ModelError, ValueError, ArithmeticError) as error:
            if self.input_file.problems:  # of variables without a value
                raise SpecError(self.input_file.problems) from None
            self.input_file.refuse(line, subject, f"{short(text)} cannot be computed: {error}")
        if not isfinite(number):
            self.input_file.refuse(line, subject, f"{short(text)} is {number}, no finite number")
        is_plain = isinstance(expression, Number) or not parameters(expression)
        self.used_names |= {parameter.name for parameter in parameters(expression)}
        return ModelAmount(number, "" if is_plain else formula)

    def _set_given_value(self, variable: str, line: int) -> None:
        """Set a variable that has no value in the file to the value from the hints. Record a
        problem if the hints have none, so that one message names all such variables.
        """
        name = parameter_name(variable)
        if name in self.value_by_name:
            return
        if name in self.input_file.hints.settings:
            self.value_by_name[name] = self.parse_amount(
                self.input_file.hints.settings[name], line, variable
            ).value
            self.formula_by_name[name] = repr(self.value_by_name[name])
            self.line_by_name[name] = line
            return
        message = (
            f"{short(variable)} has no value in the file; give it one with --set {name}=NUMBER"
        )
        self.input_file.add_problem(line, "parameter", message)
        self.value_by_name[name] = 1.0


def parameter_name(variable: str) -> str:
    """Return the name of a variable as a parameter of a spec.

    >>> parameter_name("$n_users"), parameter_name("$0")
    ('n_users', 'v_0')
    """
    cleaned_name = re.sub(r"[^A-Za-z0-9_]", "_", variable.removeprefix("$"))
    return cleaned_name if cleaned_name[:1].isalpha() else f"v_{cleaned_name.lstrip('_') or 'x'}"
