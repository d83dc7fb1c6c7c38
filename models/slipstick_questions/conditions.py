"""Conditions on answers, such as ``efficiency >= 0.6``: what searches, choices and projections
share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from slipstick.errors import FormulaError
from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import COUNT, Dimension, Expr, Number, Parameter
from slipstick.late import Array, NDArray, dataclass, late_pattern, np
from slipstick.results.sweep import split_name
from slipstick.results.words import ONE_VALUE, SHARES
from slipstick.schema.kinds.quantity import read_condition, read_expression
from slipstick.study.cases import BASE, Place, StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick_questions.sign_changes import (
    MARGIN_OF_EQUAL_SIDES,
    Change,
    find_changes,
    find_estimated_changes,
    margin,
)

_KINDS_WITHOUT_ESTIMATE = ("once", "low", "high")
"""Kinds of columns of a simulation that are no estimates: times as given, and the ends of
intervals.
"""

_LIMIT_AMOUNT = late_pattern(r"[<>]=?\s*+([\d.]++)\s*+([^\W\d_]++|%)")
"""A limit in a condition: its number and its unit."""

_COMPARISON_SIGNS = ("<", "<=", ">", ">=")

BASE_THERE = "base_there."
"""How names of values begin that are those of the base at the searched place."""

LIMIT = late_pattern(rf"({ONE_VALUE})\s*(?:<=|>=|<|>)\s*[\d.]")
"""A condition that limits one value of an answer by a number."""


def names_limit(title: str, condition: str) -> bool:
    """Return whether a title names a limit of a condition.

    >>> (
    ...     names_limit("Who answers within 135 s?", "time <= 135 s"),
    ...     names_limit("Why?", "time <= 1 s"),
    ... )
    (True, False)
    """
    return any(
        re.search(rf"(?<![\w.]){re.escape(amount[1])} ?{re.escape(amount[2])}(?!\w)", title)
        for amount in _LIMIT_AMOUNT.finditer(condition)
    )


@dataclass(frozen=True, slots=True)
class ConditionSides:
    """Both sides of one comparison of a condition at some points, its margin, and whether the
    comparison holds for the values themselves.

    Sides and margin have rows for the value, the low end and the high end, which are equal where
    nothing is an estimate [3, points].
    """

    left: Array
    right: Array
    margin: Array
    holds: NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """A condition on the answers of one case.

    Parameters
    ----------
    text : as written
    parts : comparisons, all of which must hold
    columns : the column that each name of an expression stands for
    other_columns : the case and the column that each name of a value of another case stands for
    case : whose answers the columns are
    given_columns : columns that are settings, not answers
    is_worded : the text describes the condition in words
    """

    text: str
    parts: tuple[Comparison, ...]
    columns: Mapping[str, str]
    other_columns: Mapping[str, tuple[Evaluator, str]]
    case: Evaluator
    given_columns: Collection[str] = ()
    is_worded: bool = False

    @property
    def needed_columns(self) -> set[str]:
        """The columns of the case that the condition needs, and the main quantity of the model,
        which has a value wherever the model has an answer.
        """
        names = set(self.columns.values())
        return {
            self.case.form.quantity,
            *names,
            *(f"{end}[{name}]" for name in names for end in ("low", "high")),
        }

    @property
    def columns_read(self) -> set[str]:
        """The columns that the condition reads, of its case and of other cases."""
        return {*self.columns.values(), *(column for _, column in self.other_columns.values())}

    @property
    def left_sides(self) -> list[str]:
        """The left side of each comparison of the condition, as written."""
        clause_texts = [
            re.split(r"[<>]", clause)[0].strip()
            for clause in re.split(r"(?<!\s)\s++and\s++", self.text.strip())
        ]
        has_all_clauses = len(clause_texts) == len(self.parts)
        return clause_texts if has_all_clauses else [str(part.left) for part in self.parts]

    def sides(self, columns: Mapping[str, Array]) -> list[ConditionSides]:
        """Return the two sides of each comparison of the condition.

        The interval of a side or a margin adds up what each estimate in it changes alone, moved to
        the ends of its own interval: with one estimate it is exact, with several it holds to first
        order however they depend on each other.
        """
        point_count = max((len(column) for column in columns.values()), default=1)
        return [self._sides(comparison, columns, point_count) for comparison in self.parts]

    def _sides(
        self, comparison: Comparison, columns: Mapping[str, Array], point_count: int
    ) -> ConditionSides:
        """Return the sides of one comparison at some points, for the values and for the ends of
        their intervals.
        """
        from slipstick.expression.tape import Tape

        tape = Tape([comparison.left, comparison.right])

        def sides_at(columns_at_points: Mapping[str, Array | float]) -> Array:
            left_side, right_side = (
                np.broadcast_to(side, (point_count,)) for side in tape.run(columns_at_points)
            )
            return np.array([left_side, right_side, margin(comparison, left_side, right_side)])

        no_answer = np.full(1, np.nan)
        columns_at_points = {
            name: columns_of_case.get(column, no_answer)
            for name, _, column, columns_of_case in self._columns_of_names(tape.parameters, columns)
        }
        middle_sides = sides_at(columns_at_points)
        low_sides = middle_sides.copy()
        high_sides = middle_sides.copy()
        for name, end_columns in self._interval_ends(tape.parameters, columns, point_count):
            sides_at_ends = np.array(
                [sides_at({**columns_at_points, name: end_column}) for end_column in end_columns]
            )
            with np.errstate(invalid="ignore"):
                shifted_sides = sides_at_ends - middle_sides
            has_answer = np.isfinite(end_columns[0]) & np.isfinite(end_columns[1])
            is_infinite = np.isinf(middle_sides[:2]).any(axis=0)
            # A margin lies between -1 and 1: without an interval nothing is known of it, and the
            # sides are told without one.
            shifts_of_unknown = np.array([[0.0, 0.0, -2.0], [0.0, 0.0, 2.0]])[:, :, None]
            shifted_sides = np.where(has_answer, shifted_sides, shifts_of_unknown)
            # A time without limit has no interval.
            shifted_sides = np.where(is_infinite, 0.0, shifted_sides)
            low_sides += np.minimum(shifted_sides.min(axis=0), 0.0)
            high_sides += np.maximum(shifted_sides.max(axis=0), 0.0)
        left_side, right_side, margins = np.stack([middle_sides, low_sides, high_sides], axis=1)
        are_equal = np.abs(margins[0]) <= MARGIN_OF_EQUAL_SIDES
        return ConditionSides(
            left_side,
            right_side,
            margins,
            comparison.is_true(np.where(are_equal, right_side[0], left_side[0]), right_side[0]),
        )

    def _interval_ends(
        self, names: Iterable[str], columns: Mapping[str, Array], point_count: int
    ) -> Iterator[tuple[str, tuple[Array, Array]]]:
        """Yield each name that stands for an estimate or an approximation, with the low and the
        high end of its interval; NaN if it has none.
        """
        no_ends = np.full(point_count, np.nan)
        for name, case, column, columns_of_case in self._columns_of_names(names, columns):
            if (
                column not in self.given_columns
                and split_name(column)[0] not in _KINDS_WITHOUT_ESTIMATE
            ):
                end_columns = (
                    columns_of_case.get(f"{end_column}[{column}]", no_ends)
                    for end_column in ("low", "high")
                )
                low, high = (
                    np.broadcast_to(end_column, (point_count,)) for end_column in end_columns
                )
                if case.form.is_estimated:
                    yield name, (low, high)
                elif np.isfinite(low).any():  # what is computed and has no interval is exact
                    value = columns_of_case.get(column, no_ends)  # bounds have ends, and no value
                    yield (
                        name,
                        (
                            np.where(np.isnan(low), value, low),
                            np.where(np.isnan(high), value, high),
                        ),
                    )

    def _columns_of_names(
        self, names: Iterable[str], columns: Mapping[str, Array]
    ) -> Iterator[tuple[str, Evaluator, str, Mapping[str, Array]]]:
        """Yield for each name of an expression the name, its case, its column, and the columns of
        that case.
        """
        for name in names:
            if name in self.columns:
                yield name, self.case, self.columns[name], columns
            else:
                case, column = self.other_columns[name]
                yield name, case, column, case.own_columns

    def changes(
        self,
        columns_at_places: Mapping[str, Array],
        places: Array,
        solve_columns: Callable[[Array], Mapping[str, Array]] | None,
    ) -> tuple[list[Change], list[tuple[float, float]]]:
        """Return the changes at which the condition starts or stops holding, and the ranges in
        which estimates do not decide it.

        Parameters
        ----------
        columns_at_places : answers at the places
        places : rising
        solve_columns : returns the answers at any other places; None if there are none
        """
        margins, holds = self.margin_and_mask(columns_at_places)
        if self.case.form.is_estimated or np.any(margins[2] > margins[1]):
            return find_estimated_changes(
                margins, holds, places, has_only_places=solve_columns is None
            )
        if solve_columns is None:
            return find_changes(margins[0], holds, places, None), []
        return (
            find_changes(
                margins[0],
                holds,
                places,
                lambda x: float(self.margin_and_mask(solve_columns(np.array([x])))[0][0, 0]),
            ),
            [],
        )

    def margin_and_mask(self, columns: Mapping[str, Array]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the margin, with its interval, of the comparison that is nearest to failing or
        fails most, and at which points all comparisons of the condition hold.

        Returns
        -------
        the margin with the ends of its interval, and whether the values themselves meet the
        condition [3, points]
        """
        sides_of_parts = self.sides(columns)
        return np.min([part_sides.margin for part_sides in sides_of_parts], axis=0), np.all(
            [part_sides.holds for part_sides in sides_of_parts], axis=0
        )


