"""Tables of measurements and studies that are generated, to be recorded with what comes of them.

Each is a list of command lines and of files, which follow from a name alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping

from tests.mutations import SHIPPED

__all__ = ["CREATED", "Files"]

Files = Mapping[str, str]
"""The files of an input by their names."""

VARIANTS = 12

# Fits

FIT_OPTIONS = (
    "--at 64,128",
    "--at 64 --intervals bootstrap --model amdahl",
    "--at 64 --servers 4",
    "--at 64 --domain 4",
    "--model usl,queue-1 --at 40 --efficiency 60%",
    "--model power-log --at 64 --json",
    "--model saturating,latency --at 64 --json",
    "--scaling weak --at 64",
    "--json",
    "--statistic min --at 32",
    "--statistic mean --intervals profile --at 48",
    "--waits mean --at 64 --seed 3",
    "--model usl --servers 8 --domain 4 --at 32 --json",
    "--size 500 --efficiency 80% --json",
)
LOAD_OPTIONS = (
    *("--at 100", "--at 50/s --servers 4", "--json --at 30"),
    *("--servers 2 --efficiency 70% --json", "--at 10/s,20/s --seed 2"),
)


def _fit_names() -> Iterator[str]:
    for shape in _SHAPES:
        for option in LOAD_OPTIONS if shape == "load" else FIT_OPTIONS:
            for variant in range(VARIANTS):
                yield f"{shape} | {variant} | fit t.csv {option}"
        for variant in range(VARIANTS):
            yield f"{shape} | {variant} | measured t.csv --json"
            yield f"{shape} | {variant} | measured t.csv"
            yield f"{shape} | {variant} | measured t.csv --scalability"
            yield f"{shape} | {variant} | measured t.csv --scalability --keep efficiency=60%"
    for variant in range(VARIANTS):
        for options in MODEL_OPTIONS:
            yield f"rows | {variant} | fit t.csv {options}"
        yield f"curves | {variant} | fit t.csv --curve code,host --at 32"
        yield f"curves | {variant} | fit t.csv --curve code,host --siblings host --at 32 --json"


MODEL_OPTIONS = (
    "--model lock-and-bus --free parameters.work,parameters.critical=0.1ms..2ms",
    "--model lock-and-bus --free parameters.work --with closed-form --json",
    "--model lock-and-bus --free parameters.work=1ms..40ms@host --group host --json",
    "--model lock-and-bus --free parameters.work=1ms..40ms --group host --fitted f.yaml",
    "--model lock-and-bus --free parameters.work=1ms..40ms --choice population.processors=2|4@host",
    "--model lock-and-bus --free parameters.work=1ms..40ms --fitted f.yaml && show f.yaml",
    "--model lock-and-bus --free parameters.work --measured 'efficiency=time' --json",
    "--model lock-and-bus --free parameters.work --intervals profile --with mean-value --json",
    (
        "--model lock-and-bus --free parameters.work=1ms..40ms --set parameters.critical=2ms "
        "--cycles 2 --population population.processors"
    ),
)


def _noise(chance: random.Random) -> float:
    return 1 + chance.uniform(-0.02, 0.02)


def _strong(chance: random.Random) -> str:
    serial, latency = chance.choice((0, 0.02, 0.1)), chance.choice((0, 0.001, 0.01))
    rows = [
        f"{p},{(serial + (1 - serial) / p + latency * p) * 80 * _noise(chance):.5g}"
        for p in (1, 2, 4, 8, 16, 24)[: chance.randrange(5, 7)]
        for _ in range(chance.choice((1, 3)))
    ]
    return "\n".join(["p,time [s]", *rows, ""])


def _sizes(chance: random.Random) -> str:
    power, memory = chance.choice((1, 1.5, 2, 3)), chance.random() < 0.5
    rows = []
    for n in (100, 200, 400, 800)[: chance.randrange(2, 5)]:
        for p in (1, 2, 4, 8, 16)[: chance.randrange(2, 6)]:
            time = (n**power / 1e3 / p + 0.3 * p + n / 100) * _noise(chance)
            rows.append(f"{p},{n},{time:.5g}" + (f",{8 * n * n / p:.6g}" if memory else ""))
    heading = "p,n,time [s]" + (",memory per processor [B]" if memory else "")
    return "\n".join([heading, *rows, ""])


def _weak(chance: random.Random) -> str:
    growth = chance.choice((0.01, 0.05, 0.3))
    rows = [f"{p},{1000 * p},{(5 + growth * p) * _noise(chance):.5g}" for p in (1, 2, 4, 8, 16, 32)]
    return "\n".join(["p,n,time [s]", *rows, ""])


def _waits(chance: random.Random) -> str:
    rows = []
    for p in (1, 2, 4, 8, 16, 32):
        wait, memory = 0.1 * (p - 1) * _noise(chance), 0.05 * p * _noise(chance)
        rows.append(f"{p},{40 / p + wait + memory:.5g},{wait:.4g},{memory:.4g}")
    return "\n".join(["p,time [s],wait lock [s],memory [s]", *rows, ""])


def _load(chance: random.Random) -> str:
    think, demand = chance.choice((0.0, 0.5)), chance.choice((0.01, 0.03))
    rows = []
    for users in (1, 2, 4, 8, 16, 32, 64)[: chance.randrange(3, 8)]:
        throughput = min(users / (think + demand * (1 + users / 8)), 0.95 / demand)
        rate = throughput * _noise(chance)
        rows.append(f"{users},{rate:.5g},{1e3 * (users / rate - think):.5g}")
    return "\n".join(["users,throughput [1/s],response [ms]", *rows, ""])


def _rows(chance: random.Random) -> str:
    rows = []
    for host in ("a", "b", "c"):
        work = 9 * chance.uniform(0.8, 1.3)
        for p in (1, 2, 4, 8):
            time = (work + 1.0 + 0.4 * p) * _noise(chance)
            rows.append(f"{host},{p},{time:.5g}")
    return "\n".join(["host,population.processors,time [ms]", *rows, ""])


def _curves(chance: random.Random) -> str:
    rows = []
    for host in ("x", "y"):
        for code in ("sort", "scan", "join"):
            serial = chance.uniform(0.01, 0.1)
            last = chance.choice((4, 6, 6))
            for p in (1, 2, 4, 8, 16, 32)[:last]:
                time = 50 * (serial + (1 - serial) / p) * _noise(chance)
                rows.append(f"{code},{host},{p},{time:.5g}")
    return "\n".join(["code,host,p,time [s]", *rows, ""])


_SHAPES: Mapping[str, Callable[[random.Random], str]] = {
    "strong": _strong,
    "sizes": _sizes,
    "weak": _weak,
    "waits": _waits,
    "load": _load,
}
_TABLES = {**_SHAPES, "rows": _rows, "curves": _curves}


def _fit(rest: str) -> tuple[str, Files]:
    shape, variant, command = rest.split(" | ")
    return command, {"t.csv": _TABLES[shape](random.Random(f"{shape} {variant}"))}


# Questions

ACTIVITY = """\
activity: 1
population: {processors: 4}
parameters: {work: 9 ms, critical: 1 ms, trips: 3}
resources: {bus: {}, door: {lock: fifo}}
cycle:
  - {name: work, delay: work, scv: 1}
  - {name: ask, service: bus, time: 0.5 ms, scv: 1, component: io, technology: memory}
  - hold: door
    body: [{name: update, delay: critical, technology: adapter}]
