"""Changes SPIR-V modules at random and has the driver build and compile them; nothing is run.

    python -m tests.compiler.random.fuzz_driver --count 10000
    python -m tests.compiler.random.fuzz_driver --count 1000 --modules some/folder --jobs 2
    python -m tests.compiler.random.fuzz_driver --seed 77 --count 1

Each module goes through zeModuleCreate, zeKernelCreate and zeKernelGetBinaryExp, which compiles.
All of them may refuse it, with a sentence that says why. A crash, more memory than `MEMORY_BYTES`,
more time than `SLOW_S` or a sentence about an exception of Python's is a failure. Mutation number n
is made from the seed n; failures are written as `fuzz_spirv` writes them.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from rich.progress import track

from groundstate import ze
from tests.compiler.spirv.fuzz_spirv import Failure, batches, keep, seed_modules
from tests.fuzz.spirv_mutate import mutate

MEMORY_BYTES = 6 << 30
"""Of addresses: the libraries alone take a good part of it."""
SLOW_S = 20.0
BATCH_LIMIT_S = 1200
MOST_KERNELS = 2
"""How many kernels of a module are compiled."""
SIZE = (8, 2, 1)

REFUSED = {
    int(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE),
    int(ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED),
    int(ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME),
    int(ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION),
    int(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY),
    int(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY),
    int(ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY),
}

MISTAKES = ("the compiler failed on this", "LLVM does not take it", "are not what it takes (")
"""How the compiler says that it has not seen something coming."""


class Builder:
    """A context in which modules are built."""

    def __init__(self) -> None:
        self.refusal = ""
        """What was said to the last module that was refused, or nothing."""
        self.driver, self.device = ctypes.c_void_p(), ctypes.c_void_p()
        self.context = ctypes.c_void_p()
        one = ctypes.byref(ctypes.c_uint32(1))
        assert not ze.zeInit(0)
        assert not ze.zeDriverGet(one, ctypes.byref(self.driver))
        assert not ze.zeDeviceGet(self.driver, one, ctypes.byref(self.device))
        description = ze.ze_context_desc_t()
        made = ctypes.byref(self.context)
        assert not ze.zeContextCreate(self.driver, ctypes.byref(description), made)

    def build(self, binary: bytes, native: bool = False) -> str:
        """Builds a module and compiles some of its kernels. What is wrong with the answers."""
        self.refusal = ""
        words = (ctypes.c_uint8 * len(binary)).from_buffer_copy(binary)
        description = ze.ze_module_desc_t(
            format=ze.ZE_MODULE_FORMAT_NATIVE if native else ze.ZE_MODULE_FORMAT_IL_SPIRV,
            inputSize=len(binary),
            pInputModule=ctypes.addressof(words),
        )
        module, log = ctypes.c_void_p(), ctypes.c_void_p()
        result = ze.zeModuleCreate(
            self.context,
            self.device,
            ctypes.byref(description),
            ctypes.byref(module),
            ctypes.byref(log),
        )
        said = text_of(log)
        ze.zeModuleBuildLogDestroy(log)
        if result:
            self.refusal = said
            return judge(result, said)
        try:
            return self.compile(module)
        finally:
            ze.zeModuleDestroy(module)

    def compile(self, module: ctypes.c_void_p) -> str:
        """Compiles the first kernels of a module."""
        for name in kernel_names(module)[:MOST_KERNELS]:
            kernel = ctypes.c_void_p()
            description = ze.ze_kernel_desc_t(pKernelName=name)
            result = ze.zeKernelCreate(module, ctypes.byref(description), ctypes.byref(kernel))
            if result == 0:
                size, room = ctypes.c_size_t(), ctypes.c_uint8()
                result = ze.zeKernelSetGroupSize(kernel, *SIZE) or ze.zeKernelGetBinaryExp(
                    kernel, ctypes.byref(size), ctypes.byref(room)
                )
                said = self.last_error() if result else ""
                ze.zeKernelDestroy(kernel)
            else:
                said = self.last_error()
            self.refusal = self.refusal or said
            wrong = judge(result, said) if result else ""
            if wrong:
                return wrong
        return ""

    def last_error(self) -> str:
        text = ctypes.c_char_p()
        ze.zeDriverGetLastErrorDescription(self.driver, ctypes.byref(text))
        return (text.value or b"").decode()


def text_of(log: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    ze.zeModuleBuildLogGetString(log, ctypes.byref(size), None)
    text = ctypes.create_string_buffer(size.value)
    ze.zeModuleBuildLogGetString(log, ctypes.byref(size), text)
    return text.value.decode("utf-8", "replace")


def kernel_names(module: ctypes.c_void_p) -> list[bytes]:
    count = ctypes.c_uint32()
    ze.zeModuleGetKernelNames(module, ctypes.byref(count), None)
    names = (ctypes.c_char_p * count.value)()
    ze.zeModuleGetKernelNames(module, ctypes.byref(count), names)
    return [bytes(name) for name in names]


def judge(result: int, said: str) -> str:
    """What is wrong with a refusal: its code, or its words."""
    if int(result) not in REFUSED:
        return f"the result is {ze.ze_result_t(result).name}: {said}"
    if not said.strip():
        return "it was refused without a word"
    if any(words in said for words in MISTAKES):
        return said
    return ""


def check(builder: Builder, seed: int, data: bytes) -> Failure | None:
    """Builds one module; what went wrong, if something did."""
    began = time.process_time()
    wrong = builder.build(data)
    took = time.process_time() - began
    if not wrong and took > SLOW_S:
        wrong = f"it took {took:.1f} s of processor time"
    return Failure(seed, data, wrong) if wrong else None


def mutation(modules: Sequence[bytes], seed: int) -> bytes:
    chance = random.Random(seed)
    return mutate(chance.choice(modules), chance) or b"\0"  # to nothing there is another answer


# --- Processes ------------------------------------------------------------------------------------


def work(modules: Sequence[bytes], seeds: range, folder: Path) -> None:
    """What a child does: says each seed before it begins with it, and keeps what fails."""
    builder = Builder()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for seed in seeds:
        print(f"begin {seed}", flush=True)
        failure = check(builder, seed, mutation(modules, seed))
        if failure is not None:
            print(f"seed {seed}: {failure.report.splitlines()[-1]} ({keep(failure, folder)})")


def watch(modules: Sequence[bytes], folder: Path, more: list[str], seeds: range) -> list[str]:
    """Has a child do a batch, and another the rest if it dies."""
    lines: list[str] = []
    first = seeds.start
    while first < seeds.stop:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.compiler.random.fuzz_driver"]
        command += ["--child", "--seed", str(first), "--count", str(seeds.stop - first), *more]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=BATCH_LIMIT_S, check=False
            )
            out, end = done.stdout, f"status {done.returncode}: {done.stderr[-600:]}"
            died = done.returncode != 0
        except subprocess.TimeoutExpired as problem:
            out, end, died = (problem.stdout or b"").decode(), "it did not end", True
        lines += [line for line in out.splitlines() if line.startswith("seed ")]
        if not died:
            break
        begun = [int(line.split()[1]) for line in out.splitlines() if line.startswith("begin ")]
        if not begun:
            return [*lines, f"seeds from {first}: {end}"]
        path = keep(Failure(begun[-1], mutation(modules, begun[-1]), end), folder)
        lines.append(f"seed {begun[-1]}: {end} ({path})")
        first = begun[-1] + 1
    return lines


def build_files(paths: Sequence[Path]) -> int:
    """Builds modules as they are, and prints a line about each; 1 if an answer is not in order."""
    builder = Builder()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    status = 0
    for path in paths:
        wrong = builder.build(path.read_bytes())
        said = wrong or builder.refusal or "compiled"
        print(f"{path.stem}: {said.splitlines()[0]}", flush=True)
        status = status or bool(wrong)
    return int(status)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compiler.random.fuzz_driver")
    parser.add_argument("--count", type=int, default=1000, help="how many mutations")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--modules", type=Path, help="a folder with more .spv files to change")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for failures")
    parser.add_argument("--files", type=Path, nargs="+", help="build these, change nothing")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.files:
        return build_files(args.files)
    modules = seed_modules(args.modules)
    if args.child:
        work(modules, range(args.seed, args.seed + args.count), args.keep)
        return 0
    more = ["--keep", str(args.keep)]
    more += ["--modules", str(args.modules)] if args.modules else []
    found = list(results(modules, args.keep, more, args.seed, args.count, args.jobs))
    print(f"{args.count} mutations from seed {args.seed} of {len(modules)} modules: ", end="")
    print(f"{len(found)} failed")
    return 1 if found else 0


def results(
    modules: Sequence[bytes], folder: Path, more: list[str], first: int, count: int, jobs: int
) -> Iterator[str]:
    """Runs all batches, and prints what fails as it comes."""
    with ThreadPoolExecutor(jobs) as pool:
        parts = list(batches(first, count))
        for lines in track(
            pool.map(partial(watch, modules, folder, more), parts), total=len(parts)
        ):
            for line in lines:
                print(line, flush=True)
                yield line


if __name__ == "__main__":
    sys.exit(main())
