"""Pages in which a model runs: sliders for what matters most, and its answers beside them.

slipstick finds this package by its entry points and imports none of it. `solve` takes what a page
needs of a model, `grid` its answers at the points of a grid, `model` writes the page, which
`live.js` runs, and the section below the report of a study; `command` is the command.
"""

COMMANDS = {"page": "slipstick_pages.command:page"}
SECTIONS = {"live": "slipstick_pages.model:section"}
