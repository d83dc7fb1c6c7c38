"""YAML -> MODEL: strict specs, all problems at once, each at its line.

Why this shape: a spec goes through the rooms in one direction. `text` turns a file into nodes that know where they were
written; `catalogue` and `load` find files and follow references; `validate` checks a tree with the pydantic model of its
kind, one of `kinds`; `binding` lays settings over it and builds the model, every quantity a parameter under its path.
`dumping` goes back from models to files. `describe` and `editor` say what there is to write, `front` is the way in from Python.
"""
