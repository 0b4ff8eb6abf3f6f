"""Puts a kernel together: its parameters, each bound to what is passed for it, and its lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from groundstate.dnn.kernels import values
from groundstate.dnn.plan import Argument, Buffer, HostScalar, Launch, Local, Scratch, Size
from groundstate.dnn.types import DataType


@dataclass
class Kernel:
    """A kernel that is being written.

    >>> kernel = Kernel("double_it")
    >>> source = kernel.input(1, DataType.f32, "source")
    >>> target = kernel.output(17, DataType.f32, "target")
    >>> kernel.line("target[get_global_id(0)] = 2 * source[get_global_id(0)];")
    >>> kernel.launch(items=1024).groups
    (4, 1, 1)
    """

    name: str
    parameters: list[str] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    """What comes before the kernel: helpers, in OpenCL C."""

    # --- Parameters -------------------------------------------------------------------------------

    def parameter(self, declaration: str, argument: Argument) -> None:
        """Adds a parameter."""
        self.parameters.append(declaration)
        self.arguments.append(argument)

    def input(
        self, arg: int, data_type: DataType, name: str, handle: int = 0, *, in_place: bool = False
    ) -> str:
        """A tensor that is only read; returns its name.

        If the operation may be done in place, its memory may also be that of a tensor that is
        written, and so it must not be `restrict`.
        """
        kind, alone = values.c_type(data_type), "" if in_place else "restrict "
        self.parameter(f"global const {kind} *{alone}{name}", Buffer(arg, handle))
        return name

    def output(self, arg: int, data_type: DataType, name: str) -> str:
        """A tensor that is written; returns its name. It may be one that is also read."""
        self.parameter(f"global {values.c_type(data_type)} *{name}", Buffer(arg))
        return name

    def scratch(self, offset: int, kind: str, name: str) -> str:
        """A part of the scratchpad, as a pointer to a C type; returns its name."""
        self.parameter(f"global {kind} *{name}", Scratch(offset))
        return name

    def local(self, size_bytes: int, kind: str, name: str) -> str:
        """Memory of the work-group; returns its name."""
        self.parameter(f"local {kind} *{name}", Local(size_bytes))
        return name

    def host_scalar(self, arg: int, data_type: DataType, name: str) -> str:
        """A value that the host passes at execution; returns its name."""
        kind = values.c_type(data_type)
        size = {"float": 4, "double": 8, "int": 4, "char": 1, "uchar": 1, "long": 8}.get(kind, 2)
        passed = "ushort" if kind == "half" else kind
        self.parameter(f"{passed} {name}", HostScalar(arg, size))
        return name

    # --- Lines ------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Adds a line to the body."""
        self.lines.append(text)

    def extend(self, lines: Iterable[str]) -> None:
        """Adds lines to the body."""
        self.lines += lines

    def source(self, group_size: Size, sub_group: int = 0) -> str:
        """The program."""
        x, y, z = group_size
        attributes = f"__attribute__((reqd_work_group_size({x}, {y}, {z})))"
        if sub_group:
            attributes += f" __attribute__((intel_reqd_sub_group_size({sub_group})))"
        head = f"{attributes}\nkernel void {self.name}(\n    "
        body = "\n".join(f"    {line}" for line in self.lines)
        parameters = ",\n    ".join(self.parameters)
        helpers = "".join(text.rstrip("\n") + "\n" for text in self.functions)
        return f"{values.PRELUDE}{helpers}{head}{parameters})\n{{\n{body}\n}}\n"

    def launch(
        self,
        *,
        items: int | Size,
        group_size: int | Size = 256,
        sub_group: int = 0,
        options: tuple[str, ...] = (),
    ) -> Launch:
        """A launch with at least this many work-items; the kernel checks where it must."""
        size = _three(group_size)
        groups = tuple(-(-n // each) for n, each in zip(_three(items), size, strict=True))
        text = self.source(size, sub_group)
        x, y, z = groups
        return Launch(text, self.name, tuple(self.arguments), (x, y, z), size, options)


def _three(size: int | Size) -> Size:
    return (size, 1, 1) if isinstance(size, int) else size


def in_double(*types: DataType) -> bool:
    """True if the work is done in double precision: one of the tensors is."""
    return DataType.f64 in types
