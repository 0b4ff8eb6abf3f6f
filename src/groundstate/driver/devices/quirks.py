"""What the device says of itself to programs that know only certain devices.

The hardware version cannot please all. oneMKL has no complaint about 35.0.0 alone, which OpenXLA's
plugin for Level Zero reads as two different devices and then refuses. So a process that has the
plugin loaded is told another version, one that both know.

The same goes for threads: oneCCL, which the plugin brings, refuses a device whose number of threads
is no multiple of 32.
"""

from __future__ import annotations

from groundstate.driver import native

IP_VERSION = 35 << 22
"""What libraries choose their kernels by, 35.0.0. oneMKL knows the architecture and has kernels for
it as SPIR-V only, so it does not complain that native ones are refused. SYCL knows no GPU of this
version, and so expects no matrix instructions of it."""

_OPENXLA = "xla_oneapi_plugin.so"
_OPENXLA_IP_VERSION = 12 << 22 | 55 << 14
_OPENXLA_THREADS = 32
"""oneCCL in the plugin counts on whole sub-groups of 32 work-items for each execution unit."""


def ip_version(maps: str = "/proc/self/maps") -> int:
    """The hardware version for the program that this process runs, as far as it is loaded."""
    try:
        with open(maps, encoding="utf-8", errors="replace") as file:
            is_loaded = f"/{_OPENXLA}\n" in file.read()
    except OSError:
        return IP_VERSION
    return _OPENXLA_IP_VERSION if is_loaded else IP_VERSION


def threads_per_unit() -> int:
    """How many threads an execution unit runs: one, as a CPU that works for the device does."""
    return _OPENXLA_THREADS if native.openxla_adjust() else 1
