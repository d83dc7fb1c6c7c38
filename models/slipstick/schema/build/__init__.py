"""Checked specs to models: every quantity a parameter under the path where it was written.

Why this shape: `scene` holds everything that a model is solved with and takes settings by path, `solver_options` those that say how to
solve it; `bind` makes the model of a scene, with a module for each kind of spec that needs one.
"""
