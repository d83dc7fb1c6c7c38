"""The commands that look things up, check files and begin new ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click

from slipstick.cli.console import (
    DONE,
    completion_function,
    echo,
    json_option,
    model_limit_option,
    out_option,
    print_json,
    write_text,
)
from slipstick.errors import InputError, Problem, SpecError, UnknownNameError


@click.command("list")
@click.argument("kind", required=False, shell_complete=completion_function("kind"))
@click.option(
    "--search",
    metavar="TEXT",
    help="Only entries with TEXT in their name or title, and laws known by this word.",
)
@click.option(
    "--all",
    "in_full",
    is_flag=True,
    help=("List every name with its title. [as many as fit on a screen]"),
)
@json_option
def list_(kind: str | None, search: str | None, in_full: bool, as_json: bool) -> int:
    """List the shipped models, studies, machines and laws.

    KIND is machine, network, workload, technology, trend, activity, queueing-network,
    batch-server, counts, fitted, profile, study, program or law.

    \b
    Examples:
      slipstick list law
      slipstick list --search barrier
      slipstick list --search M/M/1
    """
    from slipstick.report.answer import catalogue_summary, catalogue_text
    from slipstick.study.catalogue import catalogue_lines

    is_summary = kind is None and search is None and not (in_full or as_json)
    # Titles would be read from hundreds of files, and the summary shows names only.
    lines = catalogue_lines(kind, search or "", with_titles=not is_summary)
    if as_json:
        print_json({"catalogue": [asdict(line) for line in lines]})
        return DONE
    return write_text(
        (catalogue_summary(lines) if is_summary else catalogue_text(lines, in_full)) + "\n", None
    )


@click.command()
@click.argument("name", metavar="[KIND/]NAME", shell_complete=completion_function("spec"))
@click.option("--yaml", "as_yaml", is_flag=True, help="Print the file itself.")
@json_option
def show(name: str, as_yaml: bool, as_json: bool) -> int:
    """Show every value of a file with its path, unit and source.

    \b
    Examples:
      slipstick show machine/rs6000-43p-atm
      slipstick show --yaml network/infiniband-hdr > my-network.yaml
    """
    from slipstick.report.answer import spec_text
    from slipstick.study.catalogue import catalogue_entry, spec_file

    if as_yaml:
        return write_text(spec_file(name), None)
    catalogue_spec = catalogue_entry(name)
    if as_json:
        from slipstick.report.answer import value_documents

        head_fields = {
            key: getattr(catalogue_spec, key) for key in ("kind", "name", "title", "source", "text")
        }
        print_json({**head_fields, "values": value_documents(catalogue_spec.entries)})
        return DONE
    return write_text(spec_text(catalogue_spec) + "\n", None)


@click.command()
@click.argument("kind", shell_complete=completion_function("kind"))
@click.option(
    "--from",
    "name",
    metavar="NAME",
    default="",
    help="File or name in the catalogue to copy.",
)
@out_option
def new(kind: str, name: str, out: Path | None) -> int:
    """Write a commented file to begin with.

    KIND is machine, network, workload, technology, trend, activity, queueing-network,
    batch-server, study, profile or counts.

    The first line of the file names a schema, with which editors complete and check it.
    With --out, the schema is written beside the file.

    \b
    Examples:
      slipstick new activity --out mine.yaml
      slipstick new machine --from rs6000-43p-atm --out my-machine.yaml
    """
    from slipstick.schema.library import editor_schema, next_command, starter

    starter_text = starter(kind, name)
    if out is None:
        return write_text(starter_text, None)
    # A file to begin with must never replace work.
    if out.exists():
        raise InputError(f"{out} is there already; choose another name with --out")
    write_text(starter_text, out)
    echo(f"next: change what differs, then {next_command(kind, str(out))}", err=True)
    # Editors find the schema beside the file and complete its keys.
    schema_file = out.with_name(f"{kind}.schema.json")
    return (
        DONE
        if schema_file.exists()
        else write_text(json.dumps(editor_schema(kind), indent=2) + "\n", schema_file)
    )


@click.command()
@click.argument("specs", nargs=-1, required=True, shell_complete=completion_function("spec"))
@model_limit_option
@json_option
def check(specs: Sequence[str], as_json: bool) -> int:
    """Check files, or names of the catalogue, for mistakes, without solving anything."""
    from slipstick.study.check import check_reference

    problems: list[Problem] = []
    for spec in specs:
        try:
            kinds = check_reference(spec)
        except SpecError as error:
            problems += error.problems
        else:
            if not as_json:
                click.echo("\n".join(f"{spec}: a valid {kind}" for kind in kinds))
    # All files are checked before the first error ends the command.
    if problems:
        raise SpecError(problems)
    if as_json:
        print_json({"answers": []})
    return DONE


@click.command()
@click.argument("kind", shell_complete=completion_function("kind"))
def schema(kind: str) -> int:
    """Print the JSON Schema of a kind of file, for editors.

    KIND is machine, network, workload, technology, trend, activity, queueing-network,
    batch-server, study, profile or counts.
    """
    from slipstick.schema.library import editor_schema

    return write_text(json.dumps(editor_schema(kind), indent=2) + "\n", None)


@click.command()
@click.argument("term", required=False)
def glossary(term: str | None) -> int:
    """Print the glossary, or the entries that mention a term.

    \b
    Examples:
      slipstick glossary
      slipstick glossary "service demand"
    """
    if term is None:
        glossary_path = Path(__file__).parent.parent / "documentation" / "glossary.md"
        return write_text(glossary_path.read_text("utf-8"), None)
    return write_text(glossary_text(term), None)


def glossary_text(term: str) -> str:
    """Return the entries of the glossary that mention a term, those named by it first; if none
    does, the entries of the catalogue with that name or title.

    Raises
    ------
    UnknownNameError : neither mentions the term
    """
    from slipstick.report.answer import catalogue_text
    from slipstick.study.catalogue import catalogue_lines, glossary_entries, mentions

    meaning_by_term = glossary_entries()
    terms = [
        entry_term
        for entry_term in meaning_by_term
        if mentions(f"{entry_term} {meaning_by_term[entry_term]}", term)
    ]
    if not terms:
        # A word without a definition may be the name of a law or of a model.
        with suppress(UnknownNameError):
            return catalogue_text(catalogue_lines(search=term)) + "\n"
        raise UnknownNameError(
            "term", term[:100], [entry_term.lower() for entry_term in meaning_by_term]
        )
    # The term itself comes before those that only mention it.
    terms.sort(
        key=lambda entry_term: (entry_term.lower() != term.lower(), not mentions(entry_term, term))
    )
    return "".join(f"{entry_term}: {meaning_by_term[entry_term]}" for entry_term in terms)
