"""COMMANDS FOR MEASURED DATA: `measured`, `record`, `trace` and `fit`, `import`, and
`calibrate`.
"""
