"""COMMAND LINE: what people type, and what they read back.

Why this shape: `main` holds the commands that solve models and run studies, `catalogue` those that
look things up, check files and begin new ones; other packages add further commands. `console` is
how all of them speak: results on standard output, everything else on standard error, no traceback.
Everything heavy is imported by the command that needs it, so that help is at once there.
"""

import gc

# Set before any other import: its classes and trees stay alive, and with the default the collector
# would search them 100 times.
gc.set_threshold(200_000, 20, 20)
