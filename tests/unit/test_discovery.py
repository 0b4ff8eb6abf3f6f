"""What drivers and devices say of themselves, asked of the handlers without a native library."""

import ctypes
import importlib
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze, zer, zes, zet
from groundstate.driver import api, capabilities, device_memory, driver, image
from groundstate.driver import device as device_noun
from groundstate.driver.api import Failure
from groundstate.driver.extensions import advertised
from groundstate.driver.platform import Platform
from groundstate.driver.sysman.functions import NOUNS
from tests.unit.discovery import call, fake, listed, query, start, structs
from tests.unit.test_cpu import Tree, write_cache


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.fixture
def built(tree: Tree) -> Platform:
    return start(tree.root)


@pytest.fixture
def device(built: Platform) -> int:
    return built.devices[0].handle


def test_zeinit_takes_any_type_or_a_gpu(built: Platform) -> None:
    for flags in (0, ze.ZE_INIT_FLAG_GPU_ONLY, ze.ZE_INIT_FLAG_GPU_ONLY | ze.ZE_INIT_FLAG_VPU_ONLY):
        assert call("zeInit", int(flags)) is None


def test_zeinit_finds_no_vpu(built: Platform) -> None:
    with pytest.raises(Failure) as failed:
        call("zeInit", int(ze.ZE_INIT_FLAG_VPU_ONLY))
    assert failed.value.result == ze.ZE_RESULT_ERROR_UNINITIALIZED


