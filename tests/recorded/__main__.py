"""Write the recorded outcomes anew: ``python -m tests.recorded``, after a change that is meant.

It prints the inputs whose outcome differs, so that each can be looked at before it is committed.
With ``--names FILE...`` the inputs in files, one a line, are recorded in place of those of before:
a file for each record, in the order of `TURNS`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from slipstick.report.formatting import WIDTH
from tests.recorded.record import TURNS, read_record, write_record


def main() -> None:
    """Write the record and print what changed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--names", type=Path, nargs=len(TURNS), help="names of inputs, one a line")
    options = parser.parse_args()
    os.environ["COLUMNS"] = str(WIDTH)  # as the tests set it
    for place, path in enumerate(TURNS):
        new_names = options.names and options.names[place].read_text().splitlines()
        names = new_names or list(read_record(path))
        changed = write_record(iter(names), path)
        sys.stdout.write("".join(f"{name}\n" for name in changed))
        sys.stdout.write(f"{len(names)} inputs recorded, {len(changed)} differ from before\n")


if __name__ == "__main__":
    main()
