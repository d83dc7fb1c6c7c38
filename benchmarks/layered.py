"""Import and solve the layered regression models of LQNS, beside the throughputs that its simulator
printed.

The printed values are `../shared/validation/layered-regression.csv`; the models are the LQNX files
of the public repository layeredqueuing/V5, whose folder is given: ``python benchmarks/layered.py
FOLDER``, where FOLDER holds ``models/regression``. A model that is refused is imported again with
the losses left out that its refusal names. The exit status is 1 if an answer beyond 10 % names no
loss, or an answer that is off is called exact.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from slipstick.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PRINTED = ROOT.parent / "shared" / "validation" / "layered-regression.csv"
WITHIN = (0.02, 0.05, 0.10)
EXACT = 0.02
"""Error at which an answer that is called exact is off, beyond the interval that is printed."""
SHORT = """<?xml version="1.0"?>
<lqn-model name="short"><processor name="p" scheduling="fcfs">
<task name="user" scheduling="ref" multiplicity="2"><entry name="u" type="PH1PH2">
<entry-phase-activities><activity name="u1" phase="1" host-demand-mean="1"/>
</entry-phase-activities></entry></task></processor></lqn-model>"""


@dataclass
class Row:
    """One reference task: printed and answered."""

    model: str
    task: str
    printed: float
    half_width: float
    answered: float | None = None
    method: str = ""
    exact: bool = False
    left_out: str = ""
    refused: str = ""

    @property
    def error(self) -> float:
        """Relative error of the answer."""
        return (self.answered or 0.0) / self.printed - 1

    @property
    def band(self) -> str:
        """How near the answer is, in words."""
        if self.answered is None:
            return "refused"
        near = next((limit for limit in WITHIN if abs(self.error) <= limit), None)
        return f"within {near:.0%}" if near else "beyond, loss named" if self.left_out else "beyond"


def command(*words: str) -> tuple[int, str, str]:
    """Run slipstick in this process; return its status, output and notes."""
    output, notes = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(notes):
        status = main(list(words))
    return status, output.getvalue(), notes.getvalue()


def solved(path: Path, out: Path) -> tuple[dict[str, object] | None, str, str]:
    """Import a model, with the losses left out that it is refused for, and solve it.

    Returns
    -------
    the answer, or None; the losses left out; why it has no answer
    """
    losses: Sequence[str] = ()
    status, _, error_text = command("import", str(path), "-o", str(out))
    if status:
        losses = sorted(set(re.findall(r"--leave-out ([a-z-]+)", error_text)))
        if not losses:
            return None, "", error_text.strip().splitlines()[0][-200:]
        leave = [argument for loss in losses for argument in ("--leave-out", loss)]
        status, _, error_text = command("import", str(path), "-o", str(out), *leave)
        if status:
            return None, "", error_text.strip().splitlines()[0][-200:]
    status, printed, error_text = command("solve", str(out), "--json")
    if status:
        return None, ", ".join(losses), (error_text or printed).strip()[-200:]
    return json.loads(printed)["answers"][0], ", ".join(losses), ""


def rows(folder: Path, printed: Sequence[Row]) -> Iterator[Row]:
    """Solve each model once, and give its reference tasks their answers."""
    models = list(dict.fromkeys(row.model for row in printed))
    with tempfile.TemporaryDirectory() as work:
        for model in models:
            out = Path(work) / f"{model}.yaml"
            answer, _, refusal = solved(folder / f"{model}.lqnx", out)
            for row in (printed_row for printed_row in printed if printed_row.model == model):
                row.refused = refusal
                if answer is not None:
                    _take(row, answer)
                print(row.model, row.task, row.band, file=sys.stderr, flush=True)
                yield row


def _take(row: Row, answer: dict[str, object]) -> None:
    """Read the throughput of a reference task off an answer; of copies, that of the first."""
    values = answer["values"]
    assert isinstance(values, dict)
    name = row.task.replace("-", "_")
    names = (f"throughput[{name}]", f"throughput[{name}_1]", "throughput")
    value = next((values[name]["value"] for name in names if name in values), None)
    row.answered = value
    row.method, row.exact = str(answer["method"]), bool(answer["exact"])
    losses = answer["left_out"]
    assert isinstance(losses, dict)
    row.left_out = ", ".join(losses)


def table(rows: Sequence[Row]) -> str:
    """Write a line for each reference task."""
    lines = [
        [
            row.model,
            row.task,
            row.printed,
            "-" if row.answered is None else f"{row.answered:.6g}",
            "-" if row.answered is None else f"{row.error:+.1%}",
            row.method,
            "yes" if row.exact else "no",
            row.left_out or row.refused[:90],
        ]
        for row in rows
    ]
    head = [
        "model",
        "task",
        "printed /s",
        "answered",
        "error",
        "method",
        "exact",
        "left out, or why refused",
    ]
    return tabulate(lines, headers=head)


def verdicts(rows: Sequence[Row]) -> Counter[str]:
    """Count the models by the worst band of their reference tasks."""
    order = [
        *(f"within {limit:.0%}" for limit in WITHIN),
        "beyond, loss named",
        "beyond",
        "refused",
    ]
    worst_by_model: dict[str, str] = {}
    for row in rows:
        worst_band = worst_by_model.setdefault(row.model, row.band)
        worst_by_model[row.model] = max(worst_band, row.band, key=order.index)
    return Counter({band: list(worst_by_model.values()).count(band) for band in order})


def run() -> int:
    """Solve the models and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="that holds models/regression")
    parser.add_argument("--printed", type=Path, default=PRINTED, help="the printed values")
    parser.add_argument("--only", default="", help="models whose names hold this")
    parser.add_argument("--short", action="store_true", help="one made-up model")
    options = parser.parse_args()
    if options.short:
        with tempfile.TemporaryDirectory() as work:
            (Path(work) / "short.lqnx").write_text(SHORT)
            printed = [Row("short", "user", 1.0, 0.0)]
            solved_rows = list(rows(Path(work), printed))
    else:
        if options.folder is None:
            parser.error("name the folder of layeredqueuing/V5")
        with options.printed.open() as file:
            printed = [
                Row(
                    line["model"],
                    line["reference_task"],
                    float(line["throughput_per_s"]),
                    float(line["half_width_95"] or 0),
                )
                for line in csv.DictReader(file)
                if options.only in line["model"]
            ]
        solved_rows = list(rows(options.folder / "models" / "regression", printed))
    print(table(solved_rows))
    counts = verdicts(solved_rows)
    print(f"\nmodels: {', '.join(f'{band}: {count}' for band, count in counts.items())}")
    false = [
        row for row in solved_rows
        if row.exact and abs(row.error) > max(EXACT, 2 * row.half_width / row.printed)
    ]  # fmt: skip
    silent = [row for row in solved_rows if row.band == "beyond"]
    print(f"called exact and off: {len(false)}; beyond 10 % without a loss: {len(silent)}")
    return 1 if false or silent else 0


if __name__ == "__main__":
    sys.exit(run())
