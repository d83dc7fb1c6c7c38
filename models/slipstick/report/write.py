"""The files of a report: the tidy table of results, texts, pictures, and the manifest that lists
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.errors import MissingExtraError, import_optional
from slipstick.extensions import FUNCTIONS
from slipstick.late import late_pattern
from slipstick.report.answer import stated_rate_unit
from slipstick.report.folder import INPUTS, SETTINGS, digest, new_report
from slipstick.report.formatting import with_noun
from slipstick.report.html import NARROW, PageSection, report_page
from slipstick.report.page import report_in_markdown
from slipstick.report.shorten import DETAILS, first_page
from slipstick.results.question import TidyColumn, as_data, tidy_cells
from slipstick.results.study import Results, tidy_columns
from slipstick.units import with_rates_in

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import StudySpec


PAGE = "report.md"
"""The name of the file with the report in Markdown."""
TABLE = "results.csv"
"""The name of the file with the tidy table of all results."""
HTML = "report.html"
"""The name of the file with the report as a page."""
PICTURE_ENDINGS = (".png", ".svg")
_QUOTED = late_pattern('[",\n\r]')


def write_csv(results: Results, value_names: Sequence[str], path: Path) -> None:
    """Write the tidy table of results as CSV: full double precision, empty cells where there is no
    value.

    Parameters
    ----------
    results, value_names : as for `slipstick.results.study.tidy_columns`
    path : the file
    """
    _write_table(tidy_columns(results, value_names), path)


def _write_table(table: Mapping[str, TidyColumn], path: Path) -> None:
    rows = [list(table), *zip(*table.values(), strict=True)]
    _write_text(path, "".join(",".join(map(_csv_cell, row)) + "\n" for row in rows))


def _csv_cell(value: float | str | None) -> str:
    """Write one cell of a CSV file: nothing for a missing value, quotes for an empty text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"' if not value or _QUOTED.search(value) else value
    # As polars writes small numbers, which wrote these files before: reports keep their bytes.
    mantissa_text, has_exponent, exponent = repr(value).partition("e-")
    if has_exponent and int(exponent) == 5:
        return f"{'-' * (value < 0)}0.0000{mantissa_text.lstrip('-').replace('.', '')}"
    return f"{mantissa_text}e-{int(exponent)}" if has_exponent else mantissa_text


def write(
    results: Results,
    study: StudySpec,
    folder: Path,
    command: str,
    as_page: bool = False,
    live_section: PageSection | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the files of a report into its folder: report.md, results.csv, tables of questions,
    pictures and inputs.yaml.

    Parameters
    ----------
    results : of a study
    study : what was asked
    folder : where to; it is made if it is not there
    command : what was typed, to be repeated
    as_page : write report.html as well, with the pictures inside
    live_section : the section of a model that runs there
    force : as for `slipstick.report.folder.check_folder`

    Notes
    -----
    Without matplotlib the report has a note in the place of its pictures.
    """
    rate_unit = next(map(stated_rate_unit, results.cases.values()), "")
    with new_report(folder, force) as work_folder, with_rates_in(rate_unit):
        file_names = _write_files(work_folder, results, study, command, as_page)
        if as_page:
            page_markdown = (work_folder / (DETAILS if DETAILS in file_names else PAGE)).read_text(
                "utf-8"
            )
            _write_text(
                work_folder / HTML,
                report_page(
                    results.title or results.name, page_markdown, work_folder, live_section
                ),
            )
            file_names.append(HTML)
            for path in work_folder.glob(f"*{NARROW}"):  # inside of the page now
                path.unlink()
        digest_by_file = {name: digest(work_folder / name) for name in file_names}
        _write_text(work_folder / INPUTS, _inputs_text(results, digest_by_file, command))
    return [folder / name for name in (*file_names, INPUTS)]


def report_of(results: Results, folder: Path, as_page: bool) -> list[Path]:
    """Write the report of results into a folder, with an HTML page if `as_page`."""
    return write(results, results.spec, folder, f"slipstick run {results.name}", as_page)


def certain_file_names(study: StudySpec, as_page: bool) -> list[str]:
    """List the files that the report of a study will certainly contain, before it is solved.

    Parameters
    ----------
    study : what is asked
    as_page : report.html is one of them
    """
    drawn_pictures = () if missing_pictures(study) else study.pictures
    picture_files = [
        f"{picture.name}{ending}" for picture in drawn_pictures for ending in PICTURE_ENDINGS
    ]
    return [PAGE, TABLE, INPUTS, *[HTML] * as_page, *picture_files]


def _write_files(
    work_folder: Path, results: Results, study: StudySpec, command: str, as_page: bool
) -> list[str]:
    """Write all files except the manifest into a folder, and return their names for the manifest;
    for a page also narrow pictures, which are not among them.
    """
    are_drawn = study.pictures and not missing_pictures(study)
    pictures = (
        FUNCTIONS["pictures of a report"](results, study.pictures, work_folder, as_page)
        if are_drawn
        else {}
    )
    picture_files = [name for files in pictures.values() for name in files]
    write_csv(results, study.answer, work_folder / TABLE)
    files_of_questions = {
        name: rows
        for question in results.questions.values()
        for name, rows in question.files().items()
    }
    for name, rows in files_of_questions.items():
        column_names = rows[0] if rows else ()
        column_by_name = {
            column_name: tidy_cells([row[column_name] for row in rows])
            for column_name in column_names
        }
        _write_table(column_by_name, work_folder / name)
    full_page = report_in_markdown(results, study, pictures, command, missing_pictures(study))
    first_page_text = first_page(full_page)
    details_by_name = {DETAILS: full_page} if first_page_text != full_page else {}
    for name, text in {PAGE: first_page_text, **details_by_name}.items():
        _write_text(work_folder / name, text)
    return [PAGE, *details_by_name, TABLE, *files_of_questions, *picture_files]


def missing_pictures(study: StudySpec) -> str:
    """Return why the pictures of a study are not drawn; empty if they are, or if the study has
    none.
    """
    # Without Matplotlib a report has no pictures, and says why; its numbers are the same.
    try:
        if study.pictures:
            import_optional(
                "matplotlib",
                f"drawing the {with_noun(len(study.pictures), 'picture')} of this study",
            )
    except MissingExtraError as error:
        return str(error)
    return ""


def _write_text(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def _inputs_text(results: Results, digest_by_file: Mapping[str, str], command: str) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True  # our own reader refuses aliases

    document = {
        "command": command,
        "versions": results.versions,
        "hashes": results.hashes,
        "files": digest_by_file,
        SETTINGS: results.settings,
        "resolved": results.resolved,
    }
    return str(yaml.dump(as_data(document), Dumper=Dumper, sort_keys=False, width=120))
