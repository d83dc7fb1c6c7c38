"""Specs made from files of other tools. Every value has its source, and values that are conventions
are marked as assumed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from slipstick.errors import Problem, SpecError
from slipstick.files import replacement_file
from slipstick.late import dataclass, field, replace
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import Library, spec_model
from slipstick.schema.text import Table, read_text
from slipstick.study.check import check_file

SpecAxes = dict[str, list[Any]]
"""Values by path of a spec, which vary together."""


@dataclass
class ImportedSpec:
    """A spec made from a file, with its notes and a table of how well it fits.

    Attributes
    ----------
    kind, title : of the spec
    file : the file that it is made from
    document : the spec, as plain data
    notes : sentences for the reader: residuals, limits found, what was left out
    table_heading, table_rows : headings and rows of the table of residuals; empty if
        nothing was fitted
    command_words : the command that made it, with the word before the file's name
    axes : ranges of values in the file, for a study
    """

    kind: str
    title: str
    file: str
    document: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    table_heading: list[str] = field(default_factory=list)
    table_rows: list[list[str]] = field(default_factory=list)
    command_words: str = "import from"
    axes: list[SpecAxes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.document = {self.kind: 1, "title": self.title, **self.document}

    def add_note(self, note: str) -> None:
        """Add a note on the spec, unless it has it already."""
        if note not in self.notes:
            self.notes.append(note)

    def study(self, model: str) -> ImportedSpec:
        """Return a study of the spec over the ranges of values in the imported file.

        Parameters
        ----------
        model : the file of the spec

        Raises
        ------
        SpecError : the file has no ranges of values
        """
        if not self.axes:
            message = "the file has no ranges of values; leave --study out"
            raise SpecError([Problem("--study", 1, 1, "", message)])
        ranges_by_name = {
            f"range_{axes_number}": {"axes": axes, **({"combine": "zip"} if len(axes) > 1 else {})}
            for axes_number, axes in enumerate(self.axes, 1)
        }
        document = {"base": {"model": model}, "vary": ranges_by_name}
        title = f"{self.title}, over its ranges"
        return ImportedSpec("study", title, self.file, document)

    def text(self) -> str:
        """Return the spec as YAML text, after checking it like a user's file.

        Raises
        ------
        SpecError : the spec is not valid, because the file that it is made from is not
        """
        import yaml

        comment_lines = [
            f"# Made by slipstick {self.command_words} {self.file}.",
            *(f"# {sentence}" for sentence in self.notes),
        ]
        body = yaml.dump(
            self.document, Dumper=_yaml_writer(), sort_keys=False, allow_unicode=True, width=110
        )
        text = "\n".join(" ".join(line.split("\n")) for line in comment_lines) + "\n" + body
        library = Library()
        parsed_text = read_text(text, f"{self.file}, as {self.kind}")
        assert isinstance(parsed_text, Table)
        tree = library.resolve(self.kind, parsed_text)
        validate(spec_model(self.kind, tree), tree)
        return text

    def write(self, out: Path) -> None:
        """Write the spec to a file; after an error the file does not exist."""
        with replacement_file(out) as unfinished_file:
            unfinished_file.write_bytes(self.text().encode())
            try:
                check_file(unfinished_file)
            except SpecError as error:  # lines of a file that is not kept tell nothing
                file = f"{self.file}, as {self.kind}"
                problems = [replace(problem, file=file, line=1) for problem in error.problems]
                raise SpecError(problems) from None


def check_new_file(out: Path, may_replace: bool = False) -> None:
    """Raise SpecError if a path for a new spec does not end as YAML, cannot be written, or exists
    already and may not be replaced.
    """
    reason = ""
    if out.suffix not in (".yaml", ".yml"):
        reason = "name a file that ends in .yaml"
    elif out.exists() and not may_replace:
        reason = "there is such a file already; add --force to replace it, or name another"
    elif not out.parent.is_dir() or not os.access(out.parent, os.W_OK):
        reason = f"nothing can be written into {out.parent}; choose another place"
    if reason:
        raise SpecError([Problem(f"--out {out}", 1, 1, "", reason)])


def _yaml_writer() -> Any:
    """Return a class that writes YAML with each quantity and each short list on one line."""
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # at C speed where it is built
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent_table(dumper: Any, data: dict[str, Any]) -> Any:
        """Represent a table on one line if it is a quantity or short, else on several lines."""
        is_flat = bool(data) and not any(isinstance(value, (dict, list)) for value in data.values())
        is_short = is_flat and (
            "value" in data or sum(len(f"{key}: {value}, ") for key, value in data.items()) < 90
        )
        return dumper.represent_mapping(
            "tag:yaml.org,2002:map", data.items(), flow_style=is_short and len(data) < 12
        )

    Dumper.add_representer(dict, represent_table)
    return Dumper


def quantity(
    value: float, unit: str, source: str, is_assumed: bool = False, *interval_ends: float
) -> dict[str, Any]:
    """Return a quantity with its source, to six digits; `is_assumed` marks conventions and guesses,
    `interval_ends` is the interval.
    """
    text, *end_texts = (
        f"{value_or_end:.6g} {unit}".strip().removesuffix(" 1")
        for value_or_end in (value, *interval_ends)
    )
    interval_texts = dict(zip(("low", "high"), end_texts, strict=False))
    return {
        "value": text,
        **interval_texts,
        "source": source,
        **({"assumed": True} if is_assumed else {}),
    }
