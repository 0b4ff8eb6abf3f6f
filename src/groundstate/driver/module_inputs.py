"""What a module is built from: the binaries or sources of its description, with their options.

The specification knows SPIR-V and native binaries. OpenCL C is a format of Intel's driver: it
becomes SPIR-V here, so that what follows knows no third kind.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from groundstate import ze
from groundstate.driver import build_options, specialization
from groundstate.driver.api import (
    Failure,
    find_in_chain,
    pointer_in,
    read_pointer,
    read_text,
    read_u64,
)
from groundstate.extras import MODULE_FORMAT_OPENCL_C


class Input:
    """One binary that a module is built from, with its options and constants."""

    def __init__(self, content: bytes, options: int, constants: int, is_source: bool) -> None:
        text = read_text(options) if options else ""
        self.binary = content
        if is_source:
            self._compile(text)
        else:
            self.options, self.warnings, self.errors = build_options.read(text)
        self.constants = specialization.read(constants, self.binary)

    def _compile(self, text: str) -> None:
        """Turns OpenCL C into SPIR-V; what the compiler said goes to the build log."""
        from groundstate.compiler.opencl.frontend import CompileError, compile_with_log
        from groundstate.compiler.opencl.options import UnknownOptionError

        try:
            front, device = build_options.divide(text)
        except UnknownOptionError as problem:
            self.options, self.warnings, self.errors = "", [], [f"error: {problem}"]
            return
        self.options, self.warnings, self.errors = build_options.read(device)
        # Programs count the zero byte that ends a text, or do not.
        source = self.binary.rstrip(b"\0").decode("utf-8", "surrogateescape")
        try:
            compiled = compile_with_log(source, options=front)
        except CompileError as problem:
            self.errors.append(problem.log)
            return
        self.binary = compiled.spirv
        self.warnings.append(compiled.log)


def read(description: ze.ze_module_desc_t) -> list[Input]:
    """The inputs of a description: one, or those of the module-program extension."""
    is_source = description.format == MODULE_FORMAT_OPENCL_C
    stype = ze.ze_module_program_exp_desc_t._stype_
    chained = find_in_chain(pointer_in(description, "pNext"), stype)
    if chained:
        several = ze.ze_module_program_exp_desc_t.from_address(chained)
        return list(_several(several, is_source))
    size, content = description.inputSize, pointer_in(description, "pInputModule")
    if not content:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, "desc->pInputModule is null")
    if not size:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_SIZE, "desc->inputSize is 0")
    options, constants = (pointer_in(description, name) for name in ("pBuildFlags", "pConstants"))
    return [Input(ctypes.string_at(content, size), options, constants, is_source)]


def _several(several: ze.ze_module_program_exp_desc_t, is_source: bool) -> Iterator[Input]:
    if several.count == 0:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_SIZE, "a program of no modules: count is 0")
    sizes, contents = pointer_in(several, "inputSizes"), pointer_in(several, "pInputModules")
    flags, constants = pointer_in(several, "pBuildFlags"), pointer_in(several, "pConstants")
    if not sizes or not contents:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, "inputSizes and pInputModules must not be null"
        )
    for place in range(0, 8 * several.count, 8):
        yield Input(
            ctypes.string_at(read_pointer(contents + place), read_u64(sizes + place)),
            read_pointer(flags + place) if flags else 0,
            read_pointer(constants + place) if constants else 0,
            is_source,
        )
