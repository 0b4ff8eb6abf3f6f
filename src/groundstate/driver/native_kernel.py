"""Modules and kernels of the native half: native/objects/module.c and kernel.c as Python sees them.

Their functions are declared in native.py with all others.
"""

from __future__ import annotations

import ctypes

from groundstate.driver.native import _call, _check, _new
from groundstate.native_layouts import (
    ACCESS_ACQUIRES,
    ACCESS_RELEASES,
    ACCESS_WRITES,
    ARGUMENT_KINDS,
    BLOCK_COSTS,
    Argument,
    CodeDescription,
    EntryPointDescription,
    ShadowAccesses,
    SharedAccesses,
    SourceLines,
)

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from groundstate.compiler.program import KernelCode
    from groundstate.compiler.program.signature import Signature
    from groundstate.compiler.program.source_lines import KernelLines

Size = tuple[int, int, int]

COUNTS = "counts"
"""The site of code that counts instructions: compiler/codegen/counting.py."""
REFILLED = 256
"""As in compiler/target/shapes.py, which is imported with the compiler."""


def module_new(context: int, device: int, key: int) -> int:
    """A new module handle. The key comes back from `reap_module` when it is no longer used."""
    return _new("gs_module_new", "module", context, device, key)


def reap_module() -> int:
    """The key of a module that neither a handle nor a command refers to any more, or 0."""
    return _call("gs_module_reap")


def globals_new(context: int, device: int, image: bytes) -> int:
    """Device memory for program-scope variables, with their initial values."""
    created = ctypes.c_void_p()
    _check("gs_globals_new", context, device, image, len(image), ctypes.byref(created))
    return created.value or 0


def run_once(context: int, name: str, code: int, dispatch: int, memory: int) -> bool:
    """Runs code for one work-item, with the interpreter's lock given up; False: it was lost."""
    return bool(_call("gs_module_run_once", context, code, dispatch, memory, name.encode()))


def globals_base(variables: int) -> int:
    """Where the variables lie."""
    return _call("gs_globals_base", variables)


def globals_drop(variables: int) -> None:
    """Gives up the share of `globals_new`; modules that use the variables have their own."""
    _call("gs_globals_drop", variables)


def module_set_globals(module: int, variables: int) -> None:
    """Makes variables those of a module, and shares them with it."""
    _call("gs_module_set_globals", module, variables)


def entry_point_add(
    module: int,
    signature: Signature,
    most_items: int,
    most_local_bytes: int,
    suits_large_groups: bool,
) -> int:
    """Makes a kernel of a module known."""
    arguments = [
        Argument(ARGUMENT_KINDS.index(each.kind), each.size, each.offset)
        for each in signature.arguments
    ]
    described = (Argument * len(arguments))(*arguments)
    required = signature.required_group_size
    description = EntryPointDescription(
        arguments=ctypes.addressof(described),
        argument_count=len(arguments),
        block_bytes=signature.block_bytes,
        default_size=required or (signature.subgroup_size, 1, 1),
        size_is_required=required is not None,
        most_items=most_items,
        most_local_bytes=min(most_local_bytes, 0xFFFFFFFF),
        subgroup_size=signature.subgroup_size,
        suits_large_groups=suits_large_groups,
        name=signature.name.encode(),
    )
    return _new("gs_entry_point_add", "kernel", module, ctypes.byref(description))


def code_add(
    module: int, entry_point: int, group_size: Size, code: KernelCode, to_come: int, cached: bool
) -> None:
    """Gives a kernel the code for one group size; so many variants of it can be had."""
    formats = _texts(code.formats)
    description = _described(code, formats, group_size, to_come, cached)
    _new("gs_code_add", "kernel", module, entry_point, ctypes.byref(description))


def counting_code_add(module: int, entry_point: int, group_size: Size, code: KernelCode) -> None:
    """Gives a kernel the code for launches with one group size that count their instructions."""
    formats = _texts(code.formats)
    description = _described(code, formats, group_size, 0, cached=False)
    tables: list[list[list[int]]] = [
        each["costs"] for each in code.sites if each["checker"] == COUNTS
    ]
    blocks = tables[0] if tables else []
    costs = (ctypes.c_uint64 * (len(blocks) * BLOCK_COSTS))(
        *(cost for row in blocks for cost in row)
    )
    description.is_counting = True
    description.block_count = len(blocks)
    description.block_costs = ctypes.addressof(costs)
    description.lanes = code.width % REFILLED
    _new("gs_code_add", "kernel", module, entry_point, ctypes.byref(description))


def described_code_add(module: int, entry_point: int, description: CodeDescription) -> None:
    """Gives a kernel code that another kind of device has described."""
    _new("gs_code_add", "kernel", module, entry_point, ctypes.byref(description))


def variant_add(
    entry_point: int, group_size: Size, code: KernelCode, to_come: int, cached: bool
) -> None:
    """Gives a kernel another variant of its code for a group size."""
    formats = _texts(code.formats)
    description = _described(code, formats, group_size, to_come, cached)
    _call("gs_variant_add", entry_point, ctypes.byref(description))


