"""A workbench for driver tests: makes objects through the raw API and takes them down again."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.ctypeslib  # now: a process that gives up its rights may not find it later
import numpy.typing as npt

from groundstate import ze
from tests.conftest import check

FOREVER = 2**64 - 1
MILLISECOND = 1_000_000
COPY_ORDINAL = 1

Bytes = npt.NDArray[np.uint8]


class Bench:
    """One context and everything that a test makes in it.

    At the end, every plain event is signalled, so that nothing stays blocked; then each queue is
    waited for, and each object is destroyed, the youngest first.
    """

    def __init__(self, driver: int, device: int) -> None:
        self.driver = driver
        self.device = device
        self._endings: dict[int, Callable[[int], int]] = {}
        self._plain_events: list[int] = []
        self.context = self._made(
            ze.zeContextDestroy, ze.zeContextCreate, driver, ctypes.byref(ze.ze_context_desc_t())
        )

    def _made(self, ending: Callable[[int], int], function: Any, *arguments: Any) -> int:
        """Calls a function that creates an object, and remembers how the object ends."""
        handle = ctypes.c_void_p()
        check(function(*arguments, ctypes.byref(handle)))
        assert handle.value is not None
        self._endings[handle.value] = ending
        return handle.value

    def forget(self, handle: int) -> int:
        """Leaves the end of an object to the test."""
        del self._endings[handle]
        if handle in self._plain_events:
            self._plain_events.remove(handle)
        return handle

    def end(self, handle: int) -> None:
        """Destroys an object now."""
        check(self._endings[handle](handle))
        self.forget(handle)

    def close(self) -> None:
        for event in self._plain_events:
            check(ze.zeEventHostSignal(event))
        for handle in reversed(list(self._endings)):
            check(self.settle(handle))
        for handle in reversed(list(self._endings)):
            check(self._endings[handle](handle))
        self._endings.clear()

    def settle(self, handle: int, timeout: int = FOREVER) -> int:
        """Waits for a queue or an immediate list; other handles need no waiting."""
        if self._endings[handle] is ze.zeCommandQueueDestroy:
            return int(ze.zeCommandQueueSynchronize(handle, timeout))
        if self._endings[handle] is ze.zeCommandListDestroy and is_immediate(handle):
            return int(ze.zeCommandListHostSynchronize(handle, timeout))
        return ze.ZE_RESULT_SUCCESS

    def settle_all(self, timeout: int) -> None:
        """Lets queues and immediate lists come to their end, the last first, until one does not."""
        for handle in reversed(list(self._endings)):
            if self.settle(handle, timeout) != ze.ZE_RESULT_SUCCESS:
                return

    # --- Memory -----------------------------------------------------------------------------------

    def _free(self, pointer: int) -> int:
        return int(ze.zeMemFree(self.context, pointer))

    def host(self, size: int, alignment: int = 0) -> int:
        description = ze.ze_host_mem_alloc_desc_t()
        return self._made(
            self._free,
            ze.zeMemAllocHost,
            self.context,
            ctypes.byref(description),
            size,
            alignment,
        )

    def local(self, size: int, alignment: int = 0) -> int:
        """Device memory."""
        return self._made(
            self._free,
            ze.zeMemAllocDevice,
            self.context,
            ctypes.byref(ze.ze_device_mem_alloc_desc_t()),
            size,
            alignment,
            self.device,
        )

    def shared(self, size: int, alignment: int = 0) -> int:
        return self._made(
            self._free,
            ze.zeMemAllocShared,
            self.context,
            ctypes.byref(ze.ze_device_mem_alloc_desc_t()),
            ctypes.byref(ze.ze_host_mem_alloc_desc_t()),
            size,
            alignment,
            self.device,
        )

    def bytes(self, size: int, fill: int | None = None) -> Bytes:
        """Host memory as an array; `address(array)` leads back to it."""
        array = view(self.host(size), size)
        if fill is not None:
            array[:] = fill
        return array

    def random_bytes(self, size: int, seed: int = 1) -> Bytes:
        array = self.bytes(size)
        array[:] = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
        return array

    # --- Queues and lists -------------------------------------------------------------------------

    def queue(self, **fields: Any) -> int:
        return self._made(
            ze.zeCommandQueueDestroy,
            ze.zeCommandQueueCreate,
            self.context,
            self.device,
            ctypes.byref(ze.ze_command_queue_desc_t(**fields)),
        )

    def immediate(self, in_order: bool = False, **fields: Any) -> int:
        if in_order:
            fields["flags"] = fields.get("flags", 0) | ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER
        return self._made(
            ze.zeCommandListDestroy,
            ze.zeCommandListCreateImmediate,
            self.context,
            self.device,
            ctypes.byref(ze.ze_command_queue_desc_t(**fields)),
        )

    def list(self, in_order: bool = False, flags: int = 0, ordinal: int = 0) -> int:
        if in_order:
            flags |= ze.ZE_COMMAND_LIST_FLAG_IN_ORDER
        description = ze.ze_command_list_desc_t(commandQueueGroupOrdinal=ordinal, flags=flags)
        return self._made(
            ze.zeCommandListDestroy,
            ze.zeCommandListCreate,
            self.context,
            self.device,
            ctypes.byref(description),
        )

    def clone(self, original: int) -> int:
        return self._made(ze.zeCommandListDestroy, ze.zeCommandListCreateCloneExp, original)

    def fence(self, queue: int, flags: int = 0) -> int:
        description = ze.ze_fence_desc_t(flags=flags)
        return self._made(ze.zeFenceDestroy, ze.zeFenceCreate, queue, ctypes.byref(description))

    # --- Events -----------------------------------------------------------------------------------

    def pool(self, count: int = 1, flags: int = 0, chained: Any = None) -> int:
        description = ze.ze_event_pool_desc_t(
            count=count, flags=flags, pNext=ctypes.addressof(chained) if chained else None
        )
        return self._made(
            ze.zeEventPoolDestroy,
            ze.zeEventPoolCreate,
            self.context,
            ctypes.byref(description),
            0,
            None,
        )

    def event_in(self, pool: int, index: int = 0, **fields: Any) -> int:
        """An event of a pool."""
        description = ze.ze_event_desc_t(index=index, **fields)
        return self._made(ze.zeEventDestroy, ze.zeEventCreate, pool, ctypes.byref(description))

    def events(self, count: int, flags: int = 0) -> Sequence[int]:
        """Plain events, in a pool of their own."""
        pool = self.pool(count, flags)
        events = [self.event_in(pool, index) for index in range(count)]
        self._plain_events += events
        return events

    def event(self, flags: int = 0) -> int:
        return self.events(1, flags)[0]

    def counter_event_in_pool(self, lists: int = 0) -> int:
        """An event of a counter-based pool, for the kinds of lists that the flags say."""
        return self.event_in(
            self.pool(1, chained=ze.ze_event_pool_counter_based_exp_desc_t(flags=lists))
        )

    def counter_event(self, flags: int = 0, chained: Any = None) -> int:
        """An event of zeEventCounterBasedCreate."""
        description = ze.ze_event_counter_based_desc_t(
            flags=flags, pNext=ctypes.addressof(chained) if chained else None
        )
        return self._made(
            ze.zeEventDestroy,
            ze.zeEventCounterBasedCreate,
            self.context,
            self.device,
            ctypes.byref(description),
        )


def view(address: int, size: int) -> Bytes:
    """The bytes at an address as an array."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def address(array: npt.NDArray[Any], offset: int = 0) -> int:
    """Where an array lies, `offset` bytes on."""
    return array.ctypes.data + offset


