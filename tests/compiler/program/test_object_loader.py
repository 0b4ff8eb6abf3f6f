"""Loading object files: the code runs, what needs a linker is left to one, damage is noticed."""

from __future__ import annotations

import ctypes
import gc
import math
import random

import pytest

from groundstate.compiler.llvm import service
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program, object_loader
from groundstate.compiler.target.host import host

SUM = """
@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]
define internal i32 @pick(i32 %i) noinline {
  %at = getelementptr [4 x i32], ptr @table, i64 0, i32 %i
  %value = load i32, ptr %at
  ret i32 %value
}
define i32 @run(i32 %i) nounwind {
  %value = call i32 @pick(i32 %i)
  %sum = add i32 %value, 1
  ret i32 %sum
}
"""
LIBRARY = """
declare double @cos(double)
declare double @fmod(double, double)
define double @run(double %x) nounwind {
  %y = call double @fmod(double %x, double 8.0)
  %z = call double @cos(double %y)
  %w = call double @cos(double %z)
  ret double %w
}
"""
UNKNOWN = """
declare double @no_such_function(double)
define double @run(double %x) nounwind {
  %y = call double @no_such_function(double %x)
  ret double %y
}
"""
WRITABLE = """
@count = internal global i32 5
define i32 @run() nounwind {
  %old = load volatile i32, ptr @count
  %new = add i32 %old, 1
  store volatile i32 %new, ptr @count
  ret i32 %new
}
"""

x86_only = pytest.mark.skipif(
    not host().triple.startswith("x86_64"), reason="other CPUs use LLVM's linker"
)


def called(loaded: object_loader.Loaded | service.Linked | None, result: type, *arguments: object):  # type: ignore[no-untyped-def]
    assert loaded is not None
    return ctypes.CFUNCTYPE(result, *map(type, arguments))(loaded.address)(*arguments)


@x86_only
def test_code_reaches_its_constants_and_functions() -> None:
    loaded = object_loader.load(service.object_code(SUM, 4))
    assert [called(loaded, ctypes.c_int, ctypes.c_int(i)) for i in range(4)] == [11, 21, 31, 41]


@x86_only
def test_unloaded_objects_give_memory_back() -> None:
    code = service.object_code(SUM, 4)
    loaded = [object_loader.load(code) for _ in range(50)]
    addresses = {each.address for each in loaded if each is not None}
    assert len(addresses) == 50
    assert called(loaded[49], ctypes.c_int, ctypes.c_int(2)) == 31
    kept = loaded[:1]
    del loaded
    gc.collect()
    assert called(kept[0], ctypes.c_int, ctypes.c_int(1)) == 21


@x86_only
def test_code_calls_the_c_library() -> None:
    code, x = service.object_code(LIBRARY, 4), 2 + 8.0 * 1000
    for loaded in (object_loader.load(code), service.link(code)):
        assert called(loaded, ctypes.c_double, ctypes.c_double(x)) == math.cos(math.cos(2.0))


@pytest.mark.parametrize("text", [UNKNOWN, WRITABLE])
def test_what_needs_more_is_left_to_a_linker(text: str) -> None:
    assert object_loader.load(service.object_code(text, 4)) is None


def test_a_symbol_that_is_not_there_is_none() -> None:
    assert object_loader.load(service.object_code(SUM, 4), "walk") is None


def test_damaged_file_raises_nothing_unexpected() -> None:
    code = service.object_code(SUM, 4)
    for size in range(0, len(code), 7):
        object_loader.load(code[:size])
    chance = random.Random(7)
    for _ in range(2000):
        damaged = bytearray(code)
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        object_loader.load(bytes(damaged))


@x86_only
def test_kernels_need_no_linker() -> None:
    source = """
    kernel void f(global float *a, local float *b) {
        b[get_local_id(0)] = sin(a[get_global_id(0)]);
        barrier(CLK_LOCAL_MEM_FENCE);
        a[get_global_id(0)] = exp(b[7 - get_local_id(0)]);
    }"""
    code = Program(compile_opencl(source)).compile("f", (8, 1, 1))
    assert isinstance(code.keep, object_loader.Loaded)
