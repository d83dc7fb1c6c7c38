"""A fit written as a file, for answers that carry it on."""

from __future__ import annotations

from typing import Any

import yaml

from slipstick_measure.results import Estimation

SIGNIFICANT_DIGITS = 6
"""Digits of the numbers in the file; more would differ from machine to machine."""


def fitted_document(estimation: Estimation) -> dict[str, Any]:
    """Return an estimation as the plain data of a file of the kind ``fitted``.

    Parameters
    ----------
    estimation : the estimation
    """

    def written_quantity(value: float, unit: str) -> str | float:
        rounded_value = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return rounded_value if unit == "1" else f"{rounded_value!r} {unit}"

    def rounded_number(value: float) -> float:
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")

    measured_names = ", ".join(estimation.measured)
    document: dict[str, Any] = {
        "fitted": 1,
        "title": f"{estimation.model} fitted to {estimation.rows} rows of {measured_names}",
        "source": estimation.source,
        "model": estimation.model,
        "rows": estimation.rows,
        "parameters": {
            parameter.path: {
                "value": written_quantity(parameter.value, parameter.unit),
                "low": written_quantity(parameter.low, parameter.unit),
                "high": written_quantity(parameter.high, parameter.unit),
            }
            for parameter in estimation.parameters
        },
        "unknowns": list(estimation.names),
        "centre": [rounded_number(value) for value in estimation.centre],
        "covariance": [[rounded_number(value) for value in row] for row in estimation.covariance],
        "noise": {
            name: rounded_number(value * estimation.widened)
            for name, value in zip(estimation.measured, estimation.noise, strict=True)
        },
    }
    if estimation.spread:
        document["spread"] = {
            name: rounded_number(value) for name, value in estimation.spread.items()
        }
    if estimation.widened > 1:
        document["widened"] = rounded_number(estimation.widened)
    return document


def fitted_text(estimation: Estimation) -> str:
    """Return an estimation as the YAML text of a file of the kind ``fitted``."""
    return str(
        yaml.safe_dump(
            fitted_document(estimation), sort_keys=False, width=140, default_flow_style=None
        )
    )
