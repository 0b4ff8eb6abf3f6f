"""Kernels that mean something else than they did: lanes against one lane, and against PoCL.

A case is a module with one kernel of `tests.compiler.random`, carefully changed. spirv-val must
find it valid. One lane is the measure; all widths must leave the same bits, and so must PoCL,
which is given the module as LLVM's bitcode, for it reads no SPIR-V in Debian.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.fuzz import spirv_careful
from tests.fuzz.targets.target import Generator, Verdict

STANDARD = "CL1.2"
VALIDATOR, TRANSLATOR = "spirv-val", "llvm-spirv-15"
CHANGES_OF_A_KERNEL = 40
"""How many cases come from one kernel before the next is compiled."""
WIDTHS = (4, 8, 16, 32)
CHECKED_BY_PEER = 4
"""One in so many cases is given to PoCL, which takes longest."""


@lru_cache(maxsize=4)
def original(seed: int) -> bytes:
    """The module of a random kernel."""
    from tests.compiler.opencl import second_compiler
    from tests.compiler.random import random_kernels

    kernel = random_kernels.Generator(seed).kernel(f"k{seed}")
    text = random_kernels.PRELUDE + kernel
    return second_compiler.compile_opencl(text, STANDARD, "optimised")


class Kernels(Generator):
    """Random kernels with other operations in them."""

    name = "kernels"
    summary = "changed kernels, run with one lane, several lanes, and on PoCL"
    suffix = ".spv"
    deadline_s = 180.0
    environment = {"GROUNDSTATE_CACHE": "0"}

    def missing(self) -> str:
        from tests.compiler.opencl.second_compiler import PACKAGES

        absent = [name for name in (VALIDATOR, *PACKAGES) if shutil.which(name) is None]
        return f"{absent[0]} is not installed" if absent else ""

    def generate(self, chance: random.Random) -> bytes:
        return spirv_careful.mutate(original(chance.randrange(10_000)), chance)

    def cases(self, seed: int) -> Iterator[tuple[int, bytes]]:
        """Many changes of one kernel come together, because compiling it takes longest."""
        number = seed
        while True:
            module = original(number // CHANGES_OF_A_KERNEL)
            yield number, spirv_careful.mutate(module, random.Random(number))
            number += 1

    def prepare(self) -> None:
        from tests.compiler.random.peer_pocl import Peer

        self._agreed: dict[int, bool] = {}
        try:
            self._peer: Peer | None = Peer()
        except LookupError:
            self._peer = None

    def run(self, case: bytes) -> Verdict:
        from groundstate.compiler.program import Program

        if not is_valid(case):
            return Verdict("spirv-val refuses what was changed with care")
        program = Program(case)
        (name,) = program.kernel_names
        seed = int(name.removeprefix("k"))
        expected = ours(program, seed, 1)
        wrong = []
        for width in WIDTHS:
            wrong += differences(f"{width} lanes", expected, ours(program, seed, width))
        if sum(case) % CHECKED_BY_PEER == 0 and self._peer_knows(seed):
            wrong += differences("PoCL", expected, theirs(self._peer, case, seed))
        return Verdict("\n".join(wrong))

    def _peer_knows(self, seed: int) -> bool:
        """Whether PoCL and we agree on the kernel before it was changed.

        Debian's PoCL takes some of the translator's bitcode for something else.
        """
        from groundstate.compiler.program import Program

        if self._peer is not None and seed not in self._agreed:
            module = spirv_careful.without_promises(original(seed))
            expected, found = ours(Program(module), seed, 1), theirs(self._peer, module, seed)
            self._agreed[seed] = found is not None and not differences("PoCL", expected, found)
        return self._agreed.get(seed, False)

    def reductions(self, case: bytes) -> Iterator[bytes]:
        """The operations of the original come back, one by one."""
        from groundstate.compiler.program import Program

        (name,) = Program(case).kernel_names
        module = original(int(name.removeprefix("k")))
        before = spirv_careful.without_promises(module)
        if len(before) != len(case):
            return
        for at in range(0, len(case), 4):
            if case[at : at + 4] != before[at : at + 4]:
                yield case[:at] + before[at : at + 4] + case[at + 4 :]


def is_valid(module: bytes) -> bool:
    command = [VALIDATOR, "--target-env", "spv1.4", "-"]
    return subprocess.run(command, input=module, capture_output=True, check=False).returncode == 0


def ours(program: Any, seed: int, width: int) -> Sequence[Any]:
    from tests.compiler.random.fuzz_kernels import run_ours

    return run_ours(program, seed, width)


def theirs(peer: Any, module: bytes, seed: int) -> Sequence[Any] | None:
    """What PoCL leaves in the buffers, or None if the translator or PoCL cannot take the module."""
    from tests.compiler.random.fuzz_kernels import run_on_peer

    with tempfile.TemporaryDirectory() as folder:
        spirv, bitcode = Path(folder) / "module.spv", Path(folder) / "module.bc"
        spirv.write_bytes(module)
        done = subprocess.run(
            [TRANSLATOR, "-r", str(spirv), "-o", str(bitcode)], capture_output=True, check=False
        )
        if done.returncode != 0:
            return None
        binary = bitcode.read_bytes()
    cl = peer.cl
    try:
        program = cl.Program(peer.context, [peer.device], [binary])
        return run_on_peer(peer, program.build(["-x", "spir", "-spir-std=1.2"]), seed)
    except cl.Error:
        return None


def differences(who: str, expected: Sequence[Any], found: Sequence[Any] | None) -> list[str]:
    from tests.compiler.random.fuzz_kernels import compare

    return compare(0, who, list(expected), list(found)) if found is not None else []
