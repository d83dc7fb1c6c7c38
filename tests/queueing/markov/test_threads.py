"""Threads on cores with one lock: special cases that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import ModelError
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from tests.queueing.markov.threads import threads


@pytest.mark.parametrize("spin", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_with_a_core_each_the_lock_is_a_queue(count: int, spin: bool) -> None:
    found = threads(count, count, 9.0, 1.0, quantum=0.1, spin=spin)
    queue = exact(network_arrays([1.0], population=count, think=9.0))
    assert found.throughput == pytest.approx(queue.throughput.item(), rel=1e-10)
    assert found.waiting + found.holding == pytest.approx(queue.queue.item(), rel=1e-10)
    assert found.stranded == pytest.approx(0.0)


def test_two_threads_on_one_core_without_much_locking_share_it() -> None:
    found = threads(2, 1, 1.0, 1e-9, quantum=1.0)
    assert found.throughput == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_sleeping_loses_no_core_while_there_is_work_but_spinning_does(cores: int) -> None:
    asleep = threads(6, cores, 2.0, 1.0, quantum=0.5)
    awake = threads(6, cores, 2.0, 1.0, quantum=0.5, spin=True)
    assert asleep.spinning == 0
    assert awake.idle == pytest.approx(0.0, abs=1e-12)
    assert awake.throughput.real < asleep.throughput.real
    assert awake.stranded.real > 0


def test_one_core_is_never_idle_and_its_work_is_conserved() -> None:
    # One core that is always busy does 1 / (work + critical) sections a second, whoever holds the
    # lock.
    found = threads(4, 1, 3.0, 1.0, quantum=0.7)
    assert found.throughput == pytest.approx(1 / 4.0, rel=1e-10)


@given(st.integers(1, 6), st.integers(1, 4), st.floats(0.1, 20.0), st.booleans())
def test_every_core_and_every_section_is_accounted_for(
    count: int, cores: int, work: float, spin: bool
) -> None:
    found = threads(count, cores, work, 1.0, quantum=0.5, spin=spin)
    parts = np.array([found.working, found.spinning, found.holding, found.idle])
    assert (parts >= -1e-12).all()
    assert parts.sum() == pytest.approx(cores)
    assert found.working == pytest.approx(found.throughput * work, rel=1e-9)


def test_the_throughput_has_its_derivative() -> None:
    slope = threads(3, 2, 2.0, 1.0 + 1e-30j, quantum=0.5).throughput.imag / 1e-30
    near = [
        complex(threads(3, 2, 2.0, 1.0 + h, quantum=0.5).throughput).real for h in (1e-5, -1e-5)
    ]
    assert slope == pytest.approx((near[0] - near[1]) / 2e-5, rel=1e-6)


def test_threads_out_of_range_are_named() -> None:
    with pytest.raises(ModelError, match="threads and cores must be at least 1, got 0 and 1"):
        threads(0, 1, 1.0, 1.0, quantum=1.0)
    with pytest.raises(
        ModelError, match=r"the time slice of threads must take a finite time above 0 s, got 0\.0"
    ):
        threads(1, 1, 1.0, 1.0, quantum=0.0)
