"""Executes plans: sets the arguments of kernels and appends their launches."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundstate import ze
from groundstate.core.api import handle_array
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid
from groundstate.dnn.memory import HostScalar as ScalarMemory
from groundstate.dnn.memory import Memory
from groundstate.dnn.plan import Buffer, HostScalar, Launch, Local, Plan, Scratch
from groundstate.dnn.programs import Program
from groundstate.dnn.stream import Stream
from groundstate.dnn.types import Arg

Memories = Mapping[int, Memory | ScalarMemory]


@dataclass
class _Prepared:
    """A launch whose kernel is ready."""

    launch: Launch
    program: Program
    kernel: int
    groups: ze.ze_group_count_t


class Prepared:
    """A plan whose kernels are ready on an engine."""

    def __init__(self, engine: Engine, plan: Plan) -> None:
        self.engine, self.plan = engine, plan
        self._lock = threading.Lock()
        self._launches: list[_Prepared] = []
        for launch in plan.launches:
            program = engine.programs.program(launch.source, launch.options)
            kernel = program.kernel(launch.kernel)
            groups = ze.ze_group_count_t(*launch.groups)
            self._launches.append(_Prepared(launch, program, kernel, groups))
            engine.api.call("zeKernelSetGroupSize", kernel, *launch.group_size)

    def execute(
        self,
        stream: Stream,
        memories: Memories,
        scratchpad: int,
        *,
        wait_for: Sequence[int] = (),
        signal: int = 0,
    ) -> None:
        """Appends the launches to a stream, after the events to wait for."""
        api = self.engine.api
        with self._lock:
            for place, each in enumerate(self._launches):
                if place and not stream.in_order:
                    api.call("zeCommandListAppendBarrier", stream.list, None, 0, None)
                for index, argument in enumerate(each.launch.arguments):
                    self._set(each.kernel, index, argument, memories, scratchpad)
                first, last = place == 0, place == len(self._launches) - 1
                waits = wait_for if first else ()
                api.call(
                    "zeCommandListAppendLaunchKernel",
                    stream.list,
                    each.kernel,
                    ctypes.byref(each.groups),
                    signal if last and signal else None,
                    len(waits),
                    handle_array(list(waits)),
                )
        if not self._launches and (wait_for or signal):
            waits_array = handle_array(list(wait_for))
            api.call(
                "zeCommandListAppendBarrier",
                stream.list,
                signal or None,
                len(wait_for),
                waits_array,
            )

    def _set(
        self, kernel: int, index: int, argument: object, memories: Memories, scratchpad: int
    ) -> None:
        if isinstance(argument, Buffer):
            memory = memories.get(argument.arg)
            if not isinstance(memory, Memory):
                invalid(f"argument {argument.arg} was not passed")
            data = memory.get_handle(argument.handle).to_bytes(8, "little")
        elif isinstance(argument, Scratch):
            data = (scratchpad + argument.offset).to_bytes(8, "little")
        elif isinstance(argument, HostScalar):
            scalar = memories.get(argument.arg)
            if not isinstance(scalar, ScalarMemory):
                invalid(f"argument {argument.arg} is a value of the host")
            data = scalar.value
        elif isinstance(argument, Local):
            self.engine.api.call("zeKernelSetArgumentValue", kernel, index, argument.size, None)
            return
        else:
            data = argument.data  # type: ignore[attr-defined]
        kept = ctypes.create_string_buffer(data, len(data))
        self.engine.api.call(
            "zeKernelSetArgumentValue", kernel, index, len(data), ctypes.addressof(kept)
        )

    def close(self) -> None:
        """Destroys the kernels."""
        launches, self._launches = self._launches, []
        for each in launches:
            self.engine.api.raw("zeKernelDestroy", each.kernel)

    def __del__(self) -> None:
        self.close()


def missing(arguments: Sequence[int], memories: Memories) -> list[int]:
    """The arguments that were not passed, besides the scratchpad."""
    return [arg for arg in arguments if arg not in memories and arg != Arg.SCRATCHPAD]
