"""The files of a report: the tidy table of results, and the folder, made beside its place and moved in file by file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.errors import InputError
from slipstick.report.document import as_data
from slipstick.report.formatting import need
from slipstick.report.live import LiveModel, report_page
from slipstick.report.page import page
from slipstick.results.question import case_table, sweep_table
from slipstick.results.study import Provenance, Results, Timeline, split_name

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import StudySpec


MOST_EARLIER = 16 * 1024 * 1024
"""So many characters of an earlier inputs.yaml are read."""

PAGE, TABLE, INPUTS, HTML = "report.md", "results.csv", "inputs.yaml", "report.html"
_PICTURES = (".png", ".svg")


def frame(results: Results, answer: Sequence[str]) -> pl.DataFrame:
    """Lay out results as one tidy table: the cases first, then each sweep, then what each question adds.

    Columns are ``sweep`` (empty for cases, else the sweep or the question), ``case``, one for each varied path with its
    base unit (names have none), one for each value with its base unit, ``low VALUE`` and ``high VALUE`` behind a value that
    has an interval or a band anywhere, ``limit[pipeline]``, ``method``, ``exact`` and ``bound``, ``failed``, and those of
    the questions, see `slipstick.results.question`.

    Parameters
    ----------
    results : of a study
    answer : the values to give, such as ``time`` or ``account[lock]``

    Raises
    ------
    MissingExtraError : polars is not installed
    """
    need("polars", "a table of results")
    import polars as pl

    solved = bool(results.cases or results.sweeps)
    names = [name for name in dict.fromkeys(answer) if solved and split_name(name)[0] != "limit"]
    cases = case_table(results, names)
    parts: list[Mapping[str, Any]] = [{**cases.file_columns(), "sweep": [None] * len(cases)}]
    parts += [sweep_table(sweep, names).file_columns() for sweep in results.sweeps]
    leading: dict[str, Any] = {}
    added: dict[str, Any] = {}
    for found in results.questions.values():
        for block in (table.file_columns() for table in found.tables()):
            parts.append(block)
            for name, column in block.items():
                first = found.leading_columns and name.endswith("]")
                (leading if first else added).setdefault(name, _column_type(column))
    every = [axis for sweep in results.sweeps for axis in sweep.axes]
    axes = {
        axis.path if axis.named else f"{axis.path} [{axis.unit}]": pl.String if axis.named else pl.Float64
        for axis in every
    }
    written = {name for part in parts for name in part}
    heads = [(end, f"{end}{_head(results, name)}") for name in names for end in ("", "low ", "high ")]
    values = {head: pl.Float64 for end, head in heads if not end or head in written}
    limits = {f"limit[{name}]": pl.String for name in results.pipelines}
    how = dict.fromkeys([*Provenance([], []).columns(), *({"error"} & written)], pl.String)
    schema = {"sweep": pl.String, "case": pl.String, **leading, **axes, **values, **limits, **how, "failed": pl.String}
    schema = {**schema, **{name: dtype for name, dtype in added.items() if name not in schema}}
    return pl.concat([_part(columns, schema) for columns in parts])


def _column_type(values: Iterable[object]) -> Any:
    """Tell columns of text from columns of numbers."""
    import polars as pl

    return pl.String if any(isinstance(each, str) for each in values) else pl.Float64


def write_csv(results: Results, answer: Sequence[str], path: Path) -> None:
    """Write the table as CSV: full double precision, nothing where there is no value.

    Parameters
    ----------
    results, answer : as for `frame`
    path : the file
    """
    _write(frame(results, answer), path)


def _write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a further table of a question as CSV; its rows all have the same columns."""
    import polars as pl

    columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    schema = {name: _column_type(column) for name, column in columns.items()}
    _write(pl.DataFrame(columns, schema=schema), path)


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_csv(path, line_terminator="\n", null_value="")


