"""Conditions on answers, such as ``efficiency >= 0.6``: what searches, choices and projections
share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from slipstick.errors import FormulaError
from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import Dimension, Parameter
from slipstick.late import Array, NDArray, np
from slipstick.results.sweep import split_name
from slipstick.results.words import ONE_VALUE
from slipstick.schema.kinds.quantity import read_condition, read_expression
from slipstick.study.cases import BASE, Place, StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick_questions.sign_changes import ROUNDING, Change, changes, estimated_changes, margin

_CERTAIN = ("once", "low", "high")
"""Kinds of columns of a simulation that are no estimates: times as given, and the ends of
intervals.
"""

_RELATIONS = ("<", "<=", ">", ">=")

LIMIT = re.compile(rf"({ONE_VALUE})\s*(?:<=|>=|<|>)\s*[\d.]")
"""A condition that limits one value of an answer by a number."""


@dataclass(frozen=True, slots=True)
class ConditionSides:
    """Both sides of a part of a condition at some points, its margin, and whether the part holds
    for the values themselves.

    Each is value, low end and high end; the three are one where nothing is an estimate [3, points].
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
    others : the values of other cases that such names stand for, each solved when it is first asked
        for
    case : whose answers the columns are
    given : columns that are what was set, not answers
    worded : the text is words for it
    """

    text: str
    parts: tuple[Comparison, ...]
    columns: Mapping[str, str]
    others: Mapping[str, tuple[Evaluator, str]]
    case: Evaluator
    given: Collection[str] = ()
    worded: bool = False

    @property
    def wanted(self) -> set[str]:
        """Return the columns that the condition needs, and the model's first quantity."""
        names = set(self.columns.values())
        return {
            self.case.form.quantity,
            *names,
            *(f"{end}[{name}]" for name in names for end in ("low", "high")),
        }

    @property
    def read(self) -> set[str]:
        """Return the columns that the condition reads, of this case and of others."""
        return {*self.columns.values(), *(column for _, column in self.others.values())}

    @property
    def left_sides(self) -> list[str]:
        """Return the left side of each part, as written."""
        clauses = [
            re.split(r"[<>]", clause)[0].strip()
            for clause in re.split(r"(?<!\s)\s++and\s++", self.text.strip())
        ]
        as_written = len(clauses) == len(self.parts)
        return clauses if as_written else [str(part.left) for part in self.parts]

    def sides(self, columns: Mapping[str, Array]) -> list[ConditionSides]:
        """Return the sides of each part of the condition.

        The interval of a side or a margin adds up what each estimate in it changes alone, moved to
        the ends of its own interval: with one estimate it is exact, with several it holds to first
        order however they depend on each other.
        """
        count = max((len(column) for column in columns.values()), default=1)
        return [self._sides(comparison, columns, count) for comparison in self.parts]

    def _sides(
        self, comparison: Comparison, columns: Mapping[str, Array], count: int
    ) -> ConditionSides:
        from slipstick.expression.tape import Tape

        tape = Tape([comparison.left, comparison.right])

        def at(columns_at_points: Mapping[str, Array | float]) -> Array:
            left_side, right = (
                np.broadcast_to(side, (count,)) for side in tape.run(columns_at_points)
            )
            return np.array([left_side, right, margin(comparison, left_side, right)])

        nothing = np.full(1, np.nan)
        columns_at_points = {
            name: values.get(column, nothing)
            for name, _, column, values in self._columns_of_names(tape.parameters, columns)
        }
        middle = at(columns_at_points)
        low = middle.copy()
        high = middle.copy()
        for name, ends in self._ends(tape.parameters, columns, count):
            shifted_sides = (
                np.array([at({**columns_at_points, name: end}) for end in ends]) - middle
            )
            has_answer = np.isfinite(ends[0]) & np.isfinite(ends[1])
            # A margin lies between -1 and 1: without an interval nothing is known of it.
            shifted_sides = np.where(
                has_answer, shifted_sides, np.array([[-2.0], [2.0]])[:, :, None]
            )
            low += np.minimum(shifted_sides.min(axis=0), 0.0)
            high += np.maximum(shifted_sides.max(axis=0), 0.0)
        left_side, right, margins = np.stack([middle, low, high], axis=1)
        equal = np.abs(margins[0]) <= ROUNDING
        return ConditionSides(
            left_side,
            right,
            margins,
            comparison.is_true(np.where(equal, right[0], left_side[0]), right[0]),
        )

    def _ends(
        self, names: Iterable[str], columns: Mapping[str, Array], count: int
    ) -> Iterator[tuple[str, tuple[Array, Array]]]:
        """Yield both ends of the interval of each name that stands for an estimate or an
        approximation; NaN where it has none.
        """
        unknown = np.full(count, np.nan)
        for name, case, column, values in self._columns_of_names(names, columns):
            if column not in self.given and split_name(column)[0] not in _CERTAIN:
                ends = (values.get(f"{end}[{column}]", unknown) for end in ("low", "high"))
                low, high = (np.broadcast_to(end, (count,)) for end in ends)
                if case.form.estimated:
                    yield name, (low, high)
                elif np.isfinite(low).any():  # what is computed and has no interval is exact
                    value = values.get(column, unknown)  # bounds have ends, and no value
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
        """Yield for each name of an expression the case, the column, and the columns that contain
        it.
        """
        for name in names:
            if name in self.columns:
                yield name, self.case, self.columns[name], columns
            else:
                case, column = self.others[name]
                yield name, case, column, case.own_columns

    def changes(
        self,
        columns_found: Mapping[str, Array],
        places: Array,
        columns: Callable[[Array], Mapping[str, Array]] | None,
    ) -> tuple[list[Change], list[tuple[float, float]]]:
        """Return where the condition starts or stops holding, and the stretches in which estimates
        do not decide it.

        Parameters
        ----------
        columns_found : answers at the places
        places : rising
        columns : the answers at any other places; None if there are none
        """
        margins, holds = self.look(columns_found)
        if self.case.form.estimated or np.any(margins[2] > margins[1]):
            return estimated_changes(margins, holds, places, single=columns is None)
        if columns is None:
            return changes(margins[0], holds, places, None), []
        return (
            changes(
                margins[0],
                holds,
                places,
                lambda x: float(self.look(columns(np.array([x])))[0][0, 0]),
            ),
            [],
        )

    def look(self, columns: Mapping[str, Array]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the margin of the part of the condition that is nearest to failing, or fails
        worst, with its interval, and whether all parts hold.

        Returns
        -------
        the margin with the ends of its interval, and whether the values themselves meet the
        condition [3, points]
        """
        sides = self.sides(columns)
        return np.min([side.margin for side in sides], axis=0), np.all(
            [side.holds for side in sides], axis=0
        )


class _ConditionNames(Mapping[str, Parameter]):
    """The names that a condition can use; the parameter of a name is built when the condition
    mentions it.

    Parameters
    ----------
    cases : by what the names of their values begin with
    given : further names, with their units
    """

    def __init__(self, cases: Mapping[str, Evaluator], given_names: Mapping[str, str]) -> None:
        self._cases = cases
        self._given = given_names
        self.made: dict[str, tuple[Parameter, str, str]] = {}

    def __getitem__(self, name: str) -> Parameter:
        if name not in self.made:
            prefix = next(
                (
                    case_name
                    for case_name in self._cases
                    if case_name and name.startswith(case_name)
                ),
                "",
            )
            column = name.removeprefix(prefix)
            unit = self._given[name] if name in self._given else self._cases[prefix].names[column]
            dimension = Dimension.of(unit or "1")
            symbol = _symbol(name, {parameter.name for parameter, _, _ in self.made.values()})
            self.made[name] = Parameter(symbol, dimension), prefix, column
        return self.made[name][0]

    def __iter__(self) -> Iterator[str]:
        yield from self._given
        yield from (
            f"{prefix}{name}" for prefix, case in self._cases.items() for name in case.names
        )

    def __len__(self) -> int:
        return len(self._given) + sum(len(case.names) for case in self._cases.values())


def condition_of(
    text: str,
    place: Place,
    case: Evaluator,
    study: StudyContext,
    own: Evaluator | None = None,
    given_names: Mapping[str, str] | None = None,
    *,
    formula: bool = False,
) -> Condition:
    """Read a condition on the answers of a case; a name without a case is that of a column.
    Nothing is solved.

    Parameters
    ----------
    text : such as ``efficiency <= 0.5 * base.efficiency``
    place : where it stands
    case : whose answers the bare names are
    study : the study; names that begin with ``base`` are those of its base
    own : names that begin with ``own`` are those of this; by default the case as the study gives it
    given_names : further names of columns, with their units: what is set at the points
    formula : the text is the left side alone, such as ``2 * time``, and the condition that it is at
        least 0

    Raises
    ------
    SpecError : it is no condition, or one that cannot be sought
    """
    base = (
        {f"{BASE}.": evaluator(BASE, study.cases[BASE], study.library)}
        if BASE in study.cases
        else {}
    )
    own = evaluator(case.case, study.cases[case.case], study.library) if own is None else own
    cases = {"": case, "own.": own, **base}
    names_known = _ConditionNames(cases, given_names or {})
    try:
        if formula:
            left_side = read_expression(text, names_known, answers=True)
            comparisons: tuple[Comparison, ...] = (Comparison(left_side, ">=", 0 * left_side),)
        else:
            comparisons = read_condition(text, names_known, answers=True)
    except FormulaError as error:
        raise study.refusal(place, str(error)) from None
    for comparison in comparisons:
        if comparison.relation not in _RELATIONS:
            message = (
                f"at {comparison.relation} nothing starts or stops holding; write one of"
                f" {' '.join(_RELATIONS)}"
            )
            raise study.refusal(place, message)
    names_mentioned = names_known.made.values()
    columns = {name.name: column for name, prefix, column in names_mentioned if not prefix}
    other_cases = {
        name.name: (cases[prefix], column) for name, prefix, column in names_mentioned if prefix
    }
    return Condition(text, comparisons, columns, other_cases, case, tuple(given_names or {}))


def _symbol(name: str, symbols_used: Collection[str]) -> str:
    """Return a unique symbol, valid in expressions, for the name of a column."""
    symbol = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")
    return (
        symbol
        if symbol not in symbols_used
        else next(
            candidate for n in range(2, 10**6) if (candidate := f"{symbol}-{n}") not in symbols_used
        )
    )
