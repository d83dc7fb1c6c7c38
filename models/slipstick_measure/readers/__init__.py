"""Readers of files with measurements: one module for each tool, registered in
`slipstick_measure.formats`.

`reading` holds what they share: lines with numbers, numbers and units, problems and notes by line,
JSON.
"""
