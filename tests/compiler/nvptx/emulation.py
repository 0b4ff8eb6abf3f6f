"""Runs the LLVM IR of a GPU's kernel on the CPU: each thread of a group is one of the system's.

This shows that the IR says what the kernel means: branches, ids, parameters, memory, barriers, and
who gives what to whom in a sub-group. It says nothing about what LLVM and `ptxas` make of it;
tests/gpu compares that on a GPU.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterable
from functools import reduce
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from groundstate.compiler.program.ptx_program import PtxKernel, PtxModule
from tests.compiler.runner import Local, Size

DYNAMIC_BYTES = 1 << 16
WARP = 32
PATIENCE_S = 20
REGISTERS = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
REGISTERS.append("laneid")
MEET = "groundstate_meet"
KINDS = ("barrier.cta", "bar.warp", "shfl.sync.idx", "vote.any", "vote.all", "vote.ballot")
KINDS += tuple(
    f"redux.sync.{each}" for each in ("add", "min", "max", "umin", "umax", "and", "or", "xor")
)
"""What threads do together, by the number that is passed."""

ROOT = "declare float @llvm.sqrt.f32(float)"
RECIPROCAL_ROOT = """define internal float @groundstate_rsqrt(float %x) {
  %root = call float @llvm.sqrt.f32(float %x)
  %found = fdiv float 1.0, %root
  ret float %found
}"""
_REGISTER = re.compile(r"call i32 @llvm\.nvvm\.read\.ptx\.sreg\.([\w.]+)\(\)")
_ASSEMBLY = re.compile(r'(?:(%\w+) = )?call (\w+) asm sideeffect "([^"]*)", "[^"]*"\((.*)\)')
_TOGETHER = re.compile(r"(?:(%\w+) = )?call (\w+) @llvm\.nvvm\.([\w.]+)\((.*)\)")
_OPERATIONS = {"exch": "xchg", "add": "add", "and": "and", "or": "or", "xor": "xor"}
_Call = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, *[ctypes.c_uint32] * 4)


class NeedsGpuError(Exception):
    """The kernel asks for something that only a GPU knows."""


def for_cpu(text: str) -> str:
    """LLVM IR for a GPU, changed so that a CPU can run its threads."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("target ", "declare i32 @llvm.nvvm", "declare void @llvm.nvvm")):
            continue
        if line.startswith("declare i1 @llvm.nvvm"):
            continue
        if line.startswith("define ptx_kernel"):
            name = line.split("@")[1].split("(")[0]
            line = f"define void @{name}(ptr %block, ptr %registers) {{"
        if "external addrspace(3)" in line:
            line = line.replace("external", "internal").replace(
                "[0 x i8]", f"[{DYNAMIC_BYTES} x i8] undef"
            )
        if line.startswith("declare float @llvm.nvvm.rsqrt"):
            line = RECIPROCAL_ROOT if ROOT in text else f"{ROOT}\n{RECIPROCAL_ROOT}"
        line = line.replace("@llvm.nvvm.rsqrt.approx.f(", "@groundstate_rsqrt(")
        line = _REGISTER.sub(_register, line)
        line = _ASSEMBLY.sub(_instruction, line)
        lines.append(_TOGETHER.sub(_meeting, line))
    lines.append(f"declare i32 @{MEET}(ptr, i32, i32, i32, i32)")
    return "\n".join(lines) + "\n"


def _register(found: re.Match[str]) -> str:
    if found[1] not in REGISTERS:
        raise NeedsGpuError(found[1])
    return f"load i32, ptr %register.{found[1]}"


