"""``python -m slipstick.cli``: the command line."""

from __future__ import annotations

import sys

from slipstick.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
