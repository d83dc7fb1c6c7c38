"""Modules fit on a few screens, functions on one; public names are sorted and documented."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from tests.house.code import functions, modules, name_of

MODULES = modules()


def in_order(name: str) -> tuple[bool, bool, str]:
    """Order constants, classes and functions, each by name, as the linter does."""
    return not name.isupper(), not name[0].isupper(), name


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_under_400_lines_and_its_functions_under_60(path: Path) -> None:
    lines = path.read_text().count("\n")
    long = {each.name: each.end_lineno - each.lineno + 1 for each in functions(path) if each.end_lineno is not None}
    assert lines < 400
    assert {name: length for name, length in long.items() if length > 60} == {}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_exports_are_sorted_and_documented(path: Path) -> None:
    module = import_module(name_of(path))
    assert module.__doc__
    exports = list(vars(module).get("__all__", []))
    assert exports == sorted(exports, key=in_order)
    public = [getattr(module, name) for name in exports]
    undocumented = [each.__qualname__ for each in public if inspect.isroutine(each) and not each.__doc__]
    undocumented += [each.__qualname__ for each in public if inspect.isclass(each) and not each.__doc__]
    assert undocumented == []


def test_every_package_says_why_it_has_its_shape() -> None:
    packages = [name_of(path) for path in MODULES if path.name == "__init__.py"]
    silent = [
        name for name in packages if "WHAT" not in (doc := import_module(name).__doc__ or "") and "shape" not in doc
    ]
    assert [name for name in silent if "\n\n" not in (import_module(name).__doc__ or "")] == []
