"""The commands for measured data: what runs and traces say, models fitted to runs, and how such
files are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slipstick.cli.console import (
    DONE,
    NO_ANSWER,
    ProgressLine,
    WholeNumberRange,
    echo,
    json_option,
    model_limit_option,
    nodes_of,
    plain_problems,
    print_json,
    refuse,
    set_option,
    text_node,
    with_options,
)
from slipstick.errors import ModelError, Problem, UnitError, did_you_mean
from slipstick_measure.commands.curves import CURVE_OPTIONS, continue_curves
from slipstick_measure.commands.estimated import (
    COLUMN_OPTIONS,
    estimate_rows,
    has_parameter_rows,
    refuse_options_of_runs,
)

VIEWS = ("matrix", "concurrency", "utilization", "work", "contention")
"""The views of a trace."""

if TYPE_CHECKING:
    from slipstick_measure.account import Measured
    from slipstick_measure.fit.formula import Family, Timings
    from slipstick_measure.loads import LoadTest
    from slipstick_measure.measurements import Hints, Measurements
    from slipstick_measure.results import Fitting, TraceViews


_DATA_OPTIONS = (
    click.argument(
        "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
    ),
    click.option(
        "--format",
        "format_",
        metavar="FORMAT",
        help=(
            "csv, extra-p, extra-p-json, extra-p-lines, hyperfine, hyperfine-text,"
            " google-benchmark, google-benchmark-text, pytest-benchmark, jmh, jmh-text, wrk,"
            " ab, hey, oha-json, ghz-json, rates-alone, vegeta, vegeta-json, bombardier,"
            " bombardier-json, gatling, siege, redis-benchmark, redis-benchmark-quiet, memtier,"
            " ycsb, artillery, autocannon, h2load, k6, k6-json,"
            " k6-points, sysbench, pgbench, fio, fio-text, locust, locust-text,"
            " locust-history, jtl, jmeter, jmeter-json, load-table,"
            " perf-stat, perf-lock, likwid, osu, imb, perftest, nccl, hpl, npb, hpcg, stream,"
            " likwid-bench, lammps, gromacs, gnu-time, netgauge, pop, profile, or of a trace:"
            " chrome, paraver,"
            " perf-mem, nsys, nsys-sqlite, timehist, records, otf2. [by the content]"
        ),
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="OURS=THEIRS",
        help="Name of a column in the file, such as p=ranks.",
    ),
    click.option("--unit", metavar="UNIT", help="Unit of times, such as s, if the file has none."),
    click.option(
        "--processors",
        metavar="N,...",
        help=(
            "Number of processors, if the files do not have it; one for all files or one for each."
        ),
    ),
    click.option(
        "--time",
        "times",
        metavar="T,...",
        help=("Elapsed time, such as '3.2 s', if the files do not have it."),
    ),
    click.option(
        "--size",
        metavar="N",
        help="Problem size, if the files do not have it; a fit uses the runs of this size only.",
    ),
    click.option(
        "--statistic",
        metavar="NAME",
        default="median",
        help="Statistic over repetitions: median, mean or min. [median]",
    ),
    click.option("--region", metavar="NAME", help="Part of the program. [the whole]"),
    click.option(
        "--scaling",
        type=click.Choice(["strong", "weak"]),
        help=("strong: only the processors grow; weak: the work grows with them. [by the file]"),
    ),
    click.option(
        "--waits",
        type=click.Choice(["sum", "mean"]),
        help=(
            "Whether waits in a table, or times of parts such as MPI, are sums over processors or"
            " means of one processor. [told from the file]"
        ),
    ),
    click.option(
        "--timer",
        metavar="T",
        help="Time of the timer at each event, such as '15 us'; measured waits include it.",
    ),
    model_limit_option,
)


servers_option = click.option(
    "--servers",
    multiple=True,
    metavar="TIER=N",
    help="Numbers of servers of the tiers of a load test, such as app=4,db=2. [1]",
)


_SCALABILITY_OPTIONS = (
    click.option(
        "--scalability",
        is_flag=True,
        help=(
            "Compare runs of several sizes at equal time, efficiency and memory by the latency"
            " ratio L / L'."
        ),
    ),
    click.option(
        "--keep",
        multiple=True,
        metavar="WHAT=VALUE",
        help=(
            "Goal of --scalability: efficiency=60%, time='2 s', or of a processor memory='2 GB'"
            " (memory=1000, the size, without a column of memory). [what most runs reach]"
        ),
    ),
)


@click.command()
@with_options(_DATA_OPTIONS)
@servers_option
@with_options(_SCALABILITY_OPTIONS)
@json_option
def measured(
    files: Sequence[Path],
    statistic: str,
    region: str | None,
    timer: str | None,
    scalability: bool,
    keep: Sequence[str],
    as_json: bool,
    **options: Any,
) -> int:
    """Show speed-up, efficiency and losses of measured runs.

    FILE is a table with a row for each run, a load test, the output of a benchmark, of Extra-P,
    perf stat -x or perf lock contention, a table of POP metrics, a profile in YAML, or a trace.

    \b
    Examples:
      slipstick measured timings.csv
      slipstick measured experiment.json --unit s
      slipstick measured p1.csv p2.csv p4.csv --processors 1,2,4
      slipstick measured locks.txt --processors 8 --time '3.2 s'
      slipstick measured runs.csv --scalability --keep efficiency=60%
    """
    from slipstick.results.question import answer_document
    from slipstick_measure.account import measured as account
    from slipstick_measure.report.measured import measured_text, notes_text

    server_count_by_tier = servers_of(options.pop("servers"))
    load_test = read_load_test(files, server_count_by_tier, **options)
    if load_test is not None:
        return _show_load(load_test, as_json)
    runs_account = account(
        read_data(files, **options), statistic, region, _parse_quantity("--timer", timer)
    )
    if scalability or keep:
        return _show_scalability(runs_account, keep, as_json)
    if as_json:
        print_json(
            {
                "answers": list(map(answer_document, runs_account.answers)),
                "notes": plain_problems(runs_account.notes),
            }
        )
    else:
        click.echo(
            measured_text(
                *(
                    runs_account.answers,
                    runs_account.title,
                    runs_account.source,
                    runs_account.statistic,
                    runs_account.rate,
                ),
                runs_account.member,
            ),
            nl=False,
        )
        click.echo(notes_text(runs_account.notes), nl=False, err=True)
    return NO_ANSWER if any(answer.failed for answer in runs_account.answers) else DONE


def _parse_goal(goal_text: str, has_memory: bool) -> tuple[str, float]:
    """Parse a goal of scalability: the name of the quantity that is kept constant, and its value. A
    memory is in bytes if it was measured; else it is a size.
    """
    quantity, _, value_text = goal_text.partition("=")
    memory_dimension = "BYTES" if has_memory else "COUNT"
    dimension_by_quantity = {"efficiency": "COUNT", "time": "TIME", "memory": memory_dimension}
    if quantity not in dimension_by_quantity or not value_text:
        refuse(
            "--keep",
            f"write one of {', '.join(dimension_by_quantity)} with a value; got {goal_text!r}",
        )
    goal_value = _parse_quantity("--keep", value_text, dimension_by_quantity[quantity])
    if goal_value is None or (quantity == "efficiency" and goal_value > 1):
        refuse("--keep", f"an efficiency is at most 100 %; got {value_text}")
    return quantity, goal_value


def _show_scalability(runs_account: Measured, goal_texts: Sequence[str], as_json: bool) -> int:
    """Compute the scalability of measured runs at the goals of the option --keep, and print it as
    text or JSON; return the exit status.
    """
    from slipstick_measure.report.measured import notes_text
    from slipstick_measure.report.scalability import scalability_document, scalability_text
    from slipstick_measure.scalability import has_memory, measured_scalability

    goal_by_quantity = dict(
        _parse_goal(goal_text, has_memory(runs_account.answers)) for goal_text in goal_texts
    )
    try:
        scalability = measured_scalability(runs_account.answers, goal_by_quantity)
    except ModelError as error:
        refuse("--scalability", str(error))
    if as_json:
        print_json(
            {
                "scalability": scalability_document(scalability),
                "notes": plain_problems(runs_account.notes),
            }
        )
    else:
        click.echo(scalability_text(scalability), nl=False)
        click.echo(notes_text(runs_account.notes), nl=False, err=True)
    return DONE


def read_load_test(
    files: Sequence[Path], server_count_by_tier: Mapping[str, int], **options: Any
) -> LoadTest | None:
    """Read files as a load test; return None if they are not one."""
    from slipstick_measure.formats import load_test

    format_ = options.pop("format_")
    hints = _hints_of_options(len(files), **options)
    return load_test(
        [_measurements_path(file) for file in files], hints, server_count_by_tier, format_
    )


def _measurements_path(file: Path) -> Path:
    """Return the path of the measurements that the library has under the name of a file; the file
    itself if the library has none.
    """
    from slipstick_measure.formats import runs_named

    return runs_named(str(file)) or file


def _show_load(load_test: LoadTest, as_json: bool) -> int:
    """Print a load test with its notes as text or JSON; return the exit status."""
    from slipstick_measure.report.loads import load_test_as_data, load_text
    from slipstick_measure.report.measured import notes_text

    if as_json:
        print_json(
            {"load_test": load_test_as_data(load_test), "notes": plain_problems(load_test.notes)}
        )
    else:
        click.echo(load_text(load_test), nl=False)
        click.echo(notes_text(load_test.notes), nl=False, err=True)
    return DONE


def servers_of(option_texts: Sequence[str]) -> dict[str, int]:
    """Return the number of servers by tier, from option texts of TIER=NUMBER pairs with commas."""
    server_count_by_tier: dict[str, int] = {}
    for pair_text in (pair for option_text in option_texts for pair in option_text.split(",")):
        tier, separator, count_text = pair_text.partition("=")
        if not separator or not tier.strip():
            refuse("--servers", f"write TIER=NUMBER, such as db=4; got {pair_text!r}")
        server_count_by_tier[tier.strip()] = _whole_number(count_text.strip(), "--servers") or 1
    return server_count_by_tier


def read_data(
    files: Sequence[Path],
    format_: str | None,
    columns: Sequence[str],
    unit: str | None,
    processors: str | None,
    times: str | None,
    size: str | None,
    scaling: str | None = None,
    waits: str | None = None,
) -> Measurements:
    """Read files of measurements with the hints of the options.

    Raises
    ------
    SpecError : everything that is wrong with the options, or with the files
    """
    from slipstick_measure.formats import read_all

    hints = _hints_of_options(len(files), columns, unit, processors, times, size, scaling, waits)
    return read_all([_measurements_path(file) for file in files], hints, format_)


def _hints_of_options(
    file_count: int,
    columns: Sequence[str],
    unit: str | None,
    processors: str | None,
    times: str | None,
    size: str | None,
    scaling: str | None = None,
    waits: str | None = None,
) -> list[Hints]:
    """Return for each of `file_count` files the hints that the options give on how to read it."""
    from slipstick_measure.measurements import Hints

    heading_by_role = dict(_parse_column(column) for column in columns)
    processor_counts = [
        _whole_number(option_text)
        for option_text in _split_for_files("--processors", processors, file_count)
    ]
    elapsed_times = [
        _parse_quantity("--time", option_text)
        for option_text in _split_for_files("--time", times, file_count)
    ]
    is_weak_scaling = None if scaling is None else scaling == "weak"
    are_waits_means = None if waits is None else waits == "mean"
    return [
        Hints(
            processor_count,
            _parse_quantity("--size", size, "COUNT"),
            elapsed_time,
            unit,
            heading_by_role,
            weak=is_weak_scaling,
            mean_waits=are_waits_means,
        )
        for processor_count, elapsed_time in zip(processor_counts, elapsed_times, strict=True)
    ]


def _split_for_files(option: str, option_value: str | None, file_count: int) -> list[str | None]:
    """Split the text of an option that has one value for all files or one for each. Return the
    value of each of `file_count` files.
    """
    value_texts: list[str | None] = (
        [None]
        if option_value is None
        else [option_text.strip() for option_text in option_value.split(",")]
    )
    if len(value_texts) not in (1, file_count):
        refuse(
            option,
            f"{len(value_texts)} values for {file_count} files; give one for all, or one a file",
        )
    return value_texts * file_count if len(value_texts) == 1 else value_texts


def _parse_column(column_text: str) -> tuple[str, str]:
    """Parse a text OURS=THEIRS: the role of a column, such as p, and its heading in the file."""
    role, separator, heading = column_text.partition("=")
    from slipstick_measure.measurements import METRICS
    from slipstick_measure.readers.columns import ROLE_OF_PART
    from slipstick_measure.readers.reading import COLUMNS

    roles = (*COLUMNS, *METRICS)
    is_role = role.strip() in roles or ROLE_OF_PART.fullmatch(role.strip())
    if not (separator and heading and is_role):
        refuse(
            "--column",
            f"write OURS=THEIRS, such as p=ranks, with one of {', '.join(roles)}, or for a part"
            f" of the run 'time of NAME'; got {column_text!r}",
        )
    return role.strip(), heading.strip()


def _whole_number(number_text: str | None, option: str = "--processors") -> int | None:
    """Parse a whole number of processors, servers or users from the text of an option; None without
    a text.
    """
    if number_text is None:
        return None
    if not (
        number_text.isascii() and number_text.isdigit() and 0 < int(number_text[:12]) <= 100_000_000
    ):
        refuse(option, f"write a whole number from 1 to 100,000,000; got {number_text!r}")
    return int(number_text)


def _parse_quantity(
    option: str, quantity_text: str | None, dimension: str = "TIME"
) -> float | None:
    """Parse the quantity in the text of an option, in base units; None without a text. It must be
    above 0, except for the cost of the timer.
    """
    from slipstick.expression import nodes
    from slipstick.units import to_base

    if quantity_text is None:
        return None
    try:
        value = to_base(quantity_text, getattr(nodes, dimension))
    except UnitError as error:
        refuse(option, str(error))
    if not value > 0 and option != "--timer":
        refuse(option, f"must be more than 0; got {quantity_text}")
    return value


@click.command()
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help="chrome, paraver, perf-mem, nsys, nsys-sqlite, timehist, records, otf2. [by the content]",
)
@click.option(
    "--unit",
    metavar="UNIT",
    help="Unit of times in a table of records, such as us, if its header has none.",
)
@click.option(
    "--only", metavar="TEXT", help="Use only the processors with this text in their names. [all]"
)
@click.option(
    "--useful",
    metavar="NAME,...",
    default="",
    help="Activities that are useful work. [all but waits]",
)
@click.option(
    "--from", "first", metavar="T", help="Start time, counted from the first event. [0 s]"
)
@click.option(
    "--to", "last", metavar="T", help="End time, counted from the first event. [the last event]"
)
@click.option(
    "--window", metavar="T", help="Length of a window, such as '5 ms'. [a fortieth of the trace]"
)
@click.option(
    "--machine",
    metavar="M",
    help=("Machine with the network that the accesses cross, for contention."),
)
@click.option(
    "--view", type=click.Choice(VIEWS), default="utilization", help="View to draw. [utilization]"
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw a view into a .png or .svg file.",
)
@model_limit_option
@json_option
def trace(
    files: Sequence[Path],
    format_: str | None,
    unit: str | None,
    only: str | None,
    useful: str,
    first: str | None,
    last: str | None,
    window: str | None,
    machine: str | None,
    view: str,
    picture: Path | None,
    as_json: bool,
) -> int:
    """Show where the time of a trace goes, who accesses what, and contention.

    FILE is Chrome trace JSON (also from `slipstick solve --timeline`), Paraver .prv, the output of
    perf sched timehist, samples of perf mem or perf c2c from perf script, a table of records (time,
    processor, event, source, destination, count) in CSV or Parquet, or an OTF2 archive.

    \b
    Examples:
      slipstick trace run.json --useful match --picture run.png
      slipstick trace accesses.csv --machine bbn-gp1000 --view contention --picture contention.svg
    """
    from slipstick.results.question import as_data
    from slipstick.schema.library import Library
    from slipstick.schema.text import Mark
    from slipstick_measure.report.measured import notes_text
    from slipstick_measure.report.traces import trace_text
    from slipstick_measure.traces.readers import read_trace
    from slipstick_measure.traces.views import network_of_machine, views_of

    machine_mark = Mark("--machine", 1, 1)
    network = network_of_machine(machine, Library(), machine_mark) if machine else None
    window_length, first_time, last_time = (
        _parse_quantity(*option_and_text)
        for option_and_text in (("--window", window), ("--from", first), ("--to", last))
    )
    views_by_file = {}
    for file in files:
        chosen_trace = read_trace(file, format_, unit).chosen_part(
            only, _split_at_commas(useful), first_time or 0.0, last_time
        )
        for kind, trace_part in chosen_trace.traces_by_kind().items():
            views_by_file[f"{file}, {kind}s" if kind else str(file)] = views_of(
                trace_part, window_length, network
            )
    if picture is not None:
        _write_trace_picture(views_by_file, view, ", ".join(file.name for file in files), picture)
    if as_json:
        print_json({"traces": as_data(views_by_file)})
    else:
        for name, views in views_by_file.items():
            if len(views_by_file) > len(files):
                click.echo(f"{name}\n")
            click.echo(trace_text(views), nl=len(views_by_file) > 1)
    click.echo(
        notes_text(dict.fromkeys(note for views in views_by_file.values() for note in views.notes)),
        nl=False,
        err=True,
    )
    return NO_ANSWER if any(views.answer.failed for views in views_by_file.values()) else DONE


def _write_trace_picture(
    views_by_file: Mapping[str, TraceViews], view: str, title: str, picture: Path
) -> None:
    """Draw one view of each trace into a file; refuse a view of contention if nothing waits."""
    from slipstick_measure.report.traces import draw_traces
    from slipstick_pictures.files import write_picture

    if view == "contention" and not any(views.contention for views in views_by_file.values()):
        refuse(
            "--view contention",
            "nothing waits in the trace; name --machine, whose network accesses go through",
        )
    write_picture(lambda: draw_traces(views_by_file, view, title), picture)
    echo(f"wrote {picture}", err=True)


_FIT_OPTIONS = (
    click.option(
        "--model",
        "models",
        metavar="NAME,...",
        help="Laws to fit, and at most one model (a name or a file). [all families]",
    ),
    click.option("--free", metavar="PATH[=LOW..HIGH],...", help="Parameters of the model to fit."),
    click.option(
        "--population",
        metavar="PATH",
        help="Path of the number of processors in the model. [found in the model]",
    ),
    click.option(
        "--size-of",
        "size_path",
        metavar="PATH",
        help="Path of the problem size in the model.",
    ),
    click.option(
        "--cycles",
        type=WholeNumberRange(1),
        help=(
            "Number of cycles of the model in the measured work. [the time of the model is the"
            " measured time]"
        ),
    ),
    click.option(
        "--with",
        "method",
        metavar="METHOD",
        help="Method that solves the model. [mean-value if anything can wait]",
    ),
    click.option(
        "--at",
        "predicted_at",
        metavar="P,...",
        default="",
        help="Numbers of processors to predict.",
    ),
    click.option(
        "--servers",
        "servers",
        type=WholeNumberRange(1),
        help="Number of hardware threads or processors that work at the same time.",
    ),
    click.option(
        "--domain",
        "domain",
        type=WholeNumberRange(1),
        help="Number of processors in a node or memory domain; domains fill one after the other.",
    ),
    click.option(
        "--efficiency",
        metavar="E",
        default="75%",
        help="Target efficiency, for the largest number of processors and the size needed. [75%]",
    ),
    click.option(
        "--longest-time",
        metavar="TIME",
        help="Longest time wanted, such as 2s, for the number of processors that keeps it.",
    ),
    click.option(
        "--least-throughput",
        metavar="RATE",
        default="",
        help=(
            "Least throughput wanted, in the unit of the data, such as '24 ns/day', for the number"
            " of processors that reaches it."
        ),
    ),
    click.option(
        "--intervals",
        type=click.Choice(["bootstrap", "profile"]),
        help="Confidence intervals by resampled residuals, or by profile likelihood. [profile]",
    ),
    click.option(
        "--seed",
        type=WholeNumberRange(0),
        default=1,
        help="Seed of the bootstrap. [1]",
    ),
    click.option(
        "--picture",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Draw the fits into a .png or .svg file.",
    ),
)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--out",
    "-o",
    default="profile.yaml",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Profile.",
)
@click.option("--title", default="", help="Title of the profile. [the command]")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record(out: str, title: str, command: Sequence[str]) -> int:
    """Run a Python program, and record where its threads and processes wait.

    The program needs no change: locks, conditions, barriers, queues and joins of `threading`,
    `queue` and `multiprocessing` are timed. `slipstick measured` reads the profile. The exit status
    is that of the program.

    \b
    Examples:
      slipstick record -- python program.py
      slipstick record -o run-4.yaml -- python program.py --threads 4
    """
    from slipstick_measure.instrument import record as record_waits

    if not out.endswith((".yaml", ".yml")):
        refuse("--out", f"a profile is read back from a name that ends in .yaml; got {out!r}")
    try:
        status = record_waits(command, out, title)
    except FileNotFoundError as error:
        if error.filename != command[0]:
            raise
        refuse(
            "COMMAND",
            f"there is no program {command[0]!r}; write it as in a shell, such as: python"
            " program.py",
        )
    except ValueError as error:
        refuse("COMMAND", str(error))
    echo(f"wrote the waits to {out}; slipstick measured {out} shows them", err=True)
    return status


@click.command()
@with_options(_DATA_OPTIONS)
@with_options(_FIT_OPTIONS)
@with_options(COLUMN_OPTIONS)
@with_options(CURVE_OPTIONS)
@set_option
@json_option
def fit(
    files: Sequence[Path],
    predicted_at: str,
    seed: int,
    efficiency: str,
    longest_time: str | None,
    least_throughput: str,
    intervals: str | None,
    picture: Path | None,
    region: str | None,
    servers: int | None,
    domain: int | None,
    as_json: bool,
    measured_columns: Sequence[str],
    choices: Sequence[str],
    groups: str | None,
    out: Path | None,
    curve_columns: str | None,
    sibling_columns: str,
    **options: Any,
) -> int:
    """Fit laws or a model to measured times, and predict other numbers of processors.

    FILE is a table of timings, as for `slipstick measured`. The laws are amdahl, usl, queue-1,
    queue-2, phase-barrier, latency, power-log and saturating; also servers with --servers, and
    nodes with --domain. You can also fit a model of your own (--model, --free). A law is used only
    if it describes the rows.

    The columns of a table can also be quantities of a model, such as `parameters.batch` or
    `machine`. PATH=LOW..HIGH states the range of a parameter. With @COLUMN after it, the parameter
    has a value for each word in this column. The command leaves out each group (--group) in turn,
    and predicts it from the others.

    For a load test, the command fits a station: the service demand of a request, and the time
    outside the station. --servers is then the number of servers, and --at the number of users or
    the rate. With --model, the command fits the throughput instead.

    If a table has several curves (--curve), a curve that ends early is continued with the shape of
    the others.

    \b
    Examples:
      slipstick fit timings.csv --at 64,128 --picture fits.png
      slipstick fit timings.csv --longest-time 30s
      slipstick fit experiment.json --unit s --model usl,queue-1 --at 64
      slipstick fit cycles.csv --model lock-and-bus --free parameters.work,parameters.critical=0.1ms..1s
      slipstick fit load-test.csv --at 400/s --servers 4
      slipstick fit rows.csv --model mine.yaml --free parameters.share=0.7..1@machine --fitted mine-fit.yaml
    """  # noqa: E501
    from slipstick_measure.fit.comparison import IntervalSettings, fits
    from slipstick_measure.fit.goal import goal_of_fit

    columns, free = options["columns"], options["free"]
    goals = {"--longest-time": longest_time, "--least-throughput": least_throughput}
    if curve_columns:
        _refuse_goals(goals, "curves are continued as they are")
        column_options = (columns, measured_columns, curve_columns, sibling_columns)
        predicted_numbers = _predicted_numbers(predicted_at)
        return continue_curves(files, *column_options, predicted_numbers, as_json)
    row_options = (measured_columns, choices, groups, out)
    models = _split_at_commas(options["models"])
    if has_parameter_rows(files, models, free, columns, row_options):
        refuse_options_of_runs(
            {
                "--population": options["population"],
                "--at": predicted_at,
                "--efficiency": None if efficiency == "75%" else efficiency,
                **goals,
                "--size-of": options["size_path"],
                "--cycles": options["cycles"],
                "--servers": servers,
                "--domain": domain,
                "--intervals": intervals,
                "--picture": picture,
                "--region": region,
                "--processors": options["processors"],
                "--time": options["times"],
                "--size": options["size"],
            },
            files[0],
        )
        solver_options = (options["method"], options["changes"])
        return estimate_rows(files, models, free, columns, *row_options, *solver_options, as_json)
    if not models and not free:
        load_test = _read_response_times(files, options)
        if load_test is not None:
            _refuse_goals(goals, "a load test is fitted by a station; --at predicts its times")
            return _fit_load(load_test, predicted_at, servers, picture, as_json)
    unused_values = {options.pop("statistic"), options.pop("timer")} - {"median", None}
    if unused_values:
        refuse(
            "fit", "every repetition counts, as it was measured; leave out --statistic and --timer"
        )
    family_options = {
        option_name: options.pop(option_name)
        for option_name in (
            "models",
            "free",
            "population",
            "size_path",
            "cycles",
            "method",
            "changes",
        )
    }
    families = _families_to_fit(**family_options)
    timings, notes = _timings_to_fit(files, region, options)
    timings = replace(timings, servers=servers, domain=domain)
    predicted_numbers, target_efficiency = (
        _predicted_numbers(predicted_at),
        _target_efficiency(efficiency),
    )
    interval_settings = IntervalSettings(intervals or "profile", seed=seed)
    limit = None
    if longest_time is not None:
        limit = longest_time, _parse_quantity("--longest-time", longest_time) or 0.0
    goal = goal_of_fit(
        limit, least_throughput, timings.rate, ("--longest-time", "--least-throughput"), refuse
    )
    with ProgressLine():
        time_fits = fits(
            timings,
            families,
            predicted_numbers,
            interval_settings,
            picture is not None,
            target_efficiency,
            goal,
        )
    _show_fits(time_fits, notes, files, picture, as_json)
    return DONE


def _refuse_goals(goals: Mapping[str, str | None], reason: str) -> None:
    """Raise if a goal is given for data to which laws of scaling are not fitted."""
    for option, goal_text in goals.items():
        if goal_text:
            refuse(option, f"a goal is one of runs on several numbers of processors: {reason}")


def _predicted_numbers(option_text: str) -> list[float]:
    """Parse the numbers of processors of the option `--at`."""
    return [
        float(_whole_number(count_text, "--at") or 1)
        for count_text in _split_at_commas(option_text)
    ]


def _timings_to_fit(
    files: Sequence[Path], region: str | None, options: Mapping[str, Any]
) -> tuple[Timings, list[Problem]]:
    """Read files of measurements; return the times of a region, and notes on them."""
    from slipstick_measure.fit.formula import observations_of, timing_notes

    runs = read_data(files, **options)
    size = _parse_quantity("--size", options["size"], "COUNT")
    return observations_of(runs, region, size).timings(), timing_notes(runs, region)


def _show_fits(
    time_fits: Fitting,
    notes: Sequence[Problem],
    files: Sequence[Path],
    picture: Path | None,
    as_json: bool,
) -> None:
    """Draw fits if a picture is requested, and print them with the notes on their data."""
    from slipstick.results.question import as_data
    from slipstick_measure.report.fits import draw_fits, fits_text
    from slipstick_measure.report.measured import notes_text
    from slipstick_pictures.files import write_picture

    if picture is not None:
        write_picture(lambda: draw_fits(time_fits, ", ".join(path.name for path in files)), picture)
        echo(f"wrote {picture}", err=True)
    if as_json:
        print_json({**as_data(time_fits), "notes": plain_problems(notes)})
    else:
        click.echo(fits_text(time_fits), nl=False)
        click.echo(notes_text(notes), nl=False, err=True)


def _read_response_times(files: Sequence[Path], options: Mapping[str, Any]) -> LoadTest | None:
    """Read files as a load test with response times at several loads; return None if they are not
    one.
    """
    option_names = ("columns", "unit", "processors", "times", "size", "scaling", "waits", "format_")
    load_test = read_load_test(
        files, {}, **{option_name: options[option_name] for option_name in option_names}
    )
    if load_test is None or len(load_test.rows) < 2:
        return None
    has_times = any(row.response is not None or row.quantiles for row in load_test.rows)
    return load_test if has_times else None


def _fit_load(
    load_test: LoadTest, loads_text: str, servers: int | None, picture: Path | None, as_json: bool
) -> int:
    """Fit a station to response times against load, print the fit, and return the exit status."""
    from slipstick.results.question import as_data
    from slipstick_measure.fit.loads import fit_loads
    from slipstick_measure.report.loads import draw_load_fit, load_fit_sentences, load_fit_text
    from slipstick_measure.report.measured import notes_text
    from slipstick_pictures.files import write_picture

    predicted_loads = [
        float(_parse_quantity("--at", _rate_with_unit(rate_text), "RATE") or 0.0)
        for rate_text in _split_at_commas(loads_text)
    ]
    load_fit = fit_loads(load_test, predicted_loads, servers)
    fit_result = load_fit.result()
    if picture is not None:
        title = Path(load_test.file).name
        write_picture(lambda: draw_load_fit(fit_result, load_fit.curves(), title), picture)
        echo(f"wrote {picture}", err=True)
    if as_json:
        document = {**as_data(fit_result), "sentences": load_fit_sentences(fit_result)}
        print_json({"load_fit": document, "notes": plain_problems(load_test.notes)})
    else:
        click.echo(load_fit_text(fit_result), nl=False)
        click.echo(notes_text(load_test.notes), nl=False, err=True)
    return DONE


def _rate_with_unit(rate_text: str) -> str:
    """Return a plain number as a rate per second; other texts are returned unchanged."""
    return f"{rate_text} /s" if rate_text.replace(".", "", 1).isdigit() else rate_text


def _target_efficiency(efficiency_text: str) -> float:
    """Parse an efficiency, above 0 and at most 1."""
    efficiency = _parse_quantity("--efficiency", efficiency_text, "COUNT") or 0.0
    if efficiency > 1:
        suggestion = (
            f"; write {efficiency:g} % or {efficiency / 100:g}" if efficiency <= 100 else ""
        )
        refuse("--efficiency", f"an efficiency is at most 100 %; got {efficiency_text}{suggestion}")
    return efficiency


def _split_at_commas(text_with_commas: str | None) -> list[str]:
    """Return the texts between the commas of a text, without empty ones."""
    return [item.strip() for item in (text_with_commas or "").split(",") if item.strip()]


def _families_to_fit(
    models: str | None,
    free: str | None,
    population: str | None,
    size_path: str | None,
    cycles: int | None,
    method: str | None,
    changes: Sequence[str],
) -> list[str | Family] | None:
    """Return the families to fit that the options name: laws by name, and a family built of the
    model; None if the options name neither a law nor a model.
    """
    from slipstick.schema.inputs import model_names as known_models
    from slipstick.schema.library import Library, is_file_name
    from slipstick_measure.fit.comparison import families_to_fit
    from slipstick_measure.fit.families import FAMILIES
    from slipstick_measure.fit.model import FitSettings, prepare_model

    law_and_model_names = _split_at_commas(models)
    model_names = [name for name in law_and_model_names if name not in FAMILIES]
    if not free:
        if population or size_path or cycles or method or changes:
            refuse(
                "--free",
                "say which parameters of the model are free, such as --free parameters.work",
            )
        for model_name in model_names:
            if not is_file_name(model_name) and model_name not in known_models():
                hint = did_you_mean(model_name, [*FAMILIES, *known_models()])
                refuse("--model", f"there is no law and no model {model_name!r}{hint}")
            refuse(
                "--free",
                f"say which parameters of {model_name} are free, such as --free parameters.work",
            )
        return families_to_fit(law_and_model_names)
    if len(model_names) != 1:
        refuse(
            "--model",
            "name the one model whose parameters are free; got"
            f" {', '.join(model_names) or 'families only'}",
        )
    library = Library()
    settings = {"model": text_node(model_names[0], "--model"), **nodes_of(changes)}
    if method:
        settings["method"] = text_node(method, "--with")
    free_paths = [text_node(path, "--free") for path in _split_at_commas(free)]
    processors_node = text_node(population, "--population") if population else None
    size_node = text_node(size_path, "--size-of") if size_path else None
    return families_to_fit(
        [name for name in law_and_model_names if name in FAMILIES],
        prepare_model(
            FitSettings(settings, free_paths, processors_node, size_node, cycles), library
        ).family(),
    )
