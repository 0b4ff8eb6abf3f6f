# ruff: noqa: F403, F405 (programs for pyzes are written with a star import)
"""Prints what pyzes tells of every device: `pyzes_survey.py new|old`.

"new" starts with zesInit, "old" with zeInit as it was done before there was a zesInit, when the
handles of the core API were those of system management, too.
"""

import sys
from collections.abc import Callable
from typing import Any

import pyzes
from pyzes import *


def all_of(name: str, get: Callable[..., int], kind: Any, *owner: Any) -> Any:
    """The handles or structs that a function with a count gives."""
    count = c_uint32(0)
    result = get(*owner, byref(count), None)
    print(f"{name}: {result:#x}, {count.value}")
    found = (kind * count.value)()
    if count.value:
        result = get(*owner, byref(count), found)
        print(f"  again: {result:#x}, {count.value}")
    return found


def ask(get: Callable[..., int], handle: Any, answer: Any) -> Any:
    """One question, its result and its answer."""
    result = get(handle, byref(answer))
    shown = answer.value if hasattr(answer, "value") else answer
    print(f"  {get.__name__}: {result:#x} {'' if result else shown}")
    return answer


def devices(way: str) -> list[Any]:
    if way == "new":
        assert zesInit(0) == ZE_RESULT_SUCCESS
        get_drivers, get_devices = zesDriverGet, zesDeviceGet
    else:
        library = pyzes.gpuLib
        assert library.zeInit(0) == ZE_RESULT_SUCCESS
        get_drivers, get_devices = library.zeDriverGet, library.zeDeviceGet
    drivers = all_of("drivers", get_drivers, zes_driver_handle_t)
    return [
        device
        for driver in drivers
        for device in all_of("devices", get_devices, zes_device_handle_t, driver)
    ]


def survey_device(device: Any) -> None:
    properties = zes_device_properties_t(stype=ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES)
    extension = zes_device_ext_properties_t(stype=ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES)
    properties.pNext = cast(pointer(extension), c_void_p)
    print(f"properties: {zesDeviceGetProperties(device, byref(properties)):#x}")
    for field in ("brandName", "modelName", "vendorName", "driverVersion", "numSubdevices"):
        print(f"  {field}: {getattr(properties, field)}")
    print(f"  {properties.core.name} {properties.core.type} {list(properties.core.uuid.id)}")
    print(f"  extension: {extension.type} {extension.flags} {list(extension.uuid.id)}")
    ask(zesDevicePciGetProperties, device, zes_pci_properties_t(ZES_STRUCTURE_TYPE_PCI_PROPERTIES))
    ask(zesDevicePciGetState, device, zes_pci_state_t(ZES_STRUCTURE_TYPE_PCI_STATE))
    ask(zesDevicePciGetStats, device, zes_pci_stats_t())
    ask(zesDeviceEccAvailable, device, ze_bool_t())
    ask(zesDeviceEccConfigurable, device, ze_bool_t())
    stype = ZES_STRUCTURE_TYPE_DEVICE_ECC_PROPERTIES
    ask(zesDeviceGetEccState, device, zes_device_ecc_properties_t(stype))
    all_of("processes", zesDeviceProcessesGetState, zes_process_state_t, device)


def survey_memory(device: Any) -> None:
    for module in all_of("memory", zesDeviceEnumMemoryModules, zes_mem_handle_t, device):
        ask(zesMemoryGetProperties, module, zes_mem_properties_t(ZES_STRUCTURE_TYPE_MEM_PROPERTIES))
        ask(zesMemoryGetState, module, zes_mem_state_t(ZES_STRUCTURE_TYPE_MEM_STATE))
        ask(zesMemoryGetBandwidth, module, zes_mem_bandwidth_t())


def survey_power(device: Any) -> None:
    for domain in all_of("power", zesDeviceEnumPowerDomains, zes_pwr_handle_t, device):
        limit = zes_power_limit_ext_desc_t(ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC)
        extension = zes_power_ext_properties_t(ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES)
        extension.defaultLimit = pointer(limit)
        properties = zes_power_properties_t(ZES_STRUCTURE_TYPE_POWER_PROPERTIES)
        properties.pNext = cast(pointer(extension), c_void_p)
        print(f"  properties: {zesPowerGetProperties(domain, byref(properties)):#x}")
        properties.pNext = None
        print(f"  {properties} {extension.domain} {limit}")
        ask(zesPowerGetEnergyCounter, domain, zes_power_energy_counter_t())
        for each in all_of("limits", zesPowerGetLimitsExt, zes_power_limit_ext_desc_t, domain):
            print(f"  {each}")


def survey_frequency(device: Any) -> None:
    for domain in all_of("frequency", zesDeviceEnumFrequencyDomains, zes_freq_handle_t, device):
        stype = ZES_STRUCTURE_TYPE_FREQ_PROPERTIES
        ask(zesFrequencyGetProperties, domain, zes_freq_properties_t(stype))
        ask(zesFrequencyGetState, domain, zes_freq_state_t(ZES_STRUCTURE_TYPE_FREQ_STATE))
        ask(zesFrequencyGetRange, domain, zes_freq_range_t())
        ask(zesFrequencyGetThrottleTime, domain, zes_freq_throttle_time_t())
        print("  clocks:", *all_of("clocks", zesFrequencyGetAvailableClocks, c_double, domain))


def survey_temperature(device: Any) -> None:
    for sensor in all_of("heat", zesDeviceEnumTemperatureSensors, zes_temp_handle_t, device):
        stype = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES
        ask(zesTemperatureGetProperties, sensor, zes_temp_properties_t(stype))
        ask(zesTemperatureGetConfig, sensor, zes_temp_config_t(ZES_STRUCTURE_TYPE_TEMP_CONFIG))
        ask(zesTemperatureGetState, sensor, c_double())


def survey_engines(device: Any) -> None:
    for engine in all_of("engines", zesDeviceEnumEngineGroups, zes_engine_handle_t, device):
        stype = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES
        ask(zesEngineGetProperties, engine, zes_engine_properties_t(stype))
        ask(zesEngineGetActivity, engine, zes_engine_stats_t())


for each in devices(sys.argv[1]):
    survey_device(each)
    survey_memory(each)
    survey_power(each)
    survey_frequency(each)
    survey_temperature(each)
    survey_engines(each)
