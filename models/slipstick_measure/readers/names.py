"""The words of tables: how people head the columns of their runs, and how they write units, times
and missing values, as found in papers, issue threads, batch systems and load tests.

Why this shape: words are data. A reader that meets a new heading needs a word here and no code.
A heading is compared in the form that `plain_words` gives it: lower case, words separated by single
blanks, without marks and without the words that only count (`COUNTING`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from string import whitespace
from typing import NamedTuple

from slipstick.late import late_pattern

PROCESSORS: tuple[str, ...] = (
    *("p", "np", "pe", "pes", "processors", "processor", "processes", "process", "procs", "proc"),
    *("ranks", "rank", "tasks", "task", "images", "pus", "cpus", "cpu", "cores", "core"),
    *("threads", "thread", "workers", "worker", "gpus", "gpu", "gcds", "tpus", "chips"),
    *("accelerators", "devices", "sockets", "nodes", "node", "hosts", "host", "machines"),
    *("servers", "instances", "executors", "replicas", "pods", "vms", "alloccpus", "allocnodes"),
    *("req cpus", "reqcpus", "cpu cores", "parallelism", "degree of parallelism", "n jobs"),
    *("njobs", "n workers", "num workers", "max workers", "world size"),
    *("prozessoren", "prozesse", "kerne", "knoten", "processeurs", "processus", "coeurs", "cœurs"),
    *("noeuds", "nœuds", "procesadores", "procesos", "núcleos", "nucleos", "hilos", "nodos"),
    *("processadores", "processos", "nós", "processori", "processi", "nodi"),
    *("线程数", "进程数", "核数", "核心数", "节点数", "スレッド数", "プロセス数", "ノード数"),
    *("线程", "进程", "核", "核心", "节点", "スレッド", "プロセス", "ノード"),
    *("потоков", "потоки", "процессов", "процессы", "ядер", "узлов"),
)
"""Words for what is counted as processors, in lower case; also in German, French, Spanish,
Portuguese, Italian, Chinese, Japanese and Russian.
"""

COUNTS_OF_ONE: tuple[str, ...] = (
    *("ppn", "tpn", "rpn", "gpn", "ppr", "tpp", "cpt", "npernode", "ppnode"),
)
"""Short words for processors of one kind in one of another, such as ranks in a node."""

PROGRAMMING_MODELS: tuple[str, ...] = ("mpi", "omp", "openmp")
"""Headings that stand for the ranks or threads of a programming model above whole numbers."""

CONTAINERS: tuple[str, ...] = (
    *("nodes", "node", "hosts", "host", "machines", "sockets", "servers", "knoten", "节点数"),
)
"""Words for what holds several processors."""

PROCESSOR_NOUNS: tuple[str, ...] = (
    *("core", "thread", "process", "rank", "worker", "GPU", "TPU", "CPU", "socket", "node"),
    *("host", "machine", "server", "instance", "executor", "replica", "pod", "chip", "device"),
)
"""Nouns that reports use for one of the processors, if a heading has one of them."""

LOADS: tuple[str, ...] = (
    *("users", "clients", "connections", "concurrency", "vus", "virtual users", "sessions"),
    *("load", "concurrent users", "concurrent clients", "in flight", "requesters", "terminals"),
    *("iodepth", "io depth", "queue depth", "qd", "outstanding", "outstanding requests"),
    *("benutzer", "nutzer", "utilisateurs", "usuarios", "用户数", "并发用户数", "并发数"),
)
"""Words for what offers work at the same time; if nothing else is counted, it takes the place of
processors.
"""

SIZES: tuple[str, ...] = (
    *("n", "size", "problem size", "grid", "grid size", "mesh", "mesh size", "cells", "zones"),
    *(
        "grösse",
        "problemgrösse",
        "gittergrösse",
        "taille",
        "taille du problème",
        "问题规模",
        "规模",
    ),
    *("elements", "unknowns", "dofs", "dof", "degrees of freedom", "atoms", "particles", "points"),
    *(
        "grid points",
        "gridpoints",
        "matrix size",
        "matrix order",
        "order",
        "global size",
        "global grid",
    ),
    *(
        "data size",
        "input size",
        "vertices",
        "rows",
        "nx",
        "resolution",
        "batch",
        "batch size",
        "global batch size",
        "global batch",
    ),
)
"""Words for the size of a problem."""

SIDES: tuple[str, ...] = ("side", "edge", "dimension", "direction", "axis")
"""Words for a length along which a size is counted: a side of a square or a cube."""

SIZES_OF_ONE: tuple[str, ...] = ("local size", "local grid", "local batch size", "micro batch")
"""Words for the size of the part of one processor."""

REPETITIONS: tuple[str, ...] = ("repetition", "rep", "run", "trial", "iteration", "sample", "seed")

TIMES: tuple[str, ...] = (
    *("time", "elapsed", "elapsed time", "runtime", "run time", "wall", "walltime", "wall time"),
    *("wallclock", "wall clock", "wallclock time", "wall clock time", "total time", "total"),
    *("execution time", "exec time", "duration", "time to solution", "tts", "real", "makespan"),
    *("t", "tp", "t p", "seconds", "second", "secs", "sec", "time taken", "timing", "s"),
    *("solve time", "solution time", "solver time", "compute time", "loop time", "job time"),
    *("time per step", "step time", "time per iteration", "iteration time", "time per timestep"),
    *("avg time", "average time", "mean time", "median time", "time mean", "time avg"),
    *("time median", "training time", "epoch time", "time per epoch", "median", "mean"),
    *("elapsedraw", "laufzeit", "zeit", "rechenzeit", "ausführungszeit", "temps", "durée"),
    *("temps d'exécution", "temps d'execution", "tiempo", "tiempo de ejecución", "tempo"),
    *("tiempo de ejecucion", "tempo de execução", "tempo de execucao", "tempo di esecuzione"),
    *(
        "时间",
        "运行时间",
        "执行时间",
        "耗时",
        "用时",
        "実行時間",
        "время",
        "время выполнения",
        "время работы",
    ),
)
"""Headings of an elapsed time."""

RATES: tuple[str, ...] = (
    *("throughput", "rate", "performance", "perf", "fom", "figure of merit", "bandwidth", "bw"),
    *("flops", "flop s", "gflops", "mflops", "tflops", "pflops", "gflop", "tflop", "rmax"),
    *("mlups", "glups", "mlup s", "glup s", "teps", "gteps", "mteps", "gups", "sypd", "iops"),
    *("ops", "tps", "qps", "rps", "ips", "fps", "mips", "hpl score", "hpcg score", "algbw"),
    *("busbw", "processing rate", "simulation rate", "simulation speed", "work rate", "score"),
    *("transactions per second", "requests per second", "operations per second", "tpm", "tpmc"),
    *("durchsatz", "débit", "吞吐量", "吞吐率"),
)
"""Headings of a rate: work in a time."""

SPEEDUPS: tuple[str, ...] = (
    *("speedup", "speed up", "relative speedup", "measured speedup", "actual speedup"),
    *("parallel speedup", "observed speedup", "relative speed", "scaling", "scaling factor"),
    *("beschleunigung", "accélération", "aceleración", "aceleracion", "aceleração"),
    *("加速比", "速度向上率", "ускорение"),
)
"""Headings of a speed-up."""

DERIVED: tuple[str, ...] = (
    *("efficiency", "parallel efficiency", "scaling efficiency", "strong scaling efficiency"),
    *("weak scaling efficiency", "eff", "pe", "scalability", "cost", "karp flatt", "core hours"),
    *("node hours", "cpu hours", "gpu hours", "speedup per core", "percent of ideal"),
    *("effizienz", "efficacité", "eficiencia", "eficiência", "efficienza"),
    *("并行效率", "效率", "並列化効率", "эффективность"),
)
"""Headings of values that are computed from times, and are not read."""

EFFICIENCIES: tuple[str, ...] = ("eff", "efic", "效率", "効率", "эфф")
"""Parts of words for an efficiency."""

IDEALS: tuple[str, ...] = (
    *("ideal", "ideal time", "ideal speedup", "linear", "linear speedup", "theoretical"),
    *("perfect", "expected", "optimal", "target", "predicted", "prediction", "model", "peak"),
)
"""Headings of values that were not measured."""

SPREADS: tuple[str, ...] = (
    *("min", "max", "minimum", "maximum", "std", "stddev", "std dev", "stdev", "sd", "sigma"),
    *("variance", "error", "err", "stderr", "cv", "iqr", "ci", "low", "high", "p95", "p99"),
    *("standard deviation", "min time", "max time", "time min", "time max", "time std"),
)
"""Headings of the scatter of repetitions."""

MEASURED: tuple[str, ...] = ("actual", "measured", "value", "result", "observed", "our", "y")
"""Headings of values that do not say what the values are; the trend of the values decides."""

COUNTING = frozenset(
    (
        "number",
        "num",
        "no",
        "nr",
        "count",
        "of",
        "total",
        "the",
        "mpi",
        "omp",
        "openmp",
        "amount",
        "used",
        "physical",
        "parallel",
        "logical",
        "cuda",
        "compute",
        "parameter",
        "число",
        "количество",
        "#",
    )
)
"""Words beside a noun which say that something is counted, or of what kind it is."""

OCCASIONS = frozenset(
    (
        *("host", "hostname", "node list", "nodelist", "date", "day", "user", "jobid", "jobidraw"),
        *("partition", "account", "state", "exitcode", "start", "end", "submit", "qos", "cluster"),
    )
)
"""Headings of columns that say where and when a run was made, and not which program ran."""

SERIAL: tuple[str, ...] = (
    "serial",
    "sequential",
    "seq",
    "single thread",
    "single core",
    "séquentiel",
)
"""What stands in place of one processor."""

SUMMARIES = frozenset(
    (
        *("mean", "average", "avg", "median", "total", "sum", "geomean", "geometric mean", "min"),
        *("max", "minimum", "maximum", "std", "stddev", "stdev", "overall", "moyenne", "summe"),
        *("mittelwert", "gesamt"),
    )
)
"""What begins a row that sums up the rows above it."""

HOURS: tuple[str, ...] = ("core hours", "cpu hours", "gpu hours", "node hours", "core h", "cpu h")
"""What the processors take together: the elapsed time in hours, times the processors."""

MISSING = frozenset(
    (
        "",
        "-",
        "--",
        "---",
        "–",
        "—",
        "n/a",
        "na",
        "none",
        "null",
        "oom",
        "out of memory",
        "timeout",
        "timed out",
        "failed",
        "dnf",
        "...",
        "skipped",
        "not run",
        "crash",
        "missing",
    )
)
"""Texts of cells without a measurement."""

SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(("sec", "secs", "second", "seconds", "s.", "sec.", "秒", "с", "сек"), "s"),
    **dict.fromkeys(("sekunde", "sekunden", "sek", "secondes", "segundos"), "s"),
    **dict.fromkeys(("微秒",), "us"),
    **dict.fromkeys(("millisekunden", "millisecondes", "milisegundos"), "ms"),
    **dict.fromkeys(("minuten", "minutos"), "min"),
    **dict.fromkeys(("stunden", "heures", "horas"), "h"),
    **dict.fromkeys(("msec", "msecs", "millisecond", "milliseconds", "millis", "毫秒"), "ms"),
    **dict.fromkeys(("usec", "usecs", "microsecond", "microseconds", "micros", "mus"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanosecond", "nanoseconds", "nanos"), "ns"),
    **dict.fromkeys(("mins", "minute", "minutes", "m", "分", "分钟", "мин"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours", "小时", "時間", "ч"), "h"),
    **dict.fromkeys(("d", "days"), "day"),
}
"""Units of time as people write them, and ours."""

_SECONDS: Mapping[str, Fraction] = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "day": Fraction(86_400),
    "year": Fraction(31_557_600),
}
_PREFIX: Mapping[str, int] = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
_WORK_IN_A_TIME = late_pattern(
    r"(?P<work>[^/]*?[^/\s])?\s*+(?:/\s*+(?P<time>[a-zµ]+)|\bper\s++(?P<word>[a-z]+))"
    r"(?P<each>\s*+(?:/\s*+|\bper\s++|-)(?P<one>[a-z]+))?",
    re.IGNORECASE,
)
_FLOPS = late_pattern(
    r"(?P<prefix>[kMGTPE]?)(?P<work>flops|lups|ips|teps|ups)(?:/s)?"
    r"(?:\s*(?:/\s*|\bper\s+)(?P<one>[a-z]+))?",
    re.IGNORECASE,
)
_PROCESSOR_AT_END = late_pattern(r"(?<!\s)\s*+(?:/\s*+|\bper\s++|-)[a-z]+$", re.IGNORECASE)
"""The processor at the end of a unit of a rate."""
_RATE_OF_WORD: Mapping[str, str] = {
    "tps": "transactions/s",
    "tpm": "transactions/min",
    "tpmc": "transactions/min",
    "t/s": "tokens/s",
    "qps": "queries/s",
    "rps": "requests/s",
    "iops": "operations/s",
    "ops": "operations/s",
    "fps": "frames/s",
    "bps": "bit/s",
    "hz": "1/s",
    "sypd": "years/day",
    "gbps": "Gbit/s",
    "mbps": "Mbit/s",
    "kbps": "kbit/s",
    "ns/d": "ns/day",
}
_REQUESTS = ("tps", "qps", "rps", "iops", "ops")
_BYTES = {"b": Fraction(1), "byte": Fraction(1), "bytes": Fraction(1)}
_BITS = {"bit": Fraction(1, 8), "bits": Fraction(1, 8)}


class RateUnit(NamedTuple):
    """A unit of a rate: its text without a processor, its factor to work per second, the base unit
    of the work, and whether it is per processor.
    """

    written_unit: str
    factor: Fraction
    base_unit: str
    is_per_processor: bool = False


def time_unit(text: str) -> str:
    """Return the standard spelling of a unit of time; return other texts unchanged.

    >>> time_unit("sec"), time_unit("Minutes"), time_unit("ms"), time_unit("GB")
    ('s', 'min', 'ms', 'GB')
    """
    unit_text = text.strip().replace("µ", "u").replace("μ", "u")
    return SPELLINGS.get(unit_text.casefold(), unit_text)


def is_time_unit(text: str) -> bool:
    """Return whether a text is a unit of time. M is none, for it stands behind mebibytes, too.

    >>> is_time_unit("sec"), is_time_unit("GB"), is_time_unit("M")
    (True, False, False)
    """
    return time_unit(text) in _SECONDS and text.strip() != "M"


def rate_unit(text: str) -> RateUnit | None:
    """Parse the unit of a rate; return None for other texts.

    Bytes keep their unit; of everything else a number is counted. A prefix of a unit of simulated
    time, as in ns/day, belongs to what is counted.

    >>> rate_unit("GB/s"), rate_unit("tokens/s/GPU")
    (RateUnit(written_unit='GB/s', factor=Fraction(1000000000, 1), base_unit='B/s',
    is_per_processor=False),
    RateUnit(written_unit='tokens/s', factor=Fraction(1, 1), base_unit='1/s',
    is_per_processor=True))
    >>> rate_unit("ns/day").factor, rate_unit("GFLOP/s").factor, rate_unit("s"), rate_unit("s/step")
    (Fraction(1, 86400), Fraction(1000000000, 1), None, None)
    """
    unit_text = _RATE_OF_WORD.get(text.strip().casefold(), text.strip())
    if unit_text[1:].casefold() in _REQUESTS and unit_text[0] in _PREFIX:  # kIOPS
        unit_text = f"{unit_text[0]} {_RATE_OF_WORD[unit_text[1:].casefold()]}"
    flop_index = unit_text.casefold().find("flop/s")
    if flop_index >= 0:  # as flops, whose prefix may be a small letter
        unit_text = f"{unit_text[:flop_index]}flops{unit_text[flop_index + len('flop/s') :]}"
    if flops_match := _FLOPS.fullmatch(unit_text):
        return RateUnit(
            text.strip()
            if not _is_processor(flops_match["one"])
            else _PROCESSOR_AT_END.sub("", text.strip()),
            Fraction(_factor_of_prefix(flops_match["prefix"])),
            "1/s",
            _is_processor(flops_match["one"]),
        )
    match = _WORK_IN_A_TIME.fullmatch(unit_text)
    if match is None:
        return None
    seconds = _SECONDS.get(time_unit(match["time"] or match["word"]))
    work = (match["work"] or "1").strip()
    is_time_alone = time_unit(work) in _SECONDS and time_unit(work) != "ns" and work != "M"
    if seconds is None or is_time_alone:
        return None
    if match["one"] and not _is_processor(match["one"]):
        return None
    factor, base_unit = _factor_and_unit_of_work(work)
    written = _PROCESSOR_AT_END.sub("", text.strip()) if match["one"] else text.strip()
    return RateUnit(written, factor / seconds, base_unit, bool(match["one"]))


def _is_processor(word: str | None) -> bool:
    """Return whether a word means a processor."""
    return word is not None and word.casefold() in PROCESSORS


def _factor_of_prefix(letters: str) -> int:
    """Return the factor of a prefix of a unit."""
    return _PREFIX.get(letters) or _PREFIX.get(letters.upper(), 1)


def _factor_and_unit_of_work(work: str) -> tuple[Fraction, str]:
    """Return the factor of a unit of work to its base unit, and that unit."""
    prefix_alone, *words = work.split()
    if prefix_alone in _PREFIX:  # k req, M
        factor, unit = _factor_and_unit_of_work(" ".join(words)) if words else (Fraction(1), "1/s")
        return _PREFIX[prefix_alone] * factor, unit
    if time_unit(work) in _SECONDS:  # simulated nanoseconds, years
        return Fraction(1), "1/s"
    for prefix in sorted(_PREFIX, key=len, reverse=True):
        text_behind = work.removeprefix(prefix) if work.startswith(prefix) else work
        if prefix and text_behind == work:
            continue
        if text_behind in ("B", "b") and prefix:
            return _PREFIX[prefix] * (Fraction(1) if text_behind == "B" else Fraction(1, 8)), "B/s"
        unit_bytes = {**_BYTES, **_BITS}.get(text_behind.casefold())
        if unit_bytes is not None:
            return _PREFIX[prefix] * unit_bytes, "B/s"
        if prefix and text_behind.casefold() in _COUNTED_WORK:
            return Fraction(_PREFIX[prefix]), "1/s"
    return Fraction(1), "1/s"


_COUNTED_WORK = frozenset(
    (
        "flop",
        "flops",
        "op",
        "ops",
        "lup",
        "lups",
        "up",
        "ups",
        "tok",
        "tokens",
        "token",
        "cells",
        "zones",
        "updates",
        "req",
        "reqs",
        "requests",
        "samples",
        "edges",
        "pairs",
        "msg",
        "messages",
    )
)

_UNIT = late_pattern(r"(?P<name>.*?)[\[(\uff08](?P<unit>[^\[\]()\uff08\uff09]*+)[\])\uff09]\s*+")
_MARKS = late_pattern(r"[*_`~.:\-]+")
_COUNT_AND_NOUN = late_pattern(
    r"(?:n|nr|no|num|#|number)_?(?P<noun>"
    + "|".join(sorted((word for word in (*PROCESSORS, *LOADS) if len(word) > 2), key=len)[::-1])
    + r")"
)
_OPTIONS_OF_LOADS = ("-c", "--concurrency", "--connections", "-u", "--users", "--vus")
"""Options of load generators that head a column of users."""
_LOAD_GENERATOR = late_pattern(
    r"^(?:ab|hey|oha|wrk2?|k6(?: run)?|siege|h2load|bombardier|pgbench)\s+"
)
_OPTIONS_OF_JOBS = ("-j", "make -j", "ninja -j", "--jobs")
"""Options of build tools that head a column of parallel jobs."""
_CLOCK = late_pattern(r"[dhms]+(?:[-:][hms]+)+")
_CAPITAL_BEGIN = late_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_WORD_OF_SYMBOL = {"t": "time", "s": "speedup", "e": "efficiency"}
_RATE_IN_WORDS = late_pattern(r"(?P<work>.*?) ?\bper (?P<time>[a-z]+)", re.IGNORECASE)
_QUOTIENT = late_pattern(r"(?P<name>.*[^ ]) ?/ ?(?P<unit>[a-zµ]+)")
"""A quantity by its unit, as standards of physics head a column: ``t_wall / ms``."""
_UNIT_AT_END = late_pattern(
    r"(?P<name>.*?[^ ,])[ ,]++(?:in )?(?P<unit>[a-zа-яµ%]++(?: ?/ ?[a-z]++)*+)", re.IGNORECASE
)


def plain_words(text: str) -> str:
    """Return a heading in normalized form, for comparing words.

    >>> (
    ...     plain_words("**No. of Cores**"),
    ...     plain_words("num_procs"),
    ...     plain_words("#ranks"),
    ...     plain_words("nGPUs"),
    ...     plain_words("MPI Ranks"),
    ... )
    ('cores', 'procs', 'ranks', 'gpus', 'ranks')
    """
    lower_text = text.strip().casefold().replace("n°", "no ").replace("№", "no ")
    if lower_text.strip("`") in _OPTIONS_OF_JOBS:
        return "n jobs"
    if _LOAD_GENERATOR.sub("", lower_text.strip("`")) in _OPTIONS_OF_LOADS:
        return "concurrency"
    if noun_match := _COUNT_AND_NOUN.fullmatch(re.sub(r"[*`\s]", "", lower_text)):
        return noun_match["noun"]
    words = _MARKS.sub(" ", lower_text.replace("#", " # ")).split()
    remaining_words = [word for word in words if word not in COUNTING]
    return " ".join(remaining_words or words)


def split_rate_heading(text: str) -> tuple[str, str] | None:
    """Split a heading that ends with a rate in words into its words and its unit; return None for
    other headings.

    >>> split_rate_heading("GB_per_s"), split_rate_heading("Throughput_M_elems_per_sec")
    (('gb per s', 'GB per s'), ('throughput', 'M elems per sec'))
    >>> split_rate_heading("time_per_step")
    """
    stripped_text = re.sub(r"[*`_]", " ", text).strip()
    match = _RATE_IN_WORDS.fullmatch(stripped_text)
    if match is None or time_unit(match["time"]) not in _SECONDS:
        return None
    rate_words = max(
        (
            rate_word
            for rate_word in RATES
            if f"{match['work']} ".casefold().startswith(f"{rate_word} ")
        ),
        key=len,
        default="",
    )
    unit = f"{match['work'][len(rate_words) :].strip() or 1} per {match['time']}"
    return plain_words(rate_words or stripped_text), unit


def words_by_capitals(text: str) -> str:
    """Return a heading with blanks where only capitals separate words, in small letters.

    >>> (
    ...     words_by_capitals("TotalTime"),
    ...     words_by_capitals("MeanTimeMs"),
    ...     words_by_capitals("CPUTime"),
    ...     words_by_capitals("nGPUs"),
    ... )
    ('total time', 'mean time ms', 'CPU time', 'n GPUs')
    """
    words = _CAPITAL_BEGIN.sub(" ", text)
    return re.sub(r"\b[A-Z](?=[a-z]+\b)", lambda initial: initial[0].lower(), words)


_QUANTILE = late_pattern(r"\bp\(([0-9]+(?:\.[0-9]+)?)\)", re.IGNORECASE)
"""A percentile as k6 names it."""
_AVERAGE_CLAUSE = late_pattern(
    r"\s?[(\[](?:(?:average|mean|median|best|minimum|min) (?:of|over) [^()\[\]]{1,40}"
    r"|(?:avg|average|mean|median) ?(?:±|\+/?-|\+\\-)[^()\[\]]{1,40}|n ?= ?[0-9]{1,6}"
    r"|[0-9]{1,4} runs)[)\]]",
    re.IGNORECASE,
)
"""How the values of a column were averaged."""


def split_heading(cell: str) -> tuple[str, str | None]:
    """Split a heading into its words and its unit, which is in brackets or at the end.

    >>> (
    ...     split_heading("Time [ms]"),
    ...     split_heading("wall_time_ms"),
    ...     split_heading("Throughput (req/s)"),
    ...     split_heading("time, s"),
    ...     split_heading("No. cores"),
    ... )
    (('time', 'ms'), ('wall time', 'ms'), ('throughput', 'req/s'), ('time', 's'), ('cores', None))
    >>> split_heading("Mean time (average of 3 runs) in seconds:")
    ('mean time', 'seconds')
    >>> (
    ...     split_heading("T(p)"),
    ...     split_heading("seconds"),
    ...     split_heading("ms/step"),
    ...     split_heading("Elapsed (hh:mm:ss)"),
    ... )
    (('time', None), ('time', 'seconds'), ('time', 'ms'), ('elapsed', None))
    """
    emphasis_marks = "*_`†‡" + whitespace
    heading_text = _AVERAGE_CLAUSE.sub("", cell).lstrip(emphasis_marks).rstrip(emphasis_marks + ":")
    heading_text = _QUANTILE.sub(r"p\1", heading_text)
    if match := _UNIT.fullmatch(heading_text):
        unit = match["unit"].strip()
        words = plain_words(match["name"])
        if function_match := re.fullmatch(r"([tse])\((?:p|n|np)\)", words):
            words = _WORD_OF_SYMBOL[function_match[1]]
        if unit.casefold() in ("p", "n", "np"):
            return _WORD_OF_SYMBOL.get(words, words), None
        return words, None if _CLOCK.fullmatch(unit.casefold()) else unit
    if heading_text.casefold() == "t/s":  # tokens, and not t in seconds, which has blanks
        return "throughput", heading_text
    quotient_match = _QUOTIENT.fullmatch(heading_text)
    name = plain_words(heading_text)
    if quotient_match and time_unit(quotient_match["unit"]) in _SECONDS:
        words = plain_words(quotient_match["name"])
        first_word, *_, last_word = (words.split() or [""]) * 2  # a mark alone has no words
        is_symbol = first_word == "t" and " " not in quotient_match["name"]  # t_wall
        if (
            words in (*TIMES, *SPREADS)
            or last_word in ("t", "time", "zeit", "latency")
            or is_symbol
        ):
            return words, quotient_match["unit"]
        factor, unit = _factor_and_unit_of_work(quotient_match["name"])
        is_work = last_word.endswith("s") or last_word in _COUNTED_WORK
        if is_work or factor != 1 or unit != "1/s":
            return name, None  # steps / s, GB / s
    if name == "elapsedraw":  # of sacct
        return name, "s"
    if _CLOCK.fullmatch(heading_text.casefold()) and ":" in heading_text:
        return "time", None
    text_before_per = re.split(r"/|[ _]per[ _]", heading_text, maxsplit=1)[0]
    is_time_alone = (
        time_unit(text_before_per) in _SECONDS
        and heading_text.casefold() not in SPREADS
        and not rate_unit(heading_text.replace("_", " "))
    )
    if is_time_alone and (len(text_before_per) > 2 or text_before_per != heading_text):
        return "time", text_before_per
    if "/" in heading_text and plain_words(text_before_per) in TIMES:  # wall/step
        return plain_words(text_before_per), None
    unit_match = _UNIT_AT_END.fullmatch(re.sub(r"[*`_]", " ", heading_text).strip())
    if unit_match is None or unit_match["unit"] in ("m", "d") or name in (*TIMES, *RATES, *HOURS):
        return name, None
    if time_unit(unit_match["unit"]) not in _SECONDS and rate_unit(unit_match["unit"]) is None:
        return name, None
    return plain_words(unit_match["name"].removesuffix(" in")) or name, unit_match["unit"]


def counts_processors_in_another(heading: str) -> bool:
    """Return whether a heading counts processors of one kind in one of another.

    >>> (
    ...     counts_processors_in_another("ppn"),
    ...     counts_processors_in_another("Tasks/node"),
    ...     counts_processors_in_another("threadsPerProcess"),
    ... )
    (True, True, True)
    >>> counts_processors_in_another("time per node"), counts_processors_in_another("cpus_per_task")
    (False, True)
    """
    words = plain_words(words_by_capitals(heading).replace("/", " per "))
    if words in COUNTS_OF_ONE:
        return True
    counted, _, container = words.rpartition(" per ")
    return counted.strip() in PROCESSORS and container.strip() in PROCESSORS


def processor_noun_of_heading(heading: str) -> str:
    """Return the noun for one of the processors that a heading in plain words contains.

    >>> (
    ...     processor_noun_of_heading("nodes"),
    ...     processor_noun_of_heading("gpus"),
    ...     processor_noun_of_heading("processes"),
    ...     processor_noun_of_heading("np"),
    ... )
    ('node', 'GPU', 'process', 'processor')
    """
    for noun in PROCESSOR_NOUNS:
        if heading in (noun.lower(), f"{noun.lower()}s", f"{noun.lower()}es"):
            return noun
    return "processor"
