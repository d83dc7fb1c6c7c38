"""Specs of what a study asks of sources: published tables and sentences, and its pictures."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from slipstick.errors import UnitError
from slipstick.expression.nodes import Dimension
from slipstick.schema.kinds.constraints import Name, Note, broken_rule
from slipstick.schema.kinds.quantity import Spec
from slipstick.schema.kinds.study import (
    AnyNumber,
    Column,
    DistinctNames,
    Drawn,
    Path,
    Place,
    QuestionKey,
    QuestionSpec,
    Seed,
)
from slipstick.units import parse

NumberOrNone = float | None


class RowSpec(Spec):
    """One row of a published table, beside what the program computes."""

    row: Note = Field(description="its label")
    sum: list[Column] = Field([], description="computed values to add up")
    per: Column | None = Field(
        None, description="plain number that the sum is divided by in each case that has it"
    )
    plus: list[NumberOrNone] = Field([], description="measured values to add, one for each column")
    printed: list[NumberOrNone] = Field(
        [], description="as printed, one for each column; null where nothing is"
    )
    against: list[Name] = Field(
        [],
        description=(
            "cases, one for each column, whose computed values stand in place of printed ones"
        ),
    )
    within: Annotated[
        Annotated[list[NumberOrNone], Tag("list")] | Annotated[float, Tag("number")],
        Discriminator(lambda value: "list" if isinstance(value, list) else "number"),
    ] = Field(
        0.5,
        description=(
            "how far rounding can carry a cell, in the table's unit; one for all or one for each"
        ),
    )
    measured: bool = Field(False, description="the values are measurements, not predictions")
    exact: bool = Field(
        False,
        description=(
            "the values are exact, such as a Markov chain's, and the answers approximate them"
        ),
    )
    input: bool = Field(
        False, description="the values were given to the model, so agreement says nothing"
    )
    counted: bool = Field(
        True,
        description=(
            "whether its errors enter the mean; not those of a fit, of another's estimate, or of a"
            " quantity in another row"
        ),
    )
    slips: dict[Name, Note] = Field(
        {}, description="by column, where the source contradicts itself"
    )
    ranging: dict[Name, list[Name]] = Field(
        {},
        description=(
            "by column, cases with other values of uncertain inputs; the interval of the cell holds"
            " theirs"
        ),
    )


class TableSpec(QuestionSpec):
    """A published table."""

    names_answers: ClassVar[bool] = True
    title: Note = Field(description="its heading")
    source: Note = Field("", description="where it was published")
    text: Note = Field("", description="what the reader should know")
    columns: list[Name] = Field(description="the cases, in order", min_length=1)
    unit: Note = Field("us", description="unit of all its cells")
    rows: list[RowSpec] = Field(description="in order", min_length=1)

    def answers_of_columns(self) -> list[str]:
        """List the cases that the columns are computed from."""
        return self.columns

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List the cases of the columns, and those that rows are compared with or range over."""
        yield from ((("columns", index), case) for index, case in enumerate(self.columns))
        for row, spec in enumerate(self.rows):
            yield from (
                (("rows", row, "against", index), case) for index, case in enumerate(spec.against)
            )
            yield from ((("rows", row, "slips", case), case) for case in spec.slips)
            for case, ranging_cases in spec.ranging.items():
                yield from (
                    (("rows", row, "ranging", case), named_case)
                    for named_case in (case, *ranging_cases)
                )

    def check_rules(self) -> None:
        for index, row in enumerate(self.rows):
            if bool(row.printed) == bool(row.against):
                raise broken_rule(
                    f"row {row.row} needs something to stand beside: printed or against",
                    "rows",
                    index,
                )
            for key in ("printed", "against", "plus", "within"):
                cells = getattr(row, key)
                if (
                    isinstance(cells, list)
                    and len(cells) != len(self.columns)
                    and (cells or key == "within")
                ):
                    message = (
                        f"one cell for each of the {len(self.columns)} columns is needed, got"
                        f" {len(cells)}"
                    )
                    raise broken_rule(message, "rows", index, key)
            if row.measured and row.exact:
                raise broken_rule(f"row {row.row} is measured or exact, not both", "rows", index)
            if not (row.sum or row.plus):
                raise broken_rule(
                    f"row {row.row} needs something to add up: sum or plus", "rows", index
                )


