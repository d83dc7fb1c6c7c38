"""Programs that time commands and functions: hyperfine, Google Benchmark and pytest-benchmark.

A parameter with the name of processors or of a size is one; a benchmark is a region, and each time
that the file holds is a repetition.

Formats: hyperfine --export-json (results: command, times [s], parameters), --export-csv,
--export-markdown and what it prints; Google Benchmark --benchmark_out (benchmarks: name, run_type,
threads, real_time, time_unit, items_per_second), its CSV and what it prints; pytest-benchmark
--benchmark-json (benchmarks: name, params, stats [s]).

Commands without parameters have the number after the only option that counts processors, as -j 4
or --threads=4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from slipstick.late import late_pattern
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.names import LOADS, PROCESSORS, SIZES, plain_words
from slipstick_measure.readers.reading import (
    MOST_LINES_ABOVE,
    Coordinates,
    FileFormat,
    JsonNumber,
    Reading,
    parse_json,
    rows_of_csv,
)


def _is_object_with(input_file: Reading, *texts: str) -> bool:
    """Return whether a file is a JSON object that contains all of the given texts."""
    return input_file.text.lstrip()[:1] == "{" and all(text in input_file.text for text in texts)


def coordinates_of(
    input_file: Reading, line: int, parameters: Mapping[str, Any], region: str
) -> Coordinates | None:
    """Return the coordinates of a run from its parameters; parameters that are neither processors
    nor size become a part of the region's name. Return None after recording a problem.
    """
    hints = input_file.hints
    role_by_heading = {heading.casefold(): role for role, heading in hints.columns.items()}
    processors = hints.processors
    size = hints.size
    other_settings = list[str]()
    name_by_role = dict[str, str]()
    for name, value in parameters.items():
        name_in_words = plain_words(name)
        role = role_by_heading.get(name.casefold()) or (
            "p" if name_in_words in (*PROCESSORS, *LOADS) else "n" if name_in_words in SIZES else ""
        )
        if role in hints.columns and name.casefold() not in role_by_heading:
            role = ""
        if role and name_by_role.setdefault(role, name) != name:
            noun = "processors" if role == "p" else "the size"
            message = (
                f"{name_by_role[role]} and {name} both name {noun}; say which: --column {role}="
            )
            input_file.refuse(line, "", f"{message}{name}")
        if role == "p":
            processors = input_file.processors(line, name, str(value))
            if processors is None:
                return None
        elif role == "n":
            size = input_file.size(line, name, str(value))
            if size is None:
                return None
        else:
            other_settings.append(f"{name}={value}")
    if processors is None:
        names_in_words = ", ".join(parameters) or "none"
        input_file.refuse(
            line,
            "",
            f"no parameter counts processors (there are: {names_in_words}); name it with --column"
            " p=NAME, or write --processors",
        )
    return Coordinates(processors, size, " ".join([region, *other_settings]).strip())


def line_of_first_number(tree: Any) -> int:
    """Return the line of the first number in a part of a document; 0 if it has none."""
    if isinstance(tree, JsonNumber):
        return tree.line
    subtrees = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return next((line for subtree in subtrees if (line := line_of_first_number(subtree))), 0)


def _objects_under(input_file: Reading, key: str) -> list[Mapping[str, Any]]:
    """Return the objects in the list at a key of a JSON file; refuse a file without such a list."""
    document = parse_json(input_file, input_file.text)
    rows = document.get(key) if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        input_file.refuse(1, key, "is a list of objects in such a file")
    return rows


def _read_hyperfine(input_file: Reading) -> Measurements:
    """Read the JSON of hyperfine."""
    return _read_commands(input_file, _objects_under(input_file, "results"))


def _read_commands(input_file: Reading, rows: Sequence[Mapping[str, Any]]) -> Measurements:
    """Read the times of commands in rows as hyperfine's JSON has them, each time as a
    repetition.
    """
    commands = {_command_without_parameters(str(row.get("command", "")), row) for row in rows}
    for row in rows:
        line = line_of_first_number(row) or 1
        region = (
            _command_without_parameters(str(row.get("command", ""))[:200], row)
            if len(commands) > 1
            else ""
        )
        parameters = row.get("parameters") or _count_by_role_in_command(str(row.get("command", "")))
        coordinates = coordinates_of(input_file, line, parameters, region)
        times = row.get("times") or [row.get("mean", "")]
        for repetition, time in enumerate(times, 1):
            line_of_time = getattr(time, "line", line)
            if coordinates is not None:
                coordinates_of_time = coordinates._replace(
                    repetition=repetition if len(times) > 1 else None
                )
                input_file.add(line_of_time, coordinates_of_time, "time", str(time), "s")
    if any(
        _count_by_role_in_command(str(row.get("command", "")))
        for row in rows
        if not row.get("parameters")
    ):
        message = "the number of processors is that after the only name in it that counts some"
        input_file.add_note(1, "command", message)
    return input_file.finished()


_CSV_HEAD = late_pattern(r"\A\ufeff?command,mean,stddev,")
_COMMAND = late_pattern(r"\s*Benchmark #?[0-9]+: ?(?P<command>.*)")
_TIME = late_pattern(r"\s*Time \((?:mean|abs)[^)]*\): +(?P<mean>[0-9.]+) (?P<unit>[a-zµ]+)\b.*")
_MARKDOWN_HEAD = late_pattern(r"\s*\|\s*Command\s*\|\s*Mean \[(?P<unit>m?s|[uµ]s)\]\s*\|.*")
_MARKDOWN_ROW = late_pattern(r"\s*+\|(?P<command>[^|]*+)\|\s*+(?P<mean>[0-9.]++).*")
_DIGITS = "0123456789"
_COUNTING_OPTIONS = ("j", "t", "np", "n", "c", "jobs", "num-threads", "nthreads", "nproc")
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0}


def _is_hyperfine_text(input_file: Reading) -> bool:
    """Return whether a file is hyperfine's CSV, markdown or printed output."""
    if _CSV_HEAD.match(input_file.text):
        return True
    lines = input_file.lines[:MOST_LINES_ABOVE]
    if any(_MARKDOWN_HEAD.fullmatch(line) for line in lines):
        return True
    return any(map(_COMMAND.fullmatch, lines)) and any(map(_TIME.fullmatch, lines))


