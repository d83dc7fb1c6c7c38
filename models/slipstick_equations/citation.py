"""Citations for the numbers of answers and studies: program, methods, settings and source."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

from slipstick.answer import Answer
from slipstick.results.study import Results


def answer_citation(answer: Answer) -> str:
    """Return the citation of an answer: its model, the program, the method and the settings.

    >>> from slipstick import solve
    >>> answer_citation(solve("law/little", {"throughput": "10 /s", "time": "2 s"})).split(", ")[1]
    'with throughput = 10 and time = 2 in base units.'
    """
    settings = [
        f"{path} = {amount}" if isinstance(amount, str) else f"{path} = {amount:.12g}"
        for path, amount in answer.given.items()
    ]
    *earlier_settings, last_setting = settings or [""]
    settings_list_text = (
        f"{', '.join(earlier_settings)} and {last_setting}" if earlier_settings else last_setting
    )
    settings_text = f", with {settings_list_text} in base units" if settings else ""
    seed_text = "" if answer.seed is None else f"; seed of the simulation: {answer.seed}"
    program_text = _program_text(version("slipstick"), [answer.method])
    return f"{answer.model}. {program_text}{settings_text}{seed_text}."


def study_citation(results: Results) -> str:
    """Return the citation of a study: its title, the program, the methods and the source."""
    method_names = [answer.method for answer in results.cases.values()]
    method_names += [method for sweep in results.sweeps for method in sweep.provenance.methods]
    program_text = _program_text(results.versions.get("slipstick", ""), method_names)
    source_text = f" Source of the study: {results.source}." if results.source else ""
    title = (results.title or results.name).rstrip(".")
    return f"{title}{'' if title.endswith('?') else '.'} {program_text}.{source_text}"


def _program_text(program_version: str, methods: Iterable[str]) -> str:
    """Return a sentence, without its full stop, on the program and the methods used."""
    method_names = list(dict.fromkeys(filter(None, methods)))
    noun = "methods" if len(method_names) > 1 else "method"
    methods_text = f" by the {noun} {', '.join(method_names)}" if method_names else ""
    return f"Computed with slipstick {program_version}".rstrip() + methods_text
