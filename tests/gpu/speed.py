"""Times what `export_speed` wrote on the first GPU, by events of the CUDA driver.

    python3 speed.py FOLDER

It needs libcuda.so.1 and NumPy, and `run.py` beside it. Each time is the best of 20.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 20
NANOSECONDS = 1e6
"""In a millisecond, which is what the driver says a time in."""


def content(kind: str, size: int) -> bytes:
    """What is in a buffer at first."""
    if kind == "random":
        numbers = np.random.default_rng(1).integers(0, 1 << 24, size // 4)
        return numbers.astype(np.uint32).tobytes()
    return b"\x3c" * size


class Launch:
    """A kernel with its arguments in place."""

    def __init__(self, cuda: Any, folder: Path, case: dict[str, Any]) -> None:
        self.cuda = cuda
        kernel = case["kernel"]
        module = cuda.load((folder / case["ptx"]).read_bytes())
        self.function = ctypes.c_void_p()
        symbol = kernel["symbol"].encode()
        cuda.call("cuModuleGetFunction", ctypes.byref(self.function), module, symbol)
        block = bytearray(kernel["parameter_bytes"])
        self.shared = 0
        self.taken: list[int] = []
        for argument, (kind, what) in zip(kernel["arguments"], case["arguments"], strict=True):
            if kind == "local":
                data = self.shared.to_bytes(4, "little")
                self.shared += -(-what // argument["alignment"]) * argument["alignment"]
            elif kind == "buffer":
                self.taken.append(cuda.allocate(content(what["content"], what["bytes"])))
                data = self.taken[-1].to_bytes(8, "little")
            else:
                data = bytes.fromhex(what)
            start = argument["offset"]
            block[start : start + len(data)] = data
        self.sizes = [a // b for a, b in zip(case["items"], case["group"], strict=True)]
        self.sizes += case["group"]
        self.block = (ctypes.c_char * len(block)).from_buffer_copy(bytes(block))
        self.size = ctypes.c_size_t(len(block))
        self.extra = (ctypes.c_void_p * 5)(
            1, ctypes.addressof(self.block), 2, ctypes.addressof(self.size), 0
        )

    def start(self) -> None:
        """Launches it."""
        self.cuda.call(
            "cuLaunchKernel", self.function, *self.sizes, self.shared, None, None, self.extra
        )

    def best_ns(self) -> float:
        """The best time of several."""
        call, events = self.cuda.call, [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            call("cuEventCreate", ctypes.byref(event), 0)
        self.start()
        call("cuCtxSynchronize")
        best, took = math.inf, ctypes.c_float()
        for _ in range(ROUNDS):
            call("cuEventRecord", events[0], None)
            self.start()
            call("cuEventRecord", events[1], None)
            call("cuEventSynchronize", events[1])
            call("cuEventElapsedTime", ctypes.byref(took), *events)
            best = min(best, took.value)
        return best * NANOSECONDS

    def free(self) -> None:
        """Gives its memory back."""
        for address in self.taken:
            self.cuda.call("cuMemFree_v2", ctypes.c_uint64(address))


def main() -> int:
    """Prints a line for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    cuda = importlib.import_module("run").Cuda()
    print(f"{cuda.name}\n{'kernel':16}{'here':>12}{'nvcc':>12}  {'unit':10}{'ratio':>6}")
    ratios = []
    for case in json.loads((folder / "speed.json").read_text()):
        launch = Launch(cuda, folder, case)
        found = case["work"] / launch.best_ns()
        launch.free()
        ratios.append(found / case["nvcc"])
        row = f"{case['name']:16}{found:12,.1f}{case['nvcc']:12,.1f}  {case['unit']:10}"
        print(f"{row}{ratios[-1]:6.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of the ratios: {mean:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
