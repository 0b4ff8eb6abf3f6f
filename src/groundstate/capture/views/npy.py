"""Writes NumPy's `.npy` files without NumPy: a line of text that describes it, and the bytes."""

from __future__ import annotations

from pathlib import Path

from groundstate.core.dtype import dtype

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNMENT = 64


def write_npy(path: Path, data: bytes, kind: str, shape: tuple[int, ...] | None = None) -> None:
    """Writes elements of a type such as "float32"; bytes behind the last whole one are left out."""
    element = dtype(kind)
    if shape is None:
        shape = (len(data) // element.itemsize_bytes,)
    size = element.itemsize_bytes
    for side in shape:
        size *= side
    if size > len(data):
        raise ValueError(f"{shape} of {kind} needs {size} bytes, and there are {len(data)}")
    text = f"{{'descr': {element.typestr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    used = len(_MAGIC) + 2 + len(text) + 1
    header = text.encode("ascii") + b" " * (-used % _ALIGNMENT) + b"\n"
    with path.open("wb") as file:
        file.write(_MAGIC + len(header).to_bytes(2, "little") + header)
        file.write(memoryview(data)[:size])
