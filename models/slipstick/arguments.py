"""Checks of arguments: each public callable declares once what each of its arguments may be.

A kind of argument reads a value: it returns the value as the callable takes it, or refuses it.
Numbers are real and finite, and of NumPy as well as of Python; truth values, bytes, fractions and
decimals are none, as in files. `checked` puts the kinds in front of a function or a class.

>>> @checked(servers=whole_number(1), discipline=TEXT)
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
from functools import wraps
from sys import float_info
from types import FunctionType
from typing import Any, TypeVar

from slipstick.errors import ModelError, did_you_mean
from slipstick.late import LateMethod, dataclass

T = TypeVar("T", bound=Callable[..., Any])

LARGEST = float_info.max
"""The largest number that is finite."""

_SHOWN_TYPES = (str, bytes, bool, int, float, complex, list, tuple, dict, set, type(None))
"""Types of which a message shows the value; of others it names the type."""


class UnfitError(Exception):
    """The error of a value that is not of the expected kind; `path` leads from the argument to the
    value.
    """

    def __init__(self, expected: str, value: object, path: str = "") -> None:
        self.expected = expected
        self.value = value
        self.path = path
        super().__init__(expected)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument: its description, and the function that reads a value.

    Parameters
    ----------
    expected : in words, after "must be"
    read : returns a value as the callable takes it; raises `UnfitError`
    plain_types : types of which every value is taken as it is, without reading it
    """

    expected: str
    read: Callable[[Any], Any]
    plain_types: frozenset[type] = frozenset()


def value_in_message(value: object) -> str:
    """Describe a value in at most 60 characters, for a message.

    >>> value_in_message([1, 2]), value_in_message(object())
    ('[1, 2]', 'a value of the type object')
    """
    # Other types may have a text of any length, or one that takes long to make.
    if type(value) in _SHOWN_TYPES:
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
    converted_number: Any = value
    type_letter = getattr(getattr(converted_number, "dtype", None), "kind", "")
    if type_letter not in ("i", "u", "f") or getattr(converted_number, "ndim", None) != 0:
        return None
    if getattr(converted_number, "mask", False):  # a masked number is none
        return None
    return float(converted_number) if type_letter == "f" else int(converted_number)


def _range_in_words(least_allowed: float | None, most_allowed: float | None) -> str:
    """Describe the range of allowed numbers as the end of a phrase; empty without limits."""
    if least_allowed is not None and most_allowed is not None:
        return f" from {least_allowed:,} to {most_allowed:,}"
    return "" if least_allowed is None else f" of at least {least_allowed:,}"


def real_number(
    least: float | None = None,
    most: float | None = None,
    *,
    number_in_words: str = "a finite number",
) -> Kind:
    """Return the kind of argument that is a finite real number.

    Parameters
    ----------
    least, most : the smallest and the largest
    number_in_words : what the number is, after "must be"

    >>> real_number(0, 1).expected, real_number(0).read(2.5)
    ('a finite number from 0 to 1', 2.5)
    """
    expected = number_in_words + _range_in_words(least, most)
    smallest = -LARGEST if least is None else least
    largest = LARGEST if most is None else most

    def read(value: Any) -> Any:
        """Return a value as a number in the range, or refuse it."""
        number = value if type(value) in (float, int) else plain_number(value)
        if number is None or not smallest <= number <= largest:
            raise UnfitError(expected, value)
        return number

    return Kind(expected, read)


def whole_number(least: int | None = None, most: int | None = None) -> Kind:
    """Return the kind of argument that is a whole number; a float with a whole value is accepted
    too.
    """
    number_kind = real_number(least, most, number_in_words="a whole number")

    def read(value: Any) -> Any:
        """Return a value as a whole number in the range, or refuse it."""
        number = number_kind.read(value)
        if number != int(number):
            raise UnfitError(number_kind.expected, value)
        return int(number)

    return Kind(number_kind.expected, read)


def instance_of(types: type | tuple[type, ...], expected: str) -> Kind:
    """Return the kind of argument that is an instance of some types."""

    def read(value: Any) -> Any:
        """Return a value that is of one of the types, or refuse it."""
        if isinstance(value, types):
            return value
        raise UnfitError(expected, value)

    return Kind(expected, read, frozenset(types if isinstance(types, tuple) else (types,)))


