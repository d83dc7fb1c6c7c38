"""Which examples a test tries: a part of the whole, which ``make thorough`` tries."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import TypeVar

PART = float(os.environ.get("SLIPSTICK_EXAMPLES", "0.1"))
"""The part of all examples that is tried."""
TURN = int(os.environ.get("SLIPSTICK_SAMPLE", "0"))
"""The number of the sample: ``make test`` takes the number of commits, so that all cases have their
turn.
"""

T = TypeVar("T")


def examples(whole: int) -> int:
    """Return how many of the examples of a property are tried in this run.

    >>> examples(10) <= 10
    True
    """
    return min(whole, max(10, round(PART * whole)))


def sample(cases: Iterable[T], least: int = 1, part: float = PART, turn: int = TURN) -> list[T]:
    """Return a sample of cases in their order: a part of them, but at least so many.

    >>> sample("abcdefgh", least=2, part=0.25, turn=0)
    ['c', 'd']
    >>> sample("abcdefgh", least=2, part=0.25, turn=1)
    ['e', 'h']
    >>> sample("abc", part=1.0)
    ['a', 'b', 'c']
    """
    whole = list(cases)
    count = min(len(whole), max(least, round(part * len(whole))))
    chosen = Random(len(whole) + turn).sample(range(len(whole)), count)
    return [whole[index] for index in sorted(chosen)]


STEPS = {
    "tests/cli/test_main.py::test_closed_standard_streams_are_no_error": 3,
    "tests/cli/test_main.py::test_help_and_check_load_no_heavy_library": 2,
    (
        "tests/expression/test_special.py"
        "::test_arrays_and_substitution_give_the_bits_of_single_points"
    ): 3,
    (
        "tests/measure/fit/test_answers.py"
        "::test_the_size_needed_has_an_interval_that_holds_the_truth"
    ): 3,
    "tests/measure/fit/test_bootstrap.py::test_intervals_cover_at_the_stated_rate": 3,
    "tests/method/test_every_step.py::test_exact_answers_lie_in_the_interval_of_the_simulation": 3,
    "tests/method/test_names.py::test_every_value_that_is_found_is_listed_with_its_unit": 2,
    "tests/method/test_pairs_of_constructs.py::test_a_pair_is_answered_right_or_refused_by_name": 2,
    "tests/method/test_threads.py::test_the_account_is_that_of_threads": 3,
    "tests/method/networks/test_simulation.py::test_exact_answers_lie_within_the_intervals": 2,
    "tests/report/test_pictures.py::test_hard_lines_are_drawn_without_a_warning": 3,
    "tests/rounds/test_compiled_run.py::test_both_kernels_are_the_same_run": 2,
    "tests/schema/test_crosses.py::test_each_question_about_each_kind_of_model": 3,
    "tests/schema/test_dump.py::test_a_shipped_activity_answers_the_same_from_a_file": 2,
    "tests/schema/test_editor.py::test_every_shipped_spec_is_valid_in_an_editor": 2,
    (
        "tests/study/test_default_method.py"
        "::test_no_row_of_a_shipped_model_is_out_of_its_bounds_without_a_mark"
    ): 2,
    "tests/study/test_reading.py::test_check_and_solving_agree_about_generated_specs": 3,
    "tests/test_random_times.py::test_pipelines_alone": 3,
    "tests/test_random_times.py::test_times_of_one_distribution": 3,
    (
        "tests/workloads/application/test_programs.py"
        "::test_shipped_counts_are_what_their_command_gives"
    ): 2,
    (
        "tests/workloads/billiards/test_scalability.py"
        "::test_memory_scales_better_than_efficiency_and_time_better_than_both"
    ): 3,
    (
        "tests/workloads/billiards/test_scalability.py"
        "::test_four_to_thirty_two_beside_the_printed_cell"
    ): 2,
    (
        "tests/workloads/dvsm/test_dvsm_protocol.py"
        "::test_an_exchange_takes_as_long_as_the_tree_says"
    ): 4,
    (
        "tests/workloads/unit_grains/test_phases.py"
        "::test_each_phase_takes_the_time_of_its_grain_among_its_competitors"
    ): 2,
    "tests/house/test_specs.py::test_a_report_is_current": 2,
    (
        "tests/house/test_specs.py"
        "::test_a_report_that_takes_long_has_its_inputs_and_a_sample_of_its_cells"
    ): 3,
    "tests/method/test_breakers.py::test_the_chain_of_several_customers_equals_simulation": 2,
    (
        "tests/study/test_explain.py"
        "::test_an_explanation_compiles_and_expands_nothing_beyond_what_it_prints"
    ): 3,
    "tests/test_benchmarks.py::test_a_program_runs_in_its_short_form": 2,
    "tests/test_documentation.py::test_a_page_shows_what_its_commands_print_today": 2,
    "tests/workloads/application/test_model.py::test_three_roads_agree": 2,
    (
        "tests/measure/fit/test_compare.py"
        "::test_a_curve_is_preferred_where_it_is_right_and_the_queue_is_not"
    ): 2,
    (
        "tests/measure/fit/test_compare.py"
        "::test_the_truth_is_among_the_families_that_noisy_data_leave"
    ): 2,
    "tests/measure/fit/test_load_fits.py::test_a_known_station_is_found": 2,
    (
        "tests/method/mean_value/test_large_populations.py"
        "::test_the_last_processors_one_by_one_give_the_time_of_all_one_by_one"
    ): 2,
    (
        "tests/model/test_lowering.py"
        "::test_routes_between_classes_are_choices_and_geometric_repetitions"
    ): 4,
    "tests/queueing/test_exact.py::test_equals_the_sum_over_all_states": 2,
    "tests/workloads/dvsm/test_dvsm_protocol.py::test_the_delay_of_an_exchange_is_predicted": 2,
}
"""Tests whose cases show the same and take long together: one of so many is tried, and all by
``make thorough``."""


def tried_cases(names: Iterable[str], part: float = PART, turn: int = TURN) -> list[bool]:
    """Return which cases are tried, by the names that pytest gives them.

    >>> test, step = next(iter(STEPS.items()))
    >>> names = [f"{test}[{case}]" for case in "abcd"] + ["another[a]"]
    >>> tried_cases(names, part=0.1, turn=0)
    [True, False, False, True, True]
    >>> tried_cases(names, part=0.1, turn=1)
    [False, True, False, False, True]
    """
    tests = [name.partition("[")[0] for name in names]
    counts = Counter(tests)
    seen = Counter[str]()
    tried = []
    for test in tests:
        step = STEPS.get(test, 1)
        first_case = turn % min(step, counts[test])
        tried.append(part >= 1 or seen[test] % step == first_case)
        seen[test] += 1
    return tried
