"""Mutants made by hand: typical slips in formulas, statistics and questions, and whether the tests
of the module notice them.

Each slip is one expression of a module that is written as a tired person might have: a factor of
two, the wrong power, a term without its weight, a strict comparison, the reverse of a rate. It is
put into a copy of the sources, never into the checkout, and the tests named with it and the
examples of the module run there until one fails. A slip that no test notices is a gap in the tests,
or changes no answer; which of both is judged by hand.

    python benchmarks/slips.py [--only TEXT] [--first NUMBER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 600
"""Longest run of the tests of a slip; a loop without an end counts as noticed."""


@dataclass(frozen=True)
class Slip:
    """A change of a module, and the tests that are to notice it."""

    module: str
    before: str
    after: str
    tests: str


LAW, QUEUEING, MEAN, SIM = "tests/law", "tests/queueing", "tests/method/mean_value", "tests/sim"
FIT, STUDY, QUESTIONS = "tests/measure/fit", "tests/study", "tests/study/questions"
SLIPS = (
    # law
    Slip(
        "slipstick_laws/general_service.py",
        "(1 - arrivals_scv) ** 2 / (3",
        "(1 - arrivals_scv) / (3",
        LAW,
    ),
    Slip(
        "slipstick_laws/general_service.py", "arrivals_scv + 4 * scv", "4 * arrivals_scv + scv", LAW
    ),
    Slip(
        "slipstick_laws/general_service.py",
        "arrivals * service * service * (1 + scv) / (2",
        "arrivals * service * (1 + scv) / (2",
        LAW,
    ),
    # expressions and random times
    Slip(
        "slipstick/random_times.py",
        "sign * 2.0 * minimum_mean * minimum_mean",
        "sign * minimum_mean * minimum_mean",
        "tests/test_random_times.py",
    ),
    Slip(
        "slipstick/random_times.py",
        "return RandomTime(expected_maximum, mean_square - expected_maximum * expected_maximum)",
        "return RandomTime(expected_maximum, mean_square)",
        "tests/test_random_times.py",
    ),
    Slip(
        "slipstick_mean_value/dependent_times.py",
        "deviation * (1 + excess / 8.8) ** -0.41",
        "deviation * (1 + excess / 8.8) ** 0.41",
        "tests/test_random_times.py",
    ),
    # queueing
    Slip(
        "slipstick/queueing/residual_wait.py",
        "service * (1 + scv) / 2",
        "service * (1 + scv)",
        f"{QUEUEING}/test_residual_wait.py",
    ),
    Slip(
        "slipstick/queueing/residual_wait.py",
        "transform_arguments = np.arange(1, customers) / elsewhere",
        "transform_arguments = np.arange(customers - 1) / elsewhere",
        f"{QUEUEING}/test_residual_wait.py",
    ),
    Slip(
        "slipstick/queueing/residual_wait.py",
        "elsewhere * (MOST_SOURCES / customers)",
        "elsewhere * (customers / MOST_SOURCES)",
        f"{QUEUEING}/test_residual_wait.py {MEAN}/test_large_populations.py",
    ),
    Slip(
        "slipstick/queueing/residual_wait.py",
        "1 - offered_load / servers * (1 - loss_probability)",
        "1 - offered_load / servers",
        f"{QUEUEING}/test_residual_wait.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "(rank_of_class[None, :] <= rank_of_class[:, None])",
        "(rank_of_class[None, :] < rank_of_class[:, None])",
        f"{QUEUEING}/test_approximate.py {QUEUEING}/test_disciplines.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "waiting_times = (waiting_work + residual_work) / servers",
        "waiting_times = waiting_work + residual_work / servers",
        f"{QUEUEING}/test_approximate.py {QUEUEING}/test_disciplines.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "residual_service, station, rank_weights if discipline.preemptive else None",
        "residual_service, station, None",
        f"{QUEUEING}/test_approximate.py {QUEUEING}/test_disciplines.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "weighted_numbers.sum(axis=1, keepdims=True) - self.own_share * weighted_numbers",
        "weighted_numbers.sum(axis=1, keepdims=True) - weighted_numbers",
        f"{QUEUEING}/test_approximate.py",
    ),
    # mean value
    Slip(
        "slipstick_mean_value/open.py",
        "sum_of_columns(met_works) / queue.servers / without_zeros",
        "sum_of_columns(met_works) / without_zeros",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "(relative_wait * relative_wait + 2 * relative_wait)\n        + mean_wait * mean_wait",
        "(relative_wait * relative_wait + 2 * relative_wait)",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "relative_wait = probability_all_busy / (queue.servers - busy_servers)",
        "relative_wait = probability_all_busy / (1 - busy_servers)",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "(1 - returning_share) * residual_by_visit[visit_index]",
        "residual_by_visit[visit_index]",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "scv_of_wait = 2 / np.where(probability_all_busy.real > 0, probability_all_busy, 1.0) - 1",
        "scv_of_wait = 1 / np.where(probability_all_busy.real > 0, probability_all_busy, 1.0)",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/features.py",
        "mean_time * mean_time * (1 + visit.step.scv)",
        "mean_time * mean_time * visit.step.scv",
        f"{MEAN}/test_features.py {MEAN}/test_promises.py",
    ),
    # simulation
    Slip(
        "slipstick/sim/estimate.py",
        "t_quantile(level, batch_count - 1)",
        "t_quantile(level, batch_count)",
        f"{SIM}/test_intervals.py",
    ),
    Slip(
        "slipstick/sim/estimate.py",
        "squared_residuals * batch_count / (batch_count - 1)",
        "squared_residuals",
        f"{SIM}/test_intervals.py",
    ),
    Slip(
        "slipstick/sim/estimate.py",
        "counts_by_bin[:bin_index].sum() + 0.5 * counts_by_bin[bin_index]",
        "counts_by_bin[:bin_index].sum() + counts_by_bin[bin_index]",
        f"{SIM}/test_intervals.py",
    ),
    Slip(
        "slipstick/sim/estimate.py",
        "values_left.astype(np.float64) ** 2",
        "values_left.astype(np.float64)",
        f"{SIM}/test_intervals.py {SIM}/test_theory.py",
    ),
    Slip(
        "slipstick/sim/short_check.py",
        "variance_inflation * batch_count * squared_residuals / degree_count",
        "variance_inflation * squared_residuals / degree_count",
        "tests/method/test_second_road.py tests/sim/test_theory.py",
    ),
    Slip(
        "slipstick/sim/short_check.py",
        "if difference > expected_time.tolerance + half_width and",
        "if difference > expected_time.tolerance and",
        "tests/method/test_second_road.py",
    ),
    Slip(
        "slipstick/sim/plan/distributions.py",
        "_exponential(1.0, stream, sample_count) ** exponent / math.gamma(1 + exponent)",
        "_exponential(1.0, stream, sample_count) ** exponent",
        "tests/test_time_distributions.py",
    ),
    Slip(
        "slipstick/sim/plan/distributions.py",
        "np.exp(deviations - log_variance / 2)",
        "np.exp(deviations)",
        "tests/test_time_distributions.py",
    ),
    Slip(
        "slipstick_rounds/round_run.py",
        "self.memory_used + claim > self.server.memory",
        "self.memory_used > self.server.memory",
        "tests/rounds/test_round_run.py",
    ),
    # fits and measurements
    Slip(
        "slipstick_measure/fit/intervals.py",
        "len(fitted_formula.residuals) / fitted_formula.degrees_of_freedom",
        "fitted_formula.freedom / len(fitted_formula.residuals)",
        f"{FIT}/test_known_intervals.py {FIT}/test_bootstrap.py",
    ),
    Slip(
        "slipstick_measure/fit/intervals.py",
        "float(t.ppf((1 + confidence_level) / 2, fitted_formula.degrees_of_freedom))",
        "float(t.ppf(confidence_level, fitted_formula.degrees_of_freedom))",
        f"{FIT}/test_known_intervals.py {FIT}/test_profile.py",
    ),
    Slip(
        "slipstick_measure/fit/intervals.py",
        "t.ppf((1 + confidence_level) / 2, freedom) / norm.ppf((1 + confidence_level) / 2)",
        "1.0",
        f"{FIT}/test_known_intervals.py {FIT}/test_bootstrap.py",
    ),
    Slip(
        "slipstick_measure/fit/intervals.py",
        'method="weibull"',
        'method="linear"',
        f"{FIT}/test_known_intervals.py {FIT}/test_bootstrap.py",
    ),
    Slip(
        "slipstick_measure/fit/least_squares.py",
        "2 * parameter_count * row_count / (row_count - parameter_count - 1)",
        "2 * parameter_count",
        f"{FIT}/test_compare.py {FIT}/test_model.py",
    ),
    Slip(
        "slipstick_measure/fit/least_squares.py",
        "self.sum_of_squares / self.degrees_of_freedom",
        "self.sum_of_squares / len(self.residuals)",
        f"{FIT}/test_profile.py {FIT}/test_model.py",
    ),
    Slip(
        "slipstick_measure/fit/extrapolation.py",
        "int(count_and_time[0]) - 1",
        "int(count_and_time[0])",
        f"{FIT}/test_answers.py {FIT}/test_parts.py",
    ),
    Slip(
        "slipstick_measure/loads.py",
        "utilization *= (lowest_row.users - 1) / lowest_row.users",
        "utilization *= lowest_row.users / (lowest_row.users + 1)",
        "tests/measure/test_loads.py",
    ),
    Slip(
        "slipstick_measure/loads.py",
        "difference = cycle_time - self.response",
        "difference = cycle_time",
        "tests/measure/test_loads.py",
    ),
    Slip(
        "slipstick_measure/account.py",
        "[1 / time for time in reduced_time.values]",
        "[time for time in reduced_time.values]",
        "tests/measure/test_account.py",
    ),
    Slip(
        "slipstick_measure/account.py",
        "elapsed_time - mean_busy_time - sum(lost_seconds.values())",
        "elapsed_time - mean_busy_time",
        "tests/measure/test_account.py",
    ),
    # studies and their questions
    Slip(
        "slipstick/study/sweep.py",
        "values = [1.0 / value for value in values]",
        "values = [value for value in values]",
        f"{STUDY}/test_axes.py",
    ),
    Slip(
        "slipstick_trends/sample.py",
        "((1 - band) / 2, 0.5, (1 + band) / 2)",
        "(1 - band, 0.5, band)",
        "tests/trends/test_sample.py",
    ),
    Slip(
        "slipstick_trends/sample.py",
        "np.std(values, ddof=1)",
        "np.std(values)",
        "tests/trends/test_sample.py",
    ),
    Slip(
        "slipstick_questions/seek.py",
        "fraction = draw_margins[index] / (draw_margins[index] - draw_margins[index + 1])",
        "fraction = draw_margins[index + 1] / (draw_margins[index + 1] - draw_margins[index])",
        f"{QUESTIONS}/test_seek.py",
    ),
    Slip(
        "slipstick_questions/rank.py",
        "elasticity_slopes.get(path, 0.0) * value / (time_before or 1.0)",
        "elasticity_slopes.get(path, 0.0) / (time_before or 1.0)",
        f"{QUESTIONS}/test_rank.py",
    ),
    Slip(
        "slipstick_questions/choose.py",
        "if value < best",
        "if value <= best",
        f"{QUESTIONS}/test_choose.py",
    ),
    Slip(
        "slipstick_scaling/isoefficiency.py",
        "exponent = work.size / power",
        "exponent = power / work.size",
        "tests/scaling/test_isoefficiency.py",
    ),
    Slip(
        "slipstick_scaling/isoefficiency.py",
        "total_overhead = self.processors * self.time - self.work",
        "total_overhead = self.time - self.work",
        "tests/scaling/test_overhead.py",
    ),
    Slip(
        "slipstick/units.py",
        "factor ** int(power or 1), dimension ** int(power or 1)",
        "factor, dimension ** int(power or 1)",
        "tests/test_units.py",
    ),
    # of 29 November 2026
    Slip(
        "slipstick_measure/fit/growth_bounds.py",
        "* (\n            1 - 1 / throughput_ratio\n        )",
        "* (\n            1 - throughput_ratio\n        )",
        f"{FIT}/test_growth_bounds.py",
    ),
    Slip(
        "slipstick_measure/fit/growth_bounds.py",
        "(1 + cost * pairs_last) / (1 + cost * pairs)",
        "(1 + cost * pairs) / (1 + cost * pairs_last)",
        f"{FIT}/test_growth_bounds.py",
    ),
    Slip(
        "slipstick_measure/fit/growth_bounds.py",
        "compute_bound(log_values - shift, p)) / (2 * step)",
        "compute_bound(log_values - shift, p)) / step",
        f"{FIT}/test_growth_bounds.py",
    ),
    Slip(
        "slipstick_measure/fit/growth_bounds.py",
        "half_distance = (log_p_last - log_p_first) / 2",
        "half_distance = log_p_last - log_p_first",
        f"{FIT}/test_growth_bounds.py",
    ),
    Slip(
        "slipstick_measure/scalability.py",
        "(run_above.size / run_below.size) ** interpolation_weight",
        "(run_above.size / run_below.size) * interpolation_weight",
        "tests/measure/test_scalability.py",
    ),
    Slip(
        "slipstick_measure/scalability.py",
        "(target - value_below) / (value_above - value_below)",
        "(value_above - target) / (value_above - value_below)",
        "tests/measure/test_scalability.py",
    ),
    Slip(
        "slipstick_questions/seek.py",
        "fraction = draw_margins[index] / (draw_margins[index] - draw_margins[index + 1])",
        "fraction = draw_margins[index] / (draw_margins[index] + draw_margins[index + 1])",
        f"{QUESTIONS}/test_seek.py tests/study/test_uncertain.py",
    ),
    Slip(
        "slipstick_questions/seek.py",
        "np.maximum(1.2 * half_widths**2, 2.0)",
        "np.maximum(1.2 * half_widths, 2.0)",
        f"{QUESTIONS}/test_seek.py",
    ),
    # of 30 November 2026
    Slip(
        "slipstick_chains/weighted_sharing.py",
        "servers - (counts * has_server).sum(axis=0)",
        "servers - has_server.sum(axis=0)",
        "tests/method/test_weights.py",
    ),
    Slip(
        "slipstick_chains/weighted_sharing.py",
        "(counts * weights * ~has_server).sum(axis=0)",
        "(counts * weights).sum(axis=0)",
        "tests/method/test_weights.py",
    ),
    Slip(
        "slipstick_chains/breakdowns.py",
        "failure_rate = server_count / (self.every + self.repair)",
        "failure_rate = server_count / self.every",
        "tests/method/test_breakdowns.py",
    ),
    Slip(
        "slipstick_chains/breakdowns.py",
        "return self.every / (self.every + self.repair)",
        "return self.repair / (self.every + self.repair)",
        "tests/method/test_breakdowns.py",
    ),
    Slip(
        "slipstick_measure/fit/posterior.py",
        "(1 - used_degrees_of_freedom / max(row_counts.sum(), 1))",
        "(1 - used_degrees_of_freedom / max(row_counts.sum(), 1) / 2)",
        f"{FIT}/test_estimation.py",
    ),
    Slip(
        "slipstick_measure/fit/posterior.py",
        "stdtrit(degrees_of_freedom, 0.95) / stdtrit(np.inf, 0.95)",
        "stdtrit(np.inf, 0.95) / stdtrit(degrees_of_freedom, 0.95)",
        f"{FIT}/test_estimation.py",
    ),
    Slip(
        "slipstick_measure/growth.py",
        "reference_time * reference_point.p / p",
        "reference_time * p / reference_point.p",
        f"{FIT}/test_rows.py tests/measure/test_account.py tests/measure/commands/test_measured.py",
    ),
    Slip(
        "slipstick_measure/growth.py",
        "(other_size / first_size) ** exponent / (other_count / first_count)",
        "(other_size / first_size) / (other_count / first_count)",
        f"{FIT}/test_rows.py tests/measure/test_account.py tests/measure/commands/test_measured.py",
    ),
    Slip(
        "slipstick/queueing/sojourn_times.py",
        "1 + 2 * waiting_share / (2 - waiting_share)",
        "1 + waiting_share / (2 - waiting_share)",
        f"{QUEUEING}/test_sojourn_times.py",
    ),
    Slip(
        "slipstick/method/networks/form.py",
        "slopes + think_times.imag @ slope_of_think",
        "slopes - think_times.imag @ slope_of_think",
        "tests/method/networks/test_large.py",
    ),
    Slip(
        "slipstick/queueing/bounds.py",
        "all_customers / network.servers)",
        "(all_customers - 1) / network.servers)",
        "tests/queueing/test_bounds.py",
    ),
    Slip(
        "slipstick/phases.py",
        "power * np.linalg.solve(minus_generator",
        "np.linalg.solve(minus_generator",
        "tests/test_random_times.py",
    ),
    Slip(
        "slipstick_chains/schedules.py",
        "on_duty = sum(duration * count",
        "on_duty = sum(count",
        "tests/method/test_schedules.py",
    ),
    Slip(
        "slipstick_rates/series.py",
        "(3 * later_years - earlier_years) / 6",
        "(3 * later_years - earlier_years) / 3",
        "tests/trends",
    ),
    Slip(
        "slipstick_rates/files.py",
        "math.exp2(-_SECONDS_OF_YEAR / spec.halving",
        "math.exp2(_SECONDS_OF_YEAR / spec.halving",
        "tests/schema/kinds/test_trend.py",
    ),
    Slip(
        "slipstick/study/uncertain.py",
        "((values_above + values_below) / 2 - middle_values)",
        "(values_above + values_below - 2 * middle_values)",
        "tests/study/test_uncertain.py",
    ),
    Slip(
        "slipstick_measure/traces/views.py",
        "2 * stage_count * interconnect.hop.value",
        "stage_count * interconnect.hop.value",
        "tests/measure/traces",
    ),
    Slip(
        "slipstick/law/collectives.py",
        "_tree_rounds(p) * (n / 2)",
        "_tree_rounds(p) * n",
        "tests/schema/kinds/test_operations.py",
    ),
    Slip(
        "slipstick/method/bounds.py",
        "+ (total(model.population.processor_counts) - 1) * work_at_queues",
        "+ total(model.population.processor_counts) * work_at_queues",
        "tests/method/test_bounds.py",
    ),
    Slip(
        "slipstick_rounds/groups.py",
        "1 + (size_of_all - 1) * (1 - part_left)",
        "size_of_all * (1 - part_left)",
        "tests/rounds/test_batch_server.py",
    ),
    Slip(
        "slipstick_measure/fit/comparison.py",
        "weights = np.exp(-(criteria - criteria.min()) / 2)",
        "weights = np.exp(-(criteria - criteria.min()))",
        "tests/measure/fit/test_compare.py",
    ),
    Slip(
        "slipstick_measure/fit/comparison.py",
        "tail_probability = (1 + confidence_level) / 2",
        "tail_probability = level",
        "tests/measure/fit/test_compare.py",
    ),
    # modules drawn by the number of their operators, seed 2026120162
    Slip(
        "slipstick_measure/imports/jmt_times.py",
        "variance = deviation**2 * (1 + standard_limit * hazard - hazard**2)",
        "variance = deviation**2 * (1 - standard_limit * hazard - hazard**2)",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_measure/imports/jmt_times.py",
        "row_sums = hidden_rates.sum(axis=1) + observed_rates.sum(axis=1)",
        "row_sums = hidden_rates.sum(axis=1) + observed_rates.sum(axis=0)",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_measure/imports/jmt_times.py",
        "math.fsum((time - mean) ** 2 for time in times) / len(times) / mean**2",
        "math.fsum((time - mean) ** 2 for time in times) / (len(times) - 1) / mean**2",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_measure/fit/loads.py",
        "row.throughput < LEAST_COMPLETED_SHARE * row.rate",
        "row.throughput < LEAST_COMPLETED_SHARE / row.rate",
        "tests/measure/fit",
    ),
    Slip(
        "slipstick_measure/fit/loads.py",
        "is_smaller_load = timings.p < timings.p.max()",
        "is_smaller_load = timings.p <= timings.p.max()",
        "tests/measure/fit",
    ),
    Slip(
        "slipstick_rounds/points.py",
        "else (self.work - self.least) ** 2 / 12",
        "else (self.work - self.least) ** 2 / 4",
        "tests/rounds",
    ),
    Slip(
        "slipstick_rounds/points.py",
        "group_centres = (np.arange(count) + 0.5) / count",
        "group_centres = np.arange(count) / count",
        "tests/rounds",
    ),
    Slip(
        "slipstick_rounds/accounts.py",
        "time_left = times.second_phase - parts_of_plain_rounds.sum(axis=0)",
        "time_left = times.second_phase",
        "tests/rounds",
    ),
    Slip(
        "slipstick_measure/report/estimation.py",
        "coverage = sum(group.coverage * group.rows for group in estimation.groups) / row_count",
        "coverage = sum(group.coverage for group in estimation.groups) / len(estimation.groups)",
        "tests/measure/report",
    ),
    Slip(
        "slipstick_measure/imports/jsim.py",
        "lambda low, high: ((low + high) / 2, ((high - low) / (low + high)) ** 2 / 3)",
        "lambda low, high: ((low + high) / 2, ((high - low) / (low + high)) ** 2 / 12)",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_measure/imports/jsim.py",
        "lambda shape, least: (shape * least / (shape - 1), 1 / (shape * (shape - 2)))",
        "lambda shape, least: (shape * least / (shape - 1), 1 / (shape - 2))",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_scaling/question.py",
        "return 1 - math.log(scalability) / math.log(self.more_processors / self.processors)",
        "return math.log(scalability) / math.log(self.more_processors / self.processors)",
        "tests/scaling",
    ),
    Slip(
        "slipstick_scaling/question.py",
        "least_lost = np.maximum(1.0 - high_efficiency, 0.0)",
        "least_lost = np.maximum(1.0 - low_efficiency, 0.0)",
        "tests/scaling",
    ),
    Slip(
        "slipstick/sim/heavy_traffic.py",
        "NormalDist().inv_cdf(0.5 + level / 2)",
        "NormalDist().inv_cdf(level)",
        "tests/sim",
    ),
    Slip(
        "slipstick/sim/heavy_traffic.py",
        "(arrival_scv + min(scv for scv, _ in scvs_and_labels)) / 2",
        "arrival_scv + min(scv for scv, _ in scvs_and_labels)",
        "tests/sim",
    ),
    Slip(
        "slipstick_measure/report/count_comparison.py",
        "scale = self.larger.processors / self.smaller.processors if self.rate else 1.0",
        "scale = self.smaller.processors / self.larger.processors if self.rate else 1.0",
        "tests/measure/report",
    ),
    Slip(
        "slipstick_measure/report/count_comparison.py",
        "scale * self.smaller.low / self.larger.high",
        "scale * self.smaller.low / self.larger.low",
        "tests/measure/report",
    ),
    Slip(
        "slipstick_measure/imports/loads.py",
        "return 0.0 if is_within else abs(self.value / measured_time - 1)",
        "return 0.0 if is_within else abs(measured_time / self.value - 1)",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_chains/networks/build.py",
        "1.0 - 1.0 / np.where(visit_ratios.real > 1, visit_ratios, 1.0), 0.0",
        "1.0 / np.where(visit_ratios.real > 1, visit_ratios, 1.0), 0.0",
        "tests/method/networks",
    ),
    Slip(
        "slipstick_measure/instrument.py",
        "self.cells[slot + 1] += 1",
        "self.cells[slot + 1] = 1",
        "tests/measure",
    ),
    Slip(
        "slipstick_measure/fit/measured_causes.py",
        '_GrowthForm("log2(p)^2", lambda p: np.log2(p) ** 2)',
        '_GrowthForm("log2(p)^2", lambda p: 2 * np.log2(p))',
        "tests/measure/fit",
    ),
    Slip(
        "slipstick_measure/fit/measured_causes.py",
        "last_seconds >= LEAST_GROWTH * seconds_before",
        "last_seconds >= seconds_before / LEAST_GROWTH",
        "tests/measure/fit",
    ),
    Slip(
        "slipstick/method/identities.py",
        "busy_servers = throughput * demand / speed_alone",
        "busy_servers = throughput * demand",
        "tests/method",
    ),
    Slip(
        "slipstick_questions/conditions.py",
        "low_sides += np.minimum(shifted_sides.min(axis=0), 0.0)",
        "low_sides += shifted_sides.min(axis=0)",
        "tests/study/questions",
    ),
    Slip(
        "slipstick_measure/report/traces.py",
        "np.add.reduceat(np.diff(views.edges), first_windows) * len(views.processors)",
        "np.add.reduceat(np.diff(views.edges), first_windows)",
        "tests/measure/report tests/measure/traces",
    ),
    Slip(
        "slipstick_measure/report/traces.py",
        'np.argsort(-sums, kind="stable")[: limit - 1]',
        'np.argsort(-sums, kind="stable")[:limit]',
        "tests/measure/report tests/measure/traces",
    ),
    Slip(
        "slipstick_measure/imports/percentiles.py",
        "awaited_departures = np.maximum(np.arange(most_others + 1) - station.servers + 1, 0)",
        "awaited_departures = np.maximum(np.arange(most_others + 1) - station.servers, 0)",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_measure/imports/percentiles.py",
        "(1 - load) * argument / (argument - rate + rate * service_transform(argument))",
        "(1 - load) * argument / (argument + rate - rate * service_transform(argument))",
        "tests/measure/imports",
    ),
    Slip(
        "slipstick_chains/activity_chain.py",
        "busy_share - wasted_share",
        "busy_share + wasted_share",
        "tests/method",
    ),
    Slip(
        "slipstick_measure/traces/trace.py",
        "ends=np.minimum(spans.ends - first_time, self.duration)",
        "ends=np.minimum(spans.ends, self.duration)",
        "tests/measure/traces",
    ),
    Slip(
        "slipstick/expression/queue_functions.py",
        "slope = value * (servers / load - 1.0 + value)",
        "slope = value * (servers / load + 1.0 - value)",
        "tests/expression",
    ),
    Slip(
        "slipstick/expression/queue_functions.py",
        "slope_by_services = slope_by_services - term_value * reciprocal_sum",
        "slope_by_services = slope_by_services + term_value * reciprocal_sum",
        "tests/expression",
    ),
    Slip(
        "slipstick_measure/report/measured.py",
        "elif largest_drift > 0:",
        "elif largest_drift < 0:",
        "tests/measure/report",
    ),
    Slip(
        "slipstick/queueing/mixed_classes.py",
        "last_remaining_speed = speed[:, -1:] - load[:, None]",
        "last_remaining_speed = speed[:, -1:]",
        "tests/queueing",
    ),
    Slip(
        "slipstick_mean_value/traversal.py",
        "variance_of_works = branch_count * typical_work.variance / servers**2",
        "variance_of_works = branch_count * typical_work.variance / servers",
        "tests/method/mean_value",
    ),
    Slip(
        "slipstick_mean_value/traversal.py",
        "delay_by_others = typical_work.mean * (branch_count - servers) / servers",
        "delay_by_others = typical_work.mean * branch_count / servers",
        "tests/method/mean_value",
    ),
    Slip(
        "slipstick_workloads/billiards/counts.py",
        "collision_weight = 1 / (len(runs) * collisions_of_run)",
        "collision_weight = 1 / collisions_of_run",
        "tests/workloads",
    ),
    Slip(
        "slipstick/sim/plain/stations.py",
        "self.requested_work -= work - time_left",
        "self.requested_work -= work",
        "tests/sim",
    ),
    Slip(
        "slipstick/queueing/exact.py",
        "waiting_times + (service / share_free_of_higher if discipline.preemptive else service)",
        "waiting_times + (service if discipline.preemptive else service / share_free_of_higher)",
        "tests/queueing",
    ),
    Slip(
        "slipstick_workloads/sharing/raytrace.py",
        '- 2 * np.einsum("ij,ij->i", hit_directions, normals)[:, None] * normals',
        '- np.einsum("ij,ij->i", hit_directions, normals)[:, None] * normals',
        "tests/workloads",
    ),
)


def noticed(slip: Slip, sources: Path) -> str:
    """Return the test that fails with a slip in the sources; empty where all pass."""
    path = sources / slip.module
    text = path.read_text()
    if text.count(slip.before) != 1:
        raise SystemExit(f"{slip.module} has {text.count(slip.before)} times {slip.before!r}")
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
    path.write_text(text.replace(slip.before, slip.after))
    module = slip.module.removesuffix(".py").replace("/", ".")  # for its examples
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    try:
        run = subprocess.run(
            [*command, *slip.tests.split(), "--pyargs", module],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "without an end"
    finally:
        path.write_text(text)
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
    if run.returncode not in (0, 1):
        return f"pytest ended with {run.returncode}: {run.stdout[-300:]}"
    failed_lines = [
        line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
    ]
    return failed_lines[0].split(" - ")[0] if failed_lines else ""


def main() -> int:
    """Try each slip and print what noticed it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="slips whose module has this text")
    parser.add_argument("--first", type=int, default=1, help="number of the first slip")
    parser.add_argument("--short", action="store_true", help="the first slip alone")
    options = parser.parse_args()
    slips = [slip for slip in SLIPS if options.only in slip.module][options.first - 1 :]
    slips = slips[:1] if options.short else slips
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "models"
        shutil.copytree(
            ROOT / "models", sources, ignore=shutil.ignore_patterns("__pycache__", "pictures")
        )
        for shipped in ("specs", "tests", "reports"):  # what a checkout has beside its sources
            (sources.parent / shipped).symlink_to(ROOT / shipped)
        for slip_number, slip in enumerate(slips, options.first):
            by = noticed(slip, sources)
            survivors += [] if by else [slip]
            words = f"by {by}" if by else "SURVIVES"
            print(
                f"{slip_number} {slip.module}: {slip.before} -> {slip.after}: {words}", flush=True
            )
    print(f"{len(slips) - len(survivors)} of {len(slips)} slips noticed")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
