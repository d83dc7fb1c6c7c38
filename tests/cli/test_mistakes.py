"""What a user mistypes, and the message: at the place of the mistake, naming the value, the
limit and the way out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from slipstick import run
from slipstick.cli.main import main
from slipstick.schema.library import find

FILES = {
    "a.yaml": (
        """\
activity: 1
parameters: {work: 9}
population: {processors: 4}
resources: {bus: {servers: 1}}
cycle:
  - {name: work, delay: 2 * work}
  - {service: bus, time: 2 ms}
"""
    ),
    "b.yaml": (
        """\
activity: 1
parameters:
  work: {value: 9 ms, meaning: computation between two messages}
population: {processors: 4}
resources: {bus: {servers: 1}}
cycle:
  - {name: work, delay: work}
  - {service: bus, time: 2 ms}
"""
    ),
    "vary.yaml": (
        """\
study: 1
base: {model: b.yaml}
vary:
  line:
    axes:
      parameters.work: [1, 2]
"""
    ),
    "fast.yaml": (
        """\
machine: 1
network: fast-ethernet
processors: {count: 8, speed: 2.4 GHz}
memory: {page: 4 KiB}
system: {signal: 5 us}
"""
    ),
    "eight.yaml": "activity: 1\npopulation: {processors: eight}\ncycle: [{delay: 1 ms}]\n",
    "laws.yaml": (
        """\
study: 1
base: {model: law/amdahl-speedup, serial: 0.05, processors: 8}
cases: {usl: {model: law/universal-scalability, contention: 0.05, coherency: 0.001}}
"""
    ),
    "web.yaml": (
        """\
