"""Graphs whose context is lost, and graphs over several devices."""

import ctypes

from groundstate import ze
from tests.conftest import check
from tests.driver.devices.topology import run
from tests.driver.graphs.graphs import append, begin, instantiate, recorded
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import FOREVER, barrier

LOST = ze.ZE_RESULT_ERROR_DEVICE_LOST
NOWHERE = 0x10


def lose(bench: KernelBench, commands: int) -> int:
    """Runs a graph that writes where nothing is. Answers the executable graph."""
    kernel = bench.kernel("strike", 0, 0, NOWHERE, size=(64, 1, 1))
    with recorded(bench, commands) as recording:
        launch(commands, kernel, 1)
    executable = instantiate(bench, recording.graph)
    assert append(commands, executable) in (ze.ZE_RESULT_SUCCESS, LOST)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    return executable


def test_destroy_of_lost_context_frees_its_graphs(kernels: KernelBench) -> None:
    bench = KernelBench(kernels.driver, kernels.device)
    commands, other = bench.immediate(in_order=True), bench.immediate()
    called: list[int] = []
    callback = ze.zex_mem_graph_free_callback_fn_t(lambda _: called.append(1))
    begin(other)
    barrier(other)
    graph = ctypes.c_void_p()
    check(ze.zeCommandListGetGraphExt(other, ctypes.byref(graph)))
    check(ze.zeGraphSetDestructionCallbackExt(graph, callback, None, None))
    executable = lose(bench, commands)
    assert append(commands, executable) == LOST
    assert ze.zeCommandListAppendBarrier(other, None, 0, None) == LOST
    assert not called
    check(ze.zeContextDestroy(bench.context))
    assert called == [1]
    assert append(kernels.immediate(), executable) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


def test_graphs_of_lost_context_are_destroyable(kernels: KernelBench) -> None:
    bench = KernelBench(kernels.driver, kernels.device)
    lose(bench, bench.immediate())
    for handle in reversed(list(bench._endings)):
        check(bench._endings[handle](handle))


def test_a_graph_may_span_devices() -> None:
    run("""
        from tests.driver.graphs.graphs import append, instantiate, recorded, replay

        bench = Bench(driver, first)
        parent = bench.immediate(in_order=True)
        bench.device = second
        child = bench.immediate(in_order=True)
        memory = bench.bytes(200000, fill=0)
        fork, join = bench.events(2)
        half, start = 100000, address(memory)
        with recorded(bench, parent) as recording:
            fill(parent, start, b"a", half, signal=fork)
            copy(child, start + half, start, half, signal=join, waits=[fork])
            barrier(parent, waits=[join])
        executable = instantiate(bench, recording.graph)
        for _ in range(3):
            memory[:] = 0
            replay(parent, executable)
            assert (memory == ord("a")).all()
        assert append(child, executable) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        bench.close()
    """)
