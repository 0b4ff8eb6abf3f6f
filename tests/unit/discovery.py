"""A platform without a native library, and calls to handlers as the C side makes them."""

import ctypes
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundstate.driver import api, platform
from groundstate.driver.devices.cpu import Machine

NOUNS = ("driver", "device", "device_memory", "capabilities", "image", "fabric", "runtime")


class FakeNative:
    """Hands out handles and remembers what was asked of it."""

    def __init__(self) -> None:
        self.next = 0x1000
        self.devices: dict[int, tuple[int, int, int]] = {}
        self.used: dict[int, int] = {}
        self.vertices: dict[int, int] = {}
        self.places: dict[int, tuple[list[int], list[int]]] = {}
        self.speeds: dict[int, tuple[int, int, int, int]] = {}
        self.paths: dict[int, tuple[int, ...]] = {}
        self.workers: list[tuple[int, int, tuple[int, ...]]] = []
        self.spread: tuple[int, ...] = ()
        self.gpus: dict[int, int] = {}
        self.measured: list[tuple[int, int, int]] = []

    def handle(self) -> int:
        self.next += 0x10
        return self.next

    def driver_new(self) -> int:
        return self.handle()

    def device_new(
        self, driver: int, parent: int, worker_count: int, memory_bytes: int, queue_count: int
    ) -> int:
        handle = self.handle()
        self.devices[handle] = (parent, worker_count, memory_bytes)
        return handle

    def device_locate(self, device: int, path: Sequence[int]) -> None:
        self.paths[device] = tuple(path)

    def device_memory_used(self, device: int) -> int:
        return self.used.get(device, 0)

    def device_confine(self, device: int, cpus: Sequence[int], nodes: Sequence[int]) -> None:
        self.places[device] = (list(cpus), list(nodes))

    def device_place(self, device: int, first: int, count: int, cpus: Sequence[int]) -> None:
        self.workers.append((first, count, tuple(cpus)))

    def memory_spread(self, nodes: Sequence[int]) -> None:
        self.spread = tuple(nodes)

    def measure(self, device: int, peer: int, size: int) -> tuple[int, int, int, int]:
        self.measured.append((device, peer, size))
        return self.speeds.get(device, (9_600_000_000, 11_000_000_000, 400_000_000, 93))

    def gpu_adopt(self, device: int, ordinal: int) -> None:
        self.gpus[device] = ordinal

    def fabric_edge_new(self) -> int:
        return self.handle()

    def fabric_vertex_new(self, device: int) -> int:
        handle = self.handle()
        self.vertices[handle] = device
        return handle

    def function_address(self, name: str) -> int:
        return 0xF00 if name == "zeInit" else 0


def fake(built: platform.Platform) -> FakeNative:
    """The library that a platform of `start` was built on."""
    assert isinstance(built.native, FakeNative)
    return built.native


def start(root: str | Path = "/") -> platform.Platform:
    """Builds and installs a platform as the environment describes it."""
    for noun in NOUNS:
        importlib.import_module(f"groundstate.driver.{noun}")
    built = platform.Platform(FakeNative(), Machine(str(root)))
    platform.install(built)
    return built


def call(name: str, *arguments: Any) -> int | None:
    """Calls a handler; structs and ctypes values are passed by address."""
    passed = [each if isinstance(each, int) else ctypes.addressof(each) for each in arguments]
    return api.HANDLERS[name](*passed)


def listed(name: str, *arguments: Any) -> list[int]:
    """All handles that a function reports, asked for in the usual two calls."""
    count = ctypes.c_uint32()
    call(name, *arguments, count, 0)
    array = (ctypes.c_void_p * max(1, count.value))()
    call(name, *arguments, count, array)
    return [handle for handle in array[: count.value] if handle is not None]


def structs(name: str, structure: Any, *arguments: Any) -> list[Any]:
    """All structs that a function reports, asked for in the usual two calls."""
    count = ctypes.c_uint32()
    call(name, *arguments, count, 0)
    array = structure.array(count.value)
    call(name, *arguments, count, array)
    return list(array)


def query(name: str, structure: Any, *arguments: Any, chained: Sequence[Any] = ()) -> Any:
    """One struct that a function fills, with others chained to it."""
    properties = structure()
    last = properties
    for each in chained:
        last.pNext = ctypes.addressof(each)
        last = each
    call(name, *arguments, properties)
    return properties
