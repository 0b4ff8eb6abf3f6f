"""What the kernels of a SPIR-V module take."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from groundstate.core.kernel_arguments import (
    Argument,
    LocalArgument,
    OpaqueArgument,
    PointerArgument,
    value_argument,
)

if TYPE_CHECKING:
    from groundstate.compiler.spirv.module import Module as SpirvModule
    from groundstate.compiler.spirv.types import Type
    from groundstate.core.kernel_types import Declared


class Signatures:
    """What the kernels of a SPIR-V module take; it is read when somebody first asks."""

    def __init__(self, spirv: bytes) -> None:
        self._spirv = spirv

    @cached_property
    def _module(self) -> SpirvModule:
        from groundstate.compiler.spirv.reader import read

        return read(self._spirv)

    def arguments(self, kernel: str) -> tuple[Argument, ...]:
        """The arguments of a kernel, as the module declares them."""
        from groundstate.compiler.program.signature import describe_arguments
        from groundstate.core.kernel_types import declared

        module = self._module
        found, types = describe_arguments(module, module.entry_points[kernel].function)
        told = declared(module.strings.values(), kernel, len(found))
        return tuple(
            _typed_argument(kernel, index, each.name, each.kind, types[index], told[index])
            for index, each in enumerate(found)
        )


def _typed_argument(
    kernel: str, index: int, name: str, kind: str, type_: Type, declared: Declared
) -> Argument:
    """An argument of a kernel whose types are known."""
    from groundstate.compiler.spirv.types import Pointer

    if kind == "value":
        inner = type_.pointee if isinstance(type_, Pointer) else type_
        assert inner is not None
        return value_argument(kernel, index, name, inner, declared)
    ways: dict[str, type[Argument]] = {"pointer": PointerArgument, "local": LocalArgument}
    return ways.get(kind, OpaqueArgument)(kernel, index, name, type_, declared)
