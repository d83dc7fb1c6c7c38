"""Models, answers and laws as equations, in plain text and in LaTeX.

slipstick finds this package by its entry points and imports none of it. `equations` writes the
equations of a model, a network or a law with the meaning of each symbol, `of_methods` those of the
method that gave an answer, `symbols` solves small networks in symbols, and `command` is
``slipstick explain``; `citation` says how to cite a number.
"""

COMMANDS = {"explain": "slipstick_equations.command:explain"}
FUNCTIONS = {
    "citation of a study": "slipstick_equations.citation:study_citation",
    "citation of an answer": "slipstick_equations.citation:answer_citation",
    "equations of an answer": "slipstick_equations.of_methods:answer_equations_latex",
    "equations of a model": "slipstick_equations.of_methods:model_equations_latex",
}
