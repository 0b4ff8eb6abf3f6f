"""Where an element lies: offsets as OpenCL C expressions of its coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.dnn.descriptor import Descriptor

INT_LIMIT = (1 << 31) - 1


def index_type(*tensors: Descriptor) -> str:
    """The type that every offset in these tensors fits into."""
    small = all(tensor.offset + tensor.size_bytes() <= INT_LIMIT for tensor in tensors)
    return "int" if small else "long"


def coordinates(linear: str, dims: Sequence[int], names: Sequence[str], kind: str) -> list[str]:
    """Statements that take the number of an element, in C order, apart.

    >>> coordinates("i", (2, 3), ("x0", "x1"), "int")
    ['const int x1 = i % 3;', 'const int x0 = i / 3;']
    """
    lines = []
    step = 1
    for dim in range(len(dims) - 1, -1, -1):
        value = linear if step == 1 else f"{linear} / {step}"
        if dims[dim] == 1:
            value = "0"
        elif dim > 0:
            value = f"{_primary(value)} % {dims[dim]}"
        lines.append(f"const {kind} {names[dim]} = {value};")
        step *= dims[dim]
    return lines


def offset(tensor: Descriptor, names: Sequence[str], *, broadcast: bool = False) -> str:
    """The offset of an element, in elements, from the beginning of the memory.

    With `broadcast`, dimensions of 1 are the same for every coordinate.

    >>> offset(Descriptor.plain((2, 3)), ("x0", "x1"))
    'x0 * 3 + x1'
    """
    terms = [str(tensor.offset)] if tensor.offset else []
    for dim, (name, stride, block) in enumerate(
        zip(names, tensor.strides, tensor.blocks, strict=True)
    ):
        if tensor.padded_dims[dim] == block and block > 1:
            continue
        if _is_fixed(tensor, dim, broadcast) or stride == 0:
            continue
        quotient = name if block == 1 else f"{_primary(name)} / {block}"
        terms.append(_times(quotient, stride))
    terms += _inner(tensor, names, broadcast)
    return " + ".join(terms) or "0"


def _inner(tensor: Descriptor, names: Sequence[str], broadcast: bool) -> list[str]:
    """The terms of the blocks inside: each takes some of the digits of its coordinate."""
    terms = []
    step = 1
    below = [1] * tensor.ndims
    for size, dim in reversed(tensor.inner_blocks):
        if not _is_fixed(tensor, dim, broadcast):
            name = _primary(names[dim])
            digits = name if below[dim] == 1 else f"({name} / {below[dim]})"
            terms.append(_times(f"{digits} % {size}", step))
        below[dim] *= size
        step *= size
    return terms


def _is_fixed(tensor: Descriptor, dim: int, broadcast: bool) -> bool:
    return broadcast and tensor.dims[dim] == 1


def _primary(name: str) -> str:
    return name if name.isidentifier() else f"({name})"


def _times(text: str, factor: int) -> str:
    if factor == 1:
        return text if text.isidentifier() else f"({text})"
    return f"{_primary(text)} * {factor}"
