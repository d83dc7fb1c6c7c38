"""Cases: the base and its named differences, as settings by path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.study import StudySpec, SweepSpec
from slipstick.schema.text.nodes import Entry, Node, Scalar, Table, at, join, key_mark, plain, value_mark
from slipstick.study.axes import axis_nodes

MOST_POINTS = 20_000_000
BASE = "base"
USE = "use"
PLAIN_SWEEP = "vary"
MOST_USED = 32


@dataclass(frozen=True, slots=True)
class Asked:
    """A sweep that a study asks for.

    Parameters
    ----------
    name : its own, or ``vary`` for axes that stand there plainly
    spec, node : checked, and as written: a table with ``axes``
    path : where the node stands; a plain sweep is its own axes
    """

    name: str
    spec: SweepSpec
    node: Node
    path: tuple[str | int, ...]

    def place(self, *inside: str | int) -> tuple[str | int, ...]:
        """Give the path in the study of something inside the sweep."""
        plain_axes = len(self.path) == 1
        return (*self.path, *(inside[1:] if plain_axes and inside[:1] == ("axes",) else inside))

    def problem(self, message: str, *inside: str | int) -> SpecError:
        """Report something wrong inside the sweep."""
        mark = value_mark(self.node, inside)
        return SpecError([Problem(mark.file, mark.line, mark.column, join(self.place(*inside)), message)])

    def axes(self) -> dict[str, Sequence[Node]]:
        """List the values of each axis, by path as written."""
        found = {}
        for path, each in self.spec.axes.items():
            written = at(self.node, ["axes", path])
            assert written is not None
            found[path] = axis_nodes(each, written, self.place("axes", path))
        return found

    def check_lengths(self, lengths: Mapping[str, int]) -> None:
        """Refuse axes that cannot be combined."""
        if self.spec.combine == "zip" and len(set(lengths.values())) > 1:
            counts = ", ".join(f"{path} has {length}" for path, length in lengths.items())
            raise self.problem(f"zipped axes need equally many values: {counts}", "axes")
        points = 1 if self.spec.combine == "zip" else math.prod(lengths.values())
        if points > MOST_POINTS:
            raise self.problem(f"{points:,} points; at most {MOST_POINTS:,} fit", "axes")


_SAY_WHAT = ("model", "workload")


def base_settings(study: Table) -> dict[str, Node]:
    """Give the settings of the base."""
    return _settings(at(study, [BASE]))


def case_settings(study: Table, laid: Settings | None = None) -> dict[str, Settings]:
    """Give the settings of every case, the base first if it names a model or a workload.

    A difference may build on others by ``use: [names]``, which are laid over the base in that order,
    then its own values.

    Parameters
    ----------
    study : as written
    laid : values by path to lay over the base

    Raises
    ------
    SpecError : a difference uses one that does not exist, or itself
    """
    base = {**base_settings(study), **(laid or {})}
    changes = at(study, ["what_if"])
    differences = changes.entries if isinstance(changes, Table) else {}
    # A misspelt one is told as that, not by everything that then lacks a base.
    meant = any("did you mean" in did_you_mean(path, _SAY_WHAT) for path in base)
    alone = base.keys() & set(_SAY_WHAT) or meant or (base and not differences)
    cases: dict[str, Settings] = {BASE: base} if alone else {}
    made: dict[str, _Difference] = {}
    problems: list[Problem] = []
    for name in differences:
        try:
            cases[name] = {**base, **_difference(name, study, (), made).settings}
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    if not cases and not (at(study, ["measured"]) or at(study, ["fits"])):
        raise _problem(study, [BASE], "there is nothing to solve: name a model or a workload in base or what_if")
    return cases


def shown(settings: Settings, base: Settings) -> dict[str, str]:
    """Give what a case sets differently from the base, as text."""
    return {path: _text(node) for path, node in settings.items() if path not in base or base[path] is not node}


def sweeps_of(spec: StudySpec, tree: Table) -> list[Asked]:
    """List the sweeps: those with a name, and one of all the axes written plainly.

    Raises
    ------
    SpecError : a sweep has the name of the plain one
    """
    sweeps: list[Asked] = []
    axes: dict[str, Any] = {}
    for name, each in spec.vary.items():
        if isinstance(each, SweepSpec):
            sweeps.append(Asked(name, each, _node(tree, ["vary", name]), ("vary", name)))
        else:
            axes[name] = each
    if axes:
        written = _node(tree, ["vary"])
        assert isinstance(written, Table)
        kept = Table({path: written.entries[path] for path in axes}, written.mark)
        node = Table({"axes": Entry(written.mark, kept)}, written.mark)
        if any(each.name == PLAIN_SWEEP for each in sweeps):
            raise _problem(
                tree, ["vary", PLAIN_SWEEP], "the axes that stand plainly are a sweep of this name; choose another"
            )
        sweeps.append(Asked(PLAIN_SWEEP, SweepSpec(axes=axes), node, ("vary",)))
    return sweeps


def _node(tree: Node, path: list[str | int]) -> Node:
    found = at(tree, path)
    assert found is not None
    return found


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else str(plain(node))


@dataclass(frozen=True, slots=True)
class _Difference:
    """What a difference changes, and how long the chain is that it ends."""

    settings: dict[str, Node]
    length: int


def _difference(name: str, study: Table, using: tuple[str, ...], made: dict[str, _Difference]) -> _Difference:
    """Gather what a difference changes; `made` keeps those found before, for many may use the same."""
    if name in made:
        return made[name]
    changes = at(study, ["what_if"])
    assert isinstance(changes, Table)
    own = _settings(changes.entries[name].node)
    used = own.pop(USE, None)
    settings: dict[str, Node] = {}
    length = 1
    for index, other in enumerate(_names(study, name, used)):
        place: list[str | int] = ["what_if", name, USE, index]
        if other == name or other in using:
            raise _problem(study, place, f"{name} uses itself" + (f", by way of {other}" if other != name else ""))
        if other not in changes.entries:
            hint = did_you_mean(other, list(changes.entries))
            raise _problem(study, place, f"there is no difference {other!r}{hint}")
        inner = _difference(other, study, (*using, name), made) if len(using) < MOST_USED else None
        length = max(length, 1 + (inner.length if inner else MOST_USED))
        if inner is None or length > MOST_USED:
            raise _problem(study, place, f"over {MOST_USED} differences build on one another; name fewer")
        settings.update(inner.settings)
    made[name] = _Difference({**settings, **own}, length)
    return made[name]


def _names(study: Table, name: str, used: Node | None) -> list[str]:
    if used is None:
        return []
    names = plain(used)
    if isinstance(names, list) and all(isinstance(each, str) for each in names):
        return names
    raise _problem(study, ["what_if", name, USE], "write a list of differences, such as [ssd, faster-disk]")


def _settings(node: Node | None) -> dict[str, Node]:
    """Take the values by path; the paths of a study are keys with dots in them."""
    return {path: entry.node for path, entry in node.entries.items()} if isinstance(node, Table) else {}


def _problem(study: Table, path: list[str | int], message: str) -> SpecError:
    mark = key_mark(study, path)
    return SpecError([Problem(mark.file, mark.line, mark.column, join(path), message)])