def handles(*values: int) -> Any:
    """An array of handles, as the API takes wait events and lists."""
    return (ctypes.c_void_p * len(values))(*values)


def is_immediate(commands: int) -> bool:
    answer = ctypes.c_uint8()
    check(ze.zeCommandListIsImmediate(commands, ctypes.byref(answer)))
    return bool(answer.value)


def copy(
    commands: int,
    to: int,
    source: int,
    size: int,
    signal: int | None = None,
    waits: Sequence[int] = (),
) -> None:
    """Appends a copy."""
    check(
        ze.zeCommandListAppendMemoryCopy(
            commands, to, source, size, signal, len(waits), handles(*waits)
        )
    )


def fill(
    commands: int,
    to: int,
    pattern: bytes,
    size: int,
    signal: int | None = None,
    waits: Sequence[int] = (),
) -> None:
    """Appends a fill."""
    check(
        ze.zeCommandListAppendMemoryFill(
            commands, to, pattern, len(pattern), size, signal, len(waits), handles(*waits)
        )
    )


def barrier(commands: int, signal: int | None = None, waits: Sequence[int] = ()) -> None:
    """Appends a barrier, which here is any command that only waits and signals."""
    check(ze.zeCommandListAppendBarrier(commands, signal, len(waits), handles(*waits)))


def close_list(commands: int) -> int:
    check(ze.zeCommandListClose(commands))
    return commands


def submit(queue: int, *lists: int, fence: int | None = None) -> None:
    """Gives closed lists to a queue."""
    check(ze.zeCommandQueueExecuteCommandLists(queue, len(lists), handles(*lists), fence))


def finish(queue_or_list: int) -> None:
    """Waits for an immediate list."""
    check(ze.zeCommandListHostSynchronize(queue_or_list, FOREVER))


def finish_queue(queue: int) -> None:
    check(ze.zeCommandQueueSynchronize(queue, FOREVER))


def is_signalled(event: int) -> bool:
    result = ze.zeEventQueryStatus(event)
    assert result in (ze.ZE_RESULT_SUCCESS, ze.ZE_RESULT_NOT_READY)
    return bool(result == ze.ZE_RESULT_SUCCESS)


def global_timestamps(device: int) -> tuple[int, int]:
    """The host's clock and the device's, read together."""
    host, own = ctypes.c_uint64(), ctypes.c_uint64()
    check(ze.zeDeviceGetGlobalTimestamps(device, ctypes.byref(host), ctypes.byref(own)))
    return host.value, own.value


@contextmanager
def in_another_thread(work: Callable[[], None]) -> Iterator[threading.Thread]:
    """Runs `work` beside the body; a failure in it is raised at the end of the body."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            failures.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    yield thread
    thread.join()
    if failures:
        raise failures[0]
