"""What a study found at one of its questions, by the class of the result."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, TypeVar

import pytest

from slipstick.answer import Answer
from slipstick.cli.main import main
from slipstick.report.shorten import DETAILS
from slipstick.results.question import QuestionResult
from slipstick.results.study import Results

ResultT = TypeVar("ResultT", bound=QuestionResult)


def result_of(results: Results, kind: type[ResultT]) -> ResultT:
    """Return the one result of a class."""
    (found,) = (each for each in results.questions.values() if isinstance(each, kind))
    return found


def reported(
    question: str, capsys: pytest.CaptureFixture[str], study: str = "study.yaml"
) -> tuple[str, str, list[dict[str, str]], dict[str, Any]]:
    """Run a study into the folder ``here``, for people and for programs.

    Returns
    -------
    what is printed, the whole report, the question's rows of results.csv, and the JSON document,
    whose answers are those of the question
    """
    assert main(["run", study, "--out", "here", "--all"]) == 0
    printed = capsys.readouterr().out
    with Path("here/results.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["sweep"] == question]
    assert main(["run", study, "--out", "here", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    document["answers"] = [each for each in document["answers"] if each["model"] == question]
    return printed, whole_report(), rows, document


def whole_report(folder: str = "here") -> str:
    """Read a report with all its tables."""
    details = Path(folder, DETAILS)
    return (details if details.exists() else Path(folder, "report.md")).read_text()


def number(answer: Answer, name: str) -> float:
    """Return a number that an answer must have."""
    found = answer[name]
    assert found is not None
    return found


def parameter(row: Answer) -> str:
    """Return the quantity that a row of a ranking is about."""
    return str(row.point["parameter"])
