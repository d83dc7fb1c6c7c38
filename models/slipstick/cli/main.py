"""The command line: results on standard output, progress and notes on standard error.

Heavy libraries are imported inside the commands that use them, so that help and `check` start at
once.
"""

from __future__ import annotations

import atexit
import gc
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from slipstick.cli.catalogue import check, glossary, list_, new, schema, show
from slipstick.cli.console import (
    DONE,
    NO_ANSWER,
    ProgressLine,
    WholeNumberRange,
    apply_limits,
    complete_methods,
    completion_function,
    discard,
    echo,
    folders_argument,
    json_option,
    limit_option,
    model_limit_option,
    nodes_of,
    open_standard_streams,
    out_option,
    plain_problems,
    print_json,
    set_option,
    text_node,
    with_options,
    write_text,
)
from slipstick.errors import (
    AbsentValue,
    InputError,
    LongWork,
    ModelError,
    NoAnswerError,
    Problem,
    SlightlyBeyond,
    SlipstickError,
    SpecError,
    with_way_out,
)
from slipstick.extensions import FUNCTIONS, Registry
from slipstick.limits import ANNOUNCE, LIMITS, ONE_THREAD, limit_in_force
from slipstick.vocabulary import ACTIVITY, METHODS, NETWORK

if TYPE_CHECKING:
    from slipstick.answer import Answer
    from slipstick.report.html import PageSection
    from slipstick.results.study import Results
    from slipstick.schema.kinds.study import LimitsSpec, StudySpec
    from slipstick.schema.text import Node
    from slipstick.study.engine import Engine
    from slipstick.study.journal import Journal, StoredPoints
    from slipstick.study.run import PreparedStudy


_ENGINE_OPTIONS = (
    click.option(
        "--jobs",
        type=WholeNumberRange(1, 256),
        envvar="SLIPSTICK_JOBS",
        help="Number of points solved at the same time. [1]",
    ),
    click.option(
        "--on",
        "engine_name",
        metavar="ENGINE",
        envvar="SLIPSTICK_ON",
        help=(
            "Where points are solved: threads, processes, mpi, or a Dask scheduler such as"
            " tcp://node1:8786. [threads]"
        ),
    ),
    limit_option(
        (
            "Limit for one point, such as time=60s, memory=2GB or states=1e6 (see slipstick"
            " limits); a point beyond it has no answer."
        ),
        callback=lambda context, _, values: apply_limits(context, values),
    ),
    click.option("--fresh", is_flag=True, help="Ignore the stored points of earlier runs."),
)


def engine_of(
    spec: StudySpec, jobs: int | None, engine_name: str | None, limits: LimitsSpec, journal: Journal
) -> Engine:
    """Build the engine named on the command line, else in the environment, else in the study.

    Raises
    ------
    InputError : there is no such engine
    """
    from slipstick.study.engine import Engine, Limits

    time_limit = limits.time or spec.limits.time
    memory_limit = limits.memory or spec.limits.memory
    point_limits = Limits(
        time_limit.value if time_limit else None, memory_limit.value if memory_limit else None
    )
    return Engine(engine_name or spec.engine.on, jobs or spec.engine.jobs, point_limits, journal)


def check_writable(folder: Path) -> None:
    """Raise OSError if a folder cannot be written to, before anything is solved for it."""
    # The folder is made later; its nearest folder that exists decides whether it can be.
    existing_folder = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    if not os.access(existing_folder, os.W_OK):
        raise OSError(None, "nothing can be written there", str(existing_folder))


