"""The shortest programs: arrays, the default context and list, and launches by global size."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs

FIVE_LINES = """
import groundstate as gs
x = gs.array([1, 2, 3, 4], "float32")
source = "kernel void square(global float *x) { int i = get_global_id(0); x[i] *= x[i]; }"
gs.Module(opencl=source)["square"].launch(x, global_size=4)
print(x.tolist())
"""

SOURCE = """
kernel void add(global int *a, int by) { a[get_global_id(0)] += by; }
kernel void where(global int *a) {
    size_t i = get_global_id(0) + get_global_size(0) * get_global_id(1);
    a[i] = get_local_size(0) * 100 + get_local_size(1);
}
__attribute__((reqd_work_group_size(4, 1, 1)))
kernel void fours(global int *a) { a[get_global_id(0)] = get_local_size(0); }
kernel void nothing(void) {}
"""


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


# --- Arrays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["int8", "uint64", "float16", "float64", "complex64", "bool"])
def test_array_copies_ndarray_dtype_shape_values(ctx: gs.Context, kind: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(kind)
    memory = ctx.array(array)
    assert memory.type == gs.MemoryType.SHARED
    assert (memory.shape, memory.dtype.name) == ((2, 3), kind)
    assert memory.numpy().tolist() == array.tolist()
    memory.numpy()[:] = 0
    assert array.any() or kind == "bool", "the memory is a copy"


def test_array_takes_ndarrays_of_any_strides(ctx: gs.Context) -> None:
    array = np.arange(24).reshape(4, 6)
    for view in (array[::2, 1::2], array.T, array[::-1], np.asfortranarray(array)):
        assert ctx.array(view).tolist() == view.tolist()


def test_array_takes_numbers_lists_ranges_bytes(ctx: gs.Context) -> None:
    assert ctx.array([[1, 2], [3, 4]], "uint16").tolist() == [[1, 2], [3, 4]]
    assert ctx.array(range(3), "float32").tolist() == [0, 1, 2]
    assert ctx.array(b"ab").tolist() == [97, 98]
    assert ctx.array(2.5).tolist() == 2.5
    assert ctx.array(ctx.array([1, 2])).tolist() == [1, 2]


def test_array_converts_to_requested_dtype(ctx: gs.Context) -> None:
    swapped = np.array([1.5, 2.5], ">f8")
    assert ctx.array(swapped, "float32").tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (np.zeros(2, ">f4"), TypeError, r"big-endian \(>f4\).*array.astype\('<f4'\)"),
        ("text", TypeError, "made of numbers, not of 'text'"),
        (["a", "b"], TypeError, "made of numbers, not of"),
        ([None], TypeError, "the types are bool, int8"),
        ([], ValueError, "no memory of no elements"),
        ([[1, 2], [3]], ValueError, "inhomogeneous"),
        (np.array(["2020"], "M8[D]"), TypeError, "the types are bool, int8"),
    ],
)
def test_array_refuses_non_numeric_data(
    ctx: gs.Context, data: object, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ctx.array(data)


def test_array_of_numbers_in_a_row_needs_no_numpy() -> None:
    code = """
import sys
sys.modules["numpy"] = None
import groundstate as gs
print(gs.array([1, 2, 3], "float32").tolist(), gs.array([1, 2]).dtype.name)
print(gs.array([0.5]).dtype.name, gs.array(b"ab").tolist())
for data in ([[1], [2]], "text", 5):
    try:
        gs.array(data)
    except TypeError as problem:
        print(problem)
"""
    assert run_python(code).splitlines() == [
        "[1.0, 2.0, 3.0] int64",
        "float64 [97, 98]",
        "lists in lists need NumPy: pip install numpy",
        "an array is made of numbers in a row, not of 'text'",
        "an array is made of numbers in a row, not of 5",
    ]


# --- The default context and list -----------------------------------------------------------------


def test_five_line_program_leaks_no_objects() -> None:
    assert len(FIVE_LINES.strip().splitlines()) == 5
    count = """
import ctypes
from groundstate import standin
library = ctypes.CDLL(str(standin.library()))
library.gs_live_objects.restype = ctypes.c_uint64
import atexit
atexit.register(lambda: print(library.gs_live_objects(0) - before))
gs.drivers()
before = library.gs_live_objects(0)
"""
    lines = FIVE_LINES.strip().splitlines()
    lines.insert(1, count)
    lines.append("del x")
    assert run_python("\n".join(lines)) == "[1.0, 4.0, 9.0, 16.0]\n0\n"


def test_racing_threads_get_one_default_context() -> None:
    code = """
