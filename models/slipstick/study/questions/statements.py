"""Statements: sentences of a source, each checked against the answers of the study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nextafter

from slipstick.answer import Answer
from slipstick.errors import Problem, did_you_mean
from slipstick.expression.dimension import COUNT, Dimension
from slipstick.report.questions.statements import CheckedValue, ComparedNumber, Statement, StatementsResult
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.kinds.study import StatementSpec
from slipstick.study.cases import Place, StudyContext
from slipstick.study.questions import BaseAnswers, Question, ValueNames


@dataclass(frozen=True)
class StatementsQuestion(Question):
    """Sentences to check, by name."""

    specs: Mapping[str, StatementSpec]
    study: StudyContext

    @property
    def named_values(self) -> set[str]:
        """What the sentences are about."""
        return {value for each in self.specs.values() for value in (each.value, each.per) if value is not None}

    def name_problems(self, named: Mapping[str, ValueNames]) -> list[Problem]:
        """List the values that an answer does not have, and the stated numbers of another unit than theirs."""
        return [
            self.study.problem(("statements", name, *place), why)
            for name, spec in self.specs.items()
            for place, why in _unfit(spec, named)
        ]

    def solve(self, answers: BaseAnswers) -> StatementsResult:
        """Check every sentence."""
        return StatementsResult(
            tuple(_Sentence(name, each, answers.named).checked() for name, each in self.specs.items())
        )


def read(asked: Mapping[str, StatementSpec], study: StudyContext) -> StatementsQuestion:
    """Take the sentences; their values can be checked only beside answers."""
    return StatementsQuestion(asked, study)


def _stated(spec: StatementSpec) -> dict[str, Given]:
    """Give the numbers that a sentence states, by key."""
    numbers = {"about": spec.about, "within": spec.within, "from": spec.first, "to": spec.to}
    return {key: each for key, each in numbers.items() if each is not None}


def _unfit(spec: StatementSpec, named: Mapping[str, ValueNames]) -> Iterator[tuple[Place, str]]:
    """Say which of the values a sentence names are none, or are not of the unit of the numbers that it states."""
    for place, name in spec.named_cases():
        for key, value in (("value", spec.value), ("per", spec.per)):
            if value is not None and value not in named[name]:
                yield (key,), f"{name}, under {place[0]}, has no value {value}{did_you_mean(value, named[name])}"
                return
    units = {named[name][value] for name in spec.of for value in (spec.value, spec.per) if value is not None}
    if len(units) > 1:
        yield ("per" if spec.per else "of",), f"values of several units are compared: {', '.join(sorted(units))}"
        return
    unit = "1" if spec.per or spec.relative_to else units.pop()
    for key, each in _stated(spec).items():
        if each.dimension != Dimension.of(unit):
            wanted = "a plain number" if Dimension.of(unit) == COUNT else f"a quantity in {unit}"
            yield (key,), f"{each.text} is compared with {wanted}; write such a value"


@dataclass(frozen=True)
class _Sentence:
    """One sentence, and the answers that it names."""

    name: str
    spec: StatementSpec
    answers: Mapping[str, Answer]

    def checked(self) -> Statement:
        """Compare each value with what the sentence states.

        A value from a simulation is an interval; where the sentence holds for a part of it only, it is undecided.
        """
        spec, stated = self.spec, _stated(self.spec)
        values = self._values("of") or []
        low, high = self._limits(stated, values)
        none: list[ComparedNumber | None] = [None] * len(values)
        against = {"above": low, "greatest": low, "below": high, "smallest": high}.get(spec.form, none)
        cells = tuple(
            CheckedValue(name, values[index], _within(values[index], low[index], high[index]), against[index])
            for index, name in enumerate(spec.of)
            if name in (self._picked or spec.of)
        )
        needed = spec.at_least or len(cells)
        wanted, unit = _words(spec, stated), self._unit(stated)
        return Statement(self.name, spec.says, spec.source, wanted, unit, cells, needed, spec.counted)

    @property
    def _picked(self) -> Sequence[str]:
        return self.spec.greatest or self.spec.smallest

    def _unit(self, stated: Mapping[str, Given]) -> str:
        if self.spec.per or self.spec.relative_to or any("%" in each.text for each in stated.values()):
            return "%"
        return next(filter(None, (self.answers[name].unit(self.spec.value) for name in self.spec.of)), "1")

    def _limits(
        self, stated: Mapping[str, Given], values: Sequence[ComparedNumber | None]
    ) -> tuple[list[ComparedNumber | None], list[ComparedNumber | None]]:
        """Give what each value has to reach and what it may not pass, each as an interval."""
        least, most = -inf, inf
        if "about" in stated:
            least = stated["about"].value - stated["within"].value
            most = stated["about"].value + stated["within"].value
        least = stated["from"].value if "from" in stated else least
        most = stated["to"].value if "to" in stated else most
        # Slightly more than the digits allow, for decimal fractions have no exact double.
        least, most = (nextafter(end + 1e-9 * sign * abs(end), sign * inf) for end, sign in ((least, -1), (most, 1)))
        low, high = self._values("above") or [_exactly(least)], self._values("below") or [_exactly(most)]
        rest = [each for name, each in zip(self.spec.of, values, strict=True) if name not in self._picked]
        if self.spec.greatest:
            low = [_extreme(max, rest)]
        if self.spec.smallest:
            high = [_extreme(min, rest)]
        count = len(values)
        return low * (count if len(low) == 1 else 1), high * (count if len(high) == 1 else 1)

    def _values(self, key: str) -> list[ComparedNumber | None] | None:
        """Give the value of each answer under a key, one for each under ``of``; None where there is none under it."""
        names = getattr(self.spec, key)
        numbers = [self._number(name, self.spec.value) for name in names]
        if self.spec.per:
            numbers = list(map(_ratio, numbers, [self._number(name, self.spec.per) for name in names]))
        if key == "of" and (bases := self._values("relative_to")):
            numbers = list(map(_ratio, numbers, bases))
        return numbers * (len(self.spec.of) if len(numbers) == 1 else 1) or None

    def _number(self, name: str, value: str) -> ComparedNumber | None:
        answer = self.answers[name]
        found = answer.find(value)
        if answer.failed or found is None:
            return None
        low, high = answer.ends(value)
        return ComparedNumber(found, found if low is None else low, found if high is None else high)


def _exactly(value: float) -> ComparedNumber:
    return ComparedNumber(value, value, value)


def _extreme(pick: Callable[..., float], values: Sequence[ComparedNumber | None]) -> ComparedNumber | None:
    """Give the greatest or the smallest of some values; nothing where one of them is unknown."""
    known = [each for each in values if each is not None]
    return ComparedNumber(*map(pick, zip(*known, strict=True))) if len(known) == len(values) else None


def _ratio(over: ComparedNumber | None, under: ComparedNumber | None) -> ComparedNumber | None:
    """Divide two values that are not negative; nothing where there is no answer, or a division by zero."""
    if over is None or under is None or under.low <= 0.0:
        return None
    return ComparedNumber(over.value / under.value, over.low / under.high, over.high / under.low)


def _within(value: ComparedNumber | None, least: ComparedNumber | None, most: ComparedNumber | None) -> bool | None:
    """Tell whether a value lies between two others; None where that cannot be told.

    Stated ends belong to what is stated; the value of another answer is to be passed.
    """
    if value is None or least is None or most is None:
        return None
    if value.low > least.high and value.high < most.low:
        return True
    return False if value.high <= least.low or value.low >= most.high else None


def _words(spec: StatementSpec, stated: Mapping[str, Given]) -> str:
    """Say what must hold."""
    number = {key: each.text for key, each in stated.items()}
    if spec.form == "about":
        return f"{number['about']}, within {number['within']}"
    if spec.form == "from":
        return ", ".join(f"{'at least' if key == 'from' else 'at most'} {text}" for key, text in number.items())
    return {
        "above": "more than the value beside it",
        "below": "less than the value beside it",
        "greatest": "the greatest of all, so more than the next one beside it",
        "smallest": "the smallest of all, so less than the next one beside it",
    }[spec.form]