@click.command()
@json_option
def limits(as_json: bool) -> int:
    """List the limits of costs, and how to raise them.

    \b
    Examples:
      slipstick limits
      slipstick solve bolch-8-4 --with markov-chain --limit states=1e6
    """
    if as_json:
        print_json(
            {
                "limits": {
                    name: {"value": limit_in_force(name), "counts": cost_limit.counts}
                    for name, cost_limit in LIMITS.items()
                }
            }
        )
        return DONE
    from slipstick.report.formatting import plain_table

    rows = [
        [name, f"{cost_limit.value:,.0f}", cost_limit.counts, cost_limit.cost]
        for name, cost_limit in LIMITS.items()
    ]
    click.echo(plain_table(["limit", "at most", "of what", "rough estimate"], rows))
    click.echo(
        "\nA cost is estimated first, and refused above its limit. --limit NAME=VALUE allows more,"
        " as do limits: in a study"
    )
    click.echo(
        "and limits= in Python. In a study time and memory of a point have limits as well, where"
        " they are given."
    )
    return DONE


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def status(folder: Path, as_json: bool) -> int:
    """Show the study of a folder, whether its report is up to date, and stored points.

    \b
    Examples:
      slipstick status reports/dvsm-what-if
    """
    from slipstick.report.folder import manifest_and_changes
    from slipstick.study.journal import stored_points

    (manifest, damaged_files), stored_results = manifest_and_changes(folder), stored_points(folder)
    # A run that was killed before its first report has left only its points.
    command = str(manifest.get("command") or stored_results.run_description.get("command", ""))
    if not command:
        raise InputError(f"there is no report in {folder}, and no points of one")
    differences = [*damaged_files]
    point_count = None
    read_error = ""
    try:
        point_count, changes_since_run = _point_count_and_differences(
            stored_results.run_description.get("command") or command,
            stored_results.run_description.get("started in", ""),
            manifest,
        )
        differences += changes_since_run
    except (SlipstickError, OSError) as error:
        read_error = str(error).splitlines()[0]
    if as_json:
        document = {
            "command": command,
            "report": bool(manifest),
            "stale": differences,
            "unread": read_error or None,
        }
        print_json(
            {
                **document,
                "points": point_count,
                "kept": stored_results.point_count,
                "failed": stored_results.failed_count,
                "running": stored_results.is_running,
            }
        )
        return DONE
    _print_status(folder, command, manifest, differences, read_error)
    _print_points(stored_results, point_count)
    return DONE


def _point_count_and_differences(
    command: str, folder: str, manifest: Mapping[str, Any]
) -> tuple[int, list[str]]:
    """Prepare the study of a report again; return its number of points, and what differs from the
    report.
    """
    from slipstick.study.run import prepare, versions

    arguments = shlex.split(command)[2:]
    option_pairs = list(zip(arguments[1::2], arguments[2::2], strict=True))
    apply_limits(
        click.get_current_context(),
        [value for option, value in option_pairs if option == "--limit"],
    )
    set_changes = [value for option, value in option_pairs if option == "--set"]
    # The command was started in another folder, from which relative paths count.
    study = (
        arguments[0]
        if not folder or ("/" not in arguments[0] and not arguments[0].endswith(".yaml"))
        else os.path.join(folder, arguments[0])
    )
    prepared_study = prepare(study, nodes_of(set_changes))
    differences: list[str] = []
    if manifest:
        for kind, current_by_name in (("file", prepared_study.hashes), ("version", versions())):
            earlier_by_name = manifest.get("hashes" if kind == "file" else "versions") or {}
            for name in dict.fromkeys([*earlier_by_name, *current_by_name]):
                if name not in current_by_name or name not in earlier_by_name:
                    differences.append(
                        f"{kind} {name} is {'new' if name in current_by_name else 'read no longer'}"
                    )
                elif str(earlier_by_name[name]) != str(current_by_name[name]):
                    differences.append(f"{kind} {name} has changed")
    return prepared_study.point_count, differences


def _print_status(
    folder: Path,
    command: str,
    manifest: Mapping[str, Any],
    differences: Sequence[str],
    read_error: str,
) -> None:
    """Print the name of the study whose report a folder contains, and the changes of its files
    since the report was written.
    """
    if not manifest:
        echo(f"{folder} has no report yet; its run was: {command}")
    elif read_error:
        echo(f"{folder} has the report of: {command}")
        echo(f"whether it is up to date is not known from this folder: {read_error}")
    elif differences:
        echo(
            f"{folder} has an earlier report of: {command}\n"
            + "\n".join(f"- {difference}" for difference in differences)
        )
    else:
        echo(f"{folder} is up to date: {command}")


def _print_points(stored_results: StoredPoints, point_count: int | None) -> None:
    """Print how many points of a run are stored, and how many of them failed."""
    if not stored_results.point_count:
        return
    total_point_count = int(stored_results.run_description.get("points", point_count or 0))
    # Questions such as seek solve more points than cases and sweeps have, as many as they need.
    has_more = stored_results.point_count > total_point_count
    of_total_text = "" if has_more else f" of {total_point_count}"
    failed_in_words = (
        f", {stored_results.failed_count} of them without an answer"
        if stored_results.failed_count
        else ""
    )
    echo(
        f"{stored_results.point_count}{of_total_text} points are"
        f" stored{', including those of questions' if has_more else ''}"
        f"{failed_in_words}; a run solves only points that are missing or have changed"
    )
    if stored_results.is_running:
        echo("a run is under way")


