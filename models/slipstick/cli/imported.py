"""The command that makes specs of files that other tools wrote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slipstick.cli.console import DONE, json_option, print_json
from slipstick.errors import Problem, SpecError

if TYPE_CHECKING:
    from slipstick.measure.imports.imported import ImportedSpec


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, metavar="SPEC", type=click.Path(path_type=Path), help="Spec to write.")
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help="osu, imb, perftest, netgauge, stream, hpcg, mlc, perf-stat, jmva, lqn, pdq. [told from the content]",
)
@click.option("--placement", metavar="PLACE", help="Of two processes that exchange messages: node, switch, network.")
@click.option("--extends", metavar="MACHINE", help="Machine that has what a benchmark of its memory does not tell.")
@click.option("--processors", type=click.IntRange(1), help="Processors or threads, where the file does not say.")
@click.option("--unit", metavar="UNIT", help="Unit of times in models of other tools. [s]")
@json_option
def import_(
    files: Sequence[Path],
    out: Path,
    format_: str | None,
    placement: str | None,
    extends: str | None,
    processors: int | None,
    unit: str | None,
    as_json: bool,
) -> int:
    """Make a spec of files that other tools wrote: a network, a machine's memory, an activity, or a queueing network.

    FILE is the output of OSU micro-benchmarks, Intel MPI Benchmarks, perftest or netgauge (together one network), STREAM, HPCG or
    Intel MLC (values over a machine), perf stat (an activity), or a model of JMT (JMVA), LQNS (LQNX) or PDQ.

    \b
    Examples:
      slipstick import osu_latency.txt osu_bw.txt -o my-network.yaml --placement switch
      slipstick import stream.txt -o host.yaml --extends linux-cluster
      slipstick import model.jmva -o model.yaml
    """
    from slipstick.measure.imports.formats import import_spec
    from slipstick.measure.measurements import Hints
    from slipstick.report.formatting import TextTable, terminal_blocks

    check_new(out)
    spec = import_spec(files, Hints(processors, unit=unit), format_, placement, extends)
    write_spec(spec, out)
    if as_json:
        told = {"kind": spec.kind, "file": str(out), "spec": spec.document, "notes": spec.words}
        print_json({**told, "fit": [dict(zip(spec.head, row, strict=True)) for row in spec.rows]})
    else:
        table = TextTable(spec.head, spec.rows, range(4)) if spec.rows else ""
        click.echo(terminal_blocks([table, spec.words, f"The {spec.kind} is in {out}."]), nl=False)
    return DONE


def check_new(out: Path) -> None:
    """Refuse a spec to write that is no YAML, or is there already.

    Raises
    ------
    SpecError : it is one of these
    """
    if out.suffix not in (".yaml", ".yml") or out.exists():
        why = "there is such a file already; name another" if out.exists() else "name a file that ends in .yaml"
        raise SpecError([Problem(f"--out {out}", 1, 1, "", why)])


def write_spec(spec: ImportedSpec, out: Path) -> None:
    """Write a spec; its file is there as a whole and checked, or not at all."""
    from slipstick.study.check import check_file

    work = out.with_name(f".{out.stem}.part.yaml")
    try:
        work.write_text(spec.text(), "utf-8")
        check_file(work)
        os.replace(work, out)
    finally:
        work.unlink(missing_ok=True)
