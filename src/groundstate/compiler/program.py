"""A program as the driver uses it: kernels by name, compiled for a group size when needed.

A program is one SPIR-V module, or several that were linked: what one imports, another exports.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundstate.compiler import machine
from groundstate.compiler.emit.control import NeedsOneLane
from groundstate.compiler.emit.kernel import Code, KernelWriter
from groundstate.compiler.errors import BuildError, UnresolvedNameError
from groundstate.compiler.graph import Graph
from groundstate.compiler.ir import Kernel
from groundstate.compiler.kernel_ir import build_kernel
from groundstate.compiler.lanes import observes_subgroups, plan
from groundstate.compiler.lower import split_at_barriers
from groundstate.compiler.lower_builtins import lower_builtins
from groundstate.compiler.lower_groups import lower_group_operations
from groundstate.compiler.signature import (
    MODE_CONTRACTION_OFF,
    MODE_LOCAL_SIZE,
    MODE_LOCAL_SIZE_HINT,
    MODE_SUBGROUP_SIZE,
    Argument,
    Signature,
    describe_arguments,
)
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.module import Module
from groundstate.compiler.spirv.reader import read
from groundstate.compiler.storage import Globals, place_variables
from groundstate.compiler.symbols import Symbols
from groundstate.compiler.uniformity import Uniformity

__all__ = ["Argument", "BuildError", "KernelCode", "Program", "Signature"]

SUPPORTED_WIDTHS = (1, 4, 8, 16, 32)
SUBGROUP_SIZE = 16
"""Of kernels that ask for their sub-groups and do not say how large they should be."""
GroupSize = tuple[int, int, int]

NATIVE_MAGIC = b"GSNATIVE"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The graph of a kernel, ready to be written for any width."""

    kernel: Kernel
    has_barriers: bool
    cells: int
    """How many cells for each sub-group its work-group operations need."""
    observes_subgroups: bool


@dataclass(frozen=True, slots=True)
class KernelCode:
    """One compiled variant of a kernel."""

    address: int
    local_bytes: int
    scratch_bytes: int
    keep: object
    has_loops: bool = True
    formats: tuple[bytes, ...] = ()
    binary: bytes = b""


@dataclass(frozen=True, slots=True)
class _Source:
    """One module with what it was specialised with."""

    spirv: bytes
    module: Module


