"""Answers whose settings are not known exactly: intervals, and what causes their width."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from slipstick.answer import Answer, Value
from slipstick.errors import Definition, ModelError, NoAnswerError, Unanswered
from slipstick.late import Array, NDArray, np
from slipstick.model.uncertainty import Uncertainty, random_stream, sample_points
from slipstick.results.sweep import split_name
from slipstick.schema.inputs import BuiltModel
from slipstick.schema.uncertain import NORMAL_90, UncertainValues
from slipstick.study.evaluator import Evaluator

POINTS = 512
"""The number of quasi-random points at which uncertain settings are drawn; ends of intervals of
smooth answers then change by a percent between seeds.
"""

BAND_DRAWS = 64
"""The number of draws at each point of a sweep; the ends of an interval are then those of three
draws.
"""

LOW_PROBABILITY = 0.05
HIGH_PROBABILITY = 0.95
"""Fractions of the draws below the lower and the upper end of an interval [1]."""

PROBABILITIES_NEAR_ENDS = (0.02, LOW_PROBABILITY, HIGH_PROBABILITY, 0.98)
"""Fractions of the draws below those that are solved to test the quadratic interpolation [1]."""

NO_CORRECTION = 0.03
"""The largest difference of logarithms up to which interpolated values agree with solved ones."""

CORRECTING_DRAWS = 16
"""The number of draws that are solved to correct interpolated values that do not agree."""

SOLVE_EACH = "solve for each of its values: as an axis of 'vary' in a study, or a list in Python"
"""The way out where a setting cannot have a range."""

LEAST_SHARE = 0.01
"""The smallest share of the width of an interval that a note names [1]."""

MOST_SHARES = 5
"""The largest number of settings whose shares of the width a note names."""


def drawn_settings(uncertain_values: UncertainValues, draw_count: int = POINTS) -> dict[str, Array]:
    """Draw values of all uncertain settings from their joint distribution, (count,) each.

    Parameters
    ----------
    uncertain_values : the settings
    draw_count : how many points, a power of two
    """
    return _settings_at(uncertain_values, _normal_draws(uncertain_values, draw_count))


def _normal_draws(uncertain_values: UncertainValues, draw_count: int) -> Array:
    """Draw independent standard normal values, (count, settings)."""
    coordinate_names = [f"{index:04d}" for index in range(len(uncertain_values.paths))]
    distribution = Uncertainty("normal", 0.0, 1.0)
    column_by_name = sample_points(
        # The stream does not depend on the seed of simulations, so that all cases of a study are
        # compared at the same draws.
        dict.fromkeys(coordinate_names, distribution),
        draw_count,
        random_stream(0, "uncertain settings"),
    )
    return np.column_stack([column_by_name[name] for name in coordinate_names])


def _settings_at(uncertain_values: UncertainValues, normal_draws: Array) -> dict[str, Array]:
    """Return the values of the uncertain settings that belong to standard normal values [points,
    settings]; counts are rounded.
    """
    # Not by Cholesky: settings that determine each other have a singular covariance.
    eigenvalues, eigenvectors = np.linalg.eigh(np.array(uncertain_values.covariance))
    covariance_root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    # Settings are lognormal: rates and times are positive, and their ranges are given by factors.
    log_settings = np.array(uncertain_values.log_middles) + normal_draws @ covariance_root.T
    column_by_path = dict(zip(uncertain_values.paths, np.exp(log_settings).T, strict=True))
    for path in uncertain_values.count_paths:
        column_by_path[path] = np.maximum(np.rint(column_by_path[path]), 1.0)
    return column_by_path


def columns_of_draws(
    case: Evaluator,
    names: Collection[str],
    draw_count: int,
    varied_values: Mapping[str, Array] | None = None,
    point_count: int = 1,
    is_quadratic: bool | None = None,
) -> dict[str, Array]:
    """Solve a case at draws of its uncertain settings; return the columns of values [draws,
    points].

    Where a simulation answers, it runs at the middle of the settings and at one standard deviation
    to both sides of it in each of their n independent directions, with the same random numbers.
    Between these 2 n + 1 points values are taken as quadratic in each direction, in logarithms
    where they are positive. At one point, four draws near the ends of the interval are run as well;
    where one is off by more than 3 %, a smooth correction goes through 16 draws more. For drawn
    queues the ends of intervals differ from those of all draws by 0.4 to 1.5 % in the median, by up
    to 5 % with ranges of a factor of 2 and by up to 17 % with 3 (`benchmarks/ranges.py`; the
    quadratic alone 45 %). At several points, and in values of two signs, joint effects of two
    directions are neglected. Where one of these points has no answer all draws are solved.

    Parameters
    ----------
    case : whose settings are uncertain
    names : the columns to give
    draw_count : how many draws
    varied_values, point_count : what is varied beside the settings, and at how many points
    is_quadratic : whether values are taken as quadratic; None: where they are simulated
    """
    uncertain_values = case.built.uncertain_values
    quick_case = _quick_case(case)
    normal_draws = _normal_draws(uncertain_values, draw_count)
    setting_count = len(uncertain_values.paths)

    def solve_draws(normal_values: Array) -> dict[str, Array]:
        # Draws vary slowest: the order in which the columns are reshaped below.
        varied_columns = {
            path: np.tile(column, len(normal_values))
            for path, column in (varied_values or {}).items()
        }
        setting_columns = {
            path: np.repeat(column, point_count)
            for path, column in _settings_at(uncertain_values, normal_values).items()
        }
        columns = quick_case.columns({**setting_columns, **varied_columns}, names)
        return {
            name: column.reshape(len(normal_values), point_count)
            for name, column in columns.items()
        }

    if is_quadratic is None:
        is_quadratic = quick_case.form.is_estimated and 2 * setting_count + 1 < draw_count
    if not is_quadratic:
        return solve_draws(normal_draws)
    if counts := sorted(uncertain_values.count_paths):
        raise NoAnswerError(
            f"{counts[0]} is a whole number, between whose values no simulation is interpolated, so"
            f" it has no range here; {SOLVE_EACH}"
        )
    support_points = np.vstack(
        [np.zeros(setting_count), np.eye(setting_count), -np.eye(setting_count)]
    )
    columns = solve_draws(support_points)
    if not all(np.isfinite(column).all() for column in columns.values()):
        return solve_draws(normal_draws)
    quadratic_values = {
        name: _quadratic_values(column, normal_draws) for name, column in columns.items()
    }
    first_name = quick_case.form.quantity
    if point_count > 1 or first_name not in quadratic_values:
        return quadratic_values
    return _corrected_values(
        quadratic_values, quadratic_values[first_name], normal_draws, support_points, solve_draws
    )


def _quick_case(case: Evaluator) -> Evaluator:
    """Return the case with a method that is quick enough to solve many draws; the case itself if
    only simulation has an answer.
    """
    quick_case = case.with_mean_value_default
    try:
        quick_case.point_table({}, ())
    except NoAnswerError:
        return case
    return quick_case


def _quadratic_values(column: Array, normal_draws: Array) -> Array:
    """Return values at draws by a function that is quadratic in each setting, (draws, points); for
    positive values, the logarithm is quadratic. The rows of `column` are the values with all
    settings at their median, then with each one standard deviation above it, then below.
    """
    is_positive = bool((column > 0).all())
    middle_values, values_above, values_below = np.split(
        np.log(column) if is_positive else column, [1, 1 + normal_draws.shape[1]]
    )
    draw_values = (
        middle_values
        + normal_draws @ (values_above - values_below) / 2
        + normal_draws**2 @ ((values_above + values_below) / 2 - middle_values)
    )
    return np.asarray(np.exp(draw_values) if is_positive else draw_values)


def _corrected_values(
    interpolated_values: dict[str, Array],
    first_value: Array,
    normal_draws: Array,
    support_points: Array,
    solve_draws: Callable[[Array], dict[str, Array]],
) -> dict[str, Array]:
    """Return interpolated values at draws. If they differ from solved draws near the ends of the
    first value's interval, they are corrected by further solved draws.

    Parameters
    ----------
    interpolated_values : by name, taken as quadratic, (draws, 1)
    first_value : of them, the value whose ends choose draws
    normal_draws : the draws, (draws, settings)
    support_points : the points between which values are taken as quadratic
    solve_draws : the values at points
    """
    from scipy.interpolate import RBFInterpolator

    def log_ratios(rows: NDArray[np.intp]) -> dict[str, Array]:
        values = solve_draws(normal_draws[rows])
        # A value of 0 has no logarithm: NaN, which the fit of the surface refuses.
        with np.errstate(all="ignore"):
            return {
                name: np.log(column / interpolated_values[name][rows])
                for name, column in values.items()
            }

    ascending_order = np.argsort(first_value[:, 0])
    rows_near_ends = ascending_order[
        [int(probability * len(ascending_order)) for probability in PROBABILITIES_NEAR_ENDS]
    ]
    log_ratios_at_ends = log_ratios(rows_near_ends)
    if not any(
        (np.abs(log_ratio) > NO_CORRECTION).any() for log_ratio in log_ratios_at_ends.values()
    ):
        return interpolated_values
    # Quasi-random draws fill the space of the settings from the first ones on.
    correcting_rows = np.setdiff1d(np.arange(CORRECTING_DRAWS), rows_near_ends)
    log_ratios_at_draws = log_ratios(correcting_rows)
    solved_points = np.vstack(
        [support_points, normal_draws[rows_near_ends], normal_draws[correcting_rows]]
    )
    corrected_values = dict(interpolated_values)
    for name, log_ratio in log_ratios_at_ends.items():
        # At the support points the quadratic is the simulated value itself, so its ratio is 1
        # there.
        log_ratios_at_points = np.vstack(
            [np.zeros((len(support_points), 1)), log_ratio, log_ratios_at_draws[name]]
        )
        # Values of two signs, or of 0, stay quadratic.
        if np.isfinite(log_ratios_at_points).all():
            corrected_values[name] = interpolated_values[name] * np.exp(
                RBFInterpolator(solved_points, log_ratios_at_points)(normal_draws)
            )
    return corrected_values


def with_intervals(answer: Answer, case: Evaluator) -> Answer:
    """Return an answer with intervals that include the uncertainty of its settings.

    The ends contain nine of ten draws. The value itself stays that at the middle of the settings,
    and its ends lie at the same ratios to it as the ends of the draws to their middle. Values of a
    simulation have both intervals, by the root of the sum of the squares in logarithms.

    Parameters
    ----------
    answer : at the middle of all settings
    case : what was solved

    Raises
    ------
    NoAnswerError : a setting shapes the model, so that its range would be many models
    """
    uncertain_values = case.built.uncertain_values
    if not uncertain_values.paths or answer.failed:
        return answer
    _refuse_shaping_settings(case.built, uncertain_values)
    setting_draws = drawn_settings(uncertain_values)
    # A simulation at each draw would take hours and add its own noise to the interval.
    quick_case = _quick_case(case)
    value_names = set(answer.values) | {quick_case.form.quantity}
    draw_columns = columns_of_draws(case, value_names, POINTS)
    columns = {name: column[:, 0] for name, column in draw_columns.items()}
    own_columns = quick_case.columns({}, set(columns))
    values = {}
    for name, value in answer.values.items():
        noise = uncertain_values.noise.get(name, 0.0)
        values[name] = _with_wider_interval(value, columns.get(name), own_columns.get(name), noise)
    notes = (*_range_notes(quick_case, uncertain_values, columns, setting_draws), *answer.notes)
    return replace(
        answer, values=values, notes=notes, exact=False, draws={**setting_draws, **columns}
    )


def drawn_columns(
    case: Evaluator, values: Mapping[str, Array], names: Collection[str], point_count: int
) -> dict[str, Array]:
    """Solve each point at the same draws of the uncertain settings; return columns of shape (draws,
    count).

    Parameters
    ----------
    case : whose settings are uncertain
    values : by path, what is varied, and has no range then [count]
    names : the columns to give
    point_count : how many points

    Raises
    ------
    NoAnswerError : a setting shapes the model
    """
    _refuse_shaping_settings(case.built, case.built.uncertain_values)
    return columns_of_draws(case, names, BAND_DRAWS, values, point_count)


def interval_ends(
    case: Evaluator, values: Mapping[str, Array], columns: Mapping[str, Array], point_count: int
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
    point_count : how many points
    """
    uncertain_values = case.built.uncertain_values
    value_names = [name for name in columns if split_name(name)[0] not in ("low", "high", "once")]
    if not uncertain_values.paths or not value_names:
        return {}
    ends_by_name = {}
    own_columns = _quick_case(case).columns(values, value_names)
    for name, draws in drawn_columns(case, values, value_names, point_count).items():
        column = columns[name]
        noise = uncertain_values.noise.get(name, 0.0)
        has_answer = np.isfinite(draws)
        answered_draws = np.where(has_answer, draws, np.nan)
        has_band = has_answer.mean(axis=0) > HIGH_PROBABILITY
        # Any number will do: these points get no band, and a column of NaN would warn.
        answered_draws[:, ~has_band] = 0.0
        # The width is that of the method that solved the draws, relative to its own value, and so
        # fits an answer by another method; beside a value of 0 it is taken as it is.
        is_zero = own_columns[name] == 0.0
        scale_factor = np.where(is_zero, 1.0, column / np.where(is_zero, 1.0, own_columns[name]))
        for end, probability, sign in (
            ("low", LOW_PROBABILITY, -1.0),
            ("high", HIGH_PROBABILITY, 1.0),
        ):
            # A draw without an answer, such as of a saturated server, lies beyond either end.
            end_draws = np.where(np.isnan(answered_draws), sign * np.inf, answered_draws)
            draw_distance = (
                np.maximum(
                    sign * (np.quantile(end_draws, probability, axis=0) - own_columns[name]), 0.0
                )
                * scale_factor
            )
            method_distance = columns.get(f"{end}[{name}]", column) - column
            noise_distance = column * np.expm1(sign * NORMAL_90 * noise)
            half_width = np.sqrt(
                draw_distance**2
                + np.where(np.isfinite(method_distance), method_distance, 0.0) ** 2
                + noise_distance**2
            )
            ends_by_name[f"{end}[{name}]"] = np.where(
                has_band, column + sign * half_width, sign * np.inf
            )
    return ends_by_name


