"""Graphs: short ways to record, instantiate and run them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from groundstate import ze
from tests.conftest import check
from tests.driver.support import Bench, finish, handles

UNSUPPORTED_IN_CAPTURE = ze.ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
EXTERNAL = ze.ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL | ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE


class Recording:
    """What a capture leads to: the graph, once the capture has ended."""

    def __init__(self) -> None:
        self.graph = 0


def begin(commands: int) -> None:
    check(ze.zeCommandListBeginGraphCaptureExt(commands, None))


def end(bench: Bench, commands: int, expected: int = ze.ZE_RESULT_SUCCESS) -> int:
    """Ends a capture and answers the graph, which the bench destroys."""
    handle = ctypes.c_void_p()
    result = ze.zeCommandListEndGraphCaptureExt(commands, None, ctypes.byref(handle))
    assert result == expected, hex(result)
    assert handle.value is not None
    bench._endings[handle.value] = ze.zeGraphDestroyExt
    return handle.value


@contextmanager
def recorded(bench: Bench, commands: int) -> Iterator[Recording]:
    """Records what the body appends to a list."""
    recording = Recording()
    begin(commands)
    try:
        yield recording
    except BaseException:
        end_in_vain(commands)
        raise
    recording.graph = end(bench, commands)


def end_in_vain(commands: int) -> None:
    """Ends a capture whatever it was, so that a failed test can clean up."""
    handle = ctypes.c_void_p()
    ze.zeCommandListEndGraphCaptureExt(commands, None, ctypes.byref(handle))
    if handle.value is not None:
        ze.zeGraphDestroyExt(handle.value)


def instantiate(bench: Bench, graph: int) -> int:
    return bench._made(ze.zeExecutableGraphDestroyExt, ze.zeGraphInstantiateExt, graph, None)


def append(
    commands: int, executable: int, signal: int | None = None, waits: Sequence[int] = ()
) -> int:
    """Appends a run of an executable graph. Answers the result."""
    return int(
        ze.zeCommandListAppendGraphExt(
            commands, executable, None, signal, len(waits), handles(*waits)
        )
    )


def replay(commands: int, executable: int, times: int = 1) -> None:
    """Runs an executable graph and waits for it."""
    for _ in range(times):
        check(append(commands, executable))
    finish(commands)


def captures(commands: int) -> bool:
    """True if a list is in capture mode."""
    result = ze.zeCommandListIsGraphCaptureEnabledExt(commands)
    assert result in (ze.ZE_RESULT_QUERY_TRUE, ze.ZE_RESULT_QUERY_FALSE)
    return bool(result == ze.ZE_RESULT_QUERY_TRUE)


def is_empty(graph: int) -> int:
    return int(ze.zeGraphIsEmptyExt(graph))
