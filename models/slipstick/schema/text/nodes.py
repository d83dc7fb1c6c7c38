"""What a spec says, as a tree of values that know where they were written.

A node is a `Scalar`, a `Listing` of nodes or a `Table` of named nodes. A path names one by keys with dots
between: ``stations.cpu.demand``. An item of a listing goes by its 0-based number (``cycle.0.time``), or by
its ``name`` where no other item has the same (``cycle.work.time``). A key with a dot is put in double
quotes: ``ssd."disk.demand"``.

Why this shape: one tree holds values from files, their bases and the command line, and each is reported
where it was written. So a node carries its mark, file included; `replace` and `merge` give new trees.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from slipstick.errors import ModelError, UnknownNameError


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file, counted from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value: what it means, the text it was written as, and whether quotes make it text."""

    value: str | int | float | bool | None
    text: str
    mark: Mark
    quoted: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """Values in order, and what each goes by: its name where no other has it, else its number."""

    items: tuple[Node, ...]
    mark: Mark
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        named = [_name(item) for item in self.items]
        uses = Counter(named)
        by = (name if name and uses[name] == 1 else str(index) for index, name in enumerate(named))
        object.__setattr__(self, "names", tuple(by))


@dataclass(frozen=True, slots=True)
class Entry:
    """The value under a key, and where the key stands."""

    key_mark: Mark
    node: Node


@dataclass(frozen=True, slots=True)
class Table:
    """Values by key, in the order of the file."""

    entries: Mapping[str, Entry]
    mark: Mark


Node: TypeAlias = Scalar | Listing | Table
Path: TypeAlias = str | Sequence[str | int]  # dotted, or its parts

_PART = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"(?=\.|\Z)|(?P<bare>[^.]*)', re.DOTALL)
_NEEDS_QUOTES = re.compile(r'\A\Z|\.|\A"')
_SYNONYMS = {"bandwidth": "per_byte"}
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