_CITED = re.compile(r"\{([^{}]*)\}")


_CITATION = re.compile(r"\S+ \S+( %| / (\S+ )?\S+)?")


class WantedSpec(QuestionSpec):
    """What must hold of computed values for a sentence, in one of its readings."""

    value: Column | None = Field(None, description="the value that it is about")
    added: list[Column] = Field([], description="further values of the same answer, added to it")
    per: Column | None = Field(None, description="value of the same answer to divide it by")
    other: list[Column] = Field(
        [],
        description=(
            "values, added up, that the answers under relative_to, above or below are asked for in"
            " its place"
        ),
    )
    of: list[Name] = Field([], description="the answers that it is about")
    relative_to: list[Name] = Field(
        [], description="answers to divide by the same value of, one for each or one for all"
    )
    about: AnyNumber | None = Field(None, description="the value it states, with within")
    within: AnyNumber | None = Field(None, description="how far from about its digits reach")
    first: AnyNumber | None = Field(None, alias="from", description="the least value it allows")
    to: AnyNumber | None = Field(None, description="the largest value it allows")
    above: list[Name] = Field(
        [], description="answers whose values are less, one for each or for all"
    )
    below: list[Name] = Field(
        [], description="answers whose values are more, one for each or for all"
    )
    greatest: list[Name] = Field(
        [], description="those of the answers with greater values than the rest"
    )
    smallest: list[Name] = Field(
        [], description="those of the answers with smaller values than the rest"
    )
    at_least: int | None = Field(
        None, description="for how many answers it must hold; all by default", ge=1
    )
    missed: Note = Field(
        "",
        description=(
            "why it does not hold, said where it is a miss; {CASE VALUE} stands for what was"
            " computed, {CASE VALUE %} for it in percent, {CASE VALUE / VALUE} and {CASE VALUE /"
            " CASE VALUE} for a ratio in percent"
        ),
    )

    def compared_cases(self) -> Iterator[tuple[Place, str]]:
        """List the cases and other answers whose values are compared, each with its place in the
        spec.
        """
        for key in ("of", "relative_to", "above", "below", "greatest", "smallest"):
            yield from (((key, index), name) for index, name in enumerate(getattr(self, key)))

    @property
    def cited(self) -> dict[str, list[tuple[str, str]]]:
        """Return the answers and values, one or a ratio of two, that each text in braces of
        ``missed``, or of ``lacks`` of a statement, names.
        """
        terms_by_text = {}
        for text in _CITED.findall(self.missed + getattr(self, "lacks", "")):
            terms = [term.split() for term in text.removesuffix(" %").split(" / ")]
            terms_by_text[text] = [
                (term[0] if len(term) > 1 else terms[0][0], term[-1]) for term in terms
            ]
        return terms_by_text

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List all cases and other answers that the reading names."""
        yield from self.compared_cases()
        for text, terms in self.cited.items():
            yield from (((self.cites(text),), name) for name, _ in terms)

    def cites(self, text: str) -> str:
        """Return the key whose text has this text in braces."""
        return "missed" if f"{{{text}}}" in self.missed else "lacks"


class StatementSpec(WantedSpec):
    """A sentence of a source that numbers can check: a range, a value, or an order of answers."""

    names_answers: ClassVar[bool] = True
    says: Note = Field(description="what the source says")
    source: Note = Field("", description="where it says so")
    value: Column = Field(
        description="the value that it is about, such as efficiency or overhead_reduction"
    )
    of: list[Name] = Field(description="the answers that it is about", min_length=1)
    readings: dict[Note, WantedSpec] = Field(
        {},
        description=(
            "what each of several readings wants; where they differ, the statement is undecided"
        ),
    )
    counted: bool = Field(
        True,
        description=(
            "false where the number was put in or fitted: that it comes out is no agreement"
        ),
    )
    apart: Note = Field(
        "", description="why it is counted apart: its source is none of those that are reproduced"
    )
    repeats: Note = Field(
        "", description="STUDY STATEMENT: the same sentence stands there, and counts there alone"
    )
    lacks: Note = Field(
        "",
        description=(
            "the mechanism that the model is known to lack, where it never holds; braces as in"
            " missed"
        ),
    )
    excluded: Note = Field(
        "",
        description=(
            "what the same source says or prints that cannot hold together with it; braces as in"
            " {NAME least} hold a figure of the table that `slipstick statements --together` reads"
        ),
    )
    part_of: Name | None = Field(
        None,
        description=(
            "the statement, or a name of several, that this is a part or a reading of; they count"
            " once"
        ),
    )
    reading: Note = Field(
        "",
        description=(
            "which reading of part_of this is, where the source can be read in several ways"
        ),
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List all cases and other answers that the statement names, in all of its readings."""
        yield from super().named_cases()
        for label, wanted in self.readings.items():
            yield from (
                (("readings", label, *place_inside), name)
                for place_inside, name in wanted.named_cases()
            )

    def read_as(self, name: str) -> dict[str, "StatementSpec"]:
        """Return the statement under its name, or one statement for each of its readings.

        Parameters
        ----------
        name : of the statement
        """
        specs = {}
        for number, (label, wanted) in enumerate(self.readings.items(), 1):
            changed_fields = {key: getattr(wanted, key) for key in wanted.model_fields_set}
            changed_fields |= {"part_of": self.part_of or name, "reading": label, "readings": {}}
            specs[f"{name}-{number}"] = self.model_copy(update=changed_fields)
        return specs or {name: self}

    def asked_of(self, key: str) -> list[str]:
        """List the values that are added up for each answer under a key."""
        return (
            self.other
            if self.other and key in ("relative_to", "above", "below")
            else [self.value, *self.added]
        )

    @property
    def form(self) -> str:
        """Return the key that says what must hold, such as ``about``; ``from`` for a range with one
        or two ends.
        """
        ranged = self.first is not None or self.to is not None
        forms = [
            key for key in ("about", "above", "below", "greatest", "smallest") if getattr(self, key)
        ]
        return (
            forms[0] if len(forms) == 1 and not ranged else "from" if ranged and not forms else ""
        )

    def check_rules(self) -> None:
        if len(self.readings) == 1:
            message = "one reading is what the statement says; write at least two, or none"
            raise broken_rule(message, "readings")
        for spec in self.read_as("statement").values():
            spec.check_one_reading()

    def check_one_reading(self) -> None:
        """Raise the rule about several keys that one reading breaks."""
        if not self.form:
            raise broken_rule(
                "write one of about (and within), from and to, above, below, greatest and smallest"
            )
        if (self.about is None) != (self.within is None):
            raise broken_rule(
                "about and within go together: the stated value, and how far from it its digits"
                " reach"
            )
        if self.within and self.about and "%" in self.within.text and "%" not in self.about.text:
            raise broken_rule(
                f"{self.within.text} of what is open beside {self.about.text}: write a plain"
                " number",
                "within",
            )
        if self.other and not (self.relative_to or self.above or self.below):
            raise broken_rule(
                "other is for answers under relative_to, above or below; write one of them", "other"
            )
        for key in ("relative_to", "above", "below"):
            if len(getattr(self, key)) not in (0, 1, len(self.of)):
                raise broken_rule(
                    "write one answer, or one for each of the"
                    f" {len(self.of)} answers that `of` names",
                    key,
                )
        for key in ("greatest", "smallest"):
            for index, name in enumerate(getattr(self, key)):
                if name not in self.of:
                    raise broken_rule(f"{name} does not stand under of", key, index)
            if len(set(getattr(self, key))) == len(set(self.of)):
                raise broken_rule("leave at least one answer under `of` out of these", key)
        if self.reading and not self.part_of:
            raise broken_rule("part_of names the statement that this is a reading of", "reading")
        if wrong := next(
            (
                name
                for name in _CITED.findall(self.missed + self.lacks)
                if not _CITATION.fullmatch(name)
            ),
            None,
        ):
            message = (
                f"{{{wrong}}} is not CASE VALUE, CASE VALUE %, CASE VALUE / VALUE or CASE VALUE /"
                " CASE VALUE"
            )
            raise broken_rule(message, self.cites(wrong))
        key = "greatest" if self.greatest else "smallest" if self.smallest else "of"
        if self.at_least is not None and self.at_least > (most := len(getattr(self, key))):
            raise broken_rule(
                f"at most {most}, as many as there are answers under {key}", "at_least"
            )


