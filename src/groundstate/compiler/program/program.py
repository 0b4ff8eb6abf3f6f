"""A program as the driver uses it: kernels by name, compiled for a group size when needed.

A program is one SPIR-V module, or several that were linked: what one imports, another exports.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from groundstate import native_binary
from groundstate.announce import Announced
from groundstate.compiler.cache import kernel_cache
from groundstate.compiler.errors import BuildError, RefusedError, UnresolvedNameError, WrongIrError
from groundstate.compiler.light_dataclass import field, record
from groundstate.compiler.program import object_loader
from groundstate.compiler.program.constructors import (
    Caller,
    call_directly,
    find_constructors,
    run_once,
)
from groundstate.compiler.program.native_content import NativeContent, What
from groundstate.compiler.program.signature import Argument, Signature, describe_arguments
from groundstate.compiler.program.symbols import Symbols, needed_imports
from groundstate.compiler.program.unsupported import describe, find_refusals
from groundstate.compiler.program.variables import Globals, place_variables
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.module import Module
from groundstate.compiler.spirv.opcodes import ExecutionMode, Op
from groundstate.compiler.spirv.reader import read

if TYPE_CHECKING:  # imported when a kernel is not in the cache
    from groundstate.compiler.codegen.kernel import Code
    from groundstate.compiler.ir import Kernel
    from groundstate.compiler.llvm.backend import Linked

__all__ = ["Argument", "BuildError", "KernelCode", "Program", "Signature"]

SUBGROUP_SIZE = 16
"""Of kernels that ask for their sub-groups and do not say how large they should be."""
GroupSize = tuple[int, int, int]
LIKELY_GROUP_SIZE = (256, 1, 1)
"""What is suggested for a large range, and what many programs choose."""

NO_FACTS = {
    "local_bytes": 0,
    "private_bytes": 0,
    "uses_barriers": False,
    "loop_free": False,
    "may_wait": True,
    "unresolved": [],
}
"""Of a kernel whose graph cannot be built yet."""

UNOPTIMISED = frozenset(("-ze-opt-disable", "-ze-opt-level=0", "-cl-opt-disable"))
"""The build options that ask for code that is written quickly and runs slowly."""


MOST_KERNELS = 16
"""How many kernels are kept as they were before they were specialised."""
NAME_CHARACTERS = 60
"""Of the name of a kernel, in what is shown while it is compiled."""


@record()
class KernelCode:
    """One compiled variant of a kernel."""

    address: int
    local_bytes: int
    private_bytes: int
    saved_bytes: int
    keep: object
    has_loops: bool = True
    may_wait: bool = True
    formats: tuple[bytes, ...] = ()
    binary: bytes = b""


@record()
class _Source:
    """One module with what it was specialised with."""

    spirv: bytes
    module: Module
    constants: Mapping[int, bytes] = field(default_factory=dict)

    @staticmethod
    def read(spirv: bytes, constants: Mapping[int, bytes]) -> _Source:
        """Reads a module; InvalidModule if it is none."""
        module = read(spirv)
        return _Source(spirv, module.specialise(constants) if constants else module, constants)

    def identity(self) -> bytes:
        """Tells this module from any other."""
        return hashlib.sha256(self.spirv + repr(sorted(self.constants.items())).encode()).digest()


class Program:
    """Modules, ready to give kernels."""

    def __init__(
        self,
        spirv: bytes,
        *,
        options: str = "",
        constants: Mapping[int, bytes] | None = None,
    ) -> None:
        self._set_up([_Source.read(bytes(spirv), constants or {})], options)

    def _set_up(self, sources: list[_Source], options: str) -> None:
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
        self._signatures: dict[str, Signature] = {}
        self._codes: dict[tuple[str, GroupSize, int], KernelCode] = {}
        self._known: dict[What, bytes] = {}
        """Descriptions of kernels and their machine code, as a native binary has them."""
        self._is_own = True
        """Whether this user's driver made all of that; otherwise no signature may say so."""
        self._checked: set[str] = set()
        self._kernels: dict[str, Kernel] = {}
        self._written: tuple[tuple[str, GroupSize], Code] | None = None
        """What was written last, to check a kernel; it may well be launched as it was checked."""
        self.symbols = Symbols(self.modules, [source.identity for source in sources])
        self.globals = Globals(self.symbols)
        self.global_offsets = self.globals.names
        self.globals_image = self.globals.image
        self.globals_bytes = len(self.globals_image)
        self.refusals = find_refusals(self.symbols, self.kernel_names)
        self.log = describe(self.refusals)

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

    @staticmethod
    def link(programs: Sequence[Program]) -> Program:
        """One program of several: what one imports, another may define."""
        linked = Program.__new__(Program)
        sources = [source for program in programs for source in program.sources]
        linked._set_up(sources, programs[0].options if programs else "")
        return linked

    # --- Native binaries ------------------------------------------------------------------------

    def native_binary(self) -> bytes:
        """The modules, and what is known of their kernels: the code compiled so far among it."""
        content = NativeContent(
            self.options,
            tuple(source.spirv for source in self.sources),
            tuple(dict(source.constants) for source in self.sources),
            self._known,
        )
        return native_binary.seal(content.pack(), is_own=self._is_own)

    @staticmethod
    def from_native(binary: bytes) -> Program:
        """A program from `native_binary`, of this version and for this kind of CPU."""
        try:
            unsealed, is_own = native_binary.unseal(binary)
        except native_binary.RefusedBinaryError as error:
            raise BuildError(str(error)) from error
        content = NativeContent.unpack(unsealed)
        program = Program.__new__(Program)
        try:
            pairs = zip(content.modules, content.constants, strict=True)
            sources = [_Source.read(spirv, constants) for spirv, constants in pairs]
        except (InvalidModule, ValueError) as error:
            raise BuildError(f"the native binary is damaged: {error}") from error
        program._set_up(sources, content.options)
        program._known.update(content.known)
        program._is_own = is_own
        return program

    # --- What is known --------------------------------------------------------------------------

    @cached_property
    def identity(self) -> bytes:
        """Tells this program from any other."""
        digest = hashlib.sha256(self.options.encode())
        for source in self.sources:
            digest.update(len(source.spirv).to_bytes(8, "little") + source.spirv)
            digest.update(repr(sorted(source.constants.items())).encode())
        return digest.digest()

    def _recall(self, *what: object) -> tuple[dict[str, Any], bytes] | None:
        """Something about a kernel, from a native binary or from the disk."""
        if what in self._known:
            return kernel_cache.unpack(self._known[what])
        found = kernel_cache.get(self.identity, *what)
        if found is not None:
            self._known[what] = kernel_cache.pack(*found)
        return found

    def _note(self, description: dict[str, Any], content: bytes, *what: object) -> None:
        self._known[what] = kernel_cache.pack(description, content)
        if self._is_own:  # nothing that began with a stranger's binary stays
            kernel_cache.put(self.identity, description, content, *what)

    # --- Kernels --------------------------------------------------------------------------------

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

    def modes(self, name: str) -> Mapping[int, tuple[int, ...]]:
        """The execution modes of a kernel, by number."""
        module, function = self.function(name)
        return module.execution_modes.get(function, {})

    def kernel(self, name: str) -> Kernel:
        """A kernel before it is specialised to a group size. Whoever changes it changes a copy."""
        found = self._kernels.get(name)
        if found is None:
            from groundstate.compiler.llvm import machine

            machine.begin()
            from groundstate.compiler import pipeline

            if len(self._kernels) >= MOST_KERNELS:
                self._kernels.clear()
            found = self._kernels[name] = pipeline.lower(self.symbols, name)
        return found

    def signature(self, name: str) -> Signature:
        """What a caller needs to know of a kernel."""
        found = self._signatures.get(name)
        if found is None:
            found = self._signatures[name] = self._describe(name)
        return found

    def _describe(self, name: str) -> Signature:
        arguments, _ = describe_arguments(*self.function(name))
        modes = self.modes(name)
        required = modes.get(ExecutionMode.LocalSize)
        lanes = modes.get(ExecutionMode.SubgroupSize)
        size = (required[0], required[1], required[2]) if required else None
        attributes = [f"reqd_work_group_size({','.join(map(str, size))})"] if size else []
        hint = modes.get(ExecutionMode.LocalSizeHint)
        attributes += [f"work_group_size_hint({','.join(map(str, hint))})"] if hint else []
        attributes += [f"intel_reqd_sub_group_size({lanes[0]})"] if lanes else []
        end = max((each.offset + each.size for each in arguments), default=0)
        facts = self._facts(name)
        return Signature(
            name=name,
            arguments=arguments,
            block_bytes=-(-end // 16) * 16,
            required_group_size=size,
            subgroup_size=lanes[0] if lanes else SUBGROUP_SIZE,
            local_bytes=facts["local_bytes"],
            private_bytes=facts["private_bytes"],
            attributes=" ".join(attributes),
            uses_barriers=facts["uses_barriers"],
            loop_free=facts["loop_free"],
            may_wait=facts["may_wait"],
            unresolved=tuple(facts["unresolved"]),
            source_hash=hashlib.sha256(b"".join(each.spirv for each in self.sources)).digest(),
        )

    def _facts(self, name: str) -> dict[str, Any]:
        """What only the graph of a kernel tells. It is kept when the kernel has been checked."""
        known = self._recall(name)
        if known is not None:
            self._checked.add(name)
            return known[0]
        from groundstate.compiler.analysis import facts as known_of

        facts: dict[str, Any] = dict(NO_FACTS)
        try:
            kernel = self.kernel(name)
        except UnresolvedNameError as error:
            return {**facts, "unresolved": [error.name]}
        return {
            **facts,
            "local_bytes": place_variables(kernel, self.globals)[1],
            "private_bytes": known_of.private_bytes(kernel),
            "uses_barriers": known_of.has_barriers(kernel),
            "loop_free": known_of.is_loop_free(kernel),
            "may_wait": known_of.may_wait(kernel),
        }

    def check(self, name: str) -> None:
        """Raises BuildError if a kernel has something that cannot be compiled."""
        if name in self.refusals:
            raise RefusedError(describe({name: self.refusals[name]}))
        signature = self.signature(name)
        if name in self._checked or signature.unresolved:
            return
        size = signature.required_group_size or LIKELY_GROUP_SIZE
        self._written = (name, size), self.write(name, size)
        self._checked.add(name)
        facts = {
            "local_bytes": signature.local_bytes,
            "private_bytes": signature.private_bytes,
            "uses_barriers": signature.uses_barriers,
            "loop_free": signature.loop_free,
            "may_wait": signature.may_wait,
            "unresolved": [],
        }
        self._note(facts, b"", name)

    def write(self, name: str, group_size: GroupSize, width: int | None = None) -> Code:
        """LLVM IR of a kernel for a group size."""
        from groundstate.compiler import pipeline

        latest = self._written
        if width is None and latest is not None and latest[0] == (name, group_size):
            return latest[1]
        return pipeline.write(self, name, group_size, width)

    def compile(self, name: str, group_size: GroupSize, width: int | None = None) -> KernelCode:
        """Machine code of a kernel for a group size."""
        key = (name, group_size, width or 0)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = self._load(*key)
        return found

    @property
    def _is_optimised(self) -> bool:
        return UNOPTIMISED.isdisjoint(self.options.split())

    def _described(self, name: str) -> str:
        """A kernel, and which one of those that the program has is compiled now."""
        shown = name if len(name) <= NAME_CHARACTERS else name[: NAME_CHARACTERS - 3] + "..."
        if name not in self.kernel_names:
            return shown  # one that initialises variables
        compiled = {each for each, _, _ in self._codes if each in self.kernel_names} - {name}
        return f"{shown} ({len(compiled) + 1} of {len(self.kernel_names)})"

    def _compile(
        self, name: str, group_size: GroupSize, width: int
    ) -> tuple[dict[str, Any], bytes]:
        from groundstate.compiler import pipeline
        from groundstate.compiler.llvm import machine

        code = self.write(name, group_size, width or None)
        formats = [each.hex() for each in code.formats]
        description = {
            "private_bytes": code.private_bytes,
            "saved_bytes": code.saved_bytes,
            "formats": formats,
        }
        try:
            return description, machine.object_code(code.text, code.lanes, self._is_optimised)
        except WrongIrError as problem:
            from groundstate.compiler.llvm import diagnose

            marked = pipeline.write(self, name, group_size, width or None, is_marked=True)
            raise BuildError(diagnose.explained(name, marked)) from problem
        except BuildError as problem:
            raise BuildError(f"kernel '{name}' cannot be compiled: {problem}") from problem

    def _load(self, name: str, group_size: GroupSize, width: int) -> KernelCode:
        what = (name, *group_size, width)
        known = self._recall(*what)
        if known is None:
            with Announced(f"compiling kernel {self._described(name)}"):
                known = self._compile(name, group_size, width)
            self._note(*known, *what)
        description, binary = known
        loaded = in_memory(binary)
        signature = self.signature(name)
        return KernelCode(
            address=loaded.address,
            local_bytes=signature.local_bytes,
            private_bytes=description["private_bytes"],
            saved_bytes=description["saved_bytes"],
            keep=loaded,
            has_loops=not signature.loop_free,
            may_wait=signature.may_wait,
            formats=tuple(map(bytes.fromhex, description["formats"])),
            binary=binary,
        )


def in_memory(binary: bytes) -> object_loader.Loaded | Linked:
    """The code of an object file, ready to run."""
    loaded = object_loader.load(binary)
    if loaded is not None:
        return loaded
    from groundstate.compiler.llvm import machine

    return machine.link(binary)
