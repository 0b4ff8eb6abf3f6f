"""Places in the source, from each kind of debug information, and from none that can be trusted."""

from __future__ import annotations

import random
import struct

import pytest

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.printer import print_kernel
from groundstate.compiler.program import Program
from groundstate.compiler.spirv import read
from groundstate.compiler.spirv.debug_info import EXTENDED
from groundstate.compiler.spirv.disassemble import disassemble
from groundstate.compiler.spirv.instructions import ROWS
from tests.compiler.spirv import debug_modules
from tests.compiler.spirv.debug_modules import LINES, NOTHING, OPENCL, SHADER, module

IN_K = ("blur.cl", 8, 3, "k")
IN_TWICE = ("blur.cl", 2, 5, "twice")
IN_PICK = ("pick.h", 3, 7, "pick")
CALL_OF_PICK = ("blur.cl", 5, 0, "twice")

WITH_SCOPES = {
    "OpenCL.DebugInfo.100": module(OPENCL),
    "NonSemantic.Shader.DebugInfo.100": module(SHADER),
    "SPIRV.debug": debug_modules.of_old_translator(),
}


def kernel_of(spirv: bytes) -> Kernel:
    return Program(spirv).kernel("k")


def nodes(kernel: Kernel, op: str) -> list[Node]:
    return [node for node in kernel.nodes() if node.op == op]


def frames(node: Node) -> list[tuple[str, int, int, str]]:
    location = node.location
    return (
        [(each.file, each.line, each.column, each.function) for each in location.frames()]
        if location is not None
        else []
    )


@pytest.mark.parametrize("kind", WITH_SCOPES)
def test_scopes_become_frames(kind: str) -> None:
    kernel = kernel_of(WITH_SCOPES[kind])
    (load,) = nodes(kernel, "Load")
    assert frames(load) == [IN_TWICE, IN_K]
    first, second = nodes(kernel, "Store")
    assert frames(first) == [IN_PICK, CALL_OF_PICK, IN_K]
    assert frames(second) == [IN_K]  # it comes from no line: that of the call is all that is known


def test_lines_alone_become_frames() -> None:
    kernel = kernel_of(module(LINES))
    (load,) = nodes(kernel, "Load")
    assert frames(load) == [IN_TWICE, IN_K]
    first, second = nodes(kernel, "Store")
    assert frames(first) == [("pick.h", 3, 7, "twice"), IN_K]
    assert frames(second) == [IN_K]


def test_module_without_lines_has_no_locations() -> None:
    spirv = module(NOTHING)
    assert read(spirv).debug_info is None
    assert all(node.location is None for node in kernel_of(spirv).nodes())


@pytest.mark.parametrize("kind", WITH_SCOPES)
def test_kernel_is_the_same_without_lines(kind: str) -> None:
    assert shape(kernel_of(WITH_SCOPES[kind])) == shape(kernel_of(module(NOTHING)))


def shape(kernel: Kernel) -> list[str]:
    """The text of a kernel without what debug information changes."""
    for node in kernel.nodes():
        node.location, node.position = None, 0
    return print_kernel(kernel).splitlines()


@pytest.mark.parametrize("spirv", [*WITH_SCOPES.values(), module(LINES)], ids=[*WITH_SCOPES, "-"])
def test_text_keeps_locations(spirv: bytes) -> None:
    text = print_kernel(kernel_of(spirv))
    assert 'location 0: "blur.cl" 8 3 in "k"\n' in text
    read_back = parse_kernel(text)
    assert print_kernel(read_back) == text
    assert frames(nodes(read_back, "Load")[0]) == [IN_TWICE, IN_K]


@pytest.mark.parametrize("spirv", [*WITH_SCOPES.values(), module(LINES)], ids=[*WITH_SCOPES, "-"])
def test_module_has_the_text_of_its_source(spirv: bytes) -> None:
    debug_info = read(spirv).debug_info
    assert debug_info is not None
    text = debug_info.text_of("blur.cl")
    assert text is not None
    assert text.split() == ["first", "line", "second", "line"]
    assert debug_info.text_of("pick.h") is None


def test_calls_inlined_into_themselves_have_no_frames() -> None:
    endless = SHADER | {
        "debug": SHADER["debug"].replace("%five %scope_twice", "%five %block %site")
    }
    kernel = kernel_of(module(endless))
    assert frames(nodes(kernel, "Store")[0]) == [IN_K]


def test_disassembly_names_lines() -> None:
    lines = [line.strip() for line in disassemble(read(WITH_SCOPES["OpenCL.DebugInfo.100"]))]
    assert "; blur.cl:2:5 twice" in lines
    assert "; pick.h:3:7 pick, called at blur.cl:5:0 twice" in lines
    assert "; no line" in lines


# --- Debug information that is wrong --------------------------------------------------------------


def debug_words(spirv: bytes) -> list[int]:
    """The places of the words that are operands of debug instructions, or of OpLine."""
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    sets = {id for id, name in read(spirv).ext_imports.items() if name != "OpenCL.std"}
    found, at = [], 5
    while at < len(words):
        opcode, count = words[at] & 0xFFFF, words[at] >> 16
        if opcode in EXTENDED and words[at + 3] in sets:
            found += range(at + 4, at + count)
        elif ROWS[opcode].name == "OpLine":
            found += range(at + 1, at + count)
        at += count
    return found


@pytest.mark.parametrize("kind", WITH_SCOPES)
def test_wrong_debug_information_changes_nothing(kind: str) -> None:
    spirv = WITH_SCOPES[kind]
    expected = shape(kernel_of(spirv))
    places, dice = debug_words(spirv), random.Random(19)
    for _ in range(300):
        words = bytearray(spirv)
        for _ in range(dice.choice((1, 1, 2, 5))):
            value = dice.choice((0, 1, 23, 25, 35, 103, 0xFFFFFFFF, dice.randrange(200)))
            struct.pack_into("<I", words, 4 * dice.choice(places), value)
        assert shape(kernel_of(bytes(words))) == expected


def test_debug_instruction_without_operands_is_ignored() -> None:
    for number in (20, 21, 22, 23, 24, 25, 35, 101, 102, 103, 104, 999):
        spirv = module(OPENCL)
        words = list(struct.unpack(f"<{len(spirv) // 4}I", spirv))
        at = next(place for place in debug_words(spirv) if words[place] == 23) - 4
        words[at : at + (words[at] >> 16)] = [5 << 16 | 12, *words[at + 1 : at + 4], number]
        changed = struct.pack(f"<{len(words)}I", *words)
        assert shape(kernel_of(changed)) == shape(kernel_of(spirv))
