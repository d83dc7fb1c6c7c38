"""What a study found at one of its questions, by the class of the result."""

from __future__ import annotations

from typing import TypeVar

from slipstick.answer import Answer
from slipstick.results.question import QuestionResult
from slipstick.results.study import Results

ResultT = TypeVar("ResultT", bound=QuestionResult)


def result_of(results: Results, kind: type[ResultT]) -> ResultT:
    """Give the one result of a class."""
    (found,) = (each for each in results.questions.values() if isinstance(each, kind))
    return found


def number(answer: Answer, name: str) -> float:
    """Give a number that an answer must have."""
    found = answer[name]
    assert found is not None
    return found


def parameter(row: Answer) -> str:
    """Say which quantity a row of a ranking is about."""
    return str(row.point["parameter"])
