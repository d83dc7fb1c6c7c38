r"""Parameters of any model estimated from rows: priors, groups that differ, heavy tails.

Everything is in logarithms. Row i of owner g has the measured value

    log y_i = f_i(u + d_g) + e_i        u ~ N(m, s^2), d_g ~ N(0, tau^2), e ~ Student(4) sigma

with a common value u of each parameter, an offset d of each of its owners (a machine, a framework,
a run), and one noise for each measured value. Gauss and Newton's steps lead to the most probable u
and d; their covariance is the inverse of the second derivatives there (Laplace). The spread tau
is learned by expectation and maximization, with two pseudo-observations of a floor: few groups
agree by chance, and an interval that believes them does not hold a group that is new. Measured on
published times between tokens: without offsets intervals of 90 % hold 67 % of the groups left out,
with them 87 % (``benchmarks/validation.py``).

Source: Gelman and others, Bayesian Data Analysis, 3rd edition, 2013, chapters 5, 13 and 17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from slipstick.late import Array, NDArray, dataclass, field, np, replace

DEGREES_OF_FREEDOM = 4.0
"""Degrees of freedom of the noise: one row in twenty may be three times as far off as expected."""

DEVIATION_PER_SCALE = 2.1318467863266504 / 1.6448536269514722
"""Standard deviation of a normal distribution over the scale of this noise, where both hold 90 %:
an interval by the scale itself holds 82 %.
"""

ASSUMED_SPREAD = 0.3
LEAST_ASSUMED_SPREAD = 0.15
FEW_GROUPS, MANY_GROUPS = 4, 9
"""Spread of offsets in logarithms that is assumed beside what the groups show: the first up to a
few groups, the second from many on. Chosen on ten groups of published times between tokens."""

LEAST_NOISE = 2e-3
ASSUMED_NOISE, ENOUGH_FREEDOM = 0.03, 2.0
"""Scale of the noise in logarithms that is assumed, as one more row, where fewer rows than the
second are left over the parameters: two rows meet two parameters exactly, whatever their noise is.
With the factor for so few rows it is a standard deviation of 7 %; assumed, of the order of repeated
timings.
"""

MOST_STEPS = 40
LONGEST_STEP = 1.0
PRECISION, SIMULATED_PRECISION = 1e-4, 0.01
"""Last steps in logarithms; what common random numbers leave of the noise of a simulation is no
smooth function."""

ValuesAndSlopes = Callable[[Array], tuple[Array, Array]]
"""From logarithms of parameters at each row, (n, k), those of the values, (V, n), with their
derivatives, (V, n, k)."""


@dataclass(frozen=True, slots=True)
class Prior:
    """The prior normal distribution of the logarithm of a parameter, and the columns whose owners
    may have values of their own.
    """

    name: str
    mean: float
    deviation: float
    owner_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowGroups:
    """The owners of rows: the thing, such as a machine or a run, that a row belongs to by each
    column.

    Parameters
    ----------
    row_owners_by_column : by column, the owner of each row
    """

    row_owners_by_column: Mapping[str, Sequence[str]]

    @cached_property
    def owners_by_column(self) -> dict[str, list[str]]:
        """The owners of each column, in order of appearance."""
        return {
            column: list(dict.fromkeys(row_owners))
            for column, row_owners in self.row_owners_by_column.items()
        }

    def select(self, row_indices: NDArray[np.intp]) -> RowGroups:
        """Return the owners of a subset of the rows."""
        return RowGroups(
            {
                column: [row_owners[row_index] for row_index in row_indices]
                for column, row_owners in self.row_owners_by_column.items()
            }
        )

    @cached_property
    def rows_by_owners(self) -> list[tuple[dict[str, str], NDArray[np.intp]]]:
        """The indices of the rows of each combination of owners that occurs; a combination is the
        owner by column.
        """
        row_indices_by_owners: dict[tuple[str, ...], list[int]] = {}
        row_count = len(next(iter(self.row_owners_by_column.values()), ()))
        for row_index in range(row_count):
            owners_of_row = tuple(
                row_owners[row_index] for row_owners in self.row_owners_by_column.values()
            )
            row_indices_by_owners.setdefault(owners_of_row, []).append(row_index)
        return [
            (
                dict(zip(self.row_owners_by_column, owners_of_row, strict=True)),
                np.array(row_indices),
            )
            for owners_of_row, row_indices in row_indices_by_owners.items()
        ]


def prior_spread(group_count: int) -> float:
    """Return the standard deviation between owners that is assumed for a number of groups [log].

    >>> [prior_spread(count) for count in (1, 4, 9, 20)]
    [0.3, 0.3, 0.15, 0.15]
    """
    fraction = (group_count - FEW_GROUPS) / (MANY_GROUPS - FEW_GROUPS)
    return ASSUMED_SPREAD + (LEAST_ASSUMED_SPREAD - ASSUMED_SPREAD) * min(max(fraction, 0.0), 1.0)


@dataclass(frozen=True)
class Posterior:
    """The most probable parameters and their covariance.

    Parameters
    ----------
    priors : of the k parameters
    offsets : parameter, column and owner of each offset, in the order of `centre` after the k
        common values
    centre : common values and offsets, (p,) [log]
    covariance : of them, (p, p)
    spread_by_parameter_and_column : by parameter and column, the standard deviation of the offsets
        [log]
    noise : of each measured value, the scale of its distribution [log]
    evidence : logarithm of the probability of the rows, up to a constant
    degrees_of_freedom : degrees of freedom of the noise of each measured value: its rows less the
        parameters [1]
    widening : factor of the standard deviations of predictions
    """

    priors: tuple[Prior, ...]
    offsets: tuple[tuple[int, str, str], ...]
    centre: Array
    covariance: Array
    spread_by_parameter_and_column: dict[tuple[int, str], float]
    noise: Array
    evidence: float
    degrees_of_freedom: Array = field(default_factory=lambda: np.array([np.inf]))
    widening: float = 1.0

    def parameters(self, owner_by_column: dict[str, str]) -> tuple[Array, Array]:
        """Return the mean, (k,), and the covariance, (k, k), of the logarithms of the parameters of
        rows with the given owners; an unknown owner adds the variance between owners.
        """
        owner_matrix = _offset_matrix(len(self.priors), self.offsets, owner_by_column)
        covariance = owner_matrix @ self.covariance @ owner_matrix.T
        known_offsets = {
            (parameter_index, column)
            for parameter_index, column, owner in self.offsets
            if owner_by_column.get(column) == owner
        }
        for (parameter_index, column), deviation in self.spread_by_parameter_and_column.items():
            if (parameter_index, column) not in known_offsets:
                covariance[parameter_index, parameter_index] += deviation**2
        return owner_matrix @ self.centre, covariance * self.widening**2

    def predict(
        self, compute_values_and_slopes: ValuesAndSlopes, groups: RowGroups
    ) -> tuple[Array, Array]:
        """Return the logarithms of the values of rows, (V, n), and their standard deviations."""
        log_values, derivatives = compute_values_and_slopes(self._parameters_at_rows(groups))
        variances = np.zeros_like(log_values)
        for owner_by_column, row_indices in groups.rows_by_owners:
            _, covariance = self.parameters(owner_by_column)
            derivatives_of_rows = derivatives[:, row_indices]
            variances[:, row_indices] = np.einsum(
                "vij,jk,vik->vi", derivatives_of_rows, covariance, derivatives_of_rows
            )
        return log_values, np.sqrt(variances + self.deviations_of_noise[:, None] ** 2)

    @property
    def deviations_of_noise(self) -> Array:
        """The standard deviation of a normal noise whose 90 % lie between the same ends, widened
        like the deviations of the parameters, (V,) [log].
        """
        return self.widening * DEVIATION_PER_SCALE * self.noise

    def _parameters_at_rows(self, groups: RowGroups) -> Array:
        """Return the logarithms of the parameters at each row, with the offsets of the groups that
        the row belongs to, (n, k).
        """
        log_parameters = np.empty(
            (sum(len(row_indices) for _, row_indices in groups.rows_by_owners), len(self.priors))
        )
        for owner_by_column, row_indices in groups.rows_by_owners:
            log_parameters[row_indices] = (
                _offset_matrix(len(self.priors), self.offsets, owner_by_column) @ self.centre
            )
        return log_parameters

    @cached_property
    def deviations(self) -> Array:
        """The standard deviation of the common value of each parameter, (k,) [log]."""
        parameter_count = len(self.priors)
        return np.sqrt(np.diag(self.covariance)[:parameter_count])


def _offset_matrix(
    parameter_count: int, offsets: Sequence[tuple[int, str, str]], owner_by_column: dict[str, str]
) -> Array:
    """Return the matrix that adds to the k common values the offsets of the given owners, (k,
    p).
    """
    offset_matrix = np.zeros((parameter_count, parameter_count + len(offsets)))
    offset_matrix[:, :parameter_count] = np.eye(parameter_count)
    for column_index, (parameter_index, column, owner) in enumerate(offsets, parameter_count):
        offset_matrix[parameter_index, column_index] = owner_by_column.get(column) == owner
    return offset_matrix


def estimate(
    compute_values_and_slopes: ValuesAndSlopes,
    measured_logs: Array,
    groups: RowGroups,
    priors: Sequence[Prior],
    start_posterior: Posterior | None = None,
    precision: float = PRECISION,
) -> Posterior:
    """Find the most probable parameters of rows. Return their posterior.

    Parameters
    ----------
    compute_values_and_slopes : the model at the rows
    measured_logs : of what was measured, (V, n); NaN where it was not
    groups : the owners of the rows
    priors : of the parameters
    start_posterior : a posterior of other rows to begin at
    precision : of the last step [log]

    Raises
    ------
    FloatingPointError : the model has no finite value at a row
    """
    search = _PosteriorSearch(
        compute_values_and_slopes, measured_logs, groups, tuple(priors), start_posterior
    )
    for _ in range(MOST_STEPS):
        step_size = search.step()
        if step_size < precision:
            break
    return search.posterior()


class _PosteriorSearch:
    """An iteration to the most probable parameters; its attributes are the current point, noise and
    spreads.
    """

    def __init__(
        self,
        compute_values_and_slopes: ValuesAndSlopes,
        measured_logs: Array,
        groups: RowGroups,
        priors: tuple[Prior, ...],
        start_posterior: Posterior | None,
    ) -> None:
        self.compute_values_and_slopes = compute_values_and_slopes
        self.measured_logs = measured_logs
        self.groups = groups
        self.priors = priors
        self.is_measured = np.isfinite(measured_logs)
        self.offsets = tuple(
            (index, column, owner)
            for index, prior in enumerate(priors)
            for column in prior.owner_columns
            for owner in groups.owners_by_column[column]
        )
        parameter_count = len(priors)
        self.prior_means = np.array([prior.mean for prior in priors] + [0.0] * len(self.offsets))
        self.spread_by_parameter_and_column = {
            (index, column): prior_spread(len(groups.owners_by_column[column]))
            for index, prior in enumerate(priors)
            for column in prior.owner_columns
        }
        self.noise = np.full(len(measured_logs), 0.1)
        self.degrees_of_freedom = np.ones(len(measured_logs))
        self.point = self.prior_means.copy()
        if start_posterior is not None:
            centre_by_offset = dict(
                zip(start_posterior.offsets, start_posterior.centre[parameter_count:], strict=True)
            )
            self.point[:parameter_count] = start_posterior.centre[:parameter_count]
            self.point[parameter_count:] = [
                centre_by_offset.get(offset, 0.0) for offset in self.offsets
            ]
            self.noise = start_posterior.noise.copy()
            self.spread_by_parameter_and_column = dict(
                start_posterior.spread_by_parameter_and_column
            )
        self.owner_matrices = [
            _offset_matrix(parameter_count, self.offsets, owner_by_column)
            for owner_by_column, _ in groups.rows_by_owners
        ]
        self.log_values, self.derivatives = self._evaluate(self.point)

    def _evaluate(self, point: Array) -> tuple[Array, Array]:
        """Return the logarithms of the model's values at a point, and their derivatives by each
        parameter; raise if a measured row has no finite value.
        """
        log_parameters = np.empty((self.measured_logs.shape[1], len(self.priors)))
        for owner_matrix, (_, rows_of_owners) in zip(
            self.owner_matrices, self.groups.rows_by_owners, strict=True
        ):
            log_parameters[rows_of_owners] = owner_matrix @ point
        log_values, derivatives = self.compute_values_and_slopes(log_parameters)
        if not np.isfinite(log_values[self.is_measured]).all():
            raise FloatingPointError
        return log_values, np.where(np.isfinite(derivatives), derivatives, 0.0)

    def _prior_precisions(self) -> Array:
        """Return the inverse prior variance of each parameter and of each offset."""
        prior_precisions = [prior.deviation**-2.0 for prior in self.priors]
        return np.array(
            prior_precisions
            + [
                self.spread_by_parameter_and_column[index, column] ** -2
                for index, column, _ in self.offsets
            ]
        )

    def _negative_log_density(self, point: Array, log_values: Array) -> float:
        """Return the negative logarithm of the posterior density at a point, up to a constant."""
        standard_residuals = (
            np.where(self.is_measured, self.measured_logs - log_values, 0.0) / self.noise[:, None]
        )
        cost_of_rows = (
            (DEGREES_OF_FREEDOM + 1) / 2 * np.log1p(standard_residuals**2 / DEGREES_OF_FREEDOM)
        )
        cost_of_noise = (np.log(self.noise) * self.is_measured.sum(axis=1)).sum()
        return float(
            cost_of_rows[self.is_measured].sum()
            + cost_of_noise
            + 0.5 * (self._prior_precisions() * (point - self.prior_means) ** 2).sum()
        )

    def _normal_equations(self) -> tuple[Array, Array, Array]:
        """Return the weights of the rows, and the curvature and the gradient of the log likelihood
        by the unknowns at the current point.
        """
        residuals = np.where(self.is_measured, self.measured_logs - self.log_values, 0.0)
        noise_scale = self.noise[:, None]
        weights = (
            (DEGREES_OF_FREEDOM + 1)
            / (DEGREES_OF_FREEDOM + (residuals / noise_scale) ** 2)
            / noise_scale**2
            * self.is_measured
        )
        unknown_count = len(self.point)
        curvature = np.zeros((unknown_count, unknown_count))
        gradient = np.zeros(unknown_count)
        for owner_matrix, (_, row_indices) in zip(
            self.owner_matrices, self.groups.rows_by_owners, strict=True
        ):
            derivatives_of_rows = self.derivatives[:, row_indices]
            weighted_derivatives = derivatives_of_rows * weights[:, row_indices, None]
            curvature += (
                owner_matrix.T
                @ np.einsum("vij,vik->jk", weighted_derivatives, derivatives_of_rows)
                @ owner_matrix
            )
            gradient += owner_matrix.T @ np.einsum(
                "vij,vi->j", weighted_derivatives, residuals[:, row_indices]
            )
        return weights, curvature, gradient

    def step(self) -> float:
        """Take one step and update noise and spreads; return the size of the step."""
        weights, curvature, gradient = self._normal_equations()
        prior_precisions = self._prior_precisions()
        information = curvature + np.diag(prior_precisions)
        change = np.linalg.solve(
            information, gradient - prior_precisions * (self.point - self.prior_means)
        )
        change *= min(1.0, LONGEST_STEP / max(float(np.abs(change).max()), 1e-300))
        cost_before = self._negative_log_density(self.point, self.log_values)
        for _ in range(6):
            try:
                log_values, derivatives = self._evaluate(self.point + change)
                if self._negative_log_density(
                    self.point + change, log_values
                ) <= cost_before + 1e-9 * abs(cost_before):
                    break
            except FloatingPointError:
                pass
            change = change / 4
        else:
            change = np.zeros_like(change)
            log_values = self.log_values
            derivatives = self.derivatives
        self.point = self.point + change
        self.log_values = log_values
        self.derivatives = derivatives
        covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
        largest_change = self._update_noise_and_spreads(
            weights, float((covariance * curvature).sum()), covariance
        )
        return max(float(np.abs(change).max()), largest_change)

    def _update_noise_and_spreads(
        self, weights: Array, used_degrees_of_freedom: float, covariance: Array
    ) -> float:
        """Update the noise and the spreads by expectation and maximization. Return a tenth of their
        largest relative change, to be compared with the size of a step of parameters.
        """
        residuals = np.where(self.is_measured, self.measured_logs - self.log_values, 0.0)
        sums_of_squares = (weights * residuals**2).sum(axis=1) * self.noise**2
        row_counts = self.is_measured.sum(axis=1)
        degrees_of_freedom = np.maximum(
            row_counts * (1 - used_degrees_of_freedom / max(row_counts.sum(), 1)), 0.0
        )
        assumed_row_counts = np.clip(ENOUGH_FREEDOM - degrees_of_freedom, 0.0, 1.0)
        variances = (sums_of_squares + assumed_row_counts * ASSUMED_NOISE**2) / (
            degrees_of_freedom + assumed_row_counts
        )
        noise = np.maximum(np.sqrt(variances), LEAST_NOISE)
        self.degrees_of_freedom = degrees_of_freedom
        largest_change = float(np.abs(np.log(noise / self.noise)).max())
        self.noise = noise
        parameter_count = len(self.priors)
        for parameter_and_column, spread_before in self.spread_by_parameter_and_column.items():
            offset_indices = [
                parameter_count + index
                for index, (offset_parameter, column, _) in enumerate(self.offsets)
                if (offset_parameter, column) == parameter_and_column
            ]
            offset_squares = sum(
                self.point[index] ** 2 + covariance[index, index] for index in offset_indices
            )
            prior_of_spread = prior_spread(len(offset_indices))
            self.spread_by_parameter_and_column[parameter_and_column] = float(
                np.sqrt((offset_squares + 2 * prior_of_spread**2) / (len(offset_indices) + 2))
            )
            largest_change = max(
                largest_change,
                abs(
                    float(
                        np.log(
                            self.spread_by_parameter_and_column[parameter_and_column]
                            / spread_before
                        )
                    )
                ),
            )
        return largest_change / 10

    def posterior(self) -> Posterior:
        """Return the posterior at the current point. Its noise is larger than estimated where few
        rows determine it (Student's t).
        """
        from scipy.special import stdtrit

        prior_precisions = self._prior_precisions()
        evidence = -self._negative_log_density(self.point, self.log_values)
        _, curvature, _ = self._normal_equations()
        information = curvature + np.diag(prior_precisions)
        evidence += 0.5 * float(np.log(prior_precisions).sum() - np.linalg.slogdet(information)[1])
        degrees_of_freedom = np.maximum(self.degrees_of_freedom, ENOUGH_FREEDOM)
        self.noise = self.noise * stdtrit(degrees_of_freedom, 0.95) / stdtrit(np.inf, 0.95)
        _, curvature, _ = self._normal_equations()
        information = curvature + np.diag(prior_precisions)
        return Posterior(
            self.priors,
            self.offsets,
            self.point,
            np.asarray(np.linalg.inv(information), dtype=float),
            self.spread_by_parameter_and_column,
            self.noise,
            evidence,
            self.degrees_of_freedom,
        )


def with_wider_deviations(posterior: Posterior, widening: float) -> Posterior:
    """Return a posterior whose predictions have standard deviations larger by a factor."""
    return replace(posterior, widening=widening)
