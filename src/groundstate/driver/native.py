"""The native half of the driver, as Python sees it.

The library that started this interpreter is opened again by its path, which gives the same copy.
Its functions never call back into Python. They are called without the GIL, because they may wait
for memory, for the device or for whoever reads stderr. Those of `_UNDER_GIL` only look something
up or write something down.
"""

from __future__ import annotations

import ctypes
import errno
import os

from groundstate.driver.api import Failure
from groundstate.native_layouts import QUEUE_GROUPS, AllocationFacts, MemoryFacts, Speed

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_library: ctypes.CDLL | None = None
_library_under_gil: ctypes.PyDLL | None = None

_P, _U32, _U64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
_INT, _BOOL = ctypes.c_int, ctypes.c_bool

_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "gs_driver_new": (_P, ()),
    "gs_device_new": (
        _P,
        (_P, _P, _U32, _U64, _U32, _U32),
    ),
    "gs_device_confine": (_BOOL, (_P, _P, _U32, _P, _U32)),
    "gs_device_place": (_BOOL, (_P, _U32, _U32, _P, _U32)),
    "gs_memory_spread": (None, (_P, _U32)),
    "gs_device_locate": (None, (_P, _U32, ctypes.c_int32)),
    "gs_activity_page": (_P, (_P,)),
    "gs_device_memory_used": (_U64, (_P,)),
    "gs_object_create": (_P, (ctypes.c_char_p,)),
    "gs_object_end": (_BOOL, (_P,)),
    "gs_set_shared_in_device": (None, (_BOOL,)),
    "gs_fault_crash": (None, (_BOOL,)),
    "gs_debug_launches": (None, (_BOOL,)),
    "gs_watch_queues": (None, (_BOOL,)),
    "gs_watchdog_set_limit": (None, (_U64,)),
    "gs_profile_start": (_BOOL, (ctypes.c_char_p, _BOOL)),
    "gs_profile_text": (None, (ctypes.c_char_p, _U64)),
    "gs_profile_is_written": (_BOOL, ()),
    "gs_say_errors": (None, (_INT,)),
    "gs_check_waits": (None, (_BOOL,)),
    "gs_set_checks": (None, (_U32,)),
    "gs_report_same_values": (None, (_BOOL,)),
    "gs_check_device_memory": (None, (_BOOL,)),
    "gs_memory_at": (_BOOL, (_U64, _P)),
    "gs_local_memory_at": (_BOOL, (_U64,)),
    "gs_vary": (None, (_U64,)),
    "gs_limit_launches": (None, (_U64, _U64)),
    "gs_is_unwritten": (_BOOL, (_U64, _U64)),
    "gs_device_measure": (_BOOL, (_P, _P, _U64, _P)),
    "gs_device_is_used": (_BOOL, (_P,)),
    "gs_device_reset": (None, (_P,)),
    "gs_memory_file": (_INT, (_U64,)),
    "gs_allocation_find": (_BOOL, (_P, _P, _P)),
    "gs_allocation_share": (_INT, (_P, _P)),
    "gs_allocation_import": (
        _U32,
        (_P, _P, _INT, _U64, _U64, _U64, _BOOL, _P),
    ),
    "gs_allocation_adopt": (_U32, (_P, _P, _U64)),
    "gs_mapping_add": (
        _U32,
        (_P, _P, _P, _U64),
    ),
    "gs_mapping_remove": (None, (_P, _P)),
    "gs_image_memory": (_P, (_P,)),
    "gs_metric_group_new": (_P, (_P, _U32, _U32, _U32, _U32)),
    "gs_processor_events": (_U32, (_P,)),
    "gs_package_add_file": (_BOOL, (_P, _U32, ctypes.c_char_p, _U64)),
    "gs_package_add_event": (_BOOL, (_P, _U32, _U32, _U64, _INT, ctypes.c_double)),
    "gs_metric_group_open": (_BOOL, (_P,)),
    "gs_metric_group_close": (None, (_P, _U32, _U32, _U32)),
    "gs_metric_tracer_sources": (_U32, (_P, _P)),
    "gs_metrics_are_used": (_BOOL, (_P,)),
    "gs_is_handle": (_BOOL, (_P, ctypes.c_char_p)),
    "gs_event_pool_flags": (_U32, (_P,)),
    "gs_event_counter_based_flags": (_U32, (_P,)),
    "gs_context_uses_device": (_BOOL, (_P, _P)),
    "gs_context_gpu": (_P, (_P,)),
    "gs_device_charge": (_U32, (_P, _U64)),
    "gs_device_uncharge": (None, (_P, _U64)),
    "gs_event_pool_fd": (_INT, (_P,)),
    "gs_event_pool_count": (_U32, (_P,)),
    "gs_event_pool_open": (
        _U32,
        (_P, _U32, _U32, _INT, _P),
    ),
    "gs_event_share": (_INT, (_P, _P)),
    "gs_event_open": (
        _U32,
        (_P, _INT, _U64, _U32, _P),
    ),
    "gs_last_error_text": (ctypes.c_char_p, ()),
    "gs_cuda_open": (_INT, (ctypes.c_char_p,)),
    "gs_cuda_attribute": (_INT, (_INT, _INT)),
    "gs_cuda_version": (_INT, ()),
    "gs_cuda_identify": (_BOOL, (_INT, _P, _U32, _P, _P)),
    "gs_gpu_adopt": (_BOOL, (_P, _INT)),
    "gs_gpu_free_memory": (_U64, (_P,)),
    "gs_gpu_reaches": (_U32, (_P, _P)),
    "gs_gpu_exports": (_BOOL, (_P,)),
    "gs_gpu_export_fd": (_INT, (_P, _P)),
    "gs_gpu_import_fd": (_U32, (_P, _P, _INT, _U64, _U64, _P)),
    "gs_gpu_open_offer": (_U32, (_P, _P, _INT, _P)),
    "gs_gpu_module_build": (_U32, (_P, ctypes.c_char_p, _P, _U32, _P, _P)),
    "gs_gpu_module_drop": (None, (_P,)),
    "gs_gpu_page_size": (_U64, (_P,)),
    "gs_gpu_reserve": (_U64, (_P, _U64, _U64)),
    "gs_gpu_unreserve": (None, (_P, _U64, _U64)),
    "gs_gpu_pages_new": (_U32, (_P, _U64, _U64, _P)),
    "gs_gpu_pages_end": (None, (_P,)),
    "gs_gpu_pages_map": (_U32, (_P, _U64, _U64, _U64, _U32)),
    "gs_gpu_pages_protect": (_U32, (_P, _U64, _U64, _U32)),
    "gs_gpu_pages_unmap": (None, (_P, _U64, _U64)),
    "gs_gpu_module_load": (_U32, (_P, ctypes.c_char_p, _P, _U32, _P, _P)),
    "gs_gpu_module_unload": (None, (_P, _P, _U32)),
    "gs_gpu_function": (_P, (_P, _P, ctypes.c_char_p, _P)),
    "gs_gpu_variable": (_U64, (_P, _P, ctypes.c_char_p, _P)),
    "gs_module_new": (_P, (_P, _P, _U64)),
    "gs_module_reap": (_U64, ()),
    "gs_module_run_once": (_BOOL, (_P, _P, _P, _P, ctypes.c_char_p)),
    "gs_module_set_globals": (None, (_P, _P)),
    "gs_globals_new": (_U32, (_P, _P, ctypes.c_char_p, _U64, _P)),
    "gs_globals_base": (_P, (_P,)),
    "gs_globals_drop": (None, (_P,)),
    "gs_entry_point_add": (_P, (_P, _P)),
    "gs_code_add": (_BOOL, (_P, _P, _P)),
    "gs_variant_add": (None, (_P, _P)),
    "gs_variant_count": (_U32, (_P, _P)),
    "gs_variant_preferred": (_U32, (_P, _P)),
    "gs_variant_requests_forget": (None, (_P,)),
    "gs_variant_requests_settle": (_BOOL, (_U64,)),
    "gs_variant_requests_are_stopped": (_BOOL, ()),
    "gs_debugger_add": (_P, (ctypes.c_char_p, _U64)),
    "gs_debugger_remove": (None, (_P,)),
    "gs_kernel_new": (_P, (_P, _P)),
    "gs_kernel_entry_point": (_P, (_P,)),
    "gs_kernel_block": (_P, (_P,)),
    "gs_kernel_has_argument": (_BOOL, (_P, _U32)),
    "gs_kernel_group_size": (None, (_P, _P)),
    "gs_check_session_start": (None, ()),
    "gs_host_check": (_BOOL, (_BOOL,)),
    "gs_host_report_leaks": (None, ()),
    "gs_host_stacks_enable": (None, (_BOOL,)),
    "gs_host_stack_take": (_P, ()),
    "gs_openxla_adjust": (_BOOL, ()),
    "gs_host_stack_describe": (_U64, (_P, _P, _U64)),
}

