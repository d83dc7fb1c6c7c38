"""A run of the tests that takes a sample stays short on every machine: families of many cases take
turns, and cases are few.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.examples import PART

MOST_CASES_OF_A_TEST = 100
"""Put the rows of a longer table into one test that lists those that fail, or mark the test
`turns(n)`.
"""

MOST_CASES = 9000
"""In a sample. A case takes 50 ms of processor time in the mean, so that they take 450 s."""


@pytest.mark.skipif(PART >= 1, reason="all cases are tried")
def test_a_sample_has_few_cases(request: pytest.FixtureRequest) -> None:
    cases = Counter(item.nodeid.partition("[")[0] for item in request.session.items)
    assert {test: count for test, count in cases.items() if count > MOST_CASES_OF_A_TEST} == {}
    assert cases.total() <= MOST_CASES
