"""Plans: what executing a primitive means, as launches of kernels.

A plan is made once, from descriptors and attributes. Its launches name the arguments of an
execution by their numbers (`Arg`), so it can be executed any number of times with any memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Buffer:
    """The memory that is passed for an argument; `handle` counts the buffers of sparse memory."""

    arg: int
    handle: int = 0


@dataclass(frozen=True)
class Scratch:
    """A part of the primitive's own memory, from a place in it, in bytes."""

    offset: int


@dataclass(frozen=True)
class HostScalar:
    """The value that the host passes for an argument, of this many bytes."""

    arg: int
    size: int


@dataclass(frozen=True)
class Value:
    """A constant."""

    data: bytes


@dataclass(frozen=True)
class Local:
    """Memory of a work-group, of this many bytes."""

    size: int


Argument = Buffer | Scratch | HostScalar | Value | Local

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel. What it waits for are the launches before it."""

    source: str
    """A program in OpenCL C."""
    kernel: str
    arguments: tuple[Argument, ...]
    groups: Size
    group_size: Size
    options: tuple[str, ...] = ()


@dataclass
class Plan:
    """The launches of a primitive, in order, and the memory that they need meanwhile."""

    launches: list[Launch] = field(default_factory=list)
    scratchpad_bytes: int = 0

    def scratch(self, size_bytes: int) -> int:
        """Makes room in the scratchpad; returns where it begins."""
        begin = -(-self.scratchpad_bytes // 64) * 64
        self.scratchpad_bytes = begin + size_bytes
        return begin