import threading, groundstate as gs
start, found = threading.Barrier(8), []
def ask():
    start.wait()
    found.append(gs.default_context())
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(map(id, found))))
"""
    assert run_python(code) == "8 1\n"


def test_a_closed_default_context_is_replaced() -> None:
    code = """
import groundstate as gs
before = gs.default_context()
before.close()
print(gs.default_context() is before, gs.array([1]).tolist())
"""
    assert run_python(code) == "False [1]\n"


def test_forked_process_has_own_default_context() -> None:
    code = f"""
import os, groundstate as gs
source = {SOURCE!r}
x = gs.array([1, 2, 3, 4], "int32")
before = gs.default_context()
gs.Module(opencl=source)["add"].launch(x, 1, global_size=4)
child = os.fork()
y = gs.array([1, 2, 3, 4], "int32")
gs.Module(opencl=source)["add"].launch(y, 2, global_size=4)
assert y.tolist() == [3, 4, 5, 6]
assert (gs.default_context() is before) == (child != 0)
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(code) == "0\n"


def test_thread_owns_default_list_until_it_ends(ctx: gs.Context) -> None:
    mine, others = ctx.default_list(), list[int]()
    thread = threading.Thread(target=lambda: others.append(ctx.default_list().handle))
    thread.start()
    thread.join()
    assert ctx.default_list() is mine
    assert mine.is_immediate
    assert others != [mine.handle]


def test_default_list_closes_with_its_context(gpu: gs.Device) -> None:
    with gs.Context(gpu) as context:
        context.default_list().fill(context.alloc_shared(4), 1)
        context.default_list().synchronize()


def test_omitted_context_means_default_context(gpu: gs.Device) -> None:
    context = gs.default_context()
    assert gs.Module(opencl=SOURCE).context is context
    assert gs.CommandList().context is context
    assert gs.CommandList.immediate().context is context
    assert gs.CommandQueue().context is context
    assert gs.Event.counter_based().context is context
    for make in (gs.CommandList, gs.CommandQueue, gs.CommandList.immediate):
        with pytest.raises(TypeError, match=r"a context is needed, such as gs.default_context\(\)"):
            make(gpu)  # type: ignore[operator]


# --- Launches by global size ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 64, 1000, 1009, 4099])
def test_launch_runs_every_work_item_once(ctx: gs.Context, module: gs.Module, size: int) -> None:
    memory = ctx.array(np.zeros(size + 1, "int32"))
    module["add"].launch(memory, 5, global_size=size)
    assert memory.tolist() == [5] * size + [0]


@pytest.mark.parametrize("shape", [(6, 35), (7, 11, 1), (np.int64(8), 4)])
def test_launch_takes_up_to_three_dimensions(
    ctx: gs.Context, module: gs.Module, shape: tuple[int, ...]
) -> None:
    count = int(np.prod(shape))
    memory = ctx.array(np.zeros(count, "int32"))
    module["where"].launch(memory, global_size=shape)
    (found,) = set(memory.tolist())
    x, y = divmod(found, 100)
    assert shape[0] % x == 0
    assert shape[1] % y == 0


def test_launch_uses_given_or_required_group_size(ctx: gs.Context, module: gs.Module) -> None:
    memory = ctx.array(np.zeros(32, "int32"))
    module["where"].launch(memory, global_size=32, group_size=8)
    assert memory.tolist() == [801] * 32
    module["fours"].launch(memory, global_size=32)
    assert memory.tolist() == [4] * 32


def test_launch_runs_on_a_list_or_a_queue(ctx: gs.Context, module: gs.Module) -> None:
    memory, add = ctx.array(np.zeros(8, "int32")), module["add"]
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        add.launch(memory, 1, global_size=8, on=commands)
    with gs.CommandQueue(ctx) as queue:
        add.launch(memory, 1, global_size=8, on=queue)
    recorded = gs.CommandList(ctx)
    add.launch(memory, 1, global_size=4, offset=4, on=recorded)
    with gs.CommandQueue(ctx) as queue:
        queue.execute(recorded)
    assert memory.tolist() == [2] * 4 + [3] * 4


