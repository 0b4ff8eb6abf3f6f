"""The device through its C interface: every properties function."""

import ctypes
import os
from typing import Any

import pytest

from groundstate import ze
from tests.conftest import check


def query(name: str, structure: Any, *arguments: int) -> Any:
    properties = structure()
    check(getattr(ze, name)(*arguments, ctypes.byref(properties)))
    return properties


def queries(name: str, structure: Any, device: int) -> Any:
    """An array of structs, asked for in the usual two calls."""
    count = ctypes.c_uint32()
    check(getattr(ze, name)(device, ctypes.byref(count), None))
    array = structure.array(count.value)
    check(getattr(ze, name)(device, ctypes.byref(count), array))
    assert len(array) == count.value
    return array


def test_the_same_device_is_reported_every_time(driver: int, device: int) -> None:
    count = ctypes.c_uint32()
    check(ze.zeDeviceGet(driver, ctypes.byref(count), None))
    assert count.value == 1
    handles = (ctypes.c_void_p * 3)()
    count.value = 3
    check(ze.zeDeviceGet(driver, ctypes.byref(count), handles))
    assert count.value == 1
    assert list(handles) == [device, None, None]


def test_a_root_device_has_no_root_device(device: int) -> None:
    root = ctypes.c_void_p(1)
    check(ze.zeDeviceGetRootDevice(device, ctypes.byref(root)))
    assert root.value is None


def test_no_topology_means_no_sub_devices(device: int) -> None:
    count = ctypes.c_uint32(7)
    handles = (ctypes.c_void_p * 7)()
    check(ze.zeDeviceGetSubDevices(device, ctypes.byref(count), handles))
    assert count.value == 0
    assert not any(handles)


def test_identity(device: int) -> None:
    properties = query("zeDeviceGetProperties", ze.ze_device_properties_t, device)
    assert properties.type == ze.ZE_DEVICE_TYPE_GPU
    assert properties.name.startswith(b"Groundstate CPU device: ")
    assert any(properties.uuid.id)
    assert properties.numEUsPerSubslice <= (os.cpu_count() or 1)
    assert properties.timerResolution == 1


def test_timer_resolution_of_the_newer_struct(device: int) -> None:
    properties = ze.ze_device_properties_t(stype=ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2)
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    assert properties.timerResolution == 1_000_000_000


def test_uninitialised_struct_fills_without_chain(device: int) -> None:
    properties = ze.ze_device_properties_t()
    ctypes.memset(ctypes.byref(properties), 0x5A, ctypes.sizeof(properties))
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    assert properties.type == ze.ZE_DEVICE_TYPE_GPU
    assert properties.pNext == 0x5A5A5A5A5A5A5A5A


def test_chained_structs_known_and_unknown(device: int) -> None:
    usable = ze.ze_device_usablemem_size_ext_properties_t()
    unknown = ze.ze_base_properties_t(stype=0x7FFF0000, pNext=ctypes.addressof(usable))
    count = ze.ze_eu_count_ext_t(pNext=ctypes.addressof(unknown))
    properties = ze.ze_device_properties_t(pNext=ctypes.addressof(count))
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    assert count.numTotalEUs == properties.numEUsPerSubslice
    assert 0 < usable.currUsableMemSize <= properties.maxMemAllocSize
    assert unknown.stype == 0x7FFF0000


def test_a_chain_that_loops_ends(device: int) -> None:
    count = ze.ze_eu_count_ext_t()
    count.pNext = ctypes.addressof(count)
    properties = ze.ze_device_properties_t(pNext=ctypes.addressof(count))
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    assert count.numTotalEUs == properties.numEUsPerSubslice


def test_compute_properties(device: int) -> None:
    compute = query("zeDeviceGetComputeProperties", ze.ze_device_compute_properties_t, device)
    assert compute.maxTotalGroupSize == 1024
    assert compute.maxSharedLocalMemory >= 64 << 10
    assert list(compute.subGroupSizes[: compute.numSubGroupSizes]) == [8, 16, 32]


def test_module_properties(device: int) -> None:
    module = query("zeDeviceGetModuleProperties", ze.ze_device_module_properties_t, device)
    assert module.spirvVersionSupported == ze.ZE_MAKE_VERSION(1, 4)
    assert module.flags & ze.ZE_DEVICE_MODULE_FLAG_FP64


def test_queue_groups_can_be_used(device: int, context: int) -> None:
    structure = ze.ze_command_queue_group_properties_t
    groups = queries("zeDeviceGetCommandQueueGroupProperties", structure, device)
    assert [group.flags for group in groups] == [7, 2]
    for ordinal, group in enumerate(groups):
        for index in (0, group.numQueues - 1):
            assert create_queue(context, device, ordinal, index) == ze.ZE_RESULT_SUCCESS
        beyond = create_queue(context, device, ordinal, group.numQueues)
        assert beyond != ze.ZE_RESULT_SUCCESS
    assert create_queue(context, device, len(groups), 0) != ze.ZE_RESULT_SUCCESS


def create_queue(context: int, device: int, ordinal: int, index: int) -> int:
    """Creates and destroys a queue; the result of creating it."""
    description = ze.ze_command_queue_desc_t(ordinal=ordinal, index=index)
    queue = ctypes.c_void_p()
    result: int = ze.zeCommandQueueCreate(
        context, device, ctypes.byref(description), ctypes.byref(queue)
    )
    if result == ze.ZE_RESULT_SUCCESS:
        check(ze.zeCommandQueueDestroy(queue))
    return result


