"""Runs what `export` wrote on the first GPU, by the CUDA driver, and compares the results.

    python3 run.py FOLDER [--only TEXT]

It needs libcuda.so.1 and NumPy, and nothing of this project. Each launch runs in a child process,
which goes on until one fails for good: a fault costs the process its GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

CAPACITY = 1 << 20
PATIENCE_S = 60
FAULTS = (700, 702, 710, 714, 715, 716, 717, 718, 719, 721)
"""What the driver says of a context that is lost."""
BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 0
ERROR_LOG, ERROR_LOG_BYTES = 5, 6
LOG_BYTES = 1 << 14


class CudaError(Exception):
    """The driver refused something."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class Cuda:
    """The CUDA driver, with a context on the first GPU."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, function: str, *arguments: Any) -> None:
        code = getattr(self.library, function)(*arguments)
        if code:
            words = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(words))
            raise CudaError(code, f"{function}: {(words.value or b'?').decode()} ({code})")

    def load(self, ptx: bytes) -> ctypes.c_void_p:
        """A module."""
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx + b"\0", 2, options, values)
        except CudaError as problem:
            raise CudaError(problem.code, f"{problem} {log.value.decode()}") from None
        return module

    def allocate(self, data: bytes) -> int:
        """Memory of the GPU with these bytes, and some room behind them."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(data) + 256))
        self.call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
        return address.value

    def read(self, address: int, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data.raw

    def launch(
        self, function: ctypes.c_void_p, case: dict[str, Any], shared: int, block: bytearray
    ) -> None:
        size = ctypes.c_size_t(len(block))
        data = (ctypes.c_char * max(1, len(block))).from_buffer_copy(bytes(block) or b"\0")
        extra = (ctypes.c_void_p * 5)(
            BUFFER_POINTER, ctypes.addressof(data), BUFFER_SIZE, ctypes.addressof(size), END
        )
        passed = extra if block else None
        self.call(
            "cuLaunchKernel",
            *(function, *case["groups"], *case["group_size"], shared, None, None, passed),
        )
        self.call("cuCtxSynchronize")


def run(cuda: Cuda, folder: Path, case: dict[str, Any]) -> str:
    """Runs a launch; says what is wrong, or nothing."""
    arrays = np.load(folder / case["data"])
    module = cuda.load((folder / case["ptx"]).read_bytes())
    kernel = case["kernel"]
    function = ctypes.c_void_p()
    cuda.call("cuModuleGetFunction", ctypes.byref(function), module, kernel["symbol"].encode())
    block = bytearray(kernel["parameter_bytes"])
    taken: dict[int, int] = {}
    shared = 0
    for at, (argument, kind) in enumerate(zip(kernel["arguments"], case["kinds"], strict=True)):
        start = argument["offset"]
        if kind == "local":
            shared = -(-shared // argument["alignment"]) * argument["alignment"]
            block[start : start + 4] = shared.to_bytes(4, "little")
            shared += case["local"][at]
            continue
        data = arrays[f"in{at}"].tobytes()
        if kind == "buffer":
            taken[at] = cuda.allocate(data)
            data = taken[at].to_bytes(8, "little")
        block[start : start + len(data)] = data
    extra = []
    for name, start in kernel["implicit"].items():
        if name == "print_buffer":
            extra.append(cuda.allocate(np.array([0, CAPACITY], "u8").tobytes() + bytes(CAPACITY)))
            data = extra[0].to_bytes(8, "little")
        elif name == "global_offset":
            data = np.array(case["offset"], "u8").tobytes()
        elif name == "work_dim":
            data = (3).to_bytes(4, "little")
        else:
            return f"nobody knows what {name} is"
        block[start : start + len(data)] = data
    cuda.launch(function, case, shared, block)
    wrong = []
    for at, address in taken.items():
        if f"out{at}" in arrays:
            wanted = arrays[f"out{at}"]
            found = np.frombuffer(cuda.read(address, wanted.nbytes), wanted.dtype.base)
            found = found.reshape(wanted.shape)
            if case["tolerance"] or case["strays"] or case["unordered"]:
                wrong += compare_roughly(found, wanted, case)
            else:
                wrong += compare(at, found, wanted, case["ulp"].get(str(at), 0.0), case["least"])
    for address in [*taken.values(), *extra]:
        cuda.call("cuMemFree_v2", ctypes.c_uint64(address))
    cuda.call("cuModuleUnload", module)
    return "; ".join(wrong)


def compare(at: int, found: Any, wanted: Any, ulp: float, least: float = 0.0) -> list[str]:
    """Where two results are further apart than they may be, in last places of the larger, or of
    `least` if that is larger still."""
    if wanted.dtype.names:
        parts = [compare(at, found[each], wanted[each], ulp) for each in wanted.dtype.names]
        return [line for part in parts for line in part]
    bad = found != wanted
    if wanted.dtype.kind == "f":
        bad &= ~(np.isnan(found) & np.isnan(wanted))
        if ulp:
            with np.errstate(all="ignore"):
                largest = np.maximum(np.maximum(np.abs(found), np.abs(wanted)), least)
                unit = np.spacing(
                    np.where(np.isfinite(largest), largest, 1).astype(wanted.dtype)
                ).astype("f8")
                bad &= ~(np.abs(found.astype("f8") - wanted.astype("f8")) <= ulp * unit)
    if not bad.any():
        return []
    first = tuple(int(each) for each in np.argwhere(bad)[0])
    count = int(bad.sum())
    return [
        f"argument {at}: {count} of {bad.size} differ, first {first}: "
        f"{found[first]!r}, not {wanted[first]!r}"
    ]


def compare_roughly(found: Any, wanted: Any, case: dict[str, Any]) -> list[str]:
    """The same for a benchmark, whose results may be off by a part of the largest."""
    if case["unordered"]:
        found, wanted = np.sort(found, axis=None), np.sort(wanted, axis=None)
    allowed = case["tolerance"] * float(np.abs(wanted).max(initial=0))
    bad = ~(np.abs(found.astype("f8") - wanted.astype("f8")) <= allowed)
    if bad.mean() <= case["strays"]:
        return []
    first = tuple(int(each) for each in np.argwhere(bad)[0])
    return [
        f"{int(bad.sum())} of {bad.size} differ, first {first}: {found[first]!r}, "
        f"not {wanted[first]!r}"
    ]


def work(folder: Path, first: int, only: str) -> int:
    """Runs launches from a number on, a line of JSON for each."""
    cases = json.loads((folder / "cases.json").read_text())
    cuda = Cuda()
    print(json.dumps({"device": cuda.name}), flush=True)
    for number in range(first, len(cases)):
        if only not in cases[number]["name"]:
            continue
        print(json.dumps({"start": number}), flush=True)
        code = 0
        try:
            said = run(cuda, folder, cases[number])
        except CudaError as problem:
            said, code = str(problem), problem.code
        print(json.dumps({"number": number, "said": said}), flush=True)
        if code in FAULTS:
            return 1
    return 0


def main() -> int:
    """Runs all launches, and says how many were right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="launches with this in their name")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work is not None:
        return work(args.folder, args.work, args.only)
    cases = json.loads((args.folder / "cases.json").read_text())
    results: dict[int, str] = {}
    first, started = 0, time.monotonic()
    while first < len(cases):
        first = follow(args, first, results)
    wrong = {cases[number]["name"]: said for number, said in results.items() if said}
    for name, said in wrong.items():
        print(f"FAIL {name}: {said}")
    seconds = time.monotonic() - started
    print(f"{len(results) - len(wrong)} of {len(results)} launches are right, in {seconds:.0f} s")
    return 1 if wrong or not results else 0


def follow(args: argparse.Namespace, first: int, results: dict[int, str]) -> int:
    """Lets a child run launches; the number to go on from when it has ended."""
    command = [sys.executable, os.path.abspath(__file__), str(args.folder)]
    command += ["--work", str(first), "--only", args.only]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    current = None
    watch = Watch(child)
    for line in child.stdout:
        said = json.loads(line)
        watch.fed()
        if "device" in said and not results:
            print(f"on {said['device']}")
        if "start" in said:
            current = said["start"]
        if "number" in said:
            results[said["number"]] = said["said"]
    child.wait()
    watch.end()
    if current is None and child.returncode:
        raise SystemExit("the GPU cannot be used")
    if current is None or (child.returncode == 0 and current in results):
        return 1 << 60
    results.setdefault(current, "it ended the process, or took too long")
    return current + 1


class Watch:
    """Ends a child that says nothing for too long."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        import threading

        self.child, self.last, self.is_over = child, time.monotonic(), threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def fed(self) -> None:
        self.last = time.monotonic()

    def end(self) -> None:
        self.is_over.set()

    def _look(self) -> None:
        while not self.is_over.wait(1):
            if time.monotonic() - self.last > PATIENCE_S:
                self.child.kill()
                return


if __name__ == "__main__":
    sys.exit(main())
