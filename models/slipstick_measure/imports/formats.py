"""The file formats that can be imported, and the kind of spec that each becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.extensions import Registry
from slipstick.vocabulary import PLACEMENTS
from slipstick_measure.imports.counters import counters_spec
from slipstick_measure.imports.imported import ImportedSpec
from slipstick_measure.imports.jmva import jmva_spec
from slipstick_measure.imports.jsim import jsim_spec
from slipstick_measure.imports.layered import layered_spec
from slipstick_measure.imports.layered.text import is_lqn_text
from slipstick_measure.imports.losses import check_left_out
from slipstick_measure.imports.machines import calculon_spec, kerncraft_spec, simgrid_spec
from slipstick_measure.imports.memory import hpcg_spec, mlc_spec, stream_spec
from slipstick_measure.imports.network import network_spec
from slipstick_measure.imports.pdq import pdq_spec
from slipstick_measure.imports.topology import hwloc_spec, likwid_spec, lstopo_spec
from slipstick_measure.measurements import Hints
from slipstick_measure.readers import messages, perf
from slipstick_measure.readers.known import known_file_of_text
from slipstick_measure.readers.reading import Reading, open_file


class ImportFormat(NamedTuple):
    """A format to import: the function that recognizes a file by its text, and the function that
    makes a spec of it; its second argument is a machine that the spec extends.
    """

    recognize: Callable[[Reading], bool]
    make: Callable[[Reading, str | None], ImportedSpec]


def _recognition_function(*patterns: str) -> Callable[[Reading], bool]:
    """Return a function that recognizes the files in which each of some regular expressions
    matches.
    """
    return lambda input_file: all(
        re.search(pattern, input_file.text, re.MULTILINE) for pattern in patterns
    )


_MESSAGES = {message_format.name: message_format for message_format in messages.FORMATS}
IMPORTS: Mapping[str, ImportFormat] = Registry(
    "slipstick.imports",
    {
        "stream": ImportFormat(
            _recognition_function(
                r"^Function\s+(?:Best Rate MB/s|Mi?Bytes/sec)|^function,num_times,"
            ),
            stream_spec,
        ),
        "hpcg": ImportFormat(
            _recognition_function(
                "^(Final|GFLOP/s|Machine) Summary::|^HPCG-Benchmark-[0-9.]+:|^final = [0-9.]+ GF"
            ),
            hpcg_spec,
        ),
        "mlc": ImportFormat(
            _recognition_function(
                "Memory Latency Checker - v|^Measuring (?:idle latencies|Loaded Latencies)"
            ),
            mlc_spec,
        ),
        "perf-stat": ImportFormat(
            perf.is_perf_stat, lambda input_file, base_machine: counters_spec(input_file)
        ),
        "jsim": ImportFormat(
            _recognition_function(r"<sim\b"), lambda input_file, base_machine: jsim_spec(input_file)
        ),
        "jmva": ImportFormat(
            _recognition_function(r"<(listation|ldstation)\b"),
            lambda input_file, base_machine: jmva_spec(input_file),
        ),
        "lqn": ImportFormat(
            lambda input_file: "<lqn-model" in input_file.text or is_lqn_text(input_file),
            lambda input_file, base_machine: layered_spec(input_file),
        ),
        "kerncraft": ImportFormat(_recognition_function(r"^kerncraft version\s*:"), kerncraft_spec),
        "simgrid": ImportFormat(_recognition_function(r"<platform\b"), simgrid_spec),
        "calculon": ImportFormat(_recognition_function(r'"mem1"\s*:\s*\{'), calculon_spec),
        "hwloc": ImportFormat(_recognition_function(r"<topology\b"), hwloc_spec),
        "lstopo": ImportFormat(
            _recognition_function(
                r"^(?:(?:Machine|System)\b"
                r"| *(?:Package|Socket|NUMANode|Group[0-9]?|Die|L3) L#[0-9])",
                r"\bPU (?:L#)?[0-9]",
            ),
            lstopo_spec,
        ),
        "likwid-topology": ImportFormat(
            _recognition_function(r"^Hardware Thread Topology"), likwid_spec
        ),
        "pdq": ImportFormat(
            _recognition_function(r"\b(PDQ_)?[Cc]reate(Open|Closed|Node|MultiNode)\s*\("),
            lambda input_file, base_machine: pdq_spec(input_file),
        ),
    },
)
"""Formats that make a spec of one file; beside them, those of `messages` make a network of one
or several.
"""


def import_spec(
    paths: Sequence[Path | str],
    hints: Hints | None = None,
    format: str | None = None,
    placement: str | None = None,
    base: str | None = None,
) -> ImportedSpec:
    """Make a spec of files that other tools wrote.

    Parameters
    ----------
    paths : the files; several only of benchmarks of messages, which together make one network
    hints : what they do not say: processors, the unit of times
    format : of all files; recognized by the content of each if None
    placement : of the processes that exchange messages, one of `slipstick.vocabulary.PLACEMENTS`
    base : name of the machine to extend, if the files describe only a part of a machine

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    UnknownNameError : there is no such format
    """
    format_names = [*_MESSAGES, *IMPORTS]
    if format is not None and format not in format_names:
        raise UnknownNameError("format to import", format, format_names)
    files_and_formats = [
        (input_file, format or _recognize_format(input_file))
        for input_file in (open_file(path, hints or Hints()) for path in paths)
    ]
    for input_file, name in files_and_formats:
        if not name and (known_file := known_file_of_text(input_file.text)):
            input_file.refuse(1, "", f"this is {known_file.description}: {known_file.advice}")
        if not name:
            input_file.refuse(
                1,
                "",
                (
                    "the format of this file is unknown; name it with --format, one of"
                    f" {', '.join(format_names)}"
                ),
            )
        if name in IMPORTS and len(files_and_formats) > 1:
            input_file.refuse(
                1, "", f"one file of {name} makes a spec; import the others by themselves"
            )
    (input_file, name), *_ = files_and_formats
    check_left_out(input_file.hints.leave_out, name if name in IMPORTS else None)
    if name in IMPORTS:
        return IMPORTS[name].make(input_file, base)
    if placement is not None and placement not in PLACEMENTS:
        raise UnknownNameError("placement", placement, list(PLACEMENTS))
    if placement is None:
        choices_in_words = ", ".join(f"{name} ({words})" for name, words in PLACEMENTS.items())
        message = (
            "where were the processes? no benchmark prints it; write --placement, one of"
            f" {choices_in_words}"
        )
        raise SpecError([Problem(input_file.file, 1, 1, "", message)])
    return network_spec(
        [_MESSAGES[name].read(input_file) for input_file, name in files_and_formats], placement
    )


def _recognize_format(input_file: Reading) -> str:
    """Return the name of the format of a file; empty if none is recognized."""
    recognize_by_format = {
        format_name: importer.recognize
        for formats in (_MESSAGES, IMPORTS)
        for format_name, importer in formats.items()
    }
    return next(
        (
            format_name
            for format_name, recognize in recognize_by_format.items()
            if recognize(input_file)
        ),
        "",
    )
