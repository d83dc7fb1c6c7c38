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
from slipstick_measure.imports.layered.lowering import activity_spec
from slipstick_measure.imports.layered.replicas import with_replicas_written_out
from slipstick_measure.imports.layered.text import read_text
from slipstick_measure.imports.layered.variables import Variables
from slipstick_measure.imports.layered.xml import read_xml
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.imports.names import SpecNames, exact_number
from slipstick_measure.readers.reading import Reading

FORMAT = "lqn"
MOST_RANGE_COMBINATIONS = 200
"""Combinations of the values of ranges."""


def layered_spec(input_file: Reading) -> ImportedSpec:
    """Build the spec of an activity from a layered queueing network, in XML or as text.

    Ranges of values become axes of a study: every value of the spec that they change, together.

    Raises
    ------
    SpecError : what cannot be read, or what an activity cannot say, each by name
    """
    spec, variables = _read_network(input_file)
    for note in input_file.notes:
        spec.add_note(f"line {note.line}: {note.message}")
    if input_file.hints.unit is None:
        spec.add_note(
            "the model has no unit of time, so its times are read as seconds; --unit names"
            " another unit"
        )
    values_by_variable = {
        name: values for name, values in variables.range_values_by_name.items() if len(values) > 1
    }
    if values_by_variable:
        first_values = ", ".join(
            f"{name} = {values[0]:g}" for name, values in values_by_variable.items()
        )
        spec.add_note(
            f"the first values of ranges hold, {first_values}; --study FILE writes all as a study"
        )
        spec.axes = _axes(input_file, spec.document, values_by_variable)
    return spec


def _read_network(input_file: Reading) -> tuple[ImportedSpec, Variables]:
    """Read a network and write it as an activity; return the spec and the variables of the file."""
    file_losses = FileLosses(FORMAT, input_file)
    read_file = read_xml if input_file.text.lstrip()[:1] == "<" else read_text
    network, variables = read_file(input_file, file_losses)
    if input_file.problems:
        raise SpecError(input_file.problems)
    network.parameters = {
        name: (variables.formula_by_name[name], variables.line_by_name[name])
        for name in variables.formula_by_name
        if name in variables.used_names
    }
    title = f"Layered model {input_file.name}"
    spec = activity_spec(
        with_replicas_written_out(network), lambda: SpecNames(input_file), file_losses, title
    )
    return file_losses.close(spec), variables


def _axes(
    input_file: Reading, document: dict[str, Any], values_by_variable: Mapping[str, list[float]]
) -> list[SpecAxes]:
    """Return the axes of a study over all combinations of the ranges of a file; no axes if a range
    changes which steps exist, or if there are more than `MOST_RANGE_COMBINATIONS` combinations.
    """
    value_combinations = list(product(*values_by_variable.values()))[: MOST_RANGE_COMBINATIONS + 1]
    if len(value_combinations) > MOST_RANGE_COMBINATIONS:
        return []
    values_of_points = []
    for values in value_combinations:
        settings = dict(zip(values_by_variable, map(exact_number, values), strict=True))
        hints = replace(input_file.hints, settings={**settings, **input_file.hints.settings})
        spec, _ = _read_network(Reading(input_file.file, input_file.text, hints))
        values_of_points.append(dict(_paths_and_values(spec.document)))
    own_value_by_path = dict(_paths_and_values(document))
    if any(set(values_of_point) != set(own_value_by_path) for values_of_point in values_of_points):
        return []
    changed_paths = [
        path
        for path in own_value_by_path
        if any(
            values_of_point[path] != own_value_by_path[path] for values_of_point in values_of_points
        )
    ]
    return (
        [
            {
                path: [values_of_point[path] for values_of_point in values_of_points]
                for path in changed_paths
            }
        ]
        if changed_paths
        else []
    )


def _paths_and_values(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in plain data, each with its path; a quantity counts as one value."""
    if isinstance(tree, dict) and "value" not in tree:
        for key, subtree in tree.items():
            yield from _paths_and_values(subtree, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list):
        for index, subtree in enumerate(tree):
            yield from _paths_and_values(subtree, f"{path}.{index}")
    else:
        yield path, tree["value"] if isinstance(tree, dict) else tree
