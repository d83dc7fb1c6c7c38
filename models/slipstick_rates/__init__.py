"""Rates at which computers improve: trends as files, series of measured points, and machines in
another year.

slipstick finds this package by its entry points and imports none of it. `files` checks trends,
with `distributions` of rates that are not known exactly, and reads tables of points; `series` fits
a rate to points, `trend` follows rates from year to year, and `machine_years` takes a machine along
a trend. What studies ask of trends is in `slipstick_trends`.
"""

from slipstick.extensions import SpecKind

KINDS = {
    "trend": SpecKind(
        "trends",
        "slipstick_rates.files:TrendSpec",
        "milestones",
        reader="slipstick_rates.files:with_points",
    )
}
FUNCTIONS = {"machine of a year": "slipstick_rates.machine_years:machine_of_a_year"}
