"""What an entry point tells the checker of the host before and after its function runs, as data.

`watches_of(function)` lists the calls into native/check/host/host.h: which objects and memory begin
and end with a function. The stubs make them only if the host is checked.
"""

from __future__ import annotations

from dataclasses import dataclass

from registry.load import load
from registry.model import Direction, Function, Parameter, Registry

_MAKERS = ("Create", "OpenIpcHandle", "Import", "Instantiate", "EndGraphCapture")
_ENDERS = ("Destroy", "CloseIpcHandle", "ReleaseExternalSemaphore")
_ALLOCATORS = {
    "zeMemAllocDevice": "size",
    "zeMemAllocHost": "size",
    "zeMemAllocShared": "size",
    "zeMemOpenIpcHandle": "0",
    "zeVirtualMemReserve": "size",
}
_FREERS = ("zeMemFree", "zeMemFreeExt", "zeMemCloseIpcHandle", "zeVirtualMemFree")
_WAITING_FREERS = ("zeMemFreeExt", "zeVirtualMemFree")
"""These say themselves what becomes of memory in use, or have none of their own."""

SUCCESS = "ZE_RESULT_SUCCESS == result"


@dataclass(frozen=True)
class Watch:
    """One call into the checker."""

    call: str  # "gs_host_ending(GS_FN_zeEventDestroy, GS_KIND_EVENT, hEvent)"
    condition: str = ""  # "ZE_RESULT_SUCCESS == result"


def watches_of(function: Function) -> tuple[list[Watch], list[Watch]]:
    """What is called before a function, and after it."""
    registry, name = load(), function.name
    if function.namespace != "ze" or function.failure is not None:
        return [], []
    if name in _ALLOCATORS:
        made = f"gs_host_made_memory(GS_FN_{name}, *pptr, {_ALLOCATORS[name]}, hContext)"
        return [], [Watch(made, SUCCESS)]
    if name in _FREERS:
        before = [] if name in _WAITING_FREERS else [Watch(f"gs_host_freeing(GS_FN_{name}, ptr)")]
        return before, [Watch(f"gs_host_freed(GS_FN_{name}, ptr, result)")]
    if any(word in name for word in _ENDERS):
        return _ends(function, registry)
    if any(word in name for word in _MAKERS):
        return [], [_made(function, each, registry) for each in _handles_out(function, registry)]
    return [], []


def _handles_out(function: Function, registry: Registry) -> list[Parameter]:
    return [
        each
        for each in function.parameters
        if each.type.base in registry.handles
        and each.type.is_pointer
        and each.direction is Direction.OUT
    ]


def _made(function: Function, made: Parameter, registry: Registry) -> Watch:
    kind, parent = registry.kind_of(made.type.base), function.parameters[0].name
    call = f"gs_host_made(GS_FN_{function.name}, GS_KIND_{kind}, *{made.name}, {parent})"
    return Watch(call, f"{SUCCESS} && NULL != {made.name}")


def _ends(function: Function, registry: Registry) -> tuple[list[Watch], list[Watch]]:
    """The object is the last handle: that of physical memory comes after its context."""
    handles = [p for p in function.parameters if p.type.base in registry.handles]
    if not handles or handles[-1].type.is_pointer:
        return [], []
    name, kind = handles[-1].name, registry.kind_of(handles[-1].type.base)
    fn = f"GS_FN_{function.name}"
    return (
        [Watch(f"gs_host_ending({fn}, GS_KIND_{kind}, {name})")],
        [Watch(f"gs_host_ended({fn}, {name}, result)")],
    )
