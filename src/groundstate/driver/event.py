"""Events across processes. All else is in native/objects/event.c and event_pool.c."""

from __future__ import annotations

from groundstate import ze
from groundstate.driver import ipc, native
from groundstate.driver.api import Failure, handler, write_pointer


@handler
def zeEventPoolGetIpcHandle(hEventPool: int, phIpc: int) -> None:
    fd, count = native.event_pool_file(hEventPool)
    if fd < 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
            "the pool is not for sharing; create it with ZE_EVENT_POOL_FLAG_IPC",
        )
    flags = native.event_pool_flags(hEventPool)
    ipc.write_handle(phIpc, ipc.SharedFile(ipc.EVENT_POOL, fd, count, flags))


@handler
def zeEventPoolPutIpcHandle(hContext: int, hIpc: int) -> None:
    """The file stays the pool's, so there is nothing to release."""
    ipc.check_handle(hIpc, ipc.EVENT_POOL)


@handler
def zeEventPoolOpenIpcHandle(hContext: int, hIpc: int, phEventPool: int) -> None:
    shared = ipc.open_handle(hIpc, ipc.EVENT_POOL)
    write_pointer(
        phEventPool, native.event_pool_open(hContext, shared.detail, shared.size, shared.fd)
    )


@handler
def zeEventCounterBasedGetIpcHandle(hEvent: int, phIpc: int) -> None:
    fd, offset = native.event_share(hEvent)
    if fd < 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the event is not for sharing; create it with ZE_EVENT_COUNTER_BASED_FLAG_IPC",
        )
    flags = native.event_counter_based_flags(hEvent)
    ipc.write_handle(phIpc, ipc.SharedFile(ipc.EVENT, fd, offset, flags))


@handler
def zeEventCounterBasedOpenIpcHandle(hContext: int, hIpc: int, phEvent: int) -> None:
    shared = ipc.open_handle(hIpc, ipc.EVENT)
    write_pointer(phEvent, native.event_open(hContext, shared.fd, shared.size, shared.detail))
