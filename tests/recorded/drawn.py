"""Models, tables and options that are drawn: numbers that differ where other inputs have equal
ones, several classes, servers and units, and options of commands in combination.

Each follows from its name alone, as in `generated`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.measure.data import SAMPLES

__all__ = ["DRAWN"]

_ROOT = Path(__file__).parents[2]
Files = Mapping[str, str]

# Networks of queues

NETWORKS, ACTIVITIES, TABLES, OPTIONS, STUDIES = 60, 60, 12, 3, 40
OF_NETWORKS = (
    "solve m.yaml --json",
    "solve m.yaml --all",
    "solve m.yaml --with bounds --json",
    "solve m.yaml --with exact,linearizer --json",
    "solve m.yaml --with schweitzer --all",
    "solve m.yaml --with markov-chain --json",
    "solve m.yaml --with simulation --seed 3 --precision 20% --json",
    "explain m.yaml --all",
    "solve m.yaml --check all --json",
)
_DISCIPLINES = (
    *("fcfs", "fcfs", "fcfs", "ps", "lcfs-pr", "random", "is", "lcfs"),
    *("priority", "priority-preemptive"),
)


_BRANCHES = "probabilities: [0.3, 0.7], rates: [1 /s, 4 /s]"


def _time(chance: random.Random, low: float, high: float) -> str:
    """Write a time in one of several units [s]."""
    seconds = chance.uniform(low, high)
    unit, factor = chance.choice((("s", 1.0), ("ms", 1e3), ("us", 1e6), ("min", 1 / 60)))
    return f"{seconds * factor:.4g} {unit}"


def _distribution(chance: random.Random, low: float, high: float) -> str:
    mean = _time(chance, low, high)
    return chance.choice(
        (
            *(mean, mean, mean),
            f"{{erlang: {{mean: {mean}, phases: {chance.choice((2, 3))}}}}}",
            f"{{lognormal: {{mean: {mean}, scv: {chance.choice((0.4, 2.5))}}}}}",
            f"{{gamma: {{mean: {mean}, scv: {chance.choice((0.3, 1.7))}}}}}",
            f"{{weibull: {{mean: {mean}, shape: {chance.choice((0.8, 1.6))}}}}}",
            f"{{pareto: {{mean: {mean}, shape: 3.5}}}}",
            f"{{uniform: {{mean: {mean}, low: 1 s, high: 3 s}}}}",
            f"{{hyperexponential: {{mean: {mean}, {_BRANCHES}}}}}",
            f"{{coxian: {{mean: {mean}, rates: [2 /s, 5 /s], onward: [0.35]}}}}",
        )
    )


def _class_of_customers(chance: random.Random, is_open: bool) -> str:
    target = f", target_time: {_time(chance, 1, 4)}" if chance.random() < 0.3 else ""
    if is_open:
        more = chance.choice(("", "", "", ", batch: 2", ", backlog: 3"))
        if chance.random() < 0.15:
            more = ", burst_arrivals: 0.9 /s, burst_time: 2 s, quiet_time: 7 s"
        return f"{{arrivals: {chance.uniform(0.05, 0.5):.3g} /s{more}{target}}}"
    think = f", think_time: {_time(chance, 0.3, 3)}" if chance.random() < 0.7 else ""
    return f"{{population: {chance.choice((1, 2, 3, 4, 7))}{think}{target}}}"


def _station(chance: random.Random, classes: Sequence[str], one_mean: bool) -> str:
    """Write a station with one to three things that differ from the plain one."""
    discipline = chance.choice(_DISCIPLINES)
    key = chance.choice(("service", "service", "demand"))
    common = _distribution(chance, 0.1, 0.6) if key == "service" else _time(chance, 0.1, 0.6)
    times = {
        name: common
        if one_mean
        else (_distribution(chance, 0.1, 0.6) if key == "service" else _time(chance, 0.1, 0.6))
        for name in classes
    }
    words = [f"discipline: {discipline}", f"{key}: {_of(times)}"]
    if key == "service" and chance.random() < 0.6:
        words.append(f"visits: {_of({name: chance.choice((1, 1, 2, 1.5)) for name in classes})}")
    if discipline.startswith("priority"):
        ranks = list(range(1, len(classes) + 1))
        chance.shuffle(ranks)
        words.append(f"priority: {_of(dict(zip(classes, ranks, strict=True)))}")
    if discipline == "ps" and len(classes) > 1 and chance.random() < 0.4:
        words.append(f"weight: {_of({name: chance.choice((1, 2, 3.5)) for name in classes})}")
    if discipline != "is":
        if chance.random() < 0.4:
            words.append(f"servers: {chance.choice((2, 3, 5))}")
        elif chance.random() < 0.2:
            words.append("rates: [1, 1.7, 2.2]")
        more = (
            f"capacity: {chance.choice((2, 4, 6))}",
            f"capacity: {chance.choice((2, 5))}, blocking: loss",
            f"patience: {_of({name: _time(chance, 0.5, 3) for name in classes})}",
            f"patience: {_of({classes[0]: '2 s'})}, retries: {_of({classes[0]: 2})}",
            f"balking: {_of({classes[0]: '[0.2, 0.5, 0.9]'})}",
            f"timeout: {_of({classes[-1]: _time(chance, 0.5, 3)})}",
        )
        if discipline in ("fcfs", "priority-preemptive") and chance.random() < 0.1:
            repair = _time(chance, 0.4, 2)
            words.append(f"breakdown: {{every: {_time(chance, 20, 60)}, repair: {repair}}}")
        elif discipline == "fcfs" and chance.random() < 0.5:
            words.append(chance.choice(more))
    return f"{{{', '.join(words)}}}"


def _of(value_by_name: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in value_by_name.items()) + "}"


def _network(
    chance: random.Random, kinds: Sequence[str] = ("open", "closed", "closed", "mixed")
) -> str:
    kind = chance.choice(kinds)
    classes = ("jobs", "calls", "queries")[: chance.choice((1, 2, 2, 3))]
    one_mean = chance.random() < 0.4
    customers = {
        name: _class_of_customers(chance, kind == "open" or (kind == "mixed" and not place))
        for place, name in enumerate(classes)
    }
    stations = {
        name: _station(chance, classes, one_mean)
        for name in ("cpu", "disk", "link", "store")[: chance.choice((1, 2, 2, 3, 4))]
    }
    region = ""
    if len(stations) > 1 and chance.random() < 0.1:
        region = "regions: {room: {stations: [cpu, disk], capacity: 4}}\n"
    lines = "".join(f"  {name}: {text}\n" for name, text in stations.items())
    amounts = 'amounts: {cost: "3 * utilization[cpu] + 0.5"}\n'
    return (
        f"queueing-network: 1\nclasses: {_of(customers)}\nstations:\n{lines}{region}"
        f"{amounts if chance.random() < 0.2 else ''}"
    )


# Activities

OF_ACTIVITIES = (
    "solve m.yaml --json",
    "solve m.yaml --all",
    "solve m.yaml --with closed-form --json",
    "solve m.yaml --with bounds --all",
    "solve m.yaml --with mean-value --json",
    "solve m.yaml --with markov-chain --json",
    "solve m.yaml --with simulation --seed 5 --precision 20% --json",
    "explain m.yaml --all",
    "solve m.yaml --timeline t.json && cat t.json",
    "solve m.yaml --check all --json",
)
_RESOURCES = {
    "bus": ("{}", "{servers: 2}", "{discipline: ps}", "{servers: 3, discipline: random}"),
    "disk": ("{}", "{discipline: lcfs-pr}", "{servers: 2, discipline: ps}"),
    "door": (
        "{lock: fifo}",
        "{lock: fifo, count: 2}",
        "{lock: ttas, word: bus, access: 1 us}",
    ),
    "pool": ("{permits: 2}", "{permits: 3}"),
    "book": ("{reader_writer_lock: fair}", "{reader_writer_lock: reader-first}"),
    "meet": ("{barrier: central, cost: 3 us}", "{barrier: tree, cost: 2 us}"),
}


KINDS_OF_ACTIVITIES = (*("processors",) * 4, "arrivals", "groups", "phases")


def _steps(chance: random.Random, depth: int, prefix: str, may_meet: bool) -> list[str]:
    """Write some steps, with others inside, whose times and names all differ."""
    kinds = ["delay", "service", "service"]
    if depth:
        kinds += ["hold", "fork", "choose", "repeat", "permits", "pipeline", "read", "attempt"]
    count = chance.choice((1, 2, 2, 3))
    names = [f"{prefix}{letter}" for letter in "abc"[:count]]
    return [
        "{barrier: meet}"
        if may_meet and chance.random() < 0.15
        else _step(chance, chance.choice(kinds), depth, name)
        for name in names
    ]


def _step(chance: random.Random, kind: str, depth: int, name: str) -> str:
    """Write one step of a kind."""
    scv = f", scv: {chance.choice((0.5, 1, 2))}" if chance.random() < 0.6 else ""
    technology = chance.choice(("", f", technology: {chance.choice(('memory', 'software'))}"))
    more = f"{scv}, component: {chance.choice(('busy', 'io', 'lock'))}{technology}"
    time = _time(chance, 1e-3, 9e-3)
    service = f"{{name: {name}, service: {chance.choice(('bus', 'disk'))}, time: {time}{more}}}"

    is_held = kind in ("hold", "permits", "read", "attempt")  # nothing is held twice

    def inner(suffix: str) -> str:
        inside = _steps(chance, 0 if is_held else depth - 1, f"{name}{suffix}", False)
        return f"[{', '.join(inside)}]"

    match kind:
        case "service":
            return service
        case "hold":
            return f"{{hold: door, body: {inner('h')}}}"
        case "permits":
            return f"{{hold: pool, body: {inner('p')}}}"
        case "read":
            return f"{{hold: book, mode: {chance.choice(('read', 'write'))}, body: {inner('r')}}}"
        case "fork":
            return f"{{fork: [{inner('f')}, {inner('g')}]}}"
        case "choose":
            return f"{{choose: [{{p: 0.3, do: {inner('x')}}}, {{p: 0.7, do: {inner('y')}}}]}}"
        case "repeat":
            return f"{{repeat: {chance.choice((2, 3))}, body: {inner('i')}}}"
        case "pipeline":
            stages = f"[{{serial: {inner('s')}}}, {{parallel: {inner('q')}}}]"
            return f"{{pipeline: {chance.choice((3, 5))}, stages: {stages}}}"
        case "attempt":
            service = f"{{hold: pool, body: {inner('t')}}}"
            limits = f"timeout: {_time(chance, 4e-3, 30e-3)}, retries: {chance.choice((0, 1, 2))}"
            return f"{{attempt: [{service}], {limits}}}"
    return f"{{name: {name}, delay: {time}{more}}}"


def _activity(chance: random.Random, kinds: Sequence[str] = KINDS_OF_ACTIVITIES) -> str:
    resources = {name: chance.choice(texts) for name, texts in _RESOURCES.items()}

    def cycle(prefix: str, may_meet: bool = False) -> str:
        steps = [
            f"{{name: {prefix}work, delay: {_time(chance, 5e-3, 30e-3)}, scv: 1}}",
            *_steps(chance, 2, prefix, may_meet),
        ]
        return "".join(f"\n  - {step}" for step in steps)

    kind = chance.choice(kinds)
    count = chance.choice((1, 2, 3, 5, 8))
    if kind == "processors":
        body = f"population: {{processors: {count}}}\ncycle:{cycle('', True)}\n"
    elif kind == "arrivals":
        body = f"population: {{arrivals: {chance.uniform(3, 20):.3g} /s}}\ncycle:{cycle('')}\n"
    elif kind == "groups":
        groups = {name: cycle(name).replace("\n", "\n    ") for name in ("users", "robots")}
        body = "groups:\n" + "".join(
            f"  {name}:\n    processors: {count + place}\n    cycle:{text}\n"
            for place, (name, text) in enumerate(groups.items())
        )
    else:
        body = "phases:\n" + "".join(
            f"  - repeat: {number}\n    processors: {count + number}\n"
            f"    cycle:{cycle(name).replace(chr(10), chr(10) + '    ')}\n"
            for number, name in ((3, "first"), (2, "second"))
        )
    used = {name: text for name, text in resources.items() if _is_used(name, body, resources)}
    return f"activity: 1\nresources: {_of(used)}\n{body}"


def _is_used(name: str, body: str, resources: Mapping[str, str]) -> bool:
    is_word = name == "bus" and "hold: door" in body and "word: bus" in resources["door"]
    words = (f"service: {name},", f"hold: {name},", f"barrier: {name}}}")
    return is_word or any(word in body for word in words)


# Tables of measurements

OF_TABLES = (
    "fit t.csv --at 40,300",
    "fit t.csv --json",
    "fit t.csv --intervals profile --at 40 --json",
    "fit t.csv --intervals bootstrap --seed 2 --at 40",
    "fit t.csv --longest-time 3s --at 64 --json",
    "fit t.csv --efficiency 55% --servers 16 --at 20",
    "fit t.csv --domain 8 --at 24",
    "fit t.csv --statistic mean --scaling strong --json",
    "measured t.csv --json",
    "measured t.csv --scalability --json",
    "measured t.csv --statistic min --scalability",
    "measured t.csv --keep time='2 s' --scalability",
)


def _table(chance: random.Random) -> str:
    """Write times of runs of unequal sizes and counts, in one of several units, with waits."""
    serial, growth = chance.uniform(0.005, 0.2), chance.choice((0, 0, 0.002, 0.02))
    counts = sorted(chance.sample((1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48), chance.randrange(4, 11)))
    unit, factor = chance.choice((("s", 1.0), ("ms", 1e3), ("min", 1 / 60)))
    noise = chance.choice((0.003, 0.03, 0.1))
    has_parts, has_sizes = chance.random() < 0.4, chance.random() < 0.4
    rows = []
    for size in (1000, 3000, 7000) if has_sizes else (1000,):
        for p in counts:
            for _ in range(chance.choice((1, 1, 2, 4))):
                work = 30 * size / 1000 * (serial + (1 - serial) / p)
                wait = 30 * growth * (p - 1) + 0.01
                time = (work + wait) * (1 + chance.gauss(0, noise))
                cells = [f"{p}", *([f"{size}"] if has_sizes else []), f"{time * factor:.5g}"]
                parts = (wait * factor, 0.2 * work * factor)
                rows.append(",".join(cells + [f"{each:.4g}" for each in parts if has_parts]))
    if chance.random() < 0.3:
        chance.shuffle(rows)
    heading = f"p,{'n,' if has_sizes else ''}time [{unit}]"
    heading += f",wait lock [{unit}],memory [{unit}]" if has_parts else ""
    return "\n".join((heading, *rows, ""))


# Studies on drawn models

_QUESTIONS = (
    "vary: {PATH: {from: 1, to: 5, step: 1}}",
    "rank: {of: PATHS, change: 0.7}",
    "bottleneck: {along: {PATH: [1, 3, 6]}}",
    "agree: {methods: METHODS}",
    "seek: {n: {of: PATH, from: 1, to: 30, step: 1, where: 'GOAL'}}",
    "choose: {vary: {PATH: {from: 1, to: 9, step: 1}}, minimize: PATH, where: 'GOAL'}",
    "scale: {processors: {PATH: [1, 2, 4, 9]}}",
    "sample: {of: {TIMED: {distribution: uniform, from: 0.5 s, to: TIME}}, samples: 32}",
)


def _study(chance: random.Random) -> Files:
    """Write a study with two questions on a drawn model."""
    is_network = chance.random() < 0.5
    model = _network(chance, ("closed",)) if is_network else _activity(chance, ("processors",))
    path = "classes.jobs.population" if is_network else "population.processors"
    timed = "classes.jobs.think_time" if is_network else "cycle.work.delay"
    goal = "response_time[jobs] <= 3 s" if is_network else "efficiency >= 0.6"
    methods = "[exact, schweitzer, bounds]" if is_network else "[closed-form, mean-value, bounds]"
    words = {
        "PATHS": f"[{path}, {timed}]",
        "PATH": path,
        "GOAL": goal,
        "METHODS": methods,
        "TIMED": timed,
        "TIME": "3 s",
    }
    questions = chance.sample(_QUESTIONS, 2)
    text = "".join(f"{question}\n" for question in questions)
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    few = f"cases: {{few: {{{path}: 2}}}}\n" if chance.random() < 0.6 else ""
    return {"m.yaml": model, "s.yaml": f"study: 1\nbase: {{model: m.yaml}}\n{few}{text}"}


# Options of commands on files of measurements

_MORE_OPTIONS = (
    *("--statistic mean", "--statistic min", "--scaling weak", "--waits mean", "--size 300"),
    *("--processors 3", "--time '7 s'", "--unit ms", "--json", "--scalability", "--timer '2 us'"),
    *("--keep efficiency=60%", "--scaling strong"),
)


def _option_names() -> Iterator[str]:
    for path, _ in SAMPLES.values():
        for number in range(OPTIONS):
            yield f"{path.relative_to(_ROOT)} | {number}"


def _options(rest: str) -> tuple[str, Files]:
    path, _ = rest.split(" | ")
    chance = random.Random(rest)
    options = " ".join(chance.sample(_MORE_OPTIONS, chance.choice((2, 3, 4))))
    name = Path(path).name
    text = (_ROOT / path).read_text("utf-8", "replace")
    return f"measured {name} {options}", {name: text}


# Programs that build a model


class _Language(NamedTuple):
    """How a program is written: words around a statement, a name, and the functions of PDQ."""

    suffix: str
    head: str
    call: str
    of: str
    sign: str = ""
    end: str = ";"
    assign: str = "{} = {}"
    loop: str = "for ({0} = {1}; {0} < {2}; {0} += {3})"
    otherwise: str = "else if"
    foot: str = ""
    indented: bool = False


LANGUAGES: Mapping[str, _Language] = {
    "Python": _Language(
        *("py", "import pdq\n", "pdq.", "pdq."),
        end="",
        loop="for {} in range({}, {}, {})",
        otherwise="elif",
        indented=True,
    ),
    "C": _Language("c", '#include "PDQ_Lib.h"\nint main() {\n', "PDQ_", "", foot="}\n"),
    "Perl": _Language(
        *("pl", "use pdq;\n", "pdq::", "$pdq::", "$"),
        loop="for (${0} = {1}; ${0} < {2}; ${0} += {3})",
        otherwise="elsif",
    ),
    "JavaScript": _Language("js", 'const pdq = require("pdq");\n', "pdq.", "pdq."),
    "R": _Language(
        *("R", "library(pdq)\n", "", ""),
        assign="{} <- {}",
        end="",
        loop="for ({} in seq({}, {} - 1, {}))",
    ),
}
PROGRAMS = 20
OF_PROGRAMS = "import p.{} -o m.yaml && cat m.yaml && solve m.yaml --json"


def _formula(chance: random.Random, names: Sequence[str], depth: int = 2) -> str:
    """Write an expression of numbers and variables, each with another weight."""
    if not depth or chance.random() < 0.3:
        return chance.choice((*names, f"{chance.uniform(0.2, 3):.2f}", f"{chance.randrange(2, 9)}"))
    left, right = (_formula(chance, names, depth - 1) for _ in range(2))
    sign = chance.choice(("+", "+", "-", "*", "*", "/"))
    return f"({left} {sign} {right})" if chance.random() < 0.6 else f"{left} {sign} {right}"


def _statements(
    chance: random.Random, language: _Language, names: Sequence[str], depth: int
) -> list[str]:
    """Write assignments, conditions and loops over some variables."""
    lines = []
    for _ in range(chance.choice((2, 3, 4))):
        own = [f"{language.sign}{name}" for name in names]
        kind = chance.choice(("assign", "assign", "if", "while", "for") if depth else ("assign",))
        changed = chance.choice(own[:-1])
        inner = [
            f"    {line}"
            for line in (_statements(chance, language, names, depth - 1) if depth else ())
        ]
        begin, end = (":", []) if language.indented else (" {", ["}"])
        comparison = chance.choice(("<", "<=", ">", ">=", "==", "!="))
        condition = f"({_formula(chance, own, 1)} {comparison} {_formula(chance, own, 1)})"
        if kind == "assign":
            lines.append(language.assign.format(changed, _formula(chance, own)) + language.end)
        elif kind == "if":
            other = f"({changed} > {chance.randrange(1, 5)})"
            more = language.assign.format(changed, f"{changed} + 1.5") + language.end
            brace = "" if language.indented else "} "
            lines += [f"if {condition}{begin}", *inner]
            lines += [f"{brace}{language.otherwise} {other}{begin}", f"    {more}", *end]
        elif kind == "while":
            last = own[-1]
            step = language.assign.format(last, f"{last} + {chance.choice((1, 2))}") + language.end
            lines += [f"while ({last} < {chance.choice((3, 6, 7))}){begin}", *inner]
            lines += [f"    {step}", *end]
        else:
            header = language.loop.format("k", chance.randrange(3), chance.randrange(4, 8), 2)
            lines += [f"{header}{begin}", *inner, *end]
    return lines


def _program(rest: str) -> tuple[str, Files]:
    name, _ = rest.split(" | ")
    language, chance = LANGUAGES[name], random.Random(f"program {rest}")
    variables = ("a", "b", "n", "count")
    lines = [
        language.assign.format(f"{language.sign}{variable}", value) + language.end
        for variable, value in zip(variables, ("0.7", "2.5", "3", "1"), strict=True)
    ]
    lines += _statements(chance, language, variables, 2)

    def call(function: str, *arguments: str) -> str:
        capital = function if name != "JavaScript" else function[0].lower() + function[1:]
        return f"{language.call}{capital}({', '.join(arguments)}){language.end}"

    of = language.of
    lines += [call("Init", '"drawn"'), call("CreateOpen", '"jobs"', "0.01")]
    for node, demand in (("cpu", f"0.1 + 0.01 * {language.sign}a"), ("disk", f"{language.sign}b")):
        lines.append(call("CreateNode", f'"{node}"', f"{of}CEN", f"{of}FCFS"))
        lines.append(call("SetDemand", f'"{node}"', '"jobs"', demand))
    lines.append(call("Solve", f"{of}CANON"))
    text = language.head + "".join(f"{line}\n" for line in lines) + language.foot
    return OF_PROGRAMS.format(language.suffix), {f"p.{language.suffix}": text}


def _program_names() -> Iterator[str]:
    for name in LANGUAGES:
        for number in range(PROGRAMS):
            yield f"{name} | {number}"


def _names(count: int, commands: Sequence[str]) -> Callable[[], Iterator[str]]:
    def names() -> Iterator[str]:
        for number in range(count):
            for command in commands:
                yield f"{number} | {command}"

    return names


def _made(
    kind: str, file: str, write: Callable[[random.Random], str]
) -> Callable[[str], tuple[str, Files]]:
    def made(rest: str) -> tuple[str, Files]:
        number, _, command = rest.partition(" | ")
        return command, {file: write(random.Random(f"{kind} {number}"))}

    return made


def _studied(rest: str) -> tuple[str, Files]:
    number, _, command = rest.partition(" | ")
    return command, _study(random.Random(f"study {number}"))


DRAWN: Mapping[str, tuple[Callable[[], Iterator[str]], Callable[[str], tuple[str, Files]]]] = {
    "drawn network": (_names(NETWORKS, OF_NETWORKS), _made("network", "m.yaml", _network)),
    "drawn activity": (_names(ACTIVITIES, OF_ACTIVITIES), _made("activity", "m.yaml", _activity)),
    "drawn table": (_names(TABLES, OF_TABLES), _made("table", "t.csv", _table)),
    "drawn study": (
        _names(STUDIES, ("run s.yaml --out out --no-html && cat out/report.md",)),
        _studied,
    ),
    "options": (_option_names, _options),
    "drawn program": (_program_names, _program),
}
"""For each kind, the names of its inputs, and from a name the commands and the files."""
