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
    ENOUGH_FREEDOM,
    PRECISION,
    SIMULATED_PRECISION,
    TAILS,
    Posterior,
    Prior,
    RowGroups,
    estimate,
    widened,
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

IDENTIFIED = 0.7
"""Part of the prior's standard deviation that a posterior's may keep; above it the rows hardly say
anything of the parameter."""

WANTED, LEAST_COVERAGE = 0.9, 0.85
"""Part of the rows of left-out groups that intervals hold, and below which they are widened."""

A_DOUBLING = 0.05
"""Standard deviation by which predictions get less sure each doubling of the size beyond what was
fitted; assumed, as no set has enough large rows left out to learn it."""

MOST_WIDENED = 3.0
"""Largest factor of the parameters' standard deviations; what lies outside then is no matter of
parameters."""

EXPLAINED = 0.5
"""Part of the squared residuals of a group above which one parameter is named as their reason."""

MOST_SHIFTED = 3.0
"""Logarithm of a factor of one parameter beyond which it is no explanation."""

# Each combination of choices is fitted once, so their number multiplies the time.
MOST_COMBINATIONS = 32

Rows: TypeAlias = "NDArray[np.intp]"


@dataclass(frozen=True, slots=True)
class FreeParameter:
    """A parameter to estimate: its 5 % and 95 % quantiles before the data, and the columns that own
    it.
    """

    path: str
    low: float
    high: float
    owners: tuple[str, ...] = ()

    @property
    def prior(self) -> Prior:
        """The log-normal distribution with these two quantiles."""
        low = log(self.low)
        high = log(self.high)
        return Prior(self.path, (low + high) / 2, (high - low) / 2 / NORMAL_90, self.owners)


@dataclass(frozen=True, slots=True)
class UnknownChoice:
    """A parameter with a few possible values, which may differ between owners.

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
    free, choices : what is unknown
    groups : columns whose combination is left out whole
    chosen : the rows that are fitted, the groups of the others being predicted; by default each
        group is predicted by all others
    noise : of the rows, where nothing is fitted [log]; None: everything is
    sizes : of each row, beyond whose fitted range predictions get less sure
    """

    observed: Observed
    free: tuple[FreeParameter, ...]
    choices: tuple[UnknownChoice, ...] = ()
    groups: tuple[str, ...] = ()
    chosen: tuple[int, ...] = ()
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
        """Return the owners of rows, one column at least."""
        columns = dict.fromkeys(column for parameter in self.free for column in parameter.owners)
        labels = {column: self.observed.labels(column) for column in columns}
        all_groups = RowGroups(labels or {"": [""] * self.count})
        return all_groups.select(rows)


@dataclass(frozen=True)
class _Fit:
    """A posterior, and the weights of the values of each choice by owner."""

    posterior: Posterior
    weights: dict[tuple[int, str], Array]


def estimation(task: EstimationTask) -> Estimation:
    """Estimate from all rows, test by leaving out each group, and describe the residuals.

    Raises
    ------
    NoAnswerError : the model has no answer at a row, or too many combinations of choices
    """
    _check(task)
    fit = _whole_fit(task)
    errors: list[GroupError] = []
    residual_groups: list[tuple[Array, Array, Array]] = []
    for name, rows, fitted_rows in _split(task):
        without = fit if fitted_rows is None else _fit_rows(task, fitted_rows, fit)
        error, distance = _left_out(task, name, rows, without, fitted_rows)
        errors.append(error)
        residual_groups.append(distance)
    factor = _widening_factor(residual_groups)
    fit = replace(fit, posterior=widened(fit.posterior, factor))
    return _result(task, fit, errors, factor)


def _whole_fit(task: EstimationTask) -> _Fit:
    """Fit to all rows of the task; without such rows, return the prior."""
    if task.noise is None:
        return _fit_rows(task, np.array(task.chosen) if task.chosen else np.arange(task.count))
    priors = tuple(parameter.prior for parameter in task.free)
    count = len(task.observed.measured)
    posterior = Posterior(
        priors,
        (),
        np.array([prior.mean for prior in priors]),
        np.diag([prior.deviation**2 for prior in priors]),
        {},
        # The noise that a spec states is a standard deviation, not the scale of heavy tails.
        np.full(count, task.noise / TAILS),
        0.0,
    )
    return _Fit(posterior, {})


