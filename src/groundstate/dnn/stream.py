"""Streams: the command list that primitives are executed on."""

from __future__ import annotations

import ctypes
from types import TracebackType

from groundstate import ze
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require
from groundstate.dnn.types import StreamFlags

_FOREVER = (1 << 64) - 1


class Stream:
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
        if self._owned:
            one = bool(self.flags & StreamFlags.in_order)
            require(
                one != bool(self.flags & StreamFlags.out_of_order),
                "a stream is either in order or out of order",
            )
            require(one or not self.profiling, "only streams in order can be profiled")
        self.in_order = self._owned and bool(self.flags & StreamFlags.in_order)
        self.list = list_handle or self._create()
        self.immediate = self._is_immediate()

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
        answer = ctypes.c_uint8()
        self.engine.api.call("zeCommandListIsImmediate", self.list, ctypes.byref(answer))
        return bool(answer.value)

    def copy(self, target: int, source: int, size_bytes: int) -> None:
        """Copies memory after what was executed so far."""
        if not self.in_order:
            self.engine.api.call("zeCommandListAppendBarrier", self.list, None, 0, None)
        self.engine.api.call(
            "zeCommandListAppendMemoryCopy", self.list, target, source, size_bytes, None, 0, None
        )

    def wait(self) -> None:
        """Waits until all is done; a regular list is the caller's to execute and wait for."""
        if self.immediate:
            self.engine.api.call("zeCommandListHostSynchronize", self.list, _FOREVER)

    def close(self) -> None:
        """Destroys the list, if it was made here."""
        if self._owned and self.list:
            self.wait()
            self.engine.api.call("zeCommandListDestroy", self.list)
        self.list = 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wait()
        self.close()

    def __del__(self) -> None:
        if getattr(self, "list", 0) and self._owned:
            self.close()
