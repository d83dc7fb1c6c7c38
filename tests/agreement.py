"""Specs of all kinds, some with a small mistake, and whether check and solving agree about them.

The tests take a few; ``benchmarks/specs.py`` two thousand.
"""

from __future__ import annotations

import os
import random
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from slipstick.cli.main import main
from slipstick.schema.library import names_of_kind
from tests.mutations import SHIPPED

PARTS = (
    "answer: [time, efficiency, 'account[lock]']",
    "vary: {population.processors: [1, 2, 4]}",
    (
        "vary: {s: {axes: {parameters.work: {from: 1 ms, to: 9 ms, count: 3}}, cases: [base, more],"
        " where: parameters.work < 8 ms}}"
    ),
    "rank: {of: [parameters.work, parameters.critical], cases: [base, more]}",
    (
        "rank: {changes: {half: {times: {parameters.work: 0.5}}, set: {set: {parameters.critical: 1"
        " ms}}}}"
    ),
    (
        "seek: {n: {of: population.processors, from: 1, to: 9, step: 1, where: efficiency >= 0.5 *"
        " base.efficiency}}"
    ),
    (
        "sample: {of: {parameters.work: {distribution: uniform, from: 1 ms, to: 3 ms}}, samples:"
        " 16, answer: [time]}"
    ),
    (
        "compare: [{title: t, columns: [base, more], unit: ms, rows: [{row: r, sum: [time],"
        " printed: [10, 10]}]}]"
    ),
    "agree: {methods: [closed-form, bounds], cases: [base, more]}",
    "statements: {s: {says: s, value: efficiency, per: speedup, of: [base], from: 1 %}}",
    "bottleneck: {along: {population.processors: [1, 2, 4]}}",
    "scale: {processors: {population.processors: [1, 2, 4]}, ways: [fixed-size]}",
    (
        "project: {trends: [milestones], base_year: 2000, years: [2000, 2004], watch: [efficiency"
        " >= 0.5], samples: 0}"
    ),
    "fits: {f: {made: {case: base, processors: [1, 2, 4, 8, 16]}, families: [amdahl]}}",
)
"""Parts of a study of ``lock-and-bus``."""

_TWO = "vary: {two: {axes: {population.processors: [1, 2], parameters.work: [1 ms, 9 ms]}}}\n"
PICTURES = tuple(
    f"{needed}pictures: [{{kind: {kind}, name: p, title: t{rest}}}]"
    for kind, rest, needed in (
        ("bars", ", cases: [base, more], stack: component, share: true", ""),
        (
            "lines",
            (
                ", sweep: two, x: population.processors, series: parameters.work, y: [time,"
                " 'account[busy]']"
            ),
            _TWO,
        ),
        (
            "map",
            ", sweep: two, x: population.processors, y: parameters.work, value: efficiency",
            _TWO,
        ),
        ("timeline", ", case: more, cycles: 1", ""),
        ("bands", ", case: base", "scale: {processors: {population.processors: [1, 2, 4]}}\n"),
        (
            "projection",
            ", y: [time]",
            "project: {trends: [milestones], base_year: 2000, years: [2000, 2004], samples: 0}\n",
        ),
        ("histogram", ", value: time", PARTS[6] + "\n"),
        ("changes", "", PARTS[4] + "\n"),
        ("fits", ", fit: f", PARTS[-1] + "\n"),
    )
)
MORE = (
    *PICTURES,
    "vary: {method: [closed-form, mean-value], population.processors: [1, 4]}",
    "measured: {m: {data: two-cores, statistic: mean, timer: 1 ns}}",
    "fits: {f: {data: my-program, families: [amdahl, usl], at: [64]}}",
    (
        "answer: [overhead]\nstatements: {s: {says: s, value: time, of: [base, more], greatest:"
        " [more]}}"
    ),
)
"""Pictures, and questions that need them or files of measurements."""

PROGRAM_PARTS = (
    "vary: {machine.network: [atm-oc3, fast-ethernet]}",
    "vary: {machine.network.wire.bandwidth: {from: 10 MB/s, to: 40 MB/s, count: 3}, parts: [1, 2]}",
    (
        "project: {trends: [milestones], base_year: 1997, years: [1997, 2002], samples: 16, watch:"
        " [time < 1 ms]}"
    ),
    (
        "seek: {y: {of: year, trend: milestones, base_year: 1997, from: 1997, to: 2002, where: time"
        " < 0.5 ms, points: 3}}"
    ),
    "rank: {of: [machine.network.adapter, parts], under: [eight-times]}",
    (
        "sample: {of: {machine.network.adapter: {distribution: uniform, from: 1 us, to: 3 us}},"
        " samples: 16}"
    ),
    "answer: [time, 'technology[protocol]', 'limit[diffs]']",
    "pictures: [{kind: bars, name: p, title: t, cases: [base, more], stack: technology}]",
)
"""Parts of a study of a program on a machine."""