def _split(task: EstimationTask) -> Iterator[tuple[str, Rows, Rows | None]]:
    """Yield each group to predict: its name, its rows, and the rows to fit to, or None where one
    fit serves all groups.
    """
    labels = np.array(task.labels(task.groups))
    names = list(dict.fromkeys(labels.tolist()))
    is_fitted = np.isin(np.arange(task.count), task.chosen)
    is_single_fit = task.noise is not None or bool(task.chosen)
    for name in names if is_single_fit or len(names) > 1 else []:
        rows = np.flatnonzero((labels == name) & ~is_fitted)
        if len(rows):
            yield name, rows, None if is_single_fit else np.flatnonzero(labels != name)


def _check(task: EstimationTask) -> None:
    combinations = np.prod([len(choice.values) for choice in task.choices] or [1])
    if combinations > MOST_COMBINATIONS:
        raise NoAnswerError(
            f"the choices have {combinations:.0f} combinations, at most {MOST_COMBINATIONS}; leave"
            " out unlikely values"
        )


def _fit_rows(task: EstimationTask, rows: Rows, start: _Fit | None = None) -> _Fit:
    """Estimate from some rows: first with choices equal for all owners, then owner by owner, by
    their evidence.
    """
    weights = _initial_weights(task, rows, start)
    posterior = _posterior(task, rows, weights, start.posterior if start else None)
    for _ in range(2 if len(weights) > 1 else 1):
        for key in weights:
            evidences = []
            for option in range(len(task.choices[key[0]].values)):
                changed_weights = {**weights, key: np.eye(len(weights[key]))[option]}
                evidences.append(_posterior(task, rows, changed_weights, posterior).evidence)
            relative = np.exp(np.array(evidences) - max(evidences))
            weights[key] = relative / relative.sum()
        if weights:
            posterior = _posterior(task, rows, weights, posterior)
    return _Fit(posterior, weights)


def _initial_weights(
    task: EstimationTask, rows: Rows, start: _Fit | None
) -> dict[tuple[int, str], Array]:
    """Return the initial weights of choices: the combination, equal for all owners, with the most
    evidence, or those of a fit to more rows.
    """
    keys = [
        (index, owner)
        for index, choice in enumerate(task.choices)
        for owner in dict.fromkeys(np.array(task.labels(choice.owners))[rows].tolist())
    ]
    if not keys or start is not None:
        return {key: start.weights[key] for key in keys} if start else {}
    best: tuple[float, dict[tuple[int, str], Array]] | None = None
    for options in product(*(range(len(choice.values)) for choice in task.choices)):
        weights = {
            (index, owner): np.eye(len(task.choices[index].values))[options[index]]
            for index, owner in keys
        }
        evidence = _posterior(task, rows, weights).evidence
        if best is None or evidence > best[0]:
            best = evidence, weights
    assert best is not None
    return best[1]


def _posterior(
    task: EstimationTask,
    rows: Rows,
    weights: dict[tuple[int, str], Array],
    start: Posterior | None = None,
) -> Posterior:
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
    slopes = _slopes(task, fixed, rows)
    owners = task.owners(rows)
    try:
        return estimate(slopes, logs, owners, priors, start, precision)
    except FloatingPointError:
        values, _ = slopes(np.tile([prior.mean for prior in priors], (len(rows), 1)))
        without = np.flatnonzero((np.isfinite(logs) & ~np.isfinite(values)).any(axis=0))
        place = (
            f"in line {task.observed.table.lines[rows[without[0]]]}" if len(without) else "at a row"
        )
        raise NoAnswerError(
            f"{task.observed.built.name} has no finite value above 0 {place}, where the free"
            " parameters have the middle of their ranges; are the ranges right?"
        ) from None


def _slopes(
    task: EstimationTask, fixed: dict[str, Array], rows: Rows
) -> Callable[[Array], tuple[Array, Array]]:
    paths = [parameter.path for parameter in task.free]
    return lambda log_values: task.observed.slopes(paths, log_values, fixed, rows)


def predicted(task: EstimationTask, fit: _Fit, rows: Rows) -> tuple[Array, Array]:
    """Return the predicted logarithms of rows and their standard deviations, (V, n) each: a mixture
    over the choices. A new owner has the mean weights of the others.
    """
    shape = (len(task.observed.measured), len(rows))
    mean = np.zeros(shape)
    square = np.zeros(shape)
    options = [range(len(choice.values)) for choice in task.choices]
    for option_indices in product(*options):
        weight = np.ones(len(rows))
        fixed = {}
        for index, (choice, option) in enumerate(zip(task.choices, option_indices, strict=True)):
            labels = np.array(task.labels(choice.owners))[rows]
            weight = weight * [_weights(fit, index, owner, choice)[option] for owner in labels]
            fixed[choice.path] = np.full(len(rows), choice.values[option])
        # A combination of such a small weight hardly changes the mean, so it is not solved.
        if not (weight > 1e-6).any():
            continue
        values, deviation = fit.posterior.predict(_slopes(task, fixed, rows), task.owners(rows))
        mean = mean + weight * values
        square = square + weight * (deviation**2 + values**2)
    # The difference of squares may be negative by rounding.
    return mean, np.sqrt(np.maximum(square - mean**2, 1e-12))


