"""The code of a program for a GPU, as it is kept: an image, and what a driver knows of its kernels.

The image is what NVIDIA's driver made of PTX, or the PTX where it makes none. It may come from a
stranger (GROUNDSTATE_NATIVE=trusted), so the description is checked to the last number before any
of it is used. The image is code: nobody can check that.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from groundstate.compiler.program.ptx_program import PtxArgument, PtxKernel, PtxModule

if TYPE_CHECKING:  # imports this one
    from groundstate.compiler.program.program import Program

MOST_PARAMETER_BYTES = 1 << 16
MOST_BYTES = 1 << 32
SUB_GROUPS = (8, 16, 32)
KINDS = ("value", "pointer", "local", "image", "sampler")
IMPLICIT_BYTES = {
    "global_offset": 24,
    "global_size": 24,
    "enqueued_local_size": 12,
    "work_dim": 4,
    "print_buffer": 8,
}
"""What a launch may have to tell, and its size."""


def describe(module: PtxModule) -> dict[str, Any]:
    """A module without its text."""
    return {
        "kernels": [asdict(each) for each in module.kernels.values()],
        "variables": {name: list(place) for name, place in module.variables.items()},
        "print_formats": [each.hex() for each in module.print_formats],
    }


def read(description: dict[str, Any], program: Program) -> PtxModule:
    """The module again, for the same program; ValueError if the description is none of it."""
    try:
        kernels = [_kernel(each, program) for each in description["kernels"]]
        variables = {
            _text(name): (_symbol(symbol), _number(size, MOST_BYTES))
            for name, (symbol, size) in description["variables"].items()
        }
        formats = tuple(bytes.fromhex(each) for each in description["print_formats"])
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the description of a GPU's code is damaged: {error!r}") from error
    found = {each.name: each for each in kernels}
    _expect(set(found) == set(program.kernel_names), "it has other kernels than the program")
    return PtxModule("", found, variables, formats)


def _kernel(given: dict[str, Any], program: Program) -> PtxKernel:
    name, end = _text(given["name"]), _number(given["parameter_bytes"], MOST_PARAMETER_BYTES)
    _expect(name in program.kernel_names, "there is no such kernel")
    arguments = tuple(_argument(each, end) for each in given["arguments"])
    wanted = program.arguments(name)
    _expect(len(arguments) == len(wanted), "a kernel has another number of arguments")
    for there, argument in zip(arguments, wanted, strict=True):
        _expect(there.kind == argument.kind, "an argument is of another kind")
        _expect(there.kind == "local" or there.size <= argument.size, "an argument is larger")
    implicit = {_text(key): _number(place, end) for key, place in given["implicit"].items()}
    for key, place in implicit.items():
        _expect(place + IMPLICIT_BYTES[key] <= end, "a parameter ends behind all of them")
    required = given["required_group_size"]
    if required is not None:
        x, y, z = (_number(each, MOST_BYTES) for each in required)
        required = x, y, z
    _expect(given["sub_group_size"] in SUB_GROUPS, "a sub-group has no such size")
    flags = given["uses_print"], given["cooperative"]
    _expect(all(isinstance(each, bool) for each in flags), "a flag is none")
    return PtxKernel(
        name,
        _symbol(given["symbol"]),
        arguments,
        end,
        implicit,
        _number(given["static_shared"], MOST_BYTES),
        required,
        given["sub_group_size"],
        *flags,
    )


def _argument(given: dict[str, Any], end: int) -> PtxArgument:
    offset, size = (_number(given[each], MOST_PARAMETER_BYTES) for each in ("offset", "size"))
    alignment = _number(given["alignment"], MOST_PARAMETER_BYTES)
    _expect(given["kind"] in KINDS, "an argument is of no kind")
    _expect(alignment > 0 and alignment & (alignment - 1) == 0, "an alignment is no power of two")
    _expect(offset + size <= end, "an argument ends behind all parameters")
    return PtxArgument(given["kind"], offset, size, alignment)


def _number(value: object, end: int) -> int:
    _expect(type(value) is int and 0 <= value <= end, "a number is out of range")
    assert isinstance(value, int)
    return value


def _text(value: object) -> str:
    _expect(isinstance(value, str), "a name is no text")
    assert isinstance(value, str)
    return value


def _symbol(value: object) -> str:
    found = _text(value)
    _expect(found.isascii() and found.isprintable(), "a symbol is none")
    return found


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)