def _instruction(found: re.Match[str]) -> str:
    """What an atomic instruction of PTX does, in LLVM's words."""
    name, result, code, given = found.groups()
    head = f"{name} = " if name else ""
    operands = [each.strip() for each in given.split(",")] if given else []
    words = code.split(" ")[0].rstrip(";").split(".")
    if words[0] == "fence":
        return "fence seq_cst"
    if words[0] == "ld":
        return f"{head}load {result}, {operands[0]}"
    if words[0] == "st":
        return f"store {operands[1]}, {operands[0]}"
    if words[0] != "atom":
        raise NeedsGpuError(words[0])
    type_ = words[-1]
    kind = next(each for each in words if each in (*_OPERATIONS, "min", "max", "cas"))
    if kind == "cas":
        pair = f"{name}.pair = cmpxchg {', '.join(operands)} seq_cst seq_cst"
        return f"{pair}\n  {name} = extractvalue {{ {result}, i1 }} {name}.pair, 0"
    if type_.startswith(("f", "bf")):
        bits, number = operands[1].split(" ")
        float_ = {"f16": "half", "f32": "float", "f64": "double"}.get(type_)
        if float_ is None:
            raise NeedsGpuError(type_)
        return "\n  ".join(
            (
                f"{name}.in = bitcast {bits} {number} to {float_}",
                f"{name}.out = atomicrmw fadd {operands[0]}, {float_} {name}.in seq_cst",
                f"{name} = bitcast {float_} {name}.out to {bits}",
            )
        )
    if kind in ("min", "max"):
        kind = kind if type_.startswith("s") else f"u{kind}"
    return f"{head}atomicrmw {_OPERATIONS.get(kind, kind)} {operands[0]}, {operands[1]} seq_cst"


def _meeting(found: re.Match[str]) -> str:
    """A call of what brings threads together."""
    name, result, intrinsic, given = found.groups()
    kind = next((each for each in KINDS if intrinsic.startswith(each)), None)
    if kind is None:
        raise NeedsGpuError(intrinsic)
    operands = [each.strip() for each in given.split(",")]
    if kind.startswith("redux"):
        operands.reverse()
    lines = []
    if operands[-1].startswith("i1 "):
        lines.append(f"{name}.wide = zext {operands[-1]} to i32")
        operands[-1] = f"i32 {name}.wide"
    passed = [*operands, "i32 0", "i32 0", "i32 0"][:3]
    call = f"call i32 @{MEET}(ptr %registers, i32 {KINDS.index(kind)}, {', '.join(passed)})"
    if result == "i1":
        lines += [f"{name}.said = {call}", f"{name} = trunc i32 {name}.said to i1"]
    else:
        lines.append(call if name is None else f"{name} = {call}")
    return "\n  ".join(lines)