def split(path: str) -> tuple[str, ...]:
    """Take a dotted path apart.

    >>> split("stations.cpu.demand")
    ('stations', 'cpu', 'demand')
    >>> split('ssd."disk.demand"')
    ('ssd', 'disk.demand')
    """
    if '"' not in path:
        return tuple(path.split(".")) if path else ()
    parts: list[str] = []
    start = 0
    while path and start <= len(path) and (part := _PART.match(path, start)):
        quoted = part["quoted"]
        parts.append(part["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        start = part.end() + 1
    return tuple(parts)


def join(parts: Sequence[str | int]) -> str:
    """Write a dotted path; `split` takes it apart into the same parts.

    >>> join(["ssd", "disk.demand"])
    'ssd."disk.demand"'
    """
    return ".".join(_written(str(part)) for part in parts)


def plain(node: Node) -> object:
    """Give the values alone, as dicts, lists and scalars.

    >>> plain(from_plain({"cpu": {"servers": 2}}, Mark("web.yaml", 1, 1)))
    {'cpu': {'servers': 2}}
    """
    match node:
        case Scalar():
            return node.value
        case Listing():
            return [plain(item) for item in node.items]
        case Table():
            return {key: plain(entry.node) for key, entry in node.entries.items()}


def from_plain(value: object, mark: Mark) -> Node:
    """Make a tree of dicts, lists and scalars; every node gets the same mark.

    Raises ModelError for anything else.

    >>> from_plain([1, True], Mark("here", 1, 1)).items[1].text
    'true'
    """
    match value:
        case None | bool():
            return Scalar(value, "null" if value is None else str(value).lower(), mark, quoted=False)
        case str() | int() | float():
            return Scalar(value, str(value), mark, quoted=isinstance(value, str))
        case list() | tuple():
            return Listing(tuple(from_plain(item, mark) for item in value), mark)
        case dict() if all(isinstance(key, str) for key in value):
            return Table({key: Entry(mark, from_plain(item, mark)) for key, item in value.items()}, mark)
    raise ModelError(f"a {type(value).__name__} cannot stand in a spec; use text keys, lists, text and numbers")


def at(node: Node, path: Path) -> Node | None:
    """Give the node that a path leads to, None if there is none.

    >>> tree = from_plain({"cycle": [{"name": "work", "delay": "9 ms"}]}, Mark("here", 1, 1))
    >>> at(tree, "cycle.work.delay") is at(tree, ["cycle", 0, "delay"])
    True
    """
    for part in _parts(path):
        if (child := _child(node, part)) is None:
            return None
        node = child.node
    return node


def canonical(node: Node, path: Path) -> str:
    """Write a path the one way it is reported: items by name where the name is theirs alone.

    Parts that lead nowhere stay as they are.

    >>> canonical(from_plain({"cycle": [{"name": "work", "delay": "9 ms"}]}, Mark("here", 1, 1)), "cycle.0.delay")
    'cycle.work.delay'
    """
    written: list[str | int] = []
    for part in _parts(path):
        if isinstance(node, Listing) and (index := _index(node, str(part))) is not None:
            written.append(node.names[index])
        else:
            written.append(_key(node, str(part)) if isinstance(node, Table) else part)
        child = _child(node, part)
        node = child.node if child else Scalar(None, "", node.mark, quoted=False)
    return join(written)


def key_mark(node: Node, path: Path) -> Mark:
    """Say where the key stands that a path ends in; of an item, where it begins.

    Parts that lead nowhere are passed over: beyond what exists the key around it is given, and a path
    with a word too many (pydantic puts the tags of unions into its paths) still arrives.

    >>> tree = Table({"cpu": Entry(Mark("f", 1, 1), from_plain({}, Mark("f", 1, 6)))}, Mark("f", 1, 1))
    >>> key_mark(tree, "cpu.demand").column, value_mark(tree, "cpu.demand").column
    (1, 6)
    """
    return _nearest(node, path).key_mark


def value_mark(node: Node, path: Path) -> Mark:
    """Say where the value begins that a path leads to, or as much of it as exists."""
    return _nearest(node, path).node.mark


def replace(root: Node, path: Path, new_node: Node) -> Node:
    """Give a tree that has `new_node` at the path, in the place of another or as a new key.

    Raises UnknownNameError when the path has no parent there, or is an item that does not exist.

    >>> tree = from_plain({"cpu": {"servers": 1}}, Mark("web.yaml", 1, 1))
    >>> plain(replace(tree, "cpu.servers", from_plain(2, Mark("--set", 1, 1))))
    {'cpu': {'servers': 2}}
    >>> replace(tree, "cpx.servers", tree)
    Traceback (most recent call last):
    slipstick.errors.UnknownNameError: there is no path 'cpx'; did you mean 'cpu'?
    """
    parts = _parts(path)
    if not parts:
        return new_node
    key = str(parts[0])
    match root:
        case Table() if (key := _key(root, key)) in root.entries or len(parts) == 1:
            old = root.entries.get(key) or Entry(new_node.mark, new_node)
            changed = Entry(old.key_mark, replace(old.node, parts[1:], new_node))
            return Table({**root.entries, key: changed}, root.mark)
        case Listing() if (index := _index(root, key)) is not None:
            item = replace(root.items[index], parts[1:], new_node)
            return Listing((*root.items[:index], item, *root.items[index + 1 :]), root.mark)
    raise UnknownNameError("path", key, _names(root))


def merge(base: Node, changes: Node) -> Node:
    """Lay changes over a base: tables are merged key by key, all else is replaced.

    What both have is marked where the changes are.

    >>> here = Mark("here", 1, 1)
    >>> plain(merge(from_plain({"a": {"x": 1, "y": 2}}, here), from_plain({"a": {"y": [3]}}, here)))
    {'a': {'x': 1, 'y': [3]}}
    """
    if not (isinstance(base, Table) and isinstance(changes, Table)):
        return changes
    merged = dict(base.entries)
    for key, entry in changes.entries.items():
        old = merged.get(key)
        merged[key] = Entry(entry.key_mark, merge(old.node, entry.node)) if old else entry
    return Table(merged, changes.mark)


def leaves(node: Node) -> Iterator[tuple[str, Scalar]]:
    """Give every scalar with its path, in order; items go by name where the name is theirs alone.

    >>> tree = from_plain({"cycle": [{"name": "work", "scv": 1}, {"repeat": 3}]}, Mark("here", 1, 1))
    >>> [path for path, _ in leaves(tree)]
    ['cycle.work.name', 'cycle.work.scv', 'cycle.1.repeat']
    """
    return ((join(parts), scalar) for parts, scalar in _leaves(node, ()))


def _leaves(node: Node, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    match node:
        case Scalar():
            yield above, node
        case Listing():
            for name, item in zip(_names(node), node.items, strict=True):
                yield from _leaves(item, (*above, name))
        case Table():
            for key, entry in node.entries.items():
                yield from _leaves(entry.node, (*above, key))


def _parts(path: Path) -> Sequence[str | int]:
    return split(path) if isinstance(path, str) else path


def _written(part: str) -> str:
    if not _NEEDS_QUOTES.search(part):
        return part
    return '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _nearest(node: Node, path: Path) -> Entry:
    entry = Entry(node.mark, node)
    for part in _parts(path):
        entry = _child(entry.node, part) or entry
    return entry


def _key(table: Table, part: str) -> str:
    """Give the key of a table that a part of a path means; a bandwidth and the time of a byte are one quantity."""
    other = _SYNONYMS.get(part, part)
    return other if other in table.entries and part not in table.entries else part


def _child(node: Node, part: str | int) -> Entry | None:
    if isinstance(node, Table):
        return node.entries.get(_key(node, str(part)))
    if isinstance(node, Listing) and (index := _index(node, str(part))) is not None:
        return Entry(node.items[index].mark, node.items[index])
    return None


def _index(listing: Listing, part: str) -> int | None:
    if _NUMBER.fullmatch(part):
        return int(part) if int(part) < len(listing.items) else None
    return listing.names.index(part) if part in listing.names else None


def _name(item: Node) -> str | None:
    """Give the name of an item, unless it would be taken for a number."""
    entry = item.entries.get("name") if isinstance(item, Table) else None
    value = entry.node.value if entry and isinstance(entry.node, Scalar) else None
    return value if isinstance(value, str) and value and not _NUMBER.fullmatch(value) else None


def _names(node: Node) -> list[str]:
    """List what the children of a node go by."""
    if isinstance(node, Listing):
        return list(node.names)
    return list(node.entries) if isinstance(node, Table) else []
