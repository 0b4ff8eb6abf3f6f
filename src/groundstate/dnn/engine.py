"""Engines: a device and a context that primitives are made for."""

from __future__ import annotations

import ctypes
from functools import cached_property

from groundstate import ze
from groundstate.core.api import Api
from groundstate.core.errors import LevelZeroError
from groundstate.dnn.errors import DnnError, invalid, require
from groundstate.dnn.programs import Programs
from groundstate.dnn.types import EngineKind, Status


class Engine:
    """A device and a context.

    >>> import groundstate.dnn as dnn
    >>> dnn.Engine.create().kind.name
    'gpu'
    """

    def __init__(self, api: Api, device: int, context: int, owner: object = None) -> None:
        """Uses a caller's handles; `owner` is kept as long as the engine, if they are ours."""
        self.api, self.device, self.context = api, device, context
        self.owner = owner
        self.kind = EngineKind.gpu
        self.programs = Programs(api, context, device)

    @property
    def driver(self) -> int:
        """The handle of the driver."""
        return self.api.driver

    @classmethod
    def create(cls, kind: int = EngineKind.gpu, index: int = 0) -> Engine:
        """The engine of the device of that number, with a context of its own."""
        from groundstate import core

        require(kind == EngineKind.gpu, "engines are of kind gpu here: they run on Level Zero")
        devices = core.devices()
        require(0 <= index < len(devices), f"there are {len(devices)} devices, no number {index}")
        context = core.Context(devices[index])
        return cls(context.api, devices[index].handle, context.handle, context)

    @classmethod
    def wrap(cls, api: Api, device: int, context: int) -> Engine:
        """The engine of a caller's objects, which stay the caller's."""
        require(bool(api.driver and device and context), "driver, device and context are needed")
        try:
            devices = api.handles("zeDeviceGet", api.driver)
            known = device in devices or any(
                device in api.handles("zeDeviceGetSubDevices", each) for each in devices
            )
            require(known, "the device is not one of that driver")
            api.call("zeContextGetStatus", context)
        except LevelZeroError as problem:
            invalid(f"driver, device or context cannot be used: {problem}")
        return cls(api, device, context)

    @staticmethod
    def count(kind: int = EngineKind.gpu) -> int:
        """How many engines of a kind can be made."""
        from groundstate import core

        return len(core.devices()) if kind == EngineKind.gpu else 0

    @cached_property
    def properties(self) -> ze.ze_device_properties_t:
        """What the device says of itself."""
        return self.api.struct(ze.ze_device_properties_t, "zeDeviceGetProperties", self.device)

    @cached_property
    def uses_system_memory(self) -> bool:
        """True if kernels can use memory that no driver allocated."""
        access = self.api.struct(
            ze.ze_device_memory_access_properties_t,
            "zeDeviceGetMemoryAccessProperties",
            self.device,
        )
        return bool(access.sharedSystemAllocCapabilities)

    @cached_property
    def max_group_size(self) -> int:
        """The most work-items of a group."""
        compute = self.api.struct(
            ze.ze_device_compute_properties_t, "zeDeviceGetComputeProperties", self.device
        )
        return int(compute.maxTotalGroupSize)

    def allocate(self, size_bytes: int) -> int:
        """Memory of the device; the address."""
        description = ze.ze_device_mem_alloc_desc_t()
        try:
            return self.api.create(
                "zeMemAllocDevice",
                self.context,
                ctypes.byref(description),
                max(1, size_bytes),
                64,
                self.device,
            )
        except LevelZeroError as problem:
            raise DnnError(Status.out_of_memory, f"no memory: {problem}") from problem

    def free(self, address: int) -> None:
        """Gives memory of the device back."""
        self.api.call("zeMemFree", self.context, address)

    def memory_type(self, address: int) -> int:
        """Of which kind the memory at an address is: a `ze_memory_type_t`."""
        properties = ze.ze_memory_allocation_properties_t()
        found = ctypes.c_void_p()
        self.api.call(
            "zeMemGetAllocProperties",
            self.context,
            address,
            ctypes.byref(properties),
            ctypes.byref(found),
        )
        return int(properties.type)

    def __repr__(self) -> str:
        name = self.properties.name.decode(errors="replace")
        return f"<Engine {self.kind.name} {name!r}>"
