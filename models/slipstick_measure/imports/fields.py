"""Declares the elements and attributes of an XML model that its import does not read, by a table of
the fields that the format has.
"""

from __future__ import annotations

from collections.abc import Mapping

from slipstick.late import dataclass
from slipstick_measure.imports.losses import EQUAL, READ, FileLosses
from slipstick_measure.readers.elements import XmlElement

UNKNOWN_FIELDS = "unknown-fields"


@dataclass(frozen=True)
class FieldTable:
    """How an import treats each element and attribute of a format: read, equal (it changes no
    answer), or a named loss.

    Parameters
    ----------
    elements : by tag, read, equal, or the name of a loss
    attributes : by the tag of an element that is read, and by name, read or equal
    result_tag_prefix : begin of the tags of results, which are equal; empty if the format has none
    """

    elements: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, str]]
    result_tag_prefix: str = ""


def declare_fields(root: XmlElement, file_losses: FileLosses, table: FieldTable) -> None:
    """Declare the elements and attributes of an XML file that the import does not read."""
    for element in root.children:
        treatment = table.elements.get(element.tag)
        is_result = bool(table.result_tag_prefix) and element.tag.startswith(
            table.result_tag_prefix
        )
        if treatment == EQUAL or is_result:
            continue
        if treatment != READ:
            file_losses.declare(treatment or UNKNOWN_FIELDS, element.line, f"<{element.tag}>")
            continue
        for name in element.attributes:
            is_known = name in table.attributes[element.tag]
            if not is_known and not _is_without_meaning(name):
                file_losses.declare(UNKNOWN_FIELDS, element.line, f"{name} of <{element.tag}>")
        declare_fields(element, file_losses, table)


def _is_without_meaning(name: str) -> bool:
    """Return whether an attribute belongs to XML itself or is a comment, and so has no effect on a
    model.
    """
    return name == "comment" or name.partition(":")[0] in ("xmlns", "xsi", "xml")
