"""Strict YAML as trees of values that know where they were written, with all problems of a file in
one error.

A node is a `Scalar`, a `Listing` of nodes or a `Table` of named nodes. A path names one by keys
with dots between: ``stations.cpu.demand``. An item of a listing goes by its 0-based number
(``cycle.0.time``), or by its ``name`` where no other item has the same (``cycle.work.time``). A key
with a dot is put in double quotes: ``ssd."disk.demand"``. One tree holds values from files, their
bases and the command line, and each is reported where it was written: a node carries its mark, file
included; `replace` and `merge` give new trees.

`read_file` and `read_text` read a spec, `read_value` one value from the command line. Plain values
mean what the YAML 1.2 core schema says; what could be taken for something else (``017``), could not
be a quantity (``.nan``) or would make a small file large (anchors, merge keys) is refused by name.
libyaml tells what stands in a file as a stream of events, and a tree is made of them here:
composing instead recurses (a file of brackets ends the process), constructing reads YAML 1.1 and
follows aliases, and neither keeps positions. What the parsers of libyaml and PyYAML read
differently is refused, in the same words.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeAlias

import yaml

from slipstick.errors import ModelError, Problem, SpecError, UnknownNameError, short
from slipstick.late import dataclass, late_pattern
from slipstick.limits import check_cost, limit_in_force, too_many_message


class Mark(NamedTuple):
    """A place in a file, counted from 1."""

    file: str
    line: int
    column: int

    def problem(self, message: str, path: NodePath = "") -> Problem:
        """Build the problem with the value at a path, at this place of a file."""
        return Problem(
            self.file,
            self.line,
            self.column,
            path if isinstance(path, str) else join_path(path),
            message,
        )

    def error(self, message: str, path: NodePath = "") -> SpecError:
        """Build the error of one problem at this place."""
        return SpecError([self.problem(message, path)])


class Scalar(NamedTuple):
    """A single value, with its text and whether that text was in quotes."""

    value: str | int | float | bool | None
    text: str
    mark: Mark
    quoted: bool


@dataclass(frozen=True)
class Listing:
    """A list of values."""

    items: tuple[Node, ...]
    mark: Mark

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The label of each item: its name if no other item has the same, else its number."""
        item_names = [_item_name(item) for item in self.items]
        use_counts = Counter(item_names)
        return tuple(
            name if name and use_counts[name] == 1 else str(index)
            for index, name in enumerate(item_names)
        )


class Entry(NamedTuple):
    """The value under a key, with the place of the key."""

    key_mark: Mark
    node: Node


class Table(NamedTuple):
    """Values by key, in the order in which the file has them."""

    entries: Mapping[str, Entry]
    mark: Mark


Node: TypeAlias = Scalar | Listing | Table
NodePath: TypeAlias = str | Sequence[str | int]  # dotted, or its parts

_PATH_PART = late_pattern(r'"(?P<quoted>(?:[^"\\]|\\.)*)"(?=\.|\Z)|(?P<bare>[^.]*)', re.DOTALL)
_NEEDS_QUOTES = late_pattern(r'\A\Z|\.|\A"')
_SYNONYMS = {"bandwidth": "per_byte"}
_ITEM_INDEX = late_pattern(r"0|[1-9][0-9]{0,8}")


def split_path(path: str) -> tuple[str, ...]:
    """Split a dotted path into its keys.

    >>> split_path("stations.cpu.demand")
    ('stations', 'cpu', 'demand')
    >>> split_path('ssd."disk.demand"')
    ('ssd', 'disk.demand')
    """
    # Most paths have no quotes, and are split without the pattern.
    if '"' not in path:
        return tuple(path.split(".")) if path else ()
    path_parts: list[str] = []
    start_index = 0
    while path and start_index <= len(path) and (match := _PATH_PART.match(path, start_index)):
        quoted_text = match["quoted"]
        path_parts.append(
            match["bare"]
            if quoted_text is None
            else re.sub(r"\\(.)", r"\1", quoted_text, flags=re.DOTALL)
        )
        start_index = match.end() + 1
    return tuple(path_parts)


def join_path(keys: Sequence[str | int]) -> str:
    """Build a dotted path from keys; `split_path` is its inverse.

    >>> join_path(["ssd", "disk.demand"])
    'ssd."disk.demand"'
    """
    return ".".join(_quoted_key(str(path_part)) for path_part in keys)


def plain_data(node: Node) -> object:
    """Return the values of a tree as dicts, lists and scalars.

    >>> plain_data(from_plain({"cpu": {"servers": 2}}, Mark("web.yaml", 1, 1)))
    {'cpu': {'servers': 2}}
    """
    match node:
        case Scalar():
            return node.value
        case Listing():
            return [plain_data(item) for item in node.items]
        case Table():
            return {key: plain_data(entry.node) for key, entry in node.entries.items()}


class _Dumper(yaml.SafeDumper):
    """A dumper that writes objects of subclasses of int and float as plain numbers."""


