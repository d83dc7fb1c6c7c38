"""What a what-if study asks of its cases: which change helps most (`rank`), where a condition
begins to be met (`seek`), which values meet conditions at least cost (`choose`), which resource
limits (`bottleneck`), whether methods agree (`agree`).

slipstick finds this package by its entry points and imports none of it. `specs` has the keys,
`agreement` holds methods against each other, `conditions` reads a condition and solves both sides
of it, `trends` puts a case into a year, `without_waiting` has the values that a closed form leaves
out where nothing waits, and `points` has the points of a sweep, which `command` writes to a file.
"""

COMMANDS = {"points": "slipstick_questions.command:points"}
QUESTIONS = {
    "agree": "slipstick_questions.specs:AGREE",
    "bottleneck": "slipstick_questions.specs:BOTTLENECK",
    "choose": "slipstick_questions.specs:CHOOSE",
    "rank": "slipstick_questions.specs:RANK",
    "seek": "slipstick_questions.specs:SEEK",
}
FUNCTIONS = {
    "columns where nothing waits": "slipstick_questions.without_waiting:columns_without_waiting",
    "agreement of answers": "slipstick_questions.agreement:agreement",
    "answers without contradictions": "slipstick_questions.agreement:without_contradictions",
}
