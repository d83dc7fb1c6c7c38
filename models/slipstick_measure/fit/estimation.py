"""Free parameters of any model estimated from rows, and checked on groups that were left out.

Why this shape: `posterior` knows arrays only; here are the paths, the choices among a few values
that a parameter may have, the check by leaving out whole groups, and what the residuals say. Rows
of one group are alike in what no column tells, so leaving out rows would measure the noise inside a
group and not the error on the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log
from typing import TypeAlias

from slipstick.errors import NoAnswerError
from slipstick.late import Array, NDArray, np
from slipstick_measure.fit.columns import Observed
from slipstick_measure.fit.posterior import (
    DEVIATION_PER_SCALE,
    ENOUGH_FREEDOM,
    PRECISION,
    SIMULATED_PRECISION,
    Posterior,
    Prior,
    RowGroups,
    estimate,
    with_wider_deviations,
)
from slipstick_measure.results import (
    ChosenValue,
    EstimatedParameter,
    Estimation,
    GroupError,
    OwnerFactor,
)

NORMAL_90 = 1.6448536269514722
"""Standard deviations on each side that hold 90 % of a normal distribution."""

WANTED_COVERAGE = 0.9
"""Part of the rows of left-out groups that intervals hold after they were widened."""

DEVIATION_PER_DOUBLING = 0.05
"""Standard deviation by which predictions get less sure each doubling of the size beyond what was
fitted; assumed, as no set has enough large rows left out to learn it."""

LEAST_FITTED_GROUPS = 3
"""Groups of rows that are chosen to be fitted from which each is left out in turn, so that their
errors widen the intervals of the groups that are predicted."""

LARGEST_WIDENING = 3.0
"""Largest factor of the standard deviations; if the groups left out need more, the model lacks
something."""

LEAST_EXPLAINED_SHARE = 0.5
"""Part of the squared residuals of a group above which one parameter is named as their reason."""

LARGEST_LOG_SHIFT = 3.0
"""Logarithm of a factor of one parameter beyond which it is no explanation."""

# Each combination of choices is fitted once, so their number multiplies the time.
MOST_COMBINATIONS = 32
"""Combinations of the values of choices up to which each is fitted."""

Rows: TypeAlias = "NDArray[np.intp]"


@dataclass(frozen=True, slots=True)
class FreeParameter:
    """A parameter to estimate: the 5 % and 95 % quantiles of its prior distribution, and the
    columns whose owners may have values of their own.
    """

    path: str
    low: float
    high: float
    owners: tuple[str, ...] = ()

    @property
    def prior(self) -> Prior:
        """The log-normal distribution whose 5 % and 95 % quantiles are `low` and `high`."""
        low = log(self.low)
        high = log(self.high)
        return Prior(self.path, (low + high) / 2, (high - low) / 2 / NORMAL_90, self.owners)


@dataclass(frozen=True, slots=True)
class UnknownChoice:
    """A parameter with a few possible values, one of which is estimated to be the right one; it may
    differ between owners.

    Parameters
    ----------
    path : of the parameter
    values : in base units
    texts : as written
    owners : columns whose combination owns it; none: one value for all rows
    """

    path: str
    values: tuple[float, ...]
    texts: tuple[str, ...]
    owners: tuple[str, ...] = ()


@dataclass(frozen=True)
class EstimationTask:
    """The parameters to estimate, and the rows to estimate them from.

    Parameters
    ----------
    observed : the rows
    free, choices : the unknown parameters
    groups : columns; the rows that are alike in all of them form a group, which is predicted as a
        whole
    fitted_rows : indices of the rows that are fitted, the groups of the others being predicted; if
        empty, each group is predicted by a fit to all others
    noise : standard deviation of the rows, if nothing is to be fitted [log]; None: all is fitted
    sizes : size of each row; outside of the range of the fitted ones predictions get less sure
    """

    observed: Observed
    free: tuple[FreeParameter, ...]
    choices: tuple[UnknownChoice, ...] = ()
    groups: tuple[str, ...] = ()
    fitted_rows: tuple[int, ...] = ()
    noise: float | None = None
    sizes: tuple[float, ...] = ()

    def labels(self, columns: Sequence[str]) -> list[str]:
        """Return for each row the joined cells of some columns."""
        cells = [self.observed.labels(column) for column in columns]
        return [" ".join(row) for row in zip(*cells, strict=True)] if cells else [""] * self.count

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.observed)

    def owners(self, rows: Rows) -> RowGroups:
        """Return the owners of rows by column, with at least one column."""
        columns = dict.fromkeys(column for parameter in self.free for column in parameter.owners)
        labels = {column: self.observed.labels(column) for column in columns}
        all_groups = RowGroups(labels or {"": [""] * self.count})
        return all_groups.select(rows)


@dataclass(frozen=True)
class _Fit:
    """A posterior of the free parameters, and the probability of each value of each choice by
    owner.
    """

    posterior: Posterior
    weights: dict[tuple[int, str], Array]


def estimation(task: EstimationTask) -> Estimation:
    """Estimate the parameters of a task from all rows, test the estimates by leaving out each
    group, and describe the residuals.

    Raises
    ------
    NoAnswerError : the model has no answer at a row, or too many combinations of choices
    """
    _check_combinations(task)
    fit = _fit_all_rows(task)
    left_out = [
        _error_of_group(task, name, rows, _fit_rows(task, other_rows, fit), other_rows)
        for name, rows, other_rows in _groups_to_leave_out(task)
    ]
    left_out_predictions = [
        _error_of_group(task, name, rows, fit, None) for name, rows in _groups_to_predict(task)
    ]
    factor = widening_factor([*left_out, *left_out_predictions])
    fit = replace(fit, posterior=with_wider_deviations(fit.posterior, factor))
    if left_out_predictions:
        factor_of_fitted = widening_factor(left_out)
        errors = [_with_wider_intervals(group, factor_of_fitted) for group in left_out_predictions]
    else:
        errors = widened_by_others(left_out)
    return _estimation_results(task, fit, errors, factor)


def _fit_all_rows(task: EstimationTask) -> _Fit:
    """Fit the parameters of a task to all its fitted rows; if it has none, return the prior."""
    if task.noise is None:
        return _fit_rows(
            task, np.array(task.fitted_rows) if task.fitted_rows else np.arange(task.count)
        )
    priors = tuple(parameter.prior for parameter in task.free)
    count = len(task.observed.measured)
    posterior = Posterior(
        priors,
        (),
        np.array([prior.mean for prior in priors]),
        np.diag([prior.deviation**2 for prior in priors]),
        {},
        # The noise that a spec states is a standard deviation, not the scale of heavy tails.
        np.full(count, task.noise / DEVIATION_PER_SCALE),
        0.0,
    )
    return _Fit(posterior, {})


def _groups_to_leave_out(task: EstimationTask) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield each fitted group that is left out to test the fit: its name, its rows, and the fitted
    rows of all other groups. Yield none if nothing is fitted, or if the rows to fit are chosen and
    have fewer than `LEAST_FITTED_GROUPS` groups.
    """
    if task.noise is not None:
        return
    labels = task.labels(task.groups)
    fitted_rows = np.array(task.fitted_rows or range(task.count))
    fitted_labels = [labels[row] for row in fitted_rows]
    names = list(dict.fromkeys(fitted_labels))
    if len(names) < (LEAST_FITTED_GROUPS if task.fitted_rows else 2):
        return
    measured_rows = np.flatnonzero(np.isfinite(task.observed.logs).any(axis=0))
    for name in names:
        is_of_group = np.array([label == name for label in fitted_labels])
        rows = np.intersect1d(fitted_rows[is_of_group], measured_rows)
        if len(rows):
            yield name, rows, fitted_rows[~is_of_group]