def _refuse_shaping_settings(built_model: BuiltModel, uncertain_values: UncertainValues) -> None:
    for path in uncertain_values.paths:
        if path not in built_model.parameters or not built_model.can_vary([path]):
            raise NoAnswerError(f"{path} shapes the model, so it has no range; {SOLVE_EACH}")


def _with_wider_interval(
    value: Value, draw_values: Array | None, own_column: Array | None, noise: float
) -> Value:
    """Return a value whose interval also contains the spread of its draws and the noise of a fit;
    the value itself if a draw is not positive, and infinite ends if too many are missing.
    """
    if (
        draw_values is None
        or own_column is None
        or not value.value
        or not np.isfinite(own_column[0])
        or not own_column[0]
    ):
        return value
    ratios = np.asarray(draw_values) / float(own_column[0])
    # Logarithms need a positive value at every draw.
    if (ratios <= 0).any():
        return value
    is_missing = np.isnan(ratios)
    if is_missing.mean() > LOW_PROBABILITY:
        return replace(value, low=-np.inf, high=np.inf)
    # On a logarithmic scale, where factors of settings add up. A draw without an answer, such as
    # of a saturated server, lies beyond either end.
    log_ratio_low, log_ratio_high = (
        np.quantile(np.where(is_missing, end, np.log(ratios)), probability)
        for end, probability in ((-np.inf, LOW_PROBABILITY), (np.inf, HIGH_PROBABILITY))
    )
    noise_width = NORMAL_90 * noise
    magnitude = abs(value.value)
    log_low = np.log(value.low / magnitude) if value.low and value.low > 0 else 0.0
    log_high = np.log(value.high / magnitude) if value.high and value.high > 0 else 0.0
    lower_log_distance = -np.sqrt(min(log_ratio_low, 0.0) ** 2 + log_low**2 + noise_width**2)
    upper_log_distance = np.sqrt(max(log_ratio_high, 0.0) ** 2 + log_high**2 + noise_width**2)
    # No uncertain setting affects this value, so it keeps its interval.
    if upper_log_distance - lower_log_distance < 1e-9:
        return value
    return replace(
        value,
        low=float(value.value * np.exp(lower_log_distance)),
        high=float(value.value * np.exp(upper_log_distance)),
    )