@click.command()
@click.argument("program")
@out_option
@set_option
@model_limit_option
@json_option
def counts(program: str, out: Path | None, changes: Sequence[str], as_json: bool) -> int:
    """Count the operations of a program on a distributed virtual shared memory.

    PROGRAM is sor, is, barnes, sphere, water, raytrace, a record of page faults or accesses in a
    .csv file, or the output of perf script, trace-cmd report or ftrace for the event
    exceptions:page_fault_user.

    `slipstick show dvsm/sor` lists the parameters of a program; --set changes them, the number of
    processors, and the page size (page, in bytes). For a record, --set changes the page size, the
    bytes that a write changes (bytes), and the time of a message (message, in microseconds).

    \b
    Examples:
      slipstick counts sor --set rows=2000 --set columns=1000 --out my-sor.yaml
      slipstick counts barnes --set bodies=16384 --set steps=12 --set processors=16
      slipstick counts faults.csv --set bytes=64 --out mine.yaml
      slipstick counts faults.txt --set bytes=64 --out mine.yaml
    """
    import yaml

    from slipstick.program import counted_program

    parameters = _number_parameters(changes)
    if Path(program).suffix:  # programs have names without a dot
        title = f"Counts of the record {Path(program).name}"
        counts_by_name = _counts_of_record(program, parameters)
    else:
        counting_program = counted_program(program)
        title = counting_program.title
        counts_by_name = counting_program.count(**parameters).to_dict()
    document = {**_counts_head(program, title, parameters), **counts_by_name}
    if as_json:
        print_json({"counts": document})
        return DONE
    return write_text(
        yaml.safe_dump(document, default_flow_style=None, sort_keys=False, width=110), out
    )


def _counts_of_record(record: str, parameters: Mapping[str, float]) -> dict[str, Any]:
    """Return the counts from a record of page faults."""
    from slipstick.errors import UnknownNameError
    from slipstick.schema.library import spec_model

    allowed_names = ("page", "bytes", "message")
    for name in parameters:
        if name not in allowed_names:
            raise UnknownNameError("parameter of a record", name, allowed_names)
    if not Path(record).is_file():
        raise InputError(f"there is no file {record}")
    counts_spec_class: Any = spec_model("counts")
    counts_data: dict[str, Any] = counts_spec_class.recorded(Path(record), **parameters)
    return counts_data


def _counts_head(program: str, title: str, parameters: Mapping[str, float]) -> dict[str, Any]:
    """Return the head of a file of counts: how they were obtained."""
    from slipstick import __version__

    changes_in_words = (
        ", ".join(f"{name} {value!r}" for name, value in parameters.items()) or "as by default"
    )
    command = [
        "slipstick counts",
        program,
        *(f"--set {name}={value!r}" for name, value in parameters.items()),
    ]
    return {
        "counts": 1,
        "title": f"{title} ({changes_in_words})",
        "command": " ".join(command),
        "version": __version__,
    }


