"""Kernels written in SPIR-V for the tests of single instructions.

`module` completes some text: what a name says about a type, constant or built-in variable is
declared. So `%v4u32` is a vector, `%g*f32` a pointer to global memory, `%u32:7` a constant,
`%v2f32:1,2` a constant vector, `%in:WorkDim:u32` a built-in variable.

`each_item` writes a kernel that computes an output from inputs for each work-item. A `Case` runs
one with one lane and with several, in groups that fill their last sub-group and in others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundstate.compiler.program import Program
from tests.compiler import runner
from tests.compiler.spirv.assembler import assemble

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


def each_item(
    bodies: Sequence[str], inputs: Sequence[str], outputs: Sequence[str], functions: str = ""
) -> str:
    """A kernel whose work-items compute values from `%a`, `%b`... and the global id `%i`.

    Each body gives one value, `%r`, of the type in `outputs`; the names of a body are its own."""
    names = [chr(ord("a") + index) for index in range(len(inputs))]
    stored = [output.replace("bool", "u8") for output in outputs]
    results = [f"r{index}" for index in range(len(outputs))]
    kinds = [*inputs, *stored]
    lines = [
        f"%type.of.kernel = OpTypeFunction %void {' '.join(f'%g*{kind}' for kind in kinds)}",
        "%kernel = OpFunction %void None %type.of.kernel",
    ]
    lines += [
        f"%in.{name} = OpFunctionParameter %g*{kind}"
        for name, kind in zip([*names, *results], kinds, strict=True)
    ]
    lines += [
        "%entry = OpLabel",
        "%ids = OpLoad %v3u64 %in:GlobalInvocationId",
        "%i = OpCompositeExtract %u64 %ids 0",
    ]
    for name, kind in zip(names, inputs, strict=True):
        lines.append(f"%at.{name} = OpInBoundsPtrAccessChain %g*{kind} %in.{name} %i")
        lines.append(f"%{name} = OpLoad %{kind} %at.{name} Aligned 1")
    for index, (body, output) in enumerate(zip(bodies, outputs, strict=True)):
        text = body if len(bodies) == 1 else _with_own_names(body, index)
        value = "%r" if len(bodies) == 1 else f"%r.{index}"
        lines += [text, *_stored(value, output, results[index])]
    lines += ["OpReturn", "OpFunctionEnd", functions]
    return "\n".join(lines)


def _with_own_names(body: str, index: int) -> str:
    """A body whose names no other has."""
    own = set(re.findall(r"^\s*%([\w.]+) =", body, re.M))
    return NAME.sub(lambda name: f"{name[0]}.{index}" if name[1] in own else name[0], body)


def _stored(value: str, output: str, result: str) -> list[str]:
    """Writes a value to where the results of a body go; truths as 0 and 1."""
    kind = output.replace("bool", "u8")
    lines = []
    if kind != output:
        count = int(output[1:-4]) if output.startswith("v") else 1
        one, zero = (f"%{kind}:{','.join([digit] * count)}" for digit in "10")
        lines.append(f"%number.{result} = OpSelect %{kind} {value} {one} {zero}")
        value = f"%number.{result}"
    return [
        *lines,
        f"%at.{result} = OpInBoundsPtrAccessChain %g*{kind} %in.{result} %i",
        f"OpStore %at.{result} {value} Aligned 1",
    ]


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
    """How a kernel is run: lanes, and work-items in each group."""

    width: int
    group: int


SHAPES = (Shape(1, 11), Shape(8, 16), Shape(16, 11))
"""With one lane, and with several in sub-groups that are full and in others."""

Expected = Array | Callable[..., Array]


@dataclass(frozen=True)
class Case:
    """A body for `each_item`, what to give it, and what it must compute.

    `expected` is the outputs, or a function of the inputs; one that takes a `shape` is called for
    each way in which the kernel is run."""

    name: str
    body: str
    inputs: tuple[tuple[str, Array], ...]
    output: str
    expected: Expected
    functions: str = ""
    declarations: str = ""
    before: str = ""
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = SHAPES
    version: tuple[int, int] = (1, 4)
    ulp: float = 0.0
    """How far a floating-point result may be from what is expected; 0: not at all."""

    def wanted(self, shape: Shape) -> Array:
        """What it must compute when it is run in some way."""
        if not callable(self.expected):
            return np.asarray(self.expected)
        given = [data for _, data in self.inputs]
        # NumPy 1 has ufuncs whose signature cannot be asked for.
        of_ufunc = isinstance(self.expected, np.ufunc)
        if not of_ufunc and "shape" in signature(self.expected).parameters:
            return np.asarray(self.expected(*given, shape=shape))
        return np.asarray(self.expected(*given))

    @property
    def surroundings(self) -> tuple[object, ...]:
        """What cases must share to be tested in one kernel."""
        given = tuple((kind, id(data)) for kind, data in self.inputs)
        return given, self.before, self.capabilities, self.extensions, self.shapes, self.version


@dataclass(frozen=True)
class Batch:
    """Cases that are tested in one kernel, since compiling takes longer than running."""

    cases: tuple[Case, ...]

    @property
    def name(self) -> str:
        more = len(self.cases) - 1
        return self.cases[0].name + (f"-and-{more}-more" if more else "")

    @property
    def kernel(self) -> str:
        first = self.cases[0]
        return each_item(
            [case.body for case in self.cases],
            [kind for kind, _ in first.inputs],
            [case.output for case in self.cases],
            "\n".join(dict.fromkeys(case.functions for case in self.cases)),
        )

    @property
    def spirv(self) -> bytes:
        first = self.cases[0]
        return module(
            self.kernel,
            capabilities=first.capabilities,
            extensions=first.extensions,
            before=first.before,
            declarations=_without_repeats(case.declarations for case in self.cases),
            version=first.version,
        )

    def check(self) -> None:
        """Runs the cases in every shape."""
        program = Program(self.spirv)
        for shape in self.cases[0].shapes:
            self._check_in(program, shape)

    def _check_in(self, program: Program, shape: Shape) -> None:
        given = [padded(kind, data) for kind, data in self.cases[0].inputs]
        groups = len(given[0]) // shape.group if given else 4
        found = [
            np.zeros(groups * shape.group, dtype_of(case.output.replace("bool", "u8")))
            for case in self.cases
        ]
        sizes = (groups, 1, 1), (shape.group, 1, 1)
        runner.run(program, "kernel", *sizes, *given, *found, width=shape.width)
        for case, result in zip(self.cases, found, strict=True):
            with np.errstate(all="ignore"):
                wanted = padded(case.output, case.wanted(shape))[: len(result)]
            if case.output.startswith("v3"):
                result, wanted = result[..., :3], wanted[..., :3]
            if case.ulp:
                assert_near(case.name, result, case.wanted(shape)[: len(result)], case.ulp, shape)
            else:
                assert_same(case.name, result, wanted, shape)


def _without_repeats(texts: Iterable[str]) -> str:
    """The lines of texts, each definition once."""
    lines: list[str] = []
    for line in "\n".join(texts).splitlines():
        plain = line.strip()
        if "=" not in plain or plain not in lines:
            lines.append(plain)
    return "\n".join(lines)


CASES: list[Case] = []
"""Every case of the files beside this one that are called `instructions_*`."""


def batches() -> list[Batch]:
    """All cases, those together that fit in one kernel."""
    together: dict[tuple[object, ...], list[Case]] = {}
    for each in CASES:
        together.setdefault(each.surroundings, []).append(each)
    return [Batch(tuple(some)) for some in together.values()]


def case(
    name: str,
    body: str,
    inputs: Sequence[tuple[str, Array]],
    output: str,
    expected: Expected,
    **more: Any,
) -> None:
    """Adds a case."""
    CASES.append(Case(name, body, tuple(inputs), output, expected, **more))


def check(
    body: str,
    inputs: Sequence[tuple[str, Array]],
    output: str,
    expected: Array | Callable[[Shape], Array],
    **more: Any,
) -> None:
    """Runs one body in every shape, and compares it with what is expected."""
    wanted: Expected = expected
    if callable(expected):

        def wanted(*given: Array, shape: Shape) -> Array:
            return expected(shape)

    Batch((Case("this", body, tuple(inputs), output, wanted, **more),)).check()


def padded(kind: str, data: Array) -> Array:
    """Data as it lies in memory."""
    dtype = dtype_of(kind.replace("bool", "u8"))
    if not dtype.shape:
        return np.ascontiguousarray(data).astype(dtype)
    result = np.zeros(len(data), dtype)
    result[:, : data.shape[1]] = data
    return result


def assert_same(name: str, found: Array, wanted: Array, shape: Shape) -> None:
    """Equal to the last bit, except that any NaN is as good as another."""
    assert found.dtype == wanted.dtype
    if found.dtype.kind == "f":
        nan = np.isnan(found) & np.isnan(wanted)
        bits = f"u{found.dtype.itemsize}"
        found = np.where(nan, 0, found).astype(found.dtype).view(bits)
        wanted = np.where(nan, 0, wanted).astype(wanted.dtype).view(bits)
    wrong = np.argwhere(found != wanted)
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(
            f"{name}, {shape}: item {at} is {found[at]}, not {wanted[at]} ({len(wrong)} wrong)"
        )


def assert_near(name: str, found: Array, wanted: Array, ulp: float, shape: Shape) -> None:
    """Equal within units in the last place of what is expected, which is more precise."""
    exact = np.asarray(wanted, np.float64)
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(exact).astype(found.dtype)).astype(np.float64)
        distance = np.abs(found.astype(np.float64) - exact) / unit
    same = (found.astype(np.float64) == exact) | (np.isnan(found) & np.isnan(exact))
    wrong = np.argwhere(~(same | (distance <= ulp)))
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(
            f"{name}, {shape}: item {at} is {found[at]}, not {exact[at]} ({len(wrong)} wrong)"
        )