_Dumper.add_multi_representer(int, lambda dumper, number: dumper.represent_int(int(number)))
_Dumper.add_multi_representer(float, lambda dumper, number: dumper.represent_float(float(number)))


def node_text(node: Node) -> str:
    """Return a scalar as written, and lists and tables on one line of YAML.

    >>> node_text(from_plain({"base": "linux-cluster", "year": 2034}, Mark("s.yaml", 1, 1)))
    '{base: linux-cluster, year: 2034}'
    """
    if isinstance(node, Scalar):
        return node.text
    text = yaml.dump(
        plain_data(node),
        Dumper=_Dumper,
        default_flow_style=True,
        sort_keys=False,
        width=float("inf"),
    )
    return str(text).rstrip("\n")


def from_plain(value: object, mark: Mark) -> Node:
    """Build a tree from dicts, lists and scalars; every node gets the same mark.

    Raises ModelError for anything else.

    >>> from_plain([1, True], Mark("here", 1, 1)).items[1].text
    'true'
    """
    match value:
        case None | bool():
            return Scalar(
                value, "null" if value is None else str(value).lower(), mark, quoted=False
            )
        case str() | int() | float():
            return Scalar(value, str(value), mark, quoted=isinstance(value, str))
        case list() | tuple():
            return Listing(tuple(from_plain(item, mark) for item in value), mark)
        case dict() if all(isinstance(key, str) for key in value):
            return Table(
                {key: Entry(mark, from_plain(item, mark)) for key, item in value.items()}, mark
            )
    raise ModelError(
        f"a {type(value).__name__} cannot stand in a spec; use text keys, lists, text and numbers"
    )


def node_at(node: Node, path: NodePath) -> Node | None:
    """Return the node at a path; None if there is none.

    >>> tree = from_plain({"cycle": [{"name": "work", "delay": "9 ms"}]}, Mark("here", 1, 1))
    >>> node_at(tree, "cycle.work.delay") is node_at(tree, ["cycle", 0, "delay"])
    True
    """
    for path_part in _path_parts(path):
        if (child := _child_entry(node, path_part)) is None:
            return None
        node = child.node
    return node


def canonical(node: Node, path: NodePath) -> str:
    """Return the canonical form of a path, in which an item of a list has its name if that is
    unique.

    Parts that lead nowhere stay as they are.

    >>> canonical(
    ...     from_plain({"cycle": [{"name": "work", "delay": "9 ms"}]}, Mark("here", 1, 1)),
    ...     "cycle.0.delay",
    ... )
    'cycle.work.delay'
    """
    path_parts: list[str | int] = []
    for path_part in _path_parts(path):
        if isinstance(node, Listing) and (index := _item_index(node, str(path_part))) is not None:
            path_parts.append(node.names[index])
        else:
            path_parts.append(
                _key_in_table(node, str(path_part)) if isinstance(node, Table) else path_part
            )
        child = _child_entry(node, path_part)
        node = child.node if child else Scalar(None, "", node.mark, quoted=False)
    return join_path(path_parts)


def key_mark(node: Node, path: NodePath) -> Mark:
    """Return the place of the last key of a path; for an item of a list, the place where the item
    begins.

    Parts of the path that do not exist are skipped: the place is then that of the nearest key that
    exists. So a path with a part too many, such as the tag of a union in a path of pydantic, works.

    >>> tree = Table(
    ...     {"cpu": Entry(Mark("f", 1, 1), from_plain({}, Mark("f", 1, 6)))}, Mark("f", 1, 1)
    ... )
    >>> key_mark(tree, "cpu.demand").column, value_mark(tree, "cpu.demand").column
    (1, 6)
    """
    return _nearest_entry(node, path).key_mark


def value_mark(node: Node, path: NodePath) -> Mark:
    """Return the place of the value at a path, or of the deepest part of the path that exists in
    the tree.
    """
    return _nearest_entry(node, path).node.mark


def problem(node: Node, path: NodePath, message: str, is_at_key: bool = False) -> Problem:
    """Build the problem with a value, or with a key, at a path."""
    return (key_mark(node, path) if is_at_key else value_mark(node, path)).problem(message, path)


def replace(root: Node, path: NodePath, new_node: Node) -> Node:
    """Return a tree in which `new_node` stands at a path, in place of the node there or under a new
    key.

    Raises UnknownNameError when the path has no parent there, or is an item that does not exist.

    >>> tree = from_plain({"cpu": {"servers": 1}}, Mark("web.yaml", 1, 1))
    >>> plain_data(replace(tree, "cpu.servers", from_plain(2, Mark("--set", 1, 1))))
    {'cpu': {'servers': 2}}
    >>> replace(tree, "cpx.servers", tree)
    Traceback (most recent call last):
    slipstick.errors.UnknownNameError: there is no path 'cpx'; did you mean 'cpu'?
    """
    path_parts = _path_parts(path)
    if not path_parts:
        return new_node
    key = str(path_parts[0])
    match root:
        case Table() if (key := _key_in_table(root, key)) in root.entries or len(path_parts) == 1:
            old_entry = root.entries.get(key) or Entry(new_node.mark, new_node)
            changed_entry = Entry(
                old_entry.key_mark, replace(old_entry.node, path_parts[1:], new_node)
            )
            return Table({**root.entries, key: changed_entry}, root.mark)
        case Listing() if (index := _item_index(root, key)) is not None:
            changed_item = replace(root.items[index], path_parts[1:], new_node)
            return Listing((*root.items[:index], changed_item, *root.items[index + 1 :]), root.mark)
    raise UnknownNameError("path", key, _labels_of(root))


