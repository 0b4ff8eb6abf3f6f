"""A program as the driver uses it: modules, their names and variables, and kernels by name.

A program is one SPIR-V module, or several that were linked: what one imports, another exports. Its
kernels are compiled by a `KernelCompiler`.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

from groundstate.compiler.cache.kernel_cache import KernelCache
from groundstate.compiler.errors import BuildError
from groundstate.compiler.program.constructors import (
    Caller,
    call_directly,
    find_constructors,
    run_once,
)
from groundstate.compiler.program.kernel_compiler import GroupSize, KernelCode, KernelCompiler
from groundstate.compiler.program.signature import Argument, Signature, describe_arguments
from groundstate.compiler.program.source import Source
from groundstate.compiler.program.symbols import Symbols, needed_imports
from groundstate.compiler.program.unsupported import describe, find_refusals
from groundstate.compiler.program.variables import Globals
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.module import Module
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.target import ANY_CPU, Target

if TYPE_CHECKING:  # imported when a kernel is not in the cache
    from groundstate.compiler.codegen.kernel import Code
    from groundstate.compiler.ir import Kernel
    from groundstate.compiler.program.source_lines import SourceTexts

INSTRUMENTED = ("memory", "uninit", "races", "sync", "arithmetic")
"""The checkers that change the code of kernels; the others look at calls of the program."""
COUNTS = "counts"
"""No checker, but in the code as they are: it counts instructions for metrics."""


class Program:
    """Modules, ready to give kernels."""

    def __init__(
        self,
        spirv: bytes,
        *,
        options: str = "",
        constants: Mapping[int, bytes] | None = None,
        target: Target | None = None,
        checks: Sequence[str] = (),
    ) -> None:
        """Reads a module, to be compiled for a target: this machine, unless another is named.

        With checks, kernels report the mistakes that these checkers look for."""
        self._set_up([Source.read(bytes(spirv), constants or {})], options, target, checks)

    def _set_up(
        self,
        sources: list[Source],
        options: str,
        target: Target | None = None,
        checks: Sequence[str] = (),
    ) -> None:
        self.checks = tuple(name for name in checks if name in (*INSTRUMENTED, COUNTS))
        self.given_target = target
        self.known_target = target or ANY_CPU
        """What is known of the target without asking LLVM."""
        self.sources = sources
        self.modules = [source.module for source in sources]
        self.options = options
        self.initializers = find_constructors(self.modules, "initializer")
        self.finalizers = find_constructors(self.modules, "finalizer")
        hidden = {*self.initializers, *self.finalizers}
        names = [name for module in self.modules for name in module.entry_points]
        self.kernel_names = tuple(dict.fromkeys(name for name in names if name not in hidden))
        self.exports = {
            name: "variable" if identifier in module.variables else "function"
            for module in self.modules
            for identifier, name in module.exports.items()
        }
        needed = [name for module in self.modules for name in needed_imports(module)]
        self.imports = tuple(name for name in needed if name not in self.exports)
        self.calls_pointers = any(
            Op.FunctionPointerCallINTEL in module.opcodes for module in self.modules
        )
        self.symbols = Symbols(self.modules, [source.identity for source in sources])
        self.globals = Globals(self.symbols)
        self.global_offsets = self.globals.names
        self.globals_image = self.globals.image
        self.globals_bytes = len(self.globals_image)
        self.refusals = find_refusals(self.symbols, self.kernel_names)
        self.log = describe(self.refusals)
        self.cache = KernelCache(lambda: self.identity, self.checks)
        self._compiler = KernelCompiler(self)

    @staticmethod
    def _of(
        sources: list[Source],
        options: str,
        target: Target | None = None,
        checks: Sequence[str] = (),
    ) -> Program:
        program = Program.__new__(Program)
        program._set_up(sources, options, target, checks)
        return program

    @staticmethod
    def link(programs: Sequence[Program]) -> Program:
        """One program of several: what one imports, another may define."""
        sources = [source for program in programs for source in program.sources]
        if not programs:
            return Program._of([], "")
        first = programs[0]
        return Program._of(sources, first.options, first.given_target, first.checks)

    @cached_property
    def counting(self) -> Program:
        """The same program, whose kernels count their instructions."""
        checks = (*self.checks, COUNTS)
        program = Program._of(self.sources, self.options, self.given_target, checks)
        program.cache.is_own = self.cache.is_own
        return program

    @cached_property
    def uses_tiles(self) -> bool:
        """Whether kernels may use the tile registers of a CPU."""
        imported = [name for module in self.modules for name in module.imports.values()]
        if not imported:
            return False
        from groundstate.compiler.spirv_to_ir.library_functions import TILES

        return any(name.startswith(TILES) for name in imported)

    @cached_property
    def identity(self) -> bytes:
        """Tells this program from any other."""
        digest = hashlib.sha256(self.options.encode())
        if self.given_target is not None:
            digest.update(f"\0{self.given_target}\0".encode())
        for source in self.sources:
            digest.update(len(source.spirv).to_bytes(8, "little") + source.spirv)
            digest.update(repr(sorted(source.constants.items())).encode())
        return digest.digest()

    @cached_property
    def target(self) -> Target:
        """The machine that kernels are compiled for. Which one this machine is, LLVM is asked."""
        if self.given_target is not None:
            return self.given_target
        from groundstate.compiler.target.host import host

        return host()

    # --- Native binaries ------------------------------------------------------------------------

    def native_binary(self) -> bytes:
        """The modules, and what is known of their kernels: the code compiled so far among it."""
        from groundstate.compiler.program.native_binary import NativeBinary

        return NativeBinary(
            self.options,
            tuple(source.spirv for source in self.sources),
            tuple(dict(source.constants) for source in self.sources),
            self.cache.entries,
            self.cache.is_own,
            _gpu(self.given_target),
        ).sealed()

    @staticmethod
    def from_native(
        binary: bytes, checks: Sequence[str] = (), target: Target | None = None
    ) -> Program:
        """A program from `native_binary`, of this version and for this kind of CPU or GPU."""
        from groundstate.compiler.program.native_binary import NativeBinary

        content = NativeBinary.unsealed(binary, _gpu(target))
        try:
            pairs = zip(content.modules, content.constants, strict=True)
            sources = [Source.read(spirv, constants) for spirv, constants in pairs]
        except (InvalidModule, ValueError) as error:
            raise BuildError(f"the native binary is damaged: {error}") from error
        program = Program._of(sources, content.options, target, checks)
        if target is not None and not _gpu(target):
            return program
        program.cache.entries.update(content.known)
        program.cache.is_own = content.is_own
        return program

    # --- Program-scope variables ----------------------------------------------------------------

    def initialise(self, variables: int, call: Caller = call_directly) -> None:
        """Makes the program-scope variables, whose image was put at an address, ready for use.

        `call` calls the code of initializers, which may do what it wants.
        """
        for place in self.globals.relocations:
            ctypes.c_uint64.from_address(variables + place).value += variables
        for name in self.initializers:
            self._run_once(name, variables, call)

    def finalise(self, variables: int, call: Caller = call_directly) -> None:
        """Runs what a program wants to be run when it is no longer needed."""
        for name in self.finalizers:
            self._run_once(name, variables, call)

    def _run_once(self, name: str, variables: int, call: Caller) -> None:
        if self.signature(name).arguments:
            raise BuildError(
                f"OpExecutionMode of '{name}': an initializer or finalizer takes no arguments"
            )
        run_once(name, self.compile(name, (1, 1, 1), 1), variables, call)

    # --- Functions ------------------------------------------------------------------------------

    def function(self, name: str) -> tuple[Module, int]:
        """The module that a kernel is in, and its function there."""
        home = next(module for module in self.modules if name in module.entry_points)
        return home, home.entry_points[name].function

    def function_pointer(self, name: str) -> int | None:
        """What the host passes to kernels as a pointer to a function; None if there is none.

        A kernel gets a pointer, too, though SPIR-V has no call that leads to one.
        """
        if name in self.kernel_names:
            module, function = self.function(name)
            return self.symbols.number(self.modules.index(module), function)
        return self.symbols.pointer(name)

    def arguments(self, name: str) -> tuple[Argument, ...]:
        """The arguments of a kernel, as its module declares them."""
        return describe_arguments(*self.function(name))[0]

    def modes(self, name: str) -> Mapping[int, tuple[int, ...]]:
        """The execution modes of a kernel, by number."""
        module, function = self.function(name)
        return module.execution_modes.get(function, {})

    # --- Kernels --------------------------------------------------------------------------------

    @property
    def source_texts(self) -> SourceTexts:
        """The source that the modules were compiled from, where it is known."""
        return self._compiler.texts

    def kernel(self, name: str) -> Kernel:
        """A kernel before it is specialised to a group size. Whoever changes it changes a copy."""
        return self._compiler.kernel(name)

    def signature(self, name: str) -> Signature:
        """What a caller needs to know of a kernel."""
        return self._compiler.signature(name)

    def check(self, name: str) -> None:
        """Raises BuildError if a kernel has something that cannot be compiled."""
        self._compiler.check(name)

    def write(self, name: str, group_size: GroupSize, width: int | None = None) -> Code:
        """LLVM IR of a kernel for a group size."""
        return self._compiler.write(name, group_size, width)

    def compile(self, name: str, group_size: GroupSize, width: int | None = None) -> KernelCode:
        """Machine code of a kernel for a group size."""
        return self._compiler.compile(name, group_size, width)

    def compile_meanwhile(
        self,
        name: str,
        group_size: GroupSize,
        width: int,
        lock: AbstractContextManager[object],
        is_unwanted: Callable[[], bool],
    ) -> KernelCode:
        """As `compile`, while other threads use the program under the lock: LLVM works without it.

        Raises BuildError if it becomes unwanted.
        """
        return self._compiler.compile_meanwhile(name, group_size, width, lock, is_unwanted)

    def prefer(self, name: str, group_size: GroupSize, width: int) -> None:
        """Lets the next process begin with code of this width, of those that a kernel may have."""
        self.cache.prefer(width, name, *group_size)

    def is_compiled(self, name: str, group_size: GroupSize, width: int) -> bool:
        """True if code for so many work-items side by side can be had without compiling."""
        return self._compiler.is_compiled(name, group_size, width)


def _gpu(target: Target | None) -> str:
    """What native binaries call a target that is a GPU; nothing for CPUs."""
    return f"GPU {target.cpu}" if target is not None and target.compute_capability else ""
