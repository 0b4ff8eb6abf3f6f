"""Makes plans ready: their kernels, and what each parameter is bound to, in the C half.

From then on executing is C's work (native/dnnl/primitive.c): it sets the arguments of kernels and
appends their launches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

from groundstate.dnn import native
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import DnnError
from groundstate.dnn.memory import HostScalar as ScalarMemory
from groundstate.dnn.memory import Memory
from groundstate.dnn.plan import Argument, Buffer, HostScalar, Launch, Local, Plan, Scratch
from groundstate.dnn.programs import Program
from groundstate.dnn.stream import Stream
from groundstate.dnn.types import Status

Memories = Mapping[int, Memory | ScalarMemory]


class Prepared(native.Owner):
    """A plan whose kernels are ready on an engine.

    `arguments` are those that have to be passed. `scratchpad` is memory for intermediate results,
    None if the caller passes it.
    """

    def __init__(
        self, engine: Engine, plan: Plan, arguments: Sequence[int], scratchpad: Memory | None
    ) -> None:
        self.engine, self.scratchpad = engine, scratchpad
        self._programs: list[Program] = []
        self._kernels: list[int] = []
        self._places = {arg: place for place, arg in enumerate(arguments)}
        self._functions = native.library()
        numbers = (ctypes.c_int * max(1, len(arguments)))(*arguments)
        self._handle = native.made(
            self._functions.gs_primitive_new(
                engine.native,
                len(arguments),
                numbers,
                len(plan.launches),
                plan.scratchpad_bytes > 0 and scratchpad is None,
                scratchpad.get_handle() if scratchpad is not None else None,
            )
        )
        for index, launch in enumerate(plan.launches):
            self._add(index, launch)

    def _add(self, index: int, launch: Launch) -> None:
        program = self.engine.programs.program(launch.source, launch.options)
        kernel = program.kernel(launch.kernel)
        self._programs.append(program)
        self._kernels.append(kernel)
        self.engine.api.call("zeKernelSetGroupSize", kernel, *launch.group_size)
        groups = (ctypes.c_uint32 * 3)(*launch.groups)
        count = len(launch.arguments)
        if self._functions.gs_primitive_launch(self.native, index, kernel, groups, count):
            raise DnnError(Status.out_of_memory, "there is no memory left")
        for place, argument in enumerate(launch.arguments):
            self._bind(index, place, kernel, argument)

    def _bind(self, launch: int, place: int, kernel: int, argument: Argument) -> None:
        bind = self._functions.gs_primitive_parameter
        if isinstance(argument, Buffer):
            where = self._places[argument.arg]
            bind(self.native, launch, place, native.BUFFER, where, argument.handle, 0)
        elif isinstance(argument, Scratch):
            bind(self.native, launch, place, native.SCRATCH, 0, 0, argument.offset)
        elif isinstance(argument, HostScalar):
            where = self._places[argument.arg]
            bind(self.native, launch, place, native.HOST_SCALAR, where, 0, argument.size)
        else:
            size = argument.size if isinstance(argument, Local) else len(argument.data)
            data = None if isinstance(argument, Local) else argument.data
            self.engine.api.call("zeKernelSetArgumentValue", kernel, place, size, data)
            bind(self.native, launch, place, native.VALUE, 0, 0, 0)

    def execute(
        self, stream: Stream, memories: Memories, wait_for: Sequence[int], want_event: bool
    ) -> int:
        """Appends the launches to a stream; returns the event that ends them, if one is wanted."""
        passed = (native.Passed * max(1, len(memories)))()
        for place, (arg, memory) in enumerate(memories.items()):
            passed[place] = native.Passed(arg, memory.native)
        events = (ctypes.c_void_p * max(1, len(wait_for)))(*wait_for)
        made = ctypes.c_void_p()
        text = ctypes.create_string_buffer(400)
        outcome = self._functions.gs_primitive_run(
            self.native,
            stream.native,
            len(memories),
            passed,
            len(wait_for),
            events,
            ctypes.byref(made) if want_event else None,
            text,
            len(text),
        )
        if outcome:
            raise DnnError(Status(outcome), text.value.decode())
        return made.value or 0

    def _release(self, handle: int) -> None:
        """Destroys the kernels."""
        self._functions.gs_primitive_free(handle)
        for kernel in self._kernels:
            self.engine.api.raw("zeKernelDestroy", kernel)
