"""Which lanes are in a block, from the edges that lead there to the block itself.

Machines with mask registers keep one bit for each lane. On the others a mask is a vector of 32-bit
numbers, all ones or zero, as comparisons give and blends take it. LLVM would shorten it to bits,
which such machines pack and unpack at every step; an empty piece of assembly hides from it what the
numbers are.
"""

from __future__ import annotations

from groundstate.compiler.codegen.values import LaneText

LEAST_BITS = 8
"""Of a mask register that an instruction takes as a whole."""


class Masks:
    """Writes the logic of masks. `bits` are vectors of truth values, as instructions take them."""

    def __init__(self, text: LaneText) -> None:
        self.text = text
        self.piece = min(text.target.lanes, text.width)
        self.is_wide = not text.target.has_mask_registers and text.width > 1
        self.type = text.vector_type("i32" if self.is_wide else "i1")
        self.empty = "false" if text.width == 1 else "zeroinitializer"
        self.full = "splat (i32 -1)" if self.is_wide else text.splat("i1", "true")

    def of_bits(self, bits: str) -> str:
        """The mask of some truth values."""
        if not self.is_wide:
            return bits
        return self._hidden(self._extended(bits))

    def bits(self, mask: str) -> str:
        """The truth values of a mask."""
        if not self.is_wide:
            return mask
        return self.text.emit(f"icmp slt {self.type} {mask}, zeroinitializer")

    def where(self, mask: str, bits: str) -> str:
        """The lanes of a mask for which something holds."""
        if not self.is_wide:
            return self.text.emit(f"and {self.type} {mask}, {bits}")
        return self._hidden(self.text.emit(f"and {self.type} {mask}, {self._extended(bits)}"))

    def where_not(self, mask: str, bits: str) -> str:
        """The lanes of a mask for which something does not hold."""
        ones = self.text.splat("i1", "true")
        other = self.text.emit(f"xor {self.text.vector_type('i1')} {bits}, {ones}")
        return self.where(mask, other)

    def either(self, one: str, other: str) -> str:
        """The lanes of two masks."""
        return self._hidden(self.text.emit(f"or {self.type} {one}, {other}"))

    def combine(self, both: bool, one: str, other: str) -> str:
        """The bits of two vectors of bits, where both are set or either."""
        operation = "and" if both else "or"
        if not self.is_wide:
            return self.text.emit(f"{operation} {self.type} {one}, {other}")
        wide = f"{operation} {self.type} {self.of_bits(one)}, {self._extended(other)}"
        return self.bits(self._hidden(self.text.emit(wide)))

    def unmasked(self, bits: str) -> str:
        """The same truth values. With mask registers LLVM would compare under the mask that they
        are combined with, which takes four times as long as combining them afterwards."""
        if not self.text.target.passes_masks or self.text.width < LEAST_BITS:
            return bits
        type_ = self.text.vector_type("i1")
        return self.text.emit(
            f'call {type_} asm "", "=k,0"({type_} {bits}) nounwind willreturn memory(none)'
        )

    def any(self, mask: str) -> str:
        """True if a lane is set."""
        if not self.is_wide:
            return self.text.any(mask)
        width = self.text.width
        function = f"llvm.vector.reduce.or.v{width}i32"
        all_ = self.text.call("i32", function, [(self.type, mask)])
        return self.text.emit(f"icmp ne i32 {all_}, 0")

    def all(self, mask: str) -> str:
        """True if every lane is set."""
        assert self.is_wide
        function = f"llvm.vector.reduce.and.v{self.text.width}i32"
        all_ = self.text.call("i32", function, [(self.type, mask)])
        return self.text.emit(f"icmp eq i32 {all_}, -1")

    def _extended(self, bits: str) -> str:
        return self.text.emit(f"sext {self.text.vector_type('i1')} {bits} to {self.type}")

    def _hidden(self, mask: str) -> str:
        """The same numbers, of which LLVM does not know where they come from."""
        if not self.is_wide:
            return mask
        text, size = self.text, self.piece
        if size == text.width:
            return self._through_assembly(mask)
        parts = [self._through_assembly(p) for p in text.split("i32", mask, text.width, size)]
        return text.concatenate("i32", parts, size)

    def _through_assembly(self, piece: str) -> str:
        type_ = f"<{self.piece} x i32>"
        return self.text.emit(
            f'call {type_} asm "", "=x,0"({type_} {piece}) nounwind willreturn memory(none)'
        )
