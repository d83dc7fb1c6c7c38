"""Checks of arguments: each public callable declares once what each of its arguments may be.

A kind of argument reads a value: it returns the value as the callable takes it, or refuses it.
Numbers are real and finite, and of NumPy as well as of Python; truth values, bytes, fractions and
decimals are none, as in files. `checked` puts the kinds in front of a function or a class.

>>> @checked(servers=whole(1), discipline=TEXT)
... def station(servers, discipline="fcfs"):
...     return servers, discipline
>>> station(4.0)
(4, 'fcfs')
>>> station(True)
Traceback (most recent call last):
    ...
slipstick.errors.ModelError: station: servers must be a whole number of at least 1, got True

Why this shape: a check stands in front of every call, also of those that slipstick itself makes, so
a value of the usual type passes after one comparison of types.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from sys import float_info
from types import FunctionType
from typing import Any, TypeVar

from slipstick.errors import ModelError, did_you_mean

T = TypeVar("T", bound=Callable[..., Any])

LARGEST = float_info.max
"""The largest number that is finite."""

_SHOWN = (str, bytes, bool, int, float, complex, list, tuple, dict, set, type(None))
"""Types of which a message shows the value; of others it names the type."""


class UnfitError(Exception):
    """A value is not of the wanted kind; `path` leads from the argument to the value."""

    def __init__(self, wanted: str, value: object, path: str = "") -> None:
        self.wanted = wanted
        self.value = value
        self.path = path
        super().__init__(wanted)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument: its description, and the function that reads a value.

    Parameters
    ----------
    wanted : in words, after "must be"
    read : returns a value as the callable takes it; raises `UnfitError`
    plain : types of which every value is taken as it is, without reading it
    """

    wanted: str
    read: Callable[[Any], Any]
    plain: frozenset[type] = frozenset()


def described(value: object) -> str:
    """Describe a value in at most 60 characters, for a message.

    >>> described([1, 2]), described(object())
    ('[1, 2]', 'a value of the type object')
    """
    # Other types may have a text of any length, or one that takes long to make.
    if type(value) in _SHOWN:
        try:
            return f"{value!r:.60}"
        except Exception:  # noqa: BLE001  # members of a list describe themselves as they like
            return f"a value of the type {type(value).__name__} that cannot be written"
    return f"a value of the type {type(value).__name__}"


def plain_number(value: object) -> float | int | None:
    """Return a real number of Python or NumPy as a plain Python number; None for other values.

    >>> plain_number(4), plain_number(True), plain_number("4")
    (4, None, None)
    """
    # Truth values are whole numbers to Python, but hardly meant as such.
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    # By attributes, so that NumPy is not imported for a check.
    number: Any = value
    kind = getattr(getattr(number, "dtype", None), "kind", "")
    if kind not in ("i", "u", "f") or getattr(number, "ndim", None) != 0:
        return None
    return float(number) if kind == "f" else int(number)