class _ConditionNames(Mapping[str, Expr]):
    """The names that a condition can use; the parameter of a name is built when the condition
    mentions it.

    Parameters
    ----------
    cases : by what the names of their values begin with
    given_units : units of further names
    formulas : formulas that have names
    """

    def __init__(
        self,
        cases: Mapping[str, Evaluator],
        given_units: Mapping[str, str],
        formulas: Mapping[str, str],
    ) -> None:
        self._cases = cases
        self._given_units = given_units
        self._formulas = formulas
        self.used_names: dict[str, tuple[Parameter, str, str]] = {}

    def __getitem__(self, name: str) -> Expr:
        if name in self._formulas:
            names_in_formula = _ConditionNames(self._cases, self._given_units, {})
            names_in_formula.used_names = self.used_names
            return read_expression(self._formulas[name], names_in_formula, allow_answers=True)
        if name not in self.used_names:
            prefix = next(
                (
                    case_name
                    for case_name in self._cases
                    if case_name and name.startswith(case_name)
                ),
                "",
            )
            column = name.removeprefix(prefix)
            unit_text = (
                self._given_units[name]
                if name in self._given_units
                else self._cases[prefix].names[column]
            )
            dimension = Dimension.of(unit_text or "1")
            symbol = _unique_symbol(
                name, {parameter.name for parameter, _, _ in self.used_names.values()}
            )
            self.used_names[name] = Parameter(symbol, dimension), prefix, column
        return self.used_names[name][0]

    def __iter__(self) -> Iterator[str]:
        yield from self._formulas
        yield from self._given_units
        yield from (
            f"{prefix}{name}" for prefix, case in self._cases.items() for name in case.names
        )

    def message_as_written(self, message: str) -> str:
        """Return a message on a condition with its names as they are written in it."""
        for name, (parameter, _, _) in self.used_names.items():
            message = message.replace(parameter.name, name)
        return message

    def __len__(self) -> int:
        return (
            len(self._formulas)
            + len(self._given_units)
            + sum(len(case.names) for case in self._cases.values())
        )


