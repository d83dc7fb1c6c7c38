"""XML of other tools, read by expat without document types, so without entities; every element
keeps its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from slipstick.late import dataclass, field, late_pattern
from slipstick_measure.readers.reading import Reading

MOST_DEPTH = 60
"""Elements inside one another; models have some ten."""


@dataclass
class XmlElement:
    """An element of an XML document, with its line in the file."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    def descendants(self, *tags: str) -> Iterator[XmlElement]:
        """Yield all elements inside this one that have one of the given tags, at any depth, in
        order.
        """
        for child in self.children:
            if child.tag in tags:
                yield child
            yield from child.descendants(*tags)

    def get(self, name: str) -> str:
        """Return the value of an attribute; an empty text if it is missing."""
        return self.attributes.get(name, "").strip()


def without_document_type(text: str) -> str:
    """Return an XML text with blanks in place of a document type that only names an address, so
    that line numbers stay the same.
    """
    return _DOCTYPE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


_DOCTYPE = late_pattern(r"<!DOCTYPE[^>\[]*>")


def parse_xml(input_file: Reading) -> XmlElement:
    """Parse XML. Return an element without a name that contains the outermost element.

    Raises
    ------
    SpecError : no XML, or one with a document type or entities, at its line
    """
    root = XmlElement("", {}, 1)
    stack = [root]
    parser = expat.ParserCreate()

    def begin_element(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > MOST_DEPTH:
            input_file.refuse(
                parser.CurrentLineNumber,
                "",
                f"more than {MOST_DEPTH} elements inside one another",
            )
        stack.append(XmlElement(tag, attributes, parser.CurrentLineNumber))
        stack[-2].children.append(stack[-1])

    def add_text(data: str) -> None:
        stack[-1].text += data

    def refuse(*_: object) -> NoReturn:
        input_file.refuse(
            parser.CurrentLineNumber,
            "",
            "a model file must not contain a document type or an entity; take it out",
        )

    parser.StartElementHandler = begin_element
    parser.CharacterDataHandler = add_text
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.buffer_text = True
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^>]*\?>", "", input_file.text), True)
    except expat.ExpatError as error:
        input_file.refuse(
            error.lineno,
            "",
            f"this is no XML: {expat.ErrorString(error.code)}; is the file cut off?",
        )

    return root