def _range_notes(
    case: Evaluator,
    uncertain_values: UncertainValues,
    columns: Mapping[str, Array],
    setting_draws: Mapping[str, Array],
) -> Iterator[str]:
    """Yield notes on the settings that cause the width of the first value's interval, and on the
    method by which the draws were solved.
    """
    quantity = case.form.quantity
    draw_values = np.asarray(columns[quantity])
    is_finite = np.isfinite(draw_values)
    if not is_finite.all():
        missing_count = int((~is_finite).sum())
        yield Unanswered(
            f"{missing_count} of {len(draw_values)} points of the ranges have no answer"
        )
    shares = (
        width_shares(setting_draws, draw_values)
        if is_finite.all() and (draw_values > 0).all()
        else {}
    )
    shares_in_words = [
        f"{path} {100 * share:.0f} %"
        for path, share in list(shares.items())[:MOST_SHARES]
        if share >= LEAST_SHARE
    ]
    if shares_in_words:
        yield "the interval contains 90 % of the answers for values drawn from the ranges"
        yield Definition(
            f"shares in the width of the interval of {quantity}: {', '.join(shares_in_words)}"
        )
    if case.form.is_estimated and 2 * len(uncertain_values.paths) + 1 < POINTS:
        run_count = 2 * len(uncertain_values.paths) + 1
        yield (
            f"the interval is interpolated between {run_count} simulations, and tested by"
            f" {len(PROBABILITIES_NEAR_ENDS)} more near its ends; if these differ by more than"
            f" {100 * NO_CORRECTION:.0f} %, {CORRECTING_DRAWS} more correct it. Its ends have"
            " errors of about 1 %, and of up to 17 % with ranges of a factor of 3"
        )
    if uncertain_values.source:
        yield f"values {uncertain_values.source}; other paths keep theirs"