class UnpublishedInputSpec(Spec):
    """An input that the source does not print: the range or the values that it may have, and why
    these.
    """

    title: Note = Field(description="what it is, in a few words")
    reason: Note = Field(description="why it has this range")
    path: Path = Field(description="the value that it is")
    first: AnyNumber | None = Field(None, alias="from", description="least value")
    to: AnyNumber | None = Field(None, description="largest value")
    spacing: Literal["linear", "geometric"] = Field(
        "linear", description="how draws are spread over the range"
    )
    values: list[Any] = Field([], description="in place of a range: each is as likely, in order")
    instead: dict[Note, list[Any]] = Field(
        {},
        description=(
            "by what stands at the path, what takes its place, one for each of values, which are"
            " then only what the report calls them"
        ),
    )
    cases: DistinctNames = Field(
        [], description="cases that it is an input of; by default those with such a quantity"
    )
    change: Name | None = Field(
        None, description="a change of rank: the value is set where this change is made, only there"
    )

    def check_rules(self) -> None:
        ranged = self.first is not None and self.to is not None
        if ranged == bool(self.values) or (self.first is None) != (self.to is None):
            raise broken_rule("write from and to, or values", "title")
        if len(self.values) == 1:
            raise broken_rule("a single value is no range; write at least two", "values")
        if not self.instead:
            self._check_units()
        for key, replacements in self.instead.items():
            if len(replacements) != len(self.values):
                message = f"write one for each of the {len(self.values)} values"
                raise broken_rule(message, "instead", key)
        if self.first and self.to:
            if self.first.dimension != self.to.dimension:
                raise broken_rule(f"{self.to.text} has another unit than {self.first.text}", "to")
            if self.first.value >= self.to.value:
                raise broken_rule(f"{self.to.text} is not above {self.first.text}", "to")
            if self.spacing == "geometric" and self.first.value <= 0:
                raise broken_rule("a geometric range begins above 0", "from")

    def _check_units(self) -> None:
        """Raise an error where values have different units, such as a time beside a size; names
        have none.
        """
        quantities: dict[int, Dimension] = {}
        for index, value in enumerate(self.values):
            with suppress(UnitError):
                quantities[index] = parse(str(value))[1]
        first = next(iter(quantities), 0)
        for index, dimension in quantities.items():
            if dimension != quantities[first]:
                message = f"{self.values[index]} has another unit than {self.values[first]}"
                raise broken_rule(message, "values", index)


