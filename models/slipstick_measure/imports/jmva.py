"""Queueing networks from models of JMVA of JMT.

Format: JMT's JMTmodel.xsd.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slipstick.errors import short
from slipstick_measure.imports.fields import declare_fields
from slipstick_measure.imports.imported import ImportedSpec, SpecAxes
from slipstick_measure.imports.jmt_fields import JMVA_TABLE
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.imports.names import exact_number
from slipstick_measure.imports.tool import ToolModel
from slipstick_measure.readers.elements import XmlElement
from slipstick_measure.readers.reading import Reading

FORMAT = "jmva"


def jmva_spec(input_file: Reading) -> ImportedSpec:
    """Build the spec of a network from a model of JMVA: classes, stations of one rate or of rates
    that depend on the load, and delays.

    Raises
    ------
    SpecError : no such XML, a number that is none, or what has no counterpart
    """
    model = ToolModel(input_file)
    model.parse()
    file_losses = FileLosses(FORMAT, input_file)
    declare_fields(model.root, file_losses, JMVA_TABLE)
    classes = {
        model.new_name(element, "class"): _customers_of_class(model, file_losses, element)
        for element in model.root.descendants("closedclass", "openclass")
    }
    stations = {
        model.new_name(element, "station"): _station_document(model, element, classes)
        for element in model.root.descendants("listation", "ldstation", "delaystation")
    }
    _divide_visits_by_reference(model, stations)
    serving_stations = {name: station for name, station in stations.items() if station["service"]}
    if classes and not any(row.get("population") or "arrivals" in row for row in classes.values()):
        message = (
            "no class has a customer (a model of JABA has none); give each closed class a"
            " population"
        )
        input_file.refuse(1, "population", message)
    spec = model.spec(f"JMVA model {input_file.name}", classes, serving_stations)
    spec.axes = _what_if_axes(model, classes, serving_stations)
    return file_losses.close(spec)


def _customers_of_class(
    model: ToolModel, file_losses: FileLosses, element: XmlElement
) -> dict[str, Any]:
    """Return the plain data of the customers of a class: the arrivals of an open class, or the
    population of a closed one.
    """
    if element.get("priority") not in ("", "0"):
        file_losses.declare("priorities", element.line, element.get("name"))
    if element.tag == "openclass":
        return {"arrivals": model.rate(element, model.parse_number(element, element.get("rate")))}
    population = model.whole_number(element, model.parse_number(element, element.get("population")))
    if not element.get("thinktime"):
        return {"population": population}
    think_time = model.time(element, model.parse_number(element, element.get("thinktime")))
    return {"population": population, "think_time": think_time}


def _station_document(
    model: ToolModel, element: XmlElement, classes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the plain data of a station with the times and visits of the classes that it
    serves.
    """
    visit_element_by_class = _elements_by_class(model, element, "visit", classes)
    time_by_class: dict[str, Any] = {}
    relative_rates_of_classes: list[list[float]] = []
    for name, (time_element, text) in _elements_by_class(
        model, element, "servicetime", classes
    ).items():
        service_times = [
            model.parse_number(time_element, number_text)
            for number_text in text.split(";")
            if number_text.strip()
        ] or [0.0]
        if (
            service_times[0] > 0
            and model.parse_number(*visit_element_by_class.get(name, (time_element, "1"))) > 0
        ):
            time_by_class[name] = model.time(time_element, service_times[0])
            relative_rates_of_classes.append(
                [
                    service_times[0] / service_time if service_time else 0.0
                    for service_time in service_times
                ]
            )
    discipline = "is" if element.tag == "delaystation" else "ps"
    station: dict[str, Any] = {"discipline": discipline, "service": time_by_class}
    if visits_by_class := {
        name: model.parse_number(*visit_element_by_class[name])
        for name in time_by_class
        if name in visit_element_by_class
    }:
        station["visits"] = visits_by_class
    if element.get("servers") not in ("", "1") and not any(
        len(relative_rates) > 1 for relative_rates in relative_rates_of_classes
    ):
        station["servers"] = round(model.parse_number(element, element.get("servers"), 1.0))
    if relative_rates_of_classes and len(relative_rates_of_classes[0]) > 1:
        if (
            any(
                relative_rates != relative_rates_of_classes[0]
                for relative_rates in relative_rates_of_classes
            )
            or min(relative_rates_of_classes[0]) <= 0
        ):
            model.input_file.refuse(
                element.line,
                element.tag,
                f"the times of {model.name(element)} fall with its customers otherwise for each"
                " class, or are 0; give all classes times in the same ratios",
            )
        station["rates"] = relative_rates_of_classes[0]
    return station


def _divide_visits_by_reference(model: ToolModel, stations: dict[str, Any]) -> None:
    """Divide the visits of each class by those at its reference station, where JMVA counts the
    throughput of the class.
    """
    for element in model.root.descendants("Class"):
        reference_station = element.get("refStation")
        if not reference_station or not element.get("name"):
            continue
        reference_name = model.name(XmlElement("", {"name": reference_station}, element.line))
        class_name = model.name(element)
        reference_visits = stations.get(reference_name, {}).get("visits", {}).get(class_name)
        if reference_visits and reference_visits != 1:
            for other_station in stations.values():
                if class_name in other_station.get("visits", {}):
                    other_station["visits"][class_name] /= reference_visits


