"""SPIR-V to PTX: a module for NVIDIA's GPUs, and what a driver needs to know of its kernels.

The arguments of a kernel are one block of bytes, which a launch passes by
CU_LAUNCH_PARAM_BUFFER_POINTER. docs/internals/nvptx.md has the contract.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from groundstate.compiler.codegen.debug_metadata import FIRST, DebugMetadata
from groundstate.compiler.codegen.thread import narrow_stores, wide_products
from groundstate.compiler.errors import BuildError, RefusedError, WrongIrError
from groundstate.compiler.llvm import service
from groundstate.compiler.program.kernel_compiler import UNOPTIMISED
from groundstate.compiler.program.program import Program
from groundstate.compiler.program.signature import describe_arguments
from groundstate.compiler.program.unsupported import describe
from groundstate.compiler.program.variables import Globals, place_variables
from groundstate.compiler.spirv.opcodes import ExecutionMode, StorageClass
from groundstate.compiler.target import Target
from groundstate.compiler.target.nvptx import nvptx

DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
SHARED_ALIGNMENT = 16
"""Of variables in shared memory, and of what a launch places behind them."""
GLOBAL_ALIGNMENT = 16
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER = re.compile(r"[^A-Za-z0-9]")


@dataclass(frozen=True)
class PtxArgument:
    """One argument of a kernel."""

    kind: str
    """value, pointer, local, image or sampler."""
    offset: int
    """In the block of parameters."""
    size: int
    """Bytes there. Of local memory 4: an offset into the shared memory that the launch asks for."""
    alignment: int
    """There; of local memory: that which the driver gives the offset."""


@dataclass(frozen=True)
class PtxKernel:
    """One kernel of a module."""

    name: str
    symbol: str
    """Of the entry in the PTX, which allows fewer characters."""
    arguments: tuple[PtxArgument, ...]
    parameter_bytes: int
    """Of the whole block."""
    implicit: dict[str, int]
    """What the launch has to tell beside the arguments, by name: where in the block."""
    static_shared: int
    """Bytes of variables in shared memory; what the launch asks for lies behind them."""
    required_group_size: tuple[int, int, int] | None
    sub_group_size: int
    uses_print: bool
    cooperative: bool
    """Whether all groups have to run at once."""


@dataclass(frozen=True)
class PtxModule:
    """PTX, and what is in it."""

    text: str
    kernels: dict[str, PtxKernel]
    variables: dict[str, tuple[str, int]]
    """Program-scope variables by name: symbol and bytes."""
    print_formats: tuple[bytes, ...] = ()
    """The formats of printf, by the numbers in records."""
    llvm: str = field(default="", repr=False)
    """The LLVM IR that it was made of."""


def compile_ptx(
    spirv: bytes,
    *,
    sm: int,
    kernels: Iterable[str] | None = None,
    specialization: Mapping[int, bytes | int] | None = None,
    options: str = "",
) -> PtxModule:
    """PTX of some kernels of a module, or of all, for a compute capability (90 is sm_90).

    Raises BuildError, or InvalidModule if it is no module."""
    constants = {
        number: value if isinstance(value, bytes) else value.to_bytes(8, "little", signed=value < 0)
        for number, value in (specialization or {}).items()
    }
    program = Program(spirv, options=options, constants=constants, target=nvptx(sm))
    return compile_program(program, kernels)


def compile_program(program: Program, kernels: Iterable[str] | None = None) -> PtxModule:
    """PTX of some kernels of a program whose target is a GPU, or of all."""
    names = tuple(kernels) if kernels is not None else program.kernel_names
    for name in names:
        if name not in program.kernel_names:
            known = ", ".join(program.kernel_names) or "none"
            raise BuildError(f"there is no kernel '{name}'; there are: {known}")
    return _Module(program, names).compiled()


class _Module:
    """A module while it is made."""

    def __init__(self, program: Program, names: tuple[str, ...]) -> None:
        self.program = program
        self.names = names
        self.target: Target = program.target
        self.formats: list[bytes] = []
        self.taken: set[str] = set()
        self.variables = _Variables(program.globals, self._symbol)
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.shared_lines: list[str] = []
        self.debug: list[DebugMetadata] = []
        self.uses_dynamic = False

    def compiled(self) -> PtxModule:
        """The module, when all kernels have been written."""
        kernels = {name: self._kernel(name) for name in self.names}
        text = self._text()
        target = self.target
        machine = f"{target.triple} {target.cpu} {target.features}"
        is_optimised = UNOPTIMISED.isdisjoint(self.program.options.split())
        try:
            ptx = service.other_assembly(text, machine, is_optimised)
        except WrongIrError as problem:
            listed = ", ".join(self.names)
            raise BuildError(
                f"LLVM does not take what was written for {listed}: {problem}"
            ) from problem
        ptx = wide_products.use(narrow_stores.cut(ptx))
        return PtxModule(ptx, kernels, self.variables.names, tuple(self.formats), text)

    def _symbol(self, name: str) -> str:
        """A name that PTX takes, and nothing else in the module has."""
        plain = name
        if not _PLAIN.fullmatch(name):
            plain = "gs_" + _OTHER.sub(lambda found: f"_{ord(found[0]):x}_", name)
        symbol, count = plain, 0
        while symbol in self.taken:
            count += 1
            symbol = f"{plain}_{count}"
        self.taken.add(symbol)
        return symbol

    # --- Kernels --------------------------------------------------------------------------------

    def _kernel(self, name: str) -> PtxKernel:
        from groundstate.compiler import pipeline
        from groundstate.compiler.codegen.thread.kernel import (
            ThreadWriter,
            argument_room,
            place_arguments,
        )
        from groundstate.compiler.ir import deadline

        program = self.program
        if name in program.refusals:
            raise RefusedError(describe({name: program.refusals[name]}))
        pipeline.check(program, name)
        signature = program.signature(name)
        if signature.unresolved:
            missing = ", ".join(signature.unresolved)
            raise BuildError(f"kernel '{name}' uses what nothing defines: {missing}")
        _, types = describe_arguments(*program.function(name))
        placed = place_arguments(signature.arguments, types)
        symbol = self._symbol(name)
        kernel = program.kernel(name)
        addresses, shared = self._addresses(kernel, symbol)
        contract = ExecutionMode.ContractionOff not in program.modes(name)
        with deadline.limited(name):
            code = ThreadWriter(
                kernel,
                self.target,
                placed,
                addresses,
                symbol=symbol,
                subgroup=signature.subgroup_size,
                group_size=signature.required_group_size,
                contract=contract,
                formats=self.formats,
                debug_start=self.debug[-1].end if self.debug else FIRST,
            ).write()
        if code.debug is not None:
            self.debug.append(code.debug)
        shared |= code.shared
        self._add_shared(shared)
        self.lines += self._merged(symbol, code.lines, code.declarations)
        self.uses_dynamic |= code.uses_dynamic
        arguments = []
        for each in placed:
            size, align = argument_room(each.argument, each.type)
            if each.argument.kind == "local":
                align = SHARED_ALIGNMENT
            arguments.append(PtxArgument(each.argument.kind, each.offset, size, align))
        return PtxKernel(
            name=name,
            symbol=symbol,
            arguments=tuple(arguments),
            parameter_bytes=code.parameter_bytes,
            implicit=code.implicit,
            static_shared=sum(_rounded(size) for size, _ in shared.values()),
            required_group_size=signature.required_group_size,
            sub_group_size=signature.subgroup_size,
            uses_print=code.uses_print,
            cooperative=False,
        )

    def _addresses(
        self, kernel: object, symbol: str
    ) -> tuple[dict[tuple[int, int], str], dict[str, tuple[int, int]]]:
        """The addresses of the variables that a kernel uses; its own ones in shared memory."""
        from groundstate.compiler.ir import Kernel

        assert isinstance(kernel, Kernel)
        placement, size = place_variables(kernel, self.program.globals)
        addresses: dict[tuple[int, int], str] = {}
        shared: dict[str, tuple[int, int]] = {}
        locals_ = sorted({offset for memory, offset in placement.values() if memory == "local"})
        for key, (memory, offset) in placement.items():
            if memory == "global":
                addresses[key] = self.variables.address(offset)
                continue
            at = locals_.index(offset)
            name = f"{symbol}$local{at}"
            end = locals_[at + 1] if at + 1 < len(locals_) else size
            variable = self.program.symbols.variable(*key)[1]
            kind = variable.data_type
            room = kind.size if kind is not None else end - offset
            shared[name] = (max(room, shared.get(name, (0, 0))[0]), SHARED_ALIGNMENT)
            addresses[key] = f"addrspacecast (ptr addrspace(3) @{name} to ptr)"
        return addresses, shared

    def _add_shared(self, shared: dict[str, tuple[int, int]]) -> None:
        for name, (size, align) in shared.items():
            self.shared_lines.append(
                f"@{name} = internal addrspace(3) global [{_rounded(size)} x i8] undef, "
                f"align {max(align, SHARED_ALIGNMENT)}"
            )

    def _merged(self, symbol: str, lines: list[str], found: dict[str, str]) -> list[str]:
        """The lines of a kernel. A function of another kernel that has the same name and another
        body gets another name."""
        renamed = {
            name: f"{name}.{symbol}"
            for name, text in found.items()
            if self.declarations.get(name, text) != text
        }
        texts = ["\n".join(lines), *found.values()]
        for old, new in renamed.items():
            texts = [text.replace(f"@{old}(", f"@{new}(") for text in texts]
        for name, text in zip(found, texts[1:], strict=True):
            self.declarations[renamed.get(name, name)] = text
        return texts[0].split("\n")

    def _text(self) -> str:
        from groundstate.compiler.codegen.control.loop_hints import LOOP_HINT_LINES
        from groundstate.compiler.codegen.control.speculation import MOSTLY_LINE
        from groundstate.compiler.codegen.thread.kernel import DYNAMIC_LINE

        lines = [
            f'target triple = "{self.target.triple}"',
            f'target datalayout = "{DATA_LAYOUT}"',
            *self.variables.lines,
            *self.shared_lines,
            *([DYNAMIC_LINE] if self.uses_dynamic else []),
            *self.lines,
            *self.declarations.values(),
            "!0 = !{}",
            "!1 = !{i32 1}",
            MOSTLY_LINE,
            *LOOP_HINT_LINES,
            *DebugMetadata.together(self.debug),
        ]
        return "\n".join(lines) + "\n"


def _rounded(size: int) -> int:
    return -(-max(size, 1) // SHARED_ALIGNMENT) * SHARED_ALIGNMENT


class _Variables:
    """The program-scope variables, each with a symbol of its own."""

    def __init__(self, variables: Globals, symbol: object) -> None:
        assert callable(symbol)
        self.names: dict[str, tuple[str, int]] = {}
        self.lines: list[str] = []
        self._starts: list[int] = []
        self._symbols: list[str] = []
        sizes = dict(variables.names.values())
        by_place = sorted((place, key) for key, place in variables.places.items())
        called = {place: name for name, (place, _) in variables.names.items()}
        for place, (home, identifier) in by_place:
            module = variables.symbols.modules[home]
            name = module.exports.get(identifier) or module.names.get(identifier, "")
            made = symbol(name or f"variable{identifier}")
            self._starts.append(place)
            self._symbols.append(made)
            if called.get(place) == name and name:
                self.names[name] = (made, sizes[place])
        for index, (place, (home, identifier)) in enumerate(by_place):
            variable = variables.symbols.modules[home].variables[identifier]
            kind = variable.data_type
            assert kind is not None
            relocations = [
                each for each in variables.relocations if place <= each < place + kind.size
            ]
            content = variables.image[place : place + kind.size]
            self._add(index, place, content, relocations, variable.storage)

    def _add(
        self, index: int, place: int, content: bytes, relocations: list[int], storage: int
    ) -> None:
        kind = "constant" if storage == StorageClass.UniformConstant else "global"
        types, values, at = [], [], 0
        for each in sorted(relocations):
            if each - place > at:
                types.append(f"[{each - place - at} x i8]")
                values.append(_bytes(content[at : each - place]))
            target = int.from_bytes(content[each - place : each - place + 8], "little")
            types.append("ptr")
            values.append(self.address(target))
            at = each - place + 8
        if at < len(content) or not types:
            types.append(f"[{max(1, len(content) - at)} x i8]")
            values.append(_bytes(content[at:] or b"\0"))
        whole = ", ".join(types)
        filled = ", ".join(f"{t} {value}" for t, value in zip(types, values, strict=True))
        self.lines.append(
            f"@{self._symbols[index]} = addrspace(1) {kind} <{{ {whole} }}> <{{ {filled} }}>, "
            f"align {GLOBAL_ALIGNMENT}"
        )

    def address(self, place: int) -> str:
        """The address of a place in the CPU's block of variables, as a constant of LLVM."""
        index = max(0, bisect_right(self._starts, place) - 1)
        base = f"addrspacecast (ptr addrspace(1) @{self._symbols[index]} to ptr)"
        offset = place - self._starts[index]
        return f"getelementptr (i8, ptr {base}, i64 {offset})" if offset else base


def _bytes(content: bytes) -> str:
    if not any(content):
        return "zeroinitializer"
    return 'c"' + "".join(f"\\{each:02X}" for each in content) + '"'
