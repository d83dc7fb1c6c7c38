"""Curves of the same machine predict one another: what no law knows, a sibling shows.

A curve that was measured up to some number of processors is continued by the ratios that its
siblings show beyond it. Siblings of a similar shape up to there weigh more. No form is assumed;
the interval is by how far siblings differ, which two pseudo-observations of a floor keep from
being taken for none where few agree by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.late import Array, np

SIMILAR = 0.1
"""Root of the mean square of the differences in logarithms at which a sibling weighs 0.6."""

LEAST_SPREAD = 0.05
"""Standard deviation of ratios, in logarithms, that is assumed beside what siblings show."""

SHAPE = 2
"""Last steps of a curve whose shape is compared."""


@dataclass(frozen=True, slots=True)
class SiblingPrediction:
    """The prediction of one curve at a number of processors from curves of similar programs.

    Parameters
    ----------
    curve, p : of what, and where
    last : the largest number of processors of the curve that is taken as known
    value, low, high : the prediction with its interval of 90 %
    siblings : how many curves it is by
    measured : the measured value there, where it is known
    """

    curve: str
    p: float
    last: float
    value: float
    low: float
    high: float
    siblings: int
    measured: float | None = None


Curves = Mapping[str, Mapping[float, float]]
"""By curve, the measured value at each number of processors."""


def predict(
    curves: Curves, alike: Mapping[str, str], name: str, p: float, last: float
) -> SiblingPrediction | None:
    """Predict a curve from similar curves; None if fewer than two of these reach `p`.

    Parameters
    ----------
    curves : measured values
    alike : by curve, what siblings have in common
    name : the curve to continue
    p : where
    last : number of processors up to which the curve is taken as known

    >>> curves = {"a": {1: 1, 2: 2, 4: 3}, "b": {1: 2, 2: 4, 4: 6}, "c": {1: 5, 2: 10}}
    >>> predict(curves, dict.fromkeys("abc", "one machine"), "c", 4, 2).value
    15.0
    """
    own_curve = curves[name]
    siblings = [
        sibling
        for sibling in curves
        if sibling != name and alike[sibling] == alike[name] and {p, last} <= curves[sibling].keys()
    ]
    if len(siblings) < 2 or last not in own_curve:
        return None
    ratios = np.array([np.log(curves[sibling][p] / curves[sibling][last]) for sibling in siblings])
    shape_differences = np.array(
        [_shape_difference(own_curve, curves[sibling], last) for sibling in siblings]
    )
    weights = np.exp(-((shape_differences / SIMILAR) ** 2) / 2) + 1e-9
    weights /= weights.sum()
    middle, half = _centre(ratios, weights)
    value = float(own_curve[last] * np.exp(middle))
    return SiblingPrediction(
        name,
        p,
        last,
        value,
        float(value * np.exp(-half)),
        float(value * np.exp(half)),
        len(siblings),
        own_curve.get(p),
    )


def _shape_difference(
    curve: Mapping[float, float], sibling: Mapping[float, float], last: float
) -> float:
    """Return the root-mean-square difference of two curves' shapes before a number of processors
    [log].
    """
    common = sorted(p for p in curve.keys() & sibling.keys() if p < last)[-SHAPE:]
    steps = [np.log(curve[p] / curve[last]) - np.log(sibling[p] / sibling[last]) for p in common]
    return float(np.sqrt(np.mean(np.square(steps)))) if steps else 0.0


def _centre(ratios: Array, weights: Array) -> tuple[float, float]:
    """Return the mean of ratios, and half the width of the prediction interval."""
    from scipy.stats import t

    count = 1 / float((weights**2).sum())
    mean = float(weights @ ratios)
    squares = float(weights @ (ratios - mean) ** 2) * count
    variance = (squares + 2 * LEAST_SPREAD**2) / (count + 2) * (1 + 1 / count)
    return mean, float(t.ppf(0.95, count + 1) * np.sqrt(variance))


def predict_held_out(
    curves: Curves, alike: Mapping[str, str], factor: float, last_processors: float
) -> list[SiblingPrediction]:
    """Predict each curve at `factor` times `last_processors` as if it ended at `last_processors`,
    to test the predictions.
    """
    predictions = (
        predict(curves, alike, name, factor * last_processors, last_processors)
        for name, values in curves.items()
        if factor * last_processors in values
    )
    return [prediction for prediction in predictions if prediction is not None]


def curves_of(
    names: Sequence[str], processors: Sequence[float], values: Sequence[float]
) -> dict[str, dict[float, float]]:
    """Group rows into curves; several rows at a point are replaced by their median."""
    rows: dict[str, dict[float, list[float]]] = {}
    for name, p, value in zip(names, processors, values, strict=True):
        rows.setdefault(name, {}).setdefault(p, []).append(value)
    return {
        name: {p: float(np.median(values_at_point)) for p, values_at_point in sorted(curve.items())}
        for name, curve in rows.items()
    }
