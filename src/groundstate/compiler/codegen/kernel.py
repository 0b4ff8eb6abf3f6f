"""The function around a kernel's body: one sub-group's `step`.

`step` returns 0 when its sub-group has ended, or the number of the barrier it waits at; `run`
(`group_loop.py`) calls it for each sub-group of a group, and again from that barrier on, until the
group has ended.
"""

from __future__ import annotations

from typing import Any

import groundstate.compiler.codegen.arithmetic.checks
import groundstate.compiler.codegen.arithmetic.composites
import groundstate.compiler.codegen.arithmetic.conversions
import groundstate.compiler.codegen.arithmetic.dots
import groundstate.compiler.codegen.arithmetic.integers
import groundstate.compiler.codegen.arithmetic.intrinsics
import groundstate.compiler.codegen.arithmetic.opencl
import groundstate.compiler.codegen.control.no_wrap
import groundstate.compiler.codegen.groups.ballots
import groundstate.compiler.codegen.groups.convergence
import groundstate.compiler.codegen.groups.operations
import groundstate.compiler.codegen.groups.shuffles
import groundstate.compiler.codegen.groups.workgroups
import groundstate.compiler.codegen.images.checks
import groundstate.compiler.codegen.images.operations
import groundstate.compiler.codegen.images.races
import groundstate.compiler.codegen.memory.accesses
import groundstate.compiler.codegen.memory.atomics
import groundstate.compiler.codegen.memory.blocks
import groundstate.compiler.codegen.memory.guards
import groundstate.compiler.codegen.memory.layout
import groundstate.compiler.codegen.memory.pointers
import groundstate.compiler.codegen.memory.races
import groundstate.compiler.codegen.memory.shadows
import groundstate.compiler.codegen.memory.table_lookups
import groundstate.compiler.codegen.memory.tiles
import groundstate.compiler.codegen.printing
import groundstate.compiler.codegen.reports
import groundstate.compiler.codegen.workitems  # noqa: F401 - each registers its instructions
from groundstate.compiler.analysis.divergence import Divergence, lane_stride
from groundstate.compiler.analysis.facts import is_loop_free
from groundstate.compiler.analysis.rows import (
    ONE_BY_ONE,
    TURNED_ROWS,
    Lockstep,
    differing_values,
    turned_loads,
)
from groundstate.compiler.analysis.shared_variables import stack_variables
from groundstate.compiler.analysis.turned import group_order
from groundstate.compiler.codegen import counting
from groundstate.compiler.codegen.control import refill
from groundstate.compiler.codegen.control.flow import ControlFlow
from groundstate.compiler.codegen.control.loop_hints import LOOP_HINT_LINES
from groundstate.compiler.codegen.control.speculation import MOSTLY_LINE
from groundstate.compiler.codegen.debug_metadata import DebugMetadata, Described
from groundstate.compiler.codegen.emitter import Emitter, KernelContext
from groundstate.compiler.codegen.group_loop import (
    KEEP,
    OFFSET_GROUP_COUNTS,
    UNROLL,
    GroupLoop,
    following_barriers,
)
from groundstate.compiler.codegen.groups.workgroups import CELL_BYTES
from groundstate.compiler.codegen.memory.copies import clear
from groundstate.compiler.codegen.memory.nontemporal import condition, nontemporal_stores
from groundstate.compiler.codegen.memory.privatised_atomics import (
    privatised_atomics,
    unwanted_results,
)
from groundstate.compiler.codegen.memory.races import tells, tells_barriers
from groundstate.compiler.codegen.memory.shadows import has_shadows
from groundstate.compiler.codegen.memory.tally_table import table_bytes
from groundstate.compiler.codegen.routines import inline_hinted
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.program.signature import Argument, Signature
from groundstate.compiler.spirv.types import Pointer, Type
from groundstate.compiler.target.shapes import shape_of
from groundstate.native_layouts import Dispatch, offset_of

