"""The object layer: drivers, devices, contexts, memory, command lists, events.

A noun of the Level Zero programming guide is a file of that name here. What is listed below is for
users, who find it in `groundstate` itself.
"""

from groundstate.core.command_list import (
    CommandList,
)
from groundstate.core.command_queue import (
    CommandQueue,
    Fence,
)
from groundstate.core.commands import (
    Region,
)
from groundstate.core.context import (
    Context,
)
from groundstate.core.default_context import (
    array,
    default_context,
)
from groundstate.core.device import (
    Device,
    Timer,
)
from groundstate.core.driver import (
    Driver,
    devices,
    drivers,
    sysman_devices,
)
from groundstate.core.enums import (
    Access,
    AddressMode,
    Advice,
    BandwidthUnit,
    CacheConfig,
    CacheFlag,
    DeviceFlag,
    DeviceType,
    EventScope,
    ExternalMemoryType,
    FabricDuplexity,
    FabricVertexType,
    FilterMode,
    FloatFlag,
    IndirectAccess,
    IpcFlag,
    LatencyUnit,
    MemoryAccess,
    MemoryFlag,
    MemoryType,
    ModuleFlag,
    PeerFlag,
    QueueGroupFlag,
    QueueMode,
    QueuePriority,
)
from groundstate.core.errors import (
    LevelZeroError,
)
from groundstate.core.event import (
    Event,
    EventPool,
    Timestamps,
)
from groundstate.core.fabric import (
    FabricEdge,
    FabricVertex,
)
from groundstate.core.graph import (
    ExecutableGraph,
    Graph,
)
from groundstate.core.image import (
    Image,
    ImageMemory,
)
from groundstate.core.image_format import (
    ImageFormat,
)
from groundstate.core.kernel import (
    Kernel,
    KernelProperties,
)
from groundstate.core.kernel_arguments import (
    Argument,
    Local,
)
from groundstate.core.memory import (
    AllocationProperties,
    Memory,
)
from groundstate.core.module import (
    Module,
)
from groundstate.core.mutable_command import (
    MutableCommand,
)
from groundstate.core.properties import (
    CacheProperties,
    ComputeProperties,
    DeviceProperties,
    ExternalMemoryProperties,
    FabricEdgeProperties,
    FabricVertexProperties,
    ImageProperties,
    MemoryAccessProperties,
    MemoryProperties,
    ModuleProperties,
    PciAddress,
    PeerProperties,
    PeerSpeed,
    QueueGroup,
)
from groundstate.core.sampler import (
    Sampler,
)
from groundstate.core.semaphore import (
    ExternalSemaphore,
)
from groundstate.core.virtual_memory import (
    PhysicalMemory,
    VirtualMemory,
)

__all__ = [
    "Access",
    "AddressMode",
    "Advice",
    "AllocationProperties",
    "Argument",
    "BandwidthUnit",
    "CacheConfig",
    "CacheFlag",
    "CacheProperties",
    "CommandList",
    "CommandQueue",
    "ComputeProperties",
    "Context",
    "Device",
    "DeviceFlag",
    "DeviceProperties",
    "DeviceType",
    "Driver",
    "Event",
    "EventPool",
    "EventScope",
    "ExecutableGraph",
    "ExternalMemoryProperties",
    "ExternalMemoryType",
    "ExternalSemaphore",
    "FabricDuplexity",
    "FabricEdge",
    "FabricEdgeProperties",
    "FabricVertex",
    "FabricVertexProperties",
    "FabricVertexType",
    "Fence",
    "FilterMode",
    "FloatFlag",
    "Graph",
    "Image",
    "ImageFormat",
    "ImageMemory",
    "ImageProperties",
    "IndirectAccess",
    "IpcFlag",
    "Kernel",
    "KernelProperties",
    "LatencyUnit",
    "LevelZeroError",
    "Local",
    "Memory",
    "MemoryAccess",
    "MemoryAccessProperties",
    "MemoryFlag",
    "MemoryProperties",
    "MemoryType",
    "Module",
    "ModuleFlag",
    "ModuleProperties",
    "MutableCommand",
    "PciAddress",
    "PeerFlag",
    "PeerProperties",
    "PeerSpeed",
    "PhysicalMemory",
    "QueueGroup",
    "QueueGroupFlag",
    "QueueMode",
    "QueuePriority",
    "Region",
    "Sampler",
    "Timer",
    "Timestamps",
    "VirtualMemory",
    "array",
    "default_context",
    "devices",
    "drivers",
    "sysman_devices",
]