def merge(base: Node, changes: Node) -> Node:
    """Merge changes into a base: tables are merged key by key; any other value replaces the value
    in the base.

    What both have is marked where the changes are.

    >>> here = Mark("here", 1, 1)
    >>> plain_data(
    ...     merge(from_plain({"a": {"x": 1, "y": 2}}, here), from_plain({"a": {"y": [3]}}, here))
    ... )
    {'a': {'x': 1, 'y': [3]}}
    """
    if not (isinstance(base, Table) and isinstance(changes, Table)):
        return changes
    merged_entries = dict(base.entries)
    for key, entry in changes.entries.items():
        base_entry = merged_entries.get(key)
        merged_entries[key] = (
            Entry(entry.key_mark, merge(base_entry.node, entry.node)) if base_entry else entry
        )
    return Table(merged_entries, changes.mark)


def leaves(node: Node, parent_path: str = "") -> Iterator[tuple[str, Scalar]]:
    """Yield every scalar with its path, in order; an item of a list has its name in the path if
    that is unique.

    Parameters
    ----------
    node : the tree
    parent_path : path of the tree itself

    >>> tree = from_plain(
    ...     {"cycle": [{"name": "work", "scv": 1}, {"repeat": 3}]}, Mark("here", 1, 1)
    ... )
    >>> [path for path, _ in leaves(tree)]
    ['cycle.work.name', 'cycle.work.scv', 'cycle.1.repeat']
    """
    prefix = f"{parent_path}." if parent_path else ""
    match node:
        case Scalar():
            yield parent_path, node
        case Listing():
            for name, item in zip(_labels_of(node), node.items, strict=True):
                yield from leaves(item, prefix + _quoted_key(name))
        case Table():
            for key, entry in node.entries.items():
                yield from leaves(entry.node, prefix + _quoted_key(key))


def _path_parts(path: NodePath) -> Sequence[str | int]:
    return split_path(path) if isinstance(path, str) else path


@lru_cache(maxsize=4096)
def _quoted_key(path_part: str) -> str:
    if not _NEEDS_QUOTES.search(path_part):
        return path_part
    return '"' + path_part.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _nearest_entry(node: Node, path: NodePath) -> Entry:
    """Return the entry at a path; parts of the path that do not exist are skipped."""
    entry = Entry(node.mark, node)
    for path_part in _path_parts(path):
        entry = _child_entry(entry.node, path_part) or entry
    return entry


def _key_in_table(table: Table, path_part: str) -> str:
    """Return the key of a table for a part of a path; the bandwidth and the time of a byte are one
    quantity with two keys.
    """
    synonym = _SYNONYMS.get(path_part, path_part)
    return synonym if synonym in table.entries and path_part not in table.entries else path_part


def _child_entry(node: Node, path_part: str | int) -> Entry | None:
    if isinstance(node, Table):
        return node.entries.get(_key_in_table(node, str(path_part)))
    if isinstance(node, Listing) and (index := _item_index(node, str(path_part))) is not None:
        return Entry(node.items[index].mark, node.items[index])
    return None


def _item_index(listing: Listing, path_part: str) -> int | None:
    if _ITEM_INDEX.fullmatch(path_part):
        return int(path_part) if int(path_part) < len(listing.items) else None
    return listing.names.index(path_part) if path_part in listing.names else None


def _item_name(item: Node) -> str | None:
    """Return the name of an item of a list; None if it has none, or one that reads as a number."""
    name_entry = item.entries.get("name") if isinstance(item, Table) else None
    name_value = (
        name_entry.node.value if name_entry and isinstance(name_entry.node, Scalar) else None
    )
    return (
        name_value
        if isinstance(name_value, str) and name_value and not _ITEM_INDEX.fullmatch(name_value)
        else None
    )


def _labels_of(node: Node) -> list[str]:
    """List the keys of a table, or the labels of the items of a list."""
    if isinstance(node, Listing):
        return list(node.names)
    return list(node.entries) if isinstance(node, Table) else []


NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# Whole numbers of up to 18 digits fit into 64 bits: 10^18 < 2^63.
MOST_DIGITS = 18
_TRUTH_VALUES = {
    text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")
}
_DECIMAL = late_pattern(r"([-+]?)(?:0(?=[0-9]))*+([0-9]++)")
_RADIX = late_pattern(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
_FLOAT = late_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = late_pattern(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)


@lru_cache(maxsize=4096)  # a file of counts has few different numbers
def scalar_value(text: str) -> tuple[str | int | float | bool | None, str]:
    """Return the value of an unquoted text, and a message if the text is not allowed (else empty).

    >>> [scalar_value(text)[0] for text in ("0x10", "1e3", "TRUE", "~", "no", "12:30")]
    [16, 1000.0, True, None, 'no', '12:30']
    >>> scalar_value("08")[1]
    "'08' is ambiguous; write 8"
    """
    if text in NULLS:
        return None, ""
    if text in _TRUTH_VALUES:
        return _TRUTH_VALUES[text], ""
    if text[0] not in "+-.0123456789":
        return text, ""
    if decimal_match := _DECIMAL.fullmatch(text):
        return _value_of_digits(text, decimal_match[1], decimal_match[2])
    if _RADIX.fullmatch(text):
        value = int(text, 0)
        return value, _too_long_message(text) if value >= 10**MOST_DIGITS else ""
    if _NOT_FINITE.fullmatch(text):
        return text, f"{short(text)} is not a finite number; write one, or put quotes around text"
    return _value_of_fraction(text) if _FLOAT.fullmatch(text) else (text, "")


def _value_of_digits(text: str, sign: str, digits: str) -> tuple[int, str]:
    if len(digits) > MOST_DIGITS:
        return 0, _too_long_message(text)
    if len(text) > len(sign + digits):
        octal_hint = "" if sign or set(digits) & {"8", "9"} else f" or 0o{digits}"
        return 0, f"{short(text)} is ambiguous; write {sign}{digits}{octal_hint}"
    return int(text), ""


def _too_long_message(text: str) -> str:
    return (
        f"{short(text)} is an integer of more than {MOST_DIGITS} digits; write it as in 1e20, or"
        " quote it as text"
    )


def _value_of_fraction(text: str) -> tuple[float, str]:
    value = float(text)
    # Digits other than 0 that give 0: the number is too small for a double.
    is_underflow = value == 0 and re.search("[1-9]", re.split("[eE]", text)[0])
    if is_underflow or value in (float("inf"), float("-inf")):
        verb = "underflows" if is_underflow else "overflows"
        return value, f"{short(text)} {verb} a double; write 0, or a size from 5e-324 to 1.7e308"
    return value, ""


# Limits of what one file may hold, so that reading it takes bounded time and depth of the stack.
MOST_NESTED = 64
LONGEST_SCALAR = 8192
LONGEST_KEY = 256
MOST_PROBLEMS = 1000  # the pass ends here: more problems in one message do not help
# Both give the same events; libyaml is 10 times as fast.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Not text: tabs and other control characters, lone surrogates, the line ends and marks only some
# editors see.
_FORBIDDEN_CHARACTERS = (
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]+"
)
_DIRECTIVE = late_pattern(r"(?: *(?:#[^\n]*)?\n)*+%")


def _forbidden_characters(text: str) -> Iterator[re.Match[str]]:
    """Find characters that a text file must not contain. Printable text is tested first, because
    compiling the pattern is slow.
    """
    return (
        iter(())
        if text.replace("\n", "").isprintable()
        else re.finditer(_FORBIDDEN_CHARACTERS, text)
    )


def _sharing_message(feature: str) -> str:
    return f"{feature} is not allowed; share values with `extends:`, or put text in quotes"


# What the parser says (libyaml's words and PyYAML's), whether it is said of the place where the
# thing began, and what we say. `{line}` is where it began, `{sign}` and `{end}` are what was met
# instead.
_SYNTAX_MESSAGES = [
    (r"got '\?'", False, "text with '?' within brackets must be in quotes"),
    (r"unexpected ':'", False, "put a space after ':'"),
    (
        r"mapping values are not allowed",
        False,
        "':' cannot stand here; quote text with ': ' in it, or check the indentation",
    ),
    (
        r"sequence entries are not allowed",
        False,
        "'-' cannot stand here; give each item a line of its own",
    ),
    (r"find expected ':'", True, "this is no 'key: value'; write a ':' and a space after the key"),
    (r"cannot start any token", False, "a value cannot begin with {sign}; put it in quotes"),
    (
        r"quoted scalar: found unexpected (?:end|document)",
        True,
        "the quotes opened here are not closed",
    ),
    (
        r"invalid Unicode",
        True,
        "an escape in these quotes is not a character: a lone surrogate or above U+10FFFF",
    ),
    (
        r"escape|hexdecimal",
        True,
        r"a '\' between double quotes begins an escape; write '\\', or use single quotes",
    ),
    (
        r"',' or '[]}]'",
        True,
        "the bracket opened here must be closed, or a ',' written, before {end}",
    ),
    (r"alias|anchor|a tag", False, _sharing_message("what begins with '&', '*' or '!'")),
    (r"block scalar", True, "after '|' or '>' the text begins on the next line"),
    (r"node content", False, "a value is missing before {end}, or must be in quotes"),
    (
        r"block end|expected key|'-' indicator",
        False,
        "this does not fit the block begun in line {line}; check the indentation",
    ),
    (r"", False, "this is not YAML; check indentation, brackets and quotes"),
]


