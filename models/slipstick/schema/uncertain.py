"""Uncertain settings: ranges as written, and the values of a fit.

Why this shape: a range is taken out of the settings before they are checked, and its middle is put
there, so that no reader of settings needs to know of it; what is known beside the middle goes with
the built model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log

from slipstick.errors import UnitError
from slipstick.expression.nodes import COUNT, Dimension
from slipstick.schema.kinds.fitted import FittedSpec
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import Library
from slipstick.schema.text import Node, Scalar, from_plain
from slipstick.units import parse

FITTED = "fitted"
"""The setting that names a fit; ``fitted.COLUMN`` names an owner, such as ``fitted.machine``."""

NORMAL_90 = 1.6448536269514722
"""Standard deviations on each side that hold 90 % of a normal distribution."""

_RANGE = re.compile(r"(?P<low>[^.\s](?:[^.]|\.(?!\.))*+)\.\.\s*+(?P<high>[^.\s].*)")
_BARE = re.compile(r"[-+0-9.eE]+")


@dataclass(frozen=True, slots=True)
class UncertainValues:
    """Settings that are uncertain: their logarithms have a joint normal distribution.

    Parameters
    ----------
    paths : of the settings
    centre : logarithms of the middle values
    covariance : of the logarithms
    noise : standard deviation of the logarithm of a value of the answer, where a fit tells it
    source : what the values are fitted to; empty where all are ranges
    """

    paths: tuple[str, ...] = ()
    centre: tuple[float, ...] = ()
    covariance: tuple[tuple[float, ...], ...] = ()
    noise: Mapping[str, float] = field(default_factory=dict)
    source: str = ""


def told_apart(
    settings: Mapping[str, Node], library: Library
) -> tuple[dict[str, Node], UncertainValues]:
    """Replace ranges by their geometric means and a fit by its values; return the settings, and the
    joint distribution of those that are uncertain.

    Nine of ten values lie in a range; the logarithm is normal.

    Parameters
    ----------
    settings : values by path
    library : what was read so far

    Raises
    ------
    SpecError : a range is none, or there is no such fit
    """
    if FITTED not in settings and not any(
        isinstance(node, Scalar) and ".." in node.text for node in settings.values()
    ):
        return dict(settings), UncertainValues()
    plain = {
        path: node
        for path, node in settings.items()
        if path != FITTED and not path.startswith(f"{FITTED}.")
    }
    ranges: dict[str, float] = {}
    centre: list[float] = []
    for path, node in plain.items():
        read = _range(path, node)
        if read is not None:
            plain[path], middle, ranges[path] = read
            centre.append(middle)
    fit = UncertainValues()
    values = dict[str, Node]()
    if FITTED in settings:
        fit, values = _fit_of(settings, plain, library)
    # A setting by hand goes before the value of the fit.
    plain = {**values, **plain}
    count = len(ranges)
    own = len(fit.paths)
    # Ranges are independent of the fit and of each other: zeros beside the diagonal.
    rows = [(*row, *[0.0] * count) for row in fit.covariance]
    for place, deviation in enumerate(ranges.values()):
        rows.append(
            tuple(deviation**2 if column == own + place else 0.0 for column in range(own + count))
        )
    uncertain = UncertainValues(
        (*fit.paths, *ranges), (*fit.centre, *centre), tuple(rows), fit.noise, fit.source
    )
    return plain, uncertain


def _range(path: str, node: Node) -> tuple[Node, float, float] | None:
    """Parse a range ``low..high``: return its geometric mean as a node, the logarithm of the mean,
    and the standard deviation of the logarithm; None for other values.
    """
    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        return None
    match = _RANGE.fullmatch(node.text.strip())
    if match is None:
        return None
    low = match["low"].rstrip()
    high = match["high"]
    unit = high.lstrip("+-0123456789.eE ")
    # In `1..3 us` the unit is that of both ends.
    if _BARE.fullmatch(low) and unit:
        low = f"{low} {unit}"
    try:
        (least, dimension), (most, high_dimension) = parse(low), parse(high)
    except UnitError:
        return None  # a file name, say; the reader of the setting says what is wrong
    if dimension != high_dimension:
        raise node.mark.error(f"from {low} to {high}: these are of different kinds", path)
    if not 0 < least < most:
        raise node.mark.error(
            f"a range is from a value above 0 to a larger one; got {node.text}", path
        )
    middle = (log(least) + log(most)) / 2
    deviation = (log(most) - log(least)) / 2 / NORMAL_90
    whole_numbers = dimension == COUNT and low.isdigit() and high.isdigit()
    value = float(round(exp(middle))) if whole_numbers else exp(middle)
    return _node(node, value, dimension), log(value), deviation


def _node(written: Node, value: float, dimension: Dimension) -> Node:
    if dimension != COUNT:
        return from_plain(f"{value!r} {dimension}", written.mark)
    return from_plain(int(value) if value == int(value) and value < 1e15 else value, written.mark)


def _fit_of(
    settings: Mapping[str, Node], plain: Mapping[str, Node], library: Library
) -> tuple[UncertainValues, dict[str, Node]]:
    """Return the values of a fit, for its named owners, where no other setting replaces them."""
    node = settings[FITTED]
    if not (isinstance(node, Scalar) and isinstance(node.value, str)):
        raise node.mark.error("write the name of a fit, or a file that ends in .yaml", FITTED)
    spec = validate(FittedSpec, library.load("fitted", node.value, node.mark, FITTED))
    owners = _owners(settings, spec)
    paths = [path for path in spec.parameters if path not in plain]
    weights = [[_weight(name, path, owners) for name in spec.unknowns] for path in paths]
    centre = [_inner(row, spec.centre) for row in weights]
    covariance = [
        [
            _inner(row, [_inner(line, row_weights) for line in spec.covariance])
            for row_weights in weights
        ]
        for row in weights
    ]
    # An owner that the fit has not seen adds the spread between owners.
    for index, path in enumerate(paths):
        covariance[index][index] += sum(
            deviation**2
            for key, deviation in spec.spread.items()
            if key.rpartition(" ")[0] == path
            and f"{key}={owners.get(key.rpartition(' ')[2], '')}" not in spec.unknowns
        )
    words = f"fitted to {spec.rows} measurements ({node.value})"
    values: dict[str, Node] = {}
    for path, middle in zip(paths, centre, strict=True):
        dimension = spec.parameters[path].value.dimension
        middle_node = _node(node, exp(middle), dimension)
        assert isinstance(middle_node, Scalar)
        values[path] = from_plain({"value": middle_node.value, "source": words}, node.mark)
    factor = spec.widened**2
    uncertain = UncertainValues(
        tuple(paths),
        tuple(centre),
        tuple(tuple(factor * entry for entry in row) for row in covariance),
        dict(spec.noise),
        words,
    )
    return uncertain, values


def _owners(settings: Mapping[str, Node], spec: FittedSpec) -> dict[str, str]:
    """Return the owners that the settings name, by column; raise for an owner that the fit does not
    have.
    """
    columns_by_owner: dict[str, list[str]] = {}
    for name in spec.unknowns:
        column, equals, owner = name.partition(" ")[2].partition("=")
        if equals and owner not in columns_by_owner.setdefault(column, []):
            columns_by_owner[column].append(owner)
    owners = {}
    for path, node in settings.items():
        if not path.startswith(f"{FITTED}."):
            continue
        column = path.removeprefix(f"{FITTED}.")
        owner = str(getattr(node, "text", ""))
        if column not in columns_by_owner:
            raise node.mark.error(
                f"the fit has no owners called {column!r}; it has {', '.join(columns_by_owner) or 'none'}",
                path,
            )
        if owner not in columns_by_owner[column]:
            raise node.mark.error(
                f"the fit has seen no {column} {owner!r}; it has {', '.join(columns_by_owner[column])}; leave"
                f" {path} out for a new one",
                path,
            )
        owners[column] = owner
    return owners


def _weight(name: str, path: str, owners: Mapping[str, str]) -> float:
    """Return 1 if a fitted value is part of the setting at a path, as its common value or the
    offset of a named owner; else 0.
    """
    if name == path:
        return 1.0
    value_path, _, owner_text = name.partition(" ")
    column, _, owner = owner_text.partition("=")
    return float(value_path == path and owners.get(column) == owner)


def _inner(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
