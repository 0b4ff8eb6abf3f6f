"""Kernels written in SPIR-V for the tests of single instructions.

`module` completes some text: what a name says about a type, constant or built-in variable is
declared. So `%v4u32` is a vector, `%g*f32` a pointer to global memory, `%u32:7` a constant,
`%v2f32:1,2` a constant vector, `%in:WorkDim:u32` a built-in variable.

`each_item` writes a kernel that computes an output from inputs for each work-item, and `check`
runs it with one lane and with several, in groups that fill their last sub-group and in others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundstate.compiler.program import Program
from tests.compiler import runner
from tests.compiler.assembler import assemble

Array = NDArray[np.generic]

STORAGES = {
    "c": "UniformConstant",
    "i": "Input",
    "l": "Workgroup",
    "g": "CrossWorkgroup",
    "p": "Function",
    "a": "Generic",
    "f": "CodeSectionINTEL",
}
CAPABILITIES = (
    *("Addresses", "Kernel", "Linkage", "Int8", "Int16", "Int64", "Float16", "Float64"),
    *("Vector16", "GenericPointer", "Groups", "Int64Atomics", "SubgroupDispatch"),
)
NAME = re.compile(r"(?<![\w%])%([\w*:.,+-]+)")
WIDTHS = (1, 8, 16)
GROUPS = ((16, 1, 1), (11, 1, 1))


class Prelude:
    """Declares what names speak for themselves."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.decorations: list[str] = []
        self.builtins: list[str] = []
        self.known: set[str] = set()

    def need(self, name: str) -> bool:
        """Declares a name if it says what it is."""
        if name in self.known:
            return True
        line = self._line(name)
        if line is None:
            return False
        self.known.add(name)
        self.lines.append(f"%{name} = {line}")
        return True

    def _line(self, name: str) -> str | None:
        kind, colon, value = name.partition(":")
        if kind == "in" and colon:
            return self._builtin(name, *value.split(":"))
        if colon:
            return self._constant(kind, value) if self.need(kind) else None
        if name in ("void", "bool"):
            return f"OpType{name.title()}"
        if found := re.fullmatch(r"u(\d+)", name):
            return f"OpTypeInt {found[1]} 0"
        if found := re.fullmatch(r"f(16|32|64)", name):
            return f"OpTypeFloat {found[1]}"
        if name == "bf16":
            return "OpTypeFloat 16 BFloat16KHR"
        if (found := re.fullmatch(r"v(\d+)(\w+)", name)) and self.need(found[2]):
            return f"OpTypeVector %{found[2]} {found[1]}"
        if (found := re.fullmatch(r"([cilgpaf])\*(.+)", name)) and self.need(found[2]):
            return f"OpTypePointer {STORAGES[found[1]]} %{found[2]}"
        return None

    def _constant(self, kind: str, value: str) -> str:
        if value == "null":
            return f"OpConstantNull %{kind}"
        if value == "undef":
            return f"OpUndef %{kind}"
        if kind == "bool":
            return f"OpConstant{value.title()} %bool"
        found = re.fullmatch(r"v\d+(\w+)", kind)
        if found is None:
            return f"OpConstant %{kind} {value}"
        parts = [f"{found[1]}:{each}" for each in value.split(",")]
        for part in parts:
            self.need(part)
        return f"OpConstantComposite %{kind} {' '.join('%' + part for part in parts)}"

    def _builtin(self, name: str, builtin: str, kind: str = "v3u64") -> str:
        self.need(f"i*{kind}")
        self.decorations.append(f"OpDecorate %{name} BuiltIn {builtin}")
        self.builtins.append(f"%{name}")
        return f"OpVariable %i*{kind} Input"


def module(
    functions: str,
    *,
    kernels: Sequence[str] = ("kernel",),
    capabilities: Sequence[str] = (),
    extensions: Sequence[str] = (),
    before: str = "",
    declarations: str = "",
    version: tuple[int, int] = (1, 4),
) -> bytes:
    """A module of some functions. `before` has modes and decorations, `declarations` globals."""
    prelude = Prelude()
    for name in NAME.findall(declarations + functions):
        prelude.need(name)
    interface = " ".join(prelude.builtins)
    lines = [f"OpCapability {each}" for each in dict.fromkeys([*CAPABILITIES, *capabilities])]
    lines += [f'OpExtension "{each}"' for each in extensions]
    lines += ['%cl = OpExtInstImport "OpenCL.std"', "OpMemoryModel Physical64 OpenCL"]
    lines += [f'OpEntryPoint Kernel %{name} "{name}" {interface}' for name in kernels]
    lines += [before, *prelude.decorations, *prelude.lines, declarations, functions]
    return assemble("\n".join(lines), version)


