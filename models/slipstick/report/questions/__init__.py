"""Results of questions, one module for each, named as the key of the question in a study.

Why this shape: a module holds the data of a result, and one class derived from `slipstick.results.study.QuestionResult` that
writes them as a section of the page, lines for the terminal, JSON, columns of results.csv and pictures. Pages, tables and
commands loop over results without naming a question. The solver is in the module of `slipstick.study.questions` of the same
name, which imports this one.
"""