_UNDER_GIL = frozenset(
    {
        "gs_activity_page",
        "gs_device_memory_used",
        "gs_is_handle",
        "gs_event_pool_flags",
        "gs_event_counter_based_flags",
        "gs_context_uses_device",
        "gs_event_pool_fd",
        "gs_event_pool_count",
        "gs_last_error_text",
        "gs_module_reap",
        "gs_globals_base",
        "gs_entry_point_add",
        "gs_code_add",
        "gs_variant_add",
        "gs_variant_count",
        "gs_variant_preferred",
        "gs_variant_requests_are_stopped",
        "gs_debugger_add",
        "gs_debugger_remove",
        "gs_kernel_new",
        "gs_kernel_entry_point",
        "gs_kernel_block",
        "gs_kernel_has_argument",
        "gs_kernel_group_size",
    }
)
"""What takes no longer than to let another thread have the GIL, waits for nothing and cannot fail
with a sentence: native/threads/lock.h."""


_functions: dict[str, Callable[..., Any]] = {}


def load(path: str) -> None:
    """Opens the library, once, before anything else here is used."""
    global _library, _library_under_gil
    _library, _library_under_gil = ctypes.CDLL(path), ctypes.PyDLL(path)
    for name, (restype, argtypes) in _SIGNATURES.items():
        function = getattr(_library_under_gil if name in _UNDER_GIL else _library, name)
        function.restype = restype
        function.argtypes = argtypes
        _functions[name] = function