"""
TREND = """\
trend: 1
source: made up
rates:
  processors: [{from: 2000, to: 2020, factor: 1.2, spread: 10%}]
  memory: [{from: 2000, to: 2020, factor: 1.07, spread: 5%}]
"""
NETWORK = """\
queueing-network: 1
classes: {jobs: {population: 6, think_time: 2 s}}
stations:
  cpu: {service: {jobs: 0.4 s}, discipline: ps}
  disk: {service: {jobs: 0.3 s}}
"""
QUESTIONS = (
    "answer: [time, efficiency, throughput, 'account[busy]', 'wait[bus]']",
    "vary: {population.processors: {from: 1, to: HIGH, step: 1}}",
    "vary: {two: {axes: {population.processors: [1, 2, HIGH], parameters.work: [2 ms, 9 ms]}}}",
    "vary: {parameters.work: {from: 1 ms, to: 9 ms, count: 4, spacing: geometric}}",
    "rank: {of: [parameters.work, parameters.critical, cycle.ask.time], change: PART}",
    (
        "rank: {changes: {half: {times: {parameters.work: 0.5}}, faster: {times: "
        "{cycle.ask.time: PART}}}}"
    ),
    "seek: {n: {of: population.processors, from: 1, to: HIGH, step: 1, where: efficiency >= PART}}",
    "seek: {w: {of: parameters.work, from: 1 ms, to: 40 ms, where: efficiency >= PART, points: 9}}",
    (
        "seek: {w: {of: parameters.critical, from: 0.1 ms, to: 9 ms, where: time <= HIGH ms, "
        "points: 7}}"
    ),
    (
        "choose: {vary: {population.processors: [1, 2, 4, HIGH]}, minimize: time / "
        "efficiency, where: time <= 90 ms}"
    ),
    (
        "choose: {vary: {population.processors: [1, 2, 4, HIGH], parameters.work: [4 ms, 9 "
        "ms]}, minimize: time, where: efficiency >= PART}"
    ),
    (
        "choose: {vary: {population.processors: [1, 2, 4]}, minimize: population.processors, "
        "where: throughput >= 150 /s}"
    ),
    (
        "sample: {of: {parameters.work: {distribution: uniform, from: 1 ms, to: HIGH ms}}, "
        "samples: 16}"
    ),
    (
        "sample: {of: {parameters.work: {distribution: normal, mean: 9 ms, deviation: 1 ms}, "
        "cycle.ask.time: {distribution: uniform, from: 0.2 ms, to: 1 ms}}, samples: 32}"
    ),
    "bottleneck: {along: {population.processors: [1, 2, 4, HIGH]}}",
    "scale: {processors: {population.processors: [1, 2, 4, HIGH]}, ways: [fixed-size]}",
    (
        "scale: {processors: {population.processors: [1, 2, HIGH]}, size: {parameters.work: "
        "1}, threshold: 70%, ways: [time-bound], time: 20 ms}"
    ),
    (
        "project: {trends: [trend.yaml], base_year: 2005, years: [2005, 2008, 2012], "
        "samples: 16, watch: [time <= HIGH ms]}"
    ),
    "project: {trends: [trend.yaml], base_year: 2005, years: [2005, 2010], samples: 0}",
    "agree: {methods: [closed-form, mean-value, bounds], cases: [base, few]}",
    (
        "fits: {f: {made: {case: base, processors: [1, 2, 4, 8, HIGH]}, families: [amdahl, "
        "usl], at: [64]}}"
    ),
    (
        "compare: [{title: t, columns: [base, few], unit: ms, rows: [{row: r, sum: [time], "
        "printed: [10, HIGH], within: 0.2}]}]"
    ),
    "statements: {s: {says: s, value: efficiency, per: speedup, of: [base], from: 1 %}}",
    "statements: {s: {says: few is fast, value: time, of: [few], below: [base]}}",
    "traces: {simulated: {case: few, cycles: 12}}",
    (
        "unpublished: {draws: 8, inputs: {work: {title: w, reason: made up, path: "
        "parameters.work, from: 5 ms, to: 14 ms}}}"
    ),
    "vary: {method: [closed-form, mean-value], population.processors: [1, HIGH]}",
    (
        "choose: {vary: {population.processors: {from: 1, to: HIGH, step: 1}, parameters.work: "
        "{from: 2 ms, to: 9 ms, count: 3}}, minimize: [time, population.processors], "
        "where: efficiency >= PART}"
    ),
    (
        "choose: {vary: {population.processors: [2, 4, HIGH]}, maximize: efficiency, "
        "where: time <= 1 ms}"
    ),
    (
        "choose: {vary: {population.processors: {from: 1, to: HIGH, step: 1}}, maximize: "
        "throughput, cases: [base, few]}"
    ),
    (
        "choose: {vary: {parameters.work: {from: 1 ms, to: 20 ms}}, minimize: time, "
        "where: efficiency >= PART}"
    ),
    (
        "seek: {w: {of: parameters.work, from: 1 ms, to: 40 ms, where: efficiency >= PART, "
        "cases: [base, few]}}"
    ),
    "seek: {w: {of: parameters.trips, from: 1, to: HIGH, where: time <= 50 ms}}",
    ("seek: {w: {of: parameters.work, from: 1 ms, to: 40 ms, where: few.time < PART * base.time}}"),
    (
        "seek: {n: {of: population.processors, from: 1, to: 64, step: 1, where: "
        '"wait[door] <= HIGH ms"}}'
    ),
    "answer: [time, speedup, efficiency]\nrank: {of: [parameters.trips], under: [few]}",
    (
        "rank: {of: [population.processors, parameters.work, resources.bus.servers], "
        "cases: [base, few]}"
    ),
    (
        "sample: {of: {parameters.work: {distribution: lognormal, mean: 9 ms, cv: PART}}, "
        "samples: 40, cases: [base, few], answer: [time, efficiency]}"
    ),
    (
        "sample: {of: {parameters.critical: {distribution: triangular, from: 0.5 ms, mode: 1 "
        "ms, to: 2 ms}}, samples: 40, correlate: []}"
    ),
    "bottleneck: {along: {parameters.work: {from: 1 ms, to: 40 ms, count: 5}}}",
    "bottleneck: {along: {population.processors: [1, 4, HIGH]}, cases: [base, few]}",
    (
        "scale: {processors: {population.processors: {from: 1, to: HIGH, step: 1}}, threshold: "
        "PART, cases: [base, few]}"
    ),
    (
        "scale: {processors: {population.processors: [1, 2, 4, HIGH]}, size: {parameters.work: "
        "1, parameters.critical: 0.5}, threshold: PART}"
    ),
    (
        "project: {trends: [trend.yaml], base_year: 2005, years: {from: 2005, to: 2015, step: 2}, "
        "samples: 32, watch: [efficiency >= PART, time <= HIGH ms], cases: [base, few]}"
    ),
    (
        "seek: {y: {of: year, trend: trend.yaml, base_year: 2005, from: 2005, to: 2020, where: "
        "time <= HIGH ms, points: 5}}"
    ),
    "fits: {f: {data: t.csv, families: [amdahl, usl, latency], at: [64, HIGH]}}",
    (
        "fits: {f: {data: t.csv, families: [amdahl], at: [64]}, g: {data: t.csv, scaling: strong, "
        "families: [usl, saturating], at: [HIGH], efficiency: PART}}"
    ),
    "measured: {m: {data: t.csv, statistic: mean}}",
    "measured: {m: {data: t.csv}}\nfits: {f: {made: {case: few, processors: [1, 2, 4, 8]}}}",
    (
        "statements: {s: {says: s, value: time, of: [base], to: HIGH ms}, t: {says: t, value: "
        '"wait[bus]", of: [base, few], greatest: [base]}}'
    ),
    (
        "statements: {s: {says: s, value: time, of: [base], above: [few], by: PART}, u: {says: u, "
        "value: speedup, of: [base], from: 1, to: HIGH}}"
    ),
    "agree: {methods: [mean-value, simulation], cases: [base, few], within: PART}",
    "vary: {s: {axes: {population.processors: [1, 2, HIGH]}, answer: ['utilization[bus]']}}",
    "vary: {cases: [base, few], parameters.work: {from: 1 ms, to: 100 ms, spacing: geometric}}",
    (
        "unpublished: {draws: 16, inputs: {work: {title: w, reason: r, path: parameters.work, "
        "from: 5 ms, to: 14 ms}, trips: {title: x, reason: r, path: parameters.trips, from: 1, "
        "to: HIGH}}}"
    ),
    (
        "validation: {v: {data: r.csv, source: s, known: k, unknown: u, measured: {time: "
        '"time [ms]"}, groups: [host], free: [parameters.work=1ms..40ms@host, '
        "parameters.critical=0.1ms..5ms], peers: [{name: p, error: HIGH%, of: o, source: q}]}}"
    ),
    (
        "validation: {v: {data: r.csv, source: s, known: k, unknown: u, measured: {time: "
        '"time [ms]"}, groups: [host], fitted_to: {host: [a, b]}, '
        "free: [parameters.work=1ms..40ms]}}"
    ),
    (
        "compare: [{title: t, columns: [base, few], unit: ms, rows: [{row: r, sum: [time, "
        "'wait[bus]'], printed: [10, HIGH]}, {row: q, sum: ['account[busy]'], printed: [HIGH, 3], "
        "within: 0.1}]}]"
    ),
)
"""Of the activity above; HIGH and PART are drawn."""
NETWORK_QUESTIONS = (
    "vary: {classes.jobs.population: [1, 3, HIGH]}",
    "answer: ['response_time[jobs]', 'utilization[cpu]', 'queue_length[disk]']",
    "bottleneck: {along: {classes.jobs.population: [1, 2, HIGH]}}",
    "agree: {methods: [exact, bounds, schweitzer]}",
    "rank: {of: [stations.cpu.service.jobs, stations.disk.service.jobs]}",
    (
        "seek: {n: {of: classes.jobs.population, from: 1, to: HIGH, step: 1, where: "
        "'utilization[cpu] >= PART'}}"
    ),
    (
        "choose: {vary: {stations.cpu.servers: [1, 2, 3]}, minimize: 'response_time[jobs]', "
        "where: 'utilization[cpu] <= PART'}"
    ),
    (
        "sample: {of: {stations.cpu.service.jobs: {distribution: uniform, from: 0.2 s, to: "
        "0.5 s}}, samples: 16}"
    ),
    "vary: {stations.cpu.servers: [1, 2], classes.jobs.think_time: {from: 0.5 s, to: HIGH s}}",
    (
        "seek: {z: {of: classes.jobs.think_time, from: 0.1 s, to: 60 s, where: "
        "'response_time[jobs] <= PART s'}}"
    ),
    (
        "choose: {vary: {classes.jobs.population: {from: 1, to: HIGH, step: 1}}, maximize: "
        "'throughput[jobs]', where: 'response_time[jobs] <= HIGH s', cases: [base, few]}"
    ),
    "agree: {methods: [exact, linearizer, simulation, markov-chain], within: PART}",
    "rank: {changes: {cpu: {times: {stations.cpu.service.jobs: PART}}}, cases: [base, few]}",
    "statements: {s: {says: s, value: 'utilization[cpu]', of: [base], above: [few]}}",
    "scale: {processors: {stations.cpu.servers: [1, 2, 4]}}",
)
RUN = "run study.yaml --out out --no-html && cat out/report.md"


def _question_names() -> Iterator[str]:
    for index in range(len(QUESTIONS)):
        for variant in range(VARIANTS // 2):
            yield f"activity {index} | {variant}"
    for index in range(len(NETWORK_QUESTIONS)):
        for variant in range(VARIANTS // 3):
            yield f"network {index} | {variant}"


def _question(rest: str) -> tuple[str, Files]:
    place, variant = rest.split(" | ")
    model, index = place.split()
    chance = random.Random(f"{place} {variant}")
    question = (QUESTIONS if model == "activity" else NETWORK_QUESTIONS)[int(index)]
    question = question.replace("HIGH", str(chance.choice((6, 8, 13))))
    question = question.replace("PART", f"{chance.choice((0.3, 0.5, 0.8, 0.9))}")
    few = "population.processors: 2" if model == "activity" else "classes.jobs.population: 2"
    text = f"study: 1\nbase: {{model: model.yaml}}\ncases: {{few: {{{few}}}}}\n{question}\n"
    return RUN, {
        "study.yaml": text,
        "model.yaml": ACTIVITY if model == "activity" else NETWORK,
        "trend.yaml": TREND,
        "t.csv": _strong(chance),
        "r.csv": _rows(chance),
    }


# Ranges of parameters, and programs on machines

_PARAMETER = re.compile(r"^  (\w+): (?:\{value: )?([\d.]+)( [A-Za-z/]+)?[,}]?", re.MULTILINE)
PROGRAMS = (
    *("dvsm/message", "dvsm/page-fault", "dvsm/diff-request", "dvsm/lock", "dvsm/barrier-slave"),
    *(
        "dvsm/barrier-master",
        "dvsm/diff-phase",
        "dvsm/sor",
        "dvsm/is",
        "grain/unit",
        "grain/phases",
    ),
    *("dvsm/barnes", "dvsm/sphere", "dvsm/water", "dvsm/raytrace", "euler/adaptive"),
    *("newton/blocks", "sequences/matching", "billiards/parallel"),
)
MACHINES = ("rs6000-43p-atm", "rs6000-43p-fast-ethernet", "bbn-gp1000", "epyc-rome-7452")


def _range_names() -> Iterator[str]:
    for name, text in SHIPPED.items():
        if name.partition("/")[0] == "activities" and "\nparameters:" in text:
            for variant in range(VARIANTS // 3):
                yield f"{name} | {variant}"


def _range(rest: str) -> tuple[str, Files]:
    name, variant = rest.split(" | ")
    text = SHIPPED[name]
    chance = random.Random(rest)
    _, _, after = text.partition("\nparameters:")
    found = _PARAMETER.findall(re.split(r"\n\w", after)[0])
    settings = []
    for parameter, number, unit in chance.sample(found, min(len(found), 1 + int(variant) % 3)):
        low, high = (float(number) * factor for factor in (0.7, chance.choice((1.2, 2))))
        settings.append(f"--set 'parameters.{parameter}={low:g}{unit}..{high:g}{unit}'")
    json = " --json" if int(variant) % 2 else ""
    return f"solve spec.yaml {' '.join(settings)}{json}", {"spec.yaml": text}


def _program_names() -> Iterator[str]:
    for program in PROGRAMS:
        for machine in MACHINES:
            for command in ("solve {} --json", "solve {}", "explain {}"):
                yield f"{command.format(program)} --machine {machine}"
    for program in PROGRAMS[:7]:
        for setting in ("technology.adapter=2", "machine.network.wire.bandwidth=20MB/s", "parts=2"):
            yield f"solve {program} --machine {MACHINES[0]} --set {setting} --json"


def _program(rest: str) -> tuple[str, Files]:
    return rest, {}


CREATED: Mapping[str, tuple[Callable[[], Iterator[str]], Callable[[str], tuple[str, Files]]]] = {
    "fit": (_fit_names, _fit),
    "question": (_question_names, _question),
    "range": (_range_names, _range),
    "program": (_program_names, _program),
}
"""For each kind, the names of its inputs, and from a name the commands and the files."""
