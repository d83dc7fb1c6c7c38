"""Events to nodes: builds the tree of one YAML text and notes everything that is wrong with it.

Why this shape: libyaml tells what stands in a file as a stream of events, and `build` makes a tree of them
on a stack of its own. Composing instead recurses (a file of brackets ends the process), constructing
reads YAML 1.1 and follows aliases, and neither keeps positions. What the parsers of libyaml and PyYAML
read differently is refused here, in the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NoReturn

import yaml

from slipstick.errors import Problem, SpecError
from slipstick.schema.text.nodes import Entry, Listing, Mark, Node, Scalar, Table, join
from slipstick.schema.text.scalars import NULLS, meaning, short

__all__ = ["build", "place"]

MOST_VALUES = 50_000
MOST_NESTED = 32
LONGEST_SCALAR = 8192
LONGEST_KEY = 256
MOST_PROBLEMS = 1000  # the pass ends here: nobody mends more before trying again

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events either way, 10 times as fast with libyaml

# Not text: tabs and other control characters, lone surrogates, the line ends and marks only some editors see.
_ODD = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]+")
_DIRECTIVE = re.compile(r"(?: *(?:#[^\n]*)?\n)*+%")


def _sharing(what: str) -> str:
    return f"{what} is not allowed; share values with `extends:`, or put text in quotes"


# What the parser says (libyaml's words and PyYAML's), whether it is said of the place where the thing began,
# and what we say. `{line}` is where it began, `{sign}` and `{end}` are what was met instead.
_SYNTAX = [
    (r"got '\?'", False, "text with '?' within brackets must be in quotes"),
    (r"unexpected ':'", False, "put a space after ':'"),
    (
        r"mapping values are not allowed",
        False,
        "':' cannot stand here; quote text with ': ' in it, or check the indentation",
    ),
    (r"sequence entries are not allowed", False, "'-' cannot stand here; give each item a line of its own"),
    (r"find expected ':'", True, "this is no 'key: value'; write a ':' and a space after the key"),
    (r"cannot start any token", False, "a value cannot begin with {sign}; put it in quotes"),
    (r"quoted scalar: found unexpected (?:end|document)", True, "the quotes opened here are not closed"),
    (r"invalid Unicode", True, "an escape in these quotes is not a character: a lone surrogate or above U+10FFFF"),
    (r"escape|hexdecimal", True, r"a '\' between double quotes begins an escape; write '\\', or use single quotes"),
    (r"',' or '[]}]'", True, "the bracket opened here must be closed, or a ',' written, before {end}"),
    (r"alias|anchor|a tag", False, _sharing("what begins with '&', '*' or '!'")),
    (r"block scalar", True, "after '|' or '>' the text begins on the next line"),
    (r"node content", False, "a value is missing before {end}, or must be in quotes"),
    (
        r"block end|expected key|'-' indicator",
        False,
        "this does not fit the block begun in line {line}; check the indentation",
    ),
    (r"", False, "this is not YAML; check indentation, brackets and quotes"),
]


class _EndOfPassError(Exception):
    """Nothing more can be found out; carried from where that is noticed to `build`."""


def build(text: str, file: str) -> Node:
    """Give the tree of a text, an empty Scalar for an empty text.

    Raises SpecError with all problems found.
    """
    builder = _Builder(text.removeprefix("\ufeff").replace("\r\n", "\n"), file)
    try:
        builder.check_characters()
        for event in yaml.parse(builder.text, Loader=LOADER):
            builder.take(event)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        builder.report_syntax(error)
    except _EndOfPassError:
        pass
    if builder.problems:
        raise SpecError(builder.problems)
    return builder.root


def place(text: str, index: int, file: str) -> Mark:
    """Say in which line and column a character stands."""
    return Mark(file, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


def _unlike_text(odd: str) -> str:
    if odd == "\t":
        return "a tab stands here; write spaces"
    return f"the character U+{ord(odd):04X} is not text; remove it"


def _syntax(said: str) -> tuple[bool, str]:
    return next((at_start, message) for pattern, at_start, message in _SYNTAX if re.search(pattern, said))


@dataclass(slots=True)
class _Open:
    """A listing or table that has begun and not ended."""

    mark: Mark
    path: tuple[str, ...]
    is_table: bool
    in_brackets: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: tuple[str, Mark] | None = None

    def node(self) -> Node:
        return Table(self.entries, self.mark) if self.is_table else Listing(tuple(self.items), self.mark)

    def here(self) -> tuple[str, ...]:
        """The path of what comes next, as far as it is known."""
        if self.is_table:
            return (*self.path, self.key[0]) if self.key else self.path
        return (*self.path, str(len(self.items)))


class _Builder:
    """The tree so far, and what is wrong so far."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.problems: list[Problem] = []
        self.open: list[_Open] = []
        self.last = Mark(file, 1, 1)
        self.root: Node = Scalar(None, "", self.last, quoted=False)
        self.documents = 0
        self.values = 0

    def report(self, mark: Mark, message: str, path: tuple[str, ...] = ()) -> None:
        self.problems.append(Problem(mark.file, mark.line, mark.column, join(path), message))

    def stop(self, mark: Mark, message: str, path: tuple[str, ...] = ()) -> NoReturn:
        self.report(mark, message, path)
        raise _EndOfPassError

    def check_characters(self) -> None:
        for odd in islice(_ODD.finditer(self.text), MOST_PROBLEMS):
            self.report(place(self.text, odd.start(), self.file), _unlike_text(odd[0][0]))
        if directive := _DIRECTIVE.match(self.text):
            self.report(place(self.text, directive.end() - 1, self.file), "a file needs no '%' line; leave it out")
        if self.problems:
            raise _EndOfPassError  # both parsers end at these, each in its own way

    def report_syntax(self, error: Exception) -> None:
        end = getattr(error, "problem_mark", None)
        start = getattr(error, "context_mark", None) or end
        places = [self.mark(mark) if mark else self.last for mark in (start, end)]
        sign = repr(self.text[end.index : end.index + 1]) if end else ""
        said = "invalid Unicode"  # PyYAML without libyaml knows only ValueError for "\\Uffffffff"
        if isinstance(error, yaml.MarkedYAMLError):
            said = f"{error.context}: {error.problem}, got {sign}"
        if "node content" in said and sign == "''" and self.open and self.open[-1].in_brackets:
            said, places[0] = "',' or ']'", self.open[-1].mark  # the bracket is what to mend, not the end
        at_start, message = _syntax(said)
        met = "the end of the file" if sign == "''" else f"{sign} in line {places[1].line}"
        self.report(places[0 if at_start else 1], message.format(line=places[0].line, sign=sign, end=met))

    def take(self, event: yaml.Event) -> None:
        if len(self.problems) >= MOST_PROBLEMS:
            raise _EndOfPassError
        if isinstance(event, yaml.NodeEvent):
            self.last = self.mark(event.start_mark)
            self.check_node(event)
            self.add(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.put(self.open.pop().node())
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self.stop(self.mark(event.start_mark), "a second document begins here; write one per file")

    def mark(self, mark: Any) -> Mark:
        return Mark(self.file, mark.line + 1, mark.column + 1)

    def here(self) -> tuple[str, ...]:
        return self.open[-1].here() if self.open else ()

    def at_key(self) -> bool:
        return bool(self.open) and self.open[-1].is_table and self.open[-1].key is None

    def check_node(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if isinstance(event, yaml.AliasEvent):
            self.report(self.last, _sharing(f"the alias {short(f'*{event.anchor}')}"), self.here())
        elif event.anchor is not None:
            self.report(self.last, _sharing(f"the anchor {short(f'&{event.anchor}')}"), self.here())
        if tag is not None:
            written = tag.replace("tag:yaml.org,2002:", "!!")
            self.report(self.last, _sharing(f"the tag {short(written)}"), self.here())
        self.values += not self.at_key()
        if self.values > MOST_VALUES:
            self.stop(self.last, f"this is value {MOST_VALUES + 1:,}; a file can hold {MOST_VALUES:,}", self.here())

    def add(self, event: yaml.NodeEvent) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self.put(self.scalar(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self.open) == MOST_NESTED:
                self.stop(
                    self.last, f"nested more than {MOST_NESTED} deep; name the parts and use less depth", self.here()
                )
            is_table = isinstance(event, yaml.MappingStartEvent)
            self.open.append(_Open(self.last, self.here(), is_table, bool(event.flow_style)))
        else:
            self.put(Scalar(None, f"*{event.anchor}", self.last, quoted=True))

    def scalar(self, event: yaml.ScalarEvent) -> Scalar:
        plain = event.style in (None, "")  # PyYAML's word for it and libyaml's
        self.check_written(event)
        if self.at_key():
            return Scalar(event.value, event.value, self.last, not plain)
        if len(event.value) > LONGEST_SCALAR:
            message = f"a text of {len(event.value):,} characters; at most {LONGEST_SCALAR:,} can be written"
            self.report(self.last, message, self.here())
            return Scalar(None, "", self.last, not plain)
        value, problem = meaning(event.value) if plain else (event.value, "")
        if problem:
            self.report(self.last, problem, self.here())
        nowhere = event.value == "" and plain and self.open and self.open[-1].key
        return Scalar(value, event.value, nowhere[1] if nowhere else self.last, not plain)

    def check_written(self, event: yaml.ScalarEvent) -> None:
        """Refuse what one of the two parsers refuses; most of it ends the pass, as it does there."""
        start: Any = event.start_mark
        end: Any = event.end_mark
        if event.style == '"':
            self.check_escapes(event.value)
        elif event.style in ("|", ">") and re.match(r"[|>][-+0-9]*#", self.text[start.index : start.index + 4]):
            self.stop(self.last, _syntax("block scalar")[1])
        elif not event.style and self.open and self.open[-1].in_brackets:
            if "?" in event.value:
                self.stop(place(self.text, self.text.index("?", start.index), self.file), _syntax("got '?'")[1])
            if re.match(r":[][{},]", self.text[end.index : end.index + 2]):
                self.stop(self.mark(end), _syntax("unexpected ':'")[1])

    def check_escapes(self, value: str) -> None:
        odd = _ODD.search(value.replace("\t", " "))
        if odd and "\ud800" <= odd[0][0] <= "\udfff":
            self.stop(self.last, _syntax("invalid Unicode")[1])
        if odd:
            self.report(self.last, _unlike_text(odd[0][0]), self.here())

    def put(self, node: Node) -> None:
        top = self.open[-1] if self.open else None
        if top is None:
            self.root = node
        elif not top.is_table:
            top.items.append(node)
        elif top.key is None:
            top.key = self.key(node, top)
        else:
            top.entries.setdefault(top.key[0], Entry(top.key[1], node))
            top.key = None

    def key(self, node: Node, top: _Open) -> tuple[str, Mark]:
        """Take a node as a key; one that is refused still lets its value be read."""
        text = node.text if isinstance(node, Scalar) else ""
        if not isinstance(node, Scalar) or "\n" in text:
            self.report(
                node.mark, "a key must be text on one line; a list, a mapping or a block cannot be one", top.path
            )
        elif len(text) > LONGEST_KEY:
            message = f"the key {short(text)} has {len(text):,} characters; at most {LONGEST_KEY} are allowed"
            self.report(node.mark, message, top.path)
        elif text == "<<" and not node.quoted:
            self.report(node.mark, _sharing("the merge key '<<'"), top.path)
        elif text == "" or (text in NULLS and not node.quoted):
            self.report(node.mark, "a key is missing; write a name, in quotes if it is 'null' or '~'", top.path)
        elif text in top.entries:
            line = top.entries[text].key_mark.line
            message = f"key {short(text)} already stands in line {line}; keep one of them"
            self.report(node.mark, message, (*top.path, text))
        return text, node.mark
