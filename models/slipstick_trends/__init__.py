"""Years ahead along trends, and samples of uncertain quantities.

slipstick finds this package by its entry points and imports none of it. `project` follows the cases
of a study along trends, `ahead` says what changes between them, `pictures` draws them, and `sample`
draws uncertain quantities; `command` fits the rates of trends to points, which `fit_tables` lays
out, and `specs` has the keys of a study.
"""

COMMANDS = {"trend": "slipstick_trends.command:trend"}
QUESTIONS = {
    "project": "slipstick_trends.specs:PROJECT",
    "sample": "slipstick_trends.specs:SAMPLE",
}