def _between(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    return "" if least is None else f" of at least {least:,}"


def real(
    least: float | None = None, most: float | None = None, *, what: str = "a finite number"
) -> Kind:
    """Return the kind of argument that is a finite real number.

    Parameters
    ----------
    least, most : the smallest and the largest
    what : the number in words

    >>> real(0, 1).wanted, real(0).read(2.5)
    ('a finite number from 0 to 1', 2.5)
    """
    wanted_words = what + _between(least, most)
    low = -LARGEST if least is None else least
    high = LARGEST if most is None else most

    def read(value: Any) -> Any:
        number = value if type(value) in (float, int) else plain_number(value)
        if number is None or not low <= number <= high:
            raise UnfitError(wanted_words, value)
        return number

    return Kind(wanted_words, read)


def whole(least: int | None = None, most: int | None = None) -> Kind:
    """Return the kind of argument that is a whole number, also one written with a decimal point."""
    wanted = "a whole number" + _between(least, most)
    low = -LARGEST if least is None else least
    high = LARGEST if most is None else most

    def read(value: Any) -> Any:
        number = value if type(value) is int else plain_number(value)
        if number is None or not low <= number <= high or number != int(number):
            raise UnfitError(wanted, value)
        return int(number)

    return Kind(wanted, read)


def instance(types: type | tuple[type, ...], wanted: str) -> Kind:
    """Return the kind of argument that is an instance of some types."""

    def read(value: Any) -> Any:
        if isinstance(value, types):
            return value
        raise UnfitError(wanted, value)

    return Kind(wanted, read, frozenset(types if isinstance(types, tuple) else (types,)))


def either(wanted: str, *kinds: Kind) -> Kind:
    """Return the kind of argument that is of any of several kinds; the first that accepts a value
    reads it.
    """

    def read(value: Any) -> Any:
        inner: UnfitError | None = None
        for kind in kinds:
            try:
                return kind.read(value)
            except UnfitError as error:
                # An error inside of a value tells more than that the whole is of no kind.
                inner = error if error.path else inner
        raise inner or UnfitError(wanted, value)

    return Kind(wanted, read, frozenset().union(*(kind.plain for kind in kinds)))


def optional(kind: Kind) -> Kind:
    """Return the kind of argument that is of a kind, or None."""
    inner = kind.read
    wanted = f"{kind.wanted}, or None"

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            return inner(value)
        except UnfitError as error:
            raise error if error.path else UnfitError(wanted, value) from None

    return Kind(wanted, read, kind.plain | {type(None)})


def _member(kind: Kind, value: Any, place: str) -> Any:
    try:
        return kind.read(value)
    except UnfitError as error:
        raise UnfitError(error.wanted, error.value, place + error.path) from None


def listed(kind: Kind, least: int = 0, most: int | None = None) -> Kind:
    """Return the kind of argument that is an iterable, such as a list or an array, with members of
    a kind; it is read as a tuple.
    """
    wanted_words = f"a list, each member of which is {kind.wanted}"

    def read(value: Any) -> Any:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise UnfitError(wanted_words, value)
        # An array without dimensions claims to be iterable and is not.
        if getattr(value, "ndim", 1) == 0:
            raise UnfitError(wanted_words, value)
        members = tuple(_member(kind, member, f"[{index}]") for index, member in enumerate(value))
        if len(members) < least or (most is not None and len(members) > most):
            raise UnfitError(
                f"a list of {_between(least, most).removeprefix(' of').strip().removeprefix('from ')} members",
                value,
            )
        return members

    return Kind(wanted_words, read)


def row(*kinds: Kind, wanted: str) -> Kind:
    """Return the kind of argument that is a tuple with one member of each given kind."""

    def read(value: Any) -> Any:
        if not isinstance(value, tuple | list) or len(value) != len(kinds):
            raise UnfitError(wanted, value)
        members = enumerate(zip(kinds, value, strict=True))
        return tuple(_member(kind, member, f"[{index}]") for index, (kind, member) in members)

    return Kind(wanted, read)


def mapped_by_name(kind: Kind, least: int = 0) -> Kind:
    """Return the kind of argument that is a mapping from names to values of a kind; it is read as a
    dict.
    """
    wanted_words = f"a dict by name, each value of which is {kind.wanted}"

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise UnfitError(wanted_words, value)
        for name in value:
            if not isinstance(name, str):
                raise UnfitError(f"{wanted_words}; a name is text", name)
        if len(value) < least:
            raise UnfitError(f"a dict of at least {least} by name", value)
        return {name: _member(kind, member, f"[{name!r:.40}]") for name, member in value.items()}

    return Kind(wanted_words, read)


TEXT = instance(str, "text")
FLAG = instance(bool, "True or False")
REFERENCE = instance((str, os.PathLike), "text or a path")


def checked(**kinds: Kind) -> Callable[[T], T]:
    """Return a decorator that checks the arguments of a function, or those with which a class is
    called.

    Arguments without a kind are taken as they are. The kind of an argument with a star, such as
    ``*parts``, is that of each.

    Raises
    ------
    ModelError : an argument is not of its kind, is missing, or is unknown

    >>> @checked(parts=whole(0))
    ... def total(*parts):
    ...     return sum(parts)
    >>> total(1, "2")
    Traceback (most recent call last):
        ...
    slipstick.errors.ModelError: total: parts[1] must be a whole number of at least 0, got '2'
    """

    def decorate(target: T) -> T:
        if isinstance(target, type):
            # Its own attribute, of a class that may be frozen.
            type.__setattr__(
                target, "__init__", _checked(vars(target)["__init__"], target.__qualname__, kinds)
            )
            return target
        checked_function: Any = _checked(target, target.__qualname__, kinds)
        return checked_function  # type: ignore[no-any-return]

    return decorate


def _checked(function: Any, label: str, kinds: Mapping[str, Kind]) -> Any:
    """Return a function that first converts its arguments by their kinds."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    count = len(names)
    keywords = code.co_varnames[: count + code.co_kwonlyargcount]
    starred = code.co_varnames[len(keywords)] if code.co_flags & inspect.CO_VARARGS else ""
    if unknown := [name for name in kinds if name not in (*keywords, starred)]:
        raise TypeError(f"{label} has no argument {unknown[0]}")
    reads = {name: (kinds[name].plain, kinds[name].read) for name in keywords if name in kinds}
    places = tuple((index, *reads[name]) for index, name in enumerate(names) if name in reads)
    further = kinds.get(starred)
    unfit = UnfitError

    def call(*values: Any, **named: Any) -> Any:
        given: Any = values
        index = -1
        name = ""
        present = len(values)
        try:
            for index, plain, read in places:
                if index >= present:
                    break
                # Most values are of a plain type, and comparing types costs less than a call.
                if type(values[index]) not in plain:
                    if given is values:
                        # A copy only if something is converted.
                        given = list(values)
                    given[index] = read(values[index])
            if further is not None:
                given = list(given)
                for index in range(count, present):
                    given[index] = further.read(values[index])
            index = -1
            for name, value in named.items():
                if name in reads:
                    plain, read = reads[name]
                    if type(value) not in plain:
                        named[name] = read(value)
        except unfit as error:
            raise refused(error, index, name) from None
        try:
            return function(*given, **named)
        # Only a call that fails pays for comparing its arguments with the signature, which tells a
        # wrong call from an error inside the function.
        except TypeError:
            if (mismatch := mismatched(given, named)) is not None:
                raise mismatch from None
            raise

    def refused(error: UnfitError, index: int, name: str) -> ModelError:
        if index >= 0:
            name = names[index] if index < count else f"{starred}[{index - count}]"
        words = f"must be {error.wanted}, got {described(error.value)}"
        return ModelError(f"{label}: {name}{error.path} {words}")

    def mismatched(given: Iterable[Any], named: dict[str, Any]) -> ModelError | None:
        """Return the error of a call with missing or unknown arguments; None if the call
        matches.
        """
        unknown = [] if code.co_flags & inspect.CO_VARKEYWORDS else [*named]
        for name in unknown:
            if name not in keywords:
                other_keywords = [keyword for keyword in keywords if keyword != "self"]
                return ModelError(
                    f"{label} has no argument {name!r}{did_you_mean(name, other_keywords)}"
                )
        try:
            inspect.signature(function).bind(*given, **named)
        except TypeError as error:
            return ModelError(f"{label}: {error}; see help({label})")
        return None

    # With the names of the function's own module, by which the tests of examples look for functions.
    checking = FunctionType(
        call.__code__, function.__globals__, function.__name__, None, call.__closure__
    )
    return wraps(function)(checking)
