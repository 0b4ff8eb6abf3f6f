"""The blocks of pseudo-code in Level Zero's core programming guide, and the programs that are them.

`python -m tests.guide.blocks` prints docs/reference/guide.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

BLOCKS_IN_SECTION = {
    "Initialization and Discovery": 1,
    "Contexts": 2,
    "Cache Hints, Prefetch, and Memory Advice": 0,
    "Reserving Virtual Address Space": 1,
    "Growing Virtual Address Reservations": 1,
    "Physical Memory": 1,
    "Mapping Virtual Memory Pages": 1,
    "Access Attributes": 1,
    "Sparse Mappings": 1,
    "Images": 1,
    "Device Cache Settings": 1,
    "External Memory Import and Export": 3,
    "Command Queue Groups: Discovery": 1,
    "Command Queues: Creation": 1,
    "Command Lists: Appending": 1,
    "Command Lists: Submission": 1,
    "Low-Latency Immediate Command Lists": 1,
    "Fences": 1,
    "Events": 1,
    "Kernel Timestamp Events": 1,
    "Barriers": 1,
    "Execution Barriers": 1,
    "Memory Barriers": 1,
    "Range-based Memory Barriers": 1,
    "Modules": 2,
    "Module Specialization Constants": 1,
    "Module Build Log": 1,
    "Dynamically Linked Modules": 1,
    "Module Caching with Native Binaries": 1,
    "Kernels": 1,
    "Kernel Properties": 1,
    "Kernel Group Size": 2,
    "Kernel Arguments": 1,
    "Kernel Launch": 2,
    "Cooperative Kernels": 1,
    "Sampler": 1,
    "Formatted Output": 0,
    "Affinity Mask": 0,
    "Sub-Device Support": 1,
    "Device Residency": 2,
    "Interoperability with Other APIs": 1,
    "Inter-Process Communication: Memory": 4,
    "Inter-Process Communication: Events": 6,
    "Peer-to-Peer Access and Queries": 0,
}
"""How many blocks each section has, in the guide's order; those of deeper sections are theirs."""


@dataclass(frozen=True)
class Program:
    """A C program and the Python program of the same name; both print the same."""

    name: str
    shows: str
    blocks: tuple[tuple[str, int], ...]
    """Section and number of each block; 0 for what a section says without a block."""
    environment: dict[str, str] = field(default_factory=dict)