def test_threads_launch_on_own_default_lists(ctx: gs.Context, module: gs.Module) -> None:
    memory = ctx.array(np.zeros((4, 64), "int32"))

    def work(row: int) -> None:
        for _ in range(20):
            module["add"].launch(memory[row], row, global_size=64)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.tolist() == [[20 * row] * 64 for row in range(4)]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"global_size": 1000, "group_size": 256},
            ValueError,
            "1000 work-items are no whole groups of 256: launch 1024.* or leave out group_size=",
        ),
        (
            {"global_size": (8, 3), "group_size": (4, 2)},
            ValueError,
            "8 x 3 work-items are no whole groups of 4 x 2: launch 8 x 4",
        ),
        ({"global_size": 0}, ValueError, "global_size is at least 1 along each axis, not 0"),
        ({"global_size": 4, "group_size": 0}, ValueError, "group_size is at least 1"),
        ({"global_size": -1}, ValueError, "global_size is at least 0"),
        ({"global_size": 2.5}, TypeError, "global_size is a whole number or up to three"),
        ({"global_size": (1, 1, 1, 1)}, ValueError, "global_size has one to three numbers, not 4"),
        ({"global_size": 4, "on": 5}, TypeError, "on= takes a command list or a queue, not 5"),
        ({}, TypeError, "global_size"),
    ],
)
def test_launch_says_what_is_wrong_with_a_size(
    ctx: gs.Context,
    module: gs.Module,
    options: dict[str, object],
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        module["add"].launch(ctx.alloc_shared(4, "int32"), 1, **options)


def test_launch_error_names_required_group_size(module: gs.Module, ctx: gs.Context) -> None:
    with pytest.raises(
        ValueError, match=r"10 work-items are no whole groups of 4: the kernel requires"
    ):
        module["fours"].launch(ctx.alloc_shared(10, "int32"), global_size=10)


def test_launch_names_arguments_if_count_is_wrong(module: gs.Module) -> None:
    with pytest.raises(TypeError, match=r"not 1: write add.launch\(a, by, global_size=...\)"):
        module["add"].launch(5, global_size=1)


# --- Calls without a list -------------------------------------------------------------------------


def test_a_call_without_a_list_says_what_to_write(ctx: gs.Context, module: gs.Module) -> None:
    memory, add, nothing = ctx.alloc_shared(4, "int32"), module["add"], module["nothing"]
    calls = [(4, 16, memory, 2), (memory, 2), (memory,), (), (4,), (4, 16), (memory, 2, 4, 16)]
    for arguments in calls:
        with pytest.raises(TypeError) as caught:
            add(*arguments)
        assert "add(commands, groups, group_size, a, by)" in str(caught.value), arguments
        assert "add.launch(a, by, global_size=...)" in str(caught.value), arguments
    with pytest.raises(TypeError, match=r"write nothing\(commands, groups, group_size\)"):
        nothing(4, 16)


def test_incomplete_call_says_what_to_write(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    memory = ctx.alloc_shared(4, "int32")
    for arguments in ((), (4,), (4, memory, 2), (4, 1), (4, 1, memory), (4, 1, memory, 2, 3)):
        with pytest.raises(TypeError, match=r"write add\(commands, groups, group_size, a, by\)"):
            module["add"](commands, *arguments)
    with pytest.raises(TypeError, match=r"write nothing\(commands, groups, group_size\)"):
        module["nothing"](commands, 4)
    with pytest.raises(TypeError, match="the size of a group is a whole number"):
        module["add"](commands, 4, memory, memory, 2)
    with pytest.raises(TypeError, match="the number of groups is a whole number"):
        module["add"](commands, "4", 1, memory, 2)


def test_a_kernel_is_made_of_a_module() -> None:
    with pytest.raises(TypeError, match=r"gs.Module\(opencl=...\)\['add'\]"):
        gs.Kernel(SOURCE, "add")  # type: ignore[arg-type]


def test_a_kernel_shows_its_signature(ctx: gs.Context, module: gs.Module) -> None:
    assert module["add"].signature == "add(global int* a, int by)"
    assert repr(module["add"]).endswith(" add(global int* a, int by)>")
    native = gs.Module(ctx, native=module.native_binary())
    assert native["add"].signature == "add(2 arguments)"
