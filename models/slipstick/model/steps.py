"""The protocol of kinds of steps: what each kind states once for all methods.

Each kind is a class. Without a default, because a default would guess, it states

- `made_of`: the fields that hold activities and numbers, from which its `children` follow;
- `executions`: the mean number of executions of each child in one of its own, or `BY_STATE`;
- `variation`: a number above 0 where its own time, or the number of executions of a child, varies;
- `combination`: how its children follow each other, and so how many can be under way at once;
- `use`: what it does with the resource that it names: which of them it holds, takes or gives back.

Each of its fields is one of these, or is said to be `plain`, known to every method that has a rule
for the kind, or `special`: then its kind has a construct wherever the field has not its default,
and a method that does not know that construct refuses the model. So a field that is added later
cannot be passed over.

Time is that of the steps inside it, and of the use of a resource; a leaf that takes time of its own
is a `slipstick.model.activity.Step`. A class that leaves one of these out cannot be defined.
Methods read these facts through the package `slipstick.structure`, and ask for the kind itself only
where a rule is their own, such as the instructions of a simulation. A method without a rule for a
kind raises `NoAnswerError`, so that the next method is asked.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Pause(Activity):
...     made_of, use, combination = (), NOTHING, Combination.IN_TURN
Traceback (most recent call last):
    ...
TypeError: the kind of step Pause does not say its executions, variation; see slipstick.model.steps
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, replace
from enum import Enum
from inspect import get_annotations
from types import MappingProxyType, MemberDescriptorType
from typing import Any, ClassVar, Final, NamedTuple, Self

from slipstick.arguments import Kind, instance_of
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr, Number, Parameter, floor, maximum
from slipstick.late import dataclass


class Combination(Enum):
    """How the children of a step follow each other."""

    IN_TURN = "one after the other, or one of them: at most one child is under way"
    LONGEST = "all at once: all executions of all children are under way, and the last ends it"
    ITEMS = "items that pass through stages, at most one execution of a child by item"


class NumberRange(NamedTuple):
    """A number of a part of a model, with the range of values that it may have.

    Parameters
    ----------
    name_in_words : what messages call it
    quantity : the number
    least, most : the smallest and the largest value [of the quantity]
    is_whole : only whole numbers
    excludes_least : the smallest value itself is not allowed
    """

    name_in_words: str
    quantity: Expr
    least: float = 0.0
    most: float = math.inf
    is_whole: bool = False
    excludes_least: bool = False


class ByState(Enum):
    """The type of `BY_STATE`."""

    BY_STATE = "depends on the state of the system"


BY_STATE: Final = ByState.BY_STATE
"""The number of executions of a child whose mean depends on the state of the system, such as on the
longest of several queues. Only methods that follow the state know it.
"""

ONCE: Final = Number(1.0)
"""Executions of a child that is executed exactly once [1]."""

NEVER, ALWAYS = Number(0.0), Number(1.0)
"""The variation of a time or a number that is constant, and of one that always varies [1]."""

NOTHING, SERVED, HELD, MET, ASKED, TAKEN, GIVEN, GUARDED = (
    "",
    "service",
    "hold",
    "barrier",
    "ask",
    "wait",
    "signal",
    "attempt",
)
"""What a step does with a resource: nothing; it is served there for its time; it holds the resource
while its children are executed; it waits there for other processors; it executes tasks of a pool
with all others; it takes a unit of a counter, and waits for one; it adds a unit, and never waits; a
circuit breaker admits or refuses it.
"""

_REQUIRED_NAMES = ("made_of", "executions", "variation", "combination", "use")

ROUNDING = 1e-9
"""The largest difference of a count from a whole number, relative to the count, that is due to
rounding [1].
"""


def fractional_part(count: Expr) -> Expr:
    """Return the part of a count above the whole number below it; 0 if the count is whole up to
    rounding. A count that is not whole is random, and the part is the probability of one more
    execution [1].

    >>> fractional_part(Number(2.5)).value > 0, fractional_part(Number(3.0)).value
    (True, 0.0)
    """
    # Within the slack on either side a count is whole: arithmetic makes 2.9999999 of 3.
    slack = ROUNDING * maximum(count, 1.0)
    return maximum(count + slack - floor(count + slack) - 2 * slack, NEVER)


def check_fields(part_class: type[Any]) -> None:
    """Raise a TypeError if a class has a field that it declares neither as plain, which every
    method knows, nor as special.

    A field without a default may be one of `made_of`, or the name of a resource (`named`).
    """
    declared_fields = {*part_class.plain, *part_class.special}
    all_fields = {
        *declared_fields,
        *getattr(part_class, "made_of", ()),
        getattr(part_class, "named", ""),
    }
    for name, annotation in get_annotations(part_class).items():
        default = vars(part_class).get(name, MISSING)
        if isinstance(default, Field):
            default = default.default
        # With slots a class has descriptors in the place of missing defaults.
        has_default = default is not MISSING and not isinstance(default, MemberDescriptorType)
        is_class_variable = str(annotation).startswith("ClassVar")
        if not is_class_variable and name not in (declared_fields if has_default else all_fields):
            raise TypeError(
                f"{part_class.__name__} does not say whether its field {name} is plain, known to"
                " every"
                f" method with a rule for it, or special; see {__name__}"
            )


def non_default_fields(model_part: Any) -> tuple[tuple[str, object], ...]:
    """Return the special fields of a part whose values differ from their defaults."""
    defaults = model_part.__dataclass_fields__
    values = [(name, getattr(model_part, name)) for name in model_part.special]
    return tuple((name, value) for name, value in values if value != defaults[name].default)


def constructs_of(model_part: Any) -> frozenset[str]:
    """Return the constructs of a part of a model: the features, such as ranks or weights, that a
    method must declare to know. A part has the construct of each special field that differs from
    its default.
    """
    if not model_part.special:
        return _NO_CONSTRUCTS
    return frozenset(model_part.special[name] for name, _ in non_default_fields(model_part))


_NO_CONSTRUCTS: frozenset[str] = frozenset()
_NO_FIELDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, repr=False)
class ModelPart:
    """A part of a model: an activity, a resource or a population, with the activities and numbers
    in it.

    Attributes
    ----------
    made_of : the fields that hold activities, numbers, or parts with some, in the order written
    plain : fields that every method with a rule for the kind knows, or that only name
    special : by field, the construct that a part has if the value of the field differs from its
        default, one of `slipstick.vocabulary.CONSTRUCTS`
    """

    made_of: ClassVar[tuple[str, ...]] = ()
    plain: ClassVar[tuple[str, ...]] = ()
    special: ClassVar[Mapping[str, str]] = _NO_FIELDS

    def __init_subclass__(cls, **arguments: Any) -> None:
        # Not `super()`: a dataclass with slots is made anew, and that is another class.
        check_fields(cls)

    @property
    def constructs(self) -> frozenset[str]:
        """The constructs of the part; a method that does not know one of them refuses the model."""
        return constructs_of(self)

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        arguments = (f"{field.name}={value!r}" for field, value in values if value != field.default)
        return f"{type(self).__name__}({', '.join(arguments)})"

    @property
    def children(self) -> tuple[Activity, ...]:
        """The activities directly inside the part, in the order written."""
        return tuple(self._append_members(Activity, [])) if self.made_of else ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The numbers of the part itself, without the numbers of its children."""
        return tuple(self._append_members(Expr, []))

    def rebuilt(self, children: Iterable[Activity]) -> Self:
        """Return a copy in which other activities replace the children, one by one in their
        order.
        """
        if not children:
            return self
        new_children = iter(children)
        return replace(
            self,
            **{name: _with_children(getattr(self, name), new_children) for name in self.made_of},
        )

    def _append_members(self, member_type: type[Any], members: list[Any]) -> list[Any]:
        """Append the members of a type in all fields of the part to a list, and return the list."""
        for name in self.made_of:
            _collect_members(getattr(self, name), member_type, members)
        return members