queueing-network: 1
classes: {a: {arrivals: 1 /s}}
stations: {s: {servers: 1, service: {a: 9 ms}}}
"""
    ),
    "few.csv": "p,time\n1,10 s\n2,5.2 s\n4,2.8 s\n8,1.6 s\n",
}

UNIT = "9 lacks its unit; write '9 s' or '9 ms': cycle.0.delay wants a [s]"

MISTAKES = [
    (["solve", "a.yaml"], f"a.yaml:2:20: parameters.work: {UNIT}"),
    (["check", "a.yaml"], f"a.yaml:2:20: parameters.work: {UNIT}"),
    (["solve", "b.yaml", "--set", "parameters.work=9"], f"--set parameters.work: {UNIT}"),
    (
        ["check", "vary.yaml"],
        "vary.yaml:6:25: parameters.work: 1 lacks its unit; write '1 s' or '1 ms'",
    ),
    (
        ["run", "vary.yaml"],
        "vary.yaml:6:25: parameters.work: 1 lacks its unit; write '1 s' or '1 ms'",
    ),
    (
        ["check", "fast.yaml"],
        (
            "fast.yaml:3:31: processors.speed: '2.4 GHz' is no plain number; a speed is how many"
            " times as fast as the machine that the costs were measured on, such as 1.5"
        ),
    ),
    (
        ["fit", "few.csv", "--efficiency", "75"],
        "--efficiency: an efficiency is at most 100 %; got 75; write 75 % or 0.75",
    ),
    (
        ["fit", "few.csv", "--efficiency", "175"],
        "--efficiency: an efficiency is at most 100 %; got 175",
    ),
    (["fit", "few.csv"], "4 measured times are too few; add 1 or more"),
    (["solve", "lock-and-bus", "--precision", "2"], "--precision: must be at most 0.5, got 2"),
    (["solve", "nothing"], "MODEL: there is no model 'nothing'; known: "),
    (["solve", "law/ggc-allen-cunneen"], "--set arrivals=VALUE is missing: arrival rate"),
    (
        ["solve", "law/speed-up", "--set", "processors=4", "--set", "efficiency=0.5 + 0.1"],
        (
            "this is a formula; a value here is one number with one unit, such as '5 us', and"
            " formulas stand in the file of a model"
        ),
    ),
    (["solve", "lock-and-bus", "--set", "load=2"], "--set load: unknown key"),
    (
        ["solve", "lock-and-bus", "--with", "exact"],
        (
            "there is no method 'exact' for it: it is for queueing networks; known: closed-form,"
            " mean-value, "
        ),
    ),
    (
        ["solve", "central-server", "--with", "mean-value"],
        (
            "there is no method 'mean-value' for it: it is for activities and programs; known:"
            " best, exact"
        ),
    ),
    (
        ["solve", "dvsm/lock", "--machine", "infiniband-hdr"],
        (
            "--machine: there is no machine 'infiniband-hdr': it is a network: slipstick show"
            " network/infiniband-hdr"
        ),
    ),
    (
        ["show", "amdahl"],
        "there is no spec 'amdahl'; did you mean 'law/amdahl-time' or 'law/amdahl-speedup'",
    ),
    (
        ["explain", "amdahl"],
        "MODEL: there is no model 'amdahl'; did you mean 'law/amdahl-time' or 'law/amdahl-speedup'",
    ),
    (
        ["explain", "rs6000-43p-atm"],
        (
            "MODEL: there is no model 'rs6000-43p-atm': it is a machine: slipstick solve MODEL"
            " --machine rs6000-43p-atm"
        ),
    ),
    (
        ["run", "lock-and-bus"],
        (
            "lock-and-bus: there is no study 'lock-and-bus': it is an activity: slipstick solve"
            " lock-and-bus"
        ),
    ),
    (
        ["run", "centralserver"],
        (
            "centralserver: there is no study 'centralserver'; did you mean 'central-server'? "
            "It is a queueing network: slipstick solve central-server"
        ),
    ),
    (
        ["solve", "eight.yaml"],
        "eight.yaml:2:26: population.processors: there is no name 'eight'; write a number, or the",
    ),
    (
        ["check", "laws.yaml"],
        (
            "laws.yaml:2:43: serial: unknown key; known: contention, coherency, processors (case"
            " usl takes it from the base, but has another model)"
        ),
    ),
    (["solve", "locks"], "MODEL: there is no model 'locks': it is a study: slipstick run locks"),
    (
        ["solve", "lock-and-bus", "--processors", "32"],
        "there is no option --processors; write --set processors=VALUE for a value of a model",
    ),
    (["solve", "lock-and-bus", "--wiht", "bounds"], "--with"),
    (
        ["solve", "lock-and-bus", "--set", "parameters.work=9", "ms"],
        "extra argument (ms); write --set 'PATH=VALUE' in quotes if it has a blank",
    ),
    (["solve", "lock-and-bus", "--value", "latency"], "'latency'; did you mean 'time'?"),
    (
        ["solve", "web.yaml", "--set", "s.servers=2"],
        "--set s.servers: unknown path; did you mean 'stations.s.servers'?",
    ),
    (
        ["solve", "web.yaml", "--set", "stations.t.servers=2"],
        "--set stations.t.servers: there is no path 't'; known: s",
    ),
    (["trend"], "slipstick trend needs a command: "),
    (["solve"], "error: Missing argument 'MODEL'; slipstick solve --help has examples"),
    (["solve", "vary.yaml"], "this file is of kind study; run it with: slipstick run vary.yaml"),
    (["fit", "few.csv", "--domain", "1..2"], "'--domain': '1..2' is not a valid whole number"),
    (["new", "service"], "'service'; did you mean 'queueing-network'?"),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("arguments", "message"), MISTAKES, ids=[" ".join(each[0]) for each in MISTAKES]
)
def test_a_mistake_is_told_where_it_was_made(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) in (1, 2)
    told = capsys.readouterr().err
    assert message in told
    assert not [line for line in told.splitlines() if ":1:1:" in line and "of kind" not in line]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("wire", "per_byte"),
    [
        ("bandwidth: 25 GB/s", "0.04 ns/B"),
        ("per_byte: 25 GB/s", "0.04 ns/B"),
        ("bandwidth: 200 Gbit/s", "0.04 ns/B"),
        ("per_byte: 200 Gb/s", "0.04 ns/B"),
        ("bandwidth: 0.04 ns/B", "0.04 ns/B"),
    ],
)
def test_a_rate_is_taken_for_the_time_of_a_byte(
    wire: str, per_byte: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = find("network", "fast-ethernet").read_text()
    (tmp_path / "mine.yaml").write_text(
        re.sub(r"wire: \{.*\}", f"wire: {{{wire}, added: 58 B}}", text)
    )
    assert main(["show", "mine.yaml"]) == 0
    row = next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith("wire.per_byte")
    )
    assert main(["check", "mine.yaml"]) == 0
    given = wire.partition(": ")[2]
    assert given in row or per_byte in row
    capsys.readouterr()
    arguments = [
        "solve",
        "dvsm/message",
        "--machine",
        "rs6000-43p-fast-ethernet",
        "--set",
        "size=4096 B",
        "--json",
    ]
    times = []
    wires = (
        "machine.network=mine.yaml",
        *(f"machine.network.wire.{k}={per_byte}" for k in ("per_byte", "bandwidth")),
    )
    for network in wires:
        assert main([*arguments, "--set", network]) == 0
        times.append(json.loads(capsys.readouterr().out)["answers"][0]["values"]["time"]["value"])
    assert times[0] == pytest.approx(times[1], rel=1e-12)
    assert times[1] == times[2]


def test_rates_may_vary_and_be_sought_for_times_of_a_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rates.yaml").write_text("""\
study: 1
base: {model: dvsm/message, machine: rs6000-43p-atm, size: 4 KiB}
vary: {machine.network.wire.bandwidth: {from: 10 MB/s, to: 40 MB/s, count: 3}}
seek:
  s:
    {of: machine.network.wire.bandwidth, from: 1 MB/s, to: 100 MB/s, where: time <= 1 ms, points: 3}
