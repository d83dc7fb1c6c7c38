"""What importers of models of other tools share: elements, names, times and rates as specs have
them.
"""

from __future__ import annotations

from typing import Any

from slipstick.errors import SpecError, short
from slipstick_measure.imports.imported import ImportedSpec
from slipstick_measure.imports.names import SpecNames, exact_number
from slipstick_measure.readers.elements import XmlElement, parse_xml
from slipstick_measure.readers.reading import Reading


class ToolModel:
    """A model of another tool, with its names converted to names of specs."""

    def __init__(self, input_file: Reading) -> None:
        self.input_file = input_file
        self.root = XmlElement("", {}, 1)
        self.spec_names = SpecNames(input_file)
        self.seconds_per_unit = self.spec_names.seconds_per_unit
        self._seen_elements: set[tuple[str, str]] = set()

    def parse(self) -> None:
        """Parse XML and store its root."""
        self.root = parse_xml(self.input_file)

    def parse_number(self, element: XmlElement, text: str, least: float = 0.0) -> float:
        """Parse a number of at least `least`, or the name ``$name`` of a number that the user
        gives; refuse other texts.
        """
        name = text.strip().removeprefix("$")
        if text.strip().startswith("$"):
            if name not in self.input_file.hints.settings:
                message = (
                    f"{short(text.strip())} has no value here; give it with --set {name}=NUMBER"
                )
                self.input_file.refuse(element.line, element.tag, message)
            text = self.input_file.hints.settings[name]
        value = self.input_file.number(element.line, element.tag, text)
        if value is None:
            raise SpecError(self.input_file.problems)
        if value < least:
            self.input_file.refuse(
                element.line,
                element.tag,
                f"{short(text.strip())} is not a number of at least {least:g}",
            )
        return value

    def time(self, element: XmlElement, value: float) -> dict[str, Any]:
        """Return a time as a quantity with its place; these tools have no units."""
        return self.spec_names.time(element.line, value)

    def rate(self, element: XmlElement, value: float) -> dict[str, Any]:
        """Return a rate as a quantity with its place."""
        source = f"{self.input_file.name}:{element.line}"
        return {"value": f"{exact_number(value / self.seconds_per_unit)} /s", "source": source}

    def name(self, element: XmlElement, key: str = "name") -> str:
        """Return the name that a spec has for the name of an element, each time the same; refuse an
        element without a name.
        """
        subject = f"an element {element.tag}"
        return self.spec_names.name(element.get(key), element.line, subject)

    def new_name(self, element: XmlElement, kind: str) -> str:
        """Return the name that a spec has for the name of an element; refuse a name that another
        element of this kind has.
        """
        kind_and_name = (kind, element.get("name"))
        if kind_and_name in self._seen_elements:
            message = f"{short(element.get('name'))} is there already; give each its own name"
            self.input_file.refuse(element.line, element.tag, message)
        self._seen_elements.add(kind_and_name)
        return self.name(element)

    def whole_number(self, element: XmlElement, value: float) -> int:
        """Return a number of customers as a whole number; refuse a value that is none."""
        if abs(value - round(value)) > 1e-9:
            message = f"customers are a whole number; got {value:g}"
            self.input_file.refuse(element.line, element.tag, message)
        return round(value)

    def spec(
        self,
        title: str,
        classes: dict[str, Any],
        stations: dict[str, Any],
        **other_sections: object,
    ) -> ImportedSpec:
        """Build the spec of a queueing network of stations and classes, or of stations and the
        other sections in `other_sections`; refuse a model without classes or stations.
        """
        if not (classes or other_sections) or not stations:
            self.input_file.refuse(1, "", "the model has no class of customers or no station")
        customers = {"classes": classes} if classes else {}
        document = {
            "source": f"model {self.input_file.name}",
            **customers,
            "stations": stations,
            **other_sections,
        }
        imported_spec = ImportedSpec("queueing-network", title, self.input_file.file, document)
        if self.input_file.hints.unit is None:
            imported_spec.add_note(
                "the model has no unit of time, so its times are read as seconds; --unit names"
                " another unit"
            )
        for original, name in self.spec_names.spec_name_by_original.items():
            if original != name:
                imported_spec.add_note(f"{short(original)} is called {name}")
        return imported_spec
