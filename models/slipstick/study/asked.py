"""What a study asks for chooses the method of its cases; what no method of a case has is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from slipstick.answer import VALUES_OF_EACH_GROUP, hint_of_group_names
from slipstick.errors import Problem
from slipstick.method.asked import needs_simulation, value_names_in_texts
from slipstick.model.system import group_names
from slipstick.results.sweep import split_name
from slipstick.schema.text import Mark, Scalar, Table, leaves
from slipstick.study.cases import BASE, StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.vocabulary import SIMULATION

_TEXT_KEYS = ("title", "text", "source", "sources", "meaning")
"""Keys of a study whose texts are for people."""

_CONDITION_KEYS = ("seek", "choose")
"""Questions whose conditions need a value at every point."""

METHOD = "method"


def _value_texts(tree: Table) -> Iterator[tuple[str, Scalar]]:
    """Yield each text of a study in which the name of a value may stand, with its path."""
    for path, text_node in leaves(tree):
        if isinstance(text_node.value, str) and not set(path.split(".")) & set(_TEXT_KEYS):
            yield path, text_node


def simulate_where_needed(
    study: StudyContext, cases: Mapping[str, Evaluator]
) -> tuple[StudyContext, dict[str, Evaluator]]:
    """Set simulation as the method of each case that has no method, if the study asks the case for
    a value that no formula gives.

    Parameters
    ----------
    study : with the settings of its cases
    cases : those that could be built

    Returns
    -------
    the study and its cases, with the method set where needed
    """
    value_names = value_names_in_texts(text_node.text for _, text_node in _value_texts(study.tree))
    changed_settings = {
        case: {**study.cases[case], METHOD: Scalar(SIMULATION, SIMULATION, _MARK, quoted=False)}
        for case, case_evaluator in cases.items()
        if case_evaluator.built.options.method is None
        and any(_needs_simulation(case_evaluator, name) for name in sorted(value_names))
    }
    if not changed_settings:
        return study, dict(cases)
    # The base is also what cases are compared with: set in both places, the method is no
    # difference.
    base_settings = (
        {**study.base, METHOD: changed_settings[BASE][METHOD]}
        if BASE in changed_settings
        else study.base
    )
    study = replace(study, base=base_settings, cases={**study.cases, **changed_settings})
    rebuilt_cases = {
        case: evaluator(case, settings, study.library)
        for case, settings in changed_settings.items()
    }
    return study, {**cases, **rebuilt_cases}


# By this mark a note finds the cases whose method was set here.
_MARK = Mark("asked", 1, 1)


def _needs_simulation(case: Evaluator, name: str) -> bool:
    return name in case.names and needs_simulation(
        case.built.model, name, case.built.options.method
    )


def notes_on_simulated_cases(study: StudyContext) -> list[str]:
    """List a note on the cases that are simulated because of the values that the study asks for."""
    simulated_cases = [
        case
        for case, settings in study.cases.items()
        if isinstance(method_node := settings.get(METHOD), Scalar) and method_node.mark is _MARK
    ]
    value_names = sorted(
        value_names_in_texts(method_node.text for _, method_node in _value_texts(study.tree))
    )
    if not simulated_cases:
        return []
    return [
        f"{', '.join(simulated_cases)}: simulated, because {', '.join(value_names)} is asked for"
    ]


def unsolvable_condition_problems(
    study: StudyContext, cases: Mapping[str, Evaluator]
) -> list[Problem]:
    """List the problems of conditions on values that only simulation gives, if every case names
    another method.
    """
    problems = []
    for path, text_node in _value_texts(study.tree):
        keys = path.split(".")
        if keys[0] not in _CONDITION_KEYS:
            continue
        for name in sorted(value_names_in_texts([text_node.text])):
            cases_with_value = [case for case in cases.values() if name in case.names]
            # One case with a formula is enough for a condition to have a value.
            if cases_with_value and all(_needs_simulation(case, name) for case in cases_with_value):
                methods_text = ", ".join(
                    sorted({str(case.built.options.method) for case in cases_with_value})
                )
                message = (
                    f"{split_name(name)[0]} has no formula here, and the method is {methods_text};"
                    f" write method: {SIMULATION} in the base, or leave the method out"
                )
                problems.append(text_node.mark.problem(message, path))
    return problems


def hint_of_missing_group(name: str, cases: Collection[Evaluator]) -> str:
    """Return a message on which names to write for a value that each of several groups has in all
    cases; empty for other names.
    """
    names_of_groups = [group_names(case.built.sample.model) for case in cases]
    # A case with one group gives the value under the name without a group.
    if not names_of_groups or min(map(len, names_of_groups)) < 2:
        return ""
    hint = hint_of_group_names(name, names_of_groups[0])
    return f"there is no {name}{hint}" if hint else ""


def ungrouped_value_problems(study: StudyContext, cases: Mapping[str, Evaluator]) -> list[Problem]:
    """List the problems of values that are named without a group in models of several groups."""
    problems = []
    hint_by_value_name = {
        value_name: hint_of_missing_group(value_name, cases.values())
        for value_name in VALUES_OF_EACH_GROUP
    }
    for path, text_node in _value_texts(study.tree):
        if path.split(".")[0] not in ("answer", *_CONDITION_KEYS):
            continue
        for value_name, hint in hint_by_value_name.items():
            if hint and re.search(rf"(?<![\w.\[]){value_name}(?![\w\[])", text_node.text):
                problems.append(text_node.mark.problem(hint, path))
    return problems
