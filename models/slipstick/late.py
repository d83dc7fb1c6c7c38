"""NumPy, imported when something is first computed with it, and regular expressions and the methods
of data classes, compiled at their first use: files are read and checked without this start-up time.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any

__all__ = [
    "Array",
    "Late",
    "LateMethod",
    "NDArray",
    "dataclass",
    "field",
    "late_pattern",
    "np",
    "replace",
]


class Late:
    """A stand-in for a module or a regular expression, which is imported or compiled at the first
    use of an attribute.
    """

    def __init__(self, *arguments: Any, make: Callable[..., object] = import_module) -> None:
        self._arguments = arguments
        self._make = make

    def __getattr__(self, name: str) -> object:
        attribute = getattr(self._make(*self._arguments), name)
        # The next access costs no more than that of an attribute of the module or the expression.
        setattr(self, name, attribute)
        return attribute


class LateMethod:
    """A stand-in for a method of a class, which is made when it is first looked up."""

    def __init__(self, owner: type, name: str, make: Callable[[type], Any]) -> None:
        self._arguments = owner, name
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._arguments = owner, name  # the copy of a class that has slots

    def __get__(self, instance: object, _: type | None = None) -> Any:
        owner, name = self._arguments
        method = self._make(owner)
        type.__setattr__(owner, name, method)  # also of a frozen class
        return method.__get__(instance, owner)


_OPTIONS = {"__init__": "init", "__repr__": "repr", "__eq__": "eq", "__hash__": "unsafe_hash"}


def _method_of_fields(name: str, options: Any, owner: type) -> Any:
    """Return a method that `dataclasses` compiles for the fields of a class."""
    attributes = {key: getattr(owner, key) for key in ("__module__", "__qualname__", "__doc__")}
    # The methods of a subclass without fields of its own are those of the class.
    subclass: Any = type(owner)(owner.__name__, (owner,), attributes)
    return vars(dataclasses.dataclass(**options)(subclass))[name]


def _change_attribute(self: Any, name: str, *value: object) -> None:
    """Raise the error of a frozen data class, or change an attribute that is no field."""
    if name in self.__dataclass_fields__ or "__dataclass_fields__" in vars(type(self)):
        verb = "assign to" if value else "delete"
        raise dataclasses.FrozenInstanceError(f"cannot {verb} field {name!r}")
    (object.__setattr__ if value else object.__delattr__)(self, name, *value)


@dataclasses.dataclass(frozen=True, slots=True)
class _Frozen:
    """A class from which others have the methods that pickle a frozen data class with slots."""


def _late_dataclass(plain: Any = None, /, **options: Any) -> Any:
    """Return a class as `dataclasses.dataclass` does; compile its methods at their first use."""
    if plain is None:
        return partial(_late_dataclass, **options)
    options = {"repr": True, "eq": True, "frozen": False, "slots": False} | options
    frozen, own = options["frozen"], dict(vars(plain))
    if own.get("__hash__", plain) is None and "__eq__" in own:
        del own["__hash__"]  # Python has set it
    hashed = options["eq"] and "__hash__" not in own
    wanted = options | {"init": True, "unsafe_hash": hashed and frozen}
    options |= dict.fromkeys(_OPTIONS.values(), False)
    methods: dict[str, Any] = {"__hash__": None} if hashed else {}
    for name, option in _OPTIONS.items():
        if wanted[option]:
            make = partial(_method_of_fields, name, options | {option: True})
            methods[name] = LateMethod(plain, name, make)
    # A frozen class and one that is derived from it are compared, and are both frozen.
    is_derived = any("__dataclass_fields__" in vars(base) for base in plain.__mro__[1:])
    if frozen and not is_derived:
        methods |= dict.fromkeys(("__setattr__", "__delattr__"), _change_attribute)
        for name in ("__getstate__", "__setstate__") if options["slots"] else ():
            methods[name] = vars(_Frozen)[name]
    for name, method in methods.items():
        if name not in own:
            setattr(plain, name, method)
    made: Any = dataclasses.dataclass(**options | {"frozen": frozen and is_derived})(plain)
    made.__dataclass_params__.frozen = frozen
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
    from re import compile as late_pattern

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
else:
    dataclass = _late_dataclass
    late_pattern = partial(Late, make=re.compile)
    np = modules.get("numpy") or Late("numpy")  # one that is there already is taken as it is
    Array = object  # arrays are typed without importing NumPy

    class NDArray:
        """A stand-in for the type `numpy.typing.NDArray`."""

        def __class_getitem__(cls, item_type: object) -> type:
            return object
