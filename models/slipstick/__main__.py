"""The entry of the command line, and ``python -m slipstick``: an interrupt ends it quietly from
its first moment, so it is handled before anything else is imported.
"""

# The module that `signal` wraps: the wrapper needs enum, whose import would take the longest.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line, and return its exit status."""
    handler = signal.getsignal(signal.SIGINT)
    # Elsewhere it is ignored, as in the background of a shell.
    end = _end if handler is signal.default_int_handler else handler
    # An exception inside an import may be printed, or be replaced by another.
    signal.signal(signal.SIGINT, end)
    from slipstick.cli.main import main as run_command

    try:
        signal.signal(signal.SIGINT, handler)
        return run_command()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, end)


def _end(*_: object) -> None:
    """End this process, which has written everything or nothing."""
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
