"""Keeps the types of the kernels' arguments as the source has them.

LLVM's pointers do not say what they point to, and its SPIR-V back end guesses that from how they
are used, so a `uint *` may become a pointer to float. What clang knows is in the metadata of its
LLVM IR; here it becomes strings of the module, as other compilers to SPIR-V write them:
`kernel_arg_type.NAME.uint*,float,` and the same with `kernel_arg_base_type` (without typedefs) and
`kernel_arg_type_qual`.
"""

from __future__ import annotations

import re

from groundstate.compiler.opencl.spirv_module import OP_STRING, Module, make, opcode_of
from groundstate.compiler.spirv.strings import string_words

KINDS = ("kernel_arg_type", "kernel_arg_base_type", "kernel_arg_type_qual")

_KERNEL = re.compile(r'^define .*?\bspir_kernel void @(?:"([^"]+)"|([\w.$]+))\((.*)$', re.MULTILINE)
_METADATA = re.compile(r"^(!\d+) = !\{(.*)\}$", re.MULTILINE)
_TEXT = re.compile(r'!"([^"]*)"')

BEFORE_STRINGS = {17, 10, 11, 14, 15, 16, 331}
"""Capabilities, extensions, imports, the memory model, entry points and their modes."""


def keep(module: Module, ir: str) -> None:
    """Adds the strings for all kernels; `ir` is the LLVM IR that the module was made of."""
    lists = dict(_METADATA.findall(ir))
    texts = []
    for quoted, plain, rest in _KERNEL.findall(ir):
        for kind in KINDS:
            number = re.search(rf"!{kind} (!\d+)", rest)
            words = _TEXT.findall(lists.get(number[1], "")) if number else []
            if words:
                texts.append(f"{kind}.{quoted or plain}.{','.join(words)},")
    lines = [make(OP_STRING, module.new_id(), *string_words(text)) for text in texts]
    opcodes = map(opcode_of, module.instructions)
    place = next(n for n, opcode in enumerate(opcodes) if opcode not in BEFORE_STRINGS)
    module.instructions[place:place] = lines
