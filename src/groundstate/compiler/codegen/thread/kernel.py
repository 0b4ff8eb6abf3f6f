"""The function of a kernel for a GPU: its parameters, the ids of the work-item, and its body.

All parameters are one block of bytes, first the arguments, then what the launch has to tell. Local
memory is shared memory: variables by name, arguments as offsets into what the launch asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import groundstate.compiler.codegen.kernel
import groundstate.compiler.codegen.thread.atomics
import groundstate.compiler.codegen.thread.barriers
import groundstate.compiler.codegen.thread.pointers
import groundstate.compiler.codegen.thread.reductions
import groundstate.compiler.codegen.thread.subgroups
import groundstate.compiler.codegen.thread.workgroups
import groundstate.compiler.math.device.powers
import groundstate.compiler.math.device.remainders
import groundstate.compiler.math.device.special  # noqa: F401 - each registers what it writes
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.codegen.debug_metadata import DebugMetadata
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.memory.layout import lies_packed, memory_type, offsets
from groundstate.compiler.codegen.thread.emitter import ThreadContext, ThreadEmitter
from groundstate.compiler.codegen.thread.flow import write_blocks
from groundstate.compiler.codegen.thread.members import Members
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.passes import Variant
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.program.signature import Argument
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Handle, Pointer, Type
from groundstate.compiler.target import Target

BLOCK = "%block"
DYNAMIC = "groundstate_dynamic"
"""The shared memory that a launch asks for, behind all variables."""
DYNAMIC_LINE = f"@{DYNAMIC} = external addrspace(3) global [0 x i8], align 16"
BLOCK_ALIGNMENT = 16
LINES_ONLY = "DebugDirectivesOnly"
"""What LLVM makes of locations: lines in PTX. With more, the assembler would not optimise."""
IMPLICIT = {
    "global_offset": (24, 8),
    "print_buffer": (8, 8),
    "work_dim": (4, 4),
}
"""What a launch tells beside the arguments: bytes and alignment."""
AXES = ("x", "y", "z")
UNEVEN = (5, 5, 4)
"""A group size in which no id is the same for all work-items of a sub-group."""
IN_GLOBAL_MEMORY = frozenset((StorageClass.CrossWorkgroup, StorageClass.UniformConstant))


@dataclass(frozen=True)
class ThreadCode:
    """LLVM IR of a kernel, to be put into a module with others."""

    lines: list[str]
    declarations: dict[str, str]
    shared: dict[str, tuple[int, int]]
    """Variables in shared memory: bytes, and alignment."""
    uses_dynamic: bool
    implicit: dict[str, int]
    parameter_bytes: int
    formats: tuple[bytes, ...]
    uses_print: bool
    debug: DebugMetadata | None
    """Where in the source it comes from, if that is known."""


@dataclass(frozen=True)
class Placed:
    """An argument, and where it lies in the block of parameters."""

    argument: Argument
    type: Type
    offset: int


class ThreadWriter:
    """Writes one kernel."""

    def __init__(
        self,
        kernel: Kernel,
        target: Target,
        arguments: list[Placed],
        variables: dict[tuple[int, int], str],
        *,
        symbol: str,
        subgroup: int,
        group_size: tuple[int, int, int] | None,
        contract: bool,
        formats: list[bytes],
        debug_start: int,
    ) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.variables = variables
        """By module and id: the address of a variable, as a constant of LLVM."""
        self.group_size = group_size
        self.symbol = symbol
        items = group_size[0] * group_size[1] * group_size[2] if group_size else None
        self.context = ThreadContext(target, subgroup, items)
        self.context.contract = contract
        self.context.symbol = symbol
        self.context.formats = formats
        self.debug = DebugMetadata.of_kernel(kernel, debug_start, LINES_ONLY)
        self.context.debug = self.debug
        cfg = CFG(kernel)
        diverged = diverged_blocks(kernel, cfg, subgroup, target)
        self.context.members = Members(kernel, cfg, diverged) if diverged is not None else None
        divergence = Divergence(kernel, cfg, Variant(group_size or (1, 1, 1), 1, subgroup), target)
        self.emitter = ThreadEmitter(kernel, divergence, self.context)
        self.text = self.emitter.text
        self.implicit: dict[str, int] = {}
        self.end = max((each.offset + _room_of(each) for each in arguments), default=0)
        self.uses_dynamic = False

    def write(self) -> ThreadCode:
        """The function."""
        self._write_arguments()
        self.context.global_names = dict(self.variables)
        self._write_ids()
        uses_print = any(_prints(node) for node in self.kernel.nodes())
        if uses_print:
            address = self._implicit("ptr addrspace(1)", "print_buffer", 0)
            self.context.print_buffer = self.text.emit(
                f"addrspacecast ptr addrspace(1) {address} to ptr"
            )
        write_blocks(self.emitter)
        self.emitter.problems.check()
        size = -(-self.end // 8) * 8
        parameter = (
            f'ptr byval([{size} x i8]) align {BLOCK_ALIGNMENT} readonly "nvvm.grid_constant" '
            f"{BLOCK}"
            if size
            else ""
        )
        required = ""
        if self.group_size is not None:
            required = f' "nvvm.reqntid"="{",".join(map(str, self.group_size))}"'
        described = "" if self.debug is None else f" !dbg {self.debug.step}"
        lines = [
            f"define ptx_kernel void @{self.symbol}({parameter}) nounwind{required}{described} {{",
            "entry:",
            *self.emitter.allocas,
            *self.text.lines,
            "}",
        ]
        return ThreadCode(
            lines,
            self.text.declarations,
            self.context.shared,
            self.uses_dynamic,
            self.implicit,
            size,
            tuple(self.context.formats),
            uses_print,
            self.debug,
        )

    # --- Parameters -----------------------------------------------------------------------------

    def _parameter(self, type_: str, offset: int, align: int) -> str:
        text = self.text
        place = text.emit(f"getelementptr i8, ptr {BLOCK}, i64 {offset}")
        return text.emit(f"load {type_}, ptr {place}, align {align}, !invariant.load !0")

    def _implicit(self, type_: str, name: str, offset: int) -> str:
        """Something that the launch tells."""
        size, align = IMPLICIT[name]
        if name not in self.implicit:
            self.implicit[name] = -(-self.end // align) * align
            self.end = self.implicit[name] + size
        return self._parameter(type_, self.implicit[name] + offset, align)

    def _write_arguments(self) -> None:
        for each in self.arguments:
            self.context.arguments.append(self._argument(each))

    def _argument(self, placed: Placed) -> Value:
        text, type_ = self.text, placed.type
        if placed.argument.kind == "local":
            self.uses_dynamic = True
            offset = self._parameter("i32", placed.offset, 4)
            offset = text.emit(f"zext i32 {offset} to i64")
            base = text.emit(f"addrspacecast ptr addrspace(3) @{DYNAMIC} to ptr")
            return Lanes("ptr", text.emit(f"getelementptr i8, ptr {base}, i64 {offset}"))
        if isinstance(type_, Pointer) and placed.argument.kind == "value":
            # A structure passed by value: it lies in the block.
            return Lanes("ptr", text.emit(f"getelementptr i8, ptr {BLOCK}, i64 {placed.offset}"))
        if placed.argument.kind == "image" or (
            isinstance(type_, Pointer) and type_.storage in IN_GLOBAL_MEMORY
        ):
            address = self._parameter("ptr addrspace(1)", placed.offset, 8)
            return Lanes("ptr", text.emit(f"addrspacecast ptr addrspace(1) {address} to ptr"))
        return self._value(placed.offset, type_)

    def _value(self, offset: int, type_: Type) -> Value:
        parts = components(type_)
        if parts is not None:
            return [
                self._value(offset + each, part)
                for part, each in zip(parts, offsets(type_), strict=True)
            ]
        align = max(1, min(type_.align, offset & -offset or BLOCK_ALIGNMENT))
        name = self._parameter(memory_type(type_), offset, align)
        if not lies_packed(type_):
            name = self.text.emit(f"trunc {memory_type(type_)} {name} to {scalar_type(type_)}")
        return Lanes(scalar_type(type_), name)

    # --- Ids ------------------------------------------------------------------------------------

    def _write_ids(self) -> None:
        """Who the work-item is. What the kernel does not ask for, LLVM leaves out; but the launch
        should not have to tell it either."""
        ids = self.context.ids
        asked = {str(node.literals[0]) for node in self.kernel.nodes() if node.op == "Builtin"}
        local, size = self._each("tid"), self._sizes()
        groups, counts = self._each("ctaid"), self._each("nctaid")
        ids["LocalInvocationId"] = local
        ids["WorkgroupId"], ids["NumWorkgroups"] = groups, counts
        ids["WorkgroupSize"] = ids["EnqueuedWorkgroupSize"] = size
        ids["GlobalSize"] = [self._of("mul", *each) for each in zip(counts, size, strict=True)]
        starts = [self._of("mul", *each) for each in zip(groups, size, strict=True)]
        places = [self._of("add", *each) for each in zip(starts, local, strict=True)]
        if asked & {"GlobalInvocationId", "GlobalOffset"}:
            offset = [Lanes("i64", self._implicit("i64", "global_offset", 8 * i)) for i in range(3)]
            ids["GlobalOffset"] = offset
            ids["GlobalInvocationId"] = [
                self._of("add", *each) for each in zip(places, offset, strict=True)
            ]
        if "WorkDim" in asked:
            ids["WorkDim"] = [Lanes("i32", self._implicit("i32", "work_dim", 0))]
        ids["LocalInvocationIndex"] = [self._linear(local, size)]
        ids["GlobalLinearId"] = [self._linear(places, ids["GlobalSize"])]
        self._write_subgroup_ids(ids["LocalInvocationIndex"][0], size)

    def _write_subgroup_ids(self, index: Lanes, size: list[Lanes]) -> None:
        text, ids, width = self.text, self.context.ids, self.context.subgroup
        lane = self.emitter.register("laneid")
        own = text.emit(f"and i32 {lane}, {width - 1}")
        items = self._of("mul", self._of("mul", size[0], size[1]), size[2])
        ids["SubgroupLocalInvocationId"] = [Lanes("i32", own)]
        ids["SubgroupMaxSize"] = [Lanes("i64", str(width))]
        ids["SubgroupId"] = [Lanes("i64", text.emit(f"udiv i64 {index.name}, {width}"))]
        rounded = text.emit(f"add i64 {items.name}, {width - 1}")
        count = Lanes("i64", text.emit(f"udiv i64 {rounded}, {width}"))
        ids["NumSubgroups"] = ids["NumEnqueuedSubgroups"] = [count]
        before = text.emit(f"and i64 {index.name}, {-width}")
        left = text.emit(f"sub i64 {items.name}, {before}")
        whole = text.call("i64", "llvm.umin.i64", [("i64", left), ("i64", str(width))])
        ids["SubgroupSize"] = [Lanes("i64", whole)]

    def _each(self, register: str) -> list[Lanes]:
        found = [self.emitter.register(f"{register}.{axis}") for axis in AXES]
        return [Lanes("i64", self.text.emit(f"zext i32 {each} to i64")) for each in found]

    def _sizes(self) -> list[Lanes]:
        if self.group_size is not None:
            return [Lanes("i64", str(each)) for each in self.group_size]
        return self._each("ntid")

    def _of(self, kind: str, left: Lanes, right: Lanes) -> Lanes:
        return Lanes("i64", self.text.emit(f"{kind} i64 {left.name}, {right.name}"))

    def _linear(self, place: list[Lanes], size: list[Lanes]) -> Lanes:
        """((z * height) + y) * width + x."""
        plane = self._of("add", self._of("mul", place[2], size[1]), place[1])
        return self._of("add", self._of("mul", plane, size[0]), place[0])


def _room_of(placed: Placed) -> int:
    return 4 if placed.argument.kind == "local" else placed.argument.size


def _prints(node: Node) -> bool:
    if node.op != "ExtInst":
        return False
    row = opencl_rows().get(int(str(node.literals[1])))
    return row is not None and row.name == "printf"


def diverged_blocks(kernel: Kernel, cfg: CFG, subgroup: int, target: Target) -> set[Block] | None:
    """The blocks that only some work-items of a sub-group may reach, whatever the group size; None
    if that is not known."""
    if not cfg.reducible or not kernel.observes_subgroups:
        return None
    return Divergence(kernel, cfg, Variant(UNEVEN, subgroup, subgroup), target).divergent_blocks


def place_arguments(arguments: tuple[Argument, ...], types: list[Type]) -> list[Placed]:
    """Where the arguments lie in the block of parameters: as in the CPU's, but that of local
    memory is an offset of 32 bits."""
    placed: list[Placed] = []
    end = 0
    for argument, type_ in zip(arguments, types, strict=True):
        size, align = argument_room(argument, type_)
        end = -(-end // align) * align
        placed.append(Placed(argument, type_, end))
        end += size
    return placed


def argument_room(argument: Argument, type_: Type) -> tuple[int, int]:
    """The bytes that an argument takes in the block, and its alignment there."""
    if argument.kind == "local":
        return 4, 4
    if argument.kind != "value" or isinstance(type_, Handle):
        return 8, 8
    whole = type_.pointee if isinstance(type_, Pointer) else type_
    assert whole is not None
    return argument.size, max(1, min(whole.align, BLOCK_ALIGNMENT))
