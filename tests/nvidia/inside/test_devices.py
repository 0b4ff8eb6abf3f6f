"""What a GPU says of itself: the stand-in has the numbers of an H200."""

from __future__ import annotations

import ctypes

import groundstate as gs
from groundstate import ze


def test_gpu_comes_after_the_cpu(cpu: gs.Device, gpu: gs.Device) -> None:
    assert [device.name for device in gs.devices()] == [cpu.name, "Stand-in GPU 0"]
    assert gpu.properties.vendor_id == 0x10DE
    assert gpu.properties.type == gs.DeviceType.GPU


def test_gpu_has_the_uuid_of_cuda(gpu: gs.Device) -> None:
    assert gpu.uuid.bytes == b"stand-in for gp0"


def test_gpu_is_at_its_pci_address(gpu: gs.Device) -> None:
    found = ze.ze_pci_ext_properties_t()
    assert ze.zeDevicePciGetPropertiesExt(gpu.handle, ctypes.byref(found)) == 0
    address = found.address
    assert (address.domain, address.bus, address.device, address.function) == (0, 6, 0, 0)


def test_compute_properties_are_the_gpus(gpu: gs.Device) -> None:
    found = ze.ze_device_compute_properties_t()
    assert ze.zeDeviceGetComputeProperties(gpu.handle, ctypes.byref(found)) == 0
    assert found.maxTotalGroupSize == 1024
    assert found.maxGroupSizeZ == 64
    assert found.maxGroupCountY == 65535
    assert found.maxSharedLocalMemory == 232448
    assert list(found.subGroupSizes)[:3] == [8, 16, 32]


def test_shape_is_that_of_multiprocessors(gpu: gs.Device) -> None:
    found = ze.ze_device_properties_t()
    assert ze.zeDeviceGetProperties(gpu.handle, ctypes.byref(found)) == 0
    assert found.numSubslicesPerSlice == 132
    assert found.numThreadsPerEU * found.numEUsPerSubslice * found.physicalEUSimdWidth == 2048
    assert found.coreClockRate == 1980


def test_memory_properties_are_the_gpus(gpu: gs.Device) -> None:
    (memory,) = gpu.memories
    assert memory.total_bytes == 1 << 30
    assert memory.max_bus_width_bits == 6144


def test_devices_do_not_reach_each_other(cpu: gs.Device, gpu: gs.Device) -> None:
    answer = ctypes.c_uint8(7)
    for one, other, expected in ((cpu, gpu, 0), (gpu, cpu, 0), (gpu, gpu, 1), (cpu, cpu, 1)):
        result = ze.zeDeviceCanAccessPeer(one.handle, other.handle, ctypes.byref(answer))
        assert (result, answer.value) == (0, expected)


def test_gpu_has_images_of_the_cpus_extents(cpu: gs.Device, gpu: gs.Device) -> None:
    assert gpu.image_properties.max_dims_2d == cpu.image_properties.max_dims_2d > 0
