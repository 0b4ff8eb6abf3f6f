"""The drivers and devices that exist in this process, built once when the driver starts.

`Platform` makes them from the machine and the knobs; every handle comes from the native library,
which is an argument, so that tests can build a platform without one. Handlers look devices up by
handle here.
"""

from __future__ import annotations

from itertools import groupby

from groundstate import knobs, ze
from groundstate.driver import affinity, topology
from groundstate.driver.api import Handles
from groundstate.driver.devices import quirks
from groundstate.driver.devices.cpu import Machine
from groundstate.driver.topology import Part
from groundstate.light_functools import cached_property

TYPE_CHECKING = False  # type checkers take this for True; the import would cost as much as a start
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from groundstate.driver.devices.nvidia.gpu import Gpu
    from groundstate.driver.fabric import Edge
    from groundstate.driver.speed import Speed

    class Native(Protocol):
        """What discovery needs of the native library."""

        def driver_new(self) -> int: ...

        def device_new(
            self,
            driver: int,
            parent: int,
            worker_count: int,
            memory_bytes: int,
            queue_count: int,
        ) -> int: ...

        def device_confine(
            self, device: int, cpus: Sequence[int], nodes: Sequence[int]
        ) -> None: ...

        def device_place(
            self, device: int, first: int, count: int, cpus: Sequence[int]
        ) -> None: ...

        def memory_spread(self, nodes: Sequence[int]) -> None: ...

        def device_locate(self, device: int, path: Sequence[int]) -> None: ...

        def device_memory_used(self, device: int) -> int: ...

        def measure(self, device: int, peer: int, size: int) -> tuple[int, int, int, int]: ...

        def fabric_vertex_new(self, device: int) -> int: ...

        def fabric_edge_new(self) -> int: ...

        def function_address(self, name: str) -> int: ...

        def gpu_adopt(self, device: int, ordinal: int) -> None: ...


PCI_DOMAIN = 0xFFFF
"""A CPU has no PCI address. Devices are told apart by one in a domain where no bus is."""

_GPU, _CPU = map(ze.NAMESPACE.number, ("ZE_DEVICE_TYPE_GPU", "ZE_DEVICE_TYPE_CPU"))
DEVICE_TYPES = {"gpu": (_GPU,), "cpu": (_CPU,), "both": (_GPU, _CPU)}
"""As what the machine is reported, one time for each."""

MINIMUM_QUEUES = 4
"""Queues are threads, not hardware: a program may use several even on one core."""


GPU_QUEUES = 16
"""Of each group of a GPU. A queue is a stream, of which a GPU runs many at once."""


def queue_count(worker_count: int) -> int:
    """How many queues each group of a device has that so many CPUs work for."""
    return max(MINIMUM_QUEUES, worker_count)