def width_shares(setting_draws: Mapping[str, Array], values: Array) -> dict[str, float]:
    """Return the share of each setting in the variance of logarithms, largest first; what settings
    have in common is divided in proportion.

    Parameters
    ----------
    setting_draws : drawn settings by path
    values : the value at each point

    Raises
    ------
    ModelError : points and values are of different numbers

    >>> x, y = np.exp([0.0, 1.0, 0.0, 1.0]), np.exp([0.0, 0.0, 1.0, 1.0])
    >>> {name: round(part, 2) for name, part in width_shares({"x": x, "y": y}, x**2 * y).items()}
    {'x': 0.8, 'y': 0.2}
    """
    if any(len(column) != len(values) for column in setting_draws.values()):
        raise ModelError("every setting has as many points as there are values")
    log_settings = np.log(np.column_stack(list(setting_draws.values())))
    log_settings = log_settings - log_settings.mean(axis=0)
    log_values = np.log(values) - np.log(values).mean()
    total_variance = float(log_values @ log_values)
    # The value does not vary but for rounding: no setting causes any of its width.
    if total_variance < 1e-24:
        return {}
    # A linear fit of logarithms is exact for products of powers; what it misses is left out of the
    # shares.
    slopes = np.linalg.lstsq(log_settings, log_values, rcond=None)[0]
    # Settings are drawn independently, but finite draws covary. The covariance is divided in
    # proportion, so that no share is negative and all add up to the part that the fit explains.
    own_variances = slopes**2 * (log_settings**2).sum(axis=0)
    explained_share = ((log_settings @ slopes) ** 2).sum() / total_variance
    contributions = own_variances / (own_variances.sum() or 1.0) * explained_share
    sorted_indices = np.argsort(-contributions)
    setting_paths = list(setting_draws)
    return {setting_paths[index]: float(contributions[index]) for index in sorted_indices}
