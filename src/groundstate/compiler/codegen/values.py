"""What the emitter knows of a value: one scalar for all lanes, a scalar and a stride, or a
vector.
"""

from __future__ import annotations

from groundstate.compiler.codegen.text import Text
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.target import Target


@light_dataclass()
class Speculation:
    """How a vector most likely goes on from its first lane, and the truth value that says if it
    does."""

    first: str
    stride: int
    holds: str
    type: str = "ptr"
    swap: str = ""
    """An i32: each lane has what the lane whose number differs in these bits would have; `first` is
    the lowest. Nothing if lanes have their own."""


@light_dataclass()
class Lanes:
    """The value of all lanes. `stride` 0: `name` is every lane's; k: the first lane's; None: a
    vector."""

    type: str
    """The LLVM type of one lane: `float`, `ptr`."""
    name: str
    stride: int | None = 0
    speculation: Speculation | None = None

    @property
    def is_vector(self) -> bool:
        return self.stride is None


Value = Lanes | list["Value"]
"""A scalar, or the components of a vector, array or structure."""


class LaneText(Text):
    """Text that knows how many lanes there are, and on which machine."""

    def __init__(self, width: int, target: Target) -> None:
        super().__init__(target)
        self.width = width

    def vector_type(self, type_: str) -> str:
        """The LLVM type of all lanes of a type."""
        return type_ if self.width == 1 else f"<{self.width} x {type_}>"

    def splat(self, type_: str, name: str) -> str:
        """A vector with the same scalar in each lane."""
        if self.width == 1:
            return name
        wide = self.vector_type(type_)
        if not name.startswith("%") and type_ != "ptr":
            return f"splat ({type_} {name})"
        first = self.emit(f"insertelement {wide} poison, {type_} {name}, i64 0")
        return self.emit(
            f"shufflevector {wide} {first}, {wide} poison, <{self.width} x i32> zeroinitializer"
        )

    def steps(self, type_: str, stride: int) -> str:
        """The constant vector 0, stride, 2 * stride ..."""
        if self.width == 1:
            return "0"
        numbers = ", ".join(f"{type_} {stride * lane}" for lane in range(self.width))
        return f"<{numbers}>"

    def as_vector(self, value: Lanes) -> str:
        """The name of a vector that holds the value of each lane."""
        if self.width == 1 or value.is_vector:
            return value.name
        wide = self.vector_type(value.type)
        if value.stride == 0:
            return self.splat(value.type, value.name)
        assert value.stride is not None
        if value.type == "ptr":
            offsets = self.steps("i64", value.stride)
            return self.emit(
                f"getelementptr i8, ptr {value.name}, {self.vector_type('i64')} {offsets}"
            )
        base = self.splat(value.type, value.name)
        return self.emit(f"add {wide} {base}, {self.steps(value.type, value.stride)}")

    def lane(self, value: Lanes, index: int) -> str:
        """The scalar of one lane."""
        if self.width == 1 or value.stride == 0:
            return value.name
        vector = self.as_vector(value)
        return self.emit(f"extractelement {self.vector_type(value.type)} {vector}, i64 {index}")

    def any(self, mask: str) -> str:
        """True if some lane is set."""
        if self.width == 1:
            return mask
        bits = self.emit(f"bitcast {self.vector_type('i1')} {mask} to i{self.width}")
        return self.emit(f"icmp ne i{self.width} {bits}, 0")

    def all(self, mask: str) -> str:
        """True if every lane is set."""
        if self.width == 1:
            return mask
        bits = self.emit(f"bitcast {self.vector_type('i1')} {mask} to i{self.width}")
        return self.emit(f"icmp eq i{self.width} {bits}, -1")

    def select(self, mask: str | None, type_: str, new: str, old: str) -> str:
        """`new` in the lanes of the mask, `old` elsewhere. Without a mask: new."""
        if mask is None:
            return new
        wide = self.vector_type(type_)
        return self.emit(f"select {self.vector_type('i1')} {mask}, {wide} {new}, {wide} {old}")
