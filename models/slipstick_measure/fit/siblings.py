"""Prediction of a curve beyond its last point from curves of other programs on the same machine.

A curve that was measured up to some number of processors is continued by the ratios that its
siblings show beyond it. Siblings of a similar shape up to there weigh more. No form is assumed;
the interval is by how far siblings differ, which two pseudo-observations of a floor keep from
being taken for none where few agree by chance, and by how far the curve itself has departed from
the nearest sibling, which it may do again: a wrong last row makes the interval useless, not narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.late import Array, dataclass, np

SIMILAR_DIFFERENCE = 0.1
"""Root-mean-square difference in logarithms at which a sibling has the weight 0.6."""

LEAST_SPREAD = 0.05
"""Standard deviation of ratios, in logarithms, that is assumed beside what siblings show."""

WIDEST_PREDICTION_RATIO = 4.0
"""High over low above which a prediction is of no use."""

COMPARED_POINTS = 2
"""Points of a curve before its last one whose differences from it are compared."""


@dataclass(frozen=True, slots=True)
class SiblingPrediction:
    """The prediction of a curve at a number of processors from curves of similar programs.

    Parameters
    ----------
    curve : name of the curve
    p : number of processors
    last_processors : the largest number of processors of the curve that is taken as known
    value, low, high : the prediction with its interval of 90 %
    siblings : number of curves that it is computed from
    departure : root-mean-square difference of its shape from that of the nearest sibling
        [log]
    measured : the measured value at p processors; None if there is none
    """

    curve: str
    p: float
    last_processors: float
    value: float
    low: float
    high: float
    siblings: int
    departure: float
    measured: float | None = None

    @property
    def is_useful(self) -> bool:
        """Whether the interval is narrow enough to be of use."""
        return self.high <= WIDEST_PREDICTION_RATIO * self.low


Curves = Mapping[str, Mapping[float, float]]
"""By curve, the measured value at each number of processors."""


def predict_from_siblings(
    curves: Curves,
    group_by_curve: Mapping[str, str],
    curve_name: str,
    p: float,
    last_processors: float,
) -> SiblingPrediction | None:
    """Predict the value of a curve at `p` processors from curves of the same group; None if fewer
    than two of these reach `p`.

    Parameters
    ----------
    curves : measured values
    group_by_curve : the group of each curve, such as its machine; siblings have the same group
    curve_name : the curve to continue
    p : number of processors to predict for
    last_processors : number of processors up to which the curve is taken as known

    >>> curves = {"a": {1: 1, 2: 2, 4: 3}, "b": {1: 2, 2: 4, 4: 6}, "c": {1: 5, 2: 10}}
    >>> predict_from_siblings(curves, dict.fromkeys("abc", "one machine"), "c", 4, 2).value
    15.0
    """
    own_curve = curves[curve_name]
    sibling_names = [
        sibling_name
        for sibling_name in curves
        if sibling_name != curve_name
        and group_by_curve[sibling_name] == group_by_curve[curve_name]
        and {p, last_processors} <= curves[sibling_name].keys()
    ]
    if len(sibling_names) < 2 or last_processors not in own_curve:
        return None
    log_ratios = np.array(
        [
            np.log(curves[sibling_name][p] / curves[sibling_name][last_processors])
            for sibling_name in sibling_names
        ]
    )
    shape_differences = np.array(
        [
            _shape_difference(own_curve, curves[sibling_name], last_processors)
            for sibling_name in sibling_names
        ]
    )
    weights = np.exp(-((shape_differences / SIMILAR_DIFFERENCE) ** 2) / 2) + 1e-9
    weights /= weights.sum()
    least_shape_difference = float(shape_differences.min())
    mean_log_ratio, half_width = _mean_with_half_width(log_ratios, weights, least_shape_difference)
    value = float(own_curve[last_processors] * np.exp(mean_log_ratio))
    return SiblingPrediction(
        curve_name,
        p,
        last_processors,
        value,
        float(value * np.exp(-half_width)),
        float(value * np.exp(half_width)),
        len(sibling_names),
        least_shape_difference,
        own_curve.get(p),
    )


def _shape_difference(
    curve: Mapping[float, float], sibling: Mapping[float, float], last_processors: float
) -> float:
    """Return the root-mean-square difference of two curves' shapes before a number of processors
    [log].
    """
    common_processors = sorted(p for p in curve.keys() & sibling.keys() if p < last_processors)[
        -COMPARED_POINTS:
    ]
    log_differences = [
        np.log(curve[p] / curve[last_processors]) - np.log(sibling[p] / sibling[last_processors])
        for p in common_processors
    ]
    return float(np.sqrt(np.mean(np.square(log_differences)))) if log_differences else 0.0


def _mean_with_half_width(
    log_ratios: Array, weights: Array, shape_difference: float
) -> tuple[float, float]:
    """Return the weighted mean of logarithms of ratios, and half the width of the prediction
    interval of 90 % for a curve that departs from the shape of the nearest sibling [log].
    """
    from scipy.stats import t

    effective_count = 1 / float((weights**2).sum())
    mean_log_ratio = float(weights @ log_ratios)
    sum_of_squares = float(weights @ (log_ratios - mean_log_ratio) ** 2) * effective_count
    variance = (
        (sum_of_squares + 2 * LEAST_SPREAD**2) / (effective_count + 2) * (1 + 1 / effective_count)
    )
    return mean_log_ratio, float(
        t.ppf(0.95, effective_count + 1) * np.sqrt(variance + shape_difference**2)
    )


def predict_held_out(
    curves: Curves,
    group_by_curve: Mapping[str, str],
    extrapolation_factor: float,
    last_processors: float,
) -> list[SiblingPrediction]:
    """Predict each curve at `extrapolation_factor` times `last_processors` from its points up to
    `last_processors`, to compare the predictions with the measured values.
    """
    predictions = (
        predict_from_siblings(
            curves,
            group_by_curve,
            curve_name,
            extrapolation_factor * last_processors,
            last_processors,
        )
        for curve_name, value_by_processors in curves.items()
        if extrapolation_factor * last_processors in value_by_processors
    )
    return [prediction for prediction in predictions if prediction is not None]


def curves_of(
    curve_names: Sequence[str], processors: Sequence[float], values: Sequence[float]
) -> dict[str, dict[float, float]]:
    """Group rows into curves; several rows at a point are replaced by their median."""
    values_by_curve: dict[str, dict[float, list[float]]] = {}
    for curve_name, p, value in zip(curve_names, processors, values, strict=True):
        values_by_curve.setdefault(curve_name, {}).setdefault(p, []).append(value)
    return {
        curve_name: {
            p: float(np.median(values_at_point))
            for p, values_at_point in sorted(values_by_processors.items())
        }
        for curve_name, values_by_processors in values_by_curve.items()
    }
