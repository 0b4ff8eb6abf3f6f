"""Drivers: initialisation, and what the driver says of itself."""

from __future__ import annotations

from groundstate import ze
from groundstate.driver import platform
from groundstate.driver.api import (
    Extensions,
    Failure,
    answer_list,
    answer_structs,
    handler,
    read_text,
    write_bytes,
    write_pointer,
    write_text,
    write_u32,
)
from groundstate.version import __version__

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.driver.extensions import Extension

DRIVER_UUID = bytes.fromhex("67726f756e6473746174650000000001")
"""The same for every machine and version: "groundstate", and a count of incompatible drivers."""

ALL_DRIVER_TYPES = 0xFFFFFFFF


def driver_version() -> int:
    """A number that grows with each release: one byte each for major, minor and patch."""
    major, minor, patch = (int(word) for word in __version__.split(".")[:3])
    return major << 24 | minor << 16 | patch << 8 | 1


def _is_wanted(gpu: bool, other: bool) -> bool:
    """Whether there is a device of the types that a program asks for, if no mask hides it."""
    here = platform.current()
    has_gpu = ze.NAMESPACE.number("ZE_DEVICE_TYPE_GPU") in here.device_types or bool(here.gpus())
    return gpu if has_gpu else other


@handler
def zeInit(flags: int) -> None:
    gpu = flags == 0 or bool(flags & ze.NAMESPACE.number("ZE_INIT_FLAG_GPU_ONLY"))
    if not _is_wanted(gpu=gpu, other=flags == 0):
        raise Failure(
            ze.ZE_RESULT_ERROR_UNINITIALIZED,
            f"no driver has a device of the only types asked for (flags {flags:#x})",
        )


@handler
def zeInitDrivers(pCount: int, phDrivers: int, desc: int) -> None:
    flags = ze.ze_init_driver_type_desc_t.from_address(desc).flags
    gpu = bool(flags & ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU)
    if not _is_wanted(gpu=gpu, other=flags == ALL_DRIVER_TYPES):
        write_u32(pCount, 0)
        raise Failure(
            ze.ZE_RESULT_ERROR_UNINITIALIZED,
            f"no driver has a device of the types asked for (flags {flags:#x})",
        )
    answer_list(pCount, phDrivers, [platform.current().driver])


@handler
def zeDriverGet(pCount: int, phDrivers: int) -> None:
    answer_list(pCount, phDrivers, [platform.current().driver])


@handler
def zeDriverGetApiVersion(hDriver: int, version: int) -> None:
    write_u32(version, ze.ZE_API_VERSION_1_17)


DRIVER_EXTENSIONS = Extensions("DRIVER_PROPERTIES")


@handler
def zeDriverGetProperties(hDriver: int, pDriverProperties: int) -> None:
    properties = ze.ze_driver_properties_t.from_address(pDriverProperties)
    write_bytes(properties.uuid.id, DRIVER_UUID)
    properties.driverVersion = driver_version()
    DRIVER_EXTENSIONS.fill(properties, None)


@DRIVER_EXTENSIONS.add("ze_driver_ddi_handles_ext_properties_t")
def _ddi_handles(properties: ze.ze_driver_ddi_handles_ext_properties_t, _: None) -> None:
    properties.flags = ze.ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED


@DRIVER_EXTENSIONS.add("ze_driver_memory_free_ext_properties_t")
def _memory_free(properties: ze.ze_driver_memory_free_ext_properties_t, _: None) -> None:
    properties.freePolicies = (
        ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
        | ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
    )


@handler
def zeDriverGetIpcProperties(hDriver: int, pIpcProperties: int) -> None:
    properties = ze.ze_driver_ipc_properties_t.from_address(pIpcProperties)
    properties.flags = ze.ZE_IPC_PROPERTY_FLAG_MEMORY | ze.ZE_IPC_PROPERTY_FLAG_EVENT_POOL


@handler
def zeDriverGetExtensionProperties(hDriver: int, pCount: int, pExtensionProperties: int) -> None:
    from groundstate.driver.extensions import advertised

    structure = ze.ze_driver_extension_properties_t
    answer_structs(pCount, pExtensionProperties, structure, advertised(), _write_extension)


def _write_extension(properties: ze.ze_driver_extension_properties_t, extension: Extension) -> None:
    write_text(properties, "name", extension.name)
    properties.version = extension.version


@handler
def zeDriverGetExtensionFunctionAddress(hDriver: int, name: int, ppFunctionAddress: int) -> None:
    wanted = read_text(name)
    address = platform.current().native.function_address(wanted)
    write_pointer(ppFunctionAddress, address)
    if address == 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"this driver has no function {wanted!r}",
        )
