"""What the device says of itself to programs that know only certain devices.

The hardware version cannot please all. oneMKL has no complaint about 35.0.0 alone, which OpenXLA's
plugin for Level Zero reads as two different devices and then refuses. So a process that has the
plugin loaded is told another version, one that both know.
"""

from __future__ import annotations

IP_VERSION = 35 << 22
"""What libraries choose their kernels by, 35.0.0. oneMKL knows the architecture and has kernels for
it as SPIR-V only, so it does not complain that native ones are refused. SYCL knows no GPU of this
version, and so expects no matrix instructions of it."""

_IP_VERSIONS = {"xla_oneapi_plugin.so": 12 << 22 | 55 << 14}
"""By the library of a program."""


def ip_version(maps: str = "/proc/self/maps") -> int:
    """The hardware version for the program that this process runs, as far as it is loaded."""
    try:
        with open(maps, encoding="utf-8", errors="replace") as file:
            mapped = file.read()
    except OSError:
        return IP_VERSION
    for library, version in _IP_VERSIONS.items():
        if f"/{library}\n" in mapped:
            return version
    return IP_VERSION