def either_kind(expected: str, *kinds: Kind) -> Kind:
    """Return the kind of argument that accepts any of several kinds; the first kind that accepts a
    value reads it.
    """

    def read(value: Any) -> Any:
        """Read a value by the first kind that accepts it; refuse a value that no kind accepts."""
        member_error: UnfitError | None = None
        for kind in kinds:
            try:
                return kind.read(value)
            except UnfitError as error:
                # An error inside of a value tells more than that the whole is of no kind.
                member_error = error if error.path else member_error
        raise member_error or UnfitError(expected, value)

    return Kind(expected, read, frozenset().union(*(kind.plain_types for kind in kinds)))


def optional_kind(kind: Kind) -> Kind:
    """Return the kind of argument that accepts another kind, or None."""
    read_value = kind.read
    expected = f"{kind.expected}, or None"

    def read(value: Any) -> Any:
        """Return None, or a value as the kind reads it."""
        if value is None:
            return None
        try:
            return read_value(value)
        except UnfitError as error:
            # A fault deeper inside keeps its own path; one of the value itself is told in the words
            # of the whole.
            raise error if error.path else UnfitError(expected, value) from None

    return Kind(expected, read, kind.plain_types | {type(None)})


def _read_member(kind: Kind, value: Any, path: str) -> Any:
    """Read one member of a list or mapping; a refusal names the member's place."""
    try:
        return kind.read(value)
    except UnfitError as error:
        raise UnfitError(error.expected, error.value, path + error.path) from None