def _call(name: str, *arguments: object) -> int:
    return int(_functions[name](*arguments) or 0)


def _check(name: str, *arguments: object) -> None:
    """Calls a native function that returns a `ze_result_t` and has recorded why it failed."""
    result = _call(name, *arguments)
    if result != 0:
        raise Failure(result, last_error())


def last_error() -> str:
    """The sentence that the last failure of this thread has recorded."""
    return str(_functions["gs_last_error_text"]().decode(errors="replace"))


def _new(name: str, what: str, *arguments: object) -> int:
    """Calls a native function that returns something new, or nothing if there is no memory."""
    made = _call(name, *arguments)
    if made == 0:
        raise MemoryError(f"no memory for another {what}")
    return made


def driver_new() -> int:
    """A new driver handle."""
    return _new("gs_driver_new", "driver")


def device_new(
    driver: int, parent: int, worker_count: int, memory_bytes: int, queue_count: int
) -> int:
    """A new device handle."""
    sizes = (worker_count, memory_bytes, QUEUE_GROUPS, queue_count)
    return _new("gs_device_new", "device", driver, parent, *sizes)


def gpu_adopt(device: int, ordinal: int) -> None:
    """Makes a new device the NVIDIA GPU of this number."""
    if not _call("gs_gpu_adopt", device, ordinal):
        raise MemoryError(f"no memory for GPU {ordinal}")


def device_confine(device: int, cpus: Sequence[int], nodes: Sequence[int]) -> None:
    """Holds what runs on a device to some CPUs, and its memory near some nodes (none: anywhere)."""
    numbers = [(_U32 * len(each))(*each) for each in (cpus, nodes)]
    if not _call("gs_device_confine", device, numbers[0], len(cpus), numbers[1], len(nodes)):
        raise MemoryError(f"no memory to note the CPUs {list(cpus)} of a device")


def device_place(device: int, first: int, count: int, cpus: Sequence[int]) -> None:
    """Holds some workers of a device, counted from the first, to some CPUs."""
    if not _call("gs_device_place", device, first, count, (_U32 * len(cpus))(*cpus), len(cpus)):
        raise MemoryError(f"no memory to note the CPUs {list(cpus)} of workers")