def _weights(fit: _Fit, index: int, owner: str, choice: UnknownChoice) -> Array:
    if (index, owner) in fit.weights:
        return fit.weights[index, owner]
    all_weights = np.array(
        [weights for (choice_index, _), weights in fit.weights.items() if choice_index == index]
    )
    return np.asarray((all_weights.sum(axis=0) + 1 / len(choice.values)) / (len(all_weights) + 1))


def _left_out(
    task: EstimationTask, name: str, rows: Rows, fit: _Fit, fitted_rows: Rows | None
) -> tuple[GroupError, tuple[Array, Array, Array]]:
    """Predict a group by a fit without it; return its errors, and for each value the residual, the
    noise and the standard deviation due to the parameters.
    """
    values, deviation = predicted(task, fit, rows)
    if task.sizes and task.noise is None:
        deviation = np.hypot(deviation, _deviation_of_extrapolation(task, rows, fitted_rows))
    logs = task.observed.logs[:, rows]
    finite = np.isfinite(logs) & np.isfinite(values)
    residual = (logs - values)[finite]
    noise = np.broadcast_to(fit.posterior.deviations_of_noise[:, None], logs.shape)[finite]
    parameter_deviations = np.sqrt(np.maximum(deviation[finite] ** 2 - noise**2, 0.0))
    off = np.abs(np.expm1(-residual))
    width = np.exp(2 * NORMAL_90 * deviation[finite])
    error = GroupError(
        name,
        int(finite.sum()),
        float(np.median(off)),
        float(off.mean()),
        float(np.median(np.expm1(-residual))),
        float(np.quantile(off, 0.9)),
        float(off.max()),
        float(np.mean(np.abs(residual) <= NORMAL_90 * deviation[finite])),
        float(np.median(width)),
        tuple(_reasons(task, rows, residual, finite, fit)),
        tuple(residual.tolist()),
        tuple((NORMAL_90 * deviation[finite]).tolist()),
    )
    return error, (residual, noise, parameter_deviations)


def _deviation_of_extrapolation(
    task: EstimationTask, rows: Rows, fitted_rows: Rows | None
) -> Array:
    """Return the additional standard deviation of predictions outside of the fitted range of sizes
    [log].
    """
    sizes = np.log2(np.array(task.sizes))
    fitted_sizes = sizes[np.array(task.chosen) if fitted_rows is None else fitted_rows]
    distance_beyond = np.maximum(sizes[rows] - fitted_sizes.max(), fitted_sizes.min() - sizes[rows])
    return np.asarray(A_DOUBLING * np.maximum(distance_beyond, 0.0))