class Group:
    """The threads of a group, and where they meet."""

    def __init__(self, size: int, subgroup: int) -> None:
        self.size = size
        self.subgroup = subgroup
        self.everyone = threading.Barrier(size)
        self.lock = threading.Lock()
        self.meetings: dict[tuple[int, int], tuple[threading.Barrier, dict[int, int]]] = {}
        self.problem = ""

    def meet(self, thread: int, kind: str, mask: int, first: int, second: int) -> int:
        """What one of the threads gets when it meets others."""
        try:
            if kind == "barrier.cta":
                self.everyone.wait(PATIENCE_S)
                return 0
            lane = thread % WARP
            if not mask >> lane & 1:
                self.problem = f"lane {lane} is not among those that it names: {mask:#x}"
            given = self._exchange(thread // WARP, mask, lane, first)
        except threading.BrokenBarrierError:
            self.problem = self.problem or f"some of {mask:#x} never came to {kind}"
            return 0
        if kind == "shfl.sync.idx":
            start = lane & ~(self.subgroup - 1)
            return given.get(start | second & (self.subgroup - 1), 0xDEAD)
        values = [given[each] for each in sorted(given)]
        if kind.startswith("redux"):
            return _reduced(kind.rsplit(".", 1)[1], values)
        ballot = sum(bool(value) << each for each, value in given.items())
        if kind == "vote.ballot":
            return ballot
        return int(any(values) if kind == "vote.any" else all(values))

    def _exchange(self, warp: int, mask: int, lane: int, value: int) -> dict[int, int]:
        with self.lock:
            key = warp, mask
            if key not in self.meetings:
                self.meetings[key] = threading.Barrier(mask.bit_count()), {}
            barrier, values = self.meetings[key]
        values[lane] = value
        barrier.wait(PATIENCE_S)
        found = dict(values)
        barrier.wait(PATIENCE_S)
        return found


def _reduced(kind: str, values: list[int]) -> int:
    signed = [each - (1 << 32) if each >> 31 else each for each in values]
    if kind in ("min", "max"):
        return (min if kind == "min" else max)(signed) & 0xFFFFFFFF
    if kind in ("umin", "umax"):
        return (min if kind == "umin" else max)(values)
    if kind == "add":
        return sum(values) & 0xFFFFFFFF
    steps = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
    return reduce(steps[kind], values)


class Emulated:
    """A module whose kernels run on the CPU."""

    def __init__(self, module: PtxModule) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.module = module
        text = _with_registers(for_cpu(module.llvm))
        self.needs_others = f"call i32 @{MEET}" in text
        self._callback = _Call(self._meet)
        llvm.add_symbol(MEET, ctypes.cast(self._callback, ctypes.c_void_p).value)
        parsed = llvm.parse_assembly(text)
        parsed.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), opt=1
        )
        self.engine = llvm.create_mcjit_compiler(parsed, machine)
        self.engine.finalize_object()
        self._threads: dict[int, tuple[Group, int]] = {}

    def _meet(self, registers: int, kind: int, mask: int, first: int, second: int) -> int:
        group, thread = self._threads[registers]
        return group.meet(thread, KINDS[kind], mask, first, second)

    def run(
        self,
        name: str,
        groups: Size,
        group_size: Size,
        *arguments: NDArray[Any] | bytes | Local,
        offset: Size = (0, 0, 0),
    ) -> None:
        """Runs a kernel, one group after the other."""
        kernel = self.module.kernels[name]
        block = parameters(kernel, arguments, offset)
        data = (ctypes.c_char * (len(block) + 16)).from_buffer_copy(bytes(block) + bytes(16))
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
            self.engine.get_function_address(kernel.symbol)
        )
        items = int(np.prod(group_size))
        for group in np.ndindex(*reversed(groups)):
            tables = [
                (ctypes.c_uint32 * len(REGISTERS))(
                    *reversed(item), *group_size, *reversed(group), *groups, number % WARP
                )
                for number, item in enumerate(np.ndindex(*reversed(group_size)))
            ]
            place = ctypes.addressof(data)
            if not self.needs_others:
                for table in tables:
                    call(place, ctypes.addressof(table))
                continue
            together = Group(items, kernel.sub_group_size)
            self._threads = {
                ctypes.addressof(table): (together, number) for number, table in enumerate(tables)
            }
            threads = [
                threading.Thread(target=call, args=(place, ctypes.addressof(table)), daemon=True)
                for table in tables
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not together.problem, together.problem


def _with_registers(text: str) -> str:
    """Addresses of registers, where a kernel begins."""
    lines = []
    is_kernel = False
    for line in text.splitlines():
        lines.append(line)
        if line.startswith("define void") and "ptr %registers" in line:
            is_kernel = True
        elif is_kernel and line == "entry:":
            is_kernel = False
            lines += [
                f"  %register.{name} = getelementptr i8, ptr %registers, i64 {4 * at}"
                for at, name in enumerate(REGISTERS)
            ]
    return "\n".join(lines) + "\n"


def parameters(
    kernel: PtxKernel, arguments: Iterable[NDArray[Any] | bytes | Local], offset: Size
) -> bytearray:
    """The block of parameters, as a driver makes it."""
    block, shared = bytearray(kernel.parameter_bytes), 0
    for argument, value in zip(kernel.arguments, arguments, strict=True):
        if isinstance(value, Local):
            shared = -(-shared // argument.alignment) * argument.alignment
            data = shared.to_bytes(4, "little")
            shared += value.size_bytes
        elif isinstance(value, bytes):
            data = value
        else:
            data = value.ctypes.data.to_bytes(8, "little")
        assert len(data) <= max(argument.size, 4)
        block[argument.offset : argument.offset + len(data)] = data
    known = {
        "global_offset": np.array(offset, "u8").tobytes(),
        "work_dim": (3).to_bytes(4, "little"),
        "print_buffer": bytes(8),
    }
    for name, start in kernel.implicit.items():
        block[start : start + len(known[name])] = known[name]
    return block
