"""The paths through an omega network, against what Lawrie shows of it (IEEE Transactions on
Computers C-24(12), 1975): shifts pass without a conflict, the reversal of digits does not.
"""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.model.machine import omega_outputs

NETWORKS = [(2, 3), (2, 4), (4, 2), (3, 3)]


@pytest.mark.parametrize(("radix", "stages"), NETWORKS)
def test_requests_that_are_shifted_alike_never_share_an_output(radix: int, stages: int) -> None:
    count = radix**stages
    source = np.arange(count)
    for shift in range(count):
        outputs = omega_outputs(radix, stages, source, (source + shift) % count)
        assert list(outputs) == [*(f"stage {i}" for i in range(1, stages)), "module"]
        for lines in outputs.values():
            assert sorted(lines.tolist()) == list(range(count))


@pytest.mark.parametrize(("radix", "stages"), NETWORKS)
def test_a_stage_shuffles_the_line_and_puts_a_digit_of_the_destination_last(
    radix: int, stages: int
) -> None:
    """Step by step, as the switches do, in place of the formula."""
    count = radix**stages
    for source in range(count):
        for target in range(count):
            line, outputs = source, omega_outputs(radix, stages, source, target)
            for stage, output in enumerate(outputs.values(), 1):
                first, rest = divmod(line, count // radix)
                shuffled = rest * radix + first
                digit = target // radix ** (stages - stage) % radix
                line = shuffled - shuffled % radix + digit
                assert output == line
            assert line == target


def test_the_reversal_of_digits_meets_conflicts() -> None:
    source = np.arange(8)
    reverse = np.array([int(f"{number:03b}"[::-1], 2) for number in source])
    stages = omega_outputs(2, 3, source, reverse)
    assert len(set(stages["stage 1"].tolist())) == 4
    assert len(set(stages["module"].tolist())) == 8
