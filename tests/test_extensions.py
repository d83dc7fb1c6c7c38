"""A package beside slipstick adds a command, a question, a check and a format of measured files
by its entry points.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import ModelError
from slipstick.extensions import Registry
from slipstick.schema.kinds.study import QUESTIONS, StudySpec, study_model
from slipstick.schema.text import read_text
from slipstick.vocabulary import METHODS_ADDED
from tests.packages import install, run_in

ENTRY_POINTS = """\
[slipstick.commands]
outside = outside:COMMANDS
[slipstick.questions]
outside = outside:QUESTIONS
[slipstick.checks]
outside = outside:CHECKS
[slipstick.formats]
outside = outside:FORMATS
"""

TABLES = """\
COMMANDS = {"hello": "outside.parts:hello"}
QUESTIONS = {"fastest": "outside.parts:FASTEST"}
CHECKS = {"recipe": "outside.parts:is_recipe"}
FORMATS = {"seconds": "outside.parts:SECONDS"}
"""

PARTS = """\
import click
from dataclasses import dataclass
from pydantic import Field
from slipstick.results.question import QuestionResult, ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.schema.kinds.study import Column, QuestionKey, QuestionSpec
from slipstick.study.questions import Question
from slipstick_measure.readers.reading import Coordinates, FileFormat


@click.command()
def hello():
    \"\"\"Greet.\"\"\"
    click.echo("hello from outside")


class FastestSpec(QuestionSpec):
    value: Column = Field("time", description="the value to compare")


@dataclass(frozen=True)
class FastestResult(QuestionResult):
    title = "Fastest case"
    case: str
    answer: object
    value: str

    def sentences(self):
        return [f"the fastest case is {self.case}"]

    def parts(self):
        found = self.answer.values[self.value]
        columns = [
            ResultColumn("case", [self.case], place=True),
            ResultColumn(self.value, [found.value], found.unit),
        ]
        yield ResultTable("fastest", columns, Provenance.of([self.answer]))


def read(asked, study):
    def solve(answers):
        case = min(answers.cases, key=lambda case: answers.cases[case][asked.value])
        return FastestResult(case, answers.cases[case], asked.value)

    return Question(solve)


FASTEST = QuestionKey(
    FastestSpec | None, Field(None, description="which case is the fastest"), "outside.parts:read"
)


def is_recipe(reference):
    return reference.endswith(".recipe")


def read_seconds(reading):
    for line, text in reading.content[1:]:
        p, _, seconds = text.partition(":")
        if (processors := reading.processors(line, "p", p)) is not None:
            reading.add(line, Coordinates(processors), "time", seconds, "s")
    return reading.finished()


SECONDS = FileFormat("seconds", lambda reading: reading.text.startswith("seconds by"), read_seconds)
"""

STUDY = """\
study: 1
title: Two machines
base: {model: lock-and-bus, method: closed-form}
cases: {two: {population.processors: 2}, four: {population.processors: 4}}
fastest: {value: time}
"""

COMMANDS = """\
from slipstick.cli.main import main
assert main(["hello"]) == main(["check", "cake.recipe", "study.yaml"]) == 0
assert main(["schema", "study"]) == 0
assert main(["run", "study.yaml", "--out", "report"]) == main(["measured", "run.txt"]) == 0
assert main(["helo"]) == main(["check", "misspelt.yaml"]) == 2
"""


@pytest.mark.turns(4)
def test_a_package_adds_by_its_entry_points(tmp_path: Path) -> None:
    modules = {"outside/__init__.py": TABLES, "outside/parts.py": PARTS}
    install(tmp_path, "outside", ENTRY_POINTS, modules)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "misspelt.yaml").write_text(STUDY.replace("value: time", "value: tme"))
    (tmp_path / "cake.recipe").write_text("flour")
    (tmp_path / "run.txt").write_text("seconds by processors\n1: 10\n4: 3.1\n")
    done = run_in(tmp_path, COMMANDS)
    assert done.returncode == 0, done.stderr
    for words in (
        "hello from outside",
        "cake.recipe: a valid recipe",
        "- The fastest case is",
        "Of 4 processors, 0.774 are lost",
        "which case is the",
    ):
        assert words in done.stdout
    assert "No such command 'helo'. Did you mean 'hello'?" in done.stderr
    assert (
        "misspelt.yaml:5:18: fastest.value: no case has the value tme; did you mean 'time'?"
        in done.stderr
    )
    assert "## Fastest case" in (tmp_path / "report" / "report.md").read_text()


def test_a_name_that_is_taken_or_cannot_be_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_points = (
        "[odd.a]\none = odd_part:TABLE\n[odd.b]\ntwo = odd_missing:TABLE\n"
        "[odd.c]\nthree = odd_part:METHODS\n"
    )
    module = "TABLE = {'run': 'odd_part:run'}\nMETHODS = {'activity/closed-form': 'odd_part:run'}\n"
    install(tmp_path, "odd", entry_points, {"odd_part.py": module})
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ModelError,
        match=r"odd_part:TABLE adds 'run' to the group odd.a, which has that name already",
    ):
        list(Registry("odd.a", {"run": 1}))
    with pytest.raises(
        ModelError,
        match=r"odd_part:run, which is 'run' of the group odd.a, is not there: module 'odd_part'",
    ):
        Registry("odd.a")["run"]
    with pytest.raises(
        ModelError,
        match=r"odd_missing:TABLE cannot be imported for the group odd.b: No module named",
    ):
        list(Registry("odd.b"))
    with pytest.raises(ModelError, match=r"adds 'activity/closed-form' to the group odd.c, which"):
        list(Registry("odd.c", METHODS_ADDED.own))


def test_the_model_of_a_study_has_the_keys_of_other_packages_that_the_study_uses() -> None:
    plain, asks = read_text("study: 1\n", "x.yaml"), read_text("study: 1\nmeasured: {}\n", "x.yaml")
    own_keys = StudySpec.model_fields.keys()
    assert study_model(plain).model_fields.keys() == own_keys
    assert study_model(asks).model_fields.keys() == own_keys | {"measured"}
    assert {*QUESTIONS.definitions} == {
        *("agree", "bottleneck", "choose", "rank", "seek"),
        *("measured", "traces", "fits", "validation"),
        *("compare", "project", "sample", "scale", "statements", "unpublished"),
    }
    assert study_model().model_fields.keys() == own_keys | QUESTIONS.definitions.keys()
