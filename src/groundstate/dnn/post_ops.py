"""Post-operations: what happens to a result before it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from groundstate.dnn import elementwise
from groundstate.dnn.descriptor import RUNTIME_DIM, Descriptor, type_of
from groundstate.dnn.errors import DnnError, invalid, require
from groundstate.dnn.types import Algorithm, DataType, PrimitiveKind, Status

MOST = 32
"""How many post-operations a primitive can have."""


@dataclass(frozen=True)
class Sum:
    """Adds what was in the destination: `result + scale * (before - zero_point)`."""

    kind: ClassVar[PrimitiveKind] = PrimitiveKind.sum
    scale: float
    zero_point: int
    data_type: DataType
    """As what the destination is read; undefined is its own type."""


@dataclass(frozen=True)
class Eltwise:
    """Applies a function to each element."""

    kind: ClassVar[PrimitiveKind] = PrimitiveKind.eltwise
    algorithm: Algorithm
    alpha: float
    beta: float


@dataclass(frozen=True)
class Binary:
    """Combines each element with that of another tensor, which may be broadcast."""

    kind: ClassVar[PrimitiveKind] = PrimitiveKind.binary
    algorithm: Algorithm
    source: Descriptor
    condition: Descriptor | None = None


@dataclass(frozen=True)
class Prelu:
    """Multiplies negative elements with weights."""

    kind: ClassVar[PrimitiveKind] = PrimitiveKind.prelu
    mask: int


@dataclass(frozen=True)
class Depthwise:
    """A depthwise convolution of the result."""

    kind: ClassVar[PrimitiveKind] = PrimitiveKind.convolution
    weights_type: DataType
    bias_type: DataType
    dst_type: DataType
    kernel: int
    stride: int
    padding: int


PostOp = Sum | Eltwise | Binary | Prelu | Depthwise

USUAL = (Sum, Eltwise, Binary, Prelu)
"""What most primitives know."""


@dataclass
class PostOps:
    """A chain of post-operations."""

    steps: list[PostOp] = field(default_factory=list)

    def __iter__(self) -> Iterator[PostOp]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def _append(self, step: PostOp) -> None:
        if len(self.steps) == MOST:
            raise DnnError(Status.out_of_memory, f"there are at most {MOST} post-operations")
        self.steps.append(step)

    def append_sum(
        self, scale: float = 1.0, zero_point: int = 0, data_type: DataType | str | int = 0
    ) -> None:
        """Adds what was in the destination."""
        self._append(Sum(scale, zero_point, type_of(data_type)))

    def append_eltwise(self, algorithm: int, alpha: float = 0.0, beta: float = 0.0) -> None:
        """Applies a function to each element."""
        chosen = elementwise.checked(algorithm, alpha, beta)
        self._append(Eltwise(chosen, alpha, beta))

    def append_binary(
        self, algorithm: int, source: Descriptor, condition: Descriptor | None = None
    ) -> None:
        """Combines each element with that of another tensor."""
        chosen = binary_algorithm(algorithm)
        require(RUNTIME_DIM not in source.dims, "the dimensions of the tensor must be known")
        if chosen == Algorithm.binary_select and condition is None:
            invalid("a selection needs the descriptor of the condition")
        self._append(Binary(chosen, source, condition))

    def append_prelu(self, mask: int) -> None:
        """Multiplies negative elements with weights, which vary with the mask's dimensions."""
        self._append(Prelu(mask))

    def append_depthwise(
        self,
        weights_type: DataType | str | int,
        bias_type: DataType | str | int,
        dst_type: DataType | str | int,
        kernel: int,
        stride: int,
        padding: int,
    ) -> None:
        """Convolves each channel of the result."""
        weights, bias, dst = map(type_of, (weights_type, bias_type, dst_type))
        known = DataType.data_type_undef not in (weights, dst)
        require(known and kernel > 0 and stride > 0, "types, kernel and stride must be known")
        require(padding + 1 <= kernel, "the kernel would lie in the padding")
        self._append(Depthwise(weights, bias, dst, kernel, stride, padding))


def binary_algorithm(value: int) -> Algorithm:
    """An operation on two tensors, by its number."""
    if not Algorithm.binary_add <= value <= Algorithm.binary_select:
        invalid(f"{value} is not a binary operation")
    return Algorithm(value)