OFFSET_ARGUMENTS = offset_of(Dispatch, "arguments")
OFFSET_GLOBAL_OFFSET = offset_of(Dispatch, "global_offset")
OFFSET_WORK_DIMENSIONS = offset_of(Dispatch, "work_dimensions")
OFFSET_PRINT_BUFFER = offset_of(Dispatch, "print_buffer")
OFFSET_GLOBALS = offset_of(Dispatch, "globals")
OFFSET_BOUNDS = offset_of(Dispatch, "bounds")
OFFSET_STREAMS = offset_of(Dispatch, "streams")
OFFSET_GROUP_CHECKS = offset_of(Dispatch, "group_checks")
OFFSET_SHADOW = offset_of(Dispatch, "shadow")

ONE_BY_ONE_CALLS = ("@llvm.masked.gather.", "@llvm.masked.scatter.", "@gs.gather.", "@gs.scatter.")
"""What takes an instruction or more for each lane."""

PARAMETERS = (
    "ptr %dispatch, i64 %gx, i64 %gy, i64 %gz, i64 %sub, i32 %resume, "
    "ptr %local, ptr %local.end, ptr %privates, ptr %privates.end, ptr %private, "
    "ptr noalias %saved, ptr %shared, ptr %tally, ptr %habit, ptr %counts, i1 %follows"
)


@light_dataclass()
class Code:
    """LLVM IR of a kernel variant, and the memory that it needs."""

    text: str
    private_bytes: int
    """Private memory, for each worker."""
    saved_bytes: int
    """What sub-groups keep at barriers and what they share, for each worker."""
    lanes: int
    """How many work-items run side by side."""
    formats: tuple[bytes, ...] = ()
    """The format strings of its printf calls."""
    locations: tuple[Described, ...] = ()
    """Where in the source its instructions come from, by the numbers in its line table."""
    sites: tuple[dict[str, Any], ...] = ()
    """Where checkers may report something."""
    writes_back: bool = False
    """Whether it puts atomic operations off until the end of a range of groups."""
    refills: bool = False
    """Whether lanes that are done take the next work-items."""
    shape: int = 0
    """How work-items run, as `target/shapes.py` counts."""


