"""SPIR-V that is wrong somewhere, native binaries that somebody has changed, and build options."""

from __future__ import annotations

import ctypes
import json
import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from groundstate import ze
from tests.fuzz import edits
from tests.fuzz.spirv_mutate import mutate
from tests.fuzz.targets.target import Generator, Verdict

KERNELS = Path(__file__).parents[1] / "calls" / "kernels.spv"
WITHOUT_CACHE = {"GROUNDSTATE_CACHE": "0", "GROUNDSTATE_KERNEL_LIMIT": "200ms"}


class Spirv(Generator):
    """Modules that are built and compiled, or refused with a sentence. Nothing of them is run."""

    name = "spirv"
    summary = "changed SPIR-V, built and compiled"
    suffix = ".spv"
    environment = WITHOUT_CACHE
    deadline_s = 180.0

    @cached_property
    def _modules(self) -> list[bytes]:
        from tests.compiler.spirv.fuzz_spirv import seed_modules

        return [KERNELS.read_bytes(), *seed_modules(None)]

    def generate(self, chance: random.Random) -> bytes:
        return mutate(chance.choice(self._modules), chance) or b"\0"

    def prepare(self) -> None:
        from tests.compiler.random.fuzz_driver import Builder

        self._builder = Builder()

    def run(self, case: bytes) -> Verdict:
        return Verdict(self._builder.build(case))

    def reductions(self, case: bytes) -> Iterator[bytes]:
        """Instructions are left out, one by one."""
        at = 20
        while at < len(case):
            length = 4 * int.from_bytes(case[at + 2 : at + 4], "little")
            if length == 0:
                return
            yield case[:at] + case[at + length :]
            at += length


class NativeBinaries(Generator):
    """What zeModuleGetNativeBinary gave, changed. It is loaded; its code is not run."""

    name = "native"
    summary = "changed native binaries"
    suffix = ".json"
    environment = {**WITHOUT_CACHE, "GROUNDSTATE_NATIVE": "trusted"}

    def generate(self, chance: random.Random) -> bytes:
        return json.dumps(edits.some(chance)).encode()

    def reductions(self, case: bytes) -> Iterator[bytes]:
        steps = json.loads(case)
        for number in range(len(steps)):
            yield json.dumps(steps[:number] + steps[number + 1 :]).encode()

    def prepare(self) -> None:
        from groundstate.compiler.program import Program
        from tests.compiler.random.fuzz_driver import Builder

        self._builder = Builder()
        program = Program(KERNELS.read_bytes())
        for name in program.kernel_names:
            program.compile(name, (8, 1, 1))
        self._binary = program.native_binary()
        assert not self._builder.build(self._binary, native=True)
        assert not self._builder.refusal

    def run(self, case: bytes) -> Verdict:
        changed = edits.apply(json.loads(case), self._binary) or b"\0"
        return Verdict(self._builder.build(changed, native=True))


class BuildOptions(Generator):
    """Build options: every text gets a build log or a module."""

    name = "options"
    summary = "build options"
    suffix = ".txt"
    environment = WITHOUT_CACHE

    WORDS = (
        *("-ze-opt-level", "-ze-opt-level=2", "-g", "-cl-mad-enable", "-ze-opt-disable", "="),
        *(",", " ", "\n", "\t", "-", "--", "O3", "9", "nonsense", "-D", "-I/etc", "%s%n", "\\"),
        *("'", '"', "é", "\u202e", "\x1b[31m", "x" * 300, "-x " * 40),
    )

    def generate(self, chance: random.Random) -> bytes:
        text = "".join(chance.choice(self.WORDS) for _ in range(chance.randint(0, 12)))
        raw = bytearray(text.encode())
        if chance.random() < 0.3:
            raw.append(chance.randrange(1, 256))
        return bytes(raw)

    def prepare(self) -> None:
        from tests.compiler.random.fuzz_driver import Builder

        self._builder = Builder()

    def run(self, case: bytes) -> Verdict:
        return Verdict(build_with(self._builder, case.replace(b"\0", b"")))


def build_with(builder: object, options: bytes) -> str:
    """Builds a module with options; what is wrong with the answer."""
    from tests.compiler.random.fuzz_driver import Builder, text_of

    assert isinstance(builder, Builder)
    words = (ctypes.c_uint8 * KERNELS.stat().st_size).from_buffer_copy(KERNELS.read_bytes())
    description = ze.ze_module_desc_t(
        inputSize=len(words), pInputModule=ctypes.addressof(words), pBuildFlags=options
    )
    module, log = ctypes.c_void_p(), ctypes.c_void_p()
    arguments = [ctypes.byref(each) for each in (description, module, log)]
    result = ze.zeModuleCreate(builder.context, builder.device, *arguments)
    said = text_of(log)
    ze.zeModuleBuildLogDestroy(log)
    if result == 0:
        ze.zeModuleDestroy(module)
        return ""
    if result != ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
        return f"the result is {ze.ze_result_t(result).name}: {builder.last_error()}"
    return "" if said.strip() else "it was refused without a word"


TARGETS: Sequence[Generator] = (Spirv(), NativeBinaries(), BuildOptions())
