"""What a kind of step says of itself, once for all methods.

Each kind is a class. Without a default, because a default would guess, it states

- `made_of`: the fields that hold activities and numbers, from which its `children` follow;
- `executions`: the mean number of executions of each child in one of its own, or `BY_STATE`;
- `variation`: a number above 0 where its own time, or the number of executions of a child, varies;
- `combination`: how its children follow each other, and so how many can be under way at once;
- `use`: what it does with the resource that it names: which of them it holds, takes or gives back.

Each of its fields is one of these, or is said to be `plain`, known to every method that has a rule
for the kind, or `special`: then its kind has a construct wherever the field has not its default, and
a method that does not know that construct refuses the model. So a field that is added later cannot
be passed over.

Time is that of the steps inside it, and of the use of a resource; a leaf that takes time of its own
is a `slipstick.model.activity.Step`. A class that leaves one of these out cannot be defined. Methods read these facts through the package
`slipstick.structure`, and ask for the kind itself only where a rule is their own, such as the
instructions of a simulation. A method without a rule for a kind raises `NoAnswerError`, so that the
next method is asked.

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
from dataclasses import MISSING, Field, dataclass, fields, replace
from enum import Enum
from inspect import get_annotations
from types import MappingProxyType, MemberDescriptorType
from typing import Any, ClassVar, Final, NamedTuple, Self

from slipstick.arguments import Kind, instance
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr, Number, Parameter, floor, maximum


class Combination(Enum):
    """The way in which the children of a step follow each other."""

    IN_TURN = "one after the other, or one of them: at most one child is under way"
    LONGEST = "all at once: all executions of all children are under way, and the last ends it"
    ITEMS = "items that pass through stages, at most one execution of a child by item"


class NumberRange(NamedTuple):
    """A number of a part of a model, with the values that it may have.

    Parameters
    ----------
    words : what messages call it
    quantity : the number
    least, most : the smallest and the largest value [of the quantity]
    whole : only whole numbers
    above : the smallest value itself is not allowed
    """

    words: str
    quantity: Expr
    least: float = 0.0
    most: float = math.inf
    whole: bool = False
    above: bool = False


class ByState(Enum):
    """The type of `BY_STATE`."""

    BY_STATE = "depends on the state of the system"


BY_STATE: Final = ByState.BY_STATE
"""In the place of executions whose mean depends on the state, so that only methods with states
know it: the longest of several queues, say."""

ONCE: Final = Number(1.0)
"""Executions of a child that is executed exactly once [1]."""

NEVER, ALWAYS = Number(0.0), Number(1.0)
"""Variation of what is constant, and of what varies at all values [1]."""

NOTHING, SERVED, HELD, MET, ASKED, TAKEN, GIVEN = (
    "",
    "service",
    "hold",
    "barrier",
    "ask",
    "wait",
    "signal",
)
"""What a step does with a resource: nothing; it is served there for its time; it holds the resource
while its children are executed; it waits there for the others; it executes tasks of a pool with all
others; it takes a unit of a counter, and waits for one; it gives a unit, and never waits."""

_STATED = ("made_of", "executions", "variation", "combination", "use")

_ROUNDING = 1e-9
"""Fraction of a count, relative to it, up to which it is rounding of arithmetic."""


def fraction(count: Expr) -> Expr:
    """Return a number above 0 where a count is not whole, so that it is random: the fraction is
    the probability of one more [1].

    >>> fraction(Number(2.5)).value > 0, fraction(Number(3.0)).value
    (True, 0.0)
    """
    slack = _ROUNDING * maximum(count, 1.0)
    return maximum(count + slack - floor(count + slack) - 2 * slack, NEVER)


def check_fields(kind: type[Any]) -> None:
    """Raise a TypeError for a field of a kind that is not known to every method, nor `special`.

    A field without a default may be one of `made_of`, or the name of a resource (`named`).
    """
    stated = {*kind.plain, *kind.special}
    needed = {*stated, *getattr(kind, "made_of", ()), getattr(kind, "named", "")}
    for name, annotation in get_annotations(kind).items():
        default = vars(kind).get(name, MISSING)
        if isinstance(default, Field):
            default = default.default
        optional = default is not MISSING and not isinstance(default, MemberDescriptorType)
        constant = str(annotation).startswith("ClassVar")
        if not constant and name not in (stated if optional else needed):
            raise TypeError(
                f"{kind.__name__} does not say whether its field {name} is plain, known to every"
                f" method with a rule for it, or special; see {__name__}"
            )


def special_values(part: Any) -> tuple[tuple[str, object], ...]:
    """Return the fields that a method must know and that differ from their defaults, each with its
    value.
    """
    defaults = part.__dataclass_fields__
    values = [(name, getattr(part, name)) for name in part.special]
    return tuple((name, value) for name, value in values if value != defaults[name].default)


def constructs_of(part: Any) -> frozenset[str]:
    """Return the constructs of a part, by its special fields that differ from their defaults."""
    if not part.special:
        return _NONE
    return frozenset(part.special[name] for name, _ in special_values(part))


_NONE: frozenset[str] = frozenset()
_NO_FIELDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, repr=False)
class ModelPart:
    """A part of a model: an activity, a resource or a population, with the activities and numbers
    in it.

    Attributes
    ----------
    made_of : the fields that hold activities, numbers, or parts with some, in the order written
    plain : fields that every method with a rule for the kind knows, or that only name
    special : by field, the construct that it is where it has not its default, one of
        `slipstick.vocabulary.CONSTRUCTS`
    """

    made_of: ClassVar[tuple[str, ...]] = ()
    plain: ClassVar[tuple[str, ...]] = ()
    special: ClassVar[Mapping[str, str]] = _NO_FIELDS

    def __init_subclass__(cls, **arguments: Any) -> None:
        # Not `super()`: a dataclass with slots is made anew, and that is another class.
        check_fields(cls)

    @property
    def constructs(self) -> frozenset[str]:
        """The constructs of the part, which a method must declare to know."""
        return constructs_of(self)

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        arguments = (f"{field.name}={value!r}" for field, value in values if value != field.default)
        return f"{type(self).__name__}({', '.join(arguments)})"

    @property
    def children(self) -> tuple[Activity, ...]:
        """The activities directly inside it, in the order written."""
        return tuple(self._collect(Activity, [])) if self.made_of else ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The numbers of the part itself, without those of its children."""
        return tuple(self._collect(Expr, []))

    def rebuilt(self, children: Iterable[Activity]) -> Self:
        """Return a copy with other children, as many and in the same order as `children`."""
        if not children:
            return self
        new = iter(children)
        return replace(self, **{name: _with(getattr(self, name), new) for name in self.made_of})

    def _collect(self, kind: type[Any], collected: list[Any]) -> list[Any]:
        for name in self.made_of:
            _add_parts(getattr(self, name), kind, collected)
        return collected


