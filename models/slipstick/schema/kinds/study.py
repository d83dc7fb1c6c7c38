"""Study specs: a base, named differences, sweeps, questions and pictures.

Each question is a key of a study, a `QuestionKey` that a package registers in `QUESTIONS`:
`slipstick_questions` has those of what-if studies.
"""

from collections.abc import Iterator, Mapping
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, cast, get_args

from pydantic import Discriminator, Field, StringConstraints, Tag, create_model

from slipstick.expression.nodes import BYTES, COUNT, TIME
from slipstick.extensions import Registry
from slipstick.limits import LIMITS
from slipstick.schema.kinds.constraints import SPELT, Distinct, Name, Note, broken_rule
from slipstick.schema.kinds.quantity import INLINE_MACHINE, Described, Given, Quantity, Spec
from slipstick.schema.text import Listing, Node, Scalar, Table, node_at

Settings = Annotated[
    dict[Annotated[str, StringConstraints(max_length=256)], Any],
    Field(json_schema_extra={"properties": {"machine": dict(INLINE_MACHINE)}}),
]
"""Values by path; each is checked where it is used, like a written one."""

_COLUMN_PATTERN = r"^[a-z][a-z0-9_]*(\[[A-Za-z0-9_.:,% -]+\])?$"
SPELT[_COLUMN_PATTERN] = "write a value as answers name it, such as time or account[lock]"
Column = Annotated[str, StringConstraints(pattern=_COLUMN_PATTERN, max_length=128)]
"""A value as answers name it: ``time``, ``account[lock]``, ``step[send.protocol]``."""

Place = tuple[str | int, ...]
Fraction = Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=1.0)]
DistinctNames = Annotated[list[Name], Distinct]
DistinctNotes = Annotated[list[Note], Distinct]
DistinctColumns = Annotated[list[Column], Distinct]
Path = Annotated[str, StringConstraints(max_length=256)]
"""A dotted path."""


