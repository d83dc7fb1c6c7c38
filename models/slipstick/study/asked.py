"""What a study asks for chooses the method of its cases; what no method of a case has is refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from slipstick.answer import OF_EACH_GROUP, without_group
from slipstick.errors import Problem
from slipstick.method.asked import names_in, needs_simulation
from slipstick.method.names import group_names
from slipstick.results.sweep import split_name
from slipstick.schema.text import Mark, Scalar, Table, leaves
from slipstick.study.cases import BASE, StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.vocabulary import SIMULATION

_WORDS = ("title", "text", "source", "sources", "meaning")
"""Keys of a study whose texts are for people."""

_CONDITIONS = ("seek", "choose")
"""Questions whose conditions need a value at every point."""

METHOD = "method"


def _texts(tree: Table) -> Iterator[tuple[str, Scalar]]:
    """Yield each text of a study in which the name of a value may stand, with its path."""
    for path, node in leaves(tree):
        if isinstance(node.value, str) and not set(path.split(".")) & set(_WORDS):
            yield path, node


def simulated_where_asked(
    study: StudyContext, cases: Mapping[str, Evaluator]
) -> tuple[StudyContext, dict[str, Evaluator]]:
    """Set simulation as the method of each case without a method that is asked for a value that no
    formula gives.

    Parameters
    ----------
    study : with the settings of its cases
    cases : those that could be built

    Returns
    -------
    the study and its cases, where needed with the method set
    """
    names = names_in(node.text for _, node in _texts(study.tree))
    changed = {
        case: {**study.cases[case], METHOD: Scalar(SIMULATION, SIMULATION, _MARK, quoted=False)}
        for case, model in cases.items()
        if model.built.options.method is None
        and any(_needed(model, name) for name in sorted(names))
    }
    if not changed:
        return study, dict(cases)
    # The base is also what cases are compared with: set in both places, the method is no
    # difference.
    base = {**study.base, METHOD: changed[BASE][METHOD]} if BASE in changed else study.base
    study = replace(study, base=base, cases={**study.cases, **changed})
    rebuilt_cases = {
        case: evaluator(case, case_settings, study.library)
        for case, case_settings in changed.items()
    }
    return study, {**cases, **rebuilt_cases}


# By this mark a note finds the cases whose method was set here.
_MARK = Mark("asked", 1, 1)


def _needed(case: Evaluator, name: str) -> bool:
    return name in case.names and needs_simulation(
        case.built.model, name, case.built.options.method
    )


def asked_notes(study: StudyContext) -> list[str]:
    """Return a note on the cases that are simulated because of the values that the study asks for."""
    cases = [
        case
        for case, settings in study.cases.items()
        if isinstance(node := settings.get(METHOD), Scalar) and node.mark is _MARK
    ]
    names = sorted(names_in(node.text for _, node in _texts(study.tree)))
    if not cases:
        return []
    return [f"{', '.join(cases)}: simulated, because {', '.join(names)} is asked for"]


def values_without_method(study: StudyContext, cases: Mapping[str, Evaluator]) -> list[Problem]:
    """List the problems of conditions on values that only simulation gives, where every case names
    another method.
    """
    problems = []
    for path, node in _texts(study.tree):
        keys = path.split(".")
        if keys[0] not in _CONDITIONS:
            continue
        for name in sorted(names_in([node.text])):
            having = [case for case in cases.values() if name in case.names]
            # One case with a formula is enough for a condition to have a value.
            if having and all(_needed(model, name) for model in having):
                methods = ", ".join(sorted({str(model.built.options.method) for model in having}))
                why = (
                    f"{split_name(name)[0]} has no formula here, and the method is {methods}; write"
                    f" method: {SIMULATION} in the base, or leave the method out"
                )
                problems.append(node.mark.problem(why, path))
    return problems


def without_any_group(name: str, cases: Collection[Evaluator]) -> str:
    """Describe which names to write for a value that several groups of all cases have; empty for
    other names.
    """
    groups = [group_names(case.built.sample.model) for case in cases]
    # A case with one group gives the value under the name without a group.
    if not groups or min(map(len, groups)) < 2:
        return ""
    hint = without_group(name, groups[0])
    return f"there is no {name}{hint}" if hint else ""


def values_of_first_group(study: StudyContext, cases: Mapping[str, Evaluator]) -> list[Problem]:
    """List the problems of values that are named without a group in models of several groups."""
    problems = []
    missing = {name: without_any_group(name, cases.values()) for name in OF_EACH_GROUP}
    for path, node in _texts(study.tree):
        if path.split(".")[0] not in ("answer", *_CONDITIONS):
            continue
        for name, why in missing.items():
            if why and re.search(rf"(?<![\w.\[]){name}(?![\w\[])", node.text):
                problems.append(node.mark.problem(why, path))
    return problems