class Program:
    """Modules, ready to give kernels."""

    def __init__(
        self,
        spirv: bytes,
        *,
        options: str = "",
        constants: Mapping[int, bytes] | None = None,
    ) -> None:
        try:
            module = read(spirv)
            module = module.specialise(constants) if constants else module
        except InvalidModule as error:
            raise BuildError(str(error)) from error
        self._set_up([_Source(bytes(spirv), module)], options)

    def _set_up(self, sources: list[_Source], options: str) -> None:
        self.sources = sources
        self.modules = [source.module for source in sources]
        self.options = options
        self.log = ""
        names = [name for module in self.modules for name in module.entry_points]
        self.kernel_names = tuple(dict.fromkeys(names))
        self.exports = {
            name: "variable" if identifier in module.variables else "function"
            for module in self.modules
            for identifier, name in module.exports.items()
        }
        self.imports = tuple(
            name
            for module in self.modules
            for identifier, name in module.imports.items()
            if name not in self.exports and not _is_builtin(module, identifier)
        )
        self._signatures: dict[str, Signature] = {}
        self._codes: dict[tuple[str, GroupSize, int], KernelCode] = {}
        self._objects: dict[str, bytes] = {}
        self._checked: set[str] = set()
        self.symbols = Symbols(self.modules)
        self._globals = Globals(self.symbols)
        self.global_offsets = self._globals.names
        self.globals_image = self._globals.image
        self.globals_bytes = len(self.globals_image)

    @staticmethod
    def link(programs: Sequence[Program]) -> Program:
        """One program of several: what one imports, another may define."""
        linked = Program.__new__(Program)
        sources = [source for program in programs for source in program.sources]
        linked._set_up(sources, programs[0].options if programs else "")
        return linked

    # --- Native binaries ------------------------------------------------------------------------

    def native_binary(self) -> bytes:
        """The modules, and the machine code of each variant that was compiled so far."""
        parts = [source.spirv for source in self.sources]
        keys = sorted(self._objects)
        head = {
            "version": machine.VERSION.decode(),
            "cpu": machine.target().identity,
            "options": self.options,
            "modules": [len(part) for part in parts],
            "codes": [[key, len(self._objects[key])] for key in keys],
        }
        text = json.dumps(head).encode()
        body = b"".join([*parts, *(self._objects[key] for key in keys)])
        return NATIVE_MAGIC + struct.pack("<I", len(text)) + text + body

    @staticmethod
    def from_native(binary: bytes) -> Program:
        """A program from `native_binary`, of this version and for this kind of CPU."""
        head, body = _native_head(binary)
        program = Program.__new__(Program)
        sources, position = [], 0
        try:
            for size in head["modules"]:
                data = body[position : position + size]
                sources.append(_Source(data, read(data)))
                position += size
        except InvalidModule as error:
            raise BuildError(f"the native binary is damaged: {error}") from error
        program._set_up(sources, head["options"])
        for key, size in head["codes"]:
            program._objects[key] = body[position : position + size]
            position += size
        return program

    # --- Kernels --------------------------------------------------------------------------------

    def _home(self, name: str) -> Module:
        return next(module for module in self.modules if name in module.entry_points)

    def _modes(self, name: str) -> Mapping[int, tuple[int, ...]]:
        module = self._home(name)
        return module.execution_modes.get(module.entry_points[name].function, {})

    def prepare(self, name: str) -> Prepared:
        """The graph of a kernel, built anew."""
        try:
            kernel = build_kernel(self.symbols, name)
        except InvalidModule as error:
            raise BuildError(str(error)) from error
        lower_builtins(kernel)
        observes = observes_subgroups(kernel)
        cells = lower_group_operations(kernel)
        return Prepared(kernel, split_at_barriers(kernel), cells, observes)

    def signature(self, name: str) -> Signature:
        """What a caller needs to know of a kernel."""
        found = self._signatures.get(name)
        if found is None:
            found = self._describe(name)
            self._signatures[name] = found
        return found

    def _describe(self, name: str) -> Signature:
        module = self._home(name)
        function = module.entry_points[name].function
        arguments, _ = describe_arguments(module, function)
        modes = self._modes(name)
        required = modes.get(MODE_LOCAL_SIZE)
        lanes = modes.get(MODE_SUBGROUP_SIZE)
        size = (required[0], required[1], required[2]) if required else None
        attributes = [f"reqd_work_group_size({','.join(map(str, size))})"] if size else []
        hint = modes.get(MODE_LOCAL_SIZE_HINT)
        attributes += [f"work_group_size_hint({','.join(map(str, hint))})"] if hint else []
        attributes += [f"intel_reqd_sub_group_size({lanes[0]})"] if lanes else []
        end = max((each.offset + each.size for each in arguments), default=0)
        local_bytes, has_barriers, loop_free = 0, False, False
        unresolved: tuple[str, ...] = ()
        try:
            prepared = self.prepare(name)
            has_barriers = prepared.has_barriers
            _, local_bytes = place_variables(prepared.kernel, self._globals)
            loop_free = _is_loop_free(prepared.kernel)
        except UnresolvedNameError as error:
            unresolved = (error.name,)
        return Signature(
            name=name,
            arguments=arguments,
            block_bytes=-(-end // 16) * 16,
            required_group_size=size,
            subgroup_size=lanes[0] if lanes else SUBGROUP_SIZE,
            local_bytes=local_bytes,
            private_bytes=0,
            attributes=" ".join(attributes),
            uses_barriers=has_barriers,
            loop_free=loop_free,
            unresolved=unresolved,
            source_hash=hashlib.sha256(b"".join(each.spirv for each in self.sources)).digest(),
        )

    def write(self, name: str, group_size: GroupSize, width: int | None = None) -> Code:
        """LLVM IR of a kernel for a group size."""
        prepared = self.prepare(name)
        try:
            return self._write(name, prepared, self._plan(name, prepared, group_size, width))
        except NeedsOneLane:
            prepared = self.prepare(name)
            return self._write(name, prepared, self._plan(name, prepared, group_size, 1))

    def _plan(
        self, name: str, prepared: Prepared, group_size: GroupSize, width: int | None
    ) -> Uniformity:
        """The kernel's values for the number of lanes asked for, or for the best."""
        kernel = prepared.kernel
        is_free = not prepared.observes_subgroups and MODE_SUBGROUP_SIZE not in self._modes(name)
        if width is None and is_free:
            return plan(kernel, group_size, machine.target().natural_width)
        lanes = width or self.signature(name).subgroup_size
        if lanes not in SUPPORTED_WIDTHS:
            raise BuildError(f"{name}: a sub-group of {lanes} work-items is not supported")
        return Uniformity(kernel, Graph(kernel), group_size, lanes)

    def check(self, name: str) -> None:
        """Raises BuildError if a kernel has something that cannot be compiled."""
        signature = self.signature(name)
        if name not in self._checked and not signature.unresolved:
            self.write(name, signature.required_group_size or (signature.subgroup_size, 1, 1))
            self._checked.add(name)

    def _write(self, name: str, prepared: Prepared, uniformity: Uniformity) -> Code:
        placement, _ = place_variables(prepared.kernel, self._globals)
        module = self._home(name)
        function = module.entry_points[name].function
        _, types = describe_arguments(module, function)
        contract = MODE_CONTRACTION_OFF not in self._modes(name)
        registers = machine.target().registers
        signature = self.signature(name)
        writer = KernelWriter(uniformity, types, signature, placement, contract, registers)
        return writer.write(prepared.has_barriers, prepared.cells)

    def compile(self, name: str, group_size: GroupSize, width: int | None = None) -> KernelCode:
        """Machine code of a kernel for a group size."""
        key = (name, group_size, width or 0)
        found = self._codes.get(key)
        if found is None:
            found = self._load(name, group_size, width)
            self._codes[key] = found
        return found

    def _load(self, name: str, group_size: GroupSize, width: int | None) -> KernelCode:
        code = self.write(name, group_size, width)
        key = hashlib.sha256(code.text.encode()).hexdigest()
        binary = self._objects.get(key) or machine.object_code(code.text)
        self._objects[key] = binary
        loaded = machine.load(binary)
        signature = self.signature(name)
        return KernelCode(
            address=loaded.address,
            local_bytes=signature.local_bytes,
            scratch_bytes=code.scratch_bytes,
            keep=loaded,
            has_loops=not signature.loop_free,
            formats=code.formats,
            binary=binary,
        )


def _native_head(binary: bytes) -> tuple[dict[str, Any], bytes]:
    """The description in front of a native binary, checked, and what follows it."""
    start = len(NATIVE_MAGIC) + 4
    if binary[: len(NATIVE_MAGIC)] != NATIVE_MAGIC or len(binary) < start:
        raise BuildError("this is no native binary of this driver")
    (size,) = struct.unpack_from("<I", binary, len(NATIVE_MAGIC))
    try:
        head = json.loads(binary[start : start + size])
        total = sum(head["modules"]) + sum(length for _, length in head["codes"])
        version, cpu = head["version"], head["cpu"]
    except (ValueError, KeyError, TypeError) as error:
        raise BuildError("the native binary is damaged") from error
    if version != machine.VERSION.decode():
        raise BuildError(f"the native binary is of version {version}; build it again from SPIR-V")
    if cpu != machine.target().identity:
        raise BuildError(f"the native binary is for another CPU ({cpu}); build it from SPIR-V here")
    if len(binary) < start + size + total:
        raise BuildError("the native binary is cut short")
    return head, binary[start + size :]


def _is_loop_free(kernel: Kernel) -> bool:
    return all(
        successor.index > block.index for block in kernel.blocks for successor in block.successors
    )


def _is_builtin(module: Module, identifier: int) -> bool:
    return identifier in module.variables and module.variables[identifier].builtin is not None
