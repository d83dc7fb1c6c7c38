"""ONE BASE, MANY QUESTIONS: cases, sweeps, rankings, projections, comparisons.

Why this shape: `cases` reads what a study writes down, `sweep` plans and solves points, `evaluator`
is one case at any values of its parameters, `questions` reads each further question,
and `run` puts them together into `Results`. `points` are what an `engine` solves here or in other
processes, and a `journal` stores them for a later run. `uncertain` widens answers by settings that
are not known exactly. `check` checks files without solving; `catalogue` says what there is, and
explains it.

A question is added by entry points: its spec class and key, a `QuestionKey`, and a module with a
function `read` that gives a `Question` and the `QuestionResult` that it solves to. The module
`agree` of `slipstick_questions` is a short example; see `slipstick.extensions`.
"""