def _add_parts(value: object, kind: type[Any], collected: list[Any]) -> None:
    if isinstance(value, kind):
        collected.append(value)
    elif isinstance(value, tuple):
        for member in value:
            _add_parts(member, kind, collected)
    elif isinstance(value, ModelPart) and not isinstance(value, Activity):
        value._collect(kind, collected)


def _with(value: Any, children: Iterator[Activity]) -> Any:
    """Return a copy of a value in which the activities are replaced by others, in order."""
    if isinstance(value, Activity):
        return next(children)
    if isinstance(value, tuple):
        return tuple(_with(member, children) for member in value)
    return value.rebuilt(children) if isinstance(value, ModelPart) else value


class Activity(ModelPart):
    """The work of one processor; ``a >> b`` is a, then b.

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
        bases = cls.__mro__[: cls.__mro__.index(Activity)]
        missing = [name for name in _STATED if not any(name in vars(base) for base in bases)]
        if missing:
            raise TypeError(
                f"the kind of step {cls.__name__} does not say its {', '.join(missing)}; see"
                f" {__name__}"
            )

    def __rshift__(self, other: Activity) -> Activity:
        from slipstick.model.activity import then

        return then(self, other)

    @property
    @abstractmethod
    def executions(self) -> tuple[Expr | ByState, ...]:
        """Mean number of executions of each child in one of its own, in the order of `children`;
        `BY_STATE` where it depends on the state [1].
        """

    @property
    @abstractmethod
    def variation(self) -> Expr:
        """A number above 0 where its own time, or the number of executions of a child, varies even
        if all times of its children are constant [1].
        """

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        """The numbers of its own, each with the values that it may have: at least 0, where the
        kind does not say more.
        """
        return tuple(
            NumberRange(f"a number of a {self.kind}", number) for number in self.expressions
        )

    @property
    def odds(self) -> tuple[Expr, ...]:
        """Probabilities of its children, of which it executes exactly one; they add up to 1 [1]."""
        return ()

    @property
    def weighted(self) -> tuple[tuple[Expr, Activity], ...]:
        """Its children, each with its mean number of executions.

        Raises
        ------
        NoAnswerError : the number depends on the state
        """
        numbers = [number for number in self.executions if not isinstance(number, ByState)]
        if len(numbers) < len(self.executions):
            raise NoAnswerError(
                f"how often steps of the kind {self.kind} execute their parts depends on the state of the"
                " system, which only markov-chain and simulation follow"
            )
        return tuple(zip(numbers, self.children, strict=True))

    @property
    def beside(self) -> tuple[Activity, ...]:
        """The children that are executed while the processor goes on, at the end of the others."""
        return ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The resource that it names itself, without those of its children."""
        name = getattr(self, self.named) if self.named else None
        return () if name is None else (name,)

    @property
    def counter(self) -> str:
        """The counter that it takes a unit of, or gives one to; empty for what does neither."""
        return ""

    @property
    def parties(self) -> int | None:
        """How many processors meet at it; None where it is the whole population, or it is no
        meeting.
        """
        return None

    @property
    def held(self) -> tuple[str, ...]:
        """The resources that it holds while its children are executed."""
        return self.uses if self.use == HELD else ()

    @property
    def mode(self) -> str:
        """How it holds a reader-writer lock; empty for what holds none."""
        return ""

    @property
    def kind(self) -> str:
        """The name of its kind for messages."""
        return self.word or type(self).__name__.lower()

    def __repr__(self) -> str:
        return f"{self.word}({', '.join(arguments_of(self))})"


