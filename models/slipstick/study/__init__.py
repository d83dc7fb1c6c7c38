"""ONE BASE, MANY QUESTIONS: cases, sweeps, rankings, projections, comparisons.

Why this shape: `run` is the only door. It stages one scene for each case and answers it; `points` lays out what is varied and
carries it out; `questions` holds a module for each further question. Each gives a part of the same `Results`. What a study
says is checked like everything else, at its line (`check`, `names`); `catalogue` and `explain` answer what there is.
"""