def memory_spread(nodes: Sequence[int]) -> None:
    """Spreads the pages that the host touches over memory nodes."""
    _call("gs_memory_spread", (_U32 * len(nodes))(*nodes), len(nodes))


def device_locate(device: int, path: Sequence[int]) -> None:
    """Says which part of the machine a device is: its number, and that of a sub-device."""
    _call("gs_device_locate", device, path[0], path[1] if len(path) > 1 else -1)


def activity_page() -> tuple[int, int]:
    """The address and the size of what this process counts: native/runtime/activity.h."""
    size = _U64()
    return _new("gs_activity_page", "page of counters", ctypes.byref(size)), size.value


def openxla_adjust() -> bool:
    """Whether OpenXLA's plugin is loaded, which then takes our device's memory for a GPU's."""
    return bool(_functions) and bool(_call("gs_openxla_adjust"))


def measure(device: int, peer: int, size: int) -> tuple[int, int, int, int]:
    """Bytes that a device copies, reads and writes in a second, and nanoseconds of latency.

    All are 0 if there was no memory to try it with.
    """
    found = Speed()
    _call("gs_device_measure", device, peer, size, ctypes.byref(found))
    return found.copy, found.read, found.write, found.latency


def device_memory_used(device: int) -> int:
    """Bytes of the device's memory that are allocated."""
    return _call("gs_device_memory_used", device)


def object_new(kind: str) -> int:
    """A live handle of a kind whose objects are kept in Python: `ze_physical_mem_handle_t`."""
    return _new("gs_object_create", kind, kind.encode())


def object_end(handle: int) -> None:
    """Makes a handle from `object_new` stale."""
    _call("gs_object_end", handle)


def metric_group_new(device: int, sampling: int, domain: int, first: int, count: int) -> int:
    """A handle for a metric group, whose reports have these words of `gs_metric_counts`."""
    facts = (sampling, domain, first, count)
    return _new("gs_metric_group_new", "metric group", device, *facts)


def metric_group_open(group: int) -> bool:
    """Lets a group that a program makes be changed; false if it is used."""
    return bool(_call("gs_metric_group_open", group))


def metric_group_close(group: int, domain: int, first: int, count: int) -> None:
    """Ends that: it has a domain and words, and can be active."""
    _call("gs_metric_group_close", group, domain, first, count)


def metric_tracer_sources(tracer: int) -> tuple[int, int]:
    """Which sources a tracer has, as bits from that of commands on, and its device's handle."""
    device = ctypes.c_void_p()
    return _call("gs_metric_tracer_sources", tracer, ctypes.byref(device)), device.value or 0


def processor_events() -> int:
    """Which events the system counts for this process, as bits: native/metrics/processor.c."""
    error = ctypes.c_int()
    return _call("gs_processor_events", ctypes.byref(error))


def package_add_file(device: int, word: int, path: str, turn: int) -> bool:
    """Adds a file with a number to a device's counters; device 0: whether it can be read."""
    return bool(_call("gs_package_add_file", device or None, word, os.fsencode(path), turn))


def package_add_event(
    device: int, word: int, type_: int, config: int, cpu: int, scale: float
) -> bool:
    """The same for an event that the system counts on a CPU (perf_event_open)."""
    facts = (type_, config, cpu, scale)
    return bool(_call("gs_package_add_event", device or None, word, *facts))


def metrics_are_used(device: int) -> bool:
    """Whether metric groups of a device are active, or streamers are open."""
    return bool(_call("gs_metrics_are_used", device))


def fabric_vertex_new(device: int) -> int:
    """A handle for a device's place in the fabric."""
    del device
    return object_new("ze_fabric_vertex_handle_t")


def fabric_edge_new() -> int:
    """A handle for a link between two places in the fabric."""
    return object_new("ze_fabric_edge_handle_t")