NETWORK_PARTS = (
    "vary: {classes.jobs.population: [1, 2, 4]}",
    "answer: ['response_time[jobs]', 'utilization[cpu]']",
    "bottleneck: {along: {classes.jobs.population: [1, 2, 4]}}",
    "agree: {methods: [exact, bounds]}",
    (
        "seek: {n: {of: classes.jobs.population, from: 1, to: 9, step: 1, where: 'throughput[jobs]"
        " > 5 / 1 s'}}"
    ),
)
"""Parts of a study of ``central-server``."""

HEADS = {
    "study: 1\ntitle: t\nbase: {model: MODEL}\ncases: {more: {parameters.work: 18 ms}}\n": (
        *PARTS,
        *MORE,
    ),
    (
        "study: 1\n"
        "base: {model: dvsm/diff-request, machine: rs6000-43p-atm}\n"
        "cases: {more: {technology: eight-times}}\n"
    ): (PROGRAM_PARTS),
    "study: 1\nbase: {model: central-server}\ncases: {more: {classes.jobs.population: 3}}\n": (
        NETWORK_PARTS
    ),
}
SMALL = (
    "activities",
    "queueing",
    "machines",
    "networks",
    "workloads",
    "technologies",
    "trends",
    "profiles",
    "counts",
)
KINDS = tuple(
    name for name in SHIPPED if name.partition("/")[0] in SMALL and len(SHIPPED[name]) < 20_000
)


def spec(chance: random.Random) -> str:
    """Write a spec of any kind, in one of two with a letter, a word or a number that is another."""
    if chance.random() < 0.5:
        head, parts = chance.choice(list(HEADS.items()))
        chosen = {
            part.partition(":")[0]: part for part in chance.sample(parts, chance.randint(1, 3))
        }
        text = head + "\n".join(chosen.values()) + "\n"
    else:
        text = SHIPPED[chance.choice(KINDS)]
    return _mistaken(text, chance) if chance.random() < 0.5 else text


def _mistaken(text: str, chance: random.Random) -> str:
    lines = text.splitlines()
    at = chance.randrange(len(lines))
    line = lines[at]
    letters = [index for index, sign in enumerate(line) if sign.isalnum()]
    if letters:
        index = chance.choice(letters)
        other = chance.choice("0123456789") if line[index].isdigit() else chance.choice("aeinrst")
        kept = chance.choice((other, "", line[index] * 2))
        lines[at] = line[:index] + kept + line[index + 1 :]
    return "\n".join(lines) + "\n"


def agree(text: str, folder: Path) -> str:
    """Check and solve a spec from a folder other than its own. Return how the two disagree; empty
    if they agree.
    """
    shipped = "lock-and-bus"
    (folder / "one").mkdir(exist_ok=True)
    file = folder / "one" / "spec.yaml"
    (folder / "one" / "model.yaml").write_text(SHIPPED[f"activities/{shipped}"])
    file.write_text(text.replace("MODEL", "model.yaml"))
    reference = os.path.relpath(file)
    checked, said = _called("check", reference)
    kind = text.lstrip().partition(":")[0]
    if kind == "study":
        status, words = _called("run", reference, "--out", str(folder / "out"))
    elif kind in ("activity", "queueing-network"):
        status, words = _called("solve", reference)
    elif kind in ("workload", "technology"):
        # It is valid if there is a machine in the catalogue that it runs on.
        model = _model(text) if kind == "workload" else "dvsm/diff-request"
        for machine in names_of_kind("machine"):
            status, words = _called("solve", f"--{kind}", reference, "--machine", machine, model)
            if status != 2:
                break
    elif kind == "machine" and "\ndvsm:" in text and "\nextends:" not in text:
        status, words = _called("solve", "dvsm/lock", "--machine", reference)
    elif kind == "profile":
        status, words = _called("measured", reference)
    else:
        status, words = _called("show", reference)
    if (checked == 2) != (status == 2) or checked not in (0, 2) or status not in (0, 1, 2):
        return f"check {checked} {said}; solving {status} {words}\n{text}"
    return ""


def _model(text: str) -> str:
    return next(
        (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model:")),
        "none",
    )


def _called(*arguments: str) -> tuple[int, str]:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
    return status, err.getvalue()
