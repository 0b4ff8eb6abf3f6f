"""What runs before the kernels of a program, and after them: initializers and finalizers.

A module names them by an execution mode, or in the arrays of constructors that LLVM keeps. They
are functions without arguments that one work-item runs, compiled like kernels of a name of their
own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.module import EntryPoint, Module
from groundstate.compiler.spirv.opcodes import ExecutionMode

if TYPE_CHECKING:
    from groundstate.compiler.program.kernel_compiler import KernelCode

Caller: TypeAlias = "Callable[[str, int, int, int], None]"
"""Calls code by its name and address, with the addresses of its dispatch and its memory."""

MODES = {"initializer": ExecutionMode.Initializer, "finalizer": ExecutionMode.Finalizer}
ARRAYS = {"initializer": "llvm.global_ctors", "finalizer": "llvm.global_dtors"}


def find_constructors(modules: Sequence[Module], kind: str) -> tuple[str, ...]:
    """The names of the initializers or finalizers of modules, in the order in which they run.

    Those that are no kernels are entered among their module's entry points."""
    names = []
    for home, module in enumerate(modules):
        ids = list(dict.fromkeys([*_by_mode(module, kind), *_by_array(module, kind)]))
        points = {point.function: name for name, point in module.entry_points.items()}
        for identifier in ids:
            name = points.get(identifier) or f"{kind} {home}.{identifier}"
            module.entry_points.setdefault(name, EntryPoint(identifier, name))
            names.append(name)
    return tuple(names)


def _by_mode(module: Module, kind: str) -> Iterator[int]:
    for function, modes in module.execution_modes.items():
        if MODES[kind] in modes and function in module.function_types:
            yield function


def _by_array(module: Module, kind: str) -> Iterator[int]:
    """The functions in an array of priorities and functions, the lowest priority first."""
    if not any(text.startswith("llvm.global_") for text in module.exports.values()):
        return
    for variable in module.variables.values():
        if module.exports.get(variable.id) == ARRAYS[kind] and variable.initializer is not None:
            entries = list(_entries(variable.initializer))
            for _, function in sorted(entries, key=lambda entry: entry[0]):
                if function in module.function_types:
                    yield function


def _entries(array: Constant) -> Iterator[tuple[int, int]]:
    for index in range(array.part_count):
        entry = array.part(index)
        parts = entry.value if entry is not None and isinstance(entry.value, tuple) else ()
        numbers = [part.value for part in parts if isinstance(part.value, int)]
        addresses = [part.value for part in parts if isinstance(part.value, Address)]
        if addresses:
            yield (numbers or [0])[0], addresses[0].base


def call_directly(name: str, code: int, dispatch: int, memory: int) -> None:
    """Calls code that nothing is known to be wrong with."""
    from groundstate.compiler.program.dispatch import RunGroups

    del name
    RunGroups(code)(dispatch, 0, 1, memory)


def run_once(name: str, code: KernelCode, variables: int, call: Caller) -> None:
    """Runs code without arguments for one work-item, with program-scope variables at an address."""
    from groundstate.compiler.program.dispatch import Dispatch, Memory, aligned

    local = aligned(code.local_bytes)
    memory = Memory(local, code.private_bytes, code.saved_bytes)
    one = (1, 1, 1)
    dispatch = Dispatch(None, (0, 0, 0), one, one, 1, None, variables, local, 0)
    call(name, code.address, ctypes.addressof(dispatch), memory.address)