def condition_of(
    text: str,
    place: Place,
    case: Evaluator,
    study: StudyContext,
    own_case: Evaluator | None = None,
    given_units: Mapping[str, str] | None = None,
    formulas: Mapping[str, str] | None = None,
    *,
    is_formula: bool = False,
    base_there: Evaluator | None = None,
) -> Condition:
    """Read a condition on the answers of a case; a name without a case stands for a column of
    `case`. Nothing is solved.

    Parameters
    ----------
    text : such as ``efficiency <= 0.5 * base.efficiency``
    place : where it stands
    case : whose answers the bare names are
    study : the study; names that begin with ``base_case`` are those of its base
    own_case : names that begin with ``own`` are those of this case; by default the case as the
        study gives it
    given_units : units of further columns by name: of the values that are set at the points
    formulas : formulas that the text may use by their names
    is_formula : the text is the left side alone, such as ``2 * time``, and the condition that it is
        at least 0
    base_there : the base at the values that are varied, whose values have names that begin with
        ``base_there``; None where nothing is varied

    Raises
    ------
    SpecError : it is no condition, or one that cannot be sought
    """
    base_case = (
        {f"{BASE}.": evaluator(BASE, study.cases[BASE], study.library)}
        if BASE in study.cases
        else {}
    )
    own_case = (
        evaluator(case.case, study.cases[case.case], study.library)
        if own_case is None
        else own_case
    )
    cases = {"": case, "own.": own_case, **base_case}
    if base_there is not None:
        cases[BASE_THERE] = base_there
    condition_names = _ConditionNames(cases, given_units or {}, formulas or {})
    try:
        if is_formula:
            left_side = read_expression(text, condition_names, allow_answers=True)
            comparisons: tuple[Comparison, ...] = (Comparison(left_side, ">=", 0 * left_side),)
        else:
            comparisons = read_condition(text, condition_names, allow_answers=True)
    except FormulaError as error:
        message = condition_names.message_as_written(str(error))
        if str(error.name).startswith(BASE_THERE) and base_there is None:
            message = "only a search (seek) compares with the base at the same place"
        named_case, _, value_name = str(error.name).partition(".")
        if named_case in study.cases.keys() - {BASE, case.case}:
            message = (
                f"a condition compares a case with the base alone: {error.name} is that of the case"
                f" {named_case}; write {BASE}.{value_name} for the base as given"
            )
            if place[0] == "seek":
                message += (
                    f", or {BASE_THERE}{value_name} for the base at the same value of what is"
                    f" searched, and cases: [{named_case}] to search the case {named_case}"
                )
        if named_case == case.case != BASE:
            message = f"{error.name} is a value of the case itself; write {value_name}"
        if error.name in case.built.entries:
            message = (
                f"{error.name} is an input with one value here; a condition compares values of an"
                " answer, and quantities that are varied"
            )
        raise study.refusal(place, message) from None
    used_names = condition_names.used_names.values()
    columns = {
        parameter.name: f"{prefix}{column}"
        for parameter, prefix, column in used_names
        if prefix in ("", BASE_THERE)
    }
    all_columns = {parameter.name: column for parameter, _, column in used_names}
    for comparison in comparisons:
        if comparison.relation not in _COMPARISON_SIGNS:
            message = (
                f"at {comparison.relation} nothing starts or stops holding; write one of"
                f" {' '.join(_COMPARISON_SIGNS)}"
            )
            raise study.refusal(place, message)
        sides = (comparison.left, comparison.right)
        for share, limit in (sides, sides[::-1]):
            if message := _limit_of_share_problem(share, limit, all_columns):
                raise study.refusal(place, message)
    other_cases = {
        parameter.name: (cases[prefix], column)
        for parameter, prefix, column in used_names
        if prefix not in ("", BASE_THERE)
    }
    return Condition(text, comparisons, columns, other_cases, case, tuple(given_units or {}))


def _limit_of_share_problem(share: Expr, limit: Expr, columns: Mapping[str, str]) -> str:
    """Return what is wrong with a number that limits a share of an answer, such as an efficiency;
    empty if nothing is, or if the sides are no share and no number.

    Parameters
    ----------
    share, limit : the sides of a comparison
    columns : the column that each name of an expression stands for
    """
    if not (isinstance(share, Parameter) and isinstance(limit, Number)):
        return ""
    column = columns.get(share.name, "")
    if limit.dimension != COUNT or limit.value <= 1 or split_name(column)[0] not in SHARES:
        return ""
    advice = f"; write {limit.value / 100:g} for {limit.value:g} %" if limit.value <= 100 else ""
    return (
        f"{column} is a share, which is at most 1, or 100 %, but {limit.value:g} is"
        f" {100 * limit.value:g} %{advice}"
    )


def _unique_symbol(name: str, symbols_used: Collection[str]) -> str:
    """Return a unique symbol, valid in expressions, for the name of a column."""
    symbol = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")
    return (
        symbol
        if symbol not in symbols_used
        else next(
            candidate
            for number in range(2, 10**6)
            if (candidate := f"{symbol}-{number}") not in symbols_used
        )
    )
