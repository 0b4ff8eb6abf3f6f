"""What a graph refuses, how it ends, and what its description shows."""

import ctypes
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.graphs.graphs import (
    EXTERNAL,
    INVALID,
    UNSUPPORTED_IN_CAPTURE,
    append,
    begin,
    captures,
    end,
    instantiate,
    is_empty,
    recorded,
    replay,
)
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import COPY_ORDINAL, Bench, address, barrier, fill, finish, handles

NOT_CAPTURING = ze.ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING
UNSUPPORTED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


@pytest.fixture
def commands(bench: Bench) -> int:
    return bench.immediate(in_order=True)


def new_graph(bench: Bench) -> int:
    return bench._made(ze.zeGraphDestroyExt, ze.zeGraphCreateExt, bench.context, None)


def test_only_async_immediate_lists_capture(bench: Bench) -> None:
    synchronous = bench.immediate(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    graph = new_graph(bench)
    for wrong in (bench.list(), synchronous):
        assert ze.zeCommandListBeginGraphCaptureExt(wrong, None) == INVALID
        assert ze.zeCommandListBeginCaptureIntoGraphExt(wrong, graph, None) == INVALID
        assert not captures(wrong)


def test_a_list_captures_once_at_a_time(bench: Bench, commands: int) -> None:
    graph = new_graph(bench)
    begin(commands)
    assert ze.zeCommandListBeginGraphCaptureExt(commands, None) == INVALID
    assert ze.zeCommandListBeginCaptureIntoGraphExt(commands, graph, None) == INVALID
    end(bench, commands)


def test_end_without_capture_is_refused(bench: Bench, commands: int) -> None:
    handle = ctypes.c_void_p(1)
    assert ze.zeCommandListEndGraphCaptureExt(commands, None, ctypes.byref(handle)) == NOT_CAPTURING
    assert ze.zeCommandListGetGraphExt(commands, ctypes.byref(handle)) == NOT_CAPTURING
    assert handle.value is None


def test_nonempty_graph_refuses_capture(bench: Bench, commands: int) -> None:
    with recorded(bench, commands) as recording:
        barrier(commands)
    again = ze.zeCommandListBeginCaptureIntoGraphExt
    assert again(commands, recording.graph, None) == INVALID
    graph = new_graph(bench)
    check(again(commands, graph, None))
    other = bench.immediate()
    assert again(other, graph, None) == INVALID
    assert end(bench, commands) == graph
    check(again(other, graph, None))
    assert end(bench, other) == graph


def test_host_cannot_wait_for_recorded_commands(bench: Bench, commands: int) -> None:
    event = bench.event()
    begin(commands)
    barrier(commands, signal=event)
    for timeout in (0, 2**64 - 1):
        assert ze.zeCommandListHostSynchronize(commands, timeout) == UNSUPPORTED_IN_CAPTURE
        assert ze.zeEventHostSynchronize(event, timeout) == UNSUPPORTED_IN_CAPTURE
    assert ze.zeEventQueryStatus(event) == ze.ZE_RESULT_NOT_READY
    end(bench, commands)
    finish(commands)
    assert ze.zeEventHostSynchronize(event, 0) == ze.ZE_RESULT_NOT_READY


def test_shared_external_events_are_refused(bench: Bench, commands: int) -> None:
    event = bench.counter_event(EXTERNAL | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC)
    begin(commands)
    assert ze.zeCommandListAppendSignalEvent(commands, event) == UNSUPPORTED_IN_CAPTURE
    result = ze.zeCommandListAppendWaitOnEvents(commands, 1, handles(event))
    assert result == UNSUPPORTED_IN_CAPTURE
    graph = end(bench, commands)
    assert is_empty(graph) == ze.ZE_RESULT_QUERY_TRUE


def test_unfinished_graph_is_not_instantiated(bench: Bench, commands: int) -> None:
    graph, unused = ctypes.c_void_p(), ctypes.byref(ctypes.c_void_p())
    begin(commands)
    check(ze.zeCommandListGetGraphExt(commands, ctypes.byref(graph)))
    assert ze.zeGraphInstantiateExt(graph, None, unused) == INVALID
    end(bench, commands)


def test_nothing_is_known_to_extend_graphs(bench: Bench, commands: int) -> None:
    extra = ctypes.byref(ze.ze_device_properties_t())
    unused = ctypes.byref(ctypes.c_void_p())
    with recorded(bench, commands) as recording:
        pass
    graph, executable = recording.graph, instantiate(bench, recording.graph)
    callback = ze.zex_mem_graph_free_callback_fn_t(lambda _: None)
    assert ze.zeGraphCreateExt(bench.context, extra, unused) == UNSUPPORTED
    assert ze.zeCommandListBeginGraphCaptureExt(commands, extra) == UNSUPPORTED
    assert ze.zeCommandListBeginCaptureIntoGraphExt(commands, graph, extra) == UNSUPPORTED
    assert ze.zeCommandListEndGraphCaptureExt(commands, extra, unused) == UNSUPPORTED
    assert ze.zeGraphInstantiateExt(graph, extra, unused) == UNSUPPORTED
    assert ze.zeGraphSetDestructionCallbackExt(graph, callback, None, extra) == UNSUPPORTED
    assert ze.zeCommandListAppendGraphExt(commands, executable, extra, None, 0, None) == UNSUPPORTED
    assert ze.zeGraphDumpContentsExt(graph, b"unused", extra) == UNSUPPORTED


def test_graph_runs_on_lists_like_its_recorder(bench: Bench, commands: int) -> None:
    with recorded(bench, commands) as recording:
        barrier(commands)
    executable = instantiate(bench, recording.graph)
    wrong_list = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
    assert append(bench.list(), executable) == wrong_list
    assert append(bench.immediate(ordinal=COPY_ORDINAL), executable) == wrong_list
    replay(bench.immediate(), executable)
    result = ze.zeCommandListAppendGraphExt(commands, executable, None, None, 1, None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE


def test_a_graph_of_another_context_is_refused(bench: Bench, driver: int, device: int) -> None:
    commands = bench.immediate()
    with recorded(bench, commands) as recording:
        barrier(commands)
    executable = instantiate(bench, recording.graph)
    other = Bench(driver, device)
    foreign = other.immediate()
    assert append(foreign, executable) == INVALID
    graph = new_graph(bench)
    assert ze.zeCommandListBeginCaptureIntoGraphExt(foreign, graph, None) == INVALID
    other.close()


def test_refused_signal_leaves_graph_unchanged(bench: Bench) -> None:
    """The counter-based event of the graph must not come to follow a run that never happens."""
    ordered, commands = bench.immediate(in_order=True), bench.immediate()
    event = bench.counter_event(EXTERNAL)
    with recorded(bench, ordered) as recording:
        barrier(ordered, signal=event)
    executable = instantiate(bench, recording.graph)
    replay(ordered, executable)
    assert append(commands, executable, signal=bench.counter_event()) == INVALID
    check(ze.zeEventHostSynchronize(event, 0))


# --- Ends -----------------------------------------------------------------------------------------


def test_executable_graphs_outlive_their_graph(bench: Bench, commands: int) -> None:
    memory = bench.bytes(1, fill=0)
    with recorded(bench, commands) as recording:
        fill(commands, address(memory), b"\1", 1)
    executable = instantiate(bench, recording.graph)
    bench.end(recording.graph)
    for function in (ze.zeGraphDestroyExt, ze.zeGraphIsEmptyExt):
        assert function(recording.graph) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    replay(commands, executable)
    assert memory[0] == 1


def test_graph_goes_with_its_last_run(bench: Bench, commands: int) -> None:
    """Its callbacks may free what the run still uses."""
    gate, memory = bench.event(), bench.bytes(1, fill=0)
    freed = threading.Event()
    callback = ze.zex_mem_graph_free_callback_fn_t(lambda _: freed.set())
    with recorded(bench, commands) as recording:
        fill(commands, address(memory), b"\1", 1, waits=[gate])
    check(ze.zeGraphSetDestructionCallbackExt(recording.graph, callback, None, None))
    executable = instantiate(bench, recording.graph)
    check(append(commands, executable))
    bench.end(executable)
    bench.end(recording.graph)
    assert not freed.is_set()
    check(ze.zeEventHostSignal(gate))
    finish(commands)
    assert memory[0] == 1
    assert freed.wait(60)


def test_destroying_recorded_graph_ends_its_capture(bench: Bench, commands: int) -> None:
    memory, graph = bench.bytes(1, fill=0), new_graph(bench)
    check(ze.zeCommandListBeginCaptureIntoGraphExt(commands, graph, None))
    fill(commands, address(memory), b"\1", 1)
    bench.end(graph)
    assert not captures(commands)
    fill(commands, address(memory), b"\2", 1)
    finish(commands)
    assert memory[0] == 2


def test_graph_outlives_all_recorded_objects(
    kernels: KernelBench,
) -> None:
    counter = kernels.array(1)
    commands, other = kernels.immediate(), kernels.immediate()
    pool = kernels.pool(1)
    event = kernels.event_in(pool)
    module = kernels.module("tally")
    kernel = kernels.kernel_in(module, "tally", counter, size=(1, 1, 1))
    with recorded(kernels, commands) as recording:
        launch(commands, kernel, 4, signal=event)
    executable = instantiate(kernels, recording.graph)
    for each in (kernel, module, event, pool, commands):
        kernels.end(each)
    replay(other, executable, times=2)
    assert counter[0] == 8


def test_graph_destroy_calls_every_callback(bench: Bench, commands: int) -> None:
    called: list[int] = []
    callback = ze.zex_mem_graph_free_callback_fn_t(lambda data: called.append(int(data)))
    begin(commands)
    graph = ctypes.c_void_p()
    check(ze.zeCommandListGetGraphExt(commands, ctypes.byref(graph)))
    check(ze.zeGraphSetDestructionCallbackExt(graph, callback, 1, None))
    end(bench, commands)
    assert graph.value is not None
    executable = instantiate(bench, graph.value)
    for number in (2, 3):
        check(ze.zeGraphSetDestructionCallbackExt(graph, callback, number, None))
    bench.end(executable)
    assert called == []
    bench.end(graph.value)
    assert called == [1, 2, 3]


def test_destroying_list_discards_its_capture(bench: Bench, commands: int) -> None:
    called: list[int] = []
    callback = ze.zex_mem_graph_free_callback_fn_t(lambda data: called.append(1))
    child, fork = bench.immediate(), bench.event()
    begin(commands)
    graph = ctypes.c_void_p()
    check(ze.zeCommandListGetGraphExt(commands, ctypes.byref(graph)))
    check(ze.zeGraphSetDestructionCallbackExt(graph, callback, None, None))
    barrier(commands, signal=fork)
    barrier(child, waits=[fork])
    bench.end(commands)
    assert called == [1]
    assert not captures(child)
    assert is_empty(graph.value or 0) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    barrier(child)
    finish(child)


def test_destroying_list_keeps_premade_graph(bench: Bench, commands: int) -> None:
    graph = new_graph(bench)
    check(ze.zeCommandListBeginCaptureIntoGraphExt(commands, graph, None))
    barrier(commands)
    bench.end(commands)
    assert is_empty(graph) == ze.ZE_RESULT_ERROR_INVALID_GRAPH
    again = ze.zeCommandListBeginCaptureIntoGraphExt(bench.immediate(), graph, None)
    assert again == ze.ZE_RESULT_ERROR_INVALID_GRAPH


# --- Descriptions ---------------------------------------------------------------------------------


def dump(graph: int, path: Path, mode: int | None = None) -> str:
    description = ze.ze_record_replay_graph_ext_dump_desc_t(mode=mode or 0)
    chained = ctypes.byref(description) if mode is not None else None
    check(ze.zeGraphDumpContentsExt(graph, str(path).encode(), chained))
    return path.read_text()


def test_dump_shows_commands_arguments_and_waits(kernels: KernelBench, tmp_path: Path) -> None:
    counter, memory = kernels.array(1), kernels.bytes(64)
    parent, child = kernels.immediate(in_order=True), kernels.immediate(in_order=True)
    fork, join, outside = kernels.events(3)
    kernel = kernels.kernel("tally", counter, size=(4, 1, 1))
    with recorded(kernels, parent) as recording:
        launch(parent, kernel, 3, signal=fork, waits=[outside])
        fill(child, address(memory), b"\x01", 64, signal=join, waits=[fork])
        barrier(parent, waits=[join])
    text = dump(recording.graph, tmp_path / "detailed.dot")
    assert text.startswith("digraph ")
    assert text.count("subgraph cluster_") == 2
    assert "kernel tally" in text
    assert "3 x 1 x 1 groups of 4 x 1 x 1" in text
    assert f"argument 0, pointer: {counter.ctypes.data:#x}" in text
    assert f"a fill of 64 bytes at {address(memory):#x}" in text
    assert re.findall(r"n(\d) -> n(\d) \[style=dashed", text) == [("0", "1"), ("1", "2")]
    assert "n0 -> n2;" in text
    assert f'"event {outside:#x}" -> n0' in text
    simple = dump(
        recording.graph,
        tmp_path / "simple.dot",
        ze.ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE,
    )
    assert "kernel tally" in simple
    assert "argument" not in simple
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", "-o", "/dev/null", tmp_path / "detailed.dot"], check=True)


def test_dump_refuses_bad_path_and_unknown_mode(bench: Bench, tmp_path: Path) -> None:
    graph = new_graph(bench)
    wrong = str(tmp_path / "no such folder" / "graph.dot").encode()
    assert ze.zeGraphDumpContentsExt(graph, wrong, None) == INVALID
    assert "No such file" in last_error()
    description = ctypes.byref(ze.ze_record_replay_graph_ext_dump_desc_t(mode=77))
    result = ze.zeGraphDumpContentsExt(graph, b"unused", description)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
