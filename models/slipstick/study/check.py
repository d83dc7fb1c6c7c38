"""Checking files without solving anything: fast, and free of the numerical libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.schema.catalogue import names
from slipstick.schema.load import Library, spec_model
from slipstick.schema.nodes import Mark, Node, Scalar, Table, at
from slipstick.schema.validate import validate

if TYPE_CHECKING:
    from slipstick.schema.scene import Scene, Settings
    from slipstick.schema.study import StudySpec, SweepSpec

__all__ = ["check_file"]


def check_file(path: Path) -> str:
    """Check one spec file and everything it names.

    Parameters
    ----------
    path : the file

    Returns
    -------
    the kind of spec it is

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    library = Library()
    kind, tree = library.open(path)
    spec = validate(spec_model(kind), tree)
    if kind in ("activity", "workload", "study"):
        # A machine or a network is whole by now; the others are also built, which takes more to import.
        from slipstick.schema.bind import bind
        from slipstick.schema.study import StudySpec

        if isinstance(spec, StudySpec):
            _check_study(spec, tree, library)
        else:
            bind(_scene(kind, path, library))
    return kind


def _scene(kind: str, path: Path, library: Library) -> Scene:
    """Set a file on a stage; a workload's inputs are checked on whatever machine comes first."""
    from slipstick.schema.scene import stage

    mark = Mark("check", 1, 1)
    here = Scalar(str(path), str(path), mark, quoted=True)
    if kind == "activity":
        return stage({"model": here}, library)
    return stage({"workload": here, "machine": Scalar(names("machine")[0], "", mark, quoted=True)}, library)


def _check_study(spec: StudySpec, tree: Table, library: Library) -> None:
    """Check every case, and every value of every sweep in its place; of a range, its ends."""
    from slipstick.schema.bind import bind
    from slipstick.schema.scene import stage
    from slipstick.study.cases import case_settings, sweeps_of

    cases = case_settings(tree)
    for settings in cases.values():
        bind(stage(settings, library))
    for _, sweep, node in sweeps_of(spec, tree):
        for case in sweep.cases:
            if case in cases:
                _check_axes(sweep, node, cases[case], library)


def _check_axes(sweep: SweepSpec, node: Node, settings: Settings, library: Library) -> None:
    from slipstick.schema.scene import REFERENCES, stage
    from slipstick.schema.study import AxisSpec
    from slipstick.study.axes import axis_nodes

    for path, axis in sweep.axes.items():
        written = at(node, ["axes", path])
        assert written is not None
        nodes = axis_nodes(axis, written)
        for each in (nodes[0], nodes[-1]) if isinstance(axis, AxisSpec) else nodes:
            if path in REFERENCES:
                stage({**settings, path: each}, library)
            else:
                stage(settings, library).with_value(path, each, library).checked()