def _reasons(
    task: EstimationTask, rows: Rows, residual: Array, finite: NDArray[np.bool_], fit: _Fit
) -> Iterator[str]:
    """Yield the parameter or the growing number that explains most of a group's residuals."""
    total = float(residual @ residual)
    if total < len(residual) * float(np.max(fit.posterior.noise)) ** 2 * 2:
        return
    fraction, reason = max(
        [
            (EXPLAINED, ""),
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
    fixed = {
        choice.path: np.full(
            len(rows), choice.values[int(_weights(fit, index, "", choice).argmax())]
        )
        for index, choice in enumerate(task.choices)
    }
    parameter_values = np.tile(fit.posterior.centre[: len(task.free)], (len(rows), 1))
    _, shares = task.observed.slopes(
        [parameter.path for parameter in task.free], parameter_values, fixed, rows
    )
    for index, parameter in enumerate(task.free):
        share = shares[:, :, index][finite]
        if (size := float(share @ share)) <= 0:
            continue
        shift = float(share @ residual) / size
        remainder = residual - shift * share
        if abs(shift) < MOST_SHIFTED:
            times = f"{np.exp(shift):.2f} times as much as elsewhere"
            yield (
                1 - float(remainder @ remainder) / float(residual @ residual),
                f"goes with {parameter.path}: {times}",
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
        if (size := float(centred_doublings @ centred_doublings)) < 1e-9:
            continue
        slope = float(centred_doublings @ centred) / size
        remainder = residual - slope * centred_doublings
        words = (
            f"grows with {path}, {np.expm1(slope):+.0%} a doubling: something that depends on it is"
            " not in the model"
        )
        yield 1 - float(remainder @ remainder) / float(residual @ residual), words


def _widening_factor(residual_groups: Sequence[tuple[Array, Array, Array]]) -> float:
    """Return the factor on the parameters' standard deviations that makes intervals contain 90 % of
    left-out rows; 1 if they contain enough already.
    """
    if not residual_groups:
        return 1.0
    residual, noise, parameter_deviations = (
        np.concatenate(arrays) for arrays in zip(*residual_groups, strict=True)
    )

    def held(factor: float) -> float:
        return float(
            np.mean(np.abs(residual) <= NORMAL_90 * np.hypot(factor * parameter_deviations, noise))
        )

    if held(1.0) >= LEAST_COVERAGE:
        return 1.0
    factors = np.linspace(1.0, MOST_WIDENED, 41)
    return float(next((factor for factor in factors if held(factor) >= WANTED), MOST_WIDENED))


def _result(
    task: EstimationTask,
    fit: _Fit,
    errors: Sequence[GroupError],
    factor: float,
) -> Estimation:
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
    values, _ = predicted(task, fit, np.arange(task.count))
    relative_errors = np.abs(np.expm1((values - observed.logs)[np.isfinite(observed.logs)]))
    score = None
    simple = None
    if len(errors) >= 3:
        groups = [(np.array(error.residuals), np.array(error.halves)) for error in errors]
        score, simple = (float(scores.mean()) for scores in interval_scores(groups))
    return Estimation(
        model=observed.built.name,
        source=observed.table.file,
        measured=observed.measured,
        rows=int(np.isfinite(observed.logs).any(axis=0).sum()),
        parameters=tuple(_parameters(task, fit)),
        choices=chosen_values,
        groups=tuple(errors),
        by=task.groups,
        noise=tuple(posterior.deviations_of_noise.tolist()),
        noise_assumed=bool(posterior.freedom.min() < ENOUGH_FREEDOM),
        fitted_error=float(np.median(relative_errors)),
        widened=factor,
        score=score,
        simple_score=simple,
        ignored=observed.ignored,
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


def _parameters(task: EstimationTask, fit: _Fit) -> Iterator[EstimatedParameter]:
    posterior = fit.posterior
    k = len(task.free)
    for index, parameter in enumerate(task.free):
        entry = task.observed.built.entries[parameter.path]
        deviation = float(posterior.deviations[index])
        owners = tuple(
            OwnerFactor(
                f"{column}={owner}",
                float(np.exp(posterior.centre[k + place])),
                float(posterior.spread[index, column]),
            )
            for place, (of, column, owner) in enumerate(posterior.offsets)
            if of == index
        )
        middle = float(posterior.centre[index])
        yield EstimatedParameter(
            parameter.path,
            str(entry.given.dimension),
            entry.meaning or entry.given.meaning,
            float(np.exp(middle)),
            float(np.exp(middle - NORMAL_90 * deviation)),
            float(np.exp(middle + NORMAL_90 * deviation)),
            parameter.low,
            parameter.high,
            deviation / parameter.prior.deviation,
            owners,
        )


def interval_scores(groups: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the interval scores (Gneiting and Raftery, 2007, section 6.2) of left-out rows in
    logarithms, and the scores of intervals from the other groups' root-mean-square error alone.

    Parameters
    ----------
    groups : residuals and halves of intervals of 90 % of each of at least three groups

    >>> own, simple = interval_scores([(np.full(1, 0.1), np.full(1, 0.2))] * 3)
    >>> own.round(6).tolist(), bool((simple > own).all())
    ([0.4, 0.4, 0.4], True)
    """
    from scipy.stats import t

    squares = [float(np.mean(residual**2)) for residual, _ in groups]
    scores = []
    simple = []
    for index, (residual, half) in enumerate(groups):
        scores.append(_score(residual, half))
        other_squares = [
            square for other_index, square in enumerate(squares) if other_index != index
        ]
        width = float(t.ppf(0.95, len(other_squares) - 1)) * np.sqrt(np.mean(other_squares))
        simple.append(_score(residual, np.full(len(residual), width)))
    return np.concatenate(scores), np.concatenate(simple)


def _score(residual: Array, half: Array) -> Array:
    beyond: Array = np.maximum(np.abs(residual) - half, 0.0)
    return 2 * half + 2 / (1 - WANTED) * beyond