def _collect_members(field_value: object, member_type: type[Any], members: list[Any]) -> None:
    """Append the members of a type in a field's value to a list, in the order written."""
    if isinstance(field_value, member_type):
        members.append(field_value)
    elif isinstance(field_value, tuple):
        for member in field_value:
            _collect_members(member, member_type, members)
    elif isinstance(field_value, ModelPart) and not isinstance(field_value, Activity):
        field_value._append_members(member_type, members)


def _with_children(field_value: Any, children: Iterator[Activity]) -> Any:
    """Return a copy of a field's value with each activity replaced by the next of `children`."""
    if isinstance(field_value, Activity):
        return next(children)
    if isinstance(field_value, tuple):
        return tuple(_with_children(member, children) for member in field_value)
    return field_value.rebuilt(children) if isinstance(field_value, ModelPart) else field_value


class Activity(ModelPart):
    """The work of one processor; ``a >> b`` executes a, then b.

    Attributes
    ----------
    word : what it is called in Python and in messages
    combination : how its children follow each other
    use : what it does with the resource that it names
    named : the field that names the resource
    """

    __slots__ = ()

    word: ClassVar[str] = ""
    combination: ClassVar[Combination]
    use: ClassVar[str]
    named: ClassVar[str] = ""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        # The abstract properties of `Activity` are no statement of the kind itself.
        bases = cls.__mro__[: cls.__mro__.index(Activity)]
        missing_names = [
            name for name in _REQUIRED_NAMES if not any(name in vars(base) for base in bases)
        ]
        if missing_names:
            raise TypeError(
                f"the kind of step {cls.__name__} does not say its {', '.join(missing_names)}; see"
                f" {__name__}"
            )

    def __rshift__(self, other: Activity) -> Activity:
        from slipstick.model.activity import then

        return then(self, other)

    @property
    @abstractmethod
    def executions(self) -> tuple[Expr | ByState, ...]:
        """The mean number of executions of each child in one execution of the step, in the order of
        `children`; `BY_STATE` where it depends on the state [1].
        """

    @property
    @abstractmethod
    def variation(self) -> Expr:
        """A number that is above 0 if the step's own time or the number of executions of a child
        varies, even where the times of its children are constant [1].
        """

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        """The step's own numbers, each with the values that it may have; at least 0 unless the kind
        states more.
        """
        return tuple(
            NumberRange(f"a number of a {self.kind}", number) for number in self.expressions
        )

    @property
    def sequence(self) -> tuple[Activity, ...]:
        """The activities that the step executes in turn, each once; the step itself if it is no
        sequence.
        """
        return (self,)

    @property
    def first_resource(self) -> str:
        """The resource at which the step begins; empty if it begins without one."""
        return requested_resource(self) or ""

    @property
    def probabilities(self) -> tuple[Expr, ...]:
        """The probabilities of the children, of which exactly one is executed; empty for other
        kinds of steps [1].
        """
        return ()

    @property
    def weighted_children(self) -> tuple[tuple[Expr, Activity], ...]:
        """The children, each with its mean number of executions.

        Raises
        ------
        NoAnswerError : the number depends on the state
        """
        known_executions = [number for number in self.executions if not isinstance(number, ByState)]
        if len(known_executions) < len(self.executions):
            raise NoAnswerError(
                f"how often steps of the kind {self.kind} execute their parts depends on the state"
                " of the system, which only markov-chain and simulation follow"
            )
        return tuple(zip(known_executions, self.children, strict=True))

    @property
    def children_with_least_executions(self) -> tuple[tuple[Expr, Activity], ...]:
        """The children, each with a lower bound on its mean number of executions: 0 where that
        depends on the state.
        """
        lower_bounds = (
            Number(0.0) if isinstance(number, ByState) else number for number in self.executions
        )
        return tuple(zip(lower_bounds, self.children, strict=True))

    @property
    def unawaited_children(self) -> tuple[Activity, ...]:
        """The children that may be executed while the processor continues after the step."""
        return ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The names of the resources that the step itself uses, without the resources of its
        children.
        """
        name = getattr(self, self.named) if self.named else None
        return () if name is None else (name,)

    @property
    def counter(self) -> str:
        """The counter of which the step takes or gives a unit; empty for other kinds of steps."""
        return ""

    @property
    def parties(self) -> int | None:
        """The number of processors that meet at the step; None for the whole population, and for
        other kinds of steps.
        """
        return None

    @property
    def held(self) -> tuple[str, ...]:
        """The resources that are held while the children are executed."""
        return self.uses if self.use == HELD else ()

    @property
    def mode(self) -> str:
        """The mode in which a reader-writer lock is held; empty for other kinds of steps."""
        return ""

    @property
    def kind(self) -> str:
        """The name of the kind of step in messages."""
        return self.word or type(self).__name__.lower()

    def __repr__(self) -> str:
        return f"{self.word}({', '.join(argument_texts(self))})"


def single_executions(children: tuple[Activity, ...]) -> tuple[Expr, ...]:
    """Return the numbers of executions of children that are each executed exactly once [1]."""
    return (ONCE,) * len(children)


def no_rule_error(method: str, node: Activity) -> NoAnswerError:
    """Return the error with which a method refuses a kind of step."""
    return NoAnswerError(
        f"{method} has no rule for steps of the kind {node.kind}; ask for another method"
    )


def argument_texts(model_part: ModelPart) -> Iterator[str]:
    """Yield the fields of a part as Python arguments, without those that have their defaults."""
    for field in fields(model_part):
        value = getattr(model_part, field.name)
        if field.default is MISSING:
            yield from (
                map(python_text, value) if isinstance(value, tuple) else (python_text(value),)
            )
        elif value != field.default:
            yield f"{field.name}={python_text(value)}"


def python_text(value: object) -> str:
    """Return a value as a user would write it in Python: of a named parameter that has a value, its
    number.
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(python_text, value))})"
    has_plain_name = (
        isinstance(value, Parameter) and value.value is not None and "." not in value.name
    )
    return repr(value.value if isinstance(value, Parameter) and has_plain_name else value)


