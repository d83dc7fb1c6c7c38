"""Checking files without solving anything: fast, and free of the numerical libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.errors import Problem, SpecError
from slipstick.schema.library import Library, spec_model
from slipstick.schema.text.nodes import Mark, Scalar, Table, canonical
from slipstick.schema.validate import validate

if TYPE_CHECKING:
    from slipstick.schema.inputs import Settings
    from slipstick.schema.kinds.study import StudySpec
    from slipstick.study.cases import Asked


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
    spec = validate(spec_model(kind, tree), tree)
    if kind == "technology":
        from slipstick.schema.inputs import check_values

        check_values(tree, library)
    if kind in ("activity", "queueing-network", "workload", "study"):
        # A machine or a network is whole by now; the others are also built, which takes more to import.
        from slipstick.schema.build import build, build_workload
        from slipstick.schema.inputs import resolve
        from slipstick.schema.kinds.study import StudySpec

        here = Scalar(str(path), str(path), Mark(str(path), 1, 1), quoted=True)
        if isinstance(spec, StudySpec):
            _check_study(spec, tree, library)
        elif kind != "workload":
            build(resolve({"model": here}, library))
        else:
            build_workload(here, library)
    return kind


def _check_study(spec: StudySpec, tree: Table, library: Library) -> None:
    """Check every case, every name, and the values of every sweep in their place."""
    from slipstick.schema.build import build
    from slipstick.schema.inputs import resolve
    from slipstick.study.cases import case_settings, sweeps_of
    from slipstick.study.names import check_axes, check_names

    cases, asked = case_settings(tree), sweeps_of(spec, tree)
    problems: list[Problem] = []
    with _kept(problems):
        check_names(spec, tree, cases, asked, _check_measured(spec, tree, cases, library, problems))
    sound = []
    for name, settings in cases.items():
        with _kept(problems):
            build(resolve(settings, library))
            sound.append(name)
    axes: dict[str, list[str]] = {}
    for each in asked:
        for case in each.spec.cases:
            if case in sound:
                with _kept(problems):
                    axes[each.name] = _check_sweep(each, cases[case], library)
    with _kept(problems):
        check_axes(spec, tree, axes)
    if spec.scale and not problems:
        from slipstick.study.questions.scale import questions

        with _kept(problems):
            list(questions(spec, tree, cases, library))
    if spec.asks_ahead and not problems:
        from slipstick.study.questions.asked import asked_of

        with _kept(problems):
            asked_of(spec, tree, cases, library)
    if problems:
        raise SpecError(problems)


def _check_measured(
    spec: StudySpec, tree: Table, cases: Mapping[str, Settings], library: Library, problems: list[Problem]
) -> list[str]:
    """Check what is asked of measured runs, and name their answers; nothing is imported where nothing is asked."""
    if not (spec.measured or spec.fits):
        return []
    from slipstick.results.study import by_processors
    from slipstick.study.cases import base_settings
    from slipstick.study.questions.fitted import accounts, read_fits

    with _kept(problems):
        read_fits(spec, tree, cases, base_settings(tree), library)
    with _kept(problems):
        return list(by_processors({name: each.answers for name, each in accounts(spec, tree, library).items()}))
    return []


def _check_sweep(asked: Asked, settings: Settings, library: Library) -> list[str]:
    """Check one sweep from one case, and give the paths of its axes as results call them."""
    from slipstick.errors import FormulaError
    from slipstick.schema.build import build
    from slipstick.schema.inputs import REFERENCES, resolve
    from slipstick.schema.solver_options import is_solver_option
    from slipstick.schema.text.formula import read_condition
    from slipstick.study.axes import numbers_of, to_check

    inputs, axes = resolve(settings, library), asked.axes()
    problems: list[Problem] = []
    asked.check_lengths({path: len(nodes) for path, nodes in axes.items()})
    for path, nodes in axes.items():
        numbers = numbers_of(nodes)
        for each in map(nodes.__getitem__, to_check(nodes)):
            with _kept(problems):
                if path in REFERENCES or is_solver_option(path):
                    build(resolve({**settings, path: each}, library))
                elif numbers is None:  # names and formulas are understood only when the model is built
                    build(inputs.with_value(path, each, library))
                else:
                    inputs.with_value(path, each, library).checked()
    if problems:
        raise SpecError(problems)
    built = build(resolve({**settings, **{path: nodes[0] for path, nodes in axes.items()}}, library))
    if asked.spec.where:
        try:
            read_condition(asked.spec.where, built.parameters)
        except FormulaError as error:
            raise asked.problem(str(error), "where") from None
    return [canonical(inputs.tree, path) for path in axes]


@contextmanager
def _kept(problems: list[Problem]) -> Iterator[None]:
    """Keep what is found wrong, so that the rest is checked as well."""
    try:
        yield
    except SpecError as error:
        problems += error.problems