""")
    found = run("rates.yaml")
    assert found.sweeps[0].axes[0].values == pytest.approx([1e-7, 4e-8, 2.5e-8])
    assert "machine.network.wire.per_byte" in found.questions["seek"].text()


def test_measured_runs_of_the_catalogue_go_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", "profile/two-cores"]) == main(["measured", "two-cores"]) == 0
    told = capsys.readouterr().out
    assert told[: len(told) // 2] == told[len(told) // 2 :]
    assert told.startswith("Blocks of arithmetic")


def test_a_rate_of_nothing_has_no_time_of_a_byte(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "solve",
                "dvsm/message",
                "--machine",
                "rs6000-43p-atm",
                "--set",
                "machine.network.wire.per_byte=0 GB/s",
            ]
        )
        == 2
    )
    wanted = (
        "'0 GB/s': a rate of 0 B/s transfers nothing; write a larger rate, or the time of a byte"
    )
    assert wanted in capsys.readouterr().err


def test_a_parameter_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "b.yaml"]) == 0
    assert "computation between two messages" in capsys.readouterr().out
    assert main(["solve", "b.yaml", "--with", "closed-form"]) == 0
    assert "computation between two messages" in capsys.readouterr().out


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", ["2sv", "two-processors", "=1+1", "1", "my file"])
def test_a_model_file_may_have_any_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"{name}.yaml").write_text(FILES["b.yaml"])
    (tmp_path / "sweep.yaml").write_text(
        FILES["vary.yaml"].replace("b.yaml", f"{name}.yaml").replace("1, 2", "1 ms, 2 ms")
    )
    assert main(["solve", f"{name}.yaml"]) == 0
    assert name in capsys.readouterr().out
    assert main(["check", f"{name}.yaml", "sweep.yaml"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study: 1\nbase: {model: lock-and-bus}\nsweep: {}\n", "sweep: unknown key; write vary"),
        (
            "study: 1\nbase: {model: lock-and-bus}\nvary: {a: {path: b, values: [1]}}\n",
            "write axes, such as axes: {population.processors: [2, 4, 8]}",
        ),
        (
            "study: 1\nbase: {model: lock-and-bus}\nseek: {a: {path: b, that: time < 1 s}}\n",
            "seek.a.that: unknown key; did you mean 'where'?",
        ),
        (
            "study: 1\nbase: {model: lock-and-bus}\nchoose: {vary: {}, maximize: time}\n",
            "maximize: unknown key; write minimize, and a minus sign before the value",
        ),
        (
            "study: 1\nbase: {model: lock-and-bus}\nchoose: {a: {vary: {}, minimize: time}}\n",
            "choose.a: unknown key; leave it out, and write its keys one level higher",
        ),
        (
            "activity: 1\npopulation: {users: 4}\ncycle: [{delay: 1 ms}]\n",
            "users: unknown key; did you mean 'processors'?",
        ),
        (
            "activity: 1\ncycle: [{service: db, time: 1 ms, repeat: 2}]\n",
            "repeat: unknown key; what happens several times is {repeat: 6, body: [...]}",
        ),
        (
            "activity: 1\nmachine: linux-cluster\ncycle: [{message: 1 kB, times: 6}]\n",
            "times: unknown key; what happens several times is {repeat: 6, body: [...]}",
        ),
        (
            "activity: 1\nparameters: {work: 4,5 ms}\n",
            "x.yaml:2:22: parameters: a comma ends a value; write a decimal point: 4.5 ms",
        ),
        (
            "activity: 1\nparameters: {rate: -1,000 /s}\n",
            "write a decimal point: -1.000 /s, or -1000 /s for thousands",
        ),
        (
            "activity: 1\nparameters: {a: 100, 200}\n",
            "x.yaml:2:22: parameters.200: write a name that can stand in arithmetic",
        ),
        (
            "activity: 1\nthreads: 4\ncycle: [{delay: 1 ms}]\n",
            "threads: unknown key; write population: {processors: 16}; its path is population.proc",
        ),
        (
            (
                "activity: 1\nparameters: {cells: {value: 4, meaning: cells of a node}}\n"
                "population: {processors: 2}\ncycle: [{bytes: cells * 80}]\n"
            ),
            "one of its numbers lacks its unit: write 'cells * 80 B'\n",
        ),
        (
            (
                "queueing-network: 1\nclasses: {a: {arrivals: 60 /s * growth ** months}}\n"
                "stations: {s: {service: {a: 1 ms}}}\n"
            ),
            "compute the number, or make it a parameter with its unit and write the parameter's",
        ),
        (
            (
                "queueing-network: 1\nparameters: {load: 60 /s, growth: 1.04, months: 3}\n"
                "classes: {a: {arrivals: load * growth ** months}}\n"
                "stations: {s: {service: {a: 1 ms}}}\n"
            ),
            "written out (others by pow(x, y) of plain numbers, in quotes)",
        ),
        (
            (
                "queueing-network: 1\nclasses: {a: {arrivals: load * pow(growth, months)}}\n"
                "stations: {s: {service: {a: 1 ms}}}\n"
            ),
            "write the whole value in quotes, such as 'load * pow(growth, months)'",
        ),
        (
            (
                "study: 1\nbase: {model: lock-and-bus}\n"
                "rank: {changes: {less: {parameters.work: 1 ms}}}\n"
            ),
            "unknown key; write set: {parameters.work: VALUE} or times: {parameters.work: FACTOR}",
        ),
        (
            "activity: 1\ncycle: [{delay: 1 ms, distribution: exponential}]\n",
            (
                "distribution: unknown key; write scv: 1 for an exponential time, or a distribution"
                " as the time, such as {gamma: {mean: 9 ms, scv: 2}}"
            ),
        ),
        (
            "activity: 1\nresources: {table: {mutex: fifo}}\ncycle: [{delay: 1 ms}]\n",
            "resources.table.mutex: unknown key; write lock: fifo",
        ),
        (
            "activity: 1\nprocessors: 4\ncycle: [{delay: 1 ms}]\n",
            "processors: unknown key; write population: {processors: 16}",
        ),
        (
            "activity: 1\npopulation: {threads: 4}\nsteps: [{sleep: 1 ms}]\n",
            "population.threads: unknown key; did you mean 'processors'?",
        ),
        (
            "study: 1\nbase: {model: language-model-step, parameters: {width: 4096}}\n",
            (
                "parameters: this replaces all parameters of the model, and 44 of them are not "
                "among these, such as tensor; to change single ones write parameters.width: "
                "VALUE"
            ),
        ),
        (
            (
                "queueing-network: 1\nclasses: {a: {arrivals: 1 /s}}\n"
                "stations: {s: {service: {a: {time: 1 s, scv: 4}}}}\n"
            ),
            (
                "unknown key; write {gamma: {mean: TIME, scv: NUMBER}}, or the time alone and "
                "its scv beside it: in a step scv: NUMBER, at a station scv: {CLASS: NUMBER}"
            ),
        ),
        ("study: 1\nbase: b.yaml\n", "x.yaml:2:7: base: write base: {model: NAME}; got 'b.yaml'"),
        (
            "study: 1\nbase: {model: lock-and-bus}\nrank: 50%\n",
            "x.yaml:3:7: rank: write keys and values, such as {change: 50%}",
        ),
        (
            "study: 1\nbase: {model: lock-and-bus}\nrank: {change: 50}\n",
            "rank.change: must be at most 1, got 50; write 50 % if this is a share",
        ),
        (
            "study: 1\nbase: {model: lock-and-bus}\ncases: [a]\n",
            "x.yaml:3:8: cases: write cases: {NAME: {PATH: VALUE}}; got a list",
        ),
        ("study: 1\nmodel: b.yaml\n", "model: unknown key; write base: {model: NAME}"),
        ("study: 1\nbase: {model: a.yaml}\nfind: {}\n", "did you mean 'seek' or 'choose'?"),
        ("study: 1\nbase: {model: a.yaml}\nanswer: time\n", "write a list, such as ['time']"),
        (
            "study: 1\nbase: {model: a.yaml}\nfits: {runs: {data: t.csv, at: 96}}\n",
            "x.yaml:3:32: fits.runs.at: write a list, such as [96]",
        ),
        (
            "study: 1\nbase: {model: a.yaml}\nfits: {runs: {file: t.csv}}\n",
            "fits.runs.file: unknown key; did you mean 'data'?",
        ),
        (
            "study: 1\nbase: {model: a.yaml}\nvary: {a: {axes: {n: {start: 1, end: 2}}}}\n",
            "start: unknown key; did you mean 'from'?",
        ),
        (
            "activity: 1\npopulation: {processors: 4}\ncycle: [{time: 9 ms, scv: 1}]\n",
            "found only 'time', 'scv'; for time on its own write {name: work, delay: 9 ms}",
        ),
        (
            "activity: 1\npopulation: {processors: 4}\ncycle: {delay: 1 ms}\n",
            "x.yaml:3:8: cycle: write a list, such as [{...}]",
        ),
        (
            "activity: 1\npopulation: 4\ncycle: [{delay: 1 ms}]\n",
            "x.yaml:2:13: population: write keys and values, such as {processors: 16}",
        ),
        (
            "activity: 1\npopulation: {processors:4}\ncycle: [{delay: 1 ms}]\n",
            "processors:4: unknown key; write a space after the colon of processors",
        ),
        (
            (
                "activity: 1\nparameters: {a: 2 * b, b: 1 ms}\npopulation: {processors: 4}\n"
                "cycle: [{delay: a}]\n"
            ),
            "x.yaml:2:17: parameters.a: there is no name 'b'; b stands below: write it above a",
        ),
        (
            (
                "activity: 1\nparameters: {b: 1 ms, a: parameters.b}\n"
                "population: {processors: 4}\ncycle: [{delay: a}]\n"
            ),
            "parameters.a: there is no name 'parameters.b'; did you mean 'b'?",
        ),
        (
            "queueing-network: 1\nclasses: {a: {lambda: 1 /s}}\n",
            "classes.a.lambda: unknown key; did you mean 'arrivals'?",
        ),
    ],
)
def test_words_of_other_tools_lead_to_ours(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    assert main(["check", str(path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "delay", "message"),
    [
        (
            "rows: 500000, cost: 3",
            "rows * cost",
            "lacks its unit: write rows: '500000 s' or '500000 ms'; or cost: '3 s' or '3 ms'",
        ),
        (
            "rows: 500000, speed: 1000",
            "rows / speed",
            "write rows: '500000 s' or '500000 ms'; or speed: '1000 /s'",
        ),
        (
            "size: 500000, speed: 100 MB/s",
            "size / speed",
            "parameters.size: 500000 lacks its unit; write '500000 B' or '500000 kB'",
        ),
        ("rows: 5, speed: 1e6 /s", "rows * speed", "rows * speed gives a [1/s], but a [s] is"),
        ("b: 3 s", "b + 4", "cannot add [s] and [1]: parameters.b and 4; write '4 s' or '4 ms'"),
    ],
)
def test_each_parameter_that_may_lack_a_unit_is_named(
    parameters: str, delay: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("x.yaml").write_text(
        f"activity: 1\nparameters: {{{parameters}}}\npopulation: {{processors: 4}}\n"
        f"cycle: [{{delay: {delay}}}]\n"
    )
    assert main(["check", "x.yaml"]) == 2
    assert message in capsys.readouterr().err


BATCH = """\
activity: 1
machine: epyc-milan-7763
parameters: {{records: {records}, p: 4096}}
population: {{processors: p}}
cycle:
  - {{name: match, bytes: {bytes}, component: busy}}
  - {{name: rules, {rules}, component: busy}}
