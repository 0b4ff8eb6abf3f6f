"""What the compiler makes of a kernel, stage by stage: for `groundstate compile --emit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundstate.announce import Announced
from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import Program

if TYPE_CHECKING:
    from groundstate.compiler.codegen.kernel import Code

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Variant:
    """A kernel, and what it is compiled for."""

    program: Program
    kernel: str
    group_size: Size
    lanes: int | None
    """None: as many as the compiler thinks best."""


@dataclass(frozen=True)
class Stage:
    """Something that is made of a kernel on the way to machine code."""

    name: str
    ending: str
    lexer: str
    """What colours it on a terminal."""
    comment: str
    meaning: str
    make: Callable[[Variant], str | bytes]


def _graph(variant: Variant) -> str:
    from groundstate.compiler import pipeline
    from groundstate.compiler.analysis.annotated import annotated_text

    divergence = pipeline.specialise(
        variant.program, variant.kernel, variant.group_size, variant.lanes
    )
    return annotated_text(divergence)


def _code(variant: Variant) -> Code:
    return variant.program.write(variant.kernel, variant.group_size, variant.lanes)


def _llvm(variant: Variant) -> str:
    return _code(variant).text


def _optimised(variant: Variant) -> str:
    from groundstate.compiler.llvm import service

    code = _code(variant)
    return str(service.optimise(code.text, code.lanes))


def _assembly(variant: Variant) -> str:
    from groundstate.compiler.llvm import service

    code = _code(variant)
    return service.assembly(code.text, code.lanes)


def _object(variant: Variant) -> bytes:
    from groundstate.compiler.llvm import service

    code = _code(variant)
    return service.object_code(code.text, code.lanes)


STAGES = {
    stage.name: stage
    for stage in (
        Stage("ir", ".ir", "text", ";", "the kernel's graph, and how values differ", _graph),
        Stage("llvm", ".ll", "llvm", ";", "LLVM IR as the compiler writes it", _llvm),
        Stage("optimised", ".ll", "llvm", ";", "LLVM IR when LLVM has optimised it", _optimised),
        Stage("asm", ".s", "gas", "#", "assembly for this machine", _assembly),
        Stage("object", ".o", "", "", "machine code, as an object file", _object),
    )
}
"""The stages behind SPIR-V, in order."""


def variants(
    program: Program, kernels: list[str], group_size: Size | None, lanes: int | None
) -> list[Variant]:
    """The kernels that were asked for, or all; BuildError if there is none of a name."""
    for name in kernels:
        if name not in program.kernel_names:
            known = ", ".join(program.kernel_names) or "none"
            raise BuildError(f"there is no kernel '{name}'; there are: {known}")
    return [
        Variant(program, name, group_size or _natural_size(program, name), lanes)
        for name in kernels or program.kernel_names
    ]


def _natural_size(program: Program, name: str) -> Size:
    return program.signature(name).required_group_size or program.known_target.likely_group_size


def make(stage: Stage, some: list[Variant]) -> str | bytes:
    """A stage of some kernels in one text; an object file is of one kernel."""
    if stage.name == "object":
        if len(some) != 1:
            names = ", ".join(variant.kernel for variant in some)
            raise BuildError(f"an object file is of one kernel; name it with --kernel: {names}")
        return stage.make(some[0])
    made = []
    for number, variant in enumerate(some, 1):
        with Announced(f"compiling kernel {variant.kernel} ({number} of {len(some)})"):
            made.append(_titled(stage, variant))
    return "\n".join(made)


def _titled(stage: Stage, variant: Variant) -> str:
    text = stage.make(variant)
    assert isinstance(text, str)
    if stage.name == "ir":
        return text
    size = " x ".join(map(str, variant.group_size))
    title = f"{stage.comment} kernel {variant.kernel}, for groups of {size}\n"
    return title + text
