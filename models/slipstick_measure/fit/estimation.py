"""Free parameters of any model estimated from rows, and checked on groups that were left out.

Why this shape: `posterior` knows arrays only; here are the paths, the choices among a few values
that a parameter may have, the check by leaving out whole groups, and what the residuals say.
RowIndices of one group are alike in what no column tells, so leaving out rows would measure the
noise inside a group and not the error on the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import log
from typing import TypeAlias

from slipstick.errors import NoAnswerError
from slipstick.late import Array, NDArray, dataclass, np, replace
from slipstick_measure.fit.columns import ObservedRows
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

RowIndices: TypeAlias = "NDArray[np.intp]"


@dataclass(frozen=True, slots=True)
class FreeParameter:
    """A parameter to estimate: the 5 % and 95 % quantiles of its prior distribution, and the
    columns whose owners may have values of their own.
    """

    path: str
    low: float
    high: float
    owner_columns: tuple[str, ...] = ()

    @property
    def prior(self) -> Prior:
        """The log-normal distribution whose 5 % and 95 % quantiles are `log_low` and `log_high`."""
        log_low = log(self.low)
        log_high = log(self.high)
        return Prior(
            self.path,
            (log_low + log_high) / 2,
            (log_high - log_low) / 2 / NORMAL_90,
            self.owner_columns,
        )


@dataclass(frozen=True, slots=True)
class UnknownChoice:
    """A parameter with a few possible values, one of which is estimated to be the right one; it may
    differ between owners.

    Parameters
    ----------
    path : of the parameter
    values : in base units
    texts : as written
    owner_columns : columns, such as the machine; each combination of their cells has a value of its
        own. Without columns all rows have one value
    """

    path: str
    values: tuple[float, ...]
    texts: tuple[str, ...]
    owner_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class EstimationTask:
    """The parameters to estimate, and the rows to estimate them from.

    Parameters
    ----------
    observed_rows : the rows
    free, choices : the unknown parameters
    group_columns : columns; the rows that are alike in all of them form a group, which is predicted
        as a whole
    fitted_rows : indices of the rows that are fitted, the groups of the others being predicted; if
        empty, each group is predicted by a fit to all others
    noise : standard deviation of the logarithms of the rows, if nothing is to be fitted; None if
        the parameters are fitted [1]
    sizes : size of each row; intervals of predictions get wider outside of the range of the fitted
        sizes
    """

    observed_rows: ObservedRows
    free: tuple[FreeParameter, ...]
    choices: tuple[UnknownChoice, ...] = ()
    group_columns: tuple[str, ...] = ()
    fitted_rows: tuple[int, ...] = ()
    noise: float | None = None
    sizes: tuple[float, ...] = ()

    def labels(self, headings: Sequence[str]) -> list[str]:
        """Return, for each row, its cells in the given columns, joined by spaces."""
        cells_by_column = [self.observed_rows.labels(heading) for heading in headings]
        return (
            [" ".join(cells_of_row) for cells_of_row in zip(*cells_by_column, strict=True)]
            if cells_by_column
            else [""] * self.row_count
        )

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.observed_rows)

    def owners_of_rows(self, row_indices: RowIndices) -> RowGroups:
        """Return the owners of rows by column, with at least one column."""
        columns = dict.fromkeys(
            column for parameter in self.free for column in parameter.owner_columns
        )
        labels_by_column = {column: self.observed_rows.labels(column) for column in columns}
        groups_of_all_rows = RowGroups(labels_by_column or {"": [""] * self.row_count})
        return groups_of_all_rows.select(row_indices)


@dataclass(frozen=True)
class _Fit:
    """A posterior of the free parameters, and the probability of each value of each choice by
    owner.
    """

    posterior: Posterior
    weights: dict[tuple[int, str], Array]


def estimate_task(task: EstimationTask) -> Estimation:
    """Estimate the parameters of a task from all rows, test the estimates by leaving out each
    group, and describe the residuals.

    Raises
    ------
    NoAnswerError : the model has no answer at a row, or too many combinations of choices
    """
    _check_combinations(task)
    fit = _fit_all_rows(task)
    errors_of_fitted_groups = [
        _error_of_group(
            task,
            group_name,
            row_indices,
            _fit_rows(task, other_row_indices, fit),
            other_row_indices,
        )
        for group_name, row_indices, other_row_indices in _groups_to_leave_out(task)
    ]
    errors_of_predicted_groups = [
        _error_of_group(task, group_name, row_indices, fit, None)
        for group_name, row_indices in _groups_to_predict(task)
    ]
    widening = widening_factor([*errors_of_fitted_groups, *errors_of_predicted_groups])
    fit = replace(fit, posterior=with_wider_deviations(fit.posterior, widening))
    if errors_of_predicted_groups:
        widening_of_fitted_groups = widening_factor(errors_of_fitted_groups)
        group_errors = [
            _with_wider_intervals(group_error, widening_of_fitted_groups)
            for group_error in errors_of_predicted_groups
        ]
    else:
        group_errors = with_intervals_widened_by_others(errors_of_fitted_groups)
    return _estimation_results(task, fit, group_errors, widening)


def _fit_all_rows(task: EstimationTask) -> _Fit:
    """Fit the parameters of a task to all its fitted rows; if it has none, return the prior."""
    if task.noise is None:
        return _fit_rows(
            task, np.array(task.fitted_rows) if task.fitted_rows else np.arange(task.row_count)
        )
    priors = tuple(parameter.prior for parameter in task.free)
    value_count = len(task.observed_rows.measured_names)
    posterior = Posterior(
        priors,
        (),
        np.array([prior.mean for prior in priors]),
        np.diag([prior.deviation**2 for prior in priors]),
        {},
        # The noise that a spec states is a standard deviation, not the scale of heavy tails.
        np.full(value_count, task.noise / DEVIATION_PER_SCALE),
        0.0,
    )
    return _Fit(posterior, {})


def _groups_to_leave_out(task: EstimationTask) -> Iterator[tuple[str, RowIndices, RowIndices]]:
    """Yield each fitted group that is left out to test the fit: its name, its rows, and the fitted
    rows of all other groups. Yield none if nothing is fitted, or if the rows to fit are chosen and
    have fewer than `LEAST_FITTED_GROUPS` groups.
    """
    if task.noise is not None:
        return
    group_names = task.labels(task.group_columns)
    fitted_row_indices = np.array(task.fitted_rows or range(task.row_count))
    fitted_group_names = [group_names[row] for row in fitted_row_indices]
    distinct_names = list(dict.fromkeys(fitted_group_names))
    if len(distinct_names) < (LEAST_FITTED_GROUPS if task.fitted_rows else 2):
        return
    measured_row_indices = np.flatnonzero(np.isfinite(task.observed_rows.measured_logs).any(axis=0))
    for name in distinct_names:
        is_of_group = np.array([group_name == name for group_name in fitted_group_names])
        row_indices = np.intersect1d(fitted_row_indices[is_of_group], measured_row_indices)
        if len(row_indices):
            yield name, row_indices, fitted_row_indices[~is_of_group]


def _groups_to_predict(task: EstimationTask) -> Iterator[tuple[str, RowIndices]]:
    """Yield the name and the rows of each group that is predicted and not fitted: by the fit to the
    chosen rows, or by the prior if nothing is fitted.
    """
    if task.noise is None and not task.fitted_rows:
        return
    group_names = np.array(task.labels(task.group_columns))
    is_fitted = np.isin(np.arange(task.row_count), task.fitted_rows)
    is_measured = np.isfinite(task.observed_rows.measured_logs).any(axis=0)
    for name in dict.fromkeys(group_names.tolist()):
        row_indices = np.flatnonzero((group_names == name) & ~is_fitted & is_measured)
        if len(row_indices):
            yield name, row_indices


def _check_combinations(task: EstimationTask) -> None:
    """Raise if the unknown choices have too many combinations of values to fit each of them."""
    combination_count = np.prod([len(choice.values) for choice in task.choices] or [1])
    if combination_count > MOST_COMBINATIONS:
        raise NoAnswerError(
            f"the choices have {combination_count:.0f} combinations, at most {MOST_COMBINATIONS};"
            " leave"
            " out unlikely values"
        )


def _fit_rows(
    task: EstimationTask, row_indices: RowIndices, earlier_fit: _Fit | None = None
) -> _Fit:
    """Estimate parameters and choices from some rows: first with choices that are equal for all
    owners, then owner by owner, by the evidence of each value.
    """
    weights_by_choice = _initial_weights(task, row_indices, earlier_fit)
    posterior = _posterior_of_rows(
        task, row_indices, weights_by_choice, earlier_fit.posterior if earlier_fit else None
    )
    for _ in range(2 if len(weights_by_choice) > 1 else 1):
        for choice_and_owner in weights_by_choice:
            evidences = []
            for value_index in range(len(task.choices[choice_and_owner[0]].values)):
                changed_weights = {
                    **weights_by_choice,
                    choice_and_owner: np.eye(len(weights_by_choice[choice_and_owner]))[value_index],
                }
                evidences.append(
                    _posterior_of_rows(task, row_indices, changed_weights, posterior).evidence
                )
            relative_evidences = np.exp(np.array(evidences) - max(evidences))
            weights_by_choice[choice_and_owner] = relative_evidences / relative_evidences.sum()
        if weights_by_choice:
            posterior = _posterior_of_rows(task, row_indices, weights_by_choice, posterior)
    return _Fit(posterior, weights_by_choice)


def _initial_weights(
    task: EstimationTask, row_indices: RowIndices, earlier_fit: _Fit | None
) -> dict[tuple[int, str], Array]:
    """Return the initial probabilities of the values of choices: from `earlier_fit`, a fit to more
    rows; else the combination with the most evidence, equal for all owners.
    """
    choices_and_owners = [
        (choice_index, owner)
        for choice_index, choice in enumerate(task.choices)
        for owner in dict.fromkeys(
            np.array(task.labels(choice.owner_columns))[row_indices].tolist()
        )
    ]
    if not choices_and_owners or earlier_fit is not None:
        return (
            {
                choice_and_owner: earlier_fit.weights[choice_and_owner]
                for choice_and_owner in choices_and_owners
            }
            if earlier_fit
            else {}
        )
    best_evidence_and_weights: tuple[float, dict[tuple[int, str], Array]] | None = None
    for value_indices in product(*(range(len(choice.values)) for choice in task.choices)):
        weights_by_choice = {
            (choice_index, owner): np.eye(len(task.choices[choice_index].values))[
                value_indices[choice_index]
            ]
            for choice_index, owner in choices_and_owners
        }
        evidence = _posterior_of_rows(task, row_indices, weights_by_choice).evidence
        if best_evidence_and_weights is None or evidence > best_evidence_and_weights[0]:
            best_evidence_and_weights = evidence, weights_by_choice
    assert best_evidence_and_weights is not None
    return best_evidence_and_weights[1]


def _posterior_of_rows(
    task: EstimationTask,
    row_indices: RowIndices,
    weights_by_choice: dict[tuple[int, str], Array],
    start_posterior: Posterior | None = None,
) -> Posterior:
    """Return the posterior of the free parameters from some rows; each choice has its most probable
    value there.
    """
    fixed_values_by_path = {
        choice.path: np.array(
            [
                choice.values[int(weights_by_choice[choice_index, owner].argmax())]
                for owner in np.array(task.labels(choice.owner_columns))[row_indices]
            ]
        )
        for choice_index, choice in enumerate(task.choices)
    }
    priors = [parameter.prior for parameter in task.free]
    measured_logs = task.observed_rows.measured_logs[:, row_indices]
    precision = SIMULATED_PRECISION if task.observed_rows.is_estimated else PRECISION
    compute_logs_and_slopes = _function_with_slopes(task, fixed_values_by_path, row_indices)
    owners = task.owners_of_rows(row_indices)
    try:
        return estimate(
            compute_logs_and_slopes, measured_logs, owners, priors, start_posterior, precision
        )
    except FloatingPointError:
        log_values, _ = compute_logs_and_slopes(
            np.tile([prior.mean for prior in priors], (len(row_indices), 1))
        )
        indices_without_value = np.flatnonzero(
            (np.isfinite(measured_logs) & ~np.isfinite(log_values)).any(axis=0)
        )
        line_text = (
            f"in line {task.observed_rows.table.lines[row_indices[indices_without_value[0]]]}"
            if len(indices_without_value)
            else "at a row"
        )
        raise NoAnswerError(
            f"{task.observed_rows.built.name} has no finite value above 0 {line_text}, where the"
            " free parameters have the middle of their ranges; are the ranges right?"
        ) from None


def _function_with_slopes(
    task: EstimationTask, fixed_values_by_path: dict[str, Array], row_indices: RowIndices
) -> Callable[[Array], tuple[Array, Array]]:
    """Return a function from the logarithms of the parameters at rows to the logarithms of the
    model's values there and their derivatives.
    """
    paths = [parameter.path for parameter in task.free]
    return lambda log_parameters: task.observed_rows.log_values_and_slopes(
        paths, log_parameters, fixed_values_by_path, row_indices
    )


def predict_rows(task: EstimationTask, fit: _Fit, row_indices: RowIndices) -> tuple[Array, Array]:
    """Return the predicted logarithms of the values of rows and their standard deviations, (V, n)
    each, as a mixture over the values of the choices.
    """
    shape = (len(task.observed_rows.measured_names), len(row_indices))
    mean_logs = np.zeros(shape)
    mean_squares = np.zeros(shape)
    index_ranges = [range(len(choice.values)) for choice in task.choices]
    for value_indices in product(*index_ranges):
        weights = np.ones(len(row_indices))
        fixed_values_by_path = {}
        for choice_index, (choice, value_index) in enumerate(
            zip(task.choices, value_indices, strict=True)
        ):
            owners = np.array(task.labels(choice.owner_columns))[row_indices]
            weights = weights * [
                _weights_of_owner(fit, choice_index, owner, choice)[value_index] for owner in owners
            ]
            fixed_values_by_path[choice.path] = np.full(
                len(row_indices), choice.values[value_index]
            )
        # A combination of such a small weight hardly changes the mean, so it is not solved.
        if not (weights > 1e-6).any():
            continue
        log_values, deviations = fit.posterior.predict(
            _function_with_slopes(task, fixed_values_by_path, row_indices),
            task.owners_of_rows(row_indices),
        )
        mean_logs = mean_logs + weights * log_values
        mean_squares = mean_squares + weights * (deviations**2 + log_values**2)
    # The difference of squares may be negative by rounding.
    return mean_logs, np.sqrt(np.maximum(mean_squares - mean_logs**2, 1e-12))


def _weights_of_owner(fit: _Fit, choice_index: int, owner: str, choice: UnknownChoice) -> Array:
    """Return the weight of each value of a choice for an owner; a new owner has the mean weights of
    the others.
    """
    if (choice_index, owner) in fit.weights:
        return fit.weights[choice_index, owner]
    all_weights = np.array(
        [
            weights
            for (fitted_choice_index, _), weights in fit.weights.items()
            if fitted_choice_index == choice_index
        ]
    )
    return np.asarray((all_weights.sum(axis=0) + 1 / len(choice.values)) / (len(all_weights) + 1))


def _error_of_group(
    task: EstimationTask,
    group_name: str,
    row_indices: RowIndices,
    fit: _Fit,
    fitted_row_indices: RowIndices | None,
) -> GroupError:
    """Predict a group by a fit without it, and return its errors."""
    predicted_logs, deviations = predict_rows(task, fit, row_indices)
    if task.sizes and task.noise is None:
        deviations = np.hypot(
            deviations, _deviations_of_extrapolation(task, row_indices, fitted_row_indices)
        )
    measured_logs = task.observed_rows.measured_logs[:, row_indices]
    is_known = np.isfinite(measured_logs) & np.isfinite(predicted_logs)
    residuals = (measured_logs - predicted_logs)[is_known]
    relative_errors = np.abs(np.expm1(-residuals))
    half_widths = NORMAL_90 * deviations[is_known]
    return GroupError(
        group_name,
        int(is_known.sum()),
        float(np.median(relative_errors)),
        float(relative_errors.mean()),
        float(np.median(np.expm1(-residuals))),
        float(np.quantile(relative_errors, 0.9)),
        float(relative_errors.max()),
        float(np.mean(np.abs(residuals) <= half_widths)),
        float(np.median(np.exp(2 * half_widths))),
        tuple(_misfit_reasons(task, row_indices, residuals, is_known, fit)),
        tuple(residuals.tolist()),
        tuple(half_widths.tolist()),
    )


def _deviations_of_extrapolation(
    task: EstimationTask, row_indices: RowIndices, fitted_row_indices: RowIndices | None
) -> Array:
    """Return the additional standard deviation of predictions outside of the fitted range of sizes
    [log].
    """
    log_sizes = np.log2(np.array(task.sizes))
    fitted_log_sizes = log_sizes[
        np.array(task.fitted_rows) if fitted_row_indices is None else fitted_row_indices
    ]
    doublings_beyond = np.maximum(
        log_sizes[row_indices] - fitted_log_sizes.max(),
        fitted_log_sizes.min() - log_sizes[row_indices],
    )
    return np.asarray(DEVIATION_PER_DOUBLING * np.maximum(doublings_beyond, 0.0))


def _misfit_reasons(
    task: EstimationTask,
    row_indices: RowIndices,
    residuals: Array,
    is_known: NDArray[np.bool_],
    fit: _Fit,
) -> Iterator[str]:
    """Yield a phrase on the parameter or the numeric column that explains most of the misfit of a
    group; yield nothing if the residuals are no larger than the noise.
    """
    square_sum = float(residuals @ residuals)
    if square_sum < len(residuals) * float(np.max(fit.posterior.noise)) ** 2 * 2:
        return
    share, reason = max(
        [
            (LEAST_EXPLAINED_SHARE, ""),
            *_error_shares_by_parameter(task, row_indices, residuals, is_known, fit),
            *_error_shares_by_growth(task, row_indices, residuals, is_known),
        ]
    )
    if reason:
        yield f"{share:.0%} of the misfit {reason}"


def _error_shares_by_parameter(
    task: EstimationTask,
    row_indices: RowIndices,
    residuals: Array,
    is_known: NDArray[np.bool_],
    fit: _Fit,
) -> Iterator[tuple[float, str]]:
    """Yield, for each parameter, the share of the squared residuals of a group that another value
    of the parameter would remove, with a phrase on that value.
    """
    choice_values_by_path = {
        choice.path: np.full(
            len(row_indices),
            choice.values[int(_weights_of_owner(fit, column_index, "", choice).argmax())],
        )
        for column_index, choice in enumerate(task.choices)
    }
    log_parameters = np.tile(fit.posterior.centre[: len(task.free)], (len(row_indices), 1))
    _, all_slopes = task.observed_rows.log_values_and_slopes(
        [parameter.path for parameter in task.free],
        log_parameters,
        choice_values_by_path,
        row_indices,
    )
    for column_index, parameter in enumerate(task.free):
        parameter_slopes = all_slopes[:, :, column_index][is_known]
        if (sum_of_squares := float(parameter_slopes @ parameter_slopes)) <= 0:
            continue
        log_shift = float(parameter_slopes @ residuals) / sum_of_squares
        remaining_residuals = residuals - log_shift * parameter_slopes
        if abs(log_shift) < LARGEST_LOG_SHIFT:
            factor_in_words = f"{np.exp(log_shift):.2f} times as much as elsewhere"
            yield (
                1 - float(remaining_residuals @ remaining_residuals) / float(residuals @ residuals),
                f"goes with {parameter.path}: {factor_in_words}",
            )


def _error_shares_by_growth(
    task: EstimationTask, row_indices: RowIndices, residuals: Array, is_known: NDArray[np.bool_]
) -> Iterator[tuple[float, str]]:
    """Yield, for each numeric column, the share of the squared residuals of a group that grows with
    the logarithm of the column, with a phrase on that growth.
    """
    centred_residuals = residuals - residuals.mean()
    for path, column in task.observed_rows.numbers_by_path.items():
        if not (column[row_indices] > 0).all():
            continue
        doublings = np.log2(column[row_indices])
        centred_doublings = np.broadcast_to(doublings - doublings.mean(), is_known.shape)[is_known]
        # The number is the same in all rows of the group: nothing grows with it.
        if (sum_of_squares := float(centred_doublings @ centred_doublings)) < 1e-9:
            continue
        residual_per_doubling = float(centred_doublings @ centred_residuals) / sum_of_squares
        remaining_residuals = residuals - residual_per_doubling * centred_doublings
        reason = (
            f"grows with {path}, {np.expm1(residual_per_doubling):+.0%} a doubling: something that"
            " depends on it is"
            " not in the model"
        )
        yield (
            1 - float(remaining_residuals @ remaining_residuals) / float(residuals @ residuals),
            reason,
        )


def widening_factor(group_errors: Sequence[GroupError]) -> float:
    """Return the factor from 1 to `LARGEST_WIDENING` that makes intervals hold 90 % of the rows of
    groups that were left out, in the mean of the groups.

    It is the conformal quantile of the residuals over the half widths, where each group has the
    same weight: rows of a group err together, so that a large group tells no more of the next group
    than a small one.

    Source: Lee, Barber, Willett, Distribution-free inference with hierarchical data, 2023, without
    the weight of the unknown group, which few groups do not allow.
    """
    if not group_errors:
        return 1.0
    ratios = np.concatenate(
        [
            np.abs(np.array(group_error.residuals) / group_error.halves)
            for group_error in group_errors
        ]
    )
    weights = np.concatenate(
        [
            np.full(len(group_error.halves), 1 / len(group_error.halves) / len(group_errors))
            for group_error in group_errors
        ]
    )
    ascending_order = np.argsort(ratios)
    index_of_quantile = np.searchsorted(np.cumsum(weights[ascending_order]), WANTED_COVERAGE - 1e-9)
    return float(np.clip(ratios[ascending_order][index_of_quantile], 1.0, LARGEST_WIDENING))


def with_intervals_widened_by_others(group_errors: Sequence[GroupError]) -> list[GroupError]:
    """Return the errors of groups, with the intervals of each widened by the factor that the other
    groups need; so its rows test the widening.
    """
    return [
        _with_wider_intervals(
            group_error, widening_factor([*group_errors[:index], *group_errors[index + 1 :]])
        )
        for index, group_error in enumerate(group_errors)
    ]


def _with_wider_intervals(group_error: GroupError, widening: float) -> GroupError:
    """Return the errors of a group whose prediction intervals, in logarithms, are wider by a
    factor.
    """
    half_widths = widening * np.array(group_error.halves)
    return replace(
        group_error,
        coverage=float(np.mean(np.abs(group_error.residuals) <= half_widths)),
        width=float(np.median(np.exp(2 * half_widths))),
        halves=tuple(half_widths.tolist()),
        widened=widening,
    )


def _estimation_results(
    task: EstimationTask,
    fit: _Fit,
    group_errors: Sequence[GroupError],
    widening: float,
) -> Estimation:
    """Return the results of an estimation as plain data: the parameters of a fit, the errors of its
    groups and the widening of its intervals.
    """
    observed = task.observed_rows
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
    predicted_logs, _ = predict_rows(task, fit, np.arange(task.row_count))
    relative_errors = np.abs(
        np.expm1((predicted_logs - observed.measured_logs)[np.isfinite(observed.measured_logs)])
    )
    mean_score = None
    mean_simple_score = None
    if len(group_errors) >= 3:
        residuals_and_half_widths = [
            (np.array(group_error.residuals), np.array(group_error.halves))
            for group_error in group_errors
        ]
        mean_score, mean_simple_score = (
            float(scores.mean()) for scores in interval_scores_of_groups(residuals_and_half_widths)
        )
    return Estimation(
        model=observed.built.name,
        source=observed.table.file,
        measured=observed.measured_names,
        rows=int(np.isfinite(observed.measured_logs).any(axis=0).sum()),
        parameters=tuple(_estimated_parameters(task, fit)),
        choices=chosen_values,
        groups=tuple(group_errors),
        by=task.group_columns,
        noise=tuple((posterior.deviations_of_noise / posterior.widening).tolist()),
        noise_assumed=bool(posterior.degrees_of_freedom.min() < ENOUGH_FREEDOM),
        fitted_error=float(np.median(relative_errors)),
        widened=widening,
        score=mean_score,
        simple_score=mean_simple_score,
        ignored=observed.ignored_headings,
        ignored_numbers=observed.ignored_numeric_headings,
        zeros=observed.zero_count_by_heading,
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
            for (index, column), deviation in posterior.spread_by_parameter_and_column.items()
        },
    )


def _estimated_parameters(task: EstimationTask, fit: _Fit) -> Iterator[EstimatedParameter]:
    """Yield each free parameter with its interval of 90 % and the factors of its owners."""
    posterior = fit.posterior
    parameter_count = len(task.free)
    for parameter_index, parameter in enumerate(task.free):
        parameter_entry = task.observed_rows.built.entries[parameter.path]
        deviation = float(posterior.deviations[parameter_index]) * posterior.widening
        owner_factors = tuple(
            OwnerFactor(
                f"{column}={owner}",
                float(np.exp(posterior.centre[parameter_count + offset_index])),
                float(posterior.spread_by_parameter_and_column[parameter_index, column]),
            )
            for offset_index, (parameter_of_offset, column, owner) in enumerate(posterior.offsets)
            if parameter_of_offset == parameter_index
        )
        log_value = float(posterior.centre[parameter_index])
        yield EstimatedParameter(
            parameter.path,
            str(parameter_entry.given.dimension),
            parameter_entry.meaning or parameter_entry.given.meaning,
            float(np.exp(log_value)),
            float(np.exp(log_value - NORMAL_90 * deviation)),
            float(np.exp(log_value + NORMAL_90 * deviation)),
            parameter.low,
            parameter.high,
            float(posterior.deviations[parameter_index]) / parameter.prior.deviation,
            owner_factors,
        )


def interval_scores_of_groups(
    residuals_and_half_widths: Sequence[tuple[Array, Array]],
) -> tuple[Array, Array]:
    """Return the interval scores (Gneiting and Raftery, 2007, section 6.2) of left-out rows in
    logarithms. Return also the scores of intervals of constant width, computed from the
    root-mean-square errors of the other groups.

    Parameters
    ----------
    residuals_and_half_widths : residuals and halves of intervals of 90 % of each of at least three
        groups

    >>> own, simple = interval_scores_of_groups([(np.full(1, 0.1), np.full(1, 0.2))] * 3)
    >>> own.round(6).tolist(), bool((simple > own).all())
    ([0.4, 0.4, 0.4], True)
    """
    from scipy.stats import t

    mean_squares = [float(np.mean(residuals**2)) for residuals, _ in residuals_and_half_widths]
    scores = []
    simple_scores = []
    for index, (residuals, half_widths) in enumerate(residuals_and_half_widths):
        scores.append(_interval_score(residuals, half_widths))
        other_mean_squares = [
            mean_square
            for other_index, mean_square in enumerate(mean_squares)
            if other_index != index
        ]
        half_width_of_others = float(t.ppf(0.95, len(other_mean_squares) - 1)) * np.sqrt(
            np.mean(other_mean_squares)
        )
        simple_scores.append(
            _interval_score(residuals, np.full(len(residuals), half_width_of_others))
        )
    return np.concatenate(scores), np.concatenate(simple_scores)


def _interval_score(residuals: Array, half_widths: Array) -> Array:
    """Return the interval score of each row [log]: the width of its interval of 90 %, and 20 times
    the distance of the row from the interval.
    """
    excesses: Array = np.maximum(np.abs(residuals) - half_widths, 0.0)
    return 2 * half_widths + 2 / (1 - WANTED_COVERAGE) * excesses
