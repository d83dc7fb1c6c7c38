"""Names, times and numbers of a tool's model, as specs have them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any

from slipstick.errors import UnitError, short
from slipstick.expression.nodes import TIME
from slipstick.units import parse_unit
from slipstick_measure.imports.imported import quantity
from slipstick_measure.readers.reading import Reading


class SpecNames:
    """The names of a model of another tool as specs write them, and the unit of its times."""

    def __init__(self, input_file: Reading) -> None:
        self.input_file = input_file
        self.spec_name_by_original: dict[str, str] = {}
        self._taken_names: set[str] = set()
        unit = input_file.hints.unit or "s"
        try:
            factor, dimension = parse_unit(unit)
        except UnitError as error:
            input_file.refuse(1, "--unit", str(error))
        if dimension != TIME:
            input_file.refuse(1, "--unit", f"{short(unit)} is not a unit of time")
        self.seconds_per_unit = float(factor)
        self.unit = unit

    def name(self, original: str, line: int = 1, subject: str = "name") -> str:
        """Return the name in a spec for an original name, the same at each call; raise for names
        without letters and digits.
        """
        if original in self.spec_name_by_original:
            return self.spec_name_by_original[original]
        cleaned_name = re.sub(r"([^A-Za-z0-9_]|-)+", "-", original).strip("-")
        if not cleaned_name:
            self.input_file.refuse(line, subject, f"{subject} needs a name of letters and digits")
        cleaned_name = (
            cleaned_name if cleaned_name[0].isalpha() else f"n-{cleaned_name.lstrip('_')}"
        )
        chosen_name = cleaned_name[:60]
        suffix = 1
        while chosen_name in self._taken_names:
            suffix += 1
            chosen_name = f"{cleaned_name[:56]}-{suffix}"
        self._taken_names.add(chosen_name)
        self.spec_name_by_original[original] = chosen_name
        return chosen_name

    def time(self, line: int, value: float, detail: str = "") -> dict[str, Any]:
        """Return a time as a quantity with its line as the source; the tools have no units, so the
        unit is a hint or assumed.
        """
        is_assumed = self.input_file.hints.unit is None
        source = f"{self.input_file.name}:{line}{detail}, in {self.unit}"
        time_quantity = quantity(value * self.seconds_per_unit, "s", source, is_assumed)
        return {**time_quantity, "value": f"{exact_number(value * self.seconds_per_unit)} s"}


def exact_number(value: float) -> str:
    """Write a number with all of its digits, without digits due to rounding.

    >>> exact_number(3 / 19), exact_number(0.07 * 1e-3), exact_number(2.0)
    ('0.15789473684210525', '7e-05', '2')
    """
    short_text = f"{value:.15g}"
    return short_text if abs(float(short_text) - value) <= abs(value) * 1.2e-16 else repr(value)


def is_rounded(probabilities: Collection[float]) -> bool:
    """Return whether the rounding of probabilities explains the difference of their sum from 1. All
    are taken as rounded to the most digits that one of them has, which must be at least two.

    >>> is_rounded([0.3333, 0.3333, 0.3333]), is_rounded([0.33, 0.33, 0.33])
    (True, True)
    >>> is_rounded([0.9, 0.05]), is_rounded([0.5, 0.4])
    (False, False)
    """
    decimal_count = max(
        (-int(Decimal(repr(value)).as_tuple().exponent) for value in probabilities), default=0
    )
    largest_rounding = 0.5 * 10.0**-decimal_count * len(probabilities)
    return decimal_count >= 2 and abs(math.fsum(probabilities) - 1) <= largest_rounding * (1 + 1e-9)