def _what_if_axes(
    model: ToolModel, classes: dict[str, Any], stations: dict[str, Any]
) -> list[SpecAxes]:
    """Return the what-if ranges of a model as axes: paths of the spec with their values.

    Raises
    ------
    SpecError : a range that no study has
    """
    axes: list[SpecAxes] = []
    for element in model.root.descendants("whatIf"):
        range_values = [
            model.parse_number(element, text)
            for text in element.get("values").split(";")
            if text.strip()
        ]
        if not range_values:
            model.input_file.refuse(element.line, "whatIf", "there is no value in the range")
        range_kind = element.get("type").casefold()
        class_name = model.name(element, "className") if element.get("className") else ""
        if class_name and class_name not in classes:
            message = f"there is no class {short(class_name)}; there are {', '.join(classes)}"
            model.input_file.refuse(element.line, "whatIf", message)
        station_name = model.name(element, "stationName") if element.get("stationName") else ""
        class_names = [class_name] if class_name else list(classes)
        station_spec = stations.get(station_name, {})
        if range_kind in ("number of customers", "customer numbers"):
            populations = _axis_values_by_path(
                class_names, classes, "population", range_values, "classes.{}.population"
            )
            axes.append(
                {
                    path: [model.whole_number(element, range_value) for range_value in axis_values]
                    for path, axis_values in populations.items()
                }
            )
        elif range_kind == "population mix" and class_name:
            axes.append(_axis_of_mix(model, element, classes, class_name, range_values))
        elif range_kind.startswith("arrival"):
            arrivals = _axis_values_by_path(
                class_names, classes, "arrivals", range_values, "classes.{}.arrivals"
            )
            axes.append(
                {path: [f"{rate} /s" for rate in rates] for path, rates in arrivals.items()}
            )
        elif range_kind.startswith("service demand") and station_spec:
            axes.append(
                _axis_of_demands(model, station_spec, station_name, class_names, range_values)
            )
        elif range_kind.startswith("number of servers") and station_spec:
            axes.append(
                {
                    f"stations.{station_name}.servers": [
                        round(range_value) for range_value in range_values
                    ]
                }
            )
        else:
            message = (
                f"{short(element.get('type'))} of {short(station_name or class_name)} is"
                " not an axis of a"
                " study"
            )
            model.input_file.refuse(
                element.line, "whatIf", f"{message}; take the range out, and vary it there"
            )
    return axes


def _axis_values_by_path(
    class_names: list[str],
    classes: dict[str, Any],
    key: str,
    values: list[float],
    path_pattern: str,
) -> SpecAxes:
    """Return the values of a range by path, one path for each class; if there are several classes,
    their own values are multiplied by the values of the range.
    """
    values_by_path: SpecAxes = {}
    for class_name in class_names:
        own_value = classes.get(class_name, {}).get(key)
        if own_value is None:
            continue
        value_of_class = (
            float(own_value["value"].split()[0])
            if isinstance(own_value, dict)
            else float(own_value)
        )
        values_by_path[path_pattern.format(class_name)] = (
            values if len(class_names) == 1 else [value_of_class * value for value in values]
        )
    return values_by_path


def _axis_of_mix(
    model: ToolModel,
    element: XmlElement,
    classes: dict[str, Any],
    mixed_class: str,
    shares: list[float],
) -> SpecAxes:
    """Return the populations of two closed classes by path, for those shares of one class in all
    customers at which both are whole numbers, as JMVA does.
    """
    closed_classes = [
        class_name for class_name, document in classes.items() if "population" in document
    ]
    if len(closed_classes) != 2:
        model.input_file.refuse(
            element.line,
            "whatIf",
            f"a mix is of two closed classes, and there are {len(closed_classes)}",
        )
    customer_count = sum(float(classes[class_name]["population"]) for class_name in closed_classes)
    populations = [
        round(customer_count * share)
        for share in shares
        if abs(customer_count * share % 1 - 0.5) > 0.5 - 1e-6
    ]
    (other_class,) = (class_name for class_name in closed_classes if class_name != mixed_class)
    return {
        f"classes.{mixed_class}.population": populations,
        f"classes.{other_class}.population": [
            round(customer_count) - population for population in populations
        ],
    }


def _axis_of_demands(
    model: ToolModel,
    station: dict[str, Any],
    station_name: str,
    class_names: list[str],
    values: list[float],
) -> SpecAxes:
    """Return the service times of a station for a range of demands.

    With several classes, return multiples of the service time of each class.
    """
    times_by_path: SpecAxes = {}
    for class_name in class_names:
        service = station["service"].get(class_name)
        if service is None:
            continue
        visits = station.get("visits", {}).get(class_name, 1.0)
        own_seconds = float(service["value"].split()[0])
        service_times = [
            value * model.seconds_per_unit / visits
            if len(class_names) == 1
            else own_seconds * value
            for value in values
        ]
        times_by_path[f"stations.{station_name}.service.{class_name}"] = [
            f"{exact_number(service_time)} s" for service_time in service_times
        ]
    return times_by_path


def _elements_by_class(
    model: ToolModel, station: XmlElement, tag: str, classes: Mapping[str, Any]
) -> dict[str, tuple[XmlElement, str]]:
    """Return the elements of a station with a tag, by class, each with its text; raise for an
    unknown class.
    """
    element_and_text_by_class: dict[str, tuple[XmlElement, str]] = {}
    # Times that depend on the load are in elements with the plural name.
    class_elements = station.descendants(tag, f"{tag}s")
    for element in (
        child for child in class_elements if child.tag == tag or child.get("customerclass")
    ):
        class_name = model.name(element, "customerclass")
        if class_name not in classes:
            model.input_file.refuse(
                element.line,
                tag,
                f"there is no class {short(class_name)}; there are {', '.join(classes)[:200]}",
            )
        element_and_text_by_class[class_name] = element, element.text
    return element_and_text_by_class
