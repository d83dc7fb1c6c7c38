"""Queueing networks from models of JMVA of JMT.

Format: JMT's JMTmodel.xsd.
"""

from __future__ import annotations

from typing import Any

from slipstick.errors import short
from slipstick_measure.imports.elements import XmlElement
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.imports.tool import ToolModel
from slipstick_measure.readers.reading import Reading


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
