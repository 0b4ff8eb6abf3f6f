"""A program that keeps what was compiled: the native binary of a module, by its source."""

import contextlib
import hashlib
import tempfile
from pathlib import Path

import groundstate as gs

SOURCE = """
kernel void halves(global float *out) { out[get_global_id(0)] = get_global_id(0) / 2.0f; }
"""

ITEMS = 16


def get_module(context: gs.Context, source: str, folder: Path) -> gs.Module:
    """The module: from the cache if it is there, else from its source and into the cache."""
    path = folder / f"{hashlib.sha256(source.encode()).hexdigest()}.bin"
    if path.exists():
        # A binary of another version, for another CPU or of another user is refused.
        with contextlib.suppress(gs.errors.InvalidNativeBinary):
            module = gs.Module(context, native=path.read_bytes())
            print("from the cache:", end=" ")
            return module
    print("compiled:", end=" ")
    module = gs.Module(context, opencl=source)
    path.write_bytes(module.native_binary())
    return module


with gs.Context(gs.devices()[0]) as context, tempfile.TemporaryDirectory() as folder:
    numbers = context.alloc_shared(ITEMS, "float32")
    for _turn in range(2):
        module = get_module(context, SOURCE, Path(folder))
        numbers.numpy()[:] = 0
        with gs.CommandList.immediate(context) as commands:
            module["halves"](commands, 1, ITEMS, numbers)
        print(numbers.tolist()[0], "...", numbers.tolist()[-1])
        assert numbers.tolist() == [i / 2 for i in range(ITEMS)]
