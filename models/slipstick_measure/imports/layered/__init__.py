"""Layered queueing networks, read from LQNX and from LQN text into one form, and written as
activities.

Why this shape: `xml` and `text` only read, each its own format, into the data of `model`;
`replicas` writes copies out; `graph` turns activity graphs into nested steps; `lowering` alone
knows the language of activities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from slipstick.errors import SpecError
from slipstick_measure.imports.imported import ImportedSpec, SpecAxes
from slipstick_measure.imports.layered.lowering import lowered
from slipstick_measure.imports.layered.replicas import written_out
from slipstick_measure.imports.layered.text import read_text
from slipstick_measure.imports.layered.variables import Variables
from slipstick_measure.imports.layered.xml import read_xml
from slipstick_measure.imports.losses import Ledger
from slipstick_measure.imports.names import SpecNames, exact_number
from slipstick_measure.readers.reading import Reading

FORMAT = "lqn"
MOST_POINTS = 200
"""Combinations of the values of ranges."""


def layered_spec(reading: Reading) -> ImportedSpec:
    """Read a layered queueing network, in XML or as text, as an activity.

    Ranges of values become axes of a study: every value of the spec that they change, together.

    Raises
    ------
    SpecError : what cannot be read, or what an activity cannot say, each by name
    """
    spec, variables = _read(reading)
    for note in reading.notes:
        spec.say(f"line {note.line}: {note.message}")
    if reading.hints.unit is None:
        spec.say("times are taken as seconds, for the model has no unit; say another with --unit")
    ranges = {name: values for name, values in variables.ranges.items() if len(values) > 1}
    if ranges:
        first = ", ".join(f"{name} = {values[0]:g}" for name, values in ranges.items())
        spec.say(f"the first values of ranges hold, {first}; --study FILE writes all as a study")
        spec.axes = _axes(reading, spec.document, ranges)
    return spec


def _read(reading: Reading) -> tuple[ImportedSpec, Variables]:
    ledger = Ledger(FORMAT, reading)
    read = read_xml if reading.text.lstrip()[:1] == "<" else read_text
    network, variables = read(reading, ledger)
    if reading.problems:
        raise SpecError(reading.problems)
    network.parameters = {
        name: (variables.formulas[name], variables.lines[name])
        for name in variables.formulas
        if name in variables.used
    }
    title = f"Layered model {reading.name}"
    spec = lowered(written_out(network), lambda: SpecNames(reading), ledger, title)
    return ledger.close(spec), variables


def _axes(
    reading: Reading, document: dict[str, Any], ranges: Mapping[str, list[float]]
) -> list[SpecAxes]:
    """Return the axes of a study over all combinations of ranges; empty if a range changes which
    steps exist.
    """
    points = list(product(*ranges.values()))[: MOST_POINTS + 1]
    if len(points) > MOST_POINTS:
        return []
    leaves = []
    for values in points:
        settings = dict(zip(ranges, map(exact_number, values), strict=True))
        hints = replace(reading.hints, settings={**settings, **reading.hints.settings})
        spec, _ = _read(Reading(reading.file, reading.text, hints))
        leaves.append(dict(_leaves(spec.document)))
    own_values = dict(_leaves(document))
    if any(set(leaf) != set(own_values) for leaf in leaves):
        return []
    changed_paths = [
        path for path in own_values if any(leaf[path] != own_values[path] for leaf in leaves)
    ]
    return (
        [{path: [leaf[path] for leaf in leaves] for path in changed_paths}] if changed_paths else []
    )


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in plain data by path; a quantity counts as one value."""
    if isinstance(tree, dict) and "value" not in tree:
        for key, subtree in tree.items():
            yield from _leaves(subtree, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list):
        for index, subtree in enumerate(tree):
            yield from _leaves(subtree, f"{path}.{index}")
    else:
        yield path, tree["value"] if isinstance(tree, dict) else tree
