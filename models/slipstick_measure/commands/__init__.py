"""COMMANDS FOR MEASURED DATA: `measured`, `record`, `trace` and `fit`, `import`, and
`calibrate`.

Each module imports what it computes with only when a command of it is run; `estimated` is the part
of `fit` for rows whose columns are numbers of a model.
"""
