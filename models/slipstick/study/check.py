"""Checking files without solving anything: fast, and free of the numerical libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from slipstick.errors import Problem, SpecError
from slipstick.schema.library import (
    Library,
    find,
    is_file_name,
    kinds_called,
    spec_model,
    spec_names,
    table_called,
    unknown_name,
)
from slipstick.schema.text.nodes import Mark, Scalar, Table, canonical
from slipstick.schema.validate import validate

if TYPE_CHECKING:
    from slipstick.schema.inputs import Settings
    from slipstick.schema.kinds.study import StudySpec
    from slipstick.study.cases import SweepDefinition


def check_reference(reference: str) -> list[str]:
    """Check what a name or a path stands for: a spec, a program, a law or a file of measurements.

    Parameters
    ----------
    reference : as for every command: a path, or a name in the catalogue, alone or as ``KIND/NAME``

    Returns
    -------
    its kind; the catalogue may have specs of several kinds by one name, and all of them are checked

    Raises
    ------
    SpecError : everything that is wrong, each at its line

    >>> check_reference("rs6000-43p-atm"), check_reference("law/flow-line")
    (['machine'], ['law'])
    """
    if is_file_name(reference):
        return [check_file(Path(reference))]
    if found := kinds_called(reference):
        return [check_file(find(kind, reference)) for kind in found]
    from slipstick.schema.inputs import model_names

    if reference in model_names():
        return ["law" if reference.startswith("law/") else "program"]
    if table := reference if Path(reference).exists() else table_called(reference):
        from slipstick.measure.formats import read

        read(table)
        return ["table of measurements"]
    words = str(unknown_name("spec", reference, [*spec_names(), *model_names()]))
    raise SpecError([Problem(reference[:100], 0, 0, "", words)])


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
        from slipstick.schema.technology import check_values

        check_values(tree, library)
    if kind in ("activity", "queueing-network", "workload", "study"):
        # A machine or a network is whole by now; the others are also built, which takes more to import.
        from slipstick.schema.build import build, build_workload
        from slipstick.schema.inputs import resolve

        here = Scalar(path.name, path.name, Mark(str(path), 1, 1), quoted=True)
        if kind == "study":
            _check_study(cast("StudySpec", spec), tree, library)
        elif kind != "workload":
            build(resolve({"model": here}, library))
        else:
            build_workload(here, library)
    return kind


def _check_study(spec: StudySpec, tree: Table, library: Library) -> None:
    """Check every case, every name, the values of every sweep in their place, and every question."""
    from slipstick.schema.build import built_with
    from slipstick.study.cases import (
        StudyContext,
        cases_of,
        check_answer_names,
        check_axes,
        check_names,
        kept,
        sweeps_of,
    )
    from slipstick.study.questions import Question, read_question

    study, sweeps = StudyContext.of(spec, tree, library, {}), sweeps_of(spec, tree)
    problems: list[Problem] = []
    with kept(problems):
        check_names(study, sweeps)
    whole = []
    for name, settings in study.cases.items():
        with kept(problems):
            built_with(settings, library)
            whole.append(name)
    axes: dict[str, list[str]] = {}
    for sweep in sweeps:
        for case in sweep.spec.cases:
            if case in whole:
                with kept(problems):
                    axes[sweep.name] = _check_sweep(sweep, study.cases[case], library)
    with kept(problems):
        check_axes(study, axes)
    questions: dict[str, Question] = {}
    for key, asked in spec.questions.items():
        if all(case in whole for case in cases_of(asked)):
            with kept(problems):
                questions[key] = read_question(key, asked, study)
    if not problems:
        check_answer_names(study, [name for each in questions.values() for name in each.answer_names])
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))


def _check_sweep(asked: SweepDefinition, settings: Settings, library: Library) -> list[str]:
    """Check one sweep from one case, and give the paths of its axes as results call them."""
    from slipstick.errors import FormulaError
    from slipstick.schema.build import build, built_with
    from slipstick.schema.inputs import REFERENCES, is_solver_option
    from slipstick.schema.text.formula import read_condition
    from slipstick.study.cases import kept, numbers_of, to_check

    (inputs, _), axes = built_with(settings, library), asked.axes()
    problems: list[Problem] = []
    asked.check_lengths({path: len(nodes) for path, nodes in axes.items()})
    for path, nodes in axes.items():
        numbers = numbers_of(nodes)
        for each in map(nodes.__getitem__, to_check(nodes)):
            with kept(problems):
                if path in REFERENCES or is_solver_option(path):
                    built_with({**settings, path: each}, library)
                elif numbers is None:  # names and formulas are understood only when the model is built
                    build(inputs.with_value(path, each, library))
                else:
                    inputs.with_value(path, each, library).checked()
    if problems:
        raise SpecError(problems)
    _, built = built_with({**settings, **{path: nodes[0] for path, nodes in axes.items()}}, library)
    if asked.spec.where:
        try:
            read_condition(asked.spec.where, built.parameters)
        except FormulaError as error:
            raise asked.problem(str(error), "where") from None
    return [canonical(inputs.tree, path) for path in axes]