def _groups_to_predict(task: EstimationTask) -> Iterator[tuple[str, Rows]]:
    """Yield the name and the rows of each group that is predicted and not fitted: by the fit to the
    chosen rows, or by the prior if nothing is fitted.
    """
    if task.noise is None and not task.fitted_rows:
        return
    labels = np.array(task.labels(task.groups))
    is_fitted = np.isin(np.arange(task.count), task.fitted_rows)
    is_measured = np.isfinite(task.observed.logs).any(axis=0)
    for name in dict.fromkeys(labels.tolist()):
        rows = np.flatnonzero((labels == name) & ~is_fitted & is_measured)
        if len(rows):
            yield name, rows


def _check_combinations(task: EstimationTask) -> None:
    """Raise if the choices have too many combinations to fit each."""
    combinations = np.prod([len(choice.values) for choice in task.choices] or [1])
    if combinations > MOST_COMBINATIONS:
        raise NoAnswerError(
            f"the choices have {combinations:.0f} combinations, at most {MOST_COMBINATIONS}; leave"
            " out unlikely values"
        )


def _fit_rows(task: EstimationTask, rows: Rows, start: _Fit | None = None) -> _Fit:
    """Estimate parameters and choices from some rows: first with choices that are equal for all
    owners, then owner by owner, by the evidence of each value.
    """
    weights = _initial_weights(task, rows, start)
    posterior = _posterior_of_rows(task, rows, weights, start.posterior if start else None)
    for _ in range(2 if len(weights) > 1 else 1):
        for key in weights:
            evidences = []
            for option in range(len(task.choices[key[0]].values)):
                changed_weights = {**weights, key: np.eye(len(weights[key]))[option]}
                evidences.append(
                    _posterior_of_rows(task, rows, changed_weights, posterior).evidence
                )
            relative = np.exp(np.array(evidences) - max(evidences))
            weights[key] = relative / relative.sum()
        if weights:
            posterior = _posterior_of_rows(task, rows, weights, posterior)
    return _Fit(posterior, weights)


