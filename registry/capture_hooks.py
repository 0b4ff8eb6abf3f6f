"""What recorders do besides recording, so that a stream has the memory that submitted work reads
and the times at which it ran.

The functions are those of `native/capture`: `recorder/hooks.h`, `memory/tracking.h` and
`timing/timing.h`. In the lines, the parameters of a call go by their names in the API, and `result`
is what it returned.
"""

from __future__ import annotations

from dataclasses import dataclass

from registry.model import Function


@dataclass(frozen=True)
class Hook:
    """Lines of C around a call, without the semicolons."""

    before: tuple[str, ...] = ()  # ("gc_copies(call, dstptr, srcptr, size)",) when it is passed on
    after: tuple[str, ...] = ()  # ("gc_allocated(result, pptr, size, NULL)",) when it is recorded


_COPIES = "gc_copies(call, dstptr, srcptr, size)"
_LEFT = "gc_memory_left(call, result == ZE_RESULT_SUCCESS)"

ARGUMENTS: dict[str, str] = {
    "zeCommandListAppendLaunchKernelWithArguments": (
        "gc_passes_arguments(call, hKernel, pArguments)"
    ),
}
"""What a call leads to that only its kernel can tell the size of."""

COPIES: dict[str, str] = {
    "zeCommandListAppendMemoryCopy": _COPIES,
    "zeCommandListAppendMemoryCopyWithParameters": _COPIES,
    "zeCommandListAppendMemoryCopyFromContext": _COPIES,
    "zeRTASBuilderCommandListAppendCopyExt": _COPIES,
    "zeCommandListAppendMemoryFill": "gc_copies(call, ptr, NULL, size)",
    "zeCommandListAppendMemoryFillWithParameters": "gc_copies(call, ptr, NULL, size)",
    "zeCommandListAppendMemoryCopyRegion": (
        "gc_copies_region(call, dstptr, dstRegion, dstPitch, dstSlicePitch, "
        "srcptr, srcRegion, srcPitch, srcSlicePitch)"
    ),
    "zeCommandListAppendImageCopyFromMemory": (
        "gc_reads_texels(call, hDstImage, srcptr, pDstRegion, 0, 0)"
    ),
    "zeCommandListAppendImageCopyFromMemoryExt": (
        "gc_reads_texels(call, hDstImage, srcptr, pDstRegion, srcRowPitch, srcSlicePitch)"
    ),
    "zeCommandListAppendImageCopyToMemory": (
        "gc_writes_texels(call, hSrcImage, dstptr, pSrcRegion, 0, 0)"
    ),
    "zeCommandListAppendImageCopyToMemoryExt": (
        "gc_writes_texels(call, hSrcImage, dstptr, pSrcRegion, destRowPitch, destSlicePitch)"
    ),
}
"""What a command's copy reads and writes."""

EXECUTES = (
    "zeCommandListImmediateAppendCommandListsExp",
    "zeCommandListImmediateAppendCommandListsWithParameters",
)
"""Commands that run other lists."""

GATHERED: dict[str, str] = {
    **dict.fromkeys(EXECUTES, "gc_gathers(call, numCommandLists, phCommandLists)"),
    "zeCommandListAppendGraphExt": "gc_gathers_graphs(call)",
}
"""Commands that run others, which were recorded before."""