def _part(columns: Mapping[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
    """Give one part all columns of the whole, empty where it has none."""
    import polars as pl

    height = len(columns["case"])
    filled = [
        pl.Series(name, columns[name], dtype=dtype, strict=False)
        if name in columns
        else pl.Series(name, [None], dtype=dtype).new_from_index(0, height)
        for name, dtype in schema.items()
    ]
    # Not-a-number is how arrays say that there is no value.
    return pl.DataFrame(filled).fill_nan(None)


def _head(results: Results, name: str) -> str:
    return f"{name} [{results.unit(name)}]"


def write(
    results: Results, study: StudySpec, folder: Path, command: str, as_page: bool = False, live: LiveModel | None = None
) -> list[Path]:
    """Write report.md, results.csv, further tables of questions, inputs.yaml and the pictures; whole, or nothing at all.

    Pictures that an earlier run listed in its inputs.yaml and this one does not draw are removed.

    Parameters
    ----------
    results : of a study
    study : what was asked
    folder : where to; it is made if it is not there
    command : what was typed, to be repeated
    as_page : write report.html as well, with the pictures inside
    live : a model that runs there

    Raises
    ------
    MissingExtraError : polars or matplotlib is not installed; nothing has been written then
    """
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside its place, for a move is only at once within one file system.
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        names = _fill(work, results, study, command)
        if as_page:
            _write_text(
                work / HTML, report_page(results.title or results.name, (work / PAGE).read_text("utf-8"), work, live)
            )
        target.mkdir(exist_ok=True)
        for stale in _stale(target, names):
            (target / stale).unlink(missing_ok=True)
        for name in [*names, HTML] if as_page else names:
            os.replace(work / name, target / name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return [folder / name for name in names]


def write_timeline(timeline: Timeline, path: Path, title: str) -> None:
    """Write a timeline as Chrome trace JSON, or as a picture, by the ending of its name; whole, or nothing.

    Parameters
    ----------
    timeline : what to write
    path : where to: .json, .png or .svg
    title : heading of the picture

    Raises
    ------
    InputError : the ending is another
    MissingExtraError : matplotlib is not installed
    """
    from slipstick.report.timeline import chrome_trace, draw_timeline

    if path.suffix == ".json":
        _replace(path, lambda work: _write_text(work, chrome_trace(timeline)))
    elif path.suffix in _PICTURES:
        write_picture(lambda: draw_timeline(timeline, title), path)
    else:
        raise InputError(f"a timeline is written to a file that ends in .json, .png or .svg, not to {path.name}")


def write_picture(draw: Callable[[], Figure], path: Path) -> None:
    """Draw a picture into a file, PNG or SVG by the ending of its name; whole, or nothing.

    Parameters
    ----------
    draw : gives the picture
    path : where to

    Raises
    ------
    InputError : the ending is another
    MissingExtraError : matplotlib is not installed
    """
    if path.suffix not in _PICTURES:
        raise InputError(f"pictures are drawn into a file that ends in .png or .svg, not into {path.name}")
    from slipstick.report.pictures import look, store

    def made(work: Path) -> None:
        with look():
            store(draw(), work)

    _replace(path, made)


def _replace(path: Path, make: Callable[[Path], object]) -> None:
    """Make a file beside its place, then move it there."""
    work = path.with_name(f".{path.name}.part{path.suffix}")
    try:
        make(work)
        os.replace(work, path)
    finally:
        work.unlink(missing_ok=True)


def _fill(work: Path, results: Results, study: StudySpec, command: str) -> list[str]:
    """Write everything into a folder of its own; the inputs come last, for they list the others."""
    pictures = _draw(results, study, work)
    drawn = [name for files in pictures.values() for name in files]
    write_csv(results, study.answer, work / TABLE)
    further = {name: rows for each in results.questions.values() for name, rows in each.files().items()}
    for name, rows in further.items():
        _write_rows(rows, work / name)
    _write_text(work / PAGE, page(results, study, pictures, command))
    names = [PAGE, TABLE, *further, *drawn, INPUTS]
    _write_text(work / INPUTS, _inputs_text(results, names, command))
    return names


def _draw(results: Results, study: StudySpec, work: Path) -> dict[str, list[str]]:
    if not study.pictures:
        return {}
    from slipstick.report.pictures import fill_order, save

    order = fill_order(results, study.pictures)
    return {spec.name: [path.name for path in save(results, spec, work, order)] for spec in study.pictures}


def _write_text(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def _inputs_text(results: Results, names: Sequence[str], command: str) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True  # our own reader refuses aliases

    document = {
        "command": command,
        "versions": results.versions,
        "hashes": results.hashes,
        "files": names,
        "settings": results.settings,
        "resolved": results.resolved,
    }
    return str(yaml.dump(as_data(document), Dumper=Dumper, sort_keys=False, width=120))


def is_current(folder: Path, hashes: Mapping[str, str], versions: Mapping[str, str], command: str) -> bool:
    """Say whether a folder holds, whole, what the same command on the same files would write."""
    earlier = _earlier(folder)
    same = (earlier.get("hashes"), earlier.get("versions"), earlier.get("command")) == (
        dict(hashes),
        dict(versions),
        command,
    )
    return same and all((folder / name).is_file() for name in _files(earlier))


def _stale(target: Path, names: Sequence[str]) -> list[str]:
    """List the pictures of an earlier run that are not drawn any more."""
    # The file may have been edited: only pictures, and only in this folder.
    ours = [name for name in _files(_earlier(target)) if Path(name).name == name and name.endswith(_PICTURES)]
    return [name for name in ours if name not in names]


def _earlier(folder: Path) -> Mapping[str, Any]:
    """Read what an earlier run said of itself; nothing if it cannot be read."""
    import yaml

    try:
        with (folder / INPUTS).open(encoding="utf-8") as file:
            # All that is needed of it is text; what else YAML knows, such as merging, may take without end.
            earlier = yaml.load(file.read(MOST_EARLIER), Loader=yaml.BaseLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return earlier if isinstance(earlier, dict) else {}


def _files(earlier: Mapping[str, Any]) -> list[str]:
    files = earlier.get("files")
    return [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
