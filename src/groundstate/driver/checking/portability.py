"""Portability: what a program relies on that another device has not, and schedules that vary.

With GROUNDSTATE_CHECK_DEVICE, launches that ask for more than that GPU has are reported. With
GROUNDSTATE_CHECK_VARY, the order of groups and sub-groups, the size of sub-groups, and what memory
holds that nobody has written follow from a seed (native/check/single_groups.c).
"""

from __future__ import annotations

from groundstate import findings, knobs
from groundstate.compiler.light_dataclass import replace
from groundstate.driver import native
from groundstate.driver.api import request
from groundstate.driver.checking.gpus import GPUS, Gpu
from groundstate.driver.module import entry_point_at
from groundstate.findings import Finding

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.compiler.program import Program
    from groundstate.compiler.target import Target

SUBGROUP_SIZES = (8, 16, 32)
ORDERS = 4
"""In which sub-groups of a group run: codegen/group_loop.py."""


def start() -> None:
    """Tells the native half what varies, and from which sizes on launches are reported."""
    native.vary(knobs.CHECK_VARY.get() or 0)
    gpu = _device()
    if gpu is not None:
        native.limit_launches(gpu.group_size, gpu.local_bytes)


def _device() -> Gpu | None:
    return GPUS.get(knobs.CHECK_DEVICE.get()) if "portability" in knobs.CHECK.get() else None


def varied_target() -> Target | None:
    """What kernels are compiled for if schedules vary; None: as always."""
    seed = knobs.CHECK_VARY.get() or 0
    if seed == 0:
        return None
    from groundstate.compiler.target.host import host

    size = SUBGROUP_SIZES[seed % len(SUBGROUP_SIZES)]
    order = seed // len(SUBGROUP_SIZES) % ORDERS
    return replace(host(), subgroup_size=size, subgroup_order=order)


def check_kernel(program: Program, name: str) -> None:
    """Reports a sub-group size that a kernel requires and the named GPU has not."""
    from groundstate.compiler.spirv.opcodes import ExecutionMode

    gpu, required = _device(), program.modes(name).get(ExecutionMode.SubgroupSize)
    if gpu is None or not required or required[0] in gpu.subgroup_sizes:
        return
    sizes = ", ".join(map(str, gpu.subgroup_sizes))
    _report(
        "unsupported-sub-group-size",
        f"a kernel requires sub-groups of {required[0]} work-items",
        f"{gpu.title} has sub-groups of {sizes}",
        name,
    )


@request
def report_limits(entry_point: int, x: int, y: int, z: int, local_bytes: int) -> int:
    """Reports a launch that asks for more than the named GPU has; 1: the context is to be lost."""
    gpu, name = _device(), entry_point_at(entry_point).signature.name
    if gpu is None:
        return 0
    stops = False
    if x * y * z > gpu.group_size:
        stops = _report(
            "oversized-group",
            f"a launch with groups of {x} x {y} x {z} = {x * y * z} work-items",
            f"{gpu.title} has groups of {gpu.group_size} work-items at most",
            name,
        )
    if local_bytes > gpu.local_bytes:
        stops |= _report(
            "oversized-local-memory-use",
            f"a launch with {local_bytes:,} bytes of local memory",
            f"{gpu.title} has {gpu.local_bytes:,} bytes for a group",
            name,
        )
    return int(stops and knobs.CHECK_STOP.get())


def _report(kind: str, title: str, note: str, kernel: str) -> bool:
    return findings.report(Finding("portability", kind, title, notes=[note], kernel=kernel))
