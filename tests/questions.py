"""What a study found at one of its questions, by the class of the result."""

from __future__ import annotations

from typing import TypeVar

from slipstick.results.question import QuestionResult
from slipstick.results.study import Results

ResultT = TypeVar("ResultT", bound=QuestionResult)


def result_of(results: Results, kind: type[ResultT]) -> ResultT:
    """Give the one result of a class."""
    (found,) = (each for each in results.questions.values() if isinstance(each, kind))
    return found
