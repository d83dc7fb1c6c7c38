"""Data classes whose methods are compiled at their first use are those of `dataclasses`."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
import sys
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, InitVar, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.late import LateMethod
from slipstick.late import dataclass as late_dataclass

late: Any = late_dataclass
usual: Any = dataclasses.dataclass

MADE = ModuleType("made_for_test_late")
"""The module of the generated classes, in which pickles find them."""
sys.modules[MADE.__name__] = MADE
vars(MADE).update(InitVar=InitVar, ClassVar=ClassVar)

FIELD_KINDS: dict[str, Callable[[], Any]] = {
    "required": lambda: field(),
    "default": lambda: 3,
    "factory": lambda: field(default_factory=list),
    "not compared": lambda: field(default=4, compare=False),
    "not hashed": lambda: field(default=5, hash=False),
    "not shown": lambda: field(default=6, repr=False),
    "not given": lambda: field(default=7, init=False),
    "by name only": lambda: field(kw_only=True),
    "for the start": lambda: field(default=8),
}
OWN_METHODS: dict[str, Callable[..., Any]] = {
    "__repr__": lambda self: "shown by itself",
    "__eq__": lambda self, other: type(self) is type(other),
    "__hash__": lambda self: 11,
    "__post_init__": lambda self, *given: None,
    "__getstate__": lambda self: [9 for _ in dataclasses.fields(self)],
}

Layer = tuple[list[str], dict[str, bool], list[str]]


@st.composite
def layers(draw: st.DrawFn) -> list[Layer]:
    """Draw one class, or two of which the second is derived: kinds of fields, options, methods."""
    options = st.fixed_dictionaries(
        {}, optional={name: st.booleans() for name in ("slots", "eq", "repr", "kw_only")}
    )
    is_frozen = draw(st.booleans())
    kinds = list(FIELD_KINDS)
    return [
        (
            sorted(draw(st.lists(st.sampled_from(kinds), unique=True)), key=kinds.index),
            draw(options) | {"frozen": is_frozen, "kw_only": level > 0},
            draw(st.lists(st.sampled_from(list(OWN_METHODS)), unique=True, max_size=2)),
        )
        for level in range(draw(st.integers(1, 2)))
    ]


def make_class(decorator: Any, drawn: list[Layer]) -> Any:
    """Return the class of some layers, in its module."""
    made: Any = object
    for level, (kinds, options, methods) in enumerate(drawn):
        names = {kind: f"{kind.replace(' ', '_')}_{level}" for kind in kinds}
        types = {"for the start": "InitVar[int]"}
        content = {
            "__module__": MADE.__name__,
            "__qualname__": f"Made{level}",
            "__doc__": "A made class.",
            "__annotations__": {names[kind]: types.get(kind, "int") for kind in kinds}
            | {"shared": "ClassVar[int]"},
            "shared": 12,
        }
        content |= {names[kind]: FIELD_KINDS[kind]() for kind in kinds}
        content |= {name: OWN_METHODS[name] for name in methods}
        made = decorator(**options)(type(f"Made{level}", (made,), content))
        setattr(MADE, f"Made{level}", made)
    return made


def outcome(action: Callable[[], Any]) -> Any:
    """Return the result of an action, or the kind and the text of its error."""
    try:
        return action()
    except (TypeError, AttributeError, ValueError, pickle.PickleError) as error:
        return type(error), str(error)


def as_duplicated(duplicate: Callable[[Any], Any], value: Any) -> Any:
    """Return the fields of a duplicate."""
    return dataclasses.asdict(duplicate(value))


def behaviour(decorator: Any, drawn: list[Layer]) -> dict[str, Any]:
    """Return what is seen of a class and its objects, without the objects themselves."""
    made = make_class(decorator, drawn)
    parameters = inspect.signature(made).parameters
    required = {
        name: 1
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty and name not in ("args", "kwargs")
    }
    first, same = made(**required), made(**required)
    other = made(**dict.fromkeys(required, 2))
    names = [member.name for member in dataclasses.fields(made)]
    seen: dict[str, Any] = {
        "signature": str(inspect.signature(made)),
        "names": names,
        "match": made.__match_args__,
        "slots": vars(made).get("__slots__"),
        "frozen": made.__dataclass_params__.frozen,
        "repr": outcome(lambda: repr(first).split(" at 0x")[0]),
        "equal": outcome(lambda: (first == same, first == other, first == 1)),
        "hash": outcome(lambda: (hash(first) == hash(same), isinstance(hash(other), int))),
        "asdict": outcome(lambda: dataclasses.asdict(first)),
        "unknown argument": outcome(lambda: made(**required, unknown=1)),
        "too many": outcome(lambda: made(*range(30))),
        "missing": outcome(lambda: made()) if required else None,
        "initializer": (made.__init__.__qualname__, made.__init__.__module__),
    }
    for how, duplicate in (
        ("copy", copy),
        ("deepcopy", deepcopy),
        ("pickle", lambda value: pickle.loads(pickle.dumps(value))),
        ("replace", dataclasses.replace),
    ):
        seen[how] = outcome(partial(as_duplicated, duplicate, first))
    for name in names[:2]:
        for how, change in (
            ("set", partial(setattr, first, name, 1)),
            ("delete", partial(delattr, first, name)),
        ):
            seen[f"{how} {name}"] = outcome(change)
    return seen


@given(layers())
def test_a_late_data_class_does_what_one_of_dataclasses_does(drawn: list[Layer]) -> None:
    assert behaviour(late, drawn) == behaviour(usual, drawn)


@late_dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: float
    y: float = 0.0

    def doubled(self) -> Any:
        return Point(2 * self.x, 2 * self.y)


def test_the_data_classes_of_all_packages_are_late() -> None:
    at_once = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    folder = Path(__file__).parents[1] / "models"
    assert not [path for path in folder.rglob("*.py") if at_once.search(path.read_text("utf-8"))]


def test_a_method_is_compiled_at_its_first_use() -> None:
    @late(frozen=True)
    class Pair:
        """A pair."""

        left: int
        right: int

    assert all(
        isinstance(vars(Pair)[name], LateMethod)
        for name in ("__init__", "__repr__", "__eq__", "__hash__")
    )
    make: Any = Pair
    assert make(1, 2) == make(1, 2)
    assert not isinstance(vars(Pair)["__init__"], LateMethod)
    assert not isinstance(vars(Pair)["__eq__"], LateMethod)
    assert isinstance(vars(Pair)["__hash__"], LateMethod)


def test_a_frozen_object_with_slots_refuses_every_change() -> None:
    point: Any = Point(1.0)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2.0
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'z'"):
        point.z = 2.0
    assert point.doubled() == Point(2.0, 0.0)


def test_a_class_without_decorator_adds_attributes_to_a_frozen_one() -> None:
    @late(frozen=True)
    class Base:
        """A base."""

        x: int = 1

    class Derived(Base):
        pass

    derived: Any = Derived()
    derived.extra = 5
    assert derived.extra == 5
    with pytest.raises(FrozenInstanceError):
        derived.x = 2
    assert repr(derived).endswith("Derived(x=1)")


@pytest.mark.parametrize("is_base_frozen", [False, True])
def test_a_class_and_the_one_it_is_derived_from_are_both_frozen_or_neither(
    is_base_frozen: bool,
) -> None:
    @late(frozen=is_base_frozen)
    class Base:
        """A base."""

        x: int = 1

    class Derived(Base):
        """A derived one."""

    for decorator in (late, usual):
        with pytest.raises(TypeError, match="cannot inherit"):
            decorator(frozen=not is_base_frozen)(Derived)
        made: Any = decorator(frozen=is_base_frozen)(type("Made", (Base,), {"__doc__": "Made."}))
        assert made() == made(1)