def _read_hyperfine_text(input_file: Reading) -> Measurements:
    """Read hyperfine's CSV, markdown or printed output, using its mean times."""
    rows = list[dict[str, Any]]()
    if _CSV_HEAD.match(input_file.text):
        for line, cells in rows_of_csv(input_file, input_file.text.lstrip("\ufeff")):
            parameters = {
                name.removeprefix("parameter_"): value
                for name, value in cells.items()
                if name and name.startswith("parameter_")
            }
            mean_time = JsonNumber(cells.get("mean") or "")
            mean_time.line = line
            rows.append({"command": cells["command"], "parameters": parameters, "mean": mean_time})
        return _read_commands(input_file, rows)
    command = ""
    seconds_per_unit = 1.0
    for line, text in enumerate(input_file.lines, 1):
        if begin_match := _COMMAND.fullmatch(text):
            command = begin_match["command"]
        elif heading_match := _MARKDOWN_HEAD.fullmatch(text):
            seconds_per_unit = _SECONDS[heading_match["unit"]]
        elif time_match := _TIME.fullmatch(text):
            if time_match["unit"] not in _SECONDS:
                input_file.add_problem(
                    line, "time", f"there is no unit {time_match['unit']!r} of time"
                )
                continue
            rows.append(
                _command_row(
                    command, line, float(time_match["mean"]) * _SECONDS[time_match["unit"]]
                )
            )
        elif row_match := _MARKDOWN_ROW.fullmatch(text):
            rows.append(
                _command_row(
                    row_match["command"].strip(" `\t"),
                    line,
                    float(row_match["mean"]) * seconds_per_unit,
                )
            )
    return _read_commands(input_file, rows)


