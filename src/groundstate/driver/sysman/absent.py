"""What no device of this driver has: lists of these are empty, and there are no handles to ask.

Standby domains, performance factors, test suites, lights, fabric ports, virtual functions and
overclocking are things of accelerator cards.
"""

from __future__ import annotations

from groundstate.driver.api import answer_list, handler, write_u32
from groundstate.driver.sysman import kinds


def _answer_none(device: int, count: int, array: int) -> None:
    kinds.watched(device)
    answer_list(count, array, [])


@handler
def zesDeviceEnumStandbyDomains(hDevice: int, pCount: int, phStandby: int) -> None:
    _answer_none(hDevice, pCount, phStandby)


@handler
def zesDeviceEnumPerformanceFactorDomains(hDevice: int, pCount: int, phPerf: int) -> None:
    _answer_none(hDevice, pCount, phPerf)


@handler
def zesDeviceEnumDiagnosticTestSuites(hDevice: int, pCount: int, phDiagnostics: int) -> None:
    _answer_none(hDevice, pCount, phDiagnostics)


@handler
def zesDeviceEnumLeds(hDevice: int, pCount: int, phLed: int) -> None:
    _answer_none(hDevice, pCount, phLed)


@handler
def zesDeviceEnumFabricPorts(hDevice: int, pCount: int, phPort: int) -> None:
    _answer_none(hDevice, pCount, phPort)


@handler
def zesDeviceEnumActiveVFExp(hDevice: int, pCount: int, phVFhandle: int) -> None:
    _answer_none(hDevice, pCount, phVFhandle)


@handler
def zesDeviceEnumEnabledVFExp(hDevice: int, pCount: int, phVFhandle: int) -> None:
    _answer_none(hDevice, pCount, phVFhandle)


@handler
def zesDeviceEnumOverclockDomains(hDevice: int, pCount: int, phDomainHandle: int) -> None:
    _answer_none(hDevice, pCount, phDomainHandle)


@handler
def zesDeviceGetOverclockDomains(hDevice: int, pOverclockDomains: int) -> None:
    """No bit is set: the device cannot be overclocked."""
    kinds.watched(hDevice)
    write_u32(pOverclockDomains, 0)
