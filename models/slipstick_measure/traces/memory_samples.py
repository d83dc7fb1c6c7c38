"""Samples of memory accesses, as perf script prints them of perf mem record or perf c2c record.

A sample is an access of a thread to a line of the cache. Lines that one thread alone accesses are
one object, for a program has millions of them; those of several threads are objects of their own,
the most accessed ones by their addresses. Samples are a part of the accesses, of loads often only
the slow ones, so that counts are compared with one another and not taken as numbers of accesses.

Format: perf script of perf 4 to 6, with the fields comm, tid, cpu, time, event, addr and data_src,
of which cpu and data_src may be left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from slipstick.late import late_pattern
from slipstick_measure.traces.trace import ReadTrace, TraceColumns

LINE_BITS = 6
"""Bits of an address within a line of 64 bytes, as the machines have them that perf samples on."""
MOST_LINES = 100
"""Lines that are objects of their own."""
LINES_OF_ONE_THREAD = "lines of one thread"
OTHER_LINES = "other lines of several threads"

_SAMPLE = late_pattern(  # of linear time: a name of a program has no digits between blanks
    r"\s*+(?P<name>\S++(?: (?![0-9]+(?:/| ))\S++)*+)\s++(?:[0-9]++/)?(?P<thread>[0-9]++)"
    r"(?:\s++\[[0-9]++\])?\s++(?P<time>[0-9]++\.[0-9]++):(?:\s++[0-9]++(?=\s))?\s++"
    r"(?P<event>\S++)(?<=:)\s++(?P<address>[0-9a-f]{1,16}+)(?P<rest>\s.*+|)"
)
_EVENT = late_pattern(r"mem-(?:loads|stores)|mem_|ibs_op|arm_spe|^memory\b|ldlat", re.IGNORECASE)
_CODE_AFTER_ADDRESS = late_pattern(r"\s++(?![0-9a-f]++(?:\s|$))\S.*+|\s++\S++\s++\([^()]*+\)\s*+")
"""What follows an address of code: a source of data, or the name of a function and its file."""
_INCOMPLETE_SAMPLE = late_pattern(
    r"\|SNP [^|]*+\|TLB |^[^\s:]*?\bmem-(?:loads|stores)\b(?:[^\s:]*+:)++\s"
)
"""What tells a sample of memory accesses that lacks the fields of `_SAMPLE`."""
_FIELDS = "perf script -F comm,tid,cpu,time,event,addr,data_src"


def is_memory_samples(text: str) -> bool:
    """Return whether a text begins with samples of memory accesses, complete or not."""
    lines = (line.lstrip()[:2000] for line in text.splitlines())
    first_line = next((line for line in lines if line and line[0] != "#"), "")
    if sample_match := _SAMPLE.fullmatch(first_line):
        return bool("|SNP " in sample_match["rest"] or _EVENT.search(sample_match["event"]))
    return bool(_INCOMPLETE_SAMPLE.search(first_line))


def read_memory_samples(path: Path | str, lines: Iterable[tuple[int, str]]) -> ReadTrace:
    """Read samples into accesses of threads to lines of the cache.

    Parameters
    ----------
    path : of the file
    lines : of it, with their numbers
    """
    columns = TraceColumns(path, resolution=1e-6)
    skipped_lines = list[int]()
    modified_count = 0
    lanes_lines_and_times = list[tuple[int, int, float]]()
    lanes_by_line: dict[int, set[int]] = defaultdict(set)
    access_count_by_line: Counter[int] = Counter()
    for line_number, line_text in lines:
        if not line_text.strip() or line_text.lstrip().startswith("#"):
            continue
        sample_match = _SAMPLE.fullmatch(line_text)
        if sample_match is None:
            skipped_lines.append(line_number)
            continue
        if _CODE_AFTER_ADDRESS.fullmatch(sample_match["rest"]):
            columns.refuse(f"the sample has no address; print it, too: {_FIELDS}", line_number)
        lane = columns.number_of_name(
            columns.number_by_lane, f"{sample_match['name'][:60]} {sample_match['thread']}"
        )
        cache_line = int(sample_match["address"], 16) >> LINE_BITS
        lanes_by_line[cache_line].add(lane)
        access_count_by_line[cache_line] += 1
        modified_count += "|SNP HitM" in sample_match["rest"]
        lanes_lines_and_times.append(
            (lane, cache_line, columns.parse_number(sample_match["time"], "time", line_number))
        )
    if not lanes_lines_and_times:
        message = f"the samples have no thread, time or address; print them, too: {_FIELDS}"
        columns.refuse(message, skipped_lines[0] if skipped_lines else 1)
    shared_lines = [
        cache_line
        for cache_line, _ in access_count_by_line.most_common()
        if len(lanes_by_line[cache_line]) > 1
    ]
    name_by_line = {
        cache_line: f"0x{cache_line << LINE_BITS:x}" for cache_line in shared_lines[:MOST_LINES]
    }
    for lane, cache_line, time in lanes_lines_and_times:
        line_name = name_by_line.get(cache_line) or (
            OTHER_LINES if len(lanes_by_line[cache_line]) > 1 else LINES_OF_ONE_THREAD
        )
        columns.add_access(lane, line_name, time)
    if skipped_lines:
        columns.add_note(
            f"{len(skipped_lines):,} lines are no samples, and left out; the first is line"
            f" {skipped_lines[0]}"
        )
    columns.add_note(
        f"{len(lanes_lines_and_times):,} samples of accesses to {len(lanes_by_line):,} lines of"
        f" {1 << LINE_BITS} B, of"
        f" which several threads access {len(shared_lines):,}; {modified_count:,} found the line"
        " modified in"
        " another cache"
    )
    return columns.finished([str(lane) for lane in columns.number_by_lane])
