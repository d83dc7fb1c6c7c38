"""Pictures of results, drawn without any global state, saved with the same bytes each time.

Why this shape: `figures` saves and knows which module draws which kind; each kind has a module; `style` and `scales` are how
all of them look. `trace` is a timeline for other people's viewers.
"""