class Device:
    """A device or a sub-device with its handle."""

    def __init__(
        self,
        handle: int,
        part: Part,
        cpus: tuple[int, ...],
        nodes: tuple[int, ...],
        platform: Platform,
        parent: Device | None,
        ordinal: int,
        gpu: Gpu | None = None,
    ) -> None:
        self.handle = handle
        self.gpu = gpu  # None: it is the CPU, or a part of it
        self.part = part
        self.cpus = cpus  # on which its workers run
        self.nodes = nodes  # of memory near them; none if all memory is
        self.platform = platform
        self.parent = parent
        self.subdevices: list[Device] = []
        self.ordinal = ordinal  # among the devices, or among the sub-devices of its parent
        self.vertex = platform.native.fabric_vertex_new(handle)

    @property
    def machine(self) -> Machine:
        return self.platform.machine

    @property
    def type(self) -> int:
        """What kind of device it says it is."""
        if self.gpu is not None:
            return _GPU
        return self.platform.device_types[self.part.path[0] // self.platform.part_count]

    @property
    def worker_count(self) -> int:
        """How many CPUs work for this device."""
        return len(self.part.workers)

    @property
    def queue_count(self) -> int:
        """How many queues each of its command queue groups has."""
        return queue_count(self.worker_count) if self.gpu is None else GPU_QUEUES

    @property
    def pci_address(self) -> tuple[int, int, int, int]:
        """Domain, bus, device and function. Sub-devices have the address of their device."""
        if self.gpu is not None:
            return self.gpu.pci_address
        return PCI_DOMAIN, self.part.path[0], 0, 0

    @cached_property
    def uuid(self) -> bytes:
        """16 bytes that stay the same for this part of this machine, whatever a mask hides."""
        if self.gpu is not None:
            return self.gpu.uuid
        machine = self.machine
        place = ".".join(str(ordinal) for ordinal in self.part.path)
        return identity("device", machine.machine_id, machine.model_name, place)


def identity(*words: str) -> bytes:
    """16 bytes that stand for some words and give none of them away."""
    from hashlib import sha256  # its import takes longer than the whole start of the driver

    return sha256("\0".join(("groundstate", *words)).encode()).digest()[:16]


class Platform:
    """One driver and its devices."""

    def __init__(self, native: Native, machine: Machine, gpus: Sequence[Gpu] = ()) -> None:
        self.native = native
        self._gpus = gpus
        self._gpu_at: dict[tuple[int, ...], Gpu] = {}
        """By their places, which come after those of the machine's parts."""
        self.machine = machine
        self.device_types = DEVICE_TYPES[knobs.DEVICE_TYPE.get()]
        vendor_id = knobs.VENDOR_ID.get()
        self.vendor_id = machine.pci_vendor_id if vendor_id is None else vendor_id
        device_id = knobs.DEVICE_ID.get()
        self.device_id = machine.signature if device_id is None else device_id
        self.hierarchy = knobs.FLAT_DEVICE_HIERARCHY.get()
        self.driver = native.driver_new()
        self.by_handle: Handles[Device] = Handles("ze_device_handle_t")
        self.by_vertex: Handles[Device] = Handles("ze_fabric_vertex_handle_t")
        self.by_edge: Handles[Edge] = Handles("ze_fabric_edge_handle_t")
        self.edges: dict[tuple[int, int], Edge] = {}
        """By the handles of their vertices; those that somebody asked for."""
        self.speeds: dict[object, Speed] = {}
        """What was measured, by CPUs and memory nodes."""
        self.devices: list[Device] = []
        self._roots: list[Part] = []
        self._cpus: Sequence[int] = ()
        self._worker_count = 1
        self._is_divided = False
        self.part_count = 1
        """Into how many devices the machine is divided. Each is reported once for each type."""
        self._create_devices()

    @property
    def ip_version(self) -> int:
        """The hardware version. A program may load what needs another one at any time."""
        chosen = knobs.IP_VERSION.get()
        return quirks.ip_version() if chosen is None else chosen

    def _create_devices(self) -> None:
        mask = affinity.parse(knobs.AFFINITY_MASK.get())
        roots = self._roots = self._divide_machine()
        if self.hierarchy == "COMPOSITE":
            roots = roots if mask is None else affinity.select(roots, mask)
            for root in roots:
                self.devices.append(self._create(root, None, len(self.devices)))
            return
        roots = roots if mask is None else affinity.select_leaves(roots, mask)
        if self.hierarchy == "FLAT":
            for leaf in (leaf for root in roots for leaf in root.leaves()):
                self.devices.append(self._create(leaf, None, len(self.devices)))
            return
        for root in roots:
            device = self._create(root, None, len(self.devices))
            self.devices.extend(device.subdevices or [device])

    def whole_devices(self) -> list[Device]:
        """The devices as they are without any mask, with all their sub-devices.

        System management lists those. Some may not exist yet, because the core does not list them.
        GPUs are not among them: NVIDIA's own library tells which there are.
        """
        known = {device.part.path: device for device in self.by_handle.values()}
        return [
            known.get(part.path) or self._create(part, None, ordinal)
            for ordinal, part in enumerate(self._roots)
            if part.path not in self._gpu_at
        ]

    def gpus(self) -> list[Device]:
        """The GPUs that the core lists."""
        return [device for device in self.by_handle.values() if device.gpu is not None]

    def _divide_machine(self) -> list[Part]:
        """The devices before any mask, in the order in which the driver reports them."""
        devices, subdevices = topology.configured()
        self._worker_count = knobs.THREADS.get() or self.machine.usable_cpu_count
        memory_bytes = knobs.MEMORY.get() or self.machine.memory_bytes
        self._is_divided = devices * max(1, subdevices) > 1
        machine = self.machine
        self._cpus = machine.cpus_by_place() if self._is_divided else machine.allowed_cpus
        parts = topology.divide(devices, subdevices, self._worker_count, memory_bytes)
        self.part_count = devices
        parts += [
            part.moved(devices * again)
            for again in range(1, len(self.device_types))
            for part in parts
        ]
        return self._with_gpus(parts)

    def _with_gpus(self, parts: list[Part]) -> list[Part]:
        """The GPUs behind the parts of the machine, before them, or in their place."""
        gpus = [
            Part((len(parts) + number,), (), gpu.memory_bytes)
            for number, gpu in enumerate(self._gpus)
        ]
        self._gpu_at = {part.path: gpu for part, gpu in zip(gpus, self._gpus, strict=True)}
        order = knobs.NVIDIA.get()
        parts = gpus if order == "only" else gpus + parts if order == "first" else parts + gpus
        if knobs.ENABLE_PCI_ID_DEVICE_ORDER.get():
            parts.sort(key=self._pci_order)
        return parts

    def _pci_order(self, part: Part) -> tuple[int, ...]:
        """The addresses of the CPU's parts follow from their places."""
        gpu = self._gpu_at.get(part.path)
        return (PCI_DOMAIN, *part.path) if gpu is None else gpu.pci_address

    def _create(self, part: Part, parent: Device | None, ordinal: int) -> Device:
        if part.path in self._gpu_at:
            return self._create_gpu(part, self._gpu_at[part.path], ordinal)
        above = 0 if parent is None else parent.handle
        workers, cpus = len(part.workers), self._cpus_of(part)
        handle = self.native.device_new(
            self.driver, above, workers, part.memory_bytes, queue_count(workers)
        )
        self.native.device_locate(handle, part.path)
        nodes: tuple[int, ...] = ()
        if self._is_divided:
            nodes = self.machine.nodes_near(cpus)
            self.native.device_confine(handle, cpus, nodes)
        elif self.machine.has_several_nodes or knobs.THREADS.get():
            self._place_workers(handle, workers)
        device = Device(handle, part, cpus, nodes, self, parent, ordinal)
        self.by_handle[handle] = device
        self.by_vertex[device.vertex] = device
        for index, each in enumerate(part.parts):
            device.subdevices.append(self._create(each, device, index))
        return device

    def _create_gpu(self, part: Part, gpu: Gpu, ordinal: int) -> Device:
        """One thread of the host works for a GPU, where something is left to the host."""
        handle = self.native.device_new(self.driver, 0, 1, gpu.memory_bytes, GPU_QUEUES)
        self.native.device_locate(handle, part.path)
        self.native.gpu_adopt(handle, gpu.ordinal)
        device = Device(handle, part, (), (), self, None, ordinal, gpu)
        self.by_handle[handle] = device
        self.by_vertex[device.vertex] = device
        return device

    def _place_workers(self, device: int, count: int) -> None:
        """Workers of a device that is the whole machine stay on one node each."""
        first = 0
        for cpus, workers in groupby(self.machine.places_of_workers(count)):
            number = len(list(workers))
            self.native.device_place(device, first, number, cpus)
            first += number
        if self.machine.has_several_nodes:
            self.native.memory_spread(self.machine.nodes)

    def _cpus_of(self, part: Part) -> tuple[int, ...]:
        """The CPUs of its workers. Each has its share of the CPUs, or shares one with neighbours.

        There are more CPUs than workers where a container may use only so much time of them.
        """
        count, workers = len(self._cpus), self._worker_count
        cpus: list[int] = []
        for worker in part.workers:
            start = worker * count // workers
            cpus += self._cpus[start : max(start + 1, (worker + 1) * count // workers)]
        return tuple(dict.fromkeys(cpus))


_current: list[Platform] = []


def install(platform: Platform) -> None:
    """Makes a platform the one that handlers answer for."""
    _current[:] = [platform]


def current() -> Platform:
    """The platform of this process."""
    return _current[0]


def device(handle: int) -> Device:
    """The device behind a handle that the C side has found to be live."""
    return current().by_handle[handle]
