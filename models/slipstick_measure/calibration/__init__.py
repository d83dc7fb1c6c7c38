"""Calibration: kernels run on this host, the machine that their times tell, and the spec of it.

Why this shape: `kernels` and `timing` measure, and know no machine; `analysis` makes a machine of
times, measured or generated; `host` has the plan of what is measured and writes the spec.
"""