_KEY_BEFORE_BRACKET = late_pattern(r"\s*(?:- )?([A-Za-z_][\w.*-]*)(?:\s+|:)[{\[]")
"""A key without ':' and a space behind it, such as ``web {servers: 2}``."""


class _EndOfPassError(Exception):
    """Raised where a syntax error ends the reading; caught by `parse_text`."""


def parse_text(text: str, file: str) -> Node:
    """Parse a text into a tree; an empty text gives an empty Scalar.

    Raises SpecError with all problems found.
    """
    reader = _TreeReader(text.removeprefix("\ufeff").replace("\r\n", "\n"), file)
    root: Node = Scalar(None, "", reader.last_mark, quoted=False)
    try:
        root = reader.read_document() or root
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reader.report_syntax(error)
    except _EndOfPassError:
        pass
    if reader.problems:
        raise SpecError(reader.problems)
    return root


def mark_at(text: str, index: int, file: str) -> Mark:
    """Return the place, as line and column, of the character at an index of a text."""
    return Mark(file, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


def _character_message(character: str) -> str:
    if character == "\t":
        return "a tab stands here; write spaces"
    return f"the character U+{ord(character):04X} is not text; remove it"


def _syntax_message(error_text: str) -> tuple[bool, str]:
    """Return our message for an error of the YAML parser, and whether its place is where the
    construct begins.
    """
    return next(
        (is_at_block_start, message)
        for pattern, is_at_block_start, message in _SYNTAX_MESSAGES
        if re.search(pattern, error_text)
    )


class _OpenNode(NamedTuple):
    """A table or a list that has not ended: where it begins, and whether brackets enclose it."""

    begin_mark: Mark
    has_brackets: bool


class _TreeReader:
    """Parses one text into a tree and collects its problems; `path` and `last_mark` are the current
    place.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.events: Iterator[Any] = iter(())
        self.problems: list[Problem] = []
        self.open_nodes: list[_OpenNode] = []
        self.path: list[str | int] = []
        self.last_mark = Mark(file, 1, 1)
        self.value_count = 0
        self.most_values = limit_in_force("spec_values")

    def report(self, mark: Mark, message: str, *keys_inside: str) -> None:
        """Record a problem at a place; the reading goes on."""
        self.problems.append(mark.problem(message, (*self.path, *keys_inside)))

    def stop(self, mark: Mark, message: str) -> NoReturn:
        """Record a problem at a place, and end the reading."""
        self.report(mark, message)
        raise _EndOfPassError

    def stop_at_syntax_error(self, mark: Mark, error_text: str) -> NoReturn:
        """End the reading at a syntax error, for which the YAML parser knows the place but no
        path.
        """
        self.path.clear()
        self.stop(mark, _syntax_message(error_text)[1])

    def check_characters(self) -> None:
        """Report characters that are not text, and directives; end the reading if there are any."""
        for character_match in islice(_forbidden_characters(self.text), MOST_PROBLEMS):
            self.report(
                mark_at(self.text, character_match.start(), self.file),
                _character_message(character_match[0][0]),
            )
        if directive := _DIRECTIVE.match(self.text):
            self.report(
                mark_at(self.text, directive.end() - 1, self.file),
                "a file needs no '%' line; leave it out",
            )
        if self.problems:
            raise _EndOfPassError  # both parsers end at these, each in its own way

    def report_syntax(self, error: Exception) -> None:
        """Report an error of the YAML parser in our words, at the place that the user must mend."""
        error_mark = getattr(error, "problem_mark", None)
        context_mark = getattr(error, "context_mark", None) or error_mark
        context_and_error_marks = [
            self.mark_of(yaml_mark) if yaml_mark else self.last_mark
            for yaml_mark in (context_mark, error_mark)
        ]
        found_text = repr(self.text[error_mark.index : error_mark.index + 1]) if error_mark else ""
        error_text = (
            "invalid Unicode"  # PyYAML without libyaml knows only ValueError for "\\Uffffffff"
        )
        if isinstance(error, yaml.MarkedYAMLError):
            error_text = f"{error.context}: {error.problem}, got {found_text}"
        if (
            "node content" in error_text
            and found_text == "''"
            and self.open_nodes
            and self.open_nodes[-1].has_brackets
        ):
            # The unclosed bracket is what the user has to mend, not the end of the text.
            error_text, context_and_error_marks[0] = (
                "',' or ']'",
                self.open_nodes[-1].begin_mark,
            )
        is_at_block_start, message = _syntax_message(error_text)
        end_text = (
            "the end of the file"
            if found_text == "''"
            else f"{found_text} in line {context_and_error_marks[1].line}"
        )
        self.path.clear()  # the parser knows the place only
        line_number = context_and_error_marks[1].line
        # An error may stand behind the last line.
        line = "".join(self.text.split("\n", line_number)[line_number - 1 : line_number])
        if "mapping values" in error_text and (key_match := _KEY_BEFORE_BRACKET.match(line)):
            mark = Mark(self.file, line_number, key_match.start(1) + 1)
            self.report(mark, f"write a ':' and a space after {key_match[1]}")
            return
        self.report(
            context_and_error_marks[0 if is_at_block_start else 1],
            message.format(line=context_and_error_marks[0].line, sign=found_text, end=end_text),
        )

    def mark_of(self, yaml_mark: Any) -> Mark:
        return Mark(self.file, yaml_mark.line + 1, yaml_mark.column + 1)

    def read_document(self) -> Node | None:
        """Parse the only document of the text; None if the text is empty."""
        self.check_characters()
        # The same as `yaml.parse`, without the cost of a generator.
        self.events = iter(LOADER(self.text).get_event, None)
        nodes: list[Node] = []
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent) and nodes:
                self.stop(
                    self.mark_of(event.start_mark),
                    "a second document begins here; write one per file",
                )
            if isinstance(event, yaml.NodeEvent):
                nodes.append(self.read_node(event))
        return nodes[0] if nodes else None

    def read_node(self, event: Any, is_key: bool = False, key_mark: Mark | None = None) -> Node:
        """Build the node that begins with an event: a key, or a value that may belong to a key."""
        if len(self.problems) >= MOST_PROBLEMS:
            raise _EndOfPassError
        mark = self.last_mark = self.mark_of(event.start_mark)
        if event.anchor is not None or event.tag is not None:
            self.check_sharing(event)
        if not is_key:
            self.value_count += 1
            if self.value_count > self.most_values:
                self.stop(mark, too_many_message("spec_values", "values", _SPLIT_ADVICE))
        if isinstance(event, yaml.ScalarEvent):
            return self.read_scalar(event, mark, is_key, key_mark)
        if isinstance(event, yaml.AliasEvent):
            return Scalar(None, f"*{event.anchor}", mark, quoted=True)
        if len(self.open_nodes) == MOST_NESTED:
            self.stop(
                mark, f"nested more than {MOST_NESTED} deep; name the parts and use less depth"
            )
        self.open_nodes.append(_OpenNode(mark, bool(event.flow_style)))
        nested_node = (
            self.read_table(mark)
            if isinstance(event, yaml.MappingStartEvent)
            else self.read_listing(mark)
        )
        self.open_nodes.pop()
        return nested_node

    def read_listing(self, mark: Mark) -> Listing:
        items: list[Node] = []
        self.path.append(0)
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.read_node(event))
            self.path[-1] = len(items)
        self.path.pop()
        return Listing(tuple(items), mark)

    def read_table(self, mark: Mark) -> Table:
        entries: dict[str, Entry] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key_node = self.read_node(event, is_key=True)
            key = self.read_key(key_node, entries)
            self.path.append(key)
            value_node = self.read_node(next(self.events), key_mark=key_node.mark)
            self.path.pop()
            self.check_separators(key_node, value_node, entries)
            # Of two equal keys the first one stays; the second is reported.
            entries.setdefault(key, Entry(key_node.mark, value_node))
        return Table(entries, mark)

    def check_separators(self, key_node: Node, value_node: Node, entries: dict[str, Entry]) -> None:
        """Report a decimal comma within braces, which makes a key of the digits behind it, and a
        key within braces that a blank and no colon separates from its value.
        """
        last_value = entries[next(reversed(entries))].node if entries else None
        if (
            isinstance(key_node, Scalar)
            and isinstance(value_node, Scalar)
            and isinstance(last_value, Scalar)
            and key_node.text[:1].isdigit()
            and last_value.text.lstrip("+-").isdigit()
            and not value_node.text
            and key_node.mark.line == last_value.mark.line
            and key_node.mark.column == last_value.mark.column + len(last_value.text) + 1
        ):
            digits, digits_behind = last_value.text, key_node.text
            thousands_match = re.match("[0-9]{3}(?![0-9])", digits_behind)
            self.report(
                key_node.mark,
                f"a comma ends a value; write a decimal point: {digits}.{digits_behind}"
                + (f", or {digits}{digits_behind} for thousands" if thousands_match else ""),
            )
        elif (
            self.open_nodes[-1].has_brackets
            and isinstance(key_node, Scalar)
            and not key_node.quoted
            and re.fullmatch(r"[A-Za-z_][\w.-]*(?:\s*=|\s).*", key_node.text)
            and isinstance(value_node, Scalar)
            and not (value_node.text or value_node.quoted)
        ):
            self.report(
                key_node.mark,
                f"{short(key_node.text)} is no 'key: value'; write a ':' and a space after the key,"
                " or quotes around a text that has a comma",
            )

    def check_sharing(self, event: Any) -> None:
        """Report an alias, an anchor or a tag, none of which is allowed."""
        if isinstance(event, yaml.AliasEvent):
            self.report(self.last_mark, _sharing_message(f"the alias {short(f'*{event.anchor}')}"))
        elif event.anchor is not None:
            self.report(self.last_mark, _sharing_message(f"the anchor {short(f'&{event.anchor}')}"))
        if (tag := getattr(event, "tag", None)) is not None:
            tag_name = tag.replace("tag:yaml.org,2002:", "!!")
            self.report(self.last_mark, _sharing_message(f"the tag {short(tag_name)}"))

    def read_scalar(self, event: Any, mark: Mark, is_key: bool, key_mark: Mark | None) -> Scalar:
        style = event.style
        text = event.value
        if style or (self.open_nodes and self.open_nodes[-1].has_brackets):
            self.check_portable(event)
        if is_key:
            return Scalar(text, text, mark, bool(style))
        if len(text) > LONGEST_SCALAR:
            self.report(
                mark,
                f"a text of {len(text):,} characters; at most {LONGEST_SCALAR:,} can be written",
            )
            return Scalar(None, "", mark, bool(style))
        if style:  # PyYAML's word for none is None, libyaml's is empty
            return Scalar(text, text, mark, True)
        value, refusal_reason = scalar_value(text)
        if refusal_reason:
            self.report(mark, refusal_reason)
        # A missing value has no place of its own: it is reported at its key.
        return Scalar(value, text, key_mark if key_mark and not text else mark, False)

    def check_portable(self, event: Any) -> None:
        """Report scalars that one of two YAML parsers refuses, so that both read a file alike. Most
        of these scalars end the reading.
        """
        start_index = event.start_mark.index
        end_mark = event.end_mark
        if event.style == '"':
            self.check_escapes(event.value)
        elif event.style in ("|", ">") and re.match(
            r"[|>][-+0-9]*#", self.text[start_index : start_index + 4]
        ):
            self.stop_at_syntax_error(self.last_mark, "block scalar")
        elif not event.style:  # within brackets
            if "?" in event.value:
                self.stop_at_syntax_error(
                    mark_at(self.text, self.text.index("?", start_index), self.file), "got '?'"
                )
            if self.text[end_mark.index : end_mark.index + 1] == ":" and self.text[
                end_mark.index + 1 : end_mark.index + 2
            ] in set("[]{},"):
                self.stop_at_syntax_error(self.mark_of(end_mark), "unexpected ':'")

    def check_escapes(self, value: str) -> None:
        """Report an escape between double quotes that gives a character which is not text."""
        character_match = next(_forbidden_characters(value.replace("\t", " ")), None)
        if character_match and "\ud800" <= character_match[0][0] <= "\udfff":
            self.stop_at_syntax_error(self.last_mark, "invalid Unicode")
        if character_match:
            self.report(self.last_mark, _character_message(character_match[0][0]))

    def read_key(self, node: Node, entries: Mapping[str, Entry]) -> str:
        """Return the text of a key. A key that is not allowed is reported, and the reading goes on
        with its value.
        """
        text = node.text if isinstance(node, Scalar) else ""
        if not isinstance(node, Scalar) or "\n" in text:
            self.report(
                node.mark,
                "a key must be text on one line; a list, a mapping or a block cannot be one",
            )
        elif len(text) > LONGEST_KEY:
            message = (
                f"the key {short(text)} has {len(text):,} characters; at most {LONGEST_KEY} are"
                " allowed"
            )
            self.report(node.mark, message)
        elif text == "<<" and not node.quoted:
            self.report(node.mark, _sharing_message("the merge key '<<'"))
        elif text == "" or (text in NULLS and not node.quoted):
            self.report(
                node.mark, "a key is missing; write a name, in quotes if it is 'null' or '~'"
            )
        elif text in entries:
            line = entries[text].key_mark.line
            message = f"key {short(text)} already stands in line {line}; keep one of them"
            self.report(node.mark, message, text)
        return text


STANDARD_INPUT = "-"
"""The name of a file that stands for standard input."""
_SPLIT_ADVICE = "split the file, use `extends:`"


def read_file(path: Path | str) -> Node:
    """Read a spec from a file of UTF-8 text.

    Raises SpecError with all problems found; a file that is not there is one, too.
    """
    return read_text(file_text(path), shown_name(path))


def file_text(path: Path | str, limit_name: str = "spec_bytes", advice: str = _SPLIT_ADVICE) -> str:
    """Read the text of a regular file.

    Parameters
    ----------
    path : the file
    limit_name : limit of its size, by its name in `slipstick.limits`
    advice : what to do with a larger one

    Raises
    ------
    SpecError : no such file, a device, too large, or not UTF-8
    """
    file_start = Mark(shown_name(path), 1, 1)
    with open_file(path, file_start, limit_name, advice) as file:
        file_bytes = _read_up_to(limit_name, file)
    # The size is checked again: a file may grow, or state no size, as files in /proc do.
    _check_size(len(file_bytes), file_start, limit_name, advice)
    return _decode_text(file_bytes, file_start)


def shown_name(path: Path | str) -> str:
    """Return the name of a file for messages, with unprintable characters escaped.

    >>> shown_name("runs\x07.csv")
    "'runs\\\\x07.csv'"
    """
    name_of_path = "standard input" if str(path) == STANDARD_INPUT else str(path)
    return name_of_path if name_of_path.isprintable() else ascii(name_of_path)


def read_text(text: str, file: str) -> Node:
    """Parse a spec from text; `file` is the name under which problems are reported.

    Raises SpecError with all problems found.

    >>> from slipstick.schema.text import plain_data
    >>> plain_data(read_text("stations: {cpu: {servers: 0x2, demand: 5 ms}}", "web.yaml"))
    {'stations': {'cpu': {'servers': 2, 'demand': '5 ms'}}}
    >>> read_text("servers: 017", "web.yaml")
    Traceback (most recent call last):
    slipstick.errors.SpecError: web.yaml:1:10: servers: '017' is ambiguous; write 17 or 0o17
    """
    root = read_value(text, file)
    if isinstance(root, Scalar) and root.text == "":
        raise Mark(file, 1, 1).error(
            "the file is empty; begin with the kind of spec, as in 'activity: 1'"
        )
    if not isinstance(root, Table):
        raise root.mark.error(
            "a spec consists of 'key: value' lines; begin with the kind of spec, as in 'activity:"
            " 1'"
        )
    return root


def read_value(text: str, file: str) -> Node:
    """Parse one value with the syntax of specs: ``3``, ``20 B``, ``[20 B, 4120 B]``.

    Raises SpecError with all problems found.

    >>> read_value("1e3", "--set cpu.servers").value
    1000.0
    """
    _check_size(len(text.encode("utf-8", "surrogatepass")), Mark(file, 1, 1))
    return parse_text(text, file)


@contextmanager
def open_file(
    path: Path | str, file_start: Mark, limit_name: str, advice: str
) -> Iterator[BinaryIO]:
    """Open a regular file within a limit of bytes; a hyphen stands for standard input.

    Parameters
    ----------
    path, limit_name, advice : as for `file_text`
    file_start : the beginning of the file, where it is refused
    """
    try:
        if str(path) == STANDARD_INPUT:
            input_bytes = standard_input()
            if len(input_bytes) > limit_in_force("input_bytes"):
                raise file_start.error(too_many_message("input_bytes", "bytes", "name a file"))
            _check_size(len(input_bytes), file_start, limit_name, advice)
            yield BytesIO(input_bytes)
            return
        file_status = os.stat(path)
        if stat.S_ISDIR(file_status.st_mode):
            raise file_start.error("this is a directory; name a file in it")
        if not stat.S_ISREG(file_status.st_mode):
            raise file_start.error("this is a pipe or a device; only regular files are read")
        _check_size(file_status.st_size, file_start, limit_name, advice)
        # Some files of /proc would block without end.
        with open(
            path,
            "rb",
            opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)),
        ) as file:
            yield file
    except (FileNotFoundError, ValueError):  # ValueError: a NUL in the path
        raise file_start.error(f"there is no such file{nearest_file(Path(path))}") from None
    except OSError as error:
        raise file_start.error(f"the file cannot be read: {error.strerror or error}") from None


def nearest_file(path: Path) -> str:
    """Return a hint for a missing file: the file with a similar name in the same folder, or else
    the advice to check the name.
    """
    sibling_names: list[str] = []
    with suppress(OSError, ValueError):  # no such folder, or a NUL
        sibling_names = [sibling.name for sibling in islice(path.parent.iterdir(), 1000)]
    close_names = get_close_matches(path.name[:80], sibling_names, n=1, cutoff=0.8)
    return f"; did you mean {close_names[0]!r}?" if close_names else "; check its name"


@cache
def standard_input() -> bytes:
    """Read standard input once and return the same bytes at each later call, because a command may
    read a file several times.
    """
    return _read_up_to("input_bytes", sys.stdin.buffer)


def _read_up_to(limit_name: str, file: BinaryIO) -> bytes:
    """Read a file up to slightly more than `limit_name` bytes, in pieces of 1 MiB, so that the
    caller
    can recognize one that is too large.
    """
    chunks = iter(lambda: file.read(1 << 20) or b"", b"")  # None: a file of /proc that would block
    return b"".join(islice(chunks, int(min(limit_in_force(limit_name), 2**62)) // 2**20 + 1))


def _decode_text(file_bytes: bytes, file_start: Mark) -> str:
    if file_bytes.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # as shells of Windows write output
        return file_bytes.decode("utf-16", "replace")
    try:
        return file_bytes.decode("utf-8")
    except UnicodeDecodeError as error:
        text_before = file_bytes[: error.start].decode("utf-8")
        raise mark_at(text_before, len(text_before), file_start.file).error(
            f"byte 0x{file_bytes[error.start]:02x} is not UTF-8; save the file as UTF-8 text"
        ) from None


def _check_size(
    byte_count: int, file_start: Mark, limit_name: str = "spec_bytes", advice: str = _SPLIT_ADVICE
) -> None:
    check_cost(
        limit_name, byte_count, f"{byte_count:,} bytes are too many", advice, file_start.error
    )
