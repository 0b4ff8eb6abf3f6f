"""Graphs: what is recorded, and what a replay does."""

import ctypes

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.graphs.graphs import (
    INVALID,
    append,
    begin,
    captures,
    end,
    instantiate,
    is_empty,
    recorded,
    replay,
)
from tests.driver.kernels import KernelBench, group_count, launch, set_arguments
from tests.driver.support import (
    FOREVER,
    Bench,
    address,
    barrier,
    close_list,
    copy,
    fill,
    finish,
    handles,
    is_signalled,
)


@pytest.fixture(params=[False, True], ids=["out of order", "in order"])
def commands(request: pytest.FixtureRequest, bench: Bench) -> int:
    """An immediate list, which may be in order or not."""
    return bench.immediate(in_order=request.param)


def test_the_device_says_what_its_graphs_can_do(device: int) -> None:
    graphs = ze.ze_record_replay_graph_ext_properties_t()
    properties = ze.ze_device_properties_t(pNext=ctypes.addressof(graphs))
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    assert graphs.graphFlags == (
        ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_IMMUTABLE_GRAPH
        | ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_SUBGRAPHS
        | ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_APPEND_COMMANDLIST
    )


def test_nothing_runs_while_it_is_recorded(bench: Bench, commands: int) -> None:
    memory, event = bench.bytes(64, fill=0), bench.event()
    with recorded(bench, commands) as recording:
        assert captures(commands)
        fill(commands, address(memory), b"\x07", 64, signal=event)
    assert not captures(commands)
    finish(commands)
    assert not memory.any()
    assert not is_signalled(event)
    executable = instantiate(bench, recording.graph)
    finish(commands)
    assert not memory.any()
    replay(commands, executable)
    assert (memory == 7).all()
    assert is_signalled(event)