def test_zeinit_finds_no_gpu_if_device_is_cpu(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_DEVICE_TYPE", "cpu")
    start(tree.root)
    assert call("zeInit", 0) is None
    with pytest.raises(Failure):
        call("zeInit", int(ze.ZE_INIT_FLAG_GPU_ONLY))


def drivers_of(flags: int) -> list[int]:
    description = ze.ze_init_driver_type_desc_t(flags=flags)
    count = ctypes.c_uint32(5)
    handles = (ctypes.c_void_p * 5)()
    call("zeInitDrivers", count, handles, description)
    return [handle for handle in handles[: count.value] if handle]


@pytest.mark.parametrize("flags", [1, 3, 0xFFFFFFFF])
def test_zeinitdrivers_reports_driver_of_its_type(built: Platform, flags: int) -> None:
    assert drivers_of(flags) == [built.driver]
    assert listed("zeDriverGet") == [built.driver]


@pytest.mark.parametrize("flags", [0, 2])
def test_zeinitdrivers_reports_no_other_types(built: Platform, flags: int) -> None:
    description = ze.ze_init_driver_type_desc_t(flags=flags)
    count = ctypes.c_uint32(5)
    with pytest.raises(Failure) as failed:
        call("zeInitDrivers", count, 0, description)
    assert failed.value.result == ze.ZE_RESULT_ERROR_UNINITIALIZED
    assert count.value == 0


def test_driver_properties_with_their_extensions(built: Platform) -> None:
    handles = ze.ze_driver_ddi_handles_ext_properties_t()
    policies = ze.ze_driver_memory_free_ext_properties_t()
    properties = query(
        "zeDriverGetProperties",
        ze.ze_driver_properties_t,
        built.driver,
        chained=[handles, policies],
    )
    assert bytes(properties.uuid.id) == driver.DRIVER_UUID
    assert properties.driverVersion == driver.driver_version() > 0
    assert handles.flags == ze.ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED
    assert policies.freePolicies == 3


def test_api_version_is_the_one_of_the_bindings(built: Platform) -> None:
    version = ctypes.c_uint32()
    call("zeDriverGetApiVersion", built.driver, version)
    assert version.value == ze.ZE_API_VERSION_CURRENT_M


def test_ipc_of_memory_and_event_pools(built: Platform) -> None:
    properties = query("zeDriverGetIpcProperties", ze.ze_driver_ipc_properties_t, built.driver)
    assert properties.flags == ze.ZE_IPC_PROPERTY_FLAG_MEMORY | ze.ZE_IPC_PROPERTY_FLAG_EVENT_POOL


def test_extensions_list_name_and_version(built: Platform) -> None:
    count = ctypes.c_uint32()
    call("zeDriverGetExtensionProperties", built.driver, count, 0)
    array = (ze.ze_driver_extension_properties_t * count.value)()
    call("zeDriverGetExtensionProperties", built.driver, count, array)
    reported = {entry.name.decode(): entry.version for entry in array}
    assert reported == {extension.name: extension.version for extension in advertised()}
    assert reported["ZE_extension_driver_ddi_handles"] == 0x10001


ONLY_FOR_KERNELS = {
    ze.ZE_SUBGROUPS_EXT_NAME,
    ze.ZE_BFLOAT16_CONVERSIONS_EXT_NAME,
    ze.ZE_LINKONCE_ODR_EXT_NAME,
}
"""Extensions that add something to SPIR-V and nothing to the API."""


def test_advertised_structs_and_functions_exist() -> None:
    for extension in advertised():
        has_parts = bool(extension.functions or extension.structs)
        assert has_parts != (extension.name in ONLY_FOR_KERNELS), extension.name
        for name in extension.structs:
            assert getattr(zet if name.startswith("zet_") else ze, name)._stype_
        for name in extension.functions:
            assert name in (zet if name.startswith("zet") else ze).NAMESPACE.functions


def test_function_addresses(built: Platform) -> None:
    address = ctypes.c_void_p()
    name = ctypes.create_string_buffer(b"zeInit")
    call("zeDriverGetExtensionFunctionAddress", built.driver, name, address)
    assert address.value == 0xF00
    name = ctypes.create_string_buffer(b"zexNoSuchFunction")
    with pytest.raises(Failure, match="zexNoSuchFunction") as failed:
        call("zeDriverGetExtensionFunctionAddress", built.driver, name, address)
    assert failed.value.result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert address.value is None


def test_device_properties_match_machine(device: int) -> None:
    properties = query("zeDeviceGetProperties", ze.ze_device_properties_t, device)
    assert properties.name == b"Groundstate CPU device: AMD EPYC 7763"
    assert properties.coreClockRate == 2445
    assert properties.maxMemAllocSize == 8 << 30
    assert properties.numEUsPerSubslice == 8
    assert properties.numSubslicesPerSlice == properties.numSlices == 1
    assert properties.numThreadsPerEU == 1
    assert properties.physicalEUSimdWidth == 8
    assert properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING
    assert not properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_ECC
    assert any(properties.uuid.id)


def test_ecc_memory_is_reported(tree: Tree) -> None:
    tree.write("sys/devices/system/edac/mc/mc0/ce_count", "0")
    handle = start(tree.root).devices[0].handle
    properties = query("zeDeviceGetProperties", ze.ze_device_properties_t, handle)
    assert properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_ECC


@pytest.mark.parametrize(
    ("stype", "resolution"),
    [
        (ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, 1),
        (ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2, 1_000_000_000),
    ],
)
def test_timer_resolution_follows_struct_unit(device: int, stype: int, resolution: int) -> None:
    count = ze.ze_eu_count_ext_t()
    properties = ze.ze_device_properties_t(stype=stype, pNext=ctypes.addressof(count))
    call("zeDeviceGetProperties", device, properties)
    assert properties.timerResolution == resolution
    assert properties.timestampValidBits == properties.kernelTimestampValidBits == 60
    assert properties.stype == stype
    assert count.numTotalEUs == 8


def test_an_uninitialised_struct_is_filled(device: int) -> None:
    properties = ze.ze_device_properties_t()
    ctypes.memset(ctypes.byref(properties), 0xA5, ctypes.sizeof(properties))
    call("zeDeviceGetProperties", device, properties)
    assert properties.stype == 0xA5A5A5A5
    assert properties.pNext == 0xA5A5A5A5A5A5A5A5
    assert properties.type == ze.ZE_DEVICE_TYPE_GPU
    assert properties.name.startswith(b"Groundstate")


TABLES = {
    "zeDriverGetProperties": (driver.DRIVER_EXTENSIONS, "ze_driver_properties_t"),
    "zeDeviceGetProperties": (device_noun.DEVICE_EXTENSIONS, "ze_device_properties_t"),
    "zeDeviceGetP2PProperties": (device_noun.PEER_EXTENSIONS, "ze_device_p2p_properties_t"),
    "zeDeviceGetComputeProperties": (
        capabilities.COMPUTE_EXTENSIONS,
        "ze_device_compute_properties_t",
    ),
    "zeDeviceGetModuleProperties": (
        capabilities.MODULE_EXTENSIONS,
        "ze_device_module_properties_t",
    ),
    "zeDeviceGetImageProperties": (image.IMAGE_EXTENSIONS, "ze_device_image_properties_t"),
    "zeDeviceGetCommandQueueGroupProperties": (
        capabilities.QUEUE_GROUP_EXTENSIONS,
        "ze_command_queue_group_properties_t",
    ),
    "zeDeviceGetMemoryProperties": (
        device_memory.MEMORY_EXTENSIONS,
        "ze_device_memory_properties_t",
    ),
    "zeDeviceGetCacheProperties": (
        device_memory.CACHE_EXTENSIONS,
        "ze_device_cache_properties_t",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_each_chained_struct_is_filled_exactly(tree: Tree, name: str) -> None:
    """Two runs over memory of different content agree: each byte of each field was written."""
    write_cache(tree, 0, level=1, type="Data", size="32K", shared_cpu_list="0")
    built = start(tree.root)
    handle = built.devices[0].handle
    table, own = TABLES[name]
    subject = [built.driver] if name.startswith("zeDriver") else [handle]
    subject *= 2 if "P2P" in name else 1
    assert table.fillers
    results = []
    for garbage in (0x00, 0xFF):
        chained = [structure() for structure, _ in table.fillers.values()]
        for each in chained:
            ctypes.memset(ctypes.addressof(each) + 16, garbage, ctypes.sizeof(each) - 16)
        properties = getattr(ze, own)()
        last = properties
        for each in chained:
            last.pNext = ctypes.addressof(each)
            last = each
        count = [ctypes.c_uint32(1)] if "Count" in ze.NAMESPACE.functions[name] else []
        call(name, *subject, *count, properties)
        results.append([_values(each) for each in chained])
        assert [each.stype for each in chained] == list(table.fillers)
    assert results[0] == results[1]


def test_no_luid_outside_windows(device: int) -> None:
    luid = ze.ze_device_luid_ext_properties_t()
    query("zeDeviceGetProperties", ze.ze_device_properties_t, device, chained=[luid])
    assert not any(luid.luid.id)
    assert luid.nodeMask == 1


def _values(struct: Any) -> dict[str, Any]:
    """The fields of a struct, nested ones as bytes; padding between them is nobody's."""
    values = {name: getattr(struct, name) for name, _ in struct._fields_[2:]}
    return {
        name: bytes(value) if isinstance(value, ctypes.Structure) else value
        for name, value in values.items()
    }


def test_usable_memory_is_what_is_left(built: Platform, device: int) -> None:
    usable = ze.ze_device_usablemem_size_ext_properties_t()
    query("zeDeviceGetProperties", ze.ze_device_properties_t, device, chained=[usable])
    assert usable.currUsableMemSize == 4 << 30
    fake(built).used[device] = 7 << 30
    query("zeDeviceGetProperties", ze.ze_device_properties_t, device, chained=[usable])
    assert usable.currUsableMemSize == 1 << 30


def test_compute_properties(tree: Tree, device: int) -> None:
    compute = query("zeDeviceGetComputeProperties", ze.ze_device_compute_properties_t, device)
    assert compute.maxTotalGroupSize == 1024
    assert compute.maxGroupCountX == 2**32 - 1
    assert compute.maxSharedLocalMemory == 64 << 10
    assert list(compute.subGroupSizes[: compute.numSubGroupSizes]) == [8, 16, 32]
    write_cache(tree, 0, level=2, type="Unified", size="2048K", shared_cpu_list="0")
    larger = start(tree.root).devices[0].handle
    compute = query("zeDeviceGetComputeProperties", ze.ze_device_compute_properties_t, larger)
    assert compute.maxSharedLocalMemory == 1 << 20


def test_module_properties(device: int) -> None:
    atomics = ze.ze_float_atomic_ext_properties_t()
    module = query(
        "zeDeviceGetModuleProperties",
        ze.ze_device_module_properties_t,
        device,
        chained=[atomics],
    )
    assert module.spirvVersionSupported == ze.ZE_MAKE_VERSION(1, 4)
    assert module.flags & ze.ZE_DEVICE_MODULE_FLAG_FP64
    assert module.fp16flags & ze.ZE_DEVICE_FP_FLAG_SOFT_FLOAT
    assert not module.fp16flags & ze.ZE_DEVICE_FP_FLAG_FMA
    assert module.fp32flags & ze.ZE_DEVICE_FP_FLAG_FMA
    assert any(module.nativeKernelSupported.id)
    assert atomics.fp32Flags == atomics.fp64Flags == 0x70007
    assert atomics.fp16Flags == 0x10001


def test_queue_groups_compute_first_then_copy(device: int) -> None:
    groups = structs(
        "zeDeviceGetCommandQueueGroupProperties", ze.ze_command_queue_group_properties_t, device
    )
    assert [group.flags for group in groups] == [7, 2]
    assert {group.numQueues for group in groups} == {8}
    assert [group.maxMemoryFillPatternSize for group in groups] == [(1 << 64) - 1, 16]


def test_one_memory(device: int) -> None:
    (memory,) = structs("zeDeviceGetMemoryProperties", ze.ze_device_memory_properties_t, device)
    assert memory.totalSize == 8 << 30
    assert memory.name == b"system memory"


def test_everything_may_be_done_to_all_memory(device: int) -> None:
    name = "zeDeviceGetMemoryAccessProperties"
    access = query(name, ze.ze_device_memory_access_properties_t, device)
    assert {getattr(access, field) for field, _ in access._fields_[2:]} == {0xF}


def test_caches_with_line_sizes(tree: Tree) -> None:
    line: dict[str, object] = {"coherency_line_size": 64}
    write_cache(tree, 0, level=1, type="Data", size="32K", shared_cpu_list="0", **line)
    write_cache(tree, 1, level=3, type="Unified", size="16M", shared_cpu_list="0-7", **line)
    handle = start(tree.root).devices[0].handle
    lines = ze.ze_device_cache_line_size_ext_t()
    count = ctypes.c_uint32(2)
    array = ze.ze_device_cache_properties_t.array(2)
    array[0].pNext = ctypes.addressof(lines)
    call("zeDeviceGetCacheProperties", handle, count, array)
    assert [entry.cacheSize for entry in array] == [16 << 20, 32 << 10]
    assert lines.cacheLineSize == 64


def test_limits_of_images(device: int) -> None:
    images = query("zeDeviceGetImageProperties", ze.ze_device_image_properties_t, device)
    assert images.maxImageDims1D == images.maxImageDims2D == 32768
    assert images.maxImageDims3D == images.maxImageArraySlices == 4096
    assert images.maxReadImageArgs == images.maxWriteImageArgs == images.maxSamplers == 256
    assert 0 < images.maxImageBufferSize <= 1 << 31


def test_external_memory_as_file_descriptors(device: int) -> None:
    name = "zeDeviceGetExternalMemoryProperties"
    external = query(name, ze.ze_device_external_memory_properties_t, device)
    assert external.memoryAllocationImportTypes == external.memoryAllocationExportTypes == 3
    assert external.imageImportTypes == external.imageExportTypes == 3


def test_vector_widths_follow_the_registers(device: int) -> None:
    (widths,) = structs(
        "zeDeviceGetVectorWidthPropertiesExt", ze.ze_device_vector_width_properties_ext_t, device
    )
    assert widths.vector_width_size == 32
    assert widths.native_vector_width_char == 32
    assert widths.native_vector_width_float == 8
    assert widths.native_vector_width_double == 4
    assert widths.preferred_vector_width_float == 1


def test_all_devices_are_peers(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    built = start(tree.root)
    for one in built.by_handle:
        for other in built.by_handle:
            value = ctypes.c_uint8()
            call("zeDeviceCanAccessPeer", one, other, value)
            assert value.value == 1
            peers = query("zeDeviceGetP2PProperties", ze.ze_device_p2p_properties_t, one, other)
            assert peers.flags == 3


def test_pci_speed_is_not_known(device: int) -> None:
    pci = query("zeDevicePciGetPropertiesExt", ze.ze_pci_ext_properties_t, device)
    assert (pci.address.domain, pci.address.bus) == (0xFFFF, 0)
    speed = pci.maxSpeed
    assert (speed.genVersion, speed.width, speed.maxBandwidth) == (-1, -1, -1)


def test_counter_values(device: int) -> None:
    increment, largest = ctypes.c_uint32(), ctypes.c_uint64()
    call("zeDeviceGetAggregatedCopyOffloadIncrementValue", device, increment)
    call("zeDeviceGetCounterBasedEventMaxValue", device, largest)
    assert increment.value == 1
    assert largest.value == 2**42 - 1


def test_fabric_has_a_vertex_for_each_device(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    built = start(tree.root)
    vertices = listed("zeFabricVertexGetExp", built.driver)
    assert len(vertices) == 2
    for vertex, device in zip(vertices, built.devices, strict=True):
        handle = ctypes.c_void_p()
        call("zeFabricVertexGetDeviceExp", vertex, handle)
        assert handle.value == device.handle
        call("zeDeviceGetFabricVertexExp", device.handle, handle)
        assert handle.value == vertex
        name = "zeFabricVertexGetPropertiesExp"
        properties = query(name, ze.ze_fabric_vertex_exp_properties_t, vertex)
        assert bytes(properties.uuid.id) == device.uuid
        assert properties.type == ze.ZE_FABRIC_VERTEX_EXP_TYPE_DEVICE
        assert not properties.remote
        subs = listed("zeFabricVertexGetSubVerticesExp", vertex)
        assert subs == [sub.vertex for sub in device.subdevices]
        for sub in subs:
            properties = query(name, ze.ze_fabric_vertex_exp_properties_t, sub)
            assert properties.type == ze.ZE_FABRIC_VERTEX_EXP_TYPE_SUBDEVICE


def test_devices_by_number(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    built = start(tree.root)
    numbers = {
        handle: call("zerTranslateDeviceHandleToIdentifier", handle) for handle in built.by_handle
    }
    assert set(numbers.values()) == set(range(6))
    assert [numbers[device.handle] for device in built.devices] == [0, 1]
    for handle, number in numbers.items():
        assert call("zerTranslateIdentifierToDeviceHandle", number) == handle
    with pytest.raises(Failure, match="numbered from 0 to 5"):
        call("zerTranslateIdentifierToDeviceHandle", 6)


def test_runtime_requirements_of_nothing(device: int) -> None:
    key = ctypes.c_char_p()
    call("zeDeviceGetRuntimeRequirementsKey", device, key)
    assert key.value == b"GROUNDSTATE.L0.CPU"
    output = ze.ze_validate_runtime_requirements_output_t(result=99)
    text = ctypes.create_string_buffer(b"anything")
    call("zeDeviceValidateRuntimeRequirements", device, text, output)
    assert output.result == ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_NOT_APPLICABLE
    size = ctypes.c_size_t()
    description = ze.ze_context_desc_t()
    with pytest.raises(Failure) as failed:
        call("zeDeviceGetRuntimeRequirements", device, description, size, 0)
    assert failed.value.result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_handlers_take_registry_arguments() -> None:
    for noun in set(NOUNS.values()):
        importlib.import_module(f"groundstate.driver.sysman.{noun}")
    namespaces = (each.NAMESPACE for each in (ze, zer, zes, zet))
    declarations = {name: text for each in namespaces for name, text in each.functions.items()}
    for name, function in api.HANDLERS.items():
        declaration = declarations[name].partition(" -> ")[0]
        assert function.__code__.co_argcount == len([p for p in declaration.split(", ") if p]), name
