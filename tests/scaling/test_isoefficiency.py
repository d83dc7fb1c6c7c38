"""Isoefficiency beside the published orders, and beside putting the size it gives back into the
efficiency.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from slipstick.errors import ModelError
from slipstick_laws.scalability import EFFICIENCY_FROM_LATENCY, ISOEFFICIENCY_WORK
from slipstick_scaling.isoefficiency import Isoefficiency, Run, isoefficiency

n, N = sympy.symbols("n N", positive=True)
START, WORD, STEP = sympy.symbols("t_s t_w t_c", positive=True)
TIMES = {START: 25.0, WORD: 4.0, STEP: 2.0}
FEW = np.array([4.0, 16.0, 64.0, 1024.0])


def log2(x: Any) -> Any:
    return sympy.log(x, 2)


def third(times: int) -> Any:
    return sympy.Rational(times, 3)


def run(time: Any, work: Any) -> Run:
    return Run(time, work, n, N, TIMES)


SUMS = run(n / N + 2 * log2(N), n)
FFT_WORK = STEP * n * log2(n)
FFT_HYPERCUBE = run(FFT_WORK / N + START * log2(N) + WORD * n / N * log2(N), FFT_WORK)
FFT_MESH = run(FFT_WORK / N + START * log2(N) + WORD * n / sympy.sqrt(N), FFT_WORK)
CUBE = STEP * n**3
CANNON = run(CUBE / N + 2 * sympy.sqrt(N) * START + 2 * WORD * n**2 / sympy.sqrt(N), CUBE)
SIMPLE = run(CUBE / N + START * log2(N) + 2 * WORD * n**2 / sympy.sqrt(N), CUBE)
GUPTA_KUMAR = run(
    CUBE / N + third(5) * START * log2(N) + third(5) * WORD * n**2 * log2(N) / N ** third(2), CUBE
)

# Grama, Gupta and Kumar, IEEE Parallel & Distributed Technology 1(3), 1993 (sums, FFT); Gupta and
# Kumar, ICPP 1993 (matrix multiplication: simple and Cannon's on hypercube and mesh, and their own
# on the hypercube).
ORDERS = {
    "adding numbers": (SUMS, N * sympy.log(N)),
    "FFT on a hypercube, wide": (FFT_HYPERCUBE, N**2 * sympy.log(N)),
    "FFT on a mesh": (
        FFT_MESH,
        sympy.sqrt(N) * sympy.exp(2 * sympy.log(2).evalf(4) * sympy.sqrt(N)),
    ),
    "Cannon": (CANNON, N ** sympy.Rational(3, 2)),
    "simple, on a hypercube": (SIMPLE, N ** sympy.Rational(3, 2)),
    "Gupta and Kumar": (GUPTA_KUMAR, N * sympy.log(N) ** 3),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize(("sample", "order"), ORDERS.values(), ids=ORDERS)
def test_the_order_is_the_published_one(sample: Run, order: Any) -> None:
    found = isoefficiency(sample, 0.5).order
    assert float((found / order).subs(N, 1e4).evalf()) == pytest.approx(1.0, rel=1e-2)
    assert float((found / order).subs(N, 1e6).evalf()) == pytest.approx(1.0, rel=1e-1)


def test_the_fft_on_a_hypercube_turns_from_n_log_n_to_a_power_at_a_threshold() -> None:
    # K t_w = t_c, that is E = t_c / (t_c + t_w): below it the start-up term asks for more.
    assert isoefficiency(FFT_HYPERCUBE, 0.2).order == N * sympy.log(N)
    assert isoefficiency(FFT_HYPERCUBE, 1 / 3 - 1e-3).order == N * sympy.log(N)
    assert isoefficiency(FFT_HYPERCUBE, 0.6).order == N**3 * sympy.log(N)


@pytest.mark.turns(4)
@pytest.mark.parametrize("sample", [each for each, _ in ORDERS.values()], ids=ORDERS)
@pytest.mark.parametrize("efficiency", [0.3, 0.7])
def test_the_size_it_gives_has_the_efficiency(sample: Run, efficiency: float) -> None:
    found = isoefficiency(sample, efficiency)
    sizes, latency = found.size(FEW), sample.overhead / N
    for size, count, work in zip(sizes, FEW, found.work(FEW), strict=True):
        at = {n: size, N: count, **TIMES}
        if np.isfinite(size):
            reached = EFFICIENCY_FROM_LATENCY(
                processors=count, work=work, operation=1.0, latency=float(latency.subs(at).evalf())
            )
            assert reached == pytest.approx(efficiency, rel=1e-9)
    assert np.isfinite(sizes[:3]).all()


def test_adding_numbers_gives_the_papers_sizes() -> None:
    # Table of Grama, Gupta and Kumar: E = 0.8 at n = 64, 192 and 512 on 4, 8 and 16 processors.
    found = isoefficiency(SUMS, 0.8)
    assert found.work(np.array([4.0, 8.0, 16.0])) == pytest.approx([64.0, 192.0, 512.0])
    overhead = float(SUMS.overhead.subs(N, 16).evalf())
    assert ISOEFFICIENCY_WORK(efficiency=0.8, overhead=overhead, operation=1.0) == pytest.approx(
        512.0
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "sample",
    [
        SUMS,
        run(n**2 / N + START * n / sympy.sqrt(N) + START, n**2),
        run(n**3 / N + WORD * n**2 * log2(N) / N, n**3),
    ],
)
def test_an_exact_solution_is_what_root_finding_finds(sample: Run) -> None:
    found = isoefficiency(sample, 0.6)
    assert found.exact is not None
    exact = [
        float(found.exact.subs({**TIMES, ratio(found): found.ratio, N: count}).evalf())
        for count in FEW
    ]
    assert found.work(FEW) == pytest.approx(exact, rel=1e-9)


def ratio(found: Isoefficiency) -> Any:
    return next(each for each in found.exact.free_symbols if str(each) == "efficiency_ratio")


def test_where_there_is_no_simple_solution_none_is_given() -> None:
    assert isoefficiency(CANNON, 0.5).exact is None
    assert isoefficiency(FFT_HYPERCUBE, 0.5).exact is None


@pytest.mark.turns(4)
def test_each_needs_work_is_what_that_term_alone_asks_for() -> None:
    for need in isoefficiency(CANNON, 0.5).needs:
        alone = isoefficiency(Run(CUBE / N + need.term.expression / N, CUBE, n, N, TIMES), 0.5)
        said = [
            float(
                need.work.subs(
                    {**TIMES, sympy.Symbol("efficiency_ratio", positive=True): 1.0, N: p}
                )
            )
            for p in FEW
        ]
        assert alone.work(FEW) == pytest.approx(said, rel=1e-9)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("logs", "within"), [(1, 0.3), (2, 0.6)])
def test_a_term_with_another_logarithm_than_the_work_has_its_leading_part(
    logs: int, within: float
) -> None:
    # n log^k n = K n^(1/2) N: the exact size against the leading part, whose ratio tends to 1 as
    # the logarithm of N does.
    work = STEP * n * log2(n) ** logs
    found = isoefficiency(run(work / N + WORD * sympy.sqrt(n), work), 0.5)
    (need,) = found.needs
    assert not need.exact
    assert float((found.order / (N**2 / sympy.log(N) ** logs)).subs(N, 1e5)) == pytest.approx(1.0)
    large = np.array([1e4, 1e8, 1e16])
    numbers = {**TIMES, sympy.Symbol("efficiency_ratio", positive=True): 1.0}
    leading = np.array([float(need.work.subs({**numbers, N: each}).evalf()) for each in large])
    gap = np.abs(np.log(found.work(large) / leading))
    assert gap[0] > gap[1] > gap[2]
    assert gap[2] < within


@pytest.mark.turns(4)
def test_the_reigning_term_asks_for_the_most_on_both_sides_of_where_it_changes() -> None:
    first, second = isoefficiency(FFT_HYPERCUBE, 0.5).dominant_terms
    assert (first.since, second.term) == (2.0, WORD * n * log2(N))
    # K = 1: t_s N log N = t_w N^2 log N, the work of the second, at N = t_s / t_w.
    assert second.since == pytest.approx(25 / 4)


def test_what_grows_as_fast_as_the_work_is_said_not_to_scale() -> None:
    found = isoefficiency(run(STEP * n / N + STEP * n * sympy.Rational(1, 100), STEP * n), 0.5)
    assert found.order is None
    assert found.exact is None
    assert found.dominant_terms == ()
    # Amdahl: E = 1 / (1 + 0.01 N) for any size.
    assert (
        found.limit
        == "N*n*t_c/100 grows with n as fast as the work, so a larger size cannot pay for it: "
        "no size reaches 0.5 on more than 100"
    )
    assert np.isnan(found.size(FEW)).all()


@pytest.mark.turns(4)
def test_a_constant_share_bounds_the_efficiency() -> None:
    sample = run(STEP * n / N + STEP * n / N / 4 + START, STEP * n)
    assert isoefficiency(sample, 0.7).order == N
    assert (
        isoefficiency(sample, 0.9).limit
        == "n*t_c/4 grows with n as fast as the work, and so bounds the efficiency whatever the"
        " size: it stays under 0.8"
    )
    assert np.isfinite(isoefficiency(sample, 0.7).size(FEW)).all()
    assert np.isnan(isoefficiency(sample, 0.9).size(FEW)).all()


def test_terms_that_grow_as_the_work_bound_the_processors_together() -> None:
    # At N = 10, K = 1 the overhead's shares are 0.9 from the first and 0.1 from the second.
    together = STEP * n * (sympy.Rational(9, 100) + sympy.Rational(1, 1000) * N)
    assert isoefficiency(run(STEP * n / N + together, STEP * n), 0.5).limit.endswith(
        "no size reaches 0.5 on more than 10"
    )  # 0.09 N + 0.001 N^2 = 1
    assert (
        "no size reaches"
        not in isoefficiency(run(STEP * n / N + together + WORD * n**2, STEP * n), 0.5).limit
    )


def test_a_term_that_grows_faster_but_not_with_the_processors_leaves_room() -> None:
    # n <= 100 t_c / t_w keeps half the efficiency on any number of processors.
    fixed = isoefficiency(run(STEP * n / N + WORD * n**2 / N / 100, STEP * n), 0.5)
    assert fixed.limit == ""
    assert (fixed.order, fixed.dominant_terms) == (1, ())


def test_what_grows_faster_than_the_work_is_said_so() -> None:
    limit = isoefficiency(run(STEP * n / N + WORD * n**2, STEP * n), 0.5).limit
    assert (
        limit == "N*n**2*t_w grows with n faster than the work, so a larger size cannot pay for it"
    )


def test_a_negative_term_is_a_gain_and_asks_for_nothing() -> None:
    found = isoefficiency(run(STEP * n / N + WORD * log2(n / N) + WORD * 10, STEP * n), 0.5)
    assert [str(each.expression) for each in found.gains] == ["-N*t_w*log(N)/log(2)"]
    assert len(found.needs) == 2


WRONG = [
    (SUMS, 1.0, "an efficiency to keep lies between 0 and 1; got 1"),
    (SUMS, 0.0, "an efficiency to keep lies between 0 and 1; got 0"),
    (Run(STEP * n / N + START, STEP * n, n, N), 0.5, "an isoefficiency needs a value for t_c, t_s"),
    (
        run(n / N + sympy.sqrt(n + N), n),
        0.5,
        "N*sqrt(N + n) is no product of powers and logarithms of n and N",
    ),
]


@pytest.mark.parametrize(("sample", "efficiency", "words"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_solved_is_refused(sample: Run, efficiency: float, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        isoefficiency(sample, efficiency)
    assert str(caught.value) == words