def function_address(name: str) -> int:
    """The address of an API function that the library exports, or 0."""
    if not name.startswith(("ze", "zes", "zet", "zer")) or "ProcAddrTable" in name:
        return 0
    try:
        function = getattr(_library, name)
    except AttributeError:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def set_shared_in_device(enable: bool) -> None:
    """Counts shared allocations as device memory: ZE_SHARED_FORCE_DEVICE_ALLOC."""
    _call("gs_set_shared_in_device", enable)


def crash_on_faults(enable: bool) -> None:
    """Leaves faults on the device to the program and its debugger: GROUNDSTATE_FAULTS."""
    _call("gs_fault_crash", enable)


def limit_kernels(nanoseconds: int) -> None:
    """Stops kernels that run for longer; 0 lets them run: GROUNDSTATE_KERNEL_LIMIT."""
    _call("gs_watchdog_set_limit", nanoseconds)


def is_used(device: int) -> bool:
    """Whether this process has a context for a device or for a part of it."""
    return bool(_call("gs_device_is_used", device))


def reset_device(device: int) -> None:
    """Stops what this process runs on a device, and loses the contexts that use it."""
    _call("gs_device_reset", device)


def set_checks(checks: int) -> None:
    """Switches checkers on, by their bits: GROUNDSTATE_CHECK."""
    _call("gs_set_checks", checks)


def memory_at(address: int) -> MemoryFacts | None:
    """What checked mode knows of the memory at an address, freed memory among it."""
    found = MemoryFacts()
    return found if _call("gs_memory_at", address, ctypes.byref(found)) else None


def is_local_memory(address: int) -> bool:
    """Whether an address lies in local memory, of whichever group."""
    return bool(_call("gs_local_memory_at", address))


def vary(seed: int) -> None:
    """Lets schedules and undefined contents depend on a seed; not on anything if it is 0."""
    _call("gs_vary", seed)


def limit_launches(group_size: int, local_bytes: int) -> None:
    """Lets `report_limits` of checking/portability.py know of launches with more."""
    _call("gs_limit_launches", group_size, local_bytes)


def is_unwritten(address: int, size: int) -> bool:
    """Whether the checker of uninitialised memory takes a byte for uninitialised."""
    return bool(_call("gs_is_unwritten", address, size))


def report_same_values(enable: bool) -> None:
    """Also reports races of work-items that write the same: GROUNDSTATE_CHECK_SAME_VALUES."""
    _call("gs_report_same_values", enable)


def check_device_memory(enable: bool) -> None:
    """Also reports device memory that the host touches: GROUNDSTATE_CHECK_STRICT."""
    _call("gs_check_device_memory", enable)


def debug_launches(enable: bool) -> None:
    """Lets `debug_launch` see every launch before it runs."""
    _call("gs_debug_launches", enable)


def watch_queues(enable: bool) -> None:
    """Lets `queue_changed` know of every queue that a program opens or closes."""
    _call("gs_watch_queues", enable)


def check_waits(enable: bool) -> None:
    """Ends the process where a thread waits with a lock that others need: native/threads/lock.h."""
    _call("gs_check_waits", enable)


def say_errors(which: int) -> None:
    """Prints the sentences of errors on stderr, too: 0 none, 1 serious ones, 2 all."""
    _call("gs_say_errors", which)


def context_uses_device(context: int, device: int) -> bool:
    """True if the context was created with the device or its parent."""
    return bool(_call("gs_context_uses_device", context, device))


def context_gpu(context: int) -> int:
    """The first GPU that a context uses, or 0."""
    return _call("gs_context_gpu", context) or 0


def device_charge(device: int, size: int) -> None:
    """Counts memory against a device, or fails with OUT_OF_DEVICE_MEMORY."""
    _check("gs_device_charge", device, size)


def device_uncharge(device: int, size: int) -> None:
    """Takes back `device_charge`."""
    _call("gs_device_uncharge", device, size)


def allocation(context: int, pointer: int) -> AllocationFacts | None:
    """The allocation of a context that contains an address."""
    found = AllocationFacts()
    return found if _call("gs_allocation_find", context, pointer, ctypes.byref(found)) else None


def memory_file(size: int) -> int:
    """A descriptor of a new memory file of exactly this size."""
    fd = _call("gs_memory_file", size)
    if fd < 0:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    return fd


