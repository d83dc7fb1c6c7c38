"""Files that are recognized and not read as measurements, each with advice on how to get what is
wanted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slipstick.late import late_pattern


class KnownFile(NamedTuple):
    """A recognized kind of file: the pattern that identifies it, its description, and advice on
    reading it.
    """

    pattern: re.Pattern[str]
    description: str
    advice: str


_IMPORT_ADVICE = (
    "slipstick import makes a machine of it: slipstick import FILE -o machine.yaml --extends"
    " MACHINE"
)
_SAMPLES_ADVICE = (
    "slipstick trace reads its samples as perf script -F comm,tid,cpu,time,event,addr,data_src"
    " prints them"
)

_GPU_LIST_ADVICE = (
    "slipstick trace reads what nsys export --type sqlite writes, and what nsys stats --report"
    " cuda_gpu_trace --format csv prints"
)


_PATTERNS: tuple[tuple[str, str, str], ...] = (
    (
        r"\A\s*window\.BENCHMARK_DATA\s*=",
        "a page of github-action-benchmark",
        (
            "slipstick measured reads what the benchmark itself wrote: --benchmark_out=FILE.json,"
            " --benchmark-json=FILE"
        ),
    ),
    (
        r'\A\s*+\{\s*+"root_group"\s*+:',
        "k6's summary of a test without HTTP requests",
        (
            "slipstick measured reads http_req_duration alone; of other protocols, write a table of"
            " users, throughput and response time as CSV"
        ),
    ),
    (
        r"\Aresponse-time,DNS\+dialup,",
        "a list of requests of hey",
        "slipstick measured reads the summary, which hey prints without -o csv",
    ),
    (
        (
            r"(?mi)\bwait_event(?:_type)?\"?\s*[|,;]|^[\s|]*event_type\s*\|\s*event\s*\|"
            r"|\b(?:SUM|AVG)_TIMER_WAIT\b|^[\s|]*events?\s*\|[^\n]*\btotal_latency\b"
            r"|^ *Event +Waits +[^\n]*Time|^[ |\"]*wait_?type\b[^\n]*wait"
        ),
        "a table of the waits of a database, which does not say over how long and of how many",
        (
            "write them as CSV with the heading p,region,metric,value,unit: a row such as"
            " 16,,time,600,s for 16 sessions watched for 600 s, and a row such as"
            " 16,WALWrite,wait,512,s for the sum of each wait (samples times the time between them)"
        ),
    ),
    (
        r"(?m)^> *JobID\b",
        "rows of sacct among notes",
        "keep one heading and the rows of the jobs, without '>' before them",
    ),
    (
        r"(?m)^HPLinpack benchmark input file",
        "the input of High-Performance Linpack",
        "slipstick measured reads its output, with a line for each run that begins with WR or WC",
    ),
    (
        r"(?m)^HPLinpack [0-9]",
        "the head of an output of High-Performance Linpack",
        "there is no run in it; it is cut before the line that begins with WR or WC",
    ),
    (
        r"(?m)^Function\s+Best Rate MB/s",
        "output of STREAM without its triad",
        "its line that begins with Triad: has the rate and three times; is the output cut?",
    ),
    (
        r"(?m)^(Final|GFLOP/s) Summary::",
        "output of HPCG without a valid rating",
        "the line 'HPCG result is VALID with a GFLOP/s rating of' is missing; run it again",
    ),
    (
        r"(?m)^Measuring idle latencies|Memory Latency Checker - v[0-9]",
        "output of Intel MLC",
        _IMPORT_ADVICE,
    ),
    (
        r"<(lqn-model|sim|listation)\b",
        "a model of another tool",
        "slipstick import FILE -o model.yaml reads it",
    ),
    (
        r"<solutions\b[^>]*\bsolutionMethod=",
        "a file of results of JMT, without the model",
        "slipstick import FILE -o model.yaml reads the model beside it, whose name ends in .jsimg",
    ),
    (
        r"<jlqn\b",
        "a model of JLQN",
        "save it as LQNX in JLQN; slipstick import FILE.lqnx -o model.yaml reads that",
    ),
    (
        r"(?m)^# *(lqns|lqsim|petrisrvn) [0-9.]+\n(.*\n){0,9}V [yn]\b",
        "a file of results of LQNS, without the model",
        (
            "slipstick import FILE -o model.yaml reads the model, whose name ends in .lqn, .lqnx or"
            " .lqxo"
        ),
    ),
    (
        r"(?m)^[0-9]+;fio-[0-9]",
        "what fio --minimal prints, which does not say how many requests are in flight",
        "slipstick measured reads what fio prints without it, or with --output-format=json",
    ),
    (
        r"(?m)^httperf --",
        "what httperf prints",
        "write a table of its tests, with a heading such as: clients, throughput [1/s], mean [ms]",
    ),
    (
        r"(?m)^Path +(?:Min|Time)[^\n]*Time %|^Legend \(Metric: ",
        "a report of Caliper or a tree of Hatchet of one run",
        (
            "write the times of all runs as CSV with the heading p,region,metric,value,unit: a row"
            " such as 16,solve,time,1.5,s"
        ),
    ),
    (
        (
            r"(?sm)\A(?!.*\|)(?=.*(?:^CPU op-mode\(s\):|^ *Thread\(s\) per core:"
            r"|^available: [0-9]+ nodes \([0-9,-]+\)$|^\tGPU0\t))"
        ),
        "what lscpu, numactl or nvidia-smi tells of a computer",
        "slipstick import makes a machine of what lstopo prints: lstopo --of xml FILE.xml",
    ),
    (
        r"(?m)^siege aborted due to",
        "a run of siege that was aborted",
        "it has no results; run it again, with a higher limit of failures in its siegerc",
    ),
    (
        (
            r"(?m)^\[ *[0-9.]+%\] ·+ .*\n(?:.*\n)?(?:\[ *[0-9.]+%\] ·+ )? *=+ =+\n"
            r" +(?:n|N|size) *\n *-+ -+\n"
        ),
        "a table of asv over n, which may count processors or be a size",
        (
            "write threads over its numbers if n is how many there are, or write a table with a row"
            " for each run: threads,n,time [ms]"
        ),
    ),
    (
        r"(?m)^\[ *[0-9.]+%\] ·+ |^\| Change +\| Before ",
        "what asv prints of several parameters, or compares",
        "write a table with a row for each run, of one benchmark: threads,time [ms]",
    ),
    (
        (
            r"(?m)^\S.* time: ++\[[0-9.]+ [nµm]?s [0-9.]+ [nµm]?s [0-9.]+ [nµm]?s\]$"
            r"|^test \S+ +\.\.\. bench: "
        ),
        (
            "what Criterion or a test of Rust prints, with names that do not tell all numbers of"
            " threads"
        ),
        "write a table with a row for each run, of the middle times: threads,time [ms]",
    ),
    (
        (
            r"(?m)^Info: Benchmark time: [0-9]+ CPUs|^ExecutionTime = .* ClockTime = "
            r"|^ +Elapsed time \(sec\):|^ +PWSCF +: .* WALL|^ CP2K  +1 |^\| +ns/day = "
        ),
        "a log of one run of NAMD, OpenFOAM, VASP, Quantum ESPRESSO, CP2K or AMBER",
        "write a table with a row for each run, of its elapsed time or its ns/day: cores,time [s]",
    ),
    (
        r"(?m)^\[ *(?:SUM|[0-9]+)\] .* [KMG]?bits/sec\b",
        "what iperf prints",
        "write a table with a row for each number of streams: streams,throughput [Gbit/s]",
    ),
    (
        (
            r"(?m)^access +bw\(MiB/s\)|^mdtest-\S+ was launched with"
            r"|^Max (?:Write|Read): +[0-9.]+ MiB/|^Summary of all tests:$|^SUMMARY rate:"
        ),
        "what IOR or mdtest prints of one run",
        "write a table with a row for each run: tasks,throughput [MiB/s], or tasks,rate [1/s]",
    ),
    (
        (
            r"(?m)^Flat profile:$|^# Overhead +Command|^@ mpiP\b|^##IPM|^NODE [0-9]+;CONTEXT"
            r"|^\"?Scope\"?,\"?[A-Z]+TIME \(sec\)|^%Time +Exclusive +Inclusive +#Call"
            r"|^flt +type +max_buf\[B\]|^ *(?:Effective CPU Utilization|CPI Rate): [0-9.]+"
            r"|^ *Section: GPU Speed Of Light"
        ),
        (
            "a profile of one run by gprof, perf report, mpiP, IPM, TAU, Score-P, VTune, Nsight"
            " Compute or HPCToolkit"
        ),
        (
            "write the times of all runs as CSV with the heading p,region,metric,value,unit: a row"
            " such as 16,solve,time,1.5,s, and waits of all ranks such as 16,MPI,wait,5.4,s"
        ),
    ),
    (
        r"(?m)^ *(?:bfs +|sssp +)?(?:median|harmonic_mean)_TEPS: ",
        "what Graph500 prints of one run",
        (
            "write a table with a row for each run, of num_mpi_processes and the harmonic mean:"
            " ranks,throughput [TEPS]"
        ),
    ),
    (
        r"(?m)^\[RESULT(?:-invalid)?\] +(?:ior|mdtest)-\w+-\w+ +[0-9.]+ (?:GiB/s|kIOPS)",
        "what IO500 prints of one run",
        "write a table with a row for each run, of one of its tests: tasks,throughput [GiB/s]",
    ),
    (
        r"(?m)^--- .* ioping statistics ---$",
        "what ioping prints, which sends one request at a time",
        "write a table with a heading such as: clients, throughput [1/s], mean [us]",
    ),
    (
        r"(?m)^:::MLLOG \{",
        "a log of MLPerf, which tells times of events and no number of devices",
        (
            "write a table with a row for each run, of the time from run_start to run_stop:"
            " GPUs,time [min]"
        ),
    ),
    (
        r"(?m)^\W*JobID +AveCPU\b",
        "what sstat prints, which has no elapsed time and no number of processors",
        "let sacct print all jobs: sacct --format=JobID,NCPUS,Elapsed,State",
    ),
    (
        r"(?m)^<TpmC>$|^ *[0-9.]+ TpmC$",
        "what tpcc-mysql prints of one run",
        "write a table of its runs, with a heading such as: clients,throughput [tpm],mean [ms]",
    ),
    (
        r"(?m)^[ \t\u2713\u2717]*ws_(?:sessions|connecting)\.*:",
        "k6's summary of a test of sockets, without http_req_duration",
        (
            "write a table of its runs, of the sessions and of the time that the test measures:"
            " users,throughput [1/s],mean [ms]"
        ),
    ),
    (
        (
            r"(?m)^\s*resources_used\.walltime ?=|^ *Run time : +[0-9]+ sec\."
            r"|^\s*Partitionable Resources :"
        ),
        "what PBS, LSF or HTCondor tells of one job",
        "write a table with a row for each job, of its elapsed time: cores,time [s]",
    ),
    (
        r"(?m)^[0-9]+ records sent, [0-9.]+ records/sec|^Op rate +: ",
        "what the producer test of Kafka or cassandra-stress prints of one run",
        "write a table of its runs, with a heading such as: clients,throughput [1/s],mean [ms]",
    ),
    (
        r"\A\s*\{\s*[0-9]+ *: *[0-9.]+ *,",
        "a dictionary of numbers",
        "write a row for each pair, below a heading such as: threads,time [s]",
    ),
    (
        (
            r"(?m)^TOTAL +- Takes\(s\): |^Used Connections:\s+[0-9]+$|^Stat +Avg +Stdev +Max\s*$"
            r"|^(?:socketio|websocket|engine\.ws|ws)\.\w+: ?\.{3,} +[0-9]"
            r"|^\s*\{.*\"p97_5\" ?:|\"ALL STATS\" ?:|\"http\.response_time\" ?:"
        ),
        (
            "what go-ycsb, go-wrk, an old autocannon or Artillery without HTTP prints of one run,"
            " or JSON of autocannon, Artillery or memtier"
        ),
        (
            "write a table of its runs, with a heading such as: clients,throughput [1/s],mean [ms]"
            " (or rate [1/s] where requests are sent at a rate)"
        ),
    ),
    (
        r"(?m)^=+ Serving Benchmark Result =+$",
        "what the serving benchmarks of vLLM or SGLang print of one run",
        "write a table with a row for each run: rate [1/s],throughput [1/s],mean [ms]",
    ),
    (
        r"\ARUN\t.*\t[0-9]{13}\t",
        "a log of Gatling",
        "slipstick measured reads the summary that Gatling prints at the end: mean requests/sec",
    ),
    (
        r"(?m)^CPU Efficiency: .* core-walltime",
        "a report of seff on one job",
        "let sacct print all jobs: sacct --format=JobID,NCPUS,Elapsed,State",
    ),
    (
        r"(?m)^ +Slurm Job Statistics *$",
        "a report of jobstats on one job",
        "let sacct print all jobs: sacct --format=JobID,NCPUS,Elapsed,State",
    ),
    (
        r"(?s)<topology\b.*<object type=\"Machine\"",
        "a topology of hwloc",
        _IMPORT_ADVICE,
    ),
    (
        r'\A\s*(?:<\?xml[^>]*>\s*)?<system version="[0-9]+">\s*<cpu\b',
        "a topology for NCCL, which names links and devices and no rates",
        "slipstick import reads what lstopo --of xml FILE writes of the same computer",
    ),
    (
        r"(?m)^Machine \([0-9]+[KMGT]?i?B(?: total)?\)",
        "a topology printed by lstopo",
        _IMPORT_ADVICE,
    ),
    (r"(?m)^Hardware Thread Topology", "output of likwid-topology", _IMPORT_ADVICE),
    (
        (
            r"(?m)Shared Data Cache Line Table|^ *Locked Load/Store Operations +:"
            r"|^ +Trace Event Information *$"
        ),
        "a report of perf c2c",
        _SAMPLES_ADVICE,
    ),
    (
        r"(?m)^# PID, TID, IP, ADDR|Local Weight.*Memory access|\bPERF_RECORD_SAMPLE\(",
        "a report of perf mem",
        _SAMPLES_ADVICE,
    ),
    (
        (
            r"(?m)^\s*Per-node (numastat|process memory usage|system memory usage)"
            r"|^\s+node0\s+node1"
            r"|^numa_hit\s+[0-9]+\s*$"
        ),
        "output of numastat",
        f"it counts pages, not accesses, which perf mem record samples; {_SAMPLES_ADVICE}",
    ),
    (
        r"(?m)^\s*#bytes\s+#repetitions\s",
        "a table of the Intel MPI Benchmarks without its head",
        "keep the lines above it, '# Benchmarking NAME' and '# #processes = N'",
    ),
    (
        r"(?m)^\s*#bytes\s+#iterations\s",
        "a table of perftest without its head",
        "keep the lines above it, such as 'RDMA_Write Latency Test'",
    ),
    (
        r"\bName \(time in \w+\)\s+Min\b.*\bRounds\s+Iterations",
        "the table that pytest-benchmark prints",
        "its times with the parameters of tests are in JSON: pytest --benchmark-json=FILE",
    ),
    (
        r"\A\ufeff?[0-9]{13}[,;\t][0-9]+[,;\t].*[,;\t](?:true|false)[,;\t]",
        "a list of JMeter's samples without the names of their columns",
        (
            "put them before it, such as timeStamp,elapsed,label,responseCode,responseMessage,"
            "threadName,"
            "dataType,success,bytes,Latency, or save with"
            " jmeter.save.saveservice.print_field_names=true"
        ),
    ),
    (
        r"\A[0-9]+(?:_[0-9]+)?\|[0-9]+\|.*\|(?:[0-9]+-)?[0-9]{2}:[0-9]{2}:[0-9]{2}\|",
        "a list of jobs without the names of its columns",
        "let sacct print them: without --noheader, --parsable2 --format=JobID,NCPUS,Elapsed,State",
    ),
    (
        r"(?m)^ *Time ?\(%\),? +?Total Time|^\"?Time ?\(%\)\"?,\"?Total Time",
        "a summary by name of Nsight Systems, which has no course of time",
        _GPU_LIST_ADVICE,
    ),
    (
        r'(?m)^"?Name"?,"?Calls"?,"?TotalDuration',
        "a summary by name of rocprof, which has no course of time",
        "slipstick trace reads its list of kernels: rocprofv3 --kernel-trace --output-format csv",
    ),
    (
        r"\A\ufeff?metric_name,timestamp,metric_value,",
        "a list of k6's samples, whose times are cut to seconds",
        "slipstick measured reads the summary: k6 run --summary-export=FILE",
    ),
    (
        r"\Astarttime\tseconds\tctime\tdtime\tttime\twait",
        "what ab -g writes for a plot, which does not say how many requests ran at a time",
        "slipstick measured reads what ab prints",
    ),
    (
        r"(?i)\A\s*<(?:!doctype html|html|head|body|div|p|pre|table|br)\b|^#?[^<\n]*<br>$",
        "a page in HTML",
        "copy its text from the browser into a file",
    ),
    (
        r"(?m)^Executed in +[0-9.]+ +\w+ +fish +external",
        "what the time of fish prints, which tells no processors",
        "write a table with a row for each run, of the time behind 'Executed in': threads,time [s]",
    ),
    (
        r"(?m)^[0-9.]+user [0-9.]+system [0-9:.]+elapsed [0-9?]+%CPU",
        "what GNU time prints without -v",
        (
            "slipstick measured reads what /usr/bin/time -v prints, with its command; or write a"
            " table with a row for each run, of the time before 'elapsed': threads,time [s]"
        ),
    ),
    (
        r"(?m)^benchmark name +samples +iterations +est(?:imated|\b)",
        "what Catch2 prints of its benchmarks",
        "write a table with a row for each run, of the means: threads,time [ms]",
    ),
    (
        r"(?m)^Timing for main(?: \(dt=[^)]*\))?: time \S+ on domain",
        "a log of WRF, which tells the time of each step and not how many processes ran",
        "write a table with a row for each run, of the sum of its steps: ranks,time [s]",
    ),
    (
        r"(?m)^(?:MIGRATED )?(?:TCP|UDP)\w* \S+(?: \S+)* TEST\b.* port ",
        "what netperf prints",
        "write a table with a row for each number of streams: streams,throughput [Mbit/s]",
    ),
    (
        r"(?m)^=== OTF2-PRINT ===",
        "what otf2-print prints",
        "slipstick trace reads the archive itself: slipstick trace traces.otf2",
    ),
    (
        r"(?m)^\s*<platform\b",
        "a platform of SimGrid",
        "slipstick import FILE -o machine.yaml makes a machine of it",
    ),
)
"""Patterns of texts that are known, each with what the text is and the way out, in the order in
which they are tried.
"""

KNOWN_TEXTS = tuple(
    KnownFile(late_pattern(pattern), description, advice)
    for pattern, description, advice in _PATTERNS
)

GZIP = b"\x1f\x8b"
PACKED_FORMATS: Mapping[bytes, tuple[str, str]] = {
    b"PK\x03\x04": (
        "a zip archive; Extra-P's experiments are such",
        "open it in Extra-P and save it as JSON lines, or unpack it",
    ),
    b"\x89HDF": ("HDF5", "write what you need of it as CSV"),
    b"SQLite format 3": ("a database of SQLite", _GPU_LIST_ADVICE),
    b"PAR1": (
        "Parquet",
        (
            "slipstick trace reads records in a file that ends in .parquet; write a table of runs"
            " as CSV"
        ),
    ),
    GZIP: ("packed by gzip", "unpack it, unless it is a trace: slipstick trace FILE"),
}
"""First bytes of files that are no text, with what they are and the way out."""

CUBE_ADVICE = (
    "a Cube profile",
    (
        "print what you need of it: cube_dump -m time -c all -z incl -s csv FILE, or open it in"
        " Extra-P and save it as JSON lines"
    ),
)
_NSIGHT_ADVICE = ("a report of Nsight Systems", _GPU_LIST_ADVICE)
KNOWN_SUFFIXES: Mapping[str, tuple[str, str]] = {
    ".cubex": CUBE_ADVICE,
    ".nsys-rep": _NSIGHT_ADVICE,
    ".qdrep": _NSIGHT_ADVICE,
}
"""Endings of names of files that are no text, with what they are and the way out."""


def known_file_of_text(text: str) -> KnownFile | None:
    """Return the known kind of file that a text is; None if it is unknown."""
    return next(
        (known_file for known_file in KNOWN_TEXTS if known_file.pattern.search(text[:200_000])),
        None,
    )


def description_of_binary_file(path: Path | str) -> str:
    """Return the kind of a binary file with advice on reading it; empty if its kind is unknown."""
    file = Path(path)
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        beginning = stream.read(512)
    first_bytes = (
        description_and_advice
        for known_beginning, description_and_advice in PACKED_FORMATS.items()
        if beginning.startswith(known_beginning)
    )
    is_cube = beginning[257:262] == b"ustar" and b"anchor.xml" in beginning[:100]
    description, advice = (
        CUBE_ADVICE if is_cube else KNOWN_SUFFIXES.get(file.suffix) or next(first_bytes, ("", ""))
    )
    return description and f"this is {description}: {advice}"
