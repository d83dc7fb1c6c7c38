"""Checking files without solving anything: fast, and free of the numerical libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from slipstick.errors import (
    MoreProcessors,
    Problem,
    SpecError,
    nearest_names,
    short,
    suggestion_of,
)
from slipstick.extensions import Registry
from slipstick.limits import with_limits
from slipstick.results.words import asks_yes_or_no, may_ask_for_opposite
from slipstick.schema.kinds.quantity import Spec, validate
from slipstick.schema.library import (
    Library,
    file_without_suffix,
    find,
    is_file_name,
    kinds_with_name,
    model_description,
    spec_model,
    spec_names,
    unknown_name,
)
from slipstick.schema.text import Mark, Scalar, Table, value_mark

if TYPE_CHECKING:
    from pydantic import BaseModel

    from slipstick.schema.inputs import BuiltModel
    from slipstick.schema.kinds.fitted import FittedSpec
    from slipstick.schema.kinds.study import StudySpec

CHECKS: Registry[Callable[[str], bool]] = Registry("slipstick.checks")
"""Functions that check a file that is no spec, by the description of such files. Each takes a name
or a path, and returns whether that is such a file; it raises if the file has mistakes.
"""


def check_reference(reference: str) -> list[str]:
    """Check the spec, program, law or file of measurements that a name or a path stands for; return
    one line for each.

    Parameters
    ----------
    reference : as for every command: a path, or a name in the catalogue, alone or as ``KIND/NAME``

    Returns
    -------
    the kind of each spec, with the default variation of times that state none. The catalogue may
    have specs of several kinds by one name; all of them are checked

    Raises
    ------
    SpecError : everything that is wrong, each at its line

    >>> check_reference("rs6000-43p-atm"), check_reference("law/flow-line")
    (['machine'], ['law'])
    """
    if is_file_name(reference):
        return ["; ".join(_check_spec(Path(reference)))]
    if kinds := kinds_with_name(reference):
        return ["; ".join(_check_spec(find(kind, reference))) for kind in kinds]
    from slipstick.schema.inputs import model_names

    if reference in model_names():
        return ["law" if reference.startswith("law/") else "program"]
    for description, is_such_file in CHECKS.items():
        if is_such_file(reference):
            return [description]
    if path := file_without_suffix(reference):
        return ["; ".join(_check_spec(path))]
    message = str(unknown_name("spec", reference, [*spec_names(), *model_names()]))
    raise SpecError([Problem(reference[:100], 0, 0, "", message)])


def check_file(path: Path) -> str:
    """Check one spec file and all files that it names; return the kind of the spec.

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
    return next(_check_spec(path))


def _check_spec(path: Path) -> Iterator[str]:
    """Check a spec file; yield its kind, then notes and the default variation of its times."""
    library = Library()
    kind, tree = library.open(path)
    spec = validate(spec_model(kind, tree), tree)
    notes = list[str]()
    if kind == "technology":
        from slipstick.schema.kinds.technology import check_values

        check_values(tree, library)
    if kind == "fitted":
        notes += _notes_on_fitted_model(cast("FittedSpec", spec).model, tree, path)
    if model_description(kind) or kind in ("workload", "study"):
        notes += _check_models(kind, spec, tree, path, library)
    # Only the solved study tells whether a ranking or a fit has what the title asks for.
    if kind == "study" and not {"rank", "fits"} & cast("StudySpec", spec).questions.keys():
        notes += filter(None, [note_on_title(cast("StudySpec", spec))])
    yield kind
    yield from notes
    default_variations = list(_default_variations(spec))
    count_by_default = Counter(
        default_variation for default_variation in default_variations if default_variation
    )
    for default_variation, count in count_by_default.items():
        yield f"no scv, therefore {default_variation}: {count} of {len(default_variations)} times"


