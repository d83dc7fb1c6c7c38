"""Cases: the base and its named differences, as settings by path."""

from __future__ import annotations

from typing import Any

from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.schema.nodes import Entry, Node, Scalar, Table, at, key_mark, plain
from slipstick.schema.scene import Settings
from slipstick.schema.study import StudySpec, SweepSpec

__all__ = ["BASE", "case_settings", "shown", "sweeps_of"]

BASE = "base"
USE = "use"
PLAIN_SWEEP = "vary"


def case_settings(study: Table) -> dict[str, Settings]:
    """Give the settings of every case, the base first if it names a model or a workload.

    A difference may build on others by ``use: [names]``, which are laid over the base in that order,
    then its own values.

    Raises
    ------
    SpecError : a difference uses one that does not exist, or itself
    """
    base = _settings(at(study, [BASE]))
    changes = at(study, ["what_if"])
    differences = changes.entries if isinstance(changes, Table) else {}
    cases: dict[str, Settings] = {BASE: base} if base.keys() & {"model", "workload"} else {}
    for name in differences:
        cases[name] = {**base, **_difference(name, study, ())}
    if not cases:
        raise _problem(study, [BASE], "there is nothing to solve: name a model or a workload in base or what_if")
    return cases


def shown(settings: Settings, base: Settings) -> dict[str, str]:
    """Give what a case sets differently from the base, as text."""
    return {path: _text(node) for path, node in settings.items() if path not in base or base[path] is not node}


def sweeps_of(spec: StudySpec, tree: Table) -> list[tuple[str, SweepSpec, Node]]:
    """List the sweeps: those with a name, and one of all the axes written plainly."""
    sweeps: list[tuple[str, SweepSpec, Node]] = []
    axes: dict[str, Any] = {}
    for name, each in spec.vary.items():
        if isinstance(each, SweepSpec):
            sweeps.append((name, each, _node(tree, ["vary", name])))
        else:
            axes[name] = each
    if axes:
        written = _node(tree, ["vary"])
        assert isinstance(written, Table)
        kept = Table({path: written.entries[path] for path in axes}, written.mark)
        node = Table({"axes": Entry(written.mark, kept)}, written.mark)
        sweeps.append((PLAIN_SWEEP, SweepSpec(axes=axes), node))
    return sweeps


def _node(tree: Node, path: list[str | int]) -> Node:
    found = at(tree, path)
    assert found is not None
    return found


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else str(plain(node))


def _difference(name: str, study: Table, using: tuple[str, ...]) -> dict[str, Node]:
    changes = at(study, ["what_if"])
    assert isinstance(changes, Table)
    own = _settings(changes.entries[name].node)
    used = own.pop(USE, None)
    settings: dict[str, Node] = {}
    for other in _names(study, name, used):
        if other == name or other in using:
            raise _problem(study, ["what_if", name, USE], f"{name} uses itself, by way of {other}")
        if other not in changes.entries:
            hint = did_you_mean(other, list(changes.entries))
            raise _problem(study, ["what_if", name, USE], f"there is no difference {other!r}{hint}")
        settings.update(_difference(other, study, (*using, name)))
    return {**settings, **own}


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
    return SpecError([Problem(mark.file, mark.line, mark.column, ".".join(map(str, path)), message)])