class KernelWriter:
    """Writes one variant of a kernel."""

    may_stream = True
    """Whether stores may go around the cache."""

    def __init__(
        self,
        divergence: Divergence,
        types: list[Type],
        signature: Signature,
        placement: dict[tuple[int, int], tuple[str, int]],
        contract: bool,
        lockstep: Lockstep = ONE_BY_ONE,
    ) -> None:
        self.kernel = divergence.kernel
        self.lockstep = lockstep
        self.types = types
        self.signature = signature
        self.placement = placement
        """Of each variable of the module: "local" or "global", and the offset in that memory."""
        self.size = divergence.group_size
        self.width = divergence.width
        self.items = self.size[0] * self.size[1] * self.size[2]
        self.subgroups = -(-self.items // self.width)
        self.cfg = divergence.cfg
        self.divergence = divergence
        self.target = divergence.target
        self.context = KernelContext(divergence.target)
        self.context.contract = contract
        self.context.subgroups = self.subgroups
        self.debug = self.context.debug = DebugMetadata.of_kernel(self.kernel)
        self.emitter = Emitter(self.kernel, self.divergence, self.context)
        if lockstep.vectors > 1:
            differing = differing_values(divergence, lockstep.along_row)
            self.emitter.use_rows(lockstep.vectors, differing)
            if not lockstep.along_row and lockstep.vectors % TURNED_ROWS == 0:
                self.emitter.turned_loads = turned_loads(divergence)
        self.text = self.emitter.text
        self.first_item = "0"
        """The number of the first work-item of the vector."""
        self.private: dict[Node, str] = {}
        """The names of the addresses of private variables."""
        self.private_offsets: dict[str, int] = {}
        """Where those lie in a sub-group's private memory that have their place there."""
        self.private_bytes = 0
        self.on_stack = stack_variables(self.kernel, divergence.shared)

    def write(self, cells: int) -> Code:
        """The whole LLVM module."""
        flow = self.write_step()
        text = self.text
        context = -(-flow.context_bytes // 64) * 64
        shared_bytes = cells * CELL_BYTES * self.subgroups
        self.private_bytes = -(-self.private_bytes // 64) * 64
        following = following_barriers(self.kernel.blocks[0], flow.barrier_blocks)
        copies = self._private_copies(len(following))
        all_private = self.private_bytes * copies + self.context.room_bytes
        loop = GroupLoop(
            self.context,
            self.items,
            context,
            self.private_bytes if copies > 1 else 0,
            all_private,
            shared_bytes,
            following,
            self._unrolling(len(following)),
            self.lockstep,
            self.size[self.divergence.axis] // self.width,
            group_order(self.divergence.variant.axis),
            tells(self.kernel),
            tells_barriers(self.kernel),
            self.divergence.subgroup,
            has_shadows(self.kernel),
        )
        lines = [*self.step_lines(), *loop.lines()]
        declarations = {**text.declarations, **loop.declarations}
        lines += inline_hinted(declarations, lines)
        lines += ["!0 = !{}", "!1 = !{i32 1}", MOSTLY_LINE, *LOOP_HINT_LINES, *loop.metadata()]
        lines += self.debug.lines() if self.debug is not None else ()
        table_size = table_bytes(self.target) if self.context.privatised else 0
        return Code(
            "\n".join(lines) + "\n",
            all_private,
            loop.saved_bytes + shared_bytes + table_size,
            self.width,
            tuple(self.context.formats),
            tuple(self.debug.table()) if self.debug is not None else (),
            (*self.kernel.sites, *counting.site(self.kernel)),
            bool(self.context.privatised),
            self.context.refill is not None,
            shape_of(self.divergence.variant),
        )

    def _unrolling(self, regions: int) -> str:
        """What LLVM is told of loops over sub-groups. Loops inside of one that was unrolled are
        there several times, so that the CPU foresees less well where each of them ends."""
        if self.width == 1 and not is_loop_free(self.kernel):
            return KEEP
        return UNROLL if self._unrolls_subgroups(regions) else ""

    def _unrolls_subgroups(self, regions: int) -> bool:
        """Whether each loop over sub-groups is short enough, from a barrier to the next, for what
        waits at a barrier to stay in registers."""
        target = self.target
        if tells_barriers(self.kernel):
            return False
        if not 1 < regions <= target.most_barrier_loops + 1 or not is_loop_free(self.kernel):
            return False
        lines = len(self.text.lines) // regions * self.subgroups
        far = sum(any(each in line for each in ONE_BY_ONE_CALLS) for line in self.text.lines)
        return (
            lines <= target.most_unrolled_subgroup_lines
            and far * self.items <= target.most_unrolled_far_accesses
        )

    def _private_copies(self, regions: int) -> int:
        """How many sub-groups have private memory of their own: one after the other uses the same,
        which stays in the cache, unless they meet at a barrier or each has its own shadow."""
        return self.subgroups if regions > 1 or has_shadows(self.kernel) else 1

    # --- step -----------------------------------------------------------------------------------

    def write_step(self) -> ControlFlow:
        """Writes the body of `step`; answers how it flows."""
        text = self.text
        self.context.private_base = self._private_base
        self._write_arguments()
        self._write_ids()
        entry_mask = self.context.entry_mask = self._entry_mask()
        if self.divergence.refilled is not None:
            counts = [each.name for each in self.context.ids["NumWorkgroups"]]
            self.context.refill = refill.Refill(self.emitter, self.items, counts)
        flow = ControlFlow(self.emitter, self.cfg, entry_mask, "done")
        flow.context_base = "%saved"
        if not self.cfg.reducible and self.width > 1:
            from groundstate.compiler.codegen.control.flow import NeedsOneLane

            raise NeedsOneLane
        flow.prepare()
        prologue = len(text.lines)
        flow.write()
        self.emitter.problems.check()
        text.start("done")
        if self.context.refill is not None:
            flow.write_refill(self.context.refill, "ended")
            text.start("ended")
        text.do("ret i32 0")
        self._insert_resume(prologue, flow.resume_points)
        return flow

    def step_lines(self, name: str = "step", attributes: str = "alwaysinline") -> list[str]:
        """The function, when its body has been written."""
        private = [
            f"  {name} = getelementptr i8, ptr %private, i64 {offset}"
            for name, offset in self.private_offsets.items()
        ]
        described = "" if self.debug is None else f" !dbg {self.debug.step}"
        parameters = PARAMETERS + (refill.PARAMETERS if self.context.refill else "")
        return [
            f"define internal i32 @{name}({parameters}) {attributes} nounwind{described} {{",
            "entry:",
            *self.emitter.allocas,
            *private,
            *self.text.lines,
            "}",
        ]

    def _insert_resume(self, position: int, points: list[str]) -> None:
        """At the start, goes to the barrier that the sub-group waited at."""
        if not points:
            return
        cases = " ".join(f"i32 {number}, label %{label}" for number, label in enumerate(points, 1))
        self.text.lines[position:position] = [
            f"  switch i32 %resume, label %begin [{cases}]",
            "begin:",
        ]

    def _invariant(self, type_: str, base: str, offset: int) -> str:
        """Loads something that does not change during a launch."""
        text = self.text
        place = text.emit(f"getelementptr i8, ptr {base}, i64 {offset}")
        return text.emit(f"load {type_}, ptr {place}, align 1, !invariant.load !0")

    def _write_arguments(self) -> None:
        block = self._invariant("ptr", "%dispatch", OFFSET_ARGUMENTS)
        for argument, type_ in zip(self.signature.arguments, self.types, strict=True):
            self.context.arguments.append(self._argument(block, argument, type_))
        for identifier, (memory, offset) in self.placement.items():
            base = "%local"
            if memory == "global":
                base = self._invariant("ptr", "%dispatch", OFFSET_GLOBALS)
            name = self.text.emit(f"getelementptr i8, ptr {base}, i64 {offset}")
            self.context.global_names[identifier] = name
        if self.may_stream and self.divergence.refilled is None:
            self.context.nontemporal = nontemporal_stores(self.kernel, self.cfg)
        if self.context.nontemporal:
            streams = self._invariant("i64", "%dispatch", OFFSET_STREAMS)
            self.context.is_large = self.text.emit(f"icmp ne i64 {streams}, 0")
            for store in sorted(self.context.nontemporal, key=lambda each: each.index):
                condition(self.emitter, store)  # here, so that it holds everywhere
        self.context.unwanted = unwanted_results(self.kernel)
        self.context.privatised = privatised_atomics(self.kernel, self.cfg, self.context.unwanted)
        self.context.print_buffer = self._invariant("ptr", "%dispatch", OFFSET_PRINT_BUFFER)
        if self.kernel.sites:
            self.context.bounds = self._invariant("ptr", "%dispatch", OFFSET_BOUNDS)
        if has_shadows(self.kernel):
            self.context.shadow = self._invariant("ptr", "%dispatch", OFFSET_SHADOW)
        if tells(self.kernel):
            self.context.group_checks = self._invariant("ptr", "%dispatch", OFFSET_GROUP_CHECKS)

    def _argument(self, block: str, argument: Argument, type_: Type) -> Value:
        text = self.text
        place = text.emit(f"getelementptr i8, ptr {block}, i64 {argument.offset}")
        if argument.kind == "local":
            offset = text.emit(f"load i64, ptr {place}, align 1, !invariant.load !0")
            return Lanes("ptr", text.emit(f"getelementptr i8, ptr %local, i64 {offset}"))
        if isinstance(type_, Pointer) and argument.kind == "value":
            return Lanes("ptr", place)  # a structure passed by value: it lies in the block
        return self._load_value(place, 0, type_)

    def _load_value(self, place: str, offset: int, type_: Type) -> Value:
        from groundstate.compiler.codegen.function import components
        from groundstate.compiler.codegen.memory.layout import lies_packed, memory_type, offsets

        parts = components(type_)
        if parts is not None:
            return [
                self._load_value(place, offset + each, part)
                for part, each in zip(parts, offsets(type_), strict=True)
            ]
        name = self._invariant(memory_type(type_), place, offset)
        if not lies_packed(type_):
            name = self.text.emit(f"trunc {memory_type(type_)} {name} to {scalar_type(type_)}")
        return Lanes(scalar_type(type_), name)

    def _private_base(self, emitter: Emitter, node: Node) -> str:
        """Room for a private variable: one copy for each lane. Small ones of which one copy does
        lie on the stack, where LLVM makes values of what it can. Then what nobody has written
        must be something, too: on what is undefined it would not even branch."""
        assert isinstance(node.type, Pointer)
        size = lane_stride(node.type.pointee)
        is_on_stack = node in self.on_stack and size <= self.target.most_stack_bytes
        if node not in self.private:
            name = self.private[node] = f"%p{node.index}"
            if is_on_stack:
                emitter.allocas.append(f"  {name} = alloca [{size} x i8], align 16")
            else:
                self.private_bytes = -(-self.private_bytes // 64) * 64
                self.private_offsets[name] = self.private_bytes
                self.private_bytes += size * self.width
        if is_on_stack:
            clear(emitter, Lanes("ptr", self.private[node]), size, 16)
        return self.private[node]

    # --- ids ------------------------------------------------------------------------------------

    def _write_ids(self) -> None:
        """The ids of each vector: those of the first, and so many rows or vectors further."""
        local, first = self._local_ids(), self.first_item
        axis, below, _ = self.divergence.axes
        along_row = self.lockstep.along_row
        moving, amount = (axis, self.width) if along_row else (below, 1)
        items = self.width if along_row else self.size[axis]
        for row in range(self.lockstep.vectors):
            if row > 0:
                local = list(local)
                local[moving] = self._plus(local[moving], str(amount))
                self.first_item = self.text.emit(f"add i64 {first}, {row * items}")
            self.context.ids = {}
            self._write_ids_of_row(local)
            self.context.ids_of_rows.append(self.context.ids)

    def _write_ids_of_row(self, local: list[Lanes]) -> None:
        text, ids = self.text, self.context.ids
        counts = [
            self._invariant("i64", "%dispatch", OFFSET_GROUP_COUNTS + 8 * i) for i in range(3)
        ]
        starts = [
            self._invariant("i64", "%dispatch", OFFSET_GLOBAL_OFFSET + 8 * i) for i in range(3)
        ]
        groups = ["%gx", "%gy", "%gz"]
        bases = []
        for axis in range(3):
            scaled = text.emit(f"mul i64 {groups[axis]}, {self.size[axis]}")
            bases.append(text.emit(f"add i64 {scaled}, {starts[axis]}"))
        ids["LocalInvocationId"] = local
        ids["GlobalInvocationId"] = [
            self._plus(each, base) for each, base in zip(local, bases, strict=True)
        ]
        ids["WorkgroupId"] = [Lanes("i64", each) for each in groups]
        ids["NumWorkgroups"] = [Lanes("i64", each) for each in counts]
        ids["GlobalOffset"] = [Lanes("i64", each) for each in starts]
        for name in ("WorkgroupSize", "EnqueuedWorkgroupSize"):
            ids[name] = [Lanes("i64", str(each)) for each in self.size]
        ids["GlobalSize"] = [
            Lanes("i64", text.emit(f"mul i64 {count}, {size}"))
            for count, size in zip(counts, self.size, strict=True)
        ]
        dimensions = self._invariant("i32", "%dispatch", OFFSET_WORK_DIMENSIONS)
        ids["WorkDim"] = [Lanes("i32", dimensions)]
        self._write_linear_ids(local)

    def _local_ids(self) -> list[Lanes]:
        """Lanes run along x first, or whatever axis is the first. If a row holds whole sub-groups,
        the other ids are uniform."""
        text = self.text
        first = text.emit(f"mul i64 %sub, {self.width}")
        self.first_item = first
        if self.divergence.rows_are_whole or self.width == 1:
            parts, rest = {}, first
            for axis in self.divergence.axes:
                step = 1 if axis == self.divergence.axis and self.width > 1 else 0
                part = text.emit(f"urem i64 {rest}, {self.size[axis]}")
                rest = text.emit(f"udiv i64 {rest}, {self.size[axis]}")
                parts[axis] = Lanes("i64", part, step)
            return [parts[axis] for axis in range(3)]
        x, y, _ = self.size
        wide = text.vector_type("i32")
        narrow = text.emit(f"trunc i64 {first} to i32")
        index = text.as_vector(Lanes("i32", narrow, 1))
        columns = text.emit(f"urem {wide} {index}, {text.splat('i32', str(x))}")
        rows = text.emit(f"udiv {wide} {index}, {text.splat('i32', str(x))}")
        seconds = text.emit(f"urem {wide} {rows}, {text.splat('i32', str(y))}")
        thirds = text.emit(f"udiv {wide} {rows}, {text.splat('i32', str(y))}")
        result = []
        for name in (columns, seconds, thirds):
            result.append(
                Lanes("i64", text.emit(f"zext {wide} {name} to {text.vector_type('i64')}"), None)
            )
        return result

    def _plus(self, value: Lanes, scalar: str) -> Lanes:
        text = self.text
        if not value.is_vector:
            return Lanes("i64", text.emit(f"add i64 {value.name}, {scalar}"), value.stride)
        wide = text.vector_type("i64")
        return Lanes(
            "i64", text.emit(f"add {wide} {value.name}, {text.splat('i64', scalar)}"), None
        )

    def _write_linear_ids(self, local: list[Lanes]) -> None:
        text, ids = self.text, self.context.ids
        step = 1 if self.width > 1 else 0
        size = self.divergence.subgroup
        ids["LocalInvocationIndex"] = [Lanes("i64", self.first_item, step)]
        first_lane = text.emit(f"urem i64 {self.first_item}, {size}")
        ids["SubgroupLocalInvocationId"] = [Lanes("i64", first_lane, step)]
        ids["SubgroupId"] = [Lanes("i64", text.emit(f"udiv i64 {self.first_item}, {size}"))]
        ids["SubgroupMaxSize"] = [Lanes("i64", str(size))]
        for name in ("NumSubgroups", "NumEnqueuedSubgroups"):
            ids[name] = [Lanes("i64", str(-(-self.items // size)))]
        before = text.emit(f"sub i64 {self.first_item}, {first_lane}")
        left = text.emit(f"sub i64 {self.items}, {before}")
        small = text.emit(f"icmp ult i64 {left}, {size}")
        ids["SubgroupSize"] = [
            Lanes("i64", text.emit(f"select i1 {small}, i64 {left}, i64 {size}"))
        ]
        ids["GlobalLinearId"] = [self._global_linear_id(local)]

    def _global_linear_id(self, local: list[Lanes]) -> Lanes:
        """((z * height) + y) * width + x, without the global offset."""
        text, ids = self.text, self.context.ids
        sizes = [each.name for each in ids["GlobalSize"]]
        scalars = [
            text.emit(f"mul i64 {group}, {size}")
            for group, size in zip(("%gx", "%gy", "%gz"), self.size, strict=True)
        ]
        parts = [self._plus(each, scalar) for each, scalar in zip(local, scalars, strict=True)]
        total = self._times(parts[2], sizes[1])
        total = self._times(self._sum(total, parts[1]), sizes[0])
        return self._sum(total, parts[0])

    def _times(self, value: Lanes, scalar: str) -> Lanes:
        text = self.text
        if value.stride == 0:
            return Lanes("i64", text.emit(f"mul i64 {value.name}, {scalar}"))
        wide, names = text.vector_type("i64"), (text.as_vector(value), text.splat("i64", scalar))
        return Lanes("i64", text.emit(f"mul {wide} {names[0]}, {names[1]}"), None)

    def _sum(self, left: Lanes, right: Lanes) -> Lanes:
        text = self.text
        if not left.is_vector and not right.is_vector:
            assert left.stride is not None
            assert right.stride is not None
            name = text.emit(f"add i64 {left.name}, {right.name}")
            return Lanes("i64", name, left.stride + right.stride)
        wide = text.vector_type("i64")
        name = text.emit(f"add {wide} {text.as_vector(left)}, {text.as_vector(right)}")
        return Lanes("i64", name, None)

    def _entry_mask(self) -> str | None:
        """Which lanes of the sub-group exist; None if always all do."""
        if self.items % self.width == 0 or self.divergence.refilled is not None:
            return None
        text = self.text
        wide = text.vector_type("i64")
        index = text.as_vector(Lanes("i64", self.first_item, 1))
        return text.emit(f"icmp ult {wide} {index}, {text.splat('i64', str(self.items))}")