PROGRAMS = (
    Program("discovery", "Drivers, devices, the first GPU", (("Initialization and Discovery", 1),)),
    Program("contexts", "Two contexts and their memory", (("Contexts", 1), ("Contexts", 2))),
    Program("lost_context", "A kernel that goes wrong, and the way back", (("Contexts", 0),)),
    Program(
        "shared_memory",
        "Hints about memory that both sides use",
        (("Cache Hints, Prefetch, and Memory Advice", 0),),
    ),
    Program(
        "reserved_memory",
        "A range of addresses that is given pages",
        (
            ("Reserving Virtual Address Space", 1),
            ("Physical Memory", 1),
            ("Mapping Virtual Memory Pages", 1),
            ("Access Attributes", 1),
        ),
    ),
    Program(
        "growing",
        "A range that grows in place or moves",
        (("Growing Virtual Address Reservations", 1),),
    ),
    Program("sparse", "Pieces of memory in a large range", (("Sparse Mappings", 1),)),
    Program("images", "An image, its texels and a part of them", (("Images", 1),)),
    Program("cache_config", "A kernel that wants local memory", (("Device Cache Settings", 1),)),
    Program(
        "external_memory",
        "Memory that leaves and comes in as a file descriptor",
        (("External Memory Import and Export", 1), ("External Memory Import and Export", 2)),
    ),
    Program(
        "external_image",
        "An image over the memory of somebody else",
        (("External Memory Import and Export", 3),),
    ),
    Program("queue_groups", "What queues can do", (("Command Queue Groups: Discovery", 1),)),
    Program(
        "submission",
        "A queue, and a list that is run, run again and reset",
        (
            ("Command Queues: Creation", 1),
            ("Command Lists: Appending", 1),
            ("Command Lists: Submission", 1),
        ),
    ),
    Program(
        "immediate",
        "A list that runs what is appended to it",
        (("Low-Latency Immediate Command Lists", 1),),
    ),
    Program("fences", "Knowing that a queue is done", (("Fences", 1),)),
    Program("events", "Kernel and host wait for each other", (("Events", 1),)),
    Program("timestamps", "How long a kernel took", (("Kernel Timestamp Events", 1),)),
    Program(
        "barriers",
        "One kernel after the other, by a barrier",
        (("Barriers", 1), ("Range-based Memory Barriers", 1)),
    ),
    Program(
        "dependencies",
        "One kernel after the other, by an event",
        (("Execution Barriers", 1), ("Memory Barriers", 1)),
    ),
    Program(
        "image_scaling",
        "A module, a kernel, its arguments, and two launches",
        (("Modules", 1), ("Modules", 2), ("Kernel Arguments", 1), ("Kernel Launch", 1)),
    ),
    Program(
        "spec_constants",
        "Numbers that are decided when a module is built",
        (("Module Specialization Constants", 1),),
    ),
    Program("build_log", "Why a module cannot be built", (("Module Build Log", 1),)),
    Program("dynamic_link", "A module and its library", (("Dynamically Linked Modules", 1),)),
    Program(
        "native_binary",
        "A cache of what was compiled",
        (("Module Caching with Native Binaries", 1),),
    ),
    Program(
        "kernels",
        "Kernels by name, and what they need",
        (("Kernels", 1), ("Kernel Properties", 1)),
    ),
    Program(
        "group_size",
        "Group sizes, chosen and suggested",
        (("Kernel Group Size", 1), ("Kernel Group Size", 2)),
    ),
    Program("indirect_launch", "A number of groups in memory", (("Kernel Launch", 2),)),
    Program("cooperative", "Groups that wait for each other", (("Cooperative Kernels", 1),)),
    Program("sampler", "Reading between texels, and beyond them", (("Sampler", 1),)),
    Program("formatted_output", "printf in a kernel", (("Formatted Output", 0),)),
    Program(
        "affinity_mask",
        "Which devices a process sees",
        (("Affinity Mask", 0),),
        {"GROUNDSTATE_TOPOLOGY": "2x4"},
    ),
    Program(
        "sub_devices",
        "Memory and work for a part of a device",
        (("Sub-Device Support", 1),),
        {"GROUNDSTATE_TOPOLOGY": "1x4"},
    ),
    Program(
        "residency",
        "A chain of pointers, and two ways to announce it",
        (("Device Residency", 1), ("Device Residency", 2)),
    ),
    Program(
        "opencl_interop",
        "A kernel from OpenCL",
        (("Interoperability with Other APIs", 1),),
    ),
    Program(
        "ipc_memory",
        "Memory of two processes",
        tuple(("Inter-Process Communication: Memory", number) for number in range(1, 5)),
    ),
    Program(
        "ipc_events",
        "An event of two processes",
        tuple(("Inter-Process Communication: Events", number) for number in range(1, 7)),
    ),
    Program(
        "peers",
        "What devices can do with each other's memory",
        (("Peer-to-Peer Access and Queries", 0),),
        {"GROUNDSTATE_TOPOLOGY": "2"},
    ),
)


HEAD = """\
# The programming guide, as programs

Generated by `python -m tests.guide.blocks` from `tests/guide/blocks.py`.

Level Zero's core programming guide has blocks of pseudo-code. Each of them is a program here,
twice: in C with the API itself, and in Python with the objects of `groundstate`. Both check their
results and print the same; a test compares them, with the C program run through a loader and with
our library in its place. Sections that make promises without a block have programs, too.

The C programs read the kernels of the Python programs from a folder. To run one by
hand, you need libze-dev and libpython, as in [Run a C program](../tutorial/hello.md), and
`pip install 'groundstate[opencl]'`, which compiles the kernels:

```sh
cc tests/guide/events.c -o events -lze_loader -lm -ldl
python -m tests.guide.kernels events kernels
groundstate run -- ./events kernels
```

| section of the guide | block | what it shows | C | Python |
|---|---|---|---|---|
"""


def rows() -> Iterator[str]:
    """The rows of the table, in the guide's order."""
    for section, count in BLOCKS_IN_SECTION.items():
        numbers = [*range(1, count + 1), 0] if count else [0]
        for number in numbers:
            for program in PROGRAMS:
                if (section, number) in program.blocks:
                    name = program.name
                    knobs = "".join(f", with `{a}={b}`" for a, b in program.environment.items())
                    yield (
                        f"| {section} | {number or '(text)'} | {program.shows}{knobs} "
                        f"| [{name}.c](../../tests/guide/{name}.c) "
                        f"| [{name}.py](../../examples/guide/{name}.py) |\n"
                    )


def page() -> str:
    """The page docs/reference/guide.md."""
    return HEAD + "".join(rows())


if __name__ == "__main__":
    print(page(), end="")