def _initial_weights(
    task: EstimationTask, rows: Rows, start: _Fit | None
) -> dict[tuple[int, str], Array]:
    """Return the initial probabilities of the values of choices: those of `start`, a fit to more
    rows, else the combination with the most evidence, equal for all owners.
    """
    keys = [
        (index, owner)
        for index, choice in enumerate(task.choices)
        for owner in dict.fromkeys(np.array(task.labels(choice.owners))[rows].tolist())
    ]
    if not keys or start is not None:
        return {key: start.weights[key] for key in keys} if start else {}
    best_start: tuple[float, dict[tuple[int, str], Array]] | None = None
    for options in product(*(range(len(choice.values)) for choice in task.choices)):
        weights = {
            (index, owner): np.eye(len(task.choices[index].values))[options[index]]
            for index, owner in keys
        }
        evidence = _posterior_of_rows(task, rows, weights).evidence
        if best_start is None or evidence > best_start[0]:
            best_start = evidence, weights
    assert best_start is not None
    return best_start[1]


def _posterior_of_rows(
    task: EstimationTask,
    rows: Rows,
    weights: dict[tuple[int, str], Array],
    start: Posterior | None = None,
) -> Posterior:
    """Return the posterior of the free parameters from some rows; each choice has its most probable
    value there.
    """
    fixed = {
        choice.path: np.array(
            [
                choice.values[int(weights[index, owner].argmax())]
                for owner in np.array(task.labels(choice.owners))[rows]
            ]
        )
        for index, choice in enumerate(task.choices)
    }
    priors = [parameter.prior for parameter in task.free]
    logs = task.observed.logs[:, rows]
    precision = SIMULATED_PRECISION if task.observed.estimated else PRECISION
    slopes = _function_with_slopes(task, fixed, rows)
    owners = task.owners(rows)
    try:
        return estimate(slopes, logs, owners, priors, start, precision)
    except FloatingPointError:
        values, _ = slopes(np.tile([prior.mean for prior in priors], (len(rows), 1)))
        rows_without_value = np.flatnonzero((np.isfinite(logs) & ~np.isfinite(values)).any(axis=0))
        place_in_words = (
            f"in line {task.observed.table.lines[rows[rows_without_value[0]]]}"
            if len(rows_without_value)
            else "at a row"
        )
        raise NoAnswerError(
            f"{task.observed.built.name} has no finite value above 0 {place_in_words}, where the"
            " free parameters have the middle of their ranges; are the ranges right?"
        ) from None


def _function_with_slopes(
    task: EstimationTask, fixed: dict[str, Array], rows: Rows
) -> Callable[[Array], tuple[Array, Array]]:
    """Return a function from the logarithms of the parameters at rows to the logarithms of the
    model's values there and their derivatives.
    """
    paths = [parameter.path for parameter in task.free]
    return lambda log_values: task.observed.slopes(paths, log_values, fixed, rows)


