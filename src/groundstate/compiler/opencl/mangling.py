"""The names of OpenCL's built-in functions, as clang mangles them: `convert_int4(float4)` is called
`_Z12convert_int4Dv4_f`. Only the types that built-in functions take as plain values are read.
"""

from __future__ import annotations

import re

from groundstate.compiler.light_dataclass import light_dataclass

_CODES = {
    "c": ("char", 8),
    "h": ("uchar", 8),
    "s": ("short", 16),
    "t": ("ushort", 16),
    "i": ("int", 32),
    "j": ("uint", 32),
    "l": ("long", 64),
    "m": ("ulong", 64),
    "Dh": ("half", 16),
    "f": ("float", 32),
    "d": ("double", 64),
}
_BITS = dict(_CODES.values())
_FLOATS = ("half", "float", "double")

_NAME = re.compile(r"_Z(\d{1,9})(.*)", re.DOTALL)
_VALUE = re.compile(r"(?:Dv(\d+)_)?(Dh|[chstijlmfd])")
_OPENCL = re.compile(r"([a-z]+?)(2|3|4|8|16)?")


@light_dataclass()
class Type:
    """A scalar or a vector, such as uchar or float4."""

    element: str
    count: int = 1

    @property
    def bits(self) -> int:
        """The size of an element."""
        return _BITS[self.element]

    @property
    def is_float(self) -> bool:
        return self.element in _FLOATS

    @property
    def is_signed(self) -> bool:
        return not self.element.startswith("u")

    @property
    def llvm(self) -> str:
        """The type in LLVM IR.

        >>> Type("uint", 4).llvm
        '<4 x i32>'
        """
        element = self.element if self.is_float else f"i{self.bits}"
        return element if self.count == 1 else f"<{self.count} x {element}>"

    @property
    def suffix(self) -> str:
        """The type in the name of one of LLVM's intrinsics.

        >>> Type("uint", 4).suffix
        'v4i32'
        """
        element = f"{'f' if self.is_float else 'i'}{self.bits}"
        return element if self.count == 1 else f"v{self.count}{element}"


def split(name: str) -> tuple[str, str] | None:
    """The plain name of a function, and the code of its arguments.

    >>> split("_Z3anyDv4_i")
    ('any', 'Dv4_i')
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    length = int(match[1])
    return match[2][:length], match[2][length:]


def join(plain: str, arguments: str) -> str:
    """The opposite of `split`."""
    return f"_Z{len(plain)}{plain}{arguments}"


def argument(code: str) -> Type | None:
    """The type of the only argument, if it is a plain value.

    >>> argument("Dv4_Dh")
    Type(element='half', count=4)
    """
    match = _VALUE.fullmatch(code)
    if match is None:
        return None
    return Type(_CODES[match[2]][0], int(match[1] or 1))


def named_type(text: str) -> Type | None:
    """The type that OpenCL C calls by this name.

    >>> named_type("uchar16")
    Type(element='uchar', count=16)
    """
    match = _OPENCL.fullmatch(text)
    if match is None or match[1] not in _BITS:
        return None
    return Type(match[1], int(match[2] or 1))