def _command_row(command: str, line: int, seconds: float) -> dict[str, Any]:
    """Convert a command and its mean time to the form that hyperfine's JSON has for it; keep the
    line of the time.
    """
    mean_time = JsonNumber(repr(seconds))
    mean_time.line = line
    return {"command": command, "mean": mean_time}


def _count_by_role_in_command(command: str) -> dict[str, str]:
    """Return the number of processors, as ``p``, from the option of a command that counts them;
    empty unless exactly one option does.
    """
    count_texts = [
        value
        for name, value in _numeric_options(command)
        if _is_count_of_processors(name) or name in _COUNTING_OPTIONS
    ]
    return {"p": count_texts[0]} if len(count_texts) == 1 else {}


def _is_count_of_processors(name: str) -> bool:
    """Return whether the name of an option says that its value counts processors. The value of
    ``ntasks-per-node`` does not, because it counts those of one node.
    """
    *words_before, last_word = plain_words(name).split(" ")
    return last_word in PROCESSORS and "per" not in words_before


def _numeric_options(command: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each whole number that a command sets: by options such as
    ``-j 8``, ``-j8``, ``--jobs=8``, and by ``OMP_NUM_THREADS=8`` or ``threads: 8``.
    """
    words = command.split()
    for option, next_word in pairwise([*words, ""]):
        name, equals_sign, value_text = option.lstrip("-").partition("=")
        if not equals_sign:
            letters = name.rstrip(_DIGITS)
            name, value_text = letters, name[len(letters) :] or next_word
        is_set = option.startswith("-") or bool(equals_sign) or option.endswith(":")
        name = name.rstrip(":")
        if is_set and name[:1].isalpha() and value_text and not value_text.strip(_DIGITS):
            yield name, value_text


def _command_without_parameters(command: str, row: Mapping[str, Any]) -> str:
    """Return a command without the values of its parameters, which vary."""
    for value in (row.get("parameters") or _count_by_role_in_command(command)).values():
        number_pattern = rf"(?:(?<![\w.])|(?<=\s-[a-z])){re.escape(str(value))}(?![\w.])"
        command = re.sub(number_pattern, "*", command)
    return command


_NAME_SEGMENT = late_pattern(r"(?P<name>[A-Za-z_]\w*+)(?::(?P<value>[0-9.]+))?")
"""A name, and its value where it has one: names without are passed over once."""


_SETTING_NAMES = ("iterations", "repeats", "min_time", "min_warmup_time")
"""What a name of Google Benchmark says about how it was run."""
_FIRST_WALL_TIME_VERSION = (1, 9)
"""Version of Google Benchmark from which the time of a thread is not divided by the threads (its
change 1836); its JSON names the version from 1.8.4 on.
"""


_VERSION = late_pattern(r"v?(?!0\.0\b)([0-9]{1,4})\.([0-9]{1,4})\b")
"""A version; a build that does not know its own says 0.0.0."""


def _read_google(input_file: Reading) -> Measurements:
    """Read the JSON of Google Benchmark."""
    document = parse_json(input_file, input_file.text)
    context = document.get("context") if isinstance(document, dict) else None
    version_match = _VERSION.match(str((context or {}).get("library_version", "")))
    is_wall_time = (
        (int(version_match[1]), int(version_match[2])) >= _FIRST_WALL_TIME_VERSION
        if version_match
        else None
    )
    return _read_functions(input_file, _objects_under(input_file, "benchmarks"), is_wall_time)


def _read_functions(
    input_file: Reading, rows: Sequence[Mapping[str, Any]], is_wall_time: bool | None
) -> Measurements:
    """Read the functions in Google Benchmark's JSON.

    Parameters
    ----------
    is_wall_time : whether the time of a thread is not divided by the number of threads; None if the
        version is unknown, which is then taken as an old one, with a note
    """
    failed_rows = [row for row in rows if row.get("error_occurred") in (True, "true")]
    for row in failed_rows:
        message = f"{str(row.get('name'))[:80]} failed, and is left out: {row.get('error_message')}"
        input_file.add_note(line_of_first_number(row) or 1, "", message[:200])
    rows = list(_rows_of_single_runs(input_file, [row for row in rows if row not in failed_rows]))
    function_names = {_name_without_arguments(row) for row in rows}
    rate_name = next(
        (
            name
            for name in ("items_per_second", "bytes_per_second")
            if _all_have_counter(rows, name)
        ),
        "",
    )
    if rate_name and any(_measures_processor_time(row) for row in rows):
        rate_name = ""
        message = "rates count the processor time of all threads, so the times are read"
        input_file.add_note(1, "process_time", message)
    repetition_count_by_run: dict[Coordinates, int] = {}
    has_multiplied = False
    has_threads = any(str(row.get("threads", "1")) != "1" for row in rows)
    for row in rows:
        line = line_of_first_number(row) or 1
        arguments = _arguments_of_function(row, has_threads)
        run_coordinates = coordinates_of(
            input_file,
            line,
            arguments,
            _name_without_arguments(row) if len(function_names) > 1 else "",
        )
        if run_coordinates is None:
            continue
        repetition_count_by_run[run_coordinates] = (
            repetition_count_by_run.get(run_coordinates, 0) + 1
        )
        coordinates = run_coordinates._replace(repetition=repetition_count_by_run[run_coordinates])
        unit = str(row.get("time_unit", "ns"))
        if rate_name:
            rate_unit = "items/s" if rate_name == "items_per_second" else "B/s"
            input_file.add(line, coordinates, "throughput", str(row[rate_name]), rate_unit)
        elif is_wall_time or run_coordinates.p == 1:
            metric = "cycle" if has_threads else "time"
            input_file.add(line, coordinates, metric, str(row.get("real_time", "")), unit)
        else:
            time = input_file.number(line, "real_time", str(row.get("real_time", "")))
            if time:
                has_multiplied = True
                input_file.add(line, coordinates, "cycle", repr(time * run_coordinates.p), unit)
    if has_multiplied and is_wall_time is None:
        input_file.add_note(
            1,
            "library_version",
            "does not name a version of Google Benchmark; times of several threads are read as"
            " those of a version before 1.9, and multiplied by the number of threads",
        )
    return input_file.finished()


def _arguments_of_function(row: Mapping[str, Any], has_threads: bool) -> dict[str, Any]:
    """Return the arguments of a function by name, with the library's threads and an unnamed size.

    Parameters
    ----------
    row : a row of Google Benchmark
    has_threads : whether the library ran any function with several threads
    """
    arguments = {
        match["name"]: match["value"]
        for match in _NAME_SEGMENT.finditer(str(row.get("name")))
        if match["value"] and match["name"] not in _SETTING_NAMES
    }
    if "threads" in row:
        arguments["threads"] = row["threads"]
    # Threads that the function starts itself are an argument; the library then counts one.
    if not has_threads and sum(plain_words(name) in PROCESSORS for name in arguments) > 1:
        del arguments["threads"]
    if (unnamed_size := _unnamed_size(row)) is not None:
        arguments["n"] = unnamed_size
    return arguments


def _measures_processor_time(row: Mapping[str, Any]) -> bool:
    """Return whether a function measures the processor time of all threads. The library then
    divides the work by that time, unless it is told to use the time on the clock.
    """
    segments = str(row.get("run_name") or row.get("name", "")).split("/")
    return "process_time" in segments and not {"real_time", "manual_time"} & set(segments)


def _rows_of_single_runs(
    input_file: Reading, rows: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of single runs. Of a function with aggregates only
    (``--benchmark_report_aggregates_only``), yield the mean as if it were a run, and note this.
    """
    single_runs = [row for row in rows if row.get("run_type") != "aggregate"]
    single_names = {row.get("name") for row in single_runs}
    mean_rows = [
        {**row, "name": name}
        for row in rows
        if row.get("run_type") == "aggregate" and row.get("aggregate_name") == "mean"
        if (name := str(row.get("name", "")).removesuffix("_mean")) not in single_names
    ]
    if mean_rows:
        functions_in_words = (
            f" of {len(mean_rows)} of {len(mean_rows) + len(single_names)} functions"
            if single_runs
            else ""
        )
        message = f"only aggregates{functions_in_words} are written, of which the means are read"
        input_file.add_note(1, "", message)
    yield from single_runs
    yield from mean_rows


_GOOGLE_HEAD = late_pattern(r"Benchmark +Time +CPU +Iterations\b.*")
_GOOGLE_ROW = late_pattern(
    r"(?P<name>\S+) +(?P<time>[0-9.]+) (?P<unit>ns|us|ms|s) +[0-9.]+ (?:ns|us|ms|s)"
    " +[0-9]+(?P<rest>.*)"
)
_GOOGLE_CSV = late_pattern(r"^name,iterations,real_time,cpu_time,time_unit,", re.MULTILINE)
_COUNTER = late_pattern(
    r"\b(?P<name>(?:items|bytes)_per_second)=(?P<value>[0-9.]+)(?P<prefix>[kMGT]?)i?/s"
)
_AGGREGATED = late_pattern(r"_(?:mean|median|stddev|cv)\Z")


def _is_google_text(input_file: Reading) -> bool:
    """Return whether a file is Google Benchmark's CSV or printed output."""
    if _GOOGLE_CSV.search(input_file.text):
        return True
    return any(_GOOGLE_HEAD.fullmatch(line.strip()) for line in input_file.lines[:MOST_LINES_ABOVE])


def _read_google_text(input_file: Reading) -> Measurements:
    """Read Google Benchmark's CSV or printed output; prefixes of bytes are powers of 1,024."""
    rows = list[dict[str, Any]]()
    if begin_match := _GOOGLE_CSV.search(input_file.text):
        for _, cells in rows_of_csv(input_file, input_file.text[begin_match.start() :]):
            rows.append({key: value for key, value in cells.items() if key and value})
    _check_one_machine(input_file)
    for line, text in enumerate([] if begin_match else input_file.lines, 1):
        if (match := _GOOGLE_ROW.fullmatch(text.strip())) is None:
            continue
        time = JsonNumber(match["time"])
        time.line = line
        row: dict[str, Any] = {"name": match["name"], "real_time": time, "time_unit": match["unit"]}
        for counter_match in _COUNTER.finditer(match["rest"]):
            prefix_base = 1024.0 if counter_match["name"].startswith("bytes") else 1000.0
            power = "kMGT".index(counter_match["prefix"]) + 1 if counter_match["prefix"] else 0
            row[counter_match["name"]] = repr(float(counter_match["value"]) * prefix_base**power)
        rows.append(row)
    thread_pattern = re.compile(r"/threads:([0-9]+)")
    for row in rows:
        # The number of threads stands in the name of those that run on several only.
        if _AGGREGATED.search(str(row["name"])):
            row["run_type"] = "aggregate"
        thread_match = thread_pattern.search(str(row["name"]))
        row["threads"] = thread_match[1] if thread_match else "1"
    if any(row["threads"] != "1" and "items_per_second" not in row for row in rows):
        input_file.add_note(
            1,
            "",
            "times are read as Google Benchmark prints them since 1.9; before, they are divided by"
            " the number of threads, which its JSON tells",
        )
    return _read_functions(input_file, rows, True)


_RUN_ON = late_pattern(r"Run on \(.*")


def _check_one_machine(input_file: Reading) -> None:
    """Raise if the outputs of several runs have a function in common and are of different machines:
    they are no repetitions.
    """
    machine = ""
    lines_by_function: dict[str, dict[str, int]] = {}
    for line, text in enumerate(input_file.lines, 1):
        if _RUN_ON.fullmatch(text.strip()):
            machine = text.strip()
        elif match := _GOOGLE_ROW.fullmatch(text.strip()):
            lines_by_function.setdefault(match["name"], {}).setdefault(machine, line)
    for function_name, line_by_machine in lines_by_function.items():
        if len(line_by_machine) > 1:
            (first_machine, _), (second_machine, line_of_second) = list(line_by_machine.items())[:2]
            message = (
                f"is in runs of different machines, {first_machine[:60]!r} and"
                f" {second_machine[:60]!r}; keep those of one"
            )
            input_file.refuse(line_of_second, function_name[:80], message)


def _all_have_counter(rows: Sequence[Mapping[str, Any]], counter: str) -> bool:
    """Return whether every row has a counter, such as a rate."""
    return bool(rows) and all(row.get(counter) for row in rows)


def _unnamed_size(row: Mapping[str, Any]) -> str | None:
    """Return the only unnamed argument of a function, which is a size; None if there are
    several.
    """
    name = str(row.get("run_name") or row.get("name", ""))
    size_segments = [segment for segment in name.split("/")[1:] if segment.isdecimal()]
    return size_segments[0] if len(size_segments) == 1 else None


def _name_without_arguments(row: Mapping[str, Any]) -> str:
    """Return the name of a function without its arguments and settings."""
    name = str(row.get("run_name") or row.get("name", ""))[:200]
    segments = [
        segment
        for segment in name.split("/")
        if not ((match := _NAME_SEGMENT.fullmatch(segment)) and match["value"])
        and segment not in ("real_time", "process_time", "manual_time", _unnamed_size(row))
    ]
    return "/".join(segments)


def _function_name(row: Mapping[str, Any]) -> str:
    """Return the name of a test without bracketed parameters at its end."""
    name = str(row.get("name", ""))
    return name.partition("[")[0] if name.endswith("]") else name


def _read_pytest(input_file: Reading) -> Measurements:
    """Read the times of each test in pytest-benchmark's JSON."""
    rows = _objects_under(input_file, "benchmarks")
    function_names = {_function_name(row) for row in rows}
    for row in rows:
        line = line_of_first_number(row) or 1
        statistics: Mapping[str, Any] = row["stats"] if isinstance(row.get("stats"), dict) else {}
        region = _function_name(row)[:200] if len(function_names) > 1 else ""
        coordinates = coordinates_of(input_file, line, row.get("params") or {}, region)
        times = statistics.get("data") or [statistics.get("median", statistics.get("mean", ""))]
        for repetition, time in enumerate(times, 1):
            if coordinates is not None:
                coordinates_of_time = coordinates._replace(
                    repetition=repetition if len(times) > 1 else None
                )
                input_file.add(
                    getattr(time, "line", line), coordinates_of_time, "time", str(time), "s"
                )
    return input_file.finished()


def _recognition_function(*texts: str) -> Callable[[Reading], bool]:
    """Return a function that recognizes a JSON object that contains some texts."""
    return lambda input_file: _is_object_with(input_file, *texts)


FORMATS = (
    FileFormat(
        "hyperfine", _recognition_function('"results"', '"command"', '"times"'), _read_hyperfine
    ),
    FileFormat("hyperfine-text", _is_hyperfine_text, _read_hyperfine_text),
    FileFormat(
        "google-benchmark",
        _recognition_function('"benchmarks"', '"real_time"', '"time_unit"'),
        _read_google,
    ),
    FileFormat("google-benchmark-text", _is_google_text, _read_google_text),
    FileFormat(
        "pytest-benchmark",
        _recognition_function('"benchmarks"', '"stats"', '"machine_info"'),
        _read_pytest,
    ),
)
