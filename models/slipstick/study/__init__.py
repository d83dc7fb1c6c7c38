"""ONE BASE, MANY QUESTIONS: cases, sweeps, rankings, comparisons.

Why this shape: `run.run` is the only door. It stages one scene for each case (`cases`), answers it, varies it
(`axes`, `sweep`), asks what would help most (`rank`), how large it must be on more processors (`scale`), and holds
it against published values (`compare`); each gives a part of the same `Results`. What a study says is checked like everything else, at its line.
"""