def test_one_memory(device: int) -> None:
    structure = ze.ze_device_memory_properties_t
    (memory,) = queries("zeDeviceGetMemoryProperties", structure, device)
    properties = query("zeDeviceGetProperties", ze.ze_device_properties_t, device)
    assert memory.totalSize == properties.maxMemAllocSize
    assert memory.name


def test_usable_memory_shrinks_with_an_allocation(device: int, context: int) -> None:
    size = 64 << 20
    usable = ze.ze_device_usablemem_size_ext_properties_t()
    properties = ze.ze_device_properties_t(pNext=ctypes.addressof(usable))
    pointer = ctypes.c_void_p()
    description = ze.ze_device_mem_alloc_desc_t()
    check(
        ze.zeMemAllocDevice(
            context, ctypes.byref(description), size, 64, device, ctypes.byref(pointer)
        )
    )
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    assert 0 < usable.currUsableMemSize <= properties.maxMemAllocSize - size
    check(ze.zeMemFree(context, pointer))


def test_memory_access_properties(device: int) -> None:
    name, structure = "zeDeviceGetMemoryAccessProperties", ze.ze_device_memory_access_properties_t
    access = query(name, structure, device)
    assert access.hostAllocCapabilities == access.sharedSystemAllocCapabilities == 0xF


def test_memory_of_the_system_need_not_be_offered(
    device: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_SYSTEM_MEMORY", "0")
    name, structure = "zeDeviceGetMemoryAccessProperties", ze.ze_device_memory_access_properties_t
    access = query(name, structure, device)
    assert (access.hostAllocCapabilities, access.sharedSystemAllocCapabilities) == (0xF, 0)


def test_caches_from_the_last_level_down(device: int) -> None:
    caches = queries("zeDeviceGetCacheProperties", ze.ze_device_cache_properties_t, device)
    sizes = [cache.cacheSize for cache in caches]
    assert sizes == sorted(sizes, reverse=True)


def test_external_memory(device: int) -> None:
    name = "zeDeviceGetExternalMemoryProperties"
    external = query(name, ze.ze_device_external_memory_properties_t, device)
    assert external.memoryAllocationExportTypes & ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
    assert external.imageExportTypes & ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD


def test_a_device_is_its_own_peer(device: int) -> None:
    value = ctypes.c_uint8()
    check(ze.zeDeviceCanAccessPeer(device, device, ctypes.byref(value)))
    assert value.value == 1
    peers = query("zeDeviceGetP2PProperties", ze.ze_device_p2p_properties_t, device, device)
    assert peers.flags == 3


def test_status(device: int) -> None:
    assert ze.zeDeviceGetStatus(device) == ze.ZE_RESULT_SUCCESS


def test_host_and_device_timestamps_tick_together(device: int) -> None:
    def both() -> tuple[int, int]:
        host, ticks = ctypes.c_uint64(), ctypes.c_uint64()
        check(ze.zeDeviceGetGlobalTimestamps(device, ctypes.byref(host), ctypes.byref(ticks)))
        return host.value, ticks.value

    first, second = both(), both()
    assert second[0] > first[0]
    assert second[1] >= first[1]


def test_pci_address(device: int) -> None:
    pci = query("zeDevicePciGetPropertiesExt", ze.ze_pci_ext_properties_t, device)
    assert pci.address.domain == 0xFFFF
    assert pci.maxSpeed.maxBandwidth == -1


def test_vector_widths(device: int) -> None:
    structure = ze.ze_device_vector_width_properties_ext_t
    (widths,) = queries("zeDeviceGetVectorWidthPropertiesExt", structure, device)
    assert widths.vector_width_size in (16, 32, 64)
    assert widths.native_vector_width_float * 4 == widths.vector_width_size


def test_fabric(driver: int, device: int) -> None:
    count, vertex, found = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
    check(ze.zeFabricVertexGetExp(driver, ctypes.byref(count), ctypes.byref(vertex)))
    check(ze.zeFabricVertexGetDeviceExp(vertex, ctypes.byref(found)))
    assert found.value == device
    check(ze.zeDeviceGetFabricVertexExp(device, ctypes.byref(found)))
    assert found.value == vertex.value
    assert vertex.value is not None
    structure = ze.ze_fabric_vertex_exp_properties_t
    properties = query("zeFabricVertexGetPropertiesExp", structure, vertex.value)
    assert properties.type == ze.ZE_FABRIC_VERTEX_EXP_TYPE_DEVICE
    check(ze.zeFabricEdgeGetExp(vertex, vertex, ctypes.byref(count), None))
    assert count.value == 0


def test_what_a_cpu_cannot_do_is_unsupported(device: int) -> None:
    assert ze.zeDeviceReserveCacheExt(device, 0, 4096) == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


@pytest.mark.parametrize("handle", [None, 1, 0xDEADBEEF, 2**64 - 8])
def test_handles_that_are_none_are_refused(device: int, handle: int | None) -> None:
    properties = ze.ze_device_properties_t()
    result = ze.zeDeviceGetProperties(handle, ctypes.byref(properties))
    assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


def test_a_driver_is_no_device(driver: int) -> None:
    assert ze.zeDeviceGetStatus(driver) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


def test_null_pointers_are_refused(device: int) -> None:
    null = ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert ze.zeDeviceGetProperties(device, None) == null
    assert ze.zeDeviceGetComputeProperties(device, None) == null
    assert ze.zeDeviceGetMemoryProperties(device, None, None) == null
    assert ze.zeDeviceGetRootDevice(device, None) == null