def test_a_graph_runs_as_often_as_it_is_appended(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    commands = kernels.immediate(in_order=True)
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    with recorded(kernels, commands) as recording:
        for _ in range(10):
            launch(commands, kernel, 3)
    executable = instantiate(kernels, recording.graph)
    replay(commands, executable, times=50)
    assert counter[0] == 1500


def test_arguments_are_those_of_the_append(kernels: KernelBench) -> None:
    first, second = kernels.array(1), kernels.array(1)
    commands = kernels.immediate()
    kernel = kernels.kernel("tally", first, size=(1, 1, 1))
    with recorded(kernels, commands) as recording:
        launch(commands, kernel, 2)
        set_arguments(kernel, second)
        launch(commands, kernel, 5)
        set_arguments(kernel, first)
    kernels.end(kernel)
    executable = instantiate(kernels, recording.graph)
    replay(commands, executable, times=2)
    assert (first[0], second[0]) == (4, 10)


def test_list_runs_commands_again_after_capture(bench: Bench, commands: int) -> None:
    memory = bench.bytes(8, fill=0)
    with recorded(bench, commands):
        fill(commands, address(memory), b"\x01", 8)
    fill(commands, address(memory, 4), b"\x02", 4)
    finish(commands)
    assert memory.tolist() == [0] * 4 + [2] * 4


def test_every_kind_of_command_can_be_recorded(bench: Bench, commands: int) -> None:
    source, target = bench.random_bytes(256), bench.bytes(256, fill=0)
    stamp, stamps = bench.bytes(8, fill=0), bench.bytes(64, fill=0)
    timed, plain = bench.event(ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP), bench.event()
    called: list[int] = []
    callback = ze.ze_host_function_callback_t(lambda _: called.append(len(called)))
    region = ze.ze_copy_region_t(originX=128, originY=0, originZ=0, width=64, height=1, depth=1)
    with recorded(bench, commands) as recording:
        check(ze.zeCommandListAppendEventReset(commands, timed))
        copy(commands, address(target), address(source), 64, signal=timed)
        fill(commands, address(target, 64), b"abcdefghijklmnopqrstuvwxyz012345", 64)
        check(
            ze.zeCommandListAppendMemoryCopyRegion(
                commands,
                address(target),
                ctypes.byref(region),
                0,
                0,
                address(source),
                ctypes.byref(region),
                0,
                0,
                None,
                0,
                None,
            )
        )
        check(ze.zeCommandListAppendMemoryPrefetch(commands, address(target), 256))
        check(
            ze.zeCommandListAppendMemAdvise(
                commands, bench.device, address(target), 256, ze.ZE_MEMORY_ADVICE_SET_READ_MOSTLY
            )
        )
        check(ze.zeCommandListAppendWriteGlobalTimestamp(commands, address(stamp), None, 0, None))
        check(ze.zeCommandListAppendWaitOnEvents(commands, 1, handles(timed)))
        check(
            ze.zeCommandListAppendQueryKernelTimestamps(
                commands, 1, handles(timed), address(stamps), None, None, 0, None
            )
        )
        check(ze.zeCommandListAppendHostFunction(commands, callback, None, None, None, 0, None))
        check(ze.zeCommandListAppendBarrier(commands, None, 0, None))
        check(ze.zeCommandListAppendSignalEvent(commands, plain))
    assert not called
    executable = instantiate(bench, recording.graph)
    replay(commands, executable, times=2)
    assert target[:64].tolist() == source[:64].tolist()
    assert bytes(target[64:96]) == b"abcdefghijklmnopqrstuvwxyz012345"
    assert target[128:192].tolist() == source[128:192].tolist()
    assert not target[192:].any()
    assert stamp.view("uint64")[0] > 0
    start, finished = stamps.view("uint64")[:2]
    assert 0 < start <= finished
    assert called == [0, 1]
    assert is_signalled(plain)


def test_every_kind_of_launch_can_be_recorded(kernels: KernelBench) -> None:
    counter, groups = kernels.array(1), kernels.array(3, "uint32")
    commands = kernels.immediate(in_order=True)
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    value = ctypes.c_uint64(counter.ctypes.data)
    pointers = handles(ctypes.addressof(value))
    with recorded(kernels, commands) as recording:
        launch(commands, kernel, 1)
        counts = ctypes.byref(group_count(2))
        check(
            ze.zeCommandListAppendLaunchCooperativeKernel(commands, kernel, counts, None, 0, None)
        )
        check(
            ze.zeCommandListAppendLaunchKernelIndirect(
                commands, kernel, groups.ctypes.data, None, 0, None
            )
        )
        check(
            ze.zeCommandListAppendLaunchKernelWithArguments(
                commands,
                kernel,
                group_count(1000),
                ze.ze_group_size_t(1, 1, 1),
                pointers,
                None,
                None,
                0,
                None,
            )
        )
    executable = instantiate(kernels, recording.graph)
    groups[:] = (40, 1, 1)
    replay(commands, executable)
    assert counter[0] == 1043
    groups[0] = 50
    replay(commands, executable)
    assert counter[0] == 2096


def test_an_empty_graph_only_waits_and_signals(bench: Bench, commands: int) -> None:
    begin(commands)
    graph = end(bench, commands)
    assert is_empty(graph) == ze.ZE_RESULT_QUERY_TRUE
    executable = instantiate(bench, graph)
    first, last = bench.events(2)
    check(append(commands, executable, signal=last, waits=[first]))
    assert not is_signalled(last)
    check(ze.zeEventHostSignal(first))
    check(ze.zeEventHostSynchronize(last, FOREVER))


def test_a_graph_knows_whether_it_is_empty(bench: Bench, commands: int) -> None:
    begin(commands)
    graph = ctypes.c_void_p()
    check(ze.zeCommandListGetGraphExt(commands, ctypes.byref(graph)))
    assert graph.value is not None
    assert is_empty(graph.value) == ze.ZE_RESULT_QUERY_TRUE
    barrier(commands)
    assert is_empty(graph.value) == ze.ZE_RESULT_QUERY_FALSE
    assert end(bench, commands) == graph.value
    assert is_empty(graph.value) == ze.ZE_RESULT_QUERY_FALSE


def test_graph_may_be_created_before_recording(bench: Bench, commands: int) -> None:
    memory = bench.bytes(4, fill=0)
    graph = bench._made(ze.zeGraphDestroyExt, ze.zeGraphCreateExt, bench.context, None)
    assert is_empty(graph) == ze.ZE_RESULT_QUERY_TRUE
    assert ze.zeGraphInstantiateExt(graph, None, ctypes.byref(ctypes.c_void_p())) == INVALID
    check(ze.zeCommandListBeginCaptureIntoGraphExt(commands, graph, None))
    fill(commands, address(memory), b"\x09", 4)
    assert end(bench, commands) == graph
    replay(commands, instantiate(bench, graph))
    assert memory.tolist() == [9] * 4


def test_primary_list_is_known_while_it_lives(bench: Bench) -> None:
    commands = bench.immediate()
    graph = bench._made(ze.zeGraphDestroyExt, ze.zeGraphCreateExt, bench.context, None)
    found = ctypes.c_void_p()
    assert ze.zeGraphGetPrimaryCommandListExt(graph, ctypes.byref(found)) == INVALID
    check(ze.zeCommandListBeginCaptureIntoGraphExt(commands, graph, None))
    check(ze.zeGraphGetPrimaryCommandListExt(graph, ctypes.byref(found)))
    assert found.value == commands
    assert end(bench, commands) == graph
    check(ze.zeGraphGetPrimaryCommandListExt(graph, ctypes.byref(found)))
    assert found.value == commands
    bench.end(commands)
    assert ze.zeGraphGetPrimaryCommandListExt(graph, ctypes.byref(found)) == INVALID
    assert "destroyed" in last_error()


def test_an_executable_graph_knows_its_source(bench: Bench, commands: int) -> None:
    with recorded(bench, commands) as recording:
        barrier(commands)
    executable, source = instantiate(bench, recording.graph), ctypes.c_void_p()
    check(ze.zeExecutableGraphGetSourceGraphExt(executable, ctypes.byref(source)))
    assert source.value == recording.graph


def test_a_run_waits_and_signals(bench: Bench, commands: int) -> None:
    memory = bench.bytes(4, fill=0)
    with recorded(bench, commands) as recording:
        fill(commands, address(memory), b"\x05", 4)
    executable = instantiate(bench, recording.graph)
    first, last = bench.events(2)
    check(append(commands, executable, signal=last, waits=[first]))
    assert not memory.any()
    check(ze.zeEventHostSignal(first))
    check(ze.zeEventHostSynchronize(last, FOREVER))
    assert memory.tolist() == [5] * 4


def test_instances_of_a_graph_are_independent(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    commands, other = kernels.immediate(), kernels.immediate()
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    with recorded(kernels, commands) as recording:
        launch(commands, kernel, 1)
    first, second = (instantiate(kernels, recording.graph) for _ in range(2))
    gate = kernels.event()
    check(append(commands, first, waits=[gate]))
    replay(other, second)
    assert counter[0] == 1
    check(ze.zeEventHostSignal(gate))
    finish(commands)
    assert counter[0] == 2
    kernels.end(first)
    replay(other, second)
    assert counter[0] == 3


def test_runs_of_one_graph_instance_are_serial(bench: Bench) -> None:
    """Also on different lists: the second run is behind the first, which waits for the host."""
    log: list[int] = []
    commands, other = bench.immediate(), bench.immediate()
    callback = ze.ze_host_function_callback_t(lambda _: log.append(len(log)))
    with recorded(bench, commands) as recording:
        check(ze.zeCommandListAppendHostFunction(commands, callback, None, None, None, 0, None))
    executable = instantiate(bench, recording.graph)
    gate, done = bench.events(2)
    check(append(commands, executable, waits=[gate]))
    check(append(other, executable, signal=done))
    assert ze.zeEventHostSynchronize(done, 20_000_000) == ze.ZE_RESULT_NOT_READY
    assert log == []
    check(ze.zeEventHostSignal(gate))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert log == [0, 1]


def test_a_closed_list_becomes_part_of_a_graph(kernels: KernelBench) -> None:
    counter, memory = kernels.array(1), kernels.bytes(4, fill=0)
    commands, part = kernels.immediate(in_order=True), kernels.list(in_order=True)
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE
    inside = kernels.counter_event(flags)
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    launch(part, kernel, 7, signal=inside)
    fill(part, address(memory), b"\x03", 4, waits=[inside])
    close_list(part)
    before, after = kernels.events(2)
    with recorded(kernels, commands) as recording:
        check(
            ze.zeCommandListImmediateAppendCommandListsExp(
                commands, 1, handles(part), after, 1, handles(before)
            )
        )
    kernels.end(part)
    executable = instantiate(kernels, recording.graph)
    check(append(commands, executable))
    assert not is_signalled(after)
    check(ze.zeEventHostSignal(before))
    replay(commands, executable)
    assert (counter[0], memory[0]) == (14, 3)
    assert is_signalled(after)


def test_a_graph_becomes_part_of_a_graph(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    commands = kernels.immediate(in_order=True)
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    with recorded(kernels, commands) as small:
        launch(commands, kernel, 1)
    part = instantiate(kernels, small.graph)
    with recorded(kernels, commands) as large:
        for _ in range(3):
            check(append(commands, part))
        launch(commands, kernel, 100)
    kernels.end(part)
    kernels.end(small.graph)
    executable = instantiate(kernels, large.graph)
    assert counter[0] == 0
    replay(commands, executable, times=2)
    assert counter[0] == 206


def test_images_are_copied_by_graphs(bench: Bench, commands: int) -> None:
    description = ze.ze_image_desc_t(
        type=ze.ZE_IMAGE_TYPE_2D,
        format=ze.ze_image_format_t(
            layout=ze.ZE_IMAGE_FORMAT_LAYOUT_8, type=ze.ZE_IMAGE_FORMAT_TYPE_UINT
        ),
        width=16,
        height=4,
    )
    image = bench._made(
        ze.zeImageDestroy,
        ze.zeImageCreate,
        bench.context,
        bench.device,
        ctypes.byref(description),
    )
    source, target = bench.random_bytes(64), bench.bytes(64, fill=0)
    with recorded(bench, commands) as recording:
        check(
            ze.zeCommandListAppendImageCopyFromMemory(
                commands, image, address(source), None, None, 0, None
            )
        )
        check(ze.zeCommandListAppendBarrier(commands, None, 0, None))
        check(
            ze.zeCommandListAppendImageCopyToMemory(
                commands, address(target), image, None, None, 0, None
            )
        )
    executable = instantiate(bench, recording.graph)
    for _ in range(2):
        source[:] = np.roll(source, 1)
        replay(commands, executable)
        assert target.tolist() == source.tolist()
