"""YAML -> MODEL: strict specs, all problems at once, each at its line.

Why this shape: a spec goes through five rooms in one direction. `reader` (with `builder` and `scalars`) turns
text into `nodes` that know where they were written; `catalogue` and `load` find files and follow references;
`scene` lays settings over them under the paths that a user may set; `validate` checks the whole with the pydantic
models (`machine`, `network` in it, `workload`, `activity`, `study`, built of `quantity`); `bind` turns every
quantity into a parameter under its path and builds the model. `formula` reads arithmetic on known names,
`describe` and `editor` say what there is to write.
"""
