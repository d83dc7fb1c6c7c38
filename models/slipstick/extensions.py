"""What other packages add to slipstick, by name: programs, laws, commands, questions, methods,
kinds of specs, files that are read, functions that the calculator calls; and the hash of the code
of all packages.

A package adds through the entry points of one group for each kind of addition, such as
``slipstick.questions``; the page "Extending slipstick" of the documentation lists the groups. Each
entry point gives a mapping from names to where they are defined, ``module:NAME``. So all names are
known without importing what they stand for, which happens when it is asked for.
All packages beside slipstick are added in this way; slipstick imports none of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from slipstick.arguments import TEXT, checked
from slipstick.errors import ModelError, UnknownKeyError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

T = TypeVar("T")

PACKAGES = Path(__file__).parents[1]
"""The folder of slipstick and of the packages beside it."""


class SpecKind(NamedTuple):
    """A kind of spec.

    Parameters
    ----------
    folder : of its files
    model : where its pydantic model is defined, ``module:NAME``
    starter : the spec from which starters are made
    words : a description, if its files are models
    reader : where the function is defined that takes the tree of a spec and the library, and
        returns the tree with the content of the files of data that the spec names
    """

    folder: str
    model: str
    starter: str
    words: str = ""
    reader: str = ""


class Registry(Mapping[str, T]):
    """A registry of additions by name: first the additions of slipstick itself, then the additions
    of other packages.

    Entry points are read when all names are listed, or when a name is requested that slipstick
    itself does not have.

    Parameters
    ----------
    group : name of the group of entry points
    own : the additions of slipstick itself, or a function that returns them at the first access

    Raises
    ------
    ModelError : a package adds a name that is already taken, or a package cannot be imported

    >>> kinds = Registry("slipstick.none", {"machine": "machines"})
    >>> kinds["machine"], "profile" in kinds, list(kinds)
    ('machines', False, ['machine'])
    """

    def __init__(
        self, group: str, own: Mapping[str, T] | Callable[[], Mapping[str, T]] = dict
    ) -> None:
        self._group = group
        self._own_source = own

    @cached_property
    def own(self) -> Mapping[str, T]:
        """Slipstick's own additions."""
        return self._own_source() if callable(self._own_source) else self._own_source

    @cached_property
    def definitions(self) -> dict[str, Any]:
        """The places of the additions of other packages, as ``module:NAME``, or the objects if they
        were imported.
        """
        additions: dict[str, Any] = {}
        for entry_point in _entry_points(tuple(sys.path)).select(group=self._group):
            try:
                definition_by_name = entry_point.load()
            except (ImportError, AttributeError) as error:
                raise ModelError(
                    f"{entry_point.value} cannot be imported for the group {self._group}: {error}"
                ) from error
            # Two packages with one name would make the answer depend on the order in which they
            # were installed.
            if taken_names := [
                name for name in definition_by_name if name in additions or name in self.own
            ]:
                raise ModelError(
                    f"{entry_point.value} adds {taken_names[0]!r} to the group {self._group}, which"
                    " has that name already"
                )
            additions |= definition_by_name
        return additions

    @checked(name=TEXT)
    def __getitem__(self, name: str) -> T:
        if name in self.own:
            return self.own[name]
        if name not in self.definitions:
            addition_noun = self._group.rpartition(".")[2].removesuffix("s")
            raise UnknownKeyError(addition_noun, name, [*self])
        definition = self.definitions[name]
        try:
            if isinstance(definition, str):
                # A module is imported when its name is first used: commands start without what they
                # do not need.
                definition = self.definitions[name] = import_object(definition)
        except (ImportError, AttributeError) as error:
            raise ModelError(
                f"{definition}, which is {name!r} of the group {self._group}, is not there: {error}"
            ) from error
        return cast(T, definition)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.definitions

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.definitions

    def __len__(self) -> int:
        return len(self.own) + len(self.definitions)


FUNCTIONS: Registry[Callable[..., Any]] = Registry("slipstick.functions")
"""Functions that a package calls and a package above it defines, by what they return, such as
``text of an answer``: so no package imports one above it. Those of `slipstick` itself are added in
the same way.
"""


def import_object(location: str) -> Any:
    """Import an object by its place, ``module:NAME``.

    >>> import_object("math:floor")(2.5)
    2
    """
    module_name, _, object_name = location.partition(":")
    return getattr(import_module(module_name), object_name)


@cache
def _entry_points(search_path: tuple[str, ...]) -> EntryPoints:
    """Read the entry points of all distributions on the search path of modules. They are read once
    for all groups, because this takes as long as the import of a small library.
    """
    from importlib.metadata import entry_points

    return cast("EntryPoints", entry_points())


@cache
def code_hash(*path_patterns: str) -> str:
    """Return a hash of the code in some files below the packages' folder, so that results of other
    code are computed again.

    Parameters
    ----------
    path_patterns : modules, folders of modules, and patterns of folders such as ``slipstick*``

    >>> code_hash("slipstick/late.py") == code_hash("slipstick/extensions.py")
    False
    """
    code_digest = sha256()
    for path_pattern in path_patterns:
        for module_or_folder in sorted(PACKAGES.glob(path_pattern)):
            # In the order of names, for file systems list them in any order.
            for path in (
                sorted(module_or_folder.rglob("*.py"))
                if module_or_folder.is_dir()
                else [module_or_folder]
            ):
                code_digest.update(path.read_bytes())
    return code_digest.hexdigest()[:16]
