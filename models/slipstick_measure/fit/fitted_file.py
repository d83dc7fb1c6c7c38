"""A fit written as a file, for answers that carry it on."""

from __future__ import annotations

from typing import Any

import yaml

from slipstick_measure.results import Estimation

DIGITS = 6
"""More would differ from machine to machine."""


def fitted_document(found: Estimation) -> dict[str, Any]:
    """Return a fit as plain data of the kind ``fitted``.

    Parameters
    ----------
    found : the estimation
    """

    def amount(value: float, unit: str) -> str | float:
        number = float(f"{value:.{DIGITS}g}")
        return number if unit == "1" else f"{number!r} {unit}"

    def rounded(value: float) -> float:
        return float(f"{value:.{DIGITS}g}")

    document: dict[str, Any] = {
        "fitted": 1,
        "title": f"{found.model} fitted to {found.rows} rows of {', '.join(found.measured)}",
        "source": found.source,
        "model": found.model,
        "rows": found.rows,
        "parameters": {
            each.path: {
                "value": amount(each.value, each.unit),
                "low": amount(each.low, each.unit),
                "high": amount(each.high, each.unit),
            }
            for each in found.parameters
        },
        "unknowns": list(found.names),
        "centre": [rounded(each) for each in found.centre],
        "covariance": [[rounded(each) for each in row] for row in found.covariance],
        "noise": {
            name: rounded(each) for name, each in zip(found.measured, found.noise, strict=True)
        },
    }
    if found.spread:
        document["spread"] = {name: rounded(each) for name, each in found.spread.items()}
    if found.widened > 1:
        document["widened"] = rounded(found.widened)
    return document


def fitted_text(found: Estimation) -> str:
    """Write a fit as YAML."""
    return str(
        yaml.safe_dump(fitted_document(found), sort_keys=False, width=140, default_flow_style=None)
    )
