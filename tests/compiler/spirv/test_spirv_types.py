"""Types: how OpenCL lays them out, and when two of them are the same."""

from __future__ import annotations

import pytest

from groundstate.compiler.spirv import InvalidModule, read
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Event,
    Float,
    FunctionType,
    Image,
    Int,
    Pointer,
    Sampler,
    Struct,
    Type,
    Vector,
    Void,
    compatible,
    member_count,
    member_type,
)
from tests.compiler.spirv.spirv_support import assemble, by_name, module_data, read_text

CHAR, SHORT, INT, LONG = Int(8), Int(16), Int(32), Int(64)
FLOAT, DOUBLE = Float(32), Float(64)
GLOBAL = StorageClass.CrossWorkgroup


@pytest.mark.parametrize(
    ("kind", "size", "align"),
    [
        (Bool(), 1, 1),
        (CHAR, 1, 1),
        (SHORT, 2, 2),
        (LONG, 8, 8),
        (Int(24), 4, 4),
        (Int(1), 1, 1),
        (Float(16), 2, 2),
        (Float(16, 0), 2, 2),
        (DOUBLE, 8, 8),
        (Vector(FLOAT, 2), 8, 8),
        (Vector(FLOAT, 3), 16, 16),
        (Vector(DOUBLE, 16), 128, 128),
        (Vector(CHAR, 3), 4, 4),
        (Array(Vector(FLOAT, 3), 5), 80, 16),
        (Array(CHAR, 0), 0, 1),
        (Pointer(GLOBAL, CHAR), 8, 8),
        (Sampler(), 8, 8),
        (Event(), 8, 8),
        (Void(), 0, 1),
    ],
)
def test_sizes_and_alignments_are_those_of_opencl(kind: Type, size: int, align: int) -> None:
    assert (kind.size, kind.align) == (size, align)


@pytest.mark.parametrize(
    ("members", "packed", "offsets", "size", "align"),
    [
        ((), False, (), 0, 1),
        ((CHAR, DOUBLE, SHORT), False, (0, 8, 16), 24, 8),
        ((CHAR, DOUBLE, SHORT), True, (0, 1, 9), 11, 1),
        ((INT, Vector(FLOAT, 3), CHAR), False, (0, 16, 32), 48, 16),
        ((CHAR, CHAR, SHORT, INT), False, (0, 1, 2, 4), 8, 4),
    ],
)
def test_members_lie_where_c_puts_them(
    members: tuple[Type, ...], packed: bool, offsets: tuple[int, ...], size: int, align: int
) -> None:
    struct = Struct(1, members, packed)
    assert (struct.offsets, struct.size, struct.align) == (offsets, size, align)


def test_a_structure_can_ask_for_more_alignment() -> None:
    assert Struct(1, (CHAR,), least_align=32).size == 32


def test_types_that_look_the_same_are_the_same() -> None:
    assert Int(32) == Int(32, False)
    assert hash(Int(32)) == hash(Int(32, False))
    assert Int(32) != Int(32, True)
    assert Float(16) != Float(16, 0)
    assert Vector(INT, 4) == Vector(Int(32), 4)
    assert Pointer(GLOBAL, INT) == Pointer(GLOBAL, Int(32))
    assert Pointer(GLOBAL, INT) != Pointer(StorageClass.Workgroup, INT)
    assert {Array(INT, 3): "found"}[Array(Int(32), 3)] == "found"
    assert Event() == Event() != Sampler()
    assert Image(Void(), 1) == Image(Void(), 1) != Image(Void(), 2)


def test_structures_are_told_apart_by_their_ids() -> None:
    owner = object()
    assert Struct(5, (INT,), owner=owner) == Struct(5, (INT,), owner=owner)
    assert Struct(5, (INT,), owner=owner) != Struct(6, (INT,), owner=owner)
    assert Struct(5, (INT,), owner=owner) != Struct(5, (INT,), owner=object())