"""
FLOPS = "flops: 200000 * records / p"


@pytest.mark.parametrize(
    ("formula", "rules", "ways"),
    [
        ("30000 * records / p", FLOPS, ["'30000 B * records / p'"]),
        (
            "3e4 * records / p",
            "bytes: 8 * records",
            ["'3e4 B * records / p'", "records: '4e+09 B' or '4e+09 kB'"],
        ),
        ("records / p", "delay: 1 s", ["'4e+09 B' or '4e+09 kB'"]),
    ],
)
def test_each_advised_unit_leads_out_of_the_mistake(
    formula: str, rules: str, ways: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Records are counted in one formula, and give bytes in another; processors are a count."""
    path = Path("batch.yaml")
    path.write_text(BATCH.format(records="4e9", bytes=formula, rules=rules))
    assert main(["check", str(path)]) == 2
    message = capsys.readouterr().err.splitlines()[0]
    advice = message.partition("write ")[2].partition(": cycle")[0]
    assert advice == "; or ".join(ways)
    assert "/B" not in message
    for way in ways:
        unit_at_records = "4e+09 B" if "4e+09" in way else "4e9"
        changed = formula if "4e+09" in way else way.strip("'")
        path.write_text(BATCH.format(records=unit_at_records, bytes=changed, rules=rules))
        assert main(["check", str(path)]) == 0 or "cycle.0" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "written",
    ["p95", "p95[a]", "quantile[a, 95%]", "percentile", "response_time_quantile[a, 95%]", "a_p95"],
)
def test_a_percentile_leads_to_its_quantile(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("web.yaml").write_text(
        "queueing-network: 1\nclasses: {a: {arrivals: 1 /s}, b: {arrivals: 1 /s}}\n"
        "stations: {s: {service: {a: 9 ms, b: 9 ms}}}\n"
    )
    Path("x.yaml").write_text(f'study: 1\nbase: {{model: web.yaml}}\nanswer: ["{written}"]\n')
    assert main(["check", "x.yaml"]) == 2
    shown = capsys.readouterr().err
    assert f"the value {written}; did you mean 'response_time_quantile[a,0.95]'" in shown
    assert ("[b,0.95]" in shown) == (written in ("p95", "percentile", "a_p95"))


def test_a_file_without_its_ending_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """A command reads the only file of the name and says so; of two files, it asks."""
    assert main(["solve", "b"]) == 2
    assert "'b'; did you mean 'b.yaml'?" in capsys.readouterr().err
    assert main(["check", "b"]) == main(["check", "b.yaml"])
    short, whole = capsys.readouterr().err.split("reading b.yaml\n")[-1], Path("b.yaml")
    assert whole.is_file()
    assert "did you mean" not in short
    main(["run", "vary", "--no-html"])
    assert capsys.readouterr().err.startswith("reading vary.yaml\n")
    Path("b.yml").write_text(whole.read_text())
    assert main(["check", "b"]) == 2
    assert "'b'; did you mean 'b.yaml'?" in capsys.readouterr().err


def test_a_path_that_is_wrong_at_each_end_of_a_range_is_one_problem(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("x.yaml").write_text(
        "study: 1\nbase: {model: b.yaml}\nseek:\n"
        "  s: {of: parameters.speed, from: 1, to: 9, where: time < 1 s}\n"
    )
    assert main(["check", "x.yaml"]) == 2
    assert capsys.readouterr().err.count("there is no parameter 'speed'") == 1


def test_advice_on_settings_goes_to_commands_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slove", "b.yaml", "--set", "a=1"]) == 2
    shown = capsys.readouterr().err
    assert "No such command 'slove'" in shown
    assert "PATH" not in shown


def test_a_law_is_found_by_its_name_with_other_marks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "law/m-m-1"]) == 2
    assert "there is no law 'm-m-1'; did you mean 'mm1-" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "words", "names"),
    [
        ("three-tier", "p99", "'response_time_quantile[requests,0.99]'"),
        (
            "llm-serving",
            "p99.9",
            "'response_time_quantile[0.999]' or 'phase_time_quantile[prompt,0.999]'",
        ),
    ],
)
def test_a_percentile_by_its_short_name_leads_to_the_quantile(
    model: str, words: str, names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", model, "--value", words]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert f"there is no value of an answer '{words}'; did you mean {names}" in error
