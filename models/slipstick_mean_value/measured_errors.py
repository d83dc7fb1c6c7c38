"""Errors of mean value analysis as they were measured, by what the models have.

Measured by ``python benchmarks/mean_value.py --models 20``: 40 generated models for each entry,
whose times are compared with exact Markov chains or with simulations. A model follows from the name
of the row, the scv and a number, 10000 to 10019 or 20000 to 20019; no rule was chosen with these
models. Rows of 25 to 30 November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping

from slipstick.vocabulary import GEOMETRIC_COUNT, SEVERAL_STREAMS, STREAMS, UNLIMITED

Errors = tuple[float, float, int]
"""The median, the 95th percentile and the largest error of the time [%]."""

MEASURED_SCVS = (0.25, 1.0, 4.0, 0.0)
"""Squared coefficient of variation of all times of the models of a column [1]."""

ALL = "all above"
"""The name of the row of errors over all models of the rows above it."""

MEASURED_ERRORS: Mapping[str, tuple[Errors, ...]] = {
    "stations": ((0.3, 1.5, 4), (0.2, 0.3, 1), (0.6, 3.8, 6), (0.0, 26.4, 47)),
    "choices and repeats": ((0.3, 1.9, 3), (0.2, 0.6, 1), (0.3, 2.2, 3), (0.1, 6.2, 18)),
    "locks": ((0.4, 1.3, 2), (0.1, 0.4, 1), (0.4, 3.1, 4), (0.0, 0.0, 0)),
    "nested locks": ((0.8, 6.6, 9), (0.6, 10.6, 18), (1.1, 10.6, 19), (0.5, 21.6, 24)),
    "spin locks": ((0.3, 0.8, 1), (0.2, 2.4, 5), (0.6, 5.2, 10), (0.4, 44.6, 112)),
    "reader-writer locks": ((0.5, 4.7, 32), (0.3, 3.4, 6), (1.5, 6.0, 9), (3.8, 34.1, 44)),
    "reader-writer locks of many": (
        (0.6, 5.0, 11),
        (0.3, 2.9, 22),
        (1.3, 11.4, 23),
        (1.6, 52.5, 73),
    ),
    "stations in locks": ((0.5, 6.8, 12), (0.2, 1.6, 5), (0.7, 3.8, 12), (0.0, 11.5, 21)),
    "permits": ((0.3, 2.9, 9), (0.2, 1.4, 5), (0.3, 3.3, 7), (0.0, 2.2, 5)),
    "layered permits": ((0.3, 0.5, 1), (0.2, 1.1, 1), (0.2, 1.6, 8), (0.0, 6.7, 26)),
    "forks": ((0.3, 4.8, 6), (0.2, 2.7, 6), (0.6, 4.2, 6), (0.0, 27.9, 39)),
    "pipelines": ((0.4, 4.3, 5), (0.4, 1.6, 6), (0.7, 5.5, 14), (0.0, 24.0, 28)),
    "barriers": ((0.3, 1.7, 4), (0.4, 2.1, 2), (0.8, 5.1, 7), (0.0, 1.4, 5)),
    "phases": ((0.5, 3.5, 8), (0.6, 2.9, 5), (1.8, 5.6, 8), (0.0, 8.5, 11)),
    "arrivals at stations": ((0.5, 3.2, 4), (0.4, 2.0, 3), (2.2, 8.9, 9), (0.4, 2.4, 4)),
    "arrivals at locks and forks": (
        (1.1, 16.9, 30),
        (1.4, 11.5, 34),
        (4.8, 62.3, 106),
        (0.9, 19.3, 37),
    ),
    "streams at stations": ((0.5, 7.5, 11), (1.1, 7.3, 14), (3.3, 15.1, 37), (0.6, 19.3, 26)),
    "arrivals beside processors": (
        (2.0, 10.3, 13),
        (1.7, 8.2, 11),
        (4.6, 29.6, 57),
        (3.4, 28.4, 64),
    ),
    "groups": ((0.4, 3.9, 10), (0.4, 6.6, 8), (0.7, 4.3, 9), (3.7, 25.1, 43)),
    "all together": ((0.7, 6.0, 14), (0.5, 5.9, 19), (1.2, 6.3, 9), (0.5, 13.1, 25)),
    ALL: ((0.4, 5.2, 30), (0.3, 4.2, 34), (0.8, 8.4, 106), (0.0, 19.3, 112)),
    "geometric counts": ((0.2, 2.1, 3), (0.2, 0.8, 1), (0.4, 3.3, 5), (0.2, 5.1, 12)),
    "infinite servers": ((0.2, 1.1, 4), (0.1, 0.5, 1), (0.2, 1.2, 1), (4.2, 32.3, 48)),
}
"""By row, the errors at each scv of `MEASURED_SCVS`."""

ROW_BY_CONSTRUCT = {
    GEOMETRIC_COUNT: "geometric counts",
    UNLIMITED: "infinite servers",
    STREAMS: "arrivals beside processors",
    SEVERAL_STREAMS: "streams at stations",
}
"""The row with the errors of each construct that mean value knows."""