def predict_rows(task: EstimationTask, fit: _Fit, rows: Rows) -> tuple[Array, Array]:
    """Return the predicted logarithms of the values of rows and their standard deviations, (V, n)
    each, as a mixture over the values of the choices.
    """
    shape = (len(task.observed.measured), len(rows))
    mean = np.zeros(shape)
    mean_square = np.zeros(shape)
    options = [range(len(choice.values)) for choice in task.choices]
    for option_indices in product(*options):
        weight = np.ones(len(rows))
        fixed = {}
        for index, (choice, option) in enumerate(zip(task.choices, option_indices, strict=True)):
            labels = np.array(task.labels(choice.owners))[rows]
            weight = weight * [
                _weights_of_owner(fit, index, owner, choice)[option] for owner in labels
            ]
            fixed[choice.path] = np.full(len(rows), choice.values[option])
        # A combination of such a small weight hardly changes the mean, so it is not solved.
        if not (weight > 1e-6).any():
            continue
        values, deviation = fit.posterior.predict(
            _function_with_slopes(task, fixed, rows), task.owners(rows)
        )
        mean = mean + weight * values
        mean_square = mean_square + weight * (deviation**2 + values**2)
    # The difference of squares may be negative by rounding.
    return mean, np.sqrt(np.maximum(mean_square - mean**2, 1e-12))


def _weights_of_owner(fit: _Fit, index: int, owner: str, choice: UnknownChoice) -> Array:
    """Return the weight of each value of a choice for an owner; a new owner has the mean weights of
    the others.
    """
    if (index, owner) in fit.weights:
        return fit.weights[index, owner]
    all_weights = np.array(
        [weights for (choice_index, _), weights in fit.weights.items() if choice_index == index]
    )
    return np.asarray((all_weights.sum(axis=0) + 1 / len(choice.values)) / (len(all_weights) + 1))


def _error_of_group(
    task: EstimationTask, name: str, rows: Rows, fit: _Fit, fitted_rows: Rows | None
) -> GroupError:
    """Predict a group by a fit without it, and return its errors."""
    values, deviation = predict_rows(task, fit, rows)
    if task.sizes and task.noise is None:
        deviation = np.hypot(deviation, _deviation_of_extrapolation(task, rows, fitted_rows))
    logs = task.observed.logs[:, rows]
    is_known = np.isfinite(logs) & np.isfinite(values)
    residual = (logs - values)[is_known]
    relative_errors = np.abs(np.expm1(-residual))
    half_widths = NORMAL_90 * deviation[is_known]
    return GroupError(
        name,
        int(is_known.sum()),
        float(np.median(relative_errors)),
        float(relative_errors.mean()),
        float(np.median(np.expm1(-residual))),
        float(np.quantile(relative_errors, 0.9)),
        float(relative_errors.max()),
        float(np.mean(np.abs(residual) <= half_widths)),
        float(np.median(np.exp(2 * half_widths))),
        tuple(_misfit_reasons(task, rows, residual, is_known, fit)),
        tuple(residual.tolist()),
        tuple(half_widths.tolist()),
    )


def _deviation_of_extrapolation(
    task: EstimationTask, rows: Rows, fitted_rows: Rows | None
) -> Array:
    """Return the additional standard deviation of predictions outside of the fitted range of sizes
    [log].
    """
    sizes = np.log2(np.array(task.sizes))
    fitted_sizes = sizes[np.array(task.fitted_rows) if fitted_rows is None else fitted_rows]
    distance_beyond = np.maximum(sizes[rows] - fitted_sizes.max(), fitted_sizes.min() - sizes[rows])
    return np.asarray(DEVIATION_PER_DOUBLING * np.maximum(distance_beyond, 0.0))


def _misfit_reasons(
    task: EstimationTask, rows: Rows, residual: Array, finite: NDArray[np.bool_], fit: _Fit
) -> Iterator[str]:
    """Yield what explains most of the squared residuals of a group: a parameter, or a column of
    numbers with which they grow; nothing if the residuals are no larger than the noise.
    """
    squared_residuals = float(residual @ residual)
    if squared_residuals < len(residual) * float(np.max(fit.posterior.noise)) ** 2 * 2:
        return
    fraction, reason = max(
        [
            (LEAST_EXPLAINED_SHARE, ""),
            *_error_shares_by_parameter(task, rows, residual, finite, fit),
            *_error_shares_by_growth(task, rows, residual, finite),
        ]
    )
    if reason:
        yield f"{fraction:.0%} of the misfit {reason}"