OTHERS: dict[str, Hook] = {
    "zeMemAllocHost": Hook(after=("gc_allocated(result, pptr, size, host_desc)",)),
    "zeMemAllocShared": Hook(after=("gc_allocated(result, pptr, size, device_desc)",)),
    "zeMemAllocDevice": Hook(after=("gc_allocated_device(result, pptr, size)",)),
    "zeMemFree": Hook(("gc_memory_leave(call, ptr, 0)",), (_LEFT,)),
    "zeMemFreeExt": Hook(("gc_memory_leave(call, ptr, 0)",), (_LEFT,)),
    "zeMemOpenIpcHandle": Hook(after=("gc_opened(result, hContext, pptr)",)),
    "zeMemCloseIpcHandle": Hook(("gc_memory_leave(call, ptr, 0)",), (_LEFT,)),
    "zeMemGetIpcHandle": Hook(after=("gc_exported(result, ptr)",)),
    "zeMemGetIpcHandleWithProperties": Hook(after=("gc_exported(result, ptr)",)),
    "zeMemGetAllocProperties": Hook(after=("gc_asked_about(result, ptr, pMemAllocProperties)",)),
    "zePhysicalMemCreate": Hook(after=("gc_made_physical(result, desc, phPhysicalMemory)",)),
    "zePhysicalMemDestroy": Hook(after=("gc_unmade_physical(result, hPhysicalMemory)",)),
    "zeVirtualMemMap": Hook(after=("gc_mapped(result, ptr, size, hPhysicalMemory)",)),
    "zeVirtualMemUnmap": Hook(("gc_memory_leave(call, ptr, size)",), (_LEFT,)),
    "zeImageCreate": Hook(after=("gc_made_image(result, desc, phImage)",)),
    "zeImageViewCreateExt": Hook(after=("gc_made_image(result, desc, phImageView)",)),
    "zeImageViewCreateExp": Hook(after=("gc_made_image(result, desc, phImageView)",)),
    "zeImageDestroy": Hook(after=("gc_unmade_image(result, hImage)",)),
    "zeModuleCreate": Hook(after=("gc_made_module(result, desc, phModule)",)),
    "zeModuleDestroy": Hook(after=("gc_unmade_module(result, hModule)",)),
    "zeKernelCreate": Hook(after=("gc_made_kernel(result, hModule, desc, phKernel)",)),
    "zeKernelDestroy": Hook(after=("gc_unmade_kernel(result, hKernel)",)),
    "zeCommandListCreate": Hook(
        after=(
            "gc_made_list(result, phCommandList, false)",
            "gc_times_made_list(result, hContext, hDevice, phCommandList, false, desc)",
        )
    ),
    "zeCommandListCreateImmediate": Hook(
        after=(
            "gc_made_list(result, phCommandList, true)",
            "gc_times_made_list(result, hContext, hDevice, phCommandList, true, NULL)",
        )
    ),
    "zeCommandListCreateCloneExp": Hook(
        ("gc_times_excluded_list(hCommandList)",),
        ("gc_cloned_list(result, hCommandList, phClonedCommandList)",),
    ),
    "zeCommandListReset": Hook(
        ("gc_times_unmaking_list(hCommandList)",),
        (
            "gc_times_emptied_list(result, hCommandList)",
            "gc_emptied_list(result, hCommandList)",
        ),
    ),
    "zeCommandListDestroy": Hook(
        ("gc_times_unmaking_list(hCommandList)", "gc_unmaking(hCommandList)"),
        ("gc_times_unmade_list(result, hCommandList)", "gc_unmade_list(result, hCommandList)"),
    ),
    "zeCommandQueueDestroy": Hook(("gc_unmaking(hCommandQueue)",)),
    "zeCommandQueueExecuteCommandLists": Hook(
        ("gc_gathers(call, numCommandLists, phCommandLists)", "gc_executing(call)"),
        (
            "gc_times_executed(call, result, hCommandQueue, hFence, numCommandLists, "
            "phCommandLists)",
            "gc_executed(call, result, hCommandQueue)",
        ),
    ),
    "zeCommandListBeginGraphCaptureExt": Hook(("gc_captures_graph()",)),
    "zeCommandListBeginCaptureIntoGraphExt": Hook(("gc_captures_graph()",)),
    "zeContextDestroy": Hook(
        ("gc_times_unmaking_context(hContext)", "gc_memory_unmaking_context()")
    ),
    "zeCommandQueueSynchronize": Hook(after=("gc_times_ended(result, hCommandQueue)",)),
    "zeCommandListHostSynchronize": Hook(after=("gc_times_ended(result, hCommandList)",)),
    "zeFenceHostSynchronize": Hook(after=("gc_times_passed(result, hFence)",)),
    "zeFenceQueryStatus": Hook(after=("gc_times_passed(result, hFence)",)),
    "zeEventHostSynchronize": Hook(after=("gc_times_signalled(result, hEvent)",)),
    "zeEventQueryStatus": Hook(after=("gc_times_signalled(result, hEvent)",)),
    "zeEventHostReset": Hook(("gc_times_leaving(hEvent)",)),
    "zeEventCreate": Hook(after=("gc_times_made_event(result, hEventPool, phEvent)",)),
    "zeEventDestroy": Hook(("gc_times_unmaking_event(hEvent)",)),
    "zeEventHostSignal": Hook(
        ("gc_times_superseded(hEvent)", "gc_signalling(call)"), ("gc_signalled(call, result)",)
    ),
}


def hook_of(function: Function) -> Hook:
    """What the recorder of a function does; appending to a list is the same for all commands."""
    name = function.name
    if name in OTHERS:
        return OTHERS[name]
    appends = name.startswith("zeCommandListAppend") or name in COPIES or name in GATHERED
    if not appends:
        return Hook()
    own = [line for table in (ARGUMENTS, COPIES, GATHERED) if (line := table.get(name)) is not None]
    handle = function.parameters[0].name
    before = [*own, f"gc_appending(call, {handle}, {_traits(function)})"]
    after = [f"gc_appended(call, result, {handle})"]
    if name in EXECUTES:
        lists = "numCommandLists, phCommandLists"
        after.insert(0, f"gc_times_executed(call, result, {handle}, NULL, {lists})")
    elif _is_measured(function):
        before.append(f"hSignalEvent = gc_times_event(call, {handle}, hSignalEvent)")
        after.insert(0, f"gc_times_appended(call, result, {handle})")
    elif name == "zeCommandListAppendSignalEvent":
        before.append("gc_times_superseded(hEvent)")
    elif any(parameter.name == "hSignalEvent" for parameter in function.parameters):
        before.append("gc_times_superseded(hSignalEvent)")
    return Hook(tuple(before), tuple(after))


def _is_measured(function: Function) -> bool:
    """Whether it is recorded when a command ran: of kernels, copies and fills."""
    works = any(word in function.name for word in ("Launch", "Copy", "Fill"))
    return works and any(parameter.name == "hSignalEvent" for parameter in function.parameters)


def _traits(function: Function) -> str:
    """What a command may have to do with the host, as an expression."""
    if "HostFunction" in function.name:
        return "GC_WAITS | GC_CALLS_HOST"
    if "Wait" in function.name:
        return "GC_WAITS"
    has_events = any(parameter.name == "numWaitEvents" for parameter in function.parameters)
    return "numWaitEvents > 0 ? GC_WAITS : 0" if has_events else "0"
