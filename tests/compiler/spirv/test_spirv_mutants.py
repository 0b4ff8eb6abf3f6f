"""Changed modules are compiled to LLVM IR, or refused with a sentence that names what is wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import Program
from tests.compiler.random.fuzz_driver import MISTAKES
from tests.compiler.spirv.fuzz_spirv import seed_modules
from tests.fuzz.spirv_mutate import mutate
from tests.fuzz.spirv_text import HEADER_WORDS

COUNT = 600


@cache
def modules() -> list[bytes]:
    """What is changed: made of text, which takes an assembler."""
    return seed_modules(None)


def outcomes(data: bytes) -> Iterator[str]:
    """What is said to a module and to its first kernels; nothing about those that are taken."""
    try:
        program = Program(data)
    except BuildError as problem:
        yield problem.log
        return
    for name in program.kernel_names[:2]:
        try:
            program.check(name)
        except BuildError as problem:
            yield problem.log
        else:
            if not program.signature(name).unresolved:
                assert program.write(name, (16, 4, 1)).text, "what is taken has code"


@pytest.mark.parametrize("first", range(0, COUNT, 100))
def test_a_changed_module_is_taken_or_refused(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", "0")
    for seed in range(first, first + 100):
        chance = random.Random(seed)
        for said in outcomes(mutate(chance.choice(modules()), chance, modules())):
            assert said.strip()
            assert not any(words in said for words in MISTAKES), f"seed {seed}: {said}"


def test_the_same_seed_gives_the_same_module() -> None:
    for seed in range(50):
        made = [
            mutate(modules()[seed % len(modules())], random.Random(seed), modules()) for _ in "ab"
        ]
        assert made[0] == made[1]


def test_most_changes_change_something() -> None:
    changed = [mutate(modules()[0], random.Random(seed)) != modules()[0] for seed in range(200)]
    assert sum(changed) > 150


@pytest.mark.parametrize("data", [b"", b"abc", bytes(20), b"\xff" * 64, bytes(4 * HEADER_WORDS)])
def test_what_is_no_module_is_changed_too(data: bytes) -> None:
    for seed in range(200):
        assert len(mutate(data, random.Random(seed))) < 100_000
