"""Pictures of results, drawn without any global state, saved with the same bytes each time.

Why this shape: `figures` is the look of all pictures, and draws and saves one by its kind; `bars`, `lines`, `maps` and `gantt`
hold a kind each. Pictures of a question are drawn by its result.
"""