def test_types_are_written_in_the_words_of_opencl() -> None:
    assert str(Vector(Int(64), 3)) == "u64x3"
    assert str(Pointer(GLOBAL, FLOAT)) == "global f32*"
    assert str(Array(Int(8, True), 4)) == "[4 x i8]"
    assert str(Pointer(GLOBAL)) == "global void*"
    assert str(FunctionType(Void(), (INT, Float(16, 0)))) == "void(u32, bf16)"


def test_parts_of_composites() -> None:
    struct = Struct(1, (INT, FLOAT))
    assert member_type(struct, 1) == FLOAT
    assert member_type(struct, 2) is None
    assert member_type(Vector(INT, 2), 1) == INT
    assert member_type(INT, 0) is None
    assert [member_count(kind) for kind in (struct, Array(INT, 7), INT)] == [2, 7, 0]


def test_compatible_types_differ_only_in_pointers() -> None:
    assert compatible(Pointer(GLOBAL, INT), Pointer(GLOBAL, CHAR))
    assert not compatible(INT, FLOAT)
    assert not compatible(INT, LONG)


def test_a_type_larger_than_memory_is_refused() -> None:
    with pytest.raises(InvalidModule, match="larger than any memory"):
        Array(Array(LONG, 1 << 40), 1 << 40)


def test_types_may_not_nest_too_deep() -> None:
    kind: Type = INT
    for _ in range(255):
        kind = Array(kind, 1)
    with pytest.raises(InvalidModule, match="nested more than 255 deep"):
        Array(kind, 1)


def repeated(times: int) -> Type:
    kind: Type = Pointer(GLOBAL, INT)
    for _ in range(times):
        kind = Pointer(GLOBAL, FunctionType(kind, (kind, kind)))
    return kind


def test_repeated_function_types_print_short() -> None:
    kind = repeated(8)
    assert len(str(kind)) < 100
    assert len(repr(kind)) < 100


def test_overly_repeated_function_type_is_refused() -> None:
    """Nobody could compare two of them."""
    with pytest.raises(InvalidModule, match="more than 65536 members"):
        repeated(100)


def test_the_structures_of_a_module() -> None:
    module = read(module_data("layout"))
    natural, packed, outer, node = (
        module.types[by_name(module, name)] for name in ("natural", "packed", "outer", "node")
    )
    assert isinstance(natural, Struct)
    assert isinstance(packed, Struct)
    assert isinstance(outer, Struct)
    assert isinstance(node, Struct)
    assert natural.offsets == (0, 8, 16)
    assert packed.offsets == (0, 1, 9)
    assert outer.offsets == (0, 8, 32, 48)
    assert (outer.size, outer.align) == (128, 16)
    link = node.members[1]
    assert isinstance(link, Pointer)
    assert link.pointee is node
    assert (node.offsets, node.size) == ((0, 8), 16)


def test_equal_types_of_a_module_are_one_object() -> None:
    module = read_text(
        """
        %n = OpConstant %uint 4
        %once = OpTypeArray %uint %n
        %again = OpTypeArray %uint %n
        """,
        'OpName %once "once"\nOpName %again "again"',
    )
    assert module.types[by_name(module, "once")] is module.types[by_name(module, "again")]


def test_opaque_types_keep_what_they_say() -> None:
    module = read(module_data("groups"))
    texts = {str(kind) for kind in module.types.values()}
    assert "opaque secret" in texts
    image = next(kind for kind in module.types.values() if isinstance(kind, Image))
    assert (image.dim, image.access, image.sampled_type) == (1, 0, Void())


def test_bfloat16_has_an_encoding_of_its_own() -> None:
    data = bytearray(assemble("OpMemoryModel Physical64 OpenCL\n%1 = OpTypeFloat 16"))
    place = data.index((3 << 16 | 22).to_bytes(4, "little"))
    data[place : place + 4] = (4 << 16 | 22).to_bytes(4, "little")
    kind = read(bytes(data) + bytes(4)).types[1]
    assert isinstance(kind, Float)
    assert kind.is_bfloat16
    assert kind.encoding == 0
