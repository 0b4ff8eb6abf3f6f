"""The place of a device on the PCI bus, and its link."""

from __future__ import annotations

import ctypes
import time

from groundstate import zes
from groundstate.driver.api import Unsupported, answer_structs, chained, handler
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.parts import Pci, PciBar, PciSpeed, PciStats
from groundstate.driver.sysman.structs import known


def _pci(handle: int) -> Pci:
    pci = kinds.watched(handle).pci()
    if pci is None:
        raise Unsupported("this device is on no PCI bus")
    return pci


def _write_speed(structure: ctypes.Structure, speed: PciSpeed) -> None:
    structure.gen = known(speed.generation)
    structure.width = known(speed.width)
    structure.maxBandwidth = known(speed.bytes_per_second)


@handler
def zesDevicePciGetProperties(hDevice: int, pProperties: int) -> None:
    pci = _pci(hDevice)
    properties = zes.zes_pci_properties_t.from_address(pProperties)
    address = properties.address
    address.domain, address.bus, address.device, address.function = pci.address
    _write_speed(properties.maxSpeed, pci.maximum)
    properties.haveBandwidthCounters = pci.has_bandwidth_counters
    properties.havePacketCounters = False
    properties.haveReplayCounters = pci.has_replay_counter
    downgrade = chained(properties, zes.zes_pci_link_speed_downgrade_ext_properties_t)
    if downgrade is not None:
        downgrade.pciLinkSpeedUpdateCapable = False
        downgrade.maxPciGenSupported = known(pci.maximum.generation)


@handler
def zesDevicePciGetState(hDevice: int, pState: int) -> None:
    """A link that runs is good; one that runs below its best may just be saving power."""
    speed = _pci(hDevice).speed()
    state = zes.zes_pci_state_t.from_address(pState)
    is_known = speed.generation is not None
    state.status = zes.ZES_PCI_LINK_STATUS_GOOD if is_known else zes.ZES_PCI_LINK_STATUS_UNKNOWN
    state.qualityIssues = 0
    state.stabilityIssues = 0
    _write_speed(state.speed, speed)
    downgrade = chained(state, zes.zes_pci_link_speed_downgrade_ext_state_t)
    if downgrade is not None:
        downgrade.pciLinkSpeedDowngradeStatus = False


@handler
def zesDevicePciGetBars(hDevice: int, pCount: int, pProperties: int) -> None:
    bars = _pci(hDevice).bars()
    answer_structs(pCount, pProperties, zes.zes_pci_bar_properties_t, bars, _write_bar)


def _write_bar(properties: ctypes.Structure, bar: PciBar) -> None:
    _write_window(properties, bar)
    extended = chained(properties, zes.zes_pci_bar_properties_1_2_t)
    if extended is not None:
        _write_window(extended, bar)
        extended.resizableBarSupported = bar.is_resizable
        extended.resizableBarEnabled = bar.is_resized


def _write_window(properties: ctypes.Structure, bar: PciBar) -> None:
    properties.type = bar.type
    properties.index = bar.index
    properties.base = bar.base
    properties.size = bar.size_bytes


@handler
def zesDevicePciGetStats(hDevice: int, pStats: int) -> None:
    """Counters that the properties do not promise are 0, says the specification."""
    pci = _pci(hDevice)
    has_some = pci.has_bandwidth_counters or pci.has_replay_counter
    found = pci.stats() if has_some else PciStats(time.monotonic_ns() // 1000)
    stats = zes.zes_pci_stats_t.from_address(pStats)
    stats.timestamp = found.timestamp_us
    stats.replayCounter = found.replays or 0
    stats.packetCounter = 0
    stats.rxCounter = found.received_bytes or 0
    stats.txCounter = found.sent_bytes or 0
    _write_speed(stats.speed, pci.speed())
