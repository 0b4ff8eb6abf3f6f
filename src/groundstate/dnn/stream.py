"""Streams: the command list that primitives are executed on."""

from __future__ import annotations

import contextlib
import ctypes
from types import TracebackType

from groundstate import ze
from groundstate.core.errors import LevelZeroError, UnsupportedFeature
from groundstate.dnn import native
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import DnnError, invalid, require
from groundstate.dnn.types import Status, StreamFlags


class Stream(native.Owner):
    """A command list of an engine: one made here, or a caller's.

    Level Zero does not say whether a caller's list is in order, so none of them is taken to be.
    """

    def __init__(
        self,
        engine: Engine,
        flags: int = StreamFlags.in_order,
        *,
        list_handle: int = 0,
        profiling: bool = False,
    ) -> None:
        self.engine = engine
        self.flags = StreamFlags(flags)
        self.profiling = profiling or bool(self.flags & StreamFlags.profiling)
        self._owned = list_handle == 0
        disorder = bool(self.flags & StreamFlags.out_of_order)
        if self._owned:
            both = disorder and bool(self.flags & StreamFlags.in_order)
            require(not both, "a stream is either in order or out of order")
            require(not (disorder and self.profiling), "only streams in order can be profiled")
        self.in_order = self._owned and not disorder
        self.list = list_handle or self._create()
        try:
            self.immediate = self._is_immediate()
            self._handle = native.made(
                native.library().gs_stream_new(
                    engine.native, self.list, self.in_order, self.immediate, self.profiling
                )
            )
        except (DnnError, LevelZeroError):
            self._end_list()
            raise

    @classmethod
    def wrap(cls, engine: Engine, list_handle: int, *, profiling: bool = False) -> Stream:
        """The stream of a caller's list, regular or immediate, which stays the caller's."""
        device = ctypes.c_void_p(engine.device)
        try:
            engine.api.call("zeCommandListGetDeviceHandle", list_handle, ctypes.byref(device))
        except UnsupportedFeature:
            pass  # a loader that does not know the function: the list is believed
        except LevelZeroError as problem:
            invalid(f"the command list cannot be used: {problem}")
        require(device.value == engine.device, "the command list is one of another device")
        return cls(engine, list_handle=list_handle, profiling=profiling)

    def _create(self) -> int:
        flags = ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER if self.in_order else 0
        description = ze.ze_command_queue_desc_t(flags=flags)
        engine = self.engine
        return engine.api.create(
            "zeCommandListCreateImmediate",
            engine.context,
            engine.device,
            ctypes.byref(description),
        )

    def _is_immediate(self) -> bool:
        """Loaders before 1.9 do not tell; then it is taken to be."""
        answer = ctypes.c_uint8(1)
        with contextlib.suppress(UnsupportedFeature):
            self.engine.api.call("zeCommandListIsImmediate", self.list, ctypes.byref(answer))
        return bool(answer.value)

    def copy(self, target: int, source: int, size_bytes: int) -> None:
        """Copies memory after what was executed so far."""
        result = native.library().gs_stream_copy(self.native, target, source, size_bytes)
        native.check(result, "a copy")

    def wait(self) -> None:
        """Waits until all is done; a regular list is the caller's to execute and wait for."""
        native.check(native.library().gs_stream_wait(self.native), "waiting")

    def count_times(self) -> int:
        """How many executions there were since `reset_times`."""
        require(self.profiling, "the stream was not made for profiling")
        return int(native.library().gs_stream_times(self.native, 0, None))

    def times_ns(self) -> list[int]:
        """How long each execution took since `reset_times`, in nanoseconds."""
        count = self.count_times()
        times = (ctypes.c_uint64 * max(1, count))()
        if native.library().gs_stream_times(self.native, count, times) < 0:
            raise DnnError(Status.runtime_error, "an execution has not ended: wait for it first")
        return list(times[:count])

    def reset_times(self) -> None:
        """Forgets the times of executions."""
        require(self.profiling, "the stream was not made for profiling")
        native.library().gs_stream_reset(self.native)

    def _release(self, handle: int) -> None:
        """Destroys the events of executions, and the list if it was made here.

        The list goes first: with the stream its engine may end, and the engine's context.
        """
        if self._owned:
            native.library().gs_stream_wait(handle)
        self._end_list()
        native.library().gs_stream_free(handle)

    def _end_list(self) -> None:
        if self._owned:
            self.engine.api.raw("zeCommandListDestroy", self.list)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if problem is None:
            self.wait()
        self.close()