class QuestionSpec(Spec):
    """Base of the questions that a study asks about its cases."""

    names_answers: ClassVar[bool] = False
    """Whether the question may name answers that other questions add, such as measured runs."""
    replaces_values: ClassVar[bool] = False
    """Whether the question replaces values of its cases, which need no answer as given."""

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the cases that the question names, each with its place inside the question."""
        return _cases_of(self)

    def answers_of_columns(self) -> list[str]:
        """List the answers to which the columns of the question refer; each column must exist in at
        least one of them. Empty for all cases of the study.
        """
        return [case for _, case in self.named_cases()]


def _cases_of(spec: Spec) -> Iterator[tuple[Place, str]]:
    """Yield the cases that a question or picture lists, each with its place inside it."""
    yield from ((("cases", index), case) for index, case in enumerate(getattr(spec, "cases", ())))


def columns_in(spec: Spec) -> Iterator[tuple[Place, str]]:
    """Yield each text in a field of type `Column` with its place, nested parts included."""
    for name, field_info in type(spec).model_fields.items():
        value = getattr(spec, name)
        is_column = _has_columns(field_info.rebuild_annotation())
        yield from _columns_in_value(value, (field_info.alias or name,), is_column)


def _columns_in_value(value: Any, place: Place, is_column: bool) -> Iterator[tuple[Place, str]]:
    """Yield the columns in the value of a field with their places: the texts of the value if the
    field has the type `Column`, and the columns of nested parts.
    """
    if isinstance(value, Spec):
        yield from (((*place, *inner_place), text) for inner_place, text in columns_in(value))
    elif isinstance(value, str) and is_column:
        yield place, value
    elif isinstance(value, list | dict):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _columns_in_value(item, (*place, key), is_column)


def _has_columns(annotation: Any) -> bool:
    """Return whether the type of a field is `Column`, or contains it."""
    if getattr(annotation, "pattern", None) == _COLUMN_PATTERN:
        return True
    return any(map(_has_columns, [*get_args(annotation), *getattr(annotation, "__metadata__", ())]))


class AxisSpec(Spec):
    """A range of values. Exactly one of step, count and factor sets the distance between
    neighbours.
    """

    first: Any = Field(alias="from", description="first value, with its unit")
    to: Any = Field(description="last value, with its unit; included if a step reaches it")
    step: Any = Field(None, description="difference between neighbours, with its unit")
    factor: float | None = Field(
        None, description=("ratio of neighbours; a factor of 2 doubles each time"), gt=0
    )
    count: int | None = Field(None, description="number of values", ge=2, le=1_000_000)
    spacing: Literal["linear", "geometric"] = Field(
        "linear", description="whether count values have equal differences or equal ratios"
    )

    def check_rules(self) -> None:
        if sum(setting is not None for setting in (self.step, self.factor, self.count)) != 1:
            raise broken_rule("a range needs exactly one of step, factor and count")
        if self.factor == 1:
            raise broken_rule("a factor of 1 never reaches the end; write another")


RANGE = ("from", "to", "step", "factor", "count", "spacing")
"""The keys of a range."""


def axis_kind(value: Any) -> str | None:
    """Return the tag of an axis for pydantic: ``list`` for a list, ``range`` for a table, None for
    other values.
    """
    if isinstance(value, list):
        return "list"
    return "range" if isinstance(value, dict | AxisSpec) else None


AxisValues = Annotated[
    Annotated[list[Any], Tag("list")] | Annotated[AxisSpec, Tag("range")],
    Discriminator(
        axis_kind,
        custom_error_type="axis",
        custom_error_message=(
            "write a list of values, such as [1, 2], or a range, such as {from: 1, to: 9, step: 1}"
        ),
    ),
]

YEAR = "year"
"""The path that a study varies to project a machine along a trend."""

Cost = Annotated[Given, Quantity(COUNT)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
AnyNumber = Annotated[Given, Quantity(None, least=None)]


Processors = Annotated[int, Field(ge=1, le=100_000_000)]


def _vary_kind(value: Any) -> str | None:
    """Return the tag of a value under ``vary`` for pydantic: a named sweep, or the tag that
    `axis_kind` returns. A range has none of the keys of a sweep.
    """
    if isinstance(value, dict) and not any(key in value for key in RANGE):
        return "sweep"
    return "sweep" if isinstance(value, SweepSpec) else axis_kind(value)


class SweepSpec(Spec):
    """Values that are varied together."""

    hints: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("path", "parameter", "of", "values"),
        "write axes, such as axes: {population.processors: [2, 4, 8]}",
    )

    axes: dict[Annotated[str, StringConstraints(max_length=256)], AxisValues] = Field(
        description="values by path: a list, or a range", min_length=1
    )
    combine: Literal["grid", "zip"] = Field(
        "grid", description="whether to form all combinations, or to pair the values one by one"
    )
    cases: DistinctNames = Field(
        ["base"], description="names of the cases to start from", min_length=1
    )
    where: Note = Field(
        "", description="condition on paths; points that do not meet it are left out"
    )


Varied = Annotated[
    Annotated[SweepSpec, Tag("sweep")]
    | Annotated[list[Any], Tag("list")]
    | Annotated[AxisSpec, Tag("range")],
    Discriminator(
        _vary_kind,
        custom_error_type="axis",
        custom_error_message=(
            "write a sweep with axes, a list of values, or a range: from, to, and one of step, "
            "factor and count"
        ),
    ),
]


class Drawn(Spec):
    """Keys that every picture has; `question` is the key of the question that it draws, if any."""

    question: ClassVar[str] = ""
    names_answers: ClassVar[bool] = False
    name: Name = Field(description="name of the file")
    title: Note = Field("", description="heading of the picture; by default what it shows")
    text: Note = Field("", description="caption: what the picture shows")

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the cases that the picture names, each with its place inside the picture."""
        if case := getattr(self, "case", None):
            yield ("case",), case
        yield from _cases_of(self)


class BarsSpec(Drawn):
    """A picture with a stacked bar for each case."""

    names_answers: ClassVar[bool] = True
    kind: Literal["bars"] = Field(description="a stacked bar for each case")
    cases: DistinctNames = Field(
        description="a bar for each; measured runs are named NAME-PROCESSORS", min_length=1
    )
    stack: Annotated[
        Annotated[Literal["component", "technology"], Tag("labels")]
        | Annotated[dict[Note, list[Column]], Tag("sums")],
        Discriminator(lambda value: "sums" if isinstance(value, dict) else "labels"),
    ] = Field(
        description="parts of a bar: components, technology classes, or sums of values by label"
    )
    share: bool = Field(
        False, description=("whether bars show fractions of the whole instead of times")
    )
    times: float = Field(
        1.0,
        description="number by which values are multiplied, such as the visits of a whole run",
        gt=0,
    )
    along: Note = Field(
        "",
        description=(
            "path of a number that each of the cases sets; the picture then has areas over this"
            " number instead of bars"
        ),
    )


