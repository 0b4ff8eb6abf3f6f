"""A module as the driver uses it: kernels by name, compiled for a group size when they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundstate.compiler import machine
from groundstate.compiler.emit.control import NeedsOneLane
from groundstate.compiler.emit.kernel import Code, KernelWriter
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel
from groundstate.compiler.kernel_ir import build_kernel
from groundstate.compiler.lower import lower_builtins, split_at_barriers
from groundstate.compiler.lower_groups import lower_group_operations
from groundstate.compiler.signature import (
    MODE_CONTRACTION_OFF,
    MODE_LOCAL_SIZE,
    MODE_SUBGROUP_SIZE,
    STORAGE_CROSS_WORKGROUP,
    STORAGE_UNIFORM_CONSTANT,
    STORAGE_WORKGROUP,
    Argument,
    Signature,
    describe_arguments,
)
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.reader import read

__all__ = ["Argument", "BuildError", "KernelCode", "Program", "Signature"]

STORAGE_PRIVATE_GLOBAL = 6


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


class Program:
    """A SPIR-V module, ready to give kernels."""

    def __init__(
        self,
        spirv: bytes | Sequence[bytes],
        *,
        options: str = "",
        constants: Mapping[int, bytes] | None = None,
    ) -> None:
        data = spirv if isinstance(spirv, bytes) else spirv[0]
        try:
            module = read(data)
            self.module = module.specialise(constants) if constants else module
        except InvalidModule as error:
            raise BuildError(str(error)) from error
        self.options = options
        self.log = ""
        self.kernel_names = tuple(self.module.entry_points)
        self.imports = tuple(
            name
            for each, name in self.module.imports.items()
            if each not in self.module.variables or self.module.variables[each].builtin is None
        )
        self.exports = {name: "function" for name in self.module.exports.values()}
        self._signatures: dict[str, Signature] = {}
        self._codes: dict[tuple[str, tuple[int, int, int]], KernelCode] = {}
        self.global_offsets: dict[str, tuple[int, int]] = {}
        self._globals = self._place_globals()

    # --- Memory of the module -------------------------------------------------------------------

    def _place_globals(self) -> dict[int, int]:
        """The offsets of program-scope variables in the block of their values."""
        from groundstate.compiler.initial import initial_bytes

        placed: dict[int, int] = {}
        image = bytearray()
        for variable in self.module.variables.values():
            if not _is_program_scope(variable):
                continue
            kind = variable.type.pointee
            assert kind is not None
            image += bytes(-len(image) % max(1, kind.align))
            placed[variable.id] = len(image)
            name = self.module.names.get(variable.id, "")
            name = self.module.exports.get(variable.id, name)
            self.global_offsets[name] = (len(image), kind.size)
            image += initial_bytes(variable, kind)
        self.globals_image = bytes(image)
        self.globals_bytes = len(image)
        return placed

    def _place_locals(self, kernel: Kernel) -> tuple[dict[int, int], int]:
        """The offsets of the local variables that a kernel uses, and their size."""
        placed: dict[int, int] = {}
        offset = 0
        for node in kernel.nodes():
            for operand in node.operands:
                variable = operand.literals[0] if operand.op == "Global" else None
                if not isinstance(variable, Variable) or variable.id in placed:
                    continue
                kind = variable.type.pointee
                if variable.storage == STORAGE_WORKGROUP and kind is not None:
                    offset = -(-offset // 128) * 128
                    placed[variable.id] = offset
                    offset += kind.size
        return placed, -(-offset // 128) * 128

    # --- Kernels --------------------------------------------------------------------------------

    def _kernel(self, name: str) -> tuple[Kernel, bool, int]:
        """The graph of a kernel, whether it has barriers, and the cells that its groups share."""
        try:
            kernel = build_kernel(self.module, name)
        except InvalidModule as error:
            raise BuildError(str(error)) from error
        lower_builtins(kernel)
        cells = lower_group_operations(kernel)
        return kernel, split_at_barriers(kernel), cells

    def signature(self, name: str) -> Signature:
        """What a caller needs to know of a kernel."""
        found = self._signatures.get(name)
        if found is None:
            found = self._describe(name)
            self._signatures[name] = found
        return found

    def _describe(self, name: str) -> Signature:
        function = self.module.entry_points[name].function
        arguments, _ = describe_arguments(self.module, function)
        modes = self.module.execution_modes.get(function, {})
        required = modes.get(MODE_LOCAL_SIZE)
        kernel, has_barriers, _ = self._kernel(name)
        _, local_bytes = self._place_locals(kernel)
        size = (required[0], required[1], required[2]) if required else None
        lanes = modes.get(MODE_SUBGROUP_SIZE, (machine.target().natural_width,))[0]
        attributes = f"reqd_work_group_size({','.join(map(str, size))})" if size else ""
        end = max((each.offset + each.size for each in arguments), default=0)
        loop_free = all(
            successor.index > block.index
            for block in kernel.blocks
            for successor in block.successors
        )
        return Signature(
            name=name,
            arguments=arguments,
            block_bytes=-(-end // 16) * 16,
            required_group_size=size,
            subgroup_size=lanes,
            local_bytes=local_bytes,
            private_bytes=0,
            attributes=attributes,
            uses_barriers=has_barriers,
            loop_free=loop_free,
        )

    def write(self, name: str, group_size: tuple[int, int, int], width: int | None = None) -> Code:
        """LLVM IR of a kernel for a group size."""
        lanes = width or self.signature(name).subgroup_size
        try:
            return self._write(name, group_size, lanes)
        except NeedsOneLane:
            return self._write(name, group_size, 1)

    def _write(self, name: str, group_size: tuple[int, int, int], width: int) -> Code:
        kernel, has_barriers, cells = self._kernel(name)
        locals_, _ = self._place_locals(kernel)
        placement = {each: ("local", offset) for each, offset in locals_.items()}
        placement |= {each: ("global", offset) for each, offset in self._globals.items()}
        function = self.module.entry_points[name].function
        _, types = describe_arguments(self.module, function)
        modes = self.module.execution_modes.get(function, {})
        writer = KernelWriter(
            kernel,
            types,
            self.signature(name),
            placement,
            group_size,
            width,
            MODE_CONTRACTION_OFF not in modes,
        )
        return writer.write(has_barriers, cells)

    def compile(
        self, name: str, group_size: tuple[int, int, int], width: int | None = None
    ) -> KernelCode:
        """Machine code of a kernel for a group size."""
        key = (f"{name}/{width}", group_size)
        found = self._codes.get(key)
        if found is None:
            code = self.write(name, group_size, width)
            binary = machine.object_code(code.text)
            loaded = machine.load(binary)
            signature = self.signature(name)
            found = KernelCode(
                address=loaded.address,
                local_bytes=signature.local_bytes,
                scratch_bytes=code.scratch_bytes,
                keep=loaded,
                has_loops=not signature.loop_free,
                binary=binary,
            )
            self._codes[key] = found
        return found


def _is_program_scope(variable: Variable) -> bool:
    spaces = (STORAGE_CROSS_WORKGROUP, STORAGE_UNIFORM_CONSTANT, STORAGE_PRIVATE_GLOBAL)
    return (
        variable.builtin is None
        and variable.storage in spaces
        and variable.type.pointee is not None
    )
