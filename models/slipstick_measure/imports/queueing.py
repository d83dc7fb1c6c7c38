"""Queueing networks from models of other tools: JMVA of JMT, and programs that call PDQ.

XML is read by expat without document types, so without entities, and every element keeps its line.
What a queueing network does not have is left out by name.

Formats: JMT's JMTmodel.xsd; the functions of Pretty Damn Quick, version 6.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from slipstick.errors import FormulaError, ModelError, SpecError, UnitError, short
from slipstick.expression.formula import read_expression
from slipstick.expression.nodes import TIME, Expr, Number
from slipstick.units import scale
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.readers.reading import Reading

MOST_DEPTH = 60
"""Elements inside one another; models have some ten."""


@dataclass
class XmlElement:
    """An element with its line."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    def every(self, *tags: str) -> Iterator[XmlElement]:
        """Yield the elements inside, at any depth, in order."""
        for child in self.children:
            if child.tag in tags:
                yield child
            yield from child.every(*tags)

    def get(self, name: str) -> str:
        """Return an attribute; nothing where it is not there."""
        return self.attributes.get(name, "").strip()


class ToolModel:
    """A model of a tool while it is read, with names as specs have them."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.root = XmlElement("", {}, 1)
        self.names: dict[str, str] = {}
        unit = reading.hints.unit or "s"
        try:
            factor, dimension = scale(unit)
        except UnitError as error:
            reading.refuse(1, "--unit", str(error))
        if dimension != TIME:
            reading.refuse(1, "--unit", f"{short(unit)} is no unit of time")
        self.second, self.unit = float(factor), unit

    def parse(self) -> None:
        """Read XML into the root."""
        reading = self.reading
        stack, parser = [self.root], expat.ParserCreate()

        def begin(tag: str, attributes: dict[str, str]) -> None:
            if len(stack) > MOST_DEPTH:
                reading.refuse(
                    parser.CurrentLineNumber,
                    "",
                    f"more than {MOST_DEPTH} elements inside one another",
                )
            stack.append(XmlElement(tag, attributes, parser.CurrentLineNumber))
            stack[-2].children.append(stack[-1])

        def text(data: str) -> None:
            stack[-1].text += data

        def refuse(*_: object) -> NoReturn:
            reading.refuse(
                parser.CurrentLineNumber,
                "",
                "a document type or an entity does not stand in a model; take it out",
            )

        parser.StartElementHandler, parser.CharacterDataHandler = begin, text
        parser.EndElementHandler = lambda tag: stack.pop()
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
        parser.buffer_text = True
        try:
            parser.Parse(re.sub(r"^\s*<\?xml[^>]*\?>", "", reading.text), True)
        except expat.ExpatError as error:
            reading.refuse(
                error.lineno,
                "",
                f"this is no XML: {expat.ErrorString(error.code)}; is the file cut off?",
            )

    def number(self, element: XmlElement, text: str, least: float = 0.0) -> float:
        """Read a number of at least so much; refuse what is none."""
        value = self.reading.number(element.line, element.tag, text)
        if value is None:
            raise SpecError(self.reading.problems)
        if value < least:
            self.reading.refuse(
                element.line,
                element.tag,
                f"{short(text.strip())} is no number of at least {least:g}",
            )
        return value

    def time(self, element: XmlElement, value: float, what: str = "") -> dict[str, Any]:
        """Return a time with its place; the tools have no units."""
        assumed = self.reading.hints.unit is None
        words = f"{self.reading.name}:{element.line}{what}, in {self.unit}"
        return quantity(value * self.second, "s", words, assumed)

    def name(self, element: XmlElement, key: str = "name") -> str:
        """Return a name as specs write it, the same for the same; refuse an element without one."""
        written = element.get(key)
        plain = re.sub(r"([^A-Za-z0-9_]|-)+", "-", written).strip("-")
        if not plain:
            self.reading.refuse(
                element.line,
                element.tag,
                f"an element {element.tag} needs a {key} of letters and digits",
            )
        plain = plain if plain[0].isalpha() else f"n-{plain}"
        taken = {spec for name, spec in self.names.items() if name != written}
        while plain in taken:
            plain += "-2"
        return self.names.setdefault(written, plain[:60])

    def spec(
        self, title: str, classes: dict[str, Any], stations: dict[str, Any], **more: object
    ) -> ImportedSpec:
        """Return the spec, of classes or of `more`, its chains and routes; refuse a model without
        classes or stations.
        """
        if not (classes or more) or not stations:
            self.reading.refuse(1, "", "there is no class of customers, or no station, in it")
        customers = {"classes": classes} if classes else {}
        told = {"source": f"model {self.reading.name}", **customers, "stations": stations, **more}
        found = ImportedSpec("queueing-network", title, self.reading.file, told)
        if self.reading.hints.unit is None:
            found.say(
                "times are taken as seconds, for the model has no unit; say another with --unit"
            )
        for written, name in self.names.items():
            if written != name:
                found.say(f"{short(written)} is called {name}")
        return found


def jmva_spec(reading: Reading) -> ImportedSpec:
    """Read a model of JMVA: classes, stations of one rate or of rates that depend on the load, and
    delays.

    Raises
    ------
    SpecError : no such XML, a number that is none, or what has no counterpart
    """
    model = ToolModel(reading)
    model.parse()
    classes: dict[str, Any] = {}
    left_out: list[str] = []
    for each in model.root.every("closedclass", "openclass"):
        if each.get("priority") not in ("", "0"):
            left_out.append(f"priority {short(each.get('priority'))} (line {each.line})")
        if each.tag == "openclass":
            rate = model.number(each, each.get("rate")) / model.second
            classes[model.name(each)] = {
                "arrivals": quantity(rate, "/s", f"{reading.name}:{each.line}")
            }
        else:
            classes[model.name(each)] = {
                "population": round(model.number(each, each.get("population")))
            }
            if each.get("thinktime"):
                classes[model.name(each)]["think_time"] = model.time(
                    each, model.number(each, each.get("thinktime"))
                )
    stations: dict[str, Any] = {}
    for each in model.root.every("listation", "ldstation", "delaystation"):
        station: dict[str, Any] = {"discipline": "is" if each.tag == "delaystation" else "ps"}
        visits, rates, service = (
            _by_class(model, each, "visit", classes),
            list[list[float]](),
            dict[str, Any](),
        )
        for name, (element, text) in _by_class(model, each, "servicetime", classes).items():
            times = [model.number(element, part) for part in text.split(";") if part.strip()] or [
                0.0
            ]
            if times[0] > 0 and model.number(*visits.get(name, (element, "1"))) > 0:
                service[name] = model.time(element, times[0])
                rates.append([times[0] / time if time else 0.0 for time in times])
        station["service"] = service
        if shown := {name: model.number(*visits[name]) for name in service if name in visits}:
            station["visits"] = shown
        if each.get("servers") not in ("", "1") and not any(len(row) > 1 for row in rates):
            station["servers"] = round(model.number(each, each.get("servers"), 1.0))
        if rates and len(rates[0]) > 1:
            if any(row != rates[0] for row in rates) or min(rates[0]) <= 0:
                reading.refuse(
                    each.line,
                    each.tag,
                    f"{model.name(each)} has other rates for each class, or times of 0; rates are"
                    " of a station",
                )
            station["rates"] = [round(rate, 9) for rate in rates[0]]
        if not service:
            left_out.append(f"{model.name(each)}, where no class takes time (line {each.line})")
        stations[model.name(each)] = station
    left_out += [
        f"{each.tag} (line {each.line})"
        for each in model.root.every("whatIf", "solutions", "algParams")
    ]
    spec = model.spec(
        f"JMVA model {reading.name}",
        classes,
        {name: each for name, each in stations.items() if each["service"]},
    )
    spec.say("the discipline is taken as ps, which has the product form that JMVA computes")
    if references := [each for each in model.root.every("Class") if each.get("refStation")]:
        spec.say(
            f"left out: reference stations of {len(references)} classes; a cycle is one visit where"
            " visits are 1"
        )
    if left_out:
        spec.say(f"left out: {', '.join(left_out[:9])}")
    return spec


_PDQ_ARGUMENTS = {
    "CreateOpen": 2,
    "CreateClosed": 4,
    "CreateNode": 3,
    "CreateMultiNode": 4,
    "SetDemand": 3,
    "SetVisits": 4,
}
"""Calls that make a model, and how many arguments each has."""
_PDQ_QUEUES = ("FCFS", "PSHR", "LCFS")


def pdq_spec(reading: Reading) -> ImportedSpec:
    """Read the calls of PDQ in a program, in any language, with what is assigned to a name once and
    for all.

    Raises
    ------
    SpecError : what a name or a number is cannot be told, or has no counterpart
    """
    model = ToolModel(reading)
    classes: dict[str, Any] = {}
    stations: dict[str, Any] = {}
    for call, words in _pdq_calls(model):
        if call.tag == "CreateOpen":
            rate = model.number(call, words[1]) / model.second
            classes[_pdq_name(model, call, words[0])] = {
                "arrivals": quantity(rate, "/s", f"{reading.name}:{call.line}")
            }
        elif call.tag == "CreateClosed":
            made: dict[str, Any] = {"population": round(model.number(call, words[2]))}
            if think := model.number(call, words[3]):
                made["think_time"] = model.time(call, think)
            classes[_pdq_name(model, call, words[0])] = made
        elif call.tag.endswith("Node"):
            servers, name, kind, queue = words if len(words) == 4 else ["1", *words]
            delays = queue == "ISRV" or kind == "DLY"
            if not delays and (kind != "CEN" or queue not in _PDQ_QUEUES):
                reading.refuse(
                    call.line,
                    call.tag,
                    f"a network has no station {short(kind)} with {short(queue)}",
                )
            queued = {"discipline": "ps", "servers": round(model.number(call, servers, 1.0))}
            stations[_pdq_name(model, call, name)] = {"discipline": "is"} if delays else queued
        else:
            station, customer = (_pdq_name(model, call, word) for word in words[:2])
            for word, known in ((station, stations), (customer, classes)):
                if word not in known:
                    reading.refuse(call.line, call.tag, f"{short(word)} is not created before")
            parts = [model.number(call, each) for each in words[2:]]
            stations[station].setdefault("demand", {})[customer] = model.time(
                call, math.prod(parts)
            )
    spec = model.spec(
        f"PDQ model {reading.name}",
        classes,
        {name: each for name, each in stations.items() if "demand" in each},
    )
    spec.say(
        "the discipline of queues is taken as ps, which has the product form that PDQ computes"
    )
    spec.say(
        "names of numbers are taken as assigned, in whatever branch, and quotients as of real"
        " numbers"
    )
    return spec


def _pdq_calls(model: ToolModel) -> Iterator[tuple[XmlElement, list[str]]]:
    """Yield the calls that make a model, each with its arguments."""
    text = re.sub(
        r"(?s)/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), model.reading.text
    )
    text = re.sub(r"(?m)(#|//).*$", "", text)
    known = _assigned_once(text)
    for call in re.finditer(
        r"\b(?:PDQ_)?((?:Create|Set)[A-Za-z]+)\s*\(((?:[^()]|\([^()]*\))*)\)", text
    ):
        element = XmlElement(call[1], {}, text.count("\n", 0, call.start()) + 1)
        plain = (
            re.sub(r"^(pdq(\.|::)|\$)", "", each.strip())
            for each in re.split(r",(?![^()]*\))", call[2])
        )
        found = [(each, _computed(each, known)) for each in plain]
        words = [repr(value.value) if isinstance(value, Number) else each for each, value in found]
        wanted = _PDQ_ARGUMENTS.get(call[1])
        if wanted and len(words) == wanted:
            yield element, words
        elif wanted or call[1].startswith("Create"):
            asked = (
                f"it has {wanted} arguments; here are {len(words)}"
                if wanted
                else "a network has nothing like it"
            )
            model.reading.refuse(element.line, call[1], asked)


_ASSIGNED = (
    r"(?m)^[ \t]*(?:(?:const|static|float|double|int|my)[ \t]+)*\$?([A-Za-z_]\w*)["
    r" \t]*(?:=(?!=)|<-)[ \t]*([^\n;=]+)"
)
"""Of a number to a name, in Python, C, Perl and R."""
_CHANGED = r"\$?(\w+)\s*(?:[-+*/%]=|\+\+|--)|\bfor\b\W*(\w+)|\b(\w+)\[.*\]\s*="


def _assigned_once(text: str) -> dict[str, Number]:
    """Return the names that a program assigns one number, or one formula of such before, and does
    not change.
    """
    assigned = re.findall(_ASSIGNED, text)
    changed = {name for found in re.findall(_CHANGED, text) for name in found}
    texts: dict[str, str] = {}
    changed |= {name for name, formula in assigned if texts.setdefault(name, formula) != formula}
    known: dict[str, Number] = {}
    for name, formula in assigned:
        if name not in changed and isinstance(
            found := _computed(formula.replace("$", "").strip(), known), Number
        ):
            known[name] = found
    return known


def _computed(text: str, known: Mapping[str, Number]) -> Expr | None:
    with suppress(FormulaError, ModelError, ValueError):
        return read_expression(text, known)
    return None


def _pdq_name(model: ToolModel, call: XmlElement, word: str) -> str:
    quoted = re.fullmatch(r"([\"'])(.*)\1", word)
    if quoted is None:
        model.reading.refuse(
            call.line,
            call.tag,
            f"write a name in quotes, not {short(word)}, which is computed elsewhere",
        )
    return model.name(XmlElement(call.tag, {"name": quoted[2]}, call.line))


def _by_class(
    model: ToolModel, station: XmlElement, tag: str, classes: dict[str, Any]
) -> dict[str, tuple[XmlElement, str]]:
    """Return the elements of a station by class, each with its text; refuse a class that is not
    there.
    """
    found: dict[str, tuple[XmlElement, str]] = {}
    inside = station.every(
        tag, f"{tag}s"
    )  # times that depend on the load are in elements of the second name
    for each in (one for one in inside if one.tag == tag or one.get("customerclass")):
        name = model.name(each, "customerclass")
        if name not in classes:
            model.reading.refuse(
                each.line,
                tag,
                f"there is no class {short(name)}; there are {', '.join(classes)[:200]}",
            )
        found[name] = each, each.text
    return found