class LinesSpec(Drawn):
    """A picture with lines over one axis of a sweep."""

    kind: Literal["lines"] = Field(description="lines over an axis")
    sweep: Name = Field(description="name of the sweep")
    x: Note = Field(description="path of the horizontal axis")
    y: DistinctColumns = Field(description="values to draw, such as [time]", min_length=1)
    cases: DistinctNames = Field(
        [], description=("names of the cases; by default all cases of the sweep")
    )
    series: Note = Field(
        "",
        description=(
            "path of the axis with a line for each value; by default a line for each case"
        ),
    )
    log: Literal["none", "x", "y", "both"] = Field(
        "none",
        description=(
            "whether the axes are logarithmic; without the key, an axis whose numbers rise by a"
            " factor is, and so are values that differ by more than 100 times along it"
        ),
    )
    relative: bool = Field(
        False, description=("whether values are relative to the first point of each line")
    )
    against: Note = Field(
        "",
        description=(
            "path of an axis. The picture shows efficiencies: the answer at the first value of"
            " this axis, divided by each answer"
        ),
    )
    called: dict[str, Note] = Field({}, description="words for a value of y in the picture")

    def check_rules(self) -> None:
        if unknown_names := [name for name in self.called if name not in self.y]:
            raise broken_rule(
                f"called names {unknown_names[0]}, which is not drawn; write it in y", "called"
            )
        if self.relative and self.against:
            raise broken_rule(
                "draw relative to the first point of a line, or against an axis; not both",
                "against",
            )


class MapSpec(Drawn):
    """A map over two axes of a sweep."""

    kind: Literal["map"] = Field(description="a map over two axes")
    sweep: Name = Field(description="name of the sweep")
    x: Note = Field(description="path of the horizontal axis")
    y: Note = Field(description="path of the vertical axis")
    value: Column = Field(
        description="value shown by the shade; limit[pipeline] shows which stage limits the rate"
    )
    case: Name = Field("base", description="name of the case")


class TimelineSpec(Drawn):
    """A picture of what each processor does over time, at the beginning of a simulation."""

    kind: Literal["timeline"] = Field(
        description="the beginning of a simulation, with a row for each processor"
    )
    case: Name = Field("base", description="name of the case")
    cycles: int = Field(
        3, description="mean number of cycles of each processor in the picture", ge=1, le=1000
    )
    show: Literal["run", "steps", "phase"] = Field(
        "run",
        description=(
            "the whole run; or the steps of one processor by name, with a row for each processor"
            " and resource involved; or the sums of each processor up to the first barrier"
        ),
    )


PictureSpec = Annotated[BarsSpec | LinesSpec | MapSpec | TimelineSpec, Field(discriminator="kind")]
_PICTURE_SPECS: tuple[type[Drawn], ...] = get_args(get_args(PictureSpec)[0])


class QuestionKey(NamedTuple):
    """The key of a question in a study.

    Parameters
    ----------
    takes : type of what is written there
    field : its default and description
    answered_by : where its ``read`` is defined, ``module:NAME``
    pictures : specs of the pictures that draw its answer
    position : questions are read and shown in the order of their positions
    """

    takes: Any
    field: Any
    answered_by: str
    pictures: tuple[type[Drawn], ...] = ()
    position: int = 0


QUESTIONS: Registry[QuestionKey] = Registry("slipstick.questions")
"""The keys of all questions."""


class _PointLimits(Spec):
    """Limits for a single point. A point beyond a limit has no answer; the other points are not
    affected.
    """

    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(
        None, description="elapsed time"
    )
    memory: Annotated[Given, Quantity(BYTES, least=1e6)] | None = Field(
        None, description="memory, in addition to what the process already uses"
    )

    @property
    def costs(self) -> dict[str, float]:
        """The limits that a study states for a point, by their names in `slipstick.limits`."""
        return {name: value for name in LIMITS if (value := getattr(self, name)) is not None}


if TYPE_CHECKING:

    class LimitsSpec(_PointLimits):
        """Limits of time, of memory and of costs that are estimated."""

else:
    # Every limit of `slipstick.limits` is a key, so that a new one is no change here.
    LimitsSpec = create_model(
        "LimitsSpec",
        __base__=_PointLimits,
        __doc__=_PointLimits.__doc__,
        **{
            name: (
                float | None,
                Field(None, description=f"{limit.counts}; {limit.value:,.0f} by default", gt=0),
            )
            for name, limit in LIMITS.items()
        },
    )


class EngineSpec(Spec):
    """Where points are solved. Options of the command line take precedence, and only they can name
    a cluster.
    """

    on: Literal["threads", "processes"] | None = Field(
        None, description="threads of one process, or a process for each job"
    )
    jobs: int = Field(1, description="number of points solved at the same time", ge=1, le=256)


