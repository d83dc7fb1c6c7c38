"""Models, answers and laws as equations, in plain text and in LaTeX.

slipstick finds this package by its entry points and imports none of it. `equations` writes the
equations of a model, a network or a law with the meaning of each symbol, `of_methods` those of the
method that gave an answer, `symbols` solves small networks in symbols, and `command` is
``slipstick explain``.
"""

COMMANDS = {"explain": "slipstick_equations.command:explain"}
FUNCTIONS = {
    "equations of an answer": "slipstick_equations.of_methods:answer_equations",
    "equations of a model": "slipstick_equations.of_methods:model_equations",
}
