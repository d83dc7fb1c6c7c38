"""A run of the tests that takes a sample stays short on every machine: families of many cases take
turns, and cases are few.
"""

from __future__ import annotations

import pytest

from tests.conftest import MOST_CASES_IN_A_SAMPLE
from tests.examples import PART

MOST_CASES_OF_A_TEST = 100
"""Put the rows of a longer table into one test that lists those that fail, or mark the test
`turns(n)`.
"""

MOST_CASES = 9000
"""In a sample. A case takes 50 ms of processor time in the mean, so that they take 450 s."""


@pytest.mark.skipif(PART >= 1, reason="all cases are tried")
def test_a_sample_has_few_cases(request: pytest.FixtureRequest) -> None:
    cases = request.config.stash[MOST_CASES_IN_A_SAMPLE]
    assert {test: count for test, count in cases.items() if count > MOST_CASES_OF_A_TEST} == {}
    assert len(request.session.items) <= MOST_CASES