def variants_of(entry_point: int, group_size: Size) -> tuple[int, int]:
    """How many variants there are for a group size, and the number of the preferred one."""
    size = (ctypes.c_uint32 * 3)(*group_size)
    return (
        _call("gs_variant_count", entry_point, size),
        _call("gs_variant_preferred", entry_point, size),
    )


def forget_requests(module: int) -> None:
    """Forgets what was asked of `driver.variants` for a module whose handle is gone."""
    _call("gs_variant_requests_forget", module)


def settle_requests(nanoseconds: int) -> bool:
    """Waits until `driver.variants` has done all that it was asked; False if it takes longer."""
    return bool(_call("gs_variant_requests_settle", nanoseconds))


def requests_are_stopped() -> bool:
    """True once the program ends."""
    return bool(_call("gs_variant_requests_are_stopped"))


def _texts(texts: tuple[bytes, ...]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*texts)


def _described(
    code: KernelCode,
    formats: ctypes.Array[ctypes.c_char_p],
    group_size: Size,
    to_come: int,
    cached: bool,
) -> CodeDescription:
    """A description that is good for as long as the formats."""
    lines = code.lines
    if lines is not None and lines.native is None:
        lines.native = _native_lines(lines)
    sites = tuple(each for each in code.sites if each["checker"] != COUNTS)
    return CodeDescription(
        run=code.address,
        local_bytes=code.local_bytes,
        private_bytes=code.private_bytes,
        saved_bytes=code.saved_bytes,
        formats=ctypes.addressof(formats),
        format_count=len(code.formats),
        has_loops=code.has_loops,
        may_wait=code.may_wait,
        writes_back=code.writes_back,
        refills=code.refills,
        variants_to_come=to_come,
        variants_are_cached=cached,
        group_size=group_size,
        site_count=len(sites),
        needs_memory=any(each.get("looks_for_memory") for each in sites),
        accesses=_accesses(sites),
        shadow_accesses=_shadow_accesses(sites),
        lines=ctypes.addressof(lines.native[0]) if lines is not None and lines.native else None,
    )


def _native_lines(lines: KernelLines) -> tuple[SourceLines, object]:
    """What native/faults/source_lines.c reads, and what that refers to."""
    table = ctypes.create_string_buffer(lines.table, len(lines.table))
    sentences = (ctypes.c_char_p * len(lines.sentences))(*lines.sentences)
    excerpts = (ctypes.c_char_p * len(lines.excerpts))(*lines.excerpts)
    made = SourceLines(
        table=ctypes.addressof(table),
        table_bytes=len(lines.table),
        sentences=ctypes.addressof(sentences),
        excerpts=ctypes.addressof(excerpts) if lines.excerpts else None,
        location_count=len(lines.locations),
    )
    return made, (table, sentences, excerpts)


def debugger_add(image: bytes) -> int:
    """Makes code known to debuggers by an ELF file."""
    return _new("gs_debugger_add", "debugger", image, len(image))


def debugger_remove(entry: int) -> None:
    """Takes back `debugger_add`, before the code goes."""
    _call("gs_debugger_remove", entry)


def kernel_new(module: int, entry_point: int) -> int:
    """A new kernel handle."""
    return _new("gs_kernel_new", "kernel", module, entry_point)


def kernel_entry_point(kernel: int) -> int:
    """Which of `entry_point_add` a kernel was made from."""
    return _call("gs_kernel_entry_point", kernel)


def kernel_group_size(kernel: int) -> Size:
    """The group size that was set, or the default."""
    size = (ctypes.c_uint32 * 3)()
    _call("gs_kernel_group_size", kernel, size)
    return size[0], size[1], size[2]


def kernel_argument_word(kernel: int, index: int, offset: int) -> int:
    """The eight bytes of an argument such as a pointer; 0 if it was not set."""
    if not _call("gs_kernel_has_argument", kernel, index):
        return 0
    block = _call("gs_kernel_block", kernel)
    return ctypes.c_uint64.from_address(block + offset).value


def _shadow_accesses(sites: Iterable[dict[str, Any]]) -> ShadowAccesses:
    """Which memory may be uninitialised that a kernel uses."""
    launch = next((each for each in sites if each.get("use") == "launch"), None)
    return ShadowAccesses(launch["reads"], launch["writes"]) if launch else ShadowAccesses()


def _accesses(sites: Iterable[dict[str, Any]]) -> SharedAccesses:
    """What the sites of a kernel say to the race checker about its arguments."""
    made = SharedAccesses()
    of_races = [site for site in sites if site["checker"] == "races"]
    lengths = {site["row"] for site in of_races if site["row"] is not None}
    made.row_argument = min(lengths, default=0)
    for site in of_races:
        made.synchronises |= bool(site["flags"] & (ACCESS_ACQUIRES | ACCESS_RELEASES))
        made.read |= site["arguments"]
        made.written |= site["arguments"] if site["flags"] & ACCESS_WRITES else 0
        if site["row"] is not None and len(lengths) == 1:
            made.rows |= site["arguments"]
        elif axes := site.get("texel_axes", 0):
            made.texels |= site["arguments"]
            made.texel_axes = min(made.texel_axes or axes, axes)
        elif not site["is_own"]:
            made.shared |= site["arguments"]
    return made
