"""What is known of a kernel without compiling it: its arguments and requirements."""

from __future__ import annotations

from groundstate.compiler.errors import BuildError
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.spirv.module import Module
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import (
    FunctionType,
    Image,
    Pointer,
    RuntimeArray,
    Sampler,
    Type,
    Void,
)


@light_dataclass()
class Argument:
    """One argument of a kernel."""

    name: str
    type_name: str
    kind: str
    """value, pointer, local, image or sampler."""
    size: int
    offset: int
    """In the packed argument block."""
    address_space: int
    access: int = 0


@light_dataclass()
class Signature:
    """A kernel as a caller sees it."""

    name: str
    arguments: tuple[Argument, ...]
    block_bytes: int
    required_group_size: tuple[int, int, int] | None
    subgroup_size: int
    local_bytes: int
    private_bytes: int
    attributes: str
    uses_barriers: bool
    loop_free: bool
    may_wait: bool
    unresolved: tuple[str, ...] = ()
    """The imported names that the kernel uses and nothing defines."""
    source_hash: bytes = b""
    furthest_lane: int = 0
    """The largest lane that a shuffle names; sub-groups have it, if there are any so large."""


MAX_BLOCK_BYTES = 1 << 16
"""Of all arguments of a kernel together: far more than the device says that it takes."""


def describe_arguments(module: Module, function_id: int) -> tuple[tuple[Argument, ...], list[Type]]:
    """The arguments of a kernel function, and the types of its parameters."""
    function = module.function(function_id)
    arguments: list[Argument] = []
    types: list[Type] = []
    offset = 0
    for parameter in function.parameters:
        type_ = module.types[parameter.type]
        kind, size, align = _passing(type_)
        offset = -(-offset // align) * align
        if isinstance(type_, Void | FunctionType | RuntimeArray) or offset + size > MAX_BLOCK_BYTES:
            raise BuildError(
                f"in function '{module.function_name(function_id)}': argument {len(arguments)} "
                f"cannot be passed: its type is {type_}"
            )
        space = type_.storage if isinstance(type_, Pointer) else StorageClass.Function
        name = module.names.get(parameter.result, f"argument{len(arguments)}")
        arguments.append(Argument(name, str(type_), kind, size, offset, space))
        types.append(type_)
        offset += size
    return tuple(arguments), types


def _passing(type_: Type) -> tuple[str, int, int]:
    """How an argument travels: kind, bytes, alignment."""
    if isinstance(type_, Image):
        return "image", 8, 8
    if isinstance(type_, Sampler):
        return "sampler", 8, 8
    if not isinstance(type_, Pointer):
        return "value", max(1, type_.size), max(1, type_.align)
    if type_.storage == StorageClass.Workgroup:
        return "local", 8, 8
    if type_.storage == StorageClass.Function and type_.pointee is not None:
        return "value", max(1, type_.pointee.size), max(1, type_.pointee.align)
    return "pointer", 8, 8
