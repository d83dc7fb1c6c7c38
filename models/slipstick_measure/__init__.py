"""What is read and measured of the world outside: measured runs, traces, fits, files of other
tools, calibration of a host.

Why this shape: slipstick is the calculator, and finds this package by its entry points, so that the
calculator imports none of it. `formats` recognizes the format of a file from its content and calls
its reader in `readers`, which fills the table of `measurements`, where repetitions are reduced to
one value; `account` books the time; `fit` fits models; `traces` reads and shows traces; `imports`
makes specs of other tools' files, `calibration` makes a machine of this host. `specs` has the keys
in files, `instrument` the timed locks of programs that measure themselves, `questions` what a study
asks, `report` the tables and pictures, and `commands` the commands. The tables below name what is
added, and import nothing.
"""

from slipstick.extensions import SpecKind

COMMANDS = {
    "measured": "slipstick_measure.commands.measured:measured",
    "record": "slipstick_measure.commands.measured:record",
    "trace": "slipstick_measure.commands.measured:trace",
    "fit": "slipstick_measure.commands.measured:fit",
    "import": "slipstick_measure.commands.imported:import_",
    "calibrate": "slipstick_measure.commands.calibrate:calibrate",
}
QUESTIONS = {
    "measured": "slipstick_measure.specs:MEASURED",
    "traces": "slipstick_measure.specs:TRACES",
    "fits": "slipstick_measure.specs:FITS",
    "validation": "slipstick_measure.specs:VALIDATION",
}
KINDS = {"profile": SpecKind("profiles", "slipstick_measure.specs:ProfileSpec", "two-cores")}
CHECKS = {
    "table for a fit of a model": "slipstick_measure.fit.columns:check_column_table",
    "table of measurements": "slipstick_measure.formats:check_runs",
}
