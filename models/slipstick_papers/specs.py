"""Specs of what a study asks of sources: published tables and sentences, and its pictures."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from slipstick.errors import UnitError
from slipstick.expression.nodes import Dimension
from slipstick.late import late_pattern
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
    """One row of a published table, beside the computed values."""

    row: Note = Field(description="label of the row")
    sum: list[Column] = Field([], description="computed values to add up")
    per: Column | None = Field(
        None, description="plain number by which the sum is divided, in each case that has it"
    )
    times: float = Field(
        1.0, description="number by which the sum is multiplied, such as the acquisitions of a run"
    )
    plus: list[NumberOrNone] = Field([], description="measured values to add, one for each column")
    printed: list[NumberOrNone] = Field(
        [], description="printed values, one for each column; null if there is none"
    )
    against: list[Name] = Field(
        [],
        description="cases, one for each column; their computed values replace printed ones",
    )
    within: Annotated[
        Annotated[list[NumberOrNone], Tag("list")] | Annotated[float, Tag("number")],
        Discriminator(lambda value: "list" if isinstance(value, list) else "number"),
    ] = Field(
        0.5,
        description=(
            "largest difference that rounding explains, in the unit of the table; one value for all"
            " cells or one for each"
        ),
    )
    measured: bool = Field(
        False, description=("whether the values are measurements, not predictions")
    )
    exact: bool = Field(
        False,
        description=(
            "whether the values are exact, such as those of a Markov chain, and the answers"
            " approximate them"
        ),
    )
    input: bool = Field(
        False,
        description=(
            "whether the values are inputs of the model, so that agreement proves nothing"
        ),
    )
    counted: bool = Field(
        True,
        description=(
            "whether the errors of the row enter the mean; exclude fits, estimates of others, and"
            " repeated quantities"
        ),
    )
    slips: dict[Name, Note] = Field({}, description="contradictions in the source, by column")
    ranging: dict[Name, list[Name]] = Field(
        {},
        description=(
            "cases with other values of uncertain inputs, by column; the interval of the cell"
            " contains their answers"
        ),
    )


class TableSpec(QuestionSpec):
    """A published table."""

    names_answers: ClassVar[bool] = True
    title: Note = Field(description="heading of the table")
    source: Note = Field("", description="where the table was published")
    text: Note = Field("", description="remarks for the reader")
    columns: list[Name] = Field(description="names of the cases, in order", min_length=1)
    unit: Note = Field("us", description="unit of all cells")
    rows: list[RowSpec] = Field(description="rows in order", min_length=1)

    def answers_of_columns(self) -> list[str]:
        """Return the cases that the columns are computed from."""
        return self.columns

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the cases of the columns, and those that rows are compared with or range over, each
        with its place in the spec.
        """
        yield from ((("columns", index), case) for index, case in enumerate(self.columns))
        for row_index, row_spec in enumerate(self.rows):
            yield from (
                (("rows", row_index, "against", index), case)
                for index, case in enumerate(row_spec.against)
            )
            yield from ((("rows", row_index, "slips", case), case) for case in row_spec.slips)
            for case, ranging_cases in row_spec.ranging.items():
                yield from (
                    (("rows", row_index, "ranging", case), named_case)
                    for named_case in (case, *ranging_cases)
                )

    def check_rules(self) -> None:
        """Raise if a row has a wrong number of values, or keys that contradict one another."""
        for row_index, row in enumerate(self.rows):
            if bool(row.printed) == bool(row.against):
                raise broken_rule(
                    f"row {row.row} needs something to stand beside: printed or against",
                    "rows",
                    row_index,
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
                    raise broken_rule(message, "rows", row_index, key)
            if row.measured and row.exact:
                raise broken_rule(
                    f"row {row.row} is measured or exact, not both", "rows", row_index
                )
            if not (row.sum or row.plus):
                raise broken_rule(
                    f"row {row.row} needs something to add up: sum or plus", "rows", row_index
                )


_TEXT_IN_BRACES = late_pattern(r"\{([^{}]*)\}")


_CITATION = late_pattern(r"\S+ \S+( %| / (\S+ )?\S+)?")


class WantedSpec(QuestionSpec):
    """The condition on computed values that one reading of a sentence states."""

    value: Column | None = Field(
        None, description=("name of the value, such as efficiency or overhead_reduction")
    )
    added: list[Column] = Field(
        [], description=("further values of the same answer, which are added to the value")
    )
    per: Column | None = Field(
        None, description="value of the same answer by which the value is divided"
    )
    other: list[Column] = Field(
        [],
        description="values whose sum replaces value in the answers in relative_to, above or below",
    )
    of: list[Name] = Field([], description="cases or measured runs to which the sentence refers")
    relative_to: list[Name] = Field(
        [],
        description="answers by which the answers in `of` are divided, one for each or one for all",
    )
    about: AnyNumber | None = Field(
        None, description=("value that the sentence states, together with within")
    )
    within: AnyNumber | None = Field(
        None, description=("tolerance around the stated value, from its digits")
    )
    first: AnyNumber | None = Field(None, alias="from", description="smallest value allowed")
    to: AnyNumber | None = Field(None, description="largest value allowed")
    above: list[Name] = Field(
        [], description="answers whose values must be smaller, one for each or one for all"
    )
    below: list[Name] = Field(
        [], description="answers whose values must be larger, one for each or one for all"
    )
    greatest: list[Name] = Field(
        [], description="those of the answers in `of` that must be larger than all others"
    )
    smallest: list[Name] = Field(
        [], description="those of the answers in `of` that must be smaller than all others"
    )
    at_least: int | None = Field(
        None,
        description="number of answers for which the condition must be true; by default all",
        ge=1,
    )
    missed: Note = Field(
        "",
        description=(
            "explanation for the report if the condition is false; {CASE VALUE} inserts the"
            " computed value, {CASE VALUE %} its percentage, {CASE VALUE / VALUE} and {CASE VALUE /"
            " CASE VALUE} a ratio in percent"
        ),
    )

    def compared_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the cases and other answers whose values are compared, each with its place in the
        spec.
        """
        for key in ("of", "relative_to", "above", "below", "greatest", "smallest"):
            yield from (((key, index), name) for index, name in enumerate(getattr(self, key)))

    @property
    def cited(self) -> dict[str, list[tuple[str, str]]]:
        """The names in each text in braces of ``missed`` and, for a statement, of ``lacks``: an
        answer and its value, or two such pairs for a ratio.
        """
        terms_by_text = {}
        for text in _TEXT_IN_BRACES.findall(self.missed + getattr(self, "lacks", "")):
            terms = [term.split() for term in text.removesuffix(" %").split(" / ")]
            terms_by_text[text] = [
                (term[0] if len(term) > 1 else terms[0][0], term[-1]) for term in terms
            ]
        return terms_by_text

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield all cases and other answers that the reading names, each with its place in the
        spec.
        """
        yield from self.compared_cases()
        for text, terms in self.cited.items():
            yield from (((self.key_of_citation(text),), name) for name, _ in terms)

    def key_of_citation(self, text: str) -> str:
        """Return the key whose text contains a text in braces."""
        return "missed" if f"{{{text}}}" in self.missed else "lacks"


class StatementSpec(WantedSpec):
    """A sentence of a source that numbers can check: a range, a value, or an order of answers."""

    names_answers: ClassVar[bool] = True
    says: Note = Field(description="words of the source")
    source: Note = Field("", description="where the source states it")
    value: Column = Field(
        description="the value that the sentence is about, such as efficiency or overhead_reduction"
    )
    of: list[Name] = Field(
        description="cases or measured runs to which the sentence refers", min_length=1
    )
    readings: dict[Note, WantedSpec] = Field(
        {},
        description=(
            "different meanings of the sentence; if they lead to different verdicts, the statement"
            " is undecided"
        ),
    )
    counted: bool = Field(
        True,
        description="false if the value was put in or fitted, so that its agreement proves nothing",
    )
    apart: Note = Field(
        "",
        description=(
            "reason why the statement is counted separately: its source is not one of the"
            " reproduced ones"
        ),
    )
    repeats: Note = Field(
        "",
        description=(
            "STUDY STATEMENT of the same sentence in another study; the sentence is counted there"
            " only"
        ),
    )
    lacks: Note = Field(
        "",
        description=(
            "for a statement that is never true: the mechanism that the model is known to lack;"
            " braces as in missed"
        ),
    )
    excluded: Note = Field(
        "",
        description=(
            "other sentences of the same source that contradict it; braces as in {NAME least}"
            " insert a number of the table that `slipstick statements --together` reads"
        ),
    )
    part_of: Name | None = Field(
        None,
        description=(
            "name of the statement of which this is a part or a reading; parts with one name count"
            " once"
        ),
    )
    reading: Note = Field(
        "",
        description="which reading of part_of this is",
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield all cases and other answers that the statement names in any of its readings, each
        with its place in the spec.
        """
        yield from super().named_cases()
        for label, wanted_spec in self.readings.items():
            yield from (
                (("readings", label, *place_inside), name)
                for place_inside, name in wanted_spec.named_cases()
            )

    def read_as(self, name: str) -> dict[str, "StatementSpec"]:
        """Return a table of names and statements: this statement alone or, if its sentence can be
        read in several ways, one statement for each reading, with numbered names.

        Parameters
        ----------
        name : of the statement
        """
        specs = {}
        for reading_number, (label, wanted_spec) in enumerate(self.readings.items(), 1):
            changed_fields = {
                key: getattr(wanted_spec, key) for key in wanted_spec.model_fields_set
            }
            changed_fields |= {"part_of": self.part_of or name, "reading": label, "readings": {}}
            specs[f"{name}-{reading_number}"] = self.model_copy(update=changed_fields)
        return specs or {name: self}

    def compared_value_names(self, key: str) -> list[str]:
        """Return the names of the values whose sum a key such as ``above`` compares."""
        return (
            self.other
            if self.other and key in ("relative_to", "above", "below")
            else [self.value, *self.added]
        )

    @property
    def form(self) -> str:
        """The key that states what must hold, such as ``about``; ``from`` for a range with one or
        two ends.
        """
        has_range = self.first is not None or self.to is not None
        forms = [
            key for key in ("about", "above", "below", "greatest", "smallest") if getattr(self, key)
        ]
        return (
            forms[0]
            if len(forms) == 1 and not has_range
            else "from"
            if has_range and not forms
            else ""
        )

    def check_rules(self) -> None:
        """Raise if keys of the statement contradict one another, in any of its readings."""
        if len(self.readings) == 1:
            message = "one reading is what the statement says; write at least two, or none"
            raise broken_rule(message, "readings")
        for spec in self.read_as("statement").values():
            spec.check_one_reading()

    def check_one_reading(self) -> None:
        """Raise if keys of one reading contradict one another."""
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
        if wrong_text := next(
            (
                name
                for name in _TEXT_IN_BRACES.findall(self.missed + self.lacks)
                if not _CITATION.fullmatch(name)
            ),
            None,
        ):
            message = (
                f"{{{wrong_text}}} is not CASE VALUE, CASE VALUE %, CASE VALUE / VALUE or CASE"
                " VALUE /"
                " CASE VALUE"
            )
            raise broken_rule(message, self.key_of_citation(wrong_text))
        key = "greatest" if self.greatest else "smallest" if self.smallest else "of"
        if self.at_least is not None and self.at_least > (value_count := len(getattr(self, key))):
            raise broken_rule(
                f"at most {value_count}, as many as there are answers under {key}", "at_least"
            )


class UnpublishedInputSpec(Spec):
    """An input that the source does not print: its possible values, and the reason for them."""

    title: Note = Field(description="name of the input, in a few words")
    reason: Note = Field(description="why it has this range")
    path: Path = Field(description="path of the input")
    first: AnyNumber | None = Field(None, alias="from", description="smallest value")
    to: AnyNumber | None = Field(None, description="largest value")
    spacing: Literal["linear", "geometric"] = Field(
        "linear", description="whether draws are uniform or logarithmic over the range"
    )
    values: list[Any] = Field([], description="equally likely values in order, in place of a range")
    instead: dict[Note, list[Any]] = Field(
        {},
        description=(
            "files or parts that replace what stands at the path, one for each of values; values"
            " are then only names for the report"
        ),
    )
    cases: DistinctNames = Field(
        [], description="cases with this input; by default all cases that have such a quantity"
    )
    change: Name | None = Field(
        None,
        description=("name of a change of rank; the value is set only when this change is made"),
    )

    def check_rules(self) -> None:
        """Raise if the input has no values, or keys that contradict one another."""
        has_range = self.first is not None and self.to is not None
        if has_range == bool(self.values) or (self.first is None) != (self.to is None):
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
        """Raise if values have different units, such as a time and a size; names have no unit."""
        dimension_by_index: dict[int, Dimension] = {}
        for index, value in enumerate(self.values):
            with suppress(UnitError):
                dimension_by_index[index] = parse(str(value))[1]
        first_index = next(iter(dimension_by_index), 0)
        for index, dimension in dimension_by_index.items():
            if dimension != dimension_by_index[first_index]:
                message = f"{self.values[index]} has another unit than {self.values[first_index]}"
                raise broken_rule(message, "values", index)


class UnpublishedSpec(QuestionSpec):
    """Inputs that a source does not print. They are drawn at random within ranges, draws that
    contradict the source are dropped, and each statement is checked in all other draws.
    """

    draws: int = Field(
        256,
        description=(
            "number of draws; if there are no more combinations of values, each is taken once"
        ),
        ge=2,
        le=100_000,
    )
    seed: Seed = Field(0, description="key of the random streams; each input has its own stream")
    inputs: dict[Name, UnpublishedInputSpec] = Field(description="inputs by name", min_length=1)
    agree: DistinctNames = Field(
        [],
        description=(
            "statements that the source prints; draws in which one of them is false are dropped"
        ),
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the cases that the inputs name, each with its place in the spec."""
        for name, spec in self.inputs.items():
            yield from (
                (("inputs", name, "cases", index), case) for index, case in enumerate(spec.cases)
            )


class ComparisonPictureSpec(Drawn):
    """A picture of computed values against published ones."""

    question: ClassVar[str] = "compare"
    kind: Literal["comparison"] = Field(
        description=(
            "each computed value of compare against the published one, with the line of equality"
        )
    )


COMPARE = QuestionKey(
    list[TableSpec],
    Field([], description="published or measured tables with which answers are compared"),
    "slipstick_papers.compare:read",
    (ComparisonPictureSpec,),
    position=10,
)
STATEMENTS = QuestionKey(
    dict[Name, StatementSpec],
    Field({}, description="sentences of a source that are checked against the answers"),
    "slipstick_papers.statements:read",
    position=100,
)
UNPUBLISHED = QuestionKey(
    UnpublishedSpec | None,
    Field(
        None,
        description=(
            "inputs that a source does not print, and the effect of their ranges on statements"
        ),
    ),
    "slipstick_papers.unpublished:read",
    position=110,
)
