"""The files that specs are made of, and which spec each makes."""

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
from slipstick_measure.imports.layered.text import is_text
from slipstick_measure.imports.losses import check_left_out
from slipstick_measure.imports.machines import calculon_spec, kerncraft_spec, simgrid_spec
from slipstick_measure.imports.memory import hpcg_spec, mlc_spec, stream_spec
from slipstick_measure.imports.network import network_spec
from slipstick_measure.imports.pdq import pdq_spec
from slipstick_measure.imports.topology import hwloc_spec, likwid_spec, lstopo_spec
from slipstick_measure.measurements import Hints
from slipstick_measure.readers import messages, perf
from slipstick_measure.readers.known import known_text
from slipstick_measure.readers.reading import Reading, open_file


class ImportFormat(NamedTuple):
    """A format to import: its test whether a file has it, and the function that makes a spec,
    perhaps one that extends a machine.
    """

    recognize: Callable[[Reading], bool]
    make: Callable[[Reading, str | None], ImportedSpec]


def _has(*patterns: str) -> Callable[[Reading], bool]:
    """Return a test whether a text has all patterns."""
    return lambda reading: all(
        re.search(pattern, reading.text, re.MULTILINE) for pattern in patterns
    )


_MESSAGES = {tool.name: tool for tool in messages.FORMATS}
IMPORTS: Mapping[str, ImportFormat] = Registry(
    "slipstick.imports",
    {
        "stream": ImportFormat(
            _has(r"^Function\s+(?:Best Rate MB/s|Mi?Bytes/sec)|^function,num_times,"), stream_spec
        ),
        "hpcg": ImportFormat(
            _has("^(Final|GFLOP/s|Machine) Summary::|^HPCG-Benchmark-[0-9.]+:|^final = [0-9.]+ GF"),
            hpcg_spec,
        ),
        "mlc": ImportFormat(
            _has("Memory Latency Checker - v|^Measuring (?:idle latencies|Loaded Latencies)"),
            mlc_spec,
        ),
        "perf-stat": ImportFormat(perf.is_perf_stat, lambda reading, base: counters_spec(reading)),
        "jsim": ImportFormat(_has(r"<sim\b"), lambda reading, base: jsim_spec(reading)),
        "jmva": ImportFormat(
            _has(r"<(listation|ldstation)\b"), lambda reading, base: jmva_spec(reading)
        ),
        "lqn": ImportFormat(
            lambda reading: "<lqn-model" in reading.text or is_text(reading),
            lambda reading, base: layered_spec(reading),
        ),
        "kerncraft": ImportFormat(_has(r"^kerncraft version\s*:"), kerncraft_spec),
        "simgrid": ImportFormat(_has(r"<platform\b"), simgrid_spec),
        "calculon": ImportFormat(_has(r'"mem1"\s*:\s*\{'), calculon_spec),
        "hwloc": ImportFormat(_has(r"<topology\b"), hwloc_spec),
        "lstopo": ImportFormat(
            _has(
                r"^(?:(?:Machine|System)\b"
                r"| *(?:Package|Socket|NUMANode|Group[0-9]?|Die|L3) L#[0-9])",
                r"\bPU (?:L#)?[0-9]",
            ),
            lstopo_spec,
        ),
        "likwid-topology": ImportFormat(_has(r"^Hardware Thread Topology"), likwid_spec),
        "pdq": ImportFormat(
            _has(r"\b(PDQ_)?[Cc]reate(Open|Closed|Node|MultiNode)\s*\("),
            lambda reading, base: pdq_spec(reading),
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
    format : of all files; told from the content of each if None
    placement : of the processes that exchange messages, one of `slipstick.vocabulary.PLACEMENTS`
    base : machine that has what a benchmark of memory does not tell

    Raises
    ------
    SpecError : everything that is wrong, by file and line
    UnknownNameError : there is no such format
    """
    formats = [*_MESSAGES, *IMPORTS]
    if format is not None and format not in formats:
        raise UnknownNameError("format to import", format, formats)
    recognized = [
        (reading, format or _name_of(reading))
        for reading in (open_file(path, hints or Hints()) for path in paths)
    ]
    for reading, name in recognized:
        if not name and (tool := known_text(reading.text)):
            reading.refuse(1, "", f"this is {tool.description}: {tool.advice}")
        if not name:
            reading.refuse(
                1,
                "",
                f"cannot tell what this is; name it with --format, one of {', '.join(formats)}",
            )
        if name in IMPORTS and len(recognized) > 1:
            reading.refuse(
                1, "", f"one file of {name} makes a spec; import the others by themselves"
            )
    (reading, name), *_ = recognized
    check_left_out(reading.hints.leave_out, name if name in IMPORTS else None)
    if name in IMPORTS:
        return IMPORTS[name].make(reading, base)
    if placement is not None and placement not in PLACEMENTS:
        raise UnknownNameError("placement", placement, list(PLACEMENTS))
    if placement is None:
        choices = ", ".join(f"{name} ({words})" for name, words in PLACEMENTS.items())
        message = (
            f"where were the processes? no benchmark prints it; say --placement, one of {choices}"
        )
        raise SpecError([Problem(reading.file, 1, 1, "", message)])
    return network_spec([_MESSAGES[name].read(reading) for reading, name in recognized], placement)


def _name_of(reading: Reading) -> str:
    recognize = {
        name: importer.recognize
        for formats in (_MESSAGES, IMPORTS)
        for name, importer in formats.items()
    }
    return next((name for name, is_of in recognize.items() if is_of(reading)), "")
