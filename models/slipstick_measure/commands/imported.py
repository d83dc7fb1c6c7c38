"""The command that makes specs of files that other tools wrote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from slipstick.cli.console import (
    DONE,
    WholeNumberRange,
    json_option,
    model_limit_option,
    print_json,
    refuse,
)
from slipstick.errors import short
from slipstick_measure.commands.measured import servers_of, servers_option

force_option = click.option(
    "--force", "may_replace", is_flag=True, help="Replace a spec that exists already."
)


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="SPEC",
    type=click.Path(path_type=Path),
    help="Spec to write.",
)
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help=(
        "osu, imb, perftest, netgauge, stream, hpcg, mlc, perf-stat, jsim, jmva, lqn, pdq,"
        " kerncraft, simgrid, calculon, hwloc, lstopo, likwid-topology. [by the content]"
    ),
)
@click.option(
    "--placement",
    metavar="PLACE",
    help="Place of two processes that exchange messages: node, switch or network.",
)
@click.option(
    "--extends",
    metavar="MACHINE",
    help="Machine that supplies the values that the file does not have.",
)
@click.option(
    "--processors",
    type=WholeNumberRange(1),
    help="Number of processors or threads, if the file does not have it.",
)
@click.option("--unit", metavar="UNIT", help="Unit of times in models of other tools. [s]")
@click.option(
    "--leave-out",
    "leave_out",
    metavar="LOSS",
    multiple=True,
    help="Feature to leave out although this changes the answer; may be given several times.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=NUMBER",
    multiple=True,
    help="Value of a variable of the model; may be given several times.",
)
@click.option(
    "--study",
    metavar="STUDY",
    type=click.Path(path_type=Path),
    help="Also write a study over the ranges of values in the model.",
)
@force_option
@servers_option
@model_limit_option
@json_option
def import_(
    files: Sequence[Path],
    out: Path,
    format_: str | None,
    placement: str | None,
    extends: str | None,
    processors: int | None,
    unit: str | None,
    leave_out: Sequence[str],
    settings: Sequence[str],
    study: Path | None,
    may_replace: bool,
    servers: Sequence[str],
    as_json: bool,
) -> int:
    """Convert files of other tools into a network, a machine, an activity or a queueing network.

    FILE is the output of OSU micro-benchmarks, Intel MPI Benchmarks, perftest or netgauge (a
    network); of STREAM, HPCG or Intel MLC (memory of a machine); of perf stat (an activity); a load
    test with the utilization of tiers (a queueing network); a model of JMT (JMVA, JSIM), LQNS (LQNX
    or LQN) or PDQ; or a machine of Kerncraft, SimGrid, Calculon, hwloc, lstopo or likwid-topology.

    \b
    Examples:
      slipstick import osu_latency.txt osu_bw.txt -o my-network.yaml --placement switch
      slipstick import stream.txt -o host.yaml --extends linux-cluster
      slipstick import model.jmva -o model.yaml
    """
    from slipstick.report.formatting import TextTable, terminal_blocks
    from slipstick_measure.formats import LOAD_FORMATS, load_test
    from slipstick_measure.imports.formats import import_spec
    from slipstick_measure.imports.imported import check_new_file
    from slipstick_measure.imports.loads import load_spec
    from slipstick_measure.measurements import Hints

    check_new_file(out, may_replace)
    if study is not None:
        check_new_file(study, may_replace)
    left_out_causes = tuple(
        dict.fromkeys(name for option_text in leave_out for name in option_text.split(","))
    )
    hints = Hints(
        processors, unit=unit, leave_out=left_out_causes, settings=_parse_numbers(settings)
    )
    measured_load = None
    if format_ is None or format_ in LOAD_FORMATS:
        measured_load = load_test(files, [hints] * len(files), servers_of(servers), format_)
    if measured_load is not None:
        spec = load_spec(measured_load)
    else:
        spec = import_spec(files, hints, format_, placement, extends)
    study_spec = None if study is None else spec.study(os.path.relpath(out, study.parent))
    if study is None and spec.axes:
        spec.add_note("the file has ranges of values, which --study STUDY writes")
    spec.write(out)
    if study_spec is not None and study is not None:
        study_spec.write(study)
    if as_json:
        spec_document = {
            "kind": spec.kind,
            "file": str(out),
            "spec": spec.document,
            "notes": spec.notes,
        }
        print_json(
            {
                **spec_document,
                "fit": [dict(zip(spec.table_heading, row, strict=True)) for row in spec.table_rows],
            }
        )
    else:
        table = TextTable(spec.table_heading, spec.table_rows, range(4)) if spec.table_rows else ""
        click.echo(terminal_blocks([table, spec.notes, f"The {spec.kind} is in {out}."]), nl=False)
    return DONE


def _parse_numbers(settings: Sequence[str]) -> dict[str, str]:
    """Return the texts of numbers by the name of a variable, from texts NAME=NUMBER; refuse other
    texts.
    """
    number_text_by_name: dict[str, str] = {}
    for option_text in settings:
        name, separator, number_text = option_text.partition("=")
        if not separator or not name or not number_text:
            refuse("--set", f"{short(option_text)} is not NAME=NUMBER")
        number_text_by_name[name.strip().removeprefix("$")] = number_text.strip()
    return number_text_by_name
