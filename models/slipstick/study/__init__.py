"""ONE BASE, MANY QUESTIONS: cases, sweeps, rankings, projections, comparisons.

Why this shape: `cases` reads what a study writes down, `sweep` plans and solves points, `evaluator` is one case at any values
of its parameters, `questions` holds a module for each further question, and `run` puts them together into `Results`. `solve`
answers for one model; `check` checks files without solving; `catalogue` and `explain` say what there is.

A question is added by three modules and one line: its spec class and its key in `slipstick.schema.kinds.study.QUESTIONS`, a
module of `slipstick.study.questions` named as the key, with a function `read` that gives a `Question`, and one of
`slipstick.report.questions` with its `QuestionResult`. `bottleneck` is a short example.
"""