def _check_models(
    kind: str, spec: BaseModel, tree: Table, path: Path, library: Library
) -> list[str]:
    """Build the models of a study, a workload or a model file, and check their requirements; list
    the notes on more processors than a machine has.
    """
    # A machine or a network is whole by now; the others are also built, which takes more to import.
    from slipstick.schema.inputs import (
        build,
        build_once,
        build_workload,
        check_requirements,
        resolve,
    )

    reference = Scalar(path.name, path.name, Mark(str(path), 1, 1), quoted=True)
    notes = list[str]()
    if kind == "study":
        from slipstick.study.cases import BASE
        from slipstick.study.run import read_study

        # Building is checked against the study's own limits of cost, as when it runs.
        with with_limits((study_spec := cast("StudySpec", spec)).limits.costs):
            cases = read_study(study_spec, tree, library).cases
            # What these questions choose replaces values that need not be possible.
            replaced_cases = {
                case
                for question in study_spec.questions.values()
                if getattr(question, "replaces_values", False)
                for case in question.cases
            }
            for case, settings in cases.items():
                if case in replaced_cases:
                    continue
                case_path = (BASE,) if case == BASE else ("cases", case)
                inputs, built_model = build_once(settings, library)
                check_requirements(inputs, built_model, (tree, case_path))
                notes += [f"{case}: {note}" for note in _excess_notes(built_model)]
    elif kind != "workload":
        inputs = resolve({"model": reference}, library)
        built_model = build(inputs)
        check_requirements(inputs, built_model)
        notes += _excess_notes(built_model)
    else:
        build_workload(reference, library)
    return notes


def _excess_notes(built_model: BuiltModel) -> list[str]:
    """Return a note if a model uses more processors than its machine has."""
    return [note for note in built_model.notes_at({}) if isinstance(note, MoreProcessors)]


def note_on_title(study: StudySpec) -> str:
    """Return a note on a title that asks yes or no where no question of the study can answer it,
    with what to write; empty if one can.
    """
    question_names = study.questions.keys()
    conditions_by_question = {
        name: conditions
        for name, question_spec in study.questions.items()
        if (conditions := getattr(question_spec, "watch", None)) is not None
    }
    # A statement is on the values as given: where some are drawn, it does not answer the title.
    is_stated = "agree" in question_names or (
        "statements" in question_names and "sample" not in question_names
    )
    # A search has the condition only, and the title may ask for its opposite.
    searches = (study.questions.get("seek") or {}).values()
    condition = next((search.where for search in searches), "")
    is_opposite_possible = may_ask_for_opposite(study.title, condition)
    is_searched = {"seek", "choose", "fits"} & question_names and not is_opposite_possible
    if (
        not asks_yes_or_no(study.title)
        or is_stated
        or is_searched
        or any(conditions_by_question.values())
    ):
        return ""
    value_name = next(iter(study.answer), "time")
    case = next(iter(study.cases), "base")
    limit = "to: LIMIT" if case == "base" else "relative_to: [base], to: 0.5"
    way_out = (
        f'what has to be true under statements, such as it: {{value: "{value_name}", of: [{case}],'
        f' {limit}, says: "THE TITLE AS A STATEMENT"}}'
    )
    if "fits" in question_names:
        way_out = (
            "a limit as time, throughput or efficiency of the fit, and ask for it in the title,"
            " such as at most 5 s on 64 processors"
        )
    elif conditions_by_question:
        way_out = f"the condition under watch of {next(iter(conditions_by_question))}"
    elif not may_ask_for_opposite(study.title):
        way_out = f"the condition under seek or choose, or {way_out}"
    return (
        f"the title is a yes-or-no question, and nothing in the study answers it: write {way_out}"
    )


def _notes_on_fitted_model(model: str, tree: Table, path: Path) -> list[str]:
    """Return a note on the model of a fit if it is neither in the catalogue nor a file in the
    folder of the fit or in the current folder. Raise if its name is nearly one of the catalogue.
    """
    from slipstick.schema.inputs import model_names

    model_file = model if is_file_name(model) else f"{model}.yaml"
    if model in model_names() or (path.parent / model_file).exists() or Path(model_file).exists():
        return []
    problem_text = f"there is no model {short(model)}, and no file {short(model_file)}"
    # A fit may be moved without the file of its model, so only a near miss is an error.
    if near_names := nearest_names(model, model_names()):
        message = f"{problem_text}{suggestion_of(near_names)}"
        raise value_mark(tree, "model").error(message, "model")
    return [f"{problem_text} here: its parameters are not looked up"]


def _default_variations(spec_part: object) -> Iterator[str]:
    """Yield the default variation of each time in a spec; nothing for a time that has a
    distribution of its own.
    """
    if isinstance(spec_part, Spec):
        yield from spec_part.default_variations
        yield from (
            description
            for field_name in type(spec_part).model_fields
            for description in _default_variations(getattr(spec_part, field_name))
        )
    elif isinstance(spec_part, list | tuple | dict):
        inner_parts = spec_part.values() if isinstance(spec_part, dict) else spec_part
        yield from (
            description
            for inner_part in inner_parts
            for description in _default_variations(inner_part)
        )