def each_item(body: str, inputs: Sequence[str], output: str, functions: str = "") -> str:
    """A kernel whose work-items compute `%r`, of type `output`, from `%a`, `%b`... and `%i`."""
    names = [chr(ord("a") + index) for index in range(len(inputs))]
    stored = output.replace("bool", "u8")
    kinds = [*inputs, stored]
    lines = [
        f"%type.of.kernel = OpTypeFunction %void {' '.join(f'%g*{kind}' for kind in kinds)}",
        "%kernel = OpFunction %void None %type.of.kernel",
    ]
    lines += [
        f"%in.{name} = OpFunctionParameter %g*{kind}"
        for name, kind in zip([*names, "r"], kinds, strict=True)
    ]
    lines += [
        "%entry = OpLabel",
        "%ids = OpLoad %v3u64 %in:GlobalInvocationId",
        "%i = OpCompositeExtract %u64 %ids 0",
    ]
    for name, kind in zip(names, inputs, strict=True):
        lines.append(f"%at.{name} = OpInBoundsPtrAccessChain %g*{kind} %in.{name} %i")
        lines.append(f"%{name} = OpLoad %{kind} %at.{name} Aligned 1")
    lines += [body, f"%at.r = OpInBoundsPtrAccessChain %g*{stored} %in.r %i"]
    value = "%r"
    if stored != output:
        count = int(output[1:-4]) if output.startswith("v") else 1
        one, zero = (f"%{stored}:{','.join([digit] * count)}" for digit in "10")
        lines.append(f"%number = OpSelect %{stored} %r {one} {zero}")
        value = "%number"
    lines += [f"OpStore %at.r {value} Aligned 1", "OpReturn", "OpFunctionEnd", functions]
    return "\n".join(lines)


def dtype_of(kind: str) -> np.dtype[np.generic]:
    """How a type lies in memory, for NumPy; a vector of three takes the room of four."""
    if found := re.fullmatch(r"v(\d+)(\w+)", kind):
        count = int(found[1])
        return np.dtype((dtype_of(found[2]), (4 if count == 3 else count,)))
    if kind in ("bool", "bf16"):
        return np.dtype(np.uint8 if kind == "bool" else np.uint16)
    width = int(kind[1:])
    size = 1 << max(0, (width + 7) // 8 - 1).bit_length()
    return np.dtype(f"{kind[0]}{size}")


@dataclass(frozen=True)
class Shape:
    """How a kernel was run: lanes, and work-items in each group."""

    width: int
    group: int


Expected = Callable[..., Array]


def run_each_item(
    spirv: bytes, output: str, inputs: Sequence[Array], count: int, shape: Shape
) -> Array:
    """The outputs of a kernel of `each_item`."""
    stored = dtype_of(output.replace("bool", "u8"))
    result = np.zeros(count, stored)
    program = Program(spirv)
    groups = (count // shape.group, 1, 1)
    size = (shape.group, 1, 1)
    runner.run(program, "kernel", groups, size, *inputs, result, width=shape.width)
    return result


def check(
    body: str,
    inputs: Sequence[tuple[str, Array]],
    output: str,
    expected: Array | Callable[[Shape], Array],
    *,
    functions: str = "",
    capabilities: Sequence[str] = (),
    extensions: Sequence[str] = (),
    declarations: str = "",
    before: str = "",
) -> None:
    """Runs a body for each work-item in every shape, and compares with what is expected."""
    kernel = each_item(body, [kind for kind, _ in inputs], output, functions)
    spirv = module(
        kernel,
        capabilities=capabilities,
        extensions=extensions,
        declarations=declarations,
        before=before,
    )
    for width in WIDTHS:
        for group in GROUPS:
            shape = Shape(width, group[0])
            given = [padded(kind, data) for kind, data in inputs]
            count = len(given[0]) // shape.group * shape.group if given else 4 * shape.group
            found = run_each_item(spirv, output, given, count, shape)
            wanted = expected(shape) if callable(expected) else expected
            wanted = padded(output, np.asarray(wanted))[:count]
            lanes = re.fullmatch(r"v3\w+", output)
            if lanes:
                found, wanted = found[..., :3], wanted[..., :3]
            assert_same(found, wanted, shape)


def padded(kind: str, data: Array) -> Array:
    """Data as it lies in memory."""
    dtype = dtype_of(kind.replace("bool", "u8"))
    if not dtype.shape:
        return np.ascontiguousarray(data).astype(dtype)
    result = np.zeros(len(data), dtype)
    result[:, : data.shape[1]] = data
    return result


def assert_same(found: Array, wanted: Array, shape: Shape) -> None:
    """Equal to the last bit, except that any NaN is as good as another."""
    assert found.dtype == wanted.dtype
    if found.dtype.kind == "f":
        nan = np.isnan(found.astype(np.float64)) & np.isnan(wanted.astype(np.float64))
        found, wanted = np.where(nan, 0, found), np.where(nan, 0, wanted)
        found = found.view(f"u{found.dtype.itemsize}")
        wanted = wanted.astype(f"f{found.dtype.itemsize}").view(found.dtype)
    wrong = np.argwhere(found != wanted)
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(f"{shape}: item {at}: {found[at]}, expected {wanted[at]}")