def _error_shares_by_parameter(
    task: EstimationTask, rows: Rows, residual: Array, finite: NDArray[np.bool_], fit: _Fit
) -> Iterator[tuple[float, str]]:
    """Yield for each parameter the share of the squared residuals that another value would remove,
    with a description.
    """
    choice_values = {
        choice.path: np.full(
            len(rows), choice.values[int(_weights_of_owner(fit, index, "", choice).argmax())]
        )
        for index, choice in enumerate(task.choices)
    }
    parameter_values = np.tile(fit.posterior.centre[: len(task.free)], (len(rows), 1))
    _, slopes = task.observed.slopes(
        [parameter.path for parameter in task.free], parameter_values, choice_values, rows
    )
    for index, parameter in enumerate(task.free):
        slope = slopes[:, :, index][finite]
        if (sum_of_squares := float(slope @ slope)) <= 0:
            continue
        shift = float(slope @ residual) / sum_of_squares
        remainder = residual - shift * slope
        if abs(shift) < LARGEST_LOG_SHIFT:
            factor_in_words = f"{np.exp(shift):.2f} times as much as elsewhere"
            yield (
                1 - float(remainder @ remainder) / float(residual @ residual),
                f"goes with {parameter.path}: {factor_in_words}",
            )


def _error_shares_by_growth(
    task: EstimationTask, rows: Rows, residual: Array, finite: NDArray[np.bool_]
) -> Iterator[tuple[float, str]]:
    """Yield for each numeric column the share of the squared residuals explained by its logarithm,
    with a description.
    """
    centred = residual - residual.mean()
    for path, column in task.observed.numbers.items():
        if not (column[rows] > 0).all():
            continue
        doublings = np.log2(column[rows])
        centred_doublings = np.broadcast_to(doublings - doublings.mean(), finite.shape)[finite]
        # The number is the same in all rows of the group: nothing grows with it.
        if (sum_of_squares := float(centred_doublings @ centred_doublings)) < 1e-9:
            continue
        slope = float(centred_doublings @ centred) / sum_of_squares
        remainder = residual - slope * centred_doublings
        reason = (
            f"grows with {path}, {np.expm1(slope):+.0%} a doubling: something that depends on it is"
            " not in the model"
        )
        yield 1 - float(remainder @ remainder) / float(residual @ residual), reason


def widening_factor(groups: Sequence[GroupError]) -> float:
    """Return the factor from 1 to `LARGEST_WIDENING` that makes intervals hold 90 % of the rows of
    groups that were left out, in the mean of the groups.

    It is the conformal quantile of the residuals over the half widths, where each group has the
    same weight: rows of a group err together, so that a large group tells no more of the next group
    than a small one.

    Source: Lee, Barber, Willett, Distribution-free inference with hierarchical data, 2023, without
    the weight of the unknown group, which few groups do not allow.
    """
    if not groups:
        return 1.0
    ratios = np.concatenate([np.abs(np.array(group.residuals) / group.halves) for group in groups])
    weights = np.concatenate(
        [np.full(len(group.halves), 1 / len(group.halves) / len(groups)) for group in groups]
    )
    order = np.argsort(ratios)
    first_enough = np.searchsorted(np.cumsum(weights[order]), WANTED_COVERAGE - 1e-9)
    return float(np.clip(ratios[order][first_enough], 1.0, LARGEST_WIDENING))


def widened_by_others(groups: Sequence[GroupError]) -> list[GroupError]:
    """Return the groups, the intervals of each widened by the factor that all other groups need, so
    that the rows of a group test the widening.
    """
    return [
        _with_wider_intervals(group, widening_factor([*groups[:index], *groups[index + 1 :]]))
        for index, group in enumerate(groups)
    ]


def _with_wider_intervals(group: GroupError, factor: float) -> GroupError:
    """Return a group whose intervals are wider by a factor in logarithms."""
    half_widths = factor * np.array(group.halves)
    return replace(
        group,
        coverage=float(np.mean(np.abs(group.residuals) <= half_widths)),
        width=float(np.median(np.exp(2 * half_widths))),
        halves=tuple(half_widths.tolist()),
        widened=factor,
    )