def once(children: tuple[Activity, ...]) -> tuple[Expr, ...]:
    """Return the executions of children of which each is executed exactly once."""
    return (ONCE,) * len(children)


def no_rule(method: str, node: Activity) -> NoAnswerError:
    """Return the error of a method that has no rule for a kind of step."""
    return NoAnswerError(
        f"{method} has no rule for steps of the kind {node.kind}; ask for another method"
    )


def arguments_of(part: ModelPart) -> Iterator[str]:
    """Yield the fields as arguments, as a user would write them, without those that have their
    defaults.
    """
    for field in fields(part):
        value = getattr(part, field.name)
        if field.default is MISSING:
            yield from map(shown, value) if isinstance(value, tuple) else (shown(value),)
        elif value != field.default:
            yield f"{field.name}={shown(value)}"


def shown(value: object) -> str:
    """Show a parameter that has a value as the number a user would write."""
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
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
        stack.extend(reversed(node.children))


def each_once(activities: Iterable[Activity]) -> Iterator[Activity]:
    """Yield every activity of several trees, a part that they share only once, in the order
    written.
    """
    seen: set[int] = set()
    stack = list(activities)[::-1]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(reversed(node.children))


def side_by_side(activities: Iterable[Activity]) -> list[Activity]:
    """List the nodes whose children, or the items that pass through them, are under way at
    once, each once.
    """
    return [node for node in each_once(activities) if is_parallel(node)]


def is_parallel(node: Activity) -> bool:
    """Return whether children of a node, or items that pass through them, are under way at
    once.
    """
    return node.combination is not Combination.IN_TURN


def requested(node: Activity) -> str | None:
    """Return the resource that a node waits for until it is served there, or holds it; None without
    one.
    """
    return next(iter(node.uses), None) if node.use in (SERVED, HELD) else None


ACTIVITY: Kind = instance(Activity, "an activity, such as delay(1.0)")
"""The kind of an argument that is one."""
