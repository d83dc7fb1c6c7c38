"""Values of machine files at the ends of what their readers accept, and units of their rates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick_measure.imports.formats import import_spec
from slipstick_measure.measurements import Hints

FILES = Path(__file__).resolve().parents[2] / "shelf" / "machines"


def _processors_of_kerncraft(folder: Path, cores: str) -> float:
    """Import a machine file of Kerncraft with two sockets of some cores; return the processors."""
    path = folder / "machine.yml"
    text = (FILES / "filled-in.yml").read_text()
    path.write_text(text.replace("cores per socket: 8", f"cores per socket: {cores}"))
    spec = import_spec([path], Hints(leave_out=("write-rates",)), base="nodes-2024")
    return float(spec.document["processors"]["count"]["value"])


@pytest.mark.parametrize(("cores", "processors"), [("1", 2), ("1000000", 2_000_000)])
def test_a_socket_has_1_to_a_million_cores(tmp_path: Path, cores: str, processors: float) -> None:
    assert _processors_of_kerncraft(tmp_path, cores) == processors


@pytest.mark.parametrize("cores", ["0", "1000001", "2.0", "true"])
def test_a_number_of_cores_beyond_its_limits_is_refused_with_both(
    tmp_path: Path, cores: str
) -> None:
    with pytest.raises(SpecError, match=r"must be a whole number from 1 to 1,000,000, got"):
        _processors_of_kerncraft(tmp_path, cores)


@pytest.mark.parametrize(
    ("rate", "gigabytes"),
    [
        *[("125MBps", 0.125), ("1Gbps", 0.125), ("8kbps", 1e-6), ("1GiBps", 1.073741824)],
        *[("8Mibps", 1.048576e-3), ("1e9", 1.0), ("1TBps", 1000.0)],
    ],
)
def test_a_rate_of_simgrid_is_in_bytes_or_bits(tmp_path: Path, rate: str, gigabytes: float) -> None:
    path = tmp_path / "cluster.xml"
    text = (FILES / "flat-cluster.xml").read_text()
    path.write_text(text.replace("125MBps", rate).replace('bb_bw="2.25GBps"', 'bb_bw="9e18"'))
    written = import_spec([path]).document["network"]["wire"]["per_byte"]["value"]
    found = re.fullmatch(r"([\d.e+-]+) GB/s", written)
    assert found, written
    assert float(found[1]) == pytest.approx(gigabytes, rel=5e-6)  # six digits are written
