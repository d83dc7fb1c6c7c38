"""The catalogue: specs, programs and laws, by kind and name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from slipstick.errors import SpecError, UnknownNameError, nearest_names, suggestion_of
from slipstick.late import late_pattern
from slipstick.law import LAWS
from slipstick.program import PROGRAMS
from slipstick.report.answer import CatalogueEntry, CatalogueLine
from slipstick.schema.inputs import build_workload, model_names
from slipstick.schema.kinds.quantity import (
    DescribedValue,
    Given,
    described_values,
    validate,
    with_sources,
)
from slipstick.schema.library import (
    KINDS,
    Library,
    catalogue_folder,
    find,
    is_file_name,
    kinds_with_name,
    names_of_kind,
    spec_model,
    spec_names,
    unknown_name,
)
from slipstick.schema.text import Mark, Scalar, Table, file_text, node_at, plain_data, read_text


def catalogue_lines(
    kind: str | None = None, search: str = "", with_titles: bool = True
) -> list[CatalogueLine]:
    """List the catalogue or one of its kinds; a search keeps entries with the text in name, title
    or search words, and adds terms of the glossary. Titles are empty unless `with_titles`.

    Raises
    ------
    UnknownNameError : there is no such kind, or nothing has the text

    >>> [line.name for line in catalogue_lines("network")][:3]
    ['100gbe-tcp', '10gbe-tcp', '1gbe-tcp']
    """
    kinds = known_kinds()
    if kind is not None and kind.rstrip("s") not in kinds and kind not in kinds:
        raise UnknownNameError("kind", kind, kinds)
    wanted_kinds = kinds if kind is None else [kind if kind in kinds else kind.rstrip("s")]
    lines = [
        line for wanted_kind in wanted_kinds for line in _lines_of_kind(wanted_kind, with_titles)
    ]
    # Terms are no kind of the catalogue, but a search looks for a subject.
    if kind is None and search:
        lines += [
            CatalogueLine("term", term, " ".join(meaning.split()))
            for term, meaning in glossary_entries().items()
        ]
    lines_with_text = _matching_lines(lines, [search])
    # Texts on terms are long: words that stand apart in them say little.
    lines_with_words = [
        line
        for line in _matching_lines(lines, search.split() or [search])
        if line not in lines_with_text and (line.kind != "term" or not lines_with_text)
    ]
    matching_lines = sorted(
        lines_with_text + lines_with_words, key=lambda line: line.kind == "term"
    )
    if not matching_lines and search:
        names = [line.name for line in lines if line.kind != "term"]
        hint = suggestion_of(nearest_names(search, names))
        raise UnknownNameError(
            "name, title or term with",
            search[:100],
            names,
            hint or "; slipstick list and slipstick glossary show what there is",
        )
    return matching_lines


def mentions(text: str, search: str) -> bool:
    """Return whether a text contains the words of a search one after the other, regardless of
    capitals and of the characters between the words. The last word may be cut.

    >>> mentions("A Gordon-Newell network", "gordon new"), mentions("speed-up", "speedup")
    (True, True)
    >>> mentions("sharing", "ring")
    False
    """
    # "mean-value" is found as "mean value" and as "meanvalue".
    for hyphen in ("", " "):
        plain_text, plain_search = (
            re.sub(r"[\W_]+", " ", f" {given_text.casefold()}".replace("-", hyphen))
            for given_text in (text, search)
        )
        if plain_search.rstrip() in plain_text:
            return True
    return False


def _is_named(name: str, search: str) -> bool:
    """Return whether a name, or its first word, is the searched one. Entries with such a name come
    first.

    >>> _is_named("mm1-response-time", "M/M/1"), _is_named("mm1k-blocking", "M/M/1")
    (True, False)
    """
    search_letters = re.sub(r"[\W_]+", "", search.casefold())
    return search_letters in (name.replace("-", ""), name.partition("-")[0])


def glossary_entries() -> dict[str, str]:
    """Return the meaning of each term of the glossary, which may go over several lines."""
    text = (Path(__file__).parent.parent / "documentation" / "glossary.md").read_text("utf-8")
    # The first colon ends a term.
    return dict(
        re.findall(r"^- (.+?): ?((?:.*\n)(?:  .*\n)*)", text.replace("**", ""), re.MULTILINE)
    )


def _matching_lines(
    lines: Sequence[CatalogueLine], searched_texts: Sequence[str]
) -> list[CatalogueLine]:
    """List the lines that contain every text, those whose name is the first text before others. A
    term is found by its meaning only if no term is found by its name.
    """
    matching_lines = [
        line for line in lines if all(mentions(_search_text(line), text) for text in searched_texts)
    ]
    named_terms = [
        line
        for line in matching_lines
        if line.kind == "term" and all(mentions(line.name, text) for text in searched_texts)
    ]
    return sorted(
        (line for line in matching_lines if line.kind != "term"),
        key=lambda line: not _is_named(line.name, searched_texts[0]),
    ) + (named_terms or [line for line in matching_lines if line.kind == "term"])


def _search_text(line: CatalogueLine) -> str:
    return LAWS[line.name].search_text if line.kind == "law" else f"{line.name} {line.title}"


def known_kinds() -> list[str]:
    """List the kinds of entries in the catalogue."""
    return [*KINDS, "program", "law"]


def catalogue_entry(name: str) -> CatalogueEntry:
    """Return all contents of one entry of the catalogue, given by its file, its name or
    ``KIND/NAME``.

    Raises
    ------
    UnknownNameError : there is no such kind or name
    SpecError : its file is wrong
    """
    kind, _, name_in_kind = name.partition("/")
    if name in PROGRAMS or kind == "program":
        return _program_entry(name if name in PROGRAMS else name_in_kind)
    if kind == "law":
        return _law_entry(name_in_kind)
    # A kind alone is answered with the names that it has.
    if kind in KINDS and not name_in_kind:
        _refuse_ambiguous(kind, [f"{kind}/{name}" for name in names_of_kind(kind)])
    library = Library()
    kind, tree = _find_spec(name, library)
    spec = validate(spec_model(kind, tree), tree)
    source = getattr(spec, "source", "")
    value_by_path = (
        _workload_entries(name)
        if kind == "workload"
        else {
            value.path: value
            for value in with_sources(described_values(spec), tree, library.sources)
        }
    )
    spec_text = (
        file_text(find(kind, name))
        if kind in ("activity", "study", "trend")
        else getattr(spec, "summary", str)()
    )
    return CatalogueEntry(
        kind,
        Path(name).stem,
        getattr(spec, "title", ""),
        getattr(spec, "sources", {}).get(source, source),
        value_by_path,
        spec_text,
    )


def spec_file(name: str) -> str:
    """Return the text of a spec's file, unchanged.

    Raises
    ------
    UnknownNameError : there is no such kind or name, or it is no file
    SpecError : its file is wrong
    """
    if name in PROGRAMS or name.startswith(("law/", "program/")):
        raise UnknownNameError(
            "file of", name, (), ": it is computed; slipstick explain has its equations"
        )
    kind, _ = _find_spec(name, Library())
    return file_text(find(kind, name))


def _find_spec(name: str, library: Library) -> tuple[str, Table]:
    """Find a spec by its file, or by its name alone or as ``KIND/NAME``; return its kind and its
    data.
    """
    kind, _, name_in_kind = name.partition("/")
    if is_file_name(name):
        return library.open(Path(name))
    matching_kinds = [kind] if kind in KINDS else kinds_with_name(name)
    all_kinds = known_kinds()
    # A misspelt kind would be reported as an unknown name.
    if (
        not matching_kinds
        and name_in_kind
        and kind not in all_kinds
        and nearest_names(kind, all_kinds)
    ):
        raise UnknownNameError("kind", kind, all_kinds)
    if not matching_kinds:
        raise unknown_name("spec", name, [*spec_names(), *model_names()])
    if len(matching_kinds) > 1:
        _refuse_ambiguous(name, [f"{kind_name}/{name}" for kind_name in matching_kinds])
    return matching_kinds[0], library.load(matching_kinds[0], name)


def _refuse_ambiguous(name: str, entry_names: Sequence[str]) -> NoReturn:
    raise UnknownNameError("entry of that name; write KIND/NAME:", name, entry_names)


def _lines_of_kind(kind: str, with_titles: bool) -> Iterator[CatalogueLine]:
    if not with_titles:
        listed_names = {"program": PROGRAMS, "law": LAWS}.get(kind) or names_of_kind(kind)
        yield from (CatalogueLine(kind, entry_name, "") for entry_name in listed_names)
    elif kind == "program":
        yield from (
            CatalogueLine(kind, program.name, program.title) for program in PROGRAMS.values()
        )
    elif kind == "law":
        yield from (CatalogueLine(kind, law.name, law.title) for law in LAWS.values())
    else:
        yield from (
            CatalogueLine(kind, entry_name, _title_of_spec(kind, entry_name))
            for entry_name in names_of_kind(kind)
        )


# Only for shipped files, whose titles are known to have this form.
_TITLE_LINES = late_pattern(r"^title:.*\n(?:[ \t].*\n)*", re.MULTILINE)


def _title_of_spec(kind: str, name: str) -> str:
    """Return the title of a spec; a broken file of the user gets a title that says why."""
    try:
        file_path = find(kind, name)
        title_match = (
            # Of shipped files only the title is parsed: a list has hundreds of them.
            _TITLE_LINES.search(file_text(file_path))
            if file_path.resolve().is_relative_to(catalogue_folder().resolve())
            else None
        )
        tree = (
            read_text(title_match[0], str(file_path)) if title_match else Library().load(kind, name)
        )
        title_node = node_at(tree, ["title"])
    except SpecError as error:
        return f"(cannot be read: {error.problems[0]})"
    return str(plain_data(title_node)) if title_node is not None else ""


def _program_entry(name: str) -> CatalogueEntry:
    if name not in PROGRAMS:
        raise UnknownNameError("program", name, list(PROGRAMS))
    program = PROGRAMS[name]
    value_by_name = {}
    for program_input in program.inputs:
        default_number = program_input.default if isinstance(program_input.default, float) else 0.0
        default_text = (
            program_input.default
            if isinstance(program_input.default, str)
            else ("not given" if program_input.default is None else "")
        )
        value_by_name[program_input.name] = DescribedValue(
            program_input.name,
            Given(default_number, program_input.dimension, default_text),
            program_input.meaning,
            "default",
        )
    return CatalogueEntry("program", name, program.title, program.source, value_by_name)


def _law_entry(name: str) -> CatalogueEntry:
    if name not in LAWS:
        raise UnknownNameError("law", name, list(LAWS))
    law = LAWS[name]
    text_lines = [law.text, *(f"holds for {condition}" for condition in law.conditions)]
    text_lines += [
        f"{symbol.name} [{symbol.dimension}]: {symbol.meaning}"
        for symbol in (law.gives, *law.symbols)
    ]
    law_text = "\n".join([*text_lines, law.note] if law.note else text_lines)
    return CatalogueEntry("law", name, law.title, law.source, {}, law_text)


def _workload_entries(name: str) -> dict[str, DescribedValue]:
    """Describe the inputs of a workload as its program reads them on any machine that it runs
    on.
    """
    built_workload = build_workload(Scalar(name, name, Mark("show", 1, 1), quoted=True), Library())
    source_node = node_at(Library().load("workload", name), ["source"])
    source_text = str(plain_data(source_node)) if source_node is not None else ""
    return {
        path: DescribedValue(path, entry.given, entry.meaning, entry.source or source_text)
        for path, entry in built_workload.entries.items()
        if not path.startswith(("machine.", "technology."))
    }