def _number_parameters(changes: Sequence[str]) -> dict[str, float]:
    """Parse the parameters of a program to count, which are plain numbers."""
    value_by_name = {}
    problems = []
    for name, node in nodes_of(changes).items():
        value = getattr(node, "value", None)
        if (
            # Truth values are numbers to Python.
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            mark = node.mark
            problems.append(mark.problem("write a plain number, such as 1000", name))
        else:
            value_by_name[name] = value
    if problems:
        raise SpecError(problems)
    return value_by_name


WRONG_INPUT = 2
"""The exit status of a command whose input is wrong."""
INTERRUPTED = 130
"""The exit status of a command that was interrupted."""
COMMAND_LINE = "command line"
MODEL_OPTIONS = (
    *(
        click.option(
            f"--{kind}",
            metavar=kind[0].upper(),
            help=f"{kind.title()}: a name in the catalogue, or a file.",
            shell_complete=completion_function(kind),
        )
        for kind in ("machine", "workload", "technology")
    ),
    set_option,
    model_limit_option,
)
fitted_option = click.option(
    "--fitted",
    metavar="FILE",
    shell_complete=completion_function("fitted"),
    help=(
        "Fitted values with their uncertainty: a name, or a file of slipstick fit --fitted."
        " Choose an owner by --set fitted.COLUMN=NAME."
    ),
)


_TASKS = {
    "Answer a question": "solve run page points explain",
    "Read measurements": "measured fit trace record import calibrate counts trend",
    "Write files": "new check schema show",
    "Look something up": "list glossary limits status gallery statements",
}
"""The commands of each task, in the order in which the help lists them."""


class _CommandsByTask(click.Group):
    """A group whose help lists the commands by task, each with its whole first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each task, and one for the commands of other packages."""
        names_by_task = {task: names.split() for task, names in _TASKS.items()}
        known_names = {name for names in names_by_task.values() for name in names}
        names_by_task["Other"] = [name for name in self.commands if name not in known_names]
        for task, names in names_by_task.items():
            rows = [
                (name, self.commands[name].get_short_help_str(_LONGEST_HELP))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(task):
                    formatter.write_dl(rows)


_LONGEST_HELP = 200
"""The largest number of characters of a command's line in the help."""


@click.group(
    cls=_CommandsByTask,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(package_name="slipstick", prog_name="slipstick")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compute how long programs and services take, where the time goes, and what would help.

    \b
    Examples:
      slipstick fit timings.csv --at 64,128                how many cores are worth it?
      slipstick solve three-tier                           a shipped web service
      slipstick solve lock-and-bus --set population.processors=16
      slipstick new queueing-network --out service.yaml    a file to begin with
      slipstick solve service.yaml
      slipstick run my-program                             a study with a report
    """
    # Before the numerical libraries are loaded, which read this once; the user's own settings win.
    for name, thread_count in ONE_THREAD.items():
        os.environ.setdefault(name, thread_count)
    # Each note is printed once, also where derivatives are computed by solving again.
    ANNOUNCE.set(announcer())
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def announcer() -> Callable[[str], None]:
    """Return a function that prints each announcement once, and from the second estimate of time on
    the sum of all.
    """
    seconds_by_text: dict[str, float] = {}

    def announce(text: str) -> None:
        if text in seconds_by_text:
            return
        seconds_by_text[text] = seconds = text.seconds if isinstance(text, LongWork) else 0.0
        total = sum(seconds_by_text.values())
        sum_text = f"; {total:,.0f} s with all announced before" if total > seconds > 0 else ""
        echo(f"{text}{sum_text}", err=True)

    return announce


@cli.command()
@click.argument("study", shell_complete=completion_function("study"))
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write. [reports/<study>/]",
)
@with_options(_ENGINE_OPTIONS)
@click.option(
    "--force",
    is_flag=True,
    help="Overwrite files that no report wrote, or write into / or a home folder.",
)
@click.option(
    "--html/--no-html",
    "as_page",
    default=True,
    help="Write report.html: the report with its pictures in one file. [yes]",
)
@click.option(
    "--all", "in_full", is_flag=True, help="Print the details of each question. [the answers]"
)
@set_option
@json_option
def run(
    study: str,
    out: Path | None,
    jobs: int | None,
    engine_name: str | None,
    limits: LimitsSpec,
    fresh: bool,
    force: bool,
    as_page: bool,
    in_full: bool,
    changes: Sequence[str],
    as_json: bool,
) -> int:
    """Run a study, and write its report.

    STUDY is a file or a name in the catalogue. Solved points are stored in the folder, so after an
    interruption the same command continues. Other files in the folder are kept; if one of them has
    the name of a file of the report, the study is not run.

    \b
    Examples:
      slipstick run my-program
      slipstick run my-study.yaml --out /tmp/report --json
      slipstick run my-study.yaml --jobs 8 --limit time=60s --limit memory=2GB
    """
    from slipstick.report.answer import stated_rate_unit
    from slipstick.report.folder import check_folder
    from slipstick.report.formatting import with_noun
    from slipstick.report.head import is_title_answered
    from slipstick.report.write import HTML, certain_file_names, missing_pictures, write
    from slipstick.study.check import note_on_title
    from slipstick.study.journal import Journal
    from slipstick.study.run import MOST_ANSWERS, prepare
    from slipstick.study.run import run as run_study
    from slipstick.units import with_rates_in

    folder = out or Path("reports") / Path("standard-input" if study == "-" else study).stem
    command = _repeat_command(study, changes, limits)
    # Reports are committed: they must not show folders of this machine.
    portable_command = _repeat_command(
        _portable_path(study), list(map(_portable_change, changes)), limits
    )
    prepared_study = prepare(study, nodes_of(changes))
    # Whatever can be refused is refused before hours of solving.
    check_folder(folder, certain_file_names(prepared_study.spec, as_page), force)
    check_writable(folder)
    for note in prepared_study.simulation_notes:
        echo(f"note: {note}", err=True)
    run_description = {
        "command": command,
        "started in": os.getcwd(),
        "points": str(prepared_study.point_count),
    }
    with (
        closing(Journal(folder, run_description, fresh)) as journal,
        ProgressLine(prepared_study.point_count) as progress,
    ):
        engine = engine_of(prepared_study.spec, jobs, engine_name, limits, journal)
        results = run_study(prepared_study, engine=engine, whole=as_json, progress=progress)
        # Only after a whole run is it known which points of earlier runs are no longer asked for.
        journal.close(is_finished=True)
    notes: list[object] = [note for note in results.notes if isinstance(note, AbsentValue)]
    if journal.reused_point_count:
        reused_in_words = with_noun(journal.reused_point_count, "point is", "points are")
        notes.insert(0, f"{reused_in_words} from an earlier run; --fresh solves again")
    title_note = "" if is_title_answered(results) else note_on_title(prepared_study.spec)
    remarks = (missing_pictures(prepared_study.spec), title_note)
    notes += filter(None, remarks)
    with with_rates_in(next(map(stated_rate_unit, results.cases.values()), "")):
        write(
            results,
            prepared_study.spec,
            folder,
            portable_command,
            as_page,
            _live_section(results, prepared_study) if as_page else None,
            force,
        )
        for text in notes:
            echo(f"note: {text}", err=True)
        if as_json:
            _print_documents(results, folder, prepared_study.point_count <= MOST_ANSWERS)
        else:
            _print_results(results, prepared_study.spec.answer, in_full)
            paths_text = f"{folder / 'report.md'}{f' and {folder / HTML}' if as_page else ''}"
            echo(f"\nThe report is in {paths_text}, the numbers in {folder / 'results.csv'}.")
    has_failure = any(
        [
            *(answer.failed for answer in results.cases.values()),
            *(sweep.failed for sweep in results.sweeps),
        ]
    )
    return NO_ANSWER if has_failure else DONE


@cli.command()
@click.argument("model", shell_complete=completion_function("model"))
@with_options(MODEL_OPTIONS)
@click.option(
    "--with",
    "methods",
    metavar="METHOD,...",
    default="",
    shell_complete=complete_methods,
    help=(
        f"{', '.join(METHODS[ACTIVITY])}; for a queueing network {', '.join(METHODS[NETWORK])}."
        " Several are shown side by side. [the best that applies]"
    ),
)
@click.option(
    "--value",
    "values",
    metavar="NAME",
    multiple=True,
    help=(
        "Value to print first, such as response_time_quantile[CLASS,0.95]; a method that has it"
        " is chosen. Before the steady state: time_until[STATION,N],"
        " queue_length_at[STATION,SECONDS] and probability_at[STATION,N,SECONDS]."
    ),
)
@click.option("--seed", type=WholeNumberRange(0), help="Seed of a simulation. [0]")
@click.option(
    "--precision",
    metavar="PART",
    help=("Half-width of the confidence interval of a simulation, such as 1%. [2%]"),
)
@fitted_option
@click.option(
    "--check",
    metavar="WHICH",
    help=(
        "Check of a default answer by a short simulation: off, ends, all, again (without stored"
        " results), or a number of events. [ends: of several points the ends and three others]"
    ),
)
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a time line of the run: .json for trace viewers, or a picture as .png or .svg.",
)
@click.option(
    "--all",
    "in_full",
    is_flag=True,
    help=("Print every value, step and note. [what fits a screen]"),
)
@json_option
def solve(
    model: str,
    changes: Sequence[str],
    methods: str | None,
    values: Sequence[str],
    seed: int | None,
    precision: str | None,
    check: str | None,
    timeline: Path | None,
    in_full: bool,
    as_json: bool,
    **specs: str | None,
) -> int:
    """Solve a model: times, throughputs, where the time goes, and what would help.

    MODEL is a file, or the name of a program, an activity, a queueing network or a law.

    A value may be a range that contains it with a probability of 90 %. The answer is then an
    interval, and a note says which range widens it most.

    \b
    Examples:
      slipstick solve dvsm/page-fault --machine rs6000-43p-atm
      slipstick solve lock-and-bus --set population.processors=32 --with closed-form,simulation,bounds
      slipstick solve lock-and-bus --set 'parameters.work=2 ms..5 ms'
      slipstick solve central-server --set classes.jobs.population=40 --with exact,bounds
      slipstick solve bolch-8-4 --value 'time_until[one,3]'
      slipstick solve law/flow-line --set items=3 --set 'once=10 us' --set 'longest=3 us'
    """  # noqa: E501
    import numpy  # noqa: F401  # needed in any case, so it is there before modules that could wait for it

    from slipstick.schema.inputs import build_once, solve_settings
    from slipstick.schema.library import Library
    from slipstick.schema.text import read_value

    simulation_settings = {"seed": seed, "precision": precision, "check": check}
    options = {
        f"simulation.{name}": read_value(str(value), f"--{name}")
        for name, value in simulation_settings.items()
        if value is not None
    }
    settings = {**references_of(model, specs), **nodes_of(changes), **options}
    method_names = [name.strip() for name in methods.split(",")] if methods else [None]
    library = Library()
    if timeline is not None:  # first, for it may be refused, and costs less than most answers
        _, built_model = build_once(settings, library)
        FUNCTIONS["file of a timeline"](built_model.timeline(), timeline, built_model.name)
        echo(f"The time line of the first cycles is in {timeline}.", err=True)
    with ProgressLine():
        answers, built_model = solve_settings(settings, library, method_names, values)
        if built_model.uncertain_values.paths:
            from slipstick.study.evaluator import evaluator
            from slipstick.study.uncertain import with_intervals

            # Built already: the library shares it by its settings.
            case = evaluator(built_model.name, settings, library)
            answers = tuple(with_intervals(answer, case) for answer in answers)
    if len(answers) > 1:
        answers = FUNCTIONS["answers without contradictions"](answers)
    if as_json:
        from slipstick.results.question import answer_document

        print_json({"answers": list(map(answer_document, answers))})
    else:
        _print_answers(answers, in_full)
    if any(answer.interrupted for answer in answers):
        return INTERRUPTED
    return NO_ANSWER if any(answer.failed for answer in answers) else DONE


def _print_answers(answers: Sequence[Answer], in_full: bool) -> None:
    """Print answers and how far they agree; raise if none of the methods has one."""
    from slipstick.report.answer import answers_text

    failures = [answer for answer in answers if answer.failed]
    # One answer is enough to be shown beside the reasons of the others.
    if len(failures) == len(answers):
        raise NoAnswerError(str(failures[0].failed), failures[0].other_method)
    agreement = None
    if len(answers) - len(failures) > 1:
        agreement = FUNCTIONS["agreement of answers"](answers[0].model, answers)
    echo(answers_text(answers, agreement, in_full))


@cli.command()
@folders_argument
@out_option
def gallery(folders: Sequence[Path], out: Path | None) -> int:
    """Write one page with the question, the answer and the picture of each report.

    \b
    Examples:
      slipstick gallery reports/*/ --out reports/README.md
    """
    from slipstick.report.page import gallery as page_of

    return write_text(page_of(folders), out)


for _command_of_catalogue in (list_, show, new, check, schema, glossary, counts, limits, status):
    cli.add_command(_command_of_catalogue)
cli.commands = cast("dict[str, click.Command]", Registry("slipstick.commands", cli.commands))


_OPTIONS_MEANT = {
    "--method": "write --with METHOD",
    "--value": (
        "slipstick solve has it, and a study has the key answer; pages show no quantiles, and of"
        " other values those that their method has"
    ),
    **dict.fromkeys(
        ("--sweep", "--axis", "--vary", "--axes"),
        "several values of a setting are a study: write its axes under vary, and slipstick run"
        " STUDY",
    ),
}
"""What to write in place of options that other tools have, and that no name here is close to."""


_SET = "--set"


def _usage_message(error: click.ClickException, arguments: Sequence[str]) -> str:
    """Return the message of a wrong command line, with the option that was meant if it is known."""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        if name in _OPTIONS_MEANT:
            return f"there is no option {name}; {_OPTIONS_MEANT[name]}"
        options = error.ctx.command.params if error.ctx else []
        has_settings = any(_SET in option.opts for option in options)
        near_options = get_close_matches(name, error.possibilities or (), cutoff=0.75)
        if has_settings and name.startswith("--") and not near_options:
            return (
                f"there is no option {name}; write {_SET} {name[2:]}=VALUE for a value of a model"
            )
    # Of a command, a usage error without a class of its own is an argument too many.
    is_extra_argument = (
        type(error) is click.UsageError
        and error.ctx is not None
        and not isinstance(error.ctx.command, click.Group)
    )
    if is_extra_argument and any(argument.startswith(_SET) for argument in arguments):
        return f"{message.rstrip('.')}; write {_SET} 'PATH=VALUE' in quotes if it has a blank"
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and error.ctx and error.ctx.parent:
        command_group = error.ctx.command
        assert isinstance(command_group, click.Group)
        command_path = error.ctx.command_path
        return (
            f"{command_path} needs a command: {', '.join(command_group.commands)};"
            f" {command_path} --help describes them"
        )
    if isinstance(error, click.MissingParameter) and error.ctx:
        if error.param is not None and error.param.name == "kind":
            from slipstick.schema.library import KINDS

            message = f"{message.rstrip('.')}: one of {', '.join(KINDS)}"
        return f"{message.rstrip('.')}; {error.ctx.command_path} --help has examples"
    return message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status: 0 done, 1 no answer, 2 wrong input, 130
    interrupted.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _start_faster()
    open_standard_streams()
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that knows ASCII only still gets every word.
        sys.stdout.reconfigure(errors="backslashreplace")
    original_output = sys.stdout
    try:
        status = cli.main(arguments, prog_name="slipstick", standalone_mode=False)
        # A full disk or a closed pipe shows at the flush: better here than while the interpreter
        # ends.
        sys.stdout.flush()
    except click.ClickException as error:
        return _print_problems(
            [Problem(COMMAND_LINE, 1, 1, "", _usage_message(error, arguments))], arguments, error
        )
    except SpecError as error:
        return _print_problems(error.problems, arguments, error)
    except NoAnswerError as error:
        return _print_no_answer(error, arguments)
    except SlipstickError as error:
        return _print_problems([Problem(COMMAND_LINE, 1, 1, "", str(error))], arguments, error)
    except (MemoryError, RecursionError) as error:
        resource_noun = "memory" if isinstance(error, MemoryError) else "levels of calls"
        message = (
            f"this takes more {resource_noun} than there is; make the model, the axes or the"
            " file smaller"
        )
        return _print_problems(
            [Problem(COMMAND_LINE, 1, 1, "", message)], arguments, ModelError(message)
        )
    except OSError as error:
        return _print_write_error(error)
    except SystemExit:
        if sys.stdout is original_output:
            raise
        # click would replace the stream and end with status 1.
        return _print_write_error(BrokenPipeError())
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing half-written is left", err=True)
        return INTERRUPTED
    return status if isinstance(status, int) else DONE


def _start_faster() -> None:
    """Change settings of the process that slow down the start and the end of short commands."""
    # Plugins would be looked for in every installed distribution.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Otherwise the interpreter searches all objects for cycles when it ends: a tenth of the time of
    # a short command.
    atexit.register(gc.freeze)


def _print_write_error(error: OSError) -> int:
    """Print why a file could not be written, and return the exit status."""
    if isinstance(error, BrokenPipeError):
        discard(sys.stdout)  # its reader has closed it
        return DONE
    try:
        os.getcwd()
    except FileNotFoundError:
        echo("error: the current folder was removed; change to another folder", err=True)
        return WRONG_INPUT
    echo(
        f"error: {error.filename or 'output'}: {error.strerror or error}; choose another place with"
        " --out",
        err=True,
    )
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)  # the interpreter would fail once more when it ends, with status 120
    return WRONG_INPUT


def references_of(model: str, specs: Mapping[str, str | None]) -> dict[str, Node]:
    """Return the settings that name a model and its specs, as a study file would have them."""
    from slipstick.schema.text import read_value

    spec_nodes = {
        key: (
            read_value(value, f"--{key}")
            if value.lstrip().startswith("{")
            else text_node(value, f"--{key}")
        )
        for key, value in specs.items()
        if value is not None
    }
    return {"model": text_node(model, "MODEL"), **spec_nodes}


def _live_section(results: Results, prepared_study: PreparedStudy) -> PageSection | None:
    """Return the section of a report page in which readers can vary the model, or None if the model
    does not allow it. The report is complete without this section.
    """
    from slipstick.report.html import PAGE_SECTIONS

    for build_section in PAGE_SECTIONS.values():
        with suppress(SlipstickError):
            return build_section(results, prepared_study.cases, prepared_study.context.library)
    return None


def _repeat_command(study: str, changes: Sequence[str], limits: LimitsSpec) -> str:
    """Return the command that repeats this run: its changes and limits, but not the options of the
    engine.
    """
    limits_in_words = [f"{name}={value:g}" for name, value in limits.costs.items()]
    limits_in_words += [f"time={limits.time.value:g} s"] if limits.time else []
    limits_in_words += [f"memory={limits.memory.value:.0f} B"] if limits.memory else []
    options = [("--set", change) for change in changes] + [
        ("--limit", name) for name in limits_in_words
    ]
    return shlex.join(["slipstick", "run", study, *(word for option in options for word in option)])


def _portable_path(path: str) -> str:
    """Return the name of a file without folders of this machine: the name of a shipped study; for
    another absolute path, the path from the current folder or its last part.
    """
    from slipstick.schema.library import KINDS, catalogue_folder

    studies_folder = catalogue_folder() / KINDS["study"].folder
    if path.endswith(".yaml") and Path(path).resolve().parent == studies_folder.resolve():
        return Path(path).stem
    if not os.path.isabs(path):
        return path
    in_current_folder = Path(path).resolve().is_relative_to(Path.cwd().resolve())
    return os.path.relpath(os.path.realpath(path)) if in_current_folder else os.path.basename(path)


def _portable_change(change: str) -> str:
    """Return a setting ``path=value`` in which a file has no folder of this machine."""
    name, equals, value = change.partition("=")
    return f"{name}{equals}{_portable_path(value)}"


def _print_problems(problems: Sequence[Problem], arguments: Sequence[str], error: Exception) -> int:
    """Print the problems of the input, as text or as JSON, and return the exit status."""
    # The arguments themselves may be what is wrong, so they are not parsed again.
    if "--json" in arguments:
        click.echo(json.dumps({"problems": plain_problems(problems)}))
    else:
        message = (
            _usage_message(error, arguments)
            if isinstance(error, click.ClickException)
            else str(error)
        )
        echo(f"error: {message}", err=True)
    return WRONG_INPUT


def _print_no_answer(error: NoAnswerError, arguments: Sequence[str]) -> int:
    """Print why there is no answer, as text or as JSON, and return the exit status."""
    if "--json" in arguments:
        plain_problem = plain_problems([Problem(COMMAND_LINE, 1, 1, "", str(error))])[0]
        plain_problem["other_method"] = error.other_method or None
        click.echo(json.dumps({"answers": [], "problems": [plain_problem]}))
    else:
        echo(f"no answer: {with_way_out(str(error), error.other_method)}", err=True)
    return NO_ANSWER


def _print_documents(results: Results, folder: Path, with_answers: bool) -> None:
    """Print the answers and the questions of a study as JSON; of many points, the file of their
    results.
    """
    from slipstick.results.question import answer_document, question_document

    questions = results.questions.values()
    answers = [
        *results.cases.values(),
        *(answer for sweep in results.sweeps for answer in sweep.answers),
    ]
    answers += [answer for question in questions for answer in question.answers()]
    answer_keys = (
        {"answers": list(map(answer_document, answers))}
        if with_answers
        else {"results": str(folder / "results.csv")}
    )
    print_json(
        {
            **answer_keys,
            **{
                key: value
                for question in questions
                for key, value in question_document(question).items()
            },
        }
    )


def _print_results(results: Results, wanted_names: Sequence[str], in_full: bool) -> None:
    """Print the head of the report, the cases, and the details of questions: of all questions with
    `--all`, else only of those that the head does not answer in full.
    """
    from slipstick.report.formatting import INTERVALS, wrapped
    from slipstick.report.head import questions_not_fully_answered

    _print_head(results)
    if results.cases:
        _print_cases(results.cases, wanted_names)
    shown_names = {*results.questions} if in_full else questions_not_fully_answered(results)
    for name, question in results.questions.items():
        if name in shown_names and (question_text := question.text()):
            echo(f"\n{question_text}")
    if results.simulated:
        click.echo(f"\n{wrapped(INTERVALS)}")


def _print_head(results: Results) -> None:
    """Print the head of the report: the question, its answer, and the alternatives."""
    from slipstick.report.formatting import terminal_blocks
    from slipstick.report.head import decision_table, head_lines

    lines = [f"- {line}" for line in head_lines(results, results.answer)]
    alternatives = decision_table(results, results.answer)
    echo(terminal_blocks([results.title, lines, *([alternatives] if alternatives else [])], "  "))


def _print_cases(cases: Mapping[str, Answer], wanted_names: Sequence[str]) -> None:
    """Print for each case its first wanted value, with the method and the doubts, as a table."""
    from slipstick.answer import has_width
    from slipstick.report.formatting import plain_table, quantity

    case_rows = []
    for case_name, answer in cases.items():
        value_name = next(
            (name for name in (*wanted_names, *answer.values) if name in answer.names), ""
        )
        ends = answer.ends(value_name)
        value_text = quantity(answer.find(value_name), answer.unit(value_name), ends=ends)
        exact_text = "yes" if answer.exact and not has_width(ends) else "no"
        if answer.failed:
            value_text, exact_text = f"failed: {answer.refusal}", ""
        doubts = [
            # A bound that holds is no doubt.
            doubt
            for doubt in (answer.bound, answer.error)
            if doubt and not isinstance(doubt, SlightlyBeyond)
        ]
        if answer.check:
            doubts.append(f"check: {answer.check}")
        if answer.left_out:
            doubts.append(f"left out by the import: {', '.join(answer.left_out)}")
        case_rows.append(
            [case_name, answer.model, value_text, answer.method, exact_text, "; ".join(doubts)]
        )
    column_titles = [
        "case",
        "model",
        "answer",
        "method",
        "exact",
        *["doubt"] * any(row[-1] for row in case_rows),
    ]
    click.echo(plain_table(column_titles, [row[: len(column_titles)] for row in case_rows]))
