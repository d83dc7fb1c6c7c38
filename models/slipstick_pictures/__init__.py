"""Pictures of studies and of runs, as PNG and SVG; they need the extra ``report``.

slipstick finds this package by its entry points and imports none of it. `pictures` draws bars,
lines and maps of a study, `timeline` a run over time, `look` has what all pictures share, also
those of the questions of other packages, and `files` writes them.
"""

FUNCTIONS = {
    "figure of a study": "slipstick_pictures.pictures:figure_of",
    "pictures of a report": "slipstick_pictures.pictures:save_all",
    "file of a timeline": "slipstick_pictures.files:write_timeline",
}