class UnpublishedSpec(QuestionSpec):
    """Inputs that a source does not print, drawn at random within ranges; draws that agree with
    what the source prints are kept, and each statement is checked in all of them.
    """

    draws: int = Field(256, description="how many draws", ge=2, le=100_000)
    seed: Seed = Field(0, description="key of the random streams, one for each input")
    inputs: dict[Name, UnpublishedInputSpec] = Field(
        description="what is not printed, by name", min_length=1
    )
    agree: DistinctNames = Field(
        [], description="statements that must hold in a draw that is kept: what the source prints"
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List the cases that the inputs name."""
        for name, spec in self.inputs.items():
            yield from (
                (("inputs", name, "cases", index), case) for index, case in enumerate(spec.cases)
            )


class ComparisonPictureSpec(Drawn):
    """A picture of computed values against published ones."""

    question: ClassVar[str] = "compare"
    kind: Literal["comparison"] = Field(
        description=(
            "each computed value of compare against the published one, the line on which they are"
            " equal between them"
        )
    )


COMPARE = QuestionKey(
    list[TableSpec],
    Field([], description="published or measured tables to hold against"),
    "slipstick_papers.compare:read",
    (ComparisonPictureSpec,),
    position=10,
)
STATEMENTS = QuestionKey(
    dict[Name, StatementSpec],
    Field({}, description="sentences of a source to check against the answers"),
    "slipstick_papers.statements:read",
    position=100,
)
UNPUBLISHED = QuestionKey(
    UnpublishedSpec | None,
    Field(None, description="what the source does not print, and how its statements vary"),
    "slipstick_papers.unpublished:read",
    position=110,
)
