"""Which tests other people's packages bring along, and where they are installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent / "with_dpnp"
ALL = ("older", "newer", "opencl")
CLIENT = ROOT / ".venv" / "clients"
"""A Python with the clients and Intel's OpenCL runtime; `make .venv/clients/.installed`."""


@dataclass(frozen=True)
class Suite:
    """The tests of one package, and the devices that they are run on unless others are named."""

    name: str
    package: str
    pattern: str
    devices: tuple[str, ...]
    options: tuple[str, ...] = ()
    """For pytest."""

    def files(self, client: Path) -> list[Path]:
        """The files of tests in the order of their names."""
        if self.package == HERE.name:
            return sorted(HERE.glob(self.pattern))
        tests = next(client.glob(f"lib/python3*/site-packages/{self.package}/tests"), None)
        return [] if tests is None else sorted(tests.glob(self.pattern))


SUITES = {
    suite.name: suite
    for suite in (
        Suite("dpctl", "dpctl", "test_*.py", ALL),
        # Ours, but they run in the client's Python, which knows nothing of our other tests.
        Suite("together", HERE.name, "check_*.py", ALL, ("--noconftest",)),
        Suite("dpnp", "dpnp", "test_*.py", ("newer", "opencl")),
        Suite("tensor", "dpnp", "tensor/**/test_*.py", ("newer", "opencl")),
        Suite("cupy", "dpnp", "third_party/**/test_*.py", ("newer", "opencl")),
    )
}