def _estimation_results(
    task: EstimationTask,
    fit: _Fit,
    errors: Sequence[GroupError],
    widening_factor: float,
) -> Estimation:
    """Return the results of an estimation as plain data: the parameters of a fit, the errors of its
    groups and the widening of its intervals.
    """
    observed = task.observed
    posterior = fit.posterior
    chosen_values = tuple(
        ChosenValue(
            task.choices[choice_index].path,
            owner,
            task.choices[choice_index].texts,
            tuple(weights.tolist()),
        )
        for (choice_index, owner), weights in fit.weights.items()
    )
    values, _ = predict_rows(task, fit, np.arange(task.count))
    relative_errors = np.abs(np.expm1((values - observed.logs)[np.isfinite(observed.logs)]))
    score = None
    simple_score = None
    if len(errors) >= 3:
        groups = [(np.array(error.residuals), np.array(error.halves)) for error in errors]
        score, simple_score = (float(scores.mean()) for scores in interval_scores_of_groups(groups))
    return Estimation(
        model=observed.built.name,
        source=observed.table.file,
        measured=observed.measured,
        rows=int(np.isfinite(observed.logs).any(axis=0).sum()),
        parameters=tuple(_estimated_parameters(task, fit)),
        choices=chosen_values,
        groups=tuple(errors),
        by=task.groups,
        noise=tuple((posterior.deviations_of_noise / posterior.widened).tolist()),
        noise_assumed=bool(posterior.freedom.min() < ENOUGH_FREEDOM),
        fitted_error=float(np.median(relative_errors)),
        widened=widening_factor,
        score=score,
        simple_score=simple_score,
        ignored=observed.ignored,
        ignored_numbers=observed.ignored_numbers,
        names=tuple(
            [parameter.path for parameter in task.free]
            + [
                f"{task.free[index].path} {column}={owner}"
                for index, column, owner in posterior.offsets
            ]
        ),
        centre=tuple(posterior.centre.tolist()),
        covariance=tuple(map(tuple, posterior.covariance.tolist())),
        spread={
            f"{task.free[index].path} {column}": deviation
            for (index, column), deviation in posterior.spread.items()
        },
    )


def _estimated_parameters(task: EstimationTask, fit: _Fit) -> Iterator[EstimatedParameter]:
    """Yield each free parameter with its interval of 90 % and the factors of its owners."""
    posterior = fit.posterior
    parameter_count = len(task.free)
    for index, parameter in enumerate(task.free):
        estimated_parameter = task.observed.built.entries[parameter.path]
        deviation = float(posterior.deviations[index]) * posterior.widened
        owners = tuple(
            OwnerFactor(
                f"{column}={owner}",
                float(np.exp(posterior.centre[parameter_count + offset_index])),
                float(posterior.spread[index, column]),
            )
            for offset_index, (parameter_index, column, owner) in enumerate(posterior.offsets)
            if parameter_index == index
        )
        log_value = float(posterior.centre[index])
        yield EstimatedParameter(
            parameter.path,
            str(estimated_parameter.given.dimension),
            estimated_parameter.meaning or estimated_parameter.given.meaning,
            float(np.exp(log_value)),
            float(np.exp(log_value - NORMAL_90 * deviation)),
            float(np.exp(log_value + NORMAL_90 * deviation)),
            parameter.low,
            parameter.high,
            float(posterior.deviations[index]) / parameter.prior.deviation,
            owners,
        )


def interval_scores_of_groups(groups: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the interval scores (Gneiting and Raftery, 2007, section 6.2) of left-out rows in
    logarithms, and beside them the scores of intervals that have one width, from the
    root-mean-square errors of the other groups.

    Parameters
    ----------
    groups : residuals and halves of intervals of 90 % of each of at least three groups

    >>> own, simple = interval_scores_of_groups([(np.full(1, 0.1), np.full(1, 0.2))] * 3)
    >>> own.round(6).tolist(), bool((simple > own).all())
    ([0.4, 0.4, 0.4], True)
    """
    from scipy.stats import t

    squares = [float(np.mean(residual**2)) for residual, _ in groups]
    scores = []
    simple_scores = []
    for index, (residual, half_width) in enumerate(groups):
        scores.append(_interval_score(residual, half_width))
        other_squares = [
            square for other_index, square in enumerate(squares) if other_index != index
        ]
        width = float(t.ppf(0.95, len(other_squares) - 1)) * np.sqrt(np.mean(other_squares))
        simple_scores.append(_interval_score(residual, np.full(len(residual), width)))
    return np.concatenate(scores), np.concatenate(simple_scores)


def _interval_score(residual: Array, half_width: Array) -> Array:
    """Return the interval score of each row [log]: the width of its interval of 90 %, and 20 times
    the distance of the row from the interval.
    """
    excess: Array = np.maximum(np.abs(residual) - half_width, 0.0)
    return 2 * half_width + 2 / (1 - WANTED_COVERAGE) * excess
