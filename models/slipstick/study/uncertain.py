"""Answers whose settings are not known exactly: intervals, and what causes their width."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from slipstick.answer import Answer, Value
from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import Array, np
from slipstick.model.uncertainty import Uncertainty, random_stream, sample_points
from slipstick.results.sweep import split_name
from slipstick.schema.inputs import BuiltModel
from slipstick.schema.uncertain import NORMAL_90, UncertainValues
from slipstick.study.evaluator import Evaluator

POINTS = 512
"""Quasi-random points; ends of intervals of smooth answers change by a percent between seeds."""

BAND_DRAWS = 64
"""Draws at each of many points: ends of intervals are then those of three draws."""

LOW_PART = 0.05
HIGH_PART = 0.95
# Shares of the width that a note names: at least this part of it, and at most so many settings.
LEAST_SHARE = 0.01
MOST_SHARES = 5


def drawn(uncertain: UncertainValues, count: int = POINTS) -> dict[str, Array]:
    """Draw values of all uncertain settings from their joint distribution, (count,) each.

    Parameters
    ----------
    uncertain : the settings
    count : how many points, a power of two
    """
    return _settings(uncertain, _standard(uncertain, count))


def _standard(uncertain: UncertainValues, count: int) -> Array:
    """Draw independent standard normal values, (count, settings)."""
    names = [f"{index:04d}" for index in range(len(uncertain.paths))]
    standard = Uncertainty("normal", 0.0, 1.0)
    points = sample_points(
        # The stream does not depend on the seed of simulations, so that all cases of a study are
        # compared at the same draws.
        dict.fromkeys(names, standard),
        count,
        random_stream(0, "uncertain settings"),
    )
    return np.column_stack([points[name] for name in names])


def _settings(uncertain: UncertainValues, normal: Array) -> dict[str, Array]:
    """Return the settings at standard normal values, (points, settings)."""
    # Not by Cholesky: settings that determine each other have a singular covariance.
    values, vectors = np.linalg.eigh(np.array(uncertain.covariance))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    # Settings are lognormal: rates and times are positive, and their ranges are given by factors.
    logs = np.array(uncertain.centre) + normal @ factor.T
    return dict(zip(uncertain.paths, np.exp(logs).T, strict=True))


def columns_of_draws(
    case: Evaluator,
    names: Collection[str],
    count: int,
    varied: Mapping[str, Array] | None = None,
    number: int = 1,
    quadratic: bool | None = None,
) -> dict[str, Array]:
    """Return columns at draws of the uncertain settings, (draws, number).

    Where a simulation answers, it runs only at the middle of the settings and at one standard
    deviation to both sides of it in each of their n independent directions, with the same random
    numbers. Between these 2 n + 1 points values are taken as quadratic in each direction, in
    logarithms where they are positive; joint effects of two directions are neglected. Where one of
    these points has no answer all draws are solved. For drawn queues the ends of intervals differ
    from those of all draws by 0.5 to 5 % in the median, by up to 21 % with ranges of a factor of 2
    and by up to 45 % with 3, where ranges decide which of several stations is the slowest
    (`benchmarks/ranges.py`).

    Parameters
    ----------
    case : whose settings are uncertain
    names : the columns to give
    count : how many draws
    varied, number : what is varied beside the settings, and at how many points
    quadratic : whether values are taken as quadratic; None: where they are simulated
    """
    uncertain = case.built.uncertain
    smooth = _of_draws(case)
    normal = _standard(uncertain, count)
    size = len(uncertain.paths)

    def solved(at: Array) -> dict[str, Array]:
        # Draws vary slowest: the order in which the columns are reshaped below.
        tiled = {path: np.tile(column, len(at)) for path, column in (varied or {}).items()}
        repeated = {
            path: np.repeat(column, number) for path, column in _settings(uncertain, at).items()
        }
        columns = smooth.columns({**repeated, **tiled}, names)
        return {name: column.reshape(len(at), number) for name, column in columns.items()}

    if quadratic is None:
        quadratic = smooth.form.estimated and 2 * size + 1 < count
    if not quadratic:
        return solved(normal)
    sides = np.vstack([np.zeros(size), np.eye(size), -np.eye(size)])
    columns = solved(sides)
    if not all(np.isfinite(column).all() for column in columns.values()):
        return solved(normal)
    return {name: _quadratic(column, normal) for name, column in columns.items()}


def _of_draws(case: Evaluator) -> Evaluator:
    """Return the case by a method that is quick enough for draws; by simulation where no other
    answers.
    """
    smooth = case.smoothed
    try:
        smooth.solved({}, ())
    except NoAnswerError:
        return case
    return smooth


def _quadratic(column: Array, normal: Array) -> Array:
    """Return values at draws from those at the middle and on both sides of it, (draws, number)."""
    positive = bool((column > 0).all())
    middle, above, below = np.split(
        np.log(column) if positive else column, [1, 1 + normal.shape[1]]
    )
    values = middle + normal @ (above - below) / 2 + normal**2 @ ((above + below) / 2 - middle)
    return np.asarray(np.exp(values) if positive else values)


def with_intervals(answer: Answer, case: Evaluator) -> Answer:
    """Return an answer with intervals that include the uncertainty of its settings.

    Ends are those of nine of ten points; a value keeps its own, and its ends are as many times as
    far off as the points say. Values of a simulation have both intervals, by the root of the sum of
    the squares in logarithms.

    Parameters
    ----------
    answer : at the middle of all settings
    case : what was solved

    Raises
    ------
    NoAnswerError : a setting shapes the model, so that its range would be many models
    """
    uncertain = case.built.uncertain
    if not uncertain.paths or answer.failed:
        return answer
    _check(case.built, uncertain)
    points = drawn(uncertain)
    # A simulation at each draw would take hours and add its own noise to the interval.
    smooth = _of_draws(case)
    wanted = set(answer.values) | {smooth.form.quantity}
    draws = columns_of_draws(case, wanted, POINTS)
    columns = {name: column[:, 0] for name, column in draws.items()}
    own = smooth.columns({}, set(columns))
    values = {}
    for name, value in answer.values.items():
        noise = uncertain.noise.get(name, 0.0)
        values[name] = _widened(value, columns.get(name), own.get(name), noise)
    notes = (*_remarks(smooth, uncertain, columns, points), *answer.notes)
    return replace(answer, values=values, notes=notes, exact=False, draws={**points, **columns})


def drawn_columns(
    case: Evaluator, values: Mapping[str, Array], names: Collection[str], count: int
) -> dict[str, Array]:
    """Solve each point at the same draws of the uncertain settings; return columns of shape (draws,
    count).

    Parameters
    ----------
    case : whose settings are uncertain
    values : by path, what is varied, and has no range then [count]
    names : the columns to give
    count : how many points

    Raises
    ------
    NoAnswerError : a setting shapes the model
    """
    _check(case.built, case.built.uncertain)
    return columns_of_draws(case, names, BAND_DRAWS, values, count)


def bands(
    case: Evaluator, values: Mapping[str, Array], columns: Mapping[str, Array], count: int
) -> dict[str, Array]:
    """Return the ends of the intervals of columns, such as ``low[time]``, widened by the
    uncertainty of the settings: the middle nine tenths of the draws.

    Distances from the value add up by the root of the sum of the squares with the noise of a fit
    and with an interval that the column has already. Where more than one draw in twenty has no
    answer, nothing is known of the value.

    Parameters
    ----------
    case : what was solved; nothing is returned where none of its settings is uncertain
    values : by path, what is varied [count]
    columns : what was found there [count]
    count : how many points
    """
    uncertain = case.built.uncertain
    names = [name for name in columns if split_name(name)[0] not in ("low", "high", "once")]
    if not uncertain.paths or not names:
        return {}
    ends_by_name = {}
    own = _of_draws(case).columns(values, names)
    for name, draws in drawn_columns(case, values, names, count).items():
        column = columns[name]
        noise = uncertain.noise.get(name, 0.0)
        answered = np.isfinite(draws)
        answered_draws = np.where(answered, draws, np.nan)
        enough = answered.mean(axis=0) > HIGH_PART
        # Any number will do: these points get no band, and a column of NaN would warn.
        answered_draws[:, ~enough] = 0.0
        # The width is that of the method that solved the draws, relative to its own value, and so
        # fits an answer by another method.
        scale = column / np.where(own[name] == 0.0, 1.0, own[name])
        for end, part, sign in (("low", LOW_PART, -1.0), ("high", HIGH_PART, 1.0)):
            apart = (
                np.maximum(sign * (np.nanquantile(answered_draws, part, axis=0) - own[name]), 0.0)
                * scale
            )
            beside = columns.get(f"{end}[{name}]", column) - column
            more = column * np.expm1(sign * NORMAL_90 * noise)
            half_width = np.sqrt(
                apart**2 + np.where(np.isfinite(beside), beside, 0.0) ** 2 + more**2
            )
            ends_by_name[f"{end}[{name}]"] = np.where(
                enough, column + sign * half_width, sign * np.inf
            )
    return ends_by_name


def paired_saving(case: Evaluator, changed: Evaluator, path: str, factor: float) -> Value:
    """Return the interval of the part of the first value that a change saves; both sides use the
    same draws of the uncertain settings, so that common uncertainty cancels.

    Parameters
    ----------
    case : before the change
    changed : after it
    path : what was changed
    factor : by which it was multiplied; a draw of it is multiplied as well
    """
    quantity = case.form.quantity
    points = drawn(case.built.uncertain)
    moved = {name: value * factor if name == path else value for name, value in points.items()}
    before = np.asarray(case.columns(points, [quantity])[quantity])
    after = np.asarray(changed.columns(moved, [quantity])[quantity])
    with np.errstate(all="ignore"):
        saved = 1 - after / before
    if not np.isfinite(saved).all():
        return Value(None, "1")
    low, high = np.quantile(saved, [LOW_PART, HIGH_PART])
    return Value(None, "1", float(low), float(high))


def _check(built: BuiltModel, uncertain: UncertainValues) -> None:
    for path in uncertain.paths:
        if path not in built.parameters or not built.can_vary([path]):
            raise NoAnswerError(
                f"{path} shapes the model, so it has no range; solve for each of its values"
            )


def _widened(value: Value, column: Array | None, own: Array | None, noise: float) -> Value:
    if column is None or own is None or not value.value or not np.isfinite(own[0]) or not own[0]:
        return value
    ratios = np.asarray(column) / float(own[0])
    # Logarithms need a positive value at every draw.
    if not np.isfinite(ratios).all() or (ratios <= 0).any():
        return value
    # On a logarithmic scale, where factors of settings add up.
    logs = np.log(ratios)
    low, high = np.quantile(logs, [LOW_PART, HIGH_PART])
    more = NORMAL_90 * noise
    mine = abs(value.value)
    below = np.log(value.low / mine) if value.low and value.low > 0 else 0.0
    above = np.log(value.high / mine) if value.high and value.high > 0 else 0.0
    lower = -np.sqrt(min(low, 0.0) ** 2 + below**2 + more**2)
    upper = np.sqrt(max(high, 0.0) ** 2 + above**2 + more**2)
    # Nothing of the settings matters to this value, so it keeps the interval that it has.
    if upper - lower < 1e-9:
        return value
    return replace(
        value,
        low=float(value.value * np.exp(lower)),
        high=float(value.value * np.exp(upper)),
    )


def _remarks(
    case: Evaluator,
    uncertain: UncertainValues,
    columns: Mapping[str, Array],
    points: Mapping[str, Array],
) -> Iterator[str]:
    """Yield which settings cause the width of the first value, and by which method the draws were
    solved.
    """
    quantity = case.form.quantity
    column = np.asarray(columns[quantity])
    finite = np.isfinite(column)
    if not finite.all():
        missing = int((~finite).sum())
        yield f"{missing} of {len(column)} points of the ranges have no answer"
    shares = width_shares(points, column) if finite.all() and (column > 0).all() else {}
    words = [
        f"{path} {share:.0%}"
        for path, share in list(shares.items())[:MOST_SHARES]
        if share >= LEAST_SHARE
    ]
    if words:
        yield f"ranges hold 9 of 10 values; of the width of {quantity}: {', '.join(words)}"
    if case.form.estimated and 2 * len(uncertain.paths) + 1 < POINTS:
        yield (
            f"by {2 * len(uncertain.paths) + 1} simulations: between them answers are taken as"
            " quadratic in each range, which moves ends by a few percent, and by much more where"
            " wide ranges decide which of several stations is the slowest"
        )
    if uncertain.source:
        yield f"values {uncertain.source}; other paths keep theirs"


def width_shares(points: Mapping[str, Array], values: Array) -> dict[str, float]:
    """Return the share of each setting in the variance of logarithms, largest first; joint effects
    are divided by covariance.

    Parameters
    ----------
    points : drawn settings by path
    values : the value at each point

    Raises
    ------
    ModelError : points and values are of different numbers

    >>> x, y = np.exp([0.0, 1.0, 0.0, 1.0]), np.exp([0.0, 0.0, 1.0, 1.0])
    >>> {name: round(part, 2) for name, part in width_shares({"x": x, "y": y}, x**2 * y).items()}
    {'x': 0.8, 'y': 0.2}
    """
    if any(len(column) != len(values) for column in points.values()):
        raise ModelError("every setting has as many points as there are values")
    logs = np.log(np.column_stack(list(points.values())))
    logs = logs - logs.mean(axis=0)
    target = np.log(values) - np.log(values).mean()
    total = float(target @ target)
    # The value does not vary but for rounding: no setting causes any of its width.
    if total < 1e-24:
        return {}
    # A linear fit of logarithms is exact for products of powers; what it misses is left out of the
    # shares.
    slopes = np.linalg.lstsq(logs, target, rcond=None)[0]
    # Covariances of settings are divided between them, so that shares add up to the part that the
    # fit explains.
    contributions = slopes * (logs.T @ (logs @ slopes)) / total
    order = np.argsort(-np.abs(contributions))
    names = list(points)
    return {names[index]: float(contributions[index]) for index in order}