def steps(activity: Activity) -> Iterator[Activity]:
    """Yield every activity of a tree, the outer before the inner, in the order written."""
    stack = [activity]
    while stack:
        node = stack.pop()
        yield node
        # Reversed, because the last one on the stack comes first.
        stack.extend(reversed(node.children))


def distinct_activities(activities: Iterable[Activity]) -> Iterator[Activity]:
    """Yield every activity of several trees in the order written; a part that the trees share comes
    once.
    """
    # By identity: trees share parts, and to compare them as equal would walk both.
    yielded_ids: set[int] = set()
    stack = list(activities)[::-1]
    while stack:
        node = stack.pop()
        if id(node) not in yielded_ids:
            yielded_ids.add(id(node))
            yield node
            stack.extend(reversed(node.children))


def list_parallel_nodes(activities: Iterable[Activity]) -> list[Activity]:
    """List the nodes, each once, whose children or items are under way at the same time."""
    return [node for node in distinct_activities(activities) if is_parallel(node)]


def is_parallel(node: Activity) -> bool:
    """Return whether the children of a node, or its items, are under way at the same time."""
    return node.combination is not Combination.IN_TURN


def requested_resource(node: Activity) -> str | None:
    """Return the resource at which a node queues, to be served or to hold the resource; None if it
    queues at none.
    """
    return next(iter(node.uses), None) if node.use in (SERVED, HELD) else None


ACTIVITY: Kind = instance_of(Activity, "an activity, such as delay(1.0)")
"""The kind of an argument that is an activity."""
