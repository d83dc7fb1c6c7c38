"""Uncertain settings: ranges as written, and the values of a fit.

Why this shape: a range is taken out of the settings before they are checked, and its middle is put
there, so that no reader of settings needs to know of it; what is known beside the middle goes with
the built model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

from slipstick.errors import UnitError
from slipstick.expression.nodes import COUNT, Dimension
from slipstick.late import dataclass, field, late_pattern
from slipstick.schema.kinds.fitted import FittedSpec
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import Library
from slipstick.schema.text import Node, Scalar, from_plain
from slipstick.units import parse

FITTED = "fitted"
"""The setting that names a fit; ``fitted.COLUMN`` names an owner, such as ``fitted.machine``."""

NORMAL_90 = 1.6448536269514722
"""Standard deviations on each side that hold 90 % of a normal distribution."""

_RANGE_PATTERN = late_pattern(r"(?P<low>[^.\s](?:[^.]|\.(?!\.))*+)\.\.\s*+(?P<high>[^.\s].*)")
_BARE_NUMBER = late_pattern(r"[-+0-9.eE]+")


@dataclass(frozen=True, slots=True)
class UncertainValues:
    """Settings that are uncertain: their logarithms have a joint normal distribution.

    Parameters
    ----------
    paths : of the settings
    log_middles : logarithms of the middle values
    covariance : of the logarithms
    noise : standard deviation of the logarithm of a value of the answer, if the settings come from
        a fit
    source : what the values are fitted to; empty where all are ranges
    count_paths : the settings whose draws are whole numbers
    """

    paths: tuple[str, ...] = ()
    log_middles: tuple[float, ...] = ()
    covariance: tuple[tuple[float, ...], ...] = ()
    noise: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    count_paths: frozenset[str] = frozenset()


def separate_uncertain(
    settings: Mapping[str, Node], library: Library
) -> tuple[dict[str, Node], UncertainValues]:
    """Replace ranges by their geometric means, and a fit by its values; return the settings, and
    the joint distribution of the settings that are uncertain. Settings between two whole numbers
    are taken as counts, which only the model can tell.

    Nine of ten values lie in a range; the logarithm is normal.

    Parameters
    ----------
    settings : values by path
    library : what was read so far

    Raises
    ------
    SpecError : a range is none, or there is no such fit
    """
    certain_settings = {
        path: node
        for path, node in settings.items()
        if path != FITTED and not path.startswith(f"{FITTED}.")
    }
    deviation_by_path: dict[str, float] = {}
    log_means: list[float] = []
    count_paths = set[str]()
    for path, node in certain_settings.items():
        range_values = _parse_range(path, node)
        if range_values is not None:
            certain_settings[path], log_mean, deviation_by_path[path], is_count = range_values
            log_means.append(log_mean)
            count_paths |= {path} if is_count else set()
    fitted_values = UncertainValues()
    fitted_settings = dict[str, Node]()
    if FITTED in settings:
        fitted_values, fitted_settings = _values_of_fit(settings, certain_settings, library)
    # A setting by hand goes before the value of the fit.
    certain_settings = {**fitted_settings, **certain_settings}
    range_count = len(deviation_by_path)
    fit_count = len(fitted_values.paths)
    # Ranges are independent of the fit and of each other: zeros beside the diagonal.
    covariance_rows = [(*row, *[0.0] * range_count) for row in fitted_values.covariance]
    for range_index, deviation in enumerate(deviation_by_path.values()):
        covariance_rows.append(
            tuple(
                deviation**2 if column_index == fit_count + range_index else 0.0
                for column_index in range(fit_count + range_count)
            )
        )
    uncertain_values = UncertainValues(
        (*fitted_values.paths, *deviation_by_path),
        (*fitted_values.log_middles, *log_means),
        tuple(covariance_rows),
        fitted_values.noise,
        fitted_values.source,
        frozenset(count_paths),
    )
    return certain_settings, uncertain_values


def _parse_range(path: str, node: Node) -> tuple[Node, float, float, bool] | None:
    """Parse a range ``low..high``: return its geometric mean as a node, the logarithm of the mean,
    the standard deviation of the logarithm, and whether both ends are whole numbers; None for other
    values.
    """
    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        return None
    range_match = _RANGE_PATTERN.fullmatch(node.text.strip())
    if range_match is None:
        return None
    low_text = range_match["low"].rstrip()
    high_text = range_match["high"]
    unit = high_text.lstrip("+-0123456789.eE ")
    # In `1..3 us` the unit is that of both ends.
    if _BARE_NUMBER.fullmatch(low_text) and unit:
        low_text = f"{low_text} {unit}"
    try:
        (low_value, dimension), (high_value, high_dimension) = parse(low_text), parse(high_text)
    except UnitError:
        return None  # a file name, say; the reader of the setting says what is wrong
    if dimension != high_dimension:
        raise node.mark.error(f"from {low_text} to {high_text}: these are of different kinds", path)
    if not 0 < low_value < high_value:
        raise node.mark.error(
            f"a range is from a value above 0 to a larger one; got {node.text}", path
        )
    log_middle = (log(low_value) + log(high_value)) / 2
    deviation = (log(high_value) - log(low_value)) / 2 / NORMAL_90
    are_whole_numbers = dimension == COUNT and low_text.isdigit() and high_text.isdigit()
    middle_value = float(round(exp(log_middle))) if are_whole_numbers else exp(log_middle)
    middle_node = _quantity_node(node, middle_value, dimension)
    # Of a range such as 2..3 both numbers are drawn, also where the value itself is 2.
    return middle_node, log_middle, deviation, are_whole_numbers


def _quantity_node(source_node: Node, value: float, dimension: Dimension) -> Node:
    if dimension != COUNT:
        return from_plain(f"{value!r} {dimension}", source_node.mark)
    return from_plain(
        int(value) if value == int(value) and value < 1e15 else value, source_node.mark
    )


def _values_of_fit(
    settings: Mapping[str, Node], certain_settings: Mapping[str, Node], library: Library
) -> tuple[UncertainValues, dict[str, Node]]:
    """Return the joint distribution of the values of the fit that a setting names, and their most
    probable values by path, except those that other settings replace.

    A fit has one common value for each parameter and an offset of it for each owner, such as each
    machine; the settings `fitted.COLUMN` name the owners, such as the machine.
    """
    node = settings[FITTED]
    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        raise node.mark.error("write the name of a fit, or a file that ends in .yaml", FITTED)
    spec = validate(FittedSpec, library.load("fitted", node.value, node.mark, FITTED))
    owner_by_column = _named_owners(settings, spec)
    paths = [path for path in spec.parameters if path not in certain_settings]
    weight_rows = [
        [
            _weight_of_fitted_value(unknown_name, path, owner_by_column)
            for unknown_name in spec.unknowns
        ]
        for path in paths
    ]
    centre = [_dot_product(path_weights, spec.centre) for path_weights in weight_rows]
    covariance = [
        [
            _dot_product(
                path_weights,
                [_dot_product(covariance_row, row_weights) for covariance_row in spec.covariance],
            )
            for row_weights in weight_rows
        ]
        for path_weights in weight_rows
    ]
    # An owner that the fit has not seen adds the spread between owners.
    for index, path in enumerate(paths):
        covariance[index][index] += sum(
            deviation**2
            for key, deviation in spec.spread.items()
            if key.rpartition(" ")[0] == path
            and f"{key}={owner_by_column.get(key.rpartition(' ')[2], '')}" not in spec.unknowns
        )
    source_text = f"fitted to {spec.rows} measurements ({node.value})"
    node_by_path: dict[str, Node] = {}
    for path, log_value in zip(paths, centre, strict=True):
        dimension = spec.parameters[path].value.dimension
        value_node = _quantity_node(node, exp(log_value), dimension)
        assert isinstance(value_node, Scalar)
        node_by_path[path] = from_plain(
            {"value": value_node.value, "source": source_text}, node.mark
        )
    variance_factor = spec.widened**2
    fitted_values = UncertainValues(
        tuple(paths),
        tuple(centre),
        tuple(
            tuple(variance_factor * entry for entry in path_weights) for path_weights in covariance
        ),
        dict(spec.noise),
        source_text,
    )
    return fitted_values, node_by_path


def _named_owners(settings: Mapping[str, Node], spec: FittedSpec) -> dict[str, str]:
    """Return the owners that the settings name, by column; raise for an owner that the fit does not
    have.
    """
    owners_by_column: dict[str, list[str]] = {}
    for unknown_name in spec.unknowns:
        column, separator, owner = unknown_name.partition(" ")[2].partition("=")
        if separator and owner not in owners_by_column.setdefault(column, []):
            owners_by_column[column].append(owner)
    owner_by_column = {}
    for path, node in settings.items():
        if not path.startswith(f"{FITTED}."):
            continue
        column = path.removeprefix(f"{FITTED}.")
        owner = str(getattr(node, "text", ""))
        if column not in owners_by_column:
            raise node.mark.error(
                f"the fit has no owners called {column!r}; it has"
                f" {', '.join(owners_by_column) or 'none'}",
                path,
            )
        if owner not in owners_by_column[column]:
            raise node.mark.error(
                f"the fit has seen no {column} {owner!r}; it has"
                f" {', '.join(owners_by_column[column])}; leave {path} out for a new one",
                path,
            )
        owner_by_column[column] = owner
    return owner_by_column


def _weight_of_fitted_value(
    unknown_name: str, path: str, owner_by_column: Mapping[str, str]
) -> float:
    """Return 1 if a fitted value is a part of the setting at a path, as the common value or as the
    offset of an owner that is named; else 0.
    """
    if unknown_name == path:
        return 1.0
    value_path, _, owner_text = unknown_name.partition(" ")
    column, _, owner = owner_text.partition("=")
    return float(value_path == path and owner_by_column.get(column) == owner)


def _dot_product(left_vector: Sequence[float], right_vector: Sequence[float]) -> float:
    return sum(
        left_value * right_value
        for left_value, right_value in zip(left_vector, right_vector, strict=True)
    )
