"""Drivers and devices as plain data, for `groundstate info --json`."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from groundstate import core
from groundstate.version import __version__


def machine_facts(drivers: Sequence[core.Driver]) -> dict[str, Any]:
    """Everything there is to say about this machine."""
    return {"groundstate": __version__, "drivers": [driver_facts(driver) for driver in drivers]}


def driver_facts(driver: core.Driver) -> dict[str, Any]:
    """Everything about a driver and its devices."""
    return {
        "library": driver.library_path,
        "own": driver.is_own,
        "uuid": str(driver.uuid),
        "version": driver.version,
        "api_version": version_text(driver.api_version),
        "ipc": plain(driver.ipc),
        "extensions": {name: version_text(version) for name, version in driver.extensions.items()},
        "devices": [device_facts(device) for device in driver.devices],
    }


def device_facts(device: core.Device) -> dict[str, Any]:
    """Everything about a device and its sub-devices."""
    facts = {
        **plain(device.properties),
        "pci_address": device.pci_address,
        "memory_bytes": device.memory_bytes,
    }
    questions: dict[str, Callable[[], Any]] = {
        "compute": lambda: device.compute_properties,
        "module": lambda: device.module_properties,
        "memories": lambda: device.memories,
        "memory_access": lambda: device.memory_access,
        "caches": lambda: device.caches,
        "queue_groups": lambda: device.queue_groups,
        "images": lambda: device.image_properties,
        "external_memory": lambda: device.external_memory,
        "extension_properties": lambda: device.extension_properties,
    }
    facts |= {name: plain(available(question)) for name, question in questions.items()}
    facts["sub_devices"] = [device_facts(part) for part in device.sub_devices]
    return facts


def available(question: Callable[[], Any]) -> Any:
    """An answer, or None from a driver that has none: what is not available is not zero."""
    try:
        return question()
    except core.errors.UnsupportedFeature:
        return None


def plain(value: Any) -> Any:
    """A value as JSON has it; flags become a list of names."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, enum.IntFlag):
        return [str(member.name).lower() for member in type(value) if member in value]
    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, UUID) else value


def version_text(version: tuple[int, int]) -> str:
    """A version as people write it."""
    return f"{version[0]}.{version[1]}"
