"""What the arguments of a recorded kernel are, from the SPIR-V of its module: names and types."""

from __future__ import annotations

import re
from dataclasses import dataclass

from groundstate.core.kernel_arguments import Argument
from groundstate.core.kernel_signatures import Signatures

BYTES = "uint8"
_WORD = re.compile(r"(?:_Atomic\()?(u?)(char|short|int|long|half|float|double)\d*\)?\b[^*]*\*")
_SPACES = {"global", "constant", "const", "local", "generic", "pointer"}
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "half": 16, "float": 32, "double": 64}


@dataclass(frozen=True)
class ArgumentType:
    """One argument as the source has it, and the type of elements that memory of it holds."""

    name: str = ""
    type: str = ""
    dtype: str = BYTES


def element_type(base_type: str) -> str:
    """The type of what a pointer points to, bytes if that is not known.

    >>> element_type("uint*"), element_type("float4*"), element_type("struct pair*")
    ('uint32', 'float32', 'uint8')
    """
    match = _WORD.fullmatch(base_type)
    if match is None:
        return BYTES
    bits = _BITS[match[2]]
    if match[2] in ("half", "float", "double"):
        return f"float{bits}"
    return f"{'uint' if match[1] else 'int'}{bits}"


def signature_of(spirv: bytes, kernel: str) -> list[ArgumentType]:
    """The arguments of a kernel; empty if the module does not tell, or is no SPIR-V."""
    try:
        arguments = Signatures(spirv).arguments(kernel)
    except Exception:
        # A module of a stranger may be wrong in any way. Then types are not known, and that is all.
        return []
    return [ArgumentType(each.name, each.type, _elements(each)) for each in arguments]


def _elements(argument: Argument) -> str:
    """The type of the elements of an argument's memory, by its own words or by what they mean."""
    plain = " ".join(word for word in argument.type.split() if word not in _SPACES)
    found = element_type(plain)
    element = getattr(argument, "element", None)
    if found != BYTES or element is None or element.kind not in ("i", "f"):
        return found
    return f"{'float' if element.kind == 'f' else 'int'}{8 * element.size_bytes}"
