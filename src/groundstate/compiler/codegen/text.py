"""Writing LLVM IR as text: fresh names, types, constants."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from groundstate.compiler.target import Target


class Text:
    """The lines of one function, in the order in which they are written."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self._count = 0

    def name(self, stem: str = "t") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"%{stem}{self._count}"

    def label(self, stem: str) -> str:
        """A label that nothing else has, without the percent sign."""
        return self.name(stem + ".")[1:]

    def emit(self, instruction: str, stem: str = "t") -> str:
        """Writes an instruction that has a result, and returns the result's name."""
        name = self.name(stem)
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Writes an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def start(self, label: str) -> None:
        """Begins a block."""
        self.lines.append(f"{label}:")

    def call(
        self, result: str, function: str, arguments: list[tuple[str, str]], attributes: str = ""
    ) -> str:
        """Calls an intrinsic or library function, declaring it on first use. Arguments: type,
        name."""
        types = ", ".join(type_ for type_, _ in arguments)
        self.declarations.setdefault(
            function, f"declare {result} @{function}({types}) {attributes}"
        )
        passed = ", ".join(f"{type_} {name}" for type_, name in arguments)
        if result == "void":
            self.do(f"call void @{function}({passed})")
            return ""
        return self.emit(f"call {result} @{function}({passed})")

    def shuffle(self, vector: str, one: str, picks: Sequence[int], two: str = "poison") -> str:
        """A vector of elements picked from one or two vectors of the type `vector`."""
        mask = ", ".join(f"i32 {pick}" for pick in picks)
        return self.emit(
            f"shufflevector {vector} {one}, {vector} {two}, <{len(picks)} x i32> <{mask}>"
        )

    def split(self, element: str, vector: str, length: int, size: int) -> Iterator[str]:
        """A vector of `length` elements as vectors of `size`, each written when it is asked for."""
        whole = f"<{length} x {element}>"
        for first in range(0, length, size):
            yield self.shuffle(whole, vector, range(first, first + size))

    def concatenate(self, element: str, parts: list[str], size: int) -> str:
        """One vector of vectors of `size` elements, a power of two of them, two at a time."""
        while len(parts) > 1:
            half, size = f"<{size} x {element}>", 2 * size
            parts = [
                self.shuffle(half, low, range(size), high)
                for low, high in zip(parts[::2], parts[1::2], strict=True)
            ]
        return parts[0]


def scalar_bytes(llvm_type: str) -> int:
    """The most room that a scalar takes where it waits: a truth value may wait as 32 bits."""
    sizes = {"half": 2, "float": 4, "double": 8, "ptr": 8, "i1": 4}
    return sizes.get(llvm_type) or -(-int(llvm_type[1:]) // 8)


def overloaded(llvm_type: str) -> str:
    """How a type is spelt in the name of an intrinsic: `<8 x float>` is v8f32."""
    if llvm_type.startswith("<"):
        count, element = llvm_type[1:-1].split(" x ")
        return f"v{count}{overloaded(element)}"
    plain = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}
    return plain.get(llvm_type, llvm_type)


def float_literal(value: float, type_: str) -> str:
    """A floating-point constant, exactly."""
    if type_ == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if type_ == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def bits_literal(bits: int, type_: str) -> str:
    """A constant of a scalar type from its bits."""
    if type_ == "half":
        return f"0xH{bits:04X}"
    if type_ == "float":
        return _float_bits(bits)
    if type_ == "double":
        return f"0x{bits:016X}"
    if type_ == "i1":
        return "true" if bits else "false"
    if type_ == "ptr":
        return "null" if bits == 0 else f"inttoptr (i64 {bits} to ptr)"
    width = int(type_[1:])
    return str(bits - (1 << width) if bits >> (width - 1) else bits)


def _float_bits(bits: int) -> str:
    """LLVM writes a float with the bits of the double that has the same value."""
    sign, exponent, fraction = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        wide = sign << 63 | 0x7FF << 52 | fraction << 29
        return f"0x{wide:016X}"
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
