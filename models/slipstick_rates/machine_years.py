"""A machine in another year: its quantities, each taken along a trend by the class of cost that it
belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from slipstick.errors import DoubtfulSource
from slipstick.expression.nodes import TIME, TIME_PER_BYTE, number_text
from slipstick.late import np
from slipstick.schema.kinds.quantity import MACHINE_IN_A_YEAR, validate
from slipstick.schema.spec_files import is_shared_memory
from slipstick.schema.text import Entry, Node, Scalar, Table, from_plain, node_at, replace
from slipstick.units import parse

if TYPE_CHECKING:
    from slipstick.schema.spec_files import SpecFiles
    from slipstick_rates.trend import Trend

MACHINE_KEYS = ("machine", *MACHINE_IN_A_YEAR, "title")
_CLASS_OF_NETWORK_VALUE = {
    "adapter": "adapter",
    "switch": "switch",
    "wire.per_byte": "wire",
    "in_switch.start": "switch",
    "in_switch.per_byte": "wire",
}
_CLASS_OF_RING_VALUE = {"most": "wire", "start": "switch", "step": "switch"}
_CLASS_OF_MACHINE_VALUE = {
    "processors.flops": "application",
    "processors.speed": "processors",
    "memory.bandwidth": "memory",
    "memory.domain.bandwidth": "memory",
    "memory.latency": "memory_latency",
    "system.signal": "signal",
    "system.call": "system",
}
"""The class of cost that each quantity of a machine belongs to."""


_SPEED_PATH = "processors.speed"
"""What the costs of software and protocol are divided by; 1 where a machine does not give it."""


def machine_of_a_year(tree: Table, library: SpecFiles) -> Table:
    """Return the machine of another year, extrapolated along a trend from the machine that the file
    names.

    Parameters
    ----------
    tree : with the keys base, year and trend
    library : what was read so far

    Raises
    ------
    SpecError : a key is missing or wrong, or the base has no year
    """
    base_entry = tree.entries["base"]
    if not {"year", "trend"}.intersection(tree.entries):
        message = (
            "a machine with base is that of another year, and has year and trend beside it; for one"
            " that changes some keys of another machine, write extends"
        )
        raise base_entry.key_mark.error(message, ["machine", "base"])
    for key, entry in tree.entries.items():
        if key not in MACHINE_KEYS:
            message = f"unknown key; a machine in a year has {', '.join(MACHINE_KEYS[1:])}"
            raise entry.key_mark.error(message, ["machine", key])
    for key in ("year", "trend"):
        if key not in tree.entries:
            message = f"a machine in a year needs {key} beside the others of base, year and trend"
            raise tree.mark.error(message, ["machine", key])
    from slipstick_rates.trend import data_span, doubt_on_rate, reason_not_to_start

    base_machine = _base_machine(base_entry.node, library)
    start_year, end_year = _start_and_end(tree, base_machine)
    trend = _trend_of_machine(tree.entries["trend"].node, base_machine, library)
    changed_machine: Node = base_machine
    for path, class_name, gain in _gains_by_path(base_machine, trend, start_year, end_year):
        rate = trend.rates[class_name]
        if message := reason_not_to_start(trend, class_name, start_year):
            raise base_entry.node.mark.error(message, "machine.base")
        doubt = doubt_on_rate(rate, min(start_year, end_year), max(start_year, end_year))
        last_data_year = data_span(rate)[1]
        rate_in_words = trend.name + (f" by a doubtful rate ({doubt})" if doubt else "")
        rate_in_words += (
            f"; data end in {last_data_year:g}, and the last rate continues"
            if start_year > last_data_year
            else ""
        )
        source = f"that of {start_year:g}, taken to {end_year:g} along {rate_in_words}"
        source = DoubtfulSource(source, rate_in_words=rate_in_words) if doubt else source
        changed_machine = replace(
            changed_machine,
            path,
            _scaled_quantity(_node_at_path(base_machine, path), gain, source, doubt),
        )
    base_title_node = node_at(base_machine, ["title"])
    base_title = base_title_node.text if isinstance(base_title_node, Scalar) else "a machine"
    own_title_node = node_at(tree, ["title"])
    title_text = (
        own_title_node.text
        if isinstance(own_title_node, Scalar)
        else f"{base_title}, taken to {end_year:g} along {trend.name}"
    )
    assert isinstance(changed_machine, Table)
    mark = tree.mark
    machine_entries = {
        **changed_machine.entries,
        "title": Entry(mark, Scalar(title_text, title_text, mark, quoted=True)),
        "year": Entry(mark, tree.entries["year"].node),
    }
    return Table(machine_entries, mark)


def _base_machine(node: Node, library: SpecFiles) -> Table:
    """Return the machine that is extrapolated; raise if it has shared memory, whose values belong
    to no class of cost.
    """
    if isinstance(node, Table):
        base_machine = library.resolve("machine", node)
    elif isinstance(node, Scalar) and isinstance(node.value, str):
        base_machine = library.load("machine", node.value, node.mark, "machine.base")
    else:
        raise node.mark.error(
            "write the name of a machine, a file that ends in .yaml, or its keys and values",
            "machine.base",
        )
    if is_shared_memory(base_machine):
        message = (
            "a machine with shared memory has no classes of cost, so no trend takes it to a year"
        )
        raise node.mark.error(message, "machine.base")
    return base_machine


def _start_and_end(tree: Table, base_machine: Table) -> tuple[float, float]:
    """Return the year of the base machine and the year of the machine that is wanted."""
    wanted_year_node = tree.entries["year"].node
    base_year_node = node_at(base_machine, ["year"])
    if not isinstance(base_year_node, Scalar) or not isinstance(base_year_node.value, int | float):
        message = "this machine has no year, so no trend can start there; write year in it"
        raise tree.entries["base"].node.mark.error(message, "machine.base")
    is_number = isinstance(wanted_year_node, Scalar) and isinstance(
        wanted_year_node.value, int | float
    )
    if not (
        is_number
        and isinstance(wanted_year_node, Scalar)
        and 1900 <= float(wanted_year_node.value or 0) <= 2200
    ):
        raise wanted_year_node.mark.error(
            "a year lies between 1900 and 2200, such as 2034", "machine.year"
        )
    return float(base_year_node.value), float(wanted_year_node.value or 0)


def _trend_of_machine(node: Node, base_machine: Table, library: SpecFiles) -> Trend:
    """Return the trend along which a machine is extrapolated, for the kind of its processors."""
    from slipstick_rates.files import CORE, TrendSpec, trend_of

    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        raise node.mark.error(
            "write the name of a trend, or a file that ends in .yaml", "machine.trend"
        )
    trend_tree = library.load("trend", node.value, node.mark, "machine.trend")
    spec = validate(TrendSpec, trend_tree)
    name = PurePath(node.value).name.removesuffix(".yaml").removesuffix(".yml")
    if spec.benefit is not None:
        message = (
            f"along {name} software has only a part of the gain of processors, by what each step"
            " is; project the case instead"
        )
        raise node.mark.error(message, "machine.trend")
    kind_node = node_at(base_machine, ["processors", "kind"])
    processor_kind = str(kind_node.value) if isinstance(kind_node, Scalar) else CORE
    return library.compute_once(
        ("trend", id(trend_tree), processor_kind),
        lambda: trend_of(spec, name, processor_kind),
        (trend_tree, base_machine),
    )


def _gains_by_path(
    base_machine: Table, trend: Trend, start_year: float, end_year: float
) -> Iterator[tuple[str, str, float]]:
    """Yield for each quantity of the machine that changes its path, the name of its rate, and the
    factor by which it improves.
    """
    gain_by_rate = {
        rate_name: float(rate.gain(start_year, np.array([end_year]))[0, 0])
        for rate_name, rate in trend.rates.items()
    }
    for path, class_name in _class_by_path(base_machine):
        rate_name = class_name
        if path == "processors.flops" and "application" not in gain_by_rate:
            rate_name = "processors"
        gain = gain_by_rate.get(rate_name, 1.0)
        if gain != 1.0:
            yield path, rate_name, gain


def _class_by_path(base_machine: Table) -> Iterator[tuple[str, str]]:
    """Yield the path and the class of cost of each quantity that the machine has."""
    class_by_path: Mapping[str, str] = {
        **_CLASS_OF_MACHINE_VALUE,
        **{f"network.{path}": class_name for path, class_name in _CLASS_OF_NETWORK_VALUE.items()},
        **{
            f"node.network.{path}": class_name
            for path, class_name in _CLASS_OF_NETWORK_VALUE.items()
        },
    }
    for path, class_name in class_by_path.items():
        if node_at(base_machine, path) is not None or path == _SPEED_PATH:
            yield path, class_name
    for network_path in ("network", "node.network"):
        protocol_ranges = node_at(base_machine, f"{network_path}.protocol.ranges")
        for name in protocol_ranges.entries if isinstance(protocol_ranges, Table) else ():
            for part in ("total", "call"):
                for key in ("fixed", "per_byte"):
                    path = f"{network_path}.protocol.ranges.{name}.{part}.{key}"
                    if node_at(base_machine, path) is not None:
                        yield path, "protocol"
        ring_protocols = node_at(base_machine, f"{network_path}.ring_protocols")
        for name in ring_protocols.entries if isinstance(ring_protocols, Table) else ():
            for key, class_name in _CLASS_OF_RING_VALUE.items():
                path = f"{network_path}.ring_protocols.{name}.{key}"
                if node_at(base_machine, path) is not None:
                    yield path, class_name


def _node_at_path(base_machine: Table, path: str) -> Node:
    """Return the node at a path of a machine."""
    node = node_at(base_machine, path)
    return Scalar(1, "1", base_machine.mark, quoted=False) if node is None else node


def _scaled_quantity(node: Node, gain: float, source: str, doubt: str) -> Node:
    """Return a quantity of a machine for another year: a rate multiplied by the gain, or a time
    divided by it. It is marked as assumed if the quantity is, or if the rate is doubtful.
    """
    value_node = node_at(node, ["value"]) if isinstance(node, Table) else node
    assert isinstance(value_node, Scalar)
    value, dimension = parse(str(value_node.value))
    is_divided = dimension in (TIME, TIME_PER_BYTE)
    scaled_value = value / gain if is_divided else value * gain
    unit = "" if str(dimension) == "1" else f" {dimension}"
    mark = node.mark if isinstance(node, Scalar) else value_node.mark
    assumed_node = node_at(node, ["assumed"]) if isinstance(node, Table) else None
    is_assumed = bool(doubt) or (isinstance(assumed_node, Scalar) and assumed_node.value is True)
    plain_quantity = {"value": f"{number_text(scaled_value)}{unit}", "source": source}
    return from_plain({**plain_quantity, "assumed": True} if is_assumed else plain_quantity, mark)
