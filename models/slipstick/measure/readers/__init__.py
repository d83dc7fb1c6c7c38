"""Readers: one for each format in which tools write what they measured.

Why this shape: every reader fills the same table through the same `reading.Reading`, so that a negative time or an unknown
unit is refused in the same words wherever it stands; `json_text` and `parameters` are what several readers share.
"""
