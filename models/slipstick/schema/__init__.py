"""Files to models: strict specs, whose problems are reported all at once, each at its line.

Why this shape: a file goes through the modules in one direction. `text` reads it into nodes that
know where they were written; `library` finds files and follows references; `validate` checks a tree
with the pydantic model of its kind, one module of `kinds`, which also builds the model that the
file says and writes it back (`kinds.quantity` reads and writes its quantities, and says what each
is); `inputs` resolves settings to everything that a model is solved with (`programs` for programs),
builds it, and answers for it.
"""
