"""Forged native binaries: whatever they say of themselves, reading them ends in a sentence.

Their digests are made to fit, as a stranger would; none of their code is run.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
from typing import Any

import pytest

from groundstate import native_binary as envelope
from groundstate import signing
from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl import frontend
from groundstate.compiler.program import Program, object_loader
from groundstate.compiler.program.native_binary import NativeBinary
from groundstate.compiler.target.host import host

ROUNDS = 4000
"""Mutants of each kind."""
HEAD = len(envelope.MAGIC) + 64
SOURCE = """
constant int table[4] = {1, 2, 3, 4};
kernel void first(global int *out, local int *part) {
    part[get_local_id(0)] = out[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_global_id(0) == 0) printf("%d\\n", part[0]);
    out[get_global_id(0)] = part[0] + table[get_global_id(0) & 3];
}
kernel void second(global float *out) { out[get_global_id(0)] *= 2; }
"""
NUMBERS = (-1, 0, 1, 255, 1 << 31, 1 << 32, 1 << 48, 1 << 63, 1 << 64, 10**400, 1.5, 1e308)
OTHERS = (None, True, "", "\x1b[2J", "x" * 5000, [], [[]], {}, {"a": 1}, "\ud800", "0" * 9)


@pytest.fixture(scope="module")
def content() -> bytes:
    program = Program(frontend.compile_opencl(SOURCE))
    for name in program.kernel_names:
        program.check(name)
        program.compile(name, (4, 1, 1))
    return program.native_binary()[HEAD:]


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "trusted")


def sealed(content: bytes) -> bytes:
    digest = hashlib.sha256(content).digest()
    return envelope.MAGIC + digest + bytes(signing.SIGNATURE_BYTES) + content


def head_of(content: bytes) -> tuple[dict[str, Any], bytes]:
    (size,) = struct.unpack_from("<I", content)
    return json.loads(content[4 : 4 + size]), content[4 + size :]


def with_head(head: object, body: bytes) -> bytes:
    text = json.dumps(head).encode()
    return struct.pack("<I", len(text)) + text + body


def refused(content: bytes) -> str:
    with pytest.raises(BuildError) as caught:
        Program.from_native(sealed(content))
    sentence = str(caught.value)
    assert sentence.isprintable()
    return sentence


def read_or_refuse(content: bytes) -> bool:
    """Whether a mutant is taken; anything but a sentence for a refusal fails the test."""
    try:
        program = Program.from_native(sealed(content))
    except BuildError:
        return False
    for name in program.kernel_names:
        program.cache.get(name)
    return True


def test_a_whole_one_is_taken(content: bytes) -> None:
    assert read_or_refuse(content)
    assert NativeBinary.unpack(content).pack() == content


def test_unsigned_mutants_are_refused_unread(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "own")
    monkeypatch.setattr(NativeBinary, "unpack", staticmethod(lambda _: pytest.fail("was read")))
    chosen, binary = random.Random(1), sealed(content)
    for _ in range(ROUNDS):
        with pytest.raises(BuildError):
            Program.from_native(mutated(chosen, binary))


def mutated(chosen: random.Random, content: bytes) -> bytes:
    """A copy with a few bytes changed, some left out, or some said twice."""
    changed = bytearray(content)
    for _ in range(chosen.choice((1, 1, 2, 8))):
        where = chosen.randrange(len(changed))
        how = chosen.randrange(4)
        if how == 0:
            changed[where] ^= 1 << chosen.randrange(8)
        elif how == 1:
            changed[where : where + 8] = chosen.choice((b"\xff", b"\0", b"9")) * 8
        elif how == 2:
            del changed[where : where + chosen.choice((1, 4, 100, len(changed)))]
            changed = changed or bytearray(1)
        else:
            changed[where:where] = changed[max(0, where - 50) : where]
    return bytes(changed)


def test_bytes_of_the_description_changed(content: bytes) -> None:
    chosen = random.Random(2)
    (size,) = struct.unpack_from("<I", content)
    front, body = content[: 4 + size], content[4 + size :]
    for _ in range(ROUNDS):
        read_or_refuse(mutated(chosen, front) + body)


def test_bytes_anywhere_changed(content: bytes) -> None:
    chosen = random.Random(3)
    for _ in range(ROUNDS // 4):
        read_or_refuse(mutated(chosen, content))


def test_values_of_the_description_replaced(content: bytes) -> None:
    chosen = random.Random(4)
    head, body = head_of(content)
    for _ in range(ROUNDS):
        read_or_refuse(with_head(replaced(chosen, head), body))


def replaced(chosen: random.Random, value: Any, chance: float = 0.15) -> Any:
    """A description with some of its values replaced by others, of any type."""
    if chosen.random() < chance / 4:
        return chosen.choice((*NUMBERS, *OTHERS))
    if isinstance(value, dict):
        kept = {each: value[each] for each in value if chosen.random() > chance / 8}
        return {each: replaced(chosen, kept[each], chance) for each in kept}
    if isinstance(value, list):
        return [replaced(chosen, each, chance) for each in value for _ in range(_times(chosen))]
    return chosen.choice((*NUMBERS, *OTHERS)) if chosen.random() < chance else value


def _times(chosen: random.Random) -> int:
    return chosen.choice((1,) * 30 + (0, 2))


def test_facts_about_kernels_replaced(content: bytes) -> None:
    """The descriptions of kernels, which decide how much memory a launch takes."""
    chosen = random.Random(5)
    whole = NativeBinary.unpack(content)
    taken = 0
    for _ in range(ROUNDS):
        known = {what: spoiled(chosen, piece) for what, piece in whole.known.items()}
        spoilt = NativeBinary(whole.options, whole.modules, whole.constants, known)
        taken += read_or_refuse(spoilt.pack())
    assert taken < ROUNDS


def spoiled(chosen: random.Random, piece: bytes) -> bytes:
    (size,) = struct.unpack_from("<I", piece)
    facts, code = json.loads(piece[4 : 4 + size]), piece[4 + size :]
    if chosen.random() < 0.1:
        return mutated(chosen, piece[: 4 + size]) + code
    text = json.dumps(replaced(chosen, facts)).encode()
    return struct.pack("<I", len(text)) + text + code


def test_object_files_changed(content: bytes) -> None:
    """Their tables are followed when code is put into memory, which happens before it is run."""
    chosen = random.Random(6)
    codes = [
        piece[4 + struct.unpack_from("<I", piece)[0] :]
        for what, piece in NativeBinary.unpack(content).known.items()
        if len(what) > 1
    ]
    if host().triple.startswith("x86_64"):  # other CPUs use LLVM's linker
        assert all(object_loader.load(code) for code in codes)
    for _ in range(ROUNDS):
        object_loader.load(mutated(chosen, chosen.choice(codes)))


HOSTILE = {
    "a description of 4 GiB": lambda head, body: b"\xff\xff\xff\xff{}" + body,
    "no description": lambda head, body: b"",
    "two bytes": lambda head, body: b"\1\0",
    "deep brackets": lambda head, body: struct.pack("<I", 400_000) + b"[" * 400_000,
    "a list": lambda head, body: with_head([head], body),
    "no modules": lambda head, body: with_head(head | {"modules": [], "constants": []}, body),
    "a negative size": lambda head, body: with_head(head | {"modules": [-1]}, body),
    "a size that is true": lambda head, body: with_head(head | {"modules": [True]}, body),
    "a huge size": lambda head, body: with_head(head | {"modules": [1 << 62]}, body),
    "a size of 5000 digits": lambda head, body: struct.pack("<I", 5000) + b"9" * 5000,
    "known by nothing": lambda head, body: with_head(head | {"known": [[[], 0]]}, body),
    "more behind it": lambda head, body: with_head(head, body + b"\0"),
    "options that are numbers": lambda head, body: with_head(head | {"options": 7}, body),
    "a version of ESC": lambda head, body: with_head(head | {"version": "\x1b[2J\n"}, body),
    "a CPU of ESC": lambda head, body: with_head(head | {"cpu": "\x1b]0;x\x07" * 99}, body),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_forged_description_is_refused(content: bytes, how: str) -> None:
    assert "native binary" in refused(HOSTILE[how](*head_of(content)))


def test_overlapping_sections_allocate_nothing() -> None:
    """65535 sections of the same megabyte would be 64 GiB."""
    data = bytes(1 << 20)
    table = object_loader.HEADER.size + len(data)
    header = struct.pack("<4sBB10xHH4x8x8xQ4x8xH2x", b"\x7fELF", 2, 1, 1, 62, table, 65535)
    section = object_loader.SECTION.pack(0, 1, 2, 0, 64, len(data), 0, 0, 1, 0)
    symbols = object_loader.SECTION.pack(0, 2, 0, 0, 64, 24, 0, 0, 1, 24)
    code = header + data + symbols + section * 65534
    sections, _, _ = object_loader._read(code)
    with pytest.raises(ValueError, match="on top of each other"):
        object_loader._lay_out(code, sections)
