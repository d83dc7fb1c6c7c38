"""Statements: sentences of a source, each checked against the answers of the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from slipstick.answer import Answer
from slipstick.errors import SpecError, did_you_mean
from slipstick.expression.dimension import COUNT, Dimension
from slipstick.report.questions.statements import CheckedValue, Statement, StatementsResult, ValueRange
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.kinds.study import StatementSpec
from slipstick.study.cases import StudyContext
from slipstick.study.questions import BaseAnswers, Question


@dataclass(frozen=True)
class StatementsQuestion(Question):
    """Sentences to check, by name."""

    specs: Mapping[str, StatementSpec]
    study: StudyContext

    def solve(self, answers: BaseAnswers) -> StatementsResult:
        """Check every sentence.

        Raises
        ------
        SpecError : an answer has no such value, or one of another unit than the stated one
        """
        return StatementsResult(
            tuple(_Sentence(name, spec, self.study, answers.named).checked() for name, spec in self.specs.items())
        )


def read(asked: Mapping[str, StatementSpec], study: StudyContext) -> StatementsQuestion:
    """Take the sentences; their values can be checked only beside answers."""
    return StatementsQuestion(asked, study)


@dataclass(frozen=True)
class _Sentence:
    """One sentence, and the answers that it names."""

    name: str
    spec: StatementSpec
    study: StudyContext
    answers: Mapping[str, Answer]

    def checked(self) -> Statement:
        """Compare each value with what the sentence states.

        A value from a simulation is an interval; where the sentence holds for a part of it only, it is undecided.
        """
        spec, stated = self.spec, self._stated()
        values = self._values("of") or []
        low, high = self._limits(stated, values)
        none: list[ValueRange | None] = [None] * len(values)
        against = {"above": low, "greatest": low, "below": high, "smallest": high}.get(spec.form, none)
        cells = tuple(
            CheckedValue(name, values[index], _within(values[index], low[index], high[index]), against[index])
            for index, name in enumerate(spec.of)
            if name in (self._picked or spec.of)
        )
        needed = spec.at_least or len(cells)
        return Statement(self.name, spec.says, spec.source, _words(spec, stated), self._unit, cells, needed)

    @property
    def _picked(self) -> Sequence[str]:
        return self.spec.greatest or self.spec.smallest

    @property
    def _unit(self) -> str:
        if self.spec.per or self.spec.relative_to:
            return "1"
        return next(filter(None, (self.answers[name].unit(self.spec.value) for name in self.spec.of)), "1")

    def _stated(self) -> dict[str, Given]:
        """Give the numbers that the sentence states, by key, in the unit of its value."""
        numbers = {"about": self.spec.about, "within": self.spec.within, "from": self.spec.first, "to": self.spec.to}
        found = {key: each for key, each in numbers.items() if each is not None}
        for key, each in found.items():
            if each.dimension != Dimension.of(self._unit):
                unit = "a plain number" if Dimension.of(self._unit) == COUNT else f"a quantity in {self._unit}"
                raise self._refusal((key,), f"{each.text} is compared with {unit}; write such a value")
        return found

    def _limits(
        self, stated: Mapping[str, Given], values: Sequence[ValueRange | None]
    ) -> tuple[list[ValueRange | None], list[ValueRange | None]]:
        """Give what each value has to reach and what it may not pass, each as an interval."""
        least, most = -inf, inf
        if "about" in stated:
            least = stated["about"].value - stated["within"].value
            most = stated["about"].value + stated["within"].value
        least = stated["from"].value if "from" in stated else least
        most = stated["to"].value if "to" in stated else most
        # Slightly more than the digits allow, for decimal fractions have no exact double.
        least, most = (end + sign * 1e-9 * abs(end) for end, sign in ((least, -1), (most, 1)))
        low, high = self._values("above") or [(least, least)], self._values("below") or [(most, most)]
        rest = [each for name, each in zip(self.spec.of, values, strict=True) if name not in self._picked]
        if self.spec.greatest:
            low = [_extreme(max, rest)]
        if self.spec.smallest:
            high = [_extreme(min, rest)]
        count = len(values)
        return low * (count if len(low) == 1 else 1), high * (count if len(high) == 1 else 1)

    def _values(self, key: str) -> list[ValueRange | None] | None:
        """Give the value of each answer under a key, one for each under ``of``; None where there is none under it."""
        names = getattr(self.spec, key)
        numbers = [self._number(key, index, name, self.spec.value) for index, name in enumerate(names)]
        if self.spec.per:
            below = [self._number(key, index, name, self.spec.per) for index, name in enumerate(names)]
            numbers = list(map(_ratio, numbers, below))
        if key == "of" and (bases := self._values("relative_to")):
            numbers = list(map(_ratio, numbers, bases))
        return numbers * (len(self.spec.of) if len(numbers) == 1 else 1) or None

    def _number(self, key: str, index: int, name: str, value: str) -> ValueRange | None:
        answer = self.answers[name]
        if answer.failed or answer.converged is False:  # no interval of such a simulation can be trusted
            return None
        if (found := answer.find(value)) is None:
            raise self._refusal((key, index), f"{name} has no value {value}{did_you_mean(value, answer.names)}")
        known = answer.values.get(value)
        low, high = (known.low, known.high) if known else (None, None)
        return (found if low is None else low, found if high is None else high)

    def _refusal(self, place: tuple[str | int, ...], why: str) -> SpecError:
        return self.study.refusal(("statements", self.name, *place), why)


def _extreme(pick: Callable[..., float], values: Sequence[ValueRange | None]) -> ValueRange | None:
    """Give the greatest or the smallest of some values; nothing where one of them is unknown."""
    known = [each for each in values if each is not None]
    if len(known) < len(values):
        return None
    return pick(each[0] for each in known), pick(each[1] for each in known)


def _ratio(over: ValueRange | None, under: ValueRange | None) -> ValueRange | None:
    """Divide two values that are not negative; nothing where there is no answer, or a division by zero."""
    if over is None or under is None or under[0] <= 0.0:
        return None
    return over[0] / under[1], over[1] / under[0]


def _within(value: ValueRange | None, least: ValueRange | None, most: ValueRange | None) -> bool | None:
    """Tell whether a value lies between two others; None where that cannot be told."""
    if value is None or least is None or most is None:
        return None
    if value[0] >= least[1] and value[1] <= most[0]:
        return True
    return False if value[1] < least[0] or value[0] > most[1] else None


def _words(spec: StatementSpec, stated: Mapping[str, Given]) -> str:
    """Say what must hold."""
    number = {key: each.text for key, each in stated.items()}
    if spec.form == "about":
        return f"{number['about']}, within {number['within']}"
    if spec.form == "from":
        return ", ".join(f"{'at least' if key == 'from' else 'at most'} {text}" for key, text in number.items())
    return {
        "above": "more than against",
        "below": "less than against",
        "greatest": "the greatest of all, so more than the next",
        "smallest": "the smallest of all, so less than the next",
    }[spec.form]
