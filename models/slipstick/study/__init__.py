"""ONE BASE, MANY QUESTIONS: cases, sweeps, rankings, projections, comparisons.

Why this shape: `cases` reads what a study writes down, `sweep` plans and solves points, `evaluator`
is one case at any values of its parameters, `questions` holds a module for each further question,
and `run` puts them together into `Results`. `check` checks files without solving; `catalogue` says
what there is, and explains it.

A question is added by two modules: its spec class and its key in
`slipstick.schema.kinds.study.QUESTIONS`, and a module of `slipstick.study.questions` named as the
key, with a function `read` that gives a `Question` and the `QuestionResult` that it solves to.
`agree` is a short example. Other packages add questions by entry points; see
`slipstick.extensions`.
"""