def list_of(kind: Kind, least: int = 0, most: int | None = None) -> Kind:
    """Return the kind of argument that is an iterable, such as a list or an array, with members of
    one kind; it is read as a tuple.
    """
    expected = f"a list, each member of which is {kind.expected}"

    def read(value: Any) -> Any:
        """Return the members of an iterable, each read by the kind, or refuse it."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise UnfitError(expected, value)
        # An array without dimensions claims to be iterable and is not.
        if getattr(value, "ndim", 1) == 0:
            raise UnfitError(expected, value)
        members = tuple(
            _read_member(kind, member, f"[{member_index}]")
            for member_index, member in enumerate(value)
        )
        if len(members) < least or (most is not None and len(members) > most):
            raise UnfitError(
                "a list of"
                f" {_range_in_words(least, most).removeprefix(' of').strip().removeprefix('from ')}"
                " members",
                value,
            )
        return members

    return Kind(expected, read)


def row_of(*kinds: Kind, expected: str) -> Kind:
    """Return the kind of argument that is a tuple whose members are of the given kinds."""

    def read(value: Any) -> Any:
        """Return the members of a tuple, each read by its own kind, or refuse it."""
        if not isinstance(value, tuple | list) or len(value) != len(kinds):
            raise UnfitError(expected, value)
        members = enumerate(zip(kinds, value, strict=True))
        return tuple(
            _read_member(kind, member, f"[{member_index}]")
            for member_index, (kind, member) in members
        )

    return Kind(expected, read)


def mapped_by_name(kind: Kind, least: int = 0) -> Kind:
    """Return the kind of argument that is a mapping from names to values of one kind; it is read as
    a dict.
    """
    expected = f"a dict by name, each value of which is {kind.expected}"

    def read(value: Any) -> Any:
        """Return a mapping as a dict whose values are read by the kind, or refuse it."""
        if not isinstance(value, Mapping):
            raise UnfitError(expected, value)
        for name in value:
            if not isinstance(name, str):
                raise UnfitError(f"{expected}; a name is text", name)
        if len(value) < least:
            raise UnfitError(f"a dict of at least {least} by name", value)
        return {
            name: _read_member(kind, member, f"[{name!r:.40}]") for name, member in value.items()
        }

    return Kind(expected, read)


TEXT = instance_of(str, "text")
FLAG = instance_of(bool, "True or False")
REFERENCE = instance_of((str, os.PathLike), "text or a path")


def checked(**kinds: Kind) -> Callable[[T], T]:
    """Return a decorator that checks the arguments of a function, or those with which a class is
    called.

    Arguments without a kind are taken as they are. The kind of an argument with a star, such as
    ``*parts``, is that of each.

    Raises
    ------
    ModelError : an argument is not of its kind, is missing, or is unknown

    >>> @checked(parts=whole_number(0))
    ... def total(*parts):
    ...     return sum(parts)
    >>> total(1, "2")
    Traceback (most recent call last):
        ...
    slipstick.errors.ModelError: total: parts[1] must be a whole number of at least 0, got '2'
    """

    def decorate(target: T) -> T:
        """Return a function with checked arguments, or a class whose calls are checked."""
        if isinstance(target, type):
            unchecked = vars(target)["__init__"]
            checked_init = LateMethod(
                target,
                "__init__",
                lambda owner: _with_converted_arguments(
                    unchecked.__get__(None, owner), owner.__qualname__, kinds
                ),
            )
            # Its own attribute, of a class that may be frozen.
            type.__setattr__(target, "__init__", checked_init)
            return target
        checked_function: Any = _with_converted_arguments(target, target.__qualname__, kinds)
        return checked_function  # type: ignore[no-any-return]

    return decorate


def _refusal_of_argument(callable_name: str, argument_name: str, error: UnfitError) -> ModelError:
    """Return the error that says which argument is not of its kind."""
    requirement = f"must be {error.expected}, got {value_in_message(error.value)}"
    return ModelError(f"{callable_name}: {argument_name}{error.path} {requirement}")


def _mismatch_error(
    function: Any,
    callable_name: str,
    argument_values: Iterable[Any],
    value_by_name: dict[str, Any],
) -> ModelError | None:
    """Return the error of a call with missing or unknown arguments; None if the call matches."""
    code = function.__code__
    argument_names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    unknown_arguments = [] if code.co_flags & inspect.CO_VARKEYWORDS else [*value_by_name]
    for argument_name in unknown_arguments:
        if argument_name not in argument_names:
            known_names = [keyword for keyword in argument_names if keyword != "self"]
            return ModelError(
                f"{callable_name} has no argument"
                f" {argument_name!r}{did_you_mean(argument_name, known_names)}"
            )
    try:
        inspect.signature(function).bind(*argument_values, **value_by_name)
    except TypeError as error:
        return ModelError(f"{callable_name}: {error}; see help({callable_name})")
    return None


def _with_converted_arguments(function: Any, callable_name: str, kinds: Mapping[str, Kind]) -> Any:
    """Return a function that first converts its arguments by their kinds."""
    function_code = function.__code__
    positional_names = function_code.co_varnames[: function_code.co_argcount]
    positional_count = len(positional_names)
    argument_names = function_code.co_varnames[: positional_count + function_code.co_kwonlyargcount]
    starred_name = (
        function_code.co_varnames[len(argument_names)]
        if function_code.co_flags & inspect.CO_VARARGS
        else ""
    )
    if unknown_names := [name for name in kinds if name not in (*argument_names, starred_name)]:
        raise TypeError(f"{callable_name} has no argument {unknown_names[0]}")
    types_and_reader_by_name = {
        name: (kinds[name].plain_types, kinds[name].read)
        for name in argument_names
        if name in kinds
    }
    checked_positions = tuple(
        (index, *types_and_reader_by_name[name])
        for index, name in enumerate(positional_names)
        if name in types_and_reader_by_name
    )
    starred_kind = kinds.get(starred_name)
    # The call runs with the globals of the function's module, so it needs these in its closure.
    unfit_error = UnfitError
    refusal_of_argument = _refusal_of_argument
    mismatch_error = _mismatch_error

    def call(*positional_values: Any, **value_by_name: Any) -> Any:
        """Convert the arguments by their kinds, and call the function."""
        argument_values: Any = positional_values
        position = -1
        argument_name = ""
        value_count = len(positional_values)
        try:
            for position, plain_types, read in checked_positions:
                if position >= value_count:
                    break
                # Most values are of a plain type, and comparing types costs less than a call.
                if type(positional_values[position]) not in plain_types:
                    if argument_values is positional_values:
                        # A copy only if something is converted.
                        argument_values = list(positional_values)
                    argument_values[position] = read(positional_values[position])
            if starred_kind is not None:
                argument_values = list(argument_values)
                for position in range(positional_count, value_count):
                    argument_values[position] = starred_kind.read(positional_values[position])
            position = -1
            for argument_name, value in value_by_name.items():
                if argument_name in types_and_reader_by_name:
                    plain_types, read = types_and_reader_by_name[argument_name]
                    if type(value) not in plain_types:
                        value_by_name[argument_name] = read(value)
        except unfit_error as error:
            if position >= positional_count:
                argument_name = f"{starred_name}[{position - positional_count}]"
            elif position >= 0:
                argument_name = positional_names[position]
            raise refusal_of_argument(callable_name, argument_name, error) from None
        try:
            return function(*argument_values, **value_by_name)
        # Only a call that fails pays for comparing its arguments with the signature, which tells a
        # wrong call from an error inside the function.
        except TypeError:
            call_error = mismatch_error(function, callable_name, argument_values, value_by_name)
            if call_error is not None:
                raise call_error from None
            raise

    # With the names of the function's own module, by which the tests of examples look for
    # functions.
    checked_function = FunctionType(
        call.__code__, function.__globals__, function.__name__, None, call.__closure__
    )
    return wraps(function)(checked_function)