def allocation_share(context: int, pointer: int) -> int:
    """The memory file that holds an allocation's pages, made on first use; -1 if there is none."""
    return _call("gs_allocation_share", context, pointer)


def allocation_import(context: int, device: int, fd: int, size: int, alignment: int) -> int:
    """Maps a file as an allocation and returns its address. The descriptor stays the caller's."""
    pointer, from_ipc = ctypes.c_void_p(), False
    where = (context, device, fd, 0, size, alignment, from_ipc, ctypes.byref(pointer))
    _check("gs_allocation_import", *where)
    return pointer.value or 0


def allocation_open(context: int, device: int, fd: int, size: int) -> int:
    """As `allocation_import`, for memory that is another process's, and is closed, not freed."""
    pointer, from_ipc = ctypes.c_void_p(), True
    where = (context, device, fd, 0, size, 0, from_ipc, ctypes.byref(pointer))
    _check("gs_allocation_import", *where)
    return pointer.value or 0


def allocation_adopt(context: int, memory: int, size: int) -> None:
    """Makes the caller's own memory a host allocation of the context."""
    _check("gs_allocation_adopt", context, memory, size)


def image_memory(image: int) -> int:
    """The allocation that holds an image's texels, or 0 if they lie in memory of the program."""
    return _call("gs_image_memory", image)


def mapping_add(context: int, device: int, start: int, size: int) -> None:
    """Makes mapped virtual memory known as an allocation that is not freed like one."""
    _check("gs_mapping_add", context, device, start, size)


def mapping_remove(context: int, start: int) -> None:
    """Takes back `mapping_add`."""
    _call("gs_mapping_remove", context, start)


def is_live(handle: int, kind: str) -> bool:
    """True if a handle is live and of a kind: `ze_context_handle_t`."""
    return bool(_call("gs_is_handle", handle, kind.encode()))


def event_pool_flags(pool: int) -> int:
    """The flags that the pool was created with."""
    return _call("gs_event_pool_flags", pool)


def event_counter_based_flags(event: int) -> int:
    """The flags that a counter-based event was created with."""
    return _call("gs_event_counter_based_flags", event)


def event_pool_file(pool: int) -> tuple[int, int]:
    """The memory file of an event pool (-1: it cannot be shared) and its number of events."""
    return _call("gs_event_pool_fd", pool), _call("gs_event_pool_count", pool)


def event_pool_open(context: int, flags: int, count: int, fd: int) -> int:
    """Opens another process's event pool; the descriptor is taken over."""
    handle = ctypes.c_void_p()
    _check("gs_event_pool_open", context, flags, count, fd, ctypes.byref(handle))
    return handle.value or 0


def event_share(event: int) -> tuple[int, int]:
    """The memory file of a counter-based event (-1: not shareable) and the event's place in it."""
    offset = ctypes.c_uint64()
    return _call("gs_event_share", event, ctypes.byref(offset)), offset.value


def event_open(context: int, fd: int, offset: int, flags: int) -> int:
    """Opens another process's counter-based event; the descriptor is taken over."""
    handle = ctypes.c_void_p()
    _check("gs_event_open", context, fd, offset, flags, ctypes.byref(handle))
    return handle.value or 0


def check_session_start() -> None:
    """Has `end_findings` called when the process ends."""
    _call("gs_check_session_start")


def check_host(enable: bool) -> bool:
    """Switches the checker of the host on: native/check/host/host.h.

    True if the interpreter ends before the process does: then leaks are to be reported before.
    """
    return bool(_call("gs_host_check", enable))


def report_host_leaks() -> None:
    """Reports what the program never destroyed, when it ends."""
    _call("gs_host_report_leaks")


def enable_host_stacks(enable: bool) -> None:
    """Whether the stacks of calls are taken that make memory and objects."""
    _call("gs_host_stacks_enable", enable)


def host_stack_take() -> int:
    """The program's calls that led here; 0 if stacks are not taken."""
    return _call("gs_host_stack_take")


def host_stack_describe(stack: int) -> str:
    """The calls of a stack, a line for each: native/check/host_stack.h."""
    text = ctypes.create_string_buffer(1 << 14)
    _call("gs_host_stack_describe", stack, text, len(text))
    return text.value.decode("utf-8", "replace")