class StudySpec(Described):
    """A study: a base, cases that differ from it, sweeps and questions."""

    added: ClassVar[frozenset[str] | None] = frozenset()
    """The questions of other packages that the class has; None: all of them."""

    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("sweep", "sweeps", "range", "ranges"), "write vary"),
        **dict.fromkeys(("scenarios", "variants", "changes", "compare_with"), "write cases"),
        **dict.fromkeys(("output", "outputs", "values"), "write answer"),
        **dict.fromkeys(("optimize", "minimize"), "write choose"),
        "base": "write base: {model: NAME}",
        "cases": "write cases: {NAME: {PATH: VALUE}}",
        "called": "write called: {VALUE: WORDS}",
        **{key: f"write base: {{{key}: NAME}}" for key in ("model", "machine", "workload")},
        "questions": "write each question beside base, such as seek",
    }

    study: Literal[1] = Field(description="version of this format")
    text: Note = Field("", description="introduction for the head of the report")
    base: Settings = Field({}, description="model, machine, workload, and values by path")
    cases: dict[Name, Settings] = Field(
        {},
        description=(
            "cases that differ from the base, by name; use: [names] starts from other cases"
        ),
    )
    vary: dict[Annotated[str, StringConstraints(max_length=256)], Varied] = Field(
        {}, description="sweeps by name, or values by path that are varied together"
    )
    answer: DistinctColumns = Field(
        ["time"],
        description=(
            "values in results.csv; by default the time, or the first value of a model without a"
            " time"
        ),
        min_length=1,
    )
    called: dict[Annotated[str, StringConstraints(max_length=256)], Note] = Field(
        {}, description="what the report calls values of answer, by name"
    )
    pictures: list[PictureSpec] = Field([], description="pictures of the report")
    limits: LimitsSpec = Field(
        LimitsSpec(), description=("limits for a single point, such as its time or memory")
    )
    engine: EngineSpec = Field(
        EngineSpec(), description="where points are solved; this does not change the results"
    )

    def check_rules(self) -> None:
        if "base" in self.cases:
            message = "a difference cannot be called base; that is what it differs from"
            raise broken_rule(message, "cases", "base")
        for name in self.called:
            if name not in self.answer:
                message = f"answer has no {name}; write a value of answer, or add it there"
                raise broken_rule(message, "called", name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to pickle the object: by its questions, from which its class is built
        again.
        """
        return _empty_study, (type(self).added,), self.__getstate__()

    @property
    def questions(self) -> dict[str, Any]:
        """The questions that the study asks, by key."""
        keys = (name for name in type(self).model_fields if name not in StudySpec.model_fields)
        return {name: question for name in keys if (question := getattr(self, name))}


def study_model(tree: Node | None = None) -> type[StudySpec]:
    """Return the pydantic model that checks a study.

    Of other packages, whose specs take longer to import, it has the questions that the tree asks,
    and their pictures; all of them if there is a key or a kind of picture that is unknown, and
    without a tree.
    """
    keys = [*tree.entries] if isinstance(tree, Table) else None
    if keys is None:
        return _study_class_with(None)
    added_question_names = [
        name for name in keys if name not in StudySpec.model_fields and name not in QUESTIONS.own
    ]
    picture_list = node_at(tree, ["pictures"]) if tree is not None else None
    picture_kinds = {
        kind_node.value if isinstance((kind_node := node_at(picture, ["kind"])), Scalar) else None
        for picture in (picture_list.items if isinstance(picture_list, Listing) else ())
    }
    # An unknown key needs all questions, to suggest the one that was meant.
    if not all(name in QUESTIONS.definitions for name in added_question_names):
        return _study_class_with(None)
    known_kinds = {
        picture_kind
        for picture in (
            *_PICTURE_SPECS,
            *(
                question_picture
                for name in added_question_names
                for question_picture in QUESTIONS[name].pictures
            ),
        )
        for picture_kind in get_args(picture.model_fields["kind"].annotation)
    }
    return _study_class_with(
        frozenset(added_question_names) if picture_kinds <= known_kinds else None
    )


@cache
def _study_class_with(added_question_names: frozenset[str] | None) -> type[StudySpec]:
    """Build the pydantic model of a study with some questions of other packages; None means all of
    them.
    """
    question_names = [
        *(QUESTIONS.definitions if added_question_names is None else added_question_names),
        *QUESTIONS.own,
    ]
    questions = sorted(
        ((name, QUESTIONS[name]) for name in question_names), key=lambda item: item[1].position
    )
    field_by_name: dict[str, Any] = {
        name: (question.takes, question.field) for name, question in questions
    }
    if pictures := [
        question_picture for _, question in questions for question_picture in question.pictures
    ]:
        # By name, so that the order in which packages were loaded does not show in messages.
        picture_classes = sorted((*_PICTURE_SPECS, *pictures), key=lambda picture: picture.__name__)
        picture_kind: Any = Annotated[reduce(or_, picture_classes), Field(discriminator="kind")]
        field_by_name["pictures"] = (list[picture_kind], StudySpec.model_fields["pictures"])
    study_class = create_model(
        "StudySpec", __base__=StudySpec, __doc__=StudySpec.__doc__, **field_by_name
    )
    study_class_with_questions = cast("type[StudySpec]", study_class)
    study_class_with_questions.added = added_question_names
    return study_class_with_questions


def _empty_study(added: frozenset[str] | None) -> StudySpec:
    """Return an empty study of the class with some questions, which pickle fills."""
    study_class = _study_class_with(added)
    return study_class.__new__(study_class)
