"""Checked specs: every refusal word for word and at its place, and all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.schema.kinds.activity import ITEMS
from tests.specs import MACHINE, NETWORK, activity, line, refused, study, valid

NAME = "write a name: letters, digits and _, with a single - between them, starting with a letter"
LABEL = (
    "write a name: letters, digits and _, with single - and . between them, starting with a letter"
)
ITEM = f"an item of an activity has one of the keys {', '.join(ITEMS)}"
ALONE = "for time on its own write {name: work, delay: 9 ms}"
NO_POPULATION = (
    "1:1: write population: {processors: 16}, or arrivals or phases in place of processors; or,"
    " without a population, phases or groups"
)
FIVE_US = "write a number with a unit, such as '5 us'"


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", ITEMS)
def test_the_advice_on_items_can_be_written_as_it_stands(kind: str, tmp_path: Path) -> None:
    example = ITEMS[kind].example
    assert ITEMS[kind].use.startswith("for ")
    held = (
        "bus: {servers: 1}, left: {servers: 1}, right: {servers: 1}, table: {lock: fifo}, "
        "meet: {barrier: central}, queue: {buffer: 4}, server: {lock: fifo}"
    )
    pool = "stack: {pool: lifo, chunk: 1, iterations: 4, time: 1 ms}"
    head = f"machine: epyc-rome-7452\nresources: {{{held}, {pool}}}\n"
    others = {"wait": "{signal: queue.items}", "signal": "{wait: queue.places}"}
    others |= {
        "put": "{get: queue, body: [{delay: 1 s}]}",
        "get": "{put: queue, body: [{delay: 1 s}]}",
    }
    other = others.get(kind, "{delay: 1 s}")
    if kind == "reply":
        example = f"{{hold: server, body: [{other}, {example}]}}"
    if kind == "if_late":
        example = f"{{fork: [[{other}], [{example}]], join: 1}}"
    text = f"activity: 1\npopulation: {{processors: 8}}\n{head}cycle:\n  - {other}\n  - {example}\n"
    assert valid(tmp_path, text) == "activity"


def test_what_the_tests_change_is_valid(tmp_path: Path) -> None:
    kinds = [
        valid(tmp_path, text) for text in (MACHINE, NETWORK, activity("{delay: 1 s}"), study())
    ]
    assert kinds == ["machine", "network", "activity", "study"]


MACHINES = [
    (
        2,
        "processors: {count: 8",
        ["2:13: the bracket opened here must be closed, or a ',' written, before ':' in line 3"],
    ),
    (1, "machine: 2", ["1:10: machine: write 1; got 2"]),
    (
        1,
        "machin: 1",
        [
            (
                "1:1: machin: begin with the kind of spec, one of 'machine: 1', 'network: 1', "
                "'workload: 1', 'technology: 1', 'fitted: 1', 'activity: 1', "
                "'queueing-network: 1', 'study: 1', 'profile: 1', 'trend: 1', 'batch-server: "
                "1', 'counts: 1'; did you mean 'machine'?"
            )
        ],
    ),
    (2, "processors: {cuont: 8}", ["2:14: processors.cuont: unknown key; did you mean 'count'?"]),
    (
        2,
        "processors: {zzz: 8}",
        [
            "2:13: processors.count: key 'count' is missing: number of processors",
            (
                "2:14: processors.zzz: unknown key; known: count, speed, flops, fp64, fp64_matrix,"
                " kind, units"
            ),
        ],
    ),
    (
        2,
        "processors: {count: max(1, 8)}",
        [
            (
                "2:21: processors.count: 'max(1': this does not begin with a number; write a number"
                " and a unit, such as '5 us'"
            ),
            (
                "2:28: processors.8): unknown key; a comma ends a value within braces: write the"
                " whole value in quotes, such as 'load * pow(growth, months)'"
            ),
        ],
    ),
    (
        2,
        "processors: {count: 8, units: 4, 000 cores}",
        [
            (
                "2:34: processors.000 cores: unknown key; a comma ends a value within braces: write"
                " the whole value in quotes, such as 'load * pow(growth, months)'"
            ),
        ],
    ),
    (2, "processors: 8", ["2:13: processors: write keys and values; got 8"]),
    (2, "processors: many", ["2:13: processors: write keys and values, such as {count: many}"]),
    (
        2,
        "processors: {count: 8, flops: -2 Gop/s}",
        ["2:31: processors.flops: must be more than 0 /s, got -2e+09 /s"],
    ),
    (
        2,
        "processors: {count: 8, flops: 2 GB/s}",
        [
            (
                "2:31: processors.flops: '2 GB/s' is a quantity in B/s, but a quantity in 1/s is"
                " wanted, such as '2 /s'"
            )
        ],
    ),
    (2, "processors: [8]", ["2:13: processors: write keys and values; got a list"]),
    (
        2,
        "processors:",
        [
            (
                "2:1: processors: write keys and values in lines below, further to the right; got"
                " nothing"
            )
        ],
    ),
    (2, "processors: {count: 8.5}", ["2:21: processors.count: must be a whole number, got 8.5"]),
    (
        2,
        "processors: {count: eight}",
        [
            (
                "2:21: processors.count: 'eight': this does not begin with a number; write a "
                "number and a unit, such as '5 us'"
            )
        ],
    ),
    (2, "processors: {count: 8, speed: 0}", ["2:31: processors.speed: must be more than 0, got 0"]),
    (
        3,
        "memory: {page: 4096}",
        ["3:16: memory.page: write a number with a unit, such as '4 KiB'; got 4096"],
    ),
    (
        3,
        "memory: {page: {valeu: 4 KiB}}",
        ["3:17: memory.page.valeu: a quantity has no key 'valeu'; did you mean 'value'?"],
    ),
    (
        3,
        "memory: {page: {value: 4 KiB, low: 5 KiB}}",
        ["3:16: memory.page: the value lies outside of its interval, from low to high"],
    ),
    (
        3,
        "memory: {page: {value: 4 KiB, source: 5}}",
        ["3:39: memory.page.source: 'source' is text; got 5"],
    ),
    (3, "title: 5", ["3:8: title: write text, in quotes if it looks like a number; got 5"]),
    (4, "system: {signal: -40 us}", ["4:18: system.signal: must be at least 0 s, got -40 us"]),
    (
        5,
        "network: atm-oc4",
        ["5:10: network: there is no network 'atm-oc4'; did you mean 'atm-oc3'?"],
    ),
    (
        5,
        "network: elsewhere.yaml",
        ["5:10: network: there is no file 'elsewhere.yaml'; check its name"],
    ),
    (5, "network: 5", ["5:10: network: write keys and values; got 5"]),
    (
        5,
        "network: {adapter: 5}",
        [
            (
                "5:10: network.protocol: key 'protocol' is missing: time of the protocol"
                " software, by ranges of the message size"
            ),
            "5:10: network.wire: key 'wire' is missing: time on the wire",
            f"5:20: network.adapter: {FIVE_US}; got 5",
        ],
    ),
    (5, "netwerk: atm-oc3", ["5:1: netwerk: unknown key; did you mean 'network'?"]),
    (
        5,
        "sources: {two words: x}\nnetwork: atm-oc3",
        [f"5:11: sources.two words: {NAME}; got 'two words'"],
    ),
]
NETWORKS = [
    (3, "  aded: 46 B", ["3:3: protocol.aded: unknown key; did you mean 'added'?"]),
    (
        5,
        "    small: {total: {fixed: 102 us, per_byte: 0.04 us/B}}",
        [
            (
                "5:12: protocol.ranges.small.up_to: range small needs an up_to above that of "
                "the range before it"
            )
        ],
    ),
    (
        6,
        "    large: {up_to: 9 KiB, total: {fixed: 154 us, per_byte: 0.03 us/B}}",
        ["6:20: protocol.ranges.large.up_to: the last range, large, must have no up_to"],
    ),
    (
        6,
        "    large: {total: {fixed: 154 us, per_byte: 0.03 us/B}}\nring_protocols: {a: {share: 0}}",
        ["7:29: ring_protocols.a.share: a protocol that moves bytes reaches more than 0"],
    ),
    (
        5,
        "    small: {up_to: 1024 B, total: {fixed: 102 us, per_byte: 0.04 us}}",
        [
            (
                "5:61: protocol.ranges.small.total.per_byte: '0.04 us' is a quantity in s, but a"
                " quantity in s/B is wanted, such as '0.04 ns/B'"
            )
        ],
    ),
    (
        5,
        "    two words: {up_to: 1024 B, total: {fixed: 102 us, per_byte: 0.04 us/B}}",
        [f"5:5: protocol.ranges.two words: {NAME}; got 'two words'"],
    ),
    (
        5,
        "    a--b: {up_to: 1024 B, total: {fixed: 102 us, per_byte: 0.04 us/B}}",
        [f"5:5: protocol.ranges.a--b: {NAME}; got 'a--b'"],
    ),
    (
        10,
        "medium: shraed",
        [
            (
                "10:9: medium: write 'shared', 'switched' or 'none'; got 'shraed'; did you mean"
                " 'shared'?"
            )
        ],
    ),
    (
        10,
        "medium: no",
        ["10:9: medium: write 'shared', 'switched' or 'none'; got 'no'; did you mean 'none'?"],
    ),
    (10, "medium: true", ["10:9: medium: write 'shared', 'switched' or 'none'; got true"]),
]
ACTIVITIES = [
    (
        activity("{dellay: 1 s}"),
        [
            (
                f"4:6: cycle.0.dellay: {ITEM}; 'dellay' is none of them; did you mean 'delay'?"
                f" {ALONE[0].upper()}{ALONE[1:]}"
            )
        ],
    ),
    (
        activity("{name: a, time: 1 s}"),
        [f"4:5: cycle.0: {ITEM}; found only 'name', 'time'; {ALONE}"],
    ),
    (
        activity("{resource: bus, time: 1 s}"),
        [
            (
                f"4:5: cycle.0: {ITEM}; found only 'resource', 'time'; for time at a resource write"
                f" {ITEMS['service'].example}"
            )
        ],
    ),
    (activity("{}"), [f"4:5: cycle.0: {ITEM}; got keys and values; {ALONE}"]),
    (
        activity("name: a\n    dellay: 1 s"),
        [
            (
                f"5:5: cycle.0.dellay: {ITEM}; 'dellay' is none of them; did you mean 'delay'?"
                f" {ALONE[0].upper()}{ALONE[1:]}"
            )
        ],
    ),
    (activity("work"), [f"4:5: cycle.0: {ITEM}; got 'work'; {ALONE}"]),
    (activity("{delay: 1}"), [f"4:13: cycle.0.delay: {FIVE_US}; got 1"]),
    (activity("{delay: 1 s, svc: 1}"), ["4:18: cycle.0.svc: unknown key; did you mean 'scv'?"]),
    (activity("{delay: 1 s, scv: -1}"), ["4:23: cycle.0.scv: must be at least 0, got -1"]),
    (activity("{delay: 1 s, name: a.b}"), [f"4:24: cycle.0.name: {NAME}; got 'a.b'"]),
    (activity("{delay: 1 s, component: a b}"), [f"4:29: cycle.0.component: {LABEL}; got 'a b'"]),
    (
        activity("{delay: 1 s, technology: wier}"),
        [
            (
                "4:30: cycle.0.technology: write 'application', 'software', 'system', "
                "'protocol', 'signal', 'adapter', 'switch', 'wire', 'memory', "
                "'memory_latency', 'storage' or 'storage_latency'; got 'wier'; did you mean "
                "'wire'?"
            )
        ],
    ),
    (
        activity("{hold: door}"),
        ["4:5: cycle.0.body: key 'body' is missing: steps while the resource is held"],
    ),
    (activity("{hold: door, body: []}"), ["4:24: cycle.0.body: at least 1 needed; got a list"]),
    (
        activity("{choose: [{p: 1.5, do: []}]}"),
        ["4:19: cycle.0.choose.0.p: must be at most 1, got 1.5; write 1.5 % if this is a share"],
    ),
    (
        activity("{pipeline: 0, stages: []}"),
        [
            "4:16: cycle.0.pipeline: must be at least 1, got 0",
            "4:27: cycle.0.stages: at least 1 needed; got a list",
        ],
    ),
    (
        activity("{pipeline: 2, stages: [{name: a}]}"),
        [
            (
                "4:28: cycle.0.stages.0: a stage is exactly one of serial, parallel, serial_each,"
                " parallel_each"
            )
        ],
    ),
    (
        activity("{barrier: meet, parties: 2.5}"),
        ["4:30: cycle.0.parties: write a whole number; got 2.5"],
    ),
    (activity("{barrier: meet, parties: 0}"), ["4:30: cycle.0.parties: at least 1; got 0"]),
    (
        activity("{barrier: meet, parties: 9999999999}"),
        ["4:30: cycle.0.parties: at most 1e+09; got 9999999999"],
    ),
    (
        activity("{delay: 1 s}", head="population: {processors: 0}"),
        ["2:26: population.processors: must be at least 1, got 0"],
    ),
    (
        activity("{delay: 1 s}", head="population: {}"),
        [NO_POPULATION],
    ),
    (
        activity("{delay: 1 s}", head="population: {processors: 1, arrivals: 1 /s}"),
        [NO_POPULATION],
    ),
    (
        activity("{delay: 1 s}", head="phases: [{processors: 2, cycle: [{delay: 1 s}]}]"),
        ["1:1: a cycle goes with processors or arrivals; phases and groups bring their own"],
    ),
    (
        "activity: 1\npopulation: {processors: 2}\n",
        ["1:1: a cycle goes with processors or arrivals; phases and groups bring their own"],
    ),
    (
        activity(
            "{delay: 1 s}",
            head="population: {processors: 1}\nresources: {bus: {serves: 2}, door: {lock: lifo}}",
        ),
        [
            "3:19: resources.bus.serves: unknown key; did you mean 'servers'?",
            (
                "3:44: resources.door.lock: write 'fifo', 'tas', 'ttas', 'ticket', 'array' or"
                " 'mcs'; got 'lifo'; did you mean 'fifo'?"
            ),
        ],
    ),
    (
        activity(
            "{delay: 1 s}",
            head="population: {processors: 1}\nresources: {latch: lock, bus: {kind: station}}",
        ),
        [
            (
                "3:20: resources.latch: write keys and values, such as {servers: 2}, {lock: fifo}"
                " or {permits: 4}"
            ),
            (
                "3:32: resources.bus.kind: unknown key; the key of a resource tells its kind: write"
                " {servers: 2}, {lock: fifo} or {permits: 4}"
            ),
        ],
    ),
    (
        activity(
            "{delay: 1 s}",
            head="population: {processors: 1}\nresources: {meet: {barrier: centrl, cost: 5}}",
        ),
        [
            (
                "3:29: resources.meet.barrier: write 'central', 'tree', 'tournament',"
                " 'dissemination' or 'manager'; got 'centrl'; did you mean 'central'?"
            ),
            f"3:43: resources.meet.cost: {FIVE_US}; got 5",
        ],
    ),
    (
        activity("{delay: 1 s}", head="population: {processors: 1}\nparameters: {a.b: 3 us}"),
        [
            (
                '3:14: parameters."a.b": write a name that can stand in arithmetic: letters, digits'
                " and _, starting with a letter; got 'a.b'"
            )
        ],
    ),
    (
        activity(
            "{delay: 1 s}", head=f"population: {{processors: 1}}\nparameters: {{{'x' * 65}: 3 us}}"
        ),
        [f"3:14: parameters.{'x' * 65}: at most 64 characters; got '{'x' * 56}..."],
    ),
    (
        activity("{delay: 1 s}", head="population: {processors: 1}\nuseful: busy"),
        ["3:9: useful: write a list, such as ['busy']"],
    ),
]
STUDIES = [
    (
        study("vary: {a: {axis: {parties: [2]}}}"),
        ["3:12: vary.a.axis: unknown key; did you mean 'axes'?"],
    ),
    (
        study("vary: {a: 5}"),
        [
            (
                "3:11: vary.a: write a sweep with axes, a list of values, or a range: from, "
                "to, and one of step, factor and count"
            )
        ],
    ),
    (
        study("vary: {a: {axes: {parties: 5}}}"),
        [
            (
                "3:28: vary.a.axes.parties: write a list of values, such as [1, 2], or a range,"
                " such as {from: 1, to: 9, step: 1}"
            )
        ],
    ),
    (
        study("vary: {parties: {form: 1, to: 3, step: 1}}"),
        ["3:18: vary.parties.form: unknown key; did you mean 'from'?"],
    ),
    (
        study("vary: {parties: {from: 1, to: 3}}"),
        ["3:17: vary.parties: a range needs exactly one of step, factor and count"],
    ),
    (
        study("vary: {parties: {from: 1, to: 3, step: 1, count: 2}}"),
        ["3:17: vary.parties: a range needs exactly one of step, factor and count"],
    ),
    (
        study("vary: {parties: {from: 1, to: 3, factor: 1}}"),
        ["3:17: vary.parties: a factor of 1 never reaches the end; write another"],
    ),
    (
        study("vary: {parties: {from: 1, to: 3, factor: 0}}"),
        ["3:42: vary.parties.factor: more than 0; got 0"],
    ),
    (
        study("vary: {parties: {from: 1, to: 3, factor: two}}"),
        ["3:42: vary.parties.factor: write a number; got 'two'"],
    ),
    (
        study("vary: {parties: {from: 1, to: 3, count: 1}}"),
        ["3:41: vary.parties.count: at least 2; got 1"],
    ),
    (
        study("vary: {parties: {from: 1, to: 3, count: 3, spacing: log}}"),
        ["3:53: vary.parties.spacing: write 'linear' or 'geometric'; got 'log'"],
    ),
    (
        study("answer: [Time]"),
        [
            (
                "3:10: answer.0: write a value as answers name it, such as time or "
                "account[lock]; got 'Time'"
            )
        ],
    ),
    (
        study("cases: {base: {parties: 3}}"),
        ["3:15: cases.base: a difference cannot be called base; that is what it differs from"],
    ),
    (study("cases: {a: 5}"), ["3:12: cases.a: write keys and values; got 5"]),
    (study("rank: {change: 0%}"), ["3:16: rank.change: must be more than 0, got 0"]),
    (study("pictures: [{name: a, title: b}]"), ["3:12: pictures.0: key 'kind' is missing"]),
    (
        study("pictures: [{name: a, title: b, kidn: bars}]"),
        ["3:32: pictures.0.kidn: key 'kind' is missing; did you mean 'kind'?"],
    ),
    (
        study("pictures: [{name: a, title: b, kind: bar}]"),
        [
            (
                "3:38: pictures.0.kind: write 'bands', 'bars', 'changes', 'choices', 'comparison',"
                " 'fits', 'growth', 'histogram', 'lines', 'map', 'projection', 'rates',"
                " 'scalability', 'search', 'shares', 'timeline' or 'trace'; got 'bar'; did you"
                " mean 'bars'?"
            )
        ],
    ),
    (
        study("pictures: [{name: a, title: b, kind: bars, cases: [base], stack: tecnology}]"),
        [
            (
                "3:66: pictures.0.stack: write 'component' or 'technology'; got 'tecnology'; "
                "did you mean 'technology'?"
            )
        ],
    ),
    (
        study("pictures: [{name: a, title: b, kind: bars, cases: [base], stack: {x: time}}]"),
        ["3:70: pictures.0.stack.x: write a list, such as ['time']"],
    ),
    (
        study(
            "pictures: [{name: a, title: b, kind: bars, cases: [base], stack: component, share:"
            " yes}]"
        ),
        ["3:84: pictures.0.share: write true or false; got 'yes'"],
    ),
    (
        study("compare: [{title: t, columns: [base], rows: [{row: r, printed: [1]}]}]"),
        ["3:46: compare.0.rows.0: row r needs something to add up: sum or plus"],
    ),
    (
        study(
            "compare: [{title: t, columns: [base], rows: [{row: r, sum: [time], printed: [1, 2]}]}]"
        ),
        ["3:77: compare.0.rows.0.printed: one cell for each of the 1 columns is needed, got 2"],
    ),
    (
        study(
            "compare: [{title: t, columns: [base], rows: [{row: r, sum: [time], printed: [x]}]}]"
        ),
        ["3:78: compare.0.rows.0.printed.0: write a number; got 'x'"],
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("number", "new", "problems"), MACHINES, ids=[new[:40] for _, new, _ in MACHINES]
)
def test_each_refusal_of_a_machine_word_for_word(
    tmp_path: Path, number: int, new: str, problems: list[str]
) -> None:
    assert refused(tmp_path, line(MACHINE, number, new)) == [f"x.yaml:{each}" for each in problems]


@pytest.mark.parametrize(
    ("number", "new", "problems"), NETWORKS, ids=[new[:40] for _, new, _ in NETWORKS]
)
def test_each_refusal_of_a_network_word_for_word(
    tmp_path: Path, number: int, new: str, problems: list[str]
) -> None:
    assert refused(tmp_path, line(NETWORK, number, new)) == [f"x.yaml:{each}" for each in problems]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("text", "problems"),
    ACTIVITIES + STUDIES,
    ids=[each[1][0][:50] for each in ACTIVITIES + STUDIES],
)
def test_each_refusal_of_an_activity_and_a_study_word_for_word(
    tmp_path: Path, text: str, problems: list[str]
) -> None:
    assert refused(tmp_path, text) == [f"x.yaml:{each}" for each in problems]
