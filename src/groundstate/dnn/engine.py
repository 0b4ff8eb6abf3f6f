"""Engines: a device and a context that primitives are made for."""

from __future__ import annotations

import ctypes
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from groundstate import ze
from groundstate.core.api import Api
from groundstate.core.errors import LevelZeroError
from groundstate.dnn import level_zero, native
from groundstate.dnn.errors import DnnError, invalid, require
from groundstate.dnn.programs import Programs
from groundstate.dnn.types import EngineKind, Status
from groundstate.extras import PRODUCT_FLAGS, Products

if TYPE_CHECKING:
    from groundstate.core.context import Context
    from groundstate.core.device import Device


class Engine:
    """A device and a context.

    >>> import groundstate.dnn as dnn
    >>> dnn.Engine.create().kind.name
    'gpu'
    """

    def __init__(self, api: Api, device: int, context: int, *, owned: bool = False) -> None:
        """Uses a caller's handles, which stay the caller's unless the context is `owned`."""
        self.api, self.device, self.context = api, device, context
        self.kind = EngineKind.gpu
        self.programs = Programs(api, context, device)
        self._keeps: object = None
        path = api.library.path
        made = native.library().gs_engine_new(path.encode(), context, owned, device)
        if not made:
            raise DnnError(Status.runtime_error, f"{path} lacks functions of Level Zero 1.8")
        self.native: int = made

    @property
    def driver(self) -> int:
        """The handle of the driver."""
        return self.api.driver

    @classmethod
    def create(cls, kind: int = EngineKind.gpu, index: int = 0) -> Engine:
        """The engine of the device of that number, with a context of its own."""
        require(kind == EngineKind.gpu, "engines are of kind gpu here: they run on Level Zero")
        found = level_zero.devices()
        require(0 <= index < len(found), f"there are {len(found)} devices, no number {index}")
        api, device = found[index]
        description = ze.ze_context_desc_t()
        context = api.create("zeContextCreate", api.driver, ctypes.byref(description))
        try:
            return cls(api, device, context, owned=True)
        except DnnError:
            api.raw("zeContextDestroy", context)
            raise

    @classmethod
    def of(cls, context: Context, device: Device | None = None) -> Engine:
        """The engine of objects of `groundstate`; the context is kept as long as the engine."""
        made = cls(context.api, context.choose_device(device).handle, context.handle)
        made._keeps = context.resource
        return made

    @classmethod
    def wrap(cls, driver: int, device: int, context: int) -> Engine:
        """The engine of a caller's objects, which stay the caller's."""
        require(bool(driver and device and context), "driver, device and context are needed")
        api = level_zero.api_of(driver)
        if api is None:
            invalid("no Level Zero library of this process knows that driver")
        try:
            devices = api.handles("zeDeviceGet", driver)
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
        return len(level_zero.devices()) if kind == EngineKind.gpu else 0

    def __del__(self) -> None:
        if sys.is_finalizing() or not getattr(self, "native", 0):
            return
        self.programs.close()
        native.library().gs_engine_drop(self.native)

    @cached_property
    def properties(self) -> ze.ze_device_properties_t:
        """What the device says of itself."""
        return self.api.struct(ze.ze_device_properties_t, "zeDeviceGetProperties", self.device)

    @cached_property
    def dots(self) -> frozenset[str]:
        """The kinds of packed numbers whose products the device adds up in one instruction."""
        products = Products()
        module = ze.ze_device_module_properties_t(pNext=ctypes.addressof(products))
        self.api.call("zeDeviceGetModuleProperties", self.device, ctypes.byref(module))
        found = {name for name, flag in PRODUCT_FLAGS.items() if products.flags & flag}
        if module.flags & ze.ZE_DEVICE_MODULE_FLAG_DP4A:
            found.add("u8s8")
        return frozenset(found)

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

    @property
    def name(self) -> str:
        """What the device is called."""
        return self.properties.name.decode(errors="replace")

    def __repr__(self) -> str:
        return f"<Engine {self.kind.name} {self.name!r}>"
